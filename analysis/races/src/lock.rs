//! Ordering by locks: accesses between the acquisition and the release of the same lock.
//!
//! A lock is a memory location that a kernel writes in two ways. An atomic acquires the lock if the location has the
//! free value, and leaves another value there. A store of the free value releases the lock; the storing thread has
//! acquired the lock and not released it since. Each acquisition then reads the value of the previous release, because
//! no other write has the free value: between two acquisitions some thread released the lock, and no thread releases it
//! twice.

use ptx_isa::{AtomOp, Scope};

use crate::threads::{PAIR, ThreadCopy, Threads};
use ptx_solver::{solve::Answer, term::Term};

/// Whether the two threads of [`PAIR`] perform these accesses under the same lock. The threads satisfy the given
/// conditions.
pub fn is_locked(threads: &mut Threads<'_, '_>, holds: &[Term], accesses: [usize; 2]) -> bool {
    // The previous holder of the lock may be in any CTA.
    let scope = std::mem::replace(&mut threads.scope, Scope::Gpu);
    let takes: Vec<usize> = (0..threads.all.len()).filter(|at| free(threads, *at, PAIR[0]).is_some()).collect();
    let is_locked = takes.iter().any(|one| {
        takes.iter().any(|other| {
            threads.keep_pair();
            let pair = [*one, *other];
            let both = [0, 1].map(|at| holder(threads, holds, pair[at], (accesses[at], PAIR[at])));
            let [Some(first), Some(second)] = both else { return false };
            let under = [(accesses[0], first.0 != PAIR[0]), (accesses[1], second.0 != PAIR[1])];
            let holds: Vec<Term> = holds.iter().chain(&first.1).chain(&second.1).copied().collect();
            is_same(threads, &holds, [(pair[0], first.0), (pair[1], second.0)])
                && (0..threads.all.len()).all(|store| {
                    let is_write = threads.all[store].access.writes;
                    !is_write || keeps(threads, pair[0], store, &under, &takes)
                })
        })
    });
    threads.scope = scope;
    is_locked
}

/// For an atomic that may acquire a lock: the condition that it has done so in a thread.
fn free(threads: &mut Threads<'_, '_>, at: usize, copy: ThreadCopy) -> Option<Term> {
    let touch = &threads.all[at].touch;
    let (loaded, stored) = (touch.loaded?, touch.stored?);
    let free = match threads.all[at].access.op? {
        AtomOp::Cas => touch.expected?,
        // The free value of a lock that `exch` acquires: 0.
        AtomOp::Exch => threads.questions.eval.terms.constant(0, threads.questions.eval.terms.bits(loaded)),
        _ => return None,
    };
    let terms = &threads.questions.eval.terms;
    let (free_value, taken) = (terms.value(free)?, terms.value(stored)?);
    if free_value == taken || !threads.is_strong(at) {
        return None;
    }
    let [free, loaded] = [free, loaded].map(|term| threads.rename_term(term, copy));
    Some(threads.questions.eval.terms.equal(free, loaded))
}

/// The value of a free lock.
fn free_value(threads: &Threads<'_, '_>, at: usize) -> Option<u64> {
    match threads.all[at].access.op? {
        AtomOp::Cas => threads.questions.eval.terms.value(threads.all[at].touch.expected?),
        _ => Some(0),
    }
}

/// The thread that holds a lock during an access, and the facts about that thread. The access lies between the
/// acquisition and the release. The holder is the accessing thread itself or the first thread of its CTA.
fn holder(
    threads: &mut Threads<'_, '_>,
    holds: &[Term],
    take: usize,
    access: (usize, ThreadCopy),
) -> Option<(ThreadCopy, Vec<Term>)> {
    let [from, to] = [take, access.0].map(|at| threads.all[at].touch.step);
    // No store releases the lock before the access.
    if take == access.0 || may_be_given(threads, take, [from, to]) {
        return None;
    }
    threads.holders(take, access, true).into_iter().find(|(copy, known)| {
        let holds: Vec<Term> = holds.iter().chain(known).copied().collect();
        has_taken(threads, &holds, take, *copy)
    })
}

/// Whether a path leads from a store that releases a lock to a step, without an acquisition in between.
fn may_be_given(threads: &Threads<'_, '_>, take: usize, [from, to]: [usize; 2]) -> bool {
    let gives = |at: usize| threads.all[at].access.writes && is_give(threads, take, at);
    let mut steps = (0..threads.all.len()).filter(|at| gives(*at)).map(|at| threads.all[at].touch.step);
    steps.any(|give| threads.paths.reaches(give, to, &[], &|step| step == from))
}

/// Whether a thread that satisfies the given conditions has acquired a lock.
fn has_taken(threads: &mut Threads<'_, '_>, holds: &[Term], take: usize, copy: ThreadCopy) -> bool {
    let Some(free) = free(threads, take, copy) else { return false };
    let done = threads.does(take, copy);
    let terms = &mut threads.questions.eval.terms;
    let taken = terms.and(free, done);
    let not = terms.not(taken);
    let conditions = holds.iter().copied().chain([not]).collect();
    threads.questions.ask(conditions) == Answer::Never
}

/// Whether two different threads have acquired the same lock.
fn is_same(threads: &mut Threads<'_, '_>, holds: &[Term], takes: [(usize, ThreadCopy); 2]) -> bool {
    let values = takes.map(|(take, _)| free_value(threads, take));
    let (same, thread) = (threads.same_address(takes[0], takes[1]), threads.same_thread(takes[0].1, takes[1].1));
    let terms = &mut threads.questions.eval.terms;
    let elsewhere = terms.not(same);
    let apart = terms.or(elsewhere, thread);
    let conditions = holds.iter().copied().chain([apart]).collect();
    let bytes = takes.map(|(take, _)| threads.all[take].touch.bytes);
    values[0] == values[1] && bytes[0] == bytes[1] && threads.questions.ask(conditions) == Answer::Never
}

/// Whether an access writes the free value of a lock and is not an atomic that acquires one.
fn is_give(threads: &Threads<'_, '_>, take: usize, at: usize) -> bool {
    let touch = &threads.all[at].touch;
    let stored = touch.stored.and_then(|stored| threads.questions.eval.terms.value(stored));
    touch.expected.is_none() && stored.is_some() && stored == free_value(threads, take)
}

/// Whether a store preserves the lock discipline: it acquires a lock, releases one, or writes another location.
fn keeps(threads: &mut Threads<'_, '_>, take: usize, store: usize, under: &[(usize, bool)], takes: &[usize]) -> bool {
    let bytes = [take, store].map(|at| threads.all[at].touch.bytes);
    let value = free_value(threads, take);
    if takes.contains(&store) && bytes[0] == bytes[1] && free_value(threads, store) == value {
        return true;
    }
    let gives = bytes[0] == bytes[1] && is_give(threads, take, store);
    if gives && takes.iter().any(|own| free_value(threads, *own) == value && gives_back(threads, *own, store, under)) {
        return true;
    }
    threads.are_apart(take, store)
}

/// Whether a store releases a lock that its thread has acquired, once for each acquisition, and thereby releases the
/// accesses under the lock. These accesses are by the same thread, or by another thread of its CTA with a barrier in
/// between.
fn gives_back(threads: &mut Threads<'_, '_>, take: usize, store: usize, under: &[(usize, bool)]) -> bool {
    let [from, to] = [take, store].map(|at| threads.all[at].touch.step);
    if !threads.precedes(take, store)
        || !threads.acquires(take, to)
        || !threads.releases(from, store)
        || !under.iter().all(|(access, is_of_all)| {
            threads.releases(threads.all[*access].touch.step, store)
                && (!is_of_all || threads.releases_of_all(store) && threads.is_after_barrier(*access, store))
        })
    {
        return false;
    }
    if may_be_given(threads, take, [from, to]) {
        return false;
    }
    let copy = threads.add();
    let holds = threads.holds(store, copy);
    if !has_taken(threads, &holds, take, copy) {
        return false;
    }
    let same = threads.same_address((take, copy), (store, copy));
    let apart = threads.questions.eval.terms.not(same);
    let conditions = holds.into_iter().chain([apart]).collect();
    threads.questions.ask(conditions) == Answer::Never
}
