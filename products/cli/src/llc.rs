//! LLVM's llc with the plugin, for toolchains that expect the name of an llc. Each flag is llc's own.
//!
//! This module is `ptx-atomics llc`, and also a separate program, `ptx-atomics-llc`, which loads no LLVM before it
//! executes llc. The module therefore does not use the rest of this crate.

use std::{
    env,
    ffi::OsString,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

/// The version of LLVM in this build.
const LLVM: u32 = if cfg!(feature = "only-llvm23") { 23 } else { 22 };
/// LLVM's program.
const LLC: &str = "llc";
/// The file of the plugin.
const PLUGIN: &str = "libptx_atomics.so";

/// A missing program or file, and the way to get it.
struct Missing {
    what: String,
    help: String,
}

/// Executes llc in this process. Returns only if that fails.
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

/// An llc of the LLVM that the plugin is built for: the program that `PTX_ATOMICS_LLC` names, or one of the `PATH`. The
/// version of a program whose name has the version is not checked, because the check takes as long as a small module.
fn llc() -> Result<PathBuf, Missing> {
    if let Some(named) = env::var_os("PTX_ATOMICS_LLC") {
        return Ok(named.into());
    }
    if let Some(numbered) = find_program(&format!("{LLC}-{LLVM}")) {
        return Ok(numbered);
    }
    // A program with the name llc may be this program.
    let is_own = |path: &PathBuf| env::current_exe().is_ok_and(|own| is_same(path, &own));
    let has_version = |path: &PathBuf| {
        let said = Command::new(path).arg("--version").output();
        said.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains(&format!("LLVM version {LLVM}.")))
    };
    find_program(LLC).filter(|path| !is_own(path) && has_version(path)).ok_or_else(|| Missing {
        what: format!("the PATH has no llc of LLVM {LLVM}"),
        help: format!("install the package llvm-{LLVM}, or name an llc by PTX_ATOMICS_LLC"),
    })
}

/// Finds a program in the `PATH`.
fn find_program(name: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(name)).find(|path| path.is_file())
}

fn is_same(a: &Path, b: &Path) -> bool {
    a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
}

/// The plugin: the file that `PTX_ATOMICS_PLUGIN` names, or a file in the folder of this program, or in the folder for
/// packages.
fn plugin() -> Result<PathBuf, Missing> {
    if let Some(named) = env::var_os("PTX_ATOMICS_PLUGIN") {
        return Ok(named.into());
    }
    let own = env::current_exe().and_then(|own| own.canonicalize());
    let folder = own.ok().and_then(|own| Some(own.parent()?.to_owned())).unwrap_or_default();
    let folders = [folder.clone(), folder.join("../lib"), folder.join("../lib/ptx-atomics"), folder.join("../release")];
    folders.iter().map(|folder| folder.join(PLUGIN)).find(|plugin| plugin.is_file()).ok_or_else(|| Missing {
        what: format!("cannot find {PLUGIN} in '{}' or in ../lib", folder.display()),
        help: "build it by `cargo build --release -p ptx-atomics-plugin`, or name it by PTX_ATOMICS_PLUGIN".to_owned(),
    })
}
