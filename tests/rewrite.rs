//! `ptx-atomics optimize`: its messages and outputs. Three generations of ptxas accept the outputs. Also errors in the
//! input.

use std::{
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Output, Stdio},
};

use libtest_mimic::{Failed, Trial};
use ptx_lowering::{
    PtxVersion, Target,
    ptx::{Form, Module},
};
use testing::{ASSEMBLERS, ptx_atomics, root, snapshot, stride};

pub fn trials() -> Vec<Trial> {
    let missing: Vec<&str> = ASSEMBLERS.iter().filter_map(|assembler| assembler.missing()).collect();
    let note = if missing.is_empty() { String::new() } else { format!(" (skipped: no {})", missing.join(", ")) };
    let trials = vec![
        Trial::test("the command reports and writes its rewrites", pin_output),
        Trial::test("other lines stay", all_else),
        Trial::test(format!("ptxas accepts the output{note}"), assembled).with_ignored_flag(!missing.is_empty()),
        Trial::test("a folder receives the outputs", folder),
        Trial::test("--report lists functions by weight", report),
        Trial::test("wrong input is an error", wrong),
    ];
    trials
}

const QUEUE: &str = "tests/rewrite/queue.ptx";

/// The exit status, and both outputs.
fn run(arguments: &[&str], stdin: &str) -> Result<(i32, String, String), Failed> {
    let mut command = ptx_atomics();
    command.arg("optimize").args(arguments).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let _ = child.stdin.take().ok_or("no standard input")?.write_all(stdin.as_bytes());
    let Output { status, stdout, stderr } = child.wait_with_output()?;
    Ok((status.code().unwrap_or(-1), String::from_utf8(stdout)?, String::from_utf8(stderr)?))
}

fn done(arguments: &[&str], stdin: &str) -> Result<(String, String), Failed> {
    let (status, stdout, stderr) = run(arguments, stdin)?;
    if status == 0 { Ok((stdout, stderr)) } else { Err(format!("{arguments:?}: {status}\n{stderr}").into()) }
}

fn pin_output() -> Result<(), Failed> {
    let before = fs::read_to_string(root().join(QUEUE))?;
    let mut all = String::new();
    for options in [&[QUEUE, "-v"][..], &[QUEUE, "-v", "--alone"], &[QUEUE, "-v", "--alone", "--grid", "1"]] {
        let (after, stderr) = done(options, "")?;
        let lines = |text: &str, other: &str, sign: &str| -> String {
            let new = text.lines().filter(|line| !other.lines().any(|known| known == *line));
            new.map(|line| format!("{sign} {}\n", line.trim())).collect()
        };
        all +=
            &format!("{}\n{stderr}{}{}\n", options.join(" "), lines(&before, &after, "-"), lines(&after, &before, "+"));
    }
    snapshot::pin("tests/rewrite", "queue", &all)
}

fn target(module: &Module) -> Result<Target, Failed> {
    let (major, minor) = module.version.split_once('.').ok_or("a version")?;
    Ok(Target::new(module.target.parse()?, Some(PtxVersion(major.parse()?, minor.parse()?)))?)
}

/// PTX of this project: kernels with asynchronous operations, and lowered inputs.
fn kernels() -> Result<Vec<(PathBuf, String)>, Failed> {
    let mut all = Vec::new();
    for folder in ["tests/async", "tests/async/reported", "tests/rewrite"] {
        for entry in fs::read_dir(root().join(folder))? {
            let path = entry?.path();
            if path.extension().is_some_and(|ending| ending == "ptx") {
                let text = fs::read_to_string(&path)?;
                // `optimize` rejects a target without a memory model.
                if target(&text.parse()?)?.meets(Form::Semantics.requirement()) {
                    all.push((path, text));
                }
            }
        }
    }
    for name in ["cmpxchg", "fences", "loads_stores", "rmw_loops", "rmw_native", "scoped"] {
        for target in [["--mcpu", "sm_70", "--mattr", "+ptx63"], ["--mcpu", "sm_90", "--mattr", "+ptx86"]] {
            let path = format!("tests/inputs/{name}.ll");
            let lowered = ptx_atomics().args(["lower", &path]).args(target).output()?;
            let text = String::from_utf8(lowered.stdout)?;
            assert!(lowered.status.success() && !text.is_empty(), "{path}");
            all.push((format!("{path} {}", target[1]).into(), text));
        }
    }
    all.sort();
    assert!(all.len() > 40);
    Ok(all)
}

/// Only lines with atomics and fences change, and edges on which fences are placed.
fn all_else() -> Result<(), Failed> {
    let mut changed = 0;
    for (path, before) in kernels()?.into_iter().step_by(stride(3)) {
        for options in [&["-"][..], &["-", "--alone", "--time-limit", "0"]] {
            let (after, _) = done(options, &before)?;
            let (again, _) = done(options, &after)?;
            assert_eq!(after, again, "the second run changes {}", path.display());
            changed += usize::from(after != before);
            let words = ["fence", "membar", "atom", "red.", "ld.", "st.", "bra", "$rewritten"];
            let known: Vec<&str> = before.lines().collect();
            for line in after.lines().filter(|line| !known.contains(line)) {
                let is_known = words.iter().any(|word| line.contains(word));
                assert!(is_known, "{}: {line}", path.display());
            }
        }
    }
    assert!(changed > 10 / stride(3), "{changed}");
    Ok(())
}

fn assembled() -> Result<(), Failed> {
    let mut checked = 0;
    for (path, before) in kernels()?.into_iter().step_by(stride(3)) {
        let module: Module = before.parse()?;
        let target = target(&module)?;
        let (after, _) = done(&["-", "--alone"], &before)?;
        for assembler in ASSEMBLERS.iter().filter(|assembler| assembler.knows(&target) && after != before) {
            // An input that the assembler does not accept is skipped.
            if assembler.judge(&target, before.as_bytes())?.is_ok() {
                assembler
                    .assemble(&target, after.as_bytes())
                    .map_err(|error| format!("{}: {error:?}", path.display()))?;
                checked += 1;
            }
        }
    }
    assert!(checked > 10 / stride(3), "{checked}");
    Ok(())
}

fn folder() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let (from, to) = (folder.path().join("from"), folder.path().join("to"));
    fs::create_dir(&from)?;
    for name in ["a.ptx", "b.ptx"] {
        fs::copy(root().join(QUEUE), from.join(name))?;
    }
    let words = |path: &Path| path.to_string_lossy().into_owned();
    done(&[&words(&from), "-o", &format!("{}/", words(&to))], "")?;
    let [a, b] = ["a.ptx", "b.ptx"].map(|name| fs::read_to_string(to.join(name)));
    let (a, b) = (a?, b?);
    assert_eq!(a, b);
    assert_eq!(a, done(&[QUEUE], "")?.0);
    // Two inputs cannot have one output file.
    let (status, stdout, stderr) = run(&[&words(&from)], "")?;
    assert_eq!((status, &*stdout), (2, ""));
    assert!(stderr.contains("give a folder by -o FOLDER/"), "{stderr}");
    Ok(())
}

fn report() -> Result<(), Failed> {
    let (stdout, stderr) = done(&[QUEUE, "--report", "--alone"], "")?;
    let weights: Vec<u64> = stdout.split('\t').take(4).map(str::parse).collect::<Result<_, _>>()?;
    assert!(
        stdout.ends_with("\tqueue\n") && weights.is_sorted_by(|a, b| a >= b) && weights[1] < weights[0],
        "{stdout}"
    );
    assert!(stderr.contains("1 function orders memory: weight"), "{stderr}");
    Ok(())
}

fn wrong() -> Result<(), Failed> {
    let queue = fs::read_to_string(root().join(QUEUE))?;
    let old = queue.replace("sm_90", "sm_60");
    let damaged = queue.replace("bar.sync", "bar sync [");
    for (arguments, stdin, status, words) in [
        (&["-"][..], &*damaged, 1, "<stdin>"),
        (&["-"], &old, 1, "has no memory model: that begins with sm_70"),
        (&["-"], "", 1, ""),
        (&["tests/inputs/fences.ll"], "", 1, "compile it, and give the PTX"),
        (&["none.ptx"], "", 1, "cannot read 'none.ptx'"),
        (&[QUEUE, "--grid", "1"], "", 2, "--alone"),
        (&[QUEUE, "--rewrites", "none"], "", 2, "unknown rewrite 'none'"),
        (&[QUEUE, "--report", "-o", "x"], "", 2, "cannot be used with"),
    ] {
        let (found, stdout, stderr) = run(arguments, stdin)?;
        assert_eq!((found, &*stdout), (status, ""), "{arguments:?}: {stderr}");
        assert!(stderr.contains(words) && !stderr.contains("panicked"), "{arguments:?}: {stderr}");
    }
    Ok(())
}
