//! Where findings are shown: in the source, where its file is found, or else in the PTX.

use std::path::Path;

use ptx_atomics::execute::{Finding, Site};
use ptx_atomics::pass::{Input, Location};

/// The PTX that is run.
pub struct Shown {
    pub input: Input,
}

impl Shown {
    /// The place of an instruction.
    pub fn place(&self, site: &Site) -> Option<Location> {
        source(site).or_else(|| self.line(site.line))
    }

    /// An instruction in words.
    pub fn words(&self, site: &Site) -> String {
        let words = site.to_string();
        if source(site).is_some() { words.replacen(':', " of the PTX:", 1) } else { words }
    }

    /// The place of a line of PTX.
    pub fn line(&self, line: u32) -> Option<Location> {
        (line > 0).then(|| Location { file: self.input.name().to_owned(), line, column: 0 })
    }
}

/// The place of an instruction in a source that is there.
fn source(site: &Site) -> Option<Location> {
    let source = site.source.as_ref().filter(|source| source.line > 0 && Path::new(&source.file).is_file())?;
    Some(Location { file: source.file.clone(), line: source.line, column: source.column })
}

/// A place in memory that a message does not name.
pub fn unnamed(finding: &Finding) -> Option<&str> {
    finding.place.as_deref().filter(|place| !finding.message.contains(place))
}
