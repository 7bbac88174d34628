//! Subtraction: `atom.add` of the negated operand.

use super::{Emit, operand};
use crate::{
    abi::Step,
    ptx::{AluOp, AtomOp, Instruction, Name, Statement, Type},
    sequence::{B, Sequence},
};

const NEG: Name = Name::new("%neg");

pub(super) fn expand(steps: &[Step], emit: &Emit) -> Sequence {
    let (declared, negated, added) = match emit.access().ty.bits() {
        32 => (Type::B32, Type::S32, Type::U32),
        _ => (Type::B64, Type::S64, Type::U64),
    };
    let negate = Instruction::Alu { op: AluOp::Neg, ty: negated, d: NEG, sources: vec![operand(B)] };
    let head = [Statement::Reg { ty: declared, names: vec![NEG] }, negate.into()];
    let body = steps.iter().map(|step| emit.step(*step, (AtomOp::Add, added), operand(NEG), None));
    head.into_iter().chain(body).collect()
}
