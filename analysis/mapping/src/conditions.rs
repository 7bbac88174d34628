//! A test of the optimizer's conditions: without each condition, some program must be broken.

use std::{cell::LazyCell, num::NonZero, thread};

use ptx_lowering::{Access, Policy, PtxVersion, Strategy, Target};
use ptx_memory_model::{
    outcome::Limits,
    program::Program,
    source::{self, Cpp, Races, ReleaseSequences, Rules, read::Source},
};
use ptx_optimize::{Condition, OptimizeOptions};
use strum::IntoEnumIterator;

use crate::{
    check::{Counterexample, Soundness, bounded, judge, of_source},
    optimize::optimized,
    programs::{self, Set},
    translate::{Mapping, NoProgram},
    verify::{BrokenProgram, EXPANSIONS, Expansion, MAXIMUM},
};

/// A dropped condition.
pub struct LeftOut {
    pub condition: Condition,
    pub shown: ConditionEvidence,
}

/// The evidence that a condition is needed.
pub enum ConditionEvidence {
    /// Without the condition, the optimizer breaks a program of this set.
    By(Set, Box<BrokenProgram>),
    /// The model cannot express the reason for the condition.
    Beyond(&'static str),
    /// The condition affects this many programs, and all of them are preserved.
    Nothing { programs: u64 },
}

/// The sets in which programs are searched until all conditions are shown. The number n means that one of n programs is
/// tried.
const SETS: [(Set, &Expansion, usize); 12] = [
    (Set::Waiting, &EXPANSIONS[0], 20),
    (Set::Fenced, &EXPANSIONS[0], 100),
    (Set::Unwritten, &MAXIMUM, 1),
    (Set::Fenced, &EXPANSIONS[0], 5),
    (Set::Waiting, &EXPANSIONS[0], 1),
    (Set::Placements, &EXPANSIONS[0], 40),
    (Set::WaitingPlacements, &EXPANSIONS[0], 100),
    (Set::FencedPlacements, &EXPANSIONS[0], 1000),
    (Set::PassedOn, &EXPANSIONS[0], 1),
    (Set::Own, &EXPANSIONS[0], 1),
    (Set::CyclesThree, &EXPANSIONS[0], 5_000),
    (Set::CyclesMixed, &EXPANSIONS[0], 400_000),
];

/// The families of targets with different spellings of orderings: one fence for both halves, or one fence for each
/// half, which costs less on some targets.
const MAPPED: [(Strategy, &str, PtxVersion); 3] = [
    (Strategy::Recommended, "sm_70", PtxVersion(6, 0)),
    (Strategy::Recommended, "sm_90", PtxVersion(8, 6)),
    (Strategy::Auto, "sm_100", PtxVersion(8, 8)),
];

/// The reason why the model cannot show the need for a condition.
fn beyond(condition: Condition) -> Option<&'static str> {
    match condition {
        Condition::OneGrid => Some("the model has one grid, and no grid before or after it"),
        Condition::Kernel => Some("each thread of the model is a kernel, and calls no function"),
        Condition::NothingUnknown => Some("source programs start no asynchronous operation"),
        _ => None,
    }
}

/// Drops each condition in turn.
///
/// # Errors
/// If a lowering has instructions that the model lacks.
pub fn leave_out() -> Result<Vec<LeftOut>, NoProgram> {
    let left_out = |condition| {
        let shown = beyond(condition).map_or(ConditionEvidence::Nothing { programs: 0 }, ConditionEvidence::Beyond);
        LeftOut { condition, shown }
    };
    let mut all: Vec<LeftOut> = Condition::iter().map(left_out).collect();
    for (set, expansion, sample) in SETS {
        let open: Vec<Condition> = all
            .iter()
            .filter(|of| matches!(of.shown, ConditionEvidence::Nothing { .. }))
            .map(|of| of.condition)
            .collect();
        if open.is_empty() {
            break;
        }
        for hunted in hunt(set, expansion, sample, &open)? {
            let of = all.iter_mut().find(|of| of.condition == hunted.condition).expect("the condition is in the list");
            match (&mut of.shown, hunted.found) {
                (shown, Some((_, found))) => *shown = ConditionEvidence::By(set, found),
                (ConditionEvidence::Nothing { programs }, None) => *programs += hunted.programs,
                _ => {}
            }
        }
    }
    Ok(all)
}

/// A condition that the search tries to show.
struct Hunted {
    condition: Condition,
    /// The number of programs that the condition affects.
    programs: u64,
    /// The first program that is not preserved, with its number.
    found: Option<(u64, Box<BrokenProgram>)>,
}

fn mappings(access: Access) -> Vec<(Mapping<'static>, OptimizeOptions)> {
    let mapping = |(strategy, sm, ptx): (Strategy, &str, PtxVersion)| {
        let sm = sm.parse().expect("a GPU");
        let target = Target::new(sm, Some(ptx)).expect("the GPU has the version");
        let policy = Policy::from(strategy);
        (Mapping::new(policy, target, access, format!("{strategy} for {target}")), OptimizeOptions::new(policy, target))
    };
    MAPPED.map(mapping).into()
}

/// Searches one of every `sample` programs of a set for the conditions, on all cores.
fn hunt(set: Set, expansion: &Expansion, sample: usize, open: &[Condition]) -> Result<Vec<Hunted>, NoProgram> {
    let threads = thread::available_parallelism().map_or(1, NonZero::get);
    let nothing = |condition: &Condition| Hunted { condition: *condition, programs: 0, found: None };
    let work = |worker: usize| {
        let mappings = mappings(expansion.access());
        let mut hunted: Vec<Hunted> = open.iter().map(nothing).collect();
        let (mut result, mut number) = (Ok(()), 0);
        programs::each(set, expansion.values(), (1 + worker * sample, sample * threads), &mut |name, program| {
            number += 1;
            if result.is_ok() {
                let program = Tried { name, program, number, limits: bounded(program, expansion.limits()) };
                result = program.show(&mappings, &mut hunted);
            }
        });
        result.map(|()| hunted)
    };
    let of_workers = thread::scope(|scope| {
        let workers: Vec<_> = (0..threads).map(|worker| scope.spawn(move || work(worker))).collect();
        workers.into_iter().map(|worker| worker.join().expect("the work does not panic")).collect::<Result<Vec<_>, _>>()
    })?;
    let number = |found: &Option<(u64, Box<BrokenProgram>)>| found.as_ref().map_or(u64::MAX, |(number, _)| *number);
    let mut all: Vec<Hunted> = open.iter().map(nothing).collect();
    for hunted in of_workers {
        for (all, of) in all.iter_mut().zip(hunted) {
            all.programs += of.programs;
            if number(&of.found) < number(&all.found) {
                all.found = of.found;
            }
        }
    }
    Ok(all)
}

/// A program on which conditions are tried.
struct Tried<'p> {
    name: &'p str,
    program: &'p Program<Cpp>,
    number: u64,
    limits: Limits,
}

impl Tried<'_> {
    /// Determines the conditions that the program shows.
    fn show(&self, mappings: &[(Mapping<'_>, OptimizeOptions)], hunted: &mut [Hunted]) -> Result<(), NoProgram> {
        let admitted = LazyCell::new(|| {
            let rules = Rules { sequences: ReleaseSequences::Cpp20, races: Races::Llvm };
            source::search::outcomes(self.program, rules, of_source(self.limits))
        });
        let mut changed: Vec<Condition> = Vec::new();
        for (mapping, options) in mappings {
            let by = |options| optimized(self.program, mapping.access, &options);
            let right = by(*options)?;
            for of in hunted.iter_mut().filter(|of| of.found.is_none()) {
                let wrong = by(OptimizeOptions { without: Some(of.condition), ..*options })?;
                if (&right.program, &right.operations) == (&wrong.program, &wrong.operations) {
                    continue;
                }
                of.programs += u64::from(!changed.contains(&of.condition));
                changed.push(of.condition);
                let lowered = mapping.lower(&wrong.program, &wrong.operations)?;
                if let (Soundness::Unsound(states), _) = judge(&admitted, &lowered, self.limits) {
                    let source = Source { name: self.name.to_owned(), program: self.program.clone() };
                    let example = Counterexample { mapping: 0, lowered, states };
                    let found = BrokenProgram { mapping: mapping.name.clone(), source, example };
                    of.found = Some((self.number, Box::new(found)));
                }
            }
        }
        Ok(())
    }
}
