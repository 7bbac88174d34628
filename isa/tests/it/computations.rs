//! Tests of computing instructions beyond plain integer arithmetic.

use ptx_isa::arithmetic::{Computation, Outcome};

fn read_computation(mnemonic: &str) -> Computation {
    let (name, modifiers) = mnemonic.split_once('.').unwrap_or((mnemonic, ""));
    let modifiers: Vec<&str> = modifiers.split('.').collect();
    Computation::from_mnemonic(name, &modifiers).unwrap_or_else(|| panic!("{mnemonic} is not read"))
}

/// Checks the results of an instruction. If it has one result, the second is 0.
#[track_caller]
fn check<const N: usize>(mnemonic: &str, sources: [u128; N], results: [u128; 2]) {
    let found = read_computation(mnemonic).execute(&sources, false).map(|outcome| outcome.results);
    assert_eq!(found, Some(results), "{mnemonic} of {sources:x?}: {found:x?}");
}

/// Checks an instruction that uses the carry flag.
#[track_caller]
fn carried<const N: usize>(mnemonic: &str, sources: [u128; N], carry: bool, result: u128, new: Option<bool>) {
    let found = read_computation(mnemonic).execute(&sources, carry);
    assert_eq!(found, Some(Outcome { results: [result, 0], carry: new }), "{mnemonic} of {sources:x?} and {carry}");
}

const NAN: u128 = 0x7FFF_FFFF;
const INFINITY: u128 = 0x7F80_0000;
const ONE: u128 = 0x3F80_0000;
const MINUS: u128 = 0x8000_0000;

#[test]
fn carry() {
    let ones = 0xFFFF_FFFF;
    carried("add.cc.u32", [ones, 1], false, 0, Some(true));
    carried("add.cc.u32", [ones, 1], true, 0, Some(true));
    carried("add.cc.s32", [1, 1], true, 2, Some(false));
    carried("addc.u32", [1, 1], true, 3, None);
    carried("addc.cc.u32", [ones, 0], true, 0, Some(true));
    carried("addc.cc.u64", [u64::MAX.into(), u64::MAX.into()], true, u64::MAX.into(), Some(true));
    // The flag of a difference is the carry of a sum with the complement, as on GPUs: set unless a borrow occurs.
    carried("sub.cc.u32", [0, 1], false, ones, Some(false));
    carried("sub.cc.u32", [1, 1], true, 0, Some(true));
    carried("sub.cc.u32", [1, 0], true, 1, Some(true));
    carried("subc.cc.u32", [1, 1], false, ones, Some(false));
    carried("subc.cc.u32", [0, ones], false, 0, Some(false));
    carried("subc.cc.u32", [0, ones], true, 1, Some(false));
    carried("subc.cc.u32", [0, 0], true, 0, Some(true));
    carried("subc.u64", [5, 2], true, 3, None);
    carried("subc.u64", [5, 2], false, 2, None);
    carried("mad.lo.cc.u32", [ones, 2, 2], true, 0, Some(true));
    carried("mad.hi.cc.u32", [ones, 2, ones], false, 0, Some(true));
    carried("mad.hi.cc.s32", [ones, 2, 1], false, 0, Some(true));
    carried("madc.lo.u32", [3, 4, 5], true, 18, None);
    carried("madc.hi.cc.u64", [u64::MAX.into(), u64::MAX.into(), 1], true, 0, Some(true));
    assert!(
        read_computation("addc.cc.u32").uses_carry()
            && read_computation("madc.lo.s32").uses_carry()
            && !read_computation("mad.lo.cc.s32").uses_carry()
    );
    assert_eq!(read_computation("addc.u32").apply(&[1, 1]), None);
    assert_eq!(read_computation("add.cc.u32").apply(&[1, 1]), Some(2));
}

#[test]
fn saturated_and_packed() {
    check("add.sat.s32", [0x7FFF_FFFF, 1], [0x7FFF_FFFF, 0]);
    check("sub.sat.s32", [0x8000_0000, 1], [0x8000_0000, 0]);
    check("add.sat.u32", [0xFFFF_FFFF, 1], [0xFFFF_FFFF, 0]);
    check("mad.hi.sat.s32", [0x7FFF_FFFF, 0x7FFF_FFFF, 0x7FFF_FFFF], [0x7FFF_FFFF, 0]);
    check("mad24.hi.sat.s32", [0x7F_FFFF, 0x7F_FFFF, 0x7FFF_FFFF], [0x7FFF_FFFF, 0]);
    check("add.u16x2", [0x0001_FFFF, 0x0001_0001], [0x0002_0000, 0]);
    check("min.s16x2", [0xFFFF_0001, 0x0001_FFFF], [0xFFFF_FFFF, 0]);
    check("max.u16x2", [0xFFFF_0001, 0x0001_FFFF], [0xFFFF_FFFF, 0]);
    check("min.relu.s32", [0xFFFF_FFFF, 5], [0, 0]);
    check("max.relu.s16x2", [0xFFFF_0001, 0xFFFE_0002], [2, 0]);
    check("add.sat.u8x4", [0xFF01_0203, 0x0101_0101], [0xFF02_0304, 0]);
    check("neg.s8x4", [0x8001_FF00], [0x80FF_0100, 0]);
    check("div.u32", [7, 0], [0xFFFF_FFFF, 0]);
    check("rem.s64", [7, 0], [u64::MAX.into(), 0]);
    check("div.s32", [0x8000_0000, 0xFFFF_FFFF], [0x8000_0000, 0]);
}

#[test]
fn bytes_and_bits() {
    let (a, b) = (0x3322_1100, 0x7766_5544);
    check("prmt.b32.f4e", [a, b, 1], [0x4433_2211, 0]);
    check("prmt.b32.b4e", [a, b, 1], [0x6677_0011, 0]);
    check("prmt.b32.rc8", [a, b, 6], [0x2222_2222, 0]);
    check("prmt.b32.ecl", [a, b, 2], [0x3322_2222, 0]);
    check("prmt.b32.ecr", [a, b, 2], [0x2222_1100, 0]);
    check("prmt.b32.rc16", [a, b, 3], [0x3322_3322, 0]);
    check("lop3.or.b32", [6, 3, 0, 0xC0, 0], [2, 1]);
    check("lop3.or.b32", [4, 3, 0, 0xC0, 1], [0, 1]);
    check("lop3.and.b32", [6, 3, 0, 0xC0, 0], [2, 0]);
    check("dp4a.u32.u32", [0x0102_0304, 0x0101_0102, 10], [24, 0]);
    check("dp4a.s32.u32", [0xFF00_0000, 0xFF00_0000, 0], [0xFFFF_FF01, 0]);
    check("dp2a.lo.s32.s32", [0xFFFF_0002, 0x0403_02FF, 0], [0xFFFF_FFFC, 0]);
    check("dp2a.hi.u32.u32", [0x0001_0002, 0x0403_02FF, 1], [11, 0]);
    check("fns.b32", [0b1011_0010, 4, 0], [4, 0]);
    check("fns.b32", [0b1011_0010, 4, 2], [5, 0]);
    check("fns.b32", [0b1011_0010, 4, 0xFFFF_FFFE], [1, 0]);
    check("fns.b32", [0b1011_0010, 8, 1], [0xFFFF_FFFF, 0]);
    check("fns.b32", [0b1011_0010, 3, 0], [0xFFFF_FFFF, 0]);
}

#[test]
fn comparisons() {
    check("setp.lt.u32", [1, 2], [1, 0]);
    check("setp.lt.f32", [ONE, NAN], [0, 1]);
    check("setp.ltu.and.f32", [ONE, NAN, 1], [1, 0]);
    check("setp.ltu.xor.f32", [ONE, NAN, 1], [0, 1]);
    check("setp.lt.or.s32", [1, 0, 1], [1, 1]);
    check("setp.eq.ftz.f32", [1, MINUS], [1, 0]);
    check("setp.eq.f32", [1, MINUS], [0, 1]);
    check("setp.lt.f16x2", [0x3C00_0000, 0x0000_3C00], [1, 0]);
    check("setp.num.and.bf16x2", [0x7FFF_0000, 0, 1], [1, 0]);
    check("set.lt.f32.s32", [0xFFFF_FFFF, 0], [ONE, 0]);
    check("set.lt.u32.f64", [0, 0x3FF0 << 48], [0xFFFF_FFFF, 0]);
    check("set.lt.or.u16.f16", [0, 0, 1], [0xFFFF, 0]);
    check("set.ge.f16x2.f16x2", [0x3C00_0000, 0x0000_3C00], [0x3C00_0000, 0]);
    check("set.ge.u32.bf16x2", [0x3F80_0000, 0x0000_3F80], [0xFFFF_0000, 0]);
    check("set.eq.bf16.b32", [1, 1], [0x3F80, 0]);
    check("slct.u64.s32", [1, 2, 0x8000_0000], [2, 0]);
    check("slct.b32.f32", [1, 2, MINUS], [1, 0]);
    check("slct.b32.f32", [1, 2, NAN], [2, 0]);
    check("slct.b32.f32", [1, 2, MINUS | 1], [2, 0]);
    check("slct.ftz.b32.f32", [1, 2, MINUS | 1], [1, 0]);
    check("testp.normal.f32", [0], [1, 0]);
    check("testp.subnormal.f32", [1], [1, 0]);
    check("testp.finite.f32", [INFINITY], [0, 0]);
    check("testp.notanumber.f64", [0x7FF0 << 48 | 1], [1, 0]);
    assert_eq!(read_computation("setp.lt.f32").results(), 2);
    assert_eq!(read_computation("set.lt.f32.s32").results(), 1);
}

#[test]
fn floats() {
    check("add.rz.f32", [ONE, 1], [ONE, 0]);
    check("add.rp.f32", [ONE, 1], [ONE + 1, 0]);
    check("add.rm.f32", [ONE, MINUS | 1], [ONE - 1, 0]);
    check("sub.rm.f32", [ONE, ONE], [MINUS, 0]);
    check("add.f32", [INFINITY, INFINITY | MINUS], [NAN, 0]);
    check("add.sat.f32", [ONE, ONE], [ONE, 0]);
    check("add.sat.f32", [INFINITY, INFINITY | MINUS], [0, 0]);
    check("add.ftz.f32", [1, 0x7F_FFFF], [0, 0]);
    check("mul.rz.f32", [0x7F7F_FFFF, 0x7F7F_FFFF], [0x7F7F_FFFF, 0]);
    check("mul.rp.f32", [MINUS | 0x7F7F_FFFF, 0x7F7F_FFFF], [MINUS | 0x7F7F_FFFF, 0]);
    check("add.f32x2", [ONE << 32 | ONE, ONE << 32], [0x4000_0000 << 32 | ONE, 0]);
    check("add.f32.f16", [0x3C00, ONE], [0x4000_0000, 0]);
    check("fma.rn.f32.bf16", [0x4000, 0x4000, ONE], [0x40A0_0000, 0]);
    check("fma.rn.relu.f16", [0x3C00, 0xBC00, 0], [0, 0]);
    check("fma.rn.relu.f16", [0x3C00, 0xFE00, 0], [0x7FFF, 0]);
    check("fma.rn.oob.f16x2", [0x3C00_7FFF, 0x3C00_3C00, 0x3C00_3C00], [0x4000_0000, 0]);
    check("fma.rn.oob.f16", [0x3C00, 0x3C00, 0x7FFF], [0x7FFF, 0]);
    check("min.f32", [0, MINUS], [MINUS, 0]);
    check("max.f32", [NAN, ONE], [ONE, 0]);
    check("max.NaN.f32", [NAN, ONE], [NAN, 0]);
    check("max.f32", [NAN, NAN | MINUS], [NAN, 0]);
    check("max.f32", [ONE, 0, 0x4000_0000], [0x4000_0000, 0]);
    check("min.abs.f32", [ONE | MINUS, 0x4000_0000, NAN], [ONE, 0]);
    check("max.xorsign.abs.f32", [ONE, 0xC000_0000], [0xC000_0000, 0]);
    check("min.f64", [0x7FF8 << 48, 0], [0, 0]);
    check("copysign.f32", [MINUS, ONE], [MINUS | ONE, 0]);
    check("abs.ftz.f32", [MINUS | 1], [0, 0]);
    check("neg.f16x2", [0x3C00_0000], [0xBC00_8000, 0]);
    check("rcp.rm.f32", [0x4040_0000], [0x3EAA_AAAA, 0]);
    check("sqrt.rp.f32", [0x4000_0000], [0x3FB5_04F4, 0]);
    check("sqrt.rn.f64", [0xBFF0 << 48], [0xFFF8 << 48, 0]);
    check("ex2.approx.f32", [0x4040_0000], [0x4100_0000, 0]);
    check("lg2.approx.ftz.f32", [1], [INFINITY | MINUS, 0]);
    check("rsqrt.approx.f32", [0x4080_0000], [0x3F00_0000, 0]);
    check("sin.approx.f32", [MINUS], [MINUS, 0]);
    check("cos.approx.f32", [INFINITY], [NAN, 0]);
    check("tanh.approx.bf16x2", [0x7F80_FF80], [0x3F80_BF80, 0]);
    check("rcp.approx.ftz.f64", [0x4000_0000_FFFF_FFFF], [0x3FE0 << 48, 0]);
    check("add.f64", [0x7FF0 << 48 | 5, 0], [0x7FF8 << 48 | 5, 0]);
}

#[test]
fn conversions() {
    check("cvt.rn.f32.u32", [0x0100_0001], [0x4B80_0000, 0]);
    check("cvt.rp.f32.u32", [0x0100_0001], [0x4B80_0001, 0]);
    check("cvt.rn.f16.s32", [70000], [0x7C00, 0]);
    check("cvt.rz.f16.s32", [70000], [0x7BFF, 0]);
    check("cvt.rzi.s32.f32", [0xBFC0_0000], [0xFFFF_FFFF, 0]);
    check("cvt.rzi.s8.bf16", [0xC2F7], [0x85, 0]);
    check("cvt.rzi.u8.bf16", [0x4396], [0xFF, 0]);
    check("cvt.rni.s32.f32", [0xBFC0_0000], [0xFFFF_FFFE, 0]);
    check("cvt.rmi.u32.f32", [0xBFC0_0000], [0, 0]);
    check("cvt.rzi.u8.f32", [0x4780_0000], [0xFF, 0]);
    check("cvt.rzi.s32.f32", [NAN], [0, 0]);
    check("cvt.rzi.u64.f32", [NAN], [1 << 63, 0]);
    check("cvt.rzi.u32.f64", [0x7FF8 << 48], [1 << 31, 0]);
    check("cvt.sat.u8.s32", [0xFFFF_FFFF], [0, 0]);
    check("cvt.sat.s8.s32", [200], [127, 0]);
    check("cvt.sat.s32.u32", [0xFFFF_FFFF], [0x7FFF_FFFF, 0]);
    check("cvt.rni.f32.f32", [0x4020_0000], [0x4000_0000, 0]);
    check("cvt.rni.f32.f32", [0xBE80_0000], [MINUS, 0]);
    check("cvt.sat.f32.f32", [0x4020_0000], [ONE, 0]);
    check("cvt.f64.f32", [0x7F80_0001], [0x7FF8 << 48 | 1 << 29, 0]);
    check("cvt.ftz.f64.f32", [MINUS | 1], [1 << 63, 0]);
    check("cvt.rm.f16.f32", [1 | MINUS], [0x8001, 0]);
    check("cvt.rn.satfinite.f16.f32", [INFINITY | MINUS], [0xFBFF, 0]);
    check("cvt.rn.relu.bf16.f32", [ONE | MINUS], [0, 0]);
    check("cvt.rn.f16x2.f32", [ONE, 0x4000_0000], [0x3C00_4000, 0]);
    check("cvt.rz.bf16x2.f32", [0x3FFF_FFFF, NAN], [0x3FFF_7FFF, 0]);
    check("cvt.rna.tf32.f32", [0x3F80_1000], [0x3F80_2000, 0]);
    check("cvt.rn.tf32.f32", [0x3F80_1000], [0x3F80_0000, 0]);
    check("cvt.rn.satfinite.e4m3x2.f32", [0x43E0_0001, 0x7F80_0000 | MINUS], [0x7EFE, 0]);
    check("cvt.rn.satfinite.e4m3x2.f32", [NAN, ONE], [0x7F38, 0]);
    check("cvt.rn.satfinite.e5m2x2.f16x2", [0x7C00_3C00], [0x7B3C, 0]);
    check("cvt.rn.f16x2.e4m3x2", [0x7F01], [0x7FFF_1800, 0]);
    check("cvt.rn.relu.f16x2.e5m2x2", [0xBC7B], [0x0000_7B00, 0]);
    check("cvt.rn.satfinite.e2m1x2.f32", [0x4120_0000, 0xBF00_0000], [0x79, 0]);
    check("cvt.rn.satfinite.e2m3x2.f32", [ONE, 0xC120_0000], [0x083F, 0]);
    check("cvt.rn.f16x2.e3m2x2", [0x0C2C], [0x3C00_BC00, 0]);
    check("cvt.rz.ue8m0x2.f32", [0x3FC0_0000, NAN], [0x7FFF, 0]);
    check("cvt.rp.ue8m0x2.f32", [0x3FC0_0000, 0], [0x8000, 0]);
    check("cvt.rn.bf16x2.ue8m0x2", [0x7F80], [0x3F80_4000, 0]);
    check("cvt.rs.bf16x2.f32", [0x3F80_8000, 0x3F80_8000, 0x8000_7FFF], [0x3F81_3F80, 0]);
    check("cvt.pack.sat.u16.s32", [0xFFFF_FFFF, 70000], [0x0000_FFFF, 0]);
    check("cvt.pack.sat.s8.s32.b32", [200, 1, 0xABCD_1234], [0x1234_7F01, 0]);
    check("cvt.pack.sat.s4.s32.b32", [0xFFFF_0000, 100, 0x1234_5678], [0x3456_7887, 0]);
}
