//! The arguments of `ptx-atomics exec`.

use std::{ffi::OsString, path::PathBuf};

use clap::Args;
use ptx_atomics_device::BUDGET;

use crate::run::sizes;

/// Run a program of CUDA without a GPU, and check each of its launches
///
/// The program calls a CUDA device that executes PTX on the CPU: the driver API (libcuda.so.1), and the runtime API for
/// a program of `nvcc -cudart shared` or clang. Every launch has the arguments that the program gives it, and each new
/// launch is checked for data races, deadlocks, and accesses outside of memory. See docs/exec.md.
#[derive(Args)]
#[command(after_help = "Example:
  nvcc -cudart shared -lineinfo -o program program.cu
  ptx-atomics exec -- ./program 1024
  PTX_ATOMICS_DEVICE=sm_100 ptx-atomics exec --no-races -- python3 test.py

Exit status: the status of the program, or 128 and the number of its signal; with --exit-code, 1 if there is a finding
and the program succeeds. 2 if the program cannot be run.")]
pub struct ExecArgs {
    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM")]
    pub command: Vec<OsString>,
    /// Check only kernels whose name contains NAME; all kernels run
    #[arg(long, value_name = "NAME", help_heading = "Checks")]
    pub kernel: Vec<String>,
    /// Do not check kernels whose name contains NAME
    #[arg(long, value_name = "NAME", help_heading = "Checks")]
    pub skip: Vec<String>,
    /// Compute values alone, which is faster
    #[arg(long, help_heading = "Checks")]
    pub no_races: bool,
    /// Check each launch, also if it repeats an earlier one: kernel, sizes and scalars
    #[arg(long, conflicts_with = "no_races", help_heading = "Checks")]
    pub every_launch: bool,
    /// Stop a kernel after N instructions of warps
    #[arg(long, value_name = "N", default_value_t = BUDGET, help_heading = "Limits")]
    pub budget: u64,
    /// Limit of the device's memory, such as 2G [default: half of the machine]
    #[arg(long, value_name = "BYTES", value_parser = sizes::bytes, help_heading = "Limits")]
    pub memory: Option<u64>,
    /// Write each distinct launch, for `run --launch`
    #[arg(long, value_name = "FILE.toml", help_heading = "Results")]
    pub record: Option<PathBuf>,
    /// With --record, write each buffer as it is before its first launch, too: FILE-bufferN.bin
    #[arg(long, requires = "record", help_heading = "Results")]
    pub contents: bool,
    /// Exit with 1 if there is a finding and the program succeeds
    #[arg(long, help_heading = "Results")]
    pub exit_code: bool,
    /// The library of the device [default: libptx_atomics_device.so beside this command or in ../lib]
    #[arg(long, value_name = "FILE")]
    pub library: Option<PathBuf>,
}
