//! `ptx_atomics_litmus`.

use std::time::Duration;

use ptx_atomics_common::{Diagnostic, Location};
use ptx_memory_model::report::{Question, Subject, why};
use ptx_memory_model::{
    litmus::{Dialect, Error, Litmus, Read},
    outcome::Limits,
    ptx::Conventions,
};

use crate::{
    answer::{Answer, Message, Misuse},
    arguments::deep,
    constants::DiagnosticSeverity,
    options::{CallOptions, READINGS},
};

pub fn litmus(test: &str, name: &str, options: &str, milliseconds: u32) -> Result<Answer, Misuse> {
    let CallOptions { readings, .. } = match CallOptions::read(options, &[&READINGS]) {
        Ok(options) => options,
        Err(errors) => return Ok(Answer::errors(errors)),
    };
    let time = (milliseconds > 0).then(|| Duration::from_millis(milliseconds.into()));
    let question = Question {
        conventions: Conventions { readings, ..Conventions::MANUAL },
        limits: Limits { time, ..Limits::default() },
        outcomes: None,
        explain: false,
        draw: false,
        minimize: false,
    };
    Ok(deep(|| answered(test, name, question)))
}

fn answered(test: &str, name: &str, question: Question) -> Answer {
    let placed = |error: Error| {
        let place = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
        let (line, column) = (place(error.line), place(error.column));
        let location = Some(Location { file: name.to_owned(), line, column });
        Diagnostic { location, ..Diagnostic::new(error.message) }
    };
    let Read { litmus, warnings, lines } = match Litmus::read_with_lines(test, Dialect::Ptx) {
        Ok(read) => read,
        Err(errors) => return Answer::errors(errors.0.into_iter().map(placed).collect()),
    };
    let subject = Subject { file: name.to_owned(), litmus, compiled: None, lines, warnings: Vec::new() };
    let answers: Vec<_> = question.ask(vec![subject]).into_iter().map(|report| report.answer).collect();
    let unknown = answers.iter().filter_map(|answer| answer.unknown);
    let unknown = unknown.map(|limit| Diagnostic::new(format!("the verdict is unknown: {}", why(limit))));
    let warnings = warnings.into_iter().map(placed).chain(unknown);
    let messages = warnings.map(|warning| Message::new(DiagnosticSeverity::Warning, warning, None)).collect();
    let json = serde_json::to_string_pretty(&answers).expect("an answer has only strings and numbers") + "\n";
    Answer { messages, ..Answer::text(json) }
}
