//! The border to C: the definition of exported functions, the lock, and the errors of calls.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Mutex, MutexGuard, PoisonError},
};

use crate::{
    error::{Done, Error},
    gpu::Gpu,
};

/// The state of the process. Threads of the program share it.
struct Shared(Option<Box<Gpu>>);

// SAFETY: all parts of the state, with their reference counts, are reachable only through the mutex.
unsafe impl Send for Shared {}

static GPU: Mutex<Shared> = Mutex::new(Shared(None));

/// Defines functions of the API. Each body is a `Done`; names after `=` are further names of the function, such as its
/// variant for the default stream of a thread.
macro_rules! api {
    ($by:ident: $($name:ident $arguments:tt $(= $alias:ident)* $body:block)*) => { $(
        $crate::call::function! { $by $name $arguments $body }
        $($crate::call::alias! { $alias $name $arguments })*
    )* };
}

/// A function of the API.
macro_rules! function {
    ($by:ident $name:ident ($($argument:ident: $ty:ty),* $(,)?) $body:block) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($argument: $ty),*) -> u32 {
            #[allow(unused_unsafe, reason = "only some bodies use pointers")]
            // SAFETY: the program passes pointers as CUDA's headers demand.
            $by(|| unsafe { $body })
        }
    };
}

/// A further name of a function of the API.
macro_rules! alias {
    ($alias:ident $name:ident ($($argument:ident: $ty:ty),* $(,)?)) => {
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $alias($($argument: $ty),*) -> u32 {
            // SAFETY: the same function.
            unsafe { $name($($argument),*) }
        }
    };
}

pub(crate) use {alias, api, function};

/// Calls a function of the driver API. The number of its error is the result.
pub fn driver(work: impl FnOnce() -> Done) -> u32 {
    match catch_unwind(AssertUnwindSafe(work)) {
        Ok(Ok(())) => 0,
        Ok(Err(error)) => error as u32,
        Err(_) => Error::Unknown as u32,
    }
}

fn lock() -> MutexGuard<'static, Shared> {
    GPU.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Calls a function with the GPU. After a fault of a kernel, the fault is the error of every call.
pub fn with<T>(work: impl FnOnce(&mut Gpu) -> Done<T>) -> Done<T> {
    any(|gpu| match gpu.fault {
        Some(fault) => Err(fault),
        None => work(gpu),
    })
}

/// Calls a function with the GPU, also after a fault.
pub fn any<T>(work: impl FnOnce(&mut Gpu) -> Done<T>) -> Done<T> {
    work(lock().0.get_or_insert_with(|| Box::new(Gpu::new())))
}

/// Writes a result of a function.
///
/// # Safety
/// The pointer is NULL or can be written.
pub unsafe fn put<T>(to: *mut T, value: T) -> Done {
    if to.is_null() {
        return Err(Error::InvalidValue);
    }
    // SAFETY: the caller promises it. Results of structures need not be aligned.
    unsafe { to.write_unaligned(value) };
    Ok(())
}

/// Writes a result that a caller need not ask for.
///
/// # Safety
/// The pointer is NULL or can be written.
pub unsafe fn offer<T>(to: *mut T, value: T) {
    // SAFETY: the caller promises it.
    let _ = unsafe { put(to, value) };
}
