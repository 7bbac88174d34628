//! Whether an execution speaks for every schedule of its launch.
//!
//! An execution is determinate if it has no race, no value that depends on the schedule steers it, each wait for an
//! mbarrier observes the same phase in every schedule, and each generation of a barrier has the same participants. Then
//! every schedule of the launch has the same happens-before order; `docs/schedules.md` has the proof. The machine checks
//! these conditions while it runs, and remembers the first that fails.

use std::fmt::{self, Display, Formatter};

use ptx_isa::{AtomOp, Family, arithmetic::Rmw};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    access::shared_key,
    asynchronous::reduce,
    clock::{Agent, Clock, Epoch, View, cta_of, index_of},
    code::{DecodedAccess, Op, Pc},
    fault::site,
    in_flight::Key,
    machine::{Cta, Machine},
    memory::{Global, Region},
    report::{Detail, Fault, FaultKind, Site},
    shadow::{CELL, Conflicts, Record},
};

/// Whether a report is about every schedule of its launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Schedules {
    /// The machine did not look for races, and knows nothing about other schedules.
    #[default]
    Unknown,
    /// Every schedule of this launch has the same happens-before order, and ends as this one does. With a lag, only
    /// schedules in which the warp of the lag is not late by a whole phase end.
    Determinate {
        /// A wait of a warp that does nothing but wait, whose next phase can end before it.
        lag: Option<Box<Dependence>>,
    },
    /// Another schedule may differ.
    Dependent(Box<Dependence>),
}

/// The first reason why another schedule may differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependence {
    /// The condition that fails.
    pub condition: Condition,
    /// The instruction at which it fails.
    pub site: Option<Site>,
    /// A related instruction: for a value, the instruction that it steers.
    pub other: Option<Site>,
}

/// A condition of a determinate execution that does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Condition {
    /// Two accesses race.
    Race,
    /// An access may race with one of many accesses whose threads alone are remembered.
    ManyThreads,
    /// A value that depends on the schedule steers an instruction.
    Steered(Pattern),
    /// A value that depends on the schedule reaches an instruction through which the machine follows no value.
    NotFollowed,
    /// A grid that may run at the same time accesses the same memory by strong accesses.
    EarlierGrid,
    /// The next phase of an mbarrier can end before a wait has observed the end of a phase.
    Lapped,
    /// A wait for a phase of an mbarrier can end at the phase two before it, which has the same parity.
    EarlyWait,
    /// An arrival at an mbarrier, or bytes of an operation, can come in the phase before their phase.
    EarlyArrival,
    /// A phase of an mbarrier can end before the bytes of an operation are expected in it.
    LateExpectation,
    /// A thread waits at another mbarrier, or for another phase, after the answer no than after the answer yes.
    OtherWait,
    /// Other threads can arrive at a named barrier in the same generation.
    Participants,
    /// The run did not reach its end.
    Unfinished,
}

/// The way in which a value depends on the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Pattern {
    /// A loop reads until another thread writes.
    Flag,
    /// A thread takes a lock by `atom.cas` or `atom.exch`.
    Lock,
    /// A thread takes a number by `atom.add` or `atom.inc`: the number of a slot, of a work item, or of the last CTA.
    Ticket,
    /// Another result of an atomic operation or of a strong load.
    Value,
    /// A value of memory that atomic operations wrote in the order of the schedule.
    Memory,
    /// The time, the processor, or the active threads of a warp.
    Machine,
    /// The answer of a wait for an mbarrier.
    Answer,
}

impl Schedules {
    /// Whether the report is about every schedule.
    pub fn is_determinate(&self) -> bool {
        matches!(self, Self::Determinate { .. })
    }
}

impl Display for Dependence {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let at = |site: &Option<Site>| match site {
            Some(site) => format!("`{}` at line {}", site.instruction, site.at.line),
            None => "an instruction".to_owned(),
        };
        let thread = match &self.site {
            Some(Site { thread: [x, y, z], cta: [a, b, c], .. }) => {
                format!("thread {x},{y},{z} of CTA {a},{b},{c}")
            }
            None => "a thread".to_owned(),
        };
        let (site, other) = (at(&self.site), at(&self.other));
        match self.condition {
            Condition::Race => write!(f, "{other} and {site} of {thread} race"),
            Condition::ManyThreads => {
                write!(
                    f,
                    "{site} may race with one of many threads' accesses, of which the machine remembers only the threads"
                )
            }
            Condition::Steered(pattern) => {
                let what = match pattern {
                    Pattern::Flag => "the flag that it reads in a loop by",
                    Pattern::Lock => "the lock that it takes by",
                    Pattern::Ticket => "the number that it takes by",
                    Pattern::Value => "the result of",
                    Pattern::Memory => "a value that atomic operations wrote in the order of the schedule, read by",
                    Pattern::Machine => "the state of the GPU, read by",
                    Pattern::Answer => "the answer of",
                };
                write!(f, "{other} of {thread} depends on {what} {site}")
            }
            Condition::NotFollowed => {
                write!(f, "{site} reads a value that depends on the order of atomic operations")
            }
            Condition::EarlierGrid => write!(f, "{site} and an earlier grid access the same memory by strong accesses"),
            Condition::Lapped => {
                write!(f, "the phase after the phase for which {thread} waits by {site} can end before the wait")
            }
            Condition::EarlyWait => {
                write!(f, "the wait of {thread} by {site} can end at an earlier phase of the same parity")
            }
            Condition::EarlyArrival => {
                write!(f, "{site} of {thread} can arrive before the end of the phase before its phase")
            }
            Condition::LateExpectation => {
                write!(f, "the phase can end before {thread} expects bytes or an arrival in it by {site}")
            }
            Condition::OtherWait => {
                write!(f, "{thread} waits by {other} for another phase than by {site}, whose answer may be no")
            }
            Condition::Participants => {
                write!(f, "other threads than {thread}, which arrives by {site}, can complete the barrier")
            }
            Condition::Unfinished => write!(f, "the run did not reach its end"),
        }
    }
}

/// The state of the check.
#[derive(Debug, Default)]
pub struct Watch {
    /// The first condition that failed.
    failed: Option<Dependence>,
    /// Cells of memory whose contents depend on the schedule, by their keys.
    cells: CellSet,
    /// Pairs of instructions whose unordered accesses steer nothing, and whether they commute.
    harmless: FxHashMap<(Pc, Pc), bool>,
    /// Loads of such cells whose results are followed, and the instructions that write these results to memory.
    loads: FxHashSet<Pc>,
    carriers: FxHashSet<Pc>,
    /// The waits that can be lapped, each once for a warp: the CTA, the warp, the thread and the instruction.
    lapped: Vec<(u32, u32, u32, Pc)>,
    lag: Option<Dependence>,
    /// The warps in which a wait may have observed another phase than in another schedule: the CTA and the warp.
    late: FxHashSet<(u32, u32)>,
}

impl Watch {
    /// Records that a wait of a thread may have observed another phase than in another schedule.
    pub fn observes_late_phase(&mut self, agent: Agent) {
        self.late.insert((cta_of(agent), index_of(agent) as u32 / 32));
    }
}

/// A set of cells, whose neighbors are often in the set, too.
#[derive(Debug, Default)]
struct CellSet(FxHashMap<u64, [u64; 4]>);

impl CellSet {
    fn place(cell: u64) -> (u64, usize, u64) {
        (cell >> 8, (cell >> 6 & 3) as usize, 1 << (cell & 63))
    }

    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn contains(&self, cell: u64) -> bool {
        let (key, word, bit) = Self::place(cell);
        self.0.get(&key).is_some_and(|words| words[word] & bit != 0)
    }

    fn set(&mut self, cell: u64, is_in: bool) {
        let (key, word, bit) = Self::place(cell);
        match is_in {
            true => self.0.entry(key).or_default()[word] |= bit,
            false => {
                if let Some(words) = self.0.get_mut(&key) {
                    words[word] &= !bit;
                }
            }
        }
    }
}

/// The arrivals of the phases of an mbarrier, or of the generations of a barrier.
#[derive(Debug, Default)]
pub struct Phases {
    /// The arrivals in the current phase, in the phase before it, and in the phase before that.
    current: View,
    last: View,
    before: View,
    /// The waits that observed the end of the last phase, and that no arrival of the current phase follows.
    waits: Vec<(Agent, Epoch, Pc)>,
    /// The expectations of the current phase that no arrival of it follows.
    expected: Vec<(Agent, Epoch, Pc)>,
}

impl Phases {
    /// Records an arrival. Returns the condition that fails.
    pub fn arrive(&mut self, clock: &Clock, (agent, epoch): (Agent, Epoch)) -> Option<Condition> {
        let is_early = !clock.follows_all(&self.last);
        self.current.raise(agent, epoch);
        for list in [&mut self.waits, &mut self.expected] {
            list.retain(|(agent, epoch, _)| !clock.follows(*agent, *epoch));
        }
        is_early.then_some(Condition::EarlyArrival)
    }

    /// Records the bytes of an operation that began at a clock.
    pub fn complete(&mut self, start: &Clock, (agent, epoch): (Agent, Epoch)) -> Option<Condition> {
        let is_early = !start.follows_all(&self.last);
        self.current.raise(agent, epoch);
        // The operation began after these waits and expectations, so that its bytes come after them.
        for list in [&mut self.waits, &mut self.expected] {
            list.retain(|(agent, epoch, _)| !start.follows(*agent, *epoch));
        }
        is_early.then_some(Condition::EarlyArrival)
    }

    /// Records that a thread expects more bytes or arrivals.
    pub fn expect(&mut self, clock: &Clock, pc: Pc) {
        self.expected.push((clock.agent, clock.own, pc));
    }

    /// Whether a clock follows the last phase.
    fn follows_last(&self, clock: &Clock) -> bool {
        clock.follows_all(&self.last)
    }

    /// Whether a clock follows the phase before the last phase.
    pub fn follows(&self, clock: &Clock) -> bool {
        clock.follows_all(&self.before)
    }

    /// Records that a wait has observed the end of the last phase.
    pub fn observe(&mut self, clock: &Clock, pc: Pc) {
        self.waits.retain(|(agent, ..)| *agent != clock.agent);
        self.waits.push((clock.agent, clock.own, pc));
    }

    /// Ends the phase. Returns the conditions that fail, each with its thread and instruction.
    pub fn settle(&mut self) -> Vec<(Condition, Agent, Pc)> {
        let lapped = self.waits.drain(..).map(|(agent, _, pc)| (Condition::Lapped, agent, pc));
        let late = self.expected.drain(..).map(|(agent, _, pc)| (Condition::LateExpectation, agent, pc));
        self.before = std::mem::take(&mut self.last);
        self.last = std::mem::take(&mut self.current);
        lapped.chain(late).collect()
    }
}

/// Whether two atomic operations give the same final value in both orders.
fn commute(one: Option<Rmw>, other: Option<Rmw>) -> bool {
    let (Some(one), Some(other)) = (one, other) else { return false };
    let is_exact = !one.ty.element().unwrap_or(one.ty).is_float();
    one.op == other.op
        && one.ty.bits() == other.ty.bits()
        && match one.op {
            AtomOp::Add => is_exact,
            AtomOp::And | AtomOp::Or | AtomOp::Xor => true,
            AtomOp::Min | AtomOp::Max => one.ty == other.ty,
            _ => false,
        }
}

impl Machine<'_> {
    /// Whether the conditions are checked: until one fails.
    pub fn watches(&self) -> bool {
        self.options.races && self.watch.failed.is_none() && !self.is_trial
    }

    /// The answer at the end of the run.
    pub fn schedules(&mut self, is_cut: bool) -> Schedules {
        if !self.options.races || self.is_trial {
            return Schedules::Unknown;
        }
        let is_unfinished = |kind| matches!(kind, FaultKind::StepLimit | FaultKind::Unsupported);
        let has = |is: &dyn Fn(FaultKind) -> bool| self.findings.found.iter().find(|found| is(found.kind));
        // Registers of a product and tensor maps race without accesses of memory.
        let is_race = |found: &&Fault| {
            found.kind == FaultKind::Race && matches!(found.detail, Detail::Registers | Detail::TensorMap)
        };
        if let Some(race) = self.findings.found.iter().find(is_race) {
            let (site, other) = (Some(race.site.clone()), race.other.clone());
            return Schedules::Dependent(Box::new(Dependence { condition: Condition::Race, site, other }));
        }
        if let Some(failed) = self.watch.failed.take() {
            return Schedules::Dependent(Box::new(failed));
        }
        if is_cut || has(&is_unfinished).is_some() {
            let failed = Dependence { condition: Condition::Unfinished, site: None, other: None };
            return Schedules::Dependent(Box::new(failed));
        }
        Schedules::Determinate { lag: self.watch.lag.take().map(Box::new) }
    }

    fn site_at(&self, pc: Pc, agent: Agent) -> Site {
        let who = self.thread_id(agent);
        site(self.program, pc, who, self.launch.size.block, self.cta_place(who.cta))
    }

    /// Records that a condition fails at an instruction of an agent.
    pub fn depend(&mut self, condition: Condition, (agent, pc): (Agent, Pc), other: Option<Pc>) {
        if !self.watches() {
            return;
        }
        let other = other.map(|pc| self.site_at(pc, agent));
        let site = Some(self.site_at(pc, agent));
        self.watch.failed = Some(Dependence { condition, site, other });
    }

    /// Records the conditions that fail at the end of a phase of an mbarrier.
    pub fn depend_all(&mut self, failed: Vec<(Condition, Agent, Pc)>) {
        if failed.is_empty() || !self.options.races || self.is_trial {
            return;
        }
        for (condition, agent, pc) in failed {
            let (cta, thread) = (cta_of(agent), self.thread_id(agent).thread);
            let lap = (cta, thread / 32, thread, pc);
            let is_known = self.watch.lapped.iter().any(|own| (own.0, own.1, own.3) == (lap.0, lap.1, lap.3));
            match condition {
                // After another failed condition, the order may be that of this schedule alone.
                Condition::Lapped if is_known || self.watch.failed.is_some() => {}
                Condition::Lapped => self.watch.lapped.push(lap),
                _ => self.depend(condition, (agent, pc), None),
            }
        }
    }

    /// Reports the waits of a CTA that can be lapped. A warp that only waits misses nothing in a lap; many kernels have
    /// such warps.
    pub fn report_laps(&mut self, cta: &Cta) {
        for (_, warp, thread, pc) in self.watch.lapped.extract_if(.., |lap| lap.0 == cta.index).collect::<Vec<_>>() {
            let agent = cta.order[thread as usize].clock.agent;
            if cta.asynchronous.works.get(warp as usize) != Some(&true) {
                let site = Some(self.site_at(pc, agent));
                self.watch.lag.get_or_insert(Dependence { condition: Condition::Lapped, site, other: None });
                continue;
            }
            self.depend(Condition::Lapped, (agent, pc), None);
            self.find_lap(cta, thread, pc);
        }
    }

    /// Records that a wait can be lapped.
    pub fn find_lap(&mut self, cta: &Cta, thread: u32, pc: Pc) {
        let message =
            "the next phase of the mbarrier can end before the thread observes the end of the phase for which it waits";
        let help = "let an arrival of the next phase come after the wait: the thread arrives at the mbarrier for which the producer waits";
        self.find(cta, FaultKind::Lapped, thread, pc, None, None, message.to_owned(), Some(help.into()));
    }

    /// Whether a wait that never ends would have ended at an earlier phase of the same parity, had it or an earlier wait
    /// of the warp begun earlier.
    pub fn is_lapped(&self, cta: &Cta, thread: u32) -> bool {
        if self.watch.late.contains(&(cta.index, thread / 32)) {
            return true;
        }
        let clock = &cta.order[thread as usize].clock;
        let barrier = cta.asynchronous.blocked.get(&thread).and_then(|(key, ..)| self.in_flight.barriers.get(key));
        barrier.is_some_and(|barrier| !barrier.phases.follows_last(clock))
    }

    /// Checks the waits of a CTA that never end. Each begins after the phase before the phase for which it waits, since
    /// an earlier wait would have ended at the phase before that. And no bytes come that are not expected: the phase
    /// would end before them if its arrivals came first.
    pub fn check_blocked(&mut self, cta: &Cta) {
        let failed = |(thread, (key, _, pc)): (&u32, &(Key, u64, Pc))| {
            let condition = match () {
                () if self.is_lapped(cta, *thread) => Condition::Lapped,
                () if self.in_flight.barriers.get(key)?.bytes < 0 => Condition::LateExpectation,
                () => return None,
            };
            Some((*thread, *pc, condition))
        };
        let first = cta.asynchronous.blocked.iter().filter_map(failed).min_by_key(|(thread, ..)| *thread);
        if let Some((thread, pc, condition)) = first {
            self.depend_at(cta, condition, thread, pc);
        }
    }

    /// Records that a condition fails at an instruction of a thread.
    pub fn depend_at(&mut self, cta: &Cta, condition: Condition, thread: u32, pc: Pc) {
        self.depend(condition, (cta.order[thread as usize].clock.agent, pc), None);
    }

    /// Checks the accesses that conflict with an access.
    pub fn contend(&mut self, record: Record, conflicts: &mut Conflicts, place: Region, owner: u32, bytes: u64) {
        if !self.watches() {
            conflicts.contended.clear();
            conflicts.may_race = false;
            return;
        }
        if std::mem::take(&mut conflicts.may_race) {
            self.depend(Condition::ManyThreads, (record.agent, record.info.step()), None);
        }
        let mut contended = std::mem::take(&mut conflicts.contended);
        for old in contended.drain(..) {
            if cta_of(old.agent) < self.grid.first {
                self.depend(Condition::EarlierGrid, (record.agent, record.info.step()), None);
                break;
            }
            let pair = (old.info.step(), record.info.step());
            let known = self.watch.harmless.get(&pair).copied();
            let commute = known.unwrap_or_else(|| commute(self.rmw(pair.0), self.rmw(pair.1)));
            if !commute && record.info.writes() && old.info.writes() {
                let bytes = bytes.max(old.info.bytes());
                self.each_cell(place, owner, bytes, |watch, cell| watch.cells.set(cell, true));
            }
            if known.is_some() {
                continue;
            }
            self.watch.harmless.insert(pair, commute);
            for (access, other) in [(record, old), (old, record)] {
                let pc = access.info.step();
                // A load without writes by others returns one value; so does an operation without results.
                if other.info.writes()
                    && let Some(steered) = self.program.flow.steered_by(&self.program.steps, pc)
                {
                    let pattern = self.pattern(pc, steered);
                    self.depend(Condition::Steered(pattern), (access.agent, pc), Some(steered));
                }
            }
        }
        conflicts.contended = contended;
    }

    /// The pattern in which the result of a strong access steers an instruction.
    fn pattern(&self, pc: Pc, steered: Pc) -> Pattern {
        let Some(Op::Access(access)) = self.program.steps.get(pc as usize).map(|step| &step.op) else {
            return Pattern::Value;
        };
        let loops = match self.program.steps.get(steered as usize).map(|step| &step.op) {
            Some(Op::Jump(target)) => *target <= pc && pc <= steered,
            _ => false,
        };
        match access.rmw.map(|rmw| rmw.op) {
            None if loops => Pattern::Flag,
            Some(AtomOp::Cas | AtomOp::Exch) => Pattern::Lock,
            Some(AtomOp::Add | AtomOp::Inc) => Pattern::Ticket,
            _ => Pattern::Value,
        }
    }

    /// The atomic operation of an instruction.
    fn rmw(&self, pc: Pc) -> Option<Rmw> {
        match &self.program.steps.get(pc as usize)?.op {
            Op::Access(access) => access.rmw,
            Op::Asynchronous(of) => reduce::operation(of),
            _ => None,
        }
    }

    /// Calls a function with the keys of the cells of some bytes.
    fn each_cell(&mut self, place: Region, owner: u32, bytes: u64, mut of: impl FnMut(&mut Watch, u64)) {
        let start = match place {
            Region::Global(piece, at) => Global::address(piece) + at,
            Region::Shared(_, at) => shared_key(owner, at),
            _ => return,
        };
        for cell in start / CELL..(start + bytes).div_ceil(CELL) {
            of(&mut self.watch, cell);
        }
    }

    /// Records that bytes have contents that depend on the schedule.
    pub fn vary(&mut self, place: Region, owner: u32, bytes: u64) {
        if self.watches() {
            self.each_cell(place, owner, bytes, |watch, cell| watch.cells.set(cell, true));
        }
    }

    /// Whether any access of memory may have a value that depends on the schedule.
    pub fn follows(&self) -> bool {
        !self.watch.cells.is_empty() || !self.watch.carriers.is_empty() || self.program.flow.has_carriers()
    }

    /// Follows values that depend on the schedule through an access of memory.
    pub fn follow(&mut self, record: Record, place: Region, owner: u32, bytes: u64) {
        let pc = record.info.step();
        let Some(step) = self.program.steps.get(pc as usize) else { return };
        let access: Option<&DecodedAccess> = match &step.op {
            Op::Access(access) => Some(access),
            _ => None,
        };
        let is_carrier = access.is_some_and(|access| !access.data.is_empty())
            && (self.program.flow.is_carrier(pc) || self.watch.carriers.contains(&pc));
        if self.watch.cells.is_empty() && !is_carrier {
            return;
        }
        let reads = access.map_or(!record.info.writes(), |access| !access.results.is_empty() || access.rmw.is_some());
        let is_update = access.is_some_and(|access| access.rmw.is_some());
        let mut is_met = false;
        if reads {
            self.each_cell(place, owner, bytes, |watch, cell| is_met |= watch.cells.contains(cell));
        }
        if is_met {
            self.follow_load(record, access.is_some());
        }
        if record.info.writes() && !is_update {
            self.each_cell(place, owner, bytes, |watch, cell| watch.cells.set(cell, is_carrier));
        } else if record.info.writes() && is_carrier {
            self.vary(place, owner, bytes);
        }
    }

    /// Follows the results of a load of contents that depend on the schedule.
    fn follow_load(&mut self, record: Record, is_access: bool) {
        let pc = record.info.step();
        if !is_access {
            return self.depend(Condition::NotFollowed, (record.agent, pc), None);
        }
        if !self.watch.loads.insert(pc) {
            return;
        }
        let flow = &self.program.flow;
        if let Some(steered) = flow.steered_by(&self.program.steps, pc) {
            return self.depend(Condition::Steered(Pattern::Memory), (record.agent, pc), Some(steered));
        }
        self.watch.carriers.extend(flow.stores_of(&self.program.steps, pc));
    }

    /// Checks an instruction whose results another schedule may change.
    pub fn check_varying(&mut self, cta: &Cta, thread: u32, pc: Pc) {
        if !self.watches() {
            return;
        }
        if let Some(steered) = self.program.flow.steered_by(&self.program.steps, pc) {
            let is_wait = |family: Family| crate::code::flow::is_mbarrier_wait(family);
            let pattern = match &self.program.steps[pc as usize].op {
                Op::Asynchronous(of) if is_wait(of.form.family()) => Pattern::Answer,
                _ => Pattern::Machine,
            };
            let agent = cta.order[thread as usize].clock.agent;
            self.depend(Condition::Steered(pattern), (agent, pc), Some(steered));
        }
    }
}
