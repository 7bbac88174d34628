//! `ptx-atomics check`.

use std::{path::Path, process::ExitCode};

use ptx_atomics::{
    isolated::Language,
    pass::{Diagnostic, Errors, Input},
};

use crate::{
    cli::CheckArgs,
    hazards,
    input::read,
    order::{Operation, Order, Verdict},
    races, render,
};

pub fn run(args: &CheckArgs) -> ExitCode {
    match (&args.ir, &args.ptx) {
        (Some(ir), Some(ptx)) => compare(args, ir, ptx),
        _ if args.kernels.races => races::run(args),
        _ => hazards::run(args),
    }
}

/// Judges PTX by the IR that it was made of.
fn compare(args: &CheckArgs, ir: &Path, ptx: &Path) -> ExitCode {
    let inputs = read(ir).and_then(|ir| Ok((ir, read(ptx)?)));
    let (ir, ptx) = match inputs {
        Ok(inputs) => inputs,
        Err(errors) => return failed(&errors, None),
    };
    let language = args.language.unwrap_or(Language::of(&ir));
    let done = Order::of(args, &ir, language, &ptx).and_then(|order| {
        let warnings = order.warnings(&ptx);
        let (strange, others) = warnings.split_at(order.strange.len());
        strange.iter().for_each(|warning| render::say(&format!("warning: {warning}")));
        if args.json {
            order.print().map_err(|error| Diagnostic::new(format!("cannot write: {error}")))?;
        } else {
            errors(&order, &ir, &ptx);
            others.iter().for_each(|warning| render::say(&format!("warning: {warning}")));
            render::say(&order.summary());
        }
        match order.nothing(&ir, &ptx).filter(|_| !args.allow_empty) {
            Some(nothing) => Err(nothing.into()),
            None => Ok(order.is_kept()),
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

/// Prints an error for each operation that is not kept. What stands for no operation comes first.
fn errors(order: &Order, ir: &Input, ptx: &Input) {
    let lost = order.operations.iter().filter(|operation| operation.verdict == Verdict::Lost);
    let (atomics, effects): (Vec<_>, Vec<_>) = lost.partition(|operation| !operation.operation.is_empty());
    for operation in effects.into_iter().chain(atomics) {
        render::error(&diagnostic(operation, ptx), Some(ir));
    }
}

/// What is lost of an operation.
fn diagnostic(operation: &Operation, ptx: &Input) -> Diagnostic {
    Diagnostic {
        function: Some(operation.function.clone()),
        location: operation.location(),
        operation: Some(operation.operation.clone()).filter(|operation| !operation.is_empty()),
        notes: operation.instructions(ptx),
        ..Diagnostic::new(operation.message())
    }
}
