//! Barriers, in small kernels.

use ptx_execute::{Argument, Contents, Device, Launch, RunOptions};
use ptx_isa::{FullSize, Module};

/// Checks the kinds of findings in a cluster of two CTAs with two warps each, with several orders of threads.
fn check(body: &str, expected: &[&str]) {
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry kernel(.param .u64 .ptr .global .align 4 x)\n{{\n\
         .reg .pred %p, %first, %other;\n.reg .b32 %r<9>;\n.reg .b64 %x;\nld.param.u64 %x, [x];\n\
         mov.u32 %r0, %tid.x;\nsetp.lt.u32 %first, %r0, 32;\nmov.u32 %r1, %cluster_ctarank;\n\
         setp.eq.u32 %other, %r1, 1;\n{body}\nret;\n}}\n"
    );
    let module: Module = text.parse().unwrap_or_else(|error| panic!("{error}"));
    for seed in 0..8 {
        let mut device = Device::new(&module, RunOptions::default().of_seed(seed)).expect("a device");
        let x = device.allocate("x", Contents::Bytes(vec![0; 4]));
        let size = FullSize { grid: [2, 1, 1], cluster: [2, 1, 1], ..[64, 1, 1].into() };
        let launch = Launch::new("kernel", size, vec![Argument::Buffer(x, 0)]);
        let report = device.launch(&launch).unwrap_or_else(|errors| panic!("{errors:?}"));
        let kinds: Vec<String> = report.findings.iter().map(|finding| finding.kind.to_string()).collect();
        assert_eq!(kinds, expected, "seed {seed}: {body}\n{:?}", report.findings);
    }
}

/// One warp of each CTA arrives and ends. The other warp of the second CTA writes late, and the other warp of the first
/// CTA reads.
#[test]
fn a_thread_that_has_arrived_and_ended_counts_once() {
    let of = |arrive: &str| {
        format!(
            "@%first bra WAITS;\nbarrier.cluster.arrive;\nret;\nWAITS:\n@!%other bra ARRIVES;\nmov.u32 %r2, 0;\n\
             LATE:\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p, %r2, 300;\n@%p bra LATE;\nsetp.eq.u32 %p, %r0, 0;\n\
             @%p st.global.u32 [%x], 7;\nARRIVES:\n{arrive}\nbarrier.cluster.wait;\n@!%other ld.global.u32 %r3, [%x];"
        )
    };
    check(&of("barrier.cluster.arrive;"), &[]);
    check(&of("barrier.cluster.arrive.relaxed;"), &["race"]);
}

/// Half of a warp arrives at once and ends, and the other half writes first. The second warp of the CTA reads the
/// written value.
#[test]
fn threads_of_a_warp_that_have_ended_do_not_count_for_those_that_are_still_to_come() {
    let of = |count: u32| {
        format!(
            "@!%first bra WAITS;\nsetp.lt.u32 %p, %r0, 16;\n@%p bra ARRIVES;\nmov.u32 %r2, 0;\n\
             LATE:\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p, %r2, 300;\n@%p bra LATE;\nsetp.eq.u32 %p, %r0, 16;\n\
             @%other bra ARRIVES;\n@%p st.global.u32 [%x], 7;\nARRIVES:\nbarrier.arrive 1, {count};\nret;\n\
             WAITS:\nbarrier.sync 1, {count};\n@%other bra DONE;\nld.global.u32 %r3, [%x];\nDONE:"
        )
    };
    check(&of(64), &[]);
}

/// All threads of a CTA arrive and continue, and one of their two warps then also waits.
#[test]
fn a_warp_that_arrives_and_waits_counts_twice() {
    let of =
        |arrive: &str, count: u32| format!("{arrive}\n@!%first bra DONE;\nbarrier.sync.aligned 1, {count};\nDONE:");
    check(&of("barrier.arrive.aligned 1, 96;", 96), &[]);
    check(&of("barrier.arrive.aligned 1, 128;", 128), &["hang"]);
    check(&of("", 96), &["barrier-count", "hang"]);
}

/// The lanes of a warp reach two aligned barriers, an aligned and another barrier, or one barrier at different
/// times.
#[test]
fn aligned_barriers_that_a_warp_meets_at_two_sites() {
    let of = |one: &str, other: &str| {
        format!(
            "and.b32 %r2, %r0, 1;\nsetp.eq.u32 %p, %r2, 0;\n@%p bra EVEN;\n{one}\nbra DONE;\nEVEN:\n{other}\nDONE:\n"
        )
    };
    check(&of("bar.sync 0;", "bar.sync 0;"), &["divergent-warp"]);
    check(&of("barrier.sync 0;", "barrier.sync 0;"), &[]);
    check(&of("barrier.sync 0;", "bar.sync 0;"), &["divergent-warp"]);
    check(&of("bar.sync 0;", "bar.arrive 0, 64;"), &["divergent-warp"]);
    // The barriers never open.
    check(&of("bar.sync 0;", "bar.sync 1;"), &["divergent-warp", "hang", "hang"]);
    check(&of("barrier.sync 0;", "barrier.sync 1;"), &["hang", "hang"]);
    // Each warp reaches one of the two.
    let of_warps = |one: &str, other: &str| of(one, other).replace("and.b32 %r2, %r0, 1;", "and.b32 %r2, %r0, 32;");
    check(&of_warps("bar.sync 0;", "bar.sync 0;"), &[]);
    let late = "mov.u32 %r2, 0;\nLATE:\nadd.u32 %r2, %r2, 1;\nsetp.lt.u32 %p, %r2, %r0;\n@%p bra LATE;\nbar.sync 0;";
    check(late, &[]);
    // Another warp's barrier is aligned.
    let mixed = format!("@%first bra WAITS;\nbar.sync 0;\nret;\nWAITS:\n{}", of("barrier.sync 0;", "barrier.sync 0;"));
    check(&mixed, &[]);
    let arrive = |one: &str, other: &str| format!("{}barrier.cluster.wait;", of(one, other));
    let (aligned, plain) = ("barrier.cluster.arrive.aligned;", "barrier.cluster.arrive;");
    check(&arrive(aligned, aligned), &["divergent-warp"]);
    check(&arrive(plain, aligned), &["divergent-warp"]);
    check(&arrive(plain, plain), &[]);
}

/// All threads of a warpgroup execute the same `setmaxnreg`, and synchronize before the next.
#[test]
fn setmaxnreg_of_a_warpgroup() {
    let (less, more) = ("setmaxnreg.dec.sync.aligned.u32 40;", "setmaxnreg.inc.sync.aligned.u32 232;");
    let both = |meet: &str| format!("{less}\n{meet}\n{more}");
    let of = |one: &str, other: &str| format!("@%first bra OTHER;\n{one}\nbra DONE;\nOTHER:\n{other}\nDONE:\n");
    check(&both("bar.sync 0;"), &[]);
    check(&both(""), &["setmaxnreg"]);
    check(&format!("{less}\n{less}"), &[]);
    check(&of(less, more), &["setmaxnreg"]);
    check(&of(less, less), &[]);
    check(&of(less, &less.replace("40", "48")), &["setmaxnreg"]);
    check(&of("", less), &["setmaxnreg"]);
    check(&of(&both("bar.sync 0;"), &format!("{less}\nbar.sync 0;")), &["setmaxnreg"]);
    // Some lanes of each warp: the other lanes end, or meet another one.
    let some = format!("and.b32 %r2, %r0, 1;\nsetp.eq.u32 %p, %r2, 0;\n@%p {less}");
    check(&some, &["setmaxnreg"]);
    let apart = format!(
        "and.b32 %r2, %r0, 1;\nsetp.eq.u32 %p, %r2, 0;\n@%p bra EVEN;\n{less}\nbra DONE;\nEVEN:\n{less}\nDONE:\n"
    );
    check(&apart, &["divergent-warp", "hang", "hang"]);
}
