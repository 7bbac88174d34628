//! Execution of jobs in the process of another program, for callers with many threads.

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
use serde::{Deserialize, Serialize, de::DeserializeOwned};
use serde_json::Value;

use crate::helper::{
    answer::{Answer, exactly},
    job::{Emit, Job, Language, Lowered, Pair},
    to_child::ToChild,
};

/// The argument that makes a program run as a helper.
const ASKED: &str = "ptx-atomics-helper";

static SERVES: AtomicBool = AtomicBool::new(false);

/// A program whose `main` begins with [`serve`]. Its processes wait for further jobs; their number is the largest
/// number of jobs that ran at once. They end when the last clone of this value is dropped.
#[derive(Clone, Debug)]
pub struct Helper {
    program: PathBuf,
    idle: Arc<Mutex<Vec<Worker>>>,
}

/// A process of a helper program.
#[derive(Debug)]
struct Worker {
    child: Child,
    to: Option<ToChild>,
    from: BufReader<ChildStdout>,
}

/// A message of a helper process: a JSON object on one line.
#[derive(Serialize, Deserialize)]
enum Reply {
    Warning(String),
    /// An answer. After the line follow byte strings of the given lengths.
    Answer(Answer, Vec<u64>),
}

/// A job without the bytes of its inputs. The bytes follow the line.
#[derive(Serialize, Deserialize)]
enum Request {
    Lower(ToLower),
    Judge(ToJudge),
}

/// The data of a [`Pair`].
#[derive(Serialize, Deserialize)]
struct ToJudge {
    /// The names and the lengths of the IR and of the PTX.
    inputs: [(String, u64); 2],
    language: Language,
    module: Option<String>,
    options: String,
    may_be_optimized: bool,
}

/// The data of a [`Job`].
#[derive(Serialize, Deserialize)]
struct ToLower {
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
    /// The running program as a helper.
    ///
    /// # Errors
    /// An error if the program did not call [`serve`], or if the system does not know the path of the program.
    pub fn this_program() -> io::Result<Self> {
        if !SERVES.load(Relaxed) {
            return Err(io::Error::other("ptx_atomics::isolated::serve() was not called; begin main with it"));
        }
        env::current_exe().map(Self::at)
    }

    /// Another program, such as `ptx-atomics`, as a helper; a name without a slash is searched in `PATH`.
    pub fn at(program: impl Into<PathBuf>) -> Self {
        Self { program: program.into(), idle: Arc::default() }
    }

    /// Runs a job in a process of the helper, and waits for the result. LLVM's warnings are passed to `warn`.
    ///
    /// # Errors
    /// Every error in the input, including operations without a lowering; an abort of LLVM or MLIR; and a program that
    /// cannot be started or is not a helper.
    pub fn lower(&self, job: &Job, mut warn: impl FnMut(&str)) -> Result<Vec<Lowered>, Errors> {
        let request = Request::Lower(ToLower {
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
        });
        let (answer, bytes) = self.answer(&request, &[job.input.bytes()], &mut warn)?;
        answer.with(bytes)
    }

    /// Judges PTX by its IR in a process of the helper, and waits for the result. `T` is the type in which the helper's
    /// program returns judgements. LLVM's warnings are passed to `warn`.
    ///
    /// # Errors
    /// The errors of [`Self::lower`].
    pub fn judge<T: DeserializeOwned>(&self, pair: &Pair, mut warn: impl FnMut(&str)) -> Result<T, Errors> {
        let named = |input: &Input| (input.name().to_owned(), input.bytes().len() as u64);
        let request = Request::Judge(ToJudge {
            inputs: [named(&pair.ir), named(&pair.ptx)],
            language: pair.language,
            module: pair.module.clone(),
            options: pair.options.clone(),
            may_be_optimized: pair.may_be_optimized,
        });
        self.answer(&request, &[pair.ir.bytes(), pair.ptx.bytes()], &mut warn)?.0.judged()
    }

    /// The answer of a helper process to a request. The inputs are sent after the request.
    fn answer(
        &self,
        request: &Request,
        inputs: &[&[u8]],
        warn: &mut dyn FnMut(&str),
    ) -> Result<(Answer, Vec<Vec<u8>>), Errors> {
        let error =
            |reason: String| Diagnostic::new(format!("cannot use '{}' as a helper: {reason}", self.program.display()));
        // An idle process may have ended in the meantime.
        let idle = || self.idle.lock().unwrap_or_else(PoisonError::into_inner).pop();
        while let Some(mut worker) = idle() {
            if let Some(answer) = worker.work(request, inputs, warn) {
                self.keep(worker);
                return Ok(answer);
            }
        }
        let mut worker = Worker::start(&self.program).map_err(|reason| error(reason.to_string()))?;
        match worker.work(request, inputs, warn) {
            Some(answer) => {
                self.keep(worker);
                Ok(answer)
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

    /// Sends a request, and reads the answer if there is one. The helper reads the whole request before it answers.
    fn work(
        &mut self,
        request: &Request,
        inputs: &[&[u8]],
        warn: &mut dyn FnMut(&str),
    ) -> Option<(Answer, Vec<Vec<u8>>)> {
        // A helper that ends early does not read the whole request; its reply still counts.
        let _ = self.ask(request, inputs);
        hear(&mut self.from, warn)
    }

    fn ask(&mut self, request: &Request, inputs: &[&[u8]]) -> io::Result<()> {
        let Some(to) = &mut self.to else { return Ok(()) };
        let mut line = serde_json::to_vec(request)?;
        line.push(b'\n');
        to.write_all(&line)?;
        inputs.iter().try_for_each(|bytes| to.write_all(bytes))
    }

    /// Closes the input of the process, and waits until it ends.
    fn end(&mut self) -> io::Result<ExitStatus> {
        drop(self.to.take());
        // The output is drained: otherwise a process that is still writing would get an error, because the pipe has no
        // reader.
        let _ = io::copy(&mut self.from, &mut io::sink());
        self.child.wait()
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let _ = self.end();
    }
}

/// The answer of the helper; `None` if the output ends without an answer.
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

/// Makes this program a [`Helper`]. The program must call this function at the beginning of `main`, before any other
/// code. If the program was started as a helper, the function runs its jobs by `lower` and `judge`, which receive a
/// function for warnings, and ends the process. Otherwise it returns immediately.
pub fn serve(
    lower: impl Fn(&Job, &mut dyn FnMut(&str)) -> Result<Vec<Lowered>, Errors>,
    judge: impl Fn(&Pair, &mut dyn FnMut(&str)) -> Result<Value, Errors>,
) {
    SERVES.store(true, Relaxed);
    let mut arguments = env::args_os().skip(1);
    if arguments.next().as_deref() != Some(OsStr::new(ASKED)) || arguments.next().is_some() {
        return;
    }
    let mut from = io::stdin().lock();
    let done = loop {
        match answer(&mut from, &lower, &judge) {
            Ok(true) => {}
            other => break other,
        }
    };
    std::process::exit(if done.is_ok() { 0 } else { 2 })
}

/// Reads a request, executes it, and writes the answer to standard output. Returns false at the end of the input.
fn answer(
    from: &mut impl BufRead,
    lower: impl Fn(&Job, &mut dyn FnMut(&str)) -> Result<Vec<Lowered>, Errors>,
    judge: impl Fn(&Pair, &mut dyn FnMut(&str)) -> Result<Value, Errors>,
) -> io::Result<bool> {
    let mut line = Vec::new();
    if from.read_until(b'\n', &mut line)? == 0 {
        return Ok(false);
    }
    let request: Request = serde_json::from_slice(&line)?;
    let mut input = |name, length| {
        let bytes = exactly(from, length).ok_or(io::ErrorKind::UnexpectedEof)?;
        Ok::<_, io::Error>(Input::new(name, bytes))
    };
    let tell = |reply: &Reply| -> io::Result<()> {
        let mut to = io::stdout().lock();
        serde_json::to_writer(&mut to, reply)?;
        writeln!(to)
    };
    let mut warn = |warning: &str| drop(tell(&Reply::Warning(warning.to_owned())));
    let (answer, bytes) = match request {
        Request::Lower(request) => {
            let mut input = input(request.name, request.length)?;
            input.keep_lines = request.keep_lines;
            let ToLower { language, emit, module, options, level, codegen_level, comments, processes, .. } = request;
            let job = Job { input, language, emit, module, options, level, codegen_level, comments, processes };
            Answer::from_result(lower(&job, &mut warn))
        }
        Request::Judge(ToJudge { inputs: [ir, ptx], language, module, options, may_be_optimized }) => {
            let (ir, ptx) = (input(ir.0, ir.1)?, input(ptx.0, ptx.1)?);
            let pair = Pair { ir, language, module, ptx, options, may_be_optimized };
            (Answer::of_judged(judge(&pair, &mut warn)), Vec::new())
        }
    };
    tell(&Reply::Answer(answer, bytes.iter().map(|bytes| bytes.len() as u64).collect()))?;
    bytes.iter().try_for_each(|bytes| io::stdout().write_all(bytes))?;
    io::stdout().flush().map(|()| true)
}
