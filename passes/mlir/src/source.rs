//! Parsing of a module from text or bytecode.

use melior::{
    Context, ContextRef,
    dialect::{DialectHandle, DialectRegistry},
    ir::Module,
    utility::{register_all_dialects, register_all_llvm_translations},
};
use mlir_sys::*;
use ptx_atomics_common::{Diagnostic, Errors, Input};
use ptx_atomics_llvm::LLVM_VERSION;

use crate::{diagnostic::error_at, ir, run::diagnosed};

/// The first bytes of MLIR's bytecode.
pub const BYTECODE: &[u8] = b"ML\xefR";

/// The dialects of the ops that the pass builds. They must be loaded first.
pub const BUILT: [fn() -> DialectHandle; 5] = [
    DialectHandle::arith,
    DialectHandle::gpu,
    DialectHandle::llvm,
    // SAFETY: a handle is a constant.
    || unsafe { DialectHandle::from_raw(mlirGetDialectHandle__nvvm__()) },
    DialectHandle::scf,
];

/// A context that knows every dialect of MLIR, and uses one thread.
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

/// Parses and verifies a module.
///
/// # Errors
/// MLIR's errors about the module.
pub fn read<'c>(context: &'c Context, input: &Input) -> Result<Module<'c>, Errors> {
    let bytes = input.bytes();
    if bytes.is_empty() {
        return Err(Diagnostic::new(format!("'{}' is empty", input.name())).help("give MLIR, text or bytecode").into());
    }
    parse(context, bytes).map_err(|mut errors| {
        if errors.iter().any(|error| error.message.contains("unregistered dialect")) {
            let unregistered = unregistered(context, bytes);
            if !unregistered.is_empty() {
                return unregistered;
            }
        }
        let kind = if bytes.starts_with(BYTECODE) { "damaged MLIR bytecode" } else { "not MLIR" };
        if errors.is_empty() {
            errors.push(Diagnostic::new("it cannot be read"));
        }
        for error in errors.iter_mut() {
            match unknown_syntax(&error.message) {
                Some(op) => {
                    error.message = unknown(op);
                    error.notes.clear();
                    error.help = Some(lower_first());
                }
                None => error.message = format!("'{}' is {kind}: {}", input.name(), error.message),
            }
        }
        errors
    })
}

/// The help for an op that MLIR itself does not know.
fn lower_first() -> String {
    format!("lower it to the dialects of MLIR {LLVM_VERSION} itself first")
}

fn parse<'c>(context: &'c Context, bytes: &[u8]) -> Result<Module<'c>, Errors> {
    // SAFETY: the context is live.
    let reference = unsafe { ContextRef::from_raw(context.to_raw()) };
    diagnosed(reference, || {
        // SAFETY: context and bytes are live, and the caller owns the result.
        unsafe {
            let text = MlirStringRef { data: bytes.as_ptr().cast(), length: bytes.len() };
            let module = mlirModuleCreateParse(context.to_raw(), text);
            (!module.ptr.is_null()).then(|| Module::from_raw(module))
        }
    })
}

/// An error for each op without a registered dialect, in a module that MLIR can parse otherwise.
fn unregistered(context: &Context, bytes: &[u8]) -> Errors {
    context.set_allow_unregistered_dialects(true);
    let parsed = parse(context, bytes);
    context.set_allow_unregistered_dialects(false);
    let Ok(module) = parsed else { return Errors::new() };
    let ops = ir::all(module.as_operation()).into_iter();
    let unregistered = ops.filter_map(|op| {
        let name = ir::name(op);
        // SAFETY: context and name are live.
        let known = unsafe { mlirContextIsRegisteredOperation(context.to_raw(), ir::string_ref(name)) };
        (!known).then(|| error_at(op, unknown(name), &lower_first()))
    });
    unregistered.collect()
}

fn unknown(op: &str) -> String {
    let dialect = op.split('.').next().unwrap_or_default();
    format!("{op} is of the dialect {dialect}, which MLIR {LLVM_VERSION} does not have")
}

/// The op in a message of MLIR's parser about an unknown dialect.
fn unknown_syntax(message: &str) -> Option<&str> {
    let (dialect, rest) = message.strip_prefix("Dialect `")?.split_once("' not found for custom op '")?;
    let (op, _) = rest.split_once('\'').filter(|_| !dialect.is_empty())?;
    Some(op)
}
