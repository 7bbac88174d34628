//! The optimizer, from LLVM IR to PTX. `snapshots/optimizer/<input>.snap` has each kernel without and with the
//! optimizer, and the remarks.
//!
//! To accept a change: `INSTA_UPDATE=always cargo test -p ptx-atomics-cli --test it -- '[optimizer]'`, then read the difference.

use std::{collections::BTreeSet, fs, path::Path, process::Command};

use itertools::{Itertools, iproduct};
use libtest_mimic::{Failed, Trial};
use ptx_atomics::ptx::Module;
use ptx_atomics_common::callee::{Declared, Effect};
use testing::{ASSEMBLERS, ptx_atomics, root, snapshot, success, target, tool, trial};

const INPUTS: &str = "tests/optimizer";
const SNAPSHOTS: &str = "snapshots/optimizer";

/// Targets with and without a memory model, clusters, and acquire-only fences.
const GPUS: [(&str, Option<&str>); 6] =
    [("sm_60", None), ("sm_70", None), ("sm_80", None), ("sm_90", None), ("sm_90", Some("ptx86")), ("sm_100", None)];

pub fn trials() -> Vec<Trial> {
    let files = fs::read_dir(root().join(INPUTS)).expect("the inputs");
    let names = files.map(|entry| entry.expect("an input").file_name().to_string_lossy().replace(".ll", ""));
    let names: Vec<_> = names.sorted().collect();
    assert!(!names.is_empty());
    let of_input = |name: &String| {
        let (pinned, kept) = (name.clone(), name.clone());
        let pin = Trial::test(format!("{name} is pinned"), move || pin(&pinned));
        let right = iproduct!(GPUS, ["all", "off"]).map(move |((sm, ptx), optimize)| {
            let (name, trial) = (kept.clone(), format!("{kept} for {sm}{}, {optimize}", ptx.unwrap_or_default()));
            Trial::test(trial, move || right(&name, sm, ptx, optimize))
        });
        [pin].into_iter().chain(right).collect_vec()
    };
    let mut trials: Vec<_> = names.iter().flat_map(of_input).collect();
    let expected: BTreeSet<_> = names.into_iter().collect();
    trials.push(Trial::test("each snapshot has its trial", move || snapshot::none_left(SNAPSHOTS, &expected)));
    for of in LIBDEVICES {
        let file = root().join(".tools").join(of).join("nvidia/cuda_nvcc/nvvm/libdevice/libdevice.10.bc");
        let missing = (!file.exists()).then_some(of);
        trials.push(trial(format!("the optimizer knows libdevice of {of}"), missing, move || libdevice(&file)));
    }
    trials.push(Trial::test("plain code in shared memory equals its twin with scopes", twins));
    trials
}

/// The CUDA versions whose libdevice is installed with ptxas.
const LIBDEVICES: [&str; 2] = ["ptxas-11.8", "ptxas-12.9"];

/// The optimizer knows every function of libdevice by name, as a function that accesses only memory to which its
/// pointers point.
fn libdevice(file: &Path) -> Result<(), Failed> {
    let listed = success(
        Command::new(tool("llvm-nm")).args(["--defined-only", "--extern-only", "--format=just-symbols"]).arg(file),
    )?;
    let is_known = |name: &&str| {
        let declared = Declared::new(name, false);
        declared.is_some_and(|of| of.effect() == Some(Effect::Plain) && of.stays_in_cta(false))
    };
    let (known, unknown): (Vec<_>, Vec<_>) = listed.lines().partition(is_known);
    if known.len() < 300 || !unknown.is_empty() {
        return Err(format!("of {} functions, these are unknown: {unknown:?}", known.len()).into());
    }
    Ok(())
}

/// The PTX of an input, and the remarks.
fn lower(path: &Path, sm: &str, ptx: Option<&str>, optimize: &str) -> Result<(String, String), Failed> {
    let target = target(sm, ptx);
    let folder = tempfile::tempdir()?;
    let output = folder.path().join("out.ptx");
    let mut command = ptx_atomics();
    command.args(["lower", "-O1", "-v", "--mcpu", sm, "--optimize-atomics", optimize]).arg("-o").arg(&output).arg(path);
    command.arg(format!("--mattr=+{}", target.ptx.feature()));
    let done = command.output()?;
    let said = String::from_utf8(done.stderr)?;
    if !done.status.success() {
        return Err(said.into());
    }
    Ok((fs::read_to_string(output)?, said))
}

fn input(name: &str) -> std::path::PathBuf {
    root().join(INPUTS).join(format!("{name}.ll"))
}

/// The assemblers accept the PTX, and the checker finds every ordering and scope that the program needs.
fn right(name: &str, sm: &str, ptx: Option<&str>, optimize: &str) -> Result<(), Failed> {
    let (path, target) = (input(name), target(sm, ptx));
    let (text, _) = lower(&path, sm, ptx, optimize)?;
    for assembler in ASSEMBLERS.iter().filter(|assembler| assembler.missing().is_none() && assembler.knows(&target)) {
        assembler.assemble(&target, text.as_bytes())?;
    }
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("a.ptx");
    fs::write(&file, text)?;
    success(ptx_atomics().arg("check").arg("--ir").arg(path).arg("--ptx").arg(file))?;
    Ok(())
}

/// Pins the output for sm_90 with PTX 8.6, which has acquire-only fences.
fn pin(name: &str) -> Result<(), Failed> {
    let path = input(name);
    let (off, _) = lower(&path, "sm_90", Some("ptx86"), "off")?;
    let (on, said) = lower(&path, "sm_90", Some("ptx86"), "all")?;
    let (off, on) = (ordered(&off)?, ordered(&on)?);
    let mut text = String::new();
    for ((function, off), (_, on)) in off.iter().zip(&on) {
        text += &if off == on {
            format!("{function}, the same\n{off}\n")
        } else {
            format!("{function}, without\n{off}{function}, optimized\n{on}\n")
        };
    }
    let place = format!("{}/", root().display());
    let said = said.lines().filter(|line| line.contains(" optimized by "));
    let said = said.map(|line| line.replace(&place, "") + "\n").collect::<String>();
    snapshot::pin(SNAPSHOTS, name, &format!("{text}{said}"))
}

/// The instructions of each function that access shared or global memory, order, or branch.
fn ordered(ptx: &str) -> Result<Vec<(String, String)>, Failed> {
    let module: Module = ptx.parse()?;
    let lines: Vec<_> = ptx.lines().collect();
    let code = |number: u32| lines[number as usize - 1].split("//").next().unwrap_or_default();
    // LLVM writes a tab after the mnemonic of its own instructions.
    let text = |number: u32| code(number).split_whitespace().collect::<Vec<_>>().join(" ");
    let shown = |line: &String| {
        let words = ["atom", "red", "fence", "membar", "bra", "@", "$L"];
        let memory = line.starts_with("ld.") || line.starts_with("st.");
        memory && !line.contains(".param") || words.iter().any(|word| line.starts_with(word))
    };
    let function = |function: &ptx_atomics::ptx::Function| {
        let body = function.body.iter().flatten().map(|line| text(line.number)).filter(shown);
        (function.name.clone(), body.map(|line| format!("    {line}\n")).collect())
    };
    Ok(module.functions().filter(|function| function.body.is_some()).map(function).collect())
}

/// Explicit scopes instead of the scopes of the language.
fn twins() -> Result<(), Failed> {
    let plain = fs::read_to_string(input("scope"))?;
    let scoped = |line: &str| {
        let orders = ["acquire monotonic", "acq_rel", "release, align 4"];
        let order = orders.iter().find(|order| line.contains("addrspace(3)") && line.ends_with(*order));
        order.map_or(line.to_owned(), |order| line.replace(order, &format!("syncscope(\"block\") {order}")))
    };
    let twin = plain.lines().map(|line| scoped(line) + "\n").collect::<String>();
    assert_eq!(twin.matches("syncscope").count(), 3);
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("twin.ll");
    fs::write(&path, twin)?;
    // Before sm_90, an acquire of shared memory costs the same at every scope, and keeps its scope.
    for (sm, ptx) in GPUS.into_iter().filter(|(sm, ptx)| target(sm, *ptx).sm.number() >= 90) {
        let kernels = |path: &Path| ordered(&lower(path, sm, ptx, "on")?.0);
        assert_eq!(kernels(&input("scope"))?, kernels(&path)?, "{sm}");
    }
    Ok(())
}
