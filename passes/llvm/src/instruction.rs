//! An atomic instruction of LLVM IR, with the accessors that inkwell lacks.

use std::{collections::HashMap, ffi::CStr};

use inkwell::{
    basic_block::BasicBlock,
    llvm_sys::{
        LLVMAtomicOrdering as LlvmOrdering, LLVMAtomicRMWBinOp as BinOp, LLVMOpcode, LLVMTypeKind, core::*,
        debuginfo::*, prelude::*,
    },
    values::{AsValueRef, FunctionValue},
};
use ptx_atomics_lowering::{Ordering, RmwOp};

use ptx_atomics_pass::{
    Location,
    operation::{Kind, with_negated_operand},
};

/// A load or store that is atomic, an `atomicrmw`, a `cmpxchg`, or a `fence`.
#[derive(Clone, Copy)]
pub struct Instruction(pub LLVMValueRef);

/// Every instruction of a function, in the order of the text.
pub fn instructions(function: FunctionValue<'_>) -> impl Iterator<Item = LLVMValueRef> {
    function.get_basic_block_iter().flat_map(instructions_of)
}

pub fn instructions_of(block: BasicBlock<'_>) -> impl Iterator<Item = LLVMValueRef> {
    let non_null = |instruction: LLVMValueRef| (!instruction.is_null()).then_some(instruction);
    // SAFETY: the block and its instructions live as long as the module, which nothing changes during iteration.
    let first = non_null(unsafe { LLVMGetFirstInstruction(block.as_mut_ptr()) });
    std::iter::successors(first, move |instruction| non_null(unsafe { LLVMGetNextInstruction(*instruction) }))
}

/// The blocks of a function in the order of the text, and the indices of those where control can go from each. A constant
/// decides where it goes.
pub fn control_flow(function: FunctionValue<'_>) -> impl Iterator<Item = (BasicBlock<'_>, Vec<usize>)> {
    let indices: HashMap<_, usize> = function.get_basic_block_iter().map(|block| block.as_mut_ptr()).zip(0..).collect();
    function.get_basic_block_iter().map(move |block| {
        // SAFETY: the module was verified, so that every block ends with a terminator, which has that many successors.
        let next = unsafe {
            let end = LLVMGetBasicBlockTerminator(block.as_mut_ptr());
            let successors = decided(end).map_or(0..LLVMGetNumSuccessors(end), |number| number..number + 1);
            successors.map(|number| indices[&LLVMGetSuccessor(end, number)]).collect()
        };
        (block, next)
    })
}

/// The number of the successor that a terminator goes to, if its condition is a constant.
///
/// # Safety
/// `end` is the terminator of a block of a verified module.
unsafe fn decided(end: LLVMValueRef) -> Option<u32> {
    // SAFETY: each accessor is called for the kind of terminator that has it. The condition is the first operand of a
    // `switch`, its default the first successor, and equal constants are one.
    unsafe {
        let condition = match LLVMGetInstructionOpcode(end) {
            LLVMOpcode::LLVMBr if LLVMIsConditional(end) != 0 => LLVMGetCondition(end),
            LLVMOpcode::LLVMSwitch => LLVMGetOperand(end, 0),
            _ => return None,
        };
        if LLVMIsAConstantInt(condition).is_null() {
            return None;
        }
        if LLVMGetInstructionOpcode(end) == LLVMOpcode::LLVMBr {
            return Some(u32::from(LLVMConstIntGetZExtValue(condition) == 0));
        }
        let is_case = |number: &u32| LLVMGetSwitchCaseValue(end, *number) == condition;
        Some((1..LLVMGetNumSuccessors(end)).find(is_case).unwrap_or(0))
    }
}

// SAFETY of all calls below: `self.0` is an instruction of a live module, and each accessor is called only for the kinds
// of instruction that LLVM's C API defines it for.
impl Instruction {
    /// The instruction, if it is atomic.
    pub fn atomic(instruction: LLVMValueRef) -> Option<(Self, Kind)> {
        let not_atomic = |i| unsafe { LLVMGetOrdering(i) } == LlvmOrdering::LLVMAtomicOrderingNotAtomic;
        let kind = match unsafe { LLVMGetInstructionOpcode(instruction) } {
            LLVMOpcode::LLVMFence => Kind::Fence,
            LLVMOpcode::LLVMLoad if not_atomic(instruction) => return None,
            LLVMOpcode::LLVMLoad => Kind::Load,
            LLVMOpcode::LLVMStore if not_atomic(instruction) => return None,
            LLVMOpcode::LLVMStore => Kind::Store,
            LLVMOpcode::LLVMAtomicRMW => Kind::Rmw(rmw_op(unsafe { LLVMGetAtomicRMWBinOp(instruction) })),
            LLVMOpcode::LLVMAtomicCmpXchg => Kind::CmpXchg,
            _ => return None,
        };
        Some((Self(instruction), kind))
    }

    /// The ordering; of a `cmpxchg`, that of success.
    pub fn ordering(self, kind: Kind) -> Ordering {
        ordering(unsafe {
            match kind {
                Kind::CmpXchg => LLVMGetCmpXchgSuccessOrdering(self.0),
                _ => LLVMGetOrdering(self.0),
            }
        })
    }

    pub fn failure_ordering(self) -> Ordering {
        ordering(unsafe { LLVMGetCmpXchgFailureOrdering(self.0) })
    }

    pub fn sync_scope_id(self) -> u32 {
        unsafe { LLVMGetAtomicSyncScopeID(self.0) }
    }

    /// Of everything but a fence.
    pub fn is_volatile(self) -> bool {
        unsafe { LLVMGetVolatile(self.0) != 0 }
    }

    /// In bytes. Of everything but a fence.
    pub fn alignment(self) -> u32 {
        unsafe { LLVMGetAlignment(self.0) }
    }

    pub fn operand(self, index: u32) -> LLVMValueRef {
        unsafe { LLVMGetOperand(self.0, index) }
    }

    /// The address. Of everything but a fence.
    pub fn pointer(self, kind: Kind) -> LLVMValueRef {
        self.operand(kind.pointer() as u32)
    }

    /// The values that go in.
    pub fn sources(self, kind: Kind) -> impl Iterator<Item = LLVMValueRef> {
        kind.sources().map(move |index| self.operand(index as u32))
    }

    /// What the operand of an addition or subtraction of float or double is the negation of, and the operation on it.
    pub fn negated(self, kind: Kind) -> Option<(Kind, LLVMValueRef)> {
        let source = self.sources(kind).next()?;
        unsafe {
            let scalar = [LLVMTypeKind::LLVMFloatTypeKind, LLVMTypeKind::LLVMDoubleTypeKind]
                .contains(&LLVMGetTypeKind(LLVMTypeOf(source)));
            let negation =
                !LLVMIsAInstruction(source).is_null() && LLVMGetInstructionOpcode(source) == LLVMOpcode::LLVMFNeg;
            Some((with_negated_operand(kind).filter(|_| scalar && negation)?, LLVMGetOperand(source, 0)))
        }
    }

    /// The type of the value in memory. Of everything but a fence.
    pub fn value_type(self, kind: Kind) -> LLVMTypeRef {
        let value = self.sources(kind).next().unwrap_or(self.0);
        unsafe { LLVMTypeOf(value) }
    }

    /// The place in the source program, if the instruction has debug information.
    ///
    /// Atomics are usually inlined from a library's header or `core`. Of the places that an inlined instruction has, this
    /// is the innermost in the file of the function that it ended up in: the user's own line.
    pub fn debug_location(self) -> Option<Location> {
        let non_null = |location: LLVMMetadataRef| (!location.is_null()).then_some(location);
        let innermost = non_null(unsafe { LLVMInstructionGetDebugLoc(self.0) });
        let outward = |location: &LLVMMetadataRef| non_null(unsafe { LLVMDILocationGetInlinedAt(*location) });
        let places: Vec<_> =
            std::iter::successors(innermost, outward).filter_map(|location| unsafe { place(location) }).collect();
        let own = &places.last()?.file;
        places.iter().find(|place| place.file == *own).cloned()
    }

    /// The instruction as LLVM prints it, without its metadata. Slow: LLVM numbers the whole module for it.
    pub fn text(self) -> String {
        let text = unsafe { message(LLVMPrintValueToString(self.0)) };
        let text = text.trim();
        text.split_once(", !").map_or(text, |(head, _)| head).to_owned()
    }
}

/// The place that a location names, unless it was made up by the compiler.
unsafe fn place(location: LLVMMetadataRef) -> Option<Location> {
    let string = |get: &dyn Fn(*mut u32) -> *const std::ffi::c_char| {
        let mut length = 0;
        let start = get(&mut length);
        if start.is_null() {
            return String::new();
        }
        let bytes = unsafe { std::slice::from_raw_parts(start.cast(), length as usize) };
        String::from_utf8_lossy(bytes).into_owned()
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

/// LLVM's words and ours, in both directions.
macro_rules! correspondence {
    ($llvm:ident $ours:ident, $to_ours:ident $to_llvm:ident: $($theirs:ident $our:ident),+; $(else $other:ident => $never:expr)?) => {
        fn $to_ours(llvm: $llvm) -> $ours {
            match llvm {
                $($llvm::$theirs => $ours::$our,)*
                $($llvm::$other => $never,)?
            }
        }

        pub fn $to_llvm(ours: $ours) -> $llvm {
            match ours {
                $($ours::$our => $llvm::$theirs,)*
            }
        }
    };
}

correspondence! { LlvmOrdering Ordering, ordering llvm_ordering:
    LLVMAtomicOrderingUnordered Unordered,
    LLVMAtomicOrderingMonotonic Relaxed,
    LLVMAtomicOrderingAcquire Acquire,
    LLVMAtomicOrderingRelease Release,
    LLVMAtomicOrderingAcquireRelease AcqRel,
    LLVMAtomicOrderingSequentiallyConsistent SeqCst;
    else LLVMAtomicOrderingNotAtomic => unreachable!("the instruction is atomic")
}

correspondence! { BinOp RmwOp, rmw_op bin_op:
    LLVMAtomicRMWBinOpXchg Xchg,
    LLVMAtomicRMWBinOpAdd Add,
    LLVMAtomicRMWBinOpSub Sub,
    LLVMAtomicRMWBinOpAnd And,
    LLVMAtomicRMWBinOpNand Nand,
    LLVMAtomicRMWBinOpOr Or,
    LLVMAtomicRMWBinOpXor Xor,
    LLVMAtomicRMWBinOpMax Max,
    LLVMAtomicRMWBinOpMin Min,
    LLVMAtomicRMWBinOpUMax UMax,
    LLVMAtomicRMWBinOpUMin UMin,
    LLVMAtomicRMWBinOpFAdd FAdd,
    LLVMAtomicRMWBinOpFSub FSub,
    LLVMAtomicRMWBinOpFMax FMax,
    LLVMAtomicRMWBinOpFMin FMin,
    LLVMAtomicRMWBinOpUIncWrap UIncWrap,
    LLVMAtomicRMWBinOpUDecWrap UDecWrap,
    LLVMAtomicRMWBinOpUSubCond USubCond,
    LLVMAtomicRMWBinOpUSubSat USubSat,
    LLVMAtomicRMWBinOpFMaximum FMaximum,
    LLVMAtomicRMWBinOpFMinimum FMinimum;
}

/// The bits of a constant that can stand in the PTX text. A NaN stays in a register: LLVM's C API would lose its payload.
pub fn constant(value: LLVMValueRef) -> Option<u64> {
    // SAFETY: the value is live, and each accessor is called on the kind of constant that it is defined for.
    unsafe {
        if !LLVMIsAConstantInt(value).is_null() {
            return Some(LLVMConstIntGetZExtValue(value));
        }
        if !LLVMIsAConstantPointerNull(value).is_null() {
            return Some(0);
        }
        if LLVMIsAConstantFP(value).is_null() {
            return None;
        }
        let number = LLVMConstRealGetDouble(value, &mut 0);
        let float = LLVMTypeOf(value) == LLVMFloatTypeInContext(LLVMGetTypeContext(LLVMTypeOf(value)));
        (!number.is_nan()).then(|| if float { (number as f32).to_bits().into() } else { number.to_bits() })
    }
}

/// Takes a message that LLVM allocated.
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

/// The name of a value as bytes of UTF-8, wrong ones replaced.
pub fn name(value: &impl AsValueRef) -> String {
    let mut length = 0;
    // SAFETY: the value is live, and LLVM returns `length` bytes.
    let bytes =
        unsafe { std::slice::from_raw_parts(LLVMGetValueName2(value.as_value_ref(), &mut length).cast(), length) };
    String::from_utf8_lossy(bytes).into_owned()
}

/// Gives the name of one value to another.
///
/// # Safety
/// Both are live.
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

/// The function that a call calls, if it is known.
///
/// # Safety
/// The instruction is live.
pub unsafe fn callee(instruction: LLVMValueRef) -> Option<LLVMValueRef> {
    unsafe {
        let call = LLVMIsACallInst(instruction);
        let callee = if call.is_null() { call } else { LLVMIsAFunction(LLVMGetCalledValue(call)) };
        (!callee.is_null()).then_some(callee)
    }
}
