//! The evidence of a finding.

use ptx_execute::{Assumed, Fault, RunOptions, Schedule};
use ptx_hazards::{Cause, Class};

use crate::budget::Budget;
use serde::{Deserialize, Serialize};

/// The evidence of a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Evidence {
    /// The finding follows from the text of the program.
    Proof,
    /// An execution shows the finding.
    Witness(Box<Witness>),
    /// No schedule of these launches shows the finding, although they execute its instructions. Other launches may.
    EverySchedule(Vec<Assumed>),
    /// The same, if the accesses that race in these launches get an order. Their values steer the kernel.
    AfterRepair(Vec<Assumed>),
    /// Neither a proof nor a witness.
    Open(Open),
}

/// An execution that shows a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Witness {
    /// The launch.
    pub launch: Assumed,
    /// Whether the whole launch is given: its sizes and its numbers.
    pub is_given: bool,
    /// The number of launches that show the finding, including this one. They differ in all guessed parts.
    pub launches: usize,
    /// The seed of all random choices.
    pub seed: u64,
    /// The schedule of the threads, which follows from the seed.
    pub schedule: Schedule,
    /// Whether a second grid of the same launch takes part, which may start before the first grid has ended.
    pub is_dependent: bool,
    /// The setup of the machine.
    pub mode: Mode,
    /// The class of the fault: how certain it is that the kernel is wrong, and not its arguments.
    pub class: Class,
    /// The fault.
    pub fault: Fault,
}

/// The setup of the machine for an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Mode {
    /// The setup of the check of asynchronous operations: `ptx-atomics run --like-check`.
    Async,
    /// The setup of `ptx-atomics run`.
    Races,
}

impl Mode {
    /// The options of an execution.
    pub(crate) fn options(self, seed: u64, budget: &Budget) -> RunOptions {
        match self {
            Self::Async => ptx_hazards::options(seed, &budget.hazards),
            Self::Races => ptx_races::witness::options(seed, &budget.races),
        }
    }
}

/// The number of launches, differing in all guessed parts, that show that the kernel is wrong, and not a launch.
pub(crate) const ENOUGH: usize = 3;

impl Witness {
    /// Whether the witness has enough launches for an error.
    pub fn is_certain(&self) -> bool {
        self.is_given || self.launches >= ENOUGH
    }
}

/// The reasons why a finding is open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Open {
    /// The reason of the analysis.
    pub why: Why,
    /// The result of the executions.
    pub looked: Looked,
}

/// The reason why an analysis cannot decide a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Why {
    /// The analysis claims the finding, but its claims need an execution.
    Claimed,
    /// A fact is not known.
    Unknown(Cause),
    /// The question is too hard for the solver.
    TooHard,
    /// The analysis does not follow the code.
    NotFollowed,
}

/// Whether executions were searched.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Looked {
    /// No executions: the budget allows none, or the finding is not about one.
    No,
    /// The machine cannot launch the kernel.
    NoLaunch,
    /// This number of executions does not show the finding.
    Executions(u32),
}
