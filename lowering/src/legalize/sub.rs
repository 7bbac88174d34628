//! Subtraction: `atom.add` of the negated operand.

use super::{
    body::{Body, register},
    emit::{AtomForm, Emit},
};
use crate::{
    abi::Step,
    ptx::{AluOp, AtomOp, Type},
    sequence::B,
};

/// The addition.
pub fn form(emit: &Emit<'_>) -> AtomForm {
    AtomForm::new(AtomOp::Add, if emit.bits() == Type::B32 { Type::U32 } else { Type::U64 })
}

pub fn expand(steps: &[Step], emit: &Emit<'_>, body: &mut Body) {
    let signed = if emit.bits() == Type::B32 { Type::S32 } else { Type::S64 };
    let negated = body.register(emit.bits(), "%neg");
    body.alu(AluOp::Neg, signed, &negated, [register(&B)]);
    emit.atoms(form(emit), steps, body, register(&negated), None);
}
