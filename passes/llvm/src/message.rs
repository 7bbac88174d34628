//! What the pass says: errors, and remarks on what it did.

use std::any::Any;

use ptx_atomics_lowering::{Change, Sequence};

/// A place in a source file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    pub file: String,
    /// From 1.
    pub line: u32,
    /// From 1; 0 if unknown.
    pub column: u32,
}

/// An error: what, where, why, and what to do.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostic {
    pub message: String,
    /// The function in which it was found.
    pub function: Option<String>,
    pub location: Option<Location>,
    /// The operation, in LLVM's words.
    pub operation: Option<String>,
    pub notes: Vec<String>,
    pub help: Option<String>,
}

impl Diagnostic {
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }

    pub fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    /// What a panic said, for a host into which it must not unwind.
    pub fn of_panic(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        Self::new(format!("ptx-atomics has a bug: {}", text.unwrap_or("it panicked")))
            .help("please report it with the IR of this module")
    }

    /// All but the place, as the text of one diagnostic of a host.
    pub fn text(&self) -> String {
        let mut text = self.message.clone();
        for (what, line) in [("operation", &self.operation), ("help", &self.help)] {
            text.extend(line.iter().flat_map(|line| ["\n  ", what, ": ", line]));
        }
        self.notes.iter().for_each(|note| text.extend(["\n  note: ", note]));
        text
    }
}

/// Errors come in lists: all that were found.
impl From<Diagnostic> for Vec<Diagnostic> {
    fn from(diagnostic: Diagnostic) -> Self {
        vec![diagnostic]
    }
}

/// What became of one operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    pub function: String,
    pub location: Option<Location>,
    /// The operation, in LLVM's words.
    pub operation: String,
    pub sequence: Sequence,
    pub changes: Vec<Change>,
}
