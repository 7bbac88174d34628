//! Diagnostics as rustc prints them.

use std::{
    cell::RefCell,
    collections::HashMap,
    fs,
    io::Write,
    ops::Range,
    path::Path,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use ptx_atomics::llvm::{Diagnostic, Input, Location};

/// How many errors are shown.
static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);
/// How many there were.
static ERRORS: AtomicUsize = AtomicUsize::new(0);

/// Sets how many errors this process shows; 0 is no limit.
pub fn limit(errors: usize) {
    LIMIT.store(if errors == 0 { usize::MAX } else { errors }, Relaxed);
}

/// Says how many errors were not shown, if any.
pub fn omitted() {
    let errors = ERRORS.swap(0, Relaxed);
    if let Some(omitted @ 1..) = errors.checked_sub(LIMIT.load(Relaxed)) {
        let s = if omitted == 1 { " is" } else { "s are" };
        let title = Level::ERROR.primary_title(format!("{omitted} more error{s} not shown; --error-limit 0 shows all"));
        print(Group::with_title(title));
        say("");
    }
}

/// What is not written on an error.
#[derive(Clone, Copy)]
pub enum Lost<'a> {
    All,
    /// What this input would have become.
    Of(&'a Path),
}

/// Prints errors to standard error, in color where that is a terminal and `NO_COLOR` is not set, and how many they are.
pub fn errors(diagnostics: &[Diagnostic], input: Option<&Input>, lost: Lost<'_>) {
    diagnostics.iter().for_each(|diagnostic| error(diagnostic, input));
    omitted();
    if !diagnostics.is_empty() {
        let s = if diagnostics.len() == 1 { "" } else { "s" };
        let of = if let Lost::Of(path) = lost { format!(" for '{}'", path.display()) } else { String::new() };
        let title = format!("{} error{s}; nothing was written{of}", diagnostics.len());
        print(Group::with_title(Level::ERROR.primary_title(title)));
    }
}

/// Prints one error to standard error, up to the limit.
pub fn error(diagnostic: &Diagnostic, input: Option<&Input>) {
    if ERRORS.fetch_add(1, Relaxed) < LIMIT.load(Relaxed) {
        show(Level::ERROR, diagnostic, input);
    }
}

/// Prints one warning to standard error.
pub fn warning(diagnostic: &Diagnostic, input: Option<&Input>) {
    show(Level::WARNING, diagnostic, input);
}

fn show(level: Level<'_>, diagnostic: &Diagnostic, input: Option<&Input>) {
    let mut group = Group::with_title(level.primary_title(&diagnostic.message));
    let line = diagnostic.location.as_ref().and_then(|location| source_line(location, input));
    let in_function = diagnostic.function.as_ref().map(|name| format!("in function '{name}'"));
    let mut notes = Vec::new();
    match (&diagnostic.location, line) {
        (Some(location), Some(line)) => {
            let annotation = AnnotationKind::Primary.span(span(&line, location.column)).label(in_function);
            let snippet = Snippet::source(line).path(&location.file).line_start(location.line as usize);
            group = group.element(snippet.annotation(annotation));
        }
        (Some(location), None) => {
            let origin = Origin::path(&location.file).line(location.line as usize);
            group =
                group.element(if location.column > 0 { origin.char_column(location.column as usize) } else { origin });
            notes.extend(in_function);
        }
        (None, _) => notes.extend(in_function),
    }
    // The line of an `.ll` file shows the operation already.
    let shown = diagnostic.location.as_ref().is_some_and(|location| input.is_some_and(|i| i.name() == location.file));
    notes.extend(
        diagnostic.operation.iter().filter(|_| !shown).map(|operation| format!("the operation is `{operation}`")),
    );
    notes.extend(diagnostic.notes.iter().cloned());
    group = group.elements(notes.into_iter().map(|note| Level::NOTE.message(note)));
    group = group.elements(diagnostic.help.iter().map(|help| Level::HELP.message(help)));
    print(group);
    say("");
}

fn print(group: Group<'_>) {
    say(&Renderer::styled().render(&[group]));
}

/// Prints a line to standard error. anstream removes styles where they are not wanted; if nobody listens, so be it.
pub fn say(text: &str) {
    let _ = writeln!(anstream::stderr(), "{text}");
}

/// What a column points to: the word there, or the whole line if the column is 0.
fn span(line: &str, column: u32) -> Range<usize> {
    let Some(column) = column.checked_sub(1) else {
        let start = line.len() - line.trim_start().len();
        return start..start + line.trim().len();
    };
    let start = (0..=line.len().min(column as usize)).rev().find(|index| line.is_char_boundary(*index)).unwrap_or(0);
    let rest = &line[start..];
    let word = rest.find(|c: char| !(c.is_alphanumeric() || "_.%@".contains(c))).unwrap_or(rest.len());
    let first = rest.chars().next().map_or(0, char::len_utf8);
    start..start + word.max(first)
}

/// The lines of a file.
struct Lines {
    text: String,
    /// Where each begins, and the end.
    starts: Vec<usize>,
}

impl Lines {
    fn new(text: String) -> Self {
        let starts = text.split_inclusive('\n').scan(0, |end, line| Some(std::mem::replace(end, *end + line.len())));
        let starts = starts.chain([text.len()]).collect();
        Self { text, starts }
    }

    /// By its number, from 1.
    fn get(&self, number: u32) -> Option<&str> {
        let index = number.checked_sub(1)? as usize;
        let line = self.text.get(*self.starts.get(index)?..*self.starts.get(index + 1)?)?;
        line.lines().next().or(Some(""))
    }
}

/// The line in the input or in a file that the debug information names.
fn source_line(location: &Location, input: Option<&Input>) -> Option<String> {
    thread_local! {
        /// Errors come in thousands; their files are read once. By name, and whether it is that of the input.
        static FILES: RefCell<HashMap<(String, bool), Option<Lines>>> = RefCell::default();
    }
    let input = input.filter(|input| input.name() == location.file);
    let read = || match input {
        Some(input) => Some(input.text()?.to_owned()),
        // The module says which file; what is no file (a device, a pipe) is not read.
        None if !fs::metadata(&location.file).ok()?.is_file() => None,
        None => fs::read_to_string(&location.file).ok(),
    };
    FILES.with_borrow_mut(|files| {
        let lines = files.entry((location.file.clone(), input.is_some())).or_insert_with(|| read().map(Lines::new));
        lines.as_ref()?.get(location.line).map(str::to_owned)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        for text in ["", "a", "a\n", "a\r\n\n b", "\n\n", "\u{e4}\n\u{f6}"] {
            let lines = Lines::new(text.to_owned());
            let found: Vec<_> = (1..).map_while(|number| lines.get(number)).collect();
            assert_eq!(found, text.lines().collect::<Vec<_>>(), "{text:?}");
            assert_eq!(lines.get(0), None);
        }
    }
}
