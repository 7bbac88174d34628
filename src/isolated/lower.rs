//! The execution of a job in a fork of this process.

use std::io;

use ptx_atomics_common::helper::{Answer, Job, Lowered, as_data};
use ptx_atomics_llvm::{Diagnostic, Errors};
use serde::{Serialize, de::DeserializeOwned};

use super::{
    backend,
    obituary::obituary,
    process::{self, Child, Death, Quiet, Stage},
    unoptimized::Unoptimized,
    work::{self, work},
};

/// Does a job in a fork of this process, which must have one thread. LLVM's warnings are passed to `warn`.
///
/// # Errors
/// Every error in the input, and every operation without a lowering; an end of LLVM or MLIR; and several threads in
/// this process.
pub fn lower(job: &Job, mut warn: impl FnMut(&str)) -> Result<Vec<Lowered>, Errors> {
    forked(job, &mut warn)
}

/// The same for a helper.
pub fn forked(job: &Job, warn: &mut dyn FnMut(&str)) -> Result<Vec<Lowered>, Errors> {
    start(job)?.wait(job, warn)
}

/// A job that runs in a fork of this process.
pub struct Started(Child<Answer>);

/// Starts a job as [`lower`] does, so that several jobs can run at once.
///
/// # Errors
/// If this process has several threads, or the system cannot start another process.
pub fn start(job: &Job) -> Result<Started, Errors> {
    Ok(Started(Child::start(Quiet::No, || Answer::from_result(work(job, None))).map_err(no_process)?))
}

impl Started {
    /// Returns the result of the job. LLVM's warnings are passed to `warn`.
    ///
    /// # Errors
    /// The errors of [`lower`].
    pub fn wait(self, job: &Job, warn: &mut dyn FnMut(&str)) -> Result<Vec<Lowered>, Errors> {
        match self.0.wait(warn).map_err(no_process)? {
            Ok((answer, bytes)) => answer.with(bytes),
            // A failure to compile for a check alone is not an error of the job.
            Err(death) if death.stage == Some(Stage::Check) => {
                let mut lowered = forked(&job.unchecked(), warn)?;
                let reason = obituary(death, None).message;
                let warning = Diagnostic::new(format!("asynchronous operations are not checked: {reason}"));
                lowered.iter_mut().take(1).for_each(|lowered| lowered.warnings.push(warning.clone()));
                Ok(lowered)
            }
            Err(death) => Err(backend::explain(job, death).into()),
        }
    }
}

/// The PTX of each module of a job before LLVM's optimizer, for checks that read PTX. The work runs in a fork of this
/// process, which must have one thread. If LLVM ends the process at unoptimized code, the result is the PTX after the
/// optimizer at -O1, with the reason.
///
/// # Errors
/// The errors of [`lower`].
pub fn unoptimized(job: &Job) -> Result<Vec<Unoptimized>, Errors> {
    let death = match child(&mut |_| {}, || work::unoptimized(job))? {
        Ok(done) => return done,
        Err(death) => death,
    };
    let is_of_backend = death.stage == Some(Stage::Check);
    let error = obituary(death, None);
    let mut optimized = job.clone();
    optimized.level = Some(1);
    let retried = is_of_backend.then(|| child(&mut |_| {}, || work::unoptimized(&optimized))).transpose()?;
    let Some(Ok(Ok(mut modules))) = retried else { return Err(error.into()) };
    modules.iter_mut().for_each(|module| module.failure = Some(error.message.clone()));
    Ok(modules)
}

/// Does other work with LLVM or MLIR in a fork of this process, which must have one thread. The work reports each stage
/// by [`super::stage`]. LLVM's warnings are passed to `warn`.
///
/// # Errors
/// The errors of the work, an end of LLVM or MLIR, and several threads in this process.
pub fn run<T: Serialize + DeserializeOwned>(
    mut warn: impl FnMut(&str),
    work: impl FnOnce() -> Result<T, Errors>,
) -> Result<T, Errors> {
    child(&mut warn, work)?.map_err(|death| obituary(death, None))?
}

/// The result of work in a fork of this process, or the cause of the fork's death.
fn child<T: Serialize + DeserializeOwned>(
    warn: &mut dyn FnMut(&str),
    work: impl FnOnce() -> Result<T, Errors>,
) -> Result<Result<Result<T, Errors>, Death>, Errors> {
    let work = || (work().map_err(as_data), Vec::new());
    let returned = process::run(Quiet::No, warn, work).map_err(no_process)?;
    Ok(returned.map(|(done, _)| done.map_err(|errors| errors.into_iter().map(|error| error.0).collect())))
}

fn no_process(error: io::Error) -> Diagnostic {
    Diagnostic::new(format!("cannot start a process: {error}"))
}
