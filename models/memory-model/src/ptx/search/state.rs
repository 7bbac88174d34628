//! What a search knows while it goes on.

use std::cell::Cell;

use crate::{
    barrier,
    condition::{Atom, Formula},
    execution::Combination,
    outcome::{Budget, Outcomes, Witness},
    program::{Location, Register, Value},
    ptx::{Conventions, Ptx},
    relation::{MAX_EVENTS, Relation, Set},
    states::States,
    unfold::{EventKind, Term},
};

pub(super) type Wanted<'g> = &'g dyn Fn(&[Value]) -> bool;

/// What is asked of a final state: whether a formula has this truth value.
#[derive(Clone, Copy)]
pub(super) struct Question<'g> {
    pub(super) formula: &'g Formula,
    pub(super) truth: bool,
    /// The choices that the search tries by itself.
    pub(super) tried: u64,
}

pub(super) struct Goal<'g> {
    pub(super) outcomes: &'g mut Outcomes,
    pub(super) wanted: Option<Wanted<'g>>,
    /// What `wanted` says, where that is a formula.
    pub(super) question: Option<Question<'g>>,
    pub(super) witness: Option<&'g mut Option<Witness<Ptx>>>,
    /// The variables whose last value matters; all, if there is no list.
    pub(super) memory: Option<Vec<Location>>,
    /// What must be in the final state.
    pub(super) required: Vec<(Atom, Value)>,
    /// Only executions with a data race are looked for, or only those without.
    pub(super) race: Option<bool>,
    /// There, an atomic operation is one: what it reads is in the order in which it writes.
    pub(super) whole: bool,
    /// Of the dependencies, only those count that are certain.
    pub(super) certain: bool,
    /// Something was forbidden by dependencies alone.
    pub(super) thin_air: bool,
    /// Something is allowed in which values depend on themselves.
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

/// No source chosen.
pub(super) const NONE: u8 = u8::MAX;

pub(super) struct Search<'s, 'p, 'g> {
    pub(super) c: &'s Combination<'p, Ptx>,
    pub(super) budget: &'s mut Budget,
    pub(super) goal: &'s mut Goal<'g>,
    pub(super) morally_strong: Relation,
    /// From the write of a release pattern to the operations that begin it.
    pub(super) heads: Relation,
    /// From the read of an acquire pattern to the operations that end it.
    pub(super) tails: Relation,
    /// For each read, the writes that it may read from.
    pub(super) sources: [Set; MAX_EVENTS],
    /// Reads that matter beyond their location.
    pub(super) outer: Set,
    pub(super) locations: Vec<LocationEvents>,
    pub(super) sc_pairs: Vec<(usize, usize)>,
    /// Whether the first of each pair is known to come first.
    pub(super) sc_known: bool,
    pub(super) constraints: Vec<(usize, Term, bool)>,
    /// What the last values of registers must be.
    pub(super) required: Vec<(usize, Term, Value)>,
    /// The last values of the observed registers, and which these are.
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
    /// As [`Execution::phases`](crate::execution::Execution::phases).
    pub(super) phase_edges: Relation,
    pub(super) barriers_first: bool,
    /// Only find out whether there is an execution at all, in which loops reach their bounds.
    pub(super) feasible_only: bool,
    pub(super) feasible: bool,
    /// The events that stand for all behind such a bound.
    pub(super) beyond: Set,
    /// Those of which it is not known what they write.
    pub(super) unknown: Set,
    /// Whether something was given up because of dependencies alone.
    pub(super) thin_air: Cell<bool>,
    /// What all events give, where that is solved.
    pub(super) solved: Option<Box<Values>>,
    /// Whether it is not.
    pub(super) unsolved: bool,
}

impl Search<'_, '_, '_> {
    pub(super) fn done(&self) -> bool {
        self.goal.reached() || self.goal.undefined || self.feasible_only && self.feasible
    }

    /// What an event gives; `None` where that is not chosen yet.
    pub(super) fn read(&self, rf: &[u8; MAX_EVENTS], event: usize) -> Option<Value> {
        match &self.solved {
            Some(values) => values[event],
            None => self.read_for(rf, event, Set(0)),
        }
    }

    /// What an event gives for the values of others, of which it must not be one.
    fn read_for(&self, rf: &[u8; MAX_EVENTS], event: usize, others: Set) -> Option<Value> {
        if others.contains(event) {
            return None;
        }
        let read = |next| self.read_for(rf, next, others | Set::one(event));
        if self.c.skeleton.events[event].kind == EventKind::Wait {
            return barrier::reduced(self.c, event, self.phases[event], &read);
        }
        self.source(rf, event).and_then(|source| self.c.written(source, &read))
    }

    /// The write that is read from, where it is chosen and known.
    pub(super) fn source(&self, rf: &[u8; MAX_EVENTS], read: usize) -> Option<usize> {
        let source = usize::from(rf[read]);
        (source < MAX_EVENTS && !self.unknown.contains(source)).then_some(source)
    }
}

/// The memory operations of one location, and what was found of them.
pub(super) struct LocationEvents {
    pub(super) events: Set,
    pub(super) writes: Set,
    pub(super) reads: Set,
    /// Reads whose sources are chosen for this location alone.
    pub(super) inner: Vec<usize>,
    /// Those of them whose values are observed.
    pub(super) observed: Vec<usize>,
    /// Whether every two writes are morally strong, and every read of a read-modify-write is with all of them.
    pub(super) is_total: bool,
    /// Writes of which the first one is taken to be earlier: those of equal threads, and those of an order that is known.
    pub(super) alike: Vec<(usize, usize)>,
    /// Whether the last value matters, and what it must be.
    pub(super) last_matters: bool,
    pub(super) last_required: Option<Value>,
    /// Rows of values: of the observed reads, then the final value.
    pub(super) rows: States,
    /// For each row, how it comes about; only where a witness is wanted.
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

/// What is known of the values that the events of an execution give.
pub(super) type Values = [Option<Value>; MAX_EVENTS];
