//! The border to the host: the C ABI of LLVM's plugins and of the shim.

use std::ffi::{c_uint, c_void};

use ptx_atomics_llvm::inkwell::llvm_sys::prelude::{LLVMModuleRef, LLVMValueRef};
use ptx_atomics_version::plugin::Text;

/// What the shim calls. Fields as in `shim.cpp`.
#[repr(C)]
pub struct Callbacks {
    pub resolve: Text,
    pub start: unsafe extern "C" fn(LLVMModuleRef, parameters: Text),
    pub asynchronous: unsafe extern "C" fn(LLVMModuleRef, parameters: Text, gpu: Text, features: Text),
    pub pending: unsafe extern "C" fn(LLVMModuleRef) -> bool,
    pub lower: unsafe extern "C" fn(LLVMModuleRef, parameters: Text, gpu: Text, features: Text, optimize: bool),
    pub check: unsafe extern "C" fn(LLVMModuleRef, parameters: Text, gpu: Text, features: Text),
}

// SAFETY: its texts are constants.
unsafe impl Sync for Callbacks {}

/// The two callbacks that a host asks a plugin for, functions of the shim with arguments of LLVM's C++ API.
#[repr(C)]
pub struct PluginCallbacks {
    pub register_passes: *const c_void,
    pub before_code_gen: *const c_void,
}

/// `LLVM_PLUGIN_API_VERSION` of LLVM 22.
pub const API_VERSION: u32 = 2;

// Cargo names it for the library alone, not for the example.
#[link(name = "shim", kind = "static")]
unsafe extern "C" {
    pub fn ptx_atomics_connect(callbacks: &'static Callbacks) -> PluginCallbacks;
    /// Whether the host handles it. The line is one of the function's file; 0 if it is not known. The function has code.
    pub fn ptx_atomics_error(function: LLVMValueRef, message: Text, line: c_uint, column: c_uint) -> bool;
    pub fn ptx_atomics_module_error(module: LLVMModuleRef, message: Text) -> bool;
    /// The function has code, or is null.
    pub fn ptx_atomics_warning(
        module: LLVMModuleRef,
        function: LLVMValueRef,
        message: Text,
        line: c_uint,
        column: c_uint,
    );
    pub fn ptx_atomics_wants_remarks(module: LLVMModuleRef) -> bool;
    pub fn ptx_atomics_remark(
        function: LLVMValueRef,
        name: Text,
        missed: bool,
        message: Text,
        line: c_uint,
        column: c_uint,
    );
    pub fn ptx_atomics_empty(module: LLVMModuleRef);
}
