//! The reasons why an outcome is allowed or forbidden.

use super::{
    Conventions, Program, Ptx, asynchronous,
    axioms::{Axiom, Cycle, Judged},
    relations,
    replicas::combine,
    search::{combinations, decide},
};
use ptx_isa::Instant;
use strum::IntoEnumIterator;

use crate::{
    barrier::Phases,
    condition::{Atom, Condition, Formula, Quantifier},
    execution::{Combination, Execution},
    limit::Limit,
    outcome::{Budget, Layout, Limits},
    program::{Location, Span, Value},
    relation::{MAX_EVENTS, Relation, Set},
    unfold,
};

/// Whether a formula can hold, with the reason.
#[derive(Clone, Debug)]
pub enum Explanation {
    /// An execution that the model allows, and after which the formula holds.
    Allowed(Box<Execution<Ptx>>),
    /// The violated axiom of an execution for which the formula holds. Of the executions that were examined, it is one
    /// that the fewest axioms forbid.
    Forbidden(Box<Contradiction>),
    /// Whatever the sources of the reads are, the formula does not hold, or no values are defined.
    NoCandidate,
    /// The search reached a bound.
    Unknown(Limit),
}

/// A forbidden execution.
#[derive(Clone, Debug)]
pub struct Contradiction {
    /// The execution.
    pub execution: Execution<Ptx>,
    /// The axiom that forbids it.
    pub axiom: Axiom,
    /// The cycle that violates the axiom.
    pub cycle: Cycle,
}

/// The maximum number of forbidden candidates that are compared.
const CANDIDATES: usize = 20_000;

/// Explains whether the formula can hold in a final state.
pub fn explain(program: &Program, formula: &Formula, conventions: Conventions, limits: Limits) -> Explanation {
    let layout = Layout::new(program);
    let condition = Condition { quantifier: Quantifier::Exists, formula: formula.clone() };
    let found = decide(program, &condition, conventions, limits);
    if let Some(execution) = found.execution {
        return Explanation::Allowed(execution);
    }
    if let Err(limit) = found.verdict
        && limit != Limit::Hangs
    {
        return Explanation::Unknown(limit);
    }
    let threads = match unfold::unfold_all(program, conventions.unfolding(limits.rounds)) {
        Ok(threads) => threads,
        Err(limit) => return Explanation::Unknown(limit),
    };
    let deadline = limits.time.map(|time| Instant::now() + time);
    let mut finder = Finder { program, formula, layout, conventions, best: None, looked_at: 0, limits, deadline };
    let result = combinations(&threads, &mut Vec::new(), &mut |paths| {
        if finder.done() {
            return Err(Limit::Choices);
        }
        if paths.iter().any(|path| path.is_cut()) {
            return Ok(());
        }
        let combination = combine(program, paths.to_vec(), conventions)?;
        finder.sources(&combination, [u8::MAX; MAX_EVENTS], combination.skeleton.reads);
        Ok(())
    });
    let all = !finder.done();
    match (finder.best, result) {
        (Some((_, contradiction)), _) => Explanation::Forbidden(Box::new(contradiction)),
        (None, Err(limit)) => Explanation::Unknown(limit),
        (None, Ok(())) if all => Explanation::NoCandidate,
        (None, Ok(())) => Explanation::Unknown(Limit::Choices),
    }
}

struct Finder<'p> {
    program: &'p Program,
    formula: &'p Formula,
    layout: Layout,
    conventions: Conventions,
    /// The best contradiction so far, with the number of axioms that forbid its execution and the length of its cycle.
    best: Option<((usize, usize), Contradiction)>,
    looked_at: usize,
    limits: Limits,
    deadline: Option<Instant>,
}

impl Finder<'_> {
    fn done(&self) -> bool {
        self.looked_at >= CANDIDATES || self.deadline.is_some_and(|deadline| Instant::now() > deadline)
    }

    fn sources(&mut self, c: &Combination<Ptx>, rf: [u8; MAX_EVENTS], mut open: Set) {
        if self.done() {
            return;
        }
        let x = &c.skeleton;
        let Some(read) = open.next() else { return self.values(c, &rf) };
        for source in x.at(x.events[read].location) & x.writes {
            let mut rf = rf;
            rf[read] = source as u8;
            self.sources(c, rf, open);
        }
    }

    fn values(&mut self, c: &Combination<Ptx>, sources: &[u8; MAX_EVENTS]) {
        self.looked_at += 1;
        let x = &c.skeleton;
        let mut rf = Relation::empty(x.len());
        x.reads.for_each(|read| rf.insert(usize::from(sources[read]), read));
        let phases = crate::barrier::phases(c, &|_| None, &mut Budget::new(self.limits));
        let phases = phases.ok().flatten().and_then(|mut phases| phases.pop()).unwrap_or_default();
        let mut barriers = Relation::empty(x.len());
        for (arrivals, waits) in &phases.0 {
            let ordering = arrivals.filter(|&arrival| crate::barrier::orders(c, arrival)).collect();
            barriers = barriers | Relation::product(x.len(), ordering, *waits);
        }
        let Some(values) = settled(c, sources, &phases) else { return };
        let read = |event: usize| values[event];
        let registers = self.program.observed().map(|(thread, register)| {
            c.term(thread, c.paths[thread].registers[usize::from(register.0)], &read).unwrap_or_default()
        });
        let registers: Vec<Value> = registers.collect();
        let ms = relations::morally_strong(x);
        let fences = relations::sc_fences(x);
        let empty = Relation::empty(x.len());
        let base = Execution {
            skeleton: x.clone(),
            rf,
            co: empty,
            sc: empty,
            barriers,
            phases: empty,
            values: values.clone(),
        };
        let inits = Relation::product(x.len(), x.inits, x.writes - x.inits) & x.same_location;
        let mentions = |span: &Span| mentions(self.program, self.formula, span.variable);
        let mentioned: Vec<Span> = c.locations.iter().copied().filter(mentions).collect();
        let strong_writes = ms.between(x.writes, x.writes);
        let fence_pairs: Vec<_> = ms.between(fences, fences).pairs().filter(|(a, b)| a < b).collect();
        let write_pairs: Vec<_> = strong_writes.pairs().filter(|(a, b)| a < b && !x.inits.contains(*a)).collect();
        // The state in which these writes are the last ones.
        let state = |last: &[usize]| {
            let final_value = |location: usize| {
                let index = mentioned.iter().position(|other| *other == c.locations[location]);
                index.and_then(|index| values[last[index]]).unwrap_or_default()
            };
            registers.iter().copied().chain(c.memory(final_value)).collect::<Vec<Value>>()
        };
        let holds = |last: &Vec<usize>| self.formula.holds(&self.layout, &state(last));
        if !last_writes(c, &inits, &mentioned).iter().any(holds) {
            return;
        }
        for course in self.courses(c, &base.barriers, &phases) {
            let base = Execution { phases: course, ..base.clone() };
            each_orientation(&fence_pairs, empty, &mut |sc| {
                let execution = Execution { sc, ..base.clone() };
                let judged = Judged::new(&execution, self.conventions);
                if asynchronous::waits_for_itself(&judged.execution_order, &execution.phases) {
                    return true;
                }
                let caused = judged.causality.between(x.writes, x.writes) & x.same_location;
                each_orientation(&write_pairs, inits, &mut |order| {
                    self.looked_at += 1;
                    for last in last_writes(c, &order, &mentioned) {
                        if self.done() {
                            return false;
                        }
                        if !self.formula.holds(&self.layout, &state(&last)) {
                            continue;
                        }
                        // The writes that the formula requires to be last are last.
                        let mut claimed = order;
                        for &write in &last {
                            let others = (x.at(x.events[write].location) & x.writes) - Set::singleton(write);
                            others.for_each(|other| claimed.insert(other, write));
                        }
                        let claimed = claimed.closure();
                        let with_causality = (claimed | caused).closure();
                        // If causality contradicts this order, the axiom of coherence shows the contradiction.
                        let co = if with_causality.is_irreflexive() { with_causality } else { claimed };
                        self.judge(Execution { co, ..execution.clone() });
                    }
                    true
                })
            });
        }
    }

    /// The arrivals that waits observe at mbarriers, and the relaxed arrivals that they observe at barriers: every
    /// course.
    fn courses(&self, c: &Combination<Ptx>, barriers: &Relation, phases: &Phases) -> Vec<Relation> {
        let x = &c.skeleton;
        let mut relaxed = Relation::empty(x.len());
        if !asynchronous::has_asynchronous(x) {
            return vec![relaxed];
        }
        for (arrivals, waits) in &phases.0 {
            relaxed = relaxed | (Relation::product(x.len(), *arrivals, *waits) - *barriers);
        }
        let order = (asynchronous::static_order(x, self.conventions) | *barriers | relaxed).closure();
        let courses = super::phases::phases(c, &order, &mut Budget::new(self.limits)).unwrap_or_default();
        courses.into_iter().map(|course| course | relaxed).collect()
    }

    fn judge(&mut self, execution: Execution<Ptx>) {
        self.looked_at += 1;
        let judged = Judged::new(&execution, self.conventions);
        let found: Vec<(Axiom, Cycle)> =
            Axiom::iter().filter_map(|axiom| Some((axiom, axiom.contradiction(&judged)?))).collect();
        // A cycle of causality shows the sources of reads, so it explains more than a shorter cycle of writes.
        let Some((axiom, cycle)) = found.iter().min_by_key(|(axiom, cycle)| (*axiom != Axiom::Causality, cycle.len()))
        else {
            return;
        };
        let cycle = judged.in_steps(cycle);
        let rank = (found.len(), cycle.len());
        if self.best.as_ref().is_none_or(|(best, _)| rank < *best) {
            self.best = Some((rank, Contradiction { axiom: *axiom, cycle, execution: execution.clone() }));
        }
    }
}

/// Whether the formula names a physical location.
fn mentions(program: &Program, formula: &Formula, location: Location) -> bool {
    let is = |atom: &Atom| matches!(*atom, Atom::Location(of) if program.physical(of) == location);
    match formula {
        Formula::Equal(a, b) | Formula::Unequal(a, b) => is(a) || is(b),
        Formula::Not(inner) => mentions(program, inner, location),
        Formula::And(a, b) | Formula::Or(a, b) => mentions(program, a, location) || mentions(program, b, location),
        Formula::True => false,
    }
}

/// Calls `each` with every choice of directions of the pairs that is acyclic together with the relation, transitively
/// closed. Stops when `each` returns false, and returns false then.
fn each_orientation(pairs: &[(usize, usize)], with: Relation, each: &mut impl FnMut(Relation) -> bool) -> bool {
    let Some((&(a, b), rest)) = pairs.split_first() else { return each(with.closure()) };
    [(a, b), (b, a)].into_iter().all(|(first, second)| {
        let mut with = with.closure();
        with.contains(second, first) || {
            with.insert(first, second);
            each_orientation(rest, with, each)
        }
    })
}

/// The value of each event if reads have these sources; `None` if the values contradict paths or writes.
fn settled(c: &Combination<Ptx>, sources: &[u8; MAX_EVENTS], phases: &Phases) -> Option<Vec<Option<Value>>> {
    let x = &c.skeleton;
    // After as many iterations as there are events, all defined values are known.
    let mut values: Vec<Option<Value>> = vec![None; x.len()];
    for _ in 0..x.len() {
        let round = values.clone();
        let read = |event: usize| round[event];
        x.reads.for_each(|event| values[event] = c.written(usize::from(sources[event]), &read));
        for (arrivals, waits) in &phases.0 {
            waits.for_each(|wait| values[wait] = crate::barrier::reduced(c, wait, *arrivals, &read));
        }
    }
    let reads = values.clone();
    let read = |event: usize| reads[event];
    x.writes.for_each(|write| values[write] = c.written(write, &read));
    let holds = |(thread, path): (usize, &&unfold::Path<Ptx>)| {
        path.constraints.iter().all(|&(term, wanted)| c.term(thread, term, &read).is_some_and(|v| (v != 0) == wanted))
    };
    let is_defined = |write: usize| values[write].is_some();
    (c.paths.iter().enumerate().all(holds) && x.writes.clone().all(is_defined)).then_some(values)
}

/// Every choice of a last write for each of the locations.
fn last_writes(c: &Combination<Ptx>, order: &Relation, locations: &[Span]) -> Vec<Vec<usize>> {
    let x = &c.skeleton;
    locations.iter().fold(vec![Vec::new()], |choices, &location| {
        let last = (x.at(location) & x.writes).filter(|&write| order.row(write).is_empty());
        let last: Vec<usize> = last.collect();
        choices.iter().flat_map(|choice| last.iter().map(move |&write| [&choice[..], &[write]].concat())).collect()
    })
}
