//! The errors for inputs without a lowering. The message for each file of `bad/` is pinned beside the file; the flags
//! are those in the file's `// RUN:` line. Further trials lower damaged input.
//!
//! To accept a change: `INSTA_UPDATE=always cargo test -p ptx-atomics-cli --test it -- '[mlir] bad'`, then read the difference.

use std::{
    fs,
    path::Path,
    process::{Command, Output},
};

use itertools::Itertools;
use libtest_mimic::{Failed, Trial};

use testing::{left_to_all, ptx_atomics, root, snapshot, success};

/// The exit status of `timeout` if it had to stop a program.
const TIMEOUT: i32 = 124;

pub fn trials() -> Vec<Trial> {
    let files =
        fs::read_dir(root().join("tests/mlir/bad")).expect("bad inputs").map(|entry| entry.expect("one").path());
    let files = files.filter(|path| path.extension().is_some_and(|extension| extension == "mlir")).sorted();
    let files = files.map(|path| {
        let name = format!("bad: {}", path.file_stem().expect("a name").to_string_lossy());
        Trial::test(name, move || check(&path))
    });
    let damaged = [
        Trial::test("bad: damaged bytecode never aborts", || damaged(&["--emit", "mlir-bc"], "damaged MLIR bytecode")),
        Trial::test("bad: damaged text never aborts", || damaged(&["--emit", "mlir"], "is not MLIR")),
    ];
    // `--test fuzz` also damages MLIR.
    files.chain(damaged.map(left_to_all)).collect()
}

fn check(path: &Path) -> Result<(), Failed> {
    let text = fs::read_to_string(path)?;
    let flags = text.lines().next().and_then(|line| line.strip_prefix("// RUN:")).ok_or("no `// RUN:`")?;
    let folder = tempfile::tempdir()?;
    let flags = flags.replace("-o ", &format!("-o {}/", folder.path().display()));
    let output = ptx_atomics().arg("lower").arg(path.strip_prefix(root())?).args(flags.split_whitespace()).output()?;
    let stderr = String::from_utf8(output.stderr)?;
    assert_eq!(output.status.code(), Some(1), "{stderr}");
    assert_eq!((output.stdout.len(), fs::read_dir(folder.path())?.count()), (0, 0), "nothing is written");
    let name = path.file_stem().expect("a name").to_string_lossy();
    snapshot::pin("tests/mlir/bad", &name, &stderr.replace(&folder.path().display().to_string(), ""))
}

/// Lowers an input with `flags`, changes bytes of the result, and reads it again. Every run must end with a message or
/// with output.
fn damaged(flags: &[&str], message: &str) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("damaged.mlir");
    success(ptx_atomics().args(["lower", "examples/mlir/histogram.mlir", "-o"]).arg(&path).args(flags))?;
    let whole = fs::read(&path)?;
    let (mut outcomes, mut endless) = ([0, 0], 0);
    for damaged in testing::damaged(&whole, 4) {
        fs::write(&path, &damaged)?;
        // On damaged bytecode, MLIR's reader may follow a type into itself, and each level doubles its time.
        let mut limited = Command::new("timeout");
        limited.arg("10").arg(testing::binary()).arg("lower").arg(&path);
        let Output { status, stdout, stderr } = limited.output()?;
        if status.code() == Some(TIMEOUT) {
            endless += 1;
            continue;
        }
        let stderr = String::from_utf8_lossy(&stderr);
        let silent = status.code() == Some(1) && !(stdout.is_empty() && stderr.contains("error: "));
        if !matches!(status.code(), Some(0 | 1)) || silent || stderr.contains("panicked") {
            let kept = std::env::temp_dir().join("damaged.mlir");
            fs::copy(&path, &kept)?;
            return Err(format!("{}: {status}: {stderr}", kept.display()).into());
        }
        outcomes[usize::from(status.success())] += 1;
    }
    println!("{} damaged files rejected, {} lowered, {endless} not read to the end", outcomes[0], outcomes[1]);
    fs::write(&path, &whole[..whole.len() / 2])?;
    let cut = ptx_atomics().arg("lower").arg(&path).output()?;
    let stderr = String::from_utf8_lossy(&cut.stderr);
    assert!(cut.status.code() == Some(1) && stderr.contains(message), "{stderr}");
    assert!(outcomes[0] > 30 && endless < 3);
    Ok(())
}
