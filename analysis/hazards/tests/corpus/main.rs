//! The check on kernels of compilers: its findings, and whether it detects deletions.
//!
//! Every wait, fence, commit and barrier is deleted, one by one. A deletion counts as found if the check has a new
//! finding. For deletions that are not found, executions of the kernel decide whether anything races: the machine that
//! runs it is independent of the check. The kernels are in `tests/async/reported` and in the folders that
//! `ASYNC_CORPUS` lists, separated by `:`.

mod deletion;
mod oracle;

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::{Duration, Instant},
};

use libtest_mimic::{Arguments, Failed, Trial};
use ptx_hazards::{Claim, EventKind, Hazard, Kernel, Rule, check, read};
use ptx_isa::{Function, Item, Module};
use ptx_memory_model::ptx::readings::Readings;
use strum::IntoEnumIterator;
use testing::{
    reported::{Class, boxes},
    root,
};

use self::{
    deletion::{DeletedKind, Deletion},
    oracle::{Judgement, Oracle},
};

/// True findings in kernels of other projects: the file, the kernel's name or a part of it, the rule, and the reason.
#[rustfmt::skip]
const KNOWN: [(&str, &str, Rule, &str); 4] = [
    ("triton/gluon_wgmma_pipelined_sm90a", "wgmma_pipelined",   Rule::R7, "with k < 64 no iteration waits for the copies before the loop"),
    ("triton/matmul_mxfp4_sm100a",         "",                  Rule::R3, "with k < 1 scales are copied, and no instruction commits and waits"),
    ("triton/matmul_mxfp8_sm100a",         "",                  Rule::R3, "with k < 1 scales are copied, and no instruction commits and waits"),
    ("triton/matmul_nvfp4_sm100a",         "",                  Rule::R3, "with k < 1 scales are copied, and no instruction commits and waits"),
];

/// Kernels of `tests/async/reported` that still have false positives. A kernel without any must leave the list.
const FALSE: [&str; 0] = [];

/// The least percentage of relevant deletions that must be found.
const FLOOR: usize = 95;

/// The limit of time for the deletions of a kernel; if they would take longer, nothing is deleted.
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
    let (found, needed) = total.count_deletions();
    if found * 100 < needed * FLOOR {
        eprintln!("{found} of {needed} deletions found: less than {FLOOR} percent");
        std::process::exit(1);
    }
}

/// The outcome of a deletion.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Outcome {
    Found,
    /// Only `strict` needs it.
    Strict,
    /// The check reports that the question is undecided.
    NotChecked,
    /// An asynchronous operation races, or tensor memory stays allocated.
    Missed,
    /// The initialization or invalidation of an mbarrier races with its uses.
    Barrier,
    /// Only ordinary accesses race, which the check does not cover.
    Ordinary,
    /// Threads wait forever, and nothing races.
    Hangs,
    /// Nothing races.
    Redundant,
    /// Executions do not decide.
    Unclear,
}

#[derive(Default)]
struct Total {
    /// By folder.
    kernels: BTreeMap<String, Counts>,
    deleted: BTreeMap<(String, DeletedKind), BTreeMap<Outcome, usize>>,
    /// The deletions that are neither found nor redundant.
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
    let stem = name.rsplit('/').next().unwrap_or_default();
    let mut unexpected = Vec::new();
    for function in module.kernels() {
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
                match finding.claim {
                    Claim::Wrong if is_known(name, finding) => counts.known += 1,
                    Claim::Wrong => {
                        counts.wrong += 1;
                        unexpected.push(format!("{name}:{}: {}: {}", finding.at.line, kernel.name, finding.message));
                    }
                    Claim::NotChecked => counts.not_checked += 1,
                    Claim::Note => counts.warnings += usize::from(finding.first.is_some()),
                }
            }
            if too_long {
                counts.large += 1;
                continue;
            }
        }
        let mut oracle = None;
        let before = [Readings::DEFAULT, Readings::STRICT].map(|readings| keys(&kernel, readings));
        for deletion in deletions {
            let (outcome, why) = match classify_findings(&alone, function, &deletion, &before) {
                Some(outcome) => (outcome, None),
                None => {
                    let oracle = oracle.get_or_insert_with(|| Oracle::new(&alone, function, boxes(stem)));
                    let judgement = oracle.judge(&without(&alone, function, &deletion), &function.name);
                    (judged(&judgement), Some(judgement))
                }
            };
            let mut total = total.lock().expect("no trial panics with it");
            if let Some(why) = why.filter(|_| outcome != Outcome::Redundant) {
                let line = deletion.lines(function)[0];
                let why = describe_judgement(&why);
                total.missed.push(format!(
                    "{}: {}: {name}.ptx:{}: {}: {why}",
                    name_outcome(&outcome),
                    deletion.kind,
                    line.number,
                    line.text
                ));
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

/// The module without its other kernels.
fn alone(module: &Module, kernel: &Function) -> Module {
    let mut alone = Module { items: Vec::new(), ..module.clone() };
    let others = module.items.iter().filter(|item| match item {
        Item::Function(function) => !function.head.is_entry || function.name == kernel.name,
        Item::Directive(_) => true,
    });
    alone.items.extend(others.cloned());
    alone
}

fn is_asynchronous(kernel: &Kernel) -> bool {
    let mut events = kernel.blocks.iter().flat_map(|block| &block.events);
    events.any(|event| matches!(event.kind, EventKind::Start(_) | EventKind::Allocate { .. }))
}

fn is_known(name: &str, finding: &Hazard) -> bool {
    let known = |(file, kernel, rule, _): &(&str, &str, Rule, &str)| {
        *file == name && finding.kernel.contains(kernel) && finding.rule == Some(*rule)
    };
    KNOWN.iter().any(known)
}

/// The identity of a finding.
type Key = (Option<Rule>, Option<u32>, u32, Claim);

fn key(finding: &Hazard) -> Key {
    (finding.rule, finding.first.map(|first| first.line), finding.at.line, finding.claim)
}

fn keys(kernel: &Kernel, readings: Readings) -> BTreeSet<Key> {
    check(kernel, readings).findings.iter().map(key).collect()
}

fn without(alone: &Module, function: &Function, deletion: &Deletion) -> Module {
    let mut without = alone.clone();
    let changed = without.functions_mut().find(|other| other.name == function.name).expect("it is there");
    deletion.apply(changed);
    without
}

/// The outcome that the check's new findings imply, if there are any. `before` has the findings before the deletion, in
/// `default` and in `strict`.
fn classify_findings(
    alone: &Module,
    function: &Function,
    deletion: &Deletion,
    before: &[BTreeSet<Key>; 2],
) -> Option<Outcome> {
    let [default, strict] = before;
    let (readings, before) =
        if deletion.kind.is_strict() { (Readings::STRICT, strict) } else { (Readings::DEFAULT, default) };
    let kernels = read(&without(alone, function, deletion));
    let without = kernels.iter().find(|kernel| kernel.name == function.name)?;
    let mut new = check(without, readings).findings;
    new.retain(|finding| !before.contains(&key(finding)));
    // An undecided finding of a rule is a possible fault.
    let is_found = |finding: &Hazard| match finding.claim {
        Claim::Wrong => true,
        Claim::NotChecked => finding.rule.is_some(),
        Claim::Note => finding.first.is_some(),
    };
    if new.iter().any(is_found) {
        return Some(Outcome::Found);
    }
    if check(without, Readings::STRICT).findings.iter().any(|new| is_found(new) && !strict.contains(&key(new))) {
        return Some(Outcome::Strict);
    }
    let not_checked = new.iter().any(|finding| finding.claim == Claim::NotChecked);
    not_checked.then_some(Outcome::NotChecked)
}

fn judged(judgement: &Judgement) -> Outcome {
    match judgement {
        Judgement::Races(Class::Asynchronous, _) | Judgement::Misused(..) | Judgement::Leaks => Outcome::Missed,
        Judgement::Races(Class::Barrier, _) => Outcome::Barrier,
        Judgement::Races(Class::Ordinary, _) => Outcome::Ordinary,
        Judgement::Hangs(_) => Outcome::Hangs,
        Judgement::Redundant => Outcome::Redundant,
        Judgement::Unclear(_) => Outcome::Unclear,
    }
}

fn name_outcome(outcome: &Outcome) -> &'static str {
    match outcome {
        Outcome::Missed => "missed",
        Outcome::Barrier => "mbarrier",
        Outcome::Ordinary => "ordinary",
        Outcome::Hangs => "hangs",
        _ => "unclear",
    }
}

fn describe_judgement(judgement: &Judgement) -> String {
    match judgement {
        Judgement::Races(_, [first, second]) => format!("lines {first} and {second} race"),
        Judgement::Misused(line, why) => format!("line {line}: {why}"),
        Judgement::Hangs(line) => format!("line {line} waits for ever"),
        Judgement::Leaks => "tensor memory stays allocated".into(),
        Judgement::Redundant => String::new(),
        Judgement::Unclear(why) => why.clone(),
    }
}

impl Total {
    /// The number of deletions found, and the number that should be.
    fn count_deletions(&self) -> (usize, usize) {
        let counted = self.deleted.iter().filter(|((_, kind), _)| !kind.hangs());
        let outcomes = counted.flat_map(|(_, outcomes)| outcomes);
        outcomes.fold((0, 0), |(found, needed), (outcome, count)| match outcome {
            Outcome::Found | Outcome::Strict => (found + count, needed + count),
            Outcome::NotChecked | Outcome::Missed | Outcome::Barrier => (found, needed + count),
            _ => (found, needed),
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
                "\n| deleted in {of} | number | found | found in `strict` | not checked | missed | at an mbarrier | only ordinary | hangs | redundant | unclear | found of the needed |"
            );
            println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
            for kind in DeletedKind::iter() {
                if let Some(outcomes) = self.deleted.get(&(of.clone(), kind)) {
                    println!("| {kind} {}", row(outcomes));
                }
            }
        }
        println!();
        let mut missed = self.missed.clone();
        missed.sort();
        missed.iter().for_each(|line| println!("{line}"));
        let (found, needed) = self.count_deletions();
        println!("{found} of {needed} found, {:.1} percent", percent(found, needed));
    }
}

fn row(outcomes: &BTreeMap<Outcome, usize>) -> String {
    use Outcome::{Barrier, Found, Hangs, Missed, NotChecked, Ordinary, Redundant, Strict, Unclear};
    let of = |outcome: &Outcome| outcomes.get(outcome).copied().unwrap_or(0);
    let columns = [Found, Strict, NotChecked, Missed, Barrier, Ordinary, Hangs, Redundant, Unclear];
    let numbers: String = columns.iter().map(|outcome| format!(" {} |", of(outcome))).collect();
    let found = of(&Found) + of(&Strict);
    let percent = percent(found, found + of(&NotChecked) + of(&Missed) + of(&Barrier));
    format!("| {} |{numbers} {percent:.1} % |", outcomes.values().sum::<usize>())
}

#[expect(clippy::cast_precision_loss, reason = "the numbers are small")]
fn percent(part: usize, whole: usize) -> f64 {
    if whole == 0 { 100. } else { part as f64 * 100. / whole as f64 }
}
