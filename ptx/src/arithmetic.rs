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

/// The most source operands that an instruction on registers has.
const SOURCES: usize = 4;

/// The result of an instruction on registers, of as many sources as it has.
pub fn alu(op: AluOp, ty: Type, sources: &[u128]) -> Option<u128> {
    if sources.len() != op.arity() {
        return None;
    }
    let mut operands = [0; SOURCES];
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
    Some(value & mask(op.result_type(ty).bits()))
}

/// An instruction that computes one result of registers and constants.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Computation {
    /// Arithmetic on a type.
    Alu(AluOp, Type),
    /// `setp` with one result: 1 where the comparison holds, 0 where it does not.
    Setp(Cmp, Type),
    /// `cvt`, without a rounding or to nearest even.
    Cvt {
        /// The type of the result.
        to: Type,
        /// The type of the operand.
        from: Type,
    },
}

impl Computation {
    /// What a mnemonic and all of its modifiers name; `None` if PTX has no such instruction, or it computes something else.
    pub fn of(mnemonic: &str, modifiers: &[&str]) -> Option<Self> {
        match (mnemonic, modifiers) {
            ("setp", [cmp, ty]) => Some(Self::Setp(cmp.parse().ok()?, ty.parse().ok()?)),
            ("cvt", [to, from] | ["rn", to, from]) => {
                Some(Self::Cvt { to: to.parse().ok()?, from: from.parse().ok()? })
            }
            _ => {
                let op = AluOp::of(mnemonic, modifiers)?;
                let mut rest = modifiers.iter().filter(|word| !op.modifiers().any(|own| own == **word));
                let ty = rest.next()?.parse().ok()?;
                (rest.next().is_none() && op.takes(ty)).then_some(Self::Alu(op, ty))
            }
        }
    }

    /// The number of source operands.
    pub fn arity(self) -> usize {
        match self {
            Self::Alu(op, _) => op.arity(),
            Self::Setp(..) => 2,
            Self::Cvt { .. } => 1,
        }
    }

    /// The type of the source operand with this index.
    pub fn source_type(self, index: usize) -> Type {
        match self {
            Self::Alu(op, ty) => op.source_type(ty, index),
            Self::Setp(_, ty) | Self::Cvt { from: ty, .. } => ty,
        }
    }

    /// The type of the result.
    pub fn result_type(self) -> Type {
        match self {
            Self::Alu(op, ty) => op.result_type(ty),
            Self::Setp(..) => Type::Pred,
            Self::Cvt { to, .. } => to,
        }
    }

    /// The result for as many sources as there are.
    pub fn apply(self, sources: &[u128]) -> Option<u128> {
        match (self, sources) {
            (Self::Alu(op, ty), _) => alu(op, ty, sources),
            (Self::Setp(cmp, ty), [a, b]) => compare(cmp, ty, *a, *b).map(u128::from),
            (Self::Cvt { to, from }, [a]) => convert(to, from, *a),
            _ => None,
        }
    }
}

impl AluOp {
    /// Whether there is such an instruction on this type.
    pub fn takes(self, ty: Type) -> bool {
        match self {
            Self::AddCc | Self::SubCc | Self::Addc | Self::Subc => {
                !ty.is_float() && ty.element().is_none() && matches!(ty.bits(), 32 | 64)
            }
            _ => alu(self, ty, &[1; SOURCES][..self.arity()]).is_some(),
        }
    }
}

/// What integers give. Results wrap, so that most are the same for signed and unsigned operands.
fn integer(op: AluOp, ty: Type, [a, b, c, d]: [u128; SOURCES]) -> Option<u128> {
    use AluOp::*;
    let bits = ty.bits();
    // As numbers, with their signs.
    let number = |value: u128| if ty.is_signed() { sign_extend(value as u64, bits).into() } else { value as i128 };
    let (x, y) = (number(a), number(b));
    // Only types of PTX that are not bits alone have an order and a product that does not wrap.
    let numeric = matches!(bits, 16 | 32 | 64).then_some(());
    let word = (bits == 32).then_some(());
    Some(match op {
        Mov => a,
        Neg => a.wrapping_neg(),
        Not => !a,
        Abs => numeric.map(|()| x.unsigned_abs())?,
        Cnot => (a == 0).into(),
        Add => a.wrapping_add(b),
        Sub => a.wrapping_sub(b),
        And => a & b,
        Or => a | b,
        Xor => a ^ b,
        Min => {
            if order(ty, a, b).is_le() {
                a
            } else {
                b
            }
        }
        Max => {
            if order(ty, a, b).is_ge() {
                a
            } else {
                b
            }
        }
        // A shift by the width or more leaves nothing, or the sign.
        Shl => a.checked_shl(b as u32).unwrap_or(0),
        Shr if ty.is_signed() => (sign_extend(a as u64, bits) >> (b as u32).min(63)) as u128,
        Shr => a.checked_shr(b as u32).unwrap_or(0),
        Div => numeric.and_then(|()| x.checked_div(y))? as u128,
        Rem => numeric.and_then(|()| x.checked_rem(y))? as u128,
        Sad => numeric.map(|()| c.wrapping_add((x - y).unsigned_abs()))?,
        MulLo => a.wrapping_mul(b),
        MulHi => numeric.map(|()| (x.wrapping_mul(y) as u128) >> bits)?,
        MulWide if bits < 64 => numeric.map(|()| (x * y) as u128)?,
        MadLo => a.wrapping_mul(b).wrapping_add(c),
        MadHi => numeric.map(|()| ((x.wrapping_mul(y) as u128) >> bits).wrapping_add(c))?,
        MadWide if bits < 64 => numeric.map(|()| ((x * y) as u128).wrapping_add(c))?,
        Mul24Lo | Mul24Hi | Mad24Lo | Mad24Hi => {
            word?;
            let low = |value: u128| match ty.is_signed() {
                true => sign_extend(value as u64, 24).into(),
                false => (value & mask(24)) as i128,
            };
            let product = (low(a) * low(b)) as u128;
            match op {
                Mul24Lo => product,
                Mul24Hi => product >> 16,
                Mad24Lo => product.wrapping_add(c),
                _ => (product >> 16).wrapping_add(c),
            }
        }
        Selp => {
            if c != 0 {
                a
            } else {
                b
            }
        }
        _ => return bits_of(op, ty, [a, b, c, d]),
    })
}

/// What instructions on bits give (section 9.7.8, and parts of 9.7.1); nothing if they are none.
fn bits_of(op: AluOp, ty: Type, [a, b, c, d]: [u128; SOURCES]) -> Option<u128> {
    use AluOp::*;
    let bits = ty.bits();
    let word = (bits == 32).then_some(());
    let word_or_two = matches!(bits, 32 | 64).then_some(());
    let is_negative = ty.is_signed() && a >> (bits - 1) & 1 == 1;
    Some(match op {
        Popc => word_or_two.map(|()| a.count_ones())?.into(),
        Clz => word_or_two.map(|()| a.leading_zeros() - (128 - bits))?.into(),
        Brev => word_or_two.map(|()| a.reverse_bits() >> (128 - bits))?,
        Bfind | BfindShiftamt => {
            word_or_two?;
            let magnitude = if is_negative { !a & mask(bits) } else { a };
            match 127u32.checked_sub(magnitude.leading_zeros()) {
                None => mask(32),
                Some(found) if op == Bfind => found.into(),
                Some(found) => (bits - 1 - found).into(),
            }
        }
        Bfe => word_or_two.map(|()| bit_field(ty, a, b, c))?,
        Bfi => {
            word_or_two?;
            let (at, length) = ((c & 0xFF) as u32, (d & 0xFF) as u32);
            let place = mask(length).checked_shl(at).unwrap_or(0) & mask(bits);
            a.checked_shl(at).unwrap_or(0) & place | b & !place
        }
        BmskClamp | BmskWrap => {
            word?;
            let limit = |value: u128| if op == BmskWrap { value & 31 } else { value.min(32) };
            mask(limit(b) as u32).checked_shl(limit(a) as u32).unwrap_or(0)
        }
        SzextClamp | SzextWrap => {
            word?;
            let length = if op == SzextWrap { b & 31 } else { b.min(32) };
            bit_field(ty, a, 0, length)
        }
        Lop3 => {
            word?;
            let of = |row: u32| {
                let input = |value: u128, bit: u32| if row >> bit & 1 == 1 { value } else { !value };
                if d >> row & 1 == 1 { input(a, 2) & input(b, 1) & input(c, 0) } else { 0 }
            };
            (0..8).fold(0, |all, row| all | of(row))
        }
        ShfLeftClamp | ShfLeftWrap | ShfRightClamp | ShfRightWrap => {
            word?;
            let amount = if matches!(op, ShfLeftWrap | ShfRightWrap) { c & 31 } else { c.min(32) } as u32;
            let both = b << 32 | a;
            if matches!(op, ShfLeftClamp | ShfLeftWrap) { (both << amount) >> 32 } else { both >> amount }
        }
        Prmt => word.map(|()| permuted(a as u32, b as u32, c as u32))?.into(),
        _ => return None,
    })
}

/// `bfe`: bits of `a` from a position on, each number of 8 bits. Above the highest bit of a signed type are copies of it, and the
/// highest bit that is taken is the sign.
fn bit_field(ty: Type, a: u128, position: u128, length: u128) -> u128 {
    let (position, length) = ((position & 0xFF) as u32, (length & 0xFF) as u32);
    if !ty.is_signed() {
        return a.checked_shr(position).unwrap_or(0) & mask(length);
    }
    let shifted = sign_extend(a as u64, ty.bits()) >> position.min(63);
    sign_extend(shifted as u64, length) as u128
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
fn float(op: AluOp, ty: Type, [a, b, c, _]: [u128; SOURCES]) -> Option<u128> {
    let (x, y) = (from_bits(ty, a), from_bits(ty, b));
    let sign = 1 << (ty.bits() - 1);
    let zeros = x == 0.0 && y == 0.0 && x.is_sign_negative() != y.is_sign_negative();
    let value = match op {
        AluOp::Mov => return Some(a),
        AluOp::Selp => return Some(if c != 0 { a } else { b }),
        AluOp::Neg => return Some(a ^ sign),
        AluOp::Abs => return Some(a & !sign),
        AluOp::Copysign if ty.bits() >= 32 => return Some(b & !sign | a & sign),
        // Without a rounding, it is to nearest even.
        AluOp::Add | AluOp::AddRn => x + y,
        AluOp::Sub | AluOp::SubRn => x - y,
        AluOp::Mul | AluOp::MulRn => x * y,
        AluOp::FmaRn => return fused(ty, a, b, c),
        AluOp::DivRn if ty.bits() >= 32 => x / y,
        AluOp::RcpRn if ty.bits() >= 32 => 1.0 / x,
        AluOp::SqrtRn if ty.bits() >= 32 => x.sqrt(),
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

/// `a * b + c`, rounded once. The product of two numbers of at most 24 digits is exact in `f64`, but the sum is not: a sum that was
/// not exact is rounded to odd, so that the second rounding gives what one alone would.
fn fused(ty: Type, a: u128, b: u128, c: u128) -> Option<u128> {
    let [x, y, z] = [a, b, c].map(|bits| from_bits(ty, bits));
    match ty {
        Type::F64 => Some(to_bits(ty, x.mul_add(y, z))),
        Type::F32 => Some(to_bits(ty, (x as f32).mul_add(y as f32, z as f32).into())),
        _ => {
            let product = x * y;
            let sum = product + z;
            // What the sum lost, exactly.
            let part = sum - product;
            let lost = (product - (sum - part)) + (z - part);
            let toward_zero = lost != 0.0 && (lost < 0.0) == (sum > 0.0);
            let is_odd = sum.to_bits() & 1 == 1;
            let odd = match sum.is_finite() && lost != 0.0 && !is_odd {
                true => f64::from_bits(if toward_zero { sum.to_bits() - 1 } else { sum.to_bits() + 1 }),
                false => sum,
            };
            Some(to_bits(ty, odd))
        }
    }
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
