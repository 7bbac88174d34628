//! The addresses of functions by their names.

use std::ffi::{CStr, CString, c_char, c_void};

use crate::{
    call::{api, driver, offer, put},
    error::{Done, Error},
    say::say_once,
};

/// The functions of this library are found through the address of one of them.
fn address(name: &str) -> Option<*mut c_void> {
    let name = CString::new(name).ok()?;
    let mut found = libc::Dl_info {
        dli_fname: std::ptr::null(),
        dli_fbase: std::ptr::null_mut(),
        dli_sname: std::ptr::null(),
        dli_saddr: std::ptr::null_mut(),
    };
    // SAFETY: the names end with NUL, and the library is open.
    let symbol = unsafe {
        if libc::dladdr(address as fn(&str) -> Option<*mut c_void> as *const c_void, &raw mut found) == 0 {
            return None;
        }
        let library = libc::dlopen(found.dli_fname, libc::RTLD_LAZY | libc::RTLD_NOLOAD);
        if library.is_null() {
            libc::dlsym(libc::RTLD_DEFAULT, name.as_ptr())
        } else {
            libc::dlsym(library, name.as_ptr())
        }
    };
    (!symbol.is_null()).then_some(symbol)
}

/// Functions whose newest form needs a version of the API: the name of the form, and the version.
const SINCE: [(&str, i32); 14] = [
    ("cuDeviceGetUuid_v2", 11040),
    ("cuCtxCreate_v3", 11040),
    ("cuCtxCreate_v4", 12050),
    ("cuGraphAddKernelNode_v2", 12000),
    ("cuGraphKernelNodeSetParams_v2", 12000),
    ("cuGraphExecKernelNodeSetParams_v2", 12000),
    ("cuGraphExecUpdate_v2", 12000),
    ("cuGraphAddDependencies_v2", 13000),
    ("cuStreamGetCaptureInfo_v2", 11030),
    ("cuStreamGetCaptureInfo_v3", 12030),
    ("cuStreamUpdateCaptureDependencies_v2", 12030),
    ("cuMemPrefetchAsync_v2", 12020),
    ("cuMemAdvise_v2", 12020),
    ("cuLaunchHostFunc_v2", 13050),
];

/// The functions whose form with a suffix has other parameters, and is never the meaning of the plain name.
const OTHER: [&str; 1] = ["cuCtxGetDevice_v2"];

/// The address of the form of a function that a program of a version expects.
pub fn find(name: &str, version: i32, is_of_thread: bool) -> Option<*mut c_void> {
    // Two functions had other names before.
    let name = match name {
        "cuGetProcAddress" if version >= 12000 => "cuGetProcAddress_v2",
        "cuGraphInstantiate" if version >= 12000 => "cuGraphInstantiateWithFlags",
        name => name,
    };
    let fits = |form: &str| {
        let since = SINCE.iter().find(|(own, _)| *own == form).map_or(0, |(_, version)| *version);
        version >= since && !OTHER.contains(&form)
    };
    let forms = ["_v4", "_v3", "_v2", ""].map(|suffix| format!("{name}{suffix}"));
    forms.iter().filter(|form| fits(form)).find_map(|form| {
        let of_thread = |ending: &str| is_of_thread.then(|| address(&format!("{form}{ending}"))).flatten();
        of_thread("_ptsz").or_else(|| of_thread("_ptds")).or_else(|| address(form))
    })
}

/// Gives the address of a function.
///
/// # Safety
/// The name ends with NUL; the other pointers can be written, or are NULL.
pub unsafe fn give(name: *const c_char, to: *mut *mut c_void, version: i32, flags: u64, status: *mut u32) -> Done {
    if name.is_null() {
        return Err(Error::InvalidValue);
    }
    /// `CU_GET_PROC_ADDRESS_PER_THREAD_DEFAULT_STREAM`
    const OF_THREAD: u64 = 2;
    // SAFETY: the caller promises it.
    unsafe {
        let name = CStr::from_ptr(name).to_string_lossy();
        let found = find(&name, version, flags & OF_THREAD != 0);
        put(to, found.unwrap_or(std::ptr::null_mut()))?;
        offer(status, u32::from(found.is_none()));
        found.map(drop).ok_or(Error::NotFound)
    }
}

api! { driver:
    cuGetProcAddress(name: *const c_char, to: *mut *mut c_void, version: i32, flags: u64) {
        give(name, to, version, flags, std::ptr::null_mut())
    }
    cuGetProcAddress_v2(name: *const c_char, to: *mut *mut c_void, version: i32, flags: u64, status: *mut u32) {
        // A program that finds the address of a function at run time expects success with NULL.
        match give(name, to, version, flags, status) {
            Err(Error::NotFound) if !status.is_null() => Ok(()),
            other => other,
        }
    }
    cuGetExportTable(to: *mut *const c_void, _table: *const [u8; 16]) {
        put(to, std::ptr::null())?;
        say_once(
            "the program has NVIDIA's static runtime, which calls the driver through tables that are not documented: \
             link it with `-cudart shared`",
        );
        Err(Error::NotSupported)
    }
}
