//! `libptx_atomics.so`: the pass as a plugin for existing hosts.
//!
//! rustc and clang run it at the end of their optimizer, opt there and by name, llc before code generation; `shim.cpp`
//! uses their extension points. At the start of a pipeline, the plugin protects the ordering in the module from LLVM's
//! optimizer ([`llvm::begin`]); the pass then resolves address spaces and lowers. A module for another target is not
//! changed.
//!
//! LLVM's functions are the host's. No panic unwinds into the host: a panic becomes a diagnostic.

mod host;

use std::{
    env,
    ffi::c_uint,
    mem::ManuallyDrop,
    panic::{AssertUnwindSafe, catch_unwind},
};

use host::{Callbacks, PluginCallbacks};
use ptx_atomics_common::{AsyncMode, Diagnostic, Errors, Input, Location, Options, Remark, Settings, remarks};
use ptx_atomics_llvm::{
    self as llvm,
    inkwell::{
        llvm_sys::prelude::{LLVMModuleRef, LLVMValueRef},
        module::Module,
        values::AsValueRef,
    },
};
use ptx_atomics_version::plugin::{PassPluginLibraryInfo, Plugin, Text};
use ptx_lowering::{PtxVersion, Sm, Target};
use ptx_optimize::Rewrites;

/// The environment variable with options, for hosts that cannot pass any.
const VARIABLE: &str = "PTX_ATOMICS";

static CALLBACKS: Callbacks =
    Callbacks { resolve: Text::new(llvm::RESOLVE), start, asynchronous, pending, lower, check };

/// The entry point of a pass plugin (`llvm/Plugins/PassPlugin.h`).
///
/// Other versions of LLVM expect another structure and other classes. In such a host the function prints a message and
/// ends the process.
#[unsafe(no_mangle)]
pub extern "C" fn llvmGetPassPluginInfo() -> PassPluginLibraryInfo<PluginCallbacks> {
    let plugin = Plugin { file: "libptx_atomics", package: env!("CARGO_PKG_NAME"), input: "LLVM IR" };
    plugin.require_host();
    // SAFETY: the callbacks are never freed.
    PassPluginLibraryInfo::new(host::API_VERSION, unsafe { host::ptx_atomics_connect(&CALLBACKS) })
}

// SAFETY of the callbacks: only the shim calls them, with a live module of the host that no other code uses during the
// call, and with texts that live during the call.

/// Runs before LLVM's passes: at the start of a host's pipeline, and before the pass.
unsafe extern "C" fn start(module: LLVMModuleRef, parameters: Text) {
    let work = |module: &Module<'_>| {
        // SAFETY: the shim's text lives during the call.
        let parameters = unsafe { parameters.get() }.unwrap_or_default();
        // A misspelled option is an error even in a module without atomics.
        let settings = settings(module, &parameters)?;
        llvm::host::expand(module, settings.cuda_atomics != Some(false))?;
        llvm::host::protect(module);
        Ok(())
    };
    // SAFETY: the module is live.
    unsafe { guarded(module, work) };
}

/// Checks asynchronous operations before LLVM's optimizer, or as soon as the GPU is known. The module records the
/// check, so that it runs once on the whole path from the source program to machine code.
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
        // Without a GPU the host has no code generator yet. The pass reports an unknown GPU.
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

/// Whether the pass would change the module.
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

/// Runs the pass on a module whose address spaces are resolved. If the host optimizes, atomics are optimized, unless an
/// option is set explicitly.
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

/// Checks that the host's backend can compile a module without operations to lower. The check requires a known GPU.
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

/// Runs a part of the pass. Its errors and panics become diagnostics of the host. After an error the module is emptied,
/// so that the host's backend receives no operation that was not lowered. If the host does not handle the diagnostic,
/// the process ends, as with any of its errors.
///
/// # Safety
/// The module is live, and no other code uses it during the call.
unsafe fn guarded(module: LLVMModuleRef, work: impl FnOnce(&Module<'_>) -> Result<(), Errors>) {
    // SAFETY: the host's module is live, and the host keeps its ownership.
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
    // After this, nothing is pending.
    llvm::end(&module);
}

/// Whether rustc generated the module. rustc ends at the first error that a thread of code generation reports, before
/// it receives the next one.
fn is_of_rustc(module: &Module<'_>) -> bool {
    module.get_global_metadata("llvm.ident").iter().any(|ident| ident.to_string().contains("rustc version"))
}

/// All errors as one error, with the later errors as notes.
fn joined(errors: Errors) -> Errors {
    let mut errors = errors.into_iter();
    let Some(mut first) = errors.next() else { return Errors::new() };
    for error in errors {
        first.notes.push(error.place() + &error.text());
    }
    first.into()
}

/// The settings for the module: its flag, overridden by the environment, overridden by the parameters of the pass.
fn settings(module: &Module<'_>, parameters: &str) -> Result<Settings, Errors> {
    let mut settings = llvm::settings_of(module)?;
    if let Some(list) = env::var_os(VARIABLE) {
        settings.override_with(&list.to_string_lossy(), &format!("the environment variable {VARIABLE}"))?;
    }
    settings.override_with(parameters, "the parameters of the pass")?;
    Ok(settings)
}

/// The target: from the settings, else from the host's code generator, else from the module's functions. If these name
/// several GPUs, it is the highest. An older GPU rejects code for a newer one; conversely, code for the older GPU might
/// lose an ordering on the newer one.
fn target(settings: &Settings, module: &Module<'_>, machine: Option<(String, String)>) -> Result<Target, Errors> {
    let (gpu, version) = match machine {
        Some((gpu, features)) => llvm::host::target(&gpu, &features)?,
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

/// The function and the line in its file at which LLVM reports a diagnostic. `None` if the function has no body.
fn place(module: &Module<'_>, function: &str, location: Option<&Location>) -> Option<(LLVMValueRef, c_uint, c_uint)> {
    let named = module.get_function(function).filter(|function| function.count_basic_blocks() > 0)?;
    let (line, column) = location.map_or((0, 0), |at| (at.line, at.column));
    Some((named.as_value_ref(), line, column))
}

/// Passes remarks to the host, and to the file in the settings.
fn remark(module: &Module<'_>, settings: &Settings, remarks: &[Remark]) -> Result<(), Errors> {
    // SAFETY: the module is live.
    if unsafe { host::ptx_atomics_wants_remarks(module.as_mut_ptr()) } {
        for remark in remarks {
            if let Some((function, line, column)) = place(module, &remark.function, remark.location.as_ref()) {
                let (name, text) = (Text::new(remark.name()), remarks::line(remark));
                // SAFETY: the function belongs to a live module and has a body, and the text lives during the call.
                unsafe {
                    host::ptx_atomics_remark(function, name, remark.is_missed(), Text::new(&text), line, column);
                }
            }
        }
    }
    settings.remarks.as_ref().map_or(Ok(()), |path| remarks::append(path, remarks))
}

/// Reports a warning to the host. rustc treats warnings at functions as errors, so they are reported without a
/// function.
fn warn(module: &Module<'_>, warning: &Diagnostic) {
    let place = warning.function.as_ref().filter(|_| !is_of_rustc(module));
    let place = place.and_then(|function| self::place(module, function, warning.location.as_ref()));
    let text =
        if place.is_some() { warning.text() } else { format!("ptx-atomics: {}{}", warning.place(), warning.text()) };
    let (function, line, column) = place.unwrap_or((std::ptr::null_mut(), 0, 0));
    // SAFETY: module and function are live, the function has a body, and the text lives during the call.
    unsafe { host::ptx_atomics_warning(module.as_mut_ptr(), function, Text::new(&text), line, column) };
}

/// Reports an error to the host. Returns whether the host handles it. An error without a function, such as an invalid
/// option, has the prefix `ptx-atomics`.
fn report(module: &Module<'_>, error: &Diagnostic) -> bool {
    let place = error.function.as_ref().and_then(|function| place(module, function, error.location.as_ref()));
    // SAFETY: module and function are live, the function has a body, and the text lives during the call.
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
