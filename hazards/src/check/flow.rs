//! How far each access is at each point of a kernel.
//!
//! An access is followed along the paths of the thread that does it, and from where it is shared, along those of the threads that
//! learned of it.

use ptx_memory_model::ptx::readings::{Ambiguity, Reading, Readings};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    barriers::{Barriers, Signals},
    graph::{Graph, Point},
    token::{Done, Progress, Token, TokenKind},
};
use crate::kernel::{
    Access, BarrierId, Condition, Event, EventKind, ObjectKind, Operation, ProxyFence, Side, Space, Test, Varies,
};

/// What is known of an access along a path, and what holds of the thread that is followed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    pub progress: Progress,
    pub assumed: Vec<Condition>,
}

/// The accesses that may be in flight, by their numbers.
pub type States = FxHashMap<usize, Vec<State>>;

/// What a signal tells of an access.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cover {
    /// Some arrival comes when it is complete.
    pub good: bool,
    /// Some arrival comes when it may be in flight.
    pub bad: bool,
    /// Some arrival comes when it has started.
    pub handed: bool,
    /// Some arrival comes without a proxy fence in front of it.
    pub unfenced: bool,
    /// It is that of a role that did not do the access.
    pub passed_on: bool,
    /// What holds of those that arrive: a number in a table of conditions.
    among: usize,
    /// Some arrival comes when it may have begun again.
    pub again: bool,
}

/// What each signal tells of each access.
#[derive(Clone, Debug, Default)]
pub struct Coverage {
    /// By the arrivals that give the signal.
    covers: FxHashMap<(usize, Signals), Vec<(Point, Cover)>>,
}

impl Coverage {
    fn entry(&mut self, number: usize, signal: Signals, point: Point) -> &mut Cover {
        self.passed_on(number, signal, point, Cover::default())
    }

    /// The cover of those that arrive there and are alike.
    fn passed_on(&mut self, number: usize, signal: Signals, point: Point, of: Cover) -> &mut Cover {
        let covers = self.covers.entry((number, signal)).or_default();
        let is_it =
            |(other, cover): &(Point, Cover)| (*other, cover.passed_on, cover.among) == (point, of.passed_on, of.among);
        let at = covers.iter().position(is_it).unwrap_or_else(|| {
            covers.push((point, of));
            covers.len() - 1
        });
        &mut covers[at].1
    }

    /// What a signal tells those that are no part of it: a role, or the one that did the access. Of a role, some threads tell others.
    /// An arrival that may come too early tells nothing.
    fn get(
        &self,
        number: usize,
        signal: Signals,
        role: Option<&[bool]>,
        is_of_others: &dyn Fn(Point, usize) -> bool,
    ) -> Option<Cover> {
        let covers = self.covers.get(&(number, signal))?;
        // Where a role alone meets, its threads that have waited tell those that have not.
        let is_alone = covers.iter().all(|(_, cover)| cover.passed_on);
        let is_other = |(point, cover): &&(Point, Cover)| {
            let among = if is_alone { cover.among } else { 0 };
            let is_told = cover.passed_on && is_of_others(*point, among);
            role.map_or(cover.passed_on, |role| !role[point.0] || is_told)
        };
        let covers = covers.iter().filter(is_other);
        let good = covers.clone().filter(|(_, cover)| cover.good && !cover.bad);
        Some(Cover {
            good: good.clone().next().is_some(),
            bad: covers.clone().any(|(_, cover)| cover.bad),
            handed: covers.clone().any(|(_, cover)| cover.handed),
            unfenced: good.clone().any(|(_, cover)| cover.unfenced),
            again: good.into_iter().any(|(_, cover)| cover.again),
            ..Cover::default()
        })
    }

    /// The signals that tell something of an access.
    pub fn signals(&self, number: usize) -> impl Iterator<Item = Signals> {
        self.covers.keys().filter(move |(of, _)| *of == number).map(|(_, signal)| *signal)
    }

    /// The arrivals that give a signal when an access is complete.
    pub fn good(&self, number: usize, signal: Signals) -> impl Iterator<Item = Point> {
        let covers = self.covers.get(&(number, signal)).into_iter().flatten();
        covers.filter(|(_, cover)| cover.good && !cover.bad && !cover.passed_on).map(|(point, _)| *point)
    }

    /// How much is known.
    pub fn len(&self) -> usize {
        self.covers.values().map(Vec::len).sum()
    }
}

/// How an access of another role comes to be in flight again.
#[derive(Clone, Debug, Default)]
pub struct Foreign {
    /// The signals that tell of it, but behind which it may begin again without asking.
    pub again: FxHashSet<Signals>,
    /// The events behind which it may begin.
    pub permits: FxHashSet<Point>,
    /// Those behind which it may begin if it has not yet: barriers of the CTA, by which roles meet more than once.
    pub first_permits: FxHashSet<Point>,
    /// Whether it is done at most once.
    pub once: bool,
}

impl Foreign {
    /// Whether it may begin behind an event.
    fn permits_at(&self, point: Point, is_first: bool) -> bool {
        self.permits.contains(&point) && (is_first || !self.once) || is_first && self.first_permits.contains(&point)
    }
}

/// What is followed.
pub enum Mode<'f> {
    /// Every access from where it stands.
    Own,
    /// Accesses of another role.
    Foreign(&'f FxHashMap<usize, Foreign>),
}

/// How much work a kernel may take, in accesses times events.
const WORK: usize = 4_000_000;

/// Too much work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLarge;

pub struct Flow<'k> {
    pub graph: &'k Graph<'k>,
    pub barriers: &'k Barriers,
    pub readings: Readings,
    pub tokens: Vec<Token<'k>>,
    /// Whether each meets some access through another proxy.
    crosses: Vec<bool>,
    /// The accesses that begin at an event.
    begins: FxHashMap<Point, Vec<usize>>,
    /// Sets of conditions, which [`Progress::among`] counts. The first has none.
    pub among: Vec<Vec<Condition>>,
    /// Waits and fences that some access needs to be as far as it is behind them, with the spaces of these accesses.
    pub useful: FxHashMap<Point, FxHashSet<Space>>,
    /// The blocks of the role that is followed, where it is one that did not do the accesses.
    pub role: Option<Vec<bool>>,
    work: usize,
}

impl<'k> Flow<'k> {
    pub fn new(
        graph: &'k Graph<'k>,
        barriers: &'k Barriers,
        readings: Readings,
        tokens: Vec<Token<'k>>,
        crosses: Vec<bool>,
    ) -> Self {
        let mut begins: FxHashMap<Point, Vec<usize>> = FxHashMap::default();
        tokens.iter().enumerate().for_each(|(number, token)| begins.entry(token.point).or_default().push(number));
        Self {
            graph,
            barriers,
            readings,
            tokens,
            crosses,
            begins,
            among: vec![Vec::new()],
            useful: FxHashMap::default(),
            role: None,
            work: 0,
        }
    }

    /// What is in flight at the beginning of each block.
    pub fn run(
        &mut self,
        start: Vec<(usize, States)>,
        within: Option<&[bool]>,
        mode: &Mode<'_>,
        coverage: &mut Coverage,
    ) -> Result<Vec<States>, TooLarge> {
        let blocks = self.graph.kernel.blocks.len();
        let mut position = vec![usize::MAX; blocks];
        self.graph.order.iter().enumerate().for_each(|(at, &block)| position[block] = at);
        let mut before: Vec<States> = vec![States::default(); blocks];
        let mut open = std::collections::BTreeSet::new();
        for (block, states) in start {
            join(&mut before[block], states);
            open.insert(position[block]);
        }
        let is_within = |at: &usize| within.is_none_or(|within| within[self.graph.order[*at]]);
        open.extend((0..self.graph.order.len()).filter(is_within));
        while let Some(at) = open.pop_first() {
            let block = self.graph.order[at];
            let mut states = before[block].clone();
            for index in 0..self.graph.kernel.blocks[block].events.len() {
                self.pass((block, index), &mut states, mode, coverage)?;
            }
            for (edge, next) in self.graph.kernel.blocks[block].next.iter().enumerate() {
                if within.is_some_and(|within| !within[next.to]) {
                    continue;
                }
                let there = self.along(block, edge, &states);
                if join(&mut before[next.to], there) {
                    open.insert(position[next.to]);
                }
            }
        }
        Ok(before)
    }

    /// An access of another role that has begun where something holds. What is the same in all of the kernel holds of both.
    pub fn begun(&self, number: usize, known: &[Condition]) -> State {
        let predicates = &self.graph.kernel.predicates;
        let is_alike = |condition: &&Condition| {
            let predicate = &predicates[condition.predicate];
            predicate.varies == Varies::No && predicate.block.is_none()
        };
        let alike = self.tokens[number].conditions.iter().filter(is_alike);
        let assumed = limited(known.iter().chain(alike).copied().collect());
        State { progress: Progress { foreign: true, ..Progress::NEW }, assumed }
    }

    /// Counts work.
    pub fn spend(&mut self, work: usize) -> Result<(), TooLarge> {
        self.work += work + 1;
        if self.work > WORK { Err(TooLarge) } else { Ok(()) }
    }

    /// What is in flight behind an event, of what was in front of it.
    pub fn pass(
        &mut self,
        point: Point,
        states: &mut States,
        mode: &Mode<'_>,
        coverage: &mut Coverage,
    ) -> Result<(), TooLarge> {
        let event = &self.graph.kernel.blocks[point.0].events[point.1];
        if !matches!(event.kind, EventKind::Access(_)) && !states.is_empty() {
            self.spend(states.values().map(Vec::len).sum())?;
            let step = Step::new(self, point, event);
            let mut numbers: Vec<_> = states.keys().copied().collect();
            numbers.sort_unstable();
            for number in numbers {
                let old = states.remove(&number).unwrap_or_default();
                let foreign = match mode {
                    Mode::Own => None,
                    Mode::Foreign(table) => table.get(&number),
                };
                let mut new = Vec::with_capacity(old.len());
                for state in old {
                    self.follow(number, state, event, &step, foreign, coverage, &mut new);
                }
                if let Some(foreign) = foreign
                    && foreign.permits_at(point, new.is_empty())
                {
                    let ahead =
                        !new.is_empty() && new.iter().all(|state| !state.progress.foreign || state.progress.ahead);
                    let begun = self.begun(number, &step.known);
                    insert(&mut new, State { progress: Progress { ahead, ..begun.progress }, ..begun });
                }
                if !new.is_empty() {
                    states.insert(number, new);
                }
            }
        }
        if let Mode::Foreign(table) = mode {
            if self.barriers.signal(point) != 0 {
                for (&number, foreign) in table.iter() {
                    if foreign.permits_at(point, true) && !states.contains_key(&number) {
                        states.insert(number, vec![self.begun(number, &self.graph.known_at(point))]);
                    }
                }
            }
            return Ok(());
        }
        for &number in self.begins.get(&point).map_or(&[][..], |numbers| numbers) {
            let token = &self.tokens[number];
            let signal = self.barriers.signal(point);
            let progress = token.issued(signal);
            if progress.completes != 0 {
                coverage.entry(number, signal, point).good = true;
            }
            let assumed = limited(token.conditions.clone());
            insert(states.entry(number).or_default(), State { progress, assumed });
        }
        Ok(())
    }

    /// What is in flight where an edge leads.
    pub fn along(&self, block: usize, edge: usize, states: &States) -> States {
        let edge = &self.graph.kernel.blocks[block].next[edge];
        let kernel = self.graph.kernel;
        let mut there = States::default();
        for (&number, states) in states {
            let token = &self.tokens[number];
            let mut kept = Vec::with_capacity(states.len());
            for state in states {
                if let Some(when) = edge.when
                    && (self.graph.contradict(&state.assumed, when) || self.is_other_warp(token, when))
                {
                    continue;
                }
                if token.kind == TokenKind::Allocated && self.frees_elsewhere(block, edge.to, token) {
                    continue;
                }
                let mut state = state.clone();
                if let Some(when) = edge.when
                    && !state.assumed.contains(&when)
                {
                    state.assumed.extend(self.graph.closed(vec![when]));
                    state.assumed = limited(state.assumed);
                }
                let before = state.assumed.clone();
                state.assumed.retain(|condition| kernel.predicates[condition.predicate].block != Some(edge.to));
                state.assumed = limited(self.graph.met(block, edge.to, state.assumed, &before));
                let computed = |(value, _): &(usize, i64)| kernel.unknowns[*value].block == Some(edge.to);
                state.progress.stale |= token.access.address.offset.terms.iter().any(computed);
                insert(&mut kept, state);
            }
            if !kept.is_empty() {
                there.insert(number, kept);
            }
        }
        there
    }

    /// Whether threads that take an edge are of another warp than the one that runs tensor operations. Where code elects a thread of
    /// any warp for them, and asks later whether the warp is a certain one, it means this one.
    fn is_other_warp(&self, token: &Token<'_>, when: Condition) -> bool {
        let is_elected = |condition: &Condition| {
            condition.holds && self.graph.kernel.predicates[condition.predicate].test == Test::OneOfWarp
        };
        token.commit_group().is_some()
            && !when.holds
            && self.graph.warp(&[Condition { holds: true, ..when }]).is_some()
            && self.graph.warp(&token.conditions).is_none()
            && token.conditions.iter().any(is_elected)
    }

    /// Whether it may be what is allocated that is freed there.
    fn frees(&self, access: &Access, token: &Token<'_>) -> bool {
        let object = access.address.object;
        object == token.access.address.object || self.graph.kernel.objects[object].kind == ObjectKind::Unknown
    }

    /// Whether threads free it that do not come from where it is allocated.
    pub fn is_freed_by_others(&self, token: &Token<'_>) -> bool {
        let reached = self.graph.reached(&[token.point.0], |_| false);
        let elsewhere = |block: &usize| *block != token.point.0 && !reached[*block];
        let mut events = self.graph.order.iter().filter(|block| elsewhere(block));
        events.any(|block| self.has_free(*block, token))
    }

    fn has_free(&self, block: usize, token: &Token<'_>) -> bool {
        let is_it = |(index, event): (usize, &Event)| {
            let is_free = matches!(&event.kind, EventKind::Deallocate(access) if self.frees(access, token));
            is_free && !self.graph.is_dead((block, index))
        };
        self.graph.kernel.blocks[block].events.iter().enumerate().any(is_it)
    }

    /// Whether threads that go elsewhere free what is allocated, and those that go here do not: any warp may free it.
    fn frees_elsewhere(&self, block: usize, to: usize, token: &Token<'_>) -> bool {
        let frees = |from: usize| {
            let mut reached = self.graph.reached(&[from], |_| false);
            reached[from] = true;
            (0..reached.len()).any(|block| reached[block] && self.has_free(block, token))
        };
        let varies = |when: Option<Condition>| {
            when.is_some_and(|when| self.graph.kernel.predicates[when.predicate].varies != Varies::No)
        };
        let mut others = self.graph.kernel.blocks[block].next.iter().filter(|edge| edge.to != to);
        others.any(|edge| varies(edge.when) && frees(edge.to)) && !frees(to)
    }

    /// Whether some threads free what is allocated there, and go on with all the others.
    fn frees_under(&self, number: usize, event: &Event) -> bool {
        let token = &self.tokens[number];
        let varies = |condition: &Condition| self.graph.kernel.predicates[condition.predicate].varies != Varies::No;
        matches!(&event.kind, EventKind::Deallocate(access) if token.kind == TokenKind::Allocated && self.frees(access, token))
            && self.graph.closed(event.guard.clone()).iter().all(varies)
    }

    /// What becomes of one state: it goes two ways where it is not known if its thread does the event.
    #[expect(clippy::too_many_arguments, reason = "a state, what happens, and where both are noted")]
    fn follow(
        &mut self,
        number: usize,
        mut state: State,
        event: &Event,
        step: &Step,
        foreign: Option<&Foreign>,
        coverage: &mut Coverage,
        new: &mut Vec<State>,
    ) {
        if self.frees_under(number, event) {
            return;
        }
        if !event.guard.is_empty() {
            let here = self.graph.closed(state.assumed.clone());
            if event.guard.iter().any(|condition| self.graph.contradict(&here, *condition)) {
                return insert(new, state);
            }
            if !event.guard.iter().all(|condition| self.graph.implied(&here, *condition)) {
                let mut skips = state.clone();
                if let [only] = event.guard[..] {
                    skips.assumed.push(Condition { holds: !only.holds, ..only });
                    skips.assumed = limited(skips.assumed);
                }
                insert(new, skips);
                state.assumed.extend(&event.guard);
                state.assumed = limited(state.assumed);
            }
        }
        let token = &self.tokens[number];
        if let EventKind::Deallocate(access) = &event.kind
            && token.kind == TokenKind::Allocated
            && self.frees(access, token)
        {
            return;
        }
        let old = state.progress.clone();
        let changed = self.change(number, &mut state, event, step, foreign, coverage);
        if old.done != state.progress.done || old.fenced != state.progress.fenced {
            let space = token.access.space;
            self.useful.entry(step.point).or_default().insert(space);
        }
        if changed.also_before {
            insert(new, self.begun(number, &state.assumed));
        }
        // Of another role's access it matters that it is over: threads that know it may tell others.
        if foreign.is_some() || !self.is_over(number, &state.progress) {
            insert(new, state);
        }
    }

    /// Whether nothing more is needed of an access, whatever follows.
    fn is_over(&self, number: usize, progress: &Progress) -> bool {
        let token = &self.tokens[number];
        if token.access.space == Space::Register {
            return progress.is_done(token) && (progress.matrix || token.operation().is_some());
        }
        let fenced = progress.fenced
            || !self.crosses[number]
            || !token.is_generic()
                && (token.fences_itself()
                    || self.is_lenient(Ambiguity::ProxyFenceAfterCommit)
                    || token.is_tensor() && token.access.space == Space::Tensor);
        let after = progress.after || self.is_lenient(Ambiguity::StartAfterEarlier);
        progress.is_done(token)
            && progress.shared
            && progress.among == 0
            && !progress.doubt
            && fenced
            && after
            && token.kind != TokenKind::Allocated
    }

    pub fn is_lenient(&self, of: Ambiguity) -> bool {
        self.readings.reading(of) == Reading::Lenient
    }

    fn change(
        &self,
        number: usize,
        state: &mut State,
        event: &Event,
        step: &Step,
        foreign: Option<&Foreign>,
        coverage: &mut Coverage,
    ) -> Changed {
        let token = &self.tokens[number];
        let now = &mut state.progress;
        let mut changed = Changed::default();
        if token.kind == TokenKind::Allocated {
            return changed;
        }
        // Registers are no other thread's matter.
        if token.access.space == Space::Register
            && !matches!(event.kind, EventKind::CommitGroup(_) | EventKind::WaitGroup { .. } | EventKind::MatrixFence)
        {
            return changed;
        }
        // What its thread, or one that knows of it, does here.
        let own = !now.foreign;
        // What starts behind such an instruction starts behind all that is over in front of it (A1, in the strict reading).
        if own && matches!(event.kind, EventKind::TensorCommit { .. } | EventKind::Relinquish) {
            now.after |= now.is_done(token);
        }
        match &event.kind {
            EventKind::TensorWait(direction) if own => {
                if token.direction() == Some(*direction) && !now.shared {
                    now.done = Done::Yes;
                }
                now.after |= now.is_done(token);
            }
            EventKind::Allocate { .. } | EventKind::Deallocate(_) if own => now.after |= now.is_done(token),
            EventKind::TensorFence(Side::Before) if own => {
                now.before |= token.is_tensor();
                now.after |= now.is_done(token);
            }
            EventKind::TensorFence(Side::After) if own => now.after |= now.is_done(token) || now.started,
            EventKind::TensorCommit { group, .. } if own && token.commit_group() == Some(*group) => {
                complete(number, now, step, coverage);
            }
            // What was over when a product began is over when that is.
            EventKind::TensorCommit { .. } if own && now.is_done(token) => self.tell(number, now, step, true, coverage),
            EventKind::CopyArrive(_) if own && token.operation() == Some(&Operation::Copy) => {
                complete(number, now, step, coverage);
            }
            EventKind::CommitGroup(of) if own && token.groups() == Some(*of) && !now.is_done(token) => {
                now.age = (now.age + 1).min(64);
            }
            EventKind::WaitGroup { of, pending, reads_only } if own && token.groups() == Some(*of) => {
                end_groups(token, now, *pending, *reads_only);
            }
            EventKind::MatrixFence if own => now.matrix = true,
            EventKind::ProxyFence(fence) if own => self.fence(token, now, *fence),
            EventKind::InitializeFence if own && token.kind == TokenKind::Initialized => {
                (now.released, now.fenced) = (true, true)
            }
            EventKind::Fence { semantics, .. } if own => {
                now.released |= semantics.releases && now.is_done(token);
                if semantics.acquires && now.seen {
                    now.done = Done::Yes;
                    self.share(now, step);
                }
            }
            EventKind::Arrive { semantics, .. } if own => self.tell(number, now, step, semantics.releases, coverage),
            EventKind::Wait { semantics, .. } => {
                self.observe(number, state, step, semantics.acquires, foreign, coverage, &mut changed)
            }
            EventKind::Barrier(barrier) => {
                if barrier.of == BarrierId::Warp {
                    now.warp |= own && now.is_done(token);
                } else {
                    if barrier.arrives && own {
                        self.tell(number, now, step, barrier.orders, coverage);
                    }
                    if barrier.of == BarrierId::Cluster && self.is_waited_elsewhere(token) && barrier.waits {
                        now.done = Done::Yes;
                        self.share(now, step);
                    } else if barrier.waits {
                        self.observe(number, state, step, true, foreign, coverage, &mut changed);
                    }
                }
            }
            EventKind::Atomic { semantics, .. } if semantics.acquires && !now.shared => now.doubt = true,
            EventKind::Unknown(_) => now.doubt = true,
            _ => {}
        }
        changed
    }

    /// Whether the mbarrier of a copy is in another CTA of the cluster, which waits for it and tells this one at a cluster barrier.
    fn is_waited_elsewhere(&self, token: &Token<'_>) -> bool {
        matches!(token.kind, TokenKind::Started(start) if start.barrier.as_ref().is_some_and(|barrier| barrier.is_remote))
    }

    fn fence(&self, token: &Token<'_>, now: &mut Progress, fence: ProxyFence) {
        let is_reader = now.shared;
        let counts =
            now.is_done(token) && (!is_reader || self.is_lenient(Ambiguity::ProxyFenceAtWriter) || !token.is_generic());
        match fence {
            ProxyFence::Async(space) if space.is_none_or(|space| space == token.access.space) && counts => {
                // What starts behind the fence must itself wait for the fence.
                now.after &= now.fenced;
                now.fenced = true;
            }
            // Tensor maps are in global memory.
            ProxyFence::TensormapRelease | ProxyFence::TensormapAcquire if token.access.space != Space::Global => {}
            ProxyFence::AsyncRelease | ProxyFence::TensormapRelease if now.is_done(token) && !now.shared => {
                now.half_fenced = true
            }
            ProxyFence::AsyncAcquire | ProxyFence::TensormapAcquire if now.half_fenced => now.fenced = true,
            _ => {}
        }
    }

    /// Its thread arrives somewhere.
    fn tell(&self, number: usize, now: &mut Progress, step: &Step, releases: bool, coverage: &mut Coverage) {
        let token = &self.tokens[number];
        // An arrival on the mbarrier of a copy ends no phase without the copy.
        if token.operation() == Some(&Operation::BulkLoad) && self.barriers.signal(token.point) & step.signal != 0 {
            return;
        }
        let passed_on = self.role.is_some();
        let of = Cover { passed_on, among: if passed_on { now.among } else { 0 }, ..Cover::default() };
        let cover = coverage.passed_on(number, step.signal, step.point, of);
        if now.is_done(token) && !now.shared && self.is_of_few(token, now, step.point) {
            // It comes before what other threads did is over.
            cover.bad = true;
        } else if now.is_done(token) {
            // A wait that has been observed is over, whatever is released.
            let is_known = token.access.space == Space::Tensor || token.kind == TokenKind::Waited;
            if releases || now.released || is_known {
                now.told |= step.signal;
                cover.good |= now.early & step.signal == 0;
                cover.again |= now.again;
                if now.fenced {
                    now.told_fenced |= step.signal;
                } else {
                    cover.unfenced = true;
                }
            }
        } else {
            now.early |= step.signal & self.barriers.hardware;
            // What tells of itself is not told of by others.
            cover.bad |= now.completes & step.signal == 0;
            if token.is_tensor() && (now.before || releases && self.is_lenient(Ambiguity::FenceBesidesRelease)) {
                now.handed |= step.signal;
                cover.handed = true;
            }
        }
    }

    /// Whether one thread or warp does an event, and did not do the access alone: it knows of its own access.
    fn is_of_few(&self, token: &Token<'_>, now: &Progress, point: Point) -> bool {
        let known = self.graph.known_at(point);
        let own: Vec<_> = known.iter().filter(|condition| !token.conditions.contains(condition)).copied().collect();
        // Any thread of a warpgroup knows what all of it does.
        if token.operation() == Some(&Operation::Wgmma) {
            return !self.graph.is_one_warpgroup(&token.conditions) && self.graph.warp(&own).is_some();
        }
        let is_one = self.graph.is_one_of_many(&own);
        match token.direction().is_some() || now.warp {
            true => self.graph.warp(&token.conditions).is_none() && (is_one || self.graph.warp(&known).is_some()),
            false => !token.is_single && (is_one || self.graph.is_single(&known)),
        }
    }

    /// The thread that is followed has waited.
    #[expect(clippy::too_many_arguments, reason = "a state, what happens, and where both are noted")]
    fn observe(
        &self,
        number: usize,
        state: &mut State,
        step: &Step,
        acquires: bool,
        foreign: Option<&Foreign>,
        coverage: &Coverage,
        changed: &mut Changed,
    ) {
        let token = &self.tokens[number];
        let now = &mut state.progress;
        let tensor = token.access.space == Space::Tensor;
        let (completes, told, handed) =
            (now.completes & step.observed, now.told & step.observed, now.handed & step.observed);
        let assumed = state.assumed.clone();
        let is_of_others = |point: Point, among: usize| {
            let apart = |conditions: &[Condition], others: &[Condition]| {
                conditions.iter().any(|condition| self.graph.contradict(others, *condition))
            };
            let known = self.graph.varying(&self.graph.known_at(point));
            apart(&known, &step.known) || point == step.point && apart(&self.among[among], &assumed)
        };
        let mut covers = (0..128)
            .map(|bit| 1 << bit)
            .filter(|bit| step.observed & bit != 0)
            .filter_map(|bit| Some((bit, coverage.get(number, bit, self.role.as_deref(), &is_of_others)?)));
        if completes | told != 0 {
            if !acquires && !tensor {
                now.seen = true;
                return;
            }
            now.done = Done::Yes;
            now.doubt |= (completes | told) & !self.barriers.doubtful == 0;
            if told != 0 && completes == 0 && !now.shared {
                now.fenced = now.told_fenced & step.observed != 0;
            }
        } else if now.foreign {
            let good: Vec<_> = covers.by_ref().filter(|(_, cover)| cover.good || cover.handed).collect();
            let Some(&(bit, cover)) = good.iter().find(|(_, cover)| cover.good).or(good.first()) else { return };
            changed.also_before = cover.again || foreign.is_some_and(|foreign| foreign.again.contains(&bit));
            now.again = changed.also_before;
            if cover.good {
                now.doubt |= cover.bad && bit & self.barriers.hardware == 0 || bit & !self.barriers.doubtful == 0;
                now.foreign = false;
                now.done = Done::Yes;
                now.fenced = !cover.unfenced;
            } else {
                now.started = true;
                now.among = step.among;
                state.assumed = step.known.clone();
                return;
            }
        } else if let Some((bit, cover)) = covers.find(|(_, cover)| cover.good) {
            // Those that waited for it tell its own thread.
            now.doubt |= bit & !self.barriers.doubtful == 0;
            now.done = Done::Yes;
            now.fenced |= !cover.unfenced;
            now.again &= cover.again || foreign.is_some_and(|foreign| foreign.again.contains(&bit));
        } else if handed != 0 {
            // Its own thread goes on.
            now.started = true;
            now.among = step.among;
            return;
        } else {
            return;
        }
        if acquires || tensor {
            self.share(now, step);
            state.assumed = step.known.clone();
        } else {
            now.seen = true;
        }
    }

    fn share(&self, now: &mut Progress, step: &Step) {
        now.among = if now.shared && now.among == 0 { 0 } else { step.among };
        now.shared = true;
        // What it told before is of no more use.
        (now.told, now.told_fenced, now.handed, now.completes) = (0, 0, 0, 0);
    }
}

/// What is the same for every access that passes an event.
struct Step {
    point: Point,
    signal: Signals,
    observed: Signals,
    /// What holds of the threads that do the event.
    known: Vec<Condition>,
    /// The conditions among them of which threads may differ, as a number.
    among: usize,
}

#[derive(Default)]
struct Changed {
    /// Whether the access may also be in flight again.
    also_before: bool,
}

impl Step {
    fn new(flow: &mut Flow<'_>, point: Point, event: &Event) -> Self {
        let (signal, observed) = (flow.barriers.signal(point), flow.barriers.observed(point));
        if observed == 0 && !matches!(event.kind, EventKind::Fence { .. }) {
            return Self { point, signal, observed, known: Vec::new(), among: 0 };
        }
        let known = limited(flow.graph.known_at(point));
        let varying = flow.graph.varying(&known);
        let among = flow.among.iter().position(|other| *other == varying).unwrap_or_else(|| {
            flow.among.push(varying);
            flow.among.len() - 1
        });
        Self { point, signal, observed, known, among }
    }
}

/// Conditions in order, and not more than matter.
fn limited(mut conditions: Vec<Condition>) -> Vec<Condition> {
    conditions.sort_unstable();
    conditions.dedup();
    conditions.truncate(16);
    conditions
}

/// Adds a state. Of equal progress, what holds of both is kept.
fn insert(states: &mut Vec<State>, state: State) {
    add(states, state);
}

fn add(states: &mut Vec<State>, state: State) -> bool {
    match states.iter_mut().find(|other| other.progress == state.progress) {
        Some(other) => {
            let count = other.assumed.len();
            other.assumed.retain(|condition| state.assumed.contains(condition));
            other.assumed.len() != count
        }
        None => {
            states.push(state);
            true
        }
    }
}

/// Adds states, and says whether something is new.
fn join(into: &mut States, from: States) -> bool {
    let mut changed = false;
    for (number, states) in from {
        let here = into.entry(number).or_default();
        for state in states {
            changed |= add(here, state);
        }
    }
    changed
}

/// An mbarrier learns of the completion of a token's operation.
fn complete(number: usize, now: &mut Progress, step: &Step, coverage: &mut Coverage) {
    now.completes |= step.signal;
    let cover = coverage.entry(number, step.signal, step.point);
    (cover.good, cover.unfenced) = (true, true);
}

/// A wait until no more than so many groups of a token's operation are pending.
fn end_groups(token: &Token<'_>, now: &mut Progress, pending: u32, reads_only: bool) {
    if now.age > 0 && u32::from(now.age) > pending {
        now.done = now.done.max(if reads_only { Done::Reads } else { Done::Yes });
        // The ring has come round: its element is the next one to be used.
        now.ahead = false;
        // Of what is over, the groups behind it are no matter.
        now.age *= u8::from(!now.is_done(token));
    } else {
        now.ahead |= now.age > 0;
    }
}
