//! One call to inline assembly in place of each instruction.

use inkwell::{
    context::{AsContextRef, ContextRef},
    llvm_sys::{LLVMInlineAsmDialect, LLVMIntPredicate, core::*, prelude::*},
};
use ptx_atomics_lowering::{A, B};

use crate::{
    instruction::{Instruction, Kind},
    recognize::Planned,
};

/// Metadata that LLVM defines only for the instruction that is replaced, not for a call.
const NOT_ON_CALLS: [&str; 9] = [
    "nonnull",
    "align",
    "dereferenceable",
    "dereferenceable_or_null",
    "invariant.load",
    "invariant.group",
    "noundef",
    "nontemporal",
    crate::source::NUMBER,
];

/// The bits of a constant that can stand in the PTX text. A NaN stays in a register: LLVM's C API would lose its payload.
pub fn constant(value: LLVMValueRef) -> Option<u64> {
    // SAFETY: the value is live, and each accessor is called on the kind of constant that it is defined for.
    unsafe {
        if !LLVMIsAConstantInt(value).is_null() {
            return Some(LLVMConstIntGetZExtValue(value));
        }
        if !LLVMIsAConstantPointerNull(value).is_null() {
            return Some(0);
        }
        if LLVMIsAConstantFP(value).is_null() {
            return None;
        }
        let number = LLVMConstRealGetDouble(value, &mut 0);
        let float = LLVMTypeOf(value) == LLVMFloatTypeInContext(LLVMGetTypeContext(LLVMTypeOf(value)));
        (!number.is_nan()).then(|| if float { (number as f32).to_bits().into() } else { number.to_bits() })
    }
}

/// Replaces the instruction.
pub fn embed(context: &ContextRef<'_>, planned: Planned) {
    let Planned { instruction, kind, .. } = planned;
    // SAFETY: the instruction is in a block of a live module; everything that is built belongs to its context; operands
    // have the types of the parameters, since these are made from them.
    unsafe {
        let builder = LLVMCreateBuilderInContext(context.as_ctx_ref());
        LLVMPositionBuilderBefore(builder, instruction.0);
        let result = call(context, builder, &planned);
        copy_metadata(context, instruction.0, result);
        let mut length = 0;
        let name = LLVMGetValueName2(instruction.0, &mut length);
        let name = std::slice::from_raw_parts(name.cast::<u8>(), length).to_owned();
        LLVMSetValueName2(instruction.0, c"".as_ptr(), 0);
        if planned.asm.result {
            LLVMSetValueName2(result, name.as_ptr().cast(), name.len());
        }
        match kind {
            Kind::Fence | Kind::Store => {}
            Kind::Load | Kind::Rmw(_) => LLVMReplaceAllUsesWith(instruction.0, result),
            Kind::CmpXchg => replace_pair(builder, instruction, result),
        }
        LLVMInstructionEraseFromParent(instruction.0);
        LLVMDisposeBuilder(builder);
    }
}

unsafe fn call(context: &ContextRef<'_>, builder: LLVMBuilderRef, planned: &Planned) -> LLVMValueRef {
    let Planned { instruction, kind, asm, .. } = planned;
    unsafe {
        let mut arguments: Vec<_> = asm
            .arguments
            .iter()
            .map(|slot| match slot {
                slot if *slot == A => instruction.pointer(*kind),
                slot if *slot == B => instruction.sources(*kind)[0],
                _ => instruction.sources(*kind)[1],
            })
            .collect();
        let mut parameters: Vec<_> = arguments.iter().map(|argument| LLVMTypeOf(*argument)).collect();
        let void = LLVMVoidTypeInContext(context.as_ctx_ref());
        let result = if asm.result { instruction.value_type(*kind) } else { void };
        let ty = LLVMFunctionType(result, parameters.as_mut_ptr(), parameters.len() as u32, 0);
        let (template, constraints) = (&asm.template, &asm.constraints);
        let asm_value = LLVMGetInlineAsm(
            ty,
            template.as_ptr().cast(),
            template.len(),
            constraints.as_ptr().cast(),
            constraints.len(),
            1,
            0,
            LLVMInlineAsmDialect::LLVMInlineAsmDialectATT,
            0,
        );
        let call = LLVMBuildCall2(builder, ty, asm_value, arguments.as_mut_ptr(), arguments.len() as u32, c"".as_ptr());
        let kind_of = |name: &str| LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len());
        let nounwind = LLVMCreateEnumAttribute(context.as_ctx_ref(), kind_of("nounwind"), 0);
        LLVMAddCallSiteAttribute(call, inkwell::llvm_sys::LLVMAttributeFunctionIndex, nounwind);
        if asm.arguments.first() == Some(&A) {
            let element = instruction.value_type(*kind);
            let element = LLVMCreateTypeAttribute(context.as_ctx_ref(), kind_of("elementtype"), element);
            LLVMAddCallSiteAttribute(call, 1, element);
        }
        call
    }
}

/// Replaces the uses of a `cmpxchg`'s pair: the old value is `old`, and success is its equality with the expected one.
unsafe fn replace_pair(builder: LLVMBuilderRef, instruction: Instruction, old: LLVMValueRef) {
    unsafe {
        let equal = LLVMIntPredicate::LLVMIntEQ;
        let success = LLVMBuildICmp(builder, equal, old, instruction.operand(1), c"success".as_ptr());
        let mut uses = Vec::new();
        let mut next = LLVMGetFirstUse(instruction.0);
        while !next.is_null() {
            uses.push(LLVMGetUser(next));
            next = LLVMGetNextUse(next);
        }
        for user in uses {
            if !LLVMIsAExtractValueInst(user).is_null() {
                let index = *LLVMGetIndices(user);
                LLVMReplaceAllUsesWith(user, if index == 0 { old } else { success });
                LLVMInstructionEraseFromParent(user);
            }
        }
        if !LLVMGetFirstUse(instruction.0).is_null() {
            let pair = LLVMGetPoison(LLVMTypeOf(instruction.0));
            let pair = LLVMBuildInsertValue(builder, pair, old, 0, c"".as_ptr());
            let pair = LLVMBuildInsertValue(builder, pair, success, 1, c"".as_ptr());
            LLVMReplaceAllUsesWith(instruction.0, pair);
        }
        if LLVMGetFirstUse(success).is_null() && !LLVMIsAInstruction(success).is_null() {
            LLVMInstructionEraseFromParent(success);
        }
    }
}

/// Copies all metadata that has a meaning on a call. The debug location came with the builder's position.
unsafe fn copy_metadata(context: &ContextRef<'_>, from: LLVMValueRef, to: LLVMValueRef) {
    unsafe {
        if LLVMHasMetadata(from) == 0 {
            return;
        }
        let mut count = 0;
        let entries = LLVMInstructionGetAllMetadataOtherThanDebugLoc(from, &mut count);
        for index in 0..count as u32 {
            let kind = LLVMValueMetadataEntriesGetKind(entries, index);
            if !NOT_ON_CALLS.iter().any(|name| context.get_kind_id(name) == kind) {
                let metadata = LLVMValueMetadataEntriesGetMetadata(entries, index);
                LLVMSetMetadata(to, kind, LLVMMetadataAsValue(context.as_ctx_ref(), metadata));
            }
        }
        LLVMDisposeValueMetadataEntries(entries);
    }
}
