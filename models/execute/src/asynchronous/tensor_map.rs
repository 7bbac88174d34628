//! Copies through tensor maps (section 9.7.9.27.1), and instructions that change the maps (9.7.9.28).

use ptx_isa::{Family, FenceSem, ModifierKind, Role, Space};

use super::reduce::of_elements;
use crate::in_flight::{Move, Part, record, resolve};
use crate::{
    access::Lane,
    code::{Given, Operation},
    machine::{Cta, Machine},
    matrix::{
        element::Unsupported,
        map::{Field, TensorMap},
        tile::Chunk,
    },
    memory::Region,
    report::{Detail, FaultKind, Remedy},
    shadow::Info,
    warp::Warp,
};

impl Machine<'_> {
    /// `cp.async.bulk.tensor` and `cp.reduce.async.bulk.tensor`
    pub fn bulk_tensor(&mut self, cta: &mut Cta, warp: &Warp, at: Lane, of: &Operation) {
        let is_load = of.given(Role::Barrier).is_some();
        let (tensor, memory) =
            if is_load { (Role::Source, Role::Destination) } else { (Role::Destination, Role::Source) };
        let Some(Given::Tensor(base, place)) = of.given(tensor) else { return };
        let address = self.value(cta, warp, at.base, at.lane, *base);
        let mode = of.form.modifier(ModifierKind::Mode).unwrap_or("tile");
        // The instruction gives one column and four rows of a matrix.
        let rank = if mode.ends_with('4') { 2 } else { place.len() };
        let Some(map) = self.tensor_map(cta, at, address, rank) else { return };
        let coordinates: Vec<i32> =
            place.iter().map(|one| self.value(cta, warp, at.base, at.lane, *one) as i32).collect();
        let offsets: Vec<u16> =
            of.many(Role::Offsets).iter().map(|one| self.value(cta, warp, at.base, at.lane, *one) as u16).collect();
        let spaces: Vec<Space> = of.form.spaces().collect();
        let space = spaces.iter().copied().find(|space| space.is_shared()).unwrap_or(Space::SharedCluster);
        let shared = self.place(cta, warp, at, of, memory, space);
        let Region::Shared(rank, offset) = shared else {
            let name = self.place_name(shared);
            return self.outside(cta, at.thread, at.pc, name);
        };
        if !is_load
            && let Some(map) = self.learned.map.take()
            && let Some(place) = self.key(cta, shared)
        {
            self.learned.stored.insert((map, place));
        }
        let alignment = if map.swizzle_mode == 0 { 16 } else { 128 };
        if offset % alignment != 0 {
            let message =
                format!("shared memory of a tensor begins at {offset:#x}, which is not a multiple of {alignment}");
            self.find(cta, FaultKind::Misaligned, at.thread, at.pc, None, None, message, None);
        }
        let (chunks, bytes) = match chunks(&map, mode, &coordinates, &offsets, offset as u32) {
            Ok(found) => found,
            Err(Unsupported(what)) => return self.misused(cta, at, what),
        };
        let parts = chunks.iter().filter_map(|chunk| {
            let global = chunk.global.map(|address| resolve(Space::Global, address));
            let shared = Region::Shared(rank, chunk.shared.into());
            let bytes = chunk.bytes.into();
            match is_load {
                true => Some(Part { from: global, to: shared, bytes }),
                false => global.map(|to| Part { from: Some(shared), to, bytes }),
            }
        });
        let (_, size) = map.element.unit();
        let own = Move {
            parts: parts.collect(),
            reduces: of_elements(of, map.element),
            fill: (map.fill.bytes(map.element), size.min(8) as usize),
            loaded: Some(map.element).filter(|element| is_load && element.unit() == (1, 4)),
            ..Move::default()
        };
        let is_reduction = of.form.family() == Family::CpReduceAsyncBulkTensor;
        if is_reduction && own.reduces.is_none() {
            return self.misused(cta, at, "the elements of the reduction are not numbers".into());
        }
        self.begin_move(cta, warp, at, of, own, bytes);
    }

    /// The tensor map at an address.
    fn tensor_map(&mut self, cta: &mut Cta, at: Lane, address: u64, rank: usize) -> Option<TensorMap> {
        // Compilers also pass the address of a parameter in 32 bits.
        let place = match u32::try_from(address) {
            Ok(offset) => Region::Param(offset.into()),
            Err(_) => resolve(Space::Generic, address),
        };
        let Some(block) = self.copied(cta, place, 128) else {
            let name = self.place_name(place);
            self.outside(cta, at.thread, at.pc, name);
            return None;
        };
        if let Region::Global(..) = place {
            let clock = cta.order[at.thread as usize].clock.clone();
            let access = record(clock.agent, clock.own, Info::new(at.pc, 16, None, false));
            self.touch_of(cta, at.thread, place, 128, access, &clock);
            self.check_acquired(cta, at, place);
        }
        let map = block.first_chunk().and_then(|block| TensorMap::decode(block).ok());
        if self.is_trial && map.is_none_or(|map| map.rank != rank as u32) {
            self.learned.misses(place, rank);
        }
        if map.is_none_or(|map| map.rank == 0) {
            let name = self.place_name(place);
            self.misused(cta, at, format!("`{name}` is not a tensor map"));
            return None;
        }
        self.learned.map = Some(place).filter(|_| self.is_trial);
        map
    }

    /// Checks a map that the grid has written: a fence of the proxy that reads the map is needed after the write and
    /// before the copy.
    fn check_acquired(&mut self, cta: &Cta, at: Lane, place: Region) {
        let Region::Global(piece, offset) = place else { return };
        let clock = &cta.order[at.thread as usize].clock;
        let Some(fences) = self.in_flight.maps.get(&(piece, offset)) else { return };
        if fences.iter().any(|(agent, epoch)| clock.has_seen(*agent, *epoch)) {
            return;
        }
        let name = self.place_name(place);
        let message =
            format!("the copy uses the tensor map at `{name}`, which the kernel made, without an acquire of its proxy");
        let help = Some(Remedy::TensorMapFence);
        self.find_detailed(cta, FaultKind::Race, at.thread, at.pc, None, Some(name), message, help, Detail::TensorMap);
    }

    /// `fence.proxy.tensormap::generic.acquire`
    pub fn acquire_map(&mut self, cta: &mut Cta, warp: &Warp, at: Lane, of: &Operation) {
        let Region::Global(piece, offset) = self.place(cta, warp, at, of, Role::Destination, Space::Generic) else {
            return;
        };
        let clock = &mut cta.order[at.thread as usize].clock;
        if let Some(fences) = self.in_flight.maps.get_mut(&(piece, offset)) {
            fences.push((clock.agent, clock.own));
            clock.advance();
        }
    }

    /// Records that a map in global memory has changed.
    fn map_changed(&mut self, place: Region) {
        if let Region::Global(piece, offset) = place {
            self.in_flight.maps.insert((piece, offset), Vec::new());
        }
    }

    /// `tensormap.replace`
    pub fn replace_map(&mut self, cta: &mut Cta, warp: &Warp, at: Lane, of: &Operation) {
        let space = of.form.spaces().next().unwrap_or(Space::Generic);
        let place = self.place(cta, warp, at, of, Role::Destination, space);
        let clock = cta.order[at.thread as usize].clock.clone();
        let access = record(clock.agent, clock.own, Info::new(at.pc, 16, None, true));
        if !self.touch_of(cta, at.thread, place, 128, access, &clock) {
            return;
        }
        let ordinal = self.number(cta, warp, at, of, Role::Ordinal) as usize;
        let value = self.number(cta, warp, at, of, Role::Value);
        let field = of.form.modifiers().iter().find_map(|word| Field::from_word(word, ordinal));
        let Some((block, field)) = self.copied(cta, place, 128).zip(field) else { return };
        let replaced = block
            .first_chunk()
            .and_then(|block| TensorMap::decode(block).ok())
            .map(|mut map| map.replace(field, value).map(|()| map));
        match replaced {
            Some(Ok(map)) => {
                self.write(cta, place, &map.encode());
                self.map_changed(place);
            }
            Some(Err(Unsupported(what))) => self.misused(cta, at, format!("{what} does not exist")),
            None => {
                let name = self.place_name(place);
                self.misused(cta, at, format!("`{name}` is not a tensor map"));
            }
        }
    }

    /// `tensormap.cp_fenceproxy`: the lanes of a warp copy a map and release it.
    pub fn copy_map(&mut self, cta: &mut Cta, warp: &Warp, at: Lane, of: &Operation, is_first: bool) {
        if is_first {
            let to = self.place(cta, warp, at, of, Role::Destination, Space::Global);
            let from = self.place(cta, warp, at, of, Role::Source, Space::Shared);
            let clock = cta.order[at.thread as usize].clock.clone();
            let access = |writes| record(clock.agent, clock.own, Info::new(at.pc, 16, None, writes));
            if !self.touch_of(cta, at.thread, from, 128, access(false), &clock)
                || !self.touch_of(cta, at.thread, to, 128, access(true), &clock)
            {
                return;
            }
            if let Some(block) = self.copied(cta, from, 128) {
                self.write(cta, to, &block);
                self.map_changed(to);
            }
        }
        let scope = of.form.scope().unwrap_or(ptx_isa::Scope::Gpu);
        self.fence(cta, warp, 1 << at.lane, Some(FenceSem::Release), scope);
    }
}

/// The parts of a copy, and the number of bytes by which it completes an mbarrier.
fn chunks(
    map: &TensorMap,
    mode: &str,
    coordinates: &[i32],
    offsets: &[u16],
    shared: u32,
) -> Result<(Vec<Chunk>, u64), Unsupported> {
    match mode {
        "tile" => Ok((map.tile(coordinates, shared)?, map.tile_bytes())),
        "tile::gather4" | "tile::scatter4" => {
            let place = coordinates.first_chunk::<5>().copied().unwrap_or_default();
            Ok((map.gather(place, shared)?, map.gather_bytes()))
        }
        "im2col" => Ok((map.im2col(coordinates, offsets, shared)?, map.im2col_bytes())),
        "im2col_no_offs" => {
            let none = vec![0; coordinates.len().saturating_sub(2)];
            Ok((map.im2col(coordinates, &none, shared)?, map.im2col_bytes()))
        }
        mode => Err(Unsupported::new(format!("a copy in the mode .{mode}"))),
    }
}
