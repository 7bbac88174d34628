//! The report as JSON, for every front end. `docs/check.schema.json` is its schema; a change of the meaning of a field
//! raises [`VERSION`].

use ptx_atomics_common::{Diagnostic, Location};
use ptx_execute::{Site as FaultSite, SourceLine};
use ptx_hazards::Cause;
use ptx_isa::Dim3;
use ptx_memory_model::kernel::source_name;
use serde::Serialize;

use crate::{
    evidence::{Evidence, Looked, Why, Witness},
    finding::Edit,
    report::{Answer, KernelReport, Verdict},
    view::View,
};

/// The version of the schema.
pub const VERSION: u32 = 1;

/// The report of a check.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Report<'r> {
    /// The version of the schema: 1.
    version: u32,
    /// The version of ptx-atomics.
    tool: &'static str,
    /// The reading of the manual: `default`, `strict`, or a list of named readings.
    profile: &'r str,
    /// The questions that were asked.
    asked: Vec<&'static str>,
    /// The kernels, and other functions with findings.
    kernels: Vec<Kernel<'r>>,
    /// Inputs, and parts of inputs, that are not checked.
    errors: Vec<Error<'r>>,
    /// Whether the time limit ended the work on a question early: a faster machine may find more.
    stopped: bool,
    /// Findings of the baseline that are not in `kernels`.
    known: usize,
}

/// A kernel.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Kernel<'r> {
    /// The input file, or the part of it.
    program: &'r str,
    /// The name in the PTX.
    kernel: &'r str,
    /// The name in the source.
    name: String,
    /// An answer for each question.
    answers: Vec<JsonAnswer>,
    /// The findings, the most certain first.
    findings: Vec<JsonFinding<'r>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct JsonAnswer {
    /// `order`, `async`, `races` or `barriers`.
    question: &'static str,
    /// `free`, `lost`, `missing`, `race`, `divergent`, `deadlock`, `lapped`, `open` or `not-asked`.
    verdict: &'static str,
    /// The reason why the question was not asked.
    why: Option<String>,
    /// The conditions under which the proof holds.
    assumptions: Vec<String>,
    /// Whether the time limit ended the work on the question early.
    stopped: bool,
    /// The number of synchronizations or operations that the answer covers.
    counted: usize,
    /// The number of undecided ones among them.
    undecided: usize,
}

/// A finding.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct JsonFinding<'r> {
    /// `order`, `async`, `races` or `barriers`.
    question: &'static str,
    /// `R1` to `R31`; absent if a part is not checked.
    rule: Option<&'static str>,
    /// `error`, `warning` or `note`.
    severity: &'static str,
    /// Whether the finding is a possible fault: no proof excludes it, and the evidence is not sufficient. `--strict`
    /// fails with it.
    possible: bool,
    /// Whether the finding says that a part is not checked.
    not_checked: bool,
    /// The reason why the source allows the finding, so that the check does not fail with it.
    allowed: Option<&'r str>,
    /// The finding in one sentence.
    message: &'r str,
    /// The file of `line`: the source if the PTX has source lines and the source file exists, otherwise the program.
    file: &'r str,
    /// The line, from 1.
    line: Option<u32>,
    /// The column, from 1; 0 for the whole line.
    column: u32,
    /// The line of the first of two accesses, if it is in the same file.
    first: Option<u32>,
    /// The sites; of two accesses the first one comes first.
    sites: Vec<Site>,
    /// The operation of the source, in words.
    operation: Option<&'r str>,
    /// More facts, each in a line.
    notes: &'r [String],
    /// The remedy, or the option that settles an open finding.
    help: Option<&'r str>,
    /// The remedy as edits of the program.
    edits: Vec<Insertion<'r>>,
    /// The evidence.
    evidence: JsonEvidence<'r>,
}

/// An instruction of the PTX.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Site {
    /// The function in the module and the index in its body, from 0: they do not change when lines outside the function
    /// move.
    function: Option<u32>,
    index: Option<u32>,
    /// The line of the PTX, from 1.
    line: u32,
    /// The thread in its CTA, in an execution.
    thread: Option<Dim3>,
    /// The CTA in the grid.
    cta: Option<Dim3>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "kind", rename_all = "kebab-case")]
enum JsonEvidence<'r> {
    /// The finding follows from the text.
    Proof,
    /// An execution shows the finding.
    Witness {
        /// The launch as options of `run`.
        launch: String,
        /// Whether the launch is given.
        given: bool,
        /// The number of launches that show the finding; they differ in all guessed parts.
        launches: usize,
        seed: u64,
        /// The command that repeats the execution.
        command: Option<String>,
        /// The kind of the fault.
        fault: String,
        /// The fault in one sentence.
        message: &'r str,
        /// The first access.
        first: Option<WitnessAccess<'r>>,
        /// The second access, or the site of the fault.
        second: WitnessAccess<'r>,
    },
    /// No schedule of these launches shows the finding, although they execute its instructions.
    EverySchedule {
        /// The launches as options of `run`; they differ in all guessed parts.
        launches: Vec<String>,
    },
    /// The same, if the accesses that race in these launches get an order.
    AfterRepair {
        /// The launches as options of `run`.
        launches: Vec<String>,
    },
    /// Neither a proof nor a witness.
    Open {
        /// `claimed`, `unknown`, `too-hard` or `not-followed`.
        why: &'static str,
        /// The unknown fact.
        unknown: Option<String>,
        /// The option that decides the finding.
        option: Option<String>,
        /// The number of executions that do not show the finding.
        executions: Option<u32>,
    },
}

/// An access in an execution.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[cfg_attr(test, schemars(rename = "Access"))]
pub struct WitnessAccess<'r> {
    line: u32,
    source: Option<Source<'r>>,
    instruction: &'r str,
    thread: Dim3,
    cta: Dim3,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Source<'r> {
    file: &'r str,
    line: u32,
    column: u32,
}

/// An edit of the program.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Insertion<'r> {
    line: u32,
    /// `before` or `after` the line, or `in-place` of its instruction.
    position: String,
    instruction: &'r str,
}

/// An input, or a part of it, that is not checked.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Error<'r> {
    message: &'r str,
    file: Option<&'r str>,
    line: Option<u32>,
    help: Option<&'r str>,
}

impl<'r> Report<'r> {
    /// The report of kernels.
    pub fn new(
        profile: &'r str,
        asked: impl Iterator<Item = crate::Question>,
        kernels: Vec<Kernel<'r>>,
        errors: &'r [Diagnostic],
        known: usize,
    ) -> Self {
        let error = |error: &'r Diagnostic| Error {
            message: &error.message,
            file: error.location.as_ref().map(|at| &*at.file),
            line: error.location.as_ref().map(|at| at.line),
            help: error.help.as_deref(),
        };
        Self {
            version: VERSION,
            tool: env!("CARGO_PKG_VERSION"),
            profile,
            asked: asked.map(Into::into).collect(),
            stopped: kernels.iter().flat_map(|kernel| &kernel.answers).any(|answer| answer.stopped),
            kernels,
            errors: errors.iter().map(error).collect(),
            known,
        }
    }
}

impl<'r> Kernel<'r> {
    /// A kernel with views of its findings. `command` gives the command that repeats an execution.
    pub fn new(
        program: &'r str,
        report: &'r KernelReport,
        views: &'r [View<'r>],
        command: &dyn Fn(&Witness) -> Option<String>,
    ) -> Self {
        Self {
            program,
            kernel: &report.kernel,
            name: source_name(&report.kernel),
            answers: report.answers.iter().map(answer).collect(),
            findings: views.iter().map(|view| JsonFinding::new(view, command)).collect(),
        }
    }
}

fn answer(answer: &Answer) -> JsonAnswer {
    let Answer { question, verdict, assumptions, is_stopped, counts: (counted, undecided) } = answer;
    let why = match verdict {
        Verdict::NotAsked(why) => Some(why.to_string()),
        _ => None,
    };
    JsonAnswer {
        question: (*question).into(),
        verdict: verdict.into(),
        why,
        assumptions: assumptions.iter().map(ToString::to_string).collect(),
        stopped: *is_stopped,
        counted: *counted,
        undecided: *undecided,
    }
}

impl<'r> JsonFinding<'r> {
    fn new(view: &'r View<'r>, command: &dyn Fn(&Witness) -> Option<String>) -> Self {
        let finding = view.finding;
        let line = |place: &Location| place.line;
        let insertion = |edit: &'r Edit| Insertion {
            line: edit.at.line,
            position: edit.side.to_string(),
            instruction: &edit.instruction,
        };
        Self {
            question: finding.question.into(),
            rule: finding.rule.map(crate::Rule::name),
            severity: finding.severity.into(),
            possible: finding.is_possible(),
            not_checked: finding.is_not_checked(),
            allowed: finding.allowed.as_deref(),
            message: &view.message,
            file: &view.file,
            line: view.place.as_ref().map(line),
            column: view.place.as_ref().map_or(0, |place| place.column),
            first: view.first.as_ref().filter(|first| first.file == view.file).map(line),
            sites: finding.sites.iter().map(site).collect(),
            operation: finding.operation.as_ref().map(|operation| &*operation.text).filter(|text| !text.is_empty()),
            notes: &view.notes,
            help: view.help.as_deref(),
            edits: view.all_edits().map(insertion).collect(),
            evidence: evidence(&finding.evidence, command),
        }
    }
}

fn site(site: &crate::Site) -> Site {
    Site {
        function: site.at.id.map(|id| id.function),
        index: site.at.id.map(|id| id.index),
        line: site.at.line,
        thread: site.thread.map(|(thread, _)| thread),
        cta: site.thread.map(|(_, cta)| cta),
    }
}

fn evidence<'r>(evidence: &'r Evidence, command: &dyn Fn(&Witness) -> Option<String>) -> JsonEvidence<'r> {
    match evidence {
        Evidence::Proof => JsonEvidence::Proof,
        Evidence::Witness(witness) => JsonEvidence::Witness {
            launch: witness.launch.to_string(),
            given: witness.is_given,
            launches: witness.launches,
            seed: witness.seed,
            command: command(witness),
            fault: witness.fault.kind.to_string(),
            message: &witness.fault.message,
            first: witness.fault.other.as_ref().map(WitnessAccess::from),
            second: WitnessAccess::from(&witness.fault.site),
        },
        Evidence::EverySchedule(launches) => {
            JsonEvidence::EverySchedule { launches: launches.iter().map(ToString::to_string).collect() }
        }
        Evidence::AfterRepair(launches) => {
            JsonEvidence::AfterRepair { launches: launches.iter().map(ToString::to_string).collect() }
        }
        Evidence::Open(open) => {
            let (why, cause) = match &open.why {
                Why::Claimed => ("claimed", None),
                Why::Unknown(cause) => ("unknown", Some(cause)),
                Why::TooHard => ("too-hard", None),
                Why::NotFollowed => ("not-followed", None),
            };
            JsonEvidence::Open {
                why,
                unknown: cause.map(ToString::to_string),
                option: cause.and_then(Cause::option),
                executions: match open.looked {
                    Looked::Executions(count) => Some(count),
                    Looked::No | Looked::NoLaunch => None,
                },
            }
        }
    }
}

impl<'r> From<&'r FaultSite> for WitnessAccess<'r> {
    fn from(site: &'r FaultSite) -> Self {
        let source = |SourceLine { file, line, column }: &'r SourceLine| Source { file, line: *line, column: *column };
        let FaultSite { at, source: of, instruction, thread, cta, .. } = site;
        Self { line: at.line, source: of.as_ref().map(source), instruction, thread: *thread, cta: *cta }
    }
}

#[cfg(test)]
#[test]
fn the_schema_in_the_book_is_the_schema_of_the_report() {
    let schema = schemars::schema_for!(Report<'_>);
    let text = serde_json::to_string_pretty(&schema).expect("a schema is JSON") + "\n";
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/check.schema.json");
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        std::fs::write(&path, &text).expect("the book can be written");
    }
    let book = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(book == text, "INSTA_UPDATE=always writes {} anew:\n{text}", path.display());
}
