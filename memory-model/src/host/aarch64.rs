//! AArch64: what orders the accesses of one thread, by the names of the Arm Architecture Reference Manual, B2.3, and of herd7's
//! aarch64.cat.

use super::{HostFence, Orders};
use crate::{
    execution::{Execution, Skeleton},
    ptx::{Fence, Ptx, Sem, Semantics},
    relation::{Relation, Set},
    unfold::EventKind,
};

/// What a thread does, by what the rules tell apart.
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
        let po_loc = x.po.between(memory, memory) & x.same_location();
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

    /// From one set to another, over a fence of a third.
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
        address.between(self.all, self.memory())
            | data.between(self.all, self.writes)
            | control.between(self.all, self.writes)
            | address.between(self.all, self.memory()).then(&po.between(self.memory(), self.writes))
            | (address | data).then(&self.next_reads)
    }

    /// Atomic-ordered-before.
    fn aob(&self) -> Relation {
        let rmw = self.x.rmw.between(self.reads, self.writes);
        rmw | rmw.then(&self.next_reads).between(self.reads, self.acquires | self.acquires_pc)
    }

    /// Barrier-ordered-before.
    fn bob(&self) -> Relation {
        let (po, memory) = (self.x.po, self.memory());
        let dmb = |orders| self.fences(move |of| matches!(of, HostFence::Dmb(of) if of.orders() == orders));
        // What an atomic without a result reads is ordered by no `DMB LD`.
        let discarded = self.reads & self.x.filter(|event| event.reduction);
        let both = self.x.rmw.between(self.acquires, self.releases);
        let behind = both.pairs().map(|(_, write)| write).collect();
        self.over(memory, dmb(Orders::All), memory)
            | self.over(self.reads - discarded, dmb(Orders::Loads), memory)
            | self.over(self.writes, dmb(Orders::Stores), self.writes)
            | po.between(behind, memory)
            | po.between(self.releases, self.acquires)
            | po.between(self.acquires | self.acquires_pc, memory)
            | po.between(memory, self.releases)
    }

    /// IFB-ordered-before: what is behind an `ISB` that a read decides about.
    fn ifb(&self) -> Relation {
        let (po, of, isb) = (self.x.po, &self.x.syntactic, self.fences(|of| of == HostFence::Isb));
        let behind = po.between(isb, self.memory());
        let through = of.address.between(self.all, self.memory()).then(&po.between(self.memory(), isb));
        (of.control.between(self.all, isb) | through).then(&behind)
    }
}

/// Locally-ordered-before, and what hazards order.
pub fn local_order(execution: &Execution<Ptx>, thread: Set) -> Relation {
    let of = Thread::new(&execution.skeleton, thread);
    let successors = of.po_loc.between(of.memory(), of.writes);
    successors | of.dob() | of.aob() | of.bob() | of.ifb()
}

/// Explicitly-hazard-ordered-before: of two reads of one location, the first is in front of a write of another thread that the
/// second does not see.
pub fn hazards(x: &Skeleton<Ptx>, fr: &Relation, thread: Set) -> Relation {
    let of = Thread::new(x, thread);
    let external = Relation::from_fn(x.len(), |a, b| fr.contains(a, b) && !x.same_thread(a, b));
    of.po_loc.between(of.reads, of.reads).then(&external)
}
