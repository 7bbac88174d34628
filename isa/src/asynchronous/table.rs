//! The forms of asynchronous instructions, as accepted in measurements of three generations of ptxas (11.8, 12.9,
//! 13.5). Where the generations differ, the table has the strictest requirement. `WORDS` has the additional
//! requirements of some modifiers.

use super::family::Family;
use crate::target::{Gpus, Requirement};

/// A family, the requirement of its forms, their operands, and their modifiers, in the notation of the grammar.
pub(super) type Forms = (Family, Requirement, &'static str, &'static [&'static str]);

const fn since(number: u32, major: u8, minor: u8) -> Requirement {
    Requirement::since(number, major, minor)
}

const fn on(gpus: Gpus, major: u8, minor: u8) -> Requirement {
    Requirement::on(gpus, major, minor)
}

/// GPUs with `wgmma`.
const HOPPER: Gpus = Gpus::specific(&[90], false);
/// GPUs with the memory of the tensor cores. PTX 9.0 renamed sm_101 to sm_110.
const TENSOR: Gpus = Gpus::specific(&[100, 101, 103, 107, 110], true);
/// The same GPUs, but only as architecture-specific targets.
const EXACT: Gpus = Gpus::specific(&[100, 101, 103, 107, 110], false);
/// GPUs with matrices of 8-bit integers.
const INTEGER: Gpus = Gpus::specific(&[100, 101, 110], false);
/// GPUs with scaled accumulators.
const SCALING: Gpus = Gpus::specific(&[100, 103, 107], true);
/// GPUs with loads that reduce.
const REDUCING: Gpus = Gpus::specific(&[101, 103, 107, 110], true);
/// GPUs with features that later GPUs need not have.
const SPECIFIC: Gpus = Gpus::specific(&[90, 100, 101, 103, 107, 110, 120, 121], true);
/// The same GPUs without sm_90a.
const NEWER: Gpus = Gpus::specific(&[100, 101, 103, 107, 110, 120, 121], true);

/// GPUs with strong bulk copies from global memory to the cluster.
const CLUSTER: Gpus = Gpus::specific(&[90, 100, 101, 103, 107, 110], true);
/// GPUs with the features that sm_107 introduces.
const RUBIN: Gpus = Gpus::specific(&[107], true);

/// Abbreviations for parts that many rows share.
#[rustfmt::skip]
pub(super) const NAMES: &[(&str, &str)] = &[
    ("GROUP",      "cta_group::1|cta_group::2"),
    ("SHARED",     "shared|shared::cta"),
    ("GLOBAL",     "global|shared::cta"),
    ("TX",         "mbarrier::complete_tx::bytes"),
    ("HINT",       "L2::cache_hint"),
    ("DIM",        "1d|2d|3d|4d|5d"),
    ("REDUCE",     "add|min|max|inc|dec|and|or|xor"),
    ("COLLECTOR",  "collector::a::fill|collector::a::use|LAST"),
    ("LAST",       "collector::a::lastuse|collector::a::discard"),
    ("BUFFER",     "collector::b(0..3+1)::fill|collector::b(0..3+1)::use|collector::b(0..3+1)::lastuse|\
                    collector::b(0..3+1)::discard"),
    ("PHASE",      "phase_type::primary|phase_type::conditional"),
    ("BULK",       "destination:[b64] source:[b64] size:b32"),
    ("STRONG",     "relaxed cta|cluster|gpu|sys b128"),
    ("FABRIC",     "mbarrier::report::fabric"),
    ("REPORT",     "mbarrier::report::disabled|VALIDITY"),
    ("VALIDITY",   "mbarrier::report::validity::per_16bytes::80000000|mbarrier::report::validity::per_16bytes::8000|\
                    mbarrier::report::validity::per_16bytes::80|mbarrier::report::validity::per_16bytes::8|\
                    mbarrier::report::validity::per_element::ff"),
    ("ADDRESS",    "override::global_address"),
    ("SIZES",      "1d ADDRESS override::global_dim"),
    ("STRIDES",    "2d|3d|4d|5d ADDRESS override::global_dim_stride"),
    ("UNITS",      "mbarrier::complete_tx::16B FABRIC"),
    ("PUT",        "source:[b64] size:b32 barrier:[b64]"),
    ("PULL",       "destination:[b64] source:[b32,b64] size:b32 barrier:[b64] members:imm=4294967295"),
    ("MASK",       "cta_mask:b16@multicast::cluster"),
    ("EARLY",      "sync_restrict::shared::read::mma::a"),
    ("POLICY",     "policy:b64@HINT"),
    ("MATRICES",   "d:[b32] a:b64|[b32] b:b64"),
    ("SHIFTED",    "d:[b32] a:[b32] b:b64"),
    ("SCALES",     "scale_a:[b32] scale_b:[b32]"),
    ("ACCUMULATE", "accumulate:pred|imm"),
    ("SIGNS",      "sign_a:imm=1/-1 sign_b:imm=1/-1"),
    ("SPARSE",     "metadata:b32 selector:imm=0/1"),
    ("DENSE",      "metadata:b32 selector:imm=0"),
];

/// The requirements of modifiers in addition to the requirements of their rows: a prefix of the family, the modifier,
/// or a prefix of the modifier that ends with `::`, and the requirement.
#[rustfmt::skip]
pub(super) const WORDS: &[(&str, &str, Requirement)] = &[
    ("mbarrier.",               "shared::cta",              since(80, 7, 8)),
    ("mbarrier.",               "acquire",                  since(80, 8, 0)),
    ("mbarrier.",               "release",                  since(80, 8, 0)),
    ("mbarrier.",               "cluster",                  since(90, 8, 0)),
    ("mbarrier.arrive",         "relaxed",                  since(90, 8, 6)),
    ("mbarrier.test_wait",      "relaxed",                  since(90, 8, 6)),
    ("mbarrier.try_wait",       "relaxed",                  since(90, 8, 6)),
    ("mbarrier.",               "layout::",                 since(90, 9, 3)),
    ("mbarrier.",               "phase_type::",             since(90, 9, 3)),
    ("cp.async.mbarrier",       "shared::cta",              since(80, 7, 8)),
    ("cp.async",                "L2::",                     since(80, 7, 4)),
    ("cp.async.bulk",           "cp_mask",                  since(100, 8, 6)),
    ("cp.async.bulk",           "weak",                     since(90, 9, 3)),
    ("cp.async.bulk",           "relaxed",                  since(90, 9, 3)),
    ("cp.async.bulk",           "multicast::cluster::16b",  since(90, 9, 4)),
    ("cp.async.bulk",           "mbarrier::report::",       on(RUBIN, 9, 4)),
    ("cp.async.bulk",           "override::",               on(RUBIN, 9, 4)),
    ("cp.async.bulk",           "im2col_no_offs::w",        on(RUBIN, 9, 4)),
    ("cp.async.bulk.prefetch",  "L2::evict_last",           on(RUBIN, 9, 4)),
    ("cp.reduce.async.bulk",    "override::",               on(RUBIN, 9, 4)),
    ("cp.reduce.async.bulk",    "im2col_no_offs::w",        on(RUBIN, 9, 4)),
    ("cp.async.bulk.wait_group", "sync_restrict::",         since(90, 9, 5)),
    ("cp.reduce.async.bulk",    "relaxed",                  since(90, 9, 3)),
    ("multimem.cp.async.bulk",  "cp_mask",                  since(100, 9, 1)),
    ("multimem.cp.async.bulk",  "weak",                     since(90, 9, 3)),
    ("multimem.cp.async.bulk",  "relaxed",                  since(90, 9, 3)),
    ("multimem.cp.reduce",      "relaxed",                  since(90, 9, 3)),
    ("cp.async.bulk.tensor",    "cta_group::",              on(TENSOR, 8, 6)),
    ("barrier.cluster",         "release",                  since(90, 8, 0)),
    ("barrier.cluster",         "relaxed",                  since(90, 8, 0)),
    ("barrier.cluster",         "acquire",                  since(90, 8, 0)),
    ("tensormap.replace",       "swizzle_atomicity",        on(NEWER, 8, 6)),
    ("clusterlaunchcontrol",    "multicast::cluster::all",  on(NEWER, 8, 6)),
    ("tcgen05.",                "exclusive",                since(100, 9, 4)),
    ("tcgen05.mma",             "kind::i8",                 on(INTEGER, 8, 6)),
];

/// All forms, by the subsections of 9.7.
#[rustfmt::skip]
pub(super) const FORMS: &[Forms] = {
    use Family::*;
    &[
        (FenceProxyAlias, since(70, 7, 5), "", &[""]),
        (FenceProxyAlias, since(90, 9, 4), "", &["acquire|release sys"]),
        (FenceProxyAsync, since(90, 8, 0), "", &["{global|shared::cta|shared::cluster}"]),
        (FenceProxyTensormapGeneric, since(90, 8, 3), "", &["release cta|cluster|gpu|sys"]),
        (FenceProxyTensormapGeneric, since(90, 8, 3), "destination:[b64] size:imm=128", &[
            "acquire cta|cluster|gpu|sys",
        ]),
        (FenceProxyAsyncGeneric, since(90, 8, 6), "", &[
            "acquire sync_restrict::shared::cluster cluster",
            "release sync_restrict::shared::cta cluster",
        ]),
        (FenceProxyAsyncGeneric, since(90, 9, 4), "", &["release sync_restrict::shared::cluster::read cta|cluster"]),
        (FenceProxyGenericFabric, since(100, 9, 3), "", &["alias acquire|release sys"]),
        (FenceProxyFabricGeneric, since(100, 9, 3), "", &["alias acquire|release sys"]),
        (FenceProxyFabricFabric, since(100, 9, 3), "", &["alias acquire|release sys"]),
        (FenceAlias, since(90, 9, 5), "", &["sync_restrict::read release sys"]),
        (FenceMbarrierInit, since(90, 8, 0), "", &["release cluster"]),
        (Fence, since(90, 8, 6), "", &[
            "acquire sync_restrict::shared::cluster cluster",
            "release sync_restrict::shared::cta cluster",
        ]),
        (MembarProxyAlias, since(60, 7, 5), "", &[""]),
        (MembarProxyAsync, since(90, 9, 0), "", &[""]),
        (TensormapCpFenceproxy, since(90, 8, 3), "destination:[b64] source:[b64] size:imm=128", &[
            "global shared::cta tensormap::generic release cta|cluster|gpu|sys sync aligned",
        ]),
        (TensormapReplaceTile, on(SPECIFIC, 8, 3), "destination:[b64] value:b64", &[
            "global_address {GLOBAL} b1024 b64",
        ]),
        (TensormapReplaceTile, on(SPECIFIC, 8, 3), "destination:[b64] value:b32", &["rank {GLOBAL} b1024 b32"]),
        (TensormapReplaceTile, on(SPECIFIC, 8, 3), "destination:[b64] ordinal:imm value:b32", &[
            "box_dim|global_dim|element_stride {GLOBAL} b1024 b32",
        ]),
        (TensormapReplaceTile, on(SPECIFIC, 8, 3), "destination:[b64] ordinal:imm value:b64", &[
            "global_stride {GLOBAL} b1024 b64",
        ]),
        (TensormapReplaceTile, on(SPECIFIC, 8, 3), "destination:[b64] value:imm", &[
            "interleave_layout|swizzle_mode|fill_mode|swizzle_atomicity|elemtype {GLOBAL} b1024 b32",
        ]),
        (MbarrierInit, since(80, 7, 0), "barrier:[b64] count:b32", &["{layout::v0|layout::v1} {SHARED} b64"]),
        (MbarrierInval, since(80, 7, 0), "barrier:[b64]", &["{SHARED} b64"]),
        (MbarrierExpectTx, since(90, 8, 0), "barrier:[b64] bytes:b32", &[
            "{relaxed cta|cluster} {shared|shared::cta|shared::cluster} b64",
        ]),
        (MbarrierCompleteTx, since(90, 8, 0), "barrier:[b64] bytes:b32", &[
            "{relaxed cta|cluster} {shared|shared::cta|shared::cluster} b64",
        ]),
        (MbarrierExpectTx, on(RUBIN, 9, 4), "barrier:[b64] bytes:b32 cta_mask:b32", &[
            "{relaxed cta|cluster} shared::cluster multicast::cluster::32b b64",
        ]),
        (MbarrierCompleteTx, on(RUBIN, 9, 4), "barrier:[b64] bytes:b32 cta_mask:b32", &[
            "{relaxed cta|cluster} shared::cluster multicast::cluster::32b b64",
        ]),
        (MbarrierArrive, since(80, 7, 0), "state:b64 barrier:[b64]", &["{release|relaxed cta|cluster} {SHARED} b64"]),
        (MbarrierArrive, since(80, 7, 1), "state:_ barrier:[b64]", &["{release|relaxed cta|cluster} {SHARED} b64"]),
        (MbarrierArrive, since(90, 7, 8), "state:b64|_ barrier:[b64] count:b32", &[
            "{release|relaxed cta|cluster} {SHARED} b64",
        ]),
        (MbarrierArrive, since(90, 8, 0), "state:_ barrier:[b64] count:b32?", &[
            "{release|relaxed cta|cluster} shared::cluster b64",
        ]),
        (MbarrierArrive, on(RUBIN, 9, 4), "state:_ barrier:[b64] count:b32? cta_mask:b32", &[
            "{release|relaxed cta|cluster} shared::cluster multicast::cluster::32b b64",
        ]),
        (MbarrierArriveExpectTx, since(90, 8, 0), "state:b64|_ barrier:[b64] bytes:b32", &[
            "{release|relaxed cta|cluster} {SHARED} b64",
        ]),
        (MbarrierArriveExpectTx, since(90, 8, 0), "state:_ barrier:[b64] bytes:b32", &[
            "{release|relaxed cta|cluster} shared::cluster b64",
        ]),
        (MbarrierArriveExpectTx, on(RUBIN, 9, 4), "state:_ barrier:[b64] bytes:b32 cta_mask:b32", &[
            "{release|relaxed cta|cluster} shared::cluster multicast::cluster::32b b64",
        ]),
        (MbarrierArriveNoComplete, since(80, 7, 0), "state:b64 barrier:[b64] count:b32", &[
            "{release cta} {SHARED} b64",
        ]),
        (MbarrierArriveNoComplete, since(80, 7, 1), "state:_ barrier:[b64] count:b32", &["{release cta} {SHARED} b64"]),
        (MbarrierArriveDrop, since(80, 7, 0), "state:b64 barrier:[b64]", &[
            "{release|relaxed cta|cluster} {SHARED} b64",
        ]),
        (MbarrierArriveDrop, since(80, 7, 0), "state:_ barrier:[b64]", &["{release|relaxed cta|cluster} {SHARED} b64"]),
        (MbarrierArriveDrop, since(90, 7, 8), "state:b64|_ barrier:[b64] count:b32", &[
            "{release|relaxed cta|cluster} {SHARED} b64",
        ]),
        (MbarrierArriveDrop, since(90, 8, 0), "state:_ barrier:[b64] count:b32?", &[
            "{release|relaxed cta|cluster} shared::cluster b64",
        ]),
        (MbarrierArriveDrop, on(RUBIN, 9, 4), "state:_ barrier:[b64] count:b32? cta_mask:b32", &[
            "{release|relaxed cta|cluster} shared::cluster multicast::cluster::32b b64",
        ]),
        (MbarrierArriveDropExpectTx, since(90, 8, 0), "state:b64|_ barrier:[b64] bytes:b32", &[
            "{release|relaxed cta|cluster} {SHARED} b64",
        ]),
        (MbarrierArriveDropExpectTx, since(90, 8, 0), "state:_ barrier:[b64] bytes:b32", &[
            "{release|relaxed cta|cluster} shared::cluster b64",
        ]),
        (MbarrierArriveDropExpectTx, on(RUBIN, 9, 4), "state:_ barrier:[b64] bytes:b32 cta_mask:b32", &[
            "{release|relaxed cta|cluster} shared::cluster multicast::cluster::32b b64",
        ]),
        (MbarrierArriveDropNoComplete, since(80, 7, 0), "state:b64|_ barrier:[b64] count:b32", &[
            "{release cta} {SHARED} b64",
        ]),
        (MbarrierTestWait, since(80, 7, 0), "done:pred barrier:[b64] state:b64", &[
            "{phase_type::primary} {acquire|relaxed cta|cluster} {SHARED} b64",
        ]),
        (MbarrierTestWaitParity, since(80, 7, 1), "done:pred barrier:[b64] parity:b32", &[
            "{PHASE} {acquire|relaxed cta|cluster} {SHARED} b64",
        ]),
        (MbarrierTryWait, since(90, 7, 8), "done:pred barrier:[b64] state:b64 time_limit:b32?", &[
            "{phase_type::primary} {acquire|relaxed cta|cluster} {SHARED} b64",
        ]),
        (MbarrierTryWaitParity, since(90, 7, 8), "done:pred barrier:[b64] parity:b32 time_limit:b32?", &[
            "{PHASE} {acquire|relaxed cta|cluster} {SHARED} b64",
        ]),
        (MbarrierTestWait, since(90, 9, 3), "done:pred/pred report:b8? barrier:[b64] state:b64", &[
            "phase_type::primary {acquire|relaxed cta|cluster} {SHARED} b64",
        ]),
        (MbarrierTestWaitParity, since(90, 9, 3), "done:pred/pred report:b8? barrier:[b64] parity:b32", &[
            "phase_type::primary {acquire|relaxed cta|cluster} {SHARED} b64",
        ]),
        (MbarrierTryWait, since(90, 9, 3), "done:pred/pred report:b8? barrier:[b64] state:b64 time_limit:b32?", &[
            "phase_type::primary {acquire|relaxed cta|cluster} {SHARED} b64",
        ]),
        (MbarrierTryWaitParity, since(90, 9, 3), "done:pred/pred report:b8? barrier:[b64] parity:b32 time_limit:b32?", &[
            "phase_type::primary {acquire|relaxed cta|cluster} {SHARED} b64",
        ]),
        (MbarrierCheckLayout, since(90, 9, 3), "done:pred barrier:[b64]", &["layout::v0|layout::v1 {SHARED} b64"]),
        (MbarrierPendingCount, since(80, 7, 0), "count:b32 state:b64", &["b64"]),
        (CpAsync, since(80, 7, 0), "destination:[b64] source:[b64] size:imm=4/8/16 source_size:b32? POLICY", &[
            "ca SHARED global {L2::64B|L2::128B|L2::256B} {HINT}",
        ]),
        (CpAsync, since(80, 7, 5), "destination:[b64] source:[b64] size:imm=4/8/16 source_size:!pred POLICY", &[
            "ca SHARED global {L2::64B|L2::128B|L2::256B} {HINT}",
        ]),
        (CpAsync, since(80, 7, 0), "destination:[b64] source:[b64] size:imm=16 source_size:b32? POLICY", &[
            "cg SHARED global {L2::64B|L2::128B|L2::256B} {HINT}",
        ]),
        (CpAsync, since(80, 7, 5), "destination:[b64] source:[b64] size:imm=16 source_size:!pred POLICY", &[
            "cg SHARED global {L2::64B|L2::128B|L2::256B} {HINT}",
        ]),
        (CpAsyncMbarrierArrive, since(80, 7, 0), "barrier:[b64]", &["{noinc} {SHARED} b64"]),
        (CpAsyncCommitGroup, since(80, 7, 0), "", &[""]),
        (CpAsyncWaitGroup, since(80, 7, 0), "pending:imm", &[""]),
        (CpAsyncWaitAll, since(80, 7, 0), "", &[""]),
        (CpAsyncBulk, since(90, 8, 0), "BULK barrier:[b64] MASK POLICY", &[
            "{weak} shared::cluster global TX {REPORT} {multicast::cluster} {HINT}",
        ]),
        (CpAsyncBulk, on(CLUSTER, 9, 3), "BULK barrier:[b64] MASK POLICY", &[
            "STRONG shared::cluster global TX {REPORT} {multicast::cluster} {HINT}",
        ]),
        (CpAsyncBulk, since(90, 9, 4), "BULK barrier:[b64] cta_mask:b16 POLICY", &[
            "{weak} shared::cluster global TX {REPORT} multicast::cluster::16b {HINT}",
        ]),
        (CpAsyncBulk, on(RUBIN, 9, 4), "BULK barrier:[b64] cta_mask:b32 POLICY", &[
            "{weak} shared::cluster global TX {REPORT} multicast::cluster::32b {HINT}",
        ]),
        (CpAsyncBulk, since(90, 8, 6), "BULK barrier:[b64] POLICY", &["{weak} shared::cta global TX {REPORT} {HINT}"]),
        (CpAsyncBulk, since(90, 9, 3), "BULK barrier:[b64] POLICY", &["STRONG shared::cta global TX {REPORT} {HINT}"]),
        (CpAsyncBulk, since(90, 9, 2), "BULK ignored_left:b32 ignored_right:b32 barrier:[b64] POLICY", &[
            "{weak} shared::cta global TX {mbarrier::report::disabled} ignore_oob {HINT}",
        ]),
        (CpAsyncBulk, since(90, 9, 3), "BULK ignored_left:b32 ignored_right:b32 barrier:[b64] POLICY", &[
            "STRONG shared::cta global TX {mbarrier::report::disabled} ignore_oob {HINT}",
        ]),
        (CpAsyncBulk, since(90, 8, 0), "BULK barrier:[b64]", &["{weak} shared::cluster shared::cta TX"]),
        (CpAsyncBulk, since(90, 9, 3), "BULK barrier:[b64]", &[
            "relaxed cta|cluster b128 shared::cluster shared::cta TX",
        ]),
        (CpAsyncBulk, since(90, 8, 0), "BULK POLICY byte_mask:b16@cp_mask", &[
            "{weak} global shared::cta bulk_group {HINT} {cp_mask}",
        ]),
        (CpAsyncBulk, since(90, 9, 3), "BULK POLICY byte_mask:b16@cp_mask", &[
            "STRONG global shared::cta bulk_group {HINT} {cp_mask}",
        ]),
        (CpAsyncBulkCommitGroup, since(90, 8, 0), "", &[""]),
        (CpAsyncBulkWaitGroup, since(90, 8, 0), "pending:imm", &["{read}", "sync_restrict::proxy::async"]),
        (CpAsyncBulkPrefetch, since(90, 8, 0), "source:[b64] size:b32 POLICY", &["L2 global {HINT|L2::evict_last}"]),
        (ApplypriorityAsyncBulk, on(RUBIN, 9, 4), "source:[b64] size:b32", &["{global} bulk_group L2::evict_normal"]),
        (CpReduceAsyncBulk, since(90, 8, 0), "BULK barrier:[b64]", &[
            "{relaxed cta|cluster} shared::cluster shared::cta TX and|or|xor b32",
            "{relaxed cta|cluster} shared::cluster shared::cta TX add|min|max u32|s32",
            "{relaxed cta|cluster} shared::cluster shared::cta TX inc|dec u32",
            "{relaxed cta|cluster} shared::cluster shared::cta TX add u64",
        ]),
        (CpReduceAsyncBulk, since(90, 8, 0), "BULK POLICY", &[
            "{relaxed cta|cluster|gpu|sys} global shared::cta bulk_group {HINT} and|or|xor b32|b64",
            "{relaxed cta|cluster|gpu|sys} global shared::cta bulk_group {HINT} add|min|max u32|s32|u64",
            "{relaxed cta|cluster|gpu|sys} global shared::cta bulk_group {HINT} min|max s64|f16|bf16",
            "{relaxed cta|cluster|gpu|sys} global shared::cta bulk_group {HINT} inc|dec u32",
            "{relaxed cta|cluster|gpu|sys} global shared::cta bulk_group {HINT} add f32|f64",
            "{relaxed cta|cluster|gpu|sys} global shared::cta bulk_group {HINT} add noftz f16|bf16",
        ]),
        (CpReduceAsyncBulk, since(90, 9, 4), "BULK POLICY", &[
            "{relaxed cta|cluster|gpu|sys} global shared::cta bulk_group {HINT} add noftz f32",
        ]),
        (MultimemCpAsyncBulk, since(90, 9, 1), "BULK byte_mask:b16@cp_mask", &[
            "{weak} global shared::cta bulk_group {cp_mask}",
        ]),
        (MultimemCpAsyncBulk, since(90, 9, 3), "BULK byte_mask:b16@cp_mask", &[
            "STRONG global shared::cta bulk_group {cp_mask}",
        ]),
        (MultimemCpReduceAsyncBulk, since(90, 9, 1), "BULK", &[
            "{relaxed cta|cluster|gpu|sys} global shared::cta bulk_group and|or|xor b32|b64",
            "{relaxed cta|cluster|gpu|sys} global shared::cta bulk_group add|min|max u32|s32|u64",
            "{relaxed cta|cluster|gpu|sys} global shared::cta bulk_group min|max s64|f16|bf16",
            "{relaxed cta|cluster|gpu|sys} global shared::cta bulk_group inc|dec u32",
            "{relaxed cta|cluster|gpu|sys} global shared::cta bulk_group add f32|f64",
            "{relaxed cta|cluster|gpu|sys} global shared::cta bulk_group add noftz f16|bf16",
        ]),
        (MultimemCpReduceAsyncBulk, since(90, 9, 4), "BULK", &[
            "{relaxed cta|cluster|gpu|sys} global shared::cta bulk_group add noftz f32",
        ]),
        (CpAsyncBulkTensor, since(90, 8, 6), "destination:[b64] source:[tensor] barrier:[b64] POLICY", &[
            "DIM shared::cta global {tile} TX {REPORT} {ADDRESS} {GROUP} {HINT}",
            "SIZES shared::cta global {tile} TX {REPORT} {GROUP} {HINT}",
            "STRIDES shared::cta global {tile} TX {REPORT} {GROUP} {HINT}",
        ]),
        (CpAsyncBulkTensor, since(90, 8, 0), "destination:[b64] source:[tensor] barrier:[b64] MASK POLICY", &[
            "DIM shared::cluster global {tile} TX {REPORT} {ADDRESS} {multicast::cluster} {GROUP} {HINT}",
            "SIZES shared::cluster global {tile} TX {REPORT} {GROUP} {HINT}",
            "STRIDES shared::cluster global {tile} TX {REPORT} {GROUP} {HINT}",
        ]),
        (CpAsyncBulkTensor, since(90, 9, 4), "destination:[b64] source:[tensor] barrier:[b64] cta_mask:b16 POLICY", &[
            "DIM shared::cluster global {tile} TX {REPORT} {ADDRESS} multicast::cluster::16b {GROUP} {HINT}",
        ]),
        (CpAsyncBulkTensor, on(RUBIN, 9, 4), "destination:[b64] source:[tensor] barrier:[b64] cta_mask:b32 POLICY", &[
            "DIM shared::cluster global {tile} TX {REPORT} {ADDRESS} multicast::cluster::32b {GROUP} {HINT}",
            "SIZES shared::cluster global {tile} TX {REPORT} multicast::cluster::32b {GROUP} {HINT}",
            "STRIDES shared::cluster global {tile} TX {REPORT} multicast::cluster::32b {GROUP} {HINT}",
        ]),
        (CpAsyncBulkTensor, since(100, 8, 6), "destination:[b64] source:[tensor] barrier:[b64] POLICY", &[
            "2d shared::cta global tile::gather4 TX {REPORT} {ADDRESS} {GROUP} {HINT}",
        ]),
        (CpAsyncBulkTensor, on(TENSOR, 8, 6), "destination:[b64] source:[tensor] barrier:[b64] MASK POLICY", &[
            "2d shared::cluster global tile::gather4 TX {REPORT} {ADDRESS} {multicast::cluster} {GROUP} {HINT}",
        ]),
        (CpAsyncBulkTensor, on(TENSOR, 9, 4), "destination:[b64] source:[tensor] barrier:[b64] cta_mask:b16 POLICY", &[
            "2d shared::cluster global tile::gather4 TX {REPORT} {ADDRESS} multicast::cluster::16b {GROUP} {HINT}",
        ]),
        (CpAsyncBulkTensor, on(RUBIN, 9, 4), "destination:[b64] source:[tensor] barrier:[b64] cta_mask:b32 POLICY", &[
            "2d shared::cluster global tile::gather4 TX {REPORT} {ADDRESS} multicast::cluster::32b {GROUP} {HINT}",
        ]),
        (CpAsyncBulkTensor, since(90, 8, 6),
         "destination:[b64] source:[tensor] barrier:[b64] offsets:<b16*offsets> POLICY", &[
            "3d|4d|5d shared::cta global im2col TX {REPORT} {ADDRESS} {GROUP} {HINT}",
        ]),
        (CpAsyncBulkTensor, since(100, 8, 6),
         "destination:[b64] source:[tensor] barrier:[b64] offsets:<b16*offsets> POLICY", &[
            "3d|4d|5d shared::cta global im2col::w TX {REPORT} {ADDRESS} {GROUP} {HINT}",
        ]),
        (CpAsyncBulkTensor, on(TENSOR, 8, 6),
         "destination:[b64] source:[tensor] barrier:[b64] offsets:<b16*offsets> POLICY", &[
            "3d|4d|5d shared::cta global im2col::w::128 TX {REPORT} {ADDRESS} {GROUP} {HINT}",
        ]),
        (CpAsyncBulkTensor, since(90, 8, 0),
         "destination:[b64] source:[tensor] barrier:[b64] offsets:<b16*offsets> MASK POLICY", &[
            "3d|4d|5d shared::cluster global im2col TX {REPORT} {ADDRESS} {multicast::cluster} {GROUP} {HINT}",
        ]),
        (CpAsyncBulkTensor, since(90, 9, 4),
         "destination:[b64] source:[tensor] barrier:[b64] offsets:<b16*offsets> cta_mask:b16 POLICY", &[
            "3d|4d|5d shared::cluster global im2col TX {REPORT} {ADDRESS} multicast::cluster::16b {GROUP} {HINT}",
        ]),
        (CpAsyncBulkTensor, on(TENSOR, 8, 6),
         "destination:[b64] source:[tensor] barrier:[b64] offsets:<b16*offsets> MASK POLICY", &[
            "3d|4d|5d shared::cluster global im2col::w|im2col::w::128 TX {REPORT} {ADDRESS} {multicast::cluster} {GROUP} {HINT}",
        ]),
        (CpAsyncBulkTensor, on(TENSOR, 9, 4),
         "destination:[b64] source:[tensor] barrier:[b64] offsets:<b16*offsets> cta_mask:b16 POLICY", &[
            "3d|4d|5d shared::cluster global im2col::w|im2col::w::128 TX {REPORT} {ADDRESS} multicast::cluster::16b {GROUP} {HINT}",
        ]),
        (CpAsyncBulkTensor, on(RUBIN, 9, 4),
         "destination:[b64] source:[tensor] barrier:[b64] offsets:<b16*offsets> cta_mask:b32 POLICY", &[
            "3d|4d|5d shared::cluster global im2col|im2col::w|im2col::w::128 TX {REPORT} {ADDRESS} multicast::cluster::32b {GROUP} {HINT}",
        ]),
        (CpAsyncBulkTensor, since(90, 8, 0), "destination:[tensor] source:[b64] POLICY", &[
            "DIM global shared::cta {tile} bulk_group {ADDRESS} {HINT}",
            "SIZES global shared::cta {tile} bulk_group {HINT}",
            "STRIDES global shared::cta {tile} bulk_group {HINT}",
            "3d|4d|5d global shared::cta im2col_no_offs|im2col_no_offs::w bulk_group {ADDRESS} {HINT}",
        ]),
        (CpAsyncBulkTensor, on(TENSOR, 8, 6), "destination:[tensor] source:[b64] POLICY", &[
            "2d global shared::cta tile::scatter4 bulk_group {ADDRESS} {HINT}",
        ]),
        (CpReduceAsyncBulkTensor, since(90, 8, 0), "destination:[tensor] source:[b64] POLICY", &[
            "DIM global shared::cta REDUCE {tile} bulk_group {ADDRESS} {HINT}",
            "SIZES global shared::cta REDUCE {tile} bulk_group {HINT}",
            "STRIDES global shared::cta REDUCE {tile} bulk_group {HINT}",
            "3d|4d|5d global shared::cta REDUCE im2col_no_offs|im2col_no_offs::w bulk_group {ADDRESS} {HINT}",
        ]),
        (CpReduceAsyncBulkTensor, on(TENSOR, 8, 6), "destination:[tensor] source:[b64] POLICY", &[
            "2d global shared::cta REDUCE tile::scatter4 bulk_group {ADDRESS} {HINT}",
        ]),
        (CpAsyncBulkPrefetchTensor, since(90, 8, 0), "source:[tensor] POLICY", &[
            "DIM L2 global {tile} {ADDRESS} {HINT|L2::evict_last}",
            "SIZES L2 global {tile} {HINT|L2::evict_last}",
            "STRIDES L2 global {tile} {HINT|L2::evict_last}",
        ]),
        (CpAsyncBulkPrefetchTensor, on(TENSOR, 8, 6), "source:[tensor] POLICY", &[
            "2d L2 global tile::gather4 {ADDRESS} {HINT|L2::evict_last}",
        ]),
        (CpAsyncBulkPrefetchTensor, since(90, 8, 0), "source:[tensor] offsets:<b16*offsets> POLICY", &[
            "3d|4d|5d L2 global im2col {ADDRESS} {HINT|L2::evict_last}",
        ]),
        (CpAsyncBulkPrefetchTensor, on(TENSOR, 8, 6), "source:[tensor] offsets:<b16*offsets> POLICY", &[
            "3d|4d|5d L2 global im2col::w|im2col::w::128 {ADDRESS} {HINT|L2::evict_last}",
        ]),
        (ApplypriorityAsyncBulkTensor, on(RUBIN, 9, 4), "source:[tensor]", &[
            "DIM {global} {tile} bulk_group L2::evict_normal {ADDRESS}",
            "SIZES {global} {tile} bulk_group L2::evict_normal",
            "STRIDES {global} {tile} bulk_group L2::evict_normal",
            "2d {global} tile::gather4 bulk_group L2::evict_normal {ADDRESS}",
            "3d|4d|5d {global} im2col_no_offs|im2col_no_offs::w bulk_group L2::evict_normal {ADDRESS}",
        ]),
        (ApplypriorityAsyncBulkTensor, on(RUBIN, 9, 4), "source:[tensor] offsets:<b16*offsets>", &[
            "3d|4d|5d {global} im2col|im2col::w|im2col::w::128 bulk_group L2::evict_normal {ADDRESS}",
        ]),
        (StBulk, since(100, 8, 6), "destination:[b64] size:b64 value:imm=0", &["{weak} {shared::cta}"]),
        (StAsync, since(90, 8, 1), "destination:[b64] value:element barrier:[b64]", &[
            "{weak} {shared::cluster} TX b32|b64|u32|u64|s32|s64|f32|f64",
        ]),
        (StAsync, since(90, 8, 1), "destination:[b64] value:<element*2> barrier:[b64]", &[
            "{weak} {shared::cluster} TX v2 b32|b64|u32|u64|s32|s64|f32|f64",
        ]),
        (StAsync, since(90, 8, 1), "destination:[b64] value:<element*4> barrier:[b64]", &[
            "{weak} {shared::cluster} TX v4 b32|u32|s32|f32",
        ]),
        (StAsync, since(100, 8, 7), "destination:[b64] value:element", &[
            "mmio release sys {global} b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64",
            "release gpu|sys {global} b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64",
        ]),
        (StAsync, since(90, 9, 2), "destination:[b64] value:b128 barrier:[b64]", &["{weak} {shared::cluster} TX b128"]),
        (RedAsync, since(90, 8, 1), "destination:[b64] value:element barrier:[b64]", &[
            "relaxed cluster {shared::cluster} TX inc|dec u32",
            "relaxed cluster {shared::cluster} TX min|max u32|s32",
            "relaxed cluster {shared::cluster} TX and|or|xor b32",
            "relaxed cluster {shared::cluster} TX add u32|s32|u64|s64",
        ]),
        (RedAsync, since(100, 8, 7), "destination:[b64] value:element", &[
            "release gpu|sys {global} inc|dec u32",
            "release gpu|sys {global} min|max u32|s32",
            "release gpu|sys {global} and|or|xor b32",
            "release gpu|sys {global} add u32|s32|u64|s64",
            "mmio release sys {global} inc|dec u32",
            "mmio release sys {global} min|max u32|s32",
            "mmio release sys {global} and|or|xor b32",
            "mmio release sys {global} add u32|s32|u64|s64",
        ]),
        (MultimemStAsync, since(100, 9, 3), "destination:[b64] value:element", &[
            "release gpu|sys {global} b8|b16|b32|b64|u8|u16|u32|u64|s8|s16|s32|s64|f32|f64",
        ]),
        (MultimemRedAsync, since(100, 9, 3), "destination:[b64] value:element", &[
            "release gpu|sys {global} add u32|s32|u64",
        ]),
        (FabricTryGetAsync, since(100, 9, 3), "destination:[b64] source:[b32,b64] size:b32 barrier:[b64] POLICY", &[
            "shared::cta TX FABRIC {HINT} relaxed sys b128",
        ]),
        (FabricTryPutAsync, since(100, 9, 3), "destination:[b32,b64] PUT byte_mask:b16@cp_mask", &[
            "{multimem} shared::cta UNITS {cp_mask} relaxed sys b128",
        ]),
        (FabricTryPutAsync, since(100, 9, 3), "destination:[b32,b64,b64] PUT", &[
            "{multimem} shared::cta UNITS counted::bytes relaxed sys b128",
        ]),
        (FabricTryRedAsync, since(100, 9, 3), "destination:[b32,b64] PUT", &[
            "{multimem} shared::cta UNITS relaxed sys and|or|xor b32|b64",
            "{multimem} shared::cta UNITS relaxed sys min|max u32|s32|u64|s64|f16|bf16",
            "{multimem} shared::cta UNITS relaxed sys add u32|u64|f16|bf16|f32|f64",
        ]),
        (FabricTryRedAsync, since(100, 9, 3), "destination:[b32,b64,b64] PUT", &[
            "{multimem} shared::cta UNITS counted::bytes relaxed sys and|or|xor b32|b64",
            "{multimem} shared::cta UNITS counted::bytes relaxed sys min|max u32|s32|u64|s64|f16|bf16",
            "{multimem} shared::cta UNITS counted::bytes relaxed sys add u32|u64|f16|bf16|f32|f64",
        ]),
        (FabricTryPullredAsync, since(100, 9, 3), "PULL", &[
            "multimem shared::cta TX FABRIC relaxed sys and|or|xor b32|b64 sync",
            "multimem shared::cta TX FABRIC relaxed sys min|max u32|s32|u64|s64|f16|bf16 sync",
            "multimem shared::cta TX FABRIC relaxed sys add u32|u64|f16|bf16|f32 sync",
        ]),
        (FabricTryPullredAsync, on(NEWER, 9, 3), "PULL", &[
            "multimem shared::cta TX FABRIC relaxed sys min|max e4m3|e5m2 sync",
            "multimem shared::cta TX FABRIC relaxed sys add acc::f32 f16|bf16|e4m3|e5m2 sync",
            "multimem shared::cta TX FABRIC relaxed sys add acc::f16 e4m3|e5m2 sync",
        ]),
        (FabricTryAtomAsync, since(100, 9, 4), "destination:[b32,b64] reduced:[b64] source:[b64] barrier:[b64]", &[
            "shared::cta UNITS relaxed sys and|or|xor b32|b64",
            "shared::cta UNITS relaxed sys min|max u32|s32|u64|s64|f16x2|bf16x2",
            "shared::cta UNITS relaxed sys add u32|u64|f16x2|bf16x2|f32|f64",
            "shared::cta UNITS relaxed sys exch|cas b32|b64|b128",
        ]),
        (FabricSubmit, since(100, 9, 3), "", &["{op_restrict::fetching}"]),
        (FabricSubmitCommitGroup, since(100, 9, 5), "", &[""]),
        (FabricWait, since(100, 9, 3), "", &["sync_restrict::reads"]),
        (FabricWait, since(100, 9, 5), "pending:imm", &["sync_restrict::read"]),
        (BarrierClusterArrive, since(90, 7, 8), "", &["{release|relaxed} {aligned}"]),
        (BarrierClusterWait, since(90, 7, 8), "", &["{acquire} {aligned}"]),
        (GriddepcontrolWait, since(90, 7, 8), "", &[""]),
        (GriddepcontrolLaunchDependents, since(90, 7, 8), "", &[""]),
        (ClusterlaunchcontrolTryCancelAsync, since(100, 8, 6), "destination:[b64] barrier:[b64]", &[
            "{shared::cta} TX {multicast::cluster::all} b128",
        ]),
        (ClusterlaunchcontrolQueryCancel, since(100, 8, 6), "done:pred source:b128", &["is_canceled pred b128"]),
        (ClusterlaunchcontrolQueryCancel, since(100, 8, 6), "destination:<b32/_*4> source:b128", &[
            "get_first_ctaid v4 b32 b128",
        ]),
        (ClusterlaunchcontrolQueryCancel, since(100, 8, 6), "destination:b32 source:b128", &[
            "get_first_ctaid::x|get_first_ctaid::y|get_first_ctaid::z b32 b128",
        ]),
        (WgmmaFence, on(HOPPER, 8, 0), "", &["sync {aligned}"]),
        (WgmmaCommitGroup, on(HOPPER, 8, 0), "", &["sync {aligned}"]),
        (WgmmaWaitGroup, on(HOPPER, 8, 0), "pending:imm", &["sync {aligned}"]),
        (WgmmaMmaAsync, on(HOPPER, 8, 0),
         "d:<element*accumulators> a:b64 b:b64 ACCUMULATE SIGNS transpose_a:imm=0/1 transpose_b:imm=0/1", &[
            "sync {aligned} m64n(8..256+8)k16 f32|f16 f16 f16",
            "sync {aligned} m64n(8..256+8)k16 f32 bf16 bf16",
        ]),
        (WgmmaMmaAsync, on(HOPPER, 8, 0),
         "d:<element*accumulators> a:<b32*4> b:b64 ACCUMULATE SIGNS transpose_b:imm=0/1", &[
            "sync {aligned} m64n(8..256+8)k16 f32|f16 f16 f16",
            "sync {aligned} m64n(8..256+8)k16 f32 bf16 bf16",
        ]),
        (WgmmaMmaAsync, on(HOPPER, 8, 0), "d:<element*accumulators> a:b64|<b32*4> b:b64 ACCUMULATE SIGNS", &[
            "sync {aligned} m64n(8..256+8)k8 f32 tf32 tf32",
            "sync {aligned} m64n(8..256+8)k32 f32|f16 e4m3|e5m2 e4m3|e5m2",
        ]),
        (WgmmaMmaAsync, on(HOPPER, 8, 0), "d:<element*accumulators> a:b64|<b32*4> b:b64 ACCUMULATE", &[
            "sync {aligned} m64n8k32|m64n24k32|m64n(16..256+16)k32 {satfinite} s32 s8 s8",
            "sync {aligned} m64n8k32|m64n24k32|m64n(16..256+16)k32 {satfinite} s32 u8 u8",
            "sync {aligned} m64n8k256|m64n24k256|m64n(16..256+16)k256 s32 b1 b1 and popc",
        ]),
        (WgmmaMmaAsync, on(HOPPER, 8, 4), "d:<element*accumulators> a:b64|<b32*4> b:b64 ACCUMULATE", &[
            "sync {aligned} m64n8k32|m64n24k32|m64n(16..256+16)k32 {satfinite} s32 s8 u8",
            "sync {aligned} m64n8k32|m64n24k32|m64n(16..256+16)k32 {satfinite} s32 u8 s8",
        ]),
        (WgmmaMmaAsyncSp, on(HOPPER, 8, 2),
         "d:<element*accumulators> a:b64 b:b64 SPARSE ACCUMULATE SIGNS transpose_a:imm=0/1 transpose_b:imm=0/1", &[
            "sync {aligned} m64n(8..256+8)k32 f32|f16 f16 f16",
            "sync {aligned} m64n(8..256+8)k32 f32 bf16 bf16",
        ]),
        (WgmmaMmaAsyncSp, on(HOPPER, 8, 2),
         "d:<element*accumulators> a:<b32*4> b:b64 SPARSE ACCUMULATE SIGNS transpose_b:imm=0/1", &[
            "sync {aligned} m64n(8..256+8)k32 f32|f16 f16 f16",
            "sync {aligned} m64n(8..256+8)k32 f32 bf16 bf16",
        ]),
        (WgmmaMmaAsyncSp, on(HOPPER, 8, 2), "d:<element*accumulators> a:b64|<b32*4> b:b64 SPARSE ACCUMULATE SIGNS", &[
            "sync {aligned} m64n(8..256+8)k16 f32 tf32 tf32",
        ]),
        (WgmmaMmaAsyncSp, on(HOPPER, 8, 2), "d:<element*accumulators> a:b64|<b32*4> b:b64 DENSE ACCUMULATE SIGNS", &[
            "sync {aligned} m64n(8..256+8)k64 f32|f16 e4m3|e5m2 e4m3|e5m2",
        ]),
        (WgmmaMmaAsyncSp, on(HOPPER, 8, 2), "d:<element*accumulators> a:b64|<b32*4> b:b64 DENSE ACCUMULATE", &[
            "sync {aligned} m64n8k64|m64n24k64|m64n(16..256+16)k64 {satfinite} s32 s8 s8",
            "sync {aligned} m64n8k64|m64n24k64|m64n(16..256+16)k64 {satfinite} s32 u8 u8",
        ]),
        (WgmmaMmaAsyncSp, on(HOPPER, 8, 4), "d:<element*accumulators> a:b64|<b32*4> b:b64 DENSE ACCUMULATE", &[
            "sync {aligned} m64n8k64|m64n24k64|m64n(16..256+16)k64 {satfinite} s32 s8 u8",
            "sync {aligned} m64n8k64|m64n24k64|m64n(16..256+16)k64 {satfinite} s32 u8 s8",
        ]),
        (Tcgen05Alloc, on(TENSOR, 8, 6), "destination:[b64] columns:b32", &[
            "{exclusive} GROUP sync aligned {shared::cta} b32",
        ]),
        (Tcgen05Dealloc, on(TENSOR, 8, 6), "tmem:b32 columns:b32", &["{exclusive} GROUP sync aligned b32"]),
        (Tcgen05FenceBeforeThreadSync, on(TENSOR, 8, 6), "", &[""]),
        (Tcgen05FenceAfterThreadSync, on(TENSOR, 8, 6), "", &[""]),
        (Tcgen05WaitLd, on(TENSOR, 8, 6), "", &["sync aligned"]),
        (Tcgen05WaitSt, on(TENSOR, 8, 6), "", &["sync aligned"]),
        (Tcgen05Commit, on(TENSOR, 8, 6), "barrier:[b64] MASK", &[
            "GROUP mbarrier::arrive::one {shared::cluster} {multicast::cluster} b64",
        ]),
        (Tcgen05Commit, on(TENSOR, 9, 4), "barrier:[b64] cta_mask:b16", &[
            "GROUP mbarrier::arrive::one {shared::cluster} multicast::cluster::16b b64",
        ]),
        (Tcgen05Commit, on(RUBIN, 9, 4), "barrier:[b64] cta_mask:b32", &[
            "GROUP mbarrier::arrive::one {EARLY} {shared::cluster} multicast::cluster::32b b64",
        ]),
        (Tcgen05Commit, on(RUBIN, 9, 4), "barrier:[b64] MASK", &[
            "GROUP mbarrier::arrive::one EARLY {shared::cluster} {multicast::cluster} b64",
        ]),
        (Tcgen05Commit, on(RUBIN, 9, 4), "barrier:[b64] cta_mask:b16", &[
            "GROUP mbarrier::arrive::one EARLY {shared::cluster} multicast::cluster::16b b64",
        ]),
        (Tcgen05Shift, on(EXACT, 8, 6), "tmem:[b32]", &["GROUP down"]),
        (Tcgen05Cp, on(TENSOR, 8, 6), "tmem:[b32] source:b64", &[
            "GROUP 128x256b|4x256b|128x128b",
            "GROUP 64x128b warpx2::02_13|warpx2::01_23",
            "GROUP 32x128b warpx4",
            "GROUP 128x256b|4x256b|128x128b b8x16 b6x16_p32|b4x16_p64",
            "GROUP 64x128b warpx2::02_13|warpx2::01_23 b8x16 b6x16_p32|b4x16_p64",
            "GROUP 32x128b warpx4 b8x16 b6x16_p32|b4x16_p64",
        ]),
        (Tcgen05RelinquishAllocPermit, on(TENSOR, 8, 6), "", &["GROUP sync aligned"]),
        (Tcgen05Ld, on(TENSOR, 8, 6), "destination:<b32*registers> tmem:[b32]", &[
            "sync aligned 32x32b|16x64b x(1..128*2) {pack::16b} b32",
            "sync aligned 16x128b x(1..64*2) {pack::16b} b32",
            "sync aligned 16x256b x(1..32*2) {pack::16b} b32",
        ]),
        (Tcgen05Ld, on(TENSOR, 8, 6), "destination:<b32*registers> tmem:[b32] split:imm", &[
            "sync aligned 16x32bx2 x(1..128*2) {pack::16b} b32",
        ]),
        (Tcgen05LdRed, on(REDUCING, 8, 8), "destination:<element*registers> reduced:element tmem:[b32]", &[
            "sync aligned 32x32b x(2..128*2) min|max {abs} {NaN} f32",
            "sync aligned 32x32b x(2..128*2) min|max u32|s32",
        ]),
        (Tcgen05LdRed, on(REDUCING, 8, 8), "destination:<element*registers> reduced:element tmem:[b32] split:imm", &[
            "sync aligned 16x32bx2 x(2..128*2) min|max {abs} {NaN} f32",
            "sync aligned 16x32bx2 x(2..128*2) min|max u32|s32",
        ]),
        (Tcgen05St, on(TENSOR, 8, 6), "tmem:[b32] source:<b32*registers>", &[
            "sync aligned 32x32b|16x64b x(1..128*2) {unpack::16b} b32",
            "sync aligned 16x128b x(1..64*2) {unpack::16b} b32",
            "sync aligned 16x256b x(1..32*2) {unpack::16b} b32",
        ]),
        (Tcgen05St, on(TENSOR, 8, 6), "tmem:[b32] split:imm source:<b32*registers>", &[
            "sync aligned 16x32bx2 x(1..128*2) {unpack::16b} b32",
        ]),
        (Tcgen05Mma, on(TENSOR, 8, 6), "MATRICES descriptor:b32 disabled_lanes:<b32*4>? ACCUMULATE", &[
            "cta_group::1 kind::f16|kind::tf32 {COLLECTOR}",
            "cta_group::1 kind::f8f6f4|kind::i8 {COLLECTOR}",
        ]),
        (Tcgen05Mma, on(SCALING, 8, 6), "MATRICES descriptor:b32 disabled_lanes:<b32*4>? ACCUMULATE scale_d:imm", &[
            "cta_group::1 kind::f16|kind::tf32 {COLLECTOR}",
        ]),
        (Tcgen05Mma, on(TENSOR, 8, 6), "SHIFTED descriptor:b32 disabled_lanes:<b32*4>? ACCUMULATE", &[
            "cta_group::1 kind::f16|kind::tf32 ashift {LAST}",
            "cta_group::1 kind::f8f6f4|kind::i8 ashift {LAST}",
        ]),
        (Tcgen05Mma, on(SCALING, 8, 6), "SHIFTED descriptor:b32 disabled_lanes:<b32*4>? ACCUMULATE scale_d:imm", &[
            "cta_group::1 kind::f16|kind::tf32 ashift {LAST}",
        ]),
        (Tcgen05Mma, on(TENSOR, 8, 6), "MATRICES descriptor:b32 disabled_lanes:<b32*8>? ACCUMULATE", &[
            "cta_group::2 kind::f16|kind::tf32 {COLLECTOR}",
            "cta_group::2 kind::f8f6f4|kind::i8 {COLLECTOR}",
        ]),
        (Tcgen05Mma, on(SCALING, 8, 6), "MATRICES descriptor:b32 disabled_lanes:<b32*8>? ACCUMULATE scale_d:imm", &[
            "cta_group::2 kind::f16|kind::tf32 {COLLECTOR}",
        ]),
        (Tcgen05Mma, on(TENSOR, 8, 6), "SHIFTED descriptor:b32 disabled_lanes:<b32*8>? ACCUMULATE", &[
            "cta_group::2 kind::f16|kind::tf32 ashift {LAST}",
            "cta_group::2 kind::f8f6f4|kind::i8 ashift {LAST}",
        ]),
        (Tcgen05Mma, on(SCALING, 8, 6), "SHIFTED descriptor:b32 disabled_lanes:<b32*8>? ACCUMULATE scale_d:imm", &[
            "cta_group::2 kind::f16|kind::tf32 ashift {LAST}",
        ]),
        (Tcgen05Mma, on(TENSOR, 8, 8), "MATRICES descriptor:b32 SCALES ACCUMULATE", &[
            "GROUP kind::mxf8f6f4|kind::mxf4 block_scale {block32} {COLLECTOR}",
            "GROUP kind::mxf4nvf4 block_scale block16|block32 {COLLECTOR}",
        ]),
        (Tcgen05Mma, on(EXACT, 8, 6), "MATRICES descriptor:b32 SCALES ACCUMULATE", &[
            "GROUP kind::mxf8f6f4 block_scale scale_vec::1X {COLLECTOR}",
            "GROUP kind::mxf4 block_scale scale_vec::2X {COLLECTOR}",
        ]),
        (Tcgen05Mma, on(EXACT, 8, 7), "MATRICES descriptor:b32 SCALES ACCUMULATE", &[
            "GROUP kind::mxf4nvf4 block_scale scale_vec::2X|scale_vec::4X {COLLECTOR}",
        ]),
        (Tcgen05MmaWs, on(TENSOR, 8, 6), "MATRICES descriptor:b32 ACCUMULATE zero_columns:b64?", &[
            "cta_group::1 kind::f16|kind::tf32|kind::f8f6f4|kind::i8 {BUFFER}",
        ]),
        (Tcgen05MmaSp, on(TENSOR, 8, 6), "MATRICES metadata:[b32] descriptor:b32 disabled_lanes:<b32*4>? ACCUMULATE", &[
            "cta_group::1 kind::f16|kind::tf32 {COLLECTOR}",
            "cta_group::1 kind::f8f6f4|kind::i8 {COLLECTOR}",
        ]),
        (Tcgen05MmaSp, on(SCALING, 8, 6),
         "MATRICES metadata:[b32] descriptor:b32 disabled_lanes:<b32*4>? ACCUMULATE scale_d:imm", &[
            "cta_group::1 kind::f16|kind::tf32 {COLLECTOR}",
        ]),
        (Tcgen05MmaSp, on(TENSOR, 8, 6), "SHIFTED metadata:[b32] descriptor:b32 disabled_lanes:<b32*4>? ACCUMULATE", &[
            "cta_group::1 kind::f16|kind::tf32 ashift {LAST}",
            "cta_group::1 kind::f8f6f4|kind::i8 ashift {LAST}",
        ]),
        (Tcgen05MmaSp, on(SCALING, 8, 6),
         "SHIFTED metadata:[b32] descriptor:b32 disabled_lanes:<b32*4>? ACCUMULATE scale_d:imm", &[
            "cta_group::1 kind::f16|kind::tf32 ashift {LAST}",
        ]),
        (Tcgen05MmaSp, on(TENSOR, 8, 6), "MATRICES metadata:[b32] descriptor:b32 disabled_lanes:<b32*8>? ACCUMULATE", &[
            "cta_group::2 kind::f16|kind::tf32 {COLLECTOR}",
            "cta_group::2 kind::f8f6f4|kind::i8 {COLLECTOR}",
        ]),
        (Tcgen05MmaSp, on(SCALING, 8, 6),
         "MATRICES metadata:[b32] descriptor:b32 disabled_lanes:<b32*8>? ACCUMULATE scale_d:imm", &[
            "cta_group::2 kind::f16|kind::tf32 {COLLECTOR}",
        ]),
        (Tcgen05MmaSp, on(TENSOR, 8, 6), "SHIFTED metadata:[b32] descriptor:b32 disabled_lanes:<b32*8>? ACCUMULATE", &[
            "cta_group::2 kind::f16|kind::tf32 ashift {LAST}",
            "cta_group::2 kind::f8f6f4|kind::i8 ashift {LAST}",
        ]),
        (Tcgen05MmaSp, on(SCALING, 8, 6),
         "SHIFTED metadata:[b32] descriptor:b32 disabled_lanes:<b32*8>? ACCUMULATE scale_d:imm", &[
            "cta_group::2 kind::f16|kind::tf32 ashift {LAST}",
        ]),
        (Tcgen05MmaSp, on(TENSOR, 8, 8), "MATRICES metadata:[b32] descriptor:b32 SCALES ACCUMULATE", &[
            "GROUP kind::mxf8f6f4 block_scale {block32} {COLLECTOR}",
        ]),
        (Tcgen05MmaSp, on(EXACT, 8, 8), "MATRICES metadata:[b32] descriptor:b32 SCALES ACCUMULATE", &[
            "GROUP kind::mxf4 block_scale {block32} {COLLECTOR}",
            "GROUP kind::mxf4nvf4 block_scale block16|block32 {COLLECTOR}",
        ]),
        (Tcgen05MmaSp, on(EXACT, 8, 6), "MATRICES metadata:[b32] descriptor:b32 SCALES ACCUMULATE", &[
            "GROUP kind::mxf8f6f4 block_scale scale_vec::1X {COLLECTOR}",
            "GROUP kind::mxf4 block_scale scale_vec::2X {COLLECTOR}",
        ]),
        (Tcgen05MmaSp, on(EXACT, 8, 7), "MATRICES metadata:[b32] descriptor:b32 SCALES ACCUMULATE", &[
            "GROUP kind::mxf4nvf4 block_scale scale_vec::2X|scale_vec::4X {COLLECTOR}",
        ]),
        (Tcgen05MmaWsSp, on(TENSOR, 8, 6), "MATRICES metadata:[b32] descriptor:b32 ACCUMULATE zero_columns:b64?", &[
            "cta_group::1 kind::f16|kind::tf32|kind::f8f6f4|kind::i8 {BUFFER}",
        ]),
    ]
};
