//! Bits as numbers, and the kinds of types.

use crate::word::{Type, VectorSize};

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

/// The value of the low `bits` of `value` as a signed number; 0 if `bits` is 0.
pub fn sign_extend(value: u64, bits: u32) -> i64 {
    let unused = 64u32.saturating_sub(bits);
    (value.checked_shl(unused).unwrap_or(0) as i64) >> unused.min(63)
}

/// A value of a type in a register of this many bits, which may be wider than the type: a signed type is sign-extended,
/// every other type is zero-extended (section 9.4.1, on `ld`, `cvt` and parameters). A width of 0 means an unknown
/// width and counts as 64 bits.
pub fn in_register(ty: Type, bits: u32, value: u128) -> u128 {
    let bits = if bits == 0 { 64 } else { bits };
    match ty.is_signed() && bits > ty.bits() {
        true => sign_extend(value as u64, ty.bits()) as u128 & mask(bits),
        false => value & mask(ty.bits()),
    }
}

/// Ones in this number of low bits, at most 128.
pub fn mask(bits: u32) -> u128 {
    u128::MAX.checked_shr(128 - bits.min(128)).unwrap_or(0)
}

/// The width in bits of a value, or of a vector of values.
pub fn width(vec: Option<VectorSize>, ty: Type) -> u32 {
    vec.map_or(1, |vec| vec.elements() as u32) * ty.bits()
}

/// The maximum number of source operands of an instruction on registers.
pub(super) const SOURCES: usize = 4;

/// A modifier that limits the range of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Limit {
    None,
    /// `.sat`: the range from 0 to 1.
    Unit,
    /// `.relu`: no negative numbers.
    Positive,
}
