//! The bugs in LLVM's own selection, by issue. Our lowering gives a correct sequence for each operation on every
//! version of LLVM.

use std::fs;

use libtest_mimic::{Failed, Trial};
use testing::{ptx_atomics, success};

/// The issue, the operation, the GPU, and the instructions that access and order.
const CASES: [(&str, &str, &str, &str); 7] = [
    // LLVM reports an error on sm_52 for an operation with GPU scope.
    ("llvm#224420", "atomicrmw add ptr %p, i32 1 monotonic", "sm_52", "atom.add.u32"),
    ("llvm#224420", "atomicrmw add ptr %p, i32 1 seq_cst", "sm_52", "membar.gl atom.add.u32 membar.gl"),
    // LLVM emits a loop around a compare and exchange, with fences around it.
    ("cuda-oxide#1234", "atomicrmw fadd ptr %p, float 1.0 monotonic", "sm_70", "atom.relaxed.gpu.add.f32"),
    // ptxas makes a loop without an ordering of this operation if it may be in shared memory, so fences carry the
    // ordering.
    (
        "cuda-oxide#1234",
        "atomicrmw fadd ptr %p, float 1.0 acq_rel",
        "sm_90",
        "fence.acq_rel.gpu atom.relaxed.gpu.add.f32 fence.acq_rel.gpu",
    ),
    // A release that the fence before the store already has.
    ("llvm#201468", "store atomic i32 1, ptr %p seq_cst, align 4", "sm_90", "fence.sc.gpu st.relaxed.gpu.b32"),
    // LLVM emits a loop before sm_32, which lacks only the 64-bit maximum and not the sum.
    ("llvm#222471", "atomicrmw add ptr %p, i64 1 monotonic", "sm_30", "atom.add.u64"),
    ("llvm#222449", "load atomic i32, ptr %p acquire, align 4", "sm_60", "ld.volatile.b32 membar.gl"),
];

pub fn trials() -> Vec<Trial> {
    let trials = CASES.map(|case @ (issue, operation, gpu, _)| {
        Trial::test(format!("{issue}: {operation} for {gpu}"), move || check(case))
    });
    trials.into()
}

fn check((_, operation, gpu, expected): (&str, &str, &str, &str)) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("input.ll");
    let result = if operation.starts_with("store") { "" } else { "%a = " };
    fs::write(
        &path,
        format!(
            "target triple = \"nvptx64-nvidia-cuda\"\ndefine void @f(ptr %p) {{\n  {result}{operation}\n  ret void\n}}\n"
        ),
    )?;
    let text = success(ptx_atomics().args(["lower", "--mcpu", gpu, "--default-scope", "gpu"]).arg(&path))?;
    let mnemonics = text.lines().filter_map(|line| line.split_whitespace().find(|word| !word.starts_with('@')));
    let is_one = |word: &&str| {
        let of_memory = ["atom.", "red.", "fence.", "membar.", "ld.", "st.", "bra"];
        of_memory.iter().any(|begin| word.starts_with(begin)) && !word.contains(".param")
    };
    let found = mnemonics
        .map(|word| word.trim_end_matches(';'))
        .filter(is_one)
        .map(|word| word.replace("red.", "atom."))
        .collect::<Vec<_>>()
        .join(" ");
    if found == expected { Ok(()) } else { Err(format!("{found}, and not {expected}\n{text}").into()) }
}
