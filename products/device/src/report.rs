//! The report of a process: a file of lines of JSON, one for each module and launch. A process that ends early, or that
//! a signal ends, leaves the lines that it has written.

use std::{
    env,
    fs::{self, File},
    io::Write,
    path::PathBuf,
    process,
};

use ptx_execute::{Fault, Launch, ModuleId, Report, Schedules};
use ptx_isa::FullSize;
use rustc_hash::{FxHashMap, FxHashSet};
use serde::{Deserialize, Serialize};

use crate::{options::Options, say::say_once};

/// A line of a report.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub enum Entry {
    /// A module: its number in the process, and the file with its PTX, in the folder of the report.
    Module { number: u32, file: PathBuf },
    /// The contents of an allocation before its first launch: the number of the allocation, and the file, in the folder of
    /// the report.
    Contents { number: u64, file: PathBuf },
    /// A launch.
    Launch(Box<Launched>),
    /// A race of operations of streams.
    Unordered(Box<Unordered>),
}

/// An operation of a stream.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Operation {
    /// A launch of a kernel, and its number.
    Kernel {
        name: String,
        launch: u64,
    },
    Copy,
    Fill,
    /// An operation that frees memory.
    Free,
}

impl Operation {
    /// The operation, for all launches of the kernel.
    #[must_use]
    pub fn without_number(&self) -> Self {
        match self {
            Self::Kernel { name, .. } => Self::Kernel { name: name.clone(), launch: 0 },
            other => other.clone(),
        }
    }
}

/// An operation that a program has submitted.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Submitted {
    pub operation: Operation,
    /// The number of the stream in the order in which the program made its streams, from 1; 0 for a default stream, or
    /// for a stream that the program has destroyed.
    pub stream: u64,
    pub writes: bool,
}

/// Two operations without an order that access the same bytes, the earlier call first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Unordered {
    pub operations: [Submitted; 2],
    /// Whether both are nodes of a graph, or of graphs that contain each other.
    pub is_of_graph: bool,
    /// The name of the first bytes, such as `buffer1+16`.
    pub place: String,
    pub bytes: u64,
    /// The test of pytest that submitted the later operation.
    pub test: Option<String>,
}

impl Unordered {
    pub fn new(operations: [Submitted; 2], is_of_graph: bool, place: String, bytes: u64) -> Self {
        Self { operations, is_of_graph, place, bytes, test: current_test() }
    }
}

/// A launch that has run.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Launched {
    /// Its number in the process, from 1.
    pub number: u64,
    /// The module and the kernel.
    pub module: u32,
    pub kernel: String,
    pub size: FullSize,
    /// The test of pytest that made the launch.
    pub test: Option<String>,
    /// The arguments, if they are recorded.
    pub arguments: Vec<Given>,
    /// Whether the launch was checked for races.
    pub is_checked: bool,
    /// Whether it was stopped at the budget.
    pub is_cut: bool,
    /// Whether the report is about every schedule.
    pub is_determinate: bool,
    /// The reason why another schedule may differ, in words.
    pub dependence: Option<String>,
    /// The number of instructions that threads have executed.
    pub steps: u64,
    pub findings: Vec<Fault>,
    /// The results that a GPU computes in another way: the line of the PTX, and the difference.
    pub notes: Vec<(u32, String)>,
}

/// An argument of a launch.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Given {
    /// The bytes of a parameter.
    Bytes(Vec<u8>),
    /// The parts of a parameter of more than 8 bytes, each of 8 bytes except the last.
    Struct(Vec<Given>),
    /// An address in an allocation: its number and its size, and the offset.
    Buffer { number: u64, bytes: u64, offset: u64 },
}

impl Launched {
    pub fn new(
        number: u64,
        launch: Launch,
        arguments: Vec<Given>,
        (is_checked, is_cut): (bool, bool),
        report: Report,
    ) -> Self {
        let dependence = match &report.schedules {
            Schedules::Dependent(why) => Some(why.to_string()),
            Schedules::Unknown | Schedules::Determinate { .. } => None,
        };
        Self {
            number,
            module: launch.module.number(),
            kernel: launch.kernel,
            size: launch.size,
            test: current_test(),
            arguments,
            is_checked,
            is_cut,
            is_determinate: report.schedules.is_determinate(),
            dependence,
            steps: report.steps,
            findings: report.findings,
            notes: report.notes.into_iter().map(|note| (note.line, note.what)).collect(),
        }
    }
}

/// The test that runs, from the variable that pytest sets: `tests/test_sum.py::test_sum (call)`.
fn current_test() -> Option<String> {
    let text = env::var("PYTEST_CURRENT_TEST").ok()?;
    Some(text.rsplit_once(" (").map_or(&*text, |(test, _)| test).to_owned())
}

/// The writer of the report.
pub struct Recorder {
    folder: Option<PathBuf>,
    /// The open file, with the process to which it belongs: a process that forks has a file for each side.
    file: Option<(u32, File)>,
    /// The PTX of the modules that the file does not yet have.
    texts: FxHashMap<u32, String>,
    /// The allocations whose contents are written.
    contents: FxHashSet<u64>,
}

impl Recorder {
    pub fn new(options: &Options) -> Self {
        Self { folder: options.folder.clone(), file: None, texts: FxHashMap::default(), contents: FxHashSet::default() }
    }

    /// Notes the PTX of a module. It is written with the first launch of its kernels.
    pub fn module(&mut self, id: ModuleId, text: &str) {
        if self.folder.is_some() {
            self.texts.insert(id.number(), text.to_owned());
        }
    }

    /// Whether the contents of an allocation are still to be written.
    pub fn lacks_contents(&self, number: u64) -> bool {
        self.folder.is_some() && !self.contents.contains(&number)
    }

    /// Writes the contents of an allocation.
    pub fn contents(&mut self, number: u64, bytes: &[u8]) {
        let Some(folder) = self.folder.clone() else { return };
        self.contents.insert(number);
        let id = process::id();
        let file = PathBuf::from(format!("{id}-buffer{number}.bin"));
        match fs::write(folder.join(&file), bytes) {
            Ok(()) => self.write(id, &Entry::Contents { number, file }),
            Err(error) => say_once(&format!("cannot write '{}': {error}", folder.join(&file).display())),
        }
    }

    /// Writes a launch.
    pub fn launch(&mut self, launched: Launched) {
        let Some(folder) = self.folder.clone() else { return };
        let (number, id) = (launched.module, process::id());
        if let Some(text) = self.texts.remove(&number) {
            let file = PathBuf::from(format!("{id}-{number}.ptx"));
            if let Err(error) = fs::write(folder.join(&file), text) {
                say_once(&format!("cannot write '{}': {error}", folder.join(&file).display()));
            }
            self.write(id, &Entry::Module { number, file });
        }
        self.write(id, &Entry::Launch(Box::new(launched)));
    }

    /// Writes a race of operations.
    pub fn race(&mut self, race: Unordered) {
        self.write(process::id(), &Entry::Unordered(Box::new(race)));
    }

    fn write(&mut self, id: u32, entry: &Entry) {
        let Some(folder) = &self.folder else { return };
        let path = folder.join(format!("{id}.jsonl"));
        self.file.take_if(|(owner, _)| *owner != id);
        let opened = match self.file.take() {
            Some((_, file)) => Ok(file),
            None => File::options().create(true).append(true).open(&path),
        };
        let written = opened.and_then(|mut file| {
            let mut line = serde_json::to_vec(entry)?;
            line.push(b'\n');
            file.write_all(&line)?;
            self.file = Some((id, file));
            Ok(())
        });
        if let Err(error) = written {
            say_once(&format!("cannot write '{}': {error}", path.display()));
        }
    }
}
