//! The examples from source to PTX: by the compilers of users and then the command, and by the compilers with the
//! plugin. The outputs of a compiler without and with the plugin are pinned in `snapshots/examples/<example>.snap`,
//! which shows the difference.
//!
//! To accept a change: `INSTA_UPDATE=always cargo test -p ptx-atomics-cli --test it -- '[examples]'`, then read the
//! difference.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::Command,
};

use itertools::Itertools;
use libtest_mimic::{Failed, Trial};
use ptx_atomics_golden::listing::{Show, Variant, listing};
use testing::{
    ASSEMBLERS, Assembler,
    examples::{Example, KERNELS, Output, compile, examples, find_rustc},
    plugin, ptx_atomics, root, snapshot, success, target,
};

const GPUS: [(&str, &str); 2] = [("sm_70", "ptx60"), ("sm_90", "ptx86")];

pub fn trials() -> Vec<Trial> {
    let assembler = ASSEMBLERS.iter().find_map(|assembler| assembler.missing());
    let names = examples().iter().map(Example::name).collect();
    let none_left =
        Trial::test("each snapshot has its trial", move || snapshot::none_left("snapshots/examples", &names));
    let trials = examples().into_iter().map(|example| {
        let missing = example.compiler().1.or(assembler);
        testing::trial(example.path.clone(), missing, move || check(&example))
    });
    let missing = vendored().is_none().then_some("rustc with the dependencies of its std");
    let cargo = testing::trial("cargo builds rust-kernel".into(), missing.or(assembler), build_by_cargo);
    let cargo = testing::left_to_all(cargo);
    trials.chain([cargo, none_left]).collect()
}

/// A rustc on the LLVM under test, and a folder with the dependencies of its std, which cargo requires even for `core`
/// alone.
fn vendored() -> Option<(String, PathBuf)> {
    let rustc = find_rustc("")?;
    let sysroot = success(Command::new(&rustc).args(["--print", "sysroot"])).ok()?;
    let folder = Path::new(sysroot.trim()).join("lib/rustlib/src/rust/library/vendor");
    folder.exists().then_some((rustc, folder))
}

/// Builds the project according to its README, with the plugin and `core`, without a network. A changed source is built
/// again.
fn build_by_cargo() -> Result<(), Failed> {
    let (rustc, vendored) = vendored().ok_or("no rustc")?;
    let target = target("sm_90", Some("ptx78"));
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("rust-kernel");
    // A copy of the plugin, which the test changes.
    let loader = tempfile::tempdir()?;
    let copy = || fs::copy(plugin::plugin(), loader.path().join("libptx_atomics.so"));
    copy()?;
    let others = env::var_os("LD_LIBRARY_PATH").unwrap_or_default();
    let folders = env::join_paths([loader.path().to_path_buf()].into_iter().chain(env::split_paths(&others)))?;
    let ptx = folder.join("kernels.ptx");
    let build = |variable: &str, value: &str| -> Result<(String, bool), Failed> {
        let mut cargo = Command::new("cargo");
        cargo.current_dir(root().join("examples/rust-kernel")).args(["rustc", "--release", "--offline", "--locked"]);
        cargo.args(["--config", "source.crates-io.replace-with='vendored'"]);
        cargo.arg("--config").arg(format!("source.vendored.directory='{}'", vendored.display()));
        cargo.arg("--target-dir").arg(&folder).arg("--").arg(format!("--emit=asm={}", ptx.display()));
        cargo.env("RUSTC", &rustc).env("RUSTC_BOOTSTRAP", "1").env_remove("RUSTFLAGS").env_remove("PTX_ATOMICS");
        // The project has its own lock file.
        cargo.env_remove("CARGO_RESOLVER_LOCKFILE_PATH").env("LD_LIBRARY_PATH", &folders).env(variable, value);
        let output = cargo.output()?;
        let said = String::from_utf8(output.stderr)?;
        if output.status.success() {
            Ok((fs::read_to_string(&ptx)?, said.contains("Compiling rust-kernel")))
        } else {
            Err(said.into())
        }
    };

    let output = tempfile::NamedTempFile::new()?;
    let (text, _) = build("PTX_ATOMICS", "")?;
    for kernel in KERNELS {
        assert!(text.contains(&format!(".entry {kernel}(")), "no {kernel}:\n{text}");
    }
    // The orderings that rustc alone loses: the space of the histogram, the release of the lock, the acquire of a
    // message.
    for instruction in ["atom.relaxed.sys.shared.add.u32", "atom.release.sys.global", "atom.acquire.sys.global"] {
        assert!(text.contains(instruction), "no {instruction}:\n{text}");
    }
    let assembled = |assembler: &Assembler| assembler.assemble_to(output.path(), &target, text.as_bytes());
    ASSEMBLERS.iter().try_for_each(assembled)?;

    assert_eq!(build("PTX_ATOMICS", "")?, (text.clone(), false), "expected no build without a change");
    let (scoped, compiled) = build("PTX_ATOMICS", "default-scope=gpu")?;
    assert!(compiled && scoped.contains("atom.release.gpu.global"), "expected a build with other options: {scoped}");
    assert_eq!(build("PTX_ATOMICS", "")?, (text.clone(), true), "expected a build with the first options");
    copy()?;
    assert_eq!(build("PTX_ATOMICS", "")?, (text, true), "expected a build with another plugin file");
    // The environment variable replaces the project's flags, including the plugin.
    let (forgotten, _) = build("RUSTFLAGS", "-Ctarget-cpu=sm_90")?;
    for assembler in ASSEMBLERS {
        let taken = assembler.assemble_to(output.path(), &target, forgotten.as_bytes());
        assert!(taken.is_err(), "{} takes\n{forgotten}", assembler.name);
    }
    Ok(())
}

/// Pins the output of the compiler for every GPU, without and with the plugin.
fn check(example: &Example) -> Result<(), Failed> {
    let compiled: Vec<_> =
        GPUS.iter().map(|(sm, ptx)| compiled(example, sm, ptx).map(|texts| (*sm, texts))).try_collect()?;
    let variants = compiled.iter().flat_map(|(gpu, [plain, plugin])| {
        [(example.compiler().0, plain), ("plugin", plugin)].map(|(by, text)| Variant { gpu, by, text })
    });
    let variants = variants.collect_vec();
    let text = listing(&variants, Show::Code)?;
    snapshot::pin_listing("snapshots/examples", &example.name(), &text, &variants)
}

/// The PTX of the compiler, and of the compiler with the plugin. The PTX with the plugin is judged and assembled like
/// the command's.
fn compiled(example: &Example, sm: &str, ptx: &str) -> Result<[String; 2], Failed> {
    let ir = compile(example, sm, ptx, Output::Ir)?;
    let plain = compile(example, sm, ptx, Output::Ptx)?;
    let plugin = compile(example, sm, ptx, Output::PtxByPlugin)?;
    let command = tempfile::Builder::new().suffix(".ptx").tempfile()?;
    success(ptx_atomics().arg("lower").arg(ir.path()).arg("-o").arg(command.path()))?;

    let judge = |ptx: &tempfile::NamedTempFile| {
        ptx_atomics().arg("check").arg("--ir").arg(ir.path()).arg("--ptx").arg(ptx.path()).output()
    };
    let judged = judge(&command)?;
    assert!(judged.status.success(), "{}", String::from_utf8_lossy(&judged.stderr));
    let said = String::from_utf8(judge(&plain)?.stderr)?;
    assert_eq!(said.contains("error: ordering lost"), example.loses_order(), "{said}");

    let target = target(sm, Some(ptx));
    for file in [&plain, &command, &plugin] {
        let text = fs::read(file.path())?;
        let mut known = ASSEMBLERS.iter().filter(|assembler| assembler.knows(&target));
        known.try_for_each(|assembler| assembler.assemble(&target, &text))?;
    }
    Ok([fs::read_to_string(plain.path())?, fs::read_to_string(plugin.path())?])
}
