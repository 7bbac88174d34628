//! The last error of each thread.

use std::{cell::Cell, ffi::c_char};

use crate::{
    call::{any, driver},
    driver::context,
    error::{Done, Error, names},
};

thread_local! {
    /// The last error of the runtime API in this thread.
    static LAST: Cell<u32> = const { Cell::new(0) };
}

/// Calls a function of the runtime API, whose context is the primary one unless the program has chosen another, and
/// remembers its error.
pub fn runtime(work: impl FnOnce() -> Done) -> u32 {
    remember(driver(|| {
        if context::current().is_null() {
            context::set(any(|gpu| Ok(gpu.primary()))?);
        }
        work()
    }))
}

/// Remembers the error of a function.
pub fn remember(code: u32) -> u32 {
    if code != 0 && code != Error::NotReady as u32 {
        LAST.set(code);
    }
    code
}

/// Functions of the runtime API that are functions of the driver API, with further names after `=`.
macro_rules! forward {
    ($($name:ident $arguments:tt $(= $alias:ident)* => $driver:path;)*) => { $(
        $crate::runtime::errors::forward_one! { $name $arguments $driver }
        $($crate::call::alias! { $alias $name $arguments })*
    )* };
}

/// A function of the runtime API that is a function of the driver API.
macro_rules! forward_one {
    ($name:ident ($($argument:ident: $ty:ty),* $(,)?) $driver:path) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $ty),*) -> u32 {
            // SAFETY: the program passes pointers as CUDA's headers demand.
            $crate::runtime::errors::runtime(|| $crate::runtime::errors::done(unsafe { $driver($($argument),*) }))
        }
    };
}

pub(crate) use {forward, forward_one};

/// The result of a function of the driver API.
pub fn done(code: u32) -> Done {
    crate::error::from_code(code)
}

/// The last error, or the fault of a kernel, which stays.
fn last() -> u32 {
    match any(|gpu| Ok(gpu.fault)) {
        Ok(Some(fault)) => fault as u32,
        _ => LAST.get(),
    }
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetLastError() -> u32 {
    let code = last();
    LAST.set(0);
    code
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaPeekAtLastError() -> u32 {
    last()
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorName(code: u32) -> *const c_char {
    names(code).map_or(c"unrecognized error code".as_ptr(), |[_, name, _]| name.as_ptr())
}

#[unsafe(no_mangle)]
pub extern "C" fn cudaGetErrorString(code: u32) -> *const c_char {
    names(code).map_or(c"unrecognized error code".as_ptr(), |[.., text]| text.as_ptr())
}
