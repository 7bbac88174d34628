//! `ptx-atomics lower`: what is the same for LLVM IR and for MLIR.

mod backend;
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
    llvm::{self, Diagnostic, Errors, Handlers, Input, Remark, inkwell::context::Context, remarks},
    lowering::Target,
    mlir::BYTECODE,
};
use strum::EnumMessage;

use crate::{
    cli::{Language, LowerArgs},
    isolate::{self, Cause, Death, End, Made, Stage},
    output::{self, Content, Output},
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
        Err(Failure { errors, status }) => {
            render::errors(&errors, None);
            status
        }
    }
}

/// A part of a module for which code is generated.
#[derive(Clone)]
struct Part {
    functions: Range<usize>,
    /// An intrinsic that the backend is not to see.
    without: Option<String>,
}

/// Errors that no child process has printed.
struct Failure {
    errors: Errors,
    status: ExitCode,
}

impl From<Errors> for Failure {
    fn from(errors: Errors) -> Self {
        Self { errors, status: ExitCode::FAILURE }
    }
}

impl From<Diagnostic> for Failure {
    fn from(error: Diagnostic) -> Self {
        Errors::from(error).into()
    }
}

/// The outputs, by their numbers in what a child makes.
const OUTPUT: usize = 0;
const REMARKS: usize = 1;

fn lower(args: &LowerArgs) -> Result<bool, Failure> {
    // They come first, so that a reader at the other end of a pipe sees its end whatever happens.
    let open = |path: &Path| Output::open(path).map_err(|error| cannot("write", path, &error));
    let output = open(&args.output)?;
    let remarks_output = args.remarks.as_deref().map(open).transpose()?;
    if remarks_output.as_ref().is_some_and(|remarks| remarks.is_same(&output)) {
        let message = format!("-o and --remarks are the same: '{}'", args.output.display());
        let error = Diagnostic::new(message).help("give the remarks a file of their own");
        return Err(Failure { errors: error.into(), status: ExitCode::from(2) });
    }
    let mut input = read(&args.path)?;
    input.keep_lines = args.verbose || args.remarks.is_some();
    if matches!((language(args.language, &input), &output), (Language::Llvm, Output::Folder(_))) {
        return Err(cannot("write", &args.output, &io::Error::other("it is a directory")).into());
    }

    let into_folder = matches!(output, Output::Folder(_));
    let work = || match work(args, &input, None).and_then(|lowered| deliver(args, &lowered, into_folder)) {
        Ok(()) => true,
        Err(errors) => {
            render::errors(&errors, Some(&input));
            false
        }
    };
    let cannot_fork = |error: io::Error| Diagnostic::new(format!("cannot start a process: {error}"));
    let made = match isolate::run_for(false, work).map_err(cannot_fork)? {
        (End::Returned(true), made) => made,
        (End::Returned(false), _) => return Ok(false),
        (End::Died(death), _) => {
            return Err(backend::explain(args, &input, death).into());
        }
    };
    let (mut remarks, made): (Vec<_>, Vec<_>) = made.into_iter().partition(|made| made.output == REMARKS);
    let mut contents = Vec::new();
    if let (Some(output), Some(name), Some(made)) = (remarks_output, args.remarks.clone(), remarks.pop()) {
        contents.push(Content { name, output, bytes: made.bytes });
    }
    if let Output::Folder(folder) = &output {
        fs::create_dir_all(folder).map_err(|error| cannot("write", folder, &error))?;
        for Made { name, bytes, .. } in made {
            let name = folder.join(name.unwrap_or_default());
            let output = open(&name)?;
            contents.push(Content { name, output, bytes });
        }
    } else {
        let one = made.into_iter().next().ok_or_else(|| Diagnostic::new("ptx-atomics has a bug: nothing was made"))?;
        contents.push(Content { name: args.output.clone(), output, bytes: one.bytes });
    }
    output::publish(contents).map_err(|(name, error)| cannot("write", &name, &error))?;
    Ok(true)
}

/// Reads a file; `-` is standard input.
pub fn read(path: &Path) -> Result<Input, Errors> {
    if path == Path::new("-") {
        let mut bytes = Vec::new();
        io::stdin().read_to_end(&mut bytes).map_err(|error| cannot("read", path, &error))?;
        return Ok(Input::new("<stdin>", bytes));
    }
    let bytes = fs::read(path).map_err(|error| cannot("read", path, &error))?;
    Ok(Input::new(path.display().to_string(), bytes))
}

pub fn cannot(what: &str, path: &Path, error: &io::Error) -> Errors {
    Diagnostic::new(format!("cannot {what} '{}': {error}", path.display())).into()
}

/// The whole job, in the child. With `only`, code is generated for some of the functions.
fn work(args: &LowerArgs, input: &Input, only: Option<Part>) -> Result<Vec<Lowered>, Errors> {
    let language = language(args.language, input);
    isolate::stage(if language == Language::Mlir { Stage::ReadMlir } else { Stage::Read });
    let context = Context::create();
    llvm::install_handlers(
        &context,
        Handlers { error: isolate::fatal, warning: |text| render::say(&format!("warning: {text}")) },
    );
    let lowered = match language {
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

/// Gives the parent what was made, and says what was done.
fn deliver(args: &LowerArgs, lowered: &[Lowered], into_folder: bool) -> Result<(), Errors> {
    if !into_folder && let [_, _, ..] = lowered {
        let names: Vec<_> = lowered.iter().filter_map(|lowered| lowered.name.as_deref()).collect();
        let message = format!("the input has several modules, and there is one output: {}", names.join(", "));
        let help = "give a folder by -o FOLDER/, or one of them by --module NAME";
        return Err(Diagnostic::new(message).help(help).into());
    }
    lowered.iter().for_each(|one| isolate::made(OUTPUT, Some(&file_name(args, one)), &one.bytes));
    if args.remarks.is_some() {
        let all: Vec<_> = lowered.iter().flat_map(|lowered| lowered.remarks.iter().cloned()).collect();
        isolate::made(REMARKS, None, remarks::yaml(&all).as_bytes());
    }
    if args.verbose {
        lowered.iter().for_each(report);
    }
    Ok(())
}

/// The name of an output's file in a folder.
fn file_name(args: &LowerArgs, lowered: &Lowered) -> String {
    let stem = args.path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let stem = lowered.name.clone().or(stem.filter(|stem| stem != "-")).unwrap_or_else(|| "device".to_owned());
    format!("{}.{}", stem.replace(['/', '\0'], "_"), args.emit.extension())
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

/// The error of a process that did not return.
pub fn obituary(death: Death, function: Option<String>) -> Diagnostic {
    let stage = death.stage.map_or("starting".to_owned(), |stage| stage.to_string());
    let who = death.stage.and_then(|stage| stage.get_message()).unwrap_or("ptx-atomics");
    let fault = match death.stage {
        Some(Stage::Read) => "a damaged file does this; where `opt-22 -passes=verify` reads it, please report the file",
        Some(Stage::ReadMlir) => "a damaged file does this; where `mlir-opt-22` reads it, please report the file",
        Some(Stage::Convert) => {
            "this is in MLIR's own conversions: `mlir-opt-22` can show whether they fail by themselves"
        }
        Some(Stage::Emit) => {
            "the atomics were lowered; this is something else that LLVM cannot compile for the target: `llc-22` fails on it too"
        }
        Some(Stage::Prepare) => "this is in LLVM's own passes: `opt-22` can show whether they fail by themselves",
        _ => "please report it with the input",
    };
    let (message, help) = match &death.cause {
        Cause::Fatal(reason) => (format!("{who} failed while {stage}: {reason}"), fault),
        Cause::Panic(reason) => {
            (format!("ptx-atomics has a bug, while {stage}: {reason}"), "please report it with the input")
        }
        Cause::Memory => (
            format!("out of memory while {stage}"),
            "the input needs more than the system or `ulimit -v` gives, or it is damaged and asks for too much",
        ),
        Cause::Stack => {
            (format!("{who} ran out of stack while {stage}"), "something in the input is nested too deeply")
        }
        Cause::Signal(signal) => match SIGNALS.iter().find(|(known, ..)| known == signal) {
            Some((_, name, true)) => (format!("{who} crashed while {stage}: signal {signal} ({name})"), fault),
            Some((_, name, false)) => (
                format!("the process was stopped while {stage}: signal {signal} ({name})"),
                "somebody else sent it: a user, a limit of time, or the system, which sends SIGKILL where memory runs out",
            ),
            None => (format!("the process was stopped while {stage}: signal {signal}"), "somebody else sent it"),
        },
        Cause::Unknown => (format!("{who} ended the process while {stage}, without a reason"), fault),
    };
    let mut lines = message.lines().map(str::to_owned);
    let first = lines.next().unwrap_or_default();
    Diagnostic { function, notes: lines.collect(), ..Diagnostic::new(first).help(help) }
}

/// Whether a signal is one that a process causes itself.
fn is_crash(signal: i32) -> bool {
    SIGNALS.iter().any(|(known, _, own)| *known == signal && *own)
}

/// Signals that end a process, with their names, and whether its own code causes them.
const SIGNALS: [(i32, &str, bool); 13] = [
    (libc::SIGABRT, "SIGABRT", true),
    (libc::SIGBUS, "SIGBUS", true),
    (libc::SIGFPE, "SIGFPE", true),
    (libc::SIGILL, "SIGILL", true),
    (libc::SIGSEGV, "SIGSEGV", true),
    (libc::SIGTRAP, "SIGTRAP", true),
    (libc::SIGALRM, "SIGALRM", false),
    (libc::SIGHUP, "SIGHUP", false),
    (libc::SIGINT, "SIGINT", false),
    (libc::SIGKILL, "SIGKILL", false),
    (libc::SIGQUIT, "SIGQUIT", false),
    (libc::SIGTERM, "SIGTERM", false),
    (libc::SIGXCPU, "SIGXCPU", false),
];
