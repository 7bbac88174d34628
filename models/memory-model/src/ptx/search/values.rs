//! Values that depend on themselves, if only certain dependencies count: the equations that they satisfy.

use super::state::{Search, Values};
use crate::{
    barrier,
    program::Cmp,
    relation::{MAX_EVENTS, Set},
    unfold::{EventKind, Term},
};

pub(super) enum Solution {
    /// The values of all reads.
    Values(Box<Values>),
    /// There are none, or they come out of thin air: any other values would also be a solution.
    None,
    /// Unknown.
    Unknown,
}

impl Search<'_, '_, '_> {
    /// The values for which every read returns the value of its source, along these paths.
    pub(super) fn solve(&self, rf: &[u8; MAX_EVENTS]) -> Solution {
        let x = &self.c.skeleton;
        let mut values: Values = [None; MAX_EVENTS];
        // Each event has a representative with the same value.
        let mut same: [usize; MAX_EVENTS] = std::array::from_fn(|event| event);
        // Each iteration determines a further value, or is the last.
        for _ in 0..=2 * x.len() {
            let before = (values, same);
            for event in 0..x.len() {
                let read = |event: usize| values[same[event]];
                let new = match x.events[event].kind {
                    EventKind::Wait => barrier::reduced(self.c, event, self.phases[event], &read),
                    EventKind::Read(_) => {
                        let source = usize::from(rf[event]);
                        if let Some(origin) = self.copied(source) {
                            equate(&mut same, &mut values, event, origin);
                        }
                        let read = |event: usize| values[same[event]];
                        self.c.written(source, &read)
                    }
                    _ => continue,
                };
                let known = &mut values[same[event]];
                match (*known, new) {
                    (Some(known), Some(new)) if known != new => return Solution::None,
                    (None, Some(_)) => *known = new,
                    _ => {}
                }
            }
            for &(thread, term, wanted) in &self.constraints {
                let read = |event: usize| values[same[event]];
                match self.c.term(thread, term, &read) {
                    Some(value) if (value != 0) != wanted => return Solution::None,
                    Some(_) => continue,
                    None => {}
                }
                let Some((cmp @ (Cmp::Eq | Cmp::Ne), a, b)) = self.c.paths[thread].comparison(term) else { continue };
                if (cmp == Cmp::Eq) != wanted {
                    continue;
                }
                for (a, b) in [(a, b), (b, a)] {
                    let Some(copy) = self.c.copy(thread, a) else { continue };
                    let read = |event: usize| values[same[event]];
                    match (self.c.copy(thread, b), self.c.term(thread, b, &read)) {
                        (_, Some(value)) => {
                            if values[same[copy]].is_some_and(|known| known != value) {
                                return Solution::None;
                            }
                            values[same[copy]] = Some(value);
                        }
                        (Some(other), None) => equate(&mut same, &mut values, copy, other),
                        (None, None) => {}
                    }
                }
            }
            if before == (values, same) {
                break;
            }
        }
        let open: Set = x.reads.filter(|&read| values[same[read]].is_none()).collect();
        if open.is_empty() {
            return Solution::Values(Box::new(std::array::from_fn(|event| values[same[event]])));
        }
        // A value that is only a copy of itself, or that grows with every cycle, and that no constraint determines, is
        // out of thin air or does not exist.
        let held = self.constraints.iter().any(|&(thread, term, _)| {
            let known = self.c.term(thread, term, &|event| values[same[event]]).is_some();
            !known && !(self.c.sources(thread, term) & open).is_empty() && !self.equates(thread, term)
        });
        let turns = |read: usize| self.turns(usize::from(rf[read]));
        if !held && { open }.all(turns) { Solution::None } else { Solution::Unknown }
    }

    /// The event whose value a write copies.
    fn copied(&self, write: usize) -> Option<usize> {
        let (thread, term) = self.c.written_term(write)?;
        self.c.copy(thread, term)
    }

    /// Whether a constraint compares two events for equality. Such constraints are handled already.
    fn equates(&self, thread: usize, term: Term) -> bool {
        self.c.paths[thread].comparison(term).is_some_and(|(cmp, a, b)| {
            let copies = self.c.copy(thread, a).is_some() && self.c.copy(thread, b).is_some();
            matches!(cmp, Cmp::Eq | Cmp::Ne) && copies
        })
    }

    /// Whether different values of a write's source always give different written values.
    pub(super) fn turns(&self, write: usize) -> bool {
        let Some((thread, term)) = self.c.written_term(write) else { return false };
        let path = self.c.paths[thread];
        let mut term = term;
        loop {
            if path.copied(term).is_some() {
                return true;
            }
            let Some(source) = path.turned(term) else { return false };
            term = source;
        }
    }
}

/// Records that two events have the same value.
fn equate(same: &mut [usize; MAX_EVENTS], values: &mut Values, a: usize, b: usize) {
    let (from, to) = (same[a].max(same[b]), same[a].min(same[b]));
    values[to] = values[to].or(values[from]);
    same.iter_mut().filter(|event| **event == from).for_each(|event| *event = to);
}
