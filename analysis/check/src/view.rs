//! A finding as it is shown to a reader: with source locations if the source file exists, otherwise with PTX locations,
//! and with a remedy in the language of that location.

use itertools::Itertools;
use ptx_atomics_common::Location;
use ptx_hazards::Cause;
use ptx_isa::{InstPlace, Places, innermost_in_file};
use ptx_memory_model::kernel::source_name;
use ptx_races::remedy::{BARRIER, Change};

use crate::{
    evidence::{Evidence, Looked, Why, Witness},
    finding::{Edit, Finding, Remedy, Side},
    language::{self, SourceLanguage},
    report::KernelReport,
    sources::{Sourced, sourced},
};

/// The program that a report is about.
pub struct Document<'d> {
    /// The name of the input file, or of the part of it.
    pub program: &'d str,
    /// Its text.
    pub text: &'d str,
    /// The locations of its lines.
    pub lines: Lines<'d>,
}

/// The source locations of the lines of PTX.
pub enum Lines<'d> {
    /// The program contains the PTX; or a compiler generated it, and the reader has the source.
    Ptx {
        /// The source lines of the PTX.
        places: &'d Places,
        /// Whether the PTX is the input.
        is_given: bool,
    },
    /// The PTX was compiled from IR, and the reader never sees it: the function and the location of each line.
    Ir(&'d [Option<(String, Option<Location>)>]),
}

/// A finding as it is shown to a reader.
#[derive(Clone, Debug)]
pub struct View<'f> {
    /// The finding.
    pub finding: &'f Finding,
    /// The name of the kernel in the module.
    pub kernel: String,
    /// The name of the kernel in its source.
    pub name: String,
    /// The message: one sentence without a full stop.
    pub message: String,
    /// The file in which the finding is shown.
    pub file: String,
    /// The location at which the finding is shown.
    pub place: Option<Location>,
    /// The location of the first of two accesses.
    pub first: Option<Location>,
    /// More facts, each in a line.
    pub notes: Vec<String>,
    /// The remedy in words.
    pub help: Option<String>,
    /// The remedy as edits of the input PTX.
    pub edits: Vec<&'f Edit>,
    /// The remedy as edits, for changes that a proof has confirmed.
    pub changes: Vec<Edit>,
}

impl<'d> Document<'d> {
    /// The views of the findings of a kernel.
    pub fn views<'f>(&self, report: &'f KernelReport) -> Vec<View<'f>> {
        report.findings.iter().map(|finding| self.view(report, finding)).collect()
    }

    fn view<'f>(&self, report: &'f KernelReport, finding: &'f Finding) -> View<'f> {
        let at = finding.site().map(|site| site.at).filter(|at| at.line > 0);
        let source = at.and_then(|at| self.source(at));
        let of_operation = finding.operation.as_ref().map(|operation| {
            operation.place.as_ref().map(|(file, line, column)| Location {
                file: file.clone(),
                line: *line,
                column: *column,
            })
        });
        let place = match of_operation {
            Some(place) => place,
            None => source.as_ref().map(|source| source.place.clone()).or_else(|| self.in_ptx(at?)),
        };
        let file = place.as_ref().map_or(self.program, |place| &place.file).to_owned();
        let language = SourceLanguage::from_file_name(&file);
        let first = (finding.operation.is_none() && finding.sites.len() > 1)
            .then(|| finding.sites[0].at)
            .filter(|first| Some(*first) != at);
        let first_place = first.and_then(|first| self.place(first));
        let beside = |at: InstPlace| match self.source(at) {
            Some(source) => Some(source.place.text_relative_to(Some(&file))),
            None => match &self.lines {
                Lines::Ptx { .. } if source.is_some() => Some(format!("on line {at} of the PTX")),
                Lines::Ptx { .. } => Some(format!("on line {at}")),
                Lines::Ir(_) => None,
            },
        };
        let mut notes: Vec<String> = Vec::new();
        if let Some(witness) = finding.witness() {
            notes.extend(launch(witness));
        }
        notes.extend(source.as_ref().and_then(|source| source.inlined.clone()));
        notes.extend(self.hidden_location(at, first, source.is_some()));
        notes.extend(self.evidence(report, finding));
        if finding.operation.is_some() {
            notes.extend(finding.sites.iter().filter_map(|site| self.quoted(site.at.line)));
        }
        let edits = match &finding.remedy {
            Some(Remedy::Insert { edits, .. }) if self.is_given() && edits.iter().all(|edit| edit.at.column == 0) => {
                edits.iter().collect()
            }
            _ => Vec::new(),
        };
        let kernel = match (&self.lines, at) {
            (Lines::Ir(_), Some(at)) => self.of_ir(at).map_or(&report.kernel, |(function, _)| function).clone(),
            _ => report.kernel.clone(),
        };
        View {
            finding,
            name: source_name(&kernel),
            kernel,
            message: finding.message.placed(beside),
            file: file.clone(),
            place,
            first: first_place,
            notes,
            help: self.help(finding, language, &file),
            edits,
            changes: self.changes(finding),
        }
    }

    /// A line of the program with its number.
    fn quoted(&self, number: u32) -> Option<String> {
        let line = self.text.lines().nth((number as usize).checked_sub(1)?)?;
        Some(format!("{}:{number}: {}", self.program, line.split_whitespace().join(" ")))
    }

    /// Whether the reader has the PTX.
    fn is_given(&self) -> bool {
        matches!(self.lines, Lines::Ptx { is_given: true, .. })
    }

    fn of_ir(&self, at: InstPlace) -> Option<&(String, Option<Location>)> {
        match self.lines {
            Lines::Ir(lines) => lines.get((at.line as usize).checked_sub(1)?)?.as_ref(),
            Lines::Ptx { .. } => None,
        }
    }

    /// The location of an instruction in an existing source file.
    fn source(&self, at: InstPlace) -> Option<Sourced> {
        match self.lines {
            Lines::Ptx { places, .. } => sourced(places, at.line),
            Lines::Ir(_) => Some(Sourced { place: self.of_ir(at)?.1.clone()?, inlined: None }),
        }
    }

    /// The location of an instruction in the PTX.
    fn in_ptx(&self, at: InstPlace) -> Option<Location> {
        let has_ptx = matches!(self.lines, Lines::Ptx { .. });
        has_ptx.then(|| Location { file: self.program.to_owned(), line: at.line, column: at.column })
    }

    /// The location of an instruction in the source, or otherwise in the PTX.
    pub fn place(&self, at: InstPlace) -> Option<Location> {
        self.source(at).map(|source| source.place).or_else(|| self.in_ptx(at))
    }

    /// The location that a view does not show: the PTX location if the source is shown, otherwise the location in a
    /// missing source file.
    fn hidden_location(&self, at: Option<InstPlace>, first: Option<InstPlace>, has_source: bool) -> Option<String> {
        let (Lines::Ptx { places, .. }, at) = (&self.lines, at?) else { return None };
        if !has_source {
            return innermost_in_file(places.around(at.line)).map(|source| format!("in the source: {source}"));
        }
        let first = first.map(|first| format!(", the first access on line {first}")).unwrap_or_default();
        Some(format!("{}:{at} is the PTX{first}", self.program))
    }

    /// The evidence in words.
    fn evidence(&self, report: &KernelReport, finding: &Finding) -> Vec<String> {
        match &finding.evidence {
            Evidence::Proof => Vec::new(),
            Evidence::EverySchedule(launches) => {
                let launches = launches.iter().map(|launch| format!("no schedule of this launch shows it: {launch}"));
                launches.collect()
            }
            Evidence::AfterRepair(launches) => {
                let of = |launch| format!("no schedule of this launch shows it once its races are repaired: {launch}");
                launches.iter().map(of).collect()
            }
            Evidence::Open(open) => {
                let looked = match open.looked {
                    Looked::Executions(1) => Some("the execution does not show the finding".to_owned()),
                    Looked::Executions(count) => Some(format!("none of {count} executions shows the finding")),
                    Looked::No | Looked::NoLaunch => None,
                };
                looked.into_iter().collect()
            }
            Evidence::Witness(witness) => {
                let mut notes = self.execution(witness);
                if !witness.is_certain() && !report.has_block {
                    notes.push(
                        "the kernel does not state the threads of a CTA in each direction: give --block".to_owned(),
                    );
                }
                notes
            }
        }
    }

    fn execution(&self, witness: &Witness) -> Vec<String> {
        let fault = &witness.fault;
        let twice = match witness.is_dependent {
            true => ", where a second grid may start before the first grid has ended",
            false => "",
        };
        let words = |site: &ptx_execute::Site| match self.lines {
            Lines::Ptx { .. } => match self.source(site.at) {
                Some(_) => site.to_string().replacen(": ", " of the PTX: ", 1),
                None => site.to_string(),
            },
            Lines::Ir(_) => {
                let ([x, y, z], [i, j, k]) = (site.thread, site.cta);
                format!("{} of thread {x},{y},{z} of CTA {i},{j},{k}", site.instruction)
            }
        };
        let first = fault.other.as_ref().map(|site| format!("first {}, then ", words(site))).unwrap_or_default();
        vec![format!("an execution{twice}: {first}{}", words(&fault.site))]
    }

    /// The remedy in words, or the option that decides an open finding.
    fn help(&self, finding: &Finding, language: Option<SourceLanguage>, file: &str) -> Option<String> {
        let place = |at: InstPlace| match self.source(at) {
            Some(source) if source.place.file == file => Some(format!("line {}", source.place.line)),
            Some(source) => Some(source.place.to_string()),
            None => matches!(self.lines, Lines::Ptx { .. }).then(|| format!("line {at}")),
        };
        let has_source = language.is_some() || matches!(self.lines, Lines::Ir(_));
        match &finding.remedy {
            Some(Remedy::Insert { help, edits }) if edits.is_empty() || !has_source => Some(help.clone()),
            Some(Remedy::Insert { edits, .. }) => Some(insertions(edits, language, place)),
            Some(Remedy::Executed { help, .. }) if !has_source => Some(help.clone()),
            Some(Remedy::Executed { remedy, .. }) => Some(language::executed(language, remedy)),
            Some(Remedy::Tried(tried)) => {
                let at = |change: &Change| place(change.at()).unwrap_or_default();
                Some(tried.words(|change| language::change(language, change, &at(change))))
            }
            None => match &finding.open()?.why {
                Why::Unknown(cause) => Cause::help(cause),
                _ => None,
            },
        }
    }

    /// The changes that a proof has confirmed, as edits of the input PTX.
    fn changes(&self, finding: &Finding) -> Vec<Edit> {
        let Some(Remedy::Tried(tried)) = &finding.remedy else { return Vec::new() };
        let edit = |change: &Change| {
            let (side, instruction) = match change {
                Change::Barrier(_) => (Side::Before, BARRIER),
                Change::InPlace { after, .. } => (Side::InPlace, after.as_str()),
            };
            Edit { at: change.at(), side, instruction: instruction.to_owned() }
        };
        let edits = tried.changes.iter().map(edit).collect_vec();
        if self.is_given() && edits.iter().all(|edit| edit.at.column == 0) { edits } else { Vec::new() }
    }
}

impl View<'_> {
    /// The remedy as edits of whole lines of the input PTX.
    pub fn all_edits(&self) -> impl Iterator<Item = &Edit> {
        self.edits.iter().copied().chain(&self.changes)
    }

    /// The message without locations: it does not change when lines move.
    pub fn message_without_places(&self) -> String {
        self.finding.message.placed(|_| None)
    }
}

/// The launch of a witness, if it is guessed and not certain.
fn launch(witness: &Witness) -> Option<String> {
    (!witness.is_certain()).then(|| format!("in a guessed launch: {}", witness.launch))
}

/// The instructions to insert, and their places in the source.
fn insertions(edits: &[Edit], language: Option<SourceLanguage>, place: impl Fn(InstPlace) -> Option<String>) -> String {
    let instructions = edits.iter().map(|edit| &edit.instruction).unique();
    let instructions = instructions.map(|ptx| language::instruction(language, ptx)).join(" and ");
    let places = edits.iter().filter_map(|edit| Some(format!("{} {}", edit.side, place(edit.at)?)));
    let places = places.unique().join(" and ");
    if places.is_empty() { format!("insert {instructions}") } else { format!("insert {instructions} {places}") }
}
