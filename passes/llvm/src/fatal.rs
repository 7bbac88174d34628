//! Handlers for LLVM's warnings, and for the errors after which LLVM would end the process with its own message.

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

/// The handlers for LLVM's messages.
#[derive(Clone, Copy)]
pub struct Handlers {
    /// The handler for an error. It must end the process, and must not panic, because LLVM is not in a state to
    /// continue.
    pub error: fn(&str) -> !,
    /// The handler for a warning.
    pub warning: fn(&str),
}

static HANDLERS: OnceLock<Handlers> = OnceLock::new();

/// Installs the handlers instead of LLVM's own, for fatal errors of the whole process and for diagnostics of this
/// context. Only the first handlers of a process are used.
pub fn install_handlers(context: &Context, handlers: Handlers) {
    HANDLERS.get_or_init(|| handlers);
    // SAFETY: both callbacks have the signatures that LLVM requires, and need no data.
    unsafe {
        LLVMResetFatalErrorHandler();
        LLVMInstallFatalErrorHandler(Some(fatal));
        LLVMContextSetDiagnosticHandler(context.as_ctx_ref(), Some(diagnostic), std::ptr::null_mut());
    }
}

extern "C" fn fatal(reason: *const c_char) {
    // SAFETY: LLVM passes a string that lives until the handler returns, and the handler does not return.
    end(&unsafe { CStr::from_ptr(reason) }.to_string_lossy());
}

extern "C" fn diagnostic(info: LLVMDiagnosticInfoRef, _: *mut c_void) {
    // SAFETY: LLVM passes a live diagnostic, and the caller owns the description.
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
