//! The operations in the reference, with their names.

use ptx_lowering::{Operation, Ordering, ptx::Space};

/// Every operation on every type in global memory; a single failure ordering stands for all.
pub fn operations() -> impl Iterator<Item = Operation> {
    let is_shown = |operation: &Operation| !matches!(operation, Operation::CmpXchg { failure, .. } if *failure != Ordering::Relaxed);
    Operation::all(Space::Global).filter(is_shown)
}

/// The name of an operation, without its type.
pub fn name(operation: &Operation) -> String {
    match operation {
        Operation::Fence => "fence".to_owned(),
        Operation::Load(_) => "load".to_owned(),
        Operation::Store(_) => "store".to_owned(),
        Operation::CmpXchg { .. } => "cmpxchg".to_owned(),
        Operation::Rmw(op, _) => op.to_string(),
    }
}
