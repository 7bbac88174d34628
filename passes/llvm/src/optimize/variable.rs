//! Variables of a module whose address goes nowhere.
//!
//! A variable of a module is once on each GPU. The host and other GPUs name it by its symbol, or by an address that somebody gave
//! them: where it has no symbol outside of the module, and is only accessed, none can. A managed variable is one for all of them, and
//! textures and surfaces are bound by the host: both are annotated.

use inkwell::llvm_sys::{LLVMLinkage, LLVMOpcode, core::*, prelude::*};
use ptx_atomics_common::{Condition, Options, address_space};
use ptx_lowering::ptx::{Scope, Space};

use crate::value::message;

/// How many uses of a variable are looked at.
const MOST_USES: usize = 1_000;

/// The widest scope with a thread that can name what begins at a value.
///
/// # Safety
/// The value is live.
pub unsafe fn reach(value: LLVMValueRef, options: &Options) -> Scope {
    // SAFETY: as above; each accessor is called on the kind of value that LLVM's C API defines it for.
    unsafe {
        let variable = LLVMIsAGlobalVariable(value);
        let is_internal = || {
            use LLVMLinkage::{LLVMInternalLinkage, LLVMPrivateLinkage};
            matches!(LLVMGetLinkage(variable), LLVMInternalLinkage | LLVMPrivateLinkage)
                && LLVMIsExternallyInitialized(variable) == 0
        };
        let is_of_one_gpu = || {
            LLVMGetPointerAddressSpace(LLVMTypeOf(variable)) == address_space::number(Space::Global)
                && options.met(Condition::Internal, is_internal())
                && options.met(Condition::OnlyAccessed, is_only_accessed(variable))
                && options.met(Condition::Unannotated, !is_annotated(variable) && !has_attributes(variable))
        };
        if !variable.is_null() && is_of_one_gpu() { Scope::Gpu } else { Scope::Sys }
    }
}

/// The named metadata that says what variables are to NVIDIA's tools.
const ANNOTATIONS: &[u8] = b"nvvm.annotations\0";

/// Whether it says anything of a variable. LLVM takes one for managed whatever number stands behind the word.
unsafe fn is_annotated(variable: LLVMValueRef) -> bool {
    // SAFETY: the variable is live, the name ends with a NUL, and the lists have the lengths that LLVM says.
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

/// Whether a variable has attributes, as `"nvvm.managed"`. LLVM's C API does not say which.
unsafe fn has_attributes(variable: LLVMValueRef) -> bool {
    // SAFETY: the variable is live, and LLVM allocates the text.
    let text = unsafe { message(LLVMPrintValueToString(variable)) };
    // Their number stands behind everything else.
    text.rsplit(' ').next().is_some_and(|last| last.starts_with('#'))
}

/// Whether nothing but loads, stores and atomics use an address, also through offsets and casts.
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
