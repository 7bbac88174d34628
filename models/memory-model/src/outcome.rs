//! Final states, and what is known about all of them.

use std::time::Duration;

use web_time::Instant;

pub use crate::layout::Layout;
use crate::{
    condition::Condition,
    execution::Execution,
    limit::Limit,
    program::{Language, Program, Value},
    states::States,
};

/// Bounds of a search. Where one is hit, the answer says so.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// How often a thread may enter a loop at its first label.
    pub rounds: usize,
    /// Whether no loop of any execution that ends enters more often: the search takes it as known, and does not find it out.
    pub rounds_suffice: bool,
    /// How many choices a search tries: of what a read returns, and of orders.
    pub choices: u64,
    /// How long it may take.
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
    /// Those that the model allows.
    pub states: States,
    /// Further states, which dependencies alone forbid that an implementation may reason away (section 8.10.4).
    pub speculative: States,
    /// How many candidates the search completed: choices of everything that is read, for each part that it solves by itself.
    pub candidates: u64,
    /// Why there may be more states.
    pub unknown: Option<Limit>,
}

impl Outcomes {
    /// None found yet.
    pub(crate) fn new<L: Language>(program: &Program<L>) -> Self {
        let width = Layout::new(program).width();
        Self { states: States::new(width), speculative: States::new(width), candidates: 0, unknown: None }
    }

    /// Whether the condition holds; `None` if that is not known.
    pub fn holds(&self, condition: &Condition, layout: &Layout) -> Option<bool> {
        self.verdict(condition, layout).ok()
    }

    /// Whether the condition holds.
    ///
    /// # Errors
    /// Why that is not known.
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

/// Counts down a search's bounds.
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

    /// Allows no more than so many further choices for now. Gives the limit that was there.
    pub fn allow(&mut self, choices: u64) -> u64 {
        let limit = self.limit.min(self.choices.saturating_add(choices));
        std::mem::replace(&mut self.limit, limit)
    }

    /// Puts a limit back, and says whether it leaves room for more choices.
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

    /// Looks at the clock.
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
    /// How it comes about.
    pub execution: Execution<L>,
    /// How it ends.
    pub state: State,
}
