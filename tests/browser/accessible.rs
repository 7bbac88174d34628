//! The faults that axe finds in the pages.

use super::*;

/// A page of each kind.
pub const ACCESSIBLE: [&str; 11] = [
    "litmus",
    "explorer",
    "paste",
    "index",
    "words",
    "getting-started",
    "patterns",
    "scoreboard",
    "optimizer",
    "reference/fence",
    "reference/add",
];

pub fn axe() -> PathBuf {
    root().join(".tools/axe/axe_playwright_python/axe.min.js")
}

/// Axe finds no fault in a page, in each theme, on a desktop and on a phone.
pub fn accessible(page: &str) -> Result<(), Failed> {
    let axe = fs::read_to_string(axe())?;
    run(page, "axe", async |client: &Client| {
        let mut found = BTreeSet::new();
        for theme in editor::THEMES {
            for width in [360, 1280] {
                client.execute("localStorage.setItem('mdbook-theme', arguments[0])", vec![json!(theme)]).await?;
                client.set_window_size(width, 900).await?;
                client.refresh().await?;
                ready(client).await?;
                // The test opens folded parts, so that axe checks them.
                let open = "document.querySelectorAll('main details').forEach((one) => (one.open = true))";
                client.execute(open, vec![]).await?;
                sleep(Duration::from_millis(500)).await;
                client.execute(&axe, vec![]).await?;
                let body = "const done = arguments[0]; axe.run().then(({ violations }) => done(violations.flatMap(({ id, nodes }) =>
                    nodes.map((node) => `${id}: ${node.html.slice(0, 120)} ${node.any.map((one) => one.message).join(' ').slice(0, 160)}`))))";
                let violations = client.execute_async(body, vec![]).await?;
                found.extend(violations.as_array().into_iter().flatten().map(|one| format!("{theme} {width} {one}")));
            }
        }
        if found.is_empty() { Ok(()) } else { Err(format!("{} violations: {found:#?}", found.len()).into()) }
    })
}
