//! The findings of a run, in the format of rustc's errors.

use annotate_snippets::Level;
use ptx_atomics::check::language::{self, SourceLanguage};
use ptx_atomics::execute::{Fault, FaultKind, LaunchError};
use ptx_atomics::pass::Diagnostic;
use ptx_atomics::ptx::InstPlace;

pub use super::result::Importance;
use super::{
    place::RunPtx,
    result::{PlanFinding, PlanResult},
};
use crate::render::{self, Message};

pub fn print(found: &PlanResult, ptx: &RunPtx) {
    found.findings.iter().for_each(|shown| finding(shown, found, ptx));
    for note in &found.notes {
        let diagnostic = Diagnostic { location: ptx.line(InstPlace::line(note.line)), ..Diagnostic::new(&*note.what) };
        let message = Message { level: Level::NOTE, id: None, diagnostic: &diagnostic, first: None };
        render::message(&message, Some(&ptx.input));
    }
    found.errors.iter().for_each(|error| render::error(&launch_error(error, ptx), Some(&ptx.input)));
    for failed in &found.failed {
        let mut notes = vec![failed.why.clone()];
        notes.extend(found.with(&failed.seeds));
        render::error(&Diagnostic { notes, ..Diagnostic::new(format!("{} does not hold", failed.text)) }, None);
    }
}

/// The reason why a kernel was not launched, as an error.
pub fn launch_error(error: &LaunchError, ptx: &RunPtx) -> Diagnostic {
    Diagnostic {
        location: error.line.and_then(|line| ptx.line(InstPlace::line(line))),
        ..Diagnostic::new(&*error.reason)
    }
}

fn finding(PlanFinding { finding, kernel, level, seeds }: &PlanFinding, found: &PlanResult, ptx: &RunPtx) {
    fault(finding, kernel, *level, found.with(seeds).into_iter().collect(), ptx);
}

/// Prints a finding of a kernel, with notes on the execution that shows it.
pub fn fault(finding: &Fault, kernel: &str, level: Importance, last: Vec<String>, ptx: &RunPtx) {
    let mut notes: Vec<_> = ptx.inlined(&finding.site).into_iter().collect();
    notes.extend(sites(finding, ptx));
    notes.extend(last);
    let location = ptx.place(&finding.site);
    let language = location.as_ref().and_then(|at| SourceLanguage::from_file_name(&at.file));
    let diagnostic = Diagnostic {
        function: Some(kernel.to_owned()),
        location,
        notes,
        help: finding.help.as_ref().map(|help| language::executed(language, help)),
        ..Diagnostic::new(&*finding.message)
    };
    let level = match level {
        Importance::Unknown | Importance::Wrong => Level::ERROR,
        Importance::Warning => Level::WARNING,
    };
    let id = finding.kind.to_string();
    let first = finding.other.as_ref().and_then(|site| ptx.place(site));
    render::message(
        &Message { level, id: Some(&id), diagnostic: &diagnostic, first: first.as_ref() },
        Some(&ptx.input),
    );
}

/// The instructions of a finding in words, the first one first.
fn sites(finding: &Fault, ptx: &RunPtx) -> Vec<String> {
    let is_race = matches!(finding.kind, FaultKind::Race | FaultKind::SameValue);
    let [one, other] = if is_race { ["the second access", "the first access"] } else { ["here", "with"] };
    let first = finding.other.as_ref().map(|site| format!("{other}: {}", ptx.words(site)));
    let second = (finding.site.at.line > 0).then(|| format!("{one}: {}", ptx.words(&finding.site)));
    first.into_iter().chain(second).collect()
}
