//! All programs of two threads with up to five instructions: the check compared with the memory model.
//!
//! - The check reports each race of the model: as an error, as a warning, or as not checked.
//! - The check reports no error if the model has no race.
//! - Each error has a litmus test.
//! - The remedies are sufficient and necessary: after their insertion the model has no race, and without any of them it
//!   has one.
//!
//! The check does not cover races of two synchronous accesses.
//!
//! The machine that runs kernels on the CPU is compared with the model, too.
//!
//! `PROGRAMS_SHARD=K/N` checks every N-th program from the K-th on, instead of a sample: `1/1` checks all of them.

mod alphabet;
mod compare;
mod oracle;
mod program;

use std::{
    env,
    sync::{Arc, Mutex},
};

use compare::Counts;
use libtest_mimic::{Arguments, Trial};
use testing::{ASSEMBLERS, target, trial};

/// The number of parts in which the programs are checked in parallel.
const PARTS: u64 = 8;
/// The sample has all programs with at most this number of instructions.
const SHORT: u32 = 3;
/// The step between the longer programs of the sample.
const STRIDE: u64 = 2_503;

/// The numbers of programs: all below `below`, and then one in each step.
#[derive(Clone, Copy)]
struct Numbers {
    below: u64,
    from: u64,
    stride: u64,
}

impl Numbers {
    fn all(self) -> impl Iterator<Item = u64> {
        (0..self.below).chain((self.from..program::count(program::LENGTH)).step_by(self.stride as usize))
    }
}

/// Parses `K/N`: every N-th program from the K-th on.
fn shard(words: &str) -> Option<Numbers> {
    let (k, n) = words.split_once('/')?;
    let (k, n): (u64, u64) = (k.parse().ok()?, n.parse().ok()?);
    (1..=n).contains(&k).then_some(Numbers { below: 0, from: k - 1, stride: n })
}

fn main() {
    let arguments = Arguments::from_args();
    let numbers = match env::var("PROGRAMS_SHARD") {
        Ok(words) => shard(&words).expect("PROGRAMS_SHARD is K/N, as 1/4"),
        Err(_) => {
            let stride = STRIDE * testing::stride(6) as u64;
            Numbers { below: program::count(SHORT), from: program::count(SHORT), stride }
        }
    };
    let total = Arc::new(Mutex::new(Counts::default()));
    let trials = (0..PARTS).map(|part| {
        let total = total.clone();
        Trial::test(format!("programs, part {} of {PARTS}", part + 1), move || {
            let mut counts = Counts::default();
            numbers.all().skip(part as usize).step_by(PARTS as usize).for_each(|number| counts.compare(number));
            let result = counts.result();
            total.lock().map_err(|_| "another part has failed")?.add(&counts);
            result
        })
    });
    let assembler = ASSEMBLERS.into_iter().find(|assembler| assembler.name == "ptxas-13.5").expect("one of ours");
    let executed = Trial::test("programs, executed", move || oracle::compare(numbers.all()));
    let assembled = trial("ptxas takes the instructions".into(), assembler.missing(), move || {
        let all = [(0..alphabet::ALPHABET.len()).collect(), Vec::new()];
        assembler.assemble(&target("sm_107a", Some("ptx94")), program::Text::new(&all).kernel().as_bytes())
    });
    let conclusion = libtest_mimic::run(&arguments, trials.chain([executed, assembled]).collect());
    if let Ok(total) = total.lock() {
        println!("{total}");
    }
    conclusion.exit();
}
