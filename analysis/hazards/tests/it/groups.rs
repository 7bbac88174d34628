//! Groups of copies and of products, in loops over rings. Each kernel is correct. Without a line that ends in `// R7`
//! or in another rule, the check reports this rule. A line that ends in `// not needed` may be removed.

use ptx_hazards::{Claim, check, read};
use ptx_isa::Module;

const HEAD: &str = ".version 8.7\n.target sm_90a\n.address_size 64\n.extern .shared .align 1024 .b8 sm[];\n\
                    .visible .entry k(.param .u64 .ptr .global p, .param .u32 n) .reqntid 128 {\n";

/// The errors of a kernel: rules and lines.
fn wrong(text: &str) -> Vec<(String, u32, u32)> {
    let module: Module = text.parse().unwrap_or_else(|errors| panic!("{text}\n{errors}"));
    let found = read(&module).into_iter().flat_map(|kernel| check(&kernel, Default::default()).findings);
    let found = found.filter(|finding| finding.claim != Claim::Note);
    found
        .map(|finding| {
            let rule = finding.rule.map_or_else(|| finding.message.to_string(), |rule| rule.to_string());
            (rule, finding.first.map_or(0, |first| first.line), finding.at.line)
        })
        .collect()
}

#[track_caller]
fn each_is_needed(body: &str) {
    let text = format!("{HEAD}{body}\n}}\n");
    assert_eq!(wrong(&text), [], "{text}");
    for (at, line) in text.lines().enumerate() {
        let Some((_, mark)) = line.split_once("// ") else { continue };
        let without: Vec<&str> =
            text.lines().enumerate().map(|(own, line)| if own == at { "" } else { line }).collect();
        let found = wrong(&without.join("\n"));
        match mark {
            "not needed" => assert_eq!(found, [], "without {line}"),
            rule => assert!(found.iter().any(|(own, ..)| own == rule), "without {line}: {found:?}"),
        }
    }
}

#[test]
fn a_ring_of_three() {
    each_is_needed(
        "ld.param.u64 %rd0, [p];
         ld.param.u32 %n, [n];
         mov.u32 %thread, %tid.x;
         mov.b32 %base, sm;
         mad.lo.s32 %own, %thread, 16, %base;
         xor.b32 %other, %thread, 64;
         mad.lo.s32 %read, %other, 16, %base;
         cp.async.cg.shared.global [%own], [%rd0], 16;
         cp.async.commit_group; // R7
         cp.async.cg.shared.global [%own+2048], [%rd0], 16;
         cp.async.commit_group; // R7
         mov.b32 %i, 0;
         mov.b32 %in, 1;
         mov.b32 %out, -1;
         setp.lt.s32 %none, %n, 1;
         @%none bra END;
         LOOP:
         add.s32 %out, %out, 1;
         setp.gt.s32 %p0, %out, 2;
         selp.b32 %out, 0, %out, %p0;
         cp.async.wait_group 1; // R7
         bar.sync 0; // R7
         mad.lo.s32 %at, %out, 2048, %read;
         ld.shared.b32 %value, [%at];
         add.s32 %in, %in, 1;
         setp.gt.s32 %p1, %in, 2;
         selp.b32 %in, 0, %in, %p1;
         mad.lo.s32 %to, %in, 2048, %own;
         cp.async.cg.shared.global [%to], [%rd0], 16;
         cp.async.commit_group; // R7
         add.s32 %i, %i, 1;
         setp.lt.s32 %p2, %i, %n;
         @%p2 bra LOOP;
         END:
         cp.async.wait_group 0; // not needed
         bar.sync 0; // not needed
         ret;",
    );
}

/// The stage is a remainder, and the pointer advances. The first of two groups of a stage may be merged with the
/// second.
#[test]
fn a_ring_by_remainders() {
    each_is_needed(
        "ld.param.u64 %rd0, [p];
         ld.param.u32 %n, [n];
         mov.u32 %thread, %tid.x;
         mov.b32 %base, sm;
         mad.lo.s32 %own, %thread, 16, %base;
         cp.async.cg.shared.global [%own], [%rd0], 16;
         cp.async.commit_group; // not needed
         cp.async.cg.shared.global [%own+8192], [%rd0], 16;
         cp.async.commit_group; // R7
         cp.async.cg.shared.global [%own+2048], [%rd0], 16;
         cp.async.commit_group; // R7
         cp.async.cg.shared.global [%own+10240], [%rd0], 16;
         cp.async.commit_group; // R7
         mov.b32 %i, 0;
         mov.b32 %k, 2;
         setp.lt.s32 %none, %n, 1;
         @%none bra END;
         LOOP:
         cp.async.wait_group 2; // R7
         bar.sync 0; // R7
         mul.hi.u32 %q, %i, -1431655765;
         shr.u32 %q, %q, 1;
         mul.lo.s32 %q, %q, 6144;
         mad.lo.s32 %at, %i, 2048, %base;
         sub.s32 %at, %at, %q;
         ld.shared.b32 %value, [%at];
         ld.shared.b32 %value, [%at+8192];
         mul.hi.u32 %r, %k, -1431655765;
         shr.u32 %r, %r, 1;
         mul.lo.s32 %r, %r, 6144;
         mad.lo.s32 %to, %k, 2048, %own;
         sub.s32 %to, %to, %r;
         cp.async.cg.shared.global [%to], [%rd0], 16;
         cp.async.commit_group; // R7
         cp.async.cg.shared.global [%to+8192], [%rd0], 16;
         cp.async.commit_group; // R7
         add.s32 %i, %i, 1;
         add.s32 %k, %k, 1;
         setp.lt.s32 %p2, %i, %n;
         @%p2 bra LOOP;
         END:
         ret;",
    );
}

/// A barrier separates the reads of a stage from the copy of the next iteration to it.
#[test]
fn a_ring_of_two() {
    each_is_needed(
        "ld.param.u64 %rd0, [p];
         ld.param.u32 %n, [n];
         mov.u32 %thread, %tid.x;
         mov.b32 %base, sm;
         mad.lo.s32 %own, %thread, 16, %base;
         cp.async.cg.shared.global [%own], [%rd0], 16;
         cp.async.commit_group; // R7
         mov.b32 %i, 0;
         mov.b32 %stage, 0;
         setp.lt.s32 %none, %n, 1;
         @%none bra END;
         LOOP:
         xor.b32 %next, %stage, 1;
         mad.lo.s32 %to, %next, 2048, %own;
         cp.async.cg.shared.global [%to], [%rd0], 16;
         cp.async.commit_group; // R7
         cp.async.wait_group 1; // R7
         bar.sync 0; // R7
         mad.lo.s32 %at, %stage, 2048, %base;
         ld.shared.b32 %value, [%at];
         bar.sync 0; // R4
         mov.b32 %stage, %next;
         add.s32 %i, %i, 1;
         setp.lt.s32 %p2, %i, %n;
         @%p2 bra LOOP;
         END:
         ret;",
    );
}

/// No thread's number makes its address reach the next stage, although the mask of its possible bits would.
#[test]
fn unreachable_instructions() {
    each_is_needed(
        "ld.param.u64 %rd0, [p];
         mov.u32 %thread, %tid.x;
         mov.b32 %base, sm;
         and.b32 %low, %thread, 3;
         mul.lo.s32 %row, %low, 288;
         and.b32 %high, %thread, 60;
         xor.b32 %swizzled, %row, %high;
         add.s32 %at, %base, %swizzled;
         cp.async.cg.shared.global [%base+1024], [%rd0], 16;
         ld.shared.b32 %value, [%at+128];
         cp.async.wait_all; // R7
         bar.sync 0; // R7
         ld.shared.b32 %value, [%base+1024];
         ret;",
    );
}

/// Accumulators are read after the wait, and changed before a fence.
#[test]
fn registers_of_products() {
    each_is_needed(
        "ld.param.u32 %n, [n];
         mov.b32 %c0, 0f00000000;
         mov.b32 %c1, 0f00000000;
         mov.b32 %c2, 0f00000000;
         mov.b32 %c3, 0f00000000;
         mov.b32 %i, 0;
         LOOP:
         mul.f32 %c0, %c0, 0f3F000000;
         mul.f32 %c1, %c1, 0f3F000000;
         wgmma.fence.sync.aligned; // R5
         wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%c0, %c1, %c2, %c3}, %a, %b, 1, 1, 1, 0, 0;
         wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%c0, %c1, %c2, %c3}, %a, %b, 1, 1, 1, 0, 0;
         wgmma.commit_group.sync.aligned; // R7
         wgmma.wait_group.sync.aligned 0; // R7
         add.s32 %i, %i, 1;
         setp.lt.s32 %p2, %i, %n;
         @%p2 bra LOOP;
         wgmma.fence.sync.aligned; // not needed
         wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%c0, %c1, %c2, %c3}, %a, %b, 1, 1, 1, 0, 0;
         wgmma.commit_group.sync.aligned; // R7
         wgmma.wait_group.sync.aligned 0; // R7
         ld.param.u64 %rd0, [p];
         st.global.v2.b32 [%rd0], {%c0, %c1};
         ret;",
    );
}

/// Two elements of a ring are stored in turn: the element that is filled was read two iterations before, and only one
/// thread knows that.
#[test]
fn a_ring_of_two_that_is_stored() {
    each_is_needed(
        "ld.param.u64 %rd0, [p];
         ld.param.u32 %n, [n];
         mov.u32 %thread, %tid.x;
         setp.eq.u32 %leader, %thread, 0;
         mov.b32 %i, 0;
         LOOP:
         and.b32 %stage, %i, 1;
         mov.b32 %base, sm;
         mad.lo.s32 %from, %stage, 2048, %base;
         mad.lo.s32 %own, %thread, 16, %from;
         @%leader cp.async.bulk.wait_group.read 1; // R7
         bar.sync 0; // R7
         st.shared.b32 [%own], %i;
         fence.proxy.async.shared::cta; // R4
         bar.sync 0; // R4
         @%leader cp.async.bulk.global.shared::cta.bulk_group [%rd0], [%from], 2048;
         @%leader cp.async.bulk.commit_group; // R7
         add.u64 %rd0, %rd0, 2048;
         add.s32 %i, %i, 1;
         setp.lt.s32 %p2, %i, %n;
         @%p2 bra LOOP;
         @%leader cp.async.bulk.wait_group.read 0;
         ret;",
    );
}

/// The fences of a tensor map do not apply to shared memory.
#[test]
fn a_tensor_map_and_a_tile() {
    each_is_needed(
        "ld.param.u64 %rd0, [p];
         mov.u32 %thread, %tid.x;
         setp.eq.u32 %leader, %thread, 0;
         mov.b32 %base, sm;
         mad.lo.s32 %own, %thread, 16, %base;
         st.shared.b32 [%own], %thread;
         tensormap.cp_fenceproxy.global.shared::cta.tensormap::generic.release.gpu.sync.aligned [%rd0], [sm+4096], 128;
         fence.proxy.tensormap::generic.acquire.gpu [%rd0], 128;
         fence.proxy.async.shared::cta; // R4
         bar.sync 0; // R4
         @%leader cp.async.bulk.global.shared::cta.bulk_group [%rd0+1024], [%base], 2048;
         @%leader cp.async.bulk.commit_group;
         @%leader cp.async.bulk.wait_group.read 0;
         ret;",
    );
}

/// A product reads registers that a move fills, in every iteration.
#[test]
fn registers_that_products_read() {
    each_is_needed(
        "ld.param.u32 %n, [n];
         mov.b32 %c0, 0f00000000;
         mov.b32 %c1, 0f00000000;
         mov.b32 %c2, 0f00000000;
         mov.b32 %c3, 0f00000000;
         mov.b32 %i, 0;
         LOOP:
         mov.b32 %a0, %i;
         mov.b32 %a1, %i;
         mov.b32 %a2, %i;
         mov.b32 %a3, %i;
         wgmma.fence.sync.aligned; // R5
         wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%c0, %c1, %c2, %c3}, {%a0, %a1, %a2, %a3}, %b, 1, 1, 1, 0;
         wgmma.commit_group.sync.aligned; // R7
         wgmma.wait_group.sync.aligned 0; // R7
         add.s32 %i, %i, 1;
         setp.lt.s32 %p2, %i, %n;
         @%p2 bra LOOP;
         ret;",
    );
}

/// Overrides of tensor map fields, and reports of copies, do not change the waits.
#[test]
fn copies_with_overrides_and_reports() {
    for (store, to, load, report) in [
        (".override::global_address", "%rd2, {0}", ".override::global_address", ".mbarrier::report::disabled"),
        (
            ".override::global_address.override::global_dim",
            "%rd2, {%h0}, {0}",
            "",
            ".mbarrier::report::validity::per_element::ff",
        ),
    ] {
        let from = if load.is_empty() { "{0}" } else { to };
        let text = format!(
            ".version 9.4\n.target sm_107a\n.address_size 64\n.extern .shared .align 1024 .b8 sm[];\n\
             .visible .entry k(.param .align 64 .b8 map[128], .param .u64 .ptr .global p) .reqntid 1 {{\n\
             mov.b64 %rd0, map;\ncvta.param.u64 %rd1, %rd0;\nld.param.u64 %rd2, [p];\n\
             mbarrier.init.shared::cta.b64 [sm+2048], 1;\n\
             mbarrier.arrive.expect_tx.shared::cta.b64 _, [sm+2048], 1024;\n\
             cp.async.bulk.tensor.1d.shared::cta.global.tile.mbarrier::complete_tx::bytes{report}{load} [sm], [%rd1, {from}], [sm+2048];\n\
             L: mbarrier.try_wait.parity.shared::cta.b64 %p0, [sm+2048], 0;\n@!%p0 bra L;\n\
             ld.shared.b32 %r0, [sm];\nst.shared.b32 [sm+1024], %r0;\nfence.proxy.async.shared::cta;\n\
             cp.async.bulk.tensor.1d.global.shared::cta.tile.bulk_group{store} [%rd1, {to}], [sm+1024];\n\
             cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;\nret;\n}}\n"
        );
        assert_eq!(wrong(&text), [], "{text}");
        let events = read(&text.parse().expect("PTX"))[0].to_string();
        let from_memory = if load.is_empty() { "async read global the tensor of map" } else { "async read global p" };
        assert!(events.contains(from_memory) && events.contains("async write global p"), "{events}");
        let without = |line: &str| wrong(&text.replace(line, ""));
        let rules = |found: Vec<(String, u32, u32)>| found.into_iter().map(|(rule, ..)| rule).collect::<Vec<_>>();
        assert!(rules(without("fence.proxy.async.shared::cta;")).contains(&"R4".to_owned()), "{text}");
        assert!(!without("@!%p0 bra L;").is_empty(), "{text}");
    }
}
