//! What is found in a line of PTX.

use serde::Serialize;

/// A finding about a kernel.
#[derive(Serialize)]
pub struct Row {
    /// `async` or `races` of a check, or `run`.
    pub check: &'static str,
    pub kernel: String,
    /// `error`, `possible`, `warning`, `note` or `not-checked`.
    pub level: &'static str,
    /// From 1; 0 if it is about the whole kernel.
    pub line: u32,
    pub first: Option<u32>,
    pub message: String,
    pub notes: Vec<String>,
    pub help: Option<String>,
    pub edits: Vec<Edit>,
    /// A litmus test of it, with an execution, drawn in text.
    pub explained: Option<String>,
}

/// An instruction to insert.
#[derive(Serialize)]
pub struct Edit {
    pub line: u32,
    /// Whether it goes in front of the line, or behind it.
    pub before: bool,
    pub instruction: String,
}
