//! Damaged inputs of every kind. Each gives a result, or an error that blames the input.
//!
//! The inputs are valid inputs of this repository with changes of bytes, words and lines, from a fixed seed. Workers,
//! which are further processes of this program, pass the inputs one by one to the library. Inputs that end a worker,
//! and a sample of the rest, go through the command. `scripts/fuzz N` runs more inputs. A failing input is kept and its
//! path printed.

use std::{
    env, fs,
    io::{self, BufRead, BufReader, Write},
    ops::Range,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::mpsc::{self, RecvTimeoutError},
    time::Duration,
};

use itertools::Itertools;
use libtest_mimic::{Failed, Trial};
use ptx_atomics::{
    judge::judge_function,
    llvm::{self, Diagnostic, Errors, Handlers, Input, Options, inkwell::OptimizationLevel, inkwell::context::Context},
    lowering::{
        Target,
        ptx::{Module, ModuleError, ModuleErrors},
    },
    memory_model::{litmus::Litmus, ptx::readings::Readings},
    mlir, ptx_from_llvm_ir,
};
use testing::{ptx_atomics, root};

/// The function that passes the bytes of a file to the library.
type Work = fn(&str, &[u8]) -> Result<(), Errors>;

/// A kind of input.
#[derive(Clone, Copy)]
struct InputKind {
    name: &'static str,
    /// The sources of valid inputs: folders and file extensions.
    sources: &'static [(&'static str, &'static str)],
    /// The work of a worker on an input; `None` if only the command handles the kind.
    work: Option<Work>,
    command: fn(&mut Command, &Path),
}

#[rustfmt::skip]
const KINDS: [InputKind; 6] = [
    InputKind { name: "ll", sources: &[("tests/inputs", "ll"), ("tests/bad", "ll")], work: Some(llvm_ir), command: lower },
    InputKind { name: "bc", sources: &[("tests/inputs", "ll")], work: Some(llvm_ir), command: lower },
    InputKind {
        name: "mlir",
        sources: &[("tests/mlir/inputs", "mlir"), ("tests/mlir/bad", "mlir"), ("examples/mlir", "mlir")],
        work: Some(mlir_module),
        command: lower,
    },
    InputKind { name: "ptx", sources: &[("tests/inputs", ".ll")], work: Some(ptx), command: check },
    InputKind {
        name: "kernel",
        sources: &[("tests/async", ".ptx"), ("tests/async/reported", ".ptx")],
        work: Some(kernel),
        command: check_async,
    },
    InputKind {
        name: "litmus",
        sources: &[("models/memory-model/litmus", "litmus"), ("examples/litmus", "litmus")],
        work: None,
        command: litmus,
    },
];

/// The time limit after which an input counts as a hang. Other inputs take milliseconds.
const PATIENCE: Duration = Duration::from_secs(60);
/// One in `SAMPLE` inputs goes through the command, whatever the worker answers.
const SAMPLE: usize = 25;
/// The number of files that one process of `litmus` gets.
const BATCH: usize = 50;
/// The environment variable that makes this program a worker, with the kind as its value.
const WORKER: &str = "PTX_ATOMICS_FUZZ_WORKER";

/// Runs as a worker if the variable asks for it.
pub fn is_reader() -> bool {
    let kind = env::var(WORKER).ok();
    if let Some(kind) = &kind {
        worker(KINDS.iter().find(|known| known.name == kind).expect("a kind"));
    }
    kind.is_some()
}

pub fn trials() -> Vec<Trial> {
    KINDS.map(|kind| Trial::test(format!("a damaged .{} never aborts", kind.name), move || fuzz(&kind))).into()
}

fn lower(command: &mut Command, path: &Path) {
    command.arg("lower").arg(path).args(["--error-limit", "0"]);
}

fn check(command: &mut Command, path: &Path) {
    command.args(["check", "--ir", "tests/inputs/cmpxchg.ll", "--ptx"]).arg(path);
}

fn check_async(command: &mut Command, path: &Path) {
    command.args(["check", "--time-limit", "1"]).arg(path).args(["--explain", "--error-limit", "0"]);
}

fn litmus(command: &mut Command, path: &Path) {
    command.args(["litmus", "--choices", "1000", "--time-limit", "5", "--error-limit", "0"]).arg(path);
}

/// The number in an environment variable, or the default.
fn variable(name: &str, default: u64) -> u64 {
    env::var(name).ok().map_or(default, |value| value.parse().expect("a number"))
}

fn fuzz(kind: &InputKind) -> Result<(), Failed> {
    let (count, seed) = (variable("FUZZ_INPUTS", 1000 / testing::stride(8) as u64) as usize, variable("FUZZ_SEED", 11));
    let valid = valid(kind)?;
    assert!(!valid.is_empty() && count > 0, "expected inputs");
    let folder = tempfile::tempdir()?;
    let paths: Vec<_> = (0..count).map(|index| folder.path().join(format!("{index}.{}", kind.name))).collect();
    for (index, path) in paths.iter().enumerate() {
        // The input depends on the kind and the number only, not on the count.
        let mut random = Random::new(seed ^ (index as u64) << 32 ^ kind.name.bytes().map(u64::from).sum::<u64>() << 16);
        fs::write(path, damaged(&valid, &mut random))?;
    }

    let (mut failures, mut still_valid) = (Vec::new(), 0);
    let ended = match kind.work {
        Some(_) => through_workers(kind, &paths, &mut failures, &mut still_valid)?,
        None => {
            let text = |path: &PathBuf| fs::read_to_string(path);
            still_valid = paths.iter().filter(|path| text(path).is_ok_and(|text| Litmus::read(&text).is_ok())).count();
            Vec::new()
        }
    };
    // If no input is readable, the code after the readers is not tested.
    assert!(still_valid > 0 || count < 1000, "expected valid inputs");
    let deaths = ended.len();
    let of_command: Vec<_> = match kind.work {
        Some(_) => {
            let sample = paths.iter().step_by(SAMPLE).filter(|path| !ended.contains(path));
            sample.chain(&ended).cloned().collect()
        }
        // Without workers, the command gets a folder at a time. The files of a failing folder are run one by one.
        None => {
            let mut bad = Vec::new();
            for (number, files) in paths.chunks(BATCH).enumerate() {
                let batch = folder.path().join(format!("batch{number}"));
                fs::create_dir(&batch)?;
                for file in files {
                    fs::copy(file, batch.join(file.file_name().expect("a name")))?;
                }
                if through_command(kind, &batch)?.is_some() {
                    bad.extend_from_slice(files);
                }
            }
            bad
        }
    };
    for path in of_command {
        failures.extend(through_command(kind, &path)?.map(|problem| (path, problem)));
    }
    println!(
        ".{}: {count} inputs, {still_valid} valid still, {deaths} ended a worker, {} failed",
        kind.name,
        failures.len()
    );
    if failures.is_empty() {
        return Ok(());
    }
    let kept = Path::new(env!("CARGO_TARGET_TMPDIR")).join("fuzz");
    fs::create_dir_all(&kept)?;
    let lines = failures.into_iter().map(|(path, problem)| {
        let to = kept.join(format!("{seed}-{}", path.file_name().expect("a name").to_string_lossy()));
        fs::copy(path, &to).map(|_| format!("{}: {problem}", to.display()))
    });
    Err(lines.collect::<io::Result<Vec<_>>>()?.join("\n").into())
}

/// Valid inputs, the sources of the damaged ones.
fn valid(kind: &InputKind) -> Result<Vec<Vec<u8>>, Failed> {
    let mut found = Vec::new();
    for (folder, ending) in kind.sources {
        let paths = fs::read_dir(root().join(folder))?.map_ok(|entry| entry.path()).collect::<Result<Vec<_>, _>>()?;
        for path in paths.into_iter().filter(|path| path.to_string_lossy().ends_with(ending)).sorted() {
            let bytes = fs::read(&path)?;
            found.push(match kind.name {
                "bc" => {
                    let context = Context::create();
                    llvm::bitcode(&llvm::read(&context, &Input::new("valid", bytes)).map_err(|_| "the input is valid")?)
                }
                "ptx" => {
                    let options = Options::new(Target::new("sm_90".parse()?, Some("ptx86".parse()?))?);
                    ptx_from_llvm_ir(&Input::new("valid", bytes), &options).map_err(|errors| errors.to_string())?
                }
                _ => bytes,
            });
        }
    }
    Ok(found)
}

/// Random numbers that are the same in every run.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        // Every bit of the seed affects every bit of the state.
        let mixed = (0..3).fold(seed + 1, |state: u64, _| {
            let state = state.wrapping_mul(0x9E37_79B9_7F4A_7C15);
            state ^ state >> 32
        });
        Self(mixed | 1)
    }

    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 16) as usize % limit.max(1)
    }

    fn range(&mut self, length: usize, longest: usize) -> Range<usize> {
        let start = self.below(length + 1);
        start..(start + self.below(longest + 1)).min(length)
    }
}

/// A valid input after some changes of bytes, words or lines. A change replaces a piece by a piece of any valid input.
fn damaged(valid: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = valid[random.below(valid.len())].clone();
    // An input with few changes is more often valid, and reaches later stages.
    for _ in 0..[1, 1, 1, 2, 3, 5][random.below(6)] {
        let other = &valid[random.below(valid.len())];
        match random.below(7) {
            0 => {
                let at = random.below(bytes.len());
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << random.below(8);
                }
            }
            1 => {
                let new: Vec<_> = (0..random.below(4)).map(|_| random.below(256) as u8).collect();
                bytes.splice(random.range(bytes.len(), 8), new);
            }
            2 => {
                let (to, from) = (random.range(bytes.len(), 64), random.range(other.len(), 64));
                bytes.splice(to, other[from].to_vec());
            }
            // A number, a word or a punctuation mark is replaced by another one of this input.
            3 | 4 => {
                let mut here = words(&bytes);
                let at = random.below(here.len());
                let sort =
                    |word: &[u8]| word.first().map(|first| (first.is_ascii_digit(), first.is_ascii_alphabetic()));
                let like = here.iter().filter(|word| sort(word) == here.get(at).and_then(|here| sort(here))).copied();
                let like = like.collect_vec();
                if let (Some(word), Some(other)) = (here.get_mut(at), like.get(random.below(like.len()))) {
                    *word = other;
                }
                bytes = here.concat();
            }
            way => {
                let pieces = if way == 5 { words } else { lines };
                let (mut here, there) = (pieces(&bytes), pieces(other));
                let longest = if way == 5 { 2 } else { 8 };
                let (to, from) = (random.range(here.len(), longest), random.range(there.len(), longest));
                here.splice(to, there[from].to_vec());
                bytes = here.concat();
            }
        }
    }
    bytes
}

/// Splits bytes into runs of letters and digits, and single other bytes.
fn words(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.chunk_by(|a, b| a.is_ascii_alphanumeric() && b.is_ascii_alphanumeric()).collect()
}

fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}

/// Passes the files to workers. Returns the files that ended a worker.
fn through_workers(
    kind: &InputKind,
    paths: &[PathBuf],
    failures: &mut Vec<(PathBuf, String)>,
    valid: &mut usize,
) -> Result<Vec<PathBuf>, Failed> {
    let mut ended = Vec::new();
    let mut rest = paths;
    while !rest.is_empty() {
        let mut worker = Command::new(env::current_exe()?)
            .env(WORKER, kind.name)
            .current_dir(root())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()?;
        let mut files = worker.stdin.take().ok_or("a pipe")?;
        let list = rest.iter().map(|path| format!("{}\n", path.display())).collect::<String>();
        // The write fails if the worker ends.
        std::thread::spawn(move || files.write_all(list.as_bytes()));
        let (said, done) = mpsc::channel();
        let answers = BufReader::new(worker.stdout.take().ok_or("a pipe")?).lines();
        std::thread::spawn(move || answers.map_while(Result::ok).try_for_each(|line| said.send(line)));
        let mut next = 0;
        let hangs = loop {
            match done.recv_timeout(PATIENCE) {
                Ok(answer) => {
                    if answer == VALID {
                        *valid += 1;
                    } else if !answer.is_empty() {
                        failures.push((rest[next].clone(), answer));
                    }
                    next += 1;
                }
                Err(error) => break error == RecvTimeoutError::Timeout,
            }
        };
        worker.kill()?;
        worker.wait()?;
        if let Some(path) = rest.get(next) {
            if hangs {
                failures.push((path.clone(), format!("the input takes longer than {PATIENCE:?}")));
            } else {
                ended.push(path.clone());
            }
        }
        rest = rest.get(next + 1..).unwrap_or_default();
    }
    Ok(ended)
}

/// The answer of a worker to a valid input.
const VALID: &str = "valid";

/// Processes each file of a list and answers with a line: `valid`, empty for proper errors, or a description of
/// improper errors.
fn worker(kind: &InputKind) {
    let work = kind.work.expect("a worker's kind has work");
    for path in io::stdin().lines().map(|path| path.expect("a path")) {
        let bytes = fs::read(&path).expect("a file");
        let answer = work(&path, &bytes).map_or_else(|errors| wrong(&path, &bytes, &errors), |()| VALID.to_owned());
        println!("{answer}");
    }
}

/// The faults of an error list: no error, a site outside of the file, or a claim of a bug in ptx-atomics or LLVM.
fn wrong(path: &str, bytes: &[u8], errors: &[Diagnostic]) -> String {
    if errors.is_empty() {
        return "the input fails without an error".to_owned();
    }
    let problems = errors.iter().filter_map(|error| {
        let place = error.location.as_ref().filter(|at| at.file == path);
        let outside = place.is_some_and(|at| !is_in(bytes, at.line));
        let blames = ["ptx-atomics has a bug", "bug in LLVM"].iter().any(|words| error.message.contains(words));
        (outside || blames)
            .then(|| error.message.lines().join(" ") + if outside { ", outside of the file" } else { "" })
    });
    problems.collect::<Vec<_>>().join("; ")
}

/// Whether a file has a line.
fn is_in(bytes: &[u8], line: u32) -> bool {
    (1..=bytes.split(|byte| *byte == b'\n').count()).contains(&(line as usize))
}

/// The fault of the command's output for a file or folder, if it has one.
fn through_command(kind: &InputKind, path: &Path) -> Result<Option<String>, Failed> {
    let mut command = Command::new("timeout");
    command.current_dir(root()).arg(PATIENCE.as_secs().to_string()).arg(ptx_atomics().get_program());
    (kind.command)(&mut command, path);
    let output = command.stdin(Stdio::null()).output()?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    let said = ["error", "warning", "atomics and fences"].iter().any(|word| stderr.contains(word));
    let places = stderr.lines().filter_map(|line| line.trim().strip_prefix("--> "));
    let outside = places.filter(|place| {
        let mut parts = place.rsplitn(3, ':').collect_vec();
        let numbers = parts.iter().take_while(|part| part.parse::<u32>().is_ok()).count();
        // The name of the file may contain a colon, and the column may be absent.
        let line = numbers.checked_sub(1).and_then(|last| parts[last].parse().ok());
        let file = parts.split_off(numbers.min(parts.len())).into_iter().rev().join(":");
        line.is_some_and(|line| fs::read(&file).is_ok_and(|bytes| !is_in(&bytes, line)))
    });
    let problems = [
        (!matches!(output.status.code(), Some(0 | 1))).then(|| format!("{}", output.status)),
        (output.status.code() == Some(1) && !said && output.stdout.is_empty())
            .then(|| "the input fails without a message".to_owned()),
        ["panicked", "ptx-atomics has a bug", "bug in LLVM"]
            .iter()
            .find(|words| stderr.contains(**words))
            .map(|words| format!("the message is '{words}'")),
        outside.map(|place| format!("{place} is outside of the file")).next(),
    ];
    let problems = problems.into_iter().flatten().join("; ");
    Ok((!problems.is_empty())
        .then(|| format!("{problems}: {}", stderr.lines().find(|line| line.contains("error")).unwrap_or_default())))
}

const HANDLERS: Handlers = Handlers { error: |_| std::process::exit(70), warning: |_| {} };

fn target() -> Target {
    Target::new("sm_90".parse().expect("a GPU"), None).expect("a target")
}

fn llvm_ir(path: &str, bytes: &[u8]) -> Result<(), Errors> {
    llvm::install_handlers(&Context::create(), HANDLERS);
    ptx_atomics::ptx_from_llvm_ir(&Input::new(path, bytes), &Options::new(target())).map(drop)
}

fn mlir_module(path: &str, bytes: &[u8]) -> Result<(), Errors> {
    let (context, llvm, input) = (mlir::context(), Context::create(), Input::new(path, bytes));
    llvm::install_handlers(&llvm, HANDLERS);
    let mut module = mlir::read(&context, &input)?;
    let device = mlir::device_modules(&mut module)?;
    let device =
        mlir::each(device, |device| Ok((mlir::options(&mlir::settings_of(device.op())?, device.op())?, device)))?;
    mlir::each(&device, |(options, device)| mlir::check(device.op(), options))?;
    mlir::each(device, |(options, mut device)| {
        mlir::expand(&mut device, &options)?;
        let module = mlir::llvm_ir(&mut device, &llvm, &input)?.module;
        llvm::expand(&module)?;
        let machine = llvm::machine(&module, &options.target, OptimizationLevel::Default)?;
        llvm::prepare(&module, &machine, None)?;
        llvm::lower(&module, &input, &options)?;
        llvm::ptx(&module, &machine, &options.target)
    })
    .map(drop)
}

/// Checks the readable part of a module in both profiles.
fn kernel(path: &str, bytes: &[u8]) -> Result<(), Errors> {
    let Ok(text) = std::str::from_utf8(bytes) else { return Ok(()) };
    let (module, errors) = Module::read_partly(text);
    for kernel in ptx_hazards::read(&module) {
        for readings in [Readings::DEFAULT, Readings::STRICT] {
            ptx_hazards::check(&kernel, readings);
        }
    }
    if errors.is_empty() { Ok(()) } else { Err(errors.iter().map(|error| diagnostic(path, error)).collect()) }
}

/// Judges each function against every function of the inputs with the same name.
fn ptx(path: &str, bytes: &[u8]) -> Result<(), Errors> {
    let module: Module = match std::str::from_utf8(bytes) {
        Ok(text) => text
            .parse()
            .map_err(|errors: ModuleErrors| errors.0.iter().map(|error| diagnostic(path, error)).collect::<Vec<_>>())?,
        Err(_) => return Ok(()),
    };
    thread_local! {
        static OPERATIONS: Vec<llvm::Recognized> = operations();
    }
    OPERATIONS.with(|recognized| {
        for function in module.functions() {
            for of in recognized.iter().filter(|of| llvm::ptx_name(&of.function) == function.name) {
                // A function that is too large also gives an error.
                let _ = judge_function(&of.blocks, function);
            }
        }
    });
    Ok(())
}

fn diagnostic(path: &str, error: &ModuleError) -> Diagnostic {
    let location = Some(llvm::Location { file: path.to_owned(), line: error.line, column: 0 });
    Diagnostic { location, ..Diagnostic::new(error.reason.clone()) }
}

fn operations() -> Vec<llvm::Recognized> {
    let paths = fs::read_dir(root().join("tests/inputs")).expect("inputs").map(|entry| entry.expect("one").path());
    let of = |path: PathBuf| {
        let context = Context::create();
        let input = Input::new("valid", fs::read(path).expect("an input"));
        let module = llvm::read(&context, &input).expect("the input is valid");
        llvm::expand(&module).expect("the input is valid");
        llvm::operations(&module, &input, &Options::new(target())).expect("the input is valid")
    };
    paths.filter(|path| path.extension().is_some_and(|ending| ending == "ll")).sorted().flat_map(of).collect()
}
