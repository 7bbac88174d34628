//! The plugin in every program that loads it.

mod hosts;
#[path = "../support/mod.rs"]
mod support;

use hosts::{GPU, HOSTS, Host, PTX, instructions, llc};
use itertools::iproduct;
use libtest_mimic::{Arguments, Failed, Trial};
use support::{
    ASSEMBLERS,
    examples::{Example, examples},
    ptx_atomics, root, success, target,
};

const LEVELS: [&str; 3] = ["0", "2", "3"];

fn main() {
    let arguments = Arguments::from_args();
    if let Err(error) = hosts::build() {
        eprintln!("error: the plugin does not build: {error:?}");
        std::process::exit(1);
    }
    let mut trials = Vec::new();
    trials.extend(every_example());
    libtest_mimic::run(&arguments, trials).exit();
}

/// Every host × level × example.
fn every_example() -> impl Iterator<Item = Trial> {
    let cases = iproduct!(HOSTS, LEVELS, examples()).filter(|(host, _, example)| host.takes(example));
    let assembler = ASSEMBLERS.iter().find_map(|assembler| assembler.missing());
    cases.map(move |(host, level, example)| {
        let missing = host.missing().or(Host::Llc.missing()).or(example.compiler().1).or(assembler);
        let name = format!("{} -O{level} {}", host.name(), example.path);
        support::trial(name, missing, move || check(host, level, &example))
    })
}

/// The host's PTX is what the command gives for the module that the pass found; it is strong enough, and assembles.
fn check(host: Host, level: &str, example: &Example) -> Result<(), Failed> {
    let compiled = host.compile(&root().join("examples").join(&example.path), level)?;
    let file = |text: &str, suffix: &str| -> Result<tempfile::NamedTempFile, Failed> {
        let file = tempfile::Builder::new().suffix(suffix).tempfile()?;
        std::fs::write(file.path(), text)?;
        Ok(file)
    };
    let (before, ptx) = (file(&compiled.before, ".ll")?, file(&compiled.ptx, ".ptx")?);
    let lowered = success(ptx_atomics().args(["lower", "--emit", "llvm-ir", "--mcpu", GPU]).arg(before.path()))?;
    let ours = llc(&lowered, level, host.code_generation())?;
    if instructions(&ours, level) != instructions(&compiled.ptx, level) {
        return Err(format!("the command gives\n{ours}\nthe host\n{}", compiled.ptx).into());
    }
    success(ptx_atomics().arg("check").arg("--ir").arg(before.path()).arg("--ptx").arg(ptx.path()))?;
    let target = target(GPU, Some(PTX));
    let mut known = ASSEMBLERS.iter().filter(|assembler| assembler.knows(&target));
    known.try_for_each(|assembler| assembler.assemble(&target, compiled.ptx.as_bytes()))
}
