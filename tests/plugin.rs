//! The plugin in each of its hosts.

mod corpus;
mod cuda;
mod flags;
mod hosts;
mod languages;
mod loading;
mod messages;
mod require;

use hosts::{GPU, Host, PTX, hosts, instructions, llc};
use itertools::iproduct;
use libtest_mimic::{Failed, Trial};
use ptx_atomics::llvm::inkwell::support::get_llvm_version;
use ptx_atomics_common::backend::Backend;
use testing::{
    ASSEMBLERS,
    examples::{self, Example, examples, scoped},
    llvm_version, ptx_atomics, root, success, target,
};

/// The lowest and the highest optimization level.
const LEVELS: [&str; 2] = ["0", "3"];

pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    let examples: Vec<Trial> = every_example().collect();
    let here = examples.iter().filter(|trial| !trial.has_ignored_flag()).count();
    println!("{here} of {} hosts × levels × examples run here", examples.len());
    trials.extend(examples);
    trials.extend(every_language());
    trials.extend(cuda::trials());
    trials.extend(corpus::trials());
    trials.extend(require::trials(hosts()));
    trials.extend(everything_else());
    trials
}

/// Every host × level × example.
fn every_example() -> impl Iterator<Item = Trial> {
    let examples = examples().into_iter().chain([scoped()]);
    let cases = iproduct!(hosts().into_iter().enumerate(), LEVELS.into_iter().enumerate(), examples.enumerate());
    let cases = cases.filter(|((_, host), _, (_, example))| host.takes(example));
    let assembler = ASSEMBLERS.iter().find_map(|assembler| assembler.missing());
    cases.map(move |((of_host, host), (of_level, level), (of_example, example))| {
        let missing = host.missing().or(Host::Llc.missing()).or(example.compiler().1).or(assembler);
        let name = format!("{} -O{level} {}", host.name(), example.path);
        let trial = testing::trial(name, missing, move || check(host, level, &example));
        // Each host and level runs with the examples of each language, in turn.
        if (of_host + of_level + of_example) % 6 == 0 { trial } else { testing::left_to_all(trial) }
    })
}

/// The host's PTX is the command's output for the module before the pass. It is strong enough, and assembles.
fn check(host: Host, level: &str, example: &Example) -> Result<(), Failed> {
    let compiled = host.compile(&root().join("examples").join(&example.path), level)?;
    let before = tempfile::Builder::new().suffix(".ll").tempfile()?;
    std::fs::write(before.path(), &compiled.before)?;
    // llc runs no optimizer, so the plugin does not optimize there.
    let optimize = if level == "0" || host == Host::Llc { "off" } else { "on" };
    let options = ["lower", "--emit", "llvm-ir", "--mcpu", GPU, "--optimize-atomics", optimize];
    let lowered = success(ptx_atomics().args(options).arg(before.path()))?;
    let ours = llc(&lowered, level, host.code_generation())?;
    if instructions(&ours, level) != instructions(&compiled.ptx, level) {
        return Err(format!("the command gives\n{ours}\nthe host\n{}", compiled.ptx).into());
    }
    languages::judge(&compiled.before, &compiled.ptx)?;
    let target = target(GPU, Some(PTX));
    let mut known = ASSEMBLERS.iter().filter(|assembler| assembler.knows(&target));
    known.try_for_each(|assembler| assembler.assemble(&target, compiled.ptx.as_bytes()))
}

/// Every method of Rust's atomics in each rustc, and every builtin of clang.
fn every_language() -> Vec<Trial> {
    let assembler = ASSEMBLERS.iter().find_map(|assembler| assembler.missing());
    let (mut of_rust, mut of_clang) = (Vec::new(), Vec::new());
    let rustcs = hosts().into_iter().filter(|host| matches!(host, Host::Rustc(_)));
    for (number, (host, ty)) in iproduct!(rustcs, languages::RUST_TYPES).enumerate() {
        let name = format!("{} core::sync::atomic::{}", host.name(), ty.0);
        of_rust.push(testing::trial(name, host.missing().or(assembler), move || {
            let (text, functions) = languages::rust(ty);
            languages::check(host, "rs", &text, functions, number)
        }));
    }
    for (number, (name, suffix, text, functions)) in languages::clang().into_iter().enumerate() {
        let missing = Host::Clang.missing().or(assembler);
        let test = move || languages::check(Host::Clang, suffix, &text, functions, number);
        of_clang.push(testing::trial(format!("clang {name}"), missing, test));
    }
    // Five is coprime to the number of types, so that both rustcs are in the sample.
    testing::one_of(5, of_rust).into_iter().chain(testing::one_of(2, of_clang)).collect()
}

/// A test: its name, a missing requirement, and its function.
type Test = (&'static str, Option<&'static str>, fn() -> Result<(), Failed>);

fn everything_else() -> Vec<Trial> {
    let (opt, clang) = (loading::opt_missing(), Host::Clang.missing());
    // docs/plugin.md shows the losses of LLVM 22.
    let other = (llvm_version() != 22).then_some("the compilers on LLVM 22");
    let assembler = ASSEMBLERS.iter().find_map(|assembler| assembler.missing());
    let (major, minor, patch) = get_llvm_version();
    let table = Backend::from_version([major, minor, patch]).is_none().then_some("a table of this LLVM's PTX");
    let tests: [Test; 14] = [
        ("each pipeline runs the pass", opt, loading::pipelines),
        ("no data moves across a call that orders", opt, loading::calls_order),
        ("link-time optimization runs the pass", opt.or(assembler), loading::link_time),
        ("clang without LLVM's passes runs the plugin's pass", clang, loading::without_passes),
        ("the plugin ignores modules for other targets", clang, loading::other_targets),
        ("another version of LLVM is an error", None, loading::another_version),
        ("the file exports one entry point", None, loading::contents),
        ("each place of options has its precedence", opt, messages::options),
        ("native operations stay LLVM's", opt.or(Host::Llc.missing()).or(table), messages::native),
        ("native operations stay native in rustc", messages::no_table_of_rustc(), messages::native_in_rustc),
        ("a misspelled option is an error without atomics", opt, messages::errors_of_options_without_atomics),
        ("remarks go to a file", opt, messages::remarks_file),
        ("all errors are reported, and no file is written", opt, messages::all_errors),
        ("the document has the table of flags", other.or(opt).or(clang).or(examples::rustc_missing("")), flags::check),
    ];
    let mut trials: Vec<_> = tests.map(|(name, missing, test)| testing::trial(name.into(), missing, test)).into();
    for host in [Host::Opt, Host::Llc, Host::Clang] {
        let missing = host.missing().or(Host::Llc.missing());
        let name = format!("{} rejects intrinsics that the target lacks", host.name());
        trials.push(testing::trial(name, missing, move || messages::not_selectable(host)));
    }
    for host in hosts() {
        let missing = host.missing();
        let old_gpus = missing.or((!host.knows_old_gpus()).then_some("a rustc for GPUs before sm_70"));
        for (what, missing, test) in [
            ("reports errors", old_gpus, messages::errors as fn(Host) -> _),
            ("reports errors of options", missing, messages::errors_of_options),
            ("reports errors without a GPU", old_gpus, messages::no_gpu),
        ] {
            trials.push(testing::trial(format!("{} {what}", host.name()), missing, move || test(host)));
        }
        trials
            .push(testing::trial(format!("{} writes remarks", host.name()), missing, move || messages::remarks(host)));
    }
    trials
}
