//! What a plugin says of itself.

use std::ffi::{c_char, c_uint};

/// What a host asks a plugin for: `llvm::PassPluginLibraryInfo` and `mlir::PassPluginLibraryInfo` of LLVM 22. They differ in
/// the callbacks, of type `C`.
#[repr(C)]
pub struct PassPluginLibraryInfo<C> {
    api_version: c_uint,
    name: *const c_char,
    version: *const c_char,
    callbacks: C,
}

impl<C> PassPluginLibraryInfo<C> {
    /// With our name and version. `api_version` is `LLVM_PLUGIN_API_VERSION` or `MLIR_PLUGIN_API_VERSION`.
    pub fn new(api_version: c_uint, callbacks: C) -> Self {
        let version = concat!(env!("CARGO_PKG_VERSION"), "\0");
        Self { api_version, name: c"ptx-atomics".as_ptr(), version: version.as_ptr().cast(), callbacks }
    }
}
