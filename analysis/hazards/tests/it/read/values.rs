//! The known contents of registers and predicates.

use super::*;

#[test]
fn sums_of_constants_and_registers() {
    check(
        "mov.b32 %r0, sm;
         mov.u32 %r1, %tid.x;
         shl.b32 %r2, %r1, 4;
         add.s32 %r3, %r0, %r2;
         mad.lo.s32 %r4, %r1, 16, %r0;
         or.b32 %r5, %r2, 8;
         add.s32 %r5, %r5, %r0;
         sub.s32 %r6, %r3, %r2;
         st.shared.b32 [%r3+4], 0;
         st.shared.v4.b32 [%r4+4], {0, 0, 0, 0};
         st.shared.b64 [%r5], 0;
         ld.shared.b8 %r7, [%r6+-1];",
        "threads 128
         block 0
         14: write shared sm+16*v0+4[..4]
         15: write shared sm+16*v0+4[..16]
         16: write shared sm+16*v0+8[..8]
         17: read shared sm-1[..1]
         v0 = thread in 0..=127 of the thread",
    );
}

/// The carry flag is not an operand: equal instructions with equal operands may differ.
#[test]
fn sums_with_a_carry() {
    check(
        "mov.b32 %r0, sm;
         add.cc.u32 %r1, %r2, %r3;
         addc.u32 %r4, %r5, 0;
         addc.u32 %r6, %r5, 0;
         add.s32 %r4, %r0, %r4;
         add.s32 %r6, %r0, %r6;
         st.shared.b32 [%r4], 0;
         st.shared.b32 [%r6], 0;",
        "threads 128
         block 0
         12: write shared sm+v0[..4]
         13: write shared sm+v1[..4]
         v0 = value of the thread
         v1 = value of the thread",
    );
}

#[test]
fn fields_of_threads() {
    check(
        "mov.u32 %r1, %tid.x;
         shr.u32 %r2, %r1, 5;
         and.b32 %r3, %r1, 31;
         bfe.u32 %r4, %r1, 2, 3;
         shl.b32 %r5, %r1, 2;
         and.b32 %r5, %r5, 28;
         shfl.sync.idx.b32 %r6, %r2, 0, 31, -1;
         shfl.sync.idx.b32 %r7, %r1, 0, 31, -1;
         mov.b32 %r8, sm;
         add.s32 %r9, %r8, %r2;
         st.shared.b32 [%r9], 0;
         add.s32 %r9, %r8, %r3;
         st.shared.b32 [%r9], 0;
         add.s32 %r9, %r8, %r4;
         st.shared.b32 [%r9], 0;
         add.s32 %r9, %r8, %r5;
         st.shared.b32 [%r9], 0;
         add.s32 %r9, %r8, %r6;
         st.shared.b32 [%r9], 0;
         add.s32 %r9, %r8, %r7;
         st.shared.b32 [%r9], 0;",
        "threads 128
         block 0
         16: write shared sm+v0[..4]
         18: write shared sm+v1[..4]
         20: write shared sm+v2[..4]
         22: write shared sm+4*v3[..4]
         24: write shared sm+v0[..4]
         26: write shared sm+v4[..4]
         v0 = warp in 0..=3 of the warp
         v1 = lane in 0..=31 of the thread
         v2 = value in 0..=7 of the thread
         v3 = value in 0..=7 of the thread
         v4 = value in 0..=96 of the warp",
    );
}

#[test]
fn predicates() {
    check(
        "mov.u32 %r1, %tid.x;
         shr.u32 %r2, %r1, 5;
         elect.sync %r3|%p1, -1;
         setp.eq.u32 %p2, %r2, 1;
         and.pred %p3, %p1, %p2;
         setp.lt.u32 %p4, %r1, 32;
         setp.ge.s32 %p5, %r1, 32;
         setp.gt.u32 %p6, %r1, 31;
         add.s32 %r4, %r1, -64;
         setp.lt.u32 %p7, %r4, 32;
         and.b32 %r5, %r1, 31;
         setp.ne.b32 %p8, %r5, 0;
         selp.b32 %r6, 1, 0, %p2;
         setp.ne.b32 %p9, %r6, 0;
         ld.param.u32 %r7, [n];
         setp.gt.s32 %p10, %r7, 0;
         or.pred %p11, %p2, %p10;
         setp.lt.u32 %p12, %r1, 128;
         mov.pred %p13, 0;
         @%p3 tcgen05.wait::ld.sync.aligned;
         @%p4 tcgen05.wait::ld.sync.aligned;
         @%p5 tcgen05.wait::ld.sync.aligned;
         @!%p6 tcgen05.wait::ld.sync.aligned;
         @%p7 tcgen05.wait::ld.sync.aligned;
         @!%p8 tcgen05.wait::ld.sync.aligned;
         @%p9 tcgen05.wait::ld.sync.aligned;
         @%p10 tcgen05.wait::ld.sync.aligned;
         @%p11 tcgen05.wait::ld.sync.aligned;
         @%p12 tcgen05.wait::ld.sync.aligned;
         @%p13 tcgen05.wait::ld.sync.aligned;",
        "threads 128
         block 0
         25: @p0 @p1 tensor wait load
         26: @p2 tensor wait load
         27: @!p2 tensor wait load
         28: @p2 tensor wait load
         29: @p3 tensor wait load
         30: @p4 tensor wait load
         31: @p1 tensor wait load
         32: @!p5 tensor wait load
         33: @!p6 tensor wait load
         34: tensor wait load
         v0 = warp in 0..=3 of the warp
         v1 = thread in 0..=127 of the thread
         v2 = lane in 0..=31 of the thread
         v3 = value
         p0 = one of warp of the thread
         p1 = v0 == 1 of the warp
         p2 = v1 in 0..=31 of the warp
         p3 = v1 in 64..=95 of the warp
         p4 = one of warp of the thread
         p5 = v3 <= 0
         p6 = !p1 and p5 of the warp",
    );
}

#[test]
fn values_that_join_in_a_loop() {
    check(
        "mov.b32 %r0, sm;
         mov.b32 %r1, 0;
         mov.b32 %r2, %r0;
         ld.param.u32 %r9, [n];
         $again:
         st.shared.b32 [%r2+16], 0;
         shl.b32 %r3, %r1, 3;
         add.s32 %r3, %r3, %r0;
         mbarrier.arrive.shared::cta.b64 _, [%r3];
         add.s32 %r2, %r2, 4;
         add.s32 %r4, %r1, 1;
         setp.eq.b32 %p1, %r4, 3;
         selp.b32 %r1, 0, %r4, %p1;
         add.s32 %r9, %r9, -1;
         setp.ne.b32 %p2, %r9, 0;
         @%p2 bra $again;
         ret;",
        "threads 128
         block 0
         to 1
         block 1
         11: write shared sm+v0+16[..4]
         14: arrive release.cta sm+8*v1
         to 1 when !p0
         to 2 when p0
         block 2
         v0 = value in block 1
         v1 = value in 0..=2 in block 1
         v2 = value in block 1
         p0 = v2 == 1 in block 1",
    );
}

#[test]
fn remainders() {
    check(
        "mov.b32 %r0, sm;
         mov.b32 %r1, 0;
         $again:
         mul.hi.u32 %r2, %r1, -1431655765;
         shr.u32 %r2, %r2, 1;
         mul.lo.s32 %r3, %r2, 3;
         sub.s32 %r4, %r1, %r3;
         shl.b32 %r5, %r4, 3;
         add.s32 %r6, %r0, %r5;
         mbarrier.arrive.shared::cta.b64 _, [%r6+64];
         add.s32 %r1, %r1, 1;
         ld.param.u32 %r9, [n];
         setp.lt.s32 %p2, %r1, %r9;
         @%p2 bra $again;",
        "threads 128
         block 0
         to 1
         block 1
         15: arrive release.cta sm+8*v0+64
         to 1 when p0
         to 2 when !p0
         block 2
         v0 = value in 0..=2 in block 1
         v1 = value in block 1
         p0 = v1 <= -2 in block 1",
    );
}

/// An index that is carried through a loop, `(index + 1) % 7`, as compilers write it.
#[test]
fn remainders_that_are_carried() {
    let idioms = [
        "rem.u32 %r4, %r2, 7;",
        "cvt.u64.u32 %rd1, %r2;
         mul.hi.u64 %rd2, %rd1, 2635249153617166336;
         cvt.u32.u64 %r3, %rd2;
         mul.lo.s32 %r3, %r3, 7;
         sub.s32 %r4, %r2, %r3;",
        "mul.hi.u32 %r3, %r2, 613566757;
         sub.s32 %r4, %r2, %r3;
         shr.u32 %r4, %r4, 1;
         add.s32 %r4, %r4, %r3;
         shr.u32 %r4, %r4, 2;
         mul.lo.s32 %r4, %r4, 7;
         sub.s32 %r4, %r2, %r4;",
        "mul.hi.s32 %r3, %r2, -1840700269;
         add.s32 %r3, %r3, %r2;
         shr.u32 %r4, %r3, 31;
         shr.s32 %r3, %r3, 2;
         add.s32 %r3, %r3, %r4;
         mul.lo.s32 %r3, %r3, 7;
         sub.s32 %r4, %r2, %r3;",
    ];
    for idiom in idioms {
        let line = 15 + idiom.lines().count();
        check(
            &format!(
                ".reg .b32 %r<10>;
                 mov.b32 %r0, sm;
                 mov.b32 %r1, 0;
                 ld.param.u32 %r9, [n];
                 $again:
                 shl.b32 %r5, %r1, 3;
                 add.s32 %r5, %r5, %r0;
                 add.s32 %r2, %r1, 1;
                 {idiom}
                 mov.b32 %r1, %r4;
                 mbarrier.arrive.shared::cta.b64 _, [%r5];
                 setp.lt.s32 %p2, %r2, %r9;
                 @%p2 bra $again;"
            ),
            &format!(
                "threads 128
                 block 0
                 to 1
                 block 1
                 {line}: arrive release.cta sm+8*v0
                 to 1 when !p0
                 to 2 when p0
                 block 2
                 v0 = value in 0..=6 in block 1
                 v1 = value in block 1
                 p0 = v1 <= 1 in block 1"
            ),
        );
    }
}

#[test]
fn registers_of_a_loop_that_differ_by_a_number() {
    check(
        ".reg .b32 %r<10>;
         mov.b32 %r0, sm;
         mov.b32 %r1, 0;
         mov.b32 %r2, -3;
         ld.param.u32 %r9, [n];
         $again:
         shl.b32 %r3, %r1, 3;
         add.s32 %r3, %r3, %r0;
         shl.b32 %r4, %r2, 3;
         sub.s32 %r3, %r3, %r4;
         mbarrier.arrive.shared::cta.b64 _, [%r3];
         add.s32 %r1, %r2, 7;
         add.s32 %r2, %r2, 4;
         setp.lt.s32 %p2, %r1, %r9;
         @%p2 bra $again;",
        "threads 128
         block 0
         to 1
         block 1
         16: arrive release.cta sm+24
         to 1 when !p0
         to 2 when p0
         block 2
         v0 = value in block 1
         p0 = v0 <= 4 in block 1",
    );
}
