//! Asynchronous operations: the canonical patterns with each of their single deletions, what each ambiguity decides, and the
//! manual's own examples.

use std::{collections::BTreeSet, fs, path::Path};

use ptx_memory_model::{
    asynchronous::{Asynchronous, MbarrierOperation},
    litmus::{Litmus, instruction},
    outcome::{Layout, Limits},
    program::Instruction,
    ptx::{
        Conventions,
        race::Missing,
        readings::{Ambiguity, Reading, Readings},
        search,
    },
    unfold::Limit,
};
use strum::IntoEnumIterator;

/// What is said of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    /// It has no data race.
    Ordered,
    /// It has one.
    Races,
    /// A thread waits for what never comes: nothing orders what would be behind it.
    Hangs,
}
use Verdict::{Hangs, Ordered, Races};

/// A file of `litmus/async`, the instruction that is left out of it (its thread, and how it begins), and the verdicts with the strict
/// readings and with the default ones.
#[rustfmt::skip]
const PATTERNS: [(&str, &str, Verdict, Verdict); 97] = [
    ("mma-mma", "", Ordered, Ordered),
    ("mma-mma-shape", "", Races, Races),
    ("cp-mma", "", Ordered, Ordered),
    ("mma-cp", "", Races, Ordered),
    ("st-ld", "", Ordered, Ordered),
    ("st-ld", "P0 tcgen05.wait::st", Races, Races),
    ("mma-commit-ld", "", Ordered, Ordered),
    ("mma-commit-ld", "P0 tcgen05.commit", Hangs, Hangs),
    ("mma-commit-ld", "P0 mbarrier.try_wait", Races, Races),
    ("mma-commit-ld", "P0 tcgen05.fence::after", Races, Ordered),
    ("cp-to-mma", "", Ordered, Ordered),
    ("cp-to-mma", "P0 tcgen05.fence::before", Races, Races),
    ("cp-to-mma", "P0 mbarrier.arrive", Hangs, Hangs),
    ("cp-to-mma", "P1 mbarrier.try_wait", Races, Races),
    ("cp-to-mma", "P1 tcgen05.fence::after", Races, Ordered),
    ("ld-to-mma", "", Ordered, Ordered),
    ("ld-to-mma", "P0 tcgen05.wait::ld", Races, Races),
    ("ld-to-mma", "P0 tcgen05.fence::before", Ordered, Ordered),
    ("ld-to-mma", "P0 mbarrier.arrive", Hangs, Hangs),
    ("ld-to-mma", "P1 mbarrier.try_wait", Races, Races),
    ("ld-to-mma", "P1 tcgen05.fence::after", Races, Ordered),
    ("mma-to-ld", "", Ordered, Ordered),
    ("mma-to-ld", "P0 tcgen05.commit", Hangs, Hangs),
    ("mma-to-ld", "P1 mbarrier.try_wait", Races, Races),
    ("mma-to-ld", "P1 tcgen05.fence::after", Races, Ordered),
    ("composed", "", Ordered, Ordered),
    ("composed", "P0 tcgen05.commit", Hangs, Hangs),
    ("composed", "P0 mbarrier.try_wait", Races, Races),
    ("composed", "P0 tcgen05.fence::after", Ordered, Ordered),
    ("composed", "P0 tcgen05.fence::before", Ordered, Ordered),
    ("composed", "P0 mbarrier.arrive", Hangs, Hangs),
    ("composed", "P1 mbarrier.try_wait", Races, Races),
    ("composed", "P1 tcgen05.fence::after", Races, Ordered),
    ("st-to-mma", "", Ordered, Ordered),
    ("st-to-mma", "P0 tcgen05.wait::st", Races, Races),
    ("st-to-mma", "P0 tcgen05.fence::before", Ordered, Ordered),
    ("st-to-mma", "P0 mbarrier.arrive", Hangs, Hangs),
    ("st-to-mma", "P1 mbarrier.try_wait", Races, Races),
    ("st-to-mma", "P1 tcgen05.fence::after", Races, Ordered),
    ("ld-to-mma-release", "", Races, Ordered),
    ("ld-to-mma-release", "P0 tcgen05.wait::ld", Races, Races),
    ("ld-to-mma-release", "P0 mbarrier.arrive", Hangs, Hangs),
    ("ld-to-mma-release", "P1 mbarrier.try_wait", Races, Races),
    ("mma-to-ld-acquire", "", Races, Ordered),
    ("mma-to-ld-acquire", "P0 tcgen05.commit", Hangs, Hangs),
    ("mma-to-ld-acquire", "P1 mbarrier.try_wait", Races, Races),
    ("ld-dealloc", "", Ordered, Ordered),
    ("ld-dealloc", "P0 tcgen05.wait::ld", Races, Races),
    ("mma-dealloc", "", Ordered, Ordered),
    ("mma-dealloc", "P0 tcgen05.commit", Hangs, Hangs),
    ("mma-dealloc", "P0 mbarrier.try_wait", Races, Races),
    ("mma-dealloc", "P0 tcgen05.fence::after", Races, Ordered),
    ("mma-dealloc", "P0 tcgen05.wait::ld", Races, Races),
    ("ld-to-dealloc", "", Ordered, Ordered),
    ("ld-to-dealloc", "P0 tcgen05.wait::ld", Races, Races),
    ("ld-to-dealloc", "P0 tcgen05.fence::before", Ordered, Ordered),
    ("ld-to-dealloc", "P0 bar.cta", Races, Races),
    ("ld-to-dealloc", "P1 bar.cta", Races, Races),
    ("ld-to-dealloc", "P1 tcgen05.fence::after", Ordered, Ordered),
    ("st.shared-to-mma", "", Ordered, Ordered),
    ("st.shared-to-mma", "P0 fence.proxy.async", Races, Races),
    ("st.shared-to-mma", "P0 mbarrier.arrive", Hangs, Hangs),
    ("st.shared-to-mma", "P1 mbarrier.try_wait", Races, Races),
    ("st.shared-to-mma", "P1 tcgen05.fence::after", Races, Ordered),
    ("st.shared-mma", "", Ordered, Ordered),
    ("st.shared-mma", "P0 fence.proxy.async", Races, Races),
    ("st.shared-mma", "P0 tcgen05.fence::after", Races, Ordered),
    ("bulk-to-mma", "", Ordered, Ordered),
    ("bulk-to-mma", "P1 mbarrier.try_wait", Races, Races),
    ("bulk-to-mma", "P1 tcgen05.fence::after", Races, Ordered),
    ("mma-to-bulk", "", Ordered, Ordered),
    ("mma-to-bulk", "P0 tcgen05.commit", Hangs, Hangs),
    ("mma-to-bulk", "P1 mbarrier.try_wait", Races, Races),
    ("ld.shared-to-bulk", "", Ordered, Ordered),
    ("ld.shared-to-bulk", "P0 fence.proxy.async", Races, Races),
    ("ld.shared-to-bulk", "P0 mbarrier.arrive", Hangs, Hangs),
    ("ld.shared-to-bulk", "P1 mbarrier.try_wait", Races, Races),
    ("st.shared-to-store", "", Ordered, Ordered),
    ("st.shared-to-store", "P0 fence.proxy.async", Races, Races),
    ("st.shared-to-store", "P0 bar.cta", Races, Races),
    ("st.shared-to-store", "P1 bar.cta", Races, Races),
    ("store-st.shared", "", Ordered, Ordered),
    ("store-st.shared", "P0 cp.async.bulk.wait_group", Races, Races),
    ("bulk-to-ld.shared", "", Ordered, Ordered),
    ("bulk-to-ld.shared", "P1 mbarrier.try_wait", Races, Races),
    ("mma-to-st.shared", "", Races, Ordered),
    ("mma-to-st.shared", "P0 tcgen05.commit", Hangs, Hangs),
    ("mma-to-st.shared", "P1 mbarrier.try_wait", Races, Races),
    ("cp.async-to-ld.shared", "", Ordered, Ordered),
    ("cp.async-to-ld.shared", "P0 cp.async.wait_all", Races, Races),
    ("cp.async-to-ld.shared", "P0 bar.cta", Races, Races),
    ("cp.async-to-ld.shared", "P1 bar.cta", Races, Races),
    // Of PTX 9.4, which the manual of the table does not have.
    ("mma-read-to-bulk", "", Ordered, Ordered),
    ("mma-read-to-bulk", "P0 tcgen05.commit", Hangs, Hangs),
    ("mma-read-to-bulk", "P1 mbarrier.try_wait", Races, Races),
    ("mma-read-to-bulk-b", "", Races, Races),
    ("mma-read-to-ld", "", Races, Races),
];

/// A file for each ambiguity, whose verdict that reading alone decides, and the verdicts of the two readings. All others are as by
/// default.
const AMBIGUITIES: [(&str, Ambiguity, Verdict, Verdict); 12] = [
    ("A1-start-after-earlier", Ambiguity::StartAfterEarlier, Races, Ordered),
    ("A2-fence-besides-release", Ambiguity::FenceBesidesRelease, Races, Ordered),
    ("A3-fence-after-wait", Ambiguity::FenceAfterWait, Races, Ordered),
    ("A4-copy-after-mma", Ambiguity::CopyAfterMma, Races, Ordered),
    ("A5-proxy-fence-after-commit", Ambiguity::ProxyFenceAfterCommit, Races, Ordered),
    ("A6-proxy-fence-at-writer", Ambiguity::ProxyFenceAtWriter, Races, Ordered),
    ("A7-proxy-fence-after-read", Ambiguity::ProxyFenceAfterRead, Races, Ordered),
    ("A8-async-proxy-of-one-cta", Ambiguity::AsyncProxyOfOneCta, Races, Ordered),
    ("A9-deallocate-after-load", Ambiguity::DeallocateAfterLoad, Races, Ordered),
    ("A10-mma-operand-of-mma", Ambiguity::MmaOperandOfMma, Races, Ordered),
    ("A11-commit-releases", Ambiguity::CommitReleases, Races, Ordered),
    ("A12-mma-of-other-shape", Ambiguity::MmaOfOtherShape, Races, Ordered),
];

/// The manual's examples, and what its text says outside of the patterns.
const EXAMPLES: [(&str, Verdict, Verdict); 13] = [
    ("manual-register", Ordered, Ordered),
    ("manual-register-anti", Races, Races),
    ("manual-init", Ordered, Ordered),
    ("manual-try-cancel", Ordered, Ordered),
    ("manual-try-cancel-unfenced", Races, Races),
    ("wgmma-fence", Ordered, Ordered),
    ("groups", Ordered, Ordered),
    ("groups-pending", Races, Races),
    ("tensormap", Ordered, Ordered),
    ("tensormap-unfenced", Races, Races),
    ("parity", Ordered, Ordered),
    ("reductions", Ordered, Ordered),
    ("state", Ordered, Ordered),
];

fn read(file: &str) -> Litmus {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("litmus/async/{file}.litmus"));
    let text = fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    Litmus::read(&text).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// The test without the one instruction of a thread that begins so; without the loop around it, too, if it waits.
fn without(litmus: &Litmus, removed: &str) -> Litmus {
    let mut litmus = litmus.clone();
    let Some((thread, words)) = removed.split_once(' ') else { return litmus };
    let index: usize = thread[1..].parse().expect("a thread");
    let program = litmus.program.clone();
    let thread = &program.threads[index];
    let begins = |at: &usize| instruction(&program, thread, &thread.code[*at]).starts_with(words);
    let found: Vec<usize> = (0..thread.code.len()).filter(begins).collect();
    let [found] = found[..] else { panic!("{}: {removed} is there {} times", litmus.name, found.len()) };
    let waits = |instruction: &Instruction<_>| {
        let Instruction::Asynchronous(of) = instruction else { return false };
        matches!(**of, Asynchronous::Mbarrier { of: MbarrierOperation::Wait { .. }, .. })
    };
    let length = if waits(&thread.code[found].instruction) { 2 } else { 1 };
    litmus.program.threads[index].code.drain(found..found + length);
    litmus
}

fn verdict(litmus: &Litmus, readings: Readings) -> Verdict {
    let conventions = Conventions { readings, ..Conventions::MANUAL };
    match search::race(&litmus.program, conventions, Limits::default()) {
        Ok(None) => Ordered,
        Ok(Some(_)) => Races,
        Err(Limit::Hangs) => Hangs,
        Err(limit) => panic!("{}: {limit}", litmus.name),
    }
}

/// Collects what is not as expected.
#[derive(Default)]
struct Wrong(Vec<String>);

impl Wrong {
    fn check(&mut self, litmus: &Litmus, what: &str, readings: Readings, expected: Verdict) {
        let found = verdict(litmus, readings);
        if found != expected {
            self.0.push(format!("{} {what}: {found:?}, not {expected:?}", litmus.name));
        }
    }

    fn none(self) {
        assert!(self.0.is_empty(), "{}:\n{}", self.0.len(), self.0.join("\n"));
    }
}

#[test]
fn canonical_patterns() {
    let mut wrong = Wrong::default();
    for (file, removed, strict, default) in PATTERNS {
        let litmus = without(&read(file), removed);
        wrong.check(&litmus, &format!("without '{removed}', strict"), Readings::STRICT, strict);
        wrong.check(&litmus, &format!("without '{removed}', default"), Readings::DEFAULT, default);
    }
    wrong.none();
}

#[test]
fn each_ambiguity_decides_a_test() {
    let mut wrong = Wrong::default();
    for (file, of, strict, lenient) in AMBIGUITIES {
        for (reading, expected) in [(Reading::Strict, strict), (Reading::Lenient, lenient)] {
            wrong.check(&read(file), &reading.to_string(), Readings::DEFAULT.with(of, reading), expected);
        }
        assert_ne!(strict, lenient, "{file}");
        assert!(file.starts_with(&format!("{}-{of}", of.question().name)), "{file}");
    }
    wrong.none();
    assert!(Ambiguity::iter().all(|of| AMBIGUITIES.iter().any(|(_, other, ..)| *other == of)));
}

#[test]
fn examples_of_the_manual() {
    let mut wrong = Wrong::default();
    for (file, strict, default) in EXAMPLES {
        wrong.check(&read(file), "strict", Readings::STRICT, strict);
        wrong.check(&read(file), "default", Readings::DEFAULT, default);
    }
    wrong.none();
}

/// What is ordered has the outcome that its condition says.
#[test]
fn conditions() {
    let all =
        PATTERNS.iter().filter(|(_, removed, ..)| removed.is_empty()).map(|(file, _, _, default)| (*file, *default));
    let all = all.chain(EXAMPLES.iter().map(|(file, _, default)| (*file, *default)));
    let mut wrong = Vec::new();
    for (file, _) in all.filter(|(_, default)| *default == Ordered) {
        let litmus = read(file);
        let outcomes = search::outcomes(&litmus.program, Conventions::MANUAL, Limits::default());
        let verdict = outcomes.verdict(&litmus.condition, &Layout::new(&litmus.program));
        if verdict != Ok(true) {
            wrong.push(format!("{file}: {verdict:?}, {} of {:?}", litmus.formula(), outcomes.states));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Every file is in a table.
#[test]
fn every_file_is_tested() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("litmus/async");
    let files = fs::read_dir(folder).expect("the folder").flatten();
    let files: BTreeSet<String> =
        files.map(|file| file.path().file_stem().unwrap_or_default().to_string_lossy().into_owned()).collect();
    let tested = PATTERNS.iter().map(|row| row.0).chain(AMBIGUITIES.iter().map(|row| row.0));
    let tested: BTreeSet<String> = tested.chain(EXAMPLES.iter().map(|row| row.0)).map(str::to_owned).collect();
    assert_eq!(files, tested);
}

/// The tables of the guide are those of this file. To renew them: `INSTA_UPDATE=always`.
#[test]
fn the_guide() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/async.md");
    let Ok(guide) = fs::read_to_string(&path) else {
        println!("skipped: {} is not there", path.display());
        return;
    };
    let mut ambiguities =
        "| question | sections | strict | lenient | default | test |\n| --- | --- | --- | --- | --- | --- |\n"
            .to_owned();
    for (file, of, ..) in AMBIGUITIES {
        let question = of.question();
        let default = Readings::DEFAULT.reading(of);
        ambiguities += &format!(
            "| {}, `{of}`: {} | {} | {} | {} | {default} | `{file}` |\n",
            question.name, question.asked, question.sections, question.strict, question.lenient
        );
    }
    let word = |verdict| match verdict {
        Ordered => "ordered",
        Races => "race",
        Hangs => "hangs",
    };
    let mut patterns = "| pattern | without | strict | default |\n| --- | --- | --- | --- |\n".to_owned();
    for (file, removed, strict, default) in PATTERNS {
        let name = if removed.is_empty() {
            format!("`{file}`: {}", read(file).name.replace('|', "\\|"))
        } else {
            String::new()
        };
        let removed = removed.split_once(' ').map_or(String::new(), |(thread, words)| format!("`{words}` of {thread}"));
        patterns += &format!("| {name} | {removed} | {} | {} |\n", word(strict), word(default));
    }
    let mut renewed = guide.clone();
    for table in [ambiguities, patterns] {
        let header = table.lines().next().expect("a header");
        let start = renewed.find(header).unwrap_or_else(|| panic!("docs/async.md has no table '{header}'"));
        let length = renewed[start..].find("\n\n").map_or(renewed.len() - start, |end| end + 1);
        renewed.replace_range(start..start + length, &table);
    }
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        fs::write(&path, &renewed).expect("the guide");
        return;
    }
    assert!(renewed == guide, "the tables of docs/async.md are old: INSTA_UPDATE=always renews them");
}

/// The verdicts are those of the table that another reader of the manual made. It has no word for what hangs, and calls it a race.
#[test]
fn the_shared_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/reference/async/canonical-patterns.csv");
    let Ok(text) = fs::read_to_string(&path) else {
        println!("skipped: {} is not there", path.display());
        return;
    };
    let rows: Vec<&str> = text.lines().skip(1).collect();
    let newer = PATTERNS.iter().filter(|(file, ..)| file.starts_with("mma-read-")).count();
    assert_eq!(rows.len() + newer, PATTERNS.len());
    let word = |verdict| if verdict == Ordered { "ordered" } else { "race" };
    for (row, (file, removed, strict, default)) in rows.iter().zip(PATTERNS) {
        let removed = removed.split_once(' ').map_or(String::new(), |(thread, _)| thread.replace('P', "T") + ": ");
        let verdicts = format!(",{},{}", word(strict), word(default));
        let (start, end) = (row.trim_start_matches('"').starts_with(&read(file).name), row.ends_with(&verdicts));
        assert!(start && end && row.contains(&removed), "{row}: {file} without '{removed}'{verdicts}");
    }
}

/// What is said to be missing is what was left out.
#[test]
fn what_is_missing() {
    let check = |file: &str, removed: &str, expected: Missing| {
        let litmus = without(&read(file), removed);
        let race = search::race(&litmus.program, Conventions::MANUAL, Limits::default());
        let why = race.ok().flatten().map(|race| race.why);
        assert_eq!(why, Some(expected), "{file} without '{removed}'");
    };
    check("st-ld", "P0 tcgen05.wait::st", Missing::Completion);
    check("mma-mma-shape", "", Missing::Completion);
    check("store-st.shared", "P0 cp.async.bulk.wait_group", Missing::Completion);
    check("cp.async-to-ld.shared", "P0 cp.async.wait_all", Missing::Completion);
    check("cp-to-mma", "P0 tcgen05.fence::before", Missing::Start);
    check("bulk-to-ld.shared", "P1 mbarrier.try_wait", Missing::Synchronization);
    check("st.shared-to-mma", "P0 fence.proxy.async", Missing::ProxyFence);
}
