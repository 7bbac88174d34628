//! `ld`, `st`, `atom` and `red`: their values, the errors of their addresses, and the order of their accesses.

use std::rc::Rc;

use ptx_isa::{AtomOp, Scope, Sem, Space, Type, flat::AccessKind};

use crate::{
    clock::{Clock, Fenced},
    code::{Address, DecodedAccess, Pc, Reg, Source},
    footprint::Use,
    machine::{Cta, Machine},
    memory::{Region, number, region, window},
    report::{Condition, Detail, FaultKind, Peer},
    shadow::{self, Info, Record},
    sync::Strong,
    warp::{Lanes, Warp, each},
};

/// The key of a place in shared memory.
pub fn shared_key(cta: u32, at: u64) -> u64 {
    1 << 63 | u64::from(cta) << 32 | at
}

/// The lane and the thread that access, the instruction, and the base of the registers.
#[derive(Clone, Copy, Debug)]
pub struct Lane {
    pub lane: usize,
    pub thread: u32,
    pub pc: Pc,
    pub base: u32,
}

/// The number of threads that add the cost of one warp instruction to a strong access.
const THREADS_OF_ONE_WAIT: u64 = 64;

impl Machine<'_> {
    /// The work of a strong access or a fence of one thread, in warp instructions: it compares the clocks of all
    /// threads.
    pub fn work_of_clocks(&self, cta: &Cta) -> u64 {
        1 + cta.order.len() as u64 * self.running.len() as u64 / THREADS_OF_ONE_WAIT
    }

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

    /// The value of an address in a lane.
    pub fn address(&self, cta: &Cta, warp: &Warp, base: u32, lane: usize, address: Address) -> u64 {
        self.value(cta, warp, base, lane, address.base).wrapping_add_signed(address.offset)
    }

    /// The CTA with a rank in the cluster of another CTA.
    pub fn rank(&self, cta: &Cta, rank: Option<u32>) -> Option<u32> {
        match rank {
            None => Some(cta.index),
            Some(rank) => (rank < self.cluster).then(|| cta.index - cta.rank + rank),
        }
    }

    /// Executes an access for lanes.
    pub fn access(&mut self, cta: &mut Cta, warp: &mut Warp, pc: Pc, base: u32, lanes: Lanes, of: &DecodedAccess) {
        let elements = of.results.len().max(of.data.len()).max(1);
        let elements = if of.rmw.is_some() { of.data.len().max(1) } else { elements };
        let total = of.bytes * elements as u64;
        for lane in each(lanes) {
            let thread = warp.first + lane as u32;
            let address = self.address(cta, warp, base, lane, of.address);
            let address = if of.space == Space::Const { self.program.constants.long(address) } else { address };
            let of_lane = Lane { lane, thread, pc, base };
            let place = region(of.space, address);
            if address & (total.next_power_of_two() - 1).min(of.bytes * elements as u64 - 1) != 0
                && total.is_power_of_two()
            {
                let message = format!("address {address:#x} is not a multiple of {total} bytes");
                self.find(cta, FaultKind::Misaligned, thread, pc, None, None, message, None);
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

    /// Reports an access outside of all memory.
    pub fn outside(&mut self, cta: &Cta, thread: u32, pc: Pc, what: String) {
        let message = format!("{what} is outside of all memory");
        self.find(cta, FaultKind::OutOfBounds, thread, pc, None, Some(what), message, None);
    }

    fn load(&mut self, warp: &mut Warp, at: Lane, of: &DecodedAccess, element: usize, value: u128) {
        let Some(Some((register, bits))) = of.results.get(element) else { return };
        write_loaded(warp, at.base, *register, *bits, at.lane, of.ty, value);
    }

    fn stored(&self, cta: &Cta, warp: &Warp, at: Lane, of: &DecodedAccess, source: Source) -> u128 {
        let low = self.value(cta, warp, at.base, at.lane, source);
        let high = match source {
            Source::Reg(register) if of.bytes == 16 => {
                self.value(cta, warp, at.base, at.lane, Source::Reg(register + 1))
            }
            _ => 0,
        };
        u128::from(high) << 64 | u128::from(low)
    }

    fn local(&mut self, cta: &Cta, warp: &mut Warp, at: Lane, of: &DecodedAccess, element: usize, offset: u64) {
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
                    let message = format!("`{place}` is read before any write of it");
                    self.find(cta, FaultKind::Uninitialized, at.thread, at.pc, None, Some(place), message, None);
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
                let place = format!("local+{offset}");
                let message = format!("expected global or shared memory for an atomic operation, found `{place}`");
                self.find(cta, FaultKind::Misuse, at.thread, at.pc, None, Some(place), message, None);
            }
        }
    }

    fn parameter(&mut self, cta: &Cta, warp: &mut Warp, at: Lane, of: &DecodedAccess, element: usize, offset: u64) {
        if self.is_trial {
            self.learned.reads.insert((at.pc, offset, of.bytes));
        }
        let found = self.parameters.get(offset as usize..(offset + of.bytes) as usize).map(number);
        match found {
            Some(value) if of.kind == AccessKind::Ld => self.load(warp, at, of, element, value),
            _ => self.outside(cta, at.thread, at.pc, format!("param+{offset}")),
        }
    }

    /// Accesses an element in memory that threads share.
    #[expect(clippy::too_many_arguments, reason = "these are an access")]
    pub fn memory(
        &mut self,
        cta: &mut Cta,
        warp: &mut Warp,
        at: Lane,
        of: &DecodedAccess,
        element: usize,
        place: Region,
        strong: Option<Scope>,
    ) {
        let data = of.data.get(element).map(|source| self.stored(cta, warp, at, of, *source));
        // An update of 8 or 16 bits accesses the enclosing word, which may be larger than the variable.
        let in_word = strong.is_some() && of.bytes == 4;
        let found = match place {
            Region::Global(piece, at) if in_word => self.global.words(piece, at, of.bytes).map(|bytes| &*bytes),
            _ => self.bytes(cta, place, of.bytes),
        };
        let Some(found) = found else {
            let name = self.place_name(place);
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
        if let (true, Some(_), Region::Global(piece, _)) = (self.is_trial, strong, place) {
            self.learned.synchronizing.insert(piece);
        }
        let is_atomic = of.rmw.is_some();
        // A `cas` that fails writes nothing.
        let mask = ptx_isa::arithmetic::mask(of.bytes as u32 * 8);
        let is_cas = of.rmw.is_some_and(|rmw| rmw.op == AtomOp::Cas);
        let fails = is_cas && data.is_some_and(|expected| expected & mask != old);
        let writes = new.is_some() && !fails;
        let mut value = old;
        self.add_to_footprint(place, of.bytes, strong, writes);
        if self.options.races {
            let info = Info::new(at.pc, of.bytes, strong, writes);
            let info = if is_atomic { info.atomic() } else { info };
            let order = &cta.order[at.thread as usize];
            let record = Record { agent: order.clock.agent, epoch: order.clock.own, info };
            if strong.is_some() {
                self.waits += self.work_of_clocks(cta);
            }
            let meets = strong.is_some() && self.meets(cta, at.thread, place);
            let acquires = strong.is_some() && matches!(of.sem, Sem::Acquire | Sem::AcqRel);
            let before = (acquires && self.watches()).then(|| order.clock.clone());
            // The events that an access acquires happen before the access itself.
            let values = (old, new.filter(|_| writes));
            if let Some(stale) = self.order(cta, at, of, place, record, is_atomic, values, meets) {
                value = stale;
            }
            let same = new.map(|new| (new & mask) == old);
            let is_unordered = of.is_read_only;
            self.touch_after(cta, at.thread, place, of.bytes, record, same, None, is_unordered, before.as_ref());
            if std::mem::take(&mut cta.order[at.thread as usize].pending.is_ordered_by_value) {
                self.depend(Condition::OrderedByValue, (record.agent, at.pc), None);
            }
        }
        if !of.results.is_empty() {
            self.load(warp, at, of, element, value);
        }
        if of.kind == AccessKind::Ld {
            self.check_written(cta, at, place, of.bytes);
        }
        if let Some(new) = new.filter(|_| writes) {
            self.overwrite_barrier(cta, at, place, of.bytes);
            let bytes = (new & mask).to_le_bytes();
            self.write(cta, place, &bytes[..of.bytes as usize]);
        }
    }

    /// Adds an access to the footprint of the launch, if it is wanted.
    pub fn add_to_footprint(&mut self, place: Region, bytes: u64, strong: Option<Scope>, writes: bool) {
        let Region::Global(piece, at) = place else { return };
        if let Some(accessed) = &mut self.global.pieces[piece].accessed {
            let is_strong = matches!(strong, Some(Scope::Gpu | Scope::Sys));
            accessed.add(
                at,
                bytes,
                match (is_strong, writes) {
                    (false, false) => Use::Read,
                    (false, true) => Use::Write,
                    (true, false) => Use::StrongRead,
                    (true, true) => Use::StrongWrite,
                },
            );
        }
    }

    pub fn check_written(&mut self, cta: &Cta, at: Lane, place: Region, bytes: u64) {
        let unwritten = match place {
            Region::Shared(None, offset) => cta.unwritten.get(offset as usize..(offset + bytes) as usize),
            Region::Global(piece, offset) => match &self.global.pieces[piece].unwritten {
                Some(unwritten) => unwritten.get(offset as usize..(offset + bytes) as usize),
                None => None,
            },
            _ => None,
        };
        if unwritten.is_some_and(|unwritten| unwritten.iter().all(|one| *one)) {
            let place = self.place_name(place);
            let message = format!("`{place}` is read before any write of it");
            self.find(cta, FaultKind::Uninitialized, at.thread, at.pc, None, Some(place), message, None);
        }
    }

    /// The name of a place in findings.
    pub fn place_name(&self, place: Region) -> String {
        match place {
            Region::Global(piece, at) => self.global.name_of(piece, at),
            Region::Shared(None, at) => self.name_of_shared(at),
            Region::Shared(Some(rank), at) => format!("{} of CTA rank {rank}", self.name_of_shared(at)),
            Region::Local(at) => format!("local+{at}"),
            Region::Param(at) => format!("param+{at}"),
            Region::Nowhere => "an address".into(),
        }
    }

    /// The bytes at a place that threads share.
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

    /// Writes bytes at a place that threads share.
    pub fn write(&mut self, cta: &mut Cta, place: Region, value: &[u8]) {
        let bytes = value.len() as u64;
        let changed = match place {
            Region::Global(piece, at) => {
                if let Some(unwritten) = &mut self.global.pieces[piece].unwritten
                    && let Some(range) = unwritten.get_mut(at as usize..(at + bytes) as usize)
                {
                    range.fill(false);
                }
                self.global.words(piece, at, bytes).is_some_and(|own| replace(own, value))
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

    /// Checks an access for races. For a write, `same` is whether it writes the value that is already there. An
    /// asynchronous access has the clock of its start.
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
        is_unordered: bool,
    ) {
        self.touch_after(cta, thread, place, bytes, record, same, start, is_unordered, None);
    }

    /// Checks an access like [`Self::touch`]. `before` is the clock before the access acquired a message.
    #[expect(clippy::too_many_arguments, reason = "these are an access")]
    fn touch_after(
        &mut self,
        cta: &mut Cta,
        thread: u32,
        place: Region,
        bytes: u64,
        record: Record,
        same: Option<bool>,
        start: Option<&Clock>,
        is_unordered: bool,
        before: Option<&Clock>,
    ) {
        // No order counts for memory that the program declares read-only: the thread has seen no write, neither its own
        // nor a write of another thread.
        let unseen = is_unordered.then(|| Clock::new(record.agent));
        if self.options.presence && start.is_none() {
            self.check_presence(cta, thread, place, record.info.step());
        }
        cta.asynchronous.work(thread);
        let mut conflicts = std::mem::take(&mut self.conflicts);
        let cluster = self.cluster;
        let is_same = same == Some(true) && record.info.strong().is_none();
        let key = match place {
            Region::Global(piece, at) => {
                let clock = unseen.as_ref().or(start).unwrap_or(&cta.order[thread as usize].clock);
                let access = shadow::CheckedAccess {
                    clock,
                    record,
                    memory: Fenced::Global,
                    is_operation: start.is_some(),
                    cluster,
                    is_same,
                    before,
                };
                self.global.pieces[piece].shadow.touch(at, bytes, access, &mut conflicts);
                (crate::memory::Global::address(piece), at, 0)
            }
            Region::Shared(rank, at) => {
                let Some(owner) = self.rank(cta, rank) else { return self.conflicts = conflicts };
                let Cta { order, shadow: own, .. } = cta;
                let clock = unseen.as_ref().or(start).unwrap_or(&order[thread as usize].clock);
                let access = shadow::CheckedAccess {
                    clock,
                    record,
                    memory: Fenced::Shared,
                    is_operation: start.is_some(),
                    cluster,
                    is_same,
                    before,
                };
                if owner == cta.index {
                    own.touch(at, bytes, access, &mut conflicts);
                } else if let Some(Some(other)) = self.ctas.get_mut(owner as usize) {
                    other.shadow.touch(at, bytes, access, &mut conflicts);
                }
                (shared_key(owner, 0), at, owner)
            }
            _ => return self.conflicts = conflicts,
        };
        if self.follows() && self.watches() {
            self.follow(record, place, key.2, bytes);
        }
        if !conflicts.contended.is_empty() || conflicts.may_race {
            self.contend(record, &mut conflicts, place, key.2, bytes);
        }
        for (earlier, cell) in conflicts.races.drain(..) {
            let first = cell.max(key.1);
            if !is_unordered && earlier.info.writes() && earlier.info.strong().is_some() {
                let clock = start.unwrap_or(&cta.order[thread as usize].clock);
                let locations = match place {
                    Region::Shared(rank, _) if self.rank(cta, rank) == Some(cta.index) => &cta.locations,
                    Region::Shared(rank, _) => {
                        let owner = self.rank(cta, rank).and_then(|owner| self.ctas.get(owner as usize)?.as_ref());
                        owner.map_or(&cta.locations, |owner| &owner.locations)
                    }
                    _ => &self.locations,
                };
                let at = key.0 + earlier.info.start(cell);
                if locations.is_observed(at, earlier, (clock, record), cluster) {
                    self.depend(Condition::OrderedByValue, (record.agent, record.info.step()), None);
                    continue;
                }
            }
            // An update computes with the value that it reads. So two updates by the same operand do not write the same
            // value.
            let is_update = earlier.info.is_atomic() || record.info.is_atomic();
            let same = same == Some(true) && !is_update && earlier.info.writes() && record.info.writes();
            let lacks_fence = start.unwrap_or(&cta.order[thread as usize].clock).has_seen(earlier.agent, earlier.epoch);
            if !same {
                self.depend_on_race(record, earlier, lacks_fence, Some((place, key.2, bytes)));
            }
            if !self.wants_race(record, earlier, same) {
                continue;
            }
            let name = self.place_name(moved_region(place, first));
            self.race(cta, thread, record, earlier, name, same, lacks_fence);
        }
        self.conflicts = conflicts;
    }

    /// Reports an access of shared memory of another CTA that has ended, or whose start no event orders before the
    /// access. A completed phase of the barrier of the cluster suffices for every thread, so that there are no false
    /// positives.
    fn check_presence(&mut self, cta: &Cta, thread: u32, place: Region, pc: Pc) {
        let Region::Shared(Some(rank), _) = place else { return };
        let Some(owner) = self.rank(cta, Some(rank)).filter(|owner| *owner != cta.index) else { return };
        let has_ended = self.ctas[owner as usize].as_ref().is_none_or(|other| other.ended == other.threads);
        let have_met = self.clusters.get(&(cta.index / self.cluster)).is_some_and(|cluster| cluster.phase > 0);
        let peer = match () {
            () if has_ended => Peer::Ended,
            () if !have_met && !cta.order[thread as usize].clock.has_met(owner) => Peer::NotBegun,
            () => return,
        };
        let name = self.place_name(place);
        let message = format!("the access reaches `{name}`, whose CTA {peer}");
        let help = Some("add `barrier.cluster.arrive` and `.wait` of all threads of the cluster in between".into());
        self.find_detailed(cta, FaultKind::Absent, thread, pc, None, Some(name), message, help, Detail::Peer(peer));
    }

    /// Whether the last write at a place may be unordered with the next access of a thread.
    fn meets(&self, cta: &Cta, thread: u32, place: Region) -> bool {
        let clock = &cta.order[thread as usize].clock;
        match place {
            Region::Global(piece, at) => self.global.pieces[piece].shadow.meets(at, clock),
            Region::Shared(None, at) => cta.shadow.meets(at, clock),
            _ => true,
        }
    }

    /// Records synchronization through a place. Returns the older value that a load returns, if it does not return the
    /// newest value.
    #[expect(clippy::too_many_arguments, reason = "these are an access")]
    fn order(
        &mut self,
        cta: &mut Cta,
        at: Lane,
        of: &DecodedAccess,
        place: Region,
        record: Record,
        is_atomic: bool,
        (old, new): (u128, Option<u128>),
        meets: bool,
    ) -> Option<u128> {
        let cluster = self.cluster;
        let Cta { order, locations: own, index, rank, .. } = cta;
        let (key, locations) = match place {
            Region::Global(piece, offset) => (crate::memory::Global::address(piece) + offset, &mut self.locations),
            Region::Shared(to, offset) => {
                let owner = to.map_or(*index, |to| *index - *rank + to);
                let locations = match self.ctas.get_mut(owner as usize) {
                    Some(Some(other)) if owner != *index => &mut other.locations,
                    _ => own,
                };
                (shared_key(owner, offset), locations)
            }
            _ => return None,
        };
        let order = &mut order[at.thread as usize];
        let mut stale = None;
        let is_load = of.kind == AccessKind::Ld;
        if self.is_stale && is_load {
            // If nothing has changed for a long time, loads return the newest value, for which loops may wait.
            let (random, is_quiet) = (&mut self.random, self.time - self.changed >= 512);
            let pick = |count| if is_quiet { count - 1 } else { random.below(count) };
            stale = self.history.read((key, of.bytes), record, &order.clock, pick);
        } else if self.is_stale && new.is_none() {
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
                // An operation that writes overwrites the value that it observes at once.
                locations.read(&mut strong, earlier, may_acquire, meets && new.is_none());
            }
            if new.is_some() {
                locations.write(&mut strong, is_atomic);
            }
        }
        if new.is_some() && !locations.is_empty() {
            locations.overwrite(key, record);
        }
        if let Some(new) = new.filter(|_| self.is_stale) {
            let message = locations.message(key);
            self.history.forget(key, of.bytes);
            let mask = ptx_isa::arithmetic::mask(of.bytes as u32 * 8);
            self.history.write((key, of.bytes), old, new & mask, record, message);
        }
        stale.map(|stale| stale.value)
    }
}

/// The place at another offset in the same memory.
fn moved_region(place: Region, to: u64) -> Region {
    match place {
        Region::Global(piece, _) => Region::Global(piece, to),
        Region::Shared(rank, _) => Region::Shared(rank, to),
        other => other,
    }
}

pub fn offset_region(place: Region, by: u64) -> Region {
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

/// Writes the result of a load. A signed type is sign-extended to a wider register.
pub fn write_loaded(warp: &mut Warp, base: u32, register: Reg, bits: u32, lane: usize, ty: Type, value: u128) {
    let value = ptx_isa::arithmetic::in_register(ty, bits, value);
    warp.set(base, register, lane, value as u64);
    if ty == Type::B128 {
        warp.set(base, register + 1, lane, (value >> 64) as u64);
    }
}

/// A mask of the lowest `bits` bits, at most 64; all bits if their number is unknown.
pub fn low_bits(bits: u32) -> u64 {
    match bits {
        1..=63 => (1 << bits) - 1,
        _ => u64::MAX,
    }
}
