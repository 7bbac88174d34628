//! Tests of instructions on registers against the manual's pseudocode, in Rust's arithmetic.

use proptest::prelude::*;
use ptx_isa::arithmetic::{Computation, mask};

fn read_computation(mnemonic: &str) -> Computation {
    let (name, modifiers) = mnemonic.split_once('.').expect("a modifier");
    Computation::from_mnemonic(name, &modifiers.split('.').collect::<Vec<_>>())
        .unwrap_or_else(|| panic!("no {mnemonic}"))
}

fn check(mnemonic: &str, sources: &[u128], expected: impl Into<u128>) -> Result<(), TestCaseError> {
    let expected = expected.into();
    let found = read_computation(mnemonic).apply(sources);
    prop_assert!(found == Some(expected), "{mnemonic} of {sources:x?} is {found:x?}, not {expected:x}");
    Ok(())
}

/// The limits of ranges, zero, and arbitrary numbers.
fn word() -> impl Strategy<Value = u32> {
    let near = (prop::sample::select(vec![0u32, 7, 8, 15, 16, 23, 24, 31]), -2i32..3);
    let near = near.prop_map(|(bit, by)| (1u32 << bit).wrapping_add_signed(by));
    prop_oneof![near.clone(), near.prop_map(|word| !word), any::<u32>()]
}

/// The bits of zeros, infinities, NaN, subnormal and other numbers.
fn float() -> impl Strategy<Value = u32> {
    let special = [0, 1, 0x7F_FFFF, 0x80_0000, 0x3F80_0000, 0x7F7F_FFFF, 0x7F80_0000, 0x7F80_0001, 0x7FFF_FFFF];
    let special = (prop::sample::select(special.to_vec()), any::<bool>());
    let special = special.prop_map(|(bits, negative)| bits | u32::from(negative) << 31);
    prop_oneof![special, 0x3E00_0000..0x4100_0000u32, any::<u32>()]
}

fn carried(mnemonic: &str, sources: &[u32], carry: bool) -> Option<(u32, Option<bool>)> {
    let sources: Vec<u128> = sources.iter().map(|word| (*word).into()).collect();
    let outcome = read_computation(mnemonic).execute(&sources, carry)?;
    Some((outcome.results[0] as u32, outcome.carry))
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2048, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn carry(a in word(), b in word(), c in word(), flag: bool) {
        let plus = |a: u32, b: u32, flag: bool| {
            let (sum, over) = a.overflowing_add(b);
            let (sum, again) = sum.overflowing_add(flag.into());
            (sum, over || again)
        };
        let minus = |a: u32, b: u32, flag: bool| {
            let (rest, under) = a.overflowing_sub(b);
            let (rest, again) = rest.overflowing_sub((!flag).into());
            (rest, !(under || again))
        };
        let high = ((u64::from(a) * u64::from(b)) >> 32) as u32;
        let signed_high = ((i64::from(a as i32) * i64::from(b as i32)) >> 32) as u32;
        let low = a.wrapping_mul(b);
        for (name, ty, factors, (result, new)) in [
            ("add", "u32", 2, plus(a, b, false)),
            ("addc", "s32", 2, plus(a, b, flag)),
            ("sub", "s32", 2, minus(a, b, true)),
            ("subc", "u32", 2, minus(a, b, flag)),
            ("mad.lo", "s32", 3, plus(low, c, false)),
            ("madc.lo", "u32", 3, plus(low, c, flag)),
            ("mad.hi", "u32", 3, plus(high, c, false)),
            ("madc.hi", "s32", 3, plus(signed_high, c, flag)),
        ] {
            let sources = &[a, b, c][..factors];
            let mnemonic = format!("{name}.cc.{ty}");
            prop_assert_eq!(carried(&mnemonic, sources, flag), Some((result, Some(new))), "{}", mnemonic);
            if name.contains('c') {
                let mnemonic = format!("{name}.{ty}");
                prop_assert_eq!(carried(&mnemonic, sources, flag), Some((result, None)), "{}", mnemonic);
            }
        }
        // Two 32-bit differences chained by the carry flag equal one 64-bit difference.
        let [x, y] = [u64::from(a) << 32 | u64::from(c), u64::from(b) << 32 | u64::from(b ^ c)];
        let (low, flag) = carried("sub.cc.u32", &[c, b ^ c], false).expect("a result");
        let (high, flag) = carried("subc.cc.u32", &[a, b], flag == Some(true)).expect("a result");
        prop_assert_eq!((u64::from(high) << 32 | u64::from(low), flag), (x.wrapping_sub(y), Some(x >= y)));
    }

    #[test]
    fn integers(a in word(), b in word(), c in word()) {
        let sources = &[a.into(), b.into(), c.into()];
        let (two, one) = (&sources[..2], &sources[..1]);
        let [i, j, k] = [a, b, c].map(|word| word as i32);
        check("add.sat.s32", two, i.saturating_add(j) as u32)?;
        check("sub.sat.s32", two, i.saturating_sub(j) as u32)?;
        check("add.sat.u32", two, a.saturating_add(b))?;
        let high = ((i64::from(i) * i64::from(j)) >> 32) as i32;
        check("mad.hi.sat.s32", sources, high.saturating_add(k) as u32)?;
        let high = ((i64::from(i << 8 >> 8) * i64::from(j << 8 >> 8)) >> 16) as i32;
        check("mad24.hi.sat.s32", sources, high.saturating_add(k) as u32)?;
        check("min.relu.s32", two, i.min(j).max(0) as u32)?;
        check("max.relu.s32", two, i.max(j).max(0) as u32)?;

        let pairs = |of: &dyn Fn(u16, u16) -> u16| {
            u32::from(of((a >> 16) as u16, (b >> 16) as u16)) << 16 | u32::from(of(a as u16, b as u16))
        };
        let signed = |of: fn(i16, i16) -> i16| pairs(&|x, y| of(x as i16, y as i16) as u16);
        check("add.u16x2", two, pairs(&u16::wrapping_add))?;
        check("add.sat.u16x2", two, pairs(&u16::saturating_add))?;
        check("add.sat.s16x2", two, signed(i16::saturating_add))?;
        check("min.u16x2", two, pairs(&|x, y| x.min(y)))?;
        check("max.s16x2", two, signed(|x, y| x.max(y)))?;
        check("min.relu.s16x2", two, signed(|x, y| x.min(y).max(0)))?;

        let bytes = |of: &dyn Fn(u8, u8) -> u8| {
            let [x, y] = [a, b].map(u32::to_le_bytes);
            u32::from_le_bytes([0, 1, 2, 3].map(|at| of(x[at], y[at])))
        };
        check("sub.u8x4", two, bytes(&u8::wrapping_sub))?;
        check("sub.sat.u8x4", two, bytes(&u8::saturating_sub))?;
        check("sub.sat.s8x4", two, bytes(&|x, y| (x as i8).saturating_sub(y as i8) as u8))?;
        check("max.relu.s8x4", two, bytes(&|x, y| (x as i8).max(y as i8).max(0) as u8))?;
        check("neg.s8x4", one, bytes(&|x, _| x.wrapping_neg()))?;

        let sum = |signs: [bool; 2]| (0..4).fold(c, |sum, at| {
            let [x, y] = [(a, signs[0]), (b, signs[1])].map(|(word, signed)| {
                let byte = word.to_le_bytes()[at];
                if signed { i32::from(byte as i8) } else { byte.into() }
            });
            sum.wrapping_add((x * y) as u32)
        });
        check("dp4a.u32.u32", sources, sum([false, false]))?;
        check("dp4a.s32.u32", sources, sum([true, false]))?;
        check("dp4a.u32.s32", sources, sum([false, true]))?;
        check("dp4a.s32.s32", sources, sum([true, true]))?;
        let halves = |from: usize| (0..2).fold(c, |sum, at| {
            sum.wrapping_add((i32::from((a >> (16 * at)) as i16) * i32::from(b.to_le_bytes()[from + at])) as u32)
        });
        check("dp2a.lo.s32.u32", sources, halves(0))?;
        check("dp2a.hi.s32.u32", sources, halves(2))?;

        for (mnemonic, [least, most], bits) in [
            ("cvt.pack.sat.u2.s32.b32", [0, 3], 2),
            ("cvt.pack.sat.s4.s32.b32", [-8, 7], 4),
            ("cvt.pack.sat.u8.s32.b32", [0, 255], 8),
        ] {
            let [x, y] = [i, j].map(|value| value.clamp(least, most) as u32 & ((1 << bits) - 1));
            check(mnemonic, sources, c << (2 * bits) | x << bits | y)?;
        }
        let [x, y] = [i, j].map(|value| u32::from(value.clamp(-0x8000, 0x7FFF) as u16));
        check("cvt.pack.sat.s16.s32", two, x << 16 | y)?;
        check("cvt.sat.s8.s32", one, i.clamp(-128, 127) as u8)?;
        check("cvt.sat.u64.s32", one, i.max(0) as u64)?;
        check("cvt.sat.s32.u32", one, a.min(i32::MAX as u32))?;
    }

    /// The selected byte at each position, for each of the four values of the third operand.
    #[test]
    fn prmt(a in any::<u32>(), b in any::<u32>(), c in any::<u32>()) {
        let bytes = (u64::from(b) << 32 | u64::from(a)).to_le_bytes();
        let from = c as usize & 3;
        let picked = |of: &dyn Fn(usize) -> usize| u32::from_le_bytes([0, 1, 2, 3].map(|at| bytes[of(at)]));
        let sources = &[a.into(), b.into(), c.into()];
        check("prmt.b32.f4e", sources, picked(&|at| from + at))?;
        check("prmt.b32.b4e", sources, picked(&|at| (8 + from - at) % 8))?;
        check("prmt.b32.rc8", sources, picked(&|_| from))?;
        check("prmt.b32.ecl", sources, picked(&|at| at.max(from)))?;
        check("prmt.b32.ecr", sources, picked(&|at| at.min(from)))?;
        check("prmt.b32.rc16", sources, picked(&|at| from % 2 * 2 + at % 2))?;
    }

    /// The nearest power of two below or equal, or above or equal.
    #[test]
    fn powers(bits in float()) {
        let x = f64::from(f32::from_bits(bits).abs());
        let power = |code: i32| 2f64.powi(code - 127);
        let sources = &[0, bits.into()];
        for (mnemonic, code) in [
            ("cvt.rz.ue8m0x2.f32", (0..0xFF).rev().find(|code| power(*code) <= x)),
            ("cvt.rp.satfinite.ue8m0x2.f32", (0..0xFF).find(|code| power(*code) >= x).or(Some(0xFE))),
        ] {
            let code = if x.is_nan() { 0xFF } else { code.unwrap_or(0) };
            check(mnemonic, sources, code as u32)?;
        }
    }

    /// `fns`, as the loop in the manual.
    #[test]
    fn fns(word in word(), base in 0u32..40, offset in -35i32..35) {
        let is_set = |at: i64| (0..32).contains(&at) && word >> at & 1 == 1;
        let mut found = u32::MAX;
        if offset == 0 {
            found = if is_set(base.into()) { base } else { found };
        } else {
            let (mut at, mut count) = (i64::from(base), offset.abs() - 1);
            while (0..32).contains(&at) {
                if is_set(at) && count == 0 {
                    found = at as u32;
                    break;
                }
                count -= i32::from(is_set(at));
                at += i64::from(offset.signum());
            }
        }
        check("fns.b32", &[word.into(), base.into(), u128::from(offset as u32)], found)?;
    }

    #[test]
    fn extremes(a in float(), b in float(), c in float()) {
        let [x, y, z] = [a, b, c].map(f32::from_bits);
        let sources = &[a.into(), b.into(), c.into()];
        let bits = |value: f32| u128::from(if value.is_nan() { 0x7FFF_FFFF } else { value.to_bits() });
        // A number is preferred to NaN, and -0 is less than +0.
        let min = |x: f32, y: f32| match (x.is_nan(), y.is_nan()) {
            (false, false) => if x.total_cmp(&y).is_lt() { x } else { y },
            (true, _) => y,
            _ => x,
        };
        let max = |x: f32, y: f32| -min(-x, -y);
        let nan_or = |value: f32, any: &[f32]| if any.iter().any(|x| x.is_nan()) { f32::NAN } else { value };
        check("min.f32", &sources[..2], bits(min(x, y)))?;
        check("max.f32", &sources[..2], bits(max(x, y)))?;
        check("min.NaN.f32", &sources[..2], bits(nan_or(min(x, y), &[x, y])))?;
        check("max.f32", sources, bits(max(max(x, y), z)))?;
        check("min.NaN.f32", sources, bits(nan_or(min(min(x, y), z), &[x, y, z])))?;
        check("max.abs.f32", sources, bits(max(max(x.abs(), y.abs()), z.abs())))?;
        let sign = f32::from_bits((a ^ b) & 0x8000_0000);
        check("max.xorsign.abs.f32", &sources[..2], bits(max(x.abs(), y.abs()).copysign(sign)))?;
        let flushed = |x: f32| if x.is_subnormal() { 0f32.copysign(x) } else { x };
        check("max.ftz.f32", &sources[..2], bits(max(flushed(x), flushed(y))))?;

        let is_first = z >= 0.0;
        check("slct.f32.f32", sources, if is_first { a } else { b })?;
        check("slct.ftz.b32.f32", sources, if flushed(z) >= 0.0 { a } else { b })?;
        let unit = |x: f32| if x > 0.0 { x.min(1.0) } else { 0.0 };
        check("add.sat.f32", &sources[..2], bits(unit(x + y)))?;
        check("mul.ftz.sat.f32", &sources[..2], bits(unit(flushed(flushed(x) * flushed(y)))))?;
        check("cvt.sat.f32.f32", &sources[..1], bits(unit(x)))?;
    }

    #[test]
    fn comparisons(a in float(), b in float(), flag: bool) {
        let [x, y] = [a, b].map(f32::from_bits);
        let sources = [a.into(), b.into(), flag.into()];
        let unordered = x.is_nan() || y.is_nan();
        let flushed = |x: f32| if x.is_subnormal() { 0f32.copysign(x) } else { x };
        for (name, holds, flushed) in [
            ("eq", x == y, flushed(x) == flushed(y)),
            ("ne", x != y && !unordered, flushed(x) != flushed(y) && !unordered),
            ("lt", x < y, flushed(x) < flushed(y)),
            ("leu", x <= y || unordered, flushed(x) <= flushed(y) || unordered),
            ("gtu", x > y || unordered, flushed(x) > flushed(y) || unordered),
            ("neu", x != y || unordered, flushed(x) != flushed(y) || unordered),
            ("num", !unordered, !unordered),
            ("nan", unordered, unordered),
        ] {
            let found = |mnemonic: String, count: usize| {
                read_computation(&mnemonic).execute(&sources[..count], false).map(|of| of.results)
            };
            let both = |combine: fn(bool, bool) -> bool, holds: bool| {
                Some([holds, !holds].map(|holds| u128::from(combine(holds, flag))))
            };
            prop_assert_eq!(found(format!("setp.{name}.f32"), 2), Some([holds.into(), (!holds).into()]));
            prop_assert_eq!(found(format!("setp.{name}.and.f32"), 3), both(|x, y| x && y, holds));
            prop_assert_eq!(found(format!("setp.{name}.or.ftz.f32"), 3), both(|x, y| x || y, flushed));
            prop_assert_eq!(found(format!("setp.{name}.xor.f32"), 3), both(|x, y| x ^ y, holds));
            check(&format!("set.{name}.u32.f32"), &sources[..2], if holds { u32::MAX } else { 0 })?;
            check(&format!("set.{name}.ftz.f32.f32"), &sources[..2], if flushed { 0x3F80_0000u32 } else { 0 })?;
        }
    }

    /// The results are within one unit in the last place of Rust's.
    #[test]
    fn approximate(bits in float()) {
        let x = f64::from(f32::from_bits(bits));
        for (mnemonic, exact) in [
            ("ex2.approx.f32", x.exp2()),
            ("lg2.approx.f32", x.log2()),
            ("sin.approx.f32", x.sin()),
            ("cos.approx.f32", x.cos()),
            ("tanh.approx.f32", x.tanh()),
            ("rsqrt.approx.f32", x.sqrt().recip()),
            ("rcp.approx.f32", x.recip()),
            ("sqrt.approx.f32", x.sqrt()),
        ] {
            let found = read_computation(mnemonic).apply(&[bits.into()]).expect("a result") as u32;
            let expected = exact as f32;
            let is_near = found.abs_diff(expected.to_bits()) <= 1;
            prop_assert!(is_near || expected.is_nan() && found == 0x7FFF_FFFF, "{mnemonic} of {x:e}: {found:x}");
        }
    }
}

/// The word of the results for each pair of elements, and their sum with `c`.
fn video<const LANES: usize>(of: &dyn Fn(i32, i32) -> i32, signs: [bool; 2], [a, b, c]: [u32; 3]) -> (u32, u32) {
    let bits = 32 / LANES as u32;
    let element = |word: u32, signed: bool, lane: usize| {
        let high = word << (32 - bits - bits * lane as u32);
        if signed { high as i32 >> (32 - bits) } else { (high >> (32 - bits)) as i32 }
    };
    let results = (0..LANES).map(|lane| of(element(a, signs[0], lane), element(b, signs[1], lane)));
    results.enumerate().fold((0, c), |(word, sum), (lane, result)| {
        let field = (result as u32) << (32 - bits) >> (32 - bits);
        (word | field << (bits * lane as u32), sum.wrapping_add_signed(result))
    })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2048, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn video_instructions(a in word(), b in word(), c in word()) {
        let (sources, words) = ([a.into(), b.into(), c.into()], [a, b, c]);
        let distance = |x: i32, y: i32| (x - y).abs();
        // Half of an odd sum is rounded away from zero.
        let mean = |x: i32, y: i32| (f64::from(x + y) / 2.0).round() as i32;
        let four = |of: &dyn Fn(i32, i32) -> i32, signs| video::<4>(of, signs, words);
        let two = |of: &dyn Fn(i32, i32) -> i32, signs| video::<2>(of, signs, words);
        check("vabsdiff4.u32.u32.u32", &sources, four(&distance, [false, false]).0)?;
        check("vabsdiff4.u32.u32.u32.add", &sources, four(&distance, [false, false]).1)?;
        check("vabsdiff2.s32.s32.u32.add", &sources, two(&distance, [true, false]).1)?;
        check("vavrg4.s32.s32.s32", &sources, four(&mean, [true, true]).0)?;
        check("vavrg2.u32.u32.u32", &sources, two(&mean, [false, false]).0)?;
        check("vadd4.u32.u32.s32.sat", &sources, four(&|x, y| (x + y).clamp(0, 255), [false, true]).0)?;
        check("vsub2.s32.s32.s32.sat", &sources, two(&|x, y| (x - y).clamp(-0x8000, 0x7FFF), [true, true]).0)?;
        check("vsub4.s32.u32.u32.add", &sources, four(&|x, y| x - y, [false, false]).1)?;
        check("vmin2.s32.s32.s32", &sources, two(&|x, y| x.min(y), [true, true]).0)?;
        check("vmax4.u32.u32.u32", &sources, four(&|x, y| x.max(y), [false, false]).0)?;
        check("vset4.s32.s32.lt", &sources, four(&|x, y| (x < y).into(), [true, true]).0)?;
        check("vset2.u32.u32.ne.add", &sources, two(&|x, y| (x != y).into(), [false, false]).1)?;
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 64, failure_persistence: None, ..ProptestConfig::default() })]

    /// Executes every instruction on arbitrary bits, with the right number of operands, too few and too many.
    #[test]
    fn nothing_panics(sources: [u128; 6], flag: bool) {
        for form in Computation::forms() {
            let (name, modifiers) = form.split_once('.').expect("a type");
            let modifiers: Vec<&str> = modifiers.split('.').collect();
            let Some(of) = Computation::from_mnemonic(name, &modifiers) else { continue };
            for count in 0..=sources.len() {
                let outcome = of.execute(&sources[..count], flag);
                prop_assert_eq!(outcome.is_some(), of.takes(count), "{} of {}", form, count);
                let Some(outcome) = outcome else { continue };
                for (result, ty) in outcome.results.into_iter().zip(of.result_types()) {
                    prop_assert_eq!(result & !mask(ty.bits()), 0, "{}", form);
                }
                // Bits above an operand's type are ignored.
                let fitting: Vec<u128> = sources[..count]
                    .iter()
                    .enumerate()
                    .map(|(index, source)| source & mask(of.source_type(index).bits()))
                    .collect();
                prop_assert_eq!(of.execute(&fitting, flag), Some(outcome), "{}", form);
            }
        }
    }
}
