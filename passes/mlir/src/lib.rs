//! The pass over MLIR: every atomic and fence of the device code becomes one `llvm.inline_asm`, or an atomic of LLVM IR with
//! its ordering and scope.
//!
//! [`read`] takes text or bytecode. [`lower`] is the pass itself, for the middle of a pipeline of MLIR: it [`expand`]s the
//! atomics of other dialects to those of the LLVM dialect, and embeds PTX for these. [`llvm_ir`] goes on instead to LLVM IR,
//! by MLIR's own conversions, and leaves the atomics to the pass over LLVM IR, which finds out more about addresses. No
//! ordering is decided here: operations are recognized, `ptx-atomics-lowering` is asked, and its answers are embedded, all or none.

mod embed;
mod emit;
mod ir;
mod kept;
mod memory;
mod memref;
mod nvvm;
mod pass;
mod recognize;
mod source;
mod spirv;

pub use melior;
use melior::ir::{OperationRef, operation::OperationLike};
#[cfg(test)]
use ptx_atomics_link as _;
use ptx_atomics_llvm::{Diagnostic, Errors, Options, Remark, Settings, settings::MODULE_FLAG};

use self::recognize::Planned;
pub use self::{
    emit::{DeviceModule, Translated, bytecode, device_modules, llvm_ir, requested_targets, text},
    pass::{ARGUMENT, DESCRIPTION, pass, run, validate},
    recognize::device_code,
    source::{BUILT, BYTECODE, context, read},
};

/// Reports what [`expand`] or [`llvm_ir`] would reject as far as ops show it, and changes nothing.
///
/// # Errors
/// Everything that has no lowering, every op that the target lacks, and every op of a dialect that nothing converts.
pub fn check(root: OperationRef<'_, '_>, options: &Options) -> Result<(), Errors> {
    let mut errors = recognize::plan(root, options).err().unwrap_or_default();
    errors.extend(emit::unconvertible(root));
    errors.extend(emit::in_no_function(root));
    errors.or(())
}

/// Reports what [`lower`] would reject, and changes nothing.
///
/// # Errors
/// As of [`check`], and everything that has no place for PTX.
pub fn check_lower(root: OperationRef<'_, '_>, options: &Options) -> Result<(), Errors> {
    plan_lower(root, options).map(drop)
}

fn plan_lower<'c, 'a>(root: ir::Op<'c, 'a>, options: &Options) -> Result<Vec<Planned<'c, 'a>>, Errors> {
    let planned = recognize::plan(root, options)?;
    spirv::check_embeddable(&planned)?;
    Ok(planned)
}

/// Lowers every atomic and fence of the device code in `root`, in place. The remarks say what became of each, if the
/// options ask for them.
///
/// # Errors
/// As of [`check_lower`]. The IR is then unchanged, but for an error that is a bug of ours and says so.
pub fn lower(root: OperationRef<'_, '_>, options: &Options) -> Result<Vec<Remark>, Errors> {
    let planned = plan_lower(root, options)?;
    let reported = if options.remarks { &planned[..] } else { &[] };
    let remarks = reported.iter().flat_map(|plan| plan.remarks()).collect();
    expand_all(root, &planned);
    let device = recognize::device_code(root).into_iter().flat_map(ir::all);
    // Embedding also erases the ops that take a pair apart, which nothing may look at again.
    let atomics: Vec<_> = device.filter(|op| recognize::is_of_llvm(ir::name(*op))).collect();
    if !atomics.is_empty() {
        spell_symbols_plainly(root);
    }
    for op in atomics {
        match recognize::plan_op(op, options) {
            Ok(planned) => planned.iter().for_each(embed::embed),
            // What stood for it before its expansion had a lowering.
            Err(problems) => {
                let bug = |(message, _)| {
                    let message = format!("ptx-atomics has a bug, in an operation that it expanded itself: {message}");
                    error_at(op, message, "please report it with the input")
                };
                return Err(problems.into_iter().map(bug).collect());
            }
        }
    }
    Ok(remarks)
}

/// As in the pass over LLVM IR: nothing is local to an object file, so that LLVM spells no variable `x$local`.
fn spell_symbols_plainly(root: OperationRef<'_, '_>) {
    let device = recognize::device_code(root).into_iter().flat_map(ir::all);
    for op in device.filter(|op| ir::name(*op) == "llvm.mlir.global") {
        ir::remove(op, "dso_local");
    }
}

/// Turns the atomics of other dialects into those of the LLVM dialect, with ordering and scope, in place.
///
/// # Errors
/// As of [`check`]. The IR is then unchanged.
pub fn expand(root: OperationRef<'_, '_>, options: &Options) -> Result<(), Errors> {
    recognize::plan(root, options).map(|planned| expand_all(root, &planned))
}

fn expand_all(root: OperationRef<'_, '_>, planned: &[Planned<'_, '_>]) {
    // Either erases the op, which nothing may look at again.
    for plan in planned {
        match () {
            () if memref::is_one(plan.op) => memref::expand(plan.op),
            () if spirv::is_one(plan.op) => spirv::expand(plan.op),
            () => {}
        }
    }
    let device = recognize::device_code(root).into_iter().flat_map(ir::all);
    device.filter(|op| kept::needs_guard(*op)).for_each(kept::guard);
}

/// What the flag `ptx-atomics` of the module around an op sets, as in LLVM IR.
///
/// # Errors
/// If it is no string, or not a list of options, or names a file.
pub fn settings(op: OperationRef<'_, '_>) -> Result<Settings, Errors> {
    for op in ir::children(module_of(op)).filter(|op| ir::name(*op) == "llvm.module_flags") {
        let text = ir::inherent(op, "flags").map(|flags| flags.to_string()).unwrap_or_default();
        if let Some((_, value)) = text.split_once(&format!("\"{MODULE_FLAG}\", ")) {
            let list = value.strip_prefix('"').and_then(|rest| rest.split_once('"'));
            let help = format!("write #llvm.mlir.module_flag<override, \"{MODULE_FLAG}\", \"strategy=fence\">");
            let no_string = || error_at(op, format!("the module flag \"{MODULE_FLAG}\" is no string"), &help);
            return Settings::of_flag(list.ok_or_else(no_string)?.0).map_err(|errors| {
                let at = |error| Diagnostic { location: recognize::location_of(op), ..error };
                errors.into_iter().map(at).collect()
            });
        }
    }
    Ok(Settings::default())
}

/// The options for the code in an op: the GPU and the PTX version are those that are set, else those that the module around
/// it asks for, else as of [`Settings::target`].
///
/// # Errors
/// If the module asks for several, or for one that does not exist.
pub fn options(settings: &Settings, op: OperationRef<'_, '_>) -> Result<Options, Errors> {
    let module = module_of(op);
    let requested = if settings.mcpu.is_some() { Vec::new() } else { requested_targets(module)? };
    if let [_, _, ..] = requested[..] {
        let targets = requested.iter().map(|(sm, _)| sm.name()).collect::<Vec<_>>().join(", ");
        let help = "PTX text has one target: give it by --mcpu, or to the pass by chip";
        return Err(error_at(module, format!("the module asks for several GPUs: {targets}"), help).into());
    }
    let (gpu, version) = requested.first().copied().unzip();
    let target = settings.target(gpu, version).map_err(|error| Diagnostic::new(error.to_string()))?;
    Ok(settings.options(target))
}

/// The module around an op, or itself.
fn module_of<'c, 'a>(op: OperationRef<'c, 'a>) -> OperationRef<'c, 'a> {
    ir::parents(op).find(|parent| matches!(ir::name(*parent), "gpu.module" | "builtin.module")).unwrap_or(op)
}

/// Does something for each; all the errors, if there is one.
pub fn each<T, U>(
    items: impl IntoIterator<Item = T>,
    mut work: impl FnMut(T) -> Result<U, Errors>,
) -> Result<Vec<U>, Errors> {
    let mut errors = Errors::new();
    let done = items.into_iter().filter_map(|item| errors.keep(work(item))).collect();
    errors.or(done)
}

/// The name of an op that is a symbol.
pub fn name(op: OperationRef<'_, '_>) -> Option<String> {
    op.attribute("sym_name").ok().and_then(ir::string)
}

/// An error at an op.
pub fn error_at(op: OperationRef<'_, '_>, message: String, help: &str) -> Diagnostic {
    recognize::diagnostic(op, (message, Some(help.to_owned())))
}
