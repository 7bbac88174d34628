//! The result of an arithmetic instruction without additional modifiers.

use super::{
    bits::{SOURCES, mask},
    float::float,
    integer::integer,
};
use crate::word::{AluOp, Type};

/// The result of an instruction on registers. `sources` must have as many values as the instruction has source
/// operands.
pub fn alu(op: AluOp, ty: Type, sources: &[u128]) -> Option<u128> {
    if sources.len() != op.arity() {
        return None;
    }
    let mut operands = [0; SOURCES];
    for (index, (operand, source)) in operands.iter_mut().zip(sources).enumerate() {
        *operand = source & mask(op.source_type(ty, index).bits());
    }
    let value = match ty.element() {
        // The elements of a packed type are computed separately.
        Some(element) if !matches!(op, AluOp::Mov | AluOp::Selp) => {
            let half = |at: u32| Some((float(op, element, operands.map(|operand| operand >> at))? & mask(16)) << at);
            half(0)? | half(16)?
        }
        Some(_) => integer(op, ty, operands)?,
        None if ty.is_float() => float(op, ty, operands)?,
        None => integer(op, ty, operands)?,
    };
    Some(value & mask(op.result_type(ty).bits()))
}

impl AluOp {
    /// Whether PTX has the instruction for this type.
    pub fn takes(self, ty: Type) -> bool {
        match self {
            Self::AddCc | Self::SubCc | Self::Addc | Self::Subc => {
                !ty.is_float() && ty.element().is_none() && matches!(ty.bits(), 32 | 64)
            }
            _ => alu(self, ty, &[1; SOURCES][..self.arity()]).is_some(),
        }
    }
}
