//! Third-party kernels that are labelled racy, divergent or free. The project does not contain them; without their
//! archive the test is skipped. By default a part of them is proved;
//! `RACES=all cargo test -p ptx-races --test labelled -- --nocapture` checks all of them, with executions, and prints
//! the table of docs/evidence/races-labelled.md. `RACES=O0` does the same with the code that was compiled without optimization.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::Mutex,
    time::{Duration, Instant},
};

use libtest_mimic::{Arguments, Failed, Trial};
use ptx_isa::{Dim3, LaunchSize, Module};
use ptx_races::check::{Class, Outcome, RaceOptions, Report, check};

/// The kernels whose finding differs from their label, and why: the executions of `models/execute/` agree with the
/// finding.
const OTHERS: [(&str, &str); 7] = [
    ("bench-C-AMP-Convolution-convolution-simple-mutant", "its PTX has no access to a neighbour's element"),
    ("bench-C-AMP-MatrixMultiplication-mxm-amp-simple-mutant", "its PTX has no access to a neighbour's element"),
    ("bench-C-AMP-MersenneTwister-box-muller-kernel-mutant", "its PTX has no access to a neighbour's element"),
    ("bench-CUDA20-scan-workefficient-mutant", "after the barrier that it lacks, each thread reads its own writes"),
    (
        "ts-pointertests-test12",
        "without optimization, each thread reads a pointer that all threads write with the same value",
    ),
    (
        "ts-cooperative-groups-fail-divergence-grid-group",
        "the threads of odd numbers exit before the barriers of the CTA, which skip them from sm_70 on",
    ),
    ("bench-gpgpu-sim-ispass2009-NQU-nqueen", "it is given more queens than its arrays have room for"),
];

/// A row of `index.csv`.
struct Kernel {
    id: String,
    set: String,
    size: LaunchSize,
    label: String,
    same_value: bool,
}

fn kernels(folder: &Path) -> Vec<Kernel> {
    let text = fs::read_to_string(folder.join("index.csv")).expect("an index");
    let row = |line: &str| {
        // The fields that are read here have no quotes; only fields after the label do.
        let f: Vec<&str> = line.split(',').collect();
        let three = |at: usize| -> Option<Dim3> {
            Some([f[at].parse().ok()?, f[at + 1].parse().ok()?, f[at + 2].parse().ok()?])
        };
        Kernel {
            id: f[0].into(),
            set: f[1].into(),
            size: LaunchSize { block: three(4), grid: three(7), ..LaunchSize::default() },
            label: f[10].into(),
            same_value: line.contains(",yes,distinct") || line.contains(",yes,\"distinct"),
        }
    };
    text.lines().skip(1).filter(|line| !line.is_empty()).map(row).collect()
}

fn report(folder: &Path, kernel: &Kernel) -> Option<(Report, Duration)> {
    let text = fs::read_to_string(folder.join(format!("{}.ptx", kernel.id))).ok()?;
    let module: Module = text.parse().expect("PTX");
    let begin = Instant::now();
    let options = RaceOptions { size: kernel.size, ..RaceOptions::default() };
    let check = |options: &RaceOptions| check(&module, options).into_iter().next().expect("a kernel");
    let report = check(&options);
    if report.verdict != Outcome::Open || kernel.size.block.is_some() {
        return Some((report, begin.elapsed()));
    }
    // An execution needs a number of threads. A proof for that number alone does not prove the kernel, which is for any
    // number.
    let one = check(&RaceOptions { size: LaunchSize { block: Some([256, 1, 1]), ..LaunchSize::default() }, ..options });
    Some((if one.verdict == Outcome::Free { report } else { one }, begin.elapsed()))
}

/// The mismatch between a report and the label of a kernel, if there is one.
fn wrong(kernel: &Kernel, report: &Report) -> Option<String> {
    let is_known = OTHERS.iter().any(|(id, _)| *id == kernel.id);
    let has_race = report.obstacles.iter().any(|finding| finding.class == Class::Race);
    let text = match (&*kernel.label, report.verdict) {
        ("free", Outcome::Race) if has_race => "is free, and has a race",
        ("free", Outcome::Divergent) => "is free, and has a divergent barrier",
        ("racy" | "divergent", Outcome::Free) => "is proved free, and is not",
        _ => return None,
    };
    let findings =
        report.obstacles.iter().map(|own| format!("{} {:?} {}", own.class, own.pair.map(|at| at.line), own.message));
    (!is_known).then(|| format!("{} {text}: {}", kernel.id, findings.collect::<Vec<_>>().join("; ")))
}

fn all(root: PathBuf, part: &'static str) -> Result<(), Failed> {
    let folder = root.join(if part == "O0" { "ptx-O0" } else { "ptx" });
    let kernels = kernels(&root);
    // The default part proves all small kernels, and few kernels of the large sets.
    let small = |kernel: &Kernel| matches!(&*kernel.set, "gv-testsuite" | "publication");
    let own: Vec<&Kernel> = kernels
        .iter()
        .enumerate()
        .filter(|(at, kernel)| part != "some" || small(kernel) || at % 16 == 0)
        .map(|(_, one)| one)
        .collect();
    let (next, results) = (Mutex::new(own.iter()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                while let Some(kernel) = { next.lock().expect("no panic").next() } {
                    if let Some((report, took)) = report(&folder, kernel) {
                        results.lock().expect("no panic").push((*kernel, report, took));
                    }
                }
            });
        }
    });
    let results = results.into_inner().expect("no panic");
    let mut table: BTreeMap<(&str, &str), BTreeMap<String, u32>> = BTreeMap::new();
    let mut times: Vec<Duration> = Vec::new();
    for (kernel, report, took) in &results {
        let label = if kernel.same_value { "same value" } else { &kernel.label };
        *table.entry((&kernel.set, label)).or_default().entry(report.verdict.to_string()).or_default() += 1;
        times.push(*took);
    }
    times.sort();
    for ((set, label), verdicts) in &table {
        println!("{set:14} {label:10} {verdicts:?}");
    }
    println!("median {:?}, longest {:?}", times[times.len() / 2], times[times.len() - 1]);
    let failures: Vec<String> = results.iter().filter_map(|(kernel, report, _)| wrong(kernel, report)).collect();
    let free = |set: &str| table.get(&(set, "free")).and_then(|all| all.get("free")).copied().unwrap_or_default();
    if part == "some" && free("publication") < 4 {
        return Err(format!("{} of the protocols are proved free, 4 before", free("publication")).into());
    }
    if part == "some" && free("gv-testsuite") < 26 {
        return Err(format!("{} of GPUVerify's test suite are proved free, 26 before", free("gv-testsuite")).into());
    }
    if failures.is_empty() { Ok(()) } else { Err(failures.join("\n").into()) }
}

fn main() {
    const ARCHIVE: &str = "races/given.tar.gz";
    let root = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("races-labelled");
    let part = match std::env::var("RACES").as_deref() {
        Ok("all") => "all",
        Ok("O0") => "O0",
        _ => "some",
    };
    let test = if let Some(given) = testing::shared(ARCHIVE) {
        fs::create_dir_all(&root).expect("a folder");
        let done = Command::new("tar").arg("-xzf").arg(&given).arg("-C").arg(&root).status().expect("tar");
        assert!(done.success(), "tar failed");
        Trial::test("labelled kernels", move || all(root, part))
    } else {
        testing::absent("labelled kernels", ARCHIVE)
    };
    libtest_mimic::run(&Arguments::from_args(), vec![test]).exit();
}
