//! A missing synchronization gives a single finding, however many accesses lack it.

use ptx_hazards::{check, read};
use ptx_isa::Module;

fn findings(body: &str) -> Vec<(u32, u32, String)> {
    let head = ".version 8.7\n.target sm_90a\n.address_size 64\n.shared .align 128 .b8 tile[1024];\n\
                .visible .entry k(.param .u64 .ptr .global p) .reqntid 128 {\n";
    let text = format!("{head}{body}\n}}\n");
    let module: Module = text.parse().unwrap_or_else(|errors| panic!("{text}\n{errors}"));
    let found = read(&module).into_iter().flat_map(|kernel| check(&kernel, Default::default()).findings);
    found
        .map(|finding| (finding.first.map_or(0, |first| first.line), finding.at.line, finding.message.to_string()))
        .collect()
}

#[test]
fn of_one_missing_fence_the_earliest_access_is_said() {
    let found = findings(
        "ld.param.u64 %to, [p];
         st.shared.b32 [tile], 1;
         st.shared.b32 [tile+16], 2;
         st.shared.b32 [tile+32], 3;
         bar.sync 0;
         cp.async.bulk.global.shared::cta.bulk_group [%to], [tile], 128;
         cp.async.bulk.commit_group;
         cp.async.bulk.wait_group 0;",
    );
    let message = "no proxy fence stands between the write on line 7 and the bulk copy of the same shared memory; 2 other accesses lack the same ordering";
    assert_eq!(found, [(7, 11, message.into())]);
}

#[test]
fn of_two_missing_fences_each_is_said() {
    let found = findings(
        "ld.param.u64 %to, [p];
         st.shared.b32 [tile], 1;
         bar.sync 0;
         cp.async.bulk.global.shared::cta.bulk_group [%to], [tile], 128;
         cp.async.bulk.commit_group;
         cp.async.bulk.wait_group 0;
         st.shared.b32 [tile+512], 1;
         bar.sync 0;
         cp.async.bulk.global.shared::cta.bulk_group [%to], [tile+512], 128;
         cp.async.bulk.commit_group;
         cp.async.bulk.wait_group 0;",
    );
    let places: Vec<_> = found.iter().map(|(first, second, _)| (*first, *second)).collect();
    assert_eq!(places, [(7, 9), (12, 14)]);
}

#[test]
fn copies_with_mbarriers_of_their_own_lack_each_a_wait() {
    let found = findings(
        ".shared .align 8 .b64 bars[2];
         ld.param.u64 %from, [p];
         mov.u32 %thread, %tid.x;
         setp.eq.u32 %p0, %thread, 0;
         @%p0 mbarrier.init.shared::cta.b64 [bars], 1;
         @%p0 mbarrier.init.shared::cta.b64 [bars+8], 1;
         @%p0 fence.mbarrier_init.release.cluster;
         bar.sync 0;
         @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bars], 128;
         @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bars+8], 128;
         @%p0 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [tile], [%from], 128, [bars];
         @%p0 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [tile+128], [%from], 128, [bars];
         @%p0 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [tile+256], [%from], 128, [bars+8];
         cp.async.bulk.global.shared::cta.bulk_group [%from+4096], [tile], 384;
         cp.async.bulk.commit_group;
         cp.async.bulk.wait_group 0;",
    );
    let said: Vec<_> =
        found.iter().map(|(first, _, message)| (*first, message.ends_with("lacks the same ordering"))).collect();
    assert_eq!(said, [(16, true), (18, false)]);
}
