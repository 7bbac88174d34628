//! Instructions whose memory operations happen later than they are issued, the waits for their completion, and
//! mbarriers.
//!
//! Sources: PTX ISA, 9.7.9 (copies), 9.7.13 (mbarriers), 9.7.15 (`wgmma`) and 9.7.16 (`tcgen05`).

pub use ptx_isa::effects::{Committed, Group, TensorWait};
use ptx_isa::{AluOp, Type, effects::Proxy};
use strum::{Display, EnumIter, EnumString, IntoStaticStr};

use crate::{
    operand::{Address, Operand, Register},
    place::Scope,
};

/// An instruction of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Asynchronous {
    /// Starts memory operations, which complete later.
    Start(Operation),
    /// `commit_group`: makes a group of the operations that the thread started since its last `commit_group`. Groups
    /// complete in order.
    CommitGroup(Group),
    /// `wait_group N`, `wait_all`: waits until all groups except the last `pending` are complete; with `read`, until
    /// they have read their sources.
    WaitGroup {
        /// The kind of group.
        of: Group,
        /// The maximum number of the latest groups that may be incomplete. `wait_all` has 0, and does not need a group.
        pending: u32,
        /// `.read`
        read: bool,
        /// `wait_all`
        all: bool,
    },
    /// `tcgen05.wait::ld`, `tcgen05.wait::st`
    TensorWait(TensorWait),
    /// `tcgen05.commit`: an arrival at the mbarrier, with count 1 and cluster scope, when the tensor operations that
    /// the thread started before for the same CTA group have reached the given stage.
    Commit {
        /// `.cta_group::N`
        cta_group: CtaGroup,
        /// The stage.
        of: Committed,
        /// The mbarrier.
        mbarrier: Address,
    },
    /// `cp.async.mbarrier.arrive`: an arrival at the mbarrier, when the thread's earlier `cp.async` are complete.
    ArriveOnCopies {
        /// The mbarrier.
        mbarrier: Address,
        /// Without it, the arrival also increments the number of arrivals that the phase waits for.
        noinc: bool,
    },
    /// `tcgen05.alloc`: writes the address of tensor memory to shared memory.
    Allocate {
        /// The destination of the address, in shared memory.
        d: Address,
        /// The allocated tensor memory. The address written to `d` is the address of this memory.
        tensor: Address,
        /// `.cta_group::N`
        cta_group: CtaGroup,
    },
    /// `tcgen05.dealloc`
    Deallocate {
        /// The tensor memory to free.
        tensor: Address,
        /// `.cta_group::N`
        cta_group: CtaGroup,
    },
    /// `tcgen05.relinquish_alloc_permit`
    Relinquish,
    /// `fence.proxy.tensormap::generic.acquire.scope [a], 128`
    AcquireTensormap {
        /// The descriptor.
        a: Address,
        /// The scope of the releases that it acquires.
        scope: Scope,
    },
    /// An operation on an mbarrier.
    Mbarrier {
        /// The mbarrier, in shared memory.
        a: Address,
        /// The operation.
        of: MbarrierOperation,
    },
}

/// Memory operations that start together and complete together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// The kind of the operation, which selects its rules.
    pub kind: OperationKind,
    /// The reads, each with its proxy.
    pub reads: Vec<AsyncAccess>,
    /// The writes, each with its proxy.
    pub writes: Vec<(AsyncAccess, Written)>,
    /// The register that receives the value of the first read, for `tcgen05.ld`.
    pub d: Option<Register>,
    /// The completion mechanism.
    pub completion: Completion,
}

/// A memory operation of an asynchronous operation. It is weak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AsyncAccess {
    /// The address.
    pub a: Address,
    /// The type of the value.
    pub ty: Type,
    /// The proxy of the access.
    pub proxy: Proxy,
}

impl AsyncAccess {
    /// An access of 64 bits. A matrix is one such element.
    pub fn by(proxy: Proxy, a: Address) -> Self {
        Self { a, ty: Type::U64, proxy }
    }
}

/// The kind of memory that holds a variable.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Display, EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum Memory {
    /// Global memory, or unknown.
    #[default]
    Global,
    /// Shared memory.
    Shared,
    /// Tensor memory.
    Tensor,
}

/// The value that an asynchronous operation writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// The value of its read with this index.
    Read(usize),
    /// The value of an operand.
    Value(Operand),
    /// `a * b + d` of the values of its reads with these indices: a matrix of one element.
    MultiplyAdd([usize; 3]),
    /// A reduction of the values of its two reads with these indices; the second read is of the location that is
    /// written. The reduction is one relaxed atomic operation.
    Reduced(AluOp, [usize; 2]),
    /// A reduction of the value of the read with this index, which is of the location that is written, with an operand.
    ReducedBy(AluOp, usize, Operand),
}

/// The kind of an asynchronous operation, which selects its rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OperationKind {
    /// `tcgen05.mma`; operations with the same accumulator and shape are pipelined.
    Mma {
        /// `.cta_group::N`
        cta_group: CtaGroup,
        /// A number for the shape and the kind: equal for instructions with the same shape and kind.
        shape: u64,
    },
    /// `tcgen05.cp`
    TensorCopy {
        /// `.cta_group::N`
        cta_group: CtaGroup,
        /// `.4x256b`
        is_4x256b: bool,
    },
    /// `tcgen05.shift`
    Shift {
        /// `.cta_group::N`
        cta_group: CtaGroup,
    },
    /// `tcgen05.ld`
    TensorLoad,
    /// `tcgen05.st`
    TensorStore,
    /// `cp.async`, which is not in bulk
    Copy,
    /// `cp.async.bulk`, `cp.reduce.async.bulk`, with and without `.tensor`
    Bulk,
    /// `wgmma.mma_async`
    Wgmma,
    /// `st.async`, `red.async`
    Store,
    /// `clusterlaunchcontrol.try_cancel`
    TryCancel,
}

/// The completion mechanism of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// A `tcgen05.commit` of the same CTA group.
    Commit,
    /// A `tcgen05.wait`.
    TensorWait(TensorWait),
    /// The completion of its group.
    Group(Group),
    /// A transaction count at an mbarrier, which the operation decreases on completion.
    Transactions {
        /// The mbarrier.
        mbarrier: Address,
        /// The transaction count, in bytes.
        bytes: u32,
    },
}

/// The CTAs that take part in a tensor operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumIter, EnumString, IntoStaticStr)]
pub enum CtaGroup {
    /// The CTA of the thread.
    #[strum(serialize = "cta_group::1")]
    One,
    /// The CTA and its peer.
    #[strum(serialize = "cta_group::2")]
    Two,
}

/// An operation on an mbarrier (section 9.7.13.15).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MbarrierOperation {
    /// `mbarrier.init`
    Init {
        /// The number of arrivals that complete a phase.
        count: Operand,
    },
    /// `mbarrier.inval`
    Inval,
    /// `mbarrier.expect_tx`: increases the transaction count of the phase.
    ExpectTx {
        /// In bytes.
        bytes: Operand,
    },
    /// `mbarrier.complete_tx`: decreases the transaction count of the phase.
    CompleteTx {
        /// In bytes.
        bytes: Operand,
    },
    /// `mbarrier.arrive`, `mbarrier.arrive_drop`
    Arrive {
        /// The state, which names the phase.
        d: Option<Register>,
        /// The number of arrivals.
        count: Operand,
        /// `.expect_tx`: increases the transaction count of the phase before the arrival.
        expects: Option<Operand>,
        /// `arrive_drop`: later phases wait for fewer arrivals.
        drops: bool,
        /// `.relaxed`; `.release` otherwise.
        relaxed: bool,
        /// The scope of the release.
        scope: Scope,
    },
    /// `mbarrier.test_wait`, `mbarrier.try_wait`
    Wait {
        /// Whether the phase is complete.
        d: Register,
        /// The awaited phase.
        phase: Phase,
        /// `.relaxed`; `.acquire` otherwise.
        relaxed: bool,
        /// The scope of the acquire.
        scope: Scope,
    },
}

/// The steps of asynchronous instructions in a path of a thread, besides memory operations, their start and their
/// completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// See [`Asynchronous::CommitGroup`].
    CommitGroup(Group),
    /// See [`Asynchronous::WaitGroup`].
    WaitGroup {
        /// The kind of group.
        of: Group,
        /// The maximum number of the latest groups that may be incomplete.
        pending: u32,
        /// `.read`
        read: bool,
        /// `wait_all`
        all: bool,
    },
    /// See [`Asynchronous::TensorWait`].
    TensorWait(TensorWait),
    /// A thread requests a signal.
    Ask(Signal),
    /// The arrival at the mbarrier that a thread requested: later, and not in program order.
    Signal(Signal),
    /// See [`Asynchronous::AcquireTensormap`].
    AcquireTensormap(Scope),
    /// See [`Asynchronous::Mbarrier`].
    Mbarrier(MbarrierStep),
}

/// An arrival at an mbarrier that a thread requests, and that happens when the thread's operations are complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// See [`Asynchronous::Commit`].
    Commit(CtaGroup, Committed),
    /// See [`Asynchronous::ArriveOnCopies`].
    Copies {
        /// `.noinc`
        noinc: bool,
    },
}

/// Like [`MbarrierOperation`], with known values. Only a wait whose result is 1 is an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MbarrierStep {
    /// `mbarrier.init`
    Init {
        /// The number of arrivals that complete a phase.
        count: u32,
    },
    /// `mbarrier.inval`
    Inval,
    /// `mbarrier.expect_tx`
    ExpectTx {
        /// In bytes.
        bytes: u32,
    },
    /// `mbarrier.complete_tx`
    CompleteTx {
        /// In bytes.
        bytes: u32,
    },
    /// `mbarrier.arrive`, `mbarrier.arrive_drop`
    Arrive {
        /// The number of arrivals.
        count: u32,
        /// `.expect_tx`, in bytes.
        expects: u32,
        /// `arrive_drop`
        drops: bool,
        /// `.relaxed`; `.release` otherwise.
        relaxed: bool,
        /// The scope of the release.
        scope: Scope,
    },
    /// `mbarrier.test_wait`, `mbarrier.try_wait`
    Wait {
        /// The awaited phase.
        phase: Awaited,
        /// `.relaxed`; `.acquire` otherwise.
        relaxed: bool,
        /// The scope of the acquire.
        scope: Scope,
    },
}

/// The phase of an mbarrier that a wait in a path waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// The latest complete phase, if its parity is this.
    Parity(bool),
    /// The phase of the arrival that precedes the wait by this number of events in the thread.
    Arrival(usize),
}

/// The phase that a wait instruction waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The phase with this parity: the phase before the current one, or the current one.
    Parity(Operand),
    /// The phase of the arrival that returned this state.
    State(Operand),
}

/// The number of bytes that a copy of a tensor completes at its mbarrier: a matrix is one element.
pub(crate) const TENSOR_BYTES: u32 = 16;

impl Operation {
    fn new(
        kind: OperationKind,
        reads: Vec<AsyncAccess>,
        writes: Vec<(AsyncAccess, Written)>,
        completion: Completion,
    ) -> Self {
        Self { kind, reads, writes, d: None, completion }
    }

    /// `tcgen05.ld d, [t]`
    pub fn tensor_load(d: Register, t: Address) -> Self {
        let completion = Completion::TensorWait(TensorWait::Load);
        Self {
            d: Some(d),
            ..Self::new(OperationKind::TensorLoad, vec![AsyncAccess::by(Proxy::Tensor, t)], Vec::new(), completion)
        }
    }

    /// `tcgen05.st [t], b`
    pub fn tensor_store(t: Address, b: Operand) -> Self {
        let writes = vec![(AsyncAccess::by(Proxy::Tensor, t), Written::Value(b))];
        Self::new(OperationKind::TensorStore, Vec::new(), writes, Completion::TensorWait(TensorWait::Store))
    }

    /// `tcgen05.cp [t], s`
    pub fn tensor_copy(cta_group: CtaGroup, is_4x256b: bool, t: Address, s: Address) -> Self {
        let writes = vec![(AsyncAccess::by(Proxy::Tensor, t), Written::Read(0))];
        let kind = OperationKind::TensorCopy { cta_group, is_4x256b };
        Self::new(kind, vec![AsyncAccess::by(Proxy::Async, s)], writes, Completion::Commit)
    }

    /// `tcgen05.shift [t]`
    pub fn shift(cta_group: CtaGroup, t: Address) -> Self {
        let t = AsyncAccess::by(Proxy::Tensor, t);
        Self::new(OperationKind::Shift { cta_group }, vec![t], vec![(t, Written::Read(0))], Completion::Commit)
    }

    /// `tcgen05.mma [d], a, b`, which may also read metadata and scales in tensor memory (`further`).
    pub fn mma(
        kind: OperationKind,
        d: Address,
        a: AsyncAccess,
        b: Address,
        further: impl IntoIterator<Item = Address>,
    ) -> Self {
        let d = AsyncAccess::by(Proxy::Tensor, d);
        let further = further.into_iter().map(|a| AsyncAccess::by(Proxy::Tensor, a));
        let reads = [a, AsyncAccess::by(Proxy::Async, b), d].into_iter().chain(further).collect();
        Self::new(kind, reads, vec![(d, Written::MultiplyAdd([0, 1, 2]))], Completion::Commit)
    }

    /// `cp.async [d], [s]`
    pub fn copy(d: Address, s: Address, ty: Type) -> Self {
        let access = |a| AsyncAccess { ty, ..AsyncAccess::by(Proxy::Generic, a) };
        let writes = vec![(access(d), Written::Read(0))];
        Self::new(OperationKind::Copy, vec![access(s)], writes, Completion::Group(Group::Copy))
    }

    /// `cp.async.bulk [d], [s]`, with an optional tensor descriptor; with a reduction, `cp.reduce.async.bulk` of this
    /// operation and type.
    pub fn bulk(
        d: Address,
        s: Address,
        descriptor: Option<Address>,
        reduction: Option<(AluOp, Type)>,
        completion: Completion,
    ) -> Self {
        let access =
            |a| AsyncAccess { ty: reduction.map_or(Type::U64, |(_, ty)| ty), ..AsyncAccess::by(Proxy::Async, a) };
        let (old, written) = match reduction {
            Some((op, _)) => (Some(access(d)), Written::Reduced(op, [0, 1])),
            None => (None, Written::Read(0)),
        };
        let descriptor = descriptor.map(|a| AsyncAccess::by(Proxy::Tensormap, a));
        let reads = [Some(access(s)), old, descriptor].into_iter().flatten().collect();
        Self::new(OperationKind::Bulk, reads, vec![(access(d), written)], completion)
    }

    /// `wgmma.mma_async`, with its matrices in shared memory. The result registers have no values.
    pub fn wgmma(matrices: impl IntoIterator<Item = Address>) -> Self {
        let reads = matrices.into_iter().map(|a| AsyncAccess::by(Proxy::Async, a)).collect();
        Self::new(OperationKind::Wgmma, reads, Vec::new(), Completion::Group(Group::Wgmma))
    }

    /// `st.async [a], b, [mbarrier]`, or `red.async` with this operation. The manual does not give them a proxy other
    /// than the one of `st` and `red` (section 8.6).
    pub fn store(a: Address, ty: Type, b: Operand, op: Option<AluOp>, mbarrier: Address) -> Self {
        let access = AsyncAccess { ty, ..AsyncAccess::by(Proxy::Generic, a) };
        let (reads, written) = match op {
            Some(op) => (vec![access], Written::ReducedBy(op, 0, b)),
            None => (Vec::new(), Written::Value(b)),
        };
        let completion = Completion::Transactions { mbarrier, bytes: ty.bits() / 8 };
        Self::new(OperationKind::Store, reads, vec![(access, written)], completion)
    }

    /// `clusterlaunchcontrol.try_cancel [d], [mbarrier]`, which writes 1 as its answer.
    pub fn try_cancel(d: Address, mbarrier: Address) -> Self {
        let writes = vec![(AsyncAccess::by(Proxy::Async, d), Written::Value(Operand::Immediate(1)))];
        let completion = Completion::Transactions { mbarrier, bytes: 16 };
        Self::new(OperationKind::TryCancel, Vec::new(), writes, completion)
    }

    /// The memory operations.
    pub fn accesses(&self) -> impl Iterator<Item = &AsyncAccess> {
        self.reads.iter().chain(self.writes.iter().map(|(access, _)| access))
    }
}

impl Asynchronous {
    /// All operands that are read, and the bases of addresses.
    pub fn operands_mut(&mut self) -> Vec<&mut Operand> {
        match self {
            Self::Start(operation) => {
                let Operation { reads, writes, completion, .. } = operation;
                let mbarrier = match completion {
                    Completion::Transactions { mbarrier, .. } => Some(&mut mbarrier.base),
                    _ => None,
                };
                let written = writes.iter_mut().flat_map(|(access, written)| {
                    let value = match written {
                        Written::Value(value) | Written::ReducedBy(_, _, value) => Some(value),
                        _ => None,
                    };
                    [Some(&mut access.a.base), value].into_iter().flatten()
                });
                reads.iter_mut().map(|access| &mut access.a.base).chain(written).chain(mbarrier).collect()
            }
            Self::Commit { mbarrier, .. } | Self::ArriveOnCopies { mbarrier, .. } => vec![&mut mbarrier.base],
            Self::Allocate { d, tensor, .. } => vec![&mut d.base, &mut tensor.base],
            Self::Deallocate { tensor: a, .. } | Self::AcquireTensormap { a, .. } => vec![&mut a.base],
            Self::Mbarrier { a, of } => [Some(&mut a.base)].into_iter().flatten().chain(of.operands_mut()).collect(),
            Self::CommitGroup(_) | Self::WaitGroup { .. } | Self::TensorWait(_) | Self::Relinquish => Vec::new(),
        }
    }

    /// All addresses, with the types of the accesses.
    pub(crate) fn addresses(&self) -> Vec<(Address, Type)> {
        let at = |a: Address| vec![(a, Type::B64)];
        match self {
            Self::Start(operation) => {
                let mbarrier = match operation.completion {
                    Completion::Transactions { mbarrier, .. } => Some((mbarrier, Type::B64)),
                    _ => None,
                };
                operation.accesses().map(|access| (access.a, access.ty)).chain(mbarrier).collect()
            }
            Self::Commit { mbarrier: a, .. }
            | Self::ArriveOnCopies { mbarrier: a, .. }
            | Self::Deallocate { tensor: a, .. }
            | Self::AcquireTensormap { a, .. }
            | Self::Mbarrier { a, .. } => at(*a),
            Self::Allocate { d, tensor, .. } => [at(*d), at(*tensor)].concat(),
            Self::CommitGroup(_) | Self::WaitGroup { .. } | Self::TensorWait(_) | Self::Relinquish => Vec::new(),
        }
    }

    /// The addresses of the writes, without mbarriers.
    pub(crate) fn written(&self) -> impl Iterator<Item = Address> {
        let (started, others) = match self {
            Self::Start(operation) => (&operation.writes[..], [None; 2]),
            Self::Allocate { d, tensor, .. } => (&[][..], [Some(*d), Some(*tensor)]),
            Self::Deallocate { tensor, .. } => (&[][..], [Some(*tensor), None]),
            _ => (&[][..], [None; 2]),
        };
        started.iter().map(|(access, _)| access.a).chain(others.into_iter().flatten())
    }

    /// The register that is written.
    pub fn result_mut(&mut self) -> Option<&mut Register> {
        match self {
            Self::Start(operation) => operation.d.as_mut(),
            Self::Mbarrier { of: MbarrierOperation::Arrive { d, .. }, .. } => d.as_mut(),
            Self::Mbarrier { of: MbarrierOperation::Wait { d, .. }, .. } => Some(d),
            _ => None,
        }
    }
}

impl MbarrierOperation {
    fn operands_mut(&mut self) -> Vec<&mut Operand> {
        match self {
            Self::Init { count } => vec![count],
            Self::Inval => Vec::new(),
            Self::ExpectTx { bytes } | Self::CompleteTx { bytes } => vec![bytes],
            Self::Arrive { count, expects, .. } => [Some(count), expects.as_mut()].into_iter().flatten().collect(),
            Self::Wait { phase: Phase::Parity(operand) | Phase::State(operand), .. } => vec![operand],
        }
    }
}
