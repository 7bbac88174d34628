//! The search against an enumerator that tries every execution and asks the axioms about each.

mod naive;

use ptx_memory_model::{
    outcome::Limits,
    ptx::{self, Conventions},
    source::{self, ReleaseSequences},
    unfold::Limit,
};
use testing::random;

/// Generated programs with every kind of instruction.
#[test]
fn ptx_outcomes() {
    let (mut states, mut executions, mut speculative, mut open) = (0, 0, 0, 0);
    for seed in 0..4000 {
        let program = random::program(seed);
        let conventions = if seed % 4 == 0 { Conventions::DAT3M } else { Conventions::MANUAL };
        let found = ptx::search::outcomes(&program, conventions, Limits::default());
        let expected = naive::outcomes(&program, conventions);
        // The states are known even so.
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
