//! Every candidate execution, one by one.

use std::collections::HashSet;

use itertools::Itertools;
use ptx_memory_model::{
    execution::{Combination, Execution},
    outcome::Layout,
    program::Value,
    ptx::{
        Conventions, Program, Ptx,
        axioms::Judged,
        relations::{self, Fixed},
    },
    relation::{MAX_EVENTS, Relation, Set},
    source::{self, Cpp, ReleaseSequences, model},
    states::States,
    unfold::{Ending, Path, Unfolding, unfold_all},
};

pub struct Outcomes {
    pub states: States,
    pub executions: usize,
}

pub fn outcomes(program: &Program, conventions: Conventions) -> Outcomes {
    let threads: Vec<Vec<Path<Ptx>>> = unfold_all(program, conventions.unfolding(4)).expect("small threads");
    let mut outcomes = Outcomes { states: States::new(Layout::new(program).width()), executions: 0 };
    for index in 0..threads.iter().map(Vec::len).product() {
        let mut rest = index;
        let mut paths = Vec::new();
        for thread in &threads {
            paths.push(&thread[rest % thread.len()]);
            rest /= thread.len();
        }
        if paths.iter().all(|path| path.ending == Ending::Returned) {
            let c = Combination::new(program, paths).expect("few events");
            let rf = Relation::empty(c.skeleton.len());
            sources(program, &c, conventions, rf, c.skeleton.reads, &mut outcomes);
        }
    }
    outcomes
}

/// Like [`outcomes`], for the source model.
pub fn source_outcomes(program: &source::Program, rule: ReleaseSequences) -> (States, bool) {
    let unfolding = Unfolding { rounds: 4, failed_cas_writes: false, hung_at_end: false, idle_updates: true };
    let threads: Vec<Vec<Path<Cpp>>> = unfold_all(program, unfolding).expect("small threads");
    let (mut states, mut race) = (States::new(Layout::new(program).width()), false);
    for paths in threads.iter().multi_cartesian_product() {
        let c = Combination::new(program, paths).expect("few events");
        let x = &c.skeleton;
        let sources = x.reads.map(|read| (x.at(x.events[read].location) & x.writes).map(move |write| (write, read)));
        let orders = c.locations.iter().map(|&location| {
            let writes: Vec<usize> = (x.at(location) & x.writes).collect();
            let len = writes.len();
            writes.into_iter().permutations(len)
        });
        let choices: Vec<Vec<(usize, usize)>> =
            sources.map(Iterator::collect::<Vec<_>>).multi_cartesian_product().collect();
        let orders: Vec<Vec<Vec<usize>>> = orders.map(Iterator::collect::<Vec<_>>).multi_cartesian_product().collect();
        let choices = if x.reads.is_empty() { vec![Vec::new()] } else { choices };
        for (choice, orders) in choices.iter().cartesian_product(&orders) {
            let mut rf = Relation::empty(x.len());
            choice.iter().for_each(|&(write, read)| rf.insert(write, read));
            let mut co = Relation::empty(x.len());
            orders.iter().flat_map(|order| order.iter().array_combinations()).for_each(|[a, b]| co.insert(*a, *b));
            let mut values: Vec<Option<Value>> = vec![None; MAX_EVENTS];
            for _ in 0..x.len() {
                rf.pairs().for_each(|(write, read)| values[read] = c.written(write, &|event| values[event]));
            }
            let read = |event: usize| values[event];
            let holds = |(thread, path): (usize, &&Path<Cpp>)| {
                path.constraints
                    .iter()
                    .all(|&(term, wanted)| c.term(thread, term, &read).is_some_and(|v| (v != 0) == wanted))
            };
            let empty = Relation::empty(x.len());
            let execution = Execution {
                skeleton: x.clone(),
                rf,
                co,
                sc: empty,
                barriers: empty,
                phases: empty,
                values: values.clone(),
            };
            if !c.paths.iter().enumerate().all(holds) || model::forbidden(&execution, rule).is_some() {
                continue;
            }
            race |= model::in_order(&execution)
                && !model::races(&execution, &model::happens_before(&execution, rule)).is_empty();
            let registers = program.observed().map(|(thread, register)| {
                c.term(thread, c.paths[thread].registers[usize::from(register.0)], &read).expect("all is read")
            });
            let last: Vec<usize> = orders.iter().filter_map(|order| order.last().copied()).collect();
            let memory = c.memory(|index| c.written(last[index], &read).expect("all is read"));
            states.insert(&registers.chain(memory).collect::<Vec<_>>());
        }
    }
    (states, race)
}

/// Every source of every read.
fn sources(
    program: &Program,
    c: &Combination<Ptx>,
    conventions: Conventions,
    rf: Relation,
    mut open: Set,
    outcomes: &mut Outcomes,
) {
    let x = &c.skeleton;
    let Some(read) = open.next() else { return values(program, c, conventions, rf, outcomes) };
    for write in x.at(x.events[read].location) & x.writes {
        let mut rf = rf;
        rf.insert(write, read);
        sources(program, c, conventions, rf, open, outcomes);
    }
}

fn values(program: &Program, c: &Combination<Ptx>, conventions: Conventions, rf: Relation, outcomes: &mut Outcomes) {
    let x = &c.skeleton;
    if !(rf | x.dep).is_acyclic() {
        return;
    }
    // Without cycles, as many iterations as there are events determine all values.
    let mut values: Vec<Option<Value>> = vec![None; MAX_EVENTS];
    for _ in 0..x.len() {
        for (write, read) in rf.pairs() {
            values[read] = c.written(write, &|event| values[event]);
        }
    }
    let read = |event: usize| values[event];
    let constraints = |(thread, path): (usize, &&Path<Ptx>)| {
        path.constraints.iter().all(|&(term, wanted)| c.term(thread, term, &read).is_some_and(|v| (v != 0) == wanted))
    };
    if !c.paths.iter().enumerate().all(constraints) {
        return;
    }
    let fixed = Fixed::new(x, conventions);
    let ms = fixed.morally_strong;
    let empty = Relation::empty(x.len());
    let fences = relations::sc_fences(x);
    let execution =
        Execution { skeleton: x.clone(), rf, co: empty, sc: empty, barriers: empty, phases: empty, values: Vec::new() };
    let mut last_writes: HashSet<Vec<usize>> = HashSet::new();
    for sc in orientations(&ms.between(fences, fences), empty) {
        let execution = Execution { sc, ..execution.clone() };
        let observation = relations::observation_order(&execution, &fixed);
        let synchronizes = relations::synchronizes(&observation, &fixed);
        let cb = relations::base_causality_order(&execution, &synchronizes, conventions);
        let preserved = relations::proxy_preserved_base_causality_order(x, &cb);
        let cause = relations::causality_order(&observation, &preserved);
        let same = x.same_location;
        let inits = Relation::product(x.len(), x.inits, x.writes - x.inits);
        let base = (inits | cause.between(x.writes, x.writes)) & same;
        for co in orientations(&ms.between(x.writes, x.writes), base) {
            outcomes.executions += 1;
            let execution = Execution { co, ..execution.clone() };
            if Judged::new(&execution, conventions).forbidden().is_none() {
                let last = |&location: &_| {
                    (x.at(location) & x.writes).filter(|&write| co.row(write).is_empty()).collect::<Vec<_>>()
                };
                let last: Vec<Vec<usize>> = c.locations.iter().map(last).collect();
                for index in 0..last.iter().map(Vec::len).product() {
                    let mut rest = index;
                    let mut choice = Vec::new();
                    for writes in &last {
                        choice.push(writes[rest % writes.len()]);
                        rest /= writes.len();
                    }
                    last_writes.insert(choice);
                }
            }
        }
    }
    for last in last_writes {
        let registers = program.observed().map(|(thread, register)| {
            c.term(thread, c.paths[thread].registers[usize::from(register.0)], &read).expect("all is read")
        });
        let memory = c.memory(|index| c.written(last[index], &read).expect("all is read"));
        outcomes.states.insert(&registers.chain(memory).collect::<Vec<_>>());
    }
}

/// Every choice of one direction for each pair of a symmetric relation, together with a relation, transitively closed.
fn orientations(pairs: &Relation, with: Relation) -> Vec<Relation> {
    let pairs: Vec<(usize, usize)> = pairs.pairs().filter(|(a, b)| a < b).collect();
    let oriented = |choice: usize| {
        let mut relation = with;
        for (index, &(a, b)) in pairs.iter().enumerate() {
            if choice >> index & 1 == 0 { relation.insert(a, b) } else { relation.insert(b, a) }
        }
        relation.closure()
    };
    (0..1 << pairs.len()).map(oriented).filter(Relation::is_irreflexive).collect()
}
