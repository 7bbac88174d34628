//! Barriers of the whole grid, as cooperative groups implement them.
//!
//! All threads of a CTA synchronize. The first thread adds to a counter in memory, and waits until the highest bit of
//! the counter differs from the bit that it read. One CTA adds a number and every other CTA adds one, such that all
//! additions together add exactly the highest bit. The bit therefore changes when the last CTA has arrived, and does
//! not change again before each CTA has reached the next barrier.

use std::collections::BTreeSet;

use ptx_isa::{AtomOp, Scope, SpecialVector};

use crate::{
    question::{LocatedAccess, Questions, is_of_cta},
    state::State,
    threads::{PAIR, ThreadCopy, Threads},
};
use ptx_solver::{
    solve::Answer,
    term::{Binary, Term},
};

/// The access by which a CTA arrives at a barrier of the grid, if the code between two barriers of the CTA does nothing
/// else. `state` is the state of a thread at the second barrier.
pub fn arrival(threads: &mut Threads<'_, '_>, barrier: Option<usize>, state: &State) -> Option<usize> {
    threads.scope = Scope::Gpu;
    threads.keep_pair();
    let writes = |own: &LocatedAccess| own.access.writes;
    let adds: Vec<usize> = (0..threads.all.len()).filter(|at| writes(&threads.all[*at])).collect();
    let polls: Vec<usize> = (0..threads.all.len()).filter(|at| !writes(&threads.all[*at])).collect();
    let ([add], [poll]) = (&adds[..], &polls[..]) else { return None };
    let (add, poll) = (*add, *poll);
    let is_add = threads.all[add].access.op == Some(AtomOp::Add) && !is_of_cta(threads.flat(), &threads.all[add]);
    let bytes = [add, poll].map(|at| threads.all[at].touch.bytes);
    // Only paths from one barrier to the next count: a loop around both accesses passes the barriers.
    let is_barrier = |step: usize| threads.paths.barriers().any(|(_, barrier)| barrier == step);
    let steps = [add, poll].map(|at| threads.all[at].touch.step);
    let leads = |from: usize, to: usize| threads.paths.reaches(steps[from], steps[to], &[], &is_barrier);
    let is_ordered = threads.is_strong(add)
        && threads.is_strong(poll)
        && leads(0, 1)
        && !leads(1, 0)
        && threads.releases(barrier?, add)
        && threads.acquires_for_all(poll);
    let is_such = is_add && bytes == [4, 4] && is_ordered && threads.all[add].touch.around.is_empty();
    (is_such && adds_one_bit(threads, add)? && waits(threads, [add, poll], state)?)
        .then_some(threads.all[add].touch.step)
}

/// Whether all CTAs together add the highest bit: the CTA whose indices are zero adds 2^31 minus the number of the
/// other CTAs, and each other CTA adds one.
fn adds_one_bit(threads: &mut Threads<'_, '_>, add: usize) -> Option<bool> {
    let [one, other] = PAIR;
    let (loaded, stored) = (threads.all[add].touch.loaded?, threads.all[add].touch.stored?);
    let by = threads.questions.eval.terms.sub(stored, loaded);
    let by = threads.rename_term(by, one);
    let first = first_cta(threads, one);
    let sizes = SpecialVector::Nctaid.elements().map(|element| threads.questions.eval.special(element));
    let terms = &mut threads.questions.eval.terms;
    let plane = terms.binary(Binary::Mul, sizes[0], sizes[1]);
    let all = terms.binary(Binary::Mul, plane, sizes[2]);
    let (bit, single) = (terms.constant((1 << 31) + 1, 32), terms.constant(1, 32));
    let rest = terms.sub(bit, all);
    let right = terms.choose(first, rest, single);
    let is_right = terms.equal(by, right);
    let wrong = terms.not(is_right);
    let mut conditions = threads.holds(add, one);
    conditions.push(wrong);
    if threads.questions.ask(conditions) != Answer::Never {
        return Some(false);
    }
    // One thread of each CTA adds, always at the same address.
    let mut both = threads.holds(add, one);
    both.extend(threads.holds(add, other));
    let (cta, thread) = (threads.same(SpecialVector::Ctaid, one, other), threads.same(SpecialVector::Tid, one, other));
    let meet = threads.same_address((add, one), (add, other));
    let terms = &mut threads.questions.eval.terms;
    let (apart, elsewhere) = (terms.not(thread), terms.not(meet));
    let again = both.iter().copied().chain([cta, apart]).collect();
    let elsewhere = both.iter().copied().chain([elsewhere]).collect();
    Some(threads.questions.ask(again) == Answer::Never && threads.questions.ask(elsewhere) == Answer::Never)
}

/// The condition that a thread belongs to the CTA whose indices are zero.
fn first_cta(threads: &mut Threads<'_, '_>, copy: ThreadCopy) -> Term {
    is_zero(threads, SpecialVector::Ctaid, copy)
}

/// The condition that all three indices are zero.
fn is_zero(threads: &mut Threads<'_, '_>, vector: SpecialVector, copy: ThreadCopy) -> Term {
    let mut all = threads.questions.eval.terms.truth(true);
    for element in vector.elements() {
        let index = threads.questions.eval.special(element);
        let index = threads.rename_term(index, copy);
        let terms = &mut threads.questions.eval.terms;
        let zero = terms.constant(0, 32);
        let equal = terms.equal(index, zero);
        all = terms.and(all, equal);
    }
    all
}

/// Whether the first thread of each CTA reaches the second barrier only after it has added and has observed a changed
/// highest bit.
fn waits(threads: &mut Threads<'_, '_>, [add, poll]: [usize; 2], state: &State) -> Option<bool> {
    let copy = PAIR[0];
    let done = [add, poll].map(|at| threads.does(at, copy));
    let same = threads.same_address((add, copy), (poll, copy));
    let (before, now) = (threads.loaded(add, copy)?, threads.loaded(poll, copy)?);
    let terms = &mut threads.questions.eval.terms;
    let changed = terms.binary(Binary::Xor, before, now);
    let bit = terms.extract(changed, 31, 1);
    let right = terms.all([done[0], done[1], same, bit]);
    let wrong = terms.not(right);
    let mut conditions = threads.sizes(copy);
    conditions.extend(threads.all_of(&state.holds, copy));
    conditions.push(is_zero(threads, SpecialVector::Tid, copy));
    conditions.push(wrong);
    Some(threads.questions.ask(conditions) == Answer::Never)
}

/// Whether only the arrivals at barriers of the grid write the counters of these barriers.
pub fn is_alone(questions: &mut Questions<'_>, all: &[LocatedAccess], adds: &BTreeSet<usize>) -> bool {
    let counters: Vec<&LocatedAccess> = all.iter().filter(|own| adds.contains(&own.touch.step)).collect();
    let others = all.iter().filter(|own| own.access.writes && !adds.contains(&own.touch.step));
    others
        .collect::<Vec<_>>()
        .into_iter()
        .all(|other| counters.iter().all(|counter| questions.address_pairs(counter, other).is_empty()))
}
