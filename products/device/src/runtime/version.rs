//! The version of the runtime that the program was linked with.

use std::{ffi::CStr, sync::OnceLock};

use crate::{
    call::{api, put},
    driver::device::VERSION,
    runtime::errors::runtime,
};

/// The names of the runtime's libraries, with the versions that they have here.
const NAMES: [(&CStr, i32); 3] =
    [(c"libcudart.so.11.0", 11080), (c"libcudart.so.12", 12090), (c"libcudart.so.13", VERSION)];

/// The version of the runtime.
pub fn version() -> i32 {
    static FOUND: OnceLock<i32> = OnceLock::new();
    *FOUND.get_or_init(|| {
        let is_open = |name: &CStr| {
            // SAFETY: the name ends with NUL. The handle of an open library may stay.
            unsafe { !libc::dlopen(name.as_ptr(), libc::RTLD_LAZY | libc::RTLD_NOLOAD).is_null() }
        };
        NAMES.iter().find(|(name, _)| is_open(name)).map_or(VERSION, |(_, version)| *version)
    })
}

api! { runtime:
    cudaRuntimeGetVersion(to: *mut i32) { put(to, version()) }
}
