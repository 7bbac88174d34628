//! The relations of the manual, in its order. The relations above [`observation_order`] depend on the program alone;
//! [`Fixed`] has them for a search, which examines many executions of a program.

use super::{Conventions, Fence, FenceSem, Proxy, ProxyFence, Ptx, asynchronous, restricted};
use crate::{
    asynchronous::Step,
    execution::{Event, Execution, Skeleton},
    host::{
        order::{full_barriers, internal, preserved},
        rule::Rule,
    },
    place::Scope,
    relation::{Relation, Set},
    unfold::EventKind,
};

/// Table 20: the scope of a strong operation; `None` for other events.
fn strong_scope(event: &Event<Ptx>) -> Option<Scope> {
    match event.kind {
        EventKind::Read(access) | EventKind::Write(access) => access.strong().then_some(access.scope),
        EventKind::Fence(Fence::Proxy(ProxyFence::TensormapRelease(scope)))
        | EventKind::Step(Step::AcquireTensormap(scope)) => Some(scope),
        EventKind::Fence(Fence::Host(of)) if of.is_full() => Some(Scope::Sys),
        EventKind::Fence(of) => of.ordering().map(|(_, scope)| scope),
        _ => None,
    }
}

/// Section 8.4, Table 20: strong operations.
pub fn strong(x: &Skeleton<Ptx>) -> Set {
    x.filter(|event| strong_scope(event).is_some())
}

/// The first part of section 8.7: program order relates two operations, or the scope of each includes the thread of the
/// other. Irreflexive and symmetric.
fn mutually_inclusive(x: &Skeleton<Ptx>) -> Relation {
    let mut threads = vec![Set(0); x.places.len()];
    for (event, thread) in x.events.iter().enumerate().filter_map(|(index, event)| Some((index, event.thread?))) {
        threads[thread].insert(event);
    }
    let mut included = Relation::empty(x.len());
    for (index, event) in x.events.iter().enumerate() {
        let Some((thread, scope)) = event.thread.zip(strong_scope(event)) else { continue };
        let places = x.places.iter().zip(&threads);
        let threads = places.filter(|(place, _)| x.places[thread].includes(scope, **place));
        *included.row_mut(index) = threads.fold(Set(0), |all, (_, events)| all | *events) - Set::singleton(index);
    }
    (included & included.inverse()) | x.po | x.po.inverse()
}

/// Section 8.7. Irreflexive and symmetric.
pub fn morally_strong(x: &Skeleton<Ptx>) -> Relation {
    let memory = x.memory();
    mutually_inclusive(x).filter(|a, b| {
        let (first, second) = (&x.events[a], &x.events[b]);
        let both_memory = memory.contains(a) && memory.contains(b);
        first.proxy() == second.proxy() && (!both_memory || first.address == second.address)
    })
}

/// Program order between operations on the same address.
fn po_loc(x: &Skeleton<Ptx>) -> Relation {
    let mut result = Relation::empty(x.len());
    for event in x.memory() {
        let address = x.events[event].address;
        *result.row_mut(event) = (x.po.row(event) & x.memory()).filter(|&b| x.events[b].address == address).collect();
    }
    result
}

fn fences(x: &Skeleton<Ptx>, holds: impl Fn(FenceSem) -> bool) -> Set {
    let holds = |fence: Fence| fence.ordering().is_some_and(|(sem, _)| holds(sem));
    x.filter(|event| matches!(event.kind, EventKind::Fence(fence) if holds(fence)))
}

/// The `fence.sc` operations, and the full barriers of the host.
pub fn sc_fences(x: &Skeleton<Ptx>) -> Set {
    fences(x, |sem| sem == FenceSem::Sc) | full_barriers(x)
}

/// Section 8.8: from the first operation of each release pattern to its strong write. A proxy fence that releases can
/// also be the first operation (section 9.7.13.5). A write of the host is a pattern by itself.
pub fn release_patterns(x: &Skeleton<Ptx>, conventions: Conventions) -> Relation {
    let sc = conventions.fence_sc_in_patterns;
    let releases = x.filter(|event| matches!(event.kind, EventKind::Write(access) if access.releases()));
    let fences = fences(x, |sem| matches!(sem, FenceSem::AcqRel | FenceSem::Release) || sc && sem == FenceSem::Sc);
    let proxy_fence =
        |event: &Event<Ptx>| matches!(event.kind, EventKind::Fence(Fence::Proxy(ProxyFence::TensormapRelease(_))));
    let fences = fences | x.filter(proxy_fence);
    let writes = (x.writes & strong(x)) - x.host;
    let of_host = Rule::HostReleases.filter_relation(Relation::identity(x.len(), x.writes & x.host));
    let fenced = restricted::patterns(x, x.po.between(fences, writes), conventions.readings);
    po_loc(x).optional().between(releases - x.host, writes) | fenced | of_host
}

/// Section 8.8: from the strong read of each acquire pattern to its last operation, which may be a proxy fence that
/// acquires (section 9.7.13.5). Section 8.11.1 excludes `red`. A read of the host is a pattern by itself.
pub fn acquire_patterns(x: &Skeleton<Ptx>, conventions: Conventions) -> Relation {
    let sc = conventions.fence_sc_in_patterns;
    let red = if conventions.red_acquires { Set(0) } else { x.filter(|event| event.reduction) };
    let acquires = x.filter(|event| matches!(event.kind, EventKind::Read(access) if access.acquires())) - red;
    let fences = fences(x, |sem| matches!(sem, FenceSem::AcqRel | FenceSem::Acquire) || sc && sem == FenceSem::Sc);
    let fences = fences | x.filter(|event| matches!(event.kind, EventKind::Step(Step::AcquireTensormap(_))));
    let reads = (x.reads & strong(x)) - red - x.host;
    let of_host = Rule::HostAcquires.filter_relation(Relation::identity(x.len(), x.reads & x.host));
    let fenced = restricted::patterns(x, x.po.between(reads, fences), conventions.readings);
    po_loc(x).optional().between(reads, acquires - x.host) | fenced | of_host
}

/// The relations that depend on the program alone.
#[derive(Clone)]
pub struct Fixed {
    /// Section 8.7, the first part.
    pub mutually_inclusive: Relation,
    /// Section 8.7.
    pub morally_strong: Relation,
    /// Section 8.8: [`release_patterns`].
    pub release_patterns: Relation,
    /// Section 8.8: [`acquire_patterns`].
    pub acquire_patterns: Relation,
    /// The interpretation of the manual.
    pub conventions: Conventions,
}

impl Fixed {
    /// Computes the relations.
    pub fn new(x: &Skeleton<Ptx>, conventions: Conventions) -> Self {
        Self {
            mutually_inclusive: mutually_inclusive(x),
            morally_strong: morally_strong(x),
            release_patterns: release_patterns(x, conventions),
            acquire_patterns: acquire_patterns(x, conventions),
            conventions,
        }
    }
}

/// Section 8.9.2. A thread of the host may read its own writes before other threads do, so those reads are excluded.
pub fn observation_order(x: &Execution<Ptx>, fixed: &Fixed) -> Relation {
    let strong_rf = (fixed.morally_strong & x.rf) - internal(&x.skeleton);
    let chain = x.skeleton.rmw.then(&strong_rf);
    strong_rf.then(&chain.closure().optional())
}

/// Section 8.9.4: the synchronization of patterns. Fences and barriers also synchronize: see [`base_causality_order`].
pub fn synchronizes(observation: &Relation, fixed: &Fixed) -> Relation {
    fixed.morally_strong & fixed.release_patterns.then(observation).then(&fixed.acquire_patterns)
}

/// Section 8.9.5.
pub fn base_causality_order(x: &Execution<Ptx>, synchronizes: &Relation, conventions: Conventions) -> Relation {
    let inits = x.skeleton.inits;
    let before_all = Relation::product(x.skeleton.len(), inits, Set::first(x.skeleton.len()) - inits);
    let known = preserved(x) | *synchronizes | x.sc | x.barriers | before_all;
    if asynchronous::has_asynchronous(&x.skeleton) {
        let all = known | asynchronous::base_causality(&x.skeleton, &x.phases, &x.barriers, conventions);
        let closure = restricted::closure(&x.skeleton, &all);
        return asynchronous::enter_operations(&x.skeleton, &closure, conventions.readings);
    }
    restricted::closure(&x.skeleton, &known)
}

/// The proxies that `proxies.rs` handles.
const SPECIAL: [Proxy; 3] = [Proxy::Async, Proxy::Tensormap, Proxy::Tensor];

/// Section 8.9.5. The text gives cases for the generic proxy, for one proxy within one CTA, and for aliases; a fence of
/// another proxy orders as in 'Mixed-Proxy Extensions for the NVIDIA PTX Memory Consistency Model' (ISCA 2022).
pub fn proxy_preserved_base_causality_order(x: &Skeleton<Ptx>, cb: &Relation) -> Relation {
    let memory = x.memory();
    let is_same_address = |a: usize, b: usize| x.events[a].address == x.events[b].address;
    let generic = memory & x.filter(|event| event.proxy() == Proxy::Generic);
    let cb_memory = cb.between(memory, memory);
    let proxy_fences = x.filter(|event| matches!(event.kind, EventKind::Fence(Fence::Proxy(_))));
    if generic == memory && proxy_fences.is_empty() {
        return cb_memory.filter(is_same_address);
    }
    let same_address = Relation::from_fn(x.len(), is_same_address);
    let same_cta = |a: usize, b: usize| x.place(a).is_some() && x.place(a) == x.place(b);
    let of = |fence: usize, operation: usize| {
        let EventKind::Fence(Fence::Proxy(ProxyFence::Of(of))) = x.events[fence].kind else { return false };
        !SPECIAL.contains(&of) && of == x.events[operation].proxy() && same_cta(fence, operation)
    };
    let same_proxy = Relation::from_fn(x.len(), |a, b| {
        let of = x.events[a].proxy();
        !SPECIAL.contains(&of) && of == x.events[b].proxy() && same_cta(a, b)
    });
    let leave = *cb & Relation::from_fn(x.len(), |a, fence| memory.contains(a) && of(fence, a));
    let enter = *cb & Relation::from_fn(x.len(), |fence, b| memory.contains(b) && of(fence, b));
    let aliases = x.filter(|event| event.kind == EventKind::Fence(Fence::Proxy(ProxyFence::Alias)));
    let through = |middle: &Relation| {
        middle.between(generic, generic)
            | leave.then(middle).between(memory, generic)
            | middle.then(&enter).between(generic, memory)
            | leave.then(middle).then(&enter)
    };
    let via_alias = cb.then(&Relation::identity(x.len(), aliases)).then(cb);
    (same_address & (through(cb) | (cb_memory & same_proxy))) | (x.same_location & through(&via_alias))
}

/// Section 8.9.5.
pub fn causality_order(observation: &Relation, proxy_preserved: &Relation) -> Relation {
    *proxy_preserved | observation.then(proxy_preserved)
}

/// The strengthened model: from the operation that begins a release pattern to the writes that follow the write of the
/// pattern in coherence order, and from a `fence.sc` to the writes that a later read of its thread does not observe yet.
/// The pair of accesses is morally strong, and the scopes of both operations include each other's threads.
pub fn overwritten(x: &Execution<Ptx>, fixed: &Fixed) -> Relation {
    let Fixed { morally_strong: strong, release_patterns, .. } = fixed;
    let fenced_reads = preserved(x).between(sc_fences(&x.skeleton), x.skeleton.reads);
    let later = release_patterns.then(&(*strong & x.co)) | fenced_reads.then(&(*strong & x.fr()));
    fixed.mutually_inclusive & later
}

/// The strengthened model: from the operation that begins a release pattern, or a `fence.sc`, to the operation that
/// begins a release pattern after an overwriting write. The scopes of both operations include each other's threads.
pub fn propagates(x: &Execution<Ptx>, overwritten: &Relation, fixed: &Fixed) -> Relation {
    let begins = fixed.release_patterns.domain();
    fixed.mutually_inclusive & overwritten.then(&preserved(x).between(x.skeleton.writes, begins))
}
