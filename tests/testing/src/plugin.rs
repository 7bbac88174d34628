//! The plugins: that of LLVM as users get it.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

use crate::{binary, features, root, success};

/// The file of the plugin for LLVM. The first call builds it.
pub fn plugin() -> &'static Path {
    static PLUGIN: LazyLock<PathBuf> = LazyLock::new(|| {
        let arguments = ["build", "--release", "--quiet", "--package", "ptx-atomics-plugin", "--target-dir"];
        let target = binary().ancestors().nth(2).expect("a folder");
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(arguments).arg(target).args(features()).current_dir(root());
        if let Err(error) = success(&mut cargo) {
            panic!("the plugin does not build: {}", error.message().unwrap_or_default());
        }
        target.join("release/libptx_atomics.so")
    });
    &PLUGIN
}

/// The argument by which a compiler of `scripts/to-llvm-ir` loads it.
pub fn flag(source: &Path) -> String {
    let rust = source.extension().is_some_and(|suffix| suffix == "rs");
    format!("{}={}", if rust { "-Zllvm-plugins" } else { "-fpass-plugin" }, plugin().display())
}

/// The plugin for mlir-opt, in the profile of the tests, whose checks of itself are on. The tests of the command depend on it.
pub fn mlir_plugin() -> PathBuf {
    binary().with_file_name("deps").join("libptx_atomics_mlir.so")
}
