//! Weaker orderings allow at least the same outcomes, and stronger ones at most the same.

use std::{fs, path::Path};

use ptx_memory_model::{
    litmus::Litmus,
    outcome::{Limits, Outcomes},
    ptx::{
        Conventions, Instruction, Program,
        orderings::{Change, changed, stronger, weaker},
        search,
    },
};
use testing::random;

fn outcomes(program: &Program) -> Outcomes {
    search::outcomes(program, Conventions::MANUAL, Limits::default())
}

/// Whether `more` allows every outcome that `less` allows; `None` if that is unknown.
fn allows_all(more: &Outcomes, less: &Outcomes) -> Option<bool> {
    (more.unknown.is_none() && less.unknown.is_none()).then(|| less.states.is_subset(&more.states))
}

/// Random programs, and our litmus tests, whose outcomes depend on orderings.
fn programs() -> impl Iterator<Item = (String, Program)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("litmus");
    let files = fs::read_dir(&folder).expect("our litmus tests").map(|entry| entry.expect("a file").path());
    let litmus = files.filter_map(|path| {
        let litmus = Litmus::read(&fs::read_to_string(&path).ok()?).ok()?;
        Some((litmus.name, litmus.program))
    });
    (0..400).map(|seed| (format!("seed {seed}"), random::program(seed))).chain(litmus)
}

#[test]
fn changes_are_monotone() {
    let (mut weakened, mut with_more, mut strengthened, mut with_less) = (0, 0, 0, 0);
    for (seed, program) in programs() {
        let original = outcomes(&program);
        for (thread, of) in program.threads.iter().enumerate() {
            for (index, statement) in of.code.iter().enumerate() {
                // If one use of a barrier is removed, the later uses of its threads belong to other phases: that is
                // another program.
                if matches!(statement.instruction, Instruction::Barrier(_)) {
                    continue;
                }
                let at = [(thread, index)];
                for change in weaker(&statement.instruction) {
                    let other = outcomes(&changed(&program, &at, &change));
                    let Some(allows) = allows_all(&other, &original) else { continue };
                    assert!(allows, "{seed}, P{thread} {index}: {change:?}");
                    weakened += 1;
                    with_more += usize::from(other.states.len() > original.states.len());
                }
                for change in stronger(&statement.instruction) {
                    // A barrier does not merely restrict the program: its threads wait for each other.
                    if change == Change::BarrierBefore {
                        continue;
                    }
                    let other = outcomes(&changed(&program, &at, &change));
                    let Some(allows) = allows_all(&original, &other) else { continue };
                    assert!(allows, "{seed}, P{thread} {index}: {change:?}");
                    strengthened += 1;
                    with_less += usize::from(other.states.len() < original.states.len());
                }
            }
        }
    }
    println!("{weakened} weaker, {with_more} with more outcomes; {strengthened} stronger, {with_less} with fewer");
    assert!(with_more > 300 && with_less > 100, "{with_more} {with_less}");
}
