//! Known findings, as a file of JSON.

use std::{collections::BTreeMap, fs, path::Path};

use ptx_atomics::pass::{Diagnostic, Errors};
use serde::{Deserialize, Serialize};

use ptx_atomics::check::{Severity, View};

use crate::{format, input::cannot};

/// A finding in a form that does not change when lines are added before it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Known {
    file: String,
    kernel: String,
    rule: Option<String>,
    /// The message, without line numbers.
    message: String,
}

/// The number of times that each finding is known.
#[derive(Default)]
pub struct Baseline(BTreeMap<Known, usize>);

impl Known {
    fn from_view(view: &View<'_>) -> Self {
        Self {
            file: view.file.clone(),
            kernel: view.kernel.clone(),
            rule: view.finding.rule.map(|rule| rule.name().to_owned()),
            message: view.message_without_places(),
        }
    }
}

impl Baseline {
    /// # Errors
    /// The file cannot be read, or does not have the format of [`Self::write`].
    pub fn read(path: &Path) -> Result<Self, Errors> {
        let text = fs::read_to_string(path).map_err(|error| cannot("read", path, &error))?;
        let known: Vec<Known> = serde_json::from_str(&text).map_err(|error| {
            let help = "write a baseline by `--write-baseline FILE`";
            Diagnostic::new(format!("'{}' is not a baseline: {error}", path.display())).help(help)
        })?;
        let mut baseline = Self::default();
        known.into_iter().for_each(|known| *baseline.0.entry(known).or_default() += 1);
        Ok(baseline)
    }

    /// The text of a baseline with findings.
    pub fn text<'v>(views: impl Iterator<Item = &'v View<'v>>) -> String {
        let mut known: Vec<Known> = views.filter(|view| is_kept(view)).map(Known::from_view).collect();
        known.sort();
        format::json(&known)
    }

    /// Removes the known findings, each at most as often as it is known, and returns their number.
    pub fn remove(&mut self, views: &mut Vec<View<'_>>) -> usize {
        let before = views.len();
        views.retain(|view| match self.0.get_mut(&Known::from_view(view)) {
            Some(left @ 1..) if is_kept(view) => {
                *left -= 1;
                false
            }
            _ => true,
        });
        before - views.len()
    }

    /// The number of known findings that the check did not find.
    pub fn unmatched_count(&self) -> usize {
        self.0.values().sum()
    }
}

/// Whether a baseline has the finding. Parts that are not checked stay in every report and count.
fn is_kept(view: &View<'_>) -> bool {
    view.finding.severity <= Severity::Warning
}
