//! Diagnostics as rustc prints them.

use std::{fs, io::Write, ops::Range};

use annotate_snippets::{AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use ptx_atomics::llvm::{Diagnostic, Input, Location};

/// Prints errors to standard error, in color where that is a terminal and `NO_COLOR` is not set, and how many they are.
pub fn errors(diagnostics: &[Diagnostic], input: Option<&Input>) {
    diagnostics.iter().for_each(|diagnostic| error(diagnostic, input));
    if !diagnostics.is_empty() {
        let s = if diagnostics.len() == 1 { "" } else { "s" };
        let title = Level::ERROR.primary_title(format!("{} error{s}; nothing was written", diagnostics.len()));
        print(Group::with_title(title));
    }
}

/// Prints one error to standard error.
pub fn error(diagnostic: &Diagnostic, input: Option<&Input>) {
    let mut group = Group::with_title(Level::ERROR.primary_title(&diagnostic.message));
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

/// The line in the input or in a file that the debug information names.
fn source_line(location: &Location, input: Option<&Input>) -> Option<String> {
    let index = location.line.checked_sub(1)? as usize;
    let nth = |text: &str| text.lines().nth(index).map(str::to_owned);
    match input {
        Some(input) if input.name() == location.file => nth(input.text()?),
        // The module says which file; what is no file (a device, a pipe) is not read.
        _ if !fs::metadata(&location.file).ok()?.is_file() => None,
        _ => nth(&fs::read_to_string(&location.file).ok()?),
    }
}
