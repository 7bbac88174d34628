//! Findings where their readers look for them: in PTX that they gave, or in the source of what was compiled.

use itertools::Itertools;
use ptx_atomics::{
    isolated::Unoptimized,
    llvm::{Input, Location},
};
use ptx_hazards::{Edit, Finding, Position, Rule, Verdict};
use strum::IntoStaticStr;

use super::kernels::Module;

/// A finding and its places.
pub struct Placed {
    pub kernel: String,
    pub rule: Option<Rule>,
    pub verdict: Verdict,
    /// In one sentence without a period.
    pub message: String,
    /// The name of the file.
    pub file: String,
    /// Where it shows.
    pub place: Option<Location>,
    /// Where the first access is, if there are two.
    pub first: Option<Location>,
    /// What would mend it.
    pub help: Option<String>,
    /// The same as edits of the PTX, if this is what was given.
    pub edits: Vec<Edit>,
    /// A litmus test of it, with an execution.
    pub explained: Option<String>,
}

impl Placed {
    /// All findings of a module.
    pub fn all(input: &Input, module: &Module) -> Vec<Self> {
        let findings = module.kernels.iter().flat_map(|kernel| kernel.report.findings.iter().zip(&kernel.explained));
        let placed = findings.map(|(finding, explained)| {
            let placed = match &module.lines {
                None => in_ptx(finding, input),
                Some(lines) => in_source(finding, input, lines),
            };
            Self { explained: explained.clone(), ..placed }
        });
        placed.collect()
    }

    /// How it is said.
    pub fn level(&self) -> Level {
        match self.verdict {
            Verdict::Wrong => Level::Wrong,
            Verdict::NotChecked => Level::NotChecked,
            Verdict::Note if self.first.is_some() || self.help.is_some() => Level::Warning,
            Verdict::Note => Level::Note,
        }
    }
}

/// What a finding is to its reader.
#[derive(Clone, Copy, PartialEq, Eq, Hash, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Level {
    Wrong,
    /// Nothing is wrong for most, and something is missing all the same.
    Warning,
    Note,
    NotChecked,
}

fn in_ptx(finding: &Finding, input: &Input) -> Placed {
    let place = |line: u32| Location { file: input.name().to_owned(), line, column: 0 };
    let remedy = finding.remedy.as_ref();
    Placed {
        kernel: finding.kernel.clone(),
        rule: finding.rule,
        verdict: finding.verdict,
        message: finding.message.clone(),
        file: input.name().to_owned(),
        place: (finding.line > 0).then(|| place(finding.line)),
        first: finding.first.map(place),
        help: remedy.map(|remedy| remedy.help.clone()),
        edits: remedy.map(|remedy| remedy.edits.clone()).unwrap_or_default(),
        explained: None,
    }
}

fn in_source(finding: &Finding, input: &Input, lines: &Unoptimized) -> Placed {
    let place = |line: u32| lines.place(line)?.location.clone();
    let at = place(finding.line);
    let file = at.as_ref().map_or(input.name(), |at| &at.file).to_owned();
    let help = finding.remedy.as_ref().map(|remedy| match remedy.edits.is_empty() {
        true => remedy.help.clone(),
        false => insertions(&remedy.edits, |line| place(line).map(|at| beside(&at, &file))),
    });
    Placed {
        kernel: lines.place(finding.line).map_or(&finding.kernel, |place| &place.function).clone(),
        rule: finding.rule,
        verdict: finding.verdict,
        message: lines.relocated(&finding.message, finding.line),
        place: at,
        first: finding.first.and_then(place),
        help,
        edits: Vec::new(),
        explained: None,
        file,
    }
}

fn beside(at: &Location, file: &str) -> String {
    if at.file == file { format!("line {}", at.line) } else { at.to_string() }
}

/// What is to be inserted, and where in the source.
fn insertions(edits: &[Edit], place: impl Fn(u32) -> Option<String>) -> String {
    let instructions = edits.iter().map(|edit| &edit.instruction).unique().join(" and ");
    let side = |edit: &Edit| match edit.position {
        Position::Before => "in front of",
        Position::After => "behind",
    };
    let places = edits.iter().filter_map(|edit| Some(format!("{} {}", side(edit), place(edit.line)?)));
    let places = places.unique().join(" and ");
    if places.is_empty() { format!("insert {instructions}") } else { format!("insert {instructions} {places}") }
}
