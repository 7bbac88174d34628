//! Tests of floating-point instructions in every rounding direction, against rustc's software floating point.

use std::{collections::HashMap, fmt::Display};

use itertools::iproduct;
use ptx_isa::arithmetic::{Computation, mask};
use rustc_apfloat::{
    Float, FloatConvert, Round,
    ieee::{BFloat, Double, Float8E4M3FN, Float8E5M2, Half, Single},
};

const CASES: usize = 20_000;

const ROUNDINGS: [(&str, Round); 4] = [
    ("rn", Round::NearestTiesToEven),
    ("rz", Round::TowardZero),
    ("rm", Round::TowardNegative),
    ("rp", Round::TowardPositive),
];

fn read_computation(mnemonic: &str) -> Computation {
    let (name, modifiers) = mnemonic.split_once('.').expect("a modifier");
    Computation::from_mnemonic(name, &modifiers.split('.').collect::<Vec<_>>())
        .unwrap_or_else(|| panic!("no {mnemonic}"))
}

#[track_caller]
fn check(mnemonic: impl Display, found: Option<u128>, expected: u128, sources: &[u128]) {
    assert!(found == Some(expected), "{mnemonic} of {sources:x?} is {found:x?}, not {expected:x}");
}

/// A generator of numbers that exercise rounding: most have exponents near each other, and significands with few ones
/// or few zeros.
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let mixed = (self.0 ^ self.0 >> 32).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        mixed ^ mixed >> 29
    }

    fn pick(&mut self, bits: u32, digits: u32) -> u128 {
        let sign = 1 << (bits - 1);
        let infinity = sign - (1 << digits);
        let special = [0, 1, 2, (1 << digits) - 1, 1 << digits, infinity - 1, infinity, infinity + 1, sign - 1];
        let word = self.next();
        let negative = if word & 1 == 1 { sign } else { 0 };
        let fraction = match word >> 1 & 3 {
            0 => 1 << (self.next() % u64::from(digits)),
            1 => (1 << digits) - (1 << (self.next() % u64::from(digits))),
            2 => 1 << (self.next() % u64::from(digits)) | 1 << (self.next() % u64::from(digits)),
            _ => u128::from(self.next()),
        } & ((1 << digits) - 1);
        let one = infinity >> 1 & infinity;
        let near = (i128::from(self.next() % 64) - 32) << digits;
        let magnitude = match word >> 3 & 7 {
            0 => special[(word >> 8) as usize % special.len()],
            1 => u128::from(self.next()) & (sign - 1),
            2 => fraction,
            _ => match one.wrapping_add_signed(near) & infinity {
                exponent if exponent == infinity => one | fraction,
                exponent => exponent | fraction,
            },
        };
        negative | magnitude
    }
}

/// A format: PTX's name, its width and its digits.
trait Format: Float {
    const NAME: &'static str;
    const WIDTH: u32;
    const DIGITS: u32;

    /// The bits; for NaN, PTX's bits.
    fn bits(self) -> u128 {
        match self.is_nan() {
            true if Self::WIDTH == 64 => 0xFFF8 << 48,
            true => mask(Self::WIDTH - 1),
            false => self.to_bits(),
        }
    }

    fn flushed(self) -> Self {
        if self.is_denormal() { Self::ZERO.copy_sign(self) } else { self }
    }

    /// The result of an instruction, with an `f64` NaN normalized, because its payload depends on the operand.
    fn seen(found: Option<u128>) -> Option<u128> {
        found.map(|found| if Self::from_bits(found).is_nan() && Self::WIDTH == 64 { 0xFFF8 << 48 } else { found })
    }
}

macro_rules! formats {
    ($($float:ty, $name:literal, $bits:literal, $digits:literal;)*) => { $(
        impl Format for $float {
            const NAME: &'static str = $name;
            const WIDTH: u32 = $bits;
            const DIGITS: u32 = $digits;
        }
    )* };
}

formats! {
    Half, "f16", 16, 10;
    BFloat, "bf16", 16, 7;
    Single, "f32", 32, 23;
    Double, "f64", 64, 52;
    Float8E4M3FN, "e4m3", 8, 3;
    Float8E5M2, "e5m2", 8, 2;
}

type Binary<F> = fn(F, F, F, Round) -> F;

/// Tests the operations of one type in these directions, also with `.ftz` if the type has it.
fn arithmetic<F: Format>(operations: &[(&str, usize, Binary<F>)], roundings: &[(&str, Round)], ftz: bool) {
    let mut numbers = Numbers(F::WIDTH.into());
    for ((op, arity, compute), (rounding, round)) in iproduct!(operations, roundings) {
        for flushes in [false, true].into_iter().filter(|flushes| ftz || !flushes) {
            let mnemonic = format!("{op}.{rounding}{}.{}", if flushes { ".ftz" } else { "" }, F::NAME);
            let instruction = read_computation(&mnemonic);
            for _ in 0..CASES {
                let sources = [0; 3].map(|_: u128| numbers.pick(F::WIDTH, F::DIGITS));
                let flush = |value: F| if flushes { value.flushed() } else { value };
                let [x, y, z] = sources.map(|bits| flush(F::from_bits(bits)));
                let found = F::seen(instruction.apply(&sources[..*arity]));
                check(&mnemonic, found, flush(compute(x, y, z, *round)).bits(), &sources[..*arity]);
            }
        }
    }
}

fn operations<F: Format>() -> [(&'static str, usize, Binary<F>); 4] {
    [
        ("add", 2, |x, y, _, round| x.add_r(y, round).value),
        ("sub", 2, |x, y, _, round| x.sub_r(y, round).value),
        ("mul", 2, |x, y, _, round| x.mul_r(y, round).value),
        ("fma", 3, |x, y, z, round| x.mul_add_r(y, z, round).value),
    ]
}

fn quotients<F: Format>() -> [(&'static str, usize, Binary<F>); 2] {
    [
        ("div", 2, |x, y, _, round| x.div_r(y, round).value),
        ("rcp", 1, |x, _, _, round| F::from_u128(1).value.div_r(x, round).value),
    ]
}

#[test]
fn single() {
    arithmetic::<Single>(&operations(), &ROUNDINGS, true);
    arithmetic::<Single>(&quotients(), &ROUNDINGS, true);
}

#[test]
fn double() {
    arithmetic::<Double>(&operations(), &ROUNDINGS, false);
    arithmetic::<Double>(&quotients(), &ROUNDINGS, false);
}

#[test]
fn halves() {
    arithmetic::<Half>(&operations(), &ROUNDINGS[..1], true);
    arithmetic::<BFloat>(&operations(), &ROUNDINGS[..1], false);
    arithmetic::<BFloat>(&operations()[3..], &ROUNDINGS, false);
}

/// The elements of a pair are computed separately; narrower operands are widened first.
#[test]
fn pairs_and_mixed() {
    let mut numbers = Numbers(7);
    for (rounding, (op, arity)) in iproduct!(["rn", "rz", "rm", "rp"], [("add", 2), ("sub", 2), ("mul", 2), ("fma", 3)])
    {
        for (ty, bits, digits) in [("f32", 32, 23), ("f16", 16, 10), ("bf16", 16, 7)] {
            if ty != "f32" && rounding != "rn" {
                continue;
            }
            let (one, both) = (
                read_computation(&format!("{op}.{rounding}.{ty}")),
                read_computation(&format!("{op}.{rounding}.{ty}x2")),
            );
            for _ in 0..CASES / 10 {
                let [low, high] = [0; 2].map(|_: u128| [0; 3].map(|_: u128| numbers.pick(bits, digits)));
                let sources = [0, 1, 2].map(|index: usize| high[index] << bits | low[index]);
                let [low, high] = [low, high].map(|part| one.apply(&part[..arity]).expect("a result"));
                check(format!("{op}.{ty}x2"), both.apply(&sources[..arity]), high << bits | low, &sources);
            }
        }
        for (ty, digits) in [("f16", 10), ("bf16", 7)].into_iter().filter(|_| op != "mul") {
            let (one, mixed) = (
                read_computation(&format!("{op}.{rounding}.f32")),
                read_computation(&format!("{op}.{rounding}.f32.{ty}")),
            );
            let widened = read_computation(&format!("cvt.f32.{ty}"));
            for _ in 0..CASES / 10 {
                let mut sources = [0; 3].map(|_: u128| numbers.pick(16, digits));
                sources[arity - 1] = numbers.pick(32, 23);
                let wide = [0, 1, 2].map(|index| match index + 1 < arity {
                    true => widened.apply(&[sources[index]]).expect("a result"),
                    false => sources[index],
                });
                let expected = one.apply(&wide[..arity]).expect("a result");
                check(format!("{op}.f32.{ty}"), mixed.apply(&sources[..arity]), expected, &sources);
            }
        }
    }
}

/// A root rounded down is the last number whose square is not above the operand, a root rounded up the first whose
/// square is not below it; the nearest root has no nearer neighbor.
#[test]
fn roots() {
    let mut numbers = Numbers(3);
    let [down, up, zero, near] =
        ["rm", "rp", "rz", "rn"].map(|rounding| read_computation(&format!("sqrt.{rounding}.f32")));
    for _ in 0..CASES * 4 {
        let bits = numbers.pick(32, 23);
        let x = f32::from_bits(bits as u32);
        let [low, high, zero, near] = [down, up, zero, near].map(|root| root.apply(&[bits]).expect("a result") as u32);
        assert_eq!((low, near), (zero, if x.sqrt().is_nan() { 0x7FFF_FFFF } else { x.sqrt().to_bits() }), "{x:e}");
        if x > 0.0 && x.is_finite() {
            // Squares of 24 digits are exact.
            let square = |bits: u32| f64::from(f32::from_bits(bits)).powi(2);
            let is_exact = square(low) == f64::from(x);
            assert!(square(low) <= f64::from(x) && f64::from(x) <= square(high), "{x:e}");
            assert_eq!(high, low + u32::from(!is_exact), "{x:e}");
        }
    }
    let [down, up, near] = ["rm", "rp", "rn"].map(|rounding| read_computation(&format!("sqrt.{rounding}.f64")));
    for _ in 0..CASES {
        let bits = numbers.pick(64, 52) & mask(63);
        let x = f64::from_bits(bits as u64);
        if !x.is_finite() || x < 1e-200 {
            continue;
        }
        let of = |root: Computation| root.apply(&[bits]).expect("a result") as u64;
        let (low, high) = (of(down), of(up));
        // The difference between the operand and the square, rounded once.
        let lacks = |bits: u64| f64::from_bits(bits).mul_add(-f64::from_bits(bits), x);
        assert!(lacks(low) >= 0.0 && lacks(high) <= 0.0, "{x:e}");
        assert_eq!(high, low + u64::from(lacks(low) != 0.0), "{x:e}");
        assert_eq!(of(near), x.sqrt().to_bits(), "{x:e}");
    }
}

/// Tests conversions from one format to another.
fn convert<F: Format + FloatConvert<G>, G: Format>(numbers: &mut Numbers, directions: &[(&str, Round)]) {
    for (rounding, round) in directions {
        let dot = if rounding.is_empty() { "" } else { "." };
        let mnemonic = format!("cvt{dot}{rounding}.{}.{}", G::NAME, F::NAME);
        let instruction = read_computation(&mnemonic);
        for _ in 0..CASES {
            let bits = numbers.pick(F::WIDTH, F::DIGITS);
            let expected: G = F::from_bits(bits).convert_r(*round, &mut false).value;
            check(&mnemonic, G::seen(instruction.apply(&[bits])), expected.bits(), &[bits]);
        }
    }
}

#[test]
fn between_formats() {
    let mut numbers = Numbers(11);
    let exact = [("", Round::NearestTiesToEven)];
    convert::<Single, Half>(&mut numbers, &ROUNDINGS);
    convert::<Single, BFloat>(&mut numbers, &ROUNDINGS);
    convert::<Double, Single>(&mut numbers, &ROUNDINGS);
    convert::<Double, Half>(&mut numbers, &ROUNDINGS);
    convert::<Double, BFloat>(&mut numbers, &ROUNDINGS);
    convert::<Half, BFloat>(&mut numbers, &ROUNDINGS);
    convert::<BFloat, Half>(&mut numbers, &ROUNDINGS);
    convert::<Half, Single>(&mut numbers, &exact);
    convert::<BFloat, Single>(&mut numbers, &exact);
    convert::<Half, Double>(&mut numbers, &exact);
    convert::<BFloat, Double>(&mut numbers, &exact);
    convert::<Single, Double>(&mut numbers, &exact);
}

/// Tests conversions to integers of every width, and to integral numbers.
fn integers<F: Format>() {
    let mut numbers = Numbers(u64::from(F::DIGITS));
    let roundings = [("rni", 0), ("rzi", 1), ("rmi", 2), ("rpi", 3)].map(|(name, index)| (name, ROUNDINGS[index].1));
    let widths = [8, 16, 32, 64].into_iter().filter(|width| F::NAME != "bf16" || *width > 8);
    for ((name, round), width, signed) in iproduct!(roundings, widths, [false, true]) {
        let mnemonic = format!("cvt.{name}.{}{width}.{}", if signed { "s" } else { "u" }, F::NAME);
        let instruction = read_computation(&mnemonic);
        for _ in 0..CASES / 8 {
            let bits = numbers.pick(F::WIDTH, F::DIGITS);
            let value = F::from_bits(bits);
            let expected = match value.is_nan() {
                true if width == 64 || F::WIDTH == 64 => 1 << (width - 1),
                true => 0,
                false if signed => value.to_i128_r(width, round, &mut false).value as u128 & mask(width as u32),
                false => value.to_u128_r(width, round, &mut false).value,
            };
            check(&mnemonic, instruction.apply(&[bits]), expected, &[bits]);
        }
    }
    for (name, round) in roundings {
        let mnemonic = format!("cvt.{name}.{ty}.{ty}", ty = F::NAME);
        let instruction = read_computation(&mnemonic);
        for _ in 0..CASES {
            let bits = numbers.pick(F::WIDTH, F::DIGITS);
            let expected = F::from_bits(bits).round_to_integral(round).value;
            check(&mnemonic, F::seen(instruction.apply(&[bits])), expected.bits(), &[bits]);
        }
    }
    for ((name, round), width, signed) in iproduct!(ROUNDINGS, [16, 32, 64], [false, true]) {
        let mnemonic = format!("cvt.{name}.{}.{}{width}", F::NAME, if signed { "s" } else { "u" });
        let instruction = read_computation(&mnemonic);
        for _ in 0..CASES / 8 {
            let value = u128::from(numbers.next() >> (numbers.next() % 64)) & mask(width);
            let number = if signed { (value << (128 - width)) as i128 >> (128 - width) } else { value as i128 };
            check(&mnemonic, instruction.apply(&[value]), F::from_i128_r(number, round).value.bits(), &[value]);
        }
    }
}

#[test]
fn to_and_from_integers() {
    integers::<Half>();
    integers::<BFloat>();
    integers::<Single>();
    integers::<Double>();
}

/// Tests formats of 8 bits: a number converts to the nearest number of the format, and each number of the format to a
/// half.
fn bytes<F: Format + FloatConvert<Half>>()
where
    Single: FloatConvert<F>,
    Half: FloatConvert<F>,
{
    let mut numbers = Numbers(5);
    let narrow = |value: Single| -> u128 {
        let largest = F::largest();
        let narrowed = FloatConvert::<F>::convert(value, &mut false).value;
        let is_beyond = !value.is_nan() && (!narrowed.is_finite());
        if is_beyond {
            largest.copy_sign(F::from_bits(if value.is_negative() { 0x80 } else { 0 })).to_bits()
        } else {
            narrowed.bits()
        }
    };
    let instruction = read_computation(&format!("cvt.rn.satfinite.{}x2.f32", F::NAME));
    for _ in 0..CASES * 4 {
        let sources = [0; 2].map(|_: u128| numbers.pick(32, 23));
        let [upper, lower] = sources.map(|bits| narrow(Single::from_bits(bits)));
        check(F::NAME, instruction.apply(&sources), upper << 8 | lower, &sources);
    }
    let instruction = read_computation(&format!("cvt.rn.satfinite.{}x2.f16x2", F::NAME));
    for half in 0..1 << 16 {
        let wide = FloatConvert::<Single>::convert(Half::from_bits(half), &mut false).value;
        check(F::NAME, instruction.apply(&[half]), narrow(wide) | narrow(Single::from_bits(0)) << 8, &[half]);
    }
    let instruction = read_computation(&format!("cvt.rn.f16x2.{}x2", F::NAME));
    for (low, high) in iproduct!(0..256, 0..256) {
        let [lower, upper] = [low, high].map(|byte| {
            let half: Half = F::from_bits(byte).convert(&mut false).value;
            half.bits()
        });
        check(F::NAME, instruction.apply(&[high << 8 | low]), upper << 16 | lower, &[low, high]);
    }
}

#[test]
fn of_eight_bits() {
    bytes::<Float8E4M3FN>();
    bytes::<Float8E5M2>();
}

/// Formats of fewer bits are tested exhaustively: each number survives a round trip, and an arbitrary number becomes
/// the nearest one.
#[test]
fn of_fewer_bits() {
    let mut numbers = Numbers(9);
    for (name, bits, digits, bias) in [("e2m1", 4, 1, 1), ("e2m3", 6, 3, 1), ("e3m2", 6, 2, 3)] {
        let step = if bits == 4 { 4 } else { 8 };
        let value = |code: u128| {
            let (exponent, fraction) = ((code & mask(bits - 1)) >> digits, (code & mask(digits)) as f64);
            let unit = 2f64.powi(exponent.max(1) as i32 - bias - digits as i32);
            let magnitude = unit * if exponent == 0 { fraction } else { fraction + 2f64.powi(digits as i32) };
            if code >> (bits - 1) == 1 { -magnitude } else { magnitude }
        };
        let all: HashMap<u128, f64> = (0..1 << bits).map(|code| (code, value(code))).collect();
        let (narrow, widen) = (
            read_computation(&format!("cvt.rn.satfinite.{name}x2.f32")),
            read_computation(&format!("cvt.rn.f16x2.{name}x2")),
        );
        for (code, value) in &all {
            let half: Half = Single::from_bits((*value as f32).to_bits().into()).convert(&mut false).value;
            check(name, widen.apply(&[*code]), half.to_bits(), &[*code]);
        }
        for _ in 0..CASES {
            let source = u128::from(match numbers.next() % 4 {
                0 => numbers.pick(32, 23) as u32,
                _ => ((numbers.next() % 4096) as f32 / 128.0 - 16.0).to_bits(),
            });
            let x = f64::from(f32::from_bits(source as u32));
            let found = narrow.apply(&[0, source]).expect("a result");
            assert_eq!(found >> step, 0);
            if x.is_nan() {
                assert_eq!(found, mask(bits - 1), "{name}");
                continue;
            }
            let distance = |code: u128| (all[&code] - x.clamp(-value(mask(bits - 1)), value(mask(bits - 1)))).abs();
            let least = all.keys().map(|code| distance(*code)).fold(f64::MAX, f64::min);
            // A tie goes to the even number; a zero keeps the operand's sign.
            let is_tie = all.keys().filter(|code| distance(**code) == least && all[*code] != 0.0).count() > 1
                || least > 0.0 && all.keys().filter(|code| distance(**code) == least).count() == 3;
            assert!(distance(found) == least && (!is_tie || found & 1 == 0), "{name} of {x}: {found:x}");
            assert_eq!(found >> (bits - 1), source >> 31, "{name} of {x}");
        }
    }
}

/// `tf32` has the digits of a half; the lower digits of an `f32` are discarded.
#[test]
fn of_nineteen_bits() {
    let mut numbers = Numbers(13);
    let [near, away, zero] = ["rn", "rna", "rz"].map(|rounding| read_computation(&format!("cvt.{rounding}.tf32.f32")));
    for _ in 0..CASES {
        let bits = numbers.pick(32, 23);
        let is_nan = bits & mask(31) > 0x7F80_0000;
        let of = |added: u128| if is_nan { 0x7FFF_E000 } else { (bits + added) & !0x1FFF };
        check("rna", away.apply(&[bits]), of(0x1000), &[bits]);
        check("rn", near.apply(&[bits]), of(0xFFF + (bits >> 13 & 1)), &[bits]);
        check("rz", zero.apply(&[bits]), of(0), &[bits]);
    }
}
