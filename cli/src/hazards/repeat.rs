//! The command that repeats an execution.

use std::path::Path;

use ptx_hazards::Witness;

use super::kernels::{Module, Origin};
use crate::{cli::CheckArgs, run::quoted};

/// Runs the kernel of a module in the launch of a witness.
pub fn command(args: &CheckArgs, path: &Path, module: &Module, witness: &Witness) -> String {
    let Witness { launch, seed, .. } = witness;
    let name = match &module.origin {
        Origin::Ir(lines) => lines.name.clone(),
        Origin::Ptx(_) => None,
    };
    let options = [
        ("input", args.language.map(|language| language.to_string())),
        ("module", name),
        ("cc", args.source.cc.clone()),
        ("mcpu", args.target.gpu().map(|gpu| gpu.name().to_string())),
        ("mattr", args.target.version().map(|version| format!("+{}", version.feature()))),
        ("kernel", Some(launch.kernel.clone())),
        ("seed", Some(seed.to_string())),
    ];
    let options = options.into_iter().filter_map(|(name, value)| Some(format!("--{name} {} ", quoted(&value?))));
    let path = quoted(&path.to_string_lossy());
    let flags: String = args.source.flags.iter().map(|flag| format!(" {}", quoted(flag))).collect();
    let behind = if flags.is_empty() { "" } else { " --" };
    let twice = if witness.is_dependent { "--dependent " } else { "" };
    format!("ptx-atomics run {path} {}--like-check {twice}{launch}{behind}{flags}", options.collect::<String>())
}
