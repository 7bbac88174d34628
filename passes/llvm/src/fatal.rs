//! What LLVM does not report by a result: warnings, and errors after which it would end the process with a message of
//! its own.

use std::{
    ffi::{CStr, c_char, c_void},
    sync::OnceLock,
};

use inkwell::{
    context::{AsContextRef, Context},
    llvm_sys::{
        LLVMDiagnosticSeverity,
        core::{LLVMContextSetDiagnosticHandler, LLVMGetDiagInfoDescription, LLVMGetDiagInfoSeverity},
        error_handling::{LLVMInstallFatalErrorHandler, LLVMResetFatalErrorHandler},
        prelude::LLVMDiagnosticInfoRef,
    },
};

use crate::value::message;

/// What to do with what LLVM says.
#[derive(Clone, Copy)]
pub struct Handlers {
    /// Must end the process, and must not panic: LLVM is not in a state to go on.
    pub error: fn(&str) -> !,
    pub warning: fn(&str),
}

static HANDLERS: OnceLock<Handlers> = OnceLock::new();

/// Calls the handlers in place of LLVM's own, for fatal errors of the whole process and for diagnostics of this context.
/// Only the first handlers of a process count.
pub fn install_handlers(context: &Context, handlers: Handlers) {
    HANDLERS.get_or_init(|| handlers);
    // SAFETY: both callbacks have the signatures that LLVM asks for and need no data.
    unsafe {
        LLVMResetFatalErrorHandler();
        LLVMInstallFatalErrorHandler(Some(fatal));
        LLVMContextSetDiagnosticHandler(context.as_ctx_ref(), Some(diagnostic), std::ptr::null_mut());
    }
}

extern "C" fn fatal(reason: *const c_char) {
    // SAFETY: LLVM gives a string that lives until the handler returns, which it does not.
    end(&unsafe { CStr::from_ptr(reason) }.to_string_lossy());
}

extern "C" fn diagnostic(info: LLVMDiagnosticInfoRef, _: *mut c_void) {
    // SAFETY: LLVM gives a live diagnostic, and the description is ours to free.
    unsafe {
        let text = message(LLVMGetDiagInfoDescription(info));
        match LLVMGetDiagInfoSeverity(info) {
            LLVMDiagnosticSeverity::LLVMDSError => end(&text),
            LLVMDiagnosticSeverity::LLVMDSWarning => {
                HANDLERS.get().iter().for_each(|handlers| (handlers.warning)(&text))
            }
            LLVMDiagnosticSeverity::LLVMDSRemark | LLVMDiagnosticSeverity::LLVMDSNote => {}
        }
    }
}

fn end(reason: &str) -> ! {
    match HANDLERS.get() {
        Some(handlers) => (handlers.error)(reason),
        None => std::process::abort(),
    }
}
