//! Orderings without a part of them.

use ptx_lowering::{AtomicOp, Operation, Ordering};

/// The ordering of these two halves.
pub fn of_halves(acquires: bool, releases: bool) -> Ordering {
    match (acquires, releases) {
        (true, true) => Ordering::AcqRel,
        (true, false) => Ordering::Acquire,
        (false, true) => Ordering::Release,
        (false, false) => Ordering::Relaxed,
    }
}

/// The weakest of the orderings that are no more than atomic, where it acquires or releases; itself otherwise.
fn halves(ordering: Ordering, acquires: bool, releases: bool) -> Ordering {
    match (ordering.acquires() && acquires, ordering.releases() && releases) {
        (false, false) if !ordering.acquires() && !ordering.releases() => ordering,
        (acquires, releases) => of_halves(acquires, releases),
    }
}

/// The operation without what it need not do. Of a sequentially consistent one, its halves are left.
pub fn keep(op: AtomicOp, acquires: bool, releases: bool) -> AtomicOp {
    let mut op = op;
    // A load has no half that releases, and a store none that acquires.
    let (can_acquire, can_release) = (
        op.operation.reads() || op.operation == Operation::Fence,
        op.operation.writes() || op.operation == Operation::Fence,
    );
    op.ordering = halves(op.ordering, acquires && can_acquire, releases && can_release);
    if let Operation::CmpXchg { failure, .. } = &mut op.operation {
        *failure = halves(*failure, acquires, false);
    }
    op
}

/// Whether it is sequentially consistent, also where it is a compare and exchange that fails.
pub fn is_seq_cst(op: &AtomicOp) -> bool {
    op.ordering == Ordering::SeqCst || matches!(op.operation, Operation::CmpXchg { failure: Ordering::SeqCst, .. })
}
