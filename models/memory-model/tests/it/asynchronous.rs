//! Asynchronous operations: the canonical patterns with each single deletion, the verdict that each ambiguity decides,
//! and the manual's own examples.

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

use crate::patterns::{
    Expected::{self, Hangs, Ordered, Races},
    PATTERNS,
};

/// A file for each ambiguity, whose verdict depends on that reading alone, and the verdicts of the two readings. All
/// other readings are the default ones.
const AMBIGUITIES: [(&str, Ambiguity, Expected, Expected); 15] = [
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
    ("A13-multimem-alias", Ambiguity::MultimemAlias, Races, Ordered),
    ("A14-multimem-at-once", Ambiguity::MultimemAtOnce, Races, Ordered),
    ("A15-restricted-pattern", Ambiguity::RestrictedPattern, Races, Ordered),
];

/// The manual's examples, and the rules in its text outside of the patterns.
const EXAMPLES: [(&str, Expected, Expected); 13] = [
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

/// The test without the only instruction of a thread that begins with this text; if it is a wait, also without the loop
/// around it.
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

fn verdict(litmus: &Litmus, readings: Readings) -> Expected {
    let conventions = Conventions { readings, ..Conventions::MANUAL };
    match search::race(&litmus.program, conventions, Limits::default()) {
        Ok(None) => Ordered,
        Ok(Some(_)) => Races,
        Err(Limit::Hangs) => Hangs,
        Err(limit) => panic!("{}: {limit}", litmus.name),
    }
}

/// Collects the deviations from the expected verdicts.
#[derive(Default)]
struct Wrong(Vec<String>);

impl Wrong {
    fn check(&mut self, litmus: &Litmus, what: &str, readings: Readings, expected: Expected) {
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

/// An ordered test has the outcome of its condition.
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

/// The tables of the guide equal the tables of this file. To renew them: `INSTA_UPDATE=always`.
#[test]
fn the_guide() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/evidence/async-readings.md");
    let guide = fs::read_to_string(&path).expect("the guide");
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
        let start = renewed.find(header).unwrap_or_else(|| panic!("async-readings.md has no table '{header}'"));
        let length = renewed[start..].find("\n\n").map_or(renewed.len() - start, |end| end + 1);
        renewed.replace_range(start..start + length, &table);
    }
    if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
        fs::write(&path, &renewed).expect("the guide");
        return;
    }
    assert!(renewed == guide, "the tables of docs/evidence/async-readings.md are old: INSTA_UPDATE=always renews them");
}

/// The reported missing condition is the deleted instruction.
#[test]
fn missing_operands_and_modifiers() {
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
