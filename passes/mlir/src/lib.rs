//! The pass over MLIR: every atomic and fence of the device code becomes one `llvm.inline_asm`, or an atomic of LLVM IR
//! with its ordering and scope.
//!
//! [`read`] parses text or bytecode. [`lower`] is the pass itself, for use in a pipeline of MLIR: it [`expand`]s the
//! atomics of other dialects to atomics of the LLVM dialect, and embeds PTX for these. [`llvm_ir`] instead translates
//! to LLVM IR, by MLIR's own conversions, and leaves the atomics to the pass over LLVM IR, which resolves more
//! addresses. The pass decides no ordering: it recognizes operations, asks `ptx-lowering` for sequences, and embeds all
//! of them, or none if there is an error.
//!
//! ```
//! # use ptx_atomics_link as _;
//! use ptx_atomics_mlir as mlir;
//! use ptx_atomics_common::{Input, Settings};
//!
//! let input = Input::new("next.mlir", r#"gpu.module @kernels {
//!   llvm.func @next(%counter: !llvm.ptr<1>) -> i32 {
//!     %one = llvm.mlir.constant(1 : i32) : i32
//!     %old = llvm.atomicrmw add %counter, %one acq_rel : !llvm.ptr<1>, i32
//!     llvm.return %old : i32
//!   }
//! }"#);
//! let context = mlir::context();
//! let mut module = mlir::read(&context, &input)?;
//! for mut device in mlir::device_code(&mut module) {
//!     let options = mlir::options(&Settings::default(), device.op())?;
//!     mlir::lower(&mut device, &options)?;
//! }
//! assert!(String::from_utf8(mlir::text(&module))?.contains("atom.acq_rel.sys.global.add.u32"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![warn(missing_docs)]

mod asynchronous;
mod device;
mod diagnostic;
mod embed;
mod emit;
mod ir;
mod llvm_dialect;
mod lower;
mod memory;
mod memref;
mod native_ops;
mod nvvm;
mod optimize;
mod options;
mod pass;
mod plan;
mod recognize;
mod run;
mod source;
mod spirv;
mod variant;
mod version;
mod vocabulary;

pub use melior;
#[doc(no_inline)]
pub use ptx_atomics_common::each;
#[cfg(test)]
use ptx_atomics_link as _;

pub use self::{
    asynchronous::{asynchronous, has_asynchronous},
    device::{DeviceModule, device_code, device_modules},
    emit::{Translated, bytecode, llvm_ir, text},
    lower::{check, check_lower, expand, lower},
    options::{options, requested_targets, settings_of},
    pass::{ARGUMENT, DESCRIPTION, pass, run, unchecked, validate},
    source::{BUILT, BYTECODE, context, read},
};
