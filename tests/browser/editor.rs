//! The editors of the pages: line numbers, colors, and errors while the user types.

use super::{asked::Test, asked::open, asked::site, *};

pub const TESTS: [(&str, Test); 4] = [
    ("editors show an error at its line during typing", typed),
    ("editors show each line in place, in colors", check_pictures),
    ("editors' colors are legible in every theme", read),
    ("paste: the page scrolls while it checks 300 kernels", many),
];

/// The themes of the book.
pub const THEMES: [&str; 5] = ["light", "rust", "coal", "navy", "ayu"];

const PTX: &str = ".version 8.0\n.target sm_90\n.visible .entry k() {\n    /* a comment\n    of two lines */\n    fence.acq_rel.gpu;\n    ret;\n}\n";
const IR: &str = "; two\n%a = atomicrmw add ptr addrspace(1) %p, i32 1 acq_rel\nfence syncscope(\"device\") seq_cst\n";

/// A page, its field, a valid text, and scopes of grammars in the text.
const EDITORS: [(&str, &str, &str, &[&str]); 3] = [
    (
        "paste",
        "#text",
        PTX,
        &["comment.block.ptx", "keyword.other.semantics.ptx", "keyword.operator.word.mnemonic.ptx"],
    ),
    ("litmus", "#text", TEST, &["entity.name.function.thread.litmus", "keyword.other.semantics.ptx"]),
    ("explorer", "#ir", IR, &["comment.line.semicolon.llvm", "keyword.other.semantics.llvm"]),
];

/// A page, a text and the invalid text that replaces it, and the line of the error.
const WRONG: [(&str, &str, &str, &str); 4] = [
    ("paste", "fence.acq_rel.gpu;", "fence.acq_rel.gpu )", "Line 6: "),
    ("litmus", "st.weak", "st.wek", "Line 4: "),
    ("litmus", "x=0;", "x=;", "Line 2: "),
    ("explorer", "device", "agent", "Line 3: "),
];

/// Sets the text of an editor.
async fn write(client: &Client, field: &str, text: &str) -> Result<(), Failed> {
    let write = "const field = document.querySelector(arguments[0]); const details = field.closest('details'); if (details) details.open = true;
        field.value = arguments[1]; field.dispatchEvent(new Event('input', { bubbles: true }))";
    client.execute(write, vec![json!(field), json!(text)]).await?;
    wait(client, &format!("document.querySelector('.editing.colored > {field}')")).await
}

fn typed() -> Result<(), Failed> {
    site("typed", "index", async |client, folder| {
        for (page, from, to, line) in WRONG {
            let (_, field, right, _) = EDITORS.into_iter().find(|(of, ..)| *of == page).ok_or("no editor")?;
            open(client, &format!("{folder}/{page}.html")).await?;
            write(client, field, &right.replacen(from, to, 1)).await?;
            wait(client, &format!("document.querySelector('.typed').textContent.startsWith({})", json!(line))).await?;
            let number = text(client, ".numbers .fault").await?;
            same(format!("Line {}: ", number.trim()), line, page)?;
            write(client, field, right).await?;
            sleep(Duration::from_secs(1)).await;
            same(text(client, ".typed").await?, "", page)?;
        }
        Ok(())
    })
}

/// Each line of the picture has the position and the text of the field's line, also far down in a long text.
fn check_pictures() -> Result<(), Failed> {
    site("shown", "index", async |client, folder| {
        for (page, field, text, scopes) in EDITORS {
            open(client, &format!("{folder}/{page}.html")).await?;
            write(client, field, text).await?;
            let found =
                "return [...document.querySelectorAll('.picture [data-scope]')].map((one) => one.dataset.scope)";
            let found: BTreeSet<String> = serde_json::from_value(client.execute(found, Vec::new()).await?)?;
            assert!(scopes.iter().all(|scope| found.contains(*scope)), "{page}: {found:#?}");
            write(client, field, &(0..5000).map(|line| format!("{line}\n")).collect::<String>()).await?;
            for top in [0, 777, 1_000_000] {
                let scroll = "const field = document.querySelector(arguments[0]); field.scrollTop = arguments[1];
                    await new Promise((next) => setTimeout(next, 100));
                    const height = parseFloat(getComputedStyle(field).lineHeight), code = document.querySelector('.picture .code');
                    const first = code.textContent.split('\\n')[0];
                    const off = code.getBoundingClientRect().top - field.getBoundingClientRect().top - field.clientTop
                        - parseFloat(getComputedStyle(field).paddingTop) - (Number(first) * height - field.scrollTop);
                    const whole = field.scrollHeight - parseFloat(getComputedStyle(field).paddingTop) * 2 - 5001 * height;
                    const numbers = document.querySelector('.numbers').textContent.split('\\n')[0];
                    return [Math.abs(off) < 1, Math.abs(whole) < 2, Number(numbers) === Number(first) + 1]";
                let scroll = format!(
                    "const done = arguments[arguments.length - 1]; ((...args) => (async () => {{ {} }})().then(done))(...arguments)",
                    scroll.replace("arguments", "args")
                );
                let is = client.execute_async(&scroll, vec![json!(field), json!(top)]).await?;
                same(is, json!([true, true, true]), &format!("{page} at {top}"))?;
            }
        }
        Ok(())
    })
}

/// The contrast between text and background is at least 4.5, as WCAG 2.2, section 1.4.3, requires.
fn read() -> Result<(), Failed> {
    site("read", "paste", async |client, folder| {
        for theme in THEMES {
            client.execute("localStorage.setItem('mdbook-theme', arguments[0])", vec![json!(theme)]).await?;
            for (page, field, text, _) in EDITORS {
                open(client, &format!("{folder}/{page}.html")).await?;
                write(client, field, text).await?;
                let body = "const light = (color) => { const parts = color.match(/[0-9.]+/g).slice(0, 3).map((one) => Number(one) / 255)
                        .map((one) => one <= 0.04045 ? one / 12.92 : ((one + 0.055) / 1.055) ** 2.4); return 0.2126 * parts[0] + 0.7152 * parts[1] + 0.0722 * parts[2]; };
                    const ground = light(getComputedStyle(document.querySelector('.picture')).backgroundColor);
                    return [...document.querySelectorAll('.picture [data-scope], .numbers')].map((one) => {
                        const own = light(getComputedStyle(one).color);
                        return [one.dataset.scope ?? 'numbers', (Math.max(own, ground) + 0.05) / (Math.min(own, ground) + 0.05)]; })";
                let all: Vec<(String, f64)> = serde_json::from_value(client.execute(body, Vec::new()).await?)?;
                let faint: Vec<_> = all.iter().filter(|(_, contrast)| *contrast < 4.5).collect();
                assert!(all.len() > 3 && faint.is_empty(), "{theme} {page}: {faint:?}");
            }
        }
        Ok(())
    })
}

fn many() -> Result<(), Failed> {
    site("many", "paste", async |client, _| {
        ready(client).await?;
        let kernels = fs::read_to_string(root().join("examples/check/missing_barrier.ptx"))?;
        let (head, kernel) = kernels.split_at(kernels.find(".visible").ok_or("no kernel")?);
        let name = Regex::new(r"\.entry ([a-z_]+)")?.captures(kernel).ok_or("no name")?[1].to_owned();
        let all = (0..300).map(|number| kernel.replace(&name, &format!("{name}{number}"))).collect::<String>();
        let start = "form.elements.text.value = args[0]; form.elements.run.click(); await new Promise((next) => setTimeout(next, 100));
            return form.hasAttribute('aria-busy')";
        same(script(client, start, vec![json!(format!("{head}{all}"))]).await?, true, "the check runs")?;
        let scroll = "document.querySelector('#text').scrollTop = 50_000; await new Promise((next) => setTimeout(next, 100));
            return [form.hasAttribute('aria-busy'), Number(document.querySelector('.numbers').textContent.split('\\n')[0]) > 1000]";
        same(script(client, scroll, Vec::new()).await?, json!([true, true]), "the page scrolls during the check")?;
        wait(client, "!document.querySelector('form.ask').hasAttribute('aria-busy')").await?;
        let said = text(client, "#status").await?;
        assert!(said.ends_with(" in 300 kernels") && said.starts_with("Wrong"), "{said}");
        Ok(())
    })
}
