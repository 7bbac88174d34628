//! Barriers of the grid, and mutants of them.

use ptx_isa::{LaunchSize, Module};
use ptx_races::check::{Outcome, RaceOptions, check as check_module};

use crate::mutants;

fn verdict(body: &str) -> (Outcome, String) {
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 data, .param .u64 count)\n.reqntid 64, 1, 1\n{{\n\
         .reg .pred %p<8>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<16>;\nld.param.u64 %rd1, [data];\nld.param.u64 %rd2, [count];\n{body}\nret;\n}}\n"
    );
    let module: Module = text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"));
    let options =
        RaceOptions { size: LaunchSize { grid: Some([3, 1, 1]), ..LaunchSize::default() }, ..RaceOptions::default() };
    let report = check_module(&module, &options).into_iter().next().expect("a kernel");
    (report.verdict, format!("{:?}", report.obstacles))
}

/// See [`mutants::check`].
#[track_caller]
fn check(body: &str, open: usize, mutants: &[(&str, &str)]) {
    mutants::check(verdict, body, open, mutants);
}

/// `%rd5` is the word of the thread, `%rd7` the word of a thread of another CTA, `%r8` the number that the CTA adds.
const BEGIN: &str = "mov.u32 %r1, %tid.x;
mov.u32 %r2, %ctaid.x;
setp.ne.u32 %p0, %r1, 0;
mad.lo.u32 %r3, %r2, 64, %r1;
mul.wide.u32 %rd4, %r3, 4;
add.s64 %rd5, %rd1, %rd4;
xor.b32 %r4, %r3, 65;
mul.wide.u32 %rd6, %r4, 4;
add.s64 %rd7, %rd1, %rd6;
mov.u32 %r5, %nctaid.x;
sub.u32 %r6, 1, %r5;
add.u32 %r6, %r6, 2147483648;
setp.eq.u32 %p1, %r2, 0;
selp.u32 %r8, %r6, 1, %p1;
";

/// All threads of the grid synchronize.
fn sync(number: usize) -> String {
    format!(
        "bar.sync 0;
@%p0 bra MET{number};
atom.release.gpu.global.add.u32 %r9, [%rd2], %r8;
POLL{number}:
ld.acquire.gpu.global.u32 %r10, [%rd2];
xor.b32 %r11, %r10, %r9;
setp.gt.s32 %p2, %r11, -1;
@%p2 bra POLL{number};
MET{number}:
bar.sync 1;
"
    )
}

const MUTANTS: &[(&str, &str)] = &[
    ("atom.release.gpu", "atom.relaxed.gpu"),
    ("atom.release.gpu", "atom.release.cta"),
    ("ld.acquire.gpu", "ld.relaxed.gpu"),
    ("ld.acquire.gpu", "ld.acquire.cta"),
    ("bar.sync 0;\n", ""),
    ("bar.sync 1;\n", ""),
    ("@%p2 bra POLL0;\n", ""),
    ("xor.b32 %r11, %r10, %r9;", "mov.u32 %r11, %r10;"),
    ("xor.b32 %r11, %r10, %r9;", "and.b32 %r11, %r10, %r9;"),
    ("setp.gt.s32 %p2, %r11, -1;", "setp.gt.u32 %p2, %r11, 7;"),
    ("sub.u32 %r6, 1, %r5;", "sub.u32 %r6, 2, %r5;"),
    ("2147483648", "1073741824"),
    ("setp.eq.u32 %p1, %r2, 0;", "setp.eq.u32 %p1, %r1, 0;"),
    ("setp.eq.u32 %p1, %r2, 0;", "setp.le.u32 %p1, %r2, 1;"),
    ("%r6, 1, %p1;", "%r6, 2, %p1;"),
    // An additional thread adds or writes.
    ("bar.sync 0;\n", "red.relaxed.gpu.global.add.u32 [%rd2], 1;\nbar.sync 0;\n"),
    ("POLL0:", "st.relaxed.gpu.global.u32 [%rd2], 0;\nPOLL0:"),
    ("@%p0 bra MET0;", "setp.gt.u32 %p3, %r1, 1;\n@%p3 bra MET0;"),
    // Some CTAs do not arrive.
    ("bar.sync 0;\n", "setp.eq.u32 %p3, %r2, 1;\n@%p3 bra MET0;\nbar.sync 0;\n"),
    ("[%rd2], %r8;", "[%rd2+4], %r8;"),
    ("mov.u32 %r5, %nctaid.x;", "mov.u32 %r5, %ntid.x;"),
];

#[test]
fn one_barrier() {
    check(&format!("{BEGIN}st.global.u32 [%rd5], 1;\n{}ld.global.u32 %r12, [%rd7];", sync(0)), 7, MUTANTS);
    let fenced = sync(0).replace("atom.release", "membar.gl;\natom.relaxed").replace("ld.acquire", "ld.relaxed");
    let fenced = fenced.replace("MET0:", "fence.acq_rel.gpu;\nMET0:");
    let body = format!("{BEGIN}st.global.u32 [%rd5], 1;\n{fenced}ld.global.u32 %r12, [%rd7];");
    check(&body, 0, &[("membar.gl;\n", ""), ("fence.acq_rel.gpu;\n", ""), ("membar.gl;", "membar.cta;")]);
}

#[test]
fn two_barriers() {
    let body = format!(
        "{BEGIN}st.global.u32 [%rd5], 1;\n{}ld.global.u32 %r12, [%rd7];\n{}st.global.u32 [%rd5], %r12;",
        sync(0),
        sync(1)
    );
    check(&body, 6, MUTANTS);
    // Both barriers are needed.
    let second = body.replacen(&sync(1), "", 1);
    assert_eq!(verdict(&second).0, Outcome::Race);
    let first = body.replacen(&sync(0), "", 1);
    assert_eq!(verdict(&first).0, Outcome::Race);
}

#[test]
fn rounds() {
    let of = |second: &str| {
        format!(
            "{BEGIN}mov.u32 %r13, 0;\nROUND:\nst.global.u32 [%rd5], %r13;\n{}ld.global.u32 %r12, [%rd7];\n{second}\
             add.u32 %r13, %r13, 1;\nsetp.lt.u32 %p4, %r13, 9;\n@%p4 bra ROUND;",
            sync(0)
        )
    };
    check(&of(&sync(1)), 6, MUTANTS);
    assert_eq!(verdict(&of("")).0, Outcome::Race);
    // A CTA has more iterations than another CTA.
    let uneven = of(&sync(1)).replace("%p4, %r13, 9;", "%p4, %r13, %r2;");
    assert_eq!(verdict(&uneven).0, Outcome::Open);
}

/// If some CTAs do not reach a barrier of the grid, the kernel is not free, even if no access needs the barrier.
#[test]
fn a_barrier_for_some_ctas() {
    let of =
        |guard: &str| format!("{BEGIN}st.global.u32 [%rd5], 1;\n{guard}{}OVER:\nst.global.u32 [%rd5], 2;", sync(0));
    assert_eq!(verdict(&of("")).0, Outcome::Free);
    for guard in ["setp.eq.u32 %p3, %r2, 1;\n@%p3 bra OVER;\n", "setp.gt.u32 %p3, %r2, 1;\n@%p3 ret;\n"] {
        let (some, why) = verdict(&of(guard));
        assert!(matches!(some, Outcome::Open | Outcome::Divergent), "{some}: {why}");
    }
}
