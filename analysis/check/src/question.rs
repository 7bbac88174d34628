//! The questions about a kernel.

use serde::{Deserialize, Serialize};
use strum::{Display, EnumIter, EnumString, IntoEnumIterator, IntoStaticStr, VariantNames};

/// A question about a kernel.
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
    EnumString,
    IntoStaticStr,
    VariantNames,
    Serialize,
    Deserialize,
)]
#[strum(serialize_all = "kebab-case")]
pub enum Question {
    /// Do the atomics and fences have the ordering and the scope of the IR from which the PTX was compiled?
    Order,
    /// Do asynchronous operations lack a wait, a proxy fence or an initialization?
    Async,
    /// Do two threads access the same memory without an ordering?
    Races,
    /// Do all threads that a barrier waits for reach it?
    Barriers,
}

impl Question {
    /// The question in a few words, for a summary.
    pub fn words(self) -> &'static str {
        match self {
            Self::Order => "order against the IR",
            Self::Async => "asynchronous operations",
            Self::Races => "data races",
            Self::Barriers => "barriers",
        }
    }
}

/// A set of questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Questions(u8);

impl Questions {
    /// Every question.
    pub const ALL: Self = Self(0b1111);

    /// Whether a question is in the set.
    pub fn has(self, question: Question) -> bool {
        self.0 & 1 << question as u8 != 0
    }

    /// The questions, in their order.
    pub fn iter(self) -> impl Iterator<Item = Question> {
        Question::iter().filter(move |question| self.has(*question))
    }
}

impl FromIterator<Question> for Questions {
    fn from_iter<I: IntoIterator<Item = Question>>(questions: I) -> Self {
        Self(questions.into_iter().fold(0, |all, question| all | 1 << question as u8))
    }
}
