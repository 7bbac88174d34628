//! The types of matrix elements, and their values.

use half::{bf16, f16};
pub use ptx_isa::MatrixElement as Element;
use thiserror::Error;

/// An instruction, form or descriptor that is not computed here.
#[derive(Clone, Debug, Error, PartialEq, Eq)]
#[error("{0} is not computed")]
pub struct Unsupported(pub String);

impl Unsupported {
    pub fn new(what: impl Into<String>) -> Self {
        Self(what.into())
    }
}

/// The kind of numbers in which a product is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Numbers {
    Single,
    Double,
    Integer,
}

/// The values of elements.
pub trait Values: Copy {
    /// The distance of elements in a register or in memory, in bits. Floats of 4 and 6 bits have a byte each.
    fn bits(self) -> usize;
    /// The numbers in which products of the elements are computed.
    fn numbers(self) -> Numbers;
    /// The value of an element whose `numbers` are [`Numbers::Integer`].
    fn integer(self, bits: u64) -> i64;
    /// The value of an element whose `numbers` are [`Numbers::Single`].
    fn single(self, bits: u64) -> f32;
    /// The element that is nearest to a sum, with ties to even. Every NaN becomes the canonical NaN.
    fn of_single(self, value: f32) -> u64;
}

impl Values for Element {
    fn bits(self) -> usize {
        match self {
            Self::B1 => 1,
            Self::S4 | Self::U4 => 4,
            Self::S8 | Self::U8 | Self::E4m3 | Self::E5m2 | Self::E2m3 | Self::E3m2 | Self::E2m1 => 8,
            Self::F16 | Self::Bf16 | Self::B16 => 16,
            Self::Tf32 | Self::F32 | Self::S32 => 32,
            Self::F64 => 64,
        }
    }

    fn numbers(self) -> Numbers {
        match self {
            Self::F64 => Numbers::Double,
            Self::S8 | Self::U8 | Self::S4 | Self::U4 | Self::B1 | Self::S32 => Numbers::Integer,
            _ => Numbers::Single,
        }
    }

    fn integer(self, bits: u64) -> i64 {
        match self {
            Self::S8 => i64::from(bits as u8 as i8),
            Self::S4 => i64::from(((bits << 4) as u8 as i8) >> 4),
            Self::S32 => i64::from(bits as u32 as i32),
            _ => (bits & ((1 << self.bits().min(32)) - 1)) as i64,
        }
    }

    fn single(self, bits: u64) -> f32 {
        match self {
            Self::F16 => f16::from_bits(bits as u16).to_f32(),
            Self::Bf16 => bf16::from_bits(bits as u16).to_f32(),
            // The tensor cores do not read the low 13 bits.
            Self::Tf32 => f32::from_bits(bits as u32 & !0x1fff),
            Self::E4m3 => small(bits, 4, 3),
            Self::E5m2 => f16::from_bits((bits as u16) << 8).to_f32(),
            Self::E2m3 => small(bits, 2, 3),
            Self::E3m2 => small(bits, 3, 2),
            // The value is in the middle of its byte.
            Self::E2m1 => small(bits >> 2, 2, 1),
            _ => f32::from_bits(bits as u32),
        }
    }

    fn of_single(self, value: f32) -> u64 {
        match self {
            Self::F16 if value.is_nan() => 0x7fff,
            Self::F16 => u64::from(f16::from_f32(value).to_bits()),
            _ if value.is_nan() => 0x7fff_ffff,
            _ => u64::from(value.to_bits()),
        }
    }
}

/// A float with these numbers of exponent and mantissa bits, without infinities. Only formats with four exponent bits
/// have a NaN: all ones.
fn small(bits: u64, exponent: u32, mantissa: u32) -> f32 {
    let field = |at: u32, width: u32| (bits >> at) as u32 & ((1 << width) - 1);
    let (sign, e, m) = (field(exponent + mantissa, 1), field(mantissa, exponent), field(0, mantissa));
    if exponent == 4 && e == 15 && m == 7 {
        return f32::NAN;
    }
    let bias = (1 << (exponent - 1)) - 1;
    let significand = if e == 0 { m } else { m + (1 << mantissa) };
    let scale = e.max(1) as i32 - bias - mantissa as i32;
    let magnitude = significand as f32 * 2f32.powi(scale);
    if sign == 1 { -magnitude } else { magnitude }
}
