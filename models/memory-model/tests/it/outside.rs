//! If the manual's model is undefined, no condition holds or fails; and an invalid test is rejected.

use std::time::{Duration, Instant};

use ptx_memory_model::{
    litmus::Litmus,
    outcome::{Layout, Limits},
    ptx::{Conventions, search},
    unfold::Limit,
};

/// A test of these columns, each with its place and its instructions.
fn test(columns: &[(&str, &[&str])], condition: &str) -> Litmus {
    let height = columns.iter().map(|(_, code)| code.len()).max().unwrap_or(0);
    let cell = |row: usize| columns.iter().map(move |(_, code)| *code.get(row).unwrap_or(&"")).collect::<Vec<_>>();
    let header: Vec<String> = columns.iter().enumerate().map(|(index, (at, _))| format!("P{index}@{at}")).collect();
    let rows: String = (0..height).map(|row| cell(row).join(" | ") + ";\n").collect();
    let text = format!("PTX t\n{{ x=0; y=0; z=0; }}\n{};\n{rows}{condition}", header.join(" | "));
    Litmus::read(&text).unwrap_or_else(|error| panic!("{error} in\n{text}"))
}

fn verdict(litmus: &Litmus, conventions: Conventions, limits: Limits) -> Result<bool, Limit> {
    search::outcomes(&litmus.program, conventions, limits).verdict(&litmus.condition, &Layout::new(&litmus.program))
}

#[track_caller]
fn check(columns: &[(&str, &[&str])], formula: &str, expected: Limit) {
    for quantifier in ["exists", "~exists", "forall"] {
        let litmus = test(columns, &format!("{quantifier} ({formula})"));
        assert_eq!(verdict(&litmus, Conventions::MANUAL, Limits::default()), Err(expected), "{litmus}");
    }
}

const A: &str = "cta 0";
const B: &str = "cta 1";

#[test]
fn mixed_sizes() {
    let racing = |narrow: &'static str, wide: &'static str, formula: &str| {
        check(&[(A, &[narrow]), (B, &[wide, wide])], formula, Limit::MixedSizes);
    };
    // This includes outcomes that are allowed anyway: if accesses of different sizes race, no axiom applies.
    for formula in ["P1:r0 == 1", "P1:r0 == 0", "x == 1"] {
        racing("st.relaxed.gpu.u8 x, 1", "ld.relaxed.gpu.u32 r0, x", formula);
        racing("st.relaxed.gpu.u8 [x+3], 1", "ld.relaxed.gpu.u32 r0, x", formula);
        racing("st.weak.u16 [x+6], 1", "ld.weak r0, x", formula);
        racing("atom.relaxed.gpu.cas.b16 %t, x, 0, 1", "atom.relaxed.gpu.or.b32 r0, x, 0", formula);
    }
    // An address that a register holds.
    check(
        &[(A, &["mov r0, x", "add r0, r0, 1", "st.weak.u8 [r0], 1"]), (B, &["ld.weak.u16 r0, x"])],
        "x == 0",
        Limit::MixedSizes,
    );
    let outside: [&[&str]; 4] = [
        &["ld.weak.u32 r0, [x+2]"],
        &["ld.weak.u32 r0, [x+8]"],
        &["ld.weak.u8 r0, [x-1]"],
        &["ld.weak r1, x", "ld.weak r0, [r1]"],
    ];
    outside.into_iter().for_each(|code| check(&[(A, code)], "x == 0", Limit::Address));
}

/// Only dependencies that an implementation may optimize away forbid the outcome.
#[test]
fn thin_air() {
    let copy: &[&str] = &["ld.weak r0, y", "st.weak x, r0"];
    let check = |code: &[&str]| {
        let litmus = test(&[(A, code), (B, copy)], "exists (P0:r0 == 1)");
        assert_eq!(verdict(&litmus, Conventions::MANUAL, Limits::default()), Err(Limit::ThinAir), "{litmus}");
    };
    // Both arms store the same.
    check(&["ld.weak r0, x", "beq r0, 0, other", "st.weak y, 1", "bra end", "other:", "st.weak y, 1", "end:"]);
    check(&[
        "ld.weak r0, x",
        "setp.eq %p, r0, 0",
        "selp r1, 1, 1, %p",
        "mad r1, r0, 0, 1",
        "@%p st.weak y, 1",
        "@!%p st.weak y, r1",
    ]);
    // That bit is never set, whatever the read returns.
    check(&["ld.weak r0, x", "and r1, r0, 2", "or r1, r1, 1", "st.weak y, r1"]);
}

/// A part of a stored value may be the same for all loaded values.
#[test]
fn truncated_values() {
    let verdict = |store: &str| {
        let columns: [&[&str]; 2] =
            [&["ld.weak r0, x", store], &["ld.weak.u8 r1, y", "bne r1, 0, end", "st.weak x, 256", "end:"]];
        let mut litmus = test(&[(A, columns[0]), (B, columns[1])], "exists (P0:r0 == 256)");
        litmus.program.locations[1].initial = 7;
        verdict(&litmus, Conventions::MANUAL, Limits::default())
    };
    // The low byte is 0 for 0 and for 256; the full value is not.
    assert_eq!(verdict("st.weak.u8 y, r0"), Err(Limit::ThinAir));
    let copy: &[&str] = &["ld.weak.s8 r0, y", "st.weak.s8 x, r0"];
    let litmus = test(&[(A, &["ld.weak.s8 r0, x", "st.weak.s8 y, r0"]), (B, copy)], "exists (P0:r0 == 1)");
    assert_eq!(self::verdict(&litmus, Conventions::MANUAL, Limits::default()), Ok(false), "{litmus}");
}

/// Values that only justify themselves.
#[test]
fn out_of_thin_air() {
    let forbidden = |p0: &[&str], p1: &[&str], formula: &str| {
        let litmus = test(&[(A, p0), (B, p1)], &format!("exists ({formula})"));
        assert_eq!(verdict(&litmus, Conventions::MANUAL, Limits::default()), Ok(false), "{litmus}");
    };
    let copy: &[&str] = &["ld.weak r0, y", "st.weak x, r0"];
    forbidden(&["ld.weak r0, x", "st.weak y, r0"], copy, "P0:r0 == 1");
    forbidden(&["ld.weak r0, x", "add r1, r0, 1", "st.weak y, r1"], copy, "P0:r0 == 1");
    forbidden(&["ld.weak r0, x", "beq r0, 0, end", "st.weak y, 1", "end:"], copy, "P0:r0 == 1");
    forbidden(&["ld.weak r0, x", "bne r0, 1, end", "st.weak y, r0", "end:"], copy, "P0:r0 == 1");
    forbidden(
        &["ld.weak r0, x", "mov r1, 0", "beq r0, 0, end", "mov r1, 1", "end:", "st.weak y, r1"],
        copy,
        "P0:r0 == 1",
    );
    forbidden(&["atom.relaxed.cta.cas r0, x, 1, 1", "bne r0, 1, end", "st.weak y, 1", "end:"], copy, "P0:r0 == 1");
}

#[test]
fn hanging() {
    let hangs = |columns: &[(&str, &[&str])]| {
        check(columns, "x == 0", Limit::Hangs);
        for conventions in [Conventions::MANUAL, Conventions::DAT3M] {
            let litmus = test(columns, "forall (true)");
            assert_eq!(verdict(&litmus, conventions, Limits::default()), Err(Limit::Hangs), "{litmus}");
        }
    };
    // Too few threads arrive.
    hangs(&[(A, &["bar.cta.sync 0, 0, 3", "mov r0, 1"]), (A, &["bar.sync 0, 3", "mov r0, 1"])]);
    // Each thread waits for the other.
    hangs(&[(A, &["bar.sync 0", "bar.sync 1"]), (A, &["bar.sync 1", "bar.sync 0"])]);
    // The value is never written.
    hangs(&[(A, &["st.relaxed.gpu x, 1"]), (B, &["wait:", "ld.relaxed.gpu r0, x", "bne r0, 2, wait"])]);
    hangs(&[(A, &["loop:", "bra loop"])]);
    // One of three threads at a barrier for two remains; it has further statements.
    let stores: &[&str] = &["st.weak x, 1", "bar.sync 0, 2", "st.weak y, 1"];
    hangs(&[(A, stores), (A, &["bar.sync 0, 2", "ld.weak r0, x", "st.weak z, 1"]), (A, stores)]);
}

/// Two verdicts of Dat3M's suite that we do not share, `quorum1-hang` and `quorum4-fail`: its verdict is that their
/// `exists` does not hold, and ours that they hang. In the second test, only threads without further statements remain
/// at the barrier in Dat3M's reading.
#[test]
fn quorums_of_dat3m() {
    let at_four: &[(&str, &[&str])] =
        &[(A, &["st.weak x, 1", "bar.sync 1, 4"]), (A, &["bar.sync 1, 4", "ld.weak r0, x"]), (A, &["bar.sync 1, 4"])];
    let at_two: &[(&str, &[&str])] = &[
        (A, &["st.weak x, 1", "bar.sync 1, 2"]),
        (A, &["bar.sync 1, 2", "ld.weak r0, x", "ld.weak r1, y"]),
        (A, &["st.weak y, 1", "bar.sync 1, 2"]),
    ];
    for (columns, condition, dat3m) in
        [(at_four, "exists (P1:r0 == 0)", Err(Limit::Hangs)), (at_two, "exists (P1:r0 == 0 /\\ P1:r1 == 0)", Ok(false))]
    {
        let litmus = test(columns, condition);
        assert_eq!(verdict(&litmus, Conventions::MANUAL, Limits::default()), Err(Limit::Hangs), "{litmus}");
        assert_eq!(verdict(&litmus, Conventions::DAT3M, Limits::default()), dat3m, "{litmus}");
    }
}

/// If only some executions hang, the remaining ones give the outcomes.
#[test]
fn some_hang() {
    let columns: &[(&str, &[&str])] = &[
        (A, &["st.weak x, 1", "bar.sync 0, 2"]),
        (A, &["ld.relaxed.cta r0, y", "bne r0, 0, end", "bar.sync 0, 2", "end:", "ld.weak r1, x"]),
        (A, &["st.relaxed.cta y, 1"]),
    ];
    let holds = |conventions, condition: &str| verdict(&test(columns, condition), conventions, Limits::default());
    assert_eq!(holds(Conventions::MANUAL, "forall (P1:r1 == 1)"), Ok(true));
    assert_eq!(holds(Conventions::MANUAL, "exists (P1:r0 == 1)"), Ok(false));
    // P0 has no further statements.
    assert_eq!(holds(Conventions::DAT3M, "exists (P1:r0 == 1)"), Ok(true));
}

/// A search that could take forever ends at a limit.
#[test]
fn limits() {
    let soon = |litmus: &Litmus, limits: Limits| {
        let start = Instant::now();
        let verdict = verdict(litmus, Conventions::MANUAL, limits);
        assert!(start.elapsed() < Duration::from_secs(120), "{litmus}");
        verdict
    };
    let threads = |code: &'static [&'static str], count: usize| vec![(A, code); count];
    let timed = Limits { time: Some(Duration::from_millis(50)), ..Limits::default() };
    // An arrival without a wait is not in a phase.
    let arrivals = test(&threads(&["bar.cta.arrive 0, 0, 6"], 18), "exists (x == 0)");
    assert_eq!(soon(&arrivals, Limits::default()), Ok(true));
    let waits = test(&threads(&["bar.cta.sync 0, 0, 6"], 12), "exists (x == 1)");
    assert!(matches!(soon(&waits, timed), Ok(false) | Err(Limit::Time)));
    let more = [threads(&["bar.cta.arrive 0, 0, 6"], 17), threads(&["bar.cta.sync 0, 0, 6"], 1)].concat();
    assert!(matches!(soon(&test(&more, "exists (x == 1)"), timed), Err(Limit::Time | Limit::Quorum)));
    // Values that are used twice, repeatedly.
    let twice: Vec<&str> = [&["ld.weak r0, x"][..], &["add r0, r0, r0"; 60]].concat();
    assert_eq!(soon(&test(&[(A, &twice)], "exists (x == 1)"), Limits::default()), Err(Limit::Values));
    // The number of paths is multiplied.
    let branch: &[&str] = &["ld.weak r0, x", "beq r0, 0, end", "mov r0, 7", "end:"];
    let limits = Limits { choices: 100_000, ..Limits::default() };
    assert_eq!(soon(&test(&threads(branch, 40), "exists (x == 1)"), limits), Err(Limit::Choices));
}
