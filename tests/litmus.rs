//! `ptx-atomics litmus`: verdicts, explanations, drawings, and errors in the input.
//!
//! The output and the drawings for each file of `models/memory-model/litmus` are pinned in `snapshots/litmus`. To
//! accept a change: `INSTA_UPDATE=always cargo test -p ptx-atomics-cli --test it -- '[litmus]'`, then read the
//! difference.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use itertools::Itertools;
use libtest_mimic::{Failed, Trial};
use ptx_memory_model::{
    condition::{Atom, Formula},
    litmus::Litmus,
    outcome::{Layout, Limits},
    program::Location,
    ptx::{Conventions, Program, search},
};
use serde_json::Value;
use testing::{ptx_atomics, random, root, shared_trial, snapshot, success, trial};

type Test = fn() -> Result<(), Failed>;

pub fn trials() -> Vec<Trial> {
    let pinned = own().into_iter().map(|path| Trial::test(format!("pinned/{}", name(&path)), move || pinned(&path)));
    let suites = [("spec", 22, "manual"), ("dat3m", 146, "manual"), ("dat3m", 146, "dat3m")];
    let shared = suites.map(|(suite, count, convention)| {
        let (name, path) = (format!("shared/litmus/{suite}, {convention}"), format!("litmus/{suite}"));
        shared_trial(&name, &path, move |folder| agrees(folder, count, convention))
    });
    let tests: &[(&str, Test)] = &[
        ("each snapshot has its test", none_left),
        ("store buffering with fence.acq_rel is allowed", allowed),
        ("store buffering with fence.sc is forbidden", forbidden),
        ("every pattern holds, and fails without its orderings", examples),
        ("every pattern of asynchronous operations holds, and its mistake is a race", asynchronous_examples),
        ("races are reported, by profile", races),
        ("the guides show the command's output", guide),
        ("a convention changes a verdict", conventions),
        ("a reached limit makes a verdict unknown", limits),
        ("the command shows the first of many outcomes", many_outcomes),
        ("an unknown verdict names removable dependencies", open_dependencies),
        ("the command reports a hang", hangs),
        ("an undeclared variable is a warning", warnings),
        ("wrong usage has exit status 2", wrong_usage),
        ("each error has its position", errors),
        ("- reads standard input and writes standard output", streams),
        ("an error touches no output", an_error_touches_no_output),
        ("damaged files never panic", damaged),
        ("many files give the library's results", many),
        ("drawings are well-formed, without overlaps", drawings),
    ];
    let tests = tests.iter().map(|(name, test)| Trial::test(*name, test));
    // `dot` has no option `--version`.
    let has_graphviz = Command::new("dot").arg("-V").output().is_ok_and(|output| output.status.success());
    let graphviz = trial("graphviz draws the graphs".into(), (!has_graphviz).then_some("dot"), graphviz);
    pinned.chain(shared).chain(tests).chain([graphviz]).collect()
}

/// The litmus tests whose texts and pictures are pinned.
fn own() -> Vec<PathBuf> {
    ["models/memory-model/litmus", "examples/litmus", "examples/litmus/async"].into_iter().flat_map(files).collect()
}

/// The litmus tests in a folder of the repository, as paths from the root.
fn files(folder: &str) -> Vec<PathBuf> {
    let entries = fs::read_dir(root().join(folder)).expect(folder).map(|entry| entry.expect("a file").file_name());
    let paths = entries.map(|name| Path::new(folder).join(name));
    paths.filter(|path| path.extension().is_some_and(|extension| extension == "litmus")).sorted().collect()
}

fn name(path: &Path) -> String {
    path.file_stem().expect("a name").to_string_lossy().into_owned()
}

fn litmus() -> Command {
    let mut command = ptx_atomics();
    command.arg("litmus");
    command
}

/// Runs the command with words separated by spaces, and checks the exit status and words on standard output and error.
#[track_caller]
fn check(arguments: &str, status: i32, stdout: &[&str], stderr: &[&str]) -> Result<(), Failed> {
    let output = litmus().args(arguments.split_whitespace()).output()?;
    let (out, err) = (String::from_utf8(output.stdout)?, String::from_utf8(output.stderr)?);
    let lacks = |text: &str, words: &[&str]| words.iter().filter(|word| !text.contains(**word)).join("', '");
    let missing = lacks(&out, stdout) + &lacks(&err, stderr);
    let silent = |text: &str, words: &[&str]| words.is_empty() && !text.is_empty();
    if output.status.code() == Some(status) && missing.is_empty() && !silent(&err, stderr) {
        return Ok(());
    }
    Err(format!("litmus {arguments}: {}, lacks '{missing}':\n{out}\n{err}", output.status).into())
}

/// The objects of `--format json`, by file.
fn json(command: &mut Command) -> Result<BTreeMap<String, Value>, Failed> {
    let output = command.args(["--format", "json"]).output()?;
    let array: Vec<Value> = serde_json::from_slice(&output.stdout)?;
    let file = |object: &Value| object["file"].as_str().map(str::to_owned).ok_or("no file");
    array.into_iter().map(|object| Ok((file(&object)?, object))).collect()
}

/// Removes times, which differ from run to run.
fn without_time(text: &str) -> String {
    let line = |line: &str| match line.rsplit_once(", ") {
        Some((counts, time)) if line.starts_with("  ") && time.ends_with(" ms") => counts.to_owned(),
        _ => line.to_owned(),
    };
    text.lines().map(line).join("\n") + "\n"
}

struct Drawn {
    text: String,
    dot: String,
    svg: String,
}

fn draw(path: &Path) -> Result<Drawn, Failed> {
    let folder = tempfile::tempdir()?;
    let [dot, svg] = ["dot", "svg"].map(|name| folder.path().join(name));
    let text = success(litmus().arg(path).arg("--outcomes").arg("--dot").arg(&dot).arg("--svg").arg(&svg))?;
    Ok(Drawn { text: without_time(&text), dot: fs::read_to_string(dot)?, svg: fs::read_to_string(svg)? })
}

fn pinned(path: &Path) -> Result<(), Failed> {
    let Drawn { text, dot, svg } = draw(path)?;
    let contents = [("text", text), ("dot", dot), ("svg", svg)];
    let pin = |(kind, content): (&str, String)| {
        snapshot::pin("snapshots/litmus", &format!("{}.{kind}", name(path)), &content)
    };
    contents.into_iter().try_for_each(pin)
}

fn none_left() -> Result<(), Failed> {
    let names =
        own().iter().flat_map(|path| ["text", "dot", "svg"].map(|kind| format!("{}.{kind}", name(path)))).collect();
    snapshot::none_left("snapshots/litmus", &names)
}

/// The verdicts of Dat3M with which the command disagrees, by convention, and the reasons.
#[rustfmt::skip]
const NOT_SHARED: [(&str, &str, &str); 9] = [
    ("manual", "Barrier/quorum1-pass.litmus",      "an extra thread waits at the barrier forever"),
    ("manual", "Barrier/quorum2-pass.litmus",      "an extra thread waits at the barrier forever"),
    ("manual", "Barrier/quorum3-pass.litmus",      "an extra thread waits at the barrier forever"),
    ("manual", "Barrier/quorum4-pass.litmus",      "an extra thread waits at the barrier forever"),
    ("manual", "Barrier/quorum2-hang.litmus",      "the test hangs, and the command reports it"),
    ("dat3m",  "Barrier/quorum2-hang.litmus",      "the test hangs, and the command reports it"),
    ("manual", "Manual/Atom-minus-location_.litmus", "PTX has no `atom.sub`"),
    ("manual", "Manual/Red-minus-location_.litmus",  "PTX has no `red.acq_rel`"),
    ("manual", "Manual/Red-plus-location_.litmus",   "PTX has no `red.acq_rel`"),
];

/// The command gives the verdict of the suite for each test.
fn agrees(folder: &Path, count: usize, convention: &str) -> Result<(), Failed> {
    let found = json(litmus().arg(folder).args(["--convention", convention]))?;
    let table = fs::read_to_string(folder.join("expected.csv"))?;
    let expected: Vec<_> = table.lines().skip(1).filter_map(|line| line.rsplit_once(',')).collect();
    let differs = |(name, holds): &&(&str, &str)| {
        let path = folder.join(name).display().to_string();
        found.get(&path).and_then(|object| object["holds"].as_bool()) != Some(*holds == "1")
    };
    let wrong: BTreeSet<&str> = expected.iter().filter(differs).map(|(name, _)| *name).collect();
    println!("{}: {} verdicts, not shared: {wrong:?}", folder.display(), expected.len());
    let not_shared = NOT_SHARED.iter().filter(|(by, ..)| *by == convention && folder.ends_with("dat3m"));
    assert_eq!((expected.len(), wrong), (count, not_shared.clone().map(|(_, name, _)| *name).collect()));
    let refused = not_shared.filter(|(.., why)| why.starts_with("PTX has no")).count();
    assert_eq!(found.len(), count - refused);
    Ok(())
}

fn allowed() -> Result<(), Failed> {
    let Drawn { text, svg, .. } = draw(Path::new("models/memory-model/litmus/SB-acq_rel.litmus"))?;
    let expected = "  P0:r0  P1:r0  x  y
  0      0      1  1  *
  0      1      1  1
  1      0      1  1
  1      1      1  1

P0:r0 == 0 /\\ P1:r0 == 0 is allowed. An execution:
";
    assert!(text.contains(expected), "{text}");
    assert!(text.contains("h  P1  ld.relaxed.gpu r0, x  reads x = 0 from a\n"), "{text}");
    assert!(!text.contains("cycle") && svg.contains("is allowed") && !svg.contains("cycle"), "{text}");
    Ok(())
}

fn forbidden() -> Result<(), Failed> {
    let Drawn { text, dot, svg } = draw(Path::new("models/memory-model/litmus/SB-sc.litmus"))?;
    let expected = "
P0:r0 == 0 /\\ P1:r0 == 0 is forbidden by the axiom Causality, section 8.10.6 of the PTX manual.";
    let cycle = "
  h  P1  ld.relaxed.gpu r0, x  fr:  reads a value older than the write
  c  P0  st.relaxed.gpu x, 1   po:  precedes in program order
  d  P0  fence.sc.gpu          sc:  precedes in Fence-SC order
  g  P1  fence.sc.gpu          po:  precedes in program order
  h  P1  ld.relaxed.gpu r0, x
";
    assert!(text.contains(expected) && text.ends_with(cycle), "{text}");
    assert_eq!(dot.lines().filter(|line| line.contains("->") && line.contains("penwidth=3")).count(), 4);
    // The legend has one more such line.
    assert_eq!(svg.matches("stroke-width=\"7\"").count(), 5);
    Ok(())
}

fn examples() -> Result<(), Failed> {
    let found = json(litmus().args(files("examples/litmus")))?;
    println!("{} patterns", found.len());
    assert_eq!(found.len(), 9);
    for (file, object) in &found {
        assert_eq!(object["holds"], Value::Bool(true), "{file}");
        let text = fs::read_to_string(root().join(file))?;
        let litmus = Litmus::read(&text).map_err(|error| format!("{file}:{error}"))?;
        assert!(
            !litmus.comments.is_empty() && litmus.name == name(Path::new(file)),
            "expected a comment and the file's name in {file}"
        );
    }
    // A pattern fails without the ordering that its comment names.
    let breaks = |file: &str, from: &str, to: &str| -> Result<(), Failed> {
        let text = fs::read_to_string(root().join("examples/litmus").join(file))?;
        assert!(text.contains(from), "{file} has no `{from}`");
        let litmus = Litmus::read(&text.replace(from, to)).map_err(|error| format!("{file}:{error}"))?;
        let outcomes = search::outcomes(&litmus.program, Conventions::MANUAL, Limits::default());
        assert_eq!(outcomes.holds(&litmus.condition, &Layout::new(&litmus.program)), Some(false), "{file}: {to}");
        Ok(())
    };
    breaks("message_passing.litmus", "st.release.gpu flag", "st.relaxed.gpu flag")?;
    breaks("message_passing.litmus", "ld.acquire.gpu", "ld.acquire.cta")?;
    breaks("spinlock.litmus", "atom.acquire.gpu.cas", "atom.relaxed.gpu.cas")?;
    breaks("ticket_lock.litmus", "st.release.gpu", "st.relaxed.gpu")?;
    breaks("ticket_lock.litmus", "ld.acquire.gpu", "ld.relaxed.gpu")?;
    breaks("store_buffering.litmus", "fence.acq_rel", "fence.sc")?;
    breaks("store_buffering_sc.litmus", "fence.sc", "fence.acq_rel")?;
    breaks("cta_flag.litmus", "st.release.cta", "st.release.gpu")?;
    breaks("last_block.litmus", "| atom.relaxed", "| atom.acquire")?;
    breaks("last_block_fenced.litmus", "| fence.acq_rel.gpu", "| fence.acq_rel.cta")?;
    breaks("last_block_fenced.litmus", "fence.acq_rel.gpu                 |", "fence.acq_rel.cta                 |")?;
    breaks("cluster_flag.litmus", "(P1:r0 == 1 /\\ P1:r1 == 0)", "(P2:r0 == 1 /\\ P2:r1 == 0)")
}

/// The patterns hold in both profiles. Each pattern has a file with its most common mistake and the same condition.
fn asynchronous_examples() -> Result<(), Failed> {
    for profile in ["default", "strict"] {
        let found = json(litmus().arg("examples/litmus/async").args(["--profile", profile]))?;
        assert_eq!(found.len(), 34);
        for (file, object) in &found {
            let is_mistake = name(Path::new(file)).ends_with("_mistake");
            assert_eq!(object["holds"], Value::Bool(!is_mistake), "{file}, {profile}");
            assert_eq!(object["race"].is_object(), is_mistake, "{file}, {profile}");
            let partner =
                if is_mistake { file.replace("_mistake", "") } else { file.replace(".litmus", "_mistake.litmus") };
            assert!(found.contains_key(&partner), "{partner}");
            let text = fs::read_to_string(root().join(file))?;
            let litmus = Litmus::read(&text).map_err(|error| format!("{file}:{error}"))?;
            assert!(
                !litmus.comments.is_empty() && litmus.name == name(Path::new(file)),
                "expected a comment and the file's name in {file}"
            );
        }
    }
    Ok(())
}

/// A race names both operations with their lines, the missing edge, the section and the profile. A test with a race
/// fails under `--must-hold`.
fn races() -> Result<(), Failed> {
    let file = "models/memory-model/litmus/async/A5-proxy-fence-after-commit.litmus";
    check(file, 0, &["mma, then st.shared holds"], &[])?;
    let race = [
        "mma, then st.shared races",
        "[d], a, b, 0, 1 (P0, line 5) and st.weak a, 5 (P0, line 9) have a data race.",
        "needs a proxy fence on the path between the two accesses (section 8.9.5 of the PTX manual, profile strict). An execution:",
        "starts\n",
        "its completion\n",
        "The race in it:",
    ];
    check(&format!("{file} --profile strict"), 0, &race, &[])?;
    for reading in ["A5=strict", "a5=strict", "proxy-fence-after-commit=strict"] {
        check(&format!("{file} --reading {reading}"), 0, &["races", "profile default, A5=strict)"], &[])?;
    }
    check(&format!("{file} --profile strict --reading A5=lenient"), 0, &["holds"], &[])?;
    check(&format!("{file} --profile strict --must-hold"), 1, &["races"], &[])?;
    check(&format!("{file} --must-hold"), 0, &["holds"], &[])?;
    check(&format!("{file} --reading A99=strict"), 2, &[], &["unknown question 'A99'", "A15 (restricted-pattern)"])?;
    check(&format!("{file} --reading A5=loose"), 2, &[], &["expected strict or lenient, found 'loose'"])?;
    check(&format!("{file} --profile mine"), 2, &[], &["default, strict"])?;
    let all = "examples/litmus/async/refill.litmus examples/litmus/async/refill_mistake.litmus";
    check(all, 0, &["2 tests: 1 hold, 0 do not, 0 unknown, 1 race\n"], &[])?;
    let found = json(litmus().arg(file).args(["--profile", "strict"]))?;
    let race = &found[file]["race"];
    assert_eq!(
        (&found[file]["holds"], &race["first"]["line"], &race["second"]["line"]),
        (&false.into(), &5.into(), &9.into())
    );
    assert_eq!((&race["section"], &race["profile"]), (&"8.9.5".into(), &"strict".into()));
    // The profile has no effect on a test without asynchronous operations.
    let plain = |profile: &str| success(litmus().args(["models/memory-model/litmus/MP.litmus", "--profile", profile]));
    assert_eq!(without_time(&plain("strict")?), without_time(&plain("default")?));
    Ok(())
}

/// The guides show the output and the drawings of the command.
fn guide() -> Result<(), Failed> {
    ["docs/memory-model.md", "docs/async.md"].into_iter().try_for_each(shows)
}

fn shows(path: &str) -> Result<(), Failed> {
    let guide = fs::read_to_string(root().join(path))?;
    let blocks: Vec<&str> = guide.split("```").skip(1).step_by(2).collect();
    let console = blocks.iter().filter_map(|block| block.strip_prefix("console\n$ ptx-atomics litmus "));
    let mut count = 0;
    for block in console {
        let (arguments, shown) = block.split_once('\n').ok_or("no output")?;
        let folder = tempfile::tempdir()?;
        let mut command = litmus();
        for word in arguments.split_whitespace() {
            // The command's drawings are compared with the drawings of the guide.
            match word.strip_prefix("docs/") {
                Some(drawing) => command.arg(folder.path().join(drawing)),
                None => command.arg(word),
            };
        }
        assert_eq!(without_time(&success(&mut command)?), without_time(shown), "{arguments}");
        for drawing in fs::read_dir(folder.path())? {
            let drawing = drawing?;
            let expected = root().join("docs").join(drawing.file_name());
            if std::env::var("INSTA_UPDATE").is_ok_and(|update| update == "always") {
                fs::copy(drawing.path(), &expected)?;
            }
            assert_eq!(fs::read_to_string(drawing.path())?, fs::read_to_string(&expected)?, "{}", expected.display());
            assert!(
                guide.contains(&format!("]({})", drawing.file_name().to_string_lossy())),
                "expected the text in the guide"
            );
        }
        count += 1;
    }
    assert!(count >= 1, "{path}: {count} runs");
    let tests = blocks.iter().filter_map(|block| block.strip_prefix("ptx\n")).filter(|test| test.starts_with("PTX "));
    let copies = tests
        .filter(|test| own().iter().any(|path| fs::read_to_string(root().join(path)).is_ok_and(|text| text == **test)));
    assert!(copies.count() >= 1, "the test of the guide is one of the examples");
    Ok(())
}

fn conventions() -> Result<(), Failed> {
    check("models/memory-model/litmus/red-no-acquire.litmus", 0, &["red-no-acquire holds"], &[])?;
    check("models/memory-model/litmus/red-no-acquire.litmus --convention dat3m", 0, &["does not hold"], &[])?;
    check("models/memory-model/litmus/red-no-acquire.litmus --convention mine", 2, &[], &["manual, dat3m"])
}

/// Writes a litmus test of columns to a file.
fn write(folder: &Path, name: &str, threads: &[&[String]], condition: &str) -> Result<String, Failed> {
    let rows = threads.iter().map(|thread| thread.len()).max().unwrap_or(0);
    let header = (0..threads.len()).map(|thread| format!("P{thread}@cta {thread},gpu 0")).join(" | ");
    let row = |row: usize| threads.iter().map(|thread| thread.get(row).map_or("", |cell| cell)).join(" | ");
    let body = std::iter::once(header).chain((0..rows).map(row)).join(" ;\n");
    let path = folder.join(name).with_extension("litmus");
    fs::write(&path, format!("PTX {name}\n{{ x=0; y=0; }}\n{body} ;\n{condition}\n"))?;
    Ok(path.display().to_string())
}

fn limits() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let lines = |lines: &[&str]| lines.iter().map(ToString::to_string).collect_vec();
    let adds = lines(&["atom.relaxed.sys.add r0, x, 1"; 14]);
    let adds = write(folder.path(), "adds", &[&adds, &adds], "exists (x == 29)")?;
    let counts = lines(&["again:", "add r1, r1, 1", "ld.relaxed.gpu r0, x", "beq r0, 0, again"]);
    let sets = lines(&["st.relaxed.gpu x, 1"]);
    let rounds = write(folder.path(), "rounds", &[&counts, &sets], "exists (P0:r1 == 9)")?;
    let found = write(folder.path(), "found", &[&counts, &sets], "exists (P0:r1 == 2)")?;

    check(
        &format!("{adds} --time-limit 0.1 --choices 20000000"),
        1,
        &["adds unknown", "because the time limit is over (--time-limit)"],
        &[],
    )?;
    check(&format!("{adds} --choices 1000"), 1, &["adds unknown", "more choices than the limit (--choices)"], &[])?;
    let unknown = [
        "rounds unknown",
        "because a loop may run more iterations than the bound (--rounds)",
        "up to 4 iterations of each loop, it",
    ];
    check(&rounds, 1, &unknown, &[])?;
    check(&format!("{rounds} --rounds 10"), 0, &["rounds holds"], &[])?;
    // An outcome that the search has found holds even if the search reaches its limit.
    check(&found, 0, &["found holds", "is allowed. An execution"], &[])?;
    check(
        &format!("{rounds} --format json"),
        1,
        &["\"holds\": null"],
        &["rounds.litmus: the verdict is unknown: a loop may run more iterations than the bound"],
    )?;
    let all = format!("{} --choices 1000", folder.path().display());
    check(&all, 1, &["unknown", "adds.litmus: more choices", "3 tests: 1 hold, 0 do not, 2 unknown\n"], &[])?;
    check(&format!("{rounds} --svg none/x.svg"), 1, &["unknown"], &["cannot draw 'none/x.svg': no execution was found"])
}

const MP: &str = "models/memory-model/litmus/MP.litmus";

/// By default the command counts the outcomes and prints some; with `--all-outcomes` it prints all.
fn many_outcomes() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let adds = ["r0", "r1"].map(|register| format!("atom.relaxed.gpu.add {register}, x, 1"));
    let two: &[String] = &adds;
    let path = write(folder.path(), "adds", &[two; 4], "exists (P0:r0 == 6)")?;
    // There are 8! orders of 8 additions, and the additions of each thread keep their order.
    let first =
        ["  2520 outcomes, ", "\nOutcomes (*: P0:r0 == 6, in 90 of 2520):\n", "\n  and 2320 more (--all-outcomes)\n"];
    check(&format!("{path} --outcomes"), 0, &first, &[])?;
    let rows = |option: &str| -> Result<usize, Failed> {
        let text = success(litmus().arg(&path).arg(option))?;
        let (_, after) = text.split_once("\nOutcomes (").ok_or("no outcomes")?;
        let (_, table) = after.split_once("P0:r1").ok_or("no table")?;
        // In the end, `x` is 8 and `y` is 0.
        let is_row = |line: &&str| line.trim_end_matches([' ', '*']).ends_with("  8  0");
        Ok(table.lines().filter(is_row).count())
    };
    assert_eq!((rows("--outcomes")?, rows("--all-outcomes")?), (200, 2520));
    let few = |option: &str| Ok::<_, Failed>(without_time(&success(litmus().args([MP, option]))?));
    assert_eq!(few("--outcomes")?, few("--all-outcomes")?);
    // The outcomes of a search that reached its limit are a lower bound.
    let counts = ["again:", "add r1, r1, 1", "ld.relaxed.gpu r0, x", "beq r0, 0, again"].map(str::to_owned);
    let path = write(folder.path(), "rounds", &[&counts, &["st.relaxed.gpu x, 1".to_owned()]], "exists (P0:r1 == 9)")?;
    check(&path, 1, &["rounds unknown", "  at least 4 outcomes, "], &[])?;
    check(&format!("{path} {path}"), 1, &["unknown  at least 4 outcomes  "], &[])
}

/// Tests whose verdict is open because of their dependencies: the explanation shows the cycle. Some are handwritten,
/// and some are random.
fn open_dependencies() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let lines = |lines: &[&str]| lines.iter().map(ToString::to_string).collect_vec();
    let copy = lines(&["ld.weak r0, y", "st.weak x, r0"]);
    let open = |name: &str, code: &[&str], which: &str| {
        let path = write(folder.path(), name, &[&lines(code), &copy], "exists (P0:r0 == 1)")?;
        let said = format!(
            "P0:r0 == 1 is allowed is unknown: only dependencies that an implementation may optimize away forbid it (section 8.10.4): {which}. An execution with it would be:"
        );
        let cycle = [
            "open dependency:  gives a value that may or may not decide\n",
            "  dependency:       gives a value that decides\n",
        ];
        check(&path, 1, &[&[&*said], &cycle[..]].concat(), &[])
    };
    let arms = ["ld.weak r0, x", "beq r0, 0, other", "st.weak y, 1", "bra end", "other: st.weak y, 1", "end:"];
    open("arms", &arms, "of st.weak y, 1 (P0, line 6) on ld.weak r0, x (P0, line 4)")?;
    // The values of this dependency are not known either.
    let masked = ["ld.weak r0, x", "and r1, r0, 2", "or r1, r1, 1", "st.weak y, r1"];
    open("masked", &masked, "of st.weak y, r1 (P0, line 7) on ld.weak r0, x (P0, line 4)")?;

    let mut found = 0;
    for seed in 0..2000 {
        let mut litmus = random::litmus(random::program(seed));
        let outcomes = search::outcomes(&litmus.program, Conventions::MANUAL, Limits::default());
        let (None, Some(state)) = (outcomes.unknown, outcomes.speculative.iter().next()) else { continue };
        litmus.condition.formula = is(&litmus.program, state);
        let path = folder.path().join(format!("{seed}.litmus"));
        fs::write(&path, litmus.to_string())?;
        let words = ["forbid it (section 8.10.4): of ", ". An execution with it would be:", "The cycle in it:"];
        check(&path.display().to_string(), 1, &words, &[])?;
        found += 1;
    }
    println!("{found} of 2000 random tests");
    assert!(found > 5, "{found}");
    Ok(())
}

/// The formula that is true if and only if a program ends in a state.
fn is(program: &Program, state: &[u64]) -> Formula {
    let layout = Layout::new(program);
    let registers = layout.registers().iter().map(|&(thread, register)| Atom::Register { thread, register });
    let locations = (0..program.locations.len()).map(|index| Location(index as u16));
    let locations = locations.filter(|location| program.physical(*location) == *location).map(Atom::Location);
    let equal = registers.chain(locations).zip(state).map(|(atom, value)| Formula::Equal(atom, Atom::Value(*value)));
    equal.reduce(|a, b| Formula::And(Box::new(a), Box::new(b))).unwrap_or(Formula::True)
}

fn hangs() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("hang.litmus");
    let text =
        "PTX hang\n{ x=0; }\nP0@cta 0 | P1@cta 0 ;\nbar.sync 0, 3 | bar.sync 0, 3 ;\nmov r0, 1 | st.weak x, 1;\n";
    for condition in ["forall (P0:r0 == 1)", "exists (x == 0)", "~exists (x == 1)"] {
        fs::write(&path, format!("{text}{condition}\n"))?;
        let path = path.display();
        check(
            &path.to_string(),
            1,
            &["hang hangs\n  because the program hangs", "0 outcomes", "No execution ends: in each, a thread waits"],
            &[],
        )?;
        check(&format!("{path} --format json"), 1, &["\"holds\": null"], &["the program hangs"])?;
        check(&format!("{path} {path}"), 1, &["hangs", "2 tests: 0 hold, 0 do not, 0 unknown, 2 hang\n"], &[])?;
    }
    Ok(())
}

fn warnings() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("w.litmus");
    fs::write(&path, "PTX w\n{ }\nP0 ;\nst.weak x, 1 ;\nexists (x == 1)\n")?;
    check(&path.display().to_string(), 0, &["w holds"], &["w.litmus:4:1: `x` is not declared, and begins as 0\n"])
}

fn wrong_usage() -> Result<(), Failed> {
    check("", 2, &[], &["<FILE>..."])?;
    check("models/memory-model/litmus --svg x.svg", 2, &[], &["--dot and --svg draw one test, not "])?;
    check(
        "models/memory-model/litmus --format json --outcomes",
        2,
        &[],
        &["--outcomes, --all-outcomes and --explain are for"],
    )?;
    check("models/memory-model/litmus --format json --all-outcomes", 2, &[], &["are for --format text"])?;
    check("x --time-limit=-1", 2, &[], &["expected seconds"])?;
    check("x --time-limit NaN", 2, &[], &["expected seconds, from 0 to 1000000000"])?;
    check("x --time-limit 1e300", 2, &[], &["expected seconds"])?;
    check("x --rounds 0", 2, &[], &["0 is not in 1.."])?;
    check("x --choices many", 2, &[], &["--choices"])
}

fn errors() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let file = |name: &str, bytes: &[u8]| {
        let path = folder.path().join(name);
        fs::write(&path, bytes).map(|()| path.display().to_string())
    };
    let release = file("a.litmus", b"PTX t\n{ x=0; }\n P0@cta 0 ;\n ld.release.gpu r0, x ;\nexists (x == 0)\n")?;
    let variable = file("b.litmus", b"PTX t\n{ x=0; }\n P0@cta 0 ;\n st.weak x, 1 ;\nexists (y == 0)\n")?;
    let bytes = file("c.litmus", b"PTX \xff\xfe")?;
    let other = file("d.txt", b"X86 SB\n")?;
    let empty = file("e.litmus", b"")?;
    let good = "models/memory-model/litmus/MP.litmus";
    let sub = folder.path().join("sub");
    fs::create_dir(&sub)?;
    check(
        &format!("{release} {good} {variable} {bytes} {other} {empty} none.litmus {}", sub.display()),
        1,
        &["holds", good, "7 tests: 1 hold, 0 do not, 0 unknown, 6 with errors"],
        &[
            "error: PTX has no `ld.release`",
            "a.litmus:4:2\n",
            "4 |  ld.release.gpu r0, x ;\n  |  ^^^^^^^^^^^^^^",
            "error: the test has no variable `y`",
            "b.litmus:5:9\n",
            "c.litmus' is not text",
            "error: a litmus test begins with `PTX` and its name",
            "d.txt:1:1\n",
            "cannot read 'none.litmus': No such file",
            "sub' has no litmus tests",
        ],
    )?;
    let accent = file("f.litmus", "PTX t\n\"é\" { x=0; y=0; x=1; }".as_bytes())?;
    check(&accent, 1, &[], &["f.litmus:2:17\n", "2 | \"é\" { x=0; y=0; x=1; }\n  |                 ^"])?;
    // The array has the valid tests and nothing else.
    let found = json(litmus().args([&release, good, &variable]))?;
    assert_eq!(found.keys().collect_vec(), [good]);
    let keys = found[good].as_object().ok_or("no object")?.keys().cloned().collect_vec();
    assert_eq!(keys, ["candidates", "file", "holds", "ms", "name", "outcomes"]);
    check(&format!("{release} --format json"), 1, &["[]"], &["PTX has no `ld.release`"])
}

fn streams() -> Result<(), Failed> {
    let mut child = litmus().arg("-").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
    child.stdin.take().ok_or("no stdin")?.write_all(&fs::read(root().join("models/memory-model/litmus/MP.litmus"))?)?;
    let output = child.wait_with_output()?;
    let text = String::from_utf8(output.stdout)?;
    assert!(output.status.success() && text.starts_with("<stdin>: MP holds\n"), "{text}");
    let svg = success(litmus().args(["models/memory-model/litmus/MP.litmus", "--svg", "-"]))?;
    assert!(!read_picture(&svg)?.edges.is_empty());
    // With many files, the command prints no progress if standard error is not a terminal.
    // The file about question A14 holds by its other answer alone.
    check("models/memory-model/litmus examples/litmus", 0, &[" hold, 1 do not, 0 unknown, "], &[])?;
    check(
        "models/memory-model/litmus/MP.litmus examples/litmus/cta_flag.litmus --explain --outcomes",
        0,
        &["fr:", "is allowed"],
        &[],
    )
}

fn an_error_touches_no_output() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let svg = folder.path().join("out.svg");
    fs::write(&svg, "before")?;
    check(&format!("none.litmus --svg {}", svg.display()), 1, &[], &["cannot read"])?;
    assert_eq!(fs::read_to_string(&svg)?, "before");
    check("models/memory-model/litmus/MP.litmus --svg none/out.svg", 1, &["holds"], &["cannot write 'none/out.svg'"])?;
    check(
        "models/memory-model/litmus/MP.litmus --svg /dev/full",
        1,
        &["holds"],
        &["cannot write '/dev/full': No space left"],
    )
}

/// Random numbers from a seed.
fn xorshift(mut seed: u64) -> impl FnMut(usize) -> usize {
    move |below| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed as usize % below
    }
}

/// Files with bytes removed, overwritten or doubled: each gives a verdict or an error, and no panic.
fn damaged() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let mut random = xorshift(0x9E37_79B9_7F4A_7C15);
    let originals: Vec<_> =
        files("models/memory-model/litmus").into_iter().map(|path| fs::read(root().join(path))).try_collect()?;
    for index in 0..1500 {
        let mut bytes = originals[random(originals.len())].clone();
        for _ in 0..=random(3) {
            let from = random(bytes.len());
            let to = (from + random(12)).min(bytes.len());
            match random(3) {
                0 => drop(bytes.drain(from..to)),
                1 => bytes[from] = b"{}|;@~:.[]()/=0P \xff"[random(18)],
                _ => bytes.splice(from..from, bytes[from..to].to_vec()).for_each(drop),
            }
        }
        fs::write(folder.path().join(format!("{index}.litmus")), bytes)?;
    }
    let run = |format: &[&str]| litmus().arg(folder.path()).args(["--choices", "100000"]).args(format).output();
    let output = run(&["--format", "json"])?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    let judged = serde_json::from_slice::<Vec<Value>>(&output.stdout)?.len();
    // A file with a verdict may have warnings.
    let of_errors: String = stderr.lines().filter(|line| !line.starts_with("warning: ")).collect();
    let errors = (0..1500).filter(|index| of_errors.contains(&format!("/{index}.litmus"))).count();
    println!("{judged} judged, {errors} errors");
    assert_eq!(
        (output.status.code(), judged + errors, stderr.contains("panicked")),
        (Some(1), 1500, false),
        "{stderr}"
    );
    assert!(judged > 200 && errors > 200, "{judged} judged, {errors} errors");
    let output = run(&["--explain", "--outcomes"])?;
    assert!(output.status.code() == Some(1) && !String::from_utf8_lossy(&output.stderr).contains("panicked"));
    Ok(())
}

/// One run on generated programs, on all cores, gives the results of the library on each program.
fn many() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let path = |seed: u64| folder.path().join(format!("{seed}.litmus"));
    let tests = (0..3000).map(|seed| (seed, random::litmus(random::program(seed)))).collect_vec();
    tests.iter().try_for_each(|(seed, litmus)| fs::write(path(*seed), litmus.to_string()))?;
    let found = json(litmus().args(tests.iter().map(|(seed, _)| path(*seed))))?;
    assert_eq!(found.len(), tests.len());
    for (seed, litmus) in &tests {
        let outcomes = search::outcomes(&litmus.program, Conventions::MANUAL, Limits::default());
        let holds = outcomes.holds(&litmus.condition, &Layout::new(&litmus.program));
        let object = &found[&path(*seed).display().to_string()];
        let expected = (Value::from(holds), Value::from(outcomes.states.len()), Value::from(outcomes.candidates));
        assert_eq!(
            (&object["holds"], &object["outcomes"], &object["candidates"]),
            (&expected.0, &expected.1, &expected.2)
        );
    }
    // The results are in the order of the arguments, with any number of threads.
    let files = tests[..300].iter().map(|(seed, _)| path(*seed)).rev().collect_vec();
    let order = |threads: &str| -> Result<Vec<Value>, Failed> {
        let text = success(litmus().args(&files).args(["--format", "json"]).env("RAYON_NUM_THREADS", threads))?;
        let mut objects: Vec<Value> = serde_json::from_str(&text)?;
        objects.iter_mut().for_each(|object| object["ms"] = Value::Null);
        Ok(objects)
    };
    assert_eq!(order("1")?, order("8")?);
    let names = order("8")?.iter().map(|object| object["file"].as_str().unwrap_or_default().to_owned()).collect_vec();
    assert_eq!(names, files.iter().map(|file| file.display().to_string()).collect_vec());
    Ok(())
}

type Point = (f64, f64);

/// A horizontal or vertical line, from its left or upper end.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Segment(Point, Point);

/// The elements of a drawing, read back from its XML.
#[derive(Default)]
struct Picture {
    size: Point,
    /// Left, top, right, bottom.
    boxes: Vec<[f64; 4]>,
    /// The segments of each edge.
    edges: Vec<Vec<Segment>>,
    /// Boxes around the names of edges.
    names: Vec<[f64; 4]>,
    /// The right ends of all text.
    texts: Vec<f64>,
}

fn read_picture(svg: &str) -> Result<Picture, Failed> {
    let document = roxmltree::Document::parse(svg)?;
    let mut picture = Picture::default();
    let number = |node: &roxmltree::Node, name: &str| node.attribute(name).and_then(|text| text.parse::<f64>().ok());
    let size = |name| number(&document.root_element(), name).ok_or("no size");
    picture.size = (size("width")?, size("height")?);
    for node in document.descendants() {
        let at = |name: &str| number(&node, name).unwrap_or(0.0);
        let width =
            node.text().unwrap_or_default().chars().count() as f64 * number(&node, "font-size").unwrap_or(12.0) * 0.61;
        match node.tag_name().name() {
            "rect" if node.attribute("rx") == Some("4") => {
                picture.boxes.push([at("x"), at("y"), at("x") + at("width"), at("y") + at("height")]);
            }
            "polyline" if node.attribute("marker-end").is_some() => {
                let point = |text: &str| {
                    let (x, y) = text.split_once(',')?;
                    Some((x.parse::<f64>().ok()?, y.parse::<f64>().ok()?))
                };
                let points = node.attribute("points").unwrap_or_default().split(' ').filter_map(point);
                let segment = |(a, b): (Point, Point)| if a <= b { Segment(a, b) } else { Segment(b, a) };
                picture.edges.push(points.tuple_windows().map(segment).collect());
            }
            "text" if node.attribute("font-size") == Some("10") => {
                let left = if node.attribute("text-anchor") == Some("end") { at("x") - width } else { at("x") };
                picture.names.push([left, at("y") - 8.0, left + width, at("y")]);
            }
            "text" if node.attribute("text-anchor").is_none() => picture.texts.push(at("x") + width),
            _ => {}
        }
    }
    Ok(picture)
}

/// Whether the interiors of two boxes intersect.
fn overlap(a: [f64; 4], b: [f64; 4]) -> bool {
    a[0] < b[2] - 0.2 && b[0] < a[2] - 0.2 && a[1] < b[3] - 0.2 && b[1] < a[3] - 0.2
}

/// The errors in the layout of a drawing.
fn flaws(picture: &Picture) -> Vec<String> {
    let mut flaws = Vec::new();
    let mut flaw = |what: &str, where_: &dyn std::fmt::Debug| flaws.push(format!("{what}: {where_:?}"));
    let segment_box = |Segment(a, b): Segment| [a.0 - 0.3, a.1 - 0.3, b.0 + 0.3, b.1 + 0.3];
    for [a, b] in picture.boxes.iter().array_combinations().filter(|[a, b]| overlap(**a, **b)) {
        flaw("two instructions overlap", &(a, b));
    }
    for [a, b] in picture.names.iter().array_combinations().filter(|[a, b]| overlap(**a, **b)) {
        flaw("two names overlap", &(a, b));
    }
    let segments =
        picture.edges.iter().enumerate().flat_map(|(edge, segments)| segments.iter().map(move |s| (edge, *s)));
    let segments = segments.collect_vec();
    for (_, segment) in &segments {
        let crosses = |rectangle: &&[f64; 4]| {
            let [left, top, right, bottom] = **rectangle;
            overlap(segment_box(*segment), [left + 0.5, top + 0.5, right - 0.5, bottom - 0.5])
        };
        picture
            .boxes
            .iter()
            .filter(crosses)
            .for_each(|rectangle| flaw("an edge crosses an instruction", &(segment, rectangle)));
        if segment.0.0 != segment.1.0 && segment.0.1 != segment.1.1 {
            flaw("an edge is oblique", segment);
        }
        if segment.0.0 < 0.0 || segment.1.0 > picture.size.0 || segment.1.1 > picture.size.1 {
            flaw("an edge leaves the picture", segment);
        }
    }
    for [(a, first), (b, second)] in segments.iter().array_combinations() {
        let length = |Segment(from, to): &Segment| (to.0 - from.0) + (to.1 - from.1);
        let collinear = |axis: fn(Point) -> (f64, f64)| {
            let [f0, f1, s0, s1] = [first.0, first.1, second.0, second.1].map(axis);
            f0.1 == f1.1 && s0.1 == s1.1 && (f0.1 - s0.1).abs() < 1.0 && f0.0.max(s0.0) < f1.0.min(s1.0) - 1.0
        };
        if a != b && length(first) > 0.0 && length(second) > 0.0 && (collinear(|p| p) || collinear(|p| (p.1, p.0))) {
            flaw("two edges overlap", &(first, second));
        }
    }
    for end in picture.texts.iter().chain(picture.boxes.iter().map(|rectangle| &rectangle[2])) {
        if *end > picture.size.0 {
            flaw("text leaves the picture", end);
        }
    }
    flaws
}

/// The text outside of the strings of graphviz's language. Each string becomes `$`.
fn outside_strings(dot: &str) -> Option<String> {
    let (mut outside, mut rest) = (String::new(), dot);
    while let Some((before, string)) = rest.split_once('"') {
        let escaped = |index: &usize| string[..*index].bytes().rev().take_while(|&byte| byte == b'\\').count() % 2 == 1;
        let end = string.match_indices('"').map(|(index, _)| index).find(|index| !escaped(index))?;
        outside.extend([before, "$"]);
        rest = &string[end + 1..];
    }
    Some(outside + rest)
}

fn drawings() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let random = (0..150).step_by(testing::stride(3)).map(|seed| {
        let path = folder.path().join(format!("{seed}.litmus"));
        fs::write(&path, random::litmus(random::program(seed)).to_string()).map(|()| path)
    });
    let strange = folder.path().join("strange.litmus");
    fs::write(&strange, "PTX <&> \"quoted\" \u{1}]]> \\ é\n{ x=0; }\nP0@cta 0;\nst.weak x, 1;\nexists (x == 1")?;
    let mut long = fs::OpenOptions::new().append(true).open(&strange)?;
    long.write_all((" \\/ x == 12345".repeat(50) + ")\n").as_bytes())?;
    let own = files("models/memory-model/litmus").into_iter().chain(files("examples/litmus")).map(Ok);
    let paths: Vec<PathBuf> = own.chain(random).chain([Ok(strange)]).try_collect()?;
    let (mut boxes, mut edges) = (0, 0);
    for path in &paths {
        let Drawn { svg, dot, .. } = draw(path)?;
        let picture = read_picture(&svg).map_err(|error| format!("{}: {error:?}", path.display()))?;
        let flaws = flaws(&picture);
        assert!(flaws.is_empty(), "{}:\n{}", path.display(), flaws.join("\n"));
        // Both drawings have the same edges and instructions.
        assert_eq!(
            picture.edges.len(),
            dot.lines().filter(|line| line.contains("-> ") && !line.contains("invis")).count(),
            "{}",
            path.display()
        );
        assert_eq!(picture.boxes.len(), dot.matches("[label=\"").count(), "{}", path.display());
        let outside = outside_strings(&dot).ok_or("a string has no end")?;
        assert_eq!(outside.matches('{').count(), outside.matches('}').count(), "{dot}");
        assert!(outside.chars().all(|c| c.is_ascii_alphanumeric() || " \n{}[]=,;->_$".contains(c)), "{outside}");
        assert!(outside.split('$').skip(1).all(|next| next.starts_with([' ', ',', ';', ']'])), "{outside}");
        boxes += picture.boxes.len();
        edges += picture.edges.len();
    }
    println!("{} drawings, {boxes} instructions, {edges} edges", paths.len());
    assert!(boxes > 500 / testing::stride(2) && edges > 1000 / testing::stride(2));
    let again = |path: &PathBuf| Ok::<_, Failed>((draw(path)?.svg, draw(path)?.dot));
    assert_eq!(again(&paths[0])?, again(&paths[0])?);
    Ok(())
}

fn graphviz() -> Result<(), Failed> {
    for path in files("models/memory-model/litmus") {
        let mut child = Command::new("dot").arg("-Tsvg").stdin(Stdio::piped()).stdout(Stdio::piped()).spawn()?;
        child.stdin.take().ok_or("no stdin")?.write_all(draw(&path)?.dot.as_bytes())?;
        let output = child.wait_with_output()?;
        assert!(output.status.success(), "{}", path.display());
        roxmltree::Document::parse_with_options(
            &String::from_utf8(output.stdout)?,
            roxmltree::ParsingOptions { allow_dtd: true, ..Default::default() },
        )?;
    }
    Ok(())
}
