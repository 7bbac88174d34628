//! The arguments of `ptx-atomics optimize`.

use std::path::PathBuf;

use clap::Args;
use ptx_atomics::{optimize::Rewrites, ptx::Dim3};

use crate::run::sizes;

/// Make atomics and fences of PTX cheaper, whichever compiler it is of
///
/// Scopes are no wider than the threads that take part, loops that wait order once, and what another fence orders, or nobody
/// sees, is not ordered again. All else stays byte for byte. What is made is read, checked and executed before it is written.
/// docs/optimizer.md says more.
#[derive(Args)]
#[command(after_help = "Example:
  ptx-atomics optimize kernel.ptx -o faster.ptx -v
  ptx-atomics optimize --alone ~/.triton/cache -o faster/
  ptx-atomics optimize --alone --report kernel.ptx

Exit status: 0 done, 1 an error in an input, 2 wrong usage. Of several inputs, those without errors are written.")]
pub struct OptimizeArgs {
    /// PTX of any compiler; binaries that have PTX in them; folders of PTX, as Triton's cache; - is standard input
    #[arg(default_value = "-", value_name = "FILE")]
    pub paths: Vec<PathBuf>,
    /// Where to write; - is standard output. Several files need a folder; what ends with a slash is one
    #[arg(short, long, default_value = "-")]
    pub output: PathBuf,
    /// While a grid runs, nobody else accesses its memory: no other grid, no host, no other GPU
    #[arg(long)]
    pub alone: bool,
    /// How many CTAs each grid has, as 4 or 2,2,1 [default: any number]
    #[arg(long, value_name = "X,Y,Z", value_parser = sizes::dim3, requires = "alone")]
    pub grid: Option<Dim3>,
    /// on, off, or rewrites, as scope+loops
    #[arg(long, value_name = "REWRITES", default_value = "on")]
    pub rewrites: Rewrites,
    /// Let loops that wait poll with relaxed loads first: cheaper where there is something to wait for, one load more where not
    #[arg(long)]
    pub polls: bool,
    /// Say of each instruction what was done, and what stood in the way
    #[arg(short, long)]
    pub verbose: bool,
    /// Write no PTX, but a line for each function that orders memory: what its orderings weigh before and after, by the machine
    /// code that ptxas makes of them, and what no placement of fences and orderings weighs less than: without a dearer first round
    /// of any loop, and with any. Behind '>=' the search ended before a placement was found
    #[arg(long, conflicts_with = "output")]
    pub report: bool,
    /// How long to execute what was changed at most, in seconds for each file; a count of instructions ends it before. 0 does not
    #[arg(long, value_name = "SECONDS", default_value_t = 2)]
    pub time_limit: u64,
}
