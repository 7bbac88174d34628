//! The search is compared with an enumerator that tries every execution and checks each with the axioms.

use ptx_memory_model::{
    condition::{Atom, Condition, Formula, Quantifier},
    litmus::Litmus,
    outcome::{Layout, Limits},
    program::Location,
    ptx::{self, Conventions},
    source::{self, ReleaseSequences},
    unfold::Limit,
};

use crate::{cuda_litmus, naive};
use testing::random;

/// Generated programs with every kind of instruction.
#[test]
fn ptx_outcomes() {
    let (mut states, mut executions, mut speculative, mut open) = (0, 0, 0, 0);
    for seed in 0..4000 {
        let program = random::program(seed);
        let conventions = match seed % 4 {
            0 => Conventions::DAT3M,
            1 => Conventions::STRENGTHENED,
            _ => Conventions::MANUAL,
        };
        let found = ptx::search::outcomes(&program, conventions, Limits::default());
        let expected = naive::outcomes(&program, conventions);
        // The states are known nevertheless.
        assert!(matches!(found.unknown, None | Some(Limit::ThinAir)), "seed {seed}: {:?}", found.unknown);
        open += usize::from(found.unknown.is_some());
        speculative += found.speculative.len();
        assert_eq!(found.states, expected.states, "seed {seed}: {}", random::litmus(program));
        states += found.states.len();
        executions += expected.executions;
    }
    println!("4000 programs, {states} outcomes, {speculative} speculative, {open} open, {executions} executions");
    assert!(open < 250, "{open}");
}

/// The tests of cuda-litmus in the strengthened model, which forbids outcomes of some of them.
#[test]
fn strengthened_outcomes() {
    for test in cuda_litmus::tests().expect("a verdict of each test") {
        let program = Litmus::read(&test.text).expect("a litmus test").program;
        let found = ptx::search::outcomes(&program, Conventions::STRENGTHENED, Limits::default());
        let expected = naive::outcomes(&program, Conventions::STRENGTHENED);
        assert_eq!(found.states, expected.states, "{}", test.row());
        let all = ptx::search::outcomes(&program, Conventions::MANUAL, Limits::default());
        let is_forbidden = test.verdict.is_allowed && !test.verdict.is_allowed_strengthened;
        assert!(!is_forbidden || found.states != all.states, "{}", test.row());
    }
}

/// Programs with equal threads whose registers are not observed: the search takes one of the executions that differ by
/// a permutation of them.
#[test]
fn equal_threads() {
    let (mut programs, mut states, mut executions) = (0, 0, 0);
    for seed in 0..2000 {
        let mut program = random::program(seed);
        let other = if seed % 2 == 0 { 1 } else { program.threads.len() - 1 };
        let place = program.threads[other].place;
        program.threads[other] = program.threads[0].clone();
        if seed % 3 > 0 {
            program.threads[other].place = place;
        }
        for thread in [0, other] {
            program.threads[thread].registers.iter_mut().for_each(|register| register.observed = false);
        }
        // Programs that take the enumerator minutes are omitted.
        if program.threads.iter().map(|thread| thread.code.len()).sum::<usize>() > 7 {
            continue;
        }
        let found = ptx::search::outcomes(&program, Conventions::MANUAL, Limits::default());
        let expected = naive::outcomes(&program, Conventions::MANUAL);
        assert!(matches!(found.unknown, None | Some(Limit::ThinAir)), "seed {seed}: {:?}", found.unknown);
        assert_eq!(found.states, expected.states, "seed {seed}: {}", random::litmus(program));
        programs += 1;
        states += found.states.len();
        executions += expected.executions;
    }
    println!("{programs} programs, {states} outcomes, {executions} executions");
    assert!(programs > 500, "{programs}");
}

/// A decision without all final states agrees with the final states.
#[test]
fn decisions() {
    let mut counts = std::collections::BTreeMap::new();
    for seed in 0..3000 {
        let program = random::program(seed);
        let layout = Layout::new(&program);
        let all = ptx::search::outcomes(&program, Conventions::MANUAL, Limits::default());
        let registers = layout.registers().iter().map(|&(thread, register)| Atom::Register { thread, register });
        let locations = (0..program.locations.len()).map(|index| Atom::Location(Location(index as u16)));
        let atoms: Vec<Atom> = registers.chain(locations).collect();
        // Each condition asks for values of some final states, some of them modified.
        for variant in 0..12 {
            let pick = (seed as usize * 31 + variant * 7) % all.states.len().max(1);
            let state = all.states.iter().nth(pick);
            let value = |index: usize| {
                let known = state.and_then(|state| match atoms[index] {
                    Atom::Register { thread, register } => layout.register(state, thread, register),
                    Atom::Location(location) => layout.location(state, location),
                    Atom::Value(value) => Some(value),
                });
                known.unwrap_or(1) ^ u64::from(variant % 3 == 2 && index.is_multiple_of(2))
            };
            let equal = |index: usize| match (seed as usize + variant + index) % 5 {
                0 => Formula::Unequal(atoms[index], Atom::Value(value(index))),
                _ => Formula::Equal(atoms[index], Atom::Value(value(index))),
            };
            let chosen = (0..atoms.len()).filter(|index| (index + variant) % (1 + variant % 4) == 0).map(equal);
            let join = if variant % 4 == 3 { Formula::Or } else { Formula::And };
            let formula = chosen.reduce(|a, b| join(Box::new(a), Box::new(b))).unwrap_or(Formula::True);
            let formula = if variant % 5 == 4 { Formula::Not(Box::new(formula)) } else { formula };
            for quantifier in [Quantifier::Exists, Quantifier::NotExists, Quantifier::Forall] {
                let condition = Condition { quantifier, formula: formula.clone() };
                let expected = all.verdict(&condition, &layout);
                // Every other time, the solver alone decides.
                let tried = if (seed + variant as u64).is_multiple_of(2) { 0 } else { 512 };
                let limits = Limits::default();
                let found = ptx::search::decide_after(tried, &program, &condition, Conventions::MANUAL, limits);
                let same = found.verdict == expected
                    // A limit that applies to other final states may not apply to this one.
                    || expected == Err(Limit::ThinAir) && found.verdict == Ok(!condition.decided_by().1);
                assert!(
                    same,
                    "seed {seed}: {condition:?}: {found:?}, not {expected:?} in\n{}",
                    random::litmus(program)
                );
                *counts.entry(format!("{:?}", found.verdict)).or_insert(0) += 1;
            }
        }
    }
    println!("decisions: {counts:?}");
    assert!(counts["Ok(true)"] > 10_000 && counts["Ok(false)"] > 10_000, "{counts:?}");
}

/// For tests that are too large for the enumerator, the solver agrees with the search, if the search ends.
#[test]
fn wide_decisions() {
    let (mut compared, mut holds) = (0, 0);
    for seed in 0..400 {
        let Litmus { program, condition, .. } = random::wide(seed);
        let found = ptx::search::decide_after(0, &program, &condition, Conventions::MANUAL, Limits::default());
        let limits = Limits { choices: 30_000, ..Limits::default() };
        let tried = ptx::search::decide_after(u64::MAX, &program, &condition, Conventions::MANUAL, limits);
        if let (Ok(verdict), Ok(expected)) = (found.verdict, tried.verdict) {
            assert_eq!(verdict, expected, "seed {seed}: {}", random::wide(seed));
            compared += 1;
            holds += usize::from(expected);
        }
    }
    println!("{compared} of 400 tests compared; {holds} hold");
    assert!(compared > 100 && holds > 50, "{compared}, {holds}");
}

#[test]
fn source_outcomes() {
    let (mut states, mut undefined) = (0, 0);
    for seed in 0..3000 {
        let program = random::source(seed);
        let rule = if seed % 3 == 0 { ReleaseSequences::Cpp11 } else { ReleaseSequences::Cpp20 };
        let found = source::search::outcomes(&program, rule, Limits::default());
        let (expected, race) = naive::source_outcomes(&program, rule);
        assert_eq!(found.outcomes.unknown, None);
        assert_eq!(found.outcomes.states, expected, "seed {seed}: {program:?}");
        assert_eq!(found.race.is_some(), race, "seed {seed}: {program:?}");
        states += expected.len();
        undefined += usize::from(race);
    }
    println!("3000 programs, {states} outcomes, {undefined} undefined");
}
