//! `ptx-atomics check`: one report for every question. The report is the same on a busy machine, each rule has a page,
//! and comments allow findings.

use std::{
    fs,
    process::{Child, Command, Output, Stdio},
};

use itertools::Itertools;
use libtest_mimic::{Failed, Trial};
use serde_json::Value;
use testing::{findings::flat, ptx_atomics, root};

pub fn trials() -> Vec<Trial> {
    vec![
        Trial::test("load and threads do not change a report", under_load),
        Trial::test("options select the questions", questions),
        Trial::test("a quick check searches no executions", quick),
        Trial::test("a report names the time limit that stopped it", stopped),
        Trial::test("a witness in a guessed launch is a warning, the launch first", guessed),
        Trial::test("a comment allows a finding", allowed),
        Trial::test("explain prints the page of a rule", explained),
        Trial::test("a cache returns a report for the same text and options only", cached),
    ]
}

fn check(arguments: &[&str]) -> Result<(i32, String, String), Failed> {
    let Output { status, stdout, stderr } = ptx_atomics().arg("check").args(arguments).current_dir(root()).output()?;
    Ok((status.code().unwrap_or(-1), String::from_utf8(stdout)?, String::from_utf8(stderr)?))
}

/// Processes that keep the processors busy while the value exists.
struct Load(Vec<Child>);

impl Load {
    fn new(count: usize) -> Result<Self, Failed> {
        let busy = || Command::new("sh").args(["-c", "while :; do :; done"]).stdout(Stdio::null()).spawn();
        Ok(Self((0..count).map(|_| busy()).collect::<Result<_, _>>()?))
    }
}

impl Drop for Load {
    fn drop(&mut self) {
        for process in &mut self.0 {
            let _ = process.kill();
            let _ = process.wait();
        }
    }
}

fn under_load() -> Result<(), Failed> {
    let folders = ["tests/async", "tests/races", "examples/check"];
    let names = folders.iter().flat_map(|folder| fs::read_dir(root().join(folder)).expect("a folder").flatten());
    let names = names.map(|entry| entry.path()).filter(|path| path.extension().is_some_and(|ending| ending == "ptx"));
    let files = names.map(|path| path.display().to_string()).sorted().collect_vec();
    assert!(files.len() > 20, "{files:?}");
    let files = files.iter().map(|file| &**file).collect_vec();
    let report = |jobs: &str| check(&[&["--format", "json", "-j", jobs], &files[..]].concat());
    let idle = report("2")?;
    let load = Load::new(8)?;
    for jobs in ["1", "2"] {
        let busy = report(jobs)?;
        assert!(
            busy == idle,
            "-j {jobs}: {}",
            busy.1.lines().zip(idle.1.lines()).find(|(a, b)| a != b).unzip().0.unwrap_or_default()
        );
    }
    drop(load);
    let report: Value = serde_json::from_str(&idle.1)?;
    assert_eq!(report["stopped"], false);
    Ok(())
}

fn questions() -> Result<(), Failed> {
    let asked = |options: &[&str]| -> Result<Vec<String>, Failed> {
        let (_, stdout, _) = check(&[&["tests/races/race.ptx", "--format", "json"], options].concat())?;
        let report: Value = serde_json::from_str(&stdout)?;
        let answers = report["kernels"][0]["answers"].as_array().cloned().unwrap_or_default();
        Ok(answers.iter().filter_map(|answer| Some(answer["question"].as_str()?.to_owned())).collect())
    };
    assert_eq!(asked(&[])?, ["async", "races", "barriers"]);
    assert_eq!(asked(&["--only", "races"])?, ["races"]);
    assert_eq!(asked(&["--only", "barriers,async"])?, ["async", "barriers"]);
    assert_eq!(asked(&["--async"])?, ["async"]);
    assert_eq!(asked(&["--races"])?, ["races", "barriers"]);
    let (_, _, stderr) = check(&["tests/races/free.ptx"])?;
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    assert!(stderr.contains("not asked: order (the input has no IR)"), "{stderr}");
    Ok(())
}

fn quick() -> Result<(), Failed> {
    for (file, rule) in [("examples/check/missing_wait.ptx", "R7"), ("examples/check/missing_barrier.ptx", "R17")] {
        let (status, stdout, _) = check(&[file, "--quick", "--format", "json"])?;
        let found = flat(&stdout);
        assert_eq!(
            (status, &found[0]["verdict"], &found[0]["rule"]),
            (0, &"possible".into(), &rule.into()),
            "{stdout}"
        );
        let (status, _, stderr) = check(&[file, "--quick"])?;
        assert!(status == 0 && stderr.contains("1 unproved (-v lists them)"), "{stderr}");
        let (status, _, stderr) = check(&[file, "--quick", "--strict"])?;
        assert!(status == 1 && stderr.contains(&format!("warning[{rule}]")), "{stderr}");
    }
    Ok(())
}

fn stopped() -> Result<(), Failed> {
    let limit = ["examples/check/missing_wait.ptx", "--time-limit", "0.000001"];
    let (_, _, stderr) = check(&limit)?;
    assert!(stderr.contains("stopped by the time limit: 'copy' (async)"), "{stderr}");
    let (_, stdout, _) = check(&[&limit[..], &["--format", "json"]].concat())?;
    let report: Value = serde_json::from_str(&stdout)?;
    assert_eq!((&report["stopped"], &report["kernels"][0]["answers"][0]["stopped"]), (&true.into(), &true.into()));
    Ok(())
}

/// A kernel whose threads race only for one value of a parameter, which a caller may never pass.
const OF_256: &str = ".version 8.0\n.target sm_90\n.address_size 64\n.visible .entry k(.param .u32 n) .reqntid 64 {\n\
    .reg .pred %p; .reg .b32 %r<3>;\n.shared .b32 word;\nmov.u32 %r1, %tid.x; ld.param.u32 %r2, [n];\n\
    setp.eq.u32 %p, %r2, 256;\n@%p st.shared.u32 [word], %r1;\nret;\n}\n";

fn guessed() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("k.ptx").display().to_string();
    fs::write(&file, OF_256)?;
    let (status, _, stderr) = check(&[&file, "--grid", "1", "--param", "n=256"])?;
    assert!(status == 1 && stderr.contains("error[R17]"), "{stderr}");
    let (status, stdout, _) = check(&[&file, "--format", "json"])?;
    let found = flat(&stdout);
    let [finding] = &found[..] else { panic!("{stdout}") };
    assert_eq!((status, &finding["rule"], &finding["severity"]), (0, &"R17".into(), &"warning".into()), "{finding:#}");
    assert_eq!((&finding["evidence"]["launches"], &finding["evidence"]["given"]), (&1.into(), &false.into()));
    let (status, _, stderr) = check(&[&file])?;
    assert!(status == 0 && stderr.contains("warning[R17]"), "{stderr}");
    let first = stderr.lines().find(|line| line.contains("= note: ")).unwrap_or_default();
    assert!(first.contains("in a guessed launch: --grid 1 --block 64"), "{stderr}");
    assert_eq!(check(&[&file, "--strict"])?.0, 1);
    Ok(())
}

fn allowed() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("k.ptx").display().to_string();
    let text = fs::read_to_string(root().join("examples/check/missing_wait.ptx"))?;
    let (before, after) = text.split_once("    ld.shared.u32").ok_or("no load")?;
    fs::write(&file, format!("{before}    // check: allow R7 because the test says so\n    ld.shared.u32{after}"))?;
    let (status, _, stderr) = check(&[&file])?;
    assert!(status == 0 && stderr.starts_with("allowed in the source: R7 at "), "{stderr}");
    assert!(stderr.contains(": the test says so\n"), "{stderr}");
    let (_, stdout, _) = check(&[&file, "--format", "sarif"])?;
    let log: Value = serde_json::from_str(&stdout)?;
    assert_eq!(log["runs"][0]["results"][0]["suppressions"][0]["justification"], "the test says so");
    // A comment that allows no finding is a warning.
    fs::write(&file, format!("// check: allow R1 because of nothing\n{text}"))?;
    let (status, _, stderr) = check(&[&file])?;
    assert!(status == 1 && stderr.contains("warning: no finding of rule R1 is here: remove the comment"), "{stderr}");
    Ok(())
}

fn explained() -> Result<(), Failed> {
    let explain = |arguments: &[&str]| -> Result<(Option<i32>, String), Failed> {
        let output = ptx_atomics().arg("explain").args(arguments).output()?;
        Ok((output.status.code(), String::from_utf8(output.stdout)?))
    };
    let (status, page) = explain(&["r4"])?;
    assert!(status == Some(0) && page.starts_with("# R4: ") && page.contains("## The corrected kernel"), "{page}");
    let (_, list) = explain(&[])?;
    assert_eq!(list.lines().count(), 31, "{list}");
    assert_eq!(explain(&["R99"])?.0, Some(2));
    Ok(())
}

fn cached() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let cache = folder.path().join("new/cache");
    let with_cache = cache.display().to_string();
    let entries = || fs::read_dir(&cache).map_or(0, Iterator::count);
    let cached = |arguments: &[&str]| check(&[arguments, &["--cache", &with_cache]].concat());
    let inputs = [
        &["examples/check/missing_wait.ptx", "-v"][..],
        &["examples/check/missing_barrier.ptx", "--format", "json"],
        &["examples/check", "--format", "json"],
    ];
    for input in inputs {
        let whole = check(input)?;
        assert!(cached(input)? == whole, "{input:?}, the first time");
        let count = entries();
        assert!(cached(input)? == whole && entries() == count, "{input:?}, the second time");
    }

    // The command prints the cached report: a changed entry changes the output.
    let input = ["examples/check/missing_wait.ptx"];
    let whole = cached(&input)?;
    let mut changed = 0;
    for entry in fs::read_dir(&cache)?.flatten() {
        let text = fs::read_to_string(entry.path())?;
        if text.contains("what it has begun to copy") {
            fs::write(entry.path(), text.replace("\"severity\":\"Error\"", "\"severity\":\"Note\""))?;
            changed += 1;
        }
    }
    assert_eq!(changed, 1);
    assert_ne!(cached(&input)?, whole);
    // Other options, another text, and a damaged entry lead to a new check.
    assert_eq!(cached(&[input[0], "--strict"])?.0, 0);
    assert_eq!(cached(&[input[0], "--only", "async"])?.0, 1);
    let other = folder.path().join("other.ptx").display().to_string();
    fs::write(&other, fs::read_to_string(root().join(input[0]))? + "// another text\n")?;
    assert_eq!(cached(&[&other])?.0, 1);
    for entry in fs::read_dir(&cache)?.flatten() {
        fs::write(entry.path(), "{")?;
    }
    assert_eq!(cached(&input)?, whole);

    // A report that the time limit has cut short is not cached. If the cache folder is a file, the report is not cached
    // either.
    let count = entries();
    cached(&["examples/check/missing_barrier.ptx", "--time-limit", "0.000001"])?;
    assert_eq!(entries(), count);
    let (status, _, stderr) = check(&[input[0], "--cache", &other])?;
    assert!(status == 1 && stderr.contains("cannot keep the report") && stderr.contains("error[R7]"), "{stderr}");
    Ok(())
}
