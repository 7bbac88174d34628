//! The PTX of every input, pinned: `snapshots/<input>.<strategy>.<sm>.snap`, one trial for each.
//!
//! To accept a change: `INSTA_UPDATE=always cargo test --test snapshots`, then read the difference.

mod support;

use std::{collections::BTreeSet, fs, path::PathBuf};

use itertools::{Itertools, iproduct};
use libtest_mimic::{Arguments, Failed, Trial};
use ptx_atomics::lowering::Strategy;
use strum::IntoEnumIterator;
use support::{ASSEMBLERS, ptx_atomics, root, success, target};

const GPUS: [(&str, Option<&str>); 4] = [("sm_70", None), ("sm_80", None), ("sm_90", Some("ptx86")), ("sm_100", None)];

fn main() {
    let inputs =
        fs::read_dir(root().join("tests/inputs")).expect("the inputs").map(|entry| entry.expect("an input").path());
    let inputs = inputs.sorted().collect_vec();
    let cases = iproduct!(inputs, Strategy::iter(), GPUS).collect_vec();
    let names = cases.iter().map(|(input, strategy, (sm, _))| name(input, *strategy, sm)).collect::<BTreeSet<_>>();
    let mut trials: Vec<_> = cases
        .into_iter()
        .map(|(input, strategy, (sm, ptx))| {
            Trial::test(name(&input, strategy, sm), move || check(&input, strategy, sm, ptx))
        })
        .collect();
    trials.push(Trial::test("no snapshot without its trial", move || none_left(&names)));
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn name(input: &std::path::Path, strategy: Strategy, sm: &str) -> String {
    format!("{}.{strategy}.{sm}", input.file_stem().expect("a file name").to_string_lossy())
}

fn check(input: &PathBuf, strategy: Strategy, sm: &'static str, ptx: Option<&'static str>) -> Result<(), Failed> {
    let mut command = ptx_atomics();
    command.arg("lower").arg(input).args(["--mcpu", sm, "--strategy", strategy.into()]);
    command.args(ptx.map(|ptx| format!("--mattr=+{ptx}")));
    let text = success(&mut command)?;
    for assembler in ASSEMBLERS {
        let target = target(sm, ptx);
        if assembler.knows(&target) && assembler.missing().is_none() {
            assembler.assemble(&target, text.as_bytes())?;
        }
    }
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(root().join("snapshots"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name(input, strategy, sm), text));
    Ok(())
}

fn none_left(names: &BTreeSet<String>) -> Result<(), Failed> {
    let files = fs::read_dir(root().join("snapshots"))?.map(|entry| entry.map(|entry| entry.file_name()));
    let files: Vec<_> = files.try_collect()?;
    let stems = files.iter().filter_map(|file| file.to_str()?.strip_suffix(".snap"));
    let left = stems.filter(|stem| !names.contains(*stem)).join(", ");
    if left.is_empty() { Ok(()) } else { Err(format!("snapshots of no trial: {left}").into()) }
}
