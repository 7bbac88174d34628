//! The operations of `atom` and `red`.

use super::{
    alu::alu,
    bits::{mask, width},
};
use crate::word::{AluOp, AtomOp, Type, VectorSize};

/// The update of memory by an `atom` or a `red`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rmw {
    /// The operation on the old value and the operands.
    pub op: AtomOp,
    /// The number of elements. Each element is updated by a separate operation.
    pub vec: Option<VectorSize>,
    /// The type of an element.
    pub ty: Type,
    /// The treatment of subnormal numbers of type `f32`.
    pub subnormals: Subnormals,
}

/// The treatment of subnormal operands and results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subnormals {
    /// Subnormal numbers are ordinary numbers.
    Kept,
    /// Subnormal numbers become zeros of the same sign.
    Flushed,
}

impl Rmw {
    /// An operation on one value, which keeps subnormal numbers.
    pub fn new(op: AtomOp, ty: Type) -> Self {
        Self { op, vec: None, ty, subnormals: Subnormals::Kept }
    }

    /// The new value of the memory (section 9.7.13, `atom`), computed for each element of a vector or packed type. For
    /// `cas`, `b` is the expected value and `c` the new value.
    pub fn apply(self, old: u128, b: u128, c: Option<u128>) -> Option<u128> {
        let element = self.ty.element().unwrap_or(self.ty);
        let (total, bits) = (width(self.vec, self.ty), element.bits());
        if total > 128 {
            return None;
        }
        // A `cas` compares and writes the whole value at once.
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

/// A zero of the same sign if the f32 is subnormal; otherwise the value.
fn flushed(bits: u128) -> u128 {
    if f32::from_bits(bits as u32).is_subnormal() { bits & 0x8000_0000 } else { bits }
}
