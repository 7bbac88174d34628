//! `ptx-atomics lower`.

use std::{
    collections::{HashMap, VecDeque},
    fs,
    path::{Path, PathBuf},
    process::ExitCode,
    thread,
};

use ptx_atomics::{
    isolated::{self, Job, Language, Lowered, Started},
    pass::{Diagnostic, Errors, Input},
};

use crate::{
    cli::LowerArgs,
    input::{self, Compile, Kind, Made, Program, cannot},
    output::{self, Content, Output},
    render::{self, Lost},
};

/// The output files of one input.
struct Done {
    input: PathBuf,
    files: Vec<(PathBuf, Vec<u8>)>,
    remarks: String,
}

pub fn run(args: &LowerArgs) -> ExitCode {
    // The outputs are opened first, so that a reader at the other end of a pipe sees its end in every case.
    let open = |path: &Path| Output::open(path).map_err(|error| cannot("write", path, &error));
    let opened = open(&args.output).and_then(|output| Ok((output, args.remarks.as_deref().map(open).transpose()?)));
    let (output, remarks_output) = match opened {
        Ok(opened) => opened,
        Err(errors) => return failed(&errors, 1),
    };
    if remarks_output.as_ref().is_some_and(|remarks| remarks.is_same(&output)) {
        let message = format!("-o and --remarks name the same file: '{}'", args.output.display());
        return failed(&[Diagnostic::new(message).help("give --remarks another file")], 2);
    }
    if args.paths.len() > 1 && !matches!(output, Output::Folder(_)) {
        let message = format!("there are {} inputs and one output: '{}'", args.paths.len(), args.output.display());
        return failed(&[Diagnostic::new(message).help("give a folder by -o FOLDER/")], 2);
    }
    let into_folder = matches!(output, Output::Folder(_));
    let mut all_done = true;
    let mut done = Vec::new();
    let at_once = at_once(args);
    let mut paths = args.paths.iter();
    let mut begun = VecDeque::new();
    loop {
        begun.extend(paths.by_ref().take(at_once - begun.len()).map(|path| (path, begin(args, path))));
        let Some((path, begun)) = begun.pop_front() else { break };
        match begun.and_then(|(job, started)| end(args, path, into_folder, job, started)) {
            Ok(one) => done.push(one),
            Err((errors, input)) => {
                render::errors(&errors, input.as_ref(), lost(args, path));
                all_done = false;
            }
        }
    }
    for (path, error) in clashes(&mut done) {
        render::errors(&[error], None, lost(args, &path));
        all_done = false;
    }
    if done.is_empty() {
        return ExitCode::FAILURE;
    }
    match write(args, output, remarks_output, done) {
        Ok(()) if all_done => ExitCode::SUCCESS,
        Ok(()) => ExitCode::FAILURE,
        Err(errors) => failed(&errors, 1),
    }
}

/// The number of processes that work at once.
fn at_once(args: &LowerArgs) -> usize {
    args.jobs.unwrap_or_else(|| thread::available_parallelism().map_or(1, Into::into))
}

fn lost<'a>(args: &LowerArgs, path: &'a Path) -> Lost<'a> {
    if args.paths.len() > 1 { Lost::Of(path) } else { Lost::All }
}

fn failed(errors: &[Diagnostic], status: u8) -> ExitCode {
    render::errors(errors, None, Lost::All);
    ExitCode::from(status)
}

/// Errors, with the input if it could be read.
type Failed = (Errors, Option<Input>);

/// Starts the lowering of one input.
fn begin(args: &LowerArgs, path: &Path) -> Result<(Job, Started), Failed> {
    let (mut input, language) = ir(args, path).map_err(|errors| (errors, None))?;
    input.keep_lines = args.verbose || args.remarks.is_some();
    let mut job = Job::new(input);
    job.language = language;
    job.emit = args.emit;
    job.module.clone_from(&args.module);
    job.options = args.options();
    job.level = args.level;
    job.codegen_level = args.codegen_level;
    // Several inputs keep all processors busy without further processes.
    job.processes = if args.paths.len() > 1 { 1 } else { at_once(args) };
    match isolated::start(&job) {
        Ok(started) => Ok((job, started)),
        Err(errors) => Err((errors, Some(job.input))),
    }
}

/// Waits for the lowering of an input.
fn end(args: &LowerArgs, path: &Path, into_folder: bool, job: Job, started: Started) -> Result<Done, Failed> {
    let mut warn = |text: &str| render::say(&format!("warning: {text}"));
    let lowered = started.wait(&job, &mut warn).and_then(|lowered| {
        if !into_folder && lowered.len() > 1 {
            let names: Vec<_> = lowered.iter().filter_map(|lowered| lowered.name.as_deref()).collect();
            let message = format!("the input has several modules, and the output is one file: {}", names.join(", "));
            let help = "give a folder by -o FOLDER/, or choose a module by --module NAME";
            return Err(Diagnostic::new(message).help(help).into());
        }
        Ok(lowered)
    });
    let lowered = match lowered {
        Ok(lowered) => lowered,
        Err(errors) => return Err((errors, Some(job.input))),
    };
    let warnings = lowered.iter().flat_map(|lowered| &lowered.warnings);
    warnings.for_each(|warning| render::warning(warning, Some(&job.input)));
    if args.verbose {
        lowered.iter().flat_map(|lowered| &lowered.report).for_each(|line| render::say(line));
    }
    let remarks = lowered.iter().map(|lowered| lowered.remarks.as_str()).collect();
    let files = lowered.into_iter().map(|lowered| {
        let name = if into_folder { args.output.join(file_name(args, path, &lowered)) } else { args.output.clone() };
        (name, lowered.bytes)
    });
    Ok(Done { input: path.to_owned(), files: files.collect(), remarks })
}

/// The IR of an input.
fn ir(args: &LowerArgs, path: &Path) -> Result<(Input, Language), Errors> {
    let how = Compile::new(args.options(), &args.target, &args.source);
    let mut programs = input::programs(path, args.language, Kind::Ir(Language::Llvm))?;
    match programs.pop() {
        Some(Program { kind: Kind::Ir(language), input, .. }) => Ok((input, language)),
        Some(Program { kind: Kind::Source, path, .. }) => Ok((how.made(&path, Made::LlvmIr)?, Language::Llvm)),
        _ => {
            let message = format!("'{}' is neither IR nor a source", path.display());
            let help = "give LLVM IR, MLIR or a source; `ptx-atomics check` reads PTX";
            Err(Diagnostic::new(message).help(help).into())
        }
    }
}

/// The name of the output file in a folder.
fn file_name(args: &LowerArgs, path: &Path, lowered: &Lowered) -> String {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned());
    let stem = lowered.name.clone().or(stem.filter(|stem| stem != "-")).unwrap_or_else(|| "device".to_owned());
    format!("{}.{}", stem.replace(['/', '\0'], "_"), args.emit.extension())
}

/// Removes the inputs whose output file has the same name as a file of another input, each with its error.
fn clashes(done: &mut Vec<Done>) -> Vec<(PathBuf, Diagnostic)> {
    let mut inputs: HashMap<PathBuf, Vec<PathBuf>> = HashMap::new();
    for one in done.iter() {
        one.files.iter().for_each(|(name, _)| inputs.entry(name.clone()).or_default().push(one.input.clone()));
    }
    let mut found = Vec::new();
    done.retain(|one| {
        let of_several = |name: &PathBuf| inputs.get(name).filter(|inputs| inputs.len() > 1);
        let clash = one.files.iter().find_map(|(name, _)| Some((name, of_several(name)?)));
        if let Some((name, inputs)) = clash {
            let inputs = inputs.iter().map(|input| format!("'{}'", input.display())).collect::<Vec<_>>().join(" and ");
            let message = format!("cannot write '{}': another output has the same name", name.display());
            let error = Diagnostic { notes: vec![format!("the inputs are {inputs}")], ..Diagnostic::new(message) };
            found.push((one.input.clone(), error.help("lower them into different folders")));
        }
        clash.is_none()
    });
    found
}

fn write(args: &LowerArgs, output: Output, remarks: Option<Output>, done: Vec<Done>) -> Result<(), Errors> {
    let mut contents = Vec::new();
    if let (Some(output), Some(name)) = (remarks, args.remarks.clone()) {
        let bytes = done.iter().map(|done| done.remarks.as_str()).collect::<String>().into_bytes();
        contents.push(Content { name, output, bytes });
    }
    let files = done.into_iter().flat_map(|done| done.files);
    if let Output::Folder(folder) = &output {
        fs::create_dir_all(folder).map_err(|error| cannot("write", folder, &error))?;
        for (name, bytes) in files {
            let output = Output::open(&name).map_err(|error| cannot("write", &name, &error))?;
            contents.push(Content { name, output, bytes });
        }
    } else {
        let (name, bytes) =
            files.into_iter().next().ok_or_else(|| Diagnostic::new("ptx-atomics has a bug: it made no output"))?;
        contents.push(Content { name, output, bytes });
    }
    output::publish(contents).map_err(|(name, error)| cannot("write", &name, &error))
}
