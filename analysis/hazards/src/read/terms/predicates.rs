//! The predicates on values, and the facts that they imply.

use super::{AtomExpression, Literal, PredicateMeaning, Terms, Value};
use crate::kernel::Sum;

impl Terms {
    /// The range of a value if a literal holds; `None` if the literal cannot hold.
    pub fn narrowed_by(&self, range: (i64, i64), value: Value, literal: Literal) -> Option<(i64, i64)> {
        let PredicateMeaning::Within(tested, low, high) = &self.predicates[literal.predicate as usize].0 else {
            return Some(range);
        };
        // The tested value may differ from this value by a constant.
        let (own, other) = (self.sum(value), self.sum(*tested));
        if own.terms != other.terms || own.terms.is_empty() {
            return Some(range);
        }
        let apart = own.constant.wrapping_sub(other.constant);
        let (low, high) = (low.saturating_add(apart), high.saturating_add(apart));
        let (from, to) = range;
        let left = match (literal.holds, low <= from, to <= high) {
            (true, ..) => (from.max(low), to.min(high)),
            (false, true, true) => return None,
            (false, true, false) => (from.max(high.saturating_add(1)), to),
            (false, false, true) => (from, to.min(low.saturating_sub(1))),
            (false, false, false) => range,
        };
        (left.0 <= left.1).then_some(left)
    }

    pub fn all(&mut self, literals: &[Literal]) -> Literal {
        let mut list: Vec<Literal> = Vec::new();
        for literal in literals {
            match &self.predicates[literal.predicate as usize].0 {
                PredicateMeaning::All(inner) if literal.holds => list.extend(inner),
                _ => list.push(*literal),
            }
        }
        list.sort_unstable();
        list.dedup();
        if list.windows(2).any(|pair| pair[0].predicate == pair[1].predicate) || list.contains(&Literal::FALSE) {
            return Literal::FALSE;
        }
        if let [one] = list[..] {
            return one;
        }
        let block = list.iter().fold(None, |block, literal| self.inner(block, self.block_of_literal(*literal)));
        self.predicate(PredicateMeaning::All(list), block)
    }

    pub fn any(&mut self, literals: &[Literal]) -> Literal {
        let opposites: Vec<_> = literals.iter().map(|literal| literal.opposite()).collect();
        self.all(&opposites).opposite()
    }

    /// Whether a value is within a range.
    pub fn within(&mut self, value: Value, low: i64, high: i64) -> Literal {
        let sum = self.sum(value).clone();
        if let &[(atom, factor)] = &sum.terms[..]
            && let AtomExpression::Select(literal, a, b) = self.definition(atom).clone()
            && let (Some(a), Some(b)) = (self.as_number(a), self.as_number(b))
        {
            let holds = |number: i64| {
                let number = number.wrapping_mul(factor).wrapping_add(sum.constant);
                low <= number && number <= high
            };
            return match (holds(a), holds(b)) {
                (true, true) => Literal::TRUE,
                (true, false) => literal,
                (false, true) => literal.opposite(),
                (false, false) => Literal::FALSE,
            };
        }
        // Tests of `n` and of `n + 64` become tests of the same value.
        if !sum.terms.is_empty() && sum.constant != 0 {
            let shifted =
                |end: i64| if end == i64::MIN || end == i64::MAX { end } else { end.saturating_sub(sum.constant) };
            let value = self.value(Sum { terms: sum.terms, constant: 0 });
            return self.within(value, shifted(low), shifted(high));
        }
        let facts = self.facts(value);
        let (low, high) = (low.max(facts.low), high.min(facts.high));
        if low > high {
            return Literal::FALSE;
        }
        if low == facts.low && high == facts.high {
            return Literal::TRUE;
        }
        // A test and its negation get the same predicate.
        if high == facts.high {
            return self.predicate(PredicateMeaning::Within(value, facts.low, low - 1), facts.block).opposite();
        }
        self.predicate(PredicateMeaning::Within(value, low, high), facts.block)
    }
}
