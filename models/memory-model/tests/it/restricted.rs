//! Fences with `.sync_restrict` (section 9.7.13.5): each rule, in both readings of A15.

use ptx_memory_model::ptx::readings::{Ambiguity, Reading, Readings};

use crate::two_threads::{is_allowed, litmus};

const RELEASE: &str = "fence.release.sync_restrict::shared::cta.cluster";
const ACQUIRE: &str = "fence.acquire.sync_restrict::shared::cluster.cluster";

/// The reason of a case, the code of two CTAs of a cluster, and whether the outcome `P1:r0 == 1 /\ P1:r1 == 0` is
/// allowed in the default and in the strict reading. `RELEASE` and `ACQUIRE` stand for the restricted fences; `x` and `s`
/// are in shared memory, `g` and `f` in global memory.
type Case = (&'static str, [&'static str; 2], [bool; 2]);

#[rustfmt::skip]
const CASES: [Case; 10] = [
    ("shared memory of the releasing CTA", ["st.shared.weak x, 1; RELEASE; st.relaxed.cluster f, 1",
        "mapa r2, x, 0; ld.relaxed.cluster r0, f; ACQUIRE; ld.shared.weak r1, [r2]"], [false, true]),
    ("a flag in shared memory of the releasing CTA", ["st.shared.weak x, 1; RELEASE; st.shared.relaxed.cluster s, 1",
        "mapa r2, x, 0; mapa r3, s, 0; ld.shared.relaxed.cluster r0, [r3]; ACQUIRE; ld.shared.weak r1, [r2]"], [false, false]),
    ("a flag in shared memory of the other CTA", ["mapa r3, s, 1; st.shared.weak x, 1; RELEASE; st.shared.relaxed.cluster [r3], 1",
        "mapa r2, x, 0; ld.shared.relaxed.cluster r0, s; ACQUIRE; ld.shared.weak r1, [r2]"], [false, true]),
    ("global memory is not released", ["st.weak g, 1; RELEASE; st.relaxed.cluster f, 1", "ld.acquire.cluster r0, f; ld.weak r1, g"], [true, true]),
    ("global memory is not acquired", ["st.weak g, 1; fence.acq_rel.cluster; st.relaxed.cluster f, 1",
        "ld.relaxed.cluster r0, f; ACQUIRE; ld.weak r1, g"], [true, true]),
    ("an acquire of everything", ["st.shared.weak x, 1; RELEASE; st.relaxed.cluster f, 1", "mapa r2, x, 0; ld.acquire.cluster r0, f; ld.shared.weak r1, [r2]"],
        [false, true]),
    ("a release of everything", ["st.shared.weak x, 1; fence.acq_rel.cluster; st.relaxed.cluster f, 1",
        "mapa r2, x, 0; ld.relaxed.cluster r0, f; ACQUIRE; ld.shared.weak r1, [r2]"], [false, true]),
    ("shared memory of another CTA is not released", ["mapa r2, x, 1; st.shared.weak [r2], 1; RELEASE; st.relaxed.cluster f, 1",
        "ld.acquire.cluster r0, f; ld.shared.weak r1, x"], [true, true]),
    ("the fence before another fence", ["st.weak g, 1; RELEASE; fence.acq_rel.cluster; st.relaxed.cluster f, 1", "ld.acquire.cluster r0, f; ld.weak r1, g"],
        [false, false]),
    ("no release before a relaxed store", ["st.shared.weak x, 1; st.relaxed.cluster f, 1", "mapa r2, x, 0; ld.relaxed.cluster r0, f; ACQUIRE; ld.shared.weak r1, [r2]"],
        [true, true]),
];

#[test]
fn each_rule() {
    let strict = Readings::DEFAULT.with(Ambiguity::RestrictedPattern, Reading::Strict);
    let mut wrong = Vec::new();
    for (reason, code, expected) in CASES {
        let code = code.map(|code| code.replace("RELEASE", RELEASE).replace("ACQUIRE", ACQUIRE));
        let places = ["cta 0,cluster 0,gpu 0", "cta 1,cluster 0,gpu 0"];
        let declared = "x=0; s=0; g=0; f=0; P1:r0=0; P1:r1=0;";
        let litmus = litmus(declared, places, [&code[0], &code[1]], "P1:r0 == 1 /\\ P1:r1 == 0");
        for (readings, expected) in [Readings::DEFAULT, strict].into_iter().zip(expected) {
            if is_allowed(&litmus, readings) != expected {
                wrong.push(format!("{reason}, {:?}: not {expected}", readings.reading(Ambiguity::RestrictedPattern)));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
