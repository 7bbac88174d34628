//! The source lines of a module's code, from `.file` and `.loc` directives and their comments.

use std::{
    collections::{BTreeMap, HashMap},
    fmt::{self, Display, Formatter},
};

use crate::module::{Code, Item, Module};

/// A line of a kernel's source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct SourceLine {
    /// The path in the `.file` directive.
    pub file: String,
    /// The line number, from 1.
    pub line: u32,
    /// The column, from 1; 0 if unknown.
    pub column: u32,
}

impl Display for SourceLine {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.line)?;
        if self.column > 0 {
            write!(f, ":{}", self.column)?;
        }
        Ok(())
    }
}

/// The innermost place that is in the file of the outermost place. `places` is ordered from the innermost function
/// outwards. For code inlined from a header or a library, this is a line of the caller's file.
pub fn innermost_in_file(places: &[SourceLine]) -> Option<&SourceLine> {
    let file = &places.last()?.file;
    places.iter().find(|place| place.file == *file)
}

/// The source lines of `.loc` directives.
#[derive(Clone, Debug, Default)]
pub struct Places {
    /// The paths of files, by the numbers in their directives.
    files: HashMap<u32, String>,
    /// The places of the code after each `.loc`, by the line of the PTX: the place of the code, then the places of its
    /// inlined calls outwards. Empty where the place is unknown, or where a function begins.
    at: BTreeMap<u32, Vec<SourceLine>>,
}

/// The number of a file, a line and a column.
type PlaceInFile = [u32; 3];

/// The maximum depth of inlining.
const MAX_DEPTH: usize = 64;

impl Places {
    /// Reads the directives of a module's text, and their comments.
    pub fn read_text(text: &str) -> Self {
        Self::new((1..).zip(text.lines().map(str::trim_start)))
    }

    /// The places of a parsed module, whose text has lost its comments.
    pub fn of_module(module: &Module) -> Self {
        let mut lines = Vec::new();
        for item in &module.items {
            match item {
                // All files come first, because the position of a directive between functions is unknown.
                Item::Directive(text) => lines.push((0, text.trim_start())),
                Item::Function(function) => {
                    let first = function.body.iter().flatten().next();
                    lines.extend(first.map(|line| (line.number, ".func")));
                    lines.extend(function.body.iter().flatten().filter_map(|line| match &line.code {
                        Code::Directive(text) => Some((line.number, text.trim_start())),
                        _ => None,
                    }));
                }
            }
        }
        lines.sort_by_key(|(number, _)| *number);
        Self::new(lines.into_iter())
    }

    fn new<'a>(lines: impl Iterator<Item = (u32, &'a str)> + Clone) -> Self {
        let files = lines.clone().filter_map(|(_, line)| file(line)).collect();
        let mut places = Self { files, at: BTreeMap::new() };
        let mut calls = HashMap::new();
        for (number, line) in lines {
            // Each function lists its inlined calls anew.
            if [".func", ".entry"].iter().any(|word| line.contains(word)) {
                calls.clear();
                places.at.insert(number, Vec::new());
            }
            if let Some(words) = line.strip_prefix(".loc") {
                let at = places.location(words, &mut calls).unwrap_or_default();
                places.at.insert(number, at);
            }
        }
        places
    }

    /// The paths of all files, as the compiler wrote them.
    pub fn files(&self) -> Vec<String> {
        let mut numbers: Vec<_> = self.files.keys().collect();
        numbers.sort_unstable();
        numbers.into_iter().map(|number| self.files[number].clone()).collect()
    }

    /// The places that a `.loc` on this line of the PTX names. Returns `None` if the line has no `.loc`, or its `.loc`
    /// names no line.
    pub fn at(&self, line: u32) -> Option<&[SourceLine]> {
        self.at.get(&line).map(Vec::as_slice).filter(|places| !places.is_empty())
    }

    /// The places of the code on a line of the PTX, from the last preceding `.loc` in its function.
    pub fn around(&self, line: u32) -> &[SourceLine] {
        self.at.range(..=line).next_back().map_or(&[], |(_, places)| places)
    }

    /// Reads `1 20 5`, or `2 7 1, function_name $name, inlined_at 1 20 5`, where the call may itself be inlined. LLVM
    /// writes the calls into a comment: `2 7 1 // lib.h:7:1 @[ a.cu:20:5 ]`. Line 0 means no place.
    fn location(&self, words: &str, calls: &mut HashMap<PlaceInFile, PlaceInFile>) -> Option<Vec<SourceLine>> {
        let (words, comment) = words.split_once("//").unwrap_or((words, ""));
        let innermost = place(words)?;
        match words.split_once("inlined_at").and_then(|(_, call)| place(call)) {
            Some(call) => drop(calls.insert(innermost, call)),
            None => drop(calls.remove(&innermost)),
        }
        let known = |[file, line, column]: PlaceInFile| {
            let file = self.files.get(&file).filter(|_| line != 0)?.clone();
            Some(SourceLine { file, line, column })
        };
        let mut outward = comment.split(" @[ ").skip(1).peekable();
        let all: Vec<SourceLine> = match outward.peek() {
            Some(_) => known(innermost).into_iter().chain(outward.filter_map(|call| self.named(call))).collect(),
            None => {
                let outward = std::iter::successors(Some(innermost), |place| calls.get(place).copied());
                outward.take(MAX_DEPTH).filter_map(known).collect()
            }
        };
        (!all.is_empty()).then_some(all)
    }

    /// Reads `a.cu:20:5`, possibly followed by closing brackets.
    fn named(&self, text: &str) -> Option<SourceLine> {
        let mut words = text.trim_end_matches([' ', ']']).rsplitn(3, ':');
        let column = words.next()?.parse().ok()?;
        let line = words.next()?.parse().ok().filter(|line| *line != 0)?;
        let name = words.next()?;
        // The path comes from the `.file` directive, which may also contain the folder.
        let end = format!("/{}", name.trim_start_matches("./"));
        let mut files: Vec<_> = self.files.iter().filter(|(_, file)| *file == name || file.ends_with(&end)).collect();
        files.sort_unstable();
        let file = files.first().map_or(name, |(_, file)| file);
        Some(SourceLine { file: file.to_owned(), line, column })
    }
}

/// `.file 1 "a.cu"`: the number and the path.
fn file(line: &str) -> Option<(u32, String)> {
    let (number, rest) = line.strip_prefix(".file")?.trim_start().split_once(char::is_whitespace)?;
    Some((number.parse().ok()?, path(rest.trim_start().strip_prefix('"')?)))
}

/// Reads a path up to its closing quote. nvcc writes the bytes of a path unchanged; LLVM writes `\303` for a byte that
/// is not ASCII, and a backslash before a quote or a backslash.
fn path(quoted: &str) -> String {
    let (mut path, mut rest) = (Vec::new(), quoted.as_bytes());
    loop {
        rest = match *rest {
            [] | [b'"', ..] => return String::from_utf8_lossy(&path).into_owned(),
            [b'\\', a @ b'0'..=b'3', b @ b'0'..=b'7', c @ b'0'..=b'7', ref rest @ ..] => {
                path.push((a - b'0') << 6 | (b - b'0') << 3 | (c - b'0'));
                rest
            }
            [b'\\', byte @ (b'"' | b'\\'), ref rest @ ..] | [byte, ref rest @ ..] => {
                path.push(byte);
                rest
            }
        };
    }
}

/// Reads the first three numbers of a text.
fn place(text: &str) -> Option<PlaceInFile> {
    let words = text.split(|c: char| c.is_whitespace() || c == ',' || c == ';').filter(|word| !word.is_empty());
    words.map_while(|word| word.parse().ok()).take(3).collect::<Vec<_>>().try_into().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks the places of a `.loc` at the end of some lines, as `file:line:column`, from the innermost outwards.
    fn check(lines: &[&str], expected: &[&str]) {
        const FILES: &str = ".file 1 \"/w/a.cu\"\n.file 2 \"/w/./lib.h\"\n.file 3 \"/w/in/lib.h\"\n";
        let text = format!("{FILES}{}", lines.join("\n"));
        let places = Places::read_text(&text);
        let found = places.at(lines.len() as u32 + 3).unwrap_or_default();
        let shown: Vec<_> = found.iter().map(|at| format!("{}:{}:{}", at.file, at.line, at.column)).collect();
        assert_eq!(shown, expected, "{text}");
    }

    #[test]
    fn lines() {
        check(&["\t.loc\t1 20 5"], &["/w/a.cu:20:5"]);
        check(&[".loc 1 20 5 // a.cu:20:5"], &["/w/a.cu:20:5"]);
        check(&[".loc 1 0 5"], &[]);
        check(&[".loc 7 20 5"], &[]);
        check(&["ret;"], &[]);
    }

    #[test]
    fn paths_are_read_as_nvcc_and_llvm_write_them() {
        let check = |quoted: &str, expected: &str| {
            let text = format!(".file 1 \"{quoted}\"\n.file 2 \"b.cu\", 1700000000, 12\n.loc 1 2 3\n");
            assert_eq!(Places::read_text(&text).files(), [expected, "b.cu"]);
            assert_eq!(Places::read_text(&text).at(3).map(|at| at[0].file.clone()).as_deref(), Some(expected));
        };
        check("/tmp/ü/kernel ñ.cu", "/tmp/ü/kernel ñ.cu");
        check(r"/tmp/\303\274/kernel \303\261.cu", "/tmp/ü/kernel ñ.cu");
        check(r#"a\"b\\c.cu"#, r#"a"b\c.cu"#);
        check(r"C:\src\400.cu", r"C:\src\400.cu");
        check(r"\377.cu", "\u{fffd}.cu");
    }

    #[test]
    fn code_between() {
        let text = ".file 1 \"a.cu\"\n.visible .entry a()\n{\n.loc 1 2 3\nret;\nret;\n}\n.visible .entry b()\n{\nret;\n.loc 1 7 0\nret;\n}\n";
        let module = format!(".version 8.0\n.target sm_90\n.address_size 64\n{text}").parse().expect("PTX");
        for (places, above) in [(Places::read_text(text), 0), (Places::of_module(&module), 3)] {
            let shown = |line: u32| innermost_in_file(places.around(line + above)).map(ToString::to_string);
            let (first, last) = (Some("a.cu:2:3".to_owned()), Some("a.cu:7".to_owned()));
            assert_eq!([3, 4, 6, 10, 12].map(shown), [None, first.clone(), first, None, last]);
        }
    }

    #[test]
    fn inlined_code() {
        let call = ".loc 2 7 1, function_name $L, inlined_at 1 20 5";
        check(&[call], &["/w/./lib.h:7:1", "/w/a.cu:20:5"]);
        let outer = ["/w/./lib.h:3:2", "/w/./lib.h:7:1", "/w/a.cu:20:5"];
        check(&[call, ".loc 2 3 2, function_name $L+4, inlined_at 2 7 1"], &outer);
        // A later statement about the same place takes precedence.
        check(&[call, ".loc 2 7 1"], &["/w/./lib.h:7:1"]);
        check(&[".loc 2 3 2 // ./lib.h:3:2 @[ ./lib.h:7:1 @[ a.cu:20:5 ] ]"], &outer);
        check(&[".loc 3 3 2 // in/lib.h:3:2 @[ in/lib.h:7:1 ]"], &["/w/in/lib.h:3:2", "/w/in/lib.h:7:1"]);
        check(&[".loc 2 0 2 // ./lib.h:0:2 @[ a.cu:20:5 ]"], &["/w/a.cu:20:5"]);
        check(&[".loc 2 3 2 // ./lib.h:3:2 @[ elsewhere.cu:20:5 ]"], &["/w/./lib.h:3:2", "elsewhere.cu:20:5"]);
        // Circular calls do not hang the reader.
        assert!(
            Places::read_text(".file 1 \"a\"\n.loc 1 2 3, inlined_at 1 2 3")
                .at(2)
                .is_some_and(|at| at.len() == MAX_DEPTH)
        );
    }
}
