//! Operations with a weakened ordering.

use ptx_lowering::{AtomicOp, Operation, Ordering};

/// The ordering with these two halves.
pub fn of_halves(acquires: bool, releases: bool) -> Ordering {
    match (acquires, releases) {
        (true, true) => Ordering::AcqRel,
        (true, false) => Ordering::Acquire,
        (false, true) => Ordering::Release,
        (false, false) => Ordering::Relaxed,
    }
}

/// The ordering reduced to the given halves. An ordering that neither acquires nor releases stays unchanged.
fn halves(ordering: Ordering, acquires: bool, releases: bool) -> Ordering {
    match (ordering.acquires() && acquires, ordering.releases() && releases) {
        (false, false) if !ordering.acquires() && !ordering.releases() => ordering,
        (acquires, releases) => of_halves(acquires, releases),
    }
}

/// The operation without the halves that it need not have. A sequentially consistent operation keeps at most its
/// halves.
pub fn keep(op: AtomicOp, acquires: bool, releases: bool) -> AtomicOp {
    let mut op = op;
    // A load has no release half, and a store no acquire half.
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

/// Whether the operation is sequentially consistent; a failing compare-and-exchange counts, too.
pub fn is_seq_cst(op: &AtomicOp) -> bool {
    op.ordering == Ordering::SeqCst || matches!(op.operation, Operation::CmpXchg { failure: Ordering::SeqCst, .. })
}
