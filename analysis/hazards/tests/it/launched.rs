//! Rules R14 to R16 on small kernels: the check is silent on correct kernels, and finds each mistake.

use itertools::Itertools;
use ptx_hazards::{Claim, Rule, check, read};
use ptx_isa::Module;
use ptx_memory_model::ptx::readings::Readings;

const HEAD: &str = ".version 8.7
.target sm_100a
.address_size 64
.visible .entry k(.param .u64 .ptr .global in, .param .u64 .ptr .global out, .param .u32 n) .reqntid 128 {
.reg .pred %p<9>;
.reg .b32 %r<20>, %thread, %warp, %n;
.reg .b64 %from, %to, %at;
.shared .align 16 .b8 tile[1024];
.shared .align 8 .b64 bar;
ld.param.u64 %from, [in];
ld.param.u64 %to, [out];
ld.param.u32 %n, [n];
mov.u32 %thread, %tid.x;
shr.u32 %warp, %thread, 5;
setp.eq.u32 %p0, %thread, 0;
setp.eq.u32 %p1, %warp, 0;
setp.eq.u32 %p2, %n, 0;
";

/// The rules of a kernel's findings from R14 on, and whether each is certain. The same rule at two instructions counts
/// once.
fn list_rules(body: &str) -> Vec<(Rule, bool)> {
    let text = format!("{HEAD}{body}\n}}\n");
    let module: Module = text.parse().unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    let found = read(&module).into_iter().flat_map(|kernel| check(&kernel, Readings::DEFAULT).findings);
    let own = found.filter_map(|finding| Some((finding.rule?, finding.claim == Claim::Wrong)));
    own.filter(|(rule, _)| *rule >= Rule::R14).dedup().collect()
}

/// A description, the body of a kernel, and the rules of its findings.
type Row<'r> = (&'r str, &'r str, &'r [(Rule, bool)]);

fn all(table: &[Row<'_>]) {
    for (name, body, expected) in table {
        assert_eq!(list_rules(body), *expected, "{name}");
    }
}

#[test]
fn grids_that_start_early() {
    const WRONG: &[(Rule, bool)] = &[(Rule::R14, true)];
    const MAY: &[(Rule, bool)] = &[(Rule::R14, false)];
    all(&[
        ("all threads wait at the start", "griddepcontrol.wait; griddepcontrol.launch_dependents; st.global.b32 [%to], 1;", &[]),
        ("no thread waits", "griddepcontrol.launch_dependents; st.global.b32 [%to], 1;", &[]),
        ("an early read of memory that no thread writes", "ld.global.b32 %r0, [%from]; griddepcontrol.wait; st.global.b32 [%to], %r0;", &[]),
        ("a write before the wait", "st.global.b32 [%to], 1; griddepcontrol.wait;", WRONG),
        ("a read of written memory", "ld.global.b32 %r0, [%to]; griddepcontrol.wait; st.global.b32 [%to], %r0;", WRONG),
        ("a copy reads written memory", "cp.async.ca.shared.global [tile], [%to], 16; cp.async.wait_all; griddepcontrol.wait; st.global.b32 [%to], 1;", WRONG),
        ("a counter", "atom.global.add.u32 %r0, [%to], 1; griddepcontrol.wait;", MAY),
        ("through a pointer that is loaded", "ld.global.b64 %at, [%from]; ld.global.b32 %r0, [%at]; griddepcontrol.wait;", MAY),
        ("one thread waits, and a barrier follows", "@%p0 griddepcontrol.wait; bar.sync 0; st.global.b32 [%to], 1;", &[]),
        ("one thread waits, and no barrier follows", "@%p0 griddepcontrol.wait; st.global.b32 [%to], 1;", WRONG),
        ("the barrier comes before the wait", "bar.sync 0; @%p0 griddepcontrol.wait; st.global.b32 [%to], 1; bar.sync 0;", WRONG),
        ("one role does not wait", "@%p1 bra first; griddepcontrol.wait; st.global.b32 [%to], 1; ret; first: st.global.b32 [%to], 2; ret;", WRONG),
        ("each role waits", "@%p1 bra first; griddepcontrol.wait; st.global.b32 [%to], 1; ret; first: griddepcontrol.wait; st.global.b32 [%to], 2; ret;", &[]),
        ("the wait is for some launches", "@%p2 bra go; griddepcontrol.wait; go: st.global.b32 [%to], 1;", MAY),
        ("the write is where the wait is", "@%p2 griddepcontrol.wait; @%p2 st.global.b32 [%to], 1;", &[]),
        (
            "the wait, and an mbarrier",
            "@%p0 mbarrier.init.shared::cta.b64 [bar], 1; bar.sync 0; @!%p0 bra wait; griddepcontrol.wait; mbarrier.arrive.shared::cta.b64 _, [bar];
             wait: mbarrier.try_wait.parity.shared::cta.b64 %p3, [bar], 0; @!%p3 bra wait; st.global.b32 [%to], 1;",
            &[],
        ),
    ]);
}

#[test]
fn barriers_of_all_threads() {
    const WRONG: &[(Rule, bool)] = &[(Rule::R16, true)];
    all(&[
        ("all come", "bar.sync 0;", &[]),
        ("one thread comes", "@!%p0 bra go; bar.sync 0; go: bar.sync 0;", WRONG),
        ("one warp comes", "@!%p1 bra go; barrier.sync 0; go: barrier.sync 0;", WRONG),
        ("one warp of a named barrier", "@!%p1 bra go; bar.sync 1, 32; go: bar.sync 0;", &[]),
        ("roles with the same barrier", "@%p1 bra first; bar.sync 0; ret; first: bar.sync 0;", &[]),
        ("other threads end", "@%p1 bra first; bar.sync 0; first: ret;", &[]),
        ("threads out of range end", "setp.ge.u32 %p3, %thread, %n; @%p3 bra end; bar.sync 0; end: ret;", &[]),
        ("a condition of all threads", "@%p2 bra go; bar.sync 0; go: bar.sync 0;", &[]),
        (
            "all arrive, and one of their warps waits besides",
            "bar.arrive 1, 160; @!%p1 bra go; bar.sync 1, 160; go: ret;",
            &[],
        ),
        ("more than arrive and wait", "bar.arrive 1, 192; @!%p1 bra go; bar.sync 1, 192; go: ret;", WRONG),
        (
            "one warp arrives in a loop",
            "@!%p1 bra wait; again: bar.arrive 1, 192; add.u32 %n, %n, 1; setp.lt.u32 %p3, %n, 9; @%p3 bra again; wait: bar.sync 1, 192;",
            &[],
        ),
        ("arrivals at another barrier", "bar.arrive 2, 256; bar.sync 1, 256;", WRONG),
        ("part of a warp", "bar.sync 1, 48;", WRONG),
        ("more than there are", "bar.sync 1, 256;", WRONG),
        ("a barrier that does not exist", "bar.sync 16;", WRONG),
    ]);
}

#[test]
fn ctas_of_a_cluster() {
    const WRONG: &[(Rule, bool)] = &[(Rule::R15, true)];
    let meet = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;";
    let remote = "mov.u32 %r0, tile; mapa.shared::cluster.u32 %r1, %r0, 1; ld.shared::cluster.b32 %r2, [%r1];";
    let allocate = "tcgen05.alloc.cta_group::2.sync.aligned.shared::cta.b32 [tile], 32; ld.shared.b32 %r3, [tile];";
    let free = "tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.b64 [bar]; tcgen05.dealloc.cta_group::2.sync.aligned.b32 %r3, 32;";
    all(&[
        ("before and after", &format!("{meet} {remote} {meet}"), &[]),
        ("not before", &format!("{remote} {meet}"), WRONG),
        ("not after", &format!("{meet} {remote}"), WRONG),
        ("a pair meets", &format!("{allocate} {meet} {free}"), &[]),
        ("no barrier of a pair", &format!("{meet} {allocate} {free}"), WRONG),
    ]);
}
