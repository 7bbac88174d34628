//! What is rewritten, for which target, and by which conditions.

use std::str::FromStr;

use ptx_lowering::{Policy, Target};
use strum::{Display, EnumIter, EnumMessage, EnumString, IntoEnumIterator, IntoStaticStr};

/// A kind of rewrite, by the name that users choose it by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumIter, EnumMessage, EnumString, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
#[non_exhaustive]
pub enum Rewrite {
    /// See `rewrites/scope.rs`.
    #[strum(message = "no scope is wider than the threads that can take part")]
    Scope,
    /// See `rewrites/loops.rs`.
    #[strum(message = "a loop that only waits orders once, in front of it and behind it")]
    Loops,
    /// See `rewrites/fences.rs`.
    #[strum(message = "what a fence orders already is not ordered again")]
    Fences,
    /// See `rewrites/unseen.rs`.
    #[strum(message = "what no thread can see is not ordered")]
    Unseen,
    /// See `rewrites/writes.rs`.
    #[strum(message = "an expansion to a loop need not write what is there")]
    Writes,
}

/// A set of rewrites.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rewrites(u8);

impl Rewrites {
    /// None of them.
    pub const NONE: Self = Self(0);

    /// All of them.
    pub fn all() -> Self {
        Rewrite::iter().fold(Self::NONE, Self::with)
    }

    /// Those that add no instruction: all but [`Rewrite::Writes`], which pays only where threads contend.
    pub fn on() -> Self {
        Rewrite::iter().filter(|rewrite| *rewrite != Rewrite::Writes).fold(Self::NONE, Self::with)
    }

    /// One more.
    #[must_use]
    pub fn with(self, rewrite: Rewrite) -> Self {
        Self(self.0 | 1 << rewrite as u8)
    }

    /// One less.
    #[must_use]
    pub fn without(self, rewrite: Rewrite) -> Self {
        Self(self.0 & !(1 << rewrite as u8))
    }

    /// Whether the rewrite is among them.
    pub fn has(self, rewrite: Rewrite) -> bool {
        self.0 & (1 << rewrite as u8) != 0
    }
}

/// A name that is no rewrite.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown rewrite '{0}'; give on, all, off, or some of {known}", known = Rewrite::iter().map(Into::into).collect::<Vec<&str>>().join(", "))]
pub struct UnknownRewrite(String);

/// `on`, `all`, `off`, or names between commas or plus signs, of which those after a minus sign are taken from all: `scope+loops`,
/// `-writes`.
impl FromStr for Rewrites {
    type Err = UnknownRewrite;

    fn from_str(text: &str) -> Result<Self, UnknownRewrite> {
        match text {
            "on" => return Ok(Self::on()),
            "all" => return Ok(Self::all()),
            "off" => return Ok(Self::NONE),
            _ => {}
        }
        let mut rewrites = if text.starts_with('-') { Self::all() } else { Self::NONE };
        for name in text.split([',', '+']).map(str::trim) {
            let (taken, name) = name.strip_prefix('-').map_or((false, name), |name| (true, name));
            let rewrite: Rewrite = name.parse().map_err(|_| UnknownRewrite(name.to_owned()))?;
            rewrites = if taken { rewrites.without(rewrite) } else { rewrites.with(rewrite) };
        }
        Ok(rewrites)
    }
}

/// A condition under which rewrites are sound. The mapping check leaves out each, one by one, and must find a program that is
/// then wrong.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumIter, EnumMessage)]
#[strum(serialize_all = "kebab-case")]
#[non_exhaustive]
pub enum Condition {
    /// Of scopes: the scope has every thread that can name the location.
    #[strum(message = "the scope has every thread that can name the location")]
    Reach,
    /// Of scopes: the scope has every thread that takes part.
    #[strum(message = "the scope has every thread that takes part")]
    Within,
    /// Of scopes: a fence has every thread that can name a location that it orders by.
    #[strum(message = "a fence keeps the widest scope of the threads that can name the locations that it orders by")]
    Carriers,
    /// Of scopes: a sequentially consistent fence keeps its own.
    #[strum(message = "a sequentially consistent fence keeps its scope")]
    SeqCstFence,
    /// Of scopes: a sequentially consistent operation keeps its own.
    #[strum(message = "a sequentially consistent operation keeps its scope")]
    SeqCstOperation,
    /// Of loops: nothing but one location is accessed.
    #[strum(message = "the loop accesses one location alone")]
    OneLocation,
    /// Of loops: nothing but atomics of it.
    #[strum(message = "the loop has no access of plain data, no fence, no call")]
    OnlyAtomics,
    /// Of updates: one orders its own read and write.
    #[strum(message = "an update keeps its acquire and its release, which also order its own write and read")]
    OneUpdate,
    /// Of loops: no fence of a round is left out that orders earlier rounds.
    #[strum(message = "nothing in the loop is sequentially consistent")]
    NoSeqCst,
    /// Of loops: every path out has the fence.
    #[strum(message = "each path out of the loop that must acquire does")]
    EveryExit,
    /// Of loops: the fences have the widest scope of the operations.
    #[strum(message = "the fences at the loop have the widest scope of its operations")]
    WidestScope,
    /// Of fences: no atomic read lies between two acquires.
    #[strum(message = "no atomic read is left for the second acquire")]
    NoReadBetween,
    /// Of fences: no atomic write lies between two releases, if the second is to do for the first.
    #[strum(message = "no atomic write is left for the first release")]
    NoWriteBetween,
    /// Of fences: no access lies between two fences, if the first releases or the second acquires for both.
    #[strum(message = "no access lies between")]
    NoAccessBetween,
    /// Of fences: no fence of the other half lies between two.
    #[strum(message = "no release lies between two acquires, and no acquire between two releases")]
    NoOtherHalfBetween,
    /// Of fences: the one that stays is of the scope of the other.
    #[strum(message = "the fence that stays is of no narrower scope")]
    FenceScope,
    /// Of fences in whose place reads acquire: each of them does.
    #[strum(message = "every atomic read that the fence acquires for acquires itself")]
    EveryRead,
    /// Of fences: it is so on every path.
    #[strum(message = "it is so on every path")]
    EveryPath,
    /// Of fences: a sequentially consistent one does for others, not the other way round.
    #[strum(message = "only a sequentially consistent fence does for one")]
    SeqCstStays,
    /// Of kernels: only threads of the same grid are in the scope.
    #[strum(message = "the scope has threads of the grid alone")]
    OneGrid,
    /// Of kernels: a function that is called has what is around the call.
    #[strum(message = "the function is a kernel")]
    Kernel,
    /// Of CTAs of one thread: nothing may complete beside it.
    #[strum(message = "a thread alone in its CTA starts nothing that completes beside it")]
    NothingUnknown,
    /// Of loops that need not write: no release fence stands in front.
    #[strum(message = "no fence that releases stands in front")]
    NoReleaseFence,
}

/// What the optimizer works with.
#[derive(Clone, Copy, Debug)]
pub struct Options {
    /// What is rewritten.
    pub rewrites: Rewrites,
    /// How operations are lowered, which says what they cost.
    pub policy: Policy,
    /// For what.
    pub target: Target,
    /// Whether nobody but the threads of a grid accesses memory while it runs: no other grid, and no host.
    pub one_grid: bool,
    /// A condition that is taken for granted, to see that it matters. For the mapping check alone.
    #[doc(hidden)]
    pub without: Option<Condition>,
}

impl Options {
    /// All rewrites.
    pub fn new(policy: Policy, target: Target) -> Self {
        Self { rewrites: Rewrites::all(), policy, target, one_grid: false, without: None }
    }

    /// Whether a condition is met, or left out.
    pub(crate) fn met(&self, condition: Condition, is_met: bool) -> bool {
        is_met || self.without == Some(condition)
    }
}
