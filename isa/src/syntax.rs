//! The syntax of PTX (sections 4 and 6.4): words, operands and numbers with their positions in the text, without any
//! meaning.
//!
//! The grammar is tolerant. It knows and requires no mnemonic, modifier or type, so the shorthands of litmus tests
//! (`ld.weak r0, x`) are statements too. An operand of unknown form stays text, whose names can still be listed.
//! Brackets may nest without bound; operands nested more deeply than [`NESTING`] levels stay text as well.
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

mod token;

use std::{cell::Cell, ops::Range};

use self::token::Cursor;
pub use self::token::{Text, Token, TokenKind, tokens};

/// The number of bracket levels that are parsed; operands at deeper levels stay text. PTX itself needs two: `[tensor,
/// {x, y}]`.
pub const NESTING: usize = 4;

/// An error in the syntax of a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct SyntaxError {
    /// The byte range of the error.
    pub span: Range<usize>,
    /// The message, as a clause without a full stop.
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
    /// A statement that begins with a dot.
    Directive(Directive<'t>),
    /// Any other statement.
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
    /// The whole text, without the `;` or the brace after it. For a `.section` it includes the braces and their
    /// contents.
    pub text: Text<'t>,
    /// The first word without its dot.
    pub keyword: Text<'t>,
    /// The text after the first word.
    pub arguments: Text<'t>,
    /// Whether the directive is the head of a function that has a body: the next statement is its `{`.
    pub is_head: bool,
}

/// A register that `.reg` declares, or a range of registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Declared<'t> {
    /// The name of the register, or the common prefix of the names of a range.
    pub name: Text<'t>,
    /// The number of registers of a range: `%r<4>` declares `%r0` to `%r3`.
    pub count: Option<u64>,
}

impl<'t> Directive<'t> {
    /// Whether the directive needs no `;`: it ends with its line, or with a brace.
    pub fn is_complete(&self) -> bool {
        let has_data =
            self.text.text.ends_with('}') && tokens(self.text).all(|token| token.kind != TokenKind::Sign('='));
        self.is_head || has_data || LINES.contains(&self.keyword.text)
    }

    /// The words and the registers of a `.reg`. Returns `None` for another directive, and for a malformed `.reg`.
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
    /// The whole text, without the `;`.
    pub text: Text<'t>,
    /// The guard, such as `@p`.
    pub guard: Option<Guard<'t>>,
    /// The first word: `ld`, `cp`, `tcgen05`.
    pub mnemonic: Text<'t>,
    /// The words after the mnemonic, without their dots: `acquire`, `shared::cta`, `u32`.
    pub modifiers: Vec<Text<'t>>,
    /// The operands, which commas separate.
    pub operands: Vec<Operand<'t>>,
}

/// `@p`, or `@!p` if negated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Guard<'t> {
    /// The predicate register.
    pub predicate: Text<'t>,
    /// Whether the instruction executes if the predicate is false.
    pub negated: bool,
}

/// An operand.
#[derive(Clone, Debug, PartialEq)]
pub struct Operand<'t> {
    /// The whole text.
    pub text: Text<'t>,
    /// The form of the operand.
    pub shape: Shape<'t>,
}

/// The form of an operand.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum Shape<'t> {
    /// `%r1`, `x`, or with a suffix `%tid.x`, whose suffix is `x`.
    Name {
        /// The name without the suffix.
        name: Text<'t>,
        /// The suffix without its dot.
        suffix: Option<Text<'t>>,
    },
    /// A constant.
    Number(Number),
    /// `x+8`, without brackets.
    Sum(Address<'t>),
    /// `[…]`: an address, or several parts of an address, such as `[tensor, {x, y}]`. The suffix of `[x].unified` is
    /// `unified`.
    Memory {
        /// The operands between the brackets, which commas separate.
        parts: Vec<Operand<'t>>,
        /// The suffix without its dot.
        suffix: Option<Text<'t>>,
    },
    /// `{…}`.
    Vector(Vec<Operand<'t>>),
    /// `(…)`, such as the argument list of a `call`.
    List(Vec<Operand<'t>>),
    /// `%p|%q`, the two results of one instruction.
    Pair(Box<[Operand<'t>; 2]>),
    /// `!%p`; the text is the name.
    Not(Text<'t>),
    /// `_`: the result is discarded.
    Sink,
    /// A quoted string, without its quotes. PTX has no escapes.
    String(Text<'t>),
    /// Anything else, such as `x[4]` or `4*2`.
    Unknown,
}

/// A base and an offset in bytes, wrapped to 64 bits. `[16]` has no base name, and therefore no such address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address<'t> {
    /// A register or a symbol.
    pub base: Text<'t>,
    /// The sum of the summands after the base.
    pub offset: i64,
}

/// A constant (section 4.5).
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Number {
    /// Decimal, `0x`, `0b` or octal, with or without `U`; a negative number is wrapped to 64 bits.
    Integer(u64),
    /// `0f` and eight hexadecimal digits: the bits of an `.f32`.
    Single(u32),
    /// `0d` and sixteen hexadecimal digits: the bits of an `.f64`.
    Double(u64),
    /// A number with a decimal point or an exponent.
    Decimal(f64),
}

impl<'t> Operand<'t> {
    /// The address, with or without brackets: of `[x+8]`, `[x]`, `x+8` or `x`. Returns `None` for every other operand.
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

    /// The names in the operand, in order: registers, labels, symbols.
    pub fn names(&self) -> impl Iterator<Item = Text<'t>> {
        self.text.names()
    }
}

impl Number {
    /// Reads every spelling of a constant without a sign. Returns `None` for other text, and for integers beyond 64
    /// bits.
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
/// All syntax errors: a bracket that is not closed, a missing operand, a second statement.
pub fn statement(text: &str) -> Result<Statement<'_>, Vec<SyntaxError>> {
    let mut parser = Parser::new(text);
    let statement = parser.statement();
    if parser.errors.is_empty() && parser.peek().kind != TokenKind::End {
        let Token { text: Text { text: found, .. }, .. } = parser.peek();
        parser.error(format!("expected one statement, found `{found}` after it"));
    }
    match statement {
        Some(statement) if parser.errors.is_empty() => Ok(statement),
        None if parser.errors.is_empty() => {
            Err(vec![SyntaxError { span: 0..text.len(), reason: "no statement".into() }])
        }
        _ => Err(parser.errors),
    }
}

/// Reads statements up to the end of the text, and returns them with all syntax errors. A statement with an error is
/// left out; parsing resumes after its `;`. Blocks need not be balanced.
pub fn statements(text: &str) -> (Vec<Statement<'_>>, Vec<SyntaxError>) {
    let mut parser = Parser::new(text);
    let mut statements: Vec<_> = std::iter::from_fn(|| parser.statement()).collect();
    if !parser.is_terminated
        && let Some(last) = statements.pop()
    {
        let span = last.text().span();
        parser.errors.push(SyntaxError { span, reason: "the text ends within a statement".into() });
    }
    (statements, parser.errors)
}

/// Directives that end with their line.
const LINES: [&str; 5] = ["version", "target", "address_size", "file", "loc"];

struct Parser<'t> {
    cursor: Cursor<'t>,
    /// The next token at an offset, and the offset of its end, since the parser looks at most tokens more than once.
    ahead: Cell<Option<(usize, Token<'t>, usize)>>,
    errors: Vec<SyntaxError>,
    /// Whether the last statement has its `;`, or needs none.
    is_terminated: bool,
}

impl<'t> Parser<'t> {
    fn new(text: &'t str) -> Self {
        let cursor = Cursor { text: Text::new(text), at: 0 };
        Self { cursor, ahead: Cell::new(None), errors: Vec::new(), is_terminated: true }
    }

    /// The next token, and the offset of its end.
    fn ahead(&self) -> (Token<'t>, usize) {
        let at = self.cursor.at;
        if let Some((_, token, end)) = self.ahead.get().filter(|(start, ..)| *start == at) {
            return (token, end);
        }
        let mut cursor = self.cursor;
        let token = cursor.next();
        self.ahead.set(Some((at, token, cursor.at)));
        (token, cursor.at)
    }

    fn peek(&self) -> Token<'t> {
        self.ahead().0
    }

    fn next(&mut self) -> Token<'t> {
        let (token, end) = self.ahead();
        self.cursor.at = end;
        token
    }

    fn accept(&mut self, sign: char) -> Option<Token<'t>> {
        (self.peek().kind == TokenKind::Sign(sign)).then(|| self.next())
    }

    /// Reports an error at the next token.
    fn error(&mut self, reason: impl Into<String>) {
        let found = self.peek();
        let reason = match found.kind {
            TokenKind::Unclosed(what) => format!("the end of {what} is missing"),
            _ => reason.into(),
        };
        let error = SyntaxError { span: found.text.span(), reason };
        // At one token only the first error is reported, because later errors there follow from it.
        if self.errors.last().is_none_or(|last| last.span != error.span) {
            self.errors.push(error);
        }
    }

    /// The byte offset of the next token, including its dot.
    fn place(&self) -> usize {
        let mut cursor = self.cursor;
        let _ = cursor.skip();
        cursor.at
    }

    /// The text from a byte offset up to the last token that was read.
    fn since(&self, start: usize) -> Text<'t> {
        self.cursor.text.slice(start.min(self.cursor.at)..self.cursor.at)
    }

    /// Reads the next statement without an error. Returns `None` at the end of the text.
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

    /// Reads a statement up to its `;`. It consumes at least one token, or reports an error.
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
        // The dots of the keyword and of the arguments belong to the text of the directive.
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
                    // The values of a variable are followed by `;`, the data of a section by nothing.
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
            self.error(format!("expected an instruction, found {}", described(mnemonic)));
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
            self.error(format!("expected a predicate, found {}", described(predicate)));
        }
        Some(Guard { predicate: predicate.text, negated })
    }

    /// Reads operands, which commas separate, at this bracket depth.
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
        // The operand has an unknown form. `skip_operand` reports its errors again.
        self.errors.truncate(errors);
        self.cursor = start;
        self.skip_operand();
        let text = self.since(first);
        if text.text.is_empty() {
            let found = self.peek();
            self.error(format!("expected an operand, found {}", described(found)));
        }
        Operand { text, shape: Shape::Unknown }
    }

    /// Whether the next token ends an operand.
    fn ends(&self) -> bool {
        matches!(self.peek().kind, TokenKind::End | TokenKind::Sign(',' | ';' | ')' | ']' | '}'))
    }

    /// Skips to the comma or bracket that ends an operand.
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
        // Thousands of brackets may be open; only the innermost is reported.
        if let Some(opening) = open.last() {
            let closing = closing_of(opening.text.text);
            self.errors.push(SyntaxError { span: opening.text.span(), reason: format!("its `{closing}` is missing") });
        }
    }

    /// Reads an operand of a known form.
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
        let one = self.parse_shape()?;
        let text = self.since(start);
        if self.accept('|').is_none() {
            return Some(one);
        }
        let start = self.peek().text.start;
        let other = self.parse_shape()?;
        let second = Operand { text: self.since(start), shape: other };
        Some(Shape::Pair(Box::new([Operand { text, shape: one }, second])))
    }

    fn parse_shape(&mut self) -> Option<Shape<'t>> {
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

    /// Reads an offset such as `+4+-8+(16)`, wrapped to 64 bits.
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

    /// Reads a constant with its sign. Consumes nothing if no constant follows.
    fn number(&mut self) -> Option<Number> {
        let (mut token, mut end) = self.ahead();
        let negative = token.kind == TokenKind::Sign('-');
        if negative {
            let mut cursor = Cursor { at: end, ..self.cursor };
            (token, end) = (cursor.next(), cursor.at);
        }
        let number = match token.kind {
            TokenKind::Number => Number::parse(token.text.text)?,
            // `.5`
            TokenKind::Dotted if token.text.text.starts_with(|c: char| c.is_ascii_digit()) => {
                Number::parse(&format!("0.{}", token.text.text))?
            }
            _ => return None,
        };
        self.cursor.at = end;
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
