//! Kernels as litmus tests: sources in every language, the `litmus:` comments, and the errors.
//!
//! The examples contain their own tests, and these hold. Trials remove each ordering of the examples and make other
//! mistakes in them; then a test does not hold, and its execution shows the line.

#[macro_use]
mod cases;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use itertools::Itertools;
use libtest_mimic::{Failed, Trial};
use serde_json::Value;
use testing::{
    examples::{KERNELS, rustc_missing},
    exists, ptx_atomics, root, success, tool, trial,
};

use self::cases::{CASES, MESSAGE, WORDS};

type Test = fn() -> Result<(), Failed>;

pub fn trials() -> Vec<Trial> {
    let cases = CASES.iter().map(|case| trial(case.name.into(), missing(case.file), || check(case)));
    let holding = HOLDING.iter().map(|file| trial(format!("{file} holds"), missing(file), || holds(file)));
    let mistakes = MISTAKES.iter().map(|mistake| {
        trial(format!("{}: {} -> {}", mistake.file, mistake.from, mistake.to), missing(mistake.file), || wrong(mistake))
    });
    let weakened = WEAKENED
        .iter()
        .map(|(file, part)| trial(format!("{file}: every ordering in {part}"), missing(file), || weakened(file, part)));
    let rest: [(&str, Option<&str>, Test); 9] = [
        ("an error shows the lines of the kernel and of its header", missing("kernel.cu"), headers),
        ("flags after -- reach the compiler", missing("kernel.cu"), compiler_flags),
        ("a missing compiler is an error with its package", None, no_compiler),
        ("the guide shows the command's output", missing("publish.cu").or(missing("publish.rs")), guide),
        ("cargo test runs the tests of a crate", missing("publish.rs"), cargo_test),
        ("flags give the verdict of comments", None, flags),
        ("--ptx writes the checked PTX", missing("kernel.cu"), written),
        ("PTX of nvcc has the same verdicts", (!nvcc().exists()).then_some("nvcc"), of_nvcc),
        ("--must-hold sets the exit status", None, must_hold),
    ];
    let rest = rest.into_iter().map(|(name, missing, test)| trial(name.into(), missing, test));
    let (mistakes, weakened) = (testing::one_of(5, mistakes), testing::one_of(5, weakened));
    cases.chain(holding).chain(mistakes).chain(weakened).chain(rest).collect()
}

/// The missing compiler for a source file, by the file's extension.
fn missing(file: &str) -> Option<&'static str> {
    match Path::new(file).extension()?.to_str()? {
        "rs" => rustc_missing(""),
        "cu" | "c" | "cpp" => (!exists(tool("clang"))).then_some(tool("clang")),
        _ => None,
    }
}

fn litmus() -> Command {
    let mut command = ptx_atomics();
    command.arg("litmus");
    command
}

/// A kernel, and the result of the command on it.
struct Case {
    name: &'static str,
    file: &'static str,
    source: &'static str,
    flags: &'static [&'static str],
    status: i32,
    /// Texts that the output must contain.
    says: &'static [&'static str],
}

fn check(case: &Case) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join(case.file);
    fs::write(&file, case.source)?;
    let output = litmus().arg(&file).args(case.flags).output()?;
    let said = String::from_utf8(output.stdout)? + &String::from_utf8(output.stderr)?;
    let missing = case.says.iter().filter(|words| !said.contains(**words)).join("', '");
    if output.status.code() == Some(case.status) && missing.is_empty() {
        return Ok(());
    }
    Err(format!("{}, lacks '{missing}':\n{said}", output.status).into())
}

/// Examples whose tests hold.
const HOLDING: [&str; 9] = [
    "cuda/histogram.cu",
    "cuda/message.cu",
    "cuda/ring.cu",
    "cuda/scan.cu",
    "cuda/ticket_lock.cu",
    "mlir/histogram.mlir",
    "rust-kernel/src/lib.rs",
    "scoped.rs",
    "ticket_lock.rs",
];

/// The answer for each test of a file, by the name of the test. `holds` in it is the verdict.
fn answers(file: &Path) -> Result<BTreeMap<String, Value>, Failed> {
    let output = litmus().arg(file).args(["--format", "json"]).output()?;
    let answers: Vec<Value> = serde_json::from_slice(&output.stdout)
        .map_err(|_| format!("{}: {}", file.display(), String::from_utf8_lossy(&output.stderr)))?;
    let named = |answer: Value| (answer["name"].as_str().unwrap_or_default().to_owned(), answer);
    Ok(answers.into_iter().map(named).collect())
}

fn holds(file: &str) -> Result<(), Failed> {
    let answers = answers(&root().join("examples").join(file))?;
    let other: Vec<&String> = answers.iter().filter(|(_, of)| of["holds"] != true).map(|(name, _)| name).collect();
    if answers.len() < 2 || !other.is_empty() {
        return Err(format!("of {} tests, these do not hold: {other:?}", answers.len()).into());
    }
    Ok(())
}

/// A copy of an example and of the files in its folder, for changes.
struct Copy {
    folder: tempfile::TempDir,
}

impl Copy {
    fn new(file: &str) -> Result<Self, Failed> {
        let folder = tempfile::tempdir()?;
        let from = root().join("examples").join(file);
        for entry in fs::read_dir(from.parent().expect("a folder"))? {
            let entry = entry?;
            if entry.file_type()?.is_file() {
                fs::copy(entry.path(), folder.path().join(entry.file_name()))?;
            }
        }
        Ok(Self { folder })
    }

    fn path(&self, file: &str) -> PathBuf {
        self.folder.path().join(Path::new(file).file_name().expect("a name"))
    }
}

/// A mistake in an example.
struct Mistake {
    /// The example. `part` is the file in its folder that has the mistake.
    file: &'static str,
    part: &'static str,
    /// A text that occurs once in the file. `to` replaces it.
    from: &'static str,
    to: &'static str,
    /// A line that the execution shows; if empty, the changed line.
    shows: &'static str,
    /// Whether the command blames the line that the execution shows.
    to_blame: bool,
}

fn wrong(mistake: &Mistake) -> Result<(), Failed> {
    let copy = Copy::new(mistake.file)?;
    let part = copy.path(mistake.part);
    let source = fs::read_to_string(&part)?;
    if source.matches(mistake.from).count() != 1 {
        return Err(format!("expected '{}' once in {}", mistake.from, mistake.part).into());
    }
    let changed = source.replace(mistake.from, mistake.to);
    let at = if mistake.shows.is_empty() { source.find(mistake.from) } else { changed.find(mistake.shows) };
    let line = changed[..at.ok_or("no shown line")?].matches('\n').count() + 1;
    fs::write(&part, changed)?;
    let text = String::from_utf8(litmus().arg(copy.path(mistake.file)).output()?.stdout)?;
    let wrong = text.split("\n\n").position(|part| part.contains(" does not hold\n"));
    let wrong = wrong.ok_or_else(|| format!("every test holds:\n{text}"))?;
    let place = format!("{}:{line}", mistake.part);
    let parts: Vec<&str> = text.split("\n\n").skip(wrong).take(5).collect();
    let blame = parts.iter().position(|part| part.starts_with("To blame")).unwrap_or(parts.len());
    let execution = parts[..blame.min(3)].concat();
    let blamed = parts.get(blame + 1).is_some_and(|part| part.contains(&place));
    if !execution.contains(&place) || blamed != mistake.to_blame {
        return Err(format!("the execution does not show {place}, or that is blamed: {blamed}:\n{text}").into());
    }
    Ok(())
}

#[rustfmt::skip]
const MISTAKES: [Mistake; 17] = [
    Mistake { file: "cuda/ticket_lock.cu", part: "ticket_lock.cu", from: "while (__scoped_atomic_load_n(&serving, __ATOMIC_ACQUIRE", to: "while (__scoped_atomic_load_n(&serving, __ATOMIC_RELAXED", shows: "", to_blame: true },
    Mistake { file: "cuda/ticket_lock.cu", part: "ticket_lock.cu", from: "__scoped_atomic_fetch_add(&serving, 1, __ATOMIC_RELEASE", to: "__scoped_atomic_fetch_add(&serving, 1, __ATOMIC_RELAXED", shows: "", to_blame: true },
    Mistake { file: "cuda/ticket_lock.cu", part: "ticket_lock.cu", from: "    lock->lock();\n", to: "", shows: "*counter += 1", to_blame: false },
    Mistake { file: "cuda/ring.cu", part: "ring.cu", from: "    __scoped_atomic_thread_fence(__ATOMIC_ACQUIRE, __MEMORY_SCOPE_DEVICE);\n", to: "", shows: "while (__scoped_atomic_load_n(&sequence", to_blame: true },
    Mistake { file: "cuda/message.cu", part: "message.cu", from: "__scoped_atomic_store_n(&is_set, 1, __ATOMIC_RELEASE, __MEMORY_SCOPE_DEVICE);", to: "is_set = 1;", shows: "", to_blame: true },
    Mistake { file: "cuda/message.cu", part: "message.cu", from: "      word = round;\n    full.set();", to: "      full.set(), word = round;", shows: "", to_blame: false },
    Mistake { file: "cuda/histogram.cu", part: "histogram.cu", from: "atomicAdd(&local_bins[bytes[index]], 1);\n  __syncthreads();", to: "atomicAdd(&local_bins[bytes[index]], 1);", shows: "atomicAdd(&bins[bin]", to_blame: true },
    Mistake { file: "cuda/histogram.cu", part: "histogram.cu", from: "atomicAdd(&local_bins[bytes[index]], 1)", to: "local_bins[bytes[index]] += 1", shows: "", to_blame: false },
    Mistake { file: "cuda/scan.cu", part: "scan.cu", from: "  }\n  __syncthreads();\n  if (index < count)\n", to: "  }\n  if (index < count)\n", shows: "output[index] = sum + before", to_blame: true },
    Mistake { file: "cuda/scan.cu", part: "scan.cu", from: "__scoped_atomic_store_n(&state, next, __ATOMIC_RELEASE", to: "__scoped_atomic_store_n(&state, next, __ATOMIC_RELAXED", shows: "", to_blame: true },
    Mistake { file: "rust-kernel/src/lib.rs", part: "ring.rs", from: "store(sequence, Release)", to: "store(sequence, Relaxed)", shows: "", to_blame: true },
    Mistake { file: "rust-kernel/src/lib.rs", part: "message.rs", from: "self.0.swap(0, Acquire)", to: "self.0.swap(0, Relaxed)", shows: "", to_blame: true },
    Mistake { file: "rust-kernel/src/lib.rs", part: "scan.rs", from: "        (*own).sum = total;\n            (*own).state.store(SUM, Release);", to: "(*own).state.store(SUM, Release);\n            (*own).sum = total;", shows: "(*own).sum = total;", to_blame: false },
    Mistake { file: "scoped.rs", part: "scoped.rs", from: "arrived: &Scoped<AtomicU32, Device>", to: "arrived: &Scoped<AtomicU32, Block>", shows: "arrived.fetch_add", to_blame: true },
    Mistake { file: "scoped.rs", part: "scoped.rs", from: "    fence::<Block>(Ordering::Acquire);\n", to: "", shows: "while !decided.load", to_blame: true },
    Mistake { file: "scoped.rs", part: "scoped.rs", from: "arrived.fetch_add(1, Ordering::AcqRel)", to: "arrived.fetch_add(1, Ordering::Release)", shows: "", to_blame: true },
    Mistake { file: "ticket_lock.rs", part: "ticket_lock.rs", from: "flag.store(1, Ordering::Release)", to: "unsafe { flag.as_ptr().write(1) }", shows: "", to_blame: true },
];

/// Orderings that the example's tests do not need, and the reason.
const SUPERFLUOUS: [(&str, &str, &str); 1] = [(
    "ticket_lock.rs",
    "self.next.fetch_add(1, Ordering::AcqRel)",
    "`serving` orders the last owner's writes, and no thread reads a write before a ticket",
)];

/// The example files whose orderings are removed, one at a time. The first name is the input of the command, the second
/// the changed file.
const WEAKENED: [(&str, &str); 10] = [
    ("cuda/message.cu", "message.cu"),
    ("cuda/ring.cu", "ring.cu"),
    ("cuda/scan.cu", "scan.cu"),
    ("cuda/ticket_lock.cu", "ticket_lock.cu"),
    ("rust-kernel/src/lib.rs", "message.rs"),
    ("rust-kernel/src/lib.rs", "ring.rs"),
    ("rust-kernel/src/lib.rs", "scan.rs"),
    ("rust-kernel/src/lib.rs", "ticket_lock.rs"),
    ("scoped.rs", "scoped.rs"),
    ("ticket_lock.rs", "ticket_lock.rs"),
];

/// The names of orderings, and the relaxed replacements.
#[rustfmt::skip]
const ORDERINGS: [(&str, &str); 8] = [
    ("__ATOMIC_ACQUIRE", "__ATOMIC_RELAXED"), ("__ATOMIC_RELEASE", "__ATOMIC_RELAXED"),
    ("__ATOMIC_ACQ_REL", "__ATOMIC_RELAXED"), ("__ATOMIC_SEQ_CST", "__ATOMIC_RELAXED"),
    ("Acquire)", "Relaxed)"), ("Release)", "Relaxed)"), ("AcqRel)", "Relaxed)"), ("SeqCst)", "Relaxed)"),
];

/// The tests of an example need every ordering of a file, except the superfluous ones above.
fn weakened(file: &str, part: &str) -> Result<(), Failed> {
    let copy = Copy::new(file)?;
    let source = fs::read_to_string(copy.path(part))?;
    let places =
        ORDERINGS.iter().flat_map(|(from, to)| source.match_indices(from).map(move |(at, _)| (at, *from, *to)));
    let mut wrong = Vec::new();
    let mut count = 0;
    for (at, from, to) in places {
        let (before, after) = (&source[..at], &source[at + from.len()..]);
        let begin = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = &source[begin..at + from.len()];
        // Rust has no relaxed fence, so the fence is removed.
        let none = from.ends_with(')') && line.contains("fence");
        let text = if none { format!("{}{after}", &source[..begin]) } else { format!("{before}{to}{after}") };
        fs::write(copy.path(part), text)?;
        count += 1;
        let found = answers(&copy.path(file))?.values().any(|answer| answer["holds"] == false);
        let known = SUPERFLUOUS.iter().any(|(of, words, _)| *of == part && line.contains(words));
        if found == known {
            wrong.push(format!("line {}: {}", before.matches('\n').count() + 1, line.trim()));
        }
    }
    if count == 0 || !wrong.is_empty() {
        return Err(format!("of {count} orderings, these are not as expected: {wrong:#?}").into());
    }
    Ok(())
}

fn nvcc() -> PathBuf {
    root().join(".tools/cuda-13.5/nvidia/cu13/bin/nvcc")
}

/// The result for a kernel is the same with the declarations in flags and in comments.
fn flags() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let said = |name: &str, source: &str, flags: &[&str]| -> Result<String, Failed> {
        let file = folder.path().join(name);
        fs::write(&file, source)?;
        let text = success(litmus().current_dir(folder.path()).arg(name).args(flags).arg("--outcomes"))?;
        Ok(text.lines().filter(|line| !line.ends_with(" ms")).join("\n"))
    };
    let by_flags = said("message.ptx", MESSAGE, &WORDS)?;
    let words = WORDS.iter().tuples().map(|(flag, words)| match *flag {
        "--declare" => format!("// litmus: {words}\n"),
        flag => format!("// litmus: {} {words}\n", &flag[2..]),
    });
    let by_comments = said("message.ptx", &(MESSAGE.to_owned() + &words.collect::<String>()), &[])?;
    if by_flags == by_comments { Ok(()) } else { Err(format!("{by_flags}\n\n{by_comments}").into()) }
}

/// A kernel that uses a function of a header, in a folder whose name has a space.
fn with_header(function: &str) -> Result<tempfile::TempDir, Failed> {
    let folder = tempfile::tempdir()?;
    fs::create_dir(folder.path().join("in clude"))?;
    let header = format!(
        "#pragma once\n#define __device__ __attribute__((device))\nstatic {function} __device__ void put(unsigned *flag) {{\n  \
         __scoped_atomic_store_n(flag, VALUE, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);\n}}\n"
    );
    fs::write(folder.path().join("in clude/put.h"), header)?;
    let kernel = r#"#include "put.h"
extern "C" __device__ void producer(unsigned *word, unsigned *flag) {
  *word = 42;
  put(flag);
}
extern "C" __device__ unsigned consumer(unsigned *word, unsigned *flag) {
  while (__scoped_atomic_load_n(flag, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_DEVICE) == 0) {
  }
  return *word;
}
// litmus: u32 word, flag
// litmus: thread P0 = producer(word, flag) @ cta 0
// litmus: thread P1 = consumer(word, flag) @ cta 1
// litmus: forall P1:return == 42
"#;
    fs::write(folder.path().join("kernel.cu"), kernel)?;
    Ok(folder)
}

const FLAGS: [&str; 3] = ["--", "-Iin clude", "-DVALUE=1"];

/// The command blames the line of the kernel and shows the inlined line of the header beside it. This holds for inlined
/// and called functions, and for PTX from our lowering and from clang.
fn headers() -> Result<(), Failed> {
    let blamed = |said: &str| {
        let (_, blamed) = said.split_once("To blame.").ok_or("nothing is to blame")?;
        let place = "    kernel.cu:4: put(flag); inlined from put.h:4: __scoped_atomic_store_n(flag, VALUE, ";
        if blamed.contains(place) { Ok::<_, Failed>(()) } else { Err(said.into()) }
    };
    for function in ["inline", "__attribute__((noinline))"] {
        let folder = with_header(function)?;
        let path = |name: &str| folder.path().join(name);
        let mut ours = litmus();
        ours.arg("kernel.cu").arg("--ptx").arg("ours.ptx").args(FLAGS).current_dir(folder.path());
        blamed(&success(&mut ours)?)?;
        let mut clang = Command::new(tool("clang"));
        clang.args([
            "-x",
            "cuda",
            "--cuda-device-only",
            "--cuda-gpu-arch=sm_90",
            "--cuda-feature=+ptx78",
            "-nocudainc",
        ]);
        clang.args(["-nocudalib", "-O2", "-gline-directives-only", "-S", "-o"]).arg(path("clang.ptx"));
        success(clang.args(&FLAGS[1..]).arg("kernel.cu").current_dir(folder.path()))?;
        let words = fs::read_to_string(path("kernel.cu"))?;
        let words = words.lines().filter(|line| line.contains("litmus:")).join("\n");
        for ptx in ["ours.ptx", "clang.ptx"] {
            fs::write(path(ptx), fs::read_to_string(path(ptx))? + &words)?;
            blamed(&success(litmus().arg(path(ptx)))?)?;
        }
    }
    Ok(())
}

/// The compiler's flags follow `--`, and a flag may contain spaces.
fn compiler_flags() -> Result<(), Failed> {
    let folder = with_header("inline")?;
    let refused = |flags: &[&str], status: i32, words: &str| {
        let output = litmus().arg("kernel.cu").args(flags).current_dir(folder.path()).output()?;
        let said = String::from_utf8(output.stderr)?;
        let right = output.status.code() == Some(status) && said.contains(words);
        if right { Ok::<_, Failed>(()) } else { Err(format!("{flags:?}: {}\n{said}", output.status).into()) }
    };
    refused(&[], 1, "'put.h' file not found")?;
    refused(&FLAGS[..2], 1, "use of undeclared identifier 'VALUE'")?;
    // The compiler reports an unknown flag.
    refused(&[&FLAGS[..], &["--speed"]].concat(), 1, "--speed")?;
    let ptx = folder.path().join("kernel.ptx");
    fs::write(&ptx, MESSAGE)?;
    let output = litmus().arg(&ptx).args(WORDS).args(FLAGS).output()?;
    let said = String::from_utf8(output.stderr)?;
    if output.status.code() != Some(2) || !said.contains("no file is a source") {
        return Err(said.into());
    }
    Ok(())
}

/// The error names the missing program and the package that has it.
fn no_compiler() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let bin = folder.path().join("bin");
    fs::create_dir(&bin)?;
    let cases = [
        ("kernel.cu", "the PATH has no bash", None),
        ("kernel.cu", "the PATH has no clang 22; install the package clang-22 of", Some("bash")),
        ("kernel.cpp", "the PATH has no g++; install the package g++", None),
        ("kernel.rs", "the PATH has no flock; install the package util-linux", None),
    ];
    for (name, words, more) in cases {
        if let Some(program) = more {
            let path = success(Command::new("bash").args(["-c", &format!("command -v {program}")]))?;
            std::os::unix::fs::symlink(path.trim(), bin.join(program))?;
        }
        let kernel = folder.path().join(name);
        fs::write(&kernel, "// litmus: thread P0 = f\n")?;
        let output = litmus().arg(&kernel).env("PATH", &bin).output()?;
        let said = String::from_utf8(output.stderr)?;
        let words = words.replace("22", &testing::llvm_version().to_string());
        let first = format!("error: cannot compile '{}' to LLVM IR: {words}", kernel.display());
        if output.status.code() != Some(1) || !said.starts_with(&first) || !said.contains("help: compile it yourself") {
            return Err(format!("{name}: not '{first}':\n{said}").into());
        }
    }
    Ok(())
}

/// The PTX of a kernel with the source's `litmus:` lines gives the verdicts of the source.
fn written() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let ptx = folder.path().join("lock.ptx");
    let source = root().join("examples/cuda/ticket_lock.cu");
    let first = success(litmus().arg(&source).arg("--ptx").arg(&ptx))?;
    let words: String = fs::read_to_string(&source)?.lines().filter(|line| line.contains("litmus:")).join("\n");
    fs::write(&ptx, fs::read_to_string(&ptx)? + &words)?;
    let second = success(litmus().arg(&ptx))?;
    let verdicts = |text: &str| text.lines().filter(|line| line.ends_with(" holds")).count();
    if (verdicts(&first), verdicts(&second)) == (2, 2) { Ok(()) } else { Err((first + &second).into()) }
}

/// The same kernels with libcu++, compiled by nvcc. The `litmus:` lines are those in `examples/cuda`.
fn of_nvcc() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    // The PTX of nvcc for `message` has more events than the limit for an execution.
    for kernel in KERNELS.into_iter().filter(|kernel| *kernel != "message") {
        let ptx = folder.path().join(kernel).with_extension("ptx");
        let source = root().join("tests/gpu/libcu++").join(kernel).with_extension("cu");
        let mut nvcc = Command::new(nvcc());
        success(nvcc.args(["-ptx", "-arch=sm_90", "-lineinfo", "-std=c++17"]).arg(source).arg("-o").arg(&ptx))?;
        let words = fs::read_to_string(root().join("examples/cuda").join(kernel).with_extension("cu"))?;
        let words = words.lines().filter(|line| line.contains("litmus:")).join("\n");
        fs::write(&ptx, fs::read_to_string(&ptx)? + &words)?;
        if kernel == "ticket_lock" {
            // The execution shows the kernel's line, not the line of the inlined libcu++ function.
            let text = success(litmus().arg(&ptx))?;
            if !text.contains("ticket_lock.cu:12: while (serving.load") {
                return Err(text.into());
            }
        }
        let other: Vec<String> =
            answers(&ptx)?.into_iter().filter(|(_, of)| of["holds"] != true).map(|(name, _)| name).collect();
        if !other.is_empty() {
            return Err(format!("{kernel}: these do not hold: {other:?}").into());
        }
    }
    Ok(())
}

fn must_hold() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("message.ptx");
    fs::write(&file, MESSAGE.replace("acquire", "relaxed"))?;
    for (flag, status) in [(None, 0), (Some("--must-hold"), 1)] {
        let output = litmus().arg(&file).args(WORDS).args(flag).output()?;
        if output.status.code() != Some(status) {
            return Err(format!("{flag:?}: {}", output.status).into());
        }
    }
    Ok(())
}

/// The guide shows the output of the command. `INSTA_UPDATE=always` writes it.
fn guide() -> Result<(), Failed> {
    let path = root().join("docs/kernels.md");
    let guide = fs::read_to_string(&path)?;
    let folder = tempfile::tempdir()?;
    let blocks: Vec<&str> = guide.split("```").skip(1).step_by(2).collect();
    let write = |name: &str, text: &str| fs::write(folder.path().join(name), text);
    let (mut runs, mut new) = (0, guide.clone());
    for block in &blocks {
        let (kind, text) = block.split_once('\n').ok_or("no text")?;
        match kind {
            "rust" => write("publish.rs", text)?,
            "cuda" => write("publish.cu", text)?,
            "console" => {
                let (arguments, shown) = text.split_once('\n').ok_or("no output")?;
                let arguments = arguments.strip_prefix("$ ptx-atomics litmus ").ok_or("another command")?;
                let said = success(litmus().current_dir(folder.path()).args(arguments.split_whitespace()))?;
                // The later commands of the guide run on the corrected source.
                let source = fs::read_to_string(folder.path().join("publish.rs"))?;
                write("publish.rs", &source.replace("store(1, Relaxed)", "store(1, Release)"))?;
                new = new.replacen(block, &format!("console\n$ ptx-atomics litmus {arguments}\n{said}"), 1);
                let without_time = |text: &str| text.lines().filter(|line| !line.ends_with(" ms")).join("\n");
                if without_time(&said) != without_time(shown) && !blessing() {
                    return Err(format!("{arguments}:\n{said}").into());
                }
                runs += 1;
            }
            _ => {}
        }
    }
    if blessing() {
        fs::write(path, new)?;
    }
    if runs < 3 { Err(format!("{runs} runs").into()) } else { Ok(()) }
}

fn blessing() -> bool {
    std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always")
}

/// `ptx_atomics_scope::litmus!` in a separate crate: the test succeeds for a correct kernel, and shows an execution for
/// an incorrect one.
fn cargo_test() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let scope = root().join("products/scope");
    let manifest = format!(
        "[package]\nname = \"kernels\"\nversion = \"0.1.0\"\nedition = \"2024\"\n[dependencies]\nptx-atomics-scope = {{ path = {scope:?} }}\n[workspace]\n"
    );
    fs::create_dir_all(folder.path().join("src"))?;
    fs::create_dir_all(folder.path().join("tests"))?;
    fs::write(folder.path().join("Cargo.toml"), manifest)?;
    fs::write(folder.path().join("src/lib.rs"), "")?;
    fs::write(
        folder.path().join("tests/kernels.rs"),
        "ptx_atomics_scope::litmus!(lock: \"src/lock.rs\", \"--rounds\", \"2\");\n",
    )?;
    let lock = fs::read_to_string(root().join("examples/ticket_lock.rs"))?;
    for (source, succeeds) in [
        (lock.clone(), true),
        (lock.replace("serving.load(Ordering::Acquire)", "serving.load(Ordering::Relaxed)"), false),
    ] {
        fs::write(folder.path().join("src/lock.rs"), source)?;
        let mut cargo = Command::new("cargo");
        cargo.args(["test", "--offline", "--test", "kernels"]).current_dir(folder.path());
        let output = cargo.env("PTX_ATOMICS_COMMAND", testing::binary()).env_remove("RUSTFLAGS").output()?;
        let said = String::from_utf8(output.stdout)? + &String::from_utf8(output.stderr)?;
        let shown = said.contains("count_two_blocks does not hold") && said.contains("To blame");
        if output.status.success() != succeeds || shown == succeeds {
            return Err(said.into());
        }
    }
    Ok(())
}
