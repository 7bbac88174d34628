//! Links LLVM into programs that contain the pass and are not plugins.
//!
//! `ptx-atomics-llvm` names LLVM's functions and links none of them: a plugin takes the functions of its host, and one
//! build must serve both. A program contains `use ptx_atomics_link as _;`.

/// The version of the linked MLIR, if this crate links MLIR.
pub const MLIR_VERSION: Option<&str> = option_env!("MLIR_VERSION");
