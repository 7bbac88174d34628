//! The report of a run: its findings, its output and its cost.

use std::fmt::{self, Display, Formatter};

use ptx_isa::{Dim3, Family, InstPlace, Scope, SourceLine};

use crate::footprint::Footprint;

/// The result of a launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The findings, in the order in which they were found. Each pair of lines is reported once.
    pub findings: Vec<Fault>,
    /// The output of the kernel.
    pub printed: String,
    /// Results that are not computed as a GPU computes them. Each note is listed once.
    pub notes: Vec<Note>,
    /// The number of instructions that threads have executed.
    pub steps: u64,
    /// The number of instructions that warps have executed.
    pub time: u64,
    /// The work of the run, in warp instructions. The cost of a strong access grows with the number of threads. A limit
    /// on this work bounds a run on each machine in the same way.
    pub work: u64,
    /// The number of findings that repeat a listed finding.
    pub repeated: u64,
    /// The instructions that were executed, ascending, if [`RunOptions::coverage`](crate::RunOptions::coverage) is set.
    pub executed: Vec<InstPlace>,
    /// The accesses of global memory, if [`RunOptions::footprint`](crate::RunOptions::footprint) is set.
    pub footprint: Footprint,
    /// Whether the report is about every schedule of the launch, or about this one.
    pub schedules: Schedules,
}

/// Whether a report is about every schedule of its launch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Schedules {
    /// The machine did not look for races, and knows nothing about other schedules.
    #[default]
    Unknown,
    /// Every schedule of this launch has the same happens-before order, and ends as this one does. With a lag, only
    /// schedules in which the warp of the lag is not late by a whole phase end.
    Determinate {
        /// A wait of a thread that does nothing but wait, whose next phase can end before it.
        lag: Option<Box<Dependence>>,
    },
    /// Another schedule may differ.
    Dependent(Box<Dependence>),
}

/// The first reason why another schedule may differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dependence {
    /// The condition that fails.
    pub condition: Condition,
    /// The instruction at which it fails.
    pub site: Option<Site>,
    /// A related instruction: for a value, the instruction that it steers.
    pub other: Option<Site>,
}

/// A condition of a determinate execution that does not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Condition {
    /// Two accesses race.
    Race,
    /// An access may race with one of many accesses whose threads alone are remembered.
    ManyThreads,
    /// A value that depends on the schedule steers an instruction.
    Steered(Pattern),
    /// A value that depends on the schedule reaches an instruction through which the machine follows no value.
    NotFollowed,
    /// Only a value that a thread read by a strong access, or the order of `fence.sc`, orders two events.
    OrderedByValue,
    /// A grid that may run at the same time accesses the same memory by strong accesses.
    EarlierGrid,
    /// The next phase of an mbarrier can end before a wait has observed the end of a phase.
    Lapped,
    /// A wait for a phase of an mbarrier can end at the phase two before it, which has the same parity.
    EarlyWait,
    /// An arrival at an mbarrier, or bytes of an operation, can come in the phase before their phase.
    EarlyArrival,
    /// A phase of an mbarrier can end before the bytes of an operation are expected in it.
    LateExpectation,
    /// A thread waits at another mbarrier, or for another phase, after the answer no than after the answer yes.
    OtherWait,
    /// Other threads can arrive at a named barrier in the same generation.
    Participants,
    /// Below sm_70, another order of the paths of a warp could end a loop that never ends.
    LockStep,
    /// The run did not reach its end.
    Unfinished,
}

/// The way in which a value depends on the schedule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Pattern {
    /// A loop reads until another thread writes.
    Flag,
    /// A thread takes a lock by `atom.cas` or `atom.exch`.
    Lock,
    /// A thread takes a number by `atom.add` or `atom.inc`: the number of a slot, of a work item, or of the last CTA.
    Ticket,
    /// Another result of an atomic operation or of a strong load.
    Value,
    /// A value of memory that atomic operations wrote in the order of the schedule.
    Memory,
    /// A value of an access that races.
    Race,
    /// The time, the processor, or the active threads of a warp.
    Machine,
    /// The answer of a wait for an mbarrier.
    Answer,
}

impl Schedules {
    /// Whether the report is about every schedule.
    pub fn is_determinate(&self) -> bool {
        matches!(self, Self::Determinate { .. })
    }
}

impl Display for Dependence {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let at = |site: &Option<Site>| match site {
            Some(site) => format!("`{}` at line {}", site.instruction, site.at.line),
            None => "an instruction".to_owned(),
        };
        let thread = match &self.site {
            Some(Site { thread: [x, y, z], cta: [a, b, c], .. }) => {
                format!("thread {x},{y},{z} of CTA {a},{b},{c}")
            }
            None => "a thread".to_owned(),
        };
        let (site, other) = (at(&self.site), at(&self.other));
        match self.condition {
            Condition::Race => write!(f, "{other} and {site} of {thread} race"),
            Condition::ManyThreads => {
                write!(
                    f,
                    "{site} may race with one of many threads' accesses, of which the machine remembers only the threads"
                )
            }
            Condition::Steered(pattern) => {
                let value = match pattern {
                    Pattern::Flag => "the flag that it reads in a loop by",
                    Pattern::Lock => "the lock that it takes by",
                    Pattern::Ticket => "the number that it takes by",
                    Pattern::Value => "the result of",
                    Pattern::Memory => "a value that atomic operations wrote in the order of the schedule, read by",
                    Pattern::Race => "a value of a race, read by",
                    Pattern::Machine => "the state of the GPU, read by",
                    Pattern::Answer => "the answer of",
                };
                write!(f, "{other} of {thread} depends on {value} {site}")
            }
            Condition::NotFollowed => {
                write!(f, "{site} reads a value that depends on the order of atomic operations")
            }
            Condition::OrderedByValue => {
                write!(
                    f,
                    "{site} of {thread} orders events of other threads before it, and the order depends on the schedule"
                )
            }
            Condition::EarlierGrid => write!(f, "{site} and an earlier grid access the same memory by strong accesses"),
            Condition::Lapped => {
                write!(f, "the phase after the phase for which {thread} waits by {site} can end before the wait")
            }
            Condition::EarlyWait => {
                write!(f, "the wait of {thread} by {site} can end at an earlier phase of the same parity")
            }
            Condition::EarlyArrival => {
                write!(f, "{site} of {thread} can arrive before the end of the phase before its phase")
            }
            Condition::LateExpectation => {
                write!(f, "the phase can end before {thread} expects bytes or an arrival in it by {site}")
            }
            Condition::OtherWait => {
                write!(f, "{thread} waits by {other} for another phase than by {site}, whose answer may be no")
            }
            Condition::Participants => {
                write!(f, "other threads than {thread}, which arrives by {site}, can complete the barrier")
            }
            Condition::LockStep => {
                write!(f, "the paths of the warp of {thread} after {site} could run in another order")
            }
            Condition::Unfinished => write!(f, "the run did not reach its end"),
        }
    }
}

/// An instruction that the machine executes differently from a GPU.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Note {
    /// The line of PTX, from 1.
    pub line: u32,
    /// The difference.
    pub what: String,
}

/// The kind of a finding.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, strum::Display, strum::EnumString, strum::EnumIter,
)]
#[strum(serialize_all = "kebab-case")]
#[non_exhaustive]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum FaultKind {
    /// Two accesses conflict, are not both strong, and nothing orders them (section 8.10 of the manual).
    Race,
    /// Like `Race`, for stores that write the same value.
    SameValue,
    /// A barrier opens without threads that it should have waited for.
    DivergentBarrier,
    /// The threads of a warp are at different instructions that all of them must execute together.
    DivergentWarp,
    /// The threads of a warpgroup do not all execute the same `setmaxnreg`.
    Setmaxnreg,
    /// A barrier or an mbarrier has a count that does not fit.
    BarrierCount,
    /// Threads wait for an event that cannot come.
    Hang,
    /// A read of uninitialized memory.
    Uninitialized,
    /// An access is outside of all memory.
    OutOfBounds,
    /// An address is not a multiple of the size of the access.
    Misaligned,
    /// Tensor memory is not freed.
    TensorMemory,
    /// An instruction is used in a way that the manual forbids.
    Misuse,
    /// A CTA ends while an asynchronous operation may still read its shared memory.
    Unfinished,
    /// An access of the shared memory of a CTA that may not have begun, or has ended.
    Absent,
    /// The next phase of an mbarrier can end before a thread has observed the end of the phase for which it waits.
    Lapped,
    /// The kernel stopped itself: `trap`, a failed assertion, a panic.
    Trap,
    /// A thread executed more instructions than the limit.
    StepLimit,
    /// The machine does not have the instruction.
    Unsupported,
}

impl FaultKind {
    /// Whether the finding ends the run.
    pub fn ends(self) -> bool {
        matches!(self, Self::Hang | Self::Trap | Self::StepLimit | Self::Unsupported)
    }

    /// Whether the finding is only a warning: a run with no other findings does not fail.
    pub fn is_warning(self) -> bool {
        matches!(self, Self::SameValue)
    }
}

/// An order for two accesses, or another remedy. It is displayed in terms of PTX.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Remedy {
    /// A barrier of the CTA or of the cluster between the two, or a release and an acquire of this scope.
    Barrier(Scope),
    /// A release pattern after the first and an acquire pattern before the second, since no barrier has this scope.
    ReleaseAcquire(Scope),
    /// A strong access of this scope instead of the weak one, or an order for weak accesses.
    Strong(Scope),
    /// A wider scope of both strong accesses than the scope `found`.
    Wider { needed: Scope, found: Scope },
    /// All threads of the CTA at a barrier, which some do not reach.
    AllArrive,
    /// The same barrier for all threads of a warp, which wait at two barriers.
    SameBarrier,
    /// A load that is not `.nc`, since the kernel writes the memory.
    PlainLoad,
    /// A fence of the async proxy by the thread that reads first, and a barrier.
    ProxyFenceOfReader,
    /// A fence of the async proxy by the thread that writes first.
    ProxyFence,
    /// A fence of a tensor map that was changed, before its use.
    TensorMapFence,
    /// A wait for the grids before this one.
    GridWait,
    /// A wait for the grids before this one, in this grid and in the grid in between.
    GridWaits,
    /// Any other remedy, in terms of PTX.
    Words(String),
}

/// The remedy that orders the accesses of earlier grids before the accesses of a dependent grid.
const WAIT: &str =
    "add `griddepcontrol.wait` before the access, in its thread or in a thread that a barrier orders before it";

impl Display for Remedy {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let barrier = |scope: Scope| match scope {
            Scope::Cta => "`bar.sync` of all threads of the CTA",
            Scope::Cluster => "`barrier.cluster.arrive` and `.wait`",
            Scope::Gpu | Scope::Sys => "a release and an acquire (PTX has no barrier of the grid)",
        };
        match self {
            Self::Barrier(scope) => {
                write!(f, "add {} in between, or a release and an acquire with scope `.{scope}`", barrier(*scope))
            }
            Self::ReleaseAcquire(scope) => write!(
                f,
                "add a release pattern after the first and an acquire pattern before the second access, with scope `.{scope}`"
            ),
            Self::Strong(scope) => write!(
                f,
                "make the weak access strong (`.relaxed.{scope}`), or add {} in between",
                barrier(*scope)
            ),
            Self::Wider { needed, found } => {
                write!(f, "give both accesses scope `.{needed}`: the threads are not within scope `.{found}`")
            }
            Self::AllArrive => {
                f.write_str("let all threads of the CTA reach the barrier, or give the number of threads as its second operand")
            }
            Self::SameBarrier => {
                f.write_str("use `barrier.sync` without `.aligned`, or one barrier that all threads of the warp reach")
            }
            Self::PlainLoad => f.write_str("use a load without `.nc`, which is for memory that the kernel does not write"),
            Self::ProxyFenceOfReader => f.write_str(
                "add `fence.proxy.async` in the thread that reads, after the read, and a barrier after it; most GPUs need no fence where there is a barrier",
            ),
            Self::ProxyFence => {
                f.write_str("add `fence.proxy.async` in the thread that accesses it first, and a barrier after it")
            }
            Self::TensorMapFence => f.write_str("add `fence.proxy.tensormap::generic.acquire` of the map"),
            Self::GridWait => f.write_str(WAIT),
            Self::GridWaits => write!(f, "{WAIT}, and in the grid in between, which has not waited either"),
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

/// A finding.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Fault {
    /// The kind of the finding.
    pub kind: FaultKind,
    /// The site of the finding. For a race, the access that came last in this execution.
    pub site: Site,
    /// For a race, the access that came first. For other kinds, a related site.
    pub other: Option<Site>,
    /// The memory, if the finding is about memory: a symbol or parameter and an offset in bytes, such as `counter+4`.
    pub place: Option<String>,
    /// The finding, as a sentence without a full stop.
    pub message: String,
    /// The remedy.
    pub help: Option<Remedy>,
    /// Facts that distinguish findings of a kind.
    pub detail: Detail,
}

impl Fault {
    /// Whether the finding is a race whose accesses are ordered, but go through different proxies without a fence in
    /// between.
    pub fn lacks_fence(&self) -> bool {
        matches!(self.detail, Detail::Race(Race { lacks_fence: true, .. }))
    }

    /// The two accesses of a race, in their order.
    pub fn race(&self) -> Option<Race> {
        match self.detail {
            Detail::Race(race) => Some(race),
            _ => None,
        }
    }
}

/// Facts that distinguish findings of a kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Detail {
    /// The kind is sufficient.
    #[default]
    None,
    /// Two accesses that race, also if they write the same value.
    Race(Race),
    /// Registers of a `wgmma` that race with it.
    Registers,
    /// A tensor map that the kernel has made is used without an acquire of its proxy.
    TensorMap,
    /// The CTA whose memory is absent.
    Peer(Peer),
    /// A failed assertion.
    Assertion,
    /// For a hang in which all threads wait at barriers or mbarriers: the missing events.
    Missing(Missing),
    /// For a hang below sm_70: lanes of the warp wait until the thread leaves its loop.
    LockStep,
}

/// Two accesses that race.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Race {
    /// The kinds of both accesses, in their order.
    pub accesses: [AccessType; 2],
    /// Whether the first access belongs to an earlier grid.
    pub by_earlier_grid: bool,
    /// Whether the two accesses are ordered, but go through different proxies without a fence in between.
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
    /// The CTA may not have begun.
    #[strum(serialize = "may not have begun")]
    NotBegun,
    /// The CTA has ended.
    #[strum(serialize = "has ended")]
    Ended,
}

/// The events that do not come when threads wait forever.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Missing {
    /// Arrivals: no mbarrier waits for bytes alone.
    Arrivals,
    /// Bytes of copies, at an mbarrier at which all threads have arrived.
    Bytes,
}

/// The kind of an instruction, as findings distinguish it.
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
    /// The instruction of the module. A site without an instruction has line 0.
    pub at: InstPlace,
    /// The line of the source, according to `.loc`.
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
