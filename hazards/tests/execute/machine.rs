//! The threads of a CTA, one schedule of them, and the clocks of what they do.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use ptx_isa::arithmetic;

use super::{
    barrier::{Copy, CtaBarrier, Groups, Mbarrier},
    clock::{Agents, Chain, Clock, Message},
    code::{Address, Op, Program, Register, SHARED, Shuffle, Source, Step, WINDOW},
    race::{Access, Class, PipeKind, Race, Races, Shadow},
};

pub const LANES: usize = 32;
const COLUMNS: u32 = 512;

/// A warp that has done so many instructions does them for ever.
const PATIENCE: u64 = 25_000;

/// How an execution ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    Done,
    /// Threads wait for what never comes: one of their lines.
    Hangs(u32),
    /// The executor cannot tell how it goes on: the line, and why.
    Unclear(u32, String),
}

/// Where copies begin and how long they are: PTX does not say it, and other executions of the kernel show it.
#[derive(Clone, Debug, Default)]
pub struct Extents {
    starts: BTreeSet<u64>,
    bytes: HashMap<u32, u64>,
}

#[derive(Clone, Debug)]
pub struct Execution {
    pub races: Races,
    pub end: End,
    /// Tensor memory that is left.
    pub leaks: bool,
    /// How often each line was executed by some warp.
    pub lines: HashMap<u32, u32>,
    /// Instructions of all warps.
    pub steps: u64,
}

/// What a kernel is executed with.
#[derive(Clone, Debug)]
pub struct Choice {
    /// The integers among its parameters, in turn.
    pub integers: Vec<u64>,
    pub cta: u64,
    pub grid: u64,
    pub guess: Guess,
}

/// How an unclear predicate is decided.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guess {
    None,
    All(bool),
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    Ready,
    /// For an mbarrier, that has not changed since.
    Waits(u64),
    /// For the other threads of a `bar`.
    Blocked,
    /// For the other lanes.
    Gathers,
    Exited,
}

/// What is in flight to and from registers of a warp.
#[derive(Default)]
pub struct InFlight {
    /// By register, the operation that writes it, and its line.
    pub writes: HashMap<Register, (u32, u32)>,
    pub reads: HashMap<Register, (u32, u32)>,
    pub done: u32,
}

pub struct Warp {
    pub pc: [usize; LANES],
    pub state: [State; LANES],
    pub values: Vec<[u64; LANES]>,
    pub known: Vec<u32>,
    pub wgmma: Groups,
    pub multiplies: InFlight,
    pub loads: u32,
    pub stores: u32,
    pub allocations: u32,
    /// When a register was written, and when the last `wgmma.fence` was; and the line.
    pub written: Vec<(u64, u32)>,
    pub fenced: u64,
    pub steps: u64,
}

pub struct Machine<'p> {
    pub program: &'p Program,
    pub choice: &'p Choice,
    pub extents: &'p mut Extents,
    pub warps: Vec<Warp>,
    pub clocks: Vec<Clock>,
    pub agents: Agents,
    pub shared: Shadow,
    pub tensor: Shadow,
    pub memory: Vec<Option<u8>>,
    pub barriers: BTreeMap<u64, CtaBarrier>,
    pub mbarriers: BTreeMap<u64, Mbarrier>,
    pub initialized: u32,
    pub copies: HashMap<usize, Groups>,
    pub bulk: HashMap<usize, Groups>,
    /// By thread, how many operations a `tcgen05.commit` tracks, and the start of the last.
    pub tracked: HashMap<usize, (u32, Clock)>,
    pub columns: Vec<bool>,
    pub races: Races,
    pub version: u64,
    pub time: u64,
    pub exited: u32,
    pub lines: HashMap<u32, u32>,
    /// What went wrong, which ends it.
    pub unclear: Option<(u32, String)>,
}

pub fn execute(program: &Program, choice: &Choice, extents: &mut Extents) -> Execution {
    let threads = program.threads as usize;
    let warps = threads.div_ceil(LANES);
    let warp = |number: usize| {
        let mut state = [State::Ready; LANES];
        for (lane, state) in state.iter_mut().enumerate() {
            if number * LANES + lane >= threads {
                *state = State::Exited;
            }
        }
        Warp {
            pc: [0; LANES],
            state,
            values: vec![[0; LANES]; program.registers],
            known: vec![0; program.registers],
            wgmma: Groups::default(),
            multiplies: InFlight::default(),
            loads: 0,
            stores: 0,
            allocations: 0,
            written: vec![(0, 0); program.registers],
            fenced: 0,
            steps: 0,
        }
    };
    let mut machine = Machine {
        program,
        choice,
        extents,
        warps: (0..warps).map(warp).collect(),
        clocks: (0..program.threads).map(Clock::new).collect(),
        agents: Agents::new(program.threads),
        shared: Shadow::new(0),
        tensor: Shadow::new(8 * COLUMNS as usize),
        memory: vec![None; SHARED as usize],
        barriers: BTreeMap::new(),
        mbarriers: BTreeMap::new(),
        initialized: 0,
        copies: HashMap::new(),
        bulk: HashMap::new(),
        tracked: HashMap::new(),
        columns: vec![false; COLUMNS as usize],
        races: Races::new(),
        version: 1,
        time: 1,
        exited: 0,
        lines: HashMap::new(),
        unclear: None,
    };
    let end = machine.run();
    let leaks = machine.columns.contains(&true);
    let steps = machine.warps.iter().map(|warp| warp.steps).sum();
    Execution { races: machine.races, end, leaks, lines: machine.lines, steps }
}

impl Machine<'_> {
    fn run(&mut self) -> End {
        loop {
            let mut moved = false;
            for warp in 0..self.warps.len() {
                moved |= self.run_warp(warp, false);
                if let Some((line, why)) = self.unclear.take() {
                    return End::Unclear(line, why);
                }
            }
            if moved {
                continue;
            }
            if self.exited == self.program.threads {
                self.flush();
                return End::Done;
            }
            if self.complete_oldest() {
                continue;
            }
            // What waits for lanes that do not come goes on without them.
            if !(0..self.warps.len()).any(|warp| self.run_warp(warp, true)) {
                break;
            }
        }
        self.flush();
        let waits = |warp: &Warp| {
            let lane = warp.state.iter().position(|state| *state != State::Exited)?;
            Some(self.program.steps[warp.pc[lane]].line)
        };
        End::Hangs(self.warps.iter().find_map(waits).unwrap_or(0))
    }

    /// Until all its lanes wait. Whether any did something.
    fn run_warp(&mut self, w: usize, forces: bool) -> bool {
        let mut moved = false;
        while self.unclear.is_none() {
            let version = self.version;
            let warp = &mut self.warps[w];
            for state in &mut warp.state {
                match state {
                    State::Waits(since) if *since != version => *state = State::Ready,
                    _ => {}
                }
            }
            let (pcs, states) = (warp.pc, warp.state);
            let of = |wanted: State| (0..LANES).filter(move |lane| states[*lane] == wanted);
            let mut first = of(State::Ready).map(|lane| pcs[lane]).min();
            let forced = forces && first.is_none() && !moved;
            if forced {
                first = of(State::Gathers).map(|lane| pcs[lane]).min();
            }
            let Some(pc) = first else { return moved };
            let here = |lane: &usize| pcs[*lane] == pc;
            let lanes: u32 = of(State::Ready).chain(of(State::Gathers)).filter(here).map(|lane| 1u32 << lane).sum();
            let live: u32 = (0..LANES).filter(|lane| states[*lane] != State::Exited).map(|lane| 1u32 << lane).sum();
            let step = &self.program.steps[pc];
            if lanes != live && !forced && is_collective(&step.op) {
                each(lanes).for_each(|lane| warp.state[lane] = State::Gathers);
                moved = true;
                continue;
            }
            each(lanes).for_each(|lane| warp.state[lane] = State::Ready);
            warp.steps += 1;
            if warp.steps > PATIENCE {
                self.unclear = Some((step.line, "it goes on for too long".into()));
                return true;
            }
            *self.lines.entry(step.line).or_default() += 1;
            moved |= self.step(w, step, lanes);
        }
        moved
    }

    pub fn get(&self, w: usize, lane: usize, source: Source) -> Option<u64> {
        let warp = &self.warps[w];
        let of = |register: Register| (warp.known[register] >> lane & 1 == 1).then(|| warp.values[register][lane]);
        match source {
            Source::Register(register) => of(register),
            Source::Not(register) => of(register).map(|value| value ^ 1),
            Source::Number(value) => Some(value),
            Source::Thread => Some((w * LANES + lane) as u64),
            Source::Lane => Some(lane as u64),
            Source::Warp => Some(w as u64),
            Source::Parameter(index) => Some(self.choice.integers[index % self.choice.integers.len()]),
            Source::Cta => Some(self.choice.cta),
            Source::Grid => Some(self.choice.grid),
            Source::Unknown => None,
        }
    }

    fn set(&mut self, w: usize, lane: usize, register: Register, value: Option<u64>) {
        let warp = &mut self.warps[w];
        match value {
            Some(value) => {
                warp.values[register][lane] = value;
                warp.known[register] |= 1 << lane;
            }
            None => warp.known[register] &= !(1 << lane),
        }
    }

    pub fn address(&mut self, w: usize, lane: usize, address: Address) -> Option<u64> {
        Some(self.get(w, lane, address.base)?.wrapping_add_signed(address.offset))
    }

    /// A place in shared memory; of other memory, nothing.
    pub fn place(&mut self, w: usize, lane: usize, address: Address, step: &Step) -> Option<u64> {
        match self.address(w, lane, address) {
            Some(place) if place < SHARED => Some(place),
            Some(place) if (WINDOW..WINDOW + SHARED).contains(&place) => Some(place - WINDOW),
            Some(_) => None,
            None => {
                self.fail(step, "an address that is not known");
                None
            }
        }
    }

    pub fn fail(&mut self, step: &Step, why: &str) {
        self.unclear.get_or_insert((step.line, why.into()));
    }

    /// Executes an instruction for some lanes. Whether any of them got anywhere.
    fn step(&mut self, w: usize, step: &Step, lanes: u32) -> bool {
        let mut active = lanes;
        if let Some((p, negated)) = step.guard {
            let forgets = matches!(step.op, Op::Forget | Op::Nothing | Op::Compute(..) | Op::Pack(..) | Op::Unpack(..));
            for lane in each(lanes) {
                match (self.get(w, lane, Source::Register(p)), self.choice.guess) {
                    (Some(value), _) if (value & 1 == 1) != negated => {}
                    (Some(_), _) => active &= !(1 << lane),
                    (None, _) if forgets => {
                        step.writes.iter().for_each(|register| self.set(w, lane, *register, None));
                        active &= !(1 << lane);
                    }
                    (None, Guess::All(value)) if value != negated => {}
                    (None, Guess::All(_)) => active &= !(1 << lane),
                    (None, Guess::None) => {
                        self.fail(step, "a predicate that is not known");
                        return true;
                    }
                }
            }
        }
        self.registers(w, step, active);
        each(lanes).for_each(|lane| self.warps[w].pc[lane] += 1);
        if active == 0 {
            return true;
        }
        self.perform(w, step, active)
    }

    /// What is in flight to registers that are read or written, and the other way round.
    fn registers(&mut self, w: usize, step: &Step, active: u32) {
        let (has_wgmma, time) = (self.program.has_wgmma, self.warps[w].steps);
        let Warp { multiplies, wgmma, written, .. } = &mut self.warps[w];
        if active == 0 || matches!(step.op, Op::Wgmma(_)) {
            return;
        }
        let flight = &*multiplies;
        if flight.done != wgmma.started {
            let is_open =
                |entry: Option<&(u32, u32)>| entry.filter(|(number, _)| *number > flight.done).map(|entry| entry.1);
            let reads = step.reads.iter().filter_map(|register| is_open(flight.writes.get(register)));
            let writes = step.writes.iter().filter_map(|register| {
                is_open(flight.writes.get(register)).or_else(|| is_open(flight.reads.get(register)))
            });
            let found: Vec<u32> = reads.chain(writes).collect();
            self.races.extend(found.into_iter().map(|first| Race {
                class: Class::Asynchronous,
                first,
                second: step.line,
            }));
        }
        if has_wgmma {
            step.writes.iter().for_each(|register| written[*register] = (time, step.line));
        }
    }

    #[expect(clippy::too_many_lines, reason = "a table")]
    fn perform(&mut self, w: usize, step: &Step, active: u32) -> bool {
        match &step.op {
            Op::Nothing => {}
            Op::Forget => {
                let warp = &mut self.warps[w];
                step.writes.iter().for_each(|register| warp.known[*register] &= !active);
            }
            Op::Compute(computation, absorbs, d, sources) => {
                for lane in each(active) {
                    let values: Vec<Option<u64>> = sources.iter().map(|source| self.get(w, lane, *source)).collect();
                    let with = |other: u64| {
                        let known: Vec<u128> = values.iter().map(|value| value.unwrap_or(other).into()).collect();
                        computation.apply(&known)
                    };
                    let value = match values.iter().all(Option::is_some) {
                        true => with(0),
                        false if *absorbs => with(0).filter(|value| with(u64::MAX) == Some(*value)),
                        false => None,
                    };
                    self.set(w, lane, *d, value.map(|value| value as u64));
                }
            }
            Op::Pack(d, parts, bits) => {
                for lane in each(active) {
                    let mut value = Some(0u64);
                    for part in parts.iter().rev() {
                        let part = self.get(w, lane, *part);
                        value = value.zip(part).map(|(value, part)| value.unbounded_shl(*bits) | part & low(*bits));
                    }
                    self.set(w, lane, *d, value.filter(|_| *bits * parts.len() as u32 <= 64));
                }
            }
            Op::Unpack(results, source, bits) => {
                for lane in each(active) {
                    let value = self.get(w, lane, *source).filter(|_| *bits * results.len() as u32 <= 64);
                    for (at, result) in results.iter().enumerate() {
                        if let Some(d) = result {
                            let part = value.map(|value| value >> (*bits * at as u32) & low(*bits));
                            self.set(w, lane, *d, part);
                        }
                    }
                }
            }
            Op::Load { d, bytes, a } => self.each_lane(active, |machine, lane| {
                let place = machine.place(w, lane, *a, step);
                let wide = u64::from(*bytes);
                for (at, result) in d.iter().enumerate() {
                    let value = place.and_then(|place| machine.value(place + at as u64 * wide, wide));
                    if let Some(d) = result {
                        machine.set(w, lane, *d, value);
                    }
                }
                if let Some(place) = place {
                    machine.touch(w, lane, step, (place, wide * d.len() as u64), false, Class::Ordinary);
                }
            }),
            Op::Store { a, bytes, b } => self.each_lane(active, |machine, lane| {
                let Some(place) = machine.place(w, lane, *a, step) else { return };
                let wide = u64::from(*bytes);
                for (at, source) in b.iter().enumerate() {
                    let value = machine.get(w, lane, *source);
                    for byte in 0..wide {
                        let place = (place + at as u64 * wide + byte) as usize;
                        if let Some(cell) = machine.memory.get_mut(place) {
                            *cell = value.map(|value| (value.unbounded_shr(8 * byte as u32) & 255) as u8);
                        }
                    }
                }
                machine.touch(w, lane, step, (place, wide * b.len() as u64), true, Class::Ordinary);
            }),
            Op::Rows { a, lanes, bytes, writes } => {
                let having = if *lanes >= 32 { u32::MAX } else { (1 << lanes) - 1 };
                self.each_lane(active & having, |machine, lane| {
                    let Some(place) = machine.place(w, lane, *a, step) else { return };
                    if *writes {
                        machine.forget(place, u64::from(*bytes));
                    }
                    machine.touch(w, lane, step, (place, u64::from(*bytes)), *writes, Class::Ordinary);
                });
                let warp = &mut self.warps[w];
                step.writes.iter().for_each(|register| warp.known[*register] &= !active);
            }
            Op::Copy { to, bytes } => self.each_lane(active, |machine, lane| {
                let Some(place) = machine.place(w, lane, *to, step) else { return };
                let thread = w * LANES + lane;
                let epoch = machine.copies.entry(thread).or_default().start();
                let agent = machine.agents.of(Chain::Copy(thread as u32));
                let access = Access {
                    line: step.line,
                    agent,
                    epoch,
                    writes: true,
                    proxy: false,
                    class: Class::Asynchronous,
                    pipe: None,
                };
                machine.forget(place, u64::from(*bytes));
                let clock = machine.clocks[thread].clone();
                machine.touch_shared((place, u64::from(*bytes)), &clock, &access);
            }),
            Op::CopyCommit => {
                each(active).for_each(|lane| self.copies.entry(w * LANES + lane).or_default().commit());
            }
            Op::CopyWait(pending) => {
                for lane in each(active) {
                    let thread = w * LANES + lane;
                    let groups = self.copies.entry(thread).or_default();
                    let epoch = if *pending == u32::MAX { groups.started } else { groups.complete(*pending) };
                    let agent = self.agents.of(Chain::Copy(thread as u32));
                    self.clocks[thread].see(agent, epoch);
                }
            }
            Op::CopyArrive { bar, counted } => {
                return self.each_mbarrier(w, step, active, *bar, |machine, lane, place| {
                    let thread = w * LANES + lane;
                    let epoch = machine.copies.entry(thread).or_default().started;
                    let agent = machine.agents.of(Chain::Copy(thread as u32));
                    let Some(mbarrier) = machine.mbarriers.get_mut(&place) else { return };
                    mbarrier.message.see(agent, epoch);
                    if !counted {
                        mbarrier.pending += 1;
                    }
                    machine.arrive(place, 1);
                });
            }
            Op::Barrier { id, threads, waits } => self.barrier(w, step, active, *id, *threads, *waits),
            Op::WarpBarrier => {
                let mut message = Message::default();
                each(active).for_each(|lane| self.clocks[w * LANES + lane].release(&mut message));
                let shared = message.shared();
                each(active).for_each(|lane| self.clocks[w * LANES + lane].acquire_all(&shared));
            }
            Op::ProxyFence => each(active).for_each(|lane| self.clocks[w * LANES + lane].fence()),
            Op::Initialize { bar, count } => self.each_lane(active, |machine, lane| {
                let Some(place) = machine.place(w, lane, *bar, step) else { return };
                let Some(count) = machine.get(w, lane, *count) else {
                    return machine.fail(step, "a count that is not known");
                };
                machine.touch(w, lane, step, (place, 8), true, Class::Barrier);
                machine.extents.starts.insert(place);
                machine.mbarriers.insert(place, Mbarrier::new(machine.initialized, count));
                machine.initialized += 1;
                machine.version += 1;
            }),
            Op::Invalidate { bar } => self.each_lane(active, |machine, lane| {
                let Some(place) = machine.place(w, lane, *bar, step) else { return };
                machine.touch(w, lane, step, (place, 8), true, Class::Barrier);
                if machine.mbarriers.get(&place).is_some_and(|mbarrier| !mbarrier.copies.is_empty()) {
                    machine.complete(place);
                }
                machine.mbarriers.remove(&place);
            }),
            Op::Arrive { bar, d, count, expects, drops } => {
                return self.each_mbarrier(w, step, active, *bar, |machine, lane, place| {
                    let count = machine.get(w, lane, *count);
                    let bytes = expects.map_or(Some(0), |bytes| machine.get(w, lane, bytes));
                    let (Some(count), Some(bytes)) = (count, bytes) else {
                        return machine.fail(step, "a count that is not known");
                    };
                    machine.touch(w, lane, step, (place, 8), false, Class::Barrier);
                    if machine.mbarriers.get(&place).is_some_and(|mbarrier| mbarrier.pending == 0) {
                        machine.complete(place);
                    }
                    let clock = &mut machine.clocks[w * LANES + lane];
                    let Some(mbarrier) = machine.mbarriers.get_mut(&place) else { return };
                    clock.release(&mut mbarrier.message);
                    mbarrier.expected += bytes.cast_signed();
                    if *drops {
                        mbarrier.drop_one();
                    }
                    let phase = u64::from(mbarrier.phase);
                    if let Some(d) = d {
                        machine.set(w, lane, *d, Some(phase));
                    }
                    machine.arrive(place, count);
                });
            }
            Op::Expect { bar, bytes } => {
                return self.each_mbarrier(w, step, active, *bar, |machine, lane, place| {
                    let Some(bytes) = machine.get(w, lane, *bytes) else {
                        return machine.fail(step, "a count that is not known");
                    };
                    machine.touch(w, lane, step, (place, 8), false, Class::Barrier);
                    if let Some(mbarrier) = machine.mbarriers.get_mut(&place) {
                        mbarrier.expected += bytes.cast_signed();
                    }
                });
            }
            Op::Wait { p, bar, parity } => return self.wait(w, step, active, *p, *bar, *parity),
            Op::BulkLoad { to, bar, bytes } => {
                return self.each_mbarrier(w, step, active, *bar, |machine, lane, at| {
                    let Some(place) = machine.place(w, lane, *to, step) else { return };
                    let bytes = match bytes {
                        None => None,
                        Some(bytes) => match machine.get(w, lane, *bytes) {
                            Some(bytes) => Some(bytes),
                            None => return machine.fail(step, "a size that is not known"),
                        },
                    };
                    machine.extents.starts.insert(place);
                    machine.time += 1;
                    let clock = &mut machine.clocks[w * LANES + lane];
                    let copy = Copy { line: step.line, to: place, bytes, start: clock.clone() };
                    // What the thread does next is not before the copy.
                    clock.own += 1;
                    let since = machine.time;
                    let Some(mbarrier) = machine.mbarriers.get_mut(&at) else { return };
                    if mbarrier.copies.is_empty() {
                        mbarrier.since = since;
                    }
                    let agent = machine.agents.of(Chain::Barrier(mbarrier.number));
                    let epoch = mbarrier.phase + 1;
                    let start = copy.start.clone();
                    mbarrier.copies.push(copy);
                    let access = Access {
                        line: step.line,
                        agent,
                        epoch,
                        writes: false,
                        proxy: false,
                        class: Class::Barrier,
                        pipe: None,
                    };
                    machine.touch_shared((at, 8), &start, &access);
                });
            }
            Op::BulkStore { from, bytes } => self.each_lane(active, |machine, lane| {
                let Some(place) = machine.place(w, lane, *from, step) else { return };
                let bytes =
                    bytes.and_then(|bytes| machine.get(w, lane, bytes)).unwrap_or_else(|| machine.store_extent(place));
                machine.extents.starts.insert(place);
                let thread = w * LANES + lane;
                let epoch = machine.bulk.entry(thread).or_default().start();
                let agent = machine.agents.of(Chain::Bulk(thread as u32));
                let access = Access {
                    line: step.line,
                    agent,
                    epoch,
                    writes: false,
                    proxy: true,
                    class: Class::Asynchronous,
                    pipe: None,
                };
                let clock = machine.clocks[thread].clone();
                machine.touch_shared((place, bytes), &clock, &access);
            }),
            Op::BulkCommit => each(active).for_each(|lane| self.bulk.entry(w * LANES + lane).or_default().commit()),
            Op::BulkWait(pending) => {
                for lane in each(active) {
                    let thread = w * LANES + lane;
                    let epoch = self.bulk.entry(thread).or_default().complete(*pending);
                    let agent = self.agents.of(Chain::Bulk(thread as u32));
                    self.clocks[thread].see(agent, epoch);
                }
            }
            Op::Wgmma(_) => self.wgmma(w, step, active),
            Op::WgmmaFence => self.warps[w].fenced = self.warps[w].steps,
            Op::WgmmaCommit => self.warps[w].wgmma.commit(),
            Op::WgmmaWait(pending) => return self.wait_for_wgmma(w, active, *pending),
            Op::Allocate { to, columns } => return self.allocate(w, step, active, *to, *columns),
            Op::Deallocate { t, columns } => self.deallocate(w, step, active, *t, *columns),
            Op::TensorLoad { t, slice } => {
                self.warps[w].loads += 1;
                let epoch = self.warps[w].loads;
                let agent = self.agents.of(Chain::TensorLoad(w as u32));
                let access = Access {
                    line: step.line,
                    agent,
                    epoch,
                    writes: false,
                    proxy: false,
                    class: Class::Asynchronous,
                    pipe: None,
                };
                self.move_tensor(w, step, active, *t, *slice, access);
                let warp = &mut self.warps[w];
                step.writes.iter().for_each(|register| warp.known[*register] &= !active);
            }
            Op::TensorStore { t, slice } => {
                self.warps[w].stores += 1;
                let epoch = self.warps[w].stores;
                let agent = self.agents.of(Chain::TensorStore(w as u32));
                let access = Access {
                    line: step.line,
                    agent,
                    epoch,
                    writes: true,
                    proxy: false,
                    class: Class::Asynchronous,
                    pipe: None,
                };
                self.move_tensor(w, step, active, *t, *slice, access);
            }
            Op::TensorLoadWait => {
                let epoch = self.warps[w].loads;
                let agent = self.agents.of(Chain::TensorLoad(w as u32));
                each(active).for_each(|lane| self.clocks[w * LANES + lane].see(agent, epoch));
            }
            Op::TensorStoreWait => {
                let epoch = self.warps[w].stores;
                let agent = self.agents.of(Chain::TensorStore(w as u32));
                each(active).for_each(|lane| self.clocks[w * LANES + lane].see(agent, epoch));
            }
            Op::TensorCommit { bar } => {
                return self.each_mbarrier(w, step, active, *bar, |machine, lane, place| {
                    let thread = w * LANES + lane;
                    let last = machine.tracked.get(&thread).cloned();
                    let epoch = last.as_ref().map_or(0, |(epoch, _)| *epoch);
                    let agent = machine.agents.of(Chain::Tensor(thread as u32));
                    if machine.mbarriers.get(&place).is_some_and(|mbarrier| mbarrier.pending == 0) {
                        machine.complete(place);
                    }
                    let threads = machine.program.threads;
                    let Some(mbarrier) = machine.mbarriers.get_mut(&place) else { return };
                    mbarrier.message.see(agent, epoch);
                    if let Some((_, start)) = &last {
                        mbarrier.message.see_chains(start, threads);
                    }
                    let access = Access {
                        line: step.line,
                        agent,
                        epoch,
                        writes: false,
                        proxy: false,
                        class: Class::Barrier,
                        pipe: None,
                    };
                    let clock = machine.clocks[thread].clone();
                    machine.touch_shared((place, 8), &clock, &access);
                    machine.arrive(place, 1);
                });
            }
            Op::Product(product) => self.each_lane(active, |machine, lane| machine.product(w, lane, step, product)),
            Op::TensorCopy { t, matrix, slice } => self.each_lane(active, |machine, lane| {
                let (t, matrix) = (machine.address(w, lane, *t), machine.get(w, lane, *matrix));
                let (Some(t), Some(matrix)) = (t, matrix) else {
                    return machine.fail(step, "an address that is not known");
                };
                let (clock, mut access) = machine.track(w, lane, step, PipeKind::Copy);
                for part in slice.parts(matrix) {
                    machine.touch_shared(part, &clock, &Access { proxy: true, pipe: None, ..access });
                }
                access.writes = true;
                machine.touch_tensor(t, slice.lanes, slice.columns, &clock, &access);
            }),
            Op::TensorShift { t } => self.each_lane(active, |machine, lane| {
                let Some(t) = machine.address(w, lane, *t) else {
                    return machine.fail(step, "an address that is not known");
                };
                let (clock, access) = machine.track(w, lane, step, PipeKind::Shift);
                machine.touch_tensor(t, 32, 8, &clock, &Access { writes: true, ..access });
            }),
            Op::Elect { lane, p } => {
                let leader = active.trailing_zeros() as usize;
                for other in each(active) {
                    if let Some(p) = p {
                        self.set(w, other, *p, Some(u64::from(other == leader)));
                    }
                    if let Some(lane) = lane {
                        self.set(w, other, *lane, Some(leader as u64));
                    }
                }
            }
            Op::Shuffle { mode, d, p, a, b, c } => {
                let values: Vec<Option<u64>> = (0..LANES).map(|lane| self.get(w, lane, *a)).collect();
                for lane in each(active) {
                    let (b, c) = (self.get(w, lane, *b), self.get(w, lane, *c));
                    let source = b.zip(c).map(|(b, c)| shuffled(*mode, lane, b, c));
                    let from = source.map(|(from, valid)| if valid { from } else { lane });
                    if let Some(d) = d {
                        let value = from.filter(|from| active >> from & 1 == 1).and_then(|from| values[from]);
                        self.set(w, lane, *d, value);
                    }
                    if let Some(p) = p {
                        self.set(w, lane, *p, source.map(|(_, valid)| u64::from(valid)));
                    }
                }
            }
            Op::Branch(target) => each(active).for_each(|lane| self.warps[w].pc[lane] = *target),
            Op::BranchIndexed(index, targets) => {
                for lane in each(active) {
                    let target = self.get(w, lane, *index).and_then(|index| targets.get(usize::try_from(index).ok()?));
                    match target {
                        Some(target) => self.warps[w].pc[lane] = *target,
                        None => {
                            return {
                                self.fail(step, "a branch that is not known");
                                true
                            };
                        }
                    }
                }
            }
            Op::Exit => {
                for lane in each(active) {
                    self.warps[w].state[lane] = State::Exited;
                    self.exited += 1;
                }
                let open: Vec<u64> = self.barriers.keys().copied().collect();
                open.into_iter().for_each(|id| self.open(id));
            }
            Op::Unknown(what) => self.fail(step, what),
        }
        true
    }

    fn each_lane(&mut self, active: u32, mut work: impl FnMut(&mut Self, usize)) {
        for lane in each(active) {
            if self.unclear.is_none() {
                work(self, lane);
            }
        }
    }

    /// For lanes whose mbarrier is initialized; the others wait until it is.
    fn each_mbarrier(
        &mut self,
        w: usize,
        step: &Step,
        active: u32,
        bar: Address,
        mut work: impl FnMut(&mut Self, usize, u64),
    ) -> bool {
        let mut moved = false;
        for lane in each(active) {
            if self.unclear.is_some() {
                return true;
            }
            let Some(place) = self.place(w, lane, bar, step) else { continue };
            if self.mbarriers.contains_key(&place) {
                work(self, lane, place);
                moved = true;
            } else {
                self.warps[w].pc[lane] -= 1;
                self.warps[w].state[lane] = State::Waits(self.version);
            }
        }
        moved || self.unclear.is_some()
    }

    fn value(&self, place: u64, bytes: u64) -> Option<u64> {
        let range = place as usize..(place + bytes.min(8)) as usize;
        let mut bytes = self.memory.get(range)?.iter().rev();
        bytes.try_fold(0, |value, byte| Some(value << 8 | u64::from((*byte)?)))
    }

    fn forget(&mut self, place: u64, bytes: u64) {
        let end = (place + bytes).min(SHARED) as usize;
        if let Some(range) = self.memory.get_mut(place as usize..end) {
            range.fill(None);
        }
    }

    /// An access of a thread itself.
    fn touch(&mut self, w: usize, lane: usize, step: &Step, range: (u64, u64), writes: bool, class: Class) {
        let clock = &self.clocks[w * LANES + lane];
        let access =
            Access { line: step.line, agent: clock.agent, epoch: clock.own, writes, proxy: false, class, pipe: None };
        touch(&mut self.shared, range, clock, &access, &mut self.races);
    }

    pub fn touch_shared(&mut self, range: (u64, u64), clock: &Clock, access: &Access) {
        touch(&mut self.shared, range, clock, access, &mut self.races);
    }

    pub fn touch_tensor(&mut self, t: u64, lanes: u32, columns: u32, clock: &Clock, access: &Access) {
        let (lane, column) = ((t >> 16) as u32 & 0x7f, t as u32 & 0xffff);
        for group in lane / 16..(lane + lanes).div_ceil(16).min(8) {
            for column in column..(column + columns).min(COLUMNS) {
                let cell = (group * COLUMNS + column) as usize;
                self.tensor.touch(cell, 1, clock, access, &mut self.races);
            }
        }
    }

    fn barrier(&mut self, w: usize, step: &Step, active: u32, id: Source, threads: Option<Source>, waits: bool) {
        for lane in each(active) {
            let Some(id) = self.get(w, lane, id) else { return self.fail(step, "a barrier that is not known") };
            let count = match threads {
                None => None,
                Some(threads) => match self.get(w, lane, threads) {
                    Some(count) => Some(count as u32),
                    None => return self.fail(step, "a count that is not known"),
                },
            };
            let barrier = self.barriers.entry(id).or_default();
            barrier.threads = count;
            barrier.arrived += 1;
            self.clocks[w * LANES + lane].release(&mut barrier.message);
            if waits {
                barrier.waiting.push((w, lane));
                self.warps[w].state[lane] = State::Blocked;
            }
            self.open(id);
        }
    }

    /// Lets the threads of a barrier go if all have come.
    fn open(&mut self, id: u64) {
        let Some(barrier) = self.barriers.get(&id) else { return };
        let needed = barrier.threads.unwrap_or(self.program.threads - self.exited);
        if barrier.arrived < needed {
            return;
        }
        if let Some(barrier) = self.barriers.remove(&id) {
            let shared = barrier.message.shared();
            for (w, lane) in barrier.waiting {
                self.clocks[w * LANES + lane].acquire_all(&shared);
                self.warps[w].state[lane] = State::Ready;
            }
        }
    }

    fn wait(&mut self, w: usize, step: &Step, active: u32, p: Option<Register>, bar: Address, parity: Source) -> bool {
        let mut moved = false;
        for lane in each(active) {
            let Some(place) = self.place(w, lane, bar, step) else { return true };
            let Some(parity) = self.get(w, lane, parity) else {
                self.fail(step, "a parity that is not known");
                return true;
            };
            let is_over = |mbarrier: &Mbarrier| u64::from(mbarrier.phase & 1) != parity & 1;
            if self.mbarriers.get(&place).is_some_and(is_over) {
                self.touch(w, lane, step, (place, 8), false, Class::Barrier);
                self.clocks[w * LANES + lane].acquire(&self.mbarriers[&place].done);
                if let Some(p) = p {
                    self.set(w, lane, p, Some(1));
                }
                moved = true;
            } else {
                self.warps[w].pc[lane] -= 1;
                self.warps[w].state[lane] = State::Waits(self.version);
            }
        }
        moved
    }

    /// So many threads have arrived.
    fn arrive(&mut self, place: u64, count: u64) {
        let Some(mbarrier) = self.mbarriers.get_mut(&place) else { return };
        mbarrier.pending = mbarrier.pending.saturating_sub(count);
        if mbarrier.is_complete() {
            self.complete(place);
        }
    }

    /// Ends the phase of an mbarrier: its copies write.
    fn complete(&mut self, place: u64) {
        self.write_copies(place);
        if let Some(mbarrier) = self.mbarriers.get_mut(&place) {
            let agent = self.agents.of(Chain::Barrier(mbarrier.number));
            mbarrier.message.see(agent, mbarrier.phase + 1);
            mbarrier.advance();
            self.version += 1;
        }
    }

    fn write_copies(&mut self, place: u64) {
        let Some(mbarrier) = self.mbarriers.get_mut(&place) else { return };
        let (expected, epoch) = (mbarrier.expected, mbarrier.phase + 1);
        let copies = std::mem::take(&mut mbarrier.copies);
        let agent = self.agents.of(Chain::Barrier(mbarrier.number));
        let sizes = self.extents.sizes(&copies, u64::try_from(expected).unwrap_or(0));
        for (copy, bytes) in copies.iter().zip(sizes) {
            let access = Access {
                line: copy.line,
                agent,
                epoch,
                writes: true,
                proxy: true,
                class: Class::Asynchronous,
                pipe: None,
            };
            self.forget(copy.to, bytes);
            if let Some(mbarrier) = self.mbarriers.get_mut(&place) {
                mbarrier.message.see_chains(&copy.start, self.program.threads);
            }
            self.touch_shared((copy.to, bytes), &copy.start, &access);
        }
    }

    /// Ends the phase that has waited for its copies for the longest time.
    fn complete_oldest(&mut self) -> bool {
        let waiting = self.mbarriers.iter().filter(|(_, mbarrier)| mbarrier.awaits_copies());
        let oldest = waiting.min_by_key(|(_, mbarrier)| mbarrier.since).map(|(place, _)| *place);
        oldest.map(|place| self.complete(place)).is_some()
    }

    /// What is still in flight writes.
    fn flush(&mut self) {
        let places: Vec<u64> = self.mbarriers.keys().copied().collect();
        places.into_iter().for_each(|place| self.write_copies(place));
    }

    /// What a store in bulk reads: what has been written from there on, up to where another one begins.
    fn store_extent(&self, place: u64) -> u64 {
        let end = self.extents.end(place);
        let mut cell = place / 16;
        while cell * 16 < end && self.shared.is_written(cell as usize) {
            cell += 1;
        }
        (cell * 16).saturating_sub(place).max(16)
    }
}

fn touch(shadow: &mut Shadow, (place, bytes): (u64, u64), clock: &Clock, access: &Access, races: &mut Races) {
    let end = (place + bytes).min(SHARED);
    let mut cell = place / 16;
    while cell * 16 < end {
        let low = place.saturating_sub(cell * 16).min(16);
        let high = (end - cell * 16).min(16);
        let mask = ((1u32 << high) - (1u32 << low)) as u16;
        shadow.touch(cell as usize, mask, clock, access, races);
        cell += 1;
    }
}

pub fn each(lanes: u32) -> impl Iterator<Item = usize> {
    (0..LANES).filter(move |lane| lanes >> lane & 1 == 1)
}

/// Instructions that all lanes of a warp do together.
fn is_collective(op: &Op) -> bool {
    matches!(
        op,
        Op::WarpBarrier
            | Op::Rows { .. }
            | Op::Wgmma(_)
            | Op::WgmmaFence
            | Op::WgmmaCommit
            | Op::WgmmaWait(_)
            | Op::Allocate { .. }
            | Op::Deallocate { .. }
            | Op::TensorLoad { .. }
            | Op::TensorStore { .. }
            | Op::TensorLoadWait
            | Op::TensorStoreWait
            | Op::Elect { .. }
            | Op::Shuffle { .. }
    )
}

fn shuffled(mode: Shuffle, lane: usize, b: u64, c: u64) -> (usize, bool) {
    let (b, c) = (b as usize & 31, c as usize);
    let (clamp, segments) = (c & 31, c >> 8 & 31);
    let low = lane & segments;
    let high = low | clamp & !segments;
    match mode {
        Shuffle::Index => (low | b & !segments, (low | b & !segments) <= high),
        Shuffle::Butterfly => (lane ^ b, lane ^ b <= high),
        Shuffle::Up => (lane.wrapping_sub(b) & 31, lane >= b + high.min(lane) && lane >= b),
        Shuffle::Down => ((lane + b) & 31, lane + b <= high),
    }
}

impl Extents {
    /// Where something else begins.
    fn end(&self, place: u64) -> u64 {
        let next = self.starts.range(place + 1..).next().copied().unwrap_or(SHARED);
        next.min(place + 65536)
    }

    /// How long copies are that are so long together.
    fn sizes(&mut self, copies: &[Copy], expected: u64) -> Vec<u64> {
        let known: Option<Vec<u64>> =
            copies.iter().map(|copy| copy.bytes.or_else(|| self.bytes.get(&copy.line).copied())).collect();
        if let Some(known) = known {
            return known;
        }
        let count = copies.len() as u64;
        if expected == 0 || count == 0 {
            return vec![16; copies.len()];
        }
        let bounds: Vec<u64> = copies.iter().map(|copy| self.end(copy.to) - copy.to).collect();
        let equal = expected / count;
        let sizes = if bounds.iter().sum::<u64>() == expected {
            bounds
        } else if bounds.iter().all(|bound| *bound >= equal) {
            vec![equal; copies.len()]
        } else {
            let capped: u64 = bounds.iter().filter(|bound| **bound < equal).sum();
            let rest = bounds.iter().filter(|bound| **bound >= equal).count().max(1) as u64;
            let share = expected.saturating_sub(capped) / rest;
            bounds.iter().map(|bound| if *bound < equal { *bound } else { share.min(*bound) }).collect()
        };
        self.bytes.extend(copies.iter().zip(&sizes).map(|(copy, bytes)| (copy.line, *bytes)));
        sizes
    }

    /// Keeps where copies begin, and forgets how long they seemed.
    pub fn settle(&mut self) {
        self.bytes.clear();
    }
}

/// So many ones in the low bits, and at most 64.
fn low(bits: u32) -> u64 {
    arithmetic::mask(bits.min(64)) as u64
}
