//! Where the manual leaves room about asynchronous operations, and how it is read.

use strum::{Display, EnumIter, EnumString, IntoEnumIterator, IntoStaticStr};

/// A question that the manual does not settle.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Ambiguity {
    /// A1
    StartAfterEarlier,
    /// A2
    FenceBesidesRelease,
    /// A3
    FenceAfterWait,
    /// A4
    CopyAfterMma,
    /// A5
    ProxyFenceAfterCommit,
    /// A6
    ProxyFenceAtWriter,
    /// A7
    ProxyFenceAfterRead,
    /// A8
    AsyncProxyOfOneCta,
    /// A9
    DeallocateAfterLoad,
    /// A10
    MmaOperandOfMma,
    /// A11
    CommitReleases,
    /// A12
    MmaOfOtherShape,
}

/// How a question is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Reading {
    /// More is needed for an order.
    Strict,
    /// Less is needed for an order.
    Lenient,
}

/// What is known of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// Its short name.
    pub name: &'static str,
    /// The sections of the PTX ISA manual.
    pub sections: &'static str,
    /// What is asked.
    pub asked: &'static str,
    /// The answer where more is needed.
    pub strict: &'static str,
    /// The answer where less is needed.
    pub lenient: &'static str,
}

impl Ambiguity {
    /// The question.
    pub fn question(self) -> Question {
        let (name, sections, asked, strict, lenient) = match self {
            Self::StartAfterEarlier => (
                "A1",
                "8.9.1.1, 9.7.16.6.3",
                "Does a tcgen05 operation start after the earlier instructions of its thread, as copies do?",
                "it starts after those behind which a tcgen05.fence::after_thread_sync stands, and after tcgen05 instructions that are synchronous",
                "it starts after all of them",
            ),
            Self::FenceBesidesRelease => (
                "A2",
                "9.7.16.6.3",
                "Is a tcgen05.fence needed where the thread releases or acquires?",
                "it is needed beside every synchronization",
                "a release is a fence::before_thread_sync, and an acquire is a fence::after_thread_sync",
            ),
            Self::FenceAfterWait => (
                "A3",
                "9.7.16.6.4.4",
                "Is a tcgen05.fence::before_thread_sync needed between a tcgen05.wait and what tells other threads?",
                "it is needed, as the canonical patterns have it",
                "the wait is enough: what it waited for is complete",
            ),
            Self::CopyAfterMma => (
                "A4",
                "9.7.16.6.2",
                "Are a tcgen05.mma or tcgen05.cp and a later tcgen05.cp of the same thread pipelined?",
                "they are not in the list",
                "they execute in their order",
            ),
            Self::ProxyFenceAfterCommit => (
                "A5",
                "9.7.16.6.5",
                "Is a completion that is observed through tcgen05.commit a proxy fence, as that of a copy in bulk is?",
                "a fence.proxy.async is needed before a generic access of what was read",
                "it is a proxy fence",
            ),
            Self::ProxyFenceAtWriter => (
                "A6",
                "8.9.5, 9.7.13.5",
                "In which thread stands a fence.proxy.async?",
                "in the thread of the generic access",
                "in any thread on the way from one access to the other",
            ),
            Self::ProxyFenceAfterRead => (
                "A7",
                "8.9.5, 9.7.13.5",
                "Does a synchronization without a proxy fence order a generic read before a write through the async proxy?",
                "a proxy fence is needed, as for a write",
                "the synchronization is enough",
            ),
            Self::AsyncProxyOfOneCta => (
                "A8",
                "8.9.5",
                "Does causality order relate accesses through the async proxy that threads of different CTAs start?",
                "it does so within one CTA",
                "it does so anywhere",
            ),
            Self::DeallocateAfterLoad => (
                "A9",
                "9.7.16.6.1",
                "Does tcgen05.dealloc wait for the tcgen05.ld of its thread?",
                "a tcgen05.wait::ld is needed",
                "it waits for them",
            ),
            Self::MmaOperandOfMma => (
                "A10",
                "9.7.16.6.2",
                "Is a tcgen05.mma pipelined with a later one that reads its accumulator as its operand?",
                "only those with the same accumulator are",
                "it is",
            ),
            Self::CommitReleases => (
                "A11",
                "9.7.16.6.2.1.1",
                "Does the arrival of a tcgen05.commit release the thread's other memory operations?",
                "it releases the tensor operations that it tracks",
                "it releases all that the thread did before",
            ),
            Self::MmaOfOtherShape => (
                "A12",
                "9.7.16.6.2",
                "Are two tcgen05.mma pipelined that have other accumulators or shapes?",
                "they are not",
                "they execute in their order",
            ),
        };
        Question { name, sections, asked, strict, lenient }
    }

    /// The question of a short name, or of its own.
    pub fn named(name: &str) -> Option<Self> {
        name.parse().ok().or_else(|| Self::iter().find(|of| of.question().name.eq_ignore_ascii_case(name)))
    }
}

/// Reads `A2=strict`, or with the question's own name `fence-besides-release=strict`.
///
/// # Errors
/// If there is no such question or reading.
pub fn read(text: &str) -> Result<(Ambiguity, Reading), String> {
    let (of, reading) = text.split_once('=').unwrap_or((text, ""));
    let Some(of) = Ambiguity::named(of) else {
        let known = Ambiguity::iter().map(|of| format!("{} ({of})", of.question().name)).collect::<Vec<_>>();
        return Err(format!("there is no question '{of}': {}", known.join(", ")));
    };
    let reading = reading.parse().map_err(|_| format!("'{reading}' is no reading: strict, lenient"))?;
    Ok((of, reading))
}

/// How each question is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Readings {
    /// Those that are read leniently, as bits.
    lenient: u16,
    /// The rules that are left out, as bits.
    without: u32,
}

/// A rule of the model, which a test leaves out to see that some verdict depends on it.
#[doc(hidden)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumIter)]
pub enum Rule {
    CopiesStart,
    TensorStarts,
    WgmmaStarts,
    Within,
    CompletesAlone,
    ReadsFirst,
    FenceBefore,
    Pipelines,
    TensorWaits,
    Commits,
    CommitsReads,
    CopySignals,
    Groups,
    GroupsRead,
    SignalsLater,
    MbarriersOrder,
    MbarriersSynchronize,
    StrongReads,
    InitFence,
    ImplicitProxyFence,
    AsyncFence,
    AsyncHalves,
    TensormapHalves,
    AsyncProxy,
    TensorCompletion,
    TensorPipeline,
}

impl Readings {
    /// The manual's text. Its rules need no fence behind a `tcgen05.wait`, though its patterns have one.
    pub const STRICT: Self = Self { lenient: 0, without: 0 }.with(Ambiguity::FenceAfterWait, Reading::Lenient);

    /// What libraries and compilers rely on.
    pub const DEFAULT: Self = Self::STRICT
        .with(Ambiguity::StartAfterEarlier, Reading::Lenient)
        .with(Ambiguity::FenceBesidesRelease, Reading::Lenient)
        .with(Ambiguity::CopyAfterMma, Reading::Lenient)
        .with(Ambiguity::ProxyFenceAfterCommit, Reading::Lenient)
        .with(Ambiguity::ProxyFenceAtWriter, Reading::Lenient)
        .with(Ambiguity::AsyncProxyOfOneCta, Reading::Lenient);

    /// The same but for one question.
    pub const fn with(self, of: Ambiguity, reading: Reading) -> Self {
        let bit = 1 << of as u16;
        match reading {
            Reading::Strict => Self { lenient: self.lenient & !bit, ..self },
            Reading::Lenient => Self { lenient: self.lenient | bit, ..self },
        }
    }

    /// How a question is read.
    pub const fn reading(self, of: Ambiguity) -> Reading {
        if self.is_lenient(of) { Reading::Lenient } else { Reading::Strict }
    }

    /// The same model without one of its rules.
    #[doc(hidden)]
    pub const fn without(self, rule: Rule) -> Self {
        Self { without: self.without | 1 << rule as u32, ..self }
    }

    pub(crate) const fn has(self, rule: Rule) -> bool {
        self.without >> rule as u32 & 1 == 0
    }

    /// Whether less is needed.
    pub(crate) const fn is_lenient(self, of: Ambiguity) -> bool {
        self.lenient >> of as u16 & 1 != 0
    }
}

impl Default for Readings {
    fn default() -> Self {
        Self::DEFAULT
    }
}
