//! What is said of a child process that did not return.

use ptx_atomics_llvm::{Diagnostic, LLVM_VERSION};
use strum::EnumMessage;

use super::process::{Cause, Death, Stage};

/// The error of a process that did not return.
pub fn obituary(death: Death, function: Option<String>) -> Diagnostic {
    let stage = death.stage.map_or("starting".to_owned(), |stage| stage.to_string());
    let who = death.stage.and_then(|stage| stage.get_message()).unwrap_or("ptx-atomics");
    let fault = match death.stage {
        Some(Stage::Read) => format!(
            "a damaged file does this; where `opt-{LLVM_VERSION} -passes=verify` reads it, please report the file"
        ),
        Some(Stage::ReadMlir) => {
            format!("a damaged file does this; where `mlir-opt-{LLVM_VERSION}` reads it, please report the file")
        }
        Some(Stage::Convert) => format!(
            "this is in MLIR's own conversions: `mlir-opt-{LLVM_VERSION}` can show whether they fail by themselves"
        ),
        Some(Stage::Emit) => format!(
            "the atomics were lowered; this is something else that LLVM cannot compile for the target: `llc-{LLVM_VERSION}` \
             fails on it too"
        ),
        Some(Stage::Prepare) => {
            format!("this is in LLVM's own passes: `opt-{LLVM_VERSION}` can show whether they fail by themselves")
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
                "somebody else sent it: a user, a limit of time, or the system, which sends SIGKILL where memory runs out"
                    .into(),
            ),
            None => (format!("the process was stopped while {stage}: signal {signal}"), "somebody else sent it".into()),
        },
        Cause::Unknown => (format!("{who} ended the process while {stage}, without a reason"), fault),
    };
    let mut lines = message.lines().map(str::to_owned);
    let first = lines.next().unwrap_or_default();
    Diagnostic { function, notes: lines.collect(), ..Diagnostic::new(first).help(help) }
}

/// Whether a signal is one that a process causes itself.
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
