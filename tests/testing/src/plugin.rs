//! The plugins: that of LLVM as users get it.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::OnceLock,
};

use crate::{binary, features, root, success};

/// The file that [`build`] made.
pub fn plugin() -> &'static Path {
    static PLUGIN: OnceLock<PathBuf> = OnceLock::new();
    PLUGIN.get_or_init(|| {
        let debug = binary().parent().expect("a folder");
        debug.with_file_name("release").join("libptx_atomics.so")
    })
}

/// Builds it, or ends the tests.
pub fn build() {
    let arguments = ["build", "--release", "--quiet", "--package", "ptx-atomics-plugin", "--target-dir"];
    let target = plugin().ancestors().nth(2).expect("a folder");
    let built = success(Command::new(env!("CARGO")).args(arguments).arg(target).args(features()).current_dir(root()));
    if let Err(error) = built {
        eprintln!("error: the plugin does not build: {}", error.message().unwrap_or_default());
        std::process::exit(1);
    }
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
