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
use libtest_mimic::{Arguments, Failed};
use serde_json::Value;
use testing::{
    examples::{KERNELS, rustc_missing},
    exists, ptx_atomics, root, success, tool, trial,
};

type Test = fn() -> Result<(), Failed>;

fn main() {
    let cases = CASES.iter().map(|case| trial(case.name.into(), missing(case.file), || check(case)));
    let holding = HOLDING.iter().map(|file| trial(format!("{file} holds"), missing(file), || holds(file)));
    let mistakes = MISTAKES.iter().map(|mistake| {
        trial(format!("{}: {} -> {}", mistake.file, mistake.from, mistake.to), missing(mistake.file), || wrong(mistake))
    });
    let weakened = WEAKENED
        .iter()
        .map(|(file, part)| trial(format!("{file}: every ordering in {part}"), missing(file), || weakened(file, part)));
    let rest: [(&str, Option<&str>, Test); 9] = [
        ("code of a header is shown where it is used", missing("kernel.cu"), headers),
        ("flags of the compiler", missing("kernel.cu"), compiler_flags),
        ("a compiler that is not there", None, no_compiler),
        ("the guide", missing("publish.cu").or(missing("publish.rs")), guide),
        ("cargo test", missing("publish.rs"), cargo_test),
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
    let places =
        ORDERINGS.iter().flat_map(|(from, to)| source.match_indices(from).map(move |(at, _)| (at, *from, *to)));
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

/// What a test of PTX begins with.
macro_rules! ptx {
    ($body:literal) => {
        concat!(".version 7.8\n.target sm_90\n.address_size 64\n", $body)
    };
}

/// What an instruction puts into `%r9` of three constants in `%r1`, `%r2` and `%r3`.
macro_rules! value {
    ($name:literal, $instruction:literal, $result:literal) => {
        Case {
            name: $name,
            file: "value.ptx",
            source: concat!(
                ".version 7.8\n.target sm_90\n.address_size 64\n",
                "// litmus: thread P0 = f(4275878552, 305419897, 37)\n// litmus: forall P0:return == ",
                $result,
                "\n.visible .func (.param .b32 r) f(.param .b32 a, .param .b32 b, .param .b32 c) {\n",
                ".reg .b32 %r<10>; ld.param.b32 %r1, [a]; ld.param.b32 %r2, [b]; ld.param.b32 %r3, [c];\n",
                $instruction,
                "\nst.param.b32 [r], %r9; ret;\n}\n"
            ),
            flags: &[],
            status: 0,
            says: &["value holds"],
        }
    };
}

/// A word, and the flag behind it.
const MESSAGE: &str = ptx!(
    "
.visible .func send(.param .b64 word, .param .b64 flag) {
  .reg .b64 %rd<3>;
  ld.param.b64 %rd1, [word];
  ld.param.b64 %rd2, [flag];
  st.global.b32 [%rd1], 42;
  st.release.gpu.global.b32 [%rd2], 1;
  ret;
}
.visible .func (.param .b32 result) receive(.param .b64 word, .param .b64 flag) {
  .reg .b64 %rd<3>; .reg .b32 %r<3>; .reg .pred %p;
  ld.param.b64 %rd1, [word];
  ld.param.b64 %rd2, [flag];
$wait:
  ld.acquire.gpu.global.b32 %r1, [%rd2];
  setp.eq.b32 %p, %r1, 0;
  @%p bra $wait;
  ld.global.b32 %r2, [%rd1];
  st.param.b32 [result], %r2;
  ret;
}
"
);
/// Its words, as flags.
const WORDS: [&str; 8] = [
    "--declare",
    "u32 word, flag",
    "--thread",
    "P0 = send(word, flag) @ cta 0",
    "--thread",
    "P1 = receive(word, flag) @ cta 1",
    "--forall",
    "P1:return == 42",
];

/// What Rust's kernels begin with.
macro_rules! rust {
    ($body:literal) => {
        concat!(
            "#![no_std]\n#![feature(abi_ptx)]\nuse core::sync::atomic::{AtomicU32, Ordering::*};\n",
            "#[panic_handler] fn panic(_: &core::panic::PanicInfo) -> ! { loop {} }\n",
            $body
        )
    };
}

/// What CUDA's begin with.
macro_rules! cuda {
    ($body:literal) => {
        concat!(
            "#include <__clang_cuda_builtin_vars.h>\n#include <stdint.h>\n#define __device__ __attribute__((device))\n",
            "#define __global__ __attribute__((global))\n#define __shared__ __attribute__((shared))\n",
            $body
        )
    };
}

#[rustfmt::skip]
static CASES: &[Case] = &[
    // Languages.
    Case {
        name: "mapa: a variable of another CTA",
        file: "mapa.ptx",
        source: r".version 8.6
.target sm_90
.address_size 64
.visible .shared .align 4 .u32 s;
.visible .global .u32 d;
.visible .func p0()
{
 st.global.b32 [d], 1;
 st.release.cluster.shared.b32 [s], 1;
 ret;
}
.visible .func (.param .b32 r) p1()
{
 .reg .b32 %r<9>;
 .reg .b64 %rd<9>;
 mapa.shared::cluster.u32 %r1, s, 0;
 ld.acquire.cluster.shared::cluster.u32 %r2, [%r1];
 ld.global.b32 %r3, [d];
 shl.b32 %r4, %r2, 8;
 or.b32 %r5, %r4, %r3;
 st.param.b32 [r], %r5;
 ret;
}
// litmus: thread P0 = p0() @ cta 0, cluster 0, gpu 0
// litmus: thread P1 = p1() @ cta 1, cluster 0, gpu 0, %cluster_ctarank = 1
// litmus: forall ~(P1:return == 256)
",
        flags: &["--outcomes"],
        status: 0,
        says: &["mapa holds", "257        1  1"],
    },
    Case {
        name: "mapa: a variable of another CTA, released to the own",
        file: "mapa.ptx",
        source: r".version 8.6
.target sm_90
.address_size 64
.visible .shared .align 4 .u32 s;
.visible .global .u32 d;
.visible .func p0()
{
 st.global.b32 [d], 1;
 st.release.cta.shared.b32 [s], 1;
 ret;
}
.visible .func (.param .b32 r) p1()
{
 .reg .b32 %r<9>;
 .reg .b64 %rd<9>;
 mapa.shared::cluster.u32 %r1, s, 0;
 ld.acquire.cluster.shared::cluster.u32 %r2, [%r1];
 ld.global.b32 %r3, [d];
 shl.b32 %r4, %r2, 8;
 or.b32 %r5, %r4, %r3;
 st.param.b32 [r], %r5;
 ret;
}
// litmus: thread P0 = p0() @ cta 0, cluster 0, gpu 0
// litmus: thread P1 = p1() @ cta 1, cluster 0, gpu 0, %cluster_ctarank = 1
// litmus: forall ~(P1:return == 256)
",
        flags: &["--outcomes"],
        status: 0,
        says: &["does not hold", "256        1  1"],
    },
    Case {
        name: "mapa: a variable of another CTA, by registers",
        file: "mapa.ptx",
        source: r".version 8.6
.target sm_90
.address_size 64
.visible .shared .align 4 .u32 s;
.visible .global .u32 d;
.visible .func p0()
{
 st.global.b32 [d], 1;
 st.release.cta.shared.b32 [s], 1;
 ret;
}
.visible .func (.param .b32 r) p1()
{
 .reg .b32 %r<9>;
 .reg .b64 %rd<9>;
 mov.b32 %r6, s;
 mov.b32 %r7, 0;
 mapa.shared::cluster.u32 %r1, %r6, %r7;
 ld.acquire.cluster.shared::cluster.u32 %r2, [%r1];
 ld.global.b32 %r3, [d];
 shl.b32 %r4, %r2, 8;
 or.b32 %r5, %r4, %r3;
 st.param.b32 [r], %r5;
 ret;
}
// litmus: thread P0 = p0() @ cta 0, cluster 0, gpu 0
// litmus: thread P1 = p1() @ cta 1, cluster 0, gpu 0, %cluster_ctarank = 1
// litmus: forall ~(P1:return == 256)
",
        flags: &["--outcomes"],
        status: 0,
        says: &["does not hold"],
    },
    Case {
        name: "mapa: a variable of another CTA, by a generic address",
        file: "mapa.ptx",
        source: r".version 8.6
.target sm_90
.address_size 64
.visible .shared .align 4 .u32 s;
.visible .global .u32 d;
.visible .func p0()
{
 st.global.b32 [d], 1;
 st.release.cluster.shared.b32 [s], 1;
 ret;
}
.visible .func (.param .b32 r) p1()
{
 .reg .b32 %r<9>;
 .reg .b64 %rd<9>;
 mov.b64 %rd1, s;
 cvta.shared.u64 %rd2, %rd1;
 mapa.u64 %rd3, %rd2, 0;
 ld.acquire.cluster.u32 %r2, [%rd3];
 ld.global.b32 %r3, [d];
 shl.b32 %r4, %r2, 8;
 or.b32 %r5, %r4, %r3;
 st.param.b32 [r], %r5;
 ret;
}
// litmus: thread P0 = p0() @ cta 0, cluster 0, gpu 0
// litmus: thread P1 = p1() @ cta 1, cluster 0, gpu 0, %cluster_ctarank = 1
// litmus: forall ~(P1:return == 256)
",
        flags: &["--outcomes"],
        status: 0,
        says: &["mapa holds", "257        1  1"],
    },
    Case {
        name: "mapa: the own variable by its rank",
        file: "mapa.ptx",
        source: r".version 8.6
.target sm_90
.address_size 64
.visible .shared .align 4 .u32 s;
.visible .global .u32 d;
.visible .func p0()
{
 st.global.b32 [d], 1;
 st.release.cluster.shared.b32 [s], 1;
 ret;
}
.visible .func (.param .b32 r) p1()
{
 .reg .b32 %r<9>;
 .reg .b64 %rd<9>;
 mov.b32 %r6, s;
 mov.b32 %r7, %cluster_ctarank;
 mapa.shared::cluster.u32 %r1, %r6, %r7;
 ld.acquire.cluster.shared::cluster.u32 %r2, [%r1];
 ld.global.b32 %r3, [d];
 shl.b32 %r4, %r2, 8;
 or.b32 %r5, %r4, %r3;
 st.param.b32 [r], %r5;
 ret;
}
// litmus: thread P0 = p0() @ cta 0, cluster 0, gpu 0
// litmus: thread P1 = p1() @ cta 1, cluster 0, gpu 0, %cluster_ctarank = 1
// litmus: forall ~(P1:return == 256)
",
        flags: &["--outcomes"],
        status: 0,
        says: &["impossible, whatever is read"],
    },
    Case {
        name: "mapa: a variable of a CTA that is not there",
        file: "mapa.ptx",
        source: r".version 8.6
.target sm_90
.address_size 64
.visible .shared .align 4 .u32 s;
.visible .global .u32 d;
.visible .func p0()
{
 st.global.b32 [d], 1;
 st.release.cluster.shared.b32 [s], 1;
 ret;
}
.visible .func (.param .b32 r) p1()
{
 .reg .b32 %r<9>;
 .reg .b64 %rd<9>;
 mapa.shared::cluster.u32 %r1, s, 3;
 ld.acquire.cluster.shared::cluster.u32 %r2, [%r1];
 ld.global.b32 %r3, [d];
 shl.b32 %r4, %r2, 8;
 or.b32 %r5, %r4, %r3;
 st.param.b32 [r], %r5;
 ret;
}
// litmus: thread P0 = p0() @ cta 0, cluster 0, gpu 0
// litmus: thread P1 = p1() @ cta 1, cluster 0, gpu 0, %cluster_ctarank = 1
// litmus: forall ~(P1:return == 256)
",
        flags: &["--outcomes"],
        status: 1,
        says: &["unknown", "a CTA that no thread is in"],
    },
    Case { name: "PTX", file: "message.ptx", source: MESSAGE, flags: &WORDS, status: 0, says: &["message holds", "st.release.gpu.global.b32"] },
    Case { name: "LLVM IR", file: "message.ll", source: r#"
; litmus: thread P0 = send @ cta 0
; litmus: thread P1 = receive @ cta 1
; litmus: forall P1:return == 42
target triple = "nvptx64-nvidia-cuda"
@word = addrspace(1) global i32 0
@flag = addrspace(1) global i32 0
define void @send() {
  store i32 42, ptr addrspace(1) @word
  store atomic i32 1, ptr addrspace(1) @flag syncscope("device") release, align 4
  ret void
}
define i32 @receive() {
  br label %wait
wait:
  %f = load atomic i32, ptr addrspace(1) @flag syncscope("device") acquire, align 4
  %again = icmp eq i32 %f, 0
  br i1 %again, label %wait, label %read
read:
  %v = load i32, ptr addrspace(1) @word
  ret i32 %v
}
"#, flags: &[], status: 0, says: &["message holds", "st.release.gpu.global.b32 [flag], 1"] },
    Case { name: "MLIR", file: "message.mlir", source: r#"
// litmus: u32 word, flag
// litmus: thread P0 = send(word, flag) @ cta 0
// litmus: thread P1 = receive(word, flag) @ cta 1
// litmus: exists P1:return == 0
llvm.func @send(%word: !llvm.ptr<1>, %flag: !llvm.ptr<1>) {
  %one = llvm.mlir.constant(1 : i32) : i32
  llvm.store %one, %word : i32, !llvm.ptr<1>
  llvm.store %one, %flag atomic syncscope("device") monotonic {alignment = 4 : i64} : i32, !llvm.ptr<1>
  llvm.return
}
llvm.func @receive(%word: !llvm.ptr<1>, %flag: !llvm.ptr<1>) -> i32 {
  %f = llvm.load %flag atomic syncscope("device") acquire {alignment = 4 : i64} : !llvm.ptr<1> -> i32
  %v = llvm.load %word : !llvm.ptr<1> -> i32
  llvm.return %v : i32
}
"#, flags: &[], status: 0, says: &["message holds", "st.relaxed.gpu.global.b32"] },
    Case { name: "Rust", file: "lock.rs", source: rust!("
static LOCK: AtomicU32 = AtomicU32::new(0);
static mut SUM: u32 = 0;
#[unsafe(no_mangle)]
pub extern \"C\" fn add(n: u32) {
    while LOCK.swap(1, Acquire) == 1 {}
    unsafe { SUM += n };
    LOCK.store(0, Release);
}
// litmus: thread P0 = add(1) @ cta 0
// litmus: thread P1 = add(2) @ cta 1
// litmus: thread P2 = add(3) @ cta 2
// litmus: forall SUM == 6 /\\ LOCK == 0
"), flags: &[], status: 0, says: &["lock holds", "lock.rs:11: unsafe { SUM += n };", "[lock::SUM]"] },
    Case { name: "CUDA, with shared memory", file: "shared.cu", source: cuda!("
__shared__ uint32_t word;
extern \"C\" __device__ uint32_t exchange() {
  if (threadIdx.x == 0) word = 42;
  __syncthreads();
  return word;
}
// litmus: thread P0 = exchange @ cta 0
// litmus: thread P1 = exchange @ cta 0
// litmus: forall P0:return == 42 /\\ P1:return == 42
"), flags: &[], status: 0, says: &["shared holds", "bar.sync 0", "shared.cu:9"] },
    Case { name: "C", file: "flag.c", source: "
// litmus: thread P0 = set @ cta 0
// litmus: thread P1 = get @ cta 1
// litmus: ~exists P1:return == 1
int word;
_Atomic int flag;
void set(void) { word = 42; flag = 1; }
int get(void) { return flag ? word : 42; }
", flags: &[], status: 0, says: &["flag holds"] },
    Case { name: "C++", file: "flag.cpp", source: "
// litmus: thread P0 = lib::set(7) @ cta 0
// litmus: thread P1 = lib::get @ cta 1
// litmus: forall P1:return == 0 || P1:return == 7
namespace lib {
int flag;
void set(int to) { __atomic_store_n(&flag, to, __ATOMIC_RELAXED); }
int get() { return __atomic_load_n(&flag, __ATOMIC_RELAXED); }
}
", flags: &[], status: 0, says: &["flag holds"] },
    // What threads are given.
    Case { name: "parameters and special registers", file: "special.ptx", source: ptx!("
// litmus: thread P0 = f(5) @ cta 3, tid 2, %nsmid = 9
// litmus: bind f.1 = 70
// litmus: forall P0:return == 5233969
.visible .func (.param .b32 r) f(.param .b32 a, .param .b32 b) {
  .reg .b32 %r<9>;
  ld.param.b32 %r1, [a]; ld.param.b32 %r2, [b];
  mov.u32 %r3, %tid.x; mov.u32 %r4, %ctaid.x; mov.u32 %r5, %ntid.x; mov.u32 %r6, %nsmid;
  mad.lo.s32 %r7, %r1, 10, %r3; mad.lo.s32 %r7, %r7, 10, %r4; mad.lo.s32 %r7, %r7, 10, %r5;
  mad.lo.s32 %r7, %r7, 10, %r6; mad.lo.s32 %r7, %r7, 100, %r2;
  sub.s32 %r7, %r7, 1;
  st.param.b32 [r], %r7;
  ret;
}
"), flags: &["--outcomes"], status: 0, says: &["special holds"] },
    Case { name: "all CTAs of a function have one size", file: "size.ptx", source: ptx!("
// litmus: thread P0 = f @ cta 0
// litmus: thread P1 = f @ cta 0
// litmus: thread P2 = f @ cta 1
// litmus: thread P3 = g @ cta 2
// litmus: forall P0:return == 2 /\\ P2:return == 2 /\\ P3:return == 1
.visible .func (.param .b32 r) f() {
  .reg .b32 %r1;
  mov.u32 %r1, %ntid.x;
  st.param.b32 [r], %r1;
  ret;
}
.visible .func (.param .b32 r) g() {
  .reg .b32 %r1;
  mov.u32 %r1, %ntid.x;
  st.param.b32 [r], %r1;
  ret;
}
"), flags: &[], status: 0, says: &["size holds"] },
    Case { name: "a parameter without a value", file: "m.ptx", source: MESSAGE, flags: &["--declare", "u32 word", "--thread", "P0 = send(word) @ cta 0", "--forall", "word == 42"], status: 1, says: &["`flag` is not bound"] },
    Case { name: "no such function", file: "m.ptx", source: MESSAGE, flags: &["--thread", "P0 = sned @ cta 0", "--forall", "true"], status: 1, says: &["there is no function `sned`; the module has `send`, `receive`"] },
    Case { name: "too many arguments", file: "m.ptx", source: MESSAGE, flags: &["--declare", "u32 x", "--thread", "P0 = send(x, x, x)", "--forall", "x == 0"], status: 1, says: &["`send` has 2 parameters, not 3"] },
    Case { name: "no such object", file: "m.ptx", source: MESSAGE, flags: &["--declare", "u32 x", "--thread", "P0 = send(x, y)", "--forall", "x == 0"], status: 1, says: &["there is no `y`: declare it, as in `litmus: u32 y`"] },
    Case { name: "a condition that names nothing", file: "m.ptx", source: MESSAGE, flags: &["--declare", "u32 x", "--thread", "P0 = send(x, x)", "--forall", "z == 0"], status: 1, says: &["there is no `z`"] },
    Case { name: "a result that is none", file: "m.ptx", source: MESSAGE, flags: &["--declare", "u32 x", "--thread", "P0 = send(x, x)", "--forall", "P0:return == 0"], status: 1, says: &["return"] },
    Case { name: "a thread that is none", file: "m.ptx", source: MESSAGE, flags: &["--declare", "u32 x", "--thread", "P0 = send(x, x)", "--forall", "P3:return == 0"], status: 1, says: &["P3"] },
    Case { name: "no condition", file: "m.ptx", source: MESSAGE, flags: &["--declare", "u32 x", "--thread", "P0 = send(x, x)"], status: 1, says: &["nothing says what must hold"] },
    Case { name: "no thread", file: "m.ptx", source: MESSAGE, flags: &["--declare", "u32 x"], status: 1, says: &["does not say which functions run"] },
    Case { name: "wrong words", file: "m.ptx", source: ptx!("// litmus: thread P1 = f\n// litmus: u32 x[0]\n// litmus: for all x\n"), flags: &[], status: 1, says: &["m.ptx:4:19", "`P0` expected, not `P1`", "m.ptx:5", "an object has 1 to", "m.ptx:6"] },
    Case { name: "not PTX", file: "m.ptx", source: "// litmus: thread P0 = f\n// litmus: forall true\n.version x {", flags: &[], status: 1, says: &["error"] },
    Case { name: "a source that does not compile", file: "m.cu", source: "// litmus: thread P0 = f\n// litmus: forall true\nint f( {", flags: &[], status: 1, says: &["cannot compile", "to LLVM IR", "expected"] },
    // Several tests.
    Case { name: "several tests of a file", file: "two.ptx", source: ptx!("
// litmus: u32 x
// litmus: test one
// litmus: thread P0 = f(x) @ cta 0
// litmus: forall x == 1
// litmus: test two
// litmus: thread P0 = f(x) @ cta 0
// litmus: thread P1 = f(x) @ cta 1
// litmus: forall x == 2
// litmus: exists P0:return == 1
.visible .func (.param .b32 r) f(.param .b64 p) {
  .reg .b64 %rd1; .reg .b32 %r1;
  ld.param.b64 %rd1, [p];
  atom.relaxed.gpu.global.add.u32 %r1, [%rd1], 1;
  st.param.b32 [r], %r1;
  ret;
}
"), flags: &[], status: 0, says: &["one holds", "two#1 holds", "two#2 holds", "3 tests: 3 hold"] },
    // Addresses.
    Case { name: "an array indexed by what was read", file: "index.ptx", source: ptx!("
// litmus: u32 which = 2, array[4] = {5, 6, 7, 8}
// litmus: thread P0 = f(which, array) @ cta 0
// litmus: thread P1 = g(which, array) @ cta 1
// litmus: forall P0:return == 7 \\/ P0:return == 8 \\/ P0:return == 9
.visible .func (.param .b32 r) f(.param .b64 p, .param .b64 a) {
  .reg .b64 %rd<5>; .reg .b32 %r<3>;
  ld.param.b64 %rd1, [p]; ld.param.b64 %rd2, [a];
  ld.relaxed.gpu.global.b32 %r1, [%rd1];
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd2, %rd3;
  ld.global.b32 %r2, [%rd4];
  st.param.b32 [r], %r2;
  ret;
}
.visible .func g(.param .b64 p, .param .b64 a) {
  .reg .b64 %rd<3>;
  ld.param.b64 %rd1, [p]; ld.param.b64 %rd2, [a];
  st.global.b32 [%rd2+12], 9;
  st.relaxed.gpu.global.b32 [%rd1], 3;
  ret;
}
"), flags: &[], status: 0, says: &["index holds"] },
    Case { name: "behind an array", file: "bounds.ptx", source: ptx!("
// litmus: u32 which = 4, array[4] = {5, 6, 7, 8}
// litmus: thread P0 = f(which, array) @ cta 0
// litmus: forall P0:return == 7
.visible .func (.param .b32 r) f(.param .b64 p, .param .b64 a) {
  .reg .b64 %rd<5>; .reg .b32 %r<3>;
  ld.param.b64 %rd1, [p]; ld.param.b64 %rd2, [a];
  ld.relaxed.gpu.global.b32 %r1, [%rd1];
  mul.wide.u32 %rd3, %r1, 4;
  add.s64 %rd4, %rd2, %rd3;
  ld.global.b32 %r2, [%rd4];
  st.param.b32 [r], %r2;
  ret;
}
"), flags: &[], status: 1, says: &["bounds unknown", "line 14 of the PTX: ld.global.b32 %r2, [%rd4]"] },
    Case { name: "a published pointer", file: "pointer.rs", source: rust!("
use core::sync::atomic::AtomicPtr;
static mut DATA: [u32; 2] = [0, 0];
static POINTER: AtomicPtr<u32> = AtomicPtr::new(core::ptr::null_mut());
#[unsafe(no_mangle)]
pub unsafe extern \"C\" fn publish() {
    unsafe { DATA[1] = 42 };
    POINTER.store(&raw mut DATA as *mut u32, Release);
}
#[unsafe(no_mangle)]
pub unsafe extern \"C\" fn read() -> u32 {
    let pointer = POINTER.load(Acquire);
    if pointer.is_null() { 42 } else { unsafe { *pointer.add(1) } }
}
// litmus: thread P0 = publish @ cta 0
// litmus: thread P1 = read @ cta 1
// litmus: forall P1:return == 42
"), flags: &[], status: 0, says: &["pointer holds"] },
    Case { name: "each CTA has its own shared memory", file: "own.ptx", source: ptx!("
// litmus: thread P0 = f @ cta 0
// litmus: thread P1 = f @ cta 1
// litmus: forall P0:return == 0 /\\ P1:return == 0 /\\ s$cta0 == 1 /\\ s$cta1 == 1
.shared .align 4 .u32 s;
.visible .func (.param .b32 r) f() {
  .reg .b32 %r1;
  atom.relaxed.cta.shared.add.u32 %r1, [s], 1;
  st.param.b32 [r], %r1;
  ret;
}
"), flags: &[], status: 0, says: &["own holds"] },
    Case { name: "shared memory that is not one", file: "own.ptx", source: ptx!("
// litmus: thread P0 = f @ cta 0
// litmus: thread P1 = f @ cta 1
// litmus: forall s == 1
.shared .align 4 .u32 s;
.visible .func f() {
  st.shared.u32 [s], 1;
  ret;
}
"), flags: &[], status: 1, says: &["each CTA has its own `s`: `s$cta0`, `s$cta1`"] },
    Case { name: "generic addresses", file: "generic.ptx", source: ptx!("
// litmus: u32 x
// litmus: thread P0 = f(x) @ cta 0
// litmus: thread P1 = f(x) @ cta 0
// litmus: forall s == 2 /\\ x == 2 /\\ P0:return == 1 
.shared .align 4 .u32 s;
.visible .func (.param .b32 r) f(.param .b64 p) {
  .reg .b64 %rd<4>; .reg .b32 %r<3>; .reg .pred %p1;
  ld.param.b64 %rd1, [p];
  mov.u64 %rd2, s; cvta.shared.u64 %rd3, %rd2;
  atom.relaxed.gpu.add.u32 %r1, [%rd1], 1;
  atom.relaxed.cta.add.u32 %r1, [%rd3], 1;
  isspacep.shared %p1, %rd3;
  selp.b32 %r2, 1, 0, %p1;
  st.param.b32 [r], %r2;
  ret;
}
"), flags: &[], status: 0, says: &["generic holds"] },
    Case { name: "calls", file: "calls.ptx", source: ptx!("
// litmus: u32 x
// litmus: thread P0 = f(x) @ cta 0
// litmus: thread P1 = f(x) @ cta 1
// litmus: forall x == 4
.func (.param .b32 r) twice(.param .b64 p);
.visible .func (.param .b32 r) f(.param .b64 p) {
  .reg .b64 %rd1; .reg .b32 %r1;
  ld.param.b64 %rd1, [p];
  { .param .b64 a; .param .b32 b; st.param.b64 [a], %rd1; call.uni (b), twice, (a); ld.param.b32 %r1, [b]; }
  st.param.b32 [r], %r1;
  ret;
}
.func (.param .b32 r) twice(.param .b64 p) {
  .reg .b64 %rd1; .reg .b32 %r<3>;
  ld.param.b64 %rd1, [p];
  atom.relaxed.gpu.global.add.u32 %r1, [%rd1], 1;
  atom.relaxed.gpu.global.add.u32 %r2, [%rd1], 1;
  st.param.b32 [r], %r2;
  ret;
}
"), flags: &[], status: 0, says: &["calls holds"] },
    Case { name: "a table of branches", file: "table.ptx", source: ptx!("
// litmus: u32 which, flag
// litmus: thread P0 = f(which, 0) @ cta 0
// litmus: thread P1 = set(which, flag) @ cta 1
// litmus: thread P2 = f(flag, 1) @ cta 2
// litmus: exists P0:return == 50
// litmus: exists P0:return == 70
// litmus: forall P0:return == 50 \\/ P0:return == 70
// litmus: forall P2:return == 60
.visible .func (.param .b32 r) f(.param .b64 p, .param .b32 other) {
  .reg .b64 %rd1; .reg .b32 %r<4>; .reg .pred %p1;
  ld.param.b64 %rd1, [p]; ld.param.b32 %r2, [other];
  ld.relaxed.gpu.global.b32 %r1, [%rd1];
  setp.eq.u32 %p1, %r2, 0;
$targets: .branchtargets $zero, $one, $two;
  mov.u32 %r3, 60;
  @%p1 brx.idx %r1, $targets;
  bra.uni $end;
$zero:
  mov.u32 %r3, 50;
  bra.uni $end;
$one:
  mov.u32 %r3, 51;
  bra.uni $end;
$two:
  mov.u32 %r3, 70;
$end:
  st.param.b32 [r], %r3;
  ret;
}
.visible .func set(.param .b64 p, .param .b64 q) {
  .reg .b64 %rd<3>;
  ld.param.b64 %rd1, [p]; ld.param.b64 %rd2, [q];
  st.relaxed.gpu.global.b32 [%rd1], 2;
  st.relaxed.gpu.global.b32 [%rd2], 9;
  ret;
}
"), flags: &[], status: 0, says: &["4 tests: 4 hold"] },
    Case { name: "unknown: behind a table of branches", file: "table.ptx", source: ptx!("
// litmus: u32 which = 1
// litmus: thread P0 = f(which) @ cta 0
// litmus: forall P0:return == 1
.visible .func (.param .b32 r) f(.param .b64 p) {
  .reg .b64 %rd1; .reg .b32 %r1;
  ld.param.b64 %rd1, [p];
  ld.relaxed.gpu.global.b32 %r1, [%rd1];
$targets: .branchtargets $zero;
  brx.idx %r1, $targets;
$zero:
  st.param.b32 [r], %r1;
  ret;
}
"), flags: &[], status: 1, says: &["table unknown", "line 13 of the PTX: brx.idx %r1, $targets: an index behind the table of the branch"] },
    // What is said.
    Case { name: "a condition keeps its names", file: "out.ptx", source: MESSAGE, flags: &["--declare", "u32 word, flag, out = 3, pair[2]", "--thread", "P0 = send(word, flag)", "--forall", "out == 7 /\\ pair[1] == 0 /\\ word == 42", "--outcomes"], status: 0, says: &["out does not hold", "forall (out == 7 /\\ pair[1] == 0 /\\ word == 42)", "  word  out  pair[1]\n  42    3    0"] },
    Case { name: "the weakest of what makes a test hold", file: "weakest.rs", source: rust!("
static FLAG: AtomicU32 = AtomicU32::new(0);
static DATA: AtomicU32 = AtomicU32::new(0);
#[unsafe(no_mangle)]
pub extern \"C\" fn set() { DATA.store(1, Relaxed); FLAG.swap(1, Relaxed); }
#[unsafe(no_mangle)]
pub extern \"C\" fn get() -> u32 { if FLAG.swap(2, Acquire) == 1 { DATA.load(Relaxed) } else { 1 } }
// litmus: thread P0 = set @ cta 0
// litmus: thread P1 = get @ cta 1
// litmus: forall P1:return == 1
"), flags: &[], status: 0, says: &["weakest does not hold", "atom.relaxed.sys.exch.b32  ->  atom.release.sys.exch.b32\n"] },
    Case { name: "the weakest two", file: "two.ptx", source: ptx!("
// litmus: u32 word, flag
// litmus: thread P0 = send(word, flag) @ cta 0
// litmus: thread P1 = receive(word, flag) @ cta 1
// litmus: forall P1:return != 100
.visible .func send(.param .b64 word, .param .b64 flag) {
  .reg .b64 %rd<3>; .reg .b32 %r1;
  ld.param.b64 %rd1, [word]; ld.param.b64 %rd2, [flag];
  st.global.b32 [%rd1], 42;
  atom.relaxed.gpu.global.add.u32 %r1, [%rd2], 1;
  ret;
}
.visible .func (.param .b32 result) receive(.param .b64 word, .param .b64 flag) {
  .reg .b64 %rd<3>; .reg .b32 %r<3>;
  ld.param.b64 %rd1, [word]; ld.param.b64 %rd2, [flag];
  atom.relaxed.gpu.global.add.u32 %r1, [%rd2], 1;
  ld.global.b32 %r2, [%rd1];
  mad.lo.u32 %r2, %r1, 100, %r2;
  st.param.b32 [result], %r2;
  ret;
}
"), flags: &[], status: 0, says: &["two does not hold", "Each two of these together make it hold", "atom.relaxed.gpu.add.u32  ->  atom.release.gpu.add.u32\n", "atom.relaxed.gpu.add.u32  ->  atom.acquire.gpu.add.u32\n"] },
    // Traps.
    Case { name: "an assertion that may fail", file: "assert.rs", source: rust!("
static FLAG: AtomicU32 = AtomicU32::new(0);
static DATA: AtomicU32 = AtomicU32::new(0);
#[unsafe(no_mangle)]
pub extern \"C\" fn set() { DATA.store(1, Relaxed); FLAG.store(1, Relaxed); }
#[unsafe(no_mangle)]
pub extern \"C\" fn get() { if FLAG.load(Acquire) == 1 { assert!(DATA.load(Relaxed) == 1) } }
// litmus: thread P0 = set @ cta 0
// litmus: thread P1 = get @ cta 1
"), flags: &[], status: 0, says: &["assert does not hold", "assert.rs:11"] },
    Case { name: "an assertion that cannot fail", file: "assert.rs", source: rust!("
static FLAG: AtomicU32 = AtomicU32::new(0);
static DATA: AtomicU32 = AtomicU32::new(0);
#[unsafe(no_mangle)]
pub extern \"C\" fn set() { DATA.store(1, Relaxed); FLAG.store(1, Release); }
#[unsafe(no_mangle)]
pub extern \"C\" fn get() { if FLAG.load(Acquire) == 1 { assert!(DATA.load(Relaxed) == 1) } }
// litmus: thread P0 = set @ cta 0
// litmus: thread P1 = get @ cta 1
"), flags: &[], status: 0, says: &["assert holds"] },
    Case { name: "CUDA's __assertfail", file: "assert.cu", source: cuda!("
extern \"C\" __device__ void __assertfail(const char *, const char *, unsigned, const char *, unsigned long) __attribute__((noreturn));
__device__ uint32_t x;
extern \"C\" __device__ void f() {
  if (__scoped_atomic_fetch_add(&x, 1, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE) == 1) __assertfail(0, 0, 0, 0, 1);
}
// litmus: test alone
// litmus: thread P0 = f @ cta 0
// litmus: test together
// litmus: thread P0 = f @ cta 0
// litmus: thread P1 = f @ cta 1
"), flags: &[], status: 0, says: &["alone holds", "together does not hold"] },
    Case { name: "a trap for which others wait for ever", file: "trap.ptx", source: ptx!("
// litmus: u32 flag
// litmus: thread P0 = stops(flag) @ cta 0
// litmus: thread P1 = waits(flag) @ cta 1
.visible .func stops(.param .b64 p) {
  trap;
}
.visible .func waits(.param .b64 p) {
  .reg .b64 %rd1; .reg .b32 %r1; .reg .pred %p1;
  ld.param.b64 %rd1, [p];
$wait:
  ld.acquire.gpu.global.b32 %r1, [%rd1];
  setp.eq.b32 %p1, %r1, 0;
  @%p1 bra $wait;
  ret;
}
"), flags: &[], status: 0, says: &["trap does not hold"] },
    // Arithmetic that litmus tests have no instruction for.
    value!("mul.hi.u32", "mul.hi.u32 %r9, %r1, %r2;", 304062475),
    value!("mul.hi.s32", "mul.hi.s32 %r9, %r1, %r2;", 4293609874),
    value!("shf.l.wrap", "shf.l.wrap.b32 %r9, %r1, %r2, %r3;", 1183502143),
    value!("shf.r.wrap", "shf.r.wrap.b32 %r9, %r1, %r2, %r3;", 3489064404),
    value!("bfe.u32", "bfe.u32 %r9, %r1, 5, 11;", 1492),
    value!("bfe.u32 beyond the highest bit", "bfe.u32 %r9, %r1, 28, 11;", 15),
    Case { name: "bfe.u64", file: "value.ptx", source: ptx!("
// litmus: thread P0 = f(18364758546783713944)
// litmus: forall P0:return == 3416887277
.visible .func (.param .b32 r) f(.param .b64 a) {
  .reg .b32 %r<9>; .reg .b64 %rd<4>;
  ld.param.b64 %rd1, [a];
  bfe.u64 %rd2, %rd1, 20, 33;
  cvt.u32.u64 %r1, %rd2;
  st.param.b32 [r], %r1;
  ret;
}
"), flags: &[], status: 0, says: &["value holds"] },
    // What the model does not have.
    Case { name: "unknown: a vote", file: "vote.ptx", source: ptx!("
// litmus: thread P0 = f @ cta 0
// litmus: forall P0:return == 1
.visible .func (.param .b32 r) f() {
  .reg .b32 %r1; .reg .pred %p1;
  setp.eq.b32 %p1, 1, 1;
  vote.sync.ballot.b32 %r1, %p1, -1;
  st.param.b32 [r], %r1;
  ret;
}
"), flags: &[], status: 1, says: &["vote unknown", "in P0 f, line 10 of the PTX: vote.sync.ballot.b32 %r1, %p1, -1"] },
    Case { name: "unknown: an mbarrier", file: "mbarrier.ptx", source: ptx!("
// litmus: u64 bar[1]
// litmus: thread P0 = f(bar) @ cta 0
// litmus: forall P0:return == 1
.visible .func (.param .b32 r) f(.param .b64 bar) {
  .reg .b32 %r1; .reg .b64 %rd1;
  ld.param.b64 %rd1, [bar];
  mov.b32 %r1, 1;
  mbarrier.init.b64 [%rd1], 1;
  st.param.b32 [r], %r1;
  ret;
}
"), flags: &[], status: 1, says: &["mbarrier unknown", "mbarrier.init.b64 [%rd1], 1: asynchronous operations are modelled in litmus tests, not in kernels"] },
    Case { name: "unknown: a texture", file: "tex.ptx", source: ptx!("
// litmus: thread P0 = f @ cta 0
// litmus: forall P0:return == 1
.visible .func (.param .b32 r) f() {
  .reg .f32 %f<5>; .reg .b32 %r1; .reg .b64 %rd1;
  tex.1d.v4.f32.f32 {%f1, %f2, %f3, %f4}, [%rd1, {%f1}];
  st.param.b32 [r], %r1;
  ret;
}
"), flags: &[], status: 1, says: &["tex unknown", "line 9 of the PTX: tex.1d"] },
    Case { name: "unknown: floats", file: "float.cu", source: cuda!("
extern \"C\" __device__ float f(float x) {
  return x * 2;
}
// litmus: thread P0 = f(1) @ cta 0
// litmus: forall P0:return == 1
"), flags: &[], status: 1, says: &["float unknown", "float.cu:8: return x * 2;"] },
    Case { name: "unknown: more rounds", file: "rounds.ptx", source: ptx!("
// litmus: u32 n = 5
// litmus: thread P0 = f(n) @ cta 0
// litmus: thread P1 = f(n) @ cta 1
// litmus: forall n == 0
.visible .func f(.param .b64 p) {
  .reg .b64 %rd1; .reg .b32 %r1; .reg .pred %p1;
  ld.param.b64 %rd1, [p];
$again:
  atom.relaxed.gpu.global.add.u32 %r1, [%rd1], -1;
  setp.gt.s32 %p1, %r1, 1;
  @%p1 bra $again;
  ret;
}
"), flags: &["--rounds", "2"], status: 1, says: &["rounds unknown", "rounds"] },
    Case { name: "a constant number of rounds", file: "rounds.cu", source: cuda!("
__device__ uint32_t x;
extern \"C\" __device__ void f(uint32_t n) {
  for (uint32_t i = 0; i < n; ++i) __scoped_atomic_fetch_add(&x, i, __ATOMIC_RELAXED, __MEMORY_SCOPE_DEVICE);
}
// litmus: thread P0 = f(9) @ cta 0
// litmus: forall x == 36
"), flags: &["--rounds", "1"], status: 0, says: &["rounds holds"] },
];

fn nvcc() -> PathBuf {
    root().join(".tools/cuda-13.5/nvidia/cu13/bin/nvcc")
}

/// What is said of a kernel does not depend on where its words stand.
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

/// A kernel that uses a function of a header, in a folder with a space.
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

/// Whether the code is inlined or called, and whether it is clang that makes the PTX: who is to blame is the line of the kernel, and
/// that of the header stands beside it.
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

/// They stand behind `--`, and have spaces.
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
    // Of a flag that is none, the compiler says so.
    refused(&[&FLAGS[..], &["--speed"]].concat(), 1, "--speed")?;
    let ptx = folder.path().join("kernel.ptx");
    fs::write(&ptx, MESSAGE)?;
    let output = litmus().arg(&ptx).args(WORDS).args(FLAGS).output()?;
    let said = String::from_utf8(output.stderr)?;
    if output.status.code() != Some(2) || !said.contains("none of the files is compiled") {
        return Err(said.into());
    }
    Ok(())
}

/// The program and how to get it are named.
fn no_compiler() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let bin = folder.path().join("bin");
    fs::create_dir(&bin)?;
    let cases = [
        ("kernel.cu", "there is no bash in the PATH", None),
        ("kernel.cu", "there is no clang 22 in the PATH; the package clang-22 of", Some("bash")),
        ("kernel.cpp", "there is no g++ in the PATH; the package g++ has it", None),
        ("kernel.rs", "there is no flock in the PATH; the package util-linux has it", None),
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

/// The PTX, without words, gives what its source gives.
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

/// The same kernels with libcu++, as nvcc compiles them: the words are those of `examples/cuda`.
fn of_nvcc() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    // What nvcc makes of `message` has more events than an execution may have.
    for kernel in KERNELS.into_iter().filter(|kernel| *kernel != "message") {
        let ptx = folder.path().join(kernel).with_extension("ptx");
        let source = root().join("gpu/libcu++").join(kernel).with_extension("cu");
        let mut nvcc = Command::new(nvcc());
        success(nvcc.args(["-ptx", "-arch=sm_90", "-lineinfo", "-std=c++17"]).arg(source).arg("-o").arg(&ptx))?;
        let words = fs::read_to_string(root().join("examples/cuda").join(kernel).with_extension("cu"))?;
        let words = words.lines().filter(|line| line.contains("litmus:")).join("\n");
        fs::write(&ptx, fs::read_to_string(&ptx)? + &words)?;
        if kernel == "ticket_lock" {
            // The line is the kernel's own, not that of libcu++, which is inlined there.
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

/// What the guide shows is what the command says. `INSTA_UPDATE=always` writes it.
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
                // The guide goes on with the mistake mended.
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

/// `ptx_atomics_scope::litmus!` in a crate of its own: it succeeds where the kernel is right, and shows an execution where not.
fn cargo_test() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let scope = root().join("scope");
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
