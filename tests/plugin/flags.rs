//! The table of flags in docs/plugin.md shows the results of the compilers without and with the plugin.

use std::{fs, path::Path, process::Command};

use itertools::Itertools;
use libtest_mimic::Failed;

use testing::{examples::to_llvm_ir, plugin, root, tool};

use crate::plugin::hosts::{GPU, PTX, filter, llc};

pub fn check() -> Result<(), Failed> {
    let page = fs::read_to_string(root().join("docs/plugin.md"))?;
    let section = page.split("\n## ").find(|section| section.starts_with("One flag")).ok_or("no section")?;
    let rows = section.lines().filter(|line| line.contains("libptx_atomics.so` |") || line.contains("-passes="));
    let mut hosts = Vec::new();
    for row in rows {
        let cells: Vec<_> = row.split('|').map(|cell| cell.trim().trim_end_matches('`')).collect();
        let (host, flag) = cells[1].split_once(" `").ok_or(row)?;
        let [without, with] = compile(host, flag)?.map(|text| text.split_whitespace().join(" "));
        for (text, shown) in [(without, cells[2]), (with, cells[3])] {
            let shown = shown.trim_start_matches('`');
            assert!(text.contains(shown), "{host}: no `{shown}` in\n{text}");
        }
        hosts.push(host.to_owned());
    }
    assert_eq!(hosts, ["rustc", "clang", "llc", "opt"]);
    Ok(())
}

/// The results of a compiler without and with the flag.
fn compile(host: &str, flag: &str) -> Result<[String; 2], Failed> {
    let flag = flag.replace("libptx_atomics.so", &plugin::plugin().display().to_string()).replace('\'', "");
    let flags: Vec<&str> = flag.split(' ').collect();
    let source = root().join("examples").join(if host == "clang" { "cuda/ticket_lock.cu" } else { "ticket_lock.rs" });
    let script = |source: &Path, plain: &str, flags: &str| -> Result<String, Failed> {
        let output = to_llvm_ir(source, &[("CPU", GPU), ("PTX", PTX), ("PLAIN", plain), ("FLAGS", flags)])?;
        Ok(fs::read_to_string(output.path())?)
    };
    if matches!(host, "rustc" | "clang") {
        return Ok([script(&source, "1", "")?, script(&source, "1", &flag)?]);
    }
    let ir = script(&source, "", "")?;
    let with = match host {
        "llc" => llc(&ir, "2", &flags)?,
        _ => llc(&filter(Command::new(tool("opt")).args(&flags).arg("-S"), &ir)?.0, "2", &[])?,
    };
    Ok([llc(&ir, "2", &[])?, with])
}
