//! Operands that an instruction does not take: too few or too many of them, registers of another width or kind, and addresses in another
//! state space (sections 6.4, 8.2 and 9.4.1).
//!
//! An operand is refused only if all assemblers refuse it; of an instruction that this crate does not read, nothing is.

use super::forms::arithmetic;
use crate::{
    arithmetic::Computation,
    asynchronous::Family,
    syntax::{self, Number, Operand, Shape, Statement, Text, TokenKind, tokens},
    word::{AtomOp, Space, Type},
};

/// The declaration of a name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Declared {
    /// A register of one value.
    Register(Type),
    /// A variable in a state space.
    Variable(Space),
    /// A special register, which nothing declares.
    Special,
    /// Anything else: a label, a function, a parameter, a vector register.
    Other,
}

/// Why an instruction is refused for its operands.
pub fn refused(text: &str, declared: &dyn Fn(&str) -> Declared) -> Option<String> {
    if let Some(name) = without_comma(text) {
        return Some(format!("expected a comma before `{name}`, found `{text}`"));
    }
    let Ok(Statement::Instruction(of)) = syntax::statement(text) else { return None };
    let words: Vec<&str> = std::iter::once(of.mnemonic.text).chain(of.modifiers.iter().map(|word| word.text)).collect();
    let mnemonic = words.join(".");
    if let Some(expected) = arithmetic(&words) {
        return Some(format!("expected {expected}, found `{mnemonic}`"));
    }
    let reading = Reading { words: &words, operands: &of.operands, declared };
    let (expected, found) = reading.refused()?;
    Some(format!("expected {expected}, found {found} of `{mnemonic}`"))
}

/// A name that stands directly after another operand.
fn without_comma(text: &str) -> Option<&str> {
    let mut tokens = tokens(Text::of(text)).peekable();
    if tokens.next_if(|token| token.kind == TokenKind::Sign('@')).is_some() {
        tokens.next_if(|token| token.kind == TokenKind::Sign('!'));
        tokens.next();
    }
    // The mnemonic.
    tokens.next();
    tokens.next_if(|token| token.kind == TokenKind::Dotted);
    let mut is_operand = false;
    for token in tokens {
        if is_operand && token.kind == TokenKind::Name {
            return Some(token.text.text);
        }
        is_operand = match token.kind {
            TokenKind::Name | TokenKind::Number | TokenKind::Sign(']' | '}') => true,
            TokenKind::Dotted => is_operand,
            _ => false,
        };
    }
    None
}

/// An instruction, as words and operands.
struct Reading<'r> {
    words: &'r [&'r str],
    operands: &'r [Operand<'r>],
    declared: &'r dyn Fn(&str) -> Declared,
}

/// The registers that a type goes with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Width {
    /// Registers of the same width.
    Same,
    /// Wider ones as well.
    Wider,
}

/// The expected and the found operand.
type Refused = Option<(String, String)>;

impl Reading<'_> {
    fn has(&self, word: &str) -> bool {
        self.words.contains(&word)
    }

    fn refused(&self) -> Refused {
        let base = self.words[0];
        match base {
            "ld" | "ldu" | "st" | "atom" | "red" if Family::of(self.words).is_none() => self.access(),
            "exit" | "ret" | "trap" | "brkpt" => self.count(0, 0),
            "bra" => self.count(1, 1),
            _ => self.computation(Computation::of(base, &self.words[1..])?),
        }
    }

    fn count(&self, least: usize, most: usize) -> Refused {
        let count = self.operands.len();
        let operands = if least == 1 { "operand" } else { "operands" };
        (count < least || count > most).then(|| (format!("{least} {operands}"), count.to_string()))
    }

    fn computation(&self, of: Computation) -> Refused {
        let [result, sources @ ..] = self.operands else {
            return Some(("a result".into(), "no operand".into()));
        };
        let is_vector = |operand: &&Operand<'_>| matches!(operand.shape, Shape::Vector(_));
        let is_mov = self.words[0] == "mov";
        if is_mov && self.operands.iter().any(|operand| is_vector(&operand)) {
            return None;
        }
        let all: Vec<&Operand<'_>> = sources.iter().flat_map(elements).collect();
        if !of.takes(all.len()) {
            let sources = if of.arity() == 1 { "source" } else { "sources" };
            return Some((format!("{} {sources}", of.arity()), all.len().to_string()));
        }
        let width = if self.words[0] == "cvt" { Width::Wider } else { Width::Same };
        let results = match &result.shape {
            Shape::Pair(pair) => pair.each_ref().map(Some),
            _ => [Some(result), None],
        };
        let results = results.into_iter().flatten().zip(of.result_types());
        let sources = all.into_iter().enumerate().map(|(index, operand)| (operand, of.source_type(index)));
        let results: Vec<_> = results.collect();
        let is_register = |operand: &Operand<'_>| matches!(operand.shape, Shape::Name { .. } | Shape::Sink);
        if let Some((other, _)) = results.iter().find(|(operand, _)| !is_register(operand)) {
            return Some(("a register for the result".into(), format!("`{}`", other.text.text)));
        }
        results.into_iter().chain(sources).find_map(|(operand, ty)| self.value(operand, ty, width))
    }

    /// A register that a type does not go with, an integer as a number of floating point, or a special register, which `mov` and `cvt`
    /// alone read.
    fn value(&self, operand: &Operand<'_>, ty: Type, width: Width) -> Refused {
        match operand.shape {
            Shape::Number(Number::Integer(_)) if matches!(ty, Type::F32 | Type::F64) => {
                Some((format!("a constant of `.{ty}`, as `1.0`"), format!("`{}`", operand.text.text)))
            }
            Shape::Name { name, .. } if !self.reads_special() && (self.declared)(name.text) == Declared::Special => {
                Some(("a register, into which `mov` reads a special one".into(), format!("`{}`", operand.text.text)))
            }
            _ => self.register(operand, ty, width),
        }
    }

    fn reads_special(&self) -> bool {
        matches!(self.words[0], "mov" | "cvt")
    }

    /// A register that a type does not go with.
    fn register(&self, operand: &Operand<'_>, ty: Type, width: Width) -> Refused {
        let name = match operand.shape {
            Shape::Name { name, suffix: None } | Shape::Not(name) => name.text,
            _ => return None,
        };
        let Declared::Register(own) = (self.declared)(name) else { return None };
        let is_integer = |ty: Type| ty.is_signed() || matches!(ty, Type::U8 | Type::U16 | Type::U32 | Type::U64);
        let is_float = |ty: Type| matches!(ty, Type::F32 | Type::F64);
        let fits = match (ty == Type::Pred, own == Type::Pred) {
            (false, false) => own.bits() == ty.bits() || width == Width::Wider && own.bits() > ty.bits(),
            (is_predicate, own) => is_predicate == own,
        };
        let is_other = is_integer(ty) && is_float(own) || is_float(ty) && is_integer(own);
        (!fits || is_other).then(|| (format!("a register for `.{ty}`"), format!("`{name}`, which is `.{own}`,")))
    }

    fn access(&self) -> Refused {
        let base = self.words[0];
        let Some(ty) = self.words.iter().rev().find_map(|word| word.parse::<Type>().ok()) else {
            return Some(("a type, as `.u32`".into(), "none".into()));
        };
        let is_cas = self.words.iter().any(|word| word.parse() == Ok(AtomOp::Cas));
        // The address, and how many operands there are at least.
        let (at, least) = match base {
            "ld" | "ldu" => (1, 2),
            "atom" => (1, 3 + usize::from(is_cas)),
            _ => (0, 2),
        };
        if self.operands.len() < least {
            return Some((format!("{least} operands"), self.operands.len().to_string()));
        }
        let address = &self.operands[at];
        if !matches!(address.shape, Shape::Memory { .. }) {
            return Some(("an address in brackets".into(), format!("`{}`", address.text.text)));
        }
        if at == 1 && !matches!(self.operands[0].shape, Shape::Name { .. } | Shape::Vector(_) | Shape::Sink) {
            return Some(("a register for the result".into(), format!("`{}`", self.operands[0].text.text)));
        }
        if let Some(refused) = self.space(address) {
            return Some(refused);
        }
        let width = if matches!(base, "ld" | "ldu" | "st") { Width::Wider } else { Width::Same };
        let has_size = self.words.iter().any(|word| matches!(*word, "v2" | "v4" | "v8"));
        let values = self.operands[..least].iter().enumerate().filter(|(index, _)| *index != at);
        let values = values.filter(|(_, operand)| has_size || !matches!(operand.shape, Shape::Vector(_)));
        values.flat_map(|(_, operand)| elements(operand)).find_map(|operand| self.value(operand, ty, width))
    }

    /// A variable in another state space than the access names.
    fn space(&self, address: &Operand<'_>) -> Refused {
        let name = address.address()?.base.text;
        let Declared::Variable(own) = (self.declared)(name) else { return None };
        let found = || format!("`{name}`, which is in `.{own}`,");
        let space = self.words[1..].iter().find_map(|word| word.parse::<Space>().ok());
        match space {
            Some(space) if space == own || space.is_shared() && own.is_shared() => None,
            Some(space) => Some((format!("a variable in `.{space}`"), found())),
            None if self.has("param") => Some(("a parameter".into(), found())),
            None if own == Space::Const => Some(("`.const` in the instruction".into(), found())),
            None => None,
        }
    }
}

/// The elements of a vector; of anything else, itself.
fn elements<'s, 't>(operand: &'s Operand<'t>) -> &'s [Operand<'t>] {
    match &operand.shape {
        Shape::Vector(elements) => elements,
        _ => std::slice::from_ref(operand),
    }
}
