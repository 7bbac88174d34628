//! Kernels as litmus tests: sources of every language, the words of a test, what is unknown, and what is wrong.
//!
//! The examples are their own tests, and hold. Each of their orderings is lost once, and other mistakes are made in them: then
//! a test does not hold, and its execution shows the line.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use itertools::Itertools;
use libtest_mimic::{Arguments, Failed, Trial};
use serde_json::Value;
use testing::{
    examples::{rustc_missing, to_llvm_ir},
    exists, ptx_atomics, root, success, tool, trial,
};

fn main() {
    let cases = CASES.iter().map(|case| trial(case.name.into(), missing(case.file), || check(case)));
    let holding = HOLDING.iter().map(|file| trial(format!("{file} holds"), missing(file), || holds(file)));
    let mistakes = MISTAKES.iter().map(|mistake| {
        trial(format!("{}: {} -> {}", mistake.file, mistake.from, mistake.to), missing(mistake.file), || wrong(mistake))
    });
    let weakened = WEAKENED
        .iter()
        .map(|(file, part)| trial(format!("{file}: every ordering in {part}"), missing(file), || weakened(file, part)));
    let rest: [(&str, Option<&str>, fn() -> Result<(), Failed>); 4] = [
        ("flags say what comments say", None, flags),
        ("--ptx writes what is checked", missing("kernel.cu"), written),
        ("PTX of nvcc", (!nvcc().exists()).then_some("nvcc"), of_nvcc),
        ("the exit status of --must-hold", None, must_hold),
    ];
    let rest = rest.into_iter().map(|(name, missing, test)| trial(name.into(), missing, test));
    let trials = cases.chain(holding).chain(mistakes).chain(weakened).chain(rest).collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

/// What is missing of what a source needs, by its name.
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

/// A kernel, and what the command says of it.
struct Case {
    name: &'static str,
    file: &'static str,
    source: &'static str,
    flags: &'static [&'static str],
    status: i32,
    /// Each stands in what is printed.
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


/// Examples that are their own tests.
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

/// What is known of each test of a file, by its name: whether it holds, and the whole answer.
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
        return Err(format!("of {} tests these do not hold: {other:?}", answers.len()).into());
    }
    Ok(())
}

/// A copy of an example that may be changed, with the files beside it.
struct Copy {
    folder: tempfile::TempDir,
}

impl Copy {
    fn of(file: &str) -> Result<Self, Failed> {
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
    /// The example, and the file in its folder that has the mistake.
    file: &'static str,
    part: &'static str,
    /// Once in the file; what stands in its place.
    from: &'static str,
    to: &'static str,
    /// A line that the execution shows; the changed one if empty.
    shows: &'static str,
    /// Whether the changed line is what the command blames.
    to_blame: bool,
}

fn wrong(mistake: &Mistake) -> Result<(), Failed> {
    let copy = Copy::of(mistake.file)?;
    let part = copy.path(mistake.part);
    let source = fs::read_to_string(&part)?;
    if source.matches(mistake.from).count() != 1 {
        return Err(format!("'{}' stands not once in {}", mistake.from, mistake.part).into());
    }
    let changed = source.replace(mistake.from, mistake.to);
    let at = if mistake.shows.is_empty() { source.find(mistake.from) } else { changed.find(mistake.shows) };
    let line = changed[..at.ok_or("no line that is shown")?].matches('\n').count() + 1;
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
    Mistake { file: "cuda/histogram.cu", part: "histogram.cu", from: "__MEMORY_SCOPE_WRKGRP);\n  __syncthreads();", to: "__MEMORY_SCOPE_WRKGRP);", shows: "__scoped_atomic_fetch_add(&bins[bin]", to_blame: true },
    Mistake { file: "cuda/histogram.cu", part: "histogram.cu", from: "__scoped_atomic_fetch_add(&local_bins[bytes[index]], 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_WRKGRP)", to: "local_bins[bytes[index]] += 1", shows: "", to_blame: false },
    Mistake { file: "cuda/scan.cu", part: "scan.cu", from: "  }\n  __syncthreads();\n  if (index < count)\n", to: "  }\n  if (index < count)\n", shows: "output[index] = sum + before", to_blame: false },
    Mistake { file: "cuda/scan.cu", part: "scan.cu", from: "__scoped_atomic_store_n(&state, next, __ATOMIC_RELEASE", to: "__scoped_atomic_store_n(&state, next, __ATOMIC_RELAXED", shows: "", to_blame: true },
    Mistake { file: "rust-kernel/src/lib.rs", part: "ring.rs", from: "store(sequence, Release)", to: "store(sequence, Relaxed)", shows: "", to_blame: true },
    Mistake { file: "rust-kernel/src/lib.rs", part: "message.rs", from: "self.0.swap(0, Acquire)", to: "self.0.swap(0, Relaxed)", shows: "", to_blame: true },
    Mistake { file: "rust-kernel/src/lib.rs", part: "scan.rs", from: "        (*own).sum = total;\n            (*own).state.store(SUM, Release);", to: "(*own).state.store(SUM, Release);\n            (*own).sum = total;", shows: "(*own).sum = total;", to_blame: false },
    Mistake { file: "scoped.rs", part: "scoped.rs", from: "arrived: &Scoped<AtomicU32, Device>", to: "arrived: &Scoped<AtomicU32, Block>", shows: "arrived.fetch_add", to_blame: true },
    Mistake { file: "scoped.rs", part: "scoped.rs", from: "    fence::<Block>(Ordering::Acquire);\n", to: "", shows: "while !decided.load", to_blame: true },
    Mistake { file: "scoped.rs", part: "scoped.rs", from: "arrived.fetch_add(1, Ordering::AcqRel)", to: "arrived.fetch_add(1, Ordering::Release)", shows: "", to_blame: true },
    Mistake { file: "ticket_lock.rs", part: "ticket_lock.rs", from: "flag.store(1, Ordering::Release)", to: "unsafe { flag.as_ptr().write(1) }", shows: "", to_blame: true },
];

/// Orderings that an example could do without, as its tests see it, and why.
const SUPERFLUOUS: [(&str, &str, &str); 1] = [(
    "ticket_lock.rs",
    "self.next.fetch_add(1, Ordering::AcqRel)",
    "what the last owner wrote comes with `serving`, and nobody reads what comes with a ticket",
)];

/// The files of examples whose every ordering is lost once, with the file that is the input.
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

/// The words of orderings, and what relaxes them.
#[rustfmt::skip]
const ORDERINGS: [(&str, &str); 8] = [
    ("__ATOMIC_ACQUIRE", "__ATOMIC_RELAXED"), ("__ATOMIC_RELEASE", "__ATOMIC_RELAXED"),
    ("__ATOMIC_ACQ_REL", "__ATOMIC_RELAXED"), ("__ATOMIC_SEQ_CST", "__ATOMIC_RELAXED"),
    ("Acquire)", "Relaxed)"), ("Release)", "Relaxed)"), ("AcqRel)", "Relaxed)"), ("SeqCst)", "Relaxed)"),
];

/// Every ordering of a file is needed by one of its tests, but for those that are known to be superfluous.
fn weakened(file: &str, part: &str) -> Result<(), Failed> {
    let copy = Copy::of(file)?;
    let source = fs::read_to_string(copy.path(part))?;
    let places = ORDERINGS.iter().flat_map(|(from, to)| source.match_indices(from).map(move |(at, _)| (at, *from, *to)));
    let mut wrong = Vec::new();
    let mut count = 0;
    for (at, from, to) in places {
        let (before, behind) = (&source[..at], &source[at + from.len()..]);
        let begin = before.rfind('\n').map_or(0, |newline| newline + 1);
        let line = &source[begin..at + from.len()];
        // Rust has no relaxed fence.
        let none = from.ends_with(')') && line.contains("fence");
        let text = if none { format!("{}{behind}", &source[..begin]) } else { format!("{before}{to}{behind}") };
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

const CASES: [Case; 0] = [];

fn nvcc() -> PathBuf { PathBuf::new() }
fn flags() -> Result<(), Failed> { Ok(()) }
fn written() -> Result<(), Failed> { Ok(()) }
fn of_nvcc() -> Result<(), Failed> { Ok(()) }
fn must_hold() -> Result<(), Failed> { Ok(()) }
