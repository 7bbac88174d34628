//! MLIR to what is written.

use ptx_atomics::{
    llvm::{self, Diagnostic, Input, Location, Options, Settings, inkwell::context::Context},
    mlir::{self, DeviceModule, Translated, each, melior::ir::OperationRef},
};

use super::{Lowered, Part, llvm_ir};
use crate::{
    cli::{Emit, LowerArgs},
    isolate::{self, Stage},
};

pub fn work(
    args: &LowerArgs,
    input: &Input,
    llvm: &Context,
    only: Option<Part>,
) -> Result<Vec<Lowered>, Vec<Diagnostic>> {
    // Text in memory has no name for MLIR.
    let named = |location: &mut Option<Location>| {
        if let Some(location) = location.as_mut().filter(|location| location.file == "-") {
            location.file = input.name().to_owned();
        }
    };
    let mut lowered = lower(args, input, llvm, only);
    match &mut lowered {
        Ok(lowered) => lowered.iter_mut().flat_map(|l| &mut l.remarks).for_each(|remark| named(&mut remark.location)),
        Err(errors) => errors.iter_mut().for_each(|error| named(&mut error.location)),
    }
    lowered
}

fn lower(args: &LowerArgs, input: &Input, llvm: &Context, only: Option<Part>) -> Result<Vec<Lowered>, Vec<Diagnostic>> {
    let context = mlir::context();
    let mut module = mlir::read(&context, input)?;
    isolate::stage(Stage::Convert);
    if matches!(args.emit, Emit::Mlir | Emit::MlirBc) {
        isolate::stage(Stage::Lower);
        let device = mlir::device_code(module.as_operation()).into_iter();
        let device = selected(args, device.map(|op| DeviceModule { name: mlir::name(op), op }).collect())?;
        let device = each(device, |device| Ok((options(args, input, device.op)?, device)))?;
        each(&device, |(options, device)| mlir::check_lower(device.op, options))?;
        let remarks = each(&device, |(options, device)| mlir::lower(device.op, options))?.concat();
        let bytes = if args.emit == Emit::Mlir { mlir::text(&module) } else { mlir::bytecode(&module) };
        let target = device.first().map(|(options, _)| options.target);
        return Ok(vec![Lowered { name: None, bytes, remarks, target }]);
    }
    let device = selected(args, mlir::device_modules(&mut module, &context)?)?;
    let device = each(device, |device| Ok((options(args, input, device.op)?, device)))?;
    each(&device, |(options, device)| mlir::check(device.op, options))?;
    let translated = each(&device, |(options, device)| {
        mlir::expand(device.op, options)?;
        mlir::llvm_ir(device, &context, llvm, input)
    })?;
    let lowered = each(device.iter().zip(translated), |((options, device), translated)| {
        let Translated { module, has_lines_for_us } = translated;
        llvm::expand(&module)?;
        let machine = llvm_ir::machine(args, &module, &options.target)?;
        let lowered = llvm_ir::finish(args, input, &module, &machine, options, has_lines_for_us, only.clone())?;
        std::mem::forget(module);
        Ok(Lowered { name: device.name.clone(), ..lowered })
    });
    match lowered {
        // What only LLVM brought to light has no line yet.
        Err(_) if !input.keep_lines => lower(args, &input.clone().keeping_lines(), llvm, only),
        lowered => lowered,
    }
}

/// The modules that the arguments select.
fn selected<'c, 'a>(
    args: &LowerArgs,
    modules: Vec<DeviceModule<'c, 'a>>,
) -> Result<Vec<DeviceModule<'c, 'a>>, Vec<Diagnostic>> {
    let Some(wanted) = &args.module else { return Ok(modules) };
    let names = modules.iter().filter_map(|module| module.name.clone()).collect::<Vec<_>>().join(", ");
    let found: Vec<_> = modules.into_iter().filter(|module| module.name.as_ref() == Some(wanted)).collect();
    if found.is_empty() {
        let help = if names.is_empty() { "the input has none".to_owned() } else { format!("the input has {names}") };
        return Err(Diagnostic::new(format!("no gpu.module is named '{wanted}'")).help(help).into());
    }
    Ok(found)
}

/// What is asked of a module: by the flags, else by itself.
fn options(args: &LowerArgs, input: &Input, op: OperationRef<'_, '_>) -> Result<Options, Vec<Diagnostic>> {
    let settings: Settings = args.settings(mlir::settings(op)?);
    Ok(Options { remarks: input.keep_lines, ..mlir::options(&settings, op)? })
}
