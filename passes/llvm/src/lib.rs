//! The pass over LLVM IR: every atomic and fence becomes one call to inline assembly, and LLVM's NVPTX backend does the
//! rest.
//!
//! The steps, in order:
//!
//! 1. [`read`] takes text or bitcode.
//! 2. [`expand`] replaces markers, the calls by which Rust names scopes; [`relax_cuda`] gives CUDA's own atomics their order.
//! 3. [`check`] reports all errors before anything is changed.
//! 4. [`prepare`] optimizes if asked, and resolves address spaces.
//! 5. [`lower`] is the pass itself. It decides no ordering: it recognizes operations, asks `ptx-atomics-lowering`, and embeds
//!    the answers, all or none.
//! 6. [`ptx`], [`ir`] or [`bitcode`] writes the result.
//!
//! ```
//! # use ptx_atomics_link as _;
//! use ptx_atomics_llvm::{self as llvm, Input, Options, inkwell::{OptimizationLevel, context::Context}};
//! use ptx_atomics_lowering::Target;
//!
//! let input = Input::new("next.ll", "define i32 @next(ptr addrspace(1) %counter) {
//!   %old = atomicrmw add ptr addrspace(1) %counter, i32 1 acq_rel
//!   ret i32 %old
//! }");
//! let options = Options::new(Target::new("sm_90".parse()?, None)?);
//! let context = Context::create();
//! let module = llvm::read(&context, &input)?;
//! llvm::expand(&module)?;
//! llvm::check(&module, &input, &options)?;
//! let machine = llvm::machine(&module, &options.target, OptimizationLevel::Default)?;
//! llvm::prepare(&module, &machine, None)?;
//! llvm::lower(&module, &input, &options)?;
//! let ptx = String::from_utf8(llvm::ptx(&module, &machine, &options.target)?)?;
//! assert!(ptx.contains("atom.acq_rel.sys.global.add.u32"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! LLVM ends the process on what its backend cannot select. [`lower`] leaves no atomic to it; a program that must survive the
//! rest runs [`ptx`] in another process, and [`install_handlers`] there to learn the reason.
//!
//! This crate names LLVM's functions and links none of them. A program links them by `ptx-atomics-link`. A plugin takes those
//! of its host; it calls [`begin`] before LLVM's passes and [`end`] in front of [`lower`].

#![warn(missing_docs)]

mod cuda;
mod effects;
mod embed;
mod emit;
mod fatal;
mod instruction;
mod machine;
mod memory;
mod module_flag;
mod optimize;
mod recognize;
mod require;
mod scoped;
mod selection;
mod source;
mod used;
mod value;
mod version;

use inkwell::module::Module;
#[cfg(test)]
use ptx_atomics_link as _;
use ptx_atomics_optimize::Rewrites;

use self::recognize::{Lines, Planned};
pub use self::{
    cuda::relax_cuda,
    effects::{begin, end},
    emit::{RESOLVE, bitcode, discard_names, ir, prepare, ptx, strip_debug_info},
    fatal::{Handlers, install_handlers},
    machine::{data_layout, machine, requested_gpus, requested_versions, require_nvptx64},
    memory::show_global_pointers,
    module_flag::settings_of,
    recognize::{Named, Recognized, operations, ptx_name},
    scoped::{expand, has_markers},
    selection::{has_requirements, require_selectable},
    source::read,
    value::show_own_lines,
    version::NEWEST as NEWEST_PTX,
};
pub use inkwell;
/// The major version of LLVM that this is built for.
pub use ptx_atomics_llvm_version::MAJOR as LLVM_VERSION;
#[doc(no_inline)]
pub use ptx_atomics_pass::{
    Diagnostic, Errors, FpChoice, Input, Location, Options, Outcome, Remark, Settings, remarks, settings,
};

/// Lowers every atomic and fence of the module, in place, after [`optimize`]. The remarks say what became of each, if the
/// options ask for them.
///
/// # Errors
/// Everything in the module that has no lowering, and what [`require_selectable`] reports. The module is then unchanged.
pub fn lower(module: &Module<'_>, input: &Input, options: &Options) -> Result<Vec<Remark>, Errors> {
    let mut remarks = optimize(module, input, options)?;
    let planned = plan(module, input, options)?;
    let reported = if options.remarks { &planned[..] } else { &[] };
    remarks.extend(reported.iter().map(|plan| plan.remark(input)));
    if !planned.is_empty() {
        embed::spell_symbols_plainly(module);
    }
    let embedder = embed::Embedder::new(&module.get_context());
    planned.iter().for_each(|plan| embedder.embed(plan));
    if input.keep_lines {
        source::forget_calls(module);
    }
    Ok(remarks)
}

/// Makes the atomics and fences of the module cheaper, as the options say. The remarks say what was done, and what stood in the
/// way, if the options ask for them.
///
/// # Errors
/// Everything in the module that has no lowering. The module is then unchanged.
pub fn optimize(module: &Module<'_>, input: &Input, options: &Options) -> Result<Vec<Remark>, Errors> {
    if options.optimize == Rewrites::NONE {
        return Ok(Vec::new());
    }
    Ok(optimize::optimize(module, input, options, &plan(module, input, options)?))
}

fn plan<'c>(module: &Module<'c>, input: &Input, options: &Options) -> Result<Vec<Planned<'c>>, Errors> {
    let (mut planned, mut errors) = (Vec::new(), Errors::new());
    errors.keep(recognize::plan(module, input, options, Lines::ByNumber, |plan| planned.push(plan)));
    errors.keep(require_selectable(module, input, &options.target));
    errors.or(planned)
}

/// Whether the module has anything to lower, or is not yet what it was before [`begin`].
pub fn is_pending(module: &Module<'_>) -> bool {
    let mut all = module.get_functions().flat_map(value::instructions);
    effects::is_marked(module)
        || has_markers(module)
        || cuda::is_pending(module)
        || all.any(|i| instruction::Instruction::atomic(i).is_some())
}

/// Reports the atomics that [`lower`] would reject, and changes nothing. For a module as [`read`] and [`expand`] left it.
///
/// Calls that LLVM cannot select are reported along with them; alone they are no error yet, since an optimizer may show that they
/// are never reached.
///
/// # Errors
/// Everything in the module that has no lowering.
pub fn check(module: &Module<'_>, input: &Input, options: &Options) -> Result<(), Errors> {
    recognize::plan(module, input, options, Lines::InOrder, drop).map_err(|mut errors| {
        source::number_calls(module, input);
        errors.keep(require_selectable(module, input, &options.target));
        errors
    })
}
