//! `ptx-atomics check --races`: which kernels are proved free of data races, shown to have one, or left open.

mod json;
pub mod placed;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
    time::Duration,
};

use ptx_atomics::{
    llvm::{Diagnostic, Errors, Input, Location},
    memory_model::kernel::shown,
    ptx::{Function, Head, Module, ModuleError, Places, flat::Library},
};
use ptx_races::check::{Options, Report, Verdict, check_kernel};

use crate::{
    cli::{CheckArgs, CheckFormat},
    hazards::{Placed, junit, sarif, text},
    input::{self, Compile, Kind, Made, Program},
    output, parallel, render,
    run::{Shown, quoted},
};

/// A file, or the part of one that is a module.
pub struct File {
    path: PathBuf,
    /// The file that was given, or the part of it.
    name: String,
    ptx: Shown,
    /// The source lines, where the PTX has them.
    places: Places,
    /// Whether PTX was given, and not a source.
    is_ptx: bool,
    pub reports: Vec<Report>,
}

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

fn of_program(args: &CheckArgs, program: Program) -> (Option<File>, Vec<Diagnostic>) {
    let name = program.input.name().to_owned();
    let failed = |errors: Errors| (None, errors.into_iter().collect());
    let is_ptx = matches!(program.kind, Kind::Ptx | Kind::Binary);
    let input = match program.kind {
        Kind::Ptx | Kind::Binary => program.input,
        Kind::Source => {
            let how = Compile::new(args.options(), &args.target, &args.source);
            match how.made(&program.path, Made::Ptx) {
                // Lines of the source are not those of the PTX.
                Ok(ptx) => Input::new(format!("the PTX of {name}"), ptx.bytes()),
                Err(errors) => return failed(errors),
            }
        }
        Kind::Ir(_) | Kind::Litmus => {
            let error = Diagnostic::new(format!("'{name}' is no PTX, and races are looked for in PTX alone"));
            return (None, vec![error.help("`ptx-atomics lower` makes PTX of IR")]);
        }
    };
    let Some(text) = input.text() else {
        return (None, vec![Diagnostic::new(format!("'{name}' is no text")).help(input::KNOWN_HELP)]);
    };
    let (module, unread) = Module::read_partly(text);
    let error = |error: ModuleError| Diagnostic {
        location: Some(Location { file: name.clone(), line: error.line, column: 0 }),
        ..Diagnostic::new(error.reason)
    };
    let unread = unread.into_iter().map(error).collect();
    let reports = reports(args, &module, &|_, _| true);
    let places = Places::of(text);
    (Some(File { path: program.path, name, ptx: Shown { input }, places, is_ptx, reports }), unread)
}

/// What is known of kernels of a program that is checked for all else, too. Those are left out whose number of threads nobody says: an
/// execution with another one is none of them. So are those with asynchronous operations, of which nothing would be known.
pub fn beside(args: &CheckArgs, path: &Path, name: &str, input: &Input, is_ptx: bool) -> Option<File> {
    let text = input.text()?;
    let (module, _) = Module::read_partly(text);
    let is_known = |library: &Library<'_>, kernel: &Function| {
        let has_block = args.kernels.block.is_some() || Head::read(&kernel.head).required_threads.is_some();
        has_block && !ptx_races::is_asynchronous(library, kernel)
    };
    let reports = reports(args, &module, &is_known);
    if reports.is_empty() {
        return None;
    }
    let (path, name, ptx) = (path.to_owned(), name.to_owned(), Shown { input: input.clone() });
    Some(File { path, name, ptx, places: Places::of(text), is_ptx, reports })
}

fn reports(args: &CheckArgs, module: &Module, is_known: &dyn Fn(&Library<'_>, &Function) -> bool) -> Vec<Report> {
    let kernels = &args.kernels;
    let limit = Duration::from_secs(kernels.time_limit).min(kernels.until.left());
    let options = Options { block: kernels.block, grid: kernels.grid, may_alias: kernels.may_alias, limit };
    let wanted = |name: &str| match &kernels.kernel {
        Some(part) => name.contains(part) || shown(name).contains(part),
        None => true,
    };
    let library = ptx_races::library(module);
    let own = ptx_races::kernels(module).filter(|kernel| wanted(&kernel.name) && is_known(&library, kernel));
    let own: Vec<_> = own.collect();
    parallel::map(&own, |kernel| check_kernel(module, &library, kernel, &options))
}

/// The command that repeats an execution.
fn command(args: &CheckArgs, path: &Path, witness: &ptx_races::witness::Witness) -> String {
    let flags: String = args.source.flags.iter().map(|flag| format!(" {}", quoted(flag))).collect();
    let behind = if flags.is_empty() { "" } else { " --" };
    let (kernel, launch) = (quoted(&witness.launch.kernel), &witness.launch);
    let path = quoted(&path.to_string_lossy());
    format!("ptx-atomics run {path} --kernel {kernel} --seed {} {launch}{behind}{flags}", witness.seed)
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
