//! The check on kernels of compilers: how much it finds, and whether it finds what is deleted.
//!
//! Every wait, fence, commit and barrier is deleted, one by one. What the check says then and did not say before, is found.
//! The kernels are those of `tests/async/reported`, and those of the folders that `ASYNC_CORPUS` names, with `:` between them.

mod deletion;
mod redundant;

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use libtest_mimic::{Arguments, Failed, Trial};
use ptx_hazards::{Finding, Kernel, Kind as Does, Rule, Verdict, check, read};
use ptx_isa::{Function, Item, Module};
use ptx_memory_model::ptx::readings::Readings;
use strum::IntoEnumIterator;
use testing::root;

use self::{
    deletion::{Deletion, Kind},
    redundant::GENERIC,
};

/// What is found in kernels of others, and is there: the file, the kernel's name or a part of it, the rule, and why.
#[rustfmt::skip]
const KNOWN: [(&str, &str, Rule, &str); 4] = [
    ("triton/gluon_wgmma_pipelined_sm90a", "wgmma_pipelined",   Rule::R7, "with k < 64 no round waits for the copies in front of the loop"),
    ("triton/matmul_mxfp4_sm100a",         "",                  Rule::R3, "with k < 1 scales are copied, and nothing commits and waits"),
    ("triton/matmul_mxfp8_sm100a",         "",                  Rule::R3, "with k < 1 scales are copied, and nothing commits and waits"),
    ("triton/matmul_nvfp4_sm100a",         "",                  Rule::R3, "with k < 1 scales are copied, and nothing commits and waits"),
];

/// Kernels of `tests/async/reported` with findings that are false yet. One that has none any more leaves the list.
const FALSE: [&str; 0] = [];

/// Of the deletions in `tests/async/reported`, so many percent are found yet; 95 are wanted, there and in all others.
const FLOOR: usize = 75;

/// Where all deletions would take longer, nothing is deleted.
const PATIENCE: Duration = Duration::from_secs(60);

fn main() {
    let mut folders = vec![root().join("tests/async/reported")];
    if let Some(more) = env::var_os("ASYNC_CORPUS") {
        folders.extend(env::split_paths(&more));
    }
    let total = Arc::new(Mutex::new(Total::default()));
    let mut trials = Vec::new();
    for folder in folders {
        let files = fs::read_dir(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
        let mut files: Vec<_> = files.map(|file| file.expect("a file of the folder").path()).collect();
        files.retain(|file| file.extension().is_some_and(|extension| extension == "ptx"));
        files.sort();
        assert!(!files.is_empty(), "{}: no PTX", folder.display());
        let of = folder.file_name().unwrap_or_default().to_string_lossy().into_owned();
        trials.extend(files.into_iter().map(|file| {
            let (total, of) = (Arc::clone(&total), of.clone());
            let name = format!("{of}/{}", file.file_stem().unwrap_or_default().to_string_lossy());
            Trial::test(name.clone(), move || trial(&name, &of, &file, &total))
        }));
    }
    let arguments = Arguments::from_args();
    let conclusion = libtest_mimic::run(&arguments, trials);
    let total = total.lock().expect("no trial panics with it");
    if arguments.list || total.deleted.is_empty() {
        conclusion.exit();
    }
    total.print();
    conclusion.exit_if_failed();
    let (found, needed) = total.found();
    let wanted = if total.kernels.len() > 1 { 95 } else { FLOOR };
    if found * 100 < needed * wanted {
        eprintln!("{found} of {needed} deletions found: less than {wanted} percent");
        std::process::exit(1);
    }
}

/// What became of a deletion.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Found,
    /// Only `strict` needs it.
    Strict,
    /// It says that it cannot tell.
    NotChecked,
    Redundant(&'static str),
    Missed,
}

#[derive(Default)]
struct Total {
    /// By folder.
    kernels: BTreeMap<String, Counts>,
    deleted: BTreeMap<(String, Kind), BTreeMap<Outcome, usize>>,
    missed: Vec<String>,
}

#[derive(Default)]
struct Counts {
    kernels: usize,
    asynchronous: usize,
    wrong: usize,
    known: usize,
    warnings: usize,
    not_checked: usize,
    synchronizations: usize,
    unchecked: usize,
    large: usize,
}

fn trial(name: &str, of: &str, file: &PathBuf, total: &Mutex<Total>) -> Result<(), Failed> {
    let text = fs::read_to_string(file)?;
    let module: Module = text.parse()?;
    let mut unexpected = Vec::new();
    for function in module.functions().filter(|function| function.body.is_some() && is_entry(function)) {
        let alone = alone(&module, function);
        let Some(kernel) = read(&alone).into_iter().find(|kernel| kernel.name == function.name) else { continue };
        let start = Instant::now();
        let report = check(&kernel, Readings::DEFAULT);
        let deletions = Deletion::all(function);
        let too_long = start.elapsed() * u32::try_from(deletions.len())? > PATIENCE;
        {
            let mut total = total.lock().expect("no trial panics with it");
            let counts = total.kernels.entry(of.to_owned()).or_default();
            counts.kernels += 1;
            if !is_asynchronous(&kernel) {
                continue;
            }
            counts.asynchronous += 1;
            counts.synchronizations += report.synchronizations;
            counts.unchecked += report.unchecked;
            for finding in &report.findings {
                match finding.verdict {
                    Verdict::Wrong if is_known(name, finding) => counts.known += 1,
                    Verdict::Wrong => {
                        counts.wrong += 1;
                        unexpected.push(format!("{name}:{}: {}: {}", finding.line, kernel.name, finding.message));
                    }
                    Verdict::NotChecked => counts.not_checked += 1,
                    Verdict::Note => counts.warnings += usize::from(finding.first.is_some()),
                }
            }
            if too_long {
                counts.large += 1;
                continue;
            }
        }
        let before = [Readings::DEFAULT, Readings::STRICT].map(|readings| keys(&kernel, readings));
        for deletion in deletions {
            let outcome = outcome(&alone, function, &kernel, &deletion, &before);
            let mut total = total.lock().expect("no trial panics with it");
            if outcome == Outcome::Missed && !deletion.kind.hangs() {
                let line = deletion.lines(function)[0];
                total.missed.push(format!("{}: {name}.ptx:{}: {}", deletion.kind, line.number, line.text));
            }
            *total.deleted.entry((of.to_owned(), deletion.kind)).or_default().entry(outcome).or_default() += 1;
        }
    }
    match (unexpected.is_empty(), FALSE.contains(&name)) {
        (true, true) => Err("it has no false finding any more: take it off FALSE".into()),
        (false, false) => Err(unexpected.join("\n").into()),
        _ => Ok(()),
    }
}

fn is_entry(function: &Function) -> bool {
    function.head.contains(".entry")
}

/// The module without its other kernels.
fn alone(module: &Module, kernel: &Function) -> Module {
    let mut alone = Module { items: Vec::new(), ..module.clone() };
    let others = module.items.iter().filter(|item| match item {
        Item::Function(function) => !is_entry(function) || function.name == kernel.name,
        Item::Directive(_) => true,
    });
    alone.items.extend(others.cloned());
    alone
}

fn is_asynchronous(kernel: &Kernel) -> bool {
    let mut events = kernel.blocks.iter().flat_map(|block| &block.events);
    events.any(|event| matches!(event.kind, Does::Start(_) | Does::Allocate { .. }))
}

fn is_known(name: &str, finding: &Finding) -> bool {
    let known = |(file, kernel, rule, _): &(&str, &str, Rule, &str)| {
        *file == name && finding.kernel.contains(kernel) && finding.rule == Some(*rule)
    };
    KNOWN.iter().any(known)
}

/// What makes a finding another one.
type Key = (Option<Rule>, Option<u32>, u32, Verdict);

fn key(finding: &Finding) -> Key {
    (finding.rule, finding.first, finding.line, finding.verdict)
}

fn keys(kernel: &Kernel, readings: Readings) -> BTreeSet<Key> {
    check(kernel, readings).findings.iter().map(key).collect()
}

/// `before` is what is found with nothing deleted, in `default` and in `strict`.
fn outcome(
    alone: &Module,
    function: &Function,
    kernel: &Kernel,
    deletion: &Deletion,
    before: &[BTreeSet<Key>; 2],
) -> Outcome {
    let [default, strict] = before;
    let (readings, before) =
        if deletion.kind.is_strict() { (Readings::STRICT, strict) } else { (Readings::DEFAULT, default) };
    let mut without = alone.clone();
    let changed = without.functions_mut().find(|other| other.name == function.name).expect("it is there");
    deletion.apply(changed);
    let kernels = read(&without);
    let Some(without) = kernels.iter().find(|kernel| kernel.name == function.name) else { return Outcome::Missed };
    let mut new = check(without, readings).findings;
    new.retain(|finding| !before.contains(&key(finding)));
    let is_found = |finding: &Finding| {
        finding.verdict == Verdict::Wrong || finding.verdict == Verdict::Note && finding.first.is_some()
    };
    if new.iter().any(is_found) {
        return Outcome::Found;
    }
    let lines: Vec<_> = deletion.lines(function).iter().map(|line| line.number).collect();
    if let Some(why) = redundant::reason(kernel, &lines) {
        return Outcome::Redundant(why);
    }
    if check(without, Readings::STRICT).findings.iter().any(|new| is_found(new) && !strict.contains(&key(new))) {
        return Outcome::Strict;
    }
    let not_checked = new.iter().any(|finding| finding.verdict == Verdict::NotChecked);
    if not_checked { Outcome::NotChecked } else { Outcome::Missed }
}

impl Total {
    /// How many are found, and how many should be.
    fn found(&self) -> (usize, usize) {
        let counted = self.deleted.iter().filter(|((_, kind), _)| !kind.hangs());
        let outcomes = counted.flat_map(|(_, outcomes)| outcomes);
        outcomes.fold((0, 0), |(found, needed), (outcome, count)| match outcome {
            Outcome::Found | Outcome::Strict => (found + count, needed + count),
            Outcome::Redundant(_) => (found, needed),
            Outcome::NotChecked | Outcome::Missed => (found, needed + count),
        })
    }

    fn print(&self) {
        println!(
            "| kernels | number | asynchronous | wrong | known | warnings | not checked | synchronizations | unchecked | too large for deletions |"
        );
        println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
        for (of, counts) in &self.kernels {
            let Counts {
                kernels,
                asynchronous,
                wrong,
                known,
                warnings,
                not_checked,
                synchronizations,
                unchecked,
                large,
            } = counts;
            println!(
                "| {of} | {kernels} | {asynchronous} | {wrong} | {known} | {warnings} | {not_checked} | {synchronizations} | {unchecked} | {large} |"
            );
        }
        let folders: BTreeSet<_> = self.deleted.keys().map(|(of, _)| of).collect();
        for of in folders {
            println!(
                "\n| deleted in {of} | number | found | found in `strict` | not checked | another does the same | {GENERIC} | missed | found of what is needed |"
            );
            println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
            for kind in Kind::iter() {
                if let Some(outcomes) = self.deleted.get(&(of.clone(), kind)) {
                    println!("| {kind} {}", row(outcomes));
                }
            }
        }
        println!();
        let mut missed = self.missed.clone();
        missed.sort();
        missed.iter().for_each(|line| println!("missed: {line}"));
        let (found, needed) = self.found();
        println!("{found} of {needed} found, {:.1} percent", percent(found, needed));
    }
}

fn row(outcomes: &BTreeMap<Outcome, usize>) -> String {
    let of = |is: &dyn Fn(&Outcome) -> bool| -> usize {
        outcomes.iter().filter(|(outcome, _)| is(outcome)).map(|(_, count)| count).sum()
    };
    let all = of(&|_| true);
    let found = of(&|outcome| *outcome == Outcome::Found);
    let strict = of(&|outcome| *outcome == Outcome::Strict);
    let not_checked = of(&|outcome| *outcome == Outcome::NotChecked);
    let generic = of(&|outcome| *outcome == Outcome::Redundant(GENERIC));
    let redundant = of(&|outcome| matches!(outcome, Outcome::Redundant(_))) - generic;
    let missed = of(&|outcome| *outcome == Outcome::Missed);
    let percent = percent(found + strict, found + strict + not_checked + missed);
    format!("| {all} | {found} | {strict} | {not_checked} | {redundant} | {generic} | {missed} | {percent:.1} % |")
}

#[expect(clippy::cast_precision_loss, reason = "the numbers are small")]
fn percent(part: usize, whole: usize) -> f64 {
    if whole == 0 { 100. } else { part as f64 * 100. / whole as f64 }
}
