//! A lower bound on the weight of the orderings of a function, over all placements of fences and orderings.
//!
//! A placement gives each atomic operation an ordering. It gives each point between two accesses, on an edge, or at the
//! end of a block a fence or none. On each walk through the graph, the placement must preserve these orderings of the
//! function:
//! - an atomic read with each later access, as far as the function acquires between the two;
//! - each access with a later atomic write, as far as the function releases;
//! - two atomic accesses that the function separates by a sequentially consistent fence. A read followed by a write
//!   needs no such fence, because no program can distinguish it from an acquire and a release.
//!
//! Coherence orders accesses to one location; an address that a loop recomputes counts as the same address. Each of
//! these orderings is necessary: without it, a program has an additional outcome (`analysis/mapping/tests/it/least.rs`
//! has the programs and asks the model). Whether all of them together suffice is not claimed, and the search tries
//! neither copies of loops nor other instructions. The weight is therefore a bound: no placement has less.

use std::{
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
};

use itertools::{Itertools, iproduct};
use ptx_lowering::{AtomicOp, Operation, Ordering};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    cost::Costs,
    edit::Editor,
    facts::Border,
    function::{Atomic, End, Event, EventKind, Function},
    graph,
    level::{self, ALL, CTA, Level},
    options::OptimizeOptions,
    ordering::{is_seq_cst, keep, of_halves},
    rewrites::{self, fences::orders_itself},
};

/// The budget of the searches for a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The steps that remain. Each point that a walk enters is a step, and so is each point of a placement that is
    /// weighed.
    pub steps: u64,
}

impl Default for Budget {
    /// Enough steps for some seconds.
    fn default() -> Self {
        Self { steps: 16_000_000 }
    }
}

/// The error that the budget is used up.
#[derive(Clone, Copy, Debug)]
struct Spent;

impl Budget {
    /// The part of the budget for each of `searches` searches.
    pub(crate) fn share(self, searches: usize) -> Self {
        Self { steps: self.steps / searches.max(1) as u64 }
    }

    fn spend(&mut self, steps: usize) -> Result<(), Spent> {
        let left = self.steps.checked_sub(steps as u64);
        self.steps = left.unwrap_or(0);
        left.map(|_| ()).ok_or(Spent)
    }
}

/// A lower bound on the weight, as counted by [`crate::weights`], of every placement that preserves the orderings of
/// the function with the narrowest scopes. `None` if an operation has no measurement, or if the function is not a
/// kernel, because the code around a call is unknown.
pub fn least(function: &Function, first: FirstRound, options: &OptimizeOptions, budget: &mut Budget) -> Option<Least> {
    if !function.kernel {
        return None;
    }
    let costs = Costs::new(options);
    let mut function = function.clone();
    let mut editor = Editor { function: &mut function, options, costs: &costs, remarks: &mut Vec::new() };
    rewrites::scope::run(&mut editor);
    Places::new(&function, options, &costs)?.search(first, budget)
}

/// The permitted cost of the first iterations of loops.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstRound {
    /// No more in total than in the function. The optimizer obeys this limit, since most waiting loops have one
    /// iteration.
    NoDearer,
    /// Unlimited.
    Any,
}

/// A lower bound on the weight of all placements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Least {
    /// The weight.
    pub weight: u64,
    /// Whether a placement has this weight and preserves all orderings. If not, the search ended before it found one.
    pub reached: bool,
}

/// The widest scope up to which a point orders, for each [`Part`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Orders([Level; 4]);

/// A kind of ordering.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Acquire,
    /// The acquire of a failing compare-and-exchange.
    Failed,
    Release,
    SeqCst,
}

impl Orders {
    fn get(self, part: Part) -> Level {
        self.0[part as usize]
    }

    fn with(mut self, part: Part, level: Level) -> Self {
        let own = &mut self.0[part as usize];
        *own = (*own).max(level);
        self
    }

    fn join(self, other: Self) -> Self {
        Self(std::array::from_fn(|part| self.0[part].max(other.0[part])))
    }

    fn covers(self, other: Self) -> bool {
        self.join(other) == self
    }

    /// The orderings of a fence, or of the fence that precedes an operation.
    fn of_fence(ordering: Ordering, scope: Level) -> Self {
        let up_to = |has: bool| if has { scope } else { 0 };
        Self::default()
            .with(Part::Acquire, up_to(ordering.acquires()))
            .with(Part::Release, up_to(ordering.releases()))
            .with(Part::SeqCst, up_to(ordering == Ordering::SeqCst))
    }

    /// The orderings of an operation on memory without its preceding fence. That fence releases if the operation is
    /// sequentially consistent.
    fn of_operation(op: &AtomicOp, seen: Level) -> Self {
        let up_to = |has: bool| if has { seen } else { 0 };
        let failed = matches!(op.operation, Operation::CmpXchg { failure, .. } if failure.acquires());
        Self::default()
            .with(Part::Acquire, up_to(op.operation.reads() && op.ordering.acquires()))
            .with(Part::Failed, up_to(failed))
            .with(Part::Release, up_to(op.operation.writes() && op.ordering.releases() && !is_seq_cst(op)))
    }
}

/// An access, with the properties that determine the orderings it needs.
#[derive(Clone, Copy, Debug)]
struct AccessNeeds {
    /// Whether it may be an atomic read.
    reads: bool,
    /// Whether it may be an atomic write.
    writes: bool,
    /// The scope in which the access is visible as an atomic access.
    seen: Level,
    /// The address of an atomic operation.
    address: Option<(usize, Option<usize>)>,
    /// For a compare-and-exchange: the edge that control takes on success, if known.
    exchange: Option<Option<Edge>>,
}

/// An edge from block to block.
type Edge = (usize, usize);

impl AccessNeeds {
    const PLAIN: Self = Self { reads: false, writes: false, seen: ALL, address: None, exchange: None };
    /// A barrier or a call, and the code around a function that is not a kernel.
    const UNKNOWN: Self = Self { reads: true, writes: true, ..Self::PLAIN };

    fn from_atomic(atomic: &Atomic) -> Self {
        let operation = atomic.op.operation;
        Self {
            reads: operation.reads(),
            writes: operation.writes(),
            seen: level::seen(atomic),
            address: atomic.address.map(|address| (address.value, address.block)),
            exchange: matches!(operation, Operation::CmpXchg { .. }).then_some(atomic.success),
        }
    }

    fn has_address_of(&self, other: &Self) -> bool {
        self.address.is_some() && self.address == other.address
    }
}

/// The kind of a point.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// A point without an access, where a fence may be placed; the edge, if the point is on one.
    Gap(Option<Edge>),
    Access(AccessNeeds),
    /// The code before or after a kernel. Only scopes wider than this level include it.
    Border(Level),
}

/// A point of the function.
#[derive(Debug)]
struct Item {
    kind: Kind,
    /// The orderings of the function at this point.
    given: Orders,
    /// The possible fences or orderings at this point, cheapest first.
    choices: Vec<Choice>,
    next: Vec<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Choice {
    weight: u64,
    /// The weight with each loop counted once.
    once: u64,
    orders: Orders,
}

const NOTHING: Choice = Choice { weight: 0, once: 0, orders: Orders([0; 4]) };

/// The points of a function. The first point precedes the entry.
struct Places<'f> {
    function: &'f Function,
    options: &'f OptimizeOptions,
    costs: &'f Costs<'f>,
    /// The scopes that the function uses.
    levels: Vec<Level>,
    items: Vec<Item>,
}

impl<'f> Places<'f> {
    /// `None` if an operation has no measurement.
    fn new(function: &'f Function, options: &'f OptimizeOptions, costs: &'f Costs<'f>) -> Option<Self> {
        let levels = function
            .events()
            .filter_map(Event::atomic)
            .flat_map(|atomic| [level::find_level(atomic), level::seen(atomic)]);
        let levels = levels.filter(|level| *level > 0).sorted_unstable().dedup().collect();
        let mut places = Self { function, options, costs, levels, items: Vec::new() };
        places.fill()?;
        Some(places)
    }

    fn fill(&mut self) -> Option<()> {
        let function = self.function;
        let border = Border::from_function(function, self.options);
        let border = if border.alone { Kind::Border(border.grid) } else { Kind::Access(AccessNeeds::UNKNOWN) };
        let (regions, depths) = graph::loops(function, &graph::predecessors(function));
        let reached = graph::reached(function);
        self.add(border, Orders::default(), Vec::new());
        let mut begins = vec![0; function.blocks.len()];
        let mut edges = Vec::new();
        for (number, block) in function.blocks.iter().enumerate().filter(|(number, _)| reached[*number]) {
            begins[number] = self.items.len();
            let depth = depths[number];
            let mut fence = Orders::default();
            for event in &block.events {
                let access = match &event.kind {
                    EventKind::Plain => AccessNeeds::PLAIN,
                    EventKind::Barrier | EventKind::Unknown(_) => AccessNeeds::UNKNOWN,
                    EventKind::Atomic(atomic) => {
                        if atomic.is_fence() || is_seq_cst(&atomic.op) {
                            fence = fence.join(Orders::of_fence(
                                if atomic.is_fence() { atomic.op.ordering } else { Ordering::SeqCst },
                                level::find_level(atomic),
                            ));
                        }
                        if atomic.is_fence() {
                            continue;
                        }
                        AccessNeeds::from_atomic(atomic)
                    }
                };
                let fences = self.fences(depth);
                self.add(Kind::Gap(None), std::mem::take(&mut fence), fences);
                let (given, choices) = match event.atomic() {
                    Some(atomic) => {
                        (Orders::of_operation(&atomic.op, level::seen(atomic)), self.orderings(atomic, depth)?)
                    }
                    None => Default::default(),
                };
                self.add(Kind::Access(access), given, choices);
            }
            let fences = self.fences(depth);
            self.add(Kind::Gap(None), fence, fences);
            let last = self.items.len() - 1;
            match block.end {
                End::Return if block.next.is_empty() => {
                    self.add(border, Orders::default(), Vec::new());
                    self.items[last + 1].next.clear();
                }
                _ => self.items[last].next.clear(),
            }
            edges.extend(block.next.iter().unique().map(|&to| (last, (number, to))));
        }
        for (last, (from, to)) in edges {
            let around = regions.iter().filter(|region| region.has(from) && region.has(to));
            let depth = around.map(|region| region.depth + 1).max().unwrap_or(0);
            let is_branch = function.blocks[from].next.iter().unique().count() > 1;
            let fences = if is_branch { self.fences(depth) } else { Vec::new() };
            let edge = self.items.len();
            self.items[last].next.push(edge);
            self.add(Kind::Gap(Some((from, to))), Orders::default(), fences);
            self.items[edge].next = vec![begins[to]];
        }
        Some(())
    }

    /// Adds a point. Its successor is the next point that is added, unless the caller changes it.
    fn add(&mut self, kind: Kind, given: Orders, mut choices: Vec<Choice>) {
        if choices.is_empty() {
            choices.push(NOTHING);
        }
        choices.sort_by_key(|choice| choice.weight);
        let next = vec![self.items.len() + 1];
        self.items.push(Item { kind, given, choices, next });
    }

    /// All fences, and the choice of no fence.
    fn fences(&self, depth: u32) -> Vec<Choice> {
        let kinds = [Ordering::Acquire, Ordering::Release, Ordering::AcqRel, Ordering::SeqCst];
        let fences = iproduct!(kinds, &self.levels).filter_map(|(ordering, &scope)| {
            let op = AtomicOp { operation: Operation::Fence, ordering, scope: level::scope(scope) };
            let cost = self.costs.find_cost(&op)?.in_loops(depth);
            Some(Choice { weight: cost.looped(), once: cost.once(), orders: Orders::of_fence(ordering, scope) })
        });
        fences.chain([NOTHING]).collect()
    }

    /// All orderings of an operation.
    fn orderings(&self, atomic: &Atomic, depth: u32) -> Option<Vec<Choice>> {
        let Atomic { op, .. } = *atomic;
        let seen = level::seen(atomic);
        let of = |op: AtomicOp| {
            let cost = |op| Some(self.costs.find_cost(&op)?.in_loops(depth));
            let (cost, relaxed) = (cost(op)?, cost(keep(op, false, false))?);
            let weight = cost.looped().saturating_sub(relaxed.looped());
            Some(Choice {
                weight,
                once: cost.once().saturating_sub(relaxed.once()),
                orders: Orders::of_operation(&op, seen),
            })
        };
        if atomic.is_volatile() {
            return Some(vec![of(op)?]);
        }
        let keeps = |half: bool| half && !is_seq_cst(&op) && orders_itself(atomic, self.options);
        let (acquire, release) = (keeps(op.ordering.acquires()), keeps(op.ordering.releases()));
        let either = |may: bool| if may { &[false, true][..] } else { &[false] };
        let is_exchange = matches!(op.operation, Operation::CmpXchg { .. });
        let halves = iproduct!(either(op.operation.reads()), either(op.operation.writes()), either(is_exchange));
        let halves = halves.filter(|(acquires, releases, _)| **acquires >= acquire && **releases >= release);
        let choices = halves.map(|(&acquires, &releases, &failed)| {
            let mut op = op;
            let relaxed = if op.ordering == Ordering::Unordered { Ordering::Unordered } else { Ordering::Relaxed };
            op.ordering = if acquires || releases { of_halves(acquires, releases) } else { relaxed };
            if let Operation::CmpXchg { failure, .. } = &mut op.operation {
                *failure = of_halves(failed, false);
            }
            of(op)
        });
        choices.collect()
    }
}

/// Points with the orderings that each would need for a walk to be ordered. A single point is enough.
type Remedies = Vec<(usize, Orders)>;

/// The position in a walk, and the orderings along it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct At {
    item: usize,
    /// The ordering of the function.
    given: Level,
    /// The ordering of the placement.
    placed: Level,
    /// Whether the compare-and-exchange at the start of the walk succeeded, until the walk leaves the block.
    succeeded: Option<bool>,
}

/// The start of a walk, and the ordering that the walk checks.
struct Start {
    item: usize,
    part: Part,
    succeeded: Option<bool>,
}

impl Places<'_> {
    /// Tries placements in order of cost, each with the orderings that it still lacks.
    fn search(&self, first: FirstRound, budget: &mut Budget) -> Option<Least> {
        let given = self.items.iter().map(|item| item.given).collect_vec();
        let most = match first {
            FirstRound::NoDearer => self.cost(&given)?.1,
            FirstRound::Any => u64::MAX,
        };
        let none = vec![Orders::default(); self.items.len()];
        let mut open = BinaryHeap::from([Reverse((self.cost(&none)?.0, Reverse(0), none.clone()))]);
        let mut known = FxHashSet::from_iter([none]);
        let mut least = Least { weight: 0, reached: false };
        loop {
            let Reverse((weight, Reverse(depth), needed)) = open.pop()?;
            least.weight = weight;
            let placed = needed.iter().enumerate().map(|(item, orders)| Some(self.choice(item, *orders)?.orders));
            let Ok(lacking) = self.lack(&placed.collect::<Option<Vec<_>>>()?, budget) else { break };
            let Some(remedies) = lacking else {
                least.reached = true;
                break;
            };
            if budget.spend(remedies.len() * self.items.len()).is_err() {
                break;
            }
            for (item, orders) in remedies {
                let mut needed = needed.clone();
                needed[item] = needed[item].join(orders);
                if let Some((weight, _)) = self.cost(&needed).filter(|(_, once)| *once <= most)
                    && known.insert(needed.clone())
                {
                    open.push(Reverse((weight, Reverse(depth + 1), needed)));
                }
            }
        }
        Some(least)
    }

    /// The cheapest choice at a point that provides these orderings.
    fn choice(&self, item: usize, needed: Orders) -> Option<Choice> {
        self.items[item].choices.iter().copied().find(|choice| choice.orders.covers(needed))
    }

    /// The weight of the cheapest placement that provides these orderings, with loop iterations and with each loop
    /// counted once.
    fn cost(&self, needed: &[Orders]) -> Option<(u64, u64)> {
        let mut choices = needed.iter().enumerate().map(|(item, orders)| self.choice(item, *orders));
        choices.fold_options((0, 0), |sum, choice| (sum.0 + choice.weight, sum.1 + choice.once))
    }

    /// Among the walks on which a placement orders less than the function, the walk with the fewest remedies.
    fn lack(&self, placed: &[Orders], budget: &mut Budget) -> Result<Option<Remedies>, Spent> {
        let walks = self.starts().filter_map(|start| self.walk(&start, placed, budget).transpose());
        walks.process_results(|walks| walks.min_by_key(Vec::len))
    }

    fn starts(&self) -> impl Iterator<Item = Start> {
        let of_item = |(item, place): (usize, &Item)| {
            let start = move |part, succeeded| Start { item, part, succeeded };
            match place.kind {
                Kind::Gap(_) => Vec::new(),
                Kind::Border(_) => vec![start(Part::Release, None)],
                Kind::Access(AccessNeeds { reads, writes, exchange, .. }) => {
                    let acquires = match exchange {
                        Some(_) => vec![start(Part::Acquire, Some(true)), start(Part::Failed, Some(false))],
                        None if reads => vec![start(Part::Acquire, None)],
                        None => Vec::new(),
                    };
                    let fence = (reads || writes).then(|| start(Part::SeqCst, None));
                    acquires.into_iter().chain([start(Part::Release, None)]).chain(fence).collect()
                }
            }
        };
        self.items.iter().enumerate().flat_map(of_item)
    }

    /// The shortest walk on which the function orders more than the placement.
    fn walk(&self, start: &Start, placed: &[Orders], budget: &mut Budget) -> Result<Option<Remedies>, Spent> {
        let first = At {
            item: start.item,
            given: self.items[start.item].given.get(start.part),
            placed: placed[start.item].get(start.part),
            succeeded: start.succeeded,
        };
        // The ordering of a release counts at the write, and a fence in between counts for both.
        let first = match start.part {
            Part::Acquire | Part::Failed => first,
            Part::Release | Part::SeqCst => At { given: 0, placed: 0, ..first },
        };
        let mut from: FxHashMap<At, At> = FxHashMap::default();
        let mut open = VecDeque::from([first]);
        while let Some(at) = open.pop_front() {
            budget.spend(1)?;
            for &item in &self.items[at.item].next {
                if item == start.item && self.is_read_again(start) {
                    continue;
                }
                let Some(next) = self.step(start, At { item, ..at }, placed) else { continue };
                if from.contains_key(&next) {
                    continue;
                }
                from.insert(next, at);
                if let Some(needed) = self.lacks(start, &next, placed) {
                    let back = std::iter::successors(Some(next), |at| (*at != first).then(|| from[at]));
                    return Ok(Some(self.remedies(start, back.map(|at| at.item).collect(), needed)));
                }
                open.push_back(next);
            }
        }
        Ok(None)
    }

    /// Whether a fence after the first of two iterations need not order the read of that iteration. The second
    /// iteration repeats the read into the same register, and no program observes the number of iterations.
    fn is_read_again(&self, start: &Start) -> bool {
        let Kind::Access(access) = self.items[start.item].kind else { return false };
        access.address.is_some() && (!access.writes || access.exchange.is_some())
    }

    /// The orderings after a point of a walk; `None` if the walk cannot continue there.
    fn step(&self, start: &Start, at: At, placed: &[Orders]) -> Option<At> {
        let Kind::Gap(edge) = self.items[at.item].kind else { return Some(at) };
        let part = of_fence(start.part);
        let mut at = At {
            given: at.given.max(self.items[at.item].given.get(part)),
            placed: at.placed.max(placed[at.item].get(part)),
            ..at
        };
        if let (Some(edge), Some(succeeded), Kind::Access(access)) = (edge, at.succeeded, self.items[start.item].kind) {
            let taken = access.exchange.flatten();
            if taken.is_some_and(|success| success.0 == edge.0 && (success == edge) != succeeded) {
                return None;
            }
            at.succeeded = None;
        }
        Some(at)
    }

    /// The level up to which the placement lacks an ordering at the end of a walk.
    fn lacks(&self, start: &Start, at: &At, placed: &[Orders]) -> Option<Level> {
        let (first, last) = (self.items[start.item].kind, self.items[at.item].kind);
        let (mut given, mut has, mut beyond) = (at.given, at.placed, self.alone());
        match (first, last) {
            (_, Kind::Gap(_)) | (Kind::Gap(_), _) | (Kind::Border(_), Kind::Border(_)) => return None,
            (Kind::Access(first), Kind::Access(last)) if self.is_free(start, &first, at.item, &last) => return None,
            _ => {}
        }
        for kind in [first, last] {
            if let Kind::Border(border) = kind {
                beyond = beyond.max(border);
            }
        }
        match (start.part, first, last) {
            (Part::Acquire | Part::Failed, Kind::Access(first), _) => {
                given = given.min(first.seen);
            }
            (Part::Release, _, Kind::Access(last)) if last.writes => {
                given = given.max(self.items[at.item].given.get(Part::Release)).min(last.seen);
                has = has.max(placed[at.item].get(Part::Release));
            }
            (Part::SeqCst, Kind::Access(_), Kind::Access(last)) if last.reads || last.writes => {}
            _ => return None,
        }
        (given > has && given > beyond).then_some(given)
    }

    /// Whether two accesses need no ordering of this kind.
    fn is_free(&self, start: &Start, first: &AccessNeeds, item: usize, last: &AccessNeeds) -> bool {
        match start.part {
            // A releasing write to the location of a read passes on the values that the read acquires.
            Part::Acquire | Part::Failed => {
                last.has_address_of(first) && self.items[item].given.get(Part::Release) == 0
            }
            Part::Release => last.has_address_of(first),
            Part::SeqCst => last.has_address_of(first) || !first.writes && !last.reads,
        }
    }

    /// The scope within which a single-thread CTA runs alone.
    fn alone(&self) -> Level {
        let unknown = self.function.events().any(|event| matches!(event.kind, EventKind::Unknown(_)));
        if self.function.kernel && self.function.single_thread && !unknown { CTA } else { 0 }
    }

    /// The orderings that would order this walk, from its end to its start.
    fn remedies(&self, start: &Start, walk: Vec<usize>, needed: Level) -> Remedies {
        let of_place = |item: usize| {
            let part = match self.items[item].kind {
                Kind::Gap(_) => of_fence(start.part),
                Kind::Access(_) if item == start.item && matches!(start.part, Part::Acquire | Part::Failed) => {
                    start.part
                }
                Kind::Access(_) if item == walk[0] && start.part == Part::Release => start.part,
                _ => return None,
            };
            let orders = Orders::default().with(part, needed);
            self.choice(item, orders).map(|_| (item, orders))
        };
        walk.iter().copied().unique().filter_map(of_place).collect()
    }
}

/// The part of a fence that corresponds to this part of an operation.
fn of_fence(part: Part) -> Part {
    if part == Part::Failed { Part::Acquire } else { part }
}
