//! `ptx-atomics check --async`: each rule on a kernel that breaks it and on the corrected kernel, every format, and
//! files without a kernel.

use std::{
    collections::BTreeSet,
    fs,
    io::Write,
    path::PathBuf,
    process::{Command, Output, Stdio},
};

use itertools::Itertools;
use libtest_mimic::{Failed, Trial};
use serde_json::Value;
use testing::{findings::flat, ptx_atomics, root, snapshot};

/// The rules, the options under which the `wrong` kernel of each gives a finding, and the verdict.
#[rustfmt::skip]
const RULES: [(&str, &[&str], &str); 16] = [
    ("R1", &[], "error"), ("R2", &[], "error"), ("R3", &[], POSSIBLE), ("R4", &[], "error"), ("R5", &[], "error"),
    ("R6", &[], "error"), ("R7", &[], "error"), ("R8", &["--profile", "strict"], POSSIBLE), ("R9", &[], POSSIBLE), ("R10", &[], "error"),
    ("R11", &["--profile", "strict"], POSSIBLE), ("R12", &[], "error"), ("R13", &["--mcpu", "sm_90"], POSSIBLE),
    ("R14", &[], "error"), ("R15", &[], "error"), ("R16", &[], "error"),
];
/// The verdict of a finding without a witness. It rests on a compiler's freedom, or on an order of products that the
/// machine keeps.
const POSSIBLE: &str = "possible";

pub fn trials() -> Vec<Trial> {
    let rules = RULES
        .map(|(rule, options, verdict)| Trial::test(format!("rule {rule}"), move || follows(rule, options, verdict)));
    let others = [
        Trial::test("every rule has kernels", no_other_rule),
        Trial::test("JSON has each field of a finding", json),
        Trial::test("SARIF follows its schema", sarif),
        Trial::test("JSON names the file of a line", file_of_the_line),
        Trial::test("the check reports a copy at the end of its kernel", end_of_kernel),
        Trial::test("a finding names its profile", profiles),
        Trial::test("the check reads several files, and standard input", several),
        Trial::test("the check reads LLVM IR", llvm_ir),
        Trial::test("the check optimizes IR that LLVM cannot compile otherwise", optimized_ir),
        Trial::test("--explain shows a litmus test and an execution", explained),
        Trial::test("the check follows threads in two dimensions", directions),
        Trial::test("a baseline accepts its findings alone", baseline),
        Trial::test("--kernel selects a kernel", one_kernel),
        Trial::test("a finding names lines of the source", source_lines),
        Trial::test("a damaged kernel leaves the findings of other kernels", damaged),
        Trial::test("an input that is not PTX is an error", no_ptx),
        Trial::test("unknown instructions are not checked", unknown),
        Trial::test("the check ends on recursion and loops with two entries", control_flow),
        Trial::test("the check reads many kernels", many),
        Trial::test("wrong usage has exit status 2", usage),
    ];
    let repeated =
        files().into_iter().map(|file| Trial::test(format!("executions of {file} repeat"), move || repeats(&file)));
    let repeated = testing::one_of(4, repeated);
    // The reduced kernels are not part of the project, and their trial takes minutes.
    let is_wanted = std::env::var_os("WITNESS_ALL").is_some() && reduced().exists();
    let reduced = Trial::test("executions of reduced kernels repeat", of_reduced).with_ignored_flag(!is_wanted);
    let all = rules.into_iter().chain(others).chain(repeated).chain([reduced]);
    all.collect()
}

/// The result of a run.
struct Done {
    status: i32,
    stdout: String,
    stderr: String,
}

/// Checks files with options, and `stdin` as standard input.
fn check(arguments: &[&str], stdin: &str) -> Result<Done, Failed> {
    let mut command = ptx_atomics();
    command.args(["check", "--async"]).args(arguments).stdin(Stdio::piped());
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    // The write fails if the process ends without reading its input.
    let _ = child.stdin.take().ok_or("no standard input")?.write_all(stdin.as_bytes());
    let Output { status, stdout, stderr } = child.wait_with_output()?;
    Ok(Done {
        status: status.code().unwrap_or(-1),
        stdout: String::from_utf8(stdout)?,
        stderr: String::from_utf8(stderr)?,
    })
}

/// The findings in a text that is passed on standard input.
fn findings(ptx: &str, options: &[&str]) -> Result<Vec<Value>, Failed> {
    let Done { stdout, .. } = check(&[&["-", "--format", "json"], options].concat(), ptx)?;
    Ok(flat(&stdout))
}

fn path(rule: &str) -> String {
    let ending = if rule == "R13" { "ll" } else { "ptx" };
    format!("tests/async/{}.{ending}", rule.to_lowercase())
}

/// The rules whose kernels are PTX files.
fn of_ptx() -> impl Iterator<Item = &'static str> {
    RULES.into_iter().map(|(rule, ..)| rule).filter(|rule| path(rule).ends_with(".ptx"))
}

fn kernels(rule: &str) -> Result<String, Failed> {
    Ok(fs::read_to_string(root().join(path(rule)))?)
}

fn follows(rule: &str, options: &[&str], verdict: &str) -> Result<(), Failed> {
    let Done { stdout, .. } = check(&[&[&*path(rule), "--format", "json"], options].concat(), "")?;
    let found = flat(&stdout);
    let of = |kernel: &str| found.iter().filter(|finding| finding["kernel"] == kernel).collect_vec();
    let expected = i32::from(verdict == "error");
    let breaks = |finding: &&Value| finding["verdict"] == verdict && finding["rule"] == rule;
    assert_eq!(of("wrong").iter().filter(|finding| breaks(finding)).count(), 1, "{found:#?}");
    assert!(of("right").is_empty(), "{found:#?}");
    let Done { status, stdout, stderr } = check(&[&[&*path(rule)], options].concat(), "")?;
    assert_eq!((status, &*stdout), (expected, ""), "{stderr}");
    let Done { status, stderr, .. } = check(&[&[&*path(rule), "--strict"], options].concat(), "")?;
    assert_eq!(status, i32::from(verdict != "warning"));
    snapshot::pin("tests/async", &rule.to_lowercase(), &stderr)
}

fn no_other_rule() -> Result<(), Failed> {
    let names = RULES.iter().map(|(rule, ..)| rule.to_lowercase()).collect::<BTreeSet<_>>();
    snapshot::none_left("tests/async", &names)?;
    let files = fs::read_dir(root().join("tests/async"))?.flatten().map(|entry| entry.path());
    let stem = |file: PathBuf| Some(file.file_stem()?.to_str()?.to_owned());
    let files =
        files.filter(|file| file.extension().is_some_and(|ending| ending == "ptx" || ending == "ll")).filter_map(stem);
    assert_eq!(files.collect::<BTreeSet<_>>(), names);
    Ok(())
}

fn json() -> Result<(), Failed> {
    let site = |line: u32, instruction: &str| {
        let first = [0; 3];
        serde_json::json!({ "line": line, "source": null, "instruction": instruction, "thread": first, "cta": first })
    };
    let Done { status, stdout, stderr } = check(&[&path("R7"), "--format", "json"], "")?;
    assert_eq!((status, &*stderr), (1, ""));
    let found = flat(&stdout);
    let [finding] = &found[..] else { panic!("{stdout}") };
    let access = |line: u32, index: u32| {
        let first = [0; 3];
        serde_json::json!({ "function": 0, "index": index, "line": line, "thread": first, "cta": first })
    };
    let expected = serde_json::json!({
        "question": "async", "rule": "R7", "severity": "error", "possible": false, "not_checked": false, "allowed": null,
        "message": "the cp.async on line 20 may be in flight when the read accesses the same shared memory",
        "file": path("R7"), "line": 21, "column": 0, "first": 20, "operation": null,
        "sites": [access(20, 10), access(21, 11)],
        "notes": ["an execution: first line 20: cp.async.cg.shared.global of thread 0,0,0 of CTA 0,0,0, then line 21: ld.shared.b32 \
                   of thread 0,0,0 of CTA 0,0,0"],
        "help": "insert cp.async.wait_all before line 21",
        "edits": [{ "line": 21, "position": "before", "instruction": "cp.async.wait_all" }],
        "evidence": {
            "kind": "witness", "given": false, "launches": 3, "launch": "--grid 1 --block 32 --arg 'in:u32[]=small' --arg 'out:u32[]=small'",
            "command": format!(
                "ptx-atomics run {} --kernel wrong --seed 0 --like-check --grid 1 --block 32 --arg 'in:u32[]=small' --arg 'out:u32[]=small'",
                path("R7"),
            ),
            "fault": "race", "seed": 0,
            "message": "a write and a read of `tile` have no order",
            "first": site(20, "cp.async.cg.shared.global"), "second": site(21, "ld.shared.b32"),
        },
    });
    for (key, value) in expected.as_object().expect("an object") {
        assert_eq!(finding[key], *value, "{key}");
    }
    let Done { status, stdout, stderr } = check(&["-", "--format", "json"], HEAD)?;
    assert!(status == 1 && flat(&stdout).is_empty() && stderr.contains("the input has no kernel to check"), "{stderr}");
    Ok(())
}

/// JSON names the file to which the line belongs: the source, if it exists.
fn file_of_the_line() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let (source, ptx) = (folder.path().join("k.cu"), folder.path().join("k.ptx"));
    fs::write(&source, "copy\nread\n")?;
    let kernel = format!(
        "{HEAD}.visible .entry k(.param .u64 p) .reqntid 32 {{\n.reg .b64 %p; .reg .b32 %v; .shared .align 16 .b8 tile[16];\n\
         ld.param.u64 %p, [p];\n.loc 1 1 1\ncp.async.ca.shared.global [tile], [%p], 4;\n.loc 1 2 1\nld.shared.b32 %v, [tile];\nret;\n}}\n\
         .file 1 \"{}\"\n",
        source.display()
    );
    fs::write(&ptx, kernel)?;
    let given = ptx.display().to_string();
    let Done { stdout, .. } = check(&[&given, "--format", "json"], "")?;
    let found = flat(&stdout);
    let of = |key: &str| found[0][key].clone();
    assert_eq!(
        serde_json::json!([of("file"), of("line"), of("program")]),
        serde_json::json!([source.display().to_string(), 2, given])
    );
    Ok(())
}

/// A copy that may still read shared memory when its kernel ends. Each format has a warning and the position of the
/// missing instructions.
fn end_of_kernel() -> Result<(), Failed> {
    let kernel = |after: &str| {
        format!(
            "{HEAD}.visible .entry k(.param .u64 out) {{\n\t.reg .b64 %to; .shared .align 16 .b8 tile[16];\n\tld.param.u64 %to, [out];\n\t\
             cp.async.bulk.global.shared::cta.bulk_group [%to], [tile], 16;\n{after}\tret;\n}}\n"
        )
    };
    let found = findings(&kernel(""), &[])?;
    let [finding] = &found[..] else { panic!("{found:#?}") };
    let expected = serde_json::json!({
        "file": "<stdin>", "program": "<stdin>", "kernel": "k", "name": "k", "line": 7, "question": "async", "rule": "R7", "operation": null,
        "verdict": "warning", "profile": "default", "first": null,
        "message": "the bulk copy on line 7 may still read shared memory when the CTA ends, and its memory with it",
        "help": "insert cp.async.bulk.commit_group and cp.async.bulk.wait_group.read 0 after line 7",
        "edits": [
            { "line": 7, "position": "after", "instruction": "cp.async.bulk.commit_group" },
            { "line": 7, "position": "after", "instruction": "cp.async.bulk.wait_group.read 0" },
        ],
    });
    for (key, value) in expected.as_object().expect("an object") {
        assert_eq!(finding[key], *value, "{key}");
    }
    let command = "ptx-atomics run - --kernel k --seed 0 --like-check --grid 1 --block 32 --arg 'out:u32[]=small'";
    assert_eq!(
        (&finding["execution"]["command"], &finding["execution"]["fault"]),
        (&command.into(), &"unfinished".into())
    );
    let Done { status, stderr, .. } = check(&["-"], &kernel(""))?;
    assert!(status == 0 && stderr.starts_with("warning[R7]: the bulk copy"), "{stderr}");
    assert_eq!(
        findings(&kernel("\tcp.async.bulk.commit_group;\n\tcp.async.bulk.wait_group.read 0;\n"), &[])?,
        [Value::Null; 0]
    );
    Ok(())
}

/// Checks the output by the schema of SARIF 2.1.0: the required members, and the allowed words.
fn sarif() -> Result<(), Failed> {
    let files = RULES.map(|(rule, ..)| path(rule));
    let options = ["--format", "sarif", "--profile", "strict", "--mcpu", "sm_90"];
    let Done { status, stdout, stderr } = check(&files.iter().map(|file| &**file).chain(options).collect_vec(), "")?;
    assert_eq!((status, &*stderr), (1, ""));
    let log: Value = serde_json::from_str(&stdout)?;
    assert_eq!(log["version"], "2.1.0");
    let run = &log["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().ok_or("no rules")?;
    assert_eq!(
        rules.iter().filter_map(|rule| rule["id"].as_str()).collect_vec(),
        (1..=31).map(|number| format!("R{number}")).collect_vec()
    );
    assert!(rules.iter().all(|rule| rule["shortDescription"]["text"].as_str().is_some_and(|text| text.len() > 10)));
    let docs = fs::read_to_string(root().join("docs/evidence/async-rules.md"))?;
    let missing = rules[..16].iter().filter(|rule| {
        let (id, text) = (rule["id"].as_str().unwrap_or_default(), rule["shortDescription"]["text"].as_str());
        !docs.contains(&format!("| {id} | {} | ", text.unwrap_or_default()))
    });
    assert_eq!(missing.collect_vec(), [&Value::Null; 0], "the table in docs/evidence/async-rules.md");
    let results = run["results"].as_array().ok_or("no results")?;
    for result in results {
        let levels = ["fail error", "fail warning", "fail note", "open none"];
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let level = format!("{} {}", text(&result["kind"]), text(&result["level"]));
        assert!(levels.contains(&&*level), "{result}");
        assert!(text(&result["message"]["text"]).ends_with('.'), "{result}");
        let place = &result["locations"][0]["physicalLocation"];
        assert!(place["region"]["startLine"].as_u64().is_some_and(|line| line > 0), "{result}");
        assert!(files.contains(&text(&place["artifactLocation"]["uri"])), "{result}");
        if let Some(index) = result["ruleIndex"].as_u64() {
            assert_eq!(rules[index as usize]["id"], result["ruleId"], "{result}");
        }
        for replacement in result["fixes"][0]["artifactChanges"][0]["replacements"].as_array().into_iter().flatten() {
            assert!(text(&replacement["insertedContent"]["text"]).ends_with(";\n"), "{result}");
            assert!(replacement["deletedRegion"]["startLine"].is_u64(), "{result}");
        }
    }
    let broken: BTreeSet<_> = results.iter().filter_map(|result| result["ruleId"].as_str()).collect();
    assert_eq!(broken, RULES.map(|(rule, ..)| rule).into());
    Ok(())
}

fn profiles() -> Result<(), Failed> {
    let ptx = kernels("R11")?;
    let profiles = |options: &[&str]| -> Result<Vec<String>, Failed> {
        let found = findings(&ptx, options)?;
        let broken = found.iter().filter(|finding| finding["rule"] == "R11");
        Ok(broken.filter_map(|finding| Some(finding["profile"].as_str()?.to_owned())).collect())
    };
    assert_eq!(profiles(&[])?, [""; 0]);
    assert_eq!(profiles(&["--profile", "strict"])?, ["strict"]);
    assert_eq!(profiles(&["--reading", "A1=strict"])?, ["default, A1=strict"]);
    assert_eq!(profiles(&["--profile", "strict", "--reading", "start-after-earlier=lenient"])?, [""; 0]);
    Ok(())
}

fn several() -> Result<(), Failed> {
    let Done { status, stderr, .. } = check(&[&path("R5"), "-", &path("R8")], &kernels("R7")?)?;
    assert_eq!(status, 1);
    let places = stderr.lines().filter_map(|line| line.trim_start().strip_prefix("--> ")).collect_vec();
    assert_eq!(places, ["tests/async/r5.ptx:23:2", "<stdin>:21:2", "tests/async/r8.ptx:22:2"], "{stderr}");
    assert!(stderr.contains("\n6 kernels: "), "{stderr}");
    // An unreadable file does not keep the other files from being checked.
    let Done { status, stderr, .. } = check(&["tests/async/none.ptx", &path("R7")], "")?;
    assert_eq!(status, 1);
    assert!(stderr.contains("cannot read 'tests/async/none.ptx'") && stderr.contains("error[R7]"), "{stderr}");
    Ok(())
}

/// The incorrect kernels: the kernels of the rules, and reported bugs.
fn files() -> Vec<String> {
    let folder =
        |name: &str| fs::read_dir(root().join(name)).expect("a folder").map(|entry| entry.expect("a file").path());
    let all = folder("tests/async").chain(folder("tests/async/reported"));
    let all = all.filter(|path| path.extension().is_some_and(|ending| ending == "ptx"));
    all.filter_map(|path| Some(path.strip_prefix(root()).ok()?.display().to_string())).sorted().collect()
}

fn reduced() -> PathBuf {
    root().join("../shared/async-unseen/given.tar.gz")
}

/// The command in each execution repeats that execution. Returns the number of executions.
fn repeat(found: &[Value], stdin: &str) -> Result<usize, Failed> {
    let executions = found.iter().map(|finding| &finding["execution"]).filter(|execution| !execution.is_null());
    let of = |other: &Value, site: &Value, finding: &Value| {
        ["fault", "message"]
            .map(|key| finding.get(key).unwrap_or(&finding["kind"]).clone())
            .into_iter()
            .chain([other.clone(), site.clone()])
            .collect_vec()
    };
    let mut count = 0;
    for execution in executions {
        let command = execution["command"].as_str().ok_or("no command")?;
        let mut shell = Command::new("bash");
        shell.arg("-c").arg(format!("ptx-atomics() {{ \"$PROGRAM\" \"$@\"; }}; {command} --format json"));
        shell.env("PROGRAM", ptx_atomics().get_program()).current_dir(root());
        shell.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = shell.spawn()?;
        let _ = child.stdin.take().ok_or("no standard input")?.write_all(stdin.as_bytes());
        let Output { stdout, stderr, .. } = child.wait_with_output()?;
        let runs: Vec<Value> = serde_json::from_slice(&stdout)
            .map_err(|error| format!("{error}: {command}: {}", String::from_utf8_lossy(&stderr)))?;
        let wanted = of(&execution["first"], &execution["second"], execution);
        let shown = runs.iter().flat_map(|run| run["findings"].as_array().into_iter().flatten());
        let shown = shown.map(|finding| of(&finding["other"], &finding["site"], finding)).collect_vec();
        if !shown.contains(&wanted) {
            return Err(format!("{command} shows not {wanted:?} but {shown:#?}, {}", runs[0]["errors"]).into());
        }
        count += 1;
    }
    Ok(count)
}

/// A kernel before its fix, in a folder whose name needs quotes in a shell.
fn repeats(file: &str) -> Result<(), Failed> {
    let text = fs::read_to_string(root().join(file))?;
    let lines = text.lines().filter(|line| !line.trim_end().ends_with("// the fix"));
    let before: String = lines.map(|line| line.replacen("// before: ", "", 1) + "\n").collect();
    let folder = tempfile::Builder::new().prefix("it's here ").tempdir()?;
    let kernel = folder.path().join("kernel.ptx").display().to_string();
    fs::write(&kernel, before)?;
    let Done { stdout, .. } = check(&[&kernel, "--format", "json"], "")?;
    let found = flat(&stdout);
    let errors = found.iter().filter(|finding| finding["verdict"] == "error");
    assert!(errors.clone().all(|finding| finding["execution"].is_object()), "{stdout}");
    let count = repeat(&found, "")?;
    assert!(count >= errors.count(), "{count}");
    Ok(())
}

fn of_reduced() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    testing::success(Command::new("tar").arg("xzf").arg(reduced()).arg("-C").arg(folder.path()).arg("./reduced"))?;
    let mut count = 0;
    for entry in fs::read_dir(folder.path().join("reduced"))? {
        let path = entry?.path().display().to_string();
        if path.ends_with(".ptx") {
            let Done { stdout, .. } = check(&[&path, "--format", "json"], "")?;
            count += repeat(&flat(&stdout), "")?;
        }
    }
    println!("{count} executions");
    Ok(())
}

const LLVM_IR: &str = r#"target triple = "nvptx64-nvidia-cuda"
@tile = internal addrspace(3) global [256 x i32] undef, align 128
declare void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3), ptr addrspace(1))
define ptx_kernel void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) @tile, ptr addrspace(1) %in)
  %v = load i32, ptr addrspace(3) @tile
  store i32 %v, ptr addrspace(1) %out
  ret void
}
"#;

/// A branch that the optimizer removes contains an instruction that makes LLVM's backend abort.
fn optimized_ir() -> Result<(), Failed> {
    let of = |flag: &str| {
        format!(
            "target triple = \"nvptx64-nvidia-cuda\"
define ptx_kernel void @k(ptr addrspace(1) %p) {{
  %flag = alloca i1
  store i1 {flag}, ptr %flag
  %is_dead = load i1, ptr %flag
  br i1 %is_dead, label %dead, label %live
dead:
  %v = load fp128, ptr addrspace(1) %p
  %w = frem fp128 %v, %v
  store fp128 %w, ptr addrspace(1) %p
  br label %live
live:
  ret void
}}
"
        )
    };
    let folder = tempfile::tempdir()?;
    let check = |flag: &str| -> Result<Output, Failed> {
        fs::write(folder.path().join("a.ll"), of(flag))?;
        Ok(ptx_atomics().current_dir(&folder).args(["check", "a.ll"]).output()?)
    };
    let (optimized, failed) = (check("false")?, check("true")?);
    let said = String::from_utf8(optimized.stderr)?;
    if !optimized.status.success() || !said.contains("warning: the check reads 'a.ll' after LLVM's optimizer at -O1") {
        return Err(format!("expected a warning and status 0, found {}: {said}", optimized.status).into());
    }
    let said = String::from_utf8(failed.stderr)?;
    match said.contains("error: before LLVM's optimizer, the module has operations without a lowering for the target") {
        true => Ok(()),
        false => Err(format!("expected the error of the unoptimized module, found {said}").into()),
    }
}

fn llvm_ir() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("a.ll");
    fs::write(&file, LLVM_IR)?;
    let name = file.to_str().ok_or("a path that is not text")?;
    let Done { status, stderr, .. } = check(&[name, "--mcpu", "sm_80"], "")?;
    // The number of threads is guessed. Launches with three numbers show the finding.
    assert!(status == 1 && stderr.contains("error[R7]"), "{stderr}");
    let Done { status, stderr, .. } = check(&[name, "--mcpu", "sm_80", "--block", "1"], "")?;
    assert_eq!(status, 1, "{stderr}");
    let expected = "\
error[R7]: the cp.async on line 5 may be in flight when the read accesses the same shared memory
 --> a.ll:6:3
  |
5 |   call void @llvm.nvvm.cp.async.ca.shared.global.4(ptr addrspace(3) @tile, ptr addrspace(1) %in)
  |   ---------------------------------------------------------------------------------------------- the first access
6 |   %v = load i32, ptr addrspace(3) @tile
  |   ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^ in function 'k'
  |
  = note: rule R7, section 9.7.9.25 of the PTX manual, profile default
  = note: an execution: first cp.async.ca.shared.global of thread 0,0,0 of CTA 0,0,0, then ld.shared.b32 of thread 0,0,0 of CTA 0,0,0
  = note: repeat it: ptx-atomics run a.ll --mcpu sm_80 --kernel k --seed 0 --like-check --grid 1 --block 1 --arg 'param_0:u32[]=small' --arg 'param_1:u32[]=small'
  = help: insert cp.async.wait_all before line 6

1 kernel: 1 error; asked: async (1 missing)
";
    let place = format!("{}/", folder.path().display());
    assert_eq!(stderr.replace(&place, ""), expected);
    // The same input on standard input.
    let input = ["-", "--input", "llvm", "--mcpu", "sm_80", "--block", "1"];
    let Done { status, stderr, .. } = check(&input, LLVM_IR)?;
    assert_eq!(status, 1);
    assert!(stderr.contains("--> <stdin>:6:3"), "{stderr}");
    // The command repeats an execution of the PTX that `check` made, which differs from the PTX of `lower`.
    assert_eq!(repeat(&findings(LLVM_IR, &input[1..])?, LLVM_IR)?, 1);
    let Done { stdout, .. } = check(&[name, "--mcpu", "sm_80", "--block", "1", "--format", "json"], "")?;
    assert_eq!(repeat(&flat(&stdout), "")?, 1);
    Ok(())
}

fn explained() -> Result<(), Failed> {
    let Done { stderr, .. } = check(&[&path("R1"), "--explain"], "")?;
    assert!(stderr.contains("\nPTX wrong") && stderr.contains(" have a data race. "), "{stderr}");
    let Done { stderr, .. } = check(&[&path("R1")], "")?;
    assert!(!stderr.contains("data race"), "{stderr}");
    Ok(())
}

/// Each warp is a row of the CTA and has a row of the tile. If the same number of threads is in one dimension, all
/// threads share one row.
fn directions() -> Result<(), Failed> {
    let text = format!(
        "{HEAD}.entry k(.param .u64 .ptr .global .align 16 in, .param .u64 .ptr .global .align 16 out) .maxntid 128, 1, 1 {{\n\
         .reg .b32 %x, %y, %at, %r; .reg .b64 %in, %out; .shared .align 16 .b8 tile[512];\n\
         ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %x, %tid.x; mov.u32 %y, %tid.y;\n\
         and.b32 %x, %x, 31; mad.lo.u32 %at, %y, 32, %x; mad.wide.u32 %out, %at, 4, %out; shl.b32 %at, %at, 2;\n\
         mov.u32 %r, tile; add.u32 %at, %at, %r; cp.async.ca.shared.global [%at], [%in], 4;\n\
         cp.async.wait_all;\nbar.sync 0; xor.b32 %at, %at, 4; ld.shared.b32 %r, [%at]; st.global.b32 [%out], %r; ret;\n}}\n"
    );
    let wrong = text.replace("cp.async.wait_all;", "");
    for (text, options, verdicts) in [
        (&*text, &[][..], &[][..]),
        (&*text, &["--block", "32,4"], &[]),
        (&*text, &["--block", "128"], &["error"]),
        (&*wrong, &[], &["error"]),
        (&*wrong, &["--block", "32,4"], &["error"]),
    ] {
        let mut found: Vec<Value> = findings(text, options)?;
        found.retain(|finding| ["error", "possible"].iter().any(|verdict| finding["verdict"] == *verdict));
        let own: BTreeSet<_> = found.iter().filter_map(|finding| finding["verdict"].as_str()).collect();
        assert_eq!(own, verdicts.iter().copied().collect(), "{options:?} {found:#?}");
    }
    Ok(())
}

fn baseline() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let path_of = |name: &str| folder.path().join(name).display().to_string();
    let (file, kernel) = (path_of("baseline.json"), path_of("kernel.ptx"));
    fs::write(&kernel, kernels("R4")?)?;
    // Writing a baseline succeeds.
    assert_eq!(check(&[&kernel, "--write-baseline", &file], "")?.status, 0);
    let known = |expected: i32, words: &str| -> Result<(), Failed> {
        let Done { status, stderr, .. } = check(&[&kernel, "--baseline", &file], "")?;
        assert!(status == expected && stderr.ends_with(words), "{stderr}");
        Ok(())
    };
    known(0, "; of the baseline, 1 findings remain and 0 are gone\n")?;
    // The lines move, and a new finding is reported.
    let other = kernels("R7")?.replace("wrong", "new");
    let (_, other) = other.split_once(".visible").ok_or("no kernel")?;
    fs::write(&kernel, format!("// A line.\n{}.visible{other}", kernels("R4")?))?;
    known(1, "; of the baseline, 1 findings remain and 0 are gone\n")?;
    fs::write(&kernel, HEAD)?;
    known(1, "of the baseline, 0 findings remain and 1 are gone\n")?;
    fs::write(&file, "{}")?;
    known(1, "write a baseline by `--write-baseline FILE`\n\n")
}

fn one_kernel() -> Result<(), Failed> {
    for (name, count) in [("wrong", 1), ("right", 0), ("none", 0)] {
        let found = findings(&kernels("R4")?, &["--kernel", name])?;
        assert_eq!(found.len(), count, "{name}");
    }
    // The option also accepts the name in the source.
    let mangled = kernels("R4")?.replace("wrong", "_ZN4tile5storeEv");
    let found = findings(&mangled, &["--kernel", "tile::store"])?;
    assert_eq!((found.len(), &found[0]["name"]), (1, &"tile::store".into()));
    Ok(())
}

/// The site of a finding is in the source that `.loc` names, if it exists, and the finding also names the lines of the
/// PTX.
fn source_lines() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let source = folder.path().join("tile.cu");
    let with_lines = |text: &str| {
        let text = text.replacen("\tst.shared", "\t.loc 1 2 3\n\tst.shared", 1);
        let text = text.replacen("\tcp.async.bulk", "\t.loc 1 3 3\n\tcp.async.bulk", 1);
        text.replacen(".visible", &format!(".file 1 \"{}\"\n.visible", source.display()), 1)
    };
    let Done { stderr, .. } = check(&["-"], &with_lines(&kernels("R4")?))?;
    assert!(
        stderr.contains("--> <stdin>:") && stderr.contains("in the source: ") && stderr.contains("tile.cu:3:3"),
        "{stderr}"
    );
    fs::write(&source, "void k() {\n  tile = 1;\n  store(tile);\n}\n")?;
    let Done { stderr, .. } = check(&["-"], &with_lines(&kernels("R4")?))?;
    let words = [
        "tile.cu:3:3",
        "the write on line 2 and the bulk copy",
        "store(tile);",
        "= note: <stdin>:",
        " is the PTX, the first access on line ",
        "= help: insert `cuda::ptx::fence_proxy_async(cuda::ptx::space_shared);` ",
    ];
    assert!(words.iter().all(|word| stderr.contains(word)), "{stderr}");
    Ok(())
}

const HEAD: &str = ".version 8.8\n.target sm_90a\n.address_size 64\n";

fn damaged() -> Result<(), Failed> {
    let text = kernels("R7")?;
    let other = text.replace("right", "third").replace("wrong", "fourth");
    let other = other.split_once(".visible").ok_or("no kernel")?.1;
    for wrong in ["(((;", "{ ret;", "} ret;", "add.u32 %r, [;"] {
        // The text is inserted into the first kernel, after its declarations.
        let text = text.replacen("mov.u32", &format!("{wrong}\n\tmov.u32"), 1) + "\n.visible" + other;
        let Done { status, stdout, stderr } = check(&["-", "--format", "json"], &text)?;
        assert_eq!(status, 1);
        assert!(stderr.contains("--> <stdin>:"), "{wrong}: {stderr}");
        let found = flat(&stdout);
        let found = found.iter().map(|finding| (finding["kernel"].clone(), finding["verdict"].clone())).collect_vec();
        assert_eq!(found, [("wrong".into(), "not-checked".into()), ("fourth".into(), "error".into())], "{wrong}");
    }
    Ok(())
}

fn no_ptx() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let refuses = |bytes: &[u8], expected: &str| -> Result<(), Failed> {
        let file = folder.path().join("a.ptx");
        fs::write(&file, bytes)?;
        let Done { status, stdout, stderr } = check(&[&file.display().to_string()], "")?;
        assert_eq!((status, &*stdout), (1, ""));
        assert!(stderr.contains(expected), "{stderr}");
        assert!(stderr.ends_with("\n0 kernels: no findings\n"), "{stderr}");
        Ok(())
    };
    refuses(b"", "error: expected `.version` and `.target`: the text is not PTX")?;
    refuses(b"\x7fELF\x02\x01\x00\xff\xfe", "a.ptx' has no embedded PTX")?;
    refuses(b"fn main() {}\n", "the text is not PTX")?;
    refuses(&[0; 4096], "error: ")?;
    // The command does not panic on any prefix of our kernels.
    for rule in of_ptx() {
        let text = kernels(rule)?;
        for end in (0..text.len()).step_by(397) {
            let Done { status, stderr, .. } = check(&["-", "--quick"], &text[..end])?;
            assert!((0..=1).contains(&status), "{rule} up to {end}: {stderr}");
        }
    }
    Ok(())
}

fn unknown() -> Result<(), Failed> {
    let text = kernels("R7")?.replacen("cp.async.cg", "frobnicate.now %x, [%at];\n\tcp.async.cg", 1);
    let found = findings(&text, &[])?;
    let named = |finding: &&Value| {
        let message = finding["message"].as_str().unwrap_or_default();
        finding["verdict"] == "not-checked" && message.starts_with("not checked: ") && message.contains("frobnicate")
    };
    assert_eq!(found.iter().filter(named).count(), 1, "{found:#?}");
    let Done { stderr, .. } = check(&["-", "-v"], &text)?;
    assert!(stderr.contains("note: not checked: "), "{stderr}");
    Ok(())
}

fn control_flow() -> Result<(), Failed> {
    let copy = "cp.async.ca.shared.global [tile], [%in], 4;";
    let head = format!("{HEAD}.shared .align 16 .b8 tile[64];\n");
    let recursive = format!(
        "{head}.func f(.param .u64 p) {{ .reg .b64 %in; ld.param.u64 %in, [p]; {copy} call.uni f, (p); ret; }}\n\
         .entry k(.param .u64 q) {{ call.uni f, (q); ret; }}\n"
    );
    let irreducible = format!(
        "{head}.entry k(.param .u64 q) {{ .reg .b64 %in; .reg .pred %p; .reg .b32 %x; ld.param.u64 %in, [q];\n\
         setp.eq.u64 %p, %in, 0; @%p bra B;\nA: {copy} @%p bra B; ret;\nB: ld.shared.b32 %x, [tile]; bra A;\n}}\n"
    );
    let Done { status, stderr, .. } = check(&["-"], &recursive)?;
    assert!((0..=1).contains(&status) && stderr.contains("1 kernel: "), "{stderr}");
    let Done { status, stderr, .. } = check(&["-"], &irreducible)?;
    // All threads copy to the same address.
    assert!(status == 1 && stderr.contains("error"), "{stderr}");
    Ok(())
}

/// All kernels of all rules, many times. `CHECK_ASYNC_BYTES` sets the size of the file.
fn many() -> Result<(), Failed> {
    let bytes = std::env::var("CHECK_ASYNC_BYTES").map_or(Ok(1 << 18), |bytes| bytes.parse::<usize>())?;
    let mut text = HEAD.to_owned();
    let mut count = 0;
    while text.len() < bytes {
        for rule in of_ptx() {
            let kernels = kernels(rule)?;
            let (_, kernels) = kernels.split_once(".visible").ok_or("no kernel")?;
            let named = |old: &str| format!(".entry {old}{count}_{rule}(");
            text += ".visible";
            text += &kernels.replace(".entry wrong(", &named("wrong")).replace(".entry right(", &named("right"));
        }
        count += 1;
    }
    let found = findings(&text, &["--quick"])?;
    let wrong = found.iter().filter(|finding| finding["verdict"] == "possible");
    let kernels: BTreeSet<_> = wrong.filter_map(|finding| finding["kernel"].as_str()).collect();
    // All rules except the rules of the strict profile.
    let of_profile = RULES.iter().filter(|(_, options, _)| options.contains(&"strict")).count();
    assert_eq!(kernels.len(), count * (of_ptx().count() - of_profile));
    assert!(kernels.iter().all(|kernel| kernel.starts_with("wrong")));
    Ok(())
}

fn usage() -> Result<(), Failed> {
    let refuses = |arguments: &[&str]| -> Result<(), Failed> {
        let mut command: Command = ptx_atomics();
        let Output { status, stderr, .. } = command.arg("check").args(arguments).output()?;
        assert_eq!(status.code(), Some(2), "{arguments:?}: {}", String::from_utf8_lossy(&stderr));
        Ok(())
    };
    refuses(&["--async"])?;
    refuses(&[])?;
    refuses(&["--strict"])?;
    refuses(&["a.ptx", "--ptx", "b.ptx"])?;
    refuses(&["--async", "a.ptx", "--profile", "lax"])?;
    refuses(&["--async", "a.ptx", "--reading", "A99=strict"])?;
    refuses(&["--async", "a.ptx", "--format", "xml"])?;
    refuses(&["--async", "a.ptx", "--json"])?;
    refuses(&["--async", "a.ptx", "--only", "order"])?;
    refuses(&["a.ptx", "--only", "races-of-horses"])?;
    refuses(&["a.ptx", "--allow-empty"])?;
    refuses(&["--ir", "a.ll", "--ptx", "a.ptx", "--profile", "strict"])?;
    refuses(&["--ir", "a.ll", "--ptx", "a.ptx", "--mcpu", "sm_90"])
}
