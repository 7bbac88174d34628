//! Executions of small kernels: the rule that they show, its certainty, and that they show it again.

use ptx_execute::Given;
use ptx_hazards::{Budget, Claim, Class, Hazard, Rule, check, read, witnesses};
use ptx_isa::{Module, Stop};
use ptx_memory_model::ptx::readings::Readings;

const HEAD: &str = ".version 8.7
.target sm_90a
.address_size 64
.visible .entry k(.param .u64 .ptr .global in, .param .u64 .ptr .global out, .param .u32 rounds) .reqntid 64 {
.reg .pred %p<9>;
.reg .b32 %r<20>, %thread, %rank;
.reg .b64 %from, %to;
.shared .align 16 .b8 tile[1024];
ld.param.u64 %from, [in];
ld.param.u64 %to, [out];
mov.u32 %thread, %tid.x;
mov.u32 %rank, %cluster_ctarank;
setp.eq.u32 %p0, %thread, 0;
mad.wide.u32 %to, %thread, 4, %to;
";

/// The rules that an execution shows, and their certainty.
fn list_rules(body: &str) -> Vec<(Rule, Class)> {
    let text = format!("{HEAD}{body}\nret;\n}}\n");
    let module: Module = text.parse().unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    let kernel = read(&module).into_iter().next().expect("a kernel");
    let proposed = check(&kernel, Readings::DEFAULT).findings;
    let all =
        witnesses(&module, "k", &proposed, &Given::default(), &Budget::default(), &Stop::never()).expect("launches");
    for witness in &all.found {
        let report = witness.again(&module, &Budget::default()).expect("a launch");
        assert!(report.findings.contains(&witness.found), "{body}\n{witness:?}");
    }
    let rule = |shows: Option<usize>| shows.and_then(|index| proposed[index].rule);
    let mut shown: Vec<_> = all.found.iter().filter_map(|one| Some((rule(one.shows)?, one.class))).collect();
    shown.sort_unstable();
    shown.dedup();
    shown
}

#[test]
fn grids_that_start_early() {
    for (body, expected) in [
        (
            "ld.global.b32 %r0, [%to]; griddepcontrol.wait; st.global.b32 [%to], %thread;",
            &[(Rule::R14, Class::Wrong)][..],
        ),
        ("st.global.b32 [%to], %thread; griddepcontrol.wait;", &[(Rule::R14, Class::Warning)]),
        ("griddepcontrol.wait; ld.global.b32 %r0, [%to]; st.global.b32 [%to], %thread;", &[]),
    ] {
        assert_eq!(list_rules(body), expected, "{body}");
    }
}

/// The own accesses of one grid do not show that it starts its accesses too early.
#[test]
fn a_grid_that_waits_in_time() {
    let store = "st.shared.b32 [tile], %thread; fence.proxy.async.shared::cta; bar.sync 0; setp.ne.u64 %p1, %from, 0;";
    let copy = "@%p0 cp.async.bulk.global.shared::cta.bulk_group [%from], [tile], 16; cp.async.bulk.commit_group;";
    let body = format!("{store} @%p1 griddepcontrol.wait; {copy} griddepcontrol.launch_dependents;");
    assert_eq!(list_rules(&body), [(Rule::R7, Class::Warning)]);
    let body = format!("{store} {copy} griddepcontrol.wait; cp.async.bulk.wait_group 0;");
    assert_eq!(list_rules(&body), [(Rule::R14, Class::Wrong)]);
}

#[test]
fn ctas_of_a_cluster() {
    let meet = "barrier.cluster.arrive.aligned; barrier.cluster.wait.aligned;";
    let relaxed = "barrier.cluster.arrive.relaxed.aligned; barrier.cluster.wait.aligned;";
    let remote = "xor.b32 %r3, %rank, 1; mov.u32 %r0, tile; mapa.shared::cluster.u32 %r1, %r0, %r3; st.shared::cluster.b32 [%r1], %rank;";
    let wrong = &[(Rule::R15, Class::Wrong)][..];
    for (body, expected) in [
        (format!("{meet} {remote} {meet}"), &[][..]),
        (format!("{relaxed} {remote} {meet}"), &[]),
        (format!("{remote} {meet}"), wrong),
        (format!("{meet} {remote}"), wrong),
    ] {
        assert_eq!(list_rules(&body), expected, "{body}");
    }
}

#[test]
fn a_cta_that_ends_while_a_copy_reads() {
    let store = "st.shared.b32 [tile], %thread; fence.proxy.async.shared::cta; bar.sync 0;
        @%p0 cp.async.bulk.global.shared::cta.bulk_group [%from], [tile], 16; cp.async.bulk.commit_group;";
    assert_eq!(list_rules(store), [(Rule::R7, Class::Warning)]);
    assert_eq!(list_rules(&format!("{store} cp.async.bulk.wait_group.read 0;")), []);
}

/// The fence is missing only in a loop that has no iterations, and no launch that gets far has such a loop.
#[test]
fn a_loop_without_rounds() {
    let body = |fence: &str| {
        format!(
            "ld.param.b32 %r0, [rounds]; st.shared.b32 [tile], %thread; {fence} mov.b32 %r1, 0;
            setp.eq.u32 %p1, %r0, 0; @%p1 bra stored;
            again: fence.proxy.async.shared::cta; add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, %r0; @%p1 bra again;
            stored: bar.sync 0; @%p0 cp.async.bulk.global.shared::cta.bulk_group [%to], [tile], 16;
            cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;"
        )
    };
    assert_eq!(list_rules(&body("")), [(Rule::R4, Class::Wrong)]);
    assert_eq!(list_rules(&body("fence.proxy.async.shared::cta;")), []);
}

/// Memory is not an mbarrier before a thread initializes it.
#[test]
fn an_mbarrier_that_no_thread_initializes() {
    let body = |init: &str| {
        format!(
            "{init} bar.sync 0; @%p0 mbarrier.arrive.expect_tx.shared::cta.b64 _, [tile], 16;
            @%p0 cp.async.bulk.shared::cta.global.mbarrier::complete_tx::bytes [tile+16], [%from], 16, [tile];
            again: mbarrier.try_wait.parity.shared::cta.b64 %p1, [tile], 0; @!%p1 bra again;"
        )
    };
    assert_eq!(list_rules(&body("")), [(Rule::R10, Class::Wrong)]);
    assert_eq!(list_rules(&body("@%p0 mbarrier.init.shared::cta.b64 [tile], 1;")), []);
}

/// Each mbarrier of a variable needs an initialization, which a loop or several threads may make; `mbarrier.inval` is a
/// use, too.
#[test]
fn mbarriers_of_a_variable() {
    let init = "mbarrier.init.shared::cta.b64";
    let uses = "bar.sync 0; mbarrier.arrive.shared::cta.b64 _, [tile+8];
        again: mbarrier.try_wait.parity.shared::cta.b64 %p1, [tile+8], 0; @!%p1 bra again;";
    let uninitialized = [(Rule::R10, Class::Wrong)];
    for (body, expected) in [
        (format!("@%p0 {init} [tile], 64; @%p0 {init} [tile+16], 64; {uses}"), &uninitialized[..]),
        (format!("@%p0 {init} [tile], 64; @%p0 {init} [tile+8], 64; {uses}"), &[]),
        (
            format!(
                "@!%p0 bra begin; mov.u32 %r1, tile; mov.u32 %r2, 0;
                more: {init} [%r1], 64; add.u32 %r1, %r1, 8; add.u32 %r2, %r2, 1;
                setp.lt.u32 %p2, %r2, 9; @%p2 bra more;
                begin: {uses}"
            ),
            &[],
        ),
        (
            format!(
                "mov.u32 %r1, tile; shl.b32 %r2, %thread, 3; add.u32 %r1, %r1, %r2; setp.lt.u32 %p2, %thread, 4;
                @%p2 {init} [%r1], 64; {uses}"
            ),
            &[],
        ),
        ("@%p0 mbarrier.inval.shared::cta.b64 [tile];".to_owned(), &uninitialized),
    ] {
        assert_eq!(list_rules(&body), expected, "{body}");
        // The check itself reports no more.
        let module: Module = format!("{HEAD}{body}\nret;\n}}\n").parse().expect("PTX");
        let findings = check(&read(&module)[0], Readings::DEFAULT).findings;
        let rules: Vec<_> = findings.iter().filter_map(|finding| finding.rule).collect();
        assert_eq!(rules, expected.iter().map(|(rule, _)| *rule).collect::<Vec<_>>(), "{body}");
    }
}

/// Memory of an mbarrier is a different mbarrier, or data, only after `mbarrier.inval`.
#[test]
fn the_memory_of_an_mbarrier_that_has_not_ended() {
    let again =
        "@%p0 mbarrier.init.shared::cta.b64 [tile], 1; bar.sync 0; END @%p0 mbarrier.init.shared::cta.b64 [tile], 1;";
    let data = "@%p0 mbarrier.init.shared::cta.b64 [tile+8], 1; bar.sync 0; END bar.sync 0;
        mov.u32 %r1, tile; mad.lo.u32 %r1, %thread, 4, %r1; st.shared.b32 [%r1], 1;";
    let copy = "@%p0 mbarrier.init.shared::cta.b64 [tile+8], 1; bar.sync 0; END bar.sync 0;
        @%p0 cp.async.ca.shared.global [tile], [%from], 16; cp.async.wait_all;";
    let rounds = "mov.u32 %r1, 0; again: @%p0 mbarrier.init.shared::cta.b64 [tile], 1; bar.sync 0; END
        add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 4; @%p1 bra again;";
    for (body, barrier) in [(again, "tile"), (data, "tile+8"), (copy, "tile+8"), (rounds, "tile")] {
        let of = |end: &str| list_rules(&body.replace("END", end));
        assert_eq!(of(""), [(Rule::R10, Class::Wrong)], "{body}");
        assert_eq!(of(&format!("@%p0 mbarrier.inval.shared::cta.b64 [{barrier}];")), [], "{body}");
    }
}

/// Whether an execution of a kernel shows a finding about two of its lines. Lines count from the first line of the
/// body.
fn is_shown(body: &str, rule: Rule, (first, line): (Option<u32>, u32), lacks_fence: bool) -> bool {
    let text = format!("{HEAD}{body}\nret;\n}}\n");
    let module: Module = text.parse().unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    let place = |line: u32| module.first_on(HEAD.lines().count() as u32 + line).expect("an instruction");
    let claim = Hazard::new("k", place(line), Claim::Wrong, "a claim".to_owned());
    let claim = Hazard { rule: Some(rule), first: first.map(place), lacks_fence, ..claim };
    let all =
        witnesses(&module, "k", &[claim], &Given::default(), &Budget::default(), &Stop::never()).expect("launches");
    assert!(!all.found.is_empty(), "nothing is wrong with\n{text}");
    all.found.iter().any(|witness| witness.shows == Some(0))
}

/// A finding has only witnesses of its own kind, and of its two accesses in their order.
#[test]
fn witnesses_of_other_kinds() {
    let unfenced = "st.shared.b32 [tile], %thread;\nbar.sync 0;\n\
        @%p0 cp.async.bulk.global.shared::cta.bulk_group [%from], [tile], 16;\n\
        cp.async.bulk.commit_group; cp.async.bulk.wait_group 0;";
    let pair = (Some(1), 3);
    assert!(is_shown(unfenced, Rule::R4, pair, true));
    assert!(!is_shown(unfenced, Rule::R4, pair, false), "a wait is not missing");
    assert!(!is_shown(unfenced, Rule::R7, pair, false), "a wait is not missing");
    assert!(!is_shown(unfenced, Rule::R4, (Some(3), 1), true), "the other order");
    // `mbarrier.try_wait` of memory that is not an mbarrier.
    let misused = "add.u32 %r1, %thread, 1;\nst.shared.b32 [tile], %r1;\nagain:\n\
        mbarrier.try_wait.parity.shared::cta.b64 %p1, [tile], 0;\n@!%p1 bra again;";
    let text = format!("{HEAD}{misused}\nret;\n}}\n");
    let module: Module = text.parse().expect("PTX");
    let place = |line: u32| module.first_on(HEAD.lines().count() as u32 + line).expect("an instruction");
    let claim = Hazard::new("k", place(4), Claim::Wrong, "a claim".to_owned());
    let claims = [Hazard { rule: Some(Rule::R3), first: Some(place(2)), ..claim }];
    let all =
        witnesses(&module, "k", &claims, &Given::default(), &Budget::default(), &Stop::never()).expect("launches");
    assert!(all.found.iter().all(|witness| witness.shows.is_none()), "{all:?}");
}
