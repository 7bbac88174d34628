//! Programs for rules that no pattern of the manual needs.

/// The subject of each test, and the test.
pub const PROGRAMS: [(&str, &str); 7] = [
    (
        "wgmma.fence stands between a write and the product that reads it",
        "PTX wgmma
{ .shared a=2; .shared b=3; }
 P0 ;
 st.shared.u64 [a], 5 ;
 fence.proxy.async ;
 wgmma.fence.sync.aligned ;
 wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 _, a, b ;
exists (true)",
    ),
    (
        "a copy passes on nothing that its thread did before",
        "PTX cumulative
{ .shared full=1; .shared a=2; x=3; y=0; }
 P0 | P1 ;
 st.global.u64 [y], 1 | L: mbarrier.try_wait.parity.acquire.cta.b64 %p, [full], 0 ;
 mbarrier.arrive.expect_tx.relaxed.cta.b64 _, [full], 16 | @!%p bra L ;
 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [a], [x], 16, [full] | ld.global.u64 r0, [y] ;
  | ld.shared.u64 r1, [a] ;
exists (true)",
    ),
    (
        "a copy lets an arrival go",
        "PTX cp.async.mbarrier.arrive
{ .shared bar=1; .shared a=2; x=3; }
 P0 | P1 ;
 cp.async.ca.shared.global [a], [x], 8 | L: mbarrier.try_wait.parity.acquire.cta.b64 %p, [bar], 0 ;
 cp.async.mbarrier.arrive.noinc.shared::cta.b64 [bar] | @!%p bra L ;
  | ld.shared.u64 r0, [a] ;
exists (true)",
    ),
    (
        "a commit that tracks nothing arrives after the operations that its thread waited for",
        "PTX commit
{ .shared bar=1; .tensor d=2; P0:r0=7; }
 P0 | P1 ;
 tcgen05.st.sync.aligned.32x32b.x1.b32 [d], {r0} | L: mbarrier.try_wait.parity.relaxed.cluster.b64 %p, [bar], 0 ;
 tcgen05.wait::st.sync.aligned | @!%p bra L ;
 tcgen05.commit.cta_group::1.mbarrier::arrive::one.b64 [bar] | tcgen05.fence::after_thread_sync ;
  | tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [d] ;
exists (true)",
    ),
    (
        "fences compose with a strong write and the read that returns it",
        "PTX flag
{ f=0; .tensor d=2; P0:r0=7; }
 P0 | P1 ;
 tcgen05.st.sync.aligned.32x32b.x1.b32 [d], {r0} | ld.relaxed.gpu r1, f ;
 tcgen05.wait::st.sync.aligned | beq r1, 0, E ;
 tcgen05.fence::before_thread_sync | tcgen05.fence::after_thread_sync ;
 st.relaxed.gpu f, 1 | tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [d] ;
  | E: ;
exists (true)",
    ),
    (
        "a proxy fence in two halves",
        "PTX halves
{ .shared bar=1; .shared a=2; g=0; }
 P0 | P1 ;
 st.shared.u64 [a], 5 | L: mbarrier.try_wait.parity.acquire.cluster.b64 %p, [bar], 0 ;
 fence.proxy.async::generic.release.sync_restrict::shared::cta.cluster | @!%p bra L ;
 mbarrier.arrive.release.cluster.b64 _, [bar] | fence.proxy.async::generic.acquire.sync_restrict::shared::cluster.cluster ;
  | cp.async.bulk.global.shared::cta.bulk_group [g], [a], 16 ;
exists (true)",
    ),
    (
        "a product reads its accumulator before it writes it",
        "PTX accumulator
{ .shared a=2; .shared b=3; .tensor d=4; }
 P0 ;
 tcgen05.mma.cta_group::1.kind::f16 [d], a, b, 0, 1 ;
exists (true)",
    ),
];
