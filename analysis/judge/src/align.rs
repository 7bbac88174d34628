//! The alignment of a function's operations with its instructions: it finds the instruction that implements each
//! operation.
//!
//! # Problem
//!
//! The input is the **operations** of a source function, as basic blocks, and the **events** of a PTX function: the
//! memory accesses and unguarded fences that control reaches. A compiler may move blocks, expand an operation to a loop
//! or to an access with fences, and leave out unreachable operations. It does not change which operations there are,
//! nor how control leads from one to another.
//!
//! # Alignment
//!
//! An alignment matches each operation with up to three events: the access or fence that implements it, a fence before
//! it and a fence after it that carry its ordering. Each event is matched at most once. There is an order of the
//! operations and one of the events, both along the flow of control, that the matches keep.
//!
//! # Score
//!
//! The best alignment has the lowest cost. Among alignments of equal cost, it loses the fewest operations. An operation
//! is lost if the judge finds that its event does not keep it, if its fence belongs to another operation, or if it
//! needs an event and has none. Losses come second: the judge is to report them, so they must not decide which
//! instruction belongs to which operation. The cost is a sum, whose numbers are in [`cost`]:
//!
//! - for each matched operation, the misfit of the event in kind, width and state space;
//! - for each operation without an event, and for each access without an operation, the cost of leaving it unmatched.
//!   The [companions] of a matched event cost nothing: the reads with which a loop begins, or the second of two `atom`s
//!   between which a branch chooses;
//! - [`cost::RELATION`] for each broken relation. For each ordered pair of matched and reachable operations, an
//!   operation with itself included, there are three [relations](graph): "leads to", "dominates" and "post-dominates".
//!   A relation is broken if it holds between the operations but not between their events, or the other way round.
//!   There are two exceptions. The `cas` of an operation that became a loop always leads back to itself: the relation
//!   of the loop's first read counts instead, and without such a read, the relation counts as kept. If a branch
//!   chooses between two `atom`s, the relations of the branch count instead of theirs;
//! - [`cost::LACKING_FENCE`] for each operation that needs a fence and has none.
//!
//! # Search
//!
//! For one order of the operations and one order of the events, a [table](crate::table) gives the cheapest alignment by
//! fit and by unmatched operations and events. It is filled up to three times, since it does not see relations or
//! loops:
//!
//! 1. Each operation is a row; an operation with an ordering has a row for a fence before it if it releases, and a row
//!    for a fence after it if it acquires.
//! 2. If operations were matched with loops or choices, the table is filled again, without the companions of these.
//! 3. Each match moves to the event that fits as well, lies between the events of its neighbors, and breaks the fewest
//!    relations. Then the table is filled once more with these matches fixed, and with rows for only the fences that
//!    they need, among the fences that no other access separates from them. The matches move once more.
//!
//! The events have two orders, by flow and by text, and the better one counts. The operations have one order for each
//! order of the successors of each block: the reverse post-order of their graph. The first is the order of the text.
//! Then one exchange of two successors is tried, then two at a time, and so on. After each improvement, the search
//! begins again from the better order.
//!
//! # Bounds
//!
//! Let n be the number of operations and m the number of events. A table has at most (3n + 1)(m + 1) cells; above
//! [`LARGEST_TABLE`] the function is [`TooLarge`]. The search ends at a score that no alignment can improve, when all
//! exchanges are tried, or when [`LARGEST_SEARCH`] is spent: each order costs the nodes of the operations' graph, and
//! each new one two tables. Relations take time in proportion to the graph for each matched operation, and are cached.
//!
//! The text's order is always searched, so that there is always an alignment. If the search ends early, a better
//! alignment may be missed, and an operation that is kept may be reported as lost. Whatever the alignment, an operation
//! is reported as kept only if the event that it is matched with keeps it, and no two operations share an event.

use std::{
    cell::OnceCell,
    collections::{BTreeSet, HashMap, HashSet},
    rc::Rc,
};

use itertools::Itertools;
use ptx_lowering::{
    AtomicOp, Operation, Ordering, SyncScope,
    ptx::{FenceSem, flow::Direction},
};

use crate::{
    block::{BasicBlock, control_flow},
    cost::{self, Fit},
    event::{MemoryEvent, acquires, fence, releases, touches_memory},
    expansion::{choice, companions, is_expansion, is_loop},
    flow::Flow,
    graph::{self, Graph},
    table::{Candidates, TableRow, cheapest},
};

/// The largest table, in cells of one byte.
const LARGEST_TABLE: usize = 1 << 28;

/// The effort for the search of one function, in cells of tables and nodes of graphs. It takes a few hundredths of a
/// second if operations are lost, so that no order fits.
const LARGEST_SEARCH: usize = 1 << 20;

/// The result for one operation.
pub struct Assignment {
    /// The node of the access or fence that implements the operation.
    pub node: Option<usize>,
    /// Whether its ordering needs a fence, but the existing fences implement other operations.
    pub lacks_fence: bool,
    /// Whether control reaches the operation. An unreachable operation needs no instruction.
    pub is_reached: bool,
}

/// A function with more operations and instructions than can be aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{operations} operations and {instructions} memory instructions are too many to align")]
pub struct TooLarge {
    /// The number of atomics and fences in the source.
    pub operations: usize,
    /// The number of accesses and fences in the PTX.
    pub instructions: usize,
}

/// Finds the instruction that implements each operation, in the order of the text.
///
/// `is_lost` tells whether a node does not keep an operation.
///
/// # Errors
/// If the function is too large.
pub fn align(
    blocks: &[BasicBlock],
    flow: &Flow<'_>,
    is_lost: impl Fn(&AtomicOp, usize) -> bool,
) -> Result<Vec<Assignment>, TooLarge> {
    let operations: Vec<AtomicOp> = blocks.iter().flat_map(|block| &block.operations).copied().collect();
    let is_event = |node: &usize| MemoryEvent::from_node(flow, *node).is_some() || fence(flow, *node).is_some();
    let events: Vec<_> = flow.in_order().into_iter().filter(is_event).collect();
    let cells = (Part::ALL.len() * operations.len() + 1).saturating_mul(events.len() + 1);
    if cells > LARGEST_TABLE {
        return Err(TooLarge { operations: operations.len(), instructions: events.len() });
    }
    let (graph, nodes) = control_flow(blocks);
    let reached: HashSet<usize> = graph.order([]).into_iter().collect();
    let source = Source {
        operations: &operations,
        is_reached: nodes.iter().map(|node| reached.contains(node)).collect(),
        relations: NodeRelations::new(&graph, &nodes),
    };
    let paths = Graph::new(flow.nodes.iter().map(|node| node.next.clone()).collect());
    let forks = events.iter().filter_map(|node| choice(flow, *node)).map(|choice| choice.fork);
    let places: Vec<_> = events.iter().copied().chain(forks).unique().collect();
    let compiled = Compiled { flow, events: &events, places: &places, relations: NodeRelations::new(&paths, &places) };
    let is_lost = |op: &AtomicOp, event: usize| is_lost(op, events[event]);
    let mut aligner = Aligner::new(source, compiled, is_lost);
    let floor = aligner.floor();
    let by_text: Vec<usize> = (0..operations.len()).collect();
    let mut best = aligner.best_of(&by_text);
    let mut tried = HashSet::from([by_text]);
    let mut budget = LARGEST_SEARCH;
    let exchanges = graph.exchanges();
    let mut taken = BTreeSet::new();
    'improved: loop {
        // All subsets, the smaller ones first.
        for subset in (0..exchanges.len()).powerset() {
            if best.score == floor || budget == 0 {
                break 'improved;
            }
            let subset = &taken ^ &BTreeSet::from_iter(subset);
            let order = operations_in(graph.order(subset.iter().map(|index| exchanges[*index])), &nodes);
            budget = budget.saturating_sub(graph.len());
            if tried.insert(order.clone()) {
                budget = budget.saturating_sub(2 * cells);
                let found = aligner.best_of(&order);
                if found.score < best.score {
                    (best, taken) = (found, subset);
                    continue 'improved;
                }
            }
        }
        break;
    }
    let assignment = |(op, found): (usize, &Match)| Assignment {
        node: found.itself.map(|event| events[event]),
        lacks_fence: aligner.lacks_fence(op, found),
        is_reached: aligner.source.is_reached[op],
    };
    Ok(best.matches.iter().enumerate().map(assignment).collect())
}

/// The operations of an order of nodes. Unreachable operations come last.
fn operations_in(order: Vec<usize>, nodes: &[usize]) -> Vec<usize> {
    let reached = order.into_iter().filter_map(|node| nodes.binary_search(&node).ok());
    reached.chain(0..nodes.len()).unique().collect()
}

/// The cost of an alignment, and the number of lost operations.
type Score = (u32, usize);

struct Alignment {
    score: Score,
    /// The match of each operation, in the order of the text.
    matches: Vec<Match>,
}

/// The events that are matched with an operation.
#[derive(Clone, Copy, Default)]
struct Match {
    before: Option<usize>,
    itself: Option<usize>,
    after: Option<usize>,
}

/// A part of a [`Match`].
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    /// A fence before the operation, for its ordering.
    Before,
    /// The access or fence that implements the operation.
    Itself,
    /// A fence after the operation, for its ordering.
    After,
}

impl Part {
    const ALL: [Self; 3] = [Self::Before, Self::Itself, Self::After];
}

impl Match {
    fn get(&self, part: Part) -> Option<usize> {
        match part {
            Part::Before => self.before,
            Part::Itself => self.itself,
            Part::After => self.after,
        }
    }

    fn set(&mut self, part: Part, event: Option<usize>) {
        match part {
            Part::Before => self.before = event,
            Part::Itself => self.itself = event,
            Part::After => self.after = event,
        }
    }
}

/// The operations that have events, with their events.
fn pairs(matches: &[Match]) -> Vec<(usize, usize)> {
    matches.iter().enumerate().filter_map(|(op, found)| Some((op, found.itself?))).collect()
}

/// The operations of the source. Everything else names them by their indices.
struct Source<'a> {
    operations: &'a [AtomicOp],
    /// Whether control reaches each of them.
    is_reached: Vec<bool>,
    relations: NodeRelations<'a>,
}

/// The events of the PTX, as nodes of its flow. Everything else names them by their indices.
struct Compiled<'a> {
    flow: &'a Flow<'a>,
    events: &'a [usize],
    /// The events, then the branches that choose between some of them.
    places: &'a [usize],
    relations: NodeRelations<'a>,
}

/// The part that a fence plays for an access.
#[derive(Clone, Copy)]
enum FenceRole {
    Acquire,
    Release,
    SeqCst,
}

/// Facts from an earlier table that restrict the next one.
enum Known<'a> {
    Nothing,
    /// The companions of the events of matched operations.
    Companions(&'a HashSet<usize>),
    /// The events of the operations.
    Matches(&'a [Match]),
}

/// The two sides of an alignment, and cached facts about their pairs.
struct Aligner<'a, L> {
    source: Source<'a>,
    compiled: Compiled<'a>,
    /// The fit of each event, for each operation.
    fits: Vec<Rc<[Fit]>>,
    /// The fit of each event as a fence.
    fences: Vec<Fit>,
    /// The fences that can serve each event, for each [`FenceRole`]. Computed on demand.
    serving: Vec<[OnceCell<Vec<Fit>>; 3]>,
    /// The cost of leaving each operation without an event.
    leaving: Vec<u32>,
    /// The cost of leaving each event without an operation.
    skipping: Vec<u32>,
    /// The companions of each event: the other events of an operation's expansion.
    companions: Vec<Vec<usize>>,
    /// The place of the branch that chooses each event, if an operation became such a choice.
    chosen_at: Vec<Option<usize>>,
    /// The two orders of the events.
    orders: [Vec<usize>; 2],
    is_lost: L,
    /// The cached answers of `is_lost`.
    lost: HashMap<(usize, usize), bool>,
}

impl<'a, L: Fn(&AtomicOp, usize) -> bool> Aligner<'a, L> {
    fn new(source: Source<'a>, compiled: Compiled<'a>, is_lost: L) -> Self {
        let Compiled { flow, events, .. } = compiled;
        let mut rows: HashMap<AtomicOp, Rc<[Fit]>> = HashMap::new();
        let row = |op: &AtomicOp| events.iter().map(|node| cost::of_match(op, flow, *node)).collect();
        let fits = source.operations.iter().map(|op| rows.entry(*op).or_insert_with(|| row(op)).clone()).collect();
        let leaving = |(op, is_reached): (&AtomicOp, &bool)| if *is_reached { cost::of_leaving(op) } else { 0 };
        let indices: HashMap<usize, usize> = events.iter().copied().zip(0..).collect();
        let companions =
            |node: &usize| companions(flow, *node).iter().filter_map(|node| indices.get(node).copied()).collect();
        let companions: Vec<Vec<usize>> = events.iter().map(companions).collect();
        let place = |node: usize| compiled.places.iter().position(|place| *place == node);
        let chosen_at = events.iter().map(|node| choice(flow, *node).and_then(|choice| place(choice.fork))).collect();
        let mut skipping: Vec<u32> = events.iter().map(|node| cost::of_skipping(flow, *node)).collect();
        companions.iter().flatten().for_each(|companion| skipping[*companion] = 0);
        let by_flow = (0..events.len()).collect();
        let by_text = (0..events.len()).sorted_unstable_by_key(|event| events[*event]).collect();
        Self {
            fits,
            fences: events.iter().map(|node| cost::of_fence(flow, *node)).collect(),
            serving: events.iter().map(|_| Default::default()).collect(),
            leaving: source.operations.iter().zip(&source.is_reached).map(leaving).collect(),
            skipping,
            companions,
            chosen_at,
            orders: [by_flow, by_text],
            is_lost,
            lost: HashMap::new(),
            source,
            compiled,
        }
    }

    /// A score that no alignment improves: each operation has the event that fits best, and the other events are the
    /// cheapest to skip.
    fn floor(&self) -> Score {
        let best = |(fits, leaving): (&Rc<[Fit]>, &u32)| {
            fits.iter().flatten().min().map_or(*leaving, |cost| (*leaving).min(u32::from(*cost)))
        };
        let accesses = self.source.operations.iter().filter(|op| op.operation != Operation::Fence).count();
        let skipped = self.skipping.iter().sorted_unstable().rev().skip(accesses).sum::<u32>();
        (self.fits.iter().zip(&self.leaving).map(best).sum::<u32>() + skipped, 0)
    }

    /// The better of the two alignments with the events in their orders.
    fn best_of(&mut self, operations: &[usize]) -> Alignment {
        let [by_flow, by_text] = [0, 1].map(|order| {
            let mut matches = self.cheapest(operations, &self.orders[order], &Known::Nothing);
            let companions = self.companions_of(&matches);
            if !companions.is_empty() {
                matches = self.cheapest(operations, &self.orders[order], &Known::Companions(&companions));
            }
            self.settle(operations, &self.orders[order], &mut matches);
            let mut matches = self.cheapest(operations, &self.orders[order], &Known::Matches(&matches));
            self.settle(operations, &self.orders[order], &mut matches);
            Alignment { score: self.score(&matches), matches }
        });
        if by_text.score < by_flow.score { by_text } else { by_flow }
    }

    fn score(&mut self, matches: &[Match]) -> Score {
        let pairs = pairs(matches);
        let fits = pairs.iter().map(|&(op, event)| self.fits[op][event].map_or(0, u32::from)).sum::<u32>();
        let unmatched = || matches.iter().zip(&self.leaving).filter(|(found, _)| found.itself.is_none());
        let left = unmatched().map(|(_, cost)| cost).sum::<u32>();
        let taken: HashSet<usize> = pairs.iter().map(|(_, event)| *event).collect();
        let skipped = (0..self.skipping.len()).filter(|event| !taken.contains(event)).map(|event| self.skipping[event]);
        let reached = self.reached(&pairs);
        let relations = reached.iter().map(|&(op, event)| self.broken_relations(op, event, &reached)).sum::<u32>();
        let lacking: Vec<bool> = matches.iter().enumerate().map(|(op, found)| self.lacks_fence(op, found)).collect();
        let fences: u32 = lacking.iter().map(|lacks| if *lacks { cost::LACKING_FENCE } else { 0 }).sum();
        let cost = (fits + left + skipped.sum::<u32>())
            .saturating_add(relations.saturating_mul(cost::RELATION))
            .saturating_add(fences);
        let mut is_lost = |op: usize, event: usize| {
            *self.lost.entry((op, event)).or_insert_with(|| (self.is_lost)(&self.source.operations[op], event))
        };
        let lost = pairs.iter().filter(|(op, event)| lacking[*op] || is_lost(*op, *event)).count();
        (cost, lost + unmatched().filter(|(_, cost)| **cost > 0).count())
    }

    /// The pairs of reachable operations. Other operations have no relations.
    fn reached(&self, pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
        pairs.iter().copied().filter(|(op, _)| self.source.is_reached[*op]).collect()
    }

    /// The number of relations that an operation has, to itself and to other operations, and its event has not, or the
    /// other way round.
    fn broken_relations(&self, op: usize, event: usize, pairs: &[(usize, usize)]) -> u32 {
        let place = self.place(op, event);
        let (asked, found) = (self.source.relations.find_relations(op), self.compiled.relations.find_relations(place));
        let others = pairs.iter().filter(|(other, _)| *other != op);
        let broken = |&(other, event): &(usize, usize)| (asked[other] ^ found[self.place(other, event)]).count_ones();
        let others = others.map(broken).sum::<u32>();
        // A loop that the operation became leads back to itself. Its first read tells whether other code also leads
        // back there.
        let again = match self.companions[event].first() {
            _ if place != event || !self.is_loop(op, event) => found[place],
            Some(first) => found[*first],
            None => asked[op],
        };
        let itself = found[place] & !graph::LEADS_TO | again & graph::LEADS_TO;
        others + (asked[op] ^ itself).count_ones()
    }

    /// Moves each operation to the best of the events that fit as well at its place in the order.
    fn settle(&self, operations: &[usize], events: &[usize], matches: &mut [Match]) {
        // A fence that is not needed by its match may belong to another operation.
        for (op, found) in matches.iter_mut().enumerate() {
            if let Some(event) = found.itself {
                let needed = self.fences_needed(op, event);
                let spare = [Part::Before, Part::After].into_iter().filter(|part| !needed.contains(part));
                spare.for_each(|part| found.set(part, None));
            }
        }
        let places: HashMap<usize, usize> = events.iter().copied().zip(0..).collect();
        let parts = operations.iter().flat_map(|op| Part::ALL.map(|part| (*op, part)));
        let parts: Vec<_> = parts.filter(|(op, part)| matches[*op].get(*part).is_some()).collect();
        for (index, &(op, _)) in parts.iter().enumerate().filter(|(_, (_, part))| *part == Part::Itself) {
            let place = |index: usize| parts.get(index).and_then(|(op, part)| Some(places[&matches[*op].get(*part)?]));
            let first = index.checked_sub(1).and_then(place).map_or(0, |place| place + 1);
            let after = place(index + 1).unwrap_or(events.len());
            let Some(now) = matches[op].itself else { continue };
            let worth = |event: usize| (self.fits[op][event], self.skipping[event]);
            let candidates: Vec<_> =
                events[first..after].iter().copied().filter(|event| worth(*event) == worth(now)).collect();
            if candidates.len() > 1 {
                let pairs = self.reached(&pairs(matches));
                let broken = |event: &usize| (self.broken_relations(op, *event, &pairs), *event != now);
                matches[op].itself = candidates.into_iter().min_by_key(broken);
            }
        }
    }

    /// Whether an operation needs a fence for its ordering and has none of its own.
    fn lacks_fence(&self, op: usize, found: &Match) -> bool {
        let Some(event) = found.itself else { return false };
        self.fences_needed(op, event).into_iter().any(|part| found.get(part).is_none())
    }

    /// Whether this event is one of several events of an operation's expansion.
    fn is_expansion(&self, op: usize, event: usize) -> bool {
        is_expansion(&self.source.operations[op], self.compiled.flow, self.compiled.events[event])
    }

    /// Whether this event is the `cas` of a loop that an operation became.
    fn is_loop(&self, op: usize, event: usize) -> bool {
        self.compiled.flow.cas(self.compiled.events[event]).is_some_and(|cas| is_loop(&self.source.operations[op], cas))
    }

    /// The place of an operation whose event is this one, for its relations.
    fn place(&self, op: usize, event: usize) -> usize {
        self.chosen_at[event].filter(|_| self.is_expansion(op, event)).unwrap_or(event)
    }

    /// The companions of the events that implement operations.
    fn companions_of(&self, matches: &[Match]) -> HashSet<usize> {
        let expanded = pairs(matches).into_iter().filter(|(op, event)| self.is_expansion(*op, *event));
        expanded.flat_map(|(_, event)| &self.companions[event]).copied().collect()
    }

    /// The fences that can play a role for an event: no access of another operation lies between.
    fn serving(&self, event: usize, role: FenceRole) -> &[Fit] {
        let (direction, holds): (_, fn(FenceSem) -> bool) = match role {
            FenceRole::Acquire => (Direction::Forward, acquires),
            FenceRole::Release => (Direction::Backward, releases),
            FenceRole::SeqCst => (Direction::Backward, |sem| sem == FenceSem::Sc),
        };
        self.serving[event][role as usize].get_or_init(|| {
            let Compiled { flow, events, .. } = self.compiled;
            let own = |node: usize| [event].iter().chain(&self.companions[event]).any(|own| events[*own] == node);
            let stops = |node: usize| !own(node) && touches_memory(flow, node);
            let reached = flow.reached(events[event], direction, stops);
            let serves = |node: usize| reached[node] && fence(flow, node).is_some_and(|(sem, _)| holds(sem));
            events.iter().zip(&self.fences).map(|(node, fit)| fit.filter(|_| serves(*node))).collect()
        })
    }

    /// The sides on which an operation needs fences, if this event implements it.
    fn fences_needed(&self, op: usize, event: usize) -> Vec<Part> {
        let found = MemoryEvent::from_node(self.compiled.flow, self.compiled.events[event]);
        let Some(found) = found.filter(|_| self.is_ordered(op)) else { return Vec::new() };
        let AtomicOp { operation, ordering, .. } = self.source.operations[op];
        let ordering = match operation {
            Operation::CmpXchg { failure, .. } => ordering.join(failure),
            _ => ordering,
        };
        let before = ordering == Ordering::SeqCst || ordering.releases() && found.writes && !found.releases;
        let after = ordering.acquires() && operation.reads() && found.reads && !found.acquires;
        [(before, Part::Before), (after, Part::After)].into_iter().filter_map(|(is, part)| is.then_some(part)).collect()
    }

    /// Whether an operation is an access with an ordering that other threads can observe.
    fn is_ordered(&self, op: usize) -> bool {
        let AtomicOp { operation, scope, .. } = self.source.operations[op];
        operation != Operation::Fence && scope != SyncScope::SingleThread && self.leaving[op] > 0
    }

    /// The rows of an operation in a table, in their order.
    fn rows<'s>(&'s self, op: usize, known: &'s Known<'_>) -> Vec<(Part, TableRow<'s>)> {
        let AtomicOp { operation, ordering, .. } = self.source.operations[op];
        let is_fence = operation == Operation::Fence;
        let itself = |candidates| (Part::Itself, TableRow { candidates, leaving: self.leaving[op] });
        let rows = match known {
            _ if is_fence && !self.source.is_reached[op] => [None, None, None],
            Known::Matches(matches) if !is_fence => {
                let Some(event) = matches[op].itself else { return Vec::new() };
                let needed = self.fences_needed(op, event);
                let fence = |part, role| {
                    let candidates = Candidates::Any(self.serving(event, role));
                    (part, TableRow { candidates, leaving: cost::LACKING_FENCE })
                };
                let role = if ordering == Ordering::SeqCst { FenceRole::SeqCst } else { FenceRole::Release };
                [
                    needed.contains(&Part::Before).then(|| fence(Part::Before, role)),
                    Some(itself(Candidates::Only(event, &self.fits[op]))),
                    needed.contains(&Part::After).then(|| fence(Part::After, FenceRole::Acquire)),
                ]
            }
            Known::Companions(_) | Known::Nothing | Known::Matches(_) => {
                // Only sequential consistency always needs a fence.
                let leaving = if ordering == Ordering::SeqCst { cost::LACKING_FENCE } else { 0 };
                let fence = |part, leaving| (part, TableRow { candidates: Candidates::Any(&self.fences), leaving });
                let candidates = match known {
                    Known::Companions(companions) => Candidates::Except(companions, &self.fits[op]),
                    _ => Candidates::Any(&self.fits[op]),
                };
                let is_ordered = self.is_ordered(op);
                [
                    (is_ordered && ordering.releases()).then(|| fence(Part::Before, leaving)),
                    Some(itself(candidates)),
                    (is_ordered && ordering.acquires()).then(|| fence(Part::After, 0)),
                ]
            }
        };
        rows.into_iter().flatten().collect()
    }

    /// The cheapest alignment of operations and events in these orders.
    fn cheapest(&self, operations: &[usize], events: &[usize], known: &Known<'_>) -> Vec<Match> {
        let rows = operations.iter().flat_map(|op| self.rows(*op, known).into_iter().map(move |row| (*op, row)));
        let (parts, rows): (Vec<_>, Vec<_>) = rows.map(|(op, (part, row))| ((op, part), row)).unzip();
        let mut matches = vec![Match::default(); operations.len()];
        for ((op, part), event) in parts.into_iter().zip(cheapest(&rows, events, &self.skipping)) {
            matches[op].set(part, event);
        }
        matches
    }
}

/// The relations between the matched nodes, by their indices. Computed on demand.
struct NodeRelations<'a> {
    graph: &'a Graph,
    nodes: &'a [usize],
    known: Vec<OnceCell<Vec<u8>>>,
}

impl<'a> NodeRelations<'a> {
    fn new(graph: &'a Graph, nodes: &'a [usize]) -> Self {
        Self { graph, nodes, known: vec![OnceCell::new(); nodes.len()] }
    }

    /// The relations of one node to all nodes.
    fn find_relations(&self, index: usize) -> &[u8] {
        self.known[index].get_or_init(|| self.graph.relations(self.nodes[index], self.nodes))
    }
}
