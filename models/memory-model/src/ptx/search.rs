//! All outcomes of a PTX program.
//!
//! Causality depends on reads-from and on the order of fences, but never on coherence order; and every axiom about
//! coherence concerns a single location. So the search has two parts:
//!
//! 1. It chooses sources for the reads that can matter beyond their location: the reads that may synchronize, and the
//!    reads whose values reach other locations, branches or barriers. Then it chooses the phases of barriers and the
//!    Fence-SC order. After each choice, it discards the executions that base causality already forbids.
//! 2. Base causality is now fixed. For each location separately, the search chooses the sources of the remaining reads
//!    and a coherence order. The outcomes are the products of the results of the locations.
//!
//! If the caller asks only about a condition, and the search takes long, a SAT solver makes the choices:
//! `search/encode.rs`. If there are threads of the host, the strengthened model is asked for, multimem operations take
//! effect at once, or fences are restricted to a state space, coherence orders are not chosen location by location:
//! `search/compound.rs`.

use std::cell::Cell;

mod choice;
mod compound;
mod encode;
mod location;
mod product;
mod question;
mod races;
mod solver;
mod speculation;
mod state;
mod strengthened;
mod symmetry;
mod terms;
mod values;

use self::{
    choice::Choice,
    encode::{Answer, ExecutionChoices},
    state::{Goal, LocationEvents, NONE, Question, Search},
    symmetry::{alike_writes, ordered_fences},
    values::Solution,
};
pub use self::{
    races::{Races, race, races},
    speculation::{OPEN, Speculation, speculation},
    strengthened::strengthened,
};
use super::{
    Conventions, Fence, Proxy, ProxyFence, Ptx, asynchronous, axioms::Judged, phases, proxies, race::Known, relations,
    relations::Fixed, replicas, replicas::combine, restricted,
};
use crate::{
    barrier,
    condition::{Atom, Condition, Formula},
    execution::{Combination, Event, Execution, Skeleton},
    host::order::location_order,
    limit::Limit,
    outcome::{Budget, Layout, Limits, Outcomes, Witness},
    program::{Cmp, Location, Program, Register, Value},
    relation::{MAX_EVENTS, Relation, Set},
    states::States,
    thin_air,
    unfold::{self, EventKind, Path, PathBarrier, Term, Unfolding},
};

/// Every final state that the model allows.
///
/// If a dependency forbids an execution, the search runs again with only the dependencies that are certain. The
/// additional states are [`Outcomes::speculative`].
pub fn outcomes(program: &Program<Ptx>, conventions: Conventions, limits: Limits) -> Outcomes {
    let mut outcomes = Outcomes::new(program);
    let mut budget = Budget::new(limits);
    let mut goal = Goal::new(&mut outcomes);
    let mut result = run(program, conventions, limits, &mut budget, &mut goal);
    let thin_air = goal.thin_air;
    outcomes.candidates = budget.candidates;
    if let (Ok(rounds), true) = (result, thin_air) {
        let mut all = Outcomes::new(program);
        let mut goal = Goal { certain: true, ..Goal::new(&mut all) };
        let tried = run_rounds(program, conventions, conventions.unfolding(rounds), &mut budget, &mut goal);
        let known = if goal.undefined { Err(Limit::ThinAir) } else { Ok(rounds) };
        result = tried.and(known);
        let new = all.states.iter().filter(|state| !outcomes.states.contains(state));
        for state in new {
            outcomes.speculative.insert(state);
        }
    }
    outcomes.unknown = result.err();
    if outcomes.unknown == Some(Limit::MixedSizes) {
        // The states were found by axioms that do not apply.
        outcomes.states = Outcomes::new(program).states;
    }
    outcomes
}

/// Whether a condition holds, with the execution that decides it.
#[derive(Clone, Debug)]
pub struct Decision {
    /// The verdict, as in [`Outcomes::verdict`].
    pub verdict: Result<bool, Limit>,
    /// The number of candidates, as in [`Outcomes::candidates`].
    pub candidates: u64,
    /// The execution that decides the condition, if there is one.
    pub execution: Option<Box<Execution<Ptx>>>,
}

/// The number of choices that the search tries for each combination of paths before it asks a solver.
const TRIED: u64 = 512;

/// Whether a condition holds of a program. The search ignores registers and variables that the condition does not name,
/// discards executions that cannot decide it, and ends with its decision.
pub fn decide(program: &Program<Ptx>, condition: &Condition, conventions: Conventions, limits: Limits) -> Decision {
    decide_after(TRIED, program, condition, conventions, limits)
}

/// Like [`decide`], with the number of choices after which a solver is asked.
pub fn decide_after(
    tried: u64,
    program: &Program<Ptx>,
    condition: &Condition,
    conventions: Conventions,
    limits: Limits,
) -> Decision {
    if conventions.strengthened {
        // The search in the model of PTX is faster, and finds every execution of the strengthened model.
        let ptx = Conventions { strengthened: false, ..conventions };
        let found = decide_after(tried, program, condition, ptx, limits);
        let is_forbidden = |x: &Execution<Ptx>| Judged::new(x, conventions).forbidden().is_some();
        if !found.execution.as_ref().is_some_and(|execution| is_forbidden(execution)) {
            return found;
        }
    }
    let atoms = condition.formula.atoms();
    let mut program = program.clone();
    for (index, thread) in program.threads.iter_mut().enumerate() {
        for (number, register) in thread.registers.iter_mut().enumerate() {
            let atom = Atom::Register { thread: index, register: Register(number as u16) };
            register.observed &= atoms.contains(&atom);
        }
    }
    let layout = Layout::new(&program);
    let (truth, decided) = condition.decided_by();
    let named =
        |atom: &Atom| if let Atom::Location(location) = *atom { Some(program.physical(location)) } else { None };
    let memory: Vec<Location> = atoms.iter().filter_map(named).collect();
    let decides = |state: &[Value]| condition.formula.holds(&layout, state) == truth;
    let mut budget = Budget::new(limits);

    let mut outcomes = Outcomes::new(&program);
    let mut witness = None;
    let mut goal = Goal {
        wanted: Some(&decides),
        question: Some(Question { formula: &condition.formula, truth, tried }),
        witness: Some(&mut witness),
        memory: Some(memory.clone()),
        required: condition.formula.required(truth),
        ..Goal::new(&mut outcomes)
    };
    let result = run(&program, conventions, limits, &mut budget, &mut goal);
    let thin_air = goal.thin_air;
    let mut speculative = None;
    let mut verdict = match result {
        Err(Limit::MixedSizes) => Err(Limit::MixedSizes),
        _ if witness.is_some() => Ok(decided),
        Err(limit) => Err(limit),
        Ok(rounds) if thin_air => {
            let mut goal = Goal {
                wanted: Some(&decides),
                question: Some(Question { formula: &condition.formula, truth, tried }),
                witness: Some(&mut speculative),
                memory: Some(memory.clone()),
                required: condition.formula.required(truth),
                certain: true,
                ..Goal::new(&mut outcomes)
            };
            let tried = run_rounds(&program, conventions, conventions.unfolding(rounds), &mut budget, &mut goal);
            let undefined = goal.undefined;
            tried.and(if undefined || speculative.is_some() { Err(Limit::ThinAir) } else { Ok(!decided) })
        }
        Ok(_) => Ok(!decided),
    };
    if verdict == Ok(!decided) || verdict == Err(Limit::ThinAir) {
        // No condition holds of a program without a complete execution.
        let mut any = None;
        let mut goal = Goal {
            wanted: Some(&|_| true),
            question: Some(Question { formula: &Formula::True, truth: true, tried }),
            witness: Some(&mut any),
            memory: Some(Vec::new()),
            ..Goal::new(&mut outcomes)
        };
        match run(&program, conventions, limits, &mut budget, &mut goal) {
            _ if any.is_some() => {}
            Ok(_) => verdict = Err(Limit::Hangs),
            Err(limit) => verdict = Err(limit),
        }
    }
    let execution = witness.map(|witness| Box::new(witness.execution));
    Decision { verdict, candidates: budget.candidates, execution }
}

/// An execution whose final state is wanted; `None` if there is none within the limits.
pub fn witness(
    program: &Program<Ptx>,
    conventions: Conventions,
    limits: Limits,
    wanted: &dyn Fn(&[Value]) -> bool,
) -> Option<Witness<Ptx>> {
    let mut outcomes = Outcomes::new(program);
    let mut witness = None;
    let mut goal = Goal { wanted: Some(wanted), witness: Some(&mut witness), ..Goal::new(&mut outcomes) };
    let result = run(program, conventions, limits, &mut Budget::new(limits), &mut goal);
    witness.filter(|_| result != Err(Limit::MixedSizes))
}

/// Unrolls loops one iteration further until all outcomes are found or the bound is reached: the number of iterations.
fn run(
    program: &Program<Ptx>,
    conventions: Conventions,
    limits: Limits,
    budget: &mut Budget,
    goal: &mut Goal,
) -> Result<usize, Limit> {
    let mut rounds = if limits.rounds_suffice { limits.rounds } else { 1 };
    loop {
        match run_rounds(program, conventions, conventions.unfolding(rounds), budget, goal) {
            Err(Limit::Unroll) if rounds < limits.rounds => rounds += 1,
            result => return result.map(|()| rounds),
        }
    }
}

fn run_rounds(
    program: &Program<Ptx>,
    conventions: Conventions,
    unfolding: Unfolding,
    budget: &mut Budget,
    goal: &mut Goal,
) -> Result<(), Limit> {
    let mut threads = unfold::unfold_all(program, unfolding)?;
    if budget.rounds_suffice {
        // A limit other than the number of iterations still applies.
        let beyond = |path: &Path<Ptx>| path.cut_at().is_some_and(|(limit, _)| limit == Limit::Unroll);
        threads.iter_mut().for_each(|paths| paths.retain(|path| !beyond(path)));
    }
    if goal.certain {
        threads = thin_air::certain(program, &threads, budget)?;
    }
    let mut cut = None;
    combinations(&threads, &mut Vec::with_capacity(threads.len()), &mut |paths| {
        budget.choose()?;
        let limit = paths.iter().find_map(|path| path.cut_at()).map(|(limit, _)| limit);
        // The absence of paths that are cut was established with all dependencies.
        let known = limit.is_some() && (goal.certain || cut == limit || cut.is_some() && limit == Some(Limit::Unroll));
        if goal.reached() || known {
            return Ok(());
        }
        let read: Vec<Path<Ptx>> =
            if limit.is_some() { unfold::without_unread_beyond(program, paths) } else { Vec::new() };
        let paths = if limit.is_some() { read.iter().collect() } else { paths.to_vec() };
        let combination = combine(program, paths, conventions)?;
        // The strengthened model has no execution beyond a bound if PTX has none.
        let conventions = Conventions { strengthened: conventions.strengthened && limit.is_none(), ..conventions };
        let mut search = Search::new(program, &combination, conventions, budget, goal);
        if limit.is_some() {
            cut = if search.is_feasible()? { limit } else { cut };
        } else {
            search.run()?;
        }
        let thin_air = search.thin_air.get();
        goal.thin_air |= thin_air;
        Ok(())
    })?;
    cut.filter(|_| !goal.reached()).map_or(Ok(()), Err)
}

/// Calls `each` with every choice of one path for each thread.
pub(crate) fn combinations<'p, L: crate::program::Language>(
    threads: &'p [Vec<Path<L>>],
    chosen: &mut Vec<&'p Path<L>>,
    each: &mut impl FnMut(&[&'p Path<L>]) -> Result<(), Limit>,
) -> Result<(), Limit> {
    let Some(paths) = threads.get(chosen.len()) else {
        return if unfold::go_together(chosen) { each(chosen) } else { Ok(()) };
    };
    for path in paths {
        chosen.push(path);
        combinations(threads, chosen, each)?;
        chosen.pop();
    }
    Ok(())
}

/// The maximum number of arrivals and waits at barriers with a quorum: they may have many divisions into phases.
const MAX_QUORUM_EVENTS: usize = 24;

/// Whether an event is outside of the generic proxy, or orders another proxy.
fn is_proxied(kind: &EventKind<Ptx>) -> bool {
    match kind {
        EventKind::Read(access) | EventKind::Write(access) => access.proxy != Proxy::Generic,
        EventKind::Fence(Fence::Proxy(fence)) => *fence != ProxyFence::Alias,
        EventKind::Start(_) => true,
        _ => false,
    }
}

/// The writes that each read may read from: the writes to its location that do not follow it.
fn possible_sources(x: &Skeleton<Ptx>) -> [Set; MAX_EVENTS] {
    let (mut sources, order) = ([Set(0); MAX_EVENTS], location_order(x));
    for read in x.reads {
        let event = &x.events[read];
        let ordered = |other: &Event<Ptx>| other.address == event.address && other.proxy() == event.proxy();
        let later = order.row(read).filter(|&write| ordered(&x.events[write])).collect();
        sources[read] = (x.writes & x.at(event.location)) - later;
    }
    sources
}

/// The state before [`Search::follow`].
struct Before {
    sources: [Set; MAX_EVENTS],
    sc_pairs: Vec<(usize, usize)>,
    alike: Vec<Vec<(usize, usize)>>,
}

impl<'s, 'p, 'g> Search<'s, 'p, 'g> {
    fn new(
        program: &Program<Ptx>,
        c: &'s Combination<'p, Ptx>,
        conventions: Conventions,
        budget: &'s mut Budget,
        goal: &'s mut Goal<'g>,
    ) -> Self {
        let x = &c.skeleton;
        let fixed = Fixed::new(x, conventions);
        let sc_pairs = ordered_fences(x, &fixed.morally_strong);
        let plain = c.variables.len() == program.locations.len()
            && !(0..x.len()).any(|event| is_proxied(&x.events[event].kind));
        let asynchronous = asynchronous::has_asynchronous(x);
        let sources = possible_sources(x);
        let registers = program
            .observed()
            .map(|(thread, register)| (thread, c.paths[thread].registers[usize::from(register.0)]))
            .collect::<Vec<_>>();
        let required = goal.required.iter().filter_map(|&(atom, value)| match atom {
            Atom::Register { thread, register } => {
                Some((thread, *c.paths[thread].registers.get(usize::from(register.0))?, value))
            }
            _ => None,
        });
        let required = required.collect();
        let constraints = c
            .paths
            .iter()
            .enumerate()
            .flat_map(|(thread, path)| path.constraints.iter().map(move |&(term, wanted)| (thread, term, wanted)));
        let mut search = Self {
            c,
            budget,
            goal,
            heads: fixed.release_patterns.inverse(),
            fixed,
            sources,
            outer: Set(0),
            locations: Vec::with_capacity(c.locations.len()),
            sc_pairs,
            sc_known: false,
            names: program.observed().collect(),
            constraints: constraints.collect(),
            required,
            registers,
            plain,
            conventions,
            asynchronous,
            has_dependencies: !x.dep.is_empty(),
            phases: [Set(0); MAX_EVENTS],
            barrier_edges: Relation::empty(x.len()),
            phase_edges: Relation::empty(x.len()),
            barriers_first: false,
            feasible_only: false,
            feasible: false,
            beyond: Set(0),
            unknown: Set(0),
            thin_air: Cell::new(false),
            solved: None,
            unsolved: false,
        };
        // Equations concern all values at once.
        let outer = if search.goal.certain || search.is_compound() { x.reads } else { search.outer_reads() };
        let observed = search.registers.iter().fold(Set(0), |set, &(thread, term)| set | c.sources(thread, term));
        search.outer = outer;
        let last = search.goal.memory.clone();
        let last = last.as_ref();
        let lasts = search.goal.required.clone();
        let required_last = |variable: Location| {
            lasts.iter().find_map(|&(atom, value)| match atom {
                Atom::Location(of) if program.physical(of) == variable => Some(value),
                _ => None,
            })
        };
        let alike = alike_writes(program, c, &search.fixed.morally_strong);
        let locations = c.locations.iter().map(|&location| {
            let events = x.at(location);
            let inner = (events & x.reads) - outer;
            let observed: Vec<usize> = (inner & observed).collect();
            LocationEvents {
                events,
                writes: events & x.writes,
                reads: events & x.reads,
                inner: inner.collect(),
                is_total: search.is_total(events),
                last_matters: last.is_none_or(|memory| memory.contains(&location.variable)),
                last_required: required_last(location.variable).map(|value| location.extract(value)),
                alike: alike.iter().copied().filter(|&(write, _)| events.contains(write)).collect(),
                rows: States::new(observed.len() + 1),
                observed,
                causes: Vec::new(),
            }
        });
        search.locations = locations.collect();
        search
    }

    /// Whether every two writes of a location, except the initial one, are morally strong, and every read of a
    /// read-modify-write is morally strong with all writes except its own.
    fn is_total(&self, events: Set) -> bool {
        let x = &self.c.skeleton;
        let writes = (events & x.writes) - x.inits;
        let strong = |event: usize, others: Set| {
            (others - Set::singleton(event) - self.fixed.morally_strong.row(event)).is_empty()
        };
        let updates = events & x.reads & x.rmw.domain();
        { writes }.all(|write| strong(write, writes)) && { updates }.all(|read| strong(read, writes - x.rmw.row(read)))
    }

    /// Whether the coherence orders of locations depend on each other: `search/compound.rs`.
    fn is_compound(&self) -> bool {
        let x = &self.c.skeleton;
        self.conventions.strengthened
            || !x.host.is_empty()
            || replicas::are_at_once(x, self.conventions)
            || !restricted::fences(x).is_empty()
    }

    /// The reads that matter beyond their location.
    fn outer_reads(&self) -> Set {
        let x = &self.c.skeleton;
        let values = self.constraints.iter().map(|&(thread, term, _)| self.c.sources(thread, term));
        let mut outer = values.fold(Set(0), |outer, sources| outer | sources) & x.reads;
        for (thread, event, barrier) in self.c.barriers() {
            let brought =
                if x.events[event].kind == EventKind::Arrive { self.c.written_sources(event) } else { Set(0) };
            let quorum = barrier.quorum.map_or(Set(0), |quorum| self.c.sources(thread, quorum));
            outer = outer | ((self.c.sources(thread, barrier.id) | quorum | brought) & x.reads);
        }
        for write in x.writes - x.inits {
            let location = x.events[write].location;
            let elsewhere = self.c.written_sources(write).filter(|&read| x.events[read].location != location);
            outer = outer | (elsewhere.collect::<Set>() & x.reads);
        }
        for &location in &self.c.locations {
            let events = x.at(location);
            let heads = (events & x.writes).fold(Set(0), |heads, write| heads | self.heads.row(write));
            let synchronizes = |read: &usize| {
                self.fixed.acquire_patterns.row(*read).any(|tail| {
                    let others =
                        |&head: &usize| self.fixed.morally_strong.contains(head, tail) && !x.same_thread(head, tail);
                    { heads }.any(|head| others(&head))
                })
            };
            let synchronizing: Set = (events & x.reads).filter(synchronizes).collect();
            if !synchronizing.is_empty() {
                outer = outer | synchronizing | (x.rmw.domain() & events);
            }
        }
        if self.asynchronous || self.goal.race.is_some() {
            // Strong reads are part of execution order and of observation order.
            outer = outer | (x.reads & relations::strong(x));
        }
        // The value of an outer read must not depend on an inner read.
        loop {
            let before = outer;
            for &location in &self.c.locations {
                let events = x.at(location);
                if !(events & outer).is_empty() {
                    let writes = (events & x.writes) - x.inits;
                    outer = writes.fold(outer, |outer, write| outer | (self.c.written_sources(write) & x.reads));
                }
            }
            if outer == before {
                return outer;
            }
        }
    }

    /// Whether a loop may run beyond its bound: whether there is an execution that reaches the bound.
    ///
    /// Take any execution, and omit all events of a thread beyond the bound. No axiom forbids an execution with fewer
    /// events, except that the reads from those events lose their source; here they may return any value. The remaining
    /// property of those events is that they depend on the reads that led there (section 8.10.4). If there is no such
    /// execution, then no execution has a thread beyond the bound.
    fn is_feasible(&mut self) -> Result<bool, Limit> {
        let x = &self.c.skeleton;
        // A thread that waits at a barrier may wait for a thread beyond the bound. If the barrier counts threads or
        // combines their values, the events up to the bound are not an execution.
        let counted = |barrier: &PathBarrier| barrier.quorum.is_some() || barrier.reduction.is_some();
        if self.asynchronous || self.c.barriers().any(|(.., barrier)| counted(barrier)) {
            return Ok(true);
        }
        self.beyond = x.filter(|event| matches!(event.kind, EventKind::Beyond { .. }));
        self.unknown = x.filter(|event| event.kind == EventKind::Beyond { known: false });
        for beyond in self.beyond {
            for read in x.reads {
                // A thread reads from its own later writes only through another proxy.
                let other = !x.same_thread(read, beyond) || !self.plain;
                if other && x.events[read].location.variable == x.events[beyond].location.variable {
                    self.sources[read].insert(beyond);
                }
            }
        }
        self.feasible_only = true;
        self.required.clear();
        self.locations.iter_mut().for_each(|at| at.last_required = None);
        self.run()?;
        Ok(self.feasible)
    }

    fn run(&mut self) -> Result<(), Limit> {
        let x = &self.c.skeleton;
        let empty = Relation::empty(x.len());
        let mut choice = Choice {
            rf: [NONE; MAX_EVENTS],
            chosen: Set(0),
            cb: asynchronous::first_causes(x, self.conventions),
            before: empty,
            observation: empty,
            observed: empty,
            dep: if self.has_dependencies { x.dep.closure() } else { empty },
        };
        choice.before = choice.cb.inverse();
        let of_quorum = self.c.barriers().filter(|(.., barrier)| barrier.quorum.is_some());
        if of_quorum.count() > MAX_QUORUM_EVENTS {
            return Err(Limit::Quorum);
        }
        if self.c.barriers().next().is_some() {
            // Barriers whose names are constants are settled first.
            let known = |_: usize| None;
            if let Some(phases) = barrier::phases(self.c, &known, self.budget)?.filter(|phases| phases.len() == 1) {
                self.barriers_first = true;
                return match phases.into_iter().next() {
                    Some(phases) => self.with_phases(&choice, &phases, |search, choice| search.mbarriers(choice)),
                    None => Ok(()),
                };
            }
        } else {
            self.barriers_first = true;
        }
        self.mbarriers(&choice)
    }

    /// Chooses which arrivals at mbarriers the waits observe.
    fn mbarriers(&mut self, choice: &Choice) -> Result<(), Limit> {
        if !self.asynchronous {
            return self.begin(choice);
        }
        let x = &self.c.skeleton;
        let others = self.phase_edges;
        let order = (asynchronous::static_order(x, self.conventions) | choice.cb | others).closure();
        for course in phases::phases(self.c, &order, self.budget)? {
            self.phase_edges = others | course;
            let synchronized = asynchronous::mbarriers_synchronize(x, &self.phase_edges, self.conventions);
            let mut next = choice.clone();
            synchronized.pairs().for_each(|(a, b)| next.order(a, b));
            let order = asynchronous::execution_order(
                x,
                &next.cb,
                &Relation::empty(x.len()),
                &self.phase_edges,
                self.conventions,
            );
            let cb = asynchronous::enter_operations(x, &next.cb, self.conventions.readings);
            let preserved = proxies::all_preserved(x, &cb, &order, self.conventions);
            // No read returns a later write (section 8.10.6).
            let sources = self.sources;
            if restricted::fences(x).is_empty() {
                x.reads.for_each(|read| self.sources[read] = sources[read] - preserved.row(read));
            }
            let result = self.begin(&next);
            self.sources = sources;
            result?;
        }
        self.phase_edges = others;
        Ok(())
    }

    /// Chooses sources for all reads. If the question is a formula, and the search takes long, a solver chooses, and
    /// the search verifies the solver's choices.
    fn begin(&mut self, choice: &Choice) -> Result<(), Limit> {
        let Some(question) = self.goal.question.filter(|_| self.has_clauses()) else {
            return self.outer(choice, self.outer);
        };
        // The solver handles values that depend on themselves better than the search.
        let all = self.budget.allow(if self.goal.certain { 0 } else { question.tried });
        let tried = self.outer(choice, self.outer);
        if !self.budget.go_on(all) || tried != Err(Limit::Choices) {
            return tried;
        }
        self.thin_air.set(false);
        let mut refuted = Vec::new();
        while !self.done() {
            match self.ask(choice, &question, &refuted)? {
                Answer::Execution(found) => {
                    let before = self.follow(&found);
                    self.outer(choice, self.outer)?;
                    self.go_back(before);
                    debug_assert!(self.done() || !found.is_certain, "a solution of the clauses is not an execution");
                    refuted.push(*found);
                }
                Answer::None { thin_air } => {
                    self.thin_air.set(thin_air);
                    break;
                }
            }
        }
        Ok(())
    }

    /// Restricts the choices to the found solution. Returns the choices before the restriction.
    fn follow(&mut self, found: &ExecutionChoices) -> Before {
        let alike = self.locations.iter().map(|at| at.alike.clone()).collect();
        let before = Before { sources: self.sources, sc_pairs: self.sc_pairs.clone(), alike };
        found.sources.iter().for_each(|&(read, source)| self.sources[read] = Set::singleton(source));
        self.sc_pairs.clone_from(&found.fences);
        self.sc_known = true;
        for at in &mut self.locations {
            at.alike.extend(found.coherence.iter().filter(|&&(write, _)| at.events.contains(write)));
        }
        before
    }

    fn go_back(&mut self, before: Before) {
        (self.sources, self.sc_pairs, self.sc_known) = (before.sources, before.sc_pairs, false);
        self.locations.iter_mut().zip(before.alike).for_each(|(at, alike)| at.alike = alike);
    }

    fn with_phases(
        &mut self,
        choice: &Choice,
        phases: &barrier::Phases,
        then: impl Fn(&mut Self, &Choice) -> Result<(), Limit>,
    ) -> Result<(), Limit> {
        let mut choice = choice.clone();
        self.barrier_edges = Relation::empty(self.c.skeleton.len());
        let others = self.phase_edges;
        for (arrivals, waits) in &phases.0 {
            for wait in *waits {
                self.phases[wait] = *arrivals;
            }
            // The result of a reduction depends on the operands of all arrivals, and not on itself.
            for wait in waits.filter(|&wait| barrier::reduces(self.c, wait)) {
                for arrival in *arrivals {
                    if choice.dep.contains(wait, arrival) {
                        self.thin_air.set(true);
                        return Ok(());
                    }
                    choice.dep.insert_transitive(arrival, wait);
                }
            }
            for arrival in arrivals.filter(|&arrival| barrier::orders(self.c, arrival)) {
                for wait in *waits {
                    self.barrier_edges.insert(arrival, wait);
                    choice.order(arrival, wait);
                }
            }
        }
        for arrival in phases.0.iter().flat_map(|(arrivals, _)| *arrivals) {
            if self.asynchronous && self.barrier_edges.row(arrival).is_empty() {
                let waits = phases.0.iter().filter(|(arrivals, _)| arrivals.contains(arrival));
                *self.phase_edges.row_mut(arrival) = waits.fold(Set(0), |all, (_, waits)| all | *waits);
            }
        }
        if self.asynchronous {
            let observed = self.barrier_edges | self.phase_edges;
            let initialized = asynchronous::initialized(&self.c.skeleton, &observed, self.conventions.readings);
            initialized.pairs().for_each(|(a, b)| choice.order(a, b));
        }
        // A wait must not precede itself in base causality order.
        let waits = phases.0.iter().fold(Set(0), |all, (_, waits)| all | *waits);
        let result = match { waits }.any(|wait| choice.cb.contains(wait, wait)) {
            true => Ok(()),
            false => then(self, &choice),
        };
        self.phase_edges = others;
        result
    }

    /// Chooses sources for the reads that have none yet.
    fn outer(&mut self, choice: &Choice, open: Set) -> Result<(), Limit> {
        if self.done() {
            return Ok(());
        }
        let Some(read) = self.next(choice, open) else {
            return if self.barriers_first { self.fences(choice) } else { self.barriers(choice) };
        };
        for source in self.sources[read] {
            self.budget.choose()?;
            let mut next = choice.clone();
            let possible = match self.is_compound() {
                true => {
                    next.rf[read] = source as u8;
                    next.chosen.insert(read);
                    true
                }
                false => self.choose(&mut next, read, source),
            };
            if possible && self.constraints_hold(&next.rf, false) {
                self.outer(&next, open - Set::singleton(read))?;
            }
        }
        Ok(())
    }

    /// The next read to choose a source for. If branches depend on values, it is a read that such a value waits for.
    fn next(&self, choice: &Choice, mut open: Set) -> Option<usize> {
        let awaited = |read| self.c.written_sources(usize::from(choice.rf[read])) & open;
        if self.constraints.is_empty() && self.required.is_empty() {
            return open.next();
        }
        let required = self.required.iter().find_map(|&(thread, term, _)| (self.c.sources(thread, term) & open).next());
        required.or_else(|| choice.chosen.map(awaited).find_map(|mut reads| reads.next())).or_else(|| open.next())
    }

    fn barriers(&mut self, choice: &Choice) -> Result<(), Limit> {
        let rf = choice.rf;
        let mut budget = *self.budget;
        let phases = barrier::phases(self.c, &|read| self.read(&rf, read), &mut budget);
        *self.budget = budget;
        for phases in phases?.unwrap_or_default() {
            self.with_phases(choice, &phases, |search, choice| search.fences(choice))?;
        }
        Ok(())
    }

    /// Whether the final state may still have the required register values.
    fn required_hold(&self, rf: &[u8; MAX_EVENTS]) -> bool {
        self.required.iter().all(|&(thread, term, value)| {
            self.c.term(thread, term, &|event| self.read(rf, event)).is_none_or(|known| known == value)
        })
    }

    fn constraints_hold(&self, rf: &[u8; MAX_EVENTS], all_known: bool) -> bool {
        self.required_hold(rf)
            && self.constraints.iter().all(|&(thread, term, wanted)| {
                match self.c.term(thread, term, &|event| self.read(rf, event)) {
                    Some(value) => (value != 0) == wanted,
                    None if all_known && !self.feasible_only && !self.unsolved => false,
                    None => match self.c.paths[thread].comparison(term) {
                        Some((cmp @ (Cmp::Eq | Cmp::Ne), a, b)) if self.same(rf, thread, a, b) => {
                            (cmp == Cmp::Eq) == wanted
                        }
                        _ => true,
                    },
                }
            })
    }

    /// Whether two terms have the same, possibly unknown, value because both copy the same write.
    fn same(&self, rf: &[u8; MAX_EVENTS], thread: usize, a: Term, b: Term) -> bool {
        let origin = |term| self.c.origin(thread, term, &|read| self.source(rf, read));
        origin(a) == origin(b)
    }

    /// Orients the pairs of morally strong `fence.sc`.
    fn fences(&mut self, choice: &Choice) -> Result<(), Limit> {
        if self.goal.certain {
            match self.solve(&choice.rf) {
                Solution::Values(values) => self.solved = Some(values),
                Solution::None => return Ok(()),
                Solution::Unknown => self.unsolved = true,
            }
        }
        if !self.constraints_hold(&choice.rf, true) {
            self.solved = None;
            return Ok(());
        }
        let oriented = match self.is_compound() {
            true => self.compound(choice),
            false => self.orient(choice, &Relation::empty(self.c.skeleton.len())),
        };
        (self.solved, self.unsolved) = (None, false);
        oriented
    }

    fn orient(&mut self, choice: &Choice, sc: &Relation) -> Result<(), Limit> {
        if self.done() {
            return Ok(());
        }
        let open = |&&(a, b): &&(usize, usize)| !sc.contains(a, b) && !sc.contains(b, a);
        let forced = |&&(a, b): &&(usize, usize)| choice.cb.contains(a, b) || choice.cb.contains(b, a);
        let pair = self.sc_pairs.iter().filter(open).find(forced).or_else(|| self.sc_pairs.iter().find(open));
        let Some(&(a, b)) = pair else { return self.locations(choice, sc) };
        for (first, second) in [(a, b), (b, a)] {
            if choice.cb.contains(second, first) || self.sc_known && first == b {
                continue;
            }
            let (mut choice, mut sc) = (choice.clone(), *sc);
            sc.insert(first, second);
            let news = !choice.cb.contains(first, second);
            choice.order(first, second);
            if !news || !self.plain || self.locations.iter().all(|at| self.may_be_coherent(&choice, at)) {
                self.orient(&choice, &sc)?;
            }
        }
        Ok(())
    }

    /// Solves each location, and combines the results.
    fn locations(&mut self, choice: &Choice, sc: &Relation) -> Result<(), Limit> {
        let x = &self.c.skeleton;
        let mut preserved = choice.cb;
        if self.asynchronous || self.goal.race.is_some() {
            let mut read = Relation::empty(x.len());
            choice.chosen.for_each(|event| read.insert(usize::from(choice.rf[event]), event));
            let read = read & self.fixed.morally_strong;
            let cb = asynchronous::enter_operations(x, &choice.cb, self.conventions.readings);
            let order = asynchronous::execution_order(x, &choice.cb, &read, &self.phase_edges, self.conventions);
            if asynchronous::waits_for_itself(&order, &self.phase_edges) {
                return Ok(());
            }
            let all = proxies::all_preserved(x, &cb, &order, self.conventions);
            preserved = if self.plain { preserved } else { all };
            let known = Known {
                skeleton: x,
                morally_strong: &self.fixed.morally_strong,
                base_causality: &cb,
                causality: &relations::causality_order(&choice.observation, &all),
                execution_order: &order,
                readings: self.conventions.readings,
            };
            let whole = self.goal.whole;
            let is_racy = || known.races().any(|(a, b, _)| !whole || !known.is_ordered_as_whole(a, b));
            if self.goal.race.is_some_and(|wanted| wanted != is_racy()) {
                return Ok(());
            }
        } else if !self.plain {
            preserved = relations::proxy_preserved_base_causality_order(x, &choice.cb);
        }
        for index in 0..self.locations.len() {
            let mut at = std::mem::replace(&mut self.locations[index], LocationEvents::empty());
            at.rows.clear();
            at.causes.clear();
            let solved = self.inner(choice, &preserved, &mut at, 0);
            let none = at.rows.is_empty();
            self.locations[index] = at;
            solved?;
            if none {
                return Ok(());
            }
        }
        self.feasible = true;
        if !self.feasible_only {
            self.product(choice, sc)?;
        }
        Ok(())
    }
}
