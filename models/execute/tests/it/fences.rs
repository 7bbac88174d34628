//! The messages that fences acquire, and the work that budgets count for them.

use ptx_execute::{Contents, Device, FaultKind, Launch, Report, RunOptions};
use ptx_isa::{FullSize, Module};

/// Runs one warp, or one thread of each of two CTAs, with the address of a buffer in `%rd1`.
fn run(body: &str, ctas: u32, threads: u32) -> Report {
    let text = format!(
        ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 p) {{\n.reg .b32 %r<4>;\n.reg .pred %p<2>;\n\
         .reg .b64 %rd<2>;\n.shared .align 8 .b8 s[8];\nld.param.u64 %rd1, [p];\nmov.u32 %r1, %ctaid.x;\n{body}\nret;\n}}\n"
    );
    let module: Module = text.parse().expect("a module");
    let options = RunOptions { most_steps: 100_000, ..RunOptions::default() };
    let mut device = Device::new(&module, options).expect("a device");
    let buffer = device.allocate("buffer", Contents::Bytes(vec![0; 64]));
    let arguments = vec![ptx_execute::Argument::Buffer(buffer, 0)];
    let launch = Launch::new("k", FullSize { grid: [ctas, 1, 1], ..[threads, 1, 1].into() }, arguments);
    device.launch(&launch).expect("a launch")
}

/// The work in warp instructions. A fence counts for each of its threads, and a message counts once for each thread.
#[test]
fn work_of_fences() {
    let check = |body: &str, expected: std::ops::Range<u64>| {
        let report = run(&format!("again:\n{body}\nbra again;"), 1, 32);
        let each = report.work / report.time;
        assert!(report.work >= 100_000 && expected.contains(&each), "{body}: each instruction counts {each}");
    };
    check("add.u32 %r1, %r1, 1;", 1..2);
    check("fence.release.cta;", 16..18);
    check("fence.acquire.sys;", 16..18);
    // Each thread acquires the message of its own last update, and not the messages of all earlier updates.
    check("atom.release.cta.shared.add.u32 %r2, [s], 1; fence.acquire.sys;", 30..36);
    check("atom.release.cta.shared.add.u32 %r2, [s], 1; ld.acquire.gpu.shared.u32 %r2, [s];", 20..30);
}

/// After a fence of a narrower scope has acquired less, a fence of a wider scope still acquires more.
#[test]
fn fences_of_two_scopes() {
    let check = |fences: &str, races: bool| {
        let body = format!(
            "setp.eq.u32 %p1, %r1, 1;\n@%p1 bra reader;\nst.global.u32 [%rd1], 1;\nst.release.gpu.global.u32 [%rd1+8], 1;\nret;\n\
             reader:\nld.relaxed.gpu.global.u32 %r2, [%rd1+8];\nsetp.eq.u32 %p1, %r2, 0;\n@%p1 bra reader;\n{fences}\n\
             ld.global.u32 %r3, [%rd1];"
        );
        let report = run(&body, 2, 1);
        let found = report.findings.iter().any(|finding| finding.kind == FaultKind::Race);
        assert_eq!(found, races, "{fences}: {:?}", report.findings);
    };
    check("", true);
    check("fence.acquire.cta;", true);
    check("fence.acquire.gpu;", false);
    check("fence.acquire.cta; fence.acquire.gpu;", false);
    check("fence.acquire.cta; fence.acquire.cluster; fence.acquire.sys;", false);
}
