//! `ptx-atomics conformance`.

use std::{env, fs, path::Path, process::ExitCode, thread};

use ptx_atomics::ptx::assembler::{Assembler, HELP};
use ptx_atomics::{
    lowering::{PtxVersion, Sm, Target},
    pass::{Diagnostic, Errors},
};
use ptx_atomics_conformance::{
    Baseline, Cell, Compiler, Grade, Standing, Suite, Template, backend,
    report::{Results, json, junit, percent},
    reproduce, svg,
};

use crate::{
    cli::{ConformanceArgs, ConformanceFormat},
    format::{columns, markdown_table},
    input::cannot,
    output, progress, render,
};

/// The exit status of a run that measured no function.
const NOTHING: u8 = 2;

/// The default PTX version: LLVM 22 and ptxas 12.9 support it, and it has every form that atomics use.
const PTX: PtxVersion = PtxVersion(8, 8);

pub fn run(args: &ConformanceArgs) -> ExitCode {
    if let Some(path) = &args.write_backend {
        return write_backend(args, path).map_or_else(|errors| fail(&errors), |()| ExitCode::SUCCESS);
    }
    match measure(args) {
        Ok((suite, results)) => match write(args, &suite, &results) {
            Ok(()) if args.write_baseline.is_some() => ExitCode::SUCCESS,
            Ok(()) => {
                let failing = |(_, standing): &(_, Standing)| *standing == Standing::Failure;
                ExitCode::from(u8::from(results.iter().flat_map(|results| &results.outcomes).any(failing)))
            }
            Err(errors) => fail(&errors),
        },
        Err(errors) => fail(&errors),
    }
}

fn fail(errors: &Errors) -> ExitCode {
    errors.iter().for_each(|error| render::error(error, None));
    ExitCode::from(NOTHING)
}

fn wrong(error: String) -> Errors {
    Diagnostic::new(error).into()
}

/// The compiler, and the number of compilers that run at once.
fn compiler(args: &ConformanceArgs) -> Result<(Compiler, usize), Errors> {
    let command = Template::new(args.command.clone()).map_err(|error| {
        Errors::from(
            Diagnostic::new(error.to_string())
                .help("give a command, such as -- llc -mcpu={sm} -mattr=+{ptx} {input} -o {output}"),
        )
    })?;
    if !is_program(command.program()) {
        return Err(wrong(format!("cannot find the program '{}'", command.program())));
    }
    let jobs = args.jobs.unwrap_or_else(|| thread::available_parallelism().map_or(1, Into::into));
    Ok((Compiler { command, language: args.language, timeout: args.timeout }, jobs))
}

/// Measures the output of a version of LLVM, and writes the table.
fn write_backend(args: &ConformanceArgs, path: &Path) -> Result<(), Errors> {
    let (compiler, jobs) = compiler(args)?;
    let numbers = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let numbers: Vec<u32> = numbers.split('.').filter_map(|number| number.parse().ok()).collect();
    let version: [u32; 3] = numbers.try_into().map_err(|_| {
        let message = format!("expected a file with the name of a version, found '{}'", path.display());
        Diagnostic::new(message).help("name the version of LLVM, such as --write-backend 23.1.4.txt")
    })?;
    let plain = |sm: &Sm| sm.number() >= backend::FIRST && sm.name().ends_with(|c: char| c.is_ascii_digit());
    let gpus = if args.mcpu.is_empty() { Sm::all().filter(plain).collect() } else { args.mcpu.clone() };
    let versions = |sm: Sm| PtxVersion::all().filter_map(move |ptx| Target::new(sm, Some(ptx)).ok());
    let targets: Vec<_> = gpus.into_iter().flat_map(versions).collect();
    let count = targets.iter().map(|target| backend::functions(target, version[0]).len()).sum();
    let bar = progress::bar(count, "functions");
    let table = backend::measure(&compiler, version, &targets, jobs, |done| bar.inc(done as u64));
    bar.finish_and_clear();
    let table = table.map_err(|error| wrong(error.to_string()))?;
    output::write(path, table.to_string().into_bytes()).map_err(|error| cannot("write", path, &error))
}

/// Runs the suite for every target.
fn measure(args: &ConformanceArgs) -> Result<(Suite, Vec<Results>), Errors> {
    let (compiler, jobs) = compiler(args)?;
    let baseline = match &args.baseline {
        Some(path) => {
            let text = fs::read_to_string(path).map_err(|error| cannot("read", path, &error))?;
            let help = "write a baseline by `--write-baseline FILE`, with any --format";
            let no_baseline =
                |error| Diagnostic::new(format!("'{}' is not a baseline: {error}", path.display())).help(help);
            text.parse().map_err(no_baseline)?
        }
        None => Baseline::default(),
    };
    let assemblers = if args.no_ptxas { Vec::new() } else { Assembler::find_installed().to_vec() };
    let suite = Suite { compiler, assemblers, batch: args.batch, jobs };
    let targets = targets(args).map_err(wrong)?;
    let chosen: Vec<_> = targets.iter().map(|target| cells(args, target)).collect();
    let count = chosen.iter().map(Vec::len).sum();
    if count == 0 {
        return Err(wrong("the options choose no function".to_owned()));
    }
    let bar = progress::bar(count, "functions");
    let mut all = Vec::new();
    for (target, cells) in targets.into_iter().zip(chosen) {
        let known = suite.assemblers.iter().filter(|assembler| assembler.knows(&target));
        let assemblers: Vec<_> = known.map(Assembler::name).collect();
        if assemblers.is_empty() && !args.no_ptxas {
            render::say(&format!("warning: no ptxas here knows {target}, so that no ptxas checks the PTX; {HELP}"));
        }
        let outcomes =
            suite.run(&target, &cells, |done| bar.inc(done as u64)).map_err(|error| wrong(error.to_string()))?;
        let standing = |outcome| (baseline.standing(&target, &outcome), outcome);
        let outcomes = outcomes.into_iter().map(standing).map(|(standing, outcome)| (outcome, standing)).collect();
        all.push(Results { target, assemblers, outcomes });
    }
    bar.finish_and_clear();
    Ok((suite, all))
}

fn is_program(program: &str) -> bool {
    match program.contains('/') {
        true => Path::new(program).is_file(),
        false => {
            env::split_paths(&env::var_os("PATH").unwrap_or_default()).any(|folder| folder.join(program).is_file())
        }
    }
}

fn targets(args: &ConformanceArgs) -> Result<Vec<Target>, String> {
    let default = || args.mattr.and_then(|features| features.sm).or_else(|| "sm_90".parse().ok());
    let gpus: Vec<Sm> = if args.mcpu.is_empty() { default().into_iter().collect() } else { args.mcpu.clone() };
    let version = |sm: Sm| args.mattr.and_then(|features| features.ptx).unwrap_or(PTX.max(sm.lowest_ptx()));
    gpus.into_iter().map(|sm| Target::new(sm, Some(version(sm))).map_err(|error| error.to_string())).collect()
}

/// The functions that the arguments select.
fn cells(args: &ConformanceArgs, target: &Target) -> Vec<Cell> {
    let mut cells = args.language.cells(target, args.llvm);
    if let Some(filter) = &args.filter {
        cells.retain(|cell| filter.is_match(&cell.name));
    }
    if let Some(sample) = args.sample.filter(|sample| *sample < cells.len()) {
        cells = (0..sample).map(|index| cells[index * cells.len() / sample].clone()).collect();
    }
    let (k, n) = args.shard;
    cells.into_iter().skip(k - 1).step_by(n).collect()
}

fn write(args: &ConformanceArgs, suite: &Suite, results: &[Results]) -> Result<(), Errors> {
    if let Some(folder) = &args.report {
        for results in results {
            reproduce(folder, suite, results).map_err(|error| cannot("write", folder, &error))?;
        }
    }
    if let Some(path) = &args.write_baseline {
        let text = Baseline::from_results(results).to_string();
        output::write(path, text.into_bytes()).map_err(|error| cannot("write", path, &error))?;
    }
    let text = match args.format {
        ConformanceFormat::Text => results.iter().map(|results| text(args, results)).collect(),
        ConformanceFormat::Json => json(results, args.with_ptx),
        ConformanceFormat::Junit => junit(results),
        ConformanceFormat::Markdown => results.iter().map(markdown).collect(),
        ConformanceFormat::Svg => svg(results),
    };
    let path = Path::new("-");
    output::write(path, text.into_bytes()).map_err(|error| cannot("write", path, &error))
}

/// The number of functions by verdict, the best first.
fn counted(results: &Results) -> Vec<[String; 3]> {
    let whole = results.outcomes.len();
    let row =
        |(verdict, count): (Grade, usize)| [verdict.message().to_owned(), count.to_string(), percent(count, whole)];
    results.counts().into_iter().map(row).collect()
}

/// The data of each kind of failure: verdict, kind, number, the smallest function, and its error.
fn failures(results: &Results) -> Vec<[String; 5]> {
    let row = |class: &ptx_atomics_conformance::report::Class<'_>| {
        let smallest = class.smallest();
        let said = smallest.said.join("; ");
        let said = said.lines().next().unwrap_or_default().to_owned();
        let count = class.outcomes.len().to_string();
        [class.verdict.message().to_owned(), class.kind.to_owned(), count, smallest.cell.name.clone(), said]
    };
    results.failures().iter().map(row).collect()
}

fn text(args: &ConformanceArgs, results: &Results) -> String {
    let Results { target, assemblers, outcomes } = results;
    let assemblers = if assemblers.is_empty() { "no ptxas".to_owned() } else { assemblers.join(", ") };
    let mut text = format!("{target}: {} functions, {assemblers}\n", outcomes.len());
    text += &columns(counted(results).into_iter().map(Vec::from));
    let failures = failures(results);
    if !failures.is_empty() {
        let header = ["lost", "kind", "functions", "smallest function", "its error"].map(str::to_owned);
        text += "\n";
        text += &columns([header].into_iter().chain(failures).map(Vec::from));
    }
    let notes = results.notes();
    if !notes.is_empty() {
        text += "\nnotes on functions that are right:\n";
        text += &columns(notes.into_iter().map(|(note, count)| vec![count.to_string(), note.to_owned()]));
    }
    let unknown = results.unknown_values();
    if !unknown.is_empty() {
        let words = unknown.iter().map(|(what, count)| format!("{what} ({count})")).collect::<Vec<_>>().join(", ");
        let count = unknown.values().sum::<usize>();
        text += &format!("\nvalues of {count} functions are not checked, because of: {words}\n");
    }
    if args.baseline.is_some() {
        let of = |wanted: Standing| outcomes.iter().filter(move |(_, standing)| *standing == wanted);
        let known = of(Standing::Known).count();
        text += &format!(
            "\ncompared with the baseline: {known} known failures, {} new, {} fixed\n",
            of(Standing::Failure).count(),
            of(Standing::Fixed).count()
        );
        for (title, wanted) in [("new", Standing::Failure), ("fixed", Standing::Fixed)] {
            for (outcome, _) in of(wanted) {
                let said = outcome.said.join("; ");
                let said = said.lines().next().unwrap_or_default();
                text += format!("  {title}: {}: {} {said}", outcome.cell.name, outcome.verdict.message()).trim_end();
                text.push('\n');
            }
        }
    }
    text
}

fn markdown(results: &Results) -> String {
    let Results { target, outcomes, .. } = results;
    let mut text = format!("## {target}: {} functions\n\n", outcomes.len());
    text += &markdown_table(&["verdict", "functions", "share"], counted(results).into_iter().map(Vec::from));
    let failures = failures(results);
    if !failures.is_empty() {
        let escaped = |cell: String| cell.replace('\\', "\\\\").replace('|', "\\|").replace('<', "\\<");
        let rows = failures.into_iter().map(|row| row.map(escaped).to_vec());
        text += "\n";
        text += &markdown_table(&["lost", "kind", "functions", "smallest function", "its error"], rows);
    }
    text + "\n"
}
