//! Kernels as litmus tests: sources of any language that becomes PTX, with the words of a test in their comments or in flags.

use std::{
    env, fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use itertools::Itertools;
use ptx_atomics::{
    isolated::{self, Emit, Job, Language},
    llvm::{Diagnostic, Errors, Input, Location},
    memory_model::{
        kernel::{Compiled, Kernels, Test, compile},
        litmus,
        outcome::Limits,
        ptx::Conventions,
    },
    ptx::{ModuleError, ModuleErrors},
};

use super::failure::{Failure, diagnostic};
use crate::{
    cli::LitmusArgs,
    input::{cannot, read},
    render,
};

/// How a kernel becomes PTX, by the ending of its name.
#[derive(Clone, Copy, PartialEq, Eq)]
enum KernelKind {
    /// It is PTX.
    Ptx,
    /// It is lowered.
    Ir(Language),
    /// A compiler makes LLVM IR of it.
    Source,
}

#[rustfmt::skip]
const KINDS: [(&str, KernelKind); 10] = [
    ("ptx", KernelKind::Ptx),
    ("ll", KernelKind::Ir(Language::Llvm)), ("bc", KernelKind::Ir(Language::Llvm)), ("mlir", KernelKind::Ir(Language::Mlir)),
    ("mlirbc", KernelKind::Ir(Language::Mlir)),
    ("rs", KernelKind::Source), ("cu", KernelKind::Source), ("c", KernelKind::Source), ("cpp", KernelKind::Source), ("cc", KernelKind::Source),
];

/// Compiles kernels to LLVM IR.
const TO_LLVM_IR: &str = include_str!("to-llvm-ir.sh");

fn kind(path: &Path) -> Option<KernelKind> {
    let ending = path.extension()?.to_str()?;
    KINDS.iter().find(|(known, _)| *known == ending).map(|(_, kind)| *kind)
}

/// Whether a file is a kernel, and no litmus test.
pub fn is_kernel(path: &Path) -> bool {
    kind(path).is_some()
}

/// Whether a compiler makes LLVM IR of a file.
pub fn is_compiled(path: &Path) -> bool {
    kind(path) == Some(KernelKind::Source)
}

/// Tests of a kernel, and the file that has their words.
struct Words {
    tests: Vec<Test>,
    input: Input,
}

impl Words {
    fn read(input: Input) -> Result<Self, Errors> {
        let text = String::from_utf8_lossy(input.bytes()).into_owned();
        match Test::read(&text) {
            Ok(tests) => Ok(Self { tests, input }),
            Err(errors) => Err(diagnostics(errors, &input)),
        }
    }
}

/// The tests of a kernel: of its file, and of the other files that it is made of.
pub fn tests(
    args: &LitmusArgs,
    path: &Path,
    conventions: Conventions,
    limits: Limits,
) -> Result<Vec<Compiled>, Failure> {
    let input = read(path).map_err(|errors| (errors, None))?;
    let whole = |errors: Errors| (errors, Some(input.clone()));
    let mut words = vec![Words::read(input.clone()).map_err(whole)?];
    let flags = flags(args)?;
    let (ptx, name) = ptx(args, path, input.clone())?;
    if let Some(file) = &args.ptx {
        fs::write(file, &ptx).map_err(|error| (cannot("write", file, &error), None))?;
    }
    let kernels: Kernels = ptx.parse().map_err(|ModuleErrors(errors)| {
        let input = Input::new(&name, ptx.clone().into_bytes());
        let one = |ModuleError { line, reason, .. }| {
            let location = Some(Location { file: name.clone(), line, column: 1 });
            Diagnostic { location, ..Diagnostic::new(reason) }
        };
        (errors.into_iter().map(one).collect::<Vec<_>>().into(), Some(input))
    })?;
    let mut errors = Errors::new();
    for file in others(&kernels, path) {
        match read(&file).and_then(Words::read) {
            Ok(of) => words.push(of),
            Err(of) => errors.extend(of),
        }
    }
    if words.iter().all(|of| of.tests.is_empty()) {
        words[0].tests.push(Test::default());
    }
    words.iter_mut().flat_map(|of| &mut of.tests).for_each(|test| test.extend(flags.clone()));
    if errors.is_empty() && words.iter().flat_map(|of| &of.tests).all(|test| !test.has_threads()) {
        let help = "say it in a comment, as in `// litmus: thread P0 = producer(data) @ cta 0`, or by --thread";
        let message = format!("'{}' does not say which functions run", input.name());
        return Err((Diagnostic::new(message).help(help).into(), None));
    }
    let several = words.iter().map(|of| of.tests.len()).sum::<usize>() > 1;
    let mut found = Vec::new();
    for Words { tests, input } in &words {
        let stem = Path::new(input.name()).file_stem().map(|stem| stem.to_string_lossy()).unwrap_or_default();
        for test in tests {
            match compile(&kernels, test, conventions, limits.rounds) {
                Ok(compiled) => found.extend(compiled.into_iter().map(|mut compiled| {
                    let name = &mut compiled.litmus.name;
                    if name.is_empty() || name.starts_with('#') {
                        name.insert_str(0, &stem);
                    }
                    compiled
                })),
                Err(litmus::Errors(mut of)) => {
                    for error in of.iter_mut().filter(|error| error.line == 0 && several) {
                        error.message = format!("{}: {}", test.name, error.message);
                    }
                    errors.extend(diagnostics(litmus::Errors(of), input));
                }
            }
        }
    }
    if errors.is_empty() { Ok(found) } else { Err(whole(errors)) }
}

/// The other source files of a module, as the modules of a Rust crate or the headers of a program in C: those that stand in the
/// folder of its file, or below.
fn others(kernels: &Kernels, path: &Path) -> Vec<PathBuf> {
    let Ok(path) = fs::canonicalize(path) else { return Vec::new() };
    let folder = path.parent().unwrap_or(&path);
    let files = kernels.files().into_iter().filter_map(|file| fs::canonicalize(file).ok());
    files.filter(|file| file.starts_with(folder) && *file != path).unique().collect()
}

/// What the flags say, as words of a test.
fn flags(args: &LitmusArgs) -> Result<Test, Failure> {
    let threads = args.threads.iter().map(|words| format!("thread {words}"));
    let binds = args.binds.iter().map(|words| format!("bind {words}"));
    let conditions = [("forall", &args.forall), ("exists", &args.exists)]
        .into_iter()
        .flat_map(|(quantifier, all)| all.iter().map(move |formula| format!("{quantifier} {formula}")));
    let never = args.never.iter().map(|formula| format!("~exists {formula}"));
    let lines: Vec<String> =
        args.declare.iter().cloned().chain(threads).chain(binds).chain(conditions).chain(never).collect();
    let mut all = Test::default();
    let mut errors = Vec::new();
    // Threads are counted over all lines.
    match Test::of_words(&lines.join("\n")) {
        Ok(tests) => tests.into_iter().for_each(|test| all.extend(test)),
        Err(litmus::Errors(found)) => errors.extend(found.into_iter().map(|error| {
            let line = lines.get(error.line.saturating_sub(1)).map_or("", String::as_str);
            Diagnostic::new(format!("{}: in `{line}`", error.message))
        })),
    }
    if errors.is_empty() { Ok(all) } else { Err((errors.into(), None)) }
}

/// Errors in the words of a test; those of flags stand nowhere.
fn diagnostics(litmus::Errors(errors): litmus::Errors, input: &Input) -> Errors {
    let text = String::from_utf8_lossy(input.bytes()).into_owned();
    let one = |error: litmus::Error| match error.line {
        0 => Diagnostic::new(format!("{}: {}", input.name(), error.message)),
        _ => diagnostic(error, &text, input),
    };
    errors.into_iter().map(one).collect::<Vec<_>>().into()
}

/// The PTX of a kernel, and the name for what is said of it.
fn ptx(args: &LitmusArgs, path: &Path, input: Input) -> Result<(String, String), Failure> {
    let name = input.name().to_owned();
    let text = |bytes: Vec<u8>, name: &str| {
        String::from_utf8(bytes).map_err(|_| (Diagnostic::new(format!("'{name}' is no text")).into(), None))
    };
    let (input, language) = match kind(path) {
        Some(KernelKind::Ptx) | None => return Ok((text(input.bytes().to_vec(), &name)?, name)),
        Some(KernelKind::Ir(language)) => (input, language),
        Some(KernelKind::Source) => (compiled(args, path).map_err(|errors| (errors, None))?, Language::Llvm),
    };
    let mut job = Job::new(input);
    job.language = language;
    job.emit = Emit::Ptx;
    job.options = args.options();
    job.comments = true;
    let lowered = isolated::lower(&job, |warning| render::say(&format!("warning: {warning}")));
    let lowered = lowered.map_err(|errors| (errors, Some(job.input)))?;
    match &lowered[..] {
        [one] => Ok((text(one.bytes.clone(), &name)?, format!("the PTX of {name}"))),
        all => {
            let message = format!("'{name}' has {} modules, and a test is of one", all.len());
            Err((Diagnostic::new(message).into(), None))
        }
    }
}

/// What a shell gives for a program that is not there, and our script, too.
const NO_PROGRAM: i32 = 127;

/// What a compiler makes of a source.
fn compiled(args: &LitmusArgs, path: &Path) -> Result<Input, Errors> {
    let folder = tempfile::tempdir().map_err(|error| cannot("make a folder for", path, &error))?;
    let output = folder.path().join("kernel.ll");
    let mut command = Command::new("bash");
    command.args(["-c", TO_LLVM_IR, "to-llvm-ir"]).arg(path).arg(&output).args(&args.flags);
    command.env("ROOT", kept()).env("SHOWN", kept());
    if let Some(gpu) = args.target.gpu() {
        command.env("CPU", gpu.name());
    }
    if let Some(version) = args.target.version() {
        command.env("PTX", version.feature());
    }
    let fails = |why: &str, notes| {
        let message = format!("cannot compile '{}' to LLVM IR{why}", path.display());
        let help = "compile it yourself, and give the .ll, the .bc or the .ptx";
        Errors::from(Diagnostic { notes, ..Diagnostic::new(message) }.help(help))
    };
    let done = command.stdin(Stdio::null()).output().map_err(|error| match error.kind() {
        ErrorKind::NotFound => fails(": there is no bash in the PATH", Vec::new()),
        _ => cannot("compile", path, &error),
    })?;
    if !done.status.success() {
        let said = String::from_utf8_lossy(&done.stderr);
        let reason = said.strip_prefix("error: ").filter(|_| done.status.code() == Some(NO_PROGRAM));
        return Err(match reason {
            Some(reason) => fails(&format!(": {}", reason.trim_end()), Vec::new()),
            None => fails("", said.lines().map(str::to_owned).collect()),
        });
    }
    let bytes = fs::read(&output).map_err(|error| cannot("read", &output, &error))?;
    Ok(Input::new(path.display().to_string(), bytes))
}

/// Where Rust's `core` for the GPU is kept: in the repository that the command was built in, or in the cache of its user.
fn kept() -> PathBuf {
    // The folder of builds may be elsewhere.
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).parent().filter(|folder| folder.join("scope/src").is_dir());
    let cache = || {
        let home = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
        let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(home);
        cache.unwrap_or_else(env::temp_dir).join("ptx-atomics")
    };
    repository.map_or_else(cache, Path::to_owned)
}
