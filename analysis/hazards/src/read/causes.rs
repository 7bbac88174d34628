//! The reasons why values are unknown.

use ptx_isa::{Special, SpecialVector, flat::Flat};

use super::terms::{Atom, AtomExpression, Content, Terms, Value};
use crate::cause::Cause;

/// The largest depth of expressions that are examined.
const DEPTH: usize = 12;

/// The reason why an atom is unknown; `None` if it is the number of a thread, or of a CTA.
pub fn of_atom(code: &Flat, terms: &Terms, atom: Atom) -> Option<Cause> {
    Finder { code, terms }.atom(atom, DEPTH)
}

/// The reason why a value is unknown.
pub fn of_value(code: &Flat, terms: &Terms, value: Value) -> Option<Cause> {
    Finder { code, terms }.value(value, DEPTH)
}

/// The name of a parameter, or of its part at an offset, in the form of options.
pub fn parameter(code: &Flat, symbol: usize, offset: i64) -> Option<String> {
    let name = &code.symbols.get(symbol)?.variable.name;
    Some(if offset == 0 { name.clone() } else { format!("{name}+{offset}") })
}

struct Finder<'t> {
    code: &'t Flat,
    terms: &'t Terms,
}

impl Finder<'_> {
    fn atom(&self, atom: Atom, depth: usize) -> Option<Cause> {
        let depth = depth.checked_sub(1)?;
        match self.terms.definition(atom) {
            AtomExpression::Param(symbol, offset, _) => parameter(self.code, *symbol, *offset).map(Cause::Parameter),
            AtomExpression::Special(Special::Vector(SpecialVector::Ntid, _)) => Some(Cause::Block(None)),
            AtomExpression::Special(Special::Vector(SpecialVector::Nctaid, _)) => Some(Cause::Grid),
            AtomExpression::Result(_, _, Some(_)) => Some(Cause::Loaded),
            AtomExpression::Phi(..) => Some(Cause::Index),
            AtomExpression::Result(..) | AtomExpression::Unset(_) => Some(Cause::Address),
            AtomExpression::Field(value, ..) | AtomExpression::Shuffle(value, _) => self.value(*value, depth),
            AtomExpression::Select(_, a, b) => self.value(*a, depth).or_else(|| self.value(*b, depth)),
            AtomExpression::Computed(_, values) => values.iter().find_map(|value| self.value(*value, depth)),
            AtomExpression::Chosen(_, contents) => contents.iter().find_map(|content| match content {
                Content::Value(value) => self.value(*value, depth),
                Content::Unset | Content::Literal(_) => None,
            }),
            AtomExpression::Symbol(_)
            | AtomExpression::Allocation(_)
            | AtomExpression::Special(_)
            | AtomExpression::Remote(_) => None,
        }
    }

    fn value(&self, value: Value, depth: usize) -> Option<Cause> {
        self.terms.sum(value).terms.iter().find_map(|(atom, _)| self.atom(*atom, depth))
    }
}
