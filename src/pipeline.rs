//! The steps of the pass over LLVM IR in a row.

use ptx_atomics_llvm::{
    self as llvm, Errors, Input, Options,
    inkwell::{OptimizationLevel, context::Context},
};

/// Lowers a module of LLVM IR, text or bitcode, to PTX text.
///
/// What asynchronous operations lack is inserted, or an error, if the options say so.
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
    llvm::asynchronous(&module, input, options)?;
    llvm::prepare(&module, &machine, None)?;
    llvm::lower(&module, input, options)?;
    llvm::ptx(&module, &machine, &options.target)
}
