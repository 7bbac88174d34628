//! Native additions of vectors, with registers of the elements as operands.
//!
//! PTX guarantees atomicity for each element, but not for the vector ('PTX ISA', section on `atom`, vector operations).

use super::{
    body::{Body, register},
    emit::{AtomForm, AtomOperands, Emit},
    update::{join, split},
};
use crate::{
    abi::Step,
    op::Type as OpType,
    ptx::{AtomOp, Name, Operand, Type, VectorSize},
    sequence::{A, B, D},
};

/// The form that adds a vector of this type.
pub fn form(ty: OpType) -> Option<AtomForm> {
    let (noftz, vec, ty) = match ty {
        OpType::F16x2 => (true, None, Type::F16x2),
        OpType::F16x4 => (true, Some(VectorSize::V2), Type::F16x2),
        OpType::F16x8 => (true, Some(VectorSize::V4), Type::F16x2),
        OpType::Bf16x2 => (true, None, Type::Bf16x2),
        OpType::Bf16x4 => (true, Some(VectorSize::V2), Type::Bf16x2),
        OpType::Bf16x8 => (true, Some(VectorSize::V4), Type::Bf16x2),
        OpType::F32x2 => (false, Some(VectorSize::V2), Type::F32),
        OpType::F32x4 => (false, Some(VectorSize::V4), Type::F32),
        _ => return None,
    };
    Some(AtomForm { op: AtomOp::Add, noftz, vec, ty })
}

/// The form that adds one register of the vector, for a target without an instruction for the whole vector.
pub fn part(form: AtomForm) -> AtomForm {
    AtomForm { vec: None, ..form }
}

/// Whether a form adds registers that hold a part of the value: a single register of the vector, or all of them.
pub fn is_packed(form: AtomForm, ty: OpType) -> bool {
    form.ty.bits() < ty.bits() && ty.lanes() > 1
}

/// Emits the addition. `prepare` modifies each register of the operand.
pub fn expand(form: AtomForm, steps: &[Step], emit: &Emit<'_>, body: &mut Body, prepare: impl Fn(&mut Body, &Name)) {
    // Each register holds 32 bits, like an element of a vector of f32.
    let words = if emit.bits() == Type::B64 { OpType::F32x2 } else { OpType::F32x4 };
    let operand = split(body, words, register(&B), "%word");
    operand.iter().for_each(|word| prepare(body, word));
    let result = body.registers(Type::B32, "%sum", operand.len());
    let vector = |names: &[_]| Operand::Vector(names.iter().map(register).collect());
    if form.vec.is_some() {
        emit.around(steps, body, |body, sem| {
            let operands = AtomOperands { d: vector(&result), base: A, offset: 0, b: vector(&operand), c: None };
            body.push(emit.atom(sem, form, operands));
        });
        return join(body, words, &D, &result);
    }
    // An address operand with an offset cannot get another offset, so its base is copied.
    let base = body.register(Type::B64, "%base");
    body.mov(Type::B64, &base, register(&A));
    emit.around(steps, body, |body, sem| {
        for (index, (d, b)) in result.iter().zip(&operand).enumerate() {
            let offset = 4 * index as i64;
            let operands = AtomOperands { d: register(d), base: base.clone(), offset, b: register(b), c: None };
            body.push(emit.atom(sem, form, operands));
        }
    });
    join(body, words, &D, &result);
}
