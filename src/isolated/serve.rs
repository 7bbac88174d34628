//! A program that serves as a helper.

use ptx_atomics_common::helper::Pair;
use ptx_atomics_llvm::{Diagnostic, Errors};
use serde_json::Value;

#[cfg(feature = "analysis")]
use super::judge::judge;
use super::lower::forked;

/// Makes this program a [`Helper`](super::Helper): call it at the beginning of `main`, before anything else. Where a helper was
/// asked for, it does the jobs that it is given and ends the process; or else it does nothing.
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
