//! `ptx-atomics llc`: LLVM's llc with the plugin, for toolchains that take the name of an llc. Each flag is llc's own.

use std::{
    env,
    ffi::OsString,
    io::ErrorKind,
    os::unix::process::CommandExt,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use ptx_atomics::llvm::{Diagnostic, Errors, inkwell::support::get_llvm_version};

use crate::render;

/// The name that makes this command out of the program.
const NAME: &str = "ptx-atomics-llc";
/// The subcommand.
const SUBCOMMAND: &str = "llc";
/// The file of the plugin.
const PLUGIN: &str = "libptx_atomics.so";

/// llc's arguments, if this process was called for it. They are not read: none is ours.
pub fn arguments() -> Option<Vec<OsString>> {
    let mut arguments = env::args_os();
    let name = arguments.next()?;
    if Path::new(&name).file_name().is_some_and(|name| name == NAME) {
        return Some(arguments.collect());
    }
    if arguments.next()? != SUBCOMMAND {
        return None;
    }
    let arguments: Vec<_> = arguments.collect();
    // Of the subcommand the help is ours, which says where llc's is.
    (!matches!(&arguments[..], [only] if only == "--help" || only == "-h")).then_some(arguments)
}

/// Becomes llc. Returns only where that cannot be.
pub fn run(arguments: &[OsString]) -> ExitCode {
    let (major, ..) = get_llvm_version();
    let (llc, plugin) = match (llc(major), plugin()) {
        (Ok(llc), Ok(plugin)) => (llc, plugin),
        (llc, plugin) => {
            [llc.err(), plugin.err()].iter().flatten().flatten().for_each(|error| render::error(error, None));
            return ExitCode::FAILURE;
        }
    };
    let mut load = OsString::from("-load-pass-plugin=");
    load.push(plugin);
    let error = Command::new(&llc).arg(load).args(arguments).exec();
    render::error(&Diagnostic::new(format!("cannot run '{}': {error}", llc.display())), None);
    ExitCode::FAILURE
}

/// An llc of the LLVM that the plugin is built for: the one that `PTX_ATOMICS_LLC` names, or one of the `PATH`.
fn llc(major: u32) -> Result<PathBuf, Errors> {
    if let Some(named) = env::var_os("PTX_ATOMICS_LLC") {
        return Ok(named.into());
    }
    let numbered = format!("llc-{major}");
    for name in [&*numbered, SUBCOMMAND] {
        // A program that is called llc may be this one.
        if name == SUBCOMMAND && env::current_exe().is_ok_and(|own| found(name).is_some_and(|llc| is_same(&llc, &own)))
        {
            continue;
        }
        match Command::new(name).arg("--version").output() {
            Ok(output) if String::from_utf8_lossy(&output.stdout).contains(&format!("LLVM version {major}.")) => {
                return Ok(name.into());
            }
            Err(error) if error.kind() != ErrorKind::NotFound => {
                return Err(Diagnostic::new(format!("cannot run '{name}': {error}")).into());
            }
            _ => {}
        }
    }
    let message = format!("there is no llc of LLVM {major} in the PATH");
    Err(Diagnostic::new(message)
        .help(format!("the package llvm-{major} has it; PTX_ATOMICS_LLC names another one"))
        .into())
}

/// A program of the `PATH`.
fn found(name: &str) -> Option<PathBuf> {
    env::split_paths(&env::var_os("PATH")?).map(|folder| folder.join(name)).find(|path| path.is_file())
}

fn is_same(a: &Path, b: &Path) -> bool {
    a.canonicalize().is_ok_and(|a| b.canonicalize().is_ok_and(|b| a == b))
}

/// The plugin: the one that `PTX_ATOMICS_PLUGIN` names, or one where this program is, or where packages put it.
fn plugin() -> Result<PathBuf, Errors> {
    if let Some(named) = env::var_os("PTX_ATOMICS_PLUGIN") {
        return Ok(named.into());
    }
    let own = env::current_exe().and_then(|own| own.canonicalize());
    let folder = own.ok().and_then(|own| Some(own.parent()?.to_owned())).unwrap_or_default();
    let folders = [folder.clone(), folder.join("../lib"), folder.join("../lib/ptx-atomics"), folder.join("../release")];
    folders.iter().map(|folder| folder.join(PLUGIN)).find(|plugin| plugin.is_file()).ok_or_else(|| {
        let message = format!("there is no {PLUGIN} beside '{}', nor in ../lib", folder.display());
        let help = "`cargo build --release -p ptx-atomics-plugin` makes it; PTX_ATOMICS_PLUGIN names one that stands elsewhere";
        Diagnostic::new(message).help(help).into()
    })
}
