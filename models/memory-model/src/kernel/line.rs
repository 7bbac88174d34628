//! Where the code of a thread comes from.

pub use ptx_isa::SourceLine;

/// Where a statement of a thread comes from.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Line {
    /// The line of the PTX, from 1; 0 for what is in no text.
    pub number: u32,
    /// The PTX.
    pub text: String,
    /// Where the code stands, then where it was inlined or called, from within outwards, as far as the compiler said it. The
    /// last one is in the function that the thread runs.
    pub places: Vec<SourceLine>,
    /// Why the model does not have it.
    pub wrong: Option<String>,
}

impl Line {
    /// The place in the file of the function that the thread runs.
    pub fn source(&self) -> Option<&SourceLine> {
        ptx_isa::own(&self.places)
    }

    /// Where the code stands itself, if that is in another file.
    pub fn within(&self) -> Option<&SourceLine> {
        self.places.first().filter(|first| self.source() != Some(first))
    }
}
