//! Operations in the syntax of LLVM IR.

use ptx_lowering::{
    AtomicOp, Operation, Ordering, SyncScope,
    ptx::{Scope, Space},
};

/// The parts of an operation's text besides its mnemonic, ordering and operands.
#[derive(Clone, Copy, Debug)]
pub struct Spelling<'a> {
    /// The type of the value.
    pub ty: &'a str,
    /// The alignment, in bytes.
    pub align: u32,
    /// Whether read-modify-writes have an alignment. In LLVM 7 they have none.
    pub aligned_rmw: bool,
    /// The address, with its type.
    pub pointer: &'a str,
    /// Whether a compare and exchange may fail spuriously.
    pub weak: bool,
}

/// The instructions that perform an operation with the operands `%b` and `%c`, and whose result is `%r`.
pub fn instructions(op: &AtomicOp, spelling: &Spelling<'_>) -> String {
    instructions_on(op, spelling, ["%b", "%c"])
}

/// The same with other operands than `%b` and `%c`. For a compare and exchange, `%pair` is the whole result.
pub fn instructions_on(op: &AtomicOp, spelling: &Spelling<'_>, [b, c]: [&str; 2]) -> String {
    let Spelling { ty, align, aligned_rmw, pointer, weak } = *spelling;
    let volatile = if op.operation.access().is_some_and(|access| access.volatile) { "volatile " } else { "" };
    let (scope, order) = (sync_scope(op.scope), ordering(op.ordering));
    let align = format!(", align {align}");
    let rmw_align = if aligned_rmw { &align } else { "" };
    match op.operation {
        Operation::Fence => format!("fence {scope}{order}"),
        Operation::Load(_) => format!("%r = load atomic {volatile}{ty}, {pointer} {scope}{order}{align}"),
        Operation::Store(_) => format!("store atomic {volatile}{ty} {b}, {pointer} {scope}{order}{align}"),
        Operation::Rmw(rmw, _) => {
            format!("%r = atomicrmw {volatile}{rmw} {pointer}, {ty} {b} {scope}{order}{rmw_align}")
        }
        Operation::CmpXchg { failure, .. } => {
            let weak = if weak { "weak " } else { "" };
            let failure = ordering(failure);
            let operands = format!("{pointer}, {ty} {b}, {ty} {c} {scope}{order} {failure}{rmw_align}");
            format!("%pair = cmpxchg {weak}{volatile}{operands}\n  %r = extractvalue {{ {ty}, i1 }} %pair, 0")
        }
    }
}

/// The name of an ordering in LLVM IR.
pub fn ordering(ordering: Ordering) -> &'static str {
    if ordering == Ordering::Relaxed { "monotonic" } else { ordering.into() }
}

/// The name of a synchronization scope; empty for the whole system.
pub fn scope_name(scope: SyncScope) -> &'static str {
    match scope {
        SyncScope::SingleThread => "singlethread",
        SyncScope::Threads(Scope::Cta) => "block",
        SyncScope::Threads(Scope::Cluster) => "cluster",
        SyncScope::Threads(Scope::Gpu) => "device",
        SyncScope::Threads(Scope::Sys) => "",
    }
}

/// The text of a scope before an ordering.
fn sync_scope(scope: SyncScope) -> String {
    match scope_name(scope) {
        "" => String::new(),
        name => format!("syncscope(\"{name}\") "),
    }
}

/// The number of the address space of a state space.
pub fn address_space(space: Space) -> u32 {
    match space {
        Space::Generic => 0,
        Space::Global => 1,
        Space::Shared | Space::SharedCta => 3,
        Space::Const => 4,
        Space::Local => 5,
        Space::SharedCluster => 7,
    }
}

/// The type of a pointer, without the type of the value.
pub fn pointer(space: Space) -> String {
    format!("ptr{}", qualifier(space))
}

/// The address space in the type of a pointer.
pub fn qualifier(space: Space) -> String {
    match address_space(space) {
        0 => String::new(),
        number => format!(" addrspace({number})"),
    }
}
