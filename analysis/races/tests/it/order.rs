//! Protocols that are proved by values and by locks. No mutant of them is proved.

use ptx_isa::Module;
use ptx_races::check::{Outcome, RaceOptions, check as check_module};

use crate::mutants;

/// `%rd1` is `data`, `%rd2` is `flag`, `%r1` is `%tid.x`, `%r2` is `%ctaid.x`; `%p0` is true in all threads except the
/// first of its CTA.
fn verdict(body: &str) -> (Outcome, String) {
    let text = format!(
        ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry k(.param .u64 data, .param .u64 flag)\n.reqntid 32, 1, 1\n{{\n\
         .shared .align 4 .b8 word[8];\n.reg .pred %p<8>;\n.reg .b32 %r<16>;\n.reg .b64 %rd<16>;\n\
         ld.param.u64 %rd1, [data];\nld.param.u64 %rd2, [flag];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, %ctaid.x;\n\
         setp.ne.u32 %p0, %r1, 0;\n{body}\nDONE:\nret;\n}}\n"
    );
    let module: Module = text.parse().expect("PTX");
    let options = RaceOptions::default();
    let report = check_module(&module, &options).into_iter().next().expect("a kernel");
    (report.verdict, format!("{:?}", report.obstacles))
}

/// See [`mutants::check`].
#[track_caller]
fn check(body: &str, open: usize, mutants: &[(&str, &str)]) {
    mutants::check(verdict, body, open, mutants);
}

const MESSAGE: &str = "@%p0 bra DONE;
setp.ne.u32 %p1, %r2, 0;
@%p1 bra READER;
st.global.u32 [%rd1], 42;
st.release.gpu.global.u32 [%rd2], 1;
bra DONE;
READER:
POLL:
ld.acquire.gpu.global.u32 %r3, [%rd2];
setp.ne.u32 %p2, %r3, 1;
@%p2 bra POLL;
ld.global.u32 %r4, [%rd1];";

#[test]
fn a_message() {
    check(
        MESSAGE,
        0,
        &[
            ("st.release.gpu", "st.relaxed.gpu"),
            ("st.release.gpu", "st.release.cta"),
            ("st.release.gpu", "st.release.cluster"),
            ("ld.acquire.gpu", "ld.relaxed.gpu"),
            ("ld.acquire.gpu", "ld.acquire.cta"),
            ("st.release.gpu.global.u32 [%rd2], 1;", "st.global.u32 [%rd2], 1;"),
            ("st.release.gpu.global.u32 [%rd2], 1;", "st.release.gpu.global.u64 [%rd2], 1;"),
            // The message is written after the flag.
            (
                "st.release.gpu.global.u32 [%rd2], 1;\nbra DONE;",
                "st.release.gpu.global.u32 [%rd2], 1;\nst.global.u32 [%rd1], 43;\nbra DONE;",
            ),
            // The message is read before the poll.
            ("READER:", "READER:\nld.global.u32 %r5, [%rd1];"),
            // The initial value of memory ends the poll, or a value from a different write does.
            ("setp.ne.u32 %p2, %r3, 1;", "setp.ne.u32 %p2, %r3, 0;"),
            ("setp.ne.u32 %p2, %r3, 1;", "setp.gt.u32 %p2, %r3, 1;"),
            ("st.global.u32 [%rd1], 42;", "st.release.gpu.global.u32 [%rd2], 1;\nst.global.u32 [%rd1], 42;"),
            ("READER:", "READER:\nst.relaxed.gpu.global.u32 [%rd2], 1;"),
            ("READER:", "READER:\natom.relaxed.gpu.global.add.u32 %r5, [%rd2], 1;"),
            ("READER:", "READER:\nst.relaxed.gpu.global.u16 [%rd2], 1;"),
            // No thread waits.
            ("@%p2 bra POLL;", ""),
        ],
    );
    // Several threads write different messages.
    let many = MESSAGE.replace("setp.ne.u32 %p1, %r2, 0;", "setp.gt.u32 %p1, %r2, 1;");
    assert_eq!(verdict(&many).0, Outcome::Race);
    // An unknown thread writes the flag.
    let other = MESSAGE.replace("READER:", "READER:\natom.relaxed.gpu.global.exch.b32 %r5, [%rd2], %r2;");
    assert_eq!(verdict(&other).0, Outcome::Race);
}

#[test]
fn a_message_by_fences() {
    check(
        "@%p0 bra DONE;
setp.ne.u32 %p1, %r2, 0;
@%p1 bra POLL;
st.global.u32 [%rd1], 42;
fence.acq_rel.gpu;
st.relaxed.gpu.global.u32 [%rd2], 1;
bra DONE;
POLL:
ld.relaxed.gpu.global.u32 %r3, [%rd2];
setp.ne.u32 %p2, %r3, 1;
@%p2 bra POLL;
membar.gl;
ld.global.u32 %r4, [%rd1];",
        0,
        &[
            ("fence.acq_rel.gpu;", ""),
            ("fence.acq_rel.gpu;", "fence.acq_rel.cta;"),
            ("fence.acq_rel.gpu;", "@%p3 fence.acq_rel.gpu;"),
            ("membar.gl;", ""),
            ("membar.gl;", "membar.cta;"),
            ("st.global.u32 [%rd1], 42;\nfence.acq_rel.gpu;", "fence.acq_rel.gpu;\nst.global.u32 [%rd1], 42;"),
            ("ld.relaxed.gpu.global.u32", "ld.global.u32"),
            ("ld.relaxed.gpu.global.u32", "ld.volatile.global.u64 %rd9, [%rd2];\nld.global.u32"),
        ],
    );
}

#[test]
fn a_message_of_all_threads_for_all_threads() {
    check(
        "mul.wide.u32 %rd4, %r1, 4;
add.s64 %rd5, %rd1, %rd4;
xor.b32 %r6, %r1, 1;
mul.wide.u32 %rd6, %r6, 4;
add.s64 %rd7, %rd1, %rd6;
setp.ne.u32 %p1, %r2, 0;
@%p1 bra READER;
st.global.u32 [%rd5], %r1;
bar.sync 0;
@%p0 bra DONE;
st.release.gpu.global.u32 [%rd2], 1;
bra DONE;
READER:
@%p0 bra WAIT;
POLL:
ld.acquire.gpu.global.u32 %r3, [%rd2];
setp.ne.u32 %p2, %r3, 1;
@%p2 bra POLL;
WAIT:
bar.sync 1;
ld.global.u32 %r4, [%rd7];",
        2,
        &[
            ("bar.sync 0;", ""),
            ("bar.sync 0;", "bar.warp.sync -1;"),
            ("bar.sync 1;", ""),
            ("bar.sync 1;\nld.global.u32 %r4, [%rd7];", "ld.global.u32 %r4, [%rd7];\nbar.sync 1;"),
            ("st.release.gpu", "st.relaxed.gpu"),
            ("ld.acquire.gpu", "ld.relaxed.gpu"),
            ("bar.sync 0;\n@%p0 bra DONE;", "bar.sync 0;\nst.global.u32 [%rd5], 1;\n@%p0 bra DONE;"),
            // A thread other than the first polls, and nothing is known about it.
            ("@%p0 bra WAIT;", "setp.ne.u32 %p3, %r1, %r2;\n@%p3 bra WAIT;"),
            ("setp.ne.u32 %p2, %r3, 1;", "setp.gt.u32 %p2, %r3, 1;"),
        ],
    );
}

/// One thread of a CTA reads or writes the flag on behalf of the CTA.
#[test]
fn a_fence_for_all_threads() {
    check(
        "mul.wide.u32 %rd4, %r1, 4;
add.s64 %rd5, %rd1, %rd4;
xor.b32 %r6, %r1, 1;
mul.wide.u32 %rd6, %r6, 4;
add.s64 %rd7, %rd1, %rd6;
setp.ne.u32 %p1, %r2, 0;
@%p1 bra READER;
st.global.u32 [%rd5], %r1;
bar.sync 0;
@%p0 bra DONE;
fence.acq_rel.gpu;
st.relaxed.gpu.global.u32 [%rd2], 1;
bra DONE;
READER:
@%p0 bra WAIT;
POLL:
ld.relaxed.gpu.global.u32 %r3, [%rd2];
setp.ne.u32 %p2, %r3, 1;
@%p2 bra POLL;
membar.gl;
WAIT:
bar.sync 1;
ld.global.u32 %r4, [%rd7];",
        0,
        &[
            ("fence.acq_rel.gpu;\n", ""),
            ("membar.gl;\n", ""),
            // A fence orders only the accesses of its own thread.
            ("bar.sync 0;\n@%p0 bra DONE;\nfence.acq_rel.gpu;", "fence.acq_rel.gpu;\nbar.sync 0;\n@%p0 bra DONE;"),
            ("membar.gl;\nWAIT:\nbar.sync 1;", "WAIT:\nbar.sync 1;\nmembar.gl;"),
        ],
    );
}

/// A CTA writes an element of data in each iteration, and its first thread a flag for the element before the last.
const ROUNDS: &str = "mul.wide.u32 %rd4, %r1, 4;
add.s64 %rd5, %rd1, %rd4;
xor.b32 %r6, %r1, 1;
mul.wide.u32 %rd6, %r6, 4;
add.s64 %rd7, %rd1, %rd6;
setp.ne.u32 %p1, %r2, 0;
@%p1 bra READER;
mov.u32 %r7, 0;
ROUND:
mul.wide.u32 %rd8, %r7, 4;
add.s64 %rd9, %rd2, %rd8;
@%p0 bra WRITTEN;
st.release.gpu.global.u32 [%rd9], 1;
WRITTEN:
bar.sync 0;
mul.wide.u32 %rd10, %r7, 128;
add.s64 %rd11, %rd5, %rd10;
st.global.u32 [%rd11], %r1;
add.u32 %r7, %r7, 1;
setp.lt.u32 %p3, %r7, 100;
@%p3 bra ROUND;
bra DONE;
READER:
@%p0 bra WAIT;
POLL:
ld.acquire.gpu.global.u32 %r3, [%rd2+40];
setp.ne.u32 %p2, %r3, 1;
@%p2 bra POLL;
WAIT:
bar.sync 1;
ld.global.u32 %r4, [%rd7+1024];";

#[test]
fn messages_in_rounds() {
    check(
        ROUNDS,
        0,
        &[
            // No barrier separates the access to this element from the flag.
            ("[%rd7+1024];", "[%rd7+1152];"),
            ("[%rd7+1024];", "[%rd7+1280];"),
            ("bar.sync 0;\n", ""),
            ("st.release.gpu", "st.relaxed.gpu"),
        ],
    );
    // The opposite order: each flag is written before a barrier that precedes the write of the element.
    let other = ROUNDS.replace("[%rd2+40];", "[%rd2+32];");
    assert_eq!(verdict(&other).0, Outcome::Race);
}

#[test]
fn a_chain() {
    check(
        "@%p0 bra DONE;
mul.wide.u32 %rd4, %r2, 4;
add.s64 %rd5, %rd1, %rd4;
add.s64 %rd6, %rd2, %rd4;
mov.u32 %r5, 1;
setp.eq.u32 %p1, %r2, 0;
@%p1 bra OWN;
POLL:
ld.acquire.gpu.global.u32 %r3, [%rd6+-4];
setp.eq.u32 %p2, %r3, 0;
@%p2 bra POLL;
ld.global.u32 %r4, [%rd5+-4];
add.u32 %r5, %r4, 1;
OWN:
st.global.u32 [%rd5], %r5;
st.release.gpu.global.u32 [%rd6], 2;",
        3,
        &[
            ("st.release.gpu", "st.relaxed.gpu"),
            ("ld.acquire.gpu", "ld.relaxed.gpu"),
            ("[%rd6], 2;", "[%rd6+-4], 2;"),
            ("[%rd6+-4];", "[%rd6];"),
            ("ld.global.u32 %r4, [%rd5+-4];", "ld.global.u32 %r4, [%rd5+-8];"),
            (
                "st.global.u32 [%rd5], %r5;\nst.release.gpu.global.u32 [%rd6], 2;",
                "st.release.gpu.global.u32 [%rd6], 2;\nst.global.u32 [%rd5], %r5;",
            ),
            ("POLL:", "st.release.gpu.global.u32 [%rd6], 1;\nPOLL:"),
        ],
    );
}

#[test]
fn tickets() {
    check(
        "@%p0 bra DONE;
atom.relaxed.gpu.global.add.u32 %r3, [%rd2], 1;
POLL:
ld.acquire.gpu.global.u32 %r4, [%rd2+4];
setp.ne.u32 %p2, %r4, %r3;
@%p2 bra POLL;
ld.global.u32 %r5, [%rd1];
add.u32 %r5, %r5, 1;
st.global.u32 [%rd1], %r5;
add.u32 %r6, %r3, 1;
st.release.gpu.global.u32 [%rd2+4], %r6;",
        4,
        &[
            ("st.release.gpu", "st.relaxed.gpu"),
            ("st.release.gpu", "st.release.cta"),
            ("ld.acquire.gpu", "ld.relaxed.gpu"),
            ("ld.acquire.gpu", "ld.acquire.cta"),
            ("atom.relaxed.gpu", "atom.relaxed.cta"),
            ("[%rd2], 1;", "[%rd2], 0;"),
            ("add.u32 %r6, %r3, 1;", "add.u32 %r6, %r3, 2;"),
            ("setp.ne.u32 %p2, %r4, %r3;", "setp.lt.u32 %p2, %r4, %r3;"),
            ("setp.ne.u32 %p2, %r4, %r3;", "setp.eq.u32 %p2, %r4, %r3;"),
            ("POLL:", "st.relaxed.gpu.global.u32 [%rd2], 0;\nPOLL:"),
            ("POLL:", "st.relaxed.gpu.global.u32 [%rd2+4], 1;\nPOLL:"),
            (
                "st.global.u32 [%rd1], %r5;\nadd.u32 %r6, %r3, 1;\nst.release.gpu.global.u32 [%rd2+4], %r6;",
                "add.u32 %r6, %r3, 1;\nst.release.gpu.global.u32 [%rd2+4], %r6;\nst.global.u32 [%rd1], %r5;",
            ),
            // Each thread of the CTA takes a ticket: a loop of the second thread is like a loop of another CTA.
            ("atom.relaxed.gpu.global.add.u32 %r3, [%rd2], 1;", "atom.relaxed.gpu.global.inc.u32 %r3, [%rd2], 7;"),
        ],
    );
}

/// One CTA has nothing to do, and passes its turn on.
#[test]
fn tickets_that_are_passed_on() {
    let fenced = "@%p0 bra DONE;
atom.relaxed.gpu.global.add.u32 %r3, [%rd2], 1;
add.u32 %r6, %r3, 1;
POLL:
ld.relaxed.gpu.global.u32 %r4, [%rd2+4];
setp.ne.u32 %p2, %r4, %r3;
@%p2 bra POLL;
fence.acq_rel.gpu;
setp.eq.u32 %p3, %r2, 5;
@%p3 bra PASS;
ld.global.u32 %r5, [%rd1];
add.u32 %r5, %r5, 1;
st.global.u32 [%rd1], %r5;
st.release.gpu.global.u32 [%rd2+4], %r6;
bra DONE;
PASS:
st.release.gpu.global.b32 [%rd2+4], %r6;";
    check(
        fenced,
        1,
        &[
            ("st.release.gpu.global.u32", "st.relaxed.gpu.global.u32"),
            (
                "fence.acq_rel.gpu;\nsetp.eq.u32 %p3, %r2, 5;\n@%p3 bra PASS;",
                "setp.eq.u32 %p3, %r2, 5;\n@%p3 bra PASS;\nfence.acq_rel.gpu;",
            ),
        ],
    );
    let acquired = fenced.replace("ld.relaxed", "ld.acquire").replace("fence.acq_rel.gpu;\n", "");
    check(&acquired, 1, &[("st.release.gpu.global.b32", "st.relaxed.gpu.global.b32")]);
}

const LOCK: &str = "@%p0 bra DONE;
TAKE:
atom.acquire.gpu.global.cas.b32 %r3, [%rd2], 0, 1;
setp.ne.u32 %p2, %r3, 0;
@%p2 bra TAKE;
ld.global.u32 %r5, [%rd1];
add.u32 %r5, %r5, 1;
st.global.u32 [%rd1], %r5;
st.release.gpu.global.u32 [%rd2], 0;";

#[test]
fn a_lock() {
    let mutants = [
        ("st.release.gpu", "st.relaxed.gpu"),
        ("st.release.gpu", "st.release.cta"),
        ("atom.acquire.gpu", "atom.relaxed.gpu"),
        ("atom.acquire.gpu", "atom.acquire.cta"),
        ("@%p2 bra TAKE;", ""),
        ("setp.ne.u32 %p2, %r3, 0;", "setp.eq.u32 %p2, %r3, 0;"),
        ("setp.ne.u32 %p2, %r3, 0;", "setp.gt.u32 %p2, %r3, 1;"),
        // The lock is released early, twice, or by threads that have not acquired it.
        (
            "st.global.u32 [%rd1], %r5;\nst.release.gpu.global.u32 [%rd2], 0;",
            "st.release.gpu.global.u32 [%rd2], 0;\nst.global.u32 [%rd1], %r5;",
        ),
        (
            "st.release.gpu.global.u32 [%rd2], 0;",
            "st.release.gpu.global.u32 [%rd2], 0;\nst.release.gpu.global.u32 [%rd2], 0;",
        ),
        ("TAKE:", "st.release.gpu.global.u32 [%rd2], 0;\nTAKE:"),
        ("@%p0 bra DONE;", "@%p0 st.release.gpu.global.u32 [%rd2], 0;\n@%p0 bra DONE;"),
        ("add.u32 %r5, %r5, 1;", "st.relaxed.gpu.global.u16 [%rd2], 0;"),
        // The data is also accessed outside the lock.
        ("TAKE:", "ld.global.u32 %r6, [%rd1];\nTAKE:"),
        // Each CTA has a lock of its own.
        ("TAKE:", "mul.wide.u32 %rd4, %r2, 4;\nadd.s64 %rd2, %rd2, %rd4;\nTAKE:"),
    ];
    check(LOCK, 0, &mutants);
    let exchanged = LOCK.replace("cas.b32 %r3, [%rd2], 0, 1;", "exch.b32 %r3, [%rd2], 1;");
    check(&exchanged, 0, &mutants);
    let given =
        LOCK.replace("st.release.gpu.global.u32 [%rd2], 0;", "atom.release.gpu.global.exch.b32 %r7, [%rd2], 0;");
    check(&given, 0, &[("atom.release.gpu", "atom.relaxed.gpu")]);
    let fenced = LOCK.replace("atom.acquire", "atom.relaxed").replace("ld.global", "fence.acq_rel.gpu;\nld.global");
    check(
        &fenced,
        0,
        &[
            ("fence.acq_rel.gpu;", ""),
            ("fence.acq_rel.gpu;\nld.global.u32 %r5, [%rd1];", "ld.global.u32 %r5, [%rd1];\nfence.acq_rel.gpu;"),
        ],
    );
}

/// One CTA has nothing to do under the lock.
#[test]
fn a_lock_that_is_passed_on() {
    let fenced = "@%p0 bra DONE;
TAKE:
atom.relaxed.gpu.global.cas.b32 %r3, [%rd2], 0, 1;
setp.ne.u32 %p2, %r3, 0;
@%p2 bra TAKE;
fence.acq_rel.gpu;
setp.eq.u32 %p3, %r2, 5;
@%p3 bra PASS;
ld.global.u32 %r5, [%rd1];
add.u32 %r5, %r5, 1;
st.global.u32 [%rd1], %r5;
fence.sc.gpu;
st.relaxed.gpu.global.u32 [%rd2], 0;
bra DONE;
PASS:
st.release.gpu.global.b32 [%rd2], 0;";
    check(
        fenced,
        1,
        &[
            ("fence.sc.gpu;\n", ""),
            ("st.global.u32 [%rd1], %r5;\nfence.sc.gpu;", "fence.sc.gpu;\nst.global.u32 [%rd1], %r5;"),
            (
                "fence.acq_rel.gpu;\nsetp.eq.u32 %p3, %r2, 5;\n@%p3 bra PASS;",
                "setp.eq.u32 %p3, %r2, 5;\n@%p3 bra PASS;\nfence.acq_rel.gpu;",
            ),
        ],
    );
    let acquired = fenced.replace("atom.relaxed", "atom.acquire").replace("fence.acq_rel.gpu;\n", "");
    check(&acquired, 1, &[("st.release.gpu.global.b32", "st.relaxed.gpu.global.b32")]);
}

/// A thread that does not get the lock at once continues without it.
#[test]
fn a_lock_that_is_tried() {
    check(
        "@%p0 bra DONE;
atom.acquire.gpu.global.cas.b32 %r3, [%rd2], 0, 1;
setp.ne.u32 %p2, %r3, 0;
setp.eq.u32 %p3, %r2, 5;
@%p3 bra PASS;
@%p2 bra DONE;
ld.global.u32 %r5, [%rd1];
st.global.u32 [%rd1], %r5;
st.release.gpu.global.u32 [%rd2], 0;
bra DONE;
PASS:
@%p2 bra DONE;
st.release.gpu.global.b32 [%rd2], 0;",
        1,
        &[
            ("PASS:\n@%p2 bra DONE;", "PASS:"),
            ("@%p2 bra DONE;\nld.global.u32 %r5, [%rd1];", "ld.global.u32 %r5, [%rd1];\n@%p2 bra DONE;"),
        ],
    );
}

/// The previous holder of the lock may be in another CTA, although each CTA has its own data. In no execution do
/// threads of two CTAs take the lock in turns, so both mutants are open.
#[test]
fn a_lock_for_data_of_a_cta() {
    check(
        "mul.wide.u32 %rd4, %r2, 4;
add.s64 %rd5, %rd1, %rd4;
TAKE:
atom.relaxed.gpu.global.cas.b32 %r3, [%rd2], 0, 1;
setp.ne.u32 %p2, %r3, 0;
@%p2 bra TAKE;
fence.acq_rel.gpu;
ld.global.u32 %r5, [%rd5];
st.global.u32 [%rd5], %r5;
fence.sc.gpu;
st.relaxed.gpu.global.u32 [%rd2], 0;",
        2,
        &[("fence.acq_rel.gpu;", "fence.acq_rel.cta;"), ("fence.sc.gpu;", "fence.sc.cta;")],
    );
}

#[test]
fn locks_of_objects() {
    check(
        "mul.wide.u32 %rd3, %r1, 4;
add.s64 %rd4, %rd2, %rd3;
add.s64 %rd5, %rd1, %rd3;
TAKE:
atom.acquire.gpu.global.cas.b32 %r3, [%rd4], 0, 1;
setp.ne.u32 %p2, %r3, 0;
@%p2 bra TAKE;
ld.global.u32 %r5, [%rd5];
st.global.u32 [%rd5], %r5;
st.release.gpu.global.u32 [%rd4], 0;",
        0,
        &[
            ("add.s64 %rd5, %rd1, %rd3;", "shr.u64 %rd6, %rd3, 3;\nshl.b64 %rd6, %rd6, 2;\nadd.s64 %rd5, %rd1, %rd6;"),
            ("st.release.gpu.global.u32 [%rd4], 0;", "st.release.gpu.global.u32 [%rd4+4], 0;"),
            ("st.release.gpu.global.u32 [%rd4], 0;", "st.release.gpu.global.u32 [%rd2], 0;"),
        ],
    );
}

#[test]
fn accesses_of_a_single_iteration() {
    check(
        "@%p0 bra DONE;
ld.acquire.gpu.global.u32 %r3, [%rd2];
setp.eq.u32 %p2, %r3, 2;
@%p2 bra READ;
atom.relaxed.gpu.global.cas.b32 %r4, [%rd2], 0, 1;
setp.ne.u32 %p3, %r4, 0;
@%p3 bra POLL;
st.global.u32 [%rd1], 42;
st.release.gpu.global.u32 [%rd2], 2;
bra READ;
POLL:
ld.acquire.gpu.global.u32 %r5, [%rd2];
setp.ne.u32 %p4, %r5, 2;
@%p4 bra POLL;
READ:
ld.global.u32 %r6, [%rd1];",
        3,
        &[
            ("st.release.gpu", "st.relaxed.gpu"),
            ("ld.acquire.gpu.global.u32 %r3", "ld.relaxed.gpu.global.u32 %r3"),
            ("ld.acquire.gpu.global.u32 %r5", "ld.relaxed.gpu.global.u32 %r5"),
            ("setp.eq.u32 %p2, %r3, 2;", "setp.ge.u32 %p2, %r3, 1;"),
            ("setp.ne.u32 %p4, %r5, 2;", "setp.eq.u32 %p4, %r5, 0;"),
            ("@%p3 bra POLL;", ""),
            ("@%p4 bra POLL;", ""),
            ("READ:", "st.relaxed.gpu.global.u32 [%rd2], 0;\nREAD:"),
            ("cas.b32 %r4, [%rd2], 0, 1;", "cas.b32 %r4, [%rd2], 0, 0;"),
        ],
    );
}

const SHARED: &str = "@%p0 bra BEGIN;
st.shared.u32 [word+4], 0;
BEGIN:
bar.sync 0;
setp.gt.u32 %p1, %r1, 1;
@%p1 bra DONE;
@%p0 bra POLL;
st.shared.u32 [word], 42;
st.release.cta.shared.u32 [word+4], 1;
bra DONE;
POLL:
ld.acquire.cta.shared.u32 %r3, [word+4];
setp.ne.u32 %p2, %r3, 1;
@%p2 bra POLL;
ld.shared.u32 %r4, [word];";

#[test]
fn a_flag_in_shared_memory() {
    check(
        SHARED,
        3,
        &[
            ("st.release.cta", "st.relaxed.cta"),
            ("ld.acquire.cta", "ld.relaxed.cta"),
            ("setp.ne.u32 %p2, %r3, 1;", "setp.eq.u32 %p2, %r3, 1;"),
            (
                "st.shared.u32 [word], 42;\nst.release.cta.shared.u32 [word+4], 1;",
                "st.release.cta.shared.u32 [word+4], 1;\nst.shared.u32 [word], 42;",
            ),
            // The initial value of shared memory is arbitrary.
            ("st.shared.u32 [word+4], 0;\n", ""),
            ("[word+4], 0;", "[word+4], 1;"),
            ("[word+4], 0;", "[word], 0;"),
            ("bar.sync 0;\n", ""),
            ("@%p0 bra BEGIN;", "setp.ne.u32 %p3, %r1, %r2;\n@%p3 bra BEGIN;"),
        ],
    );
}

/// A chain that leads through other CTAs to a thread of the same CTA.
#[test]
fn a_fence_too_narrow_for_a_chain() {
    let tickets = "setp.gt.u32 %p1, %r1, 1;
@%p1 bra DONE;
atom.relaxed.gpu.global.add.u32 %r3, [%rd2], 1;
POLL:
ld.relaxed.gpu.global.u32 %r4, [%rd2+4];
setp.ne.u32 %p2, %r4, %r3;
@%p2 bra POLL;
fence.acq_rel.gpu;
mul.wide.u32 %rd4, %r2, 4;
add.s64 %rd5, %rd1, %rd4;
ld.global.u32 %r5, [%rd5];
st.global.u32 [%rd5], %r5;
add.u32 %r6, %r3, 1;
fence.sc.gpu;
st.relaxed.gpu.global.u32 [%rd2+4], %r6;";
    check(tickets, 2, &[("fence.acq_rel.gpu;", "fence.acq_rel.cta;"), ("fence.sc.gpu;", "fence.sc.cta;")]);
}

#[test]
fn more_stores_than_a_byte_counts() {
    let stores: String = (2..300).map(|at| format!("st.relaxed.gpu.global.u32 [%rd2+{}], 1;\n", at * 4)).collect();
    let message = MESSAGE.replace("st.global.u32 [%rd1], 42;\n", &format!("{stores}st.global.u32 [%rd1], 42;\n"));
    let (is, why) = verdict(&message);
    assert_eq!(is, Outcome::Free, "{why}");
}

/// The last CTA to arrive reads the data of all other CTAs.
const LAST: &str = "@%p0 bra JOIN;
mul.wide.u32 %rd4, %r2, 4;
add.s64 %rd5, %rd1, %rd4;
st.global.u32 [%rd5], %r2;
mov.u32 %r3, %nctaid.x;
sub.u32 %r3, %r3, 1;
atom.acq_rel.gpu.global.add.u32 %r4, [%rd2], 1;
setp.eq.u32 %p2, %r4, %r3;
selp.u32 %r5, 1, 0, %p2;
st.shared.u32 [word], %r5;
JOIN:
bar.sync 0;
ld.shared.u32 %r6, [word];
setp.eq.u32 %p3, %r6, 0;
@%p3 bra DONE;
mul.wide.u32 %rd6, %r1, 4;
add.s64 %rd7, %rd1, %rd6;
ld.global.u32 %r7, [%rd7];
st.global.u32 [%rd7+1024], %r7;
@%p0 bra DONE;
st.global.u32 [%rd2], 0;";

#[test]
fn the_last_block() {
    let add = "atom.acq_rel.gpu.global.add.u32 %r4, [%rd2], 1;";
    check(
        LAST,
        3,
        &[
            (".acq_rel.gpu", ".relaxed.gpu"),
            (".acq_rel.gpu", ".acquire.gpu"),
            (".acq_rel.gpu", ".release.gpu"),
            (".acq_rel.gpu", ".acq_rel.cta"),
            ("sub.u32 %r3, %r3, 1;", "sub.u32 %r3, %r3, 2;"),
            ("sub.u32 %r3, %r3, 1;", "shr.u32 %r3, %r3, 1;"),
            ("[%rd2], 1;", "[%rd2], 2;"),
            // Each CTA arrives twice, or an additional thread arrives.
            (add, &format!("{add}\n{add}")),
            ("@%p0 bra JOIN;", "setp.gt.u32 %p1, %r1, 1;\n@%p1 bra JOIN;"),
            ("JOIN:", "JOIN:\nred.relaxed.gpu.global.add.u32 [%rd2], 1;"),
            // Each CTA has a counter of its own.
            ("mov.u32 %r3, %nctaid.x;", "add.s64 %rd2, %rd2, %rd4;\nmov.u32 %r3, %nctaid.x;"),
            ("setp.eq.u32 %p3, %r6, 0;", "setp.eq.u32 %p3, %r6, 1;"),
            ("setp.eq.u32 %p2, %r4, %r3;", "setp.le.u32 %p2, %r4, %r3;"),
            ("bar.sync 0;\n", ""),
            ("st.shared.u32 [word], %r5;", "st.shared.u32 [word+4], %r5;"),
            ("JOIN:\n", "JOIN:\n@%p0 st.shared.u32 [word], 1;\n"),
            // Each CTA resets the counter, or writes its data after its arrival.
            ("bar.sync 0;\n", "bar.sync 0;\n@%p0 bra NEXT;\nst.global.u32 [%rd2], 0;\nNEXT:\n"),
            ("JOIN:\nbar.sync 0;", "st.global.u32 [%rd5], 1;\nJOIN:\nbar.sync 0;"),
            // Each CTA reads.
            ("@%p3 bra DONE;\n", ""),
            // The grid has several directions.
            ("setp.eq.u32 %p3, %r6, 0;", "mov.u32 %r9, %ctaid.y;\nsetp.eq.u32 %p3, %r6, 0;"),
        ],
    );
    let fenced = LAST
        .replace("atom.acq_rel", "fence.acq_rel.gpu;\natom.relaxed")
        .replace("setp.eq.u32 %p2", "membar.gl;\nsetp.eq.u32 %p2");
    check(&fenced, 1, &[("fence.acq_rel.gpu;\n", ""), ("membar.gl;\n", "")]);
    // A fence of each thread after the barrier is too late: the first thread has arrived, and read, without a fence.
    let late =
        fenced.replace("membar.gl;\n", "").replace("JOIN:\nbar.sync 0;", "JOIN:\nbar.sync 0;\nfence.acq_rel.gpu;");
    assert_eq!(verdict(&late).0, Outcome::Race);
    // A grid with two directions.
    let plane = LAST
        .replace("add.s64 %rd5, %rd1, %rd4;", "mov.u32 %r9, %ctaid.y;\ncvt.u64.u32 %rd9, %r9;\nshl.b64 %rd9, %rd9, 33;\nadd.s64 %rd5, %rd1, %rd4;\nadd.s64 %rd5, %rd5, %rd9;")
        .replace("mov.u32 %r3, %nctaid.x;", "mov.u32 %r3, %nctaid.x;\nmov.u32 %r10, %nctaid.y;\nmul.lo.u32 %r3, %r3, %r10;");
    check(&plane, 1, &[("mul.lo.u32 %r3, %r3, %r10;\n", ""), ("shl.b64 %rd9, %rd9, 33;", "shl.b64 %rd9, %rd9, 9;")]);
    // Two threads of each CTA arrive.
    let twice = LAST
        .replace("@%p0 bra JOIN;", "setp.gt.u32 %p1, %r1, 1;\n@%p1 bra JOIN;")
        .replace("st.global.u32 [%rd5], %r2;", "@%p0 bra ARRIVE;\nst.global.u32 [%rd5], %r2;\nARRIVE:")
        .replace("setp.eq.u32 %p2", "@%p0 bra JOIN;\nsetp.eq.u32 %p2");
    assert_eq!(verdict(&twice).0, Outcome::Race);
    let once = twice.replace("setp.gt.u32 %p1, %r1, 1;", "setp.gt.u32 %p1, %r1, 0;");
    assert_eq!(verdict(&once).0, Outcome::Free, "{once}");
    let wrapped =
        LAST.replace("add.u32 %r4, [%rd2], 1;", "inc.u32 %r4, [%rd2], %r3;").replace("st.global.u32 [%rd2], 0;", "");
    check(&wrapped, 1, &[("inc.u32 %r4, [%rd2], %r3;", "inc.u32 %r4, [%rd2], 7;")]);
}

/// All threads of a CTA write, and the first thread arrives for them.
#[test]
fn the_last_block_of_all_threads() {
    check(
        "mad.lo.u32 %r8, %r2, 32, %r1;
mul.wide.u32 %rd4, %r8, 4;
add.s64 %rd5, %rd1, %rd4;
st.global.u32 [%rd5], %r2;
bar.sync 1;
@%p0 bra JOIN;
mov.u32 %r3, %nctaid.x;
sub.u32 %r3, %r3, 1;
fence.acq_rel.gpu;
atom.relaxed.gpu.global.add.u32 %r4, [%rd2], 1;
fence.acq_rel.gpu;//
setp.eq.u32 %p2, %r4, %r3;
selp.u32 %r5, 1, 0, %p2;
st.shared.u32 [word], %r5;
JOIN:
bar.sync 0;
ld.shared.u32 %r6, [word];
setp.eq.u32 %p3, %r6, 0;
@%p3 bra DONE;
xor.b32 %r9, %r8, 33;
mul.wide.u32 %rd6, %r9, 4;
add.s64 %rd7, %rd1, %rd6;
ld.global.u32 %r7, [%rd7];",
        0,
        &[
            ("fence.acq_rel.gpu;\n", ""),
            ("fence.acq_rel.gpu;//\n", ""),
            ("bar.sync 1;\n", ""),
            ("bar.sync 1;\n@%p0 bra JOIN;", "bar.sync 1;\nst.global.u32 [%rd5], 1;\n@%p0 bra JOIN;"),
            // Each thread executes a fence before the barrier, but the arriving thread executes none after it.
            (
                "bar.sync 1;\n@%p0 bra JOIN;\nmov.u32 %r3, %nctaid.x;\nsub.u32 %r3, %r3, 1;\nfence.acq_rel.gpu;\n",
                "fence.acq_rel.gpu;\nbar.sync 1;\n@%p0 bra JOIN;\nmov.u32 %r3, %nctaid.x;\nsub.u32 %r3, %r3, 1;\n",
            ),
        ],
    );
}

/// Every CTA waits for all CTAs.
#[test]
fn a_barrier_of_the_grid() {
    check(
        "mad.lo.u32 %r8, %r2, 32, %r1;
mul.wide.u32 %rd4, %r8, 4;
add.s64 %rd5, %rd1, %rd4;
st.global.u32 [%rd5], %r2;
bar.sync 1;
@%p0 bra JOIN;
mov.u32 %r3, %nctaid.x;
atom.release.gpu.global.add.u32 %r4, [%rd2], 1;
POLL:
ld.acquire.gpu.global.u32 %r5, [%rd2];
setp.lt.u32 %p2, %r5, %r3;
@%p2 bra POLL;
JOIN:
bar.sync 0;
xor.b32 %r9, %r8, 33;
mul.wide.u32 %rd6, %r9, 4;
add.s64 %rd7, %rd1, %rd6;
ld.global.u32 %r7, [%rd7];",
        0,
        &[
            ("atom.release.gpu", "atom.relaxed.gpu"),
            ("ld.acquire.gpu", "ld.relaxed.gpu"),
            ("ld.acquire.gpu", "ld.acquire.cta"),
            ("setp.lt.u32 %p2, %r5, %r3;", "setp.le.u32 %p2, %r5, 1;"),
            ("setp.lt.u32 %p2, %r5, %r3;", "setp.eq.u32 %p2, %r5, %r3;"),
            ("bar.sync 1;\n", ""),
            ("bar.sync 0;\n", ""),
            ("@%p2 bra POLL;\n", ""),
            ("JOIN:\nbar.sync 0;", "JOIN:\nbar.sync 0;\nst.global.u32 [%rd5], 1;"),
            ("POLL:", "st.relaxed.gpu.global.u32 [%rd2], 64;\nPOLL:"),
            ("bar.sync 1;\n", "bar.sync 1;\n@%p0 bra OVER;\natom.release.gpu.global.add.u32 %r4, [%rd2], 1;\nOVER:\n"),
        ],
    );
}

/// Four slots: the first CTA writes an item when the previous item of the slot has been read, and the second CTA reads
/// it.
const RING: &str = "@%p0 bra DONE;
mov.u32 %r3, 0;
setp.ne.u32 %p1, %r2, 0;
@%p1 bra READ;
WRITE:
ld.acquire.gpu.global.u32 %r4, [%rd2+4];
sub.u32 %r5, %r3, %r4;
setp.ge.u32 %p3, %r5, 4;
@%p3 bra WRITE;
and.b32 %r6, %r3, 3;
mul.wide.u32 %rd4, %r6, 4;
add.s64 %rd5, %rd1, %rd4;
st.global.u32 [%rd5], %r3;
add.u32 %r3, %r3, 1;
st.release.gpu.global.u32 [%rd2], %r3;
setp.lt.u32 %p4, %r3, 100;
@%p4 bra WRITE;
bra DONE;
READ:
ld.acquire.gpu.global.u32 %r7, [%rd2];
setp.le.u32 %p5, %r7, %r3;
@%p5 bra READ;
and.b32 %r8, %r3, 3;
mul.wide.u32 %rd6, %r8, 4;
add.s64 %rd7, %rd1, %rd6;
ld.global.u32 %r9, [%rd7];
add.u32 %r3, %r3, 1;
st.release.gpu.global.u32 [%rd2+4], %r3;
setp.lt.u32 %p6, %r3, 100;
@%p6 bra READ;";

#[test]
fn a_ring() {
    // Without the guard, a third CTA would read, too.
    let body = format!("setp.gt.u32 %p7, %r2, 1;\n@%p7 bra DONE;\n{RING}");
    check(
        &body,
        0,
        &[
            ("st.release.gpu.global.u32 [%rd2], %r3;", "st.relaxed.gpu.global.u32 [%rd2], %r3;"),
            ("st.release.gpu.global.u32 [%rd2+4], %r3;", "st.relaxed.gpu.global.u32 [%rd2+4], %r3;"),
            ("ld.acquire.gpu.global.u32 %r4", "ld.relaxed.gpu.global.u32 %r4"),
            ("ld.acquire.gpu.global.u32 %r7", "ld.relaxed.gpu.global.u32 %r7"),
            ("setp.ge.u32 %p3, %r5, 4;", "setp.gt.u32 %p3, %r5, 4;"),
            ("setp.ge.u32 %p3, %r5, 4;", "setp.ge.s32 %p3, %r5, 5;"),
            ("setp.le.u32 %p5, %r7, %r3;", "setp.lt.u32 %p5, %r7, %r3;"),
            ("@%p3 bra WRITE;", ""),
            ("@%p5 bra READ;", ""),
            ("and.b32 %r6, %r3, 3;", "and.b32 %r6, %r3, 1;"),
            (
                "st.global.u32 [%rd5], %r3;\nadd.u32 %r3, %r3, 1;\nst.release.gpu.global.u32 [%rd2], %r3;",
                "add.u32 %r3, %r3, 1;\nst.release.gpu.global.u32 [%rd2], %r3;\nst.global.u32 [%rd5], %r3;",
            ),
            ("setp.gt.u32 %p7, %r2, 1;", "setp.gt.u32 %p7, %r2, 2;"),
        ],
    );
}

/// The first thread acquires a lock for its CTA, or waits for its turn.
const FOR_ALL: &str = "mul.wide.u32 %rd4, %r1, 4;
add.s64 %rd5, %rd1, %rd4;
@%p0 bra TAKEN;
TAKE:
atom.acquire.gpu.global.cas.b32 %r3, [%rd2], 0, 1;
setp.ne.u32 %p2, %r3, 0;
@%p2 bra TAKE;
TAKEN:
bar.sync 0;
ld.global.u32 %r5, [%rd5];
st.global.u32 [%rd5], %r5;
bar.sync 1;
@%p0 bra DONE;
st.release.gpu.global.u32 [%rd2], 0;";

#[test]
fn a_lock_for_all_threads() {
    check(
        FOR_ALL,
        2,
        &[
            ("st.release.gpu", "st.relaxed.gpu"),
            ("st.release.gpu", "fence.acq_rel.cta;\nst.relaxed.gpu"),
            ("atom.acquire.gpu", "atom.relaxed.gpu"),
            ("atom.acquire.gpu", "atom.acquire.cta"),
            ("bar.sync 0;\n", ""),
            ("bar.sync 1;\n", ""),
            ("@%p2 bra TAKE;\n", ""),
            ("bar.sync 0;", "st.global.u32 [%rd5], 1;\nbar.sync 0;"),
            ("st.global.u32 [%rd5], %r5;\nbar.sync 1;", "bar.sync 1;\nst.global.u32 [%rd5], %r5;"),
            ("@%p0 bra TAKEN;", "setp.eq.u32 %p3, %r2, 5;\n@%p3 bra TAKEN;\n@%p0 bra TAKEN;"),
            ("[%rd2], 0, 1;", "[%rd4], 0, 1;"),
            // One lock for two threads of a CTA.
            ("st.global.u32 [%rd5], %r5;", "st.global.u32 [%rd5+4], %r5;"),
            ("bar.sync 0;", "@%p0 bra NEXT;\nst.release.gpu.global.u32 [%rd2], 0;\nNEXT:\nbar.sync 0;"),
        ],
    );
    let fenced = FOR_ALL.replace("atom.acquire", "atom.relaxed").replace("TAKEN:", "fence.acq_rel.gpu;\nTAKEN:");
    check(&fenced, 0, &[("fence.acq_rel.gpu;\nTAKEN:\nbar.sync 0;", "TAKEN:\nbar.sync 0;\nfence.acq_rel.gpu;")]);
    let given = FOR_ALL.replace("st.release.gpu.global", "membar.gl;\nst.relaxed.gpu.global");
    check(&given, 0, &[("bar.sync 1;\n@%p0 bra DONE;\nmembar.gl;\n", "membar.gl;\nbar.sync 1;\n@%p0 bra DONE;\n")]);
}

/// CTAs add to the same words, one after another.
#[test]
fn turns_of_ctas() {
    let turns = "mul.wide.u32 %rd4, %r1, 4;
add.s64 %rd5, %rd1, %rd4;
@%p0 bra MINE;
POLL:
ld.acquire.gpu.global.u32 %r3, [%rd2];
setp.ne.u32 %p2, %r3, %r2;
@%p2 bra POLL;
MINE:
bar.sync 0;
ld.global.u32 %r5, [%rd5];
st.global.u32 [%rd5], %r5;
bar.sync 1;
@%p0 bra DONE;
add.u32 %r6, %r2, 1;
st.release.gpu.global.u32 [%rd2], %r6;";
    check(
        turns,
        2,
        &[
            ("st.release.gpu", "st.relaxed.gpu"),
            ("ld.acquire.gpu", "ld.relaxed.gpu"),
            ("ld.acquire.gpu", "ld.acquire.cta"),
            ("bar.sync 0;\n", ""),
            ("bar.sync 1;\n", ""),
            ("@%p2 bra POLL;\n", ""),
            ("add.u32 %r6, %r2, 1;", "add.u32 %r6, %r2, 2;"),
            ("setp.ne.u32 %p2, %r3, %r2;", "setp.gt.u32 %p2, %r3, %r2;"),
            ("st.global.u32 [%rd5], %r5;\nbar.sync 1;", "bar.sync 1;\nst.global.u32 [%rd5], %r5;"),
            ("bar.sync 0;\nld.global.u32 %r5, [%rd5];", "ld.global.u32 %r5, [%rd5];\nbar.sync 0;"),
            ("@%p0 bra MINE;", "setp.eq.u32 %p3, %r2, 5;\n@%p3 bra MINE;\n@%p0 bra MINE;"),
        ],
    );
    // The first thread draws a number with an atomic instead of using the index of the CTA.
    let drawn = turns
        .replace("POLL:", "atom.relaxed.gpu.global.add.u32 %r7, [%rd2+4], 1;\nPOLL:")
        .replace("%r3, %r2;", "%r3, %r7;")
        .replace("%r6, %r2, 1;", "%r6, %r7, 1;");
    check(
        &drawn,
        0,
        &[
            ("[%rd2+4], 1;", "[%rd2+4], 0;"),
            ("add.u32 %r7, [%rd2+4], 1;", "exch.b32 %r7, [%rd2+4], 1;"),
            ("bar.sync 0;\n", ""),
        ],
    );
}

#[test]
fn the_last_thread() {
    check(
        "@%p0 bra DONE;
mul.wide.u32 %rd4, %r2, 4;
add.s64 %rd5, %rd1, %rd4;
st.global.u32 [%rd5], %r2;
mov.u32 %r3, %nctaid.x;
sub.u32 %r3, %r3, 1;
fence.acq_rel.gpu;
atom.relaxed.gpu.global.add.u32 %r4, [%rd2], 1;
membar.gl;
setp.ne.u32 %p2, %r4, %r3;
@%p2 bra DONE;
ld.global.u32 %r5, [%rd1+4];",
        1,
        &[("fence.acq_rel.gpu;\n", ""), ("membar.gl;\n", ""), ("@%p2 bra DONE;\n", "")],
    );
}
