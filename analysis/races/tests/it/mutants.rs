//! The test of a proof by mutants: the kernel is proved free, and its mutants are not.

use ptx_races::check::Outcome;

/// `verdict` proves the body. For each replacement (of the first occurrence of the text) it reports a race or a
/// divergent barrier, except for `open` replacements, for which it reports neither and proves nothing.
#[track_caller]
pub(crate) fn check(verdict: impl Fn(&str) -> (Outcome, String), body: &str, open: usize, mutants: &[(&str, &str)]) {
    let found = left_open(verdict, body, mutants);
    assert_eq!(found.len(), open, "mutants that are open:\n{}", found.join("\n"));
}

/// The replacements for which `verdict` has neither a proof nor a finding. None of them is proved.
#[track_caller]
pub(crate) fn left_open(
    verdict: impl Fn(&str) -> (Outcome, String),
    body: &str,
    mutants: &[(&str, &str)],
) -> Vec<String> {
    let (is, why) = verdict(body);
    assert_eq!(is, Outcome::Free, "{why}\n{body}");
    assert!(!mutants.is_empty());
    let mut open = Vec::new();
    for (from, to) in mutants {
        assert!(body.contains(from), "expected '{from}' in:\n{body}");
        let mutant = body.replacen(from, to, 1);
        match verdict(&mutant).0 {
            Outcome::Race | Outcome::Divergent => {}
            Outcome::Open => open.push(format!("'{to}' for '{from}'")),
            verdict => panic!("{verdict:?} with '{to}' for '{from}':\n{mutant}"),
        }
    }
    open
}
