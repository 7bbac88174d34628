//! The comparison of the machine with the model for asynchronous operations: copies, their groups, mbarriers, and
//! fences between proxies.

mod check;
mod generate;
mod letters;
mod program;

use std::{collections::BTreeMap, ops::Range, time::Instant};

use libtest_mimic::Failed;

use self::program::Program;
use crate::check::Seen;

/// The number of runs of a program.
const RUNS: u64 = 24;

/// Seeds for which the machine and the model still disagree, each with the behavior that the machine lacks.
const OPEN: [(u64, &str); 3] = [
    (2309, "a completion hands on operations that completed before the operation started"),
    (3063, "`cp.async.mbarrier.arrive` arrives at once, so a later `mbarrier.inval` is ordered after it"),
    (5939, "a thread that observes the addition of `red.async` is not ordered after it"),
];

/// Checks the programs of a range of seeds, and reports all errors together.
pub fn programs(seeds: Range<u64>) -> Result<(), Failed> {
    compare(seeds.filter(|seed| OPEN.iter().all(|(open, _)| open != seed)).map(generate::program))
}

/// Checks all idioms without changes.
pub fn idioms() -> Result<(), Failed> {
    let all = generate::IDIOMS.into_iter().chain(generate::OF_CLUSTERS).chain(generate::ONCE_WRONG);
    compare(all.map(|(name, text)| Program::read(name, text)))
}

fn compare(all: impl Iterator<Item = Program>) -> Result<(), Failed> {
    let start = Instant::now();
    let (mut wrong, mut unknown, mut count, mut racy) = (Vec::new(), BTreeMap::<String, usize>::new(), 0, 0);
    let mut total = Seen::default();
    for program in all {
        match check::check(&program, RUNS) {
            Err(what) => wrong.push(match wrong.len() {
                // The first failing programs are minimized.
                0..12 => check::smallest(&program, 2 * RUNS).err().unwrap_or(what),
                _ => what,
            }),
            Ok(None) => {
                *unknown.entry(program.name.split(" (").next().unwrap_or_default().to_owned()).or_default() += 1
            }
            Ok(Some(seen)) => {
                count += 1;
                racy += usize::from(seen.racy > 0);
                total.add(seen);
            }
        }
    }
    let none: usize = unknown.values().sum();
    let seconds = start.elapsed().as_secs_f64();
    eprintln!("{count} programs, {racy} may race: {total}; {none} that the model does not answer; {seconds:.1} s");
    let number = wrong.len();
    wrong.truncate(12);
    match number {
        0 => Ok(()),
        number => Err(format!("{number} of {} programs differ: {}", count + number, wrong.join("\n")).into()),
    }
}
