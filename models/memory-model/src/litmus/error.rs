//! What is wrong with a text, and where.

/// What is wrong with a text, and where: line and column count from 1, the latter in characters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct Error {
    /// The line.
    pub line: usize,
    /// The column within the line.
    pub column: usize,
    /// What is wrong, as a clause without a full stop.
    pub message: String,
}

/// All that is wrong with a text, in its order; never nothing.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct Errors(pub Vec<Error>);

impl From<Error> for Errors {
    fn from(error: Error) -> Self {
        Self(vec![error])
    }
}

impl Error {
    /// An error so many bytes into a text.
    pub(crate) fn at(text: &str, offset: usize, message: impl Into<String>) -> Self {
        let before = &text[..offset];
        let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
        Self { line: before.matches('\n').count() + 1, column, message: message.into() }
    }
}
