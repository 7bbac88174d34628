//! Findings where their readers look for them: in the source where the PTX says its lines, else in the PTX.

use ptx_atomics::pass::Location;
use ptx_atomics::ptx::InstPlace;
use ptx_atomics::races::{
    check::{Class, Finding, Report, Verdict},
    remedy::{BARRIER, Change},
};

use super::file::{File, command};
use crate::{
    cli::{Check, CheckArgs},
    edit::{Edit, Side},
    hazards::{Executed, Level, Placed},
    remedy::{self, SourceLanguage},
    run::{place, sites},
    sourced::sourced,
};

/// What is to be said of a file. What is not proved of a kernel that is wrong is in the JSON alone.
pub fn all(args: &CheckArgs, file: &File) -> Vec<Placed> {
    let of = |report: &Report| {
        let is_open = report.verdict == Verdict::Open;
        let said = report.findings.iter().filter(move |finding| is_open || finding.witness.is_some());
        said.map(|finding| placed(args, file, report, finding)).collect::<Vec<_>>()
    };
    file.reports.iter().flat_map(of).collect()
}

/// What executions show. Stores of the same value are a warning, as for `run`: compilers make them of values that several threads have.
pub fn shown(args: &CheckArgs, file: &File) -> Vec<Placed> {
    let one = |report: &Report, finding: &Finding| {
        let own = placed(args, file, report, finding);
        let level = if finding.class == Class::SameValue { Level::Warning } else { own.level };
        own.repeat.is_some().then_some(Placed { level, ..own })
    };
    let of = |report: &Report| report.findings.iter().filter_map(|finding| one(report, finding)).collect::<Vec<_>>();
    file.reports.iter().flat_map(of).collect()
}

fn placed(args: &CheckArgs, file: &File, report: &Report, finding: &Finding) -> Placed {
    let level = match finding.class {
        Class::Race | Class::SameValue | Class::Divergent if report.has_block => Level::Error,
        Class::Race | Class::SameValue | Class::Divergent => Level::Possible,
        Class::NotProved => Level::Possible,
        Class::NotFollowed => Level::NotChecked,
    };
    let witness = finding.witness.as_ref();
    let found = witness.map(|witness| &witness.found);
    let pair = found.map_or(finding.pair, |found| {
        let own = found.site.at;
        [found.other.as_ref().map_or(own, |site| site.at), own]
    });
    let [first, place] = pair.map(|own| at(file, own));
    let mut notes: Vec<_> = sourced(&file.places, pair[1].line).and_then(|source| source.inlined).into_iter().collect();
    notes.extend(found.into_iter().flat_map(|found| sites(found, &file.ptx)));
    notes.extend(found.and_then(|found| Some(format!("in memory: {}", place::unnamed(found)?))));
    if witness.is_some() && !report.has_block {
        notes.push("the number of threads in a CTA is chosen: with --block it is settled".to_owned());
    }
    if witness.is_none() && !file.is_ptx {
        let [one, other] = finding.pair;
        let lines = if one == other { format!("line {one}") } else { format!("lines {one} and {other}") };
        notes.push(format!("{lines} of the PTX"));
    }
    Placed {
        check: Check::Races,
        kernel: report.kernel.clone(),
        rule: None,
        level,
        message: finding.message.clone(),
        operation: None,
        notes,
        program: file.name.clone(),
        file: place.as_ref().map_or_else(|| file.name.clone(), |place| place.file.clone()),
        first: first.filter(|_| pair[0] != pair[1]),
        place,
        also: None,
        executed: witness.map_or(Executed::No, |witness| Executed::Race(witness.seed, Box::new(witness.found.clone()))),
        cause: None,
        repeat: witness.map(|witness| command(args, &file.path, witness)),
        help: help(file, finding),
        edits: edits(file, finding),
        explained: None,
        is_ptx: file.is_ptx,
    }
}

/// The remedy, the one that a proof has tried first, in words of the language of its place.
pub fn help(file: &File, finding: &Finding) -> Option<String> {
    let at = |own: InstPlace| at(file, own);
    let shown = at(finding.pair[1]);
    let language = shown.as_ref().and_then(|place| SourceLanguage::of(&place.file));
    let Some(remedy) = &finding.remedy else {
        let help = finding.witness.as_ref()?.found.help.as_ref()?;
        return Some(remedy::executed(language, help));
    };
    let place = |own: InstPlace| match at(own) {
        Some(place) if place.file != file.ptx.input.name() => format!("{place}"),
        _ => format!("line {own}"),
    };
    Some(remedy.words(|change| remedy::change(language, change, &place(change.at()))))
}

/// The same as edits of PTX.
fn edits(file: &File, finding: &Finding) -> Vec<Edit> {
    let changes = finding.remedy.iter().filter(|_| file.is_ptx).flat_map(|remedy| &remedy.changes);
    let edit = |change: &Change| {
        let (side, instruction) = match change {
            Change::Barrier(_) => (Side::Before, BARRIER),
            Change::InPlace { after, .. } => (Side::InPlace, after.as_str()),
        };
        Edit::of(change.at(), side, instruction)
    };
    changes.map(edit).collect::<Option<_>>().unwrap_or_default()
}

/// The place of an instruction.
pub fn at(file: &File, at: InstPlace) -> Option<Location> {
    sourced(&file.places, at.line).map(|source| source.place).or_else(|| file.ptx.line(at))
}
