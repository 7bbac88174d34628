//! `ptx-atomics check --ir FILE --ptx FILE`: the comparison of PTX with its IR, as text and as lines of JSON.

use std::{path::Path, process::ExitCode};

use ptx_atomics::{
    check::order::{Fate, Judged},
    isolated::Language,
    pass::{Diagnostic, Errors, Input},
};

use super::{judged, order};
use crate::{cli::CheckArgs, input::read, render};

pub fn run(args: &CheckArgs, ir: &Path, ptx: &Path) -> ExitCode {
    let inputs = read(ir).and_then(|ir| Ok((ir, read(ptx)?)));
    let (ir, ptx) = match inputs {
        Ok(inputs) => inputs,
        Err(errors) => return failed(&errors, None),
    };
    let language = args.language.unwrap_or(Language::from_input(&ir));
    let done = judged::judge_pair(args, &ir, language, &ptx).and_then(|judged| {
        let warnings = order::warnings(&judged, &ptx);
        let (strange, others) = warnings.split_at(judged.strange.len());
        strange.iter().for_each(|warning| render::say(&format!("warning: {warning}")));
        if args.json {
            order::print(&judged).map_err(|error| Diagnostic::new(format!("cannot write: {error}")))?;
        } else {
            errors(&judged, &ir, &ptx);
            others.iter().for_each(|warning| render::say(&format!("warning: {warning}")));
            render::say(&order::summary(&judged));
        }
        match order::nothing(&judged, &ir, &ptx).filter(|_| !args.allow_empty) {
            Some(nothing) => Err(nothing.into()),
            None => Ok(judged.is_kept()),
        }
    });
    match done {
        Ok(is_kept) => {
            render::omitted();
            if is_kept { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(errors) => failed(&errors, Some(&ir)),
    }
}

fn failed(errors: &Errors, input: Option<&Input>) -> ExitCode {
    errors.iter().for_each(|error| render::error(error, input));
    render::omitted();
    ExitCode::FAILURE
}

/// Prints an error for each operation that is not kept. Errors about effects without an operation come first.
fn errors(judged: &Judged, ir: &Input, ptx: &Input) {
    let lost = judged.operations.iter().filter(|judgement| matches!(judgement.fate, Fate::Lost(_)));
    let (atomics, effects): (Vec<_>, Vec<_>) = lost.partition(|judgement| judgement.is_operation());
    for judgement in effects.into_iter().chain(atomics) {
        render::error(&order::diagnostic(judgement, ptx), Some(ir));
    }
}
