//! The replacement of an acquiring fence by acquiring reads, if that is cheaper.
//!
//! **Rule.** The fence acquires, and no later atomic write needs its release. Each atomic read that the fence acquires
//! is known: no path to the fence contains a barrier, a call, or the code before a called function. Each of these reads
//! has an acquiring form, and gets it.
//!
//! **Why.** An acquiring operation orders all later accesses, including the accesses after the fence (PTX 8.7, acquire
//! pattern). It has the scope of the operation, and the fence does not acquire at a wider scope through it: for both,
//! the other thread must be in the scope.
//!
//! The rewrite saves on targets without one-sided fences: there a fence is a MEMBAR, and an acquire only invalidates
//! the cache.

use std::collections::BTreeSet;

use ptx_lowering::{AtomicOp, Operation, Ordering};

use crate::{
    cost::Cost,
    edit::{Editor, EventPlace},
    facts::{Border, Facts},
    function::{Atomic, EventKind, Function},
    graph::{Fact, backward, loops, predecessors},
    level,
    options::{Condition, OptimizeOptions, Rewrite},
    ordering::of_halves,
};

/// Applies the rewrite. Returns whether the function changed.
pub fn run(editor: &mut Editor<'_>) -> bool {
    let border = Border::from_function(editor.function, editor.options);
    let mut changed = false;
    while let Some((fence, reads)) = next(editor, border) {
        let function = &mut *editor.function;
        let id = function.blocks[fence.0].events[fence.1].id;
        let mut ids = Vec::new();
        for (block, index) in reads {
            let event = &mut function.blocks[block].events[index];
            ids.push(event.id);
            let atomic = event.atomic_mut().expect("it is a read");
            atomic.op = acquiring(atomic.op);
        }
        function.blocks[fence.0].events.remove(fence.1);
        editor.remark(id, Rewrite::Fences, true, "removed: the reads before it acquire, which costs less");
        ids.into_iter().for_each(|id| editor.remark(id, Rewrite::Fences, true, "acquires instead of a later fence"));
        changed = true;
    }
    changed
}

/// A fence that can be removed, and the reads that must acquire instead.
fn next(editor: &Editor<'_>, border: Border) -> Option<(EventPlace, BTreeSet<EventPlace>)> {
    let (function, options) = (&*editor.function, editor.options);
    let predecessors = predecessors(function);
    let (_, depths) = loops(function, &predecessors);
    let after = backward(function, |block| Facts::at_end(block, border, options), &Facts::never(options));
    for (number, (block, fact)) in function.blocks.iter().zip(&after).enumerate() {
        let mut fact = fact.clone();
        for (index, event) in block.events.iter().enumerate().rev() {
            if let Some(fence) = event.atomic().filter(|atomic| only_acquires(atomic, &fact))
                && let Some(reads) = reads(function, &predecessors, (number, index), border, options)
                && saves(editor, &depths, fence, number, &reads) == Some(true)
            {
                return Some(((number, index), reads));
            }
            fact.pass(event);
        }
    }
    None
}

/// Whether the operation is a fence that need not release.
fn only_acquires(fence: &Atomic, after: &Facts<'_>) -> bool {
    let is_one = fence.is_fence() && fence.acquires() && fence.op.ordering != Ordering::SeqCst;
    is_one && (!fence.releases() || after.carriers.needed(level::find_level(fence)) == 0)
}

/// The operation with an ordering that acquires whatever the result.
fn acquiring(mut op: AtomicOp) -> AtomicOp {
    op.ordering = of_halves(true, op.ordering.releases());
    if let Operation::CmpXchg { failure, .. } = &mut op.operation {
        *failure = Ordering::Acquire;
    }
    op
}

fn saves(
    editor: &Editor<'_>,
    depths: &[u32],
    fence: &Atomic,
    block: usize,
    reads: &BTreeSet<EventPlace>,
) -> Option<bool> {
    let of = |of: fn(AtomicOp) -> AtomicOp| -> Option<Cost> {
        let one = |&(block, index): &EventPlace| {
            let op = editor.function.blocks[block].events[index].atomic()?.op;
            Some(editor.costs.find_cost(&of(op))?.in_loops(depths[block]))
        };
        reads.iter().map(one).sum()
    };
    let fence = editor.costs.find_cost(&fence.op)?.in_loops(depths[block]);
    Some(of(acquiring)?.is_less_than(of(|op| op)? + fence))
}

/// The reads that a fence acquires; `None` if not all of them are known, or one of them cannot change.
fn reads(
    function: &Function,
    predecessors: &[Vec<usize>],
    fence: EventPlace,
    border: Border,
    options: &OptimizeOptions,
) -> Option<BTreeSet<EventPlace>> {
    let scope = level::find_level(function.blocks[fence.0].events[fence.1].atomic()?);
    let mut reads = BTreeSet::new();
    let mut seen = vec![false; function.blocks.len()];
    let mut open = vec![fence];
    while let Some((block, end)) = open.pop() {
        let mut reaches_start = true;
        for (index, event) in function.blocks[block].events[..end].iter().enumerate().rev() {
            match &event.kind {
                EventKind::Plain => {}
                EventKind::Barrier | EventKind::Unknown(_) => return None,
                EventKind::Atomic(atomic) if atomic.is_fence() => {
                    if atomic.acquires() && level::find_level(atomic) >= scope {
                        reaches_start = false;
                        break;
                    }
                }
                EventKind::Atomic(atomic) if atomic.op.operation.reads() => {
                    if atomic.is_volatile() || !atomic.can_acquire {
                        return None;
                    }
                    let is_left_out = !reads.is_empty() && options.is_met_or_assumed(Condition::EveryRead, false);
                    if acquiring(atomic.op) != atomic.op && !is_left_out {
                        reads.insert((block, index));
                    }
                }
                EventKind::Atomic(_) => {}
            }
        }
        if !reaches_start {
            continue;
        }
        if block == 0 && !border.alone {
            return None;
        }
        for &from in &predecessors[block] {
            if !std::mem::replace(&mut seen[from], true) {
                open.push((from, function.blocks[from].events.len()));
            }
        }
    }
    // If the fence acquires no read, `unseen` handles it and gives the reason.
    (!reads.is_empty()).then_some(reads)
}
