//! LLVM's passes and backend.

use inkwell::{
    context::AsContextRef,
    llvm_sys::{core::LLVMContextSetDiscardValueNames, debuginfo::LLVMStripModuleDebugInfo},
    memory_buffer::MemoryBuffer,
    module::Module,
    passes::PassBuilderOptions,
    targets::{FileType, TargetMachine},
};
use memchr::memmem;
use ptx_atomics_common::{Diagnostic, Errors};
use ptx_lowering::Target;

use crate::{
    effects, memory,
    version::{NEWEST, stand_in},
};

/// The passes of LLVM that resolve generic addresses. Inference follows pointers through registers, not through the
/// stack slots of unoptimized code.
pub const RESOLVE: &str = "generic-to-nvvm,function(sroa,infer-address-spaces)";

/// Optimizes the module by LLVM's pipeline of this level, if a level is given, and resolves generic addresses.
///
/// # Errors
/// An error if LLVM rejects the pipeline.
pub fn prepare(module: &Module<'_>, machine: &TargetMachine, level: Option<u8>) -> Result<(), Errors> {
    let run = |pipeline: &str| -> Result<(), Errors> {
        let run = module.run_passes(pipeline, machine, PassBuilderOptions::create());
        Ok(run.map_err(|error| Diagnostic::new(format!("LLVM's passes failed: {}", error.to_string_lossy())))?)
    };
    effects::forget(module);
    if let Some(level) = level {
        effects::begin(module);
        run(&format!("default<O{level}>"))?;
    }
    // A host of the plugin may have written the module before the plugin called [`effects::end`].
    effects::end(module);
    memory::show_global_pointers(module);
    run(RESOLVE)
}

/// The module as PTX text, without the comments that LLVM prints around inline assembly.
///
/// # Errors
/// An error that LLVM's backend reports. If the backend cannot select an instruction, it ends the process instead.
pub fn ptx(module: &Module<'_>, machine: &TargetMachine, target: &Target) -> Result<Vec<u8>, Errors> {
    discard_names(module);
    text(module, machine, target)
}

/// As [`ptx`], but values keep their names.
///
/// # Errors
/// The errors of [`ptx`].
pub(crate) fn text(module: &Module<'_>, machine: &TargetMachine, target: &Target) -> Result<Vec<u8>, Errors> {
    let buffer: MemoryBuffer<'_> = machine
        .write_to_memory_buffer(module, FileType::Assembly)
        .map_err(|error| Diagnostic::new(format!("LLVM's NVPTX backend failed: {}", error.to_string_lossy())))?;
    let text = buffer.as_slice();
    let text = text.strip_suffix(b"\0").unwrap_or(text);
    let (head, body) = text.split_at(memmem::find(text, b"\n.address_size").unwrap_or(text.len()));
    let mut kept = Vec::with_capacity(text.len());
    let [theirs, ours] = [stand_in(target.sm), target.sm.name()].map(|name| format!(".target {name}"));
    for line in head.split_inclusive(|byte| *byte == b'\n') {
        if target.ptx > NEWEST && line.starts_with(b".version ") {
            kept.extend(format!(".version {}\n", target.ptx).as_bytes());
        } else if let Some(rest) = line.strip_prefix(theirs.as_bytes()) {
            kept.extend([ours.as_bytes(), rest].concat());
        } else {
            kept.extend(line);
        }
    }
    without(body, [b"\t// begin inline asm\n", b"\t// end inline asm\n"], &mut kept);
    Ok(kept)
}

/// Copies a text except lines of two kinds, which alternate.
fn without(mut text: &[u8], lines: [&[u8]; 2], kept: &mut Vec<u8>) {
    let lines = lines.map(memmem::Finder::new);
    for line in lines.iter().cycle() {
        let Some(at) = line.find(text) else { break };
        kept.extend(&text[..at]);
        text = &text[at + line.needle().len()..];
    }
    kept.extend(text);
}

/// Makes LLVM discard the names of new values, which takes LLVM less time. PTX contains no such name.
pub fn discard_names(module: &Module<'_>) {
    // SAFETY: the context is live.
    unsafe { LLVMContextSetDiscardValueNames(module.get_context().as_ctx_ref(), 1) };
}

/// Removes all debug information.
pub fn strip_debug_info(module: &Module<'_>) {
    // SAFETY: the module is live.
    unsafe { LLVMStripModuleDebugInfo(module.as_mut_ptr()) };
}

/// The module as text of LLVM IR.
pub fn ir(module: &Module<'_>) -> Vec<u8> {
    module.print_to_string().to_bytes().to_vec()
}

/// The module as LLVM bitcode.
pub fn bitcode(module: &Module<'_>) -> Vec<u8> {
    module.write_bitcode_to_memory().as_slice().to_vec()
}
