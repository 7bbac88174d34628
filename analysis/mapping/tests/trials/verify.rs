//! Every strategy against the memory models, on a part of the programs; `scripts/verify` checks all of them.

use std::fs;

use itertools::iproduct;
use libtest_mimic::{Failed, Trial};
use ptx_lowering::{Access, Policy, Strategies, Target, Type, ptx::Space};
use ptx_mapping::{
    Checker, Mapping,
    programs::{self, Set},
    verify::{EXPANSIONS, Report, verify, verify_these},
};
use ptx_memory_model::{
    outcome::{Layout, Limits},
    ptx::{Conventions, search},
    source::{
        Races,
        ReleaseSequences::{self, Cpp11, Cpp20},
        Rules,
        read::sources,
    },
};
use strum::IntoEnumIterator;

pub fn trials() -> Vec<Trial> {
    let sets = Set::iter().filter(|set| !set.is_for_the_optimizer_alone()).map(|set| {
        Trial::test(format!("{set}"), move || {
            let check = |rule| {
                check(&verify(set, &EXPANSIONS[0], by(rule), (1, set.sample() * testing::stride(6)))?, set.into(), rule)
            };
            ReleaseSequences::iter().try_for_each(check)
        })
    });
    let of_rmws = Set::iter().filter(|set| set.has_updates() || set.has_exchanges());
    let pairs = iproduct!(of_rmws, EXPANSIONS.iter().skip(1)).filter(|(set, expansion)| expansion.is_in(*set));
    let expansions = pairs.map(|(set, expansion)| {
        let name = format!("{set}, {}", expansion.name);
        let shard = (1, set.sample() * testing::stride(6));
        Trial::test(name.clone(), move || check(&verify(set, expansion, by(Cpp20), shard)?, &name, Cpp20))
    });
    let given = testing::shared_trial("the programs of mapping-sources.txt", "litmus/mapping-sources.txt", |path| {
        let sources = sources(&fs::read_to_string(path)?).map_err(|error| error.to_string())?;
        for expansion in &EXPANSIONS {
            let name = format!("mapping-sources.txt, {}", expansion.name);
            check(&verify_these(&sources, expansion, by(Cpp20))?, &name, Cpp20)?;
        }
        check(&verify_these(&sources, &EXPANSIONS[0], by(Cpp11))?, "mapping-sources.txt", Cpp11)
    });
    let figure_12 = FIGURE_12.map(|(strategies, kept)| {
        let name = format!("under C++11 {strategies} is {}", if kept { "kept" } else { "not kept" });
        Trial::test(name, move || release_sequences(strategies, kept))
    });
    let loops = [4, 6].map(|number| {
        let expansion = &EXPANSIONS[number];
        let name = format!("release sequences, {}", expansion.name);
        Trial::test(name.clone(), move || {
            // The update of Figure 12, in a loop.
            let text = "name: P\nP0@0.0: st.rlx.gpu x 1; st.rel.gpu y 1\nP1@1.0: r0=rmw.OP.ar.gpu y 7; st.rlx.gpu y 3\n\
                        P2@2.0: r0=ld.acq.gpu y; r1=ld.rlx.gpu x\n";
            let sources = sources(&text.replace("OP", if number == 4 { "inc" } else { "add" }));
            let sources = sources.map_err(|error| error.to_string())?;
            let report = verify_these(&sources, expansion, by(Cpp11))?;
            assert!(report.found.iter().any(|found| found.mapping.starts_with("recommended for sm_90 with PTX 8.6")));
            check(&report, &name, Cpp11)?;
            check(&verify_these(&sources, expansion, by(Cpp20))?, &name, Cpp20)
        })
    });
    let passed_on = Trial::test("the ordering that an update passes on to a narrower scope", passed_on);
    let own = Trial::test("an update orders its own read and write", own);
    let many_fences = Trial::test("fences at the ends of many threads", || {
        let thread = |number| format!("P{number}@{number}.0: rmw.exch.ar.gpu x {}\n", number + 1);
        let text = format!("name: five updates\n{}", (0..5).map(thread).collect::<String>());
        let sources = sources(&text).map_err(|error| error.to_string())?;
        check(&verify_these(&sources, &EXPANSIONS[0], by(Cpp20))?, "five updates", Cpp20)
    });
    let litmus = Trial::test("counterexamples are litmus tests", litmus);
    let trials =
        sets.chain(expansions).chain(figure_12).chain(loops).chain([given, passed_on, own, many_fences, litmus]);
    trials.collect()
}

/// The strategies, and whether they are sound under the release sequences of C++11. The published row of the seq_cst
/// rmw is not, and neither is any sequence that splits an acq_rel rmw. All other rows are sound.
const FIGURE_12: [(&str, bool); 9] = [
    ("proven", true),
    ("recommended", false),
    ("recommended,rmw.seq_cst=proven", true),
    ("proven,rmw.seq_cst=recommended", false),
    ("proven,rmw.seq_cst=fence", false),
    ("proven,rmw.acq_rel=fence-acquire", false),
    ("proven,rmw.acq_rel=fence", false),
    ("proven,rmw.release=fence,rmw.acquire=fence,rmw.relaxed=fence", true),
    ("proven,load.acquire=fence,store.release=fence,load.seq_cst=fence,store.seq_cst=fence", true),
];

fn release_sequences(strategies: &str, kept: bool) -> Result<(), Failed> {
    let target = Target::new("sm_90".parse()?, Some("ptx86".parse()?))?;
    let policy = Policy::from(strategies.parse::<Strategies>()?);
    let mappings = [Mapping::new(policy, target, Access::new(Space::Global, Type::I32), strategies.to_owned())];
    let mut checker = Checker::new(&mappings, by(Cpp11), Limits::default());
    let mut error = None;
    for set in [Set::Two, Set::Accesses] {
        programs::each(set, EXPANSIONS[0].values(), (1, 1), &mut |_, program| {
            error = checker.check(program).err().or(error.take())
        });
    }
    assert_eq!(error, None);
    println!("under C++11, {strategies}: {:?}", checker.counts);
    assert_eq!(checker.counts.unsound == 0, kept);
    Ok(())
}

/// The rules of LLVM with a given definition of release sequences.
fn by(sequences: ReleaseSequences) -> Rules {
    Rules { sequences, races: Races::Llvm }
}

/// Checks that nothing is unsound, except under C++11's release sequences the program of the paper's Figure 12; the
/// strategy `proven` is sound even there.
fn check(report: &Report, name: &str, rule: ReleaseSequences) -> Result<(), Failed> {
    println!("{name}, {rule}: {:?}, {} mappings not kept", report.counts, report.found.len());
    for found in &report.found {
        let continues = rule == Cpp11 && !found.mapping.starts_with("proven ");
        if !continues {
            return Err(format!("{}:\n{}{}", found.mapping, found.source, found.litmus()).into());
        }
    }
    assert_eq!(report.counts.unknown, 0, "{name}");
    // Only operations on the word around a value have a different size from its loads and stores.
    assert!(report.counts.assumed == 0 || name.contains("word around"), "{name}: {}", report.counts.assumed);
    Ok(())
}

/// An update also passes on the values that it acquires to a fence of a narrower scope that excludes the first
/// releaser. A split update does not: neither if the ABI's rows split it, nor if the target has no orderings on
/// accesses.
fn passed_on() -> Result<(), Failed> {
    let text = |update: &str| {
        format!(
            "name: P\nP0@0.0: st.rlx.sys y 2; fence.sc.sys; st.rlx.sys x 3\nP1@1.0: r0=rmw.exch.{update}.sys x 4\n\
             P2@1.0: r0=ld.rlx.sys x; fence.acq.cta; st.rlx.sys y 1\n"
        )
    };
    let splits = |mapping: &str| mapping.contains("sm_60") || mapping.starts_with("fence");
    for update in ["ar", "sc"] {
        // The published row of a seq_cst update only acquires after its fence.
        let kept = |mapping: &str| !splits(mapping) && (update == "ar" || mapping.starts_with("proven"));
        let sources = sources(&text(update)).map_err(|error| error.to_string())?;
        let report = verify_these(&sources, &EXPANSIONS[0], by(Cpp20))?;
        for mapping in EXPANSIONS[0].mappings() {
            let found = report.found.iter().any(|found| found.mapping == mapping.name);
            assert_eq!(!found, kept(&mapping.name), "{update}: {}", mapping.name);
        }
    }
    Ok(())
}

/// The strategies that preserve each program, for the targets with the memory model. The model represents an update as
/// a read event and a write event, so that a fence orders neither with the update itself.
#[rustfmt::skip]
const OWN: [(&str, &[&str]); 4] = [
    ("P0@0.0: r0=rmw.exch.rel.gpu x 1\nP1@1.0: r1=ld.acq.gpu x; if r1 == 1 { st.na x 2 }",   &["proven", "recommended", "fence-acquire", "auto"]),
    ("P0@0.0: r0=rmw.exch.sc.gpu x 1\nP1@1.0: r1=ld.acq.gpu x; if r1 == 1 { st.na x 2 }",    &["proven"]),
    ("P0@0.0: r0=ld.na x; st.rel.gpu x 1\nP1@1.0: r1=cas.acq/rlx.gpu x 1 2",                 &["proven", "recommended", "fence-acquire", "auto"]),
    ("P0@0.0: r0=ld.na x; st.rel.gpu x 1\nP1@1.0: r1=cas.sc/sc.gpu x 1 2",                   &["proven", "recommended", "fence-acquire", "auto"]),
];

/// A program accesses one location by an update and plainly: a strategy preserves it if the update itself has the
/// ordering.
fn own() -> Result<(), Failed> {
    for (text, kept) in OWN {
        let sources = sources(&format!("name: P\n{text}\n")).map_err(|error| error.to_string())?;
        let report = verify_these(&sources, &EXPANSIONS[0], by(Cpp20))?;
        let mappings = EXPANSIONS[0].mappings();
        let names = mappings.iter().map(|mapping| mapping.name.as_str()).filter(|name| !name.contains("sm_60"));
        for name in names {
            let strategy = name.split(' ').next().unwrap_or_default();
            let found = report.found.iter().any(|found| found.mapping == name);
            assert_eq!(!found, kept.contains(&strategy), "{name}:\n{text}");
        }
    }
    Ok(())
}

/// Checks that a counterexample, printed and read again, has the stated outcome in PTX but not in its source.
fn litmus() -> Result<(), Failed> {
    let report = verify(Set::Accesses, &EXPANSIONS[0], by(Cpp11), (1, 7))?;
    assert!(!report.found.is_empty());
    for found in report.found {
        let litmus = ptx_memory_model::litmus::Litmus::read(&found.litmus().to_string()).map_err(|e| e.to_string())?;
        let outcomes = search::outcomes(&litmus.program, Conventions::MANUAL, Limits::default());
        assert_eq!(outcomes.holds(&litmus.condition, &Layout::new(&litmus.program)), Some(true), "{litmus}");
        let again = sources(&found.source.to_string()).map_err(|error| error.to_string())?;
        let again = verify_these(&again, &EXPANSIONS[0], by(Cpp11))?;
        assert!(again.found.iter().any(|other| other.mapping == found.mapping), "{}", found.source);
        assert_eq!(verify_these(&[found.source], &EXPANSIONS[0], by(Cpp20))?.found.len(), 0);
    }
    Ok(())
}
