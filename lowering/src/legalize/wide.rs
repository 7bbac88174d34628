//! Arithmetic on 128 bits, in halves of 64 bits, the low half first.

use super::body::{Body, alu, register, setp};
use crate::{
    op::RmwOp,
    ptx::{AluOp, Cmp, Name, Operand, Type},
};

/// The low and the high half.
type Halves<'a> = &'a [Operand];

const ZERO: [Operand; 2] = [Operand::Immediate(0), Operand::Immediate(0)];
const ONE: [Operand; 2] = [Operand::Immediate(1), Operand::Immediate(0)];

/// Computes `new` from `old` and `b`.
pub fn update(op: RmwOp, old: &[Name], b: Halves<'_>, new: &[Name], body: &mut Body) {
    use AluOp::*;
    let old = &operands(old)[..];
    let computed = &operands(new)[..];
    match op {
        RmwOp::Xchg => each(body, Mov, new, &[b]),
        RmwOp::And => each(body, And, new, &[old, b]),
        RmwOp::Or => each(body, Or, new, &[old, b]),
        RmwOp::Xor => each(body, Xor, new, &[old, b]),
        RmwOp::Nand => {
            each(body, And, new, &[old, b]);
            each(body, Not, new, &[computed]);
        }
        RmwOp::Add => carried(body, [AddCc, Addc], new, old, b),
        RmwOp::Sub => carried(body, [SubCc, Subc], new, old, b),
        RmwOp::Max => extremum(body, Type::S64, new, old, b, [old, b]),
        RmwOp::UMax => extremum(body, Type::U64, new, old, b, [old, b]),
        RmwOp::Min => extremum(body, Type::S64, new, old, b, [b, old]),
        RmwOp::UMin => extremum(body, Type::U64, new, old, b, [b, old]),
        RmwOp::UIncWrap => {
            carried(body, [AddCc, Addc], new, old, &ONE);
            let below = less(body, Type::U64, old, b);
            replace(body, new, &ZERO, |mov| mov.unless(below.clone()));
        }
        RmwOp::UDecWrap => {
            // At 0 the decrement wraps to the greatest value, so that one minimum covers both conditions.
            carried(body, [SubCc, Subc], new, old, &ONE);
            let above = less(body, Type::U64, b, computed);
            replace(body, new, b, |mov| mov.guarded(above.clone()));
        }
        RmwOp::USubCond | RmwOp::USubSat => {
            carried(body, [SubCc, Subc], new, old, b);
            let below = less(body, Type::U64, old, b);
            let kept = if op == RmwOp::USubCond { old } else { &ZERO };
            replace(body, new, kept, |mov| mov.guarded(below.clone()));
        }
        // These operations are undefined on integers.
        RmwOp::FAdd
        | RmwOp::FSub
        | RmwOp::FMax
        | RmwOp::FMin
        | RmwOp::FMaximum
        | RmwOp::FMinimum
        | RmwOp::FMaximumNum
        | RmwOp::FMinimumNum => {}
    }
}

fn operands(names: &[Name]) -> Vec<Operand> {
    names.iter().map(register).collect()
}

/// The same operation on both halves.
fn each(body: &mut Body, op: AluOp, new: &[Name], sources: &[Halves<'_>]) {
    for (half, new) in new.iter().enumerate() {
        let sources = sources.iter().map(|source| source[half].clone()).collect();
        body.push(crate::ptx::Instruction::Alu { op, ty: Type::B64, d: register(new), sources });
    }
}

/// An operation with a carry from the low half to the high half.
fn carried(body: &mut Body, ops: [AluOp; 2], new: &[Name], x: Halves<'_>, y: Halves<'_>) {
    for (half, op) in ops.into_iter().enumerate() {
        body.alu(op, Type::U64, &new[half], [x[half].clone(), y[half].clone()]);
    }
}

/// `b` if the first value of the pair is less than the second, otherwise `old`.
fn extremum(body: &mut Body, ty: Type, new: &[Name], old: Halves<'_>, b: Halves<'_>, [x, y]: [Halves<'_>; 2]) {
    let replaced = less(body, ty, x, y);
    each(body, AluOp::Mov, new, &[old]);
    replace(body, new, b, |mov| mov.guarded(replaced.clone()));
}

/// Moves a value into `new` under a condition.
fn replace(
    body: &mut Body,
    new: &[Name],
    value: Halves<'_>,
    condition: impl Fn(crate::ptx::Statement) -> crate::ptx::Statement,
) {
    for (new, value) in new.iter().zip(value) {
        body.push(condition(alu(AluOp::Mov, Type::B64, new, [value.clone()])));
    }
}

/// Whether `x < y`: compares the high halves with type `ty`, and the low halves if the high halves are equal.
fn less(body: &mut Body, ty: Type, x: Halves<'_>, y: Halves<'_>) -> Name {
    let less = body.test("%test", Cmp::Lt, Type::U64, x[0].clone(), y[0].clone());
    let same = body.test("%same", Cmp::Eq, Type::B64, x[1].clone(), y[1].clone());
    body.push(setp(Cmp::Lt, ty, &less, x[1].clone(), y[1].clone()).unless(same));
    less
}
