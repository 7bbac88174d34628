//! The code of every input, pinned: `snapshots/<input>.snap`, by function, for every strategy and GPU.
//!
//! The whole of each module is assembled, and some are compared with what the command writes.
//!
//! To accept a change: `INSTA_UPDATE=always cargo test -p ptx-atomics-cli --test snapshots`, then read the difference.

use std::{
    collections::BTreeSet,
    fs,
    path::{Path, PathBuf},
    sync::OnceLock,
};

use itertools::{Itertools, iproduct};
use libtest_mimic::{Arguments, Failed, Trial};
use ptx_atomics::{
    llvm::{Input, Options},
    ptx_from_llvm_ir,
};
use ptx_atomics_lowering::{Strategy, Target, ptx::Scope};
use strum::IntoEnumIterator;
use testing::{
    ASSEMBLERS, Assembler,
    listing::{Variant, listing},
    ptx_atomics, root, snapshot, success, target,
};

const GPUS: [(&str, Option<&str>); 6] =
    [("sm_35", None), ("sm_60", None), ("sm_70", None), ("sm_80", None), ("sm_90", Some("ptx86")), ("sm_100", None)];

/// The strategies that are pinned for a GPU. Before sm_70 all give the same, and `auto` is the recommended one wherever its
/// own test says so.
fn strategies(sm: &str) -> Vec<Strategy> {
    match sm {
        "sm_35" | "sm_60" => vec![Strategy::Recommended],
        _ => Strategy::iter().filter(|strategy| *strategy != Strategy::Auto).collect(),
    }
}

/// An input, and what is made of it for each target and strategy.
struct Pinned {
    /// From the root.
    path: PathBuf,
    modules: Vec<Lowered>,
}

struct Lowered {
    target: Target,
    strategy: Strategy,
    ptx: OnceLock<Result<String, String>>,
}

fn main() {
    let inputs: &[Pinned] = Vec::leak(inputs());
    let names: BTreeSet<_> = inputs.iter().map(Pinned::name).collect();
    let mut trials =
        vec![Trial::test("no snapshot without its trial", move || snapshot::none_left("snapshots", &names))];
    for (index, input) in inputs.iter().enumerate() {
        trials.push(Trial::test(input.name(), || input.check()));
        // One module of each input, of every GPU and strategy in turn.
        let module = &input.modules[5 * index % input.modules.len()];
        let name = format!("the command gives the same: {}, {}, {}", input.name(), module.target.sm, module.strategy);
        trials.push(Trial::test(name, || input.as_the_command(module)));
    }
    for (assembler, (sm, ptx)) in iproduct!(ASSEMBLERS, GPUS) {
        let target = target(sm, ptx);
        if assembler.knows(&target) {
            let name = format!("{} accepts what is pinned for {target}", assembler.name);
            trials.push(testing::trial(name, assembler.missing(), move || accepted(&assembler, &target, inputs)));
        }
    }
    libtest_mimic::run(&Arguments::from_args(), trials).exit();
}

fn inputs() -> Vec<Pinned> {
    let folder = Path::new("tests/inputs");
    let files =
        fs::read_dir(root().join(folder)).expect("the inputs").map(|entry| entry.expect("an input").file_name());
    let input = |file| {
        let path = folder.join(file);
        let text = fs::read_to_string(root().join(&path)).expect("an input");
        // An input that some GPUs have not names those that do.
        let named = text.lines().next().and_then(|line| line.strip_prefix("; GPUS:"));
        let gpus = GPUS.iter().filter(|(sm, _)| named.is_none_or(|gpus| gpus.split_whitespace().contains(sm)));
        let modules = gpus.flat_map(|(sm, ptx)| {
            let lowered = |strategy| Lowered { target: target(sm, *ptx), strategy, ptx: OnceLock::new() };
            strategies(sm).into_iter().map(lowered)
        });
        Pinned { path, modules: modules.collect() }
    };
    files.sorted().map(input).collect()
}

impl Pinned {
    fn name(&self) -> String {
        self.path.file_stem().expect("a file name").to_string_lossy().into_owned()
    }

    /// What the library makes of it, once for all trials.
    fn ptx<'l>(&self, module: &'l Lowered) -> Result<&'l str, Failed> {
        let lower = || {
            let policy = module.strategy.into();
            let options =
                Options { policy, default_scope: default_scope(&module.target), ..Options::new(module.target) };
            let input = Input::new(self.name(), fs::read(root().join(&self.path)).expect("an input"));
            let ptx = ptx_from_llvm_ir(&input, &options).map_err(|errors| format!("{errors:?}"))?;
            String::from_utf8(ptx).map_err(|error| error.to_string())
        };
        Ok(module.ptx.get_or_init(lower).as_ref()?)
    }

    fn check(&self) -> Result<(), Failed> {
        let variants: Vec<_> = self.modules.iter().map(|module| self.variant(module)).try_collect()?;
        snapshot::pin("snapshots", &self.name(), &listing(&variants)?)
    }

    fn variant<'l>(&self, module: &'l Lowered) -> Result<Variant<'l>, Failed> {
        let (ptx, target) = (self.ptx(module)?, &module.target);
        let head = format!(".version {}\n.target {}\n", target.ptx, target.sm);
        assert!(ptx.contains(&head), "no {head} in\n{ptx}");
        Ok(Variant { gpu: target.sm.name(), by: module.strategy.into(), text: ptx })
    }

    fn as_the_command(&self, module: &Lowered) -> Result<(), Failed> {
        let Lowered { target, strategy, .. } = module;
        let mut command = ptx_atomics();
        command.arg("lower").arg(&self.path).args(["--mcpu", target.sm.name(), "--strategy", strategy.into()]);
        command.arg(format!("--mattr=+{}", target.ptx.feature()));
        command.arg(format!("--default-scope={}", default_scope(target)));
        assert_eq!(success(&mut command)?, self.ptx(module)?);
        Ok(())
    }
}

/// sm_35 has no rmw of system scope.
fn default_scope(target: &Target) -> Scope {
    if target.sm.number() < 60 { Scope::Gpu } else { Scope::Sys }
}

/// Assembles every different module for a GPU.
fn accepted(assembler: &Assembler, target: &Target, inputs: &[Pinned]) -> Result<(), Failed> {
    let modules = inputs.iter().flat_map(|input| input.modules.iter().map(move |module| (input, module)));
    let for_target = modules.filter(|(_, module)| module.target == *target);
    let different: BTreeSet<_> = for_target.map(|(input, module)| input.ptx(module)).try_collect()?;
    assert!(!different.is_empty(), "nothing is pinned for this GPU");
    different.into_iter().try_for_each(|ptx| assembler.assemble(target, ptx.as_bytes()))
}
