//! The structure in which a plugin describes itself.

use std::ffi::{c_char, c_uint};

/// The structure that a host requests from a plugin: `llvm::PassPluginLibraryInfo` and `mlir::PassPluginLibraryInfo` of
/// LLVM 22. The two differ in the callbacks, of type `C`.
#[repr(C)]
pub struct PassPluginLibraryInfo<C> {
    api_version: c_uint,
    name: *const c_char,
    version: *const c_char,
    callbacks: C,
}

impl<C> PassPluginLibraryInfo<C> {
    /// The structure with the name and version of this crate. `api_version` is `LLVM_PLUGIN_API_VERSION` or
    /// `MLIR_PLUGIN_API_VERSION`.
    pub fn new(api_version: c_uint, callbacks: C) -> Self {
        let version = concat!(env!("CARGO_PKG_VERSION"), "\0");
        Self { api_version, name: c"ptx-atomics".as_ptr(), version: version.as_ptr().cast(), callbacks }
    }
}
