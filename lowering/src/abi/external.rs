//! ExternalMapping mappings of atomics: from other NVIDIA documents, and from compilers and libraries whose code may be linked
//! with this crate's output.
//!
//! Each mapping is in the notation of [`ABI`](super::ABI). This crate never lowers by them; the mapping check compares
//! them (`ptx-atomics verify-mapping --mix`). They cover 32 and 64 bits, on a target that has all of PTX's fences.

use std::fmt;

use itertools::Itertools;

use super::row::{Row, RowKind, rows};
use crate::{
    abi::ABI,
    op::Ordering,
    ptx::Scope::{self, Cluster, Cta, Gpu, Sys},
};

/// A mapping from another source.
#[derive(Debug)]
pub struct ExternalMapping {
    /// The name on the command line.
    pub name: &'static str,
    /// The document with the mapping, or the measured program.
    pub source: &'static str,
    /// The scopes that the mapping supports.
    pub scopes: &'static [Scope],
    /// The rows. A program cannot request an operation whose row is missing.
    rows: &'static [Row],
    /// The rows for a compare and exchange, if they differ from the rows of other read-modify-writes.
    exchanges: Option<&'static [Row]>,
    /// Whether [`ABI`] supplies the rows that [`Self::rows`] lacks.
    else_abi: bool,
    /// The fixed scope of read-modify-writes except compare and exchange, independent of the requested scope.
    pub rmw_scope: Option<Scope>,
    /// Whether a compare and exchange is lowered only by the ordering of its success.
    pub ignores_failure: bool,
    /// Whether an `atom` whose result is unread becomes a `red`, if `red` has its ordering. A compare and exchange has
    /// no `red`.
    pub reduces: bool,
}

impl ExternalMapping {
    /// The row of an operation, if there is a row; `exchange` is true for a compare and exchange.
    pub fn row(&self, kind: RowKind, ordering: Ordering, exchange: bool) -> Option<&'static Row> {
        let rows = if exchange { self.exchanges.unwrap_or(self.rows) } else { self.rows };
        let in_rows = |rows: &'static [Row]| rows.iter().find(|row| row.is(kind, ordering));
        in_rows(rows).or_else(|| self.else_abi.then(|| in_rows(ABI)).flatten())
    }
}

/// Prints the mapping's own rows, in the notation of the tables: the differences from [`ABI`], or all rows if the
/// mapping is not based on it.
impl fmt::Display for ExternalMapping {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for row in self.rows {
            let name = format!("{}({})", row.kind.function(), row.ordering);
            let steps = row.sequences[0].iter().join(" ");
            let steps = match self.rmw_scope {
                Some(scope) if row.kind == RowKind::Rmw => steps.replace("<scope>", scope.into()),
                _ => steps,
            };
            writeln!(f, "{name:<28} => {{ {steps} }}")?;
        }
        Ok(())
    }
}

const LIKE_ABI: ExternalMapping = ExternalMapping {
    name: "",
    source: "",
    scopes: &[Cta, Cluster, Gpu, Sys],
    rows: &[],
    exchanges: None,
    else_abi: true,
    rmw_scope: None,
    ignores_failure: false,
    reduces: false,
};

/// All mappings from other sources.
#[rustfmt::skip]
pub const EXTERNAL_MAPPINGS: &[ExternalMapping] = &[
    ExternalMapping {
        name: "cuda-12.8",
        source: "'Atomics Application Binary Interface' of CUDA 12.8.1: the seq_cst rows, and otherwise the page of today",
        rows: rows! {
            atomic_store(seq_cst)    => { fence.sc.<scope>; st.release.<scope>; }
            atomic_<rmw op>(seq_cst) => { fence.sc.<scope>; atom.acq_rel.<scope>.<rmw op>; }
        },
        ..LIKE_ABI
    },
    ExternalMapping {
        name: "hopper-guide",
        source: "the page of that name beside the Hopper tuning guide: the seq_cst rows, and otherwise the page of today",
        rows: rows! {
            atomic_load(seq_cst) => { fence.sc.<scope>; ld.relaxed.<scope>; }
        },
        ..LIKE_ABI
    },
    ExternalMapping {
        name: "llvm-22",
        source: "llc 22.1.8, measured for sm_90 and PTX 8.6",
        rows: rows! {
            atomic_store(seq_cst)    => { fence.sc.<scope>; st.release.<scope>; }
            atomic_<rmw op>(seq_cst) => { atom.relaxed.<scope>.<rmw op>; }
            atomic_<rmw op>(release) => { atom.relaxed.<scope>.<rmw op>; }
            atomic_<rmw op>(acquire) => { atom.relaxed.<scope>.<rmw op>; }
            atomic_<rmw op>(acq_rel) => { atom.relaxed.<scope>.<rmw op>; }
            atomic_<rmw op>(relaxed) => { atom.relaxed.<scope>.<rmw op>; }
        },
        exchanges: Some(ABI),
        rmw_scope: Some(Gpu),
        ..LIKE_ABI
    },
    ExternalMapping {
        name: "llvm-23",
        source: "llc 23.1.4, measured for sm_90 and PTX 8.6",
        rows: rows! {
            atomic_store(seq_cst) => { fence.sc.<scope>; st.release.<scope>; }
        },
        ..LIKE_ABI
    },
    ExternalMapping {
        name: "llvm-24",
        source: "llc 24.0.0 of 2026-10-25, measured for sm_90 and PTX 8.6: the page of today",
        ..LIKE_ABI
    },
    ExternalMapping {
        name: "libcu++",
        source: "NVIDIA/cccl, libcudacxx/include/cuda/std/__atomic/functions, read on 2026-11-28",
        rows: rows! {
            atomic_thread_fence(release) => { fence.acq_rel.<scope>; }
            atomic_thread_fence(acquire) => { fence.acq_rel.<scope>; }
        },
        ..LIKE_ABI
    },
    ExternalMapping {
        name: "sycl",
        source: "intel/llvm, libclc/libspirv/lib/ptx-nvidiacl, read on 2026-11-28; its `membar` is a `fence.sc` from sm_70 on",
        scopes: &[Cta, Gpu, Sys],
        rows: rows! {
            atomic_store(seq_cst)        => { fence.sc.<scope>; st.release.<scope>; }
            atomic_<rmw op>(seq_cst)     => { fence.sc.<scope>; atom.acq_rel.<scope>.<rmw op>; }
            atomic_thread_fence(release) => { fence.acq_rel.<scope>; }
            atomic_thread_fence(acquire) => { fence.acq_rel.<scope>; }
        },
        ignores_failure: true,
        ..LIKE_ABI
    },
    ExternalMapping {
        name: "tilelang",
        source: "tile-ai/tilelang, src/tl_templates/cuda/atomic.h after #2713: its additions of f16, bf16 and vectors; all else is libcu++",
        scopes: &[Gpu],
        rows: rows! {
            atomic_thread_fence(release) => { fence.acq_rel.<scope>; }
            atomic_thread_fence(acquire) => { fence.acq_rel.<scope>; }
            atomic_<rmw op>(seq_cst)     => { atom.acq_rel.<scope>.<rmw op>; }
        },
        exchanges: Some(ABI),
        ..LIKE_ABI
    },
    ExternalMapping {
        name: "triton",
        source: "triton-lang/triton, LoadStoreOpToLLVM.cpp of the NVIDIA backend: read-modify-writes up to acq_rel, `red` since #10724, and nothing else",
        scopes: &[Cta, Gpu, Sys],
        rows: rows! {
            atomic_<rmw op>(release) => { atom.release.<scope>.<rmw op>; }
            atomic_<rmw op>(acquire) => { atom.acquire.<scope>.<rmw op>; }
            atomic_<rmw op>(acq_rel) => { atom.acq_rel.<scope>.<rmw op>; }
            atomic_<rmw op>(relaxed) => { atom.relaxed.<scope>.<rmw op>; }
        },
        else_abi: false,
        reduces: true,
        ..LIKE_ABI
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_mapping_has_a_name_of_its_own_and_a_source() {
        assert!(EXTERNAL_MAPPINGS.iter().map(|other| other.name).all_unique());
        for other in EXTERNAL_MAPPINGS {
            assert!(!other.name.is_empty() && !other.source.is_empty() && !other.scopes.is_empty(), "{other:?}");
        }
    }

    /// A row that equals the ABI's first sequence would be redundant.
    #[test]
    fn external_rows_differ_from_the_abi() {
        for other in EXTERNAL_MAPPINGS.iter().filter(|other| other.else_abi) {
            for row in other.rows {
                let abi = ABI.iter().find(|abi| abi.is(row.kind, row.ordering));
                if row.kind == RowKind::Rmw && other.rmw_scope.is_some() {
                    continue;
                }
                assert_ne!(abi.map(|abi| abi.sequences[0]), Some(row.sequences[0]), "{}: {row}", other.name);
            }
        }
    }
}
