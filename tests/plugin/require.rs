//! `ptx_atomics_scope::require_pass!()`: a kernel that the pass has not lowered does not link.

use std::fs;

use libtest_mimic::{Failed, Trial};

use testing::{ASSEMBLERS, examples::to_llvm_ir, plugin::plugin, ptx_atomics, success, target};

use crate::plugin::hosts::{GPU, Host, PTX, instructions};

/// A kernel with an atomic of `core`, and a static that other code keeps.
const KERNEL: &str = "#![no_std]
#![feature(abi_ptx)]
use core::sync::atomic::*;
#[panic_handler] fn panic(_: &core::panic::PanicInfo) -> ! { loop {} }
#[used] static KEPT: u32 = 17;
REQUIRE
#[unsafe(no_mangle)]
pub unsafe extern \"ptx-kernel\" fn f(p: &AtomicU32) { p.fetch_add(1, Ordering::AcqRel); }
";

pub fn trials(hosts: impl IntoIterator<Item = Host>) -> Vec<Trial> {
    let assembler = ASSEMBLERS.iter().find_map(|assembler| assembler.missing());
    let rustcs = hosts.into_iter().filter_map(|host| match host {
        Host::Rustc(rustc) => Some((host, rustc)),
        _ => None,
    });
    let trials = rustcs.flat_map(|(host, rustc)| {
        ["0", "2", "3"].map(|level| {
            let name = format!("{} -O{level} requires the pass", host.name());
            testing::trial(name, host.missing().or(assembler), move || check(rustc, level))
        })
    });
    trials.collect()
}

fn check(rustc: &str, level: &str) -> Result<(), Failed> {
    let folder = tempfile::tempdir()?;
    let compile = |require: &str, plain: &str, flags: &str| -> Result<String, Failed> {
        let source = folder.path().join("kernel.rs");
        fs::write(&source, KERNEL.replace("REQUIRE", require))?;
        let variables =
            [("NVPTX_RUSTC", rustc), ("CPU", GPU), ("PTX", PTX), ("OPT", level), ("PLAIN", plain), ("FLAGS", flags)];
        Ok(fs::read_to_string(to_llvm_ir(&source, &variables)?.path())?)
    };
    let (macro_call, load) = ("ptx_atomics_scope::require_pass!();", format!("-Zllvm-plugins={}", plugin().display()));
    let ir = folder.path().join("kernel.ll");
    fs::write(&ir, compile(macro_call, "", "")?)?;
    let by_command = success(ptx_atomics().arg("lower").arg(&ir))?;
    let by_plugin = compile(macro_call, "1", &load)?;
    let forgotten = compile(macro_call, "1", "")?;
    let output = tempfile::NamedTempFile::new()?;
    for assembler in ASSEMBLERS {
        let target = target(GPU, Some(PTX));
        if !assembler.knows(&target) {
            continue;
        }
        for ptx in [&by_plugin, &by_command] {
            assembler.assemble_to(output.path(), &target, ptx.as_bytes())?;
            assert!(!ptx.contains("ptx_atomics$") && !ptx.contains("REQUIRED") && ptx.contains("KEPT"), "{ptx}");
        }
        let taken = assembler.assemble_to(output.path(), &target, forgotten.as_bytes());
        let said = taken.expect_err("the pass was forgotten");
        let said = said.message().unwrap_or_default().to_owned();
        assert!(said.contains("Cannot take address of function 'ptx_atomics$pass'"), "{said}");
    }
    // The macro adds no instruction.
    assert_eq!(instructions(&by_plugin, level), instructions(&compile("", "1", &load)?, level));
    Ok(())
}
