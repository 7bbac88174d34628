//! What depends on which reads as the instructions are written, whatever the values are: the dependencies of AArch64.
//!
//! They go through registers, and through memory from a write to the next reads of its thread at the same place.

use super::path::Written;
use crate::{
    program::{Operand, Register, Span},
    relation::Set,
};

/// Where a thread of the host has come to. Of other threads, nothing is kept.
#[derive(Clone, Default)]
pub(super) struct Sources {
    registers: Vec<Set>,
    memory: Vec<(Span, Set)>,
    branches: Set,
}

impl Sources {
    /// Of a thread of the host with so many registers.
    pub(super) fn of(registers: usize) -> Self {
        Self { registers: vec![Set(0); registers], ..Self::default() }
    }

    /// The reads of which an operand is computed.
    pub(super) fn operand(&self, operand: Operand) -> Set {
        match operand {
            Operand::Register(register) => self.registers.get(usize::from(register.0)).copied().unwrap_or_default(),
            _ => Set(0),
        }
    }

    /// The reads of which operands are computed.
    pub(super) fn operands(&self, operands: &[Operand]) -> Set {
        operands.iter().fold(Set(0), |all, operand| all | self.operand(*operand))
    }

    pub(super) fn set(&mut self, register: Register, reads: Set) {
        if let Some(of) = self.registers.get_mut(usize::from(register.0)) {
            *of = reads;
        }
    }

    /// A branch that is decided by these reads.
    pub(super) fn branch(&mut self, reads: Set) {
        self.branches = self.branches | reads;
    }

    /// An access at an address with this base.
    pub(super) fn access(&self, base: Operand) -> Written {
        Written { address: self.operand(base), data: Set(0), control: self.branches }
    }

    /// What a read of the path gives: it depends on the read, on its address, and on what the thread wrote there last.
    pub(super) fn read(&self, read: usize, span: Span, written: Written) -> Set {
        let before = self.memory.iter().find(|(at, _)| *at == span).map_or(Set(0), |(_, reads)| *reads);
        Set::one(read) | written.address | before
    }

    /// A write of what depends on these reads.
    pub(super) fn write(&mut self, span: Span, reads: Set) {
        if self.registers.is_empty() {
            return;
        }
        match self.memory.iter_mut().find(|(at, _)| *at == span) {
            Some((_, known)) => *known = reads,
            None => self.memory.push((span, reads)),
        }
    }
}
