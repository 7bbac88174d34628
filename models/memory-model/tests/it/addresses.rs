//! An address that depends on reads is equivalent to a branch for each possible address.

use ptx_memory_model::{
    litmus::Litmus,
    outcome::Limits,
    ptx::{Conventions, search},
    states::States,
};
use testing::random::Random;

/// The cells of a thread in two forms: with computed addresses, and with branches.
fn thread(random: &mut Random, number: usize) -> [Vec<String>; 2] {
    let [mut computed, mut branched] = [const { Vec::<String>::new() }; 2];
    let sem = |random: &mut Random, ordered: &str| match random.below(3) {
        0 => ".weak".to_owned(),
        1 => ".relaxed.gpu".to_owned(),
        _ => format!(".{ordered}.gpu"),
    };
    for step in 0..2 + random.below(2) {
        let index = ["x", "y"][random.below(2)];
        if random.below(3) == 0 {
            let cell = format!("st{} {index}, {}", sem(random, "release"), random.below(2));
            for cells in [&mut computed, &mut branched] {
                cells.push(cell.clone());
            }
            continue;
        }
        let load = format!("ld{} i{step}, {index}", sem(random, "acquire"));
        for cells in [&mut computed, &mut branched] {
            cells.push(load.clone());
        }
        let value = 2 + number * 8 + step;
        let (before, after) = match random.below(3) {
            0 => (format!("ld{} r{step}, ", sem(random, "acquire")), String::new()),
            1 => (format!("st{} ", sem(random, "release")), format!(", {value}")),
            _ => (format!("atom.relaxed.gpu.exch r{step}, "), format!(", {value}")),
        };
        computed.push(format!("setp.ne.u64 %q{step}, i{step}, 0"));
        computed.push(format!("selp.b64 %p{step}, b, a, %q{step}"));
        computed.push(format!("{before}[%p{step}]{after}"));
        branched.push(format!("bne i{step}, 0, other{step}"));
        branched.push(format!("{before}a{after}"));
        branched.push(format!("bra end{step}"));
        branched.push(format!("other{step}:"));
        branched.push(format!("{before}b{after}"));
        branched.push(format!("end{step}:"));
    }
    [computed, branched]
}

fn states(threads: &[Vec<String>]) -> Option<States> {
    let rows = threads.iter().map(Vec::len).max().unwrap_or_default();
    let mut text = String::from("PTX t\n{ a=0; b=0; x=0; y=0;");
    // The registers have the same order in both forms.
    for thread in 0..threads.len() {
        (0..3).for_each(|step| text += &format!(" P{thread}:i{step}=0; P{thread}:r{step}=0;"));
    }
    let places: Vec<String> = (0..threads.len()).map(|thread| format!("P{thread}@cta {thread},gpu 0")).collect();
    text += &format!(" }}\n{};\n", places.join(" | "));
    for row in 0..rows {
        let cells: Vec<&str> = threads.iter().map(|cells| cells.get(row).map_or("", String::as_str)).collect();
        text += &format!("{};\n", cells.join(" | "));
    }
    text += "exists (x == 0)";
    let litmus = Litmus::read(&text).unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    let outcomes = search::outcomes(&litmus.program, Conventions::MANUAL, Limits::default());
    outcomes.unknown.is_none().then_some(outcomes.states)
}

#[test]
fn computed_addresses_are_branches() {
    let (mut compared, mut several) = (0, 0);
    for seed in 0..1_500 {
        let mut random = Random(seed);
        let threads: Vec<[Vec<String>; 2]> = (0..2).map(|number| thread(&mut random, number)).collect();
        let [computed, branched] = [0, 1].map(|which| threads.iter().map(|of| of[which].clone()).collect::<Vec<_>>());
        let (Some(computed), Some(expected)) = (states(&computed), states(&branched)) else { continue };
        assert!(computed.is_subset(&expected) && expected.is_subset(&computed), "seed {seed}: {threads:?}");
        compared += 1;
        several += usize::from(expected.len() > 2);
    }
    println!("{compared} compared, {several} with more than two outcomes");
    assert!(compared > 1_000 && several > 300, "{compared} {several}");
}
