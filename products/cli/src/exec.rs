//! `ptx-atomics exec`.

mod record;
mod report;

use std::{
    env,
    os::unix::process::ExitStatusExt,
    path::{Path, PathBuf},
    process::{Command, ExitCode, ExitStatus},
};

use ptx_atomics::pass::{Diagnostic, Errors};
use ptx_atomics_device::{LIBRARY, OPTIONS, Options, fill_folder};

use self::record::Contents;
use crate::{
    cli::ExecArgs,
    input::cannot,
    output::{self, Content, Output},
    render,
};

/// The exit status of a program that was not run.
const NOT_RUN: u8 = 2;
/// The exit status of a shell for a signal, before the number of the signal.
const SIGNAL: i32 = 128;

pub fn run(args: &ExecArgs) -> ExitCode {
    match executed(args) {
        Ok(status) => ExitCode::from(status),
        Err(errors) => {
            errors.iter().for_each(|error| render::error(error, None));
            ExitCode::from(NOT_RUN)
        }
    }
}

/// Runs the program, and reports on its launches. The result is the exit status.
fn executed(args: &ExecArgs) -> Result<u8, Errors> {
    if args.contents && args.record.as_deref() == Some(Path::new("-")) {
        let message = "expected a file for --record with --contents, found standard output";
        return Err(Diagnostic::new(message).into());
    }
    let library = library(args.library.as_deref())?;
    let folder = tempfile::tempdir().map_err(|error| Diagnostic::new(format!("cannot make a folder: {error}")))?;
    fill_folder(folder.path(), &library).map_err(|error| cannot("write", folder.path(), &error))?;
    let status = status(args, folder.path())?;
    let entries = report::read(folder.path());
    let (races, contents) = (report::races(&entries), report::contents(&entries));
    let kernels = report::kernels(entries, folder.path());
    let has_finding = report::print(&kernels, &races, !args.no_races);
    if let Some(path) = &args.record {
        let (text, contents) = record::text(&kernels, &contents, path);
        write(path, text)?;
        copy(&contents, folder.path(), path)?;
    }
    let own = status.code().or_else(|| status.signal().map(|signal| SIGNAL + signal)).unwrap_or(1);
    let own = u8::try_from(own).unwrap_or(1);
    Ok(if own == 0 && args.exit_code && has_finding { 1 } else { own })
}

/// Runs the program with the libraries of a folder.
fn status(args: &ExecArgs, folder: &Path) -> Result<ExitStatus, Errors> {
    let options = Options {
        folder: Some(folder.to_owned()),
        races: !args.no_races,
        every: args.every_launch,
        kernels: args.kernel.clone(),
        skip: args.skip.clone(),
        budget: args.budget,
        memory: args.memory.unwrap_or(0),
        record: args.record.is_some(),
        contents: args.contents,
        progress: true,
    };
    let options = serde_json::to_string(&options).map_err(|error| Diagnostic::new(error.to_string()))?;
    let before = env::var_os("LD_LIBRARY_PATH").filter(|path| !path.is_empty());
    let folders = [folder.to_owned()].into_iter().chain(before.iter().flat_map(env::split_paths));
    let path = env::join_paths(folders).map_err(|error| Diagnostic::new(error.to_string()))?;
    let (program, arguments) = args.command.split_first().ok_or_else(|| Diagnostic::new("expected a program"))?;
    let mut command = Command::new(program);
    command.args(arguments).env("LD_LIBRARY_PATH", path).env(OPTIONS, options);
    command.status().map_err(|error| {
        let message = format!("cannot run '{}': {error}", program.display());
        Diagnostic::new(message).help("give the program after --, such as: ptx-atomics exec -- ./program").into()
    })
}

/// Finds the library: the given one, or the one beside this command.
fn library(given: Option<&Path>) -> Result<PathBuf, Errors> {
    let own = env::current_exe().and_then(std::fs::canonicalize).ok();
    let beside = own.as_deref().and_then(Path::parent);
    let places = ["", "deps", "../lib", "../lib/ptx-atomics"];
    let found = match given {
        Some(path) => Some(path.to_owned()).filter(|path| path.is_file()),
        None => beside
            .and_then(|folder| places.iter().map(|place| folder.join(place).join(LIBRARY)).find(|path| path.is_file())),
    };
    let found = found.ok_or_else(|| {
        let name = given.map_or_else(|| LIBRARY.to_owned(), |path| path.display().to_string());
        let help =
            format!("build it by `cargo build --release -p ptx-atomics-device`, and give {LIBRARY} by --library");
        Diagnostic::new(format!("cannot find '{name}'")).help(help)
    })?;
    std::fs::canonicalize(&found).map_err(|error| cannot("read", &found, &error))
}

/// Copies the contents of buffers from the folder of the reports to the folder of a record.
fn copy(contents: &[Contents], from: &Path, record: &Path) -> Result<(), Errors> {
    for Contents { file, name } in contents {
        let to = record.with_file_name(name);
        std::fs::copy(from.join(file), &to).map_err(|error| cannot("write", &to, &error))?;
    }
    Ok(())
}

/// Writes a file.
fn write(path: &Path, text: String) -> Result<(), Errors> {
    let output = Output::open(path).map_err(|error| cannot("write", path, &error))?;
    let content = Content { name: path.to_owned(), output, bytes: text.into_bytes() };
    output::publish(vec![content]).map_err(|(name, error)| cannot("write", &name, &error))
}
