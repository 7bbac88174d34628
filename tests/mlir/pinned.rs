//! The pinned outputs for every input (`snapshots/mlir/<input>.snap`), and for every file of `nvvm/` at the lowest
//! target that has the op. A snapshot has the MLIR and the functions of the PTX.
//!
//! To accept a change: `INSTA_UPDATE=always cargo test -p ptx-atomics-cli --test it -- '[mlir] pinned'`, then read the difference.

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
    sync::{Arc, OnceLock},
};

use itertools::{Itertools, iproduct};
use libtest_mimic::{Failed, Trial};
use ptx_atomics_golden::listing::{Show, Variant, listing, texts};
use ptx_lowering::Target;

use testing::{ASSEMBLERS, exists, ptx_atomics, root, snapshot, success, target, tool};

/// GPU and PTX version: a target with `membar`, and a target with acquire and release. The strategies do not affect the
/// code that MLIR adds.
const TARGETS: [(&str, &str); 2] = [("sm_60", "ptx63"), ("sm_90", "ptx86")];

/// An input, and its output for each target.
struct Case {
    name: String,
    input: PathBuf,
    text: String,
    targets: Vec<Target>,
    /// The outputs by kind and target.
    outputs: OnceLock<Result<Outputs, String>>,
}

type Outputs = Vec<(&'static str, Target, Vec<File>)>;

/// An output file: PTX for one module, or MLIR.
struct File {
    name: String,
    text: String,
}

pub fn trials() -> Vec<Trial> {
    let case = |name: String, input: PathBuf, text: String, targets: &[(&str, &str)]| {
        let targets = targets.iter().map(|(sm, ptx)| target(sm, Some(ptx))).collect();
        Case { name, input, text, targets, outputs: OnceLock::new() }
    };
    let inputs = files("inputs").into_iter().map(|input| case(stem(&input), input.clone(), read(&input), &TARGETS));
    let ops = files("nvvm").into_iter().map(|input| {
        let text = read(&input);
        let target = super::native_ops::target_of(&text).expect("a target");
        let target = (target.0.to_owned(), target.1.to_owned());
        case(format!("nvvm.{}", stem(&input)), input, text, &[(&target.0, &target.1)])
    });
    let cases = inputs.chain(ops).map(Arc::new).collect_vec();
    let names = cases.iter().map(|case| case.name.clone()).collect();
    let none_left =
        Trial::test("pinned: each snapshot has its trial", move || snapshot::none_left("snapshots/mlir", &names));
    let missing = ASSEMBLERS.iter().find_map(|assembler| assembler.missing());
    let missing = missing.or((!exists(tool("mlir-opt"))).then_some(tool("mlir-opt")));
    let trials = cases.into_iter().flat_map(|case| {
        let name = format!("pinned: {}", case.name);
        let accepted = format!("pinned: {} is accepted", case.name);
        let (again, other) = (case.clone(), super::native_ops::other_llvm(&case.text));
        let accepted = testing::trial(accepted, other.or(missing), move || again.accepted());
        [testing::trial(name, other, move || case.check()), accepted]
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

fn file_name(path: &Path) -> String {
    path.file_name().expect("a name").to_string_lossy().into_owned()
}

fn stem(path: &Path) -> String {
    path.file_stem().expect("a name").to_string_lossy().into_owned()
}

impl Case {
    /// The kinds of output: all, unless a line of the input names some.
    fn kinds(&self) -> impl Iterator<Item = &'static str> {
        let named = self.text.lines().find_map(|line| line.strip_prefix("// EMIT: "));
        ["mlir", "ptx"].into_iter().filter(move |emit| named.is_none_or(|named| named.split(' ').contains(emit)))
    }

    /// The files that the command writes. Both trials share one run.
    fn outputs(&self) -> Result<&Outputs, Failed> {
        let all =
            || iproduct!(self.kinds(), &self.targets).map(|(emit, target)| self.lower(emit, target)).try_collect();
        let message = |failed: Failed| failed.message().unwrap_or_default().to_owned();
        Ok(self.outputs.get_or_init(|| all().map_err(message)).as_ref()?)
    }

    fn lower(&self, emit: &'static str, target: &Target) -> Result<(&'static str, Target, Vec<File>), Failed> {
        let folder = tempfile::tempdir()?;
        let mut command = ptx_atomics();
        command.arg("lower").arg(&self.input).args(["--emit", emit, "--mcpu", target.sm.name()]);
        command.args(["--mattr", &format!("+{}", target.ptx.feature())]);
        success(command.arg("-o").arg(folder.path()))?;
        let paths = fs::read_dir(folder.path())?.map(|entry| entry.map(|entry| entry.path()));
        let paths: Vec<_> = paths.try_collect()?;
        let files = paths.iter().sorted().map(|path| File { name: file_name(path), text: read(path) });
        Ok((emit, *target, files.collect()))
    }

    /// Pins the whole MLIR, and the functions of each module of PTX.
    fn check(&self) -> Result<(), Failed> {
        let outputs = self.outputs()?;
        let mut text = String::new();
        for emit in self.kinds() {
            let of_kind = outputs.iter().filter(|(kind, ..)| *kind == emit).collect_vec();
            let names = of_kind.iter().flat_map(|(.., files)| files).map(|file| &file.name).unique();
            for name in names {
                let variants = of_kind.iter().flat_map(|(_, target, files)| {
                    let files = files.iter().filter(|file| file.name == *name);
                    files.map(|file| Variant { gpu: target.sm.name(), by: "", text: &file.text })
                });
                let variants = variants.collect_vec();
                text += &if emit == "mlir" {
                    texts(name, &variants)
                } else {
                    format!("{name}\n\n{}", listing(&variants, Show::Code)?)
                };
            }
        }
        snapshot::pin("snapshots/mlir", &self.name, &text)
    }

    /// mlir-opt verifies the MLIR, and every assembler accepts the PTX. For inputs in the LLVM dialect, `check`
    /// compares the PTX with the LLVM IR that MLIR translates the input to.
    fn accepted(&self) -> Result<(), Failed> {
        let folder = tempfile::tempdir()?;
        let path = |name: &str| folder.path().join(name);
        for (emit, target, files) in self.outputs()? {
            for File { text, .. } in files {
                fs::write(path(emit), text)?;
                if *emit == "mlir" {
                    success(Command::new(tool("mlir-opt")).arg(path(emit)))?;
                    continue;
                }
                let mut known = ASSEMBLERS.iter().filter(|assembler| assembler.knows(target));
                known.try_for_each(|assembler| assembler.assemble(target, text.as_bytes()))?;
                if stem(&self.input).starts_with("llvm_") {
                    let mut translate = Command::new(tool("mlir-translate"));
                    success(translate.arg("--mlir-to-llvmir").arg(&self.input).arg("-o").arg(path("ll")))?;
                    success(ptx_atomics().arg("check").arg("--ir").arg(path("ll")).arg("--ptx").arg(path(emit)))?;
                }
            }
        }
        Ok(())
    }
}
