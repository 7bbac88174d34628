//! The optimizer against the memory models, on a part of the programs; `scripts/verify` checks all of them.

use std::fs;

use libtest_mimic::{Failed, Trial};
use ptx_lowering::{Access, Policy, Strategy, Target, Type, ptx::Space};
use ptx_mapping::{
    conditions::{ConditionEvidence, LeftOut, leave_out},
    optimize::optimized,
    programs::Set,
    verify::{EXPANSIONS, MAXIMUM, Report, verify, verify_these},
};
use ptx_memory_model::source::{
    Races,
    ReleaseSequences::Cpp20,
    Rules,
    read::{Source, sources},
};
use ptx_optimize::{OptimizeOptions, Rewrite};
use strum::IntoEnumIterator;

const RULES: Rules = Rules { sequences: Cpp20, races: Races::Llvm };

/// The sets that exercise rewrites; the number n means that one of n programs is tried.
const SETS: [(Set, usize, &[Rewrite]); 15] = [
    (Set::Three, 200, &[Rewrite::Scope, Rewrite::Unseen]),
    (Set::Four, 40_000, &[Rewrite::Scope, Rewrite::Unseen]),
    (Set::Five, 1_000, &[Rewrite::Scope, Rewrite::Fences, Rewrite::Unseen]),
    (Set::Fences, 600, &[Rewrite::Unseen]),
    (Set::Placements, 200, &[Rewrite::Scope, Rewrite::Unseen]),
    (Set::Waiting, 40, &[Rewrite::Loops, Rewrite::Fences, Rewrite::Unseen]),
    (Set::WaitingPlacements, 1_500, &[Rewrite::Loops, Rewrite::Scope]),
    (Set::Fenced, 300, &[Rewrite::Fences, Rewrite::Scope, Rewrite::Unseen]),
    (Set::FencedPlacements, 3_000, &[Rewrite::Fences, Rewrite::Scope, Rewrite::Unseen]),
    (Set::PassedOn, 2, &[]),
    (Set::Own, 1, &[]),
    (Set::CyclesTwo, 100, &[Rewrite::Scope, Rewrite::Unseen]),
    (Set::CyclesThree, 25_000, &[Rewrite::Scope, Rewrite::Unseen]),
    (Set::CyclesFour, 8_000_000, &[Rewrite::Scope, Rewrite::Unseen]),
    (Set::CyclesMixed, 4_000_000, &[Rewrite::Scope, Rewrite::Loops, Rewrite::Fences, Rewrite::Unseen]),
];

pub fn trials() -> Vec<Trial> {
    let sets = SETS.map(|(set, sample, rewrites)| {
        Trial::test(format!("{set}"), move || {
            check(
                &verify(set, &EXPANSIONS[0].optimized(), RULES, (1, sample * testing::stride(6)))?,
                set.into(),
                rewrites,
            )
        })
    });
    let alone = SETS.map(|(set, sample, _)| {
        Trial::test(format!("{set}, of all threads"), move || {
            check(
                &verify(
                    set,
                    &EXPANSIONS[0].alone(),
                    RULES,
                    (1, if set.is_for_the_optimizer_alone() { 1 } else { 3 * sample } * testing::stride(6)),
                )?,
                set.into(),
                &[],
            )
        })
    });
    let unwritten = Trial::test("unwritten, a maximum", || {
        check(&verify(Set::Unwritten, &MAXIMUM, RULES, (1, 4))?, "unwritten, a maximum", &[Rewrite::Writes])
    });
    let given = testing::shared_trial("the programs of mapping-sources.txt", "litmus/mapping-sources.txt", |path| {
        let sources = sources(&fs::read_to_string(path)?).map_err(|error| error.to_string())?;
        for expansion in &EXPANSIONS {
            check(&verify_these(&sources, &expansion.optimized(), RULES)?, expansion.name, &[])?;
        }
        Ok(())
    });
    let conditions = testing::left_to_all(Trial::test("each condition is there for something", conditions));
    let threads = Trial::test("threads are put together again", threads);
    let trials = sets.into_iter().chain(alone).chain([unwritten, given, conditions, threads]);
    trials.collect()
}

/// Checks that all programs are preserved, and that each of these rewrites applies to some of them.
fn check(report: &Report, name: &str, rewrites: &[Rewrite]) -> Result<(), Failed> {
    println!("{name}: {:?}, {:?}", report.counts, report.rewritten);
    if let Some(found) = report.found.first() {
        return Err(format!("{}:\n{}{}", found.mapping, found.source, found.litmus()).into());
    }
    assert_eq!(report.counts.unknown, 0, "{name}");
    let may_inherit = Set::iter().any(|set| set.is_for_the_optimizer_alone() && name == <&str>::from(set));
    assert!(report.counts.inherited == 0 || may_inherit, "{name}");
    for rewrite in rewrites {
        assert!(report.rewritten.get(rewrite).is_some_and(|programs| *programs > 0), "{name}: {rewrite}");
    }
    Ok(())
}

/// Without a condition, some program is not preserved, unless the model cannot express the condition.
fn conditions() -> Result<(), Failed> {
    let mut shown_by_programs = 0;
    for LeftOut { condition, shown } in leave_out()? {
        match shown {
            ConditionEvidence::By(set, found) => {
                shown_by_programs += 1;
                println!("{condition}: by {set}\n{}{}", found.source, found.litmus());
            }
            ConditionEvidence::Beyond(why) => println!("{condition}: {why}"),
            ConditionEvidence::Nothing { programs } => {
                return Err(format!("{condition}: nothing is wrong without it with {programs} programs").into());
            }
        }
    }
    assert!(shown_by_programs > 10);
    Ok(())
}

/// Checks the result of the optimizer for sm_90 with one-sided fences.
fn becomes(before: &str, after: &str) -> Result<(), Failed> {
    let target = Target::new("sm_90".parse()?, Some("ptx86".parse()?))?;
    let options = OptimizeOptions::new(Policy::from(Strategy::Recommended), target);
    let read = |text: &str| sources(&format!("name: program\n{text}")).map_err(|error| error.to_string());
    let source = read(before)?.remove(0);
    let optimized = optimized(&source.program, Access::new(Space::Global, Type::I32), &options)?;
    let found = Source { program: optimized.program, ..source };
    assert_eq!(found.to_string(), read(after)?.remove(0).to_string(), "{before}");
    Ok(())
}

fn threads() -> Result<(), Failed> {
    let with = |code: &str| {
        format!(
            "P0@0.0: {code}\nP1@1.0: r0=ld.rlx.gpu x; r1=ld.rlx.gpu y\nP2@2.0: st.rlx.gpu x 1; fence.rel.gpu; st.rlx.gpu y 1\n"
        )
    };
    let cases = [
        // The optimizer changes nothing, and guards stay.
        ("r0=ld.acq.gpu y; if r0 == 1 { r1=ld.rlx.gpu x }", "r0=ld.acq.gpu y; if r0 == 1 { r1=ld.rlx.gpu x }"),
        // An acquire after the loop.
        (
            "do { r0=ld.acq.gpu y } while r0 == 0; r1=ld.rlx.gpu x",
            "do { r0=ld.rlx.gpu y } while r0 == 0; fence.acq.gpu; r1=ld.rlx.gpu x",
        ),
        (
            "st.rlx.gpu x 2; do { r1=ld.rlx.gpu y; r0=cas.rel/rlx.gpu y r1 2 } while r0 != r1",
            "st.rlx.gpu x 2; do { r1=ld.rlx.gpu y; r0=cas.rel/rlx.gpu y r1 2 } while r0 != r1",
        ),
        // The fence is on the exit edge of the loop, because another edge leads to the same block.
        (
            "r2=ld.rlx.gpu z; if r2 == 0 { do { r0=ld.acq.gpu y } while r0 == 0 }; r1=ld.rlx.gpu x",
            "r2=ld.rlx.gpu z; if r2 == 0 { do { r0=ld.rlx.gpu y } while r0 == 0; fence.acq.gpu }; r1=ld.rlx.gpu x",
        ),
        // A removed fence.
        (
            "r0=ld.rlx.gpu y; fence.acq.gpu; fence.acq.gpu; r1=ld.rlx.gpu x",
            "r0=ld.rlx.gpu y; fence.acq.gpu; r1=ld.rlx.gpu x",
        ),
        // A location that no other thread accesses.
        ("r0=ld.acq.gpu z; r1=ld.rlx.gpu x", "r0=ld.acq.cta z; r1=ld.rlx.gpu x"),
    ];
    cases.into_iter().try_for_each(|(before, after)| becomes(&with(before), &with(after)))
}
