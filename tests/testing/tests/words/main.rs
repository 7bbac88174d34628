//! Limits for words that hide the subject of a sentence. `words.tsv` limits the rate of each word in each crate, and a
//! limit only falls.
//!
//! A rate is a count per 1,000 words, rounded to a tenth. A crate with fewer words counts as if it had 1,000, so that
//! its limits are plain counts. The test fails if a rate is above its limit. It also fails if a rate is more than 0.5
//! below its limit, or if the word is gone and the limit is not zero: then the limit has to fall. This command lowers
//! the limits to the rates, and sets the limits of new crates:
//!
//! ```console
//! $ WORDS=update cargo test -p ptx-atomics-testing --test words
//! ```

mod scanner;
mod subjects;

use std::{
    cmp::Reverse,
    collections::BTreeMap,
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use itertools::Itertools;
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;
use testing::{root, success};

use crate::scanner::{Word, has_english, words};

/// A word, or a group of words with the same fault: a column of the table.
struct Term {
    name: &'static str,
    phrases: &'static [&'static str],
    /// A following word that makes the phrase acceptable.
    unless: Option<&'static str>,
    instead: &'static str,
}

const fn term(name: &'static str, phrases: &'static [&'static str], instead: &'static str) -> Term {
    Term { name, phrases, unless: None, instead }
}

#[rustfmt::skip]
const TERMS: [Term; 11] = [
    term("what",          &["what"],               "the thing: `the value that the load returns`"),
    term("who",           &["who"],                "the kernel, the author, the caller"),
    term("nobody",        &["nobody"],             "`no kernel`, `no caller`"),
    term("others",        &["others"],             "`other kernels`"),
    term("those/that of", &["those of", "that of"], "the noun again: `the loads of a thread`"),
    term("behind",        &["behind"],             "`after`"),
    term("in front of",   &["in front of"],        "`before`"),
    term("but for",       &["but for"],            "`except`, `unless`"),
    Term { name: "is no", phrases: &["is no"],     unless: Some("longer"), instead: "`is not a`, `has no`" },
    term("in place of",   &["in place of"],        "`instead of`"),
    term("of which",      &["of which"],           "a second sentence, or `whose`"),
];

const COMMAND: &str = "WORDS=update cargo test -p ptx-atomics-testing --test words";
const TABLE: &str = "tests/testing/words.tsv";

/// Folders that have a separate row and are not crates.
const FOLDERS: [&str; 5] = ["docs", "products/editors", "products/python", "scripts", "tests"];

/// The difference in tenths by which a rate may be below its limit.
const STEP: u64 = 5;
const PLACES: usize = 3;

/// The files and the words of a row.
#[derive(Default)]
struct Count {
    words: u64,
    /// The places of each term.
    places: [Vec<(PathBuf, usize)>; TERMS.len()],
}

/// The limits of each row in tenths, by the names of the terms.
type Limits = BTreeMap<String, BTreeMap<String, u64>>;

/// A count per 1,000 words, in tenths.
fn rate(count: u64, words: u64) -> u64 {
    let words = words.max(1_000);
    (count * 20_000 + words) / (2 * words)
}

impl Count {
    fn add(&mut self, file: &Path, words: &[Word]) {
        self.words += words.len() as u64;
        for (term, places) in TERMS.iter().zip(&mut self.places) {
            places.extend(lines(term, words).map(|line| (file.to_owned(), line)));
        }
    }

    fn rates(&self) -> impl Iterator<Item = (&'static Term, u64)> {
        TERMS.iter().zip(&self.places).map(|(term, places)| (term, rate(places.len() as u64, self.words)))
    }
}

/// The lines of the words at which a term occurs.
fn lines(term: &Term, words: &[Word]) -> impl Iterator<Item = usize> {
    let has_phrase = |words: &[Word], phrase: &str| {
        let end = phrase.split(' ').count();
        let is_joined = words.iter().take(end).skip(1).all(|word| word.is_joined);
        let is_exempt = words.get(end).is_some_and(|next| next.is_joined && Some(&*next.text) == term.unless);
        words.len() >= end
            && phrase.split(' ').eq(words[..end].iter().map(|word| &*word.text))
            && is_joined
            && !is_exempt
    };
    (0..words.len())
        .filter(move |at| term.phrases.iter().any(|phrase| has_phrase(&words[*at..], phrase)))
        .map(|at| words[at].line)
}

/// The folders of the crates, from the root of the repository.
fn crates() -> Result<Vec<PathBuf>, Failed> {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--no-deps", "--offline", "--format-version", "1"]).current_dir(root());
    let metadata: Value = serde_json::from_str(&success(&mut cargo)?)?;
    let manifests = metadata["packages"]
        .as_array()
        .ok_or("no packages")?
        .iter()
        .filter_map(|package| package["manifest_path"].as_str());
    Ok(manifests.filter_map(|path| Some(Path::new(path).strip_prefix(root()).ok()?.parent()?.to_owned())).collect())
}

/// The row of a file: the innermost folder that has a row. The facade has `src`, and the documents at the root and of the
/// examples belong to `docs`.
fn row<'r>(file: &Path, rows: &'r [PathBuf]) -> Option<&'r Path> {
    let is_document = file.extension().is_some_and(|extension| extension == "md")
        && (file.starts_with("examples") || file.parent() == Some(Path::new("")));
    let file = if is_document { &Path::new("docs").join(file) } else { file };
    rows.iter().filter(|row| file.starts_with(row)).max_by_key(|row| row.iter().count()).map(PathBuf::as_path)
}

/// The files below a folder, without outputs of builds.
fn files(folder: &Path, paths: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).expect("a folder").flatten() {
        let (path, name) = (entry.path(), entry.file_name());
        let name = name.to_string_lossy();
        if path.is_dir() && !name.starts_with('.') && !["dist", "target", "node_modules"].contains(&&*name) {
            files(&path, paths);
        } else if path.is_file() {
            paths.push(path);
        }
    }
}

/// The count of each row. The places of the newest files are first, because a new word is most likely there.
fn counts() -> Result<BTreeMap<String, Count>, Failed> {
    let mut rows: Vec<_> = FOLDERS.map(PathBuf::from).into();
    rows.extend(crates()?.into_iter().map(|folder| if folder == Path::new("") { "src".into() } else { folder }));
    let mut counts: BTreeMap<_, _> = rows.iter().map(|row| (row.display().to_string(), Count::default())).collect();
    let mut paths = Vec::new();
    files(root(), &mut paths);
    paths.sort();
    paths.sort_by_key(|path| Reverse(path.metadata().and_then(|metadata| metadata.modified()).ok()));
    for path in &paths {
        let file = path.strip_prefix(root())?;
        let extension = file.extension().unwrap_or_default().to_string_lossy();
        let Some(row) = row(file, &rows).filter(|_| has_english(&extension)) else { continue };
        let text = fs::read(path)?;
        let count = counts.get_mut(&row.display().to_string()).expect("each row has a count");
        count.add(file, &words(&extension, &String::from_utf8_lossy(&text)));
    }
    Ok(counts)
}

fn read_limits(table: &str) -> Limits {
    let mut lines = table.lines().map(|line| line.split('\t'));
    let names: Vec<_> = lines.next().into_iter().flatten().skip(1).collect();
    let tenths =
        |rate: &str| rate.replace('.', "").parse().unwrap_or_else(|_| panic!("{TABLE}: `{rate}` is not a rate"));
    lines
        .map(|mut cells| {
            let row = cells.next().unwrap_or_default().to_owned();
            (row, names.iter().zip(cells).map(|(name, rate)| ((*name).to_owned(), tenths(rate))).collect())
        })
        .collect()
}

fn show(tenths: u64) -> String {
    format!("{}.{}", tenths / 10, tenths % 10)
}

fn write_limits(limits: &Limits) -> String {
    let header = TERMS.iter().map(|term| term.name).join("\t");
    let line = |(row, limits): (&String, &BTreeMap<String, u64>)| {
        format!("{row}\t{}\n", TERMS.iter().map(|term| show(limits[term.name])).join("\t"))
    };
    format!("crate\t{header}\n{}", limits.iter().map(line).collect::<String>())
}

/// The limits, each lowered to its rate. A new row or term has its rate as limit.
fn lower(limits: &Limits, counts: &BTreeMap<String, Count>) -> Limits {
    let lower = |(row, count): (&String, &Count)| {
        let limit = |name: &str| limits.get(row).and_then(|limits| limits.get(name)).copied().unwrap_or(u64::MAX);
        (row.clone(), count.rates().map(|(term, rate)| (term.name.to_owned(), rate.min(limit(term.name)))).collect())
    };
    counts.iter().map(lower).collect()
}

/// The rates above their limits, and the limits that have to fall, a line or more for each.
#[derive(Default)]
struct Faults {
    above: Vec<String>,
    outdated: Vec<String>,
}

fn faults(limits: &Limits, counts: &BTreeMap<String, Count>) -> Faults {
    let mut faults = Faults::default();
    let gone = limits.keys().filter(|row| !counts.contains_key(*row));
    faults.outdated.extend(gone.map(|row| format!("{row}: no such folder")));
    for (row, count) in counts {
        let Some(limits) = limits.get(row) else {
            faults.outdated.push(format!("{row}: no limits"));
            continue;
        };
        for ((term, rate), places) in count.rates().zip(&count.places) {
            let name = term.name;
            let Some(limit) = limits.get(name).copied() else {
                faults.outdated.push(format!("{row}: `{name}` has no limit"));
                continue;
            };
            if rate > limit {
                let places = places.iter().take(PLACES);
                let places = places.map(|(file, line)| format!("\n    {}:{line}", file.display())).join("");
                let (rate, limit) = (show(rate), show(limit));
                let instead = term.instead;
                faults.above.push(format!("{row}: `{name}` {rate}, limit {limit}; write {instead}{places}"));
            } else if rate + STEP < limit || (places.is_empty() && limit > 0) {
                faults.outdated.push(format!("{row}: `{name}` {}, limit {}", show(rate), show(limit)));
            }
        }
    }
    faults
}

fn limits_hold() -> Result<(), Failed> {
    let counts = counts()?;
    if let Some((row, _)) = counts.iter().find(|(_, count)| count.words == 0) {
        return Err(format!("{row} has no English").into());
    }
    let path = root().join(TABLE);
    let mut limits = read_limits(&fs::read_to_string(&path).unwrap_or_default());
    if env::var_os("WORDS").is_some_and(|value| value == "update") {
        limits = lower(&limits, &counts);
        fs::write(&path, write_limits(&limits))?;
    }
    let Faults { above, outdated } = faults(&limits, &counts);
    let mut message = String::new();
    if !above.is_empty() {
        message += &format!("rates per 1,000 words above their limits in {TABLE}:\n  {}\n", above.join("\n  "));
    }
    if !outdated.is_empty() {
        message += &format!("limits in {TABLE} that `{COMMAND}` corrects:\n  {}\n", outdated.join("\n  "));
    }
    if message.is_empty() { Ok(()) } else { Err(message.into()) }
}

fn finds_terms() -> Result<(), Failed> {
    let check = |text: &str, expected: &[(&str, usize)]| {
        let words = words("rs", text);
        let terms = TERMS.iter().flat_map(|term| lines(term, &words).map(|line| (term.name, line)));
        assert_eq!(terms.collect::<Vec<_>>(), expected, "{text}");
    };
    check("// What it is.\n// whatever, somewhat", &[("what", 1)]);
    check("// Who is this?\n/* nobody, others */", &[("who", 1), ("nobody", 2), ("others", 2)]);
    check("// A value and those\n// of a thread, that of", &[("those/that of", 1), ("those/that of", 2)]);
    check("// all but\n/* for it */", &[]);
    check("// It is no load, is no longer, is. No", &[("is no", 1)]);
    check("// in\n// front\n// of it, in place, of it", &[("in front of", 1)]);
    check(
        "\n// In place of it, of which, but for, behind",
        &[("behind", 2), ("but for", 2), ("in place of", 2), ("of which", 2)],
    );
    Ok(())
}

fn finds_rows() -> Result<(), Failed> {
    let rows = ["docs", "docs/reference", "src", "tests", "tests/gpu"].map(PathBuf::from);
    let check =
        |file: &str, expected: Option<&str>| assert_eq!(row(Path::new(file), &rows), expected.map(Path::new), "{file}");
    check("src/lib.rs", Some("src"));
    check("docs/reference/src/lib.rs", Some("docs/reference"));
    check("docs/run.md", Some("docs"));
    check("README.md", Some("docs"));
    check("examples/cuda/README.md", Some("docs"));
    check("examples/scoped.rs", None);
    check("tests/run.rs", Some("tests"));
    check("tests/gpu/src/main.rs", Some("tests/gpu"));
    check("tests/gpus.rs", Some("tests"));
    Ok(())
}

/// The rate, the limit, and the new limit of a row `a` with `count` uses of the first term among `words` words.
fn judges_rates() -> Result<(), Failed> {
    let check = |count: u64, words: u64, limit: Option<u64>, expected: Option<&str>, updated: u64| {
        let mut counts = BTreeMap::from([("a".to_owned(), Count { words, ..Count::default() })]);
        let places = (1..=count as usize).map(|line| (PathBuf::from("a/b.rs"), line));
        counts.get_mut("a").expect("a row").places[0].extend(places);
        let mut limits = lower(&Limits::new(), &BTreeMap::from([("a".to_owned(), Count::default())]));
        let row = limits.get_mut("a").expect("a row");
        row.remove("what");
        row.extend(limit.map(|limit| ("what".to_owned(), limit)));
        let Faults { above, outdated } = faults(&limits, &counts);
        let context = format!("{count} in {words}, limit {limit:?}");
        assert_eq!(above.iter().chain(&outdated).map(|line| &**line).next(), expected, "{context}");
        let lowered = lower(&limits, &counts);
        assert_eq!(lowered["a"]["what"], updated, "{context}");
        assert_eq!(read_limits(&write_limits(&lowered)), lowered, "{context}");
    };
    // 7.649 is 7.6, and 7.65 is 7.7.
    check(7_649, 1_000_000, Some(76), None, 76);
    let above = "a: `what` 7.7, limit 7.6; write the thing: `the value that the load returns`";
    let places = "\n    a/b.rs:1\n    a/b.rs:2\n    a/b.rs:3";
    check(7_650, 1_000_000, Some(76), Some(&format!("{above}{places}")), 76);
    check(71, 10_000, Some(76), None, 71);
    check(70, 10_000, Some(76), Some("a: `what` 7.0, limit 7.6"), 70);
    check(1, 10_000, Some(4), None, 1);
    check(0, 10_000, Some(4), Some("a: `what` 0.0, limit 0.4"), 0);
    check(0, 10_000, Some(0), None, 0);
    // The limits of a small crate are counts.
    check(2, 50, Some(20), None, 20);
    check(1, 50, Some(0), Some(&format!("{}\n    a/b.rs:1", above.replace("7.7", "1.0").replace("7.6", "0.0"))), 0);
    check(3, 50, None, Some("a: `what` has no limit"), 30);
    Ok(())
}

fn main() {
    let trials = vec![
        Trial::test("words stay within their limits", limits_hold),
        subjects::trial(),
        Trial::test("the scanner reads English", scanner::reads_english),
        Trial::test("terms are found", finds_terms),
        Trial::test("files have rows", finds_rows),
        Trial::test("rates are judged", judges_rates),
        Trial::test("faults of subjects are found", subjects::finds_faults),
    ];
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}
