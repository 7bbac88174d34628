//! Crowds: the threads whose accesses of a group of cells are forgotten.
//!
//! A crowd has the last epoch of each thread with a forgotten access. An access that happens after all of these epochs
//! races with no forgotten access. Otherwise it may race with one, or it is strong, as all of them are, and another
//! schedule may perform it before them. A crowd knows neither the cell nor the order of the accesses, so it may name a
//! race that does not exist, and never misses one.

use super::{CheckedAccess, Conflicts, Record};
use crate::clock::{View, cta_of};

/// The forgotten accesses of a group of cells.
#[derive(Debug, Default)]
pub(super) struct Crowd {
    /// The last epochs, by whether the accesses write and by whether they go through the async proxy.
    seen: [[View; 2]; 2],
    /// The properties of the strong accesses, each once.
    strong: Vec<Record>,
    /// Whether an access is weak, by whether it writes.
    has_weak: [bool; 2],
}

/// The maximum number of different strong accesses. Beyond it, the crowd counts them as weak.
const MOST_STRONG: usize = 64;

impl Crowd {
    pub(super) fn add(&mut self, record: Record) {
        let info = record.info;
        let (writes, is_async) = (usize::from(info.writes()), usize::from(info.is_async()));
        self.seen[writes][is_async].raise(record.agent, record.epoch);
        let alike = |old: &Record| old.info.with_mask(0) == info.with_mask(0) && cta_of(old.agent) == cta_of(record.agent);
        match info.strong() {
            Some(_) if self.strong.iter().any(alike) => {}
            Some(_) if self.strong.len() < MOST_STRONG => self.strong.push(record),
            _ => self.has_weak[writes] = true,
        }
    }

    /// Compares an access with the forgotten accesses.
    pub(super) fn check(&self, access: CheckedAccess<'_>, conflicts: &mut Conflicts) {
        let info = access.record.info;
        let is_unordered = |writes: usize| {
            self.seen[writes].iter().enumerate().any(|(is_async, view)| {
                // A read before an asynchronous write needs a fence, too, but no value depends on it.
                let is_fenced = info.is_async() && is_async == 0 && writes == 1;
                !view.is_empty()
                    && match is_fenced {
                        true => !access.clock.has_fenced_all(access.memory, view),
                        false => !access.clock.has_seen_all(view),
                    }
            })
        };
        for writes in 0..2 {
            // A write of the value that is there gives this value in every order with the writes before it.
            let is_harmless = if writes == 0 { !info.writes() } else { access.is_same };
            if is_harmless || !is_unordered(writes) {
                continue;
            }
            let others = self.strong.iter().filter(|old| usize::from(old.info.writes()) == writes);
            let is_strong = |old: &Record| old.is_morally_strong_with(access.record, access.cluster);
            match self.has_weak[writes] || !others.clone().all(is_strong) {
                true => conflicts.may_race = true,
                false => conflicts.contended.extend(others),
            }
        }
    }
}
