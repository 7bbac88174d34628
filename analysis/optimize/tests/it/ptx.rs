//! The rewrites of PTX instructions, line by line; all other lines stay unchanged.

use itertools::Itertools;
use ptx_isa::LaunchSize;
use ptx_optimize::text::{Launch, TextOptions, rewrite};

const ALONE: Launch = Launch { alone: true, ..OPEN };
const ONE_CTA: Launch = Launch { size: LaunchSize { grid: Some([1; 3]), ..OPEN.size }, ..ALONE };
const OPEN: Launch = Launch { alone: false, size: LaunchSize { grid: None, block: None, cluster: None, shared: None } };

fn module(target: &str, head: &str, body: &str) -> String {
    format!(
        "{target}
.address_size 64
.visible .entry k(.param .u64 .ptr .global in) {head} {{
\t.reg .pred %p<4>;
\t.reg .b32 %r<20>;
\t.reg .b64 %rd<20>; // registers
\t.shared .align 4 .b32 flag;
\tld.param.u64 %rd1, [in];
{body}
\tret;
}}
"
    )
}

/// Checks the changed lines, given as `- old` and `+ new`; semicolons separate instructions.
fn check(head: &str, body: &str, launch: Launch, expected: &str) {
    check_with(".version 8.6\n.target sm_90", head, body, TextOptions { launch, ..TextOptions::default() }, expected);
}

fn check_with(target: &str, head: &str, body: &str, options: TextOptions, expected: &str) {
    let line = |one: &str| if one.ends_with(':') { one.to_owned() } else { format!("\t{one};") };
    let body = body.split(';').map(str::trim).filter(|one| !one.is_empty()).map(line).join("\n");
    let before = module(target, head, &body);
    let rewritten = rewrite(&before, &options).expect("PTX");
    let text = rewritten.text;
    text.parse::<ptx_isa::Module>().unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    let (old, new): (Vec<_>, Vec<_>) = (before.lines().collect(), text.lines().collect());
    let (mut at, mut said) = (0, Vec::new());
    // A longest common subsequence is not needed: unchanged lines keep their order.
    for line in &old {
        match new[at..].iter().position(|other| other == line) {
            Some(skipped) => {
                said.extend(new[at..at + skipped].iter().map(|line| format!("+ {}", line.trim())));
                at += skipped + 1;
            }
            None => said.push(format!("- {}", line.trim())),
        }
    }
    assert_eq!(said.join(" "), expected, "\n{text}\n{:#?}", rewritten.said);
    let again = rewrite(&text, &options).expect("PTX");
    assert_eq!(again.text, text, "it is done once");
}

/// A scope is not wider than the threads that can access the location, or that take part.
#[test]
fn scopes() {
    check(
        "",
        "st.global.b32 [%rd1], 1; atom.acq_rel.gpu.shared.add.u32 %r1, [flag], 1; st.global.b32 [%rd1+8], %r1",
        OPEN,
        "- atom.acq_rel.gpu.shared.add.u32 %r1, [flag], 1; + atom.acq_rel.cta.shared.add.u32 %r1, [flag], 1;",
    );
    check(
        "",
        "st.global.b32 [%rd1], 1; atom.acq_rel.sys.global.add.u32 %r1, [%rd1+4], 1; st.global.b32 [%rd1+8], %r1",
        OPEN,
        "",
    );
    check(
        "",
        "st.global.b32 [%rd1], 1; atom.acq_rel.sys.global.add.u32 %r1, [%rd1+4], 1; st.global.b32 [%rd1+8], %r1",
        ALONE,
        "- atom.acq_rel.sys.global.add.u32 %r1, [%rd1+4], 1; + atom.acq_rel.gpu.global.add.u32 %r1, [%rd1+4], 1;",
    );
    check(
        "",
        "st.global.b32 [%rd1], 1; atom.acq_rel.gpu.global.add.u32 %r1, [%rd1+4], 1; st.global.b32 [%rd1+8], %r1",
        ONE_CTA,
        "- atom.acq_rel.gpu.global.add.u32 %r1, [%rd1+4], 1; + atom.acq_rel.cta.global.add.u32 %r1, [%rd1+4], 1;",
    );
    check(
        "",
        "st.global.b32 [%rd1], 1; membar.sys; ld.relaxed.sys.global.b32 %r1, [%rd1+4]; st.global.b32 [%rd1+8], %r1",
        ALONE,
        "- membar.sys; + fence.sc.gpu;",
    );
}

/// The ordering moves after the loop, to each edge that leaves it.
#[test]
fn loops_that_wait() {
    check(
        "",
        "L:; ld.acquire.gpu.global.b32 %r1, [%rd1]; setp.eq.s32 %p1, %r1, 0; @%p1 bra L; ld.global.b32 %r2, [%rd1+64]; st.global.b32 [%rd1+68], %r2",
        OPEN,
        "- ld.acquire.gpu.global.b32 %r1, [%rd1]; + ld.relaxed.gpu.global.b32 %r1, [%rd1]; + fence.acquire.gpu;",
    );
    check(
        "",
        "L:; ld.acquire.gpu.global.b32 %r1, [%rd1]; setp.ne.s32 %p1, %r1, 0; @%p1 bra D; bra L; D:; ld.global.b32 %r2, [%rd1+64]; st.global.b32 [%rd1+68], %r2",
        OPEN,
        "- ld.acquire.gpu.global.b32 %r1, [%rd1]; + ld.relaxed.gpu.global.b32 %r1, [%rd1]; + fence.acquire.gpu;",
    );
    check(
        "",
        "L:; ld.acquire.gpu.global.b32 %r1, [%rd1]; setp.eq.s32 %p2, %r1, 9; @%p2 bra E; setp.eq.s32 %p1, %r1, 0; @%p1 bra L; ld.global.b32 %r2, [%rd1+64]; st.global.b32 [%rd1+68], %r2; E:; ld.global.b32 %r2, [%rd1+64]; st.global.b32 [%rd1+68], %r2",
        OPEN,
        "- ld.acquire.gpu.global.b32 %r1, [%rd1]; + ld.relaxed.gpu.global.b32 %r1, [%rd1]; - @%p2 bra E; + @!%p2 bra $rewritten0; + fence.acquire.gpu; + bra E; + $rewritten0: + fence.acquire.gpu;",
    );
    check(
        "",
        "L:; atom.acquire.gpu.global.cas.b32 %r1, [%rd1], 0, 1; setp.ne.s32 %p1, %r1, 0; @%p1 bra L; ld.global.b32 %r2, [%rd1+64]; st.global.b32 [%rd1+68], %r2; st.release.gpu.global.b32 [%rd1], 0",
        OPEN,
        "",
    );
    // The loop does more than wait.
    check(
        "",
        "L:; ld.acquire.gpu.global.b32 %r1, [%rd1]; ld.global.b32 %r2, [%rd1+64]; st.global.b32 [%rd1+68], %r2; setp.eq.s32 %p1, %r1, 0; @%p1 bra L; ld.global.b32 %r2, [%rd1+64]; st.global.b32 [%rd1+68], %r2",
        OPEN,
        "",
    );
}

/// PTX has no `red.acquire`: the fence stays.
#[test]
fn a_reduction_does_not_acquire() {
    let rest = "ld.global.b32 %r1, [%rd1+64]; st.global.b32 [%rd1+68], %r1";
    for red in ["red.relaxed.gpu", "red.release.gpu"] {
        check(
            "",
            &format!("{red}.global.add.u32 [%rd1], 1; fence.acq_rel.gpu; {rest}"),
            ALONE,
            "- fence.acq_rel.gpu; + fence.acquire.gpu;",
        );
    }
}

/// One edit removes the line of a fence, and another edit is adjacent.
#[test]
fn a_fence_replaces_another_fence() {
    check(
        "",
        "L:; ld.acquire.gpu.global.b32 %r1, [%rd1]; @%p1 bra L; fence.release.gpu; M:",
        OPEN,
        "- ld.acquire.gpu.global.b32 %r1, [%rd1]; + ld.relaxed.gpu.global.b32 %r1, [%rd1]; - fence.release.gpu; + fence.acquire.gpu;",
    );
}

/// A CTA that computes addresses of the cluster's shared memory may access the memory of another CTA.
#[test]
fn shared_memory_of_a_peer() {
    let of = |address: &str| {
        format!(
            "{address} ld.shared::cluster.u32 %r3, [%r2]; ld.acquire.gpu.shared.u32 %r4, [flag]; st.global.b32 [%rd1], %r4"
        )
    };
    let narrowed = "- ld.acquire.gpu.shared.u32 %r4, [flag]; + ld.acquire.cta.shared.u32 %r4, [flag];";
    check("", &of("mov.u32 %r1, flag; and.b32 %r2, %r1, 4278190079;"), OPEN, "");
    check("", &of("mov.u32 %r1, flag; add.u32 %r2, %r1, 4;"), OPEN, narrowed);
}

#[test]
fn fences_that_another_one_does_for() {
    check(
        "",
        "st.global.b32 [%rd1], 1; fence.acq_rel.gpu; fence.acq_rel.gpu; st.relaxed.gpu.global.b32 [%rd1+4], 1",
        OPEN,
        "- fence.acq_rel.gpu; - fence.acq_rel.gpu; + fence.release.gpu;",
    );
    check(
        "",
        "st.relaxed.gpu.global.b32 [%rd1], 1; membar.gl; fence.sc.gpu; ld.relaxed.gpu.global.b32 %r1, [%rd1+4]; st.global.b32 [%rd1+8], %r1",
        OPEN,
        "- fence.sc.gpu;",
    );
    check(
        ".reqntid 1",
        "st.shared.b32 [flag], 1; fence.acq_rel.cta; atom.shared.add.u32 %r1, [flag], 1; st.global.b32 [%rd1], %r1",
        OPEN,
        "- fence.acq_rel.cta;",
    );
}

/// Orderings that another grid may observe stay, unless no other grid runs.
#[test]
fn unobserved_accesses() {
    check("", "st.global.b32 [%rd1], 1; atom.acq_rel.gpu.global.add.u32 %r1, [%rd1+4], 1", OPEN, "");
    for guard in ["", "@%p1 "] {
        check(
            "",
            &format!("st.global.b32 [%rd1], 1; {guard}ld.acquire.gpu.global.u32 %r1, [%rd1+4]"),
            ALONE,
            &format!(
                "- {guard}ld.acquire.gpu.global.u32 %r1, [%rd1+4]; + {guard}ld.relaxed.gpu.global.u32 %r1, [%rd1+4];"
            ),
        );
    }
    // The write of the update comes after its acquire.
    check("", "st.global.b32 [%rd1], 1; atom.acq_rel.gpu.global.add.u32 %r1, [%rd1+4], 1", ALONE, "");
}

/// Unknown code may need every ordering: copies, and code before a barrier. Sequential consistency stays.
#[test]
fn accesses_that_stay() {
    check(
        "",
        "st.global.b32 [%rd1], 1; cp.async.wait_all; atom.acq_rel.gpu.global.add.u32 %r1, [%rd1+4], 1; cp.async.wait_all",
        ALONE,
        "",
    );
    check(
        "",
        "st.global.b32 [%rd1], 1; fence.acq_rel.gpu; bar.sync 0; atom.relaxed.gpu.global.add.u32 %r1, [%rd1+4], 1; st.global.b32 [%rd1+8], %r1",
        OPEN,
        "- fence.acq_rel.gpu; + fence.release.gpu;",
    );
    check(
        "",
        "st.shared.b32 [flag], 1; membar.gl; bar.sync 0; ld.shared.b32 %r1, [flag]; st.global.b32 [%rd1+8], %r1",
        ALONE,
        "",
    );
    check(
        "",
        "st.global.b32 [%rd1], 1; call.uni elsewhere, (); atom.acq_rel.gpu.global.add.u32 %r1, [%rd1+4], 1",
        ALONE,
        "",
    );
    check(
        "",
        "st.global.b32 [%rd1], 1; ld.volatile.global.b32 %r1, [%rd1+4]; st.global.b32 [%rd1+8], %r1",
        ONE_CTA,
        "",
    );
}

#[test]
fn shared_memory() {
    let with = |address: &str, space: &str, before: &str| {
        format!(
            "ld.global.b32 %r5, [%rd1]; {before} st.release.sys{space}.b32 [{address}], %r5; st.global.b32 [%rd1], %r5"
        )
    };
    let becomes = |address: &str, space: &str, scope: &str| {
        format!("- st.release.sys{space}.b32 [{address}], %r5; + st.release.{scope}{space}.b32 [{address}], %r5;")
    };
    check("", &with("flag", ".shared", ""), OPEN, &becomes("flag", ".shared", "cta"));
    // Generic addresses of shared memory.
    let cvta = "cvta.shared.u64 %rd3, %rd2;";
    check("", &with("%rd3", "", cvta), OPEN, &becomes("%rd3", "", "cta"));
    let add = |offset: &str| format!("{cvta} {offset} add.s64 %rd4, %rd3, %rd5;");
    check("", &with("%rd4", "", &add("mul.wide.u32 %rd5, %r1, 4;")), OPEN, &becomes("%rd4", "", "cta"));
    // Any number may be the difference to another object.
    check("", &with("%rd4", "", &add("ld.global.b64 %rd5, [%rd1];")), OPEN, "");
    check("", &with("%rd3", "", &format!("{cvta} mov.b64 %rd3, %rd1;")), OPEN, "");
    check("", &with("%rd1", "", ""), OPEN, "");
    // Another CTA of the cluster may access it, unless a cluster has one CTA.
    let mapa = "mapa.shared::cluster.u32 %r3, %r2, 0;";
    check("", &with("flag", ".shared", mapa), OPEN, &becomes("flag", ".shared", "cluster"));
    check("", &with("flag", ".shared", "call.uni elsewhere, ();"), OPEN, &becomes("flag", ".shared", "cluster"));
    check(".maxclusterrank 1", &with("flag", ".shared", mapa), OPEN, &becomes("flag", ".shared", "cta"));
}

/// Without acquire-only fences, a loop is preceded by a copy that polls with relaxed loads.
#[test]
fn loops_that_poll() {
    let check = |body: &str, expected: &str| {
        let options = TextOptions { polls: true, ..TextOptions::default() };
        check_with(".version 7.0\n.target sm_80", "", body, options, expected);
    };
    let load = "ld.acquire.gpu.global.b32 %r1, [%rd1];";
    let relaxed = "ld.relaxed.gpu.global.b32 %r1, [%rd1];";
    let after = "ld.global.b32 %r2, [%rd1+64]; st.global.b32 [%rd1+68], %r2";
    let compare = "setp.eq.s32 %p1, %r1, 0;";
    check(
        &format!("L:; {load} {compare} @%p1 bra L; {after}"),
        &format!("+ $rewritten0: + {relaxed} + {compare} + @%p1 bra $rewritten0;"),
    );
    // Values that one iteration passes to the next would be computed twice.
    check(&format!("mov.b32 %r5, 0; L:; {load} add.u32 %r5, %r5, 1; {compare} @%p1 bra L; {after}"), "");
    check(&format!("L:; {load} {compare} st.shared.b32 [flag], %r1; @%p1 bra L; {after}"), "");
    check(&format!("L:; {load} {compare} @%p2 mov.b32 %r1, 0; @%p1 bra L; {after}"), "");
    check(&format!("L:; {compare} {load} @%p1 bra L; {after}"), "");
    // The ordering costs nothing at scope cta.
    check(&format!("L:; {load} {compare} @%p1 bra L; {after}").replace("gpu", "cta"), "");
}

/// A function may be called by a kernel of another file, which may map shared memory of other CTAs.
#[test]
fn functions_of_other_files() {
    let module = |linkage: &str| {
        let body = "atom.acq_rel.sys.shared.add.u32 %r1, [flag], 1; st.global.b32 [%rd1], %r1; ret;";
        format!(
            ".version 8.6\n.target sm_90\n.shared .align 4 .b32 flag;
            {linkage}.func f(.param .u64 in) {{ .reg .b32 %r<3>; .reg .b64 %rd<3>; ld.param.u64 %rd1, [in]; {body} }}"
        )
    };
    for (linkage, scope) in [("", "cta"), (".visible ", "cluster"), (".weak ", "cluster")] {
        let text = rewrite(&module(linkage), &TextOptions::default()).expect("PTX").text;
        assert_eq!(text, module(linkage).replace("sys", scope));
    }
}
