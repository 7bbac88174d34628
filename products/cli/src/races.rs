//! `ptx-atomics check --races`: which kernels are proved free of data races, shown to have one, or left open.

pub mod file;
mod json;
pub mod placed;

use std::process::ExitCode;

use ptx_atomics::races::check::{Report, Verdict};
use ptx_atomics::{memory_model::kernel::shown, pass::Diagnostic};

use self::file::{File, of_program};
use crate::{
    cli::{CheckArgs, CheckFormat},
    hazards::{Placed, junit, sarif, text},
    input::{self, Kind},
    output, render,
};

pub fn run(args: &CheckArgs) -> ExitCode {
    let (mut files, mut errors): (Vec<File>, Vec<Diagnostic>) = Default::default();
    for path in &args.kernels.paths {
        match input::programs(path, args.language, Kind::Ptx) {
            Ok(programs) => {
                for program in programs {
                    let (file, wrong) = of_program(args, program);
                    errors.extend(wrong);
                    files.extend(file);
                }
            }
            Err(wrong) => errors.extend(wrong),
        }
    }
    let kernels = || files.iter().flat_map(|file| &file.reports);
    if kernels().next().is_none() && errors.is_empty() {
        let error = Diagnostic::new("there is no kernel to check");
        errors.push(error.help("give PTX with an entry, or a source that becomes such PTX"));
    }
    errors.iter().for_each(|error| render::error(error, None));
    let of_file = |file: &File| placed::all(args, file);
    let format = args.kernels.format.unwrap_or(CheckFormat::Text);
    let written = match format {
        CheckFormat::Text => {
            for file in &files {
                text::print(&of_file(file), &file.ptx.input, "");
            }
            let written = output::print(&verdicts(&files));
            render::omitted();
            render::say(&summary(kernels()));
            written
        }
        CheckFormat::Json => output::print(&json::array(args, &files)),
        CheckFormat::Sarif | CheckFormat::Junit => {
            let findings: Vec<Placed> = files.iter().flat_map(of_file).collect();
            let name = |file: &File| file.ptx.input.name().to_owned();
            let named =
                |file: &File| file.reports.iter().map(|one| (name(file), one.kernel.clone())).collect::<Vec<_>>();
            let kernels: Vec<_> = files.iter().flat_map(named).collect();
            output::print(&match format {
                CheckFormat::Sarif => sarif::log(&findings, "", &errors),
                _ => junit::suites(&findings, &kernels, &errors, args.kernels.strict),
            })
        }
    };
    let is_wrong = |report: &Report| match report.verdict {
        Verdict::Free => false,
        Verdict::Race | Verdict::Divergent => true,
        Verdict::Open => args.kernels.strict,
    };
    if written && errors.is_empty() && !kernels().any(is_wrong) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A line for each kernel, and the assumptions of its proof.
fn verdicts(files: &[File]) -> String {
    let mut text = String::new();
    for (file, report) in files.iter().flat_map(|file| file.reports.iter().map(move |report| (file, report))) {
        text += &format!("{}: {}: {}\n", file.name, shown(&report.kernel), report.verdict);
        text.extend(report.assumptions.iter().map(|assumption| format!("  if {assumption}\n")));
    }
    text
}

fn summary<'r>(reports: impl Iterator<Item = &'r Report> + Clone) -> String {
    let count = |verdict: Verdict| reports.clone().filter(|report| report.verdict == verdict).count();
    let [free, race, divergent, open] = [Verdict::Free, Verdict::Race, Verdict::Divergent, Verdict::Open].map(count);
    let all = free + race + divergent + open;
    let s = if all == 1 { "" } else { "s" };
    format!("{all} kernel{s}: {free} free, {race} with a race, {divergent} divergent, {open} open")
}
