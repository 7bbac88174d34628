//! Links LLVM into what contains the pass and is no plugin.
//!
//! `ptx-atomics-llvm` names LLVM's functions and links none of them: a plugin takes those of its host, and one build must
//! serve both. A program says `use ptx_atomics_link as _;`.

/// The version of the MLIR that is linked, where it is this crate that links it.
pub const MLIR_VERSION: Option<&str> = option_env!("MLIR_VERSION");
