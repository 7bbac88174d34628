//! Measures the litmus tests of cuda-litmus, and compares the verdicts with those of the study: the tests a second in
//! which the tests are read, in which they are read and PTX has a verdict, and in which both models have one.
//!
//! `ROUNDS` is the number of times that each test runs. `STAGE` names the only stage that runs, so that
//! `valgrind --tool=callgrind` counts its instructions. The stage `generate` counts the rest of the program.

use std::{env, error::Error, hint::black_box, time::Instant};

use ptx_memory_model::{
    litmus::Litmus,
    outcome::Limits,
    ptx::{Conventions, search},
};

#[path = "../tests/cuda_litmus/mod.rs"]
mod cuda_litmus;

/// The work on a test; each later stage includes the earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Generate,
    Read,
    Ptx,
    Both,
}

impl Stage {
    const ALL: [Self; 4] = [Self::Generate, Self::Read, Self::Ptx, Self::Both];

    /// Judges a test, and compares the verdicts.
    fn run(self, test: &cuda_litmus::Test) -> Result<(), Box<dyn Error>> {
        if self == Self::Generate {
            return Ok(());
        }
        let litmus = black_box(Litmus::read(black_box(&test.text))?);
        let study = [test.verdict.is_allowed, test.verdict.is_allowed_strengthened];
        let models = self as usize - Self::Read as usize;
        for (strengthened, is_allowed) in [false, true].into_iter().zip(study).take(models) {
            let conventions = Conventions { strengthened, ..Conventions::MANUAL };
            let found = search::decide(&litmus.program, &litmus.condition, conventions, Limits::default());
            if found.verdict != Ok(is_allowed) {
                return Err(format!("expected {}, found {:?}", test.row(), found.verdict).into());
            }
        }
        Ok(())
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let rounds = env::var("ROUNDS").map_or(Ok(1), |rounds| rounds.parse())?;
    let only = env::var("STAGE").ok();
    let tests = cuda_litmus::tests()?;
    for stage in Stage::ALL {
        if only.as_ref().is_some_and(|only| !only.eq_ignore_ascii_case(&format!("{stage:?}"))) {
            continue;
        }
        let start = Instant::now();
        for test in (0..rounds).flat_map(|_| &tests) {
            stage.run(test)?;
        }
        let rate = (rounds * tests.len()) as f64 / start.elapsed().as_secs_f64();
        println!("{stage:?}: {} tests, {rate:.0} tests a second", tests.len());
    }
    Ok(())
}
