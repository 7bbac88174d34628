//! The conditions that are assumed of the followed threads: numbered sets of conditions, and the effect of events and
//! edges on them.

use rustc_hash::FxHashMap;

use super::graph::{EventGraph, Point};
use crate::kernel::Condition;

/// A set of conditions, as a number. The first is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Assumed(u32);

/// Whether the followed thread does an event that has a guard.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Passes {
    Never,
    Always,
    /// Unknown: the assumptions about a thread that does not do the event, and about a thread that does.
    Either(Assumed, Assumed),
}

/// The sets that occur in a kernel. Results of operations on them are cached.
#[derive(Debug)]
pub struct Assumptions {
    sets: Vec<Vec<Condition>>,
    numbers: FxHashMap<Vec<Condition>, Assumed>,
    both: FxHashMap<(Assumed, Assumed), Assumed>,
    along: FxHashMap<(Assumed, usize, usize), Option<Assumed>>,
    passes: FxHashMap<(Assumed, Point), Passes>,
}

impl Assumptions {
    pub fn new() -> Self {
        let numbers = FxHashMap::from_iter([(Vec::new(), Assumed(0))]);
        Self {
            sets: vec![Vec::new()],
            numbers,
            both: FxHashMap::default(),
            along: FxHashMap::default(),
            passes: FxHashMap::default(),
        }
    }

    /// The number of a set: its conditions in order, up to a limit.
    pub fn number_conditions(&mut self, conditions: Vec<Condition>) -> Assumed {
        let conditions = limited(conditions);
        if let Some(number) = self.numbers.get(&conditions) {
            return *number;
        }
        let number = Assumed(self.sets.len() as u32);
        self.sets.push(conditions.clone());
        self.numbers.insert(conditions, number);
        number
    }

    pub fn get(&self, number: Assumed) -> &[Condition] {
        &self.sets[number.0 as usize]
    }

    /// The intersection of two sets.
    pub fn both(&mut self, a: Assumed, b: Assumed) -> Assumed {
        if a == b {
            return a;
        }
        let pair = (a.min(b), a.max(b));
        if let Some(both) = self.both.get(&pair) {
            return *both;
        }
        let other = self.get(b);
        let both = self.get(a).iter().filter(|condition| other.contains(condition)).copied().collect();
        let both = self.number_conditions(both);
        self.both.insert(pair, both);
        both
    }

    /// Whether a set is a subset of another one.
    pub fn is_within(&self, a: Assumed, b: Assumed) -> bool {
        a == b || self.get(a).iter().all(|condition| self.get(b).contains(condition))
    }

    /// The assumptions after an edge of a block; `None` if no thread with the assumptions takes the edge.
    pub fn along(&mut self, graph: &EventGraph<'_>, set: Assumed, block: usize, edge: usize) -> Option<Assumed> {
        if let Some(known) = self.along.get(&(set, block, edge)) {
            return *known;
        }
        let result = self.assume_edge(graph, set, block, edge);
        self.along.insert((set, block, edge), result);
        result
    }

    fn assume_edge(&mut self, graph: &EventGraph<'_>, set: Assumed, block: usize, edge: usize) -> Option<Assumed> {
        let edge = &graph.kernel.blocks[block].next[edge];
        let mut assumed = self.get(set).to_vec();
        if let Some(when) = edge.when {
            if graph.contradict(&assumed, when) {
                return None;
            }
            if !assumed.contains(&when) {
                assumed.extend(graph.closed(vec![when]));
                assumed = limited(assumed);
            }
        }
        let before = assumed.clone();
        assumed.retain(|condition| graph.kernel.predicates[condition.predicate].block != Some(edge.to));
        let met = graph.conditions_after_edge(block, edge.to, assumed, &before);
        Some(self.number_conditions(met))
    }

    /// Whether a thread with the assumptions of a set does an event.
    pub fn passes(&mut self, graph: &EventGraph<'_>, set: Assumed, point: Point) -> Passes {
        let guard = &graph.kernel.blocks[point.0].events[point.1].guard;
        if guard.is_empty() {
            return Passes::Always;
        }
        if let Some(known) = self.passes.get(&(set, point)) {
            return *known;
        }
        let assumed = self.get(set).to_vec();
        let here = graph.closed(assumed.clone());
        let passes = if guard.iter().any(|condition| graph.contradict(&here, *condition)) {
            Passes::Never
        } else if guard.iter().all(|condition| graph.implied(&here, *condition)) {
            Passes::Always
        } else {
            let mut skips = assumed.clone();
            if let [only] = guard[..] {
                skips.push(only.opposite());
            }
            let does = assumed.into_iter().chain(guard.iter().copied()).collect();
            Passes::Either(self.number_conditions(skips), self.number_conditions(does))
        };
        self.passes.insert((set, point), passes);
        passes
    }
}

/// Conditions in order, up to a limit. Dropping a condition only assumes less.
pub fn limited(mut conditions: Vec<Condition>) -> Vec<Condition> {
    conditions.sort_unstable();
    conditions.dedup();
    conditions.truncate(16);
    conditions
}
