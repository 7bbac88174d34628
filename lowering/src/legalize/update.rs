//! The value that an rmw stores, computed from the old value and the operand as LLVM's Language Reference defines the
//! operation.
//!
//! Integers narrower than 32 bits are computed in 32-bit registers, and half floats in f32, with the same results: the
//! sum of two half floats is exact in f32, or is rounded so far below a half float's last digit that the second
//! rounding cannot differ.

use super::{
    body::{Body, alu, register, setp},
    emit::bits,
    wide,
};
use crate::{
    op::{RmwOp, Type as OpType},
    ptx::{AluOp, Cmp, Form, Name, Operand, Target, Type},
};

/// An operation on a type, with its operand in registers of the arithmetic type.
pub struct Update<'a> {
    op: RmwOp,
    ty: OpType,
    target: &'a Target,
    /// The operand, or its elements for a vector that is computed element by element.
    b: Vec<Operand>,
}

/// The instruction for a minimum or maximum of floats or pairs of floats, if the target has it.
fn extremum(op: RmwOp, ty: OpType, target: &Target) -> Option<(AluOp, Type)> {
    let op = match op {
        RmwOp::FMax => AluOp::Max,
        RmwOp::FMin => AluOp::Min,
        RmwOp::FMaximum => AluOp::MaxNan,
        RmwOp::FMinimum => AluOp::MinNan,
        _ => return None,
    };
    let ty = match ty {
        OpType::F16 => Type::F16,
        OpType::F16x2 => Type::F16x2,
        OpType::Bf16 => Type::Bf16,
        OpType::Bf16x2 => Type::Bf16x2,
        OpType::F32 => Type::F32,
        _ => return None,
    };
    let form = if matches!(op, AluOp::MaxNan | AluOp::MinNan) { Form::NanExtremum } else { Form::HalfExtremum };
    target.meets(form.requirement()).then_some((op, ty))
}

impl<'a> Update<'a> {
    /// Prepares the operand, before a loop.
    pub fn new(op: RmwOp, ty: OpType, b: Operand, target: &'a Target, body: &mut Body) -> Self {
        let b = match op {
            RmwOp::Xchg => vec![b],
            _ if extremum(op, ty, target).is_some() => vec![b],
            _ if ty == OpType::I128 => split(body, ty, b, "%operand").iter().map(register).collect(),
            _ => {
                let elements = elements(body, ty, b, "%operand");
                // A half float is widened if its arithmetic is done in f32.
                let ty = if extremum(op, ty.scalar(), target).is_some() { OpType::F32 } else { ty };
                elements.into_iter().enumerate().map(|(lane, b)| widen(body, ty, b, "%factor", lane)).collect()
            }
        };
        Self { op, ty, target, b }
    }

    /// Computes `new` from `old`.
    pub fn apply(&self, body: &mut Body, old: &Name, new: &Name) {
        let Self { op, ty, target, b } = self;
        if let Some((op, ty)) = extremum(*op, *ty, target) {
            return body.alu(op, ty, new, [register(old), b[0].clone()]);
        }
        match (op, ty) {
            (RmwOp::Xchg, _) => body.mov(bits(ty.bits().max(32)), new, b[0].clone()),
            (_, OpType::I128) => {
                let old = split(body, *ty, register(old), "%old");
                let results = body.registers(Type::B64, "%new", 2);
                wide::update(*op, &old, b, &results, body);
                join(body, *ty, new, &results);
            }
            _ if ty.lanes() == 1 => self.scalar(body, old, &b[0], new),
            _ => {
                let old = split(body, *ty, register(old), "%old");
                let results = body.registers(bits(ty.scalar().bits()), "%new", ty.lanes());
                for ((old, b), new) in old.iter().zip(b).zip(&results) {
                    self.scalar(body, old, b, new);
                }
                join(body, *ty, new, &results);
            }
        }
    }

    /// Computes one element.
    fn scalar(&self, body: &mut Body, old: &Name, b: &Operand, new: &Name) {
        if let Some((op, ty)) = extremum(self.op, self.ty.scalar(), self.target) {
            return body.alu(op, ty, new, [register(old), b.clone()]);
        }
        match (self.op, self.ty.scalar()) {
            (op, ty @ (OpType::F16 | OpType::Bf16)) => {
                let wide = widen(body, ty, register(old), "%term", 0);
                let result = body.register(Type::B32, "%result");
                arithmetic(op, OpType::F32, wide, b.clone(), &result, body);
                narrow(body, op, ty, &result, new, self.target);
            }
            (op, ty) => arithmetic(op, ty, register(old), b.clone(), new, body),
        }
    }
}

/// The elements of a value as operands; a scalar is its only element.
fn elements(body: &mut Body, ty: OpType, value: Operand, stem: &str) -> Vec<Operand> {
    if ty.lanes() == 1 { vec![value] } else { split(body, ty, value, stem).iter().map(register).collect() }
}

/// The elements of a vector, or the two halves of an i128, in separate registers.
pub fn split(body: &mut Body, ty: OpType, value: Operand, stem: &str) -> Vec<Name> {
    let (element, count) = if ty == OpType::I128 { (64, 2) } else { (ty.scalar().bits(), ty.lanes()) };
    let parts = body.registers(bits(element), stem, count);
    if ty.bits() < 128 || element == 64 {
        body.unpack(bits(ty.bits()), &parts, value);
        return parts;
    }
    let halves = body.registers(Type::B64, "%half", 2);
    body.unpack(Type::B128, &halves, value);
    for (half, parts) in halves.iter().zip(parts.chunks(count / 2)) {
        body.unpack(Type::B64, parts, register(half));
    }
    parts
}

/// The inverse of [`split`].
pub fn join(body: &mut Body, ty: OpType, d: &Name, parts: &[Name]) {
    if ty.bits() < 128 || parts.len() == 2 {
        return body.pack(bits(ty.bits()), d, parts);
    }
    let halves = body.registers(Type::B64, "%half", 2);
    for (half, parts) in halves.iter().zip(parts.chunks(parts.len() / 2)) {
        body.pack(Type::B64, half, parts);
    }
    body.pack(Type::B128, d, &halves);
}

/// A half float as f32, in a separate register; any other value unchanged.
fn widen(body: &mut Body, ty: OpType, value: Operand, stem: &str, lane: usize) -> Operand {
    let scalar = ty.scalar();
    if !matches!(scalar, OpType::F16 | OpType::Bf16) {
        return value;
    }
    let wide = body.registers(Type::B32, stem, lane + 1).remove(lane);
    match scalar {
        OpType::F16 => body.cvt(Type::F32, Type::F16, &wide, value),
        _ => {
            body.cvt(Type::U32, Type::U16, &wide, value);
            body.alu(AluOp::Shl, Type::B32, &wide, [register(&wide), Operand::Immediate(16)]);
        }
    }
    register(&wide)
}

/// Rounds an f32 to a half float.
fn narrow(body: &mut Body, op: RmwOp, ty: OpType, value: &Name, new: &Name, target: &Target) {
    let value = || register(value);
    if ty == OpType::F16 || target.meets(Form::CvtBf16.requirement()) {
        let to = if ty == OpType::F16 { Type::F16 } else { Type::Bf16 };
        body.push(crate::ptx::Instruction::Cvt { rn: true, to, from: Type::F32, d: new.clone(), a: value() });
        return;
    }
    let rounded = body.register(Type::B32, "%rounded");
    let shift = Operand::Immediate(16);
    if matches!(op, RmwOp::FAdd | RmwOp::FSub) {
        // Rounds to nearest even: adds half of the last digit less 1, and 1 more if the digit is odd.
        body.alu(AluOp::Shr, Type::U32, &rounded, [value(), shift.clone()]);
        body.alu(AluOp::And, Type::B32, &rounded, [register(&rounded), Operand::Immediate(1)]);
        body.alu(AluOp::Add, Type::U32, &rounded, [register(&rounded), Operand::Immediate(0x7FFF)]);
        body.alu(AluOp::Add, Type::U32, &rounded, [register(&rounded), value()]);
        body.alu(AluOp::Shr, Type::U32, &rounded, [register(&rounded), shift]);
        let nan = body.test("%nan", Cmp::Nan, Type::F32, value(), value());
        body.push(alu(AluOp::Mov, Type::B32, &rounded, [Operand::Immediate(0x7FFF)]).guarded(nan));
    } else {
        body.alu(AluOp::Shr, Type::U32, &rounded, [value(), shift]);
    }
    body.cvt(Type::U16, Type::U32, new, register(&rounded));
}

/// The types of arithmetic on a value.
struct Types {
    untyped: Type,
    unsigned: Type,
    signed: Type,
    float: Type,
}

fn arithmetic(op: RmwOp, ty: OpType, old: Operand, b: Operand, new: &Name, body: &mut Body) {
    use AluOp::*;
    let Types { untyped, unsigned, signed, float } = if ty.bits() == 64 {
        Types { untyped: Type::B64, unsigned: Type::U64, signed: Type::S64, float: Type::F64 }
    } else {
        Types { untyped: Type::B32, unsigned: Type::U32, signed: Type::S32, float: Type::F32 }
    };
    let (old, b, result) = (|| old.clone(), || b.clone(), || register(new));
    let constant = Operand::Immediate;
    let test = |body: &mut Body, cmp, ty| body.test("%test", cmp, ty, old(), b());
    match op {
        RmwOp::Xchg => body.mov(untyped, new, b()),
        RmwOp::Add => body.alu(Add, unsigned, new, [old(), b()]),
        RmwOp::Sub => body.alu(Sub, unsigned, new, [old(), b()]),
        RmwOp::And => body.alu(And, untyped, new, [old(), b()]),
        RmwOp::Nand => {
            body.alu(And, untyped, new, [old(), b()]);
            body.alu(Not, untyped, new, [result()]);
        }
        RmwOp::Or => body.alu(Or, untyped, new, [old(), b()]),
        RmwOp::Xor => body.alu(Xor, untyped, new, [old(), b()]),
        RmwOp::Max => body.alu(Max, signed, new, [old(), b()]),
        RmwOp::Min => body.alu(Min, signed, new, [old(), b()]),
        RmwOp::UMax => body.alu(Max, unsigned, new, [old(), b()]),
        RmwOp::UMin => body.alu(Min, unsigned, new, [old(), b()]),
        RmwOp::FAdd => body.alu(AddRn, float, new, [old(), b()]),
        RmwOp::FSub => body.alu(SubRn, float, new, [old(), b()]),
        RmwOp::FMax => body.alu(Max, float, new, [old(), b()]),
        RmwOp::FMin => body.alu(Min, float, new, [old(), b()]),
        // The order of zeros: equal operands have the same bits, or are zeros of both signs. `and` of such zeros yields
        // +0, `or` yields -0.
        RmwOp::FMaximum | RmwOp::FMaximumNum | RmwOp::FMinimum | RmwOp::FMinimumNum => {
            let greater = matches!(op, RmwOp::FMaximum | RmwOp::FMaximumNum);
            let (extremum, of_zeros) = if greater { (Max, And) } else { (Min, Or) };
            body.alu(extremum, float, new, [old(), b()]);
            let equal = test(body, Cmp::Eq, float);
            body.push(alu(of_zeros, untyped, new, [old(), b()]).guarded(equal));
            // A sum with a NaN is a NaN. The modifier `.NaN` would be shorter, but f64 lacks it.
            if matches!(op, RmwOp::FMaximum | RmwOp::FMinimum) {
                let nan = test(body, Cmp::Nan, float);
                body.push(alu(AddRn, float, new, [old(), b()]).guarded(nan));
            }
        }
        RmwOp::UIncWrap => {
            body.alu(Add, unsigned, new, [old(), constant(1)]);
            let wraps = test(body, Cmp::Ge, unsigned);
            body.push(alu(Mov, untyped, new, [constant(0)]).guarded(wraps));
        }
        // At 0 the decrement wraps to the greatest value, so that one minimum covers both conditions.
        RmwOp::UDecWrap => {
            body.alu(Sub, unsigned, new, [old(), constant(1)]);
            body.alu(Min, unsigned, new, [result(), b()]);
        }
        RmwOp::USubCond => {
            body.mov(untyped, new, old());
            let fits = test(body, Cmp::Ge, unsigned);
            body.push(alu(Sub, unsigned, new, [old(), b()]).guarded(fits));
        }
        RmwOp::USubSat => {
            body.alu(Max, unsigned, new, [old(), b()]);
            body.alu(Sub, unsigned, new, [result(), b()]);
        }
    }
}

/// Sets the predicate `name` to whether two values differ. PTX compares at most 64 bits at once.
pub fn differ(body: &mut Body, name: &'static str, ty: OpType, x: Operand, y: Operand) -> Name {
    if ty.bits() < 128 {
        // 8-bit values are in 16-bit registers.
        return body.test(name, Cmp::Ne, bits(ty.bits().max(16)), x, y);
    }
    let (x, y) = (split(body, OpType::I128, x, "%left"), split(body, OpType::I128, y, "%right"));
    let p = body.register(Type::Pred, name);
    body.push(setp(Cmp::Ne, Type::B64, &p, register(&x[0]), register(&y[0])));
    body.push(setp(Cmp::Ne, Type::B64, &p, register(&x[1]), register(&y[1])).unless(p.clone()));
    p
}
