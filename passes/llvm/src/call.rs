//! The memory effects of a call, from the attributes and the name of its callee.

use inkwell::{
    attributes::Attribute,
    llvm_sys::{LLVMAttributeFunctionIndex, LLVMTypeKind, core::*, prelude::*},
    values::{AsValueRef, FunctionValue, InstructionValue, PointerValue},
};
use ptx_atomics_common::{
    Condition, Options, assembly,
    callee::{Declared, Effect, OF_NVIDIA},
};
use ptx_lowering::ptx::Space;
use ptx_optimize::EventKind;

use crate::{
    memory::memory_of,
    value::{callee, inline_assembly, name},
};

/// In LLVM's encoding of memory effects (`MemoryEffectsBase`): the memory that no instruction can access.
pub const INACCESSIBLE: u64 = 0b1100;

/// The kind of event that a call is for the optimizer; `None` if it accesses no memory that another thread accesses,
/// and orders no access.
pub fn kind(call: InstructionValue<'_>, options: &Options) -> Option<EventKind> {
    let barrier = || (!options.is_met_or_assumed(Condition::NoBarrier, false)).then_some(EventKind::Barrier);
    if let Some(text) = inline_assembly(call) {
        let quiet = effects(call, None) == Some(0) || assembly::is_quiet(&text);
        return match options.is_met_or_assumed(Condition::QuietAssembly, quiet) {
            true => None,
            false if assembly::is_barrier(&text) => barrier(),
            false => Some(EventKind::Unknown("inline assembly".into())),
        };
    }
    let Some(callee) = callee(call) else {
        return Some(EventKind::Unknown("a call through a pointer".into()));
    };
    let (name, effects) = (name(&callee), effects(call, Some(callee)));
    if effects == Some(0) {
        return None;
    }
    let is_known = options.is_met_or_assumed(Condition::KnownFunction, false);
    let unknown = || (!is_known).then(|| EventKind::Unknown(format!("the call to `{name}`")));
    let has_body = !options.is_met_or_assumed(Condition::NoBody, !has_body(callee));
    let Some(declared) = Declared::new(&name, has_body) else { return unknown() };
    let of_llvm = name.starts_with("llvm.") && !name.starts_with(OF_NVIDIA);
    let of_llvm = of_llvm && !is_volatile(call, &name);
    let inaccessible = effects.is_some_and(|effects| effects & !INACCESSIBLE == 0);
    match declared.effect() {
        Some(Effect::Quiet) => None,
        None if of_llvm && inaccessible => None,
        Some(Effect::Barrier) => barrier(),
        Some(Effect::Plain) => pointers(call).any(is_shared_with_threads).then_some(EventKind::Plain),
        // The elements of a vector of pointers are not inspected.
        None if of_llvm && pointers(call).next().is_some() && !pointers(call).any(is_shared_with_threads) => None,
        None if of_llvm => Some(EventKind::Plain),
        None => unknown(),
    }
}

/// Whether the module contains the body of a function.
pub fn has_body(function: FunctionValue<'_>) -> bool {
    function.count_basic_blocks() > 0
}

/// The memory effects of a call in LLVM's encoding, from its attributes and the attributes of its callee; `None` if
/// neither has them.
pub fn effects(call: InstructionValue<'_>, callee: Option<FunctionValue<'_>>) -> Option<u64> {
    let kind = Attribute::get_named_enum_kind_id("memory");
    // SAFETY: call and callee are live.
    unsafe {
        let own = LLVMGetCallSiteEnumAttribute(call.as_value_ref(), LLVMAttributeFunctionIndex, kind);
        let of_callee =
            callee.map(|callee| LLVMGetEnumAttributeAtIndex(callee.as_value_ref(), LLVMAttributeFunctionIndex, kind));
        let said = [Some(own), of_callee].into_iter().flatten().filter(|attribute| !attribute.is_null());
        said.map(|attribute| LLVMGetEnumAttributeValue(attribute)).reduce(|all, one| all & one)
    }
}

/// Whether an intrinsic that copies or fills memory is volatile; its last argument determines that.
fn is_volatile(call: InstructionValue<'_>, name: &str) -> bool {
    let call = call.as_value_ref();
    // SAFETY: the call is live, and such an intrinsic has arguments.
    name.starts_with("llvm.mem")
        && unsafe {
            let last = LLVMIsAConstantInt(LLVMGetOperand(call, LLVMGetNumArgOperands(call) - 1));
            last.is_null() || LLVMConstIntGetZExtValue(last) != 0
        }
}

/// The arguments of a call that are pointers.
fn pointers<'c>(call: InstructionValue<'c>) -> impl Iterator<Item = PointerValue<'c>> {
    let call = call.as_value_ref();
    // SAFETY: the call is live, and the index is below the number of its arguments.
    unsafe {
        let arguments = (0..LLVMGetNumArgOperands(call)).map(move |index| LLVMGetOperand(call, index));
        let is_pointer =
            |value: &LLVMValueRef| LLVMGetTypeKind(LLVMTypeOf(*value)) == LLVMTypeKind::LLVMPointerTypeKind;
        arguments.filter(is_pointer).map(|value| PointerValue::new(value))
    }
}

/// Whether other threads may read or write the memory at a pointer.
pub fn is_shared_with_threads(pointer: PointerValue<'_>) -> bool {
    !memory_of(pointer).is_ok_and(|memory| matches!(memory.space, Space::Local | Space::Const))
}
