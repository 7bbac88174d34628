//! The arguments of `ptx-atomics optimize`.

use std::path::PathBuf;

use clap::Args;
use ptx_atomics::{optimize::Rewrites, ptx::Dim3};

use crate::run::sizes;

/// Make atomics and fences of PTX cheaper, for the PTX of any compiler
///
/// The optimizer narrows scopes to the threads that take part, moves the ordering of a waiting loop out of the loop,
/// and removes orderings that another fence repeats or that no thread can observe. All other text stays byte for byte.
/// The result is parsed, checked and executed before it is written. See docs/optimizer.md.
#[derive(Args)]
#[command(after_help = "Example:
  ptx-atomics optimize kernel.ptx -o faster.ptx -v
  ptx-atomics optimize --alone ~/.triton/cache -o faster/
  ptx-atomics optimize --alone --report kernel.ptx

Exit status: 0 every input is optimized, 1 an input has an error, 2 wrong usage. Of several inputs, the inputs without
errors are written.")]
pub struct OptimizeArgs {
    /// PTX of any compiler, binaries or folders; - is standard input
    ///
    /// Binaries have PTX in them; a folder of PTX may be Triton's cache.
    #[arg(default_value = "-", value_name = "FILE")]
    pub paths: Vec<PathBuf>,
    /// Output file or folder; - is standard output
    ///
    /// Several files need a folder. A path that ends with a slash names a folder.
    #[arg(short, long, default_value = "-")]
    pub output: PathBuf,
    /// Assume that no other grid, host or GPU accesses the memory of a running grid
    #[arg(long)]
    pub alone: bool,
    /// Number of CTAs of each grid, such as 4 or 2,2,1 [default: any number]
    #[arg(long, value_name = "X,Y,Z", value_parser = sizes::dim3, requires = "alone")]
    pub grid: Option<Dim3>,
    /// Rewrites: on, off, or a list such as scope+loops
    #[arg(long, value_name = "REWRITES", default_value = "on")]
    pub rewrites: Rewrites,
    /// Let loops that wait poll with relaxed loads first
    ///
    /// Polling is cheaper if the loop waits, and costs an additional load if it does not.
    #[arg(long)]
    pub polls: bool,
    /// Report the rewrites of each instruction, and the obstacles to other rewrites
    #[arg(short, long)]
    pub verbose: bool,
    /// Print the cost of each function's orderings instead of PTX
    ///
    /// A line for each function that orders memory has the weight of its orderings before and after, by the machine
    /// code of ptxas, and a lower bound for every placement of fences and orderings: first for placements that make the
    /// first iteration of no loop more expensive, then for all. After '>=', the search ended before it found a
    /// placement.
    #[arg(long, conflicts_with = "output")]
    pub report: bool,
    /// Time limit for executing changed code, in seconds per file
    ///
    /// A count of instructions ends most executions earlier. 0 executes nothing.
    #[arg(long, value_name = "SECONDS", default_value_t = 2)]
    pub time_limit: u64,
}
