//! The instructions that findings name in PTX with several instructions on a line.

use ptx_execute::{Argument, Contents, Device, FaultKind, Launch, RunOptions, Site};
use ptx_isa::Module;

/// Checks the instructions of the first race of two threads. The body is one line.
fn check(body: &str, expected: [&str; 2]) {
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.func f(.reg .b32 %a)\n{{\n.reg .pred %p<2>; setp.gt.u32 %p1, %a, 7; @%p1 exit; ret;\n}}\n\
         .visible .entry k(.param .u64 out)\n{{\n.reg .pred %p<2>; .reg .b32 %r<4>; .reg .b64 %rd<2>; ld.param.u64 %rd1, [out]; \
         mov.u32 %r1, %tid.x; {body} ret;\n}}\n"
    );
    let module: Module = text.parse().unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    let mut device = Device::new(&module, RunOptions::default()).expect("a device");
    let out = device.allocate("out", Contents::Bytes(vec![0; 1024]));
    let report = device.launch(&Launch::new("k", [64, 1, 1], vec![Argument::Buffer(out, 0)])).expect("a launch");
    let race = report.findings.iter().find(|finding| finding.kind == FaultKind::Race);
    let race = race.unwrap_or_else(|| panic!("no race in {body}: {:?}", report.findings));
    let line = text.lines().nth(race.site.at.line as usize - 1).expect("a line");
    let sites = [race.other.as_ref().expect("two sites"), &race.site];
    assert_eq!(sites.map(|site| &*site.instruction), expected, "{body}");
    // The column is the beginning of the mnemonic.
    let at = |site: &Site| line[site.at.column as usize - 1..].starts_with(&site.instruction);
    assert!(sites.into_iter().all(at), "{body}: {sites:?}");
}

#[test]
fn accesses_on_one_line() {
    let store = "st.global.u32";
    let own = "mul.wide.u32 %rd0, %r1, 4; add.u64 %rd0, %rd1, %rd0;";
    check("setp.gt.u32 %p1, %r1, 3; @%p1 exit; call f, (%r1); st.global.u32 [%rd1], %r1;", [store; 2]);
    check("setp.gt.u32 %p1, %r1, 3; @%p1 exit; st.global.u32 [%rd1], %r1; add.u32 %r1, %r1, 1;", [store; 2]);
    check(&format!("{own} st.global.u32 [%rd0], %r1; ld.global.u32 %r2, [%rd1];"), [store, "ld.global.u32"]);
    check(&format!("{own} st.global.u32 [%rd0], %r1; bar.sync 0; st.global.u32 [%rd1], %r1;"), [store; 2]);
    check("setp.gt.u32 %p1, %r1, 3; @%p1 st.global.u32 [%rd1], %r1; call f, (%r1);", [store; 2]);
}
