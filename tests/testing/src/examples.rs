//! The examples, and the compilers that people compile them with.

use std::{path::Path, process::Command, sync::LazyLock};

use libtest_mimic::Failed;

use crate::{exists, llvm_version, plugin, root, success, tool};

pub const KERNELS: [&str; 5] = ["histogram", "message", "ring", "scan", "ticket_lock"];
/// The kernels that lose an order where a compiler has this LLVM, from sm_70 on. LLVM 22 loses that of read-modify-writes.
const LOSING: [(u32, &[&str]); 2] = [(22, &["message", "ticket_lock"]), (23, &[])];

/// A source file below `examples/`.
#[derive(Clone)]
pub struct Example {
    pub path: String,
    /// Those of `KERNELS` that it has.
    kernels: Vec<&'static str>,
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

    /// Whether the compiler by itself loses an order.
    pub fn loses_order(&self) -> bool {
        let known = LOSING.iter().find(|(version, _)| *version == llvm_version());
        let (_, losing) = known.unwrap_or_else(|| panic!("nothing is said of LLVM {}", llvm_version()));
        self.kernels.iter().any(|kernel| losing.contains(kernel))
    }

    pub fn name(&self) -> String {
        self.path.split_once('.').expect("a suffix").0.replace("/src/lib", "").replace('/', ".")
    }
}

/// Scoped atomics, which only the pass knows: by itself the compiler gives no program.
pub fn scoped() -> Example {
    Example { path: "scoped.rs".into(), kernels: Vec::new() }
}

/// Every other example.
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
    let mut script = script();
    // The nvcc that a user has chosen knows none of the plugins of clang.
    if input.extension().is_some_and(|ending| ending == "cu") {
        script.env("CC", tool("clang"));
    }
    success(script.arg(input).arg(output.path()).envs(variables.iter().copied()))?;
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
