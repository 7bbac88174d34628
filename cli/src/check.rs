//! `ptx-atomics check`.

use std::{
    io::{self, Write},
    path::Path,
    process::ExitCode,
};

use ptx_atomics::{
    check::{Found, Judged, judge, operations, optimized},
    isolated::{self, Language, Stage},
    judge::{Judgement, Loss, Note},
    llvm::{self, Diagnostic, Errors, Handlers, Input, Location, Settings, inkwell::context::Context},
    lowering::ptx::{Module, ModuleError, ModuleErrors},
};
use serde::Serialize;
use strum::EnumMessage;

use crate::{cli::CheckArgs, hazards, input::read, render};

/// What became of one operation, for a machine.
#[derive(Serialize)]
struct JsonLine<'a> {
    function: &'a str,
    operation: &'a str,
    /// `right`, `not-judged`, or the worst loss. Of what stands for no operation, `effect`.
    verdict: &'a str,
    missing: Vec<&'a str>,
    notes: Vec<&'static str>,
    /// Lines of the PTX.
    lines: &'a [u32],
}

pub fn run(args: &CheckArgs) -> ExitCode {
    match (&args.ir, &args.ptx) {
        (Some(ir), Some(ptx)) => compare(args, ir, ptx),
        _ => hazards::run(args),
    }
}

/// Judges PTX by the IR that it was made of.
fn compare(args: &CheckArgs, ir: &Path, ptx: &Path) -> ExitCode {
    let result = read(ir).and_then(|ir| Ok((ir, read(ptx)?))).and_then(|(ir, ptx)| {
        let work = || {
            let kept = check(args, &ir, &ptx).unwrap_or_else(|errors| fail(&errors, &ir));
            render::omitted();
            kept
        };
        isolated::run(work)
    });
    let kept = result.unwrap_or_else(|errors| {
        errors.iter().for_each(|error| render::error(error, None));
        false
    });
    if kept { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn fail(errors: &[Diagnostic], ir: &Input) -> bool {
    errors.iter().for_each(|error| render::error(error, Some(ir)));
    false
}

/// The whole job, in the child: whether all operations are kept.
fn check(args: &CheckArgs, ir: &Input, ptx: &Input) -> Result<bool, Errors> {
    let (text, module) = parse(ptx)?;
    isolated::stage(Stage::Read);
    let context = Context::create();
    llvm::install_handlers(
        &context,
        Handlers { error: isolated::fatal, warning: |text| render::say(&format!("warning: {text}")) },
    );
    let settings = Settings {
        default_scope: Some(args.default_scope),
        cuda_atomics: Some(args.cuda_atomics),
        ..Settings::default()
    };
    let language = args.language.unwrap_or(Language::of(ir));
    let operations = operations(&context, ir, language, &module, &settings, args.module.as_deref())?;
    // The process ends soon: to free what LLVM holds costs more than it gives.
    std::mem::forget(context);

    let mut judged = judge(&operations, &module, text)?;
    // As the IR is, and as a compiler sees it behind its own optimizer.
    let levels = if args.optimize_atomics { &[None, Some(2)][..] } else { &[] };
    for &level in levels {
        if judged.is_kept() {
            break;
        }
        let context = Context::create();
        // What the target has no lowering for is not optimized, and stays as it was judged.
        if let Ok(found) = optimized(&context, ir, language, &module, &settings, args.module.as_deref(), level) {
            judged.accept(&found, &module, text)?;
        }
    }
    for (function, lines) in &judged.strange {
        let lines: Vec<_> = lines.iter().map(u32::to_string).collect();
        let lines = lines.join(", ");
        render::say(&format!("warning: in '{function}', the PTX has atomics that the IR has not, on line {lines}"));
    }
    let kept = judged.is_kept();
    if args.json {
        print(&judged).map_err(|error| Diagnostic::new(format!("cannot write: {error}")))?;
    } else {
        report(&judged, ir, ptx.name(), text);
    }
    let judged = judged.operations;
    if kept && !args.allow_empty && judged.iter().all(|found| found.judgement.is_none()) {
        return Err(nothing_checked(&judged, ir, ptx).into());
    }
    Ok(kept)
}

fn nothing_checked(judged: &[Found<'_>], ir: &Input, ptx: &Input) -> Diagnostic {
    let (why, help) = if judged.is_empty() {
        let help = "give the IR from before its atomics were lowered: then they are inline assembly";
        (format!("'{}' has no atomics and fences", ir.name()), help)
    } else {
        let help = "give the IR from which the PTX was generated, after inlining";
        (format!("'{}' has none of the functions with atomics", ptx.name()), help)
    };
    Diagnostic::new(format!("nothing was checked: {why}")).help(format!("{help}; --allow-empty lets it pass"))
}

/// The text of the PTX, and what it says.
fn parse(ptx: &Input) -> Result<(&str, Module), Errors> {
    let no_text = || Diagnostic::new(format!("'{}' is no text", ptx.name()));
    let text = ptx.text().ok_or_else(no_text)?;
    let diagnostic = |ModuleError { line, reason, .. }| Diagnostic {
        location: Some(Location { file: ptx.name().to_owned(), line, column: 0 }),
        ..Diagnostic::new(format!("'{}' is no PTX: {reason}", ptx.name()))
    };
    let module = text.parse().map_err(|ModuleErrors(errors)| errors.into_iter().map(diagnostic).collect::<Vec<_>>())?;
    Ok((text, module))
}

/// What is done to memory and stands for no operation.
const EFFECT: &str = "the PTX does to memory what the IR does not";

fn print(judged: &Judged<'_>) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for Found { function, named, judgement } in &judged.operations {
        let nothing = Judgement::default();
        let found = judgement.as_ref().unwrap_or(&nothing);
        let line = JsonLine {
            function,
            operation: &named.operation,
            verdict: match judgement {
                None => "not-judged",
                Some(judgement) => judgement.loss().map_or("right", Into::into),
            },
            missing: found.violations.iter().map(|violation| &*violation.reason).collect(),
            notes: found.notes.iter().map(Into::into).collect(),
            lines: &found.lines,
        };
        serde_json::to_writer(&mut out, &line)?;
        writeln!(out)?;
    }
    for (function, lines) in &judged.effects {
        let (verdict, missing) = (Loss::Effect.into(), vec![EFFECT]);
        let line = JsonLine { function, operation: "", verdict, missing, notes: Vec::new(), lines };
        serde_json::to_writer(&mut out, &line)?;
        writeln!(out)?;
    }
    out.flush()
}

/// Prints an error for each operation that is not kept, and how many there are.
fn report(judged: &Judged<'_>, ir: &Input, ptx_name: &str, ptx: &str) {
    let lines: Vec<&str> = ptx.lines().collect();
    let shown = |number: &u32| {
        let line = lines.get((*number as usize).checked_sub(1)?)?;
        Some(format!("{ptx_name}:{number}: {}", line.split_whitespace().collect::<Vec<_>>().join(" ")))
    };
    for (function, lines) in &judged.effects {
        let diagnostic = Diagnostic {
            function: Some((*function).to_owned()),
            notes: lines.iter().filter_map(shown).collect(),
            ..Diagnostic::new(format!("{}: {EFFECT}", Loss::Effect.get_message().unwrap_or_default()))
        };
        render::error(&diagnostic, Some(ir));
    }
    let judged = &judged.operations;
    let mut lost = 0;
    for Found { function, named, judgement } in judged {
        let Some((judgement, loss)) = judgement.as_ref().and_then(|found| Some((found, found.loss()?))) else {
            continue;
        };
        lost += 1;
        let found = judgement.lines.iter().filter_map(shown);
        let reasons: Vec<_> = judgement.violations.iter().map(|violation| &*violation.reason).collect();
        let diagnostic = Diagnostic {
            function: Some((*function).to_owned()),
            location: named.location.clone(),
            operation: Some(named.operation.clone()),
            notes: found.collect(),
            ..Diagnostic::new(format!("{}: {}", loss.get_message().unwrap_or_default(), reasons.join(", ")))
        };
        render::error(&diagnostic, Some(ir));
    }
    let not_judged: Vec<_> = judged.iter().filter(|found| found.judgement.is_none()).collect();
    for of_function in not_judged.chunk_by(|a, b| a.function == b.function) {
        let (function, count) = (of_function[0].function, of_function.len());
        render::say(&format!(
            "warning: '{ptx_name}' has no function '{function}', of which {count} operations are not checked"
        ));
    }
    for of_function in judged.chunk_by(|a, b| a.function == b.function) {
        let misplaced = of_function.iter().filter_map(|found| found.judgement.as_ref());
        let misplaced = misplaced.filter(|judgement| judgement.notes.contains(&Note::Misplaced));
        let places: Vec<_> = misplaced.flat_map(|judgement| &judgement.lines).map(u32::to_string).collect();
        if !places.is_empty() {
            let (function, lines) = (of_function[0].function, places.join(", "));
            let what = Note::Misplaced.get_message().unwrap_or_default();
            render::say(&format!("warning: in '{function}', the PTX keeps the ordering on line {lines}, but {what}"));
        }
    }
    let kept = judged.len() - lost - not_judged.len();
    let notes =
        |note| judged.iter().filter_map(|found| found.judgement.as_ref()).filter(move |j| j.notes.contains(&note));
    let optimized = match notes(Note::Optimized).count() {
        0 => String::new(),
        count => format!(" ({count} as the optimizer may)"),
    };
    render::say(&format!(
        "{} atomics and fences: {kept} kept{optimized}, {lost} not, {} not checked",
        judged.len(),
        not_judged.len()
    ));
}
