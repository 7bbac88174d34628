//! Measures the time to decide random tests of four threads with six operations each.

use std::time::{Duration, Instant};

use ptx_memory_model::{
    outcome::Limits,
    ptx::{Conventions, search},
};
use testing::random;

fn main() {
    let number =
        |name: &str, default: u64| std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(default);
    let tests = number("TESTS", 200);
    let limits =
        Limits { time: Some(Duration::from_secs(number("SECONDS", 10))), choices: u64::MAX, ..Limits::default() };
    let mut times = Vec::new();
    let (mut holds, mut unknown) = (0, 0);
    for seed in number("FIRST", 0)..tests {
        let litmus = random::wide(seed);
        let start = Instant::now();
        let found = search::decide(&litmus.program, &litmus.condition, Conventions::MANUAL, limits);
        times.push((start.elapsed(), seed));
        holds += usize::from(found.verdict == Ok(true));
        unknown += usize::from(found.verdict.is_err());
    }
    times.sort_unstable();
    let at = |share: f64| times[((times.len() - 1) as f64 * share) as usize];
    println!("{tests} tests: {holds} hold, {unknown} are unknown");
    println!("median {:?}, p90 {:?}, p99 {:?}, max {:?}", at(0.5).0, at(0.9).0, at(0.99), at(1.0));
}
