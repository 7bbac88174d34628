//! Fences with `.sync_restrict` (section 9.7.13.5): their effect applies to operations on objects of one state space.

use super::{
    Fence, OneSided, Ptx,
    readings::{Ambiguity, Readings},
};
use crate::{
    asynchronous::Memory,
    execution::Skeleton,
    place::Scope,
    relation::{Relation, Set},
    unfold::EventKind,
};

/// The fences with `.sync_restrict`.
pub fn fences(x: &Skeleton<Ptx>) -> Set {
    x.filter(|event| matches!(event.kind, EventKind::Fence(Fence::Restricted(_))))
}

/// Whether a fence applies to an operation on an object: a release to objects in shared memory of its CTA, an acquire to
/// objects in shared memory of its cluster.
fn covers(x: &Skeleton<Ptx>, fence: usize, operation: usize) -> bool {
    let EventKind::Fence(Fence::Restricted(side)) = x.events[fence].kind else { return true };
    let object = &x.events[operation];
    let scope = match side {
        OneSided::Release => Scope::Cta,
        OneSided::Acquire => Scope::Cluster,
    };
    let is_near = |place| object.cta.is_some_and(|cta| cta.includes(scope, place));
    object.memory == Memory::Shared && x.place(fence).is_some_and(is_near)
}

/// Whether a fence and a strong access form a pattern (section 8.8), as far as `.sync_restrict` concerns it: A15.
pub(super) fn forms_pattern(x: &Skeleton<Ptx>, fence: usize, access: usize, readings: Readings) -> bool {
    readings.is_lenient(Ambiguity::RestrictedPattern) || covers(x, fence, access)
}

/// The pairs of a fence and a strong access that form a pattern.
pub(super) fn patterns(x: &Skeleton<Ptx>, pairs: Relation, readings: Readings) -> Relation {
    if fences(x).is_empty() {
        return pairs;
    }
    // Only a fence restricts a pair, so the order of the two does not matter.
    pairs & Relation::from_fn(x.len(), |a, b| forms_pattern(x, a, b, readings) && forms_pattern(x, b, a, readings))
}

/// The transitive closure of orders, in which a memory operation passes only the fences that apply to its object.
pub(super) fn closure(x: &Skeleton<Ptx>, orders: &Relation) -> Relation {
    let (fences, all) = (fences(x), Set::first(x.len()));
    let mut closure = orders.closure();
    if fences.is_empty() {
        return closure;
    }
    for operation in x.memory() {
        let passed: Set = all - fences.filter(|&fence| !covers(x, fence, operation)).collect();
        *closure.row_mut(operation) = orders.between(passed, passed).closure().row(operation);
    }
    closure
}
