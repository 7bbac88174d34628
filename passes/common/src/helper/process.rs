//! Jobs in the process of another program, for callers with many threads.

use std::{
    env,
    ffi::OsStr,
    io::{self, BufRead, BufReader, Write},
    path::{Path, PathBuf},
    process::{Child, ChildStdout, Command, ExitStatus, Stdio},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, Ordering::Relaxed},
    },
};

use crate::{Diagnostic, Errors, Input};
use serde::{Deserialize, Serialize};

use crate::helper::{
    answer::{Answer, exactly},
    job::{Emit, Job, Language, Lowered},
    to_child::ToChild,
};

/// The argument by which a program is asked to be a helper.
const ASKED: &str = "ptx-atomics-helper";

static SERVES: AtomicBool = AtomicBool::new(false);

/// A program whose `main` begins with [`serve`]. Its processes stay for the next job, as many as jobs were done at once; they
/// end with the last clone of this.
#[derive(Clone, Debug)]
pub struct Helper {
    program: PathBuf,
    idle: Arc<Mutex<Vec<Worker>>>,
}

/// A process of a helper.
#[derive(Debug)]
struct Worker {
    child: Child,
    to: Option<ToChild>,
    from: BufReader<ChildStdout>,
}

/// What a helper tells, a JSON object a line.
#[derive(Serialize, Deserialize)]
enum Reply {
    Warning(String),
    /// As many bytes as the numbers say follow the line.
    Answer(Answer, Vec<u64>),
}

/// A job without the bytes of its input, which follow.
#[derive(Serialize, Deserialize)]
struct Request {
    name: String,
    length: u64,
    keep_lines: bool,
    language: Language,
    emit: Emit,
    module: Option<String>,
    options: String,
    level: Option<u8>,
    codegen_level: Option<u8>,
    comments: bool,
    processes: usize,
}

impl Helper {
    /// The program that runs.
    ///
    /// # Errors
    /// If [`serve`] was not called in it, or the system does not say where it is.
    pub fn this_program() -> io::Result<Self> {
        if !SERVES.load(Relaxed) {
            return Err(io::Error::other("ptx_atomics::isolated::serve() was not called; begin main with it"));
        }
        env::current_exe().map(Self::at)
    }

    /// Another program, as `ptx-atomics`; a name without a slash is looked for in `PATH`.
    pub fn at(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), idle: Arc::default() }
    }

    /// Does a job in a process of the helper, and waits for it. LLVM's warnings go to `warn`.
    ///
    /// # Errors
    /// Everything in the input that is wrong or has no lowering; what ended LLVM or MLIR; and that the program cannot be started
    /// or is no helper.
    pub fn lower(&self, job: &Job, mut warn: impl FnMut(&str)) -> Result<Vec<Lowered>, Errors> {
        let error =
            |reason: String| Diagnostic::new(format!("cannot use '{}' as a helper: {reason}", self.program.display()));
        // A process that was idle may have ended meanwhile.
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        while let Some(mut worker) = idle() {
            if let Some((answer, bytes)) = worker.work(job, &mut warn) {
                self.keep(worker);
                return answer.with(bytes);
            }
        }
        let mut worker = Worker::start(&self.program).map_err(|reason| error(reason.to_string()))?;
        match worker.work(job, &mut warn) {
            Some((answer, bytes)) => {
                self.keep(worker);
                answer.with(bytes)
            }
            None => {
                let status = worker.end().map_err(|reason| error(reason.to_string()))?;
                let help = "its main must begin with ptx_atomics::isolated::serve(), and be of the same version";
                Err(error(format!("it gave no answer ({status})")).help(help).into())
            }
        }
    }

    fn keep(&self, worker: Worker) {
        self.idle.lock().unwrap_or_else(PoisonError::into_inner).push(worker);
    }
}

impl Worker {
    fn start(program: &Path) -> io::Result<Self> {
        let mut command = Command::new(program);
        let (to, of_child) = ToChild::new()?;
        command.arg(ASKED).stdin(of_child).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let from = child.stdout.take().ok_or_else(|| io::Error::other("it has no pipe"))?;
        Ok(Self { child, to: Some(to), from: BufReader::new(from) })
    }

    /// Gives a job, and takes the answer if there is one. The helper reads all of the job before it answers.
    fn work(&mut self, job: &Job, warn: &mut dyn FnMut(&str)) -> Option<(Answer, Vec<Vec<u8>>)> {
        // A helper that ends early does not read all; what it said counts.
        let _ = self.ask(job);
        hear(&mut self.from, warn)
    }

    fn ask(&mut self, job: &Job) -> io::Result<()> {
        let Some(to) = &mut self.to else { return Ok(()) };
        let request = Request {
            name: job.input.name().to_owned(),
            length: job.input.bytes().len() as u64,
            keep_lines: job.input.keep_lines,
            language: job.language,
            emit: job.emit,
            module: job.module.clone(),
            options: job.options.clone(),
            level: job.level,
            codegen_level: job.codegen_level,
            comments: job.comments,
            processes: job.processes,
        };
        let mut line = serde_json::to_vec(&request)?;
        line.push(b'\n');
        to.write_all(&line)?;
        to.write_all(job.input.bytes())
    }

    /// Lets the process end, and waits for that.
    fn end(&mut self) -> io::Result<ExitStatus> {
        drop(self.to.take());
        // A process that still writes gets an error, as the pipe has no reader.
        let _ = io::copy(&mut self.from, &mut io::sink());
        self.child.wait()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// The answer of the helper, if it gives one.
fn hear(from: &mut impl BufRead, warn: &mut dyn FnMut(&str)) -> Option<(Answer, Vec<Vec<u8>>)> {
    let mut line = Vec::new();
    while from.read_until(b'\n', &mut line).ok()? > 0 {
        match serde_json::from_slice(&line).ok()? {
            Reply::Warning(text) => warn(&text),
            Reply::Answer(answer, lengths) => {
                let bytes = lengths.into_iter().map(|length| exactly(from, length)).collect::<Option<_>>()?;
                return Some((answer, bytes));
            }
        }
        line.clear();
    }
    None
}

/// Makes this program a [`Helper`]: call it at the beginning of `main`, before anything else. Where a helper was asked for,
/// it does the jobs that it is given by `lower`, which has a function for warnings, and ends the process; or else it does nothing.
pub fn serve(lower: impl Fn(&Job, &mut dyn FnMut(&str)) -> Result<Vec<Lowered>, Errors>) {
    SERVES.store(true, Relaxed);
    let mut arguments = env::args_os().skip(1);
    if arguments.next().as_deref() != Some(OsStr::new(ASKED)) || arguments.next().is_some() {
        return;
    }
    let mut from = io::stdin().lock();
    let done = loop {
        match answer(&mut from, &lower) {
            Ok(true) => {}
            other => break other,
        }
    };
    std::process::exit(if done.is_ok() { 0 } else { 2 })
}

/// Reads a job, does it, and writes the answer to standard output; whether there was one.
fn answer(
    from: &mut impl BufRead,
    lower: impl Fn(&Job, &mut dyn FnMut(&str)) -> Result<Vec<Lowered>, Errors>,
) -> io::Result<bool> {
    let mut line = Vec::new();
    if from.read_until(b'\n', &mut line)? == 0 {
        return Ok(false);
    }
    let request: Request = serde_json::from_slice(&line)?;
    let bytes = exactly(from, request.length).ok_or(io::ErrorKind::UnexpectedEof)?;
    let mut input = Input::new(request.name, bytes);
    input.keep_lines = request.keep_lines;
    let Request { language, emit, module, options, level, codegen_level, comments, processes, .. } = request;
    let job = Job { input, language, emit, module, options, level, codegen_level, comments, processes };

    let tell = |reply: &Reply| -> io::Result<()> {
        let mut to = io::stdout().lock();
        serde_json::to_writer(&mut to, reply)?;
        writeln!(to)
    };
    let (answer, bytes) = Answer::of(lower(&job, &mut |warning| drop(tell(&Reply::Warning(warning.to_owned())))));
    tell(&Reply::Answer(answer, bytes.iter().map(|bytes| bytes.len() as u64).collect()))?;
    bytes.iter().try_for_each(|bytes| io::stdout().write_all(bytes))?;
    io::stdout().flush().map(|()| true)
}
