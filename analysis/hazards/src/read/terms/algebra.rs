//! The arithmetic on values: sums, products, bit fields, selections.

use super::{Atom, AtomExpression, Facts, Function, Literal, TERMS, Terms, Value, ones, wrapped};
use crate::kernel::Sum;

/// The divisor of a division that is implemented as a product with the constant `by` and a shift to the right by 32 and
/// `shift`; `None` if it is not a division. Small dividends have 31 bits.
fn divisor(by: i64, shift: u32, is_small: bool) -> Option<i64> {
    let (by, power) = (i128::from(by), 1i128 << (32 + shift));
    if by <= 1 {
        return None;
    }
    let divisor = power / by + i128::from(power % by != 0);
    [divisor - 1, divisor].into_iter().find_map(|divisor| {
        let error = by * divisor - power;
        let most = 1i128 << (shift + u32::from(is_small));
        (divisor > 1 && (0..=most).contains(&error)).then(|| i64::try_from(divisor).ok())?
    })
}

/// A swizzle does not change this bit or any above.
const SWIZZLE: u64 = 1 << 12;

/// A value that may be larger than this is an address, not an offset.
const FAR: i64 = 1 << 23;

/// The divisor of a division that is implemented as a product and a shift to the right, if the dividend is at most
/// `most`.
fn divisor_of(by: u64, shift: u32, most: u128) -> Option<i64> {
    let (by, power) = (u128::from(by), 1u128.checked_shl(shift)?);
    let divisor = power.checked_div(by)? + u128::from(!power.is_multiple_of(by));
    let error = (by * divisor).checked_sub(power)?;
    let is_exact = error.checked_mul(most + 1)? <= power;
    i64::try_from(divisor).ok().filter(|divisor| is_exact && *divisor > 1)
}

impl Terms {
    /// The result of an instruction on values, with no more information than its facts.
    pub fn computed(&mut self, function: Function, values: &[Value], facts: Facts) -> Value {
        let block = self.block_of(values);
        self.atom(AtomExpression::Computed(function, values.to_vec()), Facts { block, ..facts })
    }

    pub fn add(&mut self, a: Value, b: Value, bits: u32) -> Value {
        self.combine(a, b, 1, bits)
    }

    pub fn subtract(&mut self, a: Value, b: Value, bits: u32) -> Value {
        self.combine(a, b, -1, bits)
    }

    /// `a + b * factor`
    fn combine(&mut self, a: Value, b: Value, factor: i64, bits: u32) -> Value {
        let (a_sum, b_sum) = (self.sum(a).clone(), self.sum(b).clone());
        let mut terms = Vec::with_capacity(a_sum.terms.len() + b_sum.terms.len());
        let (mut left, mut right) = (a_sum.terms.iter().peekable(), b_sum.terms.iter().peekable());
        loop {
            let (atom, number) = match (left.peek(), right.peek()) {
                (None, None) => break,
                (Some((one, _)), Some((other, _))) if one == other => {
                    let own = left.next().map_or(0, |(_, own)| *own);
                    (*one, own.wrapping_add(right.next().map_or(0, |(_, other)| other.wrapping_mul(factor))))
                }
                (Some((one, _)), other) if other.is_none_or(|(other, _)| one < other) => {
                    (*one, left.next().map_or(0, |(_, own)| *own))
                }
                (_, Some((other, number))) => {
                    let pair = (*other, number.wrapping_mul(factor));
                    right.next();
                    pair
                }
                (Some((one, number)), None) => {
                    let pair = (*one, *number);
                    left.next();
                    pair
                }
            };
            let number = wrapped(number, bits);
            if number != 0 {
                terms.push((atom, number));
            }
        }
        if terms.len() > TERMS {
            return self.computed(
                if factor == 1 { Function::Add } else { Function::Subtract },
                &[a, b],
                Facts::UNKNOWN,
            );
        }
        let constant = wrapped(a_sum.constant.wrapping_add(b_sum.constant.wrapping_mul(factor)), bits);
        let sum = Sum { terms, constant };
        if let Some((dividend, by)) = self.divided_with_sign(&sum) {
            return self.divided(dividend, by);
        }
        if let Some((sum, value, low, bits, factor)) = self.lower_bits(&sum) {
            let (sum, field) = (self.value(sum), self.field(value, low, bits));
            let field = self.scale(field, factor, 64);
            return self.add(sum, field, 64);
        }
        match self.remainder(&sum) {
            Some((value, by, factor)) => self.with_remainder(&sum, value, by, factor),
            None => self.value(sum),
        }
    }

    /// A bit field minus its upper bits, such as `(x & 31) - (x >> 4 & 1) * 16`: the rest of the sum, the bits that
    /// remain, and their factor.
    fn lower_bits(&self, sum: &Sum<Atom>) -> Option<(Sum<Atom>, Value, u32, u32, i64)> {
        let fields = || {
            sum.terms.iter().filter_map(|(atom, factor)| match *self.definition(*atom) {
                AtomExpression::Field(value, low, bits) => Some((*atom, *factor, value, low, bits)),
                _ => None,
            })
        };
        fields().find_map(|(all, factor, value, low, bits)| {
            let (upper, times, from) = fields().find_map(|(upper, times, other, from, count)| {
                let is_upper = other == value && from > low && from - low < 32 && from + count == low + bits;
                (is_upper && times == -(factor << (from - low))).then_some((upper, times, from))
            })?;
            let mut both = [(all, factor), (upper, times)];
            both.sort_unstable();
            let rest = sum.plus(&Sum { terms: both.to_vec(), constant: 0 }, -1);
            Some((rest, value, low, from - low, factor))
        })
    }

    /// The dividend and the divisor in a shifted product plus its sign, which compilers add if the dividend may be
    /// negative. An index is not negative.
    fn divided_with_sign(&self, sum: &Sum<Atom>) -> Option<(Value, i64)> {
        let &[(a, 1), (b, 1)] = &sum.terms[..] else { return None };
        let shifted = |quotient: Atom, sign: Atom| match (self.definition(quotient), self.definition(sign)) {
            (AtomExpression::Computed(Function::ShiftRight, of), &AtomExpression::Field(signed, 31, 1)) => {
                let &[product, shift] = &of[..] else { return None };
                Some((product, u32::try_from(self.as_number(shift)?).ok()?)).filter(|_| product == signed)
            }
            _ => None,
        };
        let (product, shift) =
            shifted(a, b).or_else(|| shifted(b, a)).filter(|(_, shift)| sum.constant == 0 && *shift < 31)?;
        // For a negative constant the dividend is added, because the constant represents one that is larger by 2^32.
        let upper = |atom: Atom| match self.definition(atom) {
            AtomExpression::Computed(Function::MultiplyHigh { is_signed: true }, of) => {
                Some((*of.first()?, self.as_number(*of.get(1)?)?))
            }
            _ => None,
        };
        let terms = &self.sum(product).terms;
        let (atom, (dividend, by)) =
            terms.iter().find_map(|(atom, factor)| Some((*atom, upper(*atom).filter(|_| *factor == 1)?)))?;
        let rest = self.sum(product).plus(&Sum::from_value(atom), -1);
        let by = by.cast_unsigned() & ones(32);
        let is_whole = if by >> 31 == 1 { rest == *self.sum(dividend) } else { rest == Sum::number(0) };
        Some((dividend, divisor(by.cast_signed(), shift, true).filter(|_| is_whole)?))
    }

    /// The quotient in a sum that also contains its dividend, such as `x - x / 3 * 3`: the dividend, the divisor, and
    /// the factor.
    fn remainder(&self, sum: &Sum<Atom>) -> Option<(Value, i64, i64)> {
        sum.terms.iter().find_map(|(atom, factor)| {
            let (value, by) = self.quotient(*atom)?;
            let times = (factor % by == 0).then(|| (factor / by).wrapping_neg())?;
            let is_there = |(own, number): &(Atom, i64)| sum.terms.contains(&(*own, number.wrapping_mul(times)));
            let dividend = self.sum(value);
            (!dividend.terms.is_empty() && dividend.terms.iter().all(is_there)).then_some((value, by, times))
        })
    }

    fn with_remainder(&mut self, sum: &Sum<Atom>, value: Value, by: i64, times: i64) -> Value {
        let dividend = self.sum(value).clone();
        let is_quotient = |terms: &Self, atom: Atom| terms.quotient(atom) == Some((value, by));
        let is_left =
            |(atom, _): &&(Atom, i64)| !is_quotient(self, *atom) && dividend.terms.iter().all(|(own, _)| own != atom);
        let left: Vec<_> = sum.terms.iter().filter(is_left).copied().collect();
        let constant = sum.constant.wrapping_sub(dividend.constant.wrapping_mul(times));
        let left = self.value(Sum { terms: left, constant });
        let remainder = match by.count_ones() {
            1 => self.field(value, 0, by.trailing_zeros()),
            _ => {
                let divisor = self.constant(by);
                self.computed(Function::Remainder, &[value, divisor], Facts::range(0, by - 1))
            }
        };
        let remainder = self.scale(remainder, times, 64);
        self.add(left, remainder, 64)
    }

    /// The dividend and the divisor of an atom that is a quotient.
    fn quotient(&self, atom: Atom) -> Option<(Value, i64)> {
        match self.definition(atom) {
            AtomExpression::Computed(Function::Divide, values) => {
                let &[value, by] = &values[..] else { return None };
                Some((value, self.as_number(by).filter(|by| *by > 1)?))
            }
            // A shift is a division, if the bits above are not cut off.
            AtomExpression::Field(value, low @ 1..32, bits) => {
                let facts = self.facts(*value);
                (facts.low >= 0 && facts.high >> low <= ones(*bits).cast_signed().max(0)).then_some((*value, 1 << low))
            }
            _ => None,
        }
    }

    /// The quotient of a non-negative value.
    pub fn divided(&mut self, value: Value, by: i64) -> Value {
        if let Some(number) = self.as_number(value).filter(|number| *number >= 0) {
            return self.constant(number / by);
        }
        let facts = self.facts(value);
        let facts = match facts.low >= 0 {
            true => Facts::range(facts.low / by, facts.high / by),
            false => Facts::range(0, i64::from(u32::MAX) / by),
        };
        let divisor = self.constant(by);
        self.computed(Function::Divide, &[value, divisor], facts)
    }

    /// The upper half of a 64-bit product with a constant. It is a quotient, or a shift makes it one.
    pub fn multiplied_higher(&mut self, value: Value, by: i64) -> Value {
        // Compilers also divide 32-bit unsigned values in 64 bits.
        let own = divisor_of(by.cast_unsigned(), 64, self.most(value));
        match own.or_else(|| divisor_of(by.cast_unsigned(), 64, u128::from(u32::MAX))) {
            Some(divisor) => self.divided(value, divisor),
            None => {
                let by = self.constant(by);
                self.computed(Function::MultiplyHighest, &[value, by], Facts::UNKNOWN)
            }
        }
    }

    /// The dividend and the divisor in the bits of a product from bit `low` on: compilers divide by constants in this
    /// way.
    fn divided_by_product(&self, value: Value, low: u32) -> Option<(Value, i64)> {
        let sum = self.sum(value);
        if let [(atom, 1)] = sum.terms[..]
            && let AtomExpression::Computed(Function::MultiplyHighest, of) = self.definition(atom)
            && let &[dividend, by] = &of[..]
            && sum.constant == 0
        {
            let divisor = divisor_of(self.as_number(by)?.cast_unsigned(), 64 + low, self.most(dividend))?;
            return Some((dividend, divisor));
        }
        let by = sum.terms.iter().map(|(_, factor)| *factor).min_by_key(|factor| factor.unsigned_abs())?;
        if low < 32 || by <= 1 << 16 {
            return None;
        }
        if sum.terms.iter().map(|(_, factor)| *factor).chain([sum.constant]).any(|own| own % by != 0) {
            return None;
        }
        let terms = sum.terms.iter().map(|(atom, factor)| (*atom, factor / by)).collect();
        let dividend = Sum { terms, constant: sum.constant / by };
        let dividend = *self.value_numbers.get(&dividend)?;
        Some((dividend, divisor_of(by.cast_unsigned(), low, self.most(dividend).min(u128::from(u32::MAX)))?))
    }

    /// The largest number that a value may be. A value that may be negative is assumed to have all bits.
    fn most(&self, value: Value) -> u128 {
        let facts = self.facts(value);
        if facts.low >= 0 { u128::from(facts.high.cast_unsigned()) } else { u128::from(u64::MAX) }
    }

    /// The upper half of a 32-bit product with a constant.
    pub fn multiplied_high(&mut self, value: Value, by: i64, is_signed: bool) -> Value {
        let facts = self.facts(value);
        let is_small = facts.low >= 0 && (is_signed || facts.high < 1 << 31);
        let by = (by.cast_unsigned() & ones(32)).cast_signed();
        if is_small
            && by < 1 << 31
            && let Some(divisor) = divisor(by, 0, true)
        {
            return self.divided(value, divisor);
        }
        let (factor, fits) = match is_signed {
            true => (wrapped(by, 32), facts.low >= i64::from(i32::MIN) && facts.high <= i64::from(i32::MAX)),
            false => (by, facts.low >= 0 && facts.high <= i64::from(u32::MAX)),
        };
        let ends = [facts.low, facts.high].map(|end| ((i128::from(end) * i128::from(factor)) >> 32) as i64);
        let facts = if fits { Facts::range(ends[0].min(ends[1]), ends[0].max(ends[1])) } else { Facts::UNKNOWN };
        let by = self.constant(by);
        self.computed(Function::MultiplyHigh { is_signed }, &[value, by], facts)
    }

    pub fn scale(&mut self, value: Value, factor: i64, bits: u32) -> Value {
        let sum = self.sum(value);
        let scaled = |number: i64| wrapped(number.wrapping_mul(factor), bits);
        let terms = sum.terms.iter().map(|(atom, number)| (*atom, scaled(*number)));
        let sum = Sum { terms: terms.filter(|(_, number)| *number != 0).collect(), constant: scaled(sum.constant) };
        self.value(sum)
    }

    pub fn multiply(&mut self, a: Value, b: Value, bits: u32) -> Value {
        match (self.as_number(a), self.as_number(b)) {
            (Some(a), _) => self.scale(b, a, bits),
            (_, Some(b)) => self.scale(a, b, bits),
            _ => {
                let pair = [a.min(b), a.max(b)];
                let (x, y) = (self.facts(a), self.facts(b));
                let high = i128::from(x.high) * i128::from(y.high);
                let facts = match i64::try_from(high) {
                    Ok(high) if x.low >= 0 && y.low >= 0 => Facts::range(0, high),
                    _ => Facts::UNKNOWN,
                };
                self.computed(Function::Multiply, &pair, facts)
            }
        }
    }

    /// The `bits` bits from bit `low` on.
    pub fn field(&mut self, value: Value, low: u32, bits: u32) -> Value {
        if let Some(number) = self.as_number(value) {
            return self.constant(((number.cast_unsigned().checked_shr(low).unwrap_or(0)) & ones(bits)).cast_signed());
        }
        if bits == 0 || low >= 64 {
            return self.constant(0);
        }
        if low + bits >= 32
            && let Some((dividend, divisor)) = self.divided_by_product(value, low)
        {
            let quotient = self.divided(dividend, divisor);
            return if low + bits >= 64 { quotient } else { self.field(quotient, 0, bits) };
        }
        let is_above = |factor: i64| low + bits < 64 && factor.trailing_zeros() >= low + bits;
        let (sum, mut upper, mut lower) = (self.sum(value).clone(), Sum::number(0), Sum::number(0));
        for (atom, factor) in sum.terms.iter().filter(|(_, factor)| !is_above(*factor)) {
            match factor.trailing_zeros() >= low {
                true => upper.terms.push((*atom, factor >> low)),
                false => lower.terms.push((*atom, *factor)),
            }
        }
        upper.constant = sum.constant >> low;
        lower.constant = (sum.constant.cast_unsigned() & ones(low)).cast_signed();
        if low > 0 {
            let facts = self.facts_of(&lower);
            if facts.low >= 0 && facts.high.cast_unsigned() <= ones(low) {
                let upper = self.value(upper);
                return self.field(upper, 0, bits);
            }
        }
        let mut kept = Sum {
            terms: sum.terms.iter().copied().filter(|(_, factor)| !is_above(*factor)).collect(),
            constant: sum.constant,
        };
        // The bits of the constant above the field are dropped, if the rest does not reach them.
        let whole = ones(low.saturating_add(bits));
        let below = Sum { constant: (kept.constant.cast_unsigned() & whole).cast_signed(), ..kept.clone() };
        let facts = self.facts_of(&below);
        if facts.low >= 0 && facts.high.cast_unsigned() <= whole {
            kept = below;
        }
        if kept.terms.is_empty() {
            let value = self.value(kept);
            return self.field(value, low, bits);
        }
        // A field of a multiple of a power of two is a field of the multiplicand.
        let power = kept.terms.iter().map(|(_, factor)| *factor).chain([kept.constant]);
        let power = power.map(i64::trailing_zeros).fold(low, u32::min);
        if power > 0 {
            let terms = kept.terms.into_iter().map(|(atom, factor)| (atom, factor >> power)).collect();
            let value = self.value(Sum { terms, constant: kept.constant >> power });
            return self.field(value, low - power, bits);
        }
        let value = self.value(kept);
        let facts = self.facts(value);
        // Bits above the highest possible bit are dropped.
        let bits =
            if facts.low >= 0 { bits.min((64 - facts.high.leading_zeros()).saturating_sub(low).max(1)) } else { bits };
        if low == 0 && facts.low >= 0 && facts.high.cast_unsigned() <= ones(bits) {
            return value;
        }
        if let Some((dividend, by)) = self.divided_by_halves(value, low) {
            let quotient = self.divided(dividend, by);
            return self.field(quotient, 0, bits);
        }
        if let Some((inner, inner_low, rest)) = self.shifted(value) {
            let rest = self.scale(rest, 1 << inner_low, 64);
            let inner = self.add(inner, rest, 64);
            return self.field(inner, inner_low + low, bits);
        }
        if let Some(AtomExpression::Computed(Function::MultiplyHigh { is_signed }, values)) = self.only(value)
            && let &[dividend, by] = &values[..]
            && let Some(by) = self.as_number(by)
            && low < 31
        {
            let small = self.facts(dividend);
            let is_small = small.low >= 0 && small.high < 1 << 31;
            let divisor = if *is_signed && !is_small { None } else { divisor(by, low, is_small) };
            if let Some(divisor) = divisor {
                let quotient = self.divided(dividend, divisor);
                return self.field(quotient, 0, bits);
            }
        }
        if let Some(&AtomExpression::Field(inner, inner_low, inner_bits)) = self.only(value) {
            return match inner_bits.checked_sub(low) {
                Some(left) if left > 0 => self.field(inner, inner_low + low, bits.min(left)),
                _ => self.constant(0),
            };
        }
        let mut high = ones(bits).min(i64::MAX.cast_unsigned()).cast_signed();
        if facts.low >= 0 {
            high = high.min(facts.high >> low.min(63));
        }
        let mask = (facts.mask >> low) & ones(bits) & Facts::range(0, high).mask;
        self.atom(AtomExpression::Field(value, low, bits), Facts { low: 0, high, mask, block: facts.block })
    }

    /// A part of a kernel's parameter.
    pub fn parameter(&mut self, symbol: usize, offset: i64, bytes: u64) -> Value {
        let facts = if bytes < 4 { Facts::range(0, (1 << (8 * bytes)) - 1) } else { Facts::UNKNOWN };
        self.atom(AtomExpression::Param(symbol, offset, bytes), facts)
    }

    /// Bits of a value that is a parameter: the same value as a load of these bytes alone.
    pub fn part_of_parameter(&mut self, value: Value, low: u32, bits: u32) -> Option<Value> {
        let &AtomExpression::Param(symbol, offset, bytes) = self.only(value)? else { return None };
        let is_part = low.is_multiple_of(8) && bits.is_multiple_of(8) && u64::from(low + bits) <= 8 * bytes;
        is_part.then(|| self.parameter(symbol, offset + i64::from(low / 8), (bits / 8).into()))
    }

    /// The dividend and the divisor in `(x - y) / 2 + y` shifted to the right by `shift`, where `y` is the upper half
    /// of the product of `x` and a constant. Compilers divide 32-bit values in this way if the constant would need 33
    /// bits.
    fn divided_by_halves(&mut self, value: Value, shift: u32) -> Option<(Value, i64)> {
        let sum = self.sum(value);
        let &[(a, 1), (b, 1)] = &sum.terms[..] else { return None };
        let halves = |half: Atom, upper: Atom| match (self.definition(half), self.definition(upper)) {
            (
                AtomExpression::Field(apart, 1, 31),
                AtomExpression::Computed(Function::MultiplyHigh { is_signed: false }, of),
            ) => {
                let &[dividend, by] = &of[..] else { return None };
                let is_apart = self.sum(dividend).plus(&Sum::from_value(upper), -1) == *self.sum(*apart);
                Some((dividend, self.as_number(by).filter(|_| is_apart)?))
            }
            _ => None,
        };
        let (dividend, by) = halves(a, b).or_else(|| halves(b, a)).filter(|_| sum.constant == 0 && shift < 31)?;
        Some((dividend, divisor(by + (1 << 32), shift + 1, false)?))
    }

    /// A shifted value plus another value: the value before the shift, the shift amount, and the other value.
    fn shifted(&mut self, value: Value) -> Option<(Value, u32, Value)> {
        let sum = self.sum(value);
        if sum.terms.len() == 1 && sum.constant == 0 {
            return None;
        }
        let (atom, inner, low) = sum.terms.iter().find_map(|(atom, factor)| match self.definition(*atom) {
            AtomExpression::Field(inner, low @ 1..32, bits) if *factor == 1 => {
                let facts = self.facts(*inner);
                let is_whole = facts.low >= 0 && facts.high >> low <= ones(*bits).min(i64::MAX as u64).cast_signed();
                is_whole.then_some((*atom, *inner, *low))
            }
            _ => None,
        })?;
        let rest = sum.plus(&Sum::from_value(atom), -1);
        Some((inner, low, self.value(rest)))
    }

    pub fn and(&mut self, a: Value, b: Value, bits: u32) -> Value {
        let (a, b) = if self.as_number(a).is_some() { (b, a) } else { (a, b) };
        let Some(mask) = self.as_number(b) else {
            if a == b {
                return a;
            }
            let (x, y) = (self.facts(a), self.facts(b));
            let mask = x.mask & y.mask;
            let facts = if mask >> 63 == 0 && (x.low >= 0 || y.low >= 0) {
                Facts { mask, ..Facts::range(0, mask.cast_signed()) }
            } else {
                Facts::UNKNOWN
            };
            return self.computed(Function::And, &[a.min(b), a.max(b)], facts);
        };
        let mask = mask.cast_unsigned() & ones(bits);
        if let Some(number) = self.as_number(a) {
            return self.constant(wrapped((number.cast_unsigned() & mask).cast_signed(), bits));
        }
        // Code finds the first CTA of a pair with this mask: in the addresses of that CTA's shared memory, bit 24 is
        // clear.
        if bits >= 32 && mask >> 24 == 0xfe {
            let kept = self.constant(wrapped((mask | 1 << 24).cast_signed(), 32));
            let a = self.and(a, kept, 32);
            let remote = self.atom(AtomExpression::Remote(None), Facts::UNKNOWN);
            return self.add(a, remote, bits);
        }
        let facts = self.facts(a);
        if facts.low >= 0 && facts.mask & !mask == 0 {
            return a;
        }
        if mask == 0 {
            return self.constant(0);
        }
        if mask == ones(32) && bits == 64 {
            return self.narrowed(a, 32);
        }
        let zeros = mask.trailing_zeros();
        let run = (mask >> zeros).trailing_ones();
        if mask == ones(run) << zeros {
            let field = self.field(a, zeros, run);
            return self.scale(field, 1 << zeros, 64);
        }
        // Bits that are never set may be kept.
        let run = (mask | !facts.mask).trailing_ones().min(bits);
        if mask & facts.mask == ones(run) & facts.mask {
            return self.field(a, 0, run);
        }
        let width = 64 - mask.leading_zeros() - zeros;
        let inner = self.field(a, zeros, width);
        let left = (mask >> zeros).cast_signed();
        let known = self.constant(left);
        let possible = self.facts(inner).mask & left.cast_unsigned();
        let facts = Facts { mask: possible, ..Facts::range(0, possible.cast_signed()) };
        let and = self.computed(Function::And, &[inner, known], facts);
        self.scale(and, 1 << zeros, 64)
    }

    pub fn or(&mut self, a: Value, b: Value, bits: u32) -> Value {
        if let (Some(a), Some(b)) = (self.as_number(a), self.as_number(b)) {
            return self.constant(wrapped(a | b, bits));
        }
        if a == b {
            return a;
        }
        self.disjoint(a, b, bits).unwrap_or_else(|| self.mixed(Function::Or, a, b))
    }

    pub fn xor(&mut self, a: Value, b: Value, bits: u32) -> Value {
        if let (Some(a), Some(b)) = (self.as_number(a), self.as_number(b)) {
            return self.constant(wrapped(a ^ b, bits));
        }
        if a == b {
            return self.constant(0);
        }
        if let Some(sum) = self.disjoint(a, b, bits) {
            return sum;
        }
        let (own, with) = if self.facts(a).mask <= self.facts(b).mask { (b, a) } else { (a, b) };
        self.swizzled(own, with, bits).unwrap_or_else(|| self.mixed(Function::Xor, a, b))
    }

    /// An address whose lower bits are changed. The multiples of the power of two above these bits stay unchanged; if
    /// the rest may be larger, the result is an address at a bounded distance.
    fn swizzled(&mut self, address: Value, with: Value, bits: u32) -> Option<Value> {
        let mask = self.facts(with).mask;
        let is_far = self.facts(address).high >= FAR || self.facts(address).low < 0;
        if mask >= SWIZZLE || self.facts(with).low < 0 || !is_far {
            return None;
        }
        let width = 64 - mask.leading_zeros();
        let sum = self.sum(address).clone();
        let below = sum.constant & ones(width).cast_signed();
        let (mut upper, mut lower) = (self.constant(sum.constant - below), self.constant(below));
        for (atom, factor) in sum.terms {
            let (own, facts) = (self.value(Sum::from_value(atom)), self.atoms[atom.0 as usize].1);
            let zeros = factor.trailing_zeros();
            let kept = width.saturating_sub(zeros);
            let (above, rest) = if zeros + facts.mask.trailing_zeros() >= width {
                (own, self.constant(0))
            } else if facts.low >= 0 && factor > 0 && factor.count_ones() == 1 && facts.high < FAR {
                let above = self.field(own, kept, 64 - kept);
                (self.scale(above, 1 << kept, 64), self.field(own, 0, kept))
            } else {
                (self.constant(0), own)
            };
            let (above, rest) = (self.scale(above, factor, 64), self.scale(rest, factor, 64));
            (upper, lower) = (self.add(upper, above, bits), self.add(lower, rest, bits));
        }
        let facts = self.facts(lower);
        if facts.low >= 0 && facts.high.cast_unsigned() <= ones(width) {
            let lower = self.xor(lower, with, bits);
            return Some(self.add(upper, lower, bits));
        }
        let most = mask.cast_signed();
        let apart =
            self.computed(Function::Swizzle, &[address, with], Facts { low: -most, high: most, ..Facts::UNKNOWN });
        Some(self.add(address, apart, bits))
    }

    /// The sum of values that have no bit in common, or `None`.
    fn disjoint(&mut self, a: Value, b: Value, bits: u32) -> Option<Value> {
        (self.facts(a).mask & self.facts(b).mask == 0).then(|| self.add(a, b, bits))
    }

    fn mixed(&mut self, function: Function, a: Value, b: Value) -> Value {
        let (x, y) = (self.facts(a), self.facts(b));
        let mask = x.mask | y.mask;
        let facts = if x.low >= 0 && y.low >= 0 {
            Facts { mask, ..Facts::range(0, mask.min(i64::MAX.cast_unsigned()).cast_signed()) }
        } else {
            Facts::UNKNOWN
        };
        self.computed(function, &[a.min(b), a.max(b)], facts)
    }

    /// The value in a register of `bits` bits. It is assumed to fit.
    pub fn narrowed(&mut self, value: Value, bits: u32) -> Value {
        let sum = self.sum(value);
        let terms = sum.terms.iter().map(|(atom, factor)| (*atom, wrapped(*factor, bits)));
        let sum =
            Sum { terms: terms.filter(|(_, factor)| *factor != 0).collect(), constant: wrapped(sum.constant, bits) };
        self.value(sum)
    }

    pub fn select(&mut self, literal: Literal, a: Value, b: Value) -> Value {
        match literal {
            _ if a == b => a,
            Literal::TRUE => a,
            Literal::FALSE => b,
            Literal { holds: false, .. } => self.select(literal.opposite(), b, a),
            _ => {
                let (x, y) = (self.facts(a), self.facts(b));
                let block = self.inner(self.block_of(&[a, b]), self.block_of_literal(literal));
                let one = self.narrowed_by((x.low, x.high), a, literal);
                let other = self.narrowed_by((y.low, y.high), b, literal.opposite());
                let (low, high) = match (one, other) {
                    (Some(one), Some(other)) => (one.0.min(other.0), one.1.max(other.1)),
                    (one, other) => one.or(other).unwrap_or((i64::MIN, i64::MAX)),
                };
                let facts = Facts::range(low, high);
                let facts = Facts { mask: facts.mask & (x.mask | y.mask), block, ..facts };
                self.atom(AtomExpression::Select(literal, a, b), facts)
            }
        }
    }
}
