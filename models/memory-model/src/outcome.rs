//! The final states of a program, and the limits of the search for them.

use std::time::Duration;

use ptx_isa::Instant;

pub use crate::layout::Layout;
use crate::{
    condition::Condition,
    execution::Execution,
    limit::Limit,
    program::{Language, Program, Value},
    states::States,
};

/// Bounds of a search. If the search reaches one, the answer names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// The maximum number of times that a thread enters a loop at its first label.
    pub rounds: usize,
    /// Whether the caller knows that no loop of a complete execution is entered more often; the search does not check
    /// it.
    pub rounds_suffice: bool,
    /// The maximum number of choices that a search tries: of sources of reads, and of orders.
    pub choices: u64,
    /// The maximum time.
    pub time: Option<Duration>,
}

impl Default for Limits {
    fn default() -> Self {
        Self { rounds: 4, rounds_suffice: false, choices: 100_000_000, time: None }
    }
}

/// A final state: the values of the observed registers ([`Program::observed`]), then of the physical locations.
pub type State = Box<[Value]>;

/// The final states of a program.
#[derive(Clone, Debug)]
pub struct Outcomes {
    /// The states that the model allows.
    pub states: States,
    /// Further states, which are forbidden only by dependencies that an implementation may optimize away (section
    /// 8.10.4).
    pub speculative: States,
    /// The number of candidates that the search completed: choices of the sources of all reads, for each part that is
    /// solved separately.
    pub candidates: u64,
    /// The reason why there may be more states.
    pub unknown: Option<Limit>,
}

impl Outcomes {
    /// An empty set of outcomes.
    pub(crate) fn new<L: Language>(program: &Program<L>) -> Self {
        let width = Layout::new(program).width();
        Self { states: States::new(width), speculative: States::new(width), candidates: 0, unknown: None }
    }

    /// Whether the condition holds; `None` if that is unknown.
    pub fn holds(&self, condition: &Condition, layout: &Layout) -> Option<bool> {
        self.verdict(condition, layout).ok()
    }

    /// Whether the condition holds.
    ///
    /// # Errors
    /// The reason why that is unknown.
    pub fn verdict(&self, condition: &Condition, layout: &Layout) -> Result<bool, Limit> {
        let (witness, verdict) = condition.decided_by();
        let decides = |state: &[Value]| condition.formula.holds(layout, state) == witness;
        match self.unknown {
            _ if self.states.iter().any(decides) => Ok(verdict),
            Some(limit) => Err(limit),
            None if self.states.is_empty() => Err(Limit::Hangs),
            None if self.speculative.iter().any(decides) => Err(Limit::ThinAir),
            None => Ok(!verdict),
        }
    }
}

/// Counts the choices of a search against its bounds.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Budget {
    pub candidates: u64,
    pub rounds_suffice: bool,
    choices: u64,
    limit: u64,
    deadline: Option<Instant>,
}

impl Budget {
    pub fn new(limits: Limits) -> Self {
        let deadline = limits.time.map(|time| Instant::now() + time);
        let Limits { rounds_suffice, choices: limit, .. } = limits;
        Self { candidates: 0, rounds_suffice, choices: 0, limit, deadline }
    }

    /// Restricts the number of further choices for now. Returns the previous limit.
    pub fn allow(&mut self, choices: u64) -> u64 {
        let limit = self.limit.min(self.choices.saturating_add(choices));
        std::mem::replace(&mut self.limit, limit)
    }

    /// Restores a limit. Returns whether it allows more choices.
    pub fn go_on(&mut self, limit: u64) -> bool {
        self.limit = limit;
        self.choices <= limit
    }

    /// Counts a choice.
    pub fn choose(&mut self) -> Result<(), Limit> {
        self.choices += 1;
        if self.choices > self.limit {
            return Err(Limit::Choices);
        }
        if self.choices.is_multiple_of(256) { self.in_time() } else { Ok(()) }
    }

    /// Checks the time limit.
    pub fn in_time(&self) -> Result<(), Limit> {
        match self.deadline {
            Some(deadline) if Instant::now() > deadline => Err(Limit::Time),
            _ => Ok(()),
        }
    }
}

/// An execution with its final state.
#[derive(Clone, Debug)]
pub struct Witness<L: Language> {
    /// The execution.
    pub execution: Execution<L>,
    /// Its final state.
    pub state: State,
}
