//! The verdicts that depend on the strengthened model. It forbids more outcomes than PTX and allows no other outcome.

use super::decide;
use crate::{
    condition::Condition,
    limit::Limit,
    outcome::Limits,
    program::Program,
    ptx::{Conventions, Ptx},
};

/// The verdict in the strengthened model, if it is known and differs from this verdict.
pub fn strengthened(
    program: &Program<Ptx>,
    condition: &Condition,
    verdict: Result<bool, Limit>,
    conventions: Conventions,
    limits: Limits,
) -> Option<bool> {
    if conventions.strengthened || verdict != Ok(condition.decided_by().1) {
        return None;
    }
    let conventions = Conventions { strengthened: true, ..conventions };
    decide(program, condition, conventions, limits).verdict.ok().filter(|found| verdict != Ok(*found))
}
