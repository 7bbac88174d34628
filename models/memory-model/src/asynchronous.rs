//! Instructions whose memory operations happen later than they are issued, what waits for them, and mbarriers.
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
    /// `commit_group`: what the thread started since its last one is a group. Groups complete in their order.
    CommitGroup(Group),
    /// `wait_group N`, `wait_all`: all but the last `pending` groups are complete; with `read`, they have read their sources at
    /// least.
    WaitGroup {
        /// Of which operations.
        of: Group,
        /// How many of the latest groups may be incomplete. `wait_all` has 0, and does not need a group.
        pending: u32,
        /// `.read`
        read: bool,
        /// `wait_all`
        all: bool,
    },
    /// `tcgen05.wait::ld`, `tcgen05.wait::st`
    TensorWait(TensorWait),
    /// `tcgen05.commit`: an arrival at the mbarrier, of 1 and cluster scope, when the tensor operations that the thread started before
    /// it for the same group are as far as this.
    Commit {
        /// `.cta_group::N`
        cta_group: CtaGroup,
        /// How far.
        of: Committed,
        /// The mbarrier.
        mbarrier: Address,
    },
    /// `cp.async.mbarrier.arrive`: an arrival at the mbarrier, when the thread's earlier `cp.async` are complete.
    ArriveOnCopies {
        /// The mbarrier.
        mbarrier: Address,
        /// Without it, the number of arrivals that the phase waits for grows by this one.
        noinc: bool,
    },
    /// `tcgen05.alloc`: writes the address of tensor memory to shared memory.
    Allocate {
        /// Where the address is written, in shared memory.
        d: Address,
        /// What is allocated, in tensor memory. The address that is written is its own.
        tensor: Address,
        /// `.cta_group::N`
        cta_group: CtaGroup,
    },
    /// `tcgen05.dealloc`
    Deallocate {
        /// What is freed, in tensor memory.
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
        /// For what was released in this scope.
        scope: Scope,
    },
    /// An operation on an mbarrier.
    Mbarrier {
        /// Where it is, in shared memory.
        a: Address,
        /// What is done.
        of: MbarrierOperation,
    },
}

/// Memory operations that are started together, and complete together.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Operation {
    /// Which rules it follows.
    pub kind: OperationKind,
    /// What it reads, each through its proxy.
    pub reads: Vec<Access>,
    /// What it writes, each through its proxy.
    pub writes: Vec<(Access, Written)>,
    /// The register that gets what the first read returns: of `tcgen05.ld`.
    pub d: Option<Register>,
    /// How its completion is observed.
    pub completion: Completion,
}

/// A memory operation of an asynchronous operation. It is weak.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access {
    /// Where.
    pub a: Address,
    /// The type of the value.
    pub ty: Type,
    /// How it reaches the memory.
    pub proxy: Proxy,
}

impl Access {
    /// An access of 64 bits. A matrix is one such element.
    pub fn by(proxy: Proxy, a: Address) -> Self {
        Self { a, ty: Type::U64, proxy }
    }
}

/// Where a variable is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Display, EnumString)]
#[strum(serialize_all = "snake_case")]
pub enum Memory {
    /// Global memory; or it is not known.
    #[default]
    Global,
    /// Shared memory.
    Shared,
    /// Tensor memory.
    Tensor,
}

/// What an asynchronous operation writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Written {
    /// What its read of this index returns.
    Read(usize),
    /// A value that it takes along.
    Value(Operand),
    /// `a * b + d` of what its reads of these indices return: a matrix of one element.
    MultiplyAdd([usize; 3]),
    /// A reduction: of what its two reads of these indices return, of which the second is of the same location. It is one atomic
    /// operation, and relaxed.
    Reduced(AluOp, [usize; 2]),
    /// A reduction of what the read of this index returns, of the same location, with a value that it takes along.
    ReducedBy(AluOp, usize, Operand),
}

/// Which rules an asynchronous operation follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OperationKind {
    /// `tcgen05.mma`; operations with the same accumulator and shape are pipelined.
    Mma {
        /// `.cta_group::N`
        cta_group: CtaGroup,
        /// A number for the shape and the kind: the same where the instructions have the same.
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

/// How the completion of an operation is observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Completion {
    /// By `tcgen05.commit`, of the same group.
    Commit,
    /// By `tcgen05.wait`.
    TensorWait(TensorWait),
    /// By the end of its group.
    Group(Group),
    /// By the mbarrier, of which it completes so many bytes.
    Transactions {
        /// The mbarrier.
        mbarrier: Address,
        /// In bytes.
        bytes: u32,
    },
}

/// The CTAs that a tensor operation works for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumIter, EnumString, IntoStaticStr)]
pub enum CtaGroup {
    /// The CTA of the thread.
    #[strum(serialize = "cta_group::1")]
    One,
    /// The CTA and its peer.
    #[strum(serialize = "cta_group::2")]
    Two,
}

/// What is done to an mbarrier (section 9.7.13.15).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum MbarrierOperation {
    /// `mbarrier.init`
    Init {
        /// How many arrivals complete a phase.
        count: Operand,
    },
    /// `mbarrier.inval`
    Inval,
    /// `mbarrier.expect_tx`: the phase waits for so many bytes more.
    ExpectTx {
        /// In bytes.
        bytes: Operand,
    },
    /// `mbarrier.complete_tx`: the phase waits for so many bytes less.
    CompleteTx {
        /// In bytes.
        bytes: Operand,
    },
    /// `mbarrier.arrive`, `mbarrier.arrive_drop`
    Arrive {
        /// The state, which names the phase.
        d: Option<Register>,
        /// How many arrivals it is.
        count: Operand,
        /// `.expect_tx`: before it arrives, the phase waits for so many bytes more.
        expects: Option<Operand>,
        /// `arrive_drop`: later phases wait for fewer arrivals.
        drops: bool,
        /// `.relaxed`; `.release` otherwise.
        relaxed: bool,
        /// For whom it releases.
        scope: Scope,
    },
    /// `mbarrier.test_wait`, `mbarrier.try_wait`
    Wait {
        /// Whether the phase is complete.
        d: Register,
        /// Which phase.
        phase: Phase,
        /// `.relaxed`; `.acquire` otherwise.
        relaxed: bool,
        /// For whom it acquires.
        scope: Scope,
    },
}

/// What asynchronous instructions do in a path of a thread, beside memory operations, their start and their completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// As [`Asynchronous::CommitGroup`].
    CommitGroup(Group),
    /// As [`Asynchronous::WaitGroup`].
    WaitGroup {
        /// Of which operations.
        of: Group,
        /// How many of the latest groups may be incomplete.
        pending: u32,
        /// `.read`
        read: bool,
        /// `wait_all`
        all: bool,
    },
    /// As [`Asynchronous::TensorWait`].
    TensorWait(TensorWait),
    /// A thread asks for a signal.
    Ask(Signal),
    /// The arrival at the mbarrier that a thread asked for: later, and in no program order.
    Signal(Signal),
    /// As [`Asynchronous::AcquireTensormap`].
    AcquireTensormap(Scope),
    /// As [`Asynchronous::Mbarrier`].
    Mbarrier(MbarrierStep),
}

/// An arrival at an mbarrier that a thread asks for, and that is made when operations are complete.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Signal {
    /// As [`Asynchronous::Commit`].
    Commit(CtaGroup, Committed),
    /// As [`Asynchronous::ArriveOnCopies`].
    Copies {
        /// `.noinc`
        noinc: bool,
    },
}

/// As [`MbarrierOperation`], of known values. A wait is one whose result is 1; one whose result is 0 is no event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MbarrierStep {
    /// `mbarrier.init`
    Init {
        /// How many arrivals complete a phase.
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
        /// How many arrivals it is.
        count: u32,
        /// `.expect_tx`, in bytes.
        expects: u32,
        /// `arrive_drop`
        drops: bool,
        /// `.relaxed`; `.release` otherwise.
        relaxed: bool,
        /// For whom it releases.
        scope: Scope,
    },
    /// `mbarrier.test_wait`, `mbarrier.try_wait`
    Wait {
        /// Which phase.
        phase: Awaited,
        /// `.relaxed`; `.acquire` otherwise.
        relaxed: bool,
        /// For whom it acquires.
        scope: Scope,
    },
}

/// The phase of an mbarrier that was waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Awaited {
    /// The latest complete phase, if its parity is this.
    Parity(bool),
    /// That of the arrival which is so many events before the wait in its thread.
    Arrival(usize),
}

/// The phase that is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The phase of this parity; the one before the current one, or the current one.
    Parity(Operand),
    /// The phase of the arrival that gave this state.
    State(Operand),
}

/// How many bytes a copy of a tensor completes at its mbarrier: a matrix is one element.
pub(crate) const TENSOR_BYTES: u32 = 16;

impl Operation {
    fn new(kind: OperationKind, reads: Vec<Access>, writes: Vec<(Access, Written)>, completion: Completion) -> Self {
        Self { kind, reads, writes, d: None, completion }
    }

    /// `tcgen05.ld d, [t]`
    pub fn tensor_load(d: Register, t: Address) -> Self {
        let completion = Completion::TensorWait(TensorWait::Load);
        Self {
            d: Some(d),
            ..Self::new(OperationKind::TensorLoad, vec![Access::by(Proxy::Tensor, t)], Vec::new(), completion)
        }
    }

    /// `tcgen05.st [t], b`
    pub fn tensor_store(t: Address, b: Operand) -> Self {
        let writes = vec![(Access::by(Proxy::Tensor, t), Written::Value(b))];
        Self::new(OperationKind::TensorStore, Vec::new(), writes, Completion::TensorWait(TensorWait::Store))
    }

    /// `tcgen05.cp [t], s`
    pub fn tensor_copy(cta_group: CtaGroup, is_4x256b: bool, t: Address, s: Address) -> Self {
        let writes = vec![(Access::by(Proxy::Tensor, t), Written::Read(0))];
        let kind = OperationKind::TensorCopy { cta_group, is_4x256b };
        Self::new(kind, vec![Access::by(Proxy::Async, s)], writes, Completion::Commit)
    }

    /// `tcgen05.shift [t]`
    pub fn shift(cta_group: CtaGroup, t: Address) -> Self {
        let t = Access::by(Proxy::Tensor, t);
        Self::new(OperationKind::Shift { cta_group }, vec![t], vec![(t, Written::Read(0))], Completion::Commit)
    }

    /// `tcgen05.mma [d], a, b`, which may read `further` tensor memory: metadata and scales.
    pub fn mma(
        kind: OperationKind,
        d: Address,
        a: Access,
        b: Address,
        further: impl IntoIterator<Item = Address>,
    ) -> Self {
        let d = Access::by(Proxy::Tensor, d);
        let further = further.into_iter().map(|a| Access::by(Proxy::Tensor, a));
        let reads = [a, Access::by(Proxy::Async, b), d].into_iter().chain(further).collect();
        Self::new(kind, reads, vec![(d, Written::MultiplyAdd([0, 1, 2]))], Completion::Commit)
    }

    /// `cp.async [d], [s]`
    pub fn copy(d: Address, s: Address, ty: Type) -> Self {
        let access = |a| Access { ty, ..Access::by(Proxy::Generic, a) };
        let writes = vec![(access(d), Written::Read(0))];
        Self::new(OperationKind::Copy, vec![access(s)], writes, Completion::Group(Group::Copy))
    }

    /// `cp.async.bulk [d], [s]`, or with a descriptor of a tensor, or as `cp.reduce.async.bulk` of this operation and type.
    pub fn bulk(
        d: Address,
        s: Address,
        descriptor: Option<Address>,
        reduction: Option<(AluOp, Type)>,
        completion: Completion,
    ) -> Self {
        let access = |a| Access { ty: reduction.map_or(Type::U64, |(_, ty)| ty), ..Access::by(Proxy::Async, a) };
        let (old, written) = match reduction {
            Some((op, _)) => (Some(access(d)), Written::Reduced(op, [0, 1])),
            None => (None, Written::Read(0)),
        };
        let descriptor = descriptor.map(|a| Access::by(Proxy::Tensormap, a));
        let reads = [Some(access(s)), old, descriptor].into_iter().flatten().collect();
        Self::new(OperationKind::Bulk, reads, vec![(access(d), written)], completion)
    }

    /// `wgmma.mma_async`, of the matrices that are in shared memory. The registers of the result have no values.
    pub fn wgmma(matrices: impl IntoIterator<Item = Address>) -> Self {
        let reads = matrices.into_iter().map(|a| Access::by(Proxy::Async, a)).collect();
        Self::new(OperationKind::Wgmma, reads, Vec::new(), Completion::Group(Group::Wgmma))
    }

    /// `st.async [a], b, [mbarrier]`, or `red.async` of this operation. Nothing says that they use another method of access than
    /// `st` and `red` do (section 8.6).
    pub fn store(a: Address, ty: Type, b: Operand, op: Option<AluOp>, mbarrier: Address) -> Self {
        let access = Access { ty, ..Access::by(Proxy::Generic, a) };
        let (reads, written) = match op {
            Some(op) => (vec![access], Written::ReducedBy(op, 0, b)),
            None => (Vec::new(), Written::Value(b)),
        };
        let completion = Completion::Transactions { mbarrier, bytes: ty.bits() / 8 };
        Self::new(OperationKind::Store, reads, vec![(access, written)], completion)
    }

    /// `clusterlaunchcontrol.try_cancel [d], [mbarrier]`, which writes 1 as its answer.
    pub fn try_cancel(d: Address, mbarrier: Address) -> Self {
        let writes = vec![(Access::by(Proxy::Async, d), Written::Value(Operand::Immediate(1)))];
        let completion = Completion::Transactions { mbarrier, bytes: 16 };
        Self::new(OperationKind::TryCancel, Vec::new(), writes, completion)
    }

    /// Its memory operations.
    pub fn accesses(&self) -> impl Iterator<Item = &Access> {
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

    /// All addresses, with what is there.
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

    /// The addresses of what is written, without mbarriers.
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
