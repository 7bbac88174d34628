//! The check for names that instructions use without a declaration in scope (sections 4.4, 5.2 and 5.4).
//!
//! As in ptxas, a declaration is in scope from its position to the end of its block, and a label in its whole block.
//! Every name in a directive except `.reg` counts as a declaration of that name, so that no possibly declared name is
//! rejected. If all names of an instruction are declared, its operands are checked against their declarations.

use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    declared::{Declared, Signature},
    near::nearest,
    operands,
};
use crate::{
    declaration::{Head, Variable},
    module::{Code, Function, Item, Line, Module},
    special,
    syntax::{self, Statement, Text, TokenKind, tokens},
    word::VectorSize,
};

/// The maximum number of names for which the nearest declared name is searched.
const MOST_GUIDED: usize = 64;

/// For each line of each body, the reason why a name or another operand is rejected. Each name is rejected once per
/// function.
pub fn refused(module: &Module) -> Vec<Option<String>> {
    let mut names = Names { scopes: vec![Scope::default()], guided: 0 };
    let mut found = Vec::new();
    for item in &module.items {
        match item {
            Item::Directive(text) => names.declare(text),
            Item::Function(function) => {
                names.innermost().extend(names_of(&function.head.text), Declared::Other);
                names
                    .innermost()
                    .names
                    .insert(&function.name, Declared::Function(Signature::from_head(&function.head)));
                let refused = function.body.as_ref().map(|body| names.body(function, body));
                found.extend(refused.into_iter().flatten());
            }
        }
    }
    found
}

/// The declarations of a block, a function or a module.
#[derive(Default)]
struct Scope<'m> {
    names: FxHashMap<&'m str, Declared>,
    /// The prefixes of declared ranges, with their lengths: `%r<6>` declares `%r0` to `%r5`.
    ranges: FxHashMap<&'m str, (u64, Declared)>,
}

impl<'m> Scope<'m> {
    /// The range whose prefix a name has: the prefix, the length, and the declaration if the name is in the range.
    fn range(&self, name: &str) -> Option<(&'m str, u64, Option<Declared>)> {
        let stem = name.trim_end_matches(|c: char| c.is_ascii_digit());
        (stem.len()..name.len()).find_map(|at| {
            let (begin, (count, declared)) = self.ranges.get_key_value(&name[..at])?;
            let is_in = name[at..].parse().is_ok_and(|number: u64| number < *count);
            Some((*begin, *count, is_in.then_some(*declared)))
        })
    }

    fn find(&self, name: &str) -> Option<Declared> {
        self.names.get(name).copied().or_else(|| self.range(name)?.2)
    }

    fn extend(&mut self, names: impl Iterator<Item = &'m str>, declared: Declared) {
        self.names.extend(names.map(|name| (name, declared)));
    }
}

/// The names in scope: the names of the module first, then the names of each enclosing block.
struct Names<'m> {
    scopes: Vec<Scope<'m>>,
    guided: usize,
}

impl<'m> Names<'m> {
    fn innermost(&mut self) -> &mut Scope<'m> {
        if self.scopes.is_empty() {
            self.scopes.push(Scope::default());
        }
        let last = self.scopes.len() - 1;
        &mut self.scopes[last]
    }

    fn declare(&mut self, text: &'m str) {
        let registers = match syntax::statement(text) {
            Ok(Statement::Directive(directive)) => directive.registers(),
            _ => None,
        };
        let scope = self.innermost();
        match registers {
            Some((words, declared)) => {
                let is_vector = words.iter().any(|word| word.text.parse::<VectorSize>().is_ok());
                let ty = words.iter().find_map(|word| word.text.parse().ok()).filter(|_| !is_vector);
                let register = ty.map_or(Declared::Other, Declared::Register);
                for one in declared {
                    match one.count {
                        Some(count) => drop(scope.ranges.insert(one.name.text, (count, register))),
                        None => drop(scope.names.insert(one.name.text, register)),
                    }
                }
            }
            None => {
                scope.extend(names_of(text), Declared::Other);
                for Variable { name, space, .. } in Variable::read(text) {
                    let known = scope.names.get_mut(&*name).zip(space);
                    known.into_iter().for_each(|(known, space)| *known = Declared::Variable(space));
                }
            }
        }
    }

    fn body(&mut self, function: &'m Function, body: &'m [Line]) -> Vec<Option<String>> {
        let mut labels = labels(body).into_iter();
        let mut open = |names: &mut Self, parameters: &'m str| {
            let mut scope = Scope::default();
            scope.extend(names_of(parameters).chain(labels.next().unwrap_or_default()), Declared::Other);
            names.scopes.push(scope);
        };
        open(self, &function.head.text);
        let mut told = FxHashSet::default();
        let mut label = None;
        let line = |line: &'m Line| {
            let labeled = label.take();
            match &line.code {
                Code::Open => open(self, ""),
                Code::Close => drop(self.scopes.pop()),
                Code::Directive(_) => match labeled.filter(|_| line.text.starts_with(".callprototype")) {
                    Some(label) => {
                        let prototype = Declared::Function(Signature::from_head(&Head::read(&line.text)));
                        self.innermost().names.insert(label, prototype);
                    }
                    None => self.declare(&line.text),
                },
                Code::Label(_) => label = names_of(&line.text).next(),
                Code::Instruction { .. } | Code::Other(_) => {
                    let declared = |name: &str| self.scopes.iter().rev().find_map(|scope| scope.find(name));
                    let is_unknown = |name: &&str| declared(name).is_none() && !special::is_special(name);
                    let Some(name) = used(&line.text).find(is_unknown) else {
                        let of = |name: &str| declared(name).unwrap_or(undeclared(name));
                        return operands::refused(&line.text, &of);
                    };
                    return told.insert(name).then(|| self.refused(name));
                }
            }
            None
        };
        let refused = body.iter().map(line).collect();
        self.scopes.truncate(1);
        refused
    }

    fn refused(&mut self, name: &str) -> String {
        if let Some((begin, count, _)) = self.scopes.iter().rev().find_map(|scope| scope.range(name)) {
            return format!("expected a register of `{begin}<{count}>`, found `{name}`");
        }
        let meant = if self.guided < MOST_GUIDED { self.near(name) } else { None };
        self.guided += 1;
        match meant {
            Some(meant) => format!("expected a name that is declared here, as `{meant}`, found `{name}`"),
            None => format!("expected a name that is declared here, found `{name}`"),
        }
    }

    /// The nearest name in scope.
    fn near(&self, name: &str) -> Option<String> {
        let digits = &name[name.trim_end_matches(|c: char| c.is_ascii_digit()).len()..];
        let of_range = |(begin, (count, _)): (&&str, &(u64, Declared))| {
            let number = digits.parse().ok().filter(|number: &u64| number < count).unwrap_or(0);
            (*count > 0).then(|| format!("{begin}{number}"))
        };
        let all = self.scopes.iter().flat_map(|scope| {
            let names = scope.names.keys().map(|name| (*name).to_owned());
            names.chain(scope.ranges.iter().filter_map(of_range))
        });
        // Sorting makes the choice among equally near names deterministic.
        let mut all: Vec<String> = all.chain(special::names()).collect();
        all.sort_unstable();
        nearest(name, all.into_iter())
    }
}

/// The kind of a name that needs no declaration.
fn undeclared(name: &str) -> Declared {
    if name.starts_with('%') { Declared::Special } else { Declared::Other }
}

fn names_of(text: &str) -> impl Iterator<Item = &str> {
    Text::new(text).names().map(|name| name.text)
}

/// The names in an instruction, except its mnemonic.
fn used(text: &str) -> impl Iterator<Item = &str> {
    let is_guarded = tokens(Text::new(text)).next().is_some_and(|first| first.kind == TokenKind::Sign('@'));
    let mnemonic = usize::from(is_guarded);
    names_of(text).enumerate().filter(move |(index, _)| *index != mnemonic).map(|(_, name)| name)
}

/// The labels of each block of a body, in the order in which the blocks begin. The labels of the body itself are first.
fn labels(body: &[Line]) -> Vec<Vec<&str>> {
    let mut blocks = vec![Vec::new()];
    let mut around = vec![0];
    for line in body {
        match &line.code {
            Code::Open => {
                around.push(blocks.len());
                blocks.push(Vec::new());
            }
            Code::Close => drop(around.pop()),
            Code::Label(_) => {
                let block = around.last().copied().unwrap_or(0);
                blocks[block].extend(names_of(&line.text));
            }
            _ => {}
        }
    }
    blocks
}
