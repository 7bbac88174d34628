//! What a fence orders already is not ordered again.
//!
//! **Rule.** Half of a fence, or of an operation, goes where another fence does the same:
//! - an acquire, where every atomic read in front of it was acquired since at its scope or a wider one, or by a fence that
//!   follows before any access;
//! - a release, where every atomic write behind it is released at its scope or a wider one by a fence in between, or by a fence
//!   in front without any access since;
//! - a sequentially consistent fence, next to another one of its scope or a wider one, without any access between; likewise the
//!   fence within a sequentially consistent operation that follows one.
//!
//! Between two fences of which one is to do for the other, no fence has the other half: what a read acquires, a release behind it
//! passes on, and an acquire must not move behind that.
//!
//! An update keeps its acquire and its release. Its acquire orders the write of the update itself, and its release the read of it; a fence
//! beside it orders neither (PTX 8.8: a pattern affects the operations before its first instruction, or after its last). Threads tell
//! where they also access the location plainly. And an update releases the writes that it acquires, which two fences around it do not.
//!
//! Two fences side by side become one with the halves of both, where that costs less.
//!
//! **Why.** A fence acquires through an atomic read in front of it in program order, and orders what is behind; it releases
//! what is in front of it through an atomic write behind (PTX 8.6 and 8.7, acquire and release patterns; C++20 [atomics.fences]).
//! So one that has the same reads on one side and no fewer accesses on the other makes the same pairs synchronize. PTX puts a
//! `fence.sc` in front of a sequentially consistent access; two of them side by side are in the same places of the order of
//! all `fence.sc` (8.9.2).

use ptx_lowering::{AtomicOp, Operation, Ordering};

use crate::{
    edit::{Change, Editor, EventPlace, from_the_back, from_the_front},
    facts::{Border, Facts},
    function::{Atomic, Function},
    graph::{backward, forward},
    level,
    options::{Condition, Options, Rewrite},
    ordering::{is_seq_cst, keep, of_halves},
    rewrites::reads,
};

/// Whether anything was changed.
pub fn run(editor: &mut Editor<'_>) -> bool {
    let redundant = redundant(editor, Border::UNKNOWN, Rewrite::Fences);
    let joined = joined(editor);
    reads::run(editor) || joined || redundant
}

/// Removes what fences make redundant, and what the border of the function does.
pub fn redundant(editor: &mut Editor<'_>, border: Border, rewrite: Rewrite) -> bool {
    let changes = in_front(editor.function, border, editor.options);
    let changed = editor.apply(rewrite, changes);
    let changes = behind(editor.function, border, editor.options);
    editor.apply(rewrite, changes) || changed
}

fn in_front(function: &Function, border: Border, options: &Options) -> Vec<(EventPlace, Change)> {
    let facts = forward(function, Facts::at_entry(border, options));
    let release = if border.alone { "no access stands in front" } else { "a fence in front releases already" };
    let acquire =
        if border.alone { "no atomic read stands in front" } else { "what stands in front is acquired already" };
    from_the_front(function, &facts, |atomic, fact, _| {
        let scope = level::ordered(atomic);
        let after_fence = fact.adjacent.seq_cst >= scope;
        let acquires = fact.carriers.needed(scope) > 0;
        // A fence in front does not release what this one acquires.
        let passes_on = atomic.is_fence() && atomic.acquires() && acquires;
        let releases = fact.adjacent.one_sided < scope || !options.met(Condition::NoOtherHalfBetween, !passes_on);
        let update = orders_itself(atomic, options);
        match (atomic.is_fence(), is_seq_cst(&atomic.op)) {
            (true, true) if after_fence => kept(atomic, [false, false], SEQ_CST_IN_FRONT),
            (false, true) if after_fence => kept(atomic, [true, update], SEQ_CST_IN_FRONT),
            (_, true) => None,
            (true, false) => kept(atomic, [acquires, releases], if acquires { release } else { acquire }),
            (false, false) => kept(atomic, [true, releases || update], release),
        }
    })
}

fn behind(function: &Function, border: Border, options: &Options) -> Vec<(EventPlace, Change)> {
    let facts = backward(function, |block| Facts::at_end(block, border, options), &Facts::never(options));
    let release = if border.alone { "no atomic write follows" } else { "what follows is released by another fence" };
    let acquire = if border.alone { "no access follows" } else { "a fence acquires before any access follows" };
    from_the_back(function, &facts, |atomic, fact, _| {
        let scope = level::ordered(atomic);
        let releases = fact.carriers.needed(scope) > 0;
        // What a fence behind acquires is not released by this one.
        let passes_on = atomic.is_fence() && atomic.releases() && releases;
        let acquires = fact.adjacent.one_sided < scope || !options.met(Condition::NoOtherHalfBetween, !passes_on);
        match (atomic.is_fence(), is_seq_cst(&atomic.op)) {
            (true, true) if fact.adjacent.seq_cst >= scope => {
                kept(atomic, [false, false], "a sequentially consistent fence follows")
            }
            (_, true) => None,
            (true, false) => kept(atomic, [acquires, releases], if releases { acquire } else { release }),
            (false, false) => kept(atomic, [acquires || orders_itself(atomic, options), true], acquire),
        }
    })
}

/// Whether its ordering is also for itself: the acquire of an update for its write, and the release for its read.
pub fn orders_itself(atomic: &Atomic, options: &Options) -> bool {
    !options.met(Condition::OneUpdate, !atomic.is_update())
}

const SEQ_CST_IN_FRONT: &str = "a sequentially consistent fence stands in front";

/// What is left of an operation or fence that need only acquire, or only release.
fn kept(atomic: &Atomic, [acquires, releases]: [bool; 2], why: &str) -> Option<Change> {
    let op = keep(atomic.op, acquires, releases);
    match op.ordering {
        _ if op == atomic.op => None,
        Ordering::Relaxed if atomic.is_fence() => Some(Change::Remove(format!("removed: {why}"))),
        ordering => Some(Change::To(op, format!("became {}: {why}", words(op, ordering)))),
    }
}

fn words(op: AtomicOp, ordering: Ordering) -> String {
    let word =
        |ordering: Ordering| if ordering == Ordering::Relaxed { "monotonic".to_owned() } else { ordering.to_string() };
    match op.operation {
        Operation::CmpXchg { failure, .. } => format!("{} {}", word(ordering), word(failure)),
        _ => word(ordering),
    }
}

/// Makes one of two fences that stand side by side.
fn joined(editor: &mut Editor<'_>) -> bool {
    let mut changed = false;
    for block in 0..editor.function.blocks.len() {
        let mut index = 0;
        while let Some(pair) = editor.function.blocks[block].events.get(index..index + 2) {
            let Some((first, second)) = pair[0].atomic().zip(pair[1].atomic()) else {
                index += 1;
                continue;
            };
            let (ids, both) = ((pair[0].id, pair[1].id), join(first, second));
            let costs = editor.costs;
            let saves = || {
                let apart = costs.of(&first.op)? + costs.of(&second.op)?;
                Some(costs.of(&both?)?.is_less_than(apart))
            };
            match both.filter(|_| saves() == Some(true)) {
                Some(op) => {
                    let events = &mut editor.function.blocks[block].events;
                    events[index + 1].atomic_mut().expect("it is a fence").op = op;
                    events.remove(index);
                    let message = format!("joined to one {} with the fence beside it", op.ordering);
                    for id in [ids.0, ids.1] {
                        editor.remark(id, Rewrite::Fences, true, message.clone());
                    }
                    changed = true;
                }
                None => index += 1,
            }
        }
    }
    changed
}

/// The fence with what both have.
fn join(first: &Atomic, second: &Atomic) -> Option<AtomicOp> {
    let fences = first.is_fence() && second.is_fence();
    let seq_cst = is_seq_cst(&first.op) || is_seq_cst(&second.op);
    if !fences || seq_cst {
        return None;
    }
    let either = |has: fn(&Atomic) -> bool| has(first) || has(second);
    let scope = level::scope(level::of(first).max(level::of(second)));
    Some(AtomicOp { ordering: of_halves(either(Atomic::acquires), either(Atomic::releases)), scope, ..first.op })
}
