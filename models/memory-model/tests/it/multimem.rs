//! Multimem operations (sections 8.2.3 and 9.7.9.13): each rule, in the readings of the questions that the manual
//! leaves open.

use ptx_memory_model::{
    litmus::Litmus,
    ptx::readings::{Ambiguity, Reading, Readings},
};

use crate::two_threads::{is_allowed, litmus};

/// Whether an outcome is allowed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Allowed,
    Forbidden,
}

use Answer::{Allowed, Forbidden};

/// The readings of the columns of [`CASES`].
const READINGS: [(&str, Readings); 3] = [
    ("default", Readings::DEFAULT),
    ("A13=strict", Readings::DEFAULT.with(Ambiguity::MultimemAlias, Reading::Strict)),
    ("A14=lenient", Readings::DEFAULT.with(Ambiguity::MultimemAtOnce, Reading::Lenient)),
];

/// The reason of a case, the code of P0 on GPU 0 and of P1 on GPU 1, an outcome, and the answer for each of
/// [`READINGS`]. `m` points to `x` and `y`.
type Case = (&'static str, [&'static str; 2], &'static str, [Answer; 3]);

#[rustfmt::skip]
const CASES: [Case; 20] = [
    ("a release of all replicas", ["st.weak d, 1; multimem.red.release.sys.add m, 1", "ld.acquire.sys r0, y; ld.weak r1, d"],
        "P1:r0 == 1 /\\ P1:r1 == 0", [Forbidden, Allowed, Forbidden]),
    ("a release of all replicas by a store", ["st.weak d, 1; multimem.st.release.sys m, 1", "ld.acquire.sys r0, y; ld.weak r1, d"],
        "P1:r0 == 1 /\\ P1:r1 == 0", [Forbidden, Allowed, Forbidden]),
    ("a release pattern of a fence", ["st.weak d, 1; fence.acq_rel.sys; multimem.st.relaxed.sys m, 1", "ld.acquire.sys r0, y; ld.weak r1, d"],
        "P1:r0 == 1 /\\ P1:r1 == 0", [Forbidden, Allowed, Forbidden]),
    ("a relaxed reduction releases nothing", ["st.weak d, 1; multimem.red.relaxed.sys.add m, 1", "ld.acquire.sys r0, y; ld.weak r1, d"],
        "P1:r0 == 1 /\\ P1:r1 == 0", [Allowed; 3]),
    ("a relaxed load acquires nothing", ["st.weak d, 1; multimem.red.release.sys.add m, 1", "ld.relaxed.sys r0, y; ld.weak r1, d"],
        "P1:r0 == 1 /\\ P1:r1 == 0", [Allowed; 3]),
    ("the scope excludes the other GPU", ["st.weak d, 1; multimem.red.release.gpu.add m, 1", "ld.acquire.sys r0, y; ld.weak r1, d"],
        "P1:r0 == 1 /\\ P1:r1 == 0", [Allowed; 3]),
    ("an acquire of all replicas", ["st.weak d, 1; st.release.sys x, 1", "multimem.ld_reduce.acquire.sys.add r0, m; ld.weak r1, d"],
        "P1:r0 == 1 /\\ P1:r1 == 0", [Forbidden, Allowed, Forbidden]),
    ("both sides use the multimem address", ["st.weak d, 1; multimem.red.release.sys.add m, 1", "multimem.ld_reduce.acquire.sys.add r0, m; ld.weak r1, d"],
        "P1:r0 == 2 /\\ P1:r1 == 0", [Forbidden; 3]),
    ("a reduction is part of an observation", ["st.weak d, 1; st.release.sys y, 1; multimem.red.relaxed.sys.add m, 1", "ld.acquire.sys r0, y; ld.weak r1, d"],
        "P1:r0 == 2 /\\ P1:r1 == 0", [Forbidden, Allowed, Forbidden]),
    ("reductions are atomic at each replica", ["multimem.red.relaxed.sys.add m, 1", "red.relaxed.sys.add y, 1"],
        "y == 1", [Forbidden, Allowed, Forbidden]),
    ("reductions at the multimem address are atomic", ["multimem.red.relaxed.sys.add m, 1", "multimem.red.relaxed.sys.add m, 1"],
        "y == 1", [Forbidden; 3]),
    ("reductions whose scopes exclude each other", ["multimem.red.relaxed.gpu.add m, 1", "multimem.red.relaxed.gpu.add m, 1"],
        "y == 1", [Allowed; 3]),
    ("a thread reads the replica that it wrote", ["multimem.st.weak m, 1; ld.weak r0, x", ""], "P0:r0 == 0", [Forbidden, Allowed, Forbidden]),
    ("a proxy fence between the addresses", ["multimem.st.weak m, 1; fence.proxy.alias; ld.weak r0, x", ""], "P0:r0 == 0", [Forbidden; 3]),
    ("a load reduces all replicas", ["st.weak x, 1; st.weak y, 2; fence.proxy.alias; multimem.ld_reduce.weak.add r0, m", ""], "P0:r0 != 3", [Forbidden; 3]),
    ("the operation of a load", ["st.weak x, 1; st.weak y, 2; fence.proxy.alias; multimem.ld_reduce.weak.max r0, m", ""], "P0:r0 != 2", [Forbidden; 3]),
    ("stores in one order at both replicas", ["multimem.st.relaxed.sys m, 1", "multimem.st.relaxed.sys m, 2"], "x == 1 /\\ y == 2",
        [Allowed, Allowed, Forbidden]),
    ("a load between the writes of a store", ["multimem.st.relaxed.sys m, 1", "multimem.ld_reduce.relaxed.sys.add r0, m"], "P1:r0 == 1",
        [Allowed, Allowed, Forbidden]),
    ("an observation of one replica", ["multimem.st.relaxed.sys m, 1", "ld.acquire.sys r0, x; ld.relaxed.sys r1, y"], "P1:r0 == 1 /\\ P1:r1 == 0",
        [Allowed, Allowed, Forbidden]),
    ("no order after an observation", ["multimem.st.relaxed.sys m, 1", "ld.relaxed.sys r1, y; ld.relaxed.sys r0, x"], "P1:r0 == 1 /\\ P1:r1 == 0",
        [Allowed; 3]),
];

#[test]
fn each_rule() {
    let mut wrong = Vec::new();
    for (reason, code, outcome, expected) in CASES {
        let litmus = litmus("x=0; y=0; d=0; m @ multimem aliases x, y;", ["cta 0,gpu 0", "cta 0,gpu 1"], code, outcome);
        for ((name, readings), expected) in READINGS.into_iter().zip(expected) {
            let found = if is_allowed(&litmus, readings) { Allowed } else { Forbidden };
            if found != expected {
                wrong.push(format!("{reason}, {name}: {found:?}, not {expected:?}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn errors() {
    let check = |cell: &str, expected: &str| {
        let text =
            format!("PTX t\n{{ x=0; y=0; m @ multimem aliases x, y; }}\n P0@cta 0,gpu 0 ;\n {cell} ;\nexists (x == 0)");
        let found = Litmus::read(&text).map_or_else(|error| error.to_string(), |litmus| litmus.to_string());
        assert!(found.starts_with(expected), "{cell}: {found}");
    };
    check("ld.weak r0, m", "4:2: `m` is a multimem address: access it by `multimem.ld_reduce`");
    check("multimem.st.weak x, 1", "4:2: `x` is not a multimem address: declare it at the start");
    check("multimem.st.acquire.sys m, 1", "4:2: PTX has no `multimem.st.acquire.sys`");
    check("multimem.red.weak.add m, 1", "4:2: PTX has no `multimem.red.weak.add`");
    check("multimem.st.relaxed m, 1", "4:2: `.relaxed` needs a scope");
    check("multimem.st.add m, 1", "4:2: `multimem.st` takes no operation");
    check("multimem.red.cas m, 1", "4:2: `multimem.red` needs `.min`, `.max`, `.add`, `.and`, `.or` or `.xor`");
    check("multimem.st.v2.weak m, 1", "4:2: the model has `multimem.st` of integers of 32 and 64 bits");
    check("multimem.cp.async.bulk m, x, 8", "4:2: `multimem.cp.async.bulk` is not an instruction of a litmus test");
    let declared = |text: &str, expected: &str| {
        let text = format!("PTX t\n{{ x=0; {text} }}\n P0@cta 0,gpu 0 ;\n ;\nexists (m == 0)");
        let found = Litmus::read(&text).map_or_else(|error| error.to_string(), |litmus| litmus.to_string());
        assert!(found.starts_with(expected), "{text}: {found}");
    };
    declared("m @ multimem aliases x, x;", "2:32: a multimem address points to different variables");
    declared("m @ multimem aliases z;", "2:29: `z` is not declared yet");
    declared("m @ multimem aliases x;", "5:9: `m` is a multimem address");
}
