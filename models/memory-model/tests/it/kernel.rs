//! Functions of PTX modules in the model: a program whose threads are functions has the same outcomes as the equivalent
//! litmus test.

use std::{collections::BTreeSet, fmt::Write};

use ptx_memory_model::{
    kernel::{Kernels, Test, compile},
    litmus,
    outcome::Limits,
    program::{Instruction, Statement, Type, Value},
    ptx::{Conventions, Program, Proxy, Ptx, Thread, search},
};
use testing::random;

/// A statement of a litmus test in PTX; `None` if PTX has no such instruction, or the model does not support it in
/// kernels.
fn ptx_of(program: &Program, thread: &Thread, statement: &Statement<Ptx>) -> Option<String> {
    let text = litmus::instruction(program, thread, statement);
    let address = match &statement.instruction {
        Instruction::Vector(_) => return None,
        Instruction::Load { access, .. } | Instruction::Store { access, .. } if access.proxy != Proxy::Generic => {
            return None;
        }
        Instruction::Load { .. } => 1,
        Instruction::Store { .. } => 0,
        Instruction::Rmw { .. } => usize::from(text.contains("atom")),
        Instruction::Alu { .. } => usize::MAX,
        Instruction::Branch { when: Some(_), .. } => {
            let (cmp, operands) = text.strip_prefix('b')?.split_once(' ')?;
            let (operands, target) = operands.rsplit_once(", ")?;
            return Some(format!("setp.{cmp}.u64 %taken, {operands};\n@%taken bra {target};"));
        }
        Instruction::Barrier(_) => {
            return text.strip_prefix("bar.cta.").and_then(|text| {
                let (part, operands) = text.split_once(" 0, ")?;
                Some(format!("bar.{part} {operands};"))
            });
        }
        Instruction::Label(_) => return Some(text),
        _ => return Some(text + ";"),
    };
    let (guard, text) = match text.split_once(' ') {
        Some((guard, rest)) if guard.starts_with('@') => (format!("{guard} "), rest.to_owned()),
        _ => (String::new(), text),
    };
    let (mnemonic, operands) = text.split_once(' ')?;
    let ty = if mnemonic.split('.').any(|word| word.parse::<Type>().is_ok()) { "" } else { ".u64" };
    let bracketed = |(index, operand): (usize, &str)| match operand {
        operand if index == address && !operand.starts_with('[') => format!("[{operand}]"),
        operand => operand.to_owned(),
    };
    let operands: Vec<String> = operands.split(", ").enumerate().map(bracketed).collect();
    Some(format!("{guard}{mnemonic}{ty} {};", operands.join(", ")))
}

/// Each thread as a function that returns its registers, and the test that runs them; `None` if PTX has no such
/// functions.
fn functions(program: &Program) -> Option<(String, String)> {
    let mut ptx = String::from(".version 8.6\n.target sm_90\n.address_size 64\n");
    let mut words = String::new();
    for variable in &program.locations {
        writeln!(ptx, ".visible .global .align 8 .u64 {} = {};", variable.name, variable.initial).expect("a string");
        // A variable that a condition names is part of the outcome.
        writeln!(words, "forall {} == 0", variable.name).expect("a string");
    }
    for (index, thread) in program.threads.iter().enumerate() {
        writeln!(ptx, ".visible .func (.param .align 8 .b8 result[64]) f{index}()\n{{").expect("a string");
        for register in &thread.registers {
            writeln!(ptx, "mov.u64 {}, {};", register.name, register.initial).expect("a string");
        }
        for statement in &thread.code {
            writeln!(ptx, "{}", ptx_of(program, thread, statement)?).expect("a string");
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
    Some((ptx, words))
}

/// The outcomes. Each is a list of the names and values of registers and variables.
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
        let Some((ptx, words)) = functions(&program) else { continue };
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

/// A damaged text: lines are missing, duplicated or exchanged, and words are replaced.
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
        let Some((ptx, words)) = functions(&random::program(seed)) else { continue };
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

/// An instruction that the model lacks does not give a value that an answer could depend on.
#[test]
fn a_result_that_is_not_known() {
    for instruction in ["createpolicy.fractional.L2::evict_last.b64 %rd1, 1.0;", "div.u64 %rd1, %rd2, %rd3;"] {
        let ptx = format!(
            ".version 8.6\n.target sm_90\n.address_size 64\n.visible .func (.param .b64 result) f() {{\n\
             .reg .b64 %rd<4>;\n{instruction}\nst.param.b64 [result], %rd1;\nret;\n}}\n"
        );
        let kernels: Kernels = ptx.parse().expect("a module");
        let tests = Test::of_words("thread P0 = f\nforall P0:return == 0\n").expect("a test");
        let compiled = compile(&kernels, &tests[0], Conventions::MANUAL, 2).expect("a thread");
        assert_eq!(states(&compiled[0].litmus.program), None, "{instruction}");
    }
}
