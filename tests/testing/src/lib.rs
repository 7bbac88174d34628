//! What the tests of several crates share: the command, the tools, trials that need tools, and generated inputs.

pub mod adversary;
mod assembler;
pub mod cells;
pub mod examples;
pub mod findings;
pub mod mutants;
pub mod plugin;
pub mod random;
pub mod reasons;
pub mod reported;
pub mod snapshot;

use std::{
    collections::HashMap,
    hash::{DefaultHasher, Hash, Hasher},
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::LazyLock,
};

use itertools::Itertools;
use libtest_mimic::{Arguments, Failed, Trial};
use ptx_lowering::Target;

pub use crate::assembler::{ASSEMBLERS, Assembler};

/// What `--fp-atomics` may say, the default first.
pub const FP_ATOMICS: [&str; 3] = ["native", "ieee", "no-nans"];

/// The repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("this crate is two folders below the repository")
}

/// The file of the command under test. Cargo builds it for the tests of its crate and puts it above the folder of the tests.
pub fn binary() -> &'static Path {
    static BINARY: LazyLock<PathBuf> = LazyLock::new(|| {
        let binary = binary_path();
        assert!(binary.exists(), "no {}: run the test by `cargo test -p ptx-atomics-cli`", binary.display());
        binary
    });
    &BINARY
}

/// The major version of the LLVM that is under test: that of the command. 22 in tests of crates that have no command.
pub fn llvm_version() -> u32 {
    static VERSION: LazyLock<u32> = LazyLock::new(|| {
        if !binary_path().exists() {
            return 22;
        }
        let said = success(Command::new(binary()).arg("--version")).expect("it says its version");
        let version = said.split_once("LLVM ").and_then(|(_, rest)| rest.split('.').next()?.parse().ok());
        version.unwrap_or_else(|| panic!("no version of LLVM in: {said}"))
    });
    *VERSION
}

/// The name of a program of the LLVM that is under test.
pub fn tool(name: &str) -> &'static str {
    format!("{name}-{}", llvm_version()).leak()
}

/// Cargo's options for the LLVM that is under test.
pub fn features() -> [String; 3] {
    ["--no-default-features".into(), "--features".into(), format!("llvm{}", llvm_version())]
}

fn binary_path() -> PathBuf {
    let test = std::env::current_exe().expect("the path of the test");
    test.parent().expect("a folder").with_file_name("ptx-atomics")
}

/// The command under test, which shows every error.
pub fn ptx_atomics() -> Command {
    let mut command = Command::new(binary());
    command.args(["--error-limit", "0"]).current_dir(root()).stdin(Stdio::null());
    command
}

/// `ptx-atomics lower --embed assembly`, for PTX that is compared with that of another route: what the pass in MLIR, a plugin or another
/// strategy made is assembly, and the registers around it are chosen otherwise than around LLVM's own instructions.
pub fn lower_to_assembly() -> Command {
    let mut command = ptx_atomics();
    command.args(["lower", "--embed", "assembly"]);
    command
}

/// Runs a command and fails on any exit status but 0.
pub fn success(command: &mut Command) -> Result<String, Failed> {
    let Output { status, stdout, stderr } = command.output()?;
    if !status.success() {
        return Err(format!("{command:?}: {status}\n{}", String::from_utf8_lossy(&stderr)).into());
    }
    Ok(String::from_utf8(stdout)?)
}

/// Whether a command can be started at all.
pub fn exists(program: &str) -> bool {
    Command::new(program).arg("--version").output().is_ok_and(|output| output.status.success())
}

/// A trial that is listed as ignored, with the reason, where something is missing.
pub fn trial(name: String, missing: Option<&str>, test: impl FnOnce() -> Result<(), Failed> + Send + 'static) -> Trial {
    let name =
        missing.map_or(name.clone(), |what| format!("{name} (skipped: no {what} here; scripts/test installs it)"));
    Trial::test(name, test).with_ignored_flag(missing.is_some())
}

/// A module of a test program, and the trials that it has.
pub type Module = (&'static str, fn() -> Vec<Trial>);

/// Runs the trials of all modules and ends the process. The kind of a trial is its module: `-- '[mlir'` runs the module `mlir` alone,
/// and prepares no other.
pub fn run(modules: &[Module]) -> ! {
    let arguments = Arguments::from_args();
    let wanted = arguments.filter.as_deref().and_then(|filter| filter.strip_prefix('['));
    let is_wanted = |name: &str| wanted.is_none_or(|wanted| wanted.starts_with(name) || name.starts_with(wanted));
    let of_module = |(name, trials): &Module| {
        trials().into_iter().map(|trial| {
            let kind = [name, trial.kind()].into_iter().filter(|part| !part.is_empty()).join(", ");
            trial.with_kind(kind)
        })
    };
    let trials = modules.iter().filter(|(name, _)| is_wanted(name)).flat_map(of_module).collect();
    libtest_mimic::run(&arguments, trials).exit()
}

/// A file or folder of `../shared`, which stands beside the project here and nowhere else.
pub fn shared(path: &str) -> Option<PathBuf> {
    Some(root().join("../shared").join(path)).filter(|path| path.exists())
}

/// A trial that reads data of `../shared`: without them it is listed as ignored, and noted.
pub fn shared_trial(name: &str, path: &str, test: impl FnOnce(&Path) -> Result<(), Failed> + Send + 'static) -> Trial {
    match shared(path) {
        Some(path) => Trial::test(name, move || test(&path)),
        None => absent(name, path),
    }
}

/// The place of trials whose data are not in `../shared`.
pub fn absent(name: &str, path: &str) -> Trial {
    note("absent", name);
    Trial::test(format!("{name} (skipped: no ../shared/{path} here)"), || Ok(())).with_ignored_flag(true)
}

/// Whether `scripts/test --all` asks for larger samples, and for the trials that take long and find little more. That a program has
/// smaller ones is noted.
pub fn all() -> bool {
    static ALL: LazyLock<bool> = LazyLock::new(|| {
        let program = std::env::current_exe().expect("the path of the test");
        runs_all() || note("samples", &program.display().to_string())
    });
    *ALL
}

/// A trial that only `scripts/test --all` runs; elsewhere it is listed as ignored, and noted.
pub fn left_to_all(trial: Trial) -> Trial {
    if trial.has_ignored_flag() || runs_all() || note("trial", trial.name()) {
        return trial;
    }
    trial.with_kind("left to --all").with_ignored_flag(true)
}

/// The smaller sample of trials that are alike: of so many, `scripts/test` runs the first one.
pub fn one_of(count: usize, trials: impl IntoIterator<Item = Trial>) -> Vec<Trial> {
    let trials = trials.into_iter().enumerate();
    trials.map(|(index, trial)| if index % count == 0 { trial } else { left_to_all(trial) }).collect()
}

/// The stride of a sample: `scripts/test` takes one item of so many where `--all` takes each.
pub fn stride(count: usize) -> usize {
    if all() { 1 } else { count }
}

/// Whether `scripts/test --all` runs the tests.
pub fn runs_all() -> bool {
    std::env::var_os("PTX_ATOMICS_TEST_ALL").is_some()
}

/// Notes for `scripts/test` what is left out, in the file that it names; never true.
fn note(what: &str, name: &str) -> bool {
    let Some(path) = std::env::var_os("PTX_ATOMICS_TEST_LEFT") else { return false };
    let file = std::fs::File::options().append(true).open(path);
    writeln!(file.expect("scripts/test makes the file"), "{what}: {name}").expect("the file can be written");
    false
}

/// The smaller sample of a large cross: what is wrong wherever two words meet, it finds.
#[derive(Clone, Default)]
pub struct Pairs(HashMap<(usize, usize, u64, u64), u8>);

impl Pairs {
    /// Whether an item of these words, each at its place, has two together that no earlier item has.
    pub fn is_new(&mut self, words: &[u64]) -> bool {
        self.finds_more(words, 1)
    }

    /// The same, where an item finds only these kinds of what may be wrong.
    pub fn finds_more(&mut self, words: &[u64], kinds: u8) -> bool {
        let mut more = false;
        for (a, first) in words.iter().enumerate() {
            for (b, second) in words.iter().enumerate().skip(a + 1) {
                let known = self.0.entry((a, b, *first, *second)).or_default();
                more |= kinds & !*known != 0;
                *known |= kinds;
            }
        }
        more
    }

    /// How many things that may be wrong the items find.
    pub fn found(&self) -> u32 {
        self.0.values().map(|kinds| kinds.count_ones()).sum()
    }
}

/// A word of an item, for [`Pairs`].
pub fn word(of: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// Copies of bytes, each with a few of them changed behind the header; the same ones in every run.
pub fn damaged(whole: &[u8], header: usize) -> impl Iterator<Item = Vec<u8>> {
    let mut seed = 0x9E37_79B9_7F4A_7C15u64;
    let mut random = move |below: usize| {
        seed ^= seed << 13;
        seed ^= seed >> 7;
        seed ^= seed << 17;
        seed as usize % below
    };
    (0..150).map(move |_| {
        let mut damaged = whole.to_vec();
        for _ in 0..=random(4) {
            let index = header + random(damaged.len() - header);
            damaged[index] = random(256) as u8;
        }
        damaged
    })
}

/// A target; without a PTX version, of the lowest that knows the GPU.
pub fn target(sm: &str, ptx: Option<&str>) -> Target {
    Target::new(sm.parse().expect(sm), ptx.map(|ptx| ptx.parse().expect(ptx))).expect(sm)
}

/// A module of which LLVM's optimizer keeps two loads and two stores of data only if it does not believe that the functions
/// that order touch their arguments alone. `EFFECTS` stands for an attribute.
pub const CALLS_THAT_ORDER: &str = r#"target triple = "nvptx64-nvidia-cuda"
@data = addrspace(1) global float 0.0
define void @wait(ptr addrspace(1) %flag) noinline EFFECTS {
  %seen = load atomic i32, ptr addrspace(1) %flag acquire, align 4
  ret void
}
define void @signal(ptr addrspace(1) %flag) noinline EFFECTS {
  store atomic i32 1, ptr addrspace(1) %flag release, align 4
  ret void
}
define void @indirectly(ptr addrspace(1) %flag) noinline EFFECTS {
  call void @wait(ptr addrspace(1) %flag) EFFECTS
  ret void
}
define float @reader(ptr addrspace(1) %flag) {
  %before = load float, ptr addrspace(1) @data
  call void @indirectly(ptr addrspace(1) %flag)
  %after = load float, ptr addrspace(1) @data
  %sum = fadd float %before, %after
  ret float %sum
}
define void @writer(ptr addrspace(1) %flag) {
  store float 1.0, ptr addrspace(1) @data
  call void @signal(ptr addrspace(1) %flag)
  store float 2.0, ptr addrspace(1) @data
  ret void
}
"#;
