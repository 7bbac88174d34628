//! Baselines: the known failures of a compiler.

use std::{
    collections::{BTreeMap, BTreeSet},
    fmt,
    str::FromStr,
};

use itertools::Itertools;

use crate::{
    report::{Results, target_name},
    suite::Outcome,
    verdict::{Grade, Standing},
};
use ptx_lowering::Target;

/// The functions that failed before, with their verdicts. In the text of a baseline, a line stands for several
/// functions: braces stand for each of the words in them, as in `sm_90 ptx86 rmw-{add,sub}-i32-acquire-{gpu,sys}-global
/// ordering`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline(BTreeMap<(String, String), Grade>);

/// A line that does not have the format of a baseline.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {text:?} is not `sm_90 ptx86 NAME VERDICT`")]
pub struct BaselineError {
    /// The number of the line, from 1.
    pub line: usize,
    /// The line, or its beginning.
    pub text: String,
}

/// The length of the beginning of a wrong line in a message, in characters.
const SHOWN: usize = 60;

const HEAD: &str = "# Failures of `ptx-atomics conformance`: target, function, verdict.";

/// The limit of the functions of a target in a line. No suite has as many functions.
const FUNCTIONS: usize = 100_000;

impl Baseline {
    /// The functions that fail in these results. A form of a function is listed only if it fails worse than the
    /// function.
    pub fn from_results(results: &[Results]) -> Self {
        let failing = results.iter().flat_map(|results| {
            let failing = results.outcomes.iter().filter(|(outcome, _)| outcome.verdict != Grade::Right);
            failing.map(move |(outcome, _)| (results, outcome))
        });
        let all: BTreeMap<(String, &str), Grade> = failing
            .clone()
            .map(|(results, outcome)| ((results.name(), &*outcome.cell.name), outcome.verdict))
            .collect();
        let is_covered = |(results, outcome): &(&Results, &Outcome)| {
            let plain = outcome.cell.plain_name().and_then(|name| all.get(&(results.name(), name)));
            plain.is_some_and(|plain| outcome.verdict <= *plain)
        };
        let own = failing.filter(|one| !is_covered(one));
        Self(own.map(|(results, one)| ((results.name(), one.cell.name.clone()), one.verdict)).collect())
    }

    /// The standing of a function. A form may fail as badly as its function.
    pub fn standing(&self, target: &Target, outcome: &Outcome) -> Standing {
        let of = |name: &str| self.0.get(&(target_name(target), name.to_owned()));
        let own = of(&outcome.cell.name);
        let before = own.max(outcome.cell.plain_name().and_then(of));
        match outcome.verdict {
            Grade::Right if own.is_none() => Standing::Right,
            Grade::Right => Standing::Fixed,
            now if before.is_some_and(|before| now <= *before) => Standing::Known,
            _ => Standing::Failure,
        }
    }
}

impl fmt::Display for Baseline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEAD}")?;
        let mut groups: BTreeMap<(&str, usize, Grade), BTreeSet<Vec<&str>>> = BTreeMap::new();
        for ((target, name), verdict) in &self.0 {
            let words: Vec<&str> = name.split('-').collect();
            groups.entry((target, words.len(), *verdict)).or_default().insert(words);
        }
        for ((target, _, verdict), names) in &groups {
            for line in folded(&names.iter().map(Vec::as_slice).collect()) {
                let words = line.iter().map(|words| match &words[..] {
                    [word] => (*word).to_owned(),
                    several => format!("{{{}}}", several.join(",")),
                });
                writeln!(f, "{target} {} {verdict}", words.format("-"))?;
            }
        }
        Ok(())
    }
}

/// Folds names with the same number of words into few lines. Each line has a set of words for each position.
fn folded<'n>(names: &BTreeSet<&[&'n str]>) -> Vec<Vec<Vec<&'n str>>> {
    if names.first().is_none_or(|name| name.is_empty()) {
        return vec![Vec::new()];
    }
    let mut rests: BTreeMap<&str, BTreeSet<&[&str]>> = BTreeMap::new();
    for (first, rest) in names.iter().filter_map(|name| name.split_first()) {
        rests.entry(first).or_default().insert(rest);
    }
    let firsts = rests.into_iter().map(|(first, rest)| (rest, first)).into_group_map_by(|(rest, _)| rest.clone());
    let lines = firsts.into_iter().flat_map(|(rest, firsts)| {
        let firsts: Vec<&str> = firsts.into_iter().map(|(_, first)| first).collect();
        folded(&rest).into_iter().map(move |line| [vec![firsts.clone()], line].concat())
    });
    lines.sorted().collect()
}

/// The names of a line with braces.
fn unfolded(text: &str) -> Option<Vec<String>> {
    let mut places: Vec<Vec<&str>> = Vec::new();
    let mut rest = text;
    loop {
        let end = match rest.strip_prefix('{') {
            Some(_) => rest.find('}')? + 1,
            None => rest.find('-').unwrap_or(rest.len()),
        };
        let (place, after) = rest.split_at(end);
        let words = place.strip_prefix('{').and_then(|inner| inner.strip_suffix('}')).unwrap_or(place);
        let words: Vec<&str> = words.split(',').collect();
        if words.iter().any(|word| word.is_empty() || word.contains(['{', '}'])) {
            return None;
        }
        places.push(words);
        match after.strip_prefix('-') {
            Some(next) => rest = next,
            None if after.is_empty() => break,
            None => return None,
        }
    }
    let number = places.iter().try_fold(1, |all: usize, words| all.checked_mul(words.len()))?;
    let names = || places.iter().multi_cartesian_product().map(|words| words.into_iter().join("-"));
    (number <= FUNCTIONS).then(|| names().collect())
}

impl FromStr for Baseline {
    type Err = BaselineError;

    fn from_str(text: &str) -> Result<Self, BaselineError> {
        let mut known = BTreeMap::new();
        for (index, line) in text.lines().enumerate() {
            let shown = || match line.char_indices().nth(SHOWN) {
                Some((end, _)) => format!("{}…", &line[..end]),
                None => line.to_owned(),
            };
            let error = || BaselineError { line: index + 1, text: shown() };
            match line.split_whitespace().collect::<Vec<_>>()[..] {
                [] => {}
                [word, ..] if word.starts_with('#') => {}
                [sm, ptx, name, verdict] => {
                    let verdict = verdict.parse().map_err(|_| error())?;
                    for name in unfolded(name).ok_or_else(error)? {
                        known.insert((format!("{sm} {ptx}"), name), verdict);
                    }
                }
                _ => return Err(error()),
            }
        }
        Ok(Self(known))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{language::Language, suite::Outcome};

    #[test]
    fn flows() {
        let target = Target::new("sm_90".parse().expect("a GPU"), "ptx86".parse().ok()).expect("a target");
        let cell = Language::Llvm.cells(&target, 22).remove(0);
        let check = |before: &str, now: Grade, expected: Standing| {
            let line = if before.is_empty() { String::new() } else { format!("sm_90 ptx86 {} {before}\n", cell.name) };
            let baseline: Baseline = format!("# a note\n\n{line}").parse().expect(&line);
            let outcome = Outcome::new(cell.clone(), now);
            assert_eq!(baseline.standing(&target, &outcome), expected, "{before} {now}");
            let written = baseline.to_string();
            assert_eq!(written.parse(), Ok(baseline), "{written}");
        };
        check("", Grade::Right, Standing::Right);
        check("", Grade::Scope, Standing::Failure);
        check("scope", Grade::Scope, Standing::Known);
        check("scope", Grade::Volatile, Standing::Known);
        check("scope", Grade::Ordering, Standing::Failure);
        check("scope", Grade::Right, Standing::Fixed);
        // A form may fail as badly as its function, but not worse.
        let form = Language::Llvm.cells(&target, 22).into_iter().find(|cell| cell.plain_name().is_some()).expect("one");
        let plain = form.plain_name().expect("a name");
        let baseline: Baseline = format!("{} {plain} scope\n", target_name(&target)).parse().expect(plain);
        let standing = |verdict| baseline.standing(&target, &Outcome::new(form.clone(), verdict));
        assert_eq!(standing(Grade::Right), Standing::Right);
        assert_eq!(standing(Grade::Scope), Standing::Known);
        assert_eq!(standing(Grade::Value), Standing::Failure);
    }

    /// The committed baselines of LLVM's versions have functions of the suite alone, in the format of the writer.
    #[test]
    fn kept() {
        let folder = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/baselines")).expect("the baselines");
        let paths = folder.map(|entry| entry.expect("a file").path().display().to_string()).collect_vec();
        assert!(!paths.is_empty());
        for path in paths {
            let version = path.rsplit_once("llc-").and_then(|(_, name)| name.strip_suffix(".txt")?.parse().ok());
            let version = version.unwrap_or_else(|| panic!("{path} is not llc-VERSION.txt"));
            let text = std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
            let baseline: Baseline = text.parse().unwrap_or_else(|error| panic!("{path}: {error}"));
            let lines =
                |text: &str| text.lines().filter(|line| !line.starts_with('#')).map(str::to_owned).collect_vec();
            assert_eq!(lines(&text), lines(&baseline.to_string()), "{path}");
            assert!(baseline.0.len() > 300, "{path}: {}", baseline.0.len());
            let targets: BTreeSet<&String> = baseline.0.keys().map(|(target, _)| target).collect();
            // LLVM 24 has no failures on sm_52.
            assert_eq!(targets.len(), if version == 24 { 5 } else { 6 }, "{path}: {targets:?}");
            for name in targets {
                let (sm, ptx) = name.split_once(' ').expect("a GPU and a version");
                let target = Target::new(sm.parse().expect("a GPU"), ptx.parse().ok()).expect("a target");
                let cells: BTreeSet<String> =
                    Language::Llvm.cells(&target, version).into_iter().map(|cell| cell.name).collect();
                let unknown = baseline.0.keys().filter(|(own, function)| own == name && !cells.contains(function));
                assert_eq!(unknown.collect_vec(), Vec::<&(String, String)>::new(), "{path}");
            }
        }
    }

    #[test]
    fn lines_stand_for_several_functions() {
        let check = |lines: &str, names: &[&str]| {
            let name = |name: &&str| format!("sm_90 ptx86 {name} scope\n");
            let apart: Baseline = names.iter().map(name).collect::<String>().parse().expect("a baseline");
            assert_eq!(lines.parse(), Ok(apart.clone()), "{lines}");
            assert_eq!(apart.to_string(), format!("{HEAD}\n{lines}"));
        };
        check("", &[]);
        check("sm_90 ptx86 fence-acquire-{gpu,sys} scope\n", &["fence-acquire-sys", "fence-acquire-gpu"]);
        check("sm_90 ptx86 {a,b}-{c,d} scope\n", &["a-c", "a-d", "b-c", "b-d"]);
        check("sm_90 ptx86 a-c scope\nsm_90 ptx86 b-{c,d} scope\n", &["a-c", "b-c", "b-d"]);
        check("sm_90 ptx86 a scope\nsm_90 ptx86 a-b scope\nsm_90 ptx86 a-b-c scope\n", &["a-b-c", "a", "a-b"]);
    }

    #[test]
    fn other_texts() {
        let large = format!("sm_90 ptx86 {} scope", ["{a,b}"; 40].join("-"));
        let long = "{\"targets\": ".to_owned() + &"[".repeat(1000);
        for (text, shown) in [
            ("sm_90 ptx86 name", "sm_90 ptx86 name".to_owned()),
            ("sm_90 ptx86 name lost", "sm_90 ptx86 name lost".to_owned()),
            ("sm_90 ptx86 a-{b scope", "sm_90 ptx86 a-{b scope".to_owned()),
            ("sm_90 ptx86 a-b} scope", "sm_90 ptx86 a-b} scope".to_owned()),
            ("sm_90 ptx86 {a}{b} scope", "sm_90 ptx86 {a}{b} scope".to_owned()),
            ("sm_90 ptx86 {a,}-b scope", "sm_90 ptx86 {a,}-b scope".to_owned()),
            (&large, format!("{}…", &large[..SHOWN])),
            ("{}", "{}".to_owned()),
            (&long, format!("{}…", &long[..SHOWN])),
        ] {
            let found = format!("\n{text}").parse::<Baseline>();
            assert_eq!(found, Err(BaselineError { line: 2, text: shown }));
        }
    }
}
