//! The execution of parts of MLIR, with MLIR's diagnostics as errors.

use std::ffi::c_void;

use melior::{
    ContextRef,
    ir::{Location, Module, operation::OperationLike},
    pass::PassManager,
    utility::parse_pass_pipeline,
};
use mlir_sys::*;
use ptx_atomics_common::{Diagnostic, Errors};

use crate::ir::{self, Op};

/// The passes that this crate runs. A function that registers all of MLIR's passes would link all of them.
const PASSES: [unsafe extern "C" fn(); 22] = [
    mlirRegisterConversionArithToLLVMConversionPass,
    mlirRegisterConversionConvertBufferizationToMemRefPass,
    mlirRegisterConversionConvertComplexToLLVMPass,
    mlirRegisterConversionConvertComplexToStandardPass,
    mlirRegisterConversionConvertGpuOpsToNVVMOps,
    mlirRegisterConversionConvertIndexToLLVMPass,
    mlirRegisterConversionConvertMathToLLVMPass,
    mlirRegisterConversionConvertNVGPUToNVVMPass,
    mlirRegisterConversionConvertNVVMToLLVMPass,
    mlirRegisterConversionConvertParallelLoopToGpuPass,
    mlirRegisterConversionConvertSPIRVToLLVMPass,
    mlirRegisterConversionConvertVectorToLLVMPass,
    mlirRegisterConversionConvertVectorToSCF,
    mlirRegisterConversionLowerAffinePass,
    mlirRegisterConversionReconcileUnrealizedCastsPass,
    mlirRegisterConversionSCFToControlFlowPass,
    mlirRegisterConversionUBToLLVMConversionPass,
    mlirRegisterGPUGpuKernelOutliningPass,
    mlirRegisterLLVMDIScopeForLLVMFuncOpPass,
    mlirRegisterLinalgConvertLinalgToLoopsPass,
    mlirRegisterMemRefExpandOpsPass,
    mlirRegisterMemRefExpandStridedMetadataPass,
];

/// Runs passes on an op of the kind for which the pipeline is.
///
/// # Errors
/// MLIR's errors.
pub fn run_on(op: Op<'_, '_>, pipeline: &str) -> Result<(), Errors> {
    static REGISTERED: std::sync::Once = std::sync::Once::new();
    // SAFETY: the functions take no arguments, and are called once.
    REGISTERED.call_once(|| PASSES.iter().for_each(|register| unsafe { register() }));
    let done = diagnosed(op.context(), || {
        let anchor = pipeline.split('(').next().unwrap_or_default();
        // SAFETY: context and op are live; this function owns the manager, which is created for ops of this kind.
        unsafe {
            let manager = PassManager::from_raw(mlirPassManagerCreateOnOperation(
                mlirOperationGetContext(op.to_raw()),
                ir::string_ref(anchor),
            ));
            parse_pass_pipeline(manager.as_operation_pass_manager(), pipeline).ok()?;
            (mlirPassManagerRunOnOp(manager.to_raw(), op.to_raw()).value != 0).then_some(())
        }
    });
    done.map_err(|errors| or_unknown(errors, &format!("MLIR's passes failed: {pipeline}")))
}

/// The errors, or an error with the given message if MLIR reported none.
pub fn or_unknown(errors: Errors, message: &str) -> Errors {
    if errors.is_empty() { Diagnostic::new(message).into() } else { errors }
}

/// Runs passes on a module.
pub fn run_on_module(module: &mut Module<'_>, pipeline: &str) -> Result<(), Errors> {
    let op = module.as_operation();
    // SAFETY: the op is live as long as the module.
    run_on(unsafe { Op::from_raw(op.to_raw()) }, pipeline)
}

/// Runs a part of MLIR that reports errors to the context. If it returns a value, its diagnostics are ignored.
pub fn diagnosed<T>(context: ContextRef<'_>, work: impl FnOnce() -> Option<T>) -> Result<T, Errors> {
    unsafe extern "C" fn handle(diagnostic: MlirDiagnostic, errors: *mut c_void) -> MlirLogicalResult {
        // SAFETY: both pointers are valid during the call, and no other code accesses the errors.
        unsafe {
            if mlirDiagnosticGetSeverity(diagnostic) == MlirDiagnosticSeverity_MlirDiagnosticError {
                (*errors.cast::<Errors>()).push(error(diagnostic));
            }
        }
        MlirLogicalResult { value: 1 }
    }
    let mut errors = Errors::new();
    // SAFETY: the context is live. The handler is detached before the errors are dropped.
    let result = unsafe {
        let context = context.to_ref();
        let to = (&raw mut errors).cast();
        let handler = mlirContextAttachDiagnosticHandler(context.to_raw(), Some(handle), to, None);
        let result = work();
        mlirContextDetachDiagnosticHandler(context.to_raw(), handler);
        result
    };
    result.ok_or(errors)
}

/// # Safety
/// The diagnostic is live.
unsafe fn error(diagnostic: MlirDiagnostic) -> Diagnostic {
    // SAFETY: the notes live as long as the diagnostic.
    let (notes, location) = unsafe {
        let notes = (0..mlirDiagnosticGetNumNotes(diagnostic)).map(|index| mlirDiagnosticGetNote(diagnostic, index));
        let notes = notes.map(|note| message(note).lines().next().unwrap_or_default().trim_end().to_owned());
        (notes.collect::<Vec<_>>(), ir::file_location(Location::from_raw(mlirDiagnosticGetLocation(diagnostic))))
    };
    // MLIR cites no op if the op is too large.
    let notes = notes.into_iter().filter(|note| note != "see current operation:").collect();
    Diagnostic { location, notes, ..Diagnostic::new(unsafe { message(diagnostic) }) }
}

/// The text of a diagnostic, which may cite strings that are not UTF-8.
///
/// # Safety
/// The diagnostic is live.
unsafe fn message(diagnostic: MlirDiagnostic) -> String {
    unsafe extern "C" fn append(text: MlirStringRef, to: *mut c_void) {
        // SAFETY: both pointers are valid during the call.
        unsafe { (*to.cast::<String>()).push_str(&ir::text(text)) };
    }
    let mut text = String::new();
    unsafe { mlirDiagnosticPrint(diagnostic, Some(append), (&raw mut text).cast()) };
    text
}
