//! The results of the search, before they become findings.

use super::{need::Lack, token::Token};
use crate::{
    cause::Cause,
    finding::{Claim, Rule},
};

/// The identity of a finding. Of several second accesses that lack the same ordering after the first, only one is
/// shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Key {
    pub first: usize,
    pub rule: Rule,
    pub lack: Lack,
}

/// The second access of a finding, and the claim about it.
#[derive(Clone, Debug)]
pub struct SecondAccess<'k> {
    pub claim: Claim,
    pub second: Token<'k>,
    /// The cause, if the finding is undecided.
    pub cause: Option<Cause>,
}
