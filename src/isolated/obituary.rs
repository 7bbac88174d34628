//! Messages about a child process that did not return.

use ptx_atomics_llvm::{Diagnostic, LLVM_VERSION};
use strum::EnumMessage;

use super::process::{Cause, Death, Stage};

/// The error of a process that did not return.
pub fn obituary(death: Death, function: Option<String>) -> Diagnostic {
    let stage = death.stage.map_or("starting".to_owned(), |stage| stage.to_string());
    let who = death.stage.and_then(|stage| stage.get_message()).unwrap_or("ptx-atomics");
    let fault = match death.stage {
        Some(Stage::Read) => format!(
            "a damaged file causes this; if `opt-{LLVM_VERSION} -passes=verify` reads it, please report the file"
        ),
        Some(Stage::ReadMlir) => {
            format!("a damaged file causes this; if `mlir-opt-{LLVM_VERSION}` reads it, please report the file")
        }
        Some(Stage::Convert) => {
            format!("MLIR's own conversions fail: run `mlir-opt-{LLVM_VERSION}` to see whether they fail by themselves")
        }
        Some(Stage::Emit) => format!(
            "the atomics were lowered; LLVM cannot compile another part for the target: `llc-{LLVM_VERSION}` fails on \
             it too"
        ),
        Some(Stage::Prepare) => {
            format!("LLVM's own passes fail: run `opt-{LLVM_VERSION}` to see whether they fail by themselves")
        }
        _ => "please report it with the input".into(),
    };
    let (message, help) = match &death.cause {
        Cause::Fatal(reason) => (format!("{who} failed while {stage}: {reason}"), fault),
        Cause::Panic(reason) => {
            (format!("ptx-atomics has a bug, while {stage}: {reason}"), "please report it with the input".into())
        }
        Cause::Memory => (
            format!("out of memory while {stage}"),
            "the input needs more than the system or `ulimit -v` gives, or it is damaged and asks for too much".into(),
        ),
        Cause::Stack => {
            (format!("{who} ran out of stack while {stage}"), "something in the input is nested too deeply".into())
        }
        Cause::Signal(signal) => match SIGNALS.iter().find(|(known, ..)| known == signal) {
            Some((_, name, true)) => (format!("{who} crashed while {stage}: signal {signal} ({name})"), fault),
            Some((_, name, false)) => (
                format!("the process was stopped while {stage}: signal {signal} ({name})"),
                "another process sent it: a user, a time limit, or the system, which sends SIGKILL if memory runs out"
                    .into(),
            ),
            None => {
                (format!("the process was stopped while {stage}: signal {signal}"), "another process sent it".into())
            }
        },
        Cause::Unknown => (format!("{who} ended the process while {stage}, without a reason"), fault),
    };
    let mut lines = message.lines().map(str::to_owned);
    let first = lines.next().unwrap_or_default();
    Diagnostic { function, notes: lines.collect(), ..Diagnostic::new(first).help(help) }
}

/// Whether a process's own code causes the signal.
pub fn is_crash(signal: i32) -> bool {
    SIGNALS.iter().any(|(known, _, own)| *known == signal && *own)
}

/// Signals that end a process, with their names, and whether its own code causes them.
const SIGNALS: [(i32, &str, bool); 13] = [
    (libc::SIGABRT, "SIGABRT", true),
    (libc::SIGBUS, "SIGBUS", true),
    (libc::SIGFPE, "SIGFPE", true),
    (libc::SIGILL, "SIGILL", true),
    (libc::SIGSEGV, "SIGSEGV", true),
    (libc::SIGTRAP, "SIGTRAP", true),
    (libc::SIGALRM, "SIGALRM", false),
    (libc::SIGHUP, "SIGHUP", false),
    (libc::SIGINT, "SIGINT", false),
    (libc::SIGKILL, "SIGKILL", false),
    (libc::SIGQUIT, "SIGQUIT", false),
    (libc::SIGTERM, "SIGTERM", false),
    (libc::SIGXCPU, "SIGXCPU", false),
];
