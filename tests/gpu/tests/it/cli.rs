//! The command on a machine without a GPU.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use ptx_atomics_gpu::kernel::KERNELS;

/// Runs the command with all GPUs hidden.
fn run(arguments: &[&Path]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_ptx-atomics-gpu"));
    command.env("CUDA_VISIBLE_DEVICES", "-1").args(arguments).output().expect("the command")
}

fn check(arguments: &[&Path], status: i32, expected: &str) {
    let output = run(arguments);
    let said = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
    assert!(said.contains(expected), "{said}");
    assert_eq!(output.status.code(), Some(status), "{said}");
}

/// A folder with modules for these kernels.
fn folder(kernels: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    let compiler = folder.path().join("ours");
    fs::create_dir(&compiler).expect("a folder");
    let text: String = kernels.iter().map(|kernel| format!(".visible .entry {kernel}(\n)\n")).collect();
    fs::write(compiler.join("all.ptx"), text).expect("written");
    folder
}

#[test]
fn without_a_gpu_the_check_is_skipped() {
    check(&[folder(&KERNELS.map(|kernel| kernel.name)).path()], 0, "skipped: no ");
}

#[test]
fn wrong_usage() {
    check(&[], 2, "Usage:");
    check(&["--nonsense".as_ref(), "x".as_ref()], 2, "Usage:");
    check(&["--kernel".as_ref(), "unknown".as_ref(), "x".as_ref()], 2, "no such kernel");
    check(&["/nowhere".as_ref()], 2, "/nowhere: No such file");
    check(&[folder(&["scan", "ring"]).path()], 2, "has PTX with the kernel 'histogram'");
}
