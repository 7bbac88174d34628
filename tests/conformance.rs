//! `ptx-atomics conformance` with compilers that are correct, that make one mistake, and that fail.
//!
//! A compiler here is a shell script. `$1` is the input, `$2` the output, `$3` the GPU and `$4` the PTX version.
//! Correct PTX comes from `ptx-atomics lower`.

mod mutants;

use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    os::unix::fs::PermissionsExt,
    path::PathBuf,
    process::{Command, Output},
};

use libtest_mimic::{Failed, Trial};
use ptx_atomics_conformance::{Cell, Language};
use ptx_atomics_reference::other_compilers;
use ptx_lowering::Target;
use pulldown_cmark::{Event, Options, Parser, Tag};
use serde_json::Value;
use testing::{ASSEMBLERS, binary, examples::rustc_missing, exists, llvm_version, ptx_atomics, root, tool, trial};

/// A filter that selects four functions.
const FEW: &str = "^(load-i32-(relaxed|seq_cst)|rmw-add-i32-(relaxed|seq_cst))-gpu-global$";
/// A correct compiler.
const OURS: &str = "$PTX_ATOMICS lower --mcpu $3 --mattr +$4 $1 -o $2";
/// The name of one of the four functions.
const ONE: &str = "load_i32_relaxed_gpu_global";

/// Compiles, if this program was started as a compiler with a mistake.
pub fn is_compiler() -> bool {
    let compiled = mutants::compile();
    if let Some(Err(failed)) = &compiled {
        eprintln!("error: {}", failed.message().unwrap_or_default());
        std::process::exit(1);
    }
    compiled.is_some()
}

pub fn trials() -> Vec<Trial> {
    let assembler = ASSEMBLERS[1].missing();
    let clang = (!exists(tool("clang"))).then_some(tool("clang"));
    let llc = (llvm_version() != 22 || !exists(tool("llc"))).then_some("llc-22");
    let version = Command::new("llc-22").arg("--version").output().map(|said| said.stdout).unwrap_or_default();
    let version = String::from_utf8_lossy(&version).contains(LLC.trim_start_matches("llc "));
    let other_llc = (!version).then_some(LLC);
    let nvcc = (!nvcc().exists()).then_some("nvcc");
    vec![
        trial("the suite gives each compiler its verdict".into(), assembler, compilers),
        Trial::test("the suite finds repeated and misdirected accesses", mutants::are_found),
        trial("the suite finds each kind of loss of llc 22".into(), llc, llc_22),
        trial("the reference has llc 22's verdicts".into(), llc.or(other_llc), reference),
        trial("the baseline of llc 22 has every failure".into(), llc, kept),
        Trial::test("the suite reports an ordering that ptxas drops", dropped),
        Trial::test("a baseline accepts its failures alone", baseline),
        Trial::test("each run of a compiler has a separate folder", folders),
        Trial::test("the report shows a compiler's error", errors),
        Trial::test("formats follow their readers", formats),
        Trial::test("a reproducer repeats its fault", reproducer),
        Trial::test("options choose functions", chosen),
        Trial::test("wrong usage has exit status 2", usage),
        trial("Rust".into(), rustc_missing(""), || language("rust", RUST)),
        trial("Rust with scopes".into(), rustc_missing(""), || language("rust-scope", RUST)),
        trial("C++".into(), clang, || language("c++", CPP)),
        trial("CUDA C++".into(), nvcc, || language("cuda", NVCC)),
    ]
}

fn nvcc() -> PathBuf {
    root().join(".tools/cuda-13.5/nvidia/cu13/bin/nvcc")
}

/// Runs the suite on a compiler.
fn conformance(options: &[&str], compiler: &str) -> Result<Output, Failed> {
    let mut command = ptx_atomics();
    command.arg("conformance").args(options);
    command.args(["--", "sh", "-c", compiler, "compiler", "{input}", "{output}", "{sm}", "{ptx}"]);
    command.env("PTX_ATOMICS", binary()).env("NVCC", nvcc()).env("TO_LLVM_IR", root().join("scripts/to-llvm-ir"));
    Ok(command.env("CLANG", tool("clang")).env("LLVM", llvm_version().to_string()).output()?)
}

/// The exit status, and the standard output.
fn status(output: &Output) -> (Option<i32>, String) {
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

/// The number of functions by verdict, in alphabetical order.
fn counts(output: &Output) -> Result<String, Failed> {
    let json: Value = serde_json::from_slice(&output.stdout)
        .map_err(|error| format!("{error}: {}", String::from_utf8_lossy(&output.stderr)))?;
    let counts: BTreeMap<String, u64> = serde_json::from_value(json[0]["counts"].clone())?;
    Ok(counts.iter().map(|(verdict, count)| format!("{count} {verdict}")).collect::<Vec<_>>().join(", "))
}

/// The ways in which a compiler can behave, and the verdicts on the four functions.
fn compilers() -> Result<(), Failed> {
    let check = |compiler: &str, expected: &str| -> Result<(), Failed> {
        let timeout = match (compiler.contains("sleep"), compiler.contains("OURS")) {
            (false, _) => "60",
            (true, true) => "5",
            (true, false) => "1",
        };
        let options = ["--filter", FEW, "--format", "json", "--timeout", timeout];
        let output = conformance(&options, &compiler.replace("OURS", OURS))?;
        let found = counts(&output)?;
        if found != expected || output.status.code() != Some(i32::from(expected != "4 right")) {
            return Err(format!("{compiler}: {found}, not {expected}: {}", output.status).into());
        }
        Ok(())
    };
    check("OURS", "4 right")?;
    // One part of the PTX is wrong.
    check("OURS && sed -i s/atom.relaxed.gpu/atom.relaxed.cta/ $2", "3 right, 1 scope")?;
    check("OURS && sed -i s/ld.acquire.gpu/ld.relaxed.gpu/ $2", "1 ordering, 3 right")?;
    check("OURS && sed -i s/ld.relaxed.gpu/ld/ $2", "1 not-atomic, 3 right")?;
    check("OURS && sed -i 's/add.u32/or.b32/' $2", "2 right, 2 value")?;
    check(
        "OURS && sed -i 's/ld.relaxed.gpu.global.b32[[:space:]]*%r[0-9]*,/ld.relaxed.gpu.global.b32 %r0,/' $2",
        "3 right, 1 value",
    )?;
    check("OURS && sed -i '/ld.relaxed.gpu/s/$/ trap;/' $2", "3 right, 1 value")?;
    check("OURS && sed -i /ld.relaxed.gpu/d $2", "1 missing, 3 right")?;
    check("OURS && sed -i '/ld.relaxed.gpu/s/$/ mov.b64 %rd1, nowhere;/' $2", "1 rejected, 3 right")?;
    // The compiler fails on one function.
    check(&format!("! grep -q {ONE} $1 && OURS"), "1 compiler-error, 3 right")?;
    check(&format!("grep -q {ONE} $1 && echo in function {ONE} >&2 && exit 1; OURS"), "1 compiler-error, 3 right")?;
    check(&format!("grep -q {ONE} $1 && kill -SEGV $$; OURS"), "1 crash, 3 right")?;
    check(&format!("grep -q {ONE} $1 && sleep 100; OURS"), "3 right, 1 timeout")?;
    check(&format!("OURS && sed -i s/{ONE}/another/ $2"), "1 missing, 3 right")?;
    check(&format!("OURS && sed -i 's/.func.*{ONE}(/& 1 2 3 }} ;/' $2"), "1 no-ptx, 3 right")?;
    // The compiler drops functions silently. The suite asks for them again.
    check("OURS && sed -i '/^}/,$d' $2 && echo } >> $2", "4 right")?;
    // The compiler fails on all functions.
    check("exit 3", "4 compiler-error")?;
    check("kill -ABRT $$", "4 crash")?;
    check("exit 139", "4 crash")?;
    check("sleep 100 & sleep 100", "4 timeout")?;
    check(":", "4 no-output")?;
    check(": > $2", "4 no-output")?;
    check("cat $1 > $2", "4 no-ptx")?;
    check("head -c 1000 /dev/urandom > $2", "4 no-ptx")?;
    check("OURS; head -c $(($(wc -c < $2) * 2 / 3)) $2 > $2.half; mv $2.half $2", "4 no-ptx")?;
    check("OURS && sed -i s/_i32_/_i23_/g $2", "4 missing")?;
    check("yes > $2", "4 too-long")
}

/// One function for each kind of loss.
fn llc_22() -> Result<(), Failed> {
    let functions = [
        "rmw-or-i64-acq_rel-cta-global",
        "rmw-or-i64-relaxed-sys-global",
        "rmw-fmax-double-acq_rel-cta-global",
        "load-i64-acquire-gpu-global-volatile",
        "cmpxchg-i64-relaxed-acquire-sys-local",
        "fence-acq_rel-thread",
        "load-i32-acquire-sys-global",
    ];
    let filter = format!("^({})$", functions.join("|"));
    let options = ["--filter", &filter, "--format", "json"];
    let output = conformance(&options, "llc-22 -mcpu=$3 -mattr=+$4 $1 -o $2")?;
    let expected = "1 crash, 1 ordering, 1 rejected, 1 right, 1 scope, 1 volatile, 1 weak-load-in-loop";
    if counts(&output)? != expected {
        return Err(format!("{}, not {expected}", counts(&output)?).into());
    }
    Ok(())
}

/// The version of llc in the reference of the book.
const LLC: &str = "llc 22.1.8";

/// The suite gives the verdicts on llc 22 that the reference recorded.
fn reference() -> Result<(), Failed> {
    let target = Target::new("sm_90".parse()?, Some("ptx90".parse()?))?;
    let cells: BTreeMap<String, Cell> =
        Language::Llvm.cells(&target, 22).into_iter().map(|cell| (cell.name.clone(), cell)).collect();
    let options = ["--mcpu", "sm_90", "--mattr", "+ptx90", "--sample", "400", "--format", "json", "--with-ptx"];
    let output = conformance(&options, "llc-22 -mcpu=$3 -mattr=+$4 $1 -o $2")?;
    let json: Value = serde_json::from_slice(&output.stdout)?;
    let mut compared = 0;
    for function in json[0]["functions"].as_array().ok_or("no functions")? {
        let (name, verdict) =
            (function["name"].as_str().ok_or("a name")?, function["verdict"].as_str().ok_or("a verdict")?);
        let cell = &cells[name];
        if !other_compilers::is_shown(cell) {
            continue;
        }
        let measured =
            other_compilers::find(LLC, "sm_90", cell).ok_or_else(|| format!("the reference lacks {name}"))?;
        if measured.verdict != verdict {
            return Err(format!("{name} is {verdict}, and in the reference {}", measured.verdict).into());
        }
        let given = opcodes(function["ptx"].as_str().unwrap_or_default());
        let shown = count_opcodes(measured, cell);
        if given != shown {
            return Err(format!("{name} has {given:?}, and in the reference {shown:?}").into());
        }
        compared += 1;
    }
    if compared < 200 {
        return Err(format!("only {compared} functions were compared").into());
    }
    Ok(())
}

/// The opcodes of atomics and fences in PTX, and the count of each.
fn opcodes(ptx: &str) -> BTreeMap<String, usize> {
    let words = ptx.lines().filter_map(|line| line.split_whitespace().find(|word| !word.starts_with('@')));
    let mut found = BTreeMap::new();
    for word in words.filter(|word| ["atom.", "fence.", "membar."].iter().any(|start| word.starts_with(start))) {
        *found.entry(word.trim_end_matches(';').to_owned()).or_default() += 1;
    }
    found
}

/// The opcodes and counts in the reference.
fn count_opcodes(measured: &other_compilers::Measured, cell: &Cell) -> BTreeMap<String, usize> {
    let level = if ["gpu", "cluster"].contains(&measured.scope) { "gl" } else { measured.scope };
    let words = [
        ("scope", measured.scope),
        ("level", level),
        ("space", measured.space),
        ("bits", &cell.ty.ty.bits().to_string()),
    ];
    let ptx = words.iter().fold(measured.ptx.to_owned(), |ptx, (name, word)| ptx.replace(&format!("<{name}>"), word));
    let mut found = BTreeMap::new();
    for part in ptx.split("; ") {
        let part = part.trim_start_matches("loop(").trim_end_matches(')');
        let (count, opcode) =
            part.split_once(" × ").map_or((1, part), |(count, opcode)| (count.parse().unwrap_or(0), opcode));
        for (opcode, _) in opcodes(opcode) {
            *found.entry(opcode).or_default() += count;
        }
    }
    found
}

/// An ordering that is in the PTX, although ptxas is known to drop it.
fn dropped() -> Result<(), Failed> {
    let said = |compiler: &str| -> Result<String, Failed> {
        let output = conformance(&["--no-ptxas", "--filter", "^rmw-add-i64-acq_rel-cta-shared$"], compiler)?;
        Ok(status(&output).1)
    };
    let words = "notes on functions that are right:\n  1  ptxas makes a loop of it";
    let (ours, other) = (said(OURS)?, said(&format!("{OURS} && sed -i s/atom.relaxed/atom.acq_rel/ $2"))?);
    if !ours.contains("right  1  100.0%") || ours.contains(words) || !other.contains(words) {
        return Err(format!("{ours}\n{other}").into());
    }
    Ok(())
}

/// The stored baseline of llc 22, and a baseline without the known failures.
fn kept() -> Result<(), Failed> {
    let said = |path: &str| -> Result<(Option<i32>, String), Failed> {
        let options = ["--baseline", path, "--no-ptxas", "--filter", "^(rmw-(add|nand)|cmpxchg)-i(16|32)-acq"];
        Ok(status(&conformance(&options, "llc-22 -mcpu=$3 -mattr=+$4 $1 -o $2")?))
    };
    let path = root().join("products/conformance/baselines/llc-22.txt");
    let path = path.to_str().ok_or("a path")?;
    let (status, text) = said(path)?;
    if status != Some(0)
        || !text.contains(" known failures, 0 new, ")
        || text.contains("\ncompared with the baseline: 0 known")
    {
        return Err(format!("{status:?}: {text}").into());
    }
    let folder = tempfile::tempdir()?;
    let less = folder.path().join("less");
    let known = fs::read_to_string(path)?;
    fs::write(
        &less,
        known.lines().filter(|line| !line.ends_with("ordering")).map(|line| format!("{line}\n")).collect::<String>(),
    )?;
    let (status, text) = said(less.to_str().ok_or("a path")?)?;
    if status != Some(1) || !text.contains("new: rmw-add-i32-acq_rel-gpu-global: ") {
        return Err(format!("{status:?}: {text}").into());
    }
    Ok(())
}

fn baseline() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("baseline");
    let path = file.to_str().ok_or("a path")?;
    let weak = format!("{OURS} && sed -i s/atom.relaxed.gpu/atom.relaxed.cta/ $2");
    let none =
        format!("{OURS} && sed -i 's/atom.relaxed.gpu.global.add/atom.relaxed.gpu.global.or/; s/add.u32/or.b32/' $2");
    let check = |options: &[&str], compiler: &str, code: i32, words: &str| -> Result<(), Failed> {
        let output = conformance(&[&["--filter", FEW], options].concat(), compiler)?;
        let (status, text) = status(&output);
        let errors = String::from_utf8_lossy(&output.stderr);
        if status != Some(code) || !text.contains(words) {
            return Err(format!("{options:?} {compiler}: {status:?}, not {code} with {words:?}\n{text}{errors}").into());
        }
        Ok(())
    };
    check(&[], &weak, 1, "scope lost")?;
    check(&["--write-baseline", path], &weak, 0, "scope lost")?;
    let written = fs::read_to_string(&file)?;
    if written.lines().skip(1).collect::<Vec<_>>() != ["sm_90 ptx88 rmw-add-i32-relaxed-gpu-global scope"] {
        return Err(written.into());
    }
    check(&["--baseline", path], &weak, 0, "1 known failures, 0 new, 0 fixed")?;
    check(&["--baseline", path], OURS, 0, "fixed: rmw-add-i32-relaxed-gpu-global: right")?;
    check(&["--baseline", path], &none, 1, "new: rmw-add-i32-seq_cst-gpu-global: wrong value")?;
    // A known failure became a worse failure.
    check(&["--baseline", path], &none, 1, "0 known failures, 2 new, 0 fixed")?;
    // The baseline has no entry for another target.
    check(&["--baseline", path, "--mcpu", "sm_100"], &weak, 1, "0 known failures, 1 new, 0 fixed")?;
    fs::write(&file, "sm_90 ptx88\n")?;
    let output = conformance(&["--baseline", path], OURS)?;
    let errors = String::from_utf8_lossy(&output.stderr);
    if output.status.code() != Some(2) || !errors.contains("line 1") {
        return Err(format!("{}: {errors}", output.status).into());
    }
    // The output of another format is not a baseline.
    fs::write(&file, conformance(&["--filter", FEW, "--format", "json"], OURS)?.stdout)?;
    let output = conformance(&["--baseline", path], OURS)?;
    let errors = String::from_utf8_lossy(&output.stderr);
    if output.status.code() != Some(2) || !errors.contains("write a baseline by `--write-baseline FILE`") {
        return Err(format!("{}: {errors}", output.status).into());
    }
    Ok(())
}

/// Each run of a compiler has a separate folder, and relative paths keep their meaning.
fn folders() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let here = folder.path();
    // The script leaves a file in its folder, and fails if another run has left the file there.
    let script = "#!/bin/sh\n[ ! -e left ] && touch left && \"$PTX_ATOMICS\" lower --mcpu $3 --mattr +$4 $1 -o $2 && grep -q words \"$5\"\n";
    fs::create_dir(here.join("bin"))?;
    fs::write(here.join("bin/wrapper"), script)?;
    fs::set_permissions(here.join("bin/wrapper"), fs::Permissions::from_mode(0o755))?;
    fs::write(here.join("bin/data"), "words")?;
    let run = |words: &[&str]| -> Result<(Option<i32>, String), Failed> {
        let mut command = ptx_atomics();
        command.args([
            "conformance",
            "--no-ptxas",
            "--filter",
            FEW,
            "--batch",
            "1",
            "--jobs",
            "4",
            "--report",
            "lost",
            "--",
        ]);
        Ok(status(&command.args(words).current_dir(here).env("PTX_ATOMICS", binary()).output()?))
    };
    let words = ["{input}", "{output}", "{sm}", "{ptx}", "bin/data"];
    for start in [&["./bin/wrapper"][..], &["bin/wrapper"], &["sh", "bin/wrapper"]] {
        let (code, text) = run(&[start, &words].concat())?;
        if code != Some(0) || here.join("left").exists() {
            return Err(format!("{start:?}: {code:?}\n{text}").into());
        }
    }
    // The reproducer has the function's file, and no file that the compiler leaves.
    let (code, text) = run(&["sh", "-c", "touch left; echo no >&2; false", "{input}"])?;
    let left: BTreeSet<_> = fs::read_dir(here.join("lost/sm_90-ptx88-compiler-error-load"))?
        .map(|entry| entry.map(|entry| entry.file_name().to_string_lossy().into_owned()))
        .collect::<Result<_, _>>()?;
    if code != Some(1) || left != BTreeSet::from(["README.md", "input.ll"].map(str::to_owned)) {
        return Err(format!("{code:?} {left:?}\n{text}").into());
    }
    Ok(())
}

/// For a failing compiler, the report shows its error and not an earlier warning.
fn errors() -> Result<(), Failed> {
    let output = conformance(&["--filter", FEW], "echo 'warning: unused' >&2; echo 'error: no such GPU' >&2; exit 3")?;
    let (_, text) = status(&output);
    if !text.contains("exit status 3: error: no such GPU\n") {
        return Err(text.into());
    }
    Ok(())
}

/// Each format reports that one of four functions is wrong, as an independent reader finds.
fn formats() -> Result<(), Failed> {
    let weak = format!("{OURS} && sed -i s/atom.relaxed.gpu/atom.relaxed.cta/ $2");
    let text = |format: &str| -> Result<String, Failed> {
        let output =
            conformance(&["--filter", FEW, "--format", format, "--mcpu", "sm_90,sm_100", "--with-ptx"], &weak)?;
        Ok(String::from_utf8(output.stdout)?)
    };
    let wrong = |what: &str, text: &str| -> Result<(), Failed> { Err(format!("{what}:\n{text}").into()) };

    let json: Value = serde_json::from_str(&text("json")?)?;
    let lost = &json[1]["functions"][2];
    let fields = ["name", "kind", "operation", "type", "ordering", "scope", "verdict", "standing", "values"];
    let values = fields.map(|field| lost[field].as_str().unwrap_or_default());
    let name = "rmw-add-i32-relaxed-gpu-global";
    if values != [name, "atomicrmw", "add", "i32", "monotonic", "device", "scope", "failure", "right"]
        || json[1]["sm"] != "sm_100"
    {
        wrong("json", &lost.to_string())?;
    }
    // The PTX is the whole function.
    let whole =
        format!("{}{}", json[1]["heads"][0].as_str().unwrap_or_default(), lost["ptx"].as_str().unwrap_or_default());
    ASSEMBLERS[1].missing().map_or_else(
        || ASSEMBLERS[1].assemble(&testing::target("sm_100", Some("ptx88")), whole.as_bytes()),
        |_| Ok(()),
    )?;

    let junit = text("junit")?;
    let xml = roxmltree::Document::parse(&junit)?;
    let count = |tag: &str| xml.descendants().filter(|node| node.has_tag_name(tag)).count();
    let root = xml.root_element();
    let said = [root.attribute("tests"), root.attribute("failures")];
    if (count("testsuite"), count("testcase"), count("failure"), count("skipped")) != (2, 8, 2, 0)
        || said != [Some("8"), Some("2")]
    {
        wrong("junit", &junit)?;
    }

    let svg = text("svg")?;
    let xml = roxmltree::Document::parse(&svg)?;
    let titles = xml.descendants().filter(|node| node.has_tag_name("title")).filter_map(|node| node.text());
    let titles: Vec<_> = titles.skip(1).collect();
    if titles[..2] != ["sm_90 ptx88: right, 75.0%", "sm_90 ptx88: scope lost, 25.0%"] || titles.len() != 4 {
        wrong("svg", &svg)?;
    }

    let markdown = text("markdown")?;
    let events = Parser::new_ext(&markdown, Options::ENABLE_TABLES);
    let rows = events.filter(|event| matches!(event, Event::Start(Tag::TableRow))).count();
    if rows != 2 * (2 + 1) || !markdown.contains(&format!("| scope lost | atomicrmw | 1 | {name} |")) {
        wrong("markdown", &markdown)?;
    }
    Ok(())
}

/// The folder of a reproducer is complete: `check` finds the same fault in it.
fn reproducer() -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let path = folder.path().to_str().ok_or("a path")?;
    let weak = format!("{OURS} && sed -i s/atom.relaxed.gpu/atom.relaxed.cta/ $2");
    conformance(&["--filter", "add-i(32|64)-relaxed-gpu-global$", "--report", path], &weak)?;
    let found = folder.path().join("sm_90-ptx88-scope-atomicrmw");
    let text = fs::read_to_string(found.join("README.md"))?;
    let expected = [
        "# scope lost: `rmw-add-i64-relaxed-gpu-global`",
        "an access of scope cta, not gpu",
        "compiler input.ll output.ptx sm_90 ptx88",
        "atom.relaxed.cta.global.add.u64",
        "atom.relaxed.gpu.global.add.u64 %d, [%a], %b;",
        "2 functions fail like this",
        "- `rmw-add-i32-relaxed-gpu-global`",
    ];
    for words in expected {
        if !text.contains(words) {
            return Err(format!("no {words:?} in\n{text}").into());
        }
    }
    let mut check = ptx_atomics();
    check.arg("check").arg("--ir").arg(found.join("input.ll")).arg("--ptx").arg(found.join("output.ptx"));
    let errors = String::from_utf8(check.output()?.stderr)?;
    if !errors.contains("scope lost: an access of scope cta, not gpu") {
        return Err(errors.into());
    }
    Ok(())
}

/// The shards together are the whole, and a sample is always the same.
fn chosen() -> Result<(), Failed> {
    let names = |options: &[&str]| -> Result<Vec<String>, Failed> {
        let all = ["--filter", "^(load|fence)-", "--format", "json", "--no-ptxas", "--batch", "1000"];
        let output = conformance(&[&all, options].concat(), "exit 1")?;
        let json: Value = serde_json::from_slice(&output.stdout)?;
        let functions = json[0]["functions"].as_array().ok_or("functions")?.clone();
        Ok(functions.iter().filter_map(|function| Some(function["name"].as_str()?.to_owned())).collect())
    };
    let all = names(&["--sample", "20"])?;
    let mut shards =
        [names(&["--sample", "20", "--shard", "1/3"])?, names(&["--sample", "20", "--shard", "2/3"])?].concat();
    shards.extend(names(&["--sample", "20", "--shard", "3/3"])?);
    shards.sort();
    let mut sorted = all.clone();
    sorted.sort();
    if all.len() != 20 || shards != sorted || names(&["--sample", "20"])? != all {
        return Err(format!("{all:?} {shards:?}").into());
    }
    Ok(())
}

fn usage() -> Result<(), Failed> {
    let check = |arguments: &[&str], words: &str| -> Result<(), Failed> {
        let output = ptx_atomics().arg("conformance").args(arguments).output()?;
        let errors = String::from_utf8_lossy(&output.stderr);
        if output.status.code() != Some(2) || !errors.contains(words) {
            return Err(format!("{arguments:?}: {}: {errors}", output.status).into());
        }
        Ok(())
    };
    check(&[], "required")?;
    check(&["--", "llc"], "the command has no {input}")?;
    check(
        &["--", "llc", "-mcpu={gpu}", "{input}"],
        "expected a placeholder ({input}, {output}, {sm}, {number}, {ptx}), found {gpu}",
    )?;
    check(&["--", "no-such-compiler", "{input}"], "cannot find the program 'no-such-compiler'")?;
    check(&["--filter", "nothing", "--", "true", "{input}"], "the options choose no function")?;
    check(&["--filter", "(", "--", "true", "{input}"], "regex parse error")?;
    check(
        &["--language", "fortran", "--", "true", "{input}"],
        "possible values: llvm, llvm7, rust, rust-scope, c++, cuda",
    )?;
    check(&["--baseline", "/nowhere", "--", "true", "{input}"], "cannot read '/nowhere'")?;
    check(&["--batch", "0", "--", "true", "{input}"], "a number from 1 on")?;
    check(&["--mcpu", "sm_90", "--mattr", "+ptx60", "--", "true", "{input}"], "sm_90")
}

const RUST: &str = "CPU=$3 PTX=$4 $TO_LLVM_IR $1 $2.ll && $PTX_ATOMICS lower --mcpu $3 --mattr +$4 $2.ll -o $2";
const CPP: &str = "$CLANG --target=nvptx64-nvidia-cuda -march=$3 -Xclang -target-feature -Xclang +$4 -O2 -S -emit-llvm $1 -o $2.ll \
    && $PTX_ATOMICS lower --mcpu $3 --mattr +$4 $2.ll -o $2";
const NVCC: &str = "$NVCC -std=c++17 -rdc=true -O3 -ptx -arch=$3 $1 -o $2";

/// The functions in a sample of a language are correct, including their values.
fn language(name: &str, compiler: &str) -> Result<(), Failed> {
    let output = conformance(&["--language", name, "--sample", "60", "--format", "json"], compiler)?;
    let json: Value = serde_json::from_slice(&output.stdout)?;
    let functions = json[0]["functions"].as_array().ok_or("functions")?;
    // For 8 and 16 bits, the first load of libcu++ loses the acquire of a failed comparison. A single thread needs none.
    let lost = |function: &Value| {
        let of_name = |words: &[&str]| words.iter().any(|word| function["name"].to_string().contains(word));
        name == "cuda"
            && of_name(&["cmpxchg-i8-", "cmpxchg-i16-"])
            && !function["ordering"].to_string().contains(" monotonic")
            && function["scope"] != "singlethread"
    };
    let is_bad = |function: &&Value| function["verdict"] != if lost(function) { "ordering" } else { "right" };
    let bad: Vec<_> = functions.iter().filter(is_bad).collect();
    if functions.len() != 60 || !bad.is_empty() {
        return Err(format!("{} functions: {bad:?}", functions.len()).into());
    }
    Ok(())
}
