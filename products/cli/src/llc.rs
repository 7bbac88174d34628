//! LLVM's llc with the plugin, for toolchains that take the name of an llc. Each flag is llc's own.
//!
//! It is `ptx-atomics llc`, and a program of its own, `ptx-atomics-llc`, which loads no LLVM before it becomes llc: this module asks for
//! nothing of this crate.

use std::{
    env,
    ffi::OsString,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

/// The LLVM of this build.
const LLVM: u32 = if cfg!(feature = "only-llvm23") { 23 } else { 22 };
/// LLVM's program.
const LLC: &str = "llc";
/// The file of the plugin.
const PLUGIN: &str = "libptx_atomics.so";

/// What is missing, and how to get it.
struct Missing {
    what: String,
    help: String,
}

/// Becomes llc. Returns only where that cannot be.
pub fn run(arguments: &[OsString]) -> ExitCode {
    let (llc, plugin) = match (llc(), plugin()) {
        (Ok(llc), Ok(plugin)) => (llc, plugin),
        (llc, plugin) => {
            for Missing { what, help } in [llc.err(), plugin.err()].into_iter().flatten() {
                eprintln!("error: {what}\n  = help: {help}");
            }
            return ExitCode::FAILURE;
        }
    };
    let mut load = OsString::from("-load-pass-plugin=");
    load.push(plugin);
    let error = Command::new(&llc).arg(load).args(arguments).exec();
    eprintln!("error: cannot run '{}': {error}", llc.display());
    ExitCode::FAILURE
}

/// An llc of the LLVM that the plugin is built for: the one that `PTX_ATOMICS_LLC` names, or one of the `PATH`. That of a version's own name
/// is not asked, which takes as long as a small module.
fn llc() -> Result<PathBuf, Missing> {
    if let Some(named) = env::var_os("PTX_ATOMICS_LLC") {
        return Ok(named.into());
    }
    if let Some(numbered) = found(&format!("{LLC}-{LLVM}")) {
        return Ok(numbered);
    }
    // A program that is called llc may be this one.
    let is_own = |path: &PathBuf| env::current_exe().is_ok_and(|own| is_same(path, &own));
    let has_version = |path: &PathBuf| {
        let said = Command::new(path).arg("--version").output();
        said.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains(&format!("LLVM version {LLVM}.")))
    };
    found(LLC).filter(|path| !is_own(path) && has_version(path)).ok_or_else(|| Missing {
        what: format!("there is no llc of LLVM {LLVM} in the PATH"),
        help: format!("the package llvm-{LLVM} has it; PTX_ATOMICS_LLC names another one"),
    })
}

/// A program of the `PATH`.
fn found(name: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(name)).find(|path| path.is_file())
}

fn is_same(a: &Path, b: &Path) -> bool {
    a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
}

/// The plugin: the one that `PTX_ATOMICS_PLUGIN` names, or one where this program is, or where packages put it.
fn plugin() -> Result<PathBuf, Missing> {
    if let Some(named) = env::var_os("PTX_ATOMICS_PLUGIN") {
        return Ok(named.into());
    }
    let own = env::current_exe().and_then(|own| own.canonicalize());
    let folder = own.ok().and_then(|own| Some(own.parent()?.to_owned())).unwrap_or_default();
    let folders = [folder.clone(), folder.join("../lib"), folder.join("../lib/ptx-atomics"), folder.join("../release")];
    folders.iter().map(|folder| folder.join(PLUGIN)).find(|plugin| plugin.is_file()).ok_or_else(|| Missing {
        what: format!("there is no {PLUGIN} beside '{}', nor in ../lib", folder.display()),
        help:
            "`cargo build --release -p ptx-atomics-plugin` makes it; PTX_ATOMICS_PLUGIN names one that stands elsewhere"
                .to_owned(),
    })
}
