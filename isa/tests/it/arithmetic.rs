//! Tests of the arithmetic against Rust's integers and floating-point numbers, and against the crate half.

use half::{bf16, f16};
use proptest::prelude::*;
use ptx_isa::{
    AluOp, AtomOp, Cmp, Type, VectorSize,
    arithmetic::{Rmw, Subnormals, alu, compare, convert, mask, width},
};
use strum::IntoEnumIterator;

/// The results of Rust's integers of one type.
struct Integers {
    ty: Type,
    alu: fn(AluOp, [u128; 4]) -> Option<u128>,
    rmw: fn(AtomOp, [u128; 3]) -> u128,
    compare: fn(Cmp, u128, u128) -> Option<bool>,
    convert: fn(Type, u128) -> u128,
}

macro_rules! integers {
    ($($($ty:ident)|+ => $rust:ty, $unsigned:ty;)*) => {
        [$($(Integers {
            ty: Type::$ty,
            alu: |op, [a, b, c, d]| {
                let (x, y, z) = (a as $rust, b as $rust, c as $rust);
                let beyond = if (x as i128) < 0 { !0 } else { 0 };
                let value = match op {
                    AluOp::Mov => x,
                    AluOp::Neg => x.wrapping_neg(),
                    AluOp::Not => !x,
                    AluOp::Add => x.wrapping_add(y),
                    AluOp::Sub => x.wrapping_sub(y),
                    AluOp::And => x & y,
                    AluOp::Or => x | y,
                    AluOp::Xor => x ^ y,
                    AluOp::Min => x.min(y),
                    AluOp::Max => x.max(y),
                    AluOp::Shl => x.checked_shl(b as u32).unwrap_or(0),
                    AluOp::Shr => x.checked_shr(b as u32).unwrap_or(beyond),
                    AluOp::MulLo => x.wrapping_mul(y),
                    AluOp::MadLo => x.wrapping_mul(y).wrapping_add(z),
                    AluOp::Selp => if c & 1 != 0 { x } else { y },
                    // `prmt` has a single type and a separate test.
                    AluOp::Prmt => return alu(op, Type::$ty, &[a, b, c]),
                    AluOp::Cnot => (x == 0).into(),
                    op if <$rust>::BITS >= 16 => return by_the_manual(op, Type::$ty, [x as i128, y as i128, z as i128], [a, b, c, d]),
                    _ => return None,
                };
                Some(value as $unsigned as u128)
            },
            rmw: |op, [old, b, c]| {
                let (x, y) = (old as $rust, b as $rust);
                let (ux, uy) = (old as $unsigned, b as $unsigned);
                let value = match op {
                    AtomOp::Exch => y,
                    AtomOp::Cas => if x == y { c as $rust } else { x },
                    AtomOp::Add => x.wrapping_add(y),
                    AtomOp::Inc => if ux >= uy { 0 } else { (ux + 1) as $rust },
                    AtomOp::Dec => if ux == 0 || ux > uy { y } else { (ux - 1) as $rust },
                    AtomOp::Min => x.min(y),
                    AtomOp::Max => x.max(y),
                    AtomOp::And => x & y,
                    AtomOp::Or => x | y,
                    AtomOp::Xor => x ^ y,
                };
                value as $unsigned as u128
            },
            compare: |cmp, a, b| ordered(cmp, Some((a as $rust).cmp(&(b as $rust)))),
            convert: |to, value| (value as $rust as i128 as u128) & mask(to.bits()),
        },)+)*]
    };
}

const INTEGERS: [Integers; 12] = integers! {
    B8 | U8 => u8, u8; S8 => i8, u8;
    B16 | U16 => u16, u16; S16 => i16, u16;
    B32 | U32 => u32, u32; S32 => i32, u32;
    B64 | U64 => u64, u64; S64 => i64, u64;
};

/// The results of the remaining integer instructions, computed as in the manual's pseudocode, bit by bit where the
/// pseudocode does so (sections 9.7.1 and 9.7.8). The first three operands are also given as signed numbers.
fn by_the_manual(op: AluOp, ty: Type, [x, y, z]: [i128; 3], [a, b, c, d]: [u128; 4]) -> Option<u128> {
    use AluOp::*;
    let (bits, own) = (ty.bits(), a & mask(ty.bits()));
    let bit = |value: u128, at: u32| value >> at & 1;
    let gathered = |of: &dyn Fn(u32) -> u128| (0..bits).fold(0, |all, at| all | of(at) << at);
    let byte = |value: u128| (value & 0xFF) as u32;
    let result = mask(op.result_type(ty).bits());
    let is_word = bits == 32;
    let is_word_or_two = matches!(bits, 32 | 64);
    let value = match op {
        Abs => x.unsigned_abs(),
        Div => x.checked_div(y)? as u128,
        Rem => x.checked_rem(y)? as u128,
        Sad => (z + (x - y).abs()) as u128,
        MulHi => {
            ((if ty.is_signed() { x * y } else { ((x as u128 * y as u128) >> 1) as i128 })
                >> (bits - u32::from(!ty.is_signed()))) as u128
        }
        MadHi => alu(MulHi, ty, &[a, b])?.wrapping_add(z as u128),
        MulWide if bits < 64 => (x * y) as u128,
        MadWide if bits < 64 => ((x * y) as u128).wrapping_add(c),
        Mul24Lo | Mad24Lo | Mul24Hi | Mad24Hi if is_word => {
            let low = |value: u128| ((value as u32) << 8) as i32 >> 8;
            let product = match ty.is_signed() {
                true => (i64::from(low(a)) * i64::from(low(b))) as u64,
                false => (a as u64 & 0xFF_FFFF) * (b as u64 & 0xFF_FFFF),
            };
            let part = if matches!(op, Mul24Lo | Mad24Lo) { product as u32 } else { (product >> 16) as u32 };
            part.wrapping_add(if matches!(op, Mad24Lo | Mad24Hi) { c as u32 } else { 0 }).into()
        }
        Popc if is_word_or_two => (0..bits).map(|at| bit(own, at)).sum(),
        Clz if is_word_or_two => (0..bits).rev().take_while(|at| bit(own, *at) == 0).count() as u128,
        Brev if is_word_or_two => gathered(&|at| bit(own, bits - 1 - at)),
        Bfind | BfindShiftamt if is_word_or_two => {
            let sign = if x < 0 { 1 } else { 0 };
            match (0..bits).rev().find(|at| bit(own, *at) != sign) {
                None => result,
                Some(at) if op == Bfind => at.into(),
                Some(at) => (bits - 1 - at).into(),
            }
        }
        Bfe if is_word_or_two => {
            let (at, length) = (byte(b), byte(c));
            let sign = if !ty.is_signed() || length == 0 { 0 } else { bit(own, (at + length - 1).min(bits - 1)) };
            gathered(&|index| if index < length && at + index < bits { bit(own, at + index) } else { sign })
        }
        Bfi if is_word_or_two => {
            let (at, length) = (byte(c), byte(d));
            gathered(&|index| if (at..at + length).contains(&index) { bit(own, index - at) } else { bit(b, index) })
        }
        BmskClamp | BmskWrap if is_word => {
            let limit = |value: u128| if op == BmskWrap { value as u32 & 31 } else { (value as u32).min(32) };
            gathered(&|index| u128::from((limit(a)..limit(a) + limit(b)).contains(&index)))
        }
        SzextClamp | SzextWrap if is_word => {
            let length = if op == SzextWrap { b as u32 & 31 } else { (b as u32).min(32) };
            let sign = if ty.is_signed() && length > 0 { bit(own, length - 1) } else { 0 };
            gathered(&|index| if index < length { bit(own, index) } else { sign })
        }
        Lop3 if is_word => gathered(&|at| bit(d, (bit(a, at) * 4 + bit(b, at) * 2 + bit(c, at)) as u32)),
        ShfLeftClamp | ShfLeftWrap | ShfRightClamp | ShfRightWrap if is_word => {
            let wraps = matches!(op, ShfLeftWrap | ShfRightWrap);
            let by = if wraps { c as u32 & 31 } else { (c as u32).min(32) };
            let [low, high] = [a, b].map(|word| u64::from(word as u32));
            match op {
                ShfLeftClamp | ShfLeftWrap => ((high << by) | (low >> (32 - by))).into(),
                _ => ((high << (32 - by)) | (low >> by)).into(),
            }
        }
        _ => return None,
    };
    Some(value & result)
}

/// Whether a comparison holds, by its name. `order` is `None` if an operand is NaN.
fn ordered(cmp: Cmp, order: Option<std::cmp::Ordering>) -> Option<bool> {
    let name: &str = cmp.into();
    let (name, unordered) = match name {
        "num" => return Some(order.is_some()),
        "nan" => return Some(order.is_none()),
        "lo" => ("lt", false),
        "ls" => ("le", false),
        "hi" => ("gt", false),
        "hs" => ("ge", false),
        name => (name.trim_end_matches('u'), name.ends_with('u')),
    };
    let Some(order) = order else { return Some(unordered) };
    let signs = match name {
        "eq" => [false, true, false],
        "ne" => [true, false, true],
        "lt" => [true, false, false],
        "le" => [true, true, false],
        "gt" => [false, false, true],
        "ge" => [false, true, true],
        _ => return None,
    };
    Some(signs[(order as i8 + 1) as usize])
}

/// The limits of all widths, small numbers, and arbitrary numbers.
fn value() -> impl Strategy<Value = u128> {
    let near = (prop::sample::select(vec![0u32, 4, 5, 7, 8, 15, 16, 31, 32, 63, 64]), -2i64..3);
    let near = near.prop_map(|(bit, by)| ((1u128 << bit) as i128 + i128::from(by)) as u128);
    prop_oneof![near.clone(), near.prop_map(|value| !value), any::<u64>().prop_map(u128::from), any::<u128>()]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn integers(a in value(), b in value(), c in value(), d in value()) {
        for of in &INTEGERS {
            for op in AluOp::iter() {
                let sources = [a, b, c, d];
                let found = alu(op, of.ty, &sources[..op.arity()]);
                prop_assert_eq!(found, (of.alu)(op, sources), "{}.{} of {:x?}", op, of.ty, sources);
            }
            for op in AtomOp::iter() {
                let found = Rmw::new(op, of.ty).apply(a, b, Some(c));
                prop_assert_eq!(found, Some((of.rmw)(op, [a, b, c])), "atom.{}.{} of {:x?}", op, of.ty, [a, b, c]);
            }
            for cmp in Cmp::iter() {
                let found = compare(cmp, of.ty, a, b);
                prop_assert!(found.is_some());
                prop_assert_eq!(found, (of.compare)(cmp, a, b), "setp.{}.{} of {:x?}", cmp, of.ty, [a, b]);
            }
            for to in &INTEGERS {
                prop_assert_eq!(convert(to.ty, of.ty, a), Some((of.convert)(to.ty, a)), "cvt.{}.{}", to.ty, of.ty);
            }
        }
    }

    /// Sums, minima, maxima and comparisons, against Rust's results.
    #[test]
    fn floats(a in any::<u64>(), b in any::<u64>()) {
        single(a as u32, b as u32)?;
        double(a, b)?;
        halves(a as u16, b as u16)?;
    }

    /// Every operation on every type, including combinations that do not exist.
    #[test]
    fn nothing_panics(a in value(), b in value(), c in value()) {
        for ty in Type::iter() {
            let fits = |value: Option<u128>, bits: u32| value.is_none_or(|value| value & !mask(bits) == 0);
            for op in AluOp::iter() {
                for count in (0..5).filter(|count| *count != op.arity()) {
                    prop_assert_eq!(alu(op, ty, &[a, b, c, a, b][..count]), None);
                }
                prop_assert!(fits(alu(op, ty, &[a, b, c, a][..op.arity()]), op.result_type(ty).bits()), "{op}.{ty}");
            }
            for (op, vec) in AtomOp::iter().flat_map(|op| {
                [None, Some(VectorSize::V2), Some(VectorSize::V4), Some(VectorSize::V8)].map(|vec| (op, vec))
            }) {
                for subnormals in [Subnormals::Kept, Subnormals::Flushed] {
                    let rmw = Rmw { op, vec, ty, subnormals };
                    prop_assert!(fits(rmw.apply(a, b, Some(c)), width(vec, ty)), "{rmw:?}");
                    prop_assert!(rmw.apply(a, b, None).is_none() || op != AtomOp::Cas || a != b);
                }
            }
            Cmp::iter().for_each(|cmp| { compare(cmp, ty, a, b); });
            for to in Type::iter() {
                prop_assert!(fits(convert(to, ty, a), to.bits()), "cvt.{to}.{ty}");
            }
        }
    }
}

/// The value rounded to odd, so that a second rounding, to half as many digits, gives the same result as a single
/// rounding. The crate half looks only at the upper half of an `f64`.
fn to_odd(value: f64) -> f32 {
    let near = value as f32;
    if value.is_nan() || value.is_infinite() || f64::from(near) == value {
        return near;
    }
    let is_beyond = f64::from(near).abs() > value.abs();
    f32::from_bits((near.to_bits() - u32::from(is_beyond)) | 1)
}

/// Compares results; all NaNs are equal.
macro_rules! same {
    ($found:expr, $expected:expr, $float:ty, $bits:ty) => {{
        let (found, expected): (Option<u128>, $float) = ($found, $expected);
        let found = found.map(|found| <$float>::from_bits(found as $bits));
        let both_nan = found.is_some_and(|found| found.is_nan()) && expected.is_nan();
        prop_assert!(
            both_nan || found.map(|found| found.to_bits()) == Some(expected.to_bits()),
            "{found:?} {expected:?}"
        );
    }};
}

fn single(a: u32, b: u32) -> Result<(), TestCaseError> {
    let (x, y) = (f32::from_bits(a), f32::from_bits(b));
    let of = |op| alu(op, Type::F32, &[a.into(), b.into()]);
    same!(of(AluOp::AddRn), x + y, f32, u32);
    same!(of(AluOp::Add), x + y, f32, u32);
    same!(of(AluOp::SubRn), x - y, f32, u32);
    same!(of(AluOp::Min), x.min(y), f32, u32);
    same!(of(AluOp::Max), x.max(y), f32, u32);
    same!(of(AluOp::Mul), x * y, f32, u32);
    same!(of(AluOp::MulRn), x * y, f32, u32);
    same!(of(AluOp::DivRn), x / y, f32, u32);
    same!(of(AluOp::Copysign), y.copysign(x), f32, u32);
    same!(alu(AluOp::Abs, Type::F32, &[a.into()]), x.abs(), f32, u32);
    same!(alu(AluOp::RcpRn, Type::F32, &[a.into()]), x.recip(), f32, u32);
    same!(alu(AluOp::SqrtRn, Type::F32, &[a.into()]), x.sqrt(), f32, u32);
    same!(alu(AluOp::FmaRn, Type::F32, &[a.into(), b.into(), a.into()]), x.mul_add(y, x), f32, u32);
    same!(Rmw::new(AtomOp::Add, Type::F32).apply(a.into(), b.into(), None), x + y, f32, u32);
    same!(convert(Type::F32, Type::F64, f64::from(x).to_bits().into()), x, f32, u32);
    same!(convert(Type::Bf16, Type::F32, a.into()), bf16::from_f32(x), bf16, u16);
    same!(convert(Type::F16, Type::F32, a.into()), f16::from_f32(x), f16, u16);
    for cmp in Cmp::iter() {
        prop_assert_eq!(
            compare(cmp, Type::F32, a.into(), b.into()),
            ordered(cmp, x.partial_cmp(&y)),
            "{} {} {}",
            cmp,
            x,
            y
        );
    }
    prop_assert_eq!(alu(AluOp::And, Type::F32, &[a.into(), b.into()]), None);
    Ok(())
}

fn double(a: u64, b: u64) -> Result<(), TestCaseError> {
    let (x, y) = (f64::from_bits(a), f64::from_bits(b));
    let of = |op| alu(op, Type::F64, &[a.into(), b.into()]);
    same!(of(AluOp::AddRn), x + y, f64, u64);
    same!(of(AluOp::SubRn), x - y, f64, u64);
    same!(of(AluOp::MulRn), x * y, f64, u64);
    same!(of(AluOp::DivRn), x / y, f64, u64);
    same!(of(AluOp::Copysign), y.copysign(x), f64, u64);
    same!(alu(AluOp::Neg, Type::F64, &[a.into()]), -x, f64, u64);
    same!(alu(AluOp::SqrtRn, Type::F64, &[a.into()]), x.sqrt(), f64, u64);
    same!(alu(AluOp::FmaRn, Type::F64, &[a.into(), b.into(), a.into()]), x.mul_add(y, x), f64, u64);
    same!(convert(Type::F32, Type::F64, a.into()), x as f32, f32, u32);
    same!(convert(Type::F16, Type::F64, a.into()), f16::from_f32(to_odd(x)), f16, u16);
    prop_assert_eq!(convert(Type::S32, Type::F64, a.into()), None);
    Ok(())
}

/// Tests halves, singly and in pairs.
fn halves(a: u16, b: u16) -> Result<(), TestCaseError> {
    let pair = |low: u16, high: u16| u128::from(high) << 16 | u128::from(low);
    let (x, y) = (f16::from_bits(a), f16::from_bits(b));
    same!(
        alu(AluOp::AddRn, Type::F16, &[a.into(), b.into()]),
        f16::from_f32(to_odd(x.to_f64() + y.to_f64())),
        f16,
        u16
    );
    // The sum of a product of halves and a half has up to 80 digits. Its result depends on half of them, and on whether
    // the remaining digits are zero.
    let third = f16::from_bits(a ^ b);
    same!(
        alu(AluOp::FmaRn, Type::F16, &[a.into(), b.into(), (a ^ b).into()]),
        f16::from_f32(to_odd(x.to_f64().mul_add(y.to_f64(), third.to_f64()))),
        f16,
        u16
    );
    let (x, y) = (bf16::from_bits(a), bf16::from_bits(b));
    same!(
        alu(AluOp::SubRn, Type::Bf16, &[a.into(), b.into()]),
        bf16::from_f32(to_odd(x.to_f64() - y.to_f64())),
        bf16,
        u16
    );
    let both = alu(AluOp::AddRn, Type::Bf16x2, &[pair(a, b), pair(b, a)]).map(|both| both & 0xFFFF);
    same!(both, bf16::from_f32(to_odd(x.to_f64() + y.to_f64())), bf16, u16);
    let both = Rmw::new(AtomOp::Add, Type::Bf16x2).apply(pair(a, b), pair(b, a), None).map(|both| both >> 16);
    same!(both, bf16::from_f32(to_odd(x.to_f64() + y.to_f64())), bf16, u16);
    Ok(())
}

/// Tests every choice of a byte by a nibble.
#[test]
fn prmt() {
    let of = |picks: u128| alu(AluOp::Prmt, Type::B32, &[0x8322_1100, 0x7766_D544, picks]);
    assert_eq!(of(0x3210), Some(0x8322_1100));
    assert_eq!(of(0x7654), Some(0x7766_D544));
    assert_eq!(of(0x0246), Some(0x0022_4466));
    // The highest bit of a nibble replicates its byte's sign into all eight bits.
    assert_eq!(of(0xBD98), Some(0xFFFF_0000));
    assert_eq!(alu(AluOp::Prmt, Type::B64, &[0, 0, 0]), None);
}

/// Zeros are ordered, and a NaN operand makes the result NaN; f64 has no such form.
#[test]
fn extremes_of_nan() {
    for (ty, one, infinity, nan) in [
        (Type::F32, 0x3F80_0000, 0x7F80_0000, 0x7FFF_FFFF),
        (Type::F16, 0x3C00, 0x7C00, 0x7FFF),
        (Type::Bf16, 0x3F80, 0x7F80, 0x7FFF),
    ] {
        let sign = 1 << (ty.bits() - 1);
        for (a, b, min, max) in [
            (sign, 0, sign, 0),
            (one, sign | one, sign | one, one),
            (1, sign | 1, sign | 1, 1),
            (infinity, one, one, infinity),
            (infinity | 1, one, nan, nan),
            (nan | sign, nan, nan, nan),
        ] {
            for sources in [[a, b], [b, a]] {
                let of = |op| alu(op, ty, &sources);
                assert_eq!((of(AluOp::MinNan), of(AluOp::MaxNan)), (Some(min), Some(max)), "{ty} {sources:x?}");
            }
        }
    }
    assert_eq!(alu(AluOp::MaxNan, Type::F64, &[0, 0]), None);
}

/// An addition in global memory treats subnormal numbers as zeros.
#[test]
fn subnormals() {
    let of = |subnormals| Rmw { subnormals, ..Rmw::new(AtomOp::Add, Type::F32) }.apply(1, 0x8000_0001, None);
    assert_eq!((of(Subnormals::Kept), of(Subnormals::Flushed)), (Some(0), Some(0)));
    let of = |subnormals| Rmw { subnormals, ..Rmw::new(AtomOp::Add, Type::F32) }.apply(1, 1, None);
    assert_eq!((of(Subnormals::Kept), of(Subnormals::Flushed)), (Some(2), Some(0)));
}
