//! The comparison of PTX with its IR, which LLVM reads in another process.

use std::sync::LazyLock;

use ptx_atomics::{
    check::order::Judged,
    isolated::{self, Helper, Language, Pair},
    pass::{Errors, Input},
};

use crate::{cli::CheckArgs, render};

/// Whether this build reads IR.
pub const READS_IR: bool = cfg!(feature = "llvm");

/// Judges PTX by IR. In a build without LLVM, an installed command with LLVM does the work.
pub fn judge_pair(args: &CheckArgs, ir: &Input, language: Language, ptx: &Input) -> Result<Judged, Errors> {
    let mut pair = Pair::new(ir.clone(), ptx.clone());
    pair.language = language;
    pair.module.clone_from(&args.module);
    let cuda_atomics = if args.cuda_atomics { "on" } else { "off" };
    pair.options = format!("default-scope={},cuda-atomics={cuda_atomics}", args.default_scope);
    pair.may_be_optimized = args.optimize_atomics;
    isolated::judge(&pair, |text| render::say(&format!("warning: {text}")))
}

/// The helper for a program with several threads: the program itself, if it has LLVM.
static HELPER: LazyLock<Option<Helper>> = LazyLock::new(|| Helper::this_program().ok());

/// Judges PTX by IR in a program with several threads.
pub fn in_thread(ir: Input, ptx: Input) -> Result<Judged, Errors> {
    let pair = Pair::new(ir, ptx);
    match &*HELPER {
        Some(helper) => helper.judge(&pair, |_| ()),
        None => isolated::judge(&pair, |_| ()),
    }
}
