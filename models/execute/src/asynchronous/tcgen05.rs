//! `tcgen05` (section 9.7.16): transfers to, from and within tensor memory, products, and `commit`.

use ptx_isa::{Family, Role, Space};

use super::memory::load_matrix;
use crate::in_flight::{Begun, Chain, Effect, Key, Line, Matrix, Work, record};
use crate::tensor_memory::{Pipe, PipeKind, Slice, TensorAccess};
use crate::{
    access::Lane,
    clock::{Agent, Clock, Epoch},
    code::{Given, Operation, Source},
    collective::ALL_LANES,
    exec::position,
    machine::{Cta, Machine},
    matrix::{
        element::Unsupported,
        shared::SharedMatrix,
        tcgen05::{Output, TensorMma},
        tensor::{Copy, Transfer, shift},
    },
    memory::Region,
    shadow::{Info, Record},
    warp::{Group, Wait, Warp, each},
};

/// An operation that `tcgen05.commit` tracks: its clock, its access, and its thread.
struct Tracked {
    start: Clock,
    agent: Agent,
    epoch: Epoch,
    issue: (Agent, Epoch),
    pc: u32,
}

impl Tracked {
    fn shared(&self) -> Record {
        record(self.agent, self.epoch, Info::new(self.pc, 16, None, false).asynchronous())
    }

    fn tensor(&self, writes: bool, kind: PipeKind) -> TensorAccess {
        let record = record(self.agent, self.epoch, Info::new(self.pc, 4, None, writes).asynchronous());
        TensorAccess { record, pipe: Some(Pipe { kind, agent: self.issue.0, epoch: self.issue.1 }) }
    }
}

impl Machine<'_> {
    /// Executes an instruction that the lanes of a warp execute together.
    pub fn tensor_of_warp(&mut self, cta: &mut Cta, warp: &mut Warp, index: usize, of: &Operation) {
        let Some(group) = self.arrived_group(cta, warp, index, ALL_LANES, false) else { return };
        let lane = group.lanes.trailing_zeros() as usize;
        let at = Lane { lane, thread: warp.first + lane as u32, pc: group.pc, base: group.base };
        let w = warp.first / 32;
        let is_done = match of.form.family() {
            Family::Tcgen05Alloc => self.allocate(cta, warp, &group, at, of),
            Family::Tcgen05Dealloc => {
                self.deallocate(cta, warp, &group, at, of);
                true
            }
            Family::Tcgen05RelinquishAllocPermit => {
                cta.asynchronous.tensor.is_relinquished = true;
                true
            }
            family @ (Family::Tcgen05WaitLd | Family::Tcgen05WaitSt) => {
                let chain = match family {
                    Family::Tcgen05WaitLd => Chain::TensorLoad(w),
                    _ => Chain::TensorStore(w),
                };
                let agent = self.agent(cta, chain, at.thread);
                let epoch = cta.asynchronous.epoch(chain);
                Self::threads(warp, group.lanes)
                    .for_each(|(_, thread)| cta.order[thread as usize].clock.see(agent, epoch));
                true
            }
            _ => {
                self.transfer(cta, warp, &group, at, of);
                true
            }
        };
        let own = position(warp, lane);
        match is_done {
            true => warp.groups[own].pc += 1,
            false => warp.groups[own].wait = Wait::Completion,
        }
    }

    /// Begins an operation on whole columns, which is complete when the instruction is.
    fn claim(&mut self, cta: &mut Cta, warp: &Warp, group: &Group, at: Lane, slice: Slice) -> (Record, Clock) {
        let (agent, epoch) = self.begin_of(cta, Chain::Allocation(warp.first / 32), at.thread);
        let clock = self.joined(cta, warp, group.lanes);
        let access = record(agent, epoch, Info::new(at.pc, 4, None, true));
        let rank = cta.rank;
        self.touch_tensor(cta, at.thread, rank, slice, &clock, &TensorAccess { record: access, pipe: None });
        // Allocations keep the order of accesses to the same address of shared memory (section 9.7.16.6.1).
        let threads = Self::threads(warp, group.lanes);
        threads.for_each(|(_, thread)| cta.order[thread as usize].clock.see_fenced(agent, epoch));
        (access, clock)
    }

    fn allocate(&mut self, cta: &mut Cta, warp: &Warp, group: &Group, at: Lane, of: &Operation) -> bool {
        let columns = (self.number(cta, warp, at, of, Role::Columns) & 0xffff_ffff) as usize;
        if !(32..=512).contains(&columns) || !columns.is_power_of_two() {
            let message = format!("expected a power of two from 32 to 512 columns of tensor memory, found {columns}");
            self.misused(cta, at, message);
            return true;
        }
        if cta.asynchronous.tensor.is_relinquished {
            self.misused(cta, at, "tensor memory is allocated after `tcgen05.relinquish_alloc_permit`".into());
        }
        let Some((start, access)) = self.claimed(cta, warp, group, at, of, columns) else { return false };
        let clock = self.joined(cta, warp, group.lanes);
        let space = of.form.spaces().next().unwrap_or(Space::Generic);
        let to = self.place(cta, warp, at, of, Role::Destination, space);
        if self.touch_of(cta, at.thread, to, 4, access, &clock) {
            self.write(cta, to, &(start as u32).to_le_bytes());
        }
        true
    }

    /// The first column of a warp's allocation, and its access; `None` as long as no columns are free. An allocation of
    /// both CTAs of a pair is performed by both together, so it waits for the peer, if the peer is running.
    fn claimed(
        &mut self,
        cta: &mut Cta,
        warp: &Warp,
        group: &Group,
        at: Lane,
        of: &Operation,
        columns: usize,
    ) -> Option<(usize, Record)> {
        let own = warp.first / 32;
        let (start, access) = match cta.asynchronous.tensor.joint.waiting {
            Some((warp, start, access)) if warp == own => (start, access),
            Some(_) => return None,
            None => {
                let start = cta.asynchronous.tensor.free(columns)?;
                cta.asynchronous.tensor.allocated.insert(start, (columns, at.thread, at.pc));
                let slice = Slice { address: start as u32, lanes: 128, columns };
                (start, self.claim(cta, warp, group, at, slice).0)
            }
        };
        let peer = self.rank(cta, Some(cta.rank ^ 1)).filter(|_| of.form.cta_group() == Some(2));
        let Some(peer) = peer else { return Some((start, access)) };
        let joint = &mut cta.asynchronous.tensor.joint;
        if joint.waiting.replace((own, start, access)).is_none() {
            joint.begun += 1;
            joint.last = Some((access.agent, access.epoch));
            self.in_flight.wake(peer, Wait::Completion);
        }
        if let Some(other) = self.ctas.get(peer as usize).and_then(Option::as_deref) {
            let other = &other.asynchronous.tensor.joint;
            let (agent, epoch) = other.last.filter(|_| other.begun >= joint.begun)?;
            // A thread that has seen the allocation has also seen the peer's part of it.
            Self::threads(warp, group.lanes).for_each(|(_, thread)| cta.order[thread as usize].clock.see(agent, epoch));
        }
        cta.asynchronous.tensor.joint.waiting = None;
        Some((start, access))
    }

    fn deallocate(&mut self, cta: &mut Cta, warp: &Warp, group: &Group, at: Lane, of: &Operation) {
        let address = self.number(cta, warp, at, of, Role::Tmem) as u32;
        let columns = (self.number(cta, warp, at, of, Role::Columns) & 0xffff_ffff) as usize;
        let start = address as usize & 0xffff;
        let is_allocated = cta.asynchronous.tensor.allocated.get(&start).is_some_and(|(count, ..)| *count == columns);
        if !is_allocated {
            let message = format!(
                "{columns} columns of tensor memory from {start} on are freed, and no allocation has this range"
            );
            return self.misused(cta, at, message);
        }
        self.claim(cta, warp, group, at, Slice { address, lanes: 128, columns });
        cta.asynchronous.tensor.allocated.remove(&start);
        self.in_flight.wake(cta.index, Wait::Completion);
        self.change();
    }

    /// `tcgen05.ld` and `.st`. Registers get their values at once, because a reader must wait for the load first.
    fn transfer(&mut self, cta: &mut Cta, warp: &mut Warp, group: &Group, at: Lane, of: &Operation) {
        let is_load = of.form.family() != Family::Tcgen05St;
        let chain = match is_load {
            true => Chain::TensorLoad(warp.first / 32),
            false => Chain::TensorStore(warp.first / 32),
        };
        let mut address = self.number(cta, warp, at, of, Role::Tmem) as u32;
        if self.options.lenient {
            address = address & !(0x60 << 16) | (warp.first / 32 % 4 * 32) << 16;
        }
        let split = self.number(cta, warp, at, of, Role::Split) as u32;
        let plain: Vec<&str> = of.form.modifiers().to_vec();
        let reduces = of.form.family() == Family::Tcgen05LdRed;
        let transfer = match Transfer::from_modifiers(&plain, split) {
            Ok(transfer) => transfer,
            Err(Unsupported(what)) => return self.unknown(at, &what),
        };
        if reduces {
            self.unknown(at, "the reduction of `tcgen05.ld.red`");
        }
        let (agent, epoch) = self.begin_of(cta, chain, at.thread);
        let clock = self.joined(cta, warp, group.lanes);
        let access = record(agent, epoch, Info::new(at.pc, 4, None, !is_load).asynchronous());
        let touch = TensorAccess { record: access, pipe: None };
        Self::threads(warp, group.lanes).for_each(|(_, thread)| cta.asynchronous.work(thread));
        for slice in slices(transfer, address) {
            let rank = cta.rank;
            self.touch_tensor(cta, at.thread, rank, slice, &clock, &touch);
        }
        let role = if is_load { Role::Destination } else { Role::Source };
        let sources = of.many(role);
        let memory = cta.asynchronous.tensor.memory.get_or_insert_default();
        if is_load {
            for (source, values) in sources.iter().zip(transfer.load(memory, address)) {
                if let Source::Reg(register) = source {
                    each(group.lanes).for_each(|lane| warp.set(at.base, *register, lane, values[lane]));
                }
            }
            return;
        }
        let mut memory = cta.asynchronous.tensor.memory.take().unwrap_or_default();
        let columns = sources.iter().map(|source| {
            let mut column = [0; 32];
            self.column(cta, warp, at.base, *source, &mut column);
            column
        });
        let columns: Vec<_> = columns.collect();
        transfer.store(&mut memory, address, &columns);
        cta.asynchronous.tensor.memory = Some(memory);
    }

    /// Notes a value that is not computed as a GPU computes it.
    pub fn unknown(&mut self, at: Lane, what: &str) {
        let line = self.line(at.pc);
        self.findings.note(line, &format!("{what}: its values are not computed"));
    }

    fn track(&mut self, cta: &mut Cta, at: Lane) -> Tracked {
        let (agent, epoch) = self.begin_of(cta, Chain::Tensor(at.thread), at.thread);
        let issue = self.begin_of(cta, Chain::Issue(at.thread), at.thread);
        let clock = &mut cta.order[at.thread as usize].clock;
        let start = clock.clone();
        clock.see(issue.0, issue.1);
        cta.asynchronous.tracked.insert(at.thread, start.clone());
        Tracked { start, agent, epoch, issue, pc: at.pc }
    }

    /// The ranks of the CTAs that take part, the lowest first.
    fn ranks(cta: &Cta, of: &Operation) -> Vec<u32> {
        match of.form.cta_group() {
            Some(2) => vec![cta.rank & !1, cta.rank | 1],
            _ => vec![cta.rank],
        }
    }

    fn enqueue_tensor(&mut self, cta: &mut Cta, at: Lane, start: Clock, work: Work) {
        let line = Some(Line::Tensor(cta.index / self.cluster));
        let effect = Effect::Tensor(Box::new(work));
        self.in_flight.queue.push_back(Begun { cta: cta.index, thread: at.thread, pc: at.pc, start, line, effect });
    }

    /// `tcgen05.mma`
    pub fn tensor_multiply(&mut self, cta: &mut Cta, warp: &Warp, at: Lane, of: &Operation) {
        use Family::{Tcgen05MmaSp, Tcgen05MmaWs, Tcgen05MmaWsSp};
        let d = self.number(cta, warp, at, of, Role::D) as u32;
        let b = self.number(cta, warp, at, of, Role::B);
        let a = match (of.given(Role::A), self.number(cta, warp, at, of, Role::A)) {
            (Some(Given::Address(_)), address) => Matrix::Tensor(address as u32),
            (_, descriptor) => Matrix::Shared(descriptor),
        };
        let descriptor = self.number(cta, warp, at, of, Role::Descriptor) as u32;
        let family = of.form.family();
        let mut words: Vec<&str> = of.form.modifiers().to_vec();
        words.extend(["ws"].iter().filter(|_| matches!(family, Tcgen05MmaWs | Tcgen05MmaWsSp)));
        words.extend(["sp"].iter().filter(|_| matches!(family, Tcgen05MmaSp | Tcgen05MmaWsSp)));
        let mut disabled = [0; 8];
        for (word, source) in disabled.iter_mut().zip(of.many(Role::DisabledLanes)) {
            *word = self.value(cta, warp, at.base, at.lane, *source) as u32;
        }
        let accumulate = self.holds(cta, warp, at, of, Role::Accumulate);
        let scale = self.number(cta, warp, at, of, Role::ScaleD) as u32;
        let output = Output { accumulate, scale, disabled };
        let ranks = Self::ranks(cta, of);
        let tracked = self.track(cta, at);
        let form = TensorMma::from_modifiers(&words, descriptor);
        let shape = match &form {
            Ok(mma) => (mma.shape().m, mma.shape().n),
            Err(_) => shape_of(descriptor, of.form.has("block_scale")),
        };
        let key = (shape.0 as u64) << 32 | shape.1 as u64;
        let across = [descriptor >> 15 & 1 == 1, descriptor >> 16 & 1 == 1];
        let rows = [shape.0 / ranks.len(), shape.1 / ranks.len()];
        let matrices = [(a, rows[0], across[0]), (Matrix::Shared(b), rows[1], across[1])];
        for (matrix, rows, across) in matrices {
            for rank in &ranks {
                self.touch_operand(cta, at, &tracked, (matrix, rows, across), *rank, PipeKind::Operand(d, key));
            }
        }
        for (role, columns) in [(Role::ScaleA, 4), (Role::ScaleB, shape.1.div_ceil(32)), (Role::Metadata, 8)] {
            if let Some(address) = self.operand(cta, warp, at, of, role) {
                let slice = Slice { address: address as u32 & 0xffff, lanes: 128, columns };
                let touch = tracked.tensor(false, PipeKind::Operand(d, key));
                for rank in &ranks {
                    self.touch_tensor(cta, at.thread, *rank, slice, &tracked.start, &touch);
                }
            }
        }
        self.touch_result(cta, at, &tracked, d, (&form, shape, key), &ranks);
        match form {
            Ok(mma) => {
                let work = Work::Multiply { mma, d, a, b, output, ranks };
                self.enqueue_tensor(cta, at, tracked.start, work);
            }
            Err(Unsupported(what)) => self.unknown(at, &what),
        }
    }

    /// Checks the reads of an operand by a product: 32 bytes of each row along K.
    fn touch_operand(
        &mut self,
        cta: &mut Cta,
        at: Lane,
        tracked: &Tracked,
        (matrix, rows, across): (Matrix, usize, bool),
        rank: u32,
        kind: PipeKind,
    ) {
        match matrix {
            Matrix::Shared(descriptor) => match SharedMatrix::of_tcgen05(descriptor, [rows, 16, 16], across) {
                Ok(matrix) => {
                    let ranges = matrix.ranges();
                    self.touch_matrix(cta, at.thread, Some(rank), &ranges, tracked.shared(), &tracked.start);
                }
                Err(Unsupported(what)) => self.misused(cta, at, what),
            },
            Matrix::Tensor(address) => {
                let lanes = if rows <= 64 { 64.max(rows) } else { 128 };
                let slice = Slice { address, lanes, columns: 8 };
                let touch = tracked.tensor(false, kind);
                self.touch_tensor(cta, at.thread, rank, slice, &tracked.start, &touch);
            }
        }
    }

    /// Checks the accesses of the result of a product.
    fn touch_result(
        &mut self,
        cta: &mut Cta,
        at: Lane,
        tracked: &Tracked,
        d: u32,
        (form, (m, n), key): (&Result<TensorMma, Unsupported>, (usize, usize), u64),
        ranks: &[u32],
    ) {
        let touch = tracked.tensor(true, PipeKind::Product(d, key));
        let mut parts: Vec<(usize, Slice)> = Vec::new();
        match form {
            Ok(mma) => {
                // The columns of a row are contiguous, in as many parts as the layout has.
                for row in (0..m).step_by(16) {
                    let mut column = 0;
                    while column < n {
                        let (cta, first) = mma.d_cell(d, row, column);
                        let same = |next: &usize| mma.d_cell(d, row, *next) == (cta, first.after(0, next - column));
                        let end = (column + 1..=n).find(|next| *next == n || !same(next)).unwrap_or(n);
                        let address = (first.lane as u32) << 16 | first.column as u32;
                        parts.push((cta, Slice { address, lanes: 16, columns: end - column }));
                        column = end;
                    }
                }
            }
            Err(_) => parts.extend((0..ranks.len()).map(|cta| (cta, Slice { address: d, lanes: 128, columns: n }))),
        }
        for (cta_of_pair, slice) in parts {
            if let Some(rank) = ranks.get(cta_of_pair) {
                self.touch_tensor(cta, at.thread, *rank, slice, &tracked.start, &touch);
            }
        }
    }

    /// `tcgen05.cp`
    pub fn tensor_copy(&mut self, cta: &mut Cta, warp: &Warp, at: Lane, of: &Operation) {
        let to = self.number(cta, warp, at, of, Role::Tmem) as u32;
        let descriptor = self.number(cta, warp, at, of, Role::Source);
        let ranks = Self::ranks(cta, of);
        let tracked = self.track(cta, at);
        let copy = match Copy::from_modifiers(of.form.modifiers()) {
            Ok(copy) => copy,
            Err(Unsupported(what)) => return self.unknown(at, &what),
        };
        let source = match copy.source(descriptor) {
            Ok(source) => source,
            Err(Unsupported(what)) => return self.misused(cta, at, what),
        };
        let ranges = source.ranges();
        let columns = source.columns / 4;
        let touch = tracked.tensor(true, PipeKind::Copy);
        for rank in &ranks {
            self.touch_matrix(cta, at.thread, Some(*rank), &ranges, tracked.shared(), &tracked.start);
            let slice = Slice { address: to, lanes: 128, columns };
            self.touch_tensor(cta, at.thread, *rank, slice, &tracked.start, &touch);
        }
        self.enqueue_tensor(cta, at, tracked.start, Work::Copy { copy, to, source, ranks });
    }

    /// `tcgen05.shift`
    pub fn tensor_shift(&mut self, cta: &mut Cta, warp: &Warp, at: Lane, of: &Operation) {
        let address = self.number(cta, warp, at, of, Role::Tmem) as u32;
        let ranks = Self::ranks(cta, of);
        let tracked = self.track(cta, at);
        let touch = tracked.tensor(true, PipeKind::Shift);
        for rank in &ranks {
            let slice = Slice { address, lanes: 32, columns: 8 };
            self.touch_tensor(cta, at.thread, *rank, slice, &tracked.start, &touch);
        }
        self.enqueue_tensor(cta, at, tracked.start, Work::Shift { at: address, ranks });
    }

    /// `tcgen05.commit` arrives at mbarriers when all operations that the thread has started are complete.
    pub fn tensor_commit(&mut self, cta: &mut Cta, warp: &Warp, at: Lane, of: &Operation) {
        let space = of.form.spaces().next().unwrap_or(Space::Generic);
        let barrier = self.place(cta, warp, at, of, Role::Barrier, space);
        let Region::Shared(_, offset) = barrier else {
            let name = self.place_name(barrier);
            return self.outside(cta, at.thread, at.pc, name);
        };
        let places: Vec<Region> = match self.cast(cta, warp, at, of) {
            Some(ranks) => ranks.into_iter().map(|rank| Region::Shared(Some(rank), offset)).collect(),
            None => vec![barrier],
        };
        let keys = places.iter().filter_map(|place| self.key(cta, *place)).collect();
        let agent = self.agent(cta, Chain::Tensor(at.thread), at.thread);
        let epoch = cta.asynchronous.epoch(Chain::Tensor(at.thread));
        // The commit accesses the mbarriers when it completes.
        let access = record(agent, epoch, Info::new(at.pc, 8, None, false));
        let own = cta.order[at.thread as usize].clock.clone();
        for place in &places {
            self.touch_of(cta, at.thread, *place, 8, access, &own);
        }
        let start = cta.asynchronous.tracked.get(&at.thread).cloned();
        let start = start.unwrap_or_else(|| cta.order[at.thread as usize].clock.clone());
        let line = Some(Line::Tensor(cta.index / self.cluster));
        let effect = Effect::Commit(keys, agent, epoch, Box::new(own));
        self.in_flight.queue.push_back(Begun { cta: cta.index, thread: at.thread, pc: at.pc, start, line, effect });
    }

    pub fn finish_commit(&mut self, cta: &mut Cta, op: &Begun, keys: &[Key], event: (Agent, Epoch), issued: &Clock) {
        let (agent, epoch) = event;
        let at = Lane { lane: 0, thread: op.thread, pc: op.pc, base: 0 };
        let mut past = op.start.past();
        if !self.options.lenient {
            past = past.chains(cta.threads);
        }
        past.see(agent, epoch);
        past.issue(issued);
        keys.iter().for_each(|key| self.arrive_of_operation(cta, at, *key, &past, (issued, event)));
    }

    pub fn finish_tensor(&mut self, cta: &mut Cta, work: &Work) {
        match work {
            Work::Multiply { mma, d, a, b, output, ranks } => {
                if !self.options.products {
                    let step = self.steps;
                    return self.with_tensor(cta, ranks, |_, _, memories| mma.stand_in(step, memories, *d, output));
                }
                self.with_tensor(cta, ranks, |machine, cta, memories| {
                    let shared = |matrix: &SharedMatrix| -> Vec<u64> {
                        ranks.iter().flat_map(|rank| load_matrix(matrix, machine.shared_of(cta, *rank))).collect()
                    };
                    let b = mma.b(*b).map(|matrix| shared(&matrix)).unwrap_or_default();
                    let a = match a {
                        Matrix::Shared(a) => mma.a(*a).map(|matrix| shared(&matrix)).unwrap_or_default(),
                        Matrix::Tensor(a) => {
                            let read: Vec<_> = memories.iter().map(|memory| &**memory).collect();
                            mma.a_of_tensor(&read, *a)
                        }
                    };
                    mma.compute(&a, &b, memories, *d, output);
                });
            }
            Work::Copy { copy, to, source, ranks } => {
                self.with_tensor(cta, ranks, |machine, cta, memories| {
                    for (rank, memory) in ranks.iter().zip(memories) {
                        let shared = machine.shared_of(cta, *rank);
                        let read = |address: u32| {
                            let found = shared.get(address as usize..).and_then(|rest| rest.first_chunk());
                            found.copied().unwrap_or_default()
                        };
                        copy.copy(memory, *to, source, &read);
                    }
                });
            }
            Work::Shift { at, ranks } => {
                self.with_tensor(cta, ranks, |_, _, memories| {
                    memories.iter_mut().for_each(|memory| shift(memory, *at))
                });
            }
        }
        self.change();
    }
}

/// Rows and columns of the result, by an instruction descriptor (section 9.7.16.4.2).
fn shape_of(descriptor: u32, is_scaled: bool) -> (usize, usize) {
    let field = |at: u32, bits: u32| (descriptor >> at & ((1 << bits) - 1)) as usize;
    let m = if is_scaled { field(27, 2) << 7 } else { field(24, 5) << 4 };
    (if m == 0 { 128 } else { m }, (field(17, 6) << 3).max(8))
}

/// The cells that a warp accesses, as slices. A slice has contiguous columns, so that the halves of `.16x32bx2` are two
/// slices.
fn slices(transfer: Transfer, address: u32) -> Vec<Slice> {
    let mut cells = transfer.touched(address);
    cells.sort_unstable();
    let mut slices: Vec<Slice> = Vec::new();
    let mut group = None;
    for of_lane in cells.chunk_by(|one, next| one.lane == next.lane) {
        let lane = of_lane[0].lane;
        // Lanes are checked by groups, so one lane of each group suffices.
        if group.replace(lane / 16) == Some(lane / 16) {
            continue;
        }
        for run in of_lane.chunk_by(|one, next| next.column <= one.column + 1) {
            let (first, last) = (run[0].column, run[run.len() - 1].column);
            slices.push(Slice { address: (lane as u32) << 16 | first as u32, lanes: 1, columns: last + 1 - first });
        }
    }
    slices
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(shape: &str, repeat: &str, split: u32, expected: &[(u32, usize)]) {
        let transfer = Transfer::from_modifiers(&[shape, repeat], split).unwrap_or_else(|_| panic!("{shape}"));
        let found: Vec<_> = slices(transfer, 0).into_iter().map(|own| (own.address, own.columns)).collect();
        assert_eq!(found, expected, "{shape}.{repeat}");
    }

    #[test]
    fn slices_have_no_column_that_is_not_touched() {
        check("16x32bx2", "x32", 64, &[(0, 32), (64, 32)]);
        check("16x32bx2", "x32", 32, &[(0, 64)]);
        check("16x64b", "x2", 0, &[(0, 4)]);
        check("32x32b", "x4", 0, &[(0, 4), (16 << 16, 4)]);
    }
}
