//! The check for intrinsics, instructions and types that the target lacks. LLVM's backend ends the process on them.
//!
//! Code that does not reach the backend causes no error: functions that other modules define, unreachable blocks,
//! unused values, and functions that query the target by `__nvvm_reflect`, because LLVM later decides which of their
//! code remains.

use std::collections::HashSet;

use inkwell::{
    llvm_sys::{LLVMOpcode, core::*, prelude::*},
    module::{Linkage, Module},
    values::{AsValueRef, FunctionValue, InstructionValue},
};
use ptx_atomics_common::{
    Diagnostic, Errors, Input,
    intrinsics::{self, IntrinsicFamily},
};
use ptx_atomics_version::MAJOR;
use ptx_lowering::Target;

use crate::{
    call::effects,
    construct::names,
    instruction::{Instruction, control_flow},
    source::Numbering,
    value::{Value, callee, debug_location, is_call, name, users},
};

/// The prefixes of the functions by which code queries the target.
const REFLECTION: [&str; 2] = ["__nvvm_reflect", "llvm.nvvm.reflect"];

/// Reports the calls of intrinsics and the instructions that the target lacks. `input` supplies the lines of calls that
/// have numbers.
///
/// # Errors
/// Every such instruction that would reach the backend.
pub fn require_selectable(module: &Module<'_>, input: &Input, target: &Target) -> Result<(), Errors> {
    let numbering = Numbering::new(&module.get_context());
    let mut errors = Errors::new();
    for function in module.get_functions().filter(is_compiled) {
        let reachable = reachable(function);
        let mut lacking =
            reachable.iter().filter_map(|instruction| Some((*instruction, lacking(*instruction, target)?)));
        let Some(first) = lacking.next() else { continue };
        let set: HashSet<_> = reachable.iter().map(|instruction| instruction.as_value_ref()).collect();
        for (instruction, row) in std::iter::once(first).chain(lacking) {
            if !is_needed(instruction, &set) {
                continue;
            }
            let called = callee(instruction).map(|callee| name(&callee)).unwrap_or_default();
            let line = || input.call_location(&called, numbering.get_of(instruction));
            let newer = row.needs.lowest().map(|target| format!("compile for a target that has it, such as {target}"));
            errors.push(Diagnostic {
                message: row.needs.missing_on(target, row.name()).unwrap_or_default(),
                function: Some(name(&function)),
                location: debug_location(instruction).or_else(line),
                operation: Some(Value::from(instruction).text()),
                notes: Vec::new(),
                help: newer.or_else(|| row.help.map(str::to_owned)),
            });
        }
    }
    errors.or(())
}

/// Whether the module has intrinsics or instructions that some targets lack.
pub fn has_requirements(module: &Module<'_>) -> bool {
    let has_rows = |instruction| names(instruction).iter().any(|name| intrinsics::rows(name, MAJOR).next().is_some());
    module.get_functions().flat_map(crate::value::instructions).any(has_rows)
}

/// The row of the table that shows that the target lacks an instruction.
fn lacking(instruction: InstructionValue<'_>, target: &Target) -> Option<&'static IntrinsicFamily> {
    names(instruction).iter().find_map(|name| {
        let rows: Vec<_> = intrinsics::rows(name, MAJOR).collect();
        let has_immediates = !rows.is_empty() && callee(instruction).is_some();
        let immediates = if has_immediates { immediates(instruction) } else { Vec::new() };
        intrinsics::of_call(&rows, &immediates).filter(|row| !row.needs.met_by(target))
    })
}

/// Whether LLVM generates code for a function, including all of its reachable code.
fn is_compiled(function: &FunctionValue<'_>) -> bool {
    let asks = |instruction| {
        callee(instruction).is_some_and(|callee| REFLECTION.iter().any(|asking| name(&callee).starts_with(asking)))
    };
    function.get_linkage() != Linkage::AvailableExternally && !reachable(*function).into_iter().any(asks)
}

/// The reachable instructions, in the order of the text.
fn reachable(function: FunctionValue<'_>) -> Vec<InstructionValue<'_>> {
    let blocks: Vec<_> = control_flow(function).collect();
    let mut reached = vec![false; blocks.len()];
    let mut open = Vec::from_iter((!blocks.is_empty()).then_some(0));
    while let Some(index) = open.pop() {
        if !std::mem::replace(&mut reached[index], true) {
            open.extend(&blocks[index].1);
        }
    }
    let reached = blocks.iter().zip(reached).filter(|(_, reached)| *reached);
    reached.flat_map(|((block, _), _)| block.get_instructions()).collect()
}

/// Whether the backend generates code for an instruction: the instruction has an effect, or a reachable instruction
/// with an effect needs its value.
fn is_needed(instruction: InstructionValue<'_>, reachable: &HashSet<LLVMValueRef>) -> bool {
    let (mut seen, mut open) = (HashSet::new(), vec![instruction.as_value_ref()]);
    while let Some(value) = open.pop() {
        // SAFETY: the value is an instruction of a live function.
        if has_effect(unsafe { InstructionValue::new(value) }) {
            return true;
        }
        // SAFETY: users of an instruction are instructions, and they are live.
        open.extend(unsafe { users(value) }.filter(|user| reachable.contains(user) && seen.insert(*user)));
    }
    false
}

/// Whether the backend keeps an instruction whose value is not used.
fn has_effect(instruction: InstructionValue<'_>) -> bool {
    let raw = instruction.as_value_ref();
    if is_call(instruction) {
        let callee = callee(instruction);
        // LLVM deletes a saved stack pointer that nothing restores.
        let is_deleted = callee.is_some_and(|callee| name(&callee).starts_with("llvm.stacksave"));
        return !is_deleted && effects(instruction, callee) != Some(0);
    }
    // SAFETY: the instruction is live, and only loads are asked whether they are volatile.
    match unsafe { LLVMGetInstructionOpcode(raw) } {
        LLVMOpcode::LLVMLoad => Instruction::atomic(instruction).is_some() || unsafe { LLVMGetVolatile(raw) } != 0,
        LLVMOpcode::LLVMStore
        | LLVMOpcode::LLVMFence
        | LLVMOpcode::LLVMAtomicCmpXchg
        | LLVMOpcode::LLVMAtomicRMW
        | LLVMOpcode::LLVMVAArg => true,
        _ => !unsafe { LLVMIsATerminatorInst(raw) }.is_null(),
    }
}

/// The values of a call's arguments that must be constants according to the declaration of the intrinsic.
fn immediates(call: InstructionValue<'_>) -> Vec<u64> {
    const NAME: &str = "immarg";
    // SAFETY: the instruction is a call of a live function, and the index is below the number of its arguments.
    unsafe {
        let kind = LLVMGetEnumAttributeKindForName(NAME.as_ptr().cast(), NAME.len());
        let callee = LLVMGetCalledValue(call.as_value_ref());
        let must = |index: &u32| !LLVMGetEnumAttributeAtIndex(callee, index + 1, kind).is_null();
        let arguments = (0..LLVMGetNumArgOperands(call.as_value_ref())).filter(must);
        let values = arguments.map(|index| LLVMGetOperand(call.as_value_ref(), index));
        values
            .map(|value| if LLVMIsAConstantInt(value).is_null() { 0 } else { LLVMConstIntGetZExtValue(value) })
            .collect()
    }
}
