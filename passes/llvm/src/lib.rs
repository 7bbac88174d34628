//! The pass over LLVM IR: every atomic and fence becomes one call to inline assembly, and LLVM's NVPTX backend does the
//! rest.
//!
//! [`read`] takes text or bitcode, [`expand`] gives Rust its scopes, [`relax_cuda`] CUDA its order,
//! [`prepare`] optimizes if asked and resolves address spaces, [`lower`] is the pass itself, [`ptx`] and [`ir`] write the result. [`lower`] decides no ordering: it recognizes operations, asks
//! `ptx-atomics-lowering`, and embeds the answers, all or none.
//!
//! LLVM ends the process on what its backend cannot select. [`lower`] leaves no atomic to it; whoever must survive the
//! rest runs [`ptx`] in a process of its own, as the command line does.
//!
//! This crate names LLVM's functions and links none of them: a program links them by `ptx-atomics-link`, a plugin takes those
//! of its host, which calls [`begin`] before LLVM's passes and [`end`] in front of [`lower`].

mod cuda;
mod effects;
mod embed;
mod emit;
mod fatal;
mod instruction;
mod machine;
mod memory;
mod module_flag;
mod recognize;
mod require;
mod scoped;
mod source;
mod value;

use inkwell::module::Module;
#[cfg(test)]
use ptx_atomics_link as _;

pub use self::{
    cuda::relax_cuda,
    effects::{begin, end},
    emit::{RESOLVE, bitcode, ir, prepare, ptx, strip_debug_info},
    fatal::{Handlers, install_handlers},
    machine::{data_layout, machine, requested_gpus, requested_versions, require_nvptx64},
    module_flag::settings_of,
    recognize::{Named, Recognized, operations, ptx_name},
    scoped::{expand, has_markers},
    source::read,
};
pub use inkwell;
#[doc(no_inline)]
pub use ptx_atomics_pass::{Diagnostic, Errors, Input, Location, Options, Remark, Settings, remarks, settings};

/// Lowers every atomic and fence of the module, in place. The remarks say what became of each, if the options ask for
/// them.
///
/// # Errors
/// Everything in the module that has no lowering. The module is then unchanged.
pub fn lower(module: &Module<'_>, input: &Input, options: &Options) -> Result<Vec<Remark>, Errors> {
    let mut planned = Vec::new();
    recognize::plan(module, input, options, false, |plan| planned.push(plan))?;
    let reported = if options.remarks { &planned[..] } else { &[] };
    let remarks = reported.iter().map(|plan| plan.remark(input)).collect();
    if !planned.is_empty() {
        embed::spell_symbols_plainly(module);
    }
    let embedder = embed::Embedder::new(&module.get_context());
    planned.into_iter().for_each(|plan| embedder.embed(plan));
    Ok(remarks)
}

/// Whether the module has anything to lower, or is not yet what it was before [`begin`].
pub fn is_pending(module: &Module<'_>) -> bool {
    let mut all = module.get_functions().flat_map(value::instructions);
    effects::is_marked(module)
        || has_markers(module)
        || cuda::is_pending(module)
        || all.any(|i| instruction::Instruction::atomic(i).is_some())
}

/// Reports what [`lower`] would reject, and changes nothing. For a module as [`read`] and [`expand`] left it.
///
/// # Errors
/// Everything in the module that has no lowering.
pub fn check(module: &Module<'_>, input: &Input, options: &Options) -> Result<(), Errors> {
    recognize::plan(module, input, options, true, drop)
}
