//! The locations of findings: in the source if its file is found, or else in the PTX.

use ptx_atomics::execute::Site;
use ptx_atomics::pass::{Input, Location};
use ptx_atomics::ptx::{InstPlace, Places};

use ptx_atomics::check::sources::{Sourced, sourced};

/// The PTX that is run.
pub struct RunPtx {
    pub input: Input,
    places: Places,
}

impl RunPtx {
    pub fn new(input: Input) -> Self {
        let places = Places::read_text(input.text().unwrap_or_default());
        Self { input, places }
    }

    /// The place of an instruction.
    pub fn place(&self, site: &Site) -> Option<Location> {
        self.source(site).map(|source| source.place).or_else(|| self.line(site.at))
    }

    /// The calls by which the code of an instruction was inlined, in words.
    pub fn inlined(&self, site: &Site) -> Option<String> {
        self.source(site)?.inlined
    }

    /// An instruction in words.
    pub fn words(&self, site: &Site) -> String {
        let words = site.to_string();
        if self.source(site).is_some() { words.replacen(": ", " of the PTX: ", 1) } else { words }
    }

    /// The place of an instruction in the PTX.
    pub fn line(&self, at: InstPlace) -> Option<Location> {
        (at.line > 0).then(|| Location { file: self.input.name().to_owned(), line: at.line, column: at.column })
    }

    /// The location of an instruction in a source file that exists.
    fn source(&self, site: &Site) -> Option<Sourced> {
        sourced(&self.places, site.at.line)
    }
}
