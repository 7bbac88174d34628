//! `ptx-atomics lower`.

use std::{
    fmt::Display,
    fs,
    io::{self, Read},
    ops::Range,
    path::Path,
    process::ExitCode,
};

use ptx_atomics::{
    llvm::{
        self, Diagnostic, Handlers, Input, Options, Remark, Settings,
        inkwell::{
            OptimizationLevel,
            context::Context,
            module::{Linkage, Module},
        },
        remarks,
    },
    lowering::{PtxVersion, Target},
};
use strum::EnumMessage;

use crate::{
    cli::{Emit, LowerArgs, TargetArgs},
    isolate::{self, Death, End, Stage},
    output::Output,
    render,
};

/// What the work gives.
struct Lowered {
    bytes: Vec<u8>,
    remarks: Vec<Remark>,
    target: Target,
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
    let mut input = read(&args.input)?;
    input.keep_lines = args.verbose || args.remarks.is_some();
    let open = |path: &Path| Output::open(path).map_err(|error| cannot("write", path, &error));
    let output = open(&args.output)?;
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

fn cannot(what: &str, path: &Path, error: &io::Error) -> Vec<Diagnostic> {
    Diagnostic::new(format!("cannot {what} '{}': {error}", path.display())).into()
}

/// The whole job, in the child. With `only`, code is generated for some of the functions.
fn work(args: &LowerArgs, input: &Input, only: Option<Range<usize>>) -> Result<Lowered, Vec<Diagnostic>> {
    isolate::stage(Stage::Read);
    let context = Context::create();
    llvm::install_handlers(
        &context,
        Handlers { error: isolate::fatal, warning: |text| render::say(&format!("warning: {text}")) },
    );
    let module = llvm::read(&context, input)?;
    let settings = args.settings(Settings::of_module(&module)?);
    let target = target(&settings, &module)?;
    let options = Options { remarks: input.keep_lines, ..settings.options(target) };
    let machine = llvm::machine(&module, &target, optimization(args.level))?;
    llvm::expand(&module)?;
    llvm::check(&module, input, &options)?;

    isolate::stage(Stage::Prepare);
    llvm::prepare(&module, &machine, args.level)?;
    isolate::stage(Stage::Lower);
    let remarks = match llvm::lower(&module, input, &options) {
        Ok(remarks) => remarks,
        // What only optimization brought to light has no line yet.
        Err(_) if !input.keep_lines => return work(args, &input.clone().keeping_lines(), only),
        Err(errors) => return Err(errors),
    };

    isolate::stage(Stage::Emit);
    keep(&module, only);
    let bytes = match args.emit {
        Emit::Ptx => llvm::ptx(&module, &machine, &target)?,
        Emit::LlvmIr => llvm::ir(&module),
        Emit::LlvmBc => llvm::bitcode(&module),
    };
    // The process ends soon: to free the module costs more than it gives.
    std::mem::forget(module);
    std::mem::forget(context);
    Ok(Lowered { bytes, remarks, target })
}

/// The target of the flags; the module is asked for what they leave open.
fn target(settings: &Settings, module: &Module<'_>) -> Result<Target, Vec<Diagnostic>> {
    let gpu = settings
        .mcpu
        .map_or_else(|| one(llvm::requested_gpus(module)?, "GPUs", "--mcpu", |sm| sm.name()), |sm| Ok(Some(sm)));
    let version = settings.mattr.map_or_else(
        || one(llvm::requested_versions(module)?, "PTX versions", "--mattr", PtxVersion::feature),
        |_| Ok(None),
    );
    match (gpu, version) {
        (Ok(gpu), Ok(version)) => {
            let args = TargetArgs { mcpu: settings.mcpu, mattr: settings.mattr };
            Ok(args.target(gpu, version).map_err(|error| Diagnostic::new(error.to_string()))?)
        }
        (gpu, version) => Err([gpu.err(), version.err()].into_iter().flatten().flatten().collect()),
    }
}

/// The one value that all functions agree on.
fn one<T: Copy, N: Display>(
    found: Vec<(T, String)>,
    what: &str,
    flag: &str,
    name: impl Fn(T) -> N,
) -> Result<Option<T>, Vec<Diagnostic>> {
    if found.len() > 1 {
        let places = found.iter().map(|(value, function)| format!("'{}' in function '{function}'", name(*value)));
        let message = format!("the module asks for several {what}: {}", places.collect::<Vec<_>>().join(", "));
        return Err(Diagnostic::new(message).help(format!("PTX text has one target: give it by {flag}")).into());
    }
    Ok(found.into_iter().next().map(|(value, _)| value))
}

fn optimization(level: Option<u8>) -> OptimizationLevel {
    match level {
        Some(0) => OptimizationLevel::None,
        Some(1) => OptimizationLevel::Less,
        None | Some(2) => OptimizationLevel::Default,
        Some(_) => OptimizationLevel::Aggressive,
    }
}

/// Hides the functions that are not in `only` from the backend, and says which are left.
fn keep(module: &Module<'_>, only: Option<Range<usize>>) {
    let defined = module.get_functions().filter(|function| function.count_basic_blocks() > 0).collect::<Vec<_>>();
    let only = only.unwrap_or(0..defined.len());
    let hidden = defined.iter().enumerate().filter(|(index, _)| !only.contains(index));
    hidden.for_each(|(_, function)| function.set_linkage(Linkage::AvailableExternally));
    let first = defined.get(only.start).map(|function| function.get_name().to_string_lossy().into_owned());
    isolate::functions(only.len(), &first.unwrap_or_default());
}

/// Writes what was made to the temporary files.
fn deliver(args: &LowerArgs, lowered: &Lowered, output: &Output, remarks_output: Option<&Output>) -> bool {
    let mut written = vec![(output.write(&lowered.bytes), args.output.as_path())];
    if let Some((output, path)) = remarks_output.zip(args.remarks.as_deref()) {
        written.push((output.write(remarks::yaml(&lowered.remarks).as_bytes()), path));
    }
    if args.verbose {
        report(lowered);
    }
    let failed = written.into_iter().filter_map(|(result, path)| Some(cannot("write", path, &result.err()?)));
    let errors: Vec<_> = failed.flatten().collect();
    render::errors(&errors, None);
    errors.is_empty()
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
    render::say(&format!("{} atomics and fences lowered for {}", lowered.remarks.len(), lowered.target));
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
