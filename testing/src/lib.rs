//! What the tests of several crates share: the command, the tools, trials that need tools, and generated inputs.

pub mod cells;
pub mod examples;
pub mod listing;
pub mod plugin;
pub mod random;
pub mod reasons;
pub mod snapshot;

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
    sync::LazyLock,
};

use libtest_mimic::{Failed, Trial};
use ptx_atomics_lowering::{PtxVersion, Target};

/// The repository.
pub fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("this is a crate of the repository")
}

/// The file of the command under test. Cargo builds it for the tests of its crate and puts it above the folder of the tests.
pub fn binary() -> &'static Path {
    static BINARY: LazyLock<PathBuf> = LazyLock::new(|| {
        let test = std::env::current_exe().expect("the path of the test");
        let binary = test.parent().expect("a folder").with_file_name("ptx-atomics");
        assert!(binary.exists(), "no {}: run the test by `cargo test -p ptx-atomics-cli`", binary.display());
        binary
    });
    &BINARY
}

/// The command under test, which shows every error.
pub fn ptx_atomics() -> Command {
    let mut command = Command::new(binary());
    command.args(["--error-limit", "0"]).current_dir(root()).stdin(Stdio::null());
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

/// One generation of NVIDIA's assembler.
#[derive(Clone, Copy)]
pub struct Assembler {
    pub name: &'static str,
    path: &'static str,
    /// The GPUs that it knows, first and last.
    sm: (u32, u32),
    /// GPUs between these that it does not know.
    not: &'static [u32],
    /// The newest PTX version that it knows.
    ptx: PtxVersion,
}

#[rustfmt::skip]
pub const ASSEMBLERS: [Assembler; 3] = [
    Assembler { name: "ptxas-11.8", path: "nvidia/cuda_nvcc/bin/ptxas", sm: (20,  90), not: &[],    ptx: PtxVersion(7, 8) },
    Assembler { name: "ptxas-12.9", path: "nvidia/cuda_nvcc/bin/ptxas", sm: (50, 121), not: &[],    ptx: PtxVersion(8, 8) },
    Assembler { name: "ptxas-13.5", path: "nvidia/cu13/bin/ptxas",      sm: (75, 121), not: &[101], ptx: PtxVersion(9, 4) },
];

impl Assembler {
    /// Where it is, if it is installed.
    pub fn program(&self) -> PathBuf {
        root().join(".tools").join(self.name).join(self.path)
    }

    /// What is missing, if this assembler is.
    pub fn missing(&self) -> Option<&'static str> {
        (!self.program().exists()).then_some(self.name)
    }

    pub fn knows(&self, target: &Target) -> bool {
        let number = target.sm.number();
        (self.sm.0..=self.sm.1).contains(&number) && !self.not.contains(&number) && target.ptx <= self.ptx
    }

    /// Assembles PTX text and throws the result away.
    pub fn assemble(&self, target: &Target, ptx: &[u8]) -> Result<(), Failed> {
        self.run(&["-c", "-o", "/dev/null"], target, ptx)
    }

    /// Assembles PTX text, as a whole program, whose code is not quite that of a part.
    pub fn assemble_to(&self, output: &Path, target: &Target, ptx: &[u8]) -> Result<(), Failed> {
        self.run(&["-o", &output.to_string_lossy()], target, ptx)
    }

    fn run(&self, arguments: &[&str], target: &Target, ptx: &[u8]) -> Result<(), Failed> {
        let mut file = tempfile::Builder::new().suffix(".ptx").tempfile()?;
        file.write_all(ptx)?;
        let mut command = Command::new(self.program());
        // The oldest assembler checks PTX for GPUs before its first by their own rules, and assembles it for that one.
        let arch = if target.sm.number() < 35 { "sm_35" } else { target.sm.name() };
        command.args(arguments).args(["-arch", arch]).arg(file.path());
        let output = command.output()?;
        if output.status.success() {
            return Ok(());
        }
        let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
        let head = text.lines().take(20).collect::<Vec<_>>().join("\n");
        let kept = std::env::temp_dir().join(format!("rejected-by-{}.ptx", self.name));
        std::fs::write(&kept, ptx)?;
        Err(format!("{} rejects {}: {}\n{head}", self.name, kept.display(), output.status).into())
    }
}

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
