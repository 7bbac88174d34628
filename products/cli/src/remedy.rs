//! Remedies in the words of the language of a source: PTX for PTX, and a table for the languages that PTX is compiled from.

use std::path::Path;

use ptx_atomics::{
    execute::Remedy,
    ptx::{Scope, Sem},
    races::remedy::Change,
};

/// A language with words for order between threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceLanguage {
    Cuda,
    Rust,
    Triton,
}

/// The endings of the names of sources. Every Python source counts as Triton.
const ENDINGS: [(&str, SourceLanguage); 7] = [
    ("cu", SourceLanguage::Cuda),
    ("cuh", SourceLanguage::Cuda),
    ("h", SourceLanguage::Cuda),
    ("hpp", SourceLanguage::Cuda),
    ("inl", SourceLanguage::Cuda),
    ("rs", SourceLanguage::Rust),
    ("py", SourceLanguage::Triton),
];

/// A remedy that each language has words for.
#[derive(Clone, Copy)]
enum Row {
    /// An instruction: a barrier of the CTA.
    Barrier,
    /// An instruction of PTX that the language has no function for.
    Instruction,
    /// A barrier of the CTA between two accesses, or a release and an acquire.
    BarrierBetween,
    /// A barrier of the cluster between two accesses, or a release and an acquire.
    ClusterBetween,
    /// A release and an acquire.
    ReleaseAcquire,
    /// An atomic access instead of the plain one.
    Strong,
    /// A wider scope of both accesses.
    Wider,
    /// An ordering and a scope of one access.
    Ordering,
    /// A barrier of the CTA that not all threads reach.
    AllArrive,
    /// Two barriers at which threads of one warp meet.
    SameBarrier,
}

impl SourceLanguage {
    /// The language of the source of this name; nothing for PTX, LLVM IR, and languages without a column.
    pub fn of(file: &str) -> Option<Self> {
        let ending = Path::new(file).extension()?.to_str()?;
        ENDINGS.iter().find(|(known, _)| *known == ending).map(|(_, language)| *language)
    }

    /// The table of the words for each remedy. `{scope}`, `{found}`, `{sem}` and `{ptx}` stand for words of the finding.
    #[rustfmt::skip]
    fn words(self, row: Row) -> &'static str {
        let [cuda, rust, triton] = match row {
            Row::Barrier => [
                "`__syncthreads();`",
                "`core::arch::nvptx::_syncthreads();`",
                "`tl.debug_barrier()`",
            ],
            Row::Instruction => [
                "`asm volatile(\"{ptx};\" ::: \"memory\");`",
                "`asm!(\"{ptx};\");`",
                "`{ptx}` of the PTX, which Triton chooses,",
            ],
            Row::BarrierBetween => [
                "`__syncthreads()` of all threads of the block in between, or a `cuda::atomic_ref` with `{scope}`, `memory_order_release` and `memory_order_acquire`",
                "`_syncthreads()` of all threads of the block in between, or an atomic of `core::sync::atomic` with `Ordering::Release` and `Ordering::Acquire`",
                "`tl.debug_barrier()` in between, or an atomic with `sem=\"release\"` and one with `sem=\"acquire\"`, both with `scope=\"{scope}\"`",
            ],
            Row::ClusterBetween => [
                "`cooperative_groups::this_cluster().sync()` in between, or a `cuda::atomic_ref` with `{scope}`, `memory_order_release` and `memory_order_acquire`",
                "`barrier.cluster.arrive` and `.wait` by `asm!` in between, or an atomic of `core::sync::atomic` with `Ordering::Release` and `Ordering::Acquire`",
                "an atomic with `sem=\"release\"` after the first and one with `sem=\"acquire\"` before the second, both with `scope=\"{scope}\"`",
            ],
            Row::ReleaseAcquire => [
                "`__threadfence()` after the first and before the second, beside an atomic operation by which one thread learns of the other, or a \
                 `cuda::atomic_ref` with `{scope}`, `memory_order_release` and `memory_order_acquire`",
                "`fence(Ordering::Release)` after the first and `fence(Ordering::Acquire)` before the second, beside an atomic of `core::sync::atomic` \
                 by which one thread learns of the other",
                "an atomic with `sem=\"release\"` after the first and one with `sem=\"acquire\"` before the second, both with `scope=\"{scope}\"`",
            ],
            Row::Strong => [
                "a `cuda::atomic_ref` with `{scope}` for the plain access",
                "an atomic of `core::sync::atomic` for the plain access",
                "an atomic with `scope=\"{scope}\"`, such as `tl.atomic_xchg`, for the plain access",
            ],
            Row::Wider => [
                "`{scope}` of both instead of `{found}`: the threads are not within that scope",
                "the scope `{scope}` of both instead of `{found}` (crate ptx-atomics-scope): the threads are not within that scope",
                "`scope=\"{scope}\"` of both instead of `scope=\"{found}\"`: the threads are not within that scope",
            ],
            Row::Ordering => [
                "a `cuda::atomic_ref` with `{scope}` and `memory_order_{sem}`",
                "an atomic of `core::sync::atomic` with `Ordering::{sem}`",
                "an atomic with `sem=\"{sem}\"` and `scope=\"{scope}\"`",
            ],
            Row::AllArrive => [
                "a barrier that all its threads reach: `__syncthreads()` outside of the branch, or for a part of the block a barrier with a number of threads",
                "a barrier that all its threads reach: `_syncthreads()` outside of the branch, or for a part of the block a barrier with a number of threads",
                "a barrier that all its threads reach: `tl.debug_barrier()` outside of the branch",
            ],
            Row::SameBarrier => [
                "one `__syncthreads()` outside of the branch, which all threads of the warp reach",
                "one `_syncthreads()` outside of the branch, which all threads of the warp reach",
                "one `tl.debug_barrier()` outside of the branch, which all threads of the warp reach",
            ],
        };
        match self {
            Self::Cuda => cuda,
            Self::Rust => rust,
            Self::Triton => triton,
        }
    }

    fn scope(self, scope: Scope) -> &'static str {
        let [cuda, rust, triton] = match scope {
            Scope::Cta => ["cuda::thread_scope_block", "Block", "cta"],
            // libcu++ and Triton have no scope for a cluster.
            Scope::Cluster => ["cuda::thread_scope_device", "Cluster", "gpu"],
            Scope::Gpu => ["cuda::thread_scope_device", "Device", "gpu"],
            Scope::Sys => ["cuda::thread_scope_system", "System", "sys"],
        };
        match self {
            Self::Cuda => cuda,
            Self::Rust => rust,
            Self::Triton => triton,
        }
    }

    fn sem(self, sem: Sem) -> &'static str {
        match (sem, self) {
            (Sem::Acquire, Self::Rust) => "Acquire",
            (Sem::Release, Self::Rust) => "Release",
            (Sem::AcqRel, Self::Rust) => "AcqRel",
            (Sem::Weak | Sem::Volatile | Sem::Relaxed, Self::Rust) => "Relaxed",
            (Sem::Acquire, _) => "acquire",
            (Sem::Release, _) => "release",
            (Sem::AcqRel, _) => "acq_rel",
            (Sem::Weak | Sem::Volatile | Sem::Relaxed, _) => "relaxed",
        }
    }

    fn with_scope(self, row: Row, scope: Scope) -> String {
        self.words(row).replace("{scope}", self.scope(scope))
    }
}

/// An instruction of PTX to be inserted.
pub fn instruction(language: Option<SourceLanguage>, ptx: &str) -> String {
    match language {
        None => ptx.to_owned(),
        Some(language) => language.words(Row::Instruction).replace("{ptx}", ptx),
    }
}

/// The remedy of an execution.
pub fn executed(language: Option<SourceLanguage>, remedy: &Remedy) -> String {
    let Some(language) = language else { return remedy.to_string() };
    match remedy {
        Remedy::Barrier(scope @ Scope::Cta) => language.with_scope(Row::BarrierBetween, *scope),
        Remedy::Barrier(scope) => language.with_scope(Row::ClusterBetween, *scope),
        Remedy::ReleaseAcquire(scope) => language.with_scope(Row::ReleaseAcquire, *scope),
        Remedy::Strong(scope) => language.with_scope(Row::Strong, *scope),
        Remedy::Wider { needed, found } => {
            language.with_scope(Row::Wider, *needed).replace("{found}", language.scope(*found))
        }
        Remedy::AllArrive => language.words(Row::AllArrive).to_owned(),
        Remedy::SameBarrier => language.words(Row::SameBarrier).to_owned(),
        Remedy::Words(words) => words.clone(),
    }
}

/// A change that a proof has tried, at a place in words.
pub fn change(language: Option<SourceLanguage>, change: &Change, place: &str) -> String {
    let Some(language) = language else {
        return change.words(place, |instruction| mnemonic(instruction).to_owned());
    };
    match change {
        Change::Barrier(_) => format!("{} before {place}", language.words(Row::Barrier)),
        Change::InPlace { sem, scope, .. } => {
            let words = language.with_scope(Row::Ordering, *scope).replace("{sem}", language.sem(*sem));
            format!("{words} at {place}")
        }
    }
}

/// The instruction of a line without its predicate and its operands.
fn mnemonic(instruction: &str) -> &str {
    instruction.split_whitespace().find(|word| !word.starts_with('@')).unwrap_or(instruction)
}
