//! One run of a compiler, with a time limit and a limit of its output.

use std::{
    fs::{self, File},
    io::{self, Read},
    os::unix::process::{CommandExt, ExitStatusExt},
    path::{self, Path},
    process::{Child, Command, ExitStatus, Stdio},
    sync::mpsc::{self, Receiver},
    thread,
    time::{Duration, Instant},
};

use ptx_lowering::Target;

use crate::verdict::Grade;

/// A compiler's command line with placeholders in braces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template(Vec<String>);

/// The reasons why words are not a command line of a compiler.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum TemplateError {
    /// There are no words.
    #[error("the command is empty")]
    Empty,
    /// The command line does not name the input.
    #[error("the command has no {{input}}")]
    NoInput,
    /// A placeholder is unknown.
    #[error("expected a placeholder ({known}), found {0}", known = list_placeholders())]
    Unknown(String),
}

/// The placeholders.
const PLACEHOLDERS: [&str; 5] = ["{input}", "{output}", "{sm}", "{number}", "{ptx}"];

fn list_placeholders() -> String {
    PLACEHOLDERS.join(", ")
}

/// The reason why a run gave no PTX, and the messages of the run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// A verdict about the compiler.
    pub verdict: Grade,
    /// The message for users.
    pub said: String,
}

impl Failure {
    pub(crate) fn new(verdict: Grade, said: impl Into<String>) -> Self {
        Self { verdict, said: said.into() }
    }
}

/// The longest output that is read, in bytes. The longest one known is a thousandth of it.
const OUTPUT: u64 = 64 << 20;

/// The number of bytes that are kept of a compiler's messages, from the beginning. Warnings about many functions may
/// precede an error.
const SAID: u64 = 1 << 20;

impl Template {
    /// Takes the words of a command line: `{input}` stands for the file to compile, `{output}` for the file to write
    /// (without it, the compiler writes to standard output), `{sm}` for the GPU such as `sm_90`, `{number}` for its
    /// number such as `90`, and `{ptx}` for the version of PTX such as `ptx86`.
    ///
    /// A compiler runs in a separate folder. A word with a slash that is the path of an existing file or folder
    /// therefore becomes absolute.
    ///
    /// # Errors
    /// If the list is empty, if no word has `{input}`, or if a word has an unknown placeholder. Words with spaces, such
    /// as scripts, may have other braces.
    pub fn new(words: impl IntoIterator<Item = String>) -> Result<Self, TemplateError> {
        let words: Vec<_> = words.into_iter().collect();
        if words.is_empty() {
            return Err(TemplateError::Empty);
        }
        if let Some(unknown) = words.iter().find_map(|word| unknown(word)) {
            return Err(TemplateError::Unknown(unknown.to_owned()));
        }
        if !words.iter().any(|word| word.contains("{input}")) {
            return Err(TemplateError::NoInput);
        }
        Ok(Self(words.into_iter().map(from_here).collect()))
    }

    /// The program.
    pub fn program(&self) -> &str {
        &self.0[0]
    }

    fn writes_file(&self) -> bool {
        self.0.iter().any(|word| word.contains("{output}"))
    }

    /// The command line for two files.
    pub fn words(&self, target: &Target, input: &Path, output: &Path) -> Vec<String> {
        let meanings = [
            input.display().to_string(),
            output.display().to_string(),
            target.sm.name().to_owned(),
            target.sm.number().to_string(),
            target.ptx.feature(),
        ];
        let filled = |word: &String| {
            PLACEHOLDERS.iter().zip(&meanings).fold(word.clone(), |word, (name, text)| word.replace(name, text))
        };
        self.0.iter().map(filled).collect()
    }

    /// Compiles a file, in its folder. Both paths are absolute.
    ///
    /// # Errors
    /// If the compiler fails, does not end in time, or writes nothing or too much.
    pub fn compile(&self, target: &Target, input: &Path, output: &Path, limit: Duration) -> Result<String, Failure> {
        let words = self.words(target, input, output);
        let _ = fs::remove_file(output);
        let mut command = Command::new(&words[0]);
        if let Some(folder) = input.parent().filter(|folder| folder.is_absolute()) {
            command.current_dir(folder);
        }
        command.args(&words[1..]).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
        // The symbolization of a stack takes longer than everything else in a run, and is not needed: compilers crash
        // hundreds of times.
        command.env("LLVM_DISABLE_SYMBOLIZATION", "1").process_group(0);
        let child = command.spawn();
        let child =
            child.map_err(|error| Failure::new(Grade::CompilerError, format!("cannot run '{}': {error}", words[0])))?;
        let mut run = Run::new(child, output);
        let status = run.wait(limit)?;
        // A compiler that writes too much ends when its output is no longer read.
        let written = run.written()?;
        if let Some(failure) = failed(status, &run.read_messages()) {
            return Err(failure);
        }
        let ptx = if self.writes_file() { read(output)? } else { written };
        if ptx.is_empty() {
            return Err(Failure::new(Grade::NoOutput, "it succeeds and writes nothing"));
        }
        String::from_utf8(ptx).map_err(|_| Failure::new(Grade::NoPtx, "its output is not text"))
    }
}

fn failed(status: ExitStatus, said: &str) -> Option<Failure> {
    // A shell exits with 128 plus the signal that ended its command.
    let signal = status.signal().or(status.code().filter(|code| *code > 128).map(|code| code - 128));
    let how = match (signal, status.code()) {
        (None, Some(0)) => return None,
        (Some(signal), _) => (Grade::Crash, format!("signal {signal}")),
        (None, code) => (Grade::CompilerError, format!("exit status {}", code.unwrap_or_default())),
    };
    let said = said.trim();
    let all = match first_error(said) {
        None => how.1,
        Some(error) if said.starts_with(error) => format!("{}: {said}", how.1),
        Some(error) => format!("{}: {error}\n{said}", how.1),
    };
    Some(Failure::new(how.0, all))
}

/// The first line that describes an error; or else the first line that is not a warning.
fn first_error(said: &str) -> Option<&str> {
    let lines = || said.lines().map(str::trim).filter(|line| !line.is_empty());
    let has = |line: &str, words: &[&str]| {
        let line = line.to_lowercase();
        words.iter().any(|word| line.contains(word))
    };
    let is_error = |line: &&str| has(line, &["error:", "error[", "fatal:", "assertion", "panicked at"]);
    lines().find(is_error).or_else(|| lines().find(|line| !has(line, &["warning", "note:"]))).or_else(|| lines().next())
}

/// An unknown placeholder of a word. Braces after a dollar sign are a variable of a shell.
fn unknown(word: &str) -> Option<&str> {
    if word.contains(char::is_whitespace) {
        return None;
    }
    word.match_indices('{').find_map(|(start, _)| {
        let end = start + word[start..].find('}')? + 1;
        let found = &word[start..end];
        let is_name =
            found.len() > 2 && found[1..found.len() - 1].chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        (is_name && !word[..start].ends_with('$') && !PLACEHOLDERS.contains(&found)).then_some(found)
    })
}

/// The absolute path, if the word is the path of an existing file or folder.
fn from_here(word: String) -> String {
    let is_here = word.contains('/') && Path::new(&word).exists();
    let absolute = path::absolute(&word).ok().filter(|_| is_here);
    absolute.and_then(|path| path.into_os_string().into_string().ok()).unwrap_or(word)
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    let mut bytes = Vec::new();
    match File::open(path).and_then(|file| file.take(OUTPUT + 1).read_to_end(&mut bytes)) {
        Ok(_) if bytes.len() as u64 > OUTPUT => Err(too_long()),
        Ok(_) => Ok(bytes),
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            Err(Failure::new(Grade::NoOutput, "it succeeds and writes no file"))
        }
        Err(error) => Err(Failure::new(Grade::NoOutput, format!("its output cannot be read: {error}"))),
    }
}

fn too_long() -> Failure {
    Failure::new(Grade::TooLong, format!("it writes more than {} MiB", OUTPUT >> 20))
}

/// A running compiler. When this value is dropped, the process group of the compiler ends.
struct Run<'p> {
    child: Child,
    stdout: Receiver<Vec<u8>>,
    stderr: Receiver<Vec<u8>>,
    output: &'p Path,
}

impl<'p> Run<'p> {
    fn new(mut child: Child, output: &'p Path) -> Self {
        let stdout = drain(child.stdout.take(), OUTPUT + 1);
        let stderr = drain(child.stderr.take(), SAID);
        Self { child, stdout, stderr, output }
    }

    fn wait(&mut self, limit: Duration) -> Result<ExitStatus, Failure> {
        let start = Instant::now();
        let mut pause = Duration::from_micros(200);
        loop {
            let status = self.child.try_wait();
            let status = status.map_err(|error| Failure::new(Grade::CompilerError, format!("cannot wait: {error}")))?;
            if let Some(status) = status {
                return Ok(status);
            }
            if start.elapsed() > limit {
                return Err(Failure::new(Grade::Timeout, format!("it does not end within {} s", limit.as_secs_f64())));
            }
            if fs::metadata(self.output).is_ok_and(|file| file.len() > OUTPUT) {
                return Err(too_long());
            }
            thread::sleep(pause);
            pause = (pause * 2).min(Duration::from_millis(10));
        }
    }

    fn read_messages(&mut self) -> String {
        String::from_utf8_lossy(&self.received(|run| &run.stderr)).into_owned()
    }

    fn written(&mut self) -> Result<Vec<u8>, Failure> {
        let bytes = self.received(|run| &run.stdout);
        if bytes.len() as u64 > OUTPUT { Err(too_long()) } else { Ok(bytes) }
    }

    /// The bytes that a pipe received. If a process that the compiler left running holds the pipe, the process is
    /// killed.
    fn received(&mut self, pipe: impl Fn(&Self) -> &Receiver<Vec<u8>>) -> Vec<u8> {
        pipe(self).recv_timeout(Duration::from_secs(1)).unwrap_or_else(|_| {
            self.end();
            pipe(self).recv_timeout(Duration::from_secs(1)).unwrap_or_default()
        })
    }

    fn end(&mut self) {
        // SAFETY: a signal to a process group that this value made; if the group has ended, the call has no effect.
        unsafe { libc::kill(-(self.child.id() as libc::pid_t), libc::SIGKILL) };
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        self.end();
        let _ = self.child.wait();
    }
}

/// Reads a pipe to its end in another thread, and keeps the first `kept` bytes. A pipe with more than `OUTPUT` bytes is
/// closed.
fn drain(pipe: Option<impl Read + Send + 'static>, kept: u64) -> Receiver<Vec<u8>> {
    let (sender, receiver) = mpsc::channel();
    thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            let _ = pipe.by_ref().take(kept).read_to_end(&mut bytes);
            let _ = sender.send(bytes);
            let _ = io::copy(&mut pipe.take(OUTPUT), &mut io::sink());
        }
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(script: &str, expected: Result<&str, Grade>) {
        let folder = tempfile::tempdir().expect("a folder");
        let (input, output) = (folder.path().join("in.ll"), folder.path().join("out.ptx"));
        fs::write(&input, "the source").expect("a file");
        let words = ["sh", "-c", script, "{input}", "{output}", "{sm} {number} {ptx}"];
        let template = Template::new(words.map(str::to_owned)).expect("a command");
        let target = Target::new("sm_90".parse().expect("a GPU"), None).expect("a target");
        let start = Instant::now();
        let found = template.compile(&target, &input, &output, Duration::from_secs(1));
        assert_eq!(found.as_deref().map_err(|failure| failure.verdict), expected, "{script}: {found:?}");
        assert!(start.elapsed() < Duration::from_secs(5), "{script}");
    }

    #[test]
    fn compilers() {
        check("cat $0 > $1", Ok("the source"));
        check("echo $2 > $1", Ok("sm_90 90 ptx78\n"));
        check("echo $2; echo to stdout, where the file is what counts", Err(Grade::NoOutput));
        check("echo no >&2; exit 3", Err(Grade::CompilerError));
        check("kill -SEGV $$", Err(Grade::Crash));
        check("sh -c 'kill -ABRT $$'; exit 134", Err(Grade::Crash));
        check("sleep 100", Err(Grade::Timeout));
        check("trap '' TERM; sleep 100 & sleep 100", Err(Grade::Timeout));
        // A process that the compiler leaves running holds its pipes.
        check("sleep 100 & echo done > $1", Ok("done\n"));
        check(": > $1", Err(Grade::NoOutput));
        check("head -c 3 /dev/zero | tr '\\0' '\\377' > $1", Err(Grade::NoPtx));
        check("head -c 100M /dev/zero > $1", Err(Grade::TooLong));
        check("head -c 10M /dev/zero >&2; head -c 10M /dev/zero; echo good > $1", Ok("good\n"));
    }

    #[test]
    fn standard_output() {
        let target = Target::new("sm_90".parse().expect("a GPU"), None).expect("a target");
        let run = |script: &str| {
            let template = Template::new(["sh", "-c", script, "{input}"].map(str::to_owned)).expect("a command");
            template.compile(&target, Path::new("in"), Path::new("/nowhere/out"), Duration::from_secs(20))
        };
        assert_eq!(run("echo $0").as_deref(), Ok("in\n"));
        assert_eq!(run("yes").map_err(|failure| failure.verdict), Err(Grade::TooLong));
        assert_eq!(run("true").map_err(|failure| failure.verdict), Err(Grade::NoOutput));
    }

    #[test]
    fn words() {
        let new = |words: &[&str]| Template::new(words.iter().map(|word| (*word).to_owned()));
        assert_eq!(new(&[]), Err(TemplateError::Empty));
        assert_eq!(new(&["llc"]), Err(TemplateError::NoInput));
        for words in [["llc", "-mcpu={gpu}", "{input}"], ["llc", "{input}", "{gpu}"], ["{gpu}", "{input}", "{sm}"]] {
            assert_eq!(new(&words), Err(TemplateError::Unknown("{gpu}".to_owned())));
        }
        let said = new(&["{gpu}"]).expect_err("an error").to_string();
        assert_eq!(said, "expected a placeholder ({input}, {output}, {sm}, {number}, {ptx}), found {gpu}");
        let kept =
            ["sh", "-c", "awk '{print}' {input}", "${HOME}", "{", "{}", "a{1,2}", "{input}{output}{sm}{number}{ptx}"];
        assert_eq!(new(&kept).map(|template| template.0), Ok(kept.map(str::to_owned).to_vec()));
    }

    /// A path of an existing file: the tests of a crate run in its folder.
    #[test]
    fn paths() {
        let template =
            Template::new(["src/lib.rs", "Cargo.toml", "src/none", "-Isrc/lib.rs", "{input}"].map(str::to_owned));
        let absolute = path::absolute("src/lib.rs").expect("a path").display().to_string();
        let expected = [&*absolute, "Cargo.toml", "src/none", "-Isrc/lib.rs", "{input}"].map(str::to_owned);
        assert_eq!(template.map(|template| template.0), Ok(expected.to_vec()));
    }

    /// The first error in the messages of a compiler.
    #[test]
    fn the_first_error() {
        let check = |said: &str, expected: &str| assert_eq!(first_error(said), Some(expected), "{said}");
        check("warning: unused\nerror: no such GPU\n", "error: no such GPU");
        check("a.cu(3): warning #20: x\na.cu(7): error: y\n1 error detected", "a.cu(7): error: y");
        check("warning: unused variable\nerror[E0425]: cannot find\nerror: aborting", "error[E0425]: cannot find");
        check("'+x' is not a feature (warning)\nLLVM ERROR: Cannot select", "LLVM ERROR: Cannot select");
        check("warning: x\nIt does not work.", "It does not work.");
        check("warning: x", "warning: x");
        assert_eq!(first_error(""), None);
    }
}
