//! The kernel model of the check: a control-flow graph of asynchronous operations, of accesses of the same memory, and
//! of the events that order the two.
//!
//! Unknown values are numbers: equal numbers are the same value of the same thread, as long as the block that computes
//! the value is not entered again.

use std::sync::Arc;

use ptx_isa::{
    InstPlace, Scope,
    effects::{Committed, Group, Proxy, ProxyFence, TensorFence, TensorWait},
};

use crate::cause::Cause;

/// A kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Kernel {
    /// Its name.
    pub name: String,
    /// The line of its directive.
    pub line: u32,
    /// The blocks. The first is the entry.
    pub blocks: Vec<Block>,
    /// The unknown values.
    pub unknowns: Vec<Unknown>,
    /// The unknown predicates.
    pub predicates: Vec<Predicate>,
    /// The objects that addresses are relative to.
    pub objects: Vec<Object>,
    /// The changes of values along edges to the blocks that compute them.
    pub edge_updates: Vec<EdgeUpdate>,
    /// The number of threads of a CTA, if the kernel specifies it.
    pub threads: Option<u32>,
    /// The largest number of threads of a CTA, if the kernel specifies it or the memory of its copies limits it.
    pub most: Option<u32>,
    /// Whether the number of threads of a CTA in each dimension is known. `.maxntid` gives only the total number, which
    /// is enough if the kernel reads a single dimension.
    pub has_block: bool,
    /// Whether a barrier of the CTA waits for threads that have exited: true before sm_70.
    pub counts_exited: bool,
    /// The objects whose addresses are loaded from global memory.
    pub loaded: Vec<usize>,
    /// The names of the variables in global memory that a kernel of the module writes.
    pub written: Vec<String>,
    /// The instructions that are not understood: a line, and a reason that completes "not checked:", such as "the call
    /// to `g`, whose code is not here".
    pub unread: Vec<(InstPlace, String)>,
    /// Whether some of these are asynchronous instructions, whose ordering is unknown.
    pub has_unknown_order: bool,
    /// Whether `setmaxnreg` changes the number of registers. Only executions show whether a warpgroup executes it alike.
    pub changes_registers: bool,
    /// The instructions that the assembler replaces for the target: a line, and the replacement.
    pub assembled: Vec<(InstPlace, String)>,
}

impl Kernel {
    /// The location of findings about the kernel as a whole.
    pub fn place(&self) -> InstPlace {
        InstPlace::line(self.line)
    }
}

/// A basic block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// In program order.
    pub events: Vec<Event>,
    /// The edges to the blocks that may follow. Empty where the kernel ends.
    pub next: Vec<Edge>,
    /// Whether no path leaves the block: it traps, or cannot be reached.
    pub is_dead_end: bool,
    /// Whether it is a copy of a loop's body for one of the first iterations.
    pub is_copy: bool,
}

/// An edge of the control-flow graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The block that follows.
    pub to: usize,
    /// The condition of the threads that take it.
    pub when: Option<Condition>,
}

/// A condition on a thread: a predicate of the kernel, or its negation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Condition {
    /// Its number in [`Kernel::predicates`].
    pub predicate: usize,
    /// Whether it is true.
    pub holds: bool,
}

impl Condition {
    /// The condition of the threads that do not satisfy this condition.
    pub fn opposite(self) -> Self {
        Self { holds: !self.holds, ..self }
    }
}

/// A predicate. Its value is the value in one thread.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Predicate {
    /// The test that it computes.
    pub test: Test,
    /// The threads that may have different values.
    pub varies: Varies,
    /// The block that computes it; `None` if it is the same in the whole kernel.
    pub block: Option<usize>,
    /// Its value in each thread of a CTA, in their order; `None` where the value does not follow from the number of the
    /// thread.
    pub each: Option<Arc<[Option<bool>]>>,
}

/// The test of a predicate.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Test {
    /// An unknown test.
    Unknown,
    /// It holds exactly if a value of [`Kernel::unknowns`] is within a range, both ends included.
    Within {
        /// The value.
        value: usize,
        /// The lowest that holds.
        low: i64,
        /// The highest that holds.
        high: i64,
    },
    /// It holds for one thread of each warp: `elect.sync`, or the first lane.
    OneOfWarp,
    /// It holds exactly if all of these conditions hold.
    All(Vec<Condition>),
    /// It holds exactly if any of these conditions holds.
    Any(Vec<Condition>),
}

/// The threads that may have different values of the same unknown or predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Varies {
    /// All threads of a CTA have the same value, or no instruction suggests otherwise: parameters, loop counters,
    /// values loaded from memory.
    No,
    /// Threads of different warps.
    Warp,
    /// Any two threads.
    Thread,
}

/// An unknown value.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Unknown {
    /// Its kind.
    pub kind: UnknownKind,
    /// The threads that may have different values.
    pub varies: Varies,
    /// The block that computes it; `None` if it is the same in the whole kernel.
    pub block: Option<usize>,
    /// Its lowest and highest possible value, if they are known.
    pub range: Option<(i64, i64)>,
    /// The same range over the first threads of a CTA, for each of the counts in [`SIZES`], where it matters.
    pub by_threads: Vec<(i64, i64)>,
    /// Its value in each thread of a CTA, in their order, if it depends only on their numbers.
    pub each: Option<Arc<[i64]>>,
    /// The reason why it is unknown; `None` if it depends on the thread only.
    pub cause: Option<Cause>,
}

/// The CTA sizes that are distinguished if the number of threads is unknown.
pub const SIZES: [u32; 6] = [32, 64, 128, 256, 512, 1024];

/// The change of a value along an edge: it becomes a constant, or another value (or its own value of the iteration
/// before) plus a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct EdgeUpdate {
    /// The block before the edge.
    pub from: usize,
    /// The block after the edge.
    pub to: usize,
    /// The value.
    pub value: usize,
    /// The value before the edge; `None` if the value becomes the constant.
    pub base: Option<usize>,
    /// The constant that is added.
    pub constant: i64,
}

/// The kind of an unknown value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum UnknownKind {
    /// The number of the thread in its CTA.
    Thread,
    /// The number of the warp in its CTA.
    Warp,
    /// The number of the thread in its warp.
    Lane,
    /// The number of the CTA in its cluster.
    CtaOfCluster,
    /// Any other value.
    Other,
}

/// The base of addresses.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Object {
    /// Its name in messages: the symbol or register.
    pub name: String,
    /// Its kind.
    pub kind: ObjectKind,
    /// The reason why its memory is unknown; `None` if the memory is known.
    pub cause: Option<Cause>,
}

/// The kind of an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ObjectKind {
    /// A variable, or a parameter of pointer type. Different variables do not overlap. All dynamic shared memory is one
    /// object.
    Variable,
    /// The tensor memory that a `tcgen05.alloc` allocates.
    Allocation,
    /// Any memory of the address's state space.
    Unknown,
}

/// A linear sum: values times factors, plus a constant. The values of a kernel are indices into [`Kernel::unknowns`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sum<V = usize> {
    /// Each value with its factor, in order of the values; no factor is 0.
    pub terms: Vec<(V, i64)>,
    /// The constant.
    pub constant: i64,
}

impl<V> Sum<V> {
    /// A constant.
    pub fn number(constant: i64) -> Self {
        Self { terms: Vec::new(), constant }
    }

    /// A single value.
    pub fn from_value(value: V) -> Self {
        Self { terms: vec![(value, 1)], constant: 0 }
    }
}

impl<V: Copy + Ord> Sum<V> {
    /// The sum plus a multiple of another one.
    pub fn plus(&self, other: &Self, factor: i64) -> Self {
        let mut terms = self.terms.clone();
        for (value, number) in &other.terms {
            let number = number.wrapping_mul(factor);
            match terms.binary_search_by_key(value, |(own, _)| *own) {
                Ok(index) => terms[index].1 = terms[index].1.wrapping_add(number),
                Err(index) => terms.insert(index, (*value, number)),
            }
        }
        terms.retain(|(_, number)| *number != 0);
        Self { terms, constant: self.constant.wrapping_add(other.constant.wrapping_mul(factor)) }
    }
}

/// An address: an object and an offset.
///
/// In shared and global memory the offset counts bytes. In tensor memory it has the hardware's format: the lane times
/// 65536, plus the column.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// The number of the object in [`Kernel::objects`].
    pub object: usize,
    /// The offset from the start of the object.
    pub offset: Sum,
    /// Whether it may be in another CTA of the cluster: it comes from `mapa`, or is a `shared::cluster` address of
    /// unknown origin.
    pub is_remote: bool,
}

/// An access of memory by an operation.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct EventAccess {
    /// Its first address.
    pub address: Address,
    /// Its size in bytes, or in columns of tensor memory; `None` if it is unknown.
    pub extent: Option<u64>,
    /// The state space.
    pub space: Space,
    /// The proxy of the access.
    pub proxy: Proxy,
    /// Whether it reads.
    pub reads: bool,
    /// Whether it writes.
    pub writes: bool,
}

/// A state space.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Space {
    /// Global memory; generic addresses of unknown origin count as such.
    Global,
    /// Shared memory.
    Shared,
    /// The memory of the tensor cores.
    Tensor,
    /// The registers of a thread that a `wgmma` reads or writes. An address is a number that the kernel model assigns.
    Register,
}

/// A state space of PTX except local memory. The caller handles generic addresses.
impl From<ptx_isa::Space> for Space {
    fn from(space: ptx_isa::Space) -> Self {
        if space == ptx_isa::Space::Global { Self::Global } else { Self::Shared }
    }
}

/// The ordering semantics of an operation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Semantics {
    /// Whether it acquires.
    pub acquires: bool,
    /// Whether it releases.
    pub releases: bool,
}

/// An event: an instruction's effect that the check considers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The instruction.
    pub at: InstPlace,
    /// The conditions of the threads that do it, in addition to the conditions of the threads that reach it.
    pub guard: Vec<Condition>,
    /// Its kind.
    pub kind: EventKind,
}

/// The kind of an event.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// A synchronous access of its thread, complete before the events that follow. Accesses of local and constant
    /// memory are left out.
    Access(EventAccess),
    /// An access of global memory that no asynchronous operation accesses. It is left out if the kernel has no
    /// `griddepcontrol.wait`.
    Global(EventAccess),
    /// `griddepcontrol.wait`
    GridWait,
    /// An asynchronous operation.
    Start(Start),
    /// `tcgen05.wait::ld` or `::st`
    TensorWait(TensorWait),
    /// `tcgen05.commit`: an arrival on an mbarrier after the operations of its group that the thread started.
    TensorCommit {
        /// The group of CTAs, 1 or 2.
        group: u8,
        /// The progress of these operations at the arrival.
        of: Committed,
        /// The mbarrier.
        barrier: Address,
    },
    /// `tcgen05.fence::before_thread_sync` or `::after_thread_sync`
    TensorFence(TensorFence),
    /// `tcgen05.alloc`; `access` is the write of the allocated address.
    Allocate {
        /// The object that it allocates.
        object: usize,
        /// The write of the address to shared memory.
        access: EventAccess,
    },
    /// `tcgen05.dealloc`
    Deallocate(EventAccess),
    /// `tcgen05.relinquish_alloc_permit`
    Relinquish,
    /// `commit_group` of operations of this kind
    CommitGroup(Group),
    /// `wait_group`: all groups except the `pending` latest are complete. `wait_all` has a [`EventKind::CommitGroup`]
    /// before it.
    WaitGroup {
        /// The kind of operations.
        of: Group,
        /// The number of groups that may still be in flight; the largest number if it is unknown.
        pending: u32,
        /// Whether only their reads are complete, as with `.read`.
        reads_only: bool,
    },
    /// `cp.async.mbarrier.arrive`: an arrival after the copies that the thread started.
    CopyArrive(Address),
    /// `wgmma.fence`
    MatrixFence,
    /// A fence between two proxies.
    ProxyFence(ProxyFence),
    /// `mbarrier.init`
    Initialize {
        /// The mbarrier.
        barrier: Address,
        /// The number of arrivals of a phase, if it is a constant.
        count: Option<u64>,
    },
    /// `mbarrier.inval`
    Invalidate(Address),
    /// `fence.mbarrier_init`
    InitializeFence,
    /// `mbarrier.arrive`, `.arrive_drop`. `mbarrier.expect_tx` alone does not make an event.
    Arrive {
        /// Whether it also raises the transaction count: `.expect_tx`.
        expects: bool,
        /// The mbarrier.
        barrier: Address,
        /// Release or relaxed.
        semantics: Semantics,
        /// Its scope.
        scope: Scope,
        /// Whether its mbarrier is in `.shared::cluster`.
        names_cluster: bool,
    },
    /// A successful wait on an mbarrier. The event is placed where the success is known: in a block of its own on the
    /// edge that a successful test takes.
    Wait {
        /// The mbarrier.
        barrier: Address,
        /// Acquire or relaxed.
        semantics: Semantics,
        /// Its scope.
        scope: Scope,
    },
    /// `bar`, `barrier` and `barrier.cluster`
    Barrier(Barrier),
    /// `fence.acq_rel`, `fence.sc`, `membar`
    Fence {
        /// Its ordering semantics.
        semantics: Semantics,
        /// Its scope.
        scope: Scope,
    },
    /// A strong access, which may synchronize: to a flag, a lock, a counter.
    Atomic {
        /// The access.
        access: EventAccess,
        /// Its ordering semantics.
        semantics: Semantics,
        /// Its scope.
        scope: Scope,
    },
    /// An event of unknown effect, with a description such as "the call to `g`".
    Unknown(String),
}

/// An asynchronous operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// The operation.
    pub operation: Operation,
    /// Its accesses. A copy's reads of its tensor map are in the tensormap proxy.
    pub accesses: Vec<EventAccess>,
    /// The mbarrier that its completion signals, if the instruction itself names one.
    pub barrier: Option<Address>,
}

/// The kind of an asynchronous operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `tcgen05.ld`
    TensorLoad,
    /// `tcgen05.st`
    TensorStore,
    /// `tcgen05.mma`. The first access is the accumulator, the second is matrix A.
    TensorMatrix {
        /// The group of CTAs, 1 or 2.
        group: u8,
        /// The instruction descriptor, if it is known: equal descriptors mean equal shapes.
        shape: Option<Sum>,
    },
    /// `tcgen05.cp`; the first access is the destination
    TensorCopy {
        /// The group of CTAs, 1 or 2.
        group: u8,
        /// Whether its shape is `.4x256b`, which is pipelined after a shift.
        is_4x256b: bool,
    },
    /// `tcgen05.shift`
    TensorShift {
        /// The group of CTAs, 1 or 2.
        group: u8,
    },
    /// `cp.async`
    Copy,
    /// `cp.async.bulk`, with or without `.tensor`, that signals an mbarrier; also `st.async`, `red.async` and
    /// `try_cancel`
    BulkLoad,
    /// `cp.async.bulk`, `cp.reduce.async.bulk`, with or without `.tensor`, in groups
    BulkStore,
    /// `wgmma.mma_async`
    Wgmma,
}

/// A barrier of a CTA or of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Barrier {
    /// The identity of the barrier.
    pub of: BarrierId,
    /// Whether the thread arrives.
    pub arrives: bool,
    /// Whether the thread waits.
    pub waits: bool,
    /// The number of threads that take part; `None` if all threads of the CTA or of the cluster do, and 0 if it is
    /// unknown.
    pub threads: Option<u32>,
    /// Whether all threads of a warp must execute it together.
    pub aligned: bool,
    /// Whether it orders memory: false for `barrier.cluster.arrive.relaxed`.
    pub orders: bool,
}

/// The identity of a barrier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BarrierId {
    /// A barrier of the CTA, by its number.
    Cta(u32),
    /// A barrier of the CTA whose number is unknown.
    SomeCta,
    /// The barrier of the warp: `bar.warp.sync`
    Warp,
    /// The barrier of the cluster.
    Cluster,
}
