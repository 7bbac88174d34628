//! Which addresses are the same value.

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

/// How many steps a pointer is followed back. In code that control does not reach, there may be a circle.
const DEPTH: usize = 64;

/// The addresses of a function by what they are computed from: a pointer, and a constant offset in bytes.
pub struct Addresses<'a> {
    layout: &'a TargetData,
    options: &'a Options,
    blocks: FxHashMap<LLVMBasicBlockRef, usize>,
    numbers: FxHashMap<(LLVMValueRef, i64), usize>,
    /// The widest scope with a thread that can name what begins at a value.
    variables: FxHashMap<LLVMValueRef, Scope>,
}

impl<'a> Addresses<'a> {
    pub fn new(blocks: &[BasicBlock<'_>], layout: &'a TargetData, options: &'a Options) -> Self {
        let blocks = blocks.iter().map(|block| block.as_mut_ptr()).zip(0..).collect();
        Self { layout, options, blocks, numbers: FxHashMap::default(), variables: FxHashMap::default() }
    }

    /// A pointer as an address that threads of this scope can name.
    pub fn address(&mut self, pointer: PointerValue<'_>, reach: Scope) -> Address {
        let (mut base, mut offset) = (pointer.as_value_ref(), 0i64);
        for _ in 0..DEPTH {
            // SAFETY: the value is live.
            let Some((behind, further)) = (unsafe { step(base, self.layout, self.options) }) else { break };
            (base, offset) = (behind, offset.wrapping_add(further));
        }
        let next = self.numbers.len();
        let value = *self.numbers.entry((base, offset)).or_insert(next);
        // SAFETY: the value is live.
        let known = self.variables.entry(base).or_insert_with(|| unsafe { variable::reach(base, self.options) });
        let reach = reach.min(*known);
        // SAFETY: the value is live, and the block is asked of an instruction.
        let parent = unsafe { (!LLVMIsAInstruction(base).is_null()).then(|| LLVMGetInstructionParent(base)) };
        let parent = parent.filter(|_| !self.options.met(Condition::SameRound, false));
        Address { value, block: parent.map(|block| self.blocks[&block]), reach }
    }
}

/// The pointer that a pointer is computed from, and how many bytes lie between; nothing, if that is not constant.
///
/// # Safety
/// The pointer is live.
unsafe fn step(pointer: LLVMValueRef, layout: &TargetData, options: &Options) -> Option<(LLVMValueRef, i64)> {
    // SAFETY: each accessor is called on the kind of value that LLVM's C API defines it for.
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
            LLVMOpcode::LLVMGetElementPtr if options.met(Condition::SameOffset, false) => {
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
/// It is one, and live.
unsafe fn offset(gep: LLVMValueRef, layout: &TargetData) -> Option<i64> {
    // SAFETY: a type has the elements that the indices of a verified module choose.
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
