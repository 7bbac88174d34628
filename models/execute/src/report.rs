//! What a run found.

use std::fmt::{self, Display, Formatter};

use ptx_isa::{Dim3, Family, InstPlace, Scope, SourceLine};

/// What came of a launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// What is wrong, in the order in which it was found; each pair of lines once.
    pub findings: Vec<Fault>,
    /// What the kernel printed.
    pub printed: String,
    /// What is not computed as a GPU does, each once.
    pub notes: Vec<Note>,
    /// How many instructions threads have executed.
    pub steps: u64,
    /// How many instructions warps have executed.
    pub time: u64,
    /// The work of the run, in instructions of warps: a strong access counts more the more threads there are. It bounds a run on each
    /// machine in the same way.
    pub work: u64,
    /// How many findings were like one that is there.
    pub repeated: u64,
}

/// A place in the PTX that is run in another manner than on a GPU.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Note {
    /// The line of PTX, from 1.
    pub line: u32,
    /// What is different.
    pub what: String,
}

/// What is wrong with an execution.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, strum::Display, strum::EnumString, strum::EnumIter,
)]
#[strum(serialize_all = "kebab-case")]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum FaultKind {
    /// Two accesses conflict, are not both strong, and nothing orders them (section 8.10 of the manual).
    Race,
    /// The same, of stores that write the same value.
    SameValue,
    /// Threads wait at different barriers, or a barrier opens without threads that it should have waited for.
    DivergentBarrier,
    /// A barrier or an mbarrier has a count that does not fit.
    BarrierCount,
    /// Threads wait for what never comes.
    Hang,
    /// Memory is read that nobody has written.
    Uninitialized,
    /// An access is outside of all memory.
    OutOfBounds,
    /// An address is no multiple of the size of the access.
    Misaligned,
    /// Tensor memory is not freed.
    TensorMemory,
    /// An instruction is used as the manual forbids it.
    Misuse,
    /// A CTA ends while an asynchronous operation may still read its shared memory.
    Unfinished,
    /// Shared memory is accessed of a CTA that may not have begun, or has ended.
    Absent,
    /// The kernel stopped itself: `trap`, a failed assertion, a panic.
    Trap,
    /// A thread executed more instructions than the limit.
    StepLimit,
    /// The machine does not have the instruction.
    Unsupported,
}

impl FaultKind {
    /// Whether the run ends there.
    pub fn ends(self) -> bool {
        matches!(self, Self::Hang | Self::Trap | Self::StepLimit | Self::Unsupported)
    }

    /// Whether it alone makes no run a failure.
    pub fn is_warning(self) -> bool {
        matches!(self, Self::SameValue)
    }
}

/// An order for two accesses, or another way out. It prints in words of PTX.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Remedy {
    /// A barrier of the CTA or of the cluster between the two, or a release and an acquire of this scope.
    Barrier(Scope),
    /// A release pattern after the first and an acquire pattern before the second, since no barrier has this scope.
    ReleaseAcquire(Scope),
    /// A strong access of this scope instead of the weak one, or an order for weak accesses.
    Strong(Scope),
    /// A wider scope of both strong accesses than the one that is found.
    Wider { needed: Scope, found: Scope },
    /// All threads of the CTA at a barrier, which some do not reach.
    AllArrive,
    /// One barrier for all threads of a warp, which meet at two.
    SameBarrier,
    /// A load that is not `.nc`, since the kernel writes the memory.
    PlainLoad,
    /// A fence of the asynchronous proxy by the thread that reads first, and a barrier.
    ProxyFenceOfReader,
    /// The same by the thread that writes first.
    ProxyFence,
    /// A fence of a tensor map that was changed, before its use.
    TensorMapFence,
    /// A wait for the grids before this one.
    GridWait,
    /// The same in the grid in between, too.
    GridWaits,
    /// Any other, in words of PTX.
    Words(String),
}

/// Orders the accesses of earlier grids before the accesses of a dependent grid.
const WAIT: &str = "`griddepcontrol.wait` before the access, by its thread or by one that a barrier orders before it";

impl Display for Remedy {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let barrier = |scope: Scope| match scope {
            Scope::Cta => "`bar.sync` of all threads of the CTA",
            Scope::Cluster => "`barrier.cluster.arrive` and `.wait`",
            Scope::Gpu | Scope::Sys => "no barrier of the grid in PTX: a release and an acquire",
        };
        match self {
            Self::Barrier(scope) => {
                write!(f, "{} in between, or a release and an acquire with scope `.{scope}`", barrier(*scope))
            }
            Self::ReleaseAcquire(scope) => write!(
                f,
                "a release pattern after the first and an acquire pattern before the second, with scope `.{scope}`"
            ),
            Self::Strong(scope) => write!(
                f,
                "a strong access (`.relaxed.{scope}`) in place of the weak one, or {} in between",
                barrier(*scope)
            ),
            Self::Wider { needed, found } => {
                write!(f, "scope `.{needed}` of both instead of `.{found}`: the threads are not within that scope")
            }
            Self::AllArrive => {
                f.write_str("all threads of the CTA at the barrier, or the number of threads as its second operand")
            }
            Self::SameBarrier => {
                f.write_str("`barrier.sync` without `.aligned`, or one barrier that all threads of the warp reach")
            }
            Self::PlainLoad => f.write_str("a load without `.nc`, which is for memory that the kernel does not write"),
            Self::ProxyFenceOfReader => f.write_str(
                "a `fence.proxy.async` of the thread that reads, after the read, and a barrier after it; most GPUs do without the \
                 fence where there is a barrier",
            ),
            Self::ProxyFence => {
                f.write_str("a `fence.proxy.async` of the thread that accesses it first, and a barrier after it")
            }
            Self::TensorMapFence => f.write_str("`fence.proxy.tensormap::generic.acquire` of the map"),
            Self::GridWait => f.write_str(WAIT),
            Self::GridWaits => write!(f, "{WAIT}, and one in the grid in between, which has not waited either"),
            Self::Words(words) => f.write_str(words),
        }
    }
}

impl From<&str> for Remedy {
    fn from(words: &str) -> Self {
        Self::Words(words.to_owned())
    }
}

impl From<String> for Remedy {
    fn from(words: String) -> Self {
        Self::Words(words)
    }
}

/// Something that is wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Fault {
    /// What it is.
    pub kind: FaultKind,
    /// Where it was noticed; of a race, the access that came last in this execution.
    pub site: Site,
    /// Of a race, the access that came first; of others, what has to do with it.
    pub other: Option<Site>,
    /// Where in memory, where it is about that: a symbol or parameter and an offset in bytes, as `counter+4`.
    pub place: Option<String>,
    /// What is wrong, as a sentence without a full stop.
    pub message: String,
    /// What would have ordered the two, or what else can be done.
    pub help: Option<Remedy>,
    /// Facts that tell findings of a kind apart.
    pub detail: Detail,
}

impl Fault {
    /// Of a race: whether the two are ordered, but go through different proxies without a fence in between.
    pub fn lacks_fence(&self) -> bool {
        matches!(self.detail, Detail::Race(Race { lacks_fence: true, .. }))
    }

    /// Of a race of two accesses: these, in their order.
    pub fn race(&self) -> Option<Race> {
        match self.detail {
            Detail::Race(race) => Some(race),
            _ => None,
        }
    }
}

/// Facts that tell findings of a kind apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Detail {
    /// The kind says all.
    #[default]
    None,
    /// Two accesses that race, also of the same value.
    Race(Race),
    /// Registers of a `wgmma` that race with it.
    Registers,
    /// A tensor map that the kernel has made is used without an acquire of its proxy.
    TensorMap,
    /// The CTA whose memory is absent.
    Peer(Peer),
    /// Of a hang where everything waits at barriers or mbarriers: the events that do not come.
    Missing(Missing),
}

/// Two accesses that race.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Race {
    /// The kinds of both, in their order.
    pub accesses: [AccessType; 2],
    /// Whether the first is of an earlier grid.
    pub by_earlier_grid: bool,
    /// Whether the two are ordered, but go through different proxies without a fence in between.
    pub lacks_fence: bool,
}

/// The kind of an access.
#[derive(Clone, Copy, Debug, strum::Display, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum AccessType {
    /// An atomic operation.
    #[strum(serialize = "an atomic operation")]
    Atomic,
    /// A write.
    #[strum(serialize = "a write")]
    Write,
    /// A read.
    #[strum(serialize = "a read")]
    Read,
    /// A write of an asynchronous operation.
    #[strum(serialize = "an asynchronous write")]
    AsynchronousWrite,
    /// A read of an asynchronous operation.
    #[strum(serialize = "an asynchronous read")]
    AsynchronousRead,
}

/// A CTA of the cluster whose shared memory may be absent.
#[derive(Clone, Copy, Debug, strum::Display, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Peer {
    /// It may not have begun.
    #[strum(serialize = "may not have begun")]
    NotBegun,
    /// It has ended.
    #[strum(serialize = "has ended")]
    Ended,
}

/// The events that do not come where threads wait for ever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Missing {
    /// Arrivals: no mbarrier waits for bytes alone.
    Arrivals,
    /// Bytes of copies, at some mbarrier at which all have arrived.
    Bytes,
}

/// The kind of an instruction, as findings tell them apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum SiteKind {
    /// An asynchronous instruction.
    Asynchronous {
        /// The instruction.
        family: Family,
        /// Whether an mbarrier is among its operands.
        has_mbarrier: bool,
    },
    /// `mov`
    Move,
    /// Any other instruction.
    #[default]
    Other,
}

/// An instruction of a thread.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Site {
    /// The instruction of the module; on line 0 if there is none.
    pub at: InstPlace,
    /// The line of the source, as `.loc` says it.
    pub source: Option<SourceLine>,
    /// The kind of the instruction.
    pub kind: SiteKind,
    /// The instruction, without its operands: `ld.global.u32`; for display.
    pub instruction: String,
    /// The thread in its CTA.
    pub thread: Dim3,
    /// The CTA in its grid.
    pub cta: Dim3,
}

impl Site {
    /// The asynchronous instruction, if it is one.
    pub fn family(&self) -> Option<Family> {
        match self.kind {
            SiteKind::Asynchronous { family, .. } => Some(family),
            SiteKind::Move | SiteKind::Other => None,
        }
    }
}

impl Display for Site {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self { at, source, kind: _, instruction, thread, cta } = self;
        write!(f, "line {at}: {instruction} of thread {},{},{}", thread[0], thread[1], thread[2])?;
        write!(f, " of CTA {},{},{}", cta[0], cta[1], cta[2])?;
        source.as_ref().map_or(Ok(()), |source| write!(f, " ({source})"))
    }
}

impl Display for Fault {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.kind, self.message)
    }
}
