//! x86-TSO: the rules that order the accesses of one thread. After Owens, Sarkar and Sewell, 'A Better x86 Memory
//! Model: x86-TSO' (TPHOLs 2009), in the form of herd7's x86tso.cat.

use super::rule::Rule;
use crate::{
    execution::Skeleton,
    ptx::Ptx,
    relation::{Relation, Set},
    unfold::EventKind,
};

/// Whether a read or a write is part of a locked instruction, including a compare and exchange that fails.
fn is_locked(x: &Skeleton<Ptx>, event: usize) -> bool {
    match x.events[event].kind {
        EventKind::Read(access) | EventKind::Write(access) => access.acquires(),
        _ => false,
    }
}

/// The pairs of accesses of a thread that happen in program order: all pairs except a write with a later read. `MFENCE`
/// and locked instructions also order these.
pub fn local_order(x: &Skeleton<Ptx>, thread: Set) -> Relation {
    let (reads, writes) = (thread & x.reads, thread & x.writes);
    let locked = thread.filter(|&event| is_locked(x, event)).collect::<Set>();
    let (po, all) = (x.po, reads | writes);
    Rule::ReadFirst.filter_relation(po.between(reads, all))
        | Rule::Writes.filter_relation(po.between(writes, writes))
        | Rule::LockedFirst.filter_relation(po.between(writes & locked, reads))
        | Rule::LockedLast.filter_relation(po.between(writes, reads & locked))
}
