//! What the check finds.

use ptx_execute::Peer;
use ptx_isa::{InstPlace, Text};
use strum::{Display, EnumIter, EnumMessage, EnumString, IntoStaticStr};

use crate::cause::Cause;

/// What is known of one kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Report {
    /// In the order of the lines.
    pub findings: Vec<Hazard>,
    /// How many synchronizations there are: waits, fences, commits, arrivals, barriers.
    pub synchronizations: usize,
    /// How many of them are undecided: something possible or not checked is about them, or nothing says of which barrier they are.
    pub unchecked: usize,
    /// Whether the emergency stop has cut the check.
    pub is_stopped: bool,
}

impl Report {
    /// Without what is said twice: an instruction that comes to several places of memory says the same of each.
    #[must_use]
    pub fn distinct(mut self) -> Self {
        self.findings.dedup_by(|a, b| {
            (a.at, a.first, a.rule, a.claim, &a.message) == (b.at, b.first, b.rule, b.claim, &b.message)
        });
        self
    }
}

/// Something that is wrong, not known, or more than is needed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hazard {
    /// The kernel.
    pub kernel: String,
    /// The instruction at which it shows: the second of two accesses, or an instruction that is not needed.
    pub at: InstPlace,
    /// The first access.
    pub first: Option<InstPlace>,
    /// Which rule; none where nothing is known.
    pub rule: Option<Rule>,
    /// What is known.
    pub claim: Claim,
    /// The fault, or why it is not known.
    pub message: Text,
    /// Whether the two accesses are ordered, and lack a fence between proxies alone.
    pub lacks_fence: bool,
    /// Of an access to another CTA of the cluster: why its memory may be absent.
    pub peer: Option<Peer>,
    /// What would mend it.
    pub remedy: Option<Remedy>,
    /// Instructions between the two accesses that synchronize, in their order, with those of other threads where they take part. A litmus test
    /// is made of them.
    pub path: Vec<InstPlace>,
    /// What is not known, where that is why it cannot be told.
    pub cause: Option<Cause>,
    /// The other pairs of accesses of which the same is said.
    pub others: Vec<Pair>,
}

/// Two accesses, and the synchronization between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Pair {
    /// The second access, or an instruction that is wrong alone.
    pub at: InstPlace,
    /// The first access.
    pub first: Option<InstPlace>,
    /// The synchronization that it is about: the last one in front of the second access. Where there is none, this is what is missing, and
    /// the access stands for it.
    pub synchronization: InstPlace,
}

impl Pair {
    /// What is wrong alone.
    pub fn alone(at: InstPlace) -> Self {
        Self { at, first: None, synchronization: at }
    }
}

impl Hazard {
    /// A finding of one instruction, of which nothing more is said.
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

    /// The pair that it names.
    pub fn pair(&self) -> Pair {
        let synchronization = self.path.iter().rfind(|at| **at != self.at).copied().unwrap_or(self.at);
        Pair { at: self.at, first: self.first, synchronization }
    }

    /// All pairs of which it is said.
    pub fn pairs(&self) -> impl Iterator<Item = Pair> {
        [self.pair()].into_iter().chain(self.others.iter().copied())
    }
}

/// What is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Display, EnumString, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Claim {
    /// Something is missing.
    Wrong,
    /// It cannot be told.
    NotChecked,
    /// It is right, and more than is needed, or wider.
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
    /// What the tensor core does asynchronously is committed and waited for.
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
    /// What arrives on a barrier of another CTA does so at cluster scope.
    #[strum(message = "scope .cluster")]
    R8,
    /// A commit has the group of CTAs of what it commits.
    #[strum(message = "the same cta_group")]
    R9,
    /// An mbarrier is initialized for all before it is used, and ends after the last wait for it and before its memory is used again.
    #[strum(message = "fence.mbarrier_init")]
    R10,
    /// tcgen05.fence stands beside a synchronization that orders tensor memory.
    #[strum(message = "tcgen05.fence")]
    R11,
    /// A tensor map is fenced before it is used.
    #[strum(message = "fence.proxy.tensormap")]
    R12,
    /// Inline assembly declares that it orders or accesses memory.
    #[strum(message = "a clobber of memory")]
    R13,
    /// A grid that may start early waits for earlier ones before it accesses what they may access.
    #[strum(message = "griddepcontrol.wait")]
    R14,
    /// A CTA has started before others of its cluster access its memory, and does not end before they have done so.
    #[strum(message = "barrier.cluster")]
    R15,
    /// All threads that a barrier is for come to it.
    #[strum(message = "the barrier on every path")]
    R16,
}

impl Rule {
    /// Where the rule is from.
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

/// What would mend a finding.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Remedy {
    /// The remedy in words: "insert tcgen05.wait::ld.sync.aligned before line 7".
    pub help: String,
    /// The same as edits of the text; none where it takes more than an insertion.
    pub edits: Vec<Edit>,
    /// The same as an execution has it, where that alone shows the finding, or where no edit gives it.
    pub executed: Option<ptx_execute::Remedy>,
}

impl Remedy {
    /// A remedy in words alone.
    pub fn words(help: impl Into<String>) -> Self {
        Self { help: help.into(), edits: Vec::new(), executed: None }
    }
}

/// An instruction to be put in.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edit {
    /// The line next to which it stands.
    pub at: InstPlace,
    /// On which side.
    pub position: Position,
    /// The instruction, without its semicolon.
    pub instruction: String,
}

/// On which side of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Position {
    /// In front of it.
    Before,
    /// Behind it.
    After,
}
