//! An expansion to a loop need not write what is there.
//!
//! **Rule.** A read-modify-write that becomes a compare-and-swap loop on the target, as a maximum of floats, leaves the loop
//! without writing where it would write back what it read; where it does not release, and no fence that releases stands in front
//! of it.
//!
//! **Why.** Put a write of the same value behind the one that was read, next in coherence order: that is an execution of the
//! source. Nobody reads another value for it. Reading it instead of the other one synchronizes with the same releases, since a
//! read-modify-write continues a release sequence (C++20 [intro.races]; PTX 8.6, where observation is transitive). But a fence that
//! releases in front of the operation would make it the head of another one: in the source, who reads the write acquires what
//! the fence releases. Without the write, nobody does.
//!
//! The gain is under contention, where a write takes the line from all others and a read does not; costs do not show it.

use ptx_lowering::{AtomicOp, Operation};

use crate::{
    edit::{Editor, from_the_front},
    facts::{Border, Facts},
    graph::forward,
    options::{Condition, Rewrite},
};

/// Whether anything was changed.
pub fn run(editor: &mut Editor<'_>) -> bool {
    let options = editor.options;
    let facts = forward(editor.function, Facts::at_entry(Border::of(editor.function, options), options));
    let mut found = Vec::new();
    from_the_front(editor.function, &facts, |atomic, fact, event| {
        let fence = options.met(Condition::NoReleaseFence, !fact.released);
        if let Operation::Rmw(rmw, access) = atomic.op.operation {
            let allowed = Operation::Rmw(rmw, ptx_lowering::Access { may_skip_write: true, ..access });
            let op = AtomicOp { operation: allowed, ..atomic.op };
            // What releases is lowered as if it had no permission.
            if editor.costs.differs(&op, &atomic.op) {
                found.push((event.id, fence.then_some(op)));
            }
        }
        None
    });
    let mut changed = false;
    for (id, op) in found {
        let Some(op) = op else {
            editor.remark(id, Rewrite::Writes, false, "a fence that releases may stand in front");
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
