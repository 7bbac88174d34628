//! The narrowing of scopes to the threads that can take part.
//!
//! **Rule.** An operation on memory gets the narrowest scope that includes every thread that can access its location. A
//! fence that acquires or releases gets the widest scope of the threads that can access the locations of the atomic
//! reads before it and of the atomic writes after it, up to fences that order them at no narrower scope. A sequentially
//! consistent fence or operation keeps its scope. If all threads that take part are known to be within a scope, no
//! operation keeps a wider scope.
//!
//! **Why.** Synchronization requires two operations on one location, each with the thread of the other in its scope
//! (PTX 8.5 and 8.7); threads that cannot access the location never synchronize through it. Causality composes over
//! scopes: a thread passes on everything that it has acquired from a release of scope cta by its next release, of any
//! scope (8.9.1). A fence orders by the accesses around it, whatever their scope: if another thread updates the value
//! of a store of scope cta, the update carries the release of the fence on at the scope of the update (8.9.2).
//!
//! The rule is local to one location, but the single order of sequentially consistent operations is not. Two such
//! operations are ordered if each has the thread of the other in its scope, whatever their locations (C++20
//! [atomics.order]). In PTX it is the `fence.sc` before an operation that orders, together with all accesses before the
//! fence. In `st.sc y; ld.sc s || st.sc s; st.rel w || ld.acq w; ld.sc y`, where only the first two threads can access
//! `s`, the load of `s` orders the store of `y` with the third thread. The scope of the load must not shrink to the
//! threads that can access `s`.
//!
//! **Reach of a location.** The creator of the function supplies it ([`crate::Address::reach`]): shared memory belongs
//! to the CTA, unless a thread of the cluster maps it (`mapa`).

use ptx_lowering::{AtomicOp, ptx::Scope};
use rustc_hash::FxHashMap;

use crate::{
    edit::{Change, Editor, from_the_back, from_the_front},
    facts::{Border, Facts},
    function::Atomic,
    graph::{backward, forward},
    level::{self, Level},
    options::{Condition, OptimizeOptions, Rewrite},
    ordering::is_seq_cst,
};

/// Applies the rewrite. Returns whether the function changed.
pub fn run(editor: &mut Editor<'_>) -> bool {
    let changed = operations(editor);
    fences(editor) || changed
}

fn operations(editor: &mut Editor<'_>) -> bool {
    let mut changes = Vec::new();
    let mut missed = Vec::new();
    let function = &*editor.function;
    for (block, events) in function.blocks.iter().enumerate() {
        for (index, event) in events.events.iter().enumerate() {
            let Some(atomic) = event.atomic().filter(|atomic| !atomic.is_volatile()) else { continue };
            let Some(address) = atomic.address else { continue };
            let reach = level::of_scope(address.reach);
            let reach = if editor.options.is_met_or_assumed(Condition::Reach, false) { 1 } else { reach };
            if let Some(change) =
                within(atomic, function.within, editor.options).filter(|_| level::of_scope(function.within) <= reach)
            {
                changes.push(((block, index), change));
                continue;
            }
            let narrowed = |scope| AtomicOp { scope: level::scope(scope), ..atomic.op };
            if !editor.options.is_met_or_assumed(Condition::SeqCstOperation, !is_seq_cst(&atomic.op)) {
                if reach < level::find_level(atomic) && editor.costs.is_less(&narrowed(reach), &atomic.op) {
                    missed.push((event.id, SEQ_CST.to_owned()));
                }
                continue;
            }
            if reach < level::find_level(atomic) {
                let message = format!("scope became {}: no other thread can access the location", level::name(reach));
                changes.push(((block, index), Change::To(narrowed(reach), message)));
            }
            let cheaper = reach > 1 && editor.costs.is_less(&narrowed(1), &atomic.op);
            if let Some(obstacle) = function.shared_obstacle.as_ref().filter(|_| cheaper && is_shared(atomic)) {
                missed.push((event.id, format!("scope cta is too narrow for shared memory: {obstacle}")));
            }
        }
    }
    missed.into_iter().for_each(|(id, message)| editor.remark(id, Rewrite::Scope, false, message));
    editor.apply(Rewrite::Scope, changes)
}

/// Narrows an operation or fence to the scope that includes all threads that take part. Sequential consistency needs no
/// wider scope.
fn within(atomic: &Atomic, within: Scope, options: &OptimizeOptions) -> Option<Change> {
    let all = if options.is_met_or_assumed(Condition::Within, false) { 1 } else { level::of_scope(within) };
    let message = || format!("scope became {}: no other thread takes part", level::name(all));
    (all < level::find_level(atomic)).then(|| Change::To(AtomicOp { scope: level::scope(all), ..atomic.op }, message()))
}

const SEQ_CST: &str = "a seq_cst operation keeps its scope, since it also orders other locations; acq_rel, if it suffices, would get the scope of the threads that can access the location";

fn is_shared(atomic: &Atomic) -> bool {
    atomic.op.operation.access().is_some_and(|access| access.space.is_shared_cta())
}

fn fences(editor: &mut Editor<'_>) -> bool {
    let options = editor.options;
    let border = Border::from_function(editor.function, options);
    let all = editor.function.within;
    // First the scope that each fence needs for the reads before it, then the scope that it needs for both sides.
    let front = forward(editor.function, Facts::at_entry(border, options));
    let mut for_reads = FxHashMap::default();
    from_the_front(editor.function, &front, |atomic, fact, event| {
        for_reads.insert(std::ptr::from_ref(event), needed(atomic, atomic.acquires(), fact));
        None
    });
    let back = backward(editor.function, |block| Facts::at_end(block, border, options), &Facts::never(options));
    let changes = from_the_back(editor.function, &back, |atomic, fact, event| {
        let seq_cst = is_seq_cst(&atomic.op) && !options.is_met_or_assumed(Condition::SeqCstFence, false);
        if !atomic.is_fence() || seq_cst {
            return within(atomic, all, options).filter(|_| atomic.is_fence());
        }
        let front = for_reads.get(&std::ptr::from_ref(event)).copied().unwrap_or(level::ALL);
        let scope = front.max(needed(atomic, atomic.releases(), fact));
        let scope = if options.is_met_or_assumed(Condition::Carriers, false) { 1 } else { scope };
        // Other rewrites handle fences that are not needed at all.
        if scope == 0 || scope >= level::of_scope(all).min(level::find_level(atomic)) {
            return within(atomic, all, options);
        }
        let message =
            format!("scope became {}: it orders by no operation that other threads observe", level::name(scope));
        Some(Change::To(AtomicOp { scope: level::scope(scope), ..atomic.op }, message))
    });
    editor.apply(Rewrite::Scope, changes)
}

fn needed(atomic: &Atomic, half: bool, fact: &Facts<'_>) -> Level {
    if half { fact.carriers.needed(level::find_level(atomic)) } else { 0 }
}
