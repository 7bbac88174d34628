//! `ptx-atomics check --races`: a kernel of each verdict, every format, executions that repeat, and files without a kernel.

use std::{
    fs,
    io::Write,
    path::Path,
    process::{Command, Output, Stdio},
};

use libtest_mimic::{Failed, Trial};
use serde_json::{Value, json};
use testing::{ptx_atomics, snapshot};

/// The kernels by their verdicts, with the exit status.
const VERDICTS: [(&str, i32); 4] = [("free", 0), ("race", 1), ("divergent", 1), ("open", 0)];

pub fn trials() -> Vec<Trial> {
    let verdicts = VERDICTS.map(|(name, status)| Trial::test(name, move || verdict(name, status)));
    let others = [
        Trial::test("no pinned text lacks its kernel", || {
            snapshot::none_left("tests/races", &VERDICTS.map(|(name, _)| name.to_owned()).into())
        }),
        Trial::test("--strict makes an open verdict an error", || status("open", &["--strict"], 1)),
        Trial::test("JSON has verdicts and commands", by_json),
        Trial::test("stores of the same value are a warning", same_value),
        Trial::test("the printed commands repeat their findings", repeats),
        Trial::test("SARIF has a result for each finding", sarif),
        Trial::test("JUnit counts the failures", junit),
        Trial::test("a verdict depends on the launch", launches),
        Trial::test("a proof assumes distinct pointers unless --may-alias", aliases),
        Trial::test("a remedy is in the words of the source's language", languages),
        Trial::test("a finding shows sources of non-ASCII paths and of inlined code", sources),
        Trial::test("an input that is not PTX is an error", no_ptx),
        Trial::test("a damaged kernel leaves the findings of other kernels", damaged),
        Trial::test("wrong usage has exit status 2", usage),
    ];
    verdicts.into_iter().chain(others).collect()
}

/// The result of a run: exit status, standard output and standard error.
fn check(arguments: &[&str], stdin: &str) -> Result<(i32, String, String), Failed> {
    let mut command = ptx_atomics();
    command.args(["check", "--races"]).args(arguments);
    done(command, stdin)
}

fn done(mut command: Command, stdin: &str) -> Result<(i32, String, String), Failed> {
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = command.spawn()?;
    // The write fails if the process ends without reading its input.
    let _ = child.stdin.take().ok_or("no standard input")?.write_all(stdin.as_bytes());
    let Output { status, stdout, stderr } = child.wait_with_output()?;
    Ok((status.code().unwrap_or(-1), String::from_utf8(stdout)?, String::from_utf8(stderr)?))
}

fn path(name: &str) -> String {
    format!("tests/races/{name}.ptx")
}

fn same_value() -> Result<(), Failed> {
    let kernel = |stored: &str| {
        format!(
            ".version 7.0\n.target sm_70\n.address_size 64\n.visible .entry k() .reqntid 64 {{\n.reg .b32 %r; .shared .b32 x;\n\
             mov.u32 %r, %tid.x;\nst.shared.b32 [x], {stored};\nret;\n}}\n"
        )
    };
    for (stored, flag, expected, said) in [
        ("1", "--error-limit=1", 0, "warning[R18]: two writes of the same value"),
        ("1", "--races", 0, "warning[R18]: two writes of the same value"),
        ("%r", "--error-limit=1", 1, "error[R17]: a write and a write"),
    ] {
        let mut command = ptx_atomics();
        command.args(["check", "-", flag]);
        let (status, _, stderr) = done(command, &kernel(stored))?;
        assert_eq!((status, stderr.contains(said)), (expected, true), "{stored} {flag}: {stderr}");
    }
    Ok(())
}

fn verdict(name: &str, expected: i32) -> Result<(), Failed> {
    let (status, stdout, stderr) = check(&[&path(name), "--grid", "2"], "")?;
    assert_eq!(status, expected, "{stderr}");
    snapshot::pin("tests/races", name, &format!("{stdout}\n{stderr}"))
}

fn status(name: &str, options: &[&str], expected: i32) -> Result<(), Failed> {
    let (status, _, stderr) = check(&[&[&*path(name)], options].concat(), "")?;
    assert_eq!(status, expected, "{stderr}");
    Ok(())
}

/// The kernels of a file in the JSON output.
fn kernels(name: &str, options: &[&str]) -> Result<Vec<Value>, Failed> {
    let (_, stdout, _) = check(&[&[&*path(name), "--format", "json"], options].concat(), "")?;
    let report: Value = serde_json::from_str(&stdout)?;
    Ok(report["kernels"].as_array().cloned().unwrap_or_default())
}

fn by_json() -> Result<(), Failed> {
    let (status, stdout, stderr) = check(&[&path("divergent"), "--format", "json", "--grid", "1"], "")?;
    assert_eq!((status, &*stderr), (1, ""));
    let message = "barrier 0 is for all 64 threads of the CTA, and 57 ended without it";
    let command = "ptx-atomics run tests/races/divergent.ptx --kernel seven --seed 0 --grid 1 --block 64 --arg 'out=0' --arg 'n=0'";
    let site = json!({ "line": 13, "source": null, "instruction": "bar.sync", "thread": [0, 0, 0], "cta": [0, 0, 0] });
    let report: Value = serde_json::from_str(&stdout)?;
    let kernel = &report["kernels"][0];
    let answers = |verdict: &str, question: &str| json!({ "question": question, "verdict": verdict, "why": null, "assumptions": [], "stopped": false, "counted": 0, "undecided": 0 });
    assert_eq!(kernel["answers"], json!([answers("open", "races"), answers("divergent", "barriers")]));
    let finding = &kernel["findings"][0];
    let expected = json!({
        "question": "barriers", "rule": "R16", "severity": "error", "message": message,
        "file": "tests/races/divergent.ptx", "line": 13, "column": 0, "first": null,
        "help": "let all threads of the CTA reach the barrier, or give the number of threads as its second operand",
    });
    for (key, value) in expected.as_object().expect("an object") {
        assert_eq!(finding[key], *value, "{key}");
    }
    let evidence = &finding["evidence"];
    assert_eq!([&evidence["command"], &evidence["second"]], [&json!(command), &site]);
    assert_eq!(report["asked"], json!(["races", "barriers"]));
    let free = kernels("free", &[])?;
    assert_eq!((&free[0]["answers"][0]["verdict"], &free[0]["findings"]), (&json!("free"), &json!([])));
    assert!(free[0]["answers"][0]["assumptions"].as_array().is_some_and(|all| all.len() > 1), "{free:?}");
    Ok(())
}

/// Each printed command repeats its finding.
fn repeats() -> Result<(), Failed> {
    let mut count = 0;
    for (name, kind) in [("race", "race"), ("divergent", "divergent-barrier")] {
        for finding in kernels(name, &[])?.iter().flat_map(|kernel| kernel["findings"].as_array()).flatten() {
            let Some(command) = finding["evidence"]["command"].as_str() else { continue };
            let words = shlex(command.strip_prefix("ptx-atomics ").ok_or("another command")?);
            let mut again = ptx_atomics();
            again.args(words);
            let (status, _, stderr) = done(again, "")?;
            assert_eq!(status, 1, "{command}: {stderr}");
            assert!(stderr.contains(&format!("error[{kind}]")), "{command}: {stderr}");
            count += 1;
        }
    }
    assert!(count > 1, "{count} executions");
    Ok(())
}

/// The words of a command line, some in single quotes.
fn shlex(line: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut is_quoted = false;
    for letter in line.chars() {
        match letter {
            '\'' => is_quoted = !is_quoted,
            ' ' if !is_quoted => words.push(String::new()),
            letter => words.last_mut().expect("a word").push(letter),
        }
    }
    words
}

fn sarif() -> Result<(), Failed> {
    let results = |name: &str| -> Result<Vec<Value>, Failed> {
        let (_, stdout, _) = check(&[&path(name), "--format", "sarif", "--grid", "1"], "")?;
        let log: Value = serde_json::from_str(&stdout)?;
        Ok(log["runs"][0]["results"].as_array().cloned().unwrap_or_default())
    };
    let race = results("race")?;
    assert!(race.iter().all(|result| result["level"] == "error"), "{race:#?}");
    let region = |result: &Value| result["locations"][0]["physicalLocation"]["region"]["startLine"].clone();
    assert!(race.iter().any(|result| region(result) == 17), "{race:#?}");
    assert!(race.iter().all(|result| result["properties"]["execution"].is_string()), "{race:#?}");
    // The barrier that is proved to remove the race.
    assert!(race.iter().all(|result| result["fixes"][0]["artifactChanges"].is_array()), "{race:#?}");
    // A kernel that the analysis cannot follow is open.
    assert!(results("open")?.iter().any(|result| result["kind"] == "open" && region(result) == 19));
    assert!(results("free")?.is_empty());
    Ok(())
}

fn junit() -> Result<(), Failed> {
    for (name, _) in VERDICTS {
        let (_, stdout, _) = check(&[&path(name), "--format", "junit"], "")?;
        let failures = usize::from(matches!(name, "race" | "divergent"));
        let attributes = ["tests=\"1\"".to_owned(), format!("failures=\"{failures}\""), "errors=\"0\"".to_owned()];
        assert!(attributes.iter().all(|attribute| stdout.contains(attribute)), "{stdout}");
    }
    Ok(())
}

/// A kernel whose threads write `out[tid]`.
const OWN: &str = ".version 8.0\n.target sm_80\n.address_size 64\n.visible .entry own(.param .u64 out, .param .u64 in)\n{\n\
    .reg .b32 %r<3>;\n.reg .b64 %rd<5>;\nld.param.u64 %rd1, [out];\nld.param.u64 %rd3, [in];\nmov.u32 %r1, %tid.x;\n\
    mul.wide.u32 %rd2, %r1, 4;\nadd.s64 %rd1, %rd1, %rd2;\nld.global.u32 %r2, [%rd3];\nst.global.u32 [%rd1], %r2;\nret;\n}\n";

fn launches() -> Result<(), Failed> {
    let says = |options: &[&str], verdict: &str| -> Result<(), Failed> {
        let (_, stdout, stderr) = check(&[&["-"], options].concat(), OWN)?;
        assert!(stdout.contains(&format!("own: races: {verdict}")), "{options:?}: {stdout}{stderr}");
        Ok(())
    };
    says(&["--grid", "1"], "free")?;
    // The kernel reads no CTA index, so the check assumes a launch of one CTA.
    says(&[], "free")?;
    says(&["--block", "64"], "free")?;
    says(&["--block", "64", "--grid", "2"], "race")?;
    says(&["--grid", "2", "--block", "32"], "race")?;
    says(&["--grid", "1", "--block", "32,2"], "race")?;
    // Three numbers of threads show the race.
    says(&["--grid", "2", "--kernel", "own"], "race")?;
    // A value for a parameter that no kernel has.
    let (status, _, stderr) = check(&["-", "--param", "in=0", "--param", "n=4"], OWN)?;
    let said = stderr.contains("expected a parameter of a kernel for --param, found 'n'");
    assert!(status == 1 && said && stderr.contains("choose a parameter: 'out', 'in'"), "{stderr}");
    // A plain check also looks for races, and reports them in one line.
    let mut command = ptx_atomics();
    command.args(["check", "-"]);
    let (status, stdout, stderr) = done(command, OWN)?;
    assert_eq!((status, &*stdout, stderr.lines().count()), (0, "", 1), "{stderr}");
    assert!(stderr.contains("races (1 free)"), "{stderr}");
    Ok(())
}

fn aliases() -> Result<(), Failed> {
    let (_, stdout, _) = check(&["-", "--grid", "1", "--may-alias"], OWN)?;
    assert!(!stdout.contains("own: races: free"), "{stdout}");
    let (_, stdout, _) = check(&["-", "--grid", "1"], OWN)?;
    assert!(stdout.contains("if pointers of different parameters and variables do not overlap"), "{stdout}");
    Ok(())
}

/// A kernel with two races: on shared words within a CTA, and on a global word across CTAs. Its sources are in a
/// folder. The path of the main file has octal escapes for non-ASCII bytes, as LLVM writes it. The read of the first
/// race is inlined from `lib.h`.
fn with_sources(folder: &Path, file: &str) -> Result<String, Failed> {
    fs::create_dir_all(folder)?;
    fs::write(folder.join(file), "kernel\n  write_own(s);\n  x = next(s);\n  write_all(p);\n")?;
    fs::write(folder.join("lib.h"), "// library\n  read_next(s);\n")?;
    let quoted = |name: &str| {
        let path = folder.join(name).display().to_string();
        path.bytes()
            .map(|byte| if byte.is_ascii() { char::from(byte).to_string() } else { format!("\\{byte:03o}") })
            .collect::<String>()
    };
    Ok(format!(
        ".version 8.0\n.target sm_90\n.address_size 64\n.file 1 \"{}\"\n.file 2 \"{}\"\n\
         .visible .entry k(.param .u64 p) .reqntid 64\n{{\n.reg .b32 %r<7>;\n.reg .b64 %rd<2>;\n.shared .align 4 .b8 s[512];\n\
         ld.param.u64 %rd1, [p];\nmov.u32 %r1, %tid.x;\nmov.u32 %r2, s;\nshl.b32 %r3, %r1, 2;\nadd.u32 %r4, %r2, %r3;\n\
         .loc 1 2 3\nst.shared.u32 [%r4], %r1;\n.loc 2 2 3, function_name $L, inlined_at 1 3 7\nld.shared.u32 %r5, [%r4+4];\n\
         .loc 1 4 3\nmov.u32 %r6, %ctaid.x;\nst.global.u32 [%rd1], %r6;\nret;\n}}\n",
        quoted(file),
        quoted("lib.h")
    ))
}

fn languages() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    for (file, first, barrier, across) in [
        ("k.cu", "", "add `__syncthreads();` before ", "add `__threadfence()` after the first"),
        (
            "k.rs",
            "",
            "add `core::arch::nvptx::_syncthreads();` before ",
            "add `fence(Ordering::Release)` after the first",
        ),
        (
            "k.py",
            "import triton",
            "add `tl.debug_barrier()` before ",
            "add an atomic with `sem=\"release\"` after the first",
        ),
        ("numba.py", "from numba import cuda", "add `bar.sync 0;` ", "add a release pattern "),
        ("k.c", "", "add `bar.sync 0;` ", "add a release pattern "),
    ] {
        // With both races in one file, the language is CUDA, not C as for a header.
        let text = with_sources(folder.path(), file)?.replace(".loc 2 2 3, ", ".loc 1 3 3, ");
        let path = folder.path().join(file);
        fs::write(&path, fs::read_to_string(&path)?.replacen("kernel", first, 1))?;
        let (status, _, stderr) = check(&["-", "--grid", "2"], &text)?;
        assert_eq!(status, 1, "{stderr}");
        for words in [barrier, across] {
            assert!(stderr.contains(&format!("= help: {words}")), "{file}: lacks {words}: {stderr}");
        }
    }
    Ok(())
}

fn sources() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let folder = folder.path().join("ü");
    let text = with_sources(&folder, "kernel ñ.cu")?;
    let (_, stdout, stderr) = check(&["-", "--grid", "1"], &text)?;
    assert!(stdout.contains("k: races: race"), "{stdout}");
    // The text shows both lines, and the call through which the second line was inlined.
    for words in ["lib.h:2:3", "read_next(s);", "write_own(s);", "kernel ñ.cu:3:7", "= note: inlined at "] {
        assert!(stderr.contains(words), "lacks {words}: {stderr}");
    }
    // A file of a library is not named. The finding shows the site of the call.
    let text = text.replace(".file 2 \"", ".file 2 \"/nowhere");
    let (_, _, stderr) = check(&["-", "--grid", "1"], &text)?;
    assert!(stderr.contains("x = next(s);") && !stderr.contains("inlined at"), "{stderr}");
    Ok(())
}

fn no_ptx() -> Result<(), Failed> {
    for (text, said) in [
        ("define void @f() {\n  ret void\n}\n", "the input has no kernel to check"),
        (".version 8.0\n.target sm_80\n.address_size 64\n.func f() { ret; }\n", "the input has no kernel to check"),
        ("", "error"),
    ] {
        let (status, stdout, stderr) = check(&["-"], text)?;
        assert_eq!((status, &*stdout), (1, ""), "{text}");
        assert!(stderr.contains(said), "{text}: {stderr}");
    }
    Ok(())
}

fn damaged() -> Result<(), Failed> {
    let text = format!("{OWN}.visible .entry other()\n{{\nst.global.u32 [, 1;\nret;\n}}\n");
    let (status, stdout, stderr) = check(&["-", "--grid", "1"], &text)?;
    assert_eq!(status, 1, "{stderr}");
    assert!(stdout.contains("own: races: free"), "{stdout}");
    assert!(!stdout.contains("other: races: free"), "{stdout}");
    assert!(stderr.contains("error"), "{stderr}");
    Ok(())
}

fn usage() -> Result<(), Failed> {
    for options in [&["--only", "order"][..], &["--async"], &["--block", "0"], &["--block", "2048"]] {
        status("free", options, 2)?;
    }
    Ok(())
}
