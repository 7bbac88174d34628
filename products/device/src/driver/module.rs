//! Modules, libraries and their kernels.

use std::{
    ffi::{CStr, OsStr, c_char, c_void},
    fs,
    os::unix::ffi::OsStrExt,
    ptr,
};

use ptx_isa::launch::MOST_THREADS;

use crate::{
    attributes,
    call::{any, api, driver, offer, put, with},
    error::{Done, Error},
    gpu::Gpu,
    handle::Handle,
    launch::PORTABLE_SHARED,
    objects::{Image, Kernel},
    say::say,
};

/// The text at a pointer.
///
/// # Safety
/// The pointer is NULL or leads to a text that ends with NUL.
unsafe fn text(name: *const c_char) -> Done<String> {
    if name.is_null() {
        return Err(Error::InvalidValue);
    }
    // SAFETY: the caller promises it.
    Ok(unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
}

/// Loads a file.
///
/// # Safety
/// As for [`text`].
unsafe fn load_file(path: *const c_char) -> Done<Handle<Image>> {
    // SAFETY: the caller promises it.
    let name = unsafe { text(path) }?;
    let bytes = fs::read(OsStr::from_bytes(name.as_bytes())).map_err(|error| {
        say(&format!("cannot read '{name}': {error}"));
        Error::FileNotFound
    })?;
    with(|gpu| gpu.load_file(bytes))
}

/// Loads an image at a pointer, and gives its handle.
unsafe fn load(to: *mut Handle<Image>, image: *const c_void) -> Done {
    // SAFETY: the program passes an image.
    unsafe { put(to, with(|gpu| gpu.load(image))?) }
}

/// Gives a kernel with a name.
unsafe fn give_kernel(to: *mut Handle<Kernel>, image: Handle<Image>, name: *const c_char) -> Done {
    // SAFETY: the program passes a text and a pointer for the result.
    unsafe { put(to, with(|gpu| gpu.kernel(image, &text(name)?))?) }
}

/// Gives the address and the size of a variable.
unsafe fn give_variable(to: *mut u64, bytes: *mut usize, image: Handle<Image>, name: *const c_char) -> Done {
    // SAFETY: the program passes a text, and pointers for the results or NULL.
    unsafe {
        let (address, size) = with(|gpu| gpu.variable(image, &text(name)?))?;
        offer(to, address);
        offer(bytes, size);
    }
    Ok(())
}

/// Gives the kernels of an image, as many as fit.
unsafe fn give_kernels(to: *mut Handle<Kernel>, most: u32, image: Handle<Image>) -> Done {
    let kernels: Vec<Handle<Kernel>> =
        with(|gpu| Ok(gpu.images.get(image)?.kernels.iter().map(|(_, kernel)| *kernel).collect()))?;
    for (index, kernel) in kernels.into_iter().take(most as usize).enumerate() {
        // SAFETY: the program passes an array of this size.
        unsafe { put(to.add(index), kernel) }?;
    }
    Ok(())
}

/// The names of kernels as C's texts. They live as long as the process, as the API promises for the life of a module.
fn name_of(kernel: Handle<Kernel>) -> Done<*const c_char> {
    let name = any(|gpu| Ok(gpu.kernels.get(kernel)?.name.clone()))?;
    let name = std::ffi::CString::new(name).map_err(|_| Error::Unknown)?;
    Ok(name.into_raw())
}

/// The value of an attribute of a kernel, `CUfunction_attribute`.
pub fn attribute(gpu: &mut Gpu, number: u32, kernel: Handle<Kernel>) -> Done<i32> {
    let facts = gpu.facts(kernel)?;
    let found = gpu.kernels.get(kernel)?;
    let cluster = found.head.required_ctas;
    let axis = |axis: usize| cluster.map_or(0, |sizes| sizes[axis]);
    let version = gpu.sm.number();
    let value = match number {
        0 => found.head.most_threads.unwrap_or(MOST_THREADS),
        1 => facts.shared as u32,
        2 => 0,
        3 => facts.local as u32,
        4 => facts.registers.min(255),
        5 | 6 => version,
        7 | 13.. => match number {
            13 => axis(2),
            14 => u32::from(found.allows_large_clusters),
            _ => 0,
        },
        8 => found.most_shared.unwrap_or(PORTABLE_SHARED.saturating_sub(facts.shared as u32)),
        9 => u32::MAX,
        10 => u32::from(cluster.is_some()),
        11 => axis(0),
        12 => axis(1),
    };
    Ok(value as i32)
}

/// Sets an attribute of a kernel.
pub fn set_attribute(gpu: &mut Gpu, number: u32, kernel: Handle<Kernel>, value: i32) -> Done {
    let shared = gpu.facts(kernel)?.shared as u32;
    let most = attributes::limits(gpu.sm).shared_of_cta;
    let found = gpu.kernels.get_mut(kernel)?;
    match number {
        8 => {
            let value = u32::try_from(value).ok().filter(|value| value + shared <= most).ok_or(Error::InvalidValue)?;
            found.most_shared = Some(value + shared);
        }
        14 => found.allows_large_clusters = value != 0,
        9..=13 | 15 => {}
        _ => return Err(Error::InvalidValue),
    }
    Ok(())
}

/// Gives the offset and the size of a parameter.
unsafe fn give_parameter(kernel: Handle<Kernel>, index: usize, offset: *mut usize, bytes: *mut usize) -> Done {
    let parameter = with(|gpu| gpu.facts(kernel)?.parameters.get(index).cloned().ok_or(Error::InvalidValue))?;
    // SAFETY: the program passes pointers for the results or NULL.
    unsafe {
        offer(offset, parameter.offset as usize);
        offer(bytes, parameter.bytes as usize);
    }
    Ok(())
}

api! { driver:
    cuModuleLoad(to: *mut Handle<Image>, path: *const c_char) { put(to, load_file(path)?) }
    cuModuleLoadData(to: *mut Handle<Image>, image: *const c_void) { load(to, image) }
    cuModuleLoadDataEx(
        to: *mut Handle<Image>, image: *const c_void, _count: u32, _options: *const u32, _values: *const *mut c_void,
    ) { load(to, image) }
    cuModuleLoadFatBinary(to: *mut Handle<Image>, image: *const c_void) { load(to, image) }
    cuModuleUnload(image: Handle<Image>) { any(|gpu| gpu.unload(image)) }
    cuModuleGetLoadingMode(to: *mut u32) { put(to, 1) }
    cuModuleGetFunction(to: *mut Handle<Kernel>, image: Handle<Image>, name: *const c_char) {
        give_kernel(to, image, name)
    }
    cuModuleGetFunctionCount(to: *mut u32, image: Handle<Image>) {
        put(to, with(|gpu| Ok(gpu.images.get(image)?.kernels.len() as u32))?)
    }
    cuModuleEnumerateFunctions(to: *mut Handle<Kernel>, most: u32, image: Handle<Image>) {
        give_kernels(to, most, image)
    }
    cuModuleGetGlobal_v2(
        to: *mut u64, bytes: *mut usize, image: Handle<Image>, name: *const c_char,
    ) = cuModuleGetGlobal { give_variable(to, bytes, image, name) }
    cuLibraryLoadData(
        to: *mut Handle<Image>, image: *const c_void, _jit: *const u32, _values: *const *mut c_void, _count: u32,
        _options: *const u32, _option_values: *const *mut c_void, _option_count: u32,
    ) { load(to, image) }
    cuLibraryLoadFromFile(
        to: *mut Handle<Image>, path: *const c_char, _jit: *const u32, _values: *const *mut c_void, _count: u32,
        _options: *const u32, _option_values: *const *mut c_void, _option_count: u32,
    ) { put(to, load_file(path)?) }
    cuLibraryUnload(image: Handle<Image>) { any(|gpu| gpu.unload(image)) }
    cuLibraryGetKernel(to: *mut Handle<Kernel>, image: Handle<Image>, name: *const c_char) {
        give_kernel(to, image, name)
    }
    cuLibraryGetKernelCount(to: *mut u32, image: Handle<Image>) {
        put(to, with(|gpu| Ok(gpu.images.get(image)?.kernels.len() as u32))?)
    }
    cuLibraryEnumerateKernels(to: *mut Handle<Kernel>, most: u32, image: Handle<Image>) {
        give_kernels(to, most, image)
    }
    cuLibraryGetModule(to: *mut Handle<Image>, image: Handle<Image>) { put(to, image) }
    cuLibraryGetGlobal(
        to: *mut u64, bytes: *mut usize, image: Handle<Image>, name: *const c_char,
    ) = cuLibraryGetManaged { give_variable(to, bytes, image, name) }
    cuKernelGetFunction(to: *mut Handle<Kernel>, kernel: Handle<Kernel>) { put(to, kernel) }
    cuKernelGetLibrary(to: *mut Handle<Image>, kernel: Handle<Kernel>) = cuFuncGetModule {
        put(to, with(|gpu| Ok(gpu.kernels.get(kernel)?.image))?)
    }
    cuKernelGetName(to: *mut *const c_char, kernel: Handle<Kernel>) = cuFuncGetName { put(to, name_of(kernel)?) }
    cuKernelGetParamInfo(
        kernel: Handle<Kernel>, index: usize, offset: *mut usize, bytes: *mut usize,
    ) = cuFuncGetParamInfo { give_parameter(kernel, index, offset, bytes) }
    cuKernelGetParamCount(kernel: Handle<Kernel>, to: *mut usize) = cuFuncGetParamCount {
        put(to, with(|gpu| Ok(gpu.facts(kernel)?.parameters.len()))?)
    }
    cuKernelGetAttribute(to: *mut i32, number: u32, kernel: Handle<Kernel>, _device: i32) {
        put(to, with(|gpu| attribute(gpu, number, kernel))?)
    }
    cuKernelSetAttribute(number: u32, value: i32, kernel: Handle<Kernel>, _device: i32) {
        with(|gpu| set_attribute(gpu, number, kernel, value))
    }
    cuKernelSetCacheConfig(_kernel: Handle<Kernel>, _config: u32, _device: i32) { Ok(()) }
    cuFuncGetAttribute(to: *mut i32, number: u32, kernel: Handle<Kernel>) {
        put(to, with(|gpu| attribute(gpu, number, kernel))?)
    }
    cuFuncSetAttribute(kernel: Handle<Kernel>, number: u32, value: i32) {
        with(|gpu| set_attribute(gpu, number, kernel, value))
    }
    cuFuncSetCacheConfig(_kernel: Handle<Kernel>, _config: u32) { Ok(()) }
    cuFuncSetSharedMemConfig(_kernel: Handle<Kernel>, _config: u32) { Ok(()) }
    cuFuncIsLoaded(to: *mut u32, _kernel: Handle<Kernel>) { put(to, 1) }
    cuFuncLoad(_kernel: Handle<Kernel>) { Ok(()) }
}

api! { driver:
    cuLinkCreate_v2(
        _count: u32, _options: *mut u32, _values: *mut *mut c_void, to: *mut *mut Vec<u8>,
    ) = cuLinkCreate { put(to, Box::into_raw(Box::default())) }
    cuLinkAddData_v2(
        state: *mut Vec<u8>, kind: u32, data: *mut c_void, bytes: usize, _name: *const c_char, _count: u32,
        _options: *mut u32, _values: *mut *mut c_void,
    ) = cuLinkAddData {
        let added = std::slice::from_raw_parts(data.cast::<u8>(), bytes);
        link(state, kind, added)
    }
    cuLinkAddFile_v2(
        state: *mut Vec<u8>, kind: u32, path: *const c_char, _count: u32, _options: *mut u32,
        _values: *mut *mut c_void,
    ) = cuLinkAddFile {
        let read = fs::read(text(path)?).map_err(|_| Error::FileNotFound)?;
        link(state, kind, &read)
    }
    cuLinkComplete(state: *mut Vec<u8>, to: *mut *mut c_void, bytes: *mut usize) {
        let linked = state.as_mut().ok_or(Error::InvalidHandle)?;
        put(to, linked.as_mut_ptr().cast())?;
        offer(bytes, linked.len());
        Ok(())
    }
    cuLinkDestroy(state: *mut Vec<u8>) {
        if !state.is_null() {
            drop(Box::from_raw(state));
        }
        Ok(())
    }
}

/// Adds PTX to a linker, whose result is the PTX itself. Only one text can be linked: the symbols of several texts are
/// not resolved.
unsafe fn link(state: *mut Vec<u8>, kind: u32, added: &[u8]) -> Done {
    /// `CU_JIT_INPUT_PTX`
    const PTX: u32 = 1;
    // SAFETY: the program passes the state of `cuLinkCreate`.
    let linked = unsafe { ptr::NonNull::new(state).ok_or(Error::InvalidHandle)?.as_mut() };
    if kind != PTX || !linked.is_empty() {
        say("expected one input with PTX for cuLink, found another kind or a second input");
        return Err(Error::NotSupported);
    }
    linked.extend(added);
    linked.push(0);
    Ok(())
}
