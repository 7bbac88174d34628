//! The border to the host: the C ABI of LLVM's plugins and of the shim.

use std::ffi::{c_uint, c_void};

use ptx_atomics_llvm::inkwell::llvm_sys::prelude::{LLVMModuleRef, LLVMValueRef};
use ptx_atomics_version::plugin::Text;

/// The functions that the shim calls. The fields are the same as in `shim.cpp`.
#[repr(C)]
pub struct Callbacks {
    pub resolve: Text,
    pub start: unsafe extern "C" fn(LLVMModuleRef, parameters: Text),
    pub asynchronous: unsafe extern "C" fn(LLVMModuleRef, parameters: Text, gpu: Text, features: Text),
    pub pending: unsafe extern "C" fn(LLVMModuleRef) -> bool,
    pub lower: unsafe extern "C" fn(LLVMModuleRef, parameters: Text, gpu: Text, features: Text, optimize: bool),
    pub check: unsafe extern "C" fn(LLVMModuleRef, parameters: Text, gpu: Text, features: Text),
}

// SAFETY: the texts are constants.
unsafe impl Sync for Callbacks {}

/// The two callbacks that a host requests from a plugin. They are functions of the shim with arguments of LLVM's C++
/// API.
#[repr(C)]
pub struct PluginCallbacks {
    pub register_passes: *const c_void,
    pub before_code_gen: *const c_void,
}

/// `LLVM_PLUGIN_API_VERSION` of LLVM 22.
pub const API_VERSION: u32 = 2;

// Cargo passes this library only to the library target, not to the example.
#[link(name = "shim", kind = "static")]
unsafe extern "C" {
    pub fn ptx_atomics_connect(callbacks: &'static Callbacks) -> PluginCallbacks;
    /// Reports an error. Returns whether the host handles it. The line is in the file of the function; 0 if it is not
    /// known. The function has a body.
    pub fn ptx_atomics_error(function: LLVMValueRef, message: Text, line: c_uint, column: c_uint) -> bool;
    pub fn ptx_atomics_module_error(module: LLVMModuleRef, message: Text) -> bool;
    /// Reports a warning. The function has a body, or is null.
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
