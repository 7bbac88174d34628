//! What a litmus test is.

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
    /// What is asked of the final states.
    pub condition: Condition,
}

/// Whose tests a text is one of.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Dialect {
    /// PTX and the shorthands of this crate.
    #[default]
    Ptx,
    /// Also what Dat3M's suite has and PTX has not: `red.acq_rel`, `atom.sub`.
    Dat3m,
}
