//! The results of other compilers in the reference are complete. Whether they are correct is checked by
//! tests/conformance.rs for one of them.

use std::collections::BTreeSet;

use ptx_atomics_conformance::{Grade, Language};
use ptx_atomics_reference::{
    name, operations,
    other_compilers::{find, is_shown, measured},
};
use ptx_lowering::Target;

/// A GPU, with the version of PTX.
type Gpu = (&'static str, &'static str);

/// The compilers, their targets, and the version of the LLVM IR that they read.
const ASKED: [(&str, &[Gpu], u32); 5] = {
    const OLD: [Gpu; 2] = [("sm_60", "ptx88"), ("sm_70", "ptx88")];
    const NEW: [Gpu; 3] = [("sm_80", "ptx90"), ("sm_90", "ptx90"), ("sm_100", "ptx90")];
    const ALL: &[Gpu] = &[OLD[0], OLD[1], NEW[0], NEW[1], NEW[2]];
    [
        ("llc 22.1.8", ALL, 22),
        ("llc 23.1.4", ALL, 23),
        ("llc 24.0.0 of 2026-10-25", ALL, 24),
        ("libNVVM 13.5, verifier off", &NEW, 22),
        ("libNVVM 13.5 -nvvm-latest, verifier off", &[NEW[0], NEW[1]], 22),
    ]
};

#[test]
fn every_function_of_the_suite_is_there() {
    for (compiler, targets, llvm) in ASKED {
        for (gpu, ptx) in targets {
            let target = Target::new(gpu.parse().expect(gpu), Some(ptx.parse().expect(ptx))).expect("a target");
            let cells: Vec<_> = Language::Llvm.cells(&target, llvm).into_iter().filter(is_shown).collect();
            assert!(cells.len() > 2_000, "{compiler} on {gpu}: {} functions", cells.len());
            for cell in cells {
                assert!(find(compiler, gpu, &cell).is_some(), "{compiler} on {gpu} has no {}", cell.name);
            }
        }
    }
}

#[test]
fn every_line_is_of_the_reference() {
    let operations: BTreeSet<(String, String)> = operations()
        .map(|operation| (name(&operation), operation.access().map_or("i32".into(), |access| access.ty.to_string())))
        .collect();
    let mut compilers = BTreeSet::new();
    for (op, ty, all) in measured().iter().flat_map(|(op, of)| of.iter().map(move |(ty, all)| (op, ty, all))) {
        assert!(operations.contains(&((*op).to_owned(), (*ty).to_owned())), "{op} of {ty}");
        for one in all {
            compilers.insert(one.compiler);
            let verdict: Result<Grade, _> = one.verdict.parse();
            assert!(verdict.is_ok() || one.verdict == "not-judged", "{one:?}");
            assert_eq!(
                one.ptx.is_empty(),
                matches!(verdict, Ok(Grade::Crash | Grade::CompilerError | Grade::Value)),
                "{one:?}"
            );
        }
    }
    let asked = ASKED.map(|(compiler, ..)| compiler).into_iter().chain(["nvcc 13.5 with libcu++"]);
    assert_eq!(compilers, asked.collect());
}
