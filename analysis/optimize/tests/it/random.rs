//! Random functions: for every graph, the optimizer removes only fences, never increases the cost, never goes below the
//! lower bound, and has nothing left to do in a second run.

use proptest::{collection::vec, prelude::*, sample::select};
use ptx_isa::{Code, Line, Module};
use ptx_lowering::Policy;
use ptx_optimize::text::{self, Launch, rewrite};
use ptx_optimize::{Budget, Event, FirstRound, Function, OptimizeOptions, Rewrite, Rewrites, least, optimize, weights};
use strum::IntoEnumIterator;

use crate::text::{function, print, target};

const EVENTS: [&str; 17] = [
    "plain",
    "barrier",
    "call g",
    "ld.relaxed.gpu x",
    "ld.acquire.sys x",
    "ld.seq_cst.gpu x",
    "ld.acquire.sys s",
    "st.release.gpu x",
    "red.release.gpu x",
    "st.relaxed.sys y",
    "cas.acq_rel/relaxed.gpu x",
    "cas.acquire/acquire.sys c",
    "xchg.acquire.gpu x",
    "fence.acquire.gpu",
    "fence.release.sys",
    "fence.acq_rel.gpu",
    "fence.seq_cst.sys",
];

/// The text of a few blocks with arbitrary edges among them.
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

/// The numbers of all events except fences, by block.
fn accesses(function: &Function) -> Vec<Vec<Option<usize>>> {
    let is_access = |event: &&Event| event.atomic().is_none_or(|atomic| !atomic.is_fence());
    let of_block = |block: &ptx_optimize::Block| block.events.iter().filter(is_access).map(|event| event.id).collect();
    function.blocks.iter().map(of_block).filter(|events: &Vec<_>| !events.is_empty()).collect()
}

fn check(text: &str, features: &str, rewrites: Rewrites) -> Result<(), TestCaseError> {
    let (mut found, names) = function(text);
    let before = found.clone();
    let options = OptimizeOptions { rewrites, ..OptimizeOptions::new(Policy::default(), target(features)) };
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
        let bound = least(&before, FirstRound::Any, &options, &mut Budget::default()).map(|least| least.weight);
        let reached: u64 = weights(&found, &options).iter().sum();
        prop_assert!(bound.is_none_or(|bound| bound <= reached), "{text}: {reached} is below {bound:?}");
    }
    let once = print(&found, &names);
    optimize(&mut found, &options);
    prop_assert_eq!(print(&found, &names), once, "{}", text);
    Ok(())
}

/// Lines of PTX. Some have no indentation, several instructions, or a comment.
const LINES: [&str; 18] = [
    "\tld.relaxed.gpu.global.u32 %r1, [%rd1];",
    "\tld.acquire.gpu.global.u32 %r1, [%rd1];",
    "ld.acquire.gpu.global.u32 %r2, [%rd2+4];",
    "\tst.release.gpu.global.u32 [%rd1], %r2;",
    "\tst.global.u32 [%rd2], %r2;",
    "\tatom.acq_rel.gpu.global.add.u32 %r1, [%rd1], 1;",
    "\tatom.global.cas.b32 %r1, [%rd1], %r2, %r3; // a comment",
    "\tred.relaxed.gpu.global.add.u32 [%rd1], 1;",
    "\tred.release.gpu.global.or.b32 [%rd2], %r1;",
    "\tfence.acq_rel.gpu;",
    "fence.release.gpu;",
    "\tfence.acquire.gpu; fence.acq_rel.sys;",
    "\t@%p1 fence.sc.gpu;",
    "\t/* first */ fence.acq_rel.cta;",
    "\tsetp.eq.u32 %p1, %r1, 0; @%p1 bra L0;",
    "\t@%p1 bra L1;",
    "\t@!%p1 bra L0;",
    "\tbar.sync 0;",
];

/// A kernel of some of these lines, with two labels.
fn kernel() -> impl Strategy<Value = String> {
    (vec(select(&LINES[..]), 0..8), vec(select(&LINES[..]), 0..8), vec(select(&LINES[..]), 0..8)).prop_map(
        |(first, second, third)| {
            let body = [first.join("\n"), "L0:".to_owned(), second.join("\n"), "L1:".to_owned(), third.join("\n")].join("\n");
            format!(
                ".version 8.6\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u64 in)\n{{\n.reg .pred %p<4>;\n\
                 .reg .b32 %r<4>;\n.reg .b64 %rd<4>;\n{body}\n\tret;\n}}\n"
            )
        },
    )
}

/// The instructions of a text, except fences and branches, without their orderings.
fn rest(text: &str) -> Vec<String> {
    let module: Module = text.parse().unwrap_or_else(|errors| panic!("{errors}\n{text}"));
    let is_instruction = |line: &&Line| matches!(line.code, Code::Instruction { .. } | Code::Other(_));
    let lines = module.functions().flat_map(|function| function.body.iter().flatten()).filter(is_instruction);
    let words = |text: &str| {
        let ordering = ["relaxed", "acquire", "release", "acq_rel", "cta", "cluster", "gpu", "sys"];
        text.split('.').filter(|word| !ordering.contains(word)).collect::<Vec<_>>().join(".")
    };
    lines.map(|line| words(&line.text)).filter(|text| !text.contains("fence") && !text.contains("bra ")).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn all_rewrites_together(text in text(), features in select(vec!["sm_70", "sm_90", "sm_90+ptx86"])) {
        check(&text, features, Rewrites::all())?;
    }

    #[test]
    fn each_text_is_ptx_again(text in kernel(), polls in any::<bool>(), alone in any::<bool>()) {
        let launch = Launch { alone, ..Launch::default() };
        let options = text::TextOptions { polls, launch, ..text::TextOptions::default() };
        let rewritten = rewrite(&text, &options).expect("PTX");
        if !polls {
            prop_assert_eq!(rest(&rewritten.text), rest(&text), "{}", rewritten.text);
            prop_assert_eq!(rewrite(&rewritten.text, &options).expect("PTX").text, rewritten.text.clone(), "{}", text);
        }
        let fault = rewritten.said.iter().find(|said| said.message.contains("found a fault"));
        prop_assert_eq!(fault, None, "{}", text);
    }

    #[test]
    fn each_rewrite(text in text(), rewrite in select(Rewrite::iter().collect::<Vec<_>>())) {
        check(&text, "sm_90+ptx86", Rewrites::NONE.with(rewrite))?;
    }
}
