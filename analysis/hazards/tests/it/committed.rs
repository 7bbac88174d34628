//! Tests of the progress of a product when its `tcgen05.commit` arrives, and of the accesses that may follow.

use ptx_hazards::{Claim, Rule, check, read};
use ptx_isa::Module;
use ptx_memory_model::ptx::readings::Readings;

const COMPLETE: &str = "";
/// PTX 9.4.
const READ_A: &str = ".sync_restrict::shared::read::mma::a";

/// A kernel in which one thread multiplies, waits for its commit, executes `then`, and waits until the product is
/// complete.
fn kernel(a: &str, committed: &str, then: &str) -> String {
    let descriptor = |to: &str, of: &str| {
        format!(
            "mov.u32 %r0, {of}; shr.u32 %r0, %r0, 4; and.b32 %r0, %r0, 16383; cvt.u64.u32 {to}, %r0;
            or.b64 {to}, {to}, 4611756662317416448;"
        )
    };
    let wait = |label: &str, bar: &str| {
        format!("{label}: mbarrier.try_wait.parity.shared::cta.b64 %p2, [{bar}], 0; @!%p2 bra {label};")
    };
    format!(
        ".version 9.4
.target sm_107a
.address_size 64
.visible .entry k(.param .u64 .ptr .global from, .param .b32 shape) .reqntid 32 {{
.reg .pred %p<4>; .reg .b32 %r<4>, %d, %shape; .reg .b64 %a, %b, %x;
.shared .align 1024 .b8 a[4096]; .shared .align 1024 .b8 b[4096];
.shared .align 8 .b64 read; .shared .align 8 .b64 full; .shared .align 8 .b64 complete;
.shared .align 4 .b32 columns;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [columns], 64;
mov.u32 %r1, %tid.x;
setp.ne.u32 %p0, %r1, 0;
@%p0 bra ready;
mbarrier.init.shared::cta.b64 [read], 1;
mbarrier.init.shared::cta.b64 [full], 1;
mbarrier.init.shared::cta.b64 [complete], 1;
fence.mbarrier_init.release.cluster;
ready: bar.sync 0;
ld.shared.b32 %d, [columns];
ld.param.b32 %shape, [shape];
ld.param.u64 %x, [from];
{} {}
@%p0 bra end;
tcgen05.mma.cta_group::1.kind::f16 [%d], {a}, %b, %shape, 0;
tcgen05.commit.cta_group::1.mbarrier::arrive::one{committed}.shared::cluster.b64 [read];
{}
tcgen05.fence::after_thread_sync;
{then}
tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [complete];
{}
end: bar.sync 0;
tcgen05.fence::after_thread_sync;
tcgen05.dealloc.cta_group::1.sync.aligned.b32 %d, 64;
ret;
}}
",
        descriptor("%a", "a"),
        descriptor("%b", "b"),
        wait("behind_read", "read"),
        wait("behind_all", "complete"),
    )
}

fn copy(to: &str) -> String {
    format!(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 128;
        cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [{to}], [%x], 128, [full];
        filled: mbarrier.try_wait.parity.shared::cta.b64 %p3, [full], 0;
        @!%p3 bra filled;"
    )
}

#[track_caller]
fn says(a: &str, committed: &str, then: &str, expected: &[Rule]) {
    let text = kernel(a, committed, then);
    let module: Module = text.parse().unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    let found = read(&module).into_iter().flat_map(|kernel| check(&kernel, Readings::DEFAULT).findings);
    let found: Vec<_> = found.filter(|finding| finding.claim != Claim::Note).collect();
    let is_wrong = found.iter().all(|finding| finding.claim == Claim::Wrong);
    let rules: Vec<_> = found.iter().filter_map(|finding| finding.rule).collect();
    assert!(is_wrong && rules == expected, "{rules:?} instead of {expected:?}: {found:#?}\n{text}");
}

#[test]
fn after_a_whole_product_every_operand_may_be_overwritten() {
    says("%a", COMPLETE, &copy("a"), &[]);
    says("%a", COMPLETE, &copy("b"), &[]);
    says("%a", COMPLETE, "mov.b32 %r2, 0;", &[]);
}

#[test]
fn after_the_reads_of_a_only_a_may_be_overwritten() {
    says("%a", READ_A, &copy("a"), &[]);
    says("%a", READ_A, &copy("b"), &[Rule::R3]);
    says("%a", READ_A, "fence.proxy.async.shared::cta; st.shared.b32 [a], 1;", &[]);
    says("%a", READ_A, "fence.proxy.async.shared::cta; st.shared.b32 [b], 1;", &[Rule::R3]);
    says("%a", READ_A, "tcgen05.cp.cta_group::1.128x256b [%d], %a;", &[]);
}

/// The qualifier does not apply to A in tensor memory.
#[test]
fn a_commit_without_reads_waits_for_nothing() {
    says("[%d+32]", READ_A, "mov.b32 %r2, 0;", &[Rule::R9]);
    says("[%d+32]", COMPLETE, "mov.b32 %r2, 0;", &[]);
}
