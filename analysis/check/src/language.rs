//! Remedies in the language of a source: PTX for PTX, and a table for the languages that compile to PTX.

use std::{fs, path::Path};

use ptx_execute::Remedy;
use ptx_isa::{Scope, Sem};
use ptx_races::remedy::Change;

/// A source language with constructs for ordering between threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceLanguage {
    /// CUDA C++.
    Cuda,
    /// Rust.
    Rust,
    /// Python with Triton.
    Triton,
}

/// The file extensions of sources. A Python source counts as Triton only if it imports Triton.
const ENDINGS: [(&str, SourceLanguage); 7] = [
    ("cu", SourceLanguage::Cuda),
    ("cuh", SourceLanguage::Cuda),
    ("h", SourceLanguage::Cuda),
    ("hpp", SourceLanguage::Cuda),
    ("inl", SourceLanguage::Cuda),
    ("rs", SourceLanguage::Rust),
    ("py", SourceLanguage::Triton),
];

/// A remedy that each language can express.
#[derive(Clone, Copy)]
enum Row {
    /// An instruction: a barrier of the CTA.
    Barrier,
    /// A PTX instruction without a function in the language.
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
    /// A single barrier instead of two barriers in different branches of one warp.
    SameBarrier,
    /// A plain load instead of a load through the read-only cache, of memory that the kernel writes.
    PlainLoad,
    /// A proxy fence by the thread that reads first.
    ProxyFenceOfReader,
    /// A proxy fence by the thread that writes first.
    ProxyFence,
    /// A fence for a changed tensor map before its use.
    TensorMapFence,
    /// A wait for the grids before this one.
    GridWait,
    /// A wait for earlier grids, in this grid and in the grid in between.
    GridWaits,
}

impl SourceLanguage {
    /// The language of a source file with this name; `None` for PTX, LLVM IR, and languages without a column in the
    /// table.
    pub fn from_file_name(file: &str) -> Option<Self> {
        let ending = Path::new(file).extension()?.to_str()?;
        let (_, language) = ENDINGS.iter().find(|(known, _)| *known == ending)?;
        (*language != Self::Triton || imports_triton(Path::new(file))).then_some(*language)
    }

    /// The table of the texts for each remedy. `{scope}`, `{found}`, `{sem}` and `{ptx}` are placeholders for parts of
    /// the finding, `{fence}` and `{wait}` for instructions.
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
                "add `__syncthreads()` of all threads of the block in between, or a `cuda::atomic_ref` with `{scope}`, `memory_order_release` and `memory_order_acquire`",
                "add `_syncthreads()` of all threads of the block in between, or an atomic of `core::sync::atomic` with `Ordering::Release` and `Ordering::Acquire`",
                "add `tl.debug_barrier()` in between, or an atomic with `sem=\"release\"` and one with `sem=\"acquire\"`, both with `scope=\"{scope}\"`",
            ],
            Row::ClusterBetween => [
                "add `cooperative_groups::this_cluster().sync()` in between, or a `cuda::atomic_ref` with `{scope}`, `memory_order_release` and `memory_order_acquire`",
                "add `barrier.cluster.arrive` and `.wait` by `asm!` in between, or an atomic of `core::sync::atomic` with `Ordering::Release` and `Ordering::Acquire`",
                "add an atomic with `sem=\"release\"` after the first and one with `sem=\"acquire\"` before the second, both with `scope=\"{scope}\"`",
            ],
            Row::ReleaseAcquire => [
                "add `__threadfence()` after the first and before the second, with an atomic operation that synchronizes the threads, or a \
                 `cuda::atomic_ref` with `{scope}`, `memory_order_release` and `memory_order_acquire`",
                "add `fence(Ordering::Release)` after the first and `fence(Ordering::Acquire)` before the second, with an atomic of `core::sync::atomic` that synchronizes the threads",
                "add an atomic with `sem=\"release\"` after the first and one with `sem=\"acquire\"` before the second, both with `scope=\"{scope}\"`",
            ],
            Row::Strong => [
                "use a `cuda::atomic_ref` with `{scope}` for the plain access",
                "use an atomic of `core::sync::atomic` for the plain access",
                "use an atomic with `scope=\"{scope}\"`, such as `tl.atomic_xchg`, for the plain access",
            ],
            Row::Wider => [
                "give both accesses `{scope}`: the threads are not within `{found}`",
                "give both accesses the scope `{scope}` (crate ptx-atomics-scope): the threads are not within `{found}`",
                "give both accesses `scope=\"{scope}\"`: the threads are not within `scope=\"{found}\"`",
            ],
            Row::Ordering => [
                "a `cuda::atomic_ref` with `{scope}` and `memory_order_{sem}`",
                "an atomic of `core::sync::atomic` with `Ordering::{sem}`",
                "an atomic with `sem=\"{sem}\"` and `scope=\"{scope}\"`",
            ],
            Row::AllArrive => [
                "use a barrier that all its threads reach: `__syncthreads()` outside of the branch, or for a part of the block a barrier with a number of threads",
                "use a barrier that all its threads reach: `_syncthreads()` outside of the branch, or for a part of the block a barrier with a number of threads",
                "use a barrier that all its threads reach: `tl.debug_barrier()` outside of the branch",
            ],
            Row::SameBarrier => [
                "use one `__syncthreads()` outside of the branch, which all threads of the warp reach",
                "use one `_syncthreads()` outside of the branch, which all threads of the warp reach",
                "use one `tl.debug_barrier()` outside of the branch, which all threads of the warp reach",
            ],
            Row::PlainLoad => [
                "use a plain load instead of `__ldg` or of a load through `const __restrict__`, which are for memory that the kernel does not write",
                "use a load through a raw pointer, or `asm!(\"ld.global…\")` without `.nc`, which is for memory that the kernel does not write",
                "use a load without `.nc` in the PTX, which Triton chooses, for memory that the kernel writes",
            ],
            Row::ProxyFenceOfReader => [
                "add {fence} in the thread that reads, after the read, and `__syncthreads()` after it; most GPUs need no fence where there is a barrier",
                "add {fence} in the thread that reads, after the read, and `_syncthreads()` after it; most GPUs need no fence where there is a barrier",
                "add {fence} after the read, and `tl.debug_barrier()` after it; most GPUs need no fence where there is a barrier",
            ],
            Row::ProxyFence => [
                "add {fence} in the thread that accesses it first, and `__syncthreads()` after it",
                "add {fence} in the thread that accesses it first, and `_syncthreads()` after it",
                "add {fence} after the first access, and `tl.debug_barrier()` after it",
            ],
            Row::TensorMapFence => [
                "use `cuda::ptx::fence_proxy_tensormap_generic` with `cuda::ptx::sem_release` after the write of the map, and with `cuda::ptx::sem_acquire` before its use",
                "use `fence.proxy.tensormap::generic.release` by `asm!` after the write of the map, and `.acquire` before its use",
                "use `fence.proxy.tensormap::generic` of the PTX, which Triton chooses, with `.release` after the write of the map and `.acquire` before its use",
            ],
            Row::GridWait => [
                "add {wait} before the access, in its thread or in a thread that a barrier orders before it",
                "add {wait} before the access, in its thread or in a thread that a barrier orders before it",
                "add {wait} before the access",
            ],
            Row::GridWaits => [
                "add {wait} before the access, and in the grid in between, which has not waited either",
                "add {wait} before the access, and in the grid in between, which has not waited either",
                "add {wait} before the access, and in the grid in between, which has not waited either",
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

    fn with_instructions(self, row: Row) -> String {
        let spelled = |ptx: &str| instruction(Some(self), ptx);
        self.words(row)
            .replace("{fence}", &spelled("fence.proxy.async"))
            .replace("{wait}", &spelled("griddepcontrol.wait"))
    }

    fn with_scope(self, row: Row, scope: Scope) -> String {
        self.words(row).replace("{scope}", self.scope(scope))
    }
}

/// Whether a Python source imports Triton: Numba, CuTe DSL and TileLang have other constructs. An unreadable file does
/// not count.
fn imports_triton(file: &Path) -> bool {
    let is_import = |line: &str| {
        let mut words = line.split(|c: char| c.is_whitespace() || matches!(c, '.' | ','));
        matches!(words.next(), Some("import" | "from")) && words.next() == Some("triton")
    };
    fs::read_to_string(file).is_ok_and(|text| text.lines().any(|line| is_import(line.trim_start())))
}

/// PTX instructions with a CUDA function, in its runtime or in libcu++.
const CUDA_FUNCTIONS: [(&str, &str); 4] = [
    ("griddepcontrol.wait", "cudaGridDependencySynchronize();"),
    ("fence.proxy.async", "cuda::ptx::fence_proxy_async();"),
    ("fence.proxy.async.global", "cuda::ptx::fence_proxy_async(cuda::ptx::space_global);"),
    ("fence.proxy.async.shared::cta", "cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);"),
];

/// The text for an inserted PTX instruction.
pub fn instruction(language: Option<SourceLanguage>, ptx: &str) -> String {
    let Some(language) = language else { return ptx.to_owned() };
    let function = CUDA_FUNCTIONS.iter().find(|(own, _)| *own == ptx && language == SourceLanguage::Cuda);
    match (language, ptx, function) {
        (_, _, Some((_, function))) => format!("`{function}`"),
        (SourceLanguage::Triton, "griddepcontrol.wait", _) => "`tl.extra.cuda.gdc_wait()`".to_owned(),
        _ => language.words(Row::Instruction).replace("{ptx}", ptx),
    }
}

/// The text for the remedy of an execution.
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
        Remedy::PlainLoad => language.words(Row::PlainLoad).to_owned(),
        Remedy::ProxyFenceOfReader => language.with_instructions(Row::ProxyFenceOfReader),
        Remedy::ProxyFence => language.with_instructions(Row::ProxyFence),
        Remedy::TensorMapFence => language.words(Row::TensorMapFence).to_owned(),
        Remedy::GridWait => language.with_instructions(Row::GridWait),
        Remedy::GridWaits => language.with_instructions(Row::GridWaits),
        Remedy::Words(words) => words.clone(),
    }
}

/// The text for a change that a proof has confirmed, at a place.
pub fn change(language: Option<SourceLanguage>, change: &Change, place: &str) -> String {
    let Some(language) = language else {
        return change.words(place, |instruction| mnemonic(instruction).to_owned());
    };
    match change {
        Change::Barrier(_) => format!("add {} before {place}", language.words(Row::Barrier)),
        Change::InPlace { sem, scope, .. } => {
            let words = language.with_scope(Row::Ordering, *scope).replace("{sem}", language.sem(*sem));
            format!("use {words} at {place}")
        }
    }
}

/// The instruction of a line without its predicate and its operands.
fn mnemonic(instruction: &str) -> &str {
    instruction.split_whitespace().find(|word| !word.starts_with('@')).unwrap_or(instruction)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fences_waits_and_loads() {
        let check = |remedy: Remedy, [cuda, rust, triton, ptx]: [&str; 4]| {
            let languages =
                [Some(SourceLanguage::Cuda), Some(SourceLanguage::Rust), Some(SourceLanguage::Triton), None];
            for (language, words) in languages.into_iter().zip([cuda, rust, triton, ptx]) {
                let found = executed(language, &remedy);
                assert!(found.starts_with(words), "{language:?}: {found}");
            }
        };
        check(
            Remedy::ProxyFence,
            [
                "add `cuda::ptx::fence_proxy_async();` in the thread",
                "add `asm!(\"fence.proxy.async;\");` in the thread",
                "add `fence.proxy.async` of the PTX, which Triton chooses, after the first access",
                "add `fence.proxy.async` in the thread",
            ],
        );
        check(
            Remedy::GridWait,
            [
                "add `cudaGridDependencySynchronize();` before the access",
                "add `asm!(\"griddepcontrol.wait;\");` before the access",
                "add `tl.extra.cuda.gdc_wait()` before the access",
                "add `griddepcontrol.wait` ",
            ],
        );
        check(
            Remedy::PlainLoad,
            [
                "use a plain load instead of `__ldg`",
                "use a load through a raw pointer",
                "use a load without `.nc`",
                "use a load without `.nc`",
            ],
        );
        check(
            Remedy::TensorMapFence,
            [
                "use `cuda::ptx::fence_proxy_tensormap_generic`",
                "use `fence.proxy.tensormap::generic.release` by `asm!`",
                "use `fence.proxy.tensormap::generic` of the PTX, which Triton chooses,",
                "add `fence.proxy.tensormap::generic.acquire`",
            ],
        );
        let fence = "fence.proxy.async.shared::cta";
        let words = "`cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);`";
        assert_eq!(instruction(Some(SourceLanguage::Cuda), fence), words);
        assert_eq!(instruction(None, fence), fence);
    }

    /// A Python file is Triton only if it imports Triton.
    #[test]
    fn languages_of_sources() {
        let folder = tempfile::tempdir().expect("a folder");
        let of = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).expect("a file");
            SourceLanguage::from_file_name(&path.to_string_lossy())
        };
        assert_eq!(of("k.cu", ""), Some(SourceLanguage::Cuda));
        for text in ["import triton", "import triton.language as tl", "if x:\n  from triton.experimental import gluon"]
        {
            assert_eq!(of("k.py", text), Some(SourceLanguage::Triton), "{text}");
        }
        for text in [
            "from numba import cuda",
            "import tilelang",
            "import cutlass.cute as cute",
            "# import triton",
            "import tritonclient",
        ] {
            assert_eq!(of("k.py", text), None, "{text}");
        }
        assert_eq!(SourceLanguage::from_file_name("/nowhere/k.py"), None);
    }
}
