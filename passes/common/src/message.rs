//! Messages of the pass: errors, and remarks about its changes.

use std::{
    any::Any,
    fmt,
    ops::{Deref, DerefMut},
};

use ptx_lowering::{Change, Sequence};
use ptx_optimize::Rewrite;

/// A place in a source file.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Location {
    /// The path of the file, as the program or its debug information has it.
    pub file: String,
    /// The line, counted from 1.
    pub line: u32,
    /// The column, counted from 1; 0 if unknown.
    pub column: u32,
}

/// The form that compilers print: `file:line:column`, or `file:line`.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file, line, column } = self;
        write!(f, "{file}:{line}")?;
        if *column > 0 { write!(f, ":{column}") } else { Ok(()) }
    }
}

impl Location {
    /// The text for the location in a message about `file`: the line alone, or the whole location if it is in another
    /// file.
    pub fn text_relative_to(&self, file: Option<&str>) -> String {
        if file == Some(self.file.as_str()) { format!("on line {}", self.line) } else { format!("at {self}") }
    }
}

/// An error: its message, its location, the operation, and the help.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Diagnostic {
    /// The problem and its reason, in one sentence without a period.
    pub message: String,
    /// The function that contains the error.
    pub function: Option<String>,
    /// The location in the source program, or in the input.
    pub location: Option<Location>,
    /// The operation, in the syntax of LLVM.
    pub operation: Option<String>,
    /// Further facts about the error, each a sentence.
    pub notes: Vec<String>,
    /// The action that the user can take.
    pub help: Option<String>,
}

impl Diagnostic {
    /// An error with a message only.
    pub fn new(message: impl Into<String>) -> Self {
        Self { message: message.into(), ..Self::default() }
    }

    /// The same error, with help.
    pub fn help(self, help: impl Into<String>) -> Self {
        Self { help: Some(help.into()), ..self }
    }

    /// An error with the message of a panic, for a host into which the panic must not unwind.
    pub fn of_panic(panic: &(dyn Any + Send)) -> Self {
        let text = panic.downcast_ref::<String>().map(String::as_str).or(panic.downcast_ref::<&str>().copied());
        Self::new(format!("ptx-atomics has a bug: {}", text.unwrap_or("it panicked")))
            .help("please report it with the IR of this module")
    }

    /// The location as the prefix of a message: `file:line:column: in function f: `, as far as it is known.
    pub fn place(&self) -> String {
        let location = self.location.iter().map(|at| format!("{at}: "));
        location.chain(self.function.iter().map(|name| format!("in function {name}: "))).collect()
    }

    /// The message, operation, help and notes, without the location, as the text of one diagnostic of a host.
    pub fn text(&self) -> String {
        let mut text = self.message.clone();
        for (what, line) in [("operation", &self.operation), ("help", &self.help)] {
            text.extend(line.iter().flat_map(|line| ["\n  ", what, ": ", line]));
        }
        self.notes.iter().for_each(|note| text.extend(["\n  note: ", note]));
        text
    }
}

/// The error on one line: `file:line:column: in function f: message; help: help`, without the unknown parts.
impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line = self.place() + &self.message;
        line.extend(self.help.iter().map(|help| format!("; help: {help}")));
        // Names and LLVM's messages may contain line breaks.
        f.write_str(&line.lines().collect::<Vec<_>>().join(" "))
    }
}

impl std::error::Error for Diagnostic {}

/// All errors of an input, in the order of the input. Each is displayed on a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Errors(Vec<Diagnostic>);

impl Errors {
    /// An empty list of errors.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds an error.
    pub fn push(&mut self, error: Diagnostic) {
        self.0.push(error);
    }

    /// The value, if there are no errors.
    ///
    /// # Errors
    /// These errors, if there are any.
    pub fn or<T>(self, value: T) -> Result<T, Self> {
        if self.is_empty() { Ok(value) } else { Err(self) }
    }

    /// The value of a result. The errors of a failed result are added to these errors.
    pub fn keep<T>(&mut self, result: Result<T, impl Into<Self>>) -> Option<T> {
        result.map_err(|errors| self.extend(errors.into())).ok()
    }
}

impl fmt::Display for Errors {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, error) in self.iter().enumerate() {
            write!(f, "{}{error}", if index > 0 { "\n" } else { "" })?;
        }
        Ok(())
    }
}

impl std::error::Error for Errors {}

impl Deref for Errors {
    type Target = [Diagnostic];

    fn deref(&self) -> &[Diagnostic] {
        &self.0
    }
}

impl DerefMut for Errors {
    fn deref_mut(&mut self) -> &mut [Diagnostic] {
        &mut self.0
    }
}

impl IntoIterator for Errors {
    type Item = Diagnostic;
    type IntoIter = std::vec::IntoIter<Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl<'a> IntoIterator for &'a Errors {
    type Item = &'a Diagnostic;
    type IntoIter = std::slice::Iter<'a, Diagnostic>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.iter()
    }
}

impl Extend<Diagnostic> for Errors {
    fn extend<I: IntoIterator<Item = Diagnostic>>(&mut self, errors: I) {
        self.0.extend(errors);
    }
}

impl FromIterator<Diagnostic> for Errors {
    fn from_iter<I: IntoIterator<Item = Diagnostic>>(errors: I) -> Self {
        Self(errors.into_iter().collect())
    }
}

/// For a compiler whose errors are texts.
impl From<Errors> for String {
    fn from(errors: Errors) -> Self {
        errors.to_string()
    }
}

impl From<Diagnostic> for Errors {
    fn from(error: Diagnostic) -> Self {
        Self(vec![error])
    }
}

impl From<Vec<Diagnostic>> for Errors {
    fn from(errors: Vec<Diagnostic>) -> Self {
        Self(errors)
    }
}

/// Applies `work` to each item, and returns all results, or all errors if there is an error.
pub fn each<T, U>(
    items: impl IntoIterator<Item = T>,
    mut work: impl FnMut(T) -> Result<U, Errors>,
) -> Result<Vec<U>, Errors> {
    let mut errors = Errors::new();
    let done = items.into_iter().filter_map(|item| errors.keep(work(item))).collect();
    errors.or(done)
}

/// A remark about one operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Remark {
    /// The function that contains the operation.
    pub function: String,
    /// The location in the source program, or in the input.
    pub location: Option<Location>,
    /// The operation, in the syntax of LLVM.
    pub operation: String,
    /// The result for the operation.
    pub outcome: Outcome,
}

impl Remark {
    /// The kind of the remark: the name by which tools that read remarks select it.
    pub fn name(&self) -> &'static str {
        match &self.outcome {
            Outcome::Lowered { .. } => "Lowered",
            Outcome::Optimized { rewrite, .. } => rewrite.into(),
            Outcome::Inserted { .. } => "Inserted",
        }
    }

    /// Whether the remark reports an optimization that was not applied.
    pub fn is_missed(&self) -> bool {
        matches!(self.outcome, Outcome::Optimized { applied: false, .. })
    }
}

/// The result for one operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The operation was lowered.
    Lowered {
        /// The sequence that replaces the operation.
        sequence: Sequence,
        /// The differences from the request: stronger instructions or additional instructions, with reasons.
        changes: Vec<Change>,
        /// Whether the operation stays LLVM's own instruction, which LLVM prints as the sequence.
        native: bool,
    },
    /// The operation was optimized before lowering, or could have been.
    Optimized {
        /// The rewrite.
        rewrite: Rewrite,
        /// Whether the rewrite was applied.
        applied: bool,
        /// The change and its reason, or the obstacle.
        message: String,
    },
    /// An instruction was inserted at an asynchronous operation, or next to one.
    Inserted {
        /// The inserted instruction, as PTX.
        instruction: String,
        /// The side of the operation on which the instruction was inserted, as text.
        side: &'static str,
        /// The rule that requires the instruction, such as "R4".
        rule: String,
        /// The message of the finding.
        message: String,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(
        location: Option<(&str, u32, u32)>,
        function: Option<&str>,
        message: &str,
        help: Option<&str>,
        line: &str,
    ) {
        let error = Diagnostic {
            location: location.map(|(file, line, column)| Location { file: file.into(), line, column }),
            function: function.map(str::to_owned),
            help: help.map(str::to_owned),
            ..Diagnostic::new(message)
        };
        assert_eq!(error.to_string(), line);
        assert_eq!(Errors::from_iter([error.clone(), error]).to_string(), format!("{line}\n{line}"));
    }

    #[test]
    fn each_error_is_a_line_with_its_place() {
        check(None, None, "'a' is empty", None, "'a' is empty");
        check(Some(("a.ll", 3, 5)), Some("f"), "m", Some("h"), "a.ll:3:5: in function f: m; help: h");
        check(Some(("a.ll", 3, 0)), None, "two\nlines", None, "a.ll:3: two lines");
    }

    #[test]
    fn no_error_prints_nothing() {
        assert_eq!(Errors::new().to_string(), "");
        assert_eq!(Errors::new().or(1), Ok(1));
    }
}
