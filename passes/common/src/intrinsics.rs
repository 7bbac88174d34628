//! The target requirements of LLVM's intrinsics and instructions. LLVM's backend ends the process on an intrinsic or type
//! whose instruction the target lacks.
//!
//! The rows are measured: `scripts/selectable` compiles every intrinsic for NVIDIA GPUs for every GPU and PTX version in
//! child processes. LLVM 22 and 23 agree about all of these intrinsics that both have. The rows of other intrinsics and
//! of instructions are from about ten thousand pairs of an operation and a type. `tests/selection.rs` and
//! `tests/random_selection.rs` compare the table with LLVM.

mod instructions;
mod row;
mod synchronous;

pub use self::row::IntrinsicFamily;
use self::row::{BLACKWELL, SM_100, row};
use crate::{
    callee::OF_NVIDIA,
    needs::{Gpus, Needs},
};

/// The GPUs with tensor memory.
pub const TENSOR_MEMORY: Needs = Needs::on(Gpus::Family(&[100, 101, 103, 107, 110]), 8, 6);

/// The rows of asynchronous instructions.
#[rustfmt::skip]
const ASYNCHRONOUS: &[IntrinsicFamily] = {
    const HOPPER: &[u32] = &[90, 100, 101, 103, 107, 110, 120, 121];
    const TENSOR: &[u32] = &[100, 101, 103, 107, 110];
    const LARGER_BLOCKS: Needs = Needs::on(Gpus::Family(TENSOR), 8, 8);
    const SPARSE_FP4: Needs = Needs::on(Gpus::Own(TENSOR), 8, 6);
    const SCALED_INPUT: Needs = Needs::on(Gpus::Family(SM_100), 8, 6);
    const VARIANTS: Needs = Needs::on(Gpus::Family(BLACKWELL), 8, 6);
    const NEWER_MAPS: Needs = Needs::on(Gpus::Family(BLACKWELL), 8, 7);
    const fn since(sm: u32, major: u8, minor: u8) -> Needs { Needs::since(sm, major, minor) }
    &[
        row("barrier.cluster.",                                    since(90, 7, 8),  "barrier.cluster"),
        row("barrier.cluster.arrive.relaxed",                      since(90, 8, 0),  "barrier.cluster.arrive.relaxed"),

        row("clusterlaunchcontrol.query_cancel.",                  since(100, 8, 6), "clusterlaunchcontrol.query_cancel"),
        row("clusterlaunchcontrol.try_cancel.",                    since(100, 8, 6), "clusterlaunchcontrol.try_cancel"),
        row("clusterlaunchcontrol.try_cancel.async.multicast.",    VARIANTS,         "clusterlaunchcontrol.try_cancel.multicast::cluster::all"),

        row("cp.async.",                                           since(80, 7, 0),  "cp.async"),
        row("cp.async.mbarrier.arrive",                            since(80, 7, 0),  "cp.async.mbarrier.arrive"),
        row("cp.async.bulk.",                                      since(90, 8, 0),  "cp.async.bulk"),
        row("cp.async.bulk.global.to.shared.cta",                  since(90, 8, 6),  "cp.async.bulk.shared::cta.global"),
        row("cp.async.bulk.shared.cta.to.global.bytemask",         since(100, 8, 6), "cp.async.bulk.cp_mask"),
        row("cp.async.bulk.tensor.",                               since(90, 8, 0),  "cp.async.bulk.tensor"),
        row("cp.async.bulk.tensor.g2s.",                           TENSOR_MEMORY,    "cp.async.bulk.tensor.cta_group").when(2, 1..=2),
        row("cp.async.bulk.tensor.g2s.im2col.w.",                  TENSOR_MEMORY,    "cp.async.bulk.tensor.im2col::w"),
        row("cp.async.bulk.tensor.g2s.tile.gather4.",              TENSOR_MEMORY,    "cp.async.bulk.tensor.tile::gather4"),
        row("cp.async.bulk.tensor.g2s.cta.",                       since(90, 8, 6),  "cp.async.bulk.tensor.shared::cta.global"),
        row("cp.async.bulk.tensor.g2s.cta.im2col.w.",              since(100, 8, 6), "cp.async.bulk.tensor.shared::cta.global.im2col::w"),
        row("cp.async.bulk.tensor.g2s.cta.im2col.w.128.",          TENSOR_MEMORY,    "cp.async.bulk.tensor.shared::cta.global.im2col::w::128"),
        row("cp.async.bulk.tensor.g2s.cta.tile.gather4.",          since(100, 8, 6), "cp.async.bulk.tensor.shared::cta.global.tile::gather4"),
        row("cp.async.bulk.tensor.s2g.tile.scatter4.",             TENSOR_MEMORY,    "cp.async.bulk.tensor.tile::scatter4"),
        row("cp.async.bulk.tensor.prefetch.",                      since(90, 8, 0),  "cp.async.bulk.prefetch.tensor"),
        row("cp.async.bulk.tensor.prefetch.im2col.w.",             TENSOR_MEMORY,    "cp.async.bulk.prefetch.tensor.im2col::w"),
        row("cp.async.bulk.tensor.prefetch.tile.gather4.",         TENSOR_MEMORY,    "cp.async.bulk.prefetch.tensor.tile::gather4"),
        // LLVM selects these for every GPU, but ptxas accepts them only from this target on.
        row("cp.async.bulk.tensor.reduce.",                        since(90, 8, 0),  "cp.reduce.async.bulk.tensor"),

        row("elect.sync",                                          since(90, 8, 0),  "elect.sync"),

        row("fence.acquire.sync_restrict.",                        since(90, 8, 6),  "fence.acquire.sync_restrict"),
        row("fence.release.sync_restrict.",                        since(90, 8, 6),  "fence.release.sync_restrict"),
        row("fence.mbarrier_init.",                                since(90, 8, 0),  "fence.mbarrier_init.release.cluster"),
        row("fence.sc.cluster",                                    since(90, 7, 8),  "fence.sc.cluster"),
        row("fence.proxy.alias",                                   since(70, 7, 5),  "fence.proxy.alias"),
        row("fence.proxy.async",                                   since(90, 8, 0),  "fence.proxy.async"),
        row("fence.proxy.async_generic.acquire.",                  since(90, 8, 6),  "fence.proxy.async::generic.acquire"),
        row("fence.proxy.async_generic.release.",                  since(90, 8, 6),  "fence.proxy.async::generic.release"),
        row("fence.proxy.tensormap_generic.acquire.",              since(90, 8, 3),  "fence.proxy.tensormap::generic.acquire"),
        row("fence.proxy.tensormap_generic.release.",              since(90, 8, 3),  "fence.proxy.tensormap::generic.release"),

        row("getctarank",                                          since(90, 7, 8),  "getctarank"),
        row("griddepcontrol.",                                     since(90, 7, 8),  "griddepcontrol"),
        row("mapa",                                                since(90, 7, 8),  "mapa"),

        row("mbarrier.",                                           since(80, 7, 0),  "mbarrier"),
        row("mbarrier.arrive.scope.",                              since(90, 8, 0),  "mbarrier.arrive _, [addr], count"),
        row("mbarrier.arrive.relaxed.",                            since(90, 8, 6),  "mbarrier.arrive.relaxed"),
        row("mbarrier.arrive.expect.tx.",                          since(90, 8, 0),  "mbarrier.arrive.expect_tx"),
        row("mbarrier.arrive.expect.tx.relaxed.",                  since(90, 8, 6),  "mbarrier.arrive.expect_tx.relaxed"),
        row("mbarrier.arrive.drop.scope.",                         since(90, 8, 0),  "mbarrier.arrive_drop _, [addr], count"),
        row("mbarrier.arrive.drop.relaxed.",                       since(90, 8, 6),  "mbarrier.arrive_drop.relaxed"),
        row("mbarrier.arrive.drop.expect.tx.",                     since(90, 8, 0),  "mbarrier.arrive_drop.expect_tx"),
        row("mbarrier.arrive.drop.expect.tx.relaxed.",             since(90, 8, 6),  "mbarrier.arrive_drop.expect_tx.relaxed"),
        row("mbarrier.expect.tx.",                                 since(90, 8, 0),  "mbarrier.expect_tx.relaxed"),
        row("mbarrier.complete.tx.",                               since(90, 8, 0),  "mbarrier.complete_tx.relaxed"),
        row("mbarrier.test.wait.relaxed.",                         since(90, 8, 6),  "mbarrier.test_wait.relaxed"),
        row("mbarrier.test.wait.scope.cluster.",                   since(90, 8, 0),  "mbarrier.test_wait.acquire.cluster"),
        row("mbarrier.test.wait.parity.scope.cta.",                since(80, 7, 1),  "mbarrier.test_wait.parity"),
        row("mbarrier.test.wait.parity.scope.cluster.",            since(90, 8, 0),  "mbarrier.test_wait.parity.acquire.cluster"),
        row("mbarrier.test.wait.parity.relaxed.",                  since(90, 8, 6),  "mbarrier.test_wait.parity.relaxed"),
        row("mbarrier.try.wait.",                                  since(90, 7, 8),  "mbarrier.try_wait"),
        row("mbarrier.try.wait.relaxed.",                          since(90, 8, 6),  "mbarrier.try_wait.relaxed"),
        row("mbarrier.try.wait.scope.cluster.",                    since(90, 8, 0),  "mbarrier.try_wait.acquire.cluster"),
        row("mbarrier.try.wait.tl.relaxed.",                       since(90, 8, 6),  "mbarrier.try_wait.relaxed"),
        row("mbarrier.try.wait.tl.scope.cluster.",                 since(90, 8, 0),  "mbarrier.try_wait.acquire.cluster"),
        row("mbarrier.try.wait.parity.relaxed.",                   since(90, 8, 6),  "mbarrier.try_wait.parity.relaxed"),
        row("mbarrier.try.wait.parity.scope.cluster.",             since(90, 8, 0),  "mbarrier.try_wait.parity.acquire.cluster"),
        row("mbarrier.try.wait.parity.tl.relaxed.",                since(90, 8, 6),  "mbarrier.try_wait.parity.relaxed"),
        row("mbarrier.try.wait.parity.tl.scope.cluster.",          since(90, 8, 0),  "mbarrier.try_wait.parity.acquire.cluster"),

        row("redux.sync.",                                         since(80, 7, 0),  "redux.sync"),
        row("redux.sync.f",                                        SCALED_INPUT,     "redux.sync.f32"),
        row("setmaxnreg.",                                         Needs::on(Gpus::Family(HOPPER), 8, 0), "setmaxnreg"),
        row("st.async",                                            since(90, 8, 1),  "st.async"),
        row("st.async.gpu",                                        since(100, 8, 7), "st.async.release.gpu"),
        row("st.async.mmio.",                                      since(100, 8, 7), "st.async.mmio.release.sys"),
        row("st.async.sys",                                        since(100, 8, 7), "st.async.release.sys"),
        row("st.bulk",                                             since(100, 8, 6), "st.bulk"),

        row("tcgen05.",                                            TENSOR_MEMORY,    "tcgen05"),
        row("tcgen05.alloc",                                       TENSOR_MEMORY,    "tcgen05.alloc"),
        row("tcgen05.commit",                                      TENSOR_MEMORY,    "tcgen05.commit"),
        row("tcgen05.cp.",                                         TENSOR_MEMORY,    "tcgen05.cp"),
        row("tcgen05.dealloc",                                     TENSOR_MEMORY,    "tcgen05.dealloc"),
        row("tcgen05.fence.",                                      TENSOR_MEMORY,    "tcgen05.fence"),
        row("tcgen05.ld.",                                         TENSOR_MEMORY,    "tcgen05.ld"),
        row("tcgen05.ld.red.",                                     Needs::on(Gpus::Family(&[101, 103, 110]), 8, 8), "tcgen05.ld.red"),
        row("tcgen05.mma.",                                        Needs::on(Gpus::Own(&[100, 101, 110]), 8, 6), "tcgen05.mma.kind::i8").when(0, 3..=3),
        row("tcgen05.mma.",                                        TENSOR_MEMORY,    "tcgen05.mma"),
        row("tcgen05.mma.shared.mxf4.block_scale.block",           LARGER_BLOCKS,    "tcgen05.mma.kind::mxf4.block_scale.block32"),
        row("tcgen05.mma.shared.mxf4nvf4.block_scale.",            LARGER_BLOCKS,    "tcgen05.mma.kind::mxf4nvf4.block_scale.block16"),
        row("tcgen05.mma.shared.mxf8f6f4.block_scale.block",       LARGER_BLOCKS,    "tcgen05.mma.kind::mxf8f6f4.block_scale.block32"),
        row("tcgen05.mma.shared.scale_d",                          SCALED_INPUT,     "tcgen05.mma with scale-input-d"),
        row("tcgen05.mma.sp.shared.mxf4.block_scale",              SPARSE_FP4,       "tcgen05.mma.sp.kind::mxf4"),
        row("tcgen05.mma.sp.shared.mxf4nvf4.block_scale",          Needs::on(Gpus::Own(TENSOR), 8, 7), "tcgen05.mma.sp.kind::mxf4nvf4"),
        row("tcgen05.mma.sp.shared.mxf8f6f4.block_scale.block",    LARGER_BLOCKS,    "tcgen05.mma.sp.kind::mxf8f6f4.block_scale.block32"),
        row("tcgen05.mma.sp.shared.scale_d",                       SCALED_INPUT,     "tcgen05.mma.sp with scale-input-d"),
        row("tcgen05.mma.sp.tensor.mxf4.block_scale",              SPARSE_FP4,       "tcgen05.mma.sp.kind::mxf4"),
        row("tcgen05.mma.sp.tensor.mxf4nvf4.block_scale",          Needs::on(Gpus::Own(TENSOR), 8, 7), "tcgen05.mma.sp.kind::mxf4nvf4"),
        row("tcgen05.mma.sp.tensor.mxf8f6f4.block_scale.block",    LARGER_BLOCKS,    "tcgen05.mma.sp.kind::mxf8f6f4.block_scale.block32"),
        row("tcgen05.mma.sp.tensor.scale_d",                       SCALED_INPUT,     "tcgen05.mma.sp with scale-input-d"),
        row("tcgen05.mma.tensor.mxf4.block_scale.block",           LARGER_BLOCKS,    "tcgen05.mma.kind::mxf4.block_scale.block32"),
        row("tcgen05.mma.tensor.mxf4nvf4.block_scale.",            LARGER_BLOCKS,    "tcgen05.mma.kind::mxf4nvf4.block_scale.block16"),
        row("tcgen05.mma.tensor.mxf8f6f4.block_scale.block",       LARGER_BLOCKS,    "tcgen05.mma.kind::mxf8f6f4.block_scale.block32"),
        row("tcgen05.mma.tensor.scale_d",                          SCALED_INPUT,     "tcgen05.mma with scale-input-d"),
        row("tcgen05.relinq.alloc.permit",                         TENSOR_MEMORY,    "tcgen05.relinquish_alloc_permit"),
        row("tcgen05.shift",                                       Needs::on(Gpus::Own(TENSOR), 8, 6), "tcgen05.shift"),
        row("tcgen05.st.",                                         TENSOR_MEMORY,    "tcgen05.st"),
        row("tcgen05.wait.",                                       TENSOR_MEMORY,    "tcgen05.wait"),

        row("tensormap.replace.",                                  Needs::on(Gpus::Family(HOPPER), 8, 3), "tensormap.replace"),
        row("tensormap.replace.elemtype",                          NEWER_MAPS,       "tensormap.replace.elemtype").when(0, 13..=15),
        row("tensormap.replace.swizzle.atomicity",                 NEWER_MAPS,       "tensormap.replace.swizzle_atomicity"),
        row("tensormap.replace.swizzle.mode",                      Needs::on(Gpus::Own(&[103]), 8, 8), "tensormap.replace.swizzle_mode").when(0, 4..=4),
        row("wgmma.",                                              Needs::on(Gpus::Own(&[90]), 8, 0), "wgmma"),
    ]
};

/// The rows that may apply to an instruction or to calls of an intrinsic; empty if every target has it. Intrinsics have
/// their full names; names of instructions have a table of their own. `llvm` is the major version of LLVM.
pub fn rows(name: &str, llvm: u32) -> impl Iterator<Item = &'static IntrinsicFamily> {
    let (name, tables) = match name.strip_prefix(OF_NVIDIA) {
        Some(name) => (name, [ASYNCHRONOUS, synchronous::ROWS]),
        None => (name, [instructions::ROWS, &[]]),
    };
    // A name with the type of the result has its own rows.
    let is_of_result = name.contains(" to ");
    tables
        .into_iter()
        .flatten()
        .filter(move |row| row.pattern.contains(" to ") == is_of_result && row.matches(name, llvm))
}

/// Whether an intrinsic is asynchronous, or orders asynchronous operations.
pub fn is_asynchronous(name: &str) -> bool {
    let name = name.strip_prefix(OF_NVIDIA).unwrap_or_default();
    ASYNCHRONOUS.iter().any(|row| name.starts_with(row.pattern))
}

/// The row that counts for a call with these immediates: the values, in order, of the arguments that must be constants.
/// Rows with an address space precede rows with a `*`, and these precede rows with longer patterns; among equals, the
/// first row counts.
pub fn of_call<'r>(rows: &[&'r IntrinsicFamily], immediates: &[u64]) -> Option<&'r IntrinsicFamily> {
    let about = rows.iter().filter(|row| row.is_about(immediates)).rev();
    about.max_by_key(|row| row.precedence()).copied()
}

#[cfg(test)]
mod tests {
    use super::{row::When, *};

    fn check(name: &str, immediates: &[u64], expected: Option<&str>) {
        let rows: Vec<_> = rows(name, 22).collect();
        assert_eq!(of_call(&rows, immediates).map(IntrinsicFamily::name), expected, "{name} {immediates:?}");
    }

    #[test]
    fn the_longest_prefix_counts() {
        check("llvm.nvvm.tcgen05.mma.tensor.scale_d.ashift", &[], Some("tcgen05.mma with scale-input-d"));
        check(
            "llvm.nvvm.cp.async.bulk.tensor.g2s.cta.tile.1d",
            &[1, 1, 1],
            Some("cp.async.bulk.tensor.shared::cta.global"),
        );
        check("llvm.nvvm.cp.async.wait.all", &[], Some("cp.async"));
        check("llvm.nvvm.sqrt.rn.f", &[], None);
        check("tcgen05.wait.ld", &[], None);
    }

    #[test]
    fn an_immediate_tells_calls_apart() {
        check("llvm.nvvm.tcgen05.mma.shared", &[3, 1, 0], Some("tcgen05.mma.kind::i8"));
        check("llvm.nvvm.tcgen05.mma.shared", &[2, 1, 0], Some("tcgen05.mma"));
        check("llvm.nvvm.cp.async.bulk.tensor.g2s.tile.1d", &[0, 0, 2], Some("cp.async.bulk.tensor.cta_group"));
        check("llvm.nvvm.cp.async.bulk.tensor.g2s.tile.1d", &[1, 1, 0], Some("cp.async.bulk.tensor"));
    }

    #[test]
    fn a_star_and_an_address_space_precede_a_prefix() {
        check("llvm.nvvm.wmma.m16n16k16.load.a.row.f16.p3", &[], Some("wmma.m16n16k16"));
        check("llvm.nvvm.wmma.m16n16k16.load.a.row.stride.s8.p3", &[], Some("wmma.*.s8"));
        check("llvm.nvvm.wmma.m8n8k32.load.c.row.s32.p0", &[], Some("wmma.m8n8k*.s32"));
        check("llvm.nvvm.wmma.m16n16k16.load.a.row.s8.p5", &[], Some("wmma in this state space"));
        check("fptosi f32", &[], None);
        check("fptosi to wide i128", &[], Some("fptosi to more than 64 bits"));
    }

    /// A row that another row hides is never selected.
    #[test]
    fn every_row_counts() {
        for rows in [ASYNCHRONOUS, synchronous::ROWS, instructions::ROWS] {
            for (index, row) in rows.iter().enumerate() {
                let hides = |other: &IntrinsicFamily| other.pattern == row.pattern && other.when == When::Always;
                assert!(!rows[..index].iter().any(hides), "{row:?}");
                let is_somewhere = row.needs == Needs::NEVER || row.needs.lowest().is_some();
                assert!(is_somewhere && (row.help.is_none() || row.needs == Needs::NEVER), "{row:?}");
            }
        }
    }
}
