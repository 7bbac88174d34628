//! The test language for kernels: the functions that run and their threads, the objects that they share, and the
//! conditions that must hold.
//!
//! ```text
//! // litmus: test message
//! // litmus: u32 flag
//! // litmus: u32 words[2] = {7, 0}
//! // litmus: thread P0 = producer(words, flag) @ cta 0
//! // litmus: thread P1 = consumer @ cta 1, gpu 0, tid 3
//! // litmus: bind consumer.0 = words, consumer.1 = flag
//! // litmus: forall P1:return == 42 /\ words[1] == 0
//! ```
//!
//! Each line is in a comment, of any language. The lines before the first `test` are part of every test of the text.

use ptx_isa::{Special, Type, syntax::TokenKind};

use crate::{
    condition::Condition,
    litmus::{
        Error, Errors,
        formula::condition_of,
        tokens::{Tokens, render_token},
    },
    place::Place,
    program::Value,
};

/// The mark at the beginning of a line of a test, in a comment.
pub const MARK: &str = "litmus:";

/// A test of functions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Test {
    /// The name after `test`; empty in a text with one test.
    pub name: String,
    pub(super) threads: Vec<ThreadWords>,
    pub(super) bound: Vec<Bound>,
    pub(super) declared: Vec<Declared>,
    pub(super) conditions: Vec<Condition<AtomWords>>,
}

/// A position, line and column from 1; both are 0 if the words are not from a file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct At {
    pub line: usize,
    pub column: usize,
}

impl At {
    pub fn error(&self, message: impl Into<String>) -> Error {
        Error { line: self.line, column: self.column, message: message.into() }
    }
}

/// `thread P0 = producer(words, 1) @ cta 0, tid 1, %nsmid = 2`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ThreadWords {
    pub function: String,
    pub arguments: Vec<Argument>,
    pub place: Place,
    /// The index in its CTA; `None` if that follows from the order.
    pub tid: Option<Value>,
    /// The special registers with a given value.
    pub special: Vec<(Special, Value)>,
    pub at: At,
}

/// The value of a parameter.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Argument {
    Number(Value),
    /// An address: an object, and an offset in bytes or elements.
    Address {
        name: String,
        offset: Offset,
        at: At,
    },
}

/// An offset in an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Offset {
    Bytes(Value),
    Element(Value),
}

/// `bind producer.0 = words`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Bound {
    pub function: String,
    pub parameter: usize,
    pub argument: Argument,
    pub at: At,
}

/// `u32 words[2] = {7, 0}`: an object that several threads may share, or a declaration about a variable of the module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Declared {
    pub name: String,
    pub ty: Type,
    pub elements: u64,
    /// The first elements; empty if the declaration has none.
    pub initial: Vec<Value>,
    pub at: At,
}

/// An operand of a comparison in a condition, before its variables are resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum AtomWords {
    /// `P1:return`
    Register {
        thread: usize,
        name: String,
        at: At,
    },
    Memory {
        name: String,
        offset: Offset,
        at: At,
    },
    Value(Value),
}

/// The maximum number of elements of an object.
const MAX_ELEMENTS: u64 = 1 << 16;

impl Test {
    /// Reads the tests in the comments of a text; an empty list if there are none.
    ///
    /// # Errors
    /// All invalid lines.
    pub fn read(text: &str) -> Result<Vec<Self>, Errors> {
        let lines = text.match_indices(MARK).filter_map(|(at, _)| {
            let begin = text[..at].rfind('\n').map_or(0, |newline| newline + 1);
            let end = text[at..].find('\n').map_or(text.len(), |newline| at + newline);
            // Only characters that open or continue a comment precede the mark.
            let before = text[begin..at].trim();
            let comment = !before.is_empty() && before.chars().all(|c| "/*;#!-".contains(c));
            let end = begin + text[begin..end].trim_end().trim_end_matches("*/").len();
            comment.then_some((at + MARK.len(), end))
        });
        Self::read_tests(text, true, lines)
    }

    /// Reads the lines of tests, without comments around them.
    ///
    /// # Errors
    /// All invalid lines.
    pub fn of_words(words: &str) -> Result<Vec<Self>, Errors> {
        let line = |(at, _): (usize, &str)| {
            let end = words[at..].find('\n').map_or(words.len(), |newline| at + newline);
            (at, end)
        };
        let starts = std::iter::once((0, "")).chain(words.match_indices('\n').map(|(at, _)| (at + 1, "")));
        Self::read_tests(words, false, starts.map(line).filter(|(at, end)| !words[*at..*end].trim().is_empty()))
    }

    fn read_tests(text: &str, is_file: bool, lines: impl Iterator<Item = (usize, usize)>) -> Result<Vec<Self>, Errors> {
        let (mut common, mut tests, mut errors) = (Self::default(), Vec::new(), Vec::new());
        for (start, end) in lines {
            let line = Tokens::new(&text[..end], start).and_then(|tokens| {
                let mut reader = Reader { text: is_file.then_some(text), tokens };
                if reader.keyword("test") {
                    let name = reader.tokens.word("the name of a test")?;
                    tests.push(Self { name: name.text.into(), ..common.clone() });
                } else {
                    reader.line(tests.last_mut().unwrap_or(&mut common))?;
                }
                reader.end()
            });
            errors.extend(line.err());
        }
        if !errors.is_empty() {
            return Err(Errors(errors));
        }
        if tests.is_empty() && common != Self::default() {
            tests.push(common);
        }
        Ok(tests)
    }

    /// Adds the lines of another text, such as the command line.
    pub fn extend(&mut self, other: Self) {
        self.threads.extend(other.threads);
        self.bound.extend(other.bound);
        self.declared.extend(other.declared);
        self.conditions.extend(other.conditions);
    }

    /// Whether the test names functions that run.
    pub fn has_threads(&self) -> bool {
        !self.threads.is_empty()
    }
}

struct Reader<'t> {
    /// `None` if the words are not from a file.
    text: Option<&'t str>,
    tokens: Tokens<'t>,
}

impl Reader<'_> {
    fn keyword(&mut self, word: &str) -> bool {
        let is = self.tokens.is_word(word);
        if is {
            self.tokens.take();
        }
        is
    }

    fn end(&self) -> Result<(), Error> {
        match self.tokens.peek() {
            token if token.kind == TokenKind::End => Ok(()),
            token => self.tokens.error(format!("expected the end of the line, found {}", render_token(token))),
        }
    }

    fn line(&mut self, test: &mut Test) -> Result<(), Error> {
        if self.keyword("thread") {
            return self.thread(test);
        }
        if self.keyword("bind") {
            loop {
                test.bound.push(self.bound()?);
                if !self.tokens.accept(",") {
                    return Ok(());
                }
            }
        }
        if self.tokens.is(0, "~") || self.tokens.is_word("exists") || self.tokens.is_word("forall") {
            let text = self.text;
            test.conditions.push(condition_of(&mut self.tokens, &mut |tokens| atom(text, tokens))?);
            return Ok(());
        }
        const EXPECTED: &str = "`test`, `thread`, `bind`, a type such as `u32`, `forall`, `exists` or `~exists`";
        let word = self.tokens.word(EXPECTED)?;
        let known = word.text.parse::<Type>().ok();
        let Some(ty) = known.filter(|ty| ty.element().is_none() && (8..=64).contains(&ty.bits())) else {
            return self.tokens.error_at(word.start, format!("expected {EXPECTED}, found `{}`", word.text));
        };
        loop {
            test.declared.push(self.declared(ty)?);
            if !self.tokens.accept(",") {
                return Ok(());
            }
        }
    }

    /// `P0 = producer(words, 1) @ cta 0, tid 1`.
    fn thread(&mut self, test: &mut Test) -> Result<(), Error> {
        let at = place(self.text, &self.tokens);
        let expected = format!("P{}", test.threads.len());
        let name = self.tokens.word(&format!("`{expected}`"))?;
        if name.text != expected {
            return self.tokens.error_at(name.start, format!("expected `{expected}`, found `{}`", name.text));
        }
        self.tokens.expect("=")?;
        let function = path(&mut self.tokens, "the name of a function")?;
        let mut arguments = Vec::new();
        if self.tokens.accept("(") {
            while !self.tokens.accept(")") {
                arguments.push(self.argument()?);
                if !self.tokens.accept(",") && !self.tokens.is(0, ")") {
                    return self
                        .tokens
                        .error(format!("expected `,` or `)`, found {}", render_token(self.tokens.peek())));
                }
            }
        }
        let mut thread =
            ThreadWords { function, arguments, place: Place::default(), tid: None, special: Vec::new(), at };
        if self.tokens.accept("@") {
            loop {
                self.placed(&mut thread)?;
                if !self.tokens.accept(",") {
                    break;
                }
            }
        }
        test.threads.push(thread);
        Ok(())
    }

    /// `cta 0`, `cta0`, or `%nsmid = 3`.
    fn placed(&mut self, thread: &mut ThreadWords) -> Result<(), Error> {
        const EXPECTED: &str = "`cta`, `cluster`, `gpu`, `tid` or a special register";
        let word = self.tokens.word(EXPECTED)?;
        if word.text.starts_with('%') {
            let mut name = word.text.to_owned();
            if self.tokens.peek().kind == TokenKind::Dotted {
                name = format!("{name}.{}", self.tokens.take().text.text);
            }
            let Ok(special) = name.trim_start_matches('%').parse::<Special>() else {
                return self.tokens.error_at(word.start, format!("expected a special register, found `{name}`"));
            };
            self.tokens.expect("=")?;
            thread.special.push((special, self.tokens.number()?));
            return Ok(());
        }
        let level = word.text.trim_end_matches(|c: char| c.is_ascii_digit());
        let number = match &word.text[level.len()..] {
            "" => self.tokens.number()?,
            digits => digits.parse().or_else(|_| self.tokens.error_at(word.start, "the number is too large"))?,
        };
        let small = || u32::try_from(number).or_else(|_| self.tokens.error_at(word.start, "the number is too large"));
        match level {
            "cta" => thread.place.cta = small()?,
            "cluster" => thread.place.cluster = Some(small()?),
            "gpu" => thread.place.gpu = small()?,
            "tid" => thread.tid = Some(number),
            _ => return self.tokens.error_at(word.start, format!("expected {EXPECTED}, found `{}`", word.text)),
        }
        Ok(())
    }

    /// `5`, `words`, `words+8` or `words[2]`.
    fn argument(&mut self) -> Result<Argument, Error> {
        let at = place(self.text, &self.tokens);
        if self.tokens.peek().kind != TokenKind::Name {
            return self.tokens.number().map(Argument::Number);
        }
        let name = path(&mut self.tokens, "an object or a number")?;
        Ok(Argument::Address { name, offset: offset(&mut self.tokens)?, at })
    }

    /// `producer.0 = words`.
    fn bound(&mut self) -> Result<Bound, Error> {
        let at = place(self.text, &self.tokens);
        let function = path(&mut self.tokens, "the name of a function")?;
        let token = self.tokens.peek();
        let parameter = (token.kind == TokenKind::Dotted).then(|| token.text.text.parse().ok()).flatten();
        let Some(parameter) = parameter else {
            return self
                .tokens
                .error(format!("expected a parameter, as in `{function}.0`, found {}", render_token(token)));
        };
        self.tokens.take();
        self.tokens.expect("=")?;
        Ok(Bound { function, parameter, argument: self.argument()?, at })
    }

    /// `words[2] = {7, 0}`, after its type.
    fn declared(&mut self, ty: Type) -> Result<Declared, Error> {
        let at = place(self.text, &self.tokens);
        let name = path(&mut self.tokens, "the name of an object")?;
        let mut declared = Declared { name, ty, elements: 1, initial: Vec::new(), at };
        if self.tokens.accept("[") {
            let here = self.tokens.here();
            declared.elements = self.tokens.number()?;
            if !(1..=MAX_ELEMENTS).contains(&declared.elements) {
                return self.tokens.error_at(here, format!("an object has 1 to {MAX_ELEMENTS} elements"));
            }
            self.tokens.expect("]")?;
        }
        if self.tokens.accept("=") {
            let here = self.tokens.here();
            if self.tokens.accept("{") {
                while !self.tokens.accept("}") {
                    declared.initial.push(self.tokens.number()?);
                    if !self.tokens.accept(",") && !self.tokens.is(0, "}") {
                        return self
                            .tokens
                            .error(format!("expected `,` or `}}`, found {}", render_token(self.tokens.peek())));
                    }
                }
            } else {
                declared.initial.push(self.tokens.number()?);
            }
            if declared.initial.len() as u64 > declared.elements {
                return self.tokens.error_at(here, format!("`{}` has fewer elements", declared.name));
            }
        }
        Ok(declared)
    }
}

/// The position of the next token, if the text is from a file.
fn place(text: Option<&str>, tokens: &Tokens<'_>) -> At {
    let error = text.map(|text| Error::at(text, tokens.here(), ""));
    error.map_or_else(At::default, |Error { line, column, .. }| At { line, column })
}

/// A name with its path, as in Rust and C++: `lock::FLAG`.
fn path(tokens: &mut Tokens<'_>, what: &str) -> Result<String, Error> {
    let mut name = tokens.word(what)?.text.to_owned();
    while tokens.accept("::") {
        name = format!("{name}::{}", tokens.word(what)?.text);
    }
    Ok(name)
}

fn offset(tokens: &mut Tokens<'_>) -> Result<Offset, Error> {
    if tokens.accept("[") {
        let element = tokens.number()?;
        tokens.expect("]")?;
        return Ok(Offset::Element(element));
    }
    Ok(Offset::Bytes(if tokens.accept("+") { tokens.number()? } else { 0 }))
}

/// A register of a thread, a memory object, or a number.
fn atom(text: Option<&str>, tokens: &mut Tokens<'_>) -> Result<AtomWords, Error> {
    let at = place(text, tokens);
    if let Some(named) = tokens.thread_register() {
        let (thread, name) = named?;
        let mut name = name.text.to_owned();
        if tokens.accept("+") {
            name = format!("{name}+{}", tokens.number()?);
        }
        return Ok(AtomWords::Register { thread, name, at });
    }
    if tokens.peek().kind != TokenKind::Name {
        return tokens.number().map(AtomWords::Value);
    }
    let name = path(tokens, "an object")?;
    Ok(AtomWords::Memory { name, offset: offset(tokens)?, at })
}
