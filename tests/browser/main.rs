//! The interactive pages in a real browser. Their answers agree with the command, links restore the fields, a heavy test
//! can be stopped, wrong input is kept and reported at its position, and no data leave the page.
//!
//! `BROWSER_SHOTS=FOLDER` writes a picture of each page, for a person to look at.

mod accessible;
mod asked;
mod editor;
mod site;

use std::{
    collections::{BTreeMap, BTreeSet},
    env, fs,
    io::{BufRead, BufReader, Write},
    net::{TcpListener, TcpStream},
    path::{Path, PathBuf},
    process::{Child, Command, Output, Stdio},
    sync::{
        Arc, LazyLock,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use fantoccini::{Client, ClientBuilder, Locator, key::Key, wd::Capabilities};
use hyper_util::client::legacy::connect::HttpConnector;
use itertools::iproduct;
use libtest_mimic::{Arguments, Failed, Trial};
use regex::Regex;
use serde_json::{Value, json};
use testing::{binary, exists, left_to_all, ptx_atomics, root, runs_all, success, trial};
use tokio::{runtime::Builder, time::sleep};

use self::{
    accessible::{ACCESSIBLE, accessible, axe},
    site::{browse, ready, run, same, script, serve, set, slow, text, wait},
};

const DRIVER: &str = "chromedriver";

fn main() {
    let arguments = Arguments { test_threads: Some(1), ..Arguments::from_args() };
    // The book takes minutes to build.
    let is_wanted = runs_all() && !arguments.list;
    let no_book = is_wanted && matches!(book(), Err(Unbuilt::Missing));
    let missing = [(no_book, "mdbook and wasm-bindgen"), (!exists(DRIVER), "chromium-driver")];
    let missing = missing.into_iter().find_map(|(is, what)| is.then_some(what));
    macro_rules! tests {
        ($($page:literal, $name:literal => $test:expr;)*) => {
            vec![$(trial(concat!($page, ": ", $name).into(), missing, || run($page, $name, async |client: &Client| $test(client).await)),)*]
        };
    }
    let tests = tests! {
        "litmus", "the page has the command's verdicts, outcomes and drawings" => verdicts;
        "litmus", "a link contains the test" => litmus_link;
        "litmus", "a button stops a heavy test" => stopped;
        "litmus", "a time limit ends a heavy test" => limited;
        "litmus", "an error marks its place and keeps the input" => wrong_test;
        "litmus", "the editor receives its keys" => keys;
        "litmus", "lists place threads" => placed;
        "litmus", "the page shows the command of a test" => as_command;
        "litmus", "a later run replaces an unfinished run" => superseded;
        "litmus", "a run clears the results of earlier tests" => cleared;
        "litmus", "a form with the focus receives the arrow keys" => arrows;
        "litmus", "an example's link opens it" => example;
        "litmus", "the verdict is visible" => seen;
        "litmus", "a wide drawing fills the width" => wide;
        "litmus", "the page rarely writes its address" => seldom;
        "litmus", "the first key leads to the test" => skipped;
        "patterns", "drawings are dark in dark themes, and legible on a telephone" => drawn;
        "litmus", "every control has a name, and nothing is wider than a telephone" => usable;
        "explorer", "every answer equals the library's" => explored;
        "explorer", "a link contains the choices" => explorer_link;
        "explorer", "two targets or strategies are side by side" => side_by_side;
        "explorer", "an error marks its field and keeps the input" => wrong_choice;
        "explorer", "an incompatible choice changes the other choices" => adjusted;
        "explorer", "fields show typed text in full" => underscores;
        "paste", "every control has a name, and nothing is wider than a telephone" => usable;
        "explorer", "every control has a name, and nothing is wider than a telephone" => usable;
        "reference/add", "a link reaches a heading, and leads to the explorer" => reference;
    };
    let lost = LOST.map(|(page, file, says)| {
        trial(format!("{page}: a missing {file} is reported"), missing, move || is_lost(page, file, says))
    });
    let no_axe = (!axe().exists()).then_some("axe").or(missing);
    let accessible = ACCESSIBLE
        .map(|page| trial(format!("{page}: axe finds the page accessible"), no_axe, move || accessible(page)));
    let no_book = no_book.then_some("mdbook and wasm-bindgen");
    let pages = [
        trial("the book has a page for each chapter".into(), no_book, pages),
        trial("links of the book have targets".into(), no_book, links),
    ];
    let asked = [&asked::TESTS[..], &editor::TESTS].concat();
    let asked = asked.into_iter().map(|(name, test)| trial(name.into(), missing, test));
    let time = || run("litmus", "time", async |client: &Client| time(client).await);
    let time = Trial::test("litmus: the time of message passing", time).with_ignored_flag(true);
    let trials = pages.into_iter().chain(tests).chain(asked).chain(lost).chain(accessible).chain([time]);
    libtest_mimic::run(&arguments, trials.map(left_to_all).collect()).exit();
}

/// The reason why the book could not be built.
enum Unbuilt {
    /// A program that builds the book is not available.
    Missing,
    Wrong(String),
}

impl From<&Unbuilt> for Failed {
    fn from(why: &Unbuilt) -> Self {
        match why {
            Unbuilt::Missing => "the programs that build the book are missing".into(),
            Unbuilt::Wrong(said) => said.into(),
        }
    }
}

/// The book, built once.
fn book() -> Result<&'static Path, &'static Unbuilt> {
    static BOOK: LazyLock<Result<PathBuf, Unbuilt>> = LazyLock::new(|| {
        let target = binary().ancestors().nth(2).expect("a folder of cargo's");
        let mut build = Command::new(root().join("scripts/book"));
        let reference = tempfile::tempdir().expect("a folder");
        ptx_atomics_reference::write(reference.path()).expect("chapters can be written");
        build.env("CARGO_TARGET_DIR", target).env("REFERENCE", reference.path()).env_remove("RUSTFLAGS");
        let output = build.output();
        let Output { status, stderr, .. } = output.map_err(|error| Unbuilt::Wrong(error.to_string()))?;
        let said = String::from_utf8_lossy(&stderr).into_owned();
        match status.code() {
            Some(0) if !said.contains("WARN") => Ok(target.join("book")),
            Some(3) => Err(Unbuilt::Missing),
            _ => Err(Unbuilt::Wrong(said)),
        }
    });
    BOOK.as_deref()
}

fn pages() -> Result<(), Failed> {
    let docs = book()?.join("docs");
    let (mut count, mut tests) = (0, 0);
    for chapter in fs::read_dir(root().join("docs"))? {
        let chapter = chapter?.path();
        let Some(name) = chapter.file_stem().filter(|name| *name != "SUMMARY") else { continue };
        if chapter.extension().is_some_and(|extension| extension == "md") {
            let page = docs.join(name).with_extension("html");
            if !page.exists() {
                return Err(format!("no {}", page.display()).into());
            }
            count += 1;
            // A reader can run each litmus test of a chapter.
            let own = fs::read_to_string(&chapter)?.matches("```ptx\nPTX ").count();
            same(fs::read_to_string(&page)?.matches(">Run it here</a>").count(), own, name.to_string_lossy().as_ref())?;
            tests += own;
        }
    }
    for name in ptx_atomics_reference::names() {
        let page = fs::read_to_string(docs.join(format!("reference/{name}.html")))?;
        let tables = fs::read_to_string(docs.join(format!("reference/{name}.js")))?;
        if !page.contains(&format!("src=\"{name}.js\"")) || !tables.contains("\"barriers\"") {
            return Err(format!("the page of {name} has no table").into());
        }
        let kilobytes = (page.len() + tables.len()) / 1000;
        if kilobytes > 300 {
            return Err(format!("the page of {name} has {kilobytes} KB").into());
        }
    }
    if count > 20 && tests > 30 { Ok(()) } else { Err(format!("only {count} chapters, {tests} tests").into()) }
}

/// Each link of the book leads to one of its pages, not to a folder or download, and to an existing heading or anchor.
/// The fragment of a link to an interactive page may have any fields.
fn links() -> Result<(), Failed> {
    let docs = book()?.join("docs");
    let (link, id) =
        (Regex::new(r##"<a(?: [^>]*)? href="([^"#:]+)?(?:#([^":]*))?""##)?, Regex::new(r#"id="([^"]*)""#)?);
    let mut pages = BTreeMap::new();
    for folder in ["", "reference"] {
        for page in fs::read_dir(docs.join(folder))? {
            let path = page?.path();
            if path.extension().is_some_and(|extension| extension == "html") {
                pages.insert(path.clone(), fs::read_to_string(path)?);
            }
        }
    }
    let ids: BTreeMap<&PathBuf, BTreeSet<&str>> = pages
        .iter()
        .map(|(path, text)| (path, id.captures_iter(text).filter_map(|found| Some(found.get(1)?.as_str())).collect()))
        .collect();
    let (mut count, mut wrong) = (0, Vec::new());
    for (path, text) in pages.iter().filter(|(path, _)| !path.ends_with("404.html")) {
        for found in link.captures_iter(text) {
            let to =
                found.get(1).map_or_else(|| Ok(path.clone()), |to| path.with_file_name(to.as_str()).canonicalize());
            let fragment = found.get(2).map(|fragment| fragment.as_str()).filter(|fragment| !fragment.contains('='));
            let is_page = found.get(1).is_none_or(|to| to.as_str().ends_with(".html"));
            let is_there = is_page
                && to.is_ok_and(|to| {
                    fragment.is_none_or(|fragment| ids.get(&to).is_some_and(|ids| ids.contains(fragment)))
                });
            count += 1;
            if !is_there {
                wrong.push(format!("{}: {}", path.display(), &found[0]));
            }
        }
    }
    if wrong.is_empty() && count > 1_000 { Ok(()) } else { Err(format!("{count} links, broken: {wrong:#?}").into()) }
}

/// The reference links to an ordering of a type, and from there to an interactive page.
async fn reference(client: &Client) -> Result<(), Failed> {
    let page = client.current_url().await?;
    client.goto(&format!("{page}#i32-acq_rel")).await?;
    same(text(client, ":target").await?.trim(), "i32: acq_rel", "the heading")?;
    same(text(client, ":target ~ .table-wrapper tbody").await?.contains("add"), true, "a table")?;
    for width in [360, 1280] {
        client.set_window_size(width, 900).await?;
        let wide = "return document.scrollingElement.scrollWidth > document.documentElement.clientWidth";
        same(client.execute(wide, vec![]).await?, false, &format!("wider than {width}"))?;
        shot(client, &format!("{width}")).await?;
    }
    client
        .find(Locator::Css("a[href*='explorer.html#operation=add&ordering=acq_rel&type=i32&']"))
        .await?
        .click()
        .await?;
    ready(client).await?;
    let chosen = "return ['operation', 'ordering', 'type', 'space'].map((name) => document.getElementById(name).value)";
    same(client.execute(chosen, vec![]).await?, json!(["add", "acq_rel", "i32", "global"]), "the choices of the link")?;
    client.find(Locator::Css("a[href='reference/add.html?type=i32#i32-acq_rel']")).await?.click().await?;
    same(text(client, ":target").await?.trim(), "i32: acq_rel", "back at the heading")
}

/// The tests of the list, and variants with narrower scopes or weaker orderings.
fn examples() -> Result<Vec<String>, Failed> {
    let all: BTreeMap<String, BTreeMap<String, String>> =
        serde_json::from_slice(&fs::read(book()?.join("docs/page/examples.json"))?)?;
    let tests: Vec<String> = all.into_values().flat_map(BTreeMap::into_values).collect();
    let narrow = tests.iter().map(|test| test.replace(".gpu", ".cta").replace(".sys", ".gpu"));
    let weak = tests.iter().map(|test| test.replace("ld.acquire", "ld.relaxed").replace("fence.sc", "fence.acq_rel"));
    let others: BTreeSet<String> = narrow.chain(weak).filter(|test| !tests.contains(test)).collect();
    Ok(tests.into_iter().chain(others).collect())
}

/// The text without the file name and the time, which differ.
fn timeless(text: &str) -> String {
    let line = |(number, line): (usize, &str)| match line.strip_suffix(" ms") {
        _ if number == 0 => line.split_once(": ").map_or(line, |(_, rest)| rest).to_owned(),
        Some(counts) => counts.rsplit_once(", ").map_or(counts, |(counts, _)| counts).to_owned(),
        None => line.to_owned(),
    };
    text.lines().enumerate().map(line).collect::<Vec<_>>().join("\n")
}

async fn verdicts(client: &Client) -> Result<(), Failed> {
    let tests = examples()?;
    assert!(tests.len() >= 200, "only {} tests", tests.len());
    let profiles = ["default", "strict"];
    let cases = iproduct!(&tests, profiles);
    let folder = tempfile::tempdir()?;
    let (file, svg) = (folder.path().join("test.litmus"), folder.path().join("test.svg"));
    let mut races = 0;
    for (test, profile) in cases {
        fs::write(&file, test)?;
        let mut command = ptx_atomics();
        command.arg("litmus").arg(&file).args(["--outcomes", "--explain", "--profile", profile]);
        let output = command.arg("--svg").arg(&svg).output()?;
        let said = String::from_utf8(output.stdout)?;
        set(client, &[("text", test), ("profile", profile)]).await?;
        let shown = script(
            client,
            "return [document.querySelector('#shown pre')?.textContent ?? '', \
                decodeURIComponent((document.querySelector('#shown img')?.src ?? '').replace(/^[^,]*,/, ''))]",
            vec![],
        )
        .await?;
        same(timeless(shown[0].as_str().unwrap_or_default()), timeless(&said), test)?;
        same(shown[1].clone(), fs::read_to_string(&svg).unwrap_or_default(), test)?;
        let _ = fs::remove_file(&svg);
        races += usize::from(said.contains(" races\n"));
    }
    assert!(races >= 20, "only {races} tests with a race");
    Ok(())
}

const TEST: &str =
    "PTX linked\n{ x=0; }\n P0 | P1@cta 1,gpu 0 ;\n st.weak x, 1 | ld.weak r0, x ;\nexists (P1:r0 == 1)\n";

async fn litmus_link(client: &Client) -> Result<(), Failed> {
    set(client, &[("text", TEST), ("profile", "strict"), ("rounds", "7")]).await?;
    let said = text(client, "#status").await?;
    let link = client.current_url().await?;
    client.goto("about:blank").await?;
    client.goto(link.as_str()).await?;
    ready(client).await?;
    let fields = client.execute(
        "return ['text', 'profile', 'rounds'].map((name) => document.querySelector('form.ask').elements[name].value)",
        vec![],
    );
    same(fields.await?, json!([TEST, "strict", "7"]), "the fields")?;
    same(text(client, "#status").await?, said, "the verdict")
}

/// A test that takes long. All threads write the same value, so there are many orders and few outcomes.
fn heavy() -> String {
    let threads = 6;
    let cells = |cell: &dyn Fn(usize) -> String| (0..threads).map(cell).collect::<Vec<_>>().join(" | ") + " ;\n";
    let header = cells(&|thread| format!("P{thread}@cta {thread},gpu 0"));
    let round = |round: usize| {
        let read = ["x", "y"][round % 2];
        cells(&|_| "st.relaxed.gpu x, 1".into()) + &cells(&|_| format!("ld.relaxed.gpu r{round}, {read}"))
    };
    let rounds: String = (0..3).map(round).collect();
    format!("PTX heavy\n{{ x=0; y=0; }}\n{header}{rounds}exists (P0:r0 == 7)\n")
}

async fn stopped(client: &Client) -> Result<(), Failed> {
    let body =
        "form.elements.text.value = args[0]; form.elements['time-limit'].value = '50'; form.elements.run.click();";
    script(client, body, vec![json!(heavy())]).await?;
    sleep(Duration::from_millis(500)).await;
    assert!(text(client, "#status").await?.starts_with("Running…"), "the page answers while the test runs");
    client.find(Locator::Css("#stop")).await?.click().await?;
    wait(client, "!document.querySelector('form.ask').hasAttribute('aria-busy')").await?;
    same(text(client, "#status").await?, "No verdict: stopped.", "the test stops")?;
    same(client.find(Locator::Css("#text")).await?.prop("value").await?, heavy(), "the text is kept")?;
    set(client, &[("text", TEST)]).await?;
    same(text(client, "#status").await?, "linked holds", "the next test runs")
}

/// Pages, a missing file, and the message that the page then shows.
const LOST: [(&str, &str, &str); 7] = [
    ("litmus", "worker.js", "No verdict: the library of this page cannot be loaded."),
    ("litmus", "ptx_atomics_page.js", "No verdict: the library of this page cannot be loaded."),
    ("litmus", "ptx_atomics_page_bg.wasm", "No verdict: the library of this page cannot be loaded: "),
    ("litmus", "page.js", "This page cannot answer: "),
    ("explorer", "explorer.js", "This page cannot answer: "),
    ("explorer", "worker.js", "This page cannot answer: the library of this page cannot be loaded."),
    ("explorer", "ptx_atomics_page_bg.wasm", "This page cannot answer: the library of this page cannot be loaded: "),
];

/// A page reports a missing file, and does not request it repeatedly.
fn is_lost(page: &str, file: &'static str, says: &str) -> Result<(), Failed> {
    let site = serve(Some(file))?;
    browse(&site, page, file, async |client| {
        let said = "[document.querySelector('#status')?.textContent, document.querySelector('form.ask').dataset.state].join(' ')";
        wait(client, &format!("{said}.includes({})", json!(says))).await?;
        sleep(Duration::from_secs(1)).await;
        let said = client.execute(&format!("return {said}"), vec![]).await?.to_string();
        assert!(!said.contains("serve"), "{said}");
        // A browser may request the file once in advance.
        let asked = || site.asked.load(Ordering::Relaxed);
        let before = asked();
        assert!((1..=2).contains(&before), "asked {before} times");
        if page == "litmus" && says.starts_with("No verdict") {
            client.find(Locator::Css("#run")).await?.click().await?;
            wait(client, &format!("document.querySelector('#status').textContent.includes({})", json!(says))).await?;
            assert!(asked() <= before + 2, "asked {} times", asked());
        }
        Ok(())
    })
}

async fn superseded(client: &Client) -> Result<(), Failed> {
    let body =
        "form.elements.text.value = args[0]; form.elements['time-limit'].value = '50'; form.elements.run.click();
        await new Promise((next) => setTimeout(next, 300)); form.elements.text.value = args[1];
        const key = new KeyboardEvent('keydown', { key: 'Enter', ctrlKey: true, bubbles: true });
        form.elements.text.dispatchEvent(key); form.elements.text.dispatchEvent(key);
        await idle(); await new Promise((next) => setTimeout(next, 300)); return form.hasAttribute('aria-busy')";
    same(script(client, body, vec![json!(heavy()), json!(TEST)]).await?, false, "no test runs")?;
    same(text(client, "#status").await?, "linked holds", "the verdict of the later run")
}

/// The parts of a page that show a test: its text, its drawing, its threads, its messages.
async fn remains(client: &Client) -> Result<Value, Failed> {
    let body = "return ['#shown', '#places select', '#messages', 'form.ask .wrong'].map((part) => \
        [...document.querySelectorAll(part)].map((one) => one.textContent).join(''))";
    script(client, body, vec![]).await
}

async fn cleared(client: &Client) -> Result<(), Failed> {
    for ending in ["stopped", "wrong", "wrong field"] {
        set(client, &[("text", TEST), ("time-limit", "50"), ("rounds", "")]).await?;
        assert!(remains(client).await?[0].as_str().is_some_and(|shown| shown.contains("linked")), "{ending}");
        match ending {
            "stopped" => {
                let body = "form.elements.text.value = args[0]; form.elements.run.click();
                    await new Promise((next) => setTimeout(next, 300)); form.elements.stop.click(); await idle()";
                script(client, body, vec![json!(heavy())]).await?;
                same(remains(client).await?, json!(["", "", "", ""]), ending)?;
            }
            "wrong" => {
                set(client, &[("text", "no litmus test")]).await?;
                let messages = remains(client).await?[2].clone();
                same(remains(client).await?, json!(["", "", messages, ""]), ending)?;
                assert_ne!(messages, "");
            }
            _ => {
                set(client, &[("rounds", "1.5")]).await?;
                let said = remains(client).await?[3].clone();
                same(remains(client).await?, json!(["", "", "", said]), ending)?;
            }
        }
    }
    Ok(())
}

/// The arrow keys turn the pages of the book, unless a form has the focus.
async fn arrows(client: &Client) -> Result<(), Failed> {
    let before = client.current_url().await?.path().to_owned();
    for control in ["run", "profile", "example"] {
        let body = format!(
            "document.getElementById('{control}').closest('details')?.setAttribute('open', ''); document.getElementById('{control}').focus()"
        );
        client.execute(&body, vec![]).await?;
        for key in [Key::Right, Key::Left] {
            client.active_element().await?.send_keys(&char::from(key).to_string()).await?;
        }
        sleep(Duration::from_millis(100)).await;
        same(client.current_url().await?.path(), &*before, control)?;
    }
    Ok(())
}

async fn example(client: &Client) -> Result<(), Failed> {
    let path = "examples/litmus/async/refill.litmus";
    set(client, &[("example", path)]).await?;
    let said = text(client, "#status").await?;
    let link = client.current_url().await?;
    same(link.fragment().unwrap_or_default(), format!("example={}", path.replace('/', "%2F")), "the address")?;
    client.goto("about:blank").await?;
    client.goto(link.as_str()).await?;
    ready(client).await?;
    same(
        client.find(Locator::Css("#text")).await?.prop("value").await?,
        fs::read_to_string(root().join(path))?,
        "the test",
    )?;
    same(text(client, "#status").await?, said, "the verdict")
}

/// The verdict is visible on a desktop and on a phone, also at the end of a long text.
async fn seen(client: &Client) -> Result<(), Failed> {
    for (width, height) in [(1280, 800), (360, 640)] {
        client.set_window_size(width, height).await?;
        set(client, &[("text", TEST)]).await?;
        for scroll in ["scrollTo(0, 0)", "document.querySelector('#run').scrollIntoView()"] {
            client.execute(scroll, vec![]).await?;
            let body = "const place = document.querySelector('#status').getBoundingClientRect(); return place.top >= 0 && place.bottom <= innerHeight";
            same(client.execute(body, vec![]).await?, true, &format!("{width}: {scroll}"))?;
        }
    }
    Ok(())
}

/// A drawing scrolls only if it cannot become wider.
async fn wide(client: &Client) -> Result<(), Failed> {
    for width in [1280, 1700] {
        client.set_window_size(width, 900).await?;
        set(client, &[("example", "models/memory-model/litmus/IRIW-sc.litmus")]).await?;
        let body = "const figure = document.querySelector('figure.drawing'), place = figure.getBoundingClientRect();
            return figure.scrollWidth <= figure.clientWidth || innerWidth - place.right < 60";
        same(client.execute(body, vec![]).await?, true, &format!("{width}"))?;
    }
    Ok(())
}

/// The page rarely writes its address, since browsers allow 200 writes in 30 seconds.
async fn seldom(client: &Client) -> Result<(), Failed> {
    let body = "let count = 0; const replace = history.replaceState; history.replaceState = function (...all) { count++; replace.apply(this, all); };
        for (let key = 0; key < 50; key++) { form.elements.text.value += '/'; form.elements.text.dispatchEvent(new Event('input', { bubbles: true })); }
        await new Promise((next) => setTimeout(next, 500)); return [count, location.hash.includes('%2F%2F%2F')]";
    same(script(client, body, vec![]).await?, json!([1, true]), "the number and text of writes")
}

async fn skipped(client: &Client) -> Result<(), Failed> {
    let body = client.find(Locator::Css("body")).await?;
    body.send_keys(&char::from(Key::Tab).to_string()).await?;
    same(client.active_element().await?.text().await?, "Skip to the content", "the first link")?;
    client.active_element().await?.send_keys(&char::from(Key::Enter).to_string()).await?;
    let inside = "return document.activeElement.closest('form.ask') !== null";
    same(client.execute(inside, vec![]).await?, true, "the focus is in the form")
}

async fn drawn(client: &Client) -> Result<(), Failed> {
    client.set_window_size(360, 800).await?;
    for (theme, filtered) in [("light", false), ("navy", true)] {
        client.execute("localStorage.setItem('mdbook-theme', arguments[0])", vec![json!(theme)]).await?;
        client.refresh().await?;
        let body = "return [...document.querySelectorAll('main img')].map((one) => [getComputedStyle(one).filter !== 'none', one.width === one.naturalWidth])";
        wait(client, "[...document.querySelectorAll('main img')].every((one) => one.complete)").await?;
        let drawings = client.execute(body, vec![]).await?;
        let drawings: BTreeSet<String> = drawings.as_array().into_iter().flatten().map(ToString::to_string).collect();
        same(json!(drawings), json!([format!("[{filtered},true]")]), theme)?;
    }
    Ok(())
}

/// Each first choice leads to an answer, and the page notes the other fields that it changed.
async fn adjusted(client: &Client) -> Result<(), Failed> {
    let lists = ["operation", "ordering", "type", "space"];
    let choices: Value = serde_json::from_str(&ptx_atomics_page::choices())?;
    let start = client.current_url().await?;
    let (mut count, mut noted) = (0, 0);
    for list in lists {
        for value in choices[list].as_array().into_iter().flatten() {
            client.goto("about:blank").await?;
            client.goto(start.as_str()).await?;
            ready(client).await?;
            set(client, &[(list, value.as_str().unwrap_or_default())]).await?;
            wait(client, "document.querySelector('#answers section')").await?;
            sleep(Duration::from_millis(50)).await;
            let body = "return [document.querySelectorAll('.wrong').length, document.querySelector('#note').textContent, document.querySelector('#answers').textContent]";
            let shown = client.execute(body, vec![]).await?;
            let requires = shown[2].as_str().is_some_and(|text| text.contains(" requires "));
            assert!(shown[0] == 0 || requires, "{list} {value}: {shown}");
            count += 1;
            noted += usize::from(shown[1] != "");
        }
    }
    assert!(count > 50 && noted > 10, "{count} fields, {noted} with a note");
    Ok(())
}

/// The line of a field is high enough for its font, also on a screen with one dot per pixel.
async fn underscores(client: &Client) -> Result<(), Failed> {
    let body = "return [...document.querySelectorAll('form.ask input:not([type=checkbox])')].filter((field) => field.offsetParent).filter((field) => {
        const style = getComputedStyle(field), inner = field.clientHeight - parseFloat(style.paddingTop) - parseFloat(style.paddingBottom);
        return inner < 1.3 * parseFloat(style.fontSize); }).map((field) => field.id)";
    same(client.execute(body, vec![]).await?, json!([]), "fields that are too low")
}

async fn limited(client: &Client) -> Result<(), Failed> {
    set(client, &[("text", &heavy()), ("time-limit", "1")]).await?;
    same(text(client, "#status").await?, "heavy unknown", "the verdict")?;
    let shown = text(client, "#shown").await?;
    let says = ["--time-limit", " outcome", "P5:r2"].iter().all(|part| shown.contains(part));
    if says { Ok(()) } else { Err(format!("no reason, or no outcomes so far: {shown}").into()) }
}

/// Invalid litmus tests.
const WRONG: [&str; 7] = [
    "",
    "no litmus test",
    "PTX a\n{ x=0; }\n P0 ;\n st.wek x, 1 ;\nexists (x == 1)\n",
    "PTX a\n{ x=0; }\n P0 | P1 ;\n st.weak x, 1 | ld.weak 5, x ;\nexists (x == 1)\n",
    "PTX a\n{ x=0; }\n P0@cta a,gpu 0 ;\n st.weak x, 1 ;\nexists (x == 1)\n",
    "PTX a\n{ x=0; }\n P0 ;\n st.weak x, 1 ; \n\u{e4}\u{1d11e} st.weak y 1 ;\nexists (x == 1\n",
    "PTX a\n{ x=0; }\n P0 ;\n ld.weak r0, y ;\nexists (P3:r9 == 1)\n",
];

async fn wrong_test(client: &Client) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("test.litmus");
    for wrong in WRONG {
        fs::write(&file, wrong)?;
        let output = ptx_atomics().arg("litmus").arg(&file).output()?;
        assert_eq!(output.status.code(), Some(1), "{wrong}");
        let said = String::from_utf8(output.stderr)?;
        set(client, &[("text", wrong)]).await?;
        let listed = script(
            client,
            "return [...document.querySelectorAll('#messages button')].map((one) => one.textContent)",
            vec![],
        );
        let listed = listed.await?;
        let marks = "return [...document.querySelectorAll('#messages pre')].map((one) => one.textContent)";
        let marks: Vec<String> = serde_json::from_value(script(client, marks, vec![]).await?)?;
        let mut marks = marks.into_iter();
        let listed: Vec<&str> = listed.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        same(listed.len(), said.matches("error: ").count(), wrong)?;
        for line in listed {
            let (message, place) = line.rsplit_once(" (line ").ok_or("no place")?;
            let place = place.trim_end_matches(')').replace(", column ", ":");
            let is_there = said.contains(message) && said.contains(&format!("test.litmus:{place}\n"));
            let (number, column): (usize, usize) = {
                let (number, column) = place.split_once(':').ok_or("no column")?;
                (number.parse()?, column.parse()?)
            };
            let code = wrong.lines().nth(number - 1).unwrap_or_default();
            same(marks.next().ok_or("no mark")?, format!("{code}\n{:>column$}", '^'), "the mark below its place")?;
            if !is_there {
                return Err(format!("for {wrong:?}, the page shows\n{line}\nand the command\n{said}").into());
            }
        }
        same(client.find(Locator::Css("#text")).await?.prop("value").await?, wrong, "the text is kept")?;
    }
    let fields = [
        ("rounds", "0"),
        ("rounds", "many"),
        ("choices", "-1"),
        ("time-limit", "x"),
        ("readings", "A99=strict"),
        ("readings", "A2=odd"),
    ];
    for (field, wrong) in fields {
        set(client, &[("text", TEST), (field, wrong)]).await?;
        let said = text(client, &format!("#{field}-wrong")).await?;
        assert!(!said.is_empty());
        is_marked(client, field, wrong, &said).await?;
        if field == "readings" {
            command_says(&["litmus", "--reading", wrong, "-"], &said)?;
        }
        set(client, &[(field, "")]).await?;
        same(text(client, "#status").await?, "linked holds", "the corrected test runs")?;
    }
    Ok(())
}

/// Checks that the command ends with status 2 and this message.
fn command_says(arguments: &[&str], message: &str) -> Result<(), Failed> {
    let output = ptx_atomics().args(arguments).output()?;
    let said = String::from_utf8(output.stderr)?;
    let is_same = output.status.code() == Some(2) && said.contains(message);
    if is_same { Ok(()) } else { Err(format!("the page shows\n{message}\nand the command\n{said}").into()) }
}

/// A field keeps the typed text, and describes the error to screen readers.
async fn is_marked(client: &Client, id: &str, wrong: &str, said: &str) -> Result<(), Failed> {
    let field = client.find(Locator::Css(&format!("#{id}"))).await?;
    same(field.prop("value").await?, wrong, said)?;
    same(field.attr("aria-invalid").await?, "true", said)?;
    same(field.attr("aria-describedby").await?, format!("{id}-wrong"), said)
}

async fn keys(client: &Client) -> Result<(), Failed> {
    let before = client.current_url().await?.path().to_owned();
    set(client, &[("text", "")]).await?;
    let editor = client.find(Locator::Css("#text")).await?;
    // In the book, the arrow keys turn pages, and `s` and a slash start a search.
    editor.send_keys(&format!("{}{}s/?", char::from(Key::Right), char::from(Key::Left))).await?;
    same(editor.prop("value").await?, "s/?", "typed keys are text")?;
    same(client.current_url().await?.path(), &*before, "the page stays")?;
    set(client, &[("text", "")]).await?;
    editor.send_keys(TEST).await?;
    editor.send_keys(&format!("{}{}", char::from(Key::Control), char::from(Key::Enter))).await?;
    wait(client, "document.querySelector('#status').textContent === 'linked holds'").await?;
    editor.send_keys(&char::from(Key::Tab).to_string()).await?;
    same(client.active_element().await?.attr("id").await?, "run", "Tab leads on")
}

async fn placed(client: &Client) -> Result<(), Failed> {
    let racing = TEST.replace("st.weak", "st.relaxed.cta").replace("ld.weak", "ld.relaxed.cta");
    set(client, &[("text", &racing)]).await?;
    let body = "const list = document.querySelector('[aria-label=\"gpu of P1\"]'); list.value = '2'; \
        list.dispatchEvent(new Event('change')); const before = form.elements.text.value; \
        while (form.elements.text.value === before) await idle(); await idle(); return form.elements.text.value";
    let moved = script(client, body, vec![]).await?;
    same(moved, racing.replace("P1@cta 1,gpu 0", "P1@cta 1,gpu 2"), "the text")?;
    let body = "const list = document.querySelector('[aria-label=\"gpu of P1\"]'); list.value = '3'; \
        list.dispatchEvent(new Event('change')); form.elements.text.value = 'typed'; \
        await new Promise((next) => setTimeout(next, 300)); await idle(); return form.elements.text.value";
    same(script(client, body, vec![]).await?, "typed", "the text typed during the placement of a thread")
}

/// Measures the time from the button to the drawing, and of the command for the same test, for docs/evidence/browser-time.md.
async fn time(client: &Client) -> Result<(), Failed> {
    let first = script(client, "return form.dataset.took", vec![]).await?;
    let body = "const times = [];
        for (let round = 0; round < 41; round++) { form.elements.run.click(); await idle(); times.push(Number(form.dataset.took)); }
        return times.slice(1).sort((one, other) => one - other)";
    let times: Vec<f64> = serde_json::from_value(script(client, body, vec![]).await?)?;
    let folder = tempfile::tempdir()?;
    let start = Instant::now();
    for _ in 0..20 {
        let mut command = ptx_atomics();
        command.args(["litmus", "examples/litmus/message_passing.litmus", "--outcomes", "--explain", "--svg"]);
        success(command.arg(folder.path().join("mp.svg")))?;
    }
    let command = start.elapsed().as_secs_f64() * 1000.0 / 20.0;
    let [least, median, most] = [0, 20, 39].map(|index| times[index]);
    println!(
        "in the page {least} to {most} ms, median {median}, {first} while it is loaded; the command {command:.1} ms"
    );
    Ok(())
}

async fn as_command(client: &Client) -> Result<(), Failed> {
    set(client, &[("text", TEST), ("profile", "strict"), ("readings", "A2=lenient, A5=lenient"), ("rounds", "3")])
        .await?;
    client.find(Locator::Css("#show")).await?.click().await?;
    let line = text(client, "#command code").await?;
    let folder = tempfile::tempdir()?;
    fs::write(folder.path().join("linked.litmus"), TEST)?;
    let words: Vec<&str> = line.split(' ').skip(1).collect();
    let said = success(Command::new(binary()).args(words).current_dir(folder.path()))?;
    same(timeless(&said), timeless(&text(client, "#shown pre").await?), &line)
}

async fn usable(client: &Client) -> Result<(), Failed> {
    let nameless = "return [...document.querySelectorAll('form.ask :is(input, select, textarea, button, img)')]
        .filter((one) => ![...(one.labels?.[0]?.childNodes ?? [])].some((part) => part.nodeType === Node.TEXT_NODE && part.textContent.trim())
            && !(one.getAttribute('aria-label') ?? (one.alt || (one.matches('button') ? one.textContent : ''))).trim())
        .map((one) => one.outerHTML)";
    same(client.execute(nameless, vec![]).await?, json!([]), "controls without a name")?;
    let live = client
        .execute("return document.querySelectorAll('form.ask :is([role=status], [aria-live])').length > 0", vec![])
        .await?;
    same(live, true, "a live region announces changes")?;
    for theme in ["light", "navy"] {
        for width in [360, 1280] {
            client.execute("localStorage.setItem('mdbook-theme', arguments[0])", vec![json!(theme)]).await?;
            client.set_window_size(width, 900).await?;
            client.refresh().await?;
            ready(client).await?;
            let is = "return document.documentElement.classList.contains(arguments[0])";
            same(client.execute(is, vec![json!(theme)]).await?, true, theme)?;
            let wide = "return [...document.querySelectorAll('main form.ask *')].filter((one) => !one.closest('pre, figure, table')
                && one.getBoundingClientRect().right > document.documentElement.clientWidth + 1).map((one) => one.outerHTML.slice(0, 80))";
            same(client.execute(wide, vec![]).await?, json!([]), &format!("too wide for {width}"))?;
            shot(client, &format!("{theme}-{width}")).await?;
            client.execute("document.querySelector('#shown, #answers').scrollIntoView()", vec![]).await?;
            shot(client, &format!("{theme}-{width}-answer")).await?;
        }
    }
    Ok(())
}

/// Takes a picture of the current page.
async fn shot(client: &Client, name: &str) -> Result<(), Failed> {
    let Some(folder) = env::var_os("BROWSER_SHOTS") else { return Ok(()) };
    fs::create_dir_all(&folder)?;
    let page = client
        .current_url()
        .await?
        .path_segments()
        .and_then(|mut parts| parts.next_back())
        .unwrap_or_default()
        .to_owned();
    fs::write(Path::new(&folder).join(format!("{page}-{name}.png")), client.screenshot().await?)?;
    Ok(())
}

async fn explored(client: &Client) -> Result<(), Failed> {
    let choices: Value = serde_json::from_str(&ptx_atomics_page::choices())?;
    let list = |name: &str| choices[name].as_array().cloned().unwrap_or_default();
    let lists = ["operation", "ordering", "scope", "type", "space", "mcpu", "strategy", "fp-atomics"]
        .map(|name| (name, list(name)));
    let flags = ["volatile", "generic-may-be-local", "volatile-as-mmio", "flush-f32"];
    // Each value occurs many times. Steps without a common divisor give all combinations.
    let questions = (0..2000usize).map(|index| {
        let fields = lists.iter().enumerate().map(|(step, (name, values))| {
            ((*name).to_owned(), values[index * (2 * step + 1) / (step + 1) % values.len()].clone())
        });
        let flags = flags.iter().enumerate().map(|(bit, name)| ((*name).to_owned(), json!(index >> bit & 1 == 1)));
        Value::Object(fields.chain(flags).collect())
    });
    let questions: Vec<String> = questions.map(|question| question.to_string()).collect();
    let expected: Vec<String> = questions.iter().map(|question| ptx_atomics_page::explorer::answer(question)).collect();
    let right = expected.iter().filter(|answer| answer.starts_with("{\"answer\"")).count();
    assert!(right > 200 && right < expected.len(), "{right} of {} have an answer", expected.len());
    let body = "const { Engine } = await import('/docs/page/page.js'); const engine = new Engine();
        return Promise.all(args[0].map((question) => engine.call('explore', question)))";
    same(script(client, body, vec![json!(questions)]).await?, json!(expected), "the answers")
}

async fn explorer_link(client: &Client) -> Result<(), Failed> {
    let chosen = [
        ("operation", "fmax"),
        ("type", "f32"),
        ("ordering", "seq_cst"),
        ("a.mcpu", "sm_80"),
        ("volatile", "true"),
        ("compare", "true"),
        ("b.strategy", "fence"),
    ];
    set(client, &chosen).await?;
    sleep(Duration::from_millis(200)).await;
    let shown = text(client, "#answers").await?;
    assert!(shown.contains("sm_80") && shown.contains("cas"), "{shown}");
    let link = client.current_url().await?;
    client.goto("about:blank").await?;
    client.goto(link.as_str()).await?;
    ready(client).await?;
    same(text(client, "#answers").await?, shown, "the answer")
}

async fn side_by_side(client: &Client) -> Result<(), Failed> {
    let pairs = [
        [("a.mcpu", "sm_90"), ("a.mattr", "+ptx86"), ("b.mcpu", "sm_70"), ("b.mattr", "+ptx86")],
        [("a.mcpu", "sm_60"), ("a.strategy", ""), ("b.mcpu", "sm_100"), ("b.strategy", "fence")],
        [("a.mcpu", "sm_90"), ("a.strategy", "fence"), ("b.mcpu", "sm_90"), ("b.strategy", "recommended")],
    ];
    set(client, &[("compare", "true"), ("type", "i16"), ("operation", "add")]).await?;
    for fields in pairs {
        set(client, &fields).await?;
        // The values of all fields, including earlier choices.
        let own = "return Object.fromEntries([...form.elements].filter((one) => one.name).map((one) => [one.name, one.type === 'checkbox' ? one.checked : one.value]))";
        let chosen = script(client, own, vec![]).await?;
        let expected = ["a", "b"].map(|side| {
            let mut question = chosen.clone();
            for name in ["mcpu", "mattr", "strategy"] {
                question[name] = chosen[format!("{side}.{name}")].clone();
            }
            let answer: Value =
                serde_json::from_str(&ptx_atomics_page::explorer::answer(&question.to_string())).expect("JSON");
            let lines = answer["answer"]["ptx"].as_str().expect("PTX").lines().map(ToOwned::to_owned);
            (answer["answer"]["target"].clone(), lines.collect::<Vec<String>>())
        });
        let [first, second] = &expected;
        let shown = |(target, lines): &(Value, Vec<String>), (_, others): &(Value, Vec<String>)| {
            let marked: Vec<_> = lines.iter().filter(|line| !others.contains(line)).collect();
            json!([target, lines.join("\n"), marked])
        };
        let expected = json!([shown(first, second), shown(second, first)]);
        let answers = "[...document.querySelectorAll('#answers .answer')].map((one) => [one.querySelector('h2').textContent,
            one.querySelector('pre').textContent.trim(), [...one.querySelectorAll('pre mark')].map((mark) => mark.textContent)])";
        let same_targets = format!(
            "JSON.stringify({answers}.map(([target]) => target)) === JSON.stringify({})",
            json!([first.0, second.0])
        );
        wait(client, &same_targets).await?;
        sleep(Duration::from_millis(200)).await;
        same(script(client, &format!("return {answers}"), vec![]).await?, expected, "the two sides")?;
    }
    Ok(())
}

async fn wrong_choice(client: &Client) -> Result<(), Failed> {
    for (field, id, option, wrong) in [
        ("a.mcpu", "a-mcpu", "--mcpu", "sm_9x"),
        ("a.mattr", "a-mattr", "--mattr", "+ptx999"),
        ("a.strategy", "a-strategy", "--strategy", "fence,rmw.odd=fence"),
        ("fp-atomics", "fp-atomics", "--fp-atomics", "exact"),
    ] {
        set(client, &[(field, wrong)]).await?;
        wait(client, &format!("document.querySelector('#{id}-wrong')")).await?;
        let said = text(client, &format!("#{id}-wrong")).await?;
        command_says(&["table", option, wrong], &said)?;
        is_marked(client, id, wrong, &said).await?;
        set(client, &[(field, "")]).await?;
        wait(client, &format!("!document.querySelector('#{id}-wrong')")).await?;
    }
    // Values outside of the lists, in a link, give errors.
    let link = client.current_url().await?;
    let hash = "#operation=nothing&ordering=odd&scope=all&type=i7&space=outer";
    client.execute("location.hash = arguments[0]", vec![json!(hash)]).await?;
    wait(client, "document.querySelectorAll('.wrong[id]').length === 5").await?;
    assert_eq!(client.current_url().await?.path(), link.path());
    Ok(())
}
