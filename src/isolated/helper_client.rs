//! The jobs of a program without LLVM. The command `ptx-atomics` of an installation with LLVM does them.

use std::{env, path::PathBuf};

#[cfg(feature = "analysis")]
use ptx_atomics_common::helper::Pair;
use ptx_atomics_common::helper::{Helper, Job, Lowered};
use ptx_atomics_common::{Diagnostic, Errors};

use super::Unoptimized;

/// The helper with LLVM.
fn helper() -> Helper {
    let named = env::var_os("PTX_ATOMICS_HELPER").filter(|named| !named.is_empty());
    Helper::at(named.map_or_else(|| PathBuf::from("ptx-atomics"), PathBuf::from))
}

/// The error for work that needs LLVM and that no helper does.
fn no_llvm(what: &str) -> Errors {
    let help = "install the command with LLVM: docs/getting-started.md".to_owned();
    Diagnostic {
        help: Some(help),
        ..Diagnostic::new(format!("{what} needs LLVM, which this build of ptx-atomics lacks"))
    }
    .into()
}

/// Does a job in the process of a helper: the program that the environment variable `PTX_ATOMICS_HELPER` names, or
/// `ptx-atomics` in the `PATH`. LLVM's warnings are passed to `warn`.
///
/// # Errors
/// Every error in the input, every operation without a lowering, and a missing helper.
pub fn lower(job: &Job, warn: impl FnMut(&str)) -> Result<Vec<Lowered>, Errors> {
    helper().lower(job, warn)
}

/// Judges PTX by its IR in the process of a helper, as [`lower`] finds it.
///
/// # Errors
/// An input that cannot be read, and a missing helper.
#[cfg(feature = "analysis")]
pub fn judge(pair: &Pair, warn: impl FnMut(&str)) -> Result<ptx_check::order::Judged, Errors> {
    helper().judge(pair, warn)
}

/// A job that a helper will do.
pub struct Started(());

/// Prepares a job. Its work begins in [`Started::wait`].
///
/// # Errors
/// None.
pub fn start(_: &Job) -> Result<Started, Errors> {
    Ok(Started(()))
}

impl Started {
    /// Does the job and returns its result. LLVM's warnings are passed to `warn`.
    ///
    /// # Errors
    /// The errors of [`lower`].
    pub fn wait(self, job: &Job, warn: &mut dyn FnMut(&str)) -> Result<Vec<Lowered>, Errors> {
        lower(job, warn)
    }
}

/// The PTX of each module of a job before LLVM's optimizer.
///
/// # Errors
/// Always, because this program has no LLVM.
pub fn unoptimized(_: &Job) -> Result<Vec<Unoptimized>, Errors> {
    Err(no_llvm("the check of an input that is not PTX"))
}

/// Does nothing: only a program with LLVM can serve.
pub fn serve() {}

/// Does nothing: this process has no parent that would report exhausted memory.
pub fn out_of_memory() {}
