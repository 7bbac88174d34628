//! The dataflow analysis: the states of the accesses that are in flight on a path, and the effect of each event on
//! them.
//!
//! # The lattice
//!
//! Every access that a later access may depend on has a number, the number of its [`Token`]. At a point of a path,
//! [`States`] has a set of [`State`]s for each access that may be in flight there. A state has the progress of the
//! access ([`Progress`]) and the conditions that are assumed of the followed thread.
//!
//! - **Bottom** is the empty set: the access is not in flight.
//! - **Order**: a set A is below a set B if, for each state of A, B has a state with the same or less progress that
//!   assumes no more.
//! - **Join** ([`join`]) has the states of both sets. Of two states with the same progress it keeps one, which assumes
//!   the conditions that both assume. Different progress is not merged: a wait that is missing on one of two paths
//!   stays visible after they join. But a state to which fewer signals were given ([`State::subsumes`]) lacks
//!   everything that the other state may lack, so the join drops the other state.
//! - **Height** is finite: progress has finitely many values, and the assumed conditions only shrink.
//!
//! # The transitions
//!
//! The effect of an event on a state of an access ([`Transition::apply`]). "Informs" is the effect of an arrival
//! that other threads may wait for ([`Transition::apply_arrival`]), "learns" that of a wait ([`Transition::apply_wait`]).
//! An event changes only the fields that the table names.
//!
//! | event | which accesses | then |
//! | --- | --- | --- |
//! | `Wait` | any | its thread learns of the accesses that the arrivals inform of |
//! | `Barrier` of a warp | complete | `is_known_in_warp` |
//! | `Barrier` of a CTA or cluster | any | it informs if the event arrives, and its thread learns if the event waits |
//! | `Atomic` that acquires | not `is_known_complete` | `is_doubtful` |
//! | `Unknown` | any | `is_doubtful` |
//! | any other event | `is_foreign` | nothing: the followed thread does not know of the access |
//! | `TensorWait` | `tcgen05.ld` or `.st` of the direction, not `is_known_complete` | complete |
//! | `TensorCommit` | tcgen05 operation of the group that it commits | the signal is added to `completion_signals` |
//! | `TensorCommit` | any other access that is complete | it informs |
//! | `TensorFence::Before` | tcgen05 operation | `has_fence_before` |
//! | `TensorFence::After` | `is_known_started` | `has_fence_after` |
//! | these three, `Allocate`, `Deallocate`, `Relinquish` | complete | `has_fence_after` |
//! | `CommitGroup` | of these groups, not complete | its `age` grows |
//! | `WaitGroup` | of these groups | complete if its `age` exceeds `pending`, `is_left_in_flight` otherwise |
//! | `CopyArrive` | `cp.async` | the signal is added to `completion_signals` |
//! | `MatrixFence` | any | `has_matrix_fence` |
//! | `ProxyFence` | complete | `is_fenced` or `is_half_fenced` ([`Transition::apply_proxy_fence`]) |
//! | `InitializeFence` | initialization of an mbarrier | `is_released`, `is_fenced` |
//! | `Arrive` | any | it informs |
//! | `Fence` that releases | complete | `is_released` |
//! | `Fence` that acquires | `is_observed_relaxed` | complete and `is_known_complete` |
//! | `Access`, `Start`, `Initialize`, `Invalidate` | any | nothing: they begin other accesses |
//!
//! An access of registers concerns its own thread alone: only `CommitGroup`, `WaitGroup` and `MatrixFence` change it.
//! An allocation is in flight until it is freed, independent of its progress.

use std::rc::Rc;

use ptx_isa::{
    Stop,
    effects::{OneSided, ProxyFence, TensorFence},
};
use ptx_memory_model::ptx::readings::{Ambiguity, Reading, Readings};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    assumed::{Assumed, Assumptions, limited},
    barriers::{Barriers, Signals},
    coverage::{Cover, Coverage, Foreign},
    graph::{EventGraph, Point},
    notices::Notices,
    token::{Round, Token, TokenKind},
};
use crate::{
    kernel::{Barrier, BarrierId, Condition, Event, EventKind, Operation, Space},
    options::Budget,
};

// The lattice.

/// The states in which an access may be in flight.
pub type States = Vec<State>;

/// One state of an access along a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    pub progress: Progress,
    /// The conditions that are assumed of the followed thread.
    pub assumed: Assumed,
}

/// The progress of an access at a point of a path, as the thread that did it knows it and, once it is shared, as all
/// threads at the point know it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Progress {
    pub done: Done,
    /// The number of groups that were committed after the access.
    pub age: u8,
    /// The signals that the completion of the access gives.
    pub completion_signals: Signals,
    /// The signals that its thread gave when the access was complete.
    pub informed_complete: Signals,
    /// The signals of `informed_complete` that it gave after a proxy fence.
    pub informed_complete_fenced: Signals,
    /// The signals that its thread gave when the access had started, after a fence that orders the start before them.
    pub informed_started: Signals,
    /// The barriers of the CTA at which its thread arrived when the access was in flight.
    pub barriers_in_flight: Signals,
    /// Whether all threads at the point know that the access is complete.
    pub is_known_complete: bool,
    /// Whether all threads at the point know that the access has started.
    pub is_known_started: bool,
    /// Whether the other threads of the warp know that the access is complete.
    pub is_known_in_warp: bool,
    /// The conditions of the threads that know that the access is complete: their number in [`Flow::condition_sets`].
    pub condition_set: usize,
    /// Whether a proxy fence lies between the access and the point.
    pub is_fenced: bool,
    /// Whether the first half of a proxy fence lies between the access and the point.
    pub is_half_fenced: bool,
    /// Whether its thread has executed a releasing fence since the access was complete.
    pub is_released: bool,
    /// Whether a relaxed wait has observed the completion.
    pub is_observed_relaxed: bool,
    /// Whether `tcgen05.fence::before_thread_sync` follows the access.
    pub has_fence_before: bool,
    /// Whether `tcgen05.fence::after_thread_sync`, or an event with the same effect, follows the event that ordered the
    /// access.
    pub has_fence_after: bool,
    /// Whether `wgmma.fence` follows the access.
    pub has_matrix_fence: bool,
    /// The number of iterations by which values in its address may be outdated; 2 means two or more.
    pub stale_iterations: u8,
    /// Whether the access passed a wait that leaves the latest groups in flight, as a pipeline does. For an access of
    /// another role: whether it is the next access of that role, after the access that was waited for.
    pub is_left_in_flight: bool,
    /// Whether it is undecided if the wait was for this access.
    pub is_doubtful: bool,
    /// Whether another role did the access, and no signal told the threads at the point.
    pub is_foreign: bool,
    /// Whether the signal that told the threads at the point was about an earlier iteration.
    pub is_of_earlier_iteration: bool,
    /// Whether possibly no execution has the access in flight at the point, because that needs a loop with no
    /// iteration.
    pub needs_empty_loop: bool,
    /// For an access of another role: whether an access of an earlier iteration has been waited for, so that this
    /// access is to the next element of a ring.
    pub is_next_ring_element: bool,
}

/// The part of its operation that is over, according to the waits of its thread.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Done {
    #[default]
    No,
    /// The operation has finished its reads.
    Reads,
    Yes,
}

impl Progress {
    /// The state of an access just after its event, which gives a signal.
    pub fn issued(token: &Token<'_>, signal: Signals) -> Self {
        let completion_signals = if token.operation() == Some(&Operation::BulkLoad) { signal } else { 0 };
        let done = if token.operation().is_some() { Done::No } else { Done::Yes };
        Self { done, completion_signals, ..Self::default() }
    }

    /// The signals that were given about the access.
    fn signals(&self) -> [Signals; 4] {
        [self.completion_signals, self.informed_complete, self.informed_complete_fenced, self.informed_started]
    }

    fn with_signals(
        self,
        [completion_signals, informed_complete, informed_complete_fenced, informed_started]: [Signals; 4],
    ) -> Self {
        Self { completion_signals, informed_complete, informed_complete_fenced, informed_started, ..self }
    }

    /// The iteration of a loop in which the access was done.
    pub fn round(&self) -> Round {
        match (self.stale_iterations, self.is_left_in_flight) {
            (0, _) => Round::Same,
            (_, true) => Round::Ahead,
            (1, false) => Round::Earlier,
            (_, false) => Round::Any,
        }
    }

    /// Whether the access is complete: its operation is complete, or has finished its reads and the access is one of
    /// them.
    pub fn is_done(&self, token: &Token<'_>) -> bool {
        self.done == Done::Yes || self.done == Done::Reads && !token.access.writes
    }
}

/// Adds states. Returns whether the set has changed.
pub fn join(assumptions: &mut Assumptions, into: &mut States, from: States) -> bool {
    let mut changed = false;
    for state in from {
        changed |= insert(assumptions, into, state);
    }
    changed
}

/// The limit of states of one access at a point that differ in signals only.
const STATES: usize = 128;

/// Adds a state. Returns whether the set has changed. Two states with equal progress become one, which assumes the
/// conditions that both assume. A state is dropped if another one subsumes it ([`State::subsumes`]). Above the limit,
/// states are merged: the result has the signals that all of them have, and is in doubt.
pub fn insert(assumptions: &mut Assumptions, states: &mut States, state: State) -> bool {
    if let Some(other) = states.iter_mut().find(|other| other.progress == state.progress) {
        let both = assumptions.both(other.assumed, state.assumed);
        return std::mem::replace(&mut other.assumed, both) != both;
    }
    if states.iter().any(|other| other.subsumes(&state, assumptions)) {
        return false;
    }
    states.retain(|other| !state.subsumes(other, assumptions));
    if states.len() >= STATES {
        let nature = |of: &State| Progress { is_doubtful: false, ..of.progress.with_signals([0; 4]) };
        let own = nature(&state);
        if let Some(other) = states.iter_mut().find(|other| nature(other) == own) {
            return other.join(&state, assumptions);
        }
    }
    states.push(state);
    true
}

impl State {
    /// Whether the access has made no more progress in this state than in the other, here and on every path that
    /// follows: the other state has all signals of this one, everything else is the same, and this state assumes no
    /// more.
    fn subsumes(&self, other: &Self, assumptions: &Assumptions) -> bool {
        let signals = self.progress.signals().into_iter().zip(other.progress.signals());
        signals.into_iter().all(|(own, more)| own & !more == 0)
            && self.progress.with_signals([0; 4]) == other.progress.with_signals([0; 4])
            && assumptions.is_within(self.assumed, other.assumed)
    }

    /// Reduces this state to the signals that both states have, if they differ in signals only. Returns whether this
    /// state has changed.
    fn join(&mut self, other: &Self, assumptions: &mut Assumptions) -> bool {
        let (own, others) = (self.progress.signals(), other.progress.signals());
        let both = std::array::from_fn(|at| own[at] & others[at]);
        let joined = Self {
            progress: Progress { is_doubtful: true, ..self.progress.with_signals(both) },
            assumed: assumptions.both(self.assumed, other.assumed),
        };
        std::mem::replace(self, joined) != joined
    }
}

// The transitions.

/// The passing of an event by an access.
pub struct Transition<'t, 'k> {
    pub flow: &'t Flow<'k>,
    pub token: &'t Token<'k>,
    pub crossing: &'t Crossing<'k>,
    /// The points at which another role may begin the access again, if another role does it.
    pub foreign: Option<&'t Foreign>,
    pub coverage: &'t mut Coverage,
}

impl Transition<'_, '_> {
    /// Applies the event to a state of the access. Returns whether the access may also be in flight again, in the state
    /// that it had before the wait.
    pub fn apply(&mut self, state: &mut State) -> bool {
        let (token, kind) = (self.token, &self.crossing.event.kind);
        let of_registers =
            matches!(kind, EventKind::CommitGroup(_) | EventKind::WaitGroup { .. } | EventKind::MatrixFence);
        if token.kind == TokenKind::Allocated || token.access.space == Space::Register && !of_registers {
            return false;
        }
        let now = &mut state.progress;
        let is_done = now.is_done(token);
        match kind {
            EventKind::Wait { semantics, .. } => return self.apply_wait(state, semantics.acquires),
            EventKind::Barrier(Barrier { of: BarrierId::Warp, .. }) => {
                now.is_known_in_warp |= !now.is_foreign && is_done
            }
            EventKind::Barrier(barrier) => return self.apply_barrier(state, barrier),
            EventKind::Atomic { semantics, .. } => now.is_doubtful |= semantics.acquires && !now.is_known_complete,
            EventKind::Unknown(_) => now.is_doubtful = true,
            _ if now.is_foreign => {}
            EventKind::TensorWait(direction) => {
                if token.direction() == Some(*direction) && !now.is_known_complete {
                    now.done = Done::Yes;
                }
                now.has_fence_after |= now.is_done(token);
            }
            // An operation that starts after a commit starts after everything that is over before the commit (A1, in
            // the strict reading).
            EventKind::TensorCommit { group, of, .. } => {
                now.has_fence_after |= is_done;
                if token.is_committed(*group, *of) {
                    self.apply_completion_signal(now);
                } else if is_done {
                    // An access that was over when a product began is over when the product is.
                    self.apply_arrival(now, true);
                }
            }
            EventKind::TensorFence(TensorFence::Before) => {
                now.has_fence_before |= token.is_tensor();
                now.has_fence_after |= is_done;
            }
            EventKind::TensorFence(TensorFence::After) => now.has_fence_after |= is_done || now.is_known_started,
            EventKind::Allocate { .. } | EventKind::Deallocate(_) | EventKind::Relinquish => {
                now.has_fence_after |= is_done
            }
            EventKind::CommitGroup(of) if token.groups() == Some(*of) && !is_done => now.age = (now.age + 1).min(64),
            EventKind::WaitGroup { of, pending, reads_only } if token.groups() == Some(*of) => {
                self.apply_group_wait(now, *pending, *reads_only);
            }
            EventKind::CopyArrive(_) if token.operation() == Some(&Operation::Copy) => {
                self.apply_completion_signal(now)
            }
            EventKind::MatrixFence => now.has_matrix_fence = true,
            EventKind::ProxyFence(fence) => self.apply_proxy_fence(now, *fence),
            EventKind::InitializeFence if token.kind == TokenKind::Initialized => {
                (now.is_released, now.is_fenced) = (true, true)
            }
            EventKind::Arrive { semantics, .. } => self.apply_arrival(now, semantics.releases),
            EventKind::Fence { semantics, .. } => {
                now.is_released |= semantics.releases && is_done;
                if semantics.acquires && now.is_observed_relaxed {
                    now.done = Done::Yes;
                    self.mark_known_complete(now);
                }
            }
            EventKind::CommitGroup(_)
            | EventKind::WaitGroup { .. }
            | EventKind::CopyArrive(_)
            | EventKind::InitializeFence => {}
            EventKind::Access(_) | EventKind::Start(_) | EventKind::Initialize { .. } | EventKind::Invalidate(_) => {}
            EventKind::Global(_) | EventKind::GridWait => {}
        }
        false
    }

    /// The effect of a barrier of the CTA or the cluster at which its thread arrives or waits.
    fn apply_barrier(&mut self, state: &mut State, barrier: &Barrier) -> bool {
        let now = &mut state.progress;
        if barrier.arrives && !now.is_foreign {
            self.apply_arrival(now, barrier.orders);
        }
        if !barrier.waits {
            return false;
        }
        if barrier.of == BarrierId::Cluster && self.token.is_waited_elsewhere() {
            now.done = Done::Yes;
            self.mark_known_complete(now);
            return false;
        }
        self.apply_wait(state, true)
    }

    /// The completion of the access itself signals an mbarrier.
    fn apply_completion_signal(&mut self, now: &mut Progress) {
        now.completion_signals |= self.crossing.signal;
        let cover = self.coverage.entry(self.crossing.signal, self.crossing.point);
        (cover.is_after_completion, cover.is_unfenced) = (true, true);
    }

    /// Its thread waits until at most `pending` groups are pending.
    fn apply_group_wait(&self, now: &mut Progress, pending: u32, reads_only: bool) {
        if now.age > 0 && u32::from(now.age) > pending {
            now.done = now.done.max(if reads_only { Done::Reads } else { Done::Yes });
            // The ring has wrapped around: its element is the next one to be used.
            now.is_left_in_flight = false;
            // Once the access is complete, the number of later groups does not matter. With one age, its states become
            // one.
            now.age *= u8::from(!now.is_done(self.token));
        } else {
            now.is_left_in_flight |= now.age > 0;
        }
    }

    fn apply_proxy_fence(&self, now: &mut Progress, fence: ProxyFence) {
        let (flow, token) = (self.flow, self.token);
        let is_done = now.is_done(token);
        let is_reader = now.is_known_complete;
        let counts = is_done && (!is_reader || flow.is_lenient(Ambiguity::ProxyFenceAtWriter) || !token.is_generic());
        match fence {
            ProxyFence::Async(space)
                if space.is_none_or(|space| Space::from(space) == token.access.space) && counts =>
            {
                // An operation that starts after the fence must itself wait for the fence.
                now.has_fence_after &= now.is_fenced;
                now.is_fenced = true;
            }
            // Tensor maps are in global memory.
            ProxyFence::TensormapHalf(_) if token.access.space != Space::Global => {}
            ProxyFence::AsyncHalf(half) | ProxyFence::TensormapHalf(half) => match half {
                OneSided::Release => now.is_half_fenced |= is_done && !now.is_known_complete,
                OneSided::Acquire => now.is_fenced |= now.is_half_fenced,
            },
            ProxyFence::Async(_) | ProxyFence::Alias | ProxyFence::Fabric => {}
        }
    }

    /// The effect of an arrival of its thread.
    fn apply_arrival(&mut self, now: &mut Progress, releases: bool) {
        let (flow, token, point, signal) = (self.flow, self.token, self.crossing.point, self.crossing.signal);
        // An arrival on the mbarrier of a copy does not complete a phase without the copy.
        if token.operation() == Some(&Operation::BulkLoad) && flow.barriers.signal(token.point) & signal != 0 {
            return;
        }
        let is_relayed = flow.role.is_some();
        let of =
            Cover { is_relayed, condition_set: if is_relayed { now.condition_set } else { 0 }, ..Cover::default() };
        let cover = self.coverage.relayed_entry(signal, point, of);
        if now.is_done(token) && !now.is_known_complete && flow.is_by_few_threads(token, now, point) {
            // The arrival may precede the completion of accesses of other threads.
            cover.is_during_flight = true;
        } else if now.is_done(token) {
            // A wait that has been observed is over, whether or not the arrival releases.
            let is_known = token.access.space == Space::Tensor || token.kind == TokenKind::Waited;
            if releases || now.is_released || is_known {
                now.informed_complete |= signal;
                cover.is_after_completion |= now.barriers_in_flight & signal == 0;
                cover.is_after_restart |= now.is_of_earlier_iteration;
                if now.is_fenced {
                    now.informed_complete_fenced |= signal;
                } else {
                    cover.is_unfenced = true;
                }
            }
        } else {
            now.barriers_in_flight |= signal & flow.barriers.hardware;
            // The completion of the access gives some signals itself. Other arrivals that give these signals do not
            // tell of it.
            cover.is_during_flight |= now.completion_signals & signal == 0;
            if token.is_tensor()
                && (now.has_fence_before || releases && flow.is_lenient(Ambiguity::FenceBesidesRelease))
            {
                now.informed_started |= signal;
                cover.is_after_start = true;
            }
        }
    }

    /// The followed thread has waited: it learns of the accesses that the arrivals tell of. Returns whether the access
    /// may be in flight again.
    fn apply_wait(&mut self, state: &mut State, acquires: bool) -> bool {
        let (flow, crossing, foreign) = (self.flow, self.crossing, self.foreign);
        let now = &mut state.progress;
        let tensor = self.token.access.space == Space::Tensor;
        let (completed, informed, started) = (
            now.completion_signals & crossing.observed,
            now.informed_complete & crossing.observed,
            now.informed_started & crossing.observed,
        );
        let is_doubtful = |signals: Signals| signals & !flow.barriers.doubtful == 0;
        let may_restart = |bit: Signals, cover: Cover| {
            cover.is_after_restart || foreign.is_some_and(|foreign| foreign.restart_signals.contains(&bit))
        };
        let assumed = flow.assumptions.get(state.assumed);
        let is_disjoint =
            |point: Point, condition_set: usize| flow.are_disjoint_threads(crossing, assumed, point, condition_set);
        // Threads that know of the access, and did not do it, learned of it from the thread that did it.
        let from_all = now.is_known_complete && flow.role.is_none();
        let mut covers = (0..128)
            .map(|bit| 1 << bit)
            .filter(|bit| crossing.observed & bit != 0)
            .filter_map(|bit| Some((bit, self.coverage.get(bit, flow.role.as_deref(), from_all, &is_disjoint)?)));
        let mut restarts = false;
        if completed | informed != 0 {
            if !acquires && !tensor {
                now.is_observed_relaxed = true;
                return false;
            }
            now.done = Done::Yes;
            now.is_doubtful |= is_doubtful(completed | informed);
            if informed != 0 && completed == 0 && !now.is_known_complete {
                now.is_fenced = now.informed_complete_fenced & crossing.observed != 0;
            }
        } else if now.is_foreign {
            let good: Vec<_> =
                covers.by_ref().filter(|(_, cover)| cover.is_after_completion || cover.is_after_start).collect();
            let Some(&(bit, cover)) = good.iter().find(|(_, cover)| cover.is_after_completion).or(good.first()) else {
                return false;
            };
            restarts = may_restart(bit, cover);
            now.is_of_earlier_iteration = restarts;
            if !cover.is_after_completion {
                now.is_known_started = true;
                now.condition_set = crossing.condition_set;
                state.assumed = crossing.assumed;
                return restarts;
            }
            now.is_doubtful |= cover.is_during_flight && bit & flow.barriers.hardware == 0 || is_doubtful(bit);
            now.is_foreign = false;
            now.done = Done::Yes;
            now.is_fenced = !cover.is_unfenced;
        } else if let Some((bit, cover)) = covers.find(|(_, cover)| cover.is_after_completion) {
            // The threads that waited for the access tell the thread that did it.
            now.is_doubtful |= is_doubtful(bit);
            now.done = Done::Yes;
            now.is_fenced |= !cover.is_unfenced;
            now.is_of_earlier_iteration &= may_restart(bit, cover);
        } else {
            if started != 0 {
                // The thread of the access itself continues.
                now.is_known_started = true;
                now.condition_set = crossing.condition_set;
            }
            return false;
        }
        if acquires || tensor {
            self.mark_known_complete(now);
            state.assumed = crossing.assumed;
        } else {
            now.is_observed_relaxed = true;
        }
        restarts
    }

    /// Notes that all threads at the point know that the access is complete.
    fn mark_known_complete(&self, now: &mut Progress) {
        now.condition_set =
            if now.is_known_complete && now.condition_set == 0 { 0 } else { self.crossing.condition_set };
        now.is_known_complete = true;
        // The signals given so far have no further use.
        (now.informed_complete, now.informed_complete_fenced, now.informed_started, now.completion_signals) =
            (0, 0, 0, 0);
    }
}

/// The properties of an event that are the same for every access that passes it.
pub struct Crossing<'k> {
    pub point: Point,
    pub event: &'k Event,
    signal: Signals,
    observed: Signals,
    /// The conditions of the threads that do the event.
    pub known: Vec<Condition>,
    /// The same as a number.
    assumed: Assumed,
    /// Those conditions on which threads may differ: their number in [`Flow::condition_sets`].
    condition_set: usize,
}

impl<'k> Crossing<'k> {
    pub fn new(flow: &mut Flow<'k>, point: Point, event: &'k Event) -> Self {
        let (signal, observed) = (flow.barriers.signal(point), flow.barriers.observed(point));
        if observed == 0 && !matches!(event.kind, EventKind::Fence { .. }) {
            let assumed = Assumed::default();
            return Self { point, event, signal, observed, known: Vec::new(), assumed, condition_set: 0 };
        }
        let known = limited(flow.graph.conditions_at_event(point).to_vec());
        let assumed = flow.assumptions.number_conditions(known.clone());
        let varying = flow.graph.varying(&known);
        let condition_set = flow.condition_sets.iter().position(|other| *other == varying).unwrap_or_else(|| {
            flow.condition_sets.push(varying);
            flow.condition_sets.len() - 1
        });
        Self { point, event, signal, observed, known, assumed, condition_set }
    }
}

/// The inputs and results of the analysis of one kernel.
pub struct Flow<'k> {
    pub graph: &'k EventGraph<'k>,
    pub barriers: &'k Barriers,
    pub readings: Readings,
    pub tokens: Vec<Token<'k>>,
    /// Whether each access conflicts with some access through another proxy.
    pub crosses: Vec<bool>,
    /// For each block, the events that change the progress of accesses, by [`Notices`].
    pub noticed: [Rc<Vec<Vec<usize>>>; 3],
    /// The same, with operations that signal a barrier.
    pub noticed_with_signals: [Rc<Vec<Vec<usize>>>; 3],
    /// The sets of conditions that states assume of threads.
    pub assumptions: Assumptions,
    /// The crossings of the events that were passed.
    pub crossings: FxHashMap<Point, Rc<Crossing<'k>>>,
    /// Sets of conditions: the index is a [`Progress::condition_set`]. The first set is empty.
    pub condition_sets: Vec<Vec<Condition>>,
    /// Waits and fences that advance some access, with the spaces of these accesses.
    pub useful: FxHashMap<Point, FxHashSet<Space>>,
    /// The blocks of the role that is followed, if that role did not do the accesses.
    pub role: Option<Vec<bool>>,
    /// The work that was done, in units of the budget.
    pub work: usize,
    pub budget: Budget,
    pub stop: &'k Stop,
}

impl<'k> Flow<'k> {
    pub fn new(
        graph: &'k EventGraph<'k>,
        barriers: &'k Barriers,
        readings: Readings,
        tokens: Vec<Token<'k>>,
        crosses: Vec<bool>,
        (budget, stop): (Budget, &'k Stop),
    ) -> Self {
        let noticed = |notices: Notices, with_signals: bool| {
            let is_noticed = |block: usize, index: &usize| {
                let kind = &graph.kernel.blocks[block].events[*index].kind;
                notices.notices(kind) || with_signals && barriers.signal((block, *index)) != 0
            };
            let of = |block: usize| {
                let all = 0..graph.kernel.blocks[block].events.len();
                all.filter(|index| is_noticed(block, index)).collect()
            };
            Rc::new((0..graph.kernel.blocks.len()).map(of).collect())
        };
        let all = [Notices::Groups, Notices::Deallocations, Notices::All];
        Self {
            graph,
            barriers,
            readings,
            tokens,
            crosses,
            noticed: all.map(|notices| noticed(notices, false)),
            noticed_with_signals: all.map(|notices| noticed(notices, true)),
            assumptions: Assumptions::new(),
            crossings: FxHashMap::default(),
            condition_sets: vec![Vec::new()],
            useful: FxHashMap::default(),
            role: None,
            work: 0,
            budget,
            stop,
        }
    }

    pub fn is_lenient(&self, of: Ambiguity) -> bool {
        self.readings.reading(of) == Reading::Lenient
    }

    /// Whether no later event can need anything more of an access.
    pub fn is_over(&self, number: usize, progress: &Progress) -> bool {
        let token = &self.tokens[number];
        if token.access.space == Space::Register {
            return progress.is_done(token) && (progress.has_matrix_fence || token.operation().is_some());
        }
        let fenced = progress.is_fenced
            || !self.crosses[number]
            || !token.is_generic()
                && (token.fences_itself()
                    || self.is_lenient(Ambiguity::ProxyFenceAfterCommit)
                    || token.is_tensor() && token.access.space == Space::Tensor);
        let after = progress.has_fence_after || self.is_lenient(Ambiguity::StartAfterEarlier);
        progress.is_done(token)
            && progress.is_known_complete
            && progress.condition_set == 0
            && !progress.is_doubtful
            && fenced
            && after
            && token.kind != TokenKind::Allocated
    }

    /// Whether a single thread or warp does an event, and did not do the access alone. Such a thread knows only of its
    /// own access.
    fn is_by_few_threads(&self, token: &Token<'_>, now: &Progress, point: Point) -> bool {
        let known = self.graph.conditions_at_event(point);
        let own: Vec<_> = known.iter().filter(|condition| !token.conditions.contains(condition)).copied().collect();
        // Any thread of a warpgroup knows the accesses of the whole warpgroup.
        if token.operation() == Some(&Operation::Wgmma) {
            return !self.graph.is_one_warpgroup(&token.conditions) && self.graph.warp(&own).is_some();
        }
        let is_one = self.graph.is_one_of_many(&own);
        match token.direction().is_some() || now.is_known_in_warp {
            true => self.graph.warp(&token.conditions).is_none() && (is_one || self.graph.warp(known).is_some()),
            false => !token.is_single && (is_one || self.graph.is_single(known)),
        }
    }

    /// Whether the threads that arrive at a point are different from the threads that wait at an event: a condition of
    /// the arriving threads contradicts one that is known of the waiting threads, or assumed of the followed thread.
    fn are_disjoint_threads(
        &self,
        crossing: &Crossing<'_>,
        assumed: &[Condition],
        point: Point,
        condition_set: usize,
    ) -> bool {
        let apart = |conditions: &[Condition], others: &[Condition]| {
            conditions.iter().any(|condition| self.graph.contradict(others, *condition))
        };
        apart(self.graph.varying_at(point), &crossing.known)
            || point == crossing.point && apart(&self.condition_sets[condition_set], assumed)
    }
}
