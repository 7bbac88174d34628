//! OpenMP: MLIR's translation turns `omp.atomic.*` with its ordering into atomics of LLVM IR, and the plugin lowers
//! these.

use std::fs;

use libtest_mimic::{Failed, Trial};

use testing::{llvm_version, ptx_atomics, success};

/// An op in a function with `%p`, `%q` and `%v`, and the instructions of its lowering.
const OPS: [(&str, &[&str]); 7] = [
    ("omp.atomic.read %q = %p : !llvm.ptr, !llvm.ptr, i32", &["ld.relaxed.sys.b32"]),
    (
        "omp.atomic.read %q = %p memory_order(acquire) : !llvm.ptr, !llvm.ptr, i32",
        &["ld.acquire.sys.b32", "__kmpc_flush"],
    ),
    ("omp.atomic.write %p = %v memory_order(relaxed) : !llvm.ptr, i32", &["st.relaxed.sys.b32"]),
    ("omp.atomic.write %p = %v memory_order(release) : !llvm.ptr, i32", &["st.release.sys.b32", "__kmpc_flush"]),
    (
        "omp.atomic.update memory_order(relaxed) %p : !llvm.ptr {\n^bb0(%x: i32):\nBODY\n}",
        &["atom.relaxed.sys.add.u32"],
    ),
    (
        "omp.atomic.update memory_order(seq_cst) %p : !llvm.ptr {\n^bb0(%x: i32):\nBODY\n}",
        &["fence.sc.sys;", "atom.acquire.sys.add.u32", "__kmpc_flush"],
    ),
    (
        "omp.atomic.capture memory_order(acq_rel) {\nomp.atomic.read %q = %p : !llvm.ptr, !llvm.ptr, i32\n\
         omp.atomic.update %p : !llvm.ptr {\n^bb0(%x: i32):\nBODY\n}\n}",
        &["atom.acq_rel.sys.add.u32", "__kmpc_flush"],
    ),
];

/// The ops that MLIR has since version 23.
const SINCE_23: [(&str, &[&str]); 1] = [(
    "omp.atomic.compare memory_order(acq_rel) %p : !llvm.ptr {\n^bb0(%x: i32):\n%c = llvm.icmp \"eq\" %x, %v : i32\n\
     %n = llvm.select %c, %v, %x : i1, i32\nomp.yield(%n : i32)\n}",
    &["atom.acq_rel.sys.cas.b32", "__kmpc_flush"],
)];

const BODY: &str = "%n = llvm.add %x, %v : i32\nomp.yield(%n : i32)";

pub fn trials() -> Vec<Trial> {
    OPS.into_iter()
        .chain(SINCE_23.into_iter().filter(|_| llvm_version() >= 23))
        .map(|(op, ptx)| {
            let name = op.split(['%', '{']).next().unwrap_or_default().trim();
            Trial::test(format!("omp: {name} becomes {}", ptx.join(" ")), move || check(op, ptx))
        })
        .collect()
}

fn check(op: &str, ptx: &[&str]) -> Result<(), Failed> {
    let op = op.replace("BODY", BODY);
    let text = format!("llvm.func @f(%p: !llvm.ptr, %q: !llvm.ptr, %v: i32) {{\n{op}\nllvm.return\n}}\n");
    let file = tempfile::Builder::new().suffix(".mlir").tempfile()?;
    fs::write(file.path(), text)?;
    let lower =
        |more: &[&str]| success(ptx_atomics().arg("lower").arg(file.path()).args(["--mcpu", "sm_90"]).args(more));
    let found = lower(&[])?;
    let starts = ["ld.", "st.", "atom.", "red.", "fence.", "call"];
    let ordered = ["relaxed", "acquire", "release", "acq_rel", "sc", "call"];
    let instruction = |line: &&str| {
        let line = line.trim();
        starts.iter().any(|start| line.starts_with(start)) && ordered.iter().any(|word| line.contains(word))
    };
    let lines: Vec<_> = found.lines().filter(instruction).collect();
    assert_eq!(lines.len(), ptx.len(), "{found}");
    for (line, expected) in lines.iter().zip(ptx) {
        assert!(line.contains(expected), "{expected} is not {line}");
    }
    // The pass in MLIR leaves the op to the translation.
    let name = op.split(' ').next().unwrap_or_default();
    assert!(lower(&["--emit", "mlir"])?.contains(name));
    Ok(())
}
