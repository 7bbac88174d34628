//! The recall of the check on synchronizations that are deleted one by one, and the share of its findings that an
//! execution shows.
//!
//! Only new findings count: findings that the kernel has without the instruction and not with it. The machine decides
//! which instructions are needed: it runs the kernel without the instruction in launches of the whole kernel, with more
//! seeds than the check uses.
//!
//! The kernels are in `tests/async`, in the folders that `DELETIONS` lists, separated by `:`, and, with `DELETIONS_OF`,
//! in `../shared` if it exists. `DELETIONS_OF` is the number of deletions of each kernel, by default one;
//! `DELETIONS_SECONDS` is the time for the search for an execution. `DELETIONS_ROWS` prints each deletion;
//! `DELETIONS_LINE` restricts the deletions to one line.

#[path = "corpus/deletion.rs"]
#[expect(dead_code, reason = "only the other test uses it")]
mod deletion;

use std::{
    collections::{BTreeMap, BTreeSet},
    env,
    fmt::Write,
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, Mutex},
    time::Instant,
};

use libtest_mimic::{Arguments, Failed, Trial};
use ptx_execute::{AccessType, Assumed, Device, Fault, FaultKind, Given, Tried, search};
use ptx_hazards::{Budget, Claim, Class, Hazard, Witnesses, check, options, read, witnesses};
use ptx_isa::{Family, Function, InstPlace, Item, LaunchSize, Module, Stop};
use ptx_memory_model::ptx::readings::Readings;
use testing::{reported, root};

use self::deletion::{DeletedKind, Deletion};

/// For each set, the least percentage of needed deletions that must be found, and the least percentage that must be
/// errors.
#[rustfmt::skip]
const FLOORS: [(&str, usize, usize); 1] = [
    ("async", 90, 70),
];

/// The number of seeds and of launches with which the machine decides whether an instruction is needed.
const SEEDS: u64 = 10;
const LAUNCHES: usize = 2;

/// The answer of the check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum CheckAnswer {
    Nothing,
    Warning,
    Possible,
    Error,
}

/// The answer of the machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Need {
    #[default]
    /// No execution shows a fault.
    Unknown,
    /// Ordinary accesses race, which the check does not cover.
    Ordinary,
    /// A fault that the default profile tolerates.
    Lenient,
    /// Threads wait forever.
    Hangs,
    /// An asynchronous access races, or an instruction is misused.
    Wrong,
}

/// A deletion and its results.
#[derive(Clone, Debug)]
struct Row {
    set: String,
    kernel: String,
    line: u32,
    kind: DeletedKind,
    said: CheckAnswer,
    need: Need,
    why: String,
}

impl Row {
    fn is_needed(&self) -> bool {
        self.said == CheckAnswer::Error || self.need >= Need::Hangs
    }
}

fn main() {
    let mut arguments = Arguments::from_args();
    arguments.test_threads = arguments.test_threads.or(Some(1));
    let number = |name: &str| env::var(name).ok().map(|text| text.parse().unwrap_or(u64::MAX));
    let most = usize::try_from(number("DELETIONS_OF").unwrap_or(1)).unwrap_or(usize::MAX);
    let rows = Arc::new(Mutex::new(Vec::new()));
    let mut trials = Vec::new();
    let mut add = |set: &str, name: &str, text: String| {
        let (set, name, rows) = (set.to_owned(), name.to_owned(), Arc::clone(&rows));
        trials.push(Trial::test(format!("{set}/{name}"), move || trial(&set, &name, &text, most, &rows)));
    };
    reported::reported().into_iter().for_each(|bug| add("async", &bug.name, bug.fixed));
    files(&root().join("tests/async")).iter().for_each(|path| add("async", &stem(path), text(path)));
    let folders = env::var_os("DELETIONS");
    for folder in folders.iter().flat_map(env::split_paths) {
        files(&folder).iter().for_each(|path| add(&stem(&folder), &stem(path), text(path)));
    }
    let unpacked = tempfile::tempdir().expect("a folder");
    const ARCHIVE: &str = "async-unseen/given.tar.gz";
    match testing::shared(ARCHIVE) {
        Some(archive) if number("DELETIONS_OF").is_some() => {
            let status = Command::new("tar").arg("xzf").arg(&archive).arg("-C").arg(unpacked.path()).status();
            assert!(status.expect("tar").success());
            files(&unpacked.path().join("kernels")).iter().for_each(|path| add("unseen", &stem(path), text(path)));
        }
        Some(_) => {}
        None => trials.push(testing::absent("deletions in kernels of other projects", ARCHIVE)),
    }
    let conclusion = libtest_mimic::run(&arguments, testing::one_of(4, trials));
    let rows = rows.lock().expect("no trial panics with it");
    print(&rows);
    if arguments.filter.is_none() && !arguments.list {
        FLOORS.iter().for_each(|(set, found, errors)| {
            Counts::from_rows(rows.iter().filter(|row| row.set == *set)).is_enough(set, *found, *errors)
        });
    }
    conclusion.exit();
}

fn files(folder: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    let mut files: Vec<_> = entries.map(|entry| entry.expect("a file").path()).collect();
    files.retain(|path| path.extension().is_some_and(|ending| ending == "ptx"));
    files.sort();
    files
}

fn stem(path: &Path) -> String {
    path.file_stem().unwrap_or_default().to_string_lossy().into_owned()
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).expect("a text")
}

fn trial(set: &str, name: &str, text: &str, most: usize, rows: &Mutex<Vec<Row>>) -> Result<(), Failed> {
    let module: Module = text.parse()?;
    let entries = module.kernels();
    let mut all: Vec<(&Function, Deletion)> =
        entries.flat_map(|function| Deletion::all(function).into_iter().map(move |own| (function, own))).collect();
    all.sort_by_cached_key(|(function, own)| hash(&format!("{name} {} {:?}", function.name, own.places)));
    all.truncate(most);
    if let Ok(line) = env::var("DELETIONS_LINE") {
        all.retain(|(function, own)| own.lines(function)[0].number.to_string() == line);
    }
    let mut wholes: BTreeMap<&str, Option<Whole>> = BTreeMap::new();
    for (function, deletion) in &all {
        let whole = wholes.entry(&function.name).or_insert_with(|| Whole::new(&module, function));
        let Some(whole) = whole else { continue };
        let start = Instant::now();
        let (said, need, why) = whole.without(deletion)?;
        let line = deletion.lines(function)[0].number;
        let row = Row { set: set.into(), kernel: name.into(), line, kind: deletion.kind, said, need, why };
        if env::var_os("DELETIONS_ROWS").is_some() {
            let seconds = start.elapsed().as_secs_f32();
            eprintln!("{name}\t{line}\t{}\t{said:?}\t{need:?}\t{seconds:.1} s\t{}", row.kind, row.why);
        }
        rows.lock().expect("no trial panics with it").push(row);
    }
    Ok(())
}

/// FNV-1a: a sample is the same on every machine.
fn hash(text: &str) -> u64 {
    text.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}

/// A kernel before any deletion.
struct Whole<'m> {
    module: Module,
    function: &'m Function,
    given: Given,
    /// The findings of the check for it.
    before: BTreeSet<Key>,
    /// Launches of it, and the faults in them.
    launches: Vec<Tried>,
    wrong: BTreeSet<Mistake>,
}

/// The identity of a finding of the check, and of a fault of the machine.
type Key = (Option<ptx_hazards::Rule>, Option<u32>, u32, Claim);
type Mistake = (FaultKind, u32, u32);

fn key(finding: &Hazard) -> Key {
    (finding.rule, finding.first.map(|first| first.line), finding.at.line, finding.claim)
}

fn mistake(found: &Fault) -> Mistake {
    let other = found.other.as_ref().map_or(found.site.at.line, |site| site.at.line);
    (found.kind, other.min(found.site.at.line), other.max(found.site.at.line))
}

impl<'m> Whole<'m> {
    /// The kernel, or `None` if the machine cannot launch it.
    fn new(module: &Module, function: &'m Function) -> Option<Self> {
        let mut module = module.clone();
        module.items.retain(|item| match item {
            Item::Function(own) => own.name == function.name || !own.head.is_entry,
            Item::Directive(_) => true,
        });
        let budget = Budget::default();
        let findings = findings(&module, function);
        let before = findings.iter().map(key).collect();
        let all = match findings.iter().any(is_open) {
            true => witnesses(&module, &function.name, &findings, &Given::default(), &budget, &Stop::never()).ok()?,
            false => {
                let launches =
                    search(&module, &function.name, &Given::default(), &budget.search, &Stop::never()).ok()?;
                Witnesses { launches, ..Witnesses::default() }
            }
        };
        let head = &function.head;
        let has_no_block = head.required_threads.is_none() && head.most_threads.is_none();
        // Without the size of a CTA no finding is an error; so a size is given.
        let block = all.launches.first().filter(|_| has_no_block).map(|tried| tried.launch.size.block);
        let given = Given { size: LaunchSize { block, ..LaunchSize::default() }, ..Given::default() };
        let wrong = all.found.iter().chain(&all.plain).map(|witness| mistake(&witness.found)).collect();
        Some(Self { module, function, given, before, launches: all.launches, wrong })
    }

    fn runs(&self) -> Vec<(Tried, u64)> {
        let launches = self.launches.iter().take(LAUNCHES);
        launches.flat_map(|tried| (0..SEEDS).map(|seed| (tried.clone(), seed))).collect()
    }

    /// The answer of the check after a deletion, whether the deleted instruction is needed, and the reason.
    fn without(&self, deletion: &Deletion) -> Result<(CheckAnswer, Need, String), Failed> {
        let mut module = self.module.clone();
        let changed = module.functions_mut().find(|own| own.name == self.function.name).ok_or("no kernel")?;
        deletion.apply(changed);
        let all = findings(&module, self.function);
        let new: Vec<Hazard> = all.iter().filter(|finding| !self.before.contains(&key(finding))).cloned().collect();
        let (mut said, mut why) = (CheckAnswer::Nothing, String::new());
        for finding in &new {
            let level = level(finding, None);
            if level > said {
                (said, why) = (level, format!("{:?} {}: {}", finding.rule, finding.at.line, finding.message));
            }
        }
        let proposed = if new.iter().any(is_open) { &new } else { &all };
        let how = if proposed.iter().any(is_open) { "" } else { ", unproposed" };
        let executed =
            witnesses(&module, &self.function.name, proposed, &self.given, &Budget::default(), &Stop::never())
                .unwrap_or_default();
        if !executed.launches.is_empty() {
            let _ = write!(why, " ({}; {} runs)", reach(&new, &executed.launches), executed.runs);
        }
        for witness in executed.found {
            let (class, own) = (witness.class, mistake(&witness.found));
            let finding = witness.shows.map(|index| &proposed[index]);
            let is_new = finding.is_none_or(|finding| !self.before.contains(&key(finding)));
            let level = finding.map_or(CheckAnswer::Nothing, |finding| level(finding, Some(class)));
            let level = match class {
                Class::Wrong => CheckAnswer::Error,
                Class::Stuck => level.max(CheckAnswer::Possible),
                Class::Warning | Class::Plain => level,
            };
            let again = || run(&self.module, &witness.launch, witness.seed);
            if !is_new || level <= said || self.wrong.contains(&own) || again().0.iter().any(|old| mistake(old) == own)
            {
                continue;
            }
            (said, why) = (level, format!("{} at {own:?}{how}", witness.found));
        }
        if said == CheckAnswer::Error {
            return Ok((said, Need::Wrong, why));
        }
        let (need, how) = self.need(&module);
        Ok((said, need, format!("{how} [{why}]")))
    }

    /// The worst fault that does not occur before the deletion, in the same launch with the same seed, and its
    /// description.
    fn need(&self, module: &Module) -> (Need, String) {
        let mut steps = 0;
        let mut most = (Need::Unknown, String::new());
        for (tried, seed) in self.runs() {
            if steps >= Budget::default().all_run_steps || most.0 == Need::Wrong {
                break;
            }
            let (mut found, work) = run(module, &tried.launch, seed);
            steps += work;
            found.retain(|found| need(found) > most.0 && !self.wrong.contains(&mistake(found)));
            if found.is_empty() {
                continue;
            }
            let old: Vec<Mistake> = run(&self.module, &tried.launch, seed).0.iter().map(mistake).collect();
            let new = found.iter().filter(|found| !old.contains(&mistake(found)));
            let said = |found: &Fault| (need(found), format!("{found} at {:?}, seed {seed}", mistake(found)));
            most = new.map(said).max().into_iter().chain([most]).max().unwrap_or_default();
        }
        most
    }
}

/// Whether the search for executions tries to show a finding.
fn is_open(finding: &Hazard) -> bool {
    finding.claim != Claim::Note && finding.rule.is_some()
}

/// The coverage of the launches, and whether one of them executes both accesses of a finding.
fn reach(findings: &[Hazard], launches: &[Tried]) -> String {
    let has = |tried: &Tried, at: InstPlace| tried.instructions.binary_search(&at).is_ok();
    let both = |tried: &Tried, own: &Hazard| has(tried, own.at) && own.first.is_none_or(|first| has(tried, first));
    let number = launches.iter().filter(|tried| findings.iter().any(|own| both(tried, own))).count();
    let best = &launches[0];
    let (count, (executed, all), end) = (launches.len(), best.covered, best.end);
    format!("{number} of {count} launches reach it; the best one {end:?} with {executed} of {all}")
}

fn findings(module: &Module, function: &Function) -> Vec<Hazard> {
    let kernel = read(module).into_iter().find(|kernel| kernel.name == function.name);
    kernel.map(|kernel| check(&kernel, Readings::DEFAULT).findings).unwrap_or_default()
}

/// The faults of an execution, up to an access to invented memory.
fn run(module: &Module, launch: &Assumed, seed: u64) -> (Vec<Fault>, u64) {
    use FaultKind::{Misaligned, OutOfBounds, Trap, Unsupported};
    let Ok(mut device) = Device::new(module, options(seed, &Budget::default())) else { return Default::default() };
    let launch = launch.launch(&mut device);
    let report = device.launch(&launch).unwrap_or_default();
    let is_usual = |own: &Fault| !matches!(own.kind, Misaligned | OutOfBounds | Trap | Unsupported);
    (report.findings.into_iter().take_while(is_usual).collect(), report.work)
}

/// The severity that the command derives from a finding and its witness.
fn level(finding: &Hazard, class: Option<Class>) -> CheckAnswer {
    match (finding.claim, class) {
        (Claim::Wrong, Some(_)) | (_, Some(Class::Wrong)) => CheckAnswer::Error,
        (_, Some(Class::Stuck)) => CheckAnswer::Error,
        (Claim::NotChecked, Some(_)) => CheckAnswer::Warning,
        (Claim::Wrong, None) => CheckAnswer::Possible,
        (Claim::NotChecked, None) if finding.rule.is_some() => CheckAnswer::Possible,
        (Claim::Note, _) if finding.first.is_some() || finding.remedy.is_some() => CheckAnswer::Warning,
        _ => CheckAnswer::Nothing,
    }
}

fn need(found: &Fault) -> Need {
    use FaultKind::{BarrierCount, DivergentBarrier, DivergentWarp, Hang, Misuse, Race, TensorMemory};
    let is_setup = |site: &ptx_execute::Site| {
        matches!(site.family(), Some(Family::MbarrierInit | Family::MbarrierInval | Family::Tcgen05Alloc))
    };
    let reads_first = |race: ptx_execute::Race| race.accesses[0] == AccessType::Read;
    let sites = [Some(&found.site), found.other.as_ref()];
    match found.kind {
        Hang => Need::Hangs,
        Misuse | TensorMemory | BarrierCount | DivergentBarrier | DivergentWarp => Need::Wrong,
        Race if found.lacks_fence()
            && (found.race().is_some_and(reads_first) || sites.into_iter().flatten().any(is_setup)) =>
        {
            Need::Lenient
        }
        Race => match reported::race(found) {
            Some((reported::Class::Ordinary, _)) | None => Need::Ordinary,
            Some(_) => Need::Wrong,
        },
        _ => Need::Unknown,
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct Counts {
    deleted: usize,
    needed: usize,
    hangs: usize,
    error: usize,
    possible: usize,
    warning: usize,
    missed: usize,
    /// The reported deletions that no execution shows to be needed.
    unseen: usize,
    ordinary: usize,
    redundant: usize,
}

impl Counts {
    fn from_rows<'r>(rows: impl Iterator<Item = &'r Row>) -> Self {
        let mut counts = Self::default();
        for row in rows {
            counts.deleted += 1;
            let column = match (row.is_needed(), row.said, row.need) {
                (true, CheckAnswer::Error, _) => &mut counts.error,
                (true, CheckAnswer::Possible, _) => &mut counts.possible,
                (true, CheckAnswer::Warning, _) => &mut counts.warning,
                (true, CheckAnswer::Nothing, _) => &mut counts.missed,
                (false, CheckAnswer::Nothing, Need::Ordinary) => &mut counts.ordinary,
                (false, CheckAnswer::Nothing, _) => &mut counts.redundant,
                (false, ..) => &mut counts.unseen,
            };
            *column += 1;
            counts.needed += usize::from(row.is_needed());
            counts.hangs += usize::from(row.is_needed() && row.need == Need::Hangs);
        }
        counts
    }

    fn is_enough(&self, set: &str, found: usize, errors: usize) {
        let Self { needed, error, possible, .. } = *self;
        assert!(
            (error + possible) * 100 >= needed * found,
            "{set}: {} of {needed} are found, less than {found} percent",
            error + possible
        );
        assert!(error * 100 >= needed * errors, "{set}: {error} of {needed} are errors, less than {errors} percent");
    }

    fn print(&self, name: &str) {
        let Self { deleted, needed, hangs, error, possible, warning, missed, unseen, ordinary, redundant } = self;
        println!(
            "| {name} | {deleted} | {needed} | {hangs} | {error} | {possible} | {warning} | {missed} | {unseen} | {ordinary} | {redundant} |"
        );
    }
}

fn print(rows: &[Row]) {
    let sets: BTreeSet<&str> = rows.iter().map(|row| &*row.set).collect();
    for set in sets {
        let own = || rows.iter().filter(|row| row.set == set);
        println!(
            "\n| {set} | deleted | needed | hang | error | possible | warning | missed | said, and not observed | ordinary | redundant |"
        );
        println!("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |");
        let kernels: BTreeSet<&str> = own().map(|row| &*row.kernel).collect();
        if kernels.len() < 60 {
            kernels
                .iter()
                .for_each(|kernel| Counts::from_rows(own().filter(|row| row.kernel == *kernel)).print(kernel));
        }
        let kinds: BTreeSet<DeletedKind> = own().map(|row| row.kind).collect();
        kinds.iter().for_each(|kind| Counts::from_rows(own().filter(|row| row.kind == *kind)).print(&kind.to_string()));
        Counts::from_rows(own()).print("all");
        for row in own().filter(|row| row.is_needed() && row.said < CheckAnswer::Error) {
            println!("{:?}: {}:{}: {}: {}", row.said, row.kernel, row.line, row.kind, row.why);
        }
    }
}
