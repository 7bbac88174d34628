//! The results of instructions that only compute.

use ptx_isa::{
    AluOp, Cmp, Type,
    arithmetic::{self, Combination, Compare, Computation, Extended},
    operation::{Collective, Operation, Shuffle},
};

use super::terms::{AtomExpression, Content, Facts, Function, Literal, PredicateMeaning, Terms, Value, ones, wrapped};
use crate::kernel::{Sum, Varies};

/// The content of an operand.
#[derive(Clone, Debug)]
pub enum Source {
    One(Content),
    Many(Vec<Content>),
}

/// The results of an instruction; `None` if nothing is known of them.
pub fn compute(terms: &mut Terms, operation: &Operation, sources: &[Source], results: usize) -> Option<Vec<Content>> {
    ComputingInstruction { terms, operation, sources, results }.compute()
}

/// An instruction, and the contents of its operands.
struct ComputingInstruction<'i> {
    terms: &'i mut Terms,
    operation: &'i Operation,
    sources: &'i [Source],
    results: usize,
}

fn number(value: Value) -> Option<Vec<Content>> {
    Some(vec![Content::Value(value)])
}

impl ComputingInstruction<'_> {
    fn content(&self, index: usize) -> Option<Content> {
        match self.sources.get(index) {
            Some(Source::One(content)) => Some(*content),
            _ => None,
        }
    }

    fn value(&self, index: usize) -> Option<Value> {
        match self.content(index) {
            Some(Content::Value(value)) => Some(value),
            _ => None,
        }
    }

    fn literal(&self, index: usize) -> Option<Literal> {
        match self.content(index) {
            Some(Content::Literal(literal)) => Some(literal),
            _ => None,
        }
    }

    fn constant_operand(&self, index: usize) -> Option<i64> {
        self.terms.as_number(self.value(index)?)
    }

    /// An opaque result: only equal instructions with equal sources have the same one.
    fn pure(&mut self) -> Option<Vec<Content>> {
        pure(self.terms, self.operation, self.sources, self.results)
    }

    fn compute(mut self) -> Option<Vec<Content>> {
        match self.operation {
            Operation::Arithmetic(computation) => self.arithmetic(*computation),
            Operation::Mov(Type::Pred) => Some(vec![Content::Literal(self.truth(0)?)]),
            Operation::Mov(ty) => mov(self.terms, bits(*ty), self.sources, self.results),
            Operation::Cvta { .. } => number(self.value(0)?),
            Operation::Mapa(_) => {
                let (a, rank) = self.two()?;
                let remote = self.terms.atom(AtomExpression::Remote(Some(rank)), Facts::UNKNOWN);
                number(self.terms.add(a, remote, 64))
            }
            Operation::Collective { of: Collective::Elect, .. } => self.elected(),
            Operation::Collective { of: Collective::Shuffle(shuffle), .. } => self.shuffled(*shuffle),
            // These give results that differ from one execution to the next, or from one thread to another.
            Operation::Collective { .. } | Operation::Activemask | Operation::Matrix(_) | Operation::Stack(_) => None,
            Operation::Isspacep(_) | Operation::Getctarank(_) | Operation::Setmaxnreg(_) | Operation::Opaque(..) => {
                self.pure()
            }
        }
    }

    fn arithmetic(&mut self, computation: Computation) -> Option<Vec<Content>> {
        match computation {
            Computation::Alu(op, Type::Pred) => Some(vec![Content::Literal(self.predicate(op)?)]),
            Computation::Setp(cmp, ty) => setp(self.terms, (cmp, ty), None, self.sources, self.results),
            Computation::Compare(Compare { cmp, ty, combined, value: None, .. }) => {
                setp(self.terms, (cmp, ty), combined, self.sources, self.results)
            }
            // The result depends on the carry flag.
            _ if computation.uses_carry() => None,
            _ if self.results != 1 => None,
            Computation::Alu(op, ty) if !ty.is_float() && ty.element().is_none() => self.integer(op, ty),
            Computation::Extended(Extended::Carry { op, ty, .. }) => self.integer(op, ty),
            Computation::Cvt { to, from } => {
                let value = self.value(0)?;
                cvt(self.terms, to, from, value).map_or_else(|| self.pure(), number)
            }
            _ => self.pure(),
        }
    }

    /// Arithmetic on integers.
    fn integer(&mut self, op: AluOp, ty: Type) -> Option<Vec<Content>> {
        let constants: Option<Vec<i64>> = (0..self.sources.len()).map(|index| self.constant_operand(index)).collect();
        if let Some(result) = constants.and_then(|constants| folded(op, ty, &constants)) {
            return number(self.terms.constant(result));
        }
        let bits = bits(ty);
        let first = self.value(0);
        match op {
            AluOp::Add | AluOp::AddCc => self.two().and_then(|(a, b)| number(self.terms.add(a, b, bits))),
            AluOp::Sub | AluOp::SubCc => self.two().and_then(|(a, b)| number(self.terms.subtract(a, b, bits))),
            AluOp::And => self.two().and_then(|(a, b)| number(self.terms.and(a, b, bits))),
            AluOp::Or => self.two().and_then(|(a, b)| number(self.terms.or(a, b, bits))),
            AluOp::Xor => self.two().and_then(|(a, b)| number(self.terms.xor(a, b, bits))),
            AluOp::Neg => number(self.terms.scale(first?, -1, bits)),
            AluOp::Not => {
                let negated = self.terms.scale(first?, -1, bits);
                let one = self.terms.constant(1);
                number(self.terms.subtract(negated, one, bits))
            }
            AluOp::MulLo | AluOp::MulWide | AluOp::MadLo | AluOp::MadWide | AluOp::Mul24Lo | AluOp::Mad24Lo => {
                self.product(op, ty)
            }
            AluOp::MulHi => self.upper_half(ty),
            AluOp::Shl | AluOp::Shr => self.shifted(op, ty),
            AluOp::Bfe => self.bit_field(ty),
            AluOp::Bfi => self.with_bit_field(bits),
            AluOp::Selp => {
                let ((a, b), literal) = (self.two()?, self.literal(2)?);
                number(self.terms.select(literal, a, b))
            }
            AluOp::Min | AluOp::Max => self.extremum(op, ty),
            AluOp::Div | AluOp::Rem => self.quotient(op, ty),
            _ => self.pure(),
        }
    }

    fn two(&self) -> Option<(Value, Value)> {
        self.value(0).zip(self.value(1))
    }

    fn truth(&self, index: usize) -> Option<Literal> {
        match self.content(index)? {
            Content::Literal(literal) => Some(literal),
            Content::Value(value) => self.terms.as_number(value).map(|number| Literal::TRUE.if_(number != 0)),
            Content::Unset => None,
        }
    }

    /// The result of a logical operation on predicates.
    fn predicate(&mut self, op: AluOp) -> Option<Literal> {
        let first = self.truth(0)?;
        match op {
            AluOp::Not => return Some(first.opposite()),
            AluOp::And | AluOp::Or | AluOp::Xor => {}
            _ => return None,
        }
        let second = self.truth(1)?;
        Some(match (op, first, second) {
            (AluOp::And, ..) => self.terms.all(&[first, second]),
            (AluOp::Or, ..) => self.terms.any(&[first, second]),
            (_, Literal { predicate: 0, holds }, other) | (_, other, Literal { predicate: 0, holds }) => {
                other.if_(!holds)
            }
            _ if first == second => Literal::FALSE,
            _ if first == second.opposite() => Literal::TRUE,
            _ => {
                let both = [Content::Literal(first.min(second)), Content::Literal(first.max(second))];
                computed_predicate(self.terms, Function::Differ, &both)
            }
        })
    }

    /// `elect.sync d|p, mask`, or `p` alone.
    fn elected(&mut self) -> Option<Vec<Content>> {
        let mask = self.value(0)?;
        let elected = self.terms.predicate(PredicateMeaning::Elected(mask), None);
        let lane = self.terms.atom(AtomExpression::Computed(Function::Elected, vec![mask]), Facts::range(0, 31));
        let all = [Content::Value(lane), Content::Literal(elected)];
        Some(all[2 - self.results.clamp(1, 2)..].to_vec())
    }

    /// The lower half of a product, or the whole product, plus an addend.
    fn product(&mut self, op: AluOp, ty: Type) -> Option<Vec<Content>> {
        let is_wide = matches!(op, AluOp::MulWide | AluOp::MadWide);
        let bits = bits(ty);
        let width = if is_wide { (bits * 2).min(64) } else { bits };
        // An unsigned factor takes the value of its bits.
        let is_bits = is_wide && !ty.is_signed() && bits <= 32;
        let mask = ones(bits).cast_signed();
        let mut factor = |index: usize| {
            let value = self.value(index)?;
            let number = self.terms.as_number(value).filter(|number| is_bits && *number < 0);
            Some(number.map_or(value, |number| self.terms.constant(number & mask)))
        };
        let (a, b) = (factor(0)?, factor(1)?);
        let product = self.terms.multiply(a, b, width);
        match op.arity() == 3 {
            true => number(self.terms.add(product, self.value(2)?, width)),
            false => number(product),
        }
    }

    /// `mul.hi`, with which compilers divide by constants.
    fn upper_half(&mut self, ty: Type) -> Option<Vec<Content>> {
        let is_signed = ty.is_signed();
        match bits(ty) {
            32 => {
                let (a, b) = match self.constant_operand(0) {
                    Some(_) => (self.value(1)?, self.value(0)?),
                    None => (self.value(0)?, self.value(1)?),
                };
                let Some(by) = self.terms.as_number(b) else { return self.pure() };
                let Some(own) = self.terms.as_number(a) else {
                    return number(self.terms.multiplied_high(a, by, is_signed));
                };
                let of = |number: i64| if is_signed { wrapped(number, 32) } else { number & ones(32).cast_signed() };
                let upper = (i128::from(of(own)) * i128::from(of(by))) >> 32;
                number(self.terms.constant(wrapped(upper as i64, 32)))
            }
            64 if !is_signed => {
                let (x, by) = (self.value(0), self.terms.as_number(self.value(1)?));
                match x.zip(by) {
                    Some((x, by)) => number(self.terms.multiplied_higher(x, by)),
                    None => self.pure(),
                }
            }
            _ => self.pure(),
        }
    }

    /// A shift by a known number of bits.
    fn shifted(&mut self, op: AluOp, ty: Type) -> Option<Vec<Content>> {
        let bits = bits(ty);
        let Some(amount) = self.terms.as_number(self.value(1)?) else { return self.pure() };
        let x = self.value(0)?;
        if op == AluOp::Shl {
            let factor = match u32::try_from(amount) {
                Ok(amount) if amount < bits => 1i64.wrapping_shl(amount),
                _ => 0,
            };
            return number(self.terms.scale(x, factor, bits));
        }
        let amount = u32::try_from(amount).unwrap_or(64);
        let facts = self.terms.facts(x);
        if ty.is_signed() && facts.low < 0 {
            let range = Facts::range(facts.low >> amount.min(63), facts.high >> amount.min(63));
            return number(self.terms.computed(Function::ShiftRight, &[x, self.value(1)?], range));
        }
        number(if amount >= bits { self.terms.constant(0) } else { self.terms.field(x, amount, bits - amount) })
    }

    /// The position and the length of a bit field, in the operands from an index on; the inner `None` means that they
    /// are not constants.
    fn place(&self, index: usize) -> Option<Option<(u32, u32)>> {
        let (low, length) = (self.value(index)?, self.value(index + 1)?);
        let known = |value: Value| Some(self.terms.as_number(value)?.clamp(0, 255) as u32);
        Some(known(low).zip(known(length)))
    }

    fn bit_field(&mut self, ty: Type) -> Option<Vec<Content>> {
        let bits = bits(ty);
        let Some((low, length)) = self.place(1)? else { return self.pure() };
        let x = self.value(0)?;
        if ty.is_signed() && (low + length < bits || self.terms.facts(x).low < 0) {
            return self.pure();
        }
        number(self.terms.field(x, low, length.min(bits.saturating_sub(low))))
    }

    fn with_bit_field(&mut self, bits: u32) -> Option<Vec<Content>> {
        let Some((low, length)) = self.place(2)? else { return self.pure() };
        if low >= bits {
            return number(self.value(1)?);
        }
        let length = length.min(bits - low);
        let field = self.terms.field(self.value(0)?, 0, length);
        let field = self.terms.scale(field, 1i64.wrapping_shl(low), bits);
        let kept = self.terms.constant(wrapped((!(ones(length) << low)).cast_signed(), bits));
        let rest = self.terms.and(self.value(1)?, kept, bits);
        number(self.terms.add(rest, field, bits))
    }

    fn extremum(&mut self, op: AluOp, ty: Type) -> Option<Vec<Content>> {
        let (a, b) = (self.value(0)?, self.value(1)?);
        let (x, y) = (self.terms.facts(a), self.terms.facts(b));
        let facts = match op {
            AluOp::Min => Facts::range(x.low.min(y.low), x.high.min(y.high)),
            _ => Facts::range(x.low.max(y.low), x.high.max(y.high)),
        };
        let facts = if ty.is_signed() || x.low >= 0 && y.low >= 0 { facts } else { Facts::UNKNOWN };
        number(self.terms.computed(Function::Of(self.operation.clone()), &[a.min(b), a.max(b)], facts))
    }

    /// A division by a known number.
    fn quotient(&mut self, op: AluOp, ty: Type) -> Option<Vec<Content>> {
        let (a, b) = (self.value(0)?, self.value(1)?);
        let facts = self.terms.facts(a);
        let Some(by) = self.terms.as_number(b).filter(|by| *by > 0) else { return self.pure() };
        let is_quotient = op == AluOp::Div;
        if facts.low >= 0 && facts.low == facts.high {
            let result = if is_quotient { facts.low / by } else { facts.low % by };
            return number(self.terms.constant(result));
        }
        if facts.low < 0 && ty.is_signed() {
            return self.pure();
        }
        let power = (by.count_ones() == 1).then(|| by.trailing_zeros());
        number(match power {
            Some(power) if is_quotient => self.terms.field(a, power, bits(ty).saturating_sub(power)),
            Some(power) => self.terms.field(a, 0, power),
            None if is_quotient => self.terms.divided(a, by),
            None if facts.low >= 0 && facts.high < by => a,
            None => self.terms.computed(Function::Remainder, &[a, b], Facts::range(0, by - 1)),
        })
    }

    /// The value of another lane, if all lanes read the same lane.
    fn shuffled(&mut self, shuffle: Shuffle) -> Option<Vec<Content>> {
        let x = self.value(0)?;
        if shuffle != Shuffle::Index {
            return None;
        }
        match self.terms.varies(x) {
            Varies::Thread => {
                let facts = self.terms.facts(x);
                // With 31, all lanes of the warp are in range.
                let lane = self.constant_operand(1).filter(|_| self.constant_operand(2) == Some(31));
                let lane = lane.and_then(|lane| u8::try_from(lane).ok()).filter(|lane| *lane < 32);
                number(self.terms.atom(AtomExpression::Shuffle(x, lane), facts))
            }
            _ => number(x),
        }
    }
}

/// Equal instructions with equal sources have equal results.
fn pure(terms: &mut Terms, operation: &Operation, sources: &[Source], results: usize) -> Option<Vec<Content>> {
    let mut contents = Vec::new();
    for source in sources {
        match source {
            Source::One(Content::Unset) => return None,
            Source::One(content) => contents.push(*content),
            Source::Many(_) => return None,
        }
    }
    if results != 1 {
        return None;
    }
    let values: Option<Vec<Value>> = contents
        .iter()
        .map(|content| match content {
            Content::Value(value) => Some(*value),
            _ => None,
        })
        .collect();
    let result = match values {
        Some(values) => terms.computed(Function::Of(operation.clone()), &values, Facts::UNKNOWN),
        None => {
            let block = terms.block_of_contents(&contents);
            terms.atom(AtomExpression::Chosen(operation.clone(), contents), Facts { block, ..Facts::UNKNOWN })
        }
    };
    Some(vec![Content::Value(result)])
}

fn computed_predicate(terms: &mut Terms, function: Function, contents: &[Content]) -> Literal {
    let block = terms.block_of_contents(contents);
    terms.predicate(PredicateMeaning::Computed(function, contents.to_vec()), block)
}

/// The bits of an integer in a register.
fn bits(ty: Type) -> u32 {
    ty.bits().clamp(1, 64)
}

/// The result of an operation on constants.
fn folded(op: AluOp, ty: Type, constants: &[i64]) -> Option<i64> {
    let is_folded = matches!(op, AluOp::Min | AluOp::Max | AluOp::Shr | AluOp::Prmt);
    if !is_folded || ty.bits() > 64 || constants.len() != op.arity() {
        return None;
    }
    let bits = |index: usize, number: i64| u128::from(number.cast_unsigned() & ones(op.source_type(ty, index).bits()));
    let sources: Vec<u128> = constants.iter().enumerate().map(|(index, number)| bits(index, *number)).collect();
    let result = arithmetic::alu(op, ty, &sources)?;
    Some(wrapped(result as i64, ty.bits()))
}

fn cvt(terms: &mut Terms, to: Type, from: Type, value: Value) -> Option<Value> {
    let from_bits = from.bits().min(64);
    if let Some(number) = terms.as_number(value) {
        let read = if from.is_signed() {
            wrapped(number, from_bits)
        } else {
            (number.cast_unsigned() & ones(from_bits)).cast_signed()
        };
        return Some(terms.constant(wrapped(read, to.bits())));
    }
    if to.bits() < from_bits {
        return Some(match to.bits() {
            32 => terms.narrowed(value, 32),
            bits => terms.field(value, 0, bits),
        });
    }
    let facts = terms.facts(value);
    let fits = facts.low >= 0 && facts.high.cast_unsigned() <= ones(from_bits);
    match from_bits {
        // 32-bit sums are assumed not to wrap.
        32 | 64 => Some(value),
        _ if fits => Some(value),
        bits if !from.is_signed() => Some(terms.field(value, 0, bits)),
        _ => None,
    }
}

/// A `mov` copies, packs and unpacks.
fn mov(terms: &mut Terms, bits: u32, sources: &[Source], results: usize) -> Option<Vec<Content>> {
    match sources {
        [Source::One(content)] if results == 1 => Some(vec![match content {
            Content::Value(value) => match terms.as_number(*value) {
                Some(number) => Content::Value(terms.constant(wrapped(number, bits))),
                None => Content::Value(*value),
            },
            other => *other,
        }]),
        [Source::One(Content::Value(value))] => {
            let width = bits / u32::try_from(results).ok()?.max(1);
            let parts = (0..results).map(|index| {
                let low = index as u32 * width;
                let part =
                    terms.part_of_parameter(*value, low, width).unwrap_or_else(|| terms.field(*value, low, width));
                // 32-bit constants are signed.
                Content::Value(match terms.as_number(part) {
                    Some(number) => terms.constant(wrapped(number, width)),
                    None => part,
                })
            });
            Some(parts.collect())
        }
        [Source::Many(parts)] if results == 1 => {
            let width = bits / u32::try_from(parts.len()).ok()?.max(1);
            let mut sum = terms.constant(0);
            for (index, part) in parts.iter().enumerate() {
                let Content::Value(part) = part else { return None };
                let part = match terms.as_number(*part) {
                    Some(number) => terms.constant((number.cast_unsigned() & ones(width)).cast_signed()),
                    None => *part,
                };
                let shifted = terms.scale(part, 1i64.wrapping_shl(index as u32 * width), bits);
                sum = terms.add(sum, shifted, bits);
            }
            Some(vec![Content::Value(sum)])
        }
        _ => None,
    }
}

/// `setp.cmp{.bool}.type p{|q}, a, b{, c}`
fn setp(
    terms: &mut Terms,
    (cmp, ty): (Cmp, Type),
    with: Option<Combination>,
    sources: &[Source],
    results: usize,
) -> Option<Vec<Content>> {
    let values = |index: usize| match sources.get(index) {
        Some(Source::One(Content::Value(value))) => Some(*value),
        _ => None,
    };
    let (a, b) = (values(0)?, values(1)?);
    let literal = match ty.is_float() || ty.bits() > 64 {
        true => computed_predicate(terms, Function::Compares(cmp, ty), &[Content::Value(a), Content::Value(b)]),
        false => compare(terms, cmp, ty, a, b),
    };
    let third = match (with, sources.get(2)) {
        (None, _) => None,
        (Some(with), Some(Source::One(Content::Literal(third)))) => Some((with, *third)),
        _ => return None,
    };
    let combined = |terms: &mut Terms, literal: Literal| match third {
        Some((Combination::And, third)) => terms.all(&[literal, third]),
        Some((Combination::Or, third)) => terms.any(&[literal, third]),
        Some((Combination::Xor, third)) => {
            computed_predicate(terms, Function::Differ, &[Content::Literal(literal), Content::Literal(third)])
        }
        None => literal,
    };
    let first = Content::Literal(combined(terms, literal));
    if results < 2 {
        return Some(vec![first]);
    }
    Some(vec![first, Content::Literal(combined(terms, literal.opposite()))])
}

/// The comparisons to which all other comparisons reduce, directly or by negation.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Basic {
    Equal,
    Less,
    LessOrEqual,
}

fn compare(terms: &mut Terms, cmp: Cmp, ty: Type, a: Value, b: Value) -> Literal {
    use Basic::{Equal, Less, LessOrEqual};
    let is_signed = ty.is_signed() || matches!(ty, Type::B8 | Type::B16 | Type::B32 | Type::B64);
    let both = [Content::Value(a), Content::Value(b)];
    let (basic, holds) = match cmp {
        Cmp::Eq => (Equal, true),
        Cmp::Ne => (Equal, false),
        Cmp::Lt | Cmp::Lo => (Less, true),
        Cmp::Ge | Cmp::Hs => (Less, false),
        Cmp::Le | Cmp::Ls => (LessOrEqual, true),
        Cmp::Gt | Cmp::Hi => (LessOrEqual, false),
        _ => return computed_predicate(terms, Function::Compares(cmp, ty), &both),
    };
    let below = Function::Below { or_equal: basic == LessOrEqual };
    let literal = match (basic, terms.as_number(a), terms.as_number(b)) {
        (Equal, _, Some(number)) => equal(terms, a, number, ty),
        (Equal, Some(number), _) => equal(terms, b, number, ty),
        (Equal, ..) => {
            let difference = terms.subtract(a, b, ty.bits());
            let other = terms.subtract(b, a, ty.bits());
            terms.within(difference.min(other), 0, 0)
        }
        (_, known, other) if !is_signed && ty.bits() == 64 && known.or(other).is_some_and(|number| number < 0) => {
            computed_predicate(terms, below, &both)
        }
        (_, _, Some(number)) => {
            let number = if is_signed { number } else { (number.cast_unsigned() & ones(ty.bits())).cast_signed() };
            let low = if is_signed { i64::MIN } else { 0 };
            match (basic, number.checked_sub(1)) {
                (LessOrEqual, _) => terms.within(a, low, number),
                (_, Some(number)) => terms.within(a, low, number),
                (_, None) => Literal::FALSE,
            }
        }
        (_, Some(number), _) => {
            // `c < b` is the negation of `b <= c`.
            let number = if is_signed { number } else { (number.cast_unsigned() & ones(ty.bits())).cast_signed() };
            let low = if is_signed { i64::MIN } else { 0 };
            let opposite = match (basic, number.checked_sub(1)) {
                (Less, _) => terms.within(b, low, number),
                (_, Some(number)) => terms.within(b, low, number),
                (_, None) => Literal::FALSE,
            };
            opposite.opposite()
        }
        _ if is_signed || terms.facts(a).low >= 0 && terms.facts(b).low >= 0 => {
            by_difference(terms, basic == Less, a, b)
        }
        _ => computed_predicate(terms, below, &both),
    };
    literal.if_(holds)
}

/// Whether one value is less than, or at most, another one, as a test of their difference. Tests of `i < n` and of `i +
/// 64 < n` thus test the same value. Sums of a kernel are assumed not to overflow.
fn by_difference(terms: &mut Terms, is_less: bool, a: Value, b: Value) -> Literal {
    let difference = terms.subtract(a, b, 64);
    let is_backward = terms.sum(difference).terms.first().is_some_and(|(_, factor)| *factor < 0);
    let difference = if is_backward { terms.subtract(b, a, 64) } else { difference };
    let sum = terms.sum(difference).clone();
    let value = terms.value(Sum { terms: sum.terms, constant: 0 });
    // `a - b <= -1`, or the negation of `b - a <= 0`.
    let limit = i64::from(is_less == is_backward) - 1;
    terms.within(value, i64::MIN, limit.wrapping_sub(sum.constant)).if_(!is_backward)
}

fn equal(terms: &mut Terms, value: Value, number: i64, ty: Type) -> Literal {
    let unsigned = (number.cast_unsigned() & ones(ty.bits())).cast_signed();
    if number == 0
        && let Some(AtomExpression::Computed(Function::Or, values)) = terms.only(value)
        && let &[a, b] = &values[..]
    {
        let both = [terms.within(a, 0, 0), terms.within(b, 0, 0)];
        return terms.all(&both);
    }
    let facts = terms.facts(value);
    // A constant with its sign bit set is compared, as unsigned, with a non-negative value, if that fits.
    let number = if facts.low >= 0 && number < 0 && unsigned >= 0 { unsigned } else { number };
    terms.within(value, number, number)
}
