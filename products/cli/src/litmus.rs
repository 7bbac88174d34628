//! `ptx-atomics litmus`.

mod failure;
mod from_source;
mod kernel;

use std::{
    path::{Path, PathBuf},
    process::ExitCode,
};

use clap::{CommandFactory, error::ErrorKind};
use indicatif::ParallelProgressIterator;
use ptx_atomics::memory_model::report::{
    Answer, Diagram, OUTCOMES, Question, Subject, TestReport, dot, svg, text, why,
};
use ptx_atomics::{
    memory_model::{
        kernel::Compiled,
        litmus::{self, Dialect, Litmus},
        outcome::Limits,
        ptx::Conventions,
    },
    pass::{Diagnostic, Errors},
};
use rayon::prelude::*;
use walkdir::WalkDir;

use crate::{
    cli::{Cli, Convention, LitmusArgs, LitmusFormat, Model},
    format,
    input::{self, Failure, cannot, read},
    output, progress, render,
};
use failure::diagnostic;

/// The tests of a file.
type Subjects = Result<Vec<Subject>, Failure>;

/// The search recurses for deep conditions and many threads.
const STACK: usize = 64 << 20;

/// The last line if a condition does not hold, and the exit status is still 0.
const MUST_HOLD: &str = "with --must-hold, the exit status would be 1\n";

pub use from_source::read as read_sources;

pub fn run(args: &LitmusArgs) -> ExitCode {
    if let Some(path) = &args.from_source {
        return from_source(args, path);
    }
    let (paths, errors) = files(&args.paths);
    if let Some(wrong) = wrong_usage(args, &paths) {
        Cli::command().error(ErrorKind::ArgumentConflict, wrong).exit();
    }
    errors.iter().for_each(|error| render::error(error, None));
    let explain = args.explain || args.format == LitmusFormat::Text && paths.len() == 1;

    let question = Question {
        conventions: conventions(args).0,
        limits: limits(args),
        outcomes: choose_outcome_count(args),
        explain,
        draw: args.dot.is_some() || args.svg.is_some(),
        minimize: args.minimize,
    };

    let bar = progress::bar(paths.len(), "tests");
    // LLVM works in another process. Only a process with a single thread can start it.
    let prepared: Vec<(&PathBuf, Option<Subjects>)> =
        paths.iter().map(|path| (path, input::is_kernel(path).then(|| kernels(args, path)))).collect();
    let one = |(path, subjects): (&PathBuf, Option<Subjects>)| {
        let subjects = subjects.unwrap_or_else(|| litmus(args, path).map(|subject| vec![subject]))?;
        Ok(question.ask(subjects))
    };
    let pool = rayon::ThreadPoolBuilder::new().stack_size(STACK).build();
    let judged: Vec<Result<Vec<TestReport>, Failure>> = match pool {
        Ok(pool) => pool.install(|| prepared.into_par_iter().progress_with(bar).map(one).collect()),
        // If threads cannot be started, this thread judges all tests.
        Err(_) => prepared.into_iter().map(one).collect(),
    };

    let mut known = errors.is_empty();
    let (mut good, mut wrong) = (Vec::new(), 0);
    for result in judged {
        match result {
            Ok(judged) => {
                judged.iter().flat_map(|judged| &judged.warnings).for_each(|warning| render::say(warning));
                good.extend(judged);
            }
            Err((errors, input)) => {
                errors.iter().for_each(|error| render::error(error, input.as_ref()));
                known = false;
                wrong += 1;
            }
        }
    }
    known &= good.iter().all(|judged| judged.answer.holds.is_some_and(|holds| holds || !args.must_hold));
    let drawn = draw(args, &good);
    let text = match args.format {
        LitmusFormat::Json => {
            let answers: Vec<&Answer> = good.iter().map(|judged| &judged.answer).collect();
            for Answer { file, unknown, .. } in &answers {
                let why = unknown.iter().map(|limit| why(*limit));
                why.for_each(|why| render::say(&format!("warning: {file}: the verdict is unknown: {why}")));
            }
            format::json(&answers)
        }
        LitmusFormat::Text => text(&good, good.len() + wrong, explain || question.outcomes.is_some()),
    };
    let fails = good.iter().any(|judged| judged.answer.holds == Some(false));
    let has_summary = args.format == LitmusFormat::Text && !explain;
    let hint = if fails && has_summary && !args.must_hold { MUST_HOLD } else { "" };
    let text = text + hint;
    // A drawing on standard output replaces the text.
    let drawn_there = [&args.dot, &args.svg].into_iter().flatten().any(|path| path == Path::new("-"));
    let text = if drawn_there { String::new() } else { text };
    let errors: Vec<_> = [drawn, write(Path::new("-"), &text)].into_iter().filter_map(Result::err).flatten().collect();
    errors.iter().for_each(|error| render::error(error, None));
    if known && errors.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn from_source(args: &LitmusArgs, path: &Path) -> ExitCode {
    let done = from_source::run(args, path, limits(args)).and_then(|(text, kept)| {
        write(Path::new("-"), &text)?;
        Ok(kept)
    });
    match done {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(errors) => {
            errors.iter().for_each(|error| render::error(error, None));
            ExitCode::FAILURE
        }
    }
}

fn limits(args: &LitmusArgs) -> Limits {
    Limits { rounds: args.rounds as usize, choices: args.choices, time: args.time_limit, ..Limits::default() }
}

/// The files in the order of the arguments; the files of a folder by name.
fn files(arguments: &[PathBuf]) -> (Vec<PathBuf>, Errors) {
    let (mut files, mut errors) = (Vec::new(), Errors::new());
    for argument in arguments {
        if !argument.is_dir() {
            files.push(argument.clone());
            continue;
        }
        let before = files.len() + errors.len();
        for entry in WalkDir::new(argument).sort_by_file_name() {
            match entry {
                Ok(entry) if entry.path().extension().is_some_and(|extension| extension == "litmus") => {
                    files.extend((!entry.path().is_dir()).then(|| entry.into_path()));
                }
                Ok(_) => {}
                Err(error) => errors.push(Diagnostic::new(format!("cannot search '{}': {error}", argument.display()))),
            }
        }
        if files.len() + errors.len() == before {
            let message = format!("'{}' has no litmus tests", argument.display());
            errors.push(Diagnostic::new(message).help("give a folder with files that end with .litmus"));
        }
    }
    (files, errors)
}

/// The number of outcomes to print.
fn choose_outcome_count(args: &LitmusArgs) -> Option<usize> {
    if args.all_outcomes { Some(usize::MAX) } else { args.outcomes.then_some(OUTCOMES) }
}

/// The error about incompatible options.
fn wrong_usage(args: &LitmusArgs, files: &[PathBuf]) -> Option<String> {
    let drawing = args.dot.is_some() || args.svg.is_some();
    let json = args.format == LitmusFormat::Json;
    match () {
        () if drawing && files.len() > 1 => Some(format!("--dot and --svg draw one test, not {}", files.len())),
        () if json && (choose_outcome_count(args).is_some() || args.explain) => {
            Some("--outcomes, --all-outcomes and --explain are for --format text".into())
        }
        () if !args.source.flags.is_empty() && !files.iter().any(|file| input::is_compiled(file)) => {
            Some("the flags after -- are for a compiler, and no file is a source".into())
        }
        () => None,
    }
}

/// The tests of a kernel.
fn kernels(args: &LitmusArgs, path: &Path) -> Subjects {
    let tests = kernel::tests(args, path, conventions(args).0, limits(args))?;
    let subject = |compiled: Compiled| Subject {
        file: path.display().to_string(),
        litmus: compiled.litmus.clone(),
        compiled: Some(compiled),
        lines: Vec::new(),
        warnings: Vec::new(),
    };
    Ok(tests.into_iter().map(subject).collect())
}

fn conventions(args: &LitmusArgs) -> (Conventions, Dialect) {
    let (conventions, dialect) = match args.convention {
        Convention::Manual => (Conventions::MANUAL, Dialect::Ptx),
        Convention::Dat3m => (Conventions::DAT3M, Dialect::Dat3m),
    };
    let readings = args.readings.readings();
    (Conventions { readings, strengthened: args.model == Model::Strengthened, ..conventions }, dialect)
}

fn litmus(args: &LitmusArgs, path: &Path) -> Result<Subject, Failure> {
    let input = read(path).map_err(|errors| (errors, None))?;
    let Ok(text) = std::str::from_utf8(input.bytes()) else {
        let message = format!("'{}' is not text", input.name());
        return Err((Diagnostic::new(message).help("give a litmus test, which begins with `PTX`").into(), None));
    };
    let litmus::Read { litmus, warnings, lines } = match Litmus::read_with_lines(text, conventions(args).1) {
        Ok(read) => read,
        Err(errors) => {
            let errors = errors.0.into_iter().map(|error| diagnostic(error, text, &input)).collect();
            return Err((errors, Some(input)));
        }
    };
    let warnings = warnings.iter().map(|warning| format!("warning: {}:{warning}", input.name())).collect();
    Ok(Subject { file: input.name().to_owned(), litmus, compiled: None, lines, warnings })
}

/// Draws the only test; draws no file without a test.
fn draw(args: &LitmusArgs, judged: &[TestReport]) -> Result<(), Errors> {
    let [judged] = judged else { return Ok(()) };
    let drawings = [(&args.dot, dot as fn(&Diagram) -> String), (&args.svg, svg)];
    for (path, drawing) in drawings.iter().filter_map(|(path, drawing)| Some((path.as_deref()?, drawing))) {
        let diagram = judged.diagram.as_ref().ok_or_else(|| {
            Diagnostic::new(format!("cannot draw '{}': no execution was found", path.display()))
                .help("raise the limits of the search")
        })?;
        write(path, &drawing(diagram))?;
    }
    Ok(())
}

fn write(path: &Path, text: &str) -> Result<(), Errors> {
    output::write(path, text.as_bytes().to_vec()).map_err(|error| cannot("write", path, &error))
}
