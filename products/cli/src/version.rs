//! What `--version` says.

/// The version, and those of what is compiled with.
#[cfg(not(feature = "llvm"))]
pub fn long_version() -> String {
    format!("{}\nwithout LLVM", env!("CARGO_PKG_VERSION"))
}

/// The version, and those of what is compiled with.
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
