//! Syntactic dependencies on reads, whatever the values are: the dependencies of AArch64.
//!
//! They pass through registers, and through memory from a write to the next reads of its thread at the same location.

use std::ops::BitOr;

use super::path::Written;
use crate::{
    program::{Operand, Register, Span},
    relation::Set,
};

/// The reads that a value depends on.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Depends {
    pub(super) on: Set,
    /// The reads on which it depends only because a compare and exchange succeeded.
    pub(super) picked: Set,
}

impl BitOr for Depends {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self { on: self.on | other.on, picked: self.picked | other.picked }
    }
}

/// The dependencies at a point of a thread of the host. Threads of GPUs have an empty state.
#[derive(Clone, Default)]
pub(super) struct Sources {
    registers: Vec<Depends>,
    memory: Vec<(Span, Depends)>,
    branches: Depends,
}

impl Sources {
    /// The initial state for a thread of the host with this number of registers.
    pub(super) fn new(registers: usize) -> Self {
        Self { registers: vec![Depends::default(); registers], ..Self::default() }
    }

    /// The reads from which an operand is computed.
    pub(super) fn operand(&self, operand: Operand) -> Depends {
        match operand {
            Operand::Register(register) => self.registers.get(usize::from(register.0)).copied().unwrap_or_default(),
            _ => Depends::default(),
        }
    }

    /// The reads from which operands are computed.
    pub(super) fn operands(&self, operands: &[Operand]) -> Depends {
        operands.iter().fold(Depends::default(), |all, operand| all | self.operand(*operand))
    }

    pub(super) fn set(&mut self, register: Register, reads: Depends) {
        if let Some(of) = self.registers.get_mut(usize::from(register.0)) {
            *of = reads;
        }
    }

    /// Adds a branch that depends on these reads.
    pub(super) fn branch(&mut self, reads: Depends) {
        self.branches = self.branches | reads;
    }

    /// The dependencies of an access at an address with this base, with the operands of its write.
    pub(super) fn access(&self, base: Operand, operands: &[Operand]) -> Written {
        let (address, data) = (self.operand(base), self.operands(operands));
        Written {
            address: address.on,
            data: data.on,
            control: self.branches.on,
            picked: (address | data | self.branches).picked,
            picked_address: address.picked,
        }
    }

    /// The dependencies of the value of a read of the path: the read, its address, and the dependencies of the thread's
    /// last write there.
    pub(super) fn read(&self, read: usize, span: Span, base: Operand) -> Depends {
        let before = self.memory.iter().find(|(at, _)| *at == span).map_or(Depends::default(), |(_, reads)| *reads);
        Depends { on: Set::singleton(read), picked: Set(0) } | self.operand(base) | before
    }

    /// The dependencies of the value that a successful compare and exchange returns: it is the expected value, because
    /// the read returned that.
    pub(super) fn expected(&self, read: usize, span: Span, base: Operand, expected: Depends) -> Depends {
        let picked = self.read(read, span, base);
        expected | Depends { on: Set(0), picked: picked.on | picked.picked }
    }

    /// Records a write whose value depends on these reads.
    pub(super) fn write(&mut self, span: Span, reads: Depends) {
        if self.registers.is_empty() {
            return;
        }
        match self.memory.iter_mut().find(|(at, _)| *at == span) {
            Some((_, known)) => *known = reads,
            None => self.memory.push((span, reads)),
        }
    }
}
