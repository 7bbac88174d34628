//! Order by values: what is published by a release and read behind the acquire that saw it.
//!
//! Two accesses are in order if the second one stands behind an acquire whose value only a release can have written that stands behind the
//! first one. So the question is who else can have written that value: what memory has at the beginning (zero), and all other writes of the
//! kernel. Of tickets and of what is served next, the values grow from one thread to the next: there a writer that has acquired a smaller
//! value itself is right, too, as long as that one is above the value of the first thread. That is proved once for all such threads, by
//! induction over the values.

use std::time::Instant;

use ptx_isa::{AtomOp, Scope};

use crate::{
    assumption::Assumption,
    lock::is_locked,
    question::is_of_cta,
    solve::Answer,
    term::Term,
    threads::{Copy, PAIR, Threads},
};

/// The most questions about two accesses.
const QUESTIONS: usize = 300;

/// The largest number that an atomic adds to a counter of which it is assumed that it does not wrap around.
const SMALL: u64 = 1 << 16;

/// Something that would stand against an order.
#[derive(Clone, Debug)]
struct Doubt {
    holds: Vec<Term>,
    /// The thread that it brings into the question.
    copy: Option<Copy>,
}

/// An operation that gives no two threads the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    /// An addition to what only additions change: each reads another number.
    Ticket,
    /// A `cas` whose expected value nobody writes: one succeeds.
    Once,
}

/// Looks for order by values.
pub struct Published<'t, 'q, 'f> {
    threads: &'t mut Threads<'q, 'f>,
    tokens: Vec<(usize, Token)>,
    /// How many questions there may have been when the one about two accesses is given up.
    most: usize,
}

impl<'t, 'q, 'f> Published<'t, 'q, 'f> {
    pub fn new(threads: &'t mut Threads<'q, 'f>) -> Self {
        let mut own = Self { threads, tokens: Vec::new(), most: 0 };
        own.tokens = (0..own.threads.all.len()).filter_map(|at| Some((at, own.token(at)?))).collect();
        own
    }

    /// Whether two accesses are in order wherever threads of one CTA, or of two, meet at them.
    pub fn is_ordered(&mut self, accesses: [usize; 2], is_across: bool) -> bool {
        let [one, other] = accesses.map(|at| &self.threads.all[at]);
        let bytes = [one.touch.bytes, other.touch.bytes];
        self.threads.questions.meetings(one, other).into_iter().all(|meeting| {
            self.threads.scope = if is_across { Scope::Gpu } else { Scope::Cta };
            self.threads.keep(0);
            self.threads.keep_pair();
            let mut holds = self.apart(is_across);
            for (at, copy) in PAIR.into_iter().enumerate() {
                holds.extend(self.threads.holds(accesses[at], copy));
                holds.extend(self.threads.all_of(&meeting.holds[at], copy));
            }
            let addresses = PAIR.map(|copy| self.threads.of(meeting.addresses[copy], copy));
            holds.push(self.threads.questions.overlap(addresses, bytes));
            is_locked(self.threads, &holds, accesses) || self.orders(&holds, accesses)
        })
    }

    /// That both threads are in two CTAs, or in one and not the same.
    fn apart(&mut self, is_across: bool) -> Vec<Term> {
        let [cta, thread] = ["ctaid", "tid"].map(|name| self.threads.same(name, PAIR[0], PAIR[1]));
        let terms = &mut self.threads.questions.eval.terms;
        if is_across { vec![terms.not(cta)] } else { vec![cta, terms.not(thread)] }
    }

    /// Whether the accesses of the threads of [`PAIR`], of which some conditions hold, are in order one way or the other.
    fn orders(&mut self, holds: &[Term], accesses: [usize; 2]) -> bool {
        self.most = self.threads.questions.count + QUESTIONS;
        let [one, other] = [0, 1].map(|at| (accesses[at], PAIR[at]));
        let is_done = (0..2).any(|attempt| {
            self.threads.keep_pair();
            if attempt == 1 {
                // A chain may lead through any CTA.
                self.threads.scope = Scope::Gpu;
            }
            let mut doubts = Vec::new();
            for (first, second) in [(one, other), (other, one)] {
                doubts.extend(if attempt == 0 { self.by_value(first, second) } else { self.by_chain(first, second) });
            }
            !doubts.is_empty() && self.is_impossible(holds, &PAIR, &doubts)
        });
        if is_done {
            self.threads.questions.assumptions.insert(Assumption::Zeros);
            if self.tokens.iter().any(|(_, token)| *token == Token::Ticket) {
                self.threads.questions.assumptions.insert(Assumption::Tickets);
            }
        }
        is_done
    }

    /// Whether there is no choice of a doubt from each row that can hold together with what is known.
    fn is_impossible(&mut self, holds: &[Term], copies: &[Copy], rows: &[Vec<Doubt>]) -> bool {
        if self.threads.questions.count > self.most {
            return false;
        }
        let mut conditions = holds.to_vec();
        conditions.extend(self.facts(copies));
        if self.threads.questions.ask(conditions) == Answer::Never {
            return true;
        }
        let Some((first, rest)) = rows.split_first() else { return false };
        first.iter().all(|doubt| {
            let holds: Vec<Term> = holds.iter().chain(&doubt.holds).copied().collect();
            let copies: Vec<Copy> = copies.iter().copied().chain(doubt.copy).collect();
            self.is_impossible(&holds, &copies, rest)
        })
    }

    /// For each acquire in front of the second access, what it would take for it to have seen something else than a release behind the
    /// first one.
    fn by_value(&mut self, first: (usize, Copy), (second, copy): (usize, Copy)) -> Vec<Vec<Doubt>> {
        let until = self.threads.questions.limits.until;
        let mut rows = Vec::new();
        for load in (0..self.threads.all.len()).take_while(|_| Instant::now() < until) {
            if load == second || self.threads.all[load].touch.loaded.is_none() || !self.threads.is_strong(load) {
                continue;
            }
            let step = self.threads.all[second].touch.step;
            let mut seen: Vec<(Copy, Vec<Term>)> = Vec::new();
            if self.threads.precedes(load, second) && self.threads.acquires(load, step) {
                seen.push((copy, Vec::new()));
            }
            if self.is_handed_on(load, second) {
                seen.extend(self.threads.first_of_cta(load, (second, copy)));
            }
            for (seen, known) in seen {
                let done = self.threads.does(load, seen);
                let done = self.threads.questions.eval.terms.not(done);
                let mut row = vec![Doubt { holds: vec![done], copy: None }];
                row.extend(self.writers((load, seen), &mut |own, writer| own.threads.released(first, writer)));
                row.iter_mut().for_each(|doubt| doubt.holds.extend(&known));
                rows.push(row);
            }
        }
        rows
    }

    /// Whether each thread of a CTA is behind an acquire of another one.
    fn is_handed_on(&mut self, load: usize, second: usize) -> bool {
        self.is_behind(load, second) && self.threads.acquires_for_all(load)
    }

    /// What it would take for an acquire to have read what memory has at the beginning: zero, but in shared memory anything. Where the first
    /// thread of the CTA has written to it in front of a barrier, that is not to be read any more.
    fn initial(&mut self, load: (usize, Copy)) -> Doubt {
        let is_of_cta = is_of_cta(self.threads.flat(), &self.threads.all[load.0]);
        let mut holds = Vec::new();
        if let Some(value) = self.threads.loaded(load.0, load.1).filter(|_| !is_of_cta) {
            let terms = &mut self.threads.questions.eval.terms;
            let zero = terms.constant(0, terms.bits(value));
            holds.push(terms.equal(value, zero));
        }
        for store in 0..self.threads.all.len() {
            let (own, read) = (&self.threads.all[store], &self.threads.all[load.0]);
            let is_such = is_of_cta && own.access.writes && own.touch.bytes == read.touch.bytes;
            if !is_such || !self.is_behind(store, load.0) {
                continue;
            }
            let meetings = self.threads.questions.meetings(own, read);
            let Some((first, known)) = self.threads.first_of_cta(store, load) else { continue };
            let done = self.threads.does(store, first);
            for meeting in meetings {
                let mut written = vec![done];
                for (at, copy) in [(0, first), (1, load.1)] {
                    written.extend(self.threads.all_of(&meeting.holds[at], copy));
                }
                let addresses =
                    [(0, first), (1, load.1)].map(|(at, copy)| self.threads.of(meeting.addresses[at], copy));
                let terms = &mut self.threads.questions.eval.terms;
                written.push(terms.equal(addresses[0], addresses[1]));
                let written = terms.all(written);
                holds.push(terms.not(written));
            }
            holds.extend(known);
        }
        Doubt { holds, copy: None }
    }

    /// Whether an access of each thread of a CTA is behind a barrier behind another access of each.
    fn is_behind(&mut self, one: usize, other: usize) -> bool {
        let behind = self.threads.behind_barrier((one, PAIR[0]), (other, PAIR[1]));
        self.threads.questions.eval.terms.value(behind) == Some(1)
    }

    /// What it would take for an acquire to have read something that is not right: what memory has at the beginning, or what somebody writes.
    fn writers(
        &mut self,
        load: (usize, Copy),
        is_right: &mut dyn FnMut(&mut Self, (usize, Copy)) -> Term,
    ) -> Vec<Doubt> {
        let mut all = vec![self.initial(load)];
        for store in 0..self.threads.all.len() {
            let (own, seen) = (&self.threads.all[store], &self.threads.all[load.0]);
            if !own.access.writes {
                continue;
            }
            let bytes = [own.touch.bytes, seen.touch.bytes];
            for meeting in self.threads.questions.meetings(own, seen) {
                let new = self.threads.add();
                let mut holds = self.threads.holds(store, new);
                holds.extend(self.threads.all_of(&meeting.holds[0], new));
                holds.extend(self.threads.all_of(&meeting.holds[1], load.1));
                let addresses = [(0, new), (1, load.1)].map(|(at, copy)| self.threads.of(meeting.addresses[at], copy));
                holds.push(self.threads.questions.overlap(addresses, bytes));
                holds.extend(self.written((store, new), load));
                if is_of_cta(self.threads.flat(), own) {
                    holds.push(self.threads.same("ctaid", new, load.1));
                }
                if bytes[0] == bytes[1] && self.threads.is_strong(store) {
                    let right = is_right(self, (store, new));
                    holds.push(self.threads.questions.eval.terms.not(right));
                }
                all.push(Doubt { holds, copy: Some(new) });
            }
        }
        all
    }

    /// That a store has written what a load has read.
    fn written(&mut self, (store, writer): (usize, Copy), (load, copy): (usize, Copy)) -> Vec<Term> {
        let (own, seen) = (&self.threads.all[store].touch, &self.threads.all[load].touch);
        let expected = own.expected.zip(own.loaded);
        let stored = own.stored.zip(seen.loaded).filter(|_| own.bytes == seen.bytes);
        let mut all = Vec::new();
        for (a, b, copy) in expected.map(|(a, b)| (a, b, writer)).into_iter().chain(stored.map(|(a, b)| (a, b, copy))) {
            let (a, b) = (self.threads.of(a, writer), self.threads.of(b, copy));
            let terms = &mut self.threads.questions.eval.terms;
            if terms.bits(a) == terms.bits(b) {
                all.push(terms.equal(a, b));
            }
        }
        all
    }

    /// The same where values grow from one thread to the next: what it would take for the second thread to have seen no more than the first.
    fn by_chain(&mut self, first: (usize, Copy), (second, copy): (usize, Copy)) -> Vec<Vec<Doubt>> {
        let until = self.threads.questions.limits.until;
        let mut rows = Vec::new();
        for load in (0..self.threads.all.len()).take_while(|_| Instant::now() < until) {
            let Some(loaded) = self.threads.all[load].touch.loaded else { continue };
            let step = self.threads.all[second].touch.step;
            let is_before = |own: &Self, at: usize| load != at && own.threads.precedes(load, at);
            if !is_before(self, first.0)
                || !is_before(self, second)
                || !self.threads.acquires(load, step)
                || !self.grows(first, load)
            {
                continue;
            }
            let [before, value] = [first.1, copy].map(|copy| self.threads.of(loaded, copy));
            let done = [first.1, copy].map(|copy| self.threads.does(load, copy));
            let same = self.threads.meet((load, first.1), (load, copy));
            let terms = &mut self.threads.questions.eval.terms;
            let more = terms.less(false, before, value);
            let row = [done[0], done[1], same, more].map(|holds| Doubt { holds: vec![terms.not(holds)], copy: None });
            rows.push(row.into());
        }
        rows
    }

    /// Whether each thread that has seen more than the first one is behind a release of it: proved by induction over what it has seen.
    fn grows(&mut self, first: (usize, Copy), load: usize) -> bool {
        let Some(loaded) = self.threads.all[load].touch.loaded else { return false };
        let seen = self.threads.add();
        let mut holds = self.threads.holds(first.0, first.1);
        holds.extend(self.threads.holds(load, first.1));
        holds.extend(self.threads.holds(load, seen));
        holds.push(self.threads.meet((load, first.1), (load, seen)));
        let [before, value] = [first.1, seen].map(|copy| self.threads.of(loaded, copy));
        holds.push(self.threads.questions.eval.terms.less(false, before, value));
        let row = self.writers((load, seen), &mut |own, writer| {
            let released = own.threads.released(first, writer);
            let link = own.link((load, seen), [before, value], writer);
            own.threads.questions.eval.terms.or(released, link)
        });
        self.is_impossible(&holds, &[first.1, seen], &[row])
    }

    /// That a writer has acquired a value between two others itself, and releases what is behind that.
    fn link(&mut self, seen: (usize, Copy), [before, value]: [Term; 2], (store, writer): (usize, Copy)) -> Term {
        let load = seen.0;
        let steps = [load, store].map(|at| self.threads.all[at].touch.step);
        let is_link = load != store
            && self.threads.precedes(load, store)
            && self.threads.acquires(load, steps[1])
            && self.threads.releases(steps[0], store);
        let Some(own) = self.threads.loaded(load, writer).filter(|_| is_link) else {
            return self.threads.questions.eval.terms.truth(false);
        };
        let done = self.threads.does(load, writer);
        let same = self.threads.meet((load, writer), seen);
        let terms = &mut self.threads.questions.eval.terms;
        let all = [done, same, terms.less(false, before, own), terms.less(false, own, value)];
        terms.all(all)
    }

    /// What tokens tell of some threads.
    fn facts(&mut self, copies: &[Copy]) -> Vec<Term> {
        let mut all = Vec::new();
        for (at, token) in self.tokens.clone() {
            for (index, one) in copies.iter().enumerate() {
                for other in &copies[index + 1..] {
                    let pair = [*one, *other];
                    let mut both: Vec<Term> = pair.map(|copy| self.threads.does(at, copy)).into();
                    both.push(self.threads.meet((at, *one), (at, *other)));
                    let values = pair.map(|copy| self.threads.loaded(at, copy));
                    let [Some(a), Some(b)] = values else { continue };
                    match token {
                        Token::Ticket => both.push(self.threads.questions.eval.terms.equal(a, b)),
                        Token::Once => {
                            let Some(expected) = self.threads.all[at].touch.expected else { continue };
                            for (copy, value) in [(*one, a), (*other, b)] {
                                let expected = self.threads.of(expected, copy);
                                both.push(self.threads.questions.eval.terms.equal(value, expected));
                            }
                        }
                    }
                    let same = self.threads.same_instance(at, *one, *other);
                    let terms = &mut self.threads.questions.eval.terms;
                    let (both, apart) = (terms.all(both), terms.not(same));
                    let wrong = terms.and(both, apart);
                    all.push(terms.not(wrong));
                }
            }
        }
        all
    }

    /// What an access gives each thread its own of.
    fn token(&mut self, at: usize) -> Option<Token> {
        let own = &self.threads.all[at];
        let token = match own.access.op? {
            AtomOp::Add => Token::Ticket,
            AtomOp::Cas => Token::Once,
            _ => return None,
        };
        if own.touch.loaded.is_none() || !self.threads.is_strong(at) {
            return None;
        }
        let stores = (0..self.threads.all.len()).filter(|store| self.threads.all[*store].access.writes);
        let is_kept = stores.collect::<Vec<_>>().into_iter().all(|store| self.keeps((at, token), store));
        is_kept.then_some(token)
    }

    /// Whether a store leaves a token what it is.
    fn keeps(&mut self, (at, token): (usize, Token), store: usize) -> bool {
        let (own, other) = (&self.threads.all[at], &self.threads.all[store]);
        let bytes = [own.touch.bytes, other.touch.bytes];
        if token == Token::Ticket && bytes[0] == bytes[1] && self.adds(store) {
            return true;
        }
        self.threads.questions.meetings(own, other).into_iter().all(|meeting| {
            self.threads.keep(0);
            let copies = [self.threads.add(), self.threads.add()];
            let mut holds = Vec::new();
            for (index, access) in [at, store].into_iter().enumerate() {
                holds.extend(self.threads.holds(access, copies[index]));
                holds.extend(self.threads.all_of(&meeting.holds[index], copies[index]));
            }
            let addresses = [0, 1].map(|index| self.threads.of(meeting.addresses[index], copies[index]));
            holds.push(self.threads.questions.overlap(addresses, bytes));
            let touches = [at, store].map(|at| &self.threads.all[at].touch);
            if token == Token::Once
                && bytes[0] == bytes[1]
                && let (Some(expected), Some(stored)) = (touches[0].expected, touches[1].stored)
            {
                let [expected, stored] =
                    [(expected, copies[0]), (stored, copies[1])].map(|(term, copy)| self.threads.of(term, copy));
                holds.push(self.threads.questions.eval.terms.equal(expected, stored));
            }
            self.threads.questions.ask(holds) == Answer::Never
        })
    }

    /// Whether an access adds a small number, so that the sum grows.
    fn adds(&mut self, at: usize) -> bool {
        let own = &self.threads.all[at];
        let Some((stored, loaded)) = own.touch.stored.zip(own.touch.loaded) else { return false };
        if own.access.op != Some(AtomOp::Add) || !self.threads.is_strong(at) {
            return false;
        }
        let terms = &mut self.threads.questions.eval.terms;
        let by = terms.sub(stored, loaded);
        terms.value(by).is_some_and(|by| (1..SMALL).contains(&by))
    }
}
