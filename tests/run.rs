//! `ptx-atomics run`: small kernels, every option and format, errors in inputs and launches, and the examples.

use std::{
    collections::BTreeSet,
    fs,
    io::Write,
    path::Path,
    process::{Command, Output, Stdio},
};

use itertools::Itertools;
use libtest_mimic::{Failed, Trial};
use ptx_execute::FaultKind;
use serde_json::Value;
use strum::IntoEnumIterator;
use testing::{
    examples::{self, Example, KERNELS, compile, examples, rustc_missing, scoped},
    exists, llvm_version, ptx_atomics, root, success, tool,
};
use walkdir::WalkDir;

type Test = fn() -> Result<(), Failed>;

pub fn trials() -> Vec<Trial> {
    let tests: &[(&str, Test)] = &[
        ("comments describe the runs of a kernel", comments),
        ("parameters of a mangled kernel have short names", mangled),
        ("a run reports a race", race),
        ("the command chooses missing options", chosen),
        ("arguments set parameters", arguments),
        ("conditions set the exit status", conditions),
        ("files of NumPy and of bytes hold buffers", files),
        ("tensor maps describe buffers", tensor_maps),
        ("a file describes a sequence of launches", sequence),
        ("a dependent launch needs its wait", dependent),
        ("arguments set parts of parameters", parts),
        ("--like-check ignores comments", like_check),
        ("the printed command repeats a seed", seeds),
        ("JSON has each field of a run", json),
        ("SARIF has both sites of a race", sarif),
        ("a run that does not end is an error", ends),
        ("an impossible launch is an error", no_launch),
        ("an input without a kernel is an error", no_input),
        ("the command lowers LLVM IR and MLIR first", lowered),
        ("damaged PTX never aborts", damaged),
        ("the guide lists every finding", findings),
        ("every example describes its runs", every_example),
    ];
    let tests = tests.iter().map(|(name, test)| Trial::test(*name, test));
    let by_us = |example: Example| {
        let missing = example.compiler().1;
        testing::trial(format!("example {}", example.path), missing, move || of_example(&example.path))
    };
    let by_others = |example: Example| {
        let missing = example.compiler().1.or((!exists(tool("llc"))).then_some(tool("llc")));
        testing::trial(format!("{} by llc runs", example.path), missing, move || by_llc(&example))
    };
    let of_mlir = |path: &'static str| {
        let missing = (!cfg!(feature = "mlir")).then_some("the feature mlir");
        testing::trial(format!("example {path}"), missing, move || of_example(path))
    };
    let of_examples = examples().into_iter().chain([scoped()]).map(by_us);
    let of_examples = of_examples.chain(MLIR.map(of_mlir)).chain(examples().into_iter().map(by_others));
    let missing = (!exists(tool("clang"))).then_some(tool("clang")).or(rustc_missing(""));
    let guide = testing::trial("the guide shows the command's output".into(), missing, guide);
    tests.chain(of_examples).chain([guide]).collect()
}

/// The output of a run.
struct Done {
    stdout: String,
    stderr: String,
}

const FOLDER: &str = "tests/run";

/// Splits a text at white space. A text between single quotes is one word.
fn words_of(text: &str) -> Vec<&str> {
    let parts = text.split('\'').enumerate();
    parts
        .flat_map(|(index, part)| if index % 2 == 1 { vec![part] } else { part.split_whitespace().collect() })
        .collect()
}

/// Runs an input, and checks the exit status and that the output contains `words`.
fn check(arguments: &str, status: i32, words: &[&str]) -> Result<Done, Failed> {
    let arguments = words_of(arguments);
    let output = ptx_atomics().arg("run").args(&arguments).current_dir(root().join(FOLDER)).output()?;
    let Output { status: found, stdout, stderr } = output;
    let (stdout, stderr) = (String::from_utf8(stdout)?, String::from_utf8(stderr)?);
    let missing = words.iter().filter(|word| !stderr.contains(**word) && !stdout.contains(**word)).join("', '");
    if found.code() != Some(status) || !missing.is_empty() {
        return Err(format!("run {arguments:?}: {found}, lacks '{missing}':\n{stderr}{stdout}").into());
    }
    Ok(Done { stdout, stderr })
}

fn comments() -> Result<(), Failed> {
    check("sum.ptx", 0, &["sum: grid 4, block 128: ", " no race and no deadlock in any schedule of this launch"])?;
    check("sum.ptx --grid 2 --block 8,8", 1, &["error: out == 512 does not hold", "out is 128, expected == 512"])?;
    check("sum.ptx --arg out:u32[1]=7 --expect 'out == 519'", 0, &[])?;
    check("runs.ptx", 1, &["store: grid 2, block 1: ", "plain: grid 1, block 64: ", "1 race", "no race"])?;
    check("runs.ptx --kernel other", 0, &["other: grid 1, block 32: "])?;
    check("runs.ptx --out x=none.bin", 2, &["--out needs a single run, and the comments of the file describe 3 runs"])?;
    Ok(())
}

/// An argument may omit the kernel's name at the start of a parameter's name. With two launches, the output shows the
/// full name of a parameter without an argument.
fn mangled() -> Result<(), Failed> {
    let one = "mangled.ptx --kernel add --grid 1 --block 1";
    for name in ["param", "_Z3addPjj_param"] {
        let arguments = format!("--arg {name}_0:u32[1]=0 --arg {name}_1=7");
        check(&format!("{one} {arguments} --expect '{name}_0 == 7'"), 0, &[])?;
    }
    check(&format!("{one} --arg param_1=7"), 0, &["param_0 is a buffer of zeros"])?;
    let both = ["; _Z5againPjj_param_0 is a buffer of zeros", "8 instructions by threads"];
    check("mangled.ptx --launch mangled.toml", 0, &both)?;
    Ok(())
}

fn race() -> Result<(), Failed> {
    let words = [
        "error[race]: ",
        "race.ptx:14:",
        "12 |     ld.global.u32 %r1, [%rd1];",
        "the first access: line 12: ld.global.u32 of thread ",
        "the second access: line 14: st.global.u32 of thread ",
        " of CTA ",
        "= help: ",
        "2 races",
    ];
    check("race.ptx", 1, &words)?;
    let done = check("race.ptx --races warn", 0, &["warning[race]: ", "2 races"])?;
    assert!(!done.stderr.contains("error"), "{}", done.stderr);
    check("race.ptx --races off", 0, &["races not checked"])?;
    let done = check(
        "same.ptx",
        0,
        &["warning[same-value]: ", "no race and no deadlock, 1 warning in any schedule of this launch"],
    )?;
    assert!(!done.stderr.contains("error"), "{}", done.stderr);
    Ok(())
}

fn chosen() -> Result<(), Failed> {
    let said =
        "chosen, because not given: in, out are buffers of small random numbers; --block 64; --grid 2; factor=1; n=64";
    check("scale.ptx", 0, &[said, "scale: grid 2, block 64: "])?;
    // The chosen numbers satisfy the kernel's condition; with other numbers the kernel ends early.
    check("divisible.ptx", 0, &["n=16"])?;
    check("scale.ptx --arg n=7", 0, &["factor=1\n"])?;
    check("launch.ptx", 0, &["launch: grid 1, block 4,4: "]).map(drop)
}

fn arguments() -> Result<(), Failed> {
    let all = "scale.ptx --grid 1 --arg x:f32[100]=iota --arg y:f32[100] --arg";
    check(&format!("{all} 0.5 --arg 64 --print y[..5]"), 0, &["y = [0, 0.5, 1, 1.5, 2, …]\n"])?;
    check(&format!("{all} f32:2 --arg u32:3 --expect 'y[2] == 4 && y[3] == 0'"), 0, &[])?;
    // Arguments with the names of parameters may be in any order.
    check(
        "scale.ptx --grid 1 --arg n=3 --arg factor=-1 --arg x:f32[4]=1,2,3,4 --arg y:f32[4] --print y",
        0,
        &["y = [-1, -2, -3, 0]"],
    )?;
    check("scale.ptx --grid 1 --arg x:f32[4]=random --arg x --arg 1 --arg 4", 0, &[])?;
    check(&format!("{all} 0.5"), 2, &["kernel 'scale': the kernel has 4 parameters, and 3 are given"])?;
    check(&format!("{all} 0.5 --arg 1 --arg 2"), 2, &["the kernel has 4 parameters, and '2' is an extra argument"])?;
    check(&format!("{all} f64:1 --arg 1"), 2, &["parameter 'factor': 'f64:1' has 64 bits, and the parameter has 32"])?;
    check(&format!("{all} x --arg 1"), 2, &["parameter 'factor': expected f32, found the address 'x'"])?;
    check(&format!("{all} 1 --arg 1.5"), 2, &["parameter 'n': expected u32, found 1.5"])?;
    check("scale.ptx --arg x:f33[1]", 2, &["--arg 'x:f33[1]': unknown type 'f33'; the known types are b8, "])?;
    check(
        "sum.ptx --arg out:u32[64000000] --memory-limit 1M",
        2,
        &["the buffers have 256000000 bytes, and the limit is 1048576"],
    )?;
    check(
        "two.ptx --kernel gather --grid 1 --block 8 --arg d:u32[8]=1 --expect 'total == 8' --print total",
        0,
        &["total = [8]"],
    )?;
    check("two.ptx --kernel fill --grid 1 --block 8 --arg total", 1, &["error[out-of-bounds]: "]).map(drop)
}

fn conditions() -> Result<(), Failed> {
    check("sum.ptx --expect 'out == 512 && out[0] < 513 && out != 0'", 0, &[])?;
    check("sum.ptx --expect 'out == 1' --expect 'out == 2'", 1, &["out == 1 does not hold", "2 failed conditions"])?;
    check("sum.ptx --expect 'out[1] == 1'", 1, &["'out' has 1 element"])?;
    check("sum.ptx --expect out", 2, &["the condition 'out': expected a comparison such as 'out[3] == 7'"])?;
    check("sum.ptx --expect 'x == 1'", 2, &["expected a buffer or a variable, found 'x'", "the buffers are out"])?;
    check("sum.ptx --print x", 2, &["--print: expected a buffer or a variable, found 'x'"]).map(drop)
}

fn files() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (npy, bin) = (path("y.npy"), path("y.bin"));
    let all = "scale.ptx --grid 1 --arg x:f32[4]=iota --arg y:f32[4] --arg 2 --arg 4";
    let done = check(&format!("{all} --out y={npy} --out y={bin} --out y=-"), 0, &[])?;
    assert_eq!(done.stdout, "0\n2\n4\n6\n");
    assert_eq!(fs::read(&bin)?, [0f32, 2.0, 4.0, 6.0].iter().flat_map(|one| one.to_le_bytes()).collect::<Vec<_>>());
    assert!(fs::read(&npy)?.starts_with(b"\x93NUMPY\x01\x00"));
    for input in [format!("x={npy}"), format!("x:f32[]={bin}"), format!("x:f32[4]=@{bin}")] {
        let again = format!("scale.ptx --grid 1 --arg {input} --arg y:f32[4] --arg 1 --arg 4");
        check(&format!("{again} --expect 'y == {npy}'"), 0, &[])?;
        check(&format!("{again} --expect 'y == {npy} && y == x && y[3] ~= 6.1 +- 0.2'"), 0, &[])?;
    }
    let wrong = |input: &str, words: &[&str]| check(&format!("sum.ptx --arg {input}"), 2, words).map(drop);
    wrong(&format!("x:u64[]={npy}"), &["found f32"])?;
    wrong(&format!("x={bin}"), &["needs a type"])?;
    wrong(&format!("x:f32[5]={bin}"), &["has 4 elements"])?;
    wrong("x=none.npy", &["cannot read 'none.npy'"])?;
    check("sum.ptx --out out=none/x.npy", 2, &["cannot write 'none/x.npy'"]).map(drop)
}

fn tensor_maps() -> Result<(), Failed> {
    check("tensor.ptx", 0, &["tile: grid 1, block 32: ", "pointed: grid 1, block 32: ", "no race"])?;
    let other = |map: &str, status, words: &[&str]| {
        check(&format!("tensor.ptx --kernel tile --arg desc=tensormap({map}) --arg out:u32[8]"), status, words)
    };
    // Past the end of the tensor, the copy loads zeros.
    let done = other("x:u32[]=iota,8x2,box=4x2", 1, &["out[4] is 0, expected == 20"])?;
    assert!(!done.stderr.contains("race]"), "{}", done.stderr);
    other("x:u16[]=iota,16x4,box=4x2", 2, &["expected a row of the box that is a multiple of 16 bytes, found 8"])?;
    other("x:u32[4],8x4,box=4x2", 2, &["the tensor has 128 bytes, and its buffer 16"])?;
    other("none,8x4,box=4x2", 2, &["expected an earlier buffer, found 'none'"])?;
    // The mbarrier expects more bytes than the copy transfers, so the wait never ends.
    other("x:u32[],8x4,box=4x1", 1, &["error[hang]: "])?;
    check(
        "tensor.ptx --kernel tile --arg x:u32[8] --arg out:u32[8]",
        2,
        &["expected a tensor map, found the address 'x:u32[8]'"],
    )
    .map(drop)
}

/// The second grid may begin before the first grid has ended. With its wait the kernels do not race; without the wait
/// they race.
fn dependent() -> Result<(), Failed> {
    check("dependent.ptx", 0, &["produce, consume: ", "no race and no deadlock in any schedule of these launches"])?;
    let text = fs::read_to_string(root().join(FOLDER).join("dependent.ptx"))?;
    let other = |from: &str, to: &str, status: i32, words: &[&str]| -> Result<(), Failed> {
        assert!(text.contains(from), "{from}");
        let file = tempfile::Builder::new().suffix(".ptx").tempfile()?;
        fs::write(file.path(), text.replace(from, to))?;
        check(&file.path().display().to_string(), status, words).map(drop)
    };
    other("griddepcontrol.wait;", "", 1, &["error[race]: ", "`data", "griddepcontrol.wait", "produce, consume: "])?;
    // Without `dependent`, each launch is a separate run with separate buffers.
    other(
        "run: dependent",
        "run:",
        2,
        &[
            "kernel 'consume': parameter 'data': expected a number, an earlier buffer or a variable of the module, found 'data'",
        ],
    )?;
    check("dependent.ptx --arg n=7", 2, &["--arg n=7: no launch has an argument of this name"]).map(drop)
}

/// Numbers, buffers and tensor maps at offsets in a struct, and a map in a buffer.
fn parts() -> Result<(), Failed> {
    let all = "parts.ptx --arg args+4=7 --arg args+8:u32[]=iota --arg args+8=x";
    check(all, 2, &["'args+8:u32[]=iota'"])?;
    let all =
        "parts.ptx --grid 1 --block 8 --arg args+0=u16:3 --arg args+4=7 --arg args+8:u32[8]=iota --arg out:u32[8]";
    check(&format!("{all} --expect 'out == 10,17,24,31,38,45,52,59'"), 0, &["no race"])?;
    // Bytes without an argument are zeros.
    check(&format!("{all} --arg args+16=1 --expect 'out[0] == 11'"), 0, &[])?;
    check(&format!("{all} --arg args+24=1"), 2, &["parameter 'args': 'args+24=1' is after the last of its 24 bytes"])?;
    check(&format!("{all} --arg args+4=8"), 2, &["'args+4=8' is a second argument for the same bytes"])?;
    // Without arguments, the command chooses the values.
    check("parts.ptx", 0, &["args+8, out are buffers of small random numbers", "args+0=", "no race"]).map(drop)
}

fn like_check() -> Result<(), Failed> {
    // `--like-check` ignores the comments of the file, and treats a vote as an ordering of the lanes.
    check("sum.ptx --like-check --grid 1 --block 32", 0, &["sum: grid 1, block 32: ", "no race"])?;
    check("votes.ptx", 1, &["error[race]: "])?;
    check("votes.ptx --like-check", 0, &["no race"])?;
    check("spin.ptx --like-check", 0, &["the run was cut after 200000 instructions of warps"]).map(drop)
}

fn sequence() -> Result<(), Failed> {
    check(
        "two.ptx --launch two.toml --print data",
        0,
        &["fill, gather: ", "no race", "data = [0, 1, 2, 3, 4, 5, 6, 7]"],
    )?;
    check("two.ptx --launch two.toml --expect 'total == 29'", 1, &["total == 29 does not hold"])?;
    check("two.ptx --launch two.toml --grid 1", 2, &["cannot be used with"])?;
    check("two.ptx --launch sum.ptx", 2, &["sum.ptx:1:"])?;
    check("two.ptx --launch none.toml", 2, &["cannot read 'none.toml'"]).map(drop)
}

fn seeds() -> Result<(), Failed> {
    let done =
        check("race.ptx --seeds 8 --expect 'out == 64'", 1, &[" of 8 seeds", "2 races", "8 seeds", "repeat it: "])?;
    let (_, repeated) = done.stderr.split_once("repeat it: ptx-atomics ").ok_or("no command")?;
    assert!(repeated.contains("run race.ptx --expect 'out == 64' --seed 0"), "{repeated}");
    let once = |seed: &str| {
        check(&format!("race.ptx --print out --seed {seed}"), 1, &[]).map(|done| (done.stdout, done.stderr))
    };
    assert_eq!(once("3")?, once("3")?);
    check("race.ptx --schedule threads", 1, &[])?;
    check("race.ptx --schedule x", 2, &["expected a name that --help lists"])?;
    check("sum.ptx --seeds 0", 2, &["0 is not in 1.."])?;
    check("sum.ptx --seeds 16", 0, &["in any schedule of this launch"]).map(drop)
}

fn json() -> Result<(), Failed> {
    let done = check("race.ptx --format json", 1, &[])?;
    let all: Value = serde_json::from_str(&done.stdout)?;
    let run = &all[0];
    assert_eq!((&run["file"], &run["line"], &run["status"]), (&"race.ptx".into(), &2.into(), &1.into()));
    let race = &run["findings"][0];
    assert_eq!((&race["kind"], &race["level"], &race["site"]["line"]), (&"race".into(), &"wrong".into(), &14.into()));
    assert_eq!((&race["other"]["line"], &race["kernel"], &race["seeds"][0]), (&12.into(), &"add".into(), &0.into()));
    assert!(done.stderr.is_empty(), "{}", done.stderr);
    let done = check("sum.ptx --format json --expect 'out == 1'", 1, &[])?;
    let all: Value = serde_json::from_str(&done.stdout)?;
    assert_eq!(all[0]["failed"][0]["why"], "out is 512, expected == 1");
    check("sum.ptx --format json --print out", 2, &["--print is for --format text"]).map(drop)
}

fn sarif() -> Result<(), Failed> {
    let done = check("race.ptx --format sarif", 1, &[])?;
    let log: Value = serde_json::from_str(&done.stdout)?;
    let run = &log["runs"][0];
    let result = &run["results"][0];
    assert_eq!((&result["ruleId"], &result["level"]), (&"race".into(), &"error".into()));
    let line = |location: &Value| location["physicalLocation"]["region"]["startLine"].clone();
    assert_eq!((line(&result["locations"][0]), line(&result["relatedLocations"][0])), (14.into(), 12.into()));
    assert_eq!(run["invocations"][0]["executionSuccessful"], true);
    let done = check("spin.ptx --step-limit 100 --format sarif", 2, &[])?;
    let log: Value = serde_json::from_str(&done.stdout)?;
    assert_eq!(log["runs"][0]["invocations"][0]["executionSuccessful"], false);
    Ok(())
}

fn ends() -> Result<(), Failed> {
    check(
        "spin.ptx --step-limit 1000",
        2,
        &["error[step-limit]: ", "1000 instructions", "spin.ptx:10", "--step-limit", "not run to its end"],
    )?;
    check("divisible.ptx --arg out:u32[1] --arg 7", 1, &["error[trap]: ", "divisible.ptx:"])?;
    check("unknown.ptx", 2, &["unknown.ptx:", "multimem"]).map(drop)
}

fn no_launch() -> Result<(), Failed> {
    check("sum.ptx --block 2048", 2, &["kernel 'sum': the block is 2048 in x, and a GPU has at most 1024"])?;
    check("sum.ptx --block 1,1,65", 2, &["the block is 65 in z, and a GPU has at most 64"])?;
    check("sum.ptx --grid 1,65536", 2, &["the grid is 65536 in y, and a GPU has at most 65535"])?;
    check("sum.ptx --grid 0", 2, &["the grid is 0 in x"])?;
    check("sum.ptx --cluster 3", 2, &["the grid of 4 is not a multiple of the cluster of 3"])?;
    check("sum.ptx --grid 32 --cluster 32", 2, &["a GPU has at most 16, 8 unless the kernel asks for more"])?;
    check("sum.ptx --shared 228K", 2, &["a CTA has 233472 bytes of shared memory, and a GPU has at most 232448"])?;
    check("scale.ptx --block 65", 2, &["the block has 65 threads, and .maxntid admits 64"])?;
    check("sum.ptx --grid 2147483647 --memory-limit 1M", 2, &["error: "])?;
    check("sum.ptx --grid x", 2, &["expected one to three sizes"]).map(drop)
}

fn no_input() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let file = |name: &str, text: &str| {
        let path = folder.path().join(name);
        fs::write(&path, text).map(|()| path.display().to_string())
    };
    check("none.ptx", 2, &["cannot read 'none.ptx'"])?;
    check(&file("prose.ptx", "Not PTX.")?, 2, &["the text is not PTX"])?;
    check(&file("empty.ptx", "")?, 2, &["the text is not PTX"])?;
    check(&file("no.ptx", ".version 8.0\n.target sm_90\n")?, 2, &["the module has no kernel"])?;
    check(&file("bad.ll", "x")?, 2, &["is not LLVM IR"])?;
    check(
        &file("words.ptx", "// run: grid=x\n// run: out=u33[1]\n")?,
        2,
        &["words.ptx:1:1", "'grid=x': expected one", "words.ptx:2:1", "unknown type 'u33'"],
    )?;
    check("two.ptx", 2, &["the module has several kernels; choose one by --kernel: fill, gather"])?;
    check("two.ptx --kernel x", 2, &["expected the name of one kernel, found 'x'; the kernels are fill, gather"])?;
    check("sum.ptx -- -O3", 2, &["the flags after -- are for a compiler, and 'sum.ptx' is not a source"])?;
    let mut child = ptx_atomics().args(["run", "-"]).stdin(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let text = fs::read(root().join(FOLDER).join("sum.ptx"))?;
    child.stdin.take().ok_or("no standard input")?.write_all(&text)?;
    let output = child.wait_with_output()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    Ok(())
}

fn lowered() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let ptx = folder.path().join("k.ptx");
    check(&format!("count.ll --ptx {}", ptx.display()), 0, &["count: grid 2, block 32: ", "no race"])?;
    assert!(fs::read_to_string(&ptx)?.contains(".entry count("));
    #[cfg(feature = "mlir")]
    check("../../examples/mlir/histogram.mlir --mcpu sm_90 --grid 1", 0, &["histogram_kernel: grid 1"])?;
    Ok(())
}

/// PTX with overwritten bytes gives an error message or a result, and no panic.
fn damaged() -> Result<(), Failed> {
    let mut outcomes = [0; 3];
    for name in ["race.ptx", "scale.ptx", "two.ptx"] {
        let text = fs::read(root().join(FOLDER).join(name))?;
        for damaged in testing::damaged(&text, 2).step_by(testing::stride(4)) {
            let file = tempfile::Builder::new().suffix(".ptx").tempfile()?;
            fs::write(file.path(), &damaged)?;
            let limits = ["--step-limit", "1000", "--memory-limit", "256M"];
            let output = ptx_atomics().arg("run").arg(file.path()).args(limits).output()?;
            let stderr = String::from_utf8_lossy(&output.stderr);
            let code = output.status.code().and_then(|code| usize::try_from(code).ok());
            let silent = code != Some(0) && !stderr.contains("error");
            if stderr.contains("panicked") || silent || code.is_none_or(|code| code > 2) {
                let text = String::from_utf8_lossy(&damaged);
                return Err(format!("{}: {stderr}\n{text}", output.status).into());
            }
            outcomes[code.unwrap_or_default()] += 1;
        }
    }
    println!("{outcomes:?}");
    Ok(())
}

const MLIR: [&str; 2] = ["mlir/histogram.mlir", "mlir/reduce.mlir"];
/// The file extensions of kernels.
const ENDINGS: [&str; 5] = ["c", "cpp", "cu", "mlir", "rs"];
/// Files without a kernel, and modules whose kernels the lines of another file run.
const NOT_RUN: [(&str, &str); 7] = [
    ("rust-kernel/build.rs", "the example has no kernel"),
    ("rust-kernel/src/block.rs", "the example has no kernel"),
    ("rust-kernel/src/histogram.rs", "the file is a module of lib.rs"),
    ("rust-kernel/src/message.rs", "the file is a module of lib.rs"),
    ("rust-kernel/src/ring.rs", "the file is a module of lib.rs"),
    ("rust-kernel/src/scan.rs", "the file is a module of lib.rs"),
    ("rust-kernel/src/ticket_lock.rs", "the file is a module of lib.rs"),
];

/// The `// run:` lines of an example.
fn runs(path: &str) -> Result<Vec<String>, Failed> {
    let text = fs::read_to_string(root().join("examples").join(path))?;
    Ok(text.lines().filter(|line| line.starts_with("// run: ")).map(str::to_owned).collect())
}

fn every_example() -> Result<(), Failed> {
    let folder = root().join("examples");
    let files = WalkDir::new(&folder).into_iter().filter_entry(|entry| entry.file_name() != "target");
    let files: Vec<_> = files.try_collect()?;
    let is_kernel = |path: &&Path| path.extension().is_some_and(|ending| ENDINGS.iter().any(|known| ending == *known));
    let paths = files.iter().map(|file| file.path()).filter(is_kernel);
    let found: BTreeSet<_> =
        paths.map(|path| path.strip_prefix(&folder).map(|path| path.display().to_string())).try_collect()?;
    let run: Vec<_> =
        examples().into_iter().chain([scoped()]).map(|of| of.path).chain(MLIR.map(str::to_owned)).collect();
    let known = run.iter().cloned().chain(NOT_RUN.map(|(path, _)| path.to_owned())).collect();
    assert_eq!(found, known, "expected each example here, or in the list of exceptions");
    for path in run {
        assert!(!runs(&path)?.is_empty(), "examples/{path} has no line '// run: '");
    }
    let of_project = runs("rust-kernel/src/lib.rs")?;
    for kernel in KERNELS {
        assert!(of_project.iter().any(|line| line.contains(&format!("kernel={kernel} "))), "no run of {kernel}");
    }
    Ok(())
}

/// The conditions in the example's comments hold, and the run finds no race.
fn of_example(path: &str) -> Result<(), Failed> {
    let done = check(&format!("../../examples/{path} --seeds 10"), 0, &["no race"])?;
    let right = done.stderr.lines().filter(|line| line.contains(": grid ") && line.contains(" no race")).count();
    assert_eq!(right, runs(path)?.len(), "{}", done.stderr);
    Ok(())
}

/// The kernels that race if LLVM 22 compiles them. LLVM 22 makes read-modify-writes relaxed, which removes the acquire
/// that takes a message and the release that gives a lock back. The other kernels need no ordering on a
/// read-modify-write.
const RACING: [&str; 2] = ["message", "ticket_lock"];
/// An example without a race although LLVM 22 loses the ordering of `next.fetch_add(1, AcqRel)`. A release store to
/// `serving` and an acquire load from it, which LLVM 22 keeps, order the data of the last owner before the next owner.
const NEEDS_NO_MORE: &str = "ticket_lock.rs";

/// The same runs on the PTX that llc alone makes of an example.
fn by_llc(example: &Example) -> Result<(), Failed> {
    let ir = compile(example, "sm_80", "ptx78", examples::Output::Ir)?;
    let ptx = tempfile::Builder::new().suffix(".ptx").tempfile()?;
    let mut llc = Command::new(tool("llc"));
    success(llc.args(["-mcpu=sm_80", "-mattr=+ptx78"]).arg(ir.path()).arg("-o").arg(ptx.path()))?;
    let lines = runs(&example.path)?;
    fs::write(ptx.path(), format!("{}\n{}\n", fs::read_to_string(ptx.path())?, lines.join("\n")))?;

    let races = |kernel: &str| llvm_version() == 22 && RACING.contains(&kernel) && example.path != NEEDS_NO_MORE;
    let loses = example.loses_order() && example.path != NEEDS_NO_MORE;
    let (status, word) = if loses { (1, "error[race]: ") } else { (0, "no race") };
    let done = check(&format!("{} --seeds 3 --error-limit 0", ptx.path().display()), status, &[word])?;
    let summaries = done.stderr.lines().filter_map(|line| line.split_once(": grid "));
    let found: Vec<_> = summaries.map(|(kernel, said)| (kernel, !said.contains(" no race"))).collect();
    assert_eq!(found.len(), lines.len(), "{}", done.stderr);
    let wrong: Vec<_> = found.iter().filter(|(kernel, is_found)| races(kernel) != *is_found).collect();
    assert!(wrong.is_empty(), "{wrong:?}: {}", done.stderr);
    Ok(())
}

const GUIDE: &str = "docs/run.md";
/// The mistakes in the guide's files, and the corrections after their first command.
const MENDED: [(&str, &str, &str); 2] = [
    ("histogram.cu", "bins[bytes[index] % 4] += 1", "atomicAdd(&bins[bytes[index] % 4], 1)"),
    ("reverse.rs", "// Here.", "unsafe { _syncthreads() };"),
];

/// The guide shows the output of the command. `INSTA_UPDATE=always` writes it.
fn guide() -> Result<(), Failed> {
    let path = root().join(GUIDE);
    let guide = fs::read_to_string(&path)?;
    let blessing = std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always");
    let folder = tempfile::tempdir()?;
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text);
    let (mut count, mut new, mut wrong) = (0, guide.clone(), String::new());
    for block in guide.split("```").skip(1).step_by(2) {
        let (kind, text) = block.split_once('\n').ok_or("no text")?;
        match kind {
            "cuda" => write("histogram.cu", text)?,
            "rust" => write("reverse.rs", text)?,
            "toml" => write("twice.toml", text)?,
            "console" => {
                let (arguments, shown) = text.split_once('\n').ok_or("no command")?;
                let words = arguments.strip_prefix("$ ptx-atomics run ").ok_or("another command")?;
                let output = ptx_atomics().arg("run").args(words_of(words)).current_dir(folder.path()).output()?;
                let said = String::from_utf8([output.stderr, output.stdout].concat())?;
                let said = said.replace(&format!("{}/", folder.path().display()), "");
                if said != shown {
                    new = new.replacen(block, &format!("console\n{arguments}\n{said}"), 1);
                    wrong += &format!("{arguments}\n{said}");
                }
                for (name, mistake, mended) in MENDED.iter().filter(|(name, ..)| words.starts_with(name)) {
                    let source = fs::read_to_string(folder.path().join(name))?;
                    write(name, &source.replace(mistake, mended))?;
                }
                count += 1;
            }
            _ => {}
        }
    }
    if blessing {
        fs::write(path, new)?;
    }
    assert!(count >= 5, "{count} commands");
    if wrong.is_empty() || blessing { Ok(()) } else { Err(wrong.into()) }
}

/// The table of findings in the guide has exactly the existing kinds, with their exit statuses.
fn findings() -> Result<(), Failed> {
    let guide = fs::read_to_string(root().join(GUIDE))?;
    let rows = guide
        .lines()
        .skip_while(|line| !line.starts_with("| finding |"))
        .skip(2)
        .take_while(|line| line.starts_with('|'));
    let cells = rows.map(|row| row.split('|').map(str::trim).collect::<Vec<_>>());
    let shown: Vec<_> = cells.map(|cells| format!("{} {}", cells[1], cells[3])).sorted().collect();
    let status = |kind: FaultKind| match kind {
        FaultKind::StepLimit | FaultKind::Unsupported => 2,
        kind => i32::from(!kind.is_warning()),
    };
    let known: Vec<_> = FaultKind::iter().map(|kind| format!("`{kind}` {}", status(kind))).sorted().collect();
    assert_eq!(shown, known);
    Ok(())
}
