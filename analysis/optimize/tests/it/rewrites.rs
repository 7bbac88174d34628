//! Every rewrite, on small functions in the syntax of [`text`].

use std::collections::HashMap;

use ptx_lowering::Policy;
use ptx_optimize::{
    Budget, Condition, FirstRound, Least, OptimizeOptions, Rewrite, Rewrites, least, optimize, weights,
};
use strum::IntoEnumIterator;

use crate::text::{function, print, target};

/// Checks the result of one rewrite on a target, and its remarks.
fn check_on(features: &str, rewrite: Rewrite, before: &str, after: &str) {
    let (mut found, names) = function(before);
    let untouched = found.clone();
    let options = OptimizeOptions {
        rewrites: Rewrites::NONE.with(rewrite),
        ..OptimizeOptions::new(Policy::default(), target(features))
    };
    let remarks = optimize(&mut found, &options);
    let tidy = |text: &str| {
        let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
        let lines = lines.filter(|line| line.contains(':'));
        lines.collect::<Vec<_>>().join("\n")
    };
    assert_eq!(tidy(&print(&found, &names)), tidy(after), "{before}\n{remarks:?}");
    let applied = remarks.iter().filter(|remark| remark.applied).map(|remark| remark.id).collect::<Vec<_>>();
    let by_id: HashMap<_, _> = found.events().filter_map(|event| Some((event.id?, &event.kind))).collect();
    for event in untouched.events().filter_map(|event| Some((event.id?, &event.kind))) {
        let changed = by_id.get(&event.0) != Some(&event.1);
        assert_eq!(changed, applied.contains(&event.0), "of {} is said: {remarks:?}", event.0);
    }
}

fn check(rewrite: Rewrite, before: &str, after: &str) {
    check_on("sm_90+ptx86", rewrite, before, after);
}

/// Checks that a rewrite changes nothing, and that its remark says why.
fn check_missed(rewrite: Rewrite, text: &str, said: &str) {
    check(rewrite, text, text);
    let (mut found, _) = function(text);
    let options = OptimizeOptions {
        rewrites: Rewrites::NONE.with(rewrite),
        ..OptimizeOptions::new(Policy::default(), target("sm_90+ptx86"))
    };
    let remarks = optimize(&mut found, &options);
    assert!(remarks.iter().any(|remark| !remark.applied && remark.message.contains(said)), "{text}\n{remarks:?}");
}

#[test]
fn shared_memory_needs_no_wider_scope_than_its_threads() {
    use Rewrite::Scope;
    check(
        Scope,
        "0: ld.acquire.sys s; add.acq_rel.gpu s; st.release.cta s",
        "0: ld.acquire.cta s; add.acq_rel.cta s; st.release.cta s",
    );
    check(Scope, "0: cas.acq_rel/acquire.sys c", "0: cas.acq_rel/acquire.cluster c");
    check(Scope, "0: ld.acquire.sys x", "0: ld.acquire.sys x");
    // The fence of the operation also orders the accesses around it.
    for text in ["add.seq_cst.sys s", "ld.seq_cst.sys s", "cas.acq_rel/seq_cst.sys s"] {
        check_missed(Scope, &format!("0: {text}"), "a seq_cst operation keeps its scope");
    }
    // The narrower scope costs the same.
    check(Scope, "0: ld.relaxed.sys s", "0: ld.relaxed.sys s");
}

#[test]
fn a_fence_needs_the_scope_of_its_operation() {
    use Rewrite::Scope;
    check(Scope, "0: plain; fence.release.sys; st.relaxed.sys s", "0: plain; fence.release.cta; st.relaxed.sys s");
    check(Scope, "0: ld.relaxed.sys s; fence.acquire.sys; plain", "0: ld.relaxed.sys s; fence.acquire.cta; plain");
    let both = "0: ld.relaxed.sys s; fence.acq_rel.sys; st.relaxed.gpu c";
    check(Scope, both, "0: ld.relaxed.sys s; fence.acq_rel.cluster; st.relaxed.gpu c");
    let kept = [
        "0: plain; fence.seq_cst.sys; st.relaxed.sys s",
        "0: plain; fence.release.sys; st.relaxed.sys s; call g",
        // An update of another thread carries the release on.
        "0: plain; fence.release.sys; st.relaxed.gpu x",
        "0: ld.relaxed.cta x; fence.acquire.gpu; plain",
        "0: ld.acquire.cta x; fence.acquire.gpu; plain",
    ];
    kept.into_iter().for_each(|text| check(Scope, text, text));
    check(Scope, "device\n0: fence.release.sys; st.relaxed.sys s", "0: fence.release.sys; st.relaxed.sys s");
    let branch = "0: fence.release.sys -> 1 2\n1: st.relaxed.sys s\n2: st.relaxed.sys x";
    check(Scope, branch, branch);
}

#[test]
fn a_waiting_loop_acquires_after_its_end() {
    use Rewrite::Loops;
    check(
        Loops,
        "0: -> 1\n1: ld.acquire.sys x -> 1 2\n2: plain",
        "0: -> 1\n1: ld.relaxed.sys x -> 1 2\n2: fence.acquire.sys; plain",
    );
    // The exit block has another predecessor.
    check(
        Loops,
        "0: -> 1 2\n1: ld.acquire.gpu x -> 1 2\n2: plain",
        "0: -> 1 2\n1: ld.relaxed.gpu x -> 1 3\n2: plain\n3 (1 2): fence.acquire.gpu -> 2",
    );
    // An update of the loop that orders nothing.
    check(
        Loops,
        "0: -> 1\n1: ld.acquire.gpu x -> 1 2\n2: cas.relaxed/relaxed.gpu x ?3 -> 1 3\n3: plain",
        "0: -> 1\n1: ld.relaxed.gpu x -> 1 2\n2: cas.relaxed/relaxed.gpu x ?3 -> 1 3\n3: fence.acquire.gpu; plain",
    );
}

#[test]
fn a_loop_that_waits_within_one_that_works() {
    let before = "0: -> 1\n1: plain -> 2\n2: ld.acquire.gpu x -> 2 3\n3: plain -> 1 4\n4: plain";
    check(
        Rewrite::Loops,
        before,
        &before.replace("ld.acquire", "ld.relaxed").replace("3: plain", "3: fence.acquire.gpu; plain"),
    );
}

/// A thread leaves the loop by one of its exits.
#[test]
fn a_loop_that_gives_up_acquires_on_each_way_out() {
    let before = "0: -> 1\n1: ld.acquire.gpu x -> 2 3\n2: -> 1 4\n3: plain\n4: plain";
    let after =
        "0: -> 1\n1: ld.relaxed.gpu x -> 2 3\n2: -> 1 4\n3: fence.acquire.gpu; plain\n4: fence.acquire.gpu; plain";
    check(Rewrite::Loops, before, after);
}

#[test]
fn a_loop_that_does_more_stays() {
    use Rewrite::Loops;
    check_missed(Loops, "0: -> 1\n1: ld.acquire.sys x; plain -> 1 2\n2: plain", "also accesses other memory");
    check_missed(Loops, "0: -> 1\n1: ld.acquire.sys x; ld.relaxed.sys y -> 1 2\n2: plain", "more than one location");
    check_missed(Loops, "0: -> 1\n1: ld.acquire.sys x; call g -> 1 2\n2: plain", "the call to `g`");
    // The write of an update comes after its acquire, and the read before its release.
    for update in
        ["cas.acquire/relaxed.gpu x ?2", "cas.release/relaxed.gpu x", "cas.relaxed/acquire.gpu x", "xchg.acquire.gpu x"]
    {
        check_missed(Loops, &format!("0: -> 1\n1: {update} -> 1 2\n2: plain"), "an update");
    }
    // The fence of the second iteration orders the read of the first.
    for text in [
        "0: plain -> 1\n1: ld.seq_cst.gpu x -> 1 2\n2: plain",
        "0: plain -> 1\n1: cas.acquire/seq_cst.gpu x ?2 -> 1 2\n2: plain",
        "0: -> 1\n1: ld.relaxed.gpu x; ld.seq_cst.gpu x -> 1 2\n2: plain",
    ] {
        check_missed(Loops, text, "sequentially consistent");
    }
    check_missed(Loops, "0: -> 1\n1: ld.acquire.sys x; fence.acquire.cta -> 1 2\n2: plain", "a fence");
    // Without one-sided fences, the first iteration would cost more.
    let text = "0: -> 1\n1: ld.acquire.sys x -> 1 2\n2: plain";
    check_on("sm_90", Loops, text, text);
}

#[test]
fn accesses_that_a_fence_orders_are_not_ordered_again() {
    use Rewrite::Fences;
    check(
        Fences,
        "0: plain; fence.release.gpu; fence.release.gpu; st.relaxed.gpu x",
        "0: plain; fence.release.gpu; st.relaxed.gpu x",
    );
    check(
        Fences,
        "0: plain; fence.release.gpu; st.release.gpu x; plain",
        "0: plain; fence.release.gpu; st.relaxed.gpu x; plain",
    );
    check(Fences, "0: ld.acquire.gpu x; fence.acquire.sys; plain", "0: ld.relaxed.gpu x; fence.acquire.sys; plain");
    check(Fences, "0: fence.seq_cst.sys; ld.seq_cst.gpu x", "0: fence.seq_cst.sys; ld.acquire.gpu x");
    check(Fences, "0: fence.seq_cst.gpu; fence.seq_cst.sys", "0: fence.seq_cst.sys");
    check_on(
        "sm_80",
        Fences,
        "0: ld.relaxed.gpu x; fence.acquire.gpu; fence.release.gpu; st.relaxed.gpu x",
        "0: ld.relaxed.gpu x; fence.acq_rel.gpu; st.relaxed.gpu x",
    );
    let kept = [
        "0: plain; fence.release.gpu; st.relaxed.gpu x; plain; fence.release.gpu; st.relaxed.gpu x",
        "0: ld.acquire.gpu x; plain; fence.release.gpu; st.relaxed.gpu y",
        "0: fence.seq_cst.gpu; ld.seq_cst.sys x",
        "0: st.seq_cst.sys x; fence.seq_cst.cta; ld.seq_cst.sys s",
        "0: fence.acq_rel.sys; ld.seq_cst.gpu x",
        "0: fence.seq_cst.gpu; plain; fence.seq_cst.gpu",
        "0: plain; fence.release.gpu; add.acq_rel.gpu x; plain",
        "0: plain; add.acq_rel.gpu x; fence.acquire.gpu; plain",
        "0: plain; fence.release.cta; xchg.release.cta s; plain",
        "0: xchg.acquire.cta s; fence.acquire.cta; plain",
        "0: plain; fence.release.gpu; barrier; fence.release.gpu; st.relaxed.gpu x",
        "0: -> 1 2\n1: plain; fence.release.gpu -> 3\n2: plain -> 3\n3: st.release.gpu x",
    ];
    kept.into_iter().for_each(|text| check(Fences, text, text));
}

/// If a fence cannot be acquire-only, it costs more than acquiring reads.
#[test]
fn reads_acquire_instead_of_a_fence() {
    let check = |before: &str, after: &str| check_on("sm_80", Rewrite::Fences, before, after);
    check("0: ld.relaxed.gpu x; fence.acquire.gpu; plain", "0: ld.acquire.gpu x; plain");
    check(
        "0: ld.relaxed.gpu x -> 1 2\n1: ld.relaxed.gpu y -> 2\n2: fence.acq_rel.sys; plain",
        "0: ld.acquire.gpu x -> 1 2\n1: ld.acquire.gpu y -> 2\n2: plain",
    );
    // A read in a loop costs more than a fence after the loop; so do four loads.
    for text in [
        "0: -> 1\n1: ld.relaxed.gpu x -> 1 2\n2: fence.acquire.gpu; plain",
        "0: ld.relaxed.gpu x; ld.relaxed.gpu y; ld.relaxed.gpu z; ld.relaxed.gpu v; fence.acquire.gpu; plain",
        "0: ld.relaxed.gpu x; fence.acq_rel.gpu; st.relaxed.gpu y",
        // A reduction has no form that acquires.
        "0: red.relaxed.gpu x; fence.acquire.gpu; plain",
        "0: ld.relaxed.gpu x; fence.acq_rel.gpu; barrier",
        "0: barrier; ld.relaxed.gpu x; fence.acquire.gpu; plain",
        "device\n0: ld.relaxed.gpu x; fence.acquire.gpu; plain",
    ] {
        check(text, text);
    }
}

/// A fence after a loop costs more than an acquire in the loop, unless it replaces another ordering.
#[test]
fn a_fence_after_a_loop_replaces_another_ordering() {
    let check = |before: &str, after: &str| {
        let (mut found, names) = function(before);
        optimize(&mut found, &OptimizeOptions::new(Policy::default(), target("sm_80")));
        assert_eq!(print(&found, &names), format!("{after}\n"), "{before}");
    };
    check(
        "0: plain -> 1\n1: ld.acquire.gpu x -> 1 2\n2: st.release.gpu y; plain",
        "0: plain -> 1\n1: ld.relaxed.gpu x -> 1 2\n2: fence.acq_rel.gpu; st.relaxed.gpu y; plain",
    );
    check(
        "0: plain -> 1\n1: ld.acquire.gpu x -> 1 2\n2: fence.acq_rel.gpu; st.relaxed.gpu y; st.relaxed.gpu z",
        "0: plain -> 1\n1: ld.relaxed.gpu x -> 1 2\n2: fence.acq_rel.gpu; st.relaxed.gpu y; st.relaxed.gpu z",
    );
    let stays = "0: plain -> 1\n1: ld.acquire.gpu x -> 1 2\n2: plain; st.release.gpu y; plain";
    check(stays, stays);
}

/// Checks the bound for both limits on first iterations, and that the optimizer does not go below it.
#[track_caller]
fn check_least(features: &str, text: &str, no_dearer: u64, any: u64) {
    let (mut found, _) = function(text);
    let options = OptimizeOptions::new(Policy::default(), target(features));
    let least = |first| least(&found, first, &options, &mut Budget::default()).expect("measured");
    let bounds = [FirstRound::NoDearer, FirstRound::Any].map(least);
    assert_eq!(bounds, [no_dearer, any].map(|weight| Least { weight, reached: true }), "{text}");
    optimize(&mut found, &options);
    assert!(weights(&found, &options).iter().sum::<u64>() >= any, "{text}");
}

#[test]
fn no_placement_weighs_less() {
    // Each CCTL weighs 4, a MEMBAR with its ERRBAR 9, and both together 13; eight times as much in a loop.
    check_least("sm_80", "0: ld.acquire.gpu x; plain", 4, 4);
    check_least("sm_80", "0: plain; st.release.gpu x", 9, 9);
    check_least("sm_80", "0: plain -> 1\n1: ld.acquire.gpu x -> 1 2\n2: plain", 32, 13);
    check_least("sm_90+ptx86", "0: plain -> 1\n1: ld.acquire.gpu x -> 1 2\n2: plain", 4, 4);
    check_least("sm_80", "0: plain -> 1\n1: ld.acquire.gpu x -> 1 2\n2: st.release.gpu y", 13, 13);
    check_least("sm_80", "0: ld.relaxed.gpu x; fence.acquire.gpu; plain", 4, 4);
    // Orderings without an access before or after them.
    check_least("sm_80", "0: fence.seq_cst.gpu; st.relaxed.gpu x", 9, 9);
    check_least("sm_80", "0: ld.acquire.cluster c", 0, 0);
    check_least("sm_80", "0: plain; fence.acq_rel.sys; plain", 0, 0);
    // Both orderings must lie between the accesses, as well as the sequentially consistent fence.
    check_least("sm_80", "0: ld.acquire.gpu x; plain; st.release.gpu x", 13, 13);
    check_least("sm_80", "0: st.relaxed.gpu x; fence.seq_cst.gpu; ld.relaxed.gpu y", 13, 13);
    check_least("sm_80", "0: ld.relaxed.gpu y; fence.seq_cst.gpu; st.relaxed.gpu x", 13, 13);
    // The number of iterations of a loop is not observable.
    check_least("sm_90+ptx86", "0: st.relaxed.gpu y -> 1\n1: ld.seq_cst.gpu x -> 1 2\n2: plain", 18, 18);
    // An update acquires and releases by itself; a failing exchange acquires for the accesses on the failure path.
    check_least("sm_80", "0: plain; add.acq_rel.gpu x; plain", 13, 13);
    check_least("sm_80", "0: plain -> 1\n1: cas.acquire/acquire.gpu x ?2 -> 2 3\n2: plain\n3: st.relaxed.gpu x", 4, 4);
    check_least("sm_80", "0: plain -> 1\n1: cas.acquire/relaxed.gpu x ?2 -> 2 3\n2: \n3: plain", 4, 4);
}

/// A search ends with its budget, also within the walks of its first placement.
#[test]
fn a_search_takes_the_steps_of_its_budget() {
    let (function, _) = function(&format!("0: {}plain", "ld.relaxed.gpu x; plain; ".repeat(100)));
    let options = OptimizeOptions::new(Policy::default(), target("sm_80"));
    let is_reached =
        |steps| least(&function, FirstRound::Any, &options, &mut Budget { steps }).expect("measured").reached;
    assert_eq!([1_000, 1_000_000].map(is_reached), [false, true]);
}

#[test]
fn unobserved_accesses_are_not_ordered() {
    use Rewrite::Unseen;
    check(Unseen, "0: plain; ld.acquire.cluster c", "0: plain; ld.relaxed.cluster c");
    check(Unseen, "0: st.release.cluster c; plain", "0: st.relaxed.cluster c; plain");
    check(Unseen, "0: plain; st.relaxed.sys x; fence.release.sys; plain", "0: plain; st.relaxed.sys x; plain");
    check(Unseen, "0: plain; fence.acquire.sys; ld.relaxed.gpu x; plain", "0: plain; ld.relaxed.gpu x; plain");
    check(Unseen, "one thread\n0: plain; add.acq_rel.cta x; plain", "0: plain; add.relaxed.cta x; plain");
    check(Unseen, "one thread\n0: plain; add.seq_cst.cta x; barrier", "0: plain; add.relaxed.cta x; barrier");
    let kept = [
        "0: plain; ld.acquire.gpu x",
        "0: st.release.sys x",
        "device\n0: plain; ld.acquire.cluster c",
        "0: ld.acquire.cluster c; call g",
        "one thread\n0: plain; ld.seq_cst.sys s; plain",
        "one thread\n0: call g; fence.acq_rel.cta; plain; call g",
        "one thread\n0: plain; ld.acquire.cta s; plain; call g",
        "one thread\ndevice\n0: plain; ld.acquire.cta s; plain",
    ];
    for text in kept {
        check(Unseen, text, text);
    }
}

#[test]
fn a_loop_need_not_write_the_present_value() {
    use Rewrite::Writes;
    for (order, scope) in [("relaxed", "gpu"), ("acquire", "sys")] {
        let text = |end: &str| format!("0: plain; barrier; fmax.{order}.{scope} x{end}");
        check(Writes, &text(""), &text(" may skip write"));
    }
    // The operation passes on the release of the fence, releases itself, or is one instruction.
    for text in [
        "0: fence.release.gpu; fmax.relaxed.gpu x",
        "device\n0: fmax.relaxed.gpu x",
        "0: call g; fmax.relaxed.gpu x",
        "0: fmax.acq_rel.gpu x",
        "0: max.relaxed.gpu x",
    ] {
        check(Writes, text, text);
    }
    check_missed(Writes, "0: call g; fmax.relaxed.gpu x", "fence that releases");
}

/// The result of this rewrite, with or without a condition.
fn done(text: &str, rewrite: Rewrite, without: Option<Condition>) -> String {
    let (mut found, names) = function(text);
    let options = OptimizeOptions {
        rewrites: Rewrites::NONE.with(rewrite),
        ..OptimizeOptions::new(Policy::default(), target("sm_90+ptx86"))
    };
    optimize(&mut found, &OptimizeOptions { without, ..options });
    print(&found, &names)
}

/// The mapping check shows that each condition is needed. This test has one function for each condition that prevents a
/// change.
#[test]
fn every_condition_keeps_something() {
    use Rewrite::{Fences, Loops, Scope, Unseen};
    let keeps = |condition: Condition| {
        Some(match condition {
            Condition::Reach => (Scope, "0: ld.acquire.sys c"),
            Condition::Within => (Scope, "0: ld.relaxed.gpu x; fence.seq_cst.sys; st.relaxed.gpu y"),
            Condition::Carriers => (Scope, "0: plain; fence.release.gpu; st.relaxed.gpu x"),
            Condition::SeqCstFence => (Scope, "0: plain; fence.seq_cst.sys; st.relaxed.sys s"),
            Condition::SeqCstOperation => (Scope, "0: add.seq_cst.sys s"),
            Condition::OneLocation => (Loops, "0: -> 1\n1: ld.acquire.sys x; ld.relaxed.sys y -> 1 2\n2: plain"),
            Condition::OnlyAtomics => (Loops, "0: -> 1\n1: ld.acquire.sys x; plain -> 1 2\n2: plain"),
            Condition::NoSeqCst => (Loops, "0: -> 1\n1: ld.seq_cst.gpu x -> 1 2\n2: plain"),
            // Dropping these conditions does not enable a rewrite; it makes an applied rewrite wrong.
            Condition::EveryExit | Condition::EveryRead | Condition::WidestScope => return None,
            Condition::NoReadBetween => (Fences, "0: fence.acquire.gpu; ld.relaxed.gpu x; fence.acquire.gpu; plain"),
            Condition::NoWriteBetween => {
                (Fences, "0: plain; fence.release.gpu; st.relaxed.gpu x; plain; fence.release.gpu; st.relaxed.gpu y")
            }
            Condition::NoAccessBetween => (Fences, "0: fence.seq_cst.gpu; plain; fence.seq_cst.gpu"),
            Condition::NoOtherHalfBetween => {
                (Fences, "0: plain; ld.acquire.gpu x; fence.release.gpu; fence.acquire.gpu; st.relaxed.gpu y")
            }
            Condition::FenceScope => (Fences, "0: fence.seq_cst.gpu; ld.seq_cst.sys x"),
            Condition::EveryPath => {
                (Fences, "0: -> 1 2\n1: plain; fence.release.gpu -> 3\n2: plain -> 3\n3: st.release.gpu x")
            }
            Condition::SeqCstStays => (Fences, "0: fence.acq_rel.sys; ld.seq_cst.gpu x"),
            Condition::OneGrid => (Unseen, "0: plain; ld.acquire.gpu x"),
            Condition::Kernel => (Unseen, "device\n0: plain; ld.acquire.cluster c"),
            Condition::OneUpdate => (Fences, "0: plain; fence.release.gpu; add.acq_rel.gpu x; plain"),
            Condition::NothingUnknown => (Unseen, "one thread\n0: call g; fence.acq_rel.cta; plain; call g"),
            Condition::NoReleaseFence => (Rewrite::Writes, "0: fence.release.gpu; fmax.relaxed.gpu x"),
            other => panic!("{other} keeps nothing"),
        })
    };
    for condition in Condition::iter() {
        let Some((rewrite, text)) = keeps(condition) else { continue };
        let with = done(text, rewrite, None);
        assert_ne!(done(text, rewrite, Some(condition)), with, "{condition}: {text}");
        assert_eq!(with, print(&function(text).0, &function(text).1), "{condition}: {text}");
    }
}

/// Operations without a measurement, volatile accesses and unreachable blocks stay.
#[test]
fn odd_graphs_do_no_harm() {
    for rewrite in Rewrite::iter() {
        for text in ["0:", "0: -> 0", "0: ld.acquire.sys x -> 0", "0: plain -> 1\n1: ld.relaxed.sys x -> 1 2\n2: -> 2"]
        {
            check(rewrite, text, text);
        }
    }
}
