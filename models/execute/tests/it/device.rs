//! The interface of a device apart from launches.

use std::ops::ControlFlow;

use ptx_execute::{Argument, Contents, Device, FaultKind, Launch, RunOptions};
use ptx_isa::{FullSize, Module};

fn module(body: &str) -> Module {
    let text = format!(
        ".version 8.0\n.target sm_90a\n.address_size 64\n.extern .func elsewhere();\n\
         .visible .entry k(.param .u64 .ptr .global .align 16 p)\n{{\n.reg .pred %q;\n.reg .b32 %r<32>;\n.reg .f32 %f<8>;\n\
         .reg .b64 %p;\nld.param.u64 %p, [p];\n{body}\nret;\n}}\n"
    );
    text.parse().unwrap_or_else(|error| panic!("{error}"))
}

const LOOP: &str = "\
mov.u32 %r0, 0;
again: ld.global.u32 %r1, [%p];
add.u32 %r0, %r0, 1;
setp.lt.u32 %q, %r0, 20000;
@%q bra again;";

#[test]
fn progress_is_told_and_stops() {
    let module = module(LOOP);
    for stop in [1, 3, u64::MAX] {
        let mut device = Device::new(&module, RunOptions::default()).expect("a device");
        let buffer = device.allocate("p", Contents::Bytes(vec![0; 4]));
        let launch =
            Launch::new("k", FullSize { grid: [3, 1, 1], ..[32, 1, 1].into() }, vec![Argument::Buffer(buffer, 0)]);
        let mut all = Vec::new();
        let report = device.launch_with(&launch, &mut |progress| {
            all.push(progress);
            if all.len() as u64 == stop { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
        });
        let report = report.expect("a launch");
        // The run executes 240,000 warp instructions.
        let told = if stop == u64::MAX { 3 } else { stop };
        assert_eq!(all.len() as u64, told);
        assert!(all.windows(2).all(|two| two[0].steps < two[1].steps && two[0].ended <= two[1].ended), "{all:?}");
        assert!(all.iter().all(|progress| progress.ctas == 3 && progress.steps % 32 == 0), "{all:?}");
        let notes: Vec<&str> = report.notes.iter().map(|note| &*note.what).collect();
        assert_eq!(notes.iter().any(|note| note.starts_with("the run was cut after ")), stop != u64::MAX, "{notes:?}");
        assert_eq!(report.findings, []);
    }
}

#[test]
fn buffers_that_grow() {
    let module = module("ld.global.u32 %r0, [%p+70000];\nst.global.u32 [%p], 7;\nst.global.u32 [%p+4], %r0;");
    for (contents, zeros) in [(Contents::GrowsZero(1 << 20), true), (Contents::Grows(1 << 20), false)] {
        let mut device = Device::new(&module, RunOptions::default()).expect("a device");
        let buffer = device.allocate("p", contents);
        device.launch(&Launch::new("k", [1, 1, 1], vec![Argument::Buffer(buffer, 0)])).expect("a launch");
        let bytes = device.contents(buffer);
        assert!(bytes.len() >= 70004 && bytes[0] == 7, "{}", bytes.len());
        assert_eq!(bytes[4..].iter().all(|byte| *byte == 0), zeros);
    }
    let mut device = Device::new(&module, RunOptions::default()).expect("a device");
    let buffer = device.allocate("p", Contents::GrowsZero(1 << 10));
    let report = device.launch(&Launch::new("k", [1, 1, 1], vec![Argument::Buffer(buffer, 0)])).expect("a launch");
    assert_eq!(report.findings[0].kind, FaultKind::OutOfBounds);
}

/// An update of 8 bits accesses the enclosing word, and the word may be larger than a buffer. A plain access of the
/// word is an error.
#[test]
fn words_around_bytes() {
    for (body, length, expected, found) in [
        ("atom.relaxed.gpu.global.cas.b32 %r0, [%p], 0, 513;", 1, &[1][..], None),
        ("ld.relaxed.gpu.global.u32 %r0, [%p];\nst.relaxed.gpu.global.u32 [%p+4], 7;", 7, &[0, 0, 0, 0, 7, 0, 0], None),
        ("st.global.u32 [%p], 7;", 3, &[0, 0, 0], Some(FaultKind::OutOfBounds)),
        ("atom.relaxed.gpu.global.cas.b32 %r0, [%p+4], 0, 1;", 4, &[0, 0, 0, 0], Some(FaultKind::OutOfBounds)),
        ("st.relaxed.gpu.global.u64 [%p], 7;", 7, &[0; 7], Some(FaultKind::OutOfBounds)),
        ("{ .shared .b8 busy;\natom.relaxed.cta.shared.cas.b32 %r0, [busy], 0, 1; }", 1, &[0], None),
        (
            "{ .local .b32 own;\nmov.u64 %p, own;\ncvta.local.u64 %p, %p;\nst.u32 [%p], 0;\natom.relaxed.gpu.add.u32 %r0, [%p], 1; }",
            1,
            &[0],
            Some(FaultKind::Misuse),
        ),
    ] {
        let module = module(body);
        let mut device = Device::new(&module, RunOptions::default()).expect("a device");
        let buffer = device.allocate("p", Contents::Bytes(vec![0; length]));
        let report = device.launch(&Launch::new("k", [1, 1, 1], vec![Argument::Buffer(buffer, 0)])).expect("a launch");
        let kinds: Vec<FaultKind> = report.findings.iter().map(|finding| finding.kind).collect();
        assert_eq!((device.contents(buffer), kinds), (expected, found.into_iter().collect()), "{body}");
    }
}

#[test]
fn features_that_the_device_lacks() {
    let module = module(
        "@!%q bra end;\n\
         vadd.u32.u32.u32 %r0, %r1, %r2;\n\
         call elsewhere;\n\
         mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0 {%f0, %f1, %f2, %f3}, \
         {%r0, %r1, %r2, %r3}, {%r4, %r5}, {%f0, %f1, %f2, %f3}, %r6, {0, 0}, %r7, {0, 0};\n\
         mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%f0, %f1, %f2, %f3}, {%r0, %r1, %r2, %r3}, {%r4, %r5}, \
         {%f0, %f1, %f2, %f3};\n\
         end:",
    );
    let mut device = Device::new(&module, RunOptions::default()).expect("a device");
    let lacks = device.lacks("k").expect("a kernel");
    let all: Vec<_> = lacks.iter().map(|lack| (lack.line, &*lack.instruction, lack.ends)).collect();
    let block = "mma.sync.aligned.m16n8k64.row.col.kind::mxf4.block_scale.scale_vec::2X.f32.e2m1.e2m1.f32.ue8m0";
    assert_eq!(all, [(13, "vadd.u32.u32.u32", true), (14, "call", true), (15, block, false)], "{lacks:?}");
    assert!(lacks[1].reason.contains("the kernel calls `elsewhere`"), "{lacks:?}");
    assert!(device.lacks("none").is_err());
    // No thread reaches any of them.
    let buffer = device.allocate("p", Contents::Bytes(vec![0; 4]));
    let report = device.launch(&Launch::new("k", [32, 1, 1], vec![Argument::Buffer(buffer, 0)])).expect("a launch");
    assert_eq!((report.findings, report.notes), (vec![], vec![]));
}

#[test]
fn clusters_of_older_gpus_are_refused() {
    for (gpu, expected) in
        [("sm_70", Some("found one for sm_70")), ("sm_89", Some("sm_90 or a newer")), ("sm_90", None)]
    {
        let text = format!(".version 8.0\n.target {gpu}\n.address_size 64\n.visible .entry k() {{ ret; }}\n");
        let module: Module = text.parse().expect("PTX");
        let mut device = Device::new(&module, RunOptions::default()).expect("a device");
        let launch = Launch::new("k", FullSize { grid: [2, 1, 1], cluster: [2, 1, 1], ..[1; 3].into() }, Vec::new());
        let errors = device.launch(&launch).err().unwrap_or_default();
        assert_eq!(errors.len(), usize::from(expected.is_some()), "{gpu}: {errors:?}");
        assert!(errors.iter().all(|error| expected.is_some_and(|part| error.reason.contains(part))), "{errors:?}");
    }
}

/// The message and the remedy of each finding of a launch.
fn collect_messages(body: &str, block: u32) -> Vec<(String, String)> {
    let module = module(body);
    let mut device = Device::new(&module, RunOptions::default()).expect("a device");
    let buffer = device.allocate("p", Contents::Bytes(vec![0; 4]));
    let launch = Launch::new("k", [block, 1, 1], vec![Argument::Buffer(buffer, 0)]);
    let report = device.launch(&launch).expect("a launch");
    let words = |finding: &ptx_execute::Fault| {
        (finding.message.clone(), finding.help.as_ref().map(ToString::to_string).unwrap_or_default())
    };
    report.findings.iter().map(words).collect()
}

#[test]
fn an_address_outside_of_all_memory_is_named() {
    for (address, expected) in [
        ("0x7f3a00001000", "address 0x7f3a00001000 is outside of all memory"),
        ("0xdeadbeef12345678", "address 0xdeadbeef12345678 is outside of all memory"),
        ("64", "address 0x40 is outside of all memory"),
    ] {
        let found = collect_messages(&format!("mov.u64 %p, {address};\nst.global.u32 [%p], 1;"), 1);
        assert_eq!(found, [(expected.to_owned(), String::new())]);
    }
}

#[test]
fn the_help_for_a_hang_is_about_the_barrier_where_the_thread_waits() {
    let found = collect_messages(
        "mov.u32 %r0, %tid.x;\nsetp.lt.u32 %q, %r0, 32;\n@%q bra first;\nbar.sync 1, 64;\nret;\n\
         first: barrier.cluster.arrive;\nbarrier.cluster.wait;",
        64,
    );
    let help: Vec<&str> = found.iter().map(|(_, help)| &**help).collect();
    let barrier = "let all threads of the CTA reach the barrier, or give the number of threads as its second operand";
    assert_eq!(help, ["let all threads of the cluster arrive at its barrier", barrier], "{found:?}");
}
