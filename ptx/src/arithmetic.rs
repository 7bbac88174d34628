//! What instructions compute, on bits: one arithmetic for all who execute PTX.
//!
//! A value stands in the low bits of a `u128`, the first element of a vector lowest. Bits above the width of an operand's
//! type are not looked at, and those of a result are 0. No operand makes a function panic: `None` says that there is no such
//! instruction, or that its result depends on more than its operands (the carry flag).

use std::cmp::Ordering;

use crate::word::{AluOp, AtomOp, Cmp, Type, VectorSize};

impl Type {
    /// Whether the type is a floating-point number, and not a packed pair of them.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::Bf16 | Self::F32 | Self::F64)
    }

    /// Whether the highest bit is a sign, in two's complement.
    pub fn is_signed(self) -> bool {
        matches!(self, Self::S8 | Self::S16 | Self::S32 | Self::S64)
    }

    /// The type of each element of a packed type (section 5.2.3).
    pub fn element(self) -> Option<Self> {
        match self {
            Self::F16x2 => Some(Self::F16),
            Self::Bf16x2 => Some(Self::Bf16),
            _ => None,
        }
    }
}

/// The value of the low `bits` of `value` as a signed number; of no bits, 0.
pub fn sign_extend(value: u64, bits: u32) -> i64 {
    let unused = 64u32.saturating_sub(bits);
    (value.checked_shl(unused).unwrap_or(0) as i64) >> unused.min(63)
}

/// So many ones in the low bits, and at most 128.
pub fn mask(bits: u32) -> u128 {
    u128::MAX.checked_shr(128 - bits.min(128)).unwrap_or(0)
}

/// The width in bits of a value, or of a vector of values.
pub fn width(vec: Option<VectorSize>, ty: Type) -> u32 {
    vec.map_or(1, |vec| vec.elements() as u32) * ty.bits()
}

/// What an `atom` or a `red` does to the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rmw {
    /// What is computed of the old value and the operands.
    pub op: AtomOp,
    /// The number of elements, each of which is an operation of its own.
    pub vec: Option<VectorSize>,
    /// The type of an element.
    pub ty: Type,
    /// What becomes of subnormal numbers of type `f32`.
    pub subnormals: Subnormals,
}

/// What becomes of subnormal operands and results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subnormals {
    /// They are numbers like others.
    Kept,
    /// They are zeros of their sign.
    Flushed,
}

impl Rmw {
    /// An operation on one value, which keeps subnormal numbers.
    pub fn new(op: AtomOp, ty: Type) -> Self {
        Self { op, vec: None, ty, subnormals: Subnormals::Kept }
    }

    /// The new value of the memory (section 9.7.13, `atom`), element by element for a vector or packed type. `c` is the new
    /// value of a `cas`, whose `b` is the expected one.
    pub fn apply(self, old: u128, b: u128, c: Option<u128>) -> Option<u128> {
        let element = self.ty.element().unwrap_or(self.ty);
        let (total, bits) = (width(self.vec, self.ty), element.bits());
        if total > 128 {
            return None;
        }
        // A `cas` compares and writes all of it at once.
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

/// A subnormal f32 as zero of its sign.
fn flushed(bits: u128) -> u128 {
    if f32::from_bits(bits as u32).is_subnormal() { bits & 0x8000_0000 } else { bits }
}

/// The result of an instruction on registers, of as many sources as it has.
pub fn alu(op: AluOp, ty: Type, sources: &[u128]) -> Option<u128> {
    if sources.len() != op.arity() {
        return None;
    }
    let mut operands = [0; 3];
    for (index, (operand, source)) in operands.iter_mut().zip(sources).enumerate() {
        *operand = source & mask(op.source_type(ty, index).bits());
    }
    let value = match ty.element() {
        // The elements of a packed type are computed apart.
        Some(element) if !matches!(op, AluOp::Mov | AluOp::Selp) => {
            let half = |at: u32| Some((float(op, element, operands.map(|operand| operand >> at))? & mask(16)) << at);
            half(0)? | half(16)?
        }
        Some(_) => integer(op, ty, operands)?,
        None if ty.is_float() => float(op, ty, operands)?,
        None => integer(op, ty, operands)?,
    };
    Some(value & mask(ty.bits()))
}

fn integer(op: AluOp, ty: Type, [a, b, c]: [u128; 3]) -> Option<u128> {
    let bits = ty.bits();
    Some(match op {
        AluOp::Mov => a,
        AluOp::Neg => a.wrapping_neg(),
        AluOp::Not => !a,
        AluOp::Add => a.wrapping_add(b),
        AluOp::Sub => a.wrapping_sub(b),
        AluOp::And => a & b,
        AluOp::Or => a | b,
        AluOp::Xor => a ^ b,
        AluOp::Min => {
            if order(ty, a, b).is_le() {
                a
            } else {
                b
            }
        }
        AluOp::Max => {
            if order(ty, a, b).is_ge() {
                a
            } else {
                b
            }
        }
        // A shift by the width or more leaves nothing, or the sign.
        AluOp::Shl => a.checked_shl(b as u32).unwrap_or(0),
        AluOp::Shr if ty.is_signed() => (sign_extend(a as u64, bits) >> (b as u32).min(63)) as u128,
        AluOp::Shr => a.checked_shr(b as u32).unwrap_or(0),
        AluOp::MulLo => a.wrapping_mul(b),
        AluOp::MadLo => a.wrapping_mul(b).wrapping_add(c),
        AluOp::Prmt if bits == 32 => permuted(a as u32, b as u32, c as u32).into(),
        AluOp::Selp => {
            if c != 0 {
                a
            } else {
                b
            }
        }
        AluOp::Prmt | AluOp::MinNan | AluOp::MaxNan => return None,
        AluOp::AddRn | AluOp::SubRn | AluOp::AddCc | AluOp::SubCc | AluOp::Addc | AluOp::Subc => return None,
    })
}

/// The order of two integers.
fn order(ty: Type, a: u128, b: u128) -> Ordering {
    let signed = |value: u128| sign_extend(value as u64, ty.bits());
    if ty.is_signed() { signed(a).cmp(&signed(b)) } else { a.cmp(&b) }
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

/// The sign of a zero that `min` or `max` takes from two zeros is not something that a sequence may rely on; here it is
/// the wrong one. With `.NaN` it is the right one.
fn float(op: AluOp, ty: Type, [a, b, c]: [u128; 3]) -> Option<u128> {
    let (x, y) = (from_bits(ty, a), from_bits(ty, b));
    let zeros = x == 0.0 && y == 0.0 && x.is_sign_negative() != y.is_sign_negative();
    let value = match op {
        AluOp::Mov => return Some(a),
        AluOp::Selp => return Some(if c != 0 { a } else { b }),
        AluOp::Neg => return Some(a ^ (1 << (ty.bits() - 1))),
        // Without a rounding, it is to nearest even.
        AluOp::Add | AluOp::AddRn => x + y,
        AluOp::Sub | AluOp::SubRn => x - y,
        AluOp::Min if zeros => 0.0,
        AluOp::Max if zeros => -0.0,
        AluOp::Min => x.min(y),
        AluOp::Max => x.max(y),
        AluOp::MinNan | AluOp::MaxNan if ty == Type::F64 => return None,
        AluOp::MinNan | AluOp::MaxNan if x.is_nan() || y.is_nan() => f64::NAN,
        AluOp::MinNan if zeros => -0.0,
        AluOp::MaxNan if zeros => 0.0,
        AluOp::MinNan => x.min(y),
        AluOp::MaxNan => x.max(y),
        _ => return None,
    };
    Some(to_bits(ty, value))
}

/// The result of `cvt` between integers, or between floating-point numbers, rounded to nearest even.
pub fn convert(to: Type, from: Type, value: u128) -> Option<u128> {
    let value = value & mask(from.bits());
    let packed = to.element().or(from.element()).is_some();
    let value = match (to.is_float(), from.is_float()) {
        _ if packed => return None,
        (true, true) => to_bits(to, from_bits(from, value)),
        (false, false) if from.is_signed() => sign_extend(value as u64, from.bits()) as u128,
        (false, false) => value,
        _ => return None,
    };
    Some(value & mask(to.bits()))
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
/// twice the digits. NaN is the one that GPUs give, but for `f64`, which keeps the operand's.
fn to_bits(ty: Type, value: f64) -> u128 {
    match ty {
        Type::F64 => value.to_bits().into(),
        Type::F32 if value.is_nan() => 0x7FFF_FFFF,
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

/// Whether a comparison of `setp` holds. `None` for packed types, whose two elements have a predicate each.
pub fn compare(cmp: Cmp, ty: Type, a: u128, b: u128) -> Option<bool> {
    let [a, b] = [a, b].map(|value| value & mask(ty.bits()));
    let order = match ty {
        _ if ty.element().is_some() => return None,
        _ if ty.is_float() => from_bits(ty, a).partial_cmp(&from_bits(ty, b)),
        _ => Some(order(ty, a, b)),
    };
    let (ordered, holds): (bool, fn(Ordering) -> bool) = match cmp {
        Cmp::Num => return Some(order.is_some()),
        Cmp::Nan => return Some(order.is_none()),
        Cmp::Eq => (true, Ordering::is_eq),
        Cmp::Ne => (true, Ordering::is_ne),
        Cmp::Lt | Cmp::Lo => (true, Ordering::is_lt),
        Cmp::Le | Cmp::Ls => (true, Ordering::is_le),
        Cmp::Gt | Cmp::Hi => (true, Ordering::is_gt),
        Cmp::Ge | Cmp::Hs => (true, Ordering::is_ge),
        Cmp::Equ => (false, Ordering::is_eq),
        Cmp::Neu => (false, Ordering::is_ne),
        Cmp::Ltu => (false, Ordering::is_lt),
        Cmp::Leu => (false, Ordering::is_le),
        Cmp::Gtu => (false, Ordering::is_gt),
        Cmp::Geu => (false, Ordering::is_ge),
    };
    Some(order.map_or(!ordered, holds))
}
