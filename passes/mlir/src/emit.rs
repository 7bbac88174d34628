//! The use of MLIR's own conversions: device code to the LLVM dialect, and the translation to LLVM IR.

use melior::ir::{Module, operation::OperationLike};
use mlir_sys::*;
use ptx_atomics_common::{Errors, Input};
use ptx_atomics_llvm::{
    data_layout,
    inkwell::{
        context::{AsContextRef, Context as LlvmContext},
        module::Module as LlvmModule,
    },
};

use crate::{
    device::DeviceModule,
    diagnostic::diagnostic,
    ir::{self, Builder, Extracted, Op},
    run::{diagnosed, or_unknown, run_on},
    spirv,
};

/// The conversions to the LLVM dialect, in order, each with the dialects for which it runs. Some conversions make later
/// ones necessary. A module without ops of these dialects skips the conversion.
const CONVERSIONS: [(&[&str], &str); 19] = [
    (&["bufferization"], "convert-bufferization-to-memref"),
    (&["linalg"], "convert-linalg-to-loops"),
    (&["vector"], "convert-vector-to-scf"),
    (&["affine"], "lower-affine"),
    (&["memref"], "memref-expand"),
    (&["memref"], "expand-strided-metadata"),
    (&["affine"], "lower-affine"),
    (&["complex"], "convert-complex-to-standard"),
    (&["scf"], "convert-scf-to-cf"),
    (&["nvgpu"], "convert-nvgpu-to-nvvm"),
    (&["gpu", "arith", "cf", "complex", "func", "math", "memref", "vector"], "convert-gpu-to-nvvm"),
    (&["vector"], "convert-vector-to-llvm"),
    // The conversion of vectors generates ops of these dialects.
    (&["arith"], "convert-arith-to-llvm"),
    (&["complex"], "convert-complex-to-llvm"),
    (&["math"], "convert-math-to-llvm"),
    (&["index"], "convert-index-to-llvm"),
    (&["ub"], "convert-ub-to-llvm"),
    (&["nvvm"], "convert-nvvm-to-llvm"),
    (&["builtin"], "reconcile-unrealized-casts"),
];

/// The dialects from which MLIR translates to LLVM IR.
const TRANSLATED: [&str; 3] = ["llvm", "nvvm", "omp"];

/// Converts a device module to the LLVM dialect, by MLIR's conversions.
///
/// # Errors
/// MLIR's errors, and an error for every op that is not converted.
fn convert(device: Op<'_, '_>) -> Result<(), Errors> {
    let mut converted = spirv::convert(device)?;
    for (dialects, pass) in CONVERSIONS {
        if ir::all(device).into_iter().skip(1).any(|op| dialects.contains(&ir::dialect(op))) {
            run_on(device, &format!("gpu.module({pass})"))?;
            converted = true;
        }
    }
    if converted {
        simplify(device);
    }
    left_over(device, &|dialect| TRANSLATED.contains(&dialect)).or(())
}

/// An error for every op of a dialect that no conversion handles.
pub fn unconvertible(device: Op<'_, '_>) -> Errors {
    let converted = |dialect: &str| CONVERSIONS.iter().any(|(dialects, _)| dialects.contains(&dialect));
    left_over(device, &|dialect| converted(dialect) || dialect == "spirv" || TRANSLATED.contains(&dialect))
}

/// The ops, other than symbols, that a module may contain.
const OF_MODULES: [&str; 6] = [
    "builtin.module",
    "llvm.linker_options",
    "llvm.mlir.global_ctors",
    "llvm.mlir.global_dtors",
    "llvm.module_flags",
    "spirv.module",
];

/// An error for each op of a device module outside functions. MLIR omits such an op from LLVM IR, or follows a null
/// pointer.
pub fn in_no_function(device: Op<'_, '_>) -> Errors {
    let mut errors = Errors::new();
    for op in ir::children(device) {
        match ir::name(op) {
            "builtin.module" => errors.extend(in_no_function(op)),
            name if OF_MODULES.contains(&name) || op.has_attribute("sym_name") => {}
            name => {
                let help = "put it into a function".to_owned();
                errors
                    .push(diagnostic(op, (format!("{name} is outside of every function and never runs"), Some(help))));
            }
        }
    }
    errors
}

/// An error for each op in a device module whose dialect is not `fine`.
fn left_over(device: Op<'_, '_>, fine: &dyn Fn(&str) -> bool) -> Errors {
    let left = ir::all(device).into_iter().skip(1).filter(|op| !fine(ir::dialect(*op)));
    let problem = |op| {
        let help = "convert it to the LLVM dialect first, or to a dialect that MLIR converts for NVIDIA GPUs";
        diagnostic(op, (format!("no conversion to LLVM IR for {}", ir::name(op)), Some(help.into())))
    };
    left.map(problem).collect()
}

/// Replaces each value that is extracted from a newly built memref descriptor by the inserted value, so that LLVM sees
/// the origin of pointers.
fn simplify(device: Op<'_, '_>) {
    for op in ir::all(device).into_iter().filter(|op| ir::name(*op) == "llvm.extractvalue") {
        if let Some(Extracted::Value(value)) = ir::extracted(op) {
            ir::replace(op, &[value]);
        }
    }
}

/// A device module as LLVM IR.
pub struct Translated<'l> {
    /// The module of LLVM IR, with its atomics.
    pub module: LlvmModule<'l>,
    /// Whether the module has debug information that the program does not have, so that messages can name lines.
    pub has_lines_for_us: bool,
}

/// Translates a device module. With `keep_lines` of the input, instructions have the locations of their ops.
///
/// # Errors
/// MLIR's errors, and an error for every op that no conversion handles.
pub fn llvm_ir<'l>(
    device: &mut DeviceModule<'_, '_>,
    llvm: &'l LlvmContext,
    input: &Input,
) -> Result<Translated<'l>, Errors> {
    let device = device.op_mut();
    convert(device)?;
    let has_lines_for_us = input.keep_lines && !has_debug_info(device);
    if let Some(root) = ir::parents(device).last().filter(|_| has_lines_for_us) {
        run_on(root, "builtin.module(ensure-debug-info-scope-on-llvm-func)")?;
    }
    lay_out(device)?;
    let translated = diagnosed(device.context(), || {
        // SAFETY: the op and the context are live, and this function owns the module.
        unsafe {
            let module = mlirTranslateModuleToLLVMIR(device.to_raw(), llvm.as_ctx_ref().cast());
            (!module.is_null()).then(|| LlvmModule::new(module.cast()))
        }
    });
    let module = translated.map_err(|errors| or_unknown(errors, "MLIR cannot translate the module to LLVM IR"))?;
    Ok(Translated { module, has_lines_for_us })
}

/// Sets the data layout of NVIDIA GPUs, from which MLIR's translation derives missing alignments, unless the module has
/// a data layout.
fn lay_out(device: Op<'_, '_>) -> Result<(), Errors> {
    const LAYOUTS: [&str; 2] = ["llvm.data_layout", "dlti.dl_spec"];
    if !LAYOUTS.iter().any(|name| device.attribute(name).is_ok()) {
        let layout = Builder::before(device).string(&data_layout()?);
        ir::set(device, LAYOUTS[0], layout);
    }
    Ok(())
}

/// Whether a function has a location in a source program.
fn has_debug_info(device: Op<'_, '_>) -> bool {
    let functions = ir::all(device).into_iter().filter(|op| ir::name(*op) == "llvm.func");
    let mut locations = functions.map(|function| function.location()).filter(|location| location.is_fused());
    locations.any(|location| location.to_string().contains("di_subprogram"))
}

/// The module as text of MLIR, as `mlir-opt` prints it.
pub fn text(module: &Module<'_>) -> Vec<u8> {
    module.as_operation().to_string().into_bytes()
}

/// The module as bytecode of MLIR, with the locations of its ops.
pub fn bytecode(module: &Module<'_>) -> Vec<u8> {
    module.as_operation().write_bytecode()
}
