//! `ld`, `st`, `atom` and `red`: values, what is wrong with addresses, and the order of accesses.

use std::rc::Rc;

use ptx_isa::{AtomOp, Scope, Sem, Type, flat::AccessKind};
use rustc_hash::FxHashMap;

use crate::{
    clock::{Agent, Clock, Epoch},
    code::{Access, Address, Pc, Reg, Source},
    machine::{Cta, Machine},
    memory::{Region, number, region, window},
    report::FindingKind,
    shadow::{self, CELL, Info, Record},
    sync::{Message, Strong},
    warp::{Lanes, Warp, each},
};

/// What is in a place, and what was there before.
#[derive(Clone, Debug)]
struct Version {
    value: u128,
    writer: Agent,
    epoch: Epoch,
    record: Record,
    message: Rc<Message>,
}

/// Earlier values of places, for loads that may return them.
#[derive(Debug, Default)]
pub struct History {
    places: FxHashMap<(u64, u64), Past>,
}

/// Values that a load may return, the oldest first; the last one is in memory.
#[derive(Clone, Debug, Default)]
struct Past {
    versions: Vec<Version>,
    /// The number of the first version.
    first: u64,
    /// Who has read or written which version, when.
    floors: Vec<(Agent, Epoch, u64)>,
    /// How often in turn each thread was given an old value.
    patience: Vec<(Agent, u32)>,
}

/// How many values are kept, and how often in turn a thread gets an old one.
const VERSIONS: usize = 6;
const STALE: u32 = 3;

/// A value that a load returns in place of the newest one.
struct Stale {
    value: u128,
    message: Rc<Message>,
    record: Record,
}

impl History {
    /// A write: what was there, if nothing is known of the place, and what is there now.
    fn write(&mut self, place: (u64, u64), old: u128, value: u128, record: Record, message: Rc<Message>) {
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

    /// What a load may return: nothing, if it must be the newest value.
    fn read(
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

    /// An atomic operation that writes nothing has read the newest value.
    fn read_newest(&mut self, place: (u64, u64), record: Record) {
        if let Some(past) = self.places.get_mut(&place) {
            let newest = past.first + past.versions.len() as u64 - 1;
            past.floor(record.agent, record.epoch, newest);
        }
    }

    /// Places of other sizes, or of several elements, are not told apart: what overlaps is forgotten.
    fn forget(&mut self, place: u64, bytes: u64) {
        for size in [1, 2, 4, 8, 16] {
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
    fn floor(&mut self, agent: Agent, epoch: Epoch, at: u64) {
        // Others may have seen a thread before it met a newer value, so the older floors of a thread stay.
        if self.floors.iter().any(|(other, _, old)| *other == agent && *old >= at) {
            return;
        }
        let first = self.first;
        self.floors.retain(|(.., old)| *old > first);
        self.floors.push((agent, epoch, at));
        // A bound on memory; with fewer floors, fewer values are hidden from other threads than should be.
        if self.floors.len() > 4096 {
            self.floors.clear();
            let newest = self.versions.len() - 1;
            self.versions.drain(..newest);
            self.first += newest as u64;
        }
    }
}

/// An address of a lane, resolved.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    pub region: Region,
    /// The key of the place in what is known of synchronization.
    pub key: u64,
}

/// The key of a place in shared memory.
pub fn shared_key(cta: u32, at: u64) -> u64 {
    1 << 63 | u64::from(cta) << 32 | at
}

/// Whose access it is.
#[derive(Clone, Copy, Debug)]
pub struct Lane {
    pub lane: usize,
    pub thread: u32,
    pub pc: Pc,
    pub base: u32,
}

impl Machine<'_> {
    /// The value of an operand in a lane.
    pub fn value(&self, cta: &Cta, warp: &Warp, base: u32, lane: usize, source: Source) -> u64 {
        match source {
            Source::Reg(register) => warp.registers[(base + register) as usize][lane],
            Source::Not(register) => warp.registers[(base + register) as usize][lane] & 1 ^ 1,
            Source::Number(value) => value,
            Source::Special(special) => self.special(cta, warp, lane, special),
            Source::Local(at) => warp.local[lane].base.wrapping_add_signed(at),
            Source::Param(at) => window::LOCAL | warp.local[lane].base.wrapping_add_signed(at),
            Source::Nothing => 0,
        }
    }

    /// An address in a lane.
    pub fn address(&self, cta: &Cta, warp: &Warp, base: u32, lane: usize, address: Address) -> u64 {
        self.value(cta, warp, base, lane, address.base).wrapping_add_signed(address.offset)
    }

    /// The CTA of a rank in the cluster of another one.
    pub fn rank(&self, cta: &Cta, rank: Option<u32>) -> Option<u32> {
        match rank {
            None => Some(cta.index),
            Some(rank) => (rank < self.cluster).then(|| cta.index - cta.rank + rank),
        }
    }

    /// Executes an access for lanes.
    pub fn access(&mut self, cta: &mut Cta, warp: &mut Warp, pc: Pc, base: u32, lanes: Lanes, of: &Access) {
        let elements = of.results.len().max(of.data.len()).max(1);
        let elements = if of.rmw.is_some() { of.data.len().max(1) } else { elements };
        let total = of.bytes * elements as u64;
        for lane in each(lanes) {
            let thread = warp.first + lane as u32;
            let address = self.address(cta, warp, base, lane, of.address);
            let of_lane = Lane { lane, thread, pc, base };
            let place = region(of.space, address);
            if address & (total.next_power_of_two() - 1).min(of.bytes * elements as u64 - 1) != 0
                && total.is_power_of_two()
            {
                let message = format!("address {address:#x} is no multiple of {total} bytes");
                self.find(cta, FindingKind::Misaligned, thread, pc, None, None, message, None);
            }
            let strong = of.strong;
            for element in 0..elements {
                let at = element as u64 * of.bytes;
                match place {
                    Region::Local(offset) => self.local(cta, warp, of_lane, of, element, offset + at),
                    Region::Param(offset) => self.parameter(cta, warp, of_lane, of, element, offset + at),
                    Region::Global(..) | Region::Shared(..) => {
                        self.memory(cta, warp, of_lane, of, element, offset_region(place, at), strong);
                    }
                    Region::Nowhere => self.outside(cta, thread, pc, format!("address {address:#x}")),
                }
            }
        }
    }

    /// An access outside of all memory.
    pub fn outside(&mut self, cta: &Cta, thread: u32, pc: Pc, what: String) {
        let message = format!("{what} is in no memory");
        self.find(cta, FindingKind::OutOfBounds, thread, pc, None, Some(what), message, None);
    }

    fn load(&mut self, warp: &mut Warp, at: Lane, of: &Access, element: usize, value: u128) {
        let Some(Some((register, bits))) = of.results.get(element) else { return };
        write_loaded(warp, at.base, *register, *bits, at.lane, of.ty, value);
    }

    fn stored(&self, cta: &Cta, warp: &Warp, at: Lane, of: &Access, source: Source) -> u128 {
        let low = self.value(cta, warp, at.base, at.lane, source);
        let high = match source {
            Source::Reg(register) if of.bytes == 16 => {
                self.value(cta, warp, at.base, at.lane, Source::Reg(register + 1))
            }
            _ => 0,
        };
        u128::from(high) << 64 | u128::from(low)
    }

    fn local(&mut self, cta: &Cta, warp: &mut Warp, at: Lane, of: &Access, element: usize, offset: u64) {
        let value = of.data.get(element).map(|source| self.stored(cta, warp, at, of, *source));
        let Some((bytes, written)) = warp.local[at.lane].slice(offset, of.bytes) else {
            return self.outside(cta, at.thread, at.pc, format!("local+{offset}"));
        };
        match of.kind {
            AccessKind::St => {
                let value = value.unwrap_or(0);
                bytes.copy_from_slice(&value.to_le_bytes()[..of.bytes as usize]);
                written.fill(true);
            }
            AccessKind::Ld => {
                let old = number(bytes);
                let is_new = written.iter().all(|written| !written);
                self.load(warp, at, of, element, old);
                if is_new {
                    let place = format!("local+{offset}");
                    let message = format!("`{place}` is read, and nothing was written there");
                    self.find(cta, FindingKind::Uninitialized, at.thread, at.pc, None, Some(place), message, None);
                }
            }
            _ => {
                let old = number(bytes);
                let Some(new) = of.rmw.and_then(|rmw| {
                    let swap = of.swap.map(|swap| self.stored(cta, warp, at, of, swap));
                    rmw.apply(old, value.unwrap_or(0), swap)
                }) else {
                    return;
                };
                if let Some((bytes, _)) = warp.local[at.lane].slice(offset, of.bytes) {
                    bytes.copy_from_slice(&new.to_le_bytes()[..of.bytes as usize]);
                }
                self.load(warp, at, of, element, old);
            }
        }
    }

    fn parameter(&mut self, cta: &Cta, warp: &mut Warp, at: Lane, of: &Access, element: usize, offset: u64) {
        let found = self.parameters.get(offset as usize..(offset + of.bytes) as usize).map(number);
        match found {
            Some(value) if of.kind == AccessKind::Ld => self.load(warp, at, of, element, value),
            _ => self.outside(cta, at.thread, at.pc, format!("param+{offset}")),
        }
    }

    /// An element in memory that threads share.
    #[expect(clippy::too_many_arguments, reason = "these are an access")]
    fn memory(
        &mut self,
        cta: &mut Cta,
        warp: &mut Warp,
        at: Lane,
        of: &Access,
        element: usize,
        place: Region,
        strong: Option<Scope>,
    ) {
        let data = of.data.get(element).map(|source| self.stored(cta, warp, at, of, *source));
        let Some(found) = self.bytes(cta, place, of.bytes) else {
            let name = self.place_name(cta, place);
            return self.outside(cta, at.thread, at.pc, name);
        };
        let old = number(found);
        let new = match of.kind {
            AccessKind::Ld => None,
            AccessKind::St => data,
            _ => {
                let swap = of.swap.map(|swap| self.stored(cta, warp, at, of, swap));
                of.rmw.and_then(|rmw| rmw.apply(old, data.unwrap_or(0), swap))
            }
        };
        let is_atomic = of.rmw.is_some();
        // A `cas` that fails writes nothing.
        let mask = ptx_isa::arithmetic::mask(of.bytes as u32 * 8);
        let is_cas = of.rmw.is_some_and(|rmw| rmw.op == AtomOp::Cas);
        let fails = is_cas && data.is_some_and(|expected| expected & mask != old);
        let writes = new.is_some() && !fails;
        let mut value = old;
        if self.options.races {
            let info = Info::new(at.pc, of.bytes, strong, writes);
            let info = if is_atomic { info.atomic() } else { info };
            let order = &cta.order[at.thread as usize];
            let record = Record { agent: order.clock.agent, epoch: order.clock.own, info };
            // What an access acquires comes before the access itself.
            if let Some(stale) = self.order(cta, at, of, place, record, is_atomic, (old, new.filter(|_| writes))) {
                value = stale;
            }
            self.touch(cta, at.thread, place, of.bytes, record, new.map(|new| (new & mask) == old), None);
        }
        if !of.results.is_empty() {
            self.load(warp, at, of, element, value);
        }
        if of.kind == AccessKind::Ld {
            self.check_written(cta, at, place, of.bytes);
        }
        if let Some(new) = new.filter(|_| writes) {
            let bytes = (new & mask).to_le_bytes();
            self.write(cta, place, &bytes[..of.bytes as usize]);
        }
    }

    fn check_written(&mut self, cta: &Cta, at: Lane, place: Region, bytes: u64) {
        let unwritten = match place {
            Region::Shared(None, offset) => cta.unwritten.get(offset as usize..(offset + bytes) as usize),
            Region::Global(piece, offset) => match &self.global.pieces[piece].unwritten {
                Some(unwritten) => unwritten.get(offset as usize..(offset + bytes) as usize),
                None => None,
            },
            _ => None,
        };
        if unwritten.is_some_and(|unwritten| unwritten.iter().all(|one| *one)) {
            let place = self.place_name(cta, place);
            let message = format!("`{place}` is read, and nothing was written there");
            self.find(cta, FindingKind::Uninitialized, at.thread, at.pc, None, Some(place), message, None);
        }
    }

    /// What a place is called.
    pub fn place_name(&self, cta: &Cta, place: Region) -> String {
        match place {
            Region::Global(piece, at) => self.name_of_global(piece, at),
            Region::Shared(None, at) => self.name_of_shared(cta, at),
            Region::Shared(Some(rank), at) => format!("{} of CTA rank {rank}", self.name_of_shared(cta, at)),
            Region::Local(at) => format!("local+{at}"),
            Region::Param(at) => format!("param+{at}"),
            Region::Nowhere => "an address".into(),
        }
    }

    /// The bytes of a place that threads share.
    pub fn bytes<'b>(&'b mut self, cta: &'b mut Cta, place: Region, bytes: u64) -> Option<&'b [u8]> {
        match place {
            Region::Global(piece, at) => self.global.slice(piece, at, bytes).map(|bytes| &*bytes),
            Region::Shared(rank, at) => {
                let owner = self.rank(cta, rank)?;
                let range = at as usize..(at + bytes) as usize;
                match owner == cta.index {
                    true => cta.shared.get(range),
                    false => self.ctas.get(owner as usize)?.as_ref()?.shared.get(range),
                }
            }
            _ => None,
        }
    }

    /// Writes bytes of a place that threads share.
    pub fn write(&mut self, cta: &mut Cta, place: Region, value: &[u8]) {
        let bytes = value.len() as u64;
        let changed = match place {
            Region::Global(piece, at) => {
                if let Some(unwritten) = &mut self.global.pieces[piece].unwritten
                    && let Some(range) = unwritten.get_mut(at as usize..(at + bytes) as usize)
                {
                    range.fill(false);
                }
                self.global.slice(piece, at, bytes).is_some_and(|own| replace(own, value))
            }
            Region::Shared(rank, at) => {
                let range = at as usize..(at + bytes) as usize;
                let Some(owner) = self.rank(cta, rank) else { return };
                let target = match owner == cta.index {
                    true => Some(&mut *cta),
                    false => self.ctas.get_mut(owner as usize).and_then(|cta| cta.as_deref_mut()),
                };
                target.is_some_and(|target| {
                    if let Some(unwritten) = target.unwritten.get_mut(range.clone()) {
                        unwritten.fill(false);
                    }
                    target.shared.get_mut(range).is_some_and(|own| replace(own, value))
                })
            }
            _ => false,
        };
        if changed {
            self.change();
        }
    }

    /// Looks for races of an access. `same` says of a write whether it writes what is there. An asynchronous one brings the clock of
    /// its start.
    #[expect(clippy::too_many_arguments, reason = "these are an access")]
    pub fn touch(
        &mut self,
        cta: &mut Cta,
        thread: u32,
        place: Region,
        bytes: u64,
        record: Record,
        same: Option<bool>,
        start: Option<&Clock>,
    ) {
        let mut races = std::mem::take(&mut self.races);
        let cluster = self.cluster;
        let key = match place {
            Region::Global(piece, at) => {
                let clock = start.unwrap_or(&cta.order[thread as usize].clock);
                let access = shadow::Access { clock, record, cluster };
                self.global.pieces[piece].shadow.touch(at, bytes, access, &mut races);
                (crate::memory::Global::address(piece), at)
            }
            Region::Shared(rank, at) => {
                let Some(owner) = self.rank(cta, rank) else { return };
                let Cta { order, shadow: own, .. } = cta;
                let clock = start.unwrap_or(&order[thread as usize].clock);
                let access = shadow::Access { clock, record, cluster };
                if owner == cta.index {
                    own.touch(at, bytes, access, &mut races);
                } else if let Some(Some(other)) = self.ctas.get_mut(owner as usize) {
                    other.shadow.touch(at, bytes, access, &mut races);
                }
                (shared_key(owner, 0), at)
            }
            _ => return,
        };
        for (earlier, cell) in races.drain(..) {
            let first = cell.max(key.1);
            if earlier.info.writes() && earlier.info.strong().is_some() && !self.locations.is_empty() {
                let clock = start.unwrap_or(&cta.order[thread as usize].clock);
                let at = key.0 + earlier.info.start(cell);
                if self.locations.is_observed(at, earlier, (clock, record), cluster) {
                    continue;
                }
            }
            let same = same == Some(true) && earlier.info.writes() && record.info.writes();
            let at = match place {
                Region::Global(piece, _) => Region::Global(piece, first),
                Region::Shared(rank, _) => Region::Shared(rank, first),
                other => other,
            };
            let name = self.place_name(cta, at);
            self.race(cta, thread, record, earlier, name, same);
        }
        let _ = CELL;
        self.races = races;
    }

    /// Synchronization through a place, and older values: the one that a load returns, if it is not the newest.
    #[expect(clippy::too_many_arguments, reason = "these are an access")]
    fn order(
        &mut self,
        cta: &mut Cta,
        at: Lane,
        of: &Access,
        place: Region,
        record: Record,
        is_atomic: bool,
        (old, new): (u128, Option<u128>),
    ) -> Option<u128> {
        let key = match place {
            Region::Global(piece, offset) => crate::memory::Global::address(piece) + offset,
            Region::Shared(rank, offset) => shared_key(self.rank(cta, rank)?, offset),
            _ => return None,
        };
        let cluster = self.cluster;
        let order = &mut cta.order[at.thread as usize];
        let mut stale = None;
        let is_load = of.kind == AccessKind::Ld;
        if self.options.stale && is_load {
            // Where nothing happens for long, loops wait for the newest value.
            let (random, is_quiet) = (&mut self.random, self.time - self.changed >= 512);
            let pick = |count| if is_quiet { count - 1 } else { random.below(count) };
            stale = self.history.read((key, of.bytes), record, &order.clock, pick);
        } else if self.options.stale && new.is_none() {
            self.history.read_newest((key, of.bytes), record);
        }
        if record.info.strong().is_some() {
            let (acquires, releases) = match of.sem {
                Sem::AcqRel => (true, true),
                Sem::Acquire => (true, false),
                Sem::Release => (false, true),
                _ => (false, false),
            };
            let mut strong = Strong {
                address: key,
                record,
                acquires,
                releases,
                clock: &mut order.clock,
                pending: &mut order.pending,
                cluster,
            };
            // The read of `red` forms no acquire pattern (section 8.8).
            let may_acquire = matches!(of.kind, AccessKind::Ld | AccessKind::Atom);
            if may_acquire || is_atomic {
                let earlier = stale.as_ref().map(|stale| match stale.record.is_morally_strong_with(record, cluster) {
                    true => (Rc::clone(&stale.message), stale.record),
                    false => (Rc::default(), Record::NONE),
                });
                self.locations.read(&mut strong, earlier, may_acquire);
            }
            if new.is_some() {
                self.locations.write(&mut strong, is_atomic);
            }
        }
        if new.is_some() && !self.locations.is_empty() {
            self.locations.overwrite(key, record);
        }
        if let Some(new) = new.filter(|_| self.options.stale) {
            let message = self.locations.message(key);
            self.history.forget(key, of.bytes);
            let mask = ptx_isa::arithmetic::mask(of.bytes as u32 * 8);
            self.history.write((key, of.bytes), old, new & mask, record, message);
        }
        stale.map(|stale| stale.value)
    }
}

fn offset_region(place: Region, by: u64) -> Region {
    match place {
        Region::Global(piece, at) => Region::Global(piece, at + by),
        Region::Shared(rank, at) => Region::Shared(rank, at + by),
        other => other,
    }
}

fn replace(own: &mut [u8], value: &[u8]) -> bool {
    let changed = own != value;
    own.copy_from_slice(value);
    changed
}

/// Writes what was loaded: a signed type fills a wider register with its sign.
pub fn write_loaded(warp: &mut Warp, base: u32, register: Reg, bits: u32, lane: usize, ty: Type, value: u128) {
    let low = match ty.is_signed() {
        true => ptx_isa::arithmetic::sign_extend(value as u64, ty.bits()) as u64 & low_bits(bits),
        false => value as u64,
    };
    warp.set(base, register, lane, low);
    if ty == Type::B128 {
        warp.set(base, register + 1, lane, (value >> 64) as u64);
    }
}

/// So many ones, at most 64; all if it is not known how many.
pub fn low_bits(bits: u32) -> u64 {
    match bits {
        1..=63 => (1 << bits) - 1,
        _ => u64::MAX,
    }
}
