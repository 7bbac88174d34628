//! A kernel of any size gets an answer.

use std::time::Duration;

use ptx_hazards::{Budget, Claim, Kernel, Report, check, check_within, read};
use ptx_isa::{Module, Stop};

/// A kernel with an asynchronous copy, and a line in it many times.
fn report(line: &str, count: usize) -> Report {
    let lines = line.repeat(count);
    let text = format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.shared .align 16 .b8 tile[16384];\n.shared .align 8 .b64 bar;\n\
         .visible .entry kernel(.param .u64 from) {{\n.reg .b64 %from;\n.reg .b32 %value;\nld.param.u64 %from, [from];\n\
         mbarrier.init.shared::cta.b64 [bar], 1;\n\
         cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile], [%from], 16, [bar];\n{lines}ret;\n}}\n"
    );
    let module: Module = text.parse().expect("a module");
    let kernels = read(&module);
    assert_eq!(kernels.len(), 1);
    check(&kernels[0], Default::default())
}

#[test]
fn too_many_events_are_not_checked() {
    for line in ["bar.sync 0;\n", "st.shared.b32 [tile], %value;\n"] {
        let small = report(line, 1);
        assert!(small.findings.iter().all(|finding| finding.rule.is_some()), "{:?}", small.findings);
        let large = report(line, 60_000);
        let verdicts: Vec<_> = large.findings.iter().map(|finding| (finding.rule, finding.claim)).collect();
        assert_eq!(verdicts, [(None, Claim::NotChecked)]);
        assert_eq!(large.unchecked, large.synchronizations);
    }
}

#[test]
fn groups_that_are_over_cost_no_more_in_every_round() {
    let copies: String =
        (0..64).map(|at| format!("cp.async.cg.shared.global [tile+{}], [%from], 16;\n", 16 * at)).collect();
    let fences = "membar.cta;\n".repeat(64);
    let text = format!(
        ".version 8.6\n.target sm_90a\n.address_size 64\n.shared .align 16 .b8 tile[16384];\n\
         .visible .entry kernel(.param .u64 from, .param .u32 n) .reqntid 128 {{\nld.param.u64 %from, [from];\n\
         ld.param.u32 %n, [n];\nLOOP:\n{copies}\
         cp.async.commit_group;\ncp.async.wait_group 0;\n{fences}sub.u32 %n, %n, 1;\nsetp.ne.u32 %p, %n, 0;\n@%p bra LOOP;\nret;\n}}\n"
    );
    let module: Module = text.parse().expect("a module");
    assert_eq!(check(&read(&module)[0], Default::default()).findings, []);
}

/// A loop in which loaded predicates choose the mbarriers, of 24, that are informed of a product.
fn told_of_a_product() -> Kernel {
    let commits: String = (0..24)
        .map(|at| {
            format!(
                "ld.global.u32 %n, [%from+{}];\nsetp.ne.u32 %p, %n, 0;\n\
                 @%p tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bars+{}];\n",
                4 * at,
                8 * at
            )
        })
        .collect();
    let text = format!(
        ".version 8.7\n.target sm_100a\n.address_size 64\n.shared .align 16 .b8 tile[16384];\n.shared .align 8 .b64 bars[24];\n\
         .visible .entry kernel(.param .u64 from, .param .u64 a, .param .u64 b) .reqntid 32 {{\nld.param.u64 %from, [from];\n\
         ld.param.u64 %a, [a];\nld.param.u64 %b, [b];\nld.shared.b32 %tmem, [tile+64];\nLOOP:\n\
         tcgen05.mma.cta_group::1.kind::f16 [%tmem], %a, %b, 0, 1;\n{commits}\
         ld.global.u32 %n, [%from];\nsetp.ne.u32 %p, %n, 0;\n@%p bra LOOP;\nret;\n}}\n"
    );
    let module: Module = text.parse().expect("a module");
    read(&module).remove(0)
}

/// Without a limit on the states of an access this takes minutes.
#[test]
fn more_paths_than_can_be_told_apart_are_followed_together() {
    let report = check(&told_of_a_product(), Default::default());
    assert!(report.findings.iter().all(|finding| finding.claim != Claim::NotChecked), "{:?}", report.findings);
}

#[test]
fn a_check_ends_when_its_time_is_over() {
    let report =
        check_within(&told_of_a_product(), Default::default(), Budget::default(), &Stop::after(Duration::ZERO));
    assert!(report.findings.iter().any(|finding| finding.rule.is_none()), "{:?}", report.findings);
    assert_eq!(report.unchecked, report.synchronizations);
    assert!(report.is_stopped);
}
