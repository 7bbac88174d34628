//! LLVM's own part: target machine, passes, backend.

use inkwell::{
    OptimizationLevel,
    context::AsContextRef,
    llvm_sys::core::LLVMContextSetDiscardValueNames,
    memory_buffer::MemoryBuffer,
    module::Module,
    passes::PassBuilderOptions,
    targets::{
        CodeModel, FileType, InitializationConfig, RelocMode, Target as LlvmTarget, TargetMachine, TargetTriple,
    },
};
use ptx_atomics_lowering::{PtxVersion, Sm, Target};

use crate::{instruction::name, message::Diagnostic, source::triple};

const TRIPLE: &str = "nvptx64-nvidia-cuda";

/// The newest PTX version that LLVM 22 can write.
const NEWEST: PtxVersion = PtxVersion(9, 0);

/// LLVM's code generator for a target.
///
/// # Errors
/// If LLVM 22 does not know the target, or the module is not for an NVIDIA GPU.
pub fn machine(
    module: &Module<'_>,
    target: &Target,
    level: OptimizationLevel,
) -> Result<TargetMachine, Vec<Diagnostic>> {
    let triple = triple(module);
    if !triple.is_empty() && !triple.starts_with("nvptx64-") {
        return Err(Diagnostic::new(format!("the module is for '{triple}', not for an NVIDIA GPU"))
            .help(format!("compile with --target={TRIPLE}, or give the device half of the program"))
            .into());
    }
    if target.ptx > NEWEST {
        return Err(Diagnostic::new(format!(
            "LLVM 22 writes PTX up to {NEWEST}, and PTX {} was asked for",
            target.ptx
        ))
        .help(format!("give --mattr +{}", NEWEST.feature()))
        .into());
    }
    LlvmTarget::initialize_nvptx(&InitializationConfig::default());
    let triple = TargetTriple::create(if triple.is_empty() { TRIPLE } else { &triple });
    let llvm = LlvmTarget::from_triple(&triple).map_err(|error| Diagnostic::new(error.to_string_lossy()))?;
    let features = format!("+{}", target.ptx.feature());
    let machine = llvm
        .create_target_machine(&triple, target.sm.name(), &features, level, RelocMode::Default, CodeModel::Default)
        .ok_or_else(|| Diagnostic::new(format!("LLVM 22 has no code generator for {target}")))?;
    module.set_triple(&triple);
    module.set_data_layout(&machine.get_target_data().get_data_layout());
    Ok(machine)
}

/// The target that the module's functions ask for by `target-cpu` and `target-features`; each part may be missing.
///
/// # Errors
/// If functions ask for different ones, or for unknown ones.
pub fn requested_target(module: &Module<'_>) -> Result<(Option<Sm>, Option<PtxVersion>), Vec<Diagnostic>> {
    let attribute = |function: &inkwell::values::FunctionValue<'_>, key| {
        let attribute = function.get_string_attribute(inkwell::attributes::AttributeLoc::Function, key)?;
        Some(attribute.get_string_value().to_string_lossy().into_owned())
    };
    let mut cpus: Vec<(String, String)> = Vec::new();
    let mut versions: Vec<(String, String)> = Vec::new();
    for function in module.get_functions().filter(|function| function.count_basic_blocks() > 0) {
        let features = attribute(&function, "target-features").unwrap_or_default();
        // rustc lists every version up to the one that is meant.
        let number =
            |feature: &str| Some((feature.strip_prefix("+ptx")?.parse::<u32>().ok()?, feature[1..].to_owned()));
        let version = features.split(',').filter_map(number).max().map(|(_, version)| version);
        let found = [(&mut cpus, attribute(&function, "target-cpu")), (&mut versions, version)];
        for (list, value) in found {
            if let Some(value) = value
                && !list.iter().any(|(known, _)| *known == value)
            {
                list.push((value, name(&function)));
            }
        }
    }
    let mut errors = Vec::new();
    for (list, what, flag) in [(&cpus, "GPUs", "--mcpu"), (&versions, "PTX versions", "--mattr")] {
        if list.len() > 1 {
            let found = list.iter().map(|(value, function)| format!("'{value}' in function '{function}'"));
            let message = format!("the module asks for several {what}: {}", found.collect::<Vec<_>>().join(", "));
            errors.push(Diagnostic::new(message).help(format!("PTX text has one target: give it by {flag}")));
        }
    }
    let sm = cpus.first().map(|(cpu, _)| cpu.parse::<Sm>()).transpose();
    let ptx = versions.first().map(|(version, _)| version.parse::<PtxVersion>()).transpose();
    let mut keep = |error: ptx_atomics_lowering::UnknownTarget| {
        let diagnostic = Diagnostic::new(format!("the module's target: {error}"));
        errors.push(diagnostic.help("give a supported one by --mcpu and --mattr"));
    };
    let (sm, ptx) = (sm.map_err(&mut keep), ptx.map_err(&mut keep));
    match (sm, ptx) {
        (Ok(sm), Ok(ptx)) if errors.is_empty() => Ok((sm, ptx)),
        _ => Err(errors),
    }
}

/// Optimizes the module by LLVM's pipeline of this level, if one is given, and resolves generic addresses.
///
/// # Errors
/// If LLVM rejects the pipeline.
pub fn prepare(module: &Module<'_>, machine: &TargetMachine, level: Option<u8>) -> Result<(), Vec<Diagnostic>> {
    // Inference follows pointers through registers, not through the stack slots of unoptimized code.
    let resolve = "generic-to-nvvm,function(sroa,infer-address-spaces)";
    let pipeline = match level {
        Some(level) => format!("default<O{level}>,{resolve}"),
        None => resolve.to_owned(),
    };
    let run = module.run_passes(&pipeline, machine, PassBuilderOptions::create());
    Ok(run.map_err(|error| Diagnostic::new(format!("LLVM's passes failed: {}", error.to_string_lossy())))?)
}

/// The module as PTX text, without the comments that LLVM puts around inline assembly.
///
/// # Errors
/// If LLVM's backend reports one. On what it cannot select it ends the process instead.
pub fn ptx(module: &Module<'_>, machine: &TargetMachine) -> Result<Vec<u8>, Vec<Diagnostic>> {
    // Names that the backend would give to new values are seen by nobody.
    // SAFETY: the context is live.
    unsafe { LLVMContextSetDiscardValueNames(module.get_context().as_ctx_ref(), 1) };
    let buffer: MemoryBuffer<'_> = machine
        .write_to_memory_buffer(module, FileType::Assembly)
        .map_err(|error| Diagnostic::new(format!("LLVM's NVPTX backend failed: {}", error.to_string_lossy())))?;
    let comments = [&b"\t// begin inline asm\n"[..], b"\t// end inline asm\n"];
    let text = buffer.as_slice();
    let text = text.strip_suffix(b"\0").unwrap_or(text);
    let mut kept = Vec::with_capacity(text.len());
    text.split_inclusive(|byte| *byte == b'\n')
        .filter(|line| !comments.contains(line))
        .for_each(|line| kept.extend(line));
    Ok(kept)
}

/// The module as text of LLVM IR.
pub fn ir(module: &Module<'_>) -> Vec<u8> {
    module.print_to_string().to_bytes().to_vec()
}

/// The module as LLVM bitcode.
pub fn bitcode(module: &Module<'_>) -> Vec<u8> {
    module.write_bitcode_to_memory().as_slice().to_vec()
}
