//! Base causality order between proxies: the async and the tensormap proxy, tensor memory, and the fences between them.

use super::{
    Conventions, Fence, FencedSpace, OneSided, Proxy, ProxyFence, Ptx,
    asynchronous::{bounds, has_asynchronous, is_tensor, started, tensor_order},
    readings::{Ambiguity, Readings, Rule},
    relations,
};
use crate::{
    asynchronous::{Memory, Step},
    execution::Skeleton,
    place::Scope,
    relation::{Relation, Set},
    unfold::EventKind,
};

/// The part of base causality that all proxies preserve (section 8.9.5).
pub(crate) fn all_preserved(
    x: &Skeleton<Ptx>,
    cb: &Relation,
    execution_order: &Relation,
    conventions: Conventions,
) -> Relation {
    let others = relations::proxy_preserved_base_causality_order(x, cb);
    if has_asynchronous(x) { others | proxy_preserved(x, cb, execution_order, conventions) } else { others }
}

/// Section 8.9.5, for pairs with an access through the async or the tensormap proxy, or to tensor memory; with the
/// fences of section 9.7.13.5.
pub fn proxy_preserved(
    x: &Skeleton<Ptx>,
    cb: &Relation,
    execution_order: &Relation,
    conventions: Conventions,
) -> Relation {
    let readings = conventions.readings;
    let crossing = Crossing { x, cb, readings };
    let mut order = tensor_order(x, execution_order, readings);
    let special = |event: usize| matches!(x.events[event].proxy(), Proxy::Async | Proxy::Tensormap);
    let memory = x.memory() - x.inits;
    for a in memory {
        for b in memory.filter(|&b| b != a && (special(a) || special(b) || x.same_operation(a, b))) {
            if x.events[a].address == x.events[b].address && crossing.leads(a, b) {
                order.insert(a, b);
            }
        }
    }
    order
}

/// Base causality order, from one proxy to another.
struct Crossing<'c> {
    x: &'c Skeleton<Ptx>,
    cb: &'c Relation,
    readings: Readings,
}

impl Crossing<'_> {
    fn proxy(&self, event: usize) -> Proxy {
        self.x.events[event].proxy()
    }

    /// Whether causality order leads from one access to another at the same address.
    fn leads(&self, a: usize, b: usize) -> bool {
        let x = self.x;
        if x.same_operation(a, b) {
            return self.cb.contains(a, b);
        }
        let same_cta = x.place(a) == x.place(b) || self.readings.is_lenient(Ambiguity::AsyncProxyOfOneCta);
        let same = self.proxy(a) == self.proxy(b) && self.proxy(a) == Proxy::Async;
        same && same_cta && self.cb.contains(a, b) && self.readings.has(Rule::AsyncProxy)
            || self.generic_proxy_events(a, b).any(|from| self.enters(from, a, b))
    }

    /// The events from which on an access counts as an access through the generic proxy.
    fn generic_proxy_events(&self, a: usize, b: usize) -> Set {
        let x = self.x;
        if self.proxy(a) == Proxy::Generic {
            return Set::singleton(a);
        }
        let (start, complete) = bounds(x, a);
        let implicit = match started(&x.events[start]) {
            Some(kind) if is_tensor(kind) => self.readings.is_lenient(Ambiguity::ProxyFenceAfterCommit),
            Some(_) => self.readings.has(Rule::ImplicitProxyFence),
            None => false,
        };
        let fences = (0..x.len()).filter(|&fence| self.is_fence(fence, a, b, b) && self.cb.contains(a, fence));
        let mut left: Set = fences.collect();
        // The read of a copy's source is observed before the copy is complete.
        if implicit && x.reads.contains(a) {
            left.insert(a);
        } else if implicit {
            left.insert(complete);
        }
        left
    }

    /// Whether causality order leads on from an event into the proxy of an access.
    fn enters(&self, from: usize, a: usize, b: usize) -> bool {
        let x = self.x;
        let reaches = |a: usize, b: usize| a == b || self.cb.contains(a, b);
        match self.proxy(b) {
            Proxy::Generic => reaches(from, b),
            Proxy::Async => {
                let read = x.reads.contains(a) && self.readings.is_lenient(Ambiguity::ProxyFenceAfterRead);
                let whole =
                    |fence: usize| self.is_fence(fence, a, b, a) && reaches(from, fence) && self.cb.contains(fence, b);
                read && reaches(from, b)
                    || (0..x.len()).any(whole)
                    || self.readings.has(Rule::AsyncHalves)
                        && x.events[b].memory == Memory::Shared
                        && self.halves(OneSided::Release, from).any(|release| {
                            let acquires = self.halves(OneSided::Acquire, release);
                            x.same_thread(release, a) && { acquires }.any(|acquire| self.cb.contains(acquire, b))
                        })
            }
            Proxy::Tensormap => {
                let whole = |fence: usize| {
                    x.events[fence].kind == EventKind::Fence(Fence::Proxy(ProxyFence::Of(Proxy::Tensormap)))
                        && reaches(from, fence)
                        && self.cb.contains(fence, b)
                };
                (0..x.len()).any(whole) || self.readings.has(Rule::TensormapHalves) && self.releases_tensormap(from, b)
            }
            _ => false,
        }
    }

    /// Whether a fence orders the generic proxy and the async proxy for the location of two accesses, and is where it
    /// must be: in the thread of the generic access.
    fn is_fence(&self, fence: usize, a: usize, b: usize, generic: usize) -> bool {
        let x = self.x;
        let EventKind::Fence(Fence::Proxy(kind)) = x.events[fence].kind else { return false };
        let memory = x.events[a].memory;
        let covers = match kind {
            ProxyFence::Of(Proxy::Async) => true,
            ProxyFence::AsyncOf(FencedSpace::Global) => memory == Memory::Global,
            ProxyFence::AsyncOf(FencedSpace::SharedCluster) => memory == Memory::Shared,
            // Shared memory of the fence's CTA: the CTA of the generic access, or of the operation if no access is
            // generic.
            ProxyFence::AsyncOf(FencedSpace::SharedCta) => {
                memory == Memory::Shared && x.place(fence) == x.place(generic)
            }
            _ => false,
        };
        let is_async = |event: usize| self.proxy(event) == Proxy::Async;
        let anywhere = self.readings.is_lenient(Ambiguity::ProxyFenceAtWriter);
        covers
            && (is_async(a) || is_async(b))
            && (anywhere || x.same_thread(fence, generic))
            && self.readings.has(Rule::AsyncFence)
    }

    /// The half fences of one side that are ordered after an event, or are that event.
    fn halves(&self, half: OneSided, from: usize) -> Set {
        let kind = EventKind::Fence(Fence::Proxy(ProxyFence::AsyncHalf(half)));
        let after = |&fence: &usize| fence == from || self.cb.contains(from, fence);
        (0..self.x.len()).filter(|&fence| self.x.events[fence].kind == kind).filter(after).collect()
    }

    /// Section 9.7.13.5: `fence.proxy.tensormap::generic`, a release and then an acquire of the descriptor, where each
    /// scope includes the other thread.
    fn releases_tensormap(&self, from: usize, b: usize) -> bool {
        let x = self.x;
        let includes = |scope: Scope, a: usize, b: usize| {
            x.place(a).zip(x.place(b)).is_some_and(|(from, to)| from.includes(scope, to))
        };
        (0..x.len()).any(|release| {
            let EventKind::Fence(Fence::Proxy(ProxyFence::TensormapRelease(scope))) = x.events[release].kind else {
                return false;
            };
            let acquires = |acquire: usize| {
                let EventKind::Step(Step::AcquireTensormap(of)) = x.events[acquire].kind else { return false };
                x.events[acquire].location.variable == x.events[b].location.variable
                    && includes(scope, release, acquire)
                    && includes(of, acquire, release)
                    && self.cb.contains(release, acquire)
                    && self.cb.contains(acquire, b)
            };
            (release == from || self.cb.contains(from, release)) && (0..x.len()).any(acquires)
        })
    }
}
