//! Executions that are forbidden only by dependencies that an implementation may optimize away (section 8.10.4).

use super::{
    TRIED, combinations,
    state::{Goal, Question, Search},
};
use crate::{
    condition::Condition,
    execution::Execution,
    outcome::{Budget, Layout, Limits, Outcomes},
    program::{Program, Value},
    ptx::{
        Conventions, Ptx,
        axioms::{Cycle, Judged, no_thin_air},
        replicas::combine,
    },
    thin_air,
    unfold::{Path, unfold_all},
};

/// An execution that would decide a condition, if some of its dependencies did not count.
#[derive(Clone, Debug)]
pub struct Speculation {
    /// The execution.
    pub execution: Execution<Ptx>,
    /// Values that depend on themselves. The edges that are not certain have the name [`OPEN`].
    pub cycle: Cycle,
}

/// A step from a read to a write that may or may not depend on it.
pub const OPEN: &str = "open dependency";

/// The reason for the verdict [`Limit::ThinAir`](crate::limit::Limit::ThinAir): an execution that would decide the
/// condition if some of its dependencies did not count. `None` if no such execution is found.
pub fn speculation(
    program: &Program<Ptx>,
    condition: &Condition,
    conventions: Conventions,
    limits: Limits,
) -> Option<Speculation> {
    let layout = Layout::new(program);
    let (truth, _) = condition.decided_by();
    let decides = |state: &[Value]| condition.formula.holds(&layout, state) == truth;
    let mut budget = Budget::new(limits);
    for rounds in 1..=limits.rounds {
        let all = unfold_all(program, conventions.unfolding(rounds)).ok()?;
        let certain = thin_air::certain(program, &all, &mut budget).ok()?;
        let mut found = None;
        let searched = combinations(&certain, &mut Vec::new(), &mut |paths| {
            budget.choose()?;
            if found.is_some() || paths.iter().any(|path| path.is_cut()) {
                return Ok(());
            }
            let combination = combine(program, paths.to_vec(), conventions)?;
            let (mut outcomes, mut witness) = (Outcomes::new(program), None);
            let mut goal = Goal {
                wanted: Some(&decides),
                question: Some(Question { formula: &condition.formula, truth, tried: TRIED }),
                witness: Some(&mut witness),
                required: condition.formula.required(truth),
                certain: true,
                ..Goal::new(&mut outcomes)
            };
            Search::new(program, &combination, conventions, &mut budget, &mut goal).run()?;
            found = witness.map(|witness| (witness.execution, paths.to_vec()));
            Ok(())
        });
        if let Some((mut execution, paths)) = found {
            // The same paths, with all dependencies.
            let same = |(thread, path): (usize, &&Path<Ptx>)| {
                let index = certain[thread].iter().position(|other| std::ptr::eq(other, *path))?;
                all[thread].get(index)
            };
            let paths = paths.iter().enumerate().map(same).collect::<Option<Vec<_>>>()?;
            let known = execution.skeleton.dep;
            execution.skeleton.dep = combine(program, paths, conventions).ok()?.skeleton.dep;
            let mut cycle = no_thin_air(&Judged::new(&execution, conventions))?;
            let next: Vec<usize> = cycle.iter().skip(1).chain(cycle.first()).map(|(event, _)| *event).collect();
            for ((event, name), next) in cycle.iter_mut().zip(next) {
                if *name == "dependency" && !known.contains(*event, next) {
                    *name = OPEN;
                }
            }
            return Some(Speculation { execution, cycle });
        }
        searched.ok()?;
    }
    None
}
