//! `scripts/corpus`, on the examples.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Output},
};

use libtest_mimic::{Failed, Trial};
use testing::{binary, left_to_all, llvm_version, plugin::plugin, root, trial};

use crate::plugin::hosts::Host;

pub fn trials() -> Vec<Trial> {
    let tools = [
        (".tools/ptxas-13.5", "ptxas 13.5"),
        (".tools/nvdisasm-13.5", "nvdisasm"),
        (".tools/cuda-12.9/sdk", "CUDA's headers"),
    ];
    let missing = tools.into_iter().find_map(|(path, name)| (!root().join(path).exists()).then_some(name));
    let missing = Host::Clang.missing().or(missing);
    vec![
        left_to_all(trial("scripts/corpus finds the losses of the examples".into(), missing, examples)),
        trial("scripts/corpus reports every lost file".into(), missing, lost),
    ]
}

fn corpus(command: &Path) -> Result<Output, Failed> {
    let mut script = Command::new(root().join("scripts/corpus"));
    script.args(["--llvm", &llvm_version().to_string()]).arg("--command").arg(command);
    script.arg("--plugin").arg(plugin()).arg(root().join("examples/cuda"));
    Ok(script.output()?)
}

/// With clang 22, each example loses an operation, except the example with CUDA's own atomics; our code is correct.
/// After the plugin, llc finds no marker in the IR.
fn examples() -> Result<(), Failed> {
    let output = corpus(binary())?;
    let said = String::from_utf8(output.stdout)?;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{said}{errors}");
    let version = llvm_version();
    let files = format!("5 files mention atomics; clang {version} compiles 5; the IR of 5 has atomics.");
    assert!(said.contains(&files), "{said}");
    let right = if version == 22 { 1 } else { 5 };
    let llc = format!("llc {version}");
    for (compiler, right) in [("clang + plugin", 5), ("ptx-atomics lower", 5), ("clang", right), (&llc, right)] {
        assert!(said.contains(&format!("| {compiler} | 5 | 5 | {right} | 0 |")), "{said}");
    }
    assert!(said.ends_with("5 files compared, 0 failures\n"), "{said}");
    Ok(())
}

/// If the checker reports every operation as lost, the script reports every file.
fn lost() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let command = folder.path().join("ptx-atomics");
    let text = format!(
        "#!/bin/sh\n[ \"$1\" = check ] || exec '{}' \"$@\"\n\
         echo 'error: ordering lost' >&2\necho '1 atomics and fences: 0 kept, 1 not, 0 not checked' >&2\nexit 1\n",
        binary().display()
    );
    fs::write(&command, text)?;
    fs::set_permissions(&command, fs::Permissions::from_mode(0o755))?;
    let output = corpus(&command)?;
    let said = String::from_utf8(output.stdout)?;
    assert_eq!(output.status.code(), Some(1), "{said}");
    assert!(said.contains("histogram.cu: clang + plugin: error: ordering lost;"), "{said}");
    assert!(said.ends_with("5 files compared, 5 failures\n"), "{said}");
    Ok(())
}
