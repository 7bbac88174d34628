//! The check for operands that an instruction does not accept: too few or too many operands, vectors of another size,
//! registers of another width or kind, and addresses in another state space (sections 6.4, 8.2 and 9.4.1).
//!
//! An operand is rejected only if all assemblers reject it. Operands of an instruction that this crate does not read
//! are never rejected.

use super::{
    calls,
    count::{Refused, count},
    declared::Declared,
    forms::{arithmetic, is_size},
};
use crate::{
    arithmetic::Computation,
    asynchronous::Family,
    syntax::{self, Number, Operand, Shape, Statement, Text, Token, TokenKind, tokens},
    word::{AtomOp, Space, Type},
};

/// The reason why an instruction is rejected for its operands.
pub fn refused(text: &str, declared: &dyn Fn(&str) -> Declared) -> Option<String> {
    if let Some(name) = without_comma(text) {
        return Some(format!("expected a comma before `{name}`, found `{text}`"));
    }
    if let Some((name, rest)) = difference(text) {
        return Some(format!("expected `+-` after a name, as `{name}+{rest}`, found `{name}{rest}`"));
    }
    let Ok(Statement::Instruction(of)) = syntax::statement(text) else { return None };
    let words: Vec<&str> = std::iter::once(of.mnemonic.text).chain(of.modifiers.iter().map(|word| word.text)).collect();
    let mnemonic = words.join(".");
    if let Some(expected) = arithmetic(&words) {
        return Some(format!("expected {expected}, found `{mnemonic}`"));
    }
    let reading = Reading { words: &words, operands: &of.operands, declared };
    let (expected, found) = reading.refused().or_else(|| reading.addresses())?;
    Some(format!("expected {expected}, found {found} of `{mnemonic}`"))
}

/// A name from which the operand subtracts, and the text from the name to the end of the operand. Only constants, such
/// as `WARP_SZ`, can be subtracted from.
fn difference(text: &str) -> Option<(&str, &str)> {
    let all: Vec<_> = tokens(Text::new(text)).collect();
    let is_difference = |pair: &&[Token<'_>]| {
        pair[0].kind == TokenKind::Name && pair[0].text.text != "WARP_SZ" && pair[1].kind == TokenKind::Sign('-')
    };
    let name = all.windows(2).find(is_difference)?[0].text;
    let rest = &text[name.span().end..];
    Some((name.text, rest[..rest.find([',', ']', '}', ')']).unwrap_or(rest.len())].trim()))
}

/// A name that directly follows another operand.
fn without_comma(text: &str) -> Option<&str> {
    let mut tokens = tokens(Text::new(text)).peekable();
    if tokens.next_if(|token| token.kind == TokenKind::Sign('@')).is_some() {
        tokens.next_if(|token| token.kind == TokenKind::Sign('!'));
        tokens.next();
    }
    // Skips the mnemonic.
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

/// An instruction's words and operands.
struct Reading<'r> {
    words: &'r [&'r str],
    operands: &'r [Operand<'r>],
    declared: &'r dyn Fn(&str) -> Declared,
}

/// The registers that an operand type accepts.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Width {
    /// Registers of the same width.
    Same,
    /// Registers of the same or a larger width.
    Wider,
}

/// The minimum and maximum numbers of operands of instructions, by their first word and another word. The first
/// matching row applies.
#[rustfmt::skip]
const COUNTS: [(&str, &str, usize, usize); 25] = [
    ("exit",           "",        0, 0),
    ("ret",            "",        0, 0),
    ("trap",           "",        0, 0),
    ("brkpt",          "",        0, 0),
    ("bra",            "",        1, 1),
    ("membar",         "",        0, 0),
    ("fence",          "proxy",   0, 2),
    ("fence",          "sc",      0, 0),
    ("fence",          "acq_rel", 0, 0),
    ("griddepcontrol", "",        0, 0),
    ("bar",            "warp",    1, 1),
    ("bar",            "sync",    1, 2),
    ("bar",            "arrive",  2, 2),
    ("bar",            "red",     3, 4),
    ("barrier",        "cluster", 0, 0),
    ("barrier",        "sync",    1, 2),
    ("barrier",        "arrive",  2, 2),
    ("barrier",        "red",     3, 4),
    ("shfl",           "sync",    5, 5),
    ("shfl",           "",        4, 4),
    ("vote",           "sync",    3, 3),
    ("vote",           "",        2, 2),
    ("match",          "sync",    3, 3),
    ("redux",          "sync",    3, 3),
    ("activemask",     "",        1, 1),
];

impl Reading<'_> {
    fn has(&self, word: &str) -> bool {
        self.words.contains(&word)
    }

    fn refused(&self) -> Refused {
        let base = self.words[0];
        match base {
            "ld" | "ldu" | "st" | "atom" | "red" if Family::from_words(self.words).is_none() => self.access(),
            "mov" if self.operands.iter().any(is_vector) => {
                self.operands.iter().find_map(|operand| self.packed(operand))
            }
            "call" => calls::refused(self.operands, self.declared),
            _ => match COUNTS.iter().find(|(own, word, ..)| *own == base && (word.is_empty() || self.has(word))) {
                Some((_, _, least, most)) => self.count(*least, *most),
                None => self.computation(Computation::from_mnemonic(base, &self.words[1..])?),
            },
        }
    }

    fn count(&self, least: usize, most: usize) -> Refused {
        count("operand", least, most, self.operands.len())
    }

    /// The fault of a register that cannot hold an address. ptxas accepts integers of any width.
    fn addresses(&self) -> Refused {
        let memory = self.operands.iter().filter(|operand| matches!(operand.shape, Shape::Memory { .. }));
        memory.filter_map(Operand::address).find_map(|address| {
            let name = address.base.text;
            let Declared::Register(own) = (self.declared)(name) else { return None };
            let is_integer = !matches!(own, Type::F16 | Type::F16x2 | Type::F32 | Type::F64 | Type::Pred);
            (!is_integer)
                .then(|| ("an integer register in the address".into(), format!("`{name}`, which is `.{own}`,")))
        })
    }

    fn computation(&self, of: Computation) -> Refused {
        let [result, sources @ ..] = self.operands else {
            return Some(("a result".into(), "no operand".into()));
        };
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

    /// The fault of a vector whose total width differs from the type, or whose number of elements differs from the
    /// instruction's.
    fn packed(&self, operand: &Operand<'_>) -> Refused {
        let Shape::Vector(elements) = &operand.shape else { return None };
        if let Some(size) = self.size() {
            return count("element", size, size, elements.len());
        }
        let ty: Type = self.words.iter().find_map(|word| word.parse().ok())?;
        let bits = elements.iter().find_map(|element| match element.shape {
            Shape::Name { name, suffix: None } => match (self.declared)(name.text) {
                Declared::Register(own) => Some(own.bits()),
                _ => None,
            },
            _ => None,
        })?;
        let expected = || (format!("elements of {} bits together", ty.bits()), format!("`{}`", operand.text.text));
        (bits as usize * elements.len() != ty.bits() as usize).then(expected)
    }

    /// The number of elements that the instruction names.
    fn size(&self) -> Option<usize> {
        let word = self.words.iter().find(|word| is_size(word))?;
        word[1..].parse().ok()
    }

    /// The fault of a value whose number of elements differs from the access. A vector register is not checked.
    fn shape(&self, operand: &Operand<'_>) -> Refused {
        let size = self.size();
        match (&operand.shape, size) {
            (Shape::Vector(elements), _) => {
                let size = size.unwrap_or(1);
                count("element", size, size, elements.len())
            }
            (Shape::Name { name, suffix: None }, Some(size)) => match (self.declared)(name.text) {
                Declared::Register(_) => {
                    Some((format!("a vector of {size} elements"), format!("`{}`", operand.text.text)))
                }
                _ => None,
            },
            _ => None,
        }
    }

    /// The fault of a register that the type does not accept, of an integer constant as a floating-point number, or of
    /// a special register outside `mov` and `cvt`.
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

    /// The fault of a register that the type does not accept.
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
        let is = |op: AtomOp| self.words.iter().any(|word| word.parse() == Ok(op));
        // The index of the address, and the minimum number of operands.
        let (at, least) = match base {
            "ld" | "ldu" => (1, 2),
            "atom" => (1, 3 + usize::from(is(AtomOp::Cas))),
            _ => (0, 2),
        };
        // A cache policy may follow them. In `exch`, ptxas ignores one operand.
        let has_more = self.has("L2::cache_hint") || is(AtomOp::Exch);
        if let Some(refused) = self.count(least, least + usize::from(has_more)) {
            return Some(refused);
        }
        let address = &self.operands[at];
        // `x[4]`, an element of an array, is accepted as an address without brackets.
        if !matches!(address.shape, Shape::Memory { .. } | Shape::Unknown) {
            return Some(("an address in brackets".into(), format!("`{}`", address.text.text)));
        }
        if at == 1 && !matches!(self.operands[0].shape, Shape::Name { .. } | Shape::Vector(_) | Shape::Sink) {
            return Some(("a register for the result".into(), format!("`{}`", self.operands[0].text.text)));
        }
        if let Some(refused) = self.space(address) {
            return Some(refused);
        }
        let width = if matches!(base, "ld" | "ldu" | "st") { Width::Wider } else { Width::Same };
        let values = self.operands[..least].iter().enumerate().filter(|(index, _)| *index != at);
        let mut values = values.map(|(_, operand)| operand);
        values.find_map(|operand| {
            self.shape(operand).or_else(|| elements(operand).iter().find_map(|element| self.value(element, ty, width)))
        })
    }

    /// The fault of a variable in another state space than the access names.
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

fn is_vector(operand: &Operand<'_>) -> bool {
    matches!(operand.shape, Shape::Vector(_))
}

/// The elements of a vector, or the operand itself.
fn elements<'s, 't>(operand: &'s Operand<'t>) -> &'s [Operand<'t>] {
    match &operand.shape {
        Shape::Vector(elements) => elements,
        _ => std::slice::from_ref(operand),
    }
}
