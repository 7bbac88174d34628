//! Verdicts as one JSON array, with an object for each kernel.

use ptx_atomics::pass::Location;
use serde::Serialize;

use super::{
    file::{File, command},
    placed,
};
use crate::{cli::CheckArgs, format, run::JsonSite};

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Kernel<'a> {
    file: &'a str,
    /// As the PTX spells it.
    kernel: &'a str,
    /// `free`, `race`, `divergent` or `open`.
    verdict: String,
    /// What the proof takes for granted; none if there is no proof.
    assumptions: &'a [String],
    findings: Vec<Finding<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Finding<'a> {
    /// `race`, `same-value`, `divergent`, `not-proved` or `not-followed`.
    class: String,
    /// Lines of PTX, from 1: of two accesses the lower one first, the same twice if it is one.
    lines: [u32; 2],
    /// The same in the source, where the PTX says its lines, and else in the PTX.
    places: [Option<Place>; 2],
    message: &'a str,
    /// What would order the accesses; nothing if that is not known.
    help: Option<String>,
    /// The execution that shows it; nothing if none does.
    execution: Option<Execution<'a>>,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Place {
    file: String,
    /// From 1; of the column, 0 is all of the line.
    line: u32,
    column: u32,
}

#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
struct Execution<'a> {
    /// What repeats it.
    command: String,
    seed: u64,
    first: Option<JsonSite<'a>>,
    second: JsonSite<'a>,
}

pub fn array(args: &CheckArgs, files: &[File]) -> String {
    let finding = |file: &File, own: &'_ ptx_atomics::races::check::Finding| {
        own.witness.as_ref().map(|witness| command(args, &file.path, witness))
    };
    let mut kernels: Vec<Kernel<'_>> = Vec::new();
    for (file, report) in files.iter().flat_map(|file| file.reports.iter().map(move |report| (file, report))) {
        let findings = report.findings.iter().map(|own| Finding {
            class: own.class.to_string(),
            lines: own.pair.map(|place| place.line),
            places: own.pair.map(|at| placed::at(file, at).map(place)),
            message: &own.message,
            help: placed::help(file, own),
            execution: own.witness.as_ref().zip(finding(file, own)).map(|(witness, command)| Execution {
                command,
                seed: witness.seed,
                first: witness.found.other.as_ref().map(JsonSite::from),
                second: JsonSite::from(&witness.found.site),
            }),
        });
        kernels.push(Kernel {
            file: &file.name,
            kernel: &report.kernel,
            verdict: report.verdict.to_string(),
            assumptions: &report.assumptions,
            findings: findings.collect(),
        });
    }
    format::json(&kernels)
}

fn place(Location { file, line, column }: Location) -> Place {
    Place { file, line, column }
}
