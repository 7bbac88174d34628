//! The removal of orderings that another fence already provides.
//!
//! **Rule.** Half of a fence, or of an operation, is removed if another fence has the same effect:
//! - an acquire, if every earlier atomic read was acquired since at the same or a wider scope, or by a fence that
//!   follows before any access;
//! - a release, if every later atomic write is released at the same or a wider scope by a fence in between, or by a
//!   preceding fence without any access since;
//! - a sequentially consistent fence next to another fence of the same or a wider scope, without any access between;
//!   likewise the fence within a sequentially consistent operation that follows such a fence.
//!
//! If one of two fences is to replace the other, no fence between them has the other half: a release passes on the
//! values of earlier acquired reads, so an acquire must not move after it.
//!
//! An update keeps its acquire and its release. Its acquire orders the write of the update itself, and its release
//! orders the read; an adjacent fence orders neither (PTX 8.8: a pattern affects the operations before its first
//! instruction, or after its last). Threads that also access the location plainly can observe the difference. And an
//! update releases the writes that it acquires, which two fences around it do not.
//!
//! Two adjacent fences become one fence with the halves of both, if that costs less.
//!
//! **Why.** A fence acquires through an atomic read that precedes it in program order, and orders the accesses after
//! it; it releases the accesses before it through an atomic write that follows it (PTX 8.6 and 8.7, acquire and release
//! patterns; C++20 [atomics.fences]). So a fence that has the same reads on one side and no fewer accesses on the other
//! makes the same pairs synchronize. PTX puts a `fence.sc` before a sequentially consistent access; two adjacent ones
//! have the same position in the order of all `fence.sc` (8.9.2).

use ptx_lowering::{AtomicOp, Operation, Ordering};

use crate::{
    edit::{Change, Editor, EventPlace, from_the_back, from_the_front},
    facts::{Border, Facts},
    function::{Atomic, Function},
    graph::{backward, forward},
    level,
    options::{Condition, OptimizeOptions, Rewrite},
    ordering::{is_seq_cst, keep, of_halves},
    rewrites::reads,
};

/// Applies the rewrite. Returns whether the function changed.
pub fn run(editor: &mut Editor<'_>) -> bool {
    let redundant = redundant(editor, Border::UNKNOWN, Rewrite::Fences);
    let joined = joined(editor);
    reads::run(editor) || joined || redundant
}

/// Removes orderings that fences, or the border of the function, make redundant.
pub fn redundant(editor: &mut Editor<'_>, border: Border, rewrite: Rewrite) -> bool {
    let changes = in_front(editor.function, border, editor.options);
    let changed = editor.apply(rewrite, changes);
    let changes = drop_releases(editor.function, border, editor.options);
    editor.apply(rewrite, changes) || changed
}

fn in_front(function: &Function, border: Border, options: &OptimizeOptions) -> Vec<(EventPlace, Change)> {
    let facts = forward(function, Facts::at_entry(border, options));
    let release = if border.alone { "no access precedes it" } else { "an earlier fence releases already" };
    let acquire = if border.alone { "no atomic read precedes it" } else { "the earlier reads are acquired already" };
    from_the_front(function, &facts, |atomic, fact, _| {
        let scope = level::ordered(atomic);
        let after_fence = fact.adjacent.seq_cst >= scope;
        let acquires = fact.carriers.needed(scope) > 0;
        // A preceding fence does not release the reads that this fence acquires.
        let passes_on = atomic.is_fence() && atomic.acquires() && acquires;
        let releases =
            fact.adjacent.one_sided < scope || !options.is_met_or_assumed(Condition::NoOtherHalfBetween, !passes_on);
        let update = orders_itself(atomic, options);
        match (atomic.is_fence(), is_seq_cst(&atomic.op)) {
            (true, true) if after_fence => weaken_ordering(atomic, [false, false], SEQ_CST_IN_FRONT),
            (false, true) if after_fence => weaken_ordering(atomic, [true, update], SEQ_CST_IN_FRONT),
            (_, true) => None,
            (true, false) => weaken_ordering(atomic, [acquires, releases], if acquires { release } else { acquire }),
            (false, false) => weaken_ordering(atomic, [true, releases || update], release),
        }
    })
}

fn drop_releases(function: &Function, border: Border, options: &OptimizeOptions) -> Vec<(EventPlace, Change)> {
    let facts = backward(function, |block| Facts::at_end(block, border, options), &Facts::never(options));
    let release =
        if border.alone { "no atomic write follows" } else { "another fence releases before the later writes" };
    let acquire = if border.alone { "no access follows" } else { "a fence acquires before any access follows" };
    from_the_back(function, &facts, |atomic, fact, _| {
        let scope = level::ordered(atomic);
        let releases = fact.carriers.needed(scope) > 0;
        // This fence does not release the reads that a later fence acquires.
        let passes_on = atomic.is_fence() && atomic.releases() && releases;
        let acquires =
            fact.adjacent.one_sided < scope || !options.is_met_or_assumed(Condition::NoOtherHalfBetween, !passes_on);
        match (atomic.is_fence(), is_seq_cst(&atomic.op)) {
            (true, true) if fact.adjacent.seq_cst >= scope => {
                weaken_ordering(atomic, [false, false], "a sequentially consistent fence follows")
            }
            (_, true) => None,
            (true, false) => weaken_ordering(atomic, [acquires, releases], if releases { acquire } else { release }),
            (false, false) => weaken_ordering(atomic, [acquires || orders_itself(atomic, options), true], acquire),
        }
    })
}

/// Whether the ordering also applies to the operation itself: the acquire of an update to its write, and the release to
/// its read.
pub fn orders_itself(atomic: &Atomic, options: &OptimizeOptions) -> bool {
    !options.is_met_or_assumed(Condition::OneUpdate, !atomic.is_update())
}

const SEQ_CST_IN_FRONT: &str = "a sequentially consistent fence precedes it";

/// The change of an operation or fence that need only acquire, only release, or neither.
fn weaken_ordering(atomic: &Atomic, [acquires, releases]: [bool; 2], why: &str) -> Option<Change> {
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

/// Merges two adjacent fences into one.
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
                let apart = costs.find_cost(&first.op)? + costs.find_cost(&second.op)?;
                Some(costs.find_cost(&both?)?.is_less_than(apart))
            };
            match both.filter(|_| saves() == Some(true)) {
                Some(op) => {
                    let events = &mut editor.function.blocks[block].events;
                    events[index + 1].atomic_mut().expect("it is a fence").op = op;
                    events.remove(index);
                    let message = format!("joined to one {} with the adjacent fence", op.ordering);
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

/// The fence with the halves of both.
fn join(first: &Atomic, second: &Atomic) -> Option<AtomicOp> {
    let fences = first.is_fence() && second.is_fence();
    let seq_cst = is_seq_cst(&first.op) || is_seq_cst(&second.op);
    if !fences || seq_cst {
        return None;
    }
    let either = |has: fn(&Atomic) -> bool| has(first) || has(second);
    let scope = level::scope(level::find_level(first).max(level::find_level(second)));
    Some(AtomicOp { ordering: of_halves(either(Atomic::acquires), either(Atomic::releases)), scope, ..first.op })
}
