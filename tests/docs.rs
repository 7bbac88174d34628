//! The documents: their links are not broken, the book has every chapter, and the commands, options and files that they
//! name exist.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs, iter,
    path::{Component, Path, PathBuf},
    process::Command,
};

use libtest_mimic::{Failed, Trial};
use ptx_lowering::{Change, Strategy};
use pulldown_cmark::{CodeBlockKind, Event, Options, Parser, Tag, TagEnd};
use strum::IntoEnumIterator;
use testing::{ptx_atomics, success};
use walkdir::WalkDir;

pub fn trials() -> Vec<Trial> {
    let trials = [
        Trial::test("links have targets", || check(links)),
        Trial::test("images have descriptions", || check(images)),
        Trial::test("the book has every chapter", || check(chapters)),
        Trial::test("commands have the shown options", || check(options)),
        Trial::test("named files exist", || check(files)),
        Trial::test("documents explain strategies and changes", || check(names)),
        Trial::test("one document has the times of commands", || check(times)),
        Trial::test("the actions for GitHub take the inputs that they use", || {
            ["", "actions/check"].into_iter().try_for_each(action)
        }),
        Trial::test("scripts/scoreboard draws the picture and table of its page", drawn),
        Trial::test("scripts/patterns makes the chapter and its drawings", patterns),
    ];
    trials.into()
}

/// An `action.yml` declares every input that it uses and uses every input that it declares. Its scripts are valid bash,
/// and exist.
fn action(folder: &str) -> Result<(), Failed> {
    let text = fs::read_to_string(root().join(folder).join("action.yml"))?;
    let (declared, steps) = text.split_once("\nruns:\n").ok_or("no steps")?;
    let used: BTreeSet<_> = steps.split("inputs.").skip(1).filter_map(|rest| rest.split([' ', '}']).next()).collect();
    let is_name = |line: &&str| line.starts_with("  ") && !line.starts_with("   ");
    let (_, declared) = declared.split_once("\ninputs:\n").ok_or("no inputs")?;
    let declared: BTreeSet<_> =
        declared.lines().filter(is_name).map(|line| line.trim().trim_end_matches(':')).collect();
    assert_eq!(used, declared);
    for block in steps.split("      run: |\n").skip(1) {
        let script: String =
            block.lines().take_while(|line| line.starts_with("        ")).map(|line| format!("{line}\n")).collect();
        success(Command::new("bash").args(["-n", "-c", &script]))?;
    }
    let scripts = steps.split("github.action_path }}/").skip(1).filter_map(|rest| rest.split_whitespace().next());
    let missing: Vec<_> = scripts.filter(|script| !root().join(folder).join(script).exists()).collect();
    assert!(missing.is_empty(), "no {missing:?}");
    Ok(())
}

/// No document except the one that `scripts/times` writes names the time of a script.
fn times(documents: &[Document], found: &mut CheckedItems) -> Result<(), Failed> {
    const PLACES: [&str; 2] = ["docs/evidence", "CHANGELOG.md"];
    for document in documents.iter().filter(|document| !PLACES.iter().any(|place| document.path.starts_with(place))) {
        let text = fs::read_to_string(root().join(&document.path))?;
        for (line, number) in text.lines().zip(1..) {
            if ["scripts/test", "scripts/try", "scripts/lower", "scripts/quick", ".ci/run"]
                .iter()
                .any(|name| line.contains(name))
            {
                let names_time = line
                    .split(|c: char| !c.is_alphabetic())
                    .any(|word| ["minute", "minutes", "hour", "hours"].contains(&word));
                found.add(
                    document,
                    number,
                    names_time.then(|| format!("expected no time of a command, found: {line}")),
                );
            }
        }
    }
    Ok(())
}

/// The number of checked items, and the faults found.
#[derive(Default)]
struct CheckedItems {
    count: usize,
    wrong: Vec<String>,
}

impl CheckedItems {
    fn add(&mut self, document: &Document, line: usize, wrong: Option<String>) {
        self.count += 1;
        self.wrong.extend(wrong.map(|wrong| format!("{}:{line}: {wrong}", document.path.display())));
    }
}

/// Reports all faults. A check of nothing is also a fault.
fn check(of: fn(&[Document], &mut CheckedItems) -> Result<(), Failed>) -> Result<(), Failed> {
    let mut found = CheckedItems::default();
    of(&documents()?, &mut found)?;
    match found {
        CheckedItems { count: 0, .. } => Err("expected something to check".into()),
        CheckedItems { wrong, .. } if wrong.is_empty() => Ok(()),
        CheckedItems { wrong, .. } => Err(wrong.join("\n").into()),
    }
}

/// A Markdown file; its path is relative to the repository. Its elements have their line numbers.
#[derive(Default)]
struct Document {
    path: PathBuf,
    anchors: BTreeSet<String>,
    links: Vec<(usize, String)>,
    /// The description of each image.
    images: Vec<(usize, String)>,
    /// Inline code.
    code: Vec<(usize, String)>,
    /// Commands for the reader.
    commands: Vec<(usize, String)>,
}

/// The folder of the book.
const BOOK: &str = "docs";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("the command is two folders below the repository")
}

/// Whether a file or folder is a source, and not a result of a build or download.
fn is_source(name: &str) -> bool {
    !name.starts_with('.') && name != "target"
}

fn documents() -> Result<Vec<Document>, Failed> {
    let walk = WalkDir::new(root()).min_depth(1).sort_by_file_name().into_iter();
    let mut documents = Vec::new();
    for entry in walk.filter_entry(|entry| is_source(&entry.file_name().to_string_lossy())) {
        let path = entry?.into_path();
        if path.extension().is_some_and(|extension| extension == "md") {
            documents.push(read(path.strip_prefix(root())?, &fs::read_to_string(&path)?));
        }
    }
    Ok(documents)
}

fn read(path: &Path, text: &str) -> Document {
    let mut document = Document { path: path.to_owned(), ..Document::default() };
    // The text of the current heading, image or code block.
    let mut inside = String::new();
    let mut is_console = false;
    for (event, range) in Parser::new_ext(text, Options::ENABLE_TABLES).into_offset_iter() {
        let line = 1 + text[..range.start].matches('\n').count();
        match event {
            Event::Start(Tag::Link { dest_url, .. }) => document.links.push((line, dest_url.into_string())),
            Event::Start(Tag::Image { dest_url, .. }) => {
                document.links.push((line, dest_url.into_string()));
                inside.clear();
            }
            Event::End(TagEnd::Image) => document.images.push((line, inside.trim().to_owned())),
            Event::Start(Tag::Heading { .. }) => inside.clear(),
            Event::End(TagEnd::Heading(_)) => {
                let name = anchor(&inside);
                let mut names = iter::once(name.clone()).chain((1..).map(|number| format!("{name}-{number}")));
                document.anchors.extend(names.find(|name| !document.anchors.contains(name)));
            }
            Event::Start(Tag::CodeBlock(kind)) => {
                is_console = matches!(kind, CodeBlockKind::Fenced(language) if &*language == "console");
                inside.clear();
            }
            Event::End(TagEnd::CodeBlock) if is_console => {
                document.commands.extend(typed(&inside).map(|(below, command)| (line + 1 + below, command)));
            }
            Event::Code(code) => {
                inside.push_str(&code);
                document.code.push((line, code.into_string()));
            }
            Event::Text(text) => inside.push_str(&text),
            _ => {}
        }
    }
    document
}

/// The anchor of a heading, on GitHub and in mdBook.
fn anchor(heading: &str) -> String {
    let kept = heading.chars().filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'));
    kept.flat_map(char::to_lowercase).map(|c| if c == ' ' { '-' } else { c }).collect()
}

/// The commands after prompts with their line numbers. A command is in one line, without its comment.
fn typed(console: &str) -> impl Iterator<Item = (usize, String)> {
    let joined = |start: usize| {
        let lines = console.lines().skip(start);
        let parts = lines.scan(true, |goes_on, line| {
            goes_on.then(|| {
                *goes_on = line.ends_with('\\');
                line.trim_end_matches('\\')
            })
        });
        let command = parts.collect::<String>();
        command.split(" # ").next().unwrap_or_default().trim().to_owned()
    };
    let prompts = console.lines().enumerate().filter(|(_, line)| line.starts_with("$ "));
    prompts.map(move |(number, _)| (number, joined(number)[2..].to_owned()))
}

/// A path without `.` and `..`; `None` if it leaves the repository.
fn normal(path: &Path) -> Option<PathBuf> {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => normal.push(name),
            Component::CurDir => {}
            Component::ParentDir => normal.pop().then_some(())?,
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(normal)
}

fn links(documents: &[Document], found: &mut CheckedItems) -> Result<(), Failed> {
    let anchors: BTreeMap<&Path, _> = documents.iter().map(|document| (&*document.path, &document.anchors)).collect();
    let wrong = |document: &Document, link: &str| {
        let (path, fragment) = link.split_once('#').map_or((link, None), |(path, name)| (path, Some(name)));
        let folder = document.path.parent().unwrap_or(Path::new(""));
        let target = if path.is_empty() { document.path.clone() } else { folder.join(path) };
        let Some(target) = normal(&target).filter(|target| root().join(target).exists()) else {
            return Some(format!("expected the file {path}"));
        };
        // In the book, links to Markdown must lead to its chapters.
        let leaves = |path: &Path| !path.starts_with(BOOK) && path.extension().is_some_and(|end| end == "md");
        if document.path.starts_with(BOOK) && leaves(&target) {
            return Some(format!("{path} is not a chapter of the book: link to its folder"));
        }
        let known = |name: &str| anchors.get(&*target).is_some_and(|anchors| anchors.contains(name));
        // The fragment of an interactive page may hold the fields of a query.
        fragment
            .filter(|name| !name.contains('=') && !known(name))
            .map(|name| format!("{} has no heading #{name}", target.display()))
    };
    for document in documents {
        for (line, link) in document.links.iter().filter(|(_, link)| !link.contains("://")) {
            found.add(document, *line, wrong(document, link));
        }
    }
    Ok(())
}

fn images(documents: &[Document], found: &mut CheckedItems) -> Result<(), Failed> {
    for document in documents {
        for (line, description) in &document.images {
            found.add(document, *line, description.is_empty().then(|| "an image without a description".to_owned()));
        }
    }
    Ok(())
}

fn chapters(documents: &[Document], found: &mut CheckedItems) -> Result<(), Failed> {
    let settings = fs::read_to_string(root().join(BOOK).join("book.toml"))?;
    assert!(settings.lines().any(|line| line == r#"src = ".""#), "the chapters are beside book.toml:\n{settings}");
    let is_summary = |document: &&Document| document.path == Path::new(BOOK).join("SUMMARY.md");
    let summary = documents.iter().find(is_summary).ok_or("the book has no SUMMARY.md")?;
    let listed = |chapter: &Document| {
        let is_chapter = |(_, link): &&(usize, String)| Path::new(BOOK).join(link) == chapter.path;
        summary.links.iter().filter(is_chapter).count()
    };
    // `links` checks that the file of each chapter exists.
    for chapter in documents.iter().filter(|document| document.path.starts_with(BOOK) && !is_summary(document)) {
        let times = listed(chapter);
        found.add(chapter, 1, (times != 1).then(|| format!("SUMMARY.md lists the chapter {times} times")));
    }
    Ok(())
}

/// The options of a subcommand, from its help; `None` if the subcommand does not exist.
fn read_options(subcommand: &str) -> Result<Option<BTreeSet<String>>, Failed> {
    let output = Command::new(env!("CARGO_BIN_EXE_ptx-atomics")).args([subcommand, "--help"]).output()?;
    let help = String::from_utf8(output.stdout)?;
    let words = help.split(|c: char| c.is_whitespace() || c == ',').filter(|word| word.starts_with('-'));
    Ok(output.status.success().then(|| words.map(str::to_owned).collect()))
}

fn options(documents: &[Document], found: &mut CheckedItems) -> Result<(), Failed> {
    let mut helps = BTreeMap::new();
    for document in documents {
        for (line, code) in document.commands.iter().chain(&document.code) {
            let Some(arguments) = code.strip_prefix("ptx-atomics ") else { continue };
            // Another command follows `--`.
            let ends = |word: &str| matches!(word, "|" | "<" | ">" | ";" | "--");
            let mut words = arguments.split_whitespace().take_while(|word| !ends(word));
            let Some(subcommand) = words.next().filter(|word| !word.starts_with('-')) else { continue };
            if !helps.contains_key(subcommand) {
                helps.insert(subcommand, read_options(subcommand)?);
            }
            let Some(known) = &helps[subcommand] else {
                found.add(document, *line, Some(format!("expected the command `ptx-atomics {subcommand}`")));
                continue;
            };
            let shown = words.map(|word| word.trim_matches(['[', ']'])).filter(|word| word.len() > 1);
            for word in shown.filter(|word| word.starts_with('-')) {
                // The value may be part of the same word: --strategy=fence, -O2.
                let name = if word.starts_with("--") { word.split('=').next().unwrap_or(word) } else { &word[..2] };
                let wrong = (!known.contains(name)).then(|| format!("`ptx-atomics {subcommand}` has no {name}"));
                found.add(document, *line, wrong);
            }
        }
    }
    Ok(())
}

/// Checks words that begin with a folder of the repository. Examples and patterns are not file names.
fn files(documents: &[Document], found: &mut CheckedItems) -> Result<(), Failed> {
    let mut folders = BTreeSet::new();
    for entry in fs::read_dir(root())? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        if entry.file_type()?.is_dir() && is_source(&name) {
            folders.insert(name);
        }
    }
    let is_path = |word: &&str| {
        let folder = word.split_once('/').is_some_and(|(folder, _)| folders.contains(folder));
        folder && !word.contains(['*', '<', '{', '$', ':', '…'])
    };
    for document in documents {
        // The map of the code names a folder and, indented below it, its files.
        let mut folder = root().to_owned();
        for (line, code) in document.commands.iter().chain(&document.code) {
            let is_indented = code.starts_with(' ');
            for word in code.split(|c: char| c.is_whitespace() || "'\"=,;()".contains(c)).filter(is_path) {
                let path = if is_indented { folder.join(word) } else { root().join(word) };
                found.add(document, *line, (!path.exists()).then(|| format!("expected the file {word}")));
                if !is_indented && path.is_dir() {
                    folder = path;
                }
            }
        }
    }
    Ok(())
}

/// `scripts/scoreboard --draw`, run in a copy, gives the page in the repository.
fn drawn() -> Result<(), Failed> {
    let copy = tempfile::tempdir()?;
    let scripts = ["scoreboard", "scoreboard_page.py", "scoreboard_reference.py", "scoreboard_sass.py", "sass.py"]
        .map(|name| format!("scripts/{name}"));
    let drawn = ["docs/scoreboard.md", "docs/scoreboard.svg"];
    ["scripts", "docs/evidence"].iter().try_for_each(|folder| fs::create_dir_all(copy.path().join(folder)))?;
    for name in scripts.iter().map(|name| &**name).chain(drawn).chain(["docs/evidence/scoreboard.md"]) {
        fs::copy(root().join(name), copy.path().join(name))?;
    }
    let output = Command::new(copy.path().join("scripts/scoreboard")).arg("--draw").output()?;
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    for name in drawn {
        let same = fs::read_to_string(root().join(name))? == fs::read_to_string(copy.path().join(name))?;
        assert!(same, "{name} differs from the output of scripts/scoreboard --draw");
    }
    Ok(())
}

/// `scripts/patterns` gives the chapter and drawings in the repository.
fn patterns() -> Result<(), Failed> {
    let made = tempfile::tempdir()?;
    success(
        Command::new(root().join("scripts/patterns")).arg(made.path()).env("PTX_ATOMICS", ptx_atomics().get_program()),
    )?;
    let mut names = vec![PathBuf::from("patterns.md")];
    for file in fs::read_dir(made.path().join("patterns"))?.chain(fs::read_dir(root().join("docs/patterns"))?) {
        names.push(Path::new("patterns").join(file?.file_name()));
    }
    assert!(names.len() > 1, "no drawing");
    for name in names {
        let same = fs::read(root().join("docs").join(&name)).ok() == fs::read(made.path().join(&name)).ok();
        assert!(same, "docs/{} differs from the output of scripts/patterns", name.display());
    }
    Ok(())
}

fn named<T: IntoEnumIterator + ToString>() -> BTreeSet<String> {
    T::iter().map(|value| value.to_string()).collect()
}

/// The tables of the chapters on strategies and on messages have exactly the existing names.
fn names(documents: &[Document], found: &mut CheckedItems) -> Result<(), Failed> {
    let tables =
        [("strategies.md", "| strategy | ", named::<Strategy>()), ("messages.md", "| change | ", named::<Change>())];
    for (chapter, header, names) in tables {
        let path = Path::new(BOOK).join(chapter);
        let document = documents.iter().find(|document| document.path == path).ok_or(chapter)?;
        let text = fs::read_to_string(root().join(path))?;
        let mut rows = text.lines().zip(1..).skip_while(|(line, _)| !line.starts_with(header));
        let line = rows.next().map_or(1, |(_, line)| line);
        let cells = rows.skip(1).map_while(|(row, _)| row.strip_prefix("| ")?.split(" | ").next());
        let said: BTreeSet<_> = cells.flat_map(|cell| cell.split(", ")).map(|name| name.replace('`', "")).collect();
        for name in names.union(&said) {
            let both = names.contains(name) && said.contains(name);
            found.add(document, line, (!both).then(|| format!("{name} is not in the table, or not in the code")));
        }
    }
    Ok(())
}
