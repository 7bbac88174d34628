//! The options of a check: facts about the launch that the PTX does not contain, and the budget.

use std::collections::BTreeMap;

use ptx_execute::SearchBudget;
use ptx_isa::LaunchSize;

/// The known facts about a kernel's launch. The kernel's own directives about its block take precedence.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HazardOptions {
    /// The sizes of the launch.
    pub size: LaunchSize,
    /// Integer values of kernel parameters. The keys are the parameters' names in the PTX, or the part of these names
    /// that follows the kernel's name; for a struct, `name+16` is the part at an offset.
    pub parameters: BTreeMap<String, i64>,
}

/// The counted limits of the check of one kernel, and of the search for executions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Events of a kernel: every pair of events is compared.
    pub events: usize,
    /// Events that synchronize.
    pub synchronizations: usize,
    /// States of accesses, counted at each event or edge that they pass.
    pub work: usize,
    /// The search for launches.
    pub search: SearchBudget,
    /// Instructions of warps in one execution.
    pub run_steps: u64,
    /// Instructions of warps in all executions of a kernel; 0 means no executions.
    pub all_run_steps: u64,
}

impl Budget {
    /// The usual limits without executions.
    pub fn quick() -> Self {
        Self { all_run_steps: 0, ..Self::default() }
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            events: 20_000,
            synchronizations: 2_000,
            work: 4_000_000,
            search: SearchBudget::default(),
            run_steps: 200_000,
            all_run_steps: 250_000,
        }
    }
}
