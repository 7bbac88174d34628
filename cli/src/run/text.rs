//! What a run found, as rustc prints errors.

use annotate_snippets::Level as Said;
use ptx_atomics::pass::Diagnostic;
use ptx_execute::{FindingKind, LaunchError};

use super::{
    argument::Content,
    element,
    expect::Memory,
    found::{Found, Level, Shown as Finding},
    place::{self, Shown},
};
use crate::render::{self, Message};

pub fn print(found: &Found, ptx: &Shown) {
    found.findings.iter().for_each(|shown| finding(shown, found.seeds, ptx));
    for note in &found.notes {
        let diagnostic = Diagnostic { location: ptx.line(note.line), ..Diagnostic::new(&*note.what) };
        let message = Message { level: Said::NOTE, id: None, diagnostic: &diagnostic, first: None };
        render::message(&message, Some(&ptx.input));
    }
    found.errors.iter().for_each(|error| render::error(&launch_error(error, ptx), Some(&ptx.input)));
    for failed in &found.failed {
        let mut notes = vec![failed.why.clone()];
        notes.extend(seeds(&failed.seeds, found.seeds));
        render::error(&Diagnostic { notes, ..Diagnostic::new(format!("{} does not hold", failed.text)) }, None);
    }
}

/// Why a kernel was not launched, as an error.
pub fn launch_error(error: &LaunchError, ptx: &Shown) -> Diagnostic {
    Diagnostic { location: error.line.and_then(|line| ptx.line(line)), ..Diagnostic::new(&*error.reason) }
}

fn finding(Finding { finding, kernel, level, seeds: of, .. }: &Finding, all: usize, ptx: &Shown) {
    let mut notes = sites(finding, ptx);
    notes.extend(place::unnamed(finding).map(|place| format!("in memory: {place}")));
    notes.extend(seeds(of, all));
    let diagnostic = Diagnostic {
        function: Some(kernel.clone()),
        location: ptx.place(&finding.site),
        notes,
        help: finding.help.clone(),
        ..Diagnostic::new(&*finding.message)
    };
    let level = match level {
        Level::Unknown | Level::Wrong => Said::ERROR,
        Level::Warning => Said::WARNING,
    };
    let id = finding.kind.to_string();
    let first = finding.other.as_ref().and_then(|site| ptx.place(site));
    render::message(
        &Message { level, id: Some(&id), diagnostic: &diagnostic, first: first.as_ref() },
        Some(&ptx.input),
    );
}

/// The instructions of a finding in words, the first one first.
pub fn sites(finding: &ptx_execute::Finding, ptx: &Shown) -> Vec<String> {
    let is_race = matches!(finding.kind, FindingKind::Race | FindingKind::SameValue);
    let [one, other] = if is_race { ["the second access", "the first access"] } else { ["here", "with"] };
    let first = finding.other.as_ref().map(|site| format!("{other}: {}", ptx.words(site)));
    let second = (finding.site.line > 0).then(|| format!("{one}: {}", ptx.words(&finding.site)));
    first.into_iter().chain(second).collect()
}

/// With which of several seeds.
fn seeds(of: &[u64], all: usize) -> Option<String> {
    let first = of.first().filter(|_| all > 1)?;
    Some(match of.len() {
        1 => format!("with seed {first} of {all} seeds"),
        count => format!("with {count} of {all} seeds, first with seed {first}"),
    })
}

/// What nobody has asked for, in one line.
pub fn chosen(found: &Found) -> Option<String> {
    let grows = found.plan.buffers.iter().filter(|buffer| buffer.content == Content::Grows);
    let buffers = match &grows.map(|buffer| &*buffer.name).collect::<Vec<_>>()[..] {
        [] => None,
        [one] => Some(format!("{one} is a buffer of small random numbers")),
        all => Some(format!("{} are buffers of small random numbers", all.join(", "))),
    };
    let all: Vec<_> = buffers.into_iter().chain(found.plan.chosen()).collect();
    (!all.is_empty()).then(|| format!("note: chosen, since nothing says it: {}", all.join("; ")))
}

/// A line about the whole run.
pub fn summary(found: &Found, races: bool) -> String {
    let counted = |count: usize, what: &str| format!("{count} {what}{}", if count == 1 { "" } else { "s" });
    let other = |shown: &&Finding, level| shown.finding.kind != FindingKind::Race && shown.level == level;
    let others = |level| found.findings.iter().filter(|shown| other(shown, level)).count();
    let end = if found.status() == 2 { "not run to its end, " } else { "" };
    let steps = format!("{} by threads", counted(found.steps as usize, "instruction"));
    let races = match found.races() {
        _ if !races => "races not looked for".to_owned(),
        0 => "no race".to_owned(),
        count => counted(count, "race"),
    };
    let rest = [
        (others(Level::Wrong) + others(Level::Unknown) + found.errors.len(), "other error"),
        (others(Level::Warning), "warning"),
        (found.failed.len(), "failed condition"),
    ];
    let rest = rest.iter().filter(|(count, _)| *count > 0).map(|(count, what)| counted(*count, what));
    let all = [format!("{end}{steps}"), races].into_iter().chain(rest).chain([counted(found.seeds, "seed")]);
    format!("{}: {}", found.plan.title(), all.collect::<Vec<_>>().join(", "))
}

/// What a buffer or a variable holds, in one line.
pub fn contents(found: &Found, name: &str, most: Option<usize>) -> Option<String> {
    let (ty, bytes) = found.memory.get(name)?;
    let all = bytes.chunks_exact(element::size(ty));
    let count = all.len();
    let shown: Vec<_> = all.take(most.unwrap_or(usize::MAX)).map(|bytes| element::shown(ty, bytes)).collect();
    let more = if shown.len() < count { ", …" } else { "" };
    Some(format!("{name} = [{}{more}]\n", shown.join(", ")))
}
