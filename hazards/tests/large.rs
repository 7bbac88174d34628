//! A kernel of any size gets an answer.

use ptx_hazards::{Report, Verdict, check, read};
use ptx_isa::Module;

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
        let verdicts: Vec<_> = large.findings.iter().map(|finding| (finding.rule, finding.verdict)).collect();
        assert_eq!(verdicts, [(None, Verdict::NotChecked)]);
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
