//! Bulk copies and reductions (sections 9.7.9.25.4 and 9.7.9.27), through the async proxy.

use ptx_isa::{ModifierKind, Role, Space, arithmetic::Rmw};

use super::reduce::operation;
use crate::in_flight::{Begun, Chain, Effect, Key, Line, Move, Part, further, record};
use crate::{
    access::Lane,
    clock::{Agent, Epoch},
    code::Operation,
    learned::MbarrierEvent,
    machine::{Cta, Machine},
    memory::{Region, number},
    report::FaultKind,
    shadow::Info,
    warp::Warp,
};

impl Machine<'_> {
    /// `cp.async.bulk` and `cp.reduce.async.bulk`.
    pub fn bulk(&mut self, cta: &mut Cta, warp: &Warp, at: Lane, of: &Operation) {
        let spaces: Vec<Space> = of.form.spaces().collect();
        let space = |index: usize| spaces.get(index).copied().unwrap_or(Space::Generic);
        let bytes = self.number(cta, warp, at, of, Role::Size) & 0xffff_ffff;
        let to = self.place(cta, warp, at, of, Role::Destination, space(0));
        let from = self.place(cta, warp, at, of, Role::Source, space(1));
        let addresses = [Role::Destination, Role::Source].map(|role| self.number(cta, warp, at, of, role));
        if !bytes.is_multiple_of(16) || addresses.iter().any(|address| address % 16 != 0) && !of.form.has("ignore_oob")
        {
            let [to, from] = addresses;
            let message = format!("expected multiples of 16, found a copy of {bytes} bytes from {from:#x} to {to:#x}");
            self.find(cta, FaultKind::Misaligned, at.thread, at.pc, None, None, message, None);
        }
        let (left, right) =
            [Role::IgnoredLeft, Role::IgnoredRight].map(|role| self.number(cta, warp, at, of, role) & 0xf).into();
        let inner = bytes.saturating_sub(left).saturating_sub(right);
        let all = [(false, 0, left.min(bytes)), (true, left, inner), (false, left + inner, right)];
        let parts = all.into_iter().filter(|(.., bytes)| *bytes > 0).map(|(is_read, by, bytes)| Part {
            from: is_read.then(|| further(from, by)),
            to: further(to, by),
            bytes,
        });
        let mask =
            if of.form.has("cp_mask") { self.number(cta, warp, at, of, Role::ByteMask) as u16 } else { u16::MAX };
        let reduces = operation(of);
        let own = Move { parts: parts.collect(), reduces, mask, ..Move::default() };
        self.begin_move(cta, warp, at, of, own, bytes);
    }

    /// The CTAs of the cluster to which a multicast instruction copies: one for each bit of its mask.
    pub fn cast(&self, cta: &Cta, warp: &Warp, at: Lane, of: &Operation) -> Option<Vec<u32>> {
        let bits = match of.form.modifier(ModifierKind::Multicast)? {
            "multicast::cluster::32b" => 32,
            _ => 16,
        };
        of.given(Role::CtaMask)?;
        let mask = self.number(cta, warp, at, of, Role::CtaMask);
        Some((0..bits).filter(|rank| mask >> rank & 1 == 1).collect())
    }

    /// Puts a copy in flight, to several CTAs if it is a multicast. It completes at an mbarrier or in a group.
    pub fn begin_move(&mut self, cta: &mut Cta, warp: &Warp, at: Lane, of: &Operation, mut own: Move, bytes: u64) {
        if of.given(Role::Barrier).is_none() {
            return self.begin_of_group(cta, at, own);
        }
        let space = of.form.spaces().next().unwrap_or(Space::SharedCluster);
        let barrier = self.place(cta, warp, at, of, Role::Barrier, space);
        let Region::Shared(rank, offset) = barrier else {
            let name = self.place_name(barrier);
            return self.outside(cta, at.thread, at.pc, name);
        };
        // Addresses in the CTA's own shared memory have no rank that a mask could change. They denote the first CTA of
        // the pair.
        let is_masked = self.program.masks_peers && of.form.cta_group() == Some(2) && rank.is_none();
        let barrier = if is_masked { Region::Shared(Some(cta.rank & !1), offset) } else { barrier };
        let ranks = self.cast(cta, warp, at, of).unwrap_or_default();
        if ranks.is_empty() {
            own.barriers.extend(self.key(cta, barrier).map(|key| (key, bytes)));
        } else {
            let parts = std::mem::take(&mut own.parts);
            for rank in ranks.into_iter().map(Some) {
                let moved = |place: Region| match place {
                    Region::Shared(_, at) => Region::Shared(rank, at),
                    other => other,
                };
                own.parts.extend(parts.iter().map(|part| Part { to: moved(part.to), ..*part }));
                // With a pair of CTAs, the CTA of the mbarrier gets the bytes of both.
                let own_rank = match (of.form.cta_group(), rank) {
                    (Some(2), Some(other)) => Some(other & !1 | self.rank_of(cta, barrier) & 1),
                    _ => rank,
                };
                let key = self.key(cta, Region::Shared(own_rank, offset));
                own.barriers.extend(key.map(|key| (key, bytes)));
            }
        }
        self.learn_of(cta, &own);
        self.launch_operation(cta, at, None, Effect::Move(Box::new(own)));
    }

    /// Records the bytes by which a copy completes mbarriers.
    fn learn_of(&mut self, cta: &Cta, own: &Move) {
        let map = self.learned.map.take();
        let to = own.parts.first().and_then(|part| self.key(cta, part.to));
        for (barrier, bytes) in own.barriers.iter().filter(|_| self.is_trial) {
            let (barrier, bytes) = (*barrier, *bytes);
            // The offset of a multicast's destination is the same in each CTA.
            let to = to.map_or(barrier, |(_, offset)| (barrier.0, offset));
            self.learned.record_event(MbarrierEvent::Copy { barrier, map, bytes, to });
        }
    }

    /// The rank of the CTA of a place.
    pub fn rank_of(&self, cta: &Cta, place: Region) -> u32 {
        match place {
            Region::Shared(Some(rank), _) => rank,
            _ => cta.rank,
        }
    }

    /// Records the completion of an operation at an mbarrier: a read of the mbarrier that follows the start of the
    /// operation.
    pub fn touch_of_barrier(&mut self, cta: &mut Cta, op: &Begun, key: Key, (agent, epoch): (Agent, Epoch)) {
        let place = Region::Shared(Some(key.0 - (cta.index - cta.rank)), key.1);
        let access = record(agent, epoch, Info::new(op.pc, 8, None, false));
        self.touch_of(cta, op.thread, place, 8, access, &op.start);
    }

    /// Begins an operation in a group of its thread. Waits for its reads and for its writes are separate.
    fn begin_of_group(&mut self, cta: &mut Cta, at: Lane, own: Move) {
        let epoch = cta.asynchronous.bulk.entry(at.thread).or_default().start();
        let reader = self.agent(cta, Chain::BulkRead(at.thread), at.thread);
        let writer = self.agent(cta, Chain::BulkWrite(at.thread), at.thread);
        let start = cta.order[at.thread as usize].clock.clone();
        let written = record(writer, epoch, own.written(at.pc));
        self.touch_parts(cta, (at.thread, at.pc), &own, &start, (reader, epoch), written);
        self.launch_operation(cta, at, Some(Line::Bulk(cta.index, at.thread)), Effect::Move(Box::new(own)));
    }

    fn touch_parts(
        &mut self,
        cta: &mut Cta,
        (thread, pc): (u32, u32),
        of: &Move,
        start: &crate::clock::Clock,
        (reader, epoch): (Agent, Epoch),
        written: crate::shadow::Record,
    ) {
        let read = record(reader, epoch, Info::new(pc, 16, None, false).asynchronous());
        for part in &of.parts {
            if let Some(from) = part.from
                && !self.touch_of(cta, thread, from, part.bytes, read, start)
            {
                return;
            }
            let runs: Vec<(u64, u64)> = match of.mask {
                u16::MAX => vec![(0, part.bytes)],
                mask => (0..part.bytes).filter(|at| mask >> (at % 16) & 1 == 1).map(|at| (at, 1)).collect(),
            };
            for (by, bytes) in runs {
                if !self.touch_of(cta, thread, further(part.to, by), bytes, written, start) {
                    return;
                }
            }
        }
    }

    pub fn finish_move(&mut self, cta: &mut Cta, op: &Begun, of: &Move) {
        if let Some((key, _)) = of.barriers.first() {
            let chain = Chain::Barrier(*key);
            let (agent, epoch) = self.begin_of(cta, chain, op.thread);
            let written = record(agent, epoch, of.written(op.pc));
            self.touch_parts(cta, (op.thread, op.pc), of, &op.start, (agent, epoch), written);
            self.move_parts(cta, op.pc, of);
            for (key, bytes) in &of.barriers {
                self.touch_of_barrier(cta, op, *key, (agent, epoch));
                self.complete_bytes(cta, op, *key, *bytes, (agent, epoch));
            }
        } else {
            self.move_parts(cta, op.pc, of);
        }
    }

    fn move_parts(&mut self, cta: &mut Cta, pc: u32, of: &Move) {
        for part in &of.parts {
            let data = match part.from {
                Some(from) => self.copied(cta, from, part.bytes),
                None => {
                    let (fill, size) = of.fill;
                    Some(fill[..size.clamp(1, 8)].iter().copied().cycle().take(part.bytes as usize).collect())
                }
            };
            let Some(mut data) = data else { return };
            if let Some(element) = of.loaded {
                for word in data.as_chunks_mut::<4>().0 {
                    *word = element.loaded(u32::from_le_bytes(*word)).to_le_bytes();
                }
            }
            if let Some(rmw) = of.reduces {
                let Some(old) = self.copied(cta, part.to, part.bytes) else { return };
                reduced(rmw, &old, &mut data);
            }
            if of.mask != u16::MAX {
                let Some(old) = self.copied(cta, part.to, part.bytes) else { return };
                for (at, (new, old)) in data.iter_mut().zip(old).enumerate() {
                    if of.mask >> (at % 16) & 1 == 0 {
                        *new = old;
                    }
                }
            }
            self.write_of(cta, pc, part.to, &data);
        }
    }

    /// `cp.async.bulk.wait_group`
    pub fn wait_for_bulk(&mut self, cta: &mut Cta, warp: &Warp, at: Lane, of: &Operation) {
        let pending = self.number(cta, warp, at, of, Role::Pending);
        let epoch = cta.asynchronous.bulk.entry(at.thread).or_default().complete(pending);
        // All operations in the group are completed now. So may be the thread's other operations in flight, because
        // their races would have been found already.
        let own = Line::Bulk(cta.index, at.thread);
        if epoch > 0 {
            self.finish_those(cta, |op| op.line == Some(own));
        }
        let reader = self.agent(cta, Chain::BulkRead(at.thread), at.thread);
        let writer = self.agent(cta, Chain::BulkWrite(at.thread), at.thread);
        let clock = &mut cta.order[at.thread as usize].clock;
        clock.see(reader, epoch);
        if !of.form.has("read") {
            clock.see(writer, epoch);
        }
    }

    /// Reports bulk copies that read shared memory of a CTA whose threads have all ended.
    pub fn check_bulk_reads(&mut self, cta: &mut Cta) {
        let threads: Vec<u32> = cta.asynchronous.bulk.keys().copied().collect();
        for thread in threads {
            let line = Some(Line::Bulk(cta.index, thread));
            let started = cta.asynchronous.bulk.get(&thread).map_or(0, |groups| groups.started);
            let agent = self.agent(cta, Chain::BulkRead(thread), thread);
            if cta.order[thread as usize].clock.has_seen(agent, started) {
                continue;
            }
            let pc = self.in_flight.queue.iter().find(|op| op.line == line).map(|op| op.pc);
            let Some(pc) = pc else { continue };
            let message = "the CTA ends while the operation may still read its shared memory".to_owned();
            let help =
                Some("add `cp.async.bulk.commit_group` and `cp.async.bulk.wait_group.read 0` before the end".into());
            self.find(cta, FaultKind::Unfinished, thread, pc, None, None, message, help);
        }
    }
}

/// Reduces data element by element.
fn reduced(rmw: Rmw, old: &[u8], data: &mut [u8]) {
    let bytes = (rmw.ty.bits() / 8).max(1) as usize;
    for (new, old) in data.chunks_mut(bytes).zip(old.chunks(bytes)) {
        let value = rmw.apply(number(old), number(new), None).unwrap_or(0);
        let count = new.len();
        new.copy_from_slice(&value.to_le_bytes()[..count]);
    }
}
