//! The pinned code of every input: `snapshots/<input>.snap`, by function, for every strategy and GPU; and the atomics
//! of the MLIR examples, `snapshots/golden/<input>.snap`.
//!
//! The whole of each module is assembled and checked, and some modules are compared with the command's output.
//!
//! To accept a change: `INSTA_UPDATE=always cargo test -p ptx-atomics-cli --test it -- '[snapshots]'`, then read the difference.

use std::{fs, path::Path};

use itertools::{Itertools, iproduct};
use libtest_mimic::{Failed, Trial};
use ptx_atomics::{
    llvm::{Embed, Input, Options},
    lowering::{Strategy, Target, ptx::Scope},
    ptx_from_llvm_ir,
};
use ptx_atomics_golden::{Suite, listing::Show};
use strum::IntoEnumIterator;
use testing::{ASSEMBLERS, ptx_atomics, root, snapshot, success, target, trial};

const INPUTS: &str = "tests/inputs";

const GPUS: [(&str, Option<&str>); 6] =
    [("sm_35", None), ("sm_60", None), ("sm_70", None), ("sm_80", None), ("sm_90", Some("ptx86")), ("sm_100", None)];

pub fn trials() -> Vec<Trial> {
    // Before sm_70, all strategies give the same code. A separate test compares `auto` with `recommended`.
    let strategies = Strategy::iter().filter(|strategy| *strategy != Strategy::Auto);
    let suite = Suite::new(root().join(INPUTS))
        .snapshots(root().join("snapshots"))
        .gpus(GPUS.map(|(sm, ptx)| [sm].into_iter().chain(ptx).join("+")))
        .strategies(strategies.map(|strategy| strategy.to_string()))
        .strategies_for("sm_35", ["recommended"])
        .strategies_for("sm_60", ["recommended"])
        .options(|target| format!("default-scope={}", default_scope(target)))
        .show(Show::Code)
        .short_names();
    // A suite in the form that users have, for MLIR.
    let examples = Suite::new(root().join("examples/mlir"))
        .snapshots(root().join("snapshots/golden"))
        .gpus(["sm_70", "sm_90+ptx86"])
        .strategies(["recommended", "fence"])
        .on_cpu(2);
    let missing = ASSEMBLERS.iter().filter_map(|assembler| assembler.missing());
    let skipped = missing.map(|what| trial("assembling".into(), Some(what), || Ok(())));
    let pinned = suite.trials().into_iter().chain(examples.trials());
    let pinned =
        pinned.map(|trial| if snapshot::not_pinned().is_some() { trial.with_ignored_flag(true) } else { trial });
    pinned.chain(skipped).chain(as_the_command()).collect()
}

/// sm_35 has no read-modify-write of system scope.
fn default_scope(target: &Target) -> Scope {
    if target.sm.number() < 60 { Scope::Gpu } else { Scope::Sys }
}

/// One module of each input, for every GPU and strategy in turn, by the library and by the command.
fn as_the_command() -> Vec<Trial> {
    let files = fs::read_dir(root().join(INPUTS)).expect("the inputs");
    let files = files.map(|entry| entry.expect("an input").file_name().to_string_lossy().into_owned()).sorted();
    let all = iproduct!(GPUS, Strategy::iter()).collect_vec();
    let of_file = |(index, file): (usize, String)| {
        let text = fs::read_to_string(root().join(INPUTS).join(&file)).expect("an input");
        let named = text.lines().next().and_then(|line| line.strip_prefix("; GPUS:"));
        let has = |sm: &str| named.is_none_or(|gpus| gpus.contains(sm));
        let all = all.iter().filter(|((sm, _), _)| has(sm)).collect_vec();
        let ((sm, ptx), strategy) = *all[7 * index % all.len()];
        let name = format!("the command equals the library: {file}, {sm}, {strategy}");
        Trial::test(name, move || compare(&file, &target(sm, ptx), strategy))
    };
    files.enumerate().map(of_file).collect()
}

fn compare(file: &str, target: &Target, strategy: Strategy) -> Result<(), Failed> {
    let path = Path::new(INPUTS).join(file);
    // The library leaves operations to LLVM, as the command does, only if it is asked to.
    let native = Options { embed: Embed::Native, ..Options::new(*target) };
    let options = Options { policy: strategy.into(), default_scope: default_scope(target), ..native };
    let input = Input::new(file, fs::read(root().join(&path))?);
    let ptx = ptx_from_llvm_ir(&input, &options).map_err(|errors| errors.to_string())?;
    let mut command = ptx_atomics();
    command.arg("lower").arg(&path).args(["--mcpu", target.sm.name(), "--strategy", strategy.into()]);
    command.arg(format!("--mattr=+{}", target.ptx.feature()));
    command.arg(format!("--default-scope={}", default_scope(target)));
    assert_eq!(success(&mut command)?.into_bytes(), ptx);
    Ok(())
}
