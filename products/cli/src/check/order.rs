//! The messages about the order of PTX compared with its IR.

use std::io::{self, Write};

use ptx_atomics::{
    check::order::{Fate, Judged, Judgement},
    judge::Note,
    pass::{Diagnostic, Input, Location},
};
use serde::Serialize;
use strum::EnumMessage;

/// The fate of one operation, as JSON.
#[derive(Serialize)]
struct JsonLine<'a> {
    function: &'a str,
    operation: &'a str,
    verdict: &'a str,
    missing: &'a [String],
    notes: &'a [String],
    lines: &'a [u32],
}

/// The error about an operation that the PTX does not keep.
pub fn diagnostic(judgement: &Judgement, ptx: &Input) -> Diagnostic {
    let place = judgement.place.as_ref();
    Diagnostic {
        function: Some(judgement.function.clone()),
        location: place.map(|(file, line, column)| Location { file: file.clone(), line: *line, column: *column }),
        operation: Some(judgement.operation.clone()).filter(|operation| !operation.is_empty()),
        notes: instructions(judgement, ptx),
        ..Diagnostic::new(judgement.message())
    }
}

/// The instructions that implement an operation, with their lines.
fn instructions(judgement: &Judgement, ptx: &Input) -> Vec<String> {
    let lines: Vec<&str> = ptx.text().unwrap_or_default().lines().collect();
    let shown = |number: &u32| {
        let line = lines.get((*number as usize).checked_sub(1)?)?;
        Some(format!("{}:{number}: {}", ptx.name(), line.split_whitespace().collect::<Vec<_>>().join(" ")))
    };
    judgement.lines.iter().filter_map(shown).collect()
}

/// The error for a comparison that checked no operation.
pub fn nothing(judged: &Judged, ir: &Input, ptx: &Input) -> Option<Diagnostic> {
    let is_empty = judged.operations.iter().all(|judgement| judgement.fate == Fate::NotJudged);
    let (why, help) = if judged.operations.is_empty() {
        let help = "give the IR before its lowering, which replaces atomics by inline assembly";
        (format!("'{}' has no atomics or fences", ir.name()), help)
    } else {
        let help = "give the IR from which the PTX was generated, after inlining";
        (format!("'{}' lacks the functions that have atomics in the IR", ptx.name()), help)
    };
    let diagnostic =
        Diagnostic::new(format!("nothing was checked: {why}")).help(format!("{help}, or accept it by --allow-empty"));
    is_empty.then_some(diagnostic)
}

/// The summary in a line.
pub fn summary(judged: &Judged) -> String {
    let optimized = match judged.operations.iter().filter(|judgement| judgement.is_optimized).count() {
        0 => String::new(),
        count => format!(" ({count} of them optimized)"),
    };
    let kept = judged.count(|fate| fate == Fate::Kept);
    let lost = judged.count(|fate| matches!(fate, Fate::Lost(_)));
    let (all, open) = (judged.operations().count(), judged.count(|fate| fate == Fate::NotJudged));
    format!("{all} atomics and fences: {kept} kept{optimized}, {lost} not, {open} not checked")
}

/// The warnings about unusual facts that are not losses: first the functions for which the PTX has additional atomics.
pub fn warnings(judged: &Judged, ptx: &Input) -> Vec<String> {
    let numbers = |lines: &[u32]| lines.iter().map(u32::to_string).collect::<Vec<_>>().join(", ");
    let strange = judged.strange.iter().map(|(function, lines)| {
        format!("in '{function}', the PTX has atomics that the IR lacks, on line {}", numbers(lines))
    });
    let mut warnings: Vec<_> = strange.collect();
    let by_function = || judged.operations.chunk_by(|a, b| a.function == b.function);
    for of_function in by_function() {
        let count = of_function.iter().filter(|judgement| judgement.fate == Fate::NotJudged).count();
        let (name, function) = (ptx.name(), &of_function[0].function);
        if count > 0 {
            warnings.push(format!("'{name}' has no function '{function}': {count} operations are not checked"));
        }
    }
    for of_function in by_function() {
        let misplaced = of_function.iter().filter(|judgement| judgement.is_misplaced);
        let lines: Vec<u32> = misplaced.flat_map(|judgement| &judgement.lines).copied().collect();
        if !lines.is_empty() {
            let (function, note) = (&of_function[0].function, Note::Misplaced.get_message().unwrap_or_default());
            warnings
                .push(format!("in '{function}', the PTX keeps the ordering on line {}, but {note}", numbers(&lines)));
        }
    }
    warnings
}

/// Prints one JSON object for each operation.
pub fn print(judged: &Judged) -> io::Result<()> {
    let mut out = io::stdout().lock();
    for judgement in &judged.operations {
        let Judgement { function, operation, reasons, notes, lines, fate, .. } = judgement;
        let line = JsonLine { function, operation, verdict: fate.word(), missing: reasons, notes, lines };
        serde_json::to_writer(&mut out, &line)?;
        writeln!(out)?;
    }
    out.flush()
}
