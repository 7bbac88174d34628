//! The device modules of MLIR, as LLVM IR.

use ptx_atomics_llvm::{self as llvm, Diagnostic, Errors, Input, Location, Options, inkwell::context::Context};
use ptx_atomics_mlir::{
    self as mlir, DeviceModule, Translated, each,
    melior::ir::{Module, OperationRef},
};

/// A device module as LLVM IR, before any lowering, with its options.
pub struct Device<'l> {
    pub name: Option<String>,
    pub options: Options,
    pub translated: Translated<'l>,
}

/// The device modules of MLIR as LLVM IR, or only the `wanted` one.
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

/// The modules, or only the `wanted` one.
pub fn selected<'c, 'a>(
    wanted: Option<&str>,
    modules: Vec<DeviceModule<'c, 'a>>,
) -> Result<Vec<DeviceModule<'c, 'a>>, Errors> {
    let Some(wanted) = wanted else { return Ok(modules) };
    let names = modules.iter().filter_map(|module| module.name.clone()).collect::<Vec<_>>().join(", ");
    let found: Vec<_> = modules.into_iter().filter(|module| module.name.as_deref() == Some(wanted)).collect();
    if found.is_empty() {
        let help =
            if names.is_empty() { "the input has no gpu.module".to_owned() } else { format!("the input has {names}") };
        return Err(Diagnostic::new(format!("no gpu.module is named '{wanted}'")).help(help).into());
    }
    Ok(found)
}

/// Sets the file name of a location in input from memory, for which MLIR has no name.
pub fn named(location: &mut Option<Location>, input: &Input) {
    if let Some(location) = location.as_mut().filter(|location| location.file == "-") {
        location.file = input.name().to_owned();
    }
}
