//! The range analysis of the values that loops carry between iterations.
//!
//! All ranges begin empty and grow up to a fixed point. A range that keeps growing is widened: first to a number that
//! some comparison uses, then to the full range.

use ptx_isa::{AluOp, arithmetic::Computation, flat::Flat, operation::Operation};
use rustc_hash::FxHashMap;

use super::terms::{AtomExpression, Content, Function, Literal, PhiInputs, PredicateMeaning, Terms, Value, ones};

type Range = (i64, i64);

/// The iterations before ranges are widened to the next number that some comparison uses, before they are widened to
/// the full range, and before the analysis gives up.
const ITERATIONS: [usize; 3] = [4, 10, 40];

/// The number of narrowing iterations after that.
const NARROWINGS: usize = 3;

/// The lowest start of a counter: unrolling may move it below 0.
const FEW: i64 = -64;

/// The range of each phi, by its block and its register.
pub fn ranges(terms: &Terms, phi_inputs: &PhiInputs, code: &Flat) -> FxHashMap<(usize, usize), Range> {
    let mut compared: Vec<i64> = Vec::new();
    for (says, _) in &terms.predicates {
        if let PredicateMeaning::Within(_, low, high) = says {
            compared.extend([low.saturating_sub(1), *low, *high, high.saturating_add(1)]);
        }
    }
    compared.sort_unstable();
    compared.dedup();
    let mut finder = Finder { terms, phi_inputs, ranges: vec![None; terms.atoms.len()] };
    for iteration in 0..ITERATIONS[2] {
        let mut changed = false;
        for index in 0..terms.atoms.len() {
            let (expression, _) = &terms.atoms[index];
            let old = finder.ranges[index];
            let mut now = join(old, finder.atom(index));
            if matches!(expression, AtomExpression::Phi(..))
                && old.is_some()
                && now != old
                && iteration >= ITERATIONS[0]
            {
                now = now.map(|now| widened(old.unwrap_or(now), now, (iteration < ITERATIONS[1]).then_some(&compared)));
            }
            if let (AtomExpression::Phi(_, register), Some((low @ FEW.., high))) = (expression, now) {
                // A 32-bit counter that begins at a small number is assumed not to overflow.
                let most = if code.registers.get(*register).is_some_and(|register| register.bits == 32) {
                    i64::from(i32::MAX).max(low)
                } else {
                    i64::MAX
                };
                now = Some((low, high.min(most)));
            }
            changed |= std::mem::replace(&mut finder.ranges[index], now) != now;
        }
        if !changed {
            finder.narrow();
            let met = |(index, (expression, _)): (usize, &(AtomExpression, _))| match expression {
                AtomExpression::Phi(block, register) => Some(((*block, *register), finder.ranges[index]?)),
                _ => None,
            };
            return terms.atoms.iter().enumerate().filter_map(met).collect();
        }
    }
    FxHashMap::default()
}

fn join(a: Option<Range>, b: Option<Range>) -> Option<Range> {
    match (a, b) {
        (Some(a), Some(b)) => Some((a.0.min(b.0), a.1.max(b.1))),
        (one, other) => one.or(other),
    }
}

fn widened(old: Range, now: Range, compared: Option<&Vec<i64>>) -> Range {
    let below = |end: i64| {
        let list = compared.map_or(&[][..], |list| list);
        list[..list.partition_point(|own| *own <= end)].last().copied().unwrap_or(i64::MIN)
    };
    let above = |end: i64| {
        let list = compared.map_or(&[][..], |list| list);
        list.get(list.partition_point(|own| *own < end)).copied().unwrap_or(i64::MAX)
    };
    (if now.0 < old.0 { below(now.0) } else { now.0 }, if now.1 > old.1 { above(now.1) } else { now.1 })
}

struct Finder<'t> {
    terms: &'t Terms,
    phi_inputs: &'t PhiInputs,
    /// The range of each atom; `None` until a value reaches it.
    ranges: Vec<Option<Range>>,
}

impl Finder<'_> {
    /// Narrows widened ranges by the expressions that compute them: a remainder is less than its divisor.
    fn narrow(&mut self) {
        for _ in 0..NARROWINGS {
            for index in 0..self.ranges.len() {
                if let (Some(old), Some(new)) = (self.ranges[index], self.atom(index)) {
                    self.ranges[index] = Some((old.0.max(new.0), old.1.min(new.1)));
                }
            }
        }
    }

    fn value(&self, value: Value) -> Option<Range> {
        let sum = self.terms.sum(value);
        let (mut low, mut high) = (i128::from(sum.constant), i128::from(sum.constant));
        for (atom, factor) in &sum.terms {
            let range = self.ranges[atom.0 as usize]?;
            let ends = [range.0, range.1].map(|end| i128::from(end) * i128::from(*factor));
            low = low.saturating_add(ends[0].min(ends[1]));
            high = high.saturating_add(ends[0].max(ends[1]));
        }
        match (i64::try_from(low), i64::try_from(high)) {
            (Ok(low), Ok(high)) => Some((low, high)),
            _ => Some((i64::MIN, i64::MAX)),
        }
    }

    fn atom(&self, index: usize) -> Option<Range> {
        let (expression, facts) = &self.terms.atoms[index];
        let own = (facts.low, facts.high);
        match expression {
            AtomExpression::Phi(block, register) => {
                let met = self.phi_inputs.get(&(*block, *register)).map_or(&[][..], |met| met);
                let one = |(content, when): &(Content, Literal)| match content {
                    Content::Value(value) => self.where_(*value, *when),
                    Content::Unset => None,
                    Content::Literal(_) => Some(own),
                };
                met.iter().map(one).fold(None, join)
            }
            AtomExpression::Select(literal, a, b) => {
                join(self.where_(*a, *literal), self.where_(*b, literal.opposite()))
            }
            AtomExpression::Field(value, low, bits) => {
                let (from, to) = self.value(*value)?;
                let most = ones(*bits).cast_signed().max(0);
                Some(match from >= 0 {
                    true if *bits < 63 && to >> low <= most => (from >> low, to >> low),
                    true => (0, most.min(to >> low)),
                    false => own,
                })
            }
            AtomExpression::Shuffle(value, _) => self.value(*value),
            AtomExpression::Computed(function, values) => {
                let ranges: Option<Vec<Range>> = values.iter().map(|value| self.value(*value)).collect();
                let ranges = ranges?;
                Some(computed(function, &ranges).unwrap_or(own))
            }
            _ => Some(own),
        }
    }

    /// The range of a value if a literal holds; `None` if the literal cannot hold.
    fn where_(&self, value: Value, literal: Literal) -> Option<Range> {
        self.terms.narrowed_by(self.value(value)?, value, literal)
    }
}

/// The range of a function of two values.
fn computed(function: &Function, ranges: &[Range]) -> Option<Range> {
    let &[(a, b), (c, d)] = ranges else { return None };
    let bits = |high: i64| ones(64 - high.max(0).leading_zeros()).cast_signed();
    match function {
        Function::Or | Function::Xor if a >= 0 && c >= 0 => Some((0, bits(b.max(d)))),
        Function::And if a >= 0 => Some((0, if c >= 0 { b.min(d) } else { b })),
        Function::And if c >= 0 => Some((0, d)),
        Function::Of(Operation::Arithmetic(Computation::Alu(AluOp::Min, _))) => Some((a.min(c), b.min(d))),
        Function::Of(Operation::Arithmetic(Computation::Alu(AluOp::Max, _))) => Some((a.max(c), b.max(d))),
        Function::Divide if a >= 0 && c > 0 => Some((a / d, b / c)),
        Function::Remainder if a >= 0 && c > 0 => Some((0, b.min(d - 1))),
        _ => None,
    }
}
