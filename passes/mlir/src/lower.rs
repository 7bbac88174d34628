//! The entry points of the pass over MLIR.

use melior::ir::OperationRef;
use ptx_atomics_common::{Errors, Options, Remark};
use ptx_optimize::Rewrites;

use crate::{
    device::{DeviceModule, device_ops},
    diagnostic::error_at,
    embed, emit,
    ir::{self, Op},
    memref, native_ops, optimize,
    plan::Planned,
    recognize, spirv,
    vocabulary::is_atomic,
};

/// Reports the errors of [`expand`] or [`crate::llvm_ir`] as far as the ops show them, without changing the module.
///
/// # Errors
/// Every operation that has no lowering, every op that the target lacks, and every op of a dialect that no conversion
/// handles.
pub fn check(root: OperationRef<'_, '_>, options: &Options) -> Result<(), Errors> {
    let mut errors = recognize::plan(root, options).err().unwrap_or_default();
    errors.extend(emit::unconvertible(root));
    errors.extend(emit::in_no_function(root));
    errors.or(())
}

/// Reports the errors of [`lower`], without changing the module.
///
/// # Errors
/// The errors of [`check`], and every op in a module that cannot contain PTX.
pub fn check_lower(root: OperationRef<'_, '_>, options: &Options) -> Result<(), Errors> {
    plan_lower(root, options).map(drop)
}

fn plan_lower<'c, 'a>(root: Op<'c, 'a>, options: &Options) -> Result<Vec<Planned<'c, 'a>>, Errors> {
    let planned = recognize::plan(root, options)?;
    spirv::check_embeddable(&planned)?;
    Ok(planned)
}

/// Lowers every atomic and fence of the device code, in place. If the options request remarks, there is one for each
/// operation.
///
/// # Errors
/// The errors of [`check_lower`]. The IR is then unchanged, except after an error whose message reports a bug of this
/// crate.
pub fn lower(device: &mut DeviceModule<'_, '_>, options: &Options) -> Result<Vec<Remark>, Errors> {
    lower_op(device.op_mut(), options)
}

/// As [`lower`], for an op to which the caller has exclusive access.
pub(crate) fn lower_op(root: Op<'_, '_>, options: &Options) -> Result<Vec<Remark>, Errors> {
    let planned = plan_lower(root, options)?;
    let reported = if options.remarks { &planned[..] } else { &[] };
    let mut remarks: Vec<_> = reported.iter().flat_map(|plan| plan.remarks()).collect();
    expand_all(root, &planned);
    let optimized = options.optimize != Rewrites::NONE;
    if optimized {
        remarks = optimize::optimize(root, options);
    }
    let device = device_ops(root).into_iter().flat_map(ir::all);
    // Embedding also erases the ops that extract from a pair. These must not be accessed again.
    let atomics: Vec<_> = device.filter(|op| is_atomic(ir::name(*op))).collect();
    if !atomics.is_empty() {
        spell_symbols_plainly(root);
    }
    for op in atomics {
        match recognize::plan_op(op, options) {
            Ok(planned) => {
                let said = planned.iter().filter(|_| optimized && options.remarks).flat_map(Planned::remarks);
                remarks.extend(said);
                planned.iter().for_each(embed::embed);
            }
            // Before its expansion, the operation had a lowering.
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

/// As in the pass over LLVM IR: no symbol is local to an object file, so that LLVM prints no variable as `x$local`.
fn spell_symbols_plainly(root: Op<'_, '_>) {
    let device = device_ops(root).into_iter().flat_map(ir::all);
    for op in device.filter(|op| ir::name(*op) == "llvm.mlir.global") {
        ir::remove(op, "dso_local");
    }
}

/// Expands the atomics of other dialects to atomics of the LLVM dialect, with ordering and scope, in place.
///
/// # Errors
/// The errors of [`check`]. The IR is then unchanged.
pub fn expand(device: &mut DeviceModule<'_, '_>, options: &Options) -> Result<(), Errors> {
    let root = device.op_mut();
    recognize::plan(root, options).map(|planned| expand_all(root, &planned))
}

fn expand_all(root: Op<'_, '_>, planned: &[Planned<'_, '_>]) {
    // Both expansions erase the op, which must not be accessed again.
    for plan in planned {
        match () {
            () if memref::is_one(plan.op) => memref::expand(plan.op),
            () if spirv::is_one(plan.op) => spirv::expand(plan.op),
            () => {}
        }
    }
    let device = device_ops(root).into_iter().flat_map(ir::all);
    device.filter(|op| native_ops::needs_guard(*op)).for_each(native_ops::guard);
}

#[cfg(test)]
mod tests {
    use ptx_atomics_common::{Input, Outcome, Settings};
    use ptx_lowering::Change;

    use crate::{context, device_code, options, read};

    /// Checks whether the remark on an addition through a pointer of this address space reports that its memory is
    /// unknown.
    fn check(address_space: u32, generic_may_be_local: bool, unknown: bool) {
        let text = format!(
            "llvm.func @f(%p: !llvm.ptr<{address_space}>, %v: i32) -> i32 {{
               %old = llvm.atomicrmw add %p, %v acq_rel : !llvm.ptr<{address_space}>, i32
               llvm.return %old : i32
             }}"
        );
        let context = context();
        let mut module = read(&context, &Input::new("f.mlir", text)).expect("MLIR");
        let settings = Settings { generic_may_be_local: Some(generic_may_be_local), ..Settings::default() };
        for mut device in device_code(&mut module) {
            let options =
                ptx_atomics_common::Options { remarks: true, ..options(&settings, device.op()).expect("options") };
            let remarks = super::lower(&mut device, &options).expect("it has a lowering");
            let found = remarks.iter().map(|remark| match &remark.outcome {
                Outcome::Lowered { changes, .. } => changes.contains(&Change::UnknownMemory),
                Outcome::Optimized { .. } | Outcome::Inserted { .. } => false,
            });
            assert_eq!(found.collect::<Vec<_>>(), [unknown], "{address_space} {generic_may_be_local}");
        }
    }

    #[test]
    fn remarks_say_where_memory_is_not_known() {
        check(0, false, true);
        check(0, true, false);
        check(1, false, false);
    }
}
