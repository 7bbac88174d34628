//! Findings as litmus tests. [`litmus`] ensures that the memory model finds the race in each; `programs` counts them.

use ptx_hazards::{Claim, Rule, check, litmus, read};
use ptx_isa::Module;
use ptx_memory_model::{litmus::Litmus, ptx::readings::Readings};

/// A kernel of one thread in each of two warps, from the code of the two threads. Line 10 is the first line of the
/// first thread.
fn kernel(first: &str, second: &str) -> String {
    let lines = |text: &str| text.split("; ").map(|line| format!("{line};\n")).collect::<String>();
    format!(
        "\
.version 8.8
.target sm_100a
.address_size 64
.visible .entry k(.param .b32 tensor, .param .b64 matrix, .param .b32 shape, .param .u64 .ptr .global from) .reqntid 64 {{
.reg .pred %p, %q, %true; .reg .b32 %thread, %t, %shape, %r<4>; .reg .b64 %a, %v, %x; .shared .b8 a[16]; .shared .b64 m;
mov.u32 %thread, %tid.x; ld.param.b32 %t, [tensor]; ld.param.b64 %a, [matrix]; ld.param.b32 %shape, [shape];
ld.param.u64 %x, [from]; cvta.to.global.u64 %x, %x; setp.eq.u32 %true, 0, 0;
setp.eq.u32 %p, %thread, 0; @%p bra FIRST; setp.eq.u32 %p, %thread, 32; @%p bra SECOND; bra END;
FIRST:
{}bra END;
SECOND:
{}END: ret;
}}
",
        lines(first),
        lines(second)
    )
}

/// Checks the litmus test of the first error.
fn test(rule: Rule, first: &str, second: &str, expected: &str) {
    let text = kernel(first, second);
    let module: Module = text.parse().unwrap_or_else(|error| panic!("{text}{error}"));
    let kernels = read(&module);
    let findings = check(&kernels[0], Readings::DEFAULT).findings;
    let finding = findings.iter().find(|of| of.claim == Claim::Wrong && of.rule == Some(rule) && of.first.is_some());
    let finding = finding.unwrap_or_else(|| panic!("{text}{findings:#?}"));
    let found = litmus(&kernels[0], finding, Readings::DEFAULT).unwrap_or_else(|| panic!("{text}{finding:#?}"));
    let text = found.to_string();
    assert_eq!(Litmus::read(&text).as_ref(), Ok(&found), "{text}");
    let cells: Vec<&str> = text.lines().skip(2).collect();
    let without_columns = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    let found: Vec<String> = cells.into_iter().map(without_columns).collect();
    let expected: Vec<String> = expected.lines().map(|line| without_columns(line.trim())).collect();
    assert_eq!(found, expected, "{}", found.join("\n"));
}

#[test]
fn in_one_thread() {
    test(
        Rule::R1,
        "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r0}, [%t]; tcgen05.fence::before_thread_sync; tcgen05.st.sync.aligned.32x32b.x1.b32 [%t], {%r1}",
        "ret",
        "{
        .tensor t=0;
        P0:r0=0;
        }
        P0@cta 0,gpu 0 ;
        tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [t] ;
        tcgen05.fence::before_thread_sync ;
        tcgen05.st.sync.aligned.32x32b.x1.b32 [t], {1} ;
        exists
        (true)",
    );
}

#[test]
fn in_two_threads() {
    test(
        Rule::R1,
        "tcgen05.ld.sync.aligned.32x32b.x1.b32 {%r0}, [%t]; mbarrier.arrive.release.cta.shared::cta.b64 _, [m]",
        "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %q, [m], 0; @!%q bra SECOND; tcgen05.mma.cta_group::1.kind::f16 [%t], %a, %a, %shape, %true",
        "{
        .shared m=1;
        .tensor t=0;
        .shared s=0;
        P0:r0=0;
        P1:%p1=0;
        }
        P0@cta 0,gpu 0 | P1@cta 0,gpu 0 ;
        tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [t] | L1: ;
        mbarrier.arrive.release.cta.shared::cta.b64 _, [m] | mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p1, [m], 0 ;
        | @!%p1 bra L1 ;
        | tcgen05.mma.cta_group::1.kind::f16 [t], s, s, 0, 1 ;
        exists
        (true)",
    );
    test(
        Rule::R4,
        "st.shared.u64 [a], %v; barrier.sync 1, 64",
        "barrier.sync 1, 64; cp.async.bulk.global.shared::cta.bulk_group [%x], [a], 16; cp.async.bulk.commit_group; cp.async.bulk.wait_group 0",
        "{
        .shared a=0;
        from=0;
        }
        P0@cta 0,gpu 0 | P1@cta 0,gpu 0 ;
        st.weak a, 1 | bar.cta.sync 0, 1 ;
        bar.cta.sync 0, 1 | cp.async.bulk.global.shared::cta.bulk_group [from], [a], 16 ;
        exists
        (true)",
    );
}
