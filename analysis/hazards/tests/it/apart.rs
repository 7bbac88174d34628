//! Accesses that do not overlap: these kernels are correct.

use itertools::Itertools;
use ptx_hazards::{Claim, Hazard, check, read};
use ptx_isa::Module;

const HEAD: &str = ".version 8.7\n.target sm_90a\n.address_size 64\n.extern .shared .align 128 .b8 sm[];\n\
                    .visible .entry k(.param .u64 .ptr .global p, .param .u32 n, .param .align 8 .b8 s[16]) .maxntid 384 {\n\
                    ld.param.u64 %to, [p];\nld.param.u32 %n, [n];\nmov.u32 %thread, %tid.x;\nshr.u32 %group, %thread, 7;\nmov.u32 %sm, sm;\n";

#[track_caller]
fn are_apart(body: &str) {
    assert_eq!(findings(body), [], "{body}");
}

fn findings(body: &str) -> Vec<Hazard> {
    let text = format!("{HEAD}{body}\ncp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;\n}}\n");
    let module: Module = text.parse().unwrap_or_else(|errors| panic!("{text}\n{errors}"));
    read(&module).into_iter().flat_map(|kernel| check(&kernel, Default::default()).findings).collect()
}

#[test]
fn an_aligned_address_keeps_its_bits_in_a_descriptor() {
    are_apart(
        "st.shared.b32 [%sm+65536], %n;
         bar.sync 0;
         shl.b32 %at, %group, 14;
         add.u32 %at, %at, %sm;
         and.b32 %at, %at, 262016;
         shr.u32 %at, %at, 4;
         cvt.u64.u32 %low, %at;
         or.b64 %tile, %low, 4611686293305360384;
         wgmma.fence.sync.aligned;
         wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {%f0, %f1, %f2, %f3}, %tile, %tile, 0, 1, 1, 0, 0;
         wgmma.commit_group.sync.aligned;
         wgmma.wait_group.sync.aligned 0;",
    );
}

#[test]
fn there_are_no_more_threads_than_maxntid() {
    are_apart(
        "shl.b32 %at, %thread, 2;
         add.u32 %at, %at, %sm;
         st.shared.b32 [%at], %n;
         bar.sync 0;
         cp.async.bulk.global.shared::cta.bulk_group [%to], [%sm+1536], 128;",
    );
}

#[test]
fn conditions_of_threads_bound_their_addresses() {
    are_apart(
        "setp.eq.u32 %p0, %group, 0;
         @%p0 bra END;
         shl.b32 %at, %group, 10;
         add.u32 %at, %at, %sm;
         st.shared.b32 [%at], %n;
         END:
         bar.sync 0;
         cp.async.bulk.global.shared::cta.bulk_group [%to], [%sm], 1024;",
    );
}

#[test]
fn the_number_of_a_warpgroup_is_the_same_however_it_is_computed() {
    are_apart(
        "setp.eq.u32 %p0, %group, 0;
         @%p0 bra END;
         shl.b32 %at, %thread, 7;
         and.b32 %at, %at, 2147467264;
         add.s32 %at, %at, -16384;
         and.b32 %lane, %thread, 31;
         or.b32 %at, %at, %lane;
         add.u32 %at, %at, %sm;
         st.shared.b8 [%at+16384], %n;
         END:
         bar.sync 0;
         cp.async.bulk.global.shared::cta.bulk_group [%to], [%sm], 16384;",
    );
}

/// The number of certain errors; there must be no other finding.
#[track_caller]
fn wrong(body: &str) -> usize {
    let found = findings(body);
    assert!(found.iter().all(|finding| finding.claim == Claim::Wrong), "{found:?}");
    found.len()
}

#[test]
fn a_quotient_with_a_sign_is_known_of_each_thread() {
    let copied = |bytes: u32| {
        format!(
            "setp.eq.u32 %p0, %group, 0;
             @%p0 bra END;
             add.s32 %x, %thread, -128;
             shr.s32 %sign, %x, 31;
             shr.u32 %sign, %sign, 25;
             add.s32 %x, %x, %sign;
             shr.s32 %x, %x, 7;
             shfl.sync.idx.b32 %x|%p1, %x, 0, 31, -1;
             mul.hi.s32 %third, %x, 1431655766;
             shr.u32 %sign, %third, 31;
             add.s32 %third, %third, %sign;
             mul.lo.s32 %third, %third, 3;
             sub.s32 %x, %x, %third;
             shl.b32 %at, %x, 10;
             add.u32 %at, %at, %sm;
             st.shared.b32 [%at+1024], %n;
             END:
             bar.sync 0;
             cp.async.bulk.global.shared::cta.bulk_group [%to], [%sm], {bytes};"
        )
    };
    are_apart(&copied(1024));
    assert_eq!(wrong(&copied(1040)), 1);
}

#[test]
fn a_value_that_is_not_larger_bounds_the_threads_that_are_less() {
    let copied = |rows: u32| {
        format!(
            "min.s32 %rows, %n, {rows};
             shl.b32 %rows, %rows, 3;
             setp.lt.s32 %p0, %thread, %rows;
             shl.b32 %at, %thread, 4;
             add.u32 %at, %at, %sm;
             @%p0 st.shared.b32 [%at], %n;
             bar.sync 0;
             cp.async.bulk.global.shared::cta.bulk_group [%to], [%sm+2048], 1024;"
        )
    };
    are_apart(&copied(16));
    assert_eq!(findings(&copied(17)).len(), 1);
}

#[test]
fn a_thread_adds_its_private_value() {
    let copied = |from: u32| {
        format!(
            "xor.b32 %x, %thread, 5;
             sub.u32 %x, %x, %thread;
             shl.b32 %x, %x, 4;
             add.u32 %at, %x, %sm;
             st.shared.b32 [%at+1024], %n;
             bar.sync 0;
             cp.async.bulk.global.shared::cta.bulk_group [%to], [%sm+{from}], 256;"
        )
    };
    are_apart(&copied(1280));
    are_apart(&copied(512));
    assert_eq!(wrong(&copied(1104)), 1);
    assert_eq!(wrong(&copied(704)), 1);
}

#[test]
fn a_parameter_is_known_whose_address_is_in_a_register() {
    let copied = |to: &str| {
        format!(
            "mov.b64 %params, s;
             ld.param.u64 %one, [%params];
             ld.param.u64 %two, [%params+8];
             st.global.b32 [%one], %n;
             bar.sync 0;
             cp.async.bulk.global.shared::cta.bulk_group [{to}], [%sm], 1024;"
        )
    };
    are_apart(&copied("%two"));
    assert_eq!(wrong(&copied("%one")), 1);
}

#[test]
fn bits_without_the_upper_ones_are_the_lower_ones() {
    are_apart(
        "and.b32 %lane, %thread, 31;
         shr.u32 %half, %lane, 4;
         shl.b32 %at, %lane, 4;
         shl.b32 %half, %half, 8;
         sub.u32 %at, %at, %half;
         add.u32 %at, %at, %sm;
         st.shared.b32 [%at+256], %n;
         bar.sync 0;
         cp.async.bulk.global.shared::cta.bulk_group [%to], [%sm], 256;",
    );
}

#[test]
fn of_a_swizzled_address_nothing_is_wrong() {
    let found = findings(
        "shl.b32 %at, %thread, 4;
         add.u32 %at, %at, %sm;
         add.u32 %at, %at, 8192;
         xor.b32 %at, %at, 32;
         st.shared.b32 [%at], %n;
         bar.sync 0;
         cp.async.bulk.global.shared::cta.bulk_group [%to], [%sm], 1024;",
    );
    assert!(found.iter().all(|finding| finding.claim == Claim::NotChecked), "{found:?}");
}

/// Both paths test the same bytes of the parameter, so that a launch has only one of the paths.
#[test]
fn paths_of_different_launches_are_apart() {
    let loads = [
        "ld.param.u32 %k, [s+4];",
        "ld.param.v2.b32 {%j, %k}, [s];",
        ".reg .b64 %wide; ld.param.b64 %wide, [s]; mov.b64 {%j, %k}, %wide;",
    ];
    let body = |first: &str, second: &str| {
        format!(
            ".reg .b32 %j, %k;
             {first}
             setp.ne.u32 %p0, %k, 0;
             @%p0 bra ROLE;
             st.shared.b32 [%sm], %n;
             ROLE:
             {second}
             setp.eq.u32 %p0, %k, 0;
             @%p0 bra END;
             cp.async.bulk.global.shared::cta.bulk_group [%to], [%sm], 1024;
             END:"
        )
    };
    for (first, second) in loads.into_iter().cartesian_product(loads) {
        are_apart(&body(first, second));
    }
    assert_ne!(findings(&body(loads[0], "ld.param.u32 %k, [s];")), []);
}
