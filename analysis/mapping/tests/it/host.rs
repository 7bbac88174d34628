//! Programs with some threads on the host, compiled by the standard mappings, and other threads on the GPU, compiled by
//! the project's mappings.

use ptx_mapping::{
    Mapping,
    host::HostMapping,
    host_threads::{Report, check_set, check_sources},
    mix::mapping,
    programs::Set,
    verify::BrokenProgram,
};
use ptx_memory_model::{
    place::Processor,
    source::{Races, ReleaseSequences, Rules, read::sources},
};

const RULES: Rules = Rules { sequences: ReleaseSequences::Cpp20, races: Races::Llvm };

/// The sets of this test; the number n reduces the set's sample to one of n programs.
#[rustfmt::skip]
const SETS: [(Set, usize); 9] = [
    (Set::Two, 1), (Set::Three, 4), (Set::Accesses, 40), (Set::Fences, 12), (Set::Rmws, 8), (Set::Exchanges, 8),
    (Set::CyclesTwo, 4), (Set::PlainAccesses, 8), (Set::Waiting, 8),
];

/// Programs that reveal a wrong row, and a program that a model with only a part of Host Order does not preserve.
const SHOWN: &str = "
name: SB
P0@0.0: st.sc.sys x 1; r0=ld.sc.sys y
P1@1.0: st.sc.sys y 1; r0=ld.sc.sys x
name: SB with fences
P0@0.0: st.rlx.sys x 1; fence.sc.sys; r0=ld.rlx.sys y
P1@1.0: st.rlx.sys y 1; fence.sc.sys; r0=ld.rlx.sys x
name: MP
P0@0.0: st.rlx.sys x 1; st.rel.sys y 1
P1@1.0: r0=ld.acq.sys y; r1=ld.rlx.sys x
name: MP by seq_cst
P0@0.0: st.rlx.sys x 1; st.sc.sys y 1
P1@1.0: r0=ld.sc.sys y; r1=ld.rlx.sys x
name: MP with fences
P0@0.0: st.rlx.sys x 1; fence.rel.sys; st.rlx.sys y 1
P1@1.0: r0=ld.rlx.sys y; fence.acq.sys; r1=ld.rlx.sys x
name: MP by updates
P0@0.0: st.rlx.sys x 1; r0=rmw.exch.rel.sys y 1
P1@1.0: r0=rmw.exch.acq.sys y 2; r1=ld.rlx.sys x
name: MP by updates of both orders
P0@0.0: st.rlx.sys x 1; r0=rmw.exch.ar.sys y 1
P1@1.0: r0=rmw.exch.ar.sys y 2; r1=ld.rlx.sys x
name: an update that is not read
P0@0.0: st.rlx.sys x 1; st.rel.sys y 1
P1@1.0: rmw.exch.rlx.sys y 2; fence.acq.sys; r0=ld.rlx.sys x
name: W+RWC
P0@0.0: st.sc.sys x 1; st.rel.sys y 2
P1@1.0: r0=ld.sc.sys y; r1=ld.sc.sys z
P2@2.0: st.sc.sys z 3; r0=ld.sc.sys x
";

fn gpu(names: &[&str]) -> Vec<Mapping<'static>> {
    names.iter().map(|name| mapping(name).expect("it is one")).collect()
}

fn right(processor: Processor) {
    let (hosts, gpu) = (HostMapping::right(processor), gpu(&["recommended", "fence", "proven"]));
    assert_eq!(hosts.len(), 2);
    let mut report = Report::default();
    for (set, every) in SETS {
        report.add(
            check_set(&hosts, &gpu, set, RULES, (1, set.sample() * every)).expect("the model has all instructions"),
        );
    }
    println!("{} programs, {} mixtures, {} lowered", report.programs, report.mixtures, report.lowered);
    for (host, cell) in hosts.iter().zip(&report.cells) {
        let shown = |found: &BrokenProgram| format!("{}\n{}\n{}", found.mapping, found.source, found.litmus());
        let example = cell.example.as_ref().map(shown).unwrap_or_default();
        assert_eq!((cell.not_kept, cell.unknown), (0, 0), "{}: {example}", host.name);
        assert!(cell.mixtures > 5_000, "{}: {} mixtures", host.name, cell.mixtures);
    }
}

fn wrong(processor: Processor) {
    let (hosts, gpu) = (HostMapping::wrong(processor), gpu(&["recommended"]));
    let programs = sources(SHOWN).expect("they are programs");
    let report = check_sources(&hosts, &gpu, &programs, RULES).expect("the model has all instructions");
    assert!(hosts.len() > 1 && report.programs == 9);
    for (host, cell) in hosts.iter().zip(&report.cells) {
        let Some(found) = &cell.example else { panic!("{} is kept", host.name) };
        // The row is also wrong together with a GPU, and not only on the host alone.
        println!("{}: {} of {} not kept, {}", host.name, cell.not_kept, cell.mixtures, found.source.name);
    }
    let report = check_sources(&HostMapping::right(processor), &gpu, &programs, RULES).expect("as above");
    assert!(report.cells.iter().all(|cell| cell.not_kept == 0 && cell.unknown == 0));
}

#[test]
fn x86_beside_ptx() {
    right(Processor::X86);
}

#[test]
fn aarch64_beside_ptx() {
    right(Processor::AArch64);
}

#[test]
fn wrong_mappings_to_x86_are_caught() {
    wrong(Processor::X86);
}

#[test]
fn wrong_mappings_to_aarch64_are_caught() {
    wrong(Processor::AArch64);
}
