//! Findings as one JSON array.

use ptx_atomics::hazards::Cause;
use ptx_atomics::memory_model::kernel::shown;
use serde::Serialize;

use super::placed::Placed;
use crate::{edit::Edit, format, run::JsonSite};

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Found<'a> {
    /// The file that `line` is of: the source, where the PTX says its lines and it is there.
    file: &'a str,
    /// The file that was given, or the part of it: that of `edits`.
    program: &'a str,
    kernel: &'a str,
    /// The kernel as its source calls it.
    name: String,
    /// From 1; nothing where debug information has no place.
    line: Option<u32>,
    /// `order` or `async`.
    check: &'static str,
    rule: Option<&'static str>,
    /// `error`, `possible`, `warning`, `note` or `not-checked`.
    verdict: &'static str,
    profile: &'a str,
    message: &'a str,
    /// The atomic or the fence of the source, in words.
    operation: Option<&'a str>,
    /// Lines of the PTX.
    notes: &'a [String],
    /// The line of the first of two accesses, if it is in the same file.
    first: Option<u32>,
    help: Option<&'a str>,
    /// What is not known, in words; nothing where all is.
    unknown: Option<String>,
    /// The option that says it, as `--block THREADS`; nothing if none does.
    option: Option<String>,
    edits: Vec<Insertion<'a>>,
    /// The execution in which it goes wrong; nothing if none was found.
    execution: Option<Execution<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
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
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Insertion<'a> {
    line: u32,
    /// `before` or `after` the line, or `in-place` of its instruction.
    position: String,
    instruction: &'a str,
}

pub fn array(findings: &[Placed], profile: &str) -> String {
    let found = |placed| found(placed, profile);
    format::json(&findings.iter().map(found).collect::<Vec<_>>())
}

fn found<'a>(placed: &'a Placed, profile: &'a str) -> Found<'a> {
    let file = placed.place.as_ref().map_or(&placed.file, |place| &place.file);
    let first = placed.first.as_ref().filter(|first| first.file == *file);
    Found {
        file,
        program: &placed.program,
        kernel: &placed.kernel,
        name: shown(&placed.kernel),
        line: placed.place.as_ref().map(|place| place.line),
        check: placed.check.into(),
        rule: placed.rule.map(Into::into),
        verdict: placed.level.into(),
        profile,
        message: &placed.message,
        operation: placed.operation.as_deref(),
        notes: &placed.notes,
        first: first.map(|first| first.line),
        help: placed.help.as_deref(),
        unknown: placed.cause.as_ref().map(ToString::to_string),
        option: placed.cause.as_ref().and_then(Cause::option),
        edits: placed.edits.iter().map(insertion).collect(),
        execution: placed.executed.found().map(|found| execution(found, placed.repeat.as_deref())),
    }
}

fn execution<'a>((seed, found): (u64, &'a ptx_atomics::execute::Finding), command: Option<&'a str>) -> Execution<'a> {
    let (first, second) = (found.other.as_ref().map(Into::into), (&found.site).into());
    Execution { command, kind: found.kind.to_string(), seed, message: &found.message, first, second }
}

fn insertion(Edit { line, side, instruction }: &Edit) -> Insertion<'_> {
    Insertion { line: *line, position: side.to_string(), instruction }
}

#[cfg(test)]
#[test]
fn the_schema_in_the_book_is_that_of_the_findings() {
    let schema = schemars::schema_for!(Vec<Found<'_>>);
    let text = format::json(&schema);
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/check.schema.json");
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::write(&path, &text).expect("it can be written");
    }
    let book = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(book == text, "INSTA_UPDATE=always writes {} anew:\n{text}", path.display());
}
