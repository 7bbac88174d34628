//! Reported bugs of other projects: each is a race, and its fix has no findings.

use std::thread;

use ptx_execute::{FaultKind, RunOptions};
use ptx_isa::Module;
use testing::reported::{INPUTS, Reported, boxes, reported, run};

/// The bugs that are not found, each with the reason.
const NOT_SHOWN: [(&str, &str); 1] = [(
    "flashkda_24_init",
    "the thread that initializes is the one that copies: only the strictest reading wants the fence",
)];

/// The bugs whose fix still has a finding, each with the reason.
const NOT_FIXED: [(&str, &str); 3] = [
    ("cutlass_3647", "one tensor map is used for boxes of two sizes"),
    ("cutlass_3652", "the wait for odd phases passes at once if the even phase is not over"),
    (
        "facebook_triton_2024",
        "the leader ends a second phase before a slow warp has seen the first, which then waits for ever",
    ),
];

#[test]
fn reported_bugs_are_races() {
    let all = reported();
    let wrong: Vec<String> = thread::scope(|scope| {
        let threads: Vec<_> = all.iter().map(|bug| scope.spawn(move || wrong_verdicts(bug))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("a verdict")).collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// The verdicts of a reported bug, before and after its fix, that are wrong.
fn wrong_verdicts(Reported { name, before, fixed }: &Reported) -> Vec<String> {
    let is_in = |list: &[(&str, &str)]| list.iter().any(|(other, _)| other == name);
    let (old, new) = (collect_findings(name, before), collect_findings(name, fixed));
    let cases = [
        (old.is_empty() != is_in(&NOT_SHOWN), "before the fix", old),
        (new.is_empty() == is_in(&NOT_FIXED), "after the fix", new),
    ];
    cases
        .into_iter()
        .filter(|(is_wrong, ..)| *is_wrong)
        .map(|(_, when, found)| format!("{name} {when}: {found:?}"))
        .collect()
}

/// The findings in several executions.
fn collect_findings(name: &str, text: &str) -> Vec<String> {
    let module: Module = text.parse().expect("PTX");
    let kernel = module.functions().find(|function| function.body.is_some()).expect("a kernel");
    let mut found = Vec::new();
    for (seed, number) in INPUTS {
        let report =
            run(&module, kernel, number, boxes(name), RunOptions::default().of_seed(seed)).expect("it is launched");
        for finding in report.findings {
            let other = finding.other.map_or(0, |site| site.at.line);
            if !matches!(finding.kind, FaultKind::SameValue | FaultKind::Uninitialized) {
                let text =
                    format!("{} of lines {other} and {}: {}", finding.kind, finding.site.at.line, finding.message);
                if !found.contains(&text) {
                    found.push(text);
                }
            }
        }
    }
    found
}
