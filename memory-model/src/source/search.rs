//! All outcomes of a source program, and whether it is undefined.

use super::{
    Cpp, Program, ReleaseSequences,
    model::{atomicity, coherence, happens_before, in_order, races, seq_cst, sequential_consistency},
};
use crate::{
    execution::{Combination, Execution},
    outcome::{Budget, Limits, Outcomes},
    program::Value,
    ptx::search::combinations,
    relation::{MAX_EVENTS, Relation, Set},
    unfold::{self, Ending, Limit, Unfolding},
};

#[derive(Clone, Debug)]
pub struct SourceOutcomes {
    pub outcomes: Outcomes,
    /// An execution with a race: the program is undefined, and every outcome is allowed.
    pub race: Option<Race>,
}

/// Two racing events of an execution.
#[derive(Clone, Debug)]
pub struct Race {
    pub execution: Execution<Cpp>,
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
    let unfolding = Unfolding { rounds: limits.rounds, failed_cas_writes: false };
    let unfold = |thread| unfold::unfold(program, thread, unfolding);
    let threads = program.threads.iter().map(unfold).collect::<Result<Vec<_>, _>>()?;
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
        let mut search = Search { program, c: &combination, rule, budget, found, has_sc };
        search.sources(execution, [u8::MAX; MAX_EVENTS], x.dep.closure(), x.reads)
    })
}

struct Search<'s, 'p> {
    program: &'s Program,
    c: &'s Combination<'p, Cpp>,
    rule: ReleaseSequences,
    budget: &'s mut Budget,
    found: &'s mut SourceOutcomes,
    has_sc: bool,
}

impl Search<'_, '_> {
    fn read(&self, rf: &[u8; MAX_EVENTS], event: usize) -> Option<Value> {
        let source = usize::from(rf[event]);
        if source < MAX_EVENTS { self.c.written(source, &|event| self.read(rf, event)) } else { None }
    }

    /// Chooses a source for each open read.
    fn sources(
        &mut self,
        mut x: Execution<Cpp>,
        rf: [u8; MAX_EVENTS],
        dep: Relation,
        mut open: Set,
    ) -> Result<(), Limit> {
        let constraint_holds = |&(thread, term, wanted): &(usize, unfold::Term, bool)| {
            self.c.term(thread, term, &|event| self.read(&rf, event)).is_none_or(|value| (value != 0) == wanted)
        };
        let constraints = self
            .c
            .paths
            .iter()
            .enumerate()
            .flat_map(|(thread, path)| path.constraints.iter().map(move |&(term, wanted)| (thread, term, wanted)));
        if !constraints.into_iter().all(|constraint| constraint_holds(&constraint)) {
            return Ok(());
        }
        let Some(read) = open.next() else {
            x.values = (0..x.skeleton.len())
                .map(|event| match x.skeleton.writes.contains(event) {
                    true => self.c.written(event, &|event| self.read(&rf, event)),
                    false => self.read(&rf, event),
                })
                .collect();
            return self.modifications(x);
        };
        let skeleton = &x.skeleton;
        let location = skeleton.at(skeleton.events[read].location);
        for source in (location & skeleton.writes) - skeleton.po.row(read) {
            // No thin air.
            if dep.contains(read, source) {
                continue;
            }
            self.budget.choose()?;
            let (mut x, mut rf, mut dep) = (x.clone(), rf, dep);
            rf[read] = source as u8;
            x.rf.insert(source, read);
            dep.insert_transitive(source, read);
            self.sources(x, rf, dep, open)?;
        }
        Ok(())
    }

    /// Chooses modification orders. All axioms but sequential consistency are about one location.
    fn modifications(&mut self, x: Execution<Cpp>) -> Result<(), Limit> {
        self.budget.candidates += 1;
        let hb = happens_before(&x, self.rule);
        if !hb.is_irreflexive() {
            return Ok(());
        }
        let mut orders: Vec<Vec<(Relation, usize)>> = Vec::new();
        for &location in &self.c.locations {
            let events = x.skeleton.at(location);
            let writes = events & x.skeleton.writes;
            let part = Execution { rf: x.rf.between(events, events), ..x.clone() };
            let mut found = Vec::new();
            let budget = &mut *self.budget;
            total_orders(&hb, writes, Relation::empty(x.skeleton.len()), &mut |co, last| {
                budget.choose()?;
                let x = Execution { co, ..part.clone() };
                if coherence(&x, &hb) && atomicity(&x) {
                    found.push((co, last));
                }
                Ok(())
            })?;
            if found.is_empty() {
                return Ok(());
            }
            orders.push(found);
        }
        if !self.has_sc {
            // Each location by itself: only which write is the last matters.
            for found in &mut orders {
                found.sort_by_key(|(_, last)| *last);
                found.dedup_by_key(|(_, last)| *last);
            }
        }
        self.product(x, &hb, &orders, 0, &mut Vec::new())
    }

    fn product(
        &mut self,
        x: Execution<Cpp>,
        hb: &Relation,
        orders: &[Vec<(Relation, usize)>],
        index: usize,
        last: &mut Vec<usize>,
    ) -> Result<(), Limit> {
        let Some(choices) = orders.get(index) else {
            if !self.has_sc || sequential_consistency(&x, hb) {
                self.note(x, hb, last);
            }
            return Ok(());
        };
        for &(co, write) in choices {
            self.budget.choose()?;
            last.push(write);
            self.product(Execution { co: x.co | co, ..x.clone() }, hb, orders, index + 1, last)?;
            last.pop();
        }
        Ok(())
    }

    fn note(&mut self, x: Execution<Cpp>, hb: &Relation, last: &[usize]) {
        let read = |event: usize| x.values[event];
        let registers = self.program.observed().map(|(thread, register)| {
            self.c.term(thread, self.c.paths[thread].registers[usize::from(register.0)], &read).unwrap_or_default()
        });
        let memory = last.iter().map(|&write| x.values[write].unwrap_or_default());
        self.found.outcomes.states.insert(&registers.chain(memory).collect::<Vec<_>>());
        if self.found.race.is_none()
            && in_order(&x)
            && let Some(events) = races(&x, hb).pairs().next()
        {
            self.found.race = Some(Race { execution: x, events });
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
