//! `st.async`, `red.async`, `st.bulk`, and `clusterlaunchcontrol`, which cancels CTAs that have not begun.

use ptx_isa::{Family, ModifierKind, Role, Scope, Sem, Space, Type, flat::AccessKind};

use super::reduce::operation;
use crate::in_flight::{Begun, Chain, Effect, Key, Move, Part, further, record};
use crate::{
    access::Lane,
    code::{Address, DecodedAccess, Given, Operation, Source},
    machine::{Cta, Machine},
    memory::Region,
    report::FaultKind,
    shadow::Info,
    warp::Warp,
};

impl Machine<'_> {
    /// `st.async` and `red.async`
    pub fn store_async(&mut self, cta: &mut Cta, warp: &mut Warp, at: Lane, of: &Operation) {
        let ty: Type = of.form.modifier(ModifierKind::Type).and_then(|ty| ty.parse().ok()).unwrap_or(Type::B32);
        if of.given(Role::Barrier).is_none() {
            return self.store_released(cta, warp, at, of, ty);
        }
        let bytes = u64::from(ty.bits() / 8);
        let to = self.place(cta, warp, at, of, Role::Destination, Space::SharedCluster);
        let barrier = self.place(cta, warp, at, of, Role::Barrier, Space::SharedCluster);
        let values: Vec<u64> =
            of.many(Role::Value).iter().map(|one| self.value(cta, warp, at.base, at.lane, *one)).collect();
        let Some(key) = self.key(cta, barrier) else {
            let name = self.place_name(barrier);
            return self.outside(cta, at.thread, at.pc, name);
        };
        let data = values.iter().flat_map(|value| value.to_le_bytes().into_iter().take(bytes as usize));
        let data: Vec<u8> = data.collect();
        let total = data.len() as u64;
        let parts = (0..total.div_ceil(8)).map(|index| Part {
            from: None,
            to: further(to, index * 8),
            bytes: (total - index * 8).min(8),
        });
        // Each value is a separate part, with the value as its fill.
        let own: Vec<Move> = parts
            .zip(data.chunks(8))
            .map(|(part, data)| {
                let mut fill = [0; 8];
                fill[..data.len()].copy_from_slice(data);
                let (parts, barriers) = (vec![part], vec![(key, part.bytes)]);
                Move {
                    parts,
                    barriers,
                    fill: (fill, data.len()),
                    reduces: operation(of),
                    is_generic: true,
                    ..Move::default()
                }
            })
            .collect();
        for own in own {
            self.launch_operation(cta, at, None, Effect::Move(Box::new(own)));
        }
    }

    /// A store or reduction to global memory, which releases.
    fn store_released(&mut self, cta: &mut Cta, warp: &mut Warp, at: Lane, of: &Operation, ty: Type) {
        let address = match of.given(Role::Destination) {
            Some(Given::Address(address)) => *address,
            _ => Address { base: Source::Nothing, offset: 0 },
        };
        let rmw = operation(of);
        let access = DecodedAccess {
            kind: if rmw.is_some() { AccessKind::Red } else { AccessKind::St },
            is_read_only: false,
            address,
            space: Space::Global,
            ty,
            bytes: u64::from(ty.bits() / 8),
            strong: of.form.scope().or(Some(Scope::Gpu)),
            sem: Sem::Release,
            rmw,
            results: Vec::new(),
            data: of.many(Role::Value).to_vec(),
            swap: None,
        };
        self.access(cta, warp, at.pc, at.base, 1 << at.lane, &access);
    }

    /// `st.bulk`, which writes zeros.
    pub fn store_bulk(&mut self, cta: &mut Cta, warp: &Warp, at: Lane, of: &Operation) {
        let space = of.form.spaces().next().unwrap_or(Space::Generic);
        let to = self.place(cta, warp, at, of, Role::Destination, space);
        let bytes = self.number(cta, warp, at, of, Role::Size);
        let clock = cta.order[at.thread as usize].clock.clone();
        let access = record(clock.agent, clock.own, Info::new(at.pc, 8, None, true));
        if self.touch_of(cta, at.thread, to, bytes, access, &clock) {
            self.write_of(cta, at.pc, to, &vec![0; bytes as usize]);
        }
    }

    /// `clusterlaunchcontrol.try_cancel`
    pub fn try_cancel(&mut self, cta: &mut Cta, warp: &Warp, at: Lane, of: &Operation) {
        let to = self.place(cta, warp, at, of, Role::Destination, Space::SharedCta);
        let barrier = self.place(cta, warp, at, of, Role::Barrier, Space::SharedCta);
        let (Region::Shared(rank, at_to), Region::Shared(_, at_barrier)) = (to, barrier) else {
            let name = self.place_name(to);
            return self.outside(cta, at.thread, at.pc, name);
        };
        let ranks: Vec<Option<u32>> = match of.form.modifier(ModifierKind::Multicast) {
            Some(_) => (0..self.cluster).map(Some).collect(),
            None => vec![rank],
        };
        let places = ranks.into_iter().filter_map(|rank| {
            let key = self.key(cta, Region::Shared(rank, at_barrier))?;
            Some((Region::Shared(rank, at_to), key))
        });
        let places = places.collect();
        self.launch_operation(cta, at, None, Effect::Cancel(places));
    }

    /// Cancels the next cluster that has not begun. Writes whether there was a cluster, and the coordinates of its
    /// first CTA.
    pub fn finish_cancel(&mut self, cta: &mut Cta, op: &Begun, places: &[(Region, Key)]) {
        let left = self.total.saturating_sub(self.begun + self.cancelled);
        let mut block = [0u8; 16];
        if left > 0 {
            // The remaining clusters begin in their order, and the last clusters are cancelled.
            self.cancelled += self.cluster.min(left);
            let first = self.cta_place(self.total - self.cancelled);
            block[0] = 1;
            for (place, word) in first.iter().zip(block[4..].chunks_mut(4)) {
                word.copy_from_slice(&place.to_le_bytes());
            }
        }
        let parts: Vec<Part> = places.iter().map(|(to, _)| Part { from: None, to: *to, bytes: 16 }).collect();
        let barriers: Vec<(Key, u64)> = places.iter().map(|(_, key)| (*key, 16)).collect();
        let own = Move { parts: parts.clone(), barriers, ..Move::default() };
        self.touch_cancel(cta, op, &own);
        parts.iter().for_each(|part| self.write_of(cta, op.pc, part.to, &block));
        for part in &parts {
            if let Region::Shared(rank, _) = part.to
                && let Some(owner) = self.rank(cta, rank)
            {
                self.vary(part.to, owner, part.bytes);
            }
        }
        let chain = places.first().map(|(_, key)| Chain::Barrier(*key));
        let Some(chain) = chain else { return };
        let agent = self.agent(cta, chain, op.thread);
        let epoch = cta.asynchronous.epoch(chain);
        for (key, bytes) in &own.barriers {
            self.touch_of_barrier(cta, op, *key, (agent, epoch));
            self.complete_bytes(cta, op, *key, *bytes, (agent, epoch));
        }
    }

    fn touch_cancel(&mut self, cta: &mut Cta, op: &Begun, of: &Move) {
        let Some((key, _)) = of.barriers.first() else { return };
        let (agent, epoch) = self.begin_of(cta, Chain::Barrier(*key), op.thread);
        let access = record(agent, epoch, Info::new(op.pc, 16, None, true).asynchronous());
        for part in &of.parts {
            self.touch_of(cta, op.thread, part.to, part.bytes, access, &op.start);
        }
    }

    /// `clusterlaunchcontrol.query_cancel`
    pub fn query_cancel(&mut self, cta: &mut Cta, warp: &mut Warp, at: Lane, of: &Operation) {
        let Some(Given::One(source)) = of.given(Role::Source) else { return };
        let answer = self.wide(cta, warp, at.base, at.lane, *source, true);
        let word = |index: usize| (answer >> (32 * index)) as u64 & 0xffff_ffff;
        if of.form.family() == Family::ClusterlaunchcontrolQueryCancel && of.form.has("is_canceled") {
            return Self::give_result(warp, at, of, Role::Done, word(0) & 1);
        }
        if word(0) & 1 == 0 {
            let message = "the instruction reads the index of a CTA, and no CTA was canceled".to_owned();
            self.find(cta, FaultKind::Misuse, at.thread, at.pc, None, None, message, None);
        }
        let axis = ["get_first_ctaid::x", "get_first_ctaid::y", "get_first_ctaid::z"];
        if let Some(axis) = axis.iter().position(|word| of.form.has(word)) {
            return Self::give_result(warp, at, of, Role::Destination, word(axis + 1));
        }
        for (index, result) in of.many(Role::Destination).iter().enumerate() {
            if let Source::Reg(register) = result {
                warp.set(at.base, *register, at.lane, if index < 3 { word(index + 1) } else { 0 });
            }
        }
    }
}
