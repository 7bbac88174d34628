//! mbarriers (section 9.7.13.15): phases, arrivals, and waits.

use std::rc::Rc;

use ptx_isa::{Family, ModifierKind, Role, Scope, Space};

use crate::in_flight::{Begun, Chain, Key, Mbarrier, Refused, record};
use crate::{
    access::{Lane, shared_key},
    clock::{Agent, Clock, Epoch, Past},
    code::Operation,
    flow::Answer,
    launch::Schedule,
    learned::MbarrierEvent,
    machine::{Cta, Machine},
    memory::Region,
    phases::Phases,
    report::{Condition, FaultKind},
    shadow::Info,
    sync::Message,
    warp::{Wait, Warp, each},
};

/// The maximum arrival count, and the maximum absolute transaction count (section 9.7.13.15.2).
const MOST: u64 = (1 << 20) - 1;

/// An arrival.
#[derive(Clone, Copy)]
struct Arrival {
    count: u64,
    /// The bytes that the arrival adds to the transaction count.
    bytes: u64,
    drops: bool,
    /// The scope, and whether the arrival releases.
    scope: Scope,
    releases: bool,
}

impl Machine<'_> {
    /// Executes an instruction that arrives at, waits for, or initializes mbarriers.
    pub fn mbarrier(&mut self, cta: &mut Cta, warp: &mut Warp, index: usize, of: &Operation) {
        let group = warp.groups[index];
        let family = of.form.family();
        let space = of.form.spaces().next().unwrap_or(Space::Generic);
        let mut done = 0;
        for lane in each(group.lanes) {
            let at = Lane { lane, thread: warp.first + lane as u32, pc: group.pc, base: group.base };
            if family == Family::MbarrierPendingCount {
                let state = self.number(cta, warp, at, of, Role::State);
                Self::give_result(warp, at, of, Role::Count, state & 0xffff_ffff);
                done |= 1 << lane;
                continue;
            }
            let place = self.place(cta, warp, at, of, Role::Barrier, space);
            let Some(key) = self.key(cta, place).filter(|_| self.bytes(cta, place, 8).is_some()) else {
                let name = self.place_name(place);
                self.outside(cta, at.thread, at.pc, name);
                done |= 1 << lane;
                continue;
            };
            let is_own = matches!(space, Space::Shared | Space::SharedCta);
            if is_own && key.0 != cta.index {
                let name = self.place_name(place);
                self.misused(cta, at, format!("`{name}` is in another CTA, and `.{space}` is the CTA of the thread"));
            }
            let is_done = match family {
                Family::MbarrierInit => {
                    self.make(cta, warp, at, of, (place, key));
                    true
                }
                _ => self.at_barrier(cta, warp, at, of, (place, key)),
            };
            done |= u32::from(is_done) << lane;
        }
        Self::go_on(warp, index, done, Wait::Mbarrier);
    }

    /// Executes an instruction at an mbarrier for a lane. Returns whether the lane is done; otherwise it waits.
    fn at_barrier(
        &mut self,
        cta: &mut Cta,
        warp: &mut Warp,
        at: Lane,
        of: &Operation,
        (place, key): (Region, Key),
    ) -> bool {
        use Family::*;
        let family = of.form.family();
        let gives_up = cta.asynchronous.gives_up(at.thread);
        if !self.in_flight.barriers.contains_key(&key) {
            if gives_up {
                let name = self.place_name(place);
                self.misused(cta, at, format!("`{name}` is not an mbarrier: no thread has initialized it"));
                Self::give_result(warp, at, of, Role::Done, 1);
            }
            return gives_up;
        }
        let (scope, is_relaxed) = synchronizes(of, self.options.lenient);
        let arrival = Arrival {
            count: self.operand(cta, warp, at, of, Role::Count).unwrap_or(1) & 0xffff_ffff,
            bytes: self.number(cta, warp, at, of, Role::Bytes) & 0xffff_ffff,
            drops: matches!(family, MbarrierArriveDrop | MbarrierArriveDropExpectTx | MbarrierArriveDropNoComplete),
            scope,
            releases: !is_relaxed,
        };
        match family {
            MbarrierTestWait | MbarrierTestWaitParity | MbarrierTryWait | MbarrierTryWaitParity => {
                return self.wait(cta, warp, at, of, (place, key), gives_up);
            }
            MbarrierInval => {
                self.touch_barrier(cta, at, place, true);
                self.in_flight.barriers.remove(&key);
            }
            MbarrierExpectTx => {
                self.touch_barrier(cta, at, place, false);
                self.expect_in_phase(cta, at, key);
                self.expect(cta, at, key, arrival.bytes as i64);
            }
            MbarrierCompleteTx => {
                self.touch_barrier(cta, at, place, false);
                self.expect(cta, at, key, -(arrival.bytes as i64));
                self.settle(key);
            }
            CpAsyncMbarrierArrive => {
                self.touch_barrier(cta, at, place, false);
                self.arrive_after_copies(cta, at, key, of.form.has("noinc"));
            }
            _ => {
                self.touch_barrier(cta, at, place, false);
                let state = self.arrive(cta, at, key, arrival);
                Self::give_result(warp, at, of, Role::State, state);
            }
        }
        true
    }

    /// `mbarrier.init`
    fn make(&mut self, cta: &mut Cta, warp: &Warp, at: Lane, of: &Operation, (place, key): (Region, Key)) {
        let count = self.number(cta, warp, at, of, Role::Count) & 0xffff_ffff;
        let name = self.place_name(place);
        if count == 0 || count > MOST {
            let message = format!("expected 1 to {MOST} arrivals for the mbarrier `{name}`, found {count}");
            self.find(cta, FaultKind::BarrierCount, at.thread, at.pc, None, Some(name.clone()), message, None);
        }
        if self.in_flight.barriers.contains_key(&key) {
            self.misused(cta, at, format!("the instruction initializes `{name}`, which is already an mbarrier"));
        }
        // The write belongs to a separate chain, which `fence.mbarrier_init` releases.
        let (agent, epoch) = self.begin_of(cta, Chain::Init(at.thread), at.thread);
        let of_init = record(agent, epoch, Info::new(at.pc, 8, None, true));
        if self.options.races {
            self.touch(cta, at.thread, place, 8, of_init, None, None, false);
        }
        cta.order[at.thread as usize].clock.see(agent, epoch);
        self.write(cta, place, &[0; 8]);
        let barrier = Mbarrier {
            count,
            pending: count,
            phase: 0,
            bytes: 0,
            message: Message::default(),
            done: Rc::default(),
            order: Past::default(),
            done_order: Rc::default(),
            phases: Phases::default(),
        };
        self.in_flight.barriers.insert(key, barrier);
        self.in_flight.wake(key.0, Wait::Mbarrier);
        self.change();
    }

    /// Checks a write of data: an mbarrier there must have been invalidated before (section 9.7.13.15.3).
    pub fn overwrite_barrier(&mut self, cta: &Cta, at: Lane, place: Region, bytes: u64) {
        let Region::Shared(rank, offset) = place else { return };
        if self.in_flight.barriers.is_empty() {
            return;
        }
        let Some(owner) = self.rank(cta, rank) else { return };
        let mut all = (offset & !7..offset + bytes).step_by(8);
        if let Some(barrier) = all.find(|offset| self.in_flight.barriers.contains_key(&(owner, *offset))) {
            let name = self.name_of_shared(barrier);
            self.misused(cta, at, format!("the write overwrites `{name}`, which is still an mbarrier"));
        }
    }

    /// Checks an access of an mbarrier by an instruction that uses it, or ends it.
    fn touch_barrier(&mut self, cta: &mut Cta, at: Lane, place: Region, ends: bool) {
        if self.options.races {
            let clock = &cta.order[at.thread as usize].clock;
            let access = record(clock.agent, clock.own, Info::new(at.pc, 8, None, ends));
            let works = cta.asynchronous.works[at.thread as usize];
            self.touch(cta, at.thread, place, 8, access, None, None, false);
            cta.asynchronous.works[at.thread as usize] = works;
        }
    }

    /// Changes the transaction count of an mbarrier by a number of bytes.
    fn expect(&mut self, cta: &Cta, at: Lane, key: Key, bytes: i64) {
        let Some(barrier) = self.in_flight.barriers.get_mut(&key) else { return };
        barrier.bytes = barrier.bytes.saturating_add(bytes);
        if self.is_trial && bytes > 0 {
            self.learned.record_event(MbarrierEvent::Expects(key, bytes.cast_unsigned()));
        }
        if barrier.bytes.unsigned_abs() > MOST {
            let (place, owner) = (self.name_of_shared(key.1), key.0);
            let message = format!("the mbarrier `{place}` of CTA {owner} expects more than {MOST} bytes");
            self.find(cta, FaultKind::BarrierCount, at.thread, at.pc, None, Some(place), message, None);
        }
    }

    /// Executes an arrival. Returns the state before it.
    fn arrive(&mut self, cta: &mut Cta, at: Lane, key: Key, of: Arrival) -> u64 {
        if of.bytes > 0 {
            self.expect(cta, at, key, of.bytes as i64);
        }
        let (cluster, races) = (self.cluster, self.options.races);
        let before = cta.asynchronous.before.get(&at.thread).filter(|_| races).cloned();
        let Some(barrier) = self.in_flight.barriers.get_mut(&key) else { return 0 };
        let state = barrier.phase << 32 | barrier.pending;
        let order = &mut cta.order[at.thread as usize];
        let agent = order.clock.agent;
        let is_early = if races { barrier.phases.arrive(&order.clock, (agent, order.clock.own)) } else { None };
        // Without race detection no order is recorded.
        if races && of.releases {
            barrier.message.release(agent, of.scope, &order.clock.past(), cluster);
            order.clock.advance();
        } else if races {
            // A fence before the arrival releases.
            for scope in [Scope::Cta, Scope::Cluster, Scope::Gpu] {
                if let Some(past) = order.pending.fence(scope).filter(|_| scope <= of.scope) {
                    barrier.message.release(agent, scope, past, cluster);
                }
            }
        }
        if let Some(before) = before {
            barrier.order.join(&before);
        }
        if of.drops {
            barrier.count = barrier.count.saturating_sub(of.count.min(1));
        }
        let (missing, count) = (barrier.pending, of.count);
        barrier.pending = missing.saturating_sub(count);
        // If the bytes that nothing expects came after this arrival, the phase would end without them. If the last bytes
        // came before an arrival that the phase does not need, it would be in the next phase.
        let is_early = is_early
            .or((races && barrier.pending == 0 && barrier.bytes < 0).then_some(Condition::LateExpectation))
            .or((races && count > missing).then_some(Condition::EarlyArrival));
        if count > missing || count == 0 || count > MOST {
            let name = self.name_of_shared(key.1);
            let message = format!("{count} arrivals come to the mbarrier `{name}`, whose phase lacks {missing}");
            self.find(cta, FaultKind::BarrierCount, at.thread, at.pc, None, Some(name), message, None);
        }
        if let Some(condition) = is_early {
            self.depend_at(cta, condition, at.thread, at.pc);
        }
        self.settle(key);
        state
    }

    /// Records that a thread expects more bytes or arrivals in the current phase.
    fn expect_in_phase(&mut self, cta: &Cta, at: Lane, key: Key) {
        let clock = &cta.order[at.thread as usize].clock;
        if let Some(barrier) = self.in_flight.barriers.get_mut(&key).filter(|_| self.options.races)
            && let Some(condition) = barrier.phases.expect(clock, at.pc)
        {
            self.depend_at(cta, condition, at.thread, at.pc);
        }
    }

    /// Ends the phase of an mbarrier if no arrival and no byte is missing.
    fn settle(&mut self, key: Key) {
        let Some(barrier) = self.in_flight.barriers.get_mut(&key) else { return };
        if barrier.pending != 0 || barrier.bytes != 0 {
            return;
        }
        barrier.phase += 1;
        barrier.pending = barrier.count;
        barrier.done = Rc::new(std::mem::take(&mut barrier.message));
        barrier.done_order = Rc::new(std::mem::take(&mut barrier.order));
        let failed = barrier.phases.settle();
        self.depend_all(failed);
        self.in_flight.wake(key.0, Wait::Mbarrier);
        if self.is_trial {
            self.learned.record_event(MbarrierEvent::Settles(key));
        }
        self.change();
    }

    /// Executes a test or a wait. Returns whether the lane continues.
    fn wait(
        &mut self,
        cta: &mut Cta,
        warp: &mut Warp,
        at: Lane,
        of: &Operation,
        (place, key): (Region, Key),
        gives_up: bool,
    ) -> bool {
        let family = of.form.family();
        let blocks = matches!(family, Family::MbarrierTryWait | Family::MbarrierTryWaitParity);
        let Some(barrier) = self.in_flight.barriers.get(&key) else { return true };
        let parity = self.operand(cta, warp, at, of, Role::Parity).map(|parity| parity & 1);
        let is_over = match parity {
            Some(parity) => barrier.phase & 1 != parity,
            None => barrier.phase > self.number(cta, warp, at, of, Role::State) >> 32,
        };
        if let Some(Answer::Skips(_)) = self.flow.answers.get(&at.pc)
            && self.watches()
        {
            // The answer may be no in every schedule, and the thread then waits by another instruction.
            let clock = cta.order[at.thread as usize].clock.clone();
            cta.asynchronous.refused.insert(at.thread, Refused { key, parity, pc: at.pc, clock });
            Self::give_result(warp, at, of, Role::Done, 0);
            return true;
        }
        if !is_over {
            if let Some(parity) = parity.filter(|_| self.options.races) {
                cta.asynchronous.blocked.insert(at.thread, (key, parity, at.pc));
            }
            Self::give_result(warp, at, of, Role::Done, 0);
            // The time limit of a wait may expire at once, for all lanes.
            let is_short =
                self.options.schedule != Schedule::RoundRobin && (self.time ^ self.options.seed).is_multiple_of(4);
            let goes_on = !blocks || gives_up || is_short;
            if goes_on {
                cta.asynchronous.tried.insert(at.thread, at.pc);
            }
            return goes_on;
        }
        let (done, order) = (Rc::clone(&barrier.done), Rc::clone(&barrier.done_order));
        cta.asynchronous.tried.remove(&at.thread);
        cta.asynchronous.blocked.remove(&at.thread);
        self.observe(cta, at, key, parity);
        // The wait itself does not order the thread after the initialization of the mbarrier.
        let (scope, is_relaxed) = synchronizes(of, self.options.lenient);
        self.touch_barrier(cta, at, place, false);
        if self.options.races {
            let own = &mut cta.order[at.thread as usize];
            if is_relaxed {
                own.pending.observe(shared_key(key.0, key.1), &done);
            } else {
                done.acquire(&mut own.clock, scope, self.cluster);
            }
            if *order != Past::default() {
                cta.asynchronous.after.entry(at.thread).or_default().join(&order);
            }
        }
        Self::give_result(warp, at, of, Role::Done, 1);
        true
    }

    /// Checks that a wait observes the same phase in every schedule, before it orders the thread after the phase.
    fn observe(&mut self, cta: &mut Cta, at: Lane, key: Key, parity: Option<u64>) {
        let refused = cta.asynchronous.refused.remove(&at.thread);
        cta.asynchronous.waits[at.thread as usize] = true;
        if !self.options.races {
            return;
        }
        let clock = &cta.order[at.thread as usize].clock;
        let Some(barrier) = self.in_flight.barriers.get_mut(&key) else { return };
        let follows = parity.is_none() || barrier.phases.follows(refused.as_ref().map_or(clock, |wait| &wait.clock));
        barrier.phases.observe(clock, at.pc);
        let agent = clock.agent;
        if !follows {
            self.watch.observes_late_phase(agent);
            self.depend(Condition::EarlyWait, (agent, at.pc), None);
        }
        if let Some(wait) = refused {
            let is_next = match self.flow.answers.get(&wait.pc) {
                Some(Answer::Skips(waits)) => waits.contains(&at.pc),
                _ => false,
            };
            if !is_next || (wait.key, wait.parity) != (key, parity) {
                self.depend(Condition::OtherWait, (agent, wait.pc), Some(at.pc));
            }
        }
    }

    /// Arrives when all `cp.async` of the thread are complete. Without `.noinc` the arrival also increases the pending
    /// count.
    fn arrive_after_copies(&mut self, cta: &mut Cta, at: Lane, key: Key, is_counted: bool) {
        let agent = self.agent(cta, Chain::Copy(at.thread), at.thread);
        let epoch = cta.asynchronous.copies.get(&at.thread).map_or(0, |groups| groups.started);
        if let Some(barrier) = self.in_flight.barriers.get_mut(&key)
            && !is_counted
        {
            barrier.pending += 1;
            self.expect_in_phase(cta, at, key);
        }
        let mut past = Past::default();
        past.see(agent, epoch);
        past.issue(&cta.order[at.thread as usize].clock);
        let start = cta.order[at.thread as usize].clock.clone();
        self.arrive_of_operation(cta, at, key, &past, (&start, (agent, epoch)));
    }

    /// Executes an arrival by completed operations.
    pub fn arrive_of_operation(
        &mut self,
        cta: &Cta,
        at: Lane,
        key: Key,
        past: &Past,
        (start, event): (&Clock, (Agent, Epoch)),
    ) {
        let (cluster, races) = (self.cluster, self.options.races);
        let agent = cta.order[at.thread as usize].clock.agent;
        let Some(barrier) = self.in_flight.barriers.get_mut(&key) else {
            let name = self.name_of_shared(key.1);
            return self.misused(cta, at, format!("`{name}` is not an mbarrier when an operation completes"));
        };
        if races {
            barrier.message.release(agent, Scope::Cluster, past, cluster);
            barrier.order.join(past);
            if let Some(condition) = barrier.phases.arrive(start, event) {
                self.depend_at(cta, condition, at.thread, at.pc);
            }
        }
        let Some(barrier) = self.in_flight.barriers.get_mut(&key) else { return };
        if barrier.pending == 0 {
            let name = self.name_of_shared(key.1);
            let message = format!("one more arrival comes to the mbarrier `{name}`, whose phase lacks none");
            self.find(cta, FaultKind::BarrierCount, at.thread, at.pc, None, Some(name), message, None);
        } else {
            barrier.pending -= 1;
        }
        self.settle(key);
    }

    /// Completes bytes of an operation at an mbarrier, under the next number of the mbarrier's chain.
    pub fn complete_bytes(&mut self, cta: &Cta, op: &Begun, key: Key, bytes: u64, (agent, epoch): (Agent, Epoch)) {
        let at = Lane { lane: 0, thread: op.thread, pc: op.pc, base: 0 };
        let (cluster, races) = (self.cluster, self.options.races);
        let Some(barrier) = self.in_flight.barriers.get_mut(&key) else {
            let name = self.name_of_shared(key.1);
            return self.misused(cta, at, format!("`{name}` is not an mbarrier when an operation completes"));
        };
        if races {
            let mut past = op.start.past().chains(cta.threads);
            past.see(agent, epoch);
            past.issue(&op.start);
            barrier.message.release(op.start.agent, Scope::Cluster, &past, cluster);
            barrier.order.join(&past);
            if let Some(condition) = barrier.phases.complete(&op.start, (agent, epoch)) {
                self.depend_at(cta, condition, at.thread, at.pc);
            }
        }
        self.expect(cta, at, key, -i64::try_from(bytes).unwrap_or(i64::MAX));
        self.settle(key);
    }
}

/// The scope of an arrival or a wait, and whether it is relaxed. The default scope is `.cta` (section 9.7.13.15), and
/// ptxas generates the same machine code without a scope and with `.cta`. Kernels nevertheless rely on the scope of the
/// cluster, so `is_lenient` widens the scope to it.
fn synchronizes(of: &Operation, is_lenient: bool) -> (Scope, bool) {
    let is_relaxed = of.form.modifier(ModifierKind::Semantics) == Some("relaxed");
    let scope = of.form.scope().unwrap_or(Scope::Cta);
    (if is_lenient { scope.max(Scope::Cluster) } else { scope }, is_relaxed)
}
