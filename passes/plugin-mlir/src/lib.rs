//! `libptx_atomics_mlir.so`: the pass `ptx-atomics` for mlir-opt.
//!
//! `shim.cpp` is the pass in MLIR's classes; what it does is `mlir::run`. MLIR's functions are the host's.
//! Nothing unwinds into it.

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
/// Other versions of MLIR have other classes: there this says so and ends the process.
#[unsafe(no_mangle)]
pub extern "C" fn mlirGetPassPluginInfo() -> PassPluginLibraryInfo<*const c_void> {
    let plugin = Plugin { file: "libptx_atomics_mlir", package: env!("CARGO_PKG_NAME"), input: "MLIR" };
    plugin.require_host();
    // SAFETY: the callbacks live for ever.
    PassPluginLibraryInfo::new(host::API_VERSION, unsafe { host::ptx_atomics_connect(&CALLBACKS) })
}

/// The number of options that the pass has.
const OPTIONS: usize = {
    let (mut options, mut index) = (0, 0);
    while index < SETTINGS.len() {
        options += SETTINGS[index].in_mlir as usize;
        index += 1;
    }
    options
};

/// One of the options, by a number below that of all.
extern "C" fn setting(index: usize) -> Setting {
    let setting = SETTINGS.iter().filter(|setting| setting.in_mlir).nth(index).expect("there are so many");
    Setting { name: Text::new(setting.name), help: Text::new(setting.help), takes: setting.takes }
}

/// Names the dialects of what the pass builds.
unsafe extern "C" fn insert_dialects(registry: MlirDialectRegistry) {
    // SAFETY: the registry is the host's, and lives during the call.
    mlir::BUILT.iter().for_each(|dialect| unsafe { mlirDialectHandleInsertDialect(dialect().to_raw(), registry) });
}

/// Says what is wrong with options.
unsafe extern "C" fn validate(options: Text, say: Say, to: *mut c_void) {
    // SAFETY: the shim's text lives during the call, and so does what it says `say` is to be called with.
    unsafe {
        let errors = mlir::validate(&options.get().unwrap_or_default()).err().unwrap_or_default();
        errors.iter().for_each(|error| say(to, Text::new(&error.text())));
    }
}

/// Runs the pass on an op; whether it succeeded.
unsafe extern "C" fn run(op: MlirOperation, options: Text) -> bool {
    // SAFETY: op and text are the host's, and live during the call; MLIR runs the pass.
    unsafe { mlir::run(OperationRef::from_raw(op), &options.get().unwrap_or_default()) }
}

/// Why asynchronous operations are not checked, or nothing.
unsafe extern "C" fn unchecked(op: MlirOperation, options: Text) -> Text {
    let reason = || {
        // SAFETY: op and text are the host's, and live during the call; nothing changes the op.
        unsafe { mlir::unchecked(OperationRef::from_raw(op), &options.get().unwrap_or_default()) }
    };
    Text::new(catch_unwind(reason).ok().flatten().unwrap_or(""))
}
