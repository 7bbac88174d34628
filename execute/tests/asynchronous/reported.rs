//! Bugs that others reported are races, and behind their fixes there are none.

use std::{fs, thread};

use ptx_execute::{FindingKind, Options};
use ptx_isa::Module;
use testing::root;

use super::run;

/// The bytes of the boxes of tensor maps.
const BOXES: [(&str, &[u32]); 10] = [
    ("cudnn_784", &[2048]),
    ("cula_114", &[2048]),
    ("cutlass_3647", &[16384, 16384]),
    ("deepgemm_389", &[4096, 1024, 512]),
    ("fastvideo_1819", &[4096]),
    ("flashkda_24_empty", &[2048, 2048]),
    ("flashkda_24_init", &[2048]),
    ("flashkda_24_store", &[4096, 8192]),
    ("tilelang_2634", &[4096, 1024]),
    ("transformerengine_2695", &[2048]),
];

/// The bugs that are not shown, and why.
const NOT_SHOWN: [(&str, &str); 1] = [(
    "flashkda_24_init",
    "the thread that initializes is the one that copies: only the strictest reading wants the fence",
)];

/// What is wrong behind the fix, too.
const NOT_FIXED: [(&str, &str); 3] = [
    ("cutlass_3647", "one tensor map is used for boxes of two sizes"),
    ("cutlass_3652", "the wait for odd phases passes at once where the even one is not over"),
    (
        "facebook_triton_2024",
        "the leader ends a second phase before a slow warp has seen the first, which then waits for ever",
    ),
];

#[test]
fn reported_bugs_are_races() {
    let files = fs::read_dir(root().join("tests/async/reported")).expect("the folder of reported bugs");
    let mut files: Vec<_> = files.map(|file| file.expect("a file of the folder").path()).collect();
    files.sort();
    let wrong: Vec<String> = thread::scope(|scope| {
        let threads: Vec<_> = files.iter().map(|path| scope.spawn(move || wrong_verdicts(path))).collect();
        threads.into_iter().flat_map(|thread| thread.join().expect("a verdict")).collect()
    });
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// What is said of a reported bug, before its fix and behind it, that is not so.
fn wrong_verdicts(path: &std::path::Path) -> Vec<String> {
    let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
    let fixed = fs::read_to_string(path).expect("a text");
    let before: String = fixed
        .lines()
        .filter(|line| !line.trim_end().ends_with("// the fix"))
        .map(|line| line.replacen("// before: ", "", 1) + "\n")
        .collect();
    let is_in = |list: &[(&str, &str)]| list.iter().any(|(other, _)| *other == name);
    let (old, new) = (found(&name, &before), found(&name, &fixed));
    let cases = [
        (old.is_empty() != is_in(&NOT_SHOWN), "before the fix", old),
        (new.is_empty() == is_in(&NOT_FIXED), "behind the fix", new),
    ];
    cases
        .into_iter()
        .filter(|(is_wrong, ..)| *is_wrong)
        .map(|(_, when, found)| format!("{name} {when}: {found:?}"))
        .collect()
}

/// What is found in some execution.
fn found(name: &str, text: &str) -> Vec<String> {
    let module: Module = text.parse().expect("PTX");
    let boxes = BOXES.iter().find(|(other, _)| *other == name).map_or(&[][..], |(_, boxes)| boxes);
    let grid = match () {
        () if text.contains(".reqnctapercluster 2") => 2,
        // What is taken has not begun.
        () if text.contains("try_cancel") => 96,
        () => 1,
    };
    let mut found = Vec::new();
    for (seed, number) in [(0, 3), (1, 2), (2, 4), (3, 6), (0, 0)] {
        let report = run(&module, grid, number, boxes, Options::default().of_seed(seed));
        for finding in report.findings {
            let other = finding.other.map_or(0, |site| site.line);
            if !matches!(finding.kind, FindingKind::SameValue | FindingKind::Uninitialized) {
                let text = format!("{} of lines {other} and {}: {}", finding.kind, finding.site.line, finding.message);
                if !found.contains(&text) {
                    found.push(text);
                }
            }
        }
    }
    found
}
