//! The examples, and their compilers.

use std::{path::Path, process::Command, sync::LazyLock};

use libtest_mimic::Failed;

use crate::{exists, llvm_version, plugin, root, success, tool};

pub const KERNELS: [&str; 5] = ["histogram", "message", "ring", "scan", "ticket_lock"];
/// The kernels that lose an ordering on sm_70 and later, by the compiler's LLVM version. LLVM 22 loses the orderings of
/// read-modify-writes.
const LOSING: [(u32, &[&str]); 2] = [(22, &["message", "ticket_lock"]), (23, &[])];

/// A source file below `examples/`.
#[derive(Clone)]
pub struct Example {
    pub path: String,
    /// The entries of `KERNELS` in the file.
    kernels: Vec<&'static str>,
}

impl Example {
    /// The compiler, and the first missing requirement.
    pub fn compiler(&self) -> (&'static str, Option<&'static str>) {
        match self.path.rsplit_once('.').expect("a suffix").1 {
            "rs" => ("rustc", rustc_missing("")),
            _ if !exists(tool("clang")) => ("clang", Some(tool("clang"))),
            "cpp" if !exists("g++") => ("clang", Some("g++ for the headers of C++")),
            _ => ("clang", None),
        }
    }

    /// Whether the compiler alone loses an ordering.
    pub fn loses_order(&self) -> bool {
        let known = LOSING.iter().find(|(version, _)| *version == llvm_version());
        let (_, losing) = known.unwrap_or_else(|| panic!("no known losses of LLVM {}", llvm_version()));
        self.kernels.iter().any(|kernel| losing.contains(kernel))
    }

    pub fn name(&self) -> String {
        self.path.split_once('.').expect("a suffix").0.replace("/src/lib", "").replace('/', ".")
    }
}

/// The example with scoped atomics. Only the pass lowers them; the compiler alone gives no program.
pub fn scoped() -> Example {
    Example { path: "scoped.rs".into(), kernels: Vec::new() }
}

/// All other examples.
pub fn examples() -> Vec<Example> {
    let rust: [(&str, &[&'static str]); 2] =
        [("ticket_lock.rs", &["ticket_lock"]), ("rust-kernel/src/lib.rs", &KERNELS)];
    let rust = rust.map(|(path, kernels)| Example { path: path.into(), kernels: kernels.to_vec() });
    let clang = [("cuda", "cu"), ("freestanding-c", "c"), ("freestanding-cpp", "cpp")];
    let every = clang.into_iter().flat_map(|(folder, suffix)| {
        KERNELS.map(|kernel| Example { path: format!("{folder}/{kernel}.{suffix}"), kernels: vec![kernel] })
    });
    rust.into_iter().chain(every).collect()
}

/// The path of a rustc on the LLVM under test with the sources of its `core`. If the name is empty, any such rustc.
pub fn find_rustc(name: &str) -> Option<String> {
    let found = success(script().arg("--find-rustc").env("NVPTX_RUSTC", name));
    found.ok().map(|path| path.trim().into())
}

/// The names of `scripts/to-llvm-ir` for every rustc on the LLVM under test that users have.
pub fn rustcs() -> &'static [&'static str] {
    static NAMES: LazyLock<Vec<&str>> = LazyLock::new(|| {
        let names = success(script().arg("--rustcs")).expect("the script lists the rustcs");
        names.leak().lines().collect()
    });
    &NAMES
}

/// The missing requirement of a rustc.
pub fn rustc_missing(name: &str) -> Option<&'static str> {
    find_rustc(name).is_none().then(|| &*format!("rustc on LLVM {} with the sources of core", llvm_version()).leak())
}

/// Compiles a source file with `scripts/to-llvm-ir`, which the environment variables configure.
pub fn to_llvm_ir(input: &Path, variables: &[(&str, &str)]) -> Result<tempfile::NamedTempFile, Failed> {
    let output = tempfile::Builder::new().suffix(".ll").tempfile()?;
    let mut script = script();
    // The user's `CC` may be nvcc, which cannot load plugins of clang.
    if input.extension().is_some_and(|ending| ending == "cu") {
        script.env("CC", tool("clang"));
    }
    success(script.arg(input).arg(output.path()).envs(variables.iter().copied()))?;
    Ok(output)
}

/// The command `scripts/to-llvm-ir`.
pub fn script() -> Command {
    let mut script = Command::new(root().join("scripts/to-llvm-ir"));
    script.env("LLVM", llvm_version().to_string());
    script
}

/// The kind of output that a compiler makes of an example.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Output {
    Ir,
    /// PTX of the compiler alone.
    Ptx,
    /// PTX of the compiler with the plugin.
    PtxByPlugin,
}

pub fn compile(example: &Example, sm: &str, ptx: &str, what: Output) -> Result<tempfile::NamedTempFile, Failed> {
    let source = root().join("examples").join(&example.path);
    let plain = if what == Output::Ir { "" } else { "1" };
    let flags = if what == Output::PtxByPlugin { plugin::flag(&source) } else { String::new() };
    to_llvm_ir(&source, &[("CPU", sm), ("PTX", ptx), ("PLAIN", plain), ("FLAGS", &flags)])
}
