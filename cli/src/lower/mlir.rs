//! MLIR to what is written.

use ptx_atomics::{
    llvm::{self, Diagnostic, Errors, Input, Location, Options, Settings, inkwell::context::Context},
    mlir::{
        self, DeviceModule, Translated, each,
        melior::ir::{Module, OperationRef},
    },
};

use super::{Lowered, Part, llvm_ir};
use crate::{
    cli::{Emit, LowerArgs},
    isolate::{self, Stage},
};

pub fn work(args: &LowerArgs, input: &Input, llvm: &Context, only: Option<Part>) -> Result<Vec<Lowered>, Errors> {
    let mut lowered = lower(args, input, llvm, only);
    match &mut lowered {
        Ok(lowered) => {
            lowered.iter_mut().flat_map(|l| &mut l.remarks).for_each(|remark| named(&mut remark.location, input));
        }
        Err(errors) => errors.iter_mut().for_each(|error| named(&mut error.location, input)),
    }
    lowered
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
pub fn translated<'l>(
    input: &Input,
    module: &mut Module<'_>,
    wanted: Option<&str>,
    llvm: &'l Context,
    options: impl Fn(OperationRef<'_, '_>) -> Result<Options, Errors>,
) -> Result<Vec<Device<'l>>, Errors> {
    let device = selected(wanted, mlir::device_modules(module)?)?;
    let device = each(device, |device| Ok((options(device.op())?, device)))?;
    each(&device, |(options, device)| mlir::check(device.op(), options))?;
    each(device, |(options, mut device)| {
        mlir::expand(&mut device, &options)?;
        let translated = mlir::llvm_ir(&mut device, llvm, input)?;
        llvm::expand(&translated.module)?;
        Ok(Device { name: device.name, options, translated })
    })
}

fn lower(args: &LowerArgs, input: &Input, llvm: &Context, only: Option<Part>) -> Result<Vec<Lowered>, Errors> {
    let context = mlir::context();
    let mut module = mlir::read(&context, input)?;
    isolate::stage(Stage::Convert);
    if matches!(args.emit, Emit::Mlir | Emit::MlirBc) {
        isolate::stage(Stage::Lower);
        let device = selected(args.module.as_deref(), mlir::device_code(&mut module))?;
        let mut device = each(device, |device| Ok((options(args, input, device.op())?, device)))?;
        each(&device, |(options, device)| mlir::check_lower(device.op(), options))?;
        let remarks = each(&mut device, |(options, device)| mlir::lower(device, options))?.concat();
        let target = device.first().map(|(options, _)| options.target);
        let bytes = if args.emit == Emit::Mlir { mlir::text(&module) } else { mlir::bytecode(&module) };
        return Ok(vec![Lowered { name: None, bytes, remarks, target }]);
    }
    let wanted = args.module.as_deref();
    let device = translated(input, &mut module, wanted, llvm, |op| options(args, input, op))?;
    let lowered = each(device, |Device { name, options, translated }| {
        let Translated { module, has_lines_for_us } = translated;
        let machine = llvm_ir::machine(args, &module, &options.target)?;
        let lowered = llvm_ir::finish(args, input, &module, &machine, &options, has_lines_for_us, only.clone())?;
        std::mem::forget(module);
        Ok(Lowered { name, ..lowered })
    });
    match lowered {
        // What only LLVM brought to light has no line yet.
        Err(_) if !input.keep_lines => lower(args, &input.clone().keeping_lines(), llvm, only),
        lowered => lowered,
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

/// What is asked of a module: by the flags, else by itself.
fn options(args: &LowerArgs, input: &Input, op: OperationRef<'_, '_>) -> Result<Options, Errors> {
    let settings: Settings = args.settings(mlir::settings_of(op)?);
    Ok(Options { remarks: input.keep_lines, ..mlir::options(&settings, op)? })
}
