//! `--help` of a script prints its usage and does nothing else.

use std::{
    env, fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use testing::root;

/// Programs that scripts run for their work.
const WORKERS: [&str; 8] = ["apt-get", "cargo", "debootstrap", "git", "node", "pip", "rustc", "rustup"];

/// The scripts that a user starts: every executable file in `scripts/`.
fn scripts() -> Vec<PathBuf> {
    let files = fs::read_dir(root().join("scripts")).expect("a folder").flatten();
    let is_started = |path: &PathBuf| path.is_file() && path.metadata().is_ok_and(|m| m.permissions().mode() & 1 != 0);
    files.map(|entry| entry.path()).filter(is_started).collect()
}

/// The fault of a script's `--help`, if it has one. Each program in `workers` fails and writes its name into a file.
fn fault(script: &Path, workers: &Path) -> Option<String> {
    let name = script.strip_prefix(root()).expect("a file of the repository").display().to_string();
    let path = env::var("PATH").expect("a PATH");
    let mut command = Command::new(script);
    command.arg("--help").env("PATH", format!("{}:{path}", workers.display())).stdin(Stdio::null());
    let output = command.current_dir("/").output().expect("the script starts");
    let (usage, errors) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    let started = fs::read_to_string(workers.join("started")).unwrap_or_default();
    let _ = fs::remove_file(workers.join("started"));
    let short = script.file_name().expect("a name").to_string_lossy().into_owned();
    let is_right = output.status.success() && errors.is_empty() && started.is_empty() && usage.contains(&short);
    (!is_right).then(|| format!("{name}: {}, the script starts {started:?}\n{usage}\n{errors}", output.status))
}

#[test]
fn help_of_each_script_prints_its_usage_and_starts_nothing() {
    let workers = tempfile::tempdir().expect("a folder");
    for worker in WORKERS {
        let file = workers.path().join(worker);
        let text = format!("#!/bin/sh\necho {worker} >>'{}/started'\nexit 99\n", workers.path().display());
        fs::write(&file, text).expect("a file");
        fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("the file can be executable");
    }
    let scripts = scripts();
    assert!(scripts.len() > 20, "only {} scripts", scripts.len());
    let faults: Vec<_> = scripts.iter().filter_map(|script| fault(script, workers.path())).collect();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
}
