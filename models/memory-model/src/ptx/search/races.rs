//! Whether a program has a data race.

use super::{run, state::Goal};
use crate::{
    limit::Limit,
    outcome::{Budget, Limits, Outcomes, Witness},
    program::Program,
    ptx::{
        Conventions, Ptx,
        axioms::Judged,
        race::{Known, Race},
    },
    states::States,
};

/// The final states of a program, by whether an execution that ends there has a data race. A state may be in both.
#[derive(Clone, Debug)]
pub struct Races {
    /// The states of racy executions.
    pub racy: States,
    /// The states of executions without a race.
    pub free: States,
}

/// Every final state, as [`outcomes`](super::outcomes) computes it, by whether its execution has a data race (section
/// 8.7.1). Executions that only dependencies forbid are omitted.
///
/// Here an atomic operation counts as one operation, unlike in [`race`], where its read and its write are two. This
/// follows the manual, which calls an atomic operation a write "if it results in a write" (Table 20). The two differ if
/// an atomic operation is observed: observation is an order from its write to the write of the observing operation.
///
/// # Errors
/// The reason why there may be more states.
pub fn races(program: &Program<Ptx>, conventions: Conventions, limits: Limits) -> Result<Races, Limit> {
    let mut budget = Budget::new(limits);
    let mut states = |race: bool| {
        let mut outcomes = Outcomes::new(program);
        let mut goal = Goal { race: Some(race), whole: true, ..Goal::new(&mut outcomes) };
        run(program, conventions, limits, &mut budget, &mut goal).map(|_| outcomes.states)
    };
    Ok(Races { racy: states(true)?, free: states(false)? })
}

/// Two conflicting operations without an order (section 8.7.1), in an execution that the model allows. `None` if no
/// execution has a data race.
///
/// # Errors
/// If the search found no race, but could not exclude one; [`Limit::Hangs`] if there is no complete execution.
pub fn race(program: &Program<Ptx>, conventions: Conventions, limits: Limits) -> Result<Option<Race>, Limit> {
    let mut outcomes = Outcomes::new(program);
    let mut budget = Budget::new(limits);
    let mut first = |race: bool, certain: bool| {
        let mut witness = None;
        let mut goal = Goal {
            wanted: Some(&|_| true),
            witness: Some(&mut witness),
            memory: Some(Vec::new()),
            race: race.then_some(true),
            certain,
            ..Goal::new(&mut outcomes)
        };
        let result = run(program, conventions, limits, &mut budget, &mut goal);
        let open = if certain { goal.undefined } else { goal.thin_air };
        (result, open, witness)
    };
    let (result, thin_air, found) = first(true, false);
    if result == Err(Limit::MixedSizes) {
        return Err(Limit::MixedSizes);
    }
    if let Some(Witness { execution, .. }) = found {
        let races = Known::new(&Judged::new(&execution, conventions)).races().next();
        let Some((first, second, why)) = races else { return Err(Limit::Unmodelled) };
        return Ok(Some(Race { execution: Box::new(execution), first, second, why }));
    }
    result?;
    if thin_air {
        // Only an execution that dependencies forbid might have a race.
        let (result, undefined, speculative) = first(true, true);
        result?;
        if undefined || speculative.is_some() {
            return Err(Limit::ThinAir);
        }
    }
    // Without a complete execution, the result is unknown.
    match first(false, false) {
        (_, _, Some(_)) => Ok(None),
        (Ok(_), _, None) => Err(Limit::Hangs),
        (Err(limit), _, None) => Err(limit),
    }
}
