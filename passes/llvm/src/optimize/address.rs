//! The identification of equal addresses.

use inkwell::{
    basic_block::BasicBlock,
    llvm_sys::{
        LLVMOpcode, LLVMTypeKind,
        core::*,
        prelude::*,
        target::{LLVMABISizeOfType, LLVMOffsetOfElement},
    },
    targets::TargetData,
    values::{AsValueRef, PointerValue},
};
use ptx_atomics_common::{Condition, Options};
use ptx_lowering::ptx::Scope;
use ptx_optimize::Address;
use rustc_hash::FxHashMap;

use super::variable;

/// The maximal number of steps back to the origin of a pointer. In unreachable code, pointers may form a cycle.
const DEPTH: usize = 64;

/// The addresses of a function, identified by the pointer from which they are computed and a constant offset in bytes.
pub struct Addresses<'a> {
    layout: &'a TargetData,
    options: &'a Options,
    blocks: FxHashMap<LLVMBasicBlockRef, usize>,
    numbers: FxHashMap<(LLVMValueRef, i64), usize>,
    /// For each base value, the widest scope that contains a thread which can address the object there.
    variables: FxHashMap<LLVMValueRef, Scope>,
}

impl<'a> Addresses<'a> {
    pub fn new(blocks: &[BasicBlock<'_>], layout: &'a TargetData, options: &'a Options) -> Self {
        let blocks = blocks.iter().map(|block| block.as_mut_ptr()).zip(0..).collect();
        Self { layout, options, blocks, numbers: FxHashMap::default(), variables: FxHashMap::default() }
    }

    /// A pointer as an address that threads of this scope can use.
    pub fn address(&mut self, pointer: PointerValue<'_>, reach: Scope) -> Address {
        let (mut base, mut offset) = (pointer.as_value_ref(), 0i64);
        for _ in 0..DEPTH {
            // SAFETY: the value is live.
            let Some((after, further)) = (unsafe { step(base, self.layout, self.options) }) else { break };
            (base, offset) = (after, offset.wrapping_add(further));
        }
        let next = self.numbers.len();
        let value = *self.numbers.entry((base, offset)).or_insert(next);
        // SAFETY: the value is live.
        let known = self.variables.entry(base).or_insert_with(|| unsafe { variable::reach(base, self.options) });
        let reach = reach.min(*known);
        // SAFETY: the value is live, and the block is requested only for an instruction.
        let parent = unsafe { (!LLVMIsAInstruction(base).is_null()).then(|| LLVMGetInstructionParent(base)) };
        let parent = parent.filter(|_| !self.options.is_met_or_assumed(Condition::SameIteration, false));
        Address { value, block: parent.map(|block| self.blocks[&block]), reach }
    }
}

/// The pointer from which a pointer is computed, and the offset in bytes; `None` if the offset is not constant.
///
/// # Safety
/// The pointer is live.
unsafe fn step(pointer: LLVMValueRef, layout: &TargetData, options: &Options) -> Option<(LLVMValueRef, i64)> {
    // SAFETY: each accessor is called on the kind of value for which LLVM's C API defines it.
    unsafe {
        let opcode = if !LLVMIsAInstruction(pointer).is_null() {
            LLVMGetInstructionOpcode(pointer)
        } else if !LLVMIsAConstantExpr(pointer).is_null() {
            LLVMGetConstOpcode(pointer)
        } else {
            return None;
        };
        match opcode {
            LLVMOpcode::LLVMAddrSpaceCast | LLVMOpcode::LLVMBitCast => Some((LLVMGetOperand(pointer, 0), 0)),
            LLVMOpcode::LLVMGetElementPtr if options.is_met_or_assumed(Condition::SameOffset, false) => {
                Some((LLVMGetOperand(pointer, 0), 0))
            }
            LLVMOpcode::LLVMGetElementPtr => Some((LLVMGetOperand(pointer, 0), offset(pointer, layout)?)),
            _ => None,
        }
    }
}

/// The constant offset of a `getelementptr`, in bytes.
///
/// # Safety
/// `gep` is a live `getelementptr`.
unsafe fn offset(gep: LLVMValueRef, layout: &TargetData) -> Option<i64> {
    // SAFETY: a type has the elements that the indices of a verified module select.
    unsafe {
        let size = |ty| LLVMABISizeOfType(layout.as_mut_ptr(), ty).cast_signed();
        let mut ty = LLVMGetGEPSourceElementType(gep);
        let mut bytes = 0i64;
        for number in 1..LLVMGetNumOperands(gep).cast_unsigned() {
            let index = LLVMIsAConstantInt(LLVMGetOperand(gep, number));
            if index.is_null() {
                return None;
            }
            let index = LLVMConstIntGetSExtValue(index);
            let further = match LLVMGetTypeKind(ty) {
                _ if number == 1 => index.wrapping_mul(size(ty)),
                LLVMTypeKind::LLVMStructTypeKind => {
                    let element = u32::try_from(index).ok()?;
                    let before = LLVMOffsetOfElement(layout.as_mut_ptr(), ty, element);
                    ty = LLVMStructGetTypeAtIndex(ty, element);
                    before.cast_signed()
                }
                LLVMTypeKind::LLVMArrayTypeKind => {
                    ty = LLVMGetElementType(ty);
                    index.wrapping_mul(size(ty))
                }
                _ => return None,
            };
            bytes = bytes.wrapping_add(further);
        }
        Some(bytes)
    }
}
