//! The evidence of a finding.

use ptx_execute::{Assumed, Fault, Options, Schedule};
use ptx_hazards::{Cause, Class};

use crate::budget::Budget;
use serde::{Deserialize, Serialize};

/// The evidence of a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Evidence {
    /// It follows from the text of the program.
    Proof,
    /// An execution shows it.
    Witness(Box<Witness>),
    /// Neither.
    Open(Open),
}

/// An execution that shows a finding.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Witness {
    /// The launch.
    pub launch: Assumed,
    /// Whether all of the launch is given: its sizes and its numbers.
    pub is_given: bool,
    /// How many launches show the finding, this one included. They differ in all that is guessed.
    pub launches: usize,
    /// The seed of all that is random.
    pub seed: u64,
    /// The order of the threads, which follows from the seed.
    pub schedule: Schedule,
    /// Whether a second grid of the same launch takes part, which may start before the first grid has ended.
    pub is_dependent: bool,
    /// How the machine is set up.
    pub mode: Mode,
    /// The class of the fault: how sure it is that the kernel is wrong, and not its arguments.
    pub class: Class,
    /// The fault.
    pub fault: Fault,
}

/// How the machine is set up for an execution.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Mode {
    /// As the check of asynchronous operations runs kernels: `ptx-atomics run --like-check`.
    Async,
    /// As `ptx-atomics run` does.
    Races,
}

impl Mode {
    /// The options of an execution.
    pub(crate) fn options(self, seed: u64, budget: &Budget) -> Options {
        match self {
            Self::Async => ptx_hazards::options(seed, &budget.hazards),
            Self::Races => ptx_races::witness::options(seed, &budget.races),
        }
    }
}

/// So many launches that differ in all that is guessed show that the kernel is wrong, and not a launch.
const ENOUGH: usize = 3;

impl Witness {
    /// Whether its launches are enough for an error.
    pub fn is_certain(&self) -> bool {
        self.is_given || self.launches >= ENOUGH
    }
}

/// Why a finding is open.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Open {
    /// Why the analysis does not know.
    pub why: Why,
    /// What executions say.
    pub looked: Looked,
}

/// Why an analysis does not know whether a finding is true.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub enum Why {
    /// The analysis claims it, and its claims need an execution.
    Claimed,
    /// A fact is not known.
    Unknown(Cause),
    /// The question is too hard for the solver.
    TooHard,
    /// The code is not followed.
    NotFollowed,
}

/// Whether executions were looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Looked {
    /// No: the budget has none, or the finding is not about one.
    No,
    /// The machine cannot launch the kernel.
    NoLaunch,
    /// So many executions do not show it.
    Executions(u32),
}
