//! What is said of PTX: errors of its text, and what `check` finds.

use clap::Parser;
use lsp_types::{
    CodeDescription, Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity as Severity, Location,
    NumberOrString, TextEdit, Uri,
};
use ptx_atomics::{pass::Input, ptx::legality};
use serde_json::json;

use super::document::{Document, Fix, How, Said};
use crate::{
    cli::{CheckArgs, Cli, Command},
    edit::Edit,
    hazards::{Level, Placed, in_text},
};

/// Where the sections stand that rules are from.
const MANUAL: &str = "https://docs.nvidia.com/cuda/parallel-thread-execution/";

/// Who says it.
pub const SOURCE: &str = "ptx-atomics";

pub fn judge(document: &Document, how: &How) -> Vec<Said> {
    let text = document.text.as_str();
    let (_, errors) = legality::read(text);
    let errors = errors.into_iter().map(|error| {
        let range = document.text.range(error.span);
        let source = Some(SOURCE.to_owned());
        let severity = Some(Severity::ERROR);
        Said {
            diagnostic: Diagnostic { range, severity, source, message: error.reason, ..Default::default() },
            fix: None,
        }
    });
    let found = in_text(&arguments(document, how), &Input::new("document", text));
    errors.chain(found.iter().map(|placed| said(document, placed))).collect()
}

/// What `check` is told of a document.
fn arguments(document: &Document, how: &How) -> CheckArgs {
    let Command::Check(mut args) = Cli::parse_from(["ptx-atomics", "check", "--only", "async", "document"]).command
    else {
        unreachable!("`check` is the command that was parsed")
    };
    args.readings = how.readings.clone();
    args.kernels.time_limit = how.time.unwrap_or_default();
    args.kernels.stop = how.time.map(|time| document.stop(time)).unwrap_or_default();
    args
}

fn severity(level: Level) -> Severity {
    match level {
        Level::Error => Severity::ERROR,
        Level::Possible | Level::Warning => Severity::WARNING,
        Level::Note | Level::NotChecked => Severity::INFORMATION,
    }
}

fn said(document: &Document, placed: &Placed) -> Said {
    let notes = placed.executed.notes(true);
    let help = placed.help.iter().map(|help| format!("help: {help}"));
    let message = [placed.message.clone()].into_iter().chain(notes).chain(help).collect::<Vec<_>>().join("\n");
    let first = placed.first.as_ref().map(|first| related(&document.uri, document.text.words(first.line)));
    let manual = || Some(CodeDescription { href: MANUAL.parse::<Uri>().ok()? });
    let diagnostic = Diagnostic {
        range: document.text.words(placed.place.as_ref().map_or(1, |place| place.line)),
        severity: Some(severity(placed.level)),
        code: placed.rule.map(|rule| NumberOrString::String(rule.to_string())),
        code_description: placed.rule.and_then(|_| manual()),
        source: Some(SOURCE.to_owned()),
        message,
        related_information: first.map(|first| vec![first]),
        tags: None,
        data: placed.rule.map(|rule| json!({ "rule": rule.to_string(), "source": rule.source(), "manual": MANUAL })),
    };
    let fix = (!placed.edits.is_empty()).then(|| Fix {
        title: placed.help.clone().unwrap_or_default(),
        edits: placed.edits.iter().map(|edit| insertion(document, edit)).collect(),
    });
    Said { diagnostic, fix }
}

fn related(uri: &Uri, range: lsp_types::Range) -> DiagnosticRelatedInformation {
    let location = Location { uri: uri.clone(), range };
    DiagnosticRelatedInformation { location, message: "the first access".to_owned() }
}

fn insertion(document: &Document, edit: &Edit) -> TextEdit {
    let [start, end] = edit.lines();
    let (place, new_text) = document.text.insertion(start, edit.line, &format!("{};", edit.instruction));
    let (end, _) = document.text.insertion(end, edit.line, "");
    TextEdit { range: lsp_types::Range::new(place, end), new_text }
}
