//! Whether an execution speaks for every schedule of its launch.
//!
//! An execution is determinate if it has no race, no value that depends on the schedule steers it, each wait for an
//! mbarrier observes the same phase in every schedule, and each generation of a barrier has the same participants. Then
//! every schedule of the launch has the same happens-before order; `docs/schedules.md` has the proof. The machine checks
//! these conditions while it runs, and remembers the first that fails.

use ptx_isa::{AtomOp, Family, arithmetic::Rmw};

use crate::{
    access::shared_key,
    asynchronous::reduce,
    clock::{Agent, cta_of},
    code::{DecodedAccess, Op, Pc},
    fault::site,
    flow::{ExpectedRaces, is_copy},
    in_flight::Key,
    machine::{Cta, Machine},
    memory::{Global, Region},
    report::{Condition, Dependence, Detail, Fault, FaultKind, Pattern, Schedules, Site},
    shadow::{CELL, Conflicts, Record},
    watch::{Followed, Watch},
};

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
        self.watch.failed = Some(self.dependence(condition, (agent, pc), other));
    }

    fn dependence(&self, condition: Condition, (agent, pc): (Agent, Pc), other: Option<Pc>) -> Dependence {
        let other = other.map(|pc| self.site_at(pc, agent));
        Dependence { condition, site: Some(self.site_at(pc, agent)), other }
    }

    /// Records the conditions that fail at the end of a phase of an mbarrier.
    pub fn depend_all(&mut self, failed: Vec<(Condition, Agent, Pc)>) {
        if failed.is_empty() || !self.options.races || self.is_trial {
            return;
        }
        for (condition, agent, pc) in failed {
            let lap = (cta_of(agent), self.thread_id(agent).thread, pc);
            match condition {
                // After another failed condition, the order may belong to this schedule alone.
                Condition::Lapped if self.watch.failed.is_some() => {}
                Condition::Lapped => {
                    self.watch.lapped.insert(lap);
                }
                _ => self.depend(condition, (agent, pc), None),
            }
        }
    }

    /// Reports the waits of a CTA that can be lapped. A thread that only waits misses nothing in a lap; many kernels have
    /// such threads.
    pub fn report_laps(&mut self, cta: &Cta) {
        let later = self.watch.lapped.split_off(&(cta.index, 0, 0));
        let others = later.range((cta.index + 1, 0, 0)..).copied();
        self.watch.lapped.extend(others);
        for (_, thread, pc) in later.into_iter().take_while(|lap| lap.0 == cta.index) {
            let agent = cta.order[thread as usize].clock.agent;
            if cta.asynchronous.works.get(thread as usize) != Some(&true) {
                let site = Some(self.site_at(pc, agent));
                self.watch.lag.get_or_insert(Dependence { condition: Condition::Lapped, site, other: None });
                continue;
            }
            self.depend(Condition::Lapped, (agent, pc), None);
            self.find_lap(cta, thread, pc);
        }
    }

    /// Checks that nothing is left of the bytes of the mbarriers of a CTA: bytes that nothing expects are of the phase in
    /// which they come.
    pub fn check_bytes(&mut self, cta: &Cta) {
        let has_bytes = self.in_flight.barriers.iter().any(|(key, barrier)| key.0 == cta.index && barrier.bytes < 0);
        if has_bytes && self.watches() {
            let dependence = Dependence { condition: Condition::LateExpectation, site: None, other: None };
            self.watch.failed.get_or_insert(dependence);
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

    /// Records a race of accesses that do not write the same value. A read before an asynchronous write may lack a proxy
    /// fence, and is in the same order in every schedule. The values of a race that an earlier run has shown are
    /// followed, unless two ordinary accesses overlap in part: the model says nothing about such races.
    pub fn depend_on_race(
        &mut self,
        record: Record,
        earlier: Record,
        lacks_fence: bool,
        at: Option<(Region, u32, u64)>,
    ) {
        let is_read_before = record.info.is_async() && !earlier.info.is_async() && !earlier.info.writes();
        if lacks_fence && is_read_before || !self.watches() {
            return;
        }
        let pair = (earlier.info.step(), record.info.step());
        let is_of_grid = cta_of(earlier.agent) >= self.grid.first;
        // Accesses are aligned, so that accesses of one size overlap completely.
        let is_uniform = record.info.size() == earlier.info.size();
        let is_operation = record.info.is_async() || earlier.info.is_async();
        match self.flow.race(pair.0, pair.1).filter(|_| is_of_grid) {
            Some(ExpectedRaces::Ordered) => {}
            Some(ExpectedRaces::Varying) if is_uniform || is_operation => {
                if let Some((place, owner, bytes)) = at.filter(|_| record.info.writes() && earlier.info.writes()) {
                    self.vary(place, owner, bytes);
                }
            }
            _ => self.depend(Condition::Race, (record.agent, pair.1), Some(pair.0).filter(|_| is_of_grid)),
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
                self.each_cell(place, owner, bytes, |watch, cell| {
                    watch.values(Followed::Varying).cells.set(cell, true)
                });
            }
            if known.is_some() {
                continue;
            }
            self.watch.harmless.insert(pair, commute);
            for (access, other) in [(record, old), (old, record)] {
                let pc = access.info.step();
                // A load returns one value if no other access writes; so does an operation without results.
                if !other.info.writes() {
                    continue;
                }
                // The value that a `cas` reads decides whether it writes.
                let is_cas = self.rmw(pc).is_some_and(|rmw| rmw.op == AtomOp::Cas);
                let own = is_cas.then_some(pc);
                if let Some(steered) = self.flow.steered_by(&self.program.steps, pc).or(own) {
                    let pattern = self.pattern(pc, steered);
                    self.depend(Condition::Steered(pattern), (access.agent, pc), Some(steered));
                } else {
                    self.vary_stored(pc);
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
            self.each_cell(place, owner, bytes, |watch, cell| watch.values(Followed::Varying).cells.set(cell, true));
        }
    }

    /// Records that the results of an instruction depend on the schedule. If they are stored, pending values depend on the
    /// schedule, too.
    fn vary_stored(&mut self, pc: Pc) {
        if self.watch.is_stored || self.flow.stores_of(&self.program.steps, pc).is_empty() {
            return;
        }
        self.watch.is_stored = true;
        if let Some(deferred) = self.watch.deferred.take()
            && self.watches()
        {
            self.watch.failed = Some(deferred);
        }
    }

    /// Whether any access of memory may have a value that depends on the schedule.
    pub fn follows(&self) -> bool {
        !self.watch.follows_nothing() || self.flow.has_carriers()
    }

    /// Follows values that depend on the schedule through an access of memory.
    pub fn follow(&mut self, record: Record, place: Region, owner: u32, bytes: u64) {
        let (pc, writes) = (record.info.step(), record.info.writes());
        let Some(step) = self.program.steps.get(pc as usize) else { return };
        let access: Option<&DecodedAccess> = match &step.op {
            Op::Access(access) => Some(access),
            _ => None,
        };
        let reads = access.map_or(!writes, |access| !access.results.is_empty() || access.rmw.is_some());
        let is_update = self.rmw(pc).is_some();
        let is_stored = writes && self.flow.is_carrier(pc);
        for of in [Followed::Varying, Followed::Pending] {
            let is_source = is_stored && (of == Followed::Pending || self.watch.is_stored);
            let is_carrier = is_source || writes && self.watch.values(of).carriers.contains(&pc);
            if self.watch.values(of).cells.is_empty() && !is_carrier {
                continue;
            }
            let mut is_met = false;
            if reads {
                self.each_cell(place, owner, bytes, |watch, cell| is_met |= watch.values(of).cells.contains(cell));
            }
            if is_met {
                self.follow_load(record, of);
            }
            if writes && (is_carrier || !is_update) {
                self.each_cell(place, owner, bytes, |watch, cell| watch.values(of).cells.set(cell, is_carrier));
            }
        }
    }

    /// Follows the results of a load of contents that depend on the schedule, or may.
    fn follow_load(&mut self, record: Record, of: Followed) {
        let pc = record.info.step();
        if !self.watch.values(of).loads.insert(pc) {
            return;
        }
        let flow = self.flow;
        let failed = match flow.steered_by(&self.program.steps, pc) {
            _ if is_copy(&self.program.steps[pc as usize]) => {
                self.watch.values(of).carriers.insert(pc);
                return;
            }
            _ if !flow.has_results(&self.program.steps, pc) => Some((Condition::NotFollowed, None)),
            Some(steered) => Some((Condition::Steered(Pattern::Memory), Some(steered))),
            None => None,
        };
        match failed {
            Some((condition, steered)) if of == Followed::Varying || self.watch.is_stored => {
                self.depend(condition, (record.agent, pc), steered);
            }
            Some((condition, steered)) => {
                let dependence = self.dependence(condition, (record.agent, pc), steered);
                self.watch.deferred.get_or_insert(dependence);
            }
            None => self.watch.values(of).carriers.extend(flow.stores_of(&self.program.steps, pc)),
        }
    }

    /// Checks an instruction whose results another schedule may change.
    pub fn check_varying(&mut self, cta: &Cta, thread: u32, pc: Pc) {
        if !self.watches() {
            return;
        }
        if let Some(steered) = self.flow.steered_by(&self.program.steps, pc) {
            let is_wait = |family: Family| crate::flow::is_mbarrier_wait(family);
            let pattern = match &self.program.steps[pc as usize].op {
                Op::Asynchronous(of) if is_wait(of.form.family()) => Pattern::Answer,
                Op::Access(_) | Op::Matrix(_) | Op::Asynchronous(_) => Pattern::Race,
                _ => Pattern::Machine,
            };
            let agent = cta.order[thread as usize].clock.agent;
            self.depend(Condition::Steered(pattern), (agent, pc), Some(steered));
        } else {
            self.vary_stored(pc);
        }
    }
}
