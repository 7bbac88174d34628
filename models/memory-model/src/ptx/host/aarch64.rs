//! AArch64: the rules that order the accesses of one thread, with the names of the Arm Architecture Reference Manual,
//! B2.3, and of herd7's aarch64.cat.

use super::{HostFence, Orders, rule::Rule};
use crate::{
    execution::{Execution, Skeleton},
    ptx::{Fence, Ptx, Sem, Semantics},
    relation::{Relation, Set},
    unfold::EventKind,
};

/// The events of a thread, in the classes that the rules distinguish.
struct Thread<'x> {
    x: &'x Skeleton<Ptx>,
    all: Set,
    reads: Set,
    writes: Set,
    /// `A`: reads of `LDAR` and of atomics with `A`.
    acquires: Set,
    /// `Q`: reads of `LDAPR`.
    acquires_pc: Set,
    /// `L`: writes of `STLR` and of atomics with `L`.
    releases: Set,
    /// Program order at one location.
    po_loc: Relation,
    /// `lmrs`: from a write to the next reads of its location.
    next_reads: Relation,
}

impl<'x> Thread<'x> {
    fn new(x: &'x Skeleton<Ptx>, all: Set) -> Self {
        let access = |event: usize| match x.events[event].kind {
            EventKind::Read(access) | EventKind::Write(access) => Some(access),
            _ => None,
        };
        let of = |set: Set, holds: &dyn Fn(Semantics) -> bool| -> Set {
            (set & all).filter(|&event| access(event).is_some_and(holds)).collect()
        };
        let memory = all & x.memory();
        let po_loc = x.po.between(memory, memory) & x.same_location;
        let (reads, writes) = (all & x.reads, all & x.writes);
        let over = po_loc.between(memory, writes).then(&po_loc);
        Self {
            x,
            all,
            reads,
            writes,
            acquires: of(x.reads, &|access| access.acquires() && !access.pc),
            acquires_pc: of(x.reads, &|access| access.acquires() && access.pc),
            releases: of(x.writes, &|access| matches!(access.sem, Sem::Release | Sem::AcqRel)),
            po_loc,
            next_reads: po_loc.between(writes, reads) - over,
        }
    }

    fn memory(&self) -> Set {
        self.reads | self.writes
    }

    /// From one set to another, with a fence of the third set between.
    fn over(&self, before: Set, fences: Set, after: Set) -> Relation {
        self.x.po.between(before, fences).then(&self.x.po.between(fences, after))
    }

    fn fences(&self, holds: impl Fn(HostFence) -> bool) -> Set {
        let is = |event: &usize| matches!(self.x.events[*event].kind, EventKind::Fence(Fence::Host(of)) if holds(of));
        self.all.filter(is).collect()
    }

    /// Dependency-ordered-before.
    fn dob(&self) -> Relation {
        let (po, of) = (self.x.po, &self.x.syntactic);
        let within = |relation: Relation| relation.between(self.all, self.all);
        let (address, data, control) = (within(of.address), within(of.data), within(of.control));
        let later = address.between(self.all, self.memory()).then(&po.between(self.memory(), self.writes));
        Rule::Address.filter_relation(address.between(self.all, self.memory()))
            | Rule::Data.filter_relation(data.between(self.all, self.writes))
            | Rule::Control.filter_relation(control.between(self.all, self.writes))
            | Rule::AfterAddress.filter_relation(later)
            | Rule::Picked.filter_relation(self.pob())
            | Rule::Forwarded.filter_relation((address | data).then(&self.next_reads))
    }

    /// Pick-ordered-before.
    fn pob(&self) -> Relation {
        let (po, of) = (self.x.po, &self.x.syntactic);
        let through = of.picked_address.between(self.all, self.memory());
        of.picked.between(self.all, self.writes) | through.then(&po.between(self.memory(), self.writes))
    }

    /// Atomic-ordered-before.
    fn aob(&self) -> Relation {
        let rmw = self.x.rmw.between(self.reads, self.writes);
        let acquired = rmw.then(&self.next_reads).between(self.reads, self.acquires | self.acquires_pc);
        rmw | Rule::AtomicAcquired.filter_relation(acquired)
    }

    /// Barrier-ordered-before, except for a full `DMB`, which [`order`](super::order) handles.
    fn bob(&self) -> Relation {
        let (po, memory) = (self.x.po, self.memory());
        let dmb = |orders| self.fences(move |of| matches!(of, HostFence::Dmb(of) if of.orders() == orders));
        // A `DMB LD` does not order the read of an atomic without a result.
        let discarded = self.reads & self.x.filter(|event| event.reduction);
        let both = self.x.rmw.between(self.acquires, self.releases);
        let later = both.pairs().map(|(_, write)| write).collect();
        Rule::DmbLoads.filter_relation(self.over(self.reads - discarded, dmb(Orders::Loads), memory))
            | Rule::DmbStores.filter_relation(self.over(self.writes, dmb(Orders::Stores), self.writes))
            | Rule::AtomicBoth.filter_relation(po.between(later, memory))
            | Rule::ReleaseAcquire.filter_relation(po.between(self.releases, self.acquires))
            | Rule::Acquire.filter_relation(po.between(self.acquires | self.acquires_pc, memory))
            | Rule::Release.filter_relation(po.between(memory, self.releases))
    }

    /// IFB-ordered-before: the accesses after an `ISB` that depends on a read.
    fn ifb(&self) -> Relation {
        let (po, of, isb) = (self.x.po, &self.x.syntactic, self.fences(|of| of == HostFence::Isb));
        let later = po.between(isb, self.memory());
        let address = of.address | of.picked_address;
        let through = address.between(self.all, self.memory()).then(&po.between(self.memory(), isb));
        Rule::Isb.filter_relation((of.control | of.picked).between(self.all, isb).then(&later))
            | Rule::IsbAddress.filter_relation(through.then(&later))
    }
}

/// Locally-ordered-before. The order of hazards (Exp-haz-ob) follows from it: of two reads of one location, the first
/// does not return a newer write than the second, so the first precedes every write that the second precedes.
pub fn local_order(execution: &Execution<Ptx>, thread: Set) -> Relation {
    let of = Thread::new(&execution.skeleton, thread);
    let successors = of.po_loc.between(of.memory(), of.writes);
    Rule::Successor.filter_relation(successors) | of.dob() | of.aob() | of.bob() | of.ifb()
}
