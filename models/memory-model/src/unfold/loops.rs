//! Loops: the iterations that only wait, and the bound on iterations.

use super::{
    beyond::constants,
    path::{Ending, EventKind, Node, PathEvent, Term},
    state::{State, Visit},
    thread::{Held, Unfold, Unfolded},
};
use crate::{
    limit::Limit,
    program::{Cmp, Computation, Language, Program, Span, Type},
};

pub(super) enum Iteration {
    New,
    /// Since an earlier arrival, the path has no effect that later code could notice.
    Idle,
    Beyond,
}

impl<'p, L: Language> Unfold<'p, L> {
    pub(super) fn enter_loop(&mut self, state: &mut State<'p, L>, pc: usize) -> Result<Iteration, Limit> {
        let live = self.live[pc];
        let unchanged = |visit: &&Visit| {
            let same = |(index, (a, b)): (usize, (&Term, &Term))| live >> index & 1 == 0 || a == b;
            visit.pc == pc
                && visit.memory == state.memory
                && visit.registers.iter().zip(&state.path.registers).enumerate().all(same)
        };
        // Iterations in which only updates wrote.
        let quiet = |event: &PathEvent<L>| match event.kind {
            EventKind::Read(_) | EventKind::Fence(_) => true,
            EventKind::Write(_) => event.rmw && self.unfolding.idle_updates,
            _ => false,
        };
        let since = |visit: &Visit| visit.events;
        let quiet = |visit: &&Visit| state.path.events[visit.events..].iter().all(quiet);
        if let Some(first) = state.visits.iter().filter(unchanged).filter(quiet).map(since).max() {
            let updates = first..state.path.events.len();
            let updates: Vec<usize> = updates.filter(|&event| state.path.events[event].rmw).collect();
            let spans = updates.iter().map(|&write| state.path.events[write].span);
            self.idle.extend(spans);
            let mut waits = true;
            for write in updates {
                let old = state.path.nodes.iter().position(|node| *node == Node::Event(write - 1));
                let Some(old) = old else {
                    waits = false;
                    break;
                };
                let sources = [Term::Node(old as u32), state.path.events[write].value, Term::Constant(0)];
                let equal = state.compute(Computation::Setp(Cmp::Eq), Type::U64, sources);
                match state.decide_condition(equal) {
                    Some(true) => {}
                    Some(false) => waits = false,
                    None => {
                        let mut changed = state.clone();
                        changed.path.constraints.push((equal, false));
                        if !self.may_read(&changed, write - 1) {
                            // The memory never holds another value.
                        } else if self.count(&mut changed, pc) {
                            changed.pc = pc + 1;
                            self.run(changed)?;
                        } else {
                            self.cut(changed, Limit::Unroll, pc);
                        }
                        state.path.constraints.push((equal, true));
                    }
                }
                if !waits {
                    break;
                }
            }
            if waits {
                return Ok(Iteration::Idle);
            }
        }
        if self.traps {
            let mut stopped = state.path.clone();
            stopped.ending = Ending::Stopped;
            self.paths.push(stopped);
        }
        Ok(if self.count(state, pc) { Iteration::New } else { Iteration::Beyond })
    }

    /// Whether a read can return, among all values that its memory ever holds, a value for which the branches of the
    /// path are as they are.
    pub(super) fn may_read(&self, state: &State<'p, L>, read: usize) -> bool {
        let span = state.path.events[read].span;
        let Some(held) = self.held.iter().find(|held| held.span == span) else { return true };
        held.values.iter().any(|&value| {
            let of = |event: usize| (event == read).then_some(value);
            let holds =
                |&(term, wanted): &(Term, bool)| state.path.value(term, &of).is_none_or(|known| (known != 0) == wanted);
            state.path.constraints.iter().all(holds)
        })
    }

    /// Counts an iteration. Returns whether the bound allows it. An iteration in which no read decided a branch does
    /// not count, because the number of such iterations is known.
    pub(super) fn count(&self, state: &mut State<'p, L>, pc: usize) -> bool {
        let State { visits, path, memory, .. } = state;
        let last = visits.iter().rposition(|visit| visit.pc == pc);
        let known = last.is_some_and(|last| visits[last].constraints == path.constraints.len());
        if !known && visits.iter().filter(|visit| visit.pc == pc).count() >= self.unfolding.rounds {
            return false;
        }
        if let Some(last) = last.filter(|_| known) {
            visits.remove(last);
        }
        visits.push(Visit {
            pc,
            registers: path.registers.clone(),
            memory: memory.clone(),
            events: path.events.len(),
            constraints: path.constraints.len(),
        });
        true
    }
}

/// Whether the iterations may be omitted that write back the values that they read.
///
/// A read from such an update returns the same value as a read from the write before it. That adds no relation between
/// two writes, or a write and a read, that did not exist through the update, if all strong accesses there are morally
/// strong, and there are no weak writes.
pub(super) fn may_idle<L: Language>(program: &Program<L>, unfolded: &[Unfolded<L>]) -> bool {
    let places: Vec<_> = program.threads.iter().map(|thread| thread.place).collect();
    let idle: Vec<Span> = unfolded.iter().flat_map(|of| &of.idle).map(|&span| program.physical_span(span)).collect();
    let events = unfolded.iter().flat_map(|of| &of.paths).flat_map(|path| &path.events);
    events.filter(|event| idle.contains(&program.physical_span(event.span))).all(|event| match event.kind {
        EventKind::Read(access) => L::reaches(access, &places).unwrap_or(true),
        EventKind::Write(access) => L::reaches(access, &places).unwrap_or(false),
        _ => true,
    })
}

/// The values of the memory that iterations update by writing back the values that they read, if all writes there are
/// of constants.
pub(super) fn held<L: Language>(program: &Program<L>, unfolded: &[Unfolded<L>]) -> Vec<Held> {
    let mut idle: Vec<Span> = unfolded.iter().flat_map(|of| &of.idle).copied().collect();
    idle.sort_unstable();
    idle.dedup();
    let held = |span: Span| Some(Held { span, values: constants(program, unfolded, program.physical_span(span))? });
    idle.into_iter().filter_map(held).collect()
}
