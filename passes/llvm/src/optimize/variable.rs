//! The variables of a module whose address does not escape.
//!
//! A variable of a module exists once on each GPU. The host and other GPUs address it by its symbol, or by an address
//! that the module passes to them. If the variable has no symbol outside the module, and its address is used only in
//! accesses, neither can address it. A managed variable is one object for the host and all GPUs, and the host binds
//! textures and surfaces: both are annotated.

use inkwell::llvm_sys::{LLVMLinkage, LLVMOpcode, core::*, prelude::*};
use ptx_atomics_common::{Condition, Options, address_space};
use ptx_lowering::ptx::{Scope, Space};

use crate::value::message;

/// The maximal number of uses of a variable that are inspected.
const MOST_USES: usize = 1_000;

/// The widest scope that contains a thread which can address the object at a value.
///
/// # Safety
/// The value is live.
pub unsafe fn reach(value: LLVMValueRef, options: &Options) -> Scope {
    // SAFETY: the value is live, and each accessor is called on the kind of value for which LLVM's C API defines it.
    unsafe {
        let variable = LLVMIsAGlobalVariable(value);
        let is_internal = || {
            use LLVMLinkage::{LLVMInternalLinkage, LLVMPrivateLinkage};
            matches!(LLVMGetLinkage(variable), LLVMInternalLinkage | LLVMPrivateLinkage)
                && LLVMIsExternallyInitialized(variable) == 0
        };
        let is_of_one_gpu = || {
            LLVMGetPointerAddressSpace(LLVMTypeOf(variable)) == address_space::number(Space::Global)
                && options.is_met_or_assumed(Condition::Internal, is_internal())
                && options.is_met_or_assumed(Condition::OnlyAccessed, is_only_accessed(variable))
                && options
                    .is_met_or_assumed(Condition::Unannotated, !is_annotated(variable) && !has_attributes(variable))
        };
        if !variable.is_null() && is_of_one_gpu() { Scope::Gpu } else { Scope::Sys }
    }
}

/// The named metadata that annotates variables for NVIDIA's tools.
const ANNOTATIONS: &[u8] = b"nvvm.annotations\0";

/// Whether a variable has an annotation. LLVM treats a variable as managed whatever the number after the word is.
unsafe fn is_annotated(variable: LLVMValueRef) -> bool {
    // SAFETY: the variable is live, the name ends with a NUL, and the lists have the lengths that LLVM returns.
    unsafe {
        let (module, name) = (LLVMGetGlobalParent(variable), ANNOTATIONS.as_ptr().cast());
        let mut nodes = vec![std::ptr::null_mut(); LLVMGetNamedMetadataNumOperands(module, name) as usize];
        LLVMGetNamedMetadataOperands(module, name, nodes.as_mut_ptr());
        nodes.into_iter().any(|node| {
            let mut operands = vec![std::ptr::null_mut(); LLVMGetMDNodeNumOperands(node) as usize];
            LLVMGetMDNodeOperands(node, operands.as_mut_ptr());
            operands.first() == Some(&variable)
        })
    }
}

/// Whether a variable has attributes, such as `"nvvm.managed"`. LLVM's C API does not return the attributes of a
/// variable.
unsafe fn has_attributes(variable: LLVMValueRef) -> bool {
    // SAFETY: the variable is live, and LLVM allocates the text.
    let text = unsafe { message(LLVMPrintValueToString(variable)) };
    // The number of the attribute group is the last word of the text.
    text.rsplit(' ').next().is_some_and(|last| last.starts_with('#'))
}

/// Whether the only uses of an address are loads, stores and atomics, possibly through offsets and casts.
unsafe fn is_only_accessed(variable: LLVMValueRef) -> bool {
    let (mut open, mut seen) = (vec![variable], 0);
    while let Some(address) = open.pop() {
        // SAFETY: users are live, and have the operands of their opcode.
        unsafe {
            let mut next = LLVMGetFirstUse(address);
            while !next.is_null() {
                let user = LLVMGetUser(next);
                next = LLVMGetNextUse(next);
                seen += 1;
                let is_expression = !LLVMIsAConstantExpr(user).is_null();
                if seen > MOST_USES || !is_expression && LLVMIsAInstruction(user).is_null() {
                    return false;
                }
                let opcode = if is_expression { LLVMGetConstOpcode(user) } else { LLVMGetInstructionOpcode(user) };
                let only = |pointer: u32| {
                    let mut operands = 0..LLVMGetNumOperands(user).cast_unsigned();
                    operands.all(|index| (LLVMGetOperand(user, index) == address) == (index == pointer))
                };
                match opcode {
                    LLVMOpcode::LLVMLoad => {}
                    LLVMOpcode::LLVMStore if only(1) => {}
                    LLVMOpcode::LLVMAtomicRMW | LLVMOpcode::LLVMAtomicCmpXchg if only(0) => {}
                    LLVMOpcode::LLVMGetElementPtr | LLVMOpcode::LLVMAddrSpaceCast | LLVMOpcode::LLVMBitCast => {
                        open.push(user)
                    }
                    _ => return false,
                }
            }
        }
    }
    true
}
