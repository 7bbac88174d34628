//! What failed before.

use std::{collections::BTreeMap, fmt, str::FromStr};

use crate::{
    report::{Results, target_name},
    suite::Outcome,
    verdict::{Standing, Verdict},
};
use ptx_atomics_lowering::Target;

/// The functions that failed before, and how: a text with a line for each.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Baseline(BTreeMap<(String, String), Verdict>);

/// A line that is none of a baseline.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {text:?} is not `sm_90 ptx86 NAME VERDICT`")]
pub struct BaselineError {
    /// From 1.
    pub line: usize,
    /// The line, or how it begins.
    pub text: String,
}

/// How much of a line that is none of a baseline is shown, in characters.
const SHOWN: usize = 60;

const HEAD: &str = "# What fails in `ptx-atomics conformance`: target, function, verdict.";

impl Baseline {
    /// What fails in these results.
    pub fn of(results: &[Results]) -> Self {
        let failing = results.iter().flat_map(|results| {
            let failing = results.outcomes.iter().filter(|(outcome, _)| outcome.verdict != Verdict::Right);
            failing.map(|(outcome, _)| ((results.name(), outcome.cell.name.clone()), outcome.verdict))
        });
        Self(failing.collect())
    }

    /// How a function stands.
    pub fn standing(&self, target: &Target, outcome: &Outcome) -> Standing {
        let before = self.0.get(&(target_name(target), outcome.cell.name.clone()));
        match (before, outcome.verdict) {
            (None, Verdict::Right) => Standing::Right,
            (Some(_), Verdict::Right) => Standing::Mended,
            (Some(before), now) if now <= *before => Standing::Known,
            _ => Standing::Failure,
        }
    }
}

impl fmt::Display for Baseline {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEAD}")?;
        self.0.iter().try_for_each(|((target, name), verdict)| writeln!(f, "{target} {name} {verdict}"))
    }
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
                    known.insert((format!("{sm} {ptx}"), name.to_owned()), verdict);
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
        let check = |before: &str, now: Verdict, expected: Standing| {
            let line = if before.is_empty() { String::new() } else { format!("sm_90 ptx86 {} {before}\n", cell.name) };
            let baseline: Baseline = format!("# a note\n\n{line}").parse().expect(&line);
            let outcome = Outcome::new(cell.clone(), now);
            assert_eq!(baseline.standing(&target, &outcome), expected, "{before} {now}");
            let written = baseline.to_string();
            assert_eq!(written.parse(), Ok(baseline), "{written}");
        };
        check("", Verdict::Right, Standing::Right);
        check("", Verdict::Scope, Standing::Failure);
        check("scope", Verdict::Scope, Standing::Known);
        check("scope", Verdict::Volatile, Standing::Known);
        check("scope", Verdict::Ordering, Standing::Failure);
        check("scope", Verdict::Right, Standing::Mended);
    }

    #[test]
    fn other_texts() {
        let long = "{\"targets\": ".to_owned() + &"[".repeat(1000);
        for (text, shown) in [
            ("sm_90 ptx86 name", "sm_90 ptx86 name".to_owned()),
            ("sm_90 ptx86 name lost", "sm_90 ptx86 name lost".to_owned()),
            ("{}", "{}".to_owned()),
            (&long, format!("{}…", &long[..SHOWN])),
        ] {
            let found = format!("\n{text}").parse::<Baseline>();
            assert_eq!(found, Err(BaselineError { line: 2, text: shown }));
        }
    }
}
