//! Errors of the reader of litmus tests.

use ptx_atomics::{
    memory_model::litmus::Error,
    pass::{Diagnostic, Input, Location},
};

/// Converts an error of the reader, which counts characters, to a diagnostic, which counts bytes.
pub fn diagnostic(error: Error, text: &str, input: &Input) -> Diagnostic {
    let line = text.lines().nth(error.line.saturating_sub(1)).unwrap_or_default();
    let before = line.chars().take(error.column.saturating_sub(1)).map(char::len_utf8).sum::<usize>();
    let place = |number: usize| u32::try_from(number).unwrap_or(u32::MAX);
    let location = Some(Location { file: input.name().to_owned(), line: place(error.line), column: place(before + 1) });
    Diagnostic { location, ..Diagnostic::new(error.message) }
}
