//! The library for C. `include/ptx_atomics.h` declares its functions. LLVM runs in another process, the command
//! `ptx-atomics`.
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
    constants::{DiagnosticSeverity, Emit, Format, Language, Part, Status},
    session::Session,
};

/// The version of the library, such as "0.1.0". The text lives as long as the program.
#[unsafe(no_mangle)]
pub extern "C" fn ptx_atomics_version() -> *const c_char {
    const VERSION: &str = concat!(env!("CARGO_PKG_VERSION"), "\0");
    VERSION.as_ptr().cast()
}

/// Opens a session with the program that lowers, which starts with the first job. The program is `helper`, a path or a
/// name in PATH. If `helper` is NULL, the program is the value of the environment variable PTX_ATOMICS_HELPER, or else
/// ../bin/ptx-atomics relative to the folder of this library, or else ptx-atomics in PATH.
///
/// Close the session by ptx_atomics_close. The result is NULL only if the library has a bug.
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

/// Ends the processes of a session, and frees the session. No other function may be using the session. NULL is allowed.
///
/// # Safety
/// `session` comes from ptx_atomics_open, and is not used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptx_atomics_close(session: *mut Session) {
    // SAFETY: the caller promises it.
    free(unsafe { arguments::owned(session) });
}

/// Lowers all atomics and fences of a module in LLVM IR or MLIR, in another process: an input that crashes LLVM yields
/// an error. Threads may share a session. Each job that runs at the same time has its own process, and later jobs reuse
/// the processes.
///
/// - `ir`, `length`: text or bitcode.
///
/// - `name`: the name of the input in messages; NULL is "input". It need not be the name of a file.
/// - `options`: the options of the plugins, such as "mcpu=sm_90,mattr=+ptx86,strategy=fence"; NULL means no options.
///   docs/plugin.md lists them.
/// - `language`: a ptx_atomics_language. `emit`: a ptx_atomics_emit.
/// - `result`: the address for a pointer to the result. Free the result by ptx_atomics_result_free. NULL is allowed.
///
/// The result has an output for each module of GPU code: one for LLVM IR, and one for each gpu.module of MLIR.
///
/// # Safety
/// `session` is open, `ir` has `length` bytes, `name` and `options` are NULL or end with a NUL, `result` is NULL or can
/// be written.
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

/// Checks the PTX of any compiler for waits and proxy fences that asynchronous operations of its kernels lack, for data
/// races, and for barriers that some threads do not reach. Each finding is a diagnostic; the result has no output.
///
/// - `ptx`, `length`: the text.
///
/// - `name`: the name of the input in messages; NULL is "input".
/// - `options`: the facts of a launch, "block=128x1x1,grid=4,cluster=2,param=n=1024", the kernel, "kernel=part of its
///   name", and the reading of the manual, "profile=strict,reading=A2=strict"; NULL means no options.
/// - `milliseconds`: the time limit for each kernel and question. Budgets count steps, so that only slow machines reach
///   the limit: 120000 is enough. With 0, the check does not search for executions, and the only errors are about text
///   that cannot be parsed.
/// - `result`: as for ptx_atomics_lower.
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

/// Checks PTX as ptx_atomics_check does, and compares the order and the scope of its atomics and fences with the IR
/// from which a compiler made it. Each lost order is a diagnostic, too, at its position in the IR or in the source of
/// the IR.
///
/// - `session`: a session of ptx_atomics_open, whose helper reads the IR.
/// - `ir`, `ir_length`: LLVM IR as text or bitcode, or MLIR. `ir_name`: its name in messages; NULL is "input".
/// - `language`: a ptx_atomics_language.
/// - `ptx`, `length`, `name`, `options`, `milliseconds`, `result`: as for ptx_atomics_check.
///
/// # Safety
/// `session` is open, `ir` has `ir_length` and `ptx` has `length` bytes, `ir_name`, `name` and `options` are NULL or
/// end with a NUL, `result` is NULL or can be written.
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

/// Prints the whole mapping for a target. The result has one output, a text.
///
/// - `options`: the options of ptx_atomics_lower for the target and the strategies; NULL means no options.
/// - `format`: a ptx_atomics_format.
/// - `result`: as for ptx_atomics_lower.
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

/// Answers a litmus test of PTX. The result has one output: the JSON of `ptx-atomics litmus --format json`. A condition
/// that does not hold is not an error.
///
/// - `test`, `length`: the text, which begins with "PTX".
///
/// - `name`: the name of the input in messages; NULL is "input".
/// - `options`: the reading of the manual, "profile=strict,reading=A2=strict"; NULL means no options.
/// - `milliseconds`: the time limit of the search; 0 means no limit.
/// - `result`: as for ptx_atomics_lower.
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

/// The status that the call with this result returned.
///
/// # Safety
/// `result` is a result that is not freed. The same condition applies to all functions below.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptx_atomics_result_status(result: *const Answer) -> Status {
    // SAFETY: the caller promises it.
    unsafe { result.as_ref() }.map_or(Status::Misused, Answer::status)
}

/// The number of outputs; 0 if there is an error.
///
/// # Safety
/// As for ptx_atomics_result_status.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptx_atomics_result_outputs(result: *const Answer) -> usize {
    // SAFETY: the caller promises it.
    unsafe { result.as_ref() }.map_or(0, |answer| answer.outputs.len())
}

/// An output, by its number from 0; NULL if there are fewer outputs. If `length` is not NULL, it receives the number of
/// bytes. A NUL follows the bytes. The result owns the output.
///
/// # Safety
/// As for ptx_atomics_result_status; `length` is NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptx_atomics_result_output(
    result: *const Answer,
    index: usize,
    length: *mut usize,
) -> *const u8 {
    // SAFETY: the caller promises it.
    unsafe { arguments::give(result.as_ref().and_then(|answer| answer.outputs.get(index)), length) }
}

/// The number of diagnostics.
///
/// # Safety
/// As for ptx_atomics_result_status.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptx_atomics_result_diagnostics(result: *const Answer) -> usize {
    // SAFETY: the caller promises it.
    unsafe { result.as_ref() }.map_or(0, |answer| answer.messages.len())
}

/// A diagnostic, by its number from 0; NULL if there are fewer diagnostics. The result owns the diagnostic.
///
/// # Safety
/// As for ptx_atomics_result_status.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptx_atomics_result_diagnostic(result: *const Answer, index: usize) -> *const Message {
    // SAFETY: the caller promises it.
    let message = unsafe { result.as_ref() }.and_then(|answer| answer.messages.get(index));
    message.map_or(std::ptr::null(), std::ptr::from_ref)
}

/// Frees a result with its outputs and diagnostics. NULL is allowed.
///
/// # Safety
/// As for ptx_atomics_result_status; neither the result nor its outputs and diagnostics are used again.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptx_atomics_result_free(result: *mut Answer) {
    // SAFETY: the caller promises it.
    free(unsafe { arguments::owned(result) });
}

/// The severity of a diagnostic.
///
/// # Safety
/// The result that owns the diagnostic is not freed. The same condition applies to all functions below.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptx_atomics_diagnostic_level(diagnostic: *const Message) -> DiagnosticSeverity {
    // SAFETY: the caller promises it.
    unsafe { diagnostic.as_ref() }.map_or(DiagnosticSeverity::Error, |message| message.level)
}

/// A part of a diagnostic, a ptx_atomics_part, as text in UTF-8; NULL if the diagnostic lacks the part. If `length` is
/// not NULL, it receives the number of bytes. A NUL follows the bytes. The result owns the text.
///
/// # Safety
/// As for ptx_atomics_diagnostic_level; `length` is NULL or can be written.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptx_atomics_diagnostic_text(
    diagnostic: *const Message,
    part: c_uint,
    length: *mut usize,
) -> *const c_char {
    // SAFETY: the caller promises it.
    unsafe { arguments::give(diagnostic.as_ref().and_then(|message| message.part(part)), length).cast() }
}

/// The line of a diagnostic, from 1; 0 if the line is not known.
///
/// # Safety
/// As for ptx_atomics_diagnostic_level.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptx_atomics_diagnostic_line(diagnostic: *const Message) -> u32 {
    // SAFETY: the caller promises it.
    unsafe { diagnostic.as_ref() }.map_or(0, |message| message.line)
}

/// The column of a diagnostic, from 1; 0 if the column is not known.
///
/// # Safety
/// As for ptx_atomics_diagnostic_level.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn ptx_atomics_diagnostic_column(diagnostic: *const Message) -> u32 {
    // SAFETY: the caller promises it.
    unsafe { diagnostic.as_ref() }.map_or(0, |message| message.column)
}

/// Frees an object of the library. A panic is dropped, so that nothing unwinds into C.
fn free<T>(owned: Option<Box<T>>) {
    let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| drop(owned)));
}
