//! The findings of the check.

use ptx_execute::Peer;
use ptx_isa::{InstPlace, Text};
use strum::{Display, EnumIter, EnumMessage, EnumString, IntoStaticStr};

use crate::cause::Cause;

/// The result of the check of one kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// The findings, in the order of their lines.
    pub findings: Vec<Hazard>,
    /// The number of synchronizations: waits, fences, commits, arrivals, barriers.
    pub synchronizations: usize,
    /// The number of undecided synchronizations: a possible or unchecked finding is about them, or their barrier is
    /// unknown.
    pub unchecked: usize,
    /// Whether the emergency stop has cut the check.
    pub is_stopped: bool,
}

impl Report {
    /// Drops repeated findings: an instruction that accesses several places in memory reports the same for each.
    #[must_use]
    pub fn distinct(mut self) -> Self {
        self.findings.dedup_by(|a, b| {
            (a.at, a.first, a.rule, a.claim, &a.message) == (b.at, b.first, b.rule, b.claim, &b.message)
        });
        self
    }
}

/// A fault, an undecided question, or an operation that is stronger than needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hazard {
    /// The kernel.
    pub kernel: String,
    /// The instruction of the finding: the second of two accesses, or an instruction that is not needed.
    pub at: InstPlace,
    /// The first access.
    pub first: Option<InstPlace>,
    /// The rule; `None` if nothing is known.
    pub rule: Option<Rule>,
    /// The kind of the claim.
    pub claim: Claim,
    /// The fault, or the reason why it is unknown.
    pub message: Text,
    /// Whether the two accesses are ordered, and lack only a fence between proxies.
    pub lacks_fence: bool,
    /// For an access to another CTA of the cluster: the reason why its memory may be absent.
    pub peer: Option<Peer>,
    /// The remedy.
    pub remedy: Option<Remedy>,
    /// The synchronizing instructions between the two accesses, in order, with the instructions of other threads if
    /// they take part. A litmus test is made of them.
    pub path: Vec<InstPlace>,
    /// The unknown fact, if that is the reason why the finding is undecided.
    pub cause: Option<Cause>,
    /// The other pairs of accesses that the finding is about.
    pub others: Vec<Pair>,
}

/// Two accesses, and the synchronization between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair {
    /// The second access, or an instruction that is a fault by itself.
    pub at: InstPlace,
    /// The first access.
    pub first: Option<InstPlace>,
    /// The synchronization that the finding is about: the last one before the second access. If there is none, the
    /// access itself stands for the missing one.
    pub synchronization: InstPlace,
}

impl Pair {
    /// A fault of a single instruction.
    pub fn alone(at: InstPlace) -> Self {
        Self { at, first: None, synchronization: at }
    }
}

impl Hazard {
    /// A finding about one instruction, without further details.
    pub fn new(kernel: &str, at: InstPlace, claim: Claim, message: impl Into<Text>) -> Self {
        Self {
            kernel: kernel.to_owned(),
            at,
            first: None,
            rule: None,
            claim,
            message: message.into(),
            lacks_fence: false,
            peer: None,
            remedy: None,
            path: Vec::new(),
            cause: None,
            others: Vec::new(),
        }
    }

    /// The main pair of the finding.
    pub fn pair(&self) -> Pair {
        let synchronization = self.path.iter().rfind(|at| **at != self.at).copied().unwrap_or(self.at);
        Pair { at: self.at, first: self.first, synchronization }
    }

    /// All pairs that the finding is about.
    pub fn pairs(&self) -> impl Iterator<Item = Pair> {
        [self.pair()].into_iter().chain(self.others.iter().copied())
    }
}

/// The kind of a claim.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Display, EnumString, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Claim {
    /// A fault: something is missing.
    Wrong,
    /// The question is undecided.
    NotChecked,
    /// Correct, but more or wider than needed.
    Note,
}

/// The rules.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Display, EnumIter, EnumMessage, EnumString, IntoStaticStr,
)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub enum Rule {
    /// A load of tensor memory is waited for before its columns change.
    #[strum(message = "tcgen05.wait::ld")]
    R1,
    /// A store to tensor memory is waited for before its columns are used.
    #[strum(message = "tcgen05.wait::st")]
    R2,
    /// Asynchronous operations of the tensor core are committed and waited for.
    #[strum(message = "tcgen05.commit and a wait")]
    R3,
    /// Accesses through the generic and the async proxy have a proxy fence between them.
    #[strum(message = "fence.proxy.async")]
    R4,
    /// Registers of a wgmma are fenced.
    #[strum(message = "wgmma.fence")]
    R5,
    /// Tensor memory is freed.
    #[strum(message = "tcgen05.dealloc")]
    R6,
    /// A copy is waited for before its memory is used, and a wgmma before its registers are.
    #[strum(message = "a wait for the copy")]
    R7,
    /// An arrival on a barrier of another CTA has cluster scope.
    #[strum(message = "scope .cluster")]
    R8,
    /// A commit has the same group of CTAs as the operations that it commits.
    #[strum(message = "the same cta_group")]
    R9,
    /// Threads use an mbarrier after its initialization is visible, and reuse its memory after its invalidation.
    #[strum(message = "fence.mbarrier_init")]
    R10,
    /// A tcgen05.fence accompanies each synchronization that orders tensor memory.
    #[strum(message = "tcgen05.fence")]
    R11,
    /// A tensor map is fenced before it is used.
    #[strum(message = "fence.proxy.tensormap")]
    R12,
    /// Inline assembly declares that it orders or accesses memory.
    #[strum(message = "a clobber of memory")]
    R13,
    /// A grid that may start early waits for earlier grids before it accesses memory that they may access.
    #[strum(message = "griddepcontrol.wait")]
    R14,
    /// A CTA starts before other CTAs of its cluster access its memory, and ends after these accesses.
    #[strum(message = "barrier.cluster")]
    R15,
    /// All threads that a barrier counts reach it.
    #[strum(message = "the barrier on every path")]
    R16,
}

impl Rule {
    /// The source of the rule.
    pub fn source(self) -> String {
        match self {
            Self::R13 => "'Inline PTX Assembly in CUDA', 'Incorrect Optimization'".to_owned(),
            _ => format!("section {} of the PTX manual", self.section()),
        }
    }

    /// The section of the PTX ISA manual.
    fn section(self) -> &'static str {
        match self {
            Self::R1 | Self::R2 => "9.7.16.6.2.1.2",
            Self::R3 | Self::R9 => "9.7.16.6.2.1.1",
            Self::R4 => "8.9.5",
            Self::R5 => "9.7.15.7",
            Self::R6 => "9.7.16.1",
            Self::R7 => "9.7.9.25",
            Self::R8 => "9.7.13.15",
            Self::R10 | Self::R12 => "9.7.13.5",
            Self::R11 => "9.7.16.6.3",
            Self::R13 => "",
            Self::R14 => "9.7.13.13",
            Self::R15 => "9.7.13.3",
            Self::R16 => "9.7.13.1",
        }
    }
}

/// The remedy of a finding.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Remedy {
    /// The remedy in words: "insert tcgen05.wait::ld.sync.aligned before line 7".
    pub help: String,
    /// The same as edits of the text; empty if it takes more than an insertion.
    pub edits: Vec<Edit>,
    /// The remedy that an execution found, if only an execution shows the finding, or if no edit expresses it.
    pub executed: Option<ptx_execute::Remedy>,
}

impl Remedy {
    /// A remedy that has only words.
    pub fn words(help: impl Into<String>) -> Self {
        Self { help: help.into(), edits: Vec::new(), executed: None }
    }
}

/// The insertion of an instruction.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edit {
    /// The line next to which the instruction is inserted.
    pub at: InstPlace,
    /// The side of the line.
    pub position: Position,
    /// The instruction, without its semicolon.
    pub instruction: String,
}

/// A side of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Position {
    /// Before the line.
    Before,
    /// After the line.
    After,
}
