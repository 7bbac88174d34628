//! The origin of a thread's code.

pub use ptx_isa::SourceLine;

/// The origin of a statement of a thread.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// The line of the PTX, from 1; 0 if the statement is in no text.
    pub number: u32,
    /// The PTX.
    pub text: String,
    /// The source line of the code, then the lines at which it was inlined or called, from the innermost outwards, as
    /// far as the compiler recorded them. The last line is in the function that the thread runs.
    pub places: Vec<SourceLine>,
    /// The reason why the model does not have the instruction.
    pub wrong: Option<String>,
}

impl Line {
    /// The line in the file of the function that the thread runs.
    pub fn source(&self) -> Option<&SourceLine> {
        ptx_isa::innermost_in_file(&self.places)
    }

    /// The innermost source line, if it is in another file.
    pub fn within(&self) -> Option<&SourceLine> {
        self.places.first().filter(|first| self.source() != Some(first))
    }
}
