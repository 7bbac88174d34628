//! The command that repeats an execution.

use std::path::Path;

use ptx_atomics::check::{Mode, Witness};
use ptx_atomics::memory_model::kernel::source_name;

use super::read::Module;
use crate::{cli::CheckArgs, input::Kind, run::quoted};

/// The command that runs a kernel in the launch of a witness.
pub fn command(args: &CheckArgs, path: &Path, module: &Module, witness: &Witness) -> String {
    let Witness { launch, seed, .. } = witness;
    let options = [
        ("input", args.language.map(|language| language.to_string())),
        ("module", module.name().map(ToOwned::to_owned)),
        ("cc", args.source.cc.clone()),
        ("mcpu", args.target.gpu().map(|gpu| gpu.name().to_string())),
        ("mattr", args.target.version().map(|version| format!("+{}", version.feature()))),
        ("kernel", Some(named(args, path, module, &launch.kernel))),
        ("seed", Some(seed.to_string())),
    ];
    let options = options.into_iter().filter_map(|(name, value)| Some(format!("--{name} {} ", quoted(&value?))));
    let path = quoted(&path.to_string_lossy());
    let flags: String = args.source.flags.iter().map(|flag| format!(" {}", quoted(flag))).collect();
    let after = if flags.is_empty() { "" } else { " --" };
    let like = if witness.mode == Mode::Async { "--like-check " } else { "" };
    let twice = if witness.is_dependent { "--dependent " } else { "" };
    format!("ptx-atomics run {path} {}{like}{twice}{launch}{after}{flags}", options.collect::<String>())
}

/// The `--kernel` argument for a kernel: a short unambiguous word if all kernels of the file are known.
fn named(args: &CheckArgs, path: &Path, module: &Module, kernel: &str) -> String {
    let has_all = Kind::of_name(path) == Some(Kind::Ptx) && args.kernels.kernel.is_none();
    let names: Vec<_> = module.report.kernels.iter().map(|one| &*one.kernel).filter(|_| has_all).collect();
    word_of(&names, kernel).unwrap_or_else(|| kernel.to_owned())
}

/// The identifier in a long mangled name, if no other of these names has it.
fn word_of(names: &[&str], kernel: &str) -> Option<String> {
    const LONG: usize = 60;
    let demangled = source_name(kernel);
    let word = Some(identifier(&demangled)).filter(|word| kernel.len() > LONG && !word.is_empty())?;
    let mut having = names.iter().filter(|name| name.contains(word));
    (having.next() == Some(&kernel) && having.next().is_none()).then(|| word.to_owned())
}

/// The last identifier of a demangled name: `run` of `void one::two<three>::run<four>(int)`.
fn identifier(demangled: &str) -> &str {
    let mut depth = 0usize;
    // The end of the name itself: the first bracket that is followed only by brackets.
    let mut own = demangled.len();
    for (at, letter) in demangled.char_indices().rev() {
        match letter {
            '>' | ')' => depth += 1,
            '<' | '(' => {
                depth = depth.saturating_sub(1);
                own = if depth == 0 { at } else { own };
            }
            _ if depth == 0 => break,
            _ => {}
        }
    }
    let own = &demangled[..own];
    let start = own.rfind(|letter: char| !letter.is_alphanumeric() && letter != '_').map_or(0, |at| at + 1);
    &own[start..]
}

#[cfg(test)]
mod tests {
    use super::{identifier, word_of};

    fn check(demangled: &str, expected: &str) {
        assert_eq!(identifier(demangled), expected, "{demangled}");
    }

    #[test]
    fn identifiers() {
        check("kernel", "kernel");
        check("void one::two<three>::run<four<5>, six>(int, seven<8>)", "run");
        check("void sm90::fwd::sparse_attn_fwd_kernel<sm90::KernelTemplate<512, false> >", "sparse_attn_fwd_kernel");
        check("", "");
        check("(((", "");
        check("a::", "");
    }

    #[test]
    fn words() {
        let long = |name: &str| format!("_Z{}{name}ILi{}EEvv", name.len(), "1".repeat(60));
        let (run, rerun, other) = (long("run"), long("rerun"), long("other"));
        let word = |names: &[&str], kernel: &str| word_of(names, kernel);
        assert_eq!(word(&[&run, &other], &run).as_deref(), Some("run"));
        // Two names have the word; the other names are unknown; the name is short; the only name with the word is
        // another name.
        assert_eq!(word(&[&run, &rerun], &run), None);
        assert_eq!(word(&[], &run), None);
        assert_eq!(word(&["_Z3runv"], "_Z3runv"), None);
        assert_eq!(word(&[&rerun], &run), None);
    }
}
