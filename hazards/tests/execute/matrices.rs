//! What the tensor cores do: `wgmma`, and the instructions of tensor memory.

use super::{
    clock::{Chain, Clock, Message},
    code::{Address, Op, Source, Step},
    machine::{LANES, Machine, State, each},
    race::{Access, Class, Pipe, PipeKind, Race},
    tensor::{Dimensions, Matrix, Product, Slice},
};

/// So many warps multiply together.
const WARPGROUP: usize = 4;

impl Machine<'_> {
    pub fn wgmma(&mut self, w: usize, step: &Step, active: u32) {
        let Op::Wgmma(wgmma) = &step.op else { return };
        let lane = active.trailing_zeros() as usize;
        self.version += 1;
        let warp = &mut self.warps[w];
        let number = warp.wgmma.start();
        let mut found = Vec::new();
        for register in wgmma.d.iter().chain(&wgmma.a_registers) {
            let (at, line) = warp.written[*register];
            if at > warp.fenced || warp.fenced == 0 {
                found.push(line);
            }
        }
        for register in &wgmma.a_registers {
            if let Some((other, line)) = warp.multiplies.writes.get(register)
                && *other > warp.multiplies.done
            {
                found.push(*line);
            }
        }
        for register in &wgmma.d {
            warp.multiplies.writes.insert(*register, (number, step.line));
            warp.known[*register] &= !active;
        }
        for register in &wgmma.a_registers {
            warp.multiplies.reads.insert(*register, (number, step.line));
        }
        self.races.extend(found.into_iter().map(|first| Race { class: Class::Asynchronous, first, second: step.line }));
        let clock = self.joined(w, active);
        let agent = self.agents.of(Chain::Wgmma(w as u32));
        let access = Access {
            line: step.line,
            agent,
            epoch: number,
            writes: false,
            proxy: true,
            class: Class::Asynchronous,
            pipe: None,
        };
        for (descriptor, matrix) in wgmma.a.iter().chain([&wgmma.b]) {
            let Some(descriptor) = self.get(w, lane, *descriptor) else {
                return self.fail(step, "a descriptor that is not known");
            };
            for part in matrix.parts(descriptor) {
                self.touch_shared(part, &clock, &access);
            }
        }
    }

    /// Groups are those of a warpgroup: what is waited for is complete for all of its warps, each of which has started it.
    pub fn wait_for_wgmma(&mut self, w: usize, active: u32, pending: u32) -> bool {
        let epoch = self.warps[w].wgmma.complete(pending);
        let first = w / WARPGROUP * WARPGROUP;
        let group = first..(first + WARPGROUP).min(self.warps.len());
        if group.clone().any(|warp| self.warps[warp].wgmma.started < epoch) {
            self.wait_here(w, active);
            return false;
        }
        let done = &mut self.warps[w].multiplies.done;
        *done = epoch.max(*done);
        for warp in group {
            let agent = self.agents.of(Chain::Wgmma(warp as u32));
            each(active).for_each(|lane| self.clocks[w * LANES + lane].see(agent, epoch));
        }
        true
    }

    /// Lanes come to the same instruction again when something has changed.
    fn wait_here(&mut self, w: usize, lanes: u32) {
        each(lanes).for_each(|lane| {
            self.warps[w].pc[lane] -= 1;
            self.warps[w].state[lane] = State::Waits(self.version);
        });
    }

    /// The start of what lanes do together.
    pub fn joined(&self, w: usize, active: u32) -> Clock {
        let mut message = Message::default();
        each(active).for_each(|lane| message.join(&self.clocks[w * LANES + lane]));
        message.clock()
    }

    pub fn move_tensor(&mut self, w: usize, step: &Step, active: u32, t: Address, slice: Slice, access: Access) {
        let lane = active.trailing_zeros() as usize;
        let Some(t) = self.address(w, lane, t) else { return self.fail(step, "an address that is not known") };
        let clock = self.joined(w, active);
        self.touch_tensor(t, slice.lanes, slice.columns, &clock, &access);
        if let Some(apart) = slice.apart {
            let second = t.wrapping_add((16 << 16) + u64::from(apart));
            self.touch_tensor(second, slice.lanes, slice.columns, &clock, &access);
        }
    }

    fn allocation(&mut self, w: usize, step: &Step, active: u32, t: u64, columns: u32) {
        self.warps[w].allocations += 1;
        let epoch = self.warps[w].allocations;
        let agent = self.agents.of(Chain::Allocation(w as u32));
        let clock = self.joined(w, active);
        let access = Access {
            line: step.line,
            agent,
            epoch,
            writes: true,
            proxy: false,
            class: Class::Asynchronous,
            pipe: None,
        };
        self.touch_tensor(t, 128, columns, &clock, &access);
        each(active).for_each(|lane| self.clocks[w * LANES + lane].see(agent, epoch));
    }

    pub fn allocate(&mut self, w: usize, step: &Step, active: u32, to: Address, columns: Source) -> bool {
        let lane = active.trailing_zeros() as usize;
        let Some(columns) = self.get(w, lane, columns) else {
            self.fail(step, "a count that is not known");
            return true;
        };
        let columns = columns as usize;
        let is_free = |at: &usize| self.columns.get(*at..at + columns).is_some_and(|range| !range.contains(&true));
        let Some(at) = (0..self.columns.len()).step_by(columns.max(32)).find(is_free) else {
            self.wait_here(w, active);
            return false;
        };
        self.columns[at..at + columns].fill(true);
        let Some(place) = self.place(w, lane, to, step) else { return true };
        for (byte, cell) in (at as u32).to_le_bytes().into_iter().zip(&mut self.memory[place as usize..]) {
            *cell = Some(byte);
        }
        self.allocation(w, step, active, at as u64, columns as u32);
        let epoch = self.warps[w].allocations;
        let agent = self.agents.of(Chain::Allocation(w as u32));
        let clock = self.joined(w, active);
        let access = Access {
            line: step.line,
            agent,
            epoch,
            writes: true,
            proxy: false,
            class: Class::Asynchronous,
            pipe: None,
        };
        self.touch_shared((place, 4), &clock, &access);
        true
    }

    pub fn deallocate(&mut self, w: usize, step: &Step, active: u32, t: Source, columns: Source) {
        let lane = active.trailing_zeros() as usize;
        let (Some(t), Some(columns)) = (self.get(w, lane, t), self.get(w, lane, columns)) else {
            return self.fail(step, "an address that is not known");
        };
        let (at, columns) = (t as usize & 0xffff, columns as usize);
        if let Some(range) = self.columns.get_mut(at..at + columns) {
            range.fill(false);
        }
        self.version += 1;
        self.allocation(w, step, active, t, columns as u32);
    }

    /// A new operation that the thread's next `tcgen05.commit` tracks: its start, and what its accesses have in common.
    pub fn track(&mut self, w: usize, lane: usize, step: &Step, kind: PipeKind) -> (Clock, Access) {
        let thread = w * LANES + lane;
        let clock = self.clocks[thread].clone();
        let tracked = self.tracked.entry(thread).or_insert_with(|| (0, clock.clone()));
        *tracked = (tracked.0 + 1, clock.clone());
        let epoch = tracked.0;
        let agent = self.agents.of(Chain::Tensor(thread as u32));
        let pipe = Some(Pipe { kind, thread: clock.agent, epoch: clock.own });
        let access =
            Access { line: step.line, agent, epoch, writes: false, proxy: false, class: Class::Asynchronous, pipe };
        (clock, access)
    }

    pub fn product(&mut self, w: usize, lane: usize, step: &Step, product: &Product) {
        let (d, shape) = (self.address(w, lane, product.d), self.get(w, lane, product.shape));
        let (Some(d), Some(shape)) = (d, shape) else {
            return self.fail(step, "an operand that is not known");
        };
        let size = Dimensions::of(shape, product.scaled);
        let (m, n) = (if size.m == 0 { 128 } else { size.m }, size.n.max(8));
        let is = |kind: fn(u32, u64) -> PipeKind| kind(d as u32, u64::from(m) << 32 | u64::from(n));
        let (clock, access) = self.track(w, lane, step, is(PipeKind::Product));
        let read = Access {
            pipe: Some(Pipe { kind: is(PipeKind::Operand), thread: clock.agent, epoch: clock.own }),
            ..access
        };
        let matrices = [(product.a, m.min(128), size.a_across), (Some(product.b), n, size.b_across)];
        for (source, rows, across) in matrices {
            let Some(source) = source else { continue };
            let Some(descriptor) = self.get(w, lane, source) else {
                return self.fail(step, "a descriptor that is not known");
            };
            for part in (Matrix { rows, across, tensor: true }).parts(descriptor) {
                self.touch_shared(part, &clock, &Access { proxy: true, pipe: None, ..access });
            }
        }
        if let Some(a) = product.a_tensor {
            let Some(a) = self.address(w, lane, a) else { return self.fail(step, "an address that is not known") };
            self.touch_tensor(a, 128, 8, &clock, &read);
        }
        for (scale, columns) in product.scales.iter().zip([4, n.div_ceil(32)]) {
            let Some(scale) = self.address(w, lane, *scale) else {
                return self.fail(step, "an address that is not known");
            };
            self.touch_tensor(scale & !0xffff_0000, 128, columns, &clock, &read);
        }
        let written = Access { writes: true, ..access };
        if m == 64 {
            for quarter in 0..4 {
                self.touch_tensor(d + (quarter << 21), 16, n, &clock, &written);
            }
        } else {
            self.touch_tensor(d, 128, n, &clock, &written);
        }
    }
}
