//! The losses that an operation can suffer.

use std::fmt;

use strum::{Display, EnumIter, EnumMessage, EnumString, IntoStaticStr};

/// A property that an operation requires and its PTX does not keep. The worst comes last.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Display, EnumIter, EnumMessage, EnumString, IntoStaticStr,
)]
#[strum(serialize_all = "kebab-case")]
#[non_exhaustive]
pub enum Loss {
    /// A volatile access is not `.volatile`.
    #[strum(message = "volatile lost")]
    Volatile,
    /// The load before a compare-and-swap loop is weak, and so races with the writes of other threads.
    #[strum(message = "weak load in a loop")]
    WeakLoadInLoop,
    /// A guarantee holds for fewer threads than the scope names.
    #[strum(message = "scope lost")]
    Scope,
    /// Acquire, release or sequential consistency is not kept at any scope.
    #[strum(message = "ordering lost")]
    Ordering,
    /// The access is weak, of another width, or more than one access.
    #[strum(message = "not atomic")]
    NotAtomic,
    /// Memory is accessed more often than by the operation, or other memory is accessed.
    #[strum(message = "other effect")]
    Effect,
    /// PTX does not define the instruction on this memory.
    #[strum(message = "undefined in PTX")]
    Undefined,
    /// No instruction implements the operation.
    #[strum(message = "missing")]
    Missing,
}

/// One loss of one operation, with the reason in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// The property that is lost.
    pub loss: Loss,
    /// The reason, for users: `no acquire`, `an access of scope cta, not gpu`.
    pub reason: String,
}

impl Violation {
    pub(crate) fn new(loss: Loss, reason: impl Into<String>) -> Self {
        Self { loss, reason: reason.into() }
    }
}

impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.reason)
    }
}
