//! The reader of PTX modules and the judge accept any text without a panic.

use proptest::prelude::*;
use ptx_judge::{BasicBlock, judge_function};
use ptx_lowering::{
    Access, AtomicOp, Operation, Ordering, RmwOp, SyncScope, Type,
    ptx::{Module, Scope, Space},
};

proptest! {
    #![proptest_config(ProptestConfig { cases: 4096, failure_persistence: None, ..ProptestConfig::default() })]

    /// The reader of modules returns a module or an error for any text.
    #[test]
    fn no_text_makes_the_judge_panic(pieces in prop::collection::vec(piece(), 0..60), head in any::<bool>()) {
        let head = if head { ".version 8.6\n.target sm_90\n" } else { "" };
        let text = format!("{head}{}", pieces.concat());
        if let Ok(module) = text.parse::<Module>() {
            for function in module.functions() {
                let access = Access::new(Space::Global, Type::I32);
                let op = AtomicOp {
                    operation: Operation::Rmw(RmwOp::Nand, access),
                    ordering: Ordering::SeqCst,
                    scope: SyncScope::Threads(Scope::Sys),
                };
                let judged = judge_function(&[BasicBlock { operations: vec![op], next: Vec::new() }], function);
                prop_assert_eq!(judged.map(|judged| judged.operations.len()), Ok(1));
            }
        }
    }
}

/// Pieces of PTX: whole statements and garbage.
fn piece() -> impl Strategy<Value = String> {
    const PIECES: &[&str] = &[
        ".visible .func (.param .b32 r) f(.param .b64 p) {",
        ".entry k() {",
        "}",
        "{",
        "};",
        "\n",
        " ",
        ";",
        ":",
        "::",
        "\"",
        "// x\n",
        "/*",
        "*/",
        ".loc 1 2 3\n",
        ".reg .b32 %r<9>;",
        ".reg .b32 %x, %y;",
        ".section .debug {",
        "= {1, 2}",
        "$L: ",
        "%again: ",
        "bra $L;",
        "@%p bra $L;",
        "@!%p bra %again;",
        "ret;",
        "ts: .branchtargets $L;",
        "brx.idx %r1, ts;",
        "ld.global.b32 %r5, [%rd1];",
        "ld.relaxed.sys.global.b32 %r5, [%rd1];",
        "isspacep.local %p, %rd1;",
        "not.pred %q, %p;",
        "atom.acquire.sys.global.cas.b32 %r1, [%rd1], %r5, %r4;",
        "setp.ne.b32 %p, %r1, %r5;",
        "mov.b32 %r5, %r1;",
        "fence.sc.sys;",
        "membar.gl;",
        "st.global.b32 [%rd1], %r1;",
        "mov.b128 {%a, %b}, %c;",
        "call (r), f, (p);",
        "@",
        "@!",
        "é",
    ];
    prop_oneof![8 => prop::sample::select(PIECES).prop_map(str::to_owned), 1 => "[ -~é]{0,8}"]
}
