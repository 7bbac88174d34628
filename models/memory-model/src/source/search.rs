//! All outcomes of a source program, and whether it is undefined.

use super::{
    Cpp, Program, Races, Rules,
    model::{
        atomicity, coherence, ends_in_a_race, happens_before, in_order, inclusive, may_race, races, racing_reads,
        seq_cst, sequential_consistency,
    },
    patterns::Patterns,
};
use crate::{
    execution::{Combination, Execution},
    limit::Limit,
    outcome::{Budget, Limits, Outcomes},
    program::Value,
    ptx::search::combinations,
    relation::{MAX_EVENTS, Relation, Set},
    unfold::{self, Ending, Path, Term, Unfolding},
};

/// The final states of a source program.
#[derive(Clone, Debug)]
pub struct SourceOutcomes {
    /// The states whose values are all known; meaningless for an undefined program.
    pub outcomes: Outcomes,
    /// The states in which some values may be arbitrary, by LLVM's rule for races.
    pub open: Patterns,
    /// An execution with a race.
    pub race: Option<Race>,
    /// Whether every outcome is allowed: the program races, by C++'s rule, or branches on the value of a racing read,
    /// by LLVM's rule.
    pub undefined: bool,
}

impl SourceOutcomes {
    /// Whether the program may end in this state.
    pub fn admit(&self, state: &[Value]) -> bool {
        self.undefined || self.outcomes.states.contains(state) || self.open.admit(state)
    }
}

/// Two racing events of an execution.
#[derive(Clone, Debug)]
pub struct Race {
    /// The execution.
    pub execution: Execution<Cpp>,
    /// The numbers of the events.
    pub events: (usize, usize),
}

/// Every final state that the model allows. The allowed states are computed without RC11's axiom against load
/// buffering; races are computed with the axiom, so that speculation does not excuse a wrong mapping.
pub fn outcomes(program: &Program, rules: impl Into<Rules>, limits: Limits) -> SourceOutcomes {
    let outcomes = Outcomes::new(program);
    let mut found = SourceOutcomes { outcomes, open: Patterns::default(), race: None, undefined: false };
    let mut budget = Budget::new(limits);
    let result = run(program, rules.into(), limits, &mut budget, &mut found);
    found.outcomes.candidates = budget.candidates;
    found.outcomes.unknown = result.err();
    found
}

fn run(
    program: &Program,
    rules: Rules,
    limits: Limits,
    budget: &mut Budget,
    found: &mut SourceOutcomes,
) -> Result<(), Limit> {
    let unfolding =
        Unfolding { rounds: limits.rounds, failed_cas_writes: false, hung_at_end: false, idle_updates: true };
    let mut threads = unfold::unfold_all(program, unfolding)?;
    if limits.rounds_suffice {
        let beyond = |path: &Path<Cpp>| path.cut_at().is_some_and(|(limit, _)| limit == Limit::Unroll);
        threads.iter_mut().for_each(|paths| paths.retain(|path| !beyond(path)));
    }
    combinations(&threads, &mut Vec::new(), &mut |paths| {
        let combination = Combination::new(program, paths.to_vec())?;
        if paths.iter().any(|path| path.ending != Ending::Returned) {
            let limit = paths.iter().find_map(|path| path.cut_at());
            return Err(limit.map_or(Limit::Unroll, |(limit, _)| limit));
        }
        if combination.barriers().next().is_some() {
            return Err(Limit::Barrier);
        }
        let x = &combination.skeleton;
        let empty = Relation::empty(x.len());
        let execution = Execution {
            skeleton: x.clone(),
            rf: empty,
            co: empty,
            sc: empty,
            barriers: empty,
            phases: empty,
            values: Vec::new(),
        };
        let has_sc = !seq_cst(x).is_empty();
        let inclusive = inclusive(x);
        let may_race = match rules.races {
            Races::Cpp => Set(0),
            Races::Llvm => may_race(x, &inclusive),
        };
        let (dep, reads) = (x.dep.closure(), x.reads);
        let rf = [u8::MAX; MAX_EVENTS];
        let c = &combination;
        Search { program, c, rules, budget, found, has_sc, inclusive, may_race, x: execution, rf, racing: Set(0) }
            .sources(dep, reads)
    })
}

struct Search<'s, 'p> {
    program: &'s Program,
    c: &'s Combination<'p, Cpp>,
    rules: Rules,
    budget: &'s mut Budget,
    found: &'s mut SourceOutcomes,
    has_sc: bool,
    inclusive: Relation,
    /// The reads that may return an arbitrary value because of a race.
    may_race: Set,
    /// The choices so far. They are changed in place, and each change is reverted after its consequences are explored.
    x: Execution<Cpp>,
    /// The same as `x.rf`: the source of each read.
    rf: [u8; MAX_EVENTS],
    /// The reads without a source, which may return any value.
    racing: Set,
}

impl Search<'_, '_> {
    fn read(&self, event: usize) -> Option<Value> {
        let source = usize::from(self.rf[event]);
        if source < MAX_EVENTS { self.c.written(source, &|event| self.read(event)) } else { None }
    }

    /// Whether the chosen values lead along these paths.
    fn follows_paths(&self) -> bool {
        self.c.paths.iter().enumerate().all(|(thread, path)| {
            path.constraints.iter().all(|&(term, wanted)| {
                let value = self.c.term(thread, term, &|event| self.read(event));
                value.is_none_or(|value| (value != 0) == wanted)
            })
        })
    }

    /// Chooses a source for each read that has none yet.
    fn sources(&mut self, dep: Relation, mut open: Set) -> Result<(), Limit> {
        if !self.follows_paths() {
            return Ok(());
        }
        let Some(read) = open.next() else { return self.modifications() };
        let skeleton = &self.x.skeleton;
        let location = skeleton.at(skeleton.events[read].location);
        for source in (location & skeleton.writes) - skeleton.po.row(read) {
            // Out-of-thin-air values are excluded.
            if dep.contains(read, source) {
                continue;
            }
            self.budget.choose()?;
            let mut dep = dep;
            dep.insert_transitive(source, read);
            self.rf[read] = source as u8;
            self.x.rf.insert(source, read);
            self.sources(dep, open)?;
            self.x.rf.remove(source, read);
            self.rf[read] = u8::MAX;
        }
        if self.may_race.contains(read) {
            self.budget.choose()?;
            self.racing.insert(read);
            self.sources(dep, open)?;
            self.racing = self.racing - Set::singleton(read);
        }
        Ok(())
    }

    /// Chooses modification orders. All axioms except sequential consistency concern a single location.
    fn modifications(&mut self) -> Result<(), Limit> {
        self.budget.candidates += 1;
        let hb = happens_before(&self.x, self.rules.sequences);
        if !hb.is_irreflexive() {
            return Ok(());
        }
        // A race that needs speculation does not count: in executions without speculation, exactly the racing reads
        // return arbitrary values.
        let wanted = match self.may_race {
            Set(0) => Set(0),
            _ if in_order(&self.x) => racing_reads(&self.x, &self.inclusive, &hb),
            _ => Set(0),
        };
        if self.racing != wanted {
            return Ok(());
        }
        let rf = self.x.rf;
        let mut orders: Vec<Vec<(Relation, usize)>> = Vec::new();
        for &location in &self.c.locations {
            let events = self.x.skeleton.at(location);
            let writes = events & self.x.skeleton.writes;
            let mut found = Vec::new();
            self.x.rf = rf.between(events, events);
            total_orders(&hb, writes, Relation::empty(self.x.skeleton.len()), &mut |co, last| {
                self.budget.choose()?;
                self.x.co = co;
                if coherence(&self.x, &hb) && atomicity(&self.x) {
                    found.push((co, last));
                }
                Ok(())
            })?;
            orders.push(found);
        }
        self.x.rf = rf;
        self.x.co = Relation::empty(rf.len());
        if orders.iter().any(Vec::is_empty) {
            return Ok(());
        }
        if !self.has_sc {
            // The locations are independent: only the last write of each matters.
            for found in &mut orders {
                found.sort_by_key(|(_, last)| *last);
                found.dedup_by_key(|(_, last)| *last);
            }
        }
        let value = |event: usize| match self.x.skeleton.writes.contains(event) {
            true => self.c.written(event, &|event| self.read(event)),
            false => self.read(event),
        };
        self.x.values = (0..rf.len()).map(value).collect();
        self.product(&hb, &orders, &mut Vec::new())
    }

    fn product(
        &mut self,
        hb: &Relation,
        orders: &[Vec<(Relation, usize)>],
        last: &mut Vec<usize>,
    ) -> Result<(), Limit> {
        let Some((choices, rest)) = orders.split_first() else {
            if !self.has_sc || sequential_consistency(&self.x, hb) {
                self.note(hb, last);
            }
            return Ok(());
        };
        let before = self.x.co;
        for &(co, write) in choices {
            self.budget.choose()?;
            last.push(write);
            self.x.co = before | co;
            self.product(hb, rest, last)?;
            last.pop();
        }
        self.x.co = before;
        Ok(())
    }

    fn note(&mut self, hb: &Relation, last: &[usize]) {
        let read = |event: usize| self.x.values[event];
        let unknown = |&(thread, term): &(usize, Term)| self.c.term(thread, term, &read).is_none();
        let mut branches = self
            .c
            .paths
            .iter()
            .enumerate()
            .flat_map(|(thread, path)| path.constraints.iter().map(move |&(term, _)| (thread, term)));
        let in_order = in_order(&self.x);
        let registers = self.program.observed().map(|(thread, register)| {
            self.c.term(thread, self.c.paths[thread].registers[usize::from(register.0)], &read)
        });
        let memory = (0..last.len()).map(|index| {
            let races = || ends_in_a_race(&self.x.skeleton, &self.inclusive, hb, self.c.locations[index]);
            let open = self.rules.races == Races::Llvm && in_order && races();
            self.x.values[last[index]].filter(|_| !open)
        });
        let undefined = self.racing != Set(0) && branches.any(|branch| unknown(&branch));
        let memory: Vec<_> = memory.collect();
        let whole = self.c.memory(|index| memory[index].unwrap_or_default()).zip(&self.c.variables);
        let whole =
            whole.map(|(value, (_, locations))| memory[locations.clone()].iter().all(Option::is_some).then_some(value));
        let state: Vec<_> = registers.chain(whole).collect();
        match state.iter().copied().collect::<Option<Vec<_>>>() {
            Some(state) => _ = self.found.outcomes.states.insert(&state),
            None => self.found.open.insert(&state),
        }
        if self.found.race.is_none()
            && in_order
            && let Some(events) = races(&self.x, hb).pairs().next()
        {
            self.found.race = Some(Race { execution: self.x.clone(), events });
            self.found.undefined |= self.rules.races == Races::Cpp;
        }
        self.found.undefined |= undefined;
    }
}

/// Every total order of the writes of a location that agrees with happens-before, with the last write.
fn total_orders(
    hb: &Relation,
    open: Set,
    order: Relation,
    each: &mut impl FnMut(Relation, usize) -> Result<(), Limit>,
) -> Result<(), Limit> {
    for next in open {
        let rest = open - Set::singleton(next);
        if { rest }.any(|other| hb.contains(other, next)) {
            continue;
        }
        let mut order = order;
        *order.row_mut(next) = rest;
        if rest.is_empty() {
            each(order, next)?;
        } else {
            total_orders(hb, rest, order, each)?;
        }
    }
    Ok(())
}
