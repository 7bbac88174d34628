//! Which instruction of a function stands for which operation.
//!
//! Compilers move blocks, but not what they do. An alignment goes through operations and instructions in one order each,
//! which both follow the flow of control, and leaves out some of both. Which of the ways from a branch comes first is not
//! said by either side, so that several orders are tried. The best one is that whose instructions fit the operations, by
//! kind, width and state space, and stand to each other as the operations do: which leads to which, and which is on
//! every way to which. Only where these cannot tell does it count what is lost, since what an ordering or a scope should
//! be must not decide whose it is.

use std::{
    cell::{OnceCell, RefCell},
    collections::{BTreeSet, HashMap, HashSet},
    rc::Rc,
};

use itertools::Itertools;

use crate::{
    Access, access, acquiring, fence,
    flow::{Flow, Way},
    graph::{self, Graph},
    is_private,
    judge::{Block, TooLarge, atom, guesses, is_loop},
    releasing,
    swap::keeps_value,
    touches_memory,
};
use ptx_atomics_lowering::{
    AtomicOp, Operation, Ordering, RmwOp, SyncScope,
    ptx::{Atom, AtomOp, FenceSem, Instruction, Red, Space},
};

/// The largest table of an alignment, in cells of a byte.
const LARGEST_TABLE: usize = 1 << 28;

/// How much is tried for a function, in cells of tables and nodes of graphs: a few hundredths of a second where operations
/// are lost, so that no order fits.
const LARGEST_SEARCH: usize = 1 << 20;

/// What it costs that two instructions stand to each other otherwise than their operations do.
const COST_OF_RELATION: u32 = 8;

/// What stands for an operation.
pub struct StandIn {
    /// A node of the flow.
    pub node: Option<usize>,
    /// Whether its ordering needs a fence, but those that are there stand for other operations.
    pub lacks_fence: bool,
    /// Whether control reaches the operation. If not, nothing need stand for it.
    pub is_reached: bool,
}

/// What stands for each operation, in the order of the text.
///
/// `is_lost` says whether a node does not keep an operation.
///
/// # Errors
/// If the function is too large.
pub fn align(
    blocks: &[Block],
    flow: &Flow<'_>,
    is_lost: impl Fn(&AtomicOp, usize) -> bool,
) -> Result<Vec<StandIn>, TooLarge> {
    let operations: Vec<AtomicOp> = blocks.iter().flat_map(|block| &block.operations).copied().collect();
    let is_event = |node: &usize| access(flow, *node).is_some() || fence(flow, *node).is_some();
    let events: Vec<_> = flow.in_order().into_iter().filter(is_event).collect();
    // An operation is a row of the table, and so are up to two fences around it.
    let cells = (3 * operations.len() + 1).saturating_mul(events.len() + 1);
    if cells > LARGEST_TABLE {
        return Err(TooLarge { operations: operations.len(), instructions: events.len() });
    }
    let (graph, nodes) = graph(blocks);
    let reached: HashSet<usize> = graph.order([]).into_iter().collect();
    let is_reached: Vec<bool> = nodes.iter().map(|node| reached.contains(node)).collect();
    let ways = Graph::new(flow.nodes.iter().map(|node| node.next.clone()).collect());
    let (asked, found) = (Relations::new(&graph, &nodes), Relations::new(&ways, &events));
    let is_lost = |op: &AtomicOp, event: usize| is_lost(op, events[event]);
    let mut aligner = Aligner::new(&operations, &is_reached, flow, &events, asked, found, is_lost);
    let floor = aligner.floor();
    let by_text: Vec<usize> = (0..operations.len()).collect();
    let mut best = aligner.best_of(&by_text);
    let mut tried = HashSet::from([by_text]);
    let mut left = LARGEST_SEARCH;
    let swaps = graph.swaps();
    let mut taken = BTreeSet::new();
    // One more exchange of successors, then two at a time, and so on; from each improvement anew.
    'improved: loop {
        for exchanged in (0..swaps.len()).powerset() {
            if best.score == floor || left == 0 {
                break 'improved;
            }
            let exchanged = &taken ^ &BTreeSet::from_iter(exchanged);
            let order = operations_in(graph.order(exchanged.iter().map(|index| swaps[*index])), &nodes);
            left = left.saturating_sub(graph.len());
            if tried.insert(order.clone()) {
                left = left.saturating_sub(2 * cells);
                let found = aligner.best_of(&order);
                if found.score < best.score {
                    (best, taken) = (found, exchanged);
                    continue 'improved;
                }
            }
        }
        break;
    }
    let stand_in = |(op, anchor): (usize, &Anchor)| StandIn {
        node: anchor[ITSELF].map(|event| events[event]),
        lacks_fence: aligner.lacks_fence(op, anchor),
        is_reached: is_reached[op],
    };
    Ok(best.anchors.iter().enumerate().map(stand_in).collect())
}

/// The control flow of blocks: a node for the beginning of each, and one for each operation, whose numbers come second.
fn graph(blocks: &[Block]) -> (Graph, Vec<usize>) {
    let beginnings: Vec<usize> = blocks
        .iter()
        .scan(0, |node, block| Some(std::mem::replace(node, *node + 1 + block.operations.len())))
        .collect();
    let exit = blocks.iter().map(|block| 1 + block.operations.len()).sum::<usize>().max(1);
    let mut next: Vec<Vec<usize>> = (1..=exit).map(|behind| vec![behind]).collect();
    let mut nodes = Vec::new();
    for (block, &beginning) in blocks.iter().zip(&beginnings) {
        let last = beginning + block.operations.len();
        nodes.extend(beginning + 1..=last);
        let targets = block.next.iter().map(|block| beginnings.get(*block).copied().unwrap_or(exit));
        next[last] = targets.unique().collect();
        if next[last].is_empty() {
            next[last].push(exit);
        }
    }
    next.push(Vec::new());
    (Graph::new(next), nodes)
}

/// The operations of an order of nodes. Those that control does not reach come last.
fn operations_in(order: Vec<usize>, nodes: &[usize]) -> Vec<usize> {
    let reached = order.into_iter().filter_map(|node| nodes.binary_search(&node).ok());
    reached.chain(0..nodes.len()).unique().collect()
}

/// How well an alignment fits: what it costs, and how many operations are lost.
type Score = (u32, usize);

struct Alignment {
    score: Score,
    anchors: Vec<Anchor>,
}

/// The events that stand for an operation: a fence in front of it, its own, and a fence behind it.
type Anchor = [Option<usize>; 3];
const BEFORE: usize = 0;
const ITSELF: usize = 1;
const BEHIND: usize = 2;

/// The operations that have events, and these.
fn pairs(anchors: &[Anchor]) -> Vec<(usize, usize)> {
    anchors.iter().enumerate().filter_map(|(op, anchor)| Some((op, anchor[ITSELF]?))).collect()
}

/// The two sides of an alignment, and what is known of their pairs. Operations and events are known by their indices.
struct Aligner<'a, L> {
    operations: &'a [AtomicOp],
    /// Whether control reaches each of them.
    is_reached: &'a [bool],
    /// How badly each of the events fits, if it can at all, for each of the operations.
    fits: Vec<Rc<[Option<u8>]>>,
    /// The events that are fences, in the same way.
    fences: Rc<[Option<u8>]>,
    /// Those of them that serve each of the events, behind it and in front of it, as far as it was asked.
    serving: Vec<[OnceCell<Vec<Option<u8>>>; 3]>,
    flow: &'a Flow<'a>,
    events: &'a [usize],
    /// What it costs to leave each of the operations, and to skip each of the events.
    leaving: Vec<u32>,
    skipping: Vec<u32>,
    accesses: Vec<Option<Access>>,
    /// Those of the events that are an `atom`, and the reads with which its loop begins, if it is one.
    atoms: Vec<Option<&'a Atom>>,
    guesses: Vec<Vec<usize>>,
    /// The orders of the events.
    orders: [Vec<usize>; 2],
    asked: Relations<'a>,
    found: Relations<'a>,
    is_lost: L,
    lost: HashMap<(usize, usize), bool>,
}

impl<'a, L: Fn(&AtomicOp, usize) -> bool> Aligner<'a, L> {
    fn new(
        operations: &'a [AtomicOp],
        is_reached: &'a [bool],
        flow: &'a Flow<'a>,
        events: &'a [usize],
        asked: Relations<'a>,
        found: Relations<'a>,
        is_lost: L,
    ) -> Self {
        let mut rows: HashMap<AtomicOp, Rc<[Option<u8>]>> = HashMap::new();
        let row = |op: &AtomicOp| events.iter().map(|node| cost_of_match(op, flow, *node)).collect();
        let fits: Vec<Rc<[Option<u8>]>> =
            operations.iter().map(|op| rows.entry(*op).or_insert_with(|| row(op)).clone()).collect();
        let cost_without = |(op, is_reached): (&AtomicOp, &bool)| if *is_reached { cost_without(op) } else { 0 };
        let places: HashMap<usize, usize> = events.iter().copied().zip(0..).collect();
        let guesses = |node: &usize| match atom(flow, *node) {
            Some(atom) if atom.op == AtomOp::Cas => {
                guesses(flow, *node, atom).into_iter().filter_map(|read| places.get(&read).copied()).collect()
            }
            _ => Vec::new(),
        };
        let guesses: Vec<Vec<usize>> = events.iter().map(guesses).collect();
        let leaving: Vec<u32> = operations.iter().zip(is_reached).map(cost_without).collect();
        let mut skipping: Vec<u32> = events.iter().map(|node| cost_of_skipping(flow, *node)).collect();
        guesses.iter().flatten().for_each(|read| skipping[*read] = 0);
        let by_flow = (0..events.len()).collect();
        let by_text = (0..events.len()).sorted_unstable_by_key(|event| events[*event]).collect();
        Self {
            operations,
            is_reached,
            serving: events.iter().map(|_| Default::default()).collect(),
            flow,
            events,
            fits,
            fences: events.iter().map(|node| fence(flow, *node).map(|_| 0)).collect(),
            leaving,
            skipping,
            accesses: events.iter().map(|node| access(flow, *node)).collect(),
            guesses,
            atoms: events.iter().map(|node| atom(flow, *node)).collect(),
            orders: [by_flow, by_text],
            asked,
            found,
            is_lost,
            lost: HashMap::new(),
        }
    }

    /// No score is better: each operation has the instruction that fits best, and the others are the cheapest to skip.
    fn floor(&self) -> Score {
        let best = |(fits, leaving): (&Rc<[Option<u8>]>, &u32)| {
            fits.iter().flatten().min().map_or(*leaving, |cost| (*leaving).min(u32::from(*cost)))
        };
        let accesses = self.operations.iter().filter(|op| op.operation != Operation::Fence).count();
        let skipped = self.skipping.iter().sorted_unstable().rev().skip(accesses).sum::<u32>();
        (self.fits.iter().zip(&self.leaving).map(best).sum::<u32>() + skipped, 0)
    }

    /// The better of the two alignments with the events in their orders.
    fn best_of(&mut self, order: &[usize]) -> Alignment {
        let [by_flow, by_text] = [0, 1].map(|which| {
            let mut anchors = self.cheapest(order, &self.orders[which], &Known::default());
            // Which loops there are is known only now, and what they begin with is no other operation's.
            let begun = self.begun(&anchors);
            if !begun.is_empty() {
                anchors = self.cheapest(order, &self.orders[which], &Known { begun, anchors: None });
            }
            self.settle(order, &self.orders[which], &mut anchors);
            // So are the fences that are needed.
            let known = Known { begun: HashSet::new(), anchors: Some(&anchors) };
            let mut anchors = self.cheapest(order, &self.orders[which], &known);
            self.settle(order, &self.orders[which], &mut anchors);
            Alignment { score: self.score(&anchors), anchors }
        });
        if by_text.score < by_flow.score { by_text } else { by_flow }
    }

    fn score(&mut self, anchors: &[Anchor]) -> Score {
        let pairs = pairs(anchors);
        let fits = pairs.iter().map(|&(op, event)| self.fits[op][event].map_or(0, u32::from)).sum::<u32>();
        let left = || anchors.iter().zip(&self.leaving).filter(|(anchor, _)| anchor[ITSELF].is_none());
        let taken: HashSet<usize> = pairs.iter().map(|(_, event)| *event).collect();
        let skipped = (0..self.skipping.len()).filter(|event| !taken.contains(event)).map(|event| self.skipping[event]);
        let left_cost = left().map(|(_, cost)| cost).sum::<u32>();
        let cost = fits + left_cost + skipped.sum::<u32>();
        let reached = self.reached(&pairs);
        let relations = reached.iter().map(|&(op, event)| self.relations_lost(op, event, &reached)).sum::<u32>();
        let cost = cost.saturating_add(relations.saturating_mul(COST_OF_RELATION));
        let lacking: Vec<bool> = anchors.iter().enumerate().map(|(op, anchor)| self.lacks_fence(op, anchor)).collect();
        let cost = cost.saturating_add(lacking.iter().map(|lacks| u32::from(*lacks)).sum());
        let mut is_lost = |op: usize, event: usize| {
            *self.lost.entry((op, event)).or_insert_with(|| (self.is_lost)(&self.operations[op], event))
        };
        let lost = pairs.iter().filter(|(op, event)| lacking[*op] || is_lost(*op, *event)).count();
        (cost, lost + left().filter(|(_, cost)| **cost > 0).count())
    }

    /// The pairs of operations that control reaches: the others stand to nothing.
    fn reached(&self, pairs: &[(usize, usize)]) -> Vec<(usize, usize)> {
        pairs.iter().copied().filter(|(op, _)| self.is_reached[*op]).collect()
    }

    /// How many relations to itself and to others an operation has that an event has not, or the other way round.
    fn relations_lost(&self, op: usize, event: usize, others: &[(usize, usize)]) -> u32 {
        let (asked, found) = (self.asked.of(op), self.found.of(event));
        let others = others.iter().filter(|(other, _)| *other != op);
        let others = others.map(|&(other, of_other)| (asked[other] ^ found[of_other]).count_ones()).sum::<u32>();
        // A loop that the operation became leads back to itself. Whether other code does is told by what it begins with.
        let again = match self.guesses[event].first() {
            _ if !self.is_loop(op, event) => found[event],
            Some(begin) => found[*begin],
            None => asked[op],
        };
        let itself = found[event] & !graph::LEADS | again & graph::LEADS;
        others + (asked[op] ^ itself).count_ones()
    }

    /// Moves each operation to the best of the events that are as good in the same place of the order: the table cannot
    /// tell these, since it does not see how they stand to each other.
    fn settle(&self, operations: &[usize], events: &[usize], anchors: &mut [Anchor]) {
        // A fence that is not needed where it was taken may be another operation's.
        for (op, anchor) in anchors.iter_mut().enumerate() {
            if let Some(event) = anchor[ITSELF] {
                let needed = self.fences_needed(op, event);
                [BEFORE, BEHIND].into_iter().filter(|part| !needed.contains(part)).for_each(|part| anchor[part] = None);
            }
        }
        let places: HashMap<usize, usize> = events.iter().copied().zip(0..).collect();
        let parts = operations.iter().flat_map(|op| [BEFORE, ITSELF, BEHIND].map(|part| (*op, part)));
        let parts: Vec<_> = parts.filter(|(op, part)| anchors[*op][*part].is_some()).collect();
        for (index, &(op, _)) in parts.iter().enumerate().filter(|(_, (_, part))| *part == ITSELF) {
            let place = |index: usize| parts.get(index).and_then(|(op, part)| Some(places[&anchors[*op][*part]?]));
            let first = index.checked_sub(1).and_then(place).map_or(0, |place| place + 1);
            let behind = place(index + 1).unwrap_or(events.len());
            let Some(now) = anchors[op][ITSELF] else { continue };
            let worth = |event: usize| (self.fits[op][event], self.skipping[event]);
            let candidates: Vec<_> =
                events[first..behind].iter().copied().filter(|event| worth(*event) == worth(now)).collect();
            if candidates.len() > 1 {
                let others = self.reached(&pairs(anchors));
                let lost = |event: &usize| (self.relations_lost(op, *event, &others), *event != now);
                anchors[op][ITSELF] = candidates.into_iter().min_by_key(lost);
            }
        }
    }

    /// Whether an operation has its ordering from a fence that is another one's.
    fn lacks_fence(&self, op: usize, anchor: &Anchor) -> bool {
        let Some(event) = anchor[ITSELF] else { return false };
        self.fences_needed(op, event).into_iter().any(|part| anchor[part].is_none())
    }

    /// Whether an operation became a loop around this event.
    fn is_loop(&self, op: usize, event: usize) -> bool {
        self.atoms[event].is_some_and(|atom| is_loop(&self.operations[op], atom))
    }

    /// The reads with which the loops begin that operations became.
    fn begun(&self, anchors: &[Anchor]) -> HashSet<usize> {
        let loops = pairs(anchors).into_iter().filter(|(op, event)| self.is_loop(*op, *event));
        loops.flat_map(|(_, event)| &self.guesses[event]).copied().collect()
    }

    /// The fences that can give an event an ordering at this part: no access of another operation stands in between.
    fn serving(&self, event: usize, part: usize, ordering: Ordering) -> &[Option<u8>] {
        let (index, way, holds): (_, _, fn(FenceSem) -> bool) = match (part, ordering) {
            (BEHIND, _) => (0, Way::Forward, acquiring),
            (_, Ordering::SeqCst) => (1, Way::Backward, |sem| sem == FenceSem::Sc),
            _ => (2, Way::Backward, releasing),
        };
        self.serving[event][index].get_or_init(|| {
            let own = |node: usize| [event].iter().chain(&self.guesses[event]).any(|own| self.events[*own] == node);
            let stops = |node: usize| !own(node) && touches_memory(self.flow, node);
            let reached = self.flow.reached(self.events[event], way, stops);
            let serves =
                |node: &usize| fence(self.flow, *node).filter(|(sem, _)| reached[*node] && holds(*sem)).map(|_| 0);
            self.events.iter().map(serves).collect()
        })
    }

    /// Where an operation needs fences, if this event stands for it.
    fn fences_needed(&self, op: usize, event: usize) -> Vec<usize> {
        let Some(found) = self.accesses[event].filter(|_| self.is_ordered(op)) else { return Vec::new() };
        let AtomicOp { ordering, .. } = self.operations[op];
        let is_sc = ordering == Ordering::SeqCst;
        let before = is_sc || ordering.releases() && found.writes && !found.releases;
        let behind = ordering.acquires() && found.reads && !found.acquires;
        [(before, BEFORE), (behind, BEHIND)].into_iter().filter_map(|(is, part)| is.then_some(part)).collect()
    }

    /// Whether an operation that others see has an ordering of its own.
    fn is_ordered(&self, op: usize) -> bool {
        let AtomicOp { operation, scope, .. } = self.operations[op];
        operation != Operation::Fence && scope != SyncScope::SingleThread && self.leaving[op] > 0
    }

    /// What may stand for an operation, in this order, and what it costs if nothing does. A fence that stands there for its
    /// ordering is no other operation's. Where the operations have events already, only these stand for accesses, and
    /// only the fences that they need.
    fn rows<'s>(&'s self, op: usize, known: &'s Known<'_>) -> Vec<Row<'s>> {
        let AtomicOp { operation, ordering, .. } = self.operations[op];
        let itself = |fits| Row { op, part: ITSELF, fits, leaving: self.leaving[op] };
        let fence = |part, fits, leaving| Row { op, part, fits, leaving };
        match known.anchors.map(|anchors| anchors[op][ITSELF]) {
            _ if operation == Operation::Fence && !self.is_reached[op] => Vec::new(),
            Some(None) if operation != Operation::Fence => Vec::new(),
            Some(Some(event)) if operation != Operation::Fence => {
                let needed = self.fences_needed(op, event);
                let part = |part| {
                    needed.contains(&part).then(|| fence(part, Fits::Any(self.serving(event, part, ordering)), 1))
                };
                [part(BEFORE), Some(itself(Fits::Only(event, &self.fits[op]))), part(BEHIND)]
                    .into_iter()
                    .flatten()
                    .collect()
            }
            _ => {
                let fenced = self.is_ordered(op);
                let any = Fits::Any(&self.fences);
                let before = fence(BEFORE, any, u32::from(ordering == Ordering::SeqCst));
                let rows = [
                    (fenced && ordering.releases(), before),
                    (true, itself(Fits::But(&known.begun, &self.fits[op]))),
                    (fenced && ordering.acquires(), fence(BEHIND, any, 0)),
                ];
                rows.into_iter().filter_map(|(stands, row)| stands.then_some(row)).collect()
            }
        }
    }

    /// The cheapest alignment of operations and events in these orders.
    fn cheapest(&self, operations: &[usize], events: &[usize], known: &Known<'_>) -> Vec<Anchor> {
        let rows: Vec<_> = operations.iter().flat_map(|op| self.rows(*op, known)).collect();
        let width = events.len() + 1;
        let mut moves = vec![Move::Skip; (rows.len() + 1) * width];
        let mut costs: Vec<u32> = vec![0; width];
        for (column, event) in (1..).zip(events) {
            costs[column] = costs[column - 1] + self.skipping[*event];
        }
        for (row, &Row { fits, leaving, .. }) in (1..).zip(&rows) {
            let above = costs.clone();
            for column in 0..width {
                let mut best = (above[column].saturating_add(leaving), Move::Leave);
                if let Some(before) = column.checked_sub(1) {
                    let event = events[before];
                    let skip = costs[before].saturating_add(self.skipping[event]);
                    if skip <= best.0 {
                        best = (skip, Move::Skip);
                    }
                    let matched = fits.cost(event).map(|cost| above[before].saturating_add(cost.into()));
                    if let Some(matched) = matched.filter(|matched| *matched <= best.0) {
                        best = (matched, Move::Match);
                    }
                }
                costs[column] = best.0;
                moves[row * width + column] = best.1;
            }
        }
        let mut anchors = vec![Anchor::default(); operations.len()];
        let (mut row, mut column) = (rows.len(), events.len());
        while row > 0 {
            match moves[row * width + column] {
                Move::Match => {
                    (row, column) = (row - 1, column - 1);
                    let Row { op, part, .. } = rows[row];
                    anchors[op][part] = Some(events[column]);
                }
                Move::Skip => column -= 1,
                Move::Leave => row -= 1,
            }
        }
        anchors
    }
}

/// How the nodes of a graph that take part stand to each other, by their indices. Found out where it is asked for.
struct Relations<'a> {
    graph: &'a Graph,
    nodes: &'a [usize],
    known: RefCell<HashMap<usize, Rc<[u8]>>>,
}

impl<'a> Relations<'a> {
    fn new(graph: &'a Graph, nodes: &'a [usize]) -> Self {
        Self { graph, nodes, known: RefCell::default() }
    }

    /// Those of one to all.
    fn of(&self, index: usize) -> Rc<[u8]> {
        let relations = || self.graph.relations(self.nodes[index], self.nodes).into();
        self.known.borrow_mut().entry(index).or_insert_with(relations).clone()
    }
}

/// What is known before an alignment from one that did not know it.
#[derive(Default)]
struct Known<'a> {
    /// The events with which loops begin.
    begun: HashSet<usize>,
    anchors: Option<&'a [Anchor]>,
}

/// One of the parts of an operation that an event may stand for.
struct Row<'a> {
    op: usize,
    part: usize,
    fits: Fits<'a>,
    leaving: u32,
}

/// How badly an event fits.
#[derive(Clone, Copy)]
enum Fits<'a> {
    Any(&'a [Option<u8>]),
    But(&'a HashSet<usize>, &'a [Option<u8>]),
    Only(usize, &'a [Option<u8>]),
}

impl Fits<'_> {
    fn cost(self, event: usize) -> Option<u8> {
        match self {
            Self::Any(costs) => costs[event],
            Self::But(others, costs) => costs[event].filter(|_| !others.contains(&event)),
            Self::Only(only, costs) => costs[event].filter(|_| event == only),
        }
    }
}

/// How an alignment came to one of its cells.
#[derive(Clone, Copy)]
enum Move {
    Match,
    Skip,
    Leave,
}

/// What it costs to leave an operation without an instruction; nothing, if it needs none.
pub fn cost_without(op: &AtomicOp) -> u32 {
    let nothing_needed = op.operation == Operation::Fence && op.scope == SyncScope::SingleThread;
    if nothing_needed || is_private(op) { 0 } else { 20 }
}

/// What it costs to leave an instruction without an operation: strong ones are there for one.
fn cost_of_skipping(flow: &Flow<'_>, node: usize) -> u32 {
    match access(flow, node) {
        Some(access) if access.reads && access.writes && !keeps_value(flow, node) => 5,
        Some(access) if access.strong.is_some() => 1,
        _ => 0,
    }
}

/// How badly an instruction fits an operation; `None` if it cannot stand for it.
fn cost_of_match(op: &AtomicOp, flow: &Flow<'_>, node: usize) -> Option<u8> {
    let Some(asked) = op.operation.access() else { return fence(flow, node).map(|_| 0) };
    let found = access(flow, node)?;
    if !may_be(asked.space, found.space) {
        return None;
    }
    let bits = asked.ty.bits();
    let rmw = matches!(op.operation, Operation::Rmw(..) | Operation::CmpXchg { .. });
    let width = match found.bits {
        width if width == bits => 0,
        32 if rmw && bits < 32 => 0,
        width if width < bits => 8,
        _ => return None,
    };
    let weak = if found.strong.is_none() { 2 } else { 0 };
    let kind = match (op.operation, flow.instruction(node)?) {
        (Operation::Load(_), Instruction::Ld(_)) | (Operation::Store(_), Instruction::St(_)) => weak,
        (Operation::Load(_), Instruction::Atom(_)) => 8,
        (Operation::Store(_), Instruction::Atom(Atom { op: AtomOp::Exch, .. })) => 8,
        (Operation::CmpXchg { .. }, Instruction::Atom(Atom { op: AtomOp::Cas, .. })) => 0,
        (Operation::Rmw(..), Instruction::Atom(Atom { op: AtomOp::Cas, .. })) if keeps_value(flow, node) => {
            return None;
        }
        (Operation::Rmw(..), Instruction::Atom(Atom { op: AtomOp::Cas, .. })) => 1,
        (Operation::Rmw(rmw, _), Instruction::Atom(Atom { op, .. }) | Instruction::Red(Red { op, .. })) => {
            if native(rmw) == Some(*op) { 0 } else { 6 }
        }
        // Read, compute and write, of which the write is the one that others see.
        (Operation::Rmw(..) | Operation::CmpXchg { .. }, Instruction::St(_)) => 10,
        _ => return None,
    };
    Some(kind + width)
}

/// Whether an address of one state space may be spelled as one of another.
fn may_be(asked: Space, found: Space) -> bool {
    let shared = |space| matches!(space, Space::Shared | Space::SharedCta | Space::SharedCluster);
    match (asked, found) {
        (Space::Generic, _) | (_, Space::Generic) => true,
        (Space::Shared | Space::SharedCta, found) => shared(found),
        (asked, found) => asked == found,
    }
}

/// The operation of `atom` that computes the same.
fn native(op: RmwOp) -> Option<AtomOp> {
    Some(match op {
        RmwOp::Xchg => AtomOp::Exch,
        RmwOp::Add | RmwOp::Sub | RmwOp::FAdd | RmwOp::FSub => AtomOp::Add,
        RmwOp::And => AtomOp::And,
        RmwOp::Or => AtomOp::Or,
        RmwOp::Xor => AtomOp::Xor,
        RmwOp::Max | RmwOp::UMax => AtomOp::Max,
        RmwOp::Min | RmwOp::UMin => AtomOp::Min,
        RmwOp::UIncWrap => AtomOp::Inc,
        RmwOp::UDecWrap => AtomOp::Dec,
        _ => return None,
    })
}
