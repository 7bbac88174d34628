//! What whole warps compute at once: the instructions that kernels have most. The others go through the arithmetic of `ptx/` lane by
//! lane, and so does each of these in a test, which compares the two.

use ptx_isa::{AluOp, Cmp, Type, arithmetic::Computation};

/// How many lanes a warp has.
pub const LANES: usize = 32;

/// The values of a register in all lanes.
pub type Column = [u64; LANES];

/// A function on columns. Lanes that do not take part compute as well, and are not kept.
pub type Fast = fn(&mut Column, [&Column; 3]);

/// A function of up to three operands, lane by lane.
macro_rules! lanes {
    (|$a:pat_param, $b:pat_param, $c:pat_param| $value:expr) => {{
        fn of(d: &mut Column, [a, b, c]: [&Column; 3]) {
            for lane in 0..LANES {
                let ($a, $b, $c) = (a[lane], b[lane], c[lane]);
                d[lane] = $value;
            }
        }
        Some(of as Fast)
    }};
}

fn f(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

fn d(bits: u64) -> f64 {
    f64::from_bits(bits)
}

/// The bits of a result; PTX has one NaN of 32 bits.
fn of_f(value: f32) -> u64 {
    if value.is_nan() { 0x7fff_ffff } else { value.to_bits().into() }
}

/// The function of a computation, if it has one.
pub fn fast(of: Computation) -> Option<Fast> {
    match of {
        Computation::Alu(op, ty) => match (ty.is_float(), ty.bits()) {
            (false, 32) if ty.element().is_none() => word(op, ty.is_signed()),
            (false, 64) => long(op, ty.is_signed()),
            (true, 32) => float(op),
            _ => None,
        },
        Computation::Setp(cmp, ty) => compared(cmp, ty),
        Computation::Cvt { to, from } => converted(to, from),
        #[expect(unreachable_patterns, reason = "the arithmetic grows")]
        _ => None,
    }
}

fn word(op: AluOp, signed: bool) -> Option<Fast> {
    use AluOp::*;
    match op {
        Mov => lanes!(|a, _, _| u64::from(a as u32)),
        Add => lanes!(|a, b, _| u64::from((a as u32).wrapping_add(b as u32))),
        Sub => lanes!(|a, b, _| u64::from((a as u32).wrapping_sub(b as u32))),
        MulLo => lanes!(|a, b, _| u64::from((a as u32).wrapping_mul(b as u32))),
        MadLo => lanes!(|a, b, c| u64::from((a as u32).wrapping_mul(b as u32).wrapping_add(c as u32))),
        And => lanes!(|a, b, _| u64::from(a as u32 & b as u32)),
        Or => lanes!(|a, b, _| u64::from(a as u32 | b as u32)),
        Xor => lanes!(|a, b, _| u64::from(a as u32 ^ b as u32)),
        Not => lanes!(|a, _, _| u64::from(!(a as u32))),
        Neg => lanes!(|a, _, _| u64::from((a as u32).wrapping_neg())),
        Shl => lanes!(|a, b, _| u64::from((a as u32).unbounded_shl(b as u32))),
        Shr if signed => lanes!(|a, b, _| u64::from(((a as i32) >> (b as u32).min(31)) as u32)),
        Shr => lanes!(|a, b, _| u64::from((a as u32).unbounded_shr(b as u32))),
        Min if signed => lanes!(|a, b, _| u64::from((a as i32).min(b as i32) as u32)),
        Min => lanes!(|a, b, _| u64::from((a as u32).min(b as u32))),
        Max if signed => lanes!(|a, b, _| u64::from((a as i32).max(b as i32) as u32)),
        Max => lanes!(|a, b, _| u64::from((a as u32).max(b as u32))),
        Selp => lanes!(|a, b, c| u64::from(if c & 1 == 1 { a as u32 } else { b as u32 })),
        MulWide if signed => lanes!(|a, b, _| (i64::from(a as i32) * i64::from(b as i32)) as u64),
        MulWide => lanes!(|a, b, _| u64::from(a as u32) * u64::from(b as u32)),
        MadWide if signed => {
            lanes!(|a, b, c| (i64::from(a as i32) * i64::from(b as i32)).wrapping_add(c as i64) as u64)
        }
        MadWide => lanes!(|a, b, c| (u64::from(a as u32) * u64::from(b as u32)).wrapping_add(c)),
        _ => None,
    }
}

fn long(op: AluOp, signed: bool) -> Option<Fast> {
    use AluOp::*;
    match op {
        Mov => lanes!(|a, _, _| a),
        Add => lanes!(|a, b, _| a.wrapping_add(b)),
        Sub => lanes!(|a, b, _| a.wrapping_sub(b)),
        MulLo => lanes!(|a, b, _| a.wrapping_mul(b)),
        MadLo => lanes!(|a, b, c| a.wrapping_mul(b).wrapping_add(c)),
        And => lanes!(|a, b, _| a & b),
        Or => lanes!(|a, b, _| a | b),
        Xor => lanes!(|a, b, _| a ^ b),
        Not => lanes!(|a, _, _| !a),
        Neg => lanes!(|a, _, _| a.wrapping_neg()),
        Shl => lanes!(|a, b, _| a.unbounded_shl(b as u32)),
        Shr if signed => lanes!(|a, b, _| ((a as i64) >> (b as u32).min(63)) as u64),
        Shr => lanes!(|a, b, _| a.unbounded_shr(b as u32)),
        Selp => lanes!(|a, b, c| if c & 1 == 1 { a } else { b }),
        _ => None,
    }
}

fn float(op: AluOp) -> Option<Fast> {
    use AluOp::*;
    match op {
        Mov => lanes!(|a, _, _| u64::from(a as u32)),
        Add | AddRn => lanes!(|a, b, _| of_f(f(a) + f(b))),
        Sub | SubRn => lanes!(|a, b, _| of_f(f(a) - f(b))),
        Mul | MulRn => lanes!(|a, b, _| of_f(f(a) * f(b))),
        FmaRn => lanes!(|a, b, c| of_f(f(a).mul_add(f(b), f(c)))),
        Selp => lanes!(|a, b, c| u64::from(if c & 1 == 1 { a as u32 } else { b as u32 })),
        _ => None,
    }
}

/// A comparison for each of the types that are compared alike.
macro_rules! compare {
    ($ty:expr, |$a:ident, $b:ident| $value:expr) => {
        match ($ty.is_float(), $ty.is_signed(), $ty.bits()) {
            (false, true, 32) => lanes!(|a, b, _| {
                let ($a, $b) = (a as i32, b as i32);
                ($value).into()
            }),
            (false, false, 32) => lanes!(|a, b, _| {
                let ($a, $b) = (a as u32, b as u32);
                ($value).into()
            }),
            (false, true, 64) => lanes!(|a, b, _| {
                let ($a, $b) = (a as i64, b as i64);
                ($value).into()
            }),
            (false, false, 64) => lanes!(|a, b, _| {
                let ($a, $b) = (a, b);
                ($value).into()
            }),
            (true, _, 32) => lanes!(|a, b, _| {
                let ($a, $b) = (f(a), f(b));
                ($value).into()
            }),
            (true, _, 64) => lanes!(|a, b, _| {
                let ($a, $b) = (d(a), d(b));
                ($value).into()
            }),
            _ => None,
        }
    };
}

fn compared(cmp: Cmp, ty: Type) -> Option<Fast> {
    if ty.element().is_some() || ty == Type::Pred {
        return None;
    }
    match cmp {
        Cmp::Eq => compare!(ty, |a, b| a == b),
        Cmp::Ne if !ty.is_float() => compare!(ty, |a, b| a != b),
        Cmp::Lt => compare!(ty, |a, b| a < b),
        Cmp::Le => compare!(ty, |a, b| a <= b),
        Cmp::Gt => compare!(ty, |a, b| a > b),
        Cmp::Ge => compare!(ty, |a, b| a >= b),
        _ => None,
    }
}

fn converted(to: Type, from: Type) -> Option<Fast> {
    match (to, from) {
        (Type::U64 | Type::S64, Type::U32) => lanes!(|a, _, _| u64::from(a as u32)),
        (Type::U64 | Type::S64, Type::S32) => lanes!(|a, _, _| i64::from(a as i32) as u64),
        (Type::U32 | Type::S32, Type::U32 | Type::S32 | Type::U64 | Type::S64) => lanes!(|a, _, _| u64::from(a as u32)),
        _ => None,
    }
}
