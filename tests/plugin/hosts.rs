//! The hosts of the plugin, and the way in which each compiles an example with it.

use std::{collections::HashMap, fs, path::Path, process::Command};

use itertools::Itertools;
use libtest_mimic::Failed;

use testing::{
    examples::{Example, rustc_missing, rustcs, script},
    exists, llvm_version,
    plugin::plugin,
    tool,
};

pub const GPU: &str = "sm_90";
pub const PTX: &str = "ptx86";

#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Host {
    Opt,
    Llc,
    Clang,
    /// The rustc with this command.
    Rustc(&'static str),
}

/// Every host. With LLVM 22, Debian's rustc uses the system's LLVM, and rustup's rustc has its own.
pub fn hosts() -> Vec<Host> {
    [Host::Opt, Host::Llc, Host::Clang].into_iter().chain(rustcs().iter().map(|name| Host::Rustc(name))).collect()
}

/// The result of a host on an example.
pub struct Compiled {
    /// The module before the pass.
    pub before: String,
    pub ptx: String,
}

impl Host {
    pub fn name(self) -> &'static str {
        match self {
            Self::Opt => "opt",
            Self::Llc => "llc",
            Self::Clang => "clang",
            Self::Rustc("rustc") => "rustup's rustc",
            Self::Rustc("/usr/bin/rustc") => "Debian's rustc",
            Self::Rustc(name) => name,
        }
    }

    pub fn missing(self) -> Option<&'static str> {
        match self {
            Self::Opt => (!exists(tool("opt"))).then_some(tool("opt")),
            Self::Llc => (!exists(tool("llc"))).then_some(tool("llc")),
            Self::Clang => (!exists(tool("clang"))).then_some(tool("clang")),
            Self::Rustc(name) => rustc_missing(name),
        }
    }

    /// Whether the host, or the compiler that makes its LLVM IR, compiles the language.
    pub fn takes(self, example: &Example) -> bool {
        let rust = example.path.ends_with(".rs");
        match self {
            Self::Opt | Self::Llc => true,
            Self::Clang => !rust,
            Self::Rustc(_) => rust,
        }
    }

    /// Whether the host compiles for GPUs before sm_70. Rust 1.99 does not.
    pub fn knows_old_gpus(self) -> bool {
        !matches!(self, Self::Rustc(_)) || llvm_version() < 23
    }

    /// The flags with which llc generates code like the host.
    pub fn code_generation(self) -> &'static [&'static str] {
        if let Self::Rustc(_) = self { &["-trap-unreachable", "-no-trap-after-noreturn"] } else { &[] }
    }

    /// Compiles a source with the plugin, at a level of optimization.
    pub fn compile(self, source: &Path, level: &str) -> Result<Compiled, Failed> {
        self.compile_for(source, level, GPU, PTX)
    }

    pub fn compile_for(self, source: &Path, level: &str, gpu: &str, version: &str) -> Result<Compiled, Failed> {
        let by_script = |rustc: &str, flags: &str, ptx| {
            let variables = [("CPU", gpu), ("PTX", version), ("OPT", level), ("NVPTX_RUSTC", rustc), ("FLAGS", flags)];
            by_script(source, &variables, ptx)
        };
        let plugin = plugin().display();
        let rust = source.extension().is_some_and(|suffix| suffix == "rs");
        match self {
            Self::Clang => {
                let flags =
                    format!("-fpass-plugin={plugin} -mllvm -print-before=ptx-atomics -mllvm -print-module-scope");
                by_script("", &flags, true)
            }
            Self::Rustc(name) => {
                let flags = format!("-Zllvm-plugins={plugin} -Cllvm-args=-print-before=ptx-atomics");
                by_script(name, &flags, true)
            }
            Self::Opt => {
                let unoptimized = if rust { "-Cno-prepopulate-passes" } else { "-Xclang -disable-llvm-passes" };
                let ir = by_script("", unoptimized, false)?.ptx;
                let pipeline = format!("-passes=default<O{level}>");
                let arguments = [&format!("-load-pass-plugin={plugin}"), &pipeline, "-S", "-print-before=ptx-atomics"];
                let (lowered, said) = filter(Command::new(tool("opt")).args(arguments), &ir)?;
                Ok(Compiled { before: dump(&said)?, ptx: llc(&lowered, level, &[])? })
            }
            Self::Llc => {
                let before = by_script("", "", false)?.ptx;
                let ptx = llc(&before, level, &[&format!("-load-pass-plugin={plugin}")])?;
                Ok(Compiled { before, ptx })
            }
        }
    }
}

/// Compiles with `scripts/to-llvm-ir`, to PTX or to LLVM IR.
fn by_script(source: &Path, variables: &[(&str, &str)], ptx: bool) -> Result<Compiled, Failed> {
    let output = tempfile::NamedTempFile::new()?;
    let mut script = script();
    script.arg(source).arg(output.path());
    script.envs(variables.iter().copied()).env("PLAIN", if ptx { "1" } else { "" });
    let said = script.output()?;
    let errors = String::from_utf8(said.stderr)?;
    if !said.status.success() {
        return Err(format!("{script:?}: {errors}").into());
    }
    let before = if ptx { dump(&errors)? } else { String::new() };
    Ok(Compiled { before, ptx: fs::read_to_string(output.path())? })
}

/// The module that `-print-before` printed.
fn dump(said: &str) -> Result<String, Failed> {
    let mut dumps = said.split("; *** IR Dump Before ").skip(1);
    let first = dumps.next().ok_or_else(|| format!("the pass did not run:\n{said}"))?;
    // clang also runs the plugin when it generates code. The pass finds no pending atomics there, and must not run
    // again.
    if dumps.next().is_some() {
        return Err("the pass ran twice".into());
    }
    Ok(first.split_once('\n').expect("a header").1.to_owned())
}

/// Runs a command on a text. Returns its output and its messages.
pub fn filter(command: &mut Command, input: &str) -> Result<(String, String), Failed> {
    let mut file = tempfile::Builder::new().suffix(".ll").tempfile()?;
    std::io::Write::write_all(&mut file, input.as_bytes())?;
    let output = command.arg(file.path()).args(["-o", "-"]).output()?;
    let said = String::from_utf8(output.stderr)?;
    if !output.status.success() {
        return Err(format!("{command:?}: {said}").into());
    }
    Ok((String::from_utf8(output.stdout)?, said))
}

/// LLVM's code generator, at the hosts' optimization level.
pub fn llc(ir: &str, level: &str, flags: &[&str]) -> Result<String, Failed> {
    let mut llc = Command::new(tool("llc"));
    llc.args([&format!("-O{level}"), &format!("-mcpu={GPU}"), &format!("-mattr=+{PTX}")]).args(flags);
    Ok(filter(&mut llc, ir)?.0)
}

/// The code of PTX without comments, without debug information and without constants that are not visible outside.
/// Registers and such constants are named in the order of their occurrence, because names and numbers change if a
/// module passes through text. Without optimization, the order of equal instructions also changes, so that all
/// registers have one name.
pub fn instructions(ptx: &str, level: &str) -> String {
    // The spelling of the parameter space depends on the patch version of LLVM 23.
    let ptx = ptx.replace("param::entry.", "param.").replace("param::func.", "param.");
    let code = ptx.lines().map(|line| line.split("//").next().unwrap_or_default().trim());
    let other = [".loc", ".file", ".section", "$L__tmp", "$L__func_", ".b8", "}", ".global"];
    let code = code.filter(|line| !line.is_empty() && !other.iter().any(|start| line.starts_with(start))).join("\n");
    let is_name = |c: char| c.is_ascii_alphanumeric() || "_$%".contains(c);
    let mut names = HashMap::new();
    let words = code.split_inclusive(|c| !is_name(c)).map(|word| {
        let name = word.trim_end_matches(|c| !is_name(c));
        let register = name.starts_with('%') && name.ends_with(|c: char| c.is_ascii_digit());
        if !register && !["__unnamed_", "anon_", "alloc_"].iter().any(|start| name.starts_with(start)) {
            return word.to_owned();
        }
        let next = names.len();
        let number = if level == "0" { 0 } else { *names.entry(name).or_insert(next) };
        format!("#{number}{}", &word[name.len()..])
    });
    words.collect()
}
