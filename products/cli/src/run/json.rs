//! The results of runs, as one JSON array.

use ptx_atomics::{check::json::WitnessAccess, ptx::launch::format_size};
use serde::Serialize;

use super::result::{Failed, PlanFinding, PlanResult};
use crate::format;

#[derive(Serialize)]
struct Run<'a> {
    file: &'a str,
    /// The line of the comment with the run; `None` without a comment.
    line: Option<u32>,
    launches: Vec<Launch<'a>>,
    /// The parts of the launch that the command chose.
    chosen: Vec<String>,
    seeds: usize,
    /// Whether the answer is about every schedule of the launches, and the reason if it is not.
    determinate: bool,
    dependence: Option<String>,
    /// The wait that a warp misses if it is late by a whole phase, and that it then repeats forever.
    lag: Option<String>,
    instructions: u64,
    /// The exit status.
    status: u8,
    findings: Vec<JsonFault<'a>>,
    failed: Vec<Condition<'a>>,
    errors: Vec<Error<'a>>,
    notes: Vec<Error<'a>>,
    printed: &'a str,
}

#[derive(Serialize)]
struct Launch<'a> {
    kernel: &'a str,
    grid: String,
    block: String,
    cluster: String,
    shared: u32,
}

#[derive(Serialize)]
struct JsonFault<'a> {
    kind: String,
    /// `wrong`, `warning`, or `unknown` if the run cannot continue.
    level: &'static str,
    kernel: &'a str,
    message: &'a str,
    place: Option<&'a str>,
    help: Option<String>,
    site: WitnessAccess<'a>,
    other: Option<WitnessAccess<'a>>,
    seeds: &'a [u64],
}

/// A condition that does not hold.
#[derive(Serialize)]
struct Condition<'a> {
    text: &'a str,
    why: &'a str,
    seeds: &'a [u64],
}

#[derive(Serialize)]
struct Error<'a> {
    /// The line of the PTX, from 1.
    line: Option<u32>,
    message: &'a str,
}

pub fn array(all: &[PlanResult], file: &str) -> String {
    format::json(&all.iter().map(|found| run(found, file)).collect::<Vec<_>>())
}

fn run<'a>(found: &'a PlanResult, file: &'a str) -> Run<'a> {
    let launches = found.plan.launches.iter().map(|launch| Launch {
        kernel: &launch.kernel,
        grid: format_size(launch.size.grid),
        block: format_size(launch.size.block),
        cluster: format_size(launch.size.cluster),
        shared: launch.size.shared,
    });
    let errors = found.errors.iter().map(|error| Error { line: error.line, message: &error.reason });
    let notes = found.notes.iter().map(|note| Error { line: Some(note.line), message: &note.what });
    let failed = found.failed.iter().map(|Failed { text, why, seeds }| Condition { text, why, seeds });
    Run {
        file,
        line: Some(found.plan.line).filter(|line| *line > 0),
        launches: launches.collect(),
        chosen: found.plan.chosen(),
        seeds: found.seeds,
        determinate: found.schedules.is_determinate(),
        dependence: found.dependence().map(ToString::to_string),
        lag: found.lag().map(ToString::to_string),
        instructions: found.steps,
        status: found.status(),
        findings: found.findings.iter().map(finding).collect(),
        failed: failed.collect(),
        errors: errors.collect(),
        notes: notes.collect(),
        printed: &found.printed,
    }
}

fn finding(PlanFinding { finding, kernel, level, seeds }: &PlanFinding) -> JsonFault<'_> {
    JsonFault {
        kind: finding.kind.to_string(),
        level: (*level).into(),
        kernel,
        message: &finding.message,
        place: finding.place.as_deref(),
        help: finding.help.as_ref().map(ToString::to_string),
        site: (&finding.site).into(),
        other: finding.other.as_ref().map(Into::into),
        seeds,
    }
}
