//! `ptx_atomics_scope::require_pass!()`: a static with the address of a function that nobody defines. No assembler takes that
//! in PTX, so that what the pass has not seen is no program, be its atomics those of `core`.

use std::ffi::CStr;

use inkwell::{
    llvm_sys::{LLVMLinkage, core::*, prelude::*},
    module::Module,
    values::AsValueRef,
};

/// The function.
const NAME: &str = "ptx_atomics$pass";

/// What keeps a static that nobody reads.
const LISTS: [&CStr; 2] = [c"llvm.used", c"llvm.compiler.used"];

/// Removes what requires the pass. A function that is called, or used otherwise, stays.
pub fn satisfy(module: &Module<'_>) {
    let Some(function) = module.get_function(NAME).map(|function| function.as_value_ref()) else { return };
    let mut statics = Vec::new();
    // SAFETY: the module is live. Nothing uses a value any more when it is deleted.
    unsafe {
        if !only_statics(function, &mut statics) || LLVMCountBasicBlocks(function) > 0 {
            return;
        }
        LISTS.iter().for_each(|list| remove_from(module, list, &statics));
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

/// Removes statics from one of the lists of those that are kept.
unsafe fn remove_from(module: &Module<'_>, list: &CStr, statics: &[LLVMValueRef]) {
    unsafe {
        let global = LLVMGetNamedGlobal(module.as_mut_ptr(), list.as_ptr());
        if global.is_null() {
            return;
        }
        let initial = LLVMGetInitializer(global);
        let entries = (0..LLVMGetNumOperands(initial) as u32).map(|index| LLVMGetOperand(initial, index));
        let is_of = |entry: &LLVMValueRef| {
            let cast = !LLVMIsAConstantExpr(*entry).is_null();
            statics.contains(&if cast { LLVMGetOperand(*entry, 0) } else { *entry })
        };
        let mut kept: Vec<_> = entries.filter(|entry| !is_of(entry)).collect();
        let pointer = LLVMGetElementType(LLVMTypeOf(initial));
        LLVMDeleteGlobal(global);
        if kept.is_empty() {
            return;
        }
        let initial = LLVMConstArray2(pointer, kept.as_mut_ptr(), kept.len() as u64);
        let global = LLVMAddGlobal(module.as_mut_ptr(), LLVMTypeOf(initial), list.as_ptr());
        LLVMSetInitializer(global, initial);
        LLVMSetLinkage(global, LLVMLinkage::LLVMAppendingLinkage);
        LLVMSetSection(global, c"llvm.metadata".as_ptr());
    }
}
