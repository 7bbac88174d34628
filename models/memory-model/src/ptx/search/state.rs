//! The state of a search.

use std::cell::Cell;

use crate::{
    barrier,
    condition::{Atom, Formula},
    execution::Combination,
    outcome::{Budget, Outcomes, Witness},
    program::{Location, Register, Value},
    ptx::{Conventions, Ptx, relations::Fixed},
    relation::{MAX_EVENTS, Relation, Set},
    states::States,
    unfold::{EventKind, Term},
};

pub(super) type Wanted<'g> = &'g dyn Fn(&[Value]) -> bool;

/// A question about the final state: whether a formula has this truth value.
#[derive(Clone, Copy)]
pub(super) struct Question<'g> {
    pub(super) formula: &'g Formula,
    pub(super) truth: bool,
    /// The number of choices that the search tries before it asks a solver.
    pub(super) tried: u64,
}

pub(super) struct Goal<'g> {
    pub(super) outcomes: &'g mut Outcomes,
    pub(super) wanted: Option<Wanted<'g>>,
    /// The formula of `wanted`, if it is one.
    pub(super) question: Option<Question<'g>>,
    pub(super) witness: Option<&'g mut Option<Witness<Ptx>>>,
    /// The variables whose last value matters; `None` stands for all variables.
    pub(super) memory: Option<Vec<Location>>,
    /// The values that the final state must have.
    pub(super) required: Vec<(Atom, Value)>,
    /// If set, the search keeps only the executions with a data race, or only those without one.
    pub(super) race: Option<bool>,
    /// In a search for races: whether an atomic operation counts as one operation.
    pub(super) whole: bool,
    /// Whether only the dependencies count that are certain.
    pub(super) certain: bool,
    /// Whether dependencies alone forbade an execution.
    pub(super) thin_air: bool,
    /// Whether an execution is allowed in which values depend on themselves.
    pub(super) undefined: bool,
}

impl<'g> Goal<'g> {
    pub(super) fn new(outcomes: &'g mut Outcomes) -> Self {
        Self {
            outcomes,
            wanted: None,
            question: None,
            witness: None,
            memory: None,
            required: Vec::new(),
            race: None,
            whole: false,
            certain: false,
            thin_air: false,
            undefined: false,
        }
    }

    pub(super) fn reached(&self) -> bool {
        self.witness.as_ref().is_some_and(|witness| witness.is_some())
    }
}

/// Marks a read whose source is not chosen.
pub(super) const NONE: u8 = u8::MAX;

pub(super) struct Search<'s, 'p, 'g> {
    pub(super) c: &'s Combination<'p, Ptx>,
    pub(super) budget: &'s mut Budget,
    pub(super) goal: &'s mut Goal<'g>,
    pub(super) fixed: Fixed,
    /// From the write of a release pattern to the operations that begin it.
    pub(super) heads: Relation,
    /// For each read, the writes that it may read from.
    pub(super) sources: [Set; MAX_EVENTS],
    /// The reads that matter beyond their location.
    pub(super) outer: Set,
    pub(super) locations: Vec<LocationEvents>,
    pub(super) sc_pairs: Vec<(usize, usize)>,
    /// Whether the first fence of each pair is known to come first.
    pub(super) sc_known: bool,
    pub(super) constraints: Vec<(usize, Term, bool)>,
    /// The required last values of registers.
    pub(super) required: Vec<(usize, Term, Value)>,
    /// The last values of the observed registers, which `names` lists in the same order.
    pub(super) registers: Vec<(usize, Term)>,
    pub(super) names: Vec<(usize, Register)>,
    pub(super) conventions: Conventions,
    /// Whether there are asynchronous instructions.
    pub(super) asynchronous: bool,
    /// All accesses are generic, and no variable has an alias: causality follows from base causality at once.
    pub(super) plain: bool,
    pub(super) has_dependencies: bool,
    /// For each wait at a barrier, the arrivals of its phase.
    pub(super) phases: [Set; MAX_EVENTS],
    pub(super) barrier_edges: Relation,
    /// As in [`Execution::phases`](crate::execution::Execution::phases).
    pub(super) phase_edges: Relation,
    pub(super) barriers_first: bool,
    /// Whether the search only finds out if there is an execution at all in which loops reach their bounds.
    pub(super) feasible_only: bool,
    pub(super) feasible: bool,
    /// The events that stand for all events beyond such a bound.
    pub(super) beyond: Set,
    /// The events of `beyond` that write unknown values.
    pub(super) unknown: Set,
    /// Whether dependencies alone ruled out an execution.
    pub(super) thin_air: Cell<bool>,
    /// The values of all events, if the equations are solved.
    pub(super) solved: Option<Box<Values>>,
    /// Whether the equations could not be solved.
    pub(super) unsolved: bool,
}

impl Search<'_, '_, '_> {
    pub(super) fn done(&self) -> bool {
        self.goal.reached() || self.goal.undefined || self.feasible_only && self.feasible
    }

    /// The value of an event; `None` if it is not chosen yet.
    pub(super) fn read(&self, rf: &[u8; MAX_EVENTS], event: usize) -> Option<Value> {
        match &self.solved {
            Some(values) => values[event],
            None => self.read_for(rf, event, Set(0)),
        }
    }

    /// The value of an event that is needed for the values of `others`; `None` if the event is itself in `others`.
    fn read_for(&self, rf: &[u8; MAX_EVENTS], event: usize, others: Set) -> Option<Value> {
        if others.contains(event) {
            return None;
        }
        let read = |next| self.read_for(rf, next, others | Set::singleton(event));
        if self.c.skeleton.events[event].kind == EventKind::Wait {
            return barrier::reduced(self.c, event, self.phases[event], &read);
        }
        self.source(rf, event).and_then(|source| self.c.written(source, &read))
    }

    /// The write that a read returns, if it is chosen and its value is known.
    pub(super) fn source(&self, rf: &[u8; MAX_EVENTS], read: usize) -> Option<usize> {
        let source = usize::from(rf[read]);
        (source < MAX_EVENTS && !self.unknown.contains(source)).then_some(source)
    }
}

/// The memory operations of one location, and the results for them.
pub(super) struct LocationEvents {
    pub(super) events: Set,
    pub(super) writes: Set,
    pub(super) reads: Set,
    /// Reads whose sources are chosen for this location alone.
    pub(super) inner: Vec<usize>,
    /// The inner reads whose values are observed.
    pub(super) observed: Vec<usize>,
    /// Whether every two writes are morally strong, and every read of a read-modify-write is morally strong with all
    /// writes.
    pub(super) is_total: bool,
    /// Pairs of writes; the search assumes that the first is earlier. They are the first writes of equal threads, and
    /// writes whose order is known.
    pub(super) alike: Vec<(usize, usize)>,
    /// Whether the last value matters, and the required last value.
    pub(super) last_matters: bool,
    pub(super) last_required: Option<Value>,
    /// Rows of values: of the observed reads, then the final value.
    pub(super) rows: States,
    /// For each row, the sources and the coherence order that lead to it; only if a witness is wanted.
    pub(super) causes: Vec<([u8; MAX_EVENTS], Relation)>,
}

impl LocationEvents {
    pub(super) fn empty() -> Self {
        Self {
            events: Set(0),
            writes: Set(0),
            reads: Set(0),
            inner: Vec::new(),
            observed: Vec::new(),
            is_total: false,
            last_matters: true,
            last_required: None,
            alike: Vec::new(),
            rows: States::default(),
            causes: Vec::new(),
        }
    }
}

/// The values of the events of an execution, as far as they are known.
pub(super) type Values = [Option<Value>; MAX_EVENTS];
