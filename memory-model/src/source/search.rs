//! All outcomes of a source program, and whether it is undefined.

use super::{
    Cpp, Program, ReleaseSequences,
    model::{atomicity, coherence, happens_before, in_order, races, seq_cst, sequential_consistency},
};
use crate::{
    execution::{Combination, Execution},
    limit::Limit,
    outcome::{Budget, Limits, Outcomes},
    program::Value,
    ptx::search::combinations,
    relation::{MAX_EVENTS, Relation, Set},
    unfold::{self, Ending, Unfolding},
};

/// The final states of a source program.
#[derive(Clone, Debug)]
pub struct SourceOutcomes {
    /// The states; meaningless for a program with a race.
    pub outcomes: Outcomes,
    /// An execution with a race: the program is undefined, and every outcome is allowed.
    pub race: Option<Race>,
}

/// Two racing events of an execution.
#[derive(Clone, Debug)]
pub struct Race {
    /// The execution.
    pub execution: Execution<Cpp>,
    /// The numbers of the events.
    pub events: (usize, usize),
}

/// Every final state that the model allows. Which are allowed is decided without RC11's axiom against load buffering, and
/// what is undefined with it: so speculation excuses no wrong mapping.
pub fn outcomes(program: &Program, rule: ReleaseSequences, limits: Limits) -> SourceOutcomes {
    let mut found = SourceOutcomes { outcomes: Outcomes::new(program), race: None };
    let mut budget = Budget::new(limits);
    let result = run(program, rule, limits, &mut budget, &mut found);
    found.outcomes.candidates = budget.candidates;
    found.outcomes.unknown = result.err();
    found
}

fn run(
    program: &Program,
    rule: ReleaseSequences,
    limits: Limits,
    budget: &mut Budget,
    found: &mut SourceOutcomes,
) -> Result<(), Limit> {
    let unfolding =
        Unfolding { rounds: limits.rounds, failed_cas_writes: false, hung_at_end: false, idle_updates: true };
    let threads = unfold::unfold_all(program, unfolding)?;
    combinations(&threads, &mut Vec::new(), &mut |paths| {
        let combination = Combination::new(program, paths.to_vec())?;
        if paths.iter().any(|path| path.ending != Ending::Returned) {
            return Err(Limit::Unroll);
        }
        if combination.barriers().next().is_some() {
            return Err(Limit::Barrier);
        }
        let x = &combination.skeleton;
        let empty = Relation::empty(x.len());
        let execution =
            Execution { skeleton: x.clone(), rf: empty, co: empty, sc: empty, barriers: empty, values: Vec::new() };
        let has_sc = !seq_cst(x).is_empty();
        let (dep, reads) = (x.dep.closure(), x.reads);
        let rf = [u8::MAX; MAX_EVENTS];
        Search { program, c: &combination, rule, budget, found, has_sc, x: execution, rf }.sources(dep, reads)
    })
}

struct Search<'s, 'p> {
    program: &'s Program,
    c: &'s Combination<'p, Cpp>,
    rule: ReleaseSequences,
    budget: &'s mut Budget,
    found: &'s mut SourceOutcomes,
    has_sc: bool,
    /// What is chosen so far. It is changed in place, and a change is taken back after what follows from it.
    x: Execution<Cpp>,
    /// The same as `x.rf`: the source of each read.
    rf: [u8; MAX_EVENTS],
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

    /// Chooses a source for each open read.
    fn sources(&mut self, dep: Relation, mut open: Set) -> Result<(), Limit> {
        if !self.follows_paths() {
            return Ok(());
        }
        let Some(read) = open.next() else { return self.modifications() };
        let skeleton = &self.x.skeleton;
        let location = skeleton.at(skeleton.events[read].location);
        for source in (location & skeleton.writes) - skeleton.po.row(read) {
            // No thin air.
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
        Ok(())
    }

    /// Chooses modification orders. All axioms but sequential consistency are about one location.
    fn modifications(&mut self) -> Result<(), Limit> {
        self.budget.candidates += 1;
        let hb = happens_before(&self.x, self.rule);
        if !hb.is_irreflexive() {
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
            // Each location by itself: only which write is the last matters.
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
        let registers = self.program.observed().map(|(thread, register)| {
            self.c.term(thread, self.c.paths[thread].registers[usize::from(register.0)], &read).unwrap_or_default()
        });
        let memory = self.c.memory(|index| self.x.values[last[index]].unwrap_or_default());
        let state: Vec<_> = registers.chain(memory).collect();
        self.found.outcomes.states.insert(&state);
        if self.found.race.is_none()
            && in_order(&self.x)
            && let Some(events) = races(&self.x, hb).pairs().next()
        {
            self.found.race = Some(Race { execution: self.x.clone(), events });
        }
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
        let rest = open - Set::one(next);
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
