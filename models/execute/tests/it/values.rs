//! Values in registers.

use ptx_execute::{Argument, Contents, Device, Launch, RunOptions};
use ptx_isa::{Module, Type};

/// The contents of a buffer after a kernel of one thread, with the initial contents `buffer`. The kernel has the
/// parameters `p` and `n`, and `%p` holds `p`.
fn stored(head: &str, body: &str, buffer: &[u64], n: u64) -> Vec<u64> {
    let text = format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n{head}\n.visible .entry k(.param .u64 p, .param .u64 n)\n{{\n\
         .reg .pred %q<4>;\n.reg .b16 %h<4>;\n.reg .b32 %r<9>;\n.reg .b64 %d<9>, %p;\n.reg .f32 %f<4>;\n\
         ld.param.u64 %p, [p];\n{body}\nret;\n}}\n"
    );
    let module: Module = text.parse().unwrap_or_else(|error| panic!("{text}{error}"));
    assert_eq!(ptx_isa::legality::faults(&module), [], "{text}");
    let mut device = Device::new(&module, RunOptions::default()).expect("a device");
    let bytes = buffer.iter().flat_map(|word| word.to_le_bytes()).collect();
    let buffer = device.allocate("p", Contents::Bytes(bytes));
    let arguments = vec![Argument::Buffer(buffer, 0), Argument::Bytes(n.to_le_bytes().to_vec())];
    let report = device.launch(&Launch::new("k", [1, 1, 1], arguments)).expect("a launch");
    assert_eq!(report.findings, [], "{text}");
    let (words, _) = device.contents(buffer).as_chunks();
    words.iter().map(|word| u64::from_le_bytes(*word)).collect()
}

/// Section 9.4.1: if a register is wider than the type of a result, a signed type is sign-extended, and any other type
/// is zero-extended.
#[test]
fn registers_wider_than_the_type() {
    // The values of its lowest 8, 16 and 32 bits are negative.
    const NUMBER: u64 = 0x0180_8382_8584_8786;
    const INTEGERS: [Type; 6] = [Type::S8, Type::U8, Type::S16, Type::U16, Type::S32, Type::U32];
    const BITS: [Type; 3] = [Type::B8, Type::B16, Type::B32];
    let check = |form: &str, ty: Type, number: u64| {
        for (register, bits) in [("%h1", 16), ("%r1", 32), ("%d1", 64)] {
            if bits < ty.bits() {
                continue;
            }
            let instruction = form.replace("TYPE", &ty.to_string()).replace("REGISTER", register);
            let body = format!(
                "ld.global.u64 %d2, [%p];\nmov.f32 %f1, 0fC0000000;\n{instruction}\nst.global.u{bits} [%p+8], {register};"
            );
            let unused = 64 - ty.bits();
            let filled = match ty.is_signed() {
                true => ((number << unused) as i64 >> unused) as u64,
                false => number << unused >> unused,
            };
            let expected = filled & u64::MAX >> (64 - bits);
            assert_eq!(stored("", &body, &[NUMBER, 0], NUMBER)[1], expected, "{instruction}");
        }
    };
    for ty in INTEGERS.into_iter().chain(BITS) {
        check("ld.global.TYPE REGISTER, [%p];", ty, NUMBER);
        check("ld.volatile.global.TYPE REGISTER, [%p];", ty, NUMBER);
        check("ld.global.v2.TYPE {REGISTER, _}, [%p];", ty, NUMBER);
        check("ld.param.TYPE REGISTER, [n];", ty, NUMBER);
    }
    for ty in INTEGERS {
        check("cvt.TYPE.s64 REGISTER, %d2;", ty, NUMBER);
        check("cvt.TYPE.u64 REGISTER, %d2;", ty, NUMBER);
        // The result is -2. An unsigned type has 0 instead.
        check("cvt.rzi.TYPE.f32 REGISTER, %f1;", ty, if ty.is_signed() { -2i64 as u64 } else { 0 });
    }
    // Clamped to the minimum of the type.
    check("cvt.sat.TYPE.s32 REGISTER, %d2;", Type::S8, 0x80);
    check("cvt.sat.TYPE.s32 REGISTER, %d2;", Type::S16, 0x8000);
    // A half float.
    check("cvt.rn.TYPE.f32 REGISTER, %f1;", Type::F16, 0xc000);
}

/// Section 7.1.1: a register that is a parameter or a result of a function may be a vector.
#[test]
fn vectors_are_passed_to_functions() {
    let head = ".func (.reg .v2 .b32 out) swap(.reg .v2 .b32 in, .reg .b32 n) {\n\
                add.s32 out.x, in.y, n;\nadd.s32 out.y, in.x, n;\nret;\n}";
    let check = |result: &str, argument: &str| {
        let body = format!(
            ".reg .v2 .b32 %v;\nmov.b64 %v, 0x200000001;\nmov.b64 {{%r1, %r2}}, 0x200000001;\n\
             call ({result}), swap, ({argument}, 5);\nst.global.v2.b32 [%p], {result};"
        );
        assert_eq!(stored(head, &body, &[0], 0), [0x6_0000_0007], "{result} {argument}");
    };
    check("%v", "%v");
}

#[test]
fn parts_of_an_unpacked_value_may_be_discarded() {
    let check = |parts: &str, expected: u64| {
        let body = format!("ld.param.u64 %d2, [n];\nmov.b64 {parts}, %d2;\nst.global.u32 [%p], %r1;");
        assert_eq!(stored("", &body, &[0], 0x0180_8382_8584_8786)[0], expected, "{parts}");
    };
    check("{_, %r1}", 0x0180_8382);
    check("{%r1, _}", 0x8584_8786);
}

#[test]
fn a_restored_stack_is_allocated_again() {
    let check = |between: &str, expected: u64| {
        let body = format!(
            "stacksave.u64 %d1;\nalloca.u64 %d2, 32;\n{between}\nalloca.u64 %d3, 32;\nsub.u64 %d4, %d3, %d2;\nst.global.u64 [%p], %d4;"
        );
        assert_eq!(stored("", &body, &[7], 0)[0], expected, "{between}");
    };
    check("", 32);
    check("stackrestore.u64 %d1;", 0);
}

/// As in ptxas, an access without a state space whose address names a variable is in the variable's state space.
#[test]
fn names_of_variables_as_addresses() {
    let check = |head: &str, body: &str, expected: u64| {
        let body = format!("{body}\nst.global.u64 [%p], %d1;");
        assert_eq!(stored(head, &body, &[7], 0)[0], expected, "{head} {body}");
    };
    let shared = ".shared .align 16 .b8 before[64];\n.shared .align 16 .b64 x[8];";
    check(shared, "st.shared.u64 [x+8], 5;\nld.u64 %d1, [x+8];", 5);
    check(shared, "st.u64 [x+8], 5;\nld.shared.u64 %d1, [x+8];", 5);
    check(shared, "st.volatile.u64 [x], 5;\nld.relaxed.cta.u64 %d1, [x];", 5);
    check(shared, "st.u64 [x], 5;\nred.add.u64 [x], 2;\natom.add.u64 %d1, [x], 1;", 7);
    check(shared, "mbarrier.init.b64 [x], 1;\nmbarrier.arrive.shared.b64 _, [x];\nmov.b64 %d1, 3;", 3);
    check(shared, "mbarrier.init.shared.b64 [x], 1;\nmbarrier.inval.b64 [x];\nmov.b64 %d1, 3;", 3);
    check(".global .u64 before, x = 9;", "ld.u64 %d1, [x];", 9);
    check("", ".local .b8 before[8];\n.local .b64 x[2];\nst.local.u64 [x+8], 5;\nld.u64 %d1, [x+8];", 5);
    check("", ".local .b64 x[2];\nst.u64 [x], 6;\nld.local.u64 %d1, [x];", 6);
    check("", "{ .shared .b64 x;\nst.u64 [x], 6;\nld.shared.u64 %d1, [x]; }", 6);
}

/// The windows of shared, local and constant memory have addresses of 32 bits.
#[test]
fn addresses_of_32_bits() {
    let check = |head: &str, body: &str, expected: u64| {
        let body = format!("{body}\nst.global.u64 [%p], %d1;");
        assert_eq!(stored(head, &body, &[7], 0)[0], expected, "{head} {body}");
    };
    let shared = ".shared .align 16 .b8 before[64];\n.shared .align 16 .b64 x[8];";
    check(shared, "st.shared.u64 [x+8], 5;\nmov.u32 %r1, x;\nld.shared.u64 %d1, [%r1+8];", 5);
    check(shared, "mov.u32 %r1, x+8;\nst.shared.u64 [%r1], 5;\nld.shared.u64 %d1, [x+8];", 5);
    check(
        shared,
        "st.shared.u64 [x], 5;\nmov.u32 %r1, x;\ncvt.u64.u32 %d2, %r1;\ncvta.shared.u64 %d2, %d2;\nld.u64 %d1, [%d2];",
        5,
    );
    let local = ".local .b8 before[8];\n.local .b64 x[2];\n";
    check("", &format!("{local}st.local.u64 [x+8], 5;\nmov.u32 %r1, x;\nld.local.u64 %d1, [%r1+8];"), 5);
    check(
        "",
        &format!(
            "{local}st.local.u64 [x], 5;\nmov.u32 %r1, x;\ncvt.u64.u32 %d2, %r1;\ncvta.local.u64 %d2, %d2;\nld.u64 %d1, [%d2];"
        ),
        5,
    );
    let constant = ".const .u64 before = 1, x[2] = {2, 3};";
    check(constant, "mov.u32 %r1, x;\nld.const.u64 %d1, [%r1+8];", 3);
    check(constant, "mov.u32 %r1, x+8;\nld.const.u64 %d1, [%r1];", 3);
    check(constant, "mov.u64 %d2, x;\nld.const.u64 %d1, [%d2+8];", 3);
    check(constant, "mov.u32 %r1, x;\ncvt.u64.u32 %d2, %r1;\ncvta.const.u64 %d2, %d2;\nld.u64 %d1, [%d2];", 2);
    check(
        constant,
        "mov.u64 %d2, x;\ncvta.const.u64 %d2, %d2;\ncvta.to.const.u64 %d2, %d2;\ncvt.u32.u64 %r1, %d2;\nld.const.u64 %d1, [%r1];",
        2,
    );
}

#[test]
fn modules_with_addresses_of_32_bits_are_refused() {
    let text = ".version 7.8\n.target sm_50\n.address_size 32\n.visible .entry k(.param .u32 p) { ret; }\n";
    let module: Module = text.parse().expect("PTX");
    let mut device = Device::new(&module, RunOptions::default()).expect("a device");
    let launch = Launch::new("k", [1, 1, 1], vec![Argument::Bytes(vec![0; 4])]);
    let errors = device.launch(&launch).expect_err("an error");
    assert!(errors[0].reason.contains("found `.address_size 32`"), "{errors:?}");
}
