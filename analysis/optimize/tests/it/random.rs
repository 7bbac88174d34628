//! Random functions: whatever their graph is, nothing is lost but fences, nothing gets dearer, nor cheaper than the bound, and a second
//! run has nothing left to do.

use proptest::{collection::vec, prelude::*, sample::select};
use ptx_lowering::Policy;
use ptx_optimize::{Event, FirstRound, Function, Options, Rewrite, Rewrites, least, optimize, weights};
use strum::IntoEnumIterator;

use crate::text::{function, print, target};

const EVENTS: [&str; 16] = [
    "plain",
    "barrier",
    "call g",
    "ld.relaxed.gpu x",
    "ld.acquire.sys x",
    "ld.seq_cst.gpu x",
    "ld.acquire.sys s",
    "st.release.gpu x",
    "st.relaxed.sys y",
    "cas.acq_rel/relaxed.gpu x",
    "cas.acquire/acquire.sys c",
    "xchg.acquire.gpu x",
    "fence.acquire.gpu",
    "fence.release.sys",
    "fence.acq_rel.gpu",
    "fence.seq_cst.sys",
];

/// A text of some blocks, with any edges among them.
fn text() -> impl Strategy<Value = String> {
    let block = (vec(select(&EVENTS[..]), 0..4), vec(0..6usize, 0..3));
    (any::<bool>(), vec(block, 1..7)).prop_map(|(kernel, blocks)| {
        let count = blocks.len();
        let line = |(index, (events, next)): (usize, (Vec<&str>, Vec<usize>))| {
            let next = next.into_iter().map(|to| format!(" {}", to % count)).collect::<String>();
            format!("{index}: {} ->{next}\n", events.join("; "))
        };
        let blocks = blocks.into_iter().enumerate().map(line).collect::<String>();
        if kernel { blocks } else { "device\n".to_owned() + &blocks }
    })
}

/// The numbers of all that is no fence, by block.
fn accesses(function: &Function) -> Vec<Vec<Option<usize>>> {
    let is_access = |event: &&Event| event.atomic().is_none_or(|atomic| !atomic.is_fence());
    let of_block = |block: &ptx_optimize::Block| block.events.iter().filter(is_access).map(|event| event.id).collect();
    function.blocks.iter().map(of_block).filter(|events: &Vec<_>| !events.is_empty()).collect()
}

fn check(text: &str, features: &str, rewrites: Rewrites) -> Result<(), TestCaseError> {
    let (mut found, names) = function(text);
    let before = found.clone();
    let options = Options { rewrites, ..Options::new(Policy::default(), target(features)) };
    optimize(&mut found, &options);
    prop_assert_eq!(accesses(&found), accesses(&before), "{}", text);
    for (index, block) in found.blocks.iter().enumerate() {
        prop_assert_eq!(block.on_edge.is_some(), index >= before.blocks.len(), "{}", text);
        prop_assert!(block.next.iter().all(|to| *to < found.blocks.len()), "{}", text);
        if let Some((_, to)) = block.on_edge {
            prop_assert_eq!(&block.next, &[to], "{}", text);
            prop_assert!(block.events.iter().all(|event| event.id.is_none()), "{}", text);
        }
    }
    if rewrites == Rewrites::all() {
        let bound = least(&before, FirstRound::Any, &options).map(|least| least.weight);
        let reached: u64 = weights(&found, &options).iter().sum();
        prop_assert!(bound.is_none_or(|bound| bound <= reached), "{text}: {reached} is below {bound:?}");
    }
    let once = print(&found, &names);
    optimize(&mut found, &options);
    prop_assert_eq!(print(&found, &names), once, "{}", text);
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn all_rewrites_together(text in text(), features in select(vec!["sm_70", "sm_90", "sm_90+ptx86"])) {
        check(&text, features, Rewrites::all())?;
    }

    #[test]
    fn each_rewrite(text in text(), rewrite in select(Rewrite::iter().collect::<Vec<_>>())) {
        check(&text, "sm_90+ptx86", Rewrites::NONE.with(rewrite))?;
    }
}
