//! Order by values: what is published by a release and read behind the acquire that saw it.
//!
//! Two accesses are in order if the second one stands behind an acquire whose value only a release can have written that stands behind the
//! first one. So the question is who else can have written that value: what memory has at the beginning (zero), and all other writes of the
//! kernel. Of tickets and of what is served next, the values grow from one thread to the next: there a writer that has acquired a smaller
//! value itself is right, too, as long as that one is above the value of the first thread. That is proved once for all such threads, by
//! induction over the values.

use std::time::Instant;

use ptx_isa::Scope;

use crate::{
    assumption::Assumption,
    doubts::{Doubt, Doubts},
    term::Term,
    threads::{Copy, PAIR},
};

/// Whether the accesses of the threads of [`PAIR`], of which some conditions hold, are in order one way or the other.
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
            rows.extend(if attempt == 0 { by_value(doubts, first, second) } else { by_chain(doubts, first, second) });
        }
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

/// For each acquire in front of the second access, what it would take for it to have seen something else than a release behind the
/// first one.
fn by_value(doubts: &mut Doubts<'_, '_, '_>, first: (usize, Copy), (second, copy): (usize, Copy)) -> Vec<Vec<Doubt>> {
    let until = doubts.threads.questions.limits.until;
    let mut rows = Vec::new();
    for load in (0..doubts.threads.all.len()).take_while(|_| Instant::now() < until) {
        if load == second || doubts.threads.all[load].touch.loaded.is_none() || !doubts.threads.is_strong(load) {
            continue;
        }
        let step = doubts.threads.all[second].touch.step;
        let mut seen: Vec<(Copy, Vec<Term>)> = Vec::new();
        if doubts.threads.precedes(load, second) && doubts.threads.acquires(load, step) {
            seen.push((copy, Vec::new()));
        }
        if doubts.is_handed_on(load, second) {
            seen.extend(doubts.threads.first_of_cta(load, (second, copy)));
        }
        for (seen, known) in seen {
            let done = doubts.threads.does(load, seen);
            let done = doubts.threads.questions.eval.terms.not(done);
            let mut row = vec![Doubt { holds: vec![done], copy: None }];
            row.extend(doubts.writers((load, seen), &mut |own, writer| own.threads.released(first, writer)));
            row.iter_mut().for_each(|doubt| doubt.holds.extend(&known));
            rows.push(row);
        }
    }
    rows
}

/// The same where values grow from one thread to the next: what it would take for the second thread to have seen no more than the first.
fn by_chain(doubts: &mut Doubts<'_, '_, '_>, first: (usize, Copy), (second, copy): (usize, Copy)) -> Vec<Vec<Doubt>> {
    let until = doubts.threads.questions.limits.until;
    let mut rows = Vec::new();
    for load in (0..doubts.threads.all.len()).take_while(|_| Instant::now() < until) {
        let Some(loaded) = doubts.threads.all[load].touch.loaded else { continue };
        let step = doubts.threads.all[second].touch.step;
        let is_before = |own: &Doubts<'_, '_, '_>, at: usize| load != at && own.threads.precedes(load, at);
        if !is_before(doubts, first.0)
            || !is_before(doubts, second)
            || !doubts.threads.acquires(load, step)
            || !grows(doubts, first, load)
        {
            continue;
        }
        let [before, value] = [first.1, copy].map(|copy| doubts.threads.of(loaded, copy));
        let done = [first.1, copy].map(|copy| doubts.threads.does(load, copy));
        let same = doubts.threads.meet((load, first.1), (load, copy));
        let terms = &mut doubts.threads.questions.eval.terms;
        let more = terms.less(false, before, value);
        let row = [done[0], done[1], same, more].map(|holds| Doubt { holds: vec![terms.not(holds)], copy: None });
        rows.push(row.into());
    }
    rows
}

/// Whether each thread that has seen more than the first one is behind a release of it: proved by induction over what it has seen.
fn grows(doubts: &mut Doubts<'_, '_, '_>, first: (usize, Copy), load: usize) -> bool {
    let Some(loaded) = doubts.threads.all[load].touch.loaded else { return false };
    let seen = doubts.threads.add();
    let mut holds = doubts.threads.holds(first.0, first.1);
    holds.extend(doubts.threads.holds(load, first.1));
    holds.extend(doubts.threads.holds(load, seen));
    holds.push(doubts.threads.meet((load, first.1), (load, seen)));
    let [before, value] = [first.1, seen].map(|copy| doubts.threads.of(loaded, copy));
    holds.push(doubts.threads.questions.eval.terms.less(false, before, value));
    let row = doubts.writers((load, seen), &mut |own, writer| {
        let released = own.threads.released(first, writer);
        let link = link(own, (load, seen), [before, value], writer);
        own.threads.questions.eval.terms.or(released, link)
    });
    doubts.is_impossible(&holds, &[first.1, seen], &[row])
}

/// That a writer has acquired a value between two others itself, and releases what is behind that.
fn link(
    doubts: &mut Doubts<'_, '_, '_>,
    seen: (usize, Copy),
    [before, value]: [Term; 2],
    (store, writer): (usize, Copy),
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
    let same = doubts.threads.meet((load, writer), seen);
    let terms = &mut doubts.threads.questions.eval.terms;
    let all = [done, same, terms.less(false, before, own), terms.less(false, own, value)];
    terms.all(all)
}
