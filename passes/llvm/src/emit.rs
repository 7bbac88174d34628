//! LLVM's own part: passes and backend.

use std::io::BufRead;

use inkwell::{
    context::AsContextRef,
    llvm_sys::{core::LLVMContextSetDiscardValueNames, debuginfo::LLVMStripModuleDebugInfo},
    memory_buffer::MemoryBuffer,
    module::Module,
    passes::PassBuilderOptions,
    targets::{FileType, TargetMachine},
};
use ptx_atomics_lowering::Target;
use ptx_atomics_pass::{Diagnostic, Errors};

use crate::{
    effects, memory,
    version::{NEWEST, stand_in},
};

/// The passes of LLVM that find out what generic addresses point to. Inference follows pointers through registers, not
/// through the stack slots of unoptimized code.
pub const RESOLVE: &str = "generic-to-nvvm,function(sroa,infer-address-spaces)";

/// Optimizes the module by LLVM's pipeline of this level, if one is given, and resolves generic addresses.
///
/// # Errors
/// If LLVM rejects the pipeline.
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
    // A host of the plugin may have written the module before it was done.
    effects::end(module);
    memory::show_global_pointers(module);
    run(RESOLVE)
}

/// The module as PTX text, without the comments that LLVM puts around inline assembly.
///
/// # Errors
/// If LLVM's backend reports one. On what it cannot select it ends the process instead.
pub fn ptx(module: &Module<'_>, machine: &TargetMachine, target: &Target) -> Result<Vec<u8>, Errors> {
    discard_names(module);
    text(module, machine, target)
}

/// The same, where values keep their names.
///
/// # Errors
/// As above.
pub(crate) fn text(module: &Module<'_>, machine: &TargetMachine, target: &Target) -> Result<Vec<u8>, Errors> {
    let buffer: MemoryBuffer<'_> = machine
        .write_to_memory_buffer(module, FileType::Assembly)
        .map_err(|error| Diagnostic::new(format!("LLVM's NVPTX backend failed: {}", error.to_string_lossy())))?;
    let comments = [&b"\t// begin inline asm\n"[..], b"\t// end inline asm\n"];
    let text = buffer.as_slice();
    let text = text.strip_suffix(b"\0").unwrap_or(text);
    let mut kept = Vec::with_capacity(text.len());
    let version = format!(".version {}\n", target.ptx);
    let raised =
        |line| if target.ptx > NEWEST && <[u8]>::starts_with(line, b".version ") { version.as_bytes() } else { line };
    let [theirs, ours] = [stand_in(target.sm), target.sm.name()].map(|name| format!(".target {name}"));
    for line in lines(text).filter(|line| !comments.contains(line)) {
        match line.strip_prefix(theirs.as_bytes()) {
            Some(rest) => kept.extend([ours.as_bytes(), rest].concat()),
            None => kept.extend(raised(line)),
        }
    }
    Ok(kept)
}

/// The lines of a text with their ends, which a reader finds faster than a search of the slice would.
fn lines(mut text: &[u8]) -> impl Iterator<Item = &[u8]> {
    std::iter::from_fn(move || {
        let rest = text;
        let length = text.skip_until(b'\n').ok()?;
        (length > 0).then(|| &rest[..length])
    })
}

/// Lets values that are new from now on have no names, which takes LLVM less time. PTX shows none of them.
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
