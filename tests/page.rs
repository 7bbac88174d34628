//! The results of the book's pages, which do not use LLVM, agree with the command.

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::PathBuf,
    process::Command,
};

use libtest_mimic::{Failed, Trial};
use ptx_atomics_page::{ir::fields, order::judged, run::answer};
use serde_json::{Map, Value, json};
use testing::{ptx_atomics, root};

pub fn trials() -> Vec<Trial> {
    vec![
        Trial::test("the page reads each lowered operation from its line", ir),
        Trial::test("the page reports the command's losses", order),
        Trial::test("the command of the page gives its result", run),
    ]
}

/// The command that the page shows for a run gives the page's result.
fn run() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let launches = [
        json!({}),
        json!({ "grid": "1", "seeds": "3" }),
        json!({ "launch": "grid=1 out=u32[128]=iota expect out[1] == 1 && out[0] != 7" }),
        json!({ "launch": "block=32 grid=2 shared=1K out=u32[7]", "block": "64" }),
        json!({ "launch": "grid=2 out=u32[256] expect out[0] <= 42 && out[1] >= 0" }),
    ];
    let mut count = 0;
    for kernel in ["barrier", "missing_barrier", "message", "narrow_scope", "missing_wait"] {
        let text = fs::read_to_string(root().join("examples/check").join(kernel).with_extension("ptx"))?;
        fs::write(folder.path().join("kernel.ptx"), &text)?;
        for mut question in launches.clone() {
            question["text"] = text.clone().into();
            let said: Value = serde_json::from_str(&answer(&question.to_string()))?;
            let Some([one]) = said["answer"]["runs"].as_array().map(|runs| &runs[..]) else { continue };
            let words = text_of(&one["command"]).replacen("ptx-atomics", &testing::binary().display().to_string(), 1);
            let command = Command::new("sh").args(["-c", &words]).current_dir(folder.path()).output()?;
            let printed = String::from_utf8(command.stderr)?;
            let summary = text_of(&one["summary"]);
            let status = one["status"].as_i64().and_then(|status| i32::try_from(status).ok());
            assert!(printed.contains(&summary) && command.status.code() == status, "{words}: {summary}\n{printed}");
            count += 1;
        }
    }
    if count > 15 { Ok(()) } else { Err(format!("only {count} runs").into()) }
}

/// The inputs in LLVM IR.
fn inputs() -> Result<Vec<PathBuf>, Failed> {
    let all = fs::read_dir(root().join("tests/inputs"))?.map(|entry| Ok(entry?.path()));
    let all: Vec<PathBuf> = all.collect::<Result<_, Failed>>()?;
    Ok(all.into_iter().filter(|path| path.extension().is_some_and(|extension| extension == "ll")).collect())
}

/// A lost operation: its function, the reasons, and the lines of the PTX.
type Lost = (String, String, Vec<u32>);

/// The page reports the same losses as the command, which reads the IR with LLVM. The test compares them on correct
/// PTX, and on PTX with weaker orderings and scopes.
fn order() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let ptx = folder.path().join("out.ptx");
    let weaker: [(&str, &str); 4] = [("", ""), (".acquire", ".relaxed"), (".acq_rel", ".relaxed"), (".gpu", ".cta")];
    let (mut count, mut wrong, mut skipped) = (0, Vec::new(), BTreeSet::new());
    // LLVM infers that some generic addresses point to the stack, where no ordering is needed.
    for path in inputs()?.into_iter().filter(|path| !path.ends_with("local.ll")) {
        let mut lower = ptx_atomics();
        lower.args(["lower", "--mcpu", "sm_100", "--mattr", "+ptx88", "-o"]).arg(&ptx).arg(&path);
        // An input without PTX is skipped.
        if !lower.output()?.status.success() {
            continue;
        }
        let (ir, strong) = (fs::read_to_string(&path)?, fs::read_to_string(&ptx)?);
        for (word, weak) in weaker {
            // A fence without an ordering is not a fence.
            let text = strong.replace(word, weak).replace("fence.relaxed", "// fence");
            let text = if word.is_empty() { strong.clone() } else { text };
            fs::write(&ptx, &text)?;
            let mut check = ptx_atomics();
            check.args(["check", "--json", "--optimize-atomics", "off", "--allow-empty", "--ir"]).arg(&path);
            let said = String::from_utf8(check.arg("--ptx").arg(&ptx).output()?.stdout)?;
            let said: Vec<Value> = said.lines().map(serde_json::from_str).collect::<Result<_, _>>()?;
            let is_lost = |found: &&Value| !["right", "not-judged", "effect"].contains(&&*text_of(&found["verdict"]));
            let expected: Vec<Lost> = said.iter().filter(is_lost).map(lost).collect::<Result<_, Failed>>()?;
            let mut unread = Vec::new();
            let order = judged(&ir, &text.parse()?, &mut unread);
            // Operations that the page cannot parse are reported, and not judged.
            if !unread.is_empty() {
                skipped.insert(path.file_name().map(ToOwned::to_owned));
                continue;
            }
            let found: Vec<Lost> =
                order.lost.into_iter().map(|lost| (lost.function, lost.reasons, lost.lines)).collect();
            count += expected.len();
            if found != expected {
                wrong.push(format!("{} with {weak} for {word}: {found:#?}\nand by LLVM {expected:#?}", path.display()));
            }
        }
    }
    assert_eq!(
        skipped,
        ["scoped.ll", "wide.ll"].map(|name| Some(name.into())).into(),
        "inputs that are not read whole"
    );
    if wrong.is_empty() && count > 100 { Ok(()) } else { Err(format!("of {count}: {}", wrong.join("\n")).into()) }
}

fn text_of(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn lost(found: &Value) -> Result<Lost, Failed> {
    let missing: Vec<String> = serde_json::from_value(found["missing"].clone())?;
    Ok((text_of(&found["function"]), missing.join(", "), serde_json::from_value(found["lines"].clone())?))
}

/// The page parses each operation that the command lowers from its line, and agrees with the command's remark.
fn ir() -> Result<(), Failed> {
    let (mut count, mut wrong) = (0, Vec::new());
    for path in inputs()? {
        let text = fs::read_to_string(&path)?;
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
            // Pointers in memory are 64-bit integers for the page, which does not parse vectors of pointers.
            let words = words.replacen(" ptr ", " i64 ", 1);
            if words.contains(" x ptr>") {
                continue;
            }
            let read = fields(source).map(|fields| fields.map(|fields| described(&fields)));
            // LLVM traces generic addresses to their variables; a single line does not have that information.
            let bare: String =
                words.split(' ').filter(|word| !word.starts_with("addrspace(")).collect::<Vec<_>>().join(" ");
            if read != Some(Ok(words.clone())) && (read != Some(Ok(bare)) || source.contains("addrspace(")) {
                wrong.push(format!("{}:{line}: expected {words}, found {read:?}", path.display()));
            }
        }
    }
    if wrong.is_empty() && count > 100 { Ok(()) } else { Err(format!("of {count}: {wrong:#?}").into()) }
}

/// The fields of the page in the syntax of a remark.
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
