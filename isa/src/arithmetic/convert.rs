//! Conversions (section 9.7.9, `cvt` and `cvt.pack`).

use super::{
    bits::{Limit, mask, sign_extend},
    exact::{Exact, Format, Overflow, Rounding},
    float::{flushed, format, from_bits, limited, to_bits},
};
use crate::word::Type;

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

/// The format of one element of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Kind {
    /// An integer.
    Integer {
        bits: u32,
        signed: bool,
    },
    Float(Format),
    /// `ue8m0`: a power of two, without a sign; NaN is all ones.
    Power,
}

/// The source or the destination of a conversion: packed elements, the first element in the lowest bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Side {
    pub kind: Kind,
    /// The number of elements.
    pub lanes: u32,
    /// The type of the register.
    pub register: Type,
}

impl Side {
    /// The format that a modifier names.
    pub(super) fn from_modifier(name: &str) -> Option<Self> {
        let packed = |format, lanes, register| Self { kind: Kind::Float(format), lanes, register };
        Some(match name {
            "f16x2" => packed(Format::F16, 2, Type::F16x2),
            "bf16x2" => packed(Format::BF16, 2, Type::Bf16x2),
            "tf32" => packed(Format::TF32, 1, Type::B32),
            "e4m3x2" => packed(Format::E4M3, 2, Type::B16),
            "e5m2x2" => packed(Format::E5M2, 2, Type::B16),
            "e3m2x2" => packed(Format::E3M2, 2, Type::B16),
            "e2m3x2" => packed(Format::E2M3, 2, Type::B16),
            "e2m1x2" => packed(Format::E2M1, 2, Type::B8),
            "ue8m0x2" => Self { kind: Kind::Power, lanes: 2, register: Type::B16 },
            name => {
                let register: Type = name.parse().ok()?;
                let kind = match format(register) {
                    Some(format) => Kind::Float(format),
                    None => Kind::Integer { bits: register.bits(), signed: register.is_signed() },
                };
                Self { kind, lanes: 1, register }
            }
        })
    }

    /// The distance in bits between elements. An element of 6 bits occupies a byte.
    fn step(self) -> u32 {
        match self.kind {
            Kind::Integer { bits, .. } => bits,
            Kind::Float(format) if format.bits == 6 => 8,
            Kind::Float(format) => format.bits + format.padding,
            Kind::Power => 8,
        }
    }
}

/// `cvt`, with all modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Conversion {
    pub(super) to: Side,
    pub(super) from: Side,
    /// The number of converted operands: one for each element of the result, or a single operand with all elements.
    pub(super) operands: u32,
    /// The rounding. A conversion without a rounding modifier is exact.
    pub(super) rounding: Rounding,
    /// Whether the result is rounded to an integer.
    pub(super) is_integral: bool,
    /// `.rs`: the last operand has random bits. Each element uses the low bits of its half, one for each discarded bit.
    pub(super) is_random: bool,
    /// `.ftz`.
    pub(super) flushes: bool,
    /// `.sat` and `.relu`.
    pub(super) limit: Limit,
    /// `.satfinite`.
    pub(super) overflow: Overflow,
}

impl Conversion {
    pub(super) fn arity(self) -> usize {
        self.operands as usize + usize::from(self.is_random)
    }

    pub(super) fn source_type(self, index: usize) -> Type {
        if index < self.operands as usize { self.from.register } else { Type::B32 }
    }

    pub(super) fn result_type(self) -> Type {
        self.to.register
    }

    pub(super) fn execute(self, sources: &[u128]) -> Option<u128> {
        if sources.len() != self.arity() {
            return None;
        }
        let last = *sources.last()?;
        let mut result = 0;
        for lane in 0..self.to.lanes {
            // The first operand is the upper element.
            let source = match self.operands {
                1 => sources[0] >> (lane * self.from.step()),
                operands => sources[(operands - 1 - lane) as usize],
            };
            let mut rounding = self.rounding;
            if let (true, Kind::Float(format)) = (self.is_random, self.to.kind) {
                // One random bit for each bit of an `f32` that is discarded, from the element's half.
                let bits = Format::F32.digits - format.digits;
                rounding = Rounding::Random { number: (last >> (16 * lane) & mask(bits)) as u32, bits };
            }
            let element = self.element(source & mask(self.from.step()), rounding);
            result |= element << (lane * self.to.step());
        }
        Some(result)
    }

    /// Converts one element: to its exact value, and from there to the destination format.
    fn element(self, source: u128, rounding: Rounding) -> u128 {
        let exact = match self.from.kind {
            Kind::Float(format) => {
                let flushes = self.flushes && format == Format::F32;
                Exact::read(format, if flushes { flushed(format, source) } else { source })
            }
            Kind::Integer { bits, signed: true } => Exact::integer(sign_extend(source as u64, bits).into()),
            Kind::Integer { .. } => Exact::integer(source as i128),
            Kind::Power => read_power(source),
        };
        match self.to.kind {
            Kind::Float(Format::F64) if exact == Exact::Nan && self.limit == Limit::None => {
                widened_nan(self.from.kind, source)
            }
            Kind::Float(format) => {
                let exact = if self.is_integral { exact.integral(rounding) } else { exact };
                let bits = exact.round(format, rounding, self.overflow);
                let flushes = self.flushes && format == Format::F32;
                limited(self.limit, format, if flushes { flushed(format, bits) } else { bits })
            }
            Kind::Integer { bits, signed } => {
                let (least, most) =
                    if signed { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
                match (self.from.kind, self.limit) {
                    // A conversion between integers keeps the low bits.
                    (Kind::Integer { signed: true, bits: width }, Limit::None) => {
                        sign_extend(source as u64, width) as u128 & mask(bits)
                    }
                    (Kind::Integer { .. }, Limit::None) => source & mask(bits),
                    _ => match exact.integral(rounding).to_integer(least, most) {
                        Some(integer) => integer as u128 & mask(bits),
                        // NaN becomes 0. If the source or destination has 64 bits, NaN becomes the highest bit alone.
                        None if bits == 64 || self.from.step() == 64 => 1 << (bits - 1),
                        None => 0,
                    },
                }
            }
            Kind::Power => to_power(exact, rounding),
        }
    }
}

/// A NaN as `f64`, with its payload.
fn widened_nan(from: Kind, source: u128) -> u128 {
    const QUIET: u128 = 0x7FF8 << 48;
    match from {
        Kind::Float(Format::F64) => source | QUIET,
        Kind::Float(Format::F32) => QUIET | (source >> 31) << 63 | (source & mask(23)) << 29,
        _ => Exact::Nan.round(Format::F64, Rounding::Nearest, Overflow::Rounded),
    }
}

fn read_power(bits: u128) -> Exact {
    if bits == 0xFF { Exact::Nan } else { Exact::ONE.scaled(bits as i32 - 127) }
}

/// The power of two nearest to a magnitude, toward or away from zero, limited to the format's range.
fn to_power(value: Exact, rounding: Rounding) -> u128 {
    match value {
        Exact::Nan => 0xFF,
        Exact::Infinite(_) => 0xFE,
        Exact::Finite { significand: 0, .. } => 0,
        Exact::Finite { significand, exponent, .. } => {
            let floor = exponent + 127 - significand.leading_zeros() as i32;
            let power = floor + i32::from(rounding == Rounding::Up && !significand.is_power_of_two());
            (power + 127).clamp(0, 0xFE) as u128
        }
    }
}

/// `cvt.pack`: two signed words, saturated to a type's range, below the bits of the third operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Pack {
    pub(super) bits: u32,
    pub(super) signed: bool,
}

impl Pack {
    pub(super) fn arity(self) -> usize {
        if self.bits == 16 { 2 } else { 3 }
    }

    pub(super) fn source_type(self, index: usize) -> Type {
        if index == 2 { Type::B32 } else { Type::S32 }
    }

    pub(super) fn execute(self, sources: &[u128]) -> Option<u128> {
        if sources.len() != self.arity() {
            return None;
        }
        let (least, most) =
            if self.signed { (-(1 << (self.bits - 1)), (1 << (self.bits - 1)) - 1) } else { (0, (1 << self.bits) - 1) };
        let part = |index: usize| sign_extend(sources[index] as u64, 32).clamp(least, most) as u128 & mask(self.bits);
        let rest = sources.get(2).copied().unwrap_or(0);
        Some((rest << (2 * self.bits) | part(0) << self.bits | part(1)) & mask(32))
    }
}
