//! Findings that are known, as a file of JSON.

use std::{collections::BTreeMap, fs, path::Path};

use ptx_atomics::pass::{Diagnostic, Errors};
use serde::{Deserialize, Serialize};

use super::placed::{Level, Placed};
use crate::{format, input::cannot};

/// A finding as it stays when lines are added in front of it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    file: String,
    kernel: String,
    rule: Option<String>,
    /// Without the numbers of lines.
    message: String,
}

/// How often each finding is known.
#[derive(Default)]
pub struct Baseline(BTreeMap<Known, usize>);

impl Known {
    fn of(placed: &Placed) -> Self {
        Self {
            file: placed.file.clone(),
            kernel: placed.kernel.clone(),
            rule: placed.rule.map(|rule| rule.to_string()),
            message: placed.message_without_lines(),
        }
    }
}

impl Baseline {
    /// # Errors
    /// The file cannot be read, or is none that [`Self::write`] has written.
    pub fn read(path: &Path) -> Result<Self, Errors> {
        let text = fs::read_to_string(path).map_err(|error| cannot("read", path, &error))?;
        let known: Vec<Known> = serde_json::from_str(&text).map_err(|error| {
            let help = "`--write-baseline FILE` writes one";
            Diagnostic::new(format!("'{}' is no baseline: {error}", path.display())).help(help)
        })?;
        let mut baseline = Self::default();
        known.into_iter().for_each(|known| *baseline.0.entry(known).or_default() += 1);
        Ok(baseline)
    }

    /// The text of a baseline of findings.
    pub fn text(findings: &[Placed]) -> String {
        let mut known: Vec<Known> = findings.iter().filter(|placed| is_kept(placed)).map(Known::of).collect();
        known.sort();
        format::json(&known)
    }

    /// Removes the findings that are known, each as often as it is; how many these are.
    pub fn remove(&mut self, findings: &mut Vec<Placed>) -> usize {
        let before = findings.len();
        findings.retain(|placed| match self.0.get_mut(&Known::of(placed)) {
            Some(left @ 1..) if is_kept(placed) => {
                *left -= 1;
                false
            }
            _ => true,
        });
        before - findings.len()
    }

    /// How many known findings there were not.
    pub fn left(&self) -> usize {
        self.0.values().sum()
    }
}

/// What is not checked stays so, and is counted always.
fn is_kept(placed: &Placed) -> bool {
    matches!(placed.level, Level::Error | Level::Possible | Level::Warning)
}
