//! The verdicts on functions.

use ptx_judge::Loss;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumIter, EnumMessage, EnumString, IntoStaticStr};

/// The verdict on a function, from the best to the worst.
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
    /// The PTX keeps the semantics of the operation.
    #[strum(message = "right")]
    Right,
    /// The same as [`Loss::Volatile`].
    #[strum(message = "volatile lost")]
    Volatile,
    /// The same as [`Loss::WeakLoadInLoop`].
    #[strum(message = "weak load in a loop")]
    WeakLoadInLoop,
    /// The same as [`Loss::Scope`].
    #[strum(message = "scope lost")]
    Scope,
    /// The same as [`Loss::Ordering`].
    #[strum(message = "ordering lost")]
    Ordering,
    /// The same as [`Loss::NotAtomic`].
    #[strum(message = "not atomic")]
    NotAtomic,
    /// The same as [`Loss::Effect`].
    #[strum(message = "other effect")]
    Effect,
    /// The memory or the result has another value than the value of the operation.
    #[strum(message = "wrong value")]
    Value,
    /// The same as [`Loss::Undefined`].
    #[strum(message = "undefined in PTX")]
    Undefined,
    /// The same as [`Loss::Missing`]; or the PTX lacks the function.
    #[strum(message = "missing")]
    Missing,
    /// An assembler rejects the PTX.
    #[strum(message = "rejected by ptxas")]
    Rejected,
    /// The output of the compiler is not PTX.
    #[strum(message = "no PTX")]
    NoPtx,
    /// The compiler succeeds, and writes no output.
    #[strum(message = "no output")]
    NoOutput,
    /// The compiler writes more than the limit.
    #[strum(message = "endless output")]
    TooLong,
    /// The compiler fails.
    #[strum(message = "compiler error")]
    CompilerError,
    /// A signal ends the compiler.
    #[strum(message = "compiler crash")]
    Crash,
    /// The compiler exceeds the time limit.
    #[strum(message = "compiler timeout")]
    Timeout,
}

/// The verdict on a function, compared with the baseline.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Standing {
    /// The function is right, and was right before.
    Right,
    /// The function fails, and failed at least as badly before.
    Known,
    /// The function is right, and failed before.
    #[serde(rename = "mended")]
    Fixed,
    /// The function fails, and did better before, or the baseline lacks it.
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
            // An unknown loss counts as the worst known loss.
            _ => Self::Missing,
        }
    }
}

impl Grade {
    /// The verdict in words for users.
    pub fn message(self) -> &'static str {
        self.get_message().unwrap_or_default()
    }
}
