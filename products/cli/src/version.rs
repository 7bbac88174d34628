//! The text of `--version`.

/// The version of this program, and the versions of its components.
#[cfg(not(feature = "llvm"))]
pub fn long_version() -> String {
    format!("{}\nwithout LLVM", env!("CARGO_PKG_VERSION"))
}

/// The version of this program, and the versions of its components.
#[cfg(feature = "llvm")]
pub fn long_version() -> String {
    let (major, minor, patch) = ptx_atomics::llvm::inkwell::support::get_llvm_version();
    let llvm = format!("{major}.{minor}.{patch}");
    #[cfg(feature = "mlir")]
    let mlir = format!("\nMLIR {}", ptx_atomics::MLIR_VERSION.unwrap_or(&llvm));
    #[cfg(not(feature = "mlir"))]
    let mlir = "";
    format!("{}\nLLVM {llvm}{mlir}", env!("CARGO_PKG_VERSION"))
}
