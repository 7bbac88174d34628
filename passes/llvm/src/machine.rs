//! The target of a module, and LLVM's code generator for it.

use std::{
    ffi::CStr,
    ptr,
    str::FromStr,
    sync::{Mutex, PoisonError},
};

use inkwell::{
    OptimizationLevel,
    attributes::AttributeLoc,
    llvm_sys::{
        core::{LLVMGetFirstGlobalIFunc, LLVMGetNextGlobalIFunc, LLVMGetTarget},
        support::LLVMParseCommandLineOptions,
    },
    module::Module,
    targets::{
        CodeModel, InitializationConfig, RelocMode, Target as LlvmTarget, TargetMachine, TargetMachineOptions,
        TargetTriple,
    },
    values::{FunctionValue, GlobalValue},
};
use ptx_atomics_common::{Diagnostic, Errors, Settings, settings::ptx_feature};
use ptx_atomics_version::MAJOR;
use ptx_lowering::{PtxVersion, Sm, Target, UnknownTarget};

use crate::{
    value::name,
    version::{NEWEST, stand_in},
};

const TRIPLE: &str = "nvptx64-nvidia-cuda";

/// Checks that a module is for NVIDIA GPUs with addresses of 64 bits, or names no target.
///
/// # Errors
/// An error if the module is for another target.
pub fn require_nvptx64(module: &Module<'_>) -> Result<(), Errors> {
    let triple = triple(module);
    if triple.is_empty() || triple == "nvptx64" || triple.starts_with("nvptx64-") {
        return Ok(());
    }
    if triple == "nvptx" || triple.starts_with("nvptx-") {
        let message = format!("the module is for '{triple}': addresses of 32 bits are not supported");
        return Err(Diagnostic::new(message).help(format!("compile with --target={TRIPLE}")).into());
    }
    let help = format!("compile with --target={TRIPLE}, or give the device half of the program");
    Err(Diagnostic::new(format!("the module is for '{triple}', not for an NVIDIA GPU")).help(help).into())
}

/// Checks that a module has no ifunc, a function that a loader selects: LLVM prints an ifunc as an alias, which the
/// assembler of PTX rejects.
///
/// # Errors
/// A diagnostic for each ifunc.
pub fn require_no_ifunc(module: &Module<'_>) -> Result<(), Errors> {
    let mut errors = Errors::new();
    // SAFETY: the module is live, and so are its values.
    unsafe {
        let mut ifunc = LLVMGetFirstGlobalIFunc(module.as_mut_ptr());
        while !ifunc.is_null() {
            let name = name(&GlobalValue::new(ifunc));
            let message = format!("expected a function, found the ifunc '{name}', which PTX does not have");
            errors.push(Diagnostic::new(message).help("call the implementation, or choose it by a pointer"));
            ifunc = LLVMGetNextGlobalIFunc(ifunc);
        }
    }
    errors.or(())
}

/// LLVM's code generator for a target.
///
/// # Errors
/// An error if this LLVM does not know the target, or the module is not for an NVIDIA GPU.
pub fn machine(module: &Module<'_>, target: &Target, level: OptimizationLevel) -> Result<TargetMachine, Errors> {
    require_nvptx64(module)?;
    require_no_ifunc(module)?;
    let triple = triple(module);
    let triple = TargetTriple::create(if triple.is_empty() { TRIPLE } else { &triple });
    let machine = code_generator(&triple, target, level, Pointers::from_module(module))?;
    module.set_triple(&triple);
    module.set_data_layout(&machine.get_target_data().get_data_layout());
    Ok(machine)
}

/// LLVM's code generator for a target if LLVM's code generators are already registered, as by the host of a plugin. The
/// module has a data layout.
///
/// # Errors
/// An error if LLVM has no code generator for the target.
#[cfg(feature = "asynchronous")]
pub fn registered(module: &Module<'_>, target: &Target, level: OptimizationLevel) -> Result<TargetMachine, Errors> {
    let triple = triple(module);
    create(
        &TargetTriple::create(if triple.is_empty() { TRIPLE } else { &triple }),
        target,
        level,
        Pointers::from_module(module),
    )
}

/// The width of pointers to shared, constant and local memory, from the data layout of the module.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Pointers {
    Long,
    /// 32 bits, as in XLA and Triton (`-nvptx-short-ptr`).
    Short,
}

impl Pointers {
    fn from_module(module: &Module<'_>) -> Self {
        let layout = module.get_data_layout();
        let is_short = layout.as_str().to_string_lossy().split('-').any(|part| part.starts_with("p3:32:"));
        if is_short { Self::Short } else { Self::Long }
    }

    /// Sets the width in LLVM's code generators. They have one command-line option for all modules of a process; it can
    /// be set, but not reset.
    ///
    /// # Errors
    /// An error if the process has compiled a module with short pointers, and this module has long ones.
    fn choose(self) -> Result<(), Errors> {
        static IS_SHORT: Mutex<bool> = Mutex::new(false);
        let mut is_short = IS_SHORT.lock().unwrap_or_else(PoisonError::into_inner);
        match (self, *is_short) {
            (Self::Long, false) | (Self::Short, true) => {}
            (Self::Short, false) => {
                *is_short = true;
                let arguments = [c"ptx-atomics".as_ptr(), c"-nvptx-short-ptr".as_ptr()];
                // SAFETY: LLVM reads two strings that end with zero, and the lock excludes other threads.
                unsafe { LLVMParseCommandLineOptions(2, arguments.as_ptr(), ptr::null()) };
            }
            (Self::Long, true) => {
                let message = "expected 32-bit pointers to shared memory, as in a module before, found 64-bit ones";
                return Err(Diagnostic::new(message).help("compile this module in a process of its own").into());
            }
        }
        Ok(())
    }
}

fn code_generator(
    triple: &TargetTriple,
    target: &Target,
    level: OptimizationLevel,
    pointers: Pointers,
) -> Result<TargetMachine, Errors> {
    LlvmTarget::initialize_nvptx(&InitializationConfig::default());
    create(triple, target, level, pointers)
}

fn create(
    triple: &TargetTriple,
    target: &Target,
    level: OptimizationLevel,
    pointers: Pointers,
) -> Result<TargetMachine, Errors> {
    let llvm = LlvmTarget::from_triple(triple).map_err(|error| Diagnostic::new(error.to_string_lossy()))?;
    let features = format!("+{}", target.ptx.min(NEWEST).feature());
    let options = TargetMachineOptions::new()
        .set_cpu(stand_in(target.sm))
        .set_features(&features)
        .set_level(level)
        .set_reloc_mode(RelocMode::Default)
        .set_code_model(CodeModel::Default);
    pointers.choose()?;
    let machine = llvm.create_target_machine_from_options(triple, options);
    Ok(machine.ok_or_else(|| Diagnostic::new(format!("LLVM {MAJOR} has no code generator for {target}")))?)
}

/// LLVM's data layout on NVIDIA GPUs with addresses of 64 bits. It is the same for all of them.
///
/// # Errors
/// An error if LLVM has no code generator for these GPUs.
pub fn data_layout() -> Result<String, Errors> {
    let target = Settings::default().target(None, None).map_err(|error| Diagnostic::new(error.to_string()))?;
    let machine = code_generator(&TargetTriple::create(TRIPLE), &target, OptimizationLevel::None, Pointers::Long)?;
    Ok(machine.get_target_data().get_data_layout().as_str().to_string_lossy().into_owned())
}

/// The GPUs that the module's functions request by `target-cpu`, each with a function that requests it.
///
/// # Errors
/// All unknown names.
pub fn requested_gpus(module: &Module<'_>) -> Result<Vec<(Sm, String)>, Errors> {
    requested(module, "--mcpu", |function| attribute(function, "target-cpu"))
}

/// The PTX versions that the module's functions request by `target-features`, each with a function that requests it.
///
/// # Errors
/// All unknown names.
pub fn requested_versions(module: &Module<'_>) -> Result<Vec<(PtxVersion, String)>, Errors> {
    requested(module, "--mattr", |function| ptx_feature(&attribute(function, "target-features")?).map(str::to_owned))
}

fn attribute(function: &FunctionValue<'_>, key: &str) -> Option<String> {
    let attribute = function.get_string_attribute(AttributeLoc::Function, key)?;
    Some(attribute.get_string_value().to_string_lossy().into_owned())
}

/// The different values of all functions with a body, each with the first function that has it.
fn requested<T: FromStr<Err = UnknownTarget>>(
    module: &Module<'_>,
    flag: &str,
    value: impl Fn(&FunctionValue<'_>) -> Option<String>,
) -> Result<Vec<(T, String)>, Errors> {
    let mut found: Vec<(String, String)> = Vec::new();
    for function in module.get_functions().filter(|function| function.count_basic_blocks() > 0) {
        if let Some(value) = value(&function)
            && !found.iter().any(|(known, _)| *known == value)
        {
            found.push((value, name(&function)));
        }
    }
    let (mut values, mut errors) = (Vec::new(), Errors::new());
    for (value, function) in found {
        match value.parse() {
            Ok(value) => values.push((value, function)),
            Err(error) => errors.push(
                Diagnostic { function: Some(function), ..Diagnostic::new(format!("the module's target: {error}")) }
                    .help(format!("give a supported one by {flag}")),
            ),
        }
    }
    errors.or(values)
}

/// LLVM's name of a module's triple.
fn triple(module: &Module<'_>) -> String {
    // SAFETY: the module is live, and so is its string.
    unsafe { CStr::from_ptr(LLVMGetTarget(module.as_mut_ptr())).to_string_lossy().into_owned() }
}
