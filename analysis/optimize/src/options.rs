//! The options of the optimizer: rewrites, target, and conditions.

use std::str::FromStr;

use ptx_lowering::{Policy, Target};
use strum::{Display, EnumIter, EnumMessage, EnumString, IntoEnumIterator, IntoStaticStr};

/// A kind of rewrite, by its user-visible name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumIter, EnumMessage, EnumString, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
#[non_exhaustive]
pub enum Rewrite {
    /// See `rewrites/scope.rs`.
    #[strum(message = "no scope is wider than the threads that can take part")]
    Scope,
    /// See `rewrites/loops.rs`.
    #[strum(message = "a loop that only waits orders once, before and after the loop")]
    Loops,
    /// See `rewrites/fences.rs`.
    #[strum(message = "an access that a fence orders is not ordered again")]
    Fences,
    /// See `rewrites/unseen.rs`.
    #[strum(message = "an access that no thread can observe is not ordered")]
    Unseen,
    /// See `rewrites/writes.rs`.
    #[strum(message = "an expansion to a loop need not write an unchanged value")]
    Writes,
}

/// A set of rewrites.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Rewrites(u8);

impl Rewrites {
    /// The empty set.
    pub const NONE: Self = Self(0);

    /// The set of all rewrites.
    pub fn all() -> Self {
        Rewrite::iter().fold(Self::NONE, Self::with)
    }

    /// The rewrites that add no instruction: all except [`Rewrite::Writes`], which pays only under contention.
    pub fn on() -> Self {
        Rewrite::iter().filter(|rewrite| *rewrite != Rewrite::Writes).fold(Self::NONE, Self::with)
    }

    /// Adds a rewrite.
    #[must_use]
    pub fn with(self, rewrite: Rewrite) -> Self {
        Self(self.0 | 1 << rewrite as u8)
    }

    /// Removes a rewrite.
    #[must_use]
    pub fn without(self, rewrite: Rewrite) -> Self {
        Self(self.0 & !(1 << rewrite as u8))
    }

    /// Whether the set contains a rewrite.
    pub fn has(self, rewrite: Rewrite) -> bool {
        self.0 & (1 << rewrite as u8) != 0
    }
}

/// A name that does not denote a rewrite.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown rewrite '{0}'; give on, all, off, or some of {known}", known = Rewrite::iter().map(Into::into).collect::<Vec<&str>>().join(", "))]
pub struct UnknownRewrite(String);

/// Parses `on`, `all`, `off`, or names separated by commas or plus signs; names after a minus sign are removed from
/// `all`: `scope+loops`, `-writes`.
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

/// A condition under which rewrites are sound. The mapping check drops each condition in turn, and must then find a
/// program that a rewrite breaks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumIter, EnumMessage)]
#[strum(serialize_all = "kebab-case")]
#[non_exhaustive]
pub enum Condition {
    /// For scopes: the scope includes every thread that can access the location.
    #[strum(message = "the scope has every thread that can access the location")]
    Reach,
    /// For scopes: the scope includes every thread that takes part.
    #[strum(message = "the scope has every thread that takes part")]
    Within,
    /// For scopes: the scope of a fence includes every thread that can access a location that the fence orders by.
    #[strum(message = "a fence keeps the widest scope of the threads that can access the locations that it orders by")]
    Carriers,
    /// For scopes: a sequentially consistent fence keeps its scope.
    #[strum(message = "a sequentially consistent fence keeps its scope")]
    SeqCstFence,
    /// For scopes: a sequentially consistent operation keeps its scope.
    #[strum(message = "a sequentially consistent operation keeps its scope")]
    SeqCstOperation,
    /// For loops: only one location is accessed.
    #[strum(message = "the loop accesses only one location")]
    OneLocation,
    /// For loops: only atomics access the location.
    #[strum(message = "the loop has no access of plain data, no fence, no call")]
    OnlyAtomics,
    /// For updates: an update orders its own read and write.
    #[strum(message = "an update keeps its acquire and its release, which also order its own write and read")]
    OneUpdate,
    /// For loops: no fence that orders earlier iterations is removed from an iteration.
    #[strum(message = "no operation in the loop is sequentially consistent")]
    NoSeqCst,
    /// For loops: every exit has the fence.
    #[strum(message = "each path out of the loop that must acquire has a fence")]
    EveryExit,
    /// For loops: the fences have the widest scope of the operations.
    #[strum(message = "the fences at the loop have the widest scope of its operations")]
    WidestScope,
    /// For fences: no atomic read lies between two acquires.
    #[strum(message = "no atomic read is left for the second acquire")]
    NoReadBetween,
    /// For fences: no atomic write lies between two releases if the second replaces the first.
    #[strum(message = "no atomic write is left for the first release")]
    NoWriteBetween,
    /// For fences: no access lies between two fences if the first releases for both or the second acquires for both.
    #[strum(message = "no access lies between")]
    NoAccessBetween,
    /// For fences: no fence of the other half lies between two.
    #[strum(message = "no release lies between two acquires, and no acquire between two releases")]
    NoOtherHalfBetween,
    /// For fences: the remaining fence has at least the scope of the removed one.
    #[strum(message = "the remaining fence has no narrower scope")]
    FenceScope,
    /// For fences that acquiring reads replace: every read acquires.
    #[strum(message = "every atomic read that the fence acquires for acquires itself")]
    EveryRead,
    /// For fences: the fact holds on every path.
    #[strum(message = "the fact holds on every path")]
    EveryPath,
    /// For fences: a sequentially consistent fence replaces other fences, but not vice versa.
    #[strum(message = "only a sequentially consistent fence replaces another")]
    SeqCstStays,
    /// For kernels: only threads of the same grid are in the scope.
    #[strum(message = "the scope has only threads of the grid")]
    OneGrid,
    /// For kernels: a called function includes the code around the call.
    #[strum(message = "the function is a kernel")]
    Kernel,
    /// For single-thread CTAs: no asynchronous operation may complete in parallel.
    #[strum(message = "the only thread of a CTA starts no asynchronous operation")]
    NothingUnknown,
    /// For loops that need not write: no release fence precedes the loop.
    #[strum(message = "no fence that releases precedes the loop")]
    NoReleaseFence,
}

/// The options of the optimizer.
#[derive(Clone, Copy, Debug)]
pub struct OptimizeOptions {
    /// The enabled rewrites.
    pub rewrites: Rewrites,
    /// The lowering policy, which determines the costs of operations.
    pub policy: Policy,
    /// The target.
    pub target: Target,
    /// Whether only the threads of one grid access memory while it runs: no other grid, and not the host.
    pub one_grid: bool,
    /// A condition that is assumed to hold, for tests that show that it matters. Only the mapping check uses it.
    #[doc(hidden)]
    pub without: Option<Condition>,
}

impl OptimizeOptions {
    /// Options with all rewrites.
    pub fn new(policy: Policy, target: Target) -> Self {
        Self { rewrites: Rewrites::all(), policy, target, one_grid: false, without: None }
    }

    /// Whether a condition holds, or is assumed to hold.
    pub(crate) fn is_met_or_assumed(&self, condition: Condition, is_met: bool) -> bool {
        is_met || self.without == Some(condition)
    }
}
