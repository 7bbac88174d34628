//! Threads of the host alone have the outcomes of herd7's models of x86 and AArch64.
//!
//! `herd7.tsv` has the number of final states that herd7 finds for each generated test, with a checksum of the states.
//! If herd7 is installed, it runs again; `HERD7_BLESS=1` rewrites the file.

mod generate;
mod herd;

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use generate::{Generated, Host, SHAPES, at_random, of_shape};
use libtest_mimic::{Arguments, Failed, Trial};
use ptx_memory_model::{
    condition::Quantifier,
    litmus::Litmus,
    outcome::{Layout, Limits},
    program::{Location, Register},
    ptx::{
        Conventions,
        explain::{Explanation, explain},
        search,
    },
};

/// The number of random tests for each processor.
const RANDOM: u64 = 512;

/// All final states, as text.
type States = BTreeSet<String>;

fn main() {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = arguments.test_threads.or(Some(2));
    let mut trials = Vec::new();
    let known = fs::read_to_string(data()).expect("it is there");
    assert!(known.lines().count() == 64, "herd7.tsv has {} lines", known.lines().count());
    for (host, name) in [(Host::X86, "x86"), (Host::AArch64, "aarch64")] {
        for set in SHAPES.iter().map(|shape| shape.name).chain(["random"]) {
            // herd7 needs hours for some sets; the file does not contain those.
            if known.lines().any(|line| line.starts_with(&format!("{name}\t{set}\t"))) {
                trials.push(Trial::test(format!("{name} {set}: as herd7 had it"), move || kept(host, name, set)));
            }
            let asked = Trial::test(format!("{name} {set}: as herd7 has it"), move || asked(host, name, set));
            trials.push(asked.with_ignored_flag(herd::program().is_none()));
        }
    }
    trials.push(Trial::test("errors have places", errors));
    for path in patterns() {
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        trials.push(Trial::test(format!("pattern {name}"), move || pattern(&path)));
    }
    libtest_mimic::run(&arguments, trials).exit();
}

/// The error in a cell, with its position; cells begin at the third line.
fn errors() -> Result<(), Failed> {
    let check = |processor: &str, cell: &str, expected: &str| {
        let text = format!("PTX t\n{{ x=0; }}\n P0@{processor} ;\n {cell} ;\nexists (x == 0)\n");
        let found = Litmus::read(&text).map_or_else(|error| error.to_string(), |litmus| litmus.to_string());
        assert!(found.starts_with(expected), "{cell}: {found}");
    };
    for (processor, cell, expected) in [
        ("x86", "MOV W0,[x]", "4:6: `W0` is not a register of x86"),
        ("x86", "MOV EAX,x", "4:10: `x` is neither a register nor a number"),
        ("x86", "MOV EAX", "4:2: `MOV` takes 2 operands here, not 1"),
        ("x86", "SFENCE", "4:2: x86-TSO keeps writes in order by itself: leave `SFENCE` out"),
        ("x86", "ADD [x],EAX", "4:2: without `LOCK`, `ADD` on memory is a read and a write: write `LOCK ADD`"),
        ("x86", "LDR W0,[x]", "4:2: `LDR` is not an instruction of a litmus test on x86-64"),
        ("x86", "JE gone", "4:2: P0 has no label `gone`"),
        ("aarch64", "LDXR W0,[x]", "4:2: an exclusive pair may fail: write an atomic instruction of LSE"),
        ("aarch64", "DMB NSH", "4:6: the model has no `DMB NSH`: write `DMB ISH`"),
        ("aarch64", "LDR W0,x", "4:9: expected an address in brackets (`[x]`), found `x`"),
        ("aarch64", "LDR W31,[x]", "4:6: `W31` is not a register of aarch64"),
        ("aarch64", "LDR W0,[x,W1,SXTX]", "4:15: expected `SXTW` or `UXTW`, found `SXTX`"),
        ("aarch64", "MFENCE", "4:2: `MFENCE` is not an instruction of a litmus test on AArch64"),
        ("aarch64", "st.weak x, 1", "4:2: `ST.WEAK` is not an instruction of a litmus test on AArch64"),
        ("riscv 0", "NOP", "3:5: expected `cta`, `cluster`, `gpu`, `x86`, `aarch64` or `nic`, found `riscv`"),
    ] {
        check(processor, cell, expected);
    }
    Ok(())
}

/// The patterns of the book.
fn patterns() -> Vec<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../examples/litmus/host");
    let entries = fs::read_dir(folder).expect("there are patterns").map(|entry| entry.expect("a file").path());
    let mut all: Vec<PathBuf> = entries.collect();
    all.sort();
    assert!(all.len() > 20, "there are {} patterns", all.len());
    all
}

/// A pattern holds, and its printed form is the same test.
fn pattern(path: &Path) -> Result<(), Failed> {
    let litmus = Litmus::read(&fs::read_to_string(path)?)?;
    assert_eq!(Litmus::read(&litmus.to_string())?, litmus, "the printed text is another test: {litmus}");
    let limits = Limits::default();
    let found = search::outcomes(&litmus.program, Conventions::MANUAL, limits);
    assert_eq!(found.verdict(&litmus.condition, &Layout::new(&litmus.program)), Ok(true), "{litmus}");
    let decided = search::decide(&litmus.program, &litmus.condition, Conventions::MANUAL, limits);
    assert_eq!(decided.verdict, Ok(true), "decided otherwise: {litmus}");
    if litmus.condition.quantifier == Quantifier::NotExists {
        let why = explain(&litmus.program, &litmus.condition.formula, Conventions::MANUAL, limits);
        assert!(matches!(why, Explanation::Forbidden(_)), "no reason was found for the forbidden outcome: {litmus}");
    }
    Ok(())
}

/// The tests of a set.
fn tests(host: Host, set: &str) -> Vec<Generated> {
    match SHAPES.iter().find(|shape| shape.name == set) {
        Some(shape) => of_shape(host, shape),
        None => (0..RANDOM).map(|seed| at_random(host, seed)).collect(),
    }
}

/// The final states that the model computes.
fn ours(test: &Generated) -> Result<States, Failed> {
    let text = test.text(false);
    let litmus = Litmus::read(&text).map_err(|error| format!("{text}{error}"))?;
    let again = Litmus::read(&litmus.to_string()).map_err(|error| format!("{litmus}{error}"))?;
    assert_eq!(litmus, again, "the printed text is another test: {litmus}");
    let layout = Layout::new(&litmus.program);
    let found = search::outcomes(&litmus.program, Conventions::MANUAL, Limits::default());
    if let Some(limit) = found.unknown {
        return Err(format!("{text}{limit}").into());
    }
    let register = |thread: usize, name: &str| {
        let name = herd::long(name);
        let registers = &litmus.program.threads[thread].registers;
        let index = registers.iter().position(|of| of.name == name).expect("it was read into");
        Register(index as u16)
    };
    let state = |values: &[u64]| {
        let registers = test.registers().map(|(thread, name)| {
            let value = layout.register(values, thread, register(thread, name)).expect("it is observed");
            format!("{thread}:{name}={value};")
        });
        let memory = test.variables.iter().map(|x| {
            let at = litmus.program.locations.iter().position(|of| of.name == x.to_string()).expect("it is one");
            let location = Location(at as u16);
            format!("{x}={};", layout.location(values, location).expect("it is one"))
        });
        registers.chain(memory).collect::<Vec<_>>().join(" ")
    };
    Ok(found.states.iter().map(state).collect())
}

fn data() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/host/herd7.tsv")
}

/// The number of states of each test of a set, and a checksum of all of them.
fn line(name: &str, set: &str, states: &[States]) -> String {
    let counts = states.iter().map(|states| states.len().to_string()).collect::<Vec<_>>().join(" ");
    // FNV-1a.
    let text = states.iter().flatten().flat_map(|state| state.bytes());
    let sum = text.fold(0xcbf2_9ce4_8422_2325_u64, |sum, byte| (sum ^ u64::from(byte)).wrapping_mul(0x100_0000_01b3));
    format!("{name}\t{set}\t{sum:016x}\t{counts}")
}

fn kept(host: Host, name: &str, set: &str) -> Result<(), Failed> {
    let tests = tests(host, set);
    let states = tests.iter().map(ours).collect::<Result<Vec<_>, _>>()?;
    let known = fs::read_to_string(data())?;
    let expected = known.lines().find(|line| line.starts_with(&format!("{name}\t{set}\t")));
    let expected = expected.ok_or("herd7.tsv has no line for the test")?;
    let found = line(name, set, &states);
    if found == expected {
        return Ok(());
    }
    let counts =
        |line: &str| line.rsplit('\t').next().unwrap_or_default().split(' ').map(str::to_owned).collect::<Vec<_>>();
    let differs = counts(&found).iter().zip(counts(expected)).position(|(a, b)| *a != b);
    let first = differs.map(|index| format!("{}{:#?}", tests[index].text(true), states[index])).unwrap_or_default();
    Err(format!("herd7 had other states:\n{expected}\n{found}\n{first}").into())
}

fn asked(host: Host, name: &str, set: &str) -> Result<(), Failed> {
    let tests = tests(host, set);
    let theirs = herd::states(&tests)?;
    if std::env::var_os("HERD7_BLESS").is_some() {
        herd::bless(&data(), &line(name, set, &theirs))?;
    }
    let mut wrong = Vec::new();
    for (test, theirs) in tests.iter().zip(&theirs) {
        let ours = ours(test)?;
        let (more, less): (Vec<_>, Vec<_>) = (ours.difference(theirs).collect(), theirs.difference(&ours).collect());
        if !more.is_empty() || !less.is_empty() {
            wrong.push(format!("{}ours alone: {more:#?}\nherd7's alone: {less:#?}\n", test.text(false)));
        }
    }
    match wrong.first() {
        None => Ok(()),
        Some(first) => Err(format!("{} of {} tests differ, first:\n{first}", wrong.len(), tests.len()).into()),
    }
}
