//! Code that the tests of several crates share: the command, the tools, trials that need tools, and generated inputs.

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

/// The values of `--fp-atomics`. The first is the default.
pub const FP_ATOMICS: [&str; 3] = ["native", "ieee", "no-nans"];

/// The repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).ancestors().nth(2).expect("this crate is two folders below the repository")
}

/// The path of the command under test. Cargo builds it for the tests of its crate and puts it above the folder of the
/// tests.
pub fn binary() -> &'static Path {
    static BINARY: LazyLock<PathBuf> = LazyLock::new(|| {
        let binary = binary_path();
        assert!(binary.exists(), "no {}: run the test by `cargo test -p ptx-atomics-cli`", binary.display());
        binary
    });
    &BINARY
}

/// The major version of the LLVM under test, as the command reports it. 22 in tests of crates without the command.
pub fn llvm_version() -> u32 {
    static VERSION: LazyLock<u32> = LazyLock::new(|| {
        if !binary_path().exists() {
            return 22;
        }
        let said = success(Command::new(binary()).arg("--version")).expect("the command prints its version");
        let version = said.split_once("LLVM ").and_then(|(_, rest)| rest.split('.').next()?.parse().ok());
        version.unwrap_or_else(|| panic!("no version of LLVM in: {said}"))
    });
    *VERSION
}

/// The name of a program of the LLVM under test.
pub fn tool(name: &str) -> &'static str {
    format!("{name}-{}", llvm_version()).leak()
}

/// Cargo's options for the LLVM under test.
pub fn features() -> [String; 3] {
    ["--no-default-features".into(), "--features".into(), format!("llvm{}", llvm_version())]
}

fn binary_path() -> PathBuf {
    let test = std::env::current_exe().expect("the path of the test");
    test.parent().expect("a folder").with_file_name("ptx-atomics")
}

/// The command under test, with no limit for errors.
pub fn ptx_atomics() -> Command {
    let mut command = Command::new(binary());
    command.args(["--error-limit", "0"]).current_dir(root()).stdin(Stdio::null());
    command
}

/// `ptx-atomics lower --embed assembly`, for a comparison of PTX from two routes. The pass in MLIR, a plugin or another
/// strategy embeds assembly, and LLVM allocates registers differently around assembly than around its own instructions.
pub fn lower_to_assembly() -> Command {
    let mut command = ptx_atomics();
    command.args(["lower", "--embed", "assembly"]);
    command
}

/// Runs a command and fails on any exit status except 0.
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

/// A trial that is listed as ignored, with the reason, if a requirement is missing.
pub fn trial(name: String, missing: Option<&str>, test: impl FnOnce() -> Result<(), Failed> + Send + 'static) -> Trial {
    let name = missing.map_or(name.clone(), |tool| {
        format!("{name} (skipped: no {tool} here; scripts/test or scripts/install peers installs it)")
    });
    Trial::test(name, test).with_ignored_flag(missing.is_some())
}

/// A module of a test program, with its trials.
pub type Module = (&'static str, fn() -> Vec<Trial>);

/// Runs the trials of all modules and ends the process. The kind of a trial is its module: `-- '[mlir'` runs only the
/// module `mlir`, and prepares no other.
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

/// A file or folder of `../shared`, which exists only beside the project's working copy.
pub fn shared(path: &str) -> Option<PathBuf> {
    Some(root().join("../shared").join(path)).filter(|path| path.exists())
}

/// A trial that reads data of `../shared`. Without the data the trial is listed as ignored, and noted.
pub fn shared_trial(name: &str, path: &str, test: impl FnOnce(&Path) -> Result<(), Failed> + Send + 'static) -> Trial {
    match shared(path) {
        Some(path) => Trial::test(name, move || test(&path)),
        None => absent(name, path),
    }
}

/// An ignored trial for data that are not in `../shared`.
pub fn absent(name: &str, path: &str) -> Trial {
    note("absent", name);
    Trial::test(format!("{name} (skipped: no ../shared/{path} here)"), || Ok(())).with_ignored_flag(true)
}

/// Whether `scripts/test --all` asks for larger samples, and for slow trials that rarely find more. If not, the program
/// is noted as one with smaller samples.
pub fn all() -> bool {
    static ALL: LazyLock<bool> = LazyLock::new(|| {
        let program = std::env::current_exe().expect("the path of the test");
        runs_all() || note("samples", &program.display().to_string())
    });
    *ALL
}

/// A trial that only `scripts/test --all` runs. Otherwise it is listed as ignored, and noted.
pub fn left_to_all(trial: Trial) -> Trial {
    if trial.has_ignored_flag() || runs_all() || note("trial", trial.name()) {
        return trial;
    }
    trial.with_kind("left to --all").with_ignored_flag(true)
}

/// A smaller sample of similar trials: `scripts/test` runs one of `count`.
pub fn one_of(count: usize, trials: impl IntoIterator<Item = Trial>) -> Vec<Trial> {
    let trials = trials.into_iter().enumerate();
    trials.map(|(index, trial)| if index % count == 0 { trial } else { left_to_all(trial) }).collect()
}

/// The stride of a sample: `scripts/test` takes one item of `count`, and `--all` takes each.
pub fn stride(count: usize) -> usize {
    if all() { 1 } else { count }
}

/// Whether `scripts/test --all` runs the tests.
pub fn runs_all() -> bool {
    std::env::var_os("PTX_ATOMICS_TEST_ALL").is_some()
}

/// Writes the omitted item into the file that `scripts/test` names. Always returns false.
fn note(what: &str, name: &str) -> bool {
    let Some(path) = std::env::var_os("PTX_ATOMICS_TEST_LEFT") else { return false };
    let file = std::fs::File::options().append(true).open(path);
    writeln!(file.expect("scripts/test creates the file"), "{what}: {name}").expect("the file can be written");
    false
}

/// A smaller sample of a large cross product. It has every pair of words, so it finds each fault that depends on at
/// most two words.
#[derive(Clone, Default)]
pub struct Pairs(HashMap<(usize, usize, u64, u64), u8>);

impl Pairs {
    /// Whether an item with these words, each at its position, has a pair that no earlier item has.
    pub fn is_new(&mut self, words: &[u64]) -> bool {
        self.finds_more(words, 1)
    }

    /// Like `is_new`, for an item that can find only these kinds of faults.
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

    /// The number of pairs and kinds of faults that the items find.
    pub fn count_faults(&self) -> u32 {
        self.0.values().map(|kinds| kinds.count_ones()).sum()
    }
}

/// A word of an item, for [`Pairs`].
pub fn word(of: impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    of.hash(&mut hasher);
    hasher.finish()
}

/// Copies of bytes, each with a few bytes changed after the header. The copies are the same in every run.
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

/// A target. Without a PTX version, the lowest version that supports the GPU.
pub fn target(sm: &str, ptx: Option<&str>) -> Target {
    Target::new(sm.parse().expect(sm), ptx.map(|ptx| ptx.parse().expect(ptx))).expect(sm)
}

/// A module with two loads and two stores of data around functions that order. LLVM's optimizer keeps all four only if
/// it does not infer that the functions access nothing but their arguments. `EFFECTS` is a placeholder for an
/// attribute.
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
