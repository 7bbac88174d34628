//! Every execution of a program with asynchronous operations, one by one, by an independent implementation of the
//! rules: as edges of a graph of events, and for proxies as a walk through that graph that tracks the proxy through
//! which memory is visible.

use std::collections::BTreeSet;

use itertools::Itertools;
use ptx_memory_model::{
    asynchronous::{Awaited, Committed, Group, MbarrierStep, Memory, OperationKind, Signal, Step, TensorWait},
    execution::{Combination, Event, Execution},
    program::Value,
    ptx::{
        Conventions, Fence, Program, Proxy, ProxyFence, Ptx, TensorFence,
        readings::{Ambiguity, Reading},
        relations::{self, Fixed},
    },
    relation::{Relation, Set},
    unfold::{Ending, EventKind, Path, unfold_all},
};

/// The results for a program.
#[derive(Default)]
pub struct Enumeration {
    pub states: BTreeSet<Vec<Value>>,
    pub races: bool,
    pub executions: usize,
}

pub fn all(program: &Program, conventions: Conventions) -> Enumeration {
    let threads: Vec<Vec<Path<Ptx>>> = unfold_all(program, conventions.unfolding(2)).expect("small threads");
    let mut found = Enumeration::default();
    for paths in threads.iter().multi_cartesian_product() {
        if paths.iter().any(|path| path.ending != Ending::Returned) {
            continue;
        }
        let c = Combination::new(program, paths).expect("few events");
        let graph = Graph { c: &c, conventions };
        for course in graph.courses() {
            graph.executions(program, &course, &mut found);
        }
    }
    found
}

struct Graph<'g, 'p> {
    c: &'g Combination<'p, Ptx>,
    conventions: Conventions,
}

/// The strength of an edge.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Edge {
    /// It orders execution.
    Execution,
    /// It also orders memory.
    Memory,
}

fn kind(event: &Event<Ptx>) -> EventKind<Ptx> {
    event.kind
}

fn of_tensor(kind: OperationKind) -> bool {
    !matches!(
        kind,
        OperationKind::Copy
            | OperationKind::Bulk
            | OperationKind::Wgmma
            | OperationKind::Store
            | OperationKind::TryCancel
    )
}

fn proxy(event: &Event<Ptx>) -> Proxy {
    match event.kind {
        EventKind::Read(access) | EventKind::Write(access) => access.proxy,
        _ => Proxy::Generic,
    }
}

impl Graph<'_, '_> {
    fn event(&self, event: usize) -> &Event<Ptx> {
        &self.c.skeleton.events[event]
    }

    fn lenient(&self, of: Ambiguity) -> bool {
        self.conventions.readings.reading(of) == Reading::Lenient
    }

    /// The start or the completion of an event's operation.
    fn of_operation(&self, event: usize, start: bool) -> usize {
        let x = &self.c.skeleton;
        let is = |other: &usize| match self.event(*other).kind {
            EventKind::Start(_) => start,
            EventKind::Complete { .. } => !start,
            _ => false,
        };
        (0..x.len()).filter(|other| x.same_operation(event, *other)).find(is).unwrap_or(event)
    }

    fn operation(&self, event: usize) -> Option<OperationKind> {
        match self.event(self.of_operation(event, true)).kind {
            EventKind::Start(kind) => Some(kind),
            _ => None,
        }
    }

    fn releases(&self, event: usize) -> bool {
        match kind(self.event(event)) {
            EventKind::Step(Step::Mbarrier(MbarrierStep::Arrive { relaxed, .. })) => !relaxed,
            EventKind::Fence(Fence::Memory { .. }) => true,
            _ => false,
        }
    }

    fn acquires(&self, event: usize) -> bool {
        match kind(self.event(event)) {
            EventKind::Step(Step::Mbarrier(MbarrierStep::Wait { relaxed, .. })) => !relaxed,
            EventKind::Fence(Fence::Memory { .. }) => true,
            _ => false,
        }
    }

    fn is_tensor_fence(&self, event: usize, side: TensorFence) -> bool {
        kind(self.event(event)) == EventKind::Fence(Fence::Tensor(side))
    }

    /// A synchronous access to tensor memory.
    fn is_dealloc(&self, event: usize) -> bool {
        self.event(event).operation.is_none() && proxy(self.event(event)) == Proxy::Tensor
    }

    /// The edge within one thread, from the event that is first in the thread's list.
    fn edge(&self, a: usize, b: usize) -> Option<Edge> {
        use Ambiguity::{DeallocateAfterLoad, FenceAfterWait, FenceBesidesRelease, StartAfterEarlier};
        let x = &self.c.skeleton;
        if !x.same_thread(a, b) || a >= b {
            return None;
        }
        let (first, second) = (self.event(a), self.event(b));
        match (first.operation, second.operation) {
            (None, None) => return x.po.contains(a, b).then_some(Edge::Memory),
            (one, other) if one == other => {
                let rank = |event: usize| match kind(self.event(event)) {
                    EventKind::Start(_) => 0,
                    EventKind::Read(_) => 1,
                    EventKind::Write(_) => 2,
                    _ => 3,
                };
                return (rank(a) < rank(b)).then_some(Edge::Memory);
            }
            _ => {}
        }
        let memory = |holds: bool| holds.then_some(Edge::Memory);
        let execution = |holds: bool| holds.then_some(Edge::Execution);
        match (first.kind, second.kind) {
            (_, EventKind::Start(OperationKind::Wgmma)) => None,
            (_, EventKind::Start(of)) if first.operation.is_none() && !of_tensor(of) => Some(Edge::Memory),
            (_, EventKind::Start(_)) if first.operation.is_none() => {
                let fence = matches!(first.kind, EventKind::Fence(Fence::Tensor(_)));
                let step = matches!(first.kind, EventKind::Step(Step::TensorWait(_) | Step::Ask(Signal::Commit(..))));
                let synchronous = fence || step || self.is_dealloc(a);
                let acquires = self.lenient(FenceBesidesRelease) && self.acquires(a);
                memory(synchronous || acquires || self.lenient(StartAfterEarlier))
            }
            (EventKind::Start(_), EventKind::Start(_)) => execution(self.pair(a, b)),
            (EventKind::Start(of), _) if of_tensor(of) && second.operation.is_none() => memory(
                self.is_tensor_fence(b, TensorFence::Before) || self.lenient(FenceBesidesRelease) && self.releases(b),
            ),
            (EventKind::Complete { kind: OperationKind::TensorLoad, .. }, EventKind::Write(_))
                if self.is_dealloc(b) && self.lenient(DeallocateAfterLoad) =>
            {
                Some(Edge::Memory)
            }
            (EventKind::Complete { kind: OperationKind::TensorLoad, .. }, _) => {
                self.waited(a, b, TensorWait::Load, self.lenient(FenceAfterWait))
            }
            (EventKind::Complete { kind: OperationKind::TensorStore, .. }, _) => {
                self.waited(a, b, TensorWait::Store, self.lenient(FenceAfterWait))
            }
            (
                EventKind::Complete {
                    kind: OperationKind::Mma { .. } | OperationKind::TensorCopy { .. } | OperationKind::Shift { .. },
                    ..
                },
                EventKind::Step(Step::Signal(Signal::Commit(_, Committed::Complete))),
            ) => Some(Edge::Memory),
            (EventKind::Read(_), EventKind::Step(Step::Signal(Signal::Commit(_, Committed::ReadA)))) => {
                let start = self.of_operation(a, true);
                let is_product = matches!(kind(self.event(start)), EventKind::Start(OperationKind::Mma { .. }));
                let earliest = x.reads.filter(|&read| x.same_operation(read, a)).min();
                memory(is_product && first.memory == Memory::Shared && earliest == Some(a))
            }
            (
                EventKind::Complete { kind: OperationKind::Bulk, bytes: None },
                EventKind::Step(Step::WaitGroup { of, read, .. }),
            ) => memory(of == Group::Bulk && !read && self.is_awaited(a, b)),
            (EventKind::Read(_), EventKind::Step(Step::WaitGroup { of: Group::Bulk, read: true, .. })) => {
                let completion = kind(self.event(self.of_operation(a, false)));
                let is_of_group = completion == EventKind::Complete { kind: OperationKind::Bulk, bytes: None };
                let is_source = !(0..x.len()).any(|write| x.rmw.contains(a, write));
                memory(is_of_group && is_source && self.is_awaited(a, b))
            }
            (EventKind::Step(Step::Ask(_)), EventKind::Step(Step::Signal(_))) => execution(b == a + 1),
            _ => None,
        }
    }

    /// Whether a group that has the operation is complete at a wait: there are more commits between them than groups
    /// that may be pending.
    fn is_awaited(&self, operation: usize, wait: usize) -> bool {
        let EventKind::Step(Step::WaitGroup { pending, .. }) = kind(self.event(wait)) else { return false };
        let commit = EventKind::Step(Step::CommitGroup(Group::Bulk));
        (operation..wait).filter(|&event| kind(self.event(event)) == commit).count() > pending as usize
    }

    fn waited(&self, complete: usize, later: usize, of: TensorWait, alone: bool) -> Option<Edge> {
        let is_wait = |event: usize| kind(self.event(event)) == EventKind::Step(Step::TensorWait(of));
        if alone {
            return is_wait(later).then_some(Edge::Memory);
        }
        let passes = matches!(kind(self.event(later)), EventKind::Start(of) if of_tensor(of))
            || matches!(kind(self.event(later)), EventKind::Fence(Fence::Tensor(_)))
            || self.is_dealloc(later)
            || self.lenient(Ambiguity::FenceBesidesRelease) && self.releases(later);
        (passes && (complete..later).any(is_wait)).then_some(Edge::Memory)
    }

    /// Whether two tensor operations execute in the order of their starts.
    fn pair(&self, a: usize, b: usize) -> bool {
        use OperationKind::{Mma, Shift, TensorCopy};
        let x = &self.c.skeleton;
        let accumulators = |of: usize, events: Set| -> Vec<_> {
            let own = events.filter(|&event| x.same_operation(of, event));
            own.map(|event| x.events[event].location).collect()
        };
        match (self.operation(a), self.operation(b)) {
            (Some(TensorCopy { .. } | Shift { .. }), Some(Mma { .. })) => true,
            (Some(Shift { .. }), Some(TensorCopy { is_4x256b, .. })) => is_4x256b,
            (Some(Mma { .. }), Some(Shift { .. })) => true,
            (Some(Mma { .. } | TensorCopy { .. }), Some(TensorCopy { .. })) => self.lenient(Ambiguity::CopyAfterMma),
            (Some(Mma { shape, .. }), Some(Mma { shape: other, .. })) => {
                let written = accumulators(a, x.writes);
                let same = shape == other && accumulators(b, x.writes) == written;
                let operand = accumulators(b, x.reads).iter().any(|read| written.contains(read));
                same || self.lenient(Ambiguity::MmaOfOtherShape) || operand && self.lenient(Ambiguity::MmaOperandOfMma)
            }
            _ => false,
        }
    }

    /// The edges within threads that are at least this strong.
    fn edges(&self, weakest: Edge) -> Relation {
        let is = |edge: Edge| weakest == Edge::Execution || edge == Edge::Memory;
        Relation::from_fn(self.c.skeleton.len(), |a, b| self.edge(a, b).is_some_and(is))
    }

    /// From arrivals to the waits that observe them, for every possible order of the events at mbarriers.
    fn courses(&self) -> Vec<Relation> {
        let x = &self.c.skeleton;
        let is_use = |&event: &usize| {
            matches!(
                kind(self.event(event)),
                EventKind::Step(Step::Mbarrier(_) | Step::Signal(_)) | EventKind::Complete { bytes: Some(_), .. }
            )
        };
        let uses: Vec<usize> = (0..x.len()).filter(is_use).collect();
        let order = self.edges(Edge::Execution).closure();
        let mut courses: Vec<Relation> = Vec::new();
        for sequence in uses.iter().copied().permutations(uses.len()) {
            let backward =
                |(index, &event): (usize, &usize)| sequence[index..].iter().any(|&later| order.contains(later, event));
            if sequence.iter().enumerate().any(backward) {
                continue;
            }
            if let Some(course) = self.course(&sequence)
                && !courses.contains(&course)
            {
                courses.push(course);
            }
        }
        courses
    }

    /// One course; `None` if some wait never succeeds, or if there are more arrivals than a phase expects.
    fn course(&self, sequence: &[usize]) -> Option<Relation> {
        let x = &self.c.skeleton;
        let mut course = Relation::empty(x.len());
        let variables: BTreeSet<_> = sequence.iter().map(|&event| self.event(event).location).collect();
        for variable in variables {
            // The initial write of the variable.
            let initial = x.inits.filter(|&init| x.events[init].location == variable).exactly_one().ok()?;
            let mut count = self.c.written(initial, &|_| None)? as i64;
            let (mut missing, mut bytes) = (count, 0);
            let (mut over, mut current): (Vec<Vec<usize>>, Vec<usize>) = (Vec::new(), Vec::new());
            for &event in sequence.iter().filter(|&&event| self.event(event).location == variable) {
                let (arrivals, more) = match kind(self.event(event)) {
                    EventKind::Complete { bytes, .. } => (0, -i64::from(bytes?)),
                    EventKind::Step(Step::Signal(_)) => (1, 0),
                    EventKind::Step(Step::Mbarrier(MbarrierStep::Arrive { count, expects, .. })) => {
                        (i64::from(count), i64::from(expects))
                    }
                    EventKind::Step(Step::Mbarrier(MbarrierStep::ExpectTx { bytes })) => (0, i64::from(bytes)),
                    EventKind::Step(Step::Mbarrier(MbarrierStep::CompleteTx { bytes })) => (0, -i64::from(bytes)),
                    EventKind::Step(Step::Mbarrier(MbarrierStep::Wait { phase: Awaited::Parity(odd), .. })) => {
                        // The phase before the current one must have the parity; the phases are numbered -1, 0, 1 and
                        // so on.
                        let before = over.len() as i64 - 1;
                        if (before.rem_euclid(2) == 1) != odd {
                            return None;
                        }
                        over.iter().flatten().for_each(|&arrival| course.insert(arrival, event));
                        continue;
                    }
                    _ => return None,
                };
                if let EventKind::Step(Step::Mbarrier(MbarrierStep::Arrive { drops: true, .. })) =
                    kind(self.event(event))
                {
                    count -= arrivals;
                }
                missing -= arrivals;
                bytes += more;
                if missing < 0 {
                    return None;
                }
                current.push(event);
                if missing == 0 && bytes == 0 {
                    missing = count;
                    over.push(std::mem::take(&mut current));
                }
            }
        }
        Some(course)
    }

    /// The edges of memory order that mbarriers add: from arrivals that release, or fences before them, to waits that
    /// acquire, or fences after them.
    fn synchronized(&self, course: &Relation) -> Relation {
        let x = &self.c.skeleton;
        let mut all = Relation::empty(x.len());
        for (arrival, wait) in course.pairs() {
            let (arrives, waits) = (kind(self.event(arrival)), kind(self.event(wait)));
            let EventKind::Step(Step::Mbarrier(MbarrierStep::Wait { scope: to, .. })) = waits else { continue };
            let (from, releases) = match arrives {
                EventKind::Step(Step::Mbarrier(MbarrierStep::Arrive { scope, relaxed, .. })) => (scope, !relaxed),
                EventKind::Step(Step::Mbarrier(_)) => (ptx_memory_model::place::Scope::Cluster, false),
                _ => (ptx_memory_model::place::Scope::Cluster, true),
            };
            let (Some(here), Some(there)) = (x.place(arrival), x.place(wait)) else { continue };
            if !here.includes(from, there) || !there.includes(to, here) {
                continue;
            }
            let memory_fence =
                |event: &usize| matches!(kind(self.event(*event)), EventKind::Fence(Fence::Memory { .. }));
            let fences: Vec<usize> = (0..x.len()).filter(memory_fence).collect();
            let mut heads: Vec<usize> = fences.iter().copied().filter(|&f| x.po.contains(f, arrival)).collect();
            let mut tails: Vec<usize> = fences.iter().copied().filter(|&f| x.po.contains(wait, f)).collect();
            heads.extend(releases.then_some(arrival));
            tails.extend(self.acquires(wait).then_some(wait));
            // The fences of generated programs have at least cluster scope.
            heads.iter().cartesian_product(&tails).for_each(|(&head, &tail)| all.insert(head, tail));
            let commit = matches!(arrives, EventKind::Step(Step::Signal(Signal::Commit(..))));
            if commit && self.lenient(Ambiguity::CommitReleases) {
                all.insert(arrival - 1, arrival);
            }
        }
        all
    }

    /// Whether memory order leads from one access to another along edges. At each event of the walk, memory is visible
    /// as the first access has it, through the generic proxy, or through the async proxy again.
    fn walks(&self, edges: &Relation, a: usize, b: usize) -> bool {
        #[derive(Clone, Copy, PartialEq)]
        enum Seen {
            Async,
            Generic,
            Fenced,
        }
        let x = &self.c.skeleton;
        let (from, to) = (proxy(self.event(a)), proxy(self.event(b)));
        let mut open = vec![(a, if from == Proxy::Generic { Seen::Generic } else { Seen::Async })];
        let mut next = 0;
        while let Some(&(event, seen)) = open.get(next) {
            next += 1;
            let mut reached = Vec::new();
            let crosses = |side: usize| {
                let covers = match kind(self.event(event)) {
                    EventKind::Fence(Fence::Proxy(ProxyFence::Of(Proxy::Async))) => true,
                    EventKind::Fence(Fence::Proxy(ProxyFence::AsyncOf(_))) => {
                        self.event(a).memory == Memory::Shared && x.place(event) == x.place(side)
                    }
                    _ => false,
                };
                covers && (self.lenient(Ambiguity::ProxyFenceAtWriter) || x.same_thread(event, side))
            };
            let implicit = match self.operation(a) {
                Some(of) if of_tensor(of) => self.lenient(Ambiguity::ProxyFenceAfterCommit),
                of => of.is_some(),
            };
            let done = if x.reads.contains(a) { a } else { self.of_operation(a, false) };
            if seen == Seen::Async && (crosses(b) || implicit && event == done) {
                reached.push((event, Seen::Generic));
            }
            if seen == Seen::Generic && crosses(a) {
                reached.push((event, Seen::Fenced));
            }
            // A walk that enters another operation does not leave it at its completion.
            let starts = matches!(kind(self.event(event)), EventKind::Start(_));
            let into = |later: &usize| !starts || *later == b || !x.same_operation(event, *later);
            reached.extend(edges.row(event).filter(into).map(|later| (later, seen)));
            reached.retain(|state| !open.contains(state));
            open.extend(reached);
        }
        let same_cta = x.place(a) == x.place(b) || self.lenient(Ambiguity::AsyncProxyOfOneCta);
        let after_read = x.reads.contains(a) && self.lenient(Ambiguity::ProxyFenceAfterRead);
        open.iter().skip(1).any(|&(event, seen)| {
            event == b
                && match (to, seen) {
                    (Proxy::Generic, Seen::Generic) | (Proxy::Async, Seen::Fenced) => true,
                    (Proxy::Async, Seen::Async) => same_cta,
                    (Proxy::Async, Seen::Generic) => after_read,
                    _ => false,
                }
        })
    }

    /// The order of accesses to one location: by memory order alone or, in tensor memory, by execution order.
    fn preserved(&self, memory: &Relation, execution: &Relation) -> Relation {
        let x = &self.c.skeleton;
        // An operation is ordered after the events before its start, but its completion covers only its own accesses.
        let into = |a: usize, b: usize| matches!(kind(self.event(a)), EventKind::Start(_)) && x.same_operation(a, b);
        let entering = Relation::from_fn(x.len(), into);
        let outside = (*memory - entering).closure();
        let closed = outside | outside.then(&entering);
        Relation::from_fn(x.len(), |a, b| {
            let both = x.memory().contains(a) && x.memory().contains(b);
            if a == b || !both || self.event(a).location != self.event(b).location {
                return false;
            }
            if x.inits.contains(a) || x.same_operation(a, b) {
                return closed.contains(a, b) || x.inits.contains(a) && !x.inits.contains(b);
            }
            match (proxy(self.event(a)), proxy(self.event(b))) {
                _ if x.inits.contains(b) => false,
                (Proxy::Tensor, Proxy::Tensor) => {
                    let start = self.of_operation(b, true);
                    execution.contains(self.of_operation(a, false), start)
                        || execution.contains(self.of_operation(a, true), start) && self.pair(a, b)
                }
                (Proxy::Generic, Proxy::Generic) => closed.contains(a, b),
                _ => self.walks(memory, a, b),
            }
        })
    }

    fn executions(&self, program: &Program, course: &Relation, found: &mut Enumeration) {
        let x = &self.c.skeleton;
        let reads: Vec<usize> = x.reads.collect();
        let sources: Vec<Vec<usize>> =
            reads.iter().map(|&read| (x.at(x.events[read].location) & x.writes).collect()).collect();
        let choices: Vec<Vec<usize>> =
            if reads.is_empty() { vec![Vec::new()] } else { sources.into_iter().multi_cartesian_product().collect() };
        for choice in choices {
            let mut rf = Relation::empty(x.len());
            reads.iter().zip(&choice).for_each(|(&read, &write)| rf.insert(write, read));
            if (rf | x.dep).is_acyclic() {
                self.execution(program, course, rf, found);
            }
        }
    }

    fn execution(&self, program: &Program, course: &Relation, rf: Relation, found: &mut Enumeration) {
        let (c, x) = (self.c, &self.c.skeleton);
        let mut values: Vec<Option<Value>> = vec![None; x.len()];
        for _ in 0..x.len() {
            rf.pairs().for_each(|(write, read)| values[read] = c.written(write, &|event| values[event]));
        }
        let read = |event: usize| values.get(event).copied().flatten();
        let holds = |(thread, path): (usize, &&Path<Ptx>)| {
            path.constraints
                .iter()
                .all(|&(term, wanted)| c.term(thread, term, &read).is_some_and(|v| (v != 0) == wanted))
        };
        if !c.paths.iter().enumerate().all(holds) {
            return;
        }
        let empty = Relation::empty(x.len());
        let strong = relations::morally_strong(x);
        let known = Execution {
            skeleton: x.clone(),
            rf,
            co: empty,
            sc: empty,
            barriers: empty,
            phases: empty,
            values: Vec::new(),
        };
        let fixed = Fixed::new(x, self.conventions);
        let observation = relations::observation_order(&known, &fixed);
        let patterns = relations::synchronizes(&observation, &fixed);
        let memory = self.edges(Edge::Memory) | patterns | self.synchronized(course);
        let execution = (self.edges(Edge::Execution) | memory | *course | (rf & strong)).closure();
        if course.pairs().any(|(arrival, wait)| execution.contains(wait, arrival)) {
            return;
        }
        let preserved = self.preserved(&memory, &execution);
        let cause = preserved | observation.then(&preserved);
        let same = x.same_location;
        let first = Relation::product(x.len(), x.inits, x.writes - x.inits);
        let caused = (cause.between(x.writes, x.writes) | first) & same;
        let pairs: Vec<(usize, usize)> =
            (strong.between(x.writes, x.writes) & same).pairs().filter(|(a, b)| a < b).collect();
        let mut any = false;
        for directions in 0..1u32 << pairs.len() {
            let mut co = caused;
            for (index, &(a, b)) in pairs.iter().enumerate() {
                if directions >> index & 1 == 0 { co.insert(a, b) } else { co.insert(b, a) }
            }
            let co = co.closure();
            found.executions += 1;
            let fr = rf.inverse().then(&co);
            let allowed = co.is_irreflexive()
                && rf.then(&cause).is_irreflexive()
                && fr.then(&cause).is_irreflexive()
                && ((strong & fr).then(&(strong & co)) & x.rmw).is_empty()
                && ((x.po & same & strong) | (strong & (rf | co | fr))).is_acyclic();
            if !allowed {
                continue;
            }
            any = true;
            let last = |&location: &_| {
                let all = x.at(location) & x.writes;
                all.filter(|&write| co.row(write).is_empty()).collect::<Vec<_>>()
            };
            let last: Vec<Vec<usize>> = c.locations.iter().map(last).collect();
            for last in last.iter().map(|writes| writes.iter().copied()).multi_cartesian_product() {
                let registers = program.observed().map(|(thread, register)| {
                    c.term(thread, c.paths[thread].registers[usize::from(register.0)], &read).unwrap_or_default()
                });
                let memory = c.memory(|index| c.written(last[index], &read).unwrap_or_default());
                found.states.insert(registers.chain(memory).collect());
            }
        }
        let accesses = x.memory() - x.inits;
        let races = |a: usize, b: usize| {
            same.contains(a, b)
                && (x.writes.contains(a) || x.writes.contains(b))
                && !x.same_operation(a, b)
                && !strong.contains(a, b)
                && !cause.contains(a, b)
                && !cause.contains(b, a)
        };
        found.races |= any && { accesses }.any(|a| { accesses }.any(|b| a < b && races(a, b)));
    }
}
