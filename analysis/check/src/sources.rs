//! Where a line of PTX stands in the sources of its program.

use std::{fs, path::Path};

use itertools::Itertools;
use ptx_atomics_common::Location;
use ptx_isa::{Places, SourceLine};

/// A place in a source.
pub struct Sourced {
    /// The innermost place in a file of the program.
    pub place: Location,
    /// The calls by which the code of that place came into the kernel, in words, from within outwards.
    pub inlined: Option<String>,
}

/// The place of a line of PTX in the files of the program that are here: the file of the kernel, and the files in its folder or below. A
/// user cannot change the lines of a library.
pub fn sourced(places: &Places, line: u32) -> Option<Sourced> {
    let chain: Vec<_> = places.around(line).iter().filter(|place| place.line > 0).collect();
    let kernel = fs::canonicalize(&chain.last()?.file).ok().filter(|file| file.is_file())?;
    let is_of_program = |place: &SourceLine| {
        let file = fs::canonicalize(&place.file).ok();
        file.is_some_and(|file| file == kernel || kernel.parent().is_some_and(|folder| file.starts_with(folder)))
    };
    let at = chain.iter().position(|place| is_of_program(place))?;
    let outwards = chain[at + 1..].iter().join(", which is inlined at ");
    Some(Sourced {
        place: location(chain[at]),
        inlined: (!outwards.is_empty()).then(|| format!("inlined at {outwards}")),
    })
}

fn location(SourceLine { file, line, column }: &SourceLine) -> Location {
    Location { file: Path::new(file).display().to_string(), line: *line, column: *column }
}
