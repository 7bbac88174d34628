//! All the work of a job, in a child process.

use ptx_atomics_llvm::{self as llvm, Errors, Handlers, inkwell::context::Context};

#[cfg(feature = "mlir")]
use super::mlir;
use super::{
    job::{Job, Language, Lowered, Part},
    llvm_ir,
    process::{self, Stage},
};

/// Does a job. With `only`, code is generated for some of the functions.
pub fn work(job: &Job, only: Option<Part>) -> Result<Vec<Lowered>, Errors> {
    process::stage(if job.language == Language::Mlir { Stage::ReadMlir } else { Stage::Read });
    let context = Context::create();
    llvm::install_handlers(&context, Handlers { error: process::fatal, warning: process::warn });
    let lowered = match job.language {
        Language::Llvm => llvm_ir::work(job, &context, only).map(|lowered| vec![lowered]),
        #[cfg(feature = "mlir")]
        Language::Mlir => mlir::work(job, &context, only),
        #[cfg(not(feature = "mlir"))]
        Language::Mlir => {
            let error =
                llvm::Diagnostic::new(format!("'{}' is MLIR, which this build does not read", job.input.name()));
            Err(error.help("build ptx-atomics with its feature `mlir`").into())
        }
    };
    // The process ends soon: to free what LLVM holds costs more than it gives.
    std::mem::forget(context);
    lowered
}
