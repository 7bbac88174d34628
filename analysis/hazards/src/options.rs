//! What is known of a launch besides the PTX.

use std::collections::BTreeMap;

use ptx_execute::SearchBudget;
use ptx_isa::LaunchSize;

/// What a kernel is launched with, as far as it is known. What a kernel itself says of its block goes before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Options {
    /// The sizes.
    pub size: LaunchSize,
    /// Integers that parameters of the kernel have, by the parameters' names in the PTX, or by what follows the kernel's name in them; of a struct, `name+16` is the part at an offset.
    pub parameters: BTreeMap<String, i64>,
}

/// The counted limits of the check of one kernel, and of the search for executions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// Events of a kernel: each is compared with each.
    pub events: usize,
    /// Events that synchronize.
    pub synchronizations: usize,
    /// States of accesses that pass an event or an edge.
    pub work: usize,
    /// The search for launches.
    pub search: SearchBudget,
    /// Instructions of warps in one execution.
    pub run_steps: u64,
    /// Instructions of warps in all executions of a kernel; 0 leaves them out.
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
