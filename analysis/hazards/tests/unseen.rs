//! The check on the held-out set, kernels of other projects: the wrong findings in each, and the share that is not
//! checked. The kernels are not in the repository; if they are not next to it, the test is skipped.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::Path,
    process::Command,
    sync::{Arc, Mutex},
};

use libtest_mimic::{Arguments, Failed, Trial};
use ptx_hazards::{Cause, Claim, Hazard, HazardOptions, check, read_with};
use ptx_isa::{LaunchSize, Module};
use ptx_memory_model::ptx::readings::Readings;

/// Whether a finding is true, and the cause if it is false.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    /// The finding is true.
    True,
    /// A false positive, with its cause. If a file has fewer of them, its number here must be lowered.
    False(&'static str),
}

use Why::{False, True};

const RING: Why = False("the epilogue reuses a ring, and its index there is not related to the index of the copies");
const ROUNDS: Why = False("the iterations of a loop are not related to the code that is skipped after it");
const SWITCH: Why = False("cuda::pipeline waits by a switch over head minus tail");
const UNJUDGED: Why = False("not judged");

/// The number of errors in each of these files. Other files have none.
#[rustfmt::skip]
const WRONG: [(&str, usize, Why); 32] = [
    ("kernels/cfx_ws",                                               9, RING),
    ("kernels/cs_g2s",                                               6, SWITCH),
    ("kernels/dg100_tf32",                                           2, RING),
    ("kernels/ex77_after",                                          35, UNJUDGED),
    ("kernels/ex77_before",                                         35, UNJUDGED),
    ("kernels/fa3_64",                                              18, RING),
    ("kernels/fmla_sp90",                                            5, UNJUDGED),
    ("kernels/marlin",                                              20, UNJUDGED),
    ("kernels/tk_b200_l9",                                          10, RING),
    ("kernels/tk_ln",                                                2, UNJUDGED),
    ("reduced/cutlass3653_before",                                   1, True),
    ("reduced/ex77_after",                                          35, UNJUDGED),
    ("reduced/ex77_before",                                         35, UNJUDGED),
    ("reduced/g2s_MatrixMulAsyncCopyLargeChunk",                     1, SWITCH),
    ("reduced/g2s_MatrixMulAsyncCopyMultiStage",                     1, True),
    ("reduced/g2s_MatrixMulAsyncCopyMultiStageLargeChunk",           1, True),
    ("reduced/g2s_MatrixMulAsyncCopyMultiStageLargeChunk_fixed",     1, SWITCH),
    ("reduced/g2s_MatrixMulAsyncCopyMultiStageSharedState",          2, True),
    ("reduced/g2s_MatrixMulAsyncCopyMultiStageSharedState_fixed",    2, SWITCH),
    ("reduced/g2s_MatrixMulAsyncCopyMultiStage_fixed",               1, SWITCH),
    ("reduced/g2s_MatrixMulAsyncCopySingleStage",                    1, SWITCH),
    ("reduced/i07_pipeline_thread",                                  1, SWITCH),
    ("reduced/i09_single_pipeline",                                  5, SWITCH),
    ("reduced/i15_ws_union",                                         1, RING),
    ("reduced/i16_store2",                                           4, False("bulk stores go to rows i and i+1")),
    ("reduced/stmatrix_before",                                      1, True),
    ("reduced/swizzle_before",                                       1, True),
    ("reduced/swizzle_dyn_before",                                   1, True),
    ("reduced/triton_trip_max_min",                                  1, ROUNDS),
    ("reduced/with_block/i09_single_pipeline",                       5, SWITCH),
    ("reduced/with_block/i15_ws_union",                              1, RING),
    ("reduced/with_block/i16_store2",                                4, False("bulk stores go to rows i and i+1")),
];

/// The largest percentage of synchronizations in `kernels` that may be unchecked.
const UNCHECKED: usize = 4;

/// Lines of correct kernels that are all needed: without one, there is a new finding.
const NEEDED: [(&str, usize); 2] = [("kernels/tk_b200_l6", 1105), ("kernels/tk_b200_l6", 1114)];

/// The counts for a file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Counts {
    wrong: usize,
    not_checked: usize,
    synchronizations: usize,
    unchecked: usize,
}

/// A row of numbers for each file, if `UNSEEN_TABLE` asks for it: synchronizations, certain findings, possible
/// findings, their pairs of accesses, undecided synchronizations, synchronizations of certain findings, and the pairs
/// by cause.
fn row(name: &str, text: &str) -> Result<(), Failed> {
    let module: Module = text.parse()?;
    let (mut pairs, mut of_wrong) = (0, 0);
    let mut causes: BTreeMap<&'static str, usize> = BTreeMap::new();
    for kernel in read_with(&module, &HazardOptions::default()) {
        let findings = check(&kernel, Readings::DEFAULT).findings;
        let of = |claim| findings.iter().filter(move |finding| finding.claim == claim);
        let wrong = of(Claim::Wrong).flat_map(Hazard::pairs).map(|pair| pair.synchronization);
        of_wrong += wrong.collect::<BTreeSet<_>>().len();
        for finding in of(Claim::NotChecked) {
            pairs += finding.pairs().count();
            let cause = finding.cause.as_ref().map_or("", Cause::words);
            *causes.entry(cause).or_default() += finding.pairs().count();
        }
    }
    let Counts { wrong, not_checked, synchronizations, unchecked } = counts(text, &HazardOptions::default())?;
    eprintln!("{name}\t{synchronizations}\t{wrong}\t{not_checked}\t{pairs}\t{unchecked}\t{of_wrong}\t{causes:?}");
    Ok(())
}

fn counts(text: &str, options: &HazardOptions) -> Result<Counts, Failed> {
    let module: Module = text.parse()?;
    let mut counts = Counts::default();
    for kernel in read_with(&module, options) {
        let report = check(&kernel, Readings::DEFAULT);
        let of = |claim| report.findings.iter().filter(|finding| finding.claim == claim).count();
        counts.wrong += of(Claim::Wrong);
        counts.not_checked += of(Claim::NotChecked);
        counts.synchronizations += report.synchronizations;
        counts.unchecked += report.unchecked;
    }
    Ok(counts)
}

fn is_as_expected(name: &str, text: &str, total: &Mutex<Counts>) -> Result<(), Failed> {
    if std::env::var_os("UNSEEN_TABLE").is_some() {
        row(name, text)?;
    }
    let expected = WRONG.iter().find(|(own, ..)| *own == name);
    let found = counts(text, &HazardOptions::default())?;
    if name.starts_with("kernels/") {
        let mut total = total.lock().map_err(|_| "another file has failed")?;
        total.synchronizations += found.synchronizations;
        total.unchecked += found.unchecked;
    }
    match expected {
        Some((_, wrong, why)) if found.wrong != *wrong => {
            Err(format!("{} wrong instead of {wrong} ({why:?})", found.wrong).into())
        }
        None if found.wrong > 0 => Err(format!("{} wrong in a kernel that is right", found.wrong).into()),
        _ => Ok(()),
    }
}

fn is_needed(text: &str, line: usize) -> Result<(), Failed> {
    let without: Vec<_> = text.lines().enumerate().filter(|(at, _)| at + 1 != line).map(|(_, own)| own).collect();
    let (before, after) =
        (counts(text, &HazardOptions::default())?, counts(&without.join("\n"), &HazardOptions::default())?);
    let more = after.wrong > before.wrong || after.not_checked > before.not_checked;
    if more { Ok(()) } else { Err(format!("nothing is said without line {line}").into()) }
}

/// Idioms in which only the number of threads is unknown are right in the CTA that they are written for.
fn is_settled_by_block(text: &str) -> Result<(), Failed> {
    let (open, given) = (
        HazardOptions::default(),
        HazardOptions {
            size: LaunchSize { block: Some([128, 1, 1]), ..LaunchSize::default() },
            ..HazardOptions::default()
        },
    );
    let (open, given) = (counts(text, &open)?, counts(text, &given)?);
    if open.wrong == 0 && open.not_checked > 0 && given.wrong + given.not_checked == 0 {
        return Ok(());
    }
    Err(format!("without a block {open:?}, with one {given:?}").into())
}

/// The files of a folder and of its subfolders, by their names without extension.
fn files(folder: &Path, prefix: &str) -> Vec<(String, String)> {
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let (path, name) = (entry.path(), entry.file_name().to_string_lossy().into_owned());
        if path.is_dir() {
            found.extend(files(&path, &format!("{prefix}{name}/")));
        } else if let (Some(name), Ok(text)) = (name.strip_suffix(".ptx"), fs::read_to_string(&path)) {
            found.push((format!("{prefix}{name}"), text));
        }
    }
    found.sort();
    found
}

fn main() {
    let arguments = Arguments::from_args();
    const ARCHIVE: &str = "async-unseen/given.tar.gz";
    let Some(archive) = testing::shared(ARCHIVE) else {
        libtest_mimic::run(&arguments, vec![testing::absent("kernels of other projects", ARCHIVE)]).exit();
    };
    let folder = tempfile::tempdir().expect("a folder");
    let unpacked = Command::new("tar").arg("-xzf").arg(&archive).arg("-C").arg(folder.path()).status();
    assert!(unpacked.is_ok_and(|status| status.success()), "tar fails on {}", archive.display());
    // Concatenations of files that are also there separately.
    let all: Vec<_> = files(folder.path(), "").into_iter().filter(|(name, _)| name != "reduced/idioms").collect();
    let total = Arc::new(Mutex::new(Counts::default()));
    let mut trials = Vec::new();
    for (name, text) in all {
        for (_, line) in NEEDED.into_iter().filter(|(own, _)| *own == name) {
            let text = text.clone();
            trials.push(Trial::test(format!("{name}, line {line}"), move || is_needed(&text, line)));
        }
        if ["i01", "i04", "i06", "i10", "i19"].iter().any(|idiom| name.starts_with(&format!("reduced/{idiom}_"))) {
            let text = text.clone();
            trials.push(Trial::test(format!("{name}, block"), move || is_settled_by_block(&text)));
        }
        let total = total.clone();
        trials.push(Trial::test(name.clone(), move || is_as_expected(&name, &text, &total)));
    }
    let is_sample = arguments.filter.is_some() || !testing::runs_all();
    let conclusion = libtest_mimic::run(&arguments, testing::one_of(6, trials));
    let total = *total.lock().expect("all files");
    println!("{} of {} synchronizations are not checked", total.unchecked, total.synchronizations);
    assert!(is_sample || total.unchecked * 100 <= total.synchronizations * UNCHECKED, "too many are not checked");
    conclusion.exit();
}
