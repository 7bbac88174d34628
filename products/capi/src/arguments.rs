//! Pointers that the library receives from C and returns to C.

use std::{
    any::Any,
    ffi::{CStr, OsStr, c_char},
    os::unix::ffi::OsStrExt,
    panic::{AssertUnwindSafe, catch_unwind},
    thread,
};

use ptx_atomics_common::Diagnostic;

use crate::{
    answer::{Answer, Misuse, Text},
    constants::Status,
};

/// The stack for recursive functions, whose depth is the nesting of the input.
const STACK: usize = 64 << 20;

/// # Safety
/// `text` is NULL or ends with a NUL.
pub unsafe fn path<'a>(text: *const c_char) -> Option<&'a OsStr> {
    // SAFETY: the caller promises it.
    (!text.is_null()).then(|| OsStr::from_bytes(unsafe { CStr::from_ptr(text) }.to_bytes()))
}

/// Reads a text; NULL is an empty text.
///
/// # Safety
/// `text` is NULL or ends with a NUL.
pub unsafe fn text<'a>(text: *const c_char) -> Result<&'a str, Misuse> {
    // SAFETY: the caller promises it.
    match unsafe { path(text) } {
        Some(text) => utf8(text.as_bytes(), "a name or list of options"),
        None => Ok(""),
    }
}

/// Reads the name of an input; NULL and an empty text are "input".
///
/// # Safety
/// `name` is NULL or ends with a NUL.
pub unsafe fn name<'a>(name: *const c_char) -> Result<&'a str, Misuse> {
    // SAFETY: the caller promises it.
    unsafe { text(name) }.map(|name| if name.is_empty() { "input" } else { name })
}

/// # Safety
/// `bytes` has `length` bytes, or is NULL.
pub unsafe fn bytes<'a>(bytes: *const u8, length: usize) -> Result<&'a [u8], Misuse> {
    match (bytes.is_null(), length) {
        (_, 0) => Ok(&[]),
        (true, _) => Err("the input is NULL, and its length is not 0".into()),
        // SAFETY: the caller promises it.
        (false, _) => Ok(unsafe { std::slice::from_raw_parts(bytes, length) }),
    }
}

pub fn utf8<'a>(bytes: &'a [u8], what: &str) -> Result<&'a str, Misuse> {
    std::str::from_utf8(bytes)
        .map_err(|error| Misuse(format!("{what} is not UTF-8 from byte {} on", error.valid_up_to())))
}

/// # Safety
/// `owned` is NULL, or was made by `Box::into_raw` and is not used again.
pub unsafe fn owned<T>(owned: *mut T) -> Option<Box<T>> {
    // SAFETY: the caller promises it.
    (!owned.is_null()).then(|| unsafe { Box::from_raw(owned) })
}

/// Returns the bytes of a text, and writes their number to `length`; NULL if `text` is `None`.
///
/// # Safety
/// `length` is NULL or can be written.
pub unsafe fn give(text: Option<&Text>, length: *mut usize) -> *const u8 {
    // SAFETY: the caller promises it.
    if let Some(length) = unsafe { length.as_mut() } {
        *length = text.map_or(0, |text| text.bytes().len());
    }
    text.map_or(std::ptr::null(), |text| text.bytes().as_ptr())
}

/// Does the work of a call, and writes its answer to `to`. A panic becomes a diagnostic, so that nothing unwinds into
/// C.
///
/// # Safety
/// `to` is NULL or can be written.
pub unsafe fn write(to: *mut *mut Answer, work: impl FnOnce() -> Result<Answer, Misuse>) -> Status {
    let done = catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|panic| Ok(bug(&*panic)));
    let misused = |Misuse(message)| Answer::wrong(Status::Misused, Diagnostic::new(message));
    let answer = done.unwrap_or_else(misused);
    let status = answer.status();
    // SAFETY: the caller promises it.
    if let Some(to) = unsafe { to.as_mut() } {
        *to = Box::into_raw(Box::new(answer));
    }
    status
}

/// Does work that may recurse deeply, in a thread with a stack for it.
pub fn deep(work: impl FnOnce() -> Answer + Send) -> Answer {
    thread::scope(|scope| {
        let started = thread::Builder::new().stack_size(STACK).spawn_scoped(scope, work);
        let no_thread = |error| Answer::errors(Diagnostic::new(format!("cannot start a thread: {error}")).into());
        started.map_or_else(no_thread, |thread| thread.join().unwrap_or_else(|panic| bug(&*panic)))
    })
}

fn bug(panic: &(dyn Any + Send)) -> Answer {
    Answer::wrong(Status::Bug, Diagnostic::of_panic(panic))
}
