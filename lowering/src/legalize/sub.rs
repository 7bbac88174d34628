//! Subtraction as an addition of the negated operand.

use super::{
    body::{Body, register},
    emit::{AtomForm, Emit, bits},
    packed,
};
use crate::{
    abi::Step,
    op::Type as OpType,
    ptx::{AluOp, Name, Operand, Type},
    sequence::B,
};

pub fn expand(form: AtomForm, steps: &[Step], emit: &Emit<'_>, body: &mut Body) {
    if packed::is_packed(form, emit.access().ty) {
        let word = if form.ty == Type::F32 { OpType::F32 } else { OpType::F16x2 };
        return packed::expand(form, steps, emit, body, |body, operand| negate(word, register(operand), operand, body));
    }
    let negated = body.register(emit.bits(), "%neg");
    negate(emit.access().ty, register(&B), &negated, body);
    emit.atoms(form, steps, body, register(&negated), None);
}

/// Negates a value of up to 64 bits. For half floats it flips the signs, because PTX has `neg` for them only on new
/// GPUs.
fn negate(ty: OpType, value: Operand, into: &Name, body: &mut Body) {
    let ty = match ty {
        OpType::I32 => Type::S32,
        OpType::I64 => Type::S64,
        OpType::F32 => Type::F32,
        OpType::F64 => Type::F64,
        ty => {
            let width = ty.scalar().bits();
            let signs = (0..ty.bits()).step_by(width as usize).map(|lane| 1 << (lane + width - 1)).sum();
            return body.alu(AluOp::Xor, bits(ty.bits()), into, [value, Operand::Immediate(signs)]);
        }
    };
    body.alu(AluOp::Neg, ty, into, [value]);
}
