//! Witnesses and contradictions.

use std::{fs, path::Path};

use ptx_memory_model::{
    condition::{Atom, Formula},
    litmus::Litmus,
    outcome::{Layout, Limits},
    ptx::{
        Conventions,
        axioms::{Axiom, Judged},
        explain::{Explanation, explain},
        search,
    },
};
use testing::random;

fn own(name: &str) -> Litmus {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("litmus").join(name).with_extension("litmus");
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Litmus::read(&text).unwrap_or_else(|error| panic!("{name}:{error}"))
}

fn explanation(litmus: &Litmus) -> Explanation {
    explain(&litmus.program, &litmus.condition.formula, Conventions::MANUAL, Limits::default())
}

/// Checks the axiom and the cycle, where each event is given by its thread and its instruction.
#[track_caller]
fn forbidden(name: &str, axiom: Axiom, relations: &[&str]) {
    let litmus = own(name);
    let Explanation::Forbidden(found) = explanation(&litmus) else { panic!("{name}: no contradiction") };
    let mut names: Vec<&str> = found.cycle.iter().map(|(_, name)| *name).collect();
    let start = (0..names.len()).min_by_key(|&start| [&names[start..], &names[..start]].concat()).unwrap_or(0);
    names.rotate_left(start);
    assert_eq!((found.axiom, &names[..]), (axiom, relations), "{name}");
}

#[test]
fn cycles() {
    forbidden("SB-sc", Axiom::Causality, &["fr", "po", "sc", "po"]);
    forbidden("MP", Axiom::Causality, &["fr", "po", "sync", "po"]);
    forbidden("MP-fence-sc", Axiom::Causality, &["fr", "po", "sync", "po"]);
    forbidden("CoRR", Axiom::Causality, &["fr", "observation", "po"]);
    forbidden("LB-ra", Axiom::Causality, &["po", "rf", "po", "sync"]);
    forbidden("LB-branch", Axiom::NoThinAir, &["dependency", "rf", "dependency", "rf"]);
    forbidden("2+2W-sc", Axiom::Coherence, &["co", "po", "sc", "po"]);
}

/// An explanation is found, or the search ends, long before all orders of the fences are tried.
#[test]
fn many_fences() {
    let thread = |mine: usize| {
        let stores = (1..=3).flat_map(|value| [format!("st.relaxed.gpu x{mine}, {value}"), "fence.sc.gpu".into()]);
        stores.chain([format!("ld.relaxed.gpu r0, x{}", (mine + 1) % 3)]).collect::<Vec<_>>()
    };
    let threads: Vec<_> = (0..3).map(thread).collect();
    let rows = (0..7).map(|row| format!("{} | {} | {};\n", threads[0][row], threads[1][row], threads[2][row]));
    let litmus = Litmus::read(&format!(
        "PTX fences\n{{ x0=0; x1=0; x2=0; }}\nP0@cta 0 | P1@cta 1 | P2@cta 2;\n{}\
         exists (P0:r0 == 0 /\\ P1:r0 == 0 /\\ P2:r0 == 0)",
        rows.collect::<String>()
    ));
    let Explanation::Forbidden(found) = explanation(&litmus.expect("a test")) else { panic!("no contradiction") };
    assert_eq!(found.axiom, Axiom::Causality);
}

/// Every outcome of generated programs has a witness that the axioms allow, and every other state a contradiction or no
/// candidate.
#[test]
fn generated() {
    let (mut witnesses, mut contradictions) = (0, 0);
    for seed in 0..600 {
        let program = random::program(seed);
        let layout = Layout::new(&program);
        let found = search::outcomes(&program, Conventions::MANUAL, Limits::default());
        for state in found.states.iter() {
            let witness = search::witness(&program, Conventions::MANUAL, Limits::default(), &|other| other == state);
            let witness = witness.unwrap_or_else(|| panic!("seed {seed}: no witness of {state:?}"));
            assert_eq!(&*witness.state, state);
            assert_eq!(Judged::new(&witness.execution, Conventions::MANUAL).forbidden(), None, "seed {seed}");
            witnesses += 1;
        }
        // States that differ from an outcome in one register.
        let registers: Vec<_> = layout.registers().to_vec();
        for index in 0..registers.len().min(2) {
            let Some(near) = found.states.iter().next() else { continue };
            let mut state = near.to_vec();
            state[index] = 1 - state[index].min(1);
            if found.states.contains(&state[..]) {
                continue;
            }
            let equal = |&(thread, register): &(usize, _), value| {
                Formula::Equal(Atom::Register { thread, register }, Atom::Value(value))
            };
            let formulas = registers.iter().zip(&state).map(|(register, &value)| equal(register, value));
            let formula = formulas.fold(Formula::True, |all, one| Formula::And(Box::new(all), Box::new(one)));
            if let Explanation::Forbidden(found) = explain(&program, &formula, Conventions::MANUAL, Limits::default()) {
                assert!(!found.cycle.is_empty());
                assert!(Judged::new(&found.execution, Conventions::MANUAL).forbidden().is_some(), "seed {seed}");
                contradictions += 1;
            }
        }
    }
    println!("{witnesses} witnesses, {contradictions} contradictions");
    assert!(contradictions > 20);
}
