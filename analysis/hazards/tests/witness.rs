//! Executions that show the findings of the check. Reported bugs have one before their fix and none after it; correct
//! kernels of other projects have none, with the exceptions that are listed here.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use libtest_mimic::{Arguments, Failed, Trial};
use ptx_execute::{End, Given};
use ptx_hazards::{Budget, Claim, Class, Hazard, Witness, check, read, witnesses};
use ptx_isa::{Module, Stop};
use ptx_memory_model::ptx::readings::Readings;
use testing::root;

/// Reported bugs that are at most warnings in the default profile.
const WARNED: [&str; 5] =
    ["deepep_642", "deepgemm_389", "facebook_triton_1723", "flashkda_24_init", "transformerengine_2695"];

/// Reported bugs whose witness takes long to find: `scripts/test` runs them only with `--all`.
const LONG: [&str; 5] = ["deepep_657", "flashinfer_5334", "triton_7293", "tvm_20074", "vllm_182"];

/// Reported bugs without a witness so far, and the reason.
const NOT_SHOWN: [(&str, &str); 2] = [
    ("cutlass_3647", "one tensor map is used for boxes of two sizes"),
    ("flashkda_24_empty", "only a slow consumer shows it, in an order of threads that is rare"),
];

/// Kernels of other projects that violate the manual and have a witness, with the fault that it shows.
const WRONG: [(&str, &str); 12] = [
    ("cs_g2s", "tiles are prefetched into a buffer that other threads still read"),
    ("cutlass3653_before", "a known bug"),
    (
        "ex77_after",
        "loads of tensor memory are not waited for before its columns change, and products with other accumulators follow each other",
    ),
    ("ex77_before", "the same, and stores to tensor memory are not waited for: the known bug"),
    ("fmla_sp90", "wgmma reads the data of cp.async without a proxy fence"),
    ("g2s_MatrixMulAsyncCopyMultiStage", "tiles are prefetched into a buffer that other threads still read"),
    ("g2s_MatrixMulAsyncCopyMultiStageLargeChunk", "the same"),
    (
        "g2s_MatrixMulAsyncCopyMultiStageLargeChunk_fixed",
        "the tile four iterations ahead overwrites a tile that other threads may still read",
    ),
    ("g2s_MatrixMulAsyncCopyMultiStage_fixed", "the same"),
    ("stmatrix_before", "a known bug"),
    ("swizzle_before", "a known bug"),
    ("swizzle_dyn_before", "a known bug"),
];

fn main() {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = arguments.test_threads.or(Some(2));
    let mut trials = Vec::new();
    for path in files(&root().join("tests/async/reported")) {
        let is_long = LONG.contains(&&*stem(&path));
        let trial = Trial::test(format!("reported {}", stem(&path)), move || reported(&path));
        trials.push(if is_long { testing::left_to_all(trial) } else { trial });
    }
    const ARCHIVE: &str = "async-unseen/given.tar.gz";
    if let Some(archive) = testing::shared(ARCHIVE) {
        let folder = root().join("target/tmp/unseen");
        fs::create_dir_all(&folder).expect("a folder");
        let status = Command::new("tar").arg("xzf").arg(&archive).arg("-C").arg(&folder).status();
        assert!(status.expect("tar").success());
        let folders: &[&str] = if all() { &["reduced", "kernels"] } else { &["reduced"] };
        let paths = folders.iter().flat_map(|name| files(&folder.join(name))).filter(|path| is_executed(path));
        let of_paths = paths.map(|path| Trial::test(format!("unseen {}", stem(&path)), move || unseen(&path)));
        trials.extend(testing::one_of(8, of_paths));
    } else {
        trials.push(testing::absent("kernels of other projects", ARCHIVE));
    }
    libtest_mimic::run(&arguments, trials).exit();
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("a file").path());
    let mut files: Vec<_> = entries.filter(|path| path.extension().is_some_and(|ending| ending == "ptx")).collect();
    files.sort();
    files
}

/// Whether a kernel is executed completely: without a fault, that takes long.
fn is_executed(path: &Path) -> bool {
    all() || fs::metadata(path).is_ok_and(|data| data.len() < 2_000)
}

fn stem(path: &Path) -> String {
    path.file_stem().expect("a name").to_string_lossy().into_owned()
}

/// Whether all kernels of other projects are executed, which takes long: `WITNESS_ALL` requests it.
fn all() -> bool {
    std::env::var_os("WITNESS_ALL").is_some()
}

/// The faults of a module's kernels in executions. Also writes the table, if it is requested.
fn collect_witnesses(name: &str, module: &Module, is_proposed: bool) -> Result<Vec<Witness>, Failed> {
    let mut found = Vec::new();
    let kernels = if is_proposed { read(module) } else { Vec::new() };
    for function in module.functions().filter(|function| function.body.is_some()) {
        if !function.head.is_entry {
            continue;
        }
        let kernel = kernels.iter().find(|kernel| kernel.name == function.name);
        let proposed = kernel.map(|kernel| check(kernel, Readings::DEFAULT).findings).unwrap_or_default();
        let all = witnesses(module, &function.name, &proposed, &Given::default(), &Budget::default(), &Stop::never())
            .map_err(|errors| errors.iter().map(ToString::to_string).collect::<Vec<_>>().join("; "))?;
        if std::env::var_os("WITNESS_TABLE").is_some() {
            eprintln!("{name}\t{}", row(&function.name, &proposed, &all));
        }
        found.extend(all.found);
    }
    Ok(found)
}

/// A kernel as a row of numbers.
fn row(kernel: &str, proposed: &[Hazard], all: &ptx_hazards::Witnesses) -> String {
    let best = &all.launches[0];
    let end = match best.end {
        End::Ended => "ended".to_owned(),
        End::Cut => "cut".to_owned(),
        End::Stopped(kind) => kind.to_string(),
    };
    let mut classes: BTreeMap<Class, usize> = BTreeMap::new();
    all.found.iter().chain(&all.plain).for_each(|witness| *classes.entry(witness.class).or_default() += 1);
    let of = |claim: Claim| {
        let own = proposed.iter().enumerate().filter(|(_, finding)| finding.claim == claim);
        let is_shown = |index: usize| all.found.iter().any(|witness| witness.shows == Some(index));
        let (shown, count) = (own.clone().filter(|(index, _)| is_shown(*index)).count(), own.count());
        format!("{shown} of {count} {claim}")
    };
    let kernel: String = kernel.chars().take(40).collect();
    let (wrong, open) = (of(Claim::Wrong), of(Claim::NotChecked));
    format!("{kernel}\t{end}\t{}/{}\t{} runs\t{wrong}\t{open}\t{classes:?}", best.covered.0, best.covered.1, all.runs)
}

/// Checks that a witness shows the same fault again.
fn again(module: &Module, witness: &Witness) -> Result<(), Failed> {
    let report = witness.again(module, &Budget::default()).map_err(|_| "no launch")?;
    match report.findings.contains(&witness.found) {
        true => Ok(()),
        false => Err(format!("not found again: {}", describe_witness(witness)).into()),
    }
}

fn describe_witness(witness: &Witness) -> String {
    let Witness { found, launch, seed, schedule, .. } = witness;
    let other = found.other.as_ref().map(|other| format!(" with {other}")).unwrap_or_default();
    format!("{found} at {}{other}, seed {seed}, {schedule}: {launch}", found.site)
}

fn wrong(found: &[Witness]) -> Vec<&Witness> {
    found.iter().filter(|witness| witness.class == Class::Wrong).collect()
}

fn reported(path: &Path) -> Result<(), Failed> {
    let (name, fixed) = (stem(path), fs::read_to_string(path)?);
    let before: String = fixed
        .lines()
        .filter(|line| !line.trim_end().ends_with("// the fix"))
        .map(|line| line.replacen("// before: ", "", 1) + "\n")
        .collect();
    let (before, fixed): (Module, Module) = (before.parse()?, fixed.parse()?);
    let is_silent = WARNED.contains(&&*name) || NOT_SHOWN.iter().any(|(other, _)| *other == name);
    if is_silent && !is_executed(path) {
        return Ok(());
    }
    let old = collect_witnesses(&name, &before, true)?;
    match (wrong(&old).first(), is_silent) {
        (None, false) => return Err("no witness before the fix".into()),
        (Some(witness), true) => return Err(format!("there is a witness: {}", describe_witness(witness)).into()),
        (Some(witness), false) => again(&before, witness)?,
        (None, true) => {}
    }
    if !is_executed(path) {
        return Ok(());
    }
    let new = collect_witnesses(&name, &fixed, true)?;
    match wrong(&new).first() {
        Some(witness) => Err(format!("after the fix: {}", describe_witness(witness)).into()),
        None => Ok(()),
    }
}

fn unseen(path: &Path) -> Result<(), Failed> {
    let (name, module): (String, Module) = (stem(path), fs::read_to_string(path)?.parse()?);
    // The check of large files takes longer than the search.
    let found = collect_witnesses(&name, &module, fs::metadata(path)?.len() < 200_000)?;
    let wrong = wrong(&found);
    match (wrong.first(), WRONG.iter().any(|(other, _)| *other == name)) {
        (Some(witness), false) => Err(format!("{} witnesses, as {}", wrong.len(), describe_witness(witness)).into()),
        (None, true) => Err("no witness".into()),
        (Some(witness), true) => again(&module, witness),
        (None, false) => Ok(()),
    }
}
