//! The application of the optimizer's changes to MLIR.

use std::collections::HashSet;

use melior::ir::{Block, BlockLike, BlockRef, ValueLike, operation::OperationLike};
use mlir_sys::*;
use ptx_atomics_common::operation::sync_scope_name;
use ptx_lowering::{AtomicOp, Operation, SyncScope, ptx::Scope};
use ptx_optimize::{Event, Function};

use super::feed::Fed;
use crate::{
    ir::{self, Builder, Op},
    vocabulary::{MAY_SKIP_WRITE, ordering_number},
};

/// Applies the changes of the optimizer to a function; `after` is the optimized form of `fed`.
pub fn apply(fed: &Fed<'_, '_>, after: &Function, default_scope: Scope) {
    let applier = Applier { fed, default_scope };
    for (end, block) in fed.ends.iter().zip(&after.blocks) {
        applier.within(*end, &block.events);
    }
    for block in &after.blocks[fed.ends.len()..] {
        if let Some((from, to)) = block.on_edge.filter(|_| !block.events.is_empty()) {
            applier.between(from, to, &block.events);
        }
    }
    let left: HashSet<_> = after.events().filter_map(|event| event.id).collect();
    for (id, (op, asked)) in fed.ops.iter().enumerate() {
        // The optimizer removes only fences.
        if !left.contains(&id) && asked.is_some_and(|asked| asked.operation == Operation::Fence) {
            ir::erase(*op);
        }
    }
}

struct Applier<'f, 'c, 'a> {
    fed: &'f Fed<'c, 'a>,
    default_scope: Scope,
}

impl<'c: 'a, 'a> Applier<'_, 'c, 'a> {
    /// Applies the events of an existing block that ends at an op.
    fn within(&self, end: Op<'c, 'a>, events: &[Event]) {
        let op = |event: &Event| event.id.map(|id| self.fed.ops[id].0);
        for (index, event) in events.iter().enumerate() {
            let Some(atomic) = event.atomic() else { continue };
            match event.id {
                Some(id) if self.fed.ops[id].1 != Some(atomic.op) => self.change(self.fed.ops[id].0, atomic.op),
                Some(_) => {}
                None => {
                    let following = events[index..].iter().find_map(op).unwrap_or_else(|| with_tail_call(end));
                    let near = events[..index].iter().rev().find_map(op).unwrap_or(following);
                    self.fence(atomic.op, following, near);
                }
            }
        }
    }

    /// Inserts the fences of an edge. The edge gets a new block, unless the block `from` has no other successor.
    fn between(&self, from: usize, to: usize, events: &[Event]) {
        let [end, target] = [from, to].map(|block| self.fed.ends[block]);
        let near = self.fed.function.blocks[from].events.iter().rev().find_map(|event| event.id);
        let near = near.map_or(end, |id| self.fed.ops[id].0);
        let Some(block) = target.block() else { return };
        let place = if end.successors().all(|successor| successor == block) { end } else { split(end, block) };
        for event in events {
            if let Some(atomic) = event.atomic() {
                self.fence(atomic.op, place, near);
            }
        }
    }

    fn change(&self, op: Op<'c, 'a>, wanted: AtomicOp) {
        let at = Builder::before(op);
        let ordering = |ordering| at.i64(ordering_number(ordering));
        match wanted.operation {
            Operation::CmpXchg { failure, .. } => {
                ir::set_inherent(op, "success_ordering", ordering(wanted.ordering));
                ir::set_inherent(op, "failure_ordering", ordering(failure));
            }
            _ => ir::set_inherent(op, "ordering", ordering(wanted.ordering)),
        }
        ir::set_inherent(op, "syncscope", at.string(self.scope(wanted.scope)));
        if wanted.operation.access().is_some_and(|access| access.may_skip_write) {
            ir::set(op, MAY_SKIP_WRITE, at.unit());
        }
    }

    /// Inserts a fence before an op. It takes its location in the source program from the op `near`.
    fn fence(&self, op: AtomicOp, before: Op<'c, 'a>, near: Op<'c, 'a>) {
        let at = Builder::before(before).at(near.location());
        let scope = at.string(self.scope(op.scope));
        at.op("llvm.fence", &[], &[("ordering", at.i64(ordering_number(op.ordering))), ("syncscope", scope)], &[]);
    }

    fn scope(&self, scope: SyncScope) -> &'static str {
        sync_scope_name(scope, self.default_scope)
    }
}

/// The end of a block, or the `musttail` call before it, because no op may separate the two. As in the pass over LLVM
/// IR, no rewrite inserts a fence after such a call.
fn with_tail_call<'c: 'a, 'a>(end: Op<'c, 'a>) -> Op<'c, 'a> {
    let before = std::iter::successors(end.block().and_then(|block| block.first_operation()), |op| op.next_in_block());
    let last = before.take_while(|op| *op != end).last();
    let is_tail = |op: &Op<'c, 'a>| {
        ir::inherent(*op, "TailCallKind").is_some_and(|kind| kind.to_string() == "#llvm.tailcallkind<musttail>")
    };
    last.filter(is_tail).unwrap_or(end)
}

/// Inserts a block on every edge from a branch to a block, and returns the terminator of the new block.
fn split<'c: 'a, 'a>(end: Op<'c, 'a>, to: BlockRef<'c, 'a>) -> Op<'c, 'a> {
    let arguments: Vec<_> = (0..to.argument_count()).filter_map(|index| to.argument(index).ok()).collect();
    let types: Vec<_> = arguments.iter().map(|argument| argument.r#type()).collect();
    let between: Block<'c> = ir::block(&types, end.location());
    // SAFETY: the block is inserted into the region of the other block, which then owns it, and the branch is live.
    let between = unsafe {
        let raw = between.into_raw();
        mlirRegionInsertOwnedBlockBefore(mlirBlockGetParentRegion(to.to_raw()), to.to_raw(), raw);
        for (number, _) in end.successors().enumerate().filter(|(_, successor)| *successor == to).collect::<Vec<_>>() {
            mlirOperationSetSuccessor(end.to_raw(), number as isize, raw);
        }
        BlockRef::from_raw(raw)
    };
    let passed: Vec<_> = (0..types.len()).filter_map(|index| between.argument(index).ok()).map(Into::into).collect();
    let name = if ir::dialect(end) == "llvm" { "llvm.br" } else { "cf.br" };
    let at = Builder::before(end).in_block(between);
    at.insert(
        at.start(name, &passed, &[]).add_successors(&[&to]).build().expect("the dialects of the built op are loaded"),
    )
}
