//! The questions about asynchronous operations, multimem operations and restricted fences that the manual leaves open,
//! and their readings.

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
    /// A13
    MultimemAlias,
    /// A14
    MultimemAtOnce,
    /// A15
    RestrictedPattern,
}

/// The reading of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Reading {
    /// An order needs more.
    Strict,
    /// An order needs less.
    Lenient,
}

/// A question with its two readings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Question {
    /// Its short name.
    pub name: &'static str,
    /// The sections of the PTX ISA manual.
    pub sections: &'static str,
    /// The question.
    pub asked: &'static str,
    /// The answer in the strict reading.
    pub strict: &'static str,
    /// The answer in the lenient reading.
    pub lenient: &'static str,
}

/// The questions, in the order of [`Ambiguity`].
const QUESTIONS: [Question; 15] = [
    Question {
        name: "A1",
        sections: "8.9.1.1, 9.7.16.6.3",
        asked: "Does a tcgen05 operation start after the earlier instructions of its thread, as copies do?",
        strict: "it starts after instructions that a tcgen05.fence::after_thread_sync follows, and after synchronous tcgen05 instructions",
        lenient: "it starts after all of them",
    },
    Question {
        name: "A2",
        sections: "9.7.16.6.3",
        asked: "Is a tcgen05.fence needed where the thread releases or acquires?",
        strict: "it is needed with every synchronization",
        lenient: "a release is a fence::before_thread_sync, and an acquire is a fence::after_thread_sync",
    },
    Question {
        name: "A3",
        sections: "9.7.16.6.4.4",
        asked: "Is a tcgen05.fence::before_thread_sync needed between a tcgen05.wait and the synchronization with other threads?",
        strict: "it is needed, as in the canonical patterns",
        lenient: "the wait is enough: its operations are complete",
    },
    Question {
        name: "A4",
        sections: "9.7.16.6.2",
        asked: "Are a tcgen05.mma or tcgen05.cp and a later tcgen05.cp of the same thread pipelined?",
        strict: "they are not in the list",
        lenient: "they execute in their order",
    },
    Question {
        name: "A5",
        sections: "9.7.16.6.5",
        asked: "Is a completion that is observed through tcgen05.commit a proxy fence, as the completion of a bulk copy is?",
        strict: "a fence.proxy.async is needed before a generic access to the memory that was read",
        lenient: "it is a proxy fence",
    },
    Question {
        name: "A6",
        sections: "8.9.5, 9.7.13.5",
        asked: "Which thread executes a fence.proxy.async?",
        strict: "the thread of the generic access",
        lenient: "any thread on the path between the two accesses",
    },
    Question {
        name: "A7",
        sections: "8.9.5, 9.7.13.5",
        asked: "Does a synchronization without a proxy fence order a generic read before a write through the async proxy?",
        strict: "a proxy fence is needed, as for a write",
        lenient: "the synchronization is enough",
    },
    Question {
        name: "A8",
        sections: "8.9.5",
        asked: "Does causality order relate accesses through the async proxy that threads of different CTAs start?",
        strict: "it does so within one CTA",
        lenient: "it does so anywhere",
    },
    Question {
        name: "A9",
        sections: "9.7.16.6.1",
        asked: "Does tcgen05.dealloc wait for the tcgen05.ld of its thread?",
        strict: "a tcgen05.wait::ld is needed",
        lenient: "it waits for them",
    },
    Question {
        name: "A10",
        sections: "9.7.16.6.2",
        asked: "Is a tcgen05.mma pipelined with a later one that reads its accumulator as its operand?",
        strict: "only operations with the same accumulator are",
        lenient: "it is",
    },
    Question {
        name: "A11",
        sections: "9.7.16.6.2.1.1",
        asked: "Does the arrival of a tcgen05.commit release the thread's other memory operations?",
        strict: "it releases the tensor operations that it tracks",
        lenient: "it releases all earlier operations of the thread",
    },
    Question {
        name: "A12",
        sections: "9.7.16.6.2",
        asked: "Are two tcgen05.mma with different accumulators or shapes pipelined?",
        strict: "they are not",
        lenient: "they execute in their order",
    },
    Question {
        name: "A13",
        sections: "8.2.2, 8.2.3, 8.6",
        asked: "Is a multimem address an alias of the addresses of its replicas?",
        strict: "it is: its accesses are not morally strong with accesses at those addresses, and a fence.proxy.alias is needed between them",
        lenient: "a multimem access to a replica is an access at the replica's own address",
    },
    Question {
        name: "A14",
        sections: "8.2.3, 9.7.9.13",
        asked: "Does a multimem operation access all replicas at once?",
        strict: "it is a set of accesses in an unspecified order, like an operation on a vector",
        lenient: "its writes take effect at all replicas at once",
    },
    Question {
        name: "A15",
        sections: "8.8, 9.7.13.5",
        asked: "Does a fence with .sync_restrict form a pattern with an access outside of its state space?",
        strict: "it does so only with an access to that state space",
        lenient: "it does so with any access; the restriction concerns the operations before the release, or after the acquire",
    },
];

impl Ambiguity {
    /// The question.
    pub fn question(self) -> Question {
        QUESTIONS[self as usize]
    }

    /// The ambiguity with this short name (`A2`) or long name.
    pub fn named(name: &str) -> Option<Self> {
        name.parse().ok().or_else(|| Self::iter().find(|of| of.question().name.eq_ignore_ascii_case(name)))
    }
}

/// Reads `A2=strict`, or with the question's own name `fence-besides-release=strict`.
///
/// # Errors
/// If the question or the reading does not exist.
pub fn read(text: &str) -> Result<(Ambiguity, Reading), String> {
    let (of, reading) = text.split_once('=').unwrap_or((text, ""));
    let Some(of) = Ambiguity::named(of) else {
        let known = Ambiguity::iter().map(|of| format!("{} ({of})", of.question().name)).collect::<Vec<_>>();
        return Err(format!("unknown question '{of}'; the questions are {}", known.join(", ")));
    };
    let reading = reading.parse().map_err(|_| format!("expected strict or lenient, found '{reading}'"))?;
    Ok((of, reading))
}

/// The reading of each question.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Readings {
    /// The questions that are read leniently, as bits.
    lenient: u16,
    /// The rules that a test disables, as bits.
    without: u32,
}

/// A rule of the model. A test disables each rule to check that some verdict depends on it.
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
    /// The manual's text. Its rules do not need a fence after a `tcgen05.wait`, though its patterns have one.
    pub const STRICT: Self = Self { lenient: 0, without: 0 }.with(Ambiguity::FenceAfterWait, Reading::Lenient);

    /// The readings that libraries and compilers rely on.
    pub const DEFAULT: Self = Self::STRICT
        .with(Ambiguity::StartAfterEarlier, Reading::Lenient)
        .with(Ambiguity::FenceBesidesRelease, Reading::Lenient)
        .with(Ambiguity::CopyAfterMma, Reading::Lenient)
        .with(Ambiguity::ProxyFenceAfterCommit, Reading::Lenient)
        .with(Ambiguity::ProxyFenceAtWriter, Reading::Lenient)
        .with(Ambiguity::AsyncProxyOfOneCta, Reading::Lenient)
        .with(Ambiguity::MultimemAlias, Reading::Lenient)
        .with(Ambiguity::RestrictedPattern, Reading::Lenient);

    /// The same readings, except for one question.
    pub const fn with(self, of: Ambiguity, reading: Reading) -> Self {
        let bit = 1 << of as u16;
        match reading {
            Reading::Strict => Self { lenient: self.lenient & !bit, ..self },
            Reading::Lenient => Self { lenient: self.lenient | bit, ..self },
        }
    }

    /// The reading of a question.
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

    /// Whether the reading of a question is lenient.
    pub(crate) const fn is_lenient(self, of: Ambiguity) -> bool {
        self.lenient >> of as u16 & 1 != 0
    }
}

impl Default for Readings {
    fn default() -> Self {
        Self::DEFAULT
    }
}
