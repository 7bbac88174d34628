//! The meaning of asynchronous instructions: the memory that each reads and writes, the proxy of each access, and the
//! completion mechanism (PTX ISA 9.2, sections 8.3, 9.7.9 and 9.7.13 to 9.7.16).
//!
//! ```
//! use ptx_isa::{Asynchronous, Role, effects::{Effect, Group, Proxy, Started, Tracking}};
//!
//! let copy: Asynchronous = "cp.async.ca.shared.global [a], [x], 8".parse()?;
//! let effects = copy.effects();
//! assert_eq!(effects.effect, Effect::Start(Started::Copy, Tracking::Group(Group::Copy)));
//! let [written, read] = &effects.touches[..] else { panic!("{effects:?}") };
//! assert_eq!((written.role, written.proxy, written.writes), (Role::Destination, Proxy::Generic, true));
//! assert_eq!((read.role, read.proxy, read.writes), (Role::Source, Proxy::Generic, false));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

use strum::{Display, EnumIter, EnumString, IntoStaticStr};

use super::{
    Asynchronous, Outline,
    argument::{Argument, Role},
    family::Family,
    kind::{ModifierKind, spaces},
};
use crate::{
    instruction::Operand,
    word::{Space, Type},
};

/// The meaning of an asynchronous instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Effects {
    /// Its effect, besides reads and writes of memory.
    pub effect: Effect,
    /// The memory that it reads and writes: at any time until its completion if it starts an operation, otherwise
    /// before the effect. Accesses to mbarriers are not listed.
    pub touches: Vec<OperandAccess>,
}

/// The effect of an asynchronous instruction, besides reads and writes of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Effect {
    /// The start of an operation, and its completion mechanism.
    Start(Started, Tracking),
    /// `commit_group`: the operations that the thread started since its last `commit_group` become a group.
    CommitGroup(Group),
    /// `wait_group`: a wait until all groups except the last [`Role::Pending`] ones are complete.
    WaitGroup {
        /// The kind of the groups.
        of: Group,
        /// `.wait_all`: every operation is complete, committed or not.
        all: bool,
        /// `.read`: the operations have at least read their sources.
        reads_only: bool,
    },
    /// `tcgen05.wait`
    TensorWait(TensorWait),
    /// `tcgen05.commit`: an arrival at [`Role::Barrier`] when the earlier tensor operations of the thread have reached
    /// this state.
    TensorCommit(Committed),
    /// `cp.async.mbarrier.arrive`: an arrival at [`Role::Barrier`] when the earlier `cp.async` operations of the thread
    /// are complete.
    CopyArrive {
        /// `.noinc`: the arrival is one of the expected arrivals.
        noinc: bool,
    },
    /// An operation on the mbarrier at [`Role::Barrier`].
    Mbarrier(MbarrierEffect),
    /// `tcgen05.alloc`
    Allocate,
    /// `tcgen05.dealloc`
    Deallocate,
    /// `tcgen05.relinquish_alloc_permit`
    Relinquish,
    /// A fence.
    Fence(FenceEffect),
    /// `barrier.cluster.arrive`
    ClusterArrive {
        /// `.relaxed`: the arrival orders no memory accesses.
        relaxed: bool,
    },
    /// `barrier.cluster.wait`
    ClusterWait,
    /// `griddepcontrol.wait`
    GridWait,
    /// No effect: hints, and queries about values.
    Nothing,
    /// An unknown effect. The forms of these instructions are known from measurements, but not their ordering: the
    /// fabric, asynchronous stores to several memories, and waits that are restricted to a proxy, of PTX 9.3 to 9.5.
    Unknown,
}

/// An operation that accesses memory after its instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Started {
    /// `tcgen05.mma`
    Mma,
    /// `tcgen05.cp`
    TensorCopy,
    /// `tcgen05.shift`
    TensorShift,
    /// `tcgen05.ld`
    TensorLoad,
    /// `tcgen05.st`
    TensorStore,
    /// `cp.async`
    Copy,
    /// `cp.async.bulk` and `cp.reduce.async.bulk`, with or without `.tensor`
    Bulk,
    /// `wgmma.mma_async`
    Wgmma,
    /// `st.async`, `red.async`
    Store,
    /// `clusterlaunchcontrol.try_cancel`
    TryCancel,
}

/// The completion mechanism of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tracking {
    /// A wait for its group.
    Group(Group),
    /// A `tcgen05.wait`.
    TensorWait(TensorWait),
    /// A `tcgen05.commit`.
    TensorCommit,
    /// The mbarrier at [`Role::Barrier`]: the operation completes bytes of its phase.
    Mbarrier,
    /// The written value alone: the write is a release at its scope.
    Value,
}

/// The operations of a group.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Group {
    /// `cp.async`
    Copy,
    /// `cp.async.bulk`
    Bulk,
    /// `wgmma.mma_async`
    Wgmma,
}

/// The operations that a `tcgen05.wait` waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumIter, EnumString, IntoStaticStr)]
pub enum TensorWait {
    /// The thread's `tcgen05.ld`.
    #[strum(serialize = "wait::ld")]
    Load,
    /// The thread's `tcgen05.st`.
    #[strum(serialize = "wait::st")]
    Store,
}

/// The state of tensor operations when a `tcgen05.commit` arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Committed {
    /// The operations are complete.
    Complete,
    /// `.sync_restrict::shared::read::mma::a`, of PTX 9.4: the products have read the part of A that is in shared
    /// memory.
    ReadA,
}

impl Committed {
    /// The modifier of [`Self::ReadA`], without its dot.
    pub const READ_A: &str = "sync_restrict::shared::read::mma::a";
}

/// An operation on an mbarrier. The arrivals that it counts are [`Role::Count`], the bytes [`Role::Bytes`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MbarrierEffect {
    /// `mbarrier.init`
    Init,
    /// `mbarrier.inval`
    Inval,
    /// `mbarrier.expect_tx`
    ExpectTx,
    /// `mbarrier.complete_tx`
    CompleteTx,
    /// `mbarrier.arrive`, `mbarrier.arrive_drop`
    Arrive {
        /// `.expect_tx`: the arrival also expects bytes.
        expects: bool,
        /// `arrive_drop`: later phases wait for fewer arrivals.
        drops: bool,
        /// `.relaxed`; `.release` otherwise.
        relaxed: bool,
    },
    /// `mbarrier.test_wait`, `mbarrier.try_wait`
    Wait {
        /// [`Role::State`] or [`Role::Parity`], which names the phase.
        phase: Role,
        /// `.relaxed`; `.acquire` otherwise.
        relaxed: bool,
    },
}

/// A fence for asynchronous operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum FenceEffect {
    /// `fence.mbarrier_init`
    MbarrierInit,
    /// `fence` with `.sync_restrict`
    Memory(OneSided),
    /// `fence.proxy`
    Proxy(ProxyFence),
    /// `wgmma.fence`
    Wgmma,
    /// `tcgen05.fence`
    Tensor(TensorFence),
}

/// A fence between proxies (section 8.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ProxyFence {
    /// `fence.proxy.async`, for one state space or for all
    Async(Option<Space>),
    /// `fence.proxy.async::generic`
    AsyncHalf(OneSided),
    /// `fence.proxy.tensormap::generic`
    TensormapHalf(OneSided),
    /// `fence.proxy.alias`
    Alias,
    /// `fence.proxy.generic::fabric` and its variants
    Fabric,
}

/// One side of a synchronization.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum OneSided {
    /// The writer's side.
    Release,
    /// The reader's side.
    Acquire,
}

/// The position of a `tcgen05.fence` relative to a synchronization.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumIter, EnumString, IntoStaticStr)]
pub enum TensorFence {
    /// It orders earlier operations.
    #[strum(serialize = "fence::before_thread_sync")]
    Before,
    /// It orders later operations.
    #[strum(serialize = "fence::after_thread_sync")]
    After,
}

/// The proxy of an access (section 8.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Display, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Proxy {
    /// Ordinary instructions.
    Generic,
    /// `suld` and `sust`.
    Surface,
    /// `tex`.
    Texture,
    /// Constant memory.
    Constant,
    /// Bulk copies, and accesses of tensor cores to shared memory.
    Async,
    /// Reads of a tensor map.
    Tensormap,
    /// Tensor memory, which has no other proxy.
    Tensor,
}

/// A read or write of memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OperandAccess {
    /// The operand that names the memory.
    pub role: Role,
    /// The way in which the operand names the memory.
    pub at: At,
    /// The proxy.
    pub proxy: Proxy,
    /// Whether it is a read.
    pub reads: bool,
    /// Whether it is a write.
    pub writes: bool,
    /// The amount of memory.
    pub extent: Extent,
}

/// The way in which an operand names memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum At {
    /// An address in a state space.
    Address(Space),
    /// An address in tensor memory, to which a second operand may be added.
    Tmem(Option<Role>),
    /// The descriptor of a matrix in shared memory.
    Matrix,
    /// A tensor map in global memory; the access is to the map itself.
    Map,
    /// A tensor map; the access is to the tensor in global memory. [`Role::Override`] is its address, if present.
    Tensor,
}

/// The amount of accessed memory: bytes, or columns of tensor memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extent {
    /// This number.
    Fixed(u64),
    /// The value of an operand.
    Operand(Role),
    /// The number of columns that [`Role::Descriptor`] states for the accumulator.
    Accumulator,
    /// Any number.
    Unknown,
}

/// The size of a tensor map in bytes.
const MAP: Extent = Extent::Fixed(128);

const READS: (bool, bool) = (true, false);
const WRITES: (bool, bool) = (false, true);
const UPDATES: (bool, bool) = (true, true);

impl Asynchronous {
    /// The meaning of the instruction.
    pub fn effects(&self) -> Effects {
        Effects { effect: self.effect(), touches: touches(self) }
    }

    /// The effect of the instruction, besides reads and writes of memory.
    pub fn effect(&self) -> Effect {
        effect(self.family(), self.modifiers(), self.argument(Role::Barrier).is_some())
    }

    /// Whether the ordering of the instruction is unknown: [`Effect::Unknown`].
    pub fn has_unknown_order(&self) -> bool {
        self.effect() == Effect::Unknown
    }
}

impl Outline {
    /// The effect of the instruction, besides reads and writes of memory.
    pub fn effect(&self) -> Effect {
        effect(self.family, &self.modifiers, self.roles.contains(&Role::Barrier))
    }
}

fn effect(family: Family, modifiers: &[&'static str], has_barrier: bool) -> Effect {
    use Family::*;
    let has = |word: &str| modifiers.contains(&word);
    let half = if has("acquire") { OneSided::Acquire } else { OneSided::Release };
    let proxy = |of: ProxyFence| Effect::Fence(FenceEffect::Proxy(of));
    let by_barrier = |other: Tracking| if has_barrier { Tracking::Mbarrier } else { other };
    let relaxed = has("relaxed");
    let arrive = |expects: bool, drops: bool| Effect::Mbarrier(MbarrierEffect::Arrive { expects, drops, relaxed });
    let wait = |of: Group, all: bool| Effect::WaitGroup { of, all, reads_only: has("read") };
    match family {
        FenceProxyAlias | FenceAlias | MembarProxyAlias => proxy(ProxyFence::Alias),
        FenceProxyGenericFabric | FenceProxyFabricGeneric | FenceProxyFabricFabric => proxy(ProxyFence::Fabric),
        FenceProxyAsync | MembarProxyAsync => proxy(ProxyFence::Async(spaces(modifiers).next())),
        FenceProxyTensormapGeneric => proxy(ProxyFence::TensormapHalf(half)),
        FenceProxyAsyncGeneric => proxy(ProxyFence::AsyncHalf(half)),
        FenceMbarrierInit => Effect::Fence(FenceEffect::MbarrierInit),
        Fence => Effect::Fence(FenceEffect::Memory(half)),
        // The fence orders the copy that this instruction makes.
        TensormapCpFenceproxy => proxy(ProxyFence::TensormapHalf(OneSided::Release)),
        WgmmaFence => Effect::Fence(FenceEffect::Wgmma),
        Tcgen05FenceBeforeThreadSync => Effect::Fence(FenceEffect::Tensor(TensorFence::Before)),
        Tcgen05FenceAfterThreadSync => Effect::Fence(FenceEffect::Tensor(TensorFence::After)),
        MbarrierInit => Effect::Mbarrier(MbarrierEffect::Init),
        MbarrierInval => Effect::Mbarrier(MbarrierEffect::Inval),
        MbarrierExpectTx => Effect::Mbarrier(MbarrierEffect::ExpectTx),
        MbarrierCompleteTx => Effect::Mbarrier(MbarrierEffect::CompleteTx),
        MbarrierArrive | MbarrierArriveNoComplete => arrive(false, false),
        MbarrierArriveExpectTx => arrive(true, false),
        MbarrierArriveDrop | MbarrierArriveDropNoComplete => arrive(false, true),
        MbarrierArriveDropExpectTx => arrive(true, true),
        MbarrierTestWait | MbarrierTryWait => Effect::Mbarrier(MbarrierEffect::Wait { phase: Role::State, relaxed }),
        MbarrierTestWaitParity | MbarrierTryWaitParity => {
            Effect::Mbarrier(MbarrierEffect::Wait { phase: Role::Parity, relaxed })
        }
        CpAsync => Effect::Start(Started::Copy, Tracking::Group(Group::Copy)),
        CpAsyncMbarrierArrive => Effect::CopyArrive { noinc: has("noinc") },
        CpAsyncCommitGroup => Effect::CommitGroup(Group::Copy),
        CpAsyncBulkCommitGroup => Effect::CommitGroup(Group::Bulk),
        WgmmaCommitGroup => Effect::CommitGroup(Group::Wgmma),
        CpAsyncBulkWaitGroup if has("sync_restrict::proxy::async") => Effect::Unknown,
        CpAsyncWaitGroup => wait(Group::Copy, false),
        CpAsyncBulkWaitGroup => wait(Group::Bulk, false),
        WgmmaWaitGroup => wait(Group::Wgmma, false),
        CpAsyncWaitAll => wait(Group::Copy, true),
        CpAsyncBulk
        | CpReduceAsyncBulk
        | MultimemCpAsyncBulk
        | MultimemCpReduceAsyncBulk
        | CpAsyncBulkTensor
        | CpReduceAsyncBulkTensor => Effect::Start(Started::Bulk, by_barrier(Tracking::Group(Group::Bulk))),
        StAsync | RedAsync => Effect::Start(Started::Store, by_barrier(Tracking::Value)),
        ClusterlaunchcontrolTryCancelAsync => Effect::Start(Started::TryCancel, Tracking::Mbarrier),
        WgmmaMmaAsync | WgmmaMmaAsyncSp => Effect::Start(Started::Wgmma, Tracking::Group(Group::Wgmma)),
        Tcgen05Mma | Tcgen05MmaWs | Tcgen05MmaSp | Tcgen05MmaWsSp => {
            Effect::Start(Started::Mma, Tracking::TensorCommit)
        }
        Tcgen05Cp => Effect::Start(Started::TensorCopy, Tracking::TensorCommit),
        Tcgen05Shift => Effect::Start(Started::TensorShift, Tracking::TensorCommit),
        Tcgen05Ld | Tcgen05LdRed => Effect::Start(Started::TensorLoad, Tracking::TensorWait(TensorWait::Load)),
        Tcgen05St => Effect::Start(Started::TensorStore, Tracking::TensorWait(TensorWait::Store)),
        Tcgen05WaitLd => Effect::TensorWait(TensorWait::Load),
        Tcgen05WaitSt => Effect::TensorWait(TensorWait::Store),
        Tcgen05Commit if has(Committed::READ_A) => Effect::TensorCommit(Committed::ReadA),
        Tcgen05Commit => Effect::TensorCommit(Committed::Complete),
        Tcgen05Alloc => Effect::Allocate,
        Tcgen05Dealloc => Effect::Deallocate,
        Tcgen05RelinquishAllocPermit => Effect::Relinquish,
        BarrierClusterArrive => Effect::ClusterArrive { relaxed },
        BarrierClusterWait => Effect::ClusterWait,
        GriddepcontrolWait => Effect::GridWait,
        TensormapReplaceTile
        | StBulk
        | MbarrierPendingCount
        | MbarrierCheckLayout
        | CpAsyncBulkPrefetch
        | CpAsyncBulkPrefetchTensor
        | ApplypriorityAsyncBulk
        | ApplypriorityAsyncBulkTensor
        | GriddepcontrolLaunchDependents
        | ClusterlaunchcontrolQueryCancel => Effect::Nothing,
        MultimemStAsync
        | MultimemRedAsync
        | FabricTryGetAsync
        | FabricTryPutAsync
        | FabricTryRedAsync
        | FabricTryPullredAsync
        | FabricTryAtomAsync
        | FabricSubmit
        | FabricSubmitCommitGroup
        | FabricWait => Effect::Unknown,
    }
}

fn touches(form: &Asynchronous) -> Vec<OperandAccess> {
    use Family::*;
    let touch = |role: Role, at: At, proxy: Proxy, (reads, writes): (bool, bool), extent: Extent| OperandAccess {
        role,
        at,
        proxy,
        reads,
        writes,
        extent,
    };
    let tmem =
        |role: Role, does: (bool, bool), extent: Extent| touch(role, At::Tmem(None), Proxy::Tensor, does, extent);
    let matrix = |role: Role| touch(role, At::Matrix, Proxy::Async, READS, Extent::Unknown);
    let has_barrier = form.argument(Role::Barrier).is_some();
    let [to, from] = [0, 1].map(|index| At::Address(form.spaces().nth(index).unwrap_or(Space::Global)));
    let [shared, global] = [Space::SharedCta, Space::Global].map(At::Address);
    let (destination, source, size) = (Role::Destination, Role::Source, Extent::Operand(Role::Size));
    match form.family() {
        TensormapCpFenceproxy => vec![
            touch(source, shared, Proxy::Generic, READS, MAP),
            touch(destination, global, Proxy::Generic, WRITES, MAP),
        ],
        TensormapReplaceTile => {
            let at = if to == global && form.spaces().next().is_some() { global } else { shared };
            vec![touch(destination, at, Proxy::Generic, UPDATES, MAP)]
        }
        StBulk => vec![touch(destination, shared, Proxy::Generic, WRITES, size)],
        CpAsync => vec![
            touch(destination, shared, Proxy::Generic, WRITES, size),
            touch(source, global, Proxy::Generic, READS, size),
        ],
        CpAsyncBulk | MultimemCpAsyncBulk => {
            vec![touch(destination, to, Proxy::Async, WRITES, size), touch(source, from, Proxy::Async, READS, size)]
        }
        CpReduceAsyncBulk | MultimemCpReduceAsyncBulk => {
            vec![touch(destination, to, Proxy::Async, UPDATES, size), touch(source, from, Proxy::Async, READS, size)]
        }
        CpAsyncBulkTensor | CpReduceAsyncBulkTensor if has_barrier => vec![
            touch(destination, to, Proxy::Async, WRITES, Extent::Unknown),
            touch(source, At::Tensor, Proxy::Async, READS, Extent::Unknown),
            touch(source, At::Map, Proxy::Tensormap, READS, MAP),
        ],
        family @ (CpAsyncBulkTensor | CpReduceAsyncBulkTensor) => {
            let does = if family == CpReduceAsyncBulkTensor { UPDATES } else { WRITES };
            vec![
                touch(destination, At::Tensor, Proxy::Async, does, Extent::Unknown),
                touch(source, from, Proxy::Async, READS, Extent::Unknown),
                touch(destination, At::Map, Proxy::Tensormap, READS, MAP),
            ]
        }
        ClusterlaunchcontrolTryCancelAsync => {
            vec![touch(destination, shared, Proxy::Async, WRITES, Extent::Fixed(16))]
        }
        // The manual gives them the same proxy as `st` and `red` (section 8.6).
        family @ (StAsync | RedAsync) => {
            let at = if has_barrier { At::Address(Space::SharedCluster) } else { global };
            let does = if family == RedAsync { UPDATES } else { WRITES };
            vec![touch(destination, at, Proxy::Generic, does, element_bytes(form))]
        }
        WgmmaMmaAsync | WgmmaMmaAsyncSp => {
            let is_in_registers = matches!(form.argument(Role::A), Some(Argument::Value(Operand::Vector(_))));
            [Role::A, Role::B].into_iter().skip(usize::from(is_in_registers)).map(matrix).collect()
        }
        Tcgen05Alloc => vec![touch(destination, shared, Proxy::Generic, WRITES, Extent::Fixed(4))],
        Tcgen05Dealloc => vec![tmem(Role::Tmem, WRITES, Extent::Operand(Role::Columns))],
        Tcgen05Shift => vec![tmem(Role::Tmem, UPDATES, Extent::Unknown)],
        Tcgen05Cp => {
            let columns = if form.has("128x256b") || form.has("4x256b") { 8 } else { 4 };
            vec![tmem(Role::Tmem, WRITES, Extent::Fixed(columns)), matrix(source)]
        }
        family @ (Tcgen05Ld | Tcgen05LdRed | Tcgen05St) => {
            let does = if family == Tcgen05St { WRITES } else { READS };
            let first = tmem(Role::Tmem, does, columns(form));
            let second = form.has("16x32bx2").then_some(OperandAccess { at: At::Tmem(Some(Role::Split)), ..first });
            [first].into_iter().chain(second).collect()
        }
        Tcgen05Mma | Tcgen05MmaWs | Tcgen05MmaSp | Tcgen05MmaWsSp => {
            // A row of A has 32 bytes, independent of its element type. An overwritten accumulator is not read.
            let a = match form.address(Role::A) {
                Some(_) => tmem(Role::A, READS, Extent::Fixed(8)),
                None => matrix(Role::A),
            };
            let further = [Role::ScaleA, Role::ScaleB, Role::Metadata].into_iter();
            let further = further.filter(|role| form.address(*role).is_some());
            let all = [tmem(Role::D, UPDATES, Extent::Accumulator), a, matrix(Role::B)].into_iter();
            all.chain(further.map(|role| tmem(role, READS, Extent::Unknown))).collect()
        }
        _ => Vec::new(),
    }
}

/// The number of columns that a load or store of tensor memory accesses in each half.
fn columns(form: &Asynchronous) -> Extent {
    let number = form.modifier(ModifierKind::Repetition).and_then(|word| word.strip_prefix('x')?.parse().ok());
    let factor = match form.modifier(ModifierKind::Shape) {
        Some("16x128b") => 2,
        Some("16x256b") => 4,
        _ => 1,
    };
    number.map_or(Extent::Unknown, |number: u64| Extent::Fixed(number * factor))
}

/// The number of bytes that `st.async` and `red.async` write.
fn element_bytes(form: &Asynchronous) -> Extent {
    let ty: Option<Type> = form.modifier(ModifierKind::Type).and_then(|word| word.parse().ok());
    let elements = [("v2", 2), ("v4", 4)].into_iter().find(|(word, _)| form.has(word)).map_or(1, |(_, number)| number);
    ty.map_or(Extent::Unknown, |ty| Extent::Fixed(u64::from(ty.bits() / 8) * elements))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Operations access memory, and every access names an operand that the form has.
    #[test]
    fn touches_are_of_operands() {
        for form in Asynchronous::all() {
            let Effects { effect, touches } = form.effects();
            assert!(!matches!(effect, Effect::Start(..)) || !touches.is_empty(), "{form}");
            let roles = touches.iter().flat_map(|touch| {
                let extent = if let Extent::Operand(role) = touch.extent { Some(role) } else { None };
                let further = if let At::Tmem(further) = touch.at { further } else { None };
                [Some(touch.role), extent, further].into_iter().flatten()
            });
            let barrier = matches!(effect, Effect::Start(_, Tracking::Mbarrier)).then_some(Role::Barrier);
            for role in roles.chain(barrier) {
                assert!(form.argument(role).is_some(), "{role} of {form}");
            }
        }
    }
}
