//! How a kernel of any language becomes PTX.

use std::{
    env, fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    str::FromStr,
};

use ptx_atomics::{
    isolated::{self, Emit, Job, Language},
    llvm::{Diagnostic, Errors, Input, Location},
    ptx::{ModuleError, ModuleErrors},
};

use crate::{
    cli::TargetArgs,
    input::{Failure, cannot},
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

/// PTX, and what it is called.
pub struct Ptx {
    pub text: String,
    pub name: String,
}

impl Ptx {
    /// What it says.
    pub fn read<T: FromStr<Err = ModuleErrors>>(&self) -> Result<T, Failure> {
        self.text.parse().map_err(|ModuleErrors(errors)| {
            let one = |ModuleError { line, reason, .. }| {
                let location = Some(Location { file: self.name.clone(), line, column: 1 });
                Diagnostic { location, ..Diagnostic::new(reason) }
            };
            (errors.into_iter().map(one).collect::<Vec<_>>().into(), Some(self.input()))
        })
    }

    /// The file, as errors show it.
    pub fn input(&self) -> Input {
        Input::new(&self.name, self.text.clone().into_bytes())
    }
}

/// How a kernel is compiled.
pub struct Compile<'a> {
    /// What it is written in; else the ending of its name says so.
    pub language: Option<Language>,
    /// One module of several.
    pub module: Option<String>,
    /// Whether it is neither optimized nor lowered, but for LLVM's own PTX.
    pub is_unoptimized: bool,
    /// What the lowering is asked for.
    pub options: String,
    pub target: &'a TargetArgs,
    /// More flags for the compiler of a source.
    pub flags: &'a [String],
}

/// The PTX of a kernel.
pub fn ptx(how: &Compile<'_>, path: &Path, input: Input) -> Result<Ptx, Failure> {
    let name = input.name().to_owned();
    let text = |bytes: Vec<u8>, name: &str| {
        String::from_utf8(bytes).map_err(|_| (Diagnostic::new(format!("'{name}' is no text")).into(), None))
    };
    let (input, language) = match how.language.map(KernelKind::Ir).or(kind(path)) {
        Some(KernelKind::Ptx) | None => return Ok(Ptx { text: text(input.bytes().to_vec(), &name)?, name }),
        Some(KernelKind::Ir(language)) => (input, language),
        Some(KernelKind::Source) => (compiled(how, path).map_err(|errors| (errors, None))?, Language::Llvm),
    };
    let mut job = Job::new(input);
    job.language = language;
    job.emit = Emit::Ptx;
    job.options.clone_from(&how.options);
    job.comments = true;
    job.module.clone_from(&how.module);
    let lowered = match how.is_unoptimized {
        true => isolated::unoptimized(&job).map(|all| all.into_iter().map(|one| one.ptx.into_bytes()).collect()),
        false => isolated::lower(&job, |warning| render::say(&format!("warning: {warning}")))
            .map(|all| all.into_iter().map(|one| one.bytes).collect()),
    };
    let lowered: Vec<Vec<u8>> = lowered.map_err(|errors| (errors, Some(job.input)))?;
    match &lowered[..] {
        [one] => Ok(Ptx { text: text(one.clone(), &name)?, name: format!("the PTX of {name}") }),
        all => {
            let message = format!("'{name}' has {} modules, and one is expected", all.len());
            Err((Diagnostic::new(message).into(), None))
        }
    }
}

/// What a shell gives for a program that is not there, and our script, too.
const NO_PROGRAM: i32 = 127;

/// What a compiler makes of a source.
fn compiled(how: &Compile<'_>, path: &Path) -> Result<Input, Errors> {
    let folder = tempfile::tempdir().map_err(|error| cannot("make a folder for", path, &error))?;
    let output = folder.path().join("kernel.ll");
    let mut command = Command::new("bash");
    command.args(["-c", TO_LLVM_IR, "to-llvm-ir"]).arg(path).arg(&output).args(how.flags);
    command.env("ROOT", kept()).env("SHOWN", kept());
    if let Some(gpu) = how.target.gpu() {
        command.env("CPU", gpu.name());
    }
    if let Some(version) = how.target.version() {
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
