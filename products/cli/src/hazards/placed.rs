//! Findings where their readers look for them: in PTX that they gave, or in the source of what was compiled.

use itertools::Itertools;
use ptx_atomics::hazards::{Cause, Finding, Position, Remedy, Rule, Shown, Witness};
pub use ptx_atomics::hazards::{Executed, Level};
use ptx_atomics::ptx::InstPlace;
use ptx_atomics::{
    isolated::{Site, Unoptimized},
    pass::{Input, Location, relocated},
    ptx::{Places, own},
};

use super::kernels::{Checked, Module, Origin};
use crate::{
    cli::Check,
    edit::Edit,
    remedy::{self, SourceLanguage},
    sourced::{Sourced, sourced},
};

/// A finding and its places.
pub struct Placed {
    pub check: Check,
    /// As the PTX spells it.
    pub kernel: String,
    pub rule: Option<Rule>,
    pub level: Level,
    /// In one sentence without a period.
    pub message: String,
    /// The operation of the source that it is about, in words.
    pub operation: Option<String>,
    /// What else is to be said, each in a line.
    pub notes: Vec<String>,
    /// The file that was given, or the part of it.
    pub program: String,
    /// The name of the file in which it stands.
    pub file: String,
    /// Where it shows.
    pub place: Option<Location>,
    /// Where the first access is, if there are two.
    pub first: Option<Location>,
    /// Where else it stands: in the PTX, or in a source that is not here.
    pub also: Option<String>,
    /// The execution in which it goes wrong, or how many were looked at.
    pub executed: Executed,
    /// What is not known, where that is why it is open.
    pub cause: Option<Cause>,
    /// The command that repeats the execution.
    pub repeat: Option<String>,
    /// What would mend it, or settle it.
    pub help: Option<String>,
    /// The same as edits of the PTX, if this is what was given.
    pub edits: Vec<Edit>,
    /// A litmus test of it, with an execution.
    pub explained: Option<String>,
    /// Whether PTX was given.
    pub is_ptx: bool,
}

impl Placed {
    /// All findings of a module.
    pub fn of_module(input: &Input, module: &Module, command: &dyn Fn(&Witness) -> String) -> Vec<Self> {
        let at = |finding: &Finding| match &module.origin {
            Origin::Ptx(places) => in_ptx(finding, input, places),
            Origin::Ir(lines) => in_source(finding, input, lines),
        };
        let proposed = |kernel: &Checked| {
            let shown = ptx_atomics::hazards::shown(&kernel.report, kernel.witnesses.as_ref(), kernel.has_block);
            let placed = shown.into_iter().enumerate().map(|(number, Shown { finding, level, executed })| {
                let repeat = executed.witness().map(command);
                let explained = kernel.explained.get(number).cloned().flatten();
                Self { explained, level, executed, repeat, ..at(&finding) }
            });
            placed.collect::<Vec<_>>()
        };
        module.kernels.iter().flat_map(proposed).collect()
    }

    /// The message without the lines that it names.
    pub fn message_without_lines(&self) -> String {
        relocated(&self.message, |_| None)
    }
}

/// Inline assembly that does what it does not declare.
pub fn in_assembly(site: &Site, message: &str, input: &Input) -> Placed {
    Placed {
        check: Check::Async,
        kernel: site.function.clone(),
        rule: Some(Rule::R13),
        level: Level::Possible,
        executed: Executed::No,
        operation: None,
        notes: Vec::new(),
        repeat: None,
        message: message.to_owned(),
        program: input.name().to_owned(),
        file: site.location.as_ref().map_or(input.name(), |at| &at.file).to_owned(),
        place: site.location.clone(),
        first: None,
        also: None,
        cause: None,
        help: Some(
            "declare it: asm volatile(… : … : … : \"memory\") in CUDA, no `nomem`, `readonly` or `pure` in Rust".into(),
        ),
        edits: Vec::new(),
        explained: None,
        is_ptx: false,
    }
}

/// Which option settles it.
fn settled(finding: &Finding) -> Option<String> {
    finding.cause.as_ref().and_then(Cause::help)
}

fn in_ptx(finding: &Finding, input: &Input, places: &Places) -> Placed {
    let in_input = |at: InstPlace| Location { file: input.name().to_owned(), line: at.line, column: at.column };
    let remedy = finding.remedy.as_ref();
    let placed = Placed {
        check: Check::Async,
        kernel: finding.kernel.clone(),
        rule: finding.rule,
        level: Level::NotChecked,
        executed: Executed::No,
        operation: None,
        notes: Vec::new(),
        repeat: None,
        message: finding.message.clone(),
        program: input.name().to_owned(),
        file: input.name().to_owned(),
        place: (finding.at.line > 0).then(|| in_input(finding.at)),
        first: finding.first.map(in_input),
        also: own(places.around(finding.at.line)).map(|source| format!("in the source: {source}")),
        cause: finding.cause.clone(),
        help: remedy.map(|remedy| remedy.help.clone()).or_else(|| settled(finding)),
        edits: remedy.map(Edit::all).unwrap_or_default(),
        explained: None,
        is_ptx: true,
    };
    let Some(Sourced { place: here, inlined }) = sourced(places, finding.at.line) else { return placed };
    let source = |line: u32| sourced(places, line).map(|source| source.place);
    let in_words = |line: u32| match source(line) {
        Some(source) => Some(source.beside(Some(&here.file))),
        None => Some(format!("on line {line} of the PTX")),
    };
    let first = finding.first.map(|first| format!(", the first access on line {first}")).unwrap_or_default();
    let place = |line: u32| source(line).map(|at| beside(&at, &here.file));
    Placed {
        message: relocated(&finding.message, in_words),
        help: remedy.map(|remedy| help(remedy, &here.file, place)).or(placed.help),
        notes: inlined.into_iter().collect(),
        place: Some(here),
        first: finding.first.and_then(|first| source(first.line)),
        also: Some(format!("{}:{} is the PTX{first}", input.name(), finding.at)),
        ..placed
    }
}

/// A remedy in the words of the language of a file, with places of the source.
fn help(remedy: &Remedy, file: &str, place: impl Fn(u32) -> Option<String>) -> String {
    let language = SourceLanguage::of(file);
    match &remedy.executed {
        Some(executed) => remedy::executed(language, executed),
        None if remedy.edits.is_empty() => remedy.help.clone(),
        None => insertions(&remedy.edits, language, place),
    }
}

fn in_source(finding: &Finding, input: &Input, lines: &Unoptimized) -> Placed {
    let place = |line: u32| lines.place(line)?.location.clone();
    let at = place(finding.at.line);
    let file = at.as_ref().map_or(input.name(), |at| &at.file).to_owned();
    let remedy = finding.remedy.as_ref();
    let help = remedy.map(|remedy| help(remedy, &file, |line| place(line).map(|at| beside(&at, &file))));
    Placed {
        check: Check::Async,
        kernel: lines.place(finding.at.line).map_or(&finding.kernel, |place| &place.function).clone(),
        rule: finding.rule,
        level: Level::NotChecked,
        executed: Executed::No,
        operation: None,
        notes: Vec::new(),
        repeat: None,
        message: lines.relocated(&finding.message, finding.at.line),
        place: at,
        first: finding.first.and_then(|first| place(first.line)),
        also: None,
        cause: finding.cause.clone(),
        help: help.or_else(|| settled(finding)),
        edits: Vec::new(),
        explained: None,
        is_ptx: false,
        program: input.name().to_owned(),
        file,
    }
}

fn beside(at: &Location, file: &str) -> String {
    if at.file == file { format!("line {}", at.line) } else { at.to_string() }
}

/// What is to be inserted, and where in the source.
fn insertions(
    edits: &[ptx_atomics::hazards::Edit],
    language: Option<SourceLanguage>,
    place: impl Fn(u32) -> Option<String>,
) -> String {
    let instructions = edits.iter().map(|edit| &edit.instruction).unique();
    let instructions = instructions.map(|ptx| remedy::instruction(language, ptx)).join(" and ");
    let side = |edit: &ptx_atomics::hazards::Edit| match edit.position {
        Position::Before => "before",
        Position::After => "after",
    };
    let places = edits.iter().filter_map(|edit| Some(format!("{} {}", side(edit), place(edit.at.line)?)));
    let places = places.unique().join(" and ");
    if places.is_empty() { format!("insert {instructions}") } else { format!("insert {instructions} {places}") }
}
