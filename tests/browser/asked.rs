//! The tasks of users on the pages, and the time limits for the answers.

use super::*;

/// A test that opens its own pages.
pub type Test = fn() -> Result<(), Failed>;

pub const TESTS: [(&str, Test); 14] = [
    ("the front page answers each of ten questions in 2 s", questions),
    ("a search lists each name first", synonyms),
    ("explorer: each line of LLVM IR shows its PTX", of_ir),
    ("paste: each example has the verdict of its name", kernels),
    ("paste: a proposed change removes the finding, and text that is not PTX is an error", changed),
    ("paste: a run of a launch shows its findings and memory", ran),
    ("chapters: PTX, litmus tests and LLVM IR have colors", colors),
    ("litmus: a badge shows the verdict in two words", badges),
    ("litmus: a gallery of shapes has each test, which opens in the page", shapes),
    ("paste: pasted LLVM IR judges the PTX", against_ir),
    ("the keyboard reaches Run in eight tabs", tabs),
    ("reference: a GPU, a scope and a type filter the rows", filtered),
    ("reference: every link in the tables leads somewhere", led),
    ("pages answer in 1 s, at a quarter of the speed in 3 s, and the book is small", small),
];

/// Questions of users, and the start of each answer. Each takes two steps on the front page: enter the words, and press
/// the button.
const QUESTIONS: [(&str, &str); 10] = [
    ("atomicAdd, acquire, sm_90, which barriers?", "atom.acquire.gpu.global.add.u32"),
    ("atomicAdd", "atom.relaxed.gpu.global.add.u32"),
    (
        "cuda::atomic_ref<int, cuda::thread_scope_device>.fetch_add(1) sm_80",
        "fence.sc.gpu;\natom.acquire.gpu.global.add.u32",
    ),
    ("__threadfence_block()", "fence.sc.cta;"),
    ("x.fetch_add(1, Ordering::AcqRel) on sm_70", "atom.acq_rel.sys.global.add.u32"),
    ("atomicrmw fadd ptr addrspace(3) %p, float 1.0 monotonic sm_90", "atom.relaxed.sys.shared.add.f32"),
    ("__scoped_atomic_load_n(p, __ATOMIC_ACQUIRE, __MEMORY_SCOPE_DEVICE)", "ld.acquire.gpu.global.b32"),
    ("memref.atomic_rmw addi", "atom.relaxed.sys.global.add.u32"),
    ("tl.atomic_add float sm_100", "atom.acq_rel.gpu.global.add.f32"),
    ("__threadfence sm_60", "membar.gl;"),
];

const NAMES: [&str; 8] = [
    "atomicAdd",
    "atomicCAS_system",
    "__threadfence_block",
    "tl.atomic_add",
    "memref.generic_atomic_rmw",
    "__scoped_atomic_fetch_add",
    "cuda::atomic_ref::fetch_add",
    "AtomicU32::fetch_nand",
];

/// The kernels of the page, and the verdict on each.
const KERNELS: [(&str, &str); 8] = [
    ("missing_barrier", "Wrong"),
    ("barrier", "Nothing wrong was found"),
    ("narrow_scope", "Wrong"),
    ("message", "Nothing wrong was found"),
    ("missing_wait", "Wrong"),
    ("wait", "Nothing wrong was found"),
    ("missing_proxy_fence", "Wrong"),
    ("proxy_fence", "Nothing wrong was found"),
];

const LITMUS: [(&str, &str); 4] = [
    ("message_passing", "Always holds"),
    ("store_buffering", "Allowed"),
    ("store_buffering_sc", "Forbidden"),
    ("last_block", "Allowed"),
];

/// The maximum size of the whole book.
const MEGABYTES: f64 = 12.0;

pub fn site(name: &str, page: &str, test: impl AsyncFnOnce(&Client, &str) -> Result<(), Failed>) -> Result<(), Failed> {
    let site = serve(None)?;
    let folder = format!("http://localhost:{}/docs", site.port);
    browse(&site, page, name, async |client| test(client, &folder).await)
}

/// Loads a page from scratch, since a navigation to another fragment would not reload it.
pub async fn open(client: &Client, address: &str) -> Result<(), Failed> {
    client.goto("about:blank").await?;
    client.goto(address).await?;
    ready(client).await
}

fn questions() -> Result<(), Failed> {
    site("questions", "index", async |client, folder| {
        for (words, expected) in QUESTIONS {
            open(client, &format!("{folder}/index.html")).await?;
            let started = Instant::now();
            let ask = "const form = document.querySelector('.ask-words'); form.elements.say.value = arguments[0]; form.querySelector('button').click()";
            client.execute(ask, vec![json!(words)]).await?;
            wait(client, "document.querySelector('#explorer[data-ready] .answer')").await?;
            let took = started.elapsed();
            let ptx = text(client, "#answers pre").await?;
            assert!(ptx.starts_with(expected), "{words}: {ptx}");
            assert!(took < Duration::from_secs(2), "{words}: {took:?}");
        }
        Ok(())
    })
}

fn of_ir() -> Result<(), Failed> {
    site("ir", "explorer", async |client, _| {
        ready(client).await?;
        let ir = "define void @f(ptr addrspace(1) %p) {\n  %a = atomicrmw add ptr addrspace(1) %p, i32 1 acq_rel\n  fence syncscope(\"device\") acquire\n  ret void\n}";
        let paste = "document.querySelector('#of-ir').open = true; const ir = document.querySelector('#ir'); ir.value = arguments[0]; ir.dispatchEvent(new Event('input', { bubbles: true }))";
        client.execute(paste, vec![json!(ir)]).await?;
        wait(client, "document.querySelectorAll('#of-lines section').length === 2").await?;
        let shown = text(client, "#of-lines").await?;
        assert!(shown.contains("line 2: ") && shown.contains("atom.acq_rel.sys.global.add.u32"), "{shown}");
        // sm_90's lowest PTX version has no acquire-only or release-only fences.
        assert!(shown.contains("line 3: ") && shown.contains("fence.acq_rel.gpu;"), "{shown}");
        Ok(())
    })
}

fn synonyms() -> Result<(), Failed> {
    site("search", "index", async |client, folder| {
        for name in NAMES {
            open(client, &format!("{folder}/index.html?search={name}")).await?;
            let first = ":is(#mdbook-searchresults, #searchresults) a";
            wait(client, &format!("document.querySelector('{first}')")).await?;
            let found = text(client, first).await?;
            assert!(found.contains("Names in languages") && found.ends_with(name), "{name}: {found}");
        }
        Ok(())
    })
}

fn kernels() -> Result<(), Failed> {
    site("kernels", "paste", async |client, folder| {
        let tests = fs::read_dir(root().join("examples/check"))?.count();
        assert_eq!(tests, KERNELS.len(), "each example has its verdict here");
        for (kernel, verdict) in KERNELS {
            open(client, &format!("{folder}/paste.html#example={kernel}")).await?;
            wait(client, "document.querySelector('.badge')").await?;
            same(text(client, ".badge").await?, verdict, kernel)?;
        }
        Ok(())
    })
}

fn changed() -> Result<(), Failed> {
    site("changed", "paste", async |client, folder| {
        open(client, &format!("{folder}/paste.html#example=missing_wait")).await?;
        wait(client, "document.querySelector('.finding')").await?;
        let change = "[...document.querySelectorAll('.finding button')].find((one) => one.textContent.startsWith('Change')).click()";
        client.execute(change, Vec::new()).await?;
        wait(client, "document.querySelector('.badge')?.textContent === 'Nothing wrong was found'").await?;
        set(client, &[("text", "int main() {}")]).await?;
        wait(client, "document.querySelector('.wrong')?.textContent.includes('the text has no kernel to check')").await
    })
}

fn ran() -> Result<(), Failed> {
    site("ran", "paste", async |client, folder| {
        open(client, &format!("{folder}/paste.html#example=barrier")).await?;
        wait(client, "document.querySelector('.badge')").await?;
        let run = "document.querySelector('#of-run').open = true; document.querySelector('#launch').value = arguments[0]; document.querySelector('#execute').click()";
        let ends = async |launch: &str, badge: &str, says: &str| {
            client.execute(run, vec![json!(launch)]).await?;
            let said = format!("document.querySelector('#shown').textContent.includes({})", json!(says));
            wait(client, &said).await?;
            same(text(client, ".badge").await?, badge, launch)
        };
        // The last comment of the kernel has the launch.
        ends("", "Nothing wrong was found", "out = [1, 2, 3, 4").await?;
        ends("grid=1 out=u32[128] expect out[0] == 7", "Wrong", "out[0] == 7 does not hold: out[0] is 1").await?;
        ends("grid=1 out=u32[64]", "Wrong", "out+384 is outside of all memory").await?;
        client.execute(run, vec![json!("grid=1\nout=u33[1]")]).await?;
        wait(client, "document.querySelector('#launch-wrong')?.textContent.includes('u33')").await
    })
}

fn colors() -> Result<(), Failed> {
    site("colors", "index", async |client, folder| {
        for (chapter, language) in [("patterns", "ptx"), ("async", "ptx"), ("golden", "llvm")] {
            open(client, &format!("{folder}/{chapter}.html")).await?;
            let blocks = format!("[...document.querySelectorAll('code.language-{language}')]");
            wait(client, &format!("{blocks}.every((one) => one.querySelector('[data-scope]'))")).await?;
            let mnemonics = format!("{blocks}.filter((one) => one.querySelector('[data-scope*=mnemonic]')).length");
            wait(client, &format!("{mnemonics} > 0.7 * {blocks}.length")).await?;
        }
        Ok(())
    })
}

fn badges() -> Result<(), Failed> {
    site("badges", "litmus", async |client, folder| {
        for (test, verdict) in LITMUS {
            open(client, &format!("{folder}/litmus.html#example=examples/litmus/{test}.litmus")).await?;
            wait(client, "document.querySelector('.badge')").await?;
            same(text(client, ".badge").await?, verdict, test)?;
        }
        for chapter in ["patterns", "memory-model"] {
            open(client, &format!("{folder}/{chapter}.html")).await?;
            let (test, link) = ("pre:has(+ p > a[href^='litmus.html#'])", "main pre + p > a[href^='litmus.html#']");
            let test = text(client, test).await?;
            client.find(Locator::Css(link)).await?.click().await?;
            wait(client, "document.querySelector('.badge')").await?;
            let shown = client.find(Locator::Css("#text")).await?.prop("value").await?.unwrap_or_default();
            same(shown.trim(), test.trim(), chapter)?;
        }
        let rows = "const table = document.querySelector('.outcomes table'); return [table.tBodies[0].rows.length, table.querySelectorAll('tbody tr:has(mark)').length]";
        open(client, &format!("{folder}/litmus.html#example=examples/litmus/store_buffering.litmus")).await?;
        wait(client, "document.querySelector('.outcomes')").await?;
        same(client.execute(rows, Vec::new()).await?, json!([4, 1]), "four outcomes, one of them marked")
    })
}

fn shapes() -> Result<(), Failed> {
    site("shapes", "litmus", async |client, folder| {
        open(client, &format!("{folder}/litmus.html")).await?;
        client.execute("document.querySelector('#gallery').closest('details').open = true", Vec::new()).await?;
        wait(client, "document.querySelector('#gallery a .badge')?.textContent").await?;
        wait(client, "document.querySelector('#gallery a img').naturalWidth > 100").await?;
        let cards = "const all = [...document.querySelectorAll('#gallery section')];
            return [all.every((one) => one.querySelectorAll('a').length > 1), all.length,
                document.querySelectorAll('#gallery a').length, [...document.querySelector('#example').options].length - 1]";
        let [are_all, shapes, cards, tests]: [Value; 4] =
            serde_json::from_value(client.execute(cards, Vec::new()).await?)?;
        assert!(
            are_all == true && shapes.as_u64() > Some(6) && cards == tests,
            "{are_all} {shapes}: {cards} of {tests}"
        );
        let card = client.find(Locator::Css("#gallery a[data-path$='SB-sc.litmus']")).await?;
        let badge = "document.querySelector(`#gallery a[data-path$='SB-sc.litmus'] .badge`).textContent";
        client.execute("arguments[0].scrollIntoView()", vec![serde_json::to_value(&card)?]).await?;
        wait(client, badge).await?;
        let badge = client.execute(&format!("return {badge}"), Vec::new()).await?;
        card.click().await?;
        wait(client, "document.querySelector('#text').value.startsWith('PTX SB-sc')").await?;
        wait(client, "document.querySelector('#status').textContent.startsWith('SB-sc')").await?;
        same(text(client, "#verdict").await?, badge, "the verdict of the card")
    })
}

fn against_ir() -> Result<(), Failed> {
    site("against", "paste", async |client, _| {
        ready(client).await?;
        let ir = "define void @f(ptr addrspace(1) %p) {\n  %a = atomicrmw add ptr addrspace(1) %p, i32 1 acq_rel\n  fence odd\n  ret void\n}";
        let ptx = ".version 8.6\n.target sm_90\n.visible .func f(.param .b64 p) { .reg .b64 %rd<2>; .reg .b32 %r<2>;\n    ld.param.b64 %rd1, [p];\n    atom.relaxed.sys.global.add.u32 %r1, [%rd1], 1;\n    ret;\n}\n";
        set(client, &[("text", ptx), ("ir", ir)]).await?;
        assert!(text(client, "#ir-wrong").await?.contains("no known ordering"), "a line that is not read");
        set(client, &[("ir", &ir.replace("  fence odd\n", ""))]).await?;
        same(text(client, ".badge").await?, "Wrong", "the verdict")?;
        let finding = text(client, ".finding").await?;
        let says =
            ["Weaker than the LLVM IR", "line 5: ordering lost: no acquire, no release", "on line 2: %a = atomicrmw"];
        assert!(says.iter().all(|part| finding.contains(part)), "{finding}");
        set(client, &[("text", &ptx.replace("relaxed", "acq_rel"))]).await?;
        same(text(client, ".badge").await?, "Nothing wrong was found", "the verdict")
    })
}

/// Starts with the link that skips to the content.
fn tabs() -> Result<(), Failed> {
    site("tabs", "paste", async |client, folder| {
        for page in ["paste", "litmus"] {
            open(client, &format!("{folder}/{page}.html")).await?;
            let mut keys = 0;
            let focused = "return document.activeElement.id";
            while client.execute(focused, Vec::new()).await? != json!("run") {
                keys += 1;
                assert!(keys <= 8, "{page}: more than eight");
                let element = client.active_element().await?;
                element.send_keys(&String::from(char::from(Key::Tab))).await?;
                if keys == 1 {
                    client.active_element().await?.send_keys(&String::from(char::from(Key::Enter))).await?;
                }
            }
        }
        Ok(())
    })
}

/// Each visible row names the GPU, or a range that contains it.
fn filtered() -> Result<(), Failed> {
    site("filter", "reference/add", async |client, folder| {
        let cells = "return [...document.querySelectorAll('main tbody tr')].filter((row) => row.offsetParent !== null)
            .map((row) => Object.fromEntries([...row.cells].map((cell, index) => [row.closest('table').tHead.rows[0].cells[index].textContent, cell.textContent])))";
        let rows = async |query: &str| -> Result<Vec<Value>, Failed> {
            open(client, &format!("{folder}/reference/add.html{query}")).await?;
            Ok(client.execute(cells, Vec::new()).await?.as_array().cloned().unwrap_or_default())
        };
        let [later, old, one] = [rows("").await?, rows("?GPU=").await?, rows("?GPU=sm_80&type=i32&scope=gpu").await?];
        assert!(
            one.len() > 5 && one.len() < later.len() && later.len() < old.len(),
            "{} {} {}",
            one.len(),
            later.len(),
            old.len()
        );
        let wrong = one.iter().filter(|row| {
            let [gpu, scope] = ["GPU", "scope"].map(|name| row[name].as_str().unwrap_or("all"));
            let has_gpu = gpu == "all"
                || gpu.contains("sm_80")
                || gpu.starts_with("sm_20 to")
                || gpu.contains("sm_60 to")
                || gpu.contains("sm_70 to");
            !has_gpu || !(scope == "all" || scope.split(", ").any(|one| one == "gpu"))
        });
        let wrong: Vec<_> = wrong.collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
        same(later.iter().filter(|row| row["GPU"] == "sm_60").count(), 0, "rows of older GPUs")
    })
}

/// Scripts make the links of the pages, so no file contains them.
fn led() -> Result<(), Failed> {
    site("led", "reference", async |client, folder| {
        let ids = "return [...document.querySelectorAll('[id]')].map((one) => `${location.pathname}#${one.id}`)";
        let notes: Vec<String> = serde_json::from_value(client.execute(ids, Vec::new()).await?)?;
        let mut count = 0;
        for name in ptx_atomics_reference::names() {
            open(client, &format!("{folder}/reference/{name}.html?GPU=&type=")).await?;
            let ids: Vec<String> = serde_json::from_value(client.execute(ids, Vec::new()).await?)?;
            let known: BTreeSet<&String> = notes.iter().chain(&ids).collect();
            let links = "return [...document.querySelectorAll('#tables a')].map((one) => one.pathname + one.hash)";
            let links: Vec<String> = serde_json::from_value(client.execute(links, Vec::new()).await?)?;
            count += links.len();
            // The explorer accepts any fields. Another test covers them.
            let is_wrong = |link: &&String| !known.contains(link) && !link.contains("explorer.html#operation=");
            let wrong: BTreeSet<&String> = links.iter().filter(is_wrong).collect();
            assert!(!links.is_empty() && wrong.is_empty(), "{name}: {wrong:#?}");
        }
        assert!(count > 15_000, "only {count} links");
        Ok(())
    })
}

fn small() -> Result<(), Failed> {
    let all: u64 = walkdir::WalkDir::new(book()?)
        .into_iter()
        .flatten()
        .filter_map(|entry| entry.metadata().ok())
        .map(|of| of.len())
        .sum();
    let megabytes = all as f64 / 1e6;
    println!("the book has {megabytes:.1} MB");
    assert!(megabytes <= MEGABYTES, "{megabytes} MB");
    site("time", "index", async |client, folder| {
        for (times, most) in [(1, 1000.0), (4, 3000.0)] {
            slow(client, times).await?;
            for page in ["explorer", "paste", "litmus", "reference/fsub"] {
                open(client, &format!("{folder}/{page}.html")).await?;
                let ready = "return Number(document.querySelector('[data-ready]').dataset.ready)";
                let took = client.execute(ready, Vec::new()).await?.as_f64().unwrap_or(f64::MAX);
                println!("{page} answers after {took:.0} ms, {times} times slower");
                assert!(took > 0.0 && took < most, "{page}: {took} ms");
            }
        }
        Ok(())
    })
}
