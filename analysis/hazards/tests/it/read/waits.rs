//! The positions of waits, and the values that loops carry.

use super::*;

#[test]
fn a_wait_stands_where_it_has_succeeded() {
    check(
        "mov.b32 %r0, sm;
         { .reg .pred complete; waitLoop: mbarrier.try_wait.parity.shared::cta.b64 complete, [%r0], 0; @!complete bra.uni waitLoop; }
         { .reg .pred P1; LAB_WAIT: mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 P1, [%r0+8], 1; @P1 bra DONE; bra LAB_WAIT; DONE: }
         tcgen05.fence::after_thread_sync;
         mbarrier.test_wait.shared::cta.b64 %p1, [%r0+16], %rd1;
         selp.b32 %r1, 1, 0, %p1;
         setp.eq.b32 %p2, %r1, 0;
         @%p2 bra $out;
         tcgen05.fence::before_thread_sync;
         mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r0+24], 1;
         $out:
         mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r0+32], 1;
         @%p4 st.shared.b32 [%r0+64], 0;
         ret;",
        "threads 128
         block 0
         to 1
         block 1
         to 1 when !p1
         to 7 when p1
         block 2
         to 8 when p2
         to 3 when !p2
         block 3
         to 2
         block 4
         9: tensor fence after
         to 6 when !p3
         to 9 when p3
         block 5
         14: tensor fence before
         to 6
         block 6
         17: @p0 wait acquire.cta sm+32
         18: @p0 write shared sm+64[..4]
         block 7
         7: wait acquire.cta sm
         to 2
         block 8
         8: wait relaxed.cluster sm+8
         to 4
         block 9
         10: wait acquire.cta sm+16
         to 5
         p0 = unknown
         p1 = unknown in block 1
         p2 = unknown in block 2
         p3 = unknown",
    );
}

#[test]
fn a_wait_that_is_tried_a_round_in_advance() {
    check(
        "mov.b32 %r8, sm;
         mov.b32 %r2, 0;
         mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r8+64], 0;
         selp.b32 %r30, 1, 0, %p4;
         $again:
         shl.b32 %r4, %r2, 3;
         add.s32 %r5, %r8, %r4;
         setp.ne.s32 %p1, %r30, 0;
         @%p1 bra $done;
         $slow: mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r5+64], 0;
         @%p5 bra $done;
         bra $slow;
         $done:
         add.s32 %r3, %r2, 1;
         setp.eq.b32 %p2, %r3, 4;
         selp.b32 %r2, 0, %r3, %p2;
         shl.b32 %r14, %r2, 3;
         add.s32 %r15, %r8, %r14;
         mbarrier.try_wait.parity.shared::cta.b64 %p6, [%r15+64], 0;
         selp.b32 %r30, 1, 0, %p6;
         ld.param.u32 %r9, [n];
         setp.gt.s32 %p7, %r9, %r3;
         @%p7 bra $again;
         ret;",
        "threads 128
         block 0
         to 1
         block 1
         to 6 when !p0
         to 2 when p0
         block 2
         to 7 when p1
         to 3 when !p1
         block 3
         to 2
         block 4
         to 1 when p2
         to 5 when !p2
         block 5
         block 6
         24: wait acquire.cta sm+8*v1+64
         to 4
         block 7
         15: wait acquire.cta sm+8*v1+64
         to 4
         v0 = value in 0..=1 in block 1
         v1 = value in 0..=3 in block 1
         v2 = value in block 1
         p0 = v0 == 0 in block 1
         p1 = unknown in block 2
         p2 = v2 <= -2 in block 1",
    );
}

#[test]
fn a_token_that_says_that_no_wait_is_needed() {
    check(
        "ld.param.u32 %r1, [n];
         mov.b32 %r8, sm;
         mov.b32 %r2, 0;
         mov.b32 %r3, 0;
         setp.lt.s32 %p1, %r1, 1;
         mov.b32 %r30, 1;
         @%p1 bra $loop;
         mbarrier.try_wait.parity.shared::cta.b64 %p4, [%r8], 0;
         selp.b32 %r30, 1, 0, %p4;
         $loop:
         @%p1 bra $out;
         $again:
         shl.b32 %r4, %r3, 3;
         add.s32 %r5, %r8, %r4;
         setp.ne.b32 %p2, %r30, 0;
         @%p2 bra $done;
         $slow: mbarrier.try_wait.parity.shared::cta.b64 %p5, [%r5], 0;
         @!%p5 bra $slow;
         $done:
         add.s32 %r6, %r3, 1;
         setp.eq.b32 %p3, %r6, 4;
         selp.b32 %r2, 0, %r6, %p3;
         setp.eq.b32 %p6, %r1, 1;
         mov.b32 %r30, 1;
         @%p6 bra $next;
         shl.b32 %r7, %r2, 3;
         add.s32 %r7, %r7, %r8;
         mbarrier.try_wait.parity.shared::cta.b64 %p7, [%r7], 0;
         selp.b32 %r30, 1, 0, %p7;
         $next:
         add.s32 %r1, %r1, -1;
         mov.b32 %r3, %r2;
         setp.ne.b32 %p8, %r1, 0;
         @%p8 bra $again;
         $out: ret;",
        "threads 128
         block 0
         to 2 when p0
         to 1 when !p0
         block 1
         to 2
         block 2
         to 8 when p0
         to 3 when !p0
         block 3
         to 9 when !p1
         to 4 when p1
         block 4
         to 4 when !p2
         to 10 when p2
         block 5
         to 7 when p3
         to 6 when !p3
         block 6
         to 7
         block 7
         to 3 when !p3
         to 8 when p3
         block 8
         block 9
         33: wait acquire.cta sm+8*v2
         to 5
         block 10
         22: wait acquire.cta sm+8*v2
         to 5
         v0 = value
         v1 = value in 0..=1 in block 3
         v2 = value in 0..=3 in block 3
         v3 = value in 1..=9223372036854775807 in block 3
         p0 = v0 <= 0
         p1 = v1 == 0 in block 3
         p2 = unknown in block 4
         p3 = v3 == 1 in block 3",
    );
}

#[test]
fn counters_that_count_together() {
    check(
        ".reg .b32 %r<19>;
         mov.b32 %r0, sm;
         mov.b32 %r1, 0;
         mov.b32 %r2, %r0;
         ld.param.u32 %r9, [n];
         $again:
         shr.u32 %r3, %r1, 31;
         add.s32 %r3, %r3, %r1;
         shr.s32 %r3, %r3, 1;
         shl.b32 %r4, %r3, 4;
         sub.s32 %r5, %r2, %r4;
         mbarrier.arrive.shared::cta.b64 _, [%r5+64];
         mul.hi.s32 %r6, %r1, 1431655766;
         shr.u32 %r7, %r6, 31;
         add.s32 %r6, %r6, %r7;
         mul.lo.s32 %r7, %r6, 3;
         sub.s32 %r7, %r1, %r7;
         shl.b32 %r7, %r7, 3;
         add.s32 %r7, %r7, %r0;
         mbarrier.arrive.shared::cta.b64 _, [%r7];
         add.s32 %r2, %r2, 8;
         add.s32 %r1, %r1, 1;
         setp.lt.s32 %p2, %r1, %r9;
         @%p2 bra $again;",
        "threads 128
         block 0
         to 1
         block 1
         17: arrive release.cta sm+8*v0+64
         25: arrive release.cta sm+8*v1
         to 1 when !p0
         to 2 when p0
         block 2
         v0 = value in 0..=1 in block 1
         v1 = value in 0..=2 in block 1
         v2 = value in block 1
         p0 = v2 <= 1 in block 1",
    );
}

#[test]
fn guarded_results() {
    check(
        "mov.b32 %r0, sm;
         mov.u32 %r1, %tid.x;
         setp.lt.u32 %p1, %r1, 32;
         mov.b32 %r2, 0;
         @%p1 mov.b32 %r2, 64;
         add.s32 %r3, %r0, %r2;
         st.shared.b32 [%r3], 0;
         mov.b32 %r4, 0;
         elect.sync %r5|%p2, -1;
         @%p2 mov.b32 %r4, 1;
         setp.ne.b32 %p3, %r4, 0;
         @%p3 st.shared.b32 [%r0], 0;
         mov.pred %p4, %p2;
         @%p1 mov.pred %p4, 0;
         @%p4 st.shared.b32 [%r0], 0;
         @%p1 ld.shared.b32 %r6, [%r0];",
        "threads 128
         block 0
         12: write shared sm+v0[..4]
         17: @p0 write shared sm[..4]
         20: @!p1 @p0 write shared sm[..4]
         21: @p1 read shared sm[..4]
         v0 = value in 0..=64 of the warp
         v1 = thread in 0..=127 of the thread
         p0 = one of warp of the thread
         p1 = v1 in 0..=31 of the warp",
    );
}

/// Lines that must not crash the reader in any order: they jump into one another, call, and read missing registers.
const LINES: &[&str] = &[
    "$a:",
    "$b:",
    "{ .reg .b32 %r<4>; .reg .pred %p<4>;",
    "@%p1 bra $a;",
    "@!%p2 bra $b;",
    "bra $a;",
    "@%p0 exit;",
    "ret;",
    "trap;",
    "brx.idx %r1, ts;",
    "ts: .branchtargets $a, $b, $c;",
    "call f, (%r1);",
    "call (%r1), g, (%r2, 3);",
    "call (%r1), h, (%r2);",
    "mov.b32 %r0, sm;",
    "mov.u32 %r1, %tid.x;",
    "mov.b64 %rd1, {%r1, %r2};",
    "mov.b64 {%r1, %r2}, %rd1;",
    "mov.b32 {%rs1, _}, %r1;",
    "mov.b128 %q1, {%rd1, %rd2};",
    "add.s32 %r1, %r1, 1;",
    "add.s32 %r2, %r1, %r2;",
    "sub.s64 %rd1, %rd1, -9223372036854775808;",
    "mul.lo.s32 %r2, %r1, %r2;",
    "mul.hi.u32 %r2, %r1, -1431655765;",
    "mul.hi.s32 %r2, %r1, 1431655766;",
    "mad.wide.s32 %rd1, %r1, -8, %rd1;",
    "shl.b64 %rd1, %rd1, 63;",
    "shl.b32 %r2, %r1, 99;",
    "shr.s32 %r2, %r2, 31;",
    "shr.u64 %rd2, %rd1, 64;",
    "shr.u32 %r2, %r2, 1;",
    "and.b32 %r1, %r1, 2147483647;",
    "and.b32 %r1, %r2, -16777232;",
    "and.b64 %rd1, %rd1, 4278190072;",
    "or.b32 %r1, %r1, %r2;",
    "xor.b32 %r1, %r1, 1;",
    "bfe.u32 %r1, %r1, 4, 255;",
    "bfe.s64 %rd1, %rd1, 63, 1;",
    "bfi.b32 %r1, %r2, %r1, 31, 9;",
    "div.s32 %r1, %r2, -1;",
    "div.u32 %r1, %r2, 3;",
    "rem.s32 %r1, %r2, 0;",
    "rem.u32 %r1, %r2, 8;",
    "neg.s32 %r1, %r1;",
    "not.b32 %r1, %r1;",
    "min.s32 %r1, %r1, %r2;",
    "max.u32 %r1, %r1, -1;",
    "cvt.u64.u32 %rd1, %r1;",
    "cvt.u16.u32 %rs1, %r1;",
    "cvt.s32.s16 %r1, %rs1;",
    "cvta.shared.u64 %rd1, %rd1;",
    "mapa.shared::cluster.u32 %r1, %r1, %r2;",
    "selp.b32 %r1, 1, 0, %p1;",
    "selp.b32 %r1, %r2, %r1, %p2;",
    "@%p1 mov.b32 %r1, %r2;",
    "@!%p1 mov.pred %p2, %p1;",
    "setp.eq.s32 %p1, %r1, %r2;",
    "setp.ne.b32 %p1, %r1, 0;",
    "setp.lt.u64 %p2, %rd1, -1;",
    "setp.gt.s64 %p2, %rd1, -9223372036854775808;",
    "setp.lt.and.u32 %p1|%p2, %r1, 7, !%p1;",
    "setp.lt.f32 %p1, %f1, %f2;",
    "and.pred %p1, %p1, %p2;",
    "or.pred %p2, %p1, %p2;",
    "xor.pred %p2, %p1, %p2;",
    "not.pred %p1, %p1;",
    "elect.sync %r1|%p1, -1;",
    "shfl.sync.idx.b32 %r1|%p1, %r2, 0, 31, -1;",
    "ld.shared.b32 %r1, [sm];",
    "ld.shared.v2.b32 {%r1, %r2}, [%r0+8];",
    "ld.param.b32 %r1, [n];",
    "st.shared.b32 [%r1], 0;",
    "st.param.b32 [x], %r1;",
    "atom.global.add.u32 %r1, [%rd1], 1;",
    "mbarrier.init.shared::cta.b64 [%r1], %r2;",
    "mbarrier.arrive.shared::cta.b64 _, [%r1+8];",
    "mbarrier.try_wait.parity.shared::cta.b64 %p1, [%r1], %r2;",
    "mbarrier.try_wait.parity.shared::cta.b64 %p2, [%r0], 0;",
    "tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r0], 64;",
    "tcgen05.ld.sync.aligned.16x32bx2.x1.b32 {%r1}, [%r2], 9223372036854775807;",
    "tcgen05.mma.cta_group::1.kind::f16 [%r1], %rd1, %rd2, %r2, %p1;",
    "cp.async.bulk.tensor.1d.shared::cta.global.mbarrier::complete_tx::bytes [%r1], [%rd1, {%r2}], [%r0];",
    "bar.sync %r1, %r2;",
    "wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd1, %rd2, %p1, 1, 1, 0, 0;",
];

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_lines_are_read(lines in prop::collection::vec(select(LINES), 0..60)) {
        let open = lines.iter().filter(|line| line.starts_with('{')).count();
        let text = lines.join("\n") + &"}".repeat(open);
        let text = format!(
            "{HEAD}.func (.reg .b32 y) g(.reg .b32 x, .reg .b32 z) {{ add.s32 y, x, z; ret; }}\n\
             .func (.param .b32 y) h(.param .b32 x) {{ {text} }}\n\
             .visible .entry k(.param .b32 n) {{ .reg .b32 %r<9>; .reg .b64 %rd<9>; .reg .pred %p<9>;\n{text}\n}}"
        );
        for kernel in read(&module(&text)) {
            prop_assert!(!kernel.blocks.is_empty());
            let next = kernel.blocks.iter().flat_map(|block| &block.next);
            prop_assert!(next.clone().all(|edge| edge.to < kernel.blocks.len()));
            prop_assert!(next.filter_map(|edge| edge.when).all(|when| when.predicate < kernel.predicates.len()));
            prop_assert!(!kernel.to_string().is_empty());
        }
    }
}

#[test]
fn tests_of_a_multiple_and_of_a_number_more_are_of_one_value() {
    check(
        "mov.u32 %r0, %ctaid.x;
         shl.b32 %r1, %r0, 7;
         add.s32 %r2, %r1, 128;
         setp.gt.s32 %p0, %r2, 192;
         setp.gt.s32 %p1, %r1, 64;
         @%p0 st.shared.b32 [sm], 0;
         @%p1 st.shared.b32 [sm+4], 0;",
        "threads 128
         block 0
         11: @!p0 write shared sm[..4]
         12: @!p0 write shared sm+4[..4]
         v0 = value in 0..=549755813760
         p0 = v0 in 0..=64",
    );
}

/// Both are multiples of only -1: the least number of 64 bits has no negation, so its division has no result.
#[test]
fn the_least_number_is_not_divided() {
    check(
        "mov.u64 %rd1, -9223372036854775808;
         cvt.u64.u32 %rd2, %r1;
         sub.s64 %rd3, %rd1, %rd2;
         shr.u64 %rd4, %rd3, 33;
         st.shared.b32 [sm], 0;",
        "threads 128
         block 0
         10: write shared sm[..4]",
    );
}
