//! The arguments about compilers of sources, and about targets.

use clap::Args;
use ptx_atomics::{
    lowering::{PtxVersion, Sm, Target, UnknownTarget},
    pass::settings::{self, Features, Settings},
};

#[derive(Args, Clone, Default)]
pub struct SourceArgs {
    /// Compiler of a source: a clang, an nvcc or a rustc
    ///
    /// [default: for CUDA the nvcc in CUDA_HOME, CUDA_PATH or the PATH, else the clang on this LLVM; for C and C++ the
    /// clang on this LLVM; for Rust a rustc on this LLVM]
    #[arg(long, value_name = "PROGRAM", help_heading = "Sources")]
    pub cc: Option<String>,
    /// Flags for the compiler, such as -Iinclude -DN=4
    #[arg(last = true, value_name = "FLAGS", help_heading = "Sources")]
    pub flags: Vec<String>,
}

#[derive(Args, Clone, Default)]
pub struct TargetArgs {
    /// The GPU, sm_20 to sm_121f [default: as in the module, else sm_90]
    #[arg(long, value_name = "GPU", value_parser = settings::sm)]
    pub mcpu: Option<Sm>,
    /// PTX version, such as +ptx86 [default: as in the module, else the GPU's lowest]
    ///
    /// A GPU may follow, such as in +ptx86,+sm_90; it counts if --mcpu is not given.
    #[arg(long, value_name = "FEATURES", value_parser = settings::features)]
    pub mattr: Option<Features>,
}

impl TargetArgs {
    pub fn gpu(&self) -> Option<Sm> {
        self.mcpu.or_else(|| self.mattr?.sm)
    }

    pub fn version(&self) -> Option<PtxVersion> {
        self.mattr?.ptx
    }

    /// The flags as a list of options in the format of a module's flag.
    pub fn options(&self) -> impl Iterator<Item = String> {
        let gpu = self.gpu().map(|sm| format!("mcpu={}", sm.name()));
        gpu.into_iter().chain(self.version().map(|version| format!("mattr=+{}", version.feature())))
    }

    /// The target of the flags; else of the module; else sm_90.
    pub fn target(&self, gpu: Option<Sm>, version: Option<PtxVersion>) -> Result<Target, UnknownTarget> {
        Settings { mcpu: self.gpu(), mattr: self.version(), ..Settings::default() }.target(gpu, version)
    }
}
