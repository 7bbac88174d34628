//! The arguments of the command line.

mod check;
mod exec;
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
    execute::{RunOptions, Schedule},
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
    exec::ExecArgs,
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
    /// Show at most N errors and count the rest; 0 shows all of them
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
    Exec(ExecArgs),
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
/// Reads LLVM IR or MLIR, text or bitcode, and writes PTX in which NVIDIA's Atomics ABI determines the sequence of
/// every atomic and fence. Nothing is written on an error.
#[derive(Args, Clone)]
#[command(after_help = "Example:
  ptx-atomics lower kernel.ll -o kernel.ptx --mcpu sm_90 --mattr +ptx86 --strategy fence,rmw.relaxed=recommended
  ptx-atomics lower one.ll two.ll kernels.mlir -o kernels/

Exit status: 0 every input is lowered, 1 an input or its lowering has an error, 2 wrong usage. Of several inputs, the
inputs without errors are written.")]
pub struct LowerArgs {
    /// LLVM IR or MLIR, text or bitcode, or a source; - is standard input
    ///
    /// Sources (.cu, .rs, .c and .cpp) are compiled first.
    #[arg(default_value = "-", value_name = "FILE")]
    pub paths: Vec<PathBuf>,
    /// Language of the input [default: by its content or name, else LLVM IR]
    #[arg(long = "input", value_name = "LANGUAGE", value_parser = one_of::<Language>())]
    pub language: Option<Language>,
    /// Output file or folder; - is standard output
    ///
    /// Several inputs, and MLIR with several modules, need a folder, which gets a file for each of them. A path names a
    /// folder if it ends with a slash or if the folder exists.
    #[arg(short, long, default_value = "-")]
    pub output: PathBuf,
    /// Format of the output; mlir and mlir-bc (with locations) need MLIR input
    ///
    /// For mlir and mlir-bc, only the pass runs.
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
    /// Scope that LLVM's default scope stands for [default: as in the module, else sys]
    ///
    /// Choose a scope narrower than sys only if neither the host nor another device takes part.
    #[arg(long, value_name = "SCOPE", value_parser = settings::scope)]
    pub default_scope: Option<Scope>,
    /// Floating-point atomics, a list [default: as in the module, else native,nans]
    ///
    /// A list with commas. Additions: native uses a single instruction of the GPU, which flushes subnormals of f32 in
    /// global memory and adds the elements of a vector one by one; ieee keeps subnormals and makes a vector one atomic
    /// value. Minima and maxima: no-nans promises that no operand and no value in memory is a NaN, so that float and
    /// double use integer operations.
    #[arg(long, value_name = "LIST")]
    pub fp_atomics: Option<FpChoice>,
    /// Test generic addresses of unknown origin for local (stack) memory
    ///
    /// PTX has no atomics on local memory.
    #[arg(long)]
    pub generic_may_be_local: bool,
    /// Use .mmio for volatile atomic loads and stores of global memory
    ///
    /// Such accesses reach the registers of a device.
    #[arg(long)]
    pub volatile_as_mmio: bool,
    /// Use CUDA's rules for CUDA's atomics [default: as in the module, else on]
    ///
    /// CUDA's atomics are functions such as atomicAdd() that clang's header defines. on makes them relaxed, at the
    /// scope that CUDA defines for them; off keeps the output of clang, seq_cst at system scope.
    #[arg(long, value_name = "ON|OFF", value_parser = settings::on)]
    pub cuda_atomics: Option<bool>,
    /// Rewrites that make atomics and fences cheaper
    ///
    /// on: all rewrites except writes, which adds instructions. all. off. Or a list of scope, loops, fences, unseen and
    /// writes; names after a minus sign are removed from all [default: as in the module, else on with -O1 and above]
    #[arg(long, value_name = "REWRITES", value_parser = rewrites, allow_hyphen_values = true)]
    pub optimize_atomics: Option<String>,
    /// Treatment of missing waits and proxy fences of asynchronous operations
    ///
    /// off. check: a warning. deny: an error. insert: the pass inserts them before LLVM's optimizer if it can, and
    /// warns if it cannot [default: as in the module, else check]
    #[arg(long = "async", value_name = "MODE", value_parser = settings::asynchronous)]
    pub asynchronous: Option<AsyncMode>,
    /// Form of the lowered operations in the module
    ///
    /// native: LLVM's own instruction, if this version of LLVM prints exactly the chosen sequence for it, in functions
    /// whose memory only atomics access. assembly: inline assembly for every operation [default: as in the module, else
    /// native for PTX and assembly for LLVM IR]
    #[arg(long, value_name = "FORM", value_parser = settings::embed)]
    pub embed: Option<Embed>,
    /// Check LLVM's output of native operations [default: as in the module, else off]
    ///
    /// Compares the operations that remain LLVM's own instructions with the PTX that LLVM prints for them.
    #[arg(long, value_name = "ON|OFF", value_parser = settings::on)]
    pub verify_native: Option<bool>,
    /// Run LLVM's optimization pipeline of this level, and generate code at it
    ///
    /// Without this flag, no pipeline runs, and code is generated at level 2.
    #[arg(short = 'O', value_name = "LEVEL", value_parser = clap::value_parser!(u8).range(0..=3))]
    pub level: Option<u8>,
    /// Generate code at this level, as `llc -O` does, whatever pipeline runs first
    #[arg(long, value_name = "LEVEL", value_parser = clap::value_parser!(u8).range(0..=3))]
    pub codegen_level: Option<u8>,
    /// Lower N inputs at once [default: the number of processors]
    ///
    /// The output is the same for every N.
    #[arg(short, long, value_name = "N", value_parser = positive)]
    pub jobs: Option<usize>,
    /// Write a remark for each lowered operation, in LLVM's YAML format
    #[arg(long, value_name = "FILE", value_parser = file)]
    pub remarks: Option<PathBuf>,
    /// Report the lowering of each operation
    #[arg(short, long)]
    pub verbose: bool,
}

/// Print the mapping for a target
#[derive(Args)]
#[command(after_help = "Example:
  ptx-atomics table --strategy recommended --mcpu sm_90 --mattr +ptx86 --format markdown")]
pub struct TableArgs {
    #[command(flatten)]
    pub target: TargetArgs,
    #[command(flatten)]
    pub strategy: StrategyArgs,
    /// Floating-point atomics: native or ieee, nans or no-nans, with commas
    #[arg(long, value_name = "LIST", default_value = "native,nans")]
    pub fp_atomics: FpChoice,
    /// Output format
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Print the machine instructions that ptxas emits, as measured
    ///
    /// The table has their barriers. Without --mcpu, it covers every family of GPUs.
    #[arg(long)]
    pub sass: bool,
}

/// Measure which atomics and fences a compiler gets right
///
/// Gives the compiler some thousand functions with one atomic or fence each, every operation of LLVM among them, and
/// judges its PTX by the instructions, by each ptxas that is found, and by the values that the PTX computes. See
/// docs/conformance.md.
#[derive(Args)]
#[command(after_help = "Example:
  ptx-atomics conformance --mcpu sm_90 --mattr +ptx86 -- llc-22 -mcpu={sm} -mattr=+{ptx} {input} -o {output}
  ptx-atomics conformance --language c++ --filter cmpxchg --report lost -- clang++ --target=nvptx64-nvidia-cuda \\
      -march={sm} -O2 -S {input} -o {output}

Exit status: 0 no function fails, except as in the baseline, 1 a function fails, 2 nothing was measured.")]
pub struct ConformanceArgs {
    /// Command line that compiles a file
    ///
    /// {input} and {output} stand for files; {output} may be omitted if the PTX goes to standard output. {sm} stands
    /// for the GPU, such as sm_90, {number} for its number, such as 90, and {ptx} for the PTX version, such as ptx86.
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<String>,
    /// Input language of the compiler
    ///
    /// llvm, llvm7 (LLVM IR with typed pointers, for libNVVM), rust, rust-scope (with the crate ptx-atomics-scope), c++
    /// (__scoped_atomic_*), cuda (cuda::atomic_ref)
    #[arg(long, value_name = "LANGUAGE", default_value_t, value_parser = one_of::<conformance::Language>())]
    pub language: conformance::Language,
    /// GPUs, such as sm_70,sm_90 [default: sm_90]
    #[arg(long, value_name = "GPUS", value_delimiter = ',', value_parser = settings::sm)]
    pub mcpu: Vec<Sm>,
    /// PTX version, such as +ptx86 [default: 8.8, else the lowest that has the GPU]
    #[arg(long, value_name = "FEATURES", value_parser = settings::features)]
    pub mattr: Option<Features>,
    /// Version of LLVM that defines the operations
    ///
    /// 23 adds fmaximumnum and fminimumnum.
    #[arg(long, value_name = "VERSION", default_value_t = 22)]
    pub llvm: u32,
    /// Test only functions whose name matches a regex, such as '^rmw-add-i32'
    #[arg(long, value_name = "REGEX")]
    pub filter: Option<Regex>,
    /// Test only N of these functions, spread evenly
    #[arg(long, value_name = "N")]
    pub sample: Option<usize>,
    /// Test every N-th of these functions, from the K-th on
    #[arg(long, value_name = "K/N", default_value = "1/1", value_parser = shard)]
    pub shard: (usize, usize),
    /// Compile N functions at once
    ///
    /// If the compilation fails, it is repeated with parts of the batch.
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = positive)]
    pub batch: usize,
    /// Run N compilers at once [default: the number of processors]
    #[arg(short, long, value_name = "N", value_parser = positive)]
    pub jobs: Option<usize>,
    /// Time limit of the compiler for one batch
    #[arg(long, value_name = "SECONDS", default_value = "60", value_parser = seconds)]
    pub timeout: Duration,
    /// Do not run any ptxas
    #[arg(long)]
    pub no_ptxas: bool,
    /// Output format
    #[arg(long, value_enum, default_value_t = ConformanceFormat::Text)]
    pub format: ConformanceFormat,
    /// Include the PTX of each function in JSON
    #[arg(long)]
    pub with_ptx: bool,
    /// Known failures, in a file of --write-baseline
    ///
    /// Only failures that the file lacks make the command fail.
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
    /// Write the failures to a file, and succeed
    #[arg(long, value_name = "FILE")]
    pub write_baseline: Option<PathBuf>,
    /// Write the table of LLVM's output for `lower --embed native`
    ///
    /// The table has the output of LLVM for each operation by itself. The name of the file is the version of LLVM, such
    /// as 23.1.4.txt. Every version of PTX is measured for each GPU from sm_70 on, or for the GPUs of --mcpu. The
    /// command does nothing else.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["baseline", "write_baseline", "report"])]
    pub write_backend: Option<PathBuf>,
    /// Folder for reproducers
    ///
    /// A reproducer is the smallest function of a kind of failure, with its PTX and the error in it.
    #[arg(long, value_name = "FOLDER")]
    pub report: Option<PathBuf>,
}

/// Find the outcomes of a litmus test that the PTX memory model allows
///
/// The axioms of the PTX manual, section 8, judge every execution of the test. For a single file, the command also
/// shows an execution with the outcome of the condition, or the axiom that forbids it. docs/memory-model.md describes
/// the format of tests and the limits of the model. A test may also be a kernel, whose functions are the threads:
/// docs/kernels.md.
#[derive(Args)]
#[command(after_help = "Example:
  ptx-atomics litmus examples/litmus/store_buffering.litmus --svg execution.svg
  ptx-atomics litmus tests/ --format json --time-limit 10
  ptx-atomics litmus kernel.rs --thread 'P0 = producer(data) @ cta 0' --thread 'P1 = consumer(data) @ cta 1' \\
    --declare 'u32 data[2]' --forall 'P1:return == 42'

Exit status: 0 every verdict is known, 1 a verdict is unknown or an input is wrong, 2 wrong usage. With --must-hold, also
1 if a condition does not hold or asynchronous operations have a data race; with --from-source, also 1 if the PTX has an
outcome that the source lacks.")]
pub struct LitmusArgs {
    /// Litmus tests, kernels, or folders of *.litmus; - is standard input
    ///
    /// A kernel (.ptx, .ll, .bc, .mlir, .rs, .cu, .c, .cpp) has its test in comments that begin with `litmus:`, or in
    /// flags of this command.
    #[arg(required_unless_present = "from_source", value_name = "FILE")]
    pub paths: Vec<PathBuf>,
    /// A thread of a kernel's test, such as 'P0 = producer(data, 1) @ cta 0'
    #[arg(long = "thread", value_name = "THREAD", conflicts_with = "from_source", help_heading = "Kernels")]
    pub threads: Vec<String>,
    /// Value of a parameter, such as 'producer.0 = data'
    #[arg(long = "bind", value_name = "BINDING", conflicts_with = "from_source", help_heading = "Kernels")]
    pub binds: Vec<String>,
    /// An object in memory, such as 'u32 data[2] = {1, 2}'
    #[arg(long, value_name = "DECLARATION", conflicts_with = "from_source", help_heading = "Kernels")]
    pub declare: Vec<String>,
    /// Condition on all outcomes, such as 'P1:return == 42 /\\ data[1] == 0'
    #[arg(long, value_name = "FORMULA", conflicts_with = "from_source", help_heading = "Kernels")]
    pub forall: Vec<String>,
    /// Condition that at least one outcome must fulfill
    #[arg(long, value_name = "FORMULA", conflicts_with = "from_source", help_heading = "Kernels")]
    pub exists: Vec<String>,
    /// Condition that no outcome may fulfill
    #[arg(long, value_name = "FORMULA", conflicts_with = "from_source", help_heading = "Kernels")]
    pub never: Vec<String>,
    #[command(flatten)]
    pub source: SourceArgs,
    /// Write the PTX of a kernel
    #[arg(long, value_name = "FILE", conflicts_with = "from_source", help_heading = "Kernels")]
    pub ptx: Option<PathBuf>,
    /// Programs in scoped C++, to compare with their lowered PTX
    ///
    /// Each program is lowered and printed as a litmus test, and its outcomes are compared with the outcomes of the
    /// source.
    #[arg(long, value_name = "FILE", conflicts_with_all = ["paths", "dot", "svg", "format", "model", "convention", "profile", "readings"])]
    pub from_source: Option<PathBuf>,
    #[command(flatten)]
    pub strategy: StrategyArgs,
    #[command(flatten)]
    pub target: TargetArgs,
    /// Continuation of a release sequence of --from-source: c++20 or c++11
    ///
    /// c++20 (LLVM and Rust): read-modify-writes. c++11 (up to C++17): also later writes of the same thread.
    #[arg(long, value_name = "RULE", default_value = "c++20", value_parser = named::<ReleaseSequences>)]
    pub rule: ReleaseSequences,
    #[command(flatten)]
    pub readings: ReadingArgs,
    /// Print the outcomes, at most 200 of them
    #[arg(long)]
    pub outcomes: bool,
    /// Print every outcome, even if there are more than 200
    #[arg(long)]
    pub all_outcomes: bool,
    /// Find weaker orderings and scopes with which all tests of a file still hold
    #[arg(long, conflicts_with = "from_source")]
    pub minimize: bool,
    /// Also end with exit status 1 if a condition does not hold
    #[arg(long, conflicts_with = "from_source")]
    pub must_hold: bool,
    /// Show an execution for each file, even if there are several
    #[arg(long)]
    pub explain: bool,
    /// Draw the execution of one test for graphviz; - is standard output
    ///
    /// On standard output, the drawing replaces the text.
    #[arg(long, value_name = "FILE")]
    pub dot: Option<PathBuf>,
    /// Draw the execution of one test as SVG; - is standard output
    ///
    /// On standard output, the drawing replaces the text.
    #[arg(long, value_name = "FILE")]
    pub svg: Option<PathBuf>,
    /// Output format
    #[arg(long, value_enum, default_value_t = LitmusFormat::Text)]
    pub format: LitmusFormat,
    /// Model: of PTX, or the strengthened model
    ///
    /// The strengthened model has two more axioms, and forbids outcomes that no GPU showed. Without it, the command says
    /// when a verdict depends on it. docs/evidence/strengthened-model.md has its axioms.
    #[arg(long, value_enum, default_value_t = Model::Ptx)]
    pub model: Model,
    /// Reading of the manual where it is ambiguous: its words, or Dat3M's reading
    #[arg(long, value_enum, default_value_t = Convention::Manual)]
    pub convention: Convention,
    /// Time limit of the search; beyond it, the verdict is unknown
    #[arg(long, value_name = "SECONDS", value_parser = seconds)]
    pub time_limit: Option<Duration>,
    /// Limit of choices in the search; beyond it, the verdict is unknown
    ///
    /// A choice is the value that a read returns, or an order.
    #[arg(long, value_name = "N", default_value_t = 100_000_000)]
    pub choices: u64,
    /// Limit on how often a thread may enter a loop
    ///
    /// Iterations that only wait do not count.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u32).range(1..))]
    pub rounds: u32,
}

/// Run LLVM's llc, with every atomic and fence lowered
///
/// Runs LLVM's llc with the plugin: each flag is llc's own, and code without atomics is the same as from llc alone. For
/// toolchains that expect the name of an llc, the program ptx-atomics-llc, in the folder of this program, does the
/// same. PTX_ATOMICS has the options of the plugin. PTX_ATOMICS_LLC and PTX_ATOMICS_PLUGIN name the llc and the plugin
/// if they are not found. See docs/plugin.md; `llc --help` lists the flags.
#[derive(Args)]
#[command(after_help = "Example:
  ptx-atomics llc -mcpu=sm_90 -mattr=+ptx86 kernel.ll -o kernel.ptx

Exit status: the status of llc; 1 if llc or the plugin is missing.")]
pub struct LlcArgs {
    /// Arguments of llc
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "ARGUMENTS")]
    pub arguments: Vec<OsString>,
}

/// Run a kernel on the CPU, and find every data race of the execution
///
/// Executes every thread of a grid, and examines every pair of accesses. Two accesses race if they conflict, are not
/// both strong, and nothing orders them (section 8 of the PTX manual). These flags set the launch and its arguments, or
/// comments of the file do, such as `// run: grid=4 block=128 out=u32[1]=0 expect out == 512`, or a file in TOML. The
/// command chooses the rest, and reports its choices. See docs/run.md.
#[derive(Args)]
#[command(after_help = "Example:
  ptx-atomics run kernel.ptx
  ptx-atomics run kernel.cu --grid 4 --block 128 --arg 'out:u32[1]' --arg 1024 --expect 'out == 512' --seeds 16
  ptx-atomics run kernel.ptx --arg 'x:f32[]=x.npy' --arg 'out:f32[1024]' --out out=out.npy

Exit status: 0 the run ended without an error (a warning is not an error), 1 the run has a race or another error, or a
condition does not hold, 2 the run did not end: the input, the launch or the usage is wrong, an instruction is not
supported, or a limit was reached.")]
pub struct RunArgs {
    /// The kernel, PTX or a source; - is standard input
    ///
    /// A file .ptx, or .ll, .bc, .mlir, .rs, .cu, .c, .cpp, which is compiled first.
    #[arg(value_name = "FILE")]
    pub path: PathBuf,
    /// Kernel to launch, or a unique part of its name [default: the only one]
    #[arg(long, value_name = "NAME", help_heading = "Launch")]
    pub kernel: Option<String>,
    /// Number of CTAs, such as 4 or 2,2,1 [default: 2]
    #[arg(long, value_name = "X,Y,Z", value_parser = sizes::dim3, help_heading = "Launch")]
    pub grid: Option<Dim3>,
    /// Number of threads of a CTA
    ///
    /// [default: as in .reqntid, else 128, or as many as .maxntid admits]
    #[arg(long, value_name = "X,Y,Z", value_parser = sizes::dim3, help_heading = "Launch")]
    pub block: Option<Dim3>,
    /// Number of CTAs of a cluster [default: as in .reqnctapercluster, else 1]
    #[arg(long, value_name = "X,Y,Z", value_parser = sizes::dim3, help_heading = "Launch")]
    pub cluster: Option<Dim3>,
    /// Dynamic shared memory of a CTA, such as 1024 or 48K [default: 0]
    #[arg(long, value_name = "BYTES", value_parser = sizes::shared, help_heading = "Launch")]
    pub shared: Option<u32>,
    /// An argument of the kernel: a buffer, a number or an address
    ///
    /// A buffer: 'out:f32[1024]' (zeros), or followed by `=` and 7, 1,2,3, iota, random, random(0,9), uninitialized,
    /// x.npy, x.bin or @FILE. A number: 7, n=7, u64:7. An address: out, out+16. An argument with the name of a
    /// parameter sets that parameter; the remaining arguments set the remaining parameters in their order [default:
    /// buffers that grow, and numbers that the code admits]
    #[arg(long = "arg", value_name = "ARGUMENT", allow_hyphen_values = true, help_heading = "Launch")]
    pub args: Vec<String>,
    /// Language of the kernel [default: by the ending of its name, else PTX]
    #[arg(long = "input", value_name = "LANGUAGE", value_parser = one_of::<Language>())]
    pub language: Option<Language>,
    /// The gpu.module of MLIR to run [default: the only one]
    #[arg(long, value_name = "NAME")]
    pub module: Option<String>,
    /// Launch the kernel a second time, as a dependent grid
    ///
    /// The second launch has the same arguments, and may start before the first one has ended.
    #[arg(long, conflicts_with = "launch", help_heading = "Launch")]
    pub dependent: bool,
    /// Run launches that follow each other and share buffers
    #[arg(
        long,
        value_name = "FILE.toml",
        conflicts_with_all = ["kernel", "grid", "block", "cluster", "shared", "args"],
        help_heading = "Launch"
    )]
    pub launch: Option<PathBuf>,
    /// Write a buffer or a variable at the end; - is standard output
    ///
    /// A file whose name ends with .npy has NumPy's format, any other file the bytes; standard output gets a line for
    /// each element. With several seeds, the values are the result of the first seed.
    #[arg(long, value_name = "NAME=FILE", value_parser = named_file, help_heading = "Results")]
    pub out: Vec<(String, PathBuf)>,
    /// Print a buffer or a variable at the end, such as 'out'
    ///
    /// 'out[..8]' prints the first elements alone.
    #[arg(long, value_name = "NAME", value_parser = first_elements, help_heading = "Results")]
    pub print: Vec<(String, Option<usize>)>,
    /// Write the PTX of the run
    #[arg(long, value_name = "FILE", help_heading = "Results")]
    pub ptx: Option<PathBuf>,
    /// Condition on the results, on all elements or a single element
    ///
    /// Example: 'out == 512 && x[3] ~= 0.5 +- 1e-3'
    #[arg(long, value_name = "CONDITION", help_heading = "Results")]
    pub expect: Vec<String>,
    /// Severity of a race
    #[arg(long, value_enum, default_value_t = RaceMode::Error, help_heading = "Execution")]
    pub races: RaceMode,
    /// Run the kernel N times, each from fresh memory
    ///
    /// Each run has another seed, and each seed another order of threads, other old values of loads, and other random
    /// contents.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=1 << 20), help_heading = "Execution")]
    pub seeds: u64,
    /// First seed; with 0, threads run in turn, and each load returns the last value
    #[arg(long, value_name = "SEED", default_value_t = 0, help_heading = "Execution")]
    pub seed: u64,
    /// Order of threads [default: chosen by the seed]
    ///
    /// round-robin, random, warp-ahead, cta-ahead, threads
    #[arg(long, value_name = "NAME", value_parser = named::<Schedule>, help_heading = "Execution")]
    pub schedule: Option<Schedule>,
    /// Limit of instructions that a thread may execute
    #[arg(long, value_name = "N", default_value_t = RunOptions::default().step_limit, help_heading = "Execution")]
    pub step_limit: u64,
    /// Run the kernel as `check` runs it
    ///
    /// `check` prints such a command for each execution that it shows. Orderings that GPUs guarantee beyond the manual
    /// count, the run is cut after 200000 instructions of warps, IR is not optimized, and comments of the file are
    /// ignored.
    #[arg(long, help_heading = "Execution")]
    pub like_check: bool,
    /// Limit of the memory that a run may use
    #[arg(long, value_name = "BYTES", default_value = "8G", value_parser = sizes::bytes, help_heading = "Execution")]
    pub memory_limit: u64,
    /// Output format; sarif is for code viewers
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
    /// Folder of the manual pages; it is created if it does not exist
    #[arg(value_name = "FOLDER")]
    pub folder: PathBuf,
}

/// Serve an editor: check PTX and litmus tests while they are written
///
/// Speaks the Language Server Protocol over standard input and output. See docs/editors.md.
#[derive(Args)]
#[command(
    after_help = "Exit status: 0 the editor ended the server by shutdown and exit, 1 the server ended otherwise, 2 wrong usage."
)]
pub struct LspArgs {
    /// Time limit of searches for outcomes of a litmus test, in seconds
    ///
    /// 0 disables these searches, and the searches for executions of kernels.
    #[arg(long, value_name = "SECONDS", default_value_t = 2)]
    pub time_limit: u64,
    /// No effect; editors add this flag to the command of a server
    #[arg(long, hide = true)]
    pub stdio: bool,
    #[command(flatten)]
    pub readings: ReadingArgs,
}

/// Check with the memory models that lowering adds no outcome to a program
///
/// Every strategy on every family of targets lowers sets of small programs in scoped C++. The C++ model of the source
/// must allow each outcome that the PTX memory model allows for the result.
#[derive(Args)]
#[command(after_help = "Example:
  ptx-atomics verify-mapping --set four --all --shard 1/16
  ptx-atomics verify-mapping --set accesses --rule c++11 --counterexamples found
  ptx-atomics verify-mapping --mutants --expansion 4
  ptx-atomics verify-mapping --mix recommended,hopper-guide
  ptx-atomics verify-mapping --host aarch64

Exit status: 0 every mapping is kept, or every mutant is caught, 1 a mapping is not kept, a mutant is missed, an answer
is unknown or an input is wrong, 2 wrong usage.")]
pub struct VerifyMappingArgs {
    /// Programs in the format of mapping-sources, instead of the sets
    #[arg(value_name = "FILE", conflicts_with_all = ["sets", "all", "shard"])]
    pub files: Vec<PathBuf>,
    /// Sets of programs [default: all]
    ///
    /// two, three, four, five: all programs of that many operations, five over a small alphabet. accesses, fences,
    /// rmws, exchanges: the classical shapes. placements: the shapes at every scope and place. plain-four,
    /// plain-accesses, plain-fences, plain-rmws, plain-exchanges: with plain data after guards. waiting,
    /// waiting-placements: loops that wait. fenced, fenced-placements: fences next to other fences. unwritten: updates
    /// that change nothing.
    #[arg(long = "set", value_name = "SET", value_parser = named::<Set>)]
    pub sets: Vec<Set>,
    /// Expansion of atomics, by its number in the output
    ///
    /// The operation of the expansion replaces every read-modify-write [default: 0, which is native, on all sets; the
    /// other expansions on two, rmws and plain-rmws]
    #[arg(long = "expansion", value_name = "NUMBER", value_parser = clap::value_parser!(u8).range(..EXPANSIONS.len() as i64))]
    pub expansions: Vec<u8>,
    /// Continuation of a release sequence: c++20 or c++11
    ///
    /// c++20 (LLVM and Rust): read-modify-writes. c++11 (up to C++17): also later writes of the same thread.
    #[arg(long, value_name = "RULE", default_value = "c++20", value_parser = named::<ReleaseSequences>)]
    pub rule: ReleaseSequences,
    /// Effect of a race: llvm or c++
    ///
    /// llvm: a load that races returns any value, and the rest of the program keeps its meaning. c++: the program is
    /// undefined, and every mapping keeps it.
    #[arg(long, value_name = "RULE", default_value = "llvm", value_parser = named::<Races>)]
    pub races: Races,
    /// Run the optimizer before the lowering, and check the programs that it changes
    ///
    /// With --mutants, the optimizer omits each of its conditions in turn, and the command searches for a program that
    /// shows the error.
    #[arg(long)]
    pub optimize: bool,
    /// Make each lowering wrong in turn, and search for programs that show the error
    ///
    /// Prints a line for each expansion and for each target, with the wrong lowerings that programs of the sets catch.
    #[arg(long, conflicts_with_all = ["files", "sets", "rule", "races", "all", "shard", "counterexamples"])]
    pub mutants: bool,
    /// Compile the threads of each program by different mappings
    ///
    /// Checks every two of the named mappings, and each alone: the strategies of ptx-atomics, mappings of other
    /// documents and compilers (cuda-12.8, hopper-guide, llvm-22 to llvm-24, libcu++, sycl, tilelang, triton), or all.
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = mapping, conflicts_with_all = ["optimize", "mutants", "expansions"])]
    pub mix: Vec<String>,
    /// Compile some threads of each program for the host
    ///
    /// The host is x86 or aarch64, with the mappings of GCC and LLVM. The other threads have every strategy, or the
    /// mappings of --mix, at scope sys. With --mutants, each row of the host's mapping is made wrong in turn.
    #[arg(long, value_name = "PROCESSOR", value_parser = processor, conflicts_with_all = ["optimize", "expansions", "within_threads"])]
    pub host: Option<Processor>,
    /// With --mix, choose a mapping for each operation instead of each thread
    ///
    /// The program models threads that call functions of other compilers.
    #[arg(long, requires = "mix")]
    pub within_threads: bool,
    /// Check all programs of the sets, not a sample of each
    #[arg(long)]
    pub all: bool,
    /// Check every N-th of these programs, from the K-th on
    #[arg(long, value_name = "K/N", default_value = "1/1", value_parser = shard)]
    pub shard: (usize, usize),
    /// Begin with a later program of each set
    ///
    /// The result is another sample, which shares no program with the first one.
    #[arg(long, value_name = "N", default_value_t = 0, conflicts_with_all = ["files", "mutants"])]
    pub offset: usize,
    /// Folder for the first counterexample of each mapping
    ///
    /// A counterexample is the source, and its PTX as a litmus test.
    #[arg(long, value_name = "FOLDER")]
    pub counterexamples: Option<PathBuf>,
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
}

#[derive(Args, Clone)]
pub struct StrategyArgs {
    /// Sequence for each row of the ABI, or for one row
    ///
    /// recommended, fence, fence-acquire, proven, auto; or for one row, such as rmw.acq_rel=fence. In a list, and among
    /// several flags, later entries override earlier ones.
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

/// The severity of races.
#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RaceMode {
    /// An error
    Error,
    /// A warning
    Warn,
    /// Races are not looked for
    Off,
}

#[derive(Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Model {
    Ptx,
    Strengthened,
}

#[derive(Clone, Copy, ValueEnum)]
pub enum Convention {
    Manual,
    Dat3m,
}

impl LowerArgs {
    /// The options that the flags set, in the format of a module's flag.
    pub fn options(&self) -> String {
        let set = |name: &str, value: Option<String>| value.map(|value| format!("{name}={value}"));
        let on = |on: bool| if on { "on" } else { "off" }.to_owned();
        let others = [
            set("default-scope", self.default_scope.map(|scope| scope.to_string())),
            set("fp-atomics", self.fp_atomics.map(|choice| choice.to_string())),
            self.generic_may_be_local.then(|| "generic-may-be-local".to_owned()),
            self.volatile_as_mmio.then(|| "volatile-as-mmio".to_owned()),
            set("cuda-atomics", self.cuda_atomics.map(on)),
            // Commas separate options.
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
    /// The options of the lowering of kernels that the flags set.
    pub fn options(&self) -> String {
        self.target.options().chain(self.strategy.options()).collect::<Vec<_>>().join(",")
    }
}

impl RunArgs {
    /// The options of the lowering of kernels that the flags set.
    pub fn options(&self) -> String {
        self.target.options().chain(self.strategy.options()).collect::<Vec<_>>().join(",")
    }

    /// The sizes of the launch.
    pub fn size(&self) -> LaunchSize {
        LaunchSize { grid: self.grid, block: self.block, cluster: self.cluster, shared: self.shared }
    }
}

impl StrategyArgs {
    /// The options that the flags set, in the format of a module's flag.
    fn options(&self) -> impl Iterator<Item = String> {
        let strategies = self.lists.iter().flat_map(|list| list.split(',')).map(str::trim);
        // An entry with `=` already names a row.
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
