//! NVIDIA's assemblers, as `scripts/install test` brings them.

use std::{
    io::Write,
    path::{Path, PathBuf},
    process::Command,
};

use libtest_mimic::Failed;
use ptx_atomics_lowering::{PtxVersion, Target};

use crate::root;

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
