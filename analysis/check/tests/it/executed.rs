//! The severity of findings that executions show.

use itertools::Itertools;
use ptx_check::{Check, Evidence, Finding, Launch, Question, Severity, Verdict};
use ptx_isa::{LaunchSize, Module};

const HEAD: &str = ".version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 .ptr .global in, .param .u64 .ptr .global out, .param .u32 rounds) .reqntid 64 {
.reg .pred %p<9>;
.reg .b32 %r<20>, %thread, %rank;
.reg .b64 %from, %to;
.shared .align 16 .b8 tile[1024];
ld.param.u64 %from, [in];
ld.param.u64 %to, [out];
mov.u32 %thread, %tid.x;
mov.u32 %rank, %cluster_ctarank;
setp.eq.u32 %p0, %thread, 0;
mad.wide.u32 %to, %thread, 4, %to;
";

/// The rule and the severity of each finding of a kernel.
fn levels_of(head: &str, body: &str) -> Vec<(Option<&'static str>, &'static str)> {
    let head = HEAD.replace(".reqntid 64", head).replace("8.7\n.target sm_90a", "8.7\n.target sm_100a");
    findings_of(&format!("{head}{body}\nret;\n}}\n"))
}

fn findings_of(text: &str) -> Vec<(Option<&'static str>, &'static str)> {
    let module: Module = text.parse().unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    let report = Check::new(&module).run();
    let level = |finding: &Finding| match finding.severity {
        Severity::Warning if finding.is_possible() => "possible",
        severity => severity.into(),
    };
    let mut all: Vec<_> = report.findings().map(|one| (one.rule.map(|rule| rule.name()), level(one))).collect();
    all.sort_unstable();
    all.dedup();
    all
}

/// Threads that poll an mbarrier hang like threads that wait for it, and missing copied bytes have the same effect as
/// missing arrivals.
#[test]
fn hangs() {
    let init = "@%p0 mbarrier.init.shared::cta.b64 [tile], 1; bar.sync 0;";
    let copy = "@%p0 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [tile+16], [%from], 16, [tile];";
    let test = "again: mbarrier.test_wait.parity.shared::cta.b64 %p1, [tile], 0; @!%p1 bra again;";
    let wait = test.replace("test_wait", "try_wait");
    for wait in [test, &wait] {
        let arrive = |bytes: u32| format!("@%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [tile], {bytes};");
        assert_eq!(levels_of(".reqntid 64", &format!("{init} {} {copy} {wait}", arrive(16))), []);
        let missing = levels_of(".reqntid 64", &format!("{init} {} {copy} {wait}", arrive(32)));
        assert_eq!(missing, [(Some("R28"), "error")], "{wait}");
        let two = init.replace("], 1;", "], 2;");
        let missing = levels_of(".reqntid 64", &format!("{two} {} {copy} {wait}", arrive(16)));
        assert_eq!(missing, [(Some("R28"), "error")], "{wait}");
    }
}

/// A register that `tcgen05.ld` writes orders its thread (section 9.7.16.6.4.5): reading the register needs no wait,
/// but freeing its columns does.
#[test]
fn registers_of_a_load_of_tensor_memory() {
    let of = |wait: &str| {
        format!(
            "setp.lt.u32 %p1, %thread, 32; @!%p1 bra done; tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [tile], 32;
            ld.shared.b32 %r1, [tile]; tcgen05.st.sync.aligned.32x32b.x1.b32 [%r1], {{%thread}}; tcgen05.wait::st.sync.aligned;
            tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%r2}}, [%r1]; {wait} st.global.b32 [%to], %r2;
            WAIT tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r1, 32; done:"
        )
    };
    let wait = "tcgen05.wait::ld.sync.aligned;";
    assert_eq!(levels_of(".reqntid 64", &of(wait).replace("WAIT", "")), []);
    assert_eq!(levels_of(".reqntid 64", &of("").replace("WAIT", wait)), []);
    assert_eq!(levels_of(".reqntid 64", &of("").replace("WAIT", "")), [(Some("R1"), "error")]);
}

/// In a cluster of four CTAs, each CTA accesses the next CTA, whether or not the kernel declares the cluster size.
#[test]
fn clusters_of_four() {
    let meet = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;";
    let next = "add.u32 %r3, %rank, 1; and.b32 %r3, %r3, 3; mov.u32 %r0, tile; mapa.shared::cluster.u32 %r1, %r0, %r3;";
    let access = "st.shared::cluster.b32 [%r1], %rank;";
    let wrong = [(Some("R15"), "error")];
    for head in [".reqntid 64 .reqnctapercluster 4", ".reqntid 64"] {
        let of = |body: String| levels_of(head, &body);
        assert_eq!(of(format!("{next} {meet} @%p0 {access} {meet}")), [], "{head}");
        assert_eq!(of(format!("{next} @%p0 {access} {meet}")), wrong, "{head}");
        assert_eq!(of(format!("{next} {meet} @%p0 {access}")), wrong, "{head}");
    }
}

/// A wait for the previous phase passes at once, so that the data are read before they arrive. The parity is a
/// constant, a register of a loop, or a local variable, as in unoptimized compiler output.
#[test]
fn waits_for_the_phase_before() {
    let rounds = |begin: &str, parity: &str, flip: &str| {
        format!(
            ".local .align 8 .b8 __local_depot0[8]; .reg .b64 %SP, %SPL; mov.u64 %SPL, __local_depot0; cvta.local.u64 %SP, %SPL;
            mov.b32 %r5, 0; mov.u32 %r4, tile; @%p0 mbarrier.init.shared.b64 [%r4], 1; bar.sync 0; {begin}
            again: @!%p0 bra wait; fence.proxy.async.shared::cta;
            mbarrier.arrive.expect_tx.shared.b64 _, [%r4], 256;
            cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [tile+128], [%from], 256, [%r4];
            wait: {parity} loop: mbarrier.try_wait.parity.shared.b64 %p1, [%r4], %r6; @!%p1 bra loop;
            mad.lo.u32 %r7, %thread, 4, %r4; ld.shared.b32 %r8, [%r7+128]; bar.sync 0; {flip}
            add.u32 %r5, %r5, 1; setp.lt.u32 %p2, %r5, 4; @%p2 bra again; st.global.b32 [%to], %r8;"
        )
    };
    let register = ("mov.b32 %r6, 0;", "", "xor.b32 %r6, %r6, 1;");
    let of_round = ("", "and.b32 %r6, %r5, 1;", "");
    let local = (
        "st.local.b32 [%SPL+4], 0;",
        "ld.local.b32 %r6, [%SPL+4];",
        "xor.b32 %r6, %r6, 1; st.local.b32 [%SPL+4], %r6;",
    );
    let generic =
        ("st.b32 [%SP], 0;", "ld.b32 %r6, [%SP];", "ld.b32 %r6, [%SP]; xor.b32 %r6, %r6, 1; st.b32 [%SP], %r6;");
    let has_error = |body: &str| {
        let levels = levels_of(".reqntid 64", body);
        levels.iter().any(|(_, level)| *level == "error")
    };
    for (begin, parity, flip) in [register, of_round, local, generic] {
        assert!(!has_error(&rounds(begin, parity, flip)), "{parity}");
        let first = format!("{parity} xor.b32 %r6, %r6, 1;");
        if !parity.is_empty() {
            assert!(has_error(&rounds(begin, &first, flip)), "{first}");
        }
        if !flip.is_empty() {
            assert!(has_error(&rounds(begin, parity, "")), "{parity}, which never flips");
        }
    }
    assert!(has_error(&rounds("mov.b32 %r6, 1;", "", register.2)), "the first wait");
    // A single iteration is correct, and so is a launch in which the loop has a single iteration.
    let given =
        |body: &str| body.replace("setp.lt.u32 %p2, %r5, 4;", "ld.param.b32 %r9, [rounds]; setp.lt.u32 %p2, %r5, %r9;");
    assert!(!has_error(&given(&rounds(register.0, register.1, register.2))));
    assert!(has_error(&given(&rounds(register.0, register.1, ""))));
}

/// An error needs three launches. A kernel that runs in no block of another size has them in its own size: here the
/// barrier needs 64 threads, and the tile has room for 64.
#[test]
fn a_kernel_of_one_block_size_has_errors() {
    let body = |wait: &str| {
        format!(
            "shl.b32 %r1, %thread, 4; mov.u32 %r0, tile; add.u32 %r1, %r1, %r0; cp.async.ca.shared.global [%r1], [%from], 16;
            {wait} bar.sync 0; bar.sync 1, 64; xor.b32 %r1, %r1, 16; ld.shared.b32 %r3, [%r1]; st.global.b32 [%to], %r3;"
        )
    };
    for head in [".reqntid 64", ""] {
        assert_eq!(levels_of(head, &body("cp.async.wait_all;")), [], "{head}");
        assert_eq!(levels_of(head, &body("")), [(Some("R7"), "error")], "{head}");
    }
}

/// Six iterations of a ring whose element the analysis does not find, since `%i * %i & 1` alternates.
fn ring(label: &str, rounds: &str) -> String {
    format!(
        "mov.u32 %r5, 0; mov.u32 %r0, ring; {rounds}
        {label}: mul.lo.u32 %r1, %r5, %r5; and.b32 %r1, %r1, 1; shl.b32 %r1, %r1, 14; mad.lo.u32 %r1, %thread, 16, %r1;
        add.u32 %r1, %r1, %r0; cp.async.ca.shared.global [%r1], [%from], 16; cp.async.wait_all; bar.sync 0;
        xor.b32 %r3, %r1, 16; ld.shared.b32 %r4, [%r3]; add.u32 %r5, %r5, 1; setp.lt.u32 %p1, %r5, %r8; @%p1 bra {label};
        st.global.b32 [%to], %r4;"
    )
}

/// The evidence of each finding about the ring of a kernel, which must be a note of at least three different launches.
fn evidence_of_rings(body: &str) -> Vec<&'static str> {
    let text = format!("{HEAD}.shared .align 16 .b8 ring[32768]; .shared .align 4 .b32 other;\n{body}\nret;\n}}\n");
    let module: Module = text.parse().unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    let report = Check::new(&module).run();
    let is_of_ring = |finding: &&Finding| finding.rule.is_some_and(|rule| ["R4", "R7"].contains(&rule.name()));
    let evidence = |finding: &Finding| {
        let launches = finding.launches().unwrap_or_default();
        let is_enough = launches.len() >= 3 && launches.iter().map(ToString::to_string).all_unique();
        match finding.evidence {
            Evidence::EverySchedule(_) if is_enough && finding.severity == Severity::Note => "every schedule",
            Evidence::AfterRepair(_) if is_enough && finding.severity == Severity::Note => "after a repair",
            _ => "other",
        }
    };
    report.findings().filter(is_of_ring).map(evidence).collect()
}

/// Executions show no fault of the ring in any schedule of at least three different launches. A race of other accesses
/// must be repaired first if its values steer the kernel.
#[test]
fn determinate_launches_are_evidence() {
    let race = "@%p0 st.shared.b32 [other], %thread; setp.eq.u32 %p2, %thread, 32; @%p2 ld.shared.b32 %r7, [other];";
    let branch = "setp.eq.u32 %p3, %r7, 7; @%p3 st.global.b32 [%to], %r7;";
    let six = "mov.u32 %r8, 6;";
    let of = |rounds: &str, end: &str| evidence_of_rings(&format!("{} {end}", ring("again", rounds)));
    assert_eq!(of("ld.param.u32 %r8, [rounds];", ""), ["every schedule"]);
    assert_eq!(of(six, ""), ["every schedule"]);
    assert_eq!(of(six, race), ["every schedule"]);
    assert_eq!(of(six, &format!("{race} {branch}")), ["after a repair"]);
    // Only a launch with a zero has the second ring.
    let two = format!(
        "ld.param.u32 %r9, [rounds]; setp.eq.u32 %p2, %r9, 0; @%p2 bra zero; {} bra done; zero: {} done:",
        ring("again", six),
        ring("once_more", six)
    );
    assert_eq!(evidence_of_rings(&two), ["every schedule"; 2]);
}

/// A kernel without asynchronous operations, by target.
fn locks_of(target: &str, body: &str) -> Vec<(Option<&'static str>, &'static str)> {
    let text = format!(
        ".version 6.0\n.target {target}\n.address_size 64\n.visible .entry k(.param .u64 .ptr .global lock) .reqntid 64 {{\n\
         .reg .pred %p, %q; .reg .b32 %r<9>; .reg .b64 %lock; ld.param.u64 %lock, [lock];\n{body}\nret;\n}}\n"
    );
    findings_of(&text)
}

/// Below sm_70, the lane that has a lock waits after the loop for the lanes that repeat it, also if the lock is proved to
/// order all accesses.
#[test]
fn locks_in_lock_step() {
    let loops = "again: atom.global.exch.b32 %r0, [%lock], 1; setp.ne.u32 %p, %r0, 0; @%p bra again; membar.gl;";
    let count =
        "ld.volatile.global.u32 %r1, [%lock+4]; add.u32 %r1, %r1, 1; st.volatile.global.u32 [%lock+4], %r1; membar.gl;";
    let release = "atom.global.exch.b32 %r2, [%lock], 0;";
    let body = format!("{loops} {count} {release}");
    assert_eq!(locks_of("sm_60", &body), [(Some("R28"), "error")]);
    assert_eq!(locks_of("sm_70", &body), []);
    let inside = format!(
        "again: atom.global.cas.b32 %r0, [%lock], 0, 1; setp.eq.u32 %p, %r0, 0; @!%p bra next; membar.gl; {count} {release}
        next: @!%p bra again;"
    );
    assert_eq!(locks_of("sm_60", &inside), []);
}

/// Only the guessed number lets the kernel wait for an arrival that does not come.
#[test]
fn waits_of_a_guessed_launch() {
    let wait = "@%p0 mbarrier.init.shared::cta.b64 [tile], 2; bar.sync 0;
        @%p0 mbarrier.arrive.shared::cta.b64 _, [tile];
        again: mbarrier.try_wait.parity.shared::cta.b64 %p1, [tile], 0; @!%p1 bra again;";
    assert_eq!(levels_of(".reqntid 64", wait), [(Some("R28"), "error")]);
    let guessed = format!("ld.param.u32 %r1, [rounds]; setp.ne.u32 %p2, %r1, 256; @%p2 bra done; {wait} done:");
    assert_eq!(levels_of(".reqntid 64", &guessed), []);
    // The kernel stops itself without a cluster, so that the search guesses two CTAs.
    let pair = format!("mov.u32 %r1, %cluster_nctarank; setp.eq.u32 %p2, %r1, 1; @%p2 trap; {wait}");
    assert_eq!(levels_of(".reqntid 64", &pair), []);
    assert_eq!(levels_of(".reqntid 64 .reqnctapercluster 2", &pair), [(Some("R28"), "error")]);
}

/// The kernel races in a launch with more threads than its number says. Other kernels are checked in any launch.
#[test]
fn launches_of_a_program() {
    let text = ".version 8.7\n.target sm_90a\n.address_size 64
        .visible .entry k(.param .u64 p, .param .u32 n) { .reg .b64 %p; .reg .b32 %n, %t;
        ld.param.u64 %p, [p]; ld.param.u32 %n, [n]; mov.u32 %t, %tid.x;
        rem.u32 %n, %t, %n; mad.wide.u32 %p, %n, 4, %p; st.global.u32 [%p], %t; ret; }";
    let module: Module = text.parse().expect("a module");
    let levels = |launches: &[(u32, u64)]| {
        let launch = |(threads, number): (u32, u64)| {
            let size = LaunchSize { grid: Some([1; 3]), block: Some([threads, 1, 1]), ..LaunchSize::default() };
            ("k".to_owned(), Launch { size, numbers: vec![("n".into(), number)], may_alias: false })
        };
        let launches = launches.iter().copied().map(launch).collect();
        let report = Check { launches, ..Check::new(&module) }.run();
        let levels = report.kernels[0].findings.iter().map(|finding| finding.severity).collect::<Vec<_>>();
        (report.kernels[0].verdict(Question::Races), levels)
    };
    assert_eq!(levels(&[(32, 32), (64, 64)]), (Verdict::Free, vec![]));
    assert_eq!(levels(&[(32, 32), (64, 32), (64, 64)]), (Verdict::Race, vec![Severity::Error]));
    assert_eq!(levels(&[]).0, Verdict::Race);
}

/// Threads of two warps race. A kernel is launched with all threads for which it is compiled.
#[test]
fn races_of_the_declared_block() {
    let race = "setp.eq.u32 %p1, %thread, 32; @%p0 st.shared.u32 [tile], 1; @%p1 st.shared.u32 [tile], 2;";
    assert_eq!(levels_of(".maxntid 64", race), [(Some("R17"), "error")]);
    assert_eq!(levels_of("", race), [(Some("R17"), "error")]);
    let once = race.replace("%thread, 32;", "%thread, 32; mov.u32 %r1, %ntid.x; setp.ne.u32 %p2, %r1, 64; @%p2 ret;");
    assert_eq!(levels_of(".maxntid 64", &once), [(Some("R17"), "error")]);
    assert_eq!(levels_of("", &once), [(Some("R17"), "possible")]);
}

/// Warps of a warpgroup and lanes of a warp that execute different instructions.
#[test]
fn warps_that_diverge() {
    let init = "@%p0 mbarrier.init.shared::cta.b64 [tile], 1; bar.sync 0;";
    let of = |split: &str, one: &str, other: &str| {
        format!("{init} {split} @%p1 bra other; {one} bra done; other: {other} done: bar.sync 0;")
    };
    let (warps, lanes) = ("setp.lt.u32 %p1, %thread, 32;", "and.b32 %r1, %thread, 1; setp.eq.u32 %p1, %r1, 0;");
    let (less, more) = ("setmaxnreg.dec.sync.aligned.u32 40;", "setmaxnreg.inc.sync.aligned.u32 232;");
    let levels = |body: &str| levels_of(".reqntid 64", body);
    assert_eq!(levels(&format!("{init} {less}")), []);
    // Without asynchronous operations.
    assert_eq!(levels(less), []);
    assert_eq!(levels(&format!("setp.lt.u32 %p1, %thread, 32; @%p1 ret; {less}")), [(Some("R30"), "error")]);
    assert_eq!(levels(&of(warps, less, more)), [(Some("R30"), "error")]);
    assert_eq!(levels(&of(warps, less, "")), [(Some("R30"), "error")]);
    assert_eq!(levels(&of(lanes, "bar.sync 1;", "bar.sync 1;")), [(Some("R31"), "error")]);
    assert_eq!(levels(&of(warps, "bar.sync 1;", "bar.sync 1;")), []);
}
