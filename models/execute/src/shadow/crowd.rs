//! Crowds: the threads whose accesses of a group of cells are forgotten.
//!
//! A crowd has the last epoch of each thread with a forgotten access. An access that happens after all of these epochs
//! races with no forgotten access. Otherwise it may race with one, or it is strong, as all of them are, and another
//! schedule may perform it before them. A crowd knows neither the cell nor the order of the accesses, so it may name a
//! race that does not exist, and never misses one.

use rustc_hash::FxHashMap;

use super::record::{CheckedAccess, Conflicts, Record};
use crate::clock::{View, cta_of};

/// The forgotten accesses of a memory.
#[derive(Debug, Default)]
pub(super) struct Crowds {
    /// By cell.
    cells: Vec<Option<Box<Crowd>>>,
    /// By cell, in a large memory, and by group of cells: many threads access the same large inputs.
    few: FxHashMap<u64, Box<Crowd>>,
    groups: FxHashMap<u64, Box<Crowd>>,
    is_grouped: bool,
    /// Whether any crowd has writes.
    pub has_writes: bool,
}

/// The number of cells of a group.
const GROUP: u64 = 1 << 14;

impl Crowds {
    /// Crowds of cells and of groups of cells, for large memories.
    pub(super) fn of_groups() -> Self {
        Self { is_grouped: true, ..Self::default() }
    }

    /// Crowds of cells, for small memories: neighboring variables there have different threads.
    pub(super) fn of_cells() -> Self {
        Self::default()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.cells.is_empty() && self.few.is_empty() && self.groups.is_empty()
    }

    /// Adds a forgotten access of a cell, to its group if there are groups.
    pub(super) fn add(&mut self, index: u64, is_of_group: bool, record: Record) {
        self.has_writes |= record.info.writes();
        let crowd = match (self.is_grouped, is_of_group) {
            (true, true) => self.groups.entry(index / GROUP).or_default(),
            (true, false) => self.few.entry(index).or_default(),
            (false, _) => {
                let index = index as usize;
                if self.cells.len() <= index {
                    self.cells.resize_with(index + 1, || None);
                }
                self.cells[index].get_or_insert_default()
            }
        };
        crowd.add(record);
    }

    /// Compares an access of a cell with the forgotten accesses of the cell, and with the forgotten accesses of its group
    /// if the group may have some of the cell.
    pub(super) fn check(&self, index: u64, is_of_group: bool, access: CheckedAccess<'_>, conflicts: &mut Conflicts) {
        let group = self.groups.get(&(index / GROUP)).filter(|_| is_of_group);
        let cell = match self.is_grouped {
            true => self.few.get(&index),
            false => self.cells.get(index as usize).and_then(Option::as_ref),
        };
        cell.into_iter().chain(group).for_each(|crowd| crowd.check(access, conflicts));
    }
}

/// The forgotten accesses of a cell or a group of cells.
#[derive(Debug, Default)]
struct Crowd {
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
    fn add(&mut self, record: Record) {
        let info = record.info;
        let (writes, is_async) = (usize::from(info.writes()), usize::from(info.is_async()));
        self.seen[writes][is_async].raise(record.agent, record.epoch);
        if info.strong().is_none() {
            self.has_weak[writes] = true;
            return;
        }
        let alike =
            |old: &Record| old.info.with_mask(0) == info.with_mask(0) && cta_of(old.agent) == cta_of(record.agent);
        match info.strong() {
            Some(_) if self.strong.iter().any(alike) => {}
            Some(_) if self.strong.len() < MOST_STRONG => self.strong.push(record),
            _ => self.has_weak[writes] = true,
        }
    }

    /// Compares an access with the forgotten accesses.
    fn check(&self, access: CheckedAccess<'_>, conflicts: &mut Conflicts) {
        let info = access.record.info;
        let is_unordered = |writes: usize| {
            self.seen[writes].iter().enumerate().any(|(is_async, view)| {
                // A read before an asynchronous write needs a fence, too, but no value depends on it.
                let is_fenced = info.is_async() && is_async == 0 && writes == 1;
                !view.is_empty()
                    && match is_fenced {
                        true => !access.clock.has_fenced_all(access.memory, view),
                        false => !access.before.unwrap_or(access.clock).has_seen_all(view),
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
