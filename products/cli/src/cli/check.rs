//! The arguments of `check` and of `explain`.

use std::{path::PathBuf, time::Duration};

use clap::{ArgAction, Args, ValueEnum};
use ptx_atomics::{
    check::{Question, Questions, Rule},
    isolated::Language,
    lowering::ptx::Scope,
    pass::settings,
    ptx::{Dim3, LaunchSize, Stop},
};

use super::{
    readings::ReadingArgs,
    target::{SourceArgs, TargetArgs},
};
use crate::{
    run::sizes,
    values::{one_of, parameter, positive, rule, seconds},
};

/// Check the orderings, asynchronous operations, races and barriers of kernels
///
/// Order: the check compares the orderings that the instructions of the PTX guarantee with the orderings that the IR
/// requires. For a source, the command makes both PTX and IR; for PTX, --ir names its IR. Computed values are not
/// checked. See docs/check.md.
///
/// Asynchrony: the check reports waits, barriers and proxy fences that asynchronous operations of kernels lack
/// (tcgen05, wgmma, cp.async, bulk copies, mbarrier), and inline assembly that hides its effects from a compiler. See
/// docs/async.md.
#[derive(Args)]
#[command(after_help = "Example:
  ptx-atomics check kernel.cu
  ptx-atomics check kernel.ptx libkernels.so ~/.triton/cache
  ptx-atomics check --races kernel.ptx --block 256
  llc-22 -mcpu=sm_90 kernel.ll -o kernel.ptx; ptx-atomics check --ir kernel.ll --ptx kernel.ptx

Exit status: 0 no finding is an error, 1 a finding is an error, or an input is wrong or has nothing to check, 2 wrong
usage.")]
pub struct CheckArgs {
    /// LLVM IR or MLIR, as text or bitcode; - is standard input
    #[arg(long, value_name = "FILE", required_unless_present = "kernels")]
    pub ir: Option<PathBuf>,
    /// Language of the IR [default: as for lower]
    #[arg(long = "input", value_name = "LANGUAGE", value_parser = one_of::<Language>())]
    pub language: Option<Language>,
    /// The gpu.module of MLIR to compare with the PTX, or to check
    #[arg(long, value_name = "NAME")]
    pub module: Option<String>,
    /// PTX of the IR; only order and scope are checked; - is standard input
    #[arg(
        long,
        value_name = "FILE",
        required_unless_present = "kernels",
        conflicts_with_all = ["kernels", "profile", "readings", "mcpu", "mattr"]
    )]
    pub ptx: Option<PathBuf>,
    /// Scope that LLVM's default synchronization scope stands for
    #[arg(long, value_name = "SCOPE", default_value = "sys", value_parser = settings::scope)]
    pub default_scope: Scope,
    /// With --ptx, succeed if there is nothing to check
    #[arg(long, conflicts_with = "kernels")]
    pub allow_empty: bool,
    /// Rules for CUDA's atomics
    ///
    /// on: relaxed, at the scope that CUDA defines for them. off: the orderings and scopes that clang writes.
    #[arg(long, value_name = "ON|OFF", default_value = "on", action = ArgAction::Set, value_parser = settings::on)]
    pub cuda_atomics: bool,
    /// Accept weaker orderings that no thread can observe, such as from `lower -O1`
    #[arg(long, value_name = "ON|OFF", default_value = "on", action = ArgAction::Set, value_parser = settings::on)]
    pub optimize_atomics: bool,
    /// With --ptx, print one JSON object for each operation
    #[arg(long, conflicts_with = "kernels")]
    pub json: bool,
    #[command(flatten)]
    pub kernels: KernelArgs,
    #[command(flatten)]
    pub readings: ReadingArgs,
    #[command(flatten)]
    pub source: SourceArgs,
    #[command(flatten)]
    pub target: TargetArgs,
}

/// Kernels that are checked by themselves.
#[derive(Args)]
#[command(next_help_heading = "Kernels")]
pub struct KernelArgs {
    /// The same as --only async
    #[arg(long = "async", requires = "kernels", conflicts_with = "only")]
    pub asynchronous: bool,
    /// Questions to answer [default: all that the input allows]
    ///
    /// order: whether each atomic and fence keeps the order and the scope of the IR. async: whether asynchronous
    /// operations lack a wait or a fence. races: whether two threads race. barriers: whether all threads reach the
    /// barriers.
    #[arg(long, value_name = "QUESTIONS", value_delimiter = ',', value_parser = one_of::<Question>(), requires = "kernels")]
    pub only: Vec<Question>,
    /// The same as --only races,barriers
    #[arg(long, requires = "kernels", conflicts_with_all = ["only", "asynchronous"])]
    pub races: bool,
    /// In proofs, assume that pointers of different parameters may alias
    #[arg(long, requires = "kernels")]
    pub may_alias: bool,
    /// Do not search for executions that show findings
    #[arg(long, requires = "kernels")]
    pub quick: bool,
    /// List open findings, parts that are not checked, and all verdicts
    ///
    /// An open finding is not proved. Each kernel has a verdict.
    #[arg(short, long, requires = "kernels")]
    pub verbose: bool,
    /// Check N kernels at once [default: the number of processors]
    #[arg(short, long, value_name = "N", value_parser = positive, requires = "kernels")]
    pub jobs: Option<usize>,
    /// Kernels: PTX, sources, IR, binaries or folders; - is standard input
    ///
    /// PTX of any compiler; .cu, .rs, .c, .cpp, .ll, .bc and .mlir, which are compiled first; binaries with PTX in
    /// them; folders of PTX, such as Triton's cache.
    #[arg(id = "kernels", value_name = "KERNEL")]
    pub paths: Vec<PathBuf>,
    /// Check only kernels with NAME in their symbol or in their name in the source
    #[arg(long, value_name = "NAME", requires = "kernels")]
    pub kernel: Option<String>,
    /// Treat findings without a proof or an execution as errors
    #[arg(long, requires = "kernels")]
    pub strict: bool,
    /// Time limit for each kernel and question, in seconds
    ///
    /// Budgets count steps, so that only very slow machines reach the limit. The report names such verdicts.
    #[arg(long, value_name = "SECONDS", default_value = "120", value_parser = seconds, requires = "kernels")]
    pub time_limit: Duration,
    /// Number of CTAs, such as 4 or 2,2,1 [default: chosen]
    #[arg(long, value_name = "X,Y,Z", value_parser = sizes::positive, requires = "kernels")]
    pub grid: Option<Dim3>,
    /// Number of threads of a CTA [default: as in .reqntid, else chosen]
    #[arg(long, value_name = "X,Y,Z", value_parser = sizes::block, requires = "kernels")]
    pub block: Option<Dim3>,
    /// Number of CTAs of a cluster [default: as in .reqnctapercluster, else chosen]
    #[arg(long, value_name = "X,Y,Z", value_parser = sizes::positive, requires = "kernels")]
    pub cluster: Option<Dim3>,
    /// Check kernels in the launches of a program: a file of `exec --record`
    ///
    /// At most four launches of a kernel; launches of different sizes come first. A kernel without one is checked as
    /// without the file.
    #[arg(long, value_name = "FILE.toml", requires = "kernels")]
    pub launches: Option<PathBuf>,
    /// Value of a parameter, such as 'n=1024' [default: chosen]
    ///
    /// 'args+16=1024' sets the part of a struct at an offset in bytes.
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = parameter, requires = "kernels")]
    pub params: Vec<(String, u64)>,
    /// Format of the report; sarif is for code viewers [default: text]
    #[arg(long, value_enum)]
    pub format: Option<CheckFormat>,
    /// Show a small litmus test of each finding, and an execution of the test
    ///
    /// Some findings have no small test.
    #[arg(long, requires = "kernels")]
    pub explain: bool,
    /// Known findings, which are not shown: a file of --write-baseline
    #[arg(long, value_name = "FILE", requires = "kernels")]
    pub baseline: Option<PathBuf>,
    /// Write the findings to a baseline
    #[arg(long, value_name = "FILE", requires = "kernels")]
    pub write_baseline: Option<PathBuf>,
    /// Keep reports in a folder, and reuse the reports of unchanged kernels
    #[arg(long, value_name = "FOLDER", requires = "kernels")]
    pub cache: Option<PathBuf>,
    /// The time limit of the whole check.
    #[arg(skip)]
    pub stop: Stop,
}

/// Print the page of a rule of check
///
/// The page has a kernel that violates the rule, an execution that shows the violation, the corrected kernel, and the
/// section of the PTX manual.
#[derive(Args)]
#[command(after_help = "Example:
  ptx-atomics explain R4

Exit status: 0 printed, 2 wrong usage.")]
pub struct ExplainArgs {
    /// Rules, such as R4 [default: a list of the rules]
    #[arg(value_name = "RULE", value_parser = rule)]
    pub rules: Vec<Rule>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CheckFormat {
    Text,
    Json,
    Sarif,
    Junit,
}

impl KernelArgs {
    /// The sizes of launches.
    pub fn size(&self) -> LaunchSize {
        LaunchSize { grid: self.grid, block: self.block, cluster: self.cluster, shared: None }
    }

    /// The time limit for each kernel and question.
    pub fn time(&self) -> Duration {
        // Without executions, the check itself is complete.
        if self.time_limit.is_zero() { Duration::MAX } else { self.time_limit }
    }

    /// The questions.
    pub fn questions(&self) -> Questions {
        match (self.asynchronous, self.races) {
            (true, _) => [Question::Async].into_iter().collect(),
            (_, true) => [Question::Races, Question::Barriers].into_iter().collect(),
            _ if self.only.is_empty() => Questions::ALL,
            _ => self.only.iter().copied().collect(),
        }
    }

    /// Whether the verdict on each kernel is printed.
    pub fn has_verdicts(&self) -> bool {
        self.verbose || self.races || self.only.contains(&Question::Races)
    }

    /// Whether the check skips the search for executions.
    pub fn is_quick(&self) -> bool {
        self.quick || self.time_limit.is_zero()
    }
}

impl CheckArgs {
    /// The options of the lowering of kernels that the flags set.
    pub fn options(&self) -> String {
        self.target.options().collect::<Vec<_>>().join(",")
    }
}
