//! What was found, before it is said.

use super::{need::Lack, token::Token};
use crate::{
    cause::Cause,
    finding::{Claim, Rule},
};

/// Which finding it is. Of several second accesses that lack the same of the first, one is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    pub first: usize,
    pub rule: Rule,
    pub lack: Lack,
}

/// The second access of a finding, and what is known.
#[derive(Clone, Debug)]
pub struct Found<'k> {
    pub claim: Claim,
    pub second: Token<'k>,
    /// What is not known, if it cannot be told.
    pub cause: Option<Cause>,
}
