//! Where findings are shown: in PTX that was given, or in the source of what was compiled.

use ptx_atomics::llvm::{Input, Location};
use ptx_execute::{Finding, Site};

/// The PTX that is run.
pub struct Shown {
    pub input: Input,
    /// Whether it was compiled of something else.
    pub is_compiled: bool,
}

impl Shown {
    /// The place of an instruction.
    pub fn place(&self, site: &Site) -> Option<Location> {
        let source = site.source.as_ref().filter(|_| self.is_compiled).map(|source| Location {
            file: source.file.clone(),
            line: source.line,
            column: source.column,
        });
        source.or_else(|| self.line(site.line))
    }

    /// An instruction in words.
    pub fn words(&self, site: &Site) -> String {
        let words = site.to_string();
        if self.is_compiled { words.replacen(':', " of the PTX:", 1) } else { words }
    }

    /// The place of a line of PTX.
    pub fn line(&self, line: u32) -> Option<Location> {
        (line > 0).then(|| Location { file: self.input.name().to_owned(), line, column: 0 })
    }
}

/// A place in memory that a message does not name.
pub fn unnamed(finding: &Finding) -> Option<&str> {
    finding.place.as_deref().filter(|place| !finding.message.contains(place))
}
