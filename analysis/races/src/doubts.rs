//! Doubts about an ordering: the other writes from which an access may have read its value.

use ptx_isa::{AtomOp, Scope, SpecialVector};
use rustc_hash::FxHashSet;

use crate::{
    question::{is_of_cta, may_begin_with_zero},
    threads::{ThreadCopy, Threads},
};
use ptx_solver::{solve::Answer, term::Term};

/// The largest number of questions about two accesses.
const QUESTIONS: usize = 300;

/// The largest number that an atomic may add to a counter that is assumed not to wrap around.
const SMALL: u64 = 1 << 16;

/// A case that would refute an ordering.
#[derive(Clone, Debug)]
pub struct Doubt {
    pub holds: Vec<Term>,
    /// The threads that the case adds to the question.
    pub copies: Vec<ThreadCopy>,
}

/// An operation that gives each thread a different value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Token {
    /// An addition to memory that only additions change: each addition reads a different number.
    Ticket,
    /// A `cas` whose expected value no thread writes: at most one `cas` succeeds.
    Once,
}

/// Collects doubts, and asks the solver whether they can hold.
pub struct Doubts<'t, 'q, 'f> {
    pub threads: &'t mut Threads<'q, 'f>,
    tokens: Vec<(usize, Token)>,
    /// The steps that may have a race within a CTA, as far as barriers are concerned.
    pub racy: FxHashSet<usize>,
    /// The question count at which the current pair of accesses is given up.
    most: usize,
}

impl<'t, 'q, 'f> Doubts<'t, 'q, 'f> {
    pub fn new(threads: &'t mut Threads<'q, 'f>, racy: FxHashSet<usize>) -> Self {
        threads.scope = Scope::Gpu;
        let mut own = Self { threads, tokens: Vec::new(), racy, most: 0 };
        own.tokens = (0..own.threads.all.len()).filter_map(|at| Some((at, own.token(at)?))).collect();
        own
    }

    /// Begins a question about two accesses.
    pub fn begin(&mut self) {
        self.most = self.threads.questions.count + QUESTIONS;
    }

    /// Whether some atomic is a ticket.
    pub fn has_tickets(&self) -> bool {
        self.tokens.iter().any(|(_, token)| *token == Token::Ticket)
    }

    /// Whether no choice of one doubt from each row is consistent with the known conditions.
    pub fn is_impossible(&mut self, holds: &[Term], copies: &[ThreadCopy], rows: &[Vec<Doubt>]) -> bool {
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
            let copies: Vec<ThreadCopy> = copies.iter().chain(&doubt.copies).copied().collect();
            self.is_impossible(&holds, &copies, rest)
        })
    }

    /// The conditions under which a load has read the initial value of memory. That value is zero, except in shared
    /// memory and in a variable with an initializer, where it is arbitrary. If the first thread of the CTA has written
    /// the memory before a barrier, the initial value cannot be read any more.
    fn initial(&mut self, load: (usize, ThreadCopy)) -> Doubt {
        let flat = self.threads.flat();
        let is_of_cta = is_of_cta(flat, &self.threads.all[load.0]);
        let is_zero = !is_of_cta && may_begin_with_zero(flat, &self.threads.all[load.0]);
        let mut holds = Vec::new();
        if let Some(value) = self.threads.loaded(load.0, load.1).filter(|_| is_zero) {
            let terms = &mut self.threads.questions.eval.terms;
            let zero = terms.constant(0, terms.bits(value));
            holds.push(terms.equal(value, zero));
        }
        for store in 0..self.threads.all.len() {
            let (own, read) = (&self.threads.all[store], &self.threads.all[load.0]);
            let is_such = is_of_cta && own.access.writes && own.touch.bytes == read.touch.bytes;
            if !is_such || !self.threads.is_after_barrier(store, load.0) {
                continue;
            }
            let meetings = self.threads.questions.address_pairs(own, read);
            let Some((first, known)) = self.threads.first_of_cta(store, load) else { continue };
            let done = self.threads.does(store, first);
            for meeting in meetings {
                let mut written = vec![done];
                for (at, copy) in [(0, first), (1, load.1)] {
                    written.extend(self.threads.all_of(&meeting.holds[at], copy));
                }
                let addresses =
                    [(0, first), (1, load.1)].map(|(at, copy)| self.threads.rename_term(meeting.addresses[at], copy));
                let terms = &mut self.threads.questions.eval.terms;
                written.push(terms.equal(addresses[0], addresses[1]));
                let written = terms.all(written);
                holds.push(terms.not(written));
            }
            holds.extend(known);
        }
        Doubt { holds, copies: Vec::new() }
    }

    /// The conditions under which a load has read a value that is not right: the initial value, or the value of some
    /// write.
    pub fn writers(
        &mut self,
        load: (usize, ThreadCopy),
        is_right: &mut dyn FnMut(&mut Self, (usize, ThreadCopy)) -> Term,
    ) -> Vec<Doubt> {
        let mut all = vec![self.initial(load)];
        for store in 0..self.threads.all.len() {
            let (own, seen) = (&self.threads.all[store], &self.threads.all[load.0]);
            if !own.access.writes {
                continue;
            }
            let bytes = [own.touch.bytes, seen.touch.bytes];
            for meeting in self.threads.questions.address_pairs(own, seen) {
                let new = self.threads.add();
                let mut holds = self.threads.holds(store, new);
                holds.extend(self.threads.all_of(&meeting.holds[0], new));
                holds.extend(self.threads.all_of(&meeting.holds[1], load.1));
                let addresses =
                    [(0, new), (1, load.1)].map(|(at, copy)| self.threads.rename_term(meeting.addresses[at], copy));
                holds.push(self.threads.questions.overlap(addresses, bytes));
                holds.extend(self.written((store, new), load));
                if is_of_cta(self.threads.flat(), own) {
                    holds.push(self.threads.same(SpecialVector::Ctaid, new, load.1));
                }
                if bytes[0] == bytes[1] {
                    let right = is_right(self, (store, new));
                    holds.push(self.threads.questions.eval.terms.not(right));
                }
                all.push(Doubt { holds, copies: vec![new] });
            }
        }
        all
    }

    /// The condition that a store has written the value that a load has read.
    fn written(&mut self, (store, writer): (usize, ThreadCopy), (load, copy): (usize, ThreadCopy)) -> Vec<Term> {
        let (own, seen) = (&self.threads.all[store].touch, &self.threads.all[load].touch);
        let expected = own.expected.zip(own.loaded);
        let stored = own.stored.zip(seen.loaded).filter(|_| own.bytes == seen.bytes);
        let mut all = Vec::new();
        for (a, b, copy) in expected.map(|(a, b)| (a, b, writer)).into_iter().chain(stored.map(|(a, b)| (a, b, copy))) {
            let (a, b) = (self.threads.rename_term(a, writer), self.threads.rename_term(b, copy));
            let terms = &mut self.threads.questions.eval.terms;
            if terms.bits(a) == terms.bits(b) {
                all.push(terms.equal(a, b));
            }
        }
        all
    }

    /// The facts about some threads that follow from tokens.
    fn facts(&mut self, copies: &[ThreadCopy]) -> Vec<Term> {
        let mut all = Vec::new();
        for (at, token) in self.tokens.clone() {
            for (index, one) in copies.iter().enumerate() {
                for other in &copies[index + 1..] {
                    let pair = [*one, *other];
                    let mut both: Vec<Term> = pair.map(|copy| self.threads.does(at, copy)).into();
                    both.push(self.threads.same_address((at, *one), (at, *other)));
                    let values = pair.map(|copy| self.threads.loaded(at, copy));
                    let [Some(a), Some(b)] = values else { continue };
                    match token {
                        Token::Ticket => both.push(self.threads.questions.eval.terms.equal(a, b)),
                        Token::Once => {
                            let Some(expected) = self.threads.all[at].touch.expected else { continue };
                            for (copy, value) in [(*one, a), (*other, b)] {
                                let expected = self.threads.rename_term(expected, copy);
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

    /// The kind of token that an access is, if any.
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

    /// Whether a store preserves the property of a token.
    fn keeps(&mut self, (at, token): (usize, Token), store: usize) -> bool {
        let (own, other) = (&self.threads.all[at], &self.threads.all[store]);
        let bytes = [own.touch.bytes, other.touch.bytes];
        if token == Token::Ticket && bytes[0] == bytes[1] && self.adds(store) {
            return true;
        }
        self.threads.questions.address_pairs(own, other).into_iter().all(|meeting| {
            self.threads.keep(0);
            let copies = [self.threads.add(), self.threads.add()];
            let mut holds = Vec::new();
            for (index, access) in [at, store].into_iter().enumerate() {
                holds.extend(self.threads.holds(access, copies[index]));
                holds.extend(self.threads.all_of(&meeting.holds[index], copies[index]));
            }
            let addresses = [0, 1].map(|index| self.threads.rename_term(meeting.addresses[index], copies[index]));
            holds.push(self.threads.questions.overlap(addresses, bytes));
            let touches = [at, store].map(|at| &self.threads.all[at].touch);
            if token == Token::Once
                && bytes[0] == bytes[1]
                && let (Some(expected), Some(stored)) = (touches[0].expected, touches[1].stored)
            {
                let [expected, stored] = [(expected, copies[0]), (stored, copies[1])]
                    .map(|(term, copy)| self.threads.rename_term(term, copy));
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
