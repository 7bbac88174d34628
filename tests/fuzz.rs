//! Damaged inputs of every kind: each ends with a result or with an error that blames what is at fault.
//!
//! The inputs are valid ones of this repository, changed by bytes, by words and by lines, from a fixed seed. Workers, which are
//! this program again, take them one after the other through the library; what ends a worker, and a sample of the rest, goes
//! through the command. `scripts/fuzz N` runs more of them. A failing input is kept, and its path printed.

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

/// What is done with the bytes of a file, in the library.
type Work = fn(&str, &[u8]) -> Result<(), Errors>;

/// A kind of input.
#[derive(Clone, Copy)]
struct InputKind {
    name: &'static str,
    /// Where valid ones are: folders and endings of names.
    sources: &'static [(&'static str, &'static str)],
    /// What a worker does with an input; `None` for what only the command can do.
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

/// An input is a hang if it takes longer; the rest takes milliseconds.
const PATIENCE: Duration = Duration::from_secs(60);
/// One in so many goes through the command whatever the worker says.
const SAMPLE: usize = 25;
/// Files that one process of `litmus` takes.
const BATCH: usize = 50;
/// Says to this program which kind a worker is for.
const WORKER: &str = "PTX_ATOMICS_FUZZ_WORKER";

/// Reads the files that it is given, if this program was started for that.
pub fn is_reader() -> bool {
    let kind = env::var(WORKER).ok();
    if let Some(kind) = &kind {
        worker(KINDS.iter().find(|known| known.name == kind).expect("a kind"));
    }
    kind.is_some()
}

pub fn trials() -> Vec<Trial> {
    KINDS.map(|kind| Trial::test(format!("damaged .{}", kind.name), move || fuzz(&kind))).into()
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

/// What may be changed, by number.
fn variable(name: &str, default: u64) -> u64 {
    env::var(name).ok().map_or(default, |value| value.parse().expect("a number"))
}

fn fuzz(kind: &InputKind) -> Result<(), Failed> {
    let (count, seed) = (variable("FUZZ_INPUTS", 1000 / testing::stride(8) as u64) as usize, variable("FUZZ_SEED", 11));
    let valid = valid(kind)?;
    assert!(!valid.is_empty() && count > 0, "there are inputs");
    let folder = tempfile::tempdir()?;
    let paths: Vec<_> = (0..count).map(|index| folder.path().join(format!("{index}.{}", kind.name))).collect();
    for (index, path) in paths.iter().enumerate() {
        // A kind and a number give the same input, however many there are.
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
    // Where all is damaged beyond reading, nothing behind the readers is tested.
    assert!(still_valid > 0 || count < 1000, "some are valid still");
    let deaths = ended.len();
    let of_command: Vec<_> = match kind.work {
        Some(_) => {
            let sample = paths.iter().step_by(SAMPLE).filter(|path| !ended.contains(path));
            sample.chain(&ended).cloned().collect()
        }
        // A folder at a time; what fails, file by file.
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

/// Valid inputs, whose pieces the damaged ones are made of.
fn valid(kind: &InputKind) -> Result<Vec<Vec<u8>>, Failed> {
    let mut found = Vec::new();
    for (folder, ending) in kind.sources {
        let paths = fs::read_dir(root().join(folder))?.map_ok(|entry| entry.path()).collect::<Result<Vec<_>, _>>()?;
        for path in paths.into_iter().filter(|path| path.to_string_lossy().ends_with(ending)).sorted() {
            let bytes = fs::read(&path)?;
            found.push(match kind.name {
                "bc" => {
                    let context = Context::create();
                    llvm::bitcode(&llvm::read(&context, &Input::new("valid", bytes)).map_err(|_| "it is valid")?)
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

/// Random numbers, the same in every run.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Self {
        // Every bit of the seed reaches every bit of the state.
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

/// A valid input after some changes, each of bytes, of words or of lines: pieces of it are replaced by pieces of any.
fn damaged(valid: &[Vec<u8>], random: &mut Random) -> Vec<u8> {
    let mut bytes = valid[random.below(valid.len())].clone();
    // Few changes leave more that is valid, and comes further.
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
            // A number, a word or a sign becomes another of this input.
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

/// Runs of letters and digits, and what is between them byte by byte.
fn words(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.chunk_by(|a, b| a.is_ascii_alphanumeric() && b.is_ascii_alphanumeric()).collect()
}

fn lines(bytes: &[u8]) -> Vec<&[u8]> {
    bytes.split_inclusive(|byte| *byte == b'\n').collect()
}

/// Gives the files to workers; those at which one ended.
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
        // A worker that ends reads no more.
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
                failures.push((path.clone(), format!("it takes longer than {PATIENCE:?}")));
            } else {
                ended.push(path.clone());
            }
        }
        rest = rest.get(next + 1..).unwrap_or_default();
    }
    Ok(ended)
}

/// The answer of a worker to an input that is valid still.
const VALID: &str = "valid";

/// Takes each file of a list, and answers with a line: empty if there are errors, or what is wrong with these.
fn worker(kind: &InputKind) {
    let work = kind.work.expect("workers are for what has work");
    for path in io::stdin().lines().map(|path| path.expect("a path")) {
        let bytes = fs::read(&path).expect("a file");
        let answer = work(&path, &bytes).map_or_else(|errors| wrong(&path, &bytes, &errors), |()| VALID.to_owned());
        println!("{answer}");
    }
}

/// What is wrong with errors: none at all, a place outside of the file, or one that says that we have a bug.
fn wrong(path: &str, bytes: &[u8], errors: &[Diagnostic]) -> String {
    if errors.is_empty() {
        return "it fails without an error".to_owned();
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

/// Whether a file has a line, or ends in front of it.
fn is_in(bytes: &[u8], line: u32) -> bool {
    (1..=bytes.split(|byte| *byte == b'\n').count()).contains(&(line as usize))
}

/// What is wrong with what the command says to a file, or a folder of them.
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
        // The file may have a colon in its name, and need not have a column.
        let line = numbers.checked_sub(1).and_then(|last| parts[last].parse().ok());
        let file = parts.split_off(numbers.min(parts.len())).into_iter().rev().join(":");
        line.is_some_and(|line| fs::read(&file).is_ok_and(|bytes| !is_in(&bytes, line)))
    });
    let problems = [
        (!matches!(output.status.code(), Some(0 | 1))).then(|| format!("{}", output.status)),
        (output.status.code() == Some(1) && !said && output.stdout.is_empty())
            .then(|| "it fails without a word".to_owned()),
        ["panicked", "ptx-atomics has a bug", "bug in LLVM"]
            .iter()
            .find(|words| stderr.contains(**words))
            .map(|words| format!("it says '{words}'")),
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

/// Checked in both profiles, with what can be read of it.
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

/// Judged as the PTX of every function of its name in the inputs.
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
                // A function that is too large is an error, too.
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
        let module = llvm::read(&context, &input).expect("it is valid");
        llvm::expand(&module).expect("it is valid");
        llvm::operations(&module, &input, &Options::new(target())).expect("it is valid")
    };
    paths.filter(|path| path.extension().is_some_and(|ending| ending == "ll")).sorted().flat_map(of).collect()
}
