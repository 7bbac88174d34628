//! What instructions compute, on bits: one arithmetic for all who execute PTX.

use crate::{AluOp, AtomOp, Cmp, Type, VectorSize};

/// The value of the low `bits` of `value` as a signed number.
pub fn sign_extend(value: u64, bits: u32) -> i64 {
    let unused = 64u32.saturating_sub(bits);
    ((value << unused) as i64) >> unused
}

pub fn mask(bits: u32) -> u128 {
    u128::MAX >> (128 - bits.min(128))
}

pub fn width(vec: Option<VectorSize>, ty: Type) -> u32 {
    vec.map_or(1, |vec| vec.elements() as u32) * ty.bits()
}

/// The new value of the memory ('PTX ISA', section on `atom`), element by element for a vector or packed type.
pub fn atomic(
    op: AtomOp,
    vec: Option<VectorSize>,
    ty: Type,
    flush: bool,
    old: u128,
    b: u128,
    c: Option<u128>,
) -> Option<u128> {
    let element = match ty {
        Type::F16x2 => Type::F16,
        Type::Bf16x2 => Type::Bf16,
        ty => ty,
    };
    let (total, bits) = (width(vec, ty), element.bits());
    let places = (0..total).step_by(bits as usize);
    let one = |old: u128, b: u128| match op {
        AtomOp::Exch => Some(b),
        AtomOp::Cas => Some(if old == b { c? } else { old }),
        AtomOp::Inc => Some(if old >= b { 0 } else { old + 1 }),
        AtomOp::Dec => Some(if old == 0 || old > b { b } else { old - 1 }),
        AtomOp::Add if flush => alu(AluOp::AddRn, element, &[flushed(old), flushed(b)]).map(flushed),
        AtomOp::Add if is_float(element) => alu(AluOp::AddRn, element, &[old, b]),
        AtomOp::Add => alu(AluOp::Add, element, &[old, b]),
        AtomOp::Min => alu(AluOp::Min, element, &[old, b]),
        AtomOp::Max => alu(AluOp::Max, element, &[old, b]),
        AtomOp::And => alu(AluOp::And, element, &[old, b]),
        AtomOp::Or => alu(AluOp::Or, element, &[old, b]),
        AtomOp::Xor => alu(AluOp::Xor, element, &[old, b]),
    };
    places.map(|at| Some(one((old >> at) & mask(bits), (b >> at) & mask(bits))? << at)).sum()
}

/// A subnormal f32 as zero of its sign.
fn flushed(bits: u128) -> u128 {
    if f32::from_bits(bits as u32).is_subnormal() { bits & 0x8000_0000 } else { bits }
}

fn is_float(ty: Type) -> bool {
    matches!(ty, Type::F16 | Type::Bf16 | Type::F32 | Type::F64)
}

pub fn alu(op: AluOp, ty: Type, sources: &[u128]) -> Option<u128> {
    let bits = ty.bits();
    let signed = matches!(ty, Type::S8 | Type::S16 | Type::S32 | Type::S64);
    let extended = |value: u128| sign_extend(value as u64, bits);
    // A shift by the width or more gives 0.
    let shift = |amount: u128| u32::try_from(amount).unwrap_or(u32::MAX);
    let value = match (op, sources) {
        (AluOp::Mov, [a]) => *a,
        (AluOp::Not, [a]) => !a,
        (AluOp::Neg, [a]) if is_float(ty) => a ^ (1 << (bits - 1)),
        (AluOp::Neg, [a]) => a.wrapping_neg(),
        (AluOp::Add, [a, b]) => a.wrapping_add(*b),
        (AluOp::Sub, [a, b]) => a.wrapping_sub(*b),
        (AluOp::And, [a, b]) => a & b,
        (AluOp::Or, [a, b]) => a | b,
        (AluOp::Xor, [a, b]) => a ^ b,
        (AluOp::Shl, [a, b]) => a.checked_shl(shift(*b)).unwrap_or(0),
        (AluOp::Shr, [a, b]) if !signed => a.checked_shr(shift(*b)).unwrap_or(0),
        (AluOp::MadLo, [a, b, c]) => a.wrapping_mul(*b).wrapping_add(*c),
        (AluOp::Prmt, [a, b, c]) => permuted(*a as u32, *b as u32, *c as u32).into(),
        (_, [a, b]) if is_float(ty) => to_bits(ty, float(op, from_bits(ty, *a), from_bits(ty, *b))?),
        (AluOp::Min, [a, b]) if signed => extended(*a).min(extended(*b)) as u128,
        (AluOp::Max, [a, b]) if signed => extended(*a).max(extended(*b)) as u128,
        (AluOp::Min, [a, b]) => *a.min(b),
        (AluOp::Max, [a, b]) => *a.max(b),
        _ => return None,
    };
    Some(value & mask(bits))
}

/// `prmt.b32` in its default mode.
fn permuted(a: u32, b: u32, picks: u32) -> u32 {
    let bytes = [a.to_le_bytes(), b.to_le_bytes()].concat();
    let pick = |index: u32| {
        let nibble = picks >> (4 * index);
        let byte = bytes[(nibble & 7) as usize];
        match nibble & 8 {
            0 => byte,
            _ if byte & 0x80 != 0 => 0xFF,
            _ => 0,
        }
    };
    u32::from_le_bytes([pick(0), pick(1), pick(2), pick(3)])
}

pub fn convert(to: Type, from: Type, value: u128) -> Option<u128> {
    match (is_float(to), is_float(from)) {
        (true, true) => Some(to_bits(to, from_bits(from, value))),
        (false, false) if matches!(from, Type::S8 | Type::S16 | Type::S32 | Type::S64) => {
            Some(sign_extend(value as u64, from.bits()) as u128)
        }
        (false, false) => Some(value),
        _ => None,
    }
}

/// The digits after the point and the least exponent of a floating-point type.
fn format(ty: Type) -> (u32, i32) {
    match ty {
        Type::F16 => (10, -14),
        Type::Bf16 => (7, -126),
        Type::F32 => (23, -126),
        _ => (52, -1022),
    }
}

fn from_bits(ty: Type, bits: u128) -> f64 {
    match ty {
        Type::F64 => f64::from_bits(bits as u64),
        Type::F32 => f32::from_bits(bits as u32).into(),
        Type::Bf16 => f32::from_bits((bits as u32) << 16).into(),
        _ => {
            let (digits, least) = format(ty);
            let exponent = (bits as i32 >> digits) & 0x1F;
            let fraction = f64::from(bits as u32 & 0x3FF);
            let magnitude = match exponent {
                0x1F if fraction == 0.0 => f64::INFINITY,
                0x1F => f64::NAN,
                0 => fraction * 2f64.powi(least - 10),
                _ => (fraction + 1024.0) * 2f64.powi(exponent - 25),
            };
            if bits & 0x8000 == 0 { magnitude } else { -magnitude }
        }
    }
}

/// Rounds to nearest even. Before it, f64 arithmetic on f32 rounds a first time, which changes nothing: f64 has more than
/// twice the digits.
fn to_bits(ty: Type, value: f64) -> u128 {
    match ty {
        Type::F64 => value.to_bits().into(),
        Type::F32 => (value as f32).to_bits().into(),
        _ => {
            let (digits, least) = format(ty);
            let sign = u128::from(value.is_sign_negative()) << 15;
            let exponents = 0x7FFF & !((1 << digits) - 1);
            if value.is_nan() {
                return 0x7FFF;
            }
            let magnitude = value.abs();
            let exponent = ((magnitude.to_bits() >> 52) as i32 - 1023).max(least);
            // Counted in units of the last digit; one carried over into the exponent is the next power of two.
            let units = (magnitude * 2f64.powi(digits as i32 - exponent)).round_ties_even() as u128;
            let bits = ((exponent - least) as u128) << digits;
            sign | if magnitude.is_infinite() { exponents } else { (bits + units).min(exponents) }
        }
    }
}

/// The sign of a zero that `min` or `max` takes from two zeros is not something that a sequence may rely on; here it is
/// the wrong one.
fn float(op: AluOp, a: f64, b: f64) -> Option<f64> {
    let zeros = a == 0.0 && b == 0.0 && a.is_sign_negative() != b.is_sign_negative();
    Some(match op {
        AluOp::AddRn => a + b,
        AluOp::SubRn => a - b,
        AluOp::Min if zeros => 0.0,
        AluOp::Max if zeros => -0.0,
        AluOp::Min => a.min(b),
        AluOp::Max => a.max(b),
        _ => return None,
    })
}

pub fn compare(cmp: Cmp, ty: Type, a: u128, b: u128) -> bool {
    let order = match ty {
        _ if is_float(ty) => from_bits(ty, a).partial_cmp(&from_bits(ty, b)),
        Type::S8 | Type::S16 | Type::S32 | Type::S64 => {
            Some(sign_extend(a as u64, ty.bits()).cmp(&sign_extend(b as u64, ty.bits())))
        }
        _ => Some(a.cmp(&b)),
    };
    match cmp {
        Cmp::Eq => order.is_some_and(|order| order.is_eq()),
        Cmp::Ne => order.is_some_and(|order| order.is_ne()),
        Cmp::Lt => order.is_some_and(|order| order.is_lt()),
        Cmp::Ge => order.is_some_and(|order| order.is_ge()),
        Cmp::Gt => order.is_some_and(|order| order.is_gt()),
        Cmp::Nan => order.is_none(),
    }
}
