//! The plugins: the plugin for LLVM as users get it, and the plugin for mlir-opt.

use std::{
    path::{Path, PathBuf},
    process::Command,
    sync::LazyLock,
};

use crate::{binary, features, root, runs_all, success};

/// The file of the plugin for LLVM. The first call builds it: in the profile of the tests, in which cargo may have built
/// it already, or with `scripts/test --all` in the release profile.
pub fn plugin() -> &'static Path {
    static PLUGIN: LazyLock<PathBuf> = LazyLock::new(|| {
        let (arguments, file): (&[&str], _) = match is_release_plugin() {
            true => (&["build", "--release", "--package", "ptx-atomics-plugin"], "release/libptx_atomics.so"),
            false => (&["build", "--workspace", "--examples"], "debug/examples/libptx_atomics.so"),
        };
        let target = binary().ancestors().nth(2).expect("a folder");
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(arguments).args(["--quiet", "--target-dir"]).arg(target).args(features()).current_dir(root());
        if let Err(error) = success(&mut cargo) {
            panic!("the plugin does not build: {}", error.message().unwrap_or_default());
        }
        target.join(file)
    });
    &PLUGIN
}

/// Whether [`plugin`] has the release profile.
pub fn is_release_plugin() -> bool {
    runs_all()
}

/// The argument with which a compiler of `scripts/to-llvm-ir` loads the plugin.
pub fn flag(source: &Path) -> String {
    let rust = source.extension().is_some_and(|suffix| suffix == "rs");
    format!("{}={}", if rust { "-Zllvm-plugins" } else { "-fpass-plugin" }, plugin().display())
}

/// The plugin for mlir-opt, in the profile of the tests, with assertions. The tests of the command depend on it.
pub fn mlir_plugin() -> PathBuf {
    binary().with_file_name("deps").join("libptx_atomics_mlir.so")
}
