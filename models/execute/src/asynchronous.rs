//! Asynchronous operations: the operations in flight, the waits for them, and their completion.
//!
//! An operation that an mbarrier tracks is in flight until the machine completes it, in any order. At its completion it
//! moves its data, and its accesses are checked with the clock of its start. An operation for which a thread waits
//! directly (a group, `tcgen05.wait`) is checked when it starts, under the number in its chain that the wait will see.

mod bulk;
mod copy;
mod fence;
mod mbarrier;
mod memory;
mod multiply;
pub mod reduce;
mod store;
mod tcgen05;
mod tensor_map;
mod tensor_memory;
mod wgmma;

use ptx_isa::{Family, Role, Space};

use crate::in_flight::{Begun, Chain, Effect, Key, Line, ROUNDS, TRIAL_ROUNDS, resolve};
use crate::{
    access::Lane,
    clock::{Agent, Clock, Epoch, INDEX_BITS, JoinedPasts},
    code::{Given, Operation, Source},
    machine::{Cta, Machine},
    memory::Region,
    report::FaultKind,
    warp::{Lanes, Wait, Warp, each},
};

impl Machine<'_> {
    /// Completes an operation.
    pub fn complete(&mut self, op: Begun) -> bool {
        let index = op.cta as usize;
        if let Some(mut cta) = self.ctas.get_mut(index).and_then(Option::take) {
            self.finish_operation(&mut cta, op);
            self.ctas[index] = Some(cta);
        }
        self.change();
        self.wake();
        true
    }

    fn finish_operation(&mut self, cta: &mut Cta, op: Begun) {
        match op.effect {
            Effect::Move(ref of) => self.finish_move(cta, &op, of),
            Effect::Tensor(ref of) => self.finish_tensor(cta, of),
            Effect::Commit(ref keys, agent, epoch, ref issued) => {
                self.finish_commit(cta, &op, keys, (agent, epoch), issued);
            }
            Effect::Cancel(ref places) => self.finish_cancel(cta, &op, places),
        }
    }

    /// Completes the operations of a CTA for which `is` holds.
    fn finish_those(&mut self, cta: &mut Cta, is: impl Fn(&Begun) -> bool) {
        let mut index = 0;
        while index < self.in_flight.queue.len() {
            if self.in_flight.queue[index].cta == cta.index && is(&self.in_flight.queue[index]) {
                if let Some(op) = self.in_flight.queue.remove(index) {
                    self.finish_operation(cta, op);
                }
            } else {
                index += 1;
            }
        }
    }

    /// Lets the threads continue whose event has happened.
    pub fn wake(&mut self) {
        for (cta, wait) in std::mem::take(&mut self.in_flight.woken) {
            let Some(Some(cta)) = self.ctas.get_mut(cta as usize) else { continue };
            let groups = cta.warps.iter_mut().flat_map(|warp| &mut warp.groups);
            groups.filter(|group| group.wait == wait).for_each(|group| group.wait = Wait::Ready);
        }
    }

    /// Ends waits for mbarriers before their event when nothing else can happen, so that a polling kernel continues.
    pub fn give_up_waits(&mut self) -> bool {
        let flight = &mut self.in_flight;
        if flight.version != self.version {
            (flight.version, flight.rounds) = (self.version, 0);
        }
        flight.rounds += 1;
        if flight.rounds > if self.is_trial { TRIAL_ROUNDS } else { ROUNDS } {
            return false;
        }
        let mut any = false;
        for index in self.running.clone() {
            let Some(cta) = self.ctas[index as usize].as_mut() else { continue };
            for (warp, given_up) in cta.warps.iter_mut().zip(&mut cta.asynchronous.given_up) {
                for group in warp.groups.iter_mut().filter(|group| group.wait == Wait::Mbarrier) {
                    group.wait = Wait::Ready;
                    *given_up |= group.lanes;
                    any = true;
                }
            }
        }
        any
    }

    /// Completes all operations in flight at the end of the grid.
    pub fn flush(&mut self) {
        while let Some(op) = self.in_flight.deliver_one(&mut |_| true) {
            self.complete(op);
        }
    }

    /// Checks and completes the operations of a CTA whose threads have all ended.
    pub fn end_of_cta(&mut self, cta: &mut Cta) {
        self.check_bulk_reads(cta);
        self.check_leaks(cta);
        self.check_changes(cta);
        self.report_laps(cta);
        self.finish_those(cta, |_| true);
        self.check_bytes(cta);
        if self.cluster == 1 {
            self.in_flight.barriers.retain(|(owner, _), _| *owner != cta.index);
        }
    }

    /// The agent of a chain of a CTA, whose operations are attributed to a thread.
    fn agent(&mut self, cta: &mut Cta, chain: Chain, thread: u32) -> Agent {
        let own = &mut cta.asynchronous;
        let next = &mut own.next;
        let agent = *own.chains.entry(chain).or_insert_with(|| {
            let index = (*next).min((1 << INDEX_BITS) - 1);
            *next += 1;
            cta.index << INDEX_BITS | index
        });
        self.owners.insert(agent, thread);
        agent
    }

    /// Begins an operation of a chain: its agent and its number.
    fn begin_of(&mut self, cta: &mut Cta, chain: Chain, thread: u32) -> (Agent, Epoch) {
        (self.agent(cta, chain, thread), cta.asynchronous.start(chain))
    }

    /// The clock of a thread at the start of an operation. Later events of the thread do not happen before the
    /// operation.
    fn start_clock(&self, cta: &mut Cta, thread: u32) -> Clock {
        let own = &mut cta.order[thread as usize].clock;
        let start = own.clone();
        own.advance();
        start
    }

    /// The clock of an operation that lanes start together.
    fn joined(&self, cta: &Cta, warp: &Warp, lanes: Lanes) -> Clock {
        let mut joined = JoinedPasts::default();
        Self::threads(warp, lanes).for_each(|(_, thread)| joined.join(&cta.order[thread as usize].clock));
        Clock::from_past(joined.past())
    }

    /// Puts an operation in flight.
    fn launch_operation(&mut self, cta: &mut Cta, at: Lane, line: Option<Line>, effect: Effect) {
        let start = self.start_clock(cta, at.thread);
        let op = Begun { cta: cta.index, thread: at.thread, pc: at.pc, start, line, effect };
        self.in_flight.queue.push_back(op);
    }

    /// The value of an operand, if the instruction has it.
    fn operand(&self, cta: &Cta, warp: &Warp, at: Lane, of: &Operation, role: Role) -> Option<u64> {
        match of.given(role)? {
            Given::One(source) => Some(self.value(cta, warp, at.base, at.lane, *source)),
            Given::Address(address) => Some(self.address(cta, warp, at.base, at.lane, *address)),
            Given::Tensor(map, _) => Some(self.value(cta, warp, at.base, at.lane, *map)),
            Given::Many(_) => None,
        }
    }

    fn number(&self, cta: &Cta, warp: &Warp, at: Lane, of: &Operation, role: Role) -> u64 {
        self.operand(cta, warp, at, of, role).unwrap_or(0)
    }

    /// Whether a predicate is true, or a constant is not zero.
    fn holds(&self, cta: &Cta, warp: &Warp, at: Lane, of: &Operation, role: Role) -> bool {
        match of.given(role) {
            Some(Given::One(source @ (Source::Reg(_) | Source::Not(_)))) => {
                self.value(cta, warp, at.base, at.lane, *source) & 1 == 1
            }
            Some(Given::One(source)) => self.value(cta, warp, at.base, at.lane, *source) != 0,
            _ => false,
        }
    }

    /// The place at the address that an operand gives, in a state space.
    fn place(&self, cta: &Cta, warp: &Warp, at: Lane, of: &Operation, role: Role, space: Space) -> Region {
        resolve(space, self.number(cta, warp, at, of, role))
    }

    /// The key of a place in shared memory.
    fn key(&self, cta: &Cta, place: Region) -> Option<Key> {
        let Region::Shared(rank, offset) = place else { return None };
        Some((self.rank(cta, rank)?, offset))
    }

    /// Writes the result of a role, if it is a register.
    fn give_result(warp: &mut Warp, at: Lane, of: &Operation, role: Role, value: u64) {
        if let Some(register) = of.register(role) {
            warp.set(at.base, register, at.lane, value);
        }
    }

    /// Records a misuse.
    fn misused(&mut self, cta: &Cta, at: Lane, message: String) {
        self.find(cta, FaultKind::Misuse, at.thread, at.pc, None, None, message, None);
    }

    /// Lets the lanes that are done continue after the instruction. The other lanes wait.
    fn go_on(warp: &mut Warp, index: usize, done: Lanes, wait: Wait) {
        let group = warp.groups[index];
        if group.lanes & !done == 0 {
            warp.groups[index].pc += 1;
            return;
        }
        if done != 0 {
            warp.split(index, done, group.pc + 1, Wait::Ready);
        }
        warp.groups[index].wait = wait;
    }

    pub fn asynchronous(&mut self, cta: &mut Cta, warp: &mut Warp, index: usize, of: &Operation) {
        use Family::*;
        match of.form.family() {
            MbarrierInit
            | MbarrierInval
            | MbarrierExpectTx
            | MbarrierCompleteTx
            | MbarrierArrive
            | MbarrierArriveExpectTx
            | MbarrierArriveNoComplete
            | MbarrierArriveDrop
            | MbarrierArriveDropExpectTx
            | MbarrierArriveDropNoComplete
            | MbarrierTestWait
            | MbarrierTestWaitParity
            | MbarrierTryWait
            | MbarrierTryWaitParity
            | MbarrierPendingCount
            | CpAsyncMbarrierArrive => {
                self.mbarrier(cta, warp, index, of);
            }
            BarrierClusterWait => {
                let group = warp.groups[index];
                let done = self.cluster_wait(cta, warp, group.lanes, group.pc);
                Self::go_on(warp, index, done, Wait::Cluster);
            }
            WgmmaFence | WgmmaCommitGroup | WgmmaWaitGroup | WgmmaMmaAsync | WgmmaMmaAsyncSp => {
                self.wgmma(cta, warp, index, of);
            }
            Tcgen05Alloc
            | Tcgen05Dealloc
            | Tcgen05WaitLd
            | Tcgen05WaitSt
            | Tcgen05RelinquishAllocPermit
            | Tcgen05Ld
            | Tcgen05LdRed
            | Tcgen05St => self.tensor_of_warp(cta, warp, index, of),
            _ => {
                let group = warp.groups[index];
                for lane in each(group.lanes) {
                    let thread = warp.first + lane as u32;
                    let at = Lane { lane, thread, pc: group.pc, base: group.base };
                    self.of_lane(cta, warp, at, of, lane == group.lanes.trailing_zeros() as usize);
                }
                warp.groups[index].pc += 1;
            }
        }
    }

    /// Executes an operation that each lane performs separately.
    fn of_lane(&mut self, cta: &mut Cta, warp: &mut Warp, at: Lane, of: &Operation, is_first: bool) {
        use Family::*;
        match of.form.family() {
            CpAsync | CpAsyncCommitGroup | CpAsyncWaitGroup | CpAsyncWaitAll => self.copy(cta, warp, at, of),
            CpAsyncBulk | CpReduceAsyncBulk => self.bulk(cta, warp, at, of),
            CpAsyncBulkTensor | CpReduceAsyncBulkTensor => self.bulk_tensor(cta, warp, at, of),
            CpAsyncBulkCommitGroup => cta.asynchronous.bulk.entry(at.thread).or_default().commit(),
            CpAsyncBulkWaitGroup => self.wait_for_bulk(cta, warp, at, of),
            TensormapReplaceTile => self.replace_map(cta, warp, at, of),
            TensormapCpFenceproxy => self.copy_map(cta, warp, at, of, is_first),
            StBulk => self.store_bulk(cta, warp, at, of),
            StAsync | RedAsync => self.store_async(cta, warp, at, of),
            ClusterlaunchcontrolTryCancelAsync => self.try_cancel(cta, warp, at, of),
            ClusterlaunchcontrolQueryCancel => self.query_cancel(cta, warp, at, of),
            Tcgen05Mma | Tcgen05MmaWs | Tcgen05MmaSp | Tcgen05MmaWsSp => self.tensor_multiply(cta, warp, at, of),
            Tcgen05Cp => self.tensor_copy(cta, warp, at, of),
            Tcgen05Shift => self.tensor_shift(cta, warp, at, of),
            Tcgen05Commit => self.tensor_commit(cta, warp, at, of),
            _ => self.fence_of(cta, warp, at, of),
        }
    }
}
