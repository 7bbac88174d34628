//! Programs whose parts are compiled by different mappings.

use std::{collections::BTreeSet, fs, path::Path};

use itertools::Itertools;
use libtest_mimic::{Failed, Trial};
use ptx_lowering::{
    AtomicOp, Operation, Ordering, Sequence, SyncScope,
    abi::EXTERNAL_MAPPINGS,
    ptx::{Fence, FenceSem, Instruction as Asm, Statement},
};
use ptx_mapping::{
    Mapping,
    mix::{Report, Unit, mapping, mix, mix_these, names, pairs},
    programs::{self, Set, Values},
};
use ptx_memory_model::{
    program::{AtomOp, Instruction, Program},
    source::{Cpp, Order, Races, ReleaseSequences, Rules, read::Source, read::sources},
};

/// The sets of this test.
const SETS: [Set; 7] =
    [Set::Two, Set::Three, Set::Accesses, Set::Exchanges, Set::CyclesTwo, Set::PlainAccesses, Set::Placements];

/// The mappings that some program shows to be unsound under the rules of C++20.
const WRONG: [&str; 4] = ["hopper-guide", "llvm-22", "sycl", "tilelang"];

/// The mappings that are also sound under the rules of C++11 to C++17.
const RIGHT_IN_CPP11: [&str; 3] = ["proven", "cuda-12.8", "triton"];

pub fn trials() -> Vec<Trial> {
    type Test = fn() -> Result<(), Failed>;
    let tests: [(&str, Test); 9] = [
        ("mappings that are right may be mixed", right_ones),
        ("each wrong mapping has an example", wrong_ones),
        ("C++11", cpp11),
        ("the load of the page beside the Hopper guide", hopper),
        ("a compare and exchange by its success alone", sycl),
        ("mappings that are right alone and wrong together", apart),
        ("a fence after an atomic of Triton", triton),
        ("a mapping that has no row", no_row),
        ("the book's tables match the code", book),
    ];
    tests.into_iter().map(|(name, test)| Trial::test(name, test)).collect()
}

const CPP20: Rules = Rules { sequences: ReleaseSequences::Cpp20, races: Races::Llvm };
const CPP11: Rules = Rules { sequences: ReleaseSequences::Cpp11, races: Races::Llvm };

fn named(names: &[&str]) -> Vec<Mapping<'static>> {
    names.iter().map(|name| mapping(name).unwrap_or_else(|| panic!("no mapping {name}"))).collect()
}

/// The report for a sample of the sets.
fn on_sets(mappings: &[Mapping<'_>], rules: Rules, sets: &[Set]) -> Result<Report, Failed> {
    let mut whole = Report::default();
    for &set in sets {
        whole.add(mix(mappings, Unit::Operation, set, rules, (1, set.sample() * testing::stride(4)))?);
    }
    Ok(whole)
}

/// A mixture that is not preserved, if there is one: the mappings of its parts, and the program.
fn check(mappings: &[Mapping<'_>], unit: Unit, program: &str) -> Result<Option<String>, Failed> {
    let sources = sources(program).map_err(|error| format!("{error:?}"))?;
    let report = mix_these(mappings, unit, &sources, CPP20)?;
    let last = mappings.len() - 1;
    let cell = report.cells.get(&(0, last)).ok_or("no cell")?;
    assert!(cell.mixtures > 0 && cell.unknown == 0, "{program}: {cell:?}");
    Ok(cell.example.as_ref().map(|example| example.found.mapping.clone()))
}

fn right_ones() -> Result<(), Failed> {
    let right = names().into_iter().filter(|name| !WRONG.contains(name)).collect_vec();
    let report = on_sets(&named(&right), CPP20, &SETS)?;
    println!("{} programs, {} different PTX programs", report.programs, report.lowered);
    for (a, b) in pairs(right.len()) {
        let cell = &report.cells[&(a, b)];
        assert_eq!((cell.not_kept, cell.unknown), (0, 0), "{} and {}: {cell:?}", right[a], right[b]);
        // Triton has only read-modify-writes, and few programs consist of these alone.
        assert!(cell.mixtures > 20, "{} and {}: {} mixtures", right[a], right[b], cell.mixtures);
    }
    Ok(())
}

fn wrong_ones() -> Result<(), Failed> {
    let report = on_sets(&named(&WRONG), CPP20, &[&SETS[..], &[Set::Rmws, Set::Four, Set::Waiting]].concat())?;
    for (number, name) in WRONG.iter().enumerate() {
        let example = report.cells[&(number, number)].example.as_ref().ok_or(format!("{name} is kept"))?;
        println!("{name}: {}", example.found.source);
    }
    Ok(())
}

fn cpp11() -> Result<(), Failed> {
    let others = names().into_iter().filter(|name| !WRONG.contains(name)).collect_vec();
    let report = on_sets(&named(&others), CPP11, &[&SETS[..], &[Set::Rmws]].concat())?;
    let right: BTreeSet<_> = others
        .iter()
        .enumerate()
        .filter(|(number, _)| report.cells[&(*number, *number)].not_kept == 0)
        .map(|(_, name)| *name)
        .collect();
    assert_eq!(right, RIGHT_IN_CPP11.into());
    let numbers = RIGHT_IN_CPP11.map(|name| others.iter().position(|other| *other == name).expect("it is one"));
    for [&a, &b] in numbers.iter().array_combinations() {
        let cell = &report.cells[&(a.min(b), a.max(b))];
        assert!(cell.not_kept == 0 && cell.mixtures > 0, "{} and {}: {cell:?}", others[a], others[b]);
    }
    Ok(())
}

/// The programs of these sets that satisfy a predicate.
fn programs_of(sets: &[Set], is_one: fn(&Program<Cpp>) -> bool) -> Vec<Source> {
    let mut all = Vec::new();
    for set in sets {
        programs::each(*set, Values::EXCHANGE, (1, 1), &mut |name, program| {
            if is_one(program) {
                all.push(Source { name: name.to_owned(), program: program.clone() });
            }
        });
    }
    all
}

/// `fence.sc; ld.relaxed` acquires nothing: the message of a flag is lost, whichever mapping compiles the other side.
/// If every access is a seq_cst atomic, the fences order all accesses.
fn hopper() -> Result<(), Failed> {
    let message = "name: MP\nP0@0.0: st.rlx.gpu x 1; st.rel.gpu y 1\nP1@1.0: r0=ld.sc.gpu y; r1=ld.rlx.gpu x\n";
    let plain = "name: MP\nP0@0.0: st.na x 1; st.sc.gpu y 1\nP1@1.0: r0=ld.sc.gpu y; if r0 == 1 { r1=ld.na x }\n";
    for program in [message, plain] {
        assert!(check(&named(&["hopper-guide"]), Unit::Thread, program)?.is_some(), "{program}");
        assert_eq!(check(&named(&["cuda-12.8", "recommended"]), Unit::Operation, program)?, None, "{program}");
        let mixed = check(&named(&["recommended", "hopper-guide"]), Unit::Thread, program)?;
        assert_eq!(mixed.as_deref(), Some("recommended, hopper-guide"), "{program}");
    }
    let all = programs_of(&[Set::Two, Set::Three, Set::Accesses, Set::CyclesTwo, Set::Placements], |program| {
        let mut code = program.threads.iter().flat_map(|thread| &thread.code);
        code.all(|statement| match &statement.instruction {
            Instruction::Load { access, .. } | Instruction::Store { access, .. } => access.order == Order::SeqCst,
            Instruction::Rmw { access, .. } => access.order == Order::SeqCst && access.failure == Order::SeqCst,
            Instruction::Fence(fence) => fence.order == Order::SeqCst,
            _ => false,
        })
    });
    let report = mix_these(&named(&["hopper-guide"]), Unit::Thread, &all, CPP20)?;
    let cell = &report.cells[&(0, 0)];
    println!("{} programs of seq_cst atomics alone", cell.programs);
    assert!(cell.programs > 100 && cell.not_kept == 0 && cell.unknown == 0, "{cell:?}");
    Ok(())
}

/// The SYCL mapping is sound if no failure ordering is stronger than the success ordering, as SPIR-V demands.
fn sycl() -> Result<(), Failed> {
    let all = programs_of(&[Set::Two, Set::Exchanges], |program| {
        let mut code = program.threads.iter().flat_map(|thread| &thread.code);
        code.all(|statement| match &statement.instruction {
            Instruction::Rmw { op, access, .. } if *op == AtomOp::Cas.into() => match access.failure {
                Order::SeqCst => access.order == Order::SeqCst,
                Order::Acquire => access.order.acquires(),
                _ => true,
            },
            _ => true,
        })
    });
    let report = mix_these(&named(&["sycl", "recommended"]), Unit::Operation, &all, CPP20)?;
    for cell in report.cells.values() {
        assert!(cell.programs > 1_000 && cell.not_kept == 0 && cell.unknown == 0, "{cell:?}");
    }
    let more = "name: MP\nP0@0.0: st.rlx.gpu x 1; st.rel.gpu y 1\nP1@1.0: r0=cas.rlx/acq.gpu y 0 2; r1=ld.rlx.gpu x\n";
    assert!(check(&named(&["sycl"]), Unit::Thread, more)?.is_some());
    Ok(())
}

/// A mapping with fences after seq_cst operations instead of before them is sound alone, and unsound together with the
/// project's mappings, even if the two are in different threads, which few programs reveal.
fn apart() -> Result<(), Failed> {
    let trailing = || {
        let change = |op: &AtomicOp, _, sequence: Sequence| {
            let SyncScope::Threads(scope) = op.scope else { return sequence };
            let accesses = matches!(op.operation, Operation::Load(_) | Operation::Store(_));
            if !(accesses && op.ordering == Ordering::SeqCst) {
                return sequence;
            }
            let mut code = sequence.instructions().skip(1).cloned().collect_vec();
            code.push(Asm::Fence(Fence { sem: Some(FenceSem::Sc), scope }));
            code.into_iter().map(Statement::from).collect()
        };
        mapping("proven").map(|proven| proven.changed("trailing".to_owned(), change)).ok_or("no mapping")
    };
    let all = programs_of(&[Set::Accesses, Set::CyclesTwo], |program| {
        let mut code = program.threads.iter().flat_map(|thread| &thread.code);
        code.all(|statement| matches!(statement.instruction, Instruction::Load { .. } | Instruction::Store { .. }))
    });
    let mappings = [trailing()?, mapping("proven").ok_or("no mapping")?];
    let mut mixtures = 0;
    for unit in [Unit::Thread, Unit::Operation] {
        let report = mix_these(&mappings, unit, &all, CPP20)?;
        assert_eq!(report.cells[&(0, 0)].not_kept, 0);
        let cell = &report.cells[&(0, 1)];
        println!("{unit:?}: {} of {} mixtures not kept", cell.not_kept, cell.mixtures);
        assert!(cell.mixtures > 1_000 && cell.not_kept > 0 && cell.not_kept == cell.together, "{cell:?}");
        assert!(cell.mixtures > mixtures, "{unit:?} chooses no more: {}", cell.mixtures);
        mixtures = cell.mixtures;
    }
    Ok(())
}

/// Triton's `red` begins no acquire pattern: a fence that another compiler places after it acquires nothing.
fn triton() -> Result<(), Failed> {
    let program = "name: MP\nP0@0.0: st.rlx.gpu x 1; fence.rel.gpu; st.rlx.gpu y 2\n\
                   P1@1.0: rmw.exch.rel.gpu y 3; fence.sc.gpu; r0=ld.rlx.gpu x\n";
    for other in names().into_iter().filter(|name| !WRONG.contains(name) && *name != "triton") {
        let mixed = check(&named(&[other, "triton"]), Unit::Operation, program)?;
        assert!(
            mixed.is_some_and(|by| by == format!("{other}, {other}, {other}, triton, {other}, {other}")),
            "{other}"
        );
        assert_eq!(check(&named(&[other]), Unit::Operation, program)?, None);
    }
    let read = program.replace("rmw", "r1=rmw");
    assert_eq!(check(&named(&["recommended", "triton"]), Unit::Operation, &read)?, None);
    Ok(())
}

fn no_row() -> Result<(), Failed> {
    let sources = sources("name: x\nP0@0.0: st.rlx.gpu x 1\nP1@1.0: r0=rmw.exch.rlx.gpu x 2\n")
        .map_err(|error| format!("{error:?}"))?;
    let report = mix_these(&named(&["triton", "recommended"]), Unit::Thread, &sources, CPP20)?;
    let mixtures = |pair| report.cells.get(&pair).map_or(0, |cell| cell.mixtures);
    assert_eq!([(0, 0), (0, 1), (1, 1)].map(mixtures), [0, 1, 1]);
    Ok(())
}

/// The book lists each mapping, with its rows and whether it is sound.
fn book() -> Result<(), Failed> {
    let docs =
        fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/evidence/linked-mappings.md"))?;
    for name in names() {
        let by = |rule: &[&str], is_in: bool| if rule.contains(&name) == is_in { "yes" } else { "no" };
        let row = format!("| `{name}` | {} | {} |", by(&WRONG, false), by(&RIGHT_IN_CPP11, true));
        assert!(docs.contains(&row), "docs/evidence/linked-mappings.md lacks the row: {row}");
    }
    for other in EXTERNAL_MAPPINGS {
        let rows = format!("// {}: {}\n{other}", other.name, other.source);
        assert!(docs.contains(&rows), "docs/evidence/linked-mappings.md lacks:\n{rows}");
    }
    Ok(())
}
