//! Every atomic and fence of a GPU program, lowered to PTX through a selectable ABI mapping.
//!
//! ```
//! use ptx_atomics::llvm::{Input, Options};
//! use ptx_atomics::lowering::Target;
//!
//! let ir = r#"
//!     define i32 @next(ptr addrspace(1) %counter) {
//!       %old = atomicrmw add ptr addrspace(1) %counter, i32 1 acq_rel
//!       ret i32 %old
//!     }"#;
//! let target = Target::new("sm_90".parse()?, None)?;
//! let ptx = ptx_atomics::ptx_from_llvm_ir(&Input::new("next.ll", ir), &Options::new(target))?;
//! assert!(String::from_utf8(ptx)?.contains("atom.acq_rel.sys.global.add.u32"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`lowering`] is the part without LLVM: the ABI tables, targets, typed PTX. [`llvm`] is the pass over
//! LLVM IR, in steps, and [`mlir`] that over MLIR. [`memory_model`] gives every outcome that PTX allows a
//! program, and [`mapping`] checks with it that a lowered program does only what its source may do.

pub use ptx_atomics_judge as judge;
use ptx_atomics_link as _;
pub use ptx_atomics_llvm as llvm;
pub use ptx_atomics_lowering as lowering;
pub use ptx_atomics_mapping as mapping;
pub use ptx_atomics_mlir as mlir;
pub use ptx_isa as ptx;
pub use ptx_memory_model as memory_model;

use llvm::{
    Errors, Input, Options,
    inkwell::{OptimizationLevel, context::Context},
};

/// Lowers a module of LLVM IR, text or bitcode, to PTX text.
///
/// LLVM's backend ends the process on what it cannot select; none of that is an atomic any more.
///
/// # Errors
/// Everything in the module that is wrong or has no lowering.
pub fn ptx_from_llvm_ir(input: &Input, options: &Options) -> Result<Vec<u8>, Errors> {
    let context = Context::create();
    let module = llvm::read(&context, input)?;
    let machine = llvm::machine(&module, &options.target, OptimizationLevel::Default)?;
    llvm::expand(&module)?;
    llvm::relax_cuda(&module, || Ok(options.cuda_atomics))?;
    llvm::check(&module, input, options)?;
    llvm::prepare(&module, &machine, None)?;
    llvm::lower(&module, input, options)?;
    llvm::ptx(&module, &machine, &options.target)
}

/// The README's library example compiles.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
