//! The diagnostics of litmus tests: errors of their text, and the answer of the memory model.

use lsp_types::{Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity as Severity, Location, Range};
use ptx_atomics::memory_model::report::{Question, Subject, TestReport, word};
use ptx_atomics::memory_model::{
    condition::Quantifier,
    litmus::{Dialect, Error, Litmus, Read},
    outcome::Limits,
    ptx::Conventions,
};

use super::document::{Document, FixableDiagnostic, How};

pub fn judge(document: &Document, how: &How) -> Vec<FixableDiagnostic> {
    let text = document.text.as_str();
    let placed = |severity: Severity| move |error: &Error| wrong(document, severity, error);
    let Read { litmus, warnings, lines } = match Litmus::read_with_lines(text, Dialect::Ptx) {
        Ok(read) => read,
        Err(errors) => return errors.0.iter().map(placed(Severity::ERROR)).collect(),
    };
    let mut said: Vec<FixableDiagnostic> = warnings.iter().map(placed(Severity::WARNING)).collect();
    if let Some(time) = how.time {
        let limits = Limits { time: Some(time), ..Limits::default() };
        let conventions = Conventions { readings: how.readings(), ..Conventions::MANUAL };
        let question = Question { conventions, limits, outcomes: None, explain: true, draw: false, minimize: false };
        let subject = Subject { file: String::new(), litmus, compiled: None, lines, warnings: Vec::new() };
        said.extend(question.ask(vec![subject]).iter().map(|report| answer(document, report)));
    }
    said
}

/// A diagnostic for an error of the reader, which counts from 1.
fn wrong(document: &Document, severity: Severity, error: &Error) -> FixableDiagnostic {
    let line = u32::try_from(error.line).unwrap_or(u32::MAX);
    let range = document.text.find_words(line, error.column.saturating_sub(1));
    diagnostic(range, severity, error.message.clone(), None)
}

/// The answer, at the line of the condition.
fn answer(document: &Document, TestReport { answer, text, .. }: &TestReport) -> FixableDiagnostic {
    let (_, rest) = text.split_once('\n').unwrap_or_default();
    let race = answer.race.as_ref().map(|race| {
        let both = [&race.first, &race.second].into_iter().filter_map(|one| {
            let range = document.text.words(u32::try_from(one.line?).ok()?);
            let location = Location { uri: document.uri.clone(), range };
            Some(DiagnosticRelatedInformation { location, message: format!("{} of {}", one.instruction, one.thread) })
        });
        both.collect()
    });
    let message = format!("{} {}\n{}", answer.name, word(answer), rest.trim_end());
    diagnostic(document.text.words(condition(document.text.as_str())), Severity::INFORMATION, message, race)
}

/// The line of the condition, from 1: the last line that begins like a condition.
fn condition(text: &str) -> u32 {
    let words =
        [Quantifier::Exists, Quantifier::NotExists, Quantifier::Forall].map(|quantifier| quantifier.to_string());
    let begins = |line: &str| {
        let line: String = line.split_whitespace().collect();
        words.iter().any(|word| line.starts_with(word))
    };
    let numbers = text.lines().zip(1..).filter(|(line, _)| begins(line)).map(|(_, number)| number);
    numbers.last().unwrap_or(1)
}

fn diagnostic(
    range: Range,
    severity: Severity,
    message: String,
    related: Option<Vec<DiagnosticRelatedInformation>>,
) -> FixableDiagnostic {
    let diagnostic = Diagnostic {
        range,
        severity: Some(severity),
        source: Some("ptx-atomics".to_owned()),
        message,
        related_information: related,
        ..Default::default()
    };
    FixableDiagnostic { diagnostic, fix: None }
}
