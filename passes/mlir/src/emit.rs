//! MLIR's own part: device code as modules of their own, conversions to the LLVM dialect, translation to LLVM IR.

use melior::{
    Context,
    ir::{
        Block, BlockLike, Module, Operation, RegionLike,
        attribute::{ArrayAttribute, StringAttribute},
        operation::OperationLike,
    },
    pass::PassManager,
    utility::{parse_pass_pipeline, register_all_passes},
};
use mlir_sys::*;
use ptx_atomics_llvm::{
    self as llvm, Diagnostic, Errors, Input,
    inkwell::{
        context::{AsContextRef, Context as LlvmContext},
        module::Module as LlvmModule,
    },
};
use ptx_atomics_lowering::{PtxVersion, Sm};

use crate::{
    ir::{self, Op},
    recognize,
    source::diagnosed,
    spirv,
};

/// The conversions to the LLVM dialect, in order, each with the dialects for which it is run; the first ones make others
/// necessary. A module that has none of a dialect is not touched by its conversions.
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
    // What the conversion of vectors makes anew.
    (&["arith"], "convert-arith-to-llvm"),
    (&["complex"], "convert-complex-to-llvm"),
    (&["math"], "convert-math-to-llvm"),
    (&["index"], "convert-index-to-llvm"),
    (&["ub"], "convert-ub-to-llvm"),
    (&["nvvm"], "convert-nvvm-to-llvm"),
    (&["builtin"], "reconcile-unrealized-casts"),
];

/// The dialects of which LLVM IR is made.
const TRANSLATED: [&str; 3] = ["llvm", "nvvm", "omp"];

/// A module of device code.
pub struct DeviceModule<'c, 'a> {
    /// That of the `gpu.module`; nothing if the input had none.
    pub name: Option<String>,
    pub op: Op<'c, 'a>,
}

/// The device code of a module, as `gpu.module`s: what `gpu.launch` does is outlined first, and a module that has neither
/// is wrapped as a whole.
///
/// # Errors
/// What MLIR says.
pub fn device_modules<'c, 'a>(
    module: &'a mut Module<'c>,
    context: &'c Context,
) -> Result<Vec<DeviceModule<'c, 'a>>, Errors> {
    let found = |name: &str| ir::all(module.as_operation()).into_iter().any(|op| ir::name(op) == name);
    // Only functions of the host can take some of nvgpu's types, of which a kernel takes the address.
    let captured = found("gpu.launch") && ir::all(module.as_operation()).into_iter().any(|op| dialect(op) == "nvgpu");
    let outline = [
        (captured, "convert-nvgpu-to-nvvm"),
        (found("scf.parallel") && !found("gpu.module"), "convert-parallel-loops-to-gpu"),
        (found("gpu.launch") || found("scf.parallel"), "gpu-kernel-outlining"),
    ];
    for (_, pass) in outline.into_iter().filter(|(needed, _)| *needed) {
        run(context, module, &format!("builtin.module({pass})"))?;
    }
    if !ir::all(module.as_operation()).into_iter().any(|op| ir::name(op) == "gpu.module") {
        wrap(module, context);
        let op = module.body().first_operation().expect("the module was wrapped");
        return Ok(vec![DeviceModule { name: None, op }]);
    }
    let module: &'a Module<'c> = module;
    let modules = recognize::device_code(module.as_operation()).into_iter();
    Ok(modules.map(|op| DeviceModule { name: crate::name(op), op }).collect())
}

/// Moves all that a module holds into a `gpu.module`, which alone MLIR converts to NVVM.
fn wrap<'c>(module: &Module<'c>, context: &'c Context) {
    let body = module.body();
    let region = melior::ir::Region::new();
    let inner = region.append_block(Block::new(&[]));
    let name = StringAttribute::new(context, "device").into();
    let mut attributes = vec![(melior::ir::Identifier::new(context, "sym_name"), name)];
    // They move: MLIR combines two equal data layouts, one in the other, by following a null pointer.
    let moved: Vec<_> = module.as_operation().attributes().collect();
    for (name, _) in &moved {
        // SAFETY: module and name are live.
        unsafe {
            mlirOperationRemoveDiscardableAttributeByName(module.as_operation().to_raw(), name.as_string_ref().to_raw())
        };
    }
    attributes.extend(moved.into_iter().filter(|(name, _)| name.as_string_ref().as_str() != Ok("sym_name")));
    while let Some(op) = body.first_operation() {
        // SAFETY: the op is in the body, and is put into another block at once.
        inner.append_operation(unsafe {
            mlirOperationRemoveFromParent(op.to_raw());
            Operation::from_raw(op.to_raw())
        });
    }
    let builder = melior::ir::operation::OperationBuilder::new("gpu.module", module.as_operation().location());
    let wrapped = builder.add_attributes(&attributes).add_regions([region]).build();
    body.append_operation(wrapped.expect("the dialect gpu is loaded"));
}

/// What a `gpu.module` asks to be compiled for: GPU and PTX version of each of its `#nvvm.target`s.
///
/// # Errors
/// All names that mean nothing.
pub fn requested_targets(op: Op<'_, '_>) -> Result<Vec<(Sm, PtxVersion)>, Errors> {
    let targets = op.attribute("targets").ok().and_then(|targets| ArrayAttribute::try_from(targets).ok());
    let (mut found, mut errors) = (Vec::new(), Errors::new());
    for target in targets.iter().flat_map(|targets| (0..targets.len()).filter_map(|index| targets.element(index).ok()))
    {
        let text = target.to_string();
        if !text.starts_with("#nvvm.target") {
            continue;
        }
        // What MLIR does not print has its default.
        let chip = parameter(&text, "chip").unwrap_or("sm_50");
        let features = parameter(&text, "features").unwrap_or("+ptx60");
        let version = llvm::ptx_feature(features).map(str::parse::<PtxVersion>).transpose();
        match (chip.parse::<Sm>(), version) {
            (Ok(sm), Ok(version)) => found.push((sm, version.map_or(sm.lowest_ptx(), |ptx| ptx.max(sm.lowest_ptx())))),
            (sm, version) => {
                let problems = [sm.err(), version.err()].into_iter().flatten();
                let help = || Some("give a supported one by --mcpu and --mattr".to_owned());
                let problems = problems.map(|error| (format!("the module's target: {error}"), help()));
                errors.extend(problems.map(|problem| recognize::diagnostic(op, problem)));
            }
        }
    }
    found.dedup();
    errors.or(found)
}

/// The text of a parameter of an attribute, as `chip = "sm_90"`.
fn parameter<'t>(attribute: &'t str, name: &str) -> Option<&'t str> {
    let (_, rest) = attribute.split_once(&format!("{name} = \""))?;
    rest.split_once('"').map(|(value, _)| value)
}

/// Converts a device module to the LLVM dialect, by MLIR's conversions.
///
/// # Errors
/// What MLIR says, and every op that is left.
fn convert<'c>(device: Op<'c, '_>, context: &'c Context) -> Result<(), Errors> {
    let mut converted = spirv::module::convert(device, context)?;
    for (dialects, pass) in CONVERSIONS {
        if ir::all(device).into_iter().skip(1).any(|op| dialects.contains(&dialect(op))) {
            run_on(context, device, &format!("gpu.module({pass})"))?;
            converted = true;
        }
    }
    if converted {
        simplify(device);
    }
    left_over(device, &|dialect| TRANSLATED.contains(&dialect)).or(())
}

/// Ops of dialects that no conversion takes.
pub fn unconvertible(device: Op<'_, '_>) -> Errors {
    let converted = |dialect: &str| CONVERSIONS.iter().any(|(dialects, _)| dialects.contains(&dialect));
    left_over(device, &|dialect| converted(dialect) || dialect == "spirv" || TRANSLATED.contains(&dialect))
}

/// Ops that a module may hold besides symbols.
const OF_MODULES: [&str; 6] = [
    "builtin.module",
    "llvm.linker_options",
    "llvm.mlir.global_ctors",
    "llvm.mlir.global_dtors",
    "llvm.module_flags",
    "spirv.module",
];

/// An error for each op of a device module that stands in no function. MLIR leaves it out of LLVM IR, or follows a null pointer.
pub fn in_no_function(device: Op<'_, '_>) -> Errors {
    let mut errors = Errors::new();
    for op in ir::children(device) {
        match ir::name(op) {
            "builtin.module" => errors.extend(in_no_function(op)),
            name if OF_MODULES.contains(&name) || op.has_attribute("sym_name") => {}
            name => {
                let help = "put it into a function".to_owned();
                errors.push(recognize::diagnostic(
                    op,
                    (format!("{name} stands in no function: nothing runs it"), Some(help)),
                ));
            }
        }
    }
    errors
}

/// An error for each op in a device module whose dialect is no such one.
fn left_over(device: Op<'_, '_>, fine: &dyn Fn(&str) -> bool) -> Errors {
    let left = ir::all(device).into_iter().skip(1).filter(|op| !fine(dialect(*op)));
    let problem = |op| {
        let help = "convert it to the LLVM dialect first, or to a dialect that MLIR converts for NVIDIA GPUs";
        recognize::diagnostic(op, (format!("no conversion to LLVM IR for {}", ir::name(op)), Some(help.into())))
    };
    left.map(problem).collect()
}

/// Takes the descriptors of memrefs apart where they have just been put together, so that LLVM sees where pointers come from.
fn simplify(device: Op<'_, '_>) {
    for op in ir::all(device).into_iter().filter(|op| ir::name(*op) == "llvm.extractvalue") {
        if let Some((true, value)) = ir::inserted(op) {
            ir::replace(op, &[value]);
        }
    }
}

fn dialect<'c>(op: Op<'c, '_>) -> &'c str {
    ir::name(op).split('.').next().unwrap_or_default()
}

/// A device module as LLVM IR.
pub struct Translated<'l> {
    pub module: LlvmModule<'l>,
    /// Whether it has debug information that the program did not ask for: so that messages know lines.
    pub has_lines_for_us: bool,
}

/// Translates a device module. With `keep_lines` of the input, instructions know the places of their ops.
///
/// # Errors
/// What MLIR says, and every op that nothing converts.
pub fn llvm_ir<'l>(
    device: &DeviceModule<'_, '_>,
    context: &Context,
    llvm: &'l LlvmContext,
    input: &Input,
) -> Result<Translated<'l>, Errors> {
    convert(device.op, context)?;
    let has_lines_for_us = input.keep_lines && !has_debug_info(device.op);
    if let Some(root) = ir::parents(device.op).last().filter(|_| has_lines_for_us) {
        run_on(context, root, "builtin.module(ensure-debug-info-scope-on-llvm-func)")?;
    }
    lay_out(device.op, context)?;
    let translated = diagnosed(context, || {
        // SAFETY: the op and the context are live, and the module is ours.
        unsafe {
            let module = mlirTranslateModuleToLLVMIR(device.op.to_raw(), llvm.as_ctx_ref().cast());
            (!module.is_null()).then(|| LlvmModule::new(module.cast()))
        }
    });
    let module = translated.map_err(|errors| or_unknown(errors, "MLIR cannot translate the module to LLVM IR"))?;
    Ok(Translated { module, has_lines_for_us })
}

/// Names the layout of data on NVIDIA GPUs, by which MLIR's translation aligns what has no alignment, unless the module names
/// one.
fn lay_out(device: Op<'_, '_>, context: &Context) -> Result<(), Errors> {
    const LAYOUTS: [&str; 2] = ["llvm.data_layout", "dlti.dl_spec"];
    if !LAYOUTS.iter().any(|name| device.attribute(name).is_ok()) {
        let layout = StringAttribute::new(context, &llvm::data_layout()?).into();
        ir::set(device, LAYOUTS[0], layout);
    }
    Ok(())
}

/// Whether a function says where it stands in a program.
fn has_debug_info(device: Op<'_, '_>) -> bool {
    let functions = ir::all(device).into_iter().filter(|op| ir::name(*op) == "llvm.func");
    let mut locations = functions.map(|function| function.location()).filter(|location| location.is_fused());
    locations.any(|location| location.to_string().contains("di_subprogram"))
}

/// Runs passes on a module.
fn run(context: &Context, module: &mut Module<'_>, pipeline: &str) -> Result<(), Errors> {
    let op = module.as_operation();
    // SAFETY: the op is live as long as the module.
    run_on(context, unsafe { Op::from_raw(op.to_raw()) }, pipeline)
}

/// Runs passes on an op of the kind that the pipeline is for.
///
/// # Errors
/// What MLIR says.
pub fn run_on(context: &Context, op: Op<'_, '_>, pipeline: &str) -> Result<(), Errors> {
    static REGISTERED: std::sync::Once = std::sync::Once::new();
    REGISTERED.call_once(register_all_passes);
    let done = diagnosed(context, || {
        let anchor = pipeline.split('(').next().unwrap_or_default();
        // SAFETY: context and op are live; the manager is ours, and made for ops like this one.
        unsafe {
            let manager =
                PassManager::from_raw(mlirPassManagerCreateOnOperation(context.to_raw(), ir::string_ref(anchor)));
            parse_pass_pipeline(manager.as_operation_pass_manager(), pipeline).ok()?;
            (mlirPassManagerRunOnOp(manager.to_raw(), op.to_raw()).value != 0).then_some(())
        }
    });
    done.map_err(|errors| or_unknown(errors, &format!("MLIR's passes failed: {pipeline}")))
}

fn or_unknown(errors: Errors, message: &str) -> Errors {
    if errors.is_empty() { Diagnostic::new(message).into() } else { errors }
}

/// The module as text of MLIR, as `mlir-opt` prints it.
pub fn text(module: &Module<'_>) -> Vec<u8> {
    module.as_operation().to_string().into_bytes()
}

/// The module as bytecode of MLIR, with the locations of its ops.
pub fn bytecode(module: &Module<'_>) -> Vec<u8> {
    module.as_operation().write_bytecode()
}
