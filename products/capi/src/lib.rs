//! The library for C, whose functions `include/ptx_atomics.h` declares. LLVM works in another process, the command `ptx-atomics`.
//!
//! A function of this file reads its arguments and writes an [`Answer`]; a file for each kind of call does the work.

mod answer;
mod arguments;
mod check;
mod constants;
mod litmus;
mod lower;
mod options;
mod session;
mod table;

use std::ffi::{c_char, c_uint};

use arguments::{bytes, name, text, write};
use check::Ir;
pub use {
    answer::{Answer, Message},
    constants::{Emit, Format, Language, Part, Standing, Status},
    session::Session,
};

/// The version of the library, as "0.1.0". It lives as long as the program.
#[unsafe(no_mangle)]
pub extern "C" fn ptx_atomics_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// Says which program lowers; it starts with the first job. That is `helper`, a path or a name in PATH; or if it is NULL the
/// environment's PTX_ATOMICS_HELPER, or else ../bin/ptx-atomics beside the file that this library is in, or else ptx-atomics in PATH.
///
/// Give the session to ptx_atomics_close. NULL comes only of a bug of the library.
///
/// # Safety
/// `helper` is NULL or ends with a NUL.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptx_atomics_open(helper: *const c_char) -> *mut Session {
    // SAFETY: the caller promises it.
    let helper = unsafe { arguments::path(helper) };
    let session = std::panic::catch_unwind(|| Box::into_raw(Box::new(Session::open(helper))));
    session.unwrap_or(std::ptr::null_mut())
}

/// Ends the processes of a session, and frees it. No function may be using it. NULL is allowed.
///
/// # Safety
/// `session` comes from ptx_atomics_open, and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptx_atomics_close(session: *mut Session) {
    // SAFETY: the caller promises it.
    free(unsafe { arguments::owned(session) });
}

/// Lowers all atomics and fences of a module in LLVM IR or MLIR, in another process: an input that ends LLVM is an error. Threads may
/// share a session; each job that runs at the same time has a process of its own, which stays for the next one.
///
/// - `ir`, `length`: text or bitcode.
/// - `name`: what messages call it; NULL is "input". It need not be that of a file.
/// - `options`: as plugins take them, "mcpu=sm_90,mattr=+ptx86,strategy=fence"; NULL is none. docs/plugin.md lists them.
/// - `language`: a ptx_atomics_language. `emit`: a ptx_atomics_emit.
/// - `result`: where a pointer to the result is written, which ptx_atomics_result_free frees. NULL is allowed.
///
/// The result has an output for each module of GPU code: of LLVM IR one, of MLIR those of each gpu.module.
///
/// # Safety
/// `session` is open, `ir` has `length` bytes, `name` and `options` are NULL or end with a NUL, `result` is NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptx_atomics_lower(
    session: *const Session,
    ir: *const u8,
    length: usize,
    name: *const c_char,
    options: *const c_char,
    language: c_uint,
    emit: c_uint,
    result: *mut *mut Answer,
) -> Status {
    let work = || {
        // SAFETY: the caller promises it.
        let (session, ir, name, options) = unsafe {
            (
                session.as_ref().ok_or("the session is NULL: open one by ptx_atomics_open")?,
                bytes(ir, length)?,
                self::name(name)?,
                text(options)?,
            )
        };
        lower::lower(session, ir, name, options, language, emit)
    };
    // SAFETY: the caller promises it.
    unsafe { write(result, work) }
}

/// Checks the PTX of any compiler: waits and proxy fences that asynchronous operations of its kernels lack, data races, and barriers to
/// which not all threads come. Each finding is a diagnostic; there is no output.
///
/// - `ptx`, `length`: the text.
/// - `name`: what messages call it; NULL is "input".
/// - `options`: what is known of a launch, "block=128x1x1,grid=4,cluster=2,param=n=1024", of which kernel, "kernel=part of its name", and how
///   the manual is read, "profile=strict,reading=A2=strict"; NULL is none.
/// - `milliseconds`: the emergency stop of each kernel and question. Budgets count steps, so that it strikes on slow machines alone: 120000
///   is enough. With 0 no execution is looked for, and the only errors are about text that cannot be read.
/// - `result`: as of ptx_atomics_lower.
///
/// # Safety
/// `ptx` has `length` bytes, `name` and `options` are NULL or end with a NUL, `result` is NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptx_atomics_check(
    ptx: *const c_char,
    length: usize,
    name: *const c_char,
    options: *const c_char,
    milliseconds: u32,
    result: *mut *mut Answer,
) -> Status {
    let work = || {
        // SAFETY: the caller promises it.
        let (ptx, name, options) = unsafe { (bytes(ptx.cast(), length)?, self::name(name)?, text(options)?) };
        check::check(arguments::utf8(ptx, "the PTX")?, name, options, milliseconds, None)
    };
    // SAFETY: the caller promises it.
    unsafe { write(result, work) }
}

/// Checks PTX as ptx_atomics_check does, and the order and the scope of its atomics and fences against the IR that it was made of. Each
/// lost order is a diagnostic, too, at its place in the IR or in the source of the IR.
///
/// - `session`: of ptx_atomics_open; its helper reads the IR.
/// - `ir`, `ir_length`: LLVM IR as text or bitcode, or MLIR. `ir_name`: its name in messages; NULL is "input".
/// - `language`: a ptx_atomics_language.
/// - `ptx`, `length`, `name`, `options`, `milliseconds`, `result`: as of ptx_atomics_check.
///
/// # Safety
/// `session` is open, `ir` has `ir_length` and `ptx` has `length` bytes, `ir_name`, `name` and `options` are NULL or end with a NUL, `result`
/// is NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptx_atomics_check_with_ir(
    session: *const Session,
    ir: *const u8,
    ir_length: usize,
    ir_name: *const c_char,
    language: c_uint,
    ptx: *const c_char,
    length: usize,
    name: *const c_char,
    options: *const c_char,
    milliseconds: u32,
    result: *mut *mut Answer,
) -> Status {
    let work = || {
        // SAFETY: the caller promises it.
        let (session, ir, ir_name, ptx, name, options) = unsafe {
            (
                session.as_ref().ok_or("the session is NULL: open one by ptx_atomics_open")?,
                bytes(ir, ir_length)?,
                self::name(ir_name)?,
                bytes(ptx.cast(), length)?,
                self::name(name)?,
                text(options)?,
            )
        };
        let ir = Ir { session, bytes: ir, name: ir_name, language };
        check::check(arguments::utf8(ptx, "the PTX")?, name, options, milliseconds, Some(ir))
    };
    // SAFETY: the caller promises it.
    unsafe { write(result, work) }
}

/// The whole mapping as a target gets it. The result has one output, a text.
///
/// - `options`: as of ptx_atomics_lower, of which it takes those of the target and of the strategies; NULL is none.
/// - `format`: a ptx_atomics_format.
/// - `result`: as of ptx_atomics_lower.
///
/// # Safety
/// `options` is NULL or ends with a NUL, `result` is NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptx_atomics_table(options: *const c_char, format: c_uint, result: *mut *mut Answer) -> Status {
    // SAFETY: the caller promises it.
    let work = || table::table(unsafe { text(options)? }, format);
    // SAFETY: the caller promises it.
    unsafe { write(result, work) }
}

/// Answers a litmus test of PTX. The result has one output: JSON, as `ptx-atomics litmus --format json` prints it. That a condition does
/// not hold is no error.
///
/// - `test`, `length`: the text, which begins with "PTX".
/// - `name`: what messages call it; NULL is "input".
/// - `options`: how the manual is read, "profile=strict,reading=A2=strict"; NULL is none.
/// - `milliseconds`: how long to search; 0 is as long as it takes.
/// - `result`: as of ptx_atomics_lower.
///
/// # Safety
/// `test` has `length` bytes, `name` and `options` are NULL or end with a NUL, `result` is NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptx_atomics_litmus(
    test: *const c_char,
    length: usize,
    name: *const c_char,
    options: *const c_char,
    milliseconds: u32,
    result: *mut *mut Answer,
) -> Status {
    let work = || {
        // SAFETY: the caller promises it.
        let (test, name, options) = unsafe { (bytes(test.cast(), length)?, self::name(name)?, text(options)?) };
        litmus::litmus(arguments::utf8(test, "the litmus test")?, name, options, milliseconds)
    };
    // SAFETY: the caller promises it.
    unsafe { write(result, work) }
}

/// What the function returned that made this result.
///
/// # Safety
/// `result` is one, and is not freed. So it is for all functions below.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptx_atomics_result_status(result: *const Answer) -> Status {
    // SAFETY: the caller promises it.
    unsafe { result.as_ref() }.map_or(Status::Misused, Answer::status)
}

/// How many outputs there are: none, if there is an error.
///
/// # Safety
/// As of ptx_atomics_result_status.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptx_atomics_result_outputs(result: *const Answer) -> usize {
    // SAFETY: the caller promises it.
    unsafe { result.as_ref() }.map_or(0, |answer| answer.outputs.len())
}

/// An output, by its number from 0; NULL if there are fewer. `length` gets how many bytes it has, if it is not NULL; a NUL stands behind
/// them. The result owns them.
///
/// # Safety
/// As of ptx_atomics_result_status; `length` is NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptx_atomics_result_output(
    result: *const Answer,
    index: usize,
    length: *mut usize,
) -> *const u8 {
    // SAFETY: the caller promises it.
    unsafe { arguments::give(result.as_ref().and_then(|answer| answer.outputs.get(index)), length) }
}

/// How many diagnostics there are.
///
/// # Safety
/// As of ptx_atomics_result_status.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptx_atomics_result_diagnostics(result: *const Answer) -> usize {
    // SAFETY: the caller promises it.
    unsafe { result.as_ref() }.map_or(0, |answer| answer.messages.len())
}

/// A diagnostic, by its number from 0; NULL if there are fewer. The result owns it.
///
/// # Safety
/// As of ptx_atomics_result_status.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptx_atomics_result_diagnostic(result: *const Answer, index: usize) -> *const Message {
    // SAFETY: the caller promises it.
    let message = unsafe { result.as_ref() }.and_then(|answer| answer.messages.get(index));
    message.map_or(std::ptr::null(), std::ptr::from_ref)
}

/// Frees a result with all that it owns. NULL is allowed.
///
/// # Safety
/// As of ptx_atomics_result_status; neither the result nor what it owns is used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptx_atomics_result_free(result: *mut Answer) {
    // SAFETY: the caller promises it.
    free(unsafe { arguments::owned(result) });
}

/// How bad it is.
///
/// # Safety
/// The diagnostic is one of a result that is not freed. So it is for all functions below.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptx_atomics_diagnostic_level(diagnostic: *const Message) -> Standing {
    // SAFETY: the caller promises it.
    unsafe { diagnostic.as_ref() }.map_or(Standing::Error, |message| message.level)
}

/// A part of it, a ptx_atomics_part, as text in UTF-8; NULL if it has none. `length` gets how many bytes that are, if it is not NULL; a
/// NUL stands behind them. The result owns them.
///
/// # Safety
/// As of ptx_atomics_diagnostic_level; `length` is NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptx_atomics_diagnostic_text(
    diagnostic: *const Message,
    part: c_uint,
    length: *mut usize,
) -> *const c_char {
    // SAFETY: the caller promises it.
    unsafe { arguments::give(diagnostic.as_ref().and_then(|message| message.part(part)), length).cast() }
}

/// The line, from 1; 0 if it is not known.
///
/// # Safety
/// As of ptx_atomics_diagnostic_level.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptx_atomics_diagnostic_line(diagnostic: *const Message) -> u32 {
    // SAFETY: the caller promises it.
    unsafe { diagnostic.as_ref() }.map_or(0, |message| message.line)
}

/// The column, from 1; 0 if it is not known.
///
/// # Safety
/// As of ptx_atomics_diagnostic_level.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptx_atomics_diagnostic_column(diagnostic: *const Message) -> u32 {
    // SAFETY: the caller promises it.
    unsafe { diagnostic.as_ref() }.map_or(0, |message| message.column)
}

/// Frees what was given back. Nothing unwinds into C.
fn free<T>(owned: Option<Box<T>>) {
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(owned)));
}
