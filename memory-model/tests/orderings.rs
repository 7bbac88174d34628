//! Weaker orderings allow no less, and stronger ones no more.

use ptx_memory_model::{
    outcome::{Limits, Outcomes},
    ptx::{
        Conventions, Program,
        orderings::{Change, changed, stronger, weaker},
        search,
    },
};
use testing::random;

fn outcomes(program: &Program) -> Outcomes {
    search::outcomes(program, Conventions::MANUAL, Limits::default())
}

/// Whether all that one allows the other allows, too; nothing where that is not known.
fn allows_all(more: &Outcomes, less: &Outcomes) -> Option<bool> {
    (more.unknown.is_none() && less.unknown.is_none()).then(|| less.states.is_subset(&more.states))
}

#[test]
fn changes_are_monotone() {
    let (mut weakened, mut with_more, mut strengthened, mut with_less) = (0, 0, 0, 0);
    for seed in 0..400 {
        let program = random::program(seed);
        let original = outcomes(&program);
        for (thread, of) in program.threads.iter().enumerate() {
            for (index, statement) in of.code.iter().enumerate() {
                let at = [(thread, index)];
                for change in weaker(&statement.instruction) {
                    let other = outcomes(&changed(&program, &at, &change));
                    let Some(allows) = allows_all(&other, &original) else { continue };
                    assert!(allows, "seed {seed}, P{thread} {index}: {change:?}");
                    weakened += 1;
                    with_more += usize::from(other.states.len() > original.states.len());
                }
                for change in stronger(&statement.instruction) {
                    // A barrier is not the same program with less freedom: its threads wait for each other.
                    if change == Change::BarrierBefore {
                        continue;
                    }
                    let other = outcomes(&changed(&program, &at, &change));
                    let Some(allows) = allows_all(&original, &other) else { continue };
                    assert!(allows, "seed {seed}, P{thread} {index}: {change:?}");
                    strengthened += 1;
                    with_less += usize::from(other.states.len() < original.states.len());
                }
            }
        }
    }
    println!("{weakened} weaker, {with_more} with more outcomes; {strengthened} stronger, {with_less} with fewer");
    assert!(with_more > 50 && with_less > 50, "{with_more} {with_less}");
}
