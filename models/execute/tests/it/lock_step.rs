//! Lanes in lock step below sm_70: a loop never ends if it waits for a lane that has left it.

use ptx_execute::{Argument, Contents, Detail, Device, FaultKind, Launch, RunOptions};
use ptx_isa::{FullSize, Module};

/// Checks whether each target has a hang in lock step, with several orders of threads, and that a kernel without a hang
/// counts each thread once. `%lock` is the address of a lock, and the next word is a counter.
fn check(threads: u32, body: &str, expected: [bool; 2]) {
    for (target, hangs) in ["sm_60", "sm_70"].into_iter().zip(expected) {
        let text = format!(
            ".version 6.0\n.target {target}\n.address_size 64\n.visible .entry kernel(.param .u64 .ptr .global .align 4 lock)\n{{\n\
             .reg .pred %p, %q, %first;\n.reg .b32 %r<9>, %lane;\n.reg .b64 %lock;\nld.param.u64 %lock, [lock];\n\
             mov.u32 %lane, %laneid;\nsetp.eq.u32 %first, %lane, 0;\n{body}\nret;\n}}\n"
        );
        let module: Module = text.parse().unwrap_or_else(|error| panic!("{error}"));
        for seed in 0..10 {
            let mut device = Device::new(&module, RunOptions::default().of_seed(seed)).expect("a device");
            let lock = device.allocate("lock", Contents::Bytes(vec![0; 8]));
            let size = FullSize { grid: [2, 1, 1], ..[threads, 1, 1].into() };
            let report =
                device.launch(&Launch::new("kernel", size, vec![Argument::Buffer(lock, 0)])).expect("a launch");
            let of_kind = |of: &&ptx_execute::Fault| of.kind == FaultKind::Hang;
            let first = report.findings.iter().find(of_kind).map(|found| found.detail);
            assert_eq!(
                first,
                hangs.then_some(Detail::LockStep),
                "{target}, seed {seed}: {body}\n{:?}",
                report.findings
            );
            assert!(!hangs || !report.schedules.is_determinate(), "{body}: {:?}", report.schedules);
            if !hangs && body.contains("[%lock+4]") {
                assert_eq!(device.contents(lock)[4..], (2 * threads).to_le_bytes(), "{target}, seed {seed}: {body}");
            }
        }
    }
}

const COUNT: &str = "membar.gl;\nld.volatile.global.u32 %r1, [%lock+4];\nadd.u32 %r1, %r1, 1;\nst.volatile.global.u32 [%lock+4], %r1;\n\
                     membar.gl;\natom.global.exch.b32 %r2, [%lock], 0;";

/// The lane that has the lock waits after the loop for the lanes that repeat it.
#[test]
fn a_lock_whose_holder_leaves_the_loop() {
    let exchange =
        format!("AGAIN:\natom.global.exch.b32 %r0, [%lock], 1;\nsetp.ne.u32 %p, %r0, 0;\n@%p bra AGAIN;\n{COUNT}");
    check(32, &exchange, [true, false]);
    check(64, &exchange, [true, false]);
    let swap = exchange.replace("exch.b32 %r0, [%lock], 1", "cas.b32 %r0, [%lock], 0, 1");
    check(32, &swap, [true, false]);
    // A warp of a single thread holds no lane.
    check(1, &exchange, [false, false]);
}

/// The lane that has the lock releases it before the paths join.
#[test]
fn a_lock_whose_holder_releases_it_in_the_loop() {
    let body = format!(
        "mov.u32 %r3, 0;\nAGAIN:\natom.global.cas.b32 %r0, [%lock], 0, 1;\nsetp.ne.u32 %p, %r0, 0;\n@%p bra NEXT;\n{COUNT}\n\
         mov.u32 %r3, 1;\nNEXT:\nsetp.eq.u32 %q, %r3, 0;\n@%q bra AGAIN;"
    );
    check(32, &body, [false, false]);
    check(64, &body, [false, false]);
}

/// One lane of each warp takes the lock for the warp.
#[test]
fn a_lock_of_one_lane() {
    let body = "@!%first bra DONE;\nAGAIN:\natom.global.exch.b32 %r0, [%lock], 1;\nsetp.ne.u32 %p, %r0, 0;\n@%p bra AGAIN;\n\
                membar.gl;\natom.global.exch.b32 %r2, [%lock], 0;\nDONE:";
    check(64, body, [false, false]);
}

/// Lane 0 writes a flag after the paths join, or before.
#[test]
fn a_flag_of_a_lane() {
    let body = "setp.ne.u32 %p, %lane, 0;\nAGAIN:\n@!%p bra OUT;\nld.volatile.global.u32 %r0, [%lock];\nsetp.eq.u32 %p, %r0, 0;\nbra AGAIN;\n\
                OUT:\n@%first st.volatile.global.u32 [%lock], 1;";
    check(32, body, [true, false]);
    let before = "@%first st.volatile.global.u32 [%lock], 1;\nAGAIN:\nld.volatile.global.u32 %r0, [%lock];\nsetp.eq.u32 %p, %r0, 0;\n@%p bra AGAIN;";
    check(32, before, [false, false]);
}

/// Lanes that leave loops at different iterations, calls on both paths, and a barrier after them.
#[test]
fn paths_that_join() {
    let body = "mov.u32 %r0, 0;\nmov.u32 %r4, 0;\nOUTER:\nmov.u32 %r1, 0;\nINNER:\nadd.u32 %r1, %r1, 1;\nsetp.lt.u32 %p, %r1, %lane;\n\
                @%p bra INNER;\nand.b32 %r2, %r0, 1;\nsetp.eq.u32 %q, %r2, 0;\n@%q bra EVEN;\nadd.u32 %r4, %r4, %r1;\nbra BOTH;\nEVEN:\n\
                sub.u32 %r4, %r4, 1;\nBOTH:\nadd.u32 %r0, %r0, 1;\nsetp.lt.u32 %p, %r0, %lane;\n@%p bra OUTER;\nbar.sync 0;\n\
                atom.global.add.u32 %r3, [%lock+4], 1;";
    check(64, body, [false, false]);
}
