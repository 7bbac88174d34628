//! The command line.

mod check;
mod cli;
mod conditions;
mod conformance;
mod exec;
mod explain;
mod format;
mod host;
mod input;
mod litmus;
mod llc;
mod lower;
mod lsp;
mod mix;
mod mutants;
mod optimize;
mod output;
mod progress;
mod render;
mod run;
mod sarif;
mod sass_table;
mod shell;
mod table;
mod values;
mod verify_mapping;
mod version;

use std::{env, ffi::OsString, path::Path, process::ExitCode};

use clap::Parser;
use mimalloc::MiMalloc;
use ptx_atomics::isolated;

use crate::cli::{Cli, Command};

/// LLVM also allocates through this allocator, which saves a fifth of the time of a run.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

unsafe extern "C" {
    /// Of the allocator: sets the handler for failed allocations.
    fn mi_register_error(handler: extern "C" fn(i32, *mut libc::c_void), argument: *mut libc::c_void);
}

extern "C" fn no_memory(error: i32, _: *mut libc::c_void) {
    if matches!(error, libc::ENOMEM | libc::EOVERFLOW) {
        isolated::out_of_memory();
    }
}

/// The arguments of llc, if this program is called as llc, by a subcommand or by its name. They are not parsed, because
/// all of them are llc's.
fn llc_arguments() -> Option<Vec<OsString>> {
    let mut arguments = env::args_os();
    if Path::new(&arguments.next()?).file_name()? == "ptx-atomics-llc" {
        return Some(arguments.collect());
    }
    if arguments.next()? != "llc" {
        return None;
    }
    let arguments: Vec<_> = arguments.collect();
    // The help of the subcommand is ours, and explains how to get llc's help.
    (!matches!(&arguments[..], [only] if only == "--help" || only == "-h")).then_some(arguments)
}

/// Exit status 0: success. 1: an error in the input or its lowering, or a check that fails. 2: wrong usage.
fn main() -> ExitCode {
    // If memory runs out, LLVM ends the process, and the parent process reports it.
    // SAFETY: the handler needs no argument, and uses only operations that are allowed in an allocator.
    unsafe { mi_register_error(no_memory, std::ptr::null_mut()) };
    isolated::serve();
    if let Some(arguments) = llc_arguments() {
        return llc::run(&arguments);
    }
    let Cli { error_limit, command } = Cli::parse();
    render::limit(error_limit);
    let done = match command {
        Command::Lower(args) => lower::run(&args),
        Command::Table(args) => table::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Conformance(args) => conformance::run(&args),
        Command::Llc(args) => llc::run(&args.arguments),
        Command::Litmus(args) => litmus::run(&args),
        Command::Exec(args) => exec::run(&args),
        Command::Explain(args) => explain::run(&args),
        Command::Lsp(args) => lsp::run(&args),
        Command::Optimize(args) => optimize::run(&args),
        Command::Run(args) => run::run(&args),
        Command::VerifyMapping(args) => verify_mapping::run(&args),
        Command::Completions(args) => shell::completions(&args),
        Command::Man(args) => shell::man(&args),
    };
    render::omitted();
    done
}
