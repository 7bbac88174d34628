//! A function as the optimizer sees it: a control-flow graph of what touches memory or orders it.

use ptx_lowering::{AtomicOp, Operation, ptx::Scope};

/// A function of a GPU program.
///
/// What it leaves out touches no memory that another thread sees, and orders nothing: arithmetic, and accesses of local or
/// constant memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// The blocks. The first is the entry.
    pub blocks: Vec<Block>,
    /// Whether it is a kernel: nothing of its threads runs before its entry, or after it returns.
    pub kernel: bool,
    /// Whether a CTA is stated to have one thread.
    pub single_thread: bool,
    /// What keeps locations in shared memory from being known to the threads of one CTA alone, in words that follow
    /// "because"; nothing if nothing does.
    pub shared_obstacle: Option<String>,
    /// The narrowest scope that has all threads which access the same memory at the same time.
    pub within: Scope,
}

impl Default for Function {
    /// A function without blocks, of which nothing is known.
    fn default() -> Self {
        Self { blocks: Vec::new(), kernel: false, single_thread: false, shared_obstacle: None, within: Scope::Sys }
    }
}

/// A basic block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// In program order.
    pub events: Vec<Event>,
    /// The blocks that may follow. None where the function ends.
    pub next: Vec<usize>,
    /// The edge that the block stands on, from block to block of the original, where the optimizer made it.
    pub on_edge: Option<(usize, usize)>,
    /// Why the function ends here, where no block follows.
    pub end: End,
}

/// How a block without a successor ends.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum End {
    /// The function returns.
    #[default]
    Return,
    /// It is not left: a trap, or unreachable.
    Never,
}

/// Something that touches memory or orders it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The number by which whoever made the function knows it. Nothing if the optimizer made it: it is then a fence.
    pub id: Option<usize>,
    /// What it is.
    pub kind: EventKind,
}

/// What an event is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// An atomic operation or a fence.
    Atomic(Atomic),
    /// An access of plain data, at an address of which nothing is known.
    Plain,
    /// A barrier of the CTA or the cluster. Programs put a fence in front of it for an atomic that another thread does behind it.
    Barrier,
    /// What may access any memory, synchronize, or end the thread, in words as "the call to `g`".
    Unknown(String),
}

/// An atomic operation or a fence.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Atomic {
    /// The operation.
    pub op: AtomicOp,
    /// Where; nothing for a fence.
    pub address: Option<Address>,
    /// Of a compare and exchange: the edge, from block to block, that is taken exactly if it succeeded just before.
    pub success: Option<(usize, usize)>,
    /// Whether it has a form that acquires. A reduction, whose result no register gets, has none.
    pub can_acquire: bool,
}

/// An address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address {
    /// Equal numbers are the same value of the program.
    pub value: usize,
    /// The block that computes it; nothing if it is the same in all of the function.
    pub block: Option<usize>,
    /// The widest scope with a thread that can name the location.
    pub reach: Scope,
}

impl Atomic {
    /// A fence.
    pub fn fence(op: AtomicOp) -> Self {
        Self { op, address: None, success: None, can_acquire: true }
    }

    /// Whether it is performed exactly as the program says.
    pub fn is_volatile(&self) -> bool {
        self.op.operation.access().is_some_and(|access| access.volatile)
    }

    /// Whether it is a fence.
    pub fn is_fence(&self) -> bool {
        self.op.operation == Operation::Fence
    }

    /// Whether it acquires, also where it is a compare and exchange that fails.
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

    /// Whether it reads and writes.
    pub fn is_update(&self) -> bool {
        self.op.operation.reads() && self.op.operation.writes()
    }
}

impl Event {
    /// The atomic operation or fence that it is.
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
