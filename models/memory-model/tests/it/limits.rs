//! Loops and bounds: the search reports every result that is unknown.

use std::time::Duration;

use ptx_memory_model::{
    litmus::Litmus,
    outcome::{Layout, Limits},
    ptx::{Conventions, search},
    unfold::Limit,
};

#[track_caller]
fn check(threads: &[&[&str]], condition: &str, limits: Limits, expected: (Option<bool>, Option<Limit>)) {
    let header: Vec<String> = (0..threads.len()).map(|index| format!("P{index}@cta {index}")).collect();
    let height = threads.iter().map(|code| code.len()).max().unwrap_or(0);
    let cell =
        |row: usize| threads.iter().map(move |code| *code.get(row).unwrap_or(&"")).collect::<Vec<_>>().join(" | ");
    let rows: String = (0..height).map(|row| cell(row) + ";\n").collect();
    let text = format!("PTX t\n{{ x=0; y=0; }}\n{};\n{rows}{condition}", header.join(" | "));
    let litmus = Litmus::read(&text).unwrap_or_else(|error| panic!("{error} in\n{text}"));
    let found = search::outcomes(&litmus.program, Conventions::MANUAL, limits);
    assert_eq!((found.holds(&litmus.condition, &Layout::new(&litmus.program)), found.unknown), expected, "{text}");
}

fn rounds(rounds: usize) -> Limits {
    Limits { rounds, ..Limits::default() }
}

const KNOWN: Option<Limit> = None;

/// An increment as a loop of compare and exchange.
const INCREMENT: [&str; 7] = [
    "ld.relaxed.gpu %old, x",
    "loop:",
    "mov %expected, %old",
    "add %new, %expected, 1",
    "atom.relaxed.gpu.cas %old, x, %expected, %new",
    "setp.ne %p, %old, %expected",
    "@%p bra loop",
];

#[test]
fn cas_loops_end_after_the_other_loops() {
    // Each iteration except the last sees another thread's write.
    check(&[&INCREMENT, &INCREMENT], "forall (x == 2)", rounds(2), (Some(true), KNOWN));
    check(&[&INCREMENT, &INCREMENT], "forall (x == 2)", rounds(1), (None, Some(Limit::Unroll)));
    check(&[&INCREMENT, &INCREMENT, &INCREMENT], "forall (x == 3)", rounds(3), (Some(true), KNOWN));
    check(&[&INCREMENT, &INCREMENT, &INCREMENT], "forall (x == 3)", rounds(2), (None, Some(Limit::Unroll)));
    // An outcome that is found is certain.
    check(&[&INCREMENT, &INCREMENT], "exists (x == 2)", rounds(1), (Some(true), Some(Limit::Unroll)));
}

#[test]
fn spinning_needs_no_rounds() {
    let spin = ["loop:", "ld.acquire.gpu r0, x", "beq r0, 0, loop", "ld.weak r1, y"];
    let set = ["st.weak y, 1", "st.release.gpu x, 1"];
    check(&[&spin, &set], "forall (P0:r1 == 1)", rounds(1), (Some(true), KNOWN));
    let lock = [
        "loop:",
        "atom.acquire.gpu.cas %t, x, 0, 1",
        "bne %t, 0, loop",
        "ld.weak r0, y",
        "add r0, r0, 1",
        "st.weak y, r0",
        "st.release.gpu x, 0",
    ];
    check(&[&lock, &lock], "forall (y == 2)", rounds(1), (Some(true), KNOWN));
}

#[test]
fn a_loop_counts_its_waits() {
    // The number of iterations is in a register, so each iteration differs.
    let count = ["loop:", "add r1, r1, 1", "ld.relaxed.gpu r0, x", "beq r0, 0, loop"];
    check(&[&count, &["st.relaxed.gpu x, 1"]], "exists (P0:r1 == 3)", rounds(4), (Some(true), Some(Limit::Unroll)));
    check(&[&count, &["st.relaxed.gpu x, 1"]], "exists (P0:r1 == 9)", rounds(4), (None, Some(Limit::Unroll)));
    // A loop over constants alone ends.
    let three = ["loop:", "add r1, r1, 1", "atom.relaxed.gpu.add r0, x, 1", "blt r1, 3, loop"];
    check(&[&three], "forall (x == 3)", rounds(4), (Some(true), KNOWN));
    // The number of its iterations is known, whatever the bound.
    check(&[&three], "forall (x == 3)", rounds(1), (Some(true), KNOWN));
    // A loop that never ends has no outcome, and no condition holds or fails.
    for condition in ["exists (x == 0)", "~exists (x == 0)", "forall (x == 0)"] {
        check(&[&["loop:", "bra loop"]], condition, rounds(1), (None, KNOWN));
    }
}

#[test]
fn an_iteration_that_writes_is_not_idle() {
    let count = ["loop:", "red.relaxed.gpu.add x, 1", "ld.relaxed.gpu r0, y", "beq r0, 0, loop"];
    check(&[&count, &["st.relaxed.gpu y, 1"]], "exists (x == 3)", rounds(3), (Some(true), Some(Limit::Unroll)));
}

/// P0 reaches its second iteration only if P1 reads a value that P0 writes afterwards.
#[test]
fn an_iteration_may_depend_on_later_instructions() {
    let ahead =
        ["loop:", "add r1, r1, 1", "ld.weak r0, x", "bne r0, 0, end", "blt r1, 9, loop", "end:", "st.weak y, r1"];
    let back = ["ld.weak r0, y", "st.weak x, 1"];
    check(&[&ahead, &back], "exists (P1:r0 == 9)", rounds(3), (None, Some(Limit::Unroll)));
    check(&[&ahead, &back], "exists (P1:r0 == 9)", rounds(20), (Some(true), KNOWN));
}

#[test]
fn bounds() {
    let threads: [&[&str]; 2] = [&["st.weak x, 1", "ld.weak r0, y"], &["st.weak y, 1", "ld.weak r0, x"]];
    let choices = |choices| Limits { choices, ..Limits::default() };
    check(&threads, "exists (P0:r0 == 7)", choices(1), (None, Some(Limit::Choices)));
    check(&threads, "exists (P0:r0 == 7)", choices(100), (Some(false), KNOWN));
    let long: Vec<&str> = std::iter::repeat_n("atom.relaxed.sys.add r0, x, 1", 14).collect();
    let no_time = Limits { time: Some(Duration::ZERO), ..Limits::default() };
    check(&[&long, &long], "exists (x == 29)", no_time, (None, Some(Limit::Time)));
    let longer: Vec<&str> = std::iter::repeat_n("st.weak x, 1", 64).collect();
    check(&[&longer], "exists (x == 7)", Limits::default(), (None, Some(Limit::Events)));
    check(&[&longer[..62]], "exists (x == 7)", Limits::default(), (Some(false), KNOWN));
    let sum: Vec<&str> =
        std::iter::once("ld.weak r0, x").chain(std::iter::repeat_n("add r0, r0, 1", 100_000)).collect();
    check(&[&sum], "exists (x == 7)", Limits::default(), (None, Some(Limit::Values)));
    let writes: Vec<&str> = std::iter::repeat_n("atom.relaxed.sys.add r0, x, 1", 8).collect();
    check(&[&writes, &writes, &writes], "exists (x == 7)", choices(100_000), (None, Some(Limit::Choices)));
    let branches: Vec<String> = (0..1000).map(|index| format!("beq r0, {index}, end")).collect();
    let branches = ["ld.weak r0, x"].into_iter().chain(branches.iter().map(|branch| &branch[..])).chain(["end:"]);
    check(&[&branches.collect::<Vec<_>>()], "exists (x == 7)", Limits::default(), (None, Some(Limit::Paths)));
    let many: Vec<&str> = std::iter::repeat_n("bar.cta.sync 0, 0, 1", 13).collect();
    check(&[&many], "exists (x == 7)", Limits::default(), (None, Some(Limit::Quorum)));
    check(&[&many[..12]], "exists (x == 7)", Limits::default(), (Some(false), KNOWN));
    check(&[&[]], "exists (x == 7)", Limits::default(), (Some(false), KNOWN));
    check(
        &[&["ld.weak r0, x", "ld.weak r1, [r0]"]],
        "exists (x == 7)",
        Limits::default(),
        (None, Some(Limit::Address)),
    );
    check(&[&["mov r0, x", "ld.weak r1, [r0+1]"]], "exists (x == 7)", Limits::default(), (None, Some(Limit::Address)));
    // The result stays unknown if the number of iterations of loops is known.
    let suffice = Limits { rounds_suffice: true, ..Limits::default() };
    check(&[&["mov r0, x", "ld.weak r1, [r0+1]"]], "exists (x == 7)", suffice, (None, Some(Limit::Address)));
    check(&[&["mov r0, x", "st.weak [r0], 7"]], "forall (x == 7)", Limits::default(), (Some(true), KNOWN));
}
