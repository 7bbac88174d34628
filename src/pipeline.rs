//! The pipeline of the pass over LLVM IR.

use ptx_atomics_llvm::{
    self as llvm, Diagnostic, Errors, Input, Options, Remark,
    inkwell::{OptimizationLevel, context::Context},
};

/// A module of LLVM IR as PTX, with remarks and warnings.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LoweredIr {
    /// The PTX text.
    pub ptx: Vec<u8>,
    /// The results for each atomic and fence, with its place in the source program or in the input: first the
    /// insertions for asynchronous operations, then the rewrites and the reasons against rewrites, then the lowering of
    /// each operation. [`remarks`](crate::llvm::remarks) prints them as lines and as YAML.
    pub remarks: Vec<Remark>,
    /// Missing synchronization of asynchronous operations, or the reason why they were not checked.
    pub warnings: Vec<Diagnostic>,
}

/// Lowers a module of LLVM IR, text or bitcode, to PTX text.
///
/// Missing synchronization of asynchronous operations is inserted, or reported as an error, depending on the options.
/// [`lower_llvm_ir`] also reports the result for each operation.
///
/// LLVM's backend ends the process at instructions that it cannot select; no atomic remains among these instructions.
///
/// # Errors
/// Every error in the module, and every operation without a lowering.
pub fn ptx_from_llvm_ir(input: &Input, options: &Options) -> Result<Vec<u8>, Errors> {
    run(input, options).map(|lowered| lowered.ptx)
}

/// Like [`ptx_from_llvm_ir`], but also reports the result for each atomic and fence, even if the options disable
/// remarks.
///
/// ```
/// # use ptx_atomics_link as _;
/// use ptx_atomics::{llvm::{Input, Options, remarks}, lowering::Target};
///
/// let ir = "define void @f() {\n  fence syncscope(\"block\") release\n  ret void\n}";
/// let options = Options::new(Target::new("sm_80".parse()?, None)?);
/// let lowered = ptx_atomics::lower_llvm_ir(&Input::new("f.ll", ir), &options)?;
/// let remark = &lowered.remarks[0];
/// assert_eq!(remark.location.as_ref().map(|at| at.line), Some(2));
/// assert!(remarks::line(remark).starts_with("fence syncscope(\"block\") release became fence.acq_rel.cta;"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Every error in the module, and every operation without a lowering.
pub fn lower_llvm_ir(input: &Input, options: &Options) -> Result<LoweredIr, Errors> {
    run(&input.clone().keeping_lines(), &Options { remarks: true, ..options.clone() })
}

fn run(input: &Input, options: &Options) -> Result<LoweredIr, Errors> {
    let context = Context::create();
    let module = llvm::read(&context, input)?;
    let machine = llvm::machine(&module, &options.target, OptimizationLevel::Default)?;
    llvm::expand(&module)?;
    llvm::relax_cuda(&module, || Ok(options.cuda_atomics))?;
    llvm::check(&module, input, options)?;
    let llvm::Checked { warnings, mut remarks } = llvm::asynchronous(&module, input, options)?;
    llvm::prepare(&module, &machine, None)?;
    let (lowered, kept) = llvm::lower(&module, input, options)?;
    remarks.extend(lowered);
    let ptx = llvm::ptx(&module, &machine, &options.target)?;
    kept.verify(&ptx)?;
    Ok(LoweredIr { ptx, remarks, warnings })
}
