//! A litmus test, with its origin.

use std::{fs, path::Path};

use crate::{
    kernel::{Compiled, Line, SourceLine},
    litmus::{self, Litmus},
};

/// A litmus test, with its origin.
pub struct Subject {
    /// The path of the test, as the user gave it.
    pub file: String,
    /// The test.
    pub litmus: Litmus,
    /// For a test of kernels, the origin of its threads.
    pub compiled: Option<Compiled>,
    /// The line of each statement of each thread; for a test of kernels, [`Compiled`] has the lines.
    pub lines: Vec<Vec<usize>>,
    /// Warnings about possible mistakes, with their positions.
    pub warnings: Vec<String>,
}

impl Subject {
    /// The origin of a statement of a thread, if the thread is from a kernel.
    pub fn line(&self, thread: usize, statement: usize) -> Option<&Line> {
        self.compiled.as_ref()?.lines.get(thread)?.get(statement)
    }

    /// The line of a statement in the text of the test, or in the PTX of a kernel.
    pub fn number(&self, thread: usize, statement: usize) -> Option<usize> {
        let of_kernel = self.line(thread, statement).map(|line| line.number as usize);
        of_kernel.or_else(|| self.lines.get(thread)?.get(statement).copied())
    }

    /// A statement as it is in its text.
    pub fn instruction(&self, thread: usize, statement: usize) -> Option<String> {
        if let Some(line) = self.line(thread, statement) {
            return Some(line.text.split_whitespace().collect::<Vec<_>>().join(" ").trim_end_matches(';').to_owned());
        }
        let of = self.litmus.program.threads.get(thread)?;
        Some(litmus::instruction(&self.litmus.program, of, of.code.get(statement)?))
    }

    /// The source line of a statement with its text, if the file can be read.
    pub fn source(&self, thread: usize, statement: usize) -> Option<String> {
        self.line(thread, statement).and_then(source)
    }

    /// A thread, with the function that it runs.
    pub fn thread(&self, thread: usize) -> String {
        let function = self.compiled.as_ref().and_then(|compiled| compiled.functions.get(thread));
        format!("P{thread}{}", function.map(|name| format!(" {name}")).unwrap_or_default())
    }
}

/// `file:line: text` of the source. If the code is inlined from another file of the program, also that line.
pub fn source(line: &Line) -> Option<String> {
    let own = line.source()?;
    let within = line.within().filter(|within| is_of_program(within, own));
    let within = within.map(|within| format!(" inlined from {}", text_at(within))).unwrap_or_default();
    Some(text_at(own) + &within)
}

fn text_at(place: &SourceLine) -> String {
    let text = fs::read_to_string(&place.file).ok();
    let text = text.as_deref().and_then(|text| text.lines().nth(place.line.saturating_sub(1) as usize));
    let file =
        Path::new(&place.file).file_name().map_or(place.file.clone(), |name| name.to_string_lossy().into_owned());
    match text {
        Some(text) => format!("{file}:{}: {}", place.line, text.trim()),
        None => format!("{file}:{}", place.line),
    }
}

/// Whether a source line is in a readable file in the folder of another file, or below it. This excludes libraries,
/// whose lines their users cannot change.
fn is_of_program(place: &SourceLine, own: &SourceLine) -> bool {
    let [place, own] = [place, own].map(|at| fs::canonicalize(&at.file).ok());
    let folder = own.as_deref().and_then(Path::parent);
    place.zip(folder).is_some_and(|(place, folder)| place.starts_with(folder))
}
