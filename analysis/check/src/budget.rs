//! The counted limits of a check.

/// The counted limits of the check of one kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The check of asynchronous operations, with its executions.
    pub hazards: ptx_hazards::Budget,
    /// The proof of races and barriers, with its executions.
    pub races: ptx_races::check::Budget,
    /// The number of launches of a program in which a kernel is checked.
    pub program_launches: usize,
    /// The number of additional launches in which a finding is searched again.
    pub launches: usize,
    /// Instructions of warps in the executions of these launches.
    pub launch_steps: u64,
    /// Instructions of warps in the search for determinate launches.
    pub schedule_steps: u64,
}

impl Budget {
    /// The default limits without executions.
    pub fn quick() -> Self {
        Self { hazards: ptx_hazards::Budget::quick(), races: ptx_races::check::Budget::quick(), ..Self::default() }
    }

    /// Whether the check searches for executions.
    pub fn has_executions(&self) -> bool {
        self.hazards.all_run_steps > 0
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            hazards: ptx_hazards::Budget::default(),
            races: ptx_races::check::Budget::default(),
            program_launches: 4,
            launches: 8,
            launch_steps: 500_000,
            schedule_steps: 1_000_000,
        }
    }
}
