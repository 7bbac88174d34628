//! The examples, and the compilers that people compile them with.

use std::{path::Path, process::Command, sync::LazyLock};

use libtest_mimic::Failed;

use crate::{exists, llvm_version, plugin, root, success, tool};

pub const KERNELS: [&str; 5] = ["histogram", "message", "ring", "scan", "ticket_lock"];
/// Those that lose an order when the compiler loses that of read-modify-writes; the others lose a scope at most.
const LOSING: [&str; 2] = ["message", "ticket_lock"];

/// A source file below `examples/`.
#[derive(Clone)]
pub struct Example {
    pub path: String,
    pub loses_order: bool,
}

impl Example {
    /// The compiler, and what is missing of what it needs.
    pub fn compiler(&self) -> (&'static str, Option<&'static str>) {
        match self.path.rsplit_once('.').expect("a suffix").1 {
            "rs" => ("rustc", rustc_missing("")),
            _ if !exists(tool("clang")) => ("clang", Some(tool("clang"))),
            "cpp" if !exists("g++") => ("clang", Some("g++, whose headers are those of C++")),
            _ => ("clang", None),
        }
    }

    pub fn name(&self) -> String {
        self.path.split_once('.').expect("a suffix").0.replace("/src/lib", "").replace('/', ".")
    }
}

/// Scoped atomics, which only the pass knows: by itself the compiler gives no program.
pub fn scoped() -> Example {
    Example { path: "scoped.rs".into(), loses_order: true }
}

/// Every other example.
pub fn examples() -> Vec<Example> {
    let every = |folder: &str, suffix: &str| {
        KERNELS.map(|kernel| Example {
            path: format!("{folder}/{kernel}.{suffix}"),
            loses_order: LOSING.contains(&kernel),
        })
    };
    let rust =
        ["ticket_lock.rs", "rust-kernel/src/lib.rs"].map(|path| Example { path: path.into(), loses_order: true });
    let clang = [("cuda", "cu"), ("freestanding-c", "c"), ("freestanding-cpp", "cpp")];
    rust.into_iter().chain(clang.into_iter().flat_map(|(folder, suffix)| every(folder, suffix))).collect()
}

/// A rustc on the LLVM under test with the sources of its `core`; any one if the name is empty.
pub fn find_rustc(name: &str) -> Option<String> {
    let found = success(script().arg("--find-rustc").env("NVPTX_RUSTC", name));
    found.ok().map(|path| path.trim().into())
}

/// Every rustc on the LLVM under test that users have, by the names of `scripts/to-llvm-ir`.
pub fn rustcs() -> &'static [&'static str] {
    static NAMES: LazyLock<Vec<&str>> = LazyLock::new(|| {
        let names = success(script().arg("--rustcs")).expect("the script knows them");
        names.leak().lines().collect()
    });
    &NAMES
}

/// What is missing of it.
pub fn rustc_missing(name: &str) -> Option<&'static str> {
    find_rustc(name).is_none().then(|| &*format!("rustc on LLVM {} with the sources of core", llvm_version()).leak())
}

/// Compiles a source file by `scripts/to-llvm-ir`, which the variables control.
pub fn to_llvm_ir(input: &Path, variables: &[(&str, &str)]) -> Result<tempfile::NamedTempFile, Failed> {
    let output = tempfile::Builder::new().suffix(".ll").tempfile()?;
    success(script().arg(input).arg(output.path()).envs(variables.iter().copied()))?;
    Ok(output)
}

/// `scripts/to-llvm-ir`.
pub fn script() -> Command {
    let mut script = Command::new(root().join("scripts/to-llvm-ir"));
    script.env("LLVM", llvm_version().to_string());
    script
}

/// What a compiler makes of an example.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Output {
    Ir,
    /// PTX by the compiler itself.
    Ptx,
    /// PTX by the compiler with the plugin.
    PtxByPlugin,
}

pub fn compile(example: &Example, sm: &str, ptx: &str, what: Output) -> Result<tempfile::NamedTempFile, Failed> {
    let source = root().join("examples").join(&example.path);
    let plain = if what == Output::Ir { "" } else { "1" };
    let flags = if what == Output::PtxByPlugin { plugin::flag(&source) } else { String::new() };
    to_llvm_ir(&source, &[("CPU", sm), ("PTX", ptx), ("PLAIN", plain), ("FLAGS", &flags)])
}
