//! The conversion of a function of LLVM IR to the optimizer's graph of events.

use inkwell::{
    attributes::{Attribute, AttributeLoc},
    basic_block::BasicBlock,
    llvm_sys::{LLVMIntPredicate, LLVMOpcode, core::*, prelude::*},
    targets::TargetData,
    values::{AsValueRef, FunctionValue, InstructionValue, PointerValue},
};
use ptx_atomics_common::{Condition, Options};
use ptx_lowering::{
    AtomicOp,
    ptx::{Scope, Space},
};
use ptx_optimize::{Atomic, Block, End, Event, EventKind, Function};
use rustc_hash::FxHashMap;

use super::{
    address::Addresses,
    shared::{is_kernel, product},
};
use crate::{
    call::{self, is_shared_with_threads},
    instruction::{Instruction, control_flow},
    version::is_conditional_branch,
};

/// A function of the optimizer, with the parts of LLVM IR that it represents.
pub struct Fed<'c> {
    pub function: Function,
    /// The blocks, by the indices of the function's blocks.
    pub blocks: Vec<BasicBlock<'c>>,
    /// The instructions, by the numbers of events, each with its operation if it is an atomic or a fence.
    pub instructions: Vec<(InstructionValue<'c>, Option<AtomicOp>)>,
}

/// The kind of metadata on a load from memory that no thread writes.
const INVARIANT: &str = "invariant.load";

/// Converts a function, given the operations of its atomics. `None` if the function must not be optimized, or has
/// control flow that GPUs do not have.
pub fn feed<'c>(
    function: FunctionValue<'c>,
    ops: &FxHashMap<LLVMValueRef, AtomicOp>,
    obstacle: Option<&str>,
    layout: &TargetData,
    options: &Options,
) -> Option<Fed<'c>> {
    let optnone = Attribute::get_named_enum_kind_id("optnone");
    if function.get_enum_attribute(AttributeLoc::Function, optnone).is_some() {
        return None;
    }
    let (blocks, next): (Vec<_>, Vec<_>) = control_flow(function).unzip();
    let mut reader = Reader {
        ops,
        options,
        of_cta: if obstacle.is_none() { Scope::Cta } else { Scope::Cluster },
        addresses: Addresses::new(&blocks, layout, options),
        instructions: Vec::new(),
        invariant: function.get_type().get_context().get_kind_id(INVARIANT),
    };
    let mut made = Vec::new();
    for (index, (block, mut next)) in blocks.iter().zip(next).enumerate() {
        next.sort_unstable();
        next.dedup();
        // SAFETY: the module was verified, so that every block ends with a terminator.
        let terminator = unsafe { LLVMGetBasicBlockTerminator(block.as_mut_ptr()) };
        let (end, branch) = unsafe { (end(terminator)?, success(terminator)) };
        let success = branch.and_then(|(exchange, successor)| Some((exchange, (index, position(&blocks, successor)?))));
        let events = block.get_instructions().filter_map(|instruction| reader.event(instruction, success)).collect();
        made.push(Block { events, next, end, ..Block::default() });
    }
    let is_kernel = is_kernel(function);
    let function = Function {
        blocks: made,
        kernel: options.is_met_or_assumed(Condition::Kernel, is_kernel),
        // The attribute has a meaning only on kernels.
        single_thread: options
            .is_met_or_assumed(Condition::OneThread, is_kernel && product(function, "nvvm.reqntid") == Some(1)),
        shared_obstacle: obstacle.map(str::to_owned),
        ..Function::default()
    };
    Some(Fed { function, blocks, instructions: reader.instructions })
}

fn position(blocks: &[BasicBlock<'_>], block: LLVMBasicBlockRef) -> Option<usize> {
    blocks.iter().position(|known| known.as_mut_ptr() == block)
}

struct Reader<'a, 'c> {
    ops: &'a FxHashMap<LLVMValueRef, AtomicOp>,
    options: &'a Options,
    /// The widest scope that contains a thread which can address a location in the CTA's shared memory.
    of_cta: Scope,
    addresses: Addresses<'a>,
    instructions: Vec<(InstructionValue<'c>, Option<AtomicOp>)>,
    invariant: u32,
}

/// A compare-and-exchange, and the edge that is taken if it succeeds.
type Success = (LLVMValueRef, (usize, usize));

impl<'c> Reader<'_, 'c> {
    fn event(&mut self, instruction: InstructionValue<'c>, success: Option<Success>) -> Option<Event> {
        let op = self.ops.get(&instruction.as_value_ref()).copied();
        let kind = match op {
            Some(op) => EventKind::Atomic(self.atomic(instruction, op, success)?),
            None => self.kind(instruction)?,
        };
        self.instructions.push((instruction, op));
        Some(Event { id: Some(self.instructions.len() - 1), kind })
    }

    /// The event for an atomic or fence; `None` if no other thread accesses the memory.
    fn atomic(&mut self, instruction: InstructionValue<'c>, op: AtomicOp, success: Option<Success>) -> Option<Atomic> {
        let raw = instruction.as_value_ref();
        let reach = match op.operation.access() {
            Some(access) if access.is_private() => return None,
            Some(access) if self.options.is_met_or_assumed(Condition::InShared, access.space.is_shared_cta()) => {
                self.of_cta
            }
            Some(access) if access.space == Space::SharedCluster => Scope::Cluster,
            _ => Scope::Sys,
        };
        let pointer = Instruction::atomic(instruction).and_then(Instruction::pointer);
        Some(Atomic {
            op,
            address: pointer.map(|pointer| self.addresses.address(pointer, reach)),
            success: success.filter(|(exchange, _)| *exchange == raw).map(|(_, edge)| edge),
            can_acquire: true,
        })
    }

    /// The kind of event that a non-atomic instruction is for the optimizer; `None` if it accesses no memory that
    /// another thread accesses.
    fn kind(&self, instruction: InstructionValue<'c>) -> Option<EventKind> {
        let raw = instruction.as_value_ref();
        // SAFETY: the instruction is live, and each accessor is called for the opcodes that have it.
        unsafe {
            let pointer = match LLVMGetInstructionOpcode(raw) {
                LLVMOpcode::LLVMLoad => 0,
                LLVMOpcode::LLVMStore => 1,
                LLVMOpcode::LLVMCall => return call::kind(instruction, self.options),
                LLVMOpcode::LLVMVAArg => return Some(EventKind::Plain),
                _ => return None,
            };
            let invariant = !LLVMGetMetadata(raw, self.invariant).is_null();
            let private = invariant || !is_shared_with_threads(PointerValue::new(LLVMGetOperand(raw, pointer)));
            if self.options.is_met_or_assumed(Condition::Private, private) {
                return None;
            }
            let plain = self.options.is_met_or_assumed(Condition::NotVolatile, LLVMGetVolatile(raw) == 0);
            Some(if !plain { EventKind::Unknown("a volatile access".into()) } else { EventKind::Plain })
        }
    }
}

/// The end of a function at this terminator, if the terminator ends it; `None` for control flow that GPUs do not have.
///
/// # Safety
/// `terminator` is the terminator of a live block.
unsafe fn end(terminator: LLVMValueRef) -> Option<End> {
    use LLVMOpcode::*;
    // SAFETY: the terminator is live.
    match unsafe { LLVMGetInstructionOpcode(terminator) } {
        LLVMUnreachable => Some(End::Never),
        LLVMInvoke | LLVMCallBr | LLVMIndirectBr | LLVMResume | LLVMCleanupRet | LLVMCatchRet | LLVMCatchSwitch => None,
        _ => Some(End::Return),
    }
}

/// The compare-and-exchange whose success determines a branch of its block, and the target of the branch on success.
///
/// # Safety
/// `terminator` is the terminator of a live block.
unsafe fn success(terminator: LLVMValueRef) -> Option<(LLVMValueRef, LLVMBasicBlockRef)> {
    // SAFETY: each accessor is called on the kind of value for which LLVM's C API defines it.
    unsafe {
        if !is_conditional_branch(terminator) {
            return None;
        }
        let (condition, negated) = without_negation(LLVMGetCondition(terminator));
        let (exchange, negated) = match comparison(condition) {
            Some((predicate, [left, right])) => {
                let old = |value| field(value).filter(|(_, field)| *field == 0).map(|(exchange, _)| exchange);
                let is_pair = |exchange: &LLVMValueRef, other| LLVMGetOperand(*exchange, 1) == other;
                let exchange = old(left).filter(|exchange| is_pair(exchange, right));
                let exchange = exchange.or_else(|| old(right).filter(|exchange| is_pair(exchange, left)))?;
                match predicate {
                    LLVMIntPredicate::LLVMIntEQ => (exchange, negated),
                    LLVMIntPredicate::LLVMIntNE => (exchange, !negated),
                    _ => return None,
                }
            }
            None => (field(condition).filter(|(_, field)| *field == 1)?.0, negated),
        };
        let [taken, other] =
            [u32::from(negated), u32::from(!negated)].map(|number| LLVMGetSuccessor(terminator, number));
        let in_block = LLVMGetInstructionParent(exchange) == LLVMGetInstructionParent(terminator);
        (in_block && taken != other).then_some((exchange, taken))
    }
}

/// The operand of a negation, or the value itself if it is not a negation; and whether it is a negation.
///
/// # Safety
/// The value is live.
unsafe fn without_negation(value: LLVMValueRef) -> (LLVMValueRef, bool) {
    // SAFETY: the value is live, and the operands are read only from an instruction that has two.
    unsafe {
        let xor = !LLVMIsAInstruction(value).is_null() && LLVMGetInstructionOpcode(value) == LLVMOpcode::LLVMXor;
        let one = || LLVMIsAConstantInt(LLVMGetOperand(value, 1));
        if xor && !one().is_null() && LLVMConstIntGetZExtValue(one()) == 1 {
            (LLVMGetOperand(value, 0), true)
        } else {
            (value, false)
        }
    }
}

/// The predicate and the operands of a comparison of integers.
///
/// # Safety
/// The value is live.
unsafe fn comparison(value: LLVMValueRef) -> Option<(LLVMIntPredicate, [LLVMValueRef; 2])> {
    // SAFETY: the value is live, and the predicate and operands are read only from an `icmp`.
    unsafe {
        let is_one = !LLVMIsAICmpInst(value).is_null();
        is_one.then(|| (LLVMGetICmpPredicate(value), [0, 1].map(|index| LLVMGetOperand(value, index))))
    }
}

/// The compare-and-exchange from whose result a value is extracted, and the index of the extracted part.
///
/// # Safety
/// The value is live.
unsafe fn field(value: LLVMValueRef) -> Option<(LLVMValueRef, u32)> {
    // SAFETY: the value is live; the operand and the index are read only from an `extractvalue`, which has an index.
    unsafe {
        if LLVMIsAExtractValueInst(value).is_null() {
            return None;
        }
        let exchange = LLVMIsAAtomicCmpXchgInst(LLVMGetOperand(value, 0));
        (!exchange.is_null()).then(|| (exchange, *LLVMGetIndices(value)))
    }
}
