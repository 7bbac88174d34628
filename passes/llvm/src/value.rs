//! Accessors of values and types of LLVM that inkwell lacks. Each value is bound to its context, as in inkwell.

use std::{
    ffi::{CStr, c_char},
    marker::PhantomData,
};

use inkwell::{
    basic_block::BasicBlock,
    context::ContextRef,
    llvm_sys::{LLVMTypeKind, core::*, debuginfo::*, prelude::*},
    values::{AsValueRef, FunctionValue, InstructionValue, PointerValue},
};
use ptx_atomics_common::Location;

/// A value of any kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Value<'c>(LLVMValueRef, PhantomData<&'c ()>);

impl Value<'_> {
    /// # Safety
    /// The value is live, and its context outlives the lifetime.
    pub unsafe fn new(raw: LLVMValueRef) -> Self {
        Self(raw, PhantomData)
    }

    /// The value for LLVM's C API.
    pub fn raw(self) -> LLVMValueRef {
        self.0
    }

    /// The value as LLVM prints it, without its metadata. This is slow, because LLVM numbers the whole module to print
    /// a value.
    pub fn text(self) -> String {
        // SAFETY: the value is live, and LLVM allocates the text.
        let text = unsafe { message(LLVMPrintValueToString(self.0)) };
        let text = text.trim();
        text.split_once(", !").map_or(text, |(head, _)| head).to_owned()
    }
    /// The bits of a constant that PTX text can contain.
    pub fn constant(self) -> Option<u64> {
        // SAFETY: the value is live, and each accessor is called on the kind of constant for which it is defined.
        unsafe {
            if !LLVMIsAConstantInt(self.0).is_null() {
                return Some(LLVMConstIntGetZExtValue(self.0));
            }
            if !LLVMIsAConstantPointerNull(self.0).is_null() {
                return Some(0);
            }
            if LLVMIsAConstantFP(self.0).is_null() {
                return None;
            }
            let ty = LLVMTypeOf(self.0);
            let bits = match LLVMGetTypeKind(ty) {
                LLVMTypeKind::LLVMHalfTypeKind | LLVMTypeKind::LLVMBFloatTypeKind => 16,
                LLVMTypeKind::LLVMFloatTypeKind => 32,
                LLVMTypeKind::LLVMDoubleTypeKind => 64,
                _ => return None,
            };
            let integer = LLVMConstBitCast(self.0, LLVMIntTypeInContext(LLVMGetTypeContext(ty), bits));
            (!LLVMIsAConstantInt(integer).is_null()).then(|| LLVMConstIntGetZExtValue(integer))
        }
    }
}

impl<'c> From<InstructionValue<'c>> for Value<'c> {
    fn from(instruction: InstructionValue<'c>) -> Self {
        Self(instruction.as_value_ref(), PhantomData)
    }
}

impl<'c> From<PointerValue<'c>> for Value<'c> {
    fn from(pointer: PointerValue<'c>) -> Self {
        Self(pointer.as_value_ref(), PhantomData)
    }
}

/// The type of a value.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct ValueType<'c>(LLVMTypeRef, PhantomData<&'c ()>);

impl ValueType<'_> {
    /// # Safety
    /// The context of the type outlives the lifetime.
    pub unsafe fn new(raw: LLVMTypeRef) -> Self {
        Self(raw, PhantomData)
    }

    /// The type for LLVM's C API.
    pub fn raw(self) -> LLVMTypeRef {
        self.0
    }

    /// The type as LLVM prints it.
    pub fn text(self) -> String {
        // SAFETY: the type is live, and LLVM allocates the text.
        unsafe { message(LLVMPrintTypeToString(self.0)) }
    }
}

/// Every instruction of a function, in the order of the text.
pub fn instructions<'c>(function: FunctionValue<'c>) -> impl Iterator<Item = InstructionValue<'c>> {
    function.get_basic_block_iter().flat_map(BasicBlock::get_instructions)
}

/// The callee of a call, if it is a function.
pub fn callee<'c>(instruction: InstructionValue<'c>) -> Option<FunctionValue<'c>> {
    // SAFETY: the called value is live, and it is a function or null.
    unsafe {
        let callee = LLVMIsAFunction(called(instruction)?);
        if callee.is_null() { None } else { FunctionValue::new(callee) }
    }
}

/// The users of a value. A user appears once for each of its uses.
///
/// # Safety
/// The value is live, and its users are live during the iteration.
pub unsafe fn users(value: LLVMValueRef) -> impl Iterator<Item = LLVMValueRef> {
    // SAFETY: the value is live.
    let mut next = unsafe { LLVMGetFirstUse(value) };
    std::iter::from_fn(move || {
        let current = (!next.is_null()).then_some(next)?;
        // SAFETY: the users are live.
        unsafe {
            next = LLVMGetNextUse(current);
            Some(LLVMGetUser(current))
        }
    })
}

/// The text of the inline assembly that an instruction calls, if it calls inline assembly.
pub fn inline_assembly(instruction: InstructionValue<'_>) -> Option<String> {
    // SAFETY: the called value is live and owns its text, and the text is read only from inline assembly.
    unsafe {
        let assembly = LLVMIsAInlineAsm(called(instruction)?);
        if assembly.is_null() {
            return None;
        }
        let mut length = 0;
        let text = LLVMGetInlineAsmAsmString(assembly, &mut length);
        Some(String::from_utf8_lossy(std::slice::from_raw_parts(text.cast(), length)).into_owned())
    }
}

/// The called value of a call.
pub fn called(instruction: InstructionValue<'_>) -> Option<LLVMValueRef> {
    // SAFETY: the instruction is live, and the called value is read only from a call.
    is_call(instruction).then(|| unsafe { LLVMGetCalledValue(instruction.as_value_ref()) })
}

/// Whether an instruction is a call of any kind, including calls that may unwind or branch and end their blocks.
pub fn is_call(instruction: InstructionValue<'_>) -> bool {
    use inkwell::llvm_sys::LLVMOpcode::{LLVMCall, LLVMCallBr, LLVMInvoke};
    // SAFETY: the instruction is live.
    matches!(unsafe { LLVMGetInstructionOpcode(instruction.as_value_ref()) }, LLVMCall | LLVMInvoke | LLVMCallBr)
}

/// LLVM's number of a synchronization scope in this context.
pub fn sync_scope_id(context: &ContextRef<'_>, name: &str) -> u32 {
    // SAFETY: the context is live, and the name is given with its length.
    unsafe { LLVMGetSyncScopeID(context.raw(), name.as_ptr().cast(), name.len()) }
}

/// The location in the source program, if the instruction has debug information.
///
/// Atomics are usually inlined from a library's header or from `core`. Of the several locations of an inlined
/// instruction, the result is the innermost one in the file of the function that contains the instruction: the user's
/// own line.
pub fn debug_location(instruction: InstructionValue<'_>) -> Option<Location> {
    let non_null = |location: LLVMMetadataRef| (!location.is_null()).then_some(location);
    let innermost = non_null(unsafe { LLVMInstructionGetDebugLoc(instruction.as_value_ref()) });
    let outward = |location: &LLVMMetadataRef| non_null(unsafe { LLVMDILocationGetInlinedAt(*location) });
    let places: Vec<_> = std::iter::successors(innermost, outward).filter_map(|at| unsafe { place(at) }).collect();
    let own = places.last()?.file.clone();
    places.into_iter().find(|place| place.file == own)
}

/// The file location of a debug location, unless the compiler generated it.
unsafe fn place(location: LLVMMetadataRef) -> Option<Location> {
    let string = |get: &dyn Fn(*mut u32) -> *const c_char| {
        let mut length = 0;
        let start = get(&mut length);
        unsafe { text(start, length as usize) }.unwrap_or_default()
    };
    unsafe {
        let (line, column) = (LLVMDILocationGetLine(location), LLVMDILocationGetColumn(location));
        let file = LLVMDIScopeGetFile(LLVMDILocationGetScope(location));
        if line == 0 || file.is_null() {
            return None;
        }
        let name = string(&|length| LLVMDIFileGetFilename(file, length));
        let directory = string(&|length| LLVMDIFileGetDirectory(file, length));
        let complete = name.starts_with('/') || directory.is_empty() || directory == ".";
        Some(Location { file: if complete { name } else { format!("{directory}/{name}") }, line, column })
    }
}

/// The name of a value as UTF-8, with invalid bytes replaced.
pub fn name(value: &impl AsValueRef) -> String {
    let mut length = 0;
    // SAFETY: the value is live, and LLVM returns `length` bytes.
    unsafe {
        let start = LLVMGetValueName2(value.as_value_ref(), &mut length);
        text(start, length).unwrap_or_default()
    }
}

/// Moves the name of one value to another.
///
/// # Safety
/// Both values are live.
pub unsafe fn take_name(from: LLVMValueRef, to: LLVMValueRef) {
    unsafe {
        let mut length = 0;
        let name = LLVMGetValueName2(from, &mut length);
        if length > 0 {
            let name = std::slice::from_raw_parts(name.cast::<u8>(), length).to_owned();
            LLVMSetValueName2(from, c"".as_ptr(), 0);
            LLVMSetValueName2(to, name.as_ptr().cast(), name.len());
        }
    }
}

/// A string of LLVM as UTF-8, with invalid bytes replaced; `None` if it is null, as LLVM 23 returns for an empty
/// string.
///
/// # Safety
/// `start` is null, or points to `length` bytes.
pub unsafe fn text(start: *const c_char, length: usize) -> Option<String> {
    let bytes = (!start.is_null()).then(|| unsafe { std::slice::from_raw_parts(start.cast(), length) })?;
    Some(String::from_utf8_lossy(bytes).into_owned())
}

/// Converts and frees a message that LLVM allocated.
///
/// # Safety
/// `message` is null or a string that `LLVMDisposeMessage` may free.
pub unsafe fn message(message: *mut std::ffi::c_char) -> String {
    if message.is_null() {
        return String::new();
    }
    unsafe {
        let text = CStr::from_ptr(message).to_string_lossy().into_owned();
        LLVMDisposeMessage(message);
        text
    }
}

#[cfg(test)]
mod tests {
    use inkwell::context::Context;

    use super::*;

    #[test]
    fn constants_have_the_bits_of_their_type() {
        let context = Context::create();
        // SAFETY: the context is live.
        let constant = |ty: LLVMTypeRef, number: f64| unsafe { Value::new(LLVMConstReal(ty, number)) }.constant();
        // SAFETY: the context is live.
        let [half, bfloat, float, double, wide] = unsafe {
            let context = context.raw();
            [
                LLVMHalfTypeInContext(context),
                LLVMBFloatTypeInContext(context),
                LLVMFloatTypeInContext(context),
                LLVMDoubleTypeInContext(context),
                LLVMFP128TypeInContext(context),
            ]
        };
        for (ty, bits) in [
            (half, Some(0xc000)),
            (bfloat, Some(0xc000)),
            (float, Some(0xc000_0000)),
            (double, Some(0xc000 << 48)),
            (wide, None),
        ] {
            assert_eq!(constant(ty, -2.0), bits);
        }
        assert_eq!([constant(half, 1.0), constant(bfloat, 1.0)], [Some(0x3c00), Some(0x3f80)]);
    }
}
