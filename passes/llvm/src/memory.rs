//! The memory that a pointer points to, as far as LLVM IR shows it.

use inkwell::{
    attributes::Attribute,
    context::AsContextRef,
    llvm_sys::{LLVMCallConv, LLVMOpcode, LLVMTypeKind, core::*},
    module::Module,
    values::{AsValueRef, InstructionValue, PointerValue},
};
use ptx_atomics_common::{
    address_space,
    memory::{Memory, Object, Source},
};
use ptx_lowering::ptx::Space;

use crate::value::{Value, instructions};

// SAFETY of all calls below: the values are live, and each accessor is called on the kind of value for which LLVM's C
// API defines it.

/// The memory at a pointer.
///
/// # Errors
/// The number of the address space, if atomics cannot access it.
pub fn memory_of(pointer: PointerValue<'_>) -> Result<Memory, u32> {
    let number = number_of(pointer);
    let space = address_space::space(number).ok_or(number)?;
    match space {
        Space::Generic => Ok(Memory::from_pointer(Value::from(pointer), source)),
        space => Ok(Memory::of_space(space)),
    }
}

/// Marks generic pointers that a CUDA kernel loads from a by-value parameter as global: each is cast to the global
/// space and back, so that inference finds it. LLVM's backend does the same (`NVPTXLowerArgs`), but only after the
/// pass.
pub fn show_global_pointers(module: &Module<'_>) {
    let triple = module.get_triple();
    if !triple.as_str().to_string_lossy().split('-').nth(2).is_some_and(|system| system.starts_with("cuda")) {
        return;
    }
    let kernels = module
        .get_functions()
        .filter(|function| function.get_call_conventions() == LLVMCallConv::LLVMPTXKernelCallConv as u32);
    let found: Vec<_> = kernels.flat_map(|kernel| instructions(kernel).filter(is_from_structure)).collect();
    let space = |number| unsafe { LLVMPointerTypeInContext(module.get_context().as_ctx_ref(), number) };
    let (generic, global) = (space(address_space::number(Space::Generic)), space(address_space::number(Space::Global)));
    unsafe {
        let builder = LLVMCreateBuilderInContext(module.get_context().as_ctx_ref());
        for load in found {
            let load = load.as_value_ref();
            LLVMPositionBuilderBefore(builder, LLVMGetNextInstruction(load));
            let known = LLVMBuildAddrSpaceCast(builder, load, global, c"".as_ptr());
            let again = LLVMBuildAddrSpaceCast(builder, known, generic, c"".as_ptr());
            LLVMReplaceAllUsesWith(load, again);
            LLVMSetOperand(known, 0, load);
        }
        LLVMDisposeBuilder(builder);
    }
}

/// The maximal number of steps back to the origin of a pointer, the same as in LLVM. In unreachable code, pointers may
/// form a cycle.
const DEPTH: usize = 10;

/// Whether an instruction loads a generic pointer from a by-value parameter of a kernel. A pointer whose use is a cast
/// was marked before.
fn is_from_structure(load: &InstructionValue<'_>) -> bool {
    let raw = load.as_value_ref();
    unsafe {
        let ty = LLVMTypeOf(raw);
        if LLVMGetInstructionOpcode(raw) != LLVMOpcode::LLVMLoad
            || LLVMGetTypeKind(ty) != LLVMTypeKind::LLVMPointerTypeKind
            || LLVMGetPointerAddressSpace(ty) != address_space::number(Space::Generic)
        {
            return false;
        }
        let mut from = Value::new(LLVMGetOperand(raw, 0));
        for _ in 0..DEPTH {
            let [pointer] = pointers(from)[..] else { break };
            from = pointer;
        }
        let use_ = LLVMGetFirstUse(raw);
        let cast = |user| !LLVMIsAAddrSpaceCastInst(user).is_null();
        is_by_value(from) && !use_.is_null() && !cast(LLVMGetUser(use_))
    }
}

/// The number of a pointer's address space.
pub fn number_of(pointer: PointerValue<'_>) -> u32 {
    unsafe { LLVMGetPointerAddressSpace(LLVMTypeOf(pointer.as_value_ref())) }
}

/// The origin of a pointer.
fn source<'c>(value: &Value<'c>) -> Source<Value<'c>> {
    let pointers = pointers(*value);
    if pointers.is_empty() { Source::Object(object(*value)) } else { Source::Pointers(pointers) }
}

/// The object of a pointer that is not computed from another pointer.
fn object(value: Value<'_>) -> Object {
    let (alloca, global) = unsafe { (LLVMIsAAllocaInst(value.raw()), LLVMIsAGlobalValue(value.raw())) };
    if !alloca.is_null() || is_by_value(value) {
        return Object::In(Space::Local);
    }
    let ty = unsafe { LLVMTypeOf(value.raw()) };
    let is_pointer = unsafe { LLVMGetTypeKind(ty) } == LLVMTypeKind::LLVMPointerTypeKind;
    let number = is_pointer.then(|| unsafe { LLVMGetPointerAddressSpace(ty) });
    match number.and_then(address_space::space) {
        Some(space @ (Space::Local | Space::Const)) => Object::In(space),
        Some(Space::Generic) if global.is_null() => Object::Unknown,
        // LLVM itself resolves the address spaces of all other pointers.
        _ => Object::In(Space::Generic),
    }
}

/// Whether a value is a parameter that its function takes by value: memory of the thread, like an `alloca`.
fn is_by_value(value: Value<'_>) -> bool {
    unsafe {
        if LLVMIsAArgument(value.raw()).is_null() {
            return false;
        }
        let function = LLVMGetParamParent(value.raw());
        let byval = Attribute::get_named_enum_kind_id("byval");
        let is_it = |index: &u32| LLVMGetParam(function, *index) == value.raw();
        let index = (0..LLVMCountParams(function)).find(is_it);
        // The indices of parameter attributes begin at 1; index 0 is for the result.
        index.is_some_and(|index| !LLVMGetEnumAttributeAtIndex(function, index + 1, byval).is_null())
    }
}

/// The pointers from which a pointer is computed; empty if there are none.
pub fn pointers<'c>(value: Value<'c>) -> Vec<Value<'c>> {
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
