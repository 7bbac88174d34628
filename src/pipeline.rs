//! The steps of the pass over LLVM IR in a row.

use ptx_atomics_llvm::{
    self as llvm, Diagnostic, Errors, Input, Options, Remark,
    inkwell::{OptimizationLevel, context::Context},
};

/// A module of LLVM IR as PTX, and what is said of it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct LoweredIr {
    /// Text.
    pub ptx: Vec<u8>,
    /// What became of each atomic and fence, with its place in the source program or in the input: first what was inserted for
    /// asynchronous operations, then what was made cheaper or why not, then what each was lowered to. [`remarks`](crate::llvm::remarks) has them as
    /// lines and as YAML.
    pub remarks: Vec<Remark>,
    /// What asynchronous operations lack, or why they were not checked.
    pub warnings: Vec<Diagnostic>,
}

/// Lowers a module of LLVM IR, text or bitcode, to PTX text.
///
/// What asynchronous operations lack is inserted, or an error, if the options say so. [`lower_llvm_ir`] also says what became of
/// each operation.
///
/// LLVM's backend ends the process on what it cannot select; none of that is an atomic any more.
///
/// # Errors
/// Everything in the module that is wrong or has no lowering.
pub fn ptx_from_llvm_ir(input: &Input, options: &Options) -> Result<Vec<u8>, Errors> {
    run(input, options).map(|lowered| lowered.ptx)
}

/// As [`ptx_from_llvm_ir`], and says what became of each atomic and fence, whatever the options say of remarks.
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
/// Everything in the module that is wrong or has no lowering.
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
