//! The uniformity analysis: which threads may have different values and predicates.

use ptx_isa::{Axis, Special, SpecialScalar, SpecialVector};

use super::{Atom, AtomExpression, Content, Literal, PhiInputs, PredicateMeaning, Terms, Value};
use crate::kernel::Varies;

impl Terms {
    pub fn varies(&self, value: Value) -> Varies {
        let terms = &self.sum(value).terms;
        terms.iter().map(|(atom, _)| self.atoms_vary[atom.0 as usize]).max().unwrap_or(Varies::No)
    }

    pub fn atom_varies(&self, atom: Atom) -> Varies {
        self.atoms_vary[atom.0 as usize]
    }

    pub fn literal_varies(&self, literal: Literal) -> Varies {
        self.predicates_vary[literal.predicate as usize]
    }

    pub fn content_varies(&self, content: Content) -> Varies {
        match content {
            Content::Unset => Varies::No,
            Content::Value(value) => self.varies(value),
            Content::Literal(literal) => self.literal_varies(literal),
        }
    }

    pub(super) fn derived(&self, expression: &AtomExpression) -> Option<Varies> {
        let all = |values: &[Value]| values.iter().map(|value| self.varies(*value)).max().unwrap_or(Varies::No);
        Some(match expression {
            AtomExpression::Symbol(_)
            | AtomExpression::Allocation(_)
            | AtomExpression::Param(..)
            | AtomExpression::Unset(_) => Varies::No,
            AtomExpression::Special(special) if is_of_thread(*special) => Varies::Thread,
            AtomExpression::Special(Special::Scalar(SpecialScalar::Warpid)) => Varies::Warp,
            AtomExpression::Special(_) => Varies::No,
            AtomExpression::Field(value, low, _) if *low >= 5 && self.is_flat && self.is_thread(*value) => Varies::Warp,
            AtomExpression::Field(value, ..) => self.varies(*value),
            AtomExpression::Select(literal, a, b) => all(&[*a, *b]).max(self.literal_varies(*literal)),
            AtomExpression::Shuffle(value, _) => self.varies(*value).min(Varies::Warp),
            AtomExpression::Remote(value) => value.map_or(Varies::No, |value| self.varies(value)),
            AtomExpression::Computed(_, values) => all(values),
            AtomExpression::Chosen(_, contents) => {
                contents.iter().map(|content| self.content_varies(*content)).max().unwrap_or(Varies::No)
            }
            AtomExpression::Result(_, _, Some(address)) => self.varies(*address),
            AtomExpression::Phi(..) | AtomExpression::Result(_, _, None) => return None,
        })
    }

    pub(super) fn derived_predicate(&self, says: &PredicateMeaning) -> Option<Varies> {
        Some(match says {
            PredicateMeaning::All(list) => list.iter().map(|own| self.literal_varies(*own)).max().unwrap_or(Varies::No),
            PredicateMeaning::Within(value, low, high) => {
                let whole_warps = (*low == i64::MIN || low % 32 == 0) && (*high == i64::MAX || (high + 1) % 32 == 0);
                let is_thread = match self.only(*value) {
                    Some(AtomExpression::Field(inner, 0, bits)) => *bits >= 5 && self.is_thread(*inner),
                    _ => self.is_thread(*value),
                };
                if whole_warps && is_thread && self.is_flat { Varies::Warp } else { self.varies(*value) }
            }
            PredicateMeaning::Elected(_) => Varies::Thread,
            PredicateMeaning::Computed(_, contents) => {
                contents.iter().map(|content| self.content_varies(*content)).max().unwrap_or(Varies::No)
            }
            PredicateMeaning::Phi(..) | PredicateMeaning::Result(..) | PredicateMeaning::Unset(_) => return None,
        })
    }

    /// Whether a value is the number of the thread in its CTA.
    pub fn is_thread(&self, value: Value) -> bool {
        matches!(self.only(value), Some(AtomExpression::Special(Special::Vector(SpecialVector::Tid, Axis::X))))
    }

    /// Whether a single register numbers the threads.
    pub fn is_flat(&self) -> bool {
        self.is_flat
    }

    /// Computes which atoms and predicates vary, up to a fixed point. `phi_inputs` has the incoming contents of each phi.
    pub fn settle(&mut self, phi_inputs: &PhiInputs) {
        for index in 0..self.atoms.len() {
            if !matches!(self.atoms[index].0, AtomExpression::Result(_, _, None)) {
                self.atoms_vary[index] = Varies::No;
            }
        }
        for index in 0..self.predicates.len() {
            if !matches!(self.predicates[index].0, PredicateMeaning::Result(..)) {
                self.predicates_vary[index] = Varies::No;
            }
        }
        let mut changed = true;
        while changed {
            changed = false;
            for index in 0..self.atoms.len() {
                let expression = &self.atoms[index].0;
                let now = match expression {
                    AtomExpression::Phi(block, register) => {
                        phi_inputs.get(&(*block, *register)).map(|met| self.merge_variation(met))
                    }
                    expression => self.derived(expression),
                };
                if let Some(now) = now {
                    changed |= std::mem::replace(&mut self.atoms_vary[index], now) != now;
                }
            }
            for index in 0..self.predicates.len() {
                let now = match &self.predicates[index].0 {
                    PredicateMeaning::Phi(block, register) => {
                        phi_inputs.get(&(*block, *register)).map(|met| self.merge_variation(met))
                    }
                    says => self.derived_predicate(says),
                };
                if let Some(now) = now {
                    changed |= std::mem::replace(&mut self.predicates_vary[index], now) != now;
                }
            }
        }
    }

    fn merge_variation(&self, contents: &[(Content, Literal)]) -> Varies {
        contents.iter().map(|(content, _)| self.content_varies(*content)).max().unwrap_or(Varies::No)
    }
}

/// Whether threads of one warp have different values of a special register.
fn is_of_thread(special: Special) -> bool {
    use SpecialScalar::*;
    match special {
        Special::Vector(vector, _) => vector == SpecialVector::Tid,
        Special::Scalar(scalar) => {
            matches!(scalar, Laneid | LanemaskEq | LanemaskLe | LanemaskLt | LanemaskGe | LanemaskGt)
        }
        _ => false,
    }
}
