//! The PTX of every input, pinned: `snapshots/<input>.<strategy>.<sm>.snap`, one trial for each.
//!
//! To accept a change: `INSTA_UPDATE=always cargo test --test snapshots`, then read the difference.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
};

use itertools::{Itertools, iproduct};
use libtest_mimic::{Arguments, Failed, Trial};
use ptx_atomics_lowering::{Strategy, Target};
use strum::IntoEnumIterator;
use testing::{ASSEMBLERS, Assembler, ptx_atomics, root, success, target};

const GPUS: [(&str, Option<&str>); 6] =
    [("sm_35", None), ("sm_60", None), ("sm_70", None), ("sm_80", None), ("sm_90", Some("ptx86")), ("sm_100", None)];

/// The strategies that are pinned for a GPU. Before sm_70 all give the same, and `auto` is the recommended one wherever its
/// own test says so.
fn strategies(sm: &str) -> Vec<Strategy> {
    match sm {
        "sm_35" | "sm_60" => vec![Strategy::Recommended],
        _ => Strategy::iter().filter(|strategy| *strategy != Strategy::Auto).collect(),
    }
}

/// The GPUs that have the operations of an input: all, but where its first line names some.
fn has(input: &Path, sm: &str) -> bool {
    let text = fs::read_to_string(input).expect("an input");
    let named = text.lines().next().and_then(|line| line.strip_prefix("; GPUS:"));
    named.is_none_or(|gpus| gpus.split_whitespace().any(|gpu| gpu == sm))
}

fn main() {
    let inputs =
        fs::read_dir(root().join("tests/inputs")).expect("the inputs").map(|entry| entry.expect("an input").path());
    let inputs = inputs.sorted().collect_vec();
    let pinned = iproduct!(inputs, GPUS).filter(|(input, (sm, _))| has(input, sm));
    let cases = pinned.flat_map(|(input, gpu)| strategies(gpu.0).into_iter().map(move |s| (input.clone(), s, gpu)));
    let cases = cases.collect_vec();
    let names = cases.iter().map(|(input, strategy, (sm, _))| name(input, *strategy, sm)).collect::<BTreeSet<_>>();
    let mut trials: Vec<_> = cases
        .into_iter()
        .map(|(input, strategy, (sm, ptx))| {
            Trial::test(name(&input, strategy, sm), move || check(&input, strategy, sm, ptx))
        })
        .collect();
    trials.push(Trial::test("no snapshot without its trial", move || none_left(&names)));
    for (assembler, (sm, ptx)) in iproduct!(ASSEMBLERS, GPUS) {
        let target = target(sm, ptx);
        if assembler.knows(&target) {
            let name = format!("{} accepts the snapshots for {target}", assembler.name);
            trials.push(testing::trial(name, assembler.missing(), move || accepted(&assembler, &target)));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn name(input: &Path, strategy: Strategy, sm: &str) -> String {
    format!("{}.{strategy}.{sm}", input.file_stem().expect("a file name").to_string_lossy())
}

fn check(input: &PathBuf, strategy: Strategy, sm: &'static str, ptx: Option<&'static str>) -> Result<(), Failed> {
    let mut command = ptx_atomics();
    command.arg("lower").arg(input).args(["--mcpu", sm, "--strategy", strategy.into()]);
    // It has no rmw of system scope.
    command.args((sm == "sm_35").then_some("--default-scope=gpu"));
    command.args(ptx.map(|ptx| format!("--mattr=+{ptx}")));
    let text = success(&mut command)?;
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(root().join("snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name(input, strategy, sm), text));
    Ok(())
}

/// Assembles every pinned text for a GPU.
fn accepted(assembler: &Assembler, target: &Target) -> Result<(), Failed> {
    let mut assembled = 0;
    for entry in fs::read_dir(root().join("snapshots"))? {
        let path = entry?.path();
        if path.to_string_lossy().ends_with(&format!(".{}.snap", target.sm)) {
            let snapshot = fs::read_to_string(&path)?;
            let (_, ptx) = snapshot.split_once("\n---\n").ok_or("no header")?;
            assembler.assemble(target, ptx.as_bytes())?;
            assembled += 1;
        }
    }
    if assembled > 0 { Ok(()) } else { Err("no snapshot for this GPU".into()) }
}

fn none_left(names: &BTreeSet<String>) -> Result<(), Failed> {
    let files = fs::read_dir(root().join("snapshots"))?.map(|entry| entry.map(|entry| entry.file_name()));
    let files: Vec<_> = files.try_collect()?;
    let stems = files.iter().filter_map(|file| file.to_str()?.strip_suffix(".snap"));
    let left = stems.filter(|stem| !names.contains(*stem)).join(", ");
    if left.is_empty() { Ok(()) } else { Err(format!("snapshots of no trial: {left}").into()) }
}
