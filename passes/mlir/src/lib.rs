//! The pass over MLIR: every atomic and fence of the device code becomes one `llvm.inline_asm`, or an atomic of LLVM IR with
//! its ordering and scope.
//!
//! [`read`] takes text or bytecode. [`lower`] is the pass itself, for the middle of a pipeline of MLIR: it [`expand`]s the
//! atomics of other dialects to those of the LLVM dialect, and embeds PTX for these. [`llvm_ir`] goes on instead to LLVM IR,
//! by MLIR's own conversions, and leaves the atomics to the pass over LLVM IR, which finds out more about addresses. No
//! ordering is decided here: operations are recognized, `ptx-atomics-lowering` is asked, and its answers are embedded, all or none.

mod device;
mod diagnostic;
mod embed;
mod emit;
mod ir;
mod kept;
mod llvm_dialect;
mod lower;
mod memory;
mod memref;
mod nvvm;
mod options;
mod pass;
mod plan;
mod recognize;
mod run;
mod source;
mod spirv;
mod vocabulary;

pub use melior;
#[cfg(test)]
use ptx_atomics_link as _;
#[doc(no_inline)]
pub use ptx_atomics_pass::each;

pub use self::{
    device::{DeviceModule, device_code, device_modules},
    emit::{Translated, bytecode, llvm_ir, text},
    lower::{check, check_lower, expand, lower},
    options::{options, requested_targets, settings_of},
    pass::{ARGUMENT, DESCRIPTION, pass, run, validate},
    source::{BUILT, BYTECODE, context, read},
};
