//! Tests that the machine agrees with the memory model of PTX on small programs: the machine has no outcome that the
//! model forbids, and it reports a race if and only if the model has a race in an execution with the same values.

mod asynchronous;
mod cases;
mod check;
mod generate;
mod program;

use std::{collections::BTreeMap, time::Instant};

use check::Seen;
use libtest_mimic::{Arguments, Failed, Trial};

/// The number of runs of a program.
const RUNS: u64 = 48;

/// Checks the programs of a range of seeds, and reports all errors together.
fn programs(seeds: std::ops::Range<u64>) -> Result<(), Failed> {
    let start = Instant::now();
    let mut all: BTreeMap<String, (usize, Seen)> = BTreeMap::new();
    let (mut wrong, mut unknown, mut count) = (Vec::new(), 0, 0);
    for seed in seeds {
        let case = generate::program(seed);
        match check::check(&case, RUNS) {
            Err(what) => wrong.push(match wrong.len() {
                // The first failing programs are minimized.
                0..6 => check::smallest(&case, 4 * RUNS).err().unwrap_or(what),
                _ => what,
            }),
            Ok(None) => unknown += 1,
            Ok(Some(seen)) => {
                count += 1;
                let shape = case.name.split(" (").next().unwrap_or_default().to_owned();
                let (programs, sum) = all.entry(shape).or_default();
                *programs += 1;
                sum.add(seen);
            }
        }
    }
    let mut total = Seen::default();
    for (shape, (programs, seen)) in &all {
        // The result of a shape is printed on request, or if the shape has many programs.
        if *programs >= 100 || std::env::var_os("MODEL_COUNT").is_some() {
            eprintln!("{shape}: {programs} programs, {seen}");
        }
        total.add(*seen);
    }
    let seconds = start.elapsed().as_secs();
    eprintln!("{count} programs, {total}; {unknown} that the model does not answer; {seconds} s");
    let number = wrong.len();
    wrong.truncate(6);
    match number {
        0 => Ok(()),
        number => Err(format!("{number} of {count} programs differ: {}", wrong.join("\n")).into()),
    }
}

/// Checks a named program, which must show the given percentage of its outcomes.
fn case((name, text, share): (&str, &str, usize)) -> Result<(), Failed> {
    let seen = check::check(&cases::read(name, text), 8 * RUNS)?.ok_or("the model has no answer")?;
    eprintln!("{name}: {seen}");
    match 100 * seen.had < share * seen.allowed {
        true => Err(format!("{seen}, and not {share}%").into()),
        false => Ok(()),
    }
}

fn main() {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = arguments.test_threads.or(Some(2));
    let number = |name: &str| std::env::var(name).ok().and_then(|text| text.parse().ok());
    let trials = match (number("MODEL_FIRST"), number("MODEL_COUNT")) {
        (None, None) => {
            let part =
                |first: u64, end: u64| Trial::test(format!("programs {first} to {end}"), move || programs(first..end));
            let rest = |number: u64| testing::left_to_all(part(2_000 + number * 6_000, 8_000 + number * 6_000));
            let idioms = Trial::test("idioms with asynchronous operations", asynchronous::idioms);
            let mutants = |first: u64, end: u64| {
                let name = format!("asynchronous programs {first} to {end}");
                Trial::test(name, move || asynchronous::programs(first..end))
            };
            let rest_of_mutants =
                |number: u64| testing::left_to_all(mutants(500 + number * 2_000, 2_500 + number * 2_000));
            let named = cases::CASES.map(|of| Trial::test(of.0, move || case(of)));
            let own = [part(0, 1_000), part(1_000, 2_000), idioms, mutants(0, 250), mutants(250, 500)];
            named.into_iter().chain(own).chain((0..8).map(rest)).chain((0..5).map(rest_of_mutants)).collect()
        }
        (first, count) => {
            let first = first.unwrap_or(0);
            let end = first + count.unwrap_or(1);
            vec![Trial::test(format!("programs {first} to {end}"), move || programs(first..end))]
        }
    };
    libtest_mimic::run(&arguments, trials).exit()
}
