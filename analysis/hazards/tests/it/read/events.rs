//! The events of instructions, and the results of calls.

use super::*;

#[test]
fn tensor_memory() {
    check(
        "mov.b32 %r0, sm;
         mov.u32 %r1, %tid.x;
         setp.lt.u32 %p1, %r1, 32;
         @%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r0], 256;
         @%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r0+4], 32;
         @%p1 tcgen05.relinquish_alloc_permit.cta_group::1.sync.aligned;
         bar.sync 0;
         ld.shared.b32 %r2, [sm];
         ld.shared.b32 %r3, [%r0+4];
         ld.shared.b32 %r4, [%r0+8];
         shr.u32 %r5, %r1, 5;
         shl.b32 %r5, %r5, 21;
         and.b32 %r5, %r5, 6291456;
         add.s32 %r6, %r5, %r2;
         tcgen05.ld.sync.aligned.16x128b.x2.b32 {%r10, %r11, %r12, %r13}, [%r6+32];
         tcgen05.st.sync.aligned.16x32bx2.x2.b32 [%r3], 16, {%r10, %r11};
         tcgen05.wait::st.sync.aligned;
         tcgen05.shift.cta_group::1.down [%r4];
         @%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %r2, 256;",
        "threads 128
         block 0
         9: @p0 allocate tcgen05.alloc of line 9: write shared sm[..4]
         10: @p0 allocate tcgen05.alloc of line 10: write shared sm+4[..4]
         11: @p0 relinquish
         12: barrier 0
         13: read shared sm[..4]
         14: read shared sm+4[..4]
         15: read shared sm+8[..4]
         20: start tensor load: tensor read tensor tcgen05.alloc of line 9+2097152*v1+32[..4]
         21: start tensor store: tensor write tensor tcgen05.alloc of line 10[..2], tensor write tensor tcgen05.alloc of line 10+16[..2]
         22: tensor wait store
         23: start tensor shift of 1: tensor update tensor ?%r4[..?]
         24: @p0 deallocate tensor write tensor tcgen05.alloc of line 9[..256]
         v0 = thread in 0..=127 of the thread
         v1 = warp in 0..=3 of the warp
         p0 = v0 in 0..=31 of the warp",
    );
}

#[test]
fn descriptors() {
    check(
        "mov.b32 %r0, sm;
         mov.b32 %r2, 0;
         mov.b32 %r32, 136314896;
         $again:
         shl.b32 %r1, %r2, 14;
         add.s32 %r1, %r1, %r0;
         add.s32 %r3, %r1, 49152;
         bfe.u32 %r4, %r1, 4, 14;
         shr.u32 %r5, %r3, 4;
         and.b32 %r5, %r5, 16383;
         add.s32 %r6, %r5, 2;
         mov.b32 %r7, 1073758272;
         mov.b64 %rd1, {%r4, %r7};
         cvt.u64.u32 %rd2, %r6;
         or.b64 %rd2, %rd2, 4611686293305294848;
         mov.pred %p1, 0;
         tcgen05.mma.cta_group::1.kind::f16 [%r9], %rd1, %rd2, %r32, %p1;
         tcgen05.mma.cta_group::1.kind::f16 [%r9], [%r9+64], %rd9, %r33, %p2;
         add.s32 %r2, %r2, 1;
         setp.lt.s32 %p2, %r2, 4;
         @%p2 bra $again;",
        "threads 128
         block 0
         to 1
         block 1
         22: start tensor matrix of 1 shape +136314896: tensor write tensor ?%r9[..128], async read shared sm+16384*v0[..?], async read shared sm+16384*v0+49184[..?]
         23: start tensor matrix of 1 shape +v2: tensor update tensor ?%r9[..?], tensor read tensor ?%r9+64[..8], async read shared ?memory of a descriptor of an unknown address+v1[..?]
         to 1 when p0
         to 2 when !p0
         block 2
         v0 = value in 0..=3 in block 1
         v1 = value
         v2 = value
         p0 = v0 in 0..=2 in block 1",
    );
}

#[test]
fn copies() {
    check(
        "mov.b32 %r0, sm;
         mov.u32 %r1, %tid.x;
         shl.b32 %r2, %r1, 4;
         add.s32 %r3, %r0, %r2;
         cvt.u64.u32 %rd3, %r2;
         ld.param.u64 %rd1, [p];
         cvta.to.global.u64 %rd2, %rd1;
         add.s64 %rd4, %rd2, %rd3;
         ld.param.u32 %r5, [n];
         cp.async.cg.shared.global [%r3], [%rd4], 16;
         cp.async.mbarrier.arrive.noinc.shared::cta.b64 [%r0+8192];
         cp.async.commit_group;
         cp.async.wait_group 1;
         cp.async.wait_all;
         cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [%r0], [%rd2], 64, [%r0+8192];
         cp.async.bulk.shared::cluster.shared::cta.mbarrier::complete_tx::bytes [%r7], [%r0], %r5, [%r8];
         cp.async.bulk.global.shared::cta.bulk_group [%rd2], [%r0], 64;
         cp.reduce.async.bulk.global.shared::cta.bulk_group.add.u32 [%rd2], [%r0], 64;
         cp.async.bulk.commit_group;
         cp.async.bulk.wait_group.read 0;
         st.global.u32 [%rd2], 1;
         st.global.u32 [%rd9], 1;
         ld.u32 %r6, [%rd1+4];",
        "threads 128
         block 0
         15: start copy: write shared sm+16*v0[..16], read global p+16*v0[..16]
         16: copy arrive sm+8192
         17: commit group copy
         18: wait group copy 1
         19: commit group copy
         19: wait group copy 0
         20: start bulk load: async write shared sm[..64], async read global p[..64], signals sm+8192
         21: start bulk load: async write shared remote ?%r7[..?], async read shared sm[..?], signals remote ?%r8
         22: start bulk store: async write global p[..64], async read shared sm[..64]
         23: start bulk store: async update global p[..64], async read shared sm[..64]
         24: commit group bulk
         25: wait group bulk 0 reads
         26: write global p[..4]
         28: read global p+4[..4]
         v0 = thread in 0..=127 of the thread",
    );
}

#[test]
fn tensor_copies() {
    check_module(
        ".global .align 64 .b8 map[128];
         .visible .entry k() .reqntid 128 {
         mov.b32 %r0, sm;
         mov.b64 %rd1, map;
         cvta.global.u64 %rd2, %rd1;
         cp.async.bulk.tensor.2d.shared::cta.global.mbarrier::complete_tx::bytes [%r0], [%rd2, {%r1, %r2}], [%r0+8192];
         cp.async.bulk.tensor.1d.global.shared::cta.bulk_group [%rd2, {%r1}], [%r0+1024];
         cp.reduce.async.bulk.tensor.1d.global.shared::cta.add.bulk_group [%rd9, {%r1}], [%r0+1024];
         tensormap.replace.tile.rank.global.b1024.b32 [%rd2], 1;
         tensormap.replace.tile.rank.shared::cta.b1024.b32 [%r0], 1;
         tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd1], [%r0], 128;
         fence.proxy.tensormap::generic.acquire.gpu [%rd1], 128;
         fence.proxy.tensormap::generic.release.gpu;
         st.global.u32 [%rd2+64], 1;
         }",
        "threads 128
         block 0
         10: start bulk load: async write shared sm[..?], async read global the tensor of map[..?], tensormap read global map[..128], signals sm+8192
         11: start bulk store: async write global the tensor of map[..?], async read shared sm+1024[..?], tensormap read global map[..128]
         12: start bulk store: async update global ?global memory[..?], async read shared sm+1024[..?], tensormap read global ?%rd9[..128]
         13: update global map[..128]
         14: update shared sm[..128]
         15: read shared sm[..128]
         15: write global map[..128]
         15: proxy fence tensormaphalf(release)
         16: proxy fence tensormaphalf(acquire)
         17: proxy fence tensormaphalf(release)
         18: write global map+64[..4]",
    );
}

#[test]
fn mbarriers() {
    check(
        "mov.b32 %r0, sm;
         ld.param.u32 %r1, [n];
         mbarrier.init.shared::cta.b64 [%r0], 3;
         mbarrier.init.shared::cta.b64 [%r0+8], %r1;
         fence.mbarrier_init.release.cluster;
         mbarrier.expect_tx.relaxed.cta.shared::cta.b64 [%r0], 64;
         mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r0], 64;
         mbarrier.arrive.release.cluster.shared::cluster.b64 _, [%r2];
         mapa.shared::cluster.u32 %r3, %r0, 1;
         mbarrier.arrive.relaxed.cluster.shared::cluster.b64 _, [%r3+8];
         and.b32 %r4, %r0, -16777217;
         mbarrier.arrive_drop.shared::cluster.b64 _, [%r4];
         mbarrier.inval.shared::cta.b64 [%r0];
         st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%r3+64], %r1, [%r3];
         st.shared::cluster.u32 [%r3+128], 1;
         clusterlaunchcontrol.try_cancel.async.shared::cta.mbarrier::complete_tx::bytes.b128 [%r0+256], [%r0];",
        "threads 128
         block 0
         8: initialize sm 3
         9: initialize sm+8 ?
         10: initialize fence
         12: arrive release.cta sm
         13: arrive release.cluster remote ?%r2
         15: arrive relaxed.cluster remote sm+8
         17: arrive release.cta remote sm
         18: invalidate sm
         19: start bulk load: write shared remote sm+64[..4], signals remote sm
         20: write shared remote sm+128[..4]
         21: start bulk load: async write shared sm+256[..16], signals sm",
    );
}

#[test]
fn barriers_and_fences() {
    check(
        "ld.param.u32 %r1, [n];
         bar.sync 0;
         barrier.cta.sync.aligned 1, 64;
         bar.arrive 2, 96;
         barrier.sync %r1;
         bar.red.popc.u32 %r2, 3, 64, %p1;
         bar.warp.sync -1;
         barrier.cluster.arrive.relaxed.aligned;
         barrier.cluster.wait.aligned;
         fence.acq_rel.gpu;
         fence.sc.cta;
         fence.acquire.sync_restrict::shared::cluster.cluster;
         membar.gl;
         fence.proxy.async;
         fence.proxy.async.shared::cta;
         fence.proxy.async.global;
         fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster;
         fence.proxy.alias;
         wgmma.fence.sync.aligned;
         griddepcontrol.wait;",
        "threads 128
         block 0
         7: barrier 0
         8: barrier 1 threads 64
         9: barrier 2 arrive threads 96
         10: barrier ?
         11: barrier 3 threads 64
         12: barrier of the warp
         13: barrier of the cluster arrive relaxed
         14: barrier of the cluster wait
         15: fence acq_rel.gpu
         16: fence acq_rel.cta
         17: fence acquire.cluster
         18: fence acq_rel.gpu
         19: proxy fence async(none)
         20: proxy fence async(some(sharedcta))
         21: proxy fence async(some(global))
         22: proxy fence asynchalf(acquire)
         23: proxy fence alias
         24: matrix fence
         25: wait for grids",
    );
}

#[test]
fn accesses() {
    check(
        ".shared .align 4 .b8 own[64];
         ld.param.u64 %rd1, [p];
         mov.b64 %rd2, own;
         cvta.shared.u64 %rd3, %rd2;
         st.u32 [%rd3+4], 1;
         ld.v2.u32 {%r1, %r2}, [%rd3];
         ld.volatile.shared.u32 %r3, [own];
         atom.shared.add.u32 %r3, [own+8], 1;
         red.release.gpu.global.add.u32 [%rd1], 1;
         st.release.cta.u32 [%rd3], 1;
         ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%r4, %r5, %r6, %r7}, [%r8];
         ld.local.u32 %r9, [%rd4];
         ld.shared.u32 %r9, [1024];
         ld.global.nc.u32 %r9, [%rd1];",
        "threads 128
         block 0
         10: write shared own+4[..4]
         11: read shared own[..8]
         12: atomic relaxed.sys read shared own[..4]
         13: atomic relaxed.gpu update shared own+8[..4]
         14: atomic release.gpu update global p[..4]
         15: atomic release.cta write shared own[..4]
         16: read shared ?%r8[..16]
         18: read shared ?shared memory+1024[..4]",
    );
}

#[test]
fn wgmmas() {
    check(
        "mov.b32 %r0, sm;
         bfe.u32 %r1, %r0, 4, 14;
         cvt.u64.u32 %rd1, %r1;
         or.b64 %rd2, %rd1, 4611686293305294848;
         add.s64 %rd3, %rd2, 512;
         wgmma.fence.sync.aligned;
         wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd2, %rd3, 1, 1, 1, 0, 0;
         wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, {%r1, %r2, %r3, %r4}, %rd3, 1, 1, 1, 0;
         wgmma.commit_group.sync.aligned;
         wgmma.wait_group.sync.aligned 0;",
        "threads 128
         block 0
         7: write register registers+1[..1]
         8: read register registers+1[..1]
         11: matrix fence
         12: start wgmma: async read shared sm[..?], async read shared sm+8192[..?], write register registers+5[..4]
         13: start wgmma: async read shared sm+8192[..?], read register registers+1[..1], read register registers+9[..3], write register registers+5[..4]
         14: commit group wgmma
         15: wait group wgmma 0",
    );
}

#[test]
fn control_flow() {
    check(
        "ld.param.u32 %r1, [n];
         ts: .branchtargets $a, $b;
         brx.idx %r1, ts;
         $a: trap;
         $b: setp.eq.u32 %p1, %r1, 1;
         @%p1 exit;
         setp.eq.u32 %p2, %r1, 1;
         @%p2 bra $a;
         frobnicate.b32 %r1;
         multimem.cp.async.bulk.global.shared::cta.bulk_group [%rd1], [%r2], 16;
         call g, (%r1);
         @!%p2 bra $b;
         ret;",
        "threads 128
         block 0
         to 5
         to 1
         block 1
         to 2 when !p0
         block 2
         to 5 when p0
         to 3 when !p0
         block 3
         14: unknown: the instruction `frobnicate.b32`
         15: start bulk store: async write global ?%rd1[..16], async read shared ?%r2[..16]
         16: unknown: a call through a pointer
         to 1 when !p0
         to 4 when p0
         block 4
         block 5 (dead end)
         v0 = value of the thread in block 1
         p0 = v0 == 1 of the thread in block 1
         not read: line 14: the instruction `frobnicate.b32`
         not read: line 16: a call through a pointer",
    );
}

#[test]
fn functions_of_the_runtime_synchronize_nothing() {
    check_module(
        ".extern .func __assertfail();
         .extern .func (.param .b32 r) vprintf();
         .visible .entry k() {
         .reg .pred %p<1>;
         .reg .b32 %r<1>;
         call.uni (%r0), vprintf, ();
         @%p0 bra $on;
         call.uni __assertfail, ();
         $on:
         st.shared.b32 [sm], 0;
         ret;
         }",
        "block 0
         to 2 when p0
         to 1 when !p0
         block 1 (dead end)
         block 2
         14: write shared sm[..4]
         p0 = unknown",
    );
}

#[test]
fn functions_replace_their_calls() {
    check_module(
        ".func (.param .b64 r) at(.param .b32 i, .param .b64 base) {
         ld.param.b32 %r1, [i];
         ld.param.b64 %rd1, [base];
         mul.wide.u32 %rd2, %r1, 8;
         add.s64 %rd3, %rd1, %rd2;
         st.param.b64 [r], %rd3;
         ret;
         }
         .func arrive(.param .b64 bar) {
         ld.param.b64 %rd1, [bar];
         mbarrier.arrive.b64 _, [%rd1];
         ret;
         }
         .func again() { call again; ret; }
         .extern .func other();
         .visible .entry k() {
         mov.b64 %rd1, sm;
         cvta.shared.u64 %rd1, %rd1;
         { .param .b32 a; .param .b64 b; .param .b64 c;
         st.param.b32 [a], 3;
         st.param.b64 [b], %rd1;
         call (c), at, (a, b);
         ld.param.b64 %rd2, [c]; }
         { .param .b64 a; st.param.b64 [a], %rd2; call arrive, (a); }
         @%p1 call other;
         call again;
         call (%r1), %rd9, (), proto;
         ret;
         }
         .func alone(.param .b64 x) { ld.param.b64 %rd1, [x]; mbarrier.arrive.shared.b64 _, [%rd1]; ret; }",
        "block 0
         to 1
         block 1
         15: arrive release.cta sm+24
         to 2
         block 2
         29: @p0 unknown: the call to `other`, whose code is not here
         18: unknown: the call to `again`, which calls itself
         to 3
         block 3
         31: unknown: a call through a pointer
         p0 = unknown
         not read: line 29: the call to `other`, whose code is not here
         not read: line 18: the call to `again`, which calls itself
         not read: line 31: a call through a pointer

         block 0
         34: arrive release.cta ?x",
    );
}

#[test]
fn descriptors_of_sums() {
    check(
        "mov.b32 %r0, sm;
         shr.u32 %r1, %r0, 4;
         add.s32 %r2, %r1, 1024;
         and.b32 %r3, %r2, 16383;
         cvt.u64.u32 %rd1, %r3;
         or.b64 %rd2, %rd1, 4611686568183201792;
         mov.b64 {%r4, %r5}, %rd2;
         ld.param.u32 %r6, [n];
         shl.b32 %r7, %r6, 10;
         add.s32 %r8, %r7, %r4;
         mov.b64 %rd3, {%r8, %r5};
         mov.b64 %rd4, sm;
         or.b64 %rd5, %rd4, 8;
         shr.u64 %rd6, %rd5, 4;
         and.b64 %rd7, %rd6, 16380;
         wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd2, %rd3, 1, 1, 1, 0, 0;
         wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f1, %f2, %f3, %f4}, %rd7, %rd9, 1, 1, 1, 0, 0;",
        "threads 128
         block 0
         21: start wgmma: async read shared sm+16384[..?], async read shared sm+16384*v0+16384[..?], write register registers+16[..4]
         22: start wgmma: async read shared sm+64*v1[..?], async read shared ?memory of a descriptor of an unknown address+v2[..?], write register registers+16[..4]
         v0 = value
         v1 = value in 0..=4095
         v2 = value",
    );
}

#[test]
fn the_first_cta_of_a_pair() {
    check(
        "mov.b32 %r0, sm;
         add.s32 %r1, %r0, 64;
         and.b32 %r2, %r1, -16777224;
         mbarrier.arrive.shared::cluster.b64 _, [%r2];
         mov.b64 %rd1, sm;
         and.b64 %rd2, %rd1, 4278190072;
         mbarrier.arrive.shared::cluster.b64 _, [%rd2];
         and.b32 %r3, %r1, -128;
         mbarrier.arrive.shared::cta.b64 _, [%r3];",
        "threads 128
         block 0
         9: arrive release.cta remote sm+64
         12: arrive release.cta remote sm
         14: arrive release.cta sm+128*v0
         v0 = value in 0..=131072",
    );
}

#[test]
fn a_load_in_front_of_its_allocation() {
    check(
        ".reg .b32 %r<9>;
         mov.u32 %r1, %tid.x;
         setp.lt.u32 %p1, %r1, 32;
         @!%p1 bra $others;
         bra $warp;
         $others: bar.sync 0;
         ld.shared.b32 %r2, [sm+16];
         tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r3}, [%r2];
         ret;
         $warp: mov.b32 %r4, sm;
         tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r4], 32;
         tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [%r4+16], 32;
         bar.sync 0;
         ret;",
        "threads 128
         block 0
         to 3 when !p0
         to 1 when p0
         block 1
         to 2
         block 2
         16: allocate tcgen05.alloc of line 16: write shared sm[..4]
         17: allocate tcgen05.alloc of line 17: write shared sm+16[..4]
         18: barrier 0
         block 3
         11: barrier 0
         12: read shared sm+16[..4]
         13: start tensor load: tensor read tensor tcgen05.alloc of line 17[..1]
         v0 = thread in 0..=127 of the thread
         p0 = v0 in 0..=31 of the warp",
    );
}

/// Only the form of some PTX 9.3 to 9.5 instructions is known: their ordering is not checked, and the check reports
/// that.
#[test]
fn forms_whose_order_is_not_known() {
    check(
        "fabric.try_put.async.shared::cta.mbarrier::complete_tx::16B.mbarrier::report::fabric.relaxed.sys.b128 [%r1, %rd2], [%r2], 16, [bar];
         fabric.submit.commit_group;
         fabric.wait.sync_restrict::read 0;
         multimem.st.async.release.sys.global.u32 [%rd1], %r1;
         cp.async.bulk.wait_group.sync_restrict::proxy::async 0;
         ld.global.proxy::readonly.u32 %r1, [%rd1];
         mbarrier.check_layout.layout::v1.shared::cta.b64 %p1, [bar];
         fence.alias.sync_restrict::read.release.sys;
         ret;",
        "threads 128
         block 0
         6: unknown: the instruction `fabric.try_put.async.shared::cta.mbarrier::complete_tx::16B.mbarrier::report::fabric.relaxed.sys.b128`
         7: unknown: the instruction `fabric.submit.commit_group`
         8: unknown: the instruction `fabric.wait.sync_restrict::read`
         9: unknown: the instruction `multimem.st.async.release.sys.global.u32`
         10: unknown: the instruction `cp.async.bulk.wait_group.sync_restrict::proxy::async`
         11: unknown: the instruction `ld.global.proxy::readonly.u32`
         13: proxy fence alias
         not read: line 6: the instruction `fabric.try_put.async.shared::cta.mbarrier::complete_tx::16B.mbarrier::report::fabric.relaxed.sys.b128`
         not read: line 7: the instruction `fabric.submit.commit_group`
         not read: line 8: the instruction `fabric.wait.sync_restrict::read`
         not read: line 9: the instruction `multimem.st.async.release.sys.global.u32`
         not read: line 10: the instruction `cp.async.bulk.wait_group.sync_restrict::proxy::async`
         not read: line 11: the instruction `ld.global.proxy::readonly.u32`",
    );
}

/// PTX 9.4: a commit of the reads of A, arrivals at the mbarriers of several CTAs, and cache hints, which are not
/// events.
#[test]
fn forms_of_sm_107() {
    check(
        "tcgen05.commit.cta_group::1.mbarrier::arrive::one.sync_restrict::shared::read::mma::a.shared::cluster.b64 [bar];
         tcgen05.commit.cta_group::2.mbarrier::arrive::one.shared::cluster.multicast::cluster::32b.b64 [bar], %r1;
         mbarrier.arrive.shared::cluster.multicast::cluster::32b.b64 _, [bar], %r1;
         mbarrier.arrive.expect_tx.relaxed.cluster.shared::cluster.multicast::cluster::32b.b64 _, [bar], 16, %r1;
         applypriority.async.bulk.global.bulk_group.L2::evict_normal [%rd1], %r1;
         applypriority.async.bulk.tensor.1d.global.tile.bulk_group.L2::evict_normal [%rd1, {%r1}];
         ret;",
        "threads 128
         block 0
         6: tensor commit of reads of A, 1 remote ?bar
         7: tensor commit of 2 remote ?bar
         8: arrive release.cta remote ?bar
         9: arrive relaxed.cluster remote ?bar",
    );
}

/// An omitted qualifier means the default of the manual.
#[test]
fn qualifiers_that_are_left_out() {
    let sides = |instruction: &str, qualifier: &str| {
        let of = |qualifier: &str| {
            let instruction = instruction.replace('?', qualifier);
            print_kernels(&format!(
                ".visible .entry k(.param .u64 .ptr .global p) .reqntid 128 {{\nmov.b32 %r0, sm;\nld.param.u64 %rd1, [p];\n\
                 again: {instruction};\n@!%p1 bra again;\n}}"
            ))
        };
        (of(""), of(qualifier))
    };
    for (instruction, qualifier) in [
        ("mbarrier.try_wait.parity?.shared::cta.b64 %p1, [%r0], 0", ".acquire.cta"),
        ("mbarrier.test_wait?.shared::cta.b64 %p1, [%r0], %rd2", ".acquire.cta"),
        ("mbarrier.arrive?.shared::cta.b64 _, [%r0]", ".release.cta"),
        ("mbarrier.arrive?.shared::cluster.b64 _, [%r0]", ".release.cta"),
        ("mbarrier.arrive.expect_tx?.shared::cluster.b64 _, [%r0], 16", ".release.cta"),
        ("mbarrier.arrive_drop?.shared::cta.b64 _, [%r0]", ".release.cta"),
        ("mbarrier.init.shared?.b64 [%r0], 1", "::cta"),
        ("barrier.cluster.arrive?.aligned", ".release"),
        ("barrier.cluster.wait?.aligned", ".acquire"),
        ("barrier?.sync 0", ".cta"),
        ("bar?.arrive 1, 64", ".cta"),
        ("atom?.global.add.u32 %r1, [%rd1], 1", ".relaxed.gpu"),
        ("red?.global.add.u32 [%rd1], 1", ".relaxed.gpu"),
        ("ld?.global.u32 %r1, [%rd1]", ".weak"),
        ("st?.global.u32 [%rd1], 1", ".weak"),
    ] {
        let (left_out, written) = sides(instruction, qualifier);
        assert_eq!(left_out, written, "{instruction}");
    }
}
