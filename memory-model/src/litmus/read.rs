//! The reader.

use super::{ALU, BRANCHES, Dialect, Litmus, types};
use crate::{
    condition::{Atom, Condition, Formula, Quantifier},
    place::{Place, Scope},
    program::{
        Address, AluOp, Barrier, BarrierName, BarrierPart, Cmp, Guard, Label, Location, Operand, Reduction, Register,
        RegisterDeclaration, RmwOp, Statement, Type, Value, Variable,
    },
    ptx::{Access, Fence, FenceSem, Instruction, Program, Proxy, ProxyFence, Sem, Thread},
};

/// What is wrong with a text, and where: line and column count from 1.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{line}:{column}: {message}")]
pub struct Error {
    pub line: usize,
    pub column: usize,
    pub message: String,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token<'t> {
    Word(&'t str),
    Number(Value),
    Text(&'t str),
    Symbol(&'static str),
    End,
}

impl std::fmt::Display for Token<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Word(word) => write!(f, "`{word}`"),
            Self::Number(number) => write!(f, "`{number}`"),
            Self::Text(_) => f.write_str("a quoted comment"),
            Self::Symbol(symbol) => write!(f, "`{symbol}`"),
            Self::End => f.write_str("the end of the text"),
        }
    }
}

/// The longer ones first.
const SYMBOLS: [&str; 22] = [
    "/\\", "\\/", "==", "!=", "=", "!", "~", "(", ")", "{", "}", "[", "]", "@", ",", ";", ":", "|", ".", "+", "-", "%",
];

/// The test, and what is odd in it.
pub fn litmus(text: &str, dialect: Dialect) -> Result<(Litmus, Vec<Error>), Error> {
    let header = text.trim_start();
    let skipped = text.len() - header.len();
    let line = header.lines().next().unwrap_or_default();
    let Some(name) = line.strip_prefix("PTX").filter(|name| name.is_empty() || name.starts_with([' ', '\t'])) else {
        return Err(error(text, skipped, "a litmus test begins with `PTX` and its name".into()));
    };
    let tokens = tokens(text, skipped + line.len())?;
    let mut reader = Reader {
        text,
        dialect,
        tokens,
        next: 0,
        comparisons: 0,
        uses: Vec::new(),
        mapped: Vec::new(),
        branches: Vec::new(),
        warnings: Vec::new(),
    };
    let litmus = reader.file(name.trim().into())?;
    Ok((litmus, reader.warnings))
}

fn error(text: &str, offset: usize, message: String) -> Error {
    let before = &text[..offset];
    let column = before.chars().rev().take_while(|&c| c != '\n').count() + 1;
    Error { line: before.matches('\n').count() + 1, column, message }
}

fn tokens(text: &str, start: usize) -> Result<Vec<(usize, Token<'_>)>, Error> {
    let mut tokens = Vec::new();
    let mut at = start;
    while let Some(c) = text[at..].chars().next() {
        let rest = &text[at..];
        let run = |inside: fn(char) -> bool| &rest[..rest.find(|c| !inside(c)).unwrap_or(rest.len())];
        let (token, len) = if c.is_whitespace() {
            at += c.len_utf8();
            continue;
        } else if c == '"' {
            let len = comment(&rest[1..]).ok_or_else(|| error(text, at, "a quoted comment does not end".into()))?;
            (Token::Text(&rest[1..=len]), len + 2)
        } else if c.is_ascii_digit() {
            let digits = run(|c| c.is_ascii_alphanumeric() || c == '_');
            let number = match digits.strip_prefix("0x") {
                Some(hex) => Value::from_str_radix(hex, 16),
                None => digits.parse(),
            };
            let number = number.map_err(|_| error(text, at, format!("`{digits}` is no number of 64 bits")))?;
            (Token::Number(number), digits.len())
        } else if c.is_ascii_alphabetic() || c == '_' || c == '%' || c == '$' {
            let word = &rest[..1 + rest[1..]
                .find(|c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '$'))
                .unwrap_or(rest.len() - 1)];
            (Token::Word(word), word.len())
        } else if let Some(symbol) = SYMBOLS.iter().find(|symbol| rest.starts_with(**symbol)) {
            (Token::Symbol(symbol), symbol.len())
        } else {
            return Err(error(text, at, format!("`{c}` is no part of a litmus test")));
        };
        tokens.push((at, token));
        at += len;
    }
    tokens.push((text.len(), Token::End));
    Ok(tokens)
}

/// Where a comment ends: at the first quote behind which its line has nothing more, or what may follow a comment.
fn comment(text: &str) -> Option<usize> {
    let last = |&(at, _): &(usize, &str)| {
        let line = text[at + 1..].lines().next().unwrap_or_default().trim_start();
        line.is_empty() || line.starts_with(['{', '"'])
    };
    text.match_indices('"').find(last).or_else(|| text.match_indices('"').next()).map(|(at, _)| at)
}

/// Of the parentheses of a condition.
const MAX_DEPTH: usize = 100;
const MAX_COMPARISONS: usize = 1000;

struct Reader<'t> {
    text: &'t str,
    dialect: Dialect,
    tokens: Vec<(usize, Token<'t>)>,
    next: usize,
    /// How many comparisons the condition has so far.
    comparisons: usize,
    uses: Vec<Use>,
    mapped: Vec<Mapped>,
    /// The thread, label and token of each branch.
    branches: Vec<(usize, Label, usize)>,
    warnings: Vec<Error>,
}

/// An instruction that says in which state space a variable is.
#[derive(Clone, Copy)]
struct Use {
    variable: Location,
    token: usize,
    shared: bool,
}

/// A `mapa`: the address of a shared variable in another CTA of the cluster.
#[derive(Clone, Copy)]
struct Mapped {
    variable: Location,
    token: usize,
    thread: usize,
    statement: usize,
    cta: u32,
}

/// An operand whose name is not resolved yet.
#[derive(Clone, Debug)]
enum Raw<'t> {
    Name(&'t str),
    Number(Value),
    Address(Box<Self>, i64),
    List(Vec<Self>),
}

/// The modifiers of an instruction, each at most once.
#[derive(Default)]
struct Modifiers {
    sem: Option<Sem>,
    scope: Option<Scope>,
    mmio: bool,
    ty: Option<Type>,
    op: Option<RmwOp>,
    vector: Option<usize>,
    /// Whether a state space is named, and is shared memory.
    shared: Option<bool>,
}

impl<'t> Reader<'t> {
    fn peek(&self) -> &Token<'t> {
        &self.tokens[self.next].1
    }

    fn take(&mut self) -> Token<'t> {
        let token = self.peek().clone();
        self.next = (self.next + 1).min(self.tokens.len() - 1);
        token
    }

    /// An error at the next token.
    fn error<T>(&self, message: impl Into<String>) -> Result<T, Error> {
        Err(error(self.text, self.tokens[self.next].0, message.into()))
    }

    /// An error at a token that has been read.
    fn error_at<T>(&self, token: usize, message: impl Into<String>) -> Result<T, Error> {
        Err(error(self.text, self.tokens[token].0, message.into()))
    }

    fn accept(&mut self, symbol: &str) -> bool {
        let is = matches!(self.peek(), Token::Symbol(found) if *found == symbol);
        self.next += usize::from(is);
        is
    }

    fn expect(&mut self, symbol: &str) -> Result<(), Error> {
        if self.accept(symbol) { Ok(()) } else { self.error(format!("`{symbol}` expected, not {}", self.peek())) }
    }

    fn word(&mut self, what: &str) -> Result<&'t str, Error> {
        match *self.peek() {
            Token::Word(word) => {
                self.next += 1;
                Ok(word)
            }
            _ => self.error(format!("{what} expected, not {}", self.peek())),
        }
    }

    fn number(&mut self) -> Result<Value, Error> {
        let negative = self.accept("-");
        match *self.peek() {
            Token::Number(number) if negative && number > 1 << 63 => {
                self.error(format!("`-{number}` is no number of 64 bits"))
            }
            Token::Number(number) => {
                self.next += 1;
                Ok(if negative { number.wrapping_neg() } else { number })
            }
            _ => self.error(format!("a number expected, not {}", self.peek())),
        }
    }

    fn file(&mut self, name: String) -> Result<Litmus, Error> {
        let mut comments = Vec::new();
        while let Token::Text(text) = *self.peek() {
            comments.push(text.to_string());
            self.next += 1;
        }
        let mut program = Program { locations: Vec::new(), threads: Vec::new() };
        let initial = self.initial(&mut program)?;
        loop {
            self.thread(&mut program)?;
            if !self.accept("|") {
                break;
            }
        }
        self.expect(";")?;
        for (token, thread, name, value) in initial {
            let Some(thread) = program.threads.get_mut(thread) else {
                return self.error_at(token, format!("there is no thread P{thread}"));
            };
            let register = register(thread, name);
            thread.registers[usize::from(register.0)].initial = value;
        }
        while !self.at_condition() {
            self.row(&mut program)?;
        }
        for &(thread, label, token) in &self.branches {
            let Thread { code, labels, .. } = &program.threads[thread];
            let instruction = Instruction::Label(label);
            if !code.iter().any(|statement| statement.instruction == instruction) {
                let name = &labels[usize::from(label.0)];
                return self.error_at(token, format!("P{thread} has no label `{name}`"));
            }
        }
        self.shared_memory(&mut program)?;
        let condition = self.condition(&mut program)?;
        match self.peek() {
            Token::End => Ok(Litmus { name, comments, program, condition }),
            other => self.error(format!("the end of the text expected, not {other}")),
        }
    }

    /// The initial values: variables are declared; registers are given back with their tokens.
    fn initial(&mut self, program: &mut Program) -> Result<Vec<(usize, usize, &'t str, Value)>, Error> {
        let mut registers = Vec::new();
        self.expect("{")?;
        while !self.accept("}") {
            let token = self.next;
            let first = match self.take() {
                Token::Word(word) => word,
                Token::Number(_) => {
                    self.next -= 1;
                    let (thread, name) = self.thread_register()?;
                    self.expect("=")?;
                    registers.push((token, thread, name, self.number()?));
                    continue;
                }
                other => return self.error_at(token, format!("a variable or `}}` expected, not {other}")),
            };
            if matches!(self.peek(), Token::Symbol(":")) {
                self.next = token;
                let (thread, name) = self.thread_register()?;
                self.expect("=")?;
                registers.push((token, thread, name, self.number()?));
            } else {
                let mut declared = Variable { name: first.into(), initial: 0, alias: None };
                if variable(program, first).is_some() {
                    return self.error_at(token, format!("`{first}` is declared twice"));
                }
                if self.accept("@") {
                    let proxy = self.proxy()?;
                    if self.word("`aliases`")? != "aliases" {
                        self.next -= 1;
                        return self.error("`aliases` expected");
                    }
                    let of = self.next;
                    let name = self.word("a variable")?;
                    let Some(location) = variable(program, name) else {
                        return self.error_at(of, format!("`{name}` is not declared yet"));
                    };
                    declared.alias = Some((proxy, location));
                } else {
                    self.expect("=")?;
                    declared.initial = self.number()?;
                }
                if program.locations.len() >= usize::from(u16::MAX) {
                    return self.error_at(token, "there are too many variables");
                }
                program.locations.push(declared);
            }
            if !self.accept(";") && !matches!(self.peek(), Token::Symbol("}")) {
                return self.error(format!("`;` or `}}` expected, not {}", self.peek()));
            }
        }
        Ok(registers)
    }

    fn proxy(&mut self) -> Result<Proxy, Error> {
        let token = self.next;
        let word = self.word("a proxy")?;
        word.parse().or_else(|_| self.error_at(token, format!("`{word}` is no proxy")))
    }

    fn thread(&mut self, program: &mut Program) -> Result<(), Error> {
        let token = self.next;
        let name = self.word("a thread")?;
        if name != format!("P{}", program.threads.len()) {
            return self.error_at(token, format!("`P{}` expected, not `{name}`", program.threads.len()));
        }
        let mut place = Place::default();
        if self.accept("@") {
            loop {
                let token = self.next;
                let level = self.word("`cta`, `cluster` or `gpu`")?;
                let at = self.next;
                let number = self.number()?;
                let number = u32::try_from(number).or_else(|_| self.error_at(at, "the number is too large"))?;
                match level {
                    "cta" => place.cta = number,
                    "cluster" => place.cluster = Some(number),
                    "gpu" => place.gpu = number,
                    _ => return self.error_at(token, format!("`cta`, `cluster` or `gpu` expected, not `{level}`")),
                }
                if !self.accept(",") {
                    break;
                }
            }
        }
        program.threads.push(Thread { place, registers: Vec::new(), labels: Vec::new(), code: Vec::new() });
        Ok(())
    }

    fn row(&mut self, program: &mut Program) -> Result<(), Error> {
        let mut column = 0;
        loop {
            if !matches!(self.peek(), Token::Symbol("|" | ";")) {
                if column >= program.threads.len() {
                    return self.error("there are more columns than threads");
                }
                self.cell(program, column)?;
            }
            if self.accept(";") {
                return Ok(());
            }
            if !self.accept("|") {
                return self.error(format!("`|` or `;` expected, not {}", self.peek()));
            }
            column += 1;
        }
    }

    fn cell(&mut self, program: &mut Program, column: usize) -> Result<(), Error> {
        let mut guard = None;
        if self.accept("@") {
            let negated = self.accept("!");
            let name = self.word("a predicate")?;
            guard = Some(Guard { p: register(&mut program.threads[column], name), negated });
        }
        let token = self.next;
        let mnemonic = self.word("an instruction")?;
        let instruction = if self.accept(":") {
            if guard.is_some() {
                return self.error_at(token, "a label has no guard");
            }
            let thread = &mut program.threads[column];
            let instruction = Instruction::Label(label(thread, mnemonic));
            if thread.code.iter().any(|statement| statement.instruction == instruction) {
                return self.error_at(token, format!("P{column} has the label `{mnemonic}` twice"));
            }
            instruction
        } else {
            let mut modifiers = Vec::new();
            while self.accept(".") {
                modifiers.push((self.next, self.modifier()?));
            }
            let mut operands = Vec::new();
            if !matches!(self.peek(), Token::Symbol("|" | ";")) {
                operands.push(self.operand()?);
                while self.accept(",") {
                    operands.push(self.operand()?);
                }
            }
            let mut cell = Cell {
                reader: self,
                program,
                column,
                token,
                mnemonic,
                operands,
                shared: None,
                uses: Vec::new(),
                mapped: None,
            };
            let instruction = cell.instruction(&modifiers)?;
            let Cell { uses, mapped, shared, .. } = cell;
            if let Instruction::Branch { target, .. } = instruction {
                self.branches.push((column, target, token));
            }
            for (variable, declared) in uses {
                if declared {
                    let name = &program.locations[usize::from(variable.0)].name;
                    let message = format!("`{name}` is not declared, and begins as 0");
                    self.warnings.push(error(self.text, self.tokens[token].0, message));
                }
                self.uses.extend(shared.map(|shared| Use { variable, token, shared }));
            }
            self.mapped.extend(mapped);
            instruction
        };
        program.threads[column].code.push(Statement { guard, instruction });
        Ok(())
    }

    /// A word, or words with `::` between them.
    fn modifier(&mut self) -> Result<&'t str, Error> {
        let start = self.tokens[self.next].0;
        let mut word = self.word("a modifier")?;
        let colon = |reader: &Self, ahead: usize| {
            matches!(reader.tokens.get(reader.next + ahead), Some((_, Token::Symbol(":"))))
        };
        while colon(self, 0) && colon(self, 1) {
            self.next += 2;
            let at = self.tokens[self.next].0;
            let last = self.word("a modifier")?;
            word = &self.text[start..at + last.len()];
        }
        Ok(word)
    }

    /// Gives each CTA its own shared variables (section 5.1.6). Where there is more than one, `x` becomes `x$P0`, that of P0's
    /// CTA, and so on.
    fn shared_memory(&mut self, program: &mut Program) -> Result<(), Error> {
        let mut done: Vec<Location> = Vec::new();
        let uses = std::mem::take(&mut self.uses);
        for &Use { variable, token, .. } in uses.iter().filter(|used| used.shared) {
            if done.contains(&variable) {
                continue;
            }
            done.push(variable);
            let name = program.locations[usize::from(variable.0)].name.clone();
            if let Some(other) = uses.iter().find(|other| other.variable == variable && !other.shared) {
                return self.error_at(other.token, format!("`{name}` is in shared memory elsewhere"));
            }
            let is_alias = |(index, of): (usize, &crate::program::Variable<crate::ptx::Ptx>)| {
                of.alias.is_some_and(|(_, of)| of == variable || index == usize::from(variable.0))
            };
            if program.locations.iter().enumerate().any(is_alias) {
                return self.error_at(token, format!("`{name}` has an alias, and cannot be in shared memory"));
            }
            let mut places: Vec<(usize, Place)> = Vec::new();
            let mut of_place = |program: &Program, place: Place| {
                let first = program.threads.iter().position(|thread| thread.place == place)?;
                if !places.contains(&(first, place)) {
                    places.push((first, place));
                }
                Some(())
            };
            for thread in &program.threads {
                if thread.code.iter().any(|statement| statement.instruction.mentions(variable)) {
                    of_place(program, thread.place);
                }
            }
            let mapped: Vec<Mapped> = self.mapped.iter().copied().filter(|mapa| mapa.variable == variable).collect();
            let mut targets = Vec::new();
            for mapa in &mapped {
                let own = program.threads[mapa.thread].place;
                let place = match own.cluster {
                    Some(_) => Place { cta: mapa.cta, ..own },
                    // A CTA without a cluster is one by itself, of rank 0.
                    None => Place { cta: own.cta.wrapping_add(mapa.cta), ..own },
                };
                if of_place(program, place).is_none() || (own.cluster.is_none() && mapa.cta != 0) {
                    return self
                        .error_at(mapa.token, format!("the cluster of P{} has no CTA {}", mapa.thread, mapa.cta));
                }
                targets.push(place);
            }
            if places.len() < 2 {
                continue;
            }
            let initial = program.locations[usize::from(variable.0)].initial;
            let mut instances = Vec::new();
            for (index, &(first, place)) in places.iter().enumerate() {
                let own = format!("{name}$P{first}");
                if self::variable(program, &own).is_some() || program.locations.len() >= usize::from(u16::MAX) {
                    return self
                        .error_at(token, format!("`{own}`, the `{name}` of P{first}'s CTA, is declared already"));
                }
                if index == 0 {
                    program.locations[usize::from(variable.0)].name = own;
                    instances.push((place, variable));
                } else {
                    instances.push((place, Location(program.locations.len() as u16)));
                    program.locations.push(Variable { name: own, initial, alias: None });
                }
            }
            let instance = |place: Place| {
                let found = instances.iter().find(|(of, _)| *of == place);
                found.map_or(variable, |(_, instance)| *instance)
            };
            for (index, thread) in program.threads.iter_mut().enumerate() {
                for (number, statement) in thread.code.iter_mut().enumerate() {
                    let is_it = |mapa: &Mapped| (mapa.thread, mapa.statement) == (index, number);
                    let place = mapped.iter().position(is_it).map_or(thread.place, |mapa| targets[mapa]);
                    statement.instruction.replace(variable, instance(place));
                }
            }
        }
        Ok(())
    }

    fn operand(&mut self) -> Result<Raw<'t>, Error> {
        if self.accept("[") {
            let base = self.element()?;
            let mut offset = 0i64;
            if self.accept("+") || matches!(self.peek(), Token::Symbol("-")) {
                offset = self.number()? as i64;
            }
            self.expect("]")?;
            return Ok(Raw::Address(Box::new(base), offset));
        }
        if self.accept("{") {
            let mut elements = vec![self.element()?];
            while self.accept(",") {
                elements.push(self.element()?);
            }
            self.expect("}")?;
            return Ok(Raw::List(elements));
        }
        self.element()
    }

    fn element(&mut self) -> Result<Raw<'t>, Error> {
        match *self.peek() {
            Token::Word(name) => {
                self.next += 1;
                Ok(Raw::Name(name))
            }
            _ => self.number().map(Raw::Number),
        }
    }

    /// `P0:r1`, or `0:r1` as herd writes it.
    fn thread_register(&mut self) -> Result<(usize, &'t str), Error> {
        let token = self.next;
        let thread = match self.take() {
            Token::Word(word) => word.strip_prefix('P').and_then(|digits| digits.parse().ok()),
            Token::Number(number) => usize::try_from(number).ok(),
            _ => None,
        };
        let Some(thread) = thread else { return self.error_at(token, "a thread, such as `P0`, expected") };
        self.expect(":")?;
        Ok((thread, self.word("a register")?))
    }

    fn at_condition(&self) -> bool {
        matches!(self.peek(), Token::Word("exists" | "forall") | Token::Symbol("~") | Token::End)
    }

    fn condition(&mut self, program: &mut Program) -> Result<Condition, Error> {
        let negated = self.accept("~");
        let token = self.next;
        let quantifier = match (negated, self.word("`exists`, `~exists` or `forall`")?) {
            (false, "exists") => Quantifier::Exists,
            (true, "exists") => Quantifier::NotExists,
            (false, "forall") => Quantifier::Forall,
            (_, other) => {
                return self.error_at(token, format!("`exists`, `~exists` or `forall` expected, not `{other}`"));
            }
        };
        Ok(Condition { quantifier, formula: self.disjunction(program, 0)? })
    }

    fn disjunction(&mut self, program: &mut Program, depth: usize) -> Result<Formula, Error> {
        let mut formula = self.conjunction(program, depth)?;
        while self.accept("\\/") {
            formula = Formula::Or(Box::new(formula), Box::new(self.conjunction(program, depth)?));
        }
        Ok(formula)
    }

    fn conjunction(&mut self, program: &mut Program, depth: usize) -> Result<Formula, Error> {
        let mut formula = self.comparison(program, depth)?;
        while self.accept("/\\") {
            formula = Formula::And(Box::new(formula), Box::new(self.comparison(program, depth)?));
        }
        Ok(formula)
    }

    fn comparison(&mut self, program: &mut Program, depth: usize) -> Result<Formula, Error> {
        self.comparisons += 1;
        if depth > MAX_DEPTH || self.comparisons > MAX_COMPARISONS {
            return self.error("the condition is too large");
        }
        if self.accept("(") {
            let formula = self.disjunction(program, depth + 1)?;
            self.expect(")")?;
            return Ok(formula);
        }
        if self.accept("~") {
            return Ok(Formula::Not(Box::new(self.comparison(program, depth + 1)?)));
        }
        if matches!(self.peek(), Token::Word("true")) {
            self.next += 1;
            return Ok(Formula::True);
        }
        let a = self.atom(program)?;
        if self.accept("!=") {
            return Ok(Formula::Unequal(a, self.atom(program)?));
        }
        if !self.accept("==") {
            self.expect("=")?;
        }
        Ok(Formula::Equal(a, self.atom(program)?))
    }

    fn atom(&mut self, program: &mut Program) -> Result<Atom, Error> {
        let token = self.next;
        let of_register = matches!(self.tokens.get(self.next + 1), Some((_, Token::Symbol(":"))));
        if of_register {
            let (thread, name) = self.thread_register()?;
            let Some(of) = program.threads.get_mut(thread) else {
                return self.error_at(token, format!("there is no thread P{thread}"));
            };
            let Some(index) = of.registers.iter().position(|register| register.name == name) else {
                return self.error_at(token, format!("P{thread} has no register `{name}`"));
            };
            // A condition speaks of what it observes.
            of.registers[index].observed = true;
            return Ok(Atom::Register { thread, register: Register(index as u16) });
        }
        match *self.peek() {
            Token::Word(name) => {
                self.next += 1;
                match variable(program, name) {
                    Some(location) => Ok(Atom::Location(location)),
                    None => {
                        let own = format!("{name}$P");
                        let own = program.locations.iter().map(|v| &v.name).filter(|v| v.starts_with(&own));
                        let own: Vec<String> = own.map(|name| format!("`{name}`")).collect();
                        self.error_at(
                            token,
                            match own.is_empty() {
                                true => format!("there is no variable `{name}`"),
                                false => format!("each CTA has its own `{name}`: {}", own.join(", ")),
                            },
                        )
                    }
                }
            }
            _ => self.number().map(Atom::Value),
        }
    }
}

fn variable(program: &Program, name: &str) -> Option<Location> {
    program.locations.iter().position(|variable| variable.name == name).map(|index| Location(index as u16))
}

fn register(thread: &mut Thread, name: &str) -> Register {
    let index = thread.registers.iter().position(|register| register.name == name).unwrap_or_else(|| {
        let observed = !name.starts_with('%');
        thread.registers.push(RegisterDeclaration { name: name.into(), initial: 0, observed });
        thread.registers.len() - 1
    });
    Register(index as u16)
}

fn label(thread: &mut Thread, name: &str) -> Label {
    let index = thread.labels.iter().position(|label| label == name).unwrap_or_else(|| {
        thread.labels.push(name.into());
        thread.labels.len() - 1
    });
    Label(index as u16)
}

/// One instruction, while its operands are resolved.
struct Cell<'r, 't> {
    reader: &'r Reader<'t>,
    program: &'r mut Program,
    column: usize,
    /// The token of the mnemonic.
    token: usize,
    mnemonic: &'t str,
    operands: Vec<Raw<'t>>,
    /// Whether the instruction names a state space, and it is shared memory.
    shared: Option<bool>,
    /// The variables that it accesses, each with whether it is declared by that.
    uses: Vec<(Location, bool)>,
    mapped: Option<Mapped>,
}

type Words<'m, 't> = &'m [(usize, &'t str)];

impl<'t> Cell<'_, 't> {
    fn error<T>(&self, message: impl Into<String>) -> Result<T, Error> {
        self.reader.error_at(self.token, message)
    }

    fn instruction(&mut self, modifiers: Words<'_, 't>) -> Result<Instruction, Error> {
        let words: Vec<&str> = modifiers.iter().map(|(_, word)| *word).collect();
        if let Some((_, cmp)) = BRANCHES.iter().find(|(name, _)| *name == self.mnemonic) {
            if let Some((token, word)) = modifiers.first() {
                return self.reader.error_at(*token, format!("`{}` takes no `.{word}` here", self.mnemonic));
            }
            self.count(3)?;
            let (a, b) = (self.value(0)?, self.value(1)?);
            return Ok(Instruction::Branch { when: Some((*cmp, a, b)), target: self.label(2)? });
        }
        if let Some((_, op)) = ALU.iter().find(|(name, _)| *name == self.mnemonic) {
            return self.alu(*op, modifiers);
        }
        match (self.mnemonic, &words[..]) {
            ("bra" | "goto", []) => {
                self.count(1)?;
                Ok(Instruction::Branch { when: None, target: self.label(0)? })
            }
            ("setp", [cmp, ..]) => match cmp.parse::<Cmp>() {
                Ok(cmp) => self.alu(AluOp::Set(cmp), &modifiers[1..]),
                Err(_) => self.reader.error_at(modifiers[0].0, format!("`{cmp}` is no comparison")),
            },
            // Dat3M's word for `mov`.
            ("ld", []) if self.operands.len() == 2 && !self.is_address(1) => self.alu(AluOp::Mov, modifiers),
            ("fence", ["proxy", "alias"]) => self.fence(Fence::Proxy(ProxyFence::Alias)),
            ("fence", ["proxy", proxy]) => match proxy.parse::<Proxy>() {
                Ok(Proxy::Generic) | Err(_) => {
                    self.reader.error_at(modifiers[1].0, format!("there is no `fence.proxy.{proxy}`"))
                }
                Ok(proxy) => self.fence(Fence::Proxy(ProxyFence::Of(proxy))),
            },
            ("fence", [sem, scope]) => match (sem.parse::<FenceSem>(), scope.parse::<Scope>()) {
                (Ok(sem), Ok(scope)) => self.fence(Fence::Memory { sem, scope }),
                _ => self.error(format!("there is no `fence.{sem}.{scope}`")),
            },
            ("fence", [scope]) => match scope.parse::<Scope>() {
                Ok(scope) => self.fence(Fence::Memory { sem: FenceSem::AcqRel, scope }),
                Err(_) => self.error(format!("there is no `fence.{scope}`")),
            },
            ("membar", [level]) => {
                let scope = match *level {
                    "cta" => Scope::Cta,
                    "gl" => Scope::Gpu,
                    "sys" => Scope::Sys,
                    _ => return self.error(format!("there is no `membar.{level}`")),
                };
                self.fence(Fence::Memory { sem: FenceSem::Sc, scope })
            }
            ("bar", ["cta", "red", op]) => match op.parse::<Reduction>() {
                Ok(op) if self.operands.len() >= 3 => {
                    let (d, p) = (self.register(0)?, self.value(1)?);
                    self.operands.drain(..2);
                    self.barrier(BarrierPart::Red { op, d, p })
                }
                _ => self.error("`bar.cta.red.{and,or,popc}` takes a register, a predicate and a barrier"),
            },
            ("bar", ["cta", "sync"]) => self.barrier(BarrierPart::Sync),
            ("bar", ["cta", "arrive"]) => self.barrier(BarrierPart::Arrive),
            ("bar" | "barrier", [_, ..]) if words[0] != "cluster" => self.ptx_barrier(&words),
            ("mapa", _) => self.mapa(modifiers),
            ("barrier", ["cluster", "arrive"] | ["cluster", "arrive", "release"]) => {
                self.cluster_barrier(BarrierPart::Arrive, false)
            }
            ("barrier", ["cluster", "arrive", "relaxed"]) => self.cluster_barrier(BarrierPart::Arrive, true),
            ("barrier", ["cluster", "wait"] | ["cluster", "wait", "acquire"]) => {
                self.cluster_barrier(BarrierPart::Wait, false)
            }
            ("ld" | "st" | "sust" | "suld" | "tld" | "cold" | "atom" | "red", _) => self.access(modifiers),
            (mnemonic, words) => {
                let dots = words.iter().map(|word| format!(".{word}")).collect::<String>();
                self.error(format!("`{mnemonic}{dots}` is no instruction of a litmus test"))
            }
        }
    }

    fn count(&self, expected: usize) -> Result<(), Error> {
        let found = self.operands.len();
        if found == expected {
            return Ok(());
        }
        self.error(format!("`{}` takes {expected} operands here, not {found}", self.mnemonic))
    }

    fn fence(&self, fence: Fence) -> Result<Instruction, Error> {
        self.count(0)?;
        Ok(Instruction::Fence(fence))
    }

    fn cluster_barrier(&self, part: BarrierPart, relaxed: bool) -> Result<Instruction, Error> {
        self.count(0)?;
        Ok(Instruction::Barrier(Barrier { part, of: BarrierName::Cluster { relaxed } }))
    }

    /// A barrier as PTX has it: `bar.sync a[, threads]`.
    fn ptx_barrier(&mut self, words: &[&str]) -> Result<Instruction, Error> {
        let words: Vec<&str> = words.iter().copied().filter(|word| !matches!(*word, "cta" | "aligned")).collect();
        let operands = self.operands.len();
        let (part, id, quorum) = match words[..] {
            ["sync"] if matches!(operands, 1 | 2) => (BarrierPart::Sync, 0, operands == 2),
            ["arrive"] if operands == 2 => (BarrierPart::Arrive, 0, true),
            ["red", op, ..] if words.len() <= 3 && matches!(operands, 3 | 4) => match op.parse::<Reduction>() {
                Ok(op) => {
                    let (d, p) = (self.register(0)?, self.value(operands - 1)?);
                    (BarrierPart::Red { op, d, p }, 1, operands == 4)
                }
                Err(_) => return self.error(format!("there is no `{}.red.{op}`", self.mnemonic)),
            },
            ["sync" | "arrive" | "red", ..] => {
                return self.error(
                    "a barrier is `bar.sync a[, threads]`, `bar.arrive a, threads` or `bar.red.op d, a[, threads], p`",
                );
            }
            _ => {
                return self.error(format!(
                    "`{}.{}` is no instruction of a litmus test",
                    self.mnemonic,
                    words.join(".")
                ));
            }
        };
        let quorum = if quorum { Some(self.value(id + 1)?) } else { None };
        Ok(Instruction::Barrier(Barrier { part, of: BarrierName::Cta { instance: 0, id: self.value(id)?, quorum } }))
    }

    /// `mapa d, x, cta`, the address of `x` in another CTA of the cluster.
    fn mapa(&mut self, modifiers: Words<'_, 't>) -> Result<Instruction, Error> {
        let known = |word: &str| matches!(word, "shared::cluster" | "u32" | "u64");
        if let Some((token, word)) = modifiers.iter().find(|(_, word)| !known(word)) {
            return self.reader.error_at(*token, format!("`.{word}` is no modifier of `mapa`"));
        }
        self.count(3)?;
        let (d, a) = (self.register(0)?, self.address(1)?);
        let (Operand::Address(variable), 0, Raw::Number(cta)) = (a.base, a.offset, self.operands[2].clone()) else {
            return self.error("`mapa` takes a register, a variable and the number of a CTA here");
        };
        let Ok(cta) = u32::try_from(cta) else { return self.error("the number of the CTA is too large") };
        self.shared = Some(true);
        let statement = self.program.threads[self.column].code.len();
        self.mapped = Some(Mapped { variable, token: self.token, thread: self.column, statement, cta });
        let none = Operand::Immediate(0);
        Ok(Instruction::Alu { op: AluOp::Mov, ty: Type::U64, d, sources: [a.base, none, none] })
    }

    fn barrier(&mut self, part: BarrierPart) -> Result<Instruction, Error> {
        let Some(Raw::Number(instance)) = self.operands.first() else {
            return self.error("a barrier has the number of its instance as first operand");
        };
        let Ok(instance) = u32::try_from(*instance) else { return self.error("the barrier's instance is too large") };
        if self.operands.len() > 3 {
            return self.error("a barrier takes an instance, an id and a quorum");
        }
        let id = if self.operands.len() > 1 { self.value(1)? } else { Operand::Immediate(0) };
        let quorum = if self.operands.len() > 2 { Some(self.value(2)?) } else { None };
        Ok(Instruction::Barrier(Barrier { part, of: BarrierName::Cta { instance, id, quorum } }))
    }

    fn alu(&mut self, op: AluOp, modifiers: Words<'_, 't>) -> Result<Instruction, Error> {
        let modifiers = self.modifiers(modifiers, |found| found.ty.is_some())?;
        self.count(op.arity() + 1)?;
        let mut sources = [Operand::Immediate(0); 3];
        for (index, source) in sources.iter_mut().enumerate().take(op.arity()) {
            *source = self.value(index + 1)?;
        }
        Ok(Instruction::Alu { op, ty: modifiers.ty.unwrap_or(Type::U64), d: self.register(0)?, sources })
    }

    /// Reads modifiers in any order; `allowed` says whether what was found just now may stand there.
    fn modifiers(&self, words: Words<'_, 't>, allowed: fn(&Modifiers) -> bool) -> Result<Modifiers, Error> {
        let mut all = Modifiers::default();
        for &(token, word) in words {
            let mut one = Modifiers::default();
            if let Some(shared) = match word {
                "global" => Some(false),
                "shared" | "shared::cta" | "shared::cluster" => Some(true),
                _ => None,
            } {
                one.shared = Some(shared);
            } else if word == "mmio" {
                one.mmio = true;
            } else if let Ok(sem) = word.parse() {
                one.sem = Some(sem);
            } else if let Ok(scope) = word.parse() {
                one.scope = Some(scope);
            } else if let Ok(op) = word.parse() {
                one.op = Some(op);
            } else if let Some(elements) = word.strip_prefix('v').and_then(|digits| digits.parse().ok()) {
                one.vector = Some(elements);
            } else if let Some(ty) = ty(word) {
                one.ty = Some(ty);
            } else {
                return self.reader.error_at(token, format!("`.{word}` is no modifier of `{}`", self.mnemonic));
            }
            let twice = one.sem.and(all.sem).is_some()
                || one.scope.and(all.scope).is_some()
                || one.op.and(all.op).is_some()
                || one.ty.and(all.ty).is_some()
                || one.vector.and(all.vector).is_some()
                || one.shared.and(all.shared).is_some()
                || (one.mmio && all.mmio);
            if twice || !allowed(&one) {
                return self.reader.error_at(token, format!("`{}` takes no `.{word}` here", self.mnemonic));
            }
            all = Modifiers {
                sem: one.sem.or(all.sem),
                scope: one.scope.or(all.scope),
                mmio: one.mmio || all.mmio,
                ty: one.ty.or(all.ty),
                op: one.op.or(all.op),
                vector: one.vector.or(all.vector),
                shared: one.shared.or(all.shared),
            };
        }
        Ok(all)
    }

    fn access(&mut self, words: Words<'_, 't>) -> Result<Instruction, Error> {
        let found = self.modifiers(words, |_| true)?;
        let (proxy, loads) = match self.mnemonic {
            "sust" => (Proxy::Surface, false),
            "suld" => (Proxy::Surface, true),
            "tld" => (Proxy::Texture, true),
            "cold" => (Proxy::Constant, true),
            mnemonic => (Proxy::Generic, mnemonic == "ld"),
        };
        let is_atomic = matches!(self.mnemonic, "atom" | "red");
        let sem = found.sem.unwrap_or(if is_atomic { Sem::Relaxed } else { Sem::Weak });
        let possible = match sem {
            Sem::Weak => !is_atomic,
            Sem::Volatile => !is_atomic && proxy == Proxy::Generic,
            Sem::Relaxed => proxy == Proxy::Generic,
            Sem::Acquire => proxy == Proxy::Generic && (loads || self.mnemonic == "atom"),
            Sem::Release => proxy == Proxy::Generic && !loads,
            Sem::AcqRel => self.mnemonic == "atom" || is_atomic && self.reader.dialect == Dialect::Dat3m,
        };
        if !possible {
            return self.error(format!("there is no `{}.{sem}`", self.mnemonic));
        }
        let scope = match (sem, found.scope) {
            (Sem::Weak | Sem::Volatile, None) => Scope::Sys,
            (Sem::Weak | Sem::Volatile, Some(_)) => return self.error(format!("`.{sem}` takes no scope")),
            (_, Some(scope)) => scope,
            (_, None) if is_atomic => Scope::Gpu,
            (_, None) => return self.error(format!("`.{sem}` needs a scope")),
        };
        if found.mmio && (is_atomic || proxy != Proxy::Generic || matches!(sem, Sem::Weak | Sem::Volatile)) {
            return self.error("`.mmio` is for strong `ld` and `st`");
        }
        if found.mmio && (scope != Scope::Sys || found.shared == Some(true)) {
            return self.error("`.mmio` needs `.sys`, and global memory");
        }
        self.shared = found.shared;
        let access = Access { sem, scope, mmio: found.mmio, proxy };
        let ty = found.ty.unwrap_or(Type::U64);
        if is_atomic {
            return match found.op {
                Some(RmwOp::Sub) if self.reader.dialect == Dialect::Ptx => {
                    self.error(format!("there is no `{}.sub`: add a negative number", self.mnemonic))
                }
                Some(op) if found.vector.is_none() => {
                    self.check_type(op, words)?;
                    self.atomic(op, ty, access)
                }
                _ => self.error(format!("`{}` needs an operation", self.mnemonic)),
            };
        }
        if found.op.is_some() {
            return self.error(format!("`{}` takes no operation", self.mnemonic));
        }
        self.count(2)?;
        let Some(elements) = found.vector else {
            return self.load_or_store(loads, ty, access);
        };
        let (Raw::List(first), Raw::List(second)) = (self.operands[0].clone(), self.operands[1].clone()) else {
            return self.error("a vector access takes two lists in braces");
        };
        if !(matches!(elements, 2 | 4) || elements == 8 && ty.bits <= 32) {
            return self.error(format!("there is no `.v{elements}` of {} bits", ty.bits));
        }
        if first.len() != elements || second.len() != elements {
            return self.error(format!("a `.v{elements}` access takes two lists of {elements} elements"));
        }
        let mut instructions = Vec::new();
        for (a, b) in first.into_iter().zip(second) {
            self.operands = vec![a, b];
            instructions.push(self.load_or_store(loads, ty, access)?);
        }
        Ok(Instruction::Vector(instructions))
    }

    fn load_or_store(&mut self, loads: bool, ty: Type, access: Access) -> Result<Instruction, Error> {
        if loads {
            let a = self.address(1)?;
            return Ok(Instruction::Load { d: self.register(0)?, a, ty, access });
        }
        let a = self.address(0)?;
        Ok(Instruction::Store { a, b: self.value_of(1, ty)?, ty, access })
    }

    /// Each operation has its types.
    fn check_type(&self, op: RmwOp, words: Words<'_, 't>) -> Result<(), Error> {
        let Some((token, word)) = words.iter().find(|(_, word)| ty(word).is_some()) else { return Ok(()) };
        let allowed = types(op);
        if allowed.contains(word) || self.reader.dialect == Dialect::Dat3m {
            return Ok(());
        }
        let allowed: Vec<String> = allowed.iter().map(|ty| format!("`.{ty}`")).collect();
        self.reader.error_at(*token, format!("`.{op}` takes {}, not `.{word}`", allowed.join(", ")))
    }

    fn atomic(&mut self, op: RmwOp, ty: Type, access: Access) -> Result<Instruction, Error> {
        let results = usize::from(self.mnemonic == "atom");
        let sources = if op == RmwOp::Cas { 2 } else { 1 };
        if results == 0 && matches!(op, RmwOp::Cas | RmwOp::Exch) {
            return self.error(format!("there is no `red.{op}`"));
        }
        self.count(results + 1 + sources)?;
        let a = self.address(results)?;
        let d = if results == 1 { Some(self.register(0)?) } else { None };
        let b = self.value_of(results + 1, ty)?;
        let c = if sources == 2 { self.value_of(results + 2, ty)? } else { Operand::Immediate(0) };
        Ok(Instruction::Rmw { op, d, a, b, c, ty, access })
    }

    fn is_address(&self, index: usize) -> bool {
        match &self.operands[index] {
            Raw::Address(..) => true,
            Raw::Name(name) => variable(self.program, name).is_some(),
            _ => false,
        }
    }

    fn register(&mut self, index: usize) -> Result<Register, Error> {
        match self.operands[index] {
            Raw::Name(name) if !self.is_address(index) => Ok(register(&mut self.program.threads[self.column], name)),
            _ => self.error(format!("operand {} of `{}` is a register", index + 1, self.mnemonic)),
        }
    }

    fn label(&mut self, index: usize) -> Result<Label, Error> {
        match self.operands[index] {
            Raw::Name(name) => Ok(label(&mut self.program.threads[self.column], name)),
            _ => self.error(format!("operand {} of `{}` is a label", index + 1, self.mnemonic)),
        }
    }

    /// A register, a constant, or a variable's address.
    fn value(&mut self, index: usize) -> Result<Operand, Error> {
        match self.operands[index] {
            Raw::Name(name) => Ok(self.name(name)),
            Raw::Number(number) => Ok(Operand::Immediate(number)),
            _ => self.error(format!("operand {} of `{}` is a register or a number", index + 1, self.mnemonic)),
        }
    }

    /// A value of a type, in which a constant must fit.
    fn value_of(&mut self, index: usize, ty: Type) -> Result<Operand, Error> {
        match self.value(index)? {
            Operand::Immediate(value) if !ty.fits(value) => {
                self.error(format!("`{}` does not fit into {} bits", super::number(value), ty.bits))
            }
            operand => Ok(operand),
        }
    }

    fn name(&mut self, name: &str) -> Operand {
        match variable(self.program, name) {
            Some(location) => Operand::Address(location),
            None => Operand::Register(register(&mut self.program.threads[self.column], name)),
        }
    }

    fn address(&mut self, index: usize) -> Result<Address, Error> {
        let (base, offset) = match &self.operands[index] {
            Raw::Address(base, offset) => ((**base).clone(), *offset),
            other => (other.clone(), 0),
        };
        let Raw::Name(name) = base else {
            return self.error(format!("operand {} of `{}` is an address", index + 1, self.mnemonic));
        };
        let known = &self.program.threads[self.column].registers;
        let declared = variable(self.program, name).is_none() && !known.iter().any(|register| register.name == name);
        if declared {
            let digits = name.strip_prefix('r').filter(|rest| rest.chars().all(|c| c.is_ascii_digit()));
            if name.starts_with('%') || digits.is_some() || self.program.locations.len() >= usize::from(u16::MAX) {
                return self.error(format!("`{name}` is neither a variable nor a register that was set"));
            }
            self.program.locations.push(Variable { name: name.into(), initial: 0, alias: None });
        }
        let base = self.name(name);
        if let Operand::Address(variable) = base {
            self.uses.push((variable, declared));
        }
        Ok(Address { base, offset })
    }
}

fn ty(word: &str) -> Option<Type> {
    let signed = word.starts_with('s');
    let bits = word.strip_prefix(['u', 's', 'b'])?.parse().ok()?;
    matches!(bits, 8 | 16 | 32 | 64).then_some(Type { bits, signed })
}
