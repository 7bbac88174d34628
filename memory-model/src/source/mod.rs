//! The source side of a mapping: C++'s memory model (RC11) with scopes, after 'A Formal Analysis of the NVIDIA PTX Memory
//! Consistency Model' (ASPLOS 2019), Figure 10.

pub mod model;
pub mod read;
pub mod search;

use strum::{Display, EnumIter, EnumString, IntoStaticStr};

use crate::{
    place::Scope,
    program::{self, Language},
};

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Cpp;

pub type Program = program::Program<Cpp>;
pub type Thread = program::Thread<Cpp>;
pub type Instruction = program::Instruction<Cpp>;

impl Language for Cpp {
    type Access = Access;
    type Fence = Fence;
    /// There are no aliases.
    type Alias = std::convert::Infallible;

    fn same_address(alias: Self::Alias) -> bool {
        match alias {}
    }

    fn failed(access: Access) -> Access {
        Access { order: access.failure, ..access }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Display, EnumIter, EnumString, IntoStaticStr)]
pub enum Order {
    /// Not an atomic operation.
    #[strum(serialize = "na")]
    NonAtomic,
    #[strum(serialize = "rlx")]
    Relaxed,
    #[strum(serialize = "acq")]
    Acquire,
    #[strum(serialize = "rel")]
    Release,
    #[strum(serialize = "ar")]
    AcqRel,
    #[strum(serialize = "sc")]
    SeqCst,
}

impl Order {
    pub fn acquires(self) -> bool {
        matches!(self, Self::Acquire | Self::AcqRel | Self::SeqCst)
    }

    pub fn releases(self) -> bool {
        matches!(self, Self::Release | Self::AcqRel | Self::SeqCst)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Access {
    pub order: Order,
    /// The order of a compare and exchange that fails; otherwise that of the access.
    pub failure: Order,
    /// Without meaning for non-atomic accesses.
    pub scope: Scope,
}

impl Access {
    pub fn new(order: Order, scope: Scope) -> Self {
        Self { order, failure: order, scope }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Fence {
    pub order: Order,
    pub scope: Scope,
}

/// What continues a release sequence, besides read-modify-writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumIter, EnumString, IntoStaticStr)]
pub enum ReleaseSequences {
    /// C++11 to C++17: later writes of the same thread to the same location.
    #[strum(serialize = "c++11")]
    Cpp11,
    /// C++20, LLVM and Rust: nothing.
    #[strum(serialize = "c++20")]
    Cpp20,
}
