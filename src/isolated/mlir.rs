//! MLIR to what is written.

use ptx_atomics_llvm::{self as llvm, Diagnostic, Errors, Input, Location, Options, Remark, inkwell::context::Context};
use ptx_atomics_mlir::{
    self as mlir, DeviceModule, Translated, each,
    melior::{
        Context as MlirContext,
        ir::{Module, OperationRef},
    },
};

use super::{
    job::{Emit, Job, Lowered, Part},
    llvm_ir::{self, Lines},
    process::{self, Stage},
};

pub fn work(job: &Job, llvm: &Context, only: Option<Part>) -> Result<Vec<Lowered>, Errors> {
    lower(job, llvm, only).map_err(|mut errors| {
        errors.iter_mut().for_each(|error| named(&mut error.location, &job.input));
        errors
    })
}

/// Text in memory has no name for MLIR.
pub fn named(location: &mut Option<Location>, input: &Input) {
    if let Some(location) = location.as_mut().filter(|location| location.file == "-") {
        location.file = input.name().to_owned();
    }
}

/// A device module as LLVM IR, before any of it is lowered, and what is asked of it.
pub struct Device<'l> {
    pub name: Option<String>,
    pub options: Options,
    pub translated: Translated<'l>,
}

/// The device modules of MLIR, or the one that is `wanted`, as LLVM IR.
pub fn translated<'c, 'l>(
    input: &Input,
    context: &'c MlirContext,
    module: &mut Module<'c>,
    wanted: Option<&str>,
    llvm: &'l Context,
    options: impl Fn(OperationRef<'_, '_>) -> Result<Options, Errors>,
) -> Result<Vec<Device<'l>>, Errors> {
    let device = selected(wanted, mlir::device_modules(module, context)?)?;
    let device = each(device, |device| Ok((options(device.op())?, device)))?;
    each(&device, |(options, device)| mlir::check(device.op(), options))?;
    each(device, |(options, mut device)| {
        mlir::expand(&mut device, &options)?;
        let translated = mlir::llvm_ir(&mut device, context, llvm, input)?;
        llvm::expand(&translated.module)?;
        Ok(Device { name: device.name, options, translated })
    })
}

fn lower(job: &Job, llvm: &Context, only: Option<Part>) -> Result<Vec<Lowered>, Errors> {
    let context = mlir::context();
    let mut module = mlir::read(&context, &job.input)?;
    let wanted = job.module.as_deref();
    let lowered = |name, bytes, mut remarks: Vec<Remark>, target| {
        remarks.iter_mut().for_each(|remark| named(&mut remark.location, &job.input));
        Lowered::new(name, bytes, &remarks, target)
    };
    process::stage(Stage::Convert);
    if job.emit.is_mlir() {
        process::stage(Stage::Lower);
        let device = selected(wanted, mlir::device_code(&mut module))?;
        let mut device = each(device, |device| Ok((options(job, device.op())?, device)))?;
        each(&device, |(options, device)| mlir::check_lower(device.op(), options))?;
        let remarks = each(&mut device, |(options, device)| mlir::lower(device, options))?.concat();
        let target = device.first().map(|(options, _)| options.target);
        let bytes = if job.emit == Emit::Mlir { mlir::text(&module) } else { mlir::bytecode(&module) };
        return Ok(vec![lowered(None, bytes, remarks, target)]);
    }
    let device = translated(&job.input, &context, &mut module, wanted, llvm, |op| options(job, op))?;
    let all = each(device, |Device { name, options, translated }| {
        let Translated { module, has_lines_for_us } = translated;
        let machine = llvm_ir::machine(job, &module, &options.target)?;
        let lines = if has_lines_for_us { Lines::ForMessages } else { Lines::OfTheModule };
        let (bytes, remarks) = llvm_ir::finish(job, &module, &machine, &options, lines, only.clone())?;
        std::mem::forget(module);
        Ok(lowered(name, bytes, remarks, Some(options.target)))
    });
    match all {
        // What only LLVM brought to light has no line yet.
        Err(_) if !job.input.keep_lines => lower(&job.clone().keeping_lines(), llvm, only),
        all => all,
    }
}

/// The modules, or the one that is wanted.
fn selected<'c, 'a>(
    wanted: Option<&str>,
    modules: Vec<DeviceModule<'c, 'a>>,
) -> Result<Vec<DeviceModule<'c, 'a>>, Errors> {
    let Some(wanted) = wanted else { return Ok(modules) };
    let names = modules.iter().filter_map(|module| module.name.clone()).collect::<Vec<_>>().join(", ");
    let found: Vec<_> = modules.into_iter().filter(|module| module.name.as_deref() == Some(wanted)).collect();
    if found.is_empty() {
        let help = if names.is_empty() { "the input has none".to_owned() } else { format!("the input has {names}") };
        return Err(Diagnostic::new(format!("no gpu.module is named '{wanted}'")).help(help).into());
    }
    Ok(found)
}

/// What is asked of a module: by the job, or else by itself.
fn options(job: &Job, op: OperationRef<'_, '_>) -> Result<Options, Errors> {
    let settings = job.settings(mlir::settings_of(op)?)?;
    Ok(Options { remarks: job.input.keep_lines, ..mlir::options(&settings, op)? })
}
