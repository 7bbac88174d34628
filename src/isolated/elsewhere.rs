//! Jobs of a program without LLVM: the command `ptx-atomics` of an installation that has it does them.

use std::{env, path::PathBuf};

#[cfg(feature = "analysis")]
use ptx_atomics_common::helper::Pair;
use ptx_atomics_common::helper::{Helper, Job, Lowered};
use ptx_atomics_common::{Diagnostic, Errors};

use super::Unoptimized;

/// The command that has LLVM.
fn helper() -> Helper {
    let named = env::var_os("PTX_ATOMICS_HELPER").filter(|named| !named.is_empty());
    Helper::at(named.map_or_else(|| PathBuf::from("ptx-atomics"), PathBuf::from))
}

/// What needs LLVM and is not done by a helper.
fn no_llvm(what: &str) -> Errors {
    let help = "install the command with LLVM: docs/getting-started.md".to_owned();
    Diagnostic {
        help: Some(help),
        ..Diagnostic::new(format!("{what} needs LLVM, which this build of ptx-atomics has not"))
    }
    .into()
}

/// Does a job in the process of a helper: the program that the environment's `PTX_ATOMICS_HELPER` names, or `ptx-atomics` in the
/// `PATH`. LLVM's warnings go to `warn`.
///
/// # Errors
/// Everything in the input that is wrong or has no lowering, and that there is no helper.
pub fn lower(job: &Job, warn: impl FnMut(&str)) -> Result<Vec<Lowered>, Errors> {
    helper().lower(job, warn)
}

/// Judges PTX by its IR in the process of a helper, as of [`lower`].
///
/// # Errors
/// An input that cannot be read, and that there is no helper.
#[cfg(feature = "analysis")]
pub fn judge(pair: &Pair, warn: impl FnMut(&str)) -> Result<ptx_check::order::Judged, Errors> {
    helper().judge(pair, warn)
}

/// A job that a helper is going to do.
pub struct Started(());

/// Says that a job is to be done.
///
/// # Errors
/// None.
pub fn start(_: &Job) -> Result<Started, Errors> {
    Ok(Started(()))
}

impl Started {
    /// What became of the job. LLVM's warnings go to `warn`.
    ///
    /// # Errors
    /// As of [`lower`].
    pub fn wait(self, job: &Job, warn: &mut dyn FnMut(&str)) -> Result<Vec<Lowered>, Errors> {
        lower(job, warn)
    }
}

/// The PTX of each module of a job before LLVM's optimizer.
///
/// # Errors
/// That there is no LLVM here.
pub fn unoptimized(_: &Job) -> Result<Vec<Unoptimized>, Errors> {
    Err(no_llvm("the check of LLVM IR and MLIR"))
}

/// Nothing: only a program with LLVM serves.
pub fn serve() {}

/// Nothing: where memory runs out, this process has no parent that would say so.
pub fn out_of_memory() {}
