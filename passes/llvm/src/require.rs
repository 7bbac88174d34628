//! The support for `ptx_atomics_scope::require_pass!()`, a static with the address of an undefined function. Every
//! assembler rejects this in PTX, so that a module that the pass has not processed cannot become a program, even if all
//! its atomics come from `core`.

use inkwell::{
    llvm_sys::{core::*, prelude::*},
    module::Module,
    values::AsValueRef,
};

use ptx_atomics_common::marker;

use crate::used;

/// Removes the requirement of the pass. If the function is called or has another use, the module keeps it.
pub fn satisfy(module: &Module<'_>) {
    let Some(function) = module.get_function(marker::PASS).map(|function| function.as_value_ref()) else { return };
    let mut statics = Vec::new();
    // SAFETY: the module is live. A value has no uses when it is deleted.
    unsafe {
        if !only_statics(function, &mut statics) || LLVMCountBasicBlocks(function) > 0 {
            return;
        }
        used::forget(module, &statics);
        for global in statics {
            LLVMReplaceAllUsesWith(global, LLVMConstNull(LLVMTypeOf(global)));
            LLVMDeleteGlobal(global);
        }
        LLVMReplaceAllUsesWith(function, LLVMConstNull(LLVMTypeOf(function)));
        LLVMDeleteFunction(function);
    }
}

/// Collects the statics whose initial values use a value. Returns whether the value has no other use.
unsafe fn only_statics(value: LLVMValueRef, statics: &mut Vec<LLVMValueRef>) -> bool {
    let non_null = |this: LLVMUseRef| (!this.is_null()).then_some(this);
    unsafe {
        let first = non_null(LLVMGetFirstUse(value));
        let mut users =
            std::iter::successors(first, |this| non_null(LLVMGetNextUse(*this))).map(|this| LLVMGetUser(this));
        users.all(|user| {
            if !LLVMIsAGlobalVariable(user).is_null() {
                statics.push(user);
                return true;
            }
            !LLVMIsAConstant(user).is_null() && only_statics(user, statics)
        })
    }
}
