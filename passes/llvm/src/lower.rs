//! The entry points of the pass. It changes a module completely or not at all.

use inkwell::module::Module;
use ptx_atomics_common::{Errors, Input, Options, Remark};
use ptx_optimize::Rewrites;

use crate::{
    NativeOperations, embed, optimize as rewrites,
    recognize::{self, Lines, Planned},
    selection::require_selectable,
    source,
};

/// Lowers every atomic and fence of the module, in place, after [`optimize`]. If the options request remarks, there is
/// one for each operation. If they request verification, the operations that stayed LLVM's own can be
/// [verified](NativeOperations::verify).
///
/// # Errors
/// Every operation in the module that has no lowering, and the errors of [`require_selectable`]. The module is then
/// unchanged.
pub fn lower(module: &Module<'_>, input: &Input, options: &Options) -> Result<(Vec<Remark>, NativeOperations), Errors> {
    let mut remarks = optimize(module, input, options)?;
    let planned = plan(module, input, options)?;
    let reported = if options.remarks { &planned[..] } else { &[] };
    remarks.extend(reported.iter().map(|plan| plan.remark(input)));
    if planned.iter().any(|plan| plan.native.is_none()) {
        embed::spell_symbols_plainly(module);
    }
    let kept = if options.verify_native { NativeOperations::new(&planned) } else { NativeOperations::default() };
    let embedder = embed::Embedder::new(&module.get_context());
    planned.iter().for_each(|plan| embedder.embed(plan));
    if input.keep_lines {
        source::forget_calls(module);
    }
    Ok((remarks, kept))
}

/// Makes the atomics and fences of the module cheaper, as the options request. If the options request remarks, these
/// report the rewrites, and the obstacles to rewrites.
///
/// # Errors
/// Every operation in the module that has no lowering. The module is then unchanged.
pub fn optimize(module: &Module<'_>, input: &Input, options: &Options) -> Result<Vec<Remark>, Errors> {
    if options.optimize == Rewrites::NONE {
        return Ok(Vec::new());
    }
    Ok(rewrites::optimize(module, input, options, &plan(module, input, options)?))
}

pub(crate) fn plan<'c>(module: &Module<'c>, input: &Input, options: &Options) -> Result<Vec<Planned<'c>>, Errors> {
    let (mut planned, mut errors) = (Vec::new(), Errors::new());
    errors.keep(recognize::plan(module, input, options, Lines::ByNumber, |plan| planned.push(plan)));
    errors.keep(require_selectable(module, input, &options.target));
    errors.or(planned)
}

/// Reports the atomics that [`lower`] would reject, without changing the module. The module is the result of `read` and
/// `expand`.
///
/// Calls that LLVM cannot select are reported together with such atomics. Without such atomics they are not an error
/// yet, because an optimizer may show that they are never reached.
///
/// # Errors
/// Every operation in the module that has no lowering.
pub fn check(module: &Module<'_>, input: &Input, options: &Options) -> Result<(), Errors> {
    recognize::plan(module, input, options, Lines::InOrder, drop).map_err(|mut errors| {
        source::number_calls(module, input);
        errors.keep(require_selectable(module, input, &options.target));
        errors
    })
}
