//! What no thread can see is not ordered.
//!
//! **Rule.** In a kernel:
//! - a fence acquires nothing without an atomic read in front of it, and releases nothing without an atomic write behind it;
//! - an acquire goes where no access follows it to the end, and a release where none is in front of it, at scope cta or cluster;
//! - at scope cta nothing is ordered where a CTA has one thread, and the kernel has nothing unknown.
//!
//! **Why.** As of [`crate::rewrites::fences`], with nothing at all on one side. An acquire at a wider scope stays: a kernel that only
//! waits for a flag of the host, or of another kernel, hands what it learned to the next kernel of its stream. So does a
//! release in front of which there is nothing: what happened before the launch goes with it. Within a grid this does not matter: its
//! threads begin behind the same launch, and what comes after the grid comes after all of its threads. The memory model knows
//! no launches, so that this rests on these words.
//!
//! A thread alone in its CTA needs no order with itself: program order is in causality order (PTX 8.9.1). But what it starts may
//! go on beside it: a copy that completes on a barrier object is another agent of the same CTA, and an acquire at scope cta is
//! what makes its writes visible (8.9.4). Such instructions are unknown here, and so is what a call may start. What is sequentially
//! consistent at a wider scope orders with other CTAs, wherever its location is.

use ptx_lowering::{AtomicOp, Ordering};

use crate::{
    edit::{Change, Editor, EventPlace},
    facts::Border,
    function::{EventKind, Function},
    level,
    options::{Condition, Options, Rewrite},
    ordering::keep,
    rewrites::fences::redundant,
};

/// Whether anything was changed.
pub fn run(editor: &mut Editor<'_>) -> bool {
    let changes = alone(editor.function, editor.options);
    let changed = editor.apply(Rewrite::Unseen, changes);
    let border = Border::of(editor.function, editor.options);
    border.alone && redundant(editor, border, Rewrite::Unseen) || changed
}

/// What orders for a CTA of one thread.
fn alone(function: &Function, options: &Options) -> Vec<(EventPlace, Change)> {
    let mut changes = Vec::new();
    let unknown = !function.kernel || function.events().any(|event| matches!(event.kind, EventKind::Unknown(_)));
    if !function.single_thread || !options.met(Condition::NothingUnknown, !unknown) {
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
