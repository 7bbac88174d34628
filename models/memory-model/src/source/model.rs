//! Relations and axioms, in the notation of RC11: `sb` is program order, `mo` the modification order, which is total
//! for each location, `rb` reads-before.

use strum::{Display, EnumIter, IntoEnumIterator};

use super::{Cpp, Order, ReleaseSequences};
use crate::{
    execution::{Execution, Skeleton},
    place::Scope,
    program::Span,
    relation::{Relation, Set},
    unfold::EventKind,
};

fn order(x: &Skeleton<Cpp>, event: usize) -> Option<(Order, Scope)> {
    match x.events[event].kind {
        EventKind::Read(access) | EventKind::Write(access) => Some((access.order, access.scope)),
        EventKind::Fence(fence) => Some((fence.order, fence.scope)),
        _ => None,
    }
}

fn ordered(x: &Skeleton<Cpp>, holds: impl Fn(Order) -> bool) -> Set {
    (0..x.len()).filter(|&event| order(x, event).is_some_and(|(order, _)| holds(order))).collect()
}

/// Atomic operations, and fences.
pub fn atomic(x: &Skeleton<Cpp>) -> Set {
    ordered(x, |order| order != Order::NonAtomic)
}

/// The sequentially consistent operations and fences.
pub fn seq_cst(x: &Skeleton<Cpp>) -> Set {
    ordered(x, |order| order == Order::SeqCst)
}

/// Pairs whose scopes include each other's threads; two operations of one thread always.
pub fn inclusive(x: &Skeleton<Cpp>) -> Relation {
    Relation::from_fn(x.len(), |a, b| {
        let includes = |event: usize, other: usize| {
            let (Some((order, scope)), Some(place), Some(other)) = (order(x, event), x.place(event), x.place(other))
            else {
                return false;
            };
            order != Order::NonAtomic && place.includes(scope, other)
        };
        x.same_thread(a, b) || (includes(a, b) && includes(b, a))
    })
}

/// `rs`: from the first write of a release sequence to each of its writes.
pub fn release_sequences(x: &Execution<Cpp>, rule: ReleaseSequences) -> Relation {
    let skeleton = &x.skeleton;
    let atomic_writes = Relation::identity(skeleton.len(), atomic(skeleton) & skeleton.writes);
    let chain = (inclusive(skeleton) & x.rf).then(&skeleton.rmw).closure().optional();
    let own = match rule {
        ReleaseSequences::Cpp11 => {
            let later = (skeleton.po & skeleton.same_location).optional();
            later.between(skeleton.writes, skeleton.writes).then(&atomic_writes)
        }
        ReleaseSequences::Cpp20 => atomic_writes,
    };
    own.then(&chain)
}

/// `sw`.
pub fn synchronizes_with(x: &Execution<Cpp>, rule: ReleaseSequences) -> Relation {
    let skeleton = &x.skeleton;
    let releases = ordered(skeleton, Order::releases) & (skeleton.writes | skeleton.fences);
    let acquires = ordered(skeleton, Order::acquires) & (skeleton.reads | skeleton.fences);
    let all = Set(!0);
    let fence_before = skeleton.po.between(skeleton.fences, all).optional();
    let fence_after = skeleton.po.between(all, skeleton.fences).optional();
    let reads_from = (inclusive(skeleton) & x.rf).between(all, atomic(skeleton) & skeleton.reads);
    let read = fence_before.then(&release_sequences(x, rule)).then(&reads_from);
    read.then(&fence_after).between(releases, acquires)
}

/// `hb`. The initial writes happen before all other events.
pub fn happens_before(x: &Execution<Cpp>, rule: ReleaseSequences) -> Relation {
    let skeleton = &x.skeleton;
    let others = skeleton.filter(|event| event.thread.is_some());
    let inits = Relation::product(skeleton.len(), skeleton.inits, others);
    (skeleton.po | inits | (inclusive(skeleton) & synchronizes_with(x, rule))).closure()
}

/// `eco`: extended coherence order.
pub fn extended_coherence_order(x: &Execution<Cpp>) -> Relation {
    (x.rf | x.co | x.fr()).closure()
}

/// `psc`: partial order of sequentially consistent operations.
pub fn partial_sc(x: &Execution<Cpp>, hb: &Relation) -> Relation {
    let skeleton = &x.skeleton;
    let len = skeleton.len();
    let same = skeleton.same_location;
    let sb = skeleton.po;
    let elsewhere = sb - same;
    let scb = sb | elsewhere.then(hb).then(&elsewhere) | (*hb & same) | x.co | x.fr();
    let sc = Relation::identity(len, seq_cst(skeleton));
    let fences = Relation::identity(len, seq_cst(skeleton) & skeleton.fences);
    let before = sc | fences.then(&hb.optional());
    let after = sc | hb.optional().then(&fences);
    let eco = extended_coherence_order(x);
    let between_fences = fences.then(&(*hb | hb.then(&eco).then(hb))).then(&fences);
    before.then(&scb).then(&after) | between_fences
}

/// Pairs of operations of different threads that make the program undefined: they conflict, are unordered, and are not
/// both atomic at scopes that include each other.
pub fn races(x: &Execution<Cpp>, hb: &Relation) -> Relation {
    let skeleton = &x.skeleton;
    let writes = Relation::product(skeleton.len(), skeleton.writes, Set(!0));
    let conflicts = skeleton.same_location & (writes | writes.inverse());
    let threads = Relation::from_fn(skeleton.len(), |a, b| a != b && !skeleton.same_thread(a, b));
    (conflicts & threads) - *hb - hb.inverse() - inclusive(skeleton)
}

/// The writes that a read may see, according to LLVM's Language Reference: every write that the read does not happen
/// before, unless another write happens after it and before the read.
fn visible(x: &Skeleton<Cpp>, hb: &Relation, read: usize) -> Set {
    let writes = x.at(x.events[read].location) & x.writes;
    let before: Set = writes.filter(|&write| hb.contains(write, read)).collect();
    writes.filter(|&write| !hb.contains(read, write) && (hb.row(write) & before).is_empty()).collect()
}

/// Whether the model determines the value that a read of these writes returns: there is only one write, or the read and
/// all writes are atomic at scopes that include each other. Initial writes do not race.
fn agree(x: &Skeleton<Cpp>, inclusive: &Relation, writes: Set, read: Option<usize>) -> bool {
    let all = read.map_or(Set(0), Set::singleton) | (writes - x.inits);
    writes.count() == 1 || { all }.all(|event| (all - Set::singleton(event) - inclusive.row(event)).is_empty())
}

/// The reads that race: in LLVM, they may return any value. A write that depends on the value of a read does not race
/// with that read: no value justifies itself.
pub fn racing_reads(x: &Execution<Cpp>, inclusive: &Relation, hb: &Relation) -> Set {
    let (skeleton, depends) = (&x.skeleton, (x.skeleton.dep | x.rf).closure());
    let races = |&read: &usize| {
        let visible = visible(skeleton, hb, read) - depends.row(read);
        !agree(skeleton, inclusive, visible, Some(read))
    };
    skeleton.reads.filter(races).collect()
}

/// Whether the last writes of a location race with each other: in LLVM, a later read may then return any value.
pub fn ends_in_a_race(x: &Skeleton<Cpp>, inclusive: &Relation, hb: &Relation, location: Span) -> bool {
    let writes = x.at(location) & x.writes;
    let last = writes.filter(|&write| (hb.row(write) & writes).is_empty()).collect();
    !agree(x, inclusive, last, None)
}

/// The reads that may race in some execution.
pub fn may_race(x: &Skeleton<Cpp>, inclusive: &Relation) -> Set {
    let races = |&read: &usize| {
        let writes = (x.at(x.events[read].location) & x.writes) - x.inits;
        !agree(x, inclusive, writes | x.inits, Some(read))
    };
    x.reads.filter(races).collect()
}

/// An axiom of RC11.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumIter)]
pub enum Axiom {
    /// Each location separately is sequentially consistent.
    Coherence,
    /// No write is between the read and the write of a read-modify-write.
    Atomicity,
    /// The sequentially consistent operations and fences have an order.
    #[strum(serialize = "Sequential consistency")]
    Sc,
    /// Values do not justify themselves.
    #[strum(serialize = "No thin air")]
    NoThinAir,
}

impl Axiom {
    /// Whether the axiom allows an execution; `hb` is happens-before.
    pub fn holds(self, x: &Execution<Cpp>, hb: &Relation) -> bool {
        match self {
            Self::Coherence => coherence(x, hb),
            Self::Atomicity => atomicity(x),
            Self::Sc => sequential_consistency(x, hb),
            Self::NoThinAir => no_thin_air(x),
        }
    }
}

/// The first axiom that forbids an execution.
pub fn forbidden(x: &Execution<Cpp>, rule: ReleaseSequences) -> Option<Axiom> {
    let hb = happens_before(x, rule);
    Axiom::iter().find(|axiom| !axiom.holds(x, &hb))
}

/// See [`Axiom::Coherence`].
pub fn coherence(x: &Execution<Cpp>, hb: &Relation) -> bool {
    hb.is_irreflexive() && hb.then(&extended_coherence_order(x)).is_irreflexive()
}

/// See [`Axiom::Atomicity`].
pub fn atomicity(x: &Execution<Cpp>) -> bool {
    (x.fr().then(&x.co) & x.skeleton.rmw).is_empty()
}

/// See [`Axiom::Sc`].
pub fn sequential_consistency(x: &Execution<Cpp>, hb: &Relation) -> bool {
    (inclusive(&x.skeleton) & partial_sc(x, hb)).is_acyclic()
}

/// RC11 forbids every cycle of `sb` and `rf`; the mapping to PTX is proved for a source model that forbids only the
/// cycles through dependencies, because PTX allows load buffering.
pub fn no_thin_air(x: &Execution<Cpp>) -> bool {
    (x.skeleton.dep | x.rf).is_acyclic()
}

/// The stronger axiom of RC11. Without it, speculation could make a program undefined.
pub fn in_order(x: &Execution<Cpp>) -> bool {
    (x.skeleton.po | x.rf).is_acyclic()
}
