//! A job in a fork of this process.

use std::io;

use ptx_atomics_llvm::{Diagnostic, Errors, Location};
use serde::{Deserialize, Serialize};

use super::{
    backend,
    job::{Job, Lowered},
    obituary::obituary,
    process::{self, Quiet, Returned},
    work::work,
};

/// Does a job in a fork of this process, which must have one thread. LLVM's warnings go to `warn`.
///
/// # Errors
/// Everything in the input that is wrong or has no lowering; what ended LLVM or MLIR; and that this process has several
/// threads.
pub fn lower(job: &Job, mut warn: impl FnMut(&str)) -> Result<Vec<Lowered>, Errors> {
    match process::run(Quiet::No, &mut warn, || Answer::of(work(job, None))).map_err(no_process)? {
        Ok((answer, bytes)) => answer.with(bytes),
        Err(death) => Err(backend::explain(job, death).into()),
    }
}

/// Does other work with LLVM or MLIR in a fork of this process, which must have one thread. The work says by
/// [`super::stage`] what comes next, and prints its own errors; the value says whether it succeeded.
///
/// # Errors
/// What ended LLVM or MLIR, and that this process has several threads.
pub fn run(work: impl FnOnce() -> bool) -> Result<bool, Errors> {
    let done = process::run(Quiet::No, &mut |_| {}, || (work(), Vec::new())).map_err(no_process)?;
    done.map(|(done, _)| done).map_err(|death| obituary(death, None).into())
}

fn no_process(error: io::Error) -> Diagnostic {
    Diagnostic::new(format!("cannot start a process: {error}"))
}

/// What another process returns. The bytes of what is lowered go beside it.
#[derive(Serialize, Deserialize)]
pub enum Answer {
    Lowered(Vec<Lowered>),
    Errors(Vec<ErrorAsData>),
}

impl Answer {
    pub fn of(result: Result<Vec<Lowered>, Errors>) -> Returned<Self> {
        match result {
            Ok(mut lowered) => {
                let bytes = lowered.iter_mut().map(|lowered| std::mem::take(&mut lowered.bytes)).collect();
                (Self::Lowered(lowered), bytes)
            }
            Err(errors) => (Self::Errors(errors.into_iter().map(ErrorAsData).collect()), Vec::new()),
        }
    }

    pub fn with(self, bytes: Vec<Vec<u8>>) -> Result<Vec<Lowered>, Errors> {
        match self {
            Self::Lowered(lowered) => {
                Ok(lowered.into_iter().zip(bytes).map(|(lowered, bytes)| Lowered { bytes, ..lowered }).collect())
            }
            Self::Errors(errors) => Err(errors.into_iter().map(|error| error.0).collect()),
        }
    }
}

#[derive(Serialize, Deserialize)]
pub struct ErrorAsData(#[serde(with = "DiagnosticAsData")] Diagnostic);

#[derive(Serialize, Deserialize)]
#[serde(remote = "Diagnostic")]
struct DiagnosticAsData {
    message: String,
    function: Option<String>,
    #[serde(with = "location")]
    location: Option<Location>,
    operation: Option<String>,
    notes: Vec<String>,
    help: Option<String>,
}

mod location {
    use ptx_atomics_llvm::Location;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub fn serialize<S: Serializer>(location: &Option<Location>, to: S) -> Result<S::Ok, S::Error> {
        location.as_ref().map(|at| (&at.file, at.line, at.column)).serialize(to)
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Location>, D::Error> {
        let place = Option::<(String, u32, u32)>::deserialize(from)?;
        Ok(place.map(|(file, line, column)| Location { file, line, column }))
    }
}
