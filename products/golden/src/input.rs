//! The inputs of a suite: the files in its folder, and the directives in each file.

use std::path::{Path, PathBuf};

use itertools::Itertools;
use ptx_atomics::ptx::{Sm, Target};
use walkdir::WalkDir;

/// The directives in the comments of an input.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Directives {
    /// `GPUS: sm_70 sm_90+ptx86`: the GPUs of this input, instead of the suite's GPUs. A GPU without a PTX version has
    /// the version of the suite.
    pub gpus: Option<Vec<String>>,
    /// `STRATEGIES: fence`: the strategies, instead of the suite's.
    pub strategies: Option<Vec<String>>,
    /// `REJECTED: sm_35`: the GPUs for which the input must not compile.
    pub rejected: Vec<String>,
}

impl Directives {
    /// Reads the comments of a text: lines that begin with `;`, `//` or `#`.
    pub fn read_text(text: &str) -> Self {
        let mut found = Self::default();
        for line in text.lines().map(str::trim_start) {
            let comment = [";", "//", "#"].iter().find_map(|start| line.strip_prefix(start));
            let Some((key, values)) = comment.and_then(|comment| comment.trim_start().split_once(':')) else {
                continue;
            };
            let values = values.split([' ', ',']).map(str::trim).filter(|value| !value.is_empty()).map(str::to_owned);
            match key {
                "GPUS" => found.gpus.get_or_insert_default().extend(values),
                "STRATEGIES" => found.strategies.get_or_insert_default().extend(values),
                "REJECTED" => found.rejected.extend(values),
                _ => {}
            }
        }
        found
    }
}

/// Parses a GPU: `sm_90`, with the lowest PTX version that has it, or `sm_90+ptx86`.
pub fn target(words: &str) -> Result<Target, String> {
    let (sm, ptx) = words.split_once('+').map_or((words, None), |(sm, ptx)| (sm, Some(ptx)));
    let sm: Sm = sm.trim().parse().map_err(|error| format!("{words}: {error}"))?;
    let ptx = ptx.map(|ptx| ptx.trim().parse()).transpose().map_err(|error| format!("{words}: {error}"))?;
    Target::new(sm, ptx).map_err(|error| format!("{words}: {error}"))
}

/// The files below a folder that have one of these extensions, in the order of their paths. The folder `without` is
/// skipped.
pub fn files(folder: &Path, extensions: &[String], without: &Path) -> Result<Vec<PathBuf>, String> {
    let entries = WalkDir::new(folder).sort_by_file_name().into_iter().filter_entry(|entry| entry.path() != without);
    let files: Vec<_> = entries
        .map(|entry| entry.map(|entry| entry.into_path()).map_err(|error| error.to_string()))
        .filter_ok(|path| path.is_file())
        .try_collect()?;
    let extension = |path: &Path| path.extension().map(|found| found.to_string_lossy().into_owned());
    Ok(files.into_iter().filter(|path| extension(path).is_some_and(|found| extensions.contains(&found))).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_of_every_language() {
        let check = |text: &str, expected: &str| {
            let Directives { gpus, strategies, rejected } = Directives::read_text(text);
            let list = |words: Option<Vec<String>>| words.map_or("-".into(), |words| words.join(" "));
            assert_eq!(format!("{} | {} | {}", list(gpus), list(strategies), rejected.join(" ")), expected, "{text}");
        };
        check("; GPUS: sm_70 sm_90+ptx86\ndefine void @f() {\n  ret void\n}", "sm_70 sm_90+ptx86 | - | ");
        check("// REJECTED: sm_35, sm_60\n// STRATEGIES: fence\nint x;", "- | fence | sm_35 sm_60");
        check("# GPUS: sm_80\n  # GPUS: sm_90", "sm_80 sm_90 | - | ");
        check("GPUS: sm_80\n; gpus: sm_80\n; about GPUS: sm_80", "- | - | ");
    }

    #[test]
    fn targets() {
        let check = |words: &str, expected: &str| {
            let found = target(words).map_or_else(|error| error, |target| format!("{} {}", target.sm, target.ptx));
            assert!(found.starts_with(expected), "{found}");
        };
        check("sm_90", "sm_90 7.8");
        check("sm_90+ptx86", "sm_90 8.6");
        check("sm_9", "sm_9: ");
        check("sm_90+ptx12", "sm_90+ptx12: ");
        check("sm_100+ptx78", "sm_100+ptx78: ");
    }
}
