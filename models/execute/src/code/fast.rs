//! The computations that whole warps execute at once, for the most frequent instructions. Other computations use the
//! arithmetic of `isa/` lane by lane. A test compares each function of this file with that arithmetic.

use std::sync::LazyLock;

use ptx_isa::{AluOp, Cmp, Type, arithmetic::Computation};
use rustc_hash::FxHashMap;

/// The number of lanes of a warp.
pub const LANES: usize = 32;

/// The values of a register in all lanes.
pub type Column = [u64; LANES];

/// A function on columns. It also computes lanes that do not take part; the caller discards their results.
pub type Fast = fn(&mut Column, [&Column; 3]);

/// A function of up to three operands, applied lane by lane.
macro_rules! lanes {
    (|$a:pat_param, $b:pat_param, $c:pat_param| $value:expr) => {{
        fn apply_lanes(d: &mut Column, [a, b, c]: [&Column; 3]) {
            for lane in 0..LANES {
                let ($a, $b, $c) = (a[lane], b[lane], c[lane]);
                d[lane] = $value;
            }
        }
        Some(apply_lanes as Fast)
    }};
}

fn f(bits: u64) -> f32 {
    f32::from_bits(bits as u32)
}

/// The bits of a result. PTX has a single NaN of 32 bits.
fn of_f(value: f32) -> u64 {
    if value.is_nan() { 0x7fff_ffff } else { value.to_bits().into() }
}

/// The function of a computation, if it has one.
pub fn fast(of: Computation) -> Option<Fast> {
    match of {
        Computation::Alu(op, ty) if ty.element().is_none() && !ty.is_float() => match ty.bits() {
            32 if !matches!(op, AluOp::MulWide | AluOp::MadWide) || ty != Type::B32 => word(op, ty.is_signed()),
            64 => long(op, ty.is_signed()),
            _ => None,
        },
        Computation::Setp(cmp, ty) => compared(cmp, ty),
        Computation::Cvt { to, from } => converted(to, from),
        _ => FLOATS.get(&of).copied(),
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

/// The functions of floating-point computations, by their instructions. They implement the variants that round to
/// nearest even and do not flush subnormal numbers.
static FLOATS: LazyLock<FxHashMap<Computation, Fast>> = LazyLock::new(|| {
    let all: [(&str, Option<Fast>); 13] = [
        ("add.f32", lanes!(|a, b, _| of_f(f(a) + f(b)))),
        ("sub.f32", lanes!(|a, b, _| of_f(f(a) - f(b)))),
        ("mul.f32", lanes!(|a, b, _| of_f(f(a) * f(b)))),
        ("fma.rn.f32", lanes!(|a, b, c| of_f(f(a).mul_add(f(b), f(c))))),
        ("div.rn.f32", lanes!(|a, b, _| of_f(f(a) / f(b)))),
        ("neg.f32", lanes!(|a, _, _| a & 0xffff_ffff ^ 0x8000_0000)),
        ("abs.f32", lanes!(|a, _, _| a & 0x7fff_ffff)),
        ("selp.f32", lanes!(|a, b, c| (if c & 1 == 1 { a } else { b }) & 0xffff_ffff)),
        ("selp.f64", lanes!(|a, b, c| if c & 1 == 1 { a } else { b })),
        ("cvt.rn.f32.s32", lanes!(|a, _, _| u64::from((a as i32 as f32).to_bits()))),
        ("cvt.rn.f32.u32", lanes!(|a, _, _| u64::from((a as u32 as f32).to_bits()))),
        ("cvt.rn.f32.s64", lanes!(|a, _, _| u64::from((a as i64 as f32).to_bits()))),
        ("cvt.rn.f32.u64", lanes!(|a, _, _| u64::from((a as f32).to_bits()))),
    ];
    let function = |(spelled, function): (&str, Option<Fast>)| {
        let mut words = spelled.split('.');
        let computation = Computation::from_mnemonic(words.next()?, &words.collect::<Vec<_>>())?;
        Some((computation, function?))
    };
    all.into_iter().filter_map(function).collect()
});

/// A comparison for each group of types that are compared alike.
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
        Cmp::Ne => compare!(ty, |a, b| a != b),
        Cmp::Lt | Cmp::Lo => compare!(ty, |a, b| a < b),
        Cmp::Le | Cmp::Ls => compare!(ty, |a, b| a <= b),
        Cmp::Gt | Cmp::Hi => compare!(ty, |a, b| a > b),
        Cmp::Ge | Cmp::Hs => compare!(ty, |a, b| a >= b),
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

#[cfg(test)]
mod tests {
    use strum::IntoEnumIterator;

    use super::*;
    use crate::random::Random;

    /// A random number, often one for which arithmetic is special.
    fn number(random: &mut Random) -> u64 {
        const SPECIAL: [u64; 16] = [
            0,
            1,
            31,
            32,
            63,
            64,
            0x7fff_ffff,
            0x8000_0000,
            0xffff_ffff,
            u64::MAX,
            0x7f80_0000,
            0xff80_0000,
            0x7fc0_0001,
            0x0000_0001,
            0x7ff0_0000_0000_0000,
            0xfff8_0000_0000_0000,
        ];
        match random.below(3) {
            0 => SPECIAL[random.below(16) as usize],
            1 => random.next() & 0xffff_ffff,
            _ => random.next(),
        }
    }

    /// Compares a function on columns with the arithmetic of `isa/`. Returns whether the function exists.
    fn check(mnemonic: &str, random: &mut Random) -> bool {
        let words: Vec<&str> = mnemonic.split('.').collect();
        let Some(of) = Computation::from_mnemonic(words[0], &words[1..]) else { return false };
        let Some(function) = fast(of) else { return false };
        for _ in 0..64 {
            let columns = [0; 3].map(|_| [0; LANES].map(|_: u64| number(random)));
            let mut found = [0; LANES];
            function(&mut found, columns.each_ref());
            for lane in 0..LANES {
                let sources: Vec<u128> = (0..of.arity())
                    .map(|index| {
                        let bits = of.source_type(index).bits();
                        u128::from(columns[index][lane]) & ptx_isa::arithmetic::mask(bits)
                    })
                    .collect();
                let expected = of.execute(&sources, false).expect("a result").results[0];
                assert_eq!(u128::from(found[lane]), expected, "{mnemonic} {sources:x?}");
            }
        }
        true
    }

    #[test]
    fn columns_are_computed_as_lanes() {
        let mut random = Random::new(1);
        let spelled = |op: AluOp, ty: Type| {
            let words: &str = op.into();
            format!("{words}.{ty}")
        };
        let arithmetic = AluOp::iter().flat_map(|op| Type::iter().map(move |ty| spelled(op, ty)));
        let compared = Cmp::iter().flat_map(|cmp| Type::iter().map(move |ty| format!("setp.{cmp}.{ty}")));
        let types = || Type::iter().filter(|ty| *ty != Type::Pred);
        let converted = types()
            .flat_map(|to| types().flat_map(move |from| ["cvt", "cvt.rn"].map(|cvt| format!("{cvt}.{to}.{from}"))));
        let count = arithmetic.chain(compared).chain(converted).filter(|mnemonic| check(mnemonic, &mut random)).count();
        assert!(count > 150, "{count} functions");
    }
}
