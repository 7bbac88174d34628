//! `ptx-atomics lower`: what is the same for LLVM IR and for MLIR.

mod llvm_ir;
mod mlir;

use std::{
    fs,
    io::{self, Read},
    ops::Range,
    path::Path,
    process::ExitCode,
};

use ptx_atomics::{
    llvm::{self, Diagnostic, Handlers, Input, Remark, inkwell::context::Context, remarks},
    lowering::Target,
    mlir::BYTECODE,
};
use strum::EnumMessage;

use crate::{
    cli::{Language, LowerArgs},
    isolate::{self, Death, End, Stage},
    output::Output,
    render,
};

pub use self::mlir::{named, translated};

/// One output of the work.
struct Lowered {
    /// That of the `gpu.module`.
    name: Option<String>,
    bytes: Vec<u8>,
    remarks: Vec<Remark>,
    /// Nothing for a module without device code.
    target: Option<Target>,
}

pub fn run(args: LowerArgs) -> ExitCode {
    match lower(&args) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(errors) => {
            render::errors(&errors, None);
            ExitCode::FAILURE
        }
    }
}

fn lower(args: &LowerArgs) -> Result<bool, Vec<Diagnostic>> {
    let mut input = read(&args.path)?;
    input.keep_lines = args.verbose || args.remarks.is_some();
    let open = |path: &Path| Output::open(path).map_err(|error| cannot("write", path, &error));
    let output = match language(args.language, &input) {
        Language::Mlir if Output::is_folder(&args.output) => {
            Output::folder(&args.output).map_err(|error| cannot("write", &args.output, &error))?
        }
        _ => open(&args.output)?,
    };
    let remarks_output = args.remarks.as_deref().map(open).transpose()?;

    let work = || match work(args, &input, None) {
        Ok(lowered) => deliver(args, &lowered, &output, remarks_output.as_ref()),
        Err(errors) => {
            render::errors(&errors, Some(&input));
            false
        }
    };
    let cannot_fork = |error: io::Error| Diagnostic::new(format!("cannot start a process: {error}"));
    match isolate::run(false, work).map_err(cannot_fork)? {
        End::Returned(false) => Ok(false),
        End::Returned(true) => {
            let commit = |output: Output, path| output.commit().map_err(|error| cannot("write", path, &error));
            remarks_output.zip(args.remarks.as_deref()).map(|(output, path)| commit(output, path)).transpose()?;
            commit(output, &args.output)?;
            Ok(true)
        }
        End::Died(death) => {
            let function = culprit(args, &input, &death);
            Err(obituary(death, function).into())
        }
    }
}

/// Reads a file; `-` is standard input.
pub fn read(path: &Path) -> Result<Input, Vec<Diagnostic>> {
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        io::stdin().read_to_end(&mut bytes).map_err(|error| cannot("read", path, &error))?;
        return Ok(Input::new("<stdin>", bytes));
    }
    let bytes = fs::read(path).map_err(|error| cannot("read", path, &error))?;
    Ok(Input::new(path.display().to_string(), bytes))
}

pub fn cannot(what: &str, path: &Path, error: &io::Error) -> Vec<Diagnostic> {
    Diagnostic::new(format!("cannot {what} '{}': {error}", path.display())).into()
}

/// The whole job, in the child. With `only`, code is generated for some of the functions.
fn work(args: &LowerArgs, input: &Input, only: Option<Range<usize>>) -> Result<Vec<Lowered>, Vec<Diagnostic>> {
    isolate::stage(Stage::Read);
    let context = Context::create();
    llvm::install_handlers(
        &context,
        Handlers { error: isolate::fatal, warning: |text| render::say(&format!("warning: {text}")) },
    );
    let lowered = match language(args.language, input) {
        Language::Llvm => llvm_ir::work(args, input, &context, only).map(|lowered| vec![lowered]),
        Language::Mlir => mlir::work(args, input, &context, only),
    };
    // The process ends soon: to free what LLVM holds costs more than it gives.
    std::mem::forget(context);
    lowered
}

/// What the input is written in.
pub fn language(asked: Option<Language>, input: &Input) -> Language {
    asked.unwrap_or_else(|| {
        let by_name = [".mlir", ".mlirbc"].iter().any(|ending| input.name().ends_with(ending));
        if by_name || input.bytes().starts_with(BYTECODE) { Language::Mlir } else { Language::Llvm }
    })
}

/// Writes what was made to the temporary files.
fn deliver(args: &LowerArgs, lowered: &[Lowered], output: &Output, remarks_output: Option<&Output>) -> bool {
    let mut errors: Vec<_> = match output {
        Output::Folder { .. } => {
            lowered.iter().filter_map(|lowered| put(args, lowered, output).err()).flatten().collect()
        }
        _ => match lowered {
            [one] => {
                output.write(&one.bytes).err().map(|error| cannot("write", &args.output, &error)).unwrap_or_default()
            }
            several => {
                let names: Vec<_> = several.iter().filter_map(|lowered| lowered.name.as_deref()).collect();
                let message = format!("the input has several modules, and there is one output: {}", names.join(", "));
                Diagnostic::new(message).help("give a folder by -o FOLDER/, or one of them by --module NAME").into()
            }
        },
    };
    if let Some((output, path)) = remarks_output.zip(args.remarks.as_deref()) {
        let all: Vec<_> = lowered.iter().flat_map(|lowered| lowered.remarks.iter().cloned()).collect();
        let written = output.write(remarks::yaml(&all).as_bytes());
        errors.extend(written.err().map(|error| cannot("write", path, &error)).unwrap_or_default());
    }
    if args.verbose {
        lowered.iter().for_each(report);
    }
    render::errors(&errors, None);
    errors.is_empty()
}

/// Writes an output to its file in the folder.
fn put(args: &LowerArgs, lowered: &Lowered, folder: &Output) -> Result<(), Vec<Diagnostic>> {
    let stem = args.path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let stem = lowered.name.clone().or(stem.filter(|stem| stem != "-")).unwrap_or_else(|| "device".to_owned());
    let file = format!("{}.{}", stem.replace(['/', '\0'], "_"), args.emit.extension());
    folder.put(&file, &lowered.bytes).map_err(|error| cannot("write", &args.output.join(file), &error))
}

fn report(lowered: &Lowered) {
    for remark in &lowered.remarks {
        let place = remark.location.as_ref().map_or(String::new(), |at| format!("{}:{}: ", at.file, at.line));
        let sequence = remarks::sequence(remark);
        render::say(&format!("{place}in '{}': {} became {sequence}", remark.function, remark.operation));
        for change in &remark.changes {
            render::say(&format!("  {change}: {}", change.get_message().unwrap_or_default()));
        }
    }
    let target = lowered.target.map(|target| format!(" for {target}")).unwrap_or_default();
    let module = lowered.name.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
    render::say(&format!("{module}{} atomics and fences lowered{target}", lowered.remarks.len()));
}

/// The function on which the backend died: a search by halves, each in a process of its own.
fn culprit(args: &LowerArgs, input: &Input, death: &Death) -> Option<String> {
    if death.stage != Some(Stage::Emit) {
        return None;
    }
    let dies = |range: Range<usize>| match isolate::run(true, || work(args, input, Some(range)).is_ok()) {
        Ok(End::Died(death)) => Some(death.function),
        _ => None,
    };
    let mut range = 0..death.functions;
    let mut name = None;
    while range.len() > 1 || name.is_none() {
        let middle = range.start + range.len().div_ceil(2);
        (range, name) = match dies(range.start..middle) {
            Some(first) => (range.start..middle, Some(first)),
            None => (middle..range.end, Some(dies(middle..range.end)?)),
        };
    }
    name
}

/// The error of a process that LLVM ended.
pub fn obituary(death: Death, function: Option<String>) -> Diagnostic {
    let stage = death.stage.map_or("starting".to_owned(), |stage| stage.to_string());
    let mut reason = death.reason.lines().map(str::to_owned);
    let first = reason.next().unwrap_or_else(|| "no reason was given".to_owned());
    let backend = death.stage == Some(Stage::Emit);
    let help = if backend {
        "the atomics were lowered; this is something else that LLVM cannot compile for the target: `llc-22` fails on it too"
    } else {
        "this is a bug in LLVM: `opt-22 -passes=verify` fails on the same input"
    };
    Diagnostic {
        function,
        notes: reason.collect(),
        ..Diagnostic::new(format!("LLVM failed while {stage}: {first}")).help(help)
    }
}
