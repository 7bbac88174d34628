//! Orderings of pairs of accesses that do not come from barriers: by locks, by values, and by counting.

use ptx_isa::{Scope, SpecialVector};
use rustc_hash::FxHashSet;

use crate::{
    count::{Counter, counters, is_counted},
    doubts::Doubts,
    lock::is_locked,
    named::{Named, is_ordered_by_named_barrier},
    publish::is_published,
    threads::{PAIR, Threads},
};
use ptx_solver::term::Term;

/// Searches for orderings.
pub struct Orders<'t, 'q, 'f> {
    doubts: Doubts<'t, 'q, 'f>,
    counters: Vec<Counter>,
    named: Vec<Named>,
}

impl<'t, 'q, 'f> Orders<'t, 'q, 'f> {
    /// `racy` are the steps that may have a race within a CTA, as far as barriers are concerned.
    pub fn new(threads: &'t mut Threads<'q, 'f>, racy: FxHashSet<usize>, named: Vec<Named>) -> Self {
        let mut doubts = Doubts::new(threads, racy);
        let counters = counters(&mut doubts);
        Self { doubts, counters, named }
    }

    /// Whether two accesses are ordered wherever threads of one CTA, or of two CTAs, access the same memory with them.
    pub fn is_ordered(&mut self, accesses: [usize; 2], is_across: bool) -> bool {
        let Self { doubts, counters, named } = self;
        let [one, other] = accesses.map(|at| &doubts.threads.all[at]);
        let bytes = [one.touch.bytes, other.touch.bytes];
        doubts.threads.questions.address_pairs(one, other).into_iter().all(|meeting| {
            let threads = &mut *doubts.threads;
            threads.scope = if is_across { Scope::Gpu } else { Scope::Cta };
            threads.keep_pair();
            let mut holds = apart(threads, is_across);
            for (at, copy) in PAIR.into_iter().enumerate() {
                holds.extend(threads.holds(accesses[at], copy));
                holds.extend(threads.all_of(&meeting.holds[at], copy));
            }
            let addresses = PAIR.map(|copy| threads.rename_term(meeting.addresses[copy], copy));
            holds.push(threads.questions.overlap(addresses, bytes));
            !is_across && is_ordered_by_named_barrier(threads, named, &holds, accesses)
                || is_locked(threads, &holds, accesses)
                || is_published(doubts, &holds, accesses)
                || is_across && is_counted(doubts, counters, &holds, accesses)
        })
    }
}

/// The condition that both threads are in different CTAs, or are different threads of one CTA.
fn apart(threads: &mut Threads<'_, '_>, is_across: bool) -> Vec<Term> {
    let [cta, thread] = [SpecialVector::Ctaid, SpecialVector::Tid].map(|vector| threads.same(vector, PAIR[0], PAIR[1]));
    let terms = &mut threads.questions.eval.terms;
    if is_across { vec![terms.not(cta)] } else { vec![cta, terms.not(thread)] }
}
