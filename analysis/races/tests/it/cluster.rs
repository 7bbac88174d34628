//! Shared memory of other CTAs of a cluster, and barriers of the cluster, with mutants of each proved kernel.

use ptx_isa::Module;
use ptx_races::check::{Outcome, RaceOptions, check as check_module};

use crate::mutants;

/// `%r1` is `%tid.x`, `%r2` the rank of the CTA in its cluster, `%r3` the rank of the next CTA, `%rd2` the word of the
/// thread in `buf`, `%rd3` the same word in the next CTA, `%rd4` the word of the thread in `out`.
fn verdict(head: &str, body: &str) -> (Outcome, String) {
    let text = format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 out)\n.reqntid 64, 1, 1\n{head}\n{{\n\
         .shared .align 4 .b8 buf[1024];\n.shared .align 4 .b8 other[256];\n.reg .pred %p<8>;\n.reg .b32 %r<20>;\n.reg .b64 %rd<20>;\n\
         ld.param.u64 %rd1, [out];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %cluster_ctarank;\nadd.u32 %r3, %r2, 1;\n\
         mov.u32 %r4, %cluster_nctarank;\nrem.u32 %r3, %r3, %r4;\nmul.wide.u32 %rd5, %r1, 4;\nmov.u64 %rd6, buf;\n\
         add.s64 %rd2, %rd6, %rd5;\nmapa.shared::cluster.u64 %rd3, %rd2, %r3;\nmov.u32 %r5, %ctaid.x;\n\
         mad.lo.u32 %r6, %r5, 64, %r1;\nmul.wide.u32 %rd7, %r6, 4;\nadd.s64 %rd4, %rd1, %rd7;\nsetp.eq.u32 %p0, %r2, 0;\n{body}\nret;\n}}\n"
    );
    let module: Module = text.parse().unwrap_or_else(|error| panic!("{error}\n{text}"));
    let options = RaceOptions::default();
    let report = check_module(&module, &options).into_iter().next().expect("a kernel");
    (report.verdict, format!("{:?}", report.obstacles))
}

/// The number of CTAs of a cluster: two, three, or as the launch says.
const HEADS: [&str; 3] = [".reqnctapercluster 2, 1, 1", ".reqnctapercluster 3, 1, 1", ""];

/// See [`mutants::check`]: `open` has a number for each of the heads.
#[track_caller]
fn check(body: &str, open: [usize; HEADS.len()], mutants: &[(&str, &str)]) {
    let found = HEADS.map(|head| mutants::left_open(|body| verdict(head, body), body, mutants));
    assert_eq!(found.each_ref().map(Vec::len), open, "mutants that are open: {found:#?}");
}

fn sync() -> &'static str {
    "barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n"
}

const RELAXED: (&str, &str) = ("barrier.cluster.arrive.aligned", "barrier.cluster.arrive.relaxed.aligned");

const ALONE: &str = "@%p0 bra END;\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\nEND:\n";

#[test]
fn the_next_cta_reads() {
    let body = format!(
        "st.shared.u32 [%rd2], %r1;\n{}ld.shared::cluster.u32 %r8, [%rd3];\nst.global.u32 [%rd4], %r8;\n",
        sync()
    );
    check(
        &body,
        [0, 0, 9],
        &[
            RELAXED,
            (sync(), "bar.sync 0;\n"),
            (sync(), ""),
            // A write to a different word, or to the thread's word before it has been read.
            ("[%rd4], %r8;", "[%rd4], %r8;\nst.shared.u32 [%rd2], 7;"),
            ("[%rd4]", "[%rd1]"),
            ("ld.shared::cluster.u32 %r8, [%rd3];", "st.shared::cluster.u32 [%rd3], 5;\nst.shared.u32 [%rd2], 6;"),
            // Some CTAs, or some threads of each CTA, do not arrive.
            (sync(), ALONE),
            ("barrier.cluster.arrive.aligned;\n", "@%p0 bra END;\nbarrier.cluster.arrive.aligned;\nEND:\n"),
            ("barrier.cluster.arrive.aligned;", "@%p0 barrier.cluster.arrive.aligned;"),
            ("barrier.cluster.wait.aligned;", "@%p0 barrier.cluster.wait.aligned;"),
            (
                sync(),
                "setp.gt.u32 %p1, %r1, 31;\n@%p1 bra END;\nbarrier.cluster.arrive;\nbarrier.cluster.wait;\nEND:\n",
            ),
            // Accesses between arrival and wait are ordered with neither.
            ("barrier.cluster.wait.aligned;", "st.shared.u32 [%rd2], 9;\nbarrier.cluster.wait.aligned;"),
            // Only some CTAs arrive, although the arrival precedes the wait in the text.
            ("barrier.cluster.wait.aligned;", "END:\nbarrier.cluster.wait.aligned;\n@%p0 bra END;"),
        ],
    );
}

#[test]
fn addresses_of_32_bits() {
    let body = format!(
        "cvt.u32.u64 %r9, %rd2;\nmapa.shared::cluster.u32 %r10, %r9, %r3;\nst.shared.u32 [%r9], %r1;\n{}ld.shared::cluster.u32 %r8, [%r10];\n",
        sync()
    );
    check(
        &body,
        [0, 0, 2],
        &[RELAXED, (sync(), ""), ("%r9], %r1;\n", "%r9], %r1;\nst.shared::cluster.u32 [%r10+4], 1;\n")],
    );
    // Each CTA writes to the shared memory of another CTA.
    let apart = body.replace("ld.shared::cluster.u32 %r8, [%r10];", "st.shared::cluster.u32 [%r10+4], 1;");
    assert_eq!(verdict(HEADS[0], &apart).0, Outcome::Free);
    let (same, why) = verdict(HEADS[0], &apart.replace("%r9, %r3;", "%r9, 0;"));
    assert_ne!(same, Outcome::Free, "{why}");
}

#[test]
fn generic_addresses() {
    let body = format!("mapa.u64 %rd8, %rd2, %r3;\nst.shared.u32 [%rd2], %r1;\n{}ld.u32 %r8, [%rd8];\n", sync());
    check(
        &body,
        [0, 0, 3],
        &[RELAXED, (sync(), ""), ("ld.u32 %r8, [%rd8];", "ld.u32 %r8, [%rd8];\nst.shared.u32 [%rd2], 0;")],
    );
}

#[test]
fn each_writes_to_the_next() {
    let body = format!("st.shared::cluster.u32 [%rd3], %r2;\n{}ld.shared.u32 %r8, [%rd2];\n", sync());
    check(
        &body,
        [0, 0, 4],
        &[
            RELAXED,
            (sync(), ""),
            ("[%rd3], %r2;", "[%rd3], %r2;\nst.shared.u32 [%rd2], 3;"),
            // All CTAs write to the first CTA.
            ("st.shared::cluster.u32 [%rd3]", "mapa.shared::cluster.u64 %rd8, %rd2, 0;\nst.shared::cluster.u32 [%rd8]"),
        ],
    );
}

/// Each CTA adds to the bins of the first CTA, like a histogram in distributed shared memory.
#[test]
fn all_count_in_the_first_one() {
    let body = format!(
        "mapa.shared::cluster.u64 %rd8, %rd6, 0;\nst.shared.u32 [%rd2], 0;\n{0}and.b32 %r9, %r1, 7;\nmul.wide.u32 %rd9, %r9, 4;\n\
         add.s64 %rd8, %rd8, %rd9;\nred.relaxed.cluster.shared::cluster.add.u32 [%rd8], 1;\n{0}@!%p0 bra DONE;\nld.shared.u32 %r10, [%rd2];\nDONE:\n",
        sync()
    );
    check(
        &body,
        [0, 0, 2],
        &[
            RELAXED,
            (sync(), ""),
            ("red.relaxed.cluster", "red.relaxed.cta"),
            ("1;\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\n", "1;\nbar.sync 0;\n"),
            ("red.relaxed.cluster.shared::cluster.add.u32", "st.shared::cluster.u32"),
        ],
    );
}

/// Blocks of data that circulate in the cluster, with and without a second buffer.
#[test]
fn rounds() {
    let of = |second: &str| {
        format!(
            "mov.u32 %r9, 0;\nROUND:\nst.shared.u32 [%rd2], %r9;\n{}ld.shared::cluster.u32 %r8, [%rd3];\n{second}\
             add.u32 %r9, %r9, 1;\nsetp.lt.u32 %p4, %r9, 9;\n@%p4 bra ROUND;\n",
            sync()
        )
    };
    check(
        &of(sync()),
        [2, 2, 6],
        &[
            RELAXED,
            (sync(), ""),
            (sync(), "bar.sync 0;\n"),
            ("mov.u32 %r9, 0;", "mov.u32 %r9, %r2;"),
            ("9;\n@%p4", "%r1;\n@%p4"),
            (sync(), "@%p0 bra END;\nbarrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;\nEND:\n"),
        ],
    );
    assert_eq!(verdict(HEADS[0], &of("")).0, Outcome::Race);
}

/// Barriers of a cluster order accesses to global memory within the cluster, but not beyond.
#[test]
fn global_memory() {
    let word = "xor.b32 %r9, %r6, 64;\nmul.wide.u32 %rd8, %r9, 4;\nadd.s64 %rd8, %rd1, %rd8;\n";
    let body = format!("{word}st.global.u32 [%rd4], %r1;\n{}ld.global.u32 %r8, [%rd8];\n", sync());
    let is = |head: &str, body: &str| verdict(head, body).0;
    assert_eq!(is(HEADS[0], &body), Outcome::Free);
    assert_eq!(is(HEADS[0], &body.replace(sync(), "bar.sync 0;\n")), Outcome::Race);
    assert_eq!(
        is(HEADS[0], &body.replace(sync(), "barrier.cluster.arrive.relaxed;\nbarrier.cluster.wait;\n")),
        Outcome::Race
    );
    // The other CTA belongs to a different cluster.
    assert_eq!(is(HEADS[0], &body.replace("%r6, 64", "%r6, 128")), Outcome::Race);
    assert_eq!(is(HEADS[1], &body), Outcome::Race);
    assert_eq!(is(HEADS[2], &body), Outcome::Race);
    assert_eq!(is("", &body), Outcome::Race);
    // The scope of an atomic includes its cluster.
    let atomic = "red.relaxed.cluster.global.add.u32 [%rd1], 1;\n";
    assert_eq!(is(HEADS[0], atomic), Outcome::Race);
    let own = "mov.u32 %r9, %clusterid.x;\nmul.wide.u32 %rd8, %r9, 4;\nadd.s64 %rd8, %rd1, %rd8;\nred.relaxed.cluster.global.add.u32 [%rd8], 1;\n";
    assert_eq!(is(HEADS[0], own), Outcome::Free);
    assert_eq!(is(HEADS[1], own), Outcome::Free);
    assert_eq!(is(HEADS[0], &own.replace("red.relaxed.cluster", "red.relaxed.cta")), Outcome::Race);
}

/// A cluster whose CTAs are arranged in more than one direction.
#[test]
fn two_directions() {
    let body = format!("st.shared::cluster.u32 [%rd3], %r2;\n{}ld.shared.u32 %r8, [%rd2];\n", sync());
    let head = ".reqnctapercluster 2, 2, 1";
    assert_eq!(verdict(head, &body).0, Outcome::Free);
    // Two CTAs of each four have the same x index, and write to the same memory.
    let column = body.replacen(
        "st.shared",
        "mov.u32 %r9, %cluster_ctaid.x;\nmapa.shared::cluster.u64 %rd3, %rd2, %r9;\nst.shared",
        1,
    );
    assert_eq!(verdict(head, &column).0, Outcome::Race);
}
