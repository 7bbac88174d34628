//! The tokens of a litmus test, which are the tokens of PTX, and a position among them.

use ptx_isa::syntax::{self, Number, Text, Token, TokenKind};

use super::error::Error;
use crate::program::Value;

/// The tokens of a text, and the position of the next token.
pub(crate) struct Tokens<'t> {
    text: &'t str,
    tokens: Vec<Token<'t>>,
    next: usize,
}

impl<'t> Tokens<'t> {
    /// The tokens of the text from `start`, in bytes, on.
    pub(crate) fn new(text: &'t str, start: usize) -> Result<Self, Error> {
        let mut tokens = Vec::new();
        let mut at = start;
        while let Some(mut token) = syntax::tokens(Text { text: &text[at..], start: at }).next() {
            let rest = &text[token.text.start..];
            if let Some(quoted) = rest.strip_prefix('"') {
                let length = comment(quoted).ok_or_else(|| Error::at(text, token.text.start, UNCLOSED))?;
                token = Token { kind: TokenKind::String, text: Text { text: &rest[..length + 2], ..token.text } };
            }
            if let TokenKind::Unclosed(opened) = token.kind {
                return Err(Error::at(text, token.text.start, format!("{opened} does not end")));
            }
            at = token.text.span().end;
            tokens.push(token);
        }
        tokens.push(Token { kind: TokenKind::End, text: Text { text: "", start: text.len() } });
        Ok(Self { text, tokens, next: 0 })
    }

    /// The token this number of places ahead; after the last token is the end.
    fn ahead(&self, places: usize) -> Token<'t> {
        self.tokens[(self.next + places).min(self.tokens.len() - 1)]
    }

    pub(crate) fn peek(&self) -> Token<'t> {
        self.ahead(0)
    }

    pub(crate) fn take(&mut self) -> Token<'t> {
        let token = self.peek();
        self.next = (self.next + 1).min(self.tokens.len() - 1);
        token
    }

    /// The start of the next token, in bytes.
    pub(crate) fn here(&self) -> usize {
        self.peek().text.start
    }

    /// The end of the previous token, in bytes.
    pub(crate) fn previous_end(&self) -> usize {
        self.next.checked_sub(1).map_or(0, |last| self.tokens[last].text.span().end)
    }

    /// An error at the next token.
    pub(crate) fn error<T>(&self, message: impl Into<String>) -> Result<T, Error> {
        self.error_at(self.here(), message)
    }

    /// An error at this offset in the text, in bytes.
    pub(crate) fn error_at<T>(&self, offset: usize, message: impl Into<String>) -> Result<T, Error> {
        Err(Error::at(self.text, offset, message))
    }

    /// Whether the tokens from this number of places ahead on are these characters, without space between them.
    pub(crate) fn is(&self, ahead: usize, signs: &str) -> bool {
        let start = self.ahead(ahead).text.start;
        let is = |(index, sign): (usize, char)| {
            let token = self.ahead(ahead + index);
            token.kind == TokenKind::Sign(sign) && token.text.start == start + index
        };
        signs.chars().enumerate().all(is)
    }

    /// Whether the next token is this word.
    pub(crate) fn is_word(&self, word: &str) -> bool {
        let token = self.peek();
        token.kind == TokenKind::Name && token.text.text == word
    }

    pub(crate) fn accept(&mut self, signs: &str) -> bool {
        let is = self.is(0, signs);
        self.next += if is { signs.len() } else { 0 };
        is
    }

    pub(crate) fn expect(&mut self, signs: &str) -> Result<(), Error> {
        if self.accept(signs) {
            Ok(())
        } else {
            self.error(format!("expected `{signs}`, found {}", render_token(self.peek())))
        }
    }

    /// The next token, if it is a word.
    pub(crate) fn accept_word(&mut self) -> Option<Text<'t>> {
        (self.peek().kind == TokenKind::Name).then(|| self.take().text)
    }

    pub(crate) fn word(&mut self, expected: &str) -> Result<Text<'t>, Error> {
        match self.accept_word() {
            Some(word) => Ok(word),
            None => self.error(format!("expected {expected}, found {}", render_token(self.peek()))),
        }
    }

    /// A number of 64 bits; a negative one is wrapped.
    pub(crate) fn number(&mut self) -> Result<Value, Error> {
        let negative = self.accept("-");
        let token = self.peek();
        if token.kind != TokenKind::Number {
            return self.error(format!("expected a number, found {}", render_token(token)));
        }
        let sign = if negative { "-" } else { "" };
        match Number::parse(token.text.text) {
            Some(Number::Integer(number)) if !negative || number <= 1 << 63 => {
                self.take();
                Ok(if negative { number.wrapping_neg() } else { number })
            }
            _ => self.error(format!("`{sign}{}` is not a number of 64 bits", token.text.text)),
        }
    }

    /// `P0:r1`, or `0:r1` in the syntax of herd7, if it is next.
    pub(crate) fn thread_register(&mut self) -> Option<Result<(usize, Text<'t>), Error>> {
        if !self.is(1, ":") {
            return None;
        }
        let token = self.take();
        let thread = match token.kind {
            TokenKind::Name => token.text.text.strip_prefix('P').and_then(|digits| digits.parse().ok()),
            TokenKind::Number => token.text.text.parse().ok(),
            _ => None,
        };
        let Some(thread) = thread else {
            return Some(self.error_at(token.text.start, "expected a thread, such as `P0`"));
        };
        self.take();
        Some(self.word("a register").map(|register| (thread, register)))
    }

    /// The text up to the next `|` or `;`, which ends a cell; `None` if it is empty.
    ///
    /// # Errors
    /// A text that ends before the cell does.
    pub(crate) fn cell(&mut self) -> Result<Option<Text<'t>>, Error> {
        // The text of a word after a dot does not include the dot.
        let start = self.next.checked_sub(1).map_or(0, |last| self.tokens[last].text.span().end);
        let mut end = start;
        while !matches!(self.peek().kind, TokenKind::Sign('|' | ';')) {
            let token = self.take();
            if token.kind == TokenKind::End {
                return self.error("expected `|` or `;`, found the end of the text");
            }
            end = token.text.span().end;
        }
        Ok((start < end).then(|| Text { text: &self.text[start..end], start }))
    }
}

const UNCLOSED: &str = "a quoted comment does not end";

/// The end of a comment: the first quote after which the line is empty, or continues with text that may follow a
/// comment.
fn comment(text: &str) -> Option<usize> {
    let last = |&(at, _): &(usize, &str)| {
        let line = text[at + 1..].lines().next().unwrap_or_default().trim_start();
        line.is_empty() || line.starts_with(['{', '"'])
    };
    text.match_indices('"').find(last).or_else(|| text.match_indices('"').next()).map(|(at, _)| at)
}

/// A token as messages show it.
pub(crate) fn render_token(token: Token<'_>) -> String {
    match token.kind {
        TokenKind::String => "a quoted comment".into(),
        TokenKind::End => "the end of the text".into(),
        _ => format!("`{}`", token.text.text),
    }
}
