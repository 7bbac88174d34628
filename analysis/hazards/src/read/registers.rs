//! The registers of matrices: registers that a `wgmma` reads and writes asynchronously.

use ptx_isa::{
    Family, Role,
    flat::{Action, Flat, Operand, Step},
    operation::Operation,
};

use super::code;

/// Consecutive registers: the first, and their number.
pub type Run = (usize, usize);

/// The registers that matrix instructions access.
pub struct Registers {
    /// Whether each register is accessed, by its number; empty if there are none.
    is_of_matrix: Vec<bool>,
    /// Whether each register is written.
    is_accumulator: Vec<bool>,
}

impl Registers {
    pub fn new(code: &Flat) -> Self {
        let (mut is_of_matrix, mut is_accumulator) = (Vec::new(), Vec::new());
        for op in code.steps.iter().filter(|op| is_matrix(op)) {
            is_of_matrix.resize(code.registers.len(), false);
            is_accumulator.resize(code.registers.len(), false);
            let written = op.writes.iter().copied().flatten();
            written.clone().for_each(|own| is_accumulator[own] = true);
            read(op).into_iter().chain(written).for_each(|own| is_of_matrix[own] = true);
        }
        Self { is_of_matrix, is_accumulator }
    }

    /// The runs of these registers that an instruction reads, and those that it writes. A copy that only renames an
    /// accumulator gives none: compilers insert copies between the parts of its live range, which the hardware never
    /// executes.
    pub fn touched(&self, op: &Step) -> [Vec<Run>; 2] {
        let is_copy = match &op.action {
            Action::Compute(operation, _) => matches!(operation, Operation::Mov(_)),
            action => matches!(action, Action::Pass { .. }),
        };
        if self.is_of_matrix.is_empty() || !is_matrix(op) && op.guard.is_some() {
            return [Vec::new(), Vec::new()];
        }
        let mut written: Vec<_> = op.writes.iter().copied().flatten().collect();
        if is_copy {
            written.retain(|register| !self.is_accumulator[*register]);
            return [Vec::new(), self.runs(written)];
        }
        [self.runs(read(op)), self.runs(written)]
    }

    fn runs(&self, mut registers: Vec<usize>) -> Vec<Run> {
        registers.retain(|register| self.is_of_matrix.get(*register) == Some(&true));
        registers.sort_unstable();
        registers.dedup();
        let mut runs: Vec<Run> = Vec::new();
        for register in registers {
            match runs.last_mut() {
                Some((first, count)) if *first + *count == register => *count += 1,
                _ => runs.push((register, 1)),
            }
        }
        runs
    }
}

/// Whether an instruction is a `wgmma.mma_async`.
pub fn is_matrix(op: &Step) -> bool {
    let Action::Asynchronous(form, _) = &op.action else { return false };
    matches!(form.family(), Family::WgmmaMmaAsync | Family::WgmmaMmaAsyncSp)
}

/// The registers that an instruction reads. For a `wgmma`, the registers of its operand A.
fn read(op: &Step) -> Vec<usize> {
    match &op.action {
        Action::Compute(..) | Action::Pass { .. } => op.reads(),
        action @ Action::Access(_) => {
            let data = code::access(action).into_iter().flat_map(|access| &access.data);
            data.flat_map(Operand::registers).collect()
        }
        Action::Asynchronous(_, operands) => {
            let of_a = operands
                .iter()
                .filter(|(role, operand)| *role == Role::A && matches!(operand, Operand::Vector(_)) || !is_matrix(op));
            of_a.flat_map(|(_, operand)| operand.registers()).collect()
        }
        _ => Vec::new(),
    }
}
