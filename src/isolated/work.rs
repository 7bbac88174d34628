//! The whole work of a job, in a child process.

use ptx_atomics_common::helper::{Job, Language, Lowered};
use ptx_atomics_llvm::{self as llvm, Errors, Handlers, inkwell::context::Context};

#[cfg(feature = "mlir")]
use super::mlir;
use super::{
    llvm_ir,
    part::Part,
    process::{self, Stage},
    unoptimized::Unoptimized,
};

/// The PTX of each module of a job for checks, with the origin of each line.
pub fn unoptimized(job: &Job) -> Result<Vec<Unoptimized>, Errors> {
    in_context(job, |context| match job.language {
        Language::Llvm => llvm_ir::unoptimized(job, context).map(|lines| vec![lines]),
        #[cfg(feature = "mlir")]
        Language::Mlir => mlir::unoptimized(job, context),
        #[cfg(not(feature = "mlir"))]
        Language::Mlir => Err(no_mlir(job)),
    })
}

/// Does a job. With `only`, code is generated for a part of the functions.
pub fn work(job: &Job, only: Option<Part>) -> Result<Vec<Lowered>, Errors> {
    in_context(job, |context| match job.language {
        Language::Llvm => llvm_ir::work(job, context, only).map(|lowered| vec![lowered]),
        #[cfg(feature = "mlir")]
        Language::Mlir => mlir::work(job, context, only),
        #[cfg(not(feature = "mlir"))]
        Language::Mlir => Err(no_mlir(job)),
    })
}

fn in_context<T>(job: &Job, work: impl FnOnce(&Context) -> T) -> T {
    process::stage(if job.language == Language::Mlir { Stage::ReadMlir } else { Stage::Read });
    let context = context();
    let done = work(&context);
    // The process ends soon, so freeing LLVM's memory would waste time.
    std::mem::forget(context);
    done
}

/// An LLVM context whose errors end the process. Errors and warnings are reported to the parent.
pub fn context() -> Context {
    let context = Context::create();
    llvm::install_handlers(&context, Handlers { error: process::fatal, warning: process::warn });
    context
}

#[cfg(not(feature = "mlir"))]
fn no_mlir(job: &Job) -> Errors {
    let error = llvm::Diagnostic::new(format!("'{}' is MLIR, which this build does not read", job.input.name()));
    error.help("build ptx-atomics with its feature `mlir`").into()
}
