//! The syntax of PTX (sections 4 and 6.4): words, operands and numbers, each with its place in the text, before any of it
//! has a meaning.
//!
//! The grammar is tolerant. It knows no mnemonic, modifier or type, and it asks for none of them: the shorthands of litmus
//! tests (`ld.weak r0, x`) are statements too. An operand whose form is unknown stays text, of which the names are still
//! known. Brackets may nest without bound: beyond [`NESTING`] levels they are text as well.
//!
//! ```
//! use ptx_isa::syntax::{self, Number, Shape, Statement};
//!
//! let Ok(Statement::Instruction(add)) = syntax::statement("@!%p atom.add.u32 %r1, [x+8], 0x10") else { panic!() };
//! assert_eq!(add.mnemonic.text, "atom");
//! assert_eq!(add.modifiers.iter().map(|word| word.text).collect::<Vec<_>>(), ["add", "u32"]);
//! assert!(add.guard.is_some_and(|guard| guard.negated));
//! let address = add.operands[1].address().unwrap();
//! assert_eq!((address.base.text, address.offset), ("x", 8));
//! assert_eq!(add.operands[2].shape, Shape::Number(Number::Integer(16)));
//! assert_eq!(add.operands[2].text.span(), 30..34);
//! ```

use std::ops::Range;

/// How many levels of brackets are read; what stands deeper is text. PTX itself needs two: `[tensor, {x, y}]`.
pub const NESTING: usize = 4;

/// A piece of the source text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Text<'t> {
    /// What stands there.
    pub text: &'t str,
    /// Where it begins in the source, in bytes.
    pub start: usize,
}

impl<'t> Text<'t> {
    /// A whole source text.
    pub fn of(text: &'t str) -> Self {
        Self { text, start: 0 }
    }

    /// Where it stands in the source, in bytes.
    pub fn span(self) -> Range<usize> {
        self.start..self.start + self.text.len()
    }

    /// The text with other names, without comments, and with one space for each run of space.
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

    /// The part from one place of the source to another.
    fn slice(self, span: Range<usize>) -> Self {
        Self { text: &self.text[span.start - self.start..span.end - self.start], start: span.start }
    }

    /// The names in it, in order: registers, labels, symbols; not modifiers, and not the sink `_`.
    pub fn names(self) -> impl Iterator<Item = Text<'t>> {
        tokens(self).filter(|token| token.kind == TokenKind::Name && token.text.text != "_").map(|token| token.text)
    }
}

/// What is wrong with the syntax of a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct SyntaxError {
    /// Where, in bytes.
    pub span: Range<usize>,
    /// What, as a clause without a full stop.
    pub reason: String,
}

/// A statement, or a brace of a block.
#[derive(Clone, Debug, PartialEq)]
pub enum Statement<'t> {
    /// `{` that begins a block.
    Open(Text<'t>),
    /// `}` that ends a block.
    Close(Text<'t>),
    /// `name:`; the text is the name.
    Label(Text<'t>),
    /// What begins with a dot.
    Directive(Directive<'t>),
    /// Everything else.
    Instruction(Instruction<'t>),
}

impl<'t> Statement<'t> {
    /// The text of the statement without its `;`.
    pub fn text(&self) -> Text<'t> {
        match self {
            Self::Open(text) | Self::Close(text) | Self::Label(text) => *text,
            Self::Directive(directive) => directive.text,
            Self::Instruction(instruction) => instruction.text,
        }
    }
}

/// `.reg .b32 %x, %y`, `.loc 1 2 3`, `.visible .entry k(.param .b64 p)`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Directive<'t> {
    /// All of it, without the `;` or the brace behind it. Of a `.section` it includes the braces and what they hold.
    pub text: Text<'t>,
    /// The first word, without its dot.
    pub keyword: Text<'t>,
    /// What stands behind the first word.
    pub arguments: Text<'t>,
    /// Whether it is the head of a function: a `{` follows, the next statement.
    pub is_head: bool,
}

/// A register that `.reg` declares, or a range of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declared<'t> {
    /// The register, or what the names of a range begin with.
    pub name: Text<'t>,
    /// How many: `%r<4>` declares `%r0` to `%r3`.
    pub count: Option<u64>,
}

impl<'t> Directive<'t> {
    /// Whether it needs no `;`: it ends with its line, or with a brace.
    pub fn is_complete(&self) -> bool {
        let has_data =
            self.text.text.ends_with('}') && tokens(self.text).all(|token| token.kind != TokenKind::Sign('='));
        self.is_head || has_data || LINES.contains(&self.keyword.text)
    }

    /// The words and the registers of a `.reg`; `None` of another directive, and of one that is damaged.
    pub fn registers(&self) -> Option<(Vec<Text<'t>>, Vec<Declared<'t>>)> {
        if self.keyword.text != "reg" {
            return None;
        }
        let mut tokens = tokens(self.arguments).peekable();
        let words =
            std::iter::from_fn(|| tokens.next_if(|token| token.kind == TokenKind::Dotted)).map(|token| token.text);
        let words = words.collect();
        let mut declared = Vec::new();
        loop {
            let name = tokens.next().filter(|token| token.kind == TokenKind::Name)?.text;
            let mut after = tokens.next();
            let mut count = None;
            if after.is_some_and(|token| token.kind == TokenKind::Sign('<')) {
                let Number::Integer(number) = Number::parse(tokens.next()?.text.text)? else { return None };
                count = Some(number);
                tokens.next().filter(|token| token.kind == TokenKind::Sign('>'))?;
                after = tokens.next();
            }
            declared.push(Declared { name, count });
            match after.map(|token| token.kind) {
                None => return Some((words, declared)),
                Some(TokenKind::Sign(',')) => {}
                Some(_) => return None,
            }
        }
    }
}

/// A guard, a mnemonic, its modifiers, and its operands.
#[derive(Clone, Debug, PartialEq)]
pub struct Instruction<'t> {
    /// All of it, without the `;`.
    pub text: Text<'t>,
    /// `@p` in front of it.
    pub guard: Option<Guard<'t>>,
    /// The first word: `ld`, `cp`, `tcgen05`.
    pub mnemonic: Text<'t>,
    /// The words behind dots, without the dots: `acquire`, `shared::cta`, `u32`.
    pub modifiers: Vec<Text<'t>>,
    /// What stands between commas.
    pub operands: Vec<Operand<'t>>,
}

/// `@p`, or `@!p` if negated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard<'t> {
    /// The predicate.
    pub predicate: Text<'t>,
    /// Whether the instruction executes where the predicate does not hold.
    pub negated: bool,
}

/// An operand.
#[derive(Clone, Debug, PartialEq)]
pub struct Operand<'t> {
    /// All of it.
    pub text: Text<'t>,
    /// What it is.
    pub shape: Shape<'t>,
}

/// What an operand is.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Shape<'t> {
    /// `%r1`, `x`; with a suffix `%tid.x`, whose suffix is `x`.
    Name {
        /// Without the suffix.
        name: Text<'t>,
        /// Without its dot.
        suffix: Option<Text<'t>>,
    },
    /// A constant.
    Number(Number),
    /// `x+8`, without brackets.
    Sum(Address<'t>),
    /// `[…]`: an address, or the several parts of one, as `[tensor, {x, y}]`. The suffix is `unified` of `[x].unified`.
    Memory {
        /// What stands between the brackets and commas.
        parts: Vec<Operand<'t>>,
        /// Without its dot.
        suffix: Option<Text<'t>>,
    },
    /// `{…}`.
    Vector(Vec<Operand<'t>>),
    /// `(…)`, as of `call`.
    List(Vec<Operand<'t>>),
    /// `%p|%q`, the two results of one instruction.
    Pair(Box<[Operand<'t>; 2]>),
    /// `!%p`; the text is the name.
    Not(Text<'t>),
    /// `_`: the result is discarded.
    Sink,
    /// A quoted text, without its quotes. PTX has no escapes.
    String(Text<'t>),
    /// Anything else, such as `x[4]` or `4*2`.
    Unknown,
}

/// A base and an offset in bytes, wrapped to 64 bits. The base of `[16]` is no name, and such an address has none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address<'t> {
    /// A register or a symbol.
    pub base: Text<'t>,
    /// The sum of what is added.
    pub offset: i64,
}

/// A constant (section 4.5).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// Decimal, `0x`, `0b` or octal, with or without `U`; a negative one is wrapped to 64 bits.
    Integer(u64),
    /// `0f` and eight hexadecimal digits: the bits of an `.f32`.
    Single(u32),
    /// `0d` and sixteen hexadecimal digits: the bits of an `.f64`.
    Double(u64),
    /// With a decimal point or an exponent.
    Decimal(f64),
}

impl<'t> Operand<'t> {
    /// The address, in brackets or without: of `[x+8]`, `[x]`, `x+8` and `x`. Of everything else, none.
    pub fn address(&self) -> Option<Address<'t>> {
        match &self.shape {
            Shape::Name { name, suffix: None } => Some(Address { base: *name, offset: 0 }),
            Shape::Sum(address) => Some(*address),
            Shape::Memory { parts, .. } => match &parts[..] {
                [Operand { shape: Shape::Name { name, suffix: None }, .. }] => Some(Address { base: *name, offset: 0 }),
                [Operand { shape: Shape::Sum(address), .. }] => Some(*address),
                _ => None,
            },
            _ => None,
        }
    }

    /// The names in it, in order: registers, labels, symbols.
    pub fn names(&self) -> impl Iterator<Item = Text<'t>> {
        self.text.names()
    }
}

impl Number {
    /// Reads all spellings of a constant without a sign; `None` of anything else, and of integers beyond 64 bits.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = |prefix: [&str; 2]| prefix.into_iter().find_map(|prefix| text.strip_prefix(prefix));
        let bits = |digits: &str, length: usize| {
            let exact = digits.len() == length && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
            u64::from_str_radix(digits, 16).ok().filter(|_| exact)
        };
        if let Some(digits) = digits(["0f", "0F"]) {
            return bits(digits, 8).map(|bits| Self::Single(bits as u32));
        }
        if let Some(digits) = digits(["0d", "0D"]) {
            return bits(digits, 16).map(Self::Double);
        }
        if text.contains('.') || digits(["0x", "0X"]).is_none() && text.contains(['e', 'E']) {
            let numeric = text.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte));
            return text.parse().ok().filter(|_| numeric).map(Self::Decimal);
        }
        let integer = text.strip_suffix('U').unwrap_or(text);
        let (radix, digits) = match integer.as_bytes() {
            [b'0', b'x' | b'X', ..] => (16, &integer[2..]),
            [b'0', b'b' | b'B', ..] => (2, &integer[2..]),
            [b'0', _, ..] => (8, &integer[1..]),
            _ => (10, integer),
        };
        let unsigned = digits.bytes().all(|byte| byte.is_ascii_alphanumeric());
        u64::from_str_radix(digits, radix).ok().filter(|_| unsigned).map(Self::Integer)
    }

    fn negated(self) -> Self {
        match self {
            Self::Integer(value) => Self::Integer(value.wrapping_neg()),
            Self::Single(bits) => Self::Single(bits ^ 1 << 31),
            Self::Double(bits) => Self::Double(bits ^ 1 << 63),
            Self::Decimal(value) => Self::Decimal(-value),
        }
    }
}

/// Reads one statement, with or without its `;`: an instruction, a label, or a directive.
///
/// The text may be PTX, or PTX that leaves out types, brackets and percent signs. Comments and line breaks are space.
///
/// # Errors
/// All that is wrong: a bracket that is not closed, an operand that is missing, a second statement.
pub fn statement(text: &str) -> Result<Statement<'_>, Vec<SyntaxError>> {
    let mut parser = Parser::of(text);
    let statement = parser.statement();
    if parser.errors.is_empty() && parser.peek().kind != TokenKind::End {
        let Token { text: Text { text: found, .. }, .. } = parser.peek();
        parser.error(format!("one statement is expected, and behind it stands `{found}`"));
    }
    match statement {
        Some(statement) if parser.errors.is_empty() => Ok(statement),
        None if parser.errors.is_empty() => {
            Err(vec![SyntaxError { span: 0..text.len(), reason: "no statement".into() }])
        }
        _ => Err(parser.errors),
    }
}

/// Reads statements up to the end of the text, and all that is wrong with them. A statement with an error is left out; the
/// next one begins behind its `;`. Blocks need not be balanced.
pub fn statements(text: &str) -> (Vec<Statement<'_>>, Vec<SyntaxError>) {
    let mut parser = Parser::of(text);
    let mut statements: Vec<_> = std::iter::from_fn(|| parser.statement()).collect();
    if !parser.is_terminated
        && let Some(last) = statements.pop()
    {
        let span = last.text().span();
        parser.errors.push(SyntaxError { span, reason: "the text ends within a statement".into() });
    }
    (statements, parser.errors)
}

/// A word or a sign.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token<'t> {
    /// What it is.
    pub kind: TokenKind,
    /// The token; of a word behind a dot without the dot, of a string with its quotes.
    pub text: Text<'t>,
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenKind {
    /// An identifier (section 4.4), or `_`.
    Name,
    /// A word behind a dot: a modifier, the keyword of a directive, a suffix.
    Dotted,
    /// What begins with a digit.
    Number,
    /// In quotes.
    String,
    /// Any other character.
    Sign(char),
    /// A comment or a string that does not end.
    Unclosed(&'static str),
    /// The end of the text, which is empty.
    End,
}

/// The tokens of a text, without comments and [`TokenKind::End`].
pub fn tokens(text: Text<'_>) -> impl Iterator<Item = Token<'_>> {
    let mut cursor = Cursor { text, at: text.start };
    std::iter::from_fn(move || Some(cursor.next()).filter(|token| token.kind != TokenKind::End))
}

/// A place in the text.
#[derive(Clone, Copy)]
struct Cursor<'t> {
    text: Text<'t>,
    /// In bytes of the source.
    at: usize,
}

impl<'t> Cursor<'t> {
    fn rest(&self) -> &'t str {
        &self.text.text[self.at - self.text.start..]
    }

    fn take(&mut self, kind: TokenKind, length: usize) -> Token<'t> {
        let start = self.at;
        self.at += length;
        Token { kind, text: self.text.slice(start..self.at) }
    }

    fn next(&mut self) -> Token<'t> {
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

    /// A dot with the word behind it, which may stand apart from it.
    fn dotted(&mut self) -> Token<'t> {
        let mut behind = Self { at: self.at + 1, ..*self };
        if behind.skip().is_none() {
            let rest = behind.rest();
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
                *self = behind;
                return self.take(TokenKind::Dotted, length);
            }
        }
        self.take(TokenKind::Sign('.'), 1)
    }

    /// Skips space and comments. A comment without an end is a token.
    fn skip(&mut self) -> Option<Token<'t>> {
        loop {
            let rest = self.rest();
            let trimmed = rest.trim_start();
            self.at += rest.len() - trimmed.len();
            if trimmed.starts_with("//") {
                self.at += trimmed.find('\n').unwrap_or(trimmed.len());
            } else if let Some(comment) = trimmed.strip_prefix("/*") {
                match comment.find("*/") {
                    Some(length) => self.at += length + 4,
                    None => return Some(self.take(TokenKind::Unclosed("a comment"), trimmed.len())),
                }
            } else {
                return None;
            }
        }
    }
}

fn is_follow(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$'
}

/// Section 4.4: a letter, or one of `_`, `$`, `%` with at least one more character. The sink `_` is taken too.
fn name_length(text: &str) -> usize {
    let Some(first @ ('a'..='z' | 'A'..='Z' | '_' | '$' | '%')) = text.chars().next() else { return 0 };
    let length = 1 + text[1..].find(|c| !is_follow(c)).unwrap_or(text.len() - 1);
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

/// Directives that end with their line.
const LINES: [&str; 5] = ["version", "target", "address_size", "file", "loc"];

struct Parser<'t> {
    cursor: Cursor<'t>,
    errors: Vec<SyntaxError>,
    /// Whether the last statement has its `;`, or needs none.
    is_terminated: bool,
}

impl<'t> Parser<'t> {
    fn of(text: &'t str) -> Self {
        Self { cursor: Cursor { text: Text::of(text), at: 0 }, errors: Vec::new(), is_terminated: true }
    }

    fn peek(&self) -> Token<'t> {
        { self.cursor }.next()
    }

    fn next(&mut self) -> Token<'t> {
        self.cursor.next()
    }

    fn accept(&mut self, sign: char) -> Option<Token<'t>> {
        let mut behind = self.cursor;
        let token = behind.next();
        (token.kind == TokenKind::Sign(sign)).then(|| {
            self.cursor = behind;
            token
        })
    }

    /// Reports an error at the next token.
    fn error(&mut self, reason: impl Into<String>) {
        let found = self.peek();
        let reason = match found.kind {
            TokenKind::Unclosed(what) => format!("the end of {what} is missing"),
            _ => reason.into(),
        };
        let error = SyntaxError { span: found.text.span(), reason };
        // A token at which one error was found shows others that follow from it.
        if self.errors.last().is_none_or(|last| last.span != error.span) {
            self.errors.push(error);
        }
    }

    /// Where the next token begins, its dot included.
    fn place(&self) -> usize {
        let mut cursor = self.cursor;
        let _ = cursor.skip();
        cursor.at
    }

    /// All from a place up to the last token that was read.
    fn since(&self, start: usize) -> Text<'t> {
        self.cursor.text.slice(start.min(self.cursor.at)..self.cursor.at)
    }

    /// The next statement that has no error; `None` at the end of the text.
    fn statement(&mut self) -> Option<Statement<'t>> {
        while self.peek().kind != TokenKind::End {
            let errors = self.errors.len();
            let statement = self.unterminated();
            if self.errors.len() > errors {
                self.recover();
                continue;
            }
            self.is_terminated = match statement {
                Statement::Open(_) | Statement::Close(_) | Statement::Label(_) => true,
                Statement::Directive(directive) if directive.is_complete() => true,
                Statement::Directive(_) | Statement::Instruction(_) => self.accept(';').is_some(),
            };
            return Some(statement);
        }
        None
    }

    /// Skips the rest of a statement.
    fn recover(&mut self) {
        loop {
            match self.peek().kind {
                TokenKind::End | TokenKind::Sign('{' | '}') => return,
                TokenKind::Sign(';') => {
                    self.next();
                    return;
                }
                _ => drop(self.next()),
            }
        }
    }

    /// A statement up to its `;`, of one token at least, or else with an error.
    fn unterminated(&mut self) -> Statement<'t> {
        let first = self.peek();
        match first.kind {
            TokenKind::Sign('{') => Statement::Open(self.next().text),
            TokenKind::Sign('}') => Statement::Close(self.next().text),
            TokenKind::Dotted => Statement::Directive(self.directive()),
            TokenKind::Name if self.is_label() => {
                self.next();
                self.next();
                Statement::Label(first.text)
            }
            _ => Statement::Instruction(self.instruction()),
        }
    }

    fn is_label(&self) -> bool {
        let mut cursor = self.cursor;
        let (name, colon) = (cursor.next(), cursor.next());
        name.text.text != "_" && colon.kind == TokenKind::Sign(':')
    }

    fn directive(&mut self) -> Directive<'t> {
        // Their dots belong to the directive and to its arguments.
        let dot = self.place();
        let keyword = self.next().text;
        let arguments = self.place();
        let mut is_head = false;
        if LINES.contains(&keyword.text) {
            let rest = self.cursor.rest();
            let end = self.cursor.at + rest.find('\n').unwrap_or(rest.len());
            loop {
                let token = self.peek();
                match token.kind {
                    TokenKind::End | TokenKind::Dotted | TokenKind::Sign('{' | '}') => break,
                    _ if token.text.start >= end => break,
                    TokenKind::Unclosed(_) => {
                        self.error("");
                        break;
                    }
                    _ => drop(self.next()),
                }
            }
        } else {
            let is_function = |word: Text<'_>| matches!(word.text, "func" | "entry");
            let (mut is_variable, mut may_be_head, mut braces) = (false, is_function(keyword), 0);
            loop {
                match self.peek().kind {
                    TokenKind::Sign(';') if braces == 0 => break,
                    TokenKind::Sign('{') if may_be_head => {
                        is_head = true;
                        break;
                    }
                    TokenKind::Sign('{') => braces += 1,
                    // Behind the values of a variable stands a `;`, behind the data of a section nothing.
                    TokenKind::Sign('}') if braces == 1 && !is_variable => {
                        self.next();
                        break;
                    }
                    TokenKind::Sign('}') if braces != 0 => braces -= 1,
                    TokenKind::Dotted => may_be_head |= is_function(self.peek().text),
                    TokenKind::Sign('}' | ';') => {
                        self.error("a `;` is missing");
                        break;
                    }
                    TokenKind::Sign('=') => is_variable = true,
                    TokenKind::End | TokenKind::Unclosed(_) => {
                        if braces != 0 || matches!(self.peek().kind, TokenKind::Unclosed(_)) {
                            self.error("the end of a list in braces is missing");
                        }
                        break;
                    }
                    _ => {}
                }
                self.next();
            }
        }
        let text = self.since(dot);
        let arguments = text.slice(arguments.min(text.span().end)..text.span().end);
        Directive { text, keyword, arguments, is_head }
    }

    fn instruction(&mut self) -> Instruction<'t> {
        let (start, errors) = (self.peek().text.start, self.errors.len());
        let guard = self.guard();
        let mnemonic = self.peek();
        if mnemonic.kind == TokenKind::Name && mnemonic.text.text != "_" {
            self.next();
        } else {
            self.error(format!("an instruction is expected in place of {}", described(mnemonic)));
        }
        let mut modifiers = Vec::new();
        while self.peek().kind == TokenKind::Dotted {
            modifiers.push(self.next().text);
        }
        let empty = matches!(self.peek().kind, TokenKind::End | TokenKind::Sign(';' | '}'));
        let operands = if empty { Vec::new() } else { self.operands(0) };
        let text = self.since(start);
        let ends = matches!(self.peek().kind, TokenKind::Sign(';') | TokenKind::End);
        if !ends && self.errors.len() == errors {
            self.error("a `;` is missing");
        }
        Instruction { text, guard, mnemonic: mnemonic.text, modifiers, operands }
    }

    fn guard(&mut self) -> Option<Guard<'t>> {
        self.accept('@')?;
        let negated = self.accept('!').is_some();
        let predicate = self.peek();
        if predicate.kind == TokenKind::Name && predicate.text.text != "_" {
            self.next();
        } else {
            self.error(format!("a predicate is expected in place of {}", described(predicate)));
        }
        Some(Guard { predicate: predicate.text, negated })
    }

    /// What stands between commas, so many brackets deep.
    fn operands(&mut self, depth: usize) -> Vec<Operand<'t>> {
        let mut operands = vec![self.operand(depth)];
        while self.accept(',').is_some() {
            operands.push(self.operand(depth));
        }
        operands
    }

    fn operand(&mut self, depth: usize) -> Operand<'t> {
        let start = self.cursor;
        let (first, errors) = (self.peek().text.start, self.errors.len());
        if let Some(shape) = self.shape(depth)
            && self.ends()
        {
            return Operand { text: self.since(first), shape };
        }
        // Its form is unknown. What was wrong within it is found once more.
        self.errors.truncate(errors);
        self.cursor = start;
        self.skip_operand();
        let text = self.since(first);
        if text.text.is_empty() {
            let found = self.peek();
            self.error(format!("an operand is expected in place of {}", described(found)));
        }
        Operand { text, shape: Shape::Unknown }
    }

    /// Whether an operand ends here.
    fn ends(&self) -> bool {
        matches!(self.peek().kind, TokenKind::End | TokenKind::Sign(',' | ';' | ')' | ']' | '}'))
    }

    /// Skips to the comma or bracket behind an operand.
    fn skip_operand(&mut self) {
        let mut open: Vec<Token<'t>> = Vec::new();
        loop {
            let token = self.peek();
            match token.kind {
                TokenKind::Sign('(' | '[' | '{') => open.push(token),
                TokenKind::Sign(',') if open.is_empty() => return,
                TokenKind::Sign(closing @ (')' | ']' | '}')) => match open.last() {
                    Some(opening) if closing == closing_of(opening.text.text) => drop(open.pop()),
                    _ => break,
                },
                TokenKind::Sign(';') | TokenKind::End => break,
                TokenKind::Unclosed(_) => return self.error(""),
                _ => {}
            }
            self.next();
        }
        // One error for brackets of which there may be thousands: the innermost.
        if let Some(opening) = open.last() {
            let closing = closing_of(opening.text.text);
            self.errors.push(SyntaxError { span: opening.text.span(), reason: format!("its `{closing}` is missing") });
        }
    }

    /// An operand of a form that is known.
    fn shape(&mut self, depth: usize) -> Option<Shape<'t>> {
        let TokenKind::Sign(opening @ ('(' | '[' | '{')) = self.peek().kind else { return self.scalar() };
        if depth == NESTING {
            return None;
        }
        self.next();
        let elements = match self.peek().kind {
            TokenKind::Sign(')' | ']' | '}') => Vec::new(),
            _ => self.operands(depth + 1),
        };
        self.accept(closing_of(opening.encode_utf8(&mut [0; 4])))?;
        match opening {
            '[' => {
                let suffix = (self.peek().kind == TokenKind::Dotted).then(|| self.next().text);
                Some(Shape::Memory { parts: elements, suffix })
            }
            '{' => Some(Shape::Vector(elements)),
            _ => Some(Shape::List(elements)),
        }
    }

    fn scalar(&mut self) -> Option<Shape<'t>> {
        let start = self.peek().text.start;
        let one = self.one()?;
        let text = self.since(start);
        if self.accept('|').is_none() {
            return Some(one);
        }
        let start = self.peek().text.start;
        let other = self.one()?;
        let second = Operand { text: self.since(start), shape: other };
        Some(Shape::Pair(Box::new([Operand { text, shape: one }, second])))
    }

    fn one(&mut self) -> Option<Shape<'t>> {
        if self.accept('!').is_some() {
            let name = self.next();
            return (name.kind == TokenKind::Name && name.text.text != "_").then_some(Shape::Not(name.text));
        }
        if let Some(number) = self.number() {
            return Some(Shape::Number(number));
        }
        let token = self.next();
        match token.kind {
            TokenKind::String => {
                let span = token.text.span();
                Some(Shape::String(token.text.slice(span.start + 1..span.end - 1)))
            }
            TokenKind::Name if token.text.text == "_" => Some(Shape::Sink),
            TokenKind::Name => {
                let name = token.text;
                match self.peek().kind {
                    TokenKind::Dotted => Some(Shape::Name { name, suffix: Some(self.next().text) }),
                    TokenKind::Sign('+') => Some(Shape::Sum(Address { base: name, offset: self.offset()? })),
                    _ => Some(Shape::Name { name, suffix: None }),
                }
            }
            _ => None,
        }
    }

    /// `+4+-8+(16)`, wrapped to 64 bits.
    fn offset(&mut self) -> Option<i64> {
        let mut sum = 0i64;
        while self.accept('+').is_some() {
            let parenthesis = self.accept('(').is_some();
            let Some(Number::Integer(term)) = self.number() else { return None };
            if parenthesis {
                self.accept(')')?;
            }
            sum = sum.wrapping_add(term as i64);
        }
        Some(sum)
    }

    /// A constant with its sign; without one nothing is taken.
    fn number(&mut self) -> Option<Number> {
        let mut cursor = self.cursor;
        let mut token = cursor.next();
        let negative = token.kind == TokenKind::Sign('-');
        if negative {
            token = cursor.next();
        }
        let number = match token.kind {
            TokenKind::Number => Number::parse(token.text.text)?,
            // `.5`
            TokenKind::Dotted if token.text.text.starts_with(|c: char| c.is_ascii_digit()) => {
                Number::parse(&format!("0.{}", token.text.text))?
            }
            _ => return None,
        };
        self.cursor = cursor;
        Some(if negative { number.negated() } else { number })
    }
}

fn closing_of(opening: &str) -> char {
    match opening {
        "(" => ')',
        "[" => ']',
        _ => '}',
    }
}

fn described(token: Token<'_>) -> String {
    match token.kind {
        TokenKind::End => "the end of the text".into(),
        TokenKind::Dotted => format!("`.{}`", token.text.text),
        _ => format!("`{}`", token.text.text),
    }
}

#[cfg(test)]
mod tests;
