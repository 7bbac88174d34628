//! The representation of a litmus test.

use crate::{condition::Condition, ptx::Program};

/// A program with a condition on its final states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Litmus {
    /// The rest of the first line.
    pub name: String,
    /// Quoted text between the name and the initial values.
    pub comments: Vec<String>,
    /// The threads, and the variables that they share.
    pub program: Program,
    /// The condition on the final states.
    pub condition: Condition,
}

/// The dialect of a litmus test.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dialect {
    /// PTX and the shorthands of this crate.
    #[default]
    Ptx,
    /// In addition, features of Dat3M's suite that PTX does not have: `red.acq_rel`, `atom.sub`.
    Dat3m,
}
