//! Reading a module: text or bytecode.

use std::{cell::RefCell, rc::Rc};

use melior::{
    Context,
    diagnostic::{Diagnostic as MlirDiagnostic, DiagnosticSeverity},
    dialect::{DialectHandle, DialectRegistry},
    ir::Module,
    utility::{register_all_dialects, register_all_llvm_translations},
};
use mlir_sys::*;
use ptx_atomics_llvm::{Diagnostic, Input};

use crate::ir;

/// The first bytes of MLIR's bytecode.
pub const BYTECODE: &[u8] = b"ML\xefR";

/// The dialects of what is built, which must be loaded before.
pub const BUILT: [fn() -> DialectHandle; 5] = [
    DialectHandle::arith,
    DialectHandle::gpu,
    DialectHandle::llvm,
    // SAFETY: a handle is a constant.
    || unsafe { DialectHandle::from_raw(mlirGetDialectHandle__nvvm__()) },
    DialectHandle::scf,
];

/// A context that knows every dialect of MLIR, and works in one thread.
pub fn context() -> Context {
    let registry = DialectRegistry::new();
    register_all_dialects(&registry);
    let context = Context::new_with_registry(&registry, false);
    register_all_llvm_translations(&context);
    for dialect in BUILT {
        dialect().load_dialect(&context);
    }
    context
}

/// Reads and verifies a module.
///
/// # Errors
/// What MLIR says is wrong with it.
pub fn read<'c>(context: &'c Context, input: &Input) -> Result<Module<'c>, Vec<Diagnostic>> {
    let bytes = input.bytes();
    if bytes.is_empty() {
        return Err(Diagnostic::new(format!("'{}' is empty", input.name())).help("give MLIR, text or bytecode").into());
    }
    let parsed = diagnosed(context, || {
        // SAFETY: context and bytes are live, and the result is ours.
        unsafe {
            let text = MlirStringRef { data: bytes.as_ptr().cast(), length: bytes.len() };
            let module = mlirModuleCreateParse(context.to_raw(), text);
            (!module.ptr.is_null()).then(|| Module::from_raw(module))
        }
    });
    let module = parsed.map_err(|mut errors| {
        let kind = if bytes.starts_with(BYTECODE) { "damaged MLIR bytecode" } else { "not MLIR" };
        if errors.is_empty() {
            errors.push(Diagnostic::new("it cannot be read"));
        }
        for error in &mut errors {
            let unknown =
                error.message.contains("unregistered dialect") || error.message.contains("not found for custom op");
            error.help = unknown.then(|| "lower the dialect to those of MLIR 22 itself first".to_owned());
            error.message = format!("'{}' is {kind}: {}", input.name(), error.message);
        }
        errors
    })?;
    Ok(module)
}

/// Runs a part of MLIR that reports errors to the context. Nothing is an error if it gives something.
pub fn diagnosed<T>(context: &Context, work: impl FnOnce() -> Option<T>) -> Result<T, Vec<Diagnostic>> {
    let errors = Rc::new(RefCell::new(Vec::new()));
    let handler = {
        let errors = errors.clone();
        context.attach_diagnostic_handler(move |diagnostic| {
            if matches!(diagnostic.severity(), DiagnosticSeverity::Error) {
                errors.borrow_mut().push(error(&diagnostic));
            }
            true
        })
    };
    let result = work();
    context.detach_diagnostic_handler(handler);
    result.ok_or_else(|| errors.take())
}

fn error(diagnostic: &MlirDiagnostic<'_>) -> Diagnostic {
    let notes = (0..diagnostic.note_count()).filter_map(|index| diagnostic.note(index).ok());
    let notes = notes.map(|note| note.to_string().lines().next().unwrap_or_default().to_owned()).collect();
    let location = ir::file_location(diagnostic.location());
    Diagnostic { location, notes, ..Diagnostic::new(diagnostic.to_string()) }
}
