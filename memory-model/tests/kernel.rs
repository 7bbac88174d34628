//! Functions of PTX modules in the model: a program whose threads are functions has the outcomes that it has as a litmus test.

use std::{collections::BTreeSet, fmt::Write};

use ptx_memory_model::{
    kernel::{Kernels, Test, compile},
    litmus,
    outcome::Limits,
    program::{Instruction, Value},
    ptx::{Conventions, Program, search},
};
use testing::random;

/// Each thread as a function that returns its registers, and what runs them.
fn functions(program: &Program) -> (String, String) {
    let mut ptx = String::from(".version 8.6\n.target sm_90\n.address_size 64\n");
    let mut words = String::new();
    for variable in &program.locations {
        writeln!(ptx, ".visible .global .align 8 .u64 {} = {};", variable.name, variable.initial).expect("a string");
        // What a condition names is part of the outcome.
        writeln!(words, "forall {} == 0", variable.name).expect("a string");
    }
    for (index, thread) in program.threads.iter().enumerate() {
        writeln!(ptx, ".visible .func (.param .align 8 .b8 result[64]) f{index}()\n{{").expect("a string");
        for register in &thread.registers {
            writeln!(ptx, "mov.u64 {}, {};", register.name, register.initial).expect("a string");
        }
        for statement in &thread.code {
            let text = litmus::instruction(program, thread, statement);
            let end = if matches!(statement.instruction, Instruction::Label(_)) { "" } else { ";" };
            writeln!(ptx, "{text}{end}").expect("a string");
        }
        for (at, register) in thread.registers.iter().filter(|register| register.observed).enumerate() {
            writeln!(ptx, "st.param.b64 [result+{}], {};", 8 * at, register.name).expect("a string");
        }
        writeln!(ptx, "ret;\n}}").expect("a string");
        let place = thread.place;
        let cluster = place.cluster.map(|cluster| format!(", cluster {cluster}")).unwrap_or_default();
        writeln!(words, "thread P{index} = f{index} @ cta {}{cluster}, gpu {}", place.cta, place.gpu)
            .expect("a string");
    }
    (ptx, words)
}

/// The outcomes, of which each is what registers and variables hold, by their names.
fn states(program: &Program) -> Option<BTreeSet<Vec<(String, Value)>>> {
    let outcomes = search::outcomes(program, Conventions::MANUAL, Limits::default());
    if outcomes.unknown.is_some() {
        return None;
    }
    let observed = program.observed().collect::<Vec<_>>();
    let mut counts = vec![0; program.threads.len()];
    let names: Vec<String> = observed
        .iter()
        .map(|(thread, _)| {
            counts[*thread] += 1;
            format!("P{thread}:{}", counts[*thread])
        })
        .chain(program.locations.iter().map(|variable| variable.name.clone()))
        .collect();
    let named = |state: &[Value]| {
        let mut named: Vec<_> = names.iter().cloned().zip(state.iter().copied()).collect();
        named.sort();
        named
    };
    Some(outcomes.states.iter().map(named).collect())
}

#[test]
fn functions_have_the_outcomes_of_litmus_tests() {
    let (mut compared, mut several) = (0, 0);
    for seed in 0..3_000 {
        let program = random::program(seed);
        if program.locations.iter().any(|variable| variable.alias.is_some()) {
            continue;
        }
        let (ptx, words) = functions(&program);
        let kernels: Kernels = ptx.parse().unwrap_or_else(|errors| panic!("{errors}\n{ptx}"));
        let tests = Test::of_words(&words).unwrap_or_else(|errors| panic!("{errors}\n{words}"));
        let compiled = compile(&kernels, &tests[0], Conventions::MANUAL, 4).unwrap_or_else(|e| panic!("{e}\n{ptx}"));
        let last = &compiled.last().expect("a condition").litmus.program;
        let (Some(expected), Some(found)) = (states(&program), states(last)) else { continue };
        assert_eq!(found, expected, "seed {seed}\n{ptx}\n{words}");
        compared += 1;
        several += usize::from(found.len() > 1);
    }
    println!("{compared} compared, {several} with several outcomes");
    assert!(compared > 1_500 && several > 500, "{compared} {several}");
}

/// A text in which lines are missing, doubled or exchanged, and words are others.
fn damaged(text: &str, random: &mut random::Random) -> String {
    const WORDS: [&str; 16] = [
        "0",
        "-1",
        "9223372036854775808",
        "0xffffffff",
        "x",
        "y",
        "%p",
        "r0",
        ".shared",
        "u8",
        "[x+",
        "]",
        "{",
        ";",
        "ret",
        "bra L",
    ];
    let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
    for _ in 0..1 + random.below(2) {
        let line = random.below(lines.len());
        match random.below(5) {
            0 => drop(lines.remove(line)),
            1 => lines.insert(line, lines[line].clone()),
            2 => {
                let other = random.below(lines.len());
                lines.swap(line, other);
            }
            _ => {
                let mut words: Vec<&str> = lines[line].split(' ').collect();
                let word = random.below(words.len());
                words[word] = WORDS[random.below(WORDS.len())];
                lines[line] = words.join(" ");
            }
        }
        if lines.is_empty() {
            break;
        }
    }
    lines.join("\n")
}

#[test]
fn damaged_texts_are_errors_or_tests() {
    let (mut compiled, mut refused) = (0, 0);
    for seed in 0..4_000 {
        let mut random = random::Random(seed + 1);
        let (ptx, words) = functions(&random::program(seed));
        let (ptx, words) = match seed % 4 {
            0 => (ptx, damaged(&words, &mut random)),
            _ => (damaged(&ptx, &mut random), words),
        };
        let (Ok(kernels), Ok(tests)) = (ptx.parse::<Kernels>(), Test::of_words(&words)) else {
            refused += 1;
            continue;
        };
        let Some(test) = tests.first() else { continue };
        match compile(&kernels, test, Conventions::MANUAL, 2) {
            Ok(tests) => {
                let limits = Limits { rounds: 2, choices: 2_000, ..Limits::default() };
                for test in &tests {
                    let program = &test.litmus.program;
                    let decided = search::decide(program, &test.litmus.condition, Conventions::MANUAL, limits);
                    let limit = decided.verdict.err();
                    limit.into_iter().for_each(|limit| drop(test.unknown(Conventions::MANUAL, 2, limit)));
                }
                compiled += 1;
            }
            Err(_) => refused += 1,
        }
    }
    println!("{compiled} tests, {refused} refused");
    assert!(compiled > 500 && refused > 500, "{compiled} {refused}");
}
