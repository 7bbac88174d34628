//! The least that the orderings of a function can weigh, wherever fences and orderings stand.
//!
//! A placement gives each atomic operation an ordering, and each place between two accesses, on an edge, or at the end of a block
//! a fence or none. It must order what the function orders, on each walk through the graph:
//! - an atomic read with each access behind it, as far as the function acquires between the two;
//! - each access with an atomic write behind it, as far as the function releases;
//! - two atomic accesses between which the function has a sequentially consistent fence. A read and a write behind it need no such fence,
//!   since nothing tells it from an acquire and a release.
//!
//! Accesses of one location are ordered by coherence; an address that a loop computes anew counts as the same one. Each of these is needed: another thread shows an outcome that is new without it
//! (`analysis/mapping/tests/it/least.rs` has the programs and asks the model). That all of them together are enough is not said, and neither
//! copies of loops nor other instructions are tried. So the weight is a bound: no placement has less.

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
    options::Options,
    ordering::{is_seq_cst, keep, of_halves},
    rewrites::{self, fences::orders_itself},
};

/// How far the searches of a file go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The steps that are left. Each place that a walk enters is a step, and so is each place of a placement that is weighed.
    pub steps: u64,
}

impl Default for Budget {
    /// Some seconds.
    fn default() -> Self {
        Self { steps: 16_000_000 }
    }
}

/// The steps of a budget are taken.
#[derive(Clone, Copy, Debug)]
struct Spent;

impl Budget {
    /// A part for each of so many searches.
    pub(crate) fn share(self, searches: usize) -> Self {
        Self { steps: self.steps / searches.max(1) as u64 }
    }

    fn spend(&mut self, steps: usize) -> Result<(), Spent> {
        let left = self.steps.checked_sub(steps as u64);
        self.steps = left.unwrap_or(0);
        left.map(|_| ()).ok_or(Spent)
    }
}

/// A lower bound of what the orderings of any placement weigh, as [`crate::weights`] counts, that keeps what those of the function
/// order, with the narrowest scopes. Nothing if an operation of it was not measured, or for a function that is called: what stands around
/// the call is not known.
pub fn least(function: &Function, first: FirstRound, options: &Options, budget: &mut Budget) -> Option<Least> {
    if !function.kernel {
        return None;
    }
    let costs = Costs::new(options);
    let mut function = function.clone();
    let mut editor = Editor { function: &mut function, options, costs: &costs, remarks: &mut Vec::new() };
    rewrites::scope::run(&mut editor);
    Places::of(&function, options, &costs)?.search(first, budget)
}

/// What the first rounds of loops may cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FirstRound {
    /// All together no more than in the function: what the optimizer keeps to, since most loops that wait do so once.
    NoDearer,
    /// Anything.
    Any,
}

/// What no placement is below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Least {
    /// The weight.
    pub weight: u64,
    /// Whether a placement has this weight and orders all. Otherwise the search ended before one was found.
    pub reached: bool,
}

/// How far a place orders, by the widest scope, for each [`Part`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
struct Orders([Level; 4]);

/// What is ordered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Acquire,
    /// The acquire of a compare and exchange that fails.
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

    /// Of a fence, or of the fence in front of an operation.
    fn of_fence(ordering: Ordering, scope: Level) -> Self {
        let up_to = |has: bool| if has { scope } else { 0 };
        Self::default()
            .with(Part::Acquire, up_to(ordering.acquires()))
            .with(Part::Release, up_to(ordering.releases()))
            .with(Part::SeqCst, up_to(ordering == Ordering::SeqCst))
    }

    /// Of an operation on memory, without the fence in front of it: that one releases where it is sequentially consistent.
    fn of_operation(op: &AtomicOp, seen: Level) -> Self {
        let up_to = |has: bool| if has { seen } else { 0 };
        let failed = matches!(op.operation, Operation::CmpXchg { failure, .. } if failure.acquires());
        Self::default()
            .with(Part::Acquire, up_to(op.operation.reads() && op.ordering.acquires()))
            .with(Part::Failed, up_to(failed))
            .with(Part::Release, up_to(op.operation.writes() && op.ordering.releases() && !is_seq_cst(op)))
    }
}

/// An access, for what is ordered with it.
#[derive(Clone, Copy, Debug)]
struct Access {
    /// Whether it may be an atomic read.
    reads: bool,
    /// Whether it may be an atomic write.
    writes: bool,
    /// The threads that see it as an atomic one.
    seen: Level,
    /// The address of an atomic operation.
    address: Option<(usize, Option<usize>)>,
    /// Whether it is a compare and exchange, and the edge that is taken if it succeeds, where that is known.
    exchange: Option<Option<Edge>>,
}

/// From block to block.
type Edge = (usize, usize);

impl Access {
    const PLAIN: Self = Self { reads: false, writes: false, seen: ALL, address: None, exchange: None };
    /// A barrier or a call, and what is around a function that is no kernel.
    const UNKNOWN: Self = Self { reads: true, writes: true, ..Self::PLAIN };

    fn of(atomic: &Atomic) -> Self {
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

/// What stands at a place.
#[derive(Clone, Copy, Debug)]
enum Kind {
    /// No access: a fence may stand here. It may be the edge.
    Gap(Option<Edge>),
    Access(Access),
    /// What is in front of a kernel, or behind it. Only scopes wider than this have it.
    Border(Level),
}

/// A place.
#[derive(Debug)]
struct Item {
    kind: Kind,
    /// What the function orders here.
    given: Orders,
    /// What may stand here, the cheapest first.
    choices: Vec<Choice>,
    next: Vec<usize>,
}

#[derive(Clone, Copy, Debug)]
struct Choice {
    weight: u64,
    /// With each loop counted once.
    once: u64,
    orders: Orders,
}

const NOTHING: Choice = Choice { weight: 0, once: 0, orders: Orders([0; 4]) };

/// The places of a function. The first is in front of the entry.
struct Places<'f> {
    function: &'f Function,
    options: &'f Options,
    costs: &'f Costs<'f>,
    /// The scopes of the function.
    levels: Vec<Level>,
    items: Vec<Item>,
}

impl<'f> Places<'f> {
    /// Nothing if something was not measured.
    fn of(function: &'f Function, options: &'f Options, costs: &'f Costs<'f>) -> Option<Self> {
        let levels =
            function.events().filter_map(Event::atomic).flat_map(|atomic| [level::of(atomic), level::seen(atomic)]);
        let levels = levels.filter(|level| *level > 0).sorted_unstable().dedup().collect();
        let mut places = Self { function, options, costs, levels, items: Vec::new() };
        places.fill()?;
        Some(places)
    }

    fn fill(&mut self) -> Option<()> {
        let function = self.function;
        let border = Border::of(function, self.options);
        let border = if border.alone { Kind::Border(border.grid) } else { Kind::Access(Access::UNKNOWN) };
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
                    EventKind::Plain => Access::PLAIN,
                    EventKind::Barrier | EventKind::Unknown(_) => Access::UNKNOWN,
                    EventKind::Atomic(atomic) => {
                        if atomic.is_fence() || is_seq_cst(&atomic.op) {
                            fence = fence.join(Orders::of_fence(
                                if atomic.is_fence() { atomic.op.ordering } else { Ordering::SeqCst },
                                level::of(atomic),
                            ));
                        }
                        if atomic.is_fence() {
                            continue;
                        }
                        Access::of(atomic)
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

    /// One more place. The next one that is added follows it, if nothing else is said.
    fn add(&mut self, kind: Kind, given: Orders, mut choices: Vec<Choice>) {
        if choices.is_empty() {
            choices.push(NOTHING);
        }
        choices.sort_by_key(|choice| choice.weight);
        let next = vec![self.items.len() + 1];
        self.items.push(Item { kind, given, choices, next });
    }

    /// Every fence, and none.
    fn fences(&self, depth: u32) -> Vec<Choice> {
        let kinds = [Ordering::Acquire, Ordering::Release, Ordering::AcqRel, Ordering::SeqCst];
        let fences = iproduct!(kinds, &self.levels).filter_map(|(ordering, &scope)| {
            let op = AtomicOp { operation: Operation::Fence, ordering, scope: level::scope(scope) };
            let cost = self.costs.of(&op)?.in_loops(depth);
            Some(Choice { weight: cost.looped(), once: cost.once(), orders: Orders::of_fence(ordering, scope) })
        });
        fences.chain([NOTHING]).collect()
    }

    /// Every ordering of an operation.
    fn orderings(&self, atomic: &Atomic, depth: u32) -> Option<Vec<Choice>> {
        let Atomic { op, .. } = *atomic;
        let seen = level::seen(atomic);
        let of = |op: AtomicOp| {
            let cost = |op| Some(self.costs.of(&op)?.in_loops(depth));
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

/// Places, and what each of them would have to order for a walk to be ordered. One of them is enough.
type Remedies = Vec<(usize, Orders)>;

/// Where a walk is, and what was ordered on it.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
struct At {
    item: usize,
    /// By the function.
    given: Level,
    /// By the placement.
    placed: Level,
    /// Whether the compare and exchange at its start succeeded, until it leaves the block.
    succeeded: Option<bool>,
}

/// From what walks start, and what they ask for.
struct Start {
    item: usize,
    part: Part,
    succeeded: Option<bool>,
}

impl Places<'_> {
    /// The cheapest placement first, each with what else it must order.
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

    /// The cheapest that may stand at a place and orders this.
    fn choice(&self, item: usize, needed: Orders) -> Option<Choice> {
        self.items[item].choices.iter().copied().find(|choice| choice.orders.covers(needed))
    }

    /// The weight of the cheapest placement that orders this, and with each loop counted once.
    fn cost(&self, needed: &[Orders]) -> Option<(u64, u64)> {
        let mut choices = needed.iter().enumerate().map(|(item, orders)| self.choice(item, *orders));
        choices.fold_options((0, 0), |sum, choice| (sum.0 + choice.weight, sum.1 + choice.once))
    }

    /// Of the walks on which a placement orders less than the function, the one with the fewest remedies.
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
                Kind::Access(Access { reads, writes, exchange, .. }) => {
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

    /// The shortest walk on which the function orders more.
    fn walk(&self, start: &Start, placed: &[Orders], budget: &mut Budget) -> Result<Option<Remedies>, Spent> {
        let first = At {
            item: start.item,
            given: self.items[start.item].given.get(start.part),
            placed: placed[start.item].get(start.part),
            succeeded: start.succeeded,
        };
        // What a release orders counts where it is written, and a fence in between for both.
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

    /// Whether a fence behind the first of two rounds is not for what that round has read: the second round reads it again, to the same
    /// register, and nobody sees how many rounds there were.
    fn is_read_again(&self, start: &Start) -> bool {
        let Kind::Access(access) = self.items[start.item].kind else { return false };
        access.address.is_some() && (!access.writes || access.exchange.is_some())
    }

    /// What is ordered behind the place that a walk comes to. Nothing if it cannot go there.
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

    /// How far something must order at the end of a walk, if the placement does not.
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

    /// Whether two accesses need no order of this kind.
    fn is_free(&self, start: &Start, first: &Access, item: usize, last: &Access) -> bool {
        match start.part {
            // What a read acquires, a write of the same location passes on if it releases.
            Part::Acquire | Part::Failed => {
                last.has_address_of(first) && self.items[item].given.get(Part::Release) == 0
            }
            Part::Release => last.has_address_of(first),
            Part::SeqCst => last.has_address_of(first) || !first.writes && !last.reads,
        }
    }

    /// The scope within which a CTA of one thread is alone.
    fn alone(&self) -> Level {
        let unknown = self.function.events().any(|event| matches!(event.kind, EventKind::Unknown(_)));
        if self.function.kernel && self.function.single_thread && !unknown { CTA } else { 0 }
    }

    /// What would order on this walk, from its end to its start.
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

/// The part of a fence that orders what this part of an operation does.
fn of_fence(part: Part) -> Part {
    if part == Part::Failed { Part::Acquire } else { part }
}
