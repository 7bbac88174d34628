//! Floating-point arithmetic (sections 9.7.3 to 9.7.5).
//!
//! Every result is rounded once. This includes instructions with `.approx` or `.full`, whose results on a GPU may
//! differ within the manual's bounds. With `.ftz`, a result that is subnormal after rounding is flushed.

use strum::EnumString;

use super::{
    bits::{Limit, SOURCES, mask},
    exact::{Exact, Format, Overflow, Rounding},
};
use crate::word::{AluOp, Type};

/// The format of a type, or of its elements.
pub(super) fn format(ty: Type) -> Option<Format> {
    Some(match ty {
        Type::F16 | Type::F16x2 => Format::F16,
        Type::Bf16 | Type::Bf16x2 => Format::BF16,
        Type::F32 => Format::F32,
        Type::F64 => Format::F64,
        _ => return None,
    })
}

/// A result of simple arithmetic. The result of `min` or `max` of two zeros deliberately has the wrong sign, because a
/// sequence must not rely on that sign. With `.NaN` the sign is right.
pub(super) fn float(op: AluOp, ty: Type, [a, b, c, _]: [u128; SOURCES]) -> Option<u128> {
    let (x, y) = (from_bits(ty, a), from_bits(ty, b));
    let sign = 1 << (ty.bits() - 1);
    let zeros = x == 0.0 && y == 0.0 && x.is_sign_negative() != y.is_sign_negative();
    let value = match op {
        AluOp::Mov => return Some(a),
        AluOp::Selp => return Some(if c != 0 { a } else { b }),
        AluOp::Neg => return Some(a ^ sign),
        AluOp::Abs => return Some(a & !sign),
        AluOp::Copysign if ty.bits() >= 32 => return Some(b & !sign | a & sign),
        // Without a rounding modifier, these round to nearest even.
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

/// `a * b + c`, rounded once.
fn fused(ty: Type, a: u128, b: u128, c: u128) -> Option<u128> {
    let [x, y, z] = [a, b, c].map(|bits| from_bits(ty, bits));
    match ty {
        Type::F64 => Some(to_bits(ty, x.mul_add(y, z))),
        Type::F32 => Some(to_bits(ty, (x as f32).mul_add(y as f32, z as f32).into())),
        _ => {
            let format = format(ty)?;
            let [a, b, c] = [a, b, c].map(|bits| Exact::read(format, bits));
            Some(a.times(b).plus(c, Rounding::Nearest).round(format, Rounding::Nearest, Overflow::Rounded))
        }
    }
}

pub(super) fn from_bits(ty: Type, bits: u128) -> f64 {
    match ty {
        Type::F64 => f64::from_bits(bits as u64),
        Type::F32 => f32::from_bits(bits as u32).into(),
        Type::Bf16 => f32::from_bits((bits as u32) << 16).into(),
        _ => to_f64(Exact::read(Format::F16, bits)),
    }
}

/// Rounds to nearest even. f64 arithmetic on f32 operands has already rounded once, which does not change the result,
/// because f64 has more than twice the digits. A NaN becomes the NaN that GPUs return; an `f64` keeps the operand's
/// NaN.
pub(super) fn to_bits(ty: Type, value: f64) -> u128 {
    match ty {
        Type::F64 => value.to_bits().into(),
        Type::F32 if value.is_nan() => 0x7FFF_FFFF,
        Type::F32 => (value as f32).to_bits().into(),
        Type::Bf16 => nearest(Format::BF16, of_f64(value)),
        _ => nearest(Format::F16, of_f64(value)),
    }
}

fn of_f64(value: f64) -> Exact {
    Exact::read(Format::F64, value.to_bits().into())
}

fn to_f64(value: Exact) -> f64 {
    f64::from_bits(nearest(Format::F64, value) as u64)
}

fn nearest(format: Format, value: Exact) -> u128 {
    value.round(format, Rounding::Nearest, Overflow::Rounded)
}

/// A floating-point operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumString)]
#[strum(serialize_all = "snake_case")]
pub(super) enum Op {
    Add,
    Sub,
    Mul,
    #[strum(serialize = "fma", serialize = "mad")]
    Fma,
    Div,
    Rcp,
    Sqrt,
    Rsqrt,
    Ex2,
    Lg2,
    Sin,
    Cos,
    Tanh,
    Abs,
    Neg,
    Min,
    Max,
    Copysign,
}

impl Op {
    pub(super) fn arity(self) -> usize {
        use Op::*;
        match self {
            Rcp | Sqrt | Rsqrt | Ex2 | Lg2 | Sin | Cos | Tanh | Abs | Neg => 1,
            Fma => 3,
            Add | Sub | Mul | Div | Min | Max | Copysign => 2,
        }
    }
}

/// An instruction on floating-point numbers, with all modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Float {
    pub(super) op: Op,
    /// The type of the result, and of operands.
    pub(super) register: Type,
    /// The format of each element.
    pub(super) format: Format,
    /// The type of all operands except the last, if it differs.
    pub(super) narrow: Option<Type>,
    pub(super) lanes: u32,
    pub(super) rounding: Rounding,
    /// `.ftz`.
    pub(super) flushes: bool,
    /// `.NaN`: the result is NaN if an operand is NaN.
    pub(super) takes_nan: bool,
    /// `.abs`, and `.xorsign` with it.
    pub(super) absolute: bool,
    pub(super) xor_sign: bool,
    /// `.oob`: a factor from outside a tensor makes the result 0. The manual does not say which NaN represents such a
    /// factor; here every NaN does.
    pub(super) out_of_bounds: bool,
    pub(super) limit: Limit,
    /// Whether the operands are single `f32` values, and neither operands nor result need adjustment.
    pub(super) is_plain: bool,
}

/// The operands of one element. The first `count` are used.
struct Operands {
    of: [u128; 3],
    count: usize,
}

impl Float {
    pub(super) fn arity(self) -> usize {
        // Only the form with three operands has `.abs` without `.xorsign`.
        if self.absolute && !self.xor_sign { 3 } else { self.op.arity() }
    }

    /// Whether the instruction has a form with this many operands.
    pub(super) fn takes(self, count: usize) -> bool {
        let is_extreme_of_three =
            matches!(self.op, Op::Min | Op::Max) && self.register == Type::F32 && !self.xor_sign && count == 3;
        count == self.arity() || is_extreme_of_three
    }

    pub(super) fn source_type(self, index: usize) -> Type {
        match self.narrow {
            // The last operand is the addend.
            Some(narrow) if index + 1 < self.arity() => narrow,
            _ => self.register,
        }
    }

    pub(super) fn result_type(self) -> Type {
        self.register
    }

    pub(super) fn execute(self, sources: &[u128]) -> Option<u128> {
        if !self.takes(sources.len()) {
            return None;
        }
        if self.is_plain {
            // A fast path: most instructions of most kernels are plain.
            let of = |index: usize| sources.get(index).map_or(0, |source| u128::from(*source as u32));
            return Some(self.computed(Operands { of: [of(0), of(1), of(2)], count: sources.len() }));
        }
        let width = self.format.bits + self.format.padding;
        let mut result = 0;
        for lane in 0..self.lanes {
            let mut operands = Operands { of: [0; 3], count: sources.len() };
            for (index, (operand, source)) in operands.of.iter_mut().zip(sources).enumerate() {
                *operand = match self.narrow {
                    Some(narrow) if index + 1 < sources.len() => {
                        to_bits(self.register, from_bits(narrow, source & mask(16)))
                    }
                    _ => source >> (lane * width) & mask(width),
                };
            }
            result |= self.element(operands) << (lane * width);
        }
        Some(result)
    }

    fn element(self, mut operands: Operands) -> u128 {
        if self.out_of_bounds && operands.of[..2].iter().any(|bits| is_nan(self.format, *bits)) {
            return 0;
        }
        if self.flushes {
            operands.of = operands.of.map(|bits| flushed(self.format, bits));
        }
        let result = self.computed(operands);
        limited(self.limit, self.format, if self.flushes { flushed(self.format, result) } else { result })
    }

    fn computed(self, Operands { of: [a, b, c], count }: Operands) -> u128 {
        let format = self.format;
        let sign = mask(format.bits + format.padding) ^ mask(format.bits + format.padding - 1);
        match self.op {
            Op::Abs => return a & !sign,
            Op::Neg => return a ^ sign,
            Op::Copysign => return b & !sign | a & sign,
            Op::Min | Op::Max if count == 3 => return self.extreme(self.extreme(a, b), c),
            Op::Min | Op::Max => return self.extreme(a, b),
            _ => {}
        }
        if format == Format::F64
            && let Some(nan) = [a, b, c].into_iter().take(count).find(|bits| is_nan(format, *bits))
        {
            return nan | 1 << 51;
        }
        if self.rounding == Rounding::Nearest
            && let Some(result) = self.native([a, b, c])
        {
            return result;
        }
        let read = |bits| Exact::read(format, bits);
        let (x, y, z) = (read(a), read(b), read(c));
        let exact = match self.op {
            Op::Add => x.plus(y, self.rounding),
            Op::Sub => x.plus(y.negated(), self.rounding),
            Op::Mul => x.times(y),
            Op::Fma => x.times(y).plus(z, self.rounding),
            Op::Div => x.over(y),
            Op::Rcp => Exact::ONE.over(x),
            Op::Sqrt => x.root(),
            op => of_f64(approximate(op, to_f64(x))),
        };
        exact.round(format, self.rounding, Overflow::Rounded)
    }

    /// The result of the host's own arithmetic, which rounds to nearest even.
    fn native(self, operands: [u128; 3]) -> Option<u128> {
        macro_rules! of {
            ($float:ty, $bits:ty) => {{
                let [x, y, z] = operands.map(|bits| <$float>::from_bits(bits as $bits));
                let result = match self.op {
                    Op::Add => x + y,
                    Op::Sub => x - y,
                    Op::Mul => x * y,
                    Op::Fma => x.mul_add(y, z),
                    Op::Div => x / y,
                    Op::Rcp => 1.0 / x,
                    Op::Sqrt => x.sqrt(),
                    _ => return None,
                };
                if result.is_nan() { nearest(self.format, Exact::Nan) } else { result.to_bits().into() }
            }};
        }
        match self.format {
            Format::F32 => Some(of!(f32, u32)),
            Format::F64 => Some(of!(f64, u64)),
            _ => None,
        }
    }

    /// `min` or `max`. A number is preferred to NaN, and -0 is less than +0.
    fn extreme(self, a: u128, b: u128) -> u128 {
        let format = self.format;
        let sign = 1 << (format.bits - 1);
        let [x, y] = if self.absolute { [a & !sign, b & !sign] } else { [a, b] };
        let order = |bits: u128| {
            let magnitude = (bits & !sign) as i128;
            if bits & sign == 0 { magnitude } else { !magnitude }
        };
        let result = match (is_nan(format, a), is_nan(format, b)) {
            (true, true) => return nearest(format, Exact::Nan),
            (true, _) | (_, true) if self.takes_nan => return nearest(format, Exact::Nan),
            (true, _) => y,
            (_, true) => x,
            _ if (order(x) <= order(y)) == (self.op == Op::Min) => x,
            _ => y,
        };
        if self.xor_sign { result & !sign | (a ^ b) & sign } else { result }
    }
}

/// The result rounded to `f64`. Except for `rsqrt.f64`, the instructions have formats with at most half as many digits.
fn approximate(op: Op, x: f64) -> f64 {
    match op {
        Op::Ex2 => libm::exp2(x),
        Op::Lg2 => libm::log2(x),
        Op::Sin => libm::sin(x),
        Op::Cos => libm::cos(x),
        Op::Tanh => libm::tanh(x),
        _ => 1.0 / x.sqrt(),
    }
}

pub(super) fn is_nan(format: Format, bits: u128) -> bool {
    format.is_nan(bits)
}

/// A zero of the same sign if the number is subnormal; otherwise the number.
pub(super) fn flushed(format: Format, bits: u128) -> u128 {
    let exponents = (1 << (format.bits - 1)) - (1 << format.digits);
    if (bits >> format.padding) & exponents == 0 { bits & 1 << (format.bits + format.padding - 1) } else { bits }
}

/// Applies `.sat` or `.relu`. NaN becomes +0 with `.sat`, and the GPU's NaN, without a sign, with `.relu`.
pub(super) fn limited(limit: Limit, format: Format, bits: u128) -> u128 {
    let one = || nearest(format, Exact::ONE);
    let is_negative = bits >> (format.bits + format.padding - 1) & 1 == 1;
    match limit {
        Limit::None => bits,
        Limit::Unit if is_negative || is_nan(format, bits) => 0,
        Limit::Unit => bits.min(one()),
        Limit::Positive if is_nan(format, bits) => nearest(format, Exact::Nan),
        Limit::Positive if is_negative => 0,
        Limit::Positive => bits,
    }
}
