//! Findings in lines of PTX.

use serde::Serialize;

/// A finding about a kernel.
#[derive(Serialize)]
pub struct Row {
    /// `async` or `races` of a check, or `run`.
    pub check: &'static str,
    pub kernel: String,
    /// `error`, `possible`, `warning`, `note` or `not-checked`.
    pub level: &'static str,
    /// The line, from 1; 0 for a finding about the whole kernel.
    pub line: u32,
    pub first: Option<u32>,
    pub message: String,
    pub notes: Vec<String>,
    pub help: Option<String>,
    pub edits: Vec<Edit>,
    /// A litmus test of the finding, with an execution, drawn in text.
    pub explained: Option<String>,
}

/// An instruction to insert.
#[derive(Serialize)]
pub struct Edit {
    pub line: u32,
    /// Whether the instruction is inserted before the line; otherwise it is inserted after the line.
    pub before: bool,
    pub instruction: String,
}
