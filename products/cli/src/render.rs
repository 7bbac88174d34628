//! Diagnostics in the format of rustc.

use std::{
    borrow::Cow,
    cell::RefCell,
    collections::HashMap,
    fs,
    io::Write,
    ops::{Range, RangeInclusive},
    path::Path,
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
};

use annotate_snippets::{Annotation, AnnotationKind, Group, Level, Origin, Renderer, Snippet};
use ptx_atomics::pass::{Diagnostic, Input, Location};

/// The limit of printed errors.
static LIMIT: AtomicUsize = AtomicUsize::new(usize::MAX);
/// The number of errors.
static ERRORS: AtomicUsize = AtomicUsize::new(0);

/// Sets the limit of printed errors of this process; 0 means no limit.
pub fn limit(errors: usize) {
    LIMIT.store(if errors == 0 { usize::MAX } else { errors }, Relaxed);
}

/// Prints the number of errors beyond the limit, if there are any.
pub fn omitted() {
    let errors = ERRORS.swap(0, Relaxed);
    if let Some(omitted @ 1..) = errors.checked_sub(LIMIT.load(Relaxed)) {
        let s = if omitted == 1 { " is" } else { "s are" };
        let title = Level::ERROR.primary_title(format!("{omitted} more error{s} not shown; --error-limit 0 shows all"));
        print(Group::with_title(title));
        say("");
    }
}

/// The output that is missing because of an error.
#[derive(Clone, Copy)]
pub enum Lost<'a> {
    All,
    /// The output of this input.
    Of(&'a Path),
}

/// Prints errors to standard error, with colors if it is a terminal and `NO_COLOR` is not set, and their number.
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

/// A name for a single line: a long name without its text in angle brackets.
fn brief(name: &str) -> Cow<'_, str> {
    const LONG: usize = 80;
    if name.len() <= LONG {
        return name.into();
    }
    let (mut short, mut depth) = (String::new(), 0usize);
    for letter in name.chars() {
        match letter {
            '<' => {
                short.push_str(if depth == 0 { "<…" } else { "" });
                depth += 1;
            }
            '>' if depth > 0 => {
                depth -= 1;
                short.push_str(if depth == 0 { ">" } else { "" });
            }
            _ if depth == 0 => short.push(letter),
            _ => {}
        }
    }
    short.into()
}

/// Prints one error to standard error, up to the limit.
pub fn error(diagnostic: &Diagnostic, input: Option<&Input>) {
    message(&Message { level: Level::ERROR, id: None, diagnostic, first: None }, input);
}

/// Prints one warning to standard error.
pub fn warning(diagnostic: &Diagnostic, input: Option<&Input>) {
    message(&Message { level: Level::WARNING, id: None, diagnostic, first: None }, input);
}

/// Prints one note to standard error.
pub fn note(diagnostic: &Diagnostic, input: Option<&Input>) {
    message(&Message { level: Level::NOTE, id: None, diagnostic, first: None }, input);
}

/// A message about a location.
pub struct Message<'a> {
    pub level: Level<'static>,
    /// The identifier in brackets after the level.
    pub id: Option<&'a str>,
    pub diagnostic: &'a Diagnostic,
    /// The location of the access that precedes the access of the diagnostic.
    pub first: Option<&'a Location>,
}

/// The distance of lines up to which they are shown in one piece.
const NEAR: u32 = 1000;

/// Prints a message to standard error; errors only up to the limit.
pub fn message(Message { level, id, diagnostic, first }: &Message<'_>, input: Option<&Input>) {
    let is_error = level.clone() == Level::ERROR;
    if is_error && ERRORS.fetch_add(1, Relaxed) >= LIMIT.load(Relaxed) {
        return;
    }
    let title = level.clone().primary_title(&diagnostic.message);
    let mut group = Group::with_title(match id {
        Some(id) => title.id(*id),
        None => title,
    });
    let in_function = diagnostic.function.as_ref().map(|name| format!("in function '{}'", brief(name)));
    let mut notes = Vec::new();
    let line = diagnostic.location.as_ref().and_then(|at| Some((at, source(at, at.line..=at.line, input)?)));
    match (&diagnostic.location, line) {
        (Some(_), Some((location, line))) => {
            let first = first.filter(|first| *first != location);
            let near = first.filter(|first| first.file == location.file && first.line.abs_diff(location.line) <= NEAR);
            let from = near.map_or(location.line, |near| near.line.min(location.line));
            let to = near.map_or(location.line, |near| near.line.max(location.line));
            let text = source(location, from..=to, input).unwrap_or_else(|| line.clone());
            let mut snippet = Snippet::source(text.clone()).path(&location.file).line_start(from as usize);
            snippet = snippet.annotation(annotation(AnnotationKind::Primary, &text, from, location, in_function));
            if let Some(near) = near {
                let label = Some("the first access".to_owned());
                snippet = snippet.annotation(annotation(AnnotationKind::Context, &text, from, near, label));
            }
            group = group.element(snippet);
            let far = first.filter(|_| near.is_none());
            if let Some((far, text)) = far.and_then(|far| Some((far, source(far, far.line..=far.line, input)?))) {
                let label = Some("the first access".to_owned());
                let annotation = annotation(AnnotationKind::Context, &text, far.line, far, label);
                let snippet = Snippet::source(text.clone()).path(&far.file).line_start(far.line as usize);
                group = group.element(snippet.annotation(annotation));
            }
        }
        (Some(location), None) => {
            let origin = Origin::path(&location.file).line(location.line as usize);
            group =
                group.element(if location.column > 0 { origin.char_column(location.column as usize) } else { origin });
            notes.extend(in_function);
        }
        (None, _) => notes.extend(in_function),
    }
    // The shown line of an `.ll` file already has the operation.
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

/// Prints a line to standard error. anstream removes unwanted styles. An error is ignored, because no channel remains
/// to report it.
pub fn say(text: &str) {
    let _ = writeln!(anstream::stderr(), "{text}");
}

/// The span of a column: the word at the column, or the whole line if the column is 0.
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

/// The annotation of a location, in a text whose first line has the number `from`.
fn annotation(
    kind: AnnotationKind,
    text: &str,
    from: u32,
    place: &Location,
    label: Option<String>,
) -> Annotation<'static> {
    let mut start = 0;
    let mut lines = text.split_inclusive('\n');
    for line in lines.by_ref().take((place.line - from) as usize) {
        start += line.len();
    }
    let line = lines.next().unwrap_or_default();
    let Range { start: a, end: b } = span(line.trim_end_matches(['\r', '\n']), place.column);
    kind.span(start + a..start + b).label(label)
}

/// The lines of a file.
struct Lines {
    text: String,
    /// The offsets of the lines, and the end of the text.
    starts: Vec<usize>,
}

impl Lines {
    fn new(text: String) -> Self {
        let starts = text.split_inclusive('\n').scan(0, |end, line| Some(std::mem::replace(end, *end + line.len())));
        let starts = starts.chain([text.len()]).collect();
        Self { text, starts }
    }

    /// The lines with these numbers, from 1, without the end of the last line.
    fn get(&self, numbers: RangeInclusive<u32>) -> Option<&str> {
        let (first, last) = (numbers.start().checked_sub(1)? as usize, *numbers.end() as usize);
        let lines = self.text.get(*self.starts.get(first)?..*self.starts.get(last)?)?;
        let lines = lines.strip_suffix('\n').unwrap_or(lines);
        Some(lines.strip_suffix('\r').unwrap_or(lines))
    }
}

/// The source lines in the input, or in a file that the debug information names.
fn source(location: &Location, numbers: RangeInclusive<u32>, input: Option<&Input>) -> Option<String> {
    thread_local! {
        /// The files by name, and by whether the file is the input. There may be thousands of errors; each file is read
        /// once.
        static FILES: RefCell<HashMap<(String, bool), Option<Lines>>> = RefCell::default();
    }
    let input = input.filter(|input| input.name() == location.file);
    let read = || match input {
        Some(input) => Some(input.text()?.to_owned()),
        // The module chooses the file; paths that are not regular files (a device, a pipe) are not read.
        None if !fs::metadata(&location.file).ok()?.is_file() => None,
        None => fs::read_to_string(&location.file).ok(),
    };
    FILES.with_borrow_mut(|files| {
        let lines = files.entry((location.file.clone(), input.is_some())).or_insert_with(|| read().map(Lines::new));
        lines.as_ref()?.get(numbers).map(str::to_owned)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines() {
        for text in ["", "a", "a\n", "a\r\n\n b", "\n\n", "\u{e4}\n\u{f6}"] {
            let lines = Lines::new(text.to_owned());
            let found: Vec<_> = (1..).map_while(|number| lines.get(number..=number)).collect();
            assert_eq!(found, text.lines().collect::<Vec<_>>(), "{text:?}");
            assert_eq!(lines.get(0..=0), None);
        }
    }

    #[test]
    fn long_names_have_no_arguments() {
        let long = format!("void sm90::forward<sm90::Traits<{}>, int>::run<A<B>>", "1, ".repeat(40));
        assert_eq!(brief(&long), "void sm90::forward<…>::run<…>");
        assert_eq!(brief("std::vector<int>::push"), "std::vector<int>::push");
        assert_eq!(brief(&format!("a->b{}", ">".repeat(90))), format!("a->b{}", ">".repeat(90)));
    }
}
