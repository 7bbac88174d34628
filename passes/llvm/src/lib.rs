//! The pass over LLVM IR: every atomic and fence becomes one call to inline assembly, and LLVM's NVPTX backend compiles
//! the rest.
//!
//! The steps, in order:
//!
//! 1. [`read`] parses text or bitcode.
//! 2. [`expand`] replaces markers, the calls by which Rust names scopes; [`relax_cuda`] gives CUDA's own atomics their
//!    ordering.
//! 3. [`check`] reports all errors before any change.
//! 4. [`prepare`] optimizes if requested, and resolves address spaces.
//! 5. [`lower`] is the pass itself. It decides no ordering: it recognizes operations, asks `ptx-lowering` for
//!    sequences, and embeds all of them, or none if there is an error.
//! 6. [`ptx`], [`ir`] or [`bitcode`] writes the result.
//!
//! ```
//! # use ptx_atomics_link as _;
//! use ptx_atomics_llvm::{self as llvm, Input, Options, inkwell::{OptimizationLevel, context::Context}};
//! use ptx_lowering::Target;
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
//! LLVM ends the process on an instruction that its backend cannot select. [`lower`] leaves no atomic to the backend. A
//! program that must survive other such instructions runs [`ptx`] in another process, and calls [`install_handlers`]
//! there to learn the reason.
//!
//! A compiler that already holds a module calls [`host::lower_around`], which contains the steps 2 to 5.
//!
//! This crate names LLVM's functions and does not decide how they are linked: the compiler links LLVM as before, and a
//! program without LLVM adds `ptx-atomics-link`. A plugin takes the functions of its host.

#![warn(missing_docs)]

#[cfg(feature = "asynchronous")]
mod asynchronous;
mod call;
mod construct;
mod copies;
mod cuda;
mod effects;
mod embed;
mod emit;
mod fatal;
pub mod host;
mod instruction;
mod lower;
mod machine;
mod memory;
mod module_flag;
mod native;
mod optimize;
mod other_instructions;
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

#[cfg(feature = "asynchronous")]
pub use self::asynchronous::{
    Checked, Hidden, Lines as AsynchronousLines, Listing, Subject, asynchronous, check_subject, debug_locations,
    find_hazards, has_asynchronous, is_checked, lines as asynchronous_lines, set_checked,
};
pub use self::{
    cuda::relax_cuda,
    effects::{begin, end},
    emit::{RESOLVE, bitcode, discard_names, ir, prepare, ptx, strip_debug_info},
    fatal::{Handlers, install_handlers},
    lower::{check, lower, optimize},
    machine::{data_layout, machine, requested_gpus, requested_versions, require_nvptx64},
    memory::show_global_pointers,
    module_flag::settings_of,
    native::NativeOperations,
    other_instructions::OtherInstructions,
    recognize::{Named, Recognized, operations, ptx_name},
    scoped::{expand, has_markers},
    selection::{has_requirements, require_selectable},
    source::read,
    version::NEWEST as NEWEST_PTX,
};
pub use inkwell;
#[doc(no_inline)]
pub use ptx_atomics_common::{
    AsyncMode, Diagnostic, Embed, Errors, FpChoice, Input, Location, Options, Outcome, Remark, Settings, remarks,
    settings,
};
/// The major version of LLVM for which this crate is built.
pub use ptx_atomics_version::MAJOR as LLVM_VERSION;
#[doc(no_inline)]
pub use ptx_lowering::{Policy, PtxVersion, Sm, Target, ptx::Scope};
#[doc(no_inline)]
pub use ptx_optimize::Rewrites;

/// Whether the module has operations to lower, or contains additions of [`begin`].
pub fn is_pending(module: &Module<'_>) -> bool {
    let mut all = module.get_functions().flat_map(value::instructions);
    effects::is_marked(module)
        || has_markers(module)
        || cuda::is_pending(module)
        || all.any(|i| instruction::Instruction::atomic(i).is_some())
}
