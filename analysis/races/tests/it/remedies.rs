//! Remedies are effective: the changed text is proved free, and has no more changes than it needs.

use ptx_isa::Module;
use ptx_races::{
    check::{Outcome, RaceOptions, Report, check as check_module},
    remedy::{BARRIER, Change},
};

/// `%rd1` is `data`, `%rd2` is `flag`, `%r1` is `%tid.x`, `%r2` is `%ctaid.x`; `%p0` is true in all threads except the
/// first of its CTA.
fn text(body: &str) -> String {
    format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 data, .param .u64 flag)\n.reqntid 32, 1, 1\n{{\n\
         .shared .align 4 .b8 buf[256];\n.reg .pred %p<8>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<16>;\n\
         ld.param.u64 %rd1, [data];\nld.param.u64 %rd2, [flag];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\n\
         setp.ne.u32 %p0, %r1, 0;\n{body}\nDONE:\nret;\n}}\n"
    )
}

fn report(text: &str) -> Report {
    let module: Module = text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"));
    let options = RaceOptions::default();
    check_module(&module, &options).into_iter().next().expect("a kernel")
}

/// Checks that each race of the kernel has the expected remedy, and that the remedy works.
fn check(body: &str, expected: &[&str]) {
    let text = text(body);
    let report = report(&text);
    assert_eq!(report.verdict, Outcome::Race, "{:?}\n{body}", report.obstacles);
    for finding in report.obstacles.iter().filter(|finding| finding.witness.is_some()) {
        let remedy = finding.remedy.as_ref().unwrap_or_else(|| panic!("no remedy: {finding:?}\n{body}"));
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        let mut said = Vec::new();
        for change in remedy.changes.iter().rev() {
            let at = change.at().line as usize - 1;
            match change {
                Change::Barrier(_) => {
                    lines.insert(at, format!("{BARRIER};"));
                    said.push(BARRIER.to_owned());
                }
                Change::InPlace { before, after, .. } => {
                    assert_eq!(lines[at], format!("{before};"));
                    lines[at] = format!("{after};");
                    said.push(after.clone());
                }
            }
        }
        said.reverse();
        assert_eq!(said, expected, "{body}");
        assert!(remedy.mends_all);
        let mended = lines.join("\n");
        assert_eq!(self::report(&mended).verdict, Outcome::Free, "{mended}");
    }
}

/// A message from the first CTA to all other CTAs, with these accesses of the flag.
fn message(store: &str, load: &str) -> String {
    format!(
        "@%p0 bra DONE;\nsetp.ne.u32 %p1, %r2, 0;\n@%p1 bra POLL;\nst.global.u32 [%rd1], 42;\n{store}.global.u32 [%rd2], 1;\nbra DONE;\n\
         POLL:\n{load}.global.u32 %r3, [%rd2];\nsetp.ne.u32 %p2, %r3, 1;\n@%p2 bra POLL;\nld.global.u32 %r4, [%rd1];"
    )
}

const STORE: &str = "st.release.gpu.global.u32 [%rd2], 1";
const LOAD: &str = "ld.acquire.gpu.global.u32 %r3, [%rd2]";

#[test]
fn orderings_of_flags() {
    check(&message("st.relaxed.gpu", "ld.acquire.gpu"), &[STORE]);
    check(&message("st.release.gpu", "ld.relaxed.gpu"), &[LOAD]);
    check(&message("st.volatile", "ld.volatile"), &[&STORE.replace("gpu", "sys"), &LOAD.replace("gpu", "sys")]);
    check(&message("st.relaxed.sys", "ld.acquire.sys"), &[&STORE.replace("gpu", "sys")]);
    // The kernel already has a fence.
    check(&message("fence.acq_rel.gpu;\nst.relaxed.gpu", "ld.relaxed.gpu"), &[LOAD]);
}

#[test]
fn scopes() {
    check(&message("st.release.cta", "ld.acquire.gpu"), &[STORE]);
    check(&message("st.release.cta", "ld.acquire.cta"), &[STORE, LOAD]);
}

#[test]
fn flags_of_plain_accesses() {
    check(&message("st", "ld"), &[STORE, LOAD]);
    check(&message("st", "ld.acquire.gpu"), &[STORE]);
    check(&message("st.weak", "ld.weak"), &[STORE, LOAD]);
}

#[test]
fn locks() {
    let lock = |take: &str, give: &str| {
        format!(
            "@%p0 bra DONE;\nTAKE:\natom{take}.global.cas.b32 %r3, [%rd2], 0, 1;\nsetp.ne.u32 %p2, %r3, 0;\n@%p2 bra TAKE;\n\
             ld.global.u32 %r5, [%rd1];\nst.global.u32 [%rd1], %r5;\natom{give}.global.exch.b32 %r6, [%rd2], 0;"
        )
    };
    let (take, give) =
        ("atom.acquire.gpu.global.cas.b32 %r3, [%rd2], 0, 1", "atom.release.gpu.global.exch.b32 %r6, [%rd2], 0");
    check(&lock("", ""), &[take, give]);
    check(&lock(".acquire.gpu", ""), &[give]);
    check(&lock(".relaxed.cta", ".release.gpu"), &[take]);
}

#[test]
fn barriers() {
    let exchange = "mul.wide.u32 %rd4, %r1, 4;\nmov.u64 %rd5, buf;\nadd.s64 %rd6, %rd5, %rd4;\nst.shared.u32 [%rd6], %r1;\nld.shared.u32 %r3, [%rd6+4];";
    check(exchange, &[BARRIER]);
}

#[test]
fn races_without_an_ordering_remedy() {
    let both = text("@%p0 bra DONE;\nst.global.u32 [%rd1], %r2;");
    let report = report(&both);
    assert!(report.obstacles.iter().any(|finding| finding.witness.is_some() && finding.remedy.is_none()), "{report:?}");
}

/// A barrier is proposed where a programmer can write it. The head of a loop is excluded: a statement before the head
/// would be outside the loop.
#[test]
fn places_in_a_source() {
    let text = text(
        ".loc 1 4 1\nmul.wide.u32 %rd4, %r1, 4;\nmov.u64 %rd5, buf;\nadd.s64 %rd6, %rd5, %rd4;\nst.shared.u32 [%rd6], %r1;\n\
         .loc 1 5 1\nmov.u32 %r5, 16;\nL:\n.loc 1 5 9\nsetp.eq.u32 %p2, %r5, 0;\n@%p2 bra DONE;\n\
         .loc 1 6 1\nsetp.ge.u32 %p3, %r1, %r5;\n@%p3 bra NEXT;\nmul.wide.u32 %rd4, %r5, 4;\nadd.s64 %rd7, %rd6, %rd4;\n\
         ld.shared.u32 %r6, [%rd7];\nst.shared.u32 [%rd6], %r6;\nNEXT:\n.loc 1 5 20\nshr.u32 %r5, %r5, 1;\nbra L;",
    );
    let report = report(&text);
    assert_eq!(report.verdict, Outcome::Race, "{:?}", report.obstacles);
    let lines: Vec<&str> = text.lines().collect();
    let remedies = report.obstacles.iter().filter_map(|finding| finding.remedy.as_ref());
    let places = remedies.flat_map(|remedy| &remedy.changes).map(|change| lines[change.at().line as usize - 1]);
    let places: Vec<&str> = places.collect();
    assert!(!places.is_empty() && places.iter().all(|place| *place == "setp.ge.u32 %p3, %r1, %r5;"), "{places:?}");
}
