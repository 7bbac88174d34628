//! Ordering by values: a release publishes data, and an acquire that observes the release precedes the read.
//!
//! Two accesses are ordered if the second follows an acquire whose value must come from a release that follows the
//! first access. The proof must therefore exclude every other source of that value: the initial value of memory (zero)
//! and all other writes of the kernel. The values of tickets and of "now serving" counters grow from one thread to the
//! next. There, a writer that has itself acquired a smaller value is also acceptable, as long as the smaller value is
//! above the value of the first thread. This is proved once for all such threads, by induction over the values.

use itertools::Itertools;
use ptx_isa::Scope;

use crate::{
    assumption::Assumption,
    doubts::{Doubt, Doubts},
    threads::{PAIR, ThreadCopy},
};
use ptx_solver::{solve::Answer, term::Term};

/// Whether the accesses of the two threads of [`PAIR`] are ordered in either direction. The threads satisfy the given
/// conditions.
pub fn is_published(doubts: &mut Doubts<'_, '_, '_>, holds: &[Term], accesses: [usize; 2]) -> bool {
    doubts.begin();
    let [one, other] = [0, 1].map(|at| (accesses[at], PAIR[at]));
    let is_done = (0..2).any(|attempt| {
        doubts.threads.keep_pair();
        if attempt == 1 {
            // A chain may lead through any CTA.
            doubts.threads.scope = Scope::Gpu;
        }
        let mut rows = Vec::new();
        for (first, second) in [(one, other), (other, one)] {
            rows.extend(if attempt == 0 {
                by_value(doubts, first, second)
            } else {
                by_chain(doubts, holds, first, second)
            });
        }
        // Rows with few choices come first.
        rows.sort_by_key(Vec::len);
        !rows.is_empty() && doubts.is_impossible(holds, &PAIR, &rows)
    });
    if is_done {
        doubts.threads.questions.assumptions.insert(Assumption::Zeros);
        if doubts.has_tickets() {
            doubts.threads.questions.assumptions.insert(Assumption::Tickets);
        }
    }
    is_done
}

/// For each acquire before the second access: the conditions under which the acquire has observed a write other than a
/// release after the first access.
fn by_value(
    doubts: &mut Doubts<'_, '_, '_>,
    first: (usize, ThreadCopy),
    second: (usize, ThreadCopy),
) -> Vec<Vec<Doubt>> {
    let mut rows = Vec::new();
    for load in 0..doubts.threads.all.len() {
        if doubts.threads.questions.is_spent() {
            break;
        }
        if doubts.threads.all[load].touch.loaded.is_none() || !doubts.threads.is_strong(load) {
            continue;
        }
        for (seen, known) in doubts.threads.holders(load, second, true) {
            let done = doubts.threads.does(load, seen);
            let done = doubts.threads.questions.eval.terms.not(done);
            let mut row = vec![Doubt { holds: vec![done], copies: Vec::new() }];
            row.extend(doubts.writers((load, seen), &mut |own, writer| own.threads.released(first, writer)));
            row.iter_mut().for_each(|doubt| doubt.holds.extend(&known));
            rows.push(row);
        }
    }
    rows
}

/// The same for values that grow from one thread to the next: the conditions under which the second thread has observed
/// a value that is not above the first thread's value.
fn by_chain(
    doubts: &mut Doubts<'_, '_, '_>,
    holds: &[Term],
    first: (usize, ThreadCopy),
    second: (usize, ThreadCopy),
) -> Vec<Vec<Doubt>> {
    let mut rows = Vec::new();
    for load in 0..doubts.threads.all.len() {
        if doubts.threads.questions.is_spent() {
            break;
        }
        let Some(loaded) = doubts.threads.all[load].touch.loaded else { continue };
        let firsts = doubts.threads.holders(load, first, false);
        let firsts: Vec<_> =
            firsts.into_iter().filter(|(one, known)| grows(doubts, first, load, (*one, known))).collect();
        let seconds = if firsts.is_empty() { Vec::new() } else { doubts.threads.holders(load, second, true) };
        for ((one, known), (other, more)) in firsts.into_iter().cartesian_product(seconds) {
            let copies = vec![one, other];
            let [before, value] = [one, other].map(|copy| doubts.threads.rename_term(loaded, copy));
            let done = [one, other].map(|copy| doubts.threads.does(load, copy));
            let same = doubts.threads.same_address((load, one), (load, other));
            let terms = &mut doubts.threads.questions.eval.terms;
            let more_seen = terms.less(false, before, value);
            let known: Vec<Term> = known.into_iter().chain(more).collect();
            let row = [done[0], done[1], same, more_seen].into_iter().filter_map(|needed| {
                let not = doubts.threads.questions.eval.terms.not(needed);
                let is_sure = {
                    let conditions = holds.iter().chain(&known).copied().chain([not]).collect();
                    needed != more_seen && doubts.threads.questions.ask(conditions) == Answer::Never
                };
                let holds = known.iter().copied().chain([not]).collect();
                (!is_sure).then(|| Doubt { holds, copies: copies.clone() })
            });
            rows.push(row.collect());
        }
    }
    rows
}

/// Whether each thread that has observed a larger value than the first thread follows a release of the first thread's
/// accesses. The proof is by induction over the observed value.
fn grows(
    doubts: &mut Doubts<'_, '_, '_>,
    first: (usize, ThreadCopy),
    load: usize,
    (one, known): (ThreadCopy, &[Term]),
) -> bool {
    let Some(loaded) = doubts.threads.all[load].touch.loaded else { return false };
    let seen = doubts.threads.add();
    let mut holds = doubts.threads.holds(first.0, first.1);
    holds.extend(known);
    holds.extend(doubts.threads.holds(load, one));
    holds.extend(doubts.threads.holds(load, seen));
    holds.push(doubts.threads.same_address((load, one), (load, seen)));
    let [before, value] = [one, seen].map(|copy| doubts.threads.rename_term(loaded, copy));
    holds.push(doubts.threads.questions.eval.terms.less(false, before, value));
    let row = doubts.writers((load, seen), &mut |own, writer| {
        let released = own.threads.released(first, writer);
        let link = link(own, (load, seen), [before, value], writer);
        own.threads.questions.eval.terms.or(released, link)
    });
    doubts.is_impossible(&holds, &[first.1, one, seen], &[row])
}

/// The condition that a writer has itself acquired a value between two given values, and releases the accesses that
/// followed.
fn link(
    doubts: &mut Doubts<'_, '_, '_>,
    seen: (usize, ThreadCopy),
    [before, value]: [Term; 2],
    (store, writer): (usize, ThreadCopy),
) -> Term {
    let load = seen.0;
    let steps = [load, store].map(|at| doubts.threads.all[at].touch.step);
    let is_link = load != store
        && doubts.threads.precedes(load, store)
        && doubts.threads.acquires(load, steps[1])
        && doubts.threads.releases(steps[0], store);
    let Some(own) = doubts.threads.loaded(load, writer).filter(|_| is_link) else {
        return doubts.threads.questions.eval.terms.truth(false);
    };
    let done = doubts.threads.does(load, writer);
    let same = doubts.threads.same_address((load, writer), seen);
    let terms = &mut doubts.threads.questions.eval.terms;
    let all = [done, same, terms.less(false, before, own), terms.less(false, own, value)];
    terms.all(all)
}
