//! The ops that the lowering leaves to the NVVM dialect. Each file of `nvvm/` has an op in all its forms, and its first
//! line names the lowest target that has them. The PTX for that target assembles, and a lower target gives an error at
//! the line of each op. If only one version of MLIR has an op, the second line names the version.

use std::{
    fs,
    path::{Path, PathBuf},
};

use itertools::Itertools;
use libtest_mimic::{Failed, Trial};

use testing::{ASSEMBLERS, llvm_version, ptx_atomics, root, success};

pub fn trials() -> Vec<Trial> {
    let files =
        fs::read_dir(root().join("tests/mlir/nvvm")).expect("the files").map(|entry| entry.expect("one").path());
    let files = files.sorted().map(|path| {
        let name = format!("kept/{}", path.file_stem().expect("a name").to_string_lossy());
        let missing = other_llvm(&fs::read_to_string(&path).expect("an input"));
        testing::trial(name, missing.or(ASSEMBLERS.iter().find_map(|one| one.missing())), move || check(&path))
    });
    let measured = testing::shared_trial("kept/as measured", "reference/async/mlir22-nvvm-ops.csv", as_measured);
    let measured = if llvm_version() == 22 { measured } else { measured.with_ignored_flag(true) };
    files.chain([Trial::test("kept/no access passes an op without a clobber", clobbers), measured]).collect()
}

/// Each line of the file has an op, a GPU, and the result of LLVM 22. If LLVM's backend aborts, our lowering must
/// report an error at the op.
fn as_measured(csv: &Path) -> Result<(), Failed> {
    let text = fs::read_to_string(csv)?;
    // Messages may contain commas.
    let rows = text.lines().filter_map(|line| line.splitn(5, ',').collect_tuple::<(_, _, _, _, _)>());
    let aborts: Vec<_> = rows.filter(|(.., llc)| llc.starts_with("abort")).collect();
    assert!(aborts.len() > 30, "{}", aborts.len());
    for (name, sm, ..) in aborts {
        let path = root().join(format!("tests/mlir/nvvm/{name}.mlir"));
        for emit in ["ptx", "mlir"] {
            let output = lower(&path, sm, "ptx90").args(["--emit", emit]).output()?;
            let said = String::from_utf8(output.stderr)?;
            assert!(
                said.contains(" requires ") && said.contains(&format!("--> {}:", path.display())),
                "{name}: {said}"
            );
            assert!(output.status.code() == Some(1) && !said.contains("LLVM has no"), "{name}: {said}");
        }
    }
    Ok(())
}

fn check(path: &PathBuf) -> Result<(), Failed> {
    let text = fs::read_to_string(path)?;
    let (sm, ptx) = target_of(&text).ok_or("no target")?;
    let target = testing::target(sm, Some(ptx));
    let ptx_text = success(lower(path, sm, ptx).arg("-o").arg("-"))?;
    let mut known = ASSEMBLERS.iter().filter(|assembler| assembler.knows(&target));
    known.try_for_each(|assembler| assembler.assemble(&target, ptx_text.as_bytes()))?;

    // sm_75 has PTX versions from 6.3 on, and none of the features of later GPUs.
    if target.sm.number() <= 75 {
        return Ok(());
    }
    let functions = text.matches("llvm.func").count();
    for emit in ["ptx", "mlir"] {
        let output = lower(path, "sm_75", ptx).args(["--emit", emit]).output()?;
        let said = String::from_utf8(output.stderr)?;
        assert_eq!(output.status.code(), Some(1), "{said}");
        assert!(output.stdout.is_empty() && said.contains(" requires "), "{said}");
        let places = said.matches(&format!("--> {}:", path.display())).count();
        assert!(places >= functions, "{places} errors in {functions} functions:\n{said}");
    }
    Ok(())
}

/// The GPU and the PTX version in a file's first line.
pub fn target_of(text: &str) -> Option<(&str, &str)> {
    text.lines().next()?.strip_prefix("// TARGET: ")?.split_once(' ')
}

/// The LLVM version that an input requires, if it differs from the version under test.
pub fn other_llvm(text: &str) -> Option<&'static str> {
    let only = text.lines().find_map(|line| line.strip_prefix("// LLVM: "))?;
    (only != llvm_version().to_string()).then(|| &*format!("MLIR {only}").leak())
}

fn lower(path: &Path, sm: &str, ptx: &str) -> std::process::Command {
    let mut command = ptx_atomics();
    command.arg("lower").arg(path).args(["--mcpu", sm, "--mattr", &format!("+{ptx}")]);
    command
}

/// Stores and loads of the same memory remain on both sides of ops whose effects LLVM underestimates.
fn clobbers() -> Result<(), Failed> {
    const OPS: [&str; 5] = [
        "nvvm.mbarrier.try_wait.parity %p, %n, %n : !llvm.ptr<3>, i32, i32",
        "nvvm.barrier.arrive number_of_threads = %n",
        "nvvm.fence.proxy.acquire #nvvm.mem_scope<gpu> %g, %size",
        "nvvm.inline_ptx \"fence.acq_rel.gpu;\"",
        "nvvm.inline_ptx \"membar.gl;\"",
    ];
    for op in OPS {
        let text = format!(
            "llvm.func @f(%p: !llvm.ptr<3>, %d: !llvm.ptr<1>, %g: !llvm.ptr {{llvm.noalias}}, %n: i32) -> i32 {{
               %size = llvm.mlir.constant(128 : i32) : i32
               llvm.store %n, %d : i32, !llvm.ptr<1>
               %before = llvm.load %d {{alignment = 4 : i64}} : !llvm.ptr<1> -> i32
               {op}
               %after = llvm.load %d : !llvm.ptr<1> -> i32
               %zero = llvm.mlir.constant(0 : i32) : i32
               llvm.store %zero, %d : i32, !llvm.ptr<1>
               %sum = llvm.add %before, %after : i32
               llvm.return %sum : i32
             }}"
        );
        let file = tempfile::Builder::new().suffix(".mlir").tempfile()?;
        fs::write(file.path(), text)?;
        let ptx = success(lower(file.path(), "sm_90", "ptx83").arg("-O3"))?;
        let count = |instruction: &str| ptx.matches(instruction).count();
        assert_eq!((count("st.global.b32"), count("ld.global.b32")), (2, 1), "{op}\n{ptx}");
    }
    Ok(())
}
