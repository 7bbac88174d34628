//! The compilation of programs of any kind to PTX, or to LLVM IR.

use std::{
    env,
    ffi::OsStr,
    fs,
    io::{self, ErrorKind},
    path::{Path, PathBuf},
    process::{Command, Stdio},
    str::FromStr,
};

use ptx_atomics::{
    isolated::{self, Emit, Job, Language},
    pass::{Diagnostic, Errors, Input, Location, marker},
    ptx::{Module, ModuleError, ModuleErrors, legality},
};
use strum::Display;

use super::{Failure, Kind, Program, cannot};
use crate::{
    cli::{CheckArgs, SourceArgs, TargetArgs},
    progress, render,
};

/// Compiles kernels to LLVM IR, or to PTX.
const SCRIPT: &str = include_str!("to-llvm-ir.sh");

/// PTX and its name.
pub struct Ptx {
    pub text: String,
    pub name: String,
}

impl Ptx {
    /// Parses the PTX.
    pub fn read<T: FromStr<Err = ModuleErrors>>(&self) -> Result<T, Failure> {
        let (_, errors) = legality::read(&self.text);
        let read = if errors.is_empty() { self.text.parse() } else { Err(ModuleErrors(errors)) };
        read.map_err(|ModuleErrors(errors)| {
            let one = |ModuleError { line, reason, .. }| {
                let location = Some(Location { file: self.name.clone(), line, column: 1 });
                Diagnostic { location, ..Diagnostic::new(reason) }
            };
            (errors.into_iter().map(one).collect::<Vec<_>>().into(), Some(self.input()))
        })
    }

    /// The file for error messages.
    pub fn input(&self) -> Input {
        Input::new(&self.name, self.text.clone().into_bytes())
    }
}

/// The settings of a compilation.
pub struct Compile<'a> {
    /// The name of one module of several.
    pub module: Option<String>,
    /// Whether IR is neither optimized nor lowered, except by LLVM's own PTX backend, and a source yields the PTX of
    /// its compiler. A source that requires the pass is lowered: without the pass it is not a complete program.
    pub is_unoptimized: bool,
    /// The options of the lowering.
    pub options: String,
    pub target: &'a TargetArgs,
    pub source: &'a SourceArgs,
}

/// The output of a compiler for a source.
#[derive(Clone, Copy, PartialEq, Eq, Display)]
pub enum Made {
    #[strum(serialize = "LLVM IR")]
    LlvmIr,
    /// The PTX of the compiler, without our lowering.
    #[strum(serialize = "PTX")]
    Ptx,
}

/// The exit status of a shell, and of the script, if a program is missing.
const NO_PROGRAM: i32 = 127;

impl<'a> Compile<'a> {
    pub fn new(options: String, target: &'a TargetArgs, source: &'a SourceArgs) -> Self {
        Self { module: None, is_unoptimized: false, options, target, source }
    }

    /// The settings of `check`.
    pub fn of_check(args: &'a CheckArgs) -> Self {
        Self { is_unoptimized: true, ..Self::new(args.options(), &args.target, &args.source) }
    }

    /// The PTX of a program, with our lowering of its atomics, unless the program is PTX already.
    pub fn ptx(&self, program: &Program) -> Result<Ptx, Failure> {
        let is_ptx = program.kind == Kind::Source && (self.is_unoptimized || !self.has_llvm_ir(&program.path));
        let made = if is_ptx { Made::Ptx } else { Made::LlvmIr };
        let input = match program.kind {
            Kind::Source if made == Made::Ptx => {
                let ptx = self.made(&program.path, made).map_err(alone)?;
                if !(self.has_llvm_ir(&program.path) && requires_pass(&ptx)) {
                    let name = format!("the PTX of {}", program.input.name());
                    return text(Input::new(name, ptx.bytes()));
                }
                self.made(&program.path, Made::LlvmIr).map_err(alone)?
            }
            Kind::Source => self.made(&program.path, made).map_err(alone)?,
            _ => program.input.clone(),
        };
        let language = match program.kind {
            Kind::Ir(language) => language,
            Kind::Source => Language::Llvm,
            _ => return text(input),
        };
        let name = input.name().to_owned();
        let mut job = Job::new(input);
        job.language = language;
        job.emit = Emit::Ptx;
        job.options.clone_from(&self.options);
        job.comments = true;
        job.module.clone_from(&self.module);
        let lowered = match program.kind {
            Kind::Ir(_) if self.is_unoptimized => {
                isolated::unoptimized(&job).map(|all| all.into_iter().map(|one| one.ptx.into_bytes()).collect())
            }
            _ => isolated::lower(&job, |warning| render::say(&format!("warning: {warning}")))
                .map(|all| all.into_iter().map(|one| one.bytes).collect()),
        };
        let lowered: Vec<Vec<u8>> = lowered.map_err(|errors| (errors, Some(job.input)))?;
        match &lowered[..] {
            [one] => {
                let ptx = text(Input::new(&name, one.clone()))?;
                Ok(Ptx { name: format!("the PTX of {name}"), ..ptx })
            }
            all => {
                let message = format!("expected one module in '{name}', found {}", all.len());
                Err((Diagnostic::new(message).into(), None))
            }
        }
    }

    /// Whether the compiler of a source generates LLVM IR, which nvcc does not.
    pub fn has_llvm_ir(&self, path: &Path) -> bool {
        match &self.source.cc {
            Some(cc) => !Path::new(cc).file_name().and_then(OsStr::to_str).is_some_and(|name| name.starts_with("nvcc")),
            None => path.extension() != Some(OsStr::new("cu")) || !has_nvcc(),
        }
    }

    /// The output of a compiler for a source, with the name of the source.
    pub fn made(&self, path: &Path, made: Made) -> Result<Input, Errors> {
        let folder = tempfile::tempdir().map_err(|error| cannot("make a folder for", path, &error))?;
        let output = folder.path().join("kernel");
        let mut command = script();
        command.arg(path).arg(&output).args(&self.source.flags);
        command.env("PLAIN", if made == Made::Ptx { "1" } else { "" });
        command.env("CC", self.source.cc.as_deref().unwrap_or_default());
        if let Some(gpu) = self.target.gpu() {
            command.env("CPU", gpu.name());
        }
        if let Some(version) = self.target.version() {
            command.env("PTX", version.feature());
        }
        let fails = |why: &str, notes| {
            let message = format!("cannot compile '{}' to {made}{why}", path.display());
            let help = "compile it yourself, and give the .ll, the .bc or the .ptx";
            Errors::from(Diagnostic { notes, ..Diagnostic::new(message) }.help(help))
        };
        // The script prints the names of its stages to standard output, which are shown while it runs.
        command.env("STAGES", "1").stdout(io::stderr()).stdin(Stdio::null());
        let bar = progress::spinner(&format!("compiling '{}' to {made}", path.display()));
        let done = command.output();
        bar.finish_and_clear();
        let done = done.map_err(|error| match error.kind() {
            ErrorKind::NotFound => fails(": the PATH has no bash", Vec::new()),
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
}

/// Whether PTX calls functions that the pass alone defines.
fn requires_pass(ptx: &Input) -> bool {
    let (module, _) = Module::read_partly(ptx.text().unwrap_or_default());
    let declared = module.functions().filter(|function| function.body.is_none());
    declared.into_iter().any(|function| function.name.starts_with(marker::PREFIX))
}

/// The script as a command, to which the caller adds arguments.
fn script() -> Command {
    let mut command = Command::new("bash");
    command.args(["-c", SCRIPT, "to-llvm-ir"]).env("ROOT", core_folder()).env("SHOWN", core_folder());
    command
}

/// Whether a user has chosen an nvcc for CUDA: by `CUDA_HOME`, `CUDA_PATH` or the `PATH`.
fn has_nvcc() -> bool {
    let found = script().arg("--find-nvcc").stdin(Stdio::null()).output();
    found.is_ok_and(|found| found.status.success())
}

fn alone(errors: Errors) -> Failure {
    (errors, None)
}

fn text(input: Input) -> Result<Ptx, Failure> {
    let name = input.name().to_owned();
    match String::from_utf8(input.bytes().to_vec()) {
        Ok(text) => Ok(Ptx { text, name }),
        Err(_) => Err((Diagnostic::new(format!("'{name}' is not text")).into(), None)),
    }
}

/// The folder of Rust's `core` for the GPU: in the repository in which the command was built, or in the cache of the
/// user.
fn core_folder() -> PathBuf {
    // The folder of builds may be outside of the repository.
    let repository = Path::new(env!("CARGO_MANIFEST_DIR"))
        .ancestors()
        .nth(2)
        .filter(|folder| folder.join("products/scope/src").is_dir());
    let cache = || {
        let home = || env::var_os("HOME").map(|home| PathBuf::from(home).join(".cache"));
        let cache = env::var_os("XDG_CACHE_HOME").map(PathBuf::from).or_else(home);
        cache.unwrap_or_else(env::temp_dir).join("ptx-atomics")
    };
    repository.map_or_else(cache, Path::to_owned)
}
