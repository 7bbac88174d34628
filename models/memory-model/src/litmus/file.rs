//! The reader of a litmus test: its header, its initial values, its columns.

use std::ops::Range;

use ptx_isa::syntax::{Text, TokenKind};

use super::{
    cell,
    error::{Error, Errors},
    formula::{condition, is_condition},
    host::{self, canonical},
    names::{declare, label, register, variable},
    operand::Cell,
    shared::{Mapped, Use, give_each_cta_its_own},
    shorthand::END,
    test::{Dialect, Litmus},
    tokens::{Tokens, render_token},
};
use crate::{
    asynchronous::Memory,
    place::{Place, Processor},
    program::{Instruction, Label, Location, Register, Value, Variable},
    ptx::{Alias, Program, Proxy, Thread},
};

impl Litmus {
    /// Reads a file's text.
    ///
    /// # Errors
    /// All invalid cells, with their positions. If the text does not consist of rows and columns as expected, the first
    /// position at which it does not.
    pub fn read(text: &str) -> Result<Self, Errors> {
        Self::read_as(text, Dialect::Ptx).map(|(litmus, _)| litmus)
    }

    /// Reads a file's text in a dialect. Also returns warnings about text that is accepted but may be a mistake.
    ///
    /// # Errors
    /// See [`Litmus::read`].
    pub fn read_as(text: &str, dialect: Dialect) -> Result<(Self, Vec<Error>), Errors> {
        Self::read_with_lines(text, dialect).map(|Read { litmus, warnings, .. }| (litmus, warnings))
    }

    /// Like [`Litmus::read_as`], with the line of each statement.
    ///
    /// # Errors
    /// See [`Litmus::read`].
    pub fn read_with_lines(text: &str, dialect: Dialect) -> Result<Read, Errors> {
        let (name, mut reader) = Reader::new(text, dialect)?;
        let litmus = reader.file(name)?;
        let Columns { warnings, lines, .. } = reader.columns;
        Ok(Read { litmus, warnings, lines })
    }

    /// The range of each thread's header cell in the text, in bytes. The rows are not read.
    ///
    /// # Errors
    /// The first position before the rows that is not as expected.
    pub fn threads(text: &str) -> Result<Vec<Range<usize>>, Errors> {
        let (_, mut reader) = Reader::new(text, Dialect::Ptx)?;
        reader.front()?;
        Ok(reader.columns.threads)
    }
}

/// The first word of a test, and the processor of the threads whose header names none. Tests of herd7 for AArch64 are
/// read unchanged.
const HEADERS: [(&str, Processor); 2] = [("PTX", Processor::Gpu), ("AArch64", Processor::AArch64)];

/// The relation of a multimem address to its replicas.
const MULTIMEM: &str = "multimem";

/// The result of reading a test.
#[derive(Clone, Debug)]
pub struct Read {
    /// The test.
    pub litmus: Litmus,
    /// The warnings about text that is accepted but may be a mistake.
    pub warnings: Vec<Error>,
    /// The line of each statement of each thread, from 1.
    pub lines: Vec<Vec<usize>>,
}

struct Reader<'t> {
    text: &'t str,
    dialect: Dialect,
    /// The processor of the threads whose header names none.
    processor: Processor,
    tokens: Tokens<'t>,
    program: Program,
    columns: Columns,
}

/// The parts of the cells that can be checked only against the whole program.
#[derive(Default)]
struct Columns {
    uses: Vec<Use>,
    mapped: Vec<Mapped>,
    /// The thread and label of each branch, and its position.
    branches: Vec<(usize, Label, usize)>,
    warnings: Vec<Error>,
    errors: Vec<Error>,
    /// The thread and register of each constant that instructions depend on, and its position.
    constants: Vec<(usize, Register, usize)>,
    /// The line of each statement of each thread.
    lines: Vec<Vec<usize>>,
    /// The range of each thread's header cell.
    threads: Vec<Range<usize>>,
    /// The start of the last cell, and the number of line breaks before it.
    counted: (usize, usize),
}

/// A register's initial value, until its thread is known.
struct Initial<'t> {
    thread: usize,
    name: Text<'t>,
    value: Value,
    at: usize,
}

impl<'t> Reader<'t> {
    /// The name in the first line, and a reader of the text after that line.
    fn new(text: &'t str, dialect: Dialect) -> Result<(String, Self), Error> {
        let header = text.trim_start();
        let skipped = text.len() - header.len();
        let line = header.lines().next().unwrap_or_default();
        let (word, name) = line.split_at(line.find([' ', '\t']).unwrap_or(line.len()));
        let Some((_, processor)) = HEADERS.iter().find(|(known, _)| *known == word) else {
            return Err(Error::at(text, skipped, "a litmus test begins with `PTX` and its name"));
        };
        let tokens = Tokens::new(text, skipped + line.len())?;
        let program = Program { locations: Vec::new(), threads: Vec::new() };
        let reader = Reader { text, dialect, processor: *processor, tokens, program, columns: Columns::default() };
        Ok((name.trim().into(), reader))
    }

    /// Reads the text before the rows: the comments, and the initial values of registers.
    fn front(&mut self) -> Result<(Vec<String>, Vec<Initial<'t>>), Error> {
        let mut comments = Vec::new();
        while self.tokens.peek().kind == TokenKind::String {
            let text = self.tokens.take().text.text;
            comments.push(text[1..text.len() - 1].to_string());
        }
        let initial = self.initial()?;
        loop {
            let start = self.tokens.here();
            self.thread()?;
            self.columns.threads.push(start..self.tokens.previous_end());
            if !self.tokens.accept("|") {
                break;
            }
        }
        self.tokens.expect(";")?;
        Ok((comments, initial))
    }

    fn file(&mut self, name: String) -> Result<Litmus, Errors> {
        let (comments, initial) = self.front()?;
        for Initial { thread, name, value, at } in initial {
            let Some(thread) = self.program.threads.get_mut(thread) else {
                return Ok(self.tokens.error_at(at, format!("the test has no thread P{thread}"))?);
            };
            let register = register(thread, &canonical(thread.place.processor, name.text));
            thread.registers[usize::from(register.0)].initial = value;
        }
        while !is_condition(&self.tokens) {
            // An invalid row ends the reading. Errors before it have precedence.
            if let Err(error) = self.row() {
                self.columns.errors.push(error);
                break;
            }
        }
        if !self.columns.errors.is_empty() {
            return Err(Errors(std::mem::take(&mut self.columns.errors)));
        }
        self.program.threads.iter_mut().for_each(end);
        for &(thread, label, at) in &self.columns.branches {
            let Thread { code, labels, .. } = &self.program.threads[thread];
            let instruction = Instruction::Label(label);
            if !code.iter().any(|statement| statement.instruction == instruction) {
                let name = &labels[usize::from(label.0)];
                return Ok(self.tokens.error_at(at, format!("P{thread} has no label `{name}`"))?);
            }
        }
        self.constants()?;
        give_each_cta_its_own(&mut self.program, &self.columns.uses, &self.columns.mapped)
            .or_else(|(at, message)| self.tokens.error_at(at, message))?;
        let condition = condition(&mut self.tokens, &mut self.program)?;
        let other = self.tokens.peek();
        if other.kind != TokenKind::End {
            return Ok(self.tokens.error(format!("expected the end of the text, found {}", render_token(other)))?);
        }
        let program = std::mem::replace(&mut self.program, Program { locations: Vec::new(), threads: Vec::new() });
        Ok(Litmus { name, comments, program, condition })
    }

    /// Reads the initial values: declares the variables, and returns the values of the registers.
    fn initial(&mut self) -> Result<Vec<Initial<'t>>, Error> {
        let mut registers = Vec::new();
        self.tokens.expect("{")?;
        while !self.tokens.accept("}") {
            let at = self.tokens.here();
            if let Some(named) = self.tokens.thread_register() {
                let (thread, name) = named?;
                self.tokens.expect("=")?;
                registers.push(Initial { thread, name, value: self.value()?, at });
            } else {
                let memory = self.memory()?;
                let name = self.tokens.word("a variable or `}`")?;
                let variable = self.declaration(name)?;
                let of = memory.map(|memory| Use { variable, memory, of_pair: false, at });
                self.columns.uses.extend(of);
            }
            if !self.tokens.accept(";") && !self.tokens.is(0, "}") {
                return self.tokens.error(format!("expected `;` or `}}`, found {}", render_token(self.tokens.peek())));
            }
        }
        Ok(registers)
    }

    /// A number, or the address of a variable.
    fn value(&mut self) -> Result<Value, Error> {
        let Some(name) = self.tokens.accept_word() else { return self.tokens.number() };
        match variable(&self.program, name.text) {
            Some(location) => Ok(self.program.address_of(location)),
            None => self.tokens.error_at(name.start, format!("`{}` is not declared yet", name.text)),
        }
    }

    /// `.shared` before a variable, or another state space.
    fn memory(&mut self) -> Result<Option<Memory>, Error> {
        let token = self.tokens.peek();
        if token.kind != TokenKind::Dotted {
            return Ok(None);
        }
        match token.text.text.parse() {
            Ok(memory) => {
                self.tokens.take();
                Ok(Some(memory))
            }
            Err(_) => {
                self.tokens.error(format!("expected `.global`, `.shared` or `.tensor`, found `.{}`", token.text.text))
            }
        }
    }

    /// Checks that registers that instructions depend on keep their values.
    fn constants(&self) -> Result<(), Error> {
        for &(thread, register, at) in &self.columns.constants {
            let Thread { code, registers, .. } = &self.program.threads[thread];
            let sets = |instruction: &Instruction<_>| instruction.clone().results_mut().contains(&&mut { register });
            if code.iter().any(|statement| sets(&statement.instruction)) {
                let name = &registers[usize::from(register.0)].name;
                return self
                    .tokens
                    .error_at(at, format!("`{name}` changes, but must be a constant here: write a number"));
            }
        }
        Ok(())
    }

    /// `x=1`, or `y @ proxy aliases x`.
    fn declaration(&mut self, name: Text<'t>) -> Result<Location, Error> {
        let mut declared = Variable::new(name.text, 0);
        if variable(&self.program, name.text).is_some() {
            return self.tokens.error_at(name.start, format!("`{}` is declared twice", name.text));
        }
        if self.tokens.accept("@") {
            let word = self.tokens.word("a proxy")?;
            if word.text == MULTIMEM {
                return self.multimem(name);
            }
            let no_proxy = |_| self.tokens.error_at(word.start, format!("`{}` is not a proxy", word.text));
            let proxy: Proxy = word.text.parse().or_else(no_proxy)?;
            self.aliases()?;
            let location = self.aliased()?;
            declared.alias = Some((Alias::Proxy(proxy), location));
        } else {
            self.tokens.expect("=")?;
            declared.initial = self.tokens.number()?;
        }
        match declare(&mut self.program, declared) {
            Some(variable) => Ok(variable),
            None => self.tokens.error_at(name.start, "there are too many variables"),
        }
    }

    /// The word between an alias and its variables.
    fn aliases(&mut self) -> Result<(), Error> {
        let word = self.tokens.word("`aliases`")?;
        if word.text == "aliases" { Ok(()) } else { self.tokens.error_at(word.start, "expected `aliases`") }
    }

    /// The variable of an alias.
    fn aliased(&mut self) -> Result<Location, Error> {
        let of = self.tokens.word("a variable")?;
        match variable(&self.program, of.text) {
            Some(location) => Ok(location),
            None => self.tokens.error_at(of.start, format!("`{}` is not declared yet", of.text)),
        }
    }

    /// `m @ multimem aliases x, y`: an alias of each replica. Returns the first one.
    fn multimem(&mut self, name: Text<'t>) -> Result<Location, Error> {
        self.aliases()?;
        let (mut first, mut replicas) = (None, Vec::new());
        loop {
            let at = self.tokens.here();
            let replica = self.aliased()?;
            let is_alias = self.program.locations[usize::from(replica.0)].alias.is_some();
            if is_alias || replicas.contains(&replica) {
                return self
                    .tokens
                    .error_at(at, "a multimem address points to different variables, which are not aliases");
            }
            replicas.push(replica);
            let alias = Variable { alias: Some((Alias::Multimem, replica)), ..Variable::new(name.text, 0) };
            match declare(&mut self.program, alias) {
                Some(location) => first = first.or(Some(location)),
                None => return self.tokens.error_at(name.start, "there are too many variables"),
            }
            if !self.tokens.accept(",") {
                return Ok(first.unwrap_or(replica));
            }
        }
    }

    fn thread(&mut self) -> Result<(), Error> {
        let name = self.tokens.word("a thread")?;
        let expected = format!("P{}", self.program.threads.len());
        if name.text != expected {
            return self.tokens.error_at(name.start, format!("expected `{expected}`, found `{}`", name.text));
        }
        let mut place = Place::host(self.processor);
        if self.tokens.accept("@") {
            loop {
                const EXPECTED: &str = "`cta`, `cluster`, `gpu`, `x86`, `aarch64` or `nic`";
                let level = self.tokens.word(EXPECTED)?;
                if let Some(processor) = level.text.parse().ok().filter(|of: &Processor| !of.is_gpu()) {
                    place = Place::host(processor);
                    break;
                }
                place.processor = Processor::Gpu;
                let at = self.tokens.here();
                let number = self.tokens.number()?;
                let number = u32::try_from(number).or_else(|_| self.tokens.error_at(at, "the number is too large"))?;
                match level.text {
                    "cta" => place.cta = number,
                    "cluster" => place.cluster = Some(number),
                    "gpu" => place.gpu = number,
                    other => {
                        return self.tokens.error_at(level.start, format!("expected {EXPECTED}, found `{other}`"));
                    }
                }
                if !self.tokens.accept(",") {
                    break;
                }
            }
        }
        self.columns.lines.push(Vec::new());
        self.program.threads.push(Thread { place, registers: Vec::new(), labels: Vec::new(), code: Vec::new() });
        Ok(())
    }

    fn row(&mut self) -> Result<(), Error> {
        for column in 0.. {
            let at = self.tokens.here();
            if let Some(text) = self.tokens.cell()? {
                if column >= self.program.threads.len() {
                    return self.tokens.error_at(at, "there are more columns than threads");
                }
                self.cell(column, text);
            }
            if self.tokens.accept(";") {
                break;
            }
            self.tokens.expect("|")?;
        }
        Ok(())
    }

    fn cell(&mut self, column: usize, text: Text<'t>) {
        let is_gpu = self.program.threads[column].place.processor.is_gpu();
        let read = match is_gpu {
            false => host::read(&mut self.program, column, text),
            true => cell::Thread { program: &mut self.program, column, dialect: self.dialect }.read(text),
        };
        let cells = match read {
            Ok(cells) => cells,
            Err((at, message)) => return self.columns.errors.push(Error::at(self.text, at, message)),
        };
        let (before, breaks) = self.columns.counted;
        // The first cell of a row begins after the semicolon of the row before it.
        let start = text.start + text.text.len() - text.text.trim_start().len();
        let breaks = breaks + self.text[before..start].matches('\n').count();
        self.columns.counted = (start, breaks);
        self.columns.lines[column].resize(self.program.threads[column].code.len(), breaks + 1);
        for Cell { at, is_shared, uses, undeclared, placed, of_pair, constant, mapped, branch } in cells {
            for name in undeclared {
                self.columns.warnings.push(Error::at(
                    self.text,
                    at,
                    format!("`{name}` is not declared, and begins as 0"),
                ));
            }
            let named = is_shared.map(|is_shared| if is_shared { Memory::Shared } else { Memory::Global });
            let uses = uses.into_iter().filter_map(|variable| Some((variable, named?)));
            let uses = uses.chain(placed).map(|(variable, memory)| Use { variable, memory, of_pair, at });
            self.columns.uses.extend(uses);
            self.columns.constants.extend(constant.into_iter().map(|register| (column, register, at)));
            self.columns.mapped.extend(mapped);
            self.columns.branches.extend(branch.map(|target| (column, target, at)));
        }
    }
}

/// Puts the label after the code that `ret` branches to.
fn end(thread: &mut Thread) {
    if !thread.labels.iter().any(|label| label == END) {
        return;
    }
    let target = label(thread, END);
    if !thread.code.iter().any(|statement| statement.instruction == Instruction::Label(target)) {
        thread.code.push(Instruction::Label(target).into());
    }
}
