//! The functions that the code of nvcc and clang calls before `main`.

use std::ffi::{CStr, c_char, c_void};

use crate::{
    call::any,
    error::Done,
    handle::Handle,
    objects::{Fat, Named},
};

/// Notes a name that the program has at an address.
unsafe fn named(fat: Handle<Fat>, name: *const c_char) -> Named {
    // SAFETY: the code of the compiler passes a text.
    Named { fat, name: unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned() }
}

/// Loads a fat binary with managed variables, since the program accesses them without a call.
fn load_managed(fat: Handle<Fat>) -> Done {
    any(|gpu| match gpu.registry.fats.get(fat)?.managed.is_empty() {
        true => Ok(()),
        false => gpu.registered(fat).map(drop),
    })
}

#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterFatBinary(data: *const c_void) -> Handle<Fat> {
    let fat = Fat { data: data as usize, loaded: None, managed: Vec::new() };
    any(|gpu| Ok(gpu.registry.fats.insert(fat))).unwrap_or(Handle::NULL)
}

#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterFatBinaryEnd(fat: Handle<Fat>) {
    // The first use of the kernels reports an error.
    load_managed(fat).unwrap_or_default();
}

#[unsafe(no_mangle)]
pub extern "C" fn __cudaUnregisterFatBinary(_fat: Handle<Fat>) {
    let _ = any(|gpu| {
        gpu.flush();
        Ok(())
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn __cudaInitModule(fat: Handle<Fat>) -> c_char {
    c_char::from(load_managed(fat).is_ok())
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterFunction(
    fat: Handle<Fat>,
    host: usize,
    _device: *mut c_char,
    name: *const c_char,
    _threads: i32,
    _thread: usize,
    _block: usize,
    _block_size: usize,
    _grid_size: usize,
    _warp: usize,
) {
    // SAFETY: the code of the compiler passes a text.
    let named = unsafe { named(fat, name) };
    let _ = any(|gpu| Ok(gpu.registry.kernels.insert(host, named)));
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterVar(
    fat: Handle<Fat>,
    host: usize,
    _device: *mut c_char,
    name: *const c_char,
    _is_external: i32,
    _bytes: usize,
    _is_constant: i32,
    _is_global: i32,
) {
    // SAFETY: the code of the compiler passes a text.
    let named = unsafe { named(fat, name) };
    let _ = any(|gpu| Ok(gpu.registry.variables.insert(host, named)));
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn __cudaRegisterManagedVar(
    fat: Handle<Fat>,
    host: usize,
    _device: *mut c_char,
    name: *const c_char,
    _is_external: i32,
    _bytes: usize,
    _is_constant: i32,
    _is_global: i32,
) {
    // SAFETY: the code of the compiler passes a text.
    let named = unsafe { named(fat, name) };
    let _ = any(|gpu| {
        gpu.registry.fats.get_mut(fat)?.managed.push((host, named.name.clone()));
        Ok(gpu.registry.variables.insert(host, named))
    });
}

#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterTexture() {}

#[unsafe(no_mangle)]
pub extern "C" fn __cudaRegisterSurface() {}
