//! The removal of redundant writes from operations that are expanded to a loop.
//!
//! **Rule.** A read-modify-write that the target expands to a compare-and-swap loop, such as a floating-point maximum,
//! leaves the loop without writing if it would write back the value that it read. The operation must not release, and
//! no releasing fence may precede it.
//!
//! **Why.** Insert a write of the same value directly after the write that was read, next in coherence order: the
//! result is an execution of the source. No read returns a different value because of the inserted write. A read of the
//! inserted write synchronizes with the same releases as a read of the original write, because a read-modify-write
//! continues a release sequence (C++20 [intro.races]; PTX 8.6, where observation is transitive). But a releasing fence
//! before the operation would make the write the head of another release sequence: in the source, a thread that reads
//! the write acquires everything that the fence releases. Without the write, no thread does.
//!
//! The rewrite helps under contention, where a write takes the cache line from all other threads and a read does not;
//! the cost model does not show that.

use ptx_lowering::{AtomicOp, Operation};

use crate::{
    edit::{Editor, from_the_front},
    facts::{Border, Facts},
    graph::forward,
    options::{Condition, Rewrite},
};

/// Applies the rewrite. Returns whether the function changed.
pub fn run(editor: &mut Editor<'_>) -> bool {
    let options = editor.options;
    let facts = forward(editor.function, Facts::at_entry(Border::from_function(editor.function, options), options));
    let mut found = Vec::new();
    from_the_front(editor.function, &facts, |atomic, fact, event| {
        let fence = options.is_met_or_assumed(Condition::NoReleaseFence, !fact.released);
        if let Operation::Rmw(rmw, access) = atomic.op.operation {
            let allowed = Operation::Rmw(rmw, ptx_lowering::Access { may_skip_write: true, ..access });
            let op = AtomicOp { operation: allowed, ..atomic.op };
            // A releasing operation is lowered as if it lacked the permission.
            if editor.costs.differs(&op, &atomic.op) {
                found.push((event.id, fence.then_some(op)));
            }
        }
        None
    });
    let mut changed = false;
    for (id, op) in found {
        let Some(op) = op else {
            editor.remark(id, Rewrite::Writes, false, "a fence that releases may precede it");
            continue;
        };
        let events = editor.function.blocks.iter_mut().flat_map(|block| &mut block.events);
        if let Some(atomic) = events.into_iter().find(|event| event.id == id).and_then(|event| event.atomic_mut()) {
            atomic.op = op;
            changed = true;
            editor.remark(id, Rewrite::Writes, true, "leaves its loop without writing where it would change nothing");
        }
    }
    changed
}
