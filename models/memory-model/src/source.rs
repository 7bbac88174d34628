//! The source side of a mapping: C++'s memory model (RC11) with scopes, after 'A Formal Analysis of the NVIDIA PTX
//! Memory Consistency Model' (ASPLOS 2019), Figure 10.

pub mod model;
pub mod patterns;
pub mod print;
pub mod read;
pub mod search;

use strum::{Display, EnumIter, EnumString, IntoStaticStr};

use crate::{
    place::{Place, Scope, all_reach},
    program::{self, Language},
};

/// The language of C++ with scopes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cpp;

/// A source program.
pub type Program = program::Program<Cpp>;
/// A thread of a source program.
pub type Thread = program::Thread<Cpp>;
/// An instruction of a source program.
pub type Instruction = program::Instruction<Cpp>;

impl Language for Cpp {
    type Semantics = Semantics;
    type Fence = Fence;
    /// There are no aliases.
    type Alias = std::convert::Infallible;

    fn same_address(alias: Self::Alias) -> bool {
        match alias {}
    }

    fn reaches(access: Semantics, places: &[Place]) -> Option<bool> {
        (access.order != Order::NonAtomic).then(|| all_reach(access.scope, places))
    }

    fn failed(access: Semantics) -> Semantics {
        Semantics { order: access.failure, ..access }
    }
}

/// Memory orders.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Display, EnumIter, EnumString, IntoStaticStr)]
pub enum Order {
    /// Not an atomic operation.
    #[strum(serialize = "na")]
    NonAtomic,
    /// `memory_order_relaxed`.
    #[strum(serialize = "rlx")]
    Relaxed,
    /// `memory_order_acquire`.
    #[strum(serialize = "acq")]
    Acquire,
    /// `memory_order_release`.
    #[strum(serialize = "rel")]
    Release,
    /// `memory_order_acq_rel`.
    #[strum(serialize = "ar")]
    AcqRel,
    /// `memory_order_seq_cst`.
    #[strum(serialize = "sc")]
    SeqCst,
}

impl Order {
    /// Whether an operation or fence of this order acquires.
    pub fn acquires(self) -> bool {
        matches!(self, Self::Acquire | Self::AcqRel | Self::SeqCst)
    }

    /// Whether an operation or fence of this order releases.
    pub fn releases(self) -> bool {
        matches!(self, Self::Release | Self::AcqRel | Self::SeqCst)
    }
}

/// The semantics of a memory operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Semantics {
    /// Its order.
    pub order: Order,
    /// The order of a compare and exchange that fails; for other accesses, the order of the access.
    pub failure: Order,
    /// Without meaning for non-atomic accesses.
    pub scope: Scope,
}

impl Semantics {
    /// An access with this order, whether it succeeds or fails.
    pub fn new(order: Order, scope: Scope) -> Self {
        Self { order, failure: order, scope }
    }
}

/// A fence.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fence {
    /// Its order.
    pub order: Order,
    /// Its scope.
    pub scope: Scope,
}

/// The writes that continue a release sequence, besides read-modify-writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumIter, EnumString, IntoStaticStr)]
pub enum ReleaseSequences {
    /// C++11 to C++17: later writes of the same thread to the same location.
    #[strum(serialize = "c++11")]
    Cpp11,
    /// C++20, LLVM and Rust: no further writes.
    #[strum(serialize = "c++20")]
    Cpp20,
}

/// The effect of a race.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumIter, EnumString, IntoStaticStr)]
pub enum Races {
    /// C++ and Rust: the program is undefined.
    #[strum(serialize = "c++")]
    Cpp,
    /// LLVM: a racing load returns an arbitrary value, and so does the final value of a variable whose last writes
    /// race. All other behavior stays defined, unless a branch depends on such a value.
    #[strum(serialize = "llvm")]
    Llvm,
}

/// The rules in which languages differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rules {
    /// The writes that continue a release sequence.
    pub sequences: ReleaseSequences,
    /// The effect of a race.
    pub races: Races,
}

impl From<ReleaseSequences> for Rules {
    /// The rules of C++.
    fn from(sequences: ReleaseSequences) -> Self {
        Self { sequences, races: Races::Cpp }
    }
}
