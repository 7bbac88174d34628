//! The pass over MLIR: every atomic and fence of the device code becomes one `llvm.inline_asm`, or an atomic of LLVM IR with
//! its ordering and scope.
//!
//! [`read`] takes text or bytecode. [`lower`] is the pass itself, for the middle of a pipeline of MLIR: it [`expand`]s the
//! atomics of other dialects to those of the LLVM dialect, and embeds PTX for these. [`modules`] goes on instead to LLVM IR,
//! by MLIR's own conversions, and leaves the atomics to the pass over LLVM IR, which finds out more about addresses. No
//! ordering is decided here: operations are recognized, `ptx-atomics-lowering` is asked, and its answers are embedded, all or none.

mod embed;
mod emit;
mod ir;
mod kept;
mod memory;
mod memref;
mod nvvm;
mod recognize;
mod source;
mod spirv;

pub use melior;
use melior::ir::{OperationRef, operation::OperationLike};
#[cfg(test)]
use ptx_atomics_link as _;
use ptx_atomics_llvm::{Diagnostic, Options, Remark, Settings, settings::MODULE_FLAG};

pub use self::{
    emit::{DeviceModule, Translated, bytecode, device_modules, llvm_ir, requested_targets, text},
    recognize::device_code,
    source::{BYTECODE, context, read},
};

/// Reports what [`lower`] and [`expand`] would reject, and changes nothing.
///
/// # Errors
/// Everything that has no lowering, and every op that the target lacks.
pub fn check(root: OperationRef<'_, '_>, options: &Options) -> Result<(), Vec<Diagnostic>> {
    recognize::plan(root, options).map(drop)
}

/// Lowers every atomic and fence of the device code in `root`, in place. The remarks say what became of each, if the
/// options ask for them.
///
/// # Errors
/// As of [`check`]. The IR is then unchanged.
pub fn lower(root: OperationRef<'_, '_>, options: &Options) -> Result<Vec<Remark>, Vec<Diagnostic>> {
    let planned = recognize::plan(root, options)?;
    spirv::check_embeddable(&planned)?;
    let reported = if options.remarks { &planned[..] } else { &[] };
    let remarks = reported.iter().flat_map(|plan| plan.remarks()).collect();
    expand_all(root, &planned);
    for op in recognize::device_code(root).into_iter().flat_map(ir::all) {
        if let Ok(Some(planned)) = recognize::plan_op(op, options) {
            embed::embed(&planned);
        }
    }
    Ok(remarks)
}

/// Turns the atomics of other dialects into those of the LLVM dialect, with ordering and scope, in place.
///
/// # Errors
/// As of [`check`]. The IR is then unchanged.
pub fn expand(root: OperationRef<'_, '_>, options: &Options) -> Result<(), Vec<Diagnostic>> {
    recognize::plan(root, options).map(|planned| expand_all(root, &planned))
}

fn expand_all(root: OperationRef<'_, '_>, planned: &[recognize::Planned<'_, '_>]) {
    planned.iter().filter(|plan| memref::is_one(plan.op)).for_each(|plan| memref::expand(plan.op));
    planned.iter().filter(|plan| spirv::is_one(plan.op)).for_each(|plan| spirv::expand(plan.op));
    let device = recognize::device_code(root).into_iter().flat_map(ir::all);
    device.filter(|op| kept::needs_guard(*op)).for_each(kept::guard);
}

/// The options that the module flag `ptx-atomics` sets, as in LLVM IR.
///
/// # Errors
/// If it is not a list of options.
pub fn settings(root: OperationRef<'_, '_>) -> Result<Settings, Vec<Diagnostic>> {
    let mut settings = Settings::default();
    for op in ir::all(root).into_iter().filter(|op| ir::name(*op) == "llvm.module_flags") {
        let key = format!("\"{MODULE_FLAG}\", \"");
        let text = ir::inherent(op, "flags").map(|flags| flags.to_string()).unwrap_or_default();
        if let Some((list, _)) = text.split_once(&key).and_then(|(_, rest)| rest.split_once('"')) {
            settings.override_with(list, &format!("the module flag \"{MODULE_FLAG}\""))?;
        }
    }
    Ok(settings)
}

/// The name of an op that is a symbol.
pub fn name(op: OperationRef<'_, '_>) -> Option<String> {
    op.attribute("sym_name").ok().and_then(ir::string)
}

/// An error at an op.
pub fn error_at(op: OperationRef<'_, '_>, message: String, help: &str) -> Diagnostic {
    recognize::diagnostic(op, (message, Some(help.to_owned())))
}
