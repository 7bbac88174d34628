//! The strengthened model. It forbids more outcomes than PTX and allows no other outcome, so that the faster search in
//! the model of PTX answers most questions.

use super::{Decision, decide, decide_after};
use crate::{
    condition::Condition,
    limit::Limit,
    outcome::Limits,
    program::Program,
    ptx::{Conventions, Ptx, axioms::Judged},
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

/// The decision of the strengthened model, if it follows from the search in the model of PTX.
pub(super) fn decide_as_ptx(
    tried: u64,
    program: &Program<Ptx>,
    condition: &Condition,
    conventions: Conventions,
    limits: Limits,
) -> Option<Decision> {
    if !conventions.strengthened {
        return None;
    }
    let ptx = Conventions { strengthened: false, ..conventions };
    let found = decide_after(tried, program, condition, ptx, limits);
    let is_forbidden = found.execution.as_ref().is_some_and(|x| Judged::new(x, conventions).forbidden().is_some());
    (!is_forbidden).then_some(found)
}
