//! The orders of asynchronous operations: their starts, the waits for their completion, and the proxies through which
//! their effects become visible. Each relation is a function with the section of the PTX ISA manual, as in
//! [`relations`](super::relations).
//!
//! An asynchronous operation consists of its start, its memory operations and its completion. These events are not in
//! program order ([`Event::operation`]); the relations of this module order them with the earlier and later events of
//! the thread.

use super::{
    Conventions, Fence, FenceSem, Program, Proxy, Ptx, TensorFence,
    readings::{Ambiguity, Readings, Rule},
    restricted,
};
use crate::{
    asynchronous::{Committed, Group, MbarrierStep, Memory, OperationKind, Signal, Step, TensorWait},
    execution::{Event, Skeleton},
    place::Scope,
    program::Instruction,
    relation::{Relation, Set},
    unfold::EventKind,
};

/// Whether a program has asynchronous instructions or tensor memory, so that a check for data races is useful.
pub fn is_asynchronous(program: &Program) -> bool {
    let mut statements = program.threads.iter().flat_map(|thread| &thread.code);
    statements.any(|statement| matches!(statement.instruction, Instruction::Asynchronous(_)))
        || program.locations.iter().any(|variable| variable.memory == Memory::Tensor)
}

/// Whether there is an asynchronous instruction in an execution.
pub(crate) fn has_asynchronous(x: &Skeleton<Ptx>) -> bool {
    let is = |event: &Event<Ptx>| {
        matches!(event.kind, EventKind::Start(_) | EventKind::Complete { .. } | EventKind::Step(_))
            || matches!(event.kind, EventKind::Read(_) | EventKind::Write(_)) && event.proxy() == Proxy::Tensor
    };
    x.events.iter().any(is)
}

pub(super) fn started(event: &Event<Ptx>) -> Option<OperationKind> {
    if let EventKind::Start(kind) = event.kind { Some(kind) } else { None }
}

fn completed(event: &Event<Ptx>) -> Option<OperationKind> {
    if let EventKind::Complete { kind, .. } = event.kind { Some(kind) } else { None }
}

pub(super) fn is_tensor(kind: OperationKind) -> bool {
    use OperationKind::{Mma, Shift, TensorCopy, TensorLoad, TensorStore};
    matches!(kind, Mma { .. } | TensorCopy { .. } | Shift { .. } | TensorLoad | TensorStore)
}

fn tensor_fence(event: &Event<Ptx>, side: TensorFence) -> bool {
    event.kind == EventKind::Fence(Fence::Tensor(side))
}

/// Section 9.7.16.6.1: synchronous `tcgen05` instructions.
fn is_tensor_instruction(event: &Event<Ptx>) -> bool {
    match event.kind {
        EventKind::Fence(Fence::Tensor(_)) | EventKind::Step(Step::TensorWait(_) | Step::Ask(Signal::Commit(..))) => {
            true
        }
        EventKind::Write(access) => event.operation.is_none() && access.proxy == Proxy::Tensor,
        _ => false,
    }
}

/// Whether an event releases (section 8.8) by itself.
fn releases(event: &Event<Ptx>) -> bool {
    match event.kind {
        EventKind::Write(access) => access.releases(),
        EventKind::Fence(of) => of.ordering().is_some_and(|(sem, _)| sem != FenceSem::Acquire),
        EventKind::Step(Step::Mbarrier(MbarrierStep::Arrive { relaxed, .. })) => !relaxed,
        EventKind::Arrive => true,
        _ => false,
    }
}

/// Pairs of events of one thread in the order in which their instructions are issued.
fn issued(x: &Skeleton<Ptx>, related: impl Fn(&Event<Ptx>, &Event<Ptx>) -> bool) -> Relation {
    Relation::from_fn(x.len(), |a, b| x.is_issued_before(a, b) && related(&x.events[a], &x.events[b]))
}

/// Sections 8.9.1.1 and 9.7.16.6.3: from the events of a thread to the starts of its later asynchronous operations.
pub fn start_order(x: &Skeleton<Ptx>, readings: Readings) -> Relation {
    issued(x, |earlier, later| {
        let Some(kind) = started(later) else { return false };
        if earlier.operation.is_some() {
            return false;
        }
        match kind {
            OperationKind::Wgmma => readings.has(Rule::WgmmaStarts) && earlier.kind == EventKind::Fence(Fence::Wgmma),
            kind if is_tensor(kind) => {
                let all = readings.is_lenient(Ambiguity::StartAfterEarlier);
                let acquires = readings.is_lenient(Ambiguity::FenceBesidesRelease) && acquires(earlier);
                readings.has(Rule::TensorStarts) && (all || acquires || is_tensor_instruction(earlier))
            }
            _ => readings.has(Rule::CopiesStart),
        }
    })
}

/// Whether an event acquires (section 8.8) by itself.
fn acquires(event: &Event<Ptx>) -> bool {
    match event.kind {
        EventKind::Read(access) => access.acquires(),
        EventKind::Fence(of) => of.ordering().is_some_and(|(sem, _)| sem != FenceSem::Release),
        EventKind::Step(Step::Mbarrier(MbarrierStep::Wait { relaxed, .. })) => !relaxed,
        EventKind::Wait => true,
        _ => false,
    }
}

/// Section 8.9.1.1: the memory operations are between the start and the completion, and the reads precede the writes.
pub fn within_operations(x: &Skeleton<Ptx>, readings: Readings) -> Relation {
    Relation::from_fn(x.len(), |a, b| {
        let phases = |event: usize| match x.events[event].kind {
            EventKind::Start(_) => 0,
            EventKind::Read(_) => 1,
            EventKind::Write(_) => 2,
            _ => 3,
        };
        let (first, second) = (phases(a), phases(b));
        let rule = if (first, second) == (1, 2) { Rule::ReadsFirst } else { Rule::Within };
        x.same_operation(a, b) && first < second && readings.has(rule)
    })
}

/// Section 9.7.16.6.3: from the starts of tensor operations to a later `tcgen05.fence::before_thread_sync`.
pub fn fenced_before(x: &Skeleton<Ptx>, readings: Readings) -> Relation {
    if !readings.has(Rule::FenceBefore) {
        return Relation::empty(x.len());
    }
    issued(x, |earlier, later| {
        let released = readings.is_lenient(Ambiguity::FenceBesidesRelease) && releases(later);
        started(earlier).is_some_and(is_tensor)
            && later.operation.is_none()
            && (tensor_fence(later, TensorFence::Before) || released)
    })
}

/// Section 9.7.16.6.2: whether two tensor operations are pipelined, if the first one starts first.
pub(super) fn pipelined(x: &Skeleton<Ptx>, first: usize, second: usize, readings: Readings) -> bool {
    use OperationKind::{Mma, Shift, TensorCopy};
    let (Some(a), Some(b)) = (started(&x.events[first]), started(&x.events[second])) else { return false };
    match (a, b) {
        (Mma { cta_group: n, shape: s }, Mma { cta_group: m, shape: t }) => {
            let spans = |of: usize, memory: Set| {
                memory.filter(move |&event| x.same_operation(of, event)).map(|event| x.events[event].location)
            };
            let accumulates =
                |writes: Set| spans(first, x.writes).any(|span| spans(second, writes).any(|other| span == other));
            let same = s == t && accumulates(x.writes);
            let operand = readings.is_lenient(Ambiguity::MmaOperandOfMma) && accumulates(x.reads);
            n == m && (same || operand || readings.is_lenient(Ambiguity::MmaOfOtherShape))
        }
        (Mma { cta_group: n, .. } | TensorCopy { cta_group: n, .. }, TensorCopy { cta_group: m, .. }) => {
            n == m && readings.is_lenient(Ambiguity::CopyAfterMma)
        }
        (TensorCopy { cta_group: n, .. } | Shift { cta_group: n }, Mma { cta_group: m, .. })
        | (Shift { cta_group: n }, TensorCopy { cta_group: m, is_4x256b: true })
        | (Mma { cta_group: n, .. }, Shift { cta_group: m }) => n == m,
        _ => false,
    }
}

/// Section 9.7.16.6.2: from the start of a tensor operation to the starts of the later operations of its thread with
/// which it is pipelined.
pub fn pipelines(x: &Skeleton<Ptx>, readings: Readings) -> Relation {
    let related = |a, b| x.is_issued_before(a, b) && readings.has(Rule::Pipelines) && pipelined(x, a, b, readings);
    Relation::from_fn(x.len(), related)
}

/// Sections 9.7.16.6.2.1, 9.7.9.25 and 9.7.15.7: from completions to the waits for them, and to the signals that they
/// trigger.
pub fn completions(x: &Skeleton<Ptx>, readings: Readings) -> Relation {
    use OperationKind::{Copy, Mma, Shift, TensorCopy, TensorLoad, TensorStore};
    let direct = issued(x, |earlier, later| {
        let Some(kind) = completed(earlier) else { return false };
        match (kind, later.kind) {
            (TensorLoad, EventKind::Step(Step::TensorWait(TensorWait::Load)))
            | (TensorStore, EventKind::Step(Step::TensorWait(TensorWait::Store))) => {
                readings.has(Rule::TensorWaits) && readings.is_lenient(Ambiguity::FenceAfterWait)
            }
            (
                Mma { cta_group: n, .. } | TensorCopy { cta_group: n, .. } | Shift { cta_group: n },
                EventKind::Step(Step::Signal(Signal::Commit(m, Committed::Complete))),
            ) => n == m && readings.has(Rule::Commits),
            (Copy, EventKind::Step(Step::Signal(Signal::Copies { .. }))) => readings.has(Rule::CopySignals),
            (TensorLoad, EventKind::Write(access)) => {
                later.operation.is_none()
                    && access.proxy == Proxy::Tensor
                    && readings.is_lenient(Ambiguity::DeallocateAfterLoad)
            }
            _ => false,
        }
    });
    direct | committed_reads(x, readings) | awaited_groups(x, readings) | order_after_waits(x, readings)
}

/// PTX 9.4, `.sync_restrict::shared::read::mma::a`: from the reads of A in shared memory to the signals that they
/// trigger.
fn committed_reads(x: &Skeleton<Ptx>, readings: Readings) -> Relation {
    Relation::from_fn(x.len(), |a, b| {
        let EventKind::Step(Step::Signal(Signal::Commit(group, Committed::ReadA))) = x.events[b].kind else {
            return false;
        };
        let is_product = |start: usize| match started(&x.events[start]) {
            Some(OperationKind::Mma { cta_group, .. }) => cta_group == group && x.same_operation(start, a),
            _ => false,
        };
        // The first read of a product is the read of A.
        let is_first = a.checked_sub(1).is_some_and(is_product);
        let reads = is_first && x.reads.contains(a) && x.events[a].memory == Memory::Shared;
        reads && x.is_issued_before(a, b) && readings.has(Rule::CommitsReads)
    })
}

/// Section 9.7.9.25: from the operations of a group to each later `wait_group` that allows fewer pending groups than
/// were committed in between.
fn awaited_groups(x: &Skeleton<Ptx>, readings: Readings) -> Relation {
    let group = |kind| match kind {
        OperationKind::Copy => Some(Group::Copy),
        OperationKind::Bulk => Some(Group::Bulk),
        OperationKind::Wgmma => Some(Group::Wgmma),
        _ => None,
    };
    let commits = |from: usize, to: usize, of: Group| {
        let kind = EventKind::Step(Step::CommitGroup(of));
        let between = |event: &usize| x.is_issued_before(from, *event) && x.is_issued_before(*event, to);
        (from..to).filter(|&event| x.events[event].kind == kind).filter(between).count()
    };
    Relation::from_fn(x.len(), |a, b| {
        let EventKind::Step(Step::WaitGroup { of, pending, read, all }) = x.events[b].kind else { return false };
        let kind = (0..a + 1).rev().find_map(|start| started(&x.events[start]).filter(|_| x.same_operation(start, a)));
        let waits = || {
            let after = commits(a, b, of);
            after > pending as usize || all
        };
        let of_group = || {
            let completes = |event: &Event<Ptx>| matches!(event.kind, EventKind::Complete { bytes: Some(_), .. });
            !(a..x.len()).any(|event| x.same_operation(a, event) && completes(&x.events[event]))
        };
        let part = match x.events[a].kind {
            EventKind::Complete { .. } => !read && readings.has(Rule::Groups),
            // The read of a reduction at its destination is not a read of a source.
            EventKind::Read(_) => read && readings.has(Rule::GroupsRead) && x.rmw.row(a).is_empty(),
            _ => false,
        };
        part && kind.and_then(group) == Some(of) && of_group() && x.is_issued_before(a, b) && waits()
    })
}

/// Section 9.7.16.6.4.4, in the reading in which a `tcgen05.wait` needs a fence: the awaited operations are complete
/// for the later tensor instructions, and through a fence for all other events.
fn order_after_waits(x: &Skeleton<Ptx>, readings: Readings) -> Relation {
    if readings.is_lenient(Ambiguity::FenceAfterWait) || !readings.has(Rule::TensorWaits) {
        return Relation::empty(x.len());
    }
    let waits = |kind, event: &Event<Ptx>| match (kind, event.kind) {
        (OperationKind::TensorLoad, EventKind::Step(Step::TensorWait(of))) => of == TensorWait::Load,
        (OperationKind::TensorStore, EventKind::Step(Step::TensorWait(of))) => of == TensorWait::Store,
        _ => false,
    };
    Relation::from_fn(x.len(), |a, b| {
        let Some(kind) = completed(&x.events[a]) else { return false };
        let later = &x.events[b];
        let passes = started(later).is_some_and(is_tensor)
            || is_tensor_instruction(later) && !matches!(later.kind, EventKind::Step(_))
            || readings.is_lenient(Ambiguity::FenceBesidesRelease) && releases(later);
        let between =
            |wait: usize| waits(kind, &x.events[wait]) && x.is_issued_before(a, wait) && x.is_issued_before(wait, b);
        passes && (a..b).any(between)
    })
}

/// The orders between asynchronous operations and their threads that are part of base causality order (section 8.9.5),
/// except the orders from starts to memory operations, which [`enter_operations`] adds.
pub fn causes(x: &Skeleton<Ptx>, conventions: Conventions) -> Relation {
    let readings = conventions.readings;
    start_order(x, readings) | leaving(x, readings) | fenced_before(x, readings) | completions(x, readings)
}

/// From the memory operations of each operation to its completion, and from its reads to its writes.
fn leaving(x: &Skeleton<Ptx>, readings: Readings) -> Relation {
    within_operations(x, readings).between(x.memory(), Set::first(x.len()))
}

/// From the start of each operation to its memory operations.
pub(super) fn entering(x: &Skeleton<Ptx>, readings: Readings) -> Relation {
    let starts = x.filter(|event| started(event).is_some());
    within_operations(x, readings).between(starts, x.memory())
}

/// Section 8.9.1.1: the events before the start of an operation precede its memory operations, but this alone does not
/// order them before the events that observe its completion: a completion covers only the operation's own memory
/// operations.
pub fn enter_operations(x: &Skeleton<Ptx>, causality: &Relation, readings: Readings) -> Relation {
    let within = entering(x, readings);
    if readings.has(Rule::CompletesAlone) {
        *causality | within | causality.then(&within)
    } else {
        (*causality | within).closure()
    }
}

/// From the request of a signal to the signal (section 9.7.16.6.2.1.1): the arrival is later, but does not release the
/// accesses of the thread.
pub fn signals(x: &Skeleton<Ptx>, readings: Readings) -> Relation {
    Relation::from_fn(x.len(), |a, b| {
        let (EventKind::Step(Step::Ask(_)), EventKind::Step(Step::Signal(_))) = (x.events[a].kind, x.events[b].kind)
        else {
            return false;
        };
        readings.has(Rule::SignalsLater) && x.same_thread(a, b) && a + 1 == b
    })
}

/// The part of execution order that depends neither on the sources of reads nor on phases.
pub fn static_order(x: &Skeleton<Ptx>, conventions: Conventions) -> Relation {
    let readings = conventions.readings;
    let own = causes(x, conventions) | within_operations(x, readings);
    x.po | own | pipelines(x, readings) | signals(x, readings)
}

/// Section 9.7.16.6.3: the order of execution, whether or not it orders memory. In addition to base causality, it
/// contains the order by relaxed operations; `read` is the morally strong part of reads-from.
pub fn execution_order(
    x: &Skeleton<Ptx>,
    causality: &Relation,
    read: &Relation,
    phases: &Relation,
    conventions: Conventions,
) -> Relation {
    if !has_asynchronous(x) {
        return *causality;
    }
    let has = |rule, relation: &Relation| {
        if conventions.readings.has(rule) { *relation } else { Relation::empty(x.len()) }
    };
    let relaxed = has(Rule::StrongReads, read) | has(Rule::MbarriersOrder, phases);
    (static_order(x, conventions) | *causality | relaxed).closure()
}

/// Whether some arrival is ordered after a wait that observes it, which no execution allows.
pub(crate) fn waits_for_itself(execution_order: &Relation, phases: &Relation) -> bool {
    phases.pairs().any(|(arrival, wait)| execution_order.contains(wait, arrival))
}

/// The properties of one side of a synchronization at an mbarrier: the scope, and whether it is stronger than relaxed.
fn side(event: &Event<Ptx>) -> Option<(Scope, bool)> {
    match event.kind {
        EventKind::Step(Step::Mbarrier(
            MbarrierStep::Arrive { relaxed, scope, .. } | MbarrierStep::Wait { relaxed, scope, .. },
        )) => Some((scope, !relaxed)),
        EventKind::Step(Step::Mbarrier(MbarrierStep::ExpectTx { .. } | MbarrierStep::CompleteTx { .. })) => {
            Some((Scope::Cluster, false))
        }
        EventKind::Step(Step::Signal(_)) | EventKind::Complete { bytes: Some(_), .. } => Some((Scope::Cluster, true)),
        EventKind::Fence(of) => of.ordering().map(|(_, scope)| (scope, true)),
        _ => None,
    }
}

/// Sections 8.8 and 9.7.13.15: from releases at an mbarrier to acquires there, for the arrivals that each wait
/// observes. Each scope must include the other thread.
pub fn mbarriers_synchronize(x: &Skeleton<Ptx>, phases: &Relation, conventions: Conventions) -> Relation {
    let mut all = Relation::empty(x.len());
    let readings = conventions.readings;
    if phases.is_empty() {
        return all;
    }
    let includes = |a: usize, b: usize| {
        let scope = side(&x.events[a]).map(|(scope, _)| scope);
        let places = x.place(a).zip(x.place(b));
        scope.zip(places).is_some_and(|(scope, (from, to))| from.includes(scope, to))
    };
    let strong = |a: usize, b: usize| includes(a, b) && includes(b, a);
    let fences = |acquires: bool| {
        let not = if acquires { FenceSem::Release } else { FenceSem::Acquire };
        let sc = conventions.fence_sc_in_patterns;
        let is = |sem| sem != not && (sc || sem != FenceSem::Sc);
        let is = |fence: Fence| fence.ordering().is_some_and(|(sem, _)| is(sem));
        x.filter(|event| matches!(event.kind, EventKind::Fence(fence) if is(fence)))
    };
    let (releasing, acquiring) = (fences(false), fences(true));
    let is_one = |event: usize| side(&x.events[event]).is_some_and(|(_, more)| more);
    for (arrival, wait) in phases.pairs().filter(|&(arrival, wait)| strong(arrival, wait)) {
        let forms = |fence: usize, access: usize| restricted::forms_pattern(x, fence, access, readings);
        let mut heads: Set =
            releasing.filter(|&fence| x.po.contains(fence, arrival) && forms(fence, arrival)).collect();
        let mut tails: Set = (x.po.row(wait) & acquiring).filter(|&fence| forms(fence, wait)).collect();
        if is_one(arrival) {
            heads.insert(arrival);
            let commits = matches!(x.events[arrival].kind, EventKind::Step(Step::Signal(Signal::Commit(..))));
            if commits && readings.is_lenient(Ambiguity::CommitReleases) {
                all.insert(arrival - 1, arrival);
            }
        }
        if is_one(wait) {
            tails.insert(wait);
        }
        for head in heads {
            tails.filter(|&tail| strong(head, tail)).for_each(|tail| all.insert(head, tail));
        }
    }
    if readings.has(Rule::MbarriersSynchronize) { all } else { Relation::empty(x.len()) }
}

/// Section 9.7.13.5, `fence.mbarrier_init`: from an earlier `mbarrier.init` to the waits, also relaxed ones, that
/// observe an arrival at the barrier of the cluster after the fence.
pub fn initialized(x: &Skeleton<Ptx>, observed: &Relation, readings: Readings) -> Relation {
    let of = |is: fn(&EventKind<Ptx>) -> bool| x.filter(|event| is(&event.kind));
    let inits = of(|kind| matches!(kind, EventKind::Step(Step::Mbarrier(MbarrierStep::Init { .. }))));
    let fences = of(|kind| matches!(kind, EventKind::Fence(Fence::MbarrierInit)));
    let arrivals = of(|kind| matches!(kind, EventKind::Arrive));
    if inits.is_empty() || fences.is_empty() || !readings.has(Rule::InitFence) {
        return Relation::empty(x.len());
    }
    x.po.between(inits, fences).then(&x.po.between(fences, arrivals)).then(observed)
}

/// All orders that asynchronous operations and mbarriers add to base causality order (section 8.9.5).
pub fn base_causality(x: &Skeleton<Ptx>, phases: &Relation, barriers: &Relation, conventions: Conventions) -> Relation {
    causes(x, conventions)
        | mbarriers_synchronize(x, phases, conventions)
        | initialized(x, &(*phases | *barriers), conventions.readings)
}

/// A relation, with its name in explanations.
type Named = (&'static str, Relation);

/// The named orders of asynchronous operations: first the parts of base causality order, then the parts of execution
/// order alone.
pub(super) fn named(
    x: &Skeleton<Ptx>,
    phases: &Relation,
    barriers: &Relation,
    conventions: Conventions,
) -> (Vec<Named>, Vec<Named>) {
    if !has_asynchronous(x) {
        return (Vec::new(), Vec::new());
    }
    let readings = conventions.readings;
    let memory = vec![
        ("start", start_order(x, readings)),
        ("operation", leaving(x, readings)),
        ("fence", fenced_before(x, readings)),
        ("complete", completions(x, readings)),
        ("phase", mbarriers_synchronize(x, phases, conventions)),
        ("init", initialized(x, &(*phases | *barriers), readings)),
    ];
    (memory, vec![("pipe", pipelines(x, readings)), ("signal", signals(x, readings)), ("phase", *phases)])
}

/// The start and the completion of a memory operation's asynchronous operation; for a synchronous memory operation, the
/// event itself.
pub(super) fn bounds(x: &Skeleton<Ptx>, event: usize) -> (usize, usize) {
    let of = |is: fn(&EventKind<Ptx>) -> bool| {
        (0..x.len()).find(|&other| x.same_operation(event, other) && is(&x.events[other].kind)).unwrap_or(event)
    };
    (of(|kind| matches!(kind, EventKind::Start(_))), of(|kind| matches!(kind, EventKind::Complete { .. })))
}

/// Section 9.7.16.6: the order of conflicting accesses to tensor memory: the second starts after the first is complete,
/// or the two are pipelined and start in this order, in one thread or in two.
pub fn tensor_order(x: &Skeleton<Ptx>, execution_order: &Relation, readings: Readings) -> Relation {
    let tensor = (x.reads | x.writes)
        .filter(|&event| x.events[event].kind != EventKind::Init && x.events[event].proxy() == Proxy::Tensor);
    let tensor: Set = tensor.collect();
    let mut order = Relation::empty(x.len());
    for a in tensor {
        let (start, complete) = bounds(x, a);
        for b in tensor.filter(|&b| x.events[a].location == x.events[b].location && !x.same_operation(a, b)) {
            let (other, _) = bounds(x, b);
            let after = execution_order.contains(complete, other) && readings.has(Rule::TensorCompletion);
            let piped = pipelined(x, start, other, readings) && readings.has(Rule::TensorPipeline);
            if a != b && (after || piped && execution_order.contains(start, other)) {
                order.insert(a, b);
            }
        }
    }
    order
}

/// Base causality order of an execution before any read has a source and any phase is known (section 8.9.5), without
/// the order into operations.
pub(crate) fn first_causes(x: &Skeleton<Ptx>, conventions: Conventions) -> Relation {
    let all = Set::first(x.len());
    let inits = Relation::product(x.len(), x.inits, all - x.inits);
    let own = if has_asynchronous(x) { causes(x, conventions) } else { Relation::empty(x.len()) };
    (x.po | own).closure() | inits
}
