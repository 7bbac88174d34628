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

/// Check kernels: that a compiler kept the order and the scope of each atomic and fence, and that asynchronous operations wait
///
/// Order: what the PTX guarantees is computed from its instructions alone, and compared with what the IR asks for. Of a source, both are
/// made; of PTX, --ir says what it was made of. The values that it computes are not checked. docs/check.md says more.
///
/// Asynchrony: finds the waits, barriers and proxy fences that asynchronous operations of kernels lack (tcgen05, wgmma, cp.async,
/// bulk copies, mbarrier), and inline assembly that hides what it does from a compiler. docs/async.md says more.
#[derive(Args)]
#[command(after_help = "Example:
  ptx-atomics check kernel.cu
  ptx-atomics check kernel.ptx libkernels.so ~/.triton/cache
  ptx-atomics check --races kernel.ptx --block 256
  llc-22 -mcpu=sm_90 kernel.ll -o kernel.ptx; ptx-atomics check --ir kernel.ll --ptx kernel.ptx

Exit status: 0 all are kept, and there is no error, 1 one is not, there is none, or an input is wrong, 2 wrong usage.")]
pub struct CheckArgs {
    /// LLVM IR or MLIR, as text or bitcode; - is standard input
    #[arg(long, value_name = "FILE", required_unless_present = "kernels")]
    pub ir: Option<PathBuf>,
    /// What the IR is [default: as of lower]
    #[arg(long = "input", value_name = "LANGUAGE", value_parser = one_of::<Language>())]
    pub language: Option<Language>,
    /// The gpu.module of MLIR that became the PTX, or that is checked
    #[arg(long, value_name = "NAME")]
    pub module: Option<String>,
    /// The PTX that was made of it, whose order and scope alone are checked; - is standard input
    #[arg(
        long,
        value_name = "FILE",
        required_unless_present = "kernels",
        conflicts_with_all = ["kernels", "profile", "readings", "mcpu", "mattr"]
    )]
    pub ptx: Option<PathBuf>,
    /// What LLVM's default synchronization scope stands for
    #[arg(long, value_name = "SCOPE", default_value = "sys", value_parser = settings::scope)]
    pub default_scope: Scope,
    /// With --ptx, let it pass that there is nothing to check
    #[arg(long, conflicts_with = "kernels")]
    pub allow_empty: bool,
    /// What CUDA's own atomics ask for: on, relaxed and of the scope that CUDA gives them; off, what clang writes
    #[arg(long, value_name = "ON|OFF", default_value = "on", action = ArgAction::Set, value_parser = settings::on)]
    pub cuda_atomics: bool,
    /// Whether PTX may order less where no thread can tell, as `lower -O1` makes it
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
    /// The questions: order (does each atomic and fence keep the order and the scope of the IR), async (do asynchronous operations lack a
    /// wait or a fence), races (do two threads race), barriers (do all threads come to them) [default: all that the input allows]
    #[arg(long, value_name = "QUESTIONS", value_delimiter = ',', value_parser = one_of::<Question>(), requires = "kernels")]
    pub only: Vec<Question>,
    /// The same as --only races,barriers
    #[arg(long, requires = "kernels", conflicts_with_all = ["only", "asynchronous"])]
    pub races: bool,
    /// In proofs, pointers of different parameters may have the same memory
    #[arg(long, requires = "kernels")]
    pub may_alias: bool,
    /// Look for no execution that shows a finding
    #[arg(long, requires = "kernels")]
    pub quick: bool,
    /// List findings that are not proved, parts that are not checked, and the verdict on each kernel
    #[arg(short, long, requires = "kernels")]
    pub verbose: bool,
    /// How many kernels are checked at the same time [default: the processors]
    #[arg(short, long, value_name = "N", value_parser = positive, requires = "kernels")]
    pub jobs: Option<usize>,
    /// PTX of any compiler; .cu, .rs, .c, .cpp, .ll, .bc and .mlir, which are compiled first; binaries that have PTX in them; folders of
    /// PTX, as Triton's cache; - is standard input
    #[arg(id = "kernels", value_name = "KERNEL")]
    pub paths: Vec<PathBuf>,
    /// Only kernels whose name, as it is or as its source spells it, has this in it
    #[arg(long, value_name = "NAME", requires = "kernels")]
    pub kernel: Option<String>,
    /// What may be wrong, and was not seen to go wrong, is an error, too
    #[arg(long, requires = "kernels")]
    pub strict: bool,
    /// The emergency stop of each kernel and question, in seconds. Budgets count steps, so that it strikes on very slow machines alone, and the
    /// report says so
    #[arg(long, value_name = "SECONDS", default_value = "120", value_parser = seconds, requires = "kernels")]
    pub time_limit: Duration,
    /// How many CTAs there are, as 4 or 2,2,1 [default: chosen]
    #[arg(long, value_name = "X,Y,Z", value_parser = sizes::positive, requires = "kernels")]
    pub grid: Option<Dim3>,
    /// How many threads a CTA has [default: as in .reqntid, or else chosen]
    #[arg(long, value_name = "X,Y,Z", value_parser = sizes::block, requires = "kernels")]
    pub block: Option<Dim3>,
    /// How many CTAs a cluster has [default: as in .reqnctapercluster, or else chosen]
    #[arg(long, value_name = "X,Y,Z", value_parser = sizes::positive, requires = "kernels")]
    pub cluster: Option<Dim3>,
    /// A parameter that is a number, or the part of a struct at an offset in bytes, as 'n=1024' or 'args+16=1024' [default: chosen]
    #[arg(long = "param", value_name = "NAME=VALUE", value_parser = parameter, requires = "kernels")]
    pub params: Vec<(String, u64)>,
    /// The format of the report; sarif is for viewers of code [default: text]
    #[arg(long, value_enum)]
    pub format: Option<CheckFormat>,
    /// Show a litmus test of what is wrong, and an execution in which it goes wrong, where there is a small one
    #[arg(long, requires = "kernels")]
    pub explain: bool,
    /// Findings that are known, and not shown: a file of --write-baseline
    #[arg(long, value_name = "FILE", requires = "kernels")]
    pub baseline: Option<PathBuf>,
    /// Write a baseline of what is found
    #[arg(long, value_name = "FILE", requires = "kernels")]
    pub write_baseline: Option<PathBuf>,
    /// Keep reports in a folder, and read the report of a kernel that was checked before
    #[arg(long, value_name = "DIR", requires = "kernels")]
    pub cache: Option<PathBuf>,
    /// The emergency stop of the whole check.
    #[arg(skip)]
    pub stop: Stop,
}

/// Print the page of a rule of check
///
/// The page has a kernel that breaks the rule, an execution that shows it, the corrected kernel, and the section of the PTX manual.
#[derive(Args)]
#[command(after_help = "Example:
  ptx-atomics explain R4

Exit status: 0 printed, 2 wrong usage.")]
pub struct ExplainArgs {
    /// The rules, as R4 [default: a list of them]
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

    /// The emergency stop of each kernel and question.
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

    /// Whether no executions are looked for.
    pub fn is_quick(&self) -> bool {
        self.quick || self.time_limit.is_zero()
    }
}

impl CheckArgs {
    /// What the flags set for the lowering of kernels.
    pub fn options(&self) -> String {
        self.target.options().collect::<Vec<_>>().join(",")
    }
}
