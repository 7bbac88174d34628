//! The lowering of LLVM IR to the output of a job.

use std::{collections::BTreeSet, fmt::Display};

use ptx_atomics_common::helper::{Emit, Job, Lowered};
use ptx_atomics_llvm::{
    self as llvm, Checked, Diagnostic, Errors, Options, Remark, Settings,
    inkwell::{
        OptimizationLevel,
        context::Context,
        module::{Linkage, Module},
        targets::{TargetData, TargetMachine},
        values::{CallSiteValue, FunctionValue},
    },
};
use ptx_lowering::{PtxVersion, Target};

use super::{
    part::Part,
    parts,
    process::{self, Functions, Stage},
    unoptimized::Unoptimized,
};

pub fn work(job: &Job, context: &Context, only: Option<Part>) -> Result<Lowered, Errors> {
    if job.emit.is_mlir() {
        let message = "LLVM IR cannot become MLIR";
        return Err(Diagnostic::new(message).help("for MLIR on standard input, give --input mlir").into());
    }
    if job.module.is_some() {
        return Err(Diagnostic::new("--module is for MLIR, and the input is LLVM IR").into());
    }
    let input = &job.input;
    let (module, machine, options) = checked(job, context)?;
    match finish(job, &module, &machine, &options, Lines::OfTheModule, only.clone()) {
        Ok(Finished { bytes, remarks, warnings }) => {
            std::mem::forget(module);
            Ok(Lowered::new(None, bytes, &remarks, Some(options.target)).with_warnings(warnings))
        }
        // An error that only appears after optimization has no line yet, so the work is repeated with lines.
        Err(_) if !input.keep_lines => work(&job.clone().keeping_lines(), context, only),
        Err(errors) => Err(errors),
    }
}

/// The PTX of the module for checks: unoptimized, or after LLVM's optimizer if the job has an optimization level.
pub fn unoptimized(job: &Job, context: &Context) -> Result<Unoptimized, Errors> {
    let (module, machine, options) = checked(job, context)?;
    optimize(job, &module, &machine)?;
    process::stage(Stage::Check);
    let lines = llvm::asynchronous_lines(&module, &job.input, &options)?;
    std::mem::forget(module);
    Ok(Unoptimized::new(None, lines))
}

/// Optimizes a module with LLVM at the job's optimization level, if it has one.
pub fn optimize(job: &Job, module: &Module<'_>, machine: &TargetMachine) -> Result<(), Errors> {
    if job.level.is_some() {
        process::stage(Stage::Prepare);
        llvm::prepare(module, machine, job.level)?;
    }
    Ok(())
}

/// Reads and checks a module.
fn checked<'c>(job: &Job, context: &'c Context) -> Result<(Module<'c>, TargetMachine, Options), Errors> {
    let input = &job.input;
    let module = llvm::read(context, input)?;
    let settings = job.settings(llvm::settings_of(&module)?)?;
    let target = target(&settings, &module)?;
    let options = Options { remarks: input.keep_lines, ..settings.options(target) };
    let machine = machine(job, &module, &target)?;
    llvm::expand(&module)?;
    llvm::relax_cuda(&module, || Ok(options.cuda_atomics))?;
    llvm::check(&module, input, &options)?;
    Ok((module, machine, options))
}

/// The origin of the lines in a module's debug information.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Lines {
    /// The input has them.
    OfTheModule,
    /// This crate added them for messages.
    ForMessages,
}

/// The result for a module.
pub struct Finished {
    pub bytes: Vec<u8>,
    pub remarks: Vec<Remark>,
    pub warnings: Vec<Diagnostic>,
}

/// Lowers a checked module, and generates code.
pub fn finish(
    job: &Job,
    module: &Module<'_>,
    machine: &TargetMachine,
    options: &Options,
    lines: Lines,
    only: Option<Part>,
) -> Result<Finished, Errors> {
    process::stage(Stage::Check);
    let Checked { warnings, mut remarks } = llvm::asynchronous(module, &job.input, options)?;
    process::stage(Stage::Prepare);
    llvm::prepare(module, machine, job.level)?;
    process::stage(Stage::Lower);
    if job.emit == Emit::Ptx {
        llvm::discard_names(module);
    }
    let (lowered, kept) = llvm::lower(module, &job.input, options)?;
    remarks.extend(lowered);
    if lines == Lines::ForMessages {
        llvm::strip_debug_info(module);
    }
    process::stage(Stage::Emit);
    let is_whole = only.is_none();
    keep(module, only, &options.target);
    let bytes = match job.emit {
        Emit::LlvmIr => llvm::ir(module),
        Emit::LlvmBc => llvm::bitcode(module),
        _ => {
            let by_parts = if is_whole { parts::ptx(module, machine, &options.target, job.processes) } else { None };
            by_parts.map_or_else(|| llvm::ptx(module, machine, &options.target), Ok)?
        }
    };
    if job.emit == Emit::Ptx && is_whole {
        kept.verify(&bytes)?;
    }
    Ok(Finished { bytes, remarks, warnings })
}

/// LLVM's code generator, at its own optimization level, or else at the pipeline's.
pub fn machine(job: &Job, module: &Module<'_>, target: &Target) -> Result<TargetMachine, Errors> {
    let level = match job.codegen_level.or(job.level) {
        Some(0) => OptimizationLevel::None,
        Some(1) => OptimizationLevel::Less,
        None | Some(2) => OptimizationLevel::Default,
        Some(_) => OptimizationLevel::Aggressive,
    };
    let layout = module.get_data_layout().as_str().to_owned();
    let machine = llvm::machine(module, target, level)?;
    machine.set_asm_verbosity(job.comments);
    // Emitted IR may be input of a compiler that requires its own data layout, such as libNVVM.
    if job.emit.is_llvm_ir() && !layout.is_empty() {
        module.set_data_layout(&TargetData::create(&layout.to_string_lossy()).get_data_layout());
    }
    Ok(machine)
}

/// The target from the settings, or from the module where the settings leave it open.
fn target(settings: &Settings, module: &Module<'_>) -> Result<Target, Errors> {
    let gpu = settings.mcpu.map_or_else(
        || single_value(llvm::requested_gpus(module)?, "GPUs", "--mcpu", |sm| sm.name()),
        |sm| Ok(Some(sm)),
    );
    let version = settings.mattr.map_or_else(
        || single_value(llvm::requested_versions(module)?, "PTX versions", "--mattr", PtxVersion::feature),
        |_| Ok(None),
    );
    match (gpu, version) {
        (Ok(gpu), Ok(version)) => {
            Ok(settings.target(gpu, version).map_err(|error| Diagnostic::new(error.to_string()))?)
        }
        (gpu, version) => Err([gpu.err(), version.err()].into_iter().flatten().flatten().collect()),
    }
}

/// The single value on which all functions agree.
fn single_value<T: Copy, N: Display>(
    found: Vec<(T, String)>,
    what: &str,
    flag: &str,
    name: impl Fn(T) -> N,
) -> Result<Option<T>, Errors> {
    if found.len() > 1 {
        let places = found.iter().map(|(value, function)| format!("'{}' in function '{function}'", name(*value)));
        let message = format!("the module asks for several {what}: {}", places.collect::<Vec<_>>().join(", "));
        return Err(Diagnostic::new(message).help(format!("PTX text has one target: give it by {flag}")).into());
    }
    Ok(found.into_iter().next().map(|(value, _)| value))
}

/// Hides the functions outside `only` from the backend, and reports the remaining functions.
fn keep(module: &Module<'_>, only: Option<Part>, target: &Target) {
    let defined = module.get_functions().filter(|function| function.count_basic_blocks() > 0).collect::<Vec<_>>();
    let Part { functions, without } = only.unwrap_or(Part { functions: 0..defined.len(), without: None });
    let hidden = defined.iter().enumerate().filter(|(index, _)| !functions.contains(index));
    hidden.for_each(|(_, function)| function.set_linkage(Linkage::AvailableExternally));
    let first = defined.get(functions.start);
    process::functions(Functions {
        count: functions.len(),
        first: first.map(|function| function.get_name().to_string_lossy().into_owned()).unwrap_or_default(),
        intrinsics: first.filter(|_| functions.len() == 1).map(|first| intrinsics(*first)).unwrap_or_default(),
        target: (target.sm.name().to_owned(), target.ptx.feature()),
    });
    // Under another name, the intrinsic is an ordinary function of another module.
    if let Some(intrinsic) = without.and_then(|name| module.get_function(&name)) {
        intrinsic.as_global_value().set_name("ptx-atomics.opaque");
    }
}

/// The intrinsics that a function calls.
fn intrinsics(function: FunctionValue<'_>) -> Vec<String> {
    let instructions = function.get_basic_block_iter().flat_map(|block| block.get_instructions());
    let calls = instructions.filter_map(|instruction| CallSiteValue::try_from(instruction).ok());
    let names = calls.filter_map(|call| Some(call.get_called_fn_value()?.get_name().to_string_lossy().into_owned()));
    names.filter(|name| name.starts_with("llvm.")).collect::<BTreeSet<_>>().into_iter().collect()
}
