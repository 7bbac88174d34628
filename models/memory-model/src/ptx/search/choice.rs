//! The consequences of choosing the source of a read.

use super::state::{LocationEvents, Search};
use crate::relation::{MAX_EVENTS, Relation, Set};

/// The choices so far, with their consequences.
#[derive(Clone)]
pub(super) struct Choice {
    pub(super) rf: [u8; MAX_EVENTS],
    pub(super) chosen: Set,
    /// Base causality order, and its inverse.
    pub(super) cb: Relation,
    pub(super) before: Relation,
    /// Observation order, and its inverse.
    pub(super) observation: Relation,
    pub(super) observed: Relation,
    /// The transitive closure of dependencies and reads-from.
    pub(super) dep: Relation,
}

impl Choice {
    /// Adds a pair to base causality.
    pub(super) fn order(&mut self, a: usize, b: usize) {
        if self.cb.contains(a, b) {
            return;
        }
        let before = self.before.row(a) | Set::singleton(a);
        let after = self.cb.row(b) | Set::singleton(b);
        before.for_each(|event| *self.cb.row_mut(event) = self.cb.row(event) | after);
        after.for_each(|event| *self.before.row_mut(event) = self.before.row(event) | before);
    }
}

impl Search<'_, '_, '_> {
    /// Chooses the source of a read. Returns false if that is forbidden, whatever the remaining choices are.
    pub(super) fn choose(&self, choice: &mut Choice, read: usize, source: usize) -> bool {
        let Some(synchronized) = self.take(choice, read, source) else { return false };
        let affected = |at: &&LocationEvents| synchronized || at.events.contains(read);
        !self.plain || self.locations.iter().filter(affected).all(|at| self.may_be_coherent(choice, at))
    }

    /// Chooses the source of a read, and adds the consequences. Returns whether this synchronized two events; `None`
    /// for values out of thin air.
    pub(super) fn take(&self, choice: &mut Choice, read: usize, source: usize) -> Option<bool> {
        if self.has_dependencies {
            if choice.dep.contains(read, source) {
                self.thin_air.set(true);
                return None;
            }
            choice.dep.insert_transitive(source, read);
        }
        choice.rf[read] = source as u8;
        if self.beyond.contains(source) {
            return Some(false);
        }
        choice.chosen.insert(read);
        let mut synchronized = false;
        if self.fixed.morally_strong.contains(source, read) {
            let x = &self.c.skeleton;
            let is_rmw = source > 0 && x.rmw.contains(source - 1, source);
            let from = Set::singleton(source) | if is_rmw { choice.observed.row(source - 1) } else { Set(0) };
            let to = x.rmw.row(read).fold(Set::singleton(read), |to, write| to | choice.observation.row(write));
            for write in from {
                *choice.observation.row_mut(write) = choice.observation.row(write) | to;
                for head in self.heads.row(write) {
                    for tail in to.fold(Set(0), |tails, read| tails | self.fixed.acquire_patterns.row(read)) {
                        if self.fixed.morally_strong.contains(head, tail) && !choice.cb.contains(head, tail) {
                            choice.order(head, tail);
                            synchronized = true;
                        }
                    }
                }
            }
            to.for_each(|read| *choice.observed.row_mut(read) = choice.observed.row(read) | from);
        }
        Some(synchronized)
    }
}
