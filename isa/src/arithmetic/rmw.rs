//! What `atom` and `red` compute.

use super::{
    alu::alu,
    bits::{mask, width},
};
use crate::word::{AluOp, AtomOp, Type, VectorSize};

/// What an `atom` or a `red` does to the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rmw {
    /// What is computed of the old value and the operands.
    pub op: AtomOp,
    /// The number of elements, each of which is an operation of its own.
    pub vec: Option<VectorSize>,
    /// The type of an element.
    pub ty: Type,
    /// What becomes of subnormal numbers of type `f32`.
    pub subnormals: Subnormals,
}

/// What becomes of subnormal operands and results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subnormals {
    /// They are numbers like others.
    Kept,
    /// They are zeros of their sign.
    Flushed,
}

impl Rmw {
    /// An operation on one value, which keeps subnormal numbers.
    pub fn new(op: AtomOp, ty: Type) -> Self {
        Self { op, vec: None, ty, subnormals: Subnormals::Kept }
    }

    /// The new value of the memory (section 9.7.13, `atom`), element by element for a vector or packed type. `c` is the new
    /// value of a `cas`, whose `b` is the expected one.
    pub fn apply(self, old: u128, b: u128, c: Option<u128>) -> Option<u128> {
        let element = self.ty.element().unwrap_or(self.ty);
        let (total, bits) = (width(self.vec, self.ty), element.bits());
        if total > 128 {
            return None;
        }
        // A `cas` compares and writes all of it at once.
        let step = if self.op == AtomOp::Cas { total } else { bits };
        let part = |value: u128, at: u32| (value >> at) & mask(step);
        let one = |at: u32| {
            let c = c.map(|c| part(c, at));
            Some(self.element(element, part(old, at), part(b, at), c)? << at)
        };
        (0..total).step_by(step as usize).map(one).try_fold(0, |all, one| Some(all | one?))
    }

    fn element(self, ty: Type, old: u128, b: u128, c: Option<u128>) -> Option<u128> {
        let arithmetic = |op| alu(op, ty, &[old, b]);
        match self.op {
            AtomOp::Exch => Some(b),
            AtomOp::Cas => Some(if old == b { c? } else { old }),
            AtomOp::Inc if !ty.is_float() => Some(if old >= b { 0 } else { old + 1 }),
            AtomOp::Dec if !ty.is_float() => Some(if old == 0 || old > b { b } else { old - 1 }),
            AtomOp::Inc | AtomOp::Dec => None,
            AtomOp::Add if ty == Type::F32 && self.subnormals == Subnormals::Flushed => {
                alu(AluOp::AddRn, ty, &[flushed(old), flushed(b)]).map(flushed)
            }
            AtomOp::Add => arithmetic(AluOp::Add),
            AtomOp::Min => arithmetic(AluOp::Min),
            AtomOp::Max => arithmetic(AluOp::Max),
            AtomOp::And => arithmetic(AluOp::And),
            AtomOp::Or => arithmetic(AluOp::Or),
            AtomOp::Xor => arithmetic(AluOp::Xor),
        }
    }
}

/// A subnormal f32 as zero of its sign.
fn flushed(bits: u128) -> u128 {
    if f32::from_bits(bits as u32).is_subnormal() { bits & 0x8000_0000 } else { bits }
}
