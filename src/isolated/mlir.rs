//! The lowering of MLIR to the output of a job.

use ptx_atomics_common::helper::{Emit, Job, Lowered};
use ptx_atomics_llvm::{self as llvm, Diagnostic, Errors, Input, Options, Remark, inkwell::context::Context};
use ptx_atomics_mlir::{self as mlir, Translated, each, melior::ir::OperationRef};

use super::{
    llvm_ir::{self, Finished, Lines},
    part::Part,
    process::{self, Stage},
    unoptimized::Unoptimized,
};
use crate::device::{Device, named, selected, translated};

pub fn work(job: &Job, llvm: &Context, only: Option<Part>) -> Result<Vec<Lowered>, Errors> {
    lower(job, llvm, only).map_err(|mut errors| {
        errors.iter_mut().for_each(|error| named(&mut error.location, &job.input));
        errors
    })
}

/// The PTX of each module for checks.
pub fn unoptimized(job: &Job, llvm: &Context) -> Result<Vec<Unoptimized>, Errors> {
    let job = &job.clone().keeping_lines();
    let context = mlir::context();
    let mut module = mlir::read(&context, &job.input)?;
    process::stage(Stage::Convert);
    let device = translated(&job.input, &mut module, job.module.as_deref(), llvm, |op| options(job, op))?;
    each(device, |Device { name, options, translated }| {
        // The machine registers LLVM's code generator, too.
        let machine = llvm_ir::machine(job, &translated.module, &options.target)?;
        llvm_ir::optimize(job, &translated.module, &machine)?;
        process::stage(Stage::Check);
        let mut lines = llvm::asynchronous_lines(&translated.module, &job.input, &options)?;
        std::mem::forget(translated.module);
        let locations = lines.places.iter_mut().flatten();
        locations.for_each(|(_, location)| named(location, &job.input));
        lines.hidden.iter_mut().for_each(|hidden| named(&mut hidden.location, &job.input));
        Ok(Unoptimized::new(name, lines))
    })
}

fn all_named(mut diagnostics: Vec<Diagnostic>, input: &Input) -> Vec<Diagnostic> {
    diagnostics.iter_mut().for_each(|diagnostic| named(&mut diagnostic.location, input));
    diagnostics
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
        process::stage(Stage::Check);
        let checked = mlir::asynchronous(&mut module, wanted, llvm, |op| options(job, op))?;
        process::stage(Stage::Lower);
        let device = selected(wanted, mlir::device_code(&mut module))?;
        let mut device = each(device, |device| Ok((options(job, device.op())?, device)))?;
        each(&device, |(options, device)| mlir::check_lower(device.op(), options))?;
        let lowered_ops = each(&mut device, |(options, device)| mlir::lower(device, options))?.concat();
        let remarks = checked.remarks.into_iter().chain(lowered_ops).collect();
        let target = device.first().map(|(options, _)| options.target);
        let bytes = if job.emit == Emit::Mlir { mlir::text(&module) } else { mlir::bytecode(&module) };
        let warnings = all_named(checked.warnings, &job.input);
        return Ok(vec![lowered(None, bytes, remarks, target).with_warnings(warnings)]);
    }
    let device = translated(&job.input, &mut module, wanted, llvm, |op| options(job, op))?;
    let all = each(device, |Device { name, options, translated }| {
        let Translated { module, has_lines_for_us } = translated;
        let machine = llvm_ir::machine(job, &module, &options.target)?;
        let lines = if has_lines_for_us { Lines::ForMessages } else { Lines::OfTheModule };
        let Finished { bytes, remarks, warnings } =
            llvm_ir::finish(job, &module, &machine, &options, lines, only.clone())?;
        std::mem::forget(module);
        let warnings = all_named(warnings, &job.input);
        Ok(lowered(name, bytes, remarks, Some(options.target)).with_warnings(warnings))
    });
    match all {
        // An error that only LLVM detects has no line yet, so the work is repeated with lines.
        Err(_) if !job.input.keep_lines => lower(&job.clone().keeping_lines(), llvm, only),
        // The same holds for a warning.
        Ok(all) if !job.input.keep_lines && all.iter().any(|lowered| !lowered.warnings.is_empty()) => {
            let with_lines = lower(&job.clone().keeping_lines(), llvm, only)?;
            let both = all.into_iter().zip(with_lines);
            Ok(both.map(|(lowered, Lowered { warnings, .. })| lowered.with_warnings(warnings)).collect())
        }
        all => all,
    }
}

/// The options of a module: from the job, or else from the module's attributes.
fn options(job: &Job, op: OperationRef<'_, '_>) -> Result<Options, Errors> {
    let settings = job.settings(mlir::settings_of(op)?)?;
    Ok(Options { remarks: job.input.keep_lines, ..mlir::options(&settings, op)? })
}

#[cfg(test)]
#[test]
fn bytecode_is_that_of_the_pass() {
    assert_eq!(ptx_atomics_common::helper::MLIR_BYTECODE, ptx_atomics_mlir::BYTECODE);
}
