//! The plugin for mlir-opt: its output, options and errors are the same as the command's, and it works at any position
//! in a pipeline.
//!
//! mlir-opt runs with an allocator that overwrites freed memory, so that a use of an op after its end crashes.

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use itertools::{Itertools, iproduct};
use libtest_mimic::{Failed, Trial};
use ptx_atomics::{
    llvm::settings::{MODULE_FLAG, SETTINGS},
    lowering::{AtomicOp, SyncScope, ptx::Scope},
};

use testing::{
    ASSEMBLERS, cells::cells, exists, llvm_version, plugin::mlir_plugin, ptx_atomics, reasons::reasons, root, success,
    target, tool,
};

use crate::mlir::{
    dialect::{self, Program},
    equivalence::is_atomic,
    native_ops::target_of,
    table,
};

/// A test: its name, a missing program that it needs, and its function.
type Test = (&'static str, Option<&'static str>, fn() -> Result<(), Failed>);

pub fn trials() -> Vec<Trial> {
    let missing = [tool("mlir-opt"), tool("mlir-translate"), tool("llc")].into_iter().find(|program| !exists(program));
    let assembler = missing.or(ASSEMBLERS.iter().find_map(|assembler| assembler.missing()));
    let tests: [Test; 12] = [
        ("files give the command's output", missing, files),
        ("ops of the table give the command's output", missing, ops),
        ("every option works, and a wrong option is an error", missing, options),
        ("all errors are reported, without IR", missing, errors),
        ("-verify-diagnostics accepts the errors", missing, verified),
        ("MLIR's pipeline for NVIDIA GPUs runs after the pass", assembler, lower_to_nvvm),
        ("the pass runs before or after MLIR's conversions of a gpu.module", assembler, around_conversions),
        ("mlir-translate and llc run after the pass", assembler, translated),
        ("ops with functions and threads do not change the text", missing, anchors),
        ("docs/plugin.md shows the output of its commands", missing, lines_of_the_document),
        ("another version of LLVM is an error", None, another_version),
        ("the file contains no second MLIR", None, contents),
    ];
    let trial = |(name, missing, test): Test| testing::trial(format!("plugin: {name}"), missing, test);
    // The plugin and the command call the pass in the same way, and other tests compare the command's text.
    let grid = testing::left_to_all(trial(("the grid gives the command's output", missing, grid)));
    // These tests compare in the same way as the test on files.
    let tests = tests.into_iter().map(|test| match test.0 {
        "ops of the table give the command's output" | "mlir-translate and llc run after the pass" => {
            testing::left_to_all(trial(test))
        }
        _ => trial(test),
    });
    tests.chain([grid]).collect()
}

/// mlir-opt with the plugin. `ATOMICS` in the pipeline is a placeholder for the pass with its options.
fn mlir_opt(pipeline: &str, options: &[&str], path: &Path) -> Result<Command, Failed> {
    let mut command = Command::new(tool("mlir-opt"));
    let pass = format!("ptx-atomics{{{}}}", options.join(" "));
    command.arg(format!("--load-pass-plugin={}", mlir_plugin().display()));
    command.arg(format!("--pass-pipeline=builtin.module({})", pipeline.replace("ATOMICS", &pass)));
    // The allocator overwrites freed memory at once.
    command.env("MALLOC_PERTURB_", "165").env("GLIBC_TUNABLES", "glibc.malloc.tcache_count=0");
    command.arg(path).stdin(Stdio::null());
    Ok(command)
}

/// The command with the same options.
fn lower(options: &[&str], path: &Path) -> Command {
    let mut command = ptx_atomics();
    command.args(["lower", "--emit", "mlir"]).args(options.iter().map(|option| format!("--{option}"))).arg(path);
    command
}

/// A file with this text.
fn file_of(text: &str) -> Result<tempfile::NamedTempFile, Failed> {
    let file = tempfile::Builder::new().suffix(".mlir").tempfile()?;
    fs::write(file.path(), text)?;
    Ok(file)
}

/// The result of the plugin and of the command, which must be the same: MLIR without an atomic, or errors with sites.
fn same(path: &Path, options: &[&str]) -> Result<Result<String, Vec<String>>, Failed> {
    let ours = lower(options, path).output()?;
    let theirs = mlir_opt("ATOMICS", options, path)?.output()?;
    let said = String::from_utf8(theirs.stderr)?;
    assert_eq!(ours.status.code(), theirs.status.code(), "{} {options:?}: {said}", path.display());
    if !ours.status.success() {
        let (ours, theirs) = (of_command(&String::from_utf8(ours.stderr)?), of_host(&said));
        assert!(!ours.is_empty() && theirs == ours, "{} {options:?}:\n{ours:#?}\n{said}", path.display());
        return Ok(Err(ours));
    }
    // mlir-opt writes a line break after the module.
    let (ours, theirs) = (String::from_utf8(ours.stdout)?, String::from_utf8(theirs.stdout)?);
    assert_eq!(ours.trim_end(), theirs.trim_end(), "{} {options:?}", path.display());
    Ok(Ok(ours))
}

/// Site and message of each error of the command.
fn of_command(stderr: &str) -> Vec<String> {
    let errors = stderr.split("\n\n").filter_map(|error| {
        let message = error.trim_start().lines().next()?.strip_prefix("error: ")?;
        let place = error.lines().find_map(|line| line.trim_start().strip_prefix("--> "))?;
        Some(format!("{place}: {message}"))
    });
    errors.sorted().collect()
}

/// Site and message of each error of mlir-opt.
fn of_host(stderr: &str) -> Vec<String> {
    let errors = stderr.lines().filter_map(|line| line.split_once(": error: "));
    errors.map(|(place, message)| format!("{place}: {message}")).sorted().collect()
}

/// Options that change the output, one list for each strategy.
const OPTIONS: [&[&str]; 5] = [
    &["strategy=recommended"],
    &["strategy=fence", "default-scope=gpu"],
    &["strategy=fence-acquire,rmw.acq_rel=recommended", "fp-atomics=ieee,no-nans"],
    &["strategy=proven", "generic-may-be-local"],
    &["strategy=auto", "volatile-as-mmio"],
];

/// Tests the files of `nvvm/`, each for its target and for a target without the ops; the files of `inputs/`; and the
/// examples.
fn files() -> Result<(), Failed> {
    let mut outcomes = [0; 2];
    let mut check = |path: &Path, options: &[&str]| -> Result<(), Failed> {
        same(path, options).map(|outcome| outcomes[usize::from(outcome.is_err())] += 1)
    };
    for path in table::nvvm_files().into_iter().step_by(testing::stride(3)) {
        let text = fs::read_to_string(&path)?;
        let (sm, ptx) = target_of(&text).ok_or("no target")?;
        check(&path, &[&format!("mcpu={sm}"), &format!("mattr=+{ptx}")])?;
        check(&path, &["mcpu=sm_35", "mattr=+ptx60"])?;
    }
    let inputs = fs::read_dir(root().join("tests/mlir/inputs"))?;
    let inputs: Vec<_> = inputs.map(|entry| entry.map(|entry| entry.path())).try_collect()?;
    let targets = [["mcpu=sm_60", "mattr=+ptx63"], ["mcpu=sm_90", "mattr=+ptx86"]];
    for ((input, target), options) in iproduct!(inputs.iter().sorted(), targets).zip(OPTIONS.iter().cycle()) {
        check(input, &[&target, *options].concat())?;
    }
    for ((name, _), options) in iproduct!(EXAMPLES, OPTIONS) {
        check(&example(name), &[&["mcpu=sm_90"], options].concat())?;
    }
    let [same, rejected] = outcomes;
    println!("plugin: {same} runs give the MLIR of the command, {rejected} its errors");
    assert!(same > 50 / testing::stride(2) && rejected > 30 / testing::stride(3));
    Ok(())
}

/// Tests every op that orders memory.
fn ops() -> Result<(), Failed> {
    let mut lowered = 0;
    for (index, row) in table::rows().enumerate() {
        let file = file_of(&row.text()?)?;
        let options = [&["mcpu=sm_100a", "mattr=+ptx88"], OPTIONS[index % OPTIONS.len()]].concat();
        lowered += usize::from(same(file.path(), &options)?.is_ok());
    }
    assert!(lowered > 50, "{lowered}");
    Ok(())
}

/// The test takes one cell in `SAMPLE`.
const SAMPLE: usize = 400;

/// Tests a part of the grid: cells that are lowered, and cells that are rejected.
fn grid() -> Result<(), Failed> {
    let mut programs = [0; 2];
    for (index, (sm, ptx)) in [("sm_70", "ptx82"), ("sm_90", "ptx86")].into_iter().enumerate() {
        let target = target(sm, Some(ptx));
        let cells = cells().filter(dialect::has).skip(index).step_by(SAMPLE).enumerate();
        let mut files = vec![[String::new(), String::new()]; OPTIONS.len()];
        for (index, cell) in cells {
            let list = index % OPTIONS.len();
            let sys = cell.op.scope == SyncScope::Threads(Scope::Sys);
            let scope = if sys && list == 1 { SyncScope::Threads(Scope::Gpu) } else { cell.op.scope };
            let rejected = !reasons(&AtomicOp { scope, ..cell.op }, &target).is_empty();
            programs[usize::from(rejected)] += 1;
            files[list][usize::from(rejected)] += &Program::new(cell).mlir();
        }
        let of_mlir = [format!("chip={sm}"), format!("features=+{ptx}")];
        let of_llvm = [format!("mcpu={sm}"), format!("mattr=+{ptx}")];
        for (options, texts) in OPTIONS.into_iter().zip(files) {
            let [of_mlir, of_llvm] = [&of_mlir, &of_llvm].map(|of| [&[&*of[0], &*of[1]], options].concat());
            for (text, rejected) in texts.iter().zip([false, true]).filter(|(text, _)| !text.is_empty()) {
                let file = file_of(text)?;
                // The options with MLIR's names for the target have the same effect.
                let outcome = same(file.path(), &of_llvm)?;
                let output = mlir_opt("ATOMICS", &of_mlir, file.path())?.output()?;
                assert_eq!(outcome.is_err(), rejected, "{of_mlir:?}");
                match outcome {
                    Ok(text) => assert_eq!(text.trim_end(), String::from_utf8(output.stdout)?.trim_end()),
                    Err(errors) => assert_eq!(errors, of_host(&String::from_utf8(output.stderr)?)),
                }
            }
        }
    }
    println!(
        "plugin: {} programs of the grid as the command, {} of them rejected",
        programs[0] + programs[1],
        programs[1]
    );
    assert!(programs.iter().all(|count| *count > 100), "{programs:?}");
    Ok(())
}

/// An input on which each option has an effect: an acq_rel update, an addition of floats, a volatile load, a generic
/// address, an update of shared memory, a fence.
const EVERY: &str = "llvm.func @f(%p: !llvm.ptr<1>, %g: !llvm.ptr, %s: !llvm.ptr<3>, %v: i32, %x: f32) {
  %a = llvm.atomicrmw add %p, %v acq_rel : !llvm.ptr<1>, i32
  %b = llvm.atomicrmw fadd %p, %x monotonic : !llvm.ptr<1>, f32
  %c = llvm.load volatile %p atomic monotonic {alignment = 4 : i64} : !llvm.ptr<1> -> i32
  %d = llvm.atomicrmw xchg %g, %v monotonic : !llvm.ptr, i32
  %e = llvm.atomicrmw add %s, %v acq_rel : !llvm.ptr<3>, i32
  llvm.fence acquire
  llvm.return
}
";

/// Each option with a valid value and the text in the IR that only this value causes, and with an invalid value and its
/// error message.
#[rustfmt::skip]
const SETTING: [(&str, &str, &str, &str, &str); 12] = [
    ("mcpu",                 "sm_60",     "membar.sys;",                          "sm_91",   "unknown GPU 'sm_91'"),
    ("chip",                 "sm_60",     "membar.sys;",                          "sm_91",   "unknown GPU 'sm_91'"),
    ("mattr",                "+ptx86",    "fence.acquire.sys;",                   "+ptx1",   "unknown PTX version 'ptx1'"),
    ("features",             "+ptx86",    "fence.acquire.sys;",                   "+ptx1",   "unknown PTX version 'ptx1'"),
    ("strategy",             "fence",     "atom.relaxed.sys.global.add.u32",      "fast",    "unknown strategy 'fast'"),
    ("default-scope",        "gpu",       "atom.acq_rel.gpu.global.add.u32",      "warp",    "unknown scope 'warp'"),
    ("fp-atomics",           "ieee",      "add.rn.f32",                           "fast",    "unknown policy 'fast'"),
    ("generic-may-be-local", "true",      "isspacep.local",                       "perhaps", "'perhaps'"),
    ("volatile-as-mmio",     "true",      "ld.mmio.relaxed.sys.global.b32",       "perhaps", "'perhaps'"),
    ("optimize",             "scope",     "atom.acq_rel.cluster.shared.add.u32",  "fast",    "unknown rewrite 'fast'"),
    // The input has no asynchronous operation.
    ("async",                "off",       "",                                     "never",   "expected one of off, check, deny, insert, found 'never'"),
    ("remarks",              "/dev/null", "",                                     "/none/x", "cannot write remarks to '/none/x'"),
];

/// Each option works as an option of the pass and in the module flag. The option of the pass takes precedence.
fn options() -> Result<(), Failed> {
    assert_eq!(
        SETTING.map(|(name, ..)| name).to_vec(),
        SETTINGS.iter().filter(|setting| setting.in_mlir).map(|setting| setting.name).collect_vec()
    );
    let plain = file_of(EVERY)?;
    let flagged = |list: &str| {
        file_of(&format!("llvm.module_flags [#llvm.mlir.module_flag<override, \"{MODULE_FLAG}\", {list}>]\n{EVERY}"))
    };
    let output =
        |path: &Path, options: &[&str]| -> Result<Output, Failed> { Ok(mlir_opt("ATOMICS", options, path)?.output()?) };
    let ir = |path: &Path, options: &[&str]| -> Result<String, Failed> {
        let ir = success(&mut mlir_opt("ATOMICS", options, path)?)?;
        Ok(ir.lines().filter(|line| !line.contains("module_flags")).join("\n"))
    };
    let rejected = |output: Output, needles: &[&str]| -> Result<(), Failed> {
        let said = String::from_utf8(output.stderr)?;
        assert_eq!((output.status.code(), &*output.stdout), (Some(1), &b""[..]), "{said}");
        let lacking = needles.iter().find(|needle| !said.contains(**needle));
        lacking.map_or(Ok(()), |needle| Err(format!("no {needle:?} in\n{said}").into()))
    };
    for (name, right, shown, wrong, message) in SETTING {
        // Only newer PTX versions have `mmio`.
        let base: &[&str] = if name == "volatile-as-mmio" { &["mattr=+ptx86"] } else { &[] };
        let [right, wrong] = [right, wrong].map(|value| format!("{name}={value}"));
        let without = ir(plain.path(), base)?;
        let with = ir(plain.path(), &[base, &[&right]].concat())?;
        assert!(with.contains(shown) && (shown.is_empty() || !without.contains(shown)), "{right}:\n{with}");
        rejected(output(plain.path(), &[&wrong])?, &[message])?;
        if name == "remarks" {
            let file = format!("the module flag \"{MODULE_FLAG}\": a module cannot name a file for remarks");
            rejected(output(flagged(&format!("\"{right}\""))?.path(), &[])?, &[&file])?;
            continue;
        }
        let flag = flagged(&format!("\"{right}\""))?;
        assert_eq!(ir(flag.path(), base)?, with, "{right} in the module flag");
        let place = format!("in the module flag \"{MODULE_FLAG}\": ");
        rejected(output(flagged(&format!("\"{wrong}\""))?.path(), &[])?, &[&place, message])?;
        let weaker =
            flagged(&format!("\"{}\"", if name == "strategy" { "strategy=proven" } else { "default-scope=cta" }))?;
        if matches!(name, "strategy" | "default-scope") {
            assert_eq!(ir(weaker.path(), &[&right])?, with, "{right} over the module flag");
        }
    }
    // Also covered: a list for one row, a flag without a value, all invalid values at once, and an unknown option.
    let shown =
        |options: &[&str], needle: &str| ir(plain.path(), options).map(|ir| assert!(ir.contains(needle), "{ir}"));
    shown(&["strategy=fence,rmw.acq_rel=recommended"], "atom.acq_rel.sys.global.add.u32")?;
    shown(&["generic-may-be-local"], "isspacep.local")?;
    let wrong =
        SETTING.iter().filter(|(name, ..)| !name.contains("-as-") && !name.contains("-may-") && *name != "remarks");
    let (wrong, messages): (Vec<_>, Vec<_>) =
        wrong.map(|(name, _, _, wrong, message)| (format!("{name}={wrong}"), *message)).unzip();
    let all: Vec<_> = wrong.iter().map(|option| &**option).collect();
    rejected(output(plain.path(), &all)?, &messages)?;
    rejected(output(plain.path(), &["speed=high"])?, &["no such option speed"])?;
    rejected(output(flagged("1 : i32")?.path(), &[])?, &["the module flag \"ptx-atomics\" is not a string"])?;
    // MLIR prints the options in its own format, and parses them again.
    let options = ["strategy=fence,rmw.acq_rel=recommended", "chip=sm_90", "generic-may-be-local"];
    let mut command = mlir_opt("ATOMICS", &options, plain.path())?;
    let printed = String::from_utf8(command.arg("--dump-pass-pipeline").output()?.stderr)?;
    let pass = printed.lines().find_map(|line| line.trim().strip_prefix("ptx-atomics{")?.strip_suffix('}'));
    assert_eq!(ir(plain.path(), &[pass.ok_or("no pipeline")?])?, ir(plain.path(), &options)?, "{printed}");
    let folder = tempfile::tempdir()?;
    let remarks = folder.path().join("remarks.yaml");
    ir(plain.path(), &[&format!("remarks={}", remarks.display())])?;
    assert_eq!(fs::read_to_string(remarks)?.matches("--- !Passed").count(), 6);
    Ok(())
}

/// Six ops without a lowering, and their sites.
const WRONG: &str = r#"gpu.module @m {
  gpu.func @f(%p: !llvm.ptr<1>, %v: i32, %w: i128) kernel {
    %old = llvm.atomicrmw add %p, %v syncscope("warp") acq_rel : !llvm.ptr<1>, i32
    llvm.store %w, %p atomic release {alignment = 16 : i64} : i128, !llvm.ptr<1>
    gpu.return
  }
  gpu.func @g(%p: memref<i32, 9>, %v: i32) kernel {
    %old = memref.atomic_rmw addi %v, %p[] {ptx.ordering = "x", ptx.scope = "y"} : (i32, memref<i32, 9>) -> i32
    nvvm.cluster.wait
    gpu.return
  }
}
"#;

const MESSAGES: [(&str, &str); 5] = [
    ("3:12", "unknown synchronization scope \"warp\""),
    ("4:5", "a 128-bit access of scope `.sys` requires sm_70 and PTX 8.4, and the target is sm_70 with PTX 6.0"),
    ("8:12", "ptx.ordering is \"x\""),
    ("8:12", "ptx.scope is \"y\""),
    ("9:5", "`barrier.cluster.wait` requires sm_90 and PTX 7.8, and the target is sm_70 with PTX 6.0"),
];

/// Whichever op the pass runs on, it reports each error once, with its site.
fn errors() -> Result<(), Failed> {
    let file = file_of(WRONG)?;
    let expected = MESSAGES.map(|(place, message)| format!("{}:{place}: {message}", file.path().display()));
    for pipeline in ["ATOMICS", "gpu.module(ATOMICS)", "gpu.module(gpu.func(ATOMICS))", "any(any(ATOMICS))"] {
        let Output { status, stdout, stderr } = mlir_opt(pipeline, &["chip=sm_70"], file.path())?.output()?;
        let said = String::from_utf8(stderr)?;
        assert_eq!((status.code(), &*stdout), (Some(1), &b""[..]), "{pipeline}: {said}");
        assert_eq!(of_host(&said), expected, "{pipeline}: {said}");
    }
    // If one of several modules has an error, no module is changed.
    let right = "gpu.module @right {\n  gpu.func @f() kernel {\n    llvm.fence acq_rel\n    gpu.return\n  }\n}\n";
    let file = file_of(&[right, WRONG].concat())?;
    let mut command = mlir_opt("ATOMICS", &["chip=sm_70"], file.path())?;
    let said = String::from_utf8(command.arg("--mlir-print-ir-after-failure").output()?.stderr)?;
    assert!(said.contains("    llvm.fence acq_rel\n") && !said.contains("inline_asm"), "{said}");
    Ok(())
}

/// Errors are diagnostics that MLIR's `--verify-diagnostics` checks.
fn verified() -> Result<(), Failed> {
    let mut expected = WRONG.to_owned();
    for (place, message) in MESSAGES {
        let line: usize = place.split(':').next().ok_or(place)?.parse()?;
        let up = expected.lines().count() + 1 - line;
        expected += &format!("// expected-error@-{up} {{{{{message}}}}}\n");
    }
    for (text, code) in [(&expected, 0), (&expected.replace("ptx.scope is", "the scope is"), 1)] {
        let file = file_of(text)?;
        let mut command = mlir_opt("ATOMICS", &["chip=sm_70"], file.path())?;
        let Output { status, stderr, .. } = command.arg("--verify-diagnostics").output()?;
        assert_eq!(status.code(), Some(code), "{}", String::from_utf8(stderr)?);
    }
    Ok(())
}

const GPU: [&str; 2] = ["sm_90", "ptx78"];

/// The examples, and the qualifiers of their atomics.
const EXAMPLES: [(&str, &[&str]); 2] =
    [("histogram", &["atom.relaxed.cta", "atom.relaxed.gpu"]), ("reduce", &["atom.acq_rel.gpu"])];

fn example(name: &str) -> PathBuf {
    root().join(format!("examples/mlir/{name}.mlir"))
}

/// The PTX has exactly these atomics, in this order, and assembles.
fn check_ptx(ptx: &str, atomics: &[&str]) -> Result<(), Failed> {
    let found = ptx.lines().map(str::trim).filter(|line| line.starts_with("atom.") || line.starts_with("red."));
    let found: Vec<_> = found.map(|line| line.split('.').take(3).join(".")).collect();
    assert_eq!(found, atomics, "{ptx}");
    assemble(GPU, ptx)
}

fn assemble([sm, feature]: [&str; 2], ptx: &str) -> Result<(), Failed> {
    let target = target(sm, Some(feature));
    let mut known = ASSEMBLERS.iter().filter(|assembler| assembler.knows(&target));
    known.try_for_each(|assembler| assembler.assemble(&target, ptx.as_bytes()))
}

/// The PTX in the `gpu.binary` of a module.
fn assembly(ir: &str) -> Result<String, Failed> {
    let (_, text) = ir.split_once("assembly = \"").ok_or("no assembly")?;
    let (text, _) = text.split_once('"').ok_or("no end")?;
    Ok(text.replace("\\0A", "\n").replace("\\09", "\t").replace("\\22", "\"").replace("\\00", ""))
}

/// MLIR's `gpu-lower-to-nvvm-pipeline` after the pass, with the IR printed after every pass.
fn lower_to_nvvm() -> Result<(), Failed> {
    let [sm, ptx] = GPU;
    for (name, atomics) in EXAMPLES {
        let pipeline =
            format!("ATOMICS,gpu-lower-to-nvvm-pipeline{{cubin-chip={sm} cubin-features=+{ptx} cubin-format=isa}}");
        let run = |flags: &[&str]| -> Result<Output, Failed> {
            Ok(mlir_opt(&pipeline, &[&format!("chip={sm}")], &example(name))?.args(flags).output()?)
        };
        let Output { status, stdout, stderr } = run(&[])?;
        assert!(status.success(), "{}", String::from_utf8(stderr)?);
        let ir = String::from_utf8(stdout)?;
        check_ptx(&assembly(&ir)?, atomics)?;
        let printing = run(&["--mlir-disable-threading", "--mlir-print-ir-after-all"])?;
        let printed = String::from_utf8(printing.stderr)?;
        let of_pass = |dump: &&str| dump.lines().next().is_some_and(|head| head.contains("ptx-atomics"));
        let dump = printed.split("// -----// IR Dump After ").find(of_pass);
        assert_eq!(dump.ok_or("no dump")?.lines().find(|line| is_atomic(line)), None);
        assert!(printing.status.success());
    }
    Ok(())
}

/// In a `gpu.module`: before the conversions, the pass keeps orderings and scopes. After them, the ordering and the
/// scope of memref's atomics are lost, and the pass uses the strongest.
fn around_conversions() -> Result<(), Failed> {
    let [sm, ptx] = GPU;
    let conversions = ["convert-scf-to-cf,convert-gpu-to-nvvm", "reconcile-unrealized-casts"].join(",");
    for (name, atomics) in EXAMPLES {
        let strongest = vec!["atom.acq_rel.sys"; atomics.len()];
        let orders = [("ATOMICS,CONVERSIONS", atomics), ("CONVERSIONS,ATOMICS", &strongest)];
        for (order, atomics) in orders {
            let module = format!("gpu.module({})", order.replace("CONVERSIONS", &conversions));
            let attach = format!("nvvm-attach-target{{chip={sm} features=+{ptx}}}");
            let pipeline = format!("gpu-kernel-outlining,{attach},{module}");
            // The module has an attribute for its target.
            let ir = success(&mut mlir_opt(&pipeline, &[], &example(name))?)?;
            assert!(!ir.lines().any(is_atomic) && !ir.contains("unrealized"), "{order}:\n{ir}");
            let binary = format!("{pipeline},gpu-module-to-binary{{format=isa}}");
            check_ptx(&assembly(&success(&mut mlir_opt(&binary, &[], &example(name))?)?)?, atomics)?;
        }
    }
    Ok(())
}

/// Runs a pipeline, then `mlir-translate | llc`.
fn translate(path: &Path, conversions: &str, [sm, ptx]: [&str; 2]) -> Result<String, Failed> {
    let folder = tempfile::tempdir()?;
    let at = |name: &str| folder.path().join(name);
    let ir = success(&mut mlir_opt(conversions, &[&format!("mcpu={sm}"), &format!("mattr=+{ptx}")], path)?)?;
    if let Some(left) = ir.lines().find(|line| is_atomic(line)) {
        return Err(format!("{}: an atomic after the pass: {left}", path.display()).into());
    }
    fs::write(at("b.mlir"), ir)?;
    success(Command::new(tool("mlir-translate")).arg("--mlir-to-llvmir").arg(at("b.mlir")).arg("-o").arg(at("b.ll")))?;
    let target = [format!("-mcpu={sm}"), format!("-mattr=+{ptx}")];
    let llc = ["-mtriple=nvptx64-nvidia-cuda", "-o", "-"];
    success(Command::new(tool("llc")).args(llc).args(target).arg(at("b.ll")))
}

/// Translates every op of NVVM, memrefs in `func.func`, and SPIR-V.
fn translated() -> Result<(), Failed> {
    for path in table::nvvm_files() {
        let text = fs::read_to_string(&path)?;
        let (sm, feature) = target_of(&text).ok_or("no target")?;
        let ptx = translate(&path, "ATOMICS,convert-nvvm-to-llvm", [sm, feature])?;
        assemble([sm, feature], &ptx)?;
    }
    let memref = file_of(
        "func.func @f(%m: memref<?xf32>, %i: index, %v: f32) -> f32 {
           %a = memref.atomic_rmw addf %v, %m[%i] {ptx.ordering = \"relaxed\", ptx.scope = \"gpu\"} : (f32, memref<?xf32>) -> f32
           %b = memref.generic_atomic_rmw %m[%i] : memref<?xf32> {
           ^bb0(%was: f32):
             %n = arith.mulf %was, %v : f32
             memref.atomic_yield %n : f32
           }
           return %b : f32
         }",
    )?;
    let conversions = "ATOMICS,convert-scf-to-cf,convert-arith-to-llvm,finalize-memref-to-llvm,convert-cf-to-llvm,\
                       convert-func-to-llvm,reconcile-unrealized-casts";
    check_ptx(&translate(memref.path(), conversions, GPU)?, &["atom.relaxed.gpu", "atom.acq_rel.sys"])?;
    let spirv = file_of(
        "spirv.func @f(%p: !spirv.ptr<i32, CrossWorkgroup>, %v: i32) -> i32 \"None\" {
           %r = spirv.AtomicIAdd <Device> <AcquireRelease> %p, %v : !spirv.ptr<i32, CrossWorkgroup>
           spirv.ControlBarrier <Workgroup>, <Device>, <AcquireRelease>
           %s = spirv.AtomicCompareExchange <Workgroup> <Acquire> <None> %p, %r, %v : !spirv.ptr<i32, CrossWorkgroup>
           spirv.ReturnValue %s : i32
         }",
    )?;
    let conversions = "ATOMICS,convert-spirv-to-llvm,reconcile-unrealized-casts";
    check_ptx(&translate(spirv.path(), conversions, GPU)?, &["atom.acq_rel.gpu", "atom.acquire.cta"])
}

/// Many functions of each kind: the text is the same if the pass runs on the module or on each function, in one thread
/// or in many.
fn anchors() -> Result<(), Failed> {
    let target = target("sm_90", Some("ptx86"));
    let cells = cells().filter(dialect::has).filter(|cell| reasons(&cell.op, &target).is_empty());
    let llvm: String = cells.step_by(SAMPLE).map(|cell| Program::new(cell).mlir()).collect();
    let memref = |number: usize| {
        format!(
            "func.func @k{number}(%m: memref<?xi32>, %i: index, %v: i32) -> i32 {{
               %a = memref.atomic_rmw addi %v, %m[%i] : (i32, memref<?xi32>) -> i32
               %b = memref.atomic_rmw muli %a, %m[%i] {{ptx.ordering = \"relaxed\"}} : (i32, memref<?xi32>) -> i32
               %c = memref.generic_atomic_rmw %m[%i] : memref<?xi32> {{
               ^bb0(%was: i32):
                 %n = arith.muli %was, %b : i32
                 memref.atomic_yield %n : i32
               }}
               llvm.fence seq_cst
               nvvm.barrier.arrive number_of_threads = %v
               return %c : i32
             }}\n"
        )
    };
    let functions: String = (0..200).map(memref).collect();
    let device = functions.replace("func.func", "gpu.func").replace("return %c", "gpu.return %c");
    let device = format!(
        "gpu.module @m {{\n{device}}}\nfunc.func @host(%m: memref<i32>, %v: i32) {{\n  \
                          %a = memref.atomic_rmw addi %v, %m[] : (i32, memref<i32>) -> i32\n  return\n}}\n"
    );
    let cases: [(&str, &[&str], usize); 3] = [
        (&llvm, &["llvm.func(ATOMICS)", "any(ATOMICS)"], 0),
        (&functions, &["func.func(ATOMICS)", "any(ATOMICS)"], 0),
        // The host's atomic remains.
        (&device, &["gpu.module(ATOMICS)", "gpu.module(gpu.func(ATOMICS))", "any(ATOMICS)"], 1),
    ];
    for (text, pipelines, left) in cases {
        let file = file_of(text)?;
        let options = ["chip=sm_90", "features=+ptx86", "strategy=auto"];
        let run = |pipeline: &str, more: &[&str]| success(mlir_opt(pipeline, &options, file.path())?.args(more));
        let expected = run("ATOMICS", &["--mlir-disable-threading"])?;
        assert_eq!(expected.lines().filter(|line| is_atomic(line)).count(), left);
        assert_eq!(run("ATOMICS", &[])?, expected);
        for (pipeline, more) in iproduct!(pipelines, [&[][..], &["--mlir-disable-threading"]]) {
            assert_eq!(run(pipeline, more)?, expected, "{pipeline} {more:?}");
        }
    }
    Ok(())
}

/// Each mlir-opt command in the document runs in a shell, and gives the output shown below it.
fn lines_of_the_document() -> Result<(), Failed> {
    let document = fs::read_to_string(root().join("docs/plugin.md"))?;
    let section = document.split("\n## ").find(|section| section.starts_with("mlir-opt\n")).ok_or("no section")?;
    let console = section.split("```console\n").nth(1).and_then(|rest| rest.split("```").next()).ok_or("no lines")?;
    let lines: Vec<_> = console.split("$ ").filter(|line| line.starts_with("mlir-opt-22 ")).collect();
    assert_eq!(lines.len(), 3, "{lines:?}");
    let run = |line: &str| -> Result<String, Failed> {
        let line = line
            .replace("mlir-opt-22", tool("mlir-opt"))
            .replace("mlir-translate-22", tool("mlir-translate"))
            .replace("llc-22", tool("llc"))
            .replace("target/release/libptx_atomics_mlir.so", &mlir_plugin().display().to_string());
        success(Command::new("sh").arg("-c").arg(line).current_dir(root()))
    };
    let (alone, ptx, converted) = (run(lines[0])?, run(lines[1])?, run(lines[2])?);
    let command = success(&mut lower(&["mcpu=sm_90"], &example("reduce")))?;
    assert_eq!(alone.trim_end(), command.trim_end());
    check_ptx(&assembly(&ptx)?, &["atom.acq_rel.gpu"])?;
    assert!(converted.contains("atom.acq_rel.gpu.global.add.u32") && !converted.lines().any(is_atomic), "{converted}");
    Ok(())
}

/// A program whose LLVM reports another version gets a message and ends.
fn another_version() -> Result<(), Failed> {
    let program = r#"
        #include <dlfcn.h>
        #include <stdio.h>
        void LLVMGetVersion(unsigned *major, unsigned *minor, unsigned *patch) { *major = 24; *minor = 1; *patch = 0; }
        int main(int argc, char **argv) {
          void *plugin = dlopen(argv[1], RTLD_LAZY | RTLD_GLOBAL);
          if (!plugin) return puts(dlerror()), 3;
          struct { unsigned version; const char *texts[2]; void *callback; } info, (*entry)(void);
          *(void **)&entry = dlsym(plugin, "mlirGetPassPluginInfo");
          info = entry();
          return info.version;
        }"#;
    let folder = tempfile::tempdir()?;
    let (source, binary) = (folder.path().join("host.c"), folder.path().join("host"));
    fs::write(&source, program)?;
    // The program links MLIR, since the loader resolves the plugin's references to MLIR's data at once.
    let folder = success(Command::new(tool("llvm-config")).arg("--libdir"))?;
    let (search, libraries) =
        (format!("-L{0} -Wl,-rpath,{0}", folder.trim()), format!("-lMLIR -lLLVM-{}", llvm_version()));
    let link = ["-rdynamic", &search, "-Wl,--no-as-needed", &libraries, "-ldl -o"];
    success(Command::new("cc").arg(&source).args(link.iter().flat_map(|words| words.split(' '))).arg(&binary))?;
    let Output { status, stdout, stderr } = Command::new(&binary).arg(mlir_plugin()).output()?;
    let said = String::from_utf8(stdout)? + &String::from_utf8(stderr)?;
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(
        said.contains(&format!("is a plugin for LLVM {}, and this program has LLVM 24.1.0", llvm_version())),
        "{said}"
    );
    Ok(())
}

/// The plugin exports one entry point. It uses the host's MLIR functions and contains no second copy of them.
fn contents() -> Result<(), Failed> {
    let nm = |flags: &[&str]| success(Command::new("nm").args(flags).arg("--format=posix").arg(mlir_plugin()));
    let name = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
    let exported = nm(&["-D", "--defined-only"])?;
    assert_eq!(exported.lines().map(name).collect_vec(), ["mlirGetPassPluginInfo"]);
    let undefined = nm(&["-D", "--undefined-only"])?;
    // `Operation::create`, and the vtable of `Pass`.
    for host in ["_ZN4mlir9Operation6create", "_ZN4mlir4Pass"] {
        assert!(undefined.lines().any(|line| line.starts_with(host)), "{undefined}");
    }
    let defined = nm(&["--defined-only"])?;
    // MLIRContext, the parser, and a dialect.
    for core in ["_ZN4mlir11MLIRContextC", "_ZN4mlir16parseSourceString", "_ZN4mlir4LLVM11LLVMDialect10initialize"] {
        assert_eq!(defined.lines().find(|line| line.starts_with(core)), None);
    }
    let needed = success(Command::new("readelf").arg("-d").arg(mlir_plugin()))?;
    let needed = needed.lines().filter(|line| line.contains("(NEEDED)"));
    assert_eq!(needed.filter(|line| line.contains("LLVM") || line.contains("MLIR")).collect_vec(), [""; 0]);
    let folder = tempfile::tempdir()?;
    let stripped = folder.path().join("stripped.so");
    success(Command::new("strip").arg("-o").arg(&stripped).arg(mlir_plugin()))?;
    let size = fs::metadata(&stripped)?.len();
    // A copy of MLIR would have more than 50 MB.
    assert!(size < 4_000_000, "{size} bytes");
    println!("plugin: {size} bytes, stripped, without optimization");
    Ok(())
}
