//! What becomes of every input, pinned: `snapshots/mlir/<input>.<sm>.<mlir or ptx>.snap`, and of every file of
//! `nvvm/` at the lowest target that has it.
//!
//! To accept a change: `INSTA_UPDATE=always cargo test --test mlir pinned`, then read the difference.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use itertools::{Itertools, iproduct};
use libtest_mimic::{Failed, Trial};
use ptx_atomics_lowering::Target;

use testing::{ASSEMBLERS, exists, ptx_atomics, root, success, target};

/// GPU and PTX version: by `membar`, and by acquire and release. The strategies have no part in what MLIR adds.
const TARGETS: [(&str, &str); 2] = [("sm_60", "ptx63"), ("sm_90", "ptx86")];

/// An input and how it is lowered.
struct Case {
    name: String,
    input: PathBuf,
    text: String,
    target: Target,
}

pub fn trials() -> Vec<Trial> {
    let mut cases = Vec::new();
    for (input, (sm, ptx)) in iproduct!(files("inputs"), TARGETS) {
        let name = format!("{}.{sm}", stem(&input));
        cases.push(Case { name, text: read(&input), input, target: target(sm, Some(ptx)) });
    }
    for input in files("nvvm") {
        let text = read(&input);
        let (sm, ptx) = super::kept::target_of(&text).expect("a target");
        cases.push(Case { name: format!("nvvm.{}", stem(&input)), target: target(sm, Some(ptx)), text, input });
    }
    let names: BTreeSet<_> = cases.iter().flat_map(|case| case.outputs().map(|emit| case.snapshot(emit))).collect();
    let none_left = Trial::test("pinned: no snapshot without its trial", move || none_left(&names));
    let missing = ASSEMBLERS.iter().find_map(|assembler| assembler.missing());
    let missing = missing.or((!exists("mlir-opt-22")).then_some("mlir-opt-22"));
    let trials = cases.into_iter().flat_map(|case| {
        let name = format!("pinned: {}", case.name);
        let accepted = format!("pinned: {} is accepted", case.name);
        let case = std::sync::Arc::new(case);
        let again = case.clone();
        [Trial::test(name, move || case.check()), testing::trial(accepted, missing, move || again.accepted())]
    });
    trials.chain([none_left]).collect()
}

fn files(folder: &str) -> Vec<PathBuf> {
    let folder = fs::read_dir(root().join("tests/mlir").join(folder)).expect("the inputs");
    folder.map(|entry| entry.expect("an input").path()).sorted().collect()
}

fn read(path: &Path) -> String {
    fs::read_to_string(path).expect("an input")
}

fn stem(path: &Path) -> String {
    path.file_stem().expect("a name").to_string_lossy().into_owned()
}

impl Case {
    /// The kinds of output: all, but where a line of the input names some.
    fn outputs(&self) -> impl Iterator<Item = &'static str> {
        let named = self.text.lines().find_map(|line| line.strip_prefix("// EMIT: "));
        ["mlir", "ptx"].into_iter().filter(move |emit| named.is_none_or(|named| named.split(' ').contains(emit)))
    }

    fn snapshot(&self, emit: &str) -> String {
        format!("{}.{emit}", self.name)
    }

    /// Each file that is written: one for each module, and one of MLIR.
    fn lower(&self, emit: &str) -> Result<Vec<String>, Failed> {
        let folder = tempfile::tempdir()?;
        let mut command = ptx_atomics();
        command.arg("lower").arg(&self.input).args(["--emit", emit, "--mcpu", self.target.sm.name()]);
        command.args(["--mattr", &format!("+{}", self.target.ptx.feature())]);
        success(command.arg("-o").arg(folder.path()))?;
        let files = fs::read_dir(folder.path())?.map(|entry| entry.map(|entry| entry.path()));
        let files: Vec<_> = files.try_collect()?;
        Ok(files.iter().sorted().map(|path| read(path)).collect())
    }

    fn check(&self) -> Result<(), Failed> {
        for emit in self.outputs() {
            let text = self.lower(emit)?.join("\n");
            let mut settings = insta::Settings::clone_current();
            settings.set_snapshot_path(root().join("snapshots/mlir"));
            settings.set_prepend_module_to_snapshot(false);
            settings.set_omit_expression(true);
            settings.bind(|| insta::assert_snapshot!(self.snapshot(emit), text));
        }
        Ok(())
    }

    /// MLIR verifies its text, and every assembler takes the PTX; it is as strong as the LLVM IR that MLIR makes of the LLVM
    /// dialect asks for.
    fn accepted(&self) -> Result<(), Failed> {
        let folder = tempfile::tempdir()?;
        let path = |name: &str| folder.path().join(name);
        for emit in self.outputs() {
            for text in self.lower(emit)? {
                fs::write(path(emit), &text)?;
                if emit == "mlir" {
                    success(Command::new("mlir-opt-22").arg(path(emit)))?;
                    continue;
                }
                let mut known = ASSEMBLERS.iter().filter(|assembler| assembler.knows(&self.target));
                known.try_for_each(|assembler| assembler.assemble(&self.target, text.as_bytes()))?;
            }
        }
        if stem(&self.input).starts_with("llvm_") {
            let mut translate = Command::new("mlir-translate-22");
            success(translate.arg("--mlir-to-llvmir").arg(&self.input).arg("-o").arg(path("ll")))?;
            success(ptx_atomics().arg("check").arg("--ir").arg(path("ll")).arg("--ptx").arg(path("ptx")))?;
        }
        Ok(())
    }
}

fn none_left(names: &BTreeSet<String>) -> Result<(), Failed> {
    let files = fs::read_dir(root().join("snapshots/mlir"))?.map(|entry| entry.map(|entry| entry.file_name()));
    let files: Vec<_> = files.try_collect()?;
    let stems = files.iter().filter_map(|file| file.to_str()?.strip_suffix(".snap"));
    let left = stems.filter(|stem| !names.contains(*stem)).join(", ");
    if left.is_empty() { Ok(()) } else { Err(format!("snapshots of no trial: {left}").into()) }
}
