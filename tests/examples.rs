//! The examples, from source to PTX: by the compilers that people have, then by us.

mod support;

use itertools::iproduct;
use libtest_mimic::{Arguments, Failed};
use support::{ASSEMBLERS, RUSTC, exists, ptx_atomics, root, rustc_with_core, success, target, to_llvm_ir};

/// An example, and what its compiler needs.
const EXAMPLES: [(&str, &str); 2] = [("examples/ticket_lock.rs", RUSTC), ("examples/ticket_lock.cu", "clang-22")];

fn main() {
    let trials = iproduct!(EXAMPLES, [("sm_70", "ptx60"), ("sm_90", "ptx86")]).map(|((example, needs), (sm, ptx))| {
        let present = if example.ends_with(".rs") { rustc_with_core() } else { exists("clang-22") };
        let assembler = ASSEMBLERS.iter().find_map(|assembler| assembler.missing());
        let missing = if present { assembler } else { Some(needs) };
        support::trial(format!("{example} for {sm}"), missing, move || check(example, sm, ptx))
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit();
}

fn check(example: &'static str, sm: &'static str, ptx: &'static str) -> Result<(), Failed> {
    let compile = |plain| to_llvm_ir(&root().join(example), &[("CPU", sm), ("PTX", ptx), ("PLAIN", plain)]);
    let ir = compile("")?;
    let ours = success(ptx_atomics().arg("lower").arg(ir.path()))?;
    let plain = std::fs::read_to_string(compile("1")?.path())?;

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
