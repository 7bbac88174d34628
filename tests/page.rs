//! What the pages of the book read without LLVM is what LLVM reads.

use std::{collections::BTreeMap, fs};

use libtest_mimic::{Arguments, Failed, Trial};
use ptx_atomics_page::ir::fields;
use serde_json::{Map, Value};
use testing::{ptx_atomics, root};

fn main() {
    libtest_mimic::run(&Arguments::from_args(), vec![Trial::test("atomics of LLVM IR by lines", ir)]).exit();
}

/// Every operation that the command lowers is read from its line, as the remark of the command names it.
fn ir() -> Result<(), Failed> {
    let (mut count, mut wrong) = (0, Vec::new());
    for entry in fs::read_dir(root().join("tests/inputs"))? {
        let path = entry?.path();
        let is_ir = path.extension().is_some_and(|extension| extension == "ll");
        let text = fs::read_to_string(&path)?;
        if !is_ir {
            continue;
        }
        let folder = tempfile::tempdir()?;
        let mut command = ptx_atomics();
        command
            .args(["lower", "-v", "--mcpu", "sm_100", "--mattr", "+ptx88", "-o"])
            .arg(folder.path().join("out.ptx"))
            .arg(&path);
        let said = String::from_utf8(command.output()?.stderr)?;
        let mut lowered: BTreeMap<usize, String> = BTreeMap::new();
        for (place, words) in said.lines().filter_map(|line| line.split_once(" became ")?.0.split_once(": in '")) {
            let line = place.rsplit(':').next().and_then(|number| number.parse().ok()).ok_or("no line")?;
            lowered.insert(line, words.split_once("': ").ok_or("no words")?.1.to_owned());
        }
        for (line, words) in lowered {
            count += 1;
            let source = text.lines().nth(line - 1).unwrap_or_default();
            // Pointers in memory have the size of 64 bits; vectors of them are not read.
            let words = words.replacen(" ptr ", " i64 ", 1);
            if words.contains(" x ptr>") {
                continue;
            }
            let read = fields(source).map(|fields| fields.map(|fields| described(&fields)));
            // LLVM follows generic addresses to their variables; a line alone has no more than it says.
            let bare: String =
                words.split(' ').filter(|word| !word.starts_with("addrspace(")).collect::<Vec<_>>().join(" ");
            if read != Some(Ok(words.clone())) && (read != Some(Ok(bare)) || source.contains("addrspace(")) {
                wrong.push(format!("{}:{line}: {words} is read as {read:?}", path.display()));
            }
        }
    }
    if wrong.is_empty() && count > 100 { Ok(()) } else { Err(format!("of {count}: {wrong:#?}").into()) }
}

/// The fields in the words of a remark.
fn described(fields: &Map<String, Value>) -> String {
    let get = |name: &str| fields.get(name).and_then(Value::as_str).unwrap_or_default();
    let volatile = if fields.get("volatile") == Some(&Value::Bool(true)) { "volatile " } else { "" };
    let space = match get("space") {
        "global" => " addrspace(1)",
        "shared" => " addrspace(3)",
        "const" => " addrspace(4)",
        "local" => " addrspace(5)",
        "shared::cluster" => " addrspace(7)",
        _ => "",
    };
    let ty = match get("type") {
        "f16" => "half",
        "bf16" => "bfloat",
        "f32" => "float",
        "f64" => "double",
        "f16x2" => "<2 x half>",
        "f16x4" => "<4 x half>",
        "f16x8" => "<8 x half>",
        "bf16x2" => "<2 x bfloat>",
        "bf16x4" => "<4 x bfloat>",
        "bf16x8" => "<8 x bfloat>",
        "f32x2" => "<2 x float>",
        "f32x4" => "<4 x float>",
        "f64x2" => "<2 x double>",
        other => other,
    };
    let mut text = match get("operation") {
        "fence" => "fence".to_owned(),
        name @ ("load" | "store") => format!("{name} atomic {volatile}{ty}{space}"),
        "cmpxchg" => format!("cmpxchg {volatile}{ty}{space}"),
        rmw => format!("atomicrmw {volatile}{rmw} {ty}{space}"),
    };
    match get("scope") {
        "sys" => {}
        "gpu" => text += " syncscope(\"device\")",
        "cta" => text += " syncscope(\"block\")",
        other => text += &format!(" syncscope(\"{other}\")"),
    }
    for ordering in [get("ordering"), get("failure")].into_iter().filter(|ordering| !ordering.is_empty()) {
        text += if ordering == "relaxed" { " monotonic" } else { " " };
        text += if ordering == "relaxed" { "" } else { ordering };
    }
    text
}
