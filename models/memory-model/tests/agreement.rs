//! The litmus tests of other projects, and our own: the model agrees with the expected verdict of each test.

use std::{fs, io, path::Path, process::Command, time::Instant};

mod cuda_litmus;
#[path = "it/patterns.rs"]
mod patterns;

use libtest_mimic::{Arguments, Failed, Trial};
use patterns::{Expected, PATTERNS};
use ptx_memory_model::{
    litmus::{Dialect, Litmus},
    outcome::{Layout, Limits},
    ptx::{self, Conventions},
    source::{
        self,
        ReleaseSequences::Cpp20,
        read::{Source, sources},
    },
    unfold::Limit,
};

/// A convention in which Dat3M differs from the manual (`../shared/litmus/README.md`), with a function that selects
/// Dat3M's choice.
type Convention = (&'static str, fn(&mut Conventions));

const CONVENTIONS: [Convention; 4] = [
    ("a failed cas writes the old value back", |conventions| conventions.failed_cas_writes = true),
    ("fence.sc is neither a release nor an acquire fence", |conventions| conventions.fence_sc_in_patterns = false),
    ("red forms an acquire pattern", |conventions| conventions.red_acquires = true),
    ("a thread may wait forever if no thread can continue", |conventions| conventions.hung_at_end = true),
];

/// The verdicts of tests that once had a wrong verdict, or none: whether they hold, or the reason why that is unknown.
/// A file that is not a test of PTX must give errors.
const DEFECTS: [(&str, Result<bool, Option<Limit>>); 17] = [
    ("arrive18q6", Ok(true)),
    ("ctrljoin", Ok(false)),
    ("ctrlpred", Ok(true)),
    ("exch", Ok(true)),
    ("failcas_release", Ok(true)),
    ("falsedep", Ok(false)),
    ("gb2", Err(Some(Limit::Hangs))),
    ("hang", Err(Some(Limit::Hangs))),
    ("mixedmin", Err(Some(Limit::MixedSizes))),
    ("ptr", Ok(true)),
    ("redacq", Err(None)),
    ("rmw8", Ok(false)),
    ("shared_cta", Ok(false)),
    ("taslock", Ok(true)),
    ("typo", Err(None)),
    ("u32wide", Ok(false)),
    ("vacuous", Err(Some(Limit::Hangs))),
];

fn main() {
    type Suite = (&'static str, &'static str, usize, fn(&Path, usize) -> Result<(), Failed>);
    let suites: [Suite; 4] = [
        ("spec", "spec", 22, |folder, count| agrees(folder, count, Conventions::MANUAL)),
        ("dat3m", "dat3m", 146, |folder, count| agrees(folder, count, Conventions::MANUAL)),
        ("dat3m, read as Dat3M does", "dat3m", 146, |folder, count| agrees(folder, count, Conventions::DAT3M)),
        ("defects", "defects", DEFECTS.len(), defects),
    ];
    let shared = suites.map(|(name, folder, count, run)| {
        let (name, path) = (format!("shared/litmus/{name}"), format!("litmus/{folder}"));
        testing::shared_trial(&name, &path, move |folder| run(folder, count))
    });
    let litmus = || Path::new(env!("CARGO_MANIFEST_DIR")).join("litmus");
    let trials = shared.into_iter().chain([
        testing::shared_trial("shared/mapping-sources.txt", "litmus/mapping-sources.txt", programs),
        testing::shared_trial("the table of another reader", "reference/async/canonical-patterns.csv", table),
        testing::shared_trial(
            "shared/evidence/cuda-litmus",
            "evidence/cuda-litmus-tests.tar.gz",
            cuda_litmus_generated,
        ),
        Trial::test("cuda-litmus", cuda_litmus_agrees),
        Trial::test("the strengthened model", move || strengthened_agrees(&own_tests(&litmus())?)),
        Trial::test("litmus", move || own_hold(&litmus(), 0)),
        Trial::test("the conventions matter", move || conventions_matter(&litmus(), 0)),
    ]);
    let trials = trials.collect();
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn read(path: &Path) -> Result<Litmus, Failed> {
    let text = fs::read_to_string(path)?;
    let read = Litmus::read_as(&text, Dialect::Dat3m);
    read.map(|(litmus, _)| litmus).map_err(|error| format!("{}:{error}", path.display()).into())
}

fn holds(litmus: &Litmus, conventions: Conventions) -> Option<bool> {
    let outcomes = ptx::search::outcomes(&litmus.program, conventions, Limits::default());
    outcomes.holds(&litmus.condition, &Layout::new(&litmus.program))
}

fn hangs(litmus: &Litmus, conventions: Conventions) -> bool {
    let outcomes = ptx::search::outcomes(&litmus.program, conventions, Limits::default());
    outcomes.verdict(&litmus.condition, &Layout::new(&litmus.program)) == Err(Limit::Hangs)
}

/// The tests of a folder, with whether each is expected to hold.
fn tests(folder: &Path) -> Result<Vec<(String, Litmus, bool)>, Failed> {
    let table = fs::read_to_string(folder.join("expected.csv"))?;
    let rows = table.lines().skip(1).filter_map(|line| line.rsplit_once(','));
    rows.map(|(name, holds)| Ok((name.to_string(), read(&folder.join(name))?, holds == "1"))).collect()
}

/// A verdict that differs from the expected one must be explained by a convention: with the other choice of that
/// convention, the verdicts agree.
fn agrees(folder: &Path, count: usize, conventions: Conventions) -> Result<(), Failed> {
    let tests = tests(folder)?;
    let start = Instant::now();
    let found: Vec<_> = tests.iter().map(|(_, litmus, _)| holds(litmus, conventions)).collect();
    let time = start.elapsed();
    let (mut wrong, mut explained) = (Vec::new(), 0);
    for ((name, litmus, expected), found) in
        tests.iter().zip(found).filter(|((.., expected), found)| *found != Some(*expected))
    {
        // If no execution is complete, Dat3M answers as if no execution satisfied the formula.
        if hangs(litmus, conventions) && *expected != litmus.condition.decided_by().1 {
            println!("{name} differs: no execution ends");
            explained += 1;
            continue;
        }
        match CONVENTIONS.iter().find(|(_, switch)| holds(litmus, switched(conventions, *switch)) == Some(*expected)) {
            Some((convention, _)) => {
                println!("{name} differs: {convention}");
                explained += 1;
            }
            None => wrong.push(format!("{name}: expected {expected}, found {found:?}")),
        }
    }
    let agreed = tests.len() - explained - wrong.len();
    println!("{}: {agreed} of {} agree, {explained} differ by convention; {time:?}", folder.display(), tests.len());
    if wrong.is_empty() && tests.len() == count { Ok(()) } else { Err(wrong.join("\n").into()) }
}

/// Each verdict is as in the table, and needs few choices.
fn defects(folder: &Path, count: usize) -> Result<(), Failed> {
    let start = Instant::now();
    let limits = Limits { choices: 500_000, ..Limits::default() };
    let answer = |name: &str| -> Result<_, Failed> {
        let text = fs::read_to_string(folder.join(name).with_extension("litmus"))?;
        let Ok(litmus) = Litmus::read(&text) else { return Ok(Err(None)) };
        let found = ptx::search::decide(&litmus.program, &litmus.condition, Conventions::MANUAL, limits);
        Ok(found.verdict.map_err(Some))
    };
    for (name, expected) in DEFECTS {
        let found = answer(name)?;
        if found != expected {
            return Err(format!("{name}: expected {expected:?}, found {found:?}").into());
        }
    }
    let there = fs::read_dir(folder)?.count();
    println!("{}: {count} of {there} are as expected; {:?}", folder.display(), start.elapsed());
    if there == count { Ok(()) } else { Err("a test that is not in the table".into()) }
}

fn switched(mut conventions: Conventions, switch: fn(&mut Conventions)) -> Conventions {
    switch(&mut conventions);
    conventions
}

/// Each convention decides one of our tests.
fn conventions_matter(folder: &Path, _: usize) -> Result<(), Failed> {
    let tests = own_tests(folder)?;
    for (convention, switch) in CONVENTIONS {
        let conventions = switched(Conventions::MANUAL, switch);
        let differ = tests.iter().filter(|litmus| holds(litmus, conventions) != Some(true));
        let names: Vec<_> = differ.map(|litmus| &litmus.name[..]).collect();
        println!("{convention}: {}", names.join(", "));
        if names.is_empty() {
            return Err(format!("{convention}: no test depends on it").into());
        }
    }
    Ok(())
}

fn own_tests(folder: &Path) -> Result<Vec<Litmus>, Failed> {
    let paths = fs::read_dir(folder)?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    paths.iter().filter(|path| path.is_file()).map(|path| read(path)).collect()
}

/// Every condition of our own tests holds.
fn own_hold(folder: &Path, _: usize) -> Result<(), Failed> {
    let tests = own_tests(folder)?;
    let wrong = tests.iter().filter(|litmus| holds(litmus, Conventions::MANUAL) != Some(true));
    let wrong: Vec<_> = wrong.map(|litmus| &litmus.name[..]).collect();
    println!("{}: {} of {} hold", folder.display(), tests.len() - wrong.len(), tests.len());
    if wrong.is_empty() && !tests.is_empty() { Ok(()) } else { Err(wrong.join("\n").into()) }
}

/// All programs can be read, and all but three are defined: in these three, a store of scope cta races with a load in
/// another CTA.
fn programs(path: &Path) -> Result<(), Failed> {
    let programs = sources(&fs::read_to_string(path)?).map_err(|error| format!("{}:{error}", path.display()))?;
    let undefined = |source: &&Source| {
        let found = source::search::outcomes(&source.program, Cpp20, Limits::default());
        assert!(found.outcomes.unknown.is_none() && !found.outcomes.states.is_empty(), "{}", source.name);
        found.race.is_some()
    };
    let names: Vec<&str> = programs.iter().filter(undefined).map(|source| &source.name[..]).collect();
    assert_eq!(names, ["MIXSCOPE-rmw-ar", "MIXSCOPE-rmw-sc", "MIXSCOPE-rmw-ar-write"]);
    Ok(())
}

/// The verdicts agree with a table by another reader of the manual. That table has no verdict for a program that hangs,
/// and calls it a race.
fn table(path: &Path) -> Result<(), Failed> {
    let text = fs::read_to_string(path)?;
    let rows: Vec<&str> = text.lines().skip(1).collect();
    let newer = PATTERNS.iter().filter(|(file, ..)| file.starts_with("mma-read-")).count();
    assert_eq!(rows.len() + newer, PATTERNS.len());
    let word = |verdict| if verdict == Expected::Ordered { "ordered" } else { "race" };
    for (row, (file, removed, strict, default)) in rows.iter().zip(PATTERNS) {
        let removed = removed.split_once(' ').map_or(String::new(), |(thread, _)| thread.replace('P', "T") + ": ");
        let verdicts = format!(",{},{}", word(strict), word(default));
        let litmus = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("litmus/async/{file}.litmus"));
        let name = Litmus::read(&fs::read_to_string(litmus)?).map_err(|error| format!("{file}:{error}"))?.name;
        let (start, end) = (row.trim_start_matches('"').starts_with(&name), row.ends_with(&verdicts));
        assert!(start && end && row.contains(&removed), "{row}: {file} without '{removed}'{verdicts}");
    }
    Ok(())
}

/// The strengthened model has the verdict of PTX on these tests.
fn strengthened_agrees(tests: &[Litmus]) -> Result<(), Failed> {
    let differ = tests.iter().filter(|of| holds(of, Conventions::STRENGTHENED) != holds(of, Conventions::MANUAL));
    let names: Vec<&str> = differ.map(|litmus| &litmus.name[..]).collect();
    if names.is_empty() { Ok(()) } else { Err(format!("expected no test, found {}", names.join(", ")).into()) }
}

/// The generated tests of cuda-litmus are the tests of the study, and the table has the verdicts of the study.
fn cuda_litmus_generated(archive: &Path) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    testing::success(Command::new("tar").arg("xzf").arg(archive).arg("-C").arg(folder.path()))?;
    let expected = fs::read_to_string(archive.with_file_name("cuda-litmus-expected.csv"))?;
    let mut expected: Vec<&str> = expected.lines().skip(1).collect();
    let tests = cuda_litmus::tests()?;
    let mut found = Vec::new();
    for test in &tests {
        let published = read(&folder.path().join(format!("tests/{}.litmus", test.name)))?;
        let generated = Litmus::read(&test.text).map_err(|error| format!("{}:{error}", test.name))?;
        // The comments differ.
        if (&published.program, &published.condition) != (&generated.program, &generated.condition) {
            return Err(format!("{}: expected\n{published}\nfound\n{generated}", test.name).into());
        }
        found.push(test.row());
    }
    expected.sort_unstable();
    found.sort_unstable();
    let differ = expected.iter().zip(&found).find(|(expected, found)| expected != found);
    println!("{} tests", tests.len());
    match differ {
        Some((expected, found)) => Err(format!("expected {expected}, found {found}").into()),
        None if expected.len() == found.len() => Ok(()),
        None => Err(format!("expected {} tests, found {}", expected.len(), found.len()).into()),
    }
}

/// The verdicts on the tests of cuda-litmus are the verdicts of NVIDIA's Alloy model and of the strengthened model, and
/// no GPU showed a forbidden outcome.
fn cuda_litmus_agrees() -> Result<(), Failed> {
    let tests = cuda_litmus::tests()?;
    let mut wrong = Vec::new();
    for cuda_litmus::Test { name, text, verdict } in &tests {
        let litmus = Litmus::read(text).map_err(|error| format!("{name}:{error}"))?;
        let found = [Conventions::MANUAL, Conventions::STRENGTHENED].map(|conventions| holds(&litmus, conventions));
        let expected = [verdict.is_allowed, verdict.is_allowed_strengthened].map(Some);
        let is_seen = verdict.seen.contains(&true);
        if found != expected || is_seen && found.contains(&Some(false)) {
            wrong.push(format!("{name}: expected {expected:?}, found {found:?}"));
        }
    }
    println!("{} of {} agree", tests.len() - wrong.len(), tests.len());
    if wrong.is_empty() && tests.len() == 1306 { Ok(()) } else { Err(wrong.join("\n").into()) }
}
