//! No scope is wider than the threads that can take part.
//!
//! **Rule.** An operation on memory gets the narrowest scope that has every thread that can name its location. A fence that
//! acquires or releases gets the widest scope of the threads that can name the locations of the atomic reads before it and of the
//! atomic writes after it, up to fences that order them at no narrower scope. A sequentially consistent fence or operation keeps its scope.
//! Where it is known that all threads that take part are within a scope, nothing has a wider one.
//!
//! **Why.** Synchronization takes two operations on one location, each with the other's thread in its scope (PTX 8.5 and 8.7);
//! threads that cannot name the location take part in none. Causality composes over scopes: what a thread of the CTA learns
//! by a release of scope cta, it passes on by a release of its own, of any scope (8.9.1). A fence orders by the accesses around
//! it, whatever their scope: where another thread updates the value of a store of scope cta, the update carries the release of the
//! fence on at its own scope (8.9.2).
//!
//! The rule is local to one location, and the single order of what is sequentially consistent is not. Two operations of it are
//! ordered where each has the other's thread in its scope, whatever their locations (C++20 [atomics.order]), and in PTX it is
//! the `fence.sc` in front of an operation that orders, with all that stands in front of that. In
//! `st.sc y; ld.sc s || st.sc s; st.rel w || ld.acq w; ld.sc y`, of which only the first two threads can name `s`, the load of `s`
//! is what orders the store of `y` with the third thread. Its scope may not shrink to that of `s`.
//!
//! **What is known of a location** is the business of whoever makes the function ([`crate::Address::reach`]): shared memory belongs to
//! the CTA, unless a thread of the cluster maps it (`mapa`).

use ptx_lowering::{AtomicOp, ptx::Scope};
use rustc_hash::FxHashMap;

use crate::{
    edit::{Change, Editor, from_the_back, from_the_front},
    facts::{Border, Facts},
    function::Atomic,
    graph::{backward, forward},
    level::{self, Level},
    options::{Condition, Options, Rewrite},
    ordering::is_seq_cst,
};

/// Whether anything was changed.
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
            let reach = if editor.options.met(Condition::Reach, false) { 1 } else { reach };
            if let Some(change) =
                within(atomic, function.within, editor.options).filter(|_| level::of_scope(function.within) <= reach)
            {
                changes.push(((block, index), change));
                continue;
            }
            let narrowed = |scope| AtomicOp { scope: level::scope(scope), ..atomic.op };
            if !editor.options.met(Condition::SeqCstOperation, !is_seq_cst(&atomic.op)) {
                if reach < level::of(atomic) && editor.costs.is_less(&narrowed(reach), &atomic.op) {
                    missed.push((event.id, SEQ_CST.to_owned()));
                }
                continue;
            }
            if reach < level::of(atomic) {
                let message = format!("scope became {}: no other thread can name the location", level::name(reach));
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

/// The scope that has all threads, if an operation or fence has a wider one. What is sequentially consistent is so with them.
fn within(atomic: &Atomic, within: Scope, options: &Options) -> Option<Change> {
    let all = if options.met(Condition::Within, false) { 1 } else { level::of_scope(within) };
    let message = || format!("scope became {}: no other thread takes part", level::name(all));
    (all < level::of(atomic)).then(|| Change::To(AtomicOp { scope: level::scope(all), ..atomic.op }, message()))
}

const SEQ_CST: &str = "what is seq_cst keeps its scope, since it also orders other locations; acq_rel, if that is enough, \
                       would get that of the threads that can name the location";

fn is_shared(atomic: &Atomic) -> bool {
    atomic.op.operation.access().is_some_and(|access| access.space.is_shared_cta())
}

fn fences(editor: &mut Editor<'_>) -> bool {
    let options = editor.options;
    let border = Border::of(editor.function, options);
    let all = editor.function.within;
    // What each fence needs for the reads in front of it, and then what it needs for both.
    let front = forward(editor.function, Facts::at_entry(border, options));
    let mut for_reads = FxHashMap::default();
    from_the_front(editor.function, &front, |atomic, fact, event| {
        for_reads.insert(std::ptr::from_ref(event), needed(atomic, atomic.acquires(), fact));
        None
    });
    let back = backward(editor.function, |block| Facts::at_end(block, border, options), &Facts::never(options));
    let changes = from_the_back(editor.function, &back, |atomic, fact, event| {
        let seq_cst = is_seq_cst(&atomic.op) && !options.met(Condition::SeqCstFence, false);
        if !atomic.is_fence() || seq_cst {
            return within(atomic, all, options).filter(|_| atomic.is_fence());
        }
        let front = for_reads.get(&std::ptr::from_ref(event)).copied().unwrap_or(level::ALL);
        let scope = front.max(needed(atomic, atomic.releases(), fact));
        let scope = if options.met(Condition::Carriers, false) { 1 } else { scope };
        // What is not needed at all is for other rewrites.
        if scope == 0 || scope >= level::of_scope(all).min(level::of(atomic)) {
            return within(atomic, all, options);
        }
        let message = format!("scope became {}: it orders by no operation that others see", level::name(scope));
        Some(Change::To(AtomicOp { scope: level::scope(scope), ..atomic.op }, message))
    });
    editor.apply(Rewrite::Scope, changes)
}

fn needed(atomic: &Atomic, half: bool, fact: &Facts<'_>) -> Level {
    if half { fact.carriers.needed(level::of(atomic)) } else { 0 }
}
