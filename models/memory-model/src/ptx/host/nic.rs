//! A NIC: the order of its requests over PCIe, by the ordering rules of the PCI Express Base Specification.
//!
//! A memory write is a posted request, and has no completion. A memory read and an AtomicOp are non-posted requests: the
//! NIC receives a completion. A request does not pass an earlier posted request, except for a write or an AtomicOp with
//! the relaxed-ordering attribute. Any request may pass an earlier non-posted request, also at the same address; the NIC
//! orders two such requests if it waits for the completion, and a request that depends on a value waits for it.

use super::rule::Rule;
use crate::{
    execution::Skeleton,
    ptx::Ptx,
    relation::{Relation, Set},
    unfold::EventKind,
};

/// Whether a request has the relaxed-ordering attribute.
fn is_relaxed(x: &Skeleton<Ptx>, event: usize) -> bool {
    matches!(x.events[event].kind, EventKind::Read(access) | EventKind::Write(access) if access.relaxed_ordering)
}

/// The pairs of requests of a NIC that stay in order.
pub fn local_order(x: &Skeleton<Ptx>, thread: Set) -> Relation {
    let (reads, writes) = (thread & x.reads, thread & x.writes);
    let rmw = x.rmw.between(reads, writes);
    let posted = writes - rmw.inverse().domain();
    let kept: Set = (reads | writes).filter(|&event| !is_relaxed(x, event)).collect();
    let of = &x.syntactic;
    let completed = (of.address | of.data | of.control).between(reads, reads | writes);
    Rule::PostedInOrder.filter_relation(x.po.between(posted, kept & posted))
        | Rule::PushedByPosted.filter_relation(x.po.between(posted, kept - posted))
        | Rule::Completion.filter_relation(completed)
        | Rule::AtomicCompletion.filter_relation(rmw.inverse().then(&completed) - rmw)
        | rmw
}
