//! `ptx-atomics verify-mapping`, and `litmus --from-source`.

use std::fs;

use libtest_mimic::{Failed, Trial};
use ptx_lowering::Strategy;
use serde_json::Value;
use strum::IntoEnumIterator;
use testing::ptx_atomics;

type Test = fn() -> Result<(), Failed>;

pub fn trials() -> Vec<Trial> {
    let tests: [(&str, Test); 9] = [
        ("every mapping is kept", kept),
        ("a counterexample is a pair of files", counterexample),
        ("shards are parts of the whole", shards),
        ("the command keeps mappings after the optimizer", optimizer),
        ("a source has the outcomes of its PTX", from_source),
        ("every strategy keeps a source", every_strategy),
        ("a value fits its type", values),
        ("parts of a program may have different mappings", mixed),
        ("wrong usage and wrong sources are errors", wrong),
    ];
    let tests = tests.map(|(name, test)| Trial::test(name, test));
    tests.into()
}

/// Exit status, standard output, standard error.
fn run(arguments: &[&str]) -> Result<(i32, String, String), Failed> {
    let output = ptx_atomics().args(arguments).output()?;
    let code = output.status.code().ok_or("killed")?;
    Ok((code, String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?))
}

fn rows(arguments: &[&str]) -> Result<(i32, Vec<Value>), Failed> {
    let (code, stdout, stderr) = run(&[&["verify-mapping", "--format", "json"], arguments].concat())?;
    let rows = serde_json::from_str(&stdout).map_err(|error| format!("{error}: {stderr}"))?;
    Ok((code, rows))
}

fn sum(rows: &[Value], field: &str) -> u64 {
    rows.iter().filter_map(|row| row[field].as_u64()).sum()
}

fn kept() -> Result<(), Failed> {
    // The tests of the mapping check itself cover the other sets.
    let (code, rows) = rows(&["--set", "two", "--set", "placements", "--set", "waiting"])?;
    let count = |field| sum(&rows, field);
    println!(
        "{} programs, {} of them undefined, {} lowered, {} different PTX programs, {} not kept, {} unknown",
        count("programs"),
        count("undefined"),
        count("mapped"),
        count("ptx_programs"),
        count("not_kept"),
        count("unknown")
    );
    assert_eq!((code, count("not_kept"), count("unknown")), (0, 0, 0));
    assert!(count("programs") > 4_000 && count("ptx_programs") > 20_000);
    Ok(())
}

fn counterexample() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().to_str().ok_or("a path")?;
    let arguments = ["--set", "accesses", "--rule", "c++11", "--counterexamples", path];
    let (code, rows) = rows(&arguments)?;
    let mappings = rows[0]["mappings"].as_array().ok_or("no mappings")?;
    assert!(code == 1 && !mappings.is_empty());
    assert!(!mappings.iter().any(|mapping| mapping.to_string().contains("proven")), "{mappings:?}");
    for entry in fs::read_dir(folder.path())? {
        let path = entry?.path();
        let name = path.to_str().ok_or("a path")?;
        if name.ends_with(".litmus") {
            let (code, stdout, _) = run(&["litmus", name])?;
            assert!(code == 0 && stdout.contains("is allowed"), "{stdout}");
        } else {
            let (code, ..) = run(&["verify-mapping", "--rule", "c++11", name])?;
            let (other, ..) = run(&["verify-mapping", name])?;
            assert_eq!((code, other), (1, 0), "{name}");
        }
    }
    assert_eq!(fs::read_dir(folder.path())?.count(), 2 * mappings.len());
    Ok(())
}

fn shards() -> Result<(), Failed> {
    let programs = |arguments: &[&str]| rows(arguments).map(|(_, rows)| sum(&rows, "programs"));
    let part = |shard| programs(&["--set", "two", "--expansion", "0", "--all", "--shard", shard]);
    assert_eq!(part("1/3")? + part("2/3")? + part("3/3")?, part("1/1")?);
    Ok(())
}

/// The command keeps and counts the programs to which rewrites apply, by rewrite.
fn optimizer() -> Result<(), Failed> {
    let (code, rows) = rows(&["--optimize", "--set", "waiting-placements", "--set", "unwritten"])?;
    let rewritten = |rewrite: &str| rows.iter().filter_map(|row| row["rewritten"][rewrite].as_u64()).sum::<u64>();
    assert_eq!((code, sum(&rows, "not_kept"), sum(&rows, "unknown")), (0, 0, 0), "{rows:?}");
    for rewrite in ["scope", "loops", "fences", "unseen", "writes"] {
        assert!(rewritten(rewrite) > 0, "{rewrite}: {rows:?}");
    }
    let file = tempfile::NamedTempFile::new()?;
    let path = file.path().to_str().ok_or("a path")?;
    let text = "name: wait\nP0@0.0: st.na x 1; st.rel.gpu y 1\n\
                P1@1.0: do { r0=ld.acq.gpu y; break if r0 == 1 } while r0 != 2; r1=ld.na x\n";
    fs::write(file.path(), text)?;
    let (code, stdout, stderr) = run(&["verify-mapping", "--optimize", path])?;
    let row = |rewrite: &str| stdout.lines().find(|line| line.trim_start().starts_with(rewrite)).unwrap_or_default();
    assert!(code == 0 && row("loops").ends_with(" 1") && row("writes").ends_with(" 0"), "{stdout}{stderr}");
    Ok(())
}

const PROGRAMS: &str = "name: MP
P0@0.0: st.rlx.gpu x 1; st.rel.gpu y 1
P1@1.0: r0=ld.acq.gpu y; r1=ld.rlx.gpu x
name: too narrow
P0@0.0: st.rlx.gpu x 1; st.rel.cta y 1
P1@1.0: r0=ld.acq.cta y; r1=ld.rlx.gpu x
name: Figure 12
P0@0.0: st.rlx.gpu x 1; st.rel.gpu y 1
P1@1.0: r0=rmw.exch.sc.gpu y 2; st.rlx.gpu y 3
P2@2.0: r0=ld.acq.gpu y; r1=ld.rlx.gpu x
";

fn from_source() -> Result<(), Failed> {
    let file = tempfile::NamedTempFile::new()?;
    fs::write(file.path(), PROGRAMS)?;
    let path = file.path().to_str().ok_or("a path")?;
    let with = |more: &[&str]| run(&[&["litmus", "--from-source", path, "--mcpu", "sm_70"], more].concat());
    let (code, stdout, _) = with(&["--strategy", "fence"])?;
    assert_eq!(code, 0, "{stdout}");
    for expected in [
        "P1@1.0: r0=ld.acq.gpu y; r1=ld.rlx.gpu x",
        " fence.acq_rel.gpu       | fence.acq_rel.gpu        ;",
        "MP: kept: the source has every outcome",
        "too narrow: undefined",
        "Figure 12: kept",
    ] {
        assert!(stdout.contains(expected), "no {expected:?} in {stdout}");
    }
    let (code, stdout, _) = with(&["--rule", "c++11"])?;
    assert!(code == 1 && stdout.contains("Figure 12: not kept: 1 outcomes"), "{stdout}");
    let (code, stdout, _) = with(&["--rule", "c++11", "--strategy", "proven"])?;
    assert!(code == 0 && stdout.contains("Figure 12: kept"), "{stdout}");
    // Only the first of many outcomes are shown.
    let adds: String = (0..6).map(|thread| format!("P{thread}@{thread}.0: r0=rmw.add.rlx.gpu x 1\n")).collect();
    fs::write(file.path(), format!("name: adds\n{adds}"))?;
    let (code, stdout, _) = with(&[])?;
    assert!(code == 0 && stdout.contains("  and 520 more (--all-outcomes)\nadds: kept"), "{stdout}");
    let (code, stdout, _) = with(&["--all-outcomes"])?;
    assert_eq!((code, stdout.matches("  yes     yes\n").count()), (0, 720), "{stdout}");
    fs::write(file.path(), "name: reference count\nP0@0.0: r0=rmw.add.rlx.sys x 1\n")?;
    let (code, _, stderr) = run(&["litmus", "--from-source", path, "--mcpu", "sm_35"])?;
    assert!(
        code == 1 && stderr.contains("reference count: a read-modify-write of system scope requires sm_60"),
        "{stderr}"
    );
    Ok(())
}

fn every_strategy() -> Result<(), Failed> {
    let file = tempfile::NamedTempFile::new()?;
    fs::write(file.path(), PROGRAMS)?;
    let path = file.path().to_str().ok_or("a path")?;
    for strategy in Strategy::iter() {
        let (code, stdout, stderr) = run(&["litmus", "--from-source", path, "--strategy", strategy.into()])?;
        assert_eq!(code, 0, "{stdout}{stderr}");
    }
    Ok(())
}

/// A negative number is a value of the accessed type, and a number that does not fit is an error.
fn values() -> Result<(), Failed> {
    let file = tempfile::NamedTempFile::new()?;
    let path = file.path().to_str().ok_or("a path")?;
    let source = |value: &str| {
        format!("name: v\nP0@0.0: st.rlx.gpu x {value}\nP1@1.0: r0=rmw.max.rlx.gpu x -2; r1=ld.rlx.gpu x\n")
    };
    for expansion in ["0", "1", "6"] {
        fs::write(file.path(), source("-1"))?;
        let (code, rows) = rows(&["--expansion", expansion, path])?;
        assert_eq!((code, sum(&rows, "not_kept"), sum(&rows, "unknown")), (0, 0, 0), "{rows:?}");
        // The loads of a byte are narrower than the words of its operations.
        assert_eq!(sum(&rows, "bytes_of_one_word") > 0, expansion == "6", "{rows:?}");
    }
    let (code, stdout, stderr) = run(&["litmus", "--from-source", path])?;
    assert!(code == 0 && stdout.contains("st.rlx.gpu x -1") && stdout.contains("v: kept"), "{stdout}{stderr}");
    for (expansion, value, bits) in [("0", "4294967296", 32), ("6", "256", 8), ("6", "-129", 8)] {
        fs::write(file.path(), source(value))?;
        let (code, stdout, stderr) = run(&["verify-mapping", "--expansion", expansion, path])?;
        let said = stderr.contains(&format!("v: {value} does not fit into {bits} bits"));
        assert!(code == 1 && stdout.is_empty() && said, "{stdout}{stderr}");
    }
    Ok(())
}

/// The message of a flag is lost if the load of the flag does not acquire. Correct mappings keep the message.
fn mixed() -> Result<(), Failed> {
    let (file, folder) = (tempfile::NamedTempFile::new()?, tempfile::tempdir()?);
    let path = file.path().to_str().ok_or("a path")?;
    fs::write(
        file.path(),
        "name: MP\nP0@0.0: st.na x 1; st.sc.gpu y 1\nP1@1.0: r0=ld.sc.gpu y; if r0 == 1 { r1=ld.na x }\n",
    )?;
    let with = |list: &str, more: &[&str]| run(&[&["verify-mapping", "--mix", list, path], more].concat());
    let (code, stdout, stderr) = with("recommended,cuda-12.8,libcu++", &["--within-threads"])?;
    assert!(code == 0 && !stdout.contains("not kept"), "{stdout}{stderr}");
    let found = folder.path().to_str().ok_or("a path")?;
    let (code, stdout, stderr) = with("recommended,hopper-guide", &["--counterexamples", found])?;
    assert_eq!(code, 1, "{stdout}{stderr}");
    for expected in [
        "  recommended   yes          no\n",
        "  hopper-guide  no           no\n",
        "not kept, by hopper-guide, hopper-guide:\nname: MP\n",
    ] {
        assert!(stdout.contains(expected), "no {expected:?} in {stdout}");
    }
    let litmus = folder.path().join("MP.recommended--hopper-guide.litmus");
    let (code, stdout, stderr) = run(&["litmus", litmus.to_str().ok_or("a path")?])?;
    assert!(code == 0 && stdout.contains("is allowed"), "{stdout}{stderr}");
    let (code, stdout, _) = with("recommended,hopper-guide", &["--format", "json"])?;
    let rows: Vec<Value> = serde_json::from_str(&stdout)?;
    let pair =
        rows.iter().find(|row| row["mappings"].as_array().is_some_and(|both| both.len() == 2)).ok_or("no pair")?;
    assert_eq!(
        (code, &pair["mixtures"], &pair["not_kept"], &pair["not_kept_only_together"]),
        (1, &2.into(), &1.into(), &0.into())
    );
    assert_eq!(pair["example"]["by"], "recommended, hopper-guide");
    for (arguments, said) in [
        (&["verify-mapping", "--mix", "abi"][..], "expected a mapping (recommended, fence,"),
        (&["verify-mapping", "--within-threads"], "--mix"),
        (&["verify-mapping", "--mix", "all", "--mutants"], "cannot be used with"),
    ] {
        let (code, stdout, stderr) = run(arguments)?;
        assert!(code == 2 && stdout.is_empty() && stderr.contains(said), "{arguments:?}: {stdout}{stderr}");
    }
    Ok(())
}

fn wrong() -> Result<(), Failed> {
    let check = |arguments: &[&str], code: i32, said: &str| -> Result<(), Failed> {
        let (found, stdout, stderr) = run(arguments)?;
        assert!(
            found == code && stdout.is_empty() && stderr.contains(said),
            "{arguments:?}: {found}\n{stdout}{stderr}"
        );
        Ok(())
    };
    let file = tempfile::NamedTempFile::new()?;
    let path = file.path().to_str().ok_or("a path")?;
    check(&["verify-mapping", "--set", "six"], 2, "'six'")?;
    check(&["verify-mapping", "--shard", "3/2"], 2, "K from 1 to N")?;
    check(&["verify-mapping", "--rule", "c++98"], 2, "c++98")?;
    check(&["verify-mapping", "--set", "two", path], 2, "cannot be used with")?;
    check(&["verify-mapping", "none.txt"], 1, "cannot read 'none.txt'")?;
    check(&["litmus", "--from-source", "none.txt"], 1, "cannot read 'none.txt'")?;
    check(&["verify-mapping", "--optimize", "--mutants", "--set", "two"], 2, "cannot be used with")?;
    fs::write(file.path(), "name: x\nP0@0.0: st.strong.gpu x 1\n")?;
    check(&["verify-mapping", path], 1, ":2:")?;
    check(&["litmus", "--from-source", path], 1, "`strong` is not an ordering")?;
    fs::write(file.path(), "name: x\nP0@0.0: st.rlx.gpu.or.so x 1\n")?;
    check(&["litmus", "--from-source", path], 1, "unexpected `or`")?;
    fs::write(file.path(), b"name: \xff\nP0@0.0: st.rlx.gpu x 1\n")?;
    check(&["litmus", "--from-source", path], 1, "is not text")
}
