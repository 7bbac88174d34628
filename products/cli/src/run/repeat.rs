//! The command that repeats a run with one of many seeds.

use std::env;

use ptx_atomics::execute::described::comment::quoted;

/// The options that choose seeds, each with a value.
const SEEDS: [&str; 2] = ["--seeds", "--seed"];

/// This command with one seed.
pub fn command(seed: u64) -> String {
    render_command(env::args_os().skip(1).map(|argument| argument.to_string_lossy().into_owned()), seed)
}

fn render_command(arguments: impl Iterator<Item = String>, seed: u64) -> String {
    let all: Vec<String> = arguments.collect();
    // The arguments after `--` are for a compiler.
    let end = all.iter().position(|argument| argument == "--").unwrap_or(all.len());
    let (options, after) = all.split_at(end);
    let mut words = vec!["ptx-atomics".to_owned()];
    let mut options = options.iter();
    while let Some(option) = options.next() {
        match option.split_once('=').map_or(&**option, |(name, _)| name) {
            name if !SEEDS.contains(&name) => words.push(quoted(option)),
            name if name == option => drop(options.next()),
            _ => {}
        }
    }
    words.push(format!("--seed {seed}"));
    words.extend(after.iter().map(|word| quoted(word)));
    words.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(arguments: &[&str], expected: &str) {
        assert_eq!(render_command(arguments.iter().map(|word| (*word).to_owned()), 7), expected);
    }

    #[test]
    fn commands() {
        check(&["run", "k.ptx", "--seeds", "16", "--grid", "4"], "ptx-atomics run k.ptx --grid 4 --seed 7");
        check(&["run", "--seeds=16", "--seed=3", "k.ptx"], "ptx-atomics run k.ptx --seed 7");
        check(
            &["run", "a b.cu", "--arg", "x:u8[1]", "--", "--seeds", "1"],
            "ptx-atomics run 'a b.cu' --arg 'x:u8[1]' --seed 7 -- --seeds 1",
        );
        check(&["run", "--expect", "x == 'y'"], r"ptx-atomics run --expect 'x == '\''y'\''' --seed 7");
    }
}
