//! Lowering inside a compiler that holds a module in memory: all steps around the compiler's own passes, in one call.
//!
//! | step | function |
//! | --- | --- |
//! | the target comes from the compiler's code generator | [`options`] |
//! | markers become atomics, CUDA's own atomics get CUDA's ordering | [`crate::expand`], [`crate::relax_cuda`] |
//! | every error is reported before any pass runs | [`crate::check`], [`crate::asynchronous`] |
//! | the ordering is protected from LLVM's inference | [`crate::begin`] |
//! | the compiler runs its passes | the closure |
//! | address spaces are resolved | [`crate::RESOLVE`] |
//! | the atomics become PTX | [`crate::lower`] |
//!
//! The functions with `raw` in their names take pointers of llvm-sys, for a compiler without inkwell. No function of
//! this module disposes a module, a code generator or a context.

use std::{
    ffi::{CStr, c_char},
    mem::ManuallyDrop,
};

use inkwell::{
    llvm_sys::{
        core::LLVMDisposeMessage,
        prelude::LLVMModuleRef,
        target_machine::{LLVMGetTargetMachineCPU, LLVMGetTargetMachineFeatureString, LLVMTargetMachineRef},
    },
    module::Module,
    targets::TargetMachine,
};
use ptx_atomics_common::{Diagnostic, Errors, Input, Options, Remark, settings::ptx_feature};
use ptx_lowering::{PtxVersion, Sm, Target, UnknownTarget};

#[cfg(feature = "asynchronous")]
use crate::{Checked, asynchronous};
use crate::{NativeOperations, copies, cuda, effects, emit, is_pending, lower, machine, memory, scoped};

/// The results of a lowering inside a compiler.
#[derive(Debug, Default)]
pub struct Lowered {
    /// The result for each operation and each rewrite, if the options request remarks.
    pub remarks: Vec<Remark>,
    /// Missing synchronization of asynchronous operations. Without the feature `asynchronous` there are none.
    pub warnings: Vec<Diagnostic>,
    /// The operations that LLVM prints itself, whose PTX can be [verified](NativeOperations::verify) if the options
    /// request it.
    pub native: NativeOperations,
}

/// The default options for the target of a code generator.
///
/// # Errors
/// An error if the code generator is not for a GPU of NVIDIA that this crate knows.
pub fn options(machine: &TargetMachine) -> Result<Options, Errors> {
    // SAFETY: the code generator is live.
    unsafe { options_raw(machine.as_mut_ptr()) }
}

/// As [`options`], for a code generator of llvm-sys.
///
/// # Safety
/// The code generator is live.
///
/// # Errors
/// The errors of [`options`].
pub unsafe fn options_raw(machine: LLVMTargetMachineRef) -> Result<Options, Errors> {
    // SAFETY: the code generator is live, and the caller of both functions owns the texts.
    let [cpu, features] = unsafe {
        [LLVMGetTargetMachineCPU(machine), LLVMGetTargetMachineFeatureString(machine)].map(|text| take(text))
    };
    match target(&cpu, &features)? {
        (Some(sm), version) => Ok(Options::new(Target::new(sm, version).map_err(unknown)?)),
        (None, _) => {
            Err(Diagnostic::new("expected a code generator with a GPU such as sm_90, found one without a CPU").into())
        }
    }
}

/// A text of LLVM, which is then freed.
///
/// # Safety
/// The caller owns the text.
unsafe fn take(text: *mut c_char) -> String {
    // SAFETY: the text ends with zero, and is not used after it is freed.
    unsafe {
        let copy = CStr::from_ptr(text).to_string_lossy().into_owned();
        LLVMDisposeMessage(text);
        copy
    }
}

/// The GPU and the PTX version that the strings of a code generator name. The GPU has the version, or a lower one than
/// the first that has the GPU.
///
/// # Errors
/// An error if a name is unknown.
pub fn target(cpu: &str, features: &str) -> Result<(Option<Sm>, Option<PtxVersion>), Errors> {
    let sm: Option<Sm> = (!cpu.is_empty()).then(|| cpu.parse()).transpose().map_err(unknown)?;
    let version: Option<PtxVersion> = ptx_feature(features).map(str::parse).transpose().map_err(unknown)?;
    Ok((sm, version.map(|version| sm.map_or(version, |sm| version.max(sm.lowest_ptx())))))
}

fn unknown(error: UnknownTarget) -> Diagnostic {
    Diagnostic::new(format!("the target of the host compiler: {error}"))
}

/// Lowers every atomic and fence of a module around a compiler's own passes, and checks that LLVM can compile the rest
/// for the target. The compiler then generates code from the module.
///
/// The passes run on the module with its atomics, which are protected from LLVM's inference of memory effects. They may
/// link further code into the module. Threads may lower different modules at the same time, each with a context of its
/// own.
///
/// # Errors
/// All errors of the module, or the error of the passes. The module must then not be compiled: if it has atomics, it
/// contains a line of assembly that every assembler rejects. A module for another target, and a code generator of
/// another copy of LLVM, are errors too, after which the module is unchanged.
pub fn lower_around<E: From<Errors>>(
    module: &Module<'_>,
    machine: &TargetMachine,
    options: &Options,
    passes: impl FnOnce() -> Result<(), E>,
) -> Result<Lowered, E> {
    copies::require_one_llvm(machine)?;
    machine::require_nvptx64(module)?;
    let mut lowered = prepare(module, options).inspect_err(|_| effects::begin(module))?;
    protect(module);
    passes()?;
    finish(module, machine, options, &mut lowered).inspect_err(|_| effects::begin(module))?;
    Ok(lowered)
}

/// Reports every error of a module whose passes have not run.
fn prepare(module: &Module<'_>, options: &Options) -> Result<Lowered, Errors> {
    let unnamed = Input::new("", "");
    machine::require_no_ifunc(module)?;
    expand(module, options.cuda_atomics)?;
    lower::check(module, &unnamed, options)?;
    #[cfg(feature = "asynchronous")]
    let Checked { warnings, remarks } = asynchronous(module, &unnamed, options)?;
    #[cfg(not(feature = "asynchronous"))]
    let (warnings, remarks) = Default::default();
    Ok(Lowered { remarks, warnings, ..Lowered::default() })
}

/// Lowers a module whose passes have run.
fn finish(
    module: &Module<'_>,
    machine: &TargetMachine,
    options: &Options,
    lowered: &mut Lowered,
) -> Result<(), Errors> {
    // The passes may have linked code with atomics into the module.
    expand(module, options.cuda_atomics)?;
    emit::prepare(module, machine, None)?;
    let (remarks, native) = lower::lower(module, &Input::new("", ""), options)?;
    lowered.remarks.extend(remarks);
    lowered.native = native;
    Ok(())
}

/// As [`lower_around`], for pointers of llvm-sys.
///
/// # Safety
/// The module and the code generator are live, and during the call only the passes use the module.
///
/// # Errors
/// The errors of [`lower_around`].
pub unsafe fn lower_around_raw<E: From<Errors>>(
    module: LLVMModuleRef,
    machine: LLVMTargetMachineRef,
    options: &Options,
    passes: impl FnOnce() -> Result<(), E>,
) -> Result<Lowered, E> {
    // SAFETY: both are live, and the views do not dispose them.
    let (module, machine) = unsafe { (Module::new(module), TargetMachine::new(machine)) };
    lower_around(&ManuallyDrop::new(module), &ManuallyDrop::new(machine), options, passes)
}

/// Lowers every atomic and fence of a module, for a compiler that runs no passes of LLVM.
///
/// # Errors
/// The errors of [`lower_around`].
pub fn lower_module(module: &Module<'_>, machine: &TargetMachine, options: &Options) -> Result<Lowered, Errors> {
    lower_around(module, machine, options, || Ok(()))
}

/// As [`lower_module`], for pointers of llvm-sys.
///
/// # Safety
/// The module and the code generator are live, and no other code uses the module during the call.
///
/// # Errors
/// The errors of [`lower_around`].
pub unsafe fn lower_module_raw(
    module: LLVMModuleRef,
    machine: LLVMTargetMachineRef,
    options: &Options,
) -> Result<Lowered, Errors> {
    // SAFETY: this call requires the same promises from its caller.
    unsafe { lower_around_raw(module, machine, options, || Ok(())) }
}

/// Replaces markers by atomics, and gives CUDA's own atomics their ordering if requested.
///
/// # Errors
/// Every invalid marker.
pub fn expand(module: &Module<'_>, cuda_atomics: bool) -> Result<(), Errors> {
    scoped::expand(module)?;
    cuda::relax_cuda(module, || Ok(cuda_atomics))
}

/// Protects the ordering of a module from the passes that follow, and shows them the global pointers.
pub fn protect(module: &Module<'_>) {
    effects::begin(module);
    if is_pending(module) {
        memory::show_global_pointers(module);
    }
}
