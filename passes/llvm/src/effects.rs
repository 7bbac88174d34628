//! Protection against LLVM's inference of memory effects, which ignores ordering.
//!
//! LLVM 22 infers `memory(argmem: readwrite)` for a function that only loads a flag with acquire, and then merges two
//! loads of other data around a call of it. Likewise, it deletes a store before a call that releases. Therefore, before
//! LLVM's passes run, such attributes are removed from every function that orders accesses, directly or through a call.
//! An empty `asm sideeffect` before each ordering operation, a pin, keeps LLVM from inferring the attributes again.
//!
//! Between [`begin`] and [`end`] the module contains a function with a line of assembly, the mark, whose PTX every
//! assembler rejects. If the optimizer ran with the pass and the code generator runs without it, the module must not
//! lose its ordering silently.

use std::collections::{HashMap, HashSet};

use inkwell::{
    context::AsContextRef,
    llvm_sys::{LLVMAttributeFunctionIndex, LLVMInlineAsmDialect, core::*, prelude::*},
    module::{Linkage, Module},
    values::{AsValueRef, FunctionValue, InstructionValue},
};

use crate::{
    instruction::Instruction,
    used,
    value::{callee, instructions},
};

// SAFETY of all calls below: instructions and functions belong to a live module, and new values belong to its context.

/// The prefix of the name of the mark: a function with [`LINE`], which no function calls. Its linkage is internal, so
/// that a linker does not resolve it; linked modules have one mark each, with numbers after the name.
const MARK: &str = "ptx-atomics.not_lowered";
const LINE: &str = "ptx-atomics: atomics are not lowered. Load the plugin where the program is linked, too.";

/// Protects a module from LLVM's optimizer.
pub fn begin(module: &Module<'_>) {
    forget(module);
    pin(module);
    if !is_marked(module) && module.get_functions().flat_map(instructions).any(|i| Instruction::atomic(i).is_some()) {
        mark(module);
    }
}

/// Removes the additions of [`begin`].
pub fn end(module: &Module<'_>) {
    unpin(module);
    let marks: Vec<_> = marks(module).collect();
    for mark in marks {
        // SAFETY: the function has no other use.
        unsafe {
            used::forget(module, &[mark.as_value_ref()]);
            mark.delete();
        }
    }
}

/// Whether [`begin`] was called, and [`end`] was not.
pub fn is_marked(module: &Module<'_>) -> bool {
    marks(module).next().is_some()
}

fn marks<'c>(module: &Module<'c>) -> impl Iterator<Item = FunctionValue<'c>> {
    module.get_functions().filter(|function| function.get_name().to_bytes().starts_with(MARK.as_bytes()))
}

fn mark(module: &Module<'_>) {
    let context = module.get_context();
    let ty = context.void_type().fn_type(&[], false);
    let function = module.add_function(MARK, ty, Some(Linkage::Internal));
    let line = context.create_inline_asm(ty, LINE.into(), String::new(), true, false, None, false);
    let builder = context.create_builder();
    builder.position_at_end(context.append_basic_block(function, ""));
    builder.build_indirect_call(ty, line, &[], "").expect("the builder has a place");
    builder.build_return(None).expect("the builder has a place");
    used::keep(module, &function);
}

/// Removes the memory effects of every function that orders accesses.
pub fn forget(module: &Module<'_>) {
    let mut calls: HashMap<LLVMValueRef, Vec<(LLVMValueRef, LLVMValueRef)>> = HashMap::new();
    let mut found = Vec::new();
    for function in module.get_functions() {
        for instruction in instructions(function) {
            if orders(instruction) {
                found.push(function.as_value_ref());
            } else if let Some(callee) = callee(instruction) {
                let call = (function.as_value_ref(), instruction.as_value_ref());
                calls.entry(callee.as_value_ref()).or_default().push(call);
            }
        }
    }
    let mut ordering = HashSet::new();
    while let Some(function) = found.pop() {
        if ordering.insert(function) {
            found.extend(calls.get(&function).into_iter().flatten().map(|(caller, _)| *caller));
        }
    }
    unsafe {
        let memory = LLVMGetEnumAttributeKindForName("memory".as_ptr().cast(), "memory".len());
        for function in ordering {
            LLVMRemoveEnumAttributeAtIndex(function, LLVMAttributeFunctionIndex, memory);
            for (_, call) in calls.get(&function).into_iter().flatten() {
                LLVMRemoveCallSiteEnumAttribute(*call, LLVMAttributeFunctionIndex, memory);
            }
        }
    }
}

/// Inserts a pin before each ordering operation that has none.
fn pin(module: &Module<'_>) {
    let (ty, pin) = pin_value(module);
    let ordering: Vec<_> = module.get_functions().flat_map(instructions).filter(|i| orders(*i)).collect();
    unsafe {
        let builder = LLVMCreateBuilderInContext(module.get_context().as_ctx_ref());
        for instruction in ordering {
            let instruction = instruction.as_value_ref();
            let previous = LLVMGetPreviousInstruction(instruction);
            if !previous.is_null() && is_call_of(previous, pin) {
                continue;
            }
            LLVMPositionBuilderBefore(builder, instruction);
            LLVMBuildCall2(builder, ty, pin, std::ptr::null_mut(), 0, c"".as_ptr());
        }
        LLVMDisposeBuilder(builder);
    }
}

/// Removes the pins.
fn unpin(module: &Module<'_>) {
    let (_, pin) = pin_value(module);
    let pins: Vec<_> = module
        .get_functions()
        .flat_map(instructions)
        .map(|i| i.as_value_ref())
        .filter(|i| is_call_of(*i, pin))
        .collect();
    pins.into_iter().for_each(|pin| unsafe { LLVMInstructionEraseFromParent(pin) });
}

fn is_call_of(instruction: LLVMValueRef, callee: LLVMValueRef) -> bool {
    unsafe { !LLVMIsACallInst(instruction).is_null() && LLVMGetCalledValue(instruction) == callee }
}

/// The assembly value that every pin calls.
fn pin_value(module: &Module<'_>) -> (LLVMTypeRef, LLVMValueRef) {
    let (text, clobber) = ("// ptx-atomics: ordering", "~{memory}");
    let dialect = LLVMInlineAsmDialect::LLVMInlineAsmDialectATT;
    unsafe {
        let void = LLVMVoidTypeInContext(module.get_context().as_ctx_ref());
        let ty = LLVMFunctionType(void, std::ptr::null_mut(), 0, 0);
        let (text, text_len) = (text.as_ptr().cast(), text.len());
        let (clobber, clobber_len) = (clobber.as_ptr().cast(), clobber.len());
        (ty, LLVMGetInlineAsm(ty, text, text_len, clobber, clobber_len, 1, 0, dialect, 0))
    }
}

fn orders(instruction: InstructionValue<'_>) -> bool {
    let ordering = Instruction::atomic(instruction).map(Instruction::ordering);
    ordering.is_some_and(|ordering| ordering.acquires() || ordering.releases())
}
