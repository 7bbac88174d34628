//! The reader and printer of whole PTX modules, from any compiler.
//!
//! The reader turns each modelled instruction into an [`Instruction`]. For every other instruction it keeps the text
//! and its effect on control flow and data flow ([`Other`]). The rest of a module is kept as text, so that the printed
//! module assembles to the same code; only comments are lost. An instruction prints as its source text ([`Line::text`])
//! as long as that text has the meaning of the typed instruction.
//!
//! If two blocks of a function declare the same name, the reader renames the inner declaration, so that names are
//! unique within a function. The printer restores the source name, because unoptimized code depends on names of
//! registers.

use std::{
    collections::{HashMap, HashSet},
    fmt::{self, Display, Formatter},
    ops::Range,
    str::FromStr,
};

use crate::{
    asynchronous::{Asynchronous, Family},
    declaration::{Head, Variable},
    instruction::{Guard, Instruction, Name, Statement},
    mnemonic::{Control, Mnemonic},
    parse::{ParseErrors, typed},
    syntax::{self, Directive, Operand, Shape, SyntaxError, Text, TokenKind},
};

/// A PTX module: its version, its target, and its items in the order of the text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Module {
    /// The argument of `.version`, such as `8.6`.
    pub version: String,
    /// The argument of the first `.target`, such as `sm_90`.
    pub target: String,
    /// The functions and directives after the header, in the order of the text.
    pub items: Vec<Item>,
}

/// A function or a directive of a module.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Item {
    /// The text of a variable, a section or a line directive, with its `;` if it has one.
    Directive(String),
    /// A function or a kernel.
    Function(Function),
}

/// A `.func` or `.entry`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Function {
    /// The name of the function.
    pub name: String,
    /// Linkage, name, results, parameters, and performance directives.
    pub head: Head,
    /// `None` for a declaration.
    pub body: Option<Vec<Line>>,
    /// The marker that renamed declarations contain before a block number and `$`. No name of the source contains it.
    mark: String,
}

/// A line of a function's body, with its position.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The line number in the text of the module, from 1.
    pub number: u32,
    /// The byte range in the text of the module.
    pub span: Range<usize>,
    /// The column of the mnemonic, from 1, if the line has several instructions; else 0.
    pub column: u32,
    /// The source text of the line, without comments. It is not printed if `code` has since been changed.
    pub text: String,
    /// The parsed line. Its names are unique in the function.
    pub code: Code,
}

/// The parsed form of a line of a function's body.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Code {
    /// `name:`
    Label(Name),
    /// A modelled instruction.
    Instruction {
        /// The guard, such as `@p`.
        guard: Option<Guard>,
        /// The instruction without its guard.
        instruction: Instruction,
    },
    /// An instruction that is not modelled.
    Other(Other),
    /// The text of a declaration, `.loc` or `.pragma`, with its `;` if it has one.
    Directive(String),
    /// `{`
    Open,
    /// `}`
    Close,
}

/// An instruction that is not modelled.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Other {
    /// The guard, such as `@p`.
    pub guard: Option<Guard>,
    /// The mnemonic with its modifiers.
    pub mnemonic: String,
    /// The whole text, with the guard and without `;`.
    pub text: String,
    /// The registers that the instruction writes. For a call: the parameters that it returns.
    pub writes: Vec<Name>,
    /// The registers and symbols that the instruction reads.
    pub reads: Vec<Name>,
    /// The successors of the instruction in the control-flow graph.
    pub jump: Jump,
}

/// The successors of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Jump {
    /// The next instruction.
    Next,
    /// Any of these labels, as after an indexed branch.
    To(Vec<Name>),
    /// None: control leaves the function.
    Out,
}

/// An error in the text of a PTX module.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{reason}")]
pub struct ModuleError {
    /// The byte range of the error.
    pub span: Range<usize>,
    /// The line number, from 1.
    pub line: u32,
    /// The message, as a clause without a full stop.
    pub reason: String,
}

/// All errors of a text, in the order of the text. The list is never empty.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(|error| format!("line {}: {error}", error.line)).collect::<Vec<_>>().join("\n"))]
pub struct ModuleErrors(pub Vec<ModuleError>);

impl Module {
    /// The functions, including declarations, in the order of the text.
    pub fn functions(&self) -> impl Iterator<Item = &Function> {
        self.items.iter().filter_map(|item| match item {
            Item::Function(function) => Some(function),
            Item::Directive(_) => None,
        })
    }

    /// The kernels that have a body, in the order of the text.
    pub fn kernels(&self) -> impl Iterator<Item = &Function> {
        self.functions().filter(|function| function.is_kernel())
    }

    /// Reads as much of the text as possible, and returns all errors in the order of the text. A function that contains
    /// an error loses its body and becomes a declaration.
    pub fn read_partly(text: &str) -> (Self, Vec<ModuleError>) {
        let (statements, errors) = syntax::statements(text);
        let mut reader =
            Reader { lines: Lines::new(text), errors, noreturn: HashSet::new(), mark: mark(text), bodies: Vec::new() };
        let mut module = reader.module(&statements);
        let Reader { lines, mut errors, bodies, .. } = reader;
        errors.sort_by_key(|error| error.span.start);
        let mut bodies = bodies.into_iter();
        for function in module.functions_mut().filter(|function| function.body.is_some()) {
            let Some(span) = bodies.next() else { break };
            let first = errors.partition_point(|error| error.span.start < span.start);
            if errors.get(first).is_some_and(|error| error.span.start <= span.end) {
                function.body = None;
            }
        }
        if module.version.is_empty() || module.target.is_empty() {
            let error =
                SyntaxError { span: 0..0, reason: "expected `.version` and `.target`: the text is not PTX".into() };
            errors.insert(0, error);
        }
        let error = |SyntaxError { span, reason }| ModuleError { line: lines.number(span.start), span, reason };
        (module, errors.into_iter().map(error).collect())
    }

    /// Mutable access to the functions.
    pub fn functions_mut(&mut self) -> impl Iterator<Item = &mut Function> {
        self.items.iter_mut().filter_map(|item| match item {
            Item::Function(function) => Some(function),
            Item::Directive(_) => None,
        })
    }
}

impl Function {
    /// Whether the function is a kernel that has a body.
    pub fn is_kernel(&self) -> bool {
        self.body.is_some() && self.head.is_entry
    }

    /// The name that `name`, a name of the parsed function, has in the source.
    pub(crate) fn source_name<'n>(&self, name: &'n str) -> &'n str {
        name.split(&self.mark).next().unwrap_or(name)
    }
}

impl Line {
    /// The mnemonic with its modifiers, such as `ld.global.u32`, for display.
    pub fn mnemonic(&self) -> Option<&str> {
        match &self.code {
            Code::Other(other) => Some(&other.mnemonic),
            Code::Instruction { guard, .. } => {
                let mut words = self.text.split_whitespace().skip(usize::from(guard.is_some()));
                words.next().map(|word| word.trim_end_matches(';'))
            }
            Code::Label(_) | Code::Directive(_) | Code::Open | Code::Close => None,
        }
    }
}

impl Other {
    /// Whether the instruction is a load from parameter space.
    pub fn loads_parameter(&self) -> bool {
        self.accesses_parameter("ld")
    }

    /// Whether the instruction is a store to parameter space: of an argument, or of a result.
    pub fn stores_parameter(&self) -> bool {
        self.accesses_parameter("st")
    }

    fn accesses_parameter(&self, base: &str) -> bool {
        self.base() == base && self.mnemonic.split(['.', ':']).nth(1) == Some("param")
    }

    /// The mnemonic without its modifiers.
    pub fn base(&self) -> &str {
        self.mnemonic.split('.').next().unwrap_or(&self.mnemonic)
    }

    /// Parses the instruction as an asynchronous one. Returns `None` if its words belong to no
    /// [`Family`](crate::Family).
    ///
    /// # Errors
    /// If PTX has no such form.
    pub fn asynchronous(&self) -> Option<Result<Asynchronous, ParseErrors>> {
        let words: Vec<_> = self.mnemonic.split('.').collect();
        Family::from_words(&words).map(|_| self.text.parse())
    }
}

impl FromStr for Module {
    type Err = ModuleErrors;

    fn from_str(text: &str) -> Result<Self, ModuleErrors> {
        let (module, errors) = Self::read_partly(text);
        if errors.is_empty() { Ok(module) } else { Err(ModuleErrors(errors)) }
    }
}

/// The shortest marker that the text of the module does not contain.
fn mark(text: &str) -> String {
    let mut mark = "$in".to_owned();
    while text.contains(&mark) {
        mark.push('$');
    }
    mark
}

/// The byte offsets of the starts of all lines except the first.
struct Lines(Vec<usize>);

impl Lines {
    fn new(text: &str) -> Self {
        Self(text.match_indices('\n').map(|(at, _)| at + 1).collect())
    }

    /// The line number of a byte offset, from 1.
    fn number(&self, at: usize) -> u32 {
        self.0.partition_point(|start| *start <= at) as u32 + 1
    }

    /// The column of a byte offset in its line, from 1.
    fn column(&self, at: usize) -> u32 {
        let start = self.0[..self.0.partition_point(|start| *start <= at)].last().copied().unwrap_or(0);
        (at - start) as u32 + 1
    }
}

struct Reader {
    lines: Lines,
    errors: Vec<SyntaxError>,
    /// The functions declared `.noreturn`. A function is declared before it is called.
    noreturn: HashSet<String>,
    /// The marker in the names of renamed declarations.
    mark: String,
    /// The byte ranges of the functions that have a body.
    bodies: Vec<Range<usize>>,
}

impl Reader {
    fn error(&mut self, at: Text<'_>, reason: impl Into<String>) {
        self.errors.push(SyntaxError { span: at.span(), reason: reason.into() });
    }

    fn module(&mut self, statements: &[syntax::Statement<'_>]) -> Module {
        let mut module = Module::default();
        let mut rest = statements.iter();
        while let Some(statement) = rest.next() {
            let syntax::Statement::Directive(directive) = statement else {
                self.error(statement.text(), "code outside of a function");
                // The code may belong to the preceding function, whose braces do not match.
                if let Some(body) = self.bodies.last_mut() {
                    body.end = statement.text().span().end;
                }
                continue;
            };
            match directive.keyword.text {
                "version" if module.version.is_empty() => module.version = directive.arguments.text.into(),
                "target" if module.target.is_empty() => module.target = directive.arguments.text.into(),
                _ => match function_name(directive) {
                    None => module.items.push(Item::Directive(with_semicolon(directive, directive.text.text.into()))),
                    Some(name) => {
                        let is_noreturn =
                            |token: syntax::Token<'_>| token.kind == TokenKind::Dotted && token.text.text == "noreturn";
                        if syntax::tokens(directive.text).any(is_noreturn) {
                            self.noreturn.insert(name.clone());
                        }
                        let body = directive.is_head.then(|| {
                            let after = rest.as_slice();
                            let (length, is_closed) = body_length(after);
                            let (body, others) = after.split_at(length);
                            rest = others.iter();
                            let last = body.last().map_or(directive.text, syntax::Statement::text);
                            self.bodies.push(directive.text.start..last.span().end);
                            match body {
                                [_, body @ .., _] if is_closed => self.body(body),
                                _ => {
                                    self.error(last, format!("the end of function '{name}' is missing"));
                                    self.body(body.get(1..).unwrap_or_default())
                                }
                            }
                        });
                        module.items.push(Item::Function(Function {
                            name,
                            head: Head::read(directive.text.text),
                            body,
                            mark: self.mark.clone(),
                        }));
                    }
                },
            }
        }
        module
    }

    /// Reads the lines between the braces of a body.
    fn body(&mut self, statements: &[syntax::Statement<'_>]) -> Vec<Line> {
        let scopes = Scopes::new(statements, &self.mark);
        let mut lists: HashMap<Name, Vec<Name>> = HashMap::new();
        let mut label = None;
        for (statement, block) in scopes.statements() {
            match statement {
                syntax::Statement::Label(name) => label = Some(scopes.unique(name.text, block)),
                syntax::Statement::Directive(directive) if directive.keyword.text == "branchtargets" => {
                    let targets = directive.arguments.names().map(|name| scopes.name(name, block)).collect();
                    lists.extend(label.clone().map(|label| (Name(label.into()), targets)));
                }
                _ => {}
            }
        }
        let (mut lines, mut errors) = (Vec::new(), Vec::new());
        for (statement, block) in scopes.statements() {
            let text = statement.text();
            let code = match statement {
                syntax::Statement::Open(_) => Code::Open,
                syntax::Statement::Close(_) => Code::Close,
                syntax::Statement::Label(name) => Code::Label(scopes.name(*name, block)),
                syntax::Statement::Directive(directive) => {
                    Code::Directive(with_semicolon(directive, scopes.directive(directive, block)))
                }
                syntax::Statement::Instruction(instruction) => {
                    let mnemonic = instruction.mnemonic.start;
                    let unique = |name: Text<'_>| {
                        if name.start == mnemonic { name.text.to_owned() } else { scopes.unique(name.text, block) }
                    };
                    let respelled = text.respelled(unique);
                    match syntax::statement(&respelled) {
                        Ok(statement) => code(&statement, &lists, &self.noreturn),
                        Err(_) => {
                            errors.push((text, "the text is not a PTX statement"));
                            continue;
                        }
                    }
                }
            };
            let number = self.lines.number(text.start);
            let column = self.lines.column(match statement {
                syntax::Statement::Instruction(instruction) => instruction.mnemonic.start,
                _ => text.start,
            });
            let span = text.span();
            lines.push(Line { number, span, column, text: text.respelled(|name| name.text.into()), code });
        }
        errors.into_iter().for_each(|(at, reason)| self.error(at, reason));
        for line in lines.chunk_by_mut(|one, next| one.number == next.number) {
            if line.iter().filter(|own| own.mnemonic().is_some()).count() < 2 {
                line.iter_mut().for_each(|own| own.column = 0);
            }
        }
        lines
    }
}

fn with_semicolon(directive: &Directive<'_>, text: String) -> String {
    if directive.is_complete() { text } else { text + ";" }
}

/// The number of statements from the brace that opens a block to the brace that closes it, and whether the block is
/// closed. A block without a closing brace ends before the next function, or at the end of the text.
fn body_length(statements: &[syntax::Statement<'_>]) -> (usize, bool) {
    let mut depth = 0usize;
    for (index, statement) in statements.iter().enumerate() {
        match statement {
            syntax::Statement::Open(_) => depth += 1,
            syntax::Statement::Close(_) if depth == 1 => return (index + 1, true),
            syntax::Statement::Close(_) => depth = depth.saturating_sub(1),
            syntax::Statement::Directive(directive) if directive.is_head => return (index, false),
            _ => {}
        }
    }
    (statements.len(), false)
}

/// The name in a `.func` or `.entry` directive; in a `.func` directive it follows the results.
fn function_name(directive: &Directive<'_>) -> Option<String> {
    let mut tokens = syntax::tokens(directive.text);
    tokens.find(|token| token.kind == TokenKind::Dotted && matches!(token.text.text, "func" | "entry"))?;
    let mut token = tokens.next()?;
    if token.kind == TokenKind::Sign('(') {
        tokens.find(|token| token.kind == TokenKind::Sign(')'))?;
        token = tokens.next()?;
    }
    (token.kind == TokenKind::Name).then(|| token.text.text.to_owned())
}

/// The blocks of a function, with the declarations of each block.
struct Scopes<'s, 't> {
    statements: Vec<(&'s syntax::Statement<'t>, usize)>,
    blocks: Vec<Scope<'t>>,
    /// The block that declares each name stem; `None` if several blocks declare it.
    owners: HashMap<&'t str, Option<usize>>,
    mark: &'s str,
}

/// The declarations of a block in braces, and its parent block. The function's body is its own parent.
#[derive(Default)]
struct Scope<'t> {
    parent: usize,
    names: HashSet<&'t str>,
    /// The prefixes of the declared ranges: `%r<6>` declares `%r0` to `%r5`.
    ranges: HashSet<&'t str>,
}

/// The names of the variables that a directive declares, except in parameter space.
fn variables<'t>(directive: &Directive<'t>) -> impl Iterator<Item = &'t str> {
    let declared = Variable::read(directive.text.text);
    let names =
        syntax::tokens(directive.text).filter(|token| token.kind == TokenKind::Name).map(|token| token.text.text);
    names.filter(move |name| declared.iter().any(|variable| variable.space.is_some() && variable.name == *name))
}

/// A name without the digits at its end.
fn stem(name: &str) -> &str {
    name.trim_end_matches(|c: char| c.is_ascii_digit())
}

impl<'s, 't> Scopes<'s, 't> {
    fn new(statements: &'s [syntax::Statement<'t>], mark: &'s str) -> Self {
        let mut scopes = Self { statements: Vec::new(), blocks: vec![Scope::default()], owners: HashMap::new(), mark };
        let mut current = 0;
        for statement in statements {
            let mut block = current;
            match statement {
                syntax::Statement::Open(_) => {
                    scopes.blocks.push(Scope { parent: current, ..Scope::default() });
                    current = scopes.blocks.len() - 1;
                    block = current;
                }
                syntax::Statement::Close(_) => current = scopes.blocks[current].parent,
                syntax::Statement::Label(name) => scopes.declare(current, name.text, false),
                syntax::Statement::Directive(directive) => {
                    for declared in directive.registers().map_or(Vec::new(), |(_, declared)| declared) {
                        scopes.declare(current, declared.name.text, declared.count.is_some());
                    }
                    variables(directive).for_each(|name| scopes.declare(current, name, false));
                }
                syntax::Statement::Instruction(_) => {}
            }
            scopes.statements.push((statement, block));
        }
        scopes
    }

    fn declare(&mut self, block: usize, name: &'t str, is_range: bool) {
        let scope = &mut self.blocks[block];
        if is_range { &mut scope.ranges } else { &mut scope.names }.insert(name);
        let owner = self.owners.entry(stem(name)).or_insert(Some(block));
        *owner = owner.filter(|owner| *owner == block);
    }

    fn statements(&self) -> impl Iterator<Item = (&'s syntax::Statement<'t>, usize)> + '_ {
        self.statements.iter().copied()
    }

    fn name(&self, name: Text<'_>, block: usize) -> Name {
        Name(self.unique(name.text, block).into())
    }

    /// The name itself, or its replacement if several blocks declare it.
    fn unique(&self, name: &str, mut block: usize) -> String {
        if self.owners.get(stem(name)) != Some(&None) {
            return name.to_owned();
        }
        while block != 0 {
            let scope = &self.blocks[block];
            if scope.names.contains(name) {
                return self.renamed(name, block);
            }
            let digits = name.len() - stem(name).len();
            let range = (name.len() - digits..name.len()).rev().find(|at| scope.ranges.contains(&name[..*at]));
            if let Some(at) = range {
                return self.renamed(&name[..at], block) + &name[at..];
            }
            block = scope.parent;
        }
        name.to_owned()
    }

    /// The replacement of a name. It ends in a non-digit, so that it cannot equal another name that several blocks
    /// could declare.
    fn renamed(&self, name: &str, block: usize) -> String {
        format!("{name}{}{block}$", self.mark)
    }

    fn directive(&self, directive: &Directive<'t>, block: usize) -> String {
        let declared = directive.registers().map_or(Vec::new(), |(_, declared)| declared);
        let ranges: HashSet<usize> =
            declared.iter().filter(|declared| declared.count.is_some()).map(|declared| declared.name.start).collect();
        directive.text.respelled(|name| {
            let several = self.owners.get(stem(name.text)) == Some(&None);
            match ranges.contains(&name.start) {
                true if several && block != 0 => self.renamed(name.text, block),
                true => name.text.to_owned(),
                false => self.unique(name.text, block),
            }
        })
    }
}

fn code(statement: &syntax::Statement<'_>, lists: &HashMap<Name, Vec<Name>>, noreturn: &HashSet<String>) -> Code {
    match (typed(statement), statement) {
        (Ok(Statement::Instruction { guard, instruction }), _) => Code::Instruction { guard, instruction },
        (_, syntax::Statement::Instruction(instruction)) => Code::Other(other(instruction, lists, noreturn)),
        // A label has no other text after its name.
        _ => Code::Directive(statement.text().text.into()),
    }
}

fn owned(name: Text<'_>) -> Name {
    Name(name.text.to_owned().into())
}

fn other(instruction: &syntax::Instruction<'_>, lists: &HashMap<Name, Vec<Name>>, noreturn: &HashSet<String>) -> Other {
    let syntax::Instruction { text, guard, mnemonic, modifiers, operands } = instruction;
    let mnemonic = modifiers.iter().fold(mnemonic.text.to_owned(), |all, word| all + "." + word.text);
    let row = Mnemonic::find_row(&mnemonic);
    let control = row.map_or(Control::Next, |row| row.control);
    let results = match (control, operands.first().map(|operand| &operand.shape)) {
        (Control::Call, Some(Shape::List(_))) => 1,
        // An operand in brackets is an address, not a result.
        (_, Some(Shape::Memory { .. })) => 0,
        _ => row.map_or(1, |row| row.results).min(operands.len()),
    };
    let names = |operands: &[Operand<'_>]| operands.iter().flat_map(Operand::names).map(owned).collect::<Vec<_>>();
    let (writes, reads) = operands.split_at(results);
    let jump = match control {
        Control::Jump => match &names(operands)[..] {
            // Only an indexed branch has a list of targets. The list follows the index.
            [_, list, ..] => Jump::To(lists.get(list).cloned().unwrap_or_default()),
            target => Jump::To(target.to_vec()),
        },
        Control::Leave => Jump::Out,
        Control::Call if names(reads).first().is_some_and(|callee| noreturn.contains(&*callee.0)) => Jump::Out,
        Control::Call | Control::Next => Jump::Next,
    };
    Other {
        guard: guard.map(|guard| Guard { p: owned(guard.predicate), negated: guard.negated }),
        mnemonic,
        text: text.respelled(|name| name.text.into()),
        writes: names(writes),
        reads: names(reads),
        jump,
    }
}

impl Display for Module {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, ".version {}\n.target {}", self.version, self.target)?;
        self.items.iter().try_for_each(|item| match item {
            Item::Directive(text) => writeln!(f, "{text}"),
            Item::Function(function) => writeln!(f, "{function}"),
        })
    }
}

impl Display for Function {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Some(body) = &self.body else { return write!(f, "{};", self.head.text) };
        writeln!(f, "{}\n{{", self.head.text)?;
        body.iter().try_for_each(|line| writeln!(f, "{}", line.printed(&self.mark)))?;
        f.write_str("}")
    }
}

impl Line {
    /// Prints the line with the source's names. If the source's spelling has the same meaning, it is printed too: with
    /// debug information, an assembler generates different code for `[x+0]` and `[x]`.
    fn printed(&self, mark: &str) -> String {
        let code = without_marks(&self.code.to_string(), mark);
        let means_the_same = matches!(self.code, Code::Instruction { .. })
            && self.text.parse::<Statement>().is_ok_and(|statement| format!("\t{statement}") == code);
        if means_the_same { format!("\t{};", self.text) } else { code }
    }
}

/// The text with the source's names.
fn without_marks(text: &str, mark: &str) -> String {
    let mut pieces = text.split(mark);
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces.fold(first, |all, piece| {
        let after = piece.trim_start_matches(|c: char| c.is_ascii_digit());
        all + after.strip_prefix('$').unwrap_or(after)
    })
}

impl Display for Code {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Label(name) => write!(f, "{}:", name.0),
            Self::Instruction { guard: None, instruction } => write!(f, "\t{instruction};"),
            Self::Instruction { guard: Some(guard), instruction } => write!(f, "\t{guard} {instruction};"),
            Self::Other(other) => write!(f, "\t{};", other.text),
            Self::Directive(text) => write!(f, "\t{text}"),
            Self::Open => f.write_str("\t{"),
            Self::Close => f.write_str("\t}"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str = ".version 8.6\n.target sm_90\n.address_size 64\n";

    fn module(body: &str) -> Module {
        format!("{HEAD}.visible .func (.param .b32 r) f(\n.param .b64 f_0\n) .noreturn\n{{\n{body}\n}}\n")
            .parse()
            .unwrap_or_else(|errors| panic!("{errors}"))
    }

    fn function(module: &Module, index: usize) -> &Function {
        module.functions().nth(index).expect("a function")
    }

    fn other(body: &str) -> Other {
        let module = module(body);
        match &function(&module, 0).body.as_ref().expect("a body")[0].code {
            Code::Other(other) => other.clone(),
            code => panic!("{code:?}"),
        }
    }

    #[test]
    fn instructions_that_are_not_modelled() {
        let check = |body: &str, writes: &[&str], reads: &[&str], jump: Jump| {
            let found = other(body);
            let list = |names: &[Name]| names.iter().map(|name| name.0.to_string()).collect::<Vec<_>>();
            assert_eq!((list(&found.writes), list(&found.reads)), (list_of(writes), list_of(reads)), "{body}");
            assert_eq!(found.jump, jump, "{body}");
        };
        fn list_of(names: &[&str]) -> Vec<String> {
            names.iter().map(|name| (*name).to_owned()).collect()
        }
        check("ld.param.b64 %rd1, [f_0];", &["%rd1"], &["f_0"], Jump::Next);
        check("st.param.v2.b64 [r], {%rd3, %rd4};", &[], &["r", "%rd3", "%rd4"], Jump::Next);
        check("fma.rn.ftz.f32 %f1, %f2, 0f3F800000, %f3;", &["%f1"], &["%f2", "%f3"], Jump::Next);
        check("setp.eq.s32 %p1|%p2, %r1, 0;", &["%p1", "%p2"], &["%r1"], Jump::Next);
        check("mov.u32 %r1, %tid.x;", &["%r1"], &["%tid"], Jump::Next);
        check("call.uni (retval0),\n g,\n (param0, param1)\n;", &["retval0"], &["g", "param0", "param1"], Jump::Next);
        let both = "tcgen05.ld.red.sync.aligned.32x32b.x2.f32.min {%f1, %f2}, %f3, [%r1];";
        check(both, &["%f1", "%f2", "%f3"], &["%r1"], Jump::Next);
        check("@!%p1 exit;", &[], &[], Jump::Out);
        check("bra.uni $L1;", &[], &["$L1"], Jump::To(vec![Name::new("$L1")]));
        assert_eq!(other("@!%p1 exit;").guard, Some(Guard { p: Name::new("%p1"), negated: true }));
    }

    #[test]
    fn asynchronous_instructions() {
        let check = |body: &str, expected: Option<Option<Family>>| {
            let read = other(body).asynchronous();
            assert_eq!(read.map(|read| read.ok().map(|form| form.family())), expected, "{body}");
        };
        check("@!%p mbarrier.arrive.shared.b64 %rd1, [%rd2];", Some(Some(Family::MbarrierArrive)));
        check("cp.async.bulk.commit_group;", Some(Some(Family::CpAsyncBulkCommitGroup)));
        check("tcgen05.wait::ld.sync.aligned;", Some(Some(Family::Tcgen05WaitLd)));
        check("mbarrier.arrive.gpu.b64 %rd1, [%rd2];", Some(None));
        check("bar.sync 0;", None);
    }

    #[test]
    fn calls_that_do_not_return() {
        let jump = |call: &str| {
            let declared = "extern .func g (.param .b32 a) .noreturn; .func (.param .b32 r) h() .noreturn;";
            let text = format!("{HEAD}.{declared} .func i(); .func f() {{ {call}; ret; }}");
            let module: Module = text.parse().expect(&text);
            match &function(&module, 3).body.as_ref().expect("a body")[0].code {
                Code::Other(Other { jump, .. }) => jump.clone(),
                code => panic!("{code:?}"),
            }
        };
        let cases = [
            ("call.uni g, (p)", Jump::Out),
            ("call (r), h", Jump::Out),
            ("@%p1 call g, (p)", Jump::Out),
            ("call i", Jump::Next),
            ("call (r), i, (g)", Jump::Next),
        ];
        for (call, expected) in cases {
            assert_eq!(jump(call), expected, "{call}");
        }
    }

    #[test]
    fn names_that_blocks_share_are_told_apart() {
        let check = |body: &str, expected: &[&str]| {
            let module = module(body);
            let lines = function(&module, 0).body.iter().flatten().map(|line| line.code.to_string());
            assert_eq!(lines.map(|line| line.trim().to_owned()).collect::<Vec<_>>(), *expected, "{body}");
            let unspaced = |text: &str| text.split_whitespace().collect::<String>();
            assert!(unspaced(&module.to_string()).contains(&unspaced(body)), "{module}");
        };
        check(
            "{ .reg .b32 %x; %again: add.u32 %x, %x, %y; @%p bra %again; } { .reg .b32 %x; not.b32 %x, %x; }",
            &[
                "{",
                ".reg .b32 %x$in1$;",
                "%again:",
                "add.u32 %x$in1$, %x$in1$, %y;",
                "@%p bra %again;",
                "}",
                "{",
                ".reg .b32 %x$in2$;",
                "not.b32 %x$in2$, %x$in2$;",
                "}",
            ],
        );
        check(
            ".reg .b32 %r<9>; { .reg .b32 %r<2>, %s1; fma.rn.f32 %r1, %r8, %s1, %r; } mov.b32 %r1, 0;",
            &[
                ".reg .b32 %r<9>;",
                "{",
                ".reg .b32 %r$in1$<2>, %s1;",
                "fma.rn.f32 %r$in1$1, %r$in1$8, %s1, %r;",
                "}",
                "mov.b32 %r1, 0;",
            ],
        );
        check("{ .reg .b32 %x, add; add.u32 %x, %x, add; }", &["{", ".reg .b32 %x, add;", "add.u32 %x, %x, add;", "}"]);
        check(
            "{ $a: ret; } { $a: l: .branchtargets $a; brx.idx %r, l; }",
            &["{", "$a$in1$:", "ret;", "}", "{", "$a$in2$:", "l:", ".branchtargets $a$in2$;", "brx.idx %r, l;", "}"],
        );
        check(
            "%x$in1$: { .reg .b32 %x; st.u32 [%x], 1; } { .reg .b32 %x; }",
            &["%x$in1$:", "{", ".reg .b32 %x$in$1$;", "st.u32 [%x$in$1$], 1;", "}", "{", ".reg .b32 %x$in$2$;", "}"],
        );
    }

    #[test]
    fn an_instruction_prints_as_its_text_until_it_is_changed() {
        let check = |body: &str, unchanged: &str, changed: &str| {
            let mut module = module(body);
            assert!(module.to_string().contains(&format!("\t{unchanged}\n")), "{module}");
            let lines = module.functions_mut().flat_map(|function| function.body.iter_mut().flatten());
            for Line { code, .. } in lines {
                if let Code::Instruction { guard, .. } = code {
                    *guard = Some(Guard { p: Name::new("%q"), negated: false });
                }
            }
            assert!(module.to_string().contains(&format!("\t{changed}\n")), "{module}");
        };
        check("st.u32 [%SP+0], 0x10;", "st.u32 [%SP+0], 0x10;", "@%q st.u32 [%SP], 16;");
        check("@!%p ld.u8 %x, [%y+-0];", "@!%p ld.u8 %x, [%y+-0];", "@%q ld.u8 %x, [%y];");
        check(
            "atom.add.relaxed.gpu.s32 /* of nvcc */ %x,\n\t[%y], 1;",
            "atom.add.relaxed.gpu.s32 %x, [%y], 1;",
            "@%q atom.relaxed.gpu.add.s32 %x, [%y], 1;",
        );
        check("{ .reg .b32 %x; } { .reg .b32 %x; ld.u32 %x, [%y+0]; }", "ld.u32 %x, [%y+0];", "@%q ld.u32 %x, [%y];");
    }

    #[test]
    fn text_around_functions_is_read() {
        let text = format!(
            "//\n// Generated\n{HEAD}.file 1 \"a;b{{.cu\"\n.extern .func (.param .b32 r) vprintf\n(\n.param .b64 a\n)\n;\n\
             .global .align 4 .u32 table[2] = {{1, 2}};\n.weak .entry k()\n.maxntid 128, 1, 1\n{{\n.loc 1 2 3 // a.cu\n\
             \t.pragma \"nounroll\";\nts: .branchtargets $A, $B;\n\tbrx.idx %r1, ts;\n$A: ret;\n$B: trap;\n}}\n\
             .section .debug_str {{\n$L_info: .b8 1,2\n}}\n"
        );
        let module: Module = text.parse().expect("a module");
        assert_eq!((&*module.version, &*module.target), ("8.6", "sm_90"));
        assert_eq!(module.functions().map(|function| &*function.name).collect::<Vec<_>>(), ["vprintf", "k"]);
        let body = function(&module, 1).body.as_ref().expect("a body");
        let codes: Vec<_> = body.iter().map(|line| line.code.to_string()).collect();
        let expected = [
            ".loc 1 2 3",
            ".pragma \"nounroll\";",
            "ts:",
            ".branchtargets $A, $B;",
            "brx.idx %r1, ts;",
            "$A:",
            "ret;",
            "$B:",
            "trap;",
        ];
        assert_eq!(codes.iter().map(|code| code.trim()).collect::<Vec<_>>(), expected);
        let Code::Other(brx) = &body[4].code else { panic!("{:?}", body[4]) };
        assert_eq!(brx.jump, Jump::To(vec![Name::new("$A"), Name::new("$B")]));
        assert_eq!((body[4].number, &*body[4].text), (19, "brx.idx %r1, ts"));
        let printed = module.to_string();
        let kept = [".file 1 \"a;b{.cu\"\n", ".maxntid 128, 1, 1\n{", "{\n$L_info: .b8 1,2\n}", "= {1, 2};"];
        assert!(kept.iter().all(|part| printed.contains(part)), "{printed}");
        assert_eq!(printed.parse::<Module>().expect("printed").to_string(), printed);
    }

    /// The reader does not recurse into blocks, nor into text that resembles nested vectors.
    #[test]
    fn braces_may_nest_deeply() {
        let blocks = "{ .reg .b32 %x; mov.b32 %x, %y; ".repeat(5_000) + "ret;" + &"}".repeat(5_000);
        assert_eq!(function(&module(&blocks), 0).body.as_ref().map(Vec::len), Some(20_001));
        for (open, close) in [("{", "}"), ("[", "]"), ("(", ")")] {
            assert_eq!(
                other(&format!("mov.b32 %x, {}%y{};", open.repeat(200_000), close.repeat(200_000))).mnemonic,
                "mov.b32"
            );
        }
    }

    #[test]
    fn damage_is_an_error_with_its_line() {
        let check = |text: &str, line: u32, reason: &str| {
            let ModuleErrors(errors) = text.parse::<Module>().expect_err(text);
            let found: Vec<_> = errors.iter().map(|error| (error.line, &*error.reason)).collect();
            assert_eq!(found, [(line, reason)], "{text}");
        };
        check("", 1, "expected `.version` and `.target`: the text is not PTX");
        check(&format!("{HEAD}.func f() {{\nret;\n"), 5, "the end of function 'f' is missing");
        check(&format!("{HEAD}.func f() {{\nret\n}}\n"), 6, "a `;` is missing");
        check(&format!("{HEAD}ret"), 4, "the text ends within a statement");
        check(&format!("{HEAD}ret;"), 4, "code outside of a function");
        check(&format!("{HEAD}/* "), 4, "the end of a comment is missing");
    }

    #[test]
    fn a_damaged_function_leaves_other_functions() {
        let check = |damaged: &str, lines: &[u32]| {
            let text = format!("{HEAD}.func f() {{\nret;\n}}\n.func g() {{\n{damaged}\n}}\n.func h() {{\nret;\n}}\n");
            let (module, errors) = Module::read_partly(&text);
            let read = module.functions().map(|function| (&*function.name, function.body.is_some()));
            assert_eq!(read.collect::<Vec<_>>(), [("f", true), ("g", lines.is_empty()), ("h", true)], "{damaged}");
            assert_eq!(errors.iter().map(|error| error.line).collect::<Vec<_>>(), lines, "{damaged}: {errors:?}");
        };
        check("ret;", &[]);
        check("ret", &[9]);
        check("ret; { ret;", &[9]);
        check("ret; } ret;\n", &[8, 10]);
        check("add.u32 %r, {{ %x;\nret;", &[8]);
        check("add.u32 (;\nret; )(;\nret;", &[8, 9]);
    }
}
