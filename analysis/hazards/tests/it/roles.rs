//! Roles of warps: the knowledge that one role passes to another, in the smallest kernels.
//!
//! The check is silent on each kernel as it is; without the lines that end in `// needed` it reports an error of a
//! rule.

use ptx_hazards::{Claim, Rule, check, read};
use ptx_isa::Module;
use ptx_memory_model::ptx::readings::Readings;

const HEAD: &str = ".version 8.7
.target sm_100a
.address_size 64
.visible .entry k(.param .align 64 .b8 map[128], .param .u32 n, .param .u64 .ptr .global out) .reqntid 256 {
.reg .pred %p<9>, %elected;
.reg .b32 %r<20>, %thread, %warp, %tmem, %n, %round, %phase;
.reg .b64 %rd<4>, %left, %right;
.shared .align 1024 .b8 tile[4096];
.shared .align 8 .b64 bars[8];
.shared .align 4 .b32 columns;
mov.u32 %thread, %tid.x;
shr.u32 %warp, %thread, 5;
ld.param.u32 %n, [n];
mov.b32 %round, 0;
mov.b32 %phase, 0;
mov.b64 %rd0, map;
setp.eq.u32 %p0, %thread, 0;
setp.eq.u32 %p1, %warp, 0;
";

/// Three mbarriers at the beginning of `bars`, initialized for all threads.
const BARRIERS: &str = "@%p0 mbarrier.init.shared::cta.b64 [bars], 1;
@%p0 mbarrier.init.shared::cta.b64 [bars+8], 1;
@%p0 mbarrier.init.shared::cta.b64 [bars+16], 1;
@%p0 fence.mbarrier_init.release.cluster;
bar.sync 0;
";

fn wrong(text: &str) -> Vec<(Rule, u32, String)> {
    let module: Module = text.parse().unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    let found = read(&module).into_iter().flat_map(|kernel| check(&kernel, Readings::DEFAULT).findings);
    let wrong = found.filter(|finding| finding.claim == Claim::Wrong);
    wrong.filter_map(|finding| Some((finding.rule?, finding.at.line, finding.message.to_string()))).collect()
}

#[track_caller]
fn needs(body: &str, rule: Rule) {
    let text = format!("{HEAD}{body}\n}}\n");
    assert_eq!(wrong(&text), [], "{text}");
    let without: Vec<_> = text.lines().filter(|line| !line.ends_with("// needed")).collect();
    let without = without.join("\n");
    let found = wrong(&without);
    assert!(found.iter().any(|(own, ..)| *own == rule), "{rule} is not found: {found:?}\n{without}");
}

/// Warps 4 to 7 do one task after another, as the first warps tell them. The first warps wait in between, and access
/// none of the memory of warps 4 to 7.
#[test]
fn a_role_orders_accesses_that_it_does_not_wait_for() {
    needs(
        &format!(
            "{BARRIERS}
            .shared .align 4 .b32 job;
            setp.gt.u32 %p2, %thread, 127;
            @%p2 bra dispatch;
            barrier.sync 1;
            barrier.sync 1;
            wait: // needed
            mbarrier.try_wait.parity.shared::cta.b64 %p3, [bars], 0; // needed
            @!%p3 bra wait; // needed
            barrier.sync 1;
            barrier.sync 1;
            barrier.sync 1;
            bra.uni end;
            dispatch:
            barrier.sync 1;
            ld.shared.b32 %r3, [job];
            setp.eq.u32 %p3, %r3, 0;
            @%p3 bra end;
            setp.eq.u32 %p4, %r3, 1;
            @%p4 bra copies;
            st.shared.b32 [tile], %r3;
            barrier.sync 1;
            bra.uni dispatch;
            copies:
            setp.ne.u32 %p5, %thread, 128;
            @%p5 bra copied;
            mbarrier.arrive.expect_tx.shared::cta.b64 _, [bars], 128;
            fence.proxy.async.shared::cta;
            cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [tile], [%rd1], 128, [bars];
            copied:
            barrier.sync 1;
            bra.uni dispatch;
            end:
            ret;"
        ),
        Rule::R7,
    );
}

#[test]
fn of_two_copies_to_one_place_the_first_is_waited_for() {
    needs(
        &format!(
            "{BARRIERS}
            @!%p0 bra end;
            mbarrier.arrive.expect_tx.shared::cta.b64 _, [bars], 128;
            cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [tile], [%rd1], 128, [bars];
            wait: // needed
            mbarrier.try_wait.parity.shared::cta.b64 %p3, [bars], 0; // needed
            @!%p3 bra wait; // needed
            mbarrier.arrive.expect_tx.shared::cta.b64 _, [bars+8], 128;
            cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [tile], [%rd1], 128, [bars+8];
            last:
            mbarrier.try_wait.parity.shared::cta.b64 %p3, [bars+8], 0;
            @!%p3 bra last;
            end:
            ret;"
        ),
        Rule::R7,
    );
}

#[test]
fn a_wait_under_a_predicate_that_never_holds_is_none() {
    let wait = "mov.pred %p2, NUMBER;
                wait:
                @!%p2 bra skip;
                mbarrier.try_wait.parity.shared::cta.b64 %p3, [bars+24], 0;
                @!%p3 bra wait;
                skip:";
    let found = |number: &str| wrong(&format!("{HEAD}{BARRIERS}{}\n}}\n", wait.replace("NUMBER", number)));
    assert_eq!(found("0"), []);
    let lines: Vec<_> = found("1").into_iter().map(|(rule, _, message)| (rule, message)).collect();
    let expected = [
        (Rule::R7, "no arrival comes to the mbarrier of this wait"),
        (Rule::R10, "the kernel uses `bars+24` as an mbarrier, and does not initialize it"),
    ];
    assert_eq!(lines, expected.map(|(rule, message)| (rule, message.into())));
}

#[test]
fn an_array_of_mbarriers_ends_with_the_range_of_its_index() {
    needs(
        &format!(
            "{BARRIERS}
            and.b32 %r0, %n, 1;
            shl.b32 %r0, %r0, 3;
            mov.b32 %r1, bars;
            add.u32 %r1, %r1, %r0;
            @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [%r1], 128;
            @%p0 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [tile], [%rd1], 128, [%r1];
            @%p0 mbarrier.arrive.shared::cta.b64 _, [bars+16];
            one:
            mbarrier.try_wait.parity.shared::cta.b64 %p3, [%r1], 0; // needed
            @!%p3 bra one; // needed
            other:
            mbarrier.try_wait.parity.shared::cta.b64 %p3, [bars+16], 0;
            @!%p3 bra other;
            ld.shared.b32 %r2, [tile];
            st.global.b32 [%rd2], %r2;"
        ),
        Rule::R7,
    );
}

#[test]
fn each_warp_has_two_mbarriers_of_its_own() {
    let text = format!(
        "{HEAD}
        and.b32 %r0, %thread, 31;
        setp.eq.u32 %p2, %r0, 0;
        shl.b32 %r1, %warp, 4;
        mov.b32 %r2, bars;
        add.u32 %r2, %r2, %r1;
        @%p2 mbarrier.init.shared::cta.b64 [%r2], 1;
        @%p2 mbarrier.init.shared::cta.b64 [%r2+8], 1;
        @%p2 mbarrier.arrive.shared::cta.b64 _, [%r2];
        @%p2 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [tile], [%rd1], 128, [%r2+8];
        }}\n"
    );
    let found = wrong(&text);
    assert!(!found.iter().any(|(rule, ..)| *rule == Rule::R10), "{found:?}");
}

/// Warp 1 copies, warp 2 waits and tells warp 0.
#[test]
fn a_role_orders_the_accesses_of_a_third_role() {
    needs(
        &format!(
            "{BARRIERS}
            setp.eq.u32 %p2, %warp, 1;
            @%p2 bra copy;
            setp.eq.u32 %p2, %warp, 2;
            @%p2 bra relay;
            @!%p1 bra end;
            wait:
            mbarrier.try_wait.parity.shared::cta.b64 %p3, [bars+8], %phase;
            @!%p3 bra wait;
            ld.shared.b32 %r2, [tile];
            st.global.b32 [%rd2], %r2;
            bra.uni end;
            copy:
            elect.sync _|%elected, -1;
            @!%elected bra end;
            mbarrier.arrive.expect_tx.shared::cta.b64 _, [bars], 128;
            cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [tile], [%rd1], 128, [bars];
            bra.uni end;
            relay:
            elect.sync _|%elected, -1;
            @!%elected bra end;
            again: // needed
            mbarrier.try_wait.parity.shared::cta.b64 %p3, [bars], 0; // needed
            @!%p3 bra again; // needed
            mbarrier.arrive.shared::cta.b64 _, [bars+8];
            end: ret;"
        ),
        Rule::R7,
    );
}

/// All threads wait, and one thread invalidates the mbarrier.
#[test]
fn an_mbarrier_ends_after_all_waits() {
    needs(
        &format!(
            "{BARRIERS}
            @%p0 mbarrier.arrive.shared::cta.b64 _, [bars];
            wait:
            mbarrier.try_wait.parity.shared::cta.b64 %p3, [bars], 0;
            @!%p3 bra wait;
            bar.sync 0; // needed
            @%p0 mbarrier.inval.shared::cta.b64 [bars];"
        ),
        Rule::R10,
    );
}

/// The invalidating thread has written the memory of a former mbarrier.
#[test]
fn a_copy_to_where_an_mbarrier_was() {
    needs(
        &format!(
            "{BARRIERS}
            @%p0 mbarrier.inval.shared::cta.b64 [bars];
            fence.proxy.async.shared::cta; // needed
            @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bars+16], 16;
            @%p0 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [bars], [%rd1], 16, [bars+16];"
        ),
        Rule::R4,
    );
}

const ALLOCATE: &str = "@%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [columns], 64;
bar.sync 0;
ld.shared.b32 %tmem, [columns];
";

#[test]
fn the_address_of_tensor_memory_is_read_after_a_barrier() {
    let body = ALLOCATE.replace("bar.sync 0;", "bar.sync 0; // needed");
    needs(&format!("{body}@%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %tmem, 64;"), Rule::R4);
}

/// The warp that allocates needs no barrier.
#[test]
fn the_address_of_tensor_memory_is_known_to_its_warp() {
    let body = format!(
        "{HEAD}@!%p1 bra end;
        tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [columns], 64;
        ld.shared.b32 %tmem, [columns];
        tcgen05.dealloc.cta_group::1.sync.aligned.b32 %tmem, 64;
        end: ret; }}"
    );
    assert_eq!(wrong(&body), []);
}

/// Warps 4 to 7 repeatedly wait at barrier 1 for work; one of them multiplies.
#[test]
fn a_barrier_that_was_passed_too_early_tells_nothing_later() {
    needs(
        &format!(
            "{BARRIERS}{ALLOCATE}
            setp.gt.u32 %p2, %thread, 127;
            @%p2 bra dispatch;
            barrier.sync 1;
            barrier.sync 1;
            wait: // needed
            mbarrier.try_wait.parity.shared::cta.b64 %p3, [bars], 0; // needed
            @!%p3 bra wait; // needed
            and.b32 %r1, %thread, 96;
            shl.b32 %r1, %r1, 16;
            add.u32 %r1, %r1, %tmem;
            tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%r2}}, [%r1];
            tcgen05.wait::ld.sync.aligned;
            barrier.sync 1;
            bar.sync 0;
            @%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %tmem, 64;
            bra.uni end;
            dispatch:
            barrier.sync 1;
            ld.shared.b32 %r3, [tile];
            setp.eq.u32 %p3, %r3, 0;
            @%p3 bra done;
            setp.eq.u32 %p4, %r3, 1;
            @%p4 bra multiply;
            wait_too:
            mbarrier.try_wait.parity.shared::cta.b64 %p3, [bars], 0;
            @!%p3 bra wait_too;
            barrier.sync 1;
            bra.uni dispatch;
            multiply:
            setp.ne.u32 %p5, %warp, 4;
            @%p5 bra multiplied;
            elect.sync _|%elected, -1;
            @%elected tcgen05.mma.cta_group::1.kind::f16 [%tmem], %left, %right, %r4, 0;
            @%elected tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bars];
            multiplied:
            barrier.sync 1;
            bra.uni dispatch;
            done:
            bar.sync 0;
            end: ret;"
        ),
        Rule::R3,
    );
}

/// Warps 0 to 3 read the product of one thread, and one of their threads signals that, in each of several iterations.
#[test]
fn one_of_many_threads_says_that_all_have_read() {
    needs(
        &format!(
            "{BARRIERS}{ALLOCATE}
            setp.gt.u32 %p2, %thread, 127;
            @%p2 bra multiply;
            and.b32 %r0, %thread, 127;
            setp.eq.u32 %p4, %r0, 0;
            wait:
            mbarrier.try_wait.parity.shared::cta.b64 %p3, [bars], %phase;
            @!%p3 bra wait;
            and.b32 %r1, %thread, 96;
            shl.b32 %r1, %r1, 16;
            add.u32 %r1, %r1, %tmem;
            tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%r2}}, [%r1];
            tcgen05.wait::ld.sync.aligned;
            bar.sync 0, 128; // needed
            @%p4 mbarrier.arrive.shared::cta.b64 _, [bars+8];
            bar.sync 0, 128;
            xor.b32 %phase, %phase, 1;
            add.u32 %round, %round, 1;
            setp.lt.u32 %p3, %round, %n;
            @%p3 bra wait;
            bra.uni end;
            multiply:
            setp.ne.u32 %p5, %warp, 4;
            @%p5 bra end;
            elect.sync _|%elected, -1;
            @!%elected bra end;
            empty:
            mbarrier.try_wait.parity.shared::cta.b64 %p3, [bars+8], %phase;
            @!%p3 bra empty;
            tcgen05.mma.cta_group::1.kind::f16 [%tmem], %left, %right, %r4, 0;
            tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bars];
            xor.b32 %phase, %phase, 1;
            add.u32 %round, %round, 1;
            setp.lt.u32 %p3, %round, %n;
            @%p3 bra empty;
            end:
            bar.sync 0;
            @%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %tmem, 64;
            ret;"
        ),
        Rule::R1,
    );
}

/// Warps 0 to 3 store the product of warp 7. They inform warps 4 to 6 before they store, and those inform warp 7.
#[test]
fn a_role_orders_accesses_of_a_third_role_in_the_previous_iteration() {
    needs(
        &format!(
            "{BARRIERS}@%p0 mbarrier.init.shared::cta.b64 [bars+24], 1;
            {ALLOCATE}
            setp.eq.u32 %p2, %warp, 7;
            @%p2 bra multiply;
            setp.gt.u32 %p2, %warp, 3;
            @%p2 bra relay;
            and.b32 %r1, %thread, 96;
            shl.b32 %r1, %r1, 16;
            add.u32 %r1, %r1, %tmem;
            go:
            mbarrier.try_wait.parity.shared::cta.b64 %p3, [bars+24], %phase;
            @!%p3 bra go;
            mbarrier.arrive.shared::cta.b64 _, [bars];
            tcgen05.st.sync.aligned.32x32b.x1.b32 [%r1+32], {{%r2}};
            tcgen05.wait::st.sync.aligned;
            mbarrier.arrive.shared::cta.b64 _, [bars+8];
            xor.b32 %phase, %phase, 1;
            add.u32 %round, %round, 1;
            setp.lt.u32 %p3, %round, %n;
            @%p3 bra go;
            bra.uni end;
            relay:
            mbarrier.try_wait.parity.shared::cta.b64 %p3, [bars], %phase;
            @!%p3 bra relay;
            mbarrier.arrive.shared::cta.b64 _, [bars+16];
            xor.b32 %phase, %phase, 1;
            add.u32 %round, %round, 1;
            setp.lt.u32 %p3, %round, %n;
            @%p3 bra relay;
            bra.uni end;
            multiply:
            elect.sync _|%elected, -1;
            @!%elected bra end;
            next:
            stored: // needed
            mbarrier.try_wait.parity.shared::cta.b64 %p3, [bars+8], %phase; // needed
            @!%p3 bra stored; // needed
            relayed:
            mbarrier.try_wait.parity.shared::cta.b64 %p3, [bars+16], %phase;
            @!%p3 bra relayed;
            add.u32 %r3, %tmem, 32;
            tcgen05.mma.cta_group::1.kind::f16 [%tmem], [%r3], %right, %r4, 0;
            tcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [bars+24];
            xor.b32 %phase, %phase, 1;
            add.u32 %round, %round, 1;
            setp.lt.u32 %p3, %round, %n;
            @%p3 bra next;
            finish:
            mbarrier.try_wait.parity.shared::cta.b64 %p3, [bars+24], %phase;
            @!%p3 bra finish;
            end:
            bar.sync 0;
            @%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %tmem, 64;
            ret;"
        ),
        Rule::R2,
    );
}

/// Four warps read tensor memory that a fifth warp frees after a barrier.
#[test]
fn reads_before_roles_join() {
    needs(
        &format!(
            "{BARRIERS}{ALLOCATE}
            setp.gt.u32 %p2, %thread, 127;
            @!%p2 bra read;
            mbarrier.arrive.shared::cta.b64 _, [bars];
            bra.uni end;
            read:
            and.b32 %r1, %thread, 96;
            shl.b32 %r1, %r1, 16;
            add.u32 %r1, %r1, %tmem;
            tcgen05.ld.sync.aligned.32x32b.x1.b32 {{%r2}}, [%r1];
            tcgen05.wait::ld.sync.aligned; // needed
            end:
            bar.sync 0;
            setp.ne.u32 %p4, %warp, 5;
            @%p4 bra out;
            tcgen05.dealloc.cta_group::1.sync.aligned.b32 %tmem, 64;
            out: ret;"
        ),
        Rule::R1,
    );
}

/// No thread of the other side belongs to the warp that frees.
#[test]
fn tensor_memory_is_freed_by_a_warp_of_its_side() {
    needs(
        &format!(
            "{BARRIERS}{ALLOCATE}
            setp.lt.u32 %p2, %thread, 128;
            @!%p2 bra other;
            @%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %tmem, 64; // needed
            bra.uni end;
            other:
            @%p1 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %tmem, 64;
            end: ret;"
        ),
        Rule::R6,
    );
}

#[test]
fn one_thread_of_a_warpgroup_says_that_its_products_are_over() {
    needs(
        &format!(
            "{BARRIERS}
            and.b32 %r0, %thread, 127;
            setp.eq.u32 %p2, %r0, 0;
            setp.lt.u32 %p3, %thread, 128;
            @%p3 bra PRODUCER;
            CONSUMER:
            mbarrier.try_wait.parity.shared::cta.b64 %p4, [bars], %phase;
            @!%p4 bra CONSUMER;
            wgmma.fence.sync.aligned;
            mov.b32 %r1, tile;
            shr.u32 %r1, %r1, 4;
            cvt.u64.u32 %left, %r1;
            wgmma.mma_async.sync.aligned.m64n8k16.f32.f16.f16 {{%f0, %f1, %f2, %f3}}, %left, %left, 1, 1, 1, 0, 0;
            wgmma.commit_group.sync.aligned;
            wgmma.wait_group.sync.aligned 0; // needed
            @%p2 mbarrier.arrive.shared::cta.b64 _, [bars+8];
            xor.b32 %phase, %phase, 1;
            add.u32 %round, %round, 1;
            setp.lt.u32 %p4, %round, %n;
            @%p4 bra CONSUMER;
            bra END;
            PRODUCER:
            @!%p0 bra END;
            xor.b32 %phase, %phase, 1;
            NEXT:
            mbarrier.try_wait.parity.shared::cta.b64 %p5, [bars+8], %phase;
            @!%p5 bra NEXT;
            mbarrier.arrive.expect_tx.shared::cta.b64 _, [bars], 4096;
            cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [tile], [%rd1], 4096, [bars];
            xor.b32 %phase, %phase, 1;
            add.u32 %round, %round, 1;
            setp.lt.u32 %p5, %round, %n;
            @%p5 bra NEXT;
            END:"
        ),
        Rule::R7,
    );
}

#[test]
fn assertions_hold_of_all_threads() {
    needs(
        &format!(
            "{BARRIERS}
            LOOP:
            setp.ge.u32 %p3, %round, %n;
            @%p3 bra END;
            setp.lt.u32 %p4, %thread, 200;
            @%p4 bra GOOD;
            trap;
            GOOD:
            @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [bars], 128;
            @%p0 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [tile], [%rd1], 128, [bars];
            WAIT: // needed
            mbarrier.try_wait.parity.shared::cta.b64 %p6, [bars], %phase; // needed
            @!%p6 bra WAIT; // needed
            xor.b32 %phase, %phase, 1;
            add.u32 %round, %round, 1;
            bra LOOP;
            END:
            ld.shared.b32 %r2, [tile];
            st.global.b32 [%rd2], %r2;"
        ),
        Rule::R7,
    );
}

#[test]
fn a_warp_frees_memory_that_another_warp_allocates() {
    needs(
        "setp.eq.u32 %p2, %warp, 1;
        @%p1 tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [columns], 64;
        bar.sync 0;
        ld.shared.b32 %tmem, [columns];
        bar.sync 0;
        @%p2 tcgen05.dealloc.cta_group::1.sync.aligned.b32 %tmem, 64; // needed",
        Rule::R6,
    );
}

#[test]
fn a_warp_that_has_waited_orders_the_warps_of_its_role() {
    let body = "@%p0 mbarrier.init.shared::cta.b64 [bars], 1;
        @%p0 mbarrier.init.shared::cta.b64 [bars+8], 224;
        @%p0 fence.mbarrier_init.release.cluster;
        bar.sync 0;
        setp.ge.u32 %p2, %warp, 7;
        @!%p2 bra CONSUMER;
        elect.sync _|%elected, -1;
        @!%elected bra END;
        xor.b32 %phase, %phase, 1;
        FREE:
        mbarrier.try_wait.parity.shared::cta.b64 %p3, [bars+8], %phase; // needed to write
        @!%p3 bra FREE; // needed to write
        mbarrier.arrive.expect_tx.shared::cta.b64 _, [bars], 4096;
        cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [tile], [%rd1], 4096, [bars];
        xor.b32 %phase, %phase, 1;
        add.u32 %round, %round, 1;
        setp.lt.u32 %p3, %round, %n;
        @%p3 bra FREE;
        bra END;
        CONSUMER:
        @!%p1 bra TOLD;
        WAIT:
        mbarrier.try_wait.parity.shared::cta.b64 %p4, [bars], %phase;
        @!%p4 bra WAIT;
        TOLD:
        bar.sync 1, 224; // needed to read
        ld.shared.b32 %r2, [tile];
        mbarrier.arrive.shared::cta.b64 _, [bars+8];
        xor.b32 %phase, %phase, 1;
        add.u32 %round, %round, 1;
        setp.lt.u32 %p4, %round, %n;
        @%p4 bra CONSUMER;
        END:";
    needs(&body.replace("needed to read", "needed"), Rule::R7);
    needs(&body.replace("needed to write", "needed"), Rule::R4);
}
