//! The versions of LLVM and MLIR for which the crates of ptx-atomics are built, and the folders in which their build
//! scripts find them.
//!
//! Each crate that needs LLVM has the features `llvm22` and `llvm23`, and passes them on to this crate. The module
//! `version` of such a crate contains the differences between the versions.

#[cfg(feature = "plugin")]
pub mod plugin;

use std::{env, ffi::OsString, fmt, path::PathBuf, process::Command};

#[cfg(all(feature = "llvm22", feature = "llvm23"))]
compile_error!(
    "ptx-atomics is built for one LLVM: `llvm22`, a default feature, and `llvm23` are both on; use `default-features = false` \
     with `llvm23`"
);
#[cfg(not(any(feature = "llvm22", feature = "llvm23")))]
compile_error!("ptx-atomics is built for one LLVM: turn one of the features `llvm22` and `llvm23` on");

/// All versions for which there is a feature.
pub const ALL: [u32; 2] = [22, 23];

/// The major version.
pub const MAJOR: u32 = if cfg!(feature = "llvm23") { 23 } else { 22 };

/// The environment variable with the folder of LLVM, the same as for llvm-sys.
pub const LLVM_PREFIX: &str = if cfg!(feature = "llvm23") { "LLVM_SYS_231_PREFIX" } else { "LLVM_SYS_221_PREFIX" };

/// The environment variable with the folder of MLIR, the same as for mlir-sys.
pub const MLIR_PREFIX: &str = if cfg!(feature = "llvm23") { "MLIR_SYS_230_PREFIX" } else { "MLIR_SYS_220_PREFIX" };

/// A program `llvm-config`.
pub struct Config {
    /// The folder of the installation, if an environment variable names it.
    prefix: Option<PathBuf>,
    program: OsString,
}

/// An error if `llvm-config` cannot be started, or fails.
#[derive(Debug)]
pub struct Error(String);

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for Error {}

impl Config {
    /// The `llvm-config` of LLVM: in the folder of [`LLVM_PREFIX`], or else in `PATH` with the version as suffix of its
    /// name. For build scripts, which run again when the variable changes.
    pub fn llvm() -> Self {
        Self::below(LLVM_PREFIX, &format!("llvm-config-{MAJOR}"))
    }

    /// The `llvm-config` of MLIR: in the folder of [`MLIR_PREFIX`], or else in `PATH`.
    pub fn mlir() -> Self {
        Self::below(MLIR_PREFIX, "llvm-config")
    }

    fn below(variable: &str, otherwise: &str) -> Self {
        println!("cargo:rerun-if-env-changed={variable}");
        let prefix = env::var_os(variable).map(PathBuf::from);
        let program = prefix.as_ref().map_or_else(|| otherwise.into(), |prefix| prefix.join("bin/llvm-config").into());
        Self { prefix, program }
    }

    /// The folder of the headers. The function does not call `llvm-config` if the folder of the installation has
    /// headers, because the program may not run here, for example if it belongs to a newer distribution.
    pub fn headers(&self) -> Result<String, Error> {
        let below = self.prefix.as_ref().map(|prefix| prefix.join("include")).filter(|folder| folder.exists());
        below.map_or_else(|| self.ask(&["--includedir"]), |folder| Ok(folder.display().to_string()))
    }

    /// The output of the program, without surrounding whitespace.
    pub fn ask(&self, arguments: &[&str]) -> Result<String, Error> {
        let output = Command::new(&self.program).args(arguments).output().map_err(|error| {
            Error(format!("{}: {error}; set {LLVM_PREFIX} to an LLVM {MAJOR}", self.program.display()))
        })?;
        if !output.status.success() {
            return Err(Error(String::from_utf8_lossy(&output.stderr).into()));
        }
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    }
}
