//! Remedies in the words of the language of a source: PTX for PTX, and a table for the languages that PTX is compiled from.

use std::{fs, path::Path};

use ptx_execute::Remedy;
use ptx_isa::{Scope, Sem};
use ptx_races::remedy::Change;

/// A language with words for order between threads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceLanguage {
    /// CUDA C++.
    Cuda,
    /// Rust.
    Rust,
    /// Python with Triton.
    Triton,
}

/// The endings of the names of sources. A Python source is of Triton only if it imports Triton.
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
    /// A load of memory that the kernel writes, through the cache of read-only memory.
    PlainLoad,
    /// A fence of the asynchronous proxy by the thread that reads first.
    ProxyFenceOfReader,
    /// The same by the thread that writes first.
    ProxyFence,
    /// A fence of a tensor map that was changed, before its use.
    TensorMapFence,
    /// A wait for the grids before this one.
    GridWait,
    /// The same in the grid in between, too.
    GridWaits,
}

impl SourceLanguage {
    /// The language of the source of this name; nothing for PTX, LLVM IR, and languages without a column.
    pub fn of(file: &str) -> Option<Self> {
        let ending = Path::new(file).extension()?.to_str()?;
        let (_, language) = ENDINGS.iter().find(|(known, _)| *known == ending)?;
        (*language != Self::Triton || imports_triton(Path::new(file))).then_some(*language)
    }

    /// The table of the words for each remedy. `{scope}`, `{found}`, `{sem}` and `{ptx}` stand for words of the finding, `{fence}`
    /// and `{wait}` for instructions.
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
            Row::PlainLoad => [
                "a plain load instead of `__ldg` or of a load through `const __restrict__`, which are for memory that the kernel does not write",
                "a load through a raw pointer, or `asm!(\"ld.global…\")` without `.nc`, which is for memory that the kernel does not write",
                "a load without `.nc` in the PTX, which Triton chooses, for memory that the kernel writes",
            ],
            Row::ProxyFenceOfReader => [
                "{fence} of the thread that reads, after the read, and `__syncthreads()` after it; most GPUs need no fence where there is a barrier",
                "{fence} of the thread that reads, after the read, and `_syncthreads()` after it; most GPUs need no fence where there is a barrier",
                "{fence} after the read, and `tl.debug_barrier()` after it; most GPUs need no fence where there is a barrier",
            ],
            Row::ProxyFence => [
                "{fence} of the thread that accesses it first, and `__syncthreads()` after it",
                "{fence} of the thread that accesses it first, and `_syncthreads()` after it",
                "{fence} after the first access, and `tl.debug_barrier()` after it",
            ],
            Row::TensorMapFence => [
                "`cuda::ptx::fence_proxy_tensormap_generic` with `cuda::ptx::sem_release` after the write of the map, and with `cuda::ptx::sem_acquire` before its use",
                "`fence.proxy.tensormap::generic.release` by `asm!` after the write of the map, and `.acquire` before its use",
                "`fence.proxy.tensormap::generic` of the PTX, which Triton chooses, with `.release` after the write of the map and `.acquire` before its use",
            ],
            Row::GridWait => [
                "{wait} before the access, by its thread or by a thread that a barrier orders before it",
                "{wait} before the access, by its thread or by a thread that a barrier orders before it",
                "{wait} before the access",
            ],
            Row::GridWaits => [
                "{wait} before the access, and in the grid in between, which has not waited either",
                "{wait} before the access, and in the grid in between, which has not waited either",
                "{wait} before the access, and in the grid in between, which has not waited either",
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

/// Whether a Python source imports Triton: Numba, CuTe DSL and TileLang have other words. A file that cannot be read does not.
fn imports_triton(file: &Path) -> bool {
    let is_import = |line: &str| {
        let mut words = line.split(|c: char| c.is_whitespace() || matches!(c, '.' | ','));
        matches!(words.next(), Some("import" | "from")) && words.next() == Some("triton")
    };
    fs::read_to_string(file).is_ok_and(|text| text.lines().any(|line| is_import(line.trim_start())))
}

/// Instructions of PTX for which CUDA has a function, of its runtime or of libcu++.
const CUDA_FUNCTIONS: [(&str, &str); 4] = [
    ("griddepcontrol.wait", "cudaGridDependencySynchronize();"),
    ("fence.proxy.async", "cuda::ptx::fence_proxy_async();"),
    ("fence.proxy.async.global", "cuda::ptx::fence_proxy_async(cuda::ptx::space_global);"),
    ("fence.proxy.async.shared::cta", "cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);"),
];

/// An instruction of PTX to be inserted.
pub fn instruction(language: Option<SourceLanguage>, ptx: &str) -> String {
    let Some(language) = language else { return ptx.to_owned() };
    let function = CUDA_FUNCTIONS.iter().find(|(own, _)| *own == ptx && language == SourceLanguage::Cuda);
    match (language, ptx, function) {
        (_, _, Some((_, function))) => format!("`{function}`"),
        (SourceLanguage::Triton, "griddepcontrol.wait", _) => "`tl.extra.cuda.gdc_wait()`".to_owned(),
        _ => language.words(Row::Instruction).replace("{ptx}", ptx),
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
        Remedy::PlainLoad => language.words(Row::PlainLoad).to_owned(),
        Remedy::ProxyFenceOfReader => language.with_instructions(Row::ProxyFenceOfReader),
        Remedy::ProxyFence => language.with_instructions(Row::ProxyFence),
        Remedy::TensorMapFence => language.words(Row::TensorMapFence).to_owned(),
        Remedy::GridWait => language.with_instructions(Row::GridWait),
        Remedy::GridWaits => language.with_instructions(Row::GridWaits),
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
                "`cuda::ptx::fence_proxy_async();` of the thread",
                "`asm!(\"fence.proxy.async;\");` of the thread",
                "`fence.proxy.async` of the PTX, which Triton chooses, after the first access",
                "a `fence.proxy.async` of the thread",
            ],
        );
        check(
            Remedy::GridWait,
            [
                "`cudaGridDependencySynchronize();` before the access",
                "`asm!(\"griddepcontrol.wait;\");` before the access",
                "`tl.extra.cuda.gdc_wait()` before the access",
                "`griddepcontrol.wait` ",
            ],
        );
        check(
            Remedy::PlainLoad,
            [
                "a plain load instead of `__ldg`",
                "a load through a raw pointer",
                "a load without `.nc`",
                "a load without `.nc`",
            ],
        );
        check(
            Remedy::TensorMapFence,
            [
                "`cuda::ptx::fence_proxy_tensormap_generic`",
                "`fence.proxy.tensormap::generic.release` by `asm!`",
                "`fence.proxy.tensormap::generic` of the PTX, which Triton chooses,",
                "`fence.proxy.tensormap::generic.acquire`",
            ],
        );
        let fence = "fence.proxy.async.shared::cta";
        let words = "`cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);`";
        assert_eq!(instruction(Some(SourceLanguage::Cuda), fence), words);
        assert_eq!(instruction(None, fence), fence);
    }

    /// Python is Triton only where it says so.
    #[test]
    fn languages_of_sources() {
        let folder = tempfile::tempdir().expect("a folder");
        let of = |name: &str, text: &str| {
            let path = folder.path().join(name);
            fs::write(&path, text).expect("a file");
            SourceLanguage::of(&path.to_string_lossy())
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
        assert_eq!(SourceLanguage::of("/nowhere/k.py"), None);
    }
}
