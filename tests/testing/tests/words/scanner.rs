//! The words of the English in a file: in comments, messages and Markdown.
//!
//! A reader of the language cuts a file into passages. Quotations are removed from a passage: fenced code, text in
//! backquotes, the target of a link, and the placeholders of a message. The rest is split into words.

use itertools::Itertools;

/// A word in lower case, without a genitive's `'s`.
pub struct Word {
    pub text: String,
    pub line: usize,
    /// Only spaces or the end of a line stand between the word and the previous word.
    pub is_joined: bool,
}

/// A comment, a string literal or a whole file, with its first line.
struct Passage {
    line: usize,
    text: String,
    /// A string literal, which counts only if it is a message.
    is_literal: bool,
}

impl Passage {
    /// A passage that counts.
    fn new(line: usize, text: impl Into<String>) -> Self {
        Self { line, text: text.into(), is_literal: false }
    }
}

/// Cuts a file into passages.
type Reader = fn(&str) -> Vec<Passage>;

const MARKDOWN: Reader = |text| vec![Passage::new(1, text)];
const SLASHES: Reader = |text| comments(text, "//", ("/*", "*/"));
const HASHES: Reader = |text| comments(text, "#", (r#"""""#, r#"""""#));

/// The extensions of the files that have English. A file without extension is a script in shell or Python.
const LANGUAGES: [(&str, Reader); 7] =
    [("rs", rust), ("md", MARKDOWN), ("js", SLASHES), ("cpp", SLASHES), ("py", HASHES), ("sh", HASHES), ("", HASHES)];

/// The beginning and the end of each quotation, and the text that no quotation contains.
const QUOTATIONS: [(&str, &str, &str); 4] = [("``", "``", "\n\n"), ("`", "`", "\n\n"), ("](", ")", " "), PLACEHOLDER];
const PLACEHOLDER: (&str, &str, &str) = ("{", "}", " ");

pub fn has_english(extension: &str) -> bool {
    LANGUAGES.iter().any(|(name, _)| *name == extension)
}

/// The words of a file, in order. A file of another language has none.
pub fn words(extension: &str, text: &str) -> Vec<Word> {
    let reader = LANGUAGES.iter().find(|(name, _)| *name == extension).map(|(_, reader)| reader);
    let passages = reader.map(|read| read(text)).unwrap_or_default();
    let counts = |passage: &&Passage| !passage.is_literal || is_message(&passage.text);
    passages.iter().filter(counts).flat_map(split_words).collect()
}

/// Whether a literal is a message: three words or placeholders follow each other, with only spaces between.
fn is_message(text: &str) -> bool {
    let is_word = |part: &str| {
        let part = part.trim_matches(['`', '"', '\'', '(', ')']);
        let is_placeholder = part.starts_with('{') && part.ends_with('}');
        is_placeholder || (!part.is_empty() && part.chars().all(|c| c.is_alphabetic() || c == '\''))
    };
    text.split_whitespace().map(is_word).tuple_windows().any(|(first, second, third)| first && second && third)
}

fn split_words(passage: &Passage) -> Vec<Word> {
    let mut words = Vec::new();
    let mut is_joined = false;
    for (line, text) in (passage.line..).zip(remove_quotations(passage).lines()) {
        let mut parts = text.split(|c: char| c.is_whitespace() || c == '*').filter(|part| !part.is_empty()).peekable();
        // The end of a paragraph.
        is_joined &= parts.peek().is_some();
        for part in parts {
            for (_, run) in &part.chars().chunk_by(|c| c.is_alphanumeric() || "_'".contains(*c)) {
                let run: String = run.collect();
                let word = run.trim_matches('\'').split('\'').next().unwrap_or_default();
                let is_word = !word.is_empty() && word.chars().all(char::is_alphabetic);
                if is_word {
                    words.push(Word { text: word.to_lowercase(), line, is_joined });
                }
                is_joined = is_word;
            }
        }
    }
    words
}

/// The text of a passage with a comma for each quotation, in the same lines.
fn remove_quotations(passage: &Passage) -> String {
    let mut is_fenced = false;
    let unfenced = passage.text.split('\n').map(|line| {
        let is_fence = line.trim_start().starts_with("```");
        is_fenced ^= is_fence;
        if is_fenced || is_fence { "," } else { line }
    });
    let unfenced = unfenced.collect::<Vec<_>>().join("\n");
    let (mut rest, mut text) = (&*unfenced, String::new());
    while let Some(first) = rest.chars().next() {
        let quotation = QUOTATIONS.iter().find_map(|row| {
            let (open, close, limit) = *row;
            let inner = rest.strip_prefix(open)?;
            let inner = &inner[..inner.find(limit).unwrap_or(inner.len())];
            let length = open.len() + inner.find(close)? + close.len();
            (passage.is_literal || *row != PLACEHOLDER).then_some(length)
        });
        let (taken, after) = rest.split_at(quotation.unwrap_or(first.len_utf8()));
        match quotation {
            Some(_) => text.extend([",", &"\n".repeat(taken.matches('\n').count())]),
            None => text += taken,
        }
        rest = after;
    }
    text
}

/// The unread part of a Rust file, with its line.
struct Source<'t> {
    rest: &'t str,
    line: usize,
}

impl<'t> Source<'t> {
    fn take(&mut self, length: usize) -> &'t str {
        let (taken, rest) = self.rest.split_at(length);
        self.line += taken.matches('\n').count();
        self.rest = rest;
        taken
    }
}

/// The comments and the string literals of a Rust file. Comments of consecutive lines are a single passage.
fn rust(text: &str) -> Vec<Passage> {
    let mut source = Source { rest: text, line: 1 };
    let mut passages: Vec<Passage> = Vec::new();
    // The next line, if only spaces follow a line comment.
    let mut continued = None;
    while let Some(first) = source.rest.chars().next() {
        let (rest, line) = (source.rest, source.line);
        if first.is_whitespace() {
            source.take(first.len_utf8());
            continue;
        }
        let is_continued = continued.take() == Some(line);
        if rest.starts_with("//") {
            let comment = source.take(rest.find('\n').unwrap_or(rest.len())).trim_start_matches('/');
            let comment = comment.strip_prefix('!').unwrap_or(comment).trim_end();
            match passages.last_mut() {
                Some(last) if is_continued => last.text.extend(["\n", comment]),
                _ => passages.push(Passage::new(line, comment)),
            }
            continued = Some(line + 1);
        } else if rest.starts_with("/*") {
            let comment = source.take(block_comment_length(rest));
            passages.push(Passage::new(line, comment.trim_matches('/')));
        } else if first == '"' {
            let (length, text) = string_literal(rest);
            source.take(length);
            passages.push(Passage { line, text, is_literal: true });
        } else if first == '\'' {
            source.take(quote_length(rest));
        } else if first.is_alphanumeric() || first == '_' {
            let end = rest.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(rest.len());
            let name = source.take(end);
            let hashes = source.rest.len() - source.rest.trim_start_matches('#').len();
            // A raw identifier has a hash, too.
            if ["r", "br", "cr"].contains(&name) && source.rest[hashes..].starts_with('"') {
                source.take(hashes + 1);
                let close = format!("\"{}", "#".repeat(hashes));
                let text = source.take(source.rest.find(&close).unwrap_or(source.rest.len())).to_owned();
                source.take(close.len().min(source.rest.len()));
                passages.push(Passage { line, text, is_literal: true });
            }
        } else {
            source.take(first.len_utf8());
        }
    }
    passages
}

/// The length of a block comment in bytes, with the comments in it.
fn block_comment_length(text: &str) -> usize {
    let mut depth = 0;
    let mut at = 0;
    while at < text.len() {
        match text.as_bytes()[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

/// The length of a string literal in bytes, and its text in the lines of the literal. An escaped end of a line is a space.
fn string_literal(literal: &str) -> (usize, String) {
    let mut text = String::new();
    let mut characters = literal.char_indices().skip(1);
    while let Some((at, c)) = characters.next() {
        match c {
            '"' => return (at + 1, text),
            '\\' => text.extend(characters.next().map(|(_, c)| if "nrt".contains(c) { ' ' } else { c })),
            _ => text.push(c),
        }
    }
    (literal.len(), text)
}

/// The length of a character literal in bytes; 1 for the quote of a lifetime.
fn quote_length(text: &str) -> usize {
    let mut characters = text.char_indices().skip(1);
    let is_escaped = characters.next().is_some_and(|(_, c)| c == '\\');
    if is_escaped {
        characters.next();
        return characters.find(|(_, c)| *c == '\'').map_or(1, |(at, _)| at + 1);
    }
    characters.next().filter(|(_, c)| *c == '\'').map_or(1, |(at, _)| at + 1)
}

/// The comments of a language in which a space follows the marker of a line comment. A block counts if it begins a line,
/// such as a docstring.
fn comments(text: &str, marker: &str, (open, close): (&str, &str)) -> Vec<Passage> {
    let mut passages: Vec<Passage> = Vec::new();
    let mut add = |line, text: &str, is_continued: bool| match passages.last_mut() {
        Some(last) if is_continued && last.line + last.text.matches('\n').count() + 1 == line => {
            last.text.extend(["\n", text]);
        }
        _ => passages.push(Passage::new(line, text)),
    };
    // Within a block: whether the block counts.
    let mut block = None;
    for (line, text) in (1..).zip(text.lines()) {
        let mut rest = text;
        loop {
            let begins = rest.len() == text.len();
            if let Some(counts) = block {
                let (inner, after) = rest.split_once(close).map_or((rest, None), |(inner, after)| (inner, Some(after)));
                if counts {
                    add(line, inner, begins);
                }
                let Some(after) = after else { break };
                (block, rest) = (None, after);
                continue;
            }
            let is_comment = |at: &usize| {
                let (before, after) = (&rest[..*at], &rest[at + marker.len()..]);
                (before.is_empty() || before.ends_with(char::is_whitespace))
                    && (after.is_empty() || after.starts_with(' '))
            };
            let comment = rest.match_indices(marker).map(|(at, _)| at).find(is_comment);
            match rest.find(open).filter(|at| comment.is_none_or(|comment| *at < comment)) {
                Some(at) => (block, rest) = (Some(rest[..at].trim().is_empty()), &rest[at + open.len()..]),
                None => {
                    if let Some(at) = comment {
                        add(line, &rest[at + marker.len()..], rest[..at].trim().is_empty());
                    }
                    break;
                }
            }
        }
    }
    passages
}

/// The words that the scanner reads: joined words with a space between, other words with ` / `.
pub fn reads_english() -> Result<(), libtest_mimic::Failed> {
    let check = |extension: &str, text: &str, expected: &str| {
        let join = |word: Word| format!("{}{}", if word.is_joined { " " } else { " / " }, word.text);
        let read: String = words(extension, text).into_iter().map(join).collect();
        assert_eq!(read.strip_prefix(" / ").unwrap_or(&read), expected, "{extension}: {text}");
    };
    // Comments of Rust.
    check("rs", "// A load.\nlet x = 1; // Stores, it\n// reads.", "a load / stores / it reads");
    check("rs", "/// The type is\n/// no word.\n//! It is.", "the type is no word / it is");
    check("rs", "// One is\n\n// no word", "one is / no word");
    check("rs", "// One is\n//\n// no word", "one is / no word");
    check("rs", "// One is\nlet x = 1;\n// no word", "one is / no word");
    check("rs", "/* A /* nested */ one\n * is */ code", "a / nested / one is");
    check("rs", "/// Text\n/// ```\n/// let x = 1;\n/// ```\n/// again", "text / again");
    check("rs", "// Not `a load` or ``a ` b`` but *this* one's, sm_90 x1", "not / or / but this one");
    check("rs", "// An ` alone\n//\n// and ` again", "an / alone / and / again");
    // Literals of Rust.
    check("rs", r#"f("no such file", "two words", "{a}, {b}", "two, words, each")"#, "no such file");
    check("rs", r#"f("the {what} is in {who:?}")"#, "the / is in");
    check("rs", r#"f("`{a}` is no {b:?}", "{who} is in place")"#, "is no / is in place");
    check("rs", r#"f("an \"inner one\" is // here", 1) // end"#, "an / inner one / is / here / end");
    check("rs", "f(\"it is \\\n    no end\\nat all\")", "it is no end at all");
    check("rs", r##"f(r#"it is "a raw" one"#, r#type, br"it is one \", no)"##, "it is / a raw / one / it is one");
    check("rs", r"fn f<'a>(x: &'a str) { ['\'', '\u{41}', '\\', '/', 'b'] } // a quote", "a quote");
    check("rs", r#"['"'] // one "a b c d""#, "one / a b c d");
    check("rs", r#"mov("ld.relaxed.gpu.b32 %r1, [%rd2]; add.s32 %r1, %r1, 1;")"#, "");
    // Markdown.
    check("md", "# A title\n\nIt [is](a.md#what-is)\nno *end*.\n", "a title / it / is / no end");
    check("md", "Text\n```sh\nwho is this\n```\n| a | `b` c |\n", "text / a / c");
    // Languages with simple comments.
    check("py", "#!/bin/sh\n# It is\n# one\nx = \"#no\" # y", "it is one / y");
    check(
        "py",
        "def f():\n    \"\"\"Reads it\n    all.\"\"\"\n    x = \"\"\"not this\n\"\"\" # end",
        "reads it all / end",
    );
    check("", "echo $# ${x#what} # a count\n# of all", "a count of all");
    check("", "x=1 # a\ny=1 # count", "a / count");
    check("js", "/** It is\n * one. */\nf(\"https://x.y\") // it", "it is one / it");
    check("cpp", "f(/*Name=*/1); // it\n#include <who>\n", "it");
    check("ptx", "// not ours", "");
    Ok(())
}
