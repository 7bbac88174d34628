//! The launches that a user asks about, and the budget of a kernel.

use ptx_execute::SearchBudget;
use ptx_isa::{
    LaunchSize, Stop,
    arithmetic::mask,
    flat::{Action, Flat, Operand},
};

use crate::budget::ProofBudget;

/// The counted limits of the check of one kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budget {
    /// The proof.
    pub proof: ProofBudget,
    /// The number of proofs that the search for a remedy may make.
    pub remedies: usize,
    /// The search for launches.
    pub search: SearchBudget,
    /// Warp instructions in one execution.
    pub run_steps: u64,
    /// Warp instructions in all executions of a kernel; 0 disables executions.
    pub all_run_steps: u64,
}

impl Budget {
    /// The default limits without executions.
    pub fn quick() -> Self {
        Self { all_run_steps: 0, ..Self::default() }
    }
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            proof: ProofBudget::default(),
            remedies: 32,
            search: SearchBudget::default(),
            run_steps: 300_000,
            all_run_steps: 2_000_000,
        }
    }
}

/// The launches that a user names, and the budget of a kernel.
#[derive(Clone, Debug, Default)]
pub struct RaceOptions {
    /// The sizes; sizes in the PTX take precedence.
    pub size: LaunchSize,
    /// Whether pointers of different parameters may point to the same memory.
    pub may_alias: bool,
    /// The values of parameters by name; for a part of a struct by `name+offset`.
    pub numbers: Vec<(String, u64)>,
    /// The counted limits.
    pub budget: Budget,
    /// The emergency stop.
    pub stop: Stop,
}

impl RaceOptions {
    /// Replaces each parameter that has a given value by the value.
    pub fn give_numbers(&self, flat: &mut Flat) {
        for step in &mut flat.steps {
            let Action::Parameter { symbol, offset, ty } = step.action else { continue };
            let name = &flat.symbols[symbol].variable.name;
            let is_it = |own: &str| match own.split_once('+') {
                Some((own, at)) => own == name && at.parse() == Ok(offset),
                None => own == name && offset == 0,
            };
            if let Some((_, number)) = self.numbers.iter().find(|(own, _)| is_it(own))
                && step.writes.len() == 1
            {
                let number = number & mask(ty.bits().min(64)) as u64;
                step.action = Action::Pass { ty, from: vec![Operand::Constant(number.cast_signed())] };
            }
        }
    }
}
