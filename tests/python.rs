//! The package for Python. Its tests are in products/python/tests. The trials run them on the source tree with the
//! command under test, and with --all on a wheel in a separate environment without Rust, with and without Triton.

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

use libtest_mimic::{Failed, Trial};
use testing::{binary, left_to_all, root, runs_all, success, trial};

/// The folder into which scripts/install puts pytest, NumPy and mypy.
const TOOLS: &str = ".tools/python";
/// The folders of scripts/triton, and of scripts/install for `scripts/test --all`.
const WATCHED: [&str; 2] = [".tools/triton", ".tools/warp"];

pub fn trials() -> Vec<Trial> {
    let tools = root().join(TOOLS);
    let missing = (!tools.join("done").exists()).then_some("pytest");
    let watched = WATCHED.iter().all(|folder| !root().join(folder).exists()).then_some("Triton");
    let absent = watched.filter(|_| runs_all());
    let kernels = trial("the package checks kernels of Triton and Warp".into(), missing.or(absent), kernels);
    let trials = vec![
        trial("the tests of the package pass".into(), missing, tests),
        // If Triton or Warp is installed, the trial is cheap enough for every run.
        if watched.is_some() { left_to_all(kernels) } else { kernels },
        trial("the types of the package hold".into(), missing, types),
        trial("the examples of the book run".into(), missing, book),
        left_to_all(trial("the wheel works in a separate environment".into(), missing, wheel)),
    ];
    trials
}

/// Python with these folders in its path, and no settings of the user.
fn python(program: &Path, folders: &[PathBuf]) -> Result<Command, Failed> {
    let mut python = Command::new(program);
    python.env("PYTHONPATH", std::env::join_paths(folders)?).env("PYTHONDONTWRITEBYTECODE", "1");
    python.env("PTX_ATOMICS_COMMAND", binary()).env_remove("PTX_ATOMICS").env_remove("PTX_ATOMICS_HELPER");
    python.current_dir(root().join("products/python"));
    Ok(python)
}

/// The package in the source tree, with packages in these folders of .tools.
fn here(folders: &[&str]) -> Result<Command, Failed> {
    let folders = folders.iter().map(|folder| root().join(folder));
    let mut python =
        python(Path::new("python3"), &[root().join("products/python")].into_iter().chain(folders).collect::<Vec<_>>())?;
    // A package that is not installed does not register its plugins with pytest.
    python.env("PYTEST_PLUGINS", "ptx_atomics.pytest_plugin");
    Ok(python)
}

/// Runs the tests of the package.
fn pytest(python: &mut Command, paths: &[&str]) -> Result<(), Failed> {
    python.args(["-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider"]).args(paths);
    run_command(python).map(|said| println!("{}", said.lines().last().unwrap_or_default()))
}

/// The output of a command if it succeeds, otherwise the output as an error.
fn run_command(command: &mut Command) -> Result<String, Failed> {
    let Output { status, stdout, stderr } = command.output()?;
    let said = String::from_utf8_lossy(&stdout).into_owned() + &String::from_utf8_lossy(&stderr);
    if status.success() { Ok(said) } else { Err(format!("{command:?}: {status}\n{said}").into()) }
}

fn tests() -> Result<(), Failed> {
    pytest(&mut here(&[TOOLS])?, &[])
}

fn types() -> Result<(), Failed> {
    let cache = tempfile::tempdir()?;
    let arguments = ["-m", "mypy", "--config-file", "pyproject.toml", "ptx_atomics", "tests/typed.py", "--cache-dir"];
    run_command(here(&[TOOLS])?.args(arguments).arg(cache.path())).map(drop)
}

/// The examples of docs/python.md. products/python/tests/book.py selects the blocks that run.
fn book() -> Result<(), Failed> {
    examples(&[TOOLS])
}

/// The tests that need Triton or Warp.
fn kernels() -> Result<(), Failed> {
    let folders = [&WATCHED[..], &[TOOLS]].concat();
    let tests = ["tests/test_triton.py", "tests/test_gluon.py", "tests/test_packages.py", "tests/test_device.py"];
    pytest(&mut here(&folders)?, &tests)?;
    examples(&folders)
}

fn examples(folders: &[&str]) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    run_command(here(folders)?.arg("tests/book.py").arg(root().join("docs/python.md")).arg(folder.path())).map(drop)
}

/// The wheel that scripts/package makes, and its tests with only the installed package.
fn wheel() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let made = success(Command::new(root().join("scripts/wheel")).arg(folder.path()))?;
    let wheel = made.lines().last().ok_or("no wheel")?.to_owned();
    let environment = folder.path().join("environment");
    run_command(Command::new("python3").args(["-m", "venv"]).arg(&environment))?;
    let own = environment.join("bin/python");
    run_command(Command::new(&own).args(["-m", "pip", "install", "-q", "--no-deps", &wheel]))?;
    let bin = environment.join("bin");
    let mut tests = python(&own, &[root().join(TOOLS)])?;
    // The environment has no Rust and no source of the package.
    tests.env("PATH", format!("{}:/usr/bin:/bin", bin.display())).env_remove("PTX_ATOMICS_COMMAND");
    let copy = folder.path().join("tests");
    run_command(Command::new("cp").arg("-r").arg(root().join("products/python/tests")).arg(&copy))?;
    pytest(tests.current_dir(folder.path()), &["tests"])
}
