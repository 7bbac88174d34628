//! Roles: parts of a kernel that different threads run at the same time, such as producers and consumers.
//!
//! A fork is a block after which the threads of a CTA may take different paths. The accesses of one side are followed
//! on the other side: an access may be in flight from the beginning, or from an event at which the other side permits
//! it, until a wait observes that it is complete.

use ptx_isa::graph::dominators;
use rustc_hash::FxHashSet;

use super::{
    barriers::{Barriers, Signals},
    coverage::{Coverage, Foreign},
    graph::{EventGraph, Point},
};
use crate::kernel::{Barrier, BarrierId, Condition, Edge, Event, EventKind, Varies};

/// The two sides of a fork, seen from the second side.
pub struct Fork {
    /// The block after which the threads part.
    pub block: usize,
    /// Its edge to the second side.
    pub edge: usize,
    /// The first block of the first side.
    begin: usize,
    /// The blocks that only the first side reaches.
    pub theirs: Vec<bool>,
    /// The blocks that only the second side reaches.
    pub ours: Vec<bool>,
    /// The blocks that only the second side reaches, and the blocks after the block where the sides meet.
    pub followed: Vec<bool>,
    gates: Vec<Gate>,
    /// The events of each block that are gates.
    gates_of: Vec<Vec<usize>>,
}

/// A wait of the first side that succeeds only after an event of the second side.
struct Gate {
    at: Point,
    /// Whether it is a barrier at which both sides meet.
    is_met: bool,
    /// The events of the second side that let the wait succeed.
    permits: Vec<Point>,
}

/// The paths within the first side to a point that pass no gate.
struct Ways {
    to: Point,
    /// The blocks from whose beginning such a path leads to the point.
    begins: Vec<bool>,
}

impl Ways {
    fn to(fork: &Fork, graph: &EventGraph<'_>, to: Point) -> Self {
        let mut begins = vec![false; fork.theirs.len()];
        let is_free = |block: usize, end: usize| fork.gates_of[block].iter().all(|gate| *gate >= end);
        let mut open = Vec::new();
        if is_free(to.0, to.1) {
            begins[to.0] = true;
            open.push(to.0);
        }
        while let Some(block) = open.pop() {
            for &previous in graph.previous[block].iter().filter(|_| fork.theirs[block]) {
                if !begins[previous] && is_free(previous, usize::MAX) {
                    begins[previous] = true;
                    open.push(previous);
                }
            }
        }
        Self { to, begins }
    }

    fn lead(&self, fork: &Fork, graph: &EventGraph<'_>, (block, index): Point) -> bool {
        let mut gates = fork.gates_of[block].iter().filter(|gate| **gate >= index);
        if block == self.to.0 && index <= self.to.1 && gates.clone().all(|gate| *gate >= self.to.1) {
            return true;
        }
        let leads = |edge: &Edge| fork.theirs[edge.to] && self.begins[edge.to];
        gates.next().is_none() && graph.kernel.blocks[block].next.iter().any(leads)
    }
}

/// Whether an access of the first side may be in flight at the beginning of the second side.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FromStart {
    No,
    /// Only if a loop that waits for the second side has no iteration.
    WithoutIterations,
    Yes,
}

/// A block with more successors than this is not a fork: a jump table does not choose roles.
const WAYS: usize = 32;

/// The forks of a kernel, each seen from both sides.
pub fn forks(graph: &EventGraph<'_>, barriers: &Barriers) -> Vec<Fork> {
    let ends = post_dominators(graph);
    let mut forks = Vec::new();
    for &block in &graph.order {
        let next = &graph.kernel.blocks[block].next;
        if next.len() < 2 || next.len() > WAYS {
            continue;
        }
        let varies =
            |edge: &Edge| edge.when.is_none_or(|when| graph.kernel.predicates[when.predicate].varies != Varies::No);
        if !next.iter().any(varies) {
            continue;
        }
        let end = ends[block];
        let side = |to: usize| {
            if Some(to) == end {
                return None;
            }
            let mut side = graph.reached(&[to], |block| Some(block) == end);
            side[to] = true;
            if let Some(end) = end {
                side[end] = false;
            }
            Some(side)
        };
        let sides: Vec<_> = next.iter().map(|edge| side(edge.to)).collect();
        for (first, theirs) in sides.iter().enumerate() {
            for (edge, ours) in sides.iter().enumerate() {
                let (Some(theirs), Some(ours)) = (theirs, ours) else { continue };
                if first == edge || next[first].to == next[edge].to {
                    continue;
                }
                let alone = |a: &[bool], b: &[bool]| a.iter().zip(b).map(|(a, b)| *a && !*b).collect::<Vec<_>>();
                let (theirs, ours) = (alone(theirs, ours), alone(ours, theirs));
                let followed = followed(graph, &ours, end);
                let (gates, gates_of) = Default::default();
                let mut fork = Fork { block, edge, begin: next[first].to, theirs, ours, followed, gates, gates_of };
                if has_events(graph, &fork.theirs) && has_events(graph, &fork.ours) {
                    fork.find_gates(graph, barriers);
                    forks.push(fork);
                }
            }
        }
    }
    forks
}

fn followed(graph: &EventGraph<'_>, ours: &[bool], end: Option<usize>) -> Vec<bool> {
    let mut followed = ours.to_vec();
    if let Some(end) = end {
        followed[end] = true;
        let after = graph.reached(&[end], |_| false);
        followed.iter_mut().zip(after).for_each(|(followed, after)| *followed |= after);
    }
    followed
}

fn has_events(graph: &EventGraph<'_>, side: &[bool]) -> bool {
    let blocks = graph.kernel.blocks.iter().zip(side).filter(|(_, is_in)| **is_in);
    blocks.into_iter().any(|(block, _)| !block.events.is_empty())
}

impl Fork {
    /// The points at which an access of the first side may be in flight on the second, and whether it may be in flight
    /// at the beginning of the second.
    pub fn foreign(&self, graph: &EventGraph<'_>, coverage: &Coverage, point: Point) -> (Foreign, FromStart) {
        let ways = Ways::to(self, graph, point);
        let from_start = ways.lead(self, graph, (self.begin, 0));
        // A path that bypasses a wait in a loop, and the loop leads to the access, exists only if the loop has no
        // iteration.
        let skips = |gate: &Gate| graph.is_in_loop(gate.at.0) && ways.lead(self, graph, (gate.at.0, gate.at.1 + 1));
        let from_start = match from_start {
            true if self.gates.iter().any(skips) => FromStart::WithoutIterations,
            true => FromStart::Yes,
            false => FromStart::No,
        };
        let (mut permits, mut first_permits) = (FxHashSet::default(), FxHashSet::default());
        for gate in self.gates.iter().filter(|gate| !gate.permits.is_empty()) {
            if ways.lead(self, graph, (gate.at.0, gate.at.1 + 1)) {
                let into = if gate.is_met { &mut first_permits } else { &mut permits };
                into.extend(gate.permits.iter().copied());
            }
        }
        let mut restart_signals = FxHashSet::default();
        for signal in coverage.signals() {
            let mut theirs = coverage.completed_arrivals(signal).filter(|(block, _)| self.theirs[*block]);
            if theirs.any(|(block, index)| ways.lead(self, graph, (block, index + 1))) {
                restart_signals.insert(signal);
            }
        }
        let is_once = !graph.is_in_loop(point.0);
        (Foreign { restart_signals, permits, first_permits, is_once }, from_start)
    }

    /// For each block, the index of the event from which on the second side may have waited for one of the signals that
    /// the first side gives after an access.
    pub fn first_waits(&self, graph: &EventGraph<'_>, barriers: &Barriers, point: Point, told: Signals) -> Vec<usize> {
        let mut given = barriers.signal(point);
        let theirs = graph.reached(&[point.0], |block| !self.theirs[block]);
        for block in (0..theirs.len()).filter(|block| self.theirs[*block] && (theirs[*block] || *block == point.0)) {
            let from = if theirs[block] { 0 } else { point.1 };
            let events = from..graph.kernel.blocks[block].events.len();
            given |= events.fold(0, |mask, index| mask | barriers.signal((block, index)));
        }
        given &= told;
        let mut asked = vec![usize::MAX; self.followed.len()];
        let mut open = Vec::new();
        for block in (0..self.followed.len()).filter(|block| self.followed[*block]) {
            let events = graph.kernel.blocks[block].events.iter().enumerate();
            let mut waits = events.filter(|(_, event)| is_wait(event)).map(|(index, _)| index);
            if let Some(first) = waits.find(|index| barriers.observed((block, *index)) & given != 0) {
                asked[block] = first;
                open.push(block);
            }
        }
        let after = graph.reached(&open, |_| false);
        asked.iter_mut().zip(after).filter(|(_, after)| *after).for_each(|(asked, _)| *asked = 0);
        asked
    }

    /// Finds the gates: the waits of the first side that succeed only after an event of the second.
    fn find_gates(&mut self, graph: &EventGraph<'_>, barriers: &Barriers) {
        let asked = self.asked(graph, barriers);
        let blocks = (0..self.theirs.len()).filter(|block| self.theirs[*block]);
        let events = |block: usize| graph.kernel.blocks[block].events.iter().enumerate();
        let theirs = blocks.flat_map(|block| events(block).map(move |(index, event)| ((block, index), event)));
        let gates: Vec<_> = theirs.filter(|(at, event)| asked.is_gate(barriers, *at, event)).collect();
        let gate = |&(at, event): &(Point, &Event)| {
            // A wait after a loop that waits for the same signals waits for the last iteration. Its other permits are
            // unknown.
            let observed = barriers.observed(at);
            let in_loop = |(other, _): &(Point, &Event)| {
                graph.is_in_loop(other.0) && barriers.observed(*other) == observed && *other != at
            };
            let is_last =
                matches!(event.kind, EventKind::Wait { .. }) && !graph.is_in_loop(at.0) && gates.iter().any(in_loop);
            let is_met = matches!(event.kind, EventKind::Barrier(_)) && observed & asked.given != 0;
            let permits =
                if is_last { Vec::new() } else { self.permits(graph, barriers, asked.prerequisite_signals(observed)) };
            Gate { at, is_met, permits }
        };
        self.gates = gates.iter().map(gate).collect();
        let mut all: Vec<Vec<usize>> = vec![Vec::new(); self.theirs.len()];
        self.gates.iter().for_each(|gate| all[gate.at.0].push(gate.at.1));
        self.gates_of = all;
    }

    /// The first blocks of this side that are not reached by the threads that let the other side begin. For the threads
    /// that reach them, the other side may have begun at any time.
    pub fn parted(&self, graph: &EventGraph<'_>, permits: &FxHashSet<Point>) -> Vec<usize> {
        let permitting: Vec<_> = permits.iter().map(|point| graph.varying_at(*point)).collect();
        let apart = |block: usize| {
            let known = graph.conditions_at_block(block);
            let is_other = |permit: &&[Condition]| permit.iter().any(|condition| graph.contradict(known, *condition));
            !permitting.is_empty() && permitting.iter().all(is_other)
        };
        let ours = |block: &usize| self.ours[*block] && apart(*block);
        let is_first = |block: &usize| graph.previous[*block].iter().any(|previous| !apart(*previous));
        (0..self.ours.len()).filter(ours).filter(is_first).collect()
    }

    /// The events of this side that let a wait succeed. If copies complete the phase, only the last copy does.
    fn permits(&self, graph: &EventGraph<'_>, barriers: &Barriers, signals: Signals) -> Vec<Point> {
        let ours: Vec<_> = barriers.givers(signals).into_iter().filter(|(block, _)| self.ours[*block]).collect();
        let copies = |point: &Point| matches!(graph.kernel.blocks[point.0].events[point.1].kind, EventKind::Start(_));
        if !ours.iter().any(copies) {
            return ours;
        }
        let ends = |event: &Event| matches!(event.kind, EventKind::Arrive { .. } | EventKind::Wait { .. });
        let within = |edge: &Edge| self.ours[edge.to];
        let last = |&(block, index): &Point| {
            let mut others = ours.iter().filter(|point| copies(point) && **point != (block, index));
            !others.any(|other| reaches(graph, (block, index + 1), *other, &within, &|_, event| ends(event)))
        };
        ours.iter().filter(|point| copies(point)).filter(|point| last(point)).copied().collect()
    }

    /// The signals whose waits in the first side succeed only after an event of the second.
    fn asked(&self, graph: &EventGraph<'_>, barriers: &Barriers) -> Asked {
        let points = |side: &[bool]| {
            let blocks = (0..side.len()).filter(|block| side[*block]).collect::<Vec<_>>();
            blocks.into_iter().flat_map(|block| (0..graph.kernel.blocks[block].events.len()).map(move |at| (block, at)))
        };
        let event = |(block, index): Point| &graph.kernel.blocks[block].events[index];
        let given = points(&self.ours).fold(0, |mask, point| mask | barriers.signal(point));
        let mut asked = Asked { signals: given, given, relays: Vec::new() };
        // Some threads of the first side may wait for the second, and then tell other threads of the first.
        let within = |edge: &Edge| self.theirs[edge.to];
        let arrives = |point: &Point| match event(*point).kind {
            EventKind::Arrive { .. } => true,
            EventKind::Barrier(Barrier { of: BarrierId::Cta(_), arrives, .. }) => arrives,
            _ => false,
        };
        let arrivals: Vec<_> = points(&self.theirs).filter(arrives).collect();
        loop {
            // All threads meet at a barrier of the CTA, so it is not a gate of one side.
            let gate = |at: Point, event: &Event| {
                matches!(event.kind, EventKind::Wait { .. }) && asked.is_gate(barriers, at, event)
            };
            let asks =
                |point: Point, within: &dyn Fn(&Edge) -> bool| !reaches(graph, (self.begin, 0), point, within, &gate);
            // At a barrier that only this side uses, it is enough that some of its threads have waited.
            let some_ask = |point: Point| {
                let known = graph.conditions_at_event(point);
                points(&self.theirs).filter(|at| gate(*at, event(*at))).any(|at| {
                    let is_lasting =
                        |condition: &Condition| graph.kernel.predicates[condition.predicate].block.is_none();
                    let mut some = graph.varying_at(at).to_vec();
                    some.retain(|condition| is_lasting(condition) && !known.contains(condition));
                    let is_theirs =
                        |edge: &Edge| within(edge) && edge.when.is_none_or(|when| !graph.contradict(&some, when));
                    !some.is_empty() && asks(point, &is_theirs)
                })
            };
            let waits = |point: &Point| {
                let signal = barriers.signal(*point);
                let mut alike = arrivals.iter().filter(|other| barriers.signal(**other) == signal);
                signal & !asked.signals != 0
                    && match event(*point).kind {
                        EventKind::Arrive { .. } => asks(*point, &within),
                        _ => alike.all(|point| some_ask(*point)),
                    }
            };
            let Some(&arrival) = arrivals.iter().find(|point| waits(point)) else { return asked };
            let gates = points(&self.theirs).filter(|at| gate(*at, event(*at)));
            let before = gates.filter(|(block, index)| reaches(graph, (*block, index + 1), arrival, &within, &gate));
            let own = before.fold(0, |mask, at| mask | asked.prerequisite_signals(barriers.observed(at)));
            let signal = barriers.signal(arrival) & !asked.signals;
            asked.signals |= signal;
            asked.relays.push((signal, own));
        }
    }
}

/// The signals of the second side that the first side waits for.
struct Asked {
    /// All signals that are given only after an event of the second side.
    signals: Signals,
    /// The signals that the second side gives.
    given: Signals,
    /// Signals that the first side gives after it has waited for the second, each with the signals of the second that
    /// it waited for.
    relays: Vec<(Signals, Signals)>,
}

impl Asked {
    fn is_gate(&self, barriers: &Barriers, at: Point, event: &Event) -> bool {
        is_wait(event) && event.guard.is_empty() && barriers.observed(at) & self.signals != 0
    }

    /// The signals of the second side that must be given before some signals.
    fn prerequisite_signals(&self, signals: Signals) -> Signals {
        let relayed = self.relays.iter().filter(|(signal, _)| signal & signals != 0);
        relayed.fold(signals & self.given, |mask, (_, own)| mask | own)
    }
}

fn is_wait(event: &Event) -> bool {
    match &event.kind {
        EventKind::Wait { .. } => true,
        EventKind::Barrier(barrier) => barrier.waits,
        _ => false,
    }
}

/// Whether a path leads from one point to another without passing a gate.
fn reaches(
    graph: &EventGraph<'_>,
    from: Point,
    to: Point,
    within: &dyn Fn(&Edge) -> bool,
    gate: &dyn Fn(Point, &Event) -> bool,
) -> bool {
    let mut seen = vec![false; graph.kernel.blocks.len()];
    let mut open = vec![from];
    while let Some((block, start)) = open.pop() {
        let events = &graph.kernel.blocks[block].events;
        let mut is_open = true;
        for (index, event) in events.iter().enumerate().skip(start) {
            if (block, index) == to {
                return true;
            }
            if gate((block, index), event) {
                is_open = false;
                break;
            }
        }
        if is_open {
            for edge in &graph.kernel.blocks[block].next {
                if within(edge) && !std::mem::replace(&mut seen[edge.to], true) {
                    open.push((edge.to, 0));
                }
            }
        }
    }
    false
}

/// The block that all paths from a block to the end pass first, if there is one.
fn post_dominators(graph: &EventGraph<'_>) -> Vec<Option<usize>> {
    // One additional block follows the end of every path.
    let exit = graph.kernel.blocks.len();
    let ends: Vec<usize> = (0..exit).filter(|block| graph.kernel.blocks[*block].next.is_empty()).collect();
    let before = |block: usize| if block == exit { &ends } else { &graph.previous[block] }.iter().copied();
    let above = dominators(exit + 1, exit, before);
    above.into_iter().take(exit).map(|above| above.filter(|above| *above != exit)).collect()
}
