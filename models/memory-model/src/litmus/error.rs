//! Errors in a text, with their positions.

/// An error in a text, with its position: line and column count from 1, the column in characters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct Error {
    /// The line.
    pub line: usize,
    /// The column within the line.
    pub column: usize,
    /// The message, as a clause without a full stop.
    pub message: String,
}

/// All errors of a text, in the order of their positions; never empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct Errors(pub Vec<Error>);

impl From<Error> for Errors {
    fn from(error: Error) -> Self {
        Self(vec![error])
    }
}

impl Error {
    /// An error at this offset in a text, in bytes.
    pub(crate) fn at(text: &str, offset: usize, message: impl Into<String>) -> Self {
        let before = &text[..offset];
        let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
        Self { line: before.matches('\n').count() + 1, column, message: message.into() }
    }
}
