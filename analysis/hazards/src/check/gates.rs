//! The paths that bypass a gate: an event that each thread must have passed, or must have learned of from a thread that
//! has.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    barriers::Barriers,
    graph::{EventGraph, Point},
};
use crate::kernel::{Barrier, BarrierId, Condition, Event, EventKind, Test, UnknownKind};

/// The limits of distinct paths to a block, and of steps.
const PATHS: usize = 8;
const STEPS: usize = 200_000;

/// The conditions of threads that have passed no gate, for each kind of path.
pub type Paths = Vec<Vec<Condition>>;

/// The gates of a kernel.
pub struct Gates<'g, 'k> {
    graph: &'g EventGraph<'k>,
    gates: Vec<Gate>,
    /// The gates that a wait may inform of.
    informing: FxHashMap<Point, Vec<usize>>,
    /// The predicates that gates depend on, and the values that these test.
    predicates: FxHashSet<usize>,
    values: FxHashSet<usize>,
}

struct Gate {
    point: Point,
    /// The conditions of a thread that passes it.
    conditions: Vec<Condition>,
    /// The blocks after it.
    after: Vec<bool>,
}

/// The certainty that a thread reaches a point without a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Sure {
    /// In an execution that reaches it, possibly no thread passes a gate.
    Doubtful,
    Certain,
}

impl<'g, 'k> Gates<'g, 'k> {
    pub fn new(graph: &'g EventGraph<'k>, barriers: &Barriers, is: impl Fn(Point, &Event) -> bool) -> Self {
        let points: Vec<Point> = graph
            .order
            .iter()
            .flat_map(|&block| (0..graph.kernel.blocks[block].events.len()).map(move |index| (block, index)))
            .collect();
        let gate = |&point: &Point| Gate {
            point,
            conditions: graph.conditions_at_event(point).to_vec(),
            after: graph.reached(&[point.0], |_| false),
        };
        let is_gate = |&&(block, index): &&Point| is((block, index), &graph.kernel.blocks[block].events[index]);
        let gates: Vec<Gate> = points.iter().filter(is_gate).map(gate).collect();
        let predicates: FxHashSet<usize> =
            gates.iter().flat_map(|gate| &gate.conditions).map(|condition| condition.predicate).collect();
        let tested = |predicate: &usize| match graph.kernel.predicates[*predicate].test {
            Test::Within { value, .. } => Some(value),
            _ => None,
        };
        let values = predicates.iter().filter_map(tested).collect();
        let mut informing = FxHashMap::default();
        for &point in &points {
            if !waits(&graph.kernel.blocks[point.0].events[point.1]) {
                continue;
            }
            let givers = barriers.givers(barriers.observed(point));
            let tells = |gate: &Gate| givers.iter().any(|giver| gate.is_before(*giver));
            informing.insert(point, (0..gates.len()).filter(|gate| tells(&gates[*gate])).collect());
        }
        Self { graph, gates, informing, predicates, values }
    }

    /// Whether the kernel has no gate.
    pub fn are_none(&self) -> bool {
        self.gates.is_empty()
    }

    /// The paths without a gate to each block; `None` if the search takes too long.
    pub fn paths(&self) -> Option<Vec<Paths>> {
        let kernel = self.graph.kernel;
        let mut paths = vec![Paths::new(); kernel.blocks.len()];
        let mut position = vec![0; kernel.blocks.len()];
        self.graph.order.iter().enumerate().for_each(|(at, block)| position[*block] = at);
        let mut open = std::collections::BTreeSet::from([0]);
        paths[*self.graph.order.first()?].push(Vec::new());
        for _ in 0..STEPS {
            let Some(at) = open.pop_first() else { return Some(paths) };
            let block = self.graph.order[at];
            let mut here = paths[block].clone();
            (0..kernel.blocks[block].events.len()).for_each(|index| self.pass((block, index), &mut here));
            for edge in &kernel.blocks[block].next {
                let mut changed = false;
                for path in &here {
                    if edge.when.is_some_and(|when| self.graph.contradict(path, when)) {
                        continue;
                    }
                    let mut there = path.clone();
                    there.extend(edge.when);
                    let there = self.graph.conditions_after_edge(block, edge.to, there, path);
                    let mut there = self.graph.closed(there);
                    there.retain(|own| self.matters(*own) && kernel.predicates[own.predicate].block != Some(edge.to));
                    changed |= join(&mut paths[edge.to], there);
                }
                if changed {
                    open.insert(position[edge.to]);
                }
            }
        }
        None
    }

    /// Whether a condition can decide about a gate.
    fn matters(&self, condition: Condition) -> bool {
        let kernel = self.graph.kernel;
        self.predicates.contains(&condition.predicate)
            || match kernel.predicates[condition.predicate].test {
                Test::Within { value, .. } => {
                    self.values.contains(&value)
                        || matches!(kernel.unknowns[value].kind, UnknownKind::Thread | UnknownKind::Warp)
                }
                _ => false,
            }
    }

    /// Advances paths through an event.
    pub fn pass(&self, point: Point, paths: &mut Paths) {
        if paths.is_empty() {
            return;
        }
        let event = &self.graph.kernel.blocks[point.0].events[point.1];
        if self.gates.iter().any(|gate| gate.point == point) {
            paths.retain(|path| !event.guard.iter().all(|condition| self.graph.implied(path, *condition)));
            if let [condition] = event.guard[..] {
                for path in paths.iter_mut().filter(|path| !self.graph.contradict(path, condition)) {
                    path.push(condition.opposite());
                }
            }
            return;
        }
        if let EventKind::Atomic { semantics, .. } = &event.kind
            && semantics.acquires
        {
            paths.retain(|path| !self.gates.iter().any(|gate| self.may_pass(gate, path)));
        }
        let Some(informing) = self.informing.get(&point) else { return };
        let is_warp = matches!(event.kind, EventKind::Barrier(Barrier { of: BarrierId::Warp, .. }));
        paths.retain(|path| {
            let tells = |gate: &Gate| {
                let is_reached = !is_warp || self.graph.warp(&gate.conditions) == self.graph.warp(path);
                is_reached && self.may_pass(gate, path)
            };
            !informing.iter().any(|gate| tells(&self.gates[*gate]))
        });
    }

    /// Whether other threads may pass a gate if a thread takes a path: no uniform condition of the gate contradicts the
    /// path.
    fn may_pass(&self, gate: &Gate, path: &[Condition]) -> bool {
        let varying = self.graph.varying(&gate.conditions);
        let mut alike = gate.conditions.iter().filter(|condition| !varying.contains(condition));
        !alike.any(|condition| self.graph.contradict(path, *condition))
    }

    /// The certainty that a thread reaches a point by a path without a gate; `None` if no thread does.
    pub fn sure(&self, point: Point, path: &[Condition]) -> Option<Sure> {
        let known = self.graph.conditions_at_event(point);
        if path.iter().any(|condition| self.graph.contradict(known, *condition)) {
            return None;
        }
        let following = self.graph.reached(&[point.0], |_| false);
        let is_ahead = |gate: &Gate| following[gate.point.0] || gate.point.0 == point.0 && point.1 < gate.point.1;
        let mut all = path.to_vec();
        all.extend(known.iter());
        let is_apart =
            |gate: &Gate| self.graph.are_disjoint_threads(&all, &gate.conditions) && self.may_pass(gate, &all);
        let is_between = self.gates.iter().any(|gate| gate.is_before(point));
        let certain = self.gates.iter().any(is_apart) || !is_between && self.gates.iter().any(is_ahead);
        Some(if certain { Sure::Certain } else { Sure::Doubtful })
    }
}

impl Gate {
    fn is_before(&self, point: Point) -> bool {
        self.after[point.0] || self.point.0 == point.0 && self.point.1 < point.1
    }
}

fn waits(event: &Event) -> bool {
    match &event.kind {
        EventKind::Wait { .. } => true,
        EventKind::Barrier(barrier) => barrier.waits,
        _ => false,
    }
}

/// Adds a path. Returns whether the paths have changed.
fn join(paths: &mut Paths, mut new: Vec<Condition>) -> bool {
    new.sort_unstable();
    new.dedup();
    let says_less = |one: &[Condition], other: &[Condition]| one.iter().all(|own| other.contains(own));
    if paths.iter().any(|path| says_less(path, &new)) {
        return false;
    }
    paths.retain(|path| !says_less(&new, path));
    paths.push(new);
    if paths.len() > PATHS {
        let common = paths[0].iter().copied().filter(|own| paths.iter().all(|path| path.contains(own))).collect();
        *paths = vec![common];
    }
    true
}
