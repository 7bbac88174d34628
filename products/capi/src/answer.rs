//! The result of a call: outputs and diagnostics, as texts that end with a NUL.

use ptx_atomics_common::{Diagnostic, Errors};

use crate::constants::{DiagnosticSeverity, Part, Status};

/// The result of a call. ptx_atomics_result_free frees it.
#[derive(Default)]
pub struct Answer {
    pub(crate) outputs: Vec<Text>,
    pub(crate) messages: Vec<Message>,
    /// The status of a call that failed by itself: a wrong argument, or a bug of the library.
    pub(crate) wrong: Option<Status>,
}

/// Bytes with a NUL after them.
pub(crate) struct Text(Vec<u8>);

/// A diagnostic. The result that has it owns it.
pub struct Message {
    pub(crate) level: DiagnosticSeverity,
    pub(crate) line: u32,
    pub(crate) column: u32,
    /// The texts of the diagnostic, indexed by the numbers of [`Part`].
    parts: [Option<Text>; 7],
}

/// The message about an argument that the function does not accept.
pub(crate) struct Misuse(pub String);

impl From<&str> for Misuse {
    fn from(message: &str) -> Self {
        Self(message.to_owned())
    }
}

impl Text {
    pub fn new(bytes: impl Into<Vec<u8>>) -> Self {
        let mut bytes = bytes.into();
        bytes.push(0);
        Self(bytes)
    }

    pub fn bytes(&self) -> &[u8] {
        &self.0[..self.0.len() - 1]
    }
}

impl Answer {
    /// A result with one text as its output.
    pub(crate) fn text(text: String) -> Self {
        Self { outputs: vec![Text::new(text)], ..Self::default() }
    }

    pub(crate) fn errors(errors: Errors) -> Self {
        let messages = errors.into_iter().map(|error| Message::new(DiagnosticSeverity::Error, error, None)).collect();
        Self { messages, ..Self::default() }
    }

    pub(crate) fn wrong(status: Status, error: Diagnostic) -> Self {
        Self { wrong: Some(status), ..Self::errors(error.into()) }
    }

    /// The status that the call returns.
    pub(crate) fn status(&self) -> Status {
        let has_error = self.messages.iter().any(|message| message.level == DiagnosticSeverity::Error);
        self.wrong.unwrap_or(if has_error { Status::Failed } else { Status::Ok })
    }
}

impl Message {
    pub(crate) fn new(level: DiagnosticSeverity, diagnostic: Diagnostic, rule: Option<&'static str>) -> Self {
        let Diagnostic { message, function, location, operation, notes, help } = diagnostic;
        let (line, column) = location.as_ref().map_or((0, 0), |at| (at.line, at.column));
        let notes = (!notes.is_empty()).then(|| notes.join("\n"));
        let rule = rule.map(ToOwned::to_owned);
        let mut parts = [const { None }; 7];
        for (part, text) in [
            (Part::Message, Some(message)),
            (Part::Help, help),
            (Part::File, location.map(|at| at.file)),
            (Part::Function, function),
            (Part::Operation, operation),
            (Part::Notes, notes),
            (Part::Rule, rule),
        ] {
            parts[part as usize] = text.map(Text::new);
        }
        Self { level, line, column, parts }
    }

    pub(crate) fn part(&self, number: u32) -> Option<&Text> {
        self.parts[Part::from_repr(number as usize)? as usize].as_ref()
    }
}
