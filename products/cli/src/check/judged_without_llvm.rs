//! IR is read by LLVM alone.

use ptx_atomics::{
    check::order::Judged,
    isolated::Language,
    pass::{Diagnostic, Errors, Input},
};

use crate::cli::CheckArgs;

pub fn of(_: &CheckArgs, _: &Input, _: Language, _: &Input) -> Result<Judged, Errors> {
    Err(Diagnostic::new("the IR is read by LLVM, which this build of ptx-atomics does not have").into())
}
