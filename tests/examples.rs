//! The examples, from source to PTX: by the compilers that people have, then by us.

mod support;

use std::process::Command;

use itertools::iproduct;
use libtest_mimic::{Arguments, Failed};
use support::{ASSEMBLERS, exists, ptx_atomics, root, success, target};

/// An example, and what its compiler needs.
const EXAMPLES: [(&str, &str); 2] =
    [("examples/ticket_lock.rs", "rustc on LLVM 22 with the sources of core"), ("examples/ticket_lock.cu", "clang-22")];

fn main() {
    let trials = iproduct!(EXAMPLES, [("sm_70", "ptx60"), ("sm_90", "ptx86")]).map(|((example, needs), (sm, ptx))| {
        let present = if example.ends_with(".rs") { rustc_with_core() } else { exists("clang-22") };
        let assembler = ASSEMBLERS.iter().find_map(|assembler| assembler.missing());
        let missing = if present { assembler } else { Some(needs) };
        support::trial(format!("{example} for {sm}"), missing, move || check(example, sm, ptx))
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit();
}

fn rustc_with_core() -> bool {
    let found = Command::new(root().join("scripts/to-llvm-ir")).arg("--find-rustc").output();
    found.is_ok_and(|output| output.status.success())
}

fn compile(example: &str, sm: &str, ptx: &str, plain: bool) -> Result<tempfile::NamedTempFile, Failed> {
    let output = tempfile::Builder::new().suffix(".ll").tempfile()?;
    let mut script = Command::new(root().join("scripts/to-llvm-ir"));
    script.arg(root().join(example)).arg(output.path()).env("CPU", sm).env("PTX", ptx);
    success(script.env("PLAIN", if plain { "1" } else { "" }))?;
    Ok(output)
}

fn check(example: &'static str, sm: &'static str, ptx: &'static str) -> Result<(), Failed> {
    let ir = compile(example, sm, ptx, false)?;
    let ours = success(ptx_atomics().arg("lower").arg(ir.path()))?;
    let plain = std::fs::read_to_string(compile(example, sm, ptx, true)?.path())?;

    // The whole difference that the README shows: what the compiler drops, and what stands there instead.
    assert!(plain.contains("atom.global.add.u32"), "{plain}");
    assert!(ours.contains("atom.acq_rel.sys.global.add.u32"), "{ours}");
    for instruction in ["ld.acquire.sys.global.b32", "st.release.sys.global.b32"] {
        assert_eq!(ours.matches(instruction).count(), 2, "{instruction}:\n{ours}");
    }
    let target = target(sm, Some(ptx));
    let mut known = ASSEMBLERS.iter().filter(|assembler| assembler.knows(&target));
    known.try_for_each(|assembler| assembler.assemble(&target, ours.as_bytes()))
}
