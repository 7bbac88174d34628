//! A program that serves as a helper.

use ptx_atomics_common::helper::Pair;
use ptx_atomics_llvm::{Diagnostic, Errors};
use serde_json::Value;

#[cfg(feature = "analysis")]
use super::judge::judge;
use super::lower::forked;

/// Makes this program a [`Helper`](super::Helper). Call it at the beginning of `main`, before any other code. If the
/// process was started as a helper, this function does the given jobs and ends the process; otherwise it does nothing.
pub fn serve() {
    ptx_atomics_common::helper::serve(forked, judged);
}

#[cfg(feature = "analysis")]
fn judged(pair: &Pair, warn: &mut dyn FnMut(&str)) -> Result<Value, Errors> {
    let judged = judge(pair, warn)?;
    serde_json::to_value(judged).map_err(|error| Diagnostic::new(error.to_string()).into())
}

#[cfg(not(feature = "analysis"))]
fn judged(_: &Pair, _: &mut dyn FnMut(&str)) -> Result<Value, Errors> {
    let help = "build it with the feature `analysis` of ptx-atomics";
    Err(Diagnostic::new("the helper does not check").help(help).into())
}
