//! Subjects of commits: the crates, a colon, and a sentence in the imperative that fits into a line of `git log`.

use std::{fmt, process::Command};

use libtest_mimic::{Failed, Trial};
use testing::{root, success};

use crate::scanner::words;

/// The commit after which the rule holds. A subject that is public already cannot change: set this to its commit.
const BASE: &str = "1cd0767b49cab5c1e9145a780d874acaea94d806";
const WIDTH: usize = 72;
const FORBIDDEN: [&str; 3] = ["what", "who", "nobody"];

#[derive(Debug, PartialEq)]
enum Fault {
    Form,
    Long(usize),
    Forbidden(&'static str),
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match self {
            Self::Form => write!(f, "expected `crate: verb object` or `crate, crate: verb object`, in lower case"),
            Self::Long(length) => write!(f, "{length} characters; the limit is {WIDTH}"),
            Self::Forbidden(word) => write!(f, "`{word}`: name the thing or the person"),
        }
    }
}

fn subject_fault(subject: &str) -> Option<Fault> {
    let is_crate = |name: &str| {
        !name.is_empty() && name.chars().all(|c| matches!(c, 'a'..='z' | '0'..='9' | '_' | '.' | '/' | '-'))
    };
    let has_form = subject.split_once(": ").is_some_and(|(crates, sentence)| {
        crates.split(", ").all(is_crate) && sentence.starts_with(|c: char| c.is_ascii_lowercase())
    });
    if !has_form {
        return Some(Fault::Form);
    }
    let length = subject.chars().count();
    if length > WIDTH {
        return Some(Fault::Long(length));
    }
    let words = words("md", subject);
    FORBIDDEN.into_iter().find(|word| words.iter().any(|used| used.text == *word)).map(Fault::Forbidden)
}

/// The trial of the history; listed as ignored where the history does not reach the base, as in a shallow clone.
pub fn trial() -> Trial {
    let git = || {
        let mut git = Command::new("git");
        git.arg("-C").arg(root());
        git
    };
    let has_history = success(git().args(["merge-base", "--is-ancestor", BASE, "HEAD"])).is_ok();
    let name = if has_history { "subjects of commits" } else { "subjects of commits (skipped: no history here)" };
    let test = move || {
        let range = format!("{BASE}..HEAD");
        let subjects = success(git().args(["log", "--no-merges", "--format=%h%x09%s", &range]))?;
        let fault = |line: &str| {
            let (commit, subject) = line.split_once('\t')?;
            Some(format!("  {commit} {subject}\n    {}\n", subject_fault(subject)?))
        };
        let faults: String = subjects.lines().filter_map(fault).collect();
        if faults.is_empty() { Ok(()) } else { Err(format!("subjects of commits:\n{faults}").into()) }
    };
    Trial::test(name, test).with_ignored_flag(!has_history)
}

pub fn finds_faults() -> Result<(), Failed> {
    let check = |subject: &str, expected: Option<Fault>| assert_eq!(subject_fault(subject), expected, "{subject}");
    check("testing: lint the English of each crate", None);
    check("memory-model, products/cli: give registers a file", None);
    check("Testing: lint the English", Some(Fault::Form));
    check("testing,cli: lint the English", Some(Fault::Form));
    check("testing: Lint the English", Some(Fault::Form));
    check("testing:lint the English", Some(Fault::Form));
    check("lint the English", Some(Fault::Form));
    check(": lint the English", Some(Fault::Form));
    check(&format!("isa: {}", "x".repeat(67)), None);
    check(&format!("isa: {}", "x".repeat(68)), Some(Fault::Long(73)));
    check("isa: check what is read", Some(Fault::Forbidden("what")));
    check("isa: rename `what`, and somewhat more", None);
    Ok(())
}
