//! The border to the host: the C ABI of MLIR's plugins and of the shim.

use std::ffi::c_void;

use mlir_sys::{MlirDialectRegistry, MlirOperation};
use ptx_atomics_common::settings::Takes;
use ptx_atomics_version::plugin::Text;

/// An option of the pass. The fields are the same as in `shim.cpp`.
#[repr(C)]
pub struct Setting {
    pub name: Text,
    pub help: Text,
    pub takes: Takes,
}

/// A function of the shim that receives a message, with the pointer that the shim passed along with the function.
pub type Say = unsafe extern "C" fn(*mut c_void, Text);

/// The functions that the shim calls. The fields are the same as in `shim.cpp`.
#[repr(C)]
pub struct Callbacks {
    pub argument: Text,
    pub description: Text,
    pub settings: usize,
    pub setting: extern "C" fn(usize) -> Setting,
    pub insert_dialects: unsafe extern "C" fn(MlirDialectRegistry),
    pub validate: unsafe extern "C" fn(options: Text, say: Say, to: *mut c_void),
    pub run: unsafe extern "C" fn(MlirOperation, options: Text) -> bool,
    pub unchecked: unsafe extern "C" fn(MlirOperation, options: Text) -> Text,
}

// SAFETY: the texts are constants.
unsafe impl Sync for Callbacks {}

/// `MLIR_PLUGIN_API_VERSION` of MLIR 22.
pub const API_VERSION: u32 = 1;

unsafe extern "C" {
    /// The callback that registers the pass.
    pub fn ptx_atomics_connect(callbacks: &'static Callbacks) -> *const c_void;
}
