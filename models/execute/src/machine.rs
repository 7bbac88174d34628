//! The machine that executes a grid: its CTAs, the choice of the next warp, and the end when no thread can continue.

use std::ops::ControlFlow;

use ptx_isa::{Dim3, Scope};
use rustc_hash::FxHashMap;

use crate::{
    barriers::Barriers,
    clock::{Agent, Clock, INDEX_BITS, JoinedPasts, Past, cta_of, index_of},
    code::{Op, Pc, Program},
    earlier::{Earlier, Grid},
    fault::{Faults, ThreadId, site},
    flow::{Flow, joins},
    history::History,
    in_flight::{Async, InFlight, Mbarrier},
    launch::{Launch, ModuleId, Progress, RunOptions, Schedule},
    learned::Learned,
    memory::{Global, offset},
    random::Random,
    registers::Changed,
    report::{AccessType, Detail, Fault, FaultKind, Missing, Race, Remedy, Report, Site},
    shadow::{Conflicts, Record, STEP_BITS, Shadow},
    sync::{FenceSc, Locations, Pending},
    warp::{Group, Lanes, Thread, Wait, Warp, each},
    watch::Watch,
};

/// A CTA that has begun.
pub struct Cta {
    /// Its number. The CTAs of a cluster have consecutive numbers.
    pub index: u32,
    /// Its coordinates in the grid.
    pub id: Dim3,
    /// Its rank in its cluster.
    pub rank: u32,
    /// The number of its threads.
    pub threads: u32,
    pub warps: Vec<Warp>,
    /// Shared memory, whether each of its bytes is unwritten, and its accesses.
    pub shared: Vec<u8>,
    pub unwritten: Vec<bool>,
    pub shadow: Shadow,
    /// The places in shared memory through which threads synchronize.
    pub locations: Locations,
    /// By thread: its clock and its pending fences and reads.
    pub order: Vec<Thread>,
    pub barriers: Barriers,
    pub ended: u32,
    /// By warp, its `setmaxnreg`.
    pub changes: Vec<Vec<Changed>>,
    /// Asynchronous operations, and the memory of the tensor cores.
    pub asynchronous: Async,
    /// By earlier grid, whether it was complete each time that a thread let dependent grids start.
    pub triggered: Option<Vec<bool>>,
}

impl Cta {
    /// The event that a group of lanes waits for, and the instruction that waits. A loop that tries to wait for an
    /// mbarrier waits for that mbarrier.
    fn waits(&self, warp: &Warp, group: &Group) -> (Wait, Pc) {
        let thread = warp.first + group.lanes.trailing_zeros();
        match self.asynchronous.tried.get(&thread) {
            Some(pc) if group.wait == Wait::Ready => (Wait::Mbarrier, *pc),
            _ => (group.wait, group.pc),
        }
    }
}

/// Whether a wait ends with arrivals.
fn arrives(wait: Wait) -> bool {
    matches!(wait, Wait::Mbarrier | Wait::Barrier(_) | Wait::Cluster)
}

/// State that the CTAs of a cluster share.
#[derive(Default)]
pub struct Cluster {
    /// The number of threads that have arrived in this phase, and the joined pasts of their clocks.
    pub arrived: u32,
    pub past: crate::clock::JoinedPasts,
    /// The number of completed phases of the barrier, and by phase, the past of the threads that arrived in it.
    pub phase: u32,
    pub done: Vec<crate::clock::Past>,
    /// The number of threads that have ended.
    pub ended: u32,
}

/// A kernel with its launch, ready to execute.
pub struct Kernel<'r> {
    /// All programs by kernel, including this kernel's.
    pub programs: &'r FxHashMap<(ModuleId, String), Program>,
    pub program: &'r Program,
    /// The flow of values in this kernel.
    pub flow: &'r Flow,
    pub launch: &'r Launch,
    pub parameters: Vec<u8>,
}

/// A grid that executes.
pub struct Machine<'r> {
    programs: &'r FxHashMap<(ModuleId, String), Program>,
    pub program: &'r Program,
    pub flow: &'r Flow,
    /// If lanes execute in lock step: by step, the first step that all paths from it pass.
    pub joins: Option<Vec<Option<Pc>>>,
    pub launch: &'r Launch,
    pub options: &'r RunOptions,
    pub global: &'r mut Global,
    pub parameters: Vec<u8>,
    /// The grids that this grid depends on, the grid itself, and the joined pasts of its ended threads if it depends on
    /// grids.
    earlier: Vec<Grid>,
    pub grid: Grid,
    seen: JoinedPasts,
    /// By earlier grid, whether it is complete before the next dependent grid starts.
    complete: Vec<bool>,
    /// The past of each thread at its start.
    start: Past,
    /// The past that `griddepcontrol.wait` acquires.
    pub end: Past,
    pub ctas: Vec<Option<Box<Cta>>>,
    pub clusters: FxHashMap<u32, Cluster>,
    /// The CTAs that have begun and have not ended.
    pub running: Vec<u32>,
    /// The number of CTAs that have begun, and the number of all CTAs. Both include the CTAs of earlier grids.
    pub begun: u32,
    pub total: u32,
    /// The number of CTAs in a cluster.
    pub cluster: u32,
    pub locations: Locations,
    pub history: History,
    pub fence_sc: FenceSc,
    pub findings: Faults,
    pub printed: String,
    pub random: Random,
    /// The additional work of strong accesses and fences, in warp instructions: each compares the clocks of all
    /// threads.
    pub waits: u64,
    /// The number of warp instructions, and of thread instructions.
    pub time: u64,
    pub steps: u64,
    /// A counter of the changes that other threads can notice.
    pub version: u64,
    /// The time of the last change of `version`.
    pub changed: u64,
    pub in_flight: InFlight,
    pub conflicts: Conflicts,
    /// The conditions under which the run speaks for every schedule.
    pub watch: Watch,
    /// By agent that is a chain of asynchronous operations, the thread that started the operations.
    pub owners: FxHashMap<Agent, u32>,
    /// The CTAs that `clusterlaunchcontrol` has taken.
    pub cancelled: u32,
    /// The number of allocations that the kernel has made.
    pub allocation_count: u32,
    /// The address of the workspace in which a cooperative grid synchronizes.
    pub workspace: u64,
    /// Whether this is a trial run, which executes only the first instructions.
    pub is_trial: bool,
    /// The facts about the kernel's expectations that a trial run finds.
    pub learned: Learned,
    /// Whether loads may return older values.
    pub is_stale: bool,
    priorities: FxHashMap<(u32, u32), u64>,
    lowest: u64,
    turn: usize,
}

/// The remedy of a hang at mbarriers whose bytes have all arrived.
const LACKS_ARRIVALS: &str = "add an arrival: no mbarrier waits for bytes alone";
/// The remedy of a hang at the barrier of the cluster.
const LACKS_CLUSTER: &str = "let all threads of the cluster arrive at its barrier";
/// The number of instructions that a warp executes in an ordinary turn.
const TURN: u32 = 64;
/// The number of warp instructions between two reports of the progress.
const TOLD: u64 = 1 << 16;
/// The number of warp instructions, for each running warp, that may pass without a change.
const QUIET: u64 = 4096;
/// The maximum number of threads of a launch in which loads may return older values.
const MOST_STALE: u64 = 2048;
/// The number of warps that are resident at the same time, if they do not wait for other warps.
const RESIDENT: usize = 512;

/// The result of a run.
pub struct Ran {
    pub report: Report,
    /// The number of warp instructions.
    pub time: u64,
    /// The facts that a trial run finds.
    pub learned: Learned,
    /// The state of the grid that a later dependent launch needs.
    pub earlier: Earlier,
}

impl<'r> Machine<'r> {
    pub fn new(of: Kernel<'r>, options: &'r RunOptions, global: &'r mut Global, earlier: Earlier) -> Self {
        let Kernel { programs, program, flow, launch, parameters } = of;
        let grid = Grid { launch: launch.clone(), first: earlier.next(launch) };
        let (total, threads) = (grid.end(), earlier.threads().saturating_add(launch.threads()));
        let (start, end) = (earlier.start(), earlier.end());
        let Earlier { grids: earlier, complete, mut locations, history, fence_sc, owners, .. } = earlier;
        locations.set_exact(Self::bound(threads) > 4);
        Self {
            programs,
            program,
            flow,
            joins: program.is_lock_step.then(|| joins(&program.steps, &program.functions)),
            launch,
            options,
            global,
            parameters,
            earlier,
            seen: JoinedPasts::default(),
            complete,
            start,
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
            conflicts: Conflicts { counts: flow.counts.clone(), ..Conflicts::default() },
            watch: Watch::default(),
            owners,
            cancelled: 0,
            allocation_count: 0,
            workspace: 0,
            is_trial: false,
            is_stale: options.stale && options.races && threads <= MOST_STALE,
            learned: Learned::default(),
            priorities: FxHashMap::default(),
            lowest: 1 << 62,
            turn: 0,
        }
    }

    /// The maximum number of accesses in a list of a cell. In a small launch it exceeds the number of threads.
    pub fn bound(threads: u64) -> usize {
        if threads <= 96 { 256 } else { 4 }
    }

    /// The work so far, in warp instructions that access no memory.
    pub fn work(&self) -> u64 {
        self.time + self.waits
    }

    /// Runs the grid to its end, or until its work reaches `most` warp instructions.
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
            // In lock step, a warp that repeats its state never leaves it.
            let quiet = if self.is_lock_step() { QUIET / 4 } else { QUIET * self.running.len() as u64 * 8 };
            if self.time - self.changed > quiet && self.is_cycling() {
                // The warps may wait for CTAs that have not begun.
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
        let schedules = self.schedules(is_cut);
        let executed = if self.options.coverage { self.learned.instructions(self.program) } else { Vec::new() };
        let footprint = self.global.footprint();
        let report = Report {
            findings: self.findings.found,
            printed: self.printed,
            notes: self.findings.notes,
            steps: self.steps,
            time: self.time,
            work,
            repeated: self.findings.repeated,
            executed,
            footprint,
            schedules,
        };
        let Self {
            earlier: mut grids,
            mut complete,
            grid,
            seen,
            locations,
            history,
            fence_sc,
            owners,
            time,
            learned,
            ..
        } = self;
        grids.push(grid);
        complete.push(false);
        let earlier = Earlier { grids, complete, seen: seen.past(), locations, history, fence_sc, owners };
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

    /// Lets CTAs begin, in whole clusters.
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

    /// The coordinates of a CTA in the grid.
    pub fn cta_place(&self, index: u32) -> Dim3 {
        self.grid.place(index)
    }

    fn begin(&mut self, index: u32) {
        let threads: u32 = self.launch.size.block.iter().product();
        let entry = &self.program.functions[0];
        let are_apart = self.options.schedule == Schedule::Threads && !self.is_lock_step();
        let warp = |first: u32| {
            let lanes = u32::MAX >> (32 - (threads - first).min(32));
            Warp::new(first, lanes, entry.entry, entry.registers, entry.local, are_apart)
        };
        // The size is rounded up to whole words, for updates of 8 and 16 bits in the last word.
        let shared = (self.program.shared + u64::from(self.launch.size.shared)).next_multiple_of(4) as usize;
        let agent = |thread: u32| index << INDEX_BITS | thread;
        let thread = |thread| {
            let mut clock = Clock::new(agent(thread));
            clock.acquire(&self.start);
            Thread { clock, pending: Pending::default(), cluster: None }
        };
        let cta = Cta {
            index,
            id: self.cta_place(index),
            rank: index % self.cluster,
            threads,
            warps: (0..threads).step_by(32).map(warp).collect(),
            shared: vec![0; shared],
            unwritten: vec![true; shared],
            shadow: Shadow::of_shared(Self::bound(self.launch.threads())),
            locations: Locations::new(Self::bound(self.launch.threads()) > 4),
            order: (0..threads).map(thread).collect(),
            barriers: Barriers::default(),
            ended: 0,
            changes: vec![Vec::new(); threads.div_ceil(32) as usize],
            asynchronous: Async::new(threads, self.program.multiplies),
            triggered: None,
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

    /// Chooses the next warp, and how many instructions it may execute.
    fn choose(&mut self) -> Option<(u32, u32, u32)> {
        match self.options.schedule {
            Schedule::RoundRobin => self.next_in_order(TURN),
            Schedule::Threads => {
                let count = self.running.len() as u64 * u64::from(self.warps_of_cta());
                self.turn = self.random.below(count.max(1)) as usize;
                // In a large grid, a turn lasts longer than the search for the next warp.
                let budget = 1 + self.random.below(4.max(count / 8)) as u32;
                self.next_in_order(budget)
            }
            Schedule::CtaAhead | Schedule::WarpAhead => {
                // The preferred warp yields for a while when nothing changes, since it may wait for another warp.
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
                // In a large grid, only some of the warps are candidates.
                let skip = if all > 64 { self.random.below(all as u64 - 32) as usize } else { 0 };
                let ready = |(cta, warp): &(u32, u32)| self.is_ready(*cta, *warp);
                let some = self.warps().skip(skip).take(64).filter(ready).max_by_key(priority);
                let best = some.or_else(|| self.warps().filter(ready).max_by_key(priority))?;
                let changes = self.random.happens(40);
                let spins = self.time - self.changed > 256;
                if changes || spins {
                    // Its priority falls below all other priorities, so that every warp gets a turn.
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
                self.complete_before_start(&cta);
            }
            self.running.retain(|other| *other != index);
            self.admit_if_few_run();
        }
        // Other CTAs of the cluster may still use its shared memory.
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

    /// A thread lets dependent grids start.
    pub fn trigger(&self, cta: &mut Cta, thread: u32) {
        let clock = &cta.order[thread as usize].clock;
        let all = cta.triggered.get_or_insert_with(|| vec![true; self.earlier.len()]);
        all.iter_mut().zip(&self.earlier).for_each(|(all, grid)| *all &= grid.is_complete_for(clock));
    }

    /// A dependent grid starts after each CTA of this grid has let it, or has ended.
    fn complete_before_start(&mut self, cta: &Cta) {
        for (index, grid) in self.earlier.iter().enumerate() {
            self.complete[index] |= match &cta.triggered {
                Some(triggered) => triggered[index],
                None => cta.order.iter().any(|thread| grid.is_complete_for(&thread.clock)),
            };
        }
    }

    fn admit_if_few_run(&mut self) {
        let warps = self.warps_of_cta() as usize;
        if self.running.len() * warps < RESIDENT / 2 && self.running.len() < 32 {
            self.admit();
        }
    }

    /// Records a change that other threads can notice.
    pub fn change(&mut self) {
        self.version += 1;
        self.changed = self.time;
    }

    /// Whether every running warp has been in the same state twice without another change.
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

    /// Reports hangs when all threads wait, or repeat the same states forever.
    fn finish(&mut self) {
        let mut told = 0;
        let missing = self.missing();
        for index in self.running.clone() {
            let Some(cta) = self.ctas[index as usize].take() else { continue };
            self.hang_in_lock_step(&cta);
            self.ctas[index as usize] = Some(cta);
        }
        for index in self.running.clone() {
            let Some(cta) = self.ctas[index as usize].take() else { continue };
            self.check_blocked(&cta);
            self.report_laps(&cta);
            self.check_bytes(&cta);
            for warp in &cta.warps {
                self.check_aligned(&cta, warp);
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

    /// The kind of event that is missing when all threads wait at barriers or mbarriers. `None` if a thread loops
    /// without a wait.
    fn missing(&self) -> Option<Missing> {
        let running = self.running.iter().filter_map(|cta| self.ctas[*cta as usize].as_deref());
        let mut groups = running.flat_map(|cta| {
            cta.warps.iter().flat_map(move |warp| warp.groups.iter().map(move |group| cta.waits(warp, group).0))
        });
        let lacks_bytes = |barrier: &Mbarrier| barrier.pending == 0 && barrier.bytes != 0;
        let bytes = self.in_flight.barriers.values().any(lacks_bytes);
        groups.all(arrives).then_some(if bytes { Missing::Bytes } else { Missing::Arrivals })
    }

    /// The phase for which a thread waits, and the arrivals and bytes that it lacks.
    fn describe_phase(&self, cta: &Cta, thread: u32) -> String {
        let start = "the thread waits for a phase of an mbarrier that does not end";
        let key = cta.asynchronous.blocked.get(&thread).map(|(key, ..)| *key);
        let Some((key, barrier)) = key.and_then(|key| Some((key, self.in_flight.barriers.get(&key)?))) else {
            return start.to_owned();
        };
        let counted = |count: u64, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
        let bytes = match barrier.bytes {
            0 => String::new(),
            bytes @ 1.. => format!(" and {}", counted(bytes.unsigned_abs(), "byte")),
            bytes => format!(" and has {} that nothing expects", counted(bytes.unsigned_abs(), "byte")),
        };
        let arrivals = counted(barrier.pending, "arrival");
        format!("{start}: phase {} of `{}` lacks {arrivals}{bytes}", barrier.phase, self.name_of_shared(key.1))
    }

    fn hang(&mut self, cta: &Cta, thread: u32, (wait, pc): (Wait, Pc), missing: Option<Missing>) {
        // The program counter of a thread that waits at a barrier of the CTA is already after the barrier.
        let at = if matches!(wait, Wait::Barrier(_)) { pc.saturating_sub(1) } else { pc };
        let why = match wait {
            Wait::Ready => "the thread repeats a loop that no thread can end".to_owned(),
            Wait::Barrier(id) => {
                let all =
                    cta.barriers.0.get(&id).and_then(|barrier| barrier.threads).unwrap_or(cta.threads - cta.ended);
                let arrived = cta.barriers.arrived(id).min(all);
                format!("the thread waits at barrier {id}, at which {arrived} of {all} threads have arrived")
            }
            Wait::Cluster => "the thread waits at the barrier of the cluster, where other threads do not arrive".into(),
            Wait::Gather(mask, _) => format!("the thread waits for lanes of {mask:#x} that do not arrive"),
            Wait::Mbarrier => self.describe_phase(cta, thread),
            Wait::Completion => "the thread waits for asynchronous operations that do not complete".into(),
        };
        let help = match (wait, missing) {
            (Wait::Barrier(_), _) => Remedy::AllArrive,
            (Wait::Ready, _) => {
                "write the memory that the loop reads, in a thread that does not wait for this thread".into()
            }
            (Wait::Cluster, _) => LACKS_CLUSTER.into(),
            (Wait::Gather(..), _) => {
                "let all lanes of the mask reach the instruction, or name only the lanes that reach it".into()
            }
            (Wait::Mbarrier, Some(Missing::Arrivals)) => LACKS_ARRIVALS.into(),
            (Wait::Mbarrier, Some(Missing::Bytes)) => {
                "expect by `.expect_tx` as many bytes as the copies of the phase bring".into()
            }
            (Wait::Mbarrier, None) => "give the phase as many arrivals and bytes as the mbarrier expects".into(),
            (Wait::Completion, _) => {
                "free the taken columns by `tcgen05.dealloc`, or let all warps of the warpgroup reach the instruction"
                    .into()
            }
        };
        if wait == Wait::Mbarrier && cta.asynchronous.works[thread as usize] && self.is_lapped(cta, thread) {
            return self.find_lap(cta, thread, at);
        }
        let detail = missing.filter(|_| arrives(wait)).map_or(Detail::None, Detail::Missing);
        self.find_detailed(cta, FaultKind::Hang, thread, at, None, None, why, Some(help), detail);
    }

    /// Records a finding at an instruction of a thread of a CTA.
    #[expect(clippy::too_many_arguments, reason = "these are a finding")]
    pub fn find(
        &mut self,
        cta: &Cta,
        kind: FaultKind,
        thread: u32,
        pc: Pc,
        other: Option<(Pc, ThreadId)>,
        place: Option<String>,
        message: String,
        help: Option<Remedy>,
    ) {
        self.find_detailed(cta, kind, thread, pc, other, place, message, help, Detail::None);
    }

    /// Records a finding with the facts that distinguish it from other findings of its kind.
    #[expect(clippy::too_many_arguments, reason = "these are a finding")]
    pub fn find_detailed(
        &mut self,
        cta: &Cta,
        kind: FaultKind,
        thread: u32,
        pc: Pc,
        other: Option<(Pc, ThreadId)>,
        place: Option<String>,
        message: String,
        help: Option<Remedy>,
        detail: Detail,
    ) {
        let second = other.map_or(pc, |(pc, _)| pc);
        if !self.findings.wants(kind, pc, second, self.options.findings) {
            return;
        }
        let who = ThreadId { cta: cta.index, thread };
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

    /// The CTA and the thread that performed an access.
    pub fn thread_id(&self, agent: Agent) -> ThreadId {
        let thread = index_of(agent) as u32;
        let thread = self.owners.get(&agent).copied().unwrap_or(thread);
        ThreadId { cta: cta_of(agent), thread }
    }

    /// Whether another race of these two instructions is wanted.
    pub fn wants_race(&mut self, record: Record, earlier: Record, same_value: bool) -> bool {
        let kind = if same_value { FaultKind::SameValue } else { FaultKind::Race };
        // The instructions of different grids are distinct.
        let grid = self.earlier_grid(earlier.agent).map_or(0, |(number, _)| number as u32 + 1);
        let other = earlier.info.step() | grid << STEP_BITS;
        self.findings.wants(kind, record.info.step(), other, self.options.findings)
    }

    /// Records a race of a thread's access with an earlier access. A proxy fence alone may be missing.
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
        let by = grid.map(|grid| format!(" by the earlier grid of '{}'", grid.launch.kernel)).unwrap_or_default();
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
            site: site(self.program, pc, ThreadId { cta: cta.index, thread }, self.launch.size.block, cta.id),
            other,
            place: Some(place),
            message,
            help: Some(help),
            detail,
        };
        self.findings.push(finding);
    }

    /// The earlier grid of an agent.
    fn earlier_grid(&self, agent: Agent) -> Option<(usize, &Grid)> {
        let cta = cta_of(agent);
        let number = self.earlier.iter().position(|grid| cta < grid.end()).filter(|_| cta < self.grid.first)?;
        Some((number, &self.earlier[number]))
    }

    /// The site of an access, which may belong to an earlier grid.
    fn site_of(&self, access: Record) -> Option<Site> {
        let grid = self.earlier_grid(access.agent).map_or(&self.grid, |(_, grid)| grid);
        let (who, pc) = (self.thread_id(access.agent), access.info.step());
        let program = self.programs.get(&grid.launch.key())?;
        Some(site(program, pc, who, grid.launch.size.block, grid.place(who.cta)))
    }

    /// Whether `griddepcontrol.wait` would order all operations of an agent before it.
    fn would_wait(&self, agent: Agent) -> bool {
        Clock::from_past(self.end.clone()).has_seen(agent, 1)
    }

    /// The remedy that would order two accesses.
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
            return "add a wait for the completion of the asynchronous operation, and a barrier if another thread waits"
                .into();
        }
        if let (Some(first), Some(second)) = (one.strong(), two.strong()) {
            let found = first.min(second);
            if found < scope {
                return Remedy::Wider { needed: scope, found };
            }
            return "give both accesses the same size: strong operations that overlap in part are not ordered".into();
        }
        match (one.strong(), two.strong()) {
            (None, None) if scope == Scope::Gpu => Remedy::ReleaseAcquire(scope),
            (None, None) => Remedy::Barrier(scope),
            _ => Remedy::Strong(scope),
        }
    }

    /// The name of an address of shared memory: a symbol and an offset.
    pub fn name_of_shared(&self, at: u64) -> String {
        let found =
            self.program.shared_names.iter().rev().find(|(start, bytes, _)| at >= *start && at - start < *bytes);
        match found {
            Some((start, _, name)) => offset(name, at - start),
            None => offset("shared", at),
        }
    }

    /// The line of an instruction.
    pub fn line(&self, pc: Pc) -> u32 {
        self.program.steps.get(pc as usize).map_or(0, |step| step.at.line)
    }

    /// The threads of lanes of a warp, each with its lane.
    pub fn threads(warp: &Warp, lanes: Lanes) -> impl Iterator<Item = (usize, u32)> {
        let first = warp.first;
        each(lanes).map(move |lane| (lane, first + lane as u32))
    }
}
