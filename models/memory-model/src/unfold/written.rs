//! What depends on which reads as the instructions are written, whatever the values are: the dependencies of AArch64.
//!
//! They go through registers, and through memory from a write to the next reads of its thread at the same place.

use std::ops::BitOr;

use super::path::Written;
use crate::{
    program::{Operand, Register, Span},
    relation::Set,
};

/// What depends on which reads.
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Depends {
    pub(super) on: Set,
    /// On these only since a compare and exchange has succeeded.
    pub(super) picked: Set,
}

impl BitOr for Depends {
    type Output = Self;
    fn bitor(self, other: Self) -> Self {
        Self { on: self.on | other.on, picked: self.picked | other.picked }
    }
}

/// Where a thread of the host has come to. Of other threads, nothing is kept.
#[derive(Clone, Default)]
pub(super) struct Sources {
    registers: Vec<Depends>,
    memory: Vec<(Span, Depends)>,
    branches: Depends,
}

impl Sources {
    /// Of a thread of the host with so many registers.
    pub(super) fn of(registers: usize) -> Self {
        Self { registers: vec![Depends::default(); registers], ..Self::default() }
    }

    /// The reads of which an operand is computed.
    pub(super) fn operand(&self, operand: Operand) -> Depends {
        match operand {
            Operand::Register(register) => self.registers.get(usize::from(register.0)).copied().unwrap_or_default(),
            _ => Depends::default(),
        }
    }

    /// The reads of which operands are computed.
    pub(super) fn operands(&self, operands: &[Operand]) -> Depends {
        operands.iter().fold(Depends::default(), |all, operand| all | self.operand(*operand))
    }

    pub(super) fn set(&mut self, register: Register, reads: Depends) {
        if let Some(of) = self.registers.get_mut(usize::from(register.0)) {
            *of = reads;
        }
    }

    /// A branch that is decided by these reads.
    pub(super) fn branch(&mut self, reads: Depends) {
        self.branches = self.branches | reads;
    }

    /// An access at an address with this base, and the operands of what it writes.
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

    /// What a read of the path gives: it depends on the read, on its address, and on what the thread wrote there last.
    pub(super) fn read(&self, read: usize, span: Span, base: Operand) -> Depends {
        let before = self.memory.iter().find(|(at, _)| *at == span).map_or(Depends::default(), |(_, reads)| *reads);
        Depends { on: Set::one(read), picked: Set(0) } | self.operand(base) | before
    }

    /// What a compare and exchange gives that succeeds: what was expected, since the read was that.
    pub(super) fn expected(&self, read: usize, span: Span, base: Operand, expected: Depends) -> Depends {
        let picked = self.read(read, span, base);
        expected | Depends { on: Set(0), picked: picked.on | picked.picked }
    }

    /// A write of what depends on these reads.
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
