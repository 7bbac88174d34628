//! The examples, from source to PTX: by the compilers that people have, then by us. Both texts are pinned, so that the
//! difference is seen: `snapshots/examples/<example>.<sm>.<compiler>.snap`.
//!
//! To accept a change: `INSTA_UPDATE=always cargo test --test examples`, then read the difference.

mod support;

use std::{
    fs,
    process::{Command, Output},
};

use itertools::{Itertools, iproduct};
use libtest_mimic::{Arguments, Failed};
use support::{ASSEMBLERS, exists, ptx_atomics, root, success, target};

const KERNELS: [&str; 5] = ["histogram", "message", "ring", "scan", "ticket_lock"];
/// Those that lose an order when the compiler loses that of read-modify-writes; the others lose a scope at most.
const LOSING: [&str; 2] = ["message", "ticket_lock"];
const GPUS: [(&str, &str); 2] = [("sm_70", "ptx60"), ("sm_90", "ptx86")];

#[derive(Clone)]
struct Example {
    path: String,
    loses_order: bool,
}

impl Example {
    /// The compiler, and what is missing of what it needs.
    fn compiler(&self) -> (&'static str, Option<&'static str>) {
        match self.path.rsplit_once('.').expect("a suffix").1 {
            "rs" => ("rustc", (!rustc_with_core()).then_some("rustc on LLVM 22 with the sources of core")),
            _ if !exists("clang-22") => ("clang", Some("clang-22")),
            "cpp" if !exists("g++") => ("clang", Some("g++, whose headers are those of C++")),
            _ => ("clang", None),
        }
    }

    fn name(&self) -> String {
        self.path.split_once('.').expect("a suffix").0.replace("/src/lib", "").replace('/', ".")
    }
}

fn examples() -> Vec<Example> {
    let every = |folder: &str, suffix: &str| {
        KERNELS.map(|kernel| Example {
            path: format!("{folder}/{kernel}.{suffix}"),
            loses_order: LOSING.contains(&kernel),
        })
    };
    let rust =
        ["ticket_lock.rs", "rust-kernel/src/lib.rs"].map(|path| Example { path: path.into(), loses_order: true });
    let clang = [("cuda", "cu"), ("freestanding-c", "c"), ("freestanding-cpp", "cpp")];
    rust.into_iter().chain(clang.into_iter().flat_map(|(folder, suffix)| every(folder, suffix))).collect()
}

fn main() {
    let assembler = ASSEMBLERS.iter().find_map(|assembler| assembler.missing());
    let trials = iproduct!(examples(), GPUS).map(|(example, (sm, ptx))| {
        let missing = example.compiler().1.or(assembler);
        support::trial(format!("{} for {sm}", example.path), missing, move || check(&example, sm, ptx))
    });
    libtest_mimic::run(&Arguments::from_args(), trials.collect()).exit();
}

fn rustc_with_core() -> bool {
    let found = Command::new(root().join("scripts/to-llvm-ir")).arg("--find-rustc").output();
    found.is_ok_and(|output| output.status.success())
}

fn compile(example: &Example, sm: &str, ptx: &str, plain: bool) -> Result<tempfile::NamedTempFile, Failed> {
    let output = tempfile::Builder::new().suffix(".ll").tempfile()?;
    let mut script = Command::new(root().join("scripts/to-llvm-ir"));
    script.arg(root().join("examples").join(&example.path)).arg(output.path()).env("CPU", sm).env("PTX", ptx);
    success(script.env("PLAIN", if plain { "1" } else { "" }))?;
    Ok(output)
}

fn check(example: &Example, sm: &'static str, ptx: &'static str) -> Result<(), Failed> {
    let ir = compile(example, sm, ptx, false)?;
    let plain = compile(example, sm, ptx, true)?;
    let ours = tempfile::Builder::new().suffix(".ptx").tempfile()?;
    success(ptx_atomics().arg("lower").arg(ir.path()).arg("-o").arg(ours.path()))?;

    let judge = |ptx: &tempfile::NamedTempFile| {
        ptx_atomics().arg("check").arg("--ir").arg(ir.path()).arg("--ptx").arg(ptx.path()).output()
    };
    let Output { status, stderr, .. } = judge(&ours)?;
    assert!(status.success(), "{}", String::from_utf8_lossy(&stderr));
    let said = String::from_utf8(judge(&plain)?.stderr)?;
    assert_eq!(said.contains("error: ordering lost"), example.loses_order, "{said}");

    let target = target(sm, Some(ptx));
    for (compiler, file) in [(example.compiler().0, &plain), ("ptx-atomics", &ours)] {
        let text = fs::read_to_string(file.path())?;
        let mut known = ASSEMBLERS.iter().filter(|assembler| assembler.knows(&target));
        known.try_for_each(|assembler| assembler.assemble(&target, text.as_bytes()))?;
        pin(format!("{}.{sm}.{compiler}", example.name()), &text);
    }
    Ok(())
}

/// Pins the instructions of a text: comments, and what debuggers read, change with the compilers.
fn pin(name: String, text: &str) {
    let for_debuggers = [".loc", ".file", ".section", "$L__tmp", "$L__func_"];
    let code = text.lines().map(|line| line.split("//").next().unwrap_or_default().trim_end());
    let code = code.filter(|line| !for_debuggers.iter().any(|start| line.trim_start().starts_with(start)));
    let code = code.filter(|line| !line.is_empty()).join("\n");
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path(root().join("snapshots/examples"));
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, code));
}
