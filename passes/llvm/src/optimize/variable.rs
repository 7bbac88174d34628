//! Variables of a module whose address goes nowhere.
//!
//! A variable of a module is once on each GPU. The host and other GPUs name it by its symbol, or by an address that somebody gave
//! them: where it has no symbol outside of the module, and is only accessed, none can.

use inkwell::llvm_sys::{LLVMLinkage, LLVMOpcode, core::*, prelude::*};
use ptx_atomics_lowering::ptx::{Scope, Space};
use ptx_atomics_pass::address_space;

/// How many uses of a variable are looked at.
const MOST_USES: usize = 1_000;

/// The widest scope with a thread that can name what begins at a value.
///
/// # Safety
/// The value is live.
pub unsafe fn reach(value: LLVMValueRef) -> Scope {
    // SAFETY: as above; each accessor is called on the kind of value that LLVM's C API defines it for.
    unsafe {
        let variable = LLVMIsAGlobalVariable(value);
        let is_own = || {
            use LLVMLinkage::{LLVMInternalLinkage, LLVMPrivateLinkage};
            let global = address_space::number(Space::Global);
            matches!(LLVMGetLinkage(variable), LLVMInternalLinkage | LLVMPrivateLinkage)
                && LLVMGetPointerAddressSpace(LLVMTypeOf(variable)) == global
                && LLVMIsExternallyInitialized(variable) == 0
        };
        if !variable.is_null() && is_own() && is_only_accessed(variable) { Scope::Gpu } else { Scope::Sys }
    }
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
