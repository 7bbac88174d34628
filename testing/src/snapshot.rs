//! Pinned texts: insta's files, compared so that a failure says everything.

use std::{collections::BTreeSet, env, fmt::Write, fs};

use itertools::Itertools;
use libtest_mimic::Failed;
use similar::TextDiff;

use crate::{llvm_version, root};

/// Lines that a difference shows around each change.
const CONTEXT: usize = 4;

/// The version of LLVM whose texts the snapshots have.
const PINNED: u32 = 22;

/// Behind the name of a snapshot that holds for the LLVM under test alone.
fn suffix() -> Option<String> {
    Some(llvm_version()).filter(|version| *version != PINNED).map(|version| format!(".llvm{version}"))
}

/// Compares a text with the snapshot `folder/name.snap`; `folder` is a path from the root. Where another LLVM makes another
/// text, that stands in `folder/name.llvm23.snap`, and there is no such file where it does not.
///
/// Where the variable `INSTA_UPDATE` is set, insta does what it says, as to accept the text.
///
/// # Errors
/// The difference, and the command that accepts it.
pub fn pin(folder: &str, name: &str, text: &str) -> Result<(), Failed> {
    let own = suffix().map(|suffix| format!("{name}{suffix}"));
    let exists = |name: &str| root().join(folder).join(format!("{name}.snap")).exists();
    let common = pinned(folder, name);
    if let Some(own) = own.as_ref().filter(|own| exists(own) && common == text.trim_end()) {
        return Err(
            format!("{folder}/{own}.snap is not needed: remove it, since {name}.snap says what it has to say").into()
        );
    }
    let name = own.as_deref().filter(|own| exists(own) || common != text.trim_end()).unwrap_or(name);
    if env::var_os("INSTA_UPDATE").is_some() {
        let mut settings = insta::Settings::clone_current();
        settings.set_snapshot_path(root().join(folder));
        settings.set_prepend_module_to_snapshot(false);
        settings.set_omit_expression(true);
        settings.bind(|| insta::assert_snapshot!(name, text));
        return Ok(());
    }
    let path = format!("{folder}/{name}.snap");
    let pinned = if exists(name) { pinned(folder, name) } else { common };
    let text = text.trim_end();
    if pinned == text {
        return Ok(());
    }
    let test = env::current_exe()?;
    let test = test.file_stem().unwrap_or_default().to_string_lossy();
    let test = test.rsplit_once('-').map_or(&*test, |(test, _)| test);
    let difference = difference(&pinned, text);
    Err(format!(
        "{path} differs (-: the snapshot, +: now):\n{difference}\n\
         To accept the change, run `INSTA_UPDATE=always cargo test -p ptx-atomics-cli --test {test}`, then read the difference."
    )
    .into())
}

/// The text of a snapshot; empty if there is none.
fn pinned(folder: &str, name: &str) -> String {
    let file = fs::read_to_string(root().join(folder).join(format!("{name}.snap"))).unwrap_or_default();
    file.split_once("\n---\n").map_or("", |(_, pinned)| pinned).trim_end().to_owned()
}

/// The changes between two texts, each below the lines around it by indentation: its function, its group.
fn difference(old: &str, new: &str) -> String {
    let lines = old.lines().collect_vec();
    let diff = TextDiff::from_lines(old, new);
    let mut text = String::new();
    for hunk in diff.unified_diff().missing_newline_hint(false).context_radius(CONTEXT).iter_hunks() {
        let start = hunk.ops().first().map_or(0, |op| op.old_range().start);
        writeln!(text, "{}\n{hunk}", around(&lines, start).join(" > ")).expect("a string takes text");
    }
    text
}

/// The lines that hold the one at an index: the last in front of it with less indentation, and so on, from the outermost.
fn around<'t>(lines: &[&'t str], index: usize) -> Vec<&'t str> {
    let indentation = |line: &str| line.len() - line.trim_start().len();
    let (above, below) = lines.split_at(index);
    let mut least = below.iter().find(|line| !line.is_empty()).map_or(0, |line| indentation(line));
    let mut found = Vec::new();
    for line in above.iter().rev().filter(|line| !line.is_empty()) {
        if indentation(line) < least {
            least = indentation(line);
            found.push(line.trim());
        }
    }
    found.reverse();
    found
}

/// Whether every snapshot of a folder has one of these names.
///
/// # Errors
/// The others.
pub fn none_left(folder: &str, names: &BTreeSet<String>) -> Result<(), Failed> {
    let files = fs::read_dir(root().join(folder))?.map(|entry| entry.map(|entry| entry.file_name()));
    let files: Vec<_> = files.try_collect()?;
    let found = files.iter().filter_map(|file| file.to_str()?.strip_suffix(".snap")).collect_vec();
    if found.is_empty() {
        return Err(format!("{folder} has no snapshots").into());
    }
    let name = |file: &str| file.rsplit_once(".llvm").map_or(file, |(name, _)| name).to_owned();
    let left = found.iter().filter(|file| !names.contains(&name(file))).join(", ");
    if left.is_empty() { Ok(()) } else { Err(format!("snapshots of no trial in {folder}: {left}").into()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_says_where_it_is() {
        let old = "f\n  sm_70\n      a\n      b\n      c\n      d\n      e\n      old\n\ng\n  sm_70\n      a\n";
        let found = difference(old, &old.replace("old", "new"));
        let expected = "f > sm_70\n@@ -4,9 +4,9 @@\n       b\n       c\n       d\n       e\n-      old\n+      new\n \n \
                        g\n   sm_70\n       a\n\n";
        assert_eq!(found, expected);
    }

    #[test]
    fn a_snapshot_that_is_missing_or_of_no_trial_fails() {
        let message =
            |result: Result<(), Failed>| result.expect_err("it fails").message().unwrap_or_default().to_owned();
        let missing = message(pin("snapshots", "of nothing", "text\n"));
        assert!(missing.contains("+text") && missing.contains("INSTA_UPDATE=always"), "{missing}");
        let left = message(none_left("snapshots", &BTreeSet::new()));
        assert!(left.contains("fences, ") || left.contains(", fences"), "{left}");
    }
}
