//! The arguments.

mod check;
mod optimize;
mod readings;
mod target;

use std::{ffi::OsString, path::PathBuf, time::Duration};

use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use ptx_atomics::isolated::{Emit, Language};
use ptx_atomics::mapping::{programs::Set, verify::EXPANSIONS};
use ptx_atomics::memory_model::{
    place::Processor,
    source::{Races, ReleaseSequences},
};
use ptx_atomics::{
    execute::{Options as ExecuteOptions, Schedule},
    ptx::{Dim3, LaunchSize},
};
use ptx_atomics::{
    lowering::{Sm, Strategies, ptx::Scope},
    pass::{
        AsyncMode, Embed, FpChoice,
        settings::{self, Features},
    },
};
use ptx_atomics_conformance as conformance;
use regex::Regex;

pub use self::{
    check::{CheckArgs, CheckFormat, ExplainArgs, KernelArgs},
    optimize::OptimizeArgs,
    readings::ReadingArgs,
    target::{SourceArgs, TargetArgs},
};
use crate::{
    run::sizes,
    values::{
        file, first_elements, mapping, named, named_file, one_of, positive, processor, rewrites, seconds, shard,
        strategies,
    },
    version::long_version,
};

/// Lowers every atomic and fence of a GPU program to PTX, through a selectable ABI mapping.
#[derive(Parser)]
#[command(name = "ptx-atomics", version, long_version = long_version(), about)]
pub struct Cli {
    /// How many errors are shown; the rest is counted. 0 shows all
    #[arg(long, global = true, value_name = "N", default_value_t = 20)]
    pub error_limit: usize,
    #[command(subcommand)]
    pub command: Command,
}

#[derive(Subcommand)]
pub enum Command {
    Lower(LowerArgs),
    Table(TableArgs),
    Check(CheckArgs),
    Conformance(ConformanceArgs),
    Litmus(LitmusArgs),
    Llc(LlcArgs),
    Explain(ExplainArgs),
    Lsp(LspArgs),
    Optimize(OptimizeArgs),
    Run(RunArgs),
    VerifyMapping(VerifyMappingArgs),
    Completions(CompletionsArgs),
    Man(ManArgs),
}

/// Lower LLVM IR or MLIR to PTX
///
/// Reads LLVM IR or MLIR, text or bitcode, and writes PTX in which every atomic and fence is what NVIDIA's Atomics ABI says.
/// Nothing is written on an error.
#[derive(Args, Clone)]
#[command(after_help = "Example:
  ptx-atomics lower kernel.ll -o kernel.ptx --mcpu sm_90 --mattr +ptx86 --strategy fence,rmw.relaxed=recommended
  ptx-atomics lower one.ll two.ll kernels.mlir -o kernels/

Exit status: 0 done, 1 an error in an input or its lowering, 2 wrong usage. Of several inputs, those without errors are
written.")]
pub struct LowerArgs {
    /// LLVM IR or MLIR, as text or bitcode; or .cu, .rs, .c and .cpp, which are compiled first; - is standard input
    #[arg(default_value = "-", value_name = "FILE")]
    pub paths: Vec<PathBuf>,
    /// What the input is [default: what its content or its name says, or else LLVM IR]
    #[arg(long = "input", value_name = "LANGUAGE", value_parser = one_of::<Language>())]
    pub language: Option<Language>,
    /// Where to write; - is standard output. Several inputs, and MLIR with several modules, need a folder, in which each
    /// becomes a file; what exists and is a folder is one, and what ends with a slash
    #[arg(short, long, default_value = "-")]
    pub output: PathBuf,
    /// What to write; mlir and mlir-bc (with locations) are for MLIR input, the pass alone
    #[arg(long, default_value_t = Emit::Ptx, value_parser = one_of::<Emit>())]
    pub emit: Emit,
    /// Lower only this gpu.module of MLIR
    #[arg(long, value_name = "NAME")]
    pub module: Option<String>,
    #[command(flatten)]
    pub target: TargetArgs,
    #[command(flatten)]
    pub source: SourceArgs,
    #[command(flatten)]
    pub strategy: StrategyArgs,
    /// The scope that LLVM's default synchronization scope stands for [default: as in the module, or else sys]. Narrower than sys
    /// only where neither the host nor another device takes part
    #[arg(long, value_name = "SCOPE", value_parser = settings::scope)]
    pub default_scope: Option<Scope>,
    /// Words between commas [default: as in the module, or else native,nans]. Additions: native is what the GPU does in
    /// one instruction, which flushes subnormals of f32 in global memory and adds the elements of a vector one by one; ieee
    /// keeps subnormals and makes a vector one atomic value. Minima and maxima: no-nans says that no operand and no value
    /// in memory is a NaN, so that those of float and double are done on integers
    #[arg(long, value_name = "LIST")]
    pub fp_atomics: Option<FpChoice>,
    /// Test generic addresses of unknown origin for local (stack) memory, on which PTX has no atomics
    #[arg(long)]
    pub generic_may_be_local: bool,
    /// Volatile atomic loads and stores of global memory become .mmio, for the registers of a device
    #[arg(long)]
    pub volatile_as_mmio: bool,
    /// CUDA's own atomics, as atomicAdd(), where clang's header defines them [default: as in the module, or else on]: on
    /// makes them relaxed, of the scope that CUDA gives them; off leaves what clang writes, seq_cst of the system
    #[arg(long, value_name = "ON|OFF", value_parser = settings::on)]
    pub cuda_atomics: Option<bool>,
    /// What makes atomics and fences cheaper [default: as in the module, or else on with -O1 and above]: on (all but
    /// writes, which adds instructions), all, off, or some of scope, loops, fences, unseen, writes; names after a minus sign
    /// are taken from all
    #[arg(long, value_name = "REWRITES", value_parser = rewrites, allow_hyphen_values = true)]
    pub optimize_atomics: Option<String>,
    /// What is done about waits and proxy fences that asynchronous operations lack [default: as in the module, or else
    /// check]: off, check (a warning), deny (an error), insert (what can be inserted is, before LLVM's optimizer; the rest is
    /// a warning)
    #[arg(long = "async", value_name = "MODE", value_parser = settings::asynchronous)]
    pub asynchronous: Option<AsyncMode>,
    /// What operations become [default: as in the module, or else native for PTX, and assembly for LLVM IR]: native leaves LLVM's own
    /// instruction where this version of LLVM prints just what is chosen, in functions whose memory only atomics touch; assembly none
    #[arg(long, value_name = "HOW", value_parser = settings::embed)]
    pub embed: Option<Embed>,
    /// Whether what stays LLVM's own is compared with what LLVM prints [default: as in the module, or else off]
    #[arg(long, value_name = "ON|OFF", value_parser = settings::on)]
    pub verify_native: Option<bool>,
    /// Run LLVM's optimization pipeline of this level first, and generate code at it. Without it: no pipeline, code
    /// generation at 2
    #[arg(short = 'O', value_name = "LEVEL", value_parser = clap::value_parser!(u8).range(0..=3))]
    pub level: Option<u8>,
    /// Generate code at this level, as `llc -O` does, whatever pipeline runs first
    #[arg(long, value_name = "LEVEL", value_parser = clap::value_parser!(u8).range(0..=3))]
    pub codegen_level: Option<u8>,
    /// How many inputs are lowered at once; what is written is the same for any number [default: the processors]
    #[arg(short, long, value_name = "N", value_parser = positive)]
    pub jobs: Option<usize>,
    /// Write a remark for each lowered operation, in LLVM's YAML format
    #[arg(long, value_name = "FILE", value_parser = file)]
    pub remarks: Option<PathBuf>,
    /// Say what became of each operation
    #[arg(short, long)]
    pub verbose: bool,
}

/// Print the mapping as a target gets it
#[derive(Args)]
#[command(after_help = "Example:
  ptx-atomics table --strategy recommended --mcpu sm_90 --mattr +ptx86 --format markdown")]
pub struct TableArgs {
    #[command(flatten)]
    pub target: TargetArgs,
    #[command(flatten)]
    pub strategy: StrategyArgs,
    /// Floating point, in words between commas: native or ieee, nans or no-nans
    #[arg(long, value_name = "LIST", default_value = "native,nans")]
    pub fp_atomics: FpChoice,
    /// The format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// The machine instructions that ptxas was measured to emit instead, with their barriers; without --mcpu, for every
    /// family of GPUs
    #[arg(long)]
    pub sass: bool,
}

/// Measure which atomics and fences a compiler gets right
///
/// Gives the compiler some thousand functions with one atomic or fence each, every operation that LLVM has, and judges its
/// PTX: by its instructions, by each ptxas that is found, and by the values that it computes. docs/conformance.md says more.
#[derive(Args)]
#[command(after_help = "Example:
  ptx-atomics conformance --mcpu sm_90 --mattr +ptx86 -- llc-22 -mcpu={sm} -mattr=+{ptx} {input} -o {output}
  ptx-atomics conformance --language c++ --filter cmpxchg --report lost -- clang++ --target=nvptx64-nvidia-cuda \\
      -march={sm} -O2 -S {input} -o {output}

Exit status: 0 every function is right, or failed in the baseline, too; 1 one fails; 2 nothing was measured.")]
pub struct ConformanceArgs {
    /// The command line that compiles a file: {input} and {output} stand for files ({output} may be left out where the
    /// PTX goes to standard output), {sm} for the GPU as sm_90, {number} for its number as 90, {ptx} for the PTX version
    /// as ptx86
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<String>,
    /// What the compiler takes: llvm, llvm7 (LLVM IR with typed pointers, as libNVVM takes it), rust, rust-scope (with the
    /// crate ptx-atomics-scope), c++ (__scoped_atomic_*), cuda (cuda::atomic_ref)
    #[arg(long, value_name = "LANGUAGE", default_value_t, value_parser = one_of::<conformance::Language>())]
    pub language: conformance::Language,
    /// The GPUs, as sm_70,sm_90 [default: sm_90]
    #[arg(long, value_name = "GPUS", value_delimiter = ',', value_parser = settings::sm)]
    pub mcpu: Vec<Sm>,
    /// The PTX version, as +ptx86 [default: 8.8, or else the lowest that has the GPU]
    #[arg(long, value_name = "FEATURES", value_parser = settings::features)]
    pub mattr: Option<Features>,
    /// The version of LLVM whose operations are asked for; 23 adds fmaximumnum and fminimumnum
    #[arg(long, value_name = "VERSION", default_value_t = 22)]
    pub llvm: u32,
    /// Only functions in whose name this regular expression is found, as '^rmw-add-i32'
    #[arg(long, value_name = "REGEX")]
    pub filter: Option<Regex>,
    /// Only so many of these, spread evenly
    #[arg(long, value_name = "N")]
    pub sample: Option<usize>,
    /// Every N-th of these, from the K-th on
    #[arg(long, value_name = "K/N", default_value = "1/1", value_parser = shard)]
    pub shard: (usize, usize),
    /// How many functions are compiled at once. Where that fails, it is repeated with parts of them
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = positive)]
    pub batch: usize,
    /// How many compilers run at once [default: the processors]
    #[arg(short, long, value_name = "N", value_parser = positive)]
    pub jobs: Option<usize>,
    /// How long the compiler may take for one batch
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    pub timeout: Duration,
    /// Do not ask any ptxas
    #[arg(long)]
    pub no_ptxas: bool,
    /// The format
    #[arg(long, value_enum, default_value_t = ConformanceFormat::Text)]
    pub format: ConformanceFormat,
    /// In JSON, the PTX of each function too
    #[arg(long)]
    pub with_ptx: bool,
    /// What failed before, as --write-baseline wrote it: only what fails now and did not then makes the command fail
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Write down what fails, and succeed
    #[arg(long, value_name = "FILE")]
    pub write_baseline: Option<PathBuf>,
    /// Write down what LLVM prints for each operation by itself, for `lower --embed native`: the file has the name of its version,
    /// as 23.1.4.txt. Of each GPU from sm_70 on, or those of --mcpu, every version of PTX is measured, and nothing else is done
    #[arg(long, value_name = "FILE", conflicts_with_all = ["baseline", "write_baseline", "report"])]
    pub write_backend: Option<PathBuf>,
    /// A folder for reproducers: of each kind of failure the smallest function, its PTX, and what is wrong with it
    #[arg(long, value_name = "FOLDER")]
    pub report: Option<PathBuf>,
}

/// Say which outcomes of a litmus test the memory model of PTX allows
///
/// Every execution of the test is judged by the axioms of the PTX manual, section 8. For one file, the command also shows an
/// execution with the outcome that the condition names, or which axiom forbids it. docs/memory-model.md says how to write
/// a test, and what the model leaves out. A test may also be a kernel, whose functions are the threads: docs/kernels.md.
#[derive(Args)]
#[command(after_help = "Example:
  ptx-atomics litmus examples/litmus/store_buffering.litmus --svg execution.svg
  ptx-atomics litmus tests/ --format json --time-limit 10
  ptx-atomics litmus kernel.rs --thread 'P0 = producer(data) @ cta 0' --thread 'P1 = consumer(data) @ cta 1' \\
    --declare 'u32 data[2]' --forall 'P1:return == 42'

Exit status: 0 every verdict is known, whatever it is, 1 one is unknown or an input is wrong, 2 wrong usage. With --must-hold
also 1 where a condition does not hold, or asynchronous operations have a data race.")]
pub struct LitmusArgs {
    /// Litmus tests, or folders that are searched for *.litmus; - is standard input. Or kernels: .ptx, .ll, .bc, .mlir, .rs,
    /// .cu, .c, .cpp, with the words of a test in comments that begin with `litmus:`, or in these flags
    #[arg(required_unless_present = "from_source", value_name = "FILE")]
    pub paths: Vec<PathBuf>,
    /// A thread of a kernel's test, as 'P0 = producer(data, 1) @ cta 0'
    #[arg(long = "thread", value_name = "WORDS", conflicts_with = "from_source", help_heading = "Kernels")]
    pub threads: Vec<String>,
    /// What a parameter holds, as 'producer.0 = data'
    #[arg(long = "bind", value_name = "WORDS", conflicts_with = "from_source", help_heading = "Kernels")]
    pub binds: Vec<String>,
    /// An object in memory, as 'u32 data[2] = {1, 2}'
    #[arg(long, value_name = "WORDS", conflicts_with = "from_source", help_heading = "Kernels")]
    pub declare: Vec<String>,
    /// What must hold of every outcome, as 'P1:return == 42 /\\ data[1] == 0'
    #[arg(long, value_name = "FORMULA", conflicts_with = "from_source", help_heading = "Kernels")]
    pub forall: Vec<String>,
    /// What must hold of one outcome
    #[arg(long, value_name = "FORMULA", conflicts_with = "from_source", help_heading = "Kernels")]
    pub exists: Vec<String>,
    /// What must hold of none
    #[arg(long, value_name = "FORMULA", conflicts_with = "from_source", help_heading = "Kernels")]
    pub never: Vec<String>,
    #[command(flatten)]
    pub source: SourceArgs,
    /// Write the PTX of a kernel
    #[arg(long, value_name = "FILE", conflicts_with = "from_source", help_heading = "Kernels")]
    pub ptx: Option<PathBuf>,
    /// Programs in scoped C++: each is lowered, printed as a litmus test, and its outcomes compared with those of the source
    #[arg(long, value_name = "FILE", conflicts_with_all = ["paths", "dot", "svg", "format", "convention", "profile", "readings"])]
    pub from_source: Option<PathBuf>,
    #[command(flatten)]
    pub strategy: StrategyArgs,
    #[command(flatten)]
    pub target: TargetArgs,
    /// What continues a release sequence of --from-source: c++20 (LLVM and Rust: read-modify-writes), c++11 (to C++17:
    /// later writes of the thread, too)
    #[arg(long, value_name = "RULE", default_value = "c++20", value_parser = named::<ReleaseSequences>)]
    pub rule: ReleaseSequences,
    #[command(flatten)]
    pub readings: ReadingArgs,
    /// Print the outcomes, of which there may be 200
    #[arg(long)]
    pub outcomes: bool,
    /// Print every outcome, be there more than 200
    #[arg(long)]
    pub all_outcomes: bool,
    /// Say which orderings and scopes may be weaker, such that all tests of a file still hold
    #[arg(long, conflicts_with = "from_source")]
    pub minimize: bool,
    /// End with exit status 1 where a condition does not hold, too
    #[arg(long, conflicts_with = "from_source")]
    pub must_hold: bool,
    /// Show an execution for each of several files too
    #[arg(long)]
    pub explain: bool,
    /// Draw the execution of one test, for graphviz; - is standard output, in place of the text
    #[arg(long, value_name = "FILE")]
    pub dot: Option<PathBuf>,
    /// Draw the execution of one test; - is standard output, in place of the text
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// The format
    #[arg(long, value_enum, default_value_t = LitmusFormat::Text)]
    pub format: LitmusFormat,
    /// How to read the manual where it leaves room: as it says, or as Dat3M does
    #[arg(long, value_enum, default_value_t = Convention::Manual)]
    pub convention: Convention,
    /// The verdict is unknown if the search takes longer
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub time_limit: Option<Duration>,
    /// The verdict is unknown if the search takes more choices, of what a read returns and of orders
    #[arg(long, value_name = "N", default_value_t = 100_000_000)]
    pub choices: u64,
    /// How often a thread may enter a loop. Rounds that only wait do not count
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,
}

/// Be llc, with every atomic and fence lowered
///
/// Runs LLVM's llc with the plugin: each flag is llc's own, and what has no atomics comes out as llc writes it. The program ptx-atomics-llc,
/// beside this one, is this command, for toolchains that take the name of an llc. PTX_ATOMICS has the plugin's
/// options, PTX_ATOMICS_LLC and PTX_ATOMICS_PLUGIN name an llc and a plugin that are not found. docs/plugin.md says more; `llc --help` lists the
/// flags.
#[derive(Args)]
#[command(after_help = "Example:
  ptx-atomics llc -mcpu=sm_90 -mattr=+ptx86 kernel.ll -o kernel.ptx

Exit status: llc's own; 1 there is no llc or no plugin.")]
pub struct LlcArgs {
    /// llc's arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    pub arguments: Vec<OsString>,
}

/// Run a kernel on the CPU, and find every data race of the execution
///
/// Every thread of a grid is executed, and every pair of its accesses is looked at: two race if they conflict, are not both
/// strong, and nothing orders them (section 8 of the PTX manual). The launch and its arguments are said by these flags, by comments
/// of the file as `// run: grid=4 block=128 out=u32[1]=0 expect out == 512`, or by a file in TOML; what nobody says is chosen, and
/// said. docs/run.md says more.
#[derive(Args)]
#[command(after_help = "Example:
  ptx-atomics run kernel.ptx
  ptx-atomics run kernel.cu --grid 4 --block 128 --arg 'out:u32[1]' --arg 1024 --expect 'out == 512' --seeds 16
  ptx-atomics run kernel.ptx --arg 'x:f32[]=x.npy' --arg 'out:f32[1024]' --out out=out.npy

Exit status: 0 it ran, and there is no race (warnings are none), 1 a race, something else that is wrong with the execution, or a
condition that does not hold, 2 it did not run to its end: something is wrong with the input or the launch, an instruction is not
supported, or a limit was reached.")]
pub struct RunArgs {
    /// The kernel: .ptx, or .ll, .bc, .mlir, .rs, .cu, .c, .cpp, which are compiled first; - is standard input
    #[arg(value_name = "FILE")]
    pub path: PathBuf,
    /// The kernel to launch, or a part of its name that no other has [default: the only one]
    #[arg(long, value_name = "NAME", help_heading = "Launch")]
    pub kernel: Option<String>,
    /// How many CTAs there are, as 4 or 2,2,1 [default: 2]
    #[arg(long, value_name = "X,Y,Z", value_parser = sizes::dim3, help_heading = "Launch")]
    pub grid: Option<Dim3>,
    /// How many threads a CTA has [default: as in .reqntid, or else 128, or as many as .maxntid admits]
    #[arg(long, value_name = "X,Y,Z", value_parser = sizes::dim3, help_heading = "Launch")]
    pub block: Option<Dim3>,
    /// How many CTAs a cluster has [default: as in .reqnctapercluster, or else 1]
    #[arg(long, value_name = "X,Y,Z", value_parser = sizes::dim3, help_heading = "Launch")]
    pub cluster: Option<Dim3>,
    /// Dynamic shared memory of a CTA, as 1024 or 48K [default: 0]
    #[arg(long, value_name = "BYTES", value_parser = sizes::shared, help_heading = "Launch")]
    pub shared: Option<u32>,
    /// An argument. A buffer: 'out:f32[1024]' (zeros), with `=` and 7, 1,2,3, iota, random, random(0,9), uninitialized, x.npy,
    /// x.bin or @FILE after it. A number: 7, n=7, u64:7. An address: out, out+16. One with the name of a parameter is for that,
    /// the others are for the other parameters in their order [default: buffers that grow, and numbers that the code admits]
    #[arg(long = "arg", value_name = "ARGUMENT", allow_hyphen_values = true, help_heading = "Launch")]
    pub args: Vec<String>,
    /// What the kernel is written in [default: by the ending of its name, or else PTX]
    #[arg(long = "input", value_name = "LANGUAGE", value_parser = one_of::<Language>())]
    pub language: Option<Language>,
    /// The gpu.module of MLIR that is run [default: the only one]
    #[arg(long, value_name = "NAME")]
    pub module: Option<String>,
    /// Launch it once more with the same arguments, as a dependent grid, which may start before the first one has ended
    #[arg(long, conflicts_with = "launch", help_heading = "Launch")]
    pub dependent: bool,
    /// Launches that follow each other and share buffers
    #[arg(
        long,
        value_name = "FILE.toml",
        conflicts_with_all = ["kernel", "grid", "block", "cluster", "shared", "args"],
        help_heading = "Launch"
    )]
    pub launch: Option<PathBuf>,
    /// Write a buffer or a variable at the end: NumPy's format where the name ends with .npy, else its bytes; - is standard
    /// output, a line for each element. With several seeds, what the first gave
    #[arg(long, value_name = "NAME=FILE", value_parser = named_file, help_heading = "Results")]
    pub out: Vec<(String, PathBuf)>,
    /// Print a buffer or a variable at the end, as 'out', or its first elements, as 'out[..8]'
    #[arg(long, value_name = "NAME", value_parser = first_elements, help_heading = "Results")]
    pub print: Vec<(String, Option<usize>)>,
    /// Write the PTX that is run
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub ptx: Option<PathBuf>,
    /// What must hold at the end, of all elements or of one, as 'out == 512 && x[3] ~= 0.5 +- 1e-3'
    #[arg(long, value_name = "CONDITION", help_heading = "Results")]
    pub expect: Vec<String>,
    /// What a race is
    #[arg(long, value_enum, default_value_t = RaceMode::Error, help_heading = "Execution")]
    pub races: RaceMode,
    /// Run it so often, from fresh memory: each seed has an order of threads, values of loads that may be old, and random
    /// contents of its own
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1 << 20), help_heading = "Execution")]
    pub seeds: u64,
    /// The first seed. 0 is round robin, and each load returns the last value
    #[arg(long, value_name = "SEED", default_value_t = 0, help_heading = "Execution")]
    pub seed: u64,
    /// The order of threads: round-robin, random, warp-ahead, cta-ahead, threads [default: as the seed says]
    #[arg(long, value_name = "NAME", value_parser = named::<Schedule>, help_heading = "Execution")]
    pub schedule: Option<Schedule>,
    /// How many instructions a thread may execute
    #[arg(long, value_name = "N", default_value_t = ExecuteOptions::default().step_limit, help_heading = "Execution")]
    pub step_limit: u64,
    /// Run it as `check` does, which shows executions by such a command: what GPUs order beside the manual is ordered, the run is cut
    /// after 400000 instructions of warps, IR is not optimized, and comments say nothing
    #[arg(long, help_heading = "Execution")]
    pub like_check: bool,
    /// How much memory a run may use
    #[arg(long, value_name = "BYTES", default_value = "8G", value_parser = sizes::bytes, help_heading = "Execution")]
    pub memory_limit: u64,
    /// The format; sarif is for viewers of code
    #[arg(long, value_enum, default_value_t = RunFormat::Text)]
    pub format: RunFormat,
    #[command(flatten)]
    pub strategy: StrategyArgs,
    #[command(flatten)]
    pub target: TargetArgs,
    #[command(flatten)]
    pub source: SourceArgs,
}

/// Print a script that completes the command in a shell
#[derive(Args)]
#[command(after_help = "Example:
  ptx-atomics completions bash > ~/.local/share/bash-completion/completions/ptx-atomics")]
pub struct CompletionsArgs {
    /// The shell
    pub shell: Shell,
}

/// Write the manual pages, one for each command, into a folder
#[derive(Args)]
#[command(after_help = "Example:
  ptx-atomics man ~/.local/share/man/man1")]
pub struct ManArgs {
    /// The folder; it is made if it is not there
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
}

/// Serve an editor: what check finds in PTX and litmus says of tests, while they are written
///
/// Speaks the Language Server Protocol over standard input and output. docs/editors.md says more.
#[derive(Args)]
#[command(
    after_help = "Exit status: 0 the editor has ended it by shutdown and exit, 1 anything else has, 2 wrong usage."
)]
pub struct LspArgs {
    /// How long to look for the outcomes of a litmus test, in seconds; 0 looks neither for these nor for executions of kernels
    #[arg(long, value_name = "SECONDS", default_value_t = 2)]
    pub time_limit: u64,
    /// What editors add to the command of a server
    #[arg(long, hide = true)]
    pub stdio: bool,
    #[command(flatten)]
    pub readings: ReadingArgs,
}

/// How sources are compiled.
/// Check with the memory models that lowered programs do only what their sources may do
///
/// Every strategy on every family of targets lowers sets of small programs in scoped C++; each outcome that the PTX memory
/// model allows for the result must be one that the C++ model allows for the source.
#[derive(Args)]
#[command(after_help = "Example:
  ptx-atomics verify-mapping --set four --all --shard 1/16
  ptx-atomics verify-mapping --set accesses --rule c++11 --counterexamples found
  ptx-atomics verify-mapping --mutants --expansion 4
  ptx-atomics verify-mapping --mix recommended,hopper-guide
  ptx-atomics verify-mapping --host aarch64

Exit status: 0 every mapping is kept, or every mutant is caught, 1 some is not or the answer is unknown, 2 wrong usage.")]
pub struct VerifyMappingArgs {
    /// Programs in the format of mapping-sources, instead of the sets
    #[arg(value_name = "FILE", conflicts_with_all = ["sets", "all", "shard"])]
    pub files: Vec<PathBuf>,
    /// Which programs: two, three, four, five (all programs of so many operations; five of a small alphabet), accesses, fences,
    /// rmws, exchanges (the classical shapes), placements (at every scope and place), plain-four, plain-accesses,
    /// plain-fences, plain-rmws, plain-exchanges (with plain data after guards), waiting, waiting-placements (loops that
    /// wait), fenced, fenced-placements (fences beside other fences), unwritten (updates that change nothing) [default: all]
    #[arg(long = "set", value_name = "SET", value_parser = named::<Set>)]
    pub sets: Vec<Set>,
    /// How atomics are done: each expansion, by its number in the output. Its operation stands for every read-modify-write
    /// [default: 0, which is native, on all sets; the others on two, rmws and plain-rmws]
    #[arg(long = "expansion", value_name = "NUMBER", value_parser = clap::value_parser!(u8).range(..EXPANSIONS.len() as i64))]
    pub expansions: Vec<u8>,
    /// What continues a release sequence: c++20 (LLVM and Rust: read-modify-writes), c++11 (to C++17: later writes of
    /// the thread, too)
    #[arg(long, value_name = "RULE", default_value = "c++20", value_parser = named::<ReleaseSequences>)]
    pub rule: ReleaseSequences,
    /// What a race does: llvm (a load that races gives anything, and all else keeps its meaning), c++ (the program is
    /// undefined, and everything is kept)
    #[arg(long, value_name = "RULE", default_value = "llvm", value_parser = named::<Races>)]
    pub races: Races,
    /// Put the optimizer in front of the lowering, and check the programs that it changes; with --mutants, leave out each of
    /// its conditions, and look whether a program shows it
    #[arg(long)]
    pub optimize: bool,
    /// Make every lowering wrong, in each way, and look whether programs of the sets show it: a line for each expansion and
    /// for each target, with the wrong lowerings that are caught
    #[arg(long, conflicts_with_all = ["files", "sets", "rule", "races", "all", "shard", "counterexamples"])]
    pub mutants: bool,
    /// Compile the threads of each program by different mappings, every two of these, and each alone: our strategies, those of
    /// other pages and compilers (cuda-12.8, hopper-guide, llvm-22 to llvm-24, libcu++, sycl, tilelang, triton), or all
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = mapping, conflicts_with_all = ["optimize", "mutants", "expansions"])]
    pub mix: Vec<String>,
    /// Compile some threads of each program for the host, x86 or aarch64, by the mappings of GCC and LLVM, and the others by every
    /// strategy, or by those of --mix, at scope sys; with --mutants, make each row of the host's mapping wrong
    #[arg(long, value_name = "PROCESSOR", value_parser = processor, conflicts_with_all = ["optimize", "expansions", "within_threads"])]
    pub host: Option<Processor>,
    /// With --mix, choose for each operation: a thread calls what other compilers have made
    #[arg(long, requires = "mix")]
    pub within_threads: bool,
    /// All programs of the sets, not a sample of each
    #[arg(long)]
    pub all: bool,
    /// Every N-th of these, from the K-th on
    #[arg(long, value_name = "K/N", default_value = "1/1", value_parser = shard)]
    pub shard: (usize, usize),
    /// Begin with a later program of each set: another sample, which shares none with the first
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with_all = ["files", "mutants"])]
    pub offset: usize,
    /// A folder for the first counterexample of each mapping: the source, and its PTX as a litmus test
    #[arg(long, value_name = "FOLDER")]
    pub counterexamples: Option<PathBuf>,
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

#[derive(Args, Clone)]
pub struct StrategyArgs {
    /// Which sequence of each row of the ABI: recommended, fence, fence-acquire, proven, auto; or for one row, as
    /// rmw.acq_rel=fence. A list, or several times: later ones override earlier
    #[arg(long = "strategy", value_name = "LIST", value_parser = strategies)]
    lists: Vec<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    Text,
    Markdown,
    Json,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum LitmusFormat {
    Text,
    Json,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RunFormat {
    Text,
    Json,
    Sarif,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ConformanceFormat {
    Text,
    Json,
    Junit,
    Markdown,
    Svg,
}

/// What becomes of races.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RaceMode {
    /// An error
    Error,
    /// A warning
    Warn,
    /// Nobody looks for them
    Off,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Convention {
    Manual,
    Dat3m,
}

impl LowerArgs {
    /// What the flags set, as the list of options that a module's flag may have, too.
    pub fn options(&self) -> String {
        let set = |name: &str, value: Option<String>| value.map(|value| format!("{name}={value}"));
        let on = |on: bool| if on { "on" } else { "off" }.to_owned();
        let others = [
            set("default-scope", self.default_scope.map(|scope| scope.to_string())),
            set("fp-atomics", self.fp_atomics.map(|choice| choice.to_string())),
            self.generic_may_be_local.then(|| "generic-may-be-local".to_owned()),
            self.volatile_as_mmio.then(|| "volatile-as-mmio".to_owned()),
            set("cuda-atomics", self.cuda_atomics.map(on)),
            // Commas stand between options.
            set("optimize", self.optimize_atomics.as_ref().map(|list| list.replace(',', "+"))),
            set("async", self.asynchronous.map(|asynchronous| asynchronous.to_string())),
            set("verify-native", self.verify_native.map(on)),
            set("embed", self.embed.map(|embed| embed.to_string())),
        ];
        let others = others.into_iter().flatten().chain(self.strategy.options());
        self.target.options().chain(others).collect::<Vec<_>>().join(",")
    }
}

impl LitmusArgs {
    /// What the flags set for the lowering of kernels.
    pub fn options(&self) -> String {
        self.target.options().chain(self.strategy.options()).collect::<Vec<_>>().join(",")
    }
}

impl RunArgs {
    /// What the flags set for the lowering of kernels.
    pub fn options(&self) -> String {
        self.target.options().chain(self.strategy.options()).collect::<Vec<_>>().join(",")
    }

    /// The sizes of the launch.
    pub fn size(&self) -> LaunchSize {
        LaunchSize { grid: self.grid, block: self.block, cluster: self.cluster, shared: self.shared }
    }
}

impl StrategyArgs {
    /// As the list of options that a module's flag may have.
    fn options(&self) -> impl Iterator<Item = String> {
        let strategies = self.lists.iter().flat_map(|list| list.split(',')).map(str::trim);
        // What names a row stands by itself.
        strategies.map(|item| if item.contains('=') { item.into() } else { format!("strategy={item}") })
    }

    pub fn strategies(&self) -> Strategies {
        let mut strategies = Strategies::default();
        for list in &self.lists {
            strategies.override_with(list).expect("the parser of the argument has accepted the list");
        }
        strategies
    }
}
