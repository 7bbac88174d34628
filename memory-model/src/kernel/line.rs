//! Where the code of a thread comes from.

/// A line of the source of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// The path, as the compiler wrote it.
    pub file: String,
    /// From 1.
    pub line: u32,
    /// From 1; 0 if it is not known.
    pub column: u32,
}

/// Where a statement of a thread comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// The line of the PTX, from 1; 0 for what is in no text.
    pub number: u32,
    /// The PTX.
    pub text: String,
    /// Where the compiler had it from.
    pub source: Option<SourceLine>,
    /// Why the model does not have it.
    pub wrong: Option<String>,
}
