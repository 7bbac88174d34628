//! Small kernels with comments: a comment gives the finding if its line is removed.

use std::collections::BTreeMap;

use ptx_execute::{Argument, Launch, RunOptions};

use super::{outcome, verdict};

const HEAD: &str = "\
.version 8.8
.target sm_100a
.address_size 64
.visible .entry kernel(.param .u64 .ptr .global .align 16 out, .param .u64 .ptr .global .align 16 from)
.reqntid 64
{
.reg .pred %p, %first;
.reg .b32 %thread, %at, %other, %t, %r<4>;
.reg .b64 %x;
.shared .align 16 .b8 tile[1024];
.shared .align 16 .b8 sums[1024];
.shared .align 8 .b64 full;
.shared .align 4 .b32 columns;
mov.u32 %thread, %tid.x;
setp.lt.u32 %first, %thread, 32;
shl.b32 %at, %thread, 4;
xor.b32 %other, %at, 1008;
";

fn collect_faults(text: &str) -> Vec<ptx_execute::Fault> {
    let arguments = vec![Argument::Bytes(vec![0]), Argument::Bytes(vec![1])];
    let launch = Launch::new("kernel", [64, 1, 1], arguments);
    let all = (0..6).flat_map(|seed| outcome(text, &launch, &[&[1; 4096]], RunOptions::default().of_seed(seed)).1);
    all.collect()
}

/// Checks the findings of a kernel without each line that has a comment.
fn check(body: &str) {
    let text = format!("{HEAD}{body}ret;\n}}\n");
    let clean = collect_faults(&text);
    assert!(clean.is_empty(), "{clean:#?}");
    let (mut verdicts, mut expected) = (BTreeMap::new(), BTreeMap::new());
    for (index, line) in text.lines().enumerate() {
        let Some((instruction, comment)) = line.split_once(" // ") else { continue };
        let without: Vec<&str> =
            text.lines().enumerate().map(|(other, line)| if other == index { "" } else { line }).collect();
        verdicts.insert((index, instruction), verdict(&collect_faults(&without.join("\n"))));
        expected.insert((index, instruction), comment);
    }
    assert_eq!(verdicts, expected);
}

#[test]
fn copies_by_threads() {
    check(
        "\
mov.u32 %r0, tile;
add.u32 %at, %at, %r0;
add.u32 %other, %other, %r0;
ld.param.u64 %x, [from];
cp.async.cg.shared.global [%at], [%x], 16;
cp.async.commit_group; // race
cp.async.wait_group 0; // race
bar.sync 0; // race
ld.shared.b32 %r1, [%other];
bar.sync 0; // race
st.shared.b32 [%at], %r1;
bar.sync 0; // redundant
bar.sync 0; // redundant
ld.shared.b32 %r1, [%other];
",
    );
}

#[test]
fn copies_in_bulk() {
    check(
        "\
setp.eq.u32 %p, %thread, 0;
@%p mbarrier.init.shared::cta.b64 [full], 1;
bar.sync 0; // race
@%p mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 1024; // hangs
ld.param.u64 %x, [from];
mov.u32 %r0, tile;
@%p cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r0], [%x], 1024, [full];
again:
mbarrier.try_wait.parity.shared::cta.b64 %p, [full], 0;
@!%p bra again;
add.u32 %at, %at, %r0;
st.shared.b32 [%at], 1;
fence.proxy.async.shared::cta; // race
bar.sync 0; // race
setp.eq.u32 %p, %thread, 0;
@%p cp.async.bulk.global.shared::cta.bulk_group [%x], [%r0], 1024;
@%p cp.async.bulk.commit_group; // race
@%p cp.async.bulk.wait_group.read 0; // race
bar.sync 0; // race
st.shared.b32 [%at], 2;
",
    );
}

#[test]
fn tensor_memory() {
    check(
        "\
mov.u32 %r0, columns;
@%first tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r0], 32;
bar.sync 0; // race
ld.shared.b32 %t, [columns];
setp.ge.u32 %p, %thread, 32;
@%p bra meet;
tcgen05.st.sync.aligned.32x32b.x1.b32 [%t], {%thread};
tcgen05.wait::st.sync.aligned; // race
meet:
bar.sync 0; // race
@%first bra free;
tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r1}, [%t];
tcgen05.wait::ld.sync.aligned; // race
free:
bar.sync 0; // race
@%first tcgen05.dealloc.cta_group::1.sync.aligned.b32 %t, 32; // leaks
",
    );
}

#[test]
fn allocations_keep_the_order_of_an_address() {
    check(
        "\
mov.u32 %r0, tile;
setp.eq.u32 %p, %thread, 0;
@%p mbarrier.init.shared::cta.b64 [full], 1;
@%first tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r0], 32;
bar.sync 0; // race
ld.param.u64 %x, [from];
@%p mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 1024; // hangs
@%p cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r0], [%x], 1024, [full];
again:
mbarrier.try_wait.parity.shared::cta.b64 %p, [full], 0;
@!%p bra again;
mov.u32 %t, 0;
@%first tcgen05.dealloc.cta_group::1.sync.aligned.b32 %t, 32; // leaks
",
    );
}

/// The most severe finding in a kernel, in a word.
fn found_in(body: &str) -> &'static str {
    verdict(&collect_faults(&format!("{HEAD}{body}ret;\n}}\n")))
}

#[test]
fn arrivals_and_waits() {
    check(
        "\
setp.eq.u32 %p, %thread, 0;
@%p mbarrier.init.shared::cta.b64 [full], 64;
bar.sync 0; // race
mov.u32 %r0, tile;
add.u32 %at, %at, %r0;
add.u32 %other, %other, %r0;
st.shared.b32 [%at], 1;
mbarrier.arrive.shared::cta.b64 %x, [full];
again: 
mbarrier.test_wait.shared::cta.b64 %p, [full], %x; // race
@!%p bra again; // race
ld.shared.b32 %r1, [%other];
bar.sync 0; // race
setp.eq.u32 %p, %thread, 0;
@%p mbarrier.inval.shared::cta.b64 [full];
",
    );
}

#[test]
fn relaxed_waits_order_tensor_memory_with_fences() {
    check(
        "\
mov.u32 %r0, columns;
setp.eq.u32 %p, %thread, 0;
@%p mbarrier.init.shared::cta.b64 [full], 32;
@%first tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r0], 32;
bar.sync 0;
ld.shared.b32 %t, [columns];
@!%first bra wait;
tcgen05.st.sync.aligned.32x32b.x1.b32 [%t], {%thread};
tcgen05.wait::st.sync.aligned; // race
tcgen05.fence::before_thread_sync; // race
mbarrier.arrive.relaxed.cluster.shared::cta.b64 _, [full]; // hangs
bra.uni free;
wait:
mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 %p, [full], 0;
@!%p bra wait; // race
tcgen05.fence::after_thread_sync; // race
tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r1}, [%t];
tcgen05.wait::ld.sync.aligned;
free:
bar.sync 0;
@%first tcgen05.dealloc.cta_group::1.sync.aligned.b32 %t, 32;
",
    );
}

#[test]
fn misuses_are_found() {
    let first = "setp.eq.u32 %p, %thread, 0;\n";
    let cases = [
        ("@%p mbarrier.init.shared::cta.b64 [full], 0;\n", "count"),
        ("@%p mbarrier.init.shared::cta.b64 [full], 1;\n@%p mbarrier.init.shared::cta.b64 [full], 1;\n", "misuse"),
        ("@%p mbarrier.init.shared::cta.b64 [full], 1;\n@%p mbarrier.arrive.shared::cta.b64 _, [full], 2;\n", "count"),
        ("@%p mbarrier.arrive.shared::cta.b64 _, [full];\n", "misuse"),
        ("@%p mbarrier.init.shared::cta.b64 [full], 1;\n@%p mbarrier.inval.shared::cta.b64 [full];\n", "redundant"),
        (
            "@%p mbarrier.init.shared::cta.b64 [full], 2;\nw: @!%p bra e;\nmbarrier.try_wait.parity.shared::cta.b64 %p, [full], 0;\nbra w;\ne:\n",
            "redundant",
        ),
        (
            "@%p mbarrier.init.shared::cta.b64 [full], 2;\n@!%p bra e;\nw: mbarrier.try_wait.parity.shared::cta.b64 %p, [full], 0;\n@!%p bra w;\ne:\n",
            "hangs",
        ),
        (
            "mov.u32 %r0, columns;\n@%first tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r0], 48;\n",
            "misuse",
        ),
        ("@%first tcgen05.dealloc.cta_group::1.sync.aligned.b32 0, 32;\n", "misuse"),
        ("mov.b64 %x, tile;\n@%p cp.async.bulk.prefetch.tensor.1d.L2.global [%x, {%thread}];\n", "redundant"),
        (
            "mov.u32 %r0, tile;\nld.param.u64 %x, [from];\n@%p cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%x, {%thread}], [%r0];\n",
            "misuse",
        ),
        (
            "mov.u32 %r0, tile;\nld.param.u64 %x, [from];\n@%p cp.async.bulk.global.shared::cta.bulk_group [%x], [%r0], 1024;\n",
            "misuse",
        ),
        (
            "mov.u32 %r0, tile;\nld.param.u64 %x, [from];\n@%p cp.async.bulk.global.shared::cta.bulk_group [%x+8], [%r0], 1024;\n@%p cp.async.bulk.commit_group;\n@%p cp.async.bulk.wait_group 0;\n",
            "misuse",
        ),
    ];
    for (body, expected) in cases {
        assert_eq!(found_in(&format!("{first}{body}")), expected, "{body}");
    }
}
