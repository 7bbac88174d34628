//! Litmus tests of two threads, written as a row of a table.

use ptx_memory_model::{
    litmus::Litmus,
    outcome::{Layout, Limits},
    ptx::{
        Conventions,
        explain::{Explanation, explain},
        readings::Readings,
        search,
    },
};

/// A test of two threads at places, such as `cta 0,gpu 0` or `nic`. `; ` separates their instructions. Its text is read
/// again as the same test.
pub fn litmus(declared: &str, places: [&str; 2], code: [&str; 2], outcome: &str) -> Litmus {
    let code = code.map(|code| code.split("; ").collect::<Vec<_>>());
    let cell = |thread: usize, row: usize| code[thread].get(row).map_or("", |cell| cell.trim_end_matches(';'));
    let count = code[0].len().max(code[1].len());
    let rows: String = (0..count).map(|row| format!(" {} | {} ;\n", cell(0, row), cell(1, row))).collect();
    let [p0, p1] = places.map(|place| format!("@{place}"));
    let text = format!("PTX t\n{{ {declared} }}\n P0{p0} | P1{p1} ;\n{rows}exists ({outcome})\n");
    let litmus = Litmus::read(&text).unwrap_or_else(|error| panic!("{text}{error}"));
    assert_eq!(Litmus::read(&litmus.to_string()).as_ref(), Ok(&litmus), "{text}");
    litmus
}

/// Whether an outcome is allowed. Both searches and the explanation agree about it.
pub fn is_allowed(litmus: &Litmus, readings: Readings) -> bool {
    let (conventions, limits) = (Conventions { readings, ..Conventions::MANUAL }, Limits::default());
    let outcomes = search::outcomes(&litmus.program, conventions, limits);
    let holds = outcomes.verdict(&litmus.condition, &Layout::new(&litmus.program)).expect("a known verdict");
    let decided = search::decide(&litmus.program, &litmus.condition, conventions, limits).verdict;
    assert_eq!(decided, Ok(holds), "{litmus}");
    let why = explain(&litmus.program, &litmus.condition.formula, conventions, limits);
    assert_eq!(matches!(why, Explanation::Allowed(_)), holds, "{litmus}");
    holds
}
