//! The bases that addresses are relative to.

use super::terms::{Atom, AtomExpression, Content, Function, Literal, PhiInputs, Terms, Value};
use crate::kernel::Sum;

/// The base of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Base {
    /// A symbol.
    Symbol(usize),
    /// The allocation of the `tcgen05.alloc` that writes to this address.
    Allocation(Value),
    /// A pointer parameter of a kernel: the atom.
    Param(Atom),
}

/// The state of knowledge about an atom's base. It moves only from the first to the last variant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Origin {
    /// No base has been found yet.
    Open,
    Base(Base),
    None,
}

/// The parts of an address.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressParts {
    pub base: Option<Base>,
    /// The atom that is exactly the base. It is not a term of the offset.
    pub alone: Option<Atom>,
    /// The offset from the base.
    pub offset: Sum<Atom>,
    pub is_remote: bool,
}

/// The bases of all atoms.
#[derive(Debug)]
pub struct Bases(Vec<Origin>);

impl Bases {
    /// Finds the base of each atom. The base of a phi depends on later atoms, so the computation iterates up to a fixed
    /// point.
    pub fn new(terms: &Terms, phi_inputs: &PhiInputs) -> Self {
        let mut bases = Self(vec![Origin::Open; terms.atoms.len()]);
        // An origin changes at most twice, and mostly one iteration is enough.
        let mut changed = true;
        while changed {
            changed = false;
            for index in 0..terms.atoms.len() {
                if bases.0[index] == Origin::None {
                    continue;
                }
                let now = bases.origin(terms, phi_inputs, Atom(index as u32));
                changed |= std::mem::replace(&mut bases.0[index], now) != now;
            }
        }
        bases
    }

    fn origin(&self, terms: &Terms, phi_inputs: &PhiInputs, atom: Atom) -> Origin {
        match terms.definition(atom) {
            AtomExpression::Symbol(symbol) => Origin::Base(Base::Symbol(*symbol)),
            AtomExpression::Allocation(address) => Origin::Base(Base::Allocation(*address)),
            AtomExpression::Param(_, _, 8) => Origin::Base(Base::Param(atom)),
            AtomExpression::Field(inner, low, bits) if is_rounded(*low, *bits) || is_described(*low, *bits) => {
                self.of_value(terms, *inner)
            }
            AtomExpression::Shuffle(inner, _) => self.of_value(terms, *inner),
            AtomExpression::Select(_, a, b) => join(self.of_value(terms, *a), self.of_value(terms, *b)),
            AtomExpression::Phi(block, register) => {
                let met = phi_inputs.get(&(*block, *register)).map_or(&[][..], |met| met);
                let one = |(content, _): &(Content, Literal)| match content {
                    Content::Value(value) => self.of_value(terms, *value),
                    Content::Unset => Origin::Open,
                    Content::Literal(_) => Origin::None,
                };
                met.iter().map(one).reduce(join).unwrap_or(Origin::None)
            }
            // Swizzles of an address.
            AtomExpression::Computed(Function::And | Function::Or | Function::Xor, values) if values.len() == 2 => {
                match (self.of_value(terms, values[0]), self.of_value(terms, values[1])) {
                    (Origin::Base(base), Origin::None) | (Origin::None, Origin::Base(base)) => Origin::Base(base),
                    (Origin::Open, _) | (_, Origin::Open) => Origin::Open,
                    _ => Origin::None,
                }
            }
            _ => Origin::None,
        }
    }

    /// Whether an atom is computed from the bits of an address.
    pub fn is_swizzled(&self, terms: &Terms, atom: Atom) -> bool {
        matches!(terms.definition(atom), AtomExpression::Computed(..))
            && matches!(self.0[atom.0 as usize], Origin::Base(_))
    }

    fn of_value(&self, terms: &Terms, value: Value) -> Origin {
        let mut open = false;
        for (atom, factor) in &terms.sum(value).terms {
            if !may_be_base(terms, *atom, *factor) {
                continue;
            }
            match self.0[atom.0 as usize] {
                Origin::Open => open = true,
                Origin::None => {}
                base @ Origin::Base(_) => return base,
            }
        }
        if open { Origin::Open } else { Origin::None }
    }

    /// The parts of an address.
    pub fn parts(&self, terms: &Terms, value: Value) -> AddressParts {
        self.parts_of(terms, terms.sum(value))
    }

    /// The parts of an address that is given as a sum.
    pub fn parts_of(&self, terms: &Terms, sum: &Sum<Atom>) -> AddressParts {
        let mut parts = AddressParts { base: None, alone: None, offset: Sum::number(sum.constant), is_remote: false };
        for (atom, factor) in &sum.terms {
            let expression = terms.definition(*atom);
            if matches!(expression, AtomExpression::Remote(_)) && *factor == 1 {
                parts.is_remote = true;
                continue;
            }
            if parts.base.is_none()
                && may_be_base(terms, *atom, *factor)
                && let Origin::Base(base) = self.0[atom.0 as usize]
            {
                parts.base = Some(base);
                if matches!(
                    expression,
                    AtomExpression::Symbol(_) | AtomExpression::Allocation(_) | AtomExpression::Param(..)
                ) {
                    parts.alone = Some(*atom);
                    continue;
                }
            }
            parts.offset.terms.push((*atom, *factor));
        }
        parts
    }

    /// The address in a matrix descriptor, in bytes: the lowest 14 bits hold it without its lowest four bits.
    pub fn described(&self, terms: &Terms, value: Value) -> Option<AddressParts> {
        let sum = terms.sum(value);
        let mut found: Option<AddressParts> = None;
        let mut rest = Sum::number((sum.constant & 0x3fff) << 4);
        for (atom, factor) in &sum.terms {
            match terms.definition(*atom) {
                AtomExpression::Field(inner, low, bits)
                    if is_described(*low, *bits) && *factor == 1 << (low - 4) && found.is_none() =>
                {
                    let is_aligned = terms.facts(*inner).mask.trailing_zeros() >= *low || *low == 4;
                    found = Some(match self.of_value(terms, *inner) {
                        Origin::Base(base) if !is_aligned => AddressParts {
                            base: Some(base),
                            alone: None,
                            offset: Sum { terms: vec![(*atom, factor.wrapping_mul(16))], constant: 0 },
                            is_remote: false,
                        },
                        _ => self.parts(terms, *inner),
                    });
                }
                AtomExpression::Phi(..)
                | AtomExpression::Select(..)
                | AtomExpression::Computed(..)
                | AtomExpression::Shuffle(..)
                    if *factor == 1 && found.is_none() && matches!(self.0[atom.0 as usize], Origin::Base(_)) =>
                {
                    let Origin::Base(base) = self.0[atom.0 as usize] else { continue };
                    found = Some(AddressParts {
                        base: Some(base),
                        alone: None,
                        offset: Sum { terms: vec![(*atom, 16)], constant: 0 },
                        is_remote: false,
                    });
                }
                _ if factor.trailing_zeros() >= 14 => {}
                _ => rest.terms.push((*atom, factor.wrapping_mul(16))),
            }
        }
        let mut found = found?;
        found.offset.constant = found.offset.constant.wrapping_add(rest.constant);
        for (atom, factor) in rest.terms {
            match found.offset.terms.iter_mut().find(|(own, _)| *own == atom) {
                Some((_, own)) => *own = own.wrapping_add(factor),
                None => found.offset.terms.push((atom, factor)),
            }
        }
        found.offset.terms.retain(|(_, factor)| *factor != 0);
        found.offset.terms.sort_unstable();
        Some(found)
    }
}

/// Whether a scaled field of an address is the address rounded down.
fn is_rounded(low: u32, bits: u32) -> bool {
    low + bits >= 18 && low < 14
}

/// Whether a scaled field of an address is the part of it that a descriptor holds.
fn is_described(low: u32, bits: u32) -> bool {
    (4..14).contains(&low) && low + bits >= 18
}

fn may_be_base(terms: &Terms, atom: Atom, factor: i64) -> bool {
    let is_mask = |low: u32, bits: u32| is_rounded(low, bits) && factor == 1 << low;
    factor == 1 || matches!(terms.definition(atom), AtomExpression::Field(_, low, bits) if is_mask(*low, *bits))
}

fn join(a: Origin, b: Origin) -> Origin {
    match (a, b) {
        (Origin::Open, other) | (other, Origin::Open) => other,
        (a, b) if a == b => a,
        _ => Origin::None,
    }
}
