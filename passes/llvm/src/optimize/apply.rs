//! The application of the optimizer's changes to LLVM IR.

use inkwell::{
    basic_block::BasicBlock,
    context::{AsContextRef, ContextRef},
    llvm_sys::{LLVMOpcode, LLVMTailCallKind, core::*, debuginfo::*, prelude::*},
    values::{AsValueRef, InstructionValue},
};
use ptx_atomics_common::operation::sync_scope_name;
use ptx_lowering::{AtomicOp, Operation, SyncScope, ptx::Scope};
use ptx_optimize::{Event, Function};
use rustc_hash::FxHashSet;

use super::feed::Fed;
use crate::{
    instruction::{Instruction, MAY_SKIP_WRITE, llvm_ordering},
    source::copy_number,
    value::{sync_scope_id, take_name, users},
};

/// Applies the changes of the optimizer to a function; `after` is the optimized form of `fed`.
pub fn apply(fed: &Fed<'_>, after: &Function, context: &ContextRef<'_>, default_scope: Scope) {
    // SAFETY: the context is live.
    let builder = unsafe { LLVMCreateBuilderInContext(context.as_ctx_ref()) };
    let applier = Applier { fed, context, builder, default_scope };
    for (block, after) in fed.blocks.iter().zip(&after.blocks) {
        applier.within(*block, &after.events);
    }
    for block in &after.blocks[fed.blocks.len()..] {
        if let Some(edge) = block.on_edge.filter(|_| !block.events.is_empty()) {
            applier.between(edge, &block.events);
        }
    }
    let left: FxHashSet<_> = after.events().filter_map(|event| event.id).collect();
    for (_, (instruction, op)) in fed.instructions.iter().enumerate().filter(|(id, _)| !left.contains(id)) {
        // The optimizer removes only fences.
        if op.is_some_and(|op| op.operation == Operation::Fence) {
            // SAFETY: the instruction is live, and a fence has no uses.
            unsafe { LLVMInstructionEraseFromParent(instruction.as_value_ref()) };
        }
    }
    // SAFETY: the builder was created above.
    unsafe { LLVMDisposeBuilder(builder) };
}

struct Applier<'a, 'c> {
    fed: &'a Fed<'c>,
    context: &'a ContextRef<'c>,
    builder: LLVMBuilderRef,
    default_scope: Scope,
}

// SAFETY of all calls below: instructions and blocks belong to a live, verified function; new values belong to its
// context.
impl<'c> Applier<'_, 'c> {
    /// Applies the events of an existing block.
    fn within(&self, block: BasicBlock<'c>, events: &[Event]) {
        let instruction = |event: &Event| event.id.map(|id| self.fed.instructions[id].0);
        for (index, event) in events.iter().enumerate() {
            let Some(op) = event.atomic().map(|atomic| atomic.op) else { continue };
            match event.id {
                Some(id) if self.fed.instructions[id].1 != Some(op) => self.change(self.fed.instructions[id].0, op),
                Some(_) => {}
                None => {
                    let following =
                        events[index..].iter().find_map(instruction).map(|following| following.as_value_ref());
                    let end = unsafe { end(block.as_mut_ptr()) };
                    let near = events[..index].iter().rev().find_map(instruction);
                    let near = near.or_else(|| events[index..].iter().find_map(instruction));
                    self.fence(op, following.unwrap_or(end), near);
                }
            }
        }
    }

    /// Inserts the fences of an edge. The edge gets a new block if the fences can be placed neither at the end of
    /// `from` nor at the beginning of `to`.
    fn between(&self, (from, to): (usize, usize), events: &[Event]) {
        let of_block = |block: usize| self.fed.function.blocks[block].events.iter().filter_map(|event| event.id);
        let near = of_block(from).next_back().or_else(|| of_block(to).next()).map(|id| self.fed.instructions[id].0);
        let [from, to] = [from, to].map(|block| self.fed.blocks[block].as_mut_ptr());
        let place = unsafe {
            let end = LLVMGetBasicBlockTerminator(from);
            if (0..LLVMGetNumSuccessors(end)).all(|number| LLVMGetSuccessor(end, number) == to) {
                end
            } else if has_one_predecessor(to) {
                skip_phis(to)
            } else {
                self.split(from, to)
            }
        };
        for op in events.iter().filter_map(|event| Some(event.atomic()?.op)) {
            self.fence(op, place, near);
        }
    }

    fn change(&self, instruction: InstructionValue<'c>, op: AtomicOp) {
        let Some(atomic) = Instruction::atomic(instruction) else { return };
        let raw = atomic.raw();
        unsafe {
            let (ordering, failure) = (llvm_ordering(op.ordering), atomic.failure_ordering());
            match op.operation {
                Operation::CmpXchg { failure: wanted, .. } => {
                    LLVMSetCmpXchgSuccessOrdering(raw, ordering);
                    if wanted != failure {
                        LLVMSetCmpXchgFailureOrdering(raw, llvm_ordering(wanted));
                    }
                }
                _ => LLVMSetOrdering(raw, ordering),
            }
            LLVMSetAtomicSyncScopeID(raw, self.scope(op.scope));
            if op.operation.access().is_some_and(|access| access.may_skip_write) {
                let node = self.context.metadata_node(&[]);
                LLVMSetMetadata(raw, self.context.get_kind_id(MAY_SKIP_WRITE), node.as_value_ref());
            }
        }
    }

    /// Inserts a fence before an instruction. It takes its location in the source program from the instruction `near`.
    fn fence(&self, op: AtomicOp, before: LLVMValueRef, near: Option<InstructionValue<'c>>) {
        unsafe {
            LLVMPositionBuilderBefore(self.builder, before);
            let ordering = llvm_ordering(op.ordering);
            let fence = LLVMBuildFenceSyncScope(self.builder, ordering, self.scope(op.scope), c"".as_ptr());
            if let Some(near) = near {
                LLVMInstructionSetDebugLoc(fence, LLVMInstructionGetDebugLoc(near.as_value_ref()));
                copy_number(self.context, near.as_value_ref(), fence);
            }
        }
    }

    fn scope(&self, scope: SyncScope) -> u32 {
        sync_scope_id(self.context, sync_scope_name(scope, self.default_scope))
    }

    /// Inserts a block on every edge from one block to another, and returns the terminator of the new block.
    unsafe fn split(&self, from: LLVMBasicBlockRef, to: LLVMBasicBlockRef) -> LLVMValueRef {
        unsafe {
            let between = LLVMInsertBasicBlockInContext(self.context.as_ctx_ref(), to, c"".as_ptr());
            LLVMPositionBuilderAtEnd(self.builder, between);
            LLVMSetCurrentDebugLocation2(self.builder, std::ptr::null_mut());
            let branch = LLVMBuildBr(self.builder, to);
            let end = LLVMGetBasicBlockTerminator(from);
            for number in (0..LLVMGetNumSuccessors(end)).filter(|number| LLVMGetSuccessor(end, *number) == to) {
                LLVMSetSuccessor(end, number, between);
            }
            let mut phi = LLVMGetFirstInstruction(to);
            while LLVMGetInstructionOpcode(phi) == LLVMOpcode::LLVMPHI {
                let next = LLVMGetNextInstruction(phi);
                self.renew(phi, from, between);
                phi = next;
            }
            branch
        }
    }

    /// Replaces a phi by a phi whose incoming values from the block `from` come from `between`.
    unsafe fn renew(&self, phi: LLVMValueRef, from: LLVMBasicBlockRef, between: LLVMBasicBlockRef) {
        unsafe {
            LLVMPositionBuilderBefore(self.builder, phi);
            let new = LLVMBuildPhi(self.builder, LLVMTypeOf(phi), c"".as_ptr());
            let incoming = (0..LLVMCountIncoming(phi))
                .map(|index| (LLVMGetIncomingValue(phi, index), LLVMGetIncomingBlock(phi, index)));
            // A `switch` may have several edges to the block, all with the same value.
            let moved = incoming.clone().find(|(_, block)| *block == from).map(|(value, _)| (value, between));
            for (mut value, mut block) in incoming.filter(|(_, block)| *block != from).chain(moved) {
                LLVMAddIncoming(new, &mut value, &mut block, 1);
            }
            if LLVMCanValueUseFastMathFlags(phi) != 0 {
                LLVMSetFastMathFlags(new, LLVMGetFastMathFlags(phi));
            }
            take_name(phi, new);
            LLVMReplaceAllUsesWith(phi, new);
            LLVMInstructionEraseFromParent(phi);
        }
    }
}

/// The instruction before which a fence at the end of a block is inserted: the terminator, or a `musttail` call before
/// it, because no instruction may separate the two. The order of events is preserved: such a block has no successor, so
/// that a rewrite places a fence at its end only if the fence was placed at its beginning, before a call that is not an
/// event.
unsafe fn end(block: LLVMBasicBlockRef) -> LLVMValueRef {
    unsafe {
        let terminator = LLVMGetBasicBlockTerminator(block);
        let is = |instruction: LLVMValueRef, opcode| {
            !instruction.is_null() && LLVMGetInstructionOpcode(instruction) == opcode
        };
        let mut last = LLVMGetPreviousInstruction(terminator);
        // A cast of the result may follow the call.
        if is(last, LLVMOpcode::LLVMBitCast) {
            last = LLVMGetPreviousInstruction(last);
        }
        let must_tail = LLVMTailCallKind::LLVMTailCallKindMustTail;
        if is(last, LLVMOpcode::LLVMCall) && LLVMGetTailCallKind(last) == must_tail { last } else { terminator }
    }
}

/// Whether all edges to a block come from the same block.
unsafe fn has_one_predecessor(block: LLVMBasicBlockRef) -> bool {
    unsafe {
        // Only terminators use a block. A use that takes the address of the block is not an edge, but counts as one.
        let users: FxHashSet<_> = users(LLVMBasicBlockAsValue(block)).collect();
        users.len() == 1
    }
}

/// The first instruction of a block after its phis.
unsafe fn skip_phis(block: LLVMBasicBlockRef) -> LLVMValueRef {
    unsafe {
        let mut instruction = LLVMGetFirstInstruction(block);
        while LLVMGetInstructionOpcode(instruction) == LLVMOpcode::LLVMPHI {
            instruction = LLVMGetNextInstruction(instruction);
        }
        instruction
    }
}
