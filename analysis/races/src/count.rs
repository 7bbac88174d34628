//! Ordering by counting: accesses after all CTAs have arrived at a counter.
//!
//! One thread of each CTA adds one to a counter that begins with zero, once. The thread that reads the number of CTAs
//! minus one is the last to arrive. Each addition reads the result of another addition, so the last thread has observed
//! all additions (observation order, section 8.9.2 of the manual) and acquires everything that the other threads
//! released. It may pass this information to the rest of its CTA through shared memory. A thread that reads the number
//! of CTAs without adding has observed all additions, too.

use ptx_isa::{AtomOp, Scope, SpecialVector};

use crate::{
    assumption::Assumption,
    doubts::{Doubt, Doubts},
    question::{is_of_cta, may_begin_with_zero},
    threads::{PAIR, ThreadCopy, Threads},
};
use ptx_solver::{
    solve::Answer,
    term::{Binary, Term},
};

/// A counter of arrivals.
#[derive(Clone, Copy, Debug)]
pub struct Counter {
    /// The access by which a CTA arrives.
    add: usize,
    /// Whether the last CTA resets the counter.
    is_reset: bool,
}

/// The counters of a kernel.
pub fn counters(doubts: &mut Doubts<'_, '_, '_>) -> Vec<Counter> {
    doubts.threads.scope = Scope::Gpu;
    (0..doubts.threads.all.len()).filter_map(|add| counter(doubts, add)).collect()
}

fn counter(doubts: &mut Doubts<'_, '_, '_>, add: usize) -> Option<Counter> {
    if !is_arrival(doubts.threads, add)? {
        return None;
    }
    let mut counter = Counter { add, is_reset: false };
    for store in 0..doubts.threads.all.len() {
        if store == add || !doubts.threads.all[store].access.writes || doubts.threads.are_apart(add, store) {
            continue;
        }
        doubts.threads.keep_pair();
        let holds = doubts.threads.holds(store, PAIR[0]);
        if !is_last(doubts, counter, &holds, (store, PAIR[0])) {
            return None;
        }
        counter.is_reset = true;
    }
    Some(counter)
}

/// Whether an atomic adds one, until the last CTA has arrived, always at the same address, and at most once for each
/// CTA.
fn is_arrival(threads: &mut Threads<'_, '_>, add: usize) -> Option<bool> {
    let own = &threads.all[add];
    let (loaded, stored) = (own.touch.loaded?, own.touch.stored?);
    let flat = threads.flat();
    let is_counter = matches!(own.access.op?, AtomOp::Add | AtomOp::Inc) && may_begin_with_zero(flat, own);
    if !is_counter || !threads.is_strong(add) || is_of_cta(flat, own) {
        return Some(false);
    }
    threads.keep_pair();
    let [one, other] = PAIR;
    let mut wrong = threads.holds(add, one);
    let [before, after] = [loaded, stored].map(|term| threads.rename_term(term, one));
    let last = last(threads, before);
    let terms = &mut threads.questions.eval.terms;
    let bits = terms.bits(before);
    let step = terms.constant(1, bits);
    let more = terms.add(before, step);
    let (is_one_more, is_early) = (terms.equal(after, more), terms.less(false, before, last));
    wrong.extend([terms.not(is_one_more), is_early]);
    if threads.questions.ask(wrong) != Answer::Never {
        return Some(false);
    }
    let mut both = threads.holds(add, one);
    both.extend(threads.holds(add, other));
    let is_never = |threads: &mut Threads<'_, '_>, more: &[Term]| {
        let conditions = both.iter().chain(more).copied().collect();
        threads.questions.ask(conditions) == Answer::Never
    };
    let (cta, same) = (threads.same(SpecialVector::Ctaid, one, other), threads.same_instance(add, one, other));
    let meet = threads.same_address((add, one), (add, other));
    let [again, elsewhere] = [same, meet].map(|term| threads.questions.eval.terms.not(term));
    Some(is_never(threads, &[cta, again]) && is_never(threads, &[elsewhere]))
}

/// The number of CTAs, in the width of a given term.
fn ctas(threads: &mut Threads<'_, '_>, like: Term) -> Term {
    let sizes = SpecialVector::Nctaid.elements().map(|element| threads.questions.eval.special(element));
    let terms = &mut threads.questions.eval.terms;
    let bits = terms.bits(like);
    let [x, y, z] = sizes.map(|size| terms.widen(size, bits, false));
    let plane = terms.binary(Binary::Mul, x, y);
    terms.binary(Binary::Mul, plane, z)
}

/// The value that the last CTA reads.
fn last(threads: &mut Threads<'_, '_>, like: Term) -> Term {
    let all = ctas(threads, like);
    let terms = &mut threads.questions.eval.terms;
    let one = terms.constant(1, terms.bits(like));
    terms.sub(all, one)
}

/// Whether accesses of the two threads of [`PAIR`] are ordered by a counter. The threads belong to two CTAs and satisfy
/// the given conditions. Either one access precedes the arrival of its CTA and the other follows the arrival of all
/// CTAs, or both follow the last arrival in different CTAs, which cannot happen.
pub fn is_counted(doubts: &mut Doubts<'_, '_, '_>, counters: &[Counter], holds: &[Term], accesses: [usize; 2]) -> bool {
    doubts.threads.scope = Scope::Gpu;
    let [one, other] = [0, 1].map(|at| (accesses[at], PAIR[at]));
    let is_done = counters.iter().any(|counter| {
        let mut is_before = |first: (usize, ThreadCopy), second: (usize, ThreadCopy)| {
            doubts.threads.keep_pair();
            is_released(doubts.threads, holds, first, counter.add)
                && (is_last(doubts, *counter, holds, second) || has_seen_all(doubts, *counter, holds, second))
        };
        is_before(one, other)
            || is_before(other, one)
            || [one, other].iter().all(|own| is_last(doubts, *counter, holds, *own))
    });
    if is_done {
        doubts.threads.questions.assumptions.extend([Assumption::Zeros, Assumption::Tickets]);
    }
    is_done
}

/// Whether the CTA of a thread arrives after an access and thereby releases it. The arrival may be the access itself.
fn is_released(threads: &mut Threads<'_, '_>, holds: &[Term], first: (usize, ThreadCopy), add: usize) -> bool {
    if first.0 == add {
        return true;
    }
    let new = threads.add();
    let mut conditions = holds.to_vec();
    conditions.extend(threads.holds(add, new));
    conditions.push(threads.same(SpecialVector::Ctaid, first.1, new));
    let released = threads.released(first, (add, new));
    conditions.push(threads.questions.eval.terms.not(released));
    threads.questions.ask(conditions) == Answer::Never
}

/// Whether an access follows the arrival of its CTA as the last one. The access is by the thread that arrived, or
/// depends on a value that this thread wrote to shared memory.
fn is_last(
    doubts: &mut Doubts<'_, '_, '_>,
    counter: Counter,
    holds: &[Term],
    (access, copy): (usize, ThreadCopy),
) -> bool {
    let add = counter.add;
    let step = doubts.threads.all[access].touch.step;
    doubts.begin();
    doubts.threads.keep_pair();
    if doubts.threads.precedes(add, access) && doubts.threads.acquires(add, step) {
        let last = came_last(doubts.threads, add, copy);
        let not = doubts.threads.questions.eval.terms.not(last);
        if doubts.is_impossible(holds, &PAIR, &[vec![Doubt { holds: vec![not], copies: Vec::new() }]]) {
            return true;
        }
    }
    // A location without a race was written by the loading thread itself, or before a barrier that precedes the load.
    let is_word = |doubts: &Doubts<'_, '_, '_>, load: usize| {
        let own = &doubts.threads.all[load];
        own.access.strong().is_none()
            && own.touch.loaded.is_some()
            && is_of_cta(doubts.threads.flat(), own)
            && !doubts.racy.contains(&own.touch.step)
            && doubts.threads.precedes(load, access)
            && doubts.threads.acquires(add, own.touch.step)
            && doubts.threads.acquires_for_all(add)
    };
    let words: Vec<usize> = (0..doubts.threads.all.len()).filter(|load| is_word(doubts, *load)).collect();
    words.into_iter().any(|load| {
        doubts.threads.keep_pair();
        let done = doubts.threads.does(load, copy);
        let not_done = doubts.threads.questions.eval.terms.not(done);
        let mut row = vec![Doubt { holds: vec![not_done], copies: Vec::new() }];
        row.extend(doubts.writers((load, copy), &mut |own, (store, writer)| {
            if !own.threads.precedes(add, store) {
                return own.threads.questions.eval.terms.truth(false);
            }
            let (last, cta) =
                (came_last(own.threads, add, writer), own.threads.same(SpecialVector::Ctaid, writer, copy));
            own.threads.questions.eval.terms.and(last, cta)
        }));
        doubts.is_impossible(holds, &PAIR, &[row])
    })
}

/// The condition that a thread has arrived as the last one.
fn came_last(threads: &mut Threads<'_, '_>, add: usize, copy: ThreadCopy) -> Term {
    let done = threads.does(add, copy);
    let Some(loaded) = threads.loaded(add, copy) else { return threads.questions.eval.terms.truth(false) };
    let last = last(threads, loaded);
    let terms = &mut threads.questions.eval.terms;
    let is_last = terms.equal(loaded, last);
    terms.and(done, is_last)
}

/// Whether an access follows a load that has read the number of CTAs from a counter that is never reset.
fn has_seen_all(
    doubts: &mut Doubts<'_, '_, '_>,
    counter: Counter,
    holds: &[Term],
    second: (usize, ThreadCopy),
) -> bool {
    if counter.is_reset {
        return false;
    }
    let add = counter.add;
    let bytes = doubts.threads.all[add].touch.bytes;
    (0..doubts.threads.all.len()).any(|load| {
        let own = &doubts.threads.all[load];
        let is_load = own.touch.loaded.is_some() && !own.access.writes && own.touch.bytes == bytes;
        if !is_load || !doubts.threads.is_strong(load) {
            return false;
        }
        doubts.begin();
        doubts.threads.keep_pair();
        doubts.threads.holders(load, second, true).into_iter().any(|(copy, known)| {
            let Some(loaded) = doubts.threads.loaded(load, copy) else { return false };
            let (done, all) = (doubts.threads.does(load, copy), ctas(doubts.threads, loaded));
            let terms = &mut doubts.threads.questions.eval.terms;
            let less = terms.less(false, loaded, all);
            let not_done = terms.not(done);
            let mut row = [less, not_done].map(|holds| Doubt { holds: vec![holds], copies: Vec::new() }).to_vec();
            row.extend(
                doubts
                    .writers((load, copy), &mut |own, (store, _)| own.threads.questions.eval.terms.truth(store == add)),
            );
            row.iter_mut().for_each(|doubt| doubt.holds.extend(&known));
            doubts.is_impossible(holds, &PAIR, &[row])
        })
    })
}
