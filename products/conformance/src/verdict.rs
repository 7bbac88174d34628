//! What became of a function.

use ptx_judge::Loss;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumIter, EnumMessage, EnumString, IntoStaticStr};

/// What became of a function. The worst comes last.
#[derive(
    Clone,
    Copy,
    Debug,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Display,
    EnumIter,
    EnumMessage,
    EnumString,
    IntoStaticStr,
    Serialize,
    Deserialize,
)]
#[strum(serialize_all = "kebab-case")]
#[serde(rename_all = "kebab-case")]
pub enum Grade {
    /// The PTX keeps what the operation asks for.
    #[strum(message = "right")]
    Right,
    /// As [`Loss::Volatile`].
    #[strum(message = "volatile lost")]
    Volatile,
    /// As [`Loss::WeakLoadInLoop`].
    #[strum(message = "weak load in a loop")]
    WeakLoadInLoop,
    /// As [`Loss::Scope`].
    #[strum(message = "scope lost")]
    Scope,
    /// As [`Loss::Ordering`].
    #[strum(message = "ordering lost")]
    Ordering,
    /// As [`Loss::NotAtomic`].
    #[strum(message = "not atomic")]
    NotAtomic,
    /// As [`Loss::Effect`].
    #[strum(message = "other effect")]
    Effect,
    /// The memory or the result has not the value that the operation gives.
    #[strum(message = "wrong value")]
    Value,
    /// As [`Loss::Undefined`].
    #[strum(message = "undefined in PTX")]
    Undefined,
    /// As [`Loss::Missing`]; or the PTX has no function of this name.
    #[strum(message = "missing")]
    Missing,
    /// An assembler rejects the PTX.
    #[strum(message = "rejected by ptxas")]
    Rejected,
    /// What the compiler writes is no PTX.
    #[strum(message = "no PTX")]
    NoPtx,
    /// The compiler ends well, and writes nothing.
    #[strum(message = "no output")]
    NoOutput,
    /// The compiler writes more than anybody reads.
    #[strum(message = "endless output")]
    TooLong,
    /// The compiler fails.
    #[strum(message = "compiler error")]
    CompilerError,
    /// A signal ends the compiler.
    #[strum(message = "compiler crash")]
    Crash,
    /// The compiler does not end in time.
    #[strum(message = "compiler timeout")]
    Timeout,
}

/// A function beside what a baseline knows of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// It is right, and was.
    Right,
    /// It fails, and did no better before.
    Known,
    /// It is right, and failed before.
    Mended,
    /// It fails, and did better before, or nothing is known.
    Failure,
}

impl From<Loss> for Grade {
    fn from(loss: Loss) -> Self {
        match loss {
            Loss::Volatile => Self::Volatile,
            Loss::WeakLoadInLoop => Self::WeakLoadInLoop,
            Loss::Scope => Self::Scope,
            Loss::Ordering => Self::Ordering,
            Loss::NotAtomic => Self::NotAtomic,
            Loss::Effect => Self::Effect,
            Loss::Undefined => Self::Undefined,
            // It is the worst; one that this crate does not know yet is no better.
            _ => Self::Missing,
        }
    }
}

impl Grade {
    /// In words for people.
    pub fn message(self) -> &'static str {
        self.get_message().unwrap_or_default()
    }
}
