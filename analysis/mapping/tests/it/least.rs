//! The soundness of the bound of [`ptx_optimize::least`]: each ordering that it requires of every placement is
//! necessary, because without it another thread observes an additional outcome. Each row is the end of the walk that it
//! names.

use itertools::Itertools;
use ptx_memory_model::{
    litmus::Litmus,
    outcome::{Layout, Limits},
    ptx::{Conventions, search},
};

/// Whether threads can end in a state that satisfies the condition.
fn ends(threads: &[String], condition: &str) -> bool {
    let columns = threads.iter().map(|thread| thread.split("; ").collect_vec()).collect_vec();
    let rows = columns.iter().map(Vec::len).max().expect("a thread");
    let line = |row: usize| columns.iter().map(|column| column.get(row).copied().unwrap_or_default()).join(" | ");
    let places = (0..threads.len()).map(|thread| format!("P{thread}@cta {thread},gpu 0")).join(" | ");
    let code = (0..rows).map(|row| format!(" {} ;\n", line(row))).collect::<String>();
    let text = format!("PTX least\n{{ x=0; y=0; z=0; }}\n {places} ;\n{code}exists ({condition})");
    let litmus = Litmus::read(&text).unwrap_or_else(|error| panic!("{error} in\n{text}"));
    let outcomes = search::outcomes(&litmus.program, Conventions::MANUAL, Limits::default());
    outcomes.holds(&litmus.condition, &Layout::new(&litmus.program)).expect("an answer")
}

/// Checks the first thread, with and without an ordering at `{}`, together with the other threads.
#[track_caller]
fn check(with: &str, without: &str, thread: &str, others: &[&str], condition: &str) {
    let end = |ordering: &str| {
        let first = thread.replace("{}", ordering);
        let threads = [first].into_iter().chain(others.iter().map(|other| (*other).to_owned())).collect_vec();
        ends(&threads, condition)
    };
    assert!(!end(with), "with {with}: {thread}");
    assert!(end(without), "with {without} alone: {thread}");
}

const PUBLISHES: &str = "st.relaxed.gpu x, 2; st.release.gpu y, 1";

#[test]
fn reads_and_later_accesses() {
    let reads = [
        "ld.{}.gpu r0, y",
        "atom.{}.gpu.exch r0, y, 5",
        "atom.{}.gpu.cas r0, y, 1, 5",
        // The exchange fails.
        "atom.{}.gpu.cas r0, y, 7, 5",
    ];
    let after = [
        ("ld.weak r1, x", "P0:r0 == 1 /\\ P0:r1 == 0"),
        ("ld.relaxed.gpu r1, x", "P0:r0 == 1 /\\ P0:r1 == 0"),
        ("st.weak x, 1", "P0:r0 == 1 /\\ x == 2"),
        ("st.relaxed.gpu x, 1", "P0:r0 == 1 /\\ x == 2"),
    ];
    for (read, (access, condition)) in reads.into_iter().cartesian_product(after) {
        check("acquire", "relaxed", &format!("{read}; {access}"), &[PUBLISHES], condition);
    }
}

#[test]
fn a_write_of_the_same_location_passes_on() {
    let third = "ld.acquire.gpu r1, y; ld.relaxed.gpu r2, x";
    let condition = "P0:r0 == 1 /\\ P2:r1 == 2 /\\ P2:r2 == 0";
    check("acquire", "relaxed", "ld.{}.gpu r0, y; st.release.gpu y, 2", &[PUBLISHES, third], condition);
}

#[test]
fn writes_and_earlier_accesses() {
    let writes = ["st.{}.gpu y, 1", "atom.{}.gpu.exch r5, y, 1", "atom.{}.gpu.cas r5, y, 0, 1"];
    let reads_new = "P1:r0 == 1 /\\ P1:r1 == 0";
    let in_front = [
        ("st.weak x, 1", "ld.acquire.gpu r0, y; ld.relaxed.gpu r1, x", reads_new),
        ("st.relaxed.gpu x, 1", "ld.acquire.gpu r0, y; ld.relaxed.gpu r1, x", reads_new),
        ("ld.weak r2, x", "ld.acquire.gpu r0, y; st.relaxed.gpu x, 1", "P1:r0 == 1 /\\ P0:r2 == 1"),
        ("ld.relaxed.gpu r2, x", "ld.acquire.gpu r0, y; st.relaxed.gpu x, 1", "P1:r0 == 1 /\\ P0:r2 == 1"),
    ];
    for (write, (access, other, condition)) in writes.into_iter().cartesian_product(in_front) {
        check("release", "relaxed", &format!("{access}; {write}"), &[other], condition);
    }
}

/// An acq_rel fence preserves everything except the total order of sequentially consistent fences.
#[test]
fn fences_of_which_all_agree() {
    let fence = |first: &str, last: &str| format!("{first}; fence.{{}}.gpu; {last}");
    check(
        "sc",
        "acq_rel",
        &fence("st.relaxed.gpu x, 1", "ld.relaxed.gpu r0, y"),
        &["st.relaxed.gpu y, 1; fence.sc.gpu; ld.relaxed.gpu r0, x"],
        "P0:r0 == 0 /\\ P1:r0 == 0",
    );
    check(
        "sc",
        "acq_rel",
        &fence("st.relaxed.gpu x, 1", "st.relaxed.gpu y, 2"),
        &["st.relaxed.gpu y, 1; fence.sc.gpu; st.relaxed.gpu x, 2"],
        "x == 1 /\\ y == 1",
    );
    check(
        "sc",
        "acq_rel",
        &fence("ld.relaxed.gpu r0, x", "ld.relaxed.gpu r1, y"),
        &["ld.relaxed.gpu r0, y; fence.sc.gpu; ld.relaxed.gpu r1, x", "st.relaxed.gpu x, 1", "st.relaxed.gpu y, 1"],
        "P0:r0 == 1 /\\ P0:r1 == 0 /\\ P1:r0 == 1 /\\ P1:r1 == 0",
    );
}

/// The reason why a loop with a sequentially consistent read is not rewritten: a fence before the loop does not order
/// the reads of earlier iterations, whose values the program keeps, with the code after the loop.
#[test]
fn a_fence_between_two_rounds() {
    let reader = "st.relaxed.gpu y, 1; fence.sc.gpu; ld.relaxed.gpu r3, x";
    let others = [reader, "st.relaxed.gpu x, 1; st.relaxed.gpu x, 2"].map(ToOwned::to_owned);
    let condition = "P0:r1 == 1 /\\ P0:r0 == 2 /\\ P0:r2 == 0 /\\ P1:r3 == 0";
    let end = |first: &str| ends(&[&[first.to_owned()][..], &others].concat(), condition);
    assert!(!end("fence.sc.gpu; ld.acquire.gpu r1, x; fence.sc.gpu; ld.acquire.gpu r0, x; ld.relaxed.gpu r2, y"));
    assert!(end("fence.sc.gpu; ld.relaxed.gpu r1, x; ld.relaxed.gpu r0, x; fence.acquire.gpu; ld.relaxed.gpu r2, y"));
}
