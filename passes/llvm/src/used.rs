//! The lists of functions and variables that LLVM keeps although they have no use.

use std::ffi::CStr;

use inkwell::{
    llvm_sys::{LLVMLinkage, core::*, prelude::*},
    module::Module,
    values::AsValueRef,
};

/// `llvm.used`, which the linker respects too, and `llvm.compiler.used`.
const LISTS: [&CStr; 2] = [c"llvm.used", c"llvm.compiler.used"];

/// Makes the compiler and the linker keep a function or variable.
pub fn keep(module: &Module<'_>, value: &impl AsValueRef) {
    // SAFETY: module and value are live.
    unsafe {
        let pointer = LLVMPointerTypeInContext(LLVMGetModuleContext(module.as_mut_ptr()), 0);
        change(module, LISTS[0], pointer, |entries| entries.push(value.as_value_ref()));
    }
}

/// Removes functions and variables from the lists.
///
/// # Safety
/// The functions and variables are live.
pub unsafe fn forget(module: &Module<'_>, values: &[LLVMValueRef]) {
    unsafe {
        let is_of = |entry: &LLVMValueRef| {
            let cast = !LLVMIsAConstantExpr(*entry).is_null();
            values.contains(&if cast { LLVMGetOperand(*entry, 0) } else { *entry })
        };
        for list in LISTS {
            let global = LLVMGetNamedGlobal(module.as_mut_ptr(), list.as_ptr());
            if !global.is_null() {
                let pointer = LLVMGetElementType(LLVMTypeOf(LLVMGetInitializer(global)));
                change(module, list, pointer, |entries| entries.retain(|entry| !is_of(entry)));
            }
        }
    }
}

/// Replaces a list by an edited list. An empty list is removed.
unsafe fn change(module: &Module<'_>, list: &CStr, pointer: LLVMTypeRef, edit: impl FnOnce(&mut Vec<LLVMValueRef>)) {
    unsafe {
        let global = LLVMGetNamedGlobal(module.as_mut_ptr(), list.as_ptr());
        let mut entries = Vec::new();
        if !global.is_null() {
            let initial = LLVMGetInitializer(global);
            entries.extend((0..LLVMGetNumOperands(initial) as u32).map(|index| LLVMGetOperand(initial, index)));
            LLVMDeleteGlobal(global);
        }
        edit(&mut entries);
        if entries.is_empty() {
            return;
        }
        let initial = LLVMConstArray2(pointer, entries.as_mut_ptr(), entries.len() as u64);
        let global = LLVMAddGlobal(module.as_mut_ptr(), LLVMTypeOf(initial), list.as_ptr());
        LLVMSetInitializer(global, initial);
        LLVMSetLinkage(global, LLVMLinkage::LLVMAppendingLinkage);
        LLVMSetSection(global, c"llvm.metadata".as_ptr());
    }
}
