//! The published mappings from language atomics to PTX, and the choice among them.
//!
//! Each table stands in a file of its own and reads line by line like the document that it comes from: operation,
//! ordering, then every sequence that the document allows, the recommended one first.

mod asplos19;
mod auto;
mod nvidia;
mod strategy;

use std::fmt;

use strum::{Display, EnumIter, EnumString, IntoStaticStr};

pub use self::{
    asplos19::PROVEN,
    nvidia::ABI,
    strategy::{Carrier, RowName, Strategies, Strategy, UnknownStrategy},
};
use crate::{
    op::Ordering,
    ptx::{AtomSem, FenceSem, LdSem, StSem},
};

/// The four kinds of operation that a table has rows for. A compare and exchange is an rmw.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum Kind {
    Fence,
    Load,
    Store,
    Rmw,
}

/// One instruction of a mapping, for any scope and any read-modify-write operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    Fence(FenceSem),
    Ld(LdSem),
    St(StSem),
    Atom(AtomSem),
}

/// One row of a table: an operation, an ordering, and the sequences that implement it.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    pub kind: Kind,
    pub ordering: Ordering,
    /// The recommended one first.
    pub sequences: &'static [&'static [Step]],
}

impl Step {
    /// Whether this step accesses memory and carries an ordering by itself.
    pub fn orders_its_access(self) -> bool {
        !matches!(
            self,
            Self::Fence(_) | Self::Ld(LdSem::Relaxed) | Self::St(StSem::Relaxed) | Self::Atom(AtomSem::Relaxed)
        )
    }

    /// Whether this step accesses memory and carries a release by itself.
    pub fn releases_by_its_access(self) -> bool {
        matches!(self, Self::St(StSem::Release) | Self::Atom(AtomSem::Release | AtomSem::AcqRel))
    }
}

/// Prints the step in the document's words: `atom.acq_rel.<scope>.<rmw op>;`.
impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Fence(sem) => write!(f, "fence.{sem}.<scope>;"),
            Self::Ld(sem) => write!(f, "ld.{sem}.<scope>;"),
            Self::St(sem) => write!(f, "st.{sem}.<scope>;"),
            Self::Atom(sem) => write!(f, "atom.{sem}.<scope>.<rmw op>;"),
        }
    }
}

/// Prints the row's first column in the document's words.
impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let function = match self.kind {
            Kind::Fence => "atomic_thread_fence",
            Kind::Load => "atomic_load",
            Kind::Store => "atomic_store",
            Kind::Rmw => "atomic_<rmw op>",
        };
        write!(f, "{function}(memory_order_{}, thread_scope_<scope>)", self.ordering)
    }
}

/// Writes rows in the document's words. What PTX lacks (`ld.release`, `fence.relaxed`) has no arm and does not compile.
macro_rules! rows {
    ($($function:ident $(<$rmw:ident op>)? ($ordering:ident) => $({ $($steps:tt)* })|+)*) => {
        &[$($crate::abi::Row {
            kind: rows!(@kind $function),
            ordering: rows!(@ordering $ordering),
            sequences: &[$(rows!(@steps [] $($steps)*)),+],
        }),*]
    };
    (@kind atomic_thread_fence) => { $crate::abi::Kind::Fence };
    (@kind atomic_load) => { $crate::abi::Kind::Load };
    (@kind atomic_store) => { $crate::abi::Kind::Store };
    (@kind atomic_) => { $crate::abi::Kind::Rmw };
    (@ordering relaxed) => { $crate::op::Ordering::Relaxed };
    (@ordering acquire) => { $crate::op::Ordering::Acquire };
    (@ordering release) => { $crate::op::Ordering::Release };
    (@ordering acq_rel) => { $crate::op::Ordering::AcqRel };
    (@ordering seq_cst) => { $crate::op::Ordering::SeqCst };
    (@steps [$($done:expr,)*]) => { &[$($done),*] };
    (@steps [$($done:expr,)*] $mnemonic:ident.$sem:ident.<scope> $(.<rmw op>)?; $($rest:tt)*) => {
        rows!(@steps [$($done,)* rows!(@step $mnemonic $sem),] $($rest)*)
    };
    (@step fence sc) => { $crate::abi::Step::Fence($crate::ptx::FenceSem::Sc) };
    (@step fence acq_rel) => { $crate::abi::Step::Fence($crate::ptx::FenceSem::AcqRel) };
    (@step fence acquire) => { $crate::abi::Step::Fence($crate::ptx::FenceSem::Acquire) };
    (@step fence release) => { $crate::abi::Step::Fence($crate::ptx::FenceSem::Release) };
    (@step ld relaxed) => { $crate::abi::Step::Ld($crate::ptx::LdSem::Relaxed) };
    (@step ld acquire) => { $crate::abi::Step::Ld($crate::ptx::LdSem::Acquire) };
    (@step st relaxed) => { $crate::abi::Step::St($crate::ptx::StSem::Relaxed) };
    (@step st release) => { $crate::abi::Step::St($crate::ptx::StSem::Release) };
    (@step atom relaxed) => { $crate::abi::Step::Atom($crate::ptx::AtomSem::Relaxed) };
    (@step atom acquire) => { $crate::abi::Step::Atom($crate::ptx::AtomSem::Acquire) };
    (@step atom release) => { $crate::abi::Step::Atom($crate::ptx::AtomSem::Release) };
    (@step atom acq_rel) => { $crate::abi::Step::Atom($crate::ptx::AtomSem::AcqRel) };
}
use rows;
