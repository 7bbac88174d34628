//! The diagnostics of PTX: errors of its text, and the findings of `check`.

use clap::Parser;
use lsp_types::{
    CodeDescription, Diagnostic, DiagnosticRelatedInformation, DiagnosticSeverity as Severity, Location,
    NumberOrString, TextEdit, Uri,
};
use ptx_atomics::{
    check::{Edit, Rule, Severity as FindingSeverity, View},
    pass::Input,
    ptx::legality,
};
use serde_json::json;

use super::document::{Document, Fix, FixableDiagnostic, How};
use crate::{
    check::{in_text, in_thread},
    cli::{CheckArgs, Cli, Command},
    input::{self, IR_OF_TRITON},
};

/// The address of the manual, whose sections define the rules.
const MANUAL: &str = "https://docs.nvidia.com/cuda/parallel-thread-execution/";

/// The name of the source of diagnostics.
pub const SOURCE: &str = "ptx-atomics";

pub fn judge(document: &Document, how: &How) -> Vec<FixableDiagnostic> {
    let text = document.text.as_str();
    let (_, errors) = legality::read(text);
    let errors = errors.into_iter().map(|error| {
        let range = document.text.range(error.span);
        let source = Some(SOURCE.to_owned());
        let severity = Some(Severity::ERROR);
        FixableDiagnostic {
            diagnostic: Diagnostic { range, severity, source, message: error.reason, ..Default::default() },
            fix: None,
        }
    });
    let input = Input::new("document", text);
    let judged = ir(document).and_then(|ir| in_thread(ir, input.clone()).ok());
    let module = in_text(&arguments(document, how), &input, judged.as_ref());
    let views = module.iter().flat_map(|module| {
        let shown = module.document(&input);
        let all = module.report.kernels.iter().flat_map(|kernel| shown.views(kernel));
        all.filter(|view| view.finding.allowed.is_none())
            .map(|view| build_diagnostic(document, &view))
            .collect::<Vec<_>>()
    });
    errors.chain(views).collect()
}

/// The IR from which a compiler made a document, found by the name of the document.
fn ir(document: &Document) -> Option<Input> {
    input::read(&input::find_sibling(&document.path()?, &[IR_OF_TRITON, "ll"])?).ok()
}

/// The arguments of `check` for a document.
fn arguments(document: &Document, how: &How) -> CheckArgs {
    let Command::Check(mut args) = Cli::parse_from(["ptx-atomics", "check", "document"]).command else {
        unreachable!("`check` is the command that was parsed")
    };
    args.readings = how.readings.clone();
    args.kernels.quick = how.time.is_none();
    args.kernels.stop = document.stop();
    args
}

fn severity(severity: FindingSeverity) -> Severity {
    match severity {
        FindingSeverity::Error => Severity::ERROR,
        FindingSeverity::Warning => Severity::WARNING,
        FindingSeverity::Note => Severity::INFORMATION,
    }
}

fn build_diagnostic(document: &Document, view: &View<'_>) -> FixableDiagnostic {
    let notes = view.notes.iter().cloned();
    let rule: Option<Rule> = view.finding.rule;
    let help = view.help.iter().map(|help| format!("help: {help}"));
    let message = [view.message.clone()].into_iter().chain(notes).chain(help).collect::<Vec<_>>().join("\n");
    let first = view.first.as_ref().map(|first| related(&document.uri, document.text.words(first.line)));
    // The operation has a place in the IR. If an instruction implements the operation, the instruction has a place in
    // the document.
    let (line, message) = match (&view.finding.operation, view.finding.sites.first()) {
        (Some(operation), site) => {
            let place = view.place.as_ref().map(|place| format!("{place}: ")).unwrap_or_default();
            (site.map(|site| site.at.line), format!("{message}\n{place}{}", operation.text))
        }
        (None, _) => (view.place.as_ref().map(|place| place.line), message),
    };
    let manual = || Some(CodeDescription { href: MANUAL.parse::<Uri>().ok()? });
    let diagnostic = Diagnostic {
        range: document.text.words(line.unwrap_or(1)),
        severity: Some(severity(view.finding.severity)),
        code: rule.map(|rule| NumberOrString::String(rule.name().to_owned())),
        code_description: rule.and_then(|_| manual()),
        source: Some(SOURCE.to_owned()),
        message,
        related_information: first.map(|first| vec![first]),
        tags: None,
        data: rule.map(|rule| json!({ "rule": rule.name(), "source": rule.source(), "manual": MANUAL })),
    };
    let edits: Vec<&Edit> = view.all_edits().collect();
    let fix = (!edits.is_empty()).then(|| Fix {
        title: view.help.clone().unwrap_or_default(),
        edits: edits.iter().map(|edit| insertion(document, edit)).collect(),
    });
    FixableDiagnostic { diagnostic, fix }
}

fn related(uri: &Uri, range: lsp_types::Range) -> DiagnosticRelatedInformation {
    let location = Location { uri: uri.clone(), range };
    DiagnosticRelatedInformation { location, message: "the first access".to_owned() }
}

fn insertion(document: &Document, edit: &Edit) -> TextEdit {
    let [start, end] = edit.lines();
    let (place, new_text) = document.text.insertion(start, edit.at.line, &format!("{};", edit.instruction));
    let (end, _) = document.text.insertion(end, edit.at.line, "");
    TextEdit { range: lsp_types::Range::new(place, end), new_text }
}
