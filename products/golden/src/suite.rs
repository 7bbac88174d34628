//! The suite: its inputs, and a trial for each of them, for each GPU and strategy.

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    env, fs,
    path::{Path, PathBuf},
    process::{self, Command, Stdio},
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use itertools::Itertools;
use libtest_mimic::{Arguments, Failed, Trial};
use ptx_atomics::ptx::{Module, Target};
use ptx_isa::assembler::{Assembler, HELP};

use crate::{
    change::{Asked, Change},
    cpu,
    input::{Directives, files, target},
    junit::Report,
    listing::{Show, Variant, listing, texts},
    lower::{Lowering, Source},
    snapshot::{Snapshot, none_left},
};

type TargetOptions = dyn Fn(&Target) -> String + Send + Sync;

/// A folder of inputs, and the settings of their trials.
///
/// Inputs are `.ll` and `.bc` (LLVM IR), `.mlir`, `.ptx`, and files that a [command](Self::compile_to_ir) compiles. The
/// comments of an input may have directives: `GPUS: sm_70 sm_90`, `STRATEGIES: fence`, `REJECTED: sm_35`.
#[derive(Clone)]
pub struct Suite {
    inputs: PathBuf,
    snapshots: Option<PathBuf>,
    gpus: Vec<String>,
    strategies: Vec<String>,
    strategies_for: BTreeMap<String, Vec<String>>,
    options: Arc<TargetOptions>,
    show: Show,
    compilers: BTreeMap<String, Compiler>,
    edition: Option<String>,
    short_names: bool,
    seeds: u64,
}

/// A command that compiles inputs with some extension.
#[derive(Clone)]
struct Compiler {
    words: Vec<String>,
    makes_ptx: bool,
}

impl Suite {
    /// A suite of the inputs in a folder, which is a path from the folder of the package. Call this function first in
    /// `main`: this program is then also the helper that lowers inputs in separate processes, so that a crash does not
    /// end the tests.
    pub fn new(inputs: impl Into<PathBuf>) -> Self {
        crate::lower::serve();
        Self {
            inputs: inputs.into(),
            snapshots: None,
            gpus: vec!["sm_70".into(), "sm_90".into()],
            strategies: vec!["recommended".into()],
            strategies_for: BTreeMap::new(),
            options: Arc::new(|_| String::new()),
            show: Show::default(),
            compilers: BTreeMap::new(),
            edition: None,
            short_names: false,
            seeds: 0,
        }
    }

    /// The GPUs: `sm_90`, with the lowest PTX version that has it, or `sm_90+ptx86`. The default is sm_70 and sm_90.
    pub fn gpus(mut self, gpus: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.gpus = gpus.into_iter().map(Into::into).collect();
        self
    }

    /// The strategies, in the format of `--strategy`. The default is `recommended`.
    pub fn strategies(mut self, strategies: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.strategies = strategies.into_iter().map(Into::into).collect();
        self
    }

    /// The strategies for a single GPU, instead of the suite's strategies.
    pub fn strategies_for(mut self, gpu: &str, strategies: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.strategies_for.insert(gpu.to_owned(), strategies.into_iter().map(Into::into).collect());
        self
    }

    /// Other options of the lowering for a GPU, between commas: `default-scope=gpu,fp-atomics=ieee`.
    pub fn options(mut self, options: impl Fn(&Target) -> String + Send + Sync + 'static) -> Self {
        self.options = Arc::new(options);
        self
    }

    /// The part of each function in the snapshots. The default is the code that concerns atomics.
    pub fn show(mut self, show: Show) -> Self {
        self.show = show;
        self
    }

    /// The folder of the snapshots. The default is the folder `snapshots` in the parent folder of the inputs.
    pub fn snapshots(mut self, folder: impl Into<PathBuf>) -> Self {
        self.snapshots = Some(folder.into());
        self
    }

    /// The edition of the compiler that makes the texts. An edition that makes another text of an input has a separate
    /// snapshot, `NAME.EDITION.snap`.
    pub fn edition(mut self, edition: Option<impl Into<String>>) -> Self {
        self.edition = edition.map(Into::into);
        self
    }

    /// Names snapshots and trials without the extensions of the inputs. No two inputs may then differ by their
    /// extensions alone.
    pub fn short_names(mut self) -> Self {
        self.short_names = true;
        self
    }

    /// Runs the kernels on the CPU as comments of their inputs say, `// run: grid=2 block=32 sum=u32[1] expect sum ==
    /// 64`, with this number of seeds. A data race, any other finding of `ptx-atomics run`, and a condition that does
    /// not hold are failures.
    pub fn on_cpu(mut self, seeds: u64) -> Self {
        self.seeds = seeds;
        self
    }

    /// Compiles inputs with an extension to LLVM IR or MLIR, which is then lowered. `{input}` and `{output}` in the
    /// words of the command are the paths of files; `{sm}` and `{ptx}` are `sm_90` and `ptx86`.
    pub fn compile_to_ir(self, extension: &str, command: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.compiler(extension, command, false)
    }

    /// Compiles inputs with an extension to PTX, which is pinned. A command without `{strategy}` gives one text for
    /// each GPU, and a command without `{sm}` and `{ptx}` the same text for all GPUs.
    pub fn compile_to_ptx(self, extension: &str, command: impl IntoIterator<Item = impl Into<String>>) -> Self {
        self.compiler(extension, command, true)
    }

    fn compiler(
        mut self,
        extension: &str,
        command: impl IntoIterator<Item = impl Into<String>>,
        makes_ptx: bool,
    ) -> Self {
        let words = command.into_iter().map(Into::into).collect();
        self.compilers.insert(extension.trim_start_matches('.').to_owned(), Compiler { words, makes_ptx });
        self
    }

    /// Runs the trials that the arguments of this program select, and exits, as `cargo test` expects. If the
    /// environment variable `GOLDEN_JUNIT` names a file, a report in JUnit's format is written to it.
    pub fn run(self) -> ! {
        let report = Report::default();
        let conclusion = libtest_mimic::run(&Arguments::from_args(), self.trials_for(&report));
        if let Err(reason) = report.write(&test_name()) {
            eprintln!("error: {reason}");
            process::exit(1);
        }
        conclusion.exit()
    }

    /// The trials. A wrong setting is a trial that fails.
    pub fn trials(&self) -> Vec<Trial> {
        self.trials_for(&Report::default())
    }

    fn trials_for(&self, report: &Report) -> Vec<Trial> {
        let root = env::var_os("CARGO_MANIFEST_DIR").map_or_else(PathBuf::new, PathBuf::from);
        let folder = root.join(&self.inputs);
        let snapshots = match &self.snapshots {
            Some(snapshots) => root.join(snapshots),
            None => folder.join("snapshots"),
        };
        let own = ["ll", "bc", "mlir", "mlirbc", "ptx"].map(str::to_owned);
        let extensions: Vec<_> = own.into_iter().chain(self.compilers.keys().cloned()).collect();
        let fails = |name: &str, reason: String| report.trial(name, move || Err(reason.into()));
        let paths = match files(&folder, &extensions, &snapshots) {
            Ok(paths) if paths.is_empty() => {
                return vec![fails("inputs", format!("{} has no inputs", folder.display()))];
            }
            Ok(paths) => paths,
            Err(reason) => return vec![fails("inputs", reason)],
        };

        let mut trials = Vec::new();
        let mut names = BTreeSet::new();
        for path in paths {
            let name = self.name(&path, &folder);
            if !names.insert(name.clone()) {
                trials.push(fails(&name, "another input has this name".into()));
                continue;
            }
            match Case::new(self, &path, name.clone(), &snapshots) {
                Ok(case) => trials.extend(trials_of(&Arc::new(case), report)),
                Err(reason) => trials.push(fails(&name, reason)),
            }
        }
        trials.push(report.trial("no snapshot without its input", move || none_left(&snapshots, &names)));
        let assembled = Trial::test(format!("assembling (skipped: no ptxas here; {HELP})"), || Ok(()));
        trials.extend(Assembler::find_installed().is_empty().then(|| assembled.with_ignored_flag(true)));
        trials
    }

    /// The path from the folder of the inputs, with dots instead of slashes.
    fn name(&self, path: &Path, folder: &Path) -> String {
        let path = path.strip_prefix(folder).unwrap_or(path);
        let path = if self.short_names { path.with_extension("") } else { path.to_owned() };
        path.iter().map(|part| part.to_string_lossy()).join(".")
    }
}

/// An input with its variants.
struct Case {
    path: PathBuf,
    /// The text of the input; empty if the input is not a text.
    text: String,
    /// The number of seeds for the runs.
    seeds: u64,
    name: String,
    snapshots: PathBuf,
    edition: Option<String>,
    show: Show,
    compiler: Option<Compiler>,
    options: Arc<TargetOptions>,
    variants: Vec<Made>,
    /// The output of the compiler for each command.
    compiled: Mutex<HashMap<Vec<String>, Compiled>>,
}

/// The output of a command, or the reason of its failure.
type Compiled = Result<Vec<u8>, String>;

/// The result for an input, for a GPU with a strategy.
struct Made {
    target: Target,
    strategy: String,
    is_rejected: bool,
    made: OnceLock<Result<Vec<Part>, String>>,
}

/// One module of PTX.
struct Part {
    /// The name of the `gpu.module`.
    name: Option<String>,
    ptx: String,
    /// The operations that the source of the module asks for, if there is a source; and these operations by the name of
    /// their function in PTX.
    source: Option<Source>,
    asked: HashMap<String, Asked>,
}

impl Case {
    fn new(suite: &Suite, path: &Path, name: String, snapshots: &Path) -> Result<Self, String> {
        let bytes = fs::read(path).map_err(|error| format!("{}: {error}", path.display()))?;
        let directives = Directives::read_text(&String::from_utf8_lossy(&bytes));
        let extension = path.extension().unwrap_or_default().to_string_lossy().into_owned();
        let compiler = suite.compilers.get(&extension).cloned();
        let has_ptx = |words: &[String], word: &str| words.iter().any(|part| part.contains(word));
        let is_lowered = match &compiler {
            Some(compiler) => !compiler.makes_ptx || has_ptx(&compiler.words, "{strategy}"),
            None => extension != "ptx",
        };
        let own = match (&compiler, is_lowered) {
            (None, false) => Some(own_target(&bytes)?),
            _ => None,
        };
        let gpus = directives.gpus.as_ref().unwrap_or(&suite.gpus);
        // A GPU of an input without a PTX version has the version of the suite.
        let target = |gpu: &String| {
            let of_suite = suite.gpus.iter().find(|known| known.split('+').next() == Some(gpu));
            target(of_suite.unwrap_or(gpu))
        };
        let targets: Vec<_> = match own {
            Some(own) => vec![own],
            None => gpus.iter().chain(&directives.rejected).unique().map(target).try_collect()?,
        };
        let rejected: Vec<_> = directives.rejected.iter().map(target).try_collect()?;
        let none = vec![String::new()];
        let strategies = |target: &Target| match &directives.strategies {
            _ if !is_lowered => &none,
            Some(own) => own,
            None => suite.strategies_for.get(target.sm.name()).unwrap_or(&suite.strategies),
        };
        let of = |target: Target, strategy: &String| Made {
            target,
            strategy: strategy.clone(),
            is_rejected: rejected.iter().any(|rejected| rejected.sm == target.sm),
            made: OnceLock::new(),
        };
        let variants =
            targets.iter().flat_map(|target| strategies(target).iter().map(|strategy| of(*target, strategy)));
        let variants = variants.collect_vec();
        if variants.is_empty() {
            return Err("the input has no GPU or no strategy".into());
        }
        Ok(Self {
            path: path.to_owned(),
            text: String::from_utf8(bytes).unwrap_or_default(),
            seeds: suite.seeds,
            name,
            snapshots: snapshots.to_owned(),
            edition: suite.edition.clone(),
            show: suite.show,
            compiler,
            options: suite.options.clone(),
            variants,
            compiled: Mutex::default(),
        })
    }

    /// The modules for a variant, made once for all trials.
    fn made<'c>(&self, variant: &'c Made) -> Result<&'c [Part], String> {
        variant.made.get_or_init(|| self.make(variant)).as_ref().map(|parts| &parts[..]).map_err(Clone::clone)
    }

    fn make(&self, variant: &Made) -> Result<Vec<Part>, String> {
        let (bytes, is_ptx) = match &self.compiler {
            Some(compiler) => (self.compiled(&compiler.words, variant)?, compiler.makes_ptx),
            None => {
                let bytes = fs::read(&self.path).map_err(|error| error.to_string())?;
                (bytes, self.path.extension().is_some_and(|extension| extension == "ptx"))
            }
        };
        if is_ptx {
            let ptx = String::from_utf8(bytes).map_err(|_| "the PTX is not text".to_owned())?;
            return Ok(vec![Part { name: None, ptx, source: None, asked: HashMap::new() }]);
        }
        // Messages have the file name without its folder, so that they are the same on every machine.
        let name = self.path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let lowering = Lowering::new(name, bytes, &variant.target, &variant.strategy, &(self.options)(&variant.target));
        let parts = lowering.ptx()?.into_iter().map(|(name, ptx)| {
            let module: Module = ptx.parse().map_err(|errors| format!("the PTX: {errors}"))?;
            let source = lowering.source(&module, name.as_deref())?;
            Ok::<_, String>(Part { name, asked: source.asked(), source: Some(source), ptx })
        });
        parts.collect()
    }

    /// The output of the compiler for the input, made once for each command.
    fn compiled(&self, words: &[String], variant: &Made) -> Compiled {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let output = folder.path().join("output");
        let named = words.iter().map(|word| {
            let word = word.replace("{sm}", variant.target.sm.name()).replace("{ptx}", &variant.target.ptx.feature());
            word.replace("{strategy}", &variant.strategy).replace("{input}", &self.path.to_string_lossy())
        });
        let key = named.collect_vec();
        // Other trials with the same command wait here, so that the input is compiled once.
        let mut compiled = self.compiled.lock().unwrap_or_else(PoisonError::into_inner);
        let compile = || {
            let mut arguments = key.iter().map(|word| word.replace("{output}", &output.to_string_lossy()));
            let program = arguments.next().ok_or("the command is empty")?;
            let mut command = Command::new(&program);
            command.args(arguments).stdin(Stdio::null());
            let done = command.output().map_err(|error| format!("cannot run '{program}': {error}"))?;
            if !done.status.success() {
                return Err(format!("{}: {}\n{}", key.join(" "), done.status, String::from_utf8_lossy(&done.stderr)));
            }
            let prints = !key.iter().any(|word| word.contains("{output}"));
            if prints {
                Ok(done.stdout)
            } else {
                fs::read(&output).map_err(|error| format!("{}: {error}", key.join(" ")))
            }
        };
        compiled.entry(key.clone()).or_insert_with(compile).clone()
    }

    /// Checks everything of a variant except its text: it compiles or is rejected, every ptxas accepts it, it keeps the
    /// operations of the source, and it runs as its comments say.
    fn check(&self, variant: &Made) -> Result<(), Failed> {
        let parts = match (self.made(variant), variant.is_rejected) {
            (Ok(parts), false) => parts,
            (Err(_), true) => return Ok(()),
            (Err(reason), false) => return Err(reason.into()),
            (Ok(_), true) => return Err(format!("{} accepts the input, which says REJECTED", variant.target.sm).into()),
        };
        let mut errors = Vec::new();
        for part in parts {
            let known = Assembler::find_installed().iter().filter(|assembler| assembler.knows(&variant.target));
            errors.extend(
                known
                    .filter_map(|assembler| assembler.assemble(&variant.target, &part.ptx).err())
                    .map(|error| error.to_string()),
            );
            errors.extend(part.source.as_ref().and_then(|source| source.lost(&part.ptx).err()));
        }
        errors.extend(self.failures(parts)?);
        if errors.is_empty() { Ok(()) } else { Err(errors.join("\n").into()) }
    }

    /// The failures of the runs on the CPU.
    fn failures(&self, parts: &[Part]) -> Result<Vec<String>, Failed> {
        if self.seeds == 0 {
            return Ok(Vec::new());
        }
        let parsed = parts.iter().map(|part| part.ptx.parse::<Module>());
        let modules: Vec<_> = parsed.try_collect().map_err(|errors| format!("the PTX: {errors}"))?;
        let folder = self.path.parent().unwrap_or(Path::new(""));
        Ok(cpu::failures(&self.text, folder, &modules, self.seeds))
    }

    /// Compares the text of the snapshot with the pinned one.
    fn compare(&self) -> Result<(), Failed> {
        let text = self.text()?;
        let variants = self.variants.iter().map(|variant| (variant.target.sm.name(), &*variant.strategy)).collect_vec();
        let judge = |old: &str| {
            (self.show != Show::Ptx)
                .then(|| Change::between(old, &text, &variants, |name, index| self.asked(name, index)))
        };
        let command = command();
        let snapshot =
            Snapshot { folder: &self.snapshots, name: &self.name, edition: self.edition.as_deref(), command: &command };
        snapshot.compare(&text, judge)
    }

    /// The listing of every module, and the messages of variants that are rejected.
    fn text(&self) -> Result<String, Failed> {
        let mut modules: BTreeMap<Option<&str>, Vec<Variant<'_>>> = BTreeMap::new();
        let mut rejections = Vec::new();
        for variant in &self.variants {
            let of = |text| Variant { gpu: variant.target.sm.name(), by: &variant.strategy, text };
            match self.made(variant) {
                Ok(parts) => {
                    parts.iter().for_each(|part| modules.entry(part.name.as_deref()).or_default().push(of(&part.ptx)))
                }
                Err(reason) if variant.is_rejected => rejections.push((variant, reason)),
                Err(reason) => return Err(reason.into()),
            }
        }
        let are_named = modules.len() > 1;
        let mut text = String::new();
        for (name, variants) in &modules {
            let listed = listing(variants, self.show)?;
            let prefix = name.filter(|_| are_named).map_or(String::new(), |name| format!("{name}::"));
            let lines = listed.lines().map(|line| match line.chars().next() {
                Some(first) if first != ' ' => format!("{prefix}{line}\n"),
                _ => format!("{line}\n"),
            });
            text.extend(lines);
        }
        let rejected = rejections.iter().map(|(variant, reason)| Variant {
            gpu: variant.target.sm.name(),
            by: &variant.strategy,
            text: reason,
        });
        let rejected = rejected.collect_vec();
        Ok(if rejected.is_empty() { text } else { text + &texts("rejected", &rejected) })
    }

    /// The operations that the source asks for in a function. If there are several modules, the name of the module
    /// precedes the function's name.
    fn asked(&self, name: &str, variant: usize) -> Option<&Asked> {
        let parts = self.made(self.variants.get(variant)?).ok()?;
        let (module, function) =
            name.split_once("::").map_or((None, name), |(module, function)| (Some(module), function));
        let part = parts.iter().find(|part| module.is_none() || part.name.as_deref() == module)?;
        part.asked.get(function)
    }
}

/// A trial for the snapshot, and one for each variant.
fn trials_of(case: &Arc<Case>, report: &Report) -> Vec<Trial> {
    let of_variant = |index: usize| {
        let (variant, case) = (&case.variants[index], case.clone());
        let words = [variant.target.sm.name(), &variant.strategy].iter().filter(|word| !word.is_empty()).join(", ");
        report.trial(format!("{}: {words}", case.name), move || case.check(&case.variants[index]))
    };
    let snapshot = case.clone();
    let compared = report.trial(case.name.clone(), move || snapshot.compare());
    [compared].into_iter().chain((0..case.variants.len()).map(of_variant)).collect()
}

/// The cargo command that runs this test.
fn command() -> String {
    let package = env::var("CARGO_PKG_NAME").map_or(String::new(), |name| format!(" -p {name}"));
    format!("cargo test{package} --test {}", test_name())
}

/// The name of this test in cargo.
fn test_name() -> String {
    let program = env::current_exe().unwrap_or_default();
    let stem = program.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    stem.rsplit_once('-').map_or(stem.clone(), |(test, _)| test.to_owned())
}

/// The target that a text of PTX names.
fn own_target(ptx: &[u8]) -> Result<Target, String> {
    let text = std::str::from_utf8(ptx).map_err(|_| "the PTX is not text".to_owned())?;
    let module: Module = text.parse().map_err(|errors| format!("the input is not PTX: {errors}"))?;
    let sm = module.target.split(',').next().unwrap_or_default().trim();
    target(&format!("{sm}+ptx{}", module.version.replace('.', "")))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks a kernel in which a thread of each of two blocks adds to a word.
    fn check(add: &str, seeds: u64, expected: &[&str]) {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("add.ptx");
        let text = format!(
            "// run: grid=2 block=1 sum=u32[1]\n.version 7.0\n.target sm_80\n.address_size 64\n\
             .visible .entry add(.param .u64 .ptr .global .align 4 sum)\n{{\n.reg .b32 %r<2>;\n.reg .b64 %rd<2>;\n\
             ld.param.u64 %rd1, [sum];\n{add}\nret;\n}}\n"
        );
        fs::write(&path, text).expect("an input");
        let suite = Suite::new(folder.path()).on_cpu(seeds);
        let case = Case::new(&suite, &path, "add.ptx".into(), folder.path()).expect("a case");
        let found = case.check(&case.variants[0]).err();
        let said = found.as_ref().and_then(Failed::message).unwrap_or_default();
        assert_eq!(found.is_none(), expected.is_empty(), "{said}");
        assert!(expected.iter().all(|words| said.contains(words)), "{said}");
    }

    #[test]
    fn on_the_cpu() {
        let plain = "ld.global.u32 %r1, [%rd1];\nadd.u32 %r1, %r1, 1;\nst.global.u32 [%rd1], %r1;";
        check("red.relaxed.gpu.global.add.u32 [%rd1], 1;", 2, &[]);
        check(plain, 2, &["the run of line 1: add: grid 2, block 1, seed 0", "race: ", "st.global.u32"]);
        check(plain, 0, &[]);
    }
}
