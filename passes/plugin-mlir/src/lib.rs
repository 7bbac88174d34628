//! `libptx_atomics_mlir.so`: the pass `ptx-atomics` for mlir-opt.
//!
//! `shim.cpp` is the pass in MLIR's classes; it calls `mlir::run`. MLIR's functions are the host's. No panic unwinds
//! into the host.

mod host;

use std::{ffi::c_void, panic::catch_unwind};

use host::{Callbacks, Say, Setting};
use mlir::melior::ir::OperationRef;
use mlir_sys::{MlirDialectRegistry, MlirOperation, mlirDialectHandleInsertDialect};
use ptx_atomics_common::settings::SETTINGS;
use ptx_atomics_version::plugin::{PassPluginLibraryInfo, Plugin, Text};

static CALLBACKS: Callbacks = Callbacks {
    argument: Text::new(mlir::ARGUMENT),
    description: Text::new(mlir::DESCRIPTION),
    settings: OPTIONS,
    setting,
    insert_dialects,
    validate,
    run,
    unchecked,
};

/// The entry point of a pass plugin (`mlir/Tools/Plugins/PassPlugin.h`).
///
/// Other versions of MLIR have other classes. In such a host the function prints a message and ends the process.
#[unsafe(no_mangle)]
pub extern "C" fn mlirGetPassPluginInfo() -> PassPluginLibraryInfo<*const c_void> {
    let plugin = Plugin { file: "libptx_atomics_mlir", package: env!("CARGO_PKG_NAME"), input: "MLIR" };
    plugin.require_host();
    // SAFETY: the callbacks are never freed.
    PassPluginLibraryInfo::new(host::API_VERSION, unsafe { host::ptx_atomics_connect(&CALLBACKS) })
}

/// The number of options of the pass.
const OPTIONS: usize = {
    let (mut options, mut index) = (0, 0);
    while index < SETTINGS.len() {
        options += SETTINGS[index].in_mlir as usize;
        index += 1;
    }
    options
};

/// The option with an index below [`OPTIONS`].
extern "C" fn setting(index: usize) -> Setting {
    let setting = SETTINGS.iter().filter(|setting| setting.in_mlir).nth(index).expect("there are so many");
    Setting { name: Text::new(setting.name), help: Text::new(setting.help), takes: setting.takes }
}

/// Inserts the dialects of the ops that the pass builds into a registry.
unsafe extern "C" fn insert_dialects(registry: MlirDialectRegistry) {
    // SAFETY: the registry belongs to the host, and lives during the call.
    mlir::BUILT.iter().for_each(|dialect| unsafe { mlirDialectHandleInsertDialect(dialect().to_raw(), registry) });
}

/// Passes the errors of an option list to `say`.
unsafe extern "C" fn validate(options: Text, say: Say, to: *mut c_void) {
    // SAFETY: the shim's text and the pointer for `say` are valid during the call.
    unsafe {
        let errors = mlir::validate(&options.get().unwrap_or_default()).err().unwrap_or_default();
        errors.iter().for_each(|error| say(to, Text::new(&error.text())));
    }
}

/// Runs the pass on an op. Returns whether it succeeded.
unsafe extern "C" fn run(op: MlirOperation, options: Text) -> bool {
    // SAFETY: op and text belong to the host, and live during the call; MLIR runs the pass.
    unsafe { mlir::run(OperationRef::from_raw(op), &options.get().unwrap_or_default()) }
}

/// The reason why asynchronous operations are not checked; empty if there is none.
unsafe extern "C" fn unchecked(op: MlirOperation, options: Text) -> Text {
    let reason = || {
        // SAFETY: op and text belong to the host, and live during the call; no other code changes the op.
        unsafe { mlir::unchecked(OperationRef::from_raw(op), &options.get().unwrap_or_default()) }
    };
    Text::new(catch_unwind(reason).ok().flatten().unwrap_or(""))
}
