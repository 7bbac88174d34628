//! Earlier values of memory, for loads that may return them.

use std::rc::Rc;

use rustc_hash::FxHashMap;

use crate::{
    clock::{Agent, Clock, Epoch},
    shadow::Record,
    sync::Message,
};

/// A value that was written to a place.
#[derive(Clone, Debug)]
pub struct Version {
    pub value: u128,
    pub writer: Agent,
    pub epoch: Epoch,
    pub record: Record,
    pub message: Rc<Message>,
}

/// Earlier values of places, for loads that may return them.
#[derive(Debug, Default)]
pub struct History {
    pub places: FxHashMap<(u64, u64), Past>,
}

/// Values that a load may return, the oldest first. The last value is in memory.
#[derive(Clone, Debug, Default)]
pub struct Past {
    pub versions: Vec<Version>,
    /// The number of the first version.
    pub first: u64,
    /// The accesses of each thread: the agent, its epoch, and the number of the version that it read or wrote.
    pub floors: Vec<(Agent, Epoch, u64)>,
    /// By thread, the number of consecutive loads that returned an old value.
    pub patience: Vec<(Agent, u32)>,
}

/// The maximum number of places with older values. Loads from other places return the newest value.
const PLACES: usize = 1 << 14;
/// The maximum number of values of a place, and of consecutive loads of a thread that return an old value.
const VERSIONS: usize = 6;
const STALE: u32 = 3;

/// The sizes of places, in bytes.
const SIZES: [u64; 5] = [1, 2, 4, 8, 16];

/// A value that a load returns instead of the newest one.
pub struct Stale {
    pub value: u128,
    pub message: Rc<Message>,
    pub record: Record,
}

impl History {
    /// Records a write. `old` is the first version if the place has none.
    pub fn write(&mut self, place: (u64, u64), old: u128, value: u128, record: Record, message: Rc<Message>) {
        if self.places.len() >= PLACES && !self.places.contains_key(&place) {
            return;
        }
        let past = self.places.entry(place).or_insert_with(|| {
            let version =
                Version { value: old, writer: u32::MAX, epoch: 0, record: Record::NONE, message: Rc::default() };
            Past { versions: vec![version], ..Past::default() }
        });
        past.versions.push(Version { value, writer: record.agent, epoch: record.epoch, record, message });
        if past.versions.len() > VERSIONS {
            past.versions.remove(0);
            past.first += 1;
        }
        let newest = past.first + past.versions.len() as u64 - 1;
        past.floor(record.agent, record.epoch, newest);
    }

    /// Chooses the value that a load returns. `None` is the newest value.
    pub fn read(
        &mut self,
        place: (u64, u64),
        record: Record,
        clock: &Clock,
        mut pick: impl FnMut(u64) -> u64,
    ) -> Option<Stale> {
        let past = self.places.get_mut(&place)?;
        let newest = past.versions.len() - 1;
        let seen = |version: &Version| version.writer == u32::MAX || clock.has_seen(version.writer, version.epoch);
        let hidden = past.versions.iter().rposition(seen).unwrap_or(0);
        let floor = past.floors.iter().filter(|(agent, epoch, _)| clock.has_seen(*agent, *epoch)).map(|(.., at)| *at);
        let floor = floor.max().unwrap_or(0).saturating_sub(past.first) as usize;
        let first = hidden.max(floor).min(newest);
        let tries = past.patience.iter().find(|(agent, _)| *agent == record.agent).map_or(0, |(_, tries)| *tries);
        let index = if tries < STALE { first + pick((newest - first) as u64 + 1) as usize } else { newest };
        past.patience.retain(|(agent, _)| *agent != record.agent);
        if index < newest {
            past.patience.push((record.agent, tries + 1));
        }
        let at = past.first + index as u64;
        past.floor(record.agent, record.epoch, at);
        let version = &past.versions[index];
        (index < newest).then(|| Stale {
            value: version.value,
            message: Rc::clone(&version.message),
            record: version.record,
        })
    }

    /// Records that an atomic operation without a write has read the newest value.
    pub fn read_newest(&mut self, place: (u64, u64), record: Record) {
        if let Some(past) = self.places.get_mut(&place) {
            let newest = past.first + past.versions.len() as u64 - 1;
            past.floor(record.agent, record.epoch, newest);
        }
    }

    /// Records a write by an asynchronous operation: older values are not returned any more.
    pub fn overwrite(&mut self, place: u64, bytes: u64) {
        // A place is a multiple of its size, so that only few places overlap a few bytes.
        if bytes < self.places.len() as u64 / SIZES.len() as u64 {
            for size in SIZES {
                let first = place & !(size - 1);
                (first..place + bytes).step_by(size as usize).for_each(|at| drop(self.places.remove(&(at, size))));
            }
        } else {
            self.places.retain(|(at, size), _| at + size <= place || *at >= place + bytes);
        }
    }

    /// Forgets all other places that overlap the bytes, since their values are not split by size or element.
    pub fn forget(&mut self, place: u64, bytes: u64) {
        for size in SIZES {
            let mut at = place & !(size - 1);
            while at < place + bytes {
                if (at, size) != (place, bytes) {
                    self.places.remove(&(at, size));
                }
                at += size;
            }
        }
    }
}

impl Past {
    pub fn floor(&mut self, agent: Agent, epoch: Epoch, at: u64) {
        // Another thread may have seen a thread before it accessed a newer value, so the older floors of a thread are
        // kept.
        if self.floors.iter().any(|(other, _, old)| *other == agent && *old >= at) {
            return;
        }
        let first = self.first;
        self.floors.retain(|(.., old)| *old > first);
        self.floors.push((agent, epoch, at));
        // This bounds memory. With fewer floors, fewer values are hidden from other threads than should be.
        if self.floors.len() > 4096 {
            self.floors.clear();
            let newest = self.versions.len() - 1;
            self.versions.drain(..newest);
            self.first += newest as u64;
        }
    }
}
