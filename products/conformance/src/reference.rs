//! The values that operations compute by LLVM's Language Reference, on bits. Half floats use a library, so that this
//! reference is independent of the arithmetic of this project and of the compilers under test.

use half::{bf16, f16};
use ptx_lowering::{RmwOp, Type, ptx::arithmetic::mask};

/// Converts a value of a scalar type to a number. Half floats use a library instead of the interpreter's code.
fn float(ty: Type, bits: u128) -> f64 {
    match ty {
        Type::F16 => f16::from_bits(bits as u16).to_f64(),
        Type::Bf16 => bf16::from_bits(bits as u16).to_f64(),
        Type::F32 => f32::from_bits(bits as u32).into(),
        _ => f64::from_bits(bits as u64),
    }
}

/// Converts a number to the bits of a scalar type. Half floats are converted from f32, which changes no sum or
/// difference of half floats: its significand has at least 2p + 2 bits for their p bits. The library's `from_f64`
/// ignores the lower 32 bits of the significand, and takes 40976.0234375 for a tie.
fn float_bits(ty: Type, value: f64) -> u128 {
    match ty {
        Type::F16 => f16::from_f32(value as f32).to_bits().into(),
        Type::Bf16 => bf16::from_f32(value as f32).to_bits().into(),
        Type::F32 => (value as f32).to_bits().into(),
        _ => value.to_bits().into(),
    }
}

/// The value that an `atomicrmw` stores by LLVM's Language Reference, for values of a scalar type.
pub fn reference(op: RmwOp, ty: Type, old: u128, b: u128) -> MemoryValue {
    let unused = 128 - ty.bits();
    let signed = |value: u128| ((value << unused) as i128) >> unused;
    let (x, y) = (float(ty, old), float(ty, b));
    let ordered = |less: bool| {
        let keep_old = if x == y { x.is_sign_negative() == less } else { (x < y) == less };
        if x.is_nan() || y.is_nan() { MemoryValue::Nan } else { MemoryValue::Bits(if keep_old { old } else { b }) }
    };
    let number = |less: bool| match (x.is_nan(), y.is_nan()) {
        (true, true) => MemoryValue::Nan,
        (true, false) => MemoryValue::Bits(b),
        (false, true) => MemoryValue::Bits(old),
        _ => ordered(less),
    };
    let of_zeros = |value: MemoryValue| if x == 0.0 && y == 0.0 { MemoryValue::EitherZero } else { value };
    let arithmetic =
        |value: f64| if value.is_nan() { MemoryValue::Nan } else { MemoryValue::Bits(float_bits(ty, value)) };
    let integer = match op {
        RmwOp::Xchg => b,
        RmwOp::Add => old.wrapping_add(b),
        RmwOp::Sub => old.wrapping_sub(b),
        RmwOp::And => old & b,
        RmwOp::Nand => !(old & b),
        RmwOp::Or => old | b,
        RmwOp::Xor => old ^ b,
        RmwOp::Max => signed(old).max(signed(b)) as u128,
        RmwOp::Min => signed(old).min(signed(b)) as u128,
        RmwOp::UMax => old.max(b),
        RmwOp::UMin => old.min(b),
        RmwOp::UIncWrap => {
            if old >= b {
                0
            } else {
                old + 1
            }
        }
        RmwOp::UDecWrap => {
            if old == 0 || old > b {
                b
            } else {
                old - 1
            }
        }
        RmwOp::USubCond => {
            if old >= b {
                old - b
            } else {
                old
            }
        }
        RmwOp::USubSat => old.saturating_sub(b),
        RmwOp::FAdd => return arithmetic(x + y),
        RmwOp::FSub => return arithmetic(x - y),
        RmwOp::FMax => return of_zeros(number(false)),
        RmwOp::FMin => return of_zeros(number(true)),
        RmwOp::FMaximum => return ordered(false),
        RmwOp::FMinimum => return ordered(true),
        RmwOp::FMaximumNum => return number(false),
        RmwOp::FMinimumNum => return number(true),
    };
    MemoryValue::Bits(integer & mask(ty.bits()))
}

/// The values that memory may have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MemoryValue {
    /// These bits.
    Bits(u128),
    /// Any NaN.
    Nan,
    /// A zero of either sign.
    EitherZero,
}

impl MemoryValue {
    /// Whether a value of a scalar type is allowed.
    pub fn admits(&self, ty: Type, found: u128) -> bool {
        match self {
            Self::Bits(bits) => found == *bits,
            Self::Nan => float(ty, found).is_nan(),
            Self::EitherZero => found & !(1 << (ty.bits() - 1)) == 0,
        }
    }
}

/// Whether an `atomicrmw` may store `found` over `old`, element by element. With `flushes`, subnormal numbers of type
/// f32 may be zeros with their sign.
pub fn admits(op: RmwOp, ty: Type, [old, b]: [u128; 2], found: u128, flushes: bool) -> bool {
    let scalar = ty.scalar();
    let flush = |bits: u128| if f32::from_bits(bits as u32).is_subnormal() { bits & 0x8000_0000 } else { bits };
    (0..ty.bits()).step_by(scalar.bits() as usize).all(|at| {
        let [old, b, found] = [old, b, found].map(|value| (value >> at) & mask(scalar.bits()));
        let exact = reference(op, scalar, old, b);
        exact.admits(scalar, found)
            || flushes && scalar == Type::F32 && {
                let flushed = reference(op, scalar, flush(old), flush(b));
                flushed.admits(scalar, found) || matches!(flushed, MemoryValue::Bits(bits) if flush(bits) == found)
            }
    })
}

/// Bits of a value of a scalar type that is often special: zeros, ones, extremes, infinities, NaNs, subnormals.
pub fn special(ty: Type) -> Vec<u128> {
    let top = 1u128 << (ty.bits() - 1);
    let mut special = vec![0, 1, 2, 0x7F, 0x80, 0xFF, top, top - 1, top + 1, u128::MAX, u128::MAX - 1];
    if ty.is_float() {
        let numbers = [1.0, -1.5, 0.1, 65504.0, 1e-7, -1e-39, 3e38, f64::INFINITY, f64::NEG_INFINITY, f64::NAN];
        special.extend(numbers.map(|number| float_bits(ty, number)));
    }
    special.into_iter().map(|bits| bits & mask(ty.bits())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A sum just above the middle between two half floats; the lower bits of its f64 say so.
    #[test]
    fn sums_round_once() {
        let sum = reference(RmwOp::FAdd, Type::F16, 0xCBFD, 0x7901);
        assert!(sum.admits(Type::F16, 0x7901), "{sum:?}");
    }

    #[test]
    fn elements_and_subnormals() {
        assert!(admits(RmwOp::FAdd, Type::F16x2, [0x3C00_0000, 0x3C00_3C00], 0x4000_3C00, false));
        assert!(!admits(RmwOp::FAdd, Type::F16x2, [0x3C00_0000, 0x3C00_3C00], 0x4000_4000, false));
        for flushes in [false, true] {
            assert!(admits(RmwOp::FAdd, Type::F32, [1, 0], 1, flushes));
            assert_eq!(admits(RmwOp::FAdd, Type::F32, [1, 0], 0, flushes), flushes);
        }
    }
}
