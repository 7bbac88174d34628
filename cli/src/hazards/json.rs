//! Findings as one JSON array.

use ptx_atomics::memory_model::kernel::shown;
use ptx_hazards::{Edit, Position, Witness};
use serde::Serialize;

use super::placed::Placed;
use crate::{format, run::JsonSite};

#[derive(Serialize)]
struct Found<'a> {
    file: &'a str,
    kernel: &'a str,
    /// The kernel as its source calls it.
    name: String,
    /// From 1; nothing where debug information has no place.
    line: Option<u32>,
    rule: Option<&'static str>,
    /// `error`, `possible`, `warning`, `note` or `not-checked`.
    verdict: &'static str,
    profile: &'a str,
    message: &'a str,
    /// The line of the first of two accesses, if it is in the same file.
    first: Option<u32>,
    help: Option<&'a str>,
    edits: Vec<Insertion<'a>>,
    /// The execution in which it goes wrong; nothing if none was found.
    execution: Option<Execution<'a>>,
}

#[derive(Serialize)]
struct Execution<'a> {
    /// What repeats it.
    command: Option<&'a str>,
    kind: String,
    seed: u64,
    message: &'a str,
    first: Option<JsonSite<'a>>,
    second: JsonSite<'a>,
}

/// An instruction to be put in.
#[derive(Serialize)]
struct Insertion<'a> {
    line: u32,
    /// `before` or `after` the line.
    position: &'static str,
    instruction: &'a str,
}

pub fn array(findings: &[Placed], profile: &str) -> String {
    let found = |placed| found(placed, profile);
    format::json(&findings.iter().map(found).collect::<Vec<_>>())
}

fn found<'a>(placed: &'a Placed, profile: &'a str) -> Found<'a> {
    let first = placed.first.as_ref().filter(|first| first.file == placed.file);
    Found {
        file: &placed.file,
        kernel: &placed.kernel,
        name: shown(&placed.kernel),
        line: placed.place.as_ref().map(|place| place.line),
        rule: placed.rule.map(Into::into),
        verdict: placed.level.into(),
        profile,
        message: &placed.message,
        first: first.map(|first| first.line),
        help: placed.help.as_deref(),
        edits: placed.edits.iter().map(insertion).collect(),
        execution: placed.executed.witness().map(|witness| execution(witness, placed.repeat.as_deref())),
    }
}

fn execution<'a>(Witness { seed, found, .. }: &'a Witness, command: Option<&'a str>) -> Execution<'a> {
    let (first, second) = (found.other.as_ref().map(Into::into), (&found.site).into());
    let kind = found.kind.to_string();
    Execution { command, kind, seed: *seed, message: &found.message, first, second }
}

fn insertion(Edit { line, position, instruction }: &Edit) -> Insertion<'_> {
    let position = match position {
        Position::Before => "before",
        Position::After => "after",
    };
    Insertion { line: *line, position, instruction }
}
