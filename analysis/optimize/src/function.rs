//! The optimizer's view of a function: a control-flow graph of memory accesses and orderings.

use ptx_lowering::{AtomicOp, Operation, ptx::Scope};

/// A function of a GPU program.
///
/// The graph leaves out instructions that neither access memory visible to other threads nor order anything:
/// arithmetic, and accesses to local or constant memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// The blocks. The first block is the entry.
    pub blocks: Vec<Block>,
    /// Whether the function is a kernel: its threads execute nothing before its entry or after its return.
    pub kernel: bool,
    /// Whether the source declares that a CTA has one thread.
    pub single_thread: bool,
    /// The reason why threads outside the CTA may access its shared memory, in words that follow "because"; `None` if
    /// they cannot.
    pub shared_obstacle: Option<String>,
    /// The narrowest scope that includes all threads that access the same memory at the same time.
    pub within: Scope,
}

impl Default for Function {
    /// A function without blocks and without known properties.
    fn default() -> Self {
        Self { blocks: Vec::new(), kernel: false, single_thread: false, shared_obstacle: None, within: Scope::Sys }
    }
}

/// A basic block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// The events, in program order.
    pub events: Vec<Event>,
    /// The possible successors; none where the function ends.
    pub next: Vec<usize>,
    /// The edge between two original blocks for which the optimizer created this block.
    pub on_edge: Option<(usize, usize)>,
    /// How the function ends here, if no block follows.
    pub end: End,
}

/// The end of a block without a successor.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// The function returns.
    #[default]
    Return,
    /// Control never leaves the block: a trap, or unreachable code.
    Never,
}

/// An access to memory, or an ordering.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The number that the creator of the function gave the event. `None` for an event of the optimizer, which is
    /// always a fence.
    pub id: Option<usize>,
    /// The kind of the event.
    pub kind: EventKind,
}

/// The kind of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// An atomic operation or a fence.
    Atomic(Atomic),
    /// An access of plain data at an unknown address.
    Plain,
    /// A barrier of the CTA or the cluster. Programs put a fence before it to order the thread's accesses before an
    /// atomic that another thread executes after it.
    Barrier,
    /// An instruction that may access any memory, synchronize, or end the thread, in words such as "the call to `g`".
    Unknown(String),
}

/// An atomic operation or a fence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Atomic {
    /// The operation.
    pub op: AtomicOp,
    /// The address; `None` for a fence.
    pub address: Option<Address>,
    /// For a compare-and-exchange: the edge, from block to block, that control takes exactly if the exchange has just
    /// succeeded.
    pub success: Option<(usize, usize)>,
    /// Whether the operation has an acquiring form. A reduction, which has no result register, has none.
    pub can_acquire: bool,
}

/// An address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// The number of the value in the program: equal numbers mean equal values.
    pub value: usize,
    /// The block that computes the address; `None` if the value is the same in the whole function.
    pub block: Option<usize>,
    /// The narrowest scope that includes every thread that can access the location.
    pub reach: Scope,
}

impl Atomic {
    /// A fence.
    pub fn fence(op: AtomicOp) -> Self {
        Self { op, address: None, success: None, can_acquire: true }
    }

    /// Whether the operation must execute exactly as written.
    pub fn is_volatile(&self) -> bool {
        self.op.operation.access().is_some_and(|access| access.volatile)
    }

    /// Whether it is a fence.
    pub fn is_fence(&self) -> bool {
        self.op.operation == Operation::Fence
    }

    /// Whether the operation acquires; a failing compare-and-exchange counts, too.
    pub fn acquires(&self) -> bool {
        let failure = match self.op.operation {
            Operation::CmpXchg { failure, .. } => failure.acquires(),
            _ => false,
        };
        self.op.ordering.acquires() || failure
    }

    /// Whether it releases.
    pub fn releases(&self) -> bool {
        self.op.ordering.releases()
    }

    /// Whether the operation both reads and writes.
    pub fn is_update(&self) -> bool {
        self.op.operation.reads() && self.op.operation.writes()
    }
}

impl Event {
    /// The atomic operation or fence of the event, if it has one.
    pub fn atomic(&self) -> Option<&Atomic> {
        match &self.kind {
            EventKind::Atomic(atomic) => Some(atomic),
            _ => None,
        }
    }

    pub(crate) fn atomic_mut(&mut self) -> Option<&mut Atomic> {
        match &mut self.kind {
            EventKind::Atomic(atomic) => Some(atomic),
            _ => None,
        }
    }
}

impl Function {
    /// Every event, block by block.
    pub fn events(&self) -> impl Iterator<Item = &Event> {
        self.blocks.iter().flat_map(|block| &block.events)
    }
}
