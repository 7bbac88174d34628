//! Questions and answers as JSON.

use ptx_isa::{LaunchSize, ModuleError};
use ptx_memory_model::ptx::readings::Readings;
use serde::{Deserialize, Serialize};

/// An error in a field of a question.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Wrong {
    /// The name of the field; for an error that concerns several fields, the first of them.
    pub field: &'static str,
    /// The line of the field, from 1, if the error has one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub line: Option<usize>,
    /// The character of the line, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub column: Option<usize>,
    /// The message of the command.
    pub message: String,
}

impl Wrong {
    /// An error about a whole field.
    pub fn new(field: &'static str, message: impl ToString) -> Self {
        Self { field, line: None, column: None, message: message.to_string() }
    }
}

/// The profile of readings that a field names.
pub fn profile(name: &str, errors: &mut Vec<Wrong>) -> Readings {
    match name {
        "" | "default" => Readings::DEFAULT,
        "strict" => Readings::STRICT,
        other => {
            let message = format!("unknown profile '{other}'; the known profiles are default, strict");
            errors.push(Wrong::new("profile", message));
            Readings::DEFAULT
        }
    }
}

/// The sizes in two fields, in up to three dimensions, such as `128`, `16,8` or `16x8`; an empty field leaves the size
/// unset.
pub fn size(block: &str, grid: &str, errors: &mut Vec<Wrong>) -> LaunchSize {
    let mut read = |field, text: &str| {
        let found = ptx_execute::described::sizes::positive(&text.replace('x', ","));
        if found.is_err() && !text.is_empty() {
            errors.push(Wrong::new(
                field,
                format!("expected one to three numbers from 1, such as 128 or 16,8, found '{text}'"),
            ));
        }
        found.ok()
    };
    LaunchSize { block: read("block", block), grid: read("grid", grid), ..LaunchSize::default() }
}

/// The error of a line of PTX that is not parsed.
pub fn unread(error: ModuleError) -> Wrong {
    Wrong { line: Some(error.line as usize), ..Wrong::new("text", error.reason) }
}

/// The answer to a question of a page.
#[derive(Serialize)]
#[serde(rename_all = "snake_case")]
enum Answer<T> {
    Answer(T),
    Errors(Vec<Wrong>),
}

/// Reads a question, and writes the answer.
pub fn answer<'q, Q: Deserialize<'q>, A: Serialize>(
    question: &'q str,
    of: impl FnOnce(&Q) -> Result<A, Vec<Wrong>>,
) -> String {
    let answer = match serde_json::from_str(question) {
        Ok(question) => of(&question).map_or_else(Answer::Errors, Answer::Answer),
        Err(error) => Answer::Errors(vec![Wrong::new("question", error)]),
    };
    serde_json::to_string(&answer).expect("an answer has only strings and numbers")
}

/// A list of errors as JSON.
pub fn list(wrong: impl Iterator<Item = Wrong>) -> String {
    serde_json::to_string(&wrong.collect::<Vec<_>>()).expect("it has only strings and numbers")
}
