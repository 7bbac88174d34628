//! What memory a pointer points to, as far as LLVM IR shows.

use inkwell::{
    llvm_sys::{LLVMOpcode, LLVMTypeKind, core::*},
    values::{AsValueRef, PointerValue},
};
use ptx_atomics_lowering::ptx::Space;
use ptx_atomics_pass::{
    address_space,
    memory::{Memory, Object, Source},
};

use crate::value::Value;

// SAFETY of all calls below: the values are live, and each accessor is called on the kind of value that LLVM's C API
// defines it for.

/// The memory behind a pointer.
///
/// # Errors
/// With the number of the address space, if atomics cannot access it.
pub fn memory_of(pointer: PointerValue<'_>) -> Result<Memory, u32> {
    let number = number_of(pointer);
    let space = address_space::space(number).ok_or(number)?;
    match space {
        Space::Generic => Ok(Memory::behind(Value::from(pointer), source)),
        space => Ok(Memory::of_space(space)),
    }
}

/// The number of a pointer's address space.
pub fn number_of(pointer: PointerValue<'_>) -> u32 {
    unsafe { LLVMGetPointerAddressSpace(LLVMTypeOf(pointer.as_value_ref())) }
}

/// Where a pointer comes from.
fn source<'c>(value: &Value<'c>) -> Source<Value<'c>> {
    let pointers = pointers(*value);
    if pointers.is_empty() { Source::Object(object(*value)) } else { Source::Pointers(pointers) }
}

/// What a pointer that stands for itself points into.
fn object(value: Value<'_>) -> Object {
    let (alloca, global) = unsafe { (LLVMIsAAllocaInst(value.raw()), LLVMIsAGlobalValue(value.raw())) };
    if !alloca.is_null() {
        return Object::In(Space::Local);
    }
    let ty = unsafe { LLVMTypeOf(value.raw()) };
    let is_pointer = unsafe { LLVMGetTypeKind(ty) } == LLVMTypeKind::LLVMPointerTypeKind;
    let number = is_pointer.then(|| unsafe { LLVMGetPointerAddressSpace(ty) });
    match number.and_then(address_space::space) {
        Some(space @ (Space::Local | Space::Const)) => Object::In(space),
        Some(Space::Generic) if global.is_null() => Object::Unknown,
        // LLVM resolves the address spaces of all others by itself.
        _ => Object::In(Space::Generic),
    }
}

/// The pointers that a pointer is computed from; none if it stands for itself.
fn pointers<'c>(value: Value<'c>) -> Vec<Value<'c>> {
    use LLVMOpcode::{LLVMAddrSpaceCast, LLVMBitCast, LLVMFreeze, LLVMGetElementPtr, LLVMPHI, LLVMSelect};
    let raw = value.raw();
    unsafe {
        let opcode = if !LLVMIsAInstruction(raw).is_null() {
            LLVMGetInstructionOpcode(raw)
        } else if !LLVMIsAConstantExpr(raw).is_null() {
            LLVMGetConstOpcode(raw)
        } else {
            return Vec::new();
        };
        let pointers = match opcode {
            LLVMAddrSpaceCast | LLVMBitCast | LLVMGetElementPtr | LLVMFreeze => vec![LLVMGetOperand(raw, 0)],
            LLVMSelect => vec![LLVMGetOperand(raw, 1), LLVMGetOperand(raw, 2)],
            LLVMPHI => (0..LLVMCountIncoming(raw)).map(|index| LLVMGetIncomingValue(raw, index)).collect(),
            _ => Vec::new(),
        };
        pointers.into_iter().map(|pointer| Value::new(pointer)).collect()
    }
}
