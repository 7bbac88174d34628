//! The test of the machine code that ptxas generates for asynchronous instructions against the table, for each GPU that
//! the assembler supports.

use std::{path::PathBuf, process::Command};

use itertools::Itertools;
use libtest_mimic::{Failed, Trial};
use ptx_isa::{Assembled, Asynchronous, Family, Sm, Target};
use testing::{ASSEMBLERS, Assembler, root, success, trial};

const NVDISASM: &str = "nvdisasm-13.5";

pub fn trials() -> Vec<Trial> {
    let newest = ASSEMBLERS[ASSEMBLERS.len() - 1];
    let missing = newest.missing().or((!nvdisasm().exists()).then_some(NVDISASM));
    let name =
        |of: &str| format!("the machine code for {of} has the traps and the synchronous instructions of the table");
    let few = |sm: Sm| ["sm_90", "sm_120"].contains(&sm.to_string().as_str());
    let trials = vec![
        trial(name("two GPUs"), missing, move || compare(&newest, few)),
        testing::left_to_all(trial(name("every GPU"), missing, move || compare(&newest, |_| true))),
    ];
    trials
}

fn nvdisasm() -> PathBuf {
    root().join(".tools").join(NVDISASM).join("nvidia/cu13/bin/nvdisasm")
}

/// A form of each family that stores asynchronously or uses the fabric. For `st.async` and `red.async`, a form of each
/// kind.
fn forms() -> Vec<Asynchronous> {
    let is_one = |form: &Asynchronous| {
        let words = form.family().words();
        matches!(form.family(), Family::StAsync | Family::RedAsync)
            || words.starts_with("multimem.") && words.ends_with(".async")
            || words.starts_with("fabric.try_get")
            || words.starts_with("fabric.try_put")
            || words.starts_with("fabric.try_red")
    };
    let kind = |form: &Asynchronous| (form.family(), form.has("release"), form.has("mmio"), form.has("multimem"));
    // For these widths, the machine code has no other asynchronous stores.
    let is_plain = |form: &Asynchronous| ["u32", "b32", "b128"].iter().any(|ty| form.has(ty)) && !form.has("v2");
    Asynchronous::all().filter(|form| is_one(form) && is_plain(form)).unique_by(kind).collect()
}

fn compare(assembler: &Assembler, of: impl Fn(Sm) -> bool) -> Result<(), Failed> {
    let (mut compared, mut wrong) = ([0, 0, 0], Vec::new());
    for form in forms() {
        for sm in Sm::all().filter(|sm| sm.number() >= 90 && of(*sm)) {
            let target = Target { sm, ptx: assembler.newest() };
            if !assembler.knows(&target) || !target.meets(form.requirement()) {
                continue;
            }
            let opcodes = machine(assembler, &target, &form)?;
            let has = |begins: &[&str]| opcodes.iter().any(|own| begins.iter().any(|word| own.starts_with(word)));
            let found = match (has(&["BPT.TRAP"]), has(&["UBLKCP", "UBLKRED", "USTGR", "UREDGR", "STAS", "REDAS"])) {
                (_, true) => Assembled::AsWritten,
                (true, false) => Assembled::Trap,
                (false, false) => Assembled::Synchronous,
            };
            let synchronous = has(&["MEMBAR"]) && has(&["STG", "REDG"]);
            if found != form.assembled_for(sm) || (found == Assembled::Synchronous && !synchronous) {
                wrong.push(format!("{form} for {sm}: {found:?}, {}", opcodes.join(" ")));
            }
            compared[found as usize] += 1;
        }
    }
    println!("{compared:?} as written, as a trap, synchronous");
    if compared.iter().any(|count| *count < 4) || !wrong.is_empty() {
        return Err(format!("{compared:?}\n{}", wrong.join("\n")).into());
    }
    Ok(())
}

/// The opcodes of a kernel that contains only the instruction.
fn machine(assembler: &Assembler, target: &Target, form: &Asynchronous) -> Result<Vec<String>, Failed> {
    let text = form.to_string();
    let types = text.split('%').skip(1).filter_map(|name| name.split('_').next()).unique();
    let registers: String = types.map(|ty| format!(".reg .{ty} %{ty}_<30>;\n")).collect();
    let ptx = format!(
        ".version {}\n.target {}\n.address_size 64\n.visible .entry k()\n{{\n{registers}{text};\nret;\n}}\n",
        target.ptx, target.sm
    );
    let file = tempfile::NamedTempFile::new()?;
    assembler.assemble_to(file.path(), target, ptx.as_bytes())?;
    let text = success(Command::new(nvdisasm()).args(["-c", "-ndf"]).arg(file.path()))?;
    let opcode = |line: &str| {
        let (_, code) = line.split_once("*/")?;
        let code = code.trim().split(';').next()?;
        let mut words = code.split_whitespace().skip_while(|word| word.starts_with('@'));
        words.next().filter(|word| word.starts_with(char::is_uppercase)).map(ToOwned::to_owned)
    };
    Ok(text.lines().filter_map(opcode).collect())
}
