//! `ptx-atomics check --races`: which kernels are proved free of data races, shown to have one, or left open.

use std::{path::Path, process::ExitCode, time::Duration};

use itertools::Itertools;
use ptx_atomics::{
    llvm::{Diagnostic, Errors, Location},
    memory_model::kernel::shown,
    ptx::Module,
};
use ptx_races::check::{Class, Finding, Options, Report, Verdict, check_kernel};
use serde::Serialize;

use crate::{
    cli::{CheckArgs, CheckFormat},
    format,
    input::{self, Compile, Kind, Made, Program},
    output, parallel, render,
    run::{JsonSite, quoted},
};

/// A kernel of a file.
struct Checked {
    file: String,
    report: Report,
}

pub fn run(args: &CheckArgs) -> ExitCode {
    let mut all: Vec<Checked> = Vec::new();
    let mut errors: Vec<Diagnostic> = Vec::new();
    for path in &args.kernels.paths {
        match input::programs(path, args.language, Kind::Ptx) {
            Ok(programs) => {
                for program in programs {
                    let file = program.input.name().to_owned();
                    let (checked, wrong) = of_program(args, program);
                    errors.extend(wrong);
                    all.extend(checked.into_iter().map(|report| Checked { file: file.clone(), report }));
                }
            }
            Err(wrong) => errors.extend(wrong),
        }
    }
    errors.iter().for_each(|error| render::error(error, None));
    if all.is_empty() && errors.is_empty() {
        let error = Diagnostic::new("there is no kernel to check");
        render::error(&error.help("give PTX with an entry, or a source that becomes such PTX"), None);
        return ExitCode::FAILURE;
    }
    let written = match args.kernels.format {
        Some(CheckFormat::Json) => output::print(&json(args, &all)),
        _ => output::print(&text(args, &all)),
    };
    if args.kernels.format != Some(CheckFormat::Json) {
        render::omitted();
        render::say(&summary(&all));
    }
    let is_wrong = |checked: &Checked| match checked.report.verdict {
        Verdict::Free => false,
        Verdict::Race | Verdict::Divergent => true,
        Verdict::Open => args.kernels.strict,
    };
    if written && errors.is_empty() && !all.iter().any(is_wrong) { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn of_program(args: &CheckArgs, program: Program) -> (Vec<Report>, Vec<Diagnostic>) {
    let name = program.input.name().to_owned();
    let failed = |errors: Errors| (Vec::new(), errors.into_iter().collect());
    let input = match program.kind {
        Kind::Ptx | Kind::Binary => program.input,
        Kind::Source => {
            let how = Compile::new(args.options(), &args.target, &args.source);
            match how.made(&program.path, Made::Ptx) {
                Ok(ptx) => ptx,
                Err(errors) => return failed(errors),
            }
        }
        Kind::Ir(_) | Kind::Litmus => {
            let error = Diagnostic::new(format!("'{name}' is no PTX, and races are looked for in PTX alone"));
            return (Vec::new(), vec![error.help("`ptx-atomics lower` makes PTX of IR")]);
        }
    };
    let Some(text) = input.text() else {
        return (Vec::new(), vec![Diagnostic::new(format!("'{name}' is no text")).help(input::KNOWN_HELP)]);
    };
    let (module, unread) = Module::read_partly(text);
    let unread = unread.into_iter().map(|error| Diagnostic {
        location: Some(Location { file: name.clone(), line: error.line, column: 0 }),
        ..Diagnostic::new(error.reason)
    });
    let limit = Duration::from_secs(args.kernels.time_limit).min(args.kernels.until.left());
    let kernels = &args.kernels;
    let options = Options { block: kernels.block, grid: kernels.grid, may_alias: kernels.may_alias, limit };
    let wanted = |name: &str| match &kernels.kernel {
        Some(part) => name.contains(part) || shown(name).contains(part),
        None => true,
    };
    let library = ptx_races::library(&module);
    let own: Vec<_> = ptx_races::kernels(&module).filter(|kernel| wanted(&kernel.name)).collect();
    let reports = parallel::map(&own, |kernel| check_kernel(&module, &library, kernel, &options));
    (reports, unread.collect())
}

/// The command that repeats an execution, where there is one.
fn command(args: &CheckArgs, path: &Path, finding: &Finding) -> Option<String> {
    let witness = finding.witness.as_ref()?;
    let flags: String = args.source.flags.iter().map(|flag| format!(" {}", quoted(flag))).collect();
    let behind = if flags.is_empty() { "" } else { " --" };
    let (kernel, launch) = (quoted(&witness.launch.kernel), &witness.launch);
    let path = quoted(&path.to_string_lossy());
    Some(format!("ptx-atomics run {path} --kernel {kernel} --seed {} {launch}{behind}{flags}", witness.seed))
}

fn text(args: &CheckArgs, all: &[Checked]) -> String {
    let mut text = String::new();
    for Checked { file, report } in all {
        let Report { kernel, verdict, assumptions, findings } = report;
        text += &format!("{file}: {}: {verdict}\n", shown(kernel));
        text.extend(assumptions.iter().map(|assumption| format!("  if {assumption}\n")));
        for finding in findings {
            let lines = finding.lines.iter().unique().join(" and ");
            text += &format!("  line {lines}: {}: {}\n", finding.class, finding.message);
            text.extend(command(args, Path::new(file), finding).map(|command| format!("    {command}\n")));
        }
    }
    text
}

fn summary(all: &[Checked]) -> String {
    let count = |verdict: Verdict| all.iter().filter(|checked| checked.report.verdict == verdict).count();
    let [free, race, divergent, open] = [Verdict::Free, Verdict::Race, Verdict::Divergent, Verdict::Open].map(count);
    format!("{} kernels: {free} free, {race} with a race, {divergent} divergent, {open} open", all.len())
}

#[derive(Serialize)]
struct JsonKernel<'a> {
    file: &'a str,
    kernel: &'a str,
    /// `free`, `race`, `divergent` or `open`.
    verdict: String,
    assumptions: &'a [String],
    findings: Vec<JsonFinding<'a>>,
}

#[derive(Serialize)]
struct JsonFinding<'a> {
    /// `race`, `same-value`, `divergent`, `not-proved` or `not-followed`.
    class: String,
    /// Lines of PTX, from 1: of two accesses the lower one first.
    lines: [u32; 2],
    message: &'a str,
    /// The execution that shows it; nothing if none does.
    execution: Option<JsonExecution<'a>>,
}

#[derive(Serialize)]
struct JsonExecution<'a> {
    /// What repeats it.
    command: Option<String>,
    seed: u64,
    first: Option<JsonSite<'a>>,
    second: JsonSite<'a>,
}

fn json(args: &CheckArgs, all: &[Checked]) -> String {
    let finding = |file: &str, finding: &'_ Finding| -> Option<String> { command(args, Path::new(file), finding) };
    let kernels: Vec<JsonKernel<'_>> = all
        .iter()
        .map(|Checked { file, report }| JsonKernel {
            file,
            kernel: &report.kernel,
            verdict: report.verdict.to_string(),
            assumptions: &report.assumptions,
            findings: report
                .findings
                .iter()
                .map(|own| JsonFinding {
                    class: Class::to_string(&own.class),
                    lines: own.lines,
                    message: &own.message,
                    execution: own.witness.as_ref().map(|witness| JsonExecution {
                        command: finding(file, own),
                        seed: witness.seed,
                        first: witness.found.other.as_ref().map(JsonSite::from),
                        second: JsonSite::from(&witness.found.site),
                    }),
                })
                .collect(),
        })
        .collect();
    format::json(&kernels)
}
