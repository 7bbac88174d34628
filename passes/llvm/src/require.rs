//! `ptx_atomics_scope::require_pass!()`: a static with the address of a function that nobody defines. No assembler takes that
//! in PTX, so that what the pass has not seen is no program, be its atomics those of `core`.

use inkwell::{
    llvm_sys::{core::*, prelude::*},
    module::Module,
    values::AsValueRef,
};

use ptx_atomics_common::marker;

use crate::used;

/// Removes what requires the pass. A function that is called, or used otherwise, stays.
pub fn satisfy(module: &Module<'_>) {
    let Some(function) = module.get_function(marker::PASS).map(|function| function.as_value_ref()) else { return };
    let mut statics = Vec::new();
    // SAFETY: the module is live. Nothing uses a value any more when it is deleted.
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

/// Collects the statics whose initial values use a value; whether nothing else does.
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
