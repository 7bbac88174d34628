//! `libptx_atomics.so`: the pass, in the hosts that people have.
//!
//! rustc and clang run it at the end of their optimizer, opt there and by name, llc before code generation; `shim.cpp`
//! knows their extension points. At the start of a pipeline the module is protected from what LLVM's optimizer loses
//! ([`llvm::begin`]); the pass then resolves address spaces and lowers. A module for another target is not touched.
//!
//! LLVM's functions are the host's. Nothing unwinds into it: a panic becomes one of its diagnostics.

mod host;

use std::{
    env,
    ffi::c_uint,
    mem::ManuallyDrop,
    panic::{AssertUnwindSafe, catch_unwind},
};

use host::{Callbacks, PluginCallbacks};
use ptx_atomics_common::{
    AsyncMode, Diagnostic, Errors, Input, Location, Options, Remark, Settings, remarks, settings::ptx_feature,
};
use ptx_atomics_llvm::{
    self as llvm,
    inkwell::{
        llvm_sys::prelude::{LLVMModuleRef, LLVMValueRef},
        module::Module,
        values::AsValueRef,
    },
};
use ptx_atomics_version::plugin::{PassPluginLibraryInfo, Plugin, Text};
use ptx_lowering::{PtxVersion, Sm, Target, UnknownTarget};
use ptx_optimize::Rewrites;

/// Options in the environment, for hosts that cannot pass any.
const VARIABLE: &str = "PTX_ATOMICS";

static CALLBACKS: Callbacks =
    Callbacks { resolve: Text::new(llvm::RESOLVE), start, asynchronous, pending, lower, check };

/// The entry point of a pass plugin (`llvm/Plugins/PassPlugin.h`).
///
/// Other versions of LLVM expect another structure and other classes: there this says so and ends the process.
#[unsafe(no_mangle)]
pub extern "C" fn llvmGetPassPluginInfo() -> PassPluginLibraryInfo<PluginCallbacks> {
    let plugin = Plugin { file: "libptx_atomics", package: env!("CARGO_PKG_NAME"), input: "LLVM IR" };
    plugin.require_host();
    // SAFETY: the callbacks live for ever.
    PassPluginLibraryInfo::new(host::API_VERSION, unsafe { host::ptx_atomics_connect(&CALLBACKS) })
}

// SAFETY of the callbacks: only the shim calls them, with a live module of the host that nothing else uses meanwhile, and with
// texts that live during the call.

/// Before LLVM's passes run: at the start of a host's pipeline, and in front of the pass.
unsafe extern "C" fn start(module: LLVMModuleRef, parameters: Text) {
    let work = |module: &Module<'_>| {
        // SAFETY: the shim's text lives during the call.
        let parameters = unsafe { parameters.get() }.unwrap_or_default();
        // A misspelled option is an error in a module without atomics too.
        let settings = settings(module, &parameters)?;
        llvm::expand(module)?;
        llvm::relax_cuda(module, || Ok(settings.cuda_atomics != Some(false)))?;
        llvm::begin(module);
        if llvm::is_pending(module) {
            llvm::show_global_pointers(module);
        }
        Ok(())
    };
    // SAFETY: the module is live.
    unsafe { guarded(module, work) };
}

/// Checks asynchronous operations before LLVM's optimizer, or as early as the GPU is known. Once, in all steps from the source
/// program to the machine code: the module says so.
unsafe extern "C" fn asynchronous(module: LLVMModuleRef, parameters: Text, gpu: Text, features: Text) {
    let work = |module: &Module<'_>| {
        if !llvm::has_asynchronous(module) || llvm::is_checked(module) {
            return Ok(());
        }
        // SAFETY: the shim's texts live during the call.
        let (parameters, machine) = unsafe { (parameters.get(), gpu.get().zip(features.get())) };
        let settings = settings(module, &parameters.unwrap_or_default())?;
        if settings.asynchronous == Some(AsyncMode::Off) {
            return Ok(());
        }
        // Without a GPU there is no code generator yet; an unknown one is an error of the pass.
        let Ok(target) = target(&settings, module, machine) else { return Ok(()) };
        let for_host = unsafe { host::ptx_atomics_wants_remarks(module.as_mut_ptr()) };
        let options = Options { remarks: for_host || settings.remarks.is_some(), ..settings.options(target) };
        let checked = llvm::asynchronous(module, &Input::new("", ""), &options)?;
        llvm::set_checked(module);
        checked.warnings.iter().for_each(|warning| warn(module, warning));
        remark(module, &settings, &checked.remarks)
    };
    // SAFETY: the module is live.
    unsafe { guarded(module, work) };
}

/// Whether the pass has anything to do.
unsafe extern "C" fn pending(module: LLVMModuleRef) -> bool {
    let mut pending = false;
    let work = |module: &Module<'_>| {
        pending = llvm::is_pending(module);
        Ok(())
    };
    // SAFETY: the module is live.
    unsafe { guarded(module, work) };
    pending
}

/// The pass, on a module whose address spaces are resolved. Atomics are optimized where the host optimizes, unless somebody says
/// otherwise.
unsafe extern "C" fn lower(module: LLVMModuleRef, parameters: Text, gpu: Text, features: Text, optimize: bool) {
    let work = |module: &Module<'_>| {
        llvm::require_nvptx64(module)?;
        llvm::end(module);
        // SAFETY: the shim's texts live during the call.
        let (parameters, machine) = unsafe { (parameters.get(), gpu.get().zip(features.get())) };
        let mut settings = settings(module, &parameters.unwrap_or_default())?;
        settings.optimize = settings.optimize.or(optimize.then(Rewrites::on));
        let target = target(&settings, module, machine)?;
        // SAFETY: the module is live.
        let for_host = unsafe { host::ptx_atomics_wants_remarks(module.as_mut_ptr()) };
        let options = Options { remarks: for_host || settings.remarks.is_some(), ..settings.options(target) };
        let (remarks, _) = llvm::lower(module, &Input::new("", ""), &options)?;
        remark(module, &settings, &remarks)
    };
    // SAFETY: the module is live.
    unsafe { guarded(module, work) };
}

/// Whether the host's backend can compile a module in which there is nothing to lower. Without a known GPU nobody can say.
unsafe extern "C" fn check(module: LLVMModuleRef, parameters: Text, gpu: Text, features: Text) {
    let work = |module: &Module<'_>| {
        // SAFETY: the shim's texts live during the call.
        let (parameters, machine) = unsafe { (parameters.get(), gpu.get().zip(features.get())) };
        if !llvm::has_requirements(module) {
            return Ok(());
        }
        let settings = settings(module, &parameters.unwrap_or_default())?;
        target(&settings, module, machine)
            .map_or(Ok(()), |target| llvm::require_selectable(module, &Input::new("", ""), &target))
    };
    // SAFETY: the module is live.
    unsafe { guarded(module, work) };
}

/// Runs a part of the pass. Its errors and panics become diagnostics of the host, and the module is emptied, so that the
/// host's backend does not meet what was not lowered. A host that handles no diagnostics ends, as at any of them.
///
/// # Safety
/// The module is live, and nothing else uses it meanwhile.
unsafe fn guarded(module: LLVMModuleRef, work: impl FnOnce(&Module<'_>) -> Result<(), Errors>) {
    // SAFETY: the host's module is live, and stays the host's.
    let module = ManuallyDrop::new(unsafe { Module::new(module) });
    let result = catch_unwind(AssertUnwindSafe(|| work(&module)))
        .unwrap_or_else(|panic| Err(Diagnostic::of_panic(&*panic).into()));
    let Err(errors) = result else { return };
    let mut handled = true;
    for error in &if is_of_rustc(&module) { joined(errors) } else { errors } {
        handled &= report(&module, error);
    }
    if !handled {
        std::process::exit(1);
    }
    // SAFETY: the module is live.
    unsafe { host::ptx_atomics_empty(module.as_mut_ptr()) };
    // Nothing is pending any more.
    llvm::end(&module);
}

/// rustc ends at the first error that a thread of code generation reports, before it hears of the next.
fn is_of_rustc(module: &Module<'_>) -> bool {
    module.get_global_metadata("llvm.ident").iter().any(|ident| ident.to_string().contains("rustc version"))
}

/// All errors as one, of which those behind the first are notes.
fn joined(errors: Errors) -> Errors {
    let mut errors = errors.into_iter();
    let Some(mut first) = errors.next() else { return Errors::new() };
    for error in errors {
        first.notes.push(error.place() + &error.text());
    }
    first.into()
}

/// What is set for the module: by its flag, over that by the environment, over that by the parameters of the pass.
fn settings(module: &Module<'_>, parameters: &str) -> Result<Settings, Errors> {
    let mut settings = llvm::settings_of(module)?;
    if let Some(list) = env::var_os(VARIABLE) {
        settings.override_with(&list.to_string_lossy(), &format!("the environment variable {VARIABLE}"))?;
    }
    settings.override_with(parameters, "the parameters of the pass")?;
    Ok(settings)
}

/// What is compiled for: by the settings, else by the host's code generator, else by the module's functions. Of several
/// GPUs it is the highest: code for it that meets an older GPU is rejected, while the other way round an ordering that
/// only the newer one loses might be lost.
fn target(settings: &Settings, module: &Module<'_>, machine: Option<(String, String)>) -> Result<Target, Errors> {
    let unknown = |error: UnknownTarget| Diagnostic::new(format!("the host's target: {error}"));
    let (gpu, version) = match machine {
        Some((gpu, features)) => {
            let gpu = if gpu.is_empty() { None } else { Some(gpu.parse().map_err(unknown)?) };
            (gpu, ptx_feature(&features).map(str::parse).transpose().map_err(unknown)?)
        }
        None => {
            let (gpus, versions) = (llvm::requested_gpus(module)?, llvm::requested_versions(module)?);
            let version = versions.into_iter().map(|(version, _)| version).max();
            (gpus.into_iter().map(|(gpu, _)| gpu).max_by_key(|gpu| gpu.number()), version)
        }
    };
    let gpu: Sm = settings.mcpu.or(gpu).ok_or_else(|| {
        let why = "the GPU is not known: the functions have no attribute \"target-cpu\", or llc has no -mcpu";
        Diagnostic::new(why).help(format!("compile with -mcpu=sm_90, or set {VARIABLE}=mcpu=sm_90"))
    })?;
    let version = settings.mattr.or(version.map(|version: PtxVersion| version.max(gpu.lowest_ptx())));
    Ok(Target::new(gpu, version).map_err(|error| Diagnostic::new(error.to_string()))?)
}

/// A function of the module and a line of its file: what a diagnostic of LLVM stands at. Nothing if it has no code.
fn place(module: &Module<'_>, function: &str, location: Option<&Location>) -> Option<(LLVMValueRef, c_uint, c_uint)> {
    let named = module.get_function(function).filter(|function| function.count_basic_blocks() > 0)?;
    let (line, column) = location.map_or((0, 0), |at| (at.line, at.column));
    Some((named.as_value_ref(), line, column))
}

/// Gives remarks to those who want them.
fn remark(module: &Module<'_>, settings: &Settings, remarks: &[Remark]) -> Result<(), Errors> {
    // SAFETY: the module is live.
    if unsafe { host::ptx_atomics_wants_remarks(module.as_mut_ptr()) } {
        for remark in remarks {
            if let Some((function, line, column)) = place(module, &remark.function, remark.location.as_ref()) {
                let (name, text) = (Text::new(remark.name()), remarks::line(remark));
                // SAFETY: the function is one of a live module, with code, and the text lives during the call.
                unsafe {
                    host::ptx_atomics_remark(function, name, remark.is_missed(), Text::new(&text), line, column);
                }
            }
        }
    }
    settings.remarks.as_ref().map_or(Ok(()), |path| remarks::append(path, remarks))
}

/// Tells the host a warning. rustc takes those of functions for errors.
fn warn(module: &Module<'_>, warning: &Diagnostic) {
    let place = warning.function.as_ref().filter(|_| !is_of_rustc(module));
    let place = place.and_then(|function| self::place(module, function, warning.location.as_ref()));
    let text =
        if place.is_some() { warning.text() } else { format!("ptx-atomics: {}{}", warning.place(), warning.text()) };
    let (function, line, column) = place.unwrap_or((std::ptr::null_mut(), 0, 0));
    // SAFETY: module and function are live, the function has code, and the text lives during the call.
    unsafe { host::ptx_atomics_warning(module.as_mut_ptr(), function, Text::new(&text), line, column) };
}

/// Whether the host handles an error. One of no function, as of an option, has our name in front.
fn report(module: &Module<'_>, error: &Diagnostic) -> bool {
    let place = error.function.as_ref().and_then(|function| place(module, function, error.location.as_ref()));
    // SAFETY: module and function are live, the function has code, and the text lives during the call.
    unsafe {
        match place {
            Some((function, line, column)) => host::ptx_atomics_error(function, Text::new(&error.text()), line, column),
            None => {
                let text = format!("ptx-atomics: {}", error.text());
                host::ptx_atomics_module_error(module.as_mut_ptr(), Text::new(&text))
            }
        }
    }
}
