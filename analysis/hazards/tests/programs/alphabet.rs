//! The instructions of the generated programs, each in the form of a litmus test and in the form of PTX.
//!
//! Tensor memory `t`, shared memory `a` and `b`, global memory `x` and `y`, an mbarrier `m` for one arrival, and `full`
//! for a copy. `#` is a number that is unique to each instruction.

/// An instruction, or several that belong together.
pub struct Letter {
    /// The text in a cell of a litmus test, the parts separated by `;`.
    pub litmus: &'static str,
    /// The text in PTX.
    pub ptx: &'static str,
    /// Its access of tensor memory.
    pub tensor: MemoryEffect,
    /// Its access of `a`.
    pub shared: MemoryEffect,
    /// Its role in the program.
    pub role: Role,
}

/// The access of memory by an instruction.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum MemoryEffect {
    Nothing,
    /// It reads before the following instructions.
    Reads,
    /// It writes before the following instructions.
    Writes,
    /// It reads asynchronously.
    ReadsLater,
    /// It writes asynchronously.
    WritesLater,
}
use MemoryEffect::{Nothing, Reads, ReadsLater, Writes, WritesLater};

/// The role of an instruction in its program.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// An access, a wait or a fence without a further role.
    Alone,
    /// It arrives at `m`.
    Arrives,
    /// It waits for `m`.
    Waits,
    /// It starts a copy that completes at `full`.
    Fills,
    /// It waits for `full`.
    WaitsForFull,
    /// It waits for the other thread, which has the same instruction.
    Barrier,
}
use Role::{Alone, Arrives, Barrier, Fills, Waits, WaitsForFull};

const fn letter(
    litmus: &'static str,
    ptx: &'static str,
    tensor: MemoryEffect,
    shared: MemoryEffect,
    role: Role,
) -> Letter {
    Letter { litmus, ptx, tensor, shared, role }
}

/// An instruction with the same text in both forms.
const fn same(text: &'static str, role: Role) -> Letter {
    letter(text, text, Nothing, Nothing, role)
}

/// All instructions.
#[rustfmt::skip]
pub const ALPHABET: [Letter; 23] = [
    letter("tcgen05.mma.cta_group::1.kind::f16 [t], a, b, 0, 1", "tcgen05.mma.cta_group::1.kind::f16 [%t], %a, %b, %shape, %true", WritesLater, ReadsLater, Alone),
    letter("tcgen05.cp.cta_group::1.128x256b [t], a", "tcgen05.cp.cta_group::1.128x256b [%t], %a", WritesLater, ReadsLater, Alone),
    letter("tcgen05.ld.sync.aligned.32x32b.x1.b32 {r#}, [t]", "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r#}, [%t]", ReadsLater, Nothing, Alone),
    letter("tcgen05.st.sync.aligned.32x32b.x1.b32 [t], {q}", "tcgen05.st.sync.aligned.32x32b.x1.b32 [%t], {%q}", WritesLater, Nothing, Alone),
    same("tcgen05.wait::ld.sync.aligned", Alone),
    same("tcgen05.wait::st.sync.aligned", Alone),
    same("tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [m]", Arrives),
    same("tcgen05.commit.cta_group::1.mbarrier::arrive::one.sync_restrict::shared::read::mma::a.shared::cluster.b64 [m]", Arrives),
    same("tcgen05.fence::before_thread_sync", Alone),
    same("tcgen05.fence::after_thread_sync", Alone),
    same("mbarrier.arrive.release.cta.shared::cta.b64 _, [m]", Arrives),
    same("mbarrier.arrive.relaxed.cluster.shared::cta.b64 _, [m]", Arrives),
    same("L#:; mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p#, [m], 0; @!%p# bra L#", Waits),
    same("L#:; mbarrier.try_wait.parity.relaxed.cluster.shared::cta.b64 %p#, [m], 0; @!%p# bra L#", Waits),
    letter("st.shared.u64 [a], 5", "st.shared.u64 [a], 5", Nothing, Writes, Alone),
    letter("ld.shared.u64 v#, [a]", "ld.shared.u64 %v#, [a]", Nothing, Reads, Alone),
    same("fence.proxy.async.shared::cta", Alone),
    letter(
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 16; cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [a], [x], 16, [full]",
        "mbarrier.arrive.expect_tx.shared::cta.b64 _, [full], 16; cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [a], [%x], 16, [full]",
        Nothing, WritesLater, Fills),
    same("L#:; mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p#, [full], 0; @!%p# bra L#", WaitsForFull),
    letter(
        "cp.async.bulk.global.shared::cta.bulk_group [y#], [a], 16; cp.async.bulk.commit_group",
        "cp.async.bulk.global.shared::cta.bulk_group [%y#], [a], 16; cp.async.bulk.commit_group",
        Nothing, ReadsLater, Alone),
    same("cp.async.bulk.wait_group 0", Alone),
    same("cp.async.bulk.wait_group.read 0", Alone),
    letter("bar.sync 0", "barrier.sync 1, 64", Nothing, Nothing, Barrier),
];

impl MemoryEffect {
    fn writes(self) -> bool {
        matches!(self, Writes | WritesLater)
    }

    fn is_later(self) -> bool {
        matches!(self, ReadsLater | WritesLater)
    }

    /// Whether one of two accesses writes, and one of them is asynchronous.
    pub fn conflicts(self, other: Self) -> bool {
        self != Nothing
            && other != Nothing
            && (self.writes() || other.writes())
            && (self.is_later() || other.is_later())
    }
}
