//! An atomic instruction of LLVM IR, with the accessors that inkwell lacks.

use std::collections::HashMap;

use inkwell::{
    basic_block::BasicBlock,
    llvm_sys::{LLVMAtomicOrdering as LlvmOrdering, LLVMOpcode, LLVMTypeKind, core::*, prelude::*},
    values::{AsValueRef, FunctionValue, InstructionValue, PointerValue},
};
use ptx_lowering::Ordering;

use ptx_atomics_common::operation::{Opcode, with_negated_operand};

use crate::{
    value::{Value, ValueType},
    version::{is_conditional_branch, rmw_op},
};

/// The kind of metadata on a read-modify-write that may skip its write if the value in memory would not change.
pub const MAY_SKIP_WRITE: &str = "ptx-atomics.may_skip_write";

/// An atomic load or store, an `atomicrmw`, a `cmpxchg`, or a `fence`.
#[derive(Clone, Copy)]
pub struct Instruction<'c> {
    value: InstructionValue<'c>,
    opcode: Opcode,
}

/// The basic blocks of a function in the order of the text, each with the indices of its successors. A branch on a
/// constant has one successor.
pub fn control_flow(function: FunctionValue<'_>) -> impl Iterator<Item = (BasicBlock<'_>, Vec<usize>)> {
    let indices: HashMap<_, usize> = function.get_basic_block_iter().map(|block| block.as_mut_ptr()).zip(0..).collect();
    function.get_basic_block_iter().map(move |block| {
        // SAFETY: the module was verified, so that every block ends with a terminator, and the index is below the
        // number of its successors.
        let next = unsafe {
            let end = LLVMGetBasicBlockTerminator(block.as_mut_ptr());
            let successors = decided(end).map_or(0..LLVMGetNumSuccessors(end), |number| number..number + 1);
            successors.map(|number| indices[&LLVMGetSuccessor(end, number)]).collect()
        };
        (block, next)
    })
}

/// The number of the only successor that a terminator can reach: its condition is a constant, or it is an `invoke`,
/// which never unwinds, because PTX has no exceptions.
///
/// # Safety
/// `end` is the terminator of a block of a verified module.
unsafe fn decided(end: LLVMValueRef) -> Option<u32> {
    // SAFETY: each accessor is called for the kind of terminator that has it. The condition is the first operand of a
    // `switch`, its default the first successor, and equal constants are the same value.
    unsafe {
        let is_branch = is_conditional_branch(end);
        let condition = match LLVMGetInstructionOpcode(end) {
            _ if is_branch => LLVMGetCondition(end),
            LLVMOpcode::LLVMSwitch => LLVMGetOperand(end, 0),
            LLVMOpcode::LLVMInvoke => return Some(0),
            _ => return None,
        };
        if LLVMIsAConstantInt(condition).is_null() {
            return None;
        }
        if is_branch {
            return Some(u32::from(LLVMConstIntGetZExtValue(condition) == 0));
        }
        let is_case = |number: &u32| LLVMGetSwitchCaseValue(end, *number) == condition;
        Some((1..LLVMGetNumSuccessors(end)).find(is_case).unwrap_or(0))
    }
}

// SAFETY of all calls below: the instruction is live, and each accessor is called only for the opcodes for which LLVM's
// C API defines it.
impl<'c> Instruction<'c> {
    /// The instruction, if it is atomic.
    pub fn atomic(value: InstructionValue<'c>) -> Option<Self> {
        let raw = value.as_value_ref();
        let not_atomic = || unsafe { LLVMGetOrdering(raw) } == LlvmOrdering::LLVMAtomicOrderingNotAtomic;
        let opcode = match unsafe { LLVMGetInstructionOpcode(raw) } {
            LLVMOpcode::LLVMFence => Opcode::Fence,
            LLVMOpcode::LLVMLoad if not_atomic() => return None,
            LLVMOpcode::LLVMLoad => Opcode::Load,
            LLVMOpcode::LLVMStore if not_atomic() => return None,
            LLVMOpcode::LLVMStore => Opcode::Store,
            LLVMOpcode::LLVMAtomicRMW => Opcode::Rmw(rmw_op(unsafe { LLVMGetAtomicRMWBinOp(raw) })),
            LLVMOpcode::LLVMAtomicCmpXchg => Opcode::CmpXchg,
            _ => return None,
        };
        Some(Self { value, opcode })
    }

    /// The opcode.
    pub fn opcode(self) -> Opcode {
        self.opcode
    }

    /// The instruction as a value.
    pub fn value(self) -> InstructionValue<'c> {
        self.value
    }

    /// The instruction as a value of LLVM's C API.
    pub fn raw(self) -> LLVMValueRef {
        self.value.as_value_ref()
    }

    /// The ordering; for a `cmpxchg`, the ordering of success.
    pub fn ordering(self) -> Ordering {
        ordering(unsafe {
            match self.opcode {
                Opcode::CmpXchg => LLVMGetCmpXchgSuccessOrdering(self.raw()),
                _ => LLVMGetOrdering(self.raw()),
            }
        })
    }

    /// The ordering of the failure of a `cmpxchg`; relaxed for all other instructions.
    pub fn failure_ordering(self) -> Ordering {
        match self.opcode {
            Opcode::CmpXchg => ordering(unsafe { LLVMGetCmpXchgFailureOrdering(self.raw()) }),
            _ => Ordering::Relaxed,
        }
    }

    /// LLVM's number of the synchronization scope.
    pub fn sync_scope_id(self) -> u32 {
        unsafe { LLVMGetAtomicSyncScopeID(self.raw()) }
    }

    /// Whether the instruction has metadata of this kind.
    pub fn has_metadata(self, kind: u32) -> bool {
        unsafe { !LLVMGetMetadata(self.raw(), kind).is_null() }
    }

    /// Whether the instruction is volatile; a fence never is.
    pub fn is_volatile(self) -> bool {
        self.opcode != Opcode::Fence && unsafe { LLVMGetVolatile(self.raw()) != 0 }
    }

    /// The alignment of the memory, in bytes; `None` for a fence.
    pub fn alignment(self) -> Option<u32> {
        (self.opcode != Opcode::Fence).then(|| unsafe { LLVMGetAlignment(self.raw()) })
    }

    fn operand(self, index: usize) -> Value<'c> {
        unsafe { Value::new(LLVMGetOperand(self.raw(), index as u32)) }
    }

    /// The address; `None` for a fence.
    pub fn pointer(self) -> Option<PointerValue<'c>> {
        let index = self.opcode.pointer()?;
        Some(unsafe { PointerValue::new(self.operand(index).raw()) })
    }

    /// The input values: none for a load, expected and new for a `cmpxchg`.
    pub fn sources(self) -> impl Iterator<Item = Value<'c>> {
        self.opcode.sources().map(move |index| self.operand(index))
    }

    /// If the operand of an addition or subtraction of float or double is a negation: the negated value, and the
    /// operation on it.
    pub fn negated(self) -> Option<(Opcode, Value<'c>)> {
        let source = self.sources().next()?.raw();
        unsafe {
            let scalar = [LLVMTypeKind::LLVMFloatTypeKind, LLVMTypeKind::LLVMDoubleTypeKind]
                .contains(&LLVMGetTypeKind(LLVMTypeOf(source)));
            let negation =
                !LLVMIsAInstruction(source).is_null() && LLVMGetInstructionOpcode(source) == LLVMOpcode::LLVMFNeg;
            let opcode = with_negated_operand(self.opcode).filter(|_| scalar && negation)?;
            Some((opcode, Value::new(LLVMGetOperand(source, 0))))
        }
    }

    /// Whether the value has a scalar type that GPUs move. True for a fence, which has no value.
    pub fn is_scalar(self) -> bool {
        use LLVMTypeKind::*;
        let scalars = [
            LLVMIntegerTypeKind,
            LLVMPointerTypeKind,
            LLVMHalfTypeKind,
            LLVMBFloatTypeKind,
            LLVMFloatTypeKind,
            LLVMDoubleTypeKind,
        ];
        self.value_type().is_none_or(|ty| scalars.contains(&unsafe { LLVMGetTypeKind(ty.raw()) }))
    }

    /// The type of the value in memory; `None` for a fence.
    pub fn value_type(self) -> Option<ValueType<'c>> {
        let value = self.sources().next().map_or(self.raw(), Value::raw);
        (self.opcode != Opcode::Fence).then(|| unsafe { ValueType::new(LLVMTypeOf(value)) })
    }
}

/// Conversions between the orderings of LLVM and of the lowering.
macro_rules! orderings {
    ($($theirs:ident $our:ident),+) => {
        fn ordering(llvm: LlvmOrdering) -> Ordering {
            match llvm {
                $(LlvmOrdering::$theirs => Ordering::$our,)*
                LlvmOrdering::LLVMAtomicOrderingNotAtomic => unreachable!("the instruction is atomic"),
            }
        }

        pub fn llvm_ordering(ours: Ordering) -> LlvmOrdering {
            match ours {
                $(Ordering::$our => LlvmOrdering::$theirs,)*
            }
        }
    };
}

orderings! {
    LLVMAtomicOrderingUnordered Unordered,
    LLVMAtomicOrderingMonotonic Relaxed,
    LLVMAtomicOrderingAcquire Acquire,
    LLVMAtomicOrderingRelease Release,
    LLVMAtomicOrderingAcquireRelease AcqRel,
    LLVMAtomicOrderingSequentiallyConsistent SeqCst
}
