//! Kernels as litmus tests: sources of every language, the words of a test, what is unknown, and what is wrong.
//!
//! The examples are their own tests, and hold. Each of their orderings is lost once, and other mistakes are made in them: then
//! a test does not hold, and its execution shows the line.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use itertools::Itertools;
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;
use testing::{
    examples::{rustc_missing, to_llvm_ir},
    exists, ptx_atomics, root, success, tool, trial,
};

fn main() {
    let cases = CASES.iter().map(|case| trial(case.name.into(), missing(case.file), || check(case)));
    let holding = HOLDING.iter().map(|file| trial(format!("{file} holds"), missing(file), || holds(file)));
    let mistakes = MISTAKES.iter().map(|mistake| {
        trial(format!("{}: {} -> {}", mistake.file, mistake.from, mistake.to), missing(mistake.file), || wrong(mistake))
    });
    let weakened = WEAKENED.iter().map(|file| trial(format!("{file}, weakened"), missing(file), || weakened(file)));
    let rest: [(&str, Option<&str>, fn() -> Result<(), Failed>); 4] = [
        ("flags say what comments say", None, flags),
        ("--ptx writes what is checked", missing("kernel.cu"), written),
        ("PTX of nvcc", (!nvcc().exists()).then_some("nvcc"), of_nvcc),
        ("the exit status of --must-hold", None, must_hold),
    ];
    let rest = rest.into_iter().map(|(name, missing, test)| trial(name.into(), missing, test));
    let trials = cases.chain(holding).chain(mistakes).chain(weakened).chain(rest).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// What is missing of what a source needs, by its name.
fn missing(file: &str) -> Option<&'static str> {
    match Path::new(file).extension()?.to_str()? {
        "rs" => rustc_missing(""),
        "cu" | "c" | "cpp" => (!exists(tool("clang"))).then_some(tool("clang")),
        _ => None,
    }
}

fn litmus() -> Command {
    let mut command = ptx_atomics();
    command.arg("litmus");
    command
}

/// A kernel, and what the command says of it.
struct Case {
    name: &'static str,
    file: &'static str,
    source: &'static str,
    flags: &'static [&'static str],
    status: i32,
    /// Each stands in what is printed.
    says: &'static [&'static str],
}

fn check(case: &Case) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join(case.file);
    fs::write(&file, case.source)?;
    let output = litmus().arg(&file).args(case.flags).output()?;
    let said = String::from_utf8(output.stdout)? + &String::from_utf8(output.stderr)?;
    let missing = case.says.iter().filter(|words| !said.contains(**words)).join("', '");
    if output.status.code() == Some(case.status) && missing.is_empty() {
        return Ok(());
    }
    Err(format!("{}, lacks '{missing}':\n{said}", output.status).into())
}

