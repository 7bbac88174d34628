//! Several threads of one question, and the orderings of their accesses by program order and by barriers.

use ptx_isa::{
    FenceSem, Scope, Sem, SpecialVector,
    flat::{Action, Flat},
};
use rustc_hash::FxHashMap;

use crate::{
    paths::Paths,
    question::{LocatedAccess, Questions, is_of_cta},
    walked::{Arrival, Target},
};
use ptx_solver::{
    solve::Answer,
    term::{Shared, Term},
};

/// A thread of a question: a renamed copy of all terms.
pub type ThreadCopy = usize;

/// The two threads that may race.
pub const PAIR: [ThreadCopy; 2] = [0, 1];

/// The accesses of a kernel, and copies of threads that perform them.
pub struct Threads<'q, 'f> {
    pub questions: &'q mut Questions<'f>,
    pub paths: Paths<'q>,
    /// For each block, the headers of the loops that all threads of a CTA iterate together.
    pub shared: &'q [Vec<usize>],
    /// All accesses of a thread.
    pub all: &'q [LocatedAccess],
    /// The arrivals of a thread at barriers.
    pub arrivals: &'q [Arrival],
    /// The narrowest scope that reaches all threads of a question.
    pub scope: Scope,
    /// The first thread of the CTA of each copy, at one of the arrivals.
    firsts: FxHashMap<(ThreadCopy, usize), ThreadCopy>,
    /// The renamed terms of each copy.
    renamed: Vec<FxHashMap<Term, Term>>,
}

/// The required effect of a fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Does {
    Acquire,
    Release,
}

impl<'q, 'f> Threads<'q, 'f> {
    pub fn new(
        questions: &'q mut Questions<'f>,
        paths: Paths<'q>,
        shared: &'q [Vec<usize>],
        all: &'q [LocatedAccess],
        arrivals: &'q [Arrival],
    ) -> Self {
        Self {
            questions,
            paths,
            shared,
            all,
            arrivals,
            scope: Scope::Gpu,
            firsts: FxHashMap::default(),
            renamed: Vec::new(),
        }
    }

    pub fn flat(&self) -> &'f Flat {
        self.questions.eval.flat
    }

    /// Forgets all threads except the two of [`PAIR`].
    pub fn keep_pair(&mut self) {
        self.keep(PAIR.len());
        self.renamed.resize_with(PAIR.len(), FxHashMap::default);
    }

    /// Forgets all threads except the first `copies`.
    pub fn keep(&mut self, copies: usize) {
        self.renamed.truncate(copies);
        self.firsts.clear();
    }

    /// Adds a thread.
    pub fn add(&mut self) -> ThreadCopy {
        self.renamed.push(FxHashMap::default());
        self.renamed.len() - 1
    }

    /// A term of a thread.
    pub fn rename_term(&mut self, term: Term, copy: ThreadCopy) -> Term {
        self.questions.eval.terms.of_thread(term, copy as u32 + 1, Shared::Grid, &mut self.renamed[copy])
    }

    /// Several terms of a thread.
    pub fn all_of<'t>(&mut self, terms: impl IntoIterator<Item = &'t Term>, copy: ThreadCopy) -> Vec<Term> {
        terms.into_iter().map(|term| self.rename_term(*term, copy)).collect()
    }

    /// The conditions that hold of every thread.
    pub fn sizes(&mut self, copy: ThreadCopy) -> Vec<Term> {
        let all = self.questions.eval.holds();
        self.all_of(&all, copy)
    }

    /// The conditions on a thread that performs an access.
    pub fn holds(&mut self, at: usize, copy: ThreadCopy) -> Vec<Term> {
        let mut all = self.sizes(copy);
        all.extend(self.all_of(&self.all[at].touch.holds, copy));
        all
    }

    /// The condition that a thread performs an access.
    pub fn does(&mut self, at: usize, copy: ThreadCopy) -> Term {
        let all = self.all_of(&self.all[at].touch.holds, copy);
        self.questions.eval.terms.all(all)
    }

    /// The value that an access has read in a thread.
    pub fn loaded(&mut self, at: usize, copy: ThreadCopy) -> Option<Term> {
        let loaded = self.all[at].touch.loaded?;
        Some(self.rename_term(loaded, copy))
    }

    /// The condition that two threads have the same index, such as `ctaid`.
    pub fn same(&mut self, vector: SpecialVector, one: ThreadCopy, other: ThreadCopy) -> Term {
        let mut all = self.questions.eval.terms.truth(true);
        for element in vector.elements() {
            let index = self.questions.eval.special(element);
            let [a, b] = [one, other].map(|copy| self.rename_term(index, copy));
            let equal = self.questions.eval.terms.equal(a, b);
            all = self.questions.eval.terms.and(all, equal);
        }
        all
    }

    /// The condition that two copies are the same thread.
    pub fn same_thread(&mut self, one: ThreadCopy, other: ThreadCopy) -> Term {
        let (cta, thread) = (self.same(SpecialVector::Ctaid, one, other), self.same(SpecialVector::Tid, one, other));
        self.questions.eval.terms.and(cta, thread)
    }

    /// The condition that two copies perform an access as the same thread, in the same iterations of all loops.
    pub fn same_instance(&mut self, at: usize, one: ThreadCopy, other: ThreadCopy) -> Term {
        let mut same = self.same_thread(one, other);
        for (_, round) in &self.all[at].touch.around {
            let [a, b] = [one, other].map(|copy| self.rename_term(*round, copy));
            let equal = self.questions.eval.terms.equal(a, b);
            same = self.questions.eval.terms.and(same, equal);
        }
        same
    }

    /// The condition that two accesses, each of a given thread, have the same address.
    pub fn same_address(&mut self, one: (usize, ThreadCopy), other: (usize, ThreadCopy)) -> Term {
        let [a, b] = [one, other].map(|(at, copy)| self.rename_term(self.all[at].touch.address, copy));
        self.questions.eval.terms.equal(a, b)
    }

    /// Whether two accesses, of any threads, never overlap.
    pub fn are_apart(&mut self, one: usize, other: usize) -> bool {
        let pair = [one, other];
        let [a, b] = pair.map(|at| &self.all[at]);
        let bytes = [a.touch.bytes, b.touch.bytes];
        self.questions.address_pairs(a, b).into_iter().all(|meeting| {
            let copies = [self.add(), self.add()];
            let mut holds = Vec::new();
            for index in 0..2 {
                holds.extend(self.holds(pair[index], copies[index]));
                holds.extend(self.all_of(&meeting.holds[index], copies[index]));
            }
            let addresses = [0, 1].map(|index| self.rename_term(meeting.addresses[index], copies[index]));
            holds.push(self.questions.overlap(addresses, bytes));
            self.questions.ask(holds) == Answer::Never
        })
    }

    /// The headers of the loops that contain both accesses.
    fn common(&self, one: usize, other: usize) -> Vec<usize> {
        let [a, b] = [one, other].map(|at| self.all[at].touch.around.iter().map(|(header, _)| *header));
        a.zip(b).take_while(|(a, b)| a == b).map(|(a, _)| a).collect()
    }

    fn step(&self, at: usize) -> usize {
        self.all[at].touch.step
    }

    /// Whether an access precedes another access in the same iterations of their common loops: a path leads from the
    /// first to the second, and none leads back.
    pub fn precedes(&self, one: usize, other: usize) -> bool {
        let cut = self.common(one, other);
        let leads = |from: usize, to: usize| self.paths.reaches(self.step(from), self.step(to), &cut, &|_| false);
        self.step(one) != self.step(other) && leads(one, other) && !leads(other, one)
    }

    /// Whether a step is a fence that has the required effect.
    fn is_fence(&self, step: usize, does: Does) -> bool {
        let Action::Fence(fence) = &self.flat().steps[step].action else { return false };
        let is_such = match fence.sem {
            None | Some(FenceSem::Sc | FenceSem::AcqRel) => true,
            Some(FenceSem::Acquire) => does == Does::Acquire,
            Some(FenceSem::Release) => does == Does::Release,
        };
        is_such && self.flat().steps[step].guard.is_none() && fence.scope != Scope::Cluster && fence.scope >= self.scope
    }

    /// Whether an access is strong and its scope includes all threads of the question.
    pub fn is_strong(&self, at: usize) -> bool {
        let own = &self.all[at];
        let reaches = |scope: Scope| is_of_cta(self.flat(), own) || scope != Scope::Cluster && scope >= self.scope;
        own.access.strong().is_some_and(reaches)
    }

    /// Whether code at a step after a load is ordered by an acquire.
    pub fn acquires(&self, load: usize, step: usize) -> bool {
        let is_fence = |step: usize| self.is_fence(step, Does::Acquire);
        let has = matches!(self.all[load].access.sem, Sem::Acquire | Sem::AcqRel);
        self.is_strong(load) && (has || !self.paths.reaches(self.step(load), step, &[], &is_fence))
    }

    /// Whether barriers after a load are ordered by an acquire.
    pub fn acquires_for_all(&self, load: usize) -> bool {
        let is_fence = |step: usize| self.is_fence(step, Does::Acquire);
        let has = matches!(self.all[load].access.sem, Sem::Acquire | Sem::AcqRel);
        self.is_strong(load) && (has || !self.paths.reaches_barrier(self.step(load), &is_fence))
    }

    /// Whether a store releases the code at a step before the store.
    pub fn releases(&self, step: usize, store: usize) -> bool {
        let is_fence = |step: usize| self.is_fence(step, Does::Release);
        let has = matches!(self.all[store].access.sem, Sem::Release | Sem::AcqRel);
        self.is_strong(store) && (has || !self.paths.reaches(step, self.step(store), &[], &is_fence))
    }

    /// Whether a store releases accesses that barriers before the store order.
    pub fn releases_of_all(&self, store: usize) -> bool {
        self.paths.barriers().all(|(_, barrier)| self.releases(barrier, store))
    }

    /// The condition that a thread has performed an access, and that a later store releases it. The store is by the
    /// same thread, or by another thread of its CTA after a barrier.
    pub fn released(&mut self, (one, copy): (usize, ThreadCopy), (store, other): (usize, ThreadCopy)) -> Term {
        let mut all = self.questions.eval.terms.truth(false);
        if self.releases(self.step(one), store) {
            let thread = self.same_thread(copy, other);
            let cut = self.common(one, store);
            let is_apart = self.step(one) != self.step(store);
            let is_last = is_apart && !self.paths.reaches(self.step(store), self.step(one), &cut, &|_| false);
            let after = self.after((one, copy), (store, other), 0, is_last);
            let both = self.questions.eval.terms.and(thread, after);
            all = self.questions.eval.terms.or(all, both);
        }
        if self.releases(self.step(one), store) && self.releases_of_all(store) {
            let cta = self.same(SpecialVector::Ctaid, copy, other);
            let after = self.encode_after_barrier((one, copy), (store, other));
            let both = self.questions.eval.terms.and(cta, after);
            all = self.questions.eval.terms.or(all, both);
        }
        all
    }

    /// The condition that a barrier separates an access of one thread from a later access of another thread of the CTA.
    pub fn encode_after_barrier(&mut self, one: (usize, ThreadCopy), other: (usize, ThreadCopy)) -> Term {
        let cut = self.common(one.0, other.0);
        let steps = [one.0, other.0].map(|at| self.step(at));
        let is_together = steps.iter().all(|step| {
            let shared = self.paths.block_of(*step).map(|block| &self.shared[block]);
            shared.is_some_and(|shared| cut.iter().all(|header| shared.contains(header)))
        });
        if !is_together {
            return self.questions.eval.terms.truth(false);
        }
        let [from, to] = steps;
        let is_last = !self.paths.share_an_interval(from, to, &cut) && !self.paths.reaches(to, from, &cut, &|_| false);
        // No barrier need separate one iteration from the next, but each iteration contains a barrier.
        self.after(one, other, 1, is_last)
    }

    /// Whether a barrier always separates an access of each thread of a CTA from a later access of every thread.
    pub fn is_after_barrier(&mut self, one: usize, other: usize) -> bool {
        let is_after = self.encode_after_barrier((one, PAIR[0]), (other, PAIR[1]));
        self.questions.eval.terms.value(is_after) == Some(1)
    }

    /// The threads whose load may precede an access, with the facts about each thread. A candidate is the same thread,
    /// or the first thread of its CTA if a barrier separates load and access. If `is_acquired`, an acquire must order
    /// the access, or the barrier, after the load.
    pub fn holders(
        &mut self,
        load: usize,
        access: (usize, ThreadCopy),
        is_acquired: bool,
    ) -> Vec<(ThreadCopy, Vec<Term>)> {
        let step = self.step(access.0);
        let mut all = Vec::new();
        if load != access.0 && self.precedes(load, access.0) && (!is_acquired || self.acquires(load, step)) {
            all.push((access.1, Vec::new()));
        }
        if self.is_after_barrier(load, access.0) && (!is_acquired || self.acquires_for_all(load)) {
            all.extend(self.first_of_cta(load, access));
        }
        all
    }

    /// The condition that an access is more than `rounds` iterations of the common loops after another access, or in
    /// the same iteration if `is_last`.
    fn after(&mut self, one: (usize, ThreadCopy), other: (usize, ThreadCopy), rounds: u64, is_last: bool) -> Term {
        let common = self.common(one.0, other.0).len();
        let mut after = self.questions.eval.terms.truth(is_last);
        for depth in (0..common).rev() {
            let [a, b] = [one, other].map(|(at, copy)| self.rename_term(self.all[at].touch.around[depth].1, copy));
            let terms = &mut self.questions.eval.terms;
            let rounds = terms.constant(rounds, 64);
            let a_little_later = terms.add(a, rounds);
            let (later, equal) = (terms.less(false, a_little_later, b), terms.equal(a, b));
            let same = terms.and(equal, after);
            after = terms.or(later, same);
        }
        after
    }

    /// The facts about the first thread of another thread's CTA once the other thread has passed a barrier that both
    /// pass: the first thread has performed the load before the barrier.
    pub fn first_of_cta(
        &mut self,
        load: usize,
        (access, copy): (usize, ThreadCopy),
    ) -> Option<(ThreadCopy, Vec<Term>)> {
        let (from, to) = (self.step(load), self.step(access));
        let is_between = |block: usize| {
            let barrier = self.paths.barriers().find(|(own, _)| *own == block).map(|(_, step)| step);
            self.paths.is_always_passed(block, to)
                && barrier.is_some_and(|barrier| self.paths.reaches(from, barrier, &[], &|_| false))
                && barrier.is_some_and(|barrier| !self.paths.reaches(barrier, from, &[], &|_| false))
        };
        let at = self.arrivals.iter().position(|arrival| match arrival.target {
            Target::Barrier(block) => arrival.around.is_empty() && is_between(block),
            Target::End => false,
        })?;
        let arrival = &self.arrivals[at];
        // The first thread reaches this arrival once.
        let new = match self.firsts.get(&(copy, at)) {
            Some(known) => *known,
            None => self.add(),
        };
        self.firsts.insert((copy, at), new);
        let mut holds = vec![self.same(SpecialVector::Ctaid, copy, new)];
        for element in SpecialVector::Tid.elements() {
            let index = self.questions.eval.special(element);
            let index = self.rename_term(index, new);
            let zero = self.questions.eval.terms.constant(0, 32);
            holds.push(self.questions.eval.terms.equal(index, zero));
        }
        holds.extend(self.sizes(new));
        holds.extend(self.all_of(&arrival.state.holds, new));
        Some((new, holds))
    }
}
