//! The explanation of an end of LLVM's backend: the function, the operation in it, and a target that supports the
//! operation.
//!
//! LLVM's message says little, and no table in this crate could follow all of LLVM; the known limits of intrinsics are
//! reported earlier. The search for an explanation compiles parts of the module, each in a child process.

use std::{
    ops::Range,
    time::{Duration, Instant},
};

use ptx_atomics_common::helper::Job;
use ptx_atomics_llvm::{Diagnostic, LLVM_VERSION, NEWEST_PTX};
use ptx_lowering::{PtxVersion, Sm, Target};

use super::{
    obituary::{is_crash, obituary},
    part::Part,
    process::{self, Cause, Death, Quiet, Stage},
    work::work,
};

/// The time limit of the search for a target.
const PATIENCE: Duration = Duration::from_secs(10);

/// The error of a process that did not return. If LLVM's backend ended the process, the error includes the results of
/// the search.
pub fn explain(job: &Job, death: Death) -> Diagnostic {
    let own = match &death.cause {
        Cause::Fatal(_) | Cause::Unknown => true,
        Cause::Signal(signal) => is_crash(*signal),
        Cause::Panic(_) | Cause::Memory | Cause::Stack => false,
    };
    if death.stage != Some(Stage::Emit) || !own {
        return obituary(death, None);
    }
    let Some((index, death)) = culprit(job, death.functions.count) else { return obituary(death, None) };
    let function = Some(death.functions.first.clone());
    let Some(reason) = death.reason() else { return obituary(death, function) };
    let part = |without| Part { functions: index..index + 1, without };

    let deadline = Instant::now() + PATIENCE;
    let (gpu, version) = &death.functions.target;
    let target = gpu.parse().ok().zip(version.parse().ok()).and_then(|(sm, ptx)| Target::new(sm, Some(ptx)).ok());
    let help = target.and_then(|target| sufficient(job, &part(None), target, deadline));
    let help = help.unwrap_or_else(|| {
        format!("the atomics were lowered; another part fails: `llc-{LLVM_VERSION}` fails on it too")
    });
    let Some(node) = unselected(reason) else {
        return obituary(death, function).help(help);
    };
    let named = node.strip_prefix("intrinsic %").map(str::to_owned).or_else(|| {
        let other = |intrinsic: &&String| {
            let left = died(job, part(Some((*intrinsic).clone())));
            Instant::now() < deadline && left.is_none_or(|left| left.reason().and_then(unselected) != Some(node))
        };
        death.functions.intrinsics.iter().find(other).cloned()
    });
    let (what, notes) = match named {
        Some(intrinsic) => (intrinsic, Vec::new()),
        None => (node.to_owned(), vec!["LLVM does not name the instruction in the function".to_owned()]),
    };
    let target = target.map(|target| format!(" for {target}")).unwrap_or_default();
    let message = format!("LLVM has no instruction{target} that does {what}");
    Diagnostic { function, notes, ..Diagnostic::new(message).help(help) }
}

/// The operation that LLVM cannot select, without addresses in LLVM's memory.
fn unselected(reason: &str) -> Option<&str> {
    let node = reason.strip_prefix("Cannot select: ")?.lines().next()?;
    let operation = node.split_once(" = ").map_or(node, |(_, operation)| operation);
    if operation.starts_with("intrinsic ") {
        return Some(operation);
    }
    operation.split([' ', '<']).next()
}

/// The death of a process that works on a part; `None` if it succeeds.
fn died(job: &Job, part: Part) -> Option<Death> {
    tried(job, part)?.err()
}

/// Whether the work on a part succeeds, or the death of its process; `None` if no process can be started.
fn tried(job: &Job, part: Part) -> Option<Result<bool, Death>> {
    let work = || (work(job, Some(part)).is_ok(), Vec::new());
    Some(process::run(Quiet::Yes, &mut |_| {}, work).ok()?.map(|(done, _)| done))
}

/// The index of the function on which the backend dies, found by bisection.
fn culprit(job: &Job, functions: usize) -> Option<(usize, Death)> {
    let dies = |functions: Range<usize>| died(job, Part { functions, without: None });
    let mut range = 0..functions;
    let mut found = None;
    while range.len() > 1 || found.is_none() {
        let middle = range.start + range.len().div_ceil(2);
        (range, found) = match dies(range.start..middle) {
            Some(death) => (range.start..middle, Some(death)),
            None => (middle..range.end, Some(dies(middle..range.end)?)),
        };
    }
    found.map(|death| (range.start, death))
}

/// The option for the lowest GPU, and on it the lowest PTX version, for which the part compiles. Returns `None` if the
/// search exceeds the deadline.
fn sufficient(job: &Job, part: &Part, target: Target, deadline: Instant) -> Option<String> {
    let compiles = |sm: Sm, ptx: PtxVersion| {
        let options = format!("{},mcpu={},mattr=+{}", job.options, sm.name(), ptx.feature());
        tried(&job.with_options(options), part.clone()).is_some_and(|tried| matches!(tried, Ok(true)))
    };
    for sm in Sm::all().filter(|sm| sm.number() >= target.sm.number()) {
        if Instant::now() > deadline {
            return None;
        }
        if compiles(sm, NEWEST_PTX) {
            let versions = PtxVersion::all().filter(|ptx| (target.ptx..=NEWEST_PTX).contains(ptx));
            let versions: Vec<_> = versions.filter(|ptx| Target::new(sm, Some(*ptx)).is_ok()).collect();
            let lowest = versions.partition_point(|ptx| !compiles(sm, *ptx));
            let ptx = versions.get(lowest).copied().unwrap_or(NEWEST_PTX);
            return Some(format!("it compiles with --mcpu {} --mattr +{}", sm.name(), ptx.feature()));
        }
    }
    Some(format!("LLVM {LLVM_VERSION} compiles it for no GPU from {} on", target.sm.name()))
}
