//! Outcomes and witnesses, combined from the results of the locations.

use super::{choice::Choice, state::Search};
use crate::{
    barrier,
    execution::Execution,
    limit::Limit,
    outcome::{State, Witness},
    program::Value,
    ptx::Ptx,
    relation::{MAX_EVENTS, Relation, Set},
    unfold::EventKind,
};

impl Search<'_, '_, '_> {
    /// The outcomes: every combination of the results of the locations.
    pub(super) fn product(&mut self, choice: &Choice, sc: &Relation) -> Result<(), Limit> {
        let mut values = [0; MAX_EVENTS];
        if self.unsolved {
            self.goal.undefined = true;
            if self.goal.witness.is_some() {
                // The execution is known, but not its values.
                self.record_execution(choice, sc, &vec![0; self.locations.len()], State::default());
            }
            return Ok(());
        }
        for read in self.outer {
            values[read] = self.read(&choice.rf, read).unwrap_or_default();
        }
        for (event, phase) in self.phases.iter().enumerate().filter(|(_, phase)| !phase.is_empty()) {
            let read = |event| self.read(&choice.rf, event);
            values[event] = barrier::reduced(self.c, event, *phase, &read).unwrap_or_default();
        }
        let mut rows = [0; MAX_EVENTS];
        let memory = self.registers.len();
        let mut state: Vec<Value> = vec![0; memory + self.c.variables.len()];
        let mut last = vec![0; self.locations.len()];
        // Most registers hold a value that was read, or a value that does not change here.
        let c = self.c;
        let value = |(thread, term), values: &[Value; MAX_EVENTS]| {
            c.term(thread, term, &|event| Some(values[event])).unwrap_or_default()
        };
        let inner = self.locations.iter().flat_map(|at| &at.observed).copied().collect::<Set>();
        let (mut copies, mut computed) = (Vec::new(), Vec::new());
        for (index, &(thread, term)) in self.registers.iter().enumerate() {
            match c.copy(thread, term) {
                Some(read) if inner.contains(read) => copies.push((index, read)),
                None if !(c.sources(thread, term) & inner).is_empty() => computed.push(index),
                _ => state[index] = value((thread, term), &values),
            }
        }
        loop {
            self.budget.choose()?;
            for (index, at) in self.locations.iter().enumerate() {
                let row = at.rows.row(rows[index] as u32);
                at.observed.iter().zip(row).for_each(|(&read, &value)| values[read] = value);
                last[index] = row[at.observed.len()];
            }
            state.truncate(memory);
            state.extend(c.memory(|index| last[index]));
            copies.iter().for_each(|&(index, read)| state[index] = values[read]);
            computed.iter().for_each(|&index| state[index] = value(self.registers[index], &values));
            match self.goal.wanted {
                Some(wanted) => {
                    if wanted(&state) {
                        self.record_execution(choice, sc, &rows, state.into());
                        return Ok(());
                    }
                }
                None => {
                    self.goal.outcomes.states.insert(&state);
                    if self.goal.outcomes.states.is_full() {
                        return Err(Limit::States);
                    }
                }
            }
            let mut index = 0;
            loop {
                let Some(at) = self.locations.get(index) else { return Ok(()) };
                rows[index] += 1;
                if rows[index] < at.rows.len() {
                    break;
                }
                rows[index] = 0;
                index += 1;
            }
        }
    }

    /// Keeps an execution, if the caller wants a witness.
    fn record_execution(&mut self, choice: &Choice, sc: &Relation, rows: &[usize], state: State) {
        let witness = self.witness(choice, sc, rows, state);
        if let Some(slot) = &mut self.goal.witness {
            **slot = Some(witness);
        }
    }

    fn witness(&self, choice: &Choice, sc: &Relation, rows: &[usize], state: State) -> Witness<Ptx> {
        let x = &self.c.skeleton;
        let mut sources = choice.rf;
        let mut co = Relation::empty(x.len());
        for (at, &row) in self.locations.iter().zip(rows) {
            let (rf, order) = &at.causes[row];
            at.inner.iter().for_each(|&read| sources[read] = rf[read]);
            co = co | *order;
        }
        let mut rf = Relation::empty(x.len());
        x.reads.for_each(|read| rf.insert(usize::from(sources[read]), read));
        let value = |event: usize| match x.writes.contains(event) || x.events[event].kind == EventKind::Arrive {
            true => self.c.written(event, &|event| self.read(&sources, event)),
            false if x.reads.contains(event) => self.read(&sources, event),
            false => None,
        };
        let values = (0..x.len()).map(value).collect();
        let execution = Execution {
            skeleton: x.clone(),
            rf,
            co,
            sc: *sc,
            barriers: self.barrier_edges,
            phases: self.phase_edges,
            values,
        };
        Witness { execution, state }
    }
}
