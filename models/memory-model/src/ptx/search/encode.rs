//! The executions of one choice of paths as clauses.
//!
//! Every axiom forbids something about relations that only grow with the choices: reads-from, and the orders of morally
//! strong writes and fences. So a derived relation has a literal for each pair, and clauses from its causes to the
//! literal, but no clauses in the other direction: a solution may contain more pairs than necessary, and if the axioms
//! allow it, they also allow the smaller relation.

use super::{
    choice::Choice,
    solver::{Clauses, Lit},
    state::{LocationEvents, Question, Search},
};
use crate::{
    limit::Limit,
    relation::{Relation, Set},
};

/// The answer of the solver.
pub(super) enum Answer {
    /// There is an execution, with these sources of reads, order of fences, and coherence order.
    Execution(Box<ExecutionChoices>),
    /// There is none. `thin_air` is set if there may be one whose values depend on themselves.
    None { thin_air: bool },
}

/// The choices of an execution.
pub(super) struct ExecutionChoices {
    pub(super) sources: Vec<(usize, usize)>,
    pub(super) fences: Vec<(usize, usize)>,
    pub(super) coherence: Vec<(usize, usize)>,
    /// Whether this execution certainly answers the question; otherwise the clauses leave some values unknown.
    pub(super) is_certain: bool,
}

/// A literal for each pair of events.
pub(super) struct Pairs {
    len: usize,
    lits: Vec<Lit>,
}

impl Pairs {
    fn new(len: usize, lit: Lit) -> Self {
        Self { len, lits: vec![lit; len * len] }
    }

    pub(super) fn get(&self, a: usize, b: usize) -> Lit {
        self.lits[a * self.len + b]
    }

    fn set(&mut self, a: usize, b: usize, lit: Lit) {
        self.lits[a * self.len + b] = lit;
    }
}

pub(super) struct Encoding<'e, 's, 'p, 'g> {
    pub(super) search: &'e Search<'s, 'p, 'g>,
    pub(super) clauses: Clauses,
    /// For each read, the writes that it may read from.
    pub(super) rf: Vec<Vec<(usize, Lit)>>,
    /// From writes to reads: observation order, and the pairs that are possible.
    observation: Pairs,
    observable: Relation,
    /// Base causality order, and the pairs that are possible.
    cb: Pairs,
    causable: Relation,
    /// The order of each pair of fences.
    fences: Vec<(usize, usize, Lit)>,
    pub(super) co: Pairs,
    /// Whether some values are unknown.
    pub(super) open: bool,
}

impl Search<'_, '_, '_> {
    /// Whether the executions of these paths can be expressed as clauses. The exceptions are threads of the host, the
    /// strengthened model, proxies and aliases, barriers that reduce values or have phases to choose, and events beyond
    /// the bound of a loop.
    pub(super) fn has_clauses(&self) -> bool {
        let reduces = self.c.barriers().any(|(.., barrier)| barrier.reduction.is_some());
        self.plain
            && !self.is_compound()
            && !self.asynchronous
            && self.barriers_first
            && !reduces
            && !self.feasible_only
    }

    /// Asks the solver for an execution that answers the question and whose sources differ from the refuted ones.
    pub(super) fn ask(
        &mut self,
        choice: &Choice,
        question: &Question,
        refuted: &[ExecutionChoices],
    ) -> Result<Answer, Limit> {
        self.budget.in_time()?;
        let mut encoding = Encoding::new(self, choice);
        let answer = encoding.answer(choice, question, refuted);
        *self.budget = encoding.clauses.budget();
        answer
    }
}

impl<'e, 's, 'p, 'g> Encoding<'e, 's, 'p, 'g> {
    fn new(search: &'e Search<'s, 'p, 'g>, choice: &Choice) -> Self {
        let len = search.c.skeleton.len();
        let clauses = Clauses::new(*search.budget);
        let no = clauses.constant(false);
        Self {
            search,
            clauses,
            rf: vec![Vec::new(); len],
            observation: Pairs::new(len, no),
            observable: Relation::empty(len),
            cb: Pairs::new(len, no),
            causable: choice.cb,
            fences: Vec::new(),
            co: Pairs::new(len, no),
            open: false,
        }
    }

    fn answer(&mut self, choice: &Choice, question: &Question, refuted: &[ExecutionChoices]) -> Result<Answer, Limit> {
        self.reads_from(choice);
        self.observation();
        self.base_causality(choice);
        for at in &self.search.locations {
            self.coherence(at);
        }
        let cycles = self.cycles(choice.dep);
        self.acyclic(choice.dep, cycles);
        let open = self.value_cycles(choice);
        self.question(question, open);
        for found in refuted {
            let chosen: Vec<Lit> = found.sources.iter().filter_map(|&(read, write)| self.chosen(read, write)).collect();
            self.clauses.forbid(&chosen);
        }
        match self.clauses.solve()? {
            true => Ok(Answer::Execution(Box::new(self.read_solution()))),
            false => Ok(Answer::None { thin_air: !cycles.is_empty() }),
        }
    }

    /// Every read has one source. A write that is certainly overwritten before the read is not a source.
    fn reads_from(&mut self, choice: &Choice) {
        let x = &self.search.c.skeleton;
        for read in x.reads {
            let before = choice.before.row(read);
            let writes = x.writes & x.at(x.events[read].location);
            let current = |&write: &usize| (choice.cb.row(write) & before & writes).is_empty();
            let later = choice.cb.row(read);
            let sources: Vec<usize> = (self.search.sources[read] - later).filter(current).collect();
            let lits = self.clauses.exactly_one(sources.len());
            self.rf[read] = sources.into_iter().zip(lits).collect();
        }
    }

    /// Section 8.9.2: a write is observed by the reads that return it, and by the reads that return a value that a
    /// read-modify-write made from it.
    fn observation(&mut self) {
        let search = self.search;
        let x = &search.c.skeleton;
        let strong = |&(write, _): &(usize, Lit), read: usize| search.fixed.morally_strong.contains(write, read);
        let mut direct = Relation::empty(x.len());
        for read in x.reads {
            self.rf[read]
                .iter()
                .filter(|source| strong(source, read))
                .for_each(|&(write, _)| direct.insert(write, read));
        }
        self.observable = direct.then(&x.rmw.then(&direct).closure().optional());
        let (updates, read_from, update_of) = (x.rmw.domain(), direct.inverse(), x.rmw.inverse());
        for (write, read) in self.observable.pairs() {
            let through = |update: usize| !(x.rmw.row(update) & read_from.row(read)).is_empty();
            let indirect = (self.observable.row(write) & updates).any(through);
            let chosen = self.rf[read].iter().find(|&&(source, _)| source == write && direct.contains(write, read));
            let lit = match chosen {
                Some(&(_, lit)) if !indirect => lit,
                _ => self.clauses.fresh(),
            };
            if let Some(&(_, chosen)) = chosen {
                self.clauses.imply(&[chosen], lit);
            }
            self.observation.set(write, read, lit);
        }
        for read in x.reads {
            for (update, chosen) in self.rf[read].clone().into_iter().filter(|source| strong(source, read)) {
                for between in update_of.row(update) {
                    for write in x.writes.filter(|&write| self.observable.contains(write, between)) {
                        let all = [self.observation.get(write, between), chosen];
                        self.clauses.imply(&all, self.observation.get(write, read));
                    }
                }
            }
        }
    }

    /// Section 8.9.5: program order, synchronization, and Fence-SC order, which must agree with base causality (section
    /// 8.10.2).
    fn base_causality(&mut self, choice: &Choice) {
        let search = self.search;
        let x = &search.c.skeleton;
        let mut edges: Vec<(usize, usize, Lit)> = Vec::new();
        for (write, read) in self.observable.pairs() {
            for head in search.heads.row(write) {
                for tail in search.fixed.acquire_patterns.row(read) & search.fixed.morally_strong.row(head) {
                    if !choice.cb.contains(head, tail) {
                        edges.push((head, tail, self.observation.get(write, read)));
                    }
                }
            }
        }
        for &(a, b) in &search.sc_pairs {
            let order = match (choice.cb.contains(a, b), choice.cb.contains(b, a)) {
                (true, _) => self.clauses.constant(true),
                (_, true) => self.clauses.constant(false),
                _ => self.clauses.fresh(),
            };
            self.fences.push((a, b, order));
            edges.extend([(a, b, order), (b, a, !order)]);
        }
        edges.sort_unstable_by_key(|&(from, to, _)| (from, to));
        edges.iter().for_each(|&(from, to, _)| self.causable.insert(from, to));
        self.causable = self.causable.closure();
        let matters = x.memory() | search.sc_pairs.iter().flat_map(|&(a, b)| [a, b]).collect();
        for a in 0..x.len() {
            for b in self.causable.row(a) {
                let known = choice.cb.contains(a, b);
                if known || matters.contains(a) {
                    let lit = if known { self.clauses.constant(true) } else { self.clauses.fresh() };
                    self.cb.set(a, b, lit);
                }
            }
        }
        // A single literal for each pair that synchronizes, whatever the reason.
        let mut joined: Vec<(usize, usize, Lit)> = Vec::new();
        for same in edges.chunk_by(|a, b| (a.0, a.1) == (b.0, b.1)) {
            let lits: Vec<Lit> = same.iter().map(|&(.., lit)| lit).collect();
            joined.push((same[0].0, same[0].1, self.clauses.any(&lits)));
        }
        let next = covers(&choice.cb);
        for a in matters {
            for &(from, to, edge) in &joined {
                if (a == from || self.causable.contains(a, from)) && !choice.cb.contains(a, to) {
                    let there = if a == from { self.clauses.constant(true) } else { self.cb.get(a, from) };
                    self.clauses.imply(&[there, edge], self.cb.get(a, to));
                }
            }
            for b in self.causable.row(a) - choice.cb.row(a) {
                for after in next.row(b) {
                    self.clauses.imply(&[self.cb.get(a, b)], self.cb.get(a, after));
                }
            }
        }
        for &(a, b, order) in &self.fences {
            self.clauses.forbid(&[order, self.cb.get(b, a)]);
            self.clauses.forbid(&[!order, self.cb.get(a, b)]);
        }
    }

    /// Whether an event of a location precedes another in causality order (section 8.9.5).
    fn causes(&mut self, at: &LocationEvents) -> Pairs {
        let len = self.search.c.skeleton.len();
        let mut causes = Pairs::new(len, self.clauses.constant(false));
        for a in at.events {
            let observers = self.observable.row(a);
            for b in at.events {
                let through: Set = observers.filter(|&read| self.causable.contains(read, b)).collect();
                let direct = self.cb.get(a, b);
                let cause = match through.is_empty() || direct == self.clauses.constant(true) {
                    true => direct,
                    false => {
                        let cause = self.clauses.fresh();
                        self.clauses.imply(&[direct], cause);
                        for read in through {
                            let all = [self.observation.get(a, read), self.cb.get(read, b)];
                            self.clauses.imply(&all, cause);
                        }
                        cause
                    }
                };
                causes.set(a, b, cause);
            }
        }
        causes
    }

    /// The axioms about one location: coherence (section 8.10.1), causality (section 8.10.6) and atomicity
    /// (section 8.10.3).
    fn coherence(&mut self, at: &LocationEvents) {
        let search = self.search;
        let x = &search.c.skeleton;
        let causes = self.causes(at);
        for a in at.writes {
            for b in at.writes.filter(|&b| b > a) {
                let (there, back) = match search.fixed.morally_strong.contains(a, b) {
                    _ if x.inits.contains(a) => (self.clauses.constant(true), self.clauses.constant(false)),
                    true => {
                        let order = self.clauses.fresh();
                        (order, !order)
                    }
                    false => (self.clauses.fresh(), self.clauses.fresh()),
                };
                self.co.set(a, b, there);
                self.co.set(b, a, back);
                self.clauses.forbid(&[there, back]);
            }
        }
        let others = |write: usize| at.writes - Set::singleton(write);
        for a in at.writes {
            for b in others(a) {
                self.clauses.imply(&[causes.get(a, b)], self.co.get(a, b));
                for c in others(a) - Set::singleton(b) {
                    self.clauses.imply(&[self.co.get(a, b), self.co.get(b, c)], self.co.get(a, c));
                }
            }
        }
        for &(a, b) in &at.alike {
            self.clauses.some(&[self.co.get(a, b)]);
        }
        for read in at.reads {
            for (source, chosen) in self.rf[read].clone() {
                // The event that stands for further iterations of a loop is not part of coherence order.
                if !at.writes.contains(source) {
                    continue;
                }
                self.clauses.forbid(&[chosen, causes.get(read, source)]);
                for over in others(source) {
                    let all = [chosen, self.co.get(source, over)];
                    self.clauses.forbid(&[all[0], all[1], causes.get(over, read)]);
                    for update in x.rmw.row(read) {
                        let strong = search.fixed.morally_strong.row(read) & search.fixed.morally_strong.row(update);
                        if strong.contains(over) && over != update {
                            self.clauses.forbid(&[all[0], all[1], self.co.get(over, update)]);
                        }
                    }
                }
            }
        }
    }

    /// The reads that are part of a possible cycle of dependencies and sources.
    fn cycles(&self, dependencies: Relation) -> Set {
        if dependencies.is_empty() {
            return Set(0);
        }
        let mut leads = dependencies;
        for (read, sources) in self.rf.iter().enumerate() {
            sources.iter().for_each(|&(write, _)| leads.insert(write, read));
        }
        let leads = leads.closure();
        self.search.c.skeleton.reads.filter(|&read| leads.contains(read, read)).collect()
    }

    /// The reads whose values may depend on themselves although no dependency certainly forbids that. Values out of
    /// thin air, and equations without a solution, are forbidden as in the search.
    fn value_cycles(&mut self, choice: &Choice) -> Set {
        let search = self.search;
        let c = search.c;
        let mut values = Relation::empty(c.skeleton.len());
        for write in c.skeleton.writes {
            c.written_sources(write).for_each(|read| values.insert(read, write));
        }
        if (values - choice.dep).is_empty() {
            return Set(0);
        }
        let cycles = self.cycles(values);
        let held = search.constraints.iter().any(|&(thread, term, _)| !(c.sources(thread, term) & cycles).is_empty());
        let turns = |&(read, write): &(usize, usize)| !cycles.contains(read) || search.turns(write);
        if held || !values.pairs().all(|pair| turns(&pair)) {
            return cycles;
        }
        self.acyclic(values, cycles);
        Set(0)
    }

    /// Section 8.10.4: no value depends on itself.
    fn acyclic(&mut self, dependencies: Relation, cycles: Set) {
        let len = self.search.c.skeleton.len();
        let mut leads = Pairs::new(len, self.clauses.constant(false));
        for a in cycles {
            (cycles - Set::singleton(a)).for_each(|b| leads.set(a, b, self.clauses.fresh()));
        }
        for read in cycles {
            for (write, chosen) in self.rf[read].clone() {
                for on in cycles.filter(|&on| dependencies.contains(on, write)) {
                    self.clauses.imply(&[chosen], leads.get(on, read));
                    for first in cycles {
                        self.clauses.imply(&[leads.get(first, on), chosen], leads.get(first, read));
                    }
                }
            }
        }
    }

    /// Whether a read has this source.
    fn chosen(&self, read: usize, write: usize) -> Option<Lit> {
        self.rf[read].iter().find_map(|&(source, lit)| (source == write).then_some(lit))
    }

    /// The solution.
    fn read_solution(&self) -> ExecutionChoices {
        let x = &self.search.c.skeleton;
        let source = |read: usize| {
            let chosen = self.rf[read].iter().find(|&&(_, lit)| self.clauses.holds(lit));
            chosen.map(|&(write, _)| (read, write))
        };
        let order = |&(a, b, order): &(usize, usize, Lit)| if self.clauses.holds(order) { (a, b) } else { (b, a) };
        let strong = self.search.fixed.morally_strong.between(x.writes, x.writes);
        ExecutionChoices {
            is_certain: !self.open,
            sources: x.reads.filter_map(source).collect(),
            fences: self.fences.iter().map(order).collect(),
            coherence: strong.pairs().filter(|&(a, b)| self.clauses.holds(self.co.get(a, b))).collect(),
        }
    }
}

/// The pairs of an order from which all other pairs follow by transitivity.
fn covers(order: &Relation) -> Relation {
    *order - order.then(order)
}
