//! A kernel as the check sees it: a control-flow graph of asynchronous operations, accesses of the same memory, and what orders
//! them.
//!
//! Values that are not known are numbers: equal numbers are the same value of the same thread, as long as the block that computes
//! it is not entered again.

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
    /// The line of its head.
    pub line: u32,
    /// The blocks. The first is the entry.
    pub blocks: Vec<Block>,
    /// The values that are not known.
    pub unknowns: Vec<Unknown>,
    /// Predicates that are not known.
    pub predicates: Vec<Predicate>,
    /// What addresses are relative to.
    pub objects: Vec<Object>,
    /// What values become along edges to the blocks that compute them.
    pub meetings: Vec<Meeting>,
    /// How many threads a CTA has, where the kernel says it.
    pub threads: Option<u32>,
    /// How many threads a CTA may have, where the kernel says it, or its copies have no room for more.
    pub most: Option<u32>,
    /// Whether it is known how many threads a CTA has in each direction. `.maxntid` says no more than how many there are in all, which is
    /// enough where the kernel looks at one direction alone.
    pub has_block: bool,
    /// Whether a barrier of the CTA waits for threads that have exited, too: before sm_70.
    pub counts_exited: bool,
    /// The objects whose addresses are loaded from global memory.
    pub loaded: Vec<usize>,
    /// The names of the variables in global memory that a kernel of the module writes.
    pub written: Vec<String>,
    /// What is not understood: a line, and why in words that follow "not checked:", as "the call to `g`, whose code is not here".
    pub unread: Vec<(InstPlace, String)>,
    /// Whether some of these are asynchronous instructions, of which it is not known what they order.
    pub has_unknown_order: bool,
    /// What the assembler makes into something else for the target: a line, and what.
    pub assembled: Vec<(InstPlace, String)>,
}

impl Kernel {
    /// The place of findings about the kernel as a whole.
    pub fn place(&self) -> InstPlace {
        InstPlace::line(self.line)
    }
}

/// A basic block.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Block {
    /// In program order.
    pub events: Vec<Event>,
    /// The blocks that may follow. None where the kernel ends.
    pub next: Vec<Edge>,
    /// Whether it is not left: it traps, or cannot be reached.
    pub is_dead_end: bool,
    /// Whether it is one of the first rounds of a loop that stands elsewhere, too.
    pub is_copy: bool,
}

/// A step from a block to another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// The block that follows.
    pub to: usize,
    /// What holds of the thread that takes it.
    pub when: Option<Condition>,
}

/// What holds of a thread: a predicate of the kernel, or its opposite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Condition {
    /// Its number in [`Kernel::predicates`].
    pub predicate: usize,
    /// Whether it is true.
    pub holds: bool,
}

impl Condition {
    /// What holds of a thread of which this does not.
    pub fn opposite(self) -> Self {
        Self { holds: !self.holds, ..self }
    }
}

/// A predicate. Its value is that of one thread.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Predicate {
    /// What it says.
    pub test: Test,
    /// Which threads may have different values.
    pub varies: Varies,
    /// The block that computes it; nothing if it is the same in all of the kernel.
    pub block: Option<usize>,
    /// Of each thread of a CTA, in their order, whether it holds; nothing where that does not follow from the number of the thread.
    pub each: Option<Arc<[Option<bool>]>>,
}

/// What a predicate says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Test {
    /// Nothing that is known.
    Unknown,
    /// It holds exactly where a value of [`Kernel::unknowns`] is within a range, both ends included.
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
    /// It holds exactly where all of these do.
    All(Vec<Condition>),
    /// It holds exactly where any of these does.
    Any(Vec<Condition>),
}

/// Which threads may have different values of the same thing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Varies {
    /// All threads of a CTA have the same, or nothing says otherwise: parameters, counters of loops, what is loaded from memory.
    No,
    /// Threads of other warps.
    Warp,
    /// Any two threads.
    Thread,
}

/// A value that is not known.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Unknown {
    /// What it is.
    pub kind: UnknownKind,
    /// Which threads may have different ones.
    pub varies: Varies,
    /// The block that computes it; nothing if it is the same in all of the kernel.
    pub block: Option<usize>,
    /// The lowest and the highest that it can be, if that is known.
    pub range: Option<(i64, i64)>,
    /// The same in the first threads of a CTA, as many as each of [`SIZES`], where it matters.
    pub by_threads: Vec<(i64, i64)>,
    /// What each thread of a CTA has, in their order, where that depends on nothing but their numbers.
    pub each: Option<Arc<[i64]>>,
    /// Why it is not known; nothing if it is that of a thread.
    pub cause: Option<Cause>,
}

/// The numbers of threads in a CTA that are told apart where nothing says how many there are.
pub const SIZES: [u32; 6] = [32, 64, 128, 256, 512, 1024];

/// What a value is behind an edge: another one, or itself in the round before, and a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Meeting {
    /// The block in front of the edge.
    pub from: usize,
    /// The block behind it.
    pub to: usize,
    /// The value.
    pub value: usize,
    /// What it was in front of the edge; nothing if it becomes the number.
    pub base: Option<usize>,
    /// What is added.
    pub constant: i64,
}

/// What a value that is not known is.
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
    /// Anything else.
    Other,
}

/// What addresses are relative to.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Object {
    /// What it is called in messages: the symbol or register.
    pub name: String,
    /// What it is.
    pub kind: ObjectKind,
    /// Why it is not known which memory it is; nothing if it is known.
    pub cause: Option<Cause>,
}

/// What an object is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ObjectKind {
    /// A variable, or a parameter of pointer type. Different variables do not overlap. All dynamic shared memory is one object.
    Variable,
    /// The tensor memory that one `tcgen05.alloc` gives.
    Allocation,
    /// Anything of the address's state space.
    Unknown,
}

/// A sum of values, each times a number, and a number. The values of a kernel are numbers in [`Kernel::unknowns`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Sum<V = usize> {
    /// A value and its factor, in order of the values; no factor is 0.
    pub terms: Vec<(V, i64)>,
    /// The number.
    pub constant: i64,
}

impl<V> Sum<V> {
    /// A number alone.
    pub fn number(constant: i64) -> Self {
        Self { terms: Vec::new(), constant }
    }

    /// A value alone.
    pub fn of(value: V) -> Self {
        Self { terms: vec![(value, 1)], constant: 0 }
    }
}

impl<V: Copy + Ord> Sum<V> {
    /// The sum and another one, times a number.
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

/// An address: an object, and what is added.
///
/// In shared and global memory it counts bytes. In tensor memory it is as the hardware has it: the lane times 65536, and the column.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Address {
    /// The number of the object in [`Kernel::objects`].
    pub object: usize,
    /// How far from its start.
    pub offset: Sum,
    /// Whether it may be in another CTA of the cluster: made by `mapa`, or for `shared::cluster` of unknown origin.
    pub is_remote: bool,
}

/// Memory that an operation touches.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    /// Where it begins.
    pub address: Address,
    /// How many bytes, or columns of tensor memory; nothing if that is not known.
    pub extent: Option<u64>,
    /// The state space.
    pub space: Space,
    /// How it gets there.
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
    /// The registers of a thread, as far as a `wgmma` reads or writes them. An address is a number of the kernel's own.
    Register,
}

/// A state space that PTX names, without local memory: generic addresses are left to the caller.
impl From<ptx_isa::Space> for Space {
    fn from(space: ptx_isa::Space) -> Self {
        if space == ptx_isa::Space::Global { Self::Global } else { Self::Shared }
    }
}

/// What an operation orders.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Semantics {
    /// Whether it acquires.
    pub acquires: bool,
    /// Whether it releases.
    pub releases: bool,
}

/// Something that happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// The instruction.
    pub at: InstPlace,
    /// What holds of a thread that does it, besides what holds of those that come here.
    pub guard: Vec<Condition>,
    /// What it is.
    pub kind: EventKind,
}

/// What happens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// An access of its thread, which is done before what follows. Those of local and constant memory are left out.
    Access(Access),
    /// An access of global memory that no asynchronous operation concerns. It is left out where the kernel has no `griddepcontrol.wait`.
    Global(Access),
    /// `griddepcontrol.wait`
    GridWait,
    /// An asynchronous operation.
    Start(Start),
    /// `tcgen05.wait::ld` or `::st`
    TensorWait(TensorWait),
    /// `tcgen05.commit`: an arrival on an mbarrier behind the operations of its group that the thread started.
    TensorCommit {
        /// The group of CTAs, 1 or 2.
        group: u8,
        /// How far they are then.
        of: Committed,
        /// The mbarrier.
        barrier: Address,
    },
    /// `tcgen05.fence::before_thread_sync` or `::after_thread_sync`
    TensorFence(TensorFence),
    /// `tcgen05.alloc`; `access` is where the address is written.
    Allocate {
        /// The object that it gives.
        object: usize,
        /// The write of the address to shared memory.
        access: Access,
    },
    /// `tcgen05.dealloc`
    Deallocate(Access),
    /// `tcgen05.relinquish_alloc_permit`
    Relinquish,
    /// `commit_group` of this kind of operations
    CommitGroup(Group),
    /// `wait_group`: all but the `pending` latest groups are complete. `wait_all` has a [`EventKind::CommitGroup`] in front of it.
    WaitGroup {
        /// Of which operations.
        of: Group,
        /// How many may be in flight; the largest number if that is not known.
        pending: u32,
        /// Whether only their reads are complete, as with `.read`.
        reads_only: bool,
    },
    /// `cp.async.mbarrier.arrive`: an arrival behind the copies that the thread started.
    CopyArrive(Address),
    /// `wgmma.fence`
    MatrixFence,
    /// A fence between two proxies.
    ProxyFence(ProxyFence),
    /// `mbarrier.init`
    Initialize {
        /// The mbarrier.
        barrier: Address,
        /// The number of arrivals of a phase, where it is a constant.
        count: Option<u64>,
    },
    /// `mbarrier.inval`
    Invalidate(Address),
    /// `fence.mbarrier_init`
    InitializeFence,
    /// `mbarrier.arrive`, `.arrive_drop`. `mbarrier.expect_tx` alone is no event.
    Arrive {
        /// Whether it expects bytes of copies, too: `.expect_tx`.
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
    /// A wait on an mbarrier that has succeeded: it stands where that is known, so in a block of its own on an edge where it is
    /// tested.
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
        /// What it orders.
        semantics: Semantics,
        /// Its scope.
        scope: Scope,
    },
    /// A strong access, which may synchronize: a flag, a lock, a counter.
    Atomic {
        /// Where.
        access: Access,
        /// What it orders.
        semantics: Semantics,
        /// Its scope.
        scope: Scope,
    },
    /// What may do anything, in words as "the call to `g`".
    Unknown(String),
}

/// An asynchronous operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    /// What it is.
    pub what: Operation,
    /// What it touches. The reads of a copy's tensor map are in the tensormap proxy.
    pub accesses: Vec<Access>,
    /// The mbarrier that learns of its completion, if its own form names one.
    pub barrier: Option<Address>,
}

/// What an asynchronous operation is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operation {
    /// `tcgen05.ld`
    TensorLoad,
    /// `tcgen05.st`
    TensorStore,
    /// `tcgen05.mma`. The first access is the accumulator, the second one A.
    TensorMatrix {
        /// The group of CTAs, 1 or 2.
        group: u8,
        /// The instruction descriptor, where it is known: equal ones are equal shapes.
        shape: Option<Sum>,
    },
    /// `tcgen05.cp`; the first access is the destination
    TensorCopy {
        /// The group of CTAs, 1 or 2.
        group: u8,
        /// Whether it is one of those that stand in the pipeline behind a shift: `.4x256b`
        is_4x256b: bool,
    },
    /// `tcgen05.shift`
    TensorShift {
        /// The group of CTAs, 1 or 2.
        group: u8,
    },
    /// `cp.async`
    Copy,
    /// `cp.async.bulk`, with or without `.tensor`, that signals an mbarrier; `st.async`, `red.async`, `try_cancel` alike
    BulkLoad,
    /// `cp.async.bulk`, `cp.reduce.async.bulk`, with or without `.tensor`, in groups
    BulkStore,
    /// `wgmma.mma_async`
    Wgmma,
}

/// A barrier of a CTA or of a cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Barrier {
    /// Which one.
    pub of: BarrierId,
    /// Whether the thread arrives.
    pub arrives: bool,
    /// Whether the thread waits.
    pub waits: bool,
    /// How many threads take part; nothing if all of the CTA or of the cluster do, and 0 if that is not known.
    pub threads: Option<u32>,
    /// Whether all threads of a warp must come to it together.
    pub aligned: bool,
    /// Whether it orders memory: not `barrier.cluster.arrive.relaxed`.
    pub orders: bool,
}

/// Which barrier it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum BarrierId {
    /// Of the CTA, by its number.
    Cta(u32),
    /// Of the CTA, by a number that is not known.
    SomeCta,
    /// Of the warp: `bar.warp.sync`
    Warp,
    /// Of the cluster.
    Cluster,
}
