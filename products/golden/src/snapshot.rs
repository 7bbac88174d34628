//! Pinned texts: files of insta. The message of a failed comparison has the difference, its effects, and the command to
//! accept it.

use std::{collections::BTreeSet, env, fmt::Write, fs, path::Path};

use itertools::Itertools;
use libtest_mimic::Failed;
use similar::TextDiff;

use crate::change::Change;

/// Lines that a difference shows around each change.
const CONTEXT: usize = 4;

/// The environment variable that must be `accept` before a text with fewer guarantees is accepted.
pub const WEAKER: &str = "GOLDEN_WEAKER";

/// A pinned text: the file `NAME.snap` in a folder.
#[derive(Clone, Copy, Debug)]
pub struct Snapshot<'a> {
    /// The folder of the file, absolute or from the current folder.
    pub folder: &'a Path,
    /// The name of the snapshot.
    pub name: &'a str,
    /// The edition of the compiler that made the text. If an edition makes another text, the file `NAME.EDITION.snap`
    /// has that text; if not, this file must not exist.
    pub edition: Option<&'a str>,
    /// The command that runs the test, for the message about accepting a text.
    pub command: &'a str,
}

impl Snapshot<'_> {
    /// Compares a text with the pinned one. `judge` describes the effects of a change, given the pinned text.
    ///
    /// If the variable `INSTA_UPDATE` is set, insta obeys it, and may accept the text. A text with fewer guarantees is
    /// accepted only if [`WEAKER`] allows it.
    ///
    /// # Errors
    /// The difference, its effects, and the command that accepts the text.
    pub fn compare(&self, text: &str, judge: impl FnOnce(&str) -> Option<Change>) -> Result<(), Failed> {
        let text = text.trim_end();
        let own = self.edition.map(|edition| format!("{}.{edition}", self.name));
        let common = self.pinned(self.name);
        if let Some(own) = own.as_ref().filter(|own| self.exists(own) && common == text) {
            let file = self.folder.join(format!("{own}.snap"));
            return Err(format!(
                "{} is not needed: remove it, since {}.snap has the same text",
                file.display(),
                self.name
            )
            .into());
        }
        let name = own.as_deref().filter(|own| self.exists(own) || common != text).unwrap_or(self.name);
        let pinned = if self.exists(name) { self.pinned(name) } else { common };
        if self.exists(name) && pinned == text {
            return Ok(());
        }
        let change = if pinned.is_empty() { None } else { judge(&pinned) };
        let is_weaker = change.as_ref().is_some_and(|change| !change.weaker.is_empty());
        let may_be_weaker = env::var_os(WEAKER).is_some_and(|value| value == "accept");
        if env::var_os("INSTA_UPDATE").is_some() && (!is_weaker || may_be_weaker) {
            let mut settings = insta::Settings::clone_current();
            settings.set_snapshot_path(fs::canonicalize(self.folder).unwrap_or_else(|_| self.folder.to_owned()));
            settings.set_prepend_module_to_snapshot(false);
            settings.set_omit_expression(true);
            settings.bind(|| insta::assert_snapshot!(name, text));
            return Ok(());
        }
        let path = self.folder.join(format!("{name}.snap"));
        let mut message = match &change {
            Some(change) => format!("{change}\n"),
            None => String::new(),
        };
        let difference = difference(&pinned, text);
        writeln!(message, "{} differs (-: the snapshot, +: now):\n{difference}", path.display())?;
        let weaker = if is_weaker { format!("{WEAKER}=accept ") } else { String::new() };
        let accept = format!("{weaker}INSTA_UPDATE=always {}", self.command);
        write!(
            message,
            "To accept {}, run `{accept}`, then read the difference.",
            if is_weaker { "that it guarantees LESS" } else { "it" }
        )?;
        Err(message.into())
    }

    /// The pinned text without an edition; empty if the file does not exist.
    pub fn text(&self) -> String {
        self.pinned(self.name)
    }

    fn exists(&self, name: &str) -> bool {
        self.folder.join(format!("{name}.snap")).exists()
    }

    /// The text of a snapshot; empty if the file does not exist.
    fn pinned(&self, name: &str) -> String {
        let file = fs::read_to_string(self.folder.join(format!("{name}.snap"))).unwrap_or_default();
        file.split_once("\n---\n").map_or("", |(_, pinned)| pinned).trim_end().to_owned()
    }
}

/// The changes between two texts. Each change follows the lines that contain it by indentation: its function, its
/// group.
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

/// The lines that contain the line at an index: the last preceding line with less indentation, and so on, from the
/// outermost.
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

/// Whether every snapshot of a folder has one of these names, with or without an edition.
///
/// # Errors
/// The snapshots without a name, or an error if the folder has no snapshot.
pub fn none_left(folder: &Path, names: &BTreeSet<String>) -> Result<(), Failed> {
    let entries = fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))?;
    let files: Vec<_> = entries.map(|entry| entry.map(|entry| entry.file_name())).try_collect()?;
    let found = files.iter().filter_map(|file| file.to_str()?.strip_suffix(".snap")).collect_vec();
    if found.is_empty() {
        return Err(format!("{} has no snapshots", folder.display()).into());
    }
    let is_known =
        |file: &str| names.contains(file) || file.rsplit_once('.').is_some_and(|(name, _)| names.contains(name));
    let left = found.iter().filter(|file| !is_known(file)).map(|file| format!("{file}.snap")).join(", ");
    if left.is_empty() {
        Ok(())
    } else {
        Err(format!("snapshots without a trial in {}: {left}", folder.display()).into())
    }
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

    fn pin(folder: &Path, edition: Option<&str>, text: &str, change: Option<Change>) -> Result<(), String> {
        let snapshot = Snapshot { folder, name: "f", edition, command: "cargo test" };
        snapshot.compare(text, |_| change).map_err(|failed| failed.message().unwrap_or_default().to_owned())
    }

    #[test]
    fn texts_of_editions() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| {
            fs::write(folder.path().join(name), format!("---\nsource: x\n---\n{text}\n")).expect("a file");
        };
        let check = |edition, text: &str, expected: Result<(), &str>| {
            let found = pin(folder.path(), edition, text, None);
            match expected {
                Ok(()) => assert_eq!(found, Ok(())),
                Err(words) => assert!(found.as_ref().is_err_and(|said| said.contains(words)), "{found:?}"),
            }
        };
        check(None, "text", Err("+text"));
        write("f.snap", "text");
        check(None, "text\n", Ok(()));
        check(Some("new"), "text", Ok(()));
        check(None, "other", Err("To accept it, run `INSTA_UPDATE=always cargo test`"));
        check(Some("new"), "other", Err("f.new.snap differs"));
        write("f.new.snap", "other");
        check(Some("new"), "other", Ok(()));
        check(Some("new"), "text", Err("f.new.snap is not needed"));
        let names = |names: &[&str]| none_left(folder.path(), &names.iter().map(|name| (*name).to_owned()).collect());
        assert!(names(&["f"]).is_ok());
        let left = names(&["g"]).expect_err("f is left");
        assert!(left.message().is_some_and(|said| said.contains("f.snap") && said.contains("f.new.snap")), "{left:?}");
    }

    #[test]
    fn a_weaker_text_is_marked() {
        let folder = tempfile::tempdir().expect("a folder");
        fs::write(folder.path().join("f.snap"), "---\n---\nold\n").expect("a file");
        let weaker = Change { weaker: vec!["f: no acquire [sm_90]".into()], ..Change::default() };
        let said = pin(folder.path(), None, "new", Some(weaker)).expect_err("it differs");
        assert!(said.starts_with("WEAKER: "), "{said}");
        assert!(
            said.contains("f: no acquire [sm_90]") && said.contains("GOLDEN_WEAKER=accept INSTA_UPDATE=always"),
            "{said}"
        );
    }
}
