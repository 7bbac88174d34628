//! A child process that runs LLVM and MLIR. If they end the process, the parent can still report the reason.
//!
//! The child is a fork, made before LLVM is used and while the process has one thread. It reports its progress and its
//! result through a pipe, one JSON object on each line, so that the parent knows the last stage. The child does not
//! outlive its parent.

use std::{
    fs,
    io::{self, BufRead, BufReader, PipeReader, PipeWriter, Write, pipe},
    marker::PhantomData,
    os::fd::AsRawFd,
    sync::OnceLock,
    time::Duration,
};

use ptx_atomics_common::helper::{Returned, exactly};
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use strum::EnumMessage;

/// A report of a child.
#[derive(Serialize, Deserialize)]
enum Event {
    Stage(Stage),
    Functions(Functions),
    /// A warning of LLVM.
    Warning(String),
    /// The return value of the work. The numbers are the lengths of byte strings that follow the line.
    Returned(serde_json::Value, Vec<u64>),
    /// The reason why the child is about to end.
    Cause(Cause),
    /// An allocation failed. The child may end because of this, or recover.
    NoMemory,
}

/// The stage of a child's work, with the project whose code runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, strum::Display, EnumMessage)]
pub enum Stage {
    #[strum(serialize = "reading the module", message = "LLVM")]
    Read,
    #[strum(serialize = "reading the module", message = "MLIR")]
    ReadMlir,
    #[strum(serialize = "converting the module", message = "MLIR")]
    Convert,
    #[strum(serialize = "checking asynchronous operations", message = "LLVM")]
    Check,
    #[strum(serialize = "optimizing the module", message = "LLVM")]
    Prepare,
    #[strum(serialize = "lowering the atomics", message = "LLVM")]
    Lower,
    #[strum(serialize = "generating PTX", message = "LLVM")]
    Emit,
}

/// The death of a child that did not return.
#[derive(Default)]
pub struct Death {
    pub stage: Option<Stage>,
    pub functions: Functions,
    pub cause: Cause,
}

impl Death {
    /// LLVM's message.
    pub fn reason(&self) -> Option<&str> {
        if let Cause::Fatal(reason) = &self.cause { Some(reason) } else { None }
    }
}

/// The functions that were being compiled.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Functions {
    pub count: usize,
    pub first: String,
    /// The intrinsics that the first function calls, if it is the only one.
    pub intrinsics: Vec<String>,
    /// The GPU and the PTX version, as LLVM's features.
    pub target: (String, String),
}

/// The reason why a child did not return.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Cause {
    /// A fatal error that LLVM reported.
    Fatal(String),
    /// A panic, which is a bug of this crate.
    Panic(String),
    Memory,
    Stack,
    Signal(i32),
    /// The child ended itself, with this status and without a message.
    #[default]
    Unknown,
}

static PARENT: OnceLock<PipeWriter> = OnceLock::new();

fn send_event(event: &Event, bytes: &[Vec<u8>]) {
    if let (Some(mut parent), Ok(mut line)) = (PARENT.get(), serde_json::to_vec(event)) {
        line.push(b'\n');
        // The parent may be gone; then the error is irrelevant.
        let _ = parent.write_all(&line).and_then(|()| bytes.iter().try_for_each(|bytes| parent.write_all(bytes)));
    }
}

/// Reports the next stage to the parent.
pub fn stage(stage: Stage) {
    send_event(&Event::Stage(stage), &[]);
}

/// Reports to the parent the functions that are being compiled.
pub fn functions(functions: Functions) {
    send_event(&Event::Functions(functions), &[]);
}

/// Reports a warning to the parent.
pub fn warn(text: &str) {
    send_event(&Event::Warning(text.to_owned()), &[]);
}

/// Reports a reason to the parent, and ends the child.
pub fn fatal(reason: &str) -> ! {
    send_event(&Event::Cause(Cause::Fatal(reason.to_owned())), &[]);
    // SAFETY: `_exit` runs no code of the broken process.
    unsafe { libc::_exit(DIED) }
}

const DIED: i32 = 70;

/// Runs `work` in a child process. Returns the result of the work, or the child's death. With `quiet`, the child prints
/// nothing.
///
/// # Errors
/// If this process has several threads, or the system cannot start another process.
pub fn run<T: Serialize + DeserializeOwned>(
    quiet: Quiet,
    warn: &mut dyn FnMut(&str),
    work: impl FnOnce() -> Returned<T>,
) -> io::Result<Result<Returned<T>, Death>> {
    Child::start(quiet, work)?.wait(warn)
}

/// A child process at work. A pipe holds its reports; when the pipe is full, the child waits for its parent.
pub struct Child<T> {
    process: libc::pid_t,
    events: PipeReader,
    returns: PhantomData<T>,
}

impl<T: Serialize + DeserializeOwned> Child<T> {
    /// Starts a child. With `quiet`, the child prints nothing.
    ///
    /// # Errors
    /// If this process has several threads, or the system cannot start another process.
    pub fn start(quiet: Quiet, work: impl FnOnce() -> Returned<T>) -> io::Result<Self> {
        // A joined thread may remain listed for a moment.
        let is_alone = || !fs::read_dir("/proc/self/task").is_ok_and(|threads| threads.count() > 1);
        let waits = (0..20).map(|_| std::thread::sleep(Duration::from_millis(1)));
        if !is_alone() && !waits.into_iter().any(|()| is_alone()) {
            let message = "this process has several threads, and a fork would have one; use a Helper";
            return Err(io::Error::other(message));
        }
        let (events, writer) = pipe()?;
        let parent = std::process::id();
        // SAFETY: the process has one thread, so that the child may do whatever the parent could.
        match unsafe { libc::fork() } {
            -1 => Err(io::Error::last_os_error()),
            0 => {
                drop(events);
                let _ = PARENT.set(writer);
                if quiet == Quiet::Yes
                    && let Ok(null) = fs::File::create("/dev/null")
                {
                    // SAFETY: both are open descriptors.
                    unsafe { libc::dup2(null.as_raw_fd(), libc::STDERR_FILENO) };
                }
                prepare(parent);
                let (value, bytes) = work();
                let lengths = bytes.iter().map(|bytes| bytes.len() as u64).collect();
                let value = serde_json::to_value(value).expect("the returned value has text as its keys");
                send_event(&Event::Returned(value, lengths), &bytes);
                std::process::exit(0)
            }
            process => Ok(Self { process, events, returns: PhantomData }),
        }
    }

    /// The result of the child's work, or the child's death.
    ///
    /// # Errors
    /// If the system does not know the child.
    pub fn wait(self, warn: &mut dyn FnMut(&str)) -> io::Result<Result<Returned<T>, Death>> {
        let mut report = ChildReport::default();
        report.listen(self.events, warn);
        let ChildReport { returned, mut death, memory } = report;
        let mut status = 0;
        // SAFETY: the process is a child of this one, and nothing else waits for it.
        while unsafe { libc::waitpid(self.process, &mut status, 0) } == -1 {
            let error = io::Error::last_os_error();
            if error.kind() != io::ErrorKind::Interrupted {
                return Err(error);
            }
        }
        if libc::WIFEXITED(status)
            && libc::WEXITSTATUS(status) == 0
            && let Some(returned) = returned
        {
            return Ok(Ok(returned));
        }
        if libc::WIFSIGNALED(status) && death.cause == Cause::Unknown {
            death.cause = Cause::Signal(libc::WTERMSIG(status));
        }
        // Code that fails for lack of memory often reports another cause afterwards.
        if memory && !matches!(death.cause, Cause::Stack | Cause::Signal(libc::SIGKILL | libc::SIGTERM)) {
            death.cause = Cause::Memory;
        }
        Ok(Err(death))
    }
}

/// Whether a child suppresses its output.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Quiet {
    Yes,
    No,
}

/// The reports of a child: its result, its last stage and cause of death, and whether an allocation failed.
struct ChildReport<T> {
    returned: Option<Returned<T>>,
    death: Death,
    memory: bool,
}

impl<T> Default for ChildReport<T> {
    fn default() -> Self {
        Self { returned: None, death: Death::default(), memory: false }
    }
}

impl<T: DeserializeOwned> ChildReport<T> {
    fn listen(&mut self, events: PipeReader, warn: &mut dyn FnMut(&str)) {
        let mut events = BufReader::new(events);
        let mut line = Vec::new();
        while events.read_until(b'\n', &mut line).is_ok_and(|length| length > 0) {
            match serde_json::from_slice(&line) {
                Ok(Event::Stage(stage)) => self.death.stage = Some(stage),
                Ok(Event::Functions(functions)) => self.death.functions = functions,
                Ok(Event::Warning(text)) => warn(&text),
                Ok(Event::Returned(value, lengths)) => {
                    let bytes = lengths.into_iter().map(|length| exactly(&mut events, length)).collect::<Option<_>>();
                    self.returned = serde_json::from_value(value).ok().zip(bytes);
                }
                Ok(Event::Cause(cause)) => self.death.cause = cause,
                Ok(Event::NoMemory) => self.memory = true,
                Err(_) => {}
            }
            line.clear();
        }
    }
}

/// The maximum size of the child's stack: the space that Linux keeps free below it.
const STACK: usize = 128 << 20;

/// Makes the child end with its parent, and report its cause of death.
fn prepare(parent: u32) {
    std::panic::set_hook(Box::new(|panic| send_event(&Event::Cause(Cause::Panic(panic.to_string())), &[])));
    // SAFETY: the structures are zeroed or written by the system before they are read, and the handlers call only
    // functions that a signal handler may call.
    unsafe {
        libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
        if libc::getppid().cast_unsigned() != parent {
            libc::_exit(DIED);
        }
        // Parsers of nested text recurse.
        let mut limit: libc::rlimit = std::mem::zeroed();
        if libc::getrlimit(libc::RLIMIT_STACK, &mut limit) == 0 && limit.rlim_cur < STACK as libc::rlim_t {
            limit.rlim_cur = limit.rlim_max.min(STACK as libc::rlim_t);
            libc::setrlimit(libc::RLIMIT_STACK, &limit);
        }
        let _ = STACK_TOP.set((&raw const limit).addr());
        let mut action: libc::sigaction = std::mem::zeroed();
        action.sa_sigaction = crashed as *const () as usize;
        // Rust has set up an alternate stack for such handlers.
        action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK | libc::SA_RESETHAND;
        for signal in [libc::SIGSEGV, libc::SIGBUS] {
            libc::sigaction(signal, &action, std::ptr::null_mut());
        }
    }
}

/// An address near the beginning of the stack, which grows down from there.
static STACK_TOP: OnceLock<usize> = OnceLock::new();

/// Sends a line to the parent without allocating.
fn tell_raw(line: &[u8]) {
    if let Some(parent) = PARENT.get() {
        // SAFETY: the line is live.
        unsafe { libc::write(parent.as_raw_fd(), line.as_ptr().cast(), line.len()) };
    }
}

extern "C" fn crashed(signal: i32, info: *const libc::siginfo_t, _: *const libc::c_void) {
    // SAFETY: the system passes valid information.
    let address = unsafe { (*info).si_addr() }.addr();
    let overflown = STACK_TOP.get().is_some_and(|top| (top.saturating_sub(STACK + (1 << 20))..*top).contains(&address));
    if overflown {
        tell_raw(b"{\"Cause\":\"Stack\"}\n");
        // SAFETY: `_exit` runs no code of the broken process.
        unsafe { libc::_exit(DIED) };
    }
    // The handler has been reset, so the signal is delivered again after this handler and ends the process.
    // SAFETY: a signal handler may call `raise`.
    unsafe { libc::raise(signal) };
}

/// Reports from a child process that an allocation failed, so that its parent can name the cause of death. It is for
/// programs with their own allocator. A signal handler may call it, and it does nothing in other processes.
pub fn out_of_memory() {
    tell_raw(b"\"NoMemory\"\n");
}
