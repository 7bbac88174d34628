//! LLVM runs in a child process: where it ends the process, the user still gets our error.
//!
//! The child is a fork, taken before LLVM is touched and while there is one thread. It tells what it does through a
//! pipe, one JSON object a line, so that the parent knows how far it came.

use std::{
    io::{BufRead, BufReader, PipeReader, PipeWriter, Write, pipe},
    os::fd::AsRawFd,
    sync::OnceLock,
};

use serde::{Deserialize, Serialize};

/// What a child tells.
#[derive(Serialize, Deserialize)]
enum Event {
    Stage(Stage),
    /// How many functions are being compiled, and the first one's name.
    Functions(usize, String),
    /// Why LLVM is about to end the process.
    Fatal(String),
}

/// What a child is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::Display)]
pub enum Stage {
    #[strum(serialize = "reading the module")]
    Read,
    #[strum(serialize = "optimizing the module")]
    Prepare,
    #[strum(serialize = "lowering the atomics")]
    Lower,
    #[strum(serialize = "generating PTX")]
    Emit,
}

/// How a child ended.
pub enum End {
    /// With the value that its work returned.
    Returned(bool),
    Died(Death),
}

/// A child that did not return.
#[derive(Default)]
pub struct Death {
    pub stage: Option<Stage>,
    /// The number of functions that were being compiled.
    pub functions: usize,
    /// The first of them.
    pub function: String,
    pub reason: String,
}

static PARENT: OnceLock<PipeWriter> = OnceLock::new();

fn tell(event: &Event) {
    if let (Some(mut parent), Ok(mut line)) = (PARENT.get(), serde_json::to_vec(event)) {
        line.push(b'\n');
        // A parent that is gone needs no answer.
        let _ = parent.write_all(&line);
    }
}

/// Tells the parent what comes next.
pub fn stage(stage: Stage) {
    tell(&Event::Stage(stage));
}

/// Tells the parent which functions are being compiled.
pub fn functions(count: usize, first: &str) {
    tell(&Event::Functions(count, first.to_owned()));
}

/// Ends the child, with a reason.
pub fn fatal(reason: &str) -> ! {
    tell(&Event::Fatal(reason.to_owned()));
    // SAFETY: `_exit` runs nothing of the broken process.
    unsafe { libc::_exit(DIED) }
}

const DIED: i32 = 70;

/// Runs `work` in a child process. With `quiet`, the child prints nothing.
pub fn run(quiet: bool, work: impl FnOnce() -> bool) -> std::io::Result<End> {
    let (events, writer) = pipe()?;
    // SAFETY: the process has one thread, so that the child may do whatever the parent could.
    match unsafe { libc::fork() } {
        -1 => Err(std::io::Error::last_os_error()),
        0 => {
            drop(events);
            let _ = PARENT.set(writer);
            if quiet && let Ok(null) = std::fs::File::create("/dev/null") {
                // SAFETY: both are open descriptors.
                unsafe { libc::dup2(null.as_raw_fd(), libc::STDERR_FILENO) };
            }
            // `exit` runs no destructors of this stack: temporary files stay for the parent.
            std::process::exit(if work() { 0 } else { 1 })
        }
        child => {
            drop(writer);
            let mut death = listen(events);
            let mut status = 0;
            // SAFETY: `child` is our child, and nobody else waits for it.
            while unsafe { libc::waitpid(child, &mut status, 0) } == -1 {
                let error = std::io::Error::last_os_error();
                if error.kind() != std::io::ErrorKind::Interrupted {
                    return Err(error);
                }
            }
            if libc::WIFEXITED(status) && matches!(libc::WEXITSTATUS(status), 0 | 1) {
                return Ok(End::Returned(libc::WEXITSTATUS(status) == 0));
            }
            if libc::WIFSIGNALED(status) {
                death.reason = format!("it was stopped by signal {}", libc::WTERMSIG(status));
            }
            Ok(End::Died(death))
        }
    }
}

fn listen(events: PipeReader) -> Death {
    let mut death = Death::default();
    for line in BufReader::new(events).lines().map_while(Result::ok) {
        match serde_json::from_str(&line) {
            Ok(Event::Stage(stage)) => death.stage = Some(stage),
            Ok(Event::Functions(count, first)) => (death.functions, death.function) = (count, first),
            Ok(Event::Fatal(reason)) => death.reason = reason,
            Err(_) => {}
        }
    }
    death
}
