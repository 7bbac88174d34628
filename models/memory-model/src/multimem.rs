//! Multimem operations (sections 8.2.3 and 9.7.9.13): an access to every memory location that a multimem address points
//! to.

use crate::program::{Instruction, Language, Operand, Register, RmwOp};

/// A multimem operation: one scalar access to each replica, in an unspecified order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Multimem<L: Language> {
    /// The accesses, each at the alias by which the multimem address names a replica. Those of a `multimem.ld_reduce`
    /// read into scratch registers.
    pub elements: Vec<Instruction<L>>,
    /// The operation of a `multimem.ld_reduce`, and its result.
    pub reduced: Option<(RmwOp, Register)>,
}

impl<L: Language> Multimem<L> {
    /// The operands of all accesses.
    pub(crate) fn operands_mut(&mut self) -> Vec<&mut Operand> {
        self.elements.iter_mut().flat_map(Instruction::operands_mut).collect()
    }

    /// The registers that are written.
    pub(crate) fn results_mut(&mut self) -> Vec<&mut Register> {
        let reduced = self.reduced.iter_mut().map(|(_, d)| d);
        self.elements.iter_mut().flat_map(Instruction::results_mut).chain(reduced).collect()
    }

    /// The registers with the values that a `multimem.ld_reduce` reads, in the order of the replicas.
    pub(crate) fn sources(&self) -> Vec<Register> {
        let read = |element: &Instruction<L>| if let Instruction::Load { d, .. } = element { Some(*d) } else { None };
        self.elements.iter().filter_map(read).collect()
    }
}
