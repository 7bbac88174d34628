//! The tokens of PTX: words, numbers, strings and signs, without white space and comments.

use std::ops::Range;

/// A piece of the source text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Text<'t> {
    /// The characters of the piece.
    pub text: &'t str,
    /// The byte offset of the piece in the source.
    pub start: usize,
}

impl<'t> Text<'t> {
    /// A whole source text.
    pub fn new(text: &'t str) -> Self {
        Self { text, start: 0 }
    }

    /// The byte range of the piece in the source.
    pub fn span(self) -> Range<usize> {
        self.start..self.start + self.text.len()
    }

    /// The text with its names replaced, without comments, and with each run of white space as one space.
    pub fn respelled(self, mut name: impl FnMut(Text<'t>) -> String) -> String {
        let mut cursor = Cursor { text: self, at: self.start };
        let mut respelled = String::new();
        loop {
            let before = cursor.at;
            let start = cursor.skip().map_or(cursor.at, |unclosed| unclosed.text.start);
            let token = cursor.next();
            if token.kind == TokenKind::End {
                return respelled;
            }
            if start > before && !respelled.is_empty() {
                respelled.push(' ');
            }
            match token.kind {
                TokenKind::Name if token.text.text != "_" => respelled.push_str(&name(token.text)),
                _ => respelled.push_str(self.slice(start..cursor.at).text),
            }
        }
    }

    /// The part of the text with this byte range of the source.
    pub(super) fn slice(self, span: Range<usize>) -> Self {
        Self { text: &self.text[span.start - self.start..span.end - self.start], start: span.start }
    }

    /// The names in the text, in order: registers, labels, symbols; not modifiers, and not the sink `_`.
    pub fn names(self) -> impl Iterator<Item = Text<'t>> {
        tokens(self).filter(|token| token.kind == TokenKind::Name && token.text.text != "_").map(|token| token.text)
    }
}

/// A word or a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'t> {
    /// The kind of the token.
    pub kind: TokenKind,
    /// The text of the token: a word after a dot without the dot, a string with its quotes.
    pub text: Text<'t>,
}

/// The kind of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// An identifier (section 4.4), or `_`.
    Name,
    /// A word after a dot: a modifier, the keyword of a directive, a suffix.
    Dotted,
    /// A token that begins with a digit.
    Number,
    /// A string in quotes.
    String,
    /// Any other character.
    Sign(char),
    /// A comment or a string that does not end.
    Unclosed(&'static str),
    /// The end of the text, which is empty.
    End,
}

/// The tokens of a text, without comments and without [`TokenKind::End`].
pub fn tokens(text: Text<'_>) -> impl Iterator<Item = Token<'_>> {
    let mut cursor = Cursor { text, at: text.start };
    std::iter::from_fn(move || Some(cursor.next()).filter(|token| token.kind != TokenKind::End))
}

/// A position in the text.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'t> {
    pub text: Text<'t>,
    /// The byte offset in the source.
    pub at: usize,
}

impl<'t> Cursor<'t> {
    pub fn rest(&self) -> &'t str {
        &self.text.text[self.at - self.text.start..]
    }

    fn take(&mut self, kind: TokenKind, length: usize) -> Token<'t> {
        let start = self.at;
        self.at += length;
        Token { kind, text: self.text.slice(start..self.at) }
    }

    pub fn next(&mut self) -> Token<'t> {
        if let Some(unclosed) = self.skip() {
            return unclosed;
        }
        let rest = self.rest();
        let Some(first) = rest.chars().next() else { return self.take(TokenKind::End, 0) };
        match first {
            '"' => match rest[1..].find('"') {
                Some(length) => self.take(TokenKind::String, length + 2),
                None => self.take(TokenKind::Unclosed("a string"), rest.len()),
            },
            '0'..='9' => self.take(TokenKind::Number, number_length(rest)),
            '.' => self.dotted(),
            _ => match name_length(rest) {
                0 => self.take(TokenKind::Sign(first), first.len_utf8()),
                length => self.take(TokenKind::Name, length),
            },
        }
    }

    /// A dot with the word after it. White space may separate the dot and the word.
    fn dotted(&mut self) -> Token<'t> {
        let mut following = Self { at: self.at + 1, ..*self };
        if following.skip().is_none() {
            let rest = following.rest();
            let mut length = 0;
            loop {
                length += rest[length..]
                    .find(|c: char| !c.is_ascii_alphanumeric() && c != '_')
                    .unwrap_or(rest.len() - length);
                match rest[length..].strip_prefix("::") {
                    Some(word) if length != 0 && word.starts_with(|c: char| c.is_ascii_alphanumeric()) => length += 2,
                    _ => break,
                }
            }
            if length != 0 {
                *self = following;
                return self.take(TokenKind::Dotted, length);
            }
        }
        self.take(TokenKind::Sign('.'), 1)
    }

    /// Skips white space and comments. A comment without an end is returned as a token.
    pub fn skip(&mut self) -> Option<Token<'t>> {
        loop {
            let spaces = self.rest().bytes().take_while(|byte| matches!(byte, b' ' | b'\t'..=b'\r')).count();
            self.at += spaces;
            let rest = self.rest();
            match rest.as_bytes() {
                [b'/', b'/', ..] => self.at += rest.find('\n').unwrap_or(rest.len()),
                [b'/', b'*', ..] => match rest[2..].find("*/") {
                    Some(length) => self.at += length + 4,
                    None => return Some(self.take(TokenKind::Unclosed("a comment"), rest.len())),
                },
                [0x80..=0xff, ..] if rest.starts_with(char::is_whitespace) => {
                    self.at += rest.len() - rest.trim_start().len();
                }
                _ => return None,
            }
        }
    }
}

fn is_follow(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$'
}

/// The length of a name (section 4.4): a letter, or one of `_`, `$`, `%` with at least one more character. The sink `_`
/// counts as a name too.
fn name_length(text: &str) -> usize {
    let Some(first @ ('a'..='z' | 'A'..='Z' | '_' | '$' | '%')) = text.chars().next() else { return 0 };
    let length = 1 + text.bytes().skip(1).take_while(|byte| is_follow(char::from(*byte))).count();
    if length == 1 && matches!(first, '$' | '%') { 0 } else { length }
}

/// The length of a constant: letters and digits, a fraction, and the sign of an exponent.
fn number_length(text: &str) -> usize {
    let word = |text: &str| text.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(text.len());
    let is_decimal = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit() || b".eE".contains(&byte));
    let mut length = word(text);
    if text[..length].bytes().all(|byte| byte.is_ascii_digit())
        && let Some(fraction) = text[length..].strip_prefix('.')
        && !fraction.starts_with(|c: char| c.is_ascii_alphabetic() && !matches!(c, 'e' | 'E'))
    {
        length += 1 + word(fraction);
    }
    if text[..length].ends_with(['e', 'E'])
        && is_decimal(&text[..length])
        && let Some(exponent) = text[length..].strip_prefix(['+', '-'])
        && exponent.starts_with(|c: char| c.is_ascii_digit())
    {
        length += 1 + word(exponent);
    }
    length
}
