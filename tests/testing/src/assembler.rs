//! The three generations of NVIDIA's assembler that the tests use. `scripts/install test` installs them.

use std::{
    path::{Path, PathBuf},
    sync::LazyLock,
};

use libtest_mimic::Failed;
use ptx_isa::assembler::Error;
use ptx_lowering::{PtxVersion, Target};

use crate::root;

/// One generation of NVIDIA's assembler. The table also has the supported targets, so that the trials of a missing
/// assembler can be listed.
#[derive(Clone, Copy)]
pub struct Assembler {
    pub name: &'static str,
    path: &'static str,
    /// The first and the last supported GPU.
    sm: (u32, u32),
    /// GPUs in this range that the assembler does not support.
    not: &'static [u32],
    ptx: PtxVersion,
}

#[rustfmt::skip]
pub const ASSEMBLERS: [Assembler; 3] = [
    Assembler { name: "ptxas-11.8", path: "nvidia/cuda_nvcc/bin/ptxas", sm: (20,  90), not: &[],    ptx: PtxVersion(7, 8) },
    Assembler { name: "ptxas-12.9", path: "nvidia/cuda_nvcc/bin/ptxas", sm: (50, 121), not: &[],    ptx: PtxVersion(8, 8) },
    Assembler { name: "ptxas-13.5", path: "nvidia/cu13/bin/ptxas",      sm: (75, 121), not: &[101], ptx: PtxVersion(9, 5) },
];

impl Assembler {
    /// The path of the program, if it is installed.
    pub fn program(&self) -> PathBuf {
        root().join(".tools").join(self.name).join(self.path)
    }

    /// The name of the assembler if it is missing.
    pub fn missing(&self) -> Option<&'static str> {
        (!self.program().exists()).then_some(self.name)
    }

    pub fn knows(&self, target: &Target) -> bool {
        let number = target.sm.number();
        (self.sm.0..=self.sm.1).contains(&number) && !self.not.contains(&number) && target.ptx <= self.ptx
    }

    /// The newest PTX version that the tests pass to the assembler.
    pub fn newest(&self) -> PtxVersion {
        self.ptx
    }

    /// The assembler's result for PTX text. The text is not kept.
    pub fn judge(&self, target: &Target, ptx: &[u8]) -> Result<Result<(), Error>, Failed> {
        Ok(self.installed()?.assemble(target, ptx))
    }

    /// Assembles PTX text and discards the result.
    pub fn assemble(&self, target: &Target, ptx: &[u8]) -> Result<(), Failed> {
        self.installed()?.assemble(target, ptx).map_err(|error| self.kept(error, ptx))
    }

    /// Assembles PTX text as a whole program, whose code differs slightly from the code of a part.
    pub fn assemble_to(&self, output: &Path, target: &Target, ptx: &[u8]) -> Result<(), Failed> {
        self.installed()?.assemble_to(output, target, ptx).map(drop).map_err(|error| self.kept(error, ptx))
    }

    fn installed(&self) -> Result<&'static ptx_isa::assembler::Assembler, Failed> {
        static INSTALLED: LazyLock<Vec<Result<ptx_isa::assembler::Assembler, Error>>> = LazyLock::new(|| {
            ASSEMBLERS
                .iter()
                .map(|assembler| ptx_isa::assembler::Assembler::from_program(assembler.program()))
                .collect()
        });
        let index = ASSEMBLERS.iter().position(|known| known.name == self.name).expect("one of them");
        INSTALLED[index].as_ref().map_err(Failed::from)
    }

    /// The error, with the path of a copy of the text.
    fn kept(&self, error: Error, ptx: &[u8]) -> Failed {
        let kept = std::env::temp_dir().join(format!("rejected-by-{}.ptx", self.name));
        let head = error.to_string().lines().take(20).collect::<Vec<_>>().join("\n");
        match std::fs::write(&kept, ptx) {
            Ok(()) => format!("{}: {head}", kept.display()).into(),
            Err(_) => head.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use ptx_lowering::Sm;

    use super::*;

    /// The table agrees with the installed assemblers about every GPU.
    #[test]
    fn the_table_is_true() {
        for assembler in ASSEMBLERS.iter().filter(|assembler| assembler.missing().is_none()) {
            let installed = assembler.installed().expect("a ptxas");
            for sm in Sm::all() {
                let target = Target::new(sm, None).expect("its lowest version");
                assert_eq!(assembler.knows(&target), installed.knows(&target), "{}: {sm}", assembler.name);
            }
            assert!(assembler.ptx <= installed.ptx(), "{}", assembler.name);
        }
    }
}
