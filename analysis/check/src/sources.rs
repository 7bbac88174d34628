//! The source location of a line of PTX.

use std::{fs, path::Path};

use itertools::Itertools;
use ptx_atomics_common::Location;
use ptx_isa::{Places, SourceLine};

/// A source location.
pub struct Sourced {
    /// The innermost location in a file of the program.
    pub place: Location,
    /// The calls that inlined the code into the kernel, in words, innermost first.
    pub inlined: Option<String>,
}

/// The source location of a line of PTX, in the existing files of the program: the file of the kernel, and the files in
/// its folder or below. A user cannot change the lines of a library.
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
