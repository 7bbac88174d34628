//! The grid: its CTAs, whose turn it is, and what happens when nobody can go on.

use std::ops::ControlFlow;

use ptx_isa::{Dim3, Scope};
use rustc_hash::FxHashMap;

use crate::{
    barriers::Barriers,
    clock::{Agent, Clock, INDEX_BITS, Meeting, Past, cta_of, index_of},
    code::{Op, Pc, Program},
    earlier::{Earlier, Grid},
    fault::{Faults, Who, site},
    history::History,
    in_flight::{Async, InFlight, Mbarrier},
    launch::{Launch, Options, Progress, Schedule},
    learned::Learned,
    memory::Global,
    random::Random,
    report::{AccessType, Detail, Fault, FaultKind, Missing, Race, Remedy, Report, Site},
    shadow::{Races, Record, STEP_BITS, Shadow},
    sync::{FenceSc, Locations, Pending},
    warp::{Group, Lanes, Thread, Wait, Warp, each},
};

/// A CTA that runs.
pub struct Cta {
    /// Its number in the grid, clusters one behind the other.
    pub index: u32,
    /// Its place in the grid.
    pub id: Dim3,
    /// Its rank in its cluster.
    pub rank: u32,
    /// How many threads it has.
    pub threads: u32,
    pub warps: Vec<Warp>,
    /// Shared memory, which bytes of it nobody has written, and its accesses.
    pub shared: Vec<u8>,
    pub unwritten: Vec<bool>,
    pub shadow: Shadow,
    /// What threads synchronize through in it.
    pub locations: Locations,
    /// By thread.
    pub order: Vec<Thread>,
    pub barriers: Barriers,
    pub ended: u32,
    /// Asynchronous operations, and the memory of the tensor cores.
    pub asynchronous: Async,
}

impl Cta {
    /// The event that a group of lanes waits for, and where. A loop that tries to wait for an mbarrier waits for it.
    fn waits(&self, warp: &Warp, group: &Group) -> (Wait, Pc) {
        let thread = warp.first + group.lanes.trailing_zeros();
        match self.asynchronous.tried.get(&thread) {
            Some(pc) if group.wait == Wait::Ready => (Wait::Mbarrier, *pc),
            _ => (group.wait, group.pc),
        }
    }
}

/// Whether a wait is one for arrivals.
fn arrives(wait: Wait) -> bool {
    matches!(wait, Wait::Mbarrier | Wait::Barrier(_) | Wait::Cluster)
}

/// What all CTAs of a cluster share.
#[derive(Default)]
pub struct Cluster {
    /// Threads that have arrived in this phase, and what they had seen.
    pub arrived: u32,
    pub past: crate::clock::Meeting,
    /// How often the barrier has opened, and what each time was seen.
    pub phase: u32,
    pub done: Vec<crate::clock::Past>,
    /// Threads that have ended.
    pub ended: u32,
}

/// What is launched.
pub struct Kernel<'r> {
    /// By kernel, its own among them.
    pub programs: &'r FxHashMap<String, Program>,
    pub program: &'r Program,
    pub launch: &'r Launch,
    pub parameters: Vec<u8>,
}

/// A grid that runs.
pub struct Machine<'r> {
    programs: &'r FxHashMap<String, Program>,
    pub program: &'r Program,
    pub launch: &'r Launch,
    pub options: &'r Options,
    pub global: &'r mut Global,
    pub parameters: Vec<u8>,
    /// The grids that it depends on, the grid itself, and what its threads have seen of those.
    earlier: Vec<Grid>,
    pub grid: Grid,
    seen: Meeting,
    /// What comes before the end of `griddepcontrol.wait`.
    pub end: Past,
    pub ctas: Vec<Option<Box<Cta>>>,
    pub clusters: FxHashMap<u32, Cluster>,
    /// The CTAs that have begun and not ended.
    pub running: Vec<u32>,
    /// How many have begun, and how many there are, those of earlier grids among them.
    pub begun: u32,
    pub total: u32,
    /// How many are in a cluster.
    pub cluster: u32,
    pub locations: Locations,
    pub history: History,
    pub fence_sc: FenceSc,
    pub findings: Faults,
    pub printed: String,
    pub random: Random,
    /// The additional work of strong accesses and fences, in instructions of warps: each compares the clocks of all threads.
    pub waits: u64,
    /// Instructions of warps, and of threads.
    pub time: u64,
    pub steps: u64,
    /// It grows with everything that others can notice.
    pub version: u64,
    /// When it last grew.
    pub changed: u64,
    pub in_flight: InFlight,
    pub races: Races,
    /// By agent that is no thread, the thread that started its operations.
    pub owners: FxHashMap<Agent, u32>,
    /// The CTAs that `clusterlaunchcontrol` has taken.
    pub cancelled: u32,
    /// Memory that the kernel has allocated.
    pub heap: u32,
    /// Where a cooperative grid meets.
    pub workspace: u64,
    /// Whether only the first instructions count.
    pub is_trial: bool,
    /// What a trial tells of what the kernel expects.
    pub learned: Learned,
    /// Whether loads may return older values.
    pub is_stale: bool,
    priorities: FxHashMap<(u32, u32), u64>,
    lowest: u64,
    turn: usize,
}

/// What would end the waiting where all bytes have come.
const LACKS_ARRIVALS: &str = "an arrival: no mbarrier waits for bytes alone";
/// The same, where they wait at the barrier of the cluster.
const LACKS_CLUSTER: &str = "an arrival at the barrier of the cluster by all its threads";
/// How many instructions a warp executes at once in an ordinary turn.
const TURN: u32 = 64;
/// How many instructions of warps pass until it is told how far the run has come.
const TOLD: u64 = 1 << 16;
/// How many instructions of warps may pass, for each running one, in which nothing happens.
const QUIET: u64 = 4096;
/// How many threads a launch may have in which loads return older values.
const MOST_STALE: u64 = 2048;
/// How many warps run at the same time, if they do not wait for others.
const RESIDENT: usize = 512;

/// What came of a run.
pub struct Ran {
    pub report: Report,
    /// How many instructions warps executed.
    pub time: u64,
    /// What a trial tells.
    pub learned: Learned,
    /// What is left of the grid.
    pub earlier: Earlier,
}

impl<'r> Machine<'r> {
    pub fn new(of: Kernel<'r>, options: &'r Options, global: &'r mut Global, earlier: Earlier) -> Self {
        let Kernel { programs, program, launch, parameters } = of;
        let grid = Grid { launch: launch.clone(), first: earlier.next(launch) };
        let (total, threads) = (grid.end(), earlier.threads().saturating_add(launch.threads()));
        let end = earlier.end();
        let Earlier { grids: earlier, mut locations, history, fence_sc, owners, .. } = earlier;
        locations.set_exact(Self::bound(threads) > 4);
        Self {
            programs,
            program,
            launch,
            options,
            global,
            parameters,
            earlier,
            seen: Meeting::default(),
            end,
            ctas: (0..total).map(|_| None).collect(),
            clusters: FxHashMap::default(),
            running: Vec::new(),
            begun: grid.first,
            grid,
            total,
            cluster: launch.size.cluster.iter().product(),
            locations,
            history,
            fence_sc,
            findings: Faults::default(),
            printed: String::new(),
            random: Random::new(options.seed.wrapping_mul(0x2545_f491_4f6c_dd1d)),
            waits: 0,
            time: 0,
            steps: 0,
            version: 0,
            changed: 0,
            in_flight: InFlight::default(),
            races: Races::new(),
            owners,
            cancelled: 0,
            heap: 0,
            workspace: 0,
            is_trial: false,
            is_stale: options.stale && options.races && threads <= MOST_STALE,
            learned: Learned::default(),
            priorities: FxHashMap::default(),
            lowest: 1 << 62,
            turn: 0,
        }
    }

    /// How many accesses a cell keeps, by the number of threads: of few threads, more than they have.
    pub fn bound(threads: u64) -> usize {
        if threads <= 96 { 256 } else { 4 }
    }

    /// The work so far, in instructions of warps that access nothing.
    pub fn work(&self) -> u64 {
        self.time + self.waits
    }

    /// Runs the grid to its end, or so many instructions of warps.
    pub fn run(mut self, most: u64, watch: &mut dyn FnMut(Progress) -> ControlFlow<()>) -> Ran {
        let (mut is_cut, mut told) = (false, 0);
        self.admit();
        while !self.findings.is_over && !is_cut {
            if self.work() - told >= TOLD {
                told = self.work();
                is_cut = watch(self.progress()).is_break();
            }
            is_cut |= self.work() >= most;
            if is_cut {
                break;
            }
            let Some((cta, warp, budget)) = self.choose() else {
                if self.in_flight.deliver_one(&mut |_| true).is_some_and(|op| self.complete(op)) || self.give_up_waits()
                {
                    continue;
                }
                if self.begun + self.cancelled < self.total {
                    self.admit();
                    continue;
                }
                break;
            };
            self.take_turn(cta, warp, budget);
            self.wake();
            if !self.in_flight.is_empty() && self.random.happens(64) {
                self.deliver();
            }
            if self.time - self.changed > QUIET * self.running.len() as u64 * 8 && self.is_cycling() {
                // They may wait for CTAs that have not begun.
                if self.begun + self.cancelled >= self.total {
                    break;
                }
                self.admit();
                self.change();
            }
        }
        if !self.findings.is_over && !is_cut {
            self.finish();
        }
        let work = self.work();
        if is_cut {
            self.findings.note(0, &format!("the run was cut after {} instructions of warps", self.time));
        }
        let report = Report {
            findings: self.findings.found,
            printed: self.printed,
            notes: self.findings.notes,
            steps: self.steps,
            time: self.time,
            work,
            repeated: self.findings.repeated,
        };
        let Self { earlier: mut grids, grid, seen, locations, history, fence_sc, owners, time, learned, .. } = self;
        grids.push(grid);
        let earlier = Earlier { grids, seen: seen.past(), locations, history, fence_sc, owners };
        Ran { report, time, learned, earlier }
    }

    fn progress(&self) -> Progress {
        let (first, running) = (self.grid.first, self.running.len() as u32);
        Progress { steps: self.steps, ended: self.begun - first - running, ctas: self.total - first }
    }

    fn deliver(&mut self) {
        let pick = self.random.next();
        if let Some(op) = self.in_flight.deliver_one(&mut |count: usize| pick.is_multiple_of(count as u64)) {
            self.complete(op);
        }
    }

    /// Lets CTAs begin, whole clusters at once.
    fn admit(&mut self) {
        let warps = self.warps_of_cta() as usize;
        let more = if self.is_trial { 1 } else { (RESIDENT / warps).clamp(1, 32) };
        let goal = self.running.len() + more;
        while self.running.len() < goal && self.begun + self.cancelled < self.total {
            for _ in 0..self.cluster {
                if self.begun + self.cancelled < self.total {
                    self.begin(self.begun);
                }
            }
        }
        if self.begun + self.cancelled >= self.total {
            self.cancelled = self.total - self.begun;
        }
    }

    /// The place of a CTA.
    pub fn cta_place(&self, index: u32) -> Dim3 {
        self.grid.place(index)
    }

    fn begin(&mut self, index: u32) {
        let threads: u32 = self.launch.size.block.iter().product();
        let entry = &self.program.functions[0];
        let are_apart = self.options.schedule == Schedule::Threads;
        let warp = |first: u32| {
            let lanes = u32::MAX >> (32 - (threads - first).min(32));
            Warp::new(first, lanes, entry.entry, entry.registers, entry.local, are_apart)
        };
        // Whole words, for updates of 8 and 16 bits in the last one.
        let shared = (self.program.shared + u64::from(self.launch.size.shared)).next_multiple_of(4) as usize;
        let agent = |thread: u32| index << INDEX_BITS | thread;
        let thread = |thread| Thread { clock: Clock::new(agent(thread)), pending: Pending::default(), cluster: None };
        let cta = Cta {
            index,
            id: self.cta_place(index),
            rank: index % self.cluster,
            threads,
            warps: (0..threads).step_by(32).map(warp).collect(),
            shared: vec![0; shared],
            unwritten: vec![true; shared],
            shadow: Shadow::new(Self::bound(self.launch.threads())),
            locations: Locations::new(Self::bound(self.launch.threads()) > 4),
            order: (0..threads).map(thread).collect(),
            barriers: Barriers::default(),
            ended: 0,
            asynchronous: Async::new(threads, self.program.multiplies),
        };
        for warp in 0..cta.warps.len() as u32 {
            let priority = self.random.next() | 1 << 63;
            if self.options.schedule == Schedule::Random {
                self.priorities.insert((index, warp), priority);
            }
        }
        self.ctas[index as usize] = Some(Box::new(cta));
        self.running.push(index);
        self.begun += 1;
    }

    fn is_ready(&self, cta: u32, warp: u32) -> bool {
        let cta = self.ctas[cta as usize].as_ref();
        cta.and_then(|cta| cta.warps.get(warp as usize)).is_some_and(Warp::is_ready)
    }

    fn warps(&self) -> impl Iterator<Item = (u32, u32)> {
        self.running.iter().flat_map(|cta| {
            let warps = self.ctas[*cta as usize].as_ref().map_or(0, |cta| cta.warps.len());
            (0..warps as u32).map(|warp| (*cta, warp))
        })
    }

    /// The warp whose turn it is, and how many instructions it may execute.
    fn choose(&mut self) -> Option<(u32, u32, u32)> {
        match self.options.schedule {
            Schedule::RoundRobin => self.next_in_order(TURN),
            Schedule::Threads => {
                let count = self.running.len() as u64 * u64::from(self.warps_of_cta());
                self.turn = self.random.below(count.max(1)) as usize;
                // In a large grid, a turn is longer than it takes to find whose it is.
                let budget = 1 + self.random.below(4.max(count / 8)) as u32;
                self.next_in_order(budget)
            }
            Schedule::CtaAhead | Schedule::WarpAhead => {
                // The one that is ahead gives way for a while when nothing happens, since it may wait for others.
                if self.time - self.changed > QUIET || self.random.happens(2) {
                    return self.next_in_order(TURN);
                }
                let first = (self.options.seed / 5) as usize;
                let ready = |(cta, warp): &(u32, u32)| self.is_ready(*cta, *warp);
                let count = self.running.len().max(1);
                let ahead = match self.options.schedule {
                    Schedule::CtaAhead => {
                        let own = self.running.get(first % count).copied();
                        let mut all: Vec<(u32, u32)> =
                            self.warps().filter(|(cta, _)| Some(*cta) == own).filter(|warp| ready(warp)).collect();
                        let turn = self.turn;
                        if !all.is_empty() {
                            let length = all.len();
                            all.swap(0, turn % length);
                        }
                        all.first().copied()
                    }
                    _ => self.warps().skip(first % 8).find(|warp| ready(warp)),
                };
                self.turn += 1;
                match ahead {
                    Some((cta, warp)) => Some((cta, warp, 4 * TURN)),
                    None => self.next_in_order(TURN / 8),
                }
            }
            Schedule::Random => {
                let priority = |warp: &(u32, u32)| self.priorities.get(warp).copied().unwrap_or(0);
                let all = self.running.len() * self.warps_of_cta() as usize;
                // Of a large grid, some are looked at.
                let skip = if all > 64 { self.random.below(all as u64 - 32) as usize } else { 0 };
                let ready = |(cta, warp): &(u32, u32)| self.is_ready(*cta, *warp);
                let some = self.warps().skip(skip).take(64).filter(ready).max_by_key(priority);
                let best = some.or_else(|| self.warps().filter(ready).max_by_key(priority))?;
                let changes = self.random.happens(40);
                let spins = self.time - self.changed > 256;
                if changes || spins {
                    // Below all others, so that each comes to its turn.
                    self.lowest -= 1;
                    self.priorities.insert(best, self.lowest);
                }
                Some((best.0, best.1, 1 + self.random.below(u64::from(TURN)) as u32))
            }
        }
    }

    fn warps_of_cta(&self) -> u32 {
        self.launch.size.block.iter().product::<u32>().div_ceil(32).max(1)
    }

    fn next_in_order(&mut self, budget: u32) -> Option<(u32, u32, u32)> {
        let warps = self.warps_of_cta() as usize;
        let count = self.running.len() * warps;
        for _ in 0..count {
            let index = self.turn % count;
            self.turn += 1;
            let (cta, warp) = (self.running[index / warps], (index % warps) as u32);
            if self.is_ready(cta, warp) {
                return Some((cta, warp, budget));
            }
        }
        None
    }

    fn take_turn(&mut self, index: u32, warp: u32, budget: u32) {
        let Some(mut cta) = self.ctas[index as usize].take() else { return };
        self.run_warp(&mut cta, warp as usize, budget);
        let is_over = cta.ended == cta.threads;
        if is_over {
            self.end_of_cta(&mut cta);
            if !self.earlier.is_empty() {
                cta.order.iter().for_each(|thread| self.seen.join(&thread.clock));
            }
            self.running.retain(|other| *other != index);
            self.admit_behind();
        }
        // Others of the cluster may still use its shared memory.
        if !is_over || self.cluster > 1 {
            self.ctas[index as usize] = Some(cta);
        }
        if is_over && self.cluster > 1 {
            let first = index - index % self.cluster;
            let all = first..first + self.cluster;
            if all.clone().all(|other| !self.running.contains(&other)) {
                all.for_each(|other| self.ctas[other as usize] = None);
            }
        }
    }

    fn admit_behind(&mut self) {
        let warps = self.warps_of_cta() as usize;
        if self.running.len() * warps < RESIDENT / 2 && self.running.len() < 32 {
            self.admit();
        }
    }

    /// Something happened that others can notice.
    pub fn change(&mut self) {
        self.version += 1;
        self.changed = self.time;
    }

    /// Whether every warp that runs has been in the same state twice, with nothing else happening.
    fn is_cycling(&mut self) -> bool {
        let running = self.running.clone();
        let mut all = true;
        for index in running {
            let Some(cta) = self.ctas[index as usize].as_mut() else { continue };
            for warp in &mut cta.warps {
                if !warp.is_ready() {
                    continue;
                }
                all &= warp.is_cycling && warp.version == self.version;
            }
        }
        all
    }

    /// What is told where everything waits, or does the same for ever.
    fn finish(&mut self) {
        let mut told = 0;
        let missing = self.missing();
        for index in self.running.clone() {
            let Some(cta) = self.ctas[index as usize].take() else { continue };
            for warp in &cta.warps {
                for group in &warp.groups {
                    if told < 64 {
                        let thread = warp.first + group.lanes.trailing_zeros();
                        self.hang(&cta, thread, cta.waits(warp, group), missing);
                        told += 1;
                    }
                }
            }
            self.ctas[index as usize] = Some(cta);
        }
        self.flush();
    }

    /// The events that are missing where everything waits at barriers or mbarriers; nothing where a thread goes round in another loop.
    fn missing(&self) -> Option<Missing> {
        let running = self.running.iter().filter_map(|cta| self.ctas[*cta as usize].as_deref());
        let mut groups = running.flat_map(|cta| {
            cta.warps.iter().flat_map(move |warp| warp.groups.iter().map(move |group| cta.waits(warp, group).0))
        });
        let lacks_bytes = |barrier: &Mbarrier| barrier.pending == 0 && barrier.bytes != 0;
        let bytes = self.in_flight.barriers.values().any(lacks_bytes);
        groups.all(arrives).then_some(if bytes { Missing::Bytes } else { Missing::Arrivals })
    }

    fn hang(&mut self, cta: &Cta, thread: u32, (wait, pc): (Wait, Pc), missing: Option<Missing>) {
        // A thread that waits at a barrier of the CTA stands behind it.
        let at = if matches!(wait, Wait::Barrier(_)) { pc.saturating_sub(1) } else { pc };
        let why = match wait {
            Wait::Ready => "the thread goes round in a loop that nothing can end".to_owned(),
            Wait::Barrier(id) => {
                let all =
                    cta.barriers.0.get(&id).and_then(|barrier| barrier.threads).unwrap_or(cta.threads - cta.ended);
                let arrived = cta.barriers.arrived(id).min(all);
                format!("the thread waits at barrier {id}, at which {arrived} of {all} threads have arrived")
            }
            Wait::Cluster => "the thread waits at the barrier of the cluster, where others do not arrive".into(),
            Wait::Gather(mask, _) => format!("the thread waits for lanes of {mask:#x} that do not come"),
            Wait::Mbarrier => "the thread waits for a phase of an mbarrier that does not end".into(),
            Wait::Completion => "the thread waits for asynchronous operations that do not complete".into(),
        };
        let help = match (wait, missing) {
            (Wait::Barrier(_), _) => Remedy::AllArrive,
            (Wait::Ready, _) => {
                "a write of the place that the loop reads, by a thread that does not wait for this one".into()
            }
            (Wait::Cluster, _) => LACKS_CLUSTER.into(),
            (Wait::Gather(..), _) => {
                "all lanes of the mask at the instruction, or a mask of the lanes that come to it".into()
            }
            (Wait::Mbarrier, Some(Missing::Arrivals)) => LACKS_ARRIVALS.into(),
            (Wait::Mbarrier, Some(Missing::Bytes)) => {
                "`.expect_tx` of as many bytes as the copies of the phase bring".into()
            }
            (Wait::Mbarrier, None) => "as many arrivals and bytes in the phase as the mbarrier expects".into(),
            (Wait::Completion, _) => {
                "`tcgen05.dealloc` of the columns that are taken, or all warps of the warpgroup".into()
            }
        };
        let detail = missing.filter(|_| arrives(wait)).map_or(Detail::None, Detail::Missing);
        self.find_detailed(cta, FaultKind::Hang, thread, at, None, None, why, Some(help), detail);
    }

    /// A finding at an instruction of a thread of a CTA.
    #[expect(clippy::too_many_arguments, reason = "these are a finding")]
    pub fn find(
        &mut self,
        cta: &Cta,
        kind: FaultKind,
        thread: u32,
        pc: Pc,
        other: Option<(Pc, Who)>,
        place: Option<String>,
        message: String,
        help: Option<Remedy>,
    ) {
        self.find_detailed(cta, kind, thread, pc, other, place, message, help, Detail::None);
    }

    /// A finding with the facts that tell it from others of its kind.
    #[expect(clippy::too_many_arguments, reason = "these are a finding")]
    pub fn find_detailed(
        &mut self,
        cta: &Cta,
        kind: FaultKind,
        thread: u32,
        pc: Pc,
        other: Option<(Pc, Who)>,
        place: Option<String>,
        message: String,
        help: Option<Remedy>,
        detail: Detail,
    ) {
        let second = other.map_or(pc, |(pc, _)| pc);
        if !self.findings.wants(kind, pc, second, self.options.findings) {
            return;
        }
        let who = Who { cta: cta.index, thread };
        let finding = Fault {
            kind,
            site: site(self.program, pc, who, self.launch.size.block, cta.id),
            other: other.map(|(pc, who)| site(self.program, pc, who, self.launch.size.block, self.cta_place(who.cta))),
            place,
            message,
            help,
            detail,
        };
        self.findings.push(finding);
    }

    /// Whose an access is.
    pub fn who(&self, agent: Agent) -> Who {
        let thread = index_of(agent) as u32;
        let thread = self.owners.get(&agent).copied().unwrap_or(thread);
        Who { cta: cta_of(agent), thread }
    }

    /// Whether another race of these two places is wanted.
    pub fn wants_race(&mut self, record: Record, earlier: Record, same_value: bool) -> bool {
        let kind = if same_value { FaultKind::SameValue } else { FaultKind::Race };
        // Steps of other grids are others.
        let grid = self.earlier_grid(earlier.agent).map_or(0, |(number, _)| number as u32 + 1);
        let other = earlier.info.step() | grid << STEP_BITS;
        self.findings.wants(kind, record.info.step(), other, self.options.findings)
    }

    /// A race of an access of a thread with an earlier one, which may lack a fence alone.
    #[expect(clippy::too_many_arguments, reason = "these are a race")]
    pub fn race(
        &mut self,
        cta: &Cta,
        thread: u32,
        record: Record,
        earlier: Record,
        place: String,
        same_value: bool,
        lacks_fence: bool,
    ) {
        let kind = if same_value { FaultKind::SameValue } else { FaultKind::Race };
        let pc = record.info.step();
        let does = |record: Record| match (record.info.is_atomic(), record.info.writes(), record.info.is_async()) {
            (true, ..) => AccessType::Atomic,
            (_, true, false) => AccessType::Write,
            (_, false, false) => AccessType::Read,
            (_, true, true) => AccessType::AsynchronousWrite,
            (_, false, true) => AccessType::AsynchronousRead,
        };
        let accesses = [earlier, record].map(does);
        let grid = self.earlier_grid(earlier.agent).map(|(_, grid)| grid);
        let by = grid.map(|grid| format!(" by the grid of '{}' in front", grid.launch.kernel)).unwrap_or_default();
        let message = match same_value {
            true if grid.is_none() => format!("two writes of the same value to `{place}` have no order"),
            true => format!("a write{by} and a write of the same value to `{place}` have no order"),
            false => format!("{}{by} and {} of `{place}` have no order", accesses[0], accesses[1]),
        };
        let is_read_only =
            |step: Pc| matches!(&self.program.steps[step as usize].op, Op::Access(access) if access.is_read_only);
        let help = match grid {
            None if is_read_only(pc) => Remedy::PlainLoad,
            None => self.would_order(record, earlier),
            Some(_) if self.would_wait(earlier.agent) => Remedy::GridWait,
            Some(_) => Remedy::GridWaits,
        };
        let detail = Detail::Race(Race { accesses, by_earlier_grid: grid.is_some(), lacks_fence });
        let other = self.site_of(earlier);
        let finding = Fault {
            kind,
            site: site(self.program, pc, Who { cta: cta.index, thread }, self.launch.size.block, cta.id),
            other,
            place: Some(place),
            message,
            help: Some(help),
            detail,
        };
        self.findings.push(finding);
    }

    /// The grid in front that an agent is of.
    fn earlier_grid(&self, agent: Agent) -> Option<(usize, &Grid)> {
        let cta = cta_of(agent);
        let number = self.earlier.iter().position(|grid| cta < grid.end()).filter(|_| cta < self.grid.first)?;
        Some((number, &self.earlier[number]))
    }

    /// Where an access is, which may be one of a grid in front.
    fn site_of(&self, access: Record) -> Option<Site> {
        let grid = self.earlier_grid(access.agent).map_or(&self.grid, |(_, grid)| grid);
        let (who, pc) = (self.who(access.agent), access.info.step());
        let program = self.programs.get(&grid.launch.kernel)?;
        Some(site(program, pc, who, grid.launch.size.block, grid.place(who.cta)))
    }

    /// Whether `griddepcontrol.wait` would put all that an agent has done in front.
    fn would_wait(&self, agent: Agent) -> bool {
        Clock::of(self.end.clone()).has_seen(agent, 1)
    }

    /// What would have ordered two accesses.
    fn would_order(&self, record: Record, earlier: Record) -> Remedy {
        let (a, b) = (cta_of(record.agent), cta_of(earlier.agent));
        let scope = match () {
            () if a == b => Scope::Cta,
            () if a / self.cluster == b / self.cluster => Scope::Cluster,
            () => Scope::Gpu,
        };
        let (one, two) = (record.info, earlier.info);
        if one.is_async() && !two.is_async() && !two.writes() {
            return Remedy::ProxyFenceOfReader;
        }
        if one.is_async() && !two.is_async() {
            return Remedy::ProxyFence;
        }
        if two.is_async() {
            return "a wait for the completion of the asynchronous operation, and a barrier if another thread waits"
                .into();
        }
        if let (Some(first), Some(second)) = (one.strong(), two.strong()) {
            let found = first.min(second);
            if found < scope {
                return Remedy::Wider { needed: scope, found };
            }
            return "the same size of both accesses: strong operations that overlap in part are not ordered".into();
        }
        match (one.strong(), two.strong()) {
            (None, None) if scope == Scope::Gpu => Remedy::ReleaseAcquire(scope),
            (None, None) => Remedy::Barrier(scope),
            _ => Remedy::Strong(scope),
        }
    }

    /// A symbol or parameter, and an offset.
    pub fn name_of_shared(&self, at: u64) -> String {
        let found =
            self.program.shared_names.iter().rev().find(|(start, bytes, _)| at >= *start && at - start < *bytes);
        match found {
            Some((start, _, name)) => offset(name, at - start),
            None => offset("shared", at),
        }
    }

    /// The same in global memory; the address where there is none.
    pub fn name_of_global(&self, piece: usize, at: u64) -> String {
        match self.global.pieces.get(piece) {
            Some(piece) => offset(&piece.name, at),
            None => format!("address {:#x}", ((piece as u64 + 1) << 32).wrapping_add(at)),
        }
    }

    /// The step whose turn it is, for its line.
    pub fn line(&self, pc: Pc) -> u32 {
        self.program.steps.get(pc as usize).map_or(0, |step| step.at.line)
    }

    /// The threads of lanes of a warp.
    pub fn threads(warp: &Warp, lanes: Lanes) -> impl Iterator<Item = (usize, u32)> {
        let first = warp.first;
        each(lanes).map(move |lane| (lane, first + lane as u32))
    }
}

fn offset(name: &str, at: u64) -> String {
    if at == 0 { name.to_owned() } else { format!("{name}+{at}") }
}
