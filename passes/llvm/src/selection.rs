//! The check for calls of intrinsics whose instruction the target lacks. LLVM's backend ends the process on such a
//! call.
//!
//! Code that does not reach the backend causes no error: functions that other modules define, unreachable blocks,
//! unused values, and functions that query the target by `__nvvm_reflect`, because LLVM later decides which of their
//! code remains.

use std::collections::HashMap;

use inkwell::{
    llvm_sys::core::*,
    module::{Linkage, Module},
    values::{AsValueRef, FunctionValue, InstructionValue},
};
use ptx_atomics_common::{
    Diagnostic, Errors, Input,
    intrinsics::{self, IntrinsicFamily},
};
use ptx_lowering::Target;

use crate::{
    call::effects,
    instruction::control_flow,
    source::Numbering,
    value::{Value, callee, debug_location, name},
};

/// The prefixes of the functions by which code queries the target.
const REFLECTION: [&str; 2] = ["__nvvm_reflect", "llvm.nvvm.reflect"];

/// Reports the calls of intrinsics that the target lacks. `input` supplies the lines of calls that have numbers.
///
/// # Errors
/// Every such call that would reach the backend.
pub fn require_selectable(module: &Module<'_>, input: &Input, target: &Target) -> Result<(), Errors> {
    let lacking = lacking(module, target);
    if lacking.is_empty() {
        return Ok(());
    }
    let numbering = Numbering::new(&module.get_context());
    let mut errors = Errors::new();
    for function in module.get_functions().filter(is_compiled) {
        for instruction in reachable(function) {
            let Some(intrinsic) = callee(instruction).filter(|callee| !is_dropped(instruction, *callee)) else {
                continue;
            };
            let row = lacking.get(&intrinsic).and_then(|rows| intrinsics::of_call(rows, &immediates(instruction)));
            let Some((row, message)) = row.and_then(|row| Some((row, row.needs.missing_on(target, row.ptx)?))) else {
                continue;
            };
            let line = || input.call_location(&name(&intrinsic), numbering.get_of(instruction));
            errors.push(Diagnostic {
                message,
                function: Some(name(&function)),
                location: debug_location(instruction).or_else(line),
                operation: Some(Value::from(instruction).text()),
                notes: Vec::new(),
                help: row.needs.lowest().map(|target| format!("compile for a target that has it, such as {target}")),
            });
        }
    }
    errors.or(())
}

/// Whether the module has intrinsics that some targets lack.
pub fn has_requirements(module: &Module<'_>) -> bool {
    module.get_functions().any(|function| intrinsics::rows(&name(&function)).next().is_some())
}

/// The intrinsics that the target may lack, each with its rows.
fn lacking<'c>(module: &Module<'c>, target: &Target) -> HashMap<FunctionValue<'c>, Vec<&'static IntrinsicFamily>> {
    let known =
        module.get_functions().map(|function| (function, intrinsics::rows(&name(&function)).collect::<Vec<_>>()));
    known.filter(|(_, rows)| rows.iter().any(|row| !row.needs.met_by(target))).collect()
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

/// Whether the backend drops a call: its result is not used, and it has no other effect.
fn is_dropped(call: InstructionValue<'_>, callee: FunctionValue<'_>) -> bool {
    // SAFETY: the call is live.
    let unused = unsafe { LLVMGetFirstUse(call.as_value_ref()).is_null() };
    unused && effects(call, Some(callee)) == Some(0)
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
