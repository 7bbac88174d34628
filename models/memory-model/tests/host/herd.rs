//! The installed herd7.

use std::{
    collections::HashMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Mutex,
};

use libtest_mimic::Failed;

use crate::{States, generate::Generated};

/// The herd7 command: from the environment variable, or on the path.
pub fn program() -> Option<PathBuf> {
    if let Some(named) = std::env::var_os("HERD7") {
        return Some(named.into());
    }
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join("herd7")).find(|program| program.exists())
}

/// The name of the 64 bits of a register.
pub fn long(name: &str) -> String {
    match name.strip_prefix('E') {
        Some(rest) => format!("R{rest}"),
        None => name.to_owned(),
    }
}

/// The final states that herd7 finds for each test.
pub fn states(tests: &[Generated]) -> Result<Vec<States>, Failed> {
    let folder = tempfile::tempdir()?;
    let mut command = Command::new(program().ok_or("no herd7")?);
    if let Some(folder) = std::env::var_os("HERD7_LIB") {
        command.arg("-set-libdir").arg(folder);
    }
    for test in tests {
        let path = folder.path().join(format!("{}.litmus", test.name.replace('+', "_")));
        fs::write(&path, test.text(true))?;
        command.arg(path);
    }
    let output = command.output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let mut found: HashMap<String, States> = HashMap::new();
    let mut name = String::new();
    let mut left = 0;
    for line in text.lines() {
        if let Some(rest) = line.strip_prefix("Test ") {
            name = rest.split_whitespace().next().unwrap_or_default().to_owned();
        } else if let Some(number) = line.strip_prefix("States ") {
            left = number.trim().parse::<usize>()?;
            found.insert(name.clone(), States::new());
        } else if left > 0 {
            left -= 1;
            found.entry(name.clone()).or_default().insert(normal(line));
        }
    }
    let of = |test: &Generated| {
        let states = found.remove(&test.name);
        states.ok_or_else(|| {
            let errors = String::from_utf8_lossy(&output.stderr);
            format!("herd7 says nothing of\n{}{errors}", test.text(true)).into()
        })
    };
    tests.iter().map(of).collect()
}

/// A state of herd7, `0:EAX=1; [x]=2;`, without brackets.
fn normal(line: &str) -> String {
    line.trim().replace(['[', ']'], "")
}

/// Replaces the line with the same first two columns.
pub fn bless(data: &Path, line: &str) -> Result<(), Failed> {
    static WRITING: Mutex<()> = Mutex::new(());
    let _one = WRITING.lock().map_err(|_| "another test failed")?;
    let columns = |line: &str| line.splitn(3, '\t').take(2).map(str::to_owned).collect::<Vec<_>>();
    let known = fs::read_to_string(data).unwrap_or_default();
    let mut lines: Vec<&str> = known.lines().filter(|other| columns(other) != columns(line)).collect();
    lines.push(line);
    lines.sort_unstable();
    fs::write(data, lines.join("\n") + "\n")?;
    Ok(())
}
