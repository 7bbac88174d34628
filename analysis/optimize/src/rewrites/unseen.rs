//! The removal of orderings that no thread can observe.
//!
//! **Rule.** In a kernel:
//! - a fence acquires nothing without an earlier atomic read, and releases nothing without a later atomic write;
//! - an acquire at scope cta or cluster is removed if no access follows it, and a release if no access precedes it;
//! - at scope cta, all orderings are removed if a CTA has one thread and the kernel contains no unknown instruction.
//!
//! **Why.** See [`crate::rewrites::fences`], with no access at all on one side. An acquire at a wider scope stays: a
//! kernel that only waits for a flag of the host, or of another kernel, passes the acquired values to the next kernel
//! of its stream. A release that no access precedes stays, too: it publishes the accesses from before the launch.
//! Within a grid this does not matter: all its threads begin after the same launch, and work after the grid comes after
//! all of its threads. The memory model has no launches, so this argument is informal.
//!
//! A thread alone in its CTA needs no ordering with itself: program order is in causality order (PTX 8.9.1). But an
//! operation that the thread starts may continue in parallel: a copy that completes on a barrier object is another
//! agent of the same CTA, and an acquire at scope cta makes its writes visible (8.9.4). Such instructions are unknown
//! here, and so are operations that a called function may start. A sequentially consistent operation at a wider scope
//! orders with other CTAs, wherever its location is.

use ptx_lowering::{AtomicOp, Ordering};

use crate::{
    edit::{Change, Editor, EventPlace},
    facts::Border,
    function::{EventKind, Function},
    level,
    options::{Condition, OptimizeOptions, Rewrite},
    ordering::keep,
    rewrites::fences::redundant,
};

/// Applies the rewrite. Returns whether the function changed.
pub fn run(editor: &mut Editor<'_>) -> bool {
    let changes = alone(editor.function, editor.options);
    let changed = editor.apply(Rewrite::Unseen, changes);
    let border = Border::from_function(editor.function, editor.options);
    border.alone && redundant(editor, border, Rewrite::Unseen) || changed
}

/// The changes for a CTA of one thread.
fn alone(function: &Function, options: &OptimizeOptions) -> Vec<(EventPlace, Change)> {
    let mut changes = Vec::new();
    let unknown = !function.kernel || function.events().any(|event| matches!(event.kind, EventKind::Unknown(_)));
    if !function.single_thread || !options.is_met_or_assumed(Condition::NothingUnknown, !unknown) {
        return changes;
    }
    for (block, events) in function.blocks.iter().enumerate() {
        for (index, event) in events.events.iter().enumerate() {
            let Some(atomic) = event.atomic().filter(|atomic| !atomic.is_volatile()) else { continue };
            let why = "the CTA has one thread";
            let relaxed = AtomicOp { ordering: Ordering::Relaxed, ..keep(atomic.op, false, false) };
            let change = match level::ordered(atomic) {
                1 if atomic.is_fence() => Change::Remove(format!("removed: {why}")),
                1 if relaxed != atomic.op => Change::To(relaxed, format!("became monotonic: {why}")),
                _ => continue,
            };
            changes.push(((block, index), change));
        }
    }
    changes
}
