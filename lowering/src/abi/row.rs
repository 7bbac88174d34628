//! The form of the tables: rows in the words of their documents.

use std::fmt;

use strum::{Display, EnumIter, EnumString, IntoStaticStr};

use crate::{
    op::Ordering,
    ptx::{AtomSem, FenceSem, LdSem, StSem},
};

/// The kinds of operations for which a table has rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumIter, EnumString, IntoStaticStr)]
#[strum(serialize_all = "snake_case")]
pub enum RowKind {
    /// `atomic_thread_fence`.
    Fence,
    /// `atomic_load`.
    Load,
    /// `atomic_store`.
    Store,
    /// Any read-modify-write operation, including compare and exchange.
    Rmw,
}

impl RowKind {
    /// The function of the C++ library, by its name in the document.
    pub(super) fn function(self) -> &'static str {
        match self {
            Self::Fence => "atomic_thread_fence",
            Self::Load => "atomic_load",
            Self::Store => "atomic_store",
            Self::Rmw => "atomic_<rmw op>",
        }
    }
}

/// An instruction of a mapping, for any scope and any read-modify-write operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Step {
    /// A fence.
    Fence(FenceSem),
    /// The load in a row of loads.
    Ld(LdSem),
    /// The store in a row of stores.
    St(StSem),
    /// The `atom` in a row of read-modify-writes.
    Atom(AtomSem),
}

/// A row of a table: an operation, an ordering, and the sequences that implement it.
#[derive(Clone, Copy, Debug)]
pub struct Row {
    /// The operation.
    pub kind: RowKind,
    /// The ordering, from C++: never [`Ordering::Unordered`].
    pub ordering: Ordering,
    /// Every sequence that the document allows, the recommended one first.
    pub sequences: &'static [&'static [Step]],
}

impl Step {
    /// Whether this step is an access that carries an ordering.
    pub fn orders_its_access(self) -> bool {
        !matches!(
            self,
            Self::Fence(_) | Self::Ld(LdSem::Relaxed) | Self::St(StSem::Relaxed) | Self::Atom(AtomSem::Relaxed)
        )
    }

    /// Whether this step is an access that carries a release.
    pub fn releases_by_its_access(self) -> bool {
        matches!(self, Self::St(StSem::Release) | Self::Atom(AtomSem::Release | AtomSem::AcqRel))
    }
}

/// The name of a row on the command line: `rmw.acq_rel`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct RowName(pub RowKind, pub Ordering);

impl Row {
    /// The row's name on the command line.
    pub fn name(&self) -> RowName {
        RowName(self.kind, self.ordering)
    }

    pub(super) fn is(&self, kind: RowKind, ordering: Ordering) -> bool {
        self.kind == kind && self.ordering == ordering
    }
}

impl RowName {
    /// Reads the name of a row. Returns `None` if the name is not a kind, a dot and an ordering.
    pub fn parse(name: &str) -> Option<Self> {
        let (kind, ordering) = name.split_once('.')?;
        Some(Self(kind.parse().ok()?, ordering.parse().ok()?))
    }
}

impl fmt::Display for RowName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", self.0, self.1)
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
        write!(f, "{}(memory_order_{}, thread_scope_<scope>)", self.kind.function(), self.ordering)
    }
}

/// Builds rows from the document's words. Forms that PTX lacks (`ld.release`, `fence.relaxed`) have no arm and do not
/// compile.
macro_rules! rows {
    ($($function:ident $(<$rmw:ident op>)? ($ordering:ident) => $({ $($steps:tt)* })|+)*) => {
        &[$($crate::abi::row::Row {
            kind: rows!(@kind $function),
            ordering: rows!(@ordering $ordering),
            sequences: &[$(rows!(@steps [] $($steps)*)),+],
        }),*]
    };
    (@kind atomic_thread_fence) => { $crate::abi::row::RowKind::Fence };
    (@kind atomic_load) => { $crate::abi::row::RowKind::Load };
    (@kind atomic_store) => { $crate::abi::row::RowKind::Store };
    (@kind atomic_) => { $crate::abi::row::RowKind::Rmw };
    (@ordering relaxed) => { $crate::op::Ordering::Relaxed };
    (@ordering acquire) => { $crate::op::Ordering::Acquire };
    (@ordering release) => { $crate::op::Ordering::Release };
    (@ordering acq_rel) => { $crate::op::Ordering::AcqRel };
    (@ordering seq_cst) => { $crate::op::Ordering::SeqCst };
    (@steps [$($done:expr,)*]) => { &[$($done),*] };
    (@steps [$($done:expr,)*] $mnemonic:ident.$sem:ident.<scope> $(.<rmw op>)?; $($rest:tt)*) => {
        rows!(@steps [$($done,)* rows!(@step $mnemonic $sem),] $($rest)*)
    };
    (@step fence sc) => { $crate::abi::row::Step::Fence($crate::ptx::FenceSem::Sc) };
    (@step fence acq_rel) => { $crate::abi::row::Step::Fence($crate::ptx::FenceSem::AcqRel) };
    (@step fence acquire) => { $crate::abi::row::Step::Fence($crate::ptx::FenceSem::Acquire) };
    (@step fence release) => { $crate::abi::row::Step::Fence($crate::ptx::FenceSem::Release) };
    (@step ld relaxed) => { $crate::abi::row::Step::Ld($crate::ptx::LdSem::Relaxed) };
    (@step ld acquire) => { $crate::abi::row::Step::Ld($crate::ptx::LdSem::Acquire) };
    (@step st relaxed) => { $crate::abi::row::Step::St($crate::ptx::StSem::Relaxed) };
    (@step st release) => { $crate::abi::row::Step::St($crate::ptx::StSem::Release) };
    (@step atom relaxed) => { $crate::abi::row::Step::Atom($crate::ptx::AtomSem::Relaxed) };
    (@step atom acquire) => { $crate::abi::row::Step::Atom($crate::ptx::AtomSem::Acquire) };
    (@step atom release) => { $crate::abi::row::Step::Atom($crate::ptx::AtomSem::Release) };
    (@step atom acq_rel) => { $crate::abi::row::Step::Atom($crate::ptx::AtomSem::AcqRel) };
}
pub(super) use rows;
