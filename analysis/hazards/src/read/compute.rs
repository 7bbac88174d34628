//! The results of instructions that only compute.

use ptx_isa::{AluOp, Type, arithmetic};

use super::terms::{Content, Facts, Literal, Says, Terms, Value, What, ones, wrapped};
use crate::kernel::{Sum, Varies};

/// What an operand holds.
#[derive(Clone, Debug)]
pub enum Source {
    One(Content),
    Many(Vec<Content>),
}

/// The results of an instruction; `None` if nothing is known of them.
pub fn compute(terms: &mut Terms, mnemonic: &str, sources: &[Source], results: usize) -> Option<Vec<Content>> {
    let words: Vec<&str> = mnemonic.split('.').collect();
    let ty = words.iter().rev().find_map(|word| word.parse::<Type>().ok());
    ComputingInstruction { terms, mnemonic, words, ty, sources, results }.compute()
}

/// An instruction, and what its operands hold.
struct ComputingInstruction<'i> {
    terms: &'i mut Terms,
    mnemonic: &'i str,
    words: Vec<&'i str>,
    /// The last type in its words.
    ty: Option<Type>,
    sources: &'i [Source],
    results: usize,
}

fn number(value: Value) -> Option<Vec<Content>> {
    Some(vec![Content::Value(value)])
}

impl ComputingInstruction<'_> {
    fn has(&self, word: &str) -> bool {
        self.words.contains(&word)
    }

    fn bits(&self) -> u32 {
        self.ty.map_or(32, Type::bits).clamp(1, 64)
    }

    fn is_signed(&self) -> bool {
        self.ty.is_some_and(Type::is_signed)
    }

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

    fn known(&self, index: usize) -> Option<i64> {
        self.terms.known(self.value(index)?)
    }

    /// A result of which nothing is known but that equal instructions with equal sources have it.
    fn pure(&mut self) -> Option<Vec<Content>> {
        pure(self.terms, self.mnemonic, self.sources, self.results)
    }

    fn compute(mut self) -> Option<Vec<Content>> {
        let base = *self.words.first()?;
        match base {
            _ if self.ty == Some(Type::Pred) && base != "setp" => {
                return Some(vec![Content::Literal(self.predicate(base)?)]);
            }
            "setp" => return setp(self.terms, &self.words, self.sources, self.results),
            "mov" => return mov(self.terms, self.bits(), self.sources, self.results),
            "elect" => return self.elected(),
            _ => {}
        }
        // Beside what `shfl` gives, it may say whether its lane was in range.
        let has_one = self.results == 1 || base == "shfl";
        if self.ty.is_some_and(Type::is_float) || self.mnemonic.contains("x2") || !has_one {
            return self.pure();
        }
        let constants: Option<Vec<i64>> = (0..self.sources.len()).map(|index| self.known(index)).collect();
        if let (Some(constants), Some(ty)) = (&constants, self.ty)
            && let Some(result) = folded(base, &self.words, ty, constants)
        {
            return number(self.terms.constant(result));
        }
        let bits = self.bits();
        let (first, second) = (self.value(0), self.value(1));
        let two = || first.zip(second);
        match base {
            "cvta" => number(first?),
            "cvt" => cvt(self.terms, &self.words, first?).map_or_else(|| self.pure(), number),
            "add" if !self.has("sat") => two().and_then(|(a, b)| number(self.terms.add(a, b, bits))),
            "sub" if !self.has("sat") => two().and_then(|(a, b)| number(self.terms.subtract(a, b, bits))),
            "and" => two().and_then(|(a, b)| number(self.terms.and(a, b, bits))),
            "or" => two().and_then(|(a, b)| number(self.terms.or(a, b, bits))),
            "xor" => two().and_then(|(a, b)| number(self.terms.xor(a, b, bits))),
            "neg" => number(self.terms.scale(first?, -1, bits)),
            "not" => {
                let negated = self.terms.scale(first?, -1, bits);
                let one = self.terms.constant(1);
                number(self.terms.subtract(negated, one, bits))
            }
            "mul" | "mad" | "mul24" | "mad24" if !self.has("hi") && !self.has("sat") => self.product(base),
            "mul" if self.has("hi") => self.upper_half(),
            "shl" | "shr" => self.shifted(base),
            "bfe" => self.bit_field(),
            "bfi" => self.with_bit_field(),
            "selp" => {
                let ((a, b), literal) = (two()?, self.literal(2)?);
                number(self.terms.select(literal, a, b))
            }
            "min" | "max" => self.extremum(base),
            "div" | "rem" => self.quotient(base),
            "shfl" => self.shuffled(),
            "mapa" => {
                let (a, rank) = two()?;
                let remote = self.terms.atom(What::Remote(Some(rank)), Facts::UNKNOWN);
                number(self.terms.add(a, remote, 64))
            }
            // These give what differs from one execution to the next, or from one thread to another.
            "vote" | "match" | "activemask" | "mma" | "wmma" | "movmatrix" | "alloca" | "stacksave" | "redux" => None,
            _ => self.pure(),
        }
    }

    fn truth(&self, index: usize) -> Option<Literal> {
        match self.content(index)? {
            Content::Literal(literal) => Some(literal),
            Content::Value(value) => self.terms.known(value).map(|number| Literal::TRUE.if_(number != 0)),
            Content::Unset => None,
        }
    }

    /// What is computed of predicates.
    fn predicate(&mut self, base: &str) -> Option<Literal> {
        let first = self.truth(0)?;
        match base {
            "mov" => return Some(first),
            "not" => return Some(first.opposite()),
            "and" | "or" | "xor" => {}
            _ => return None,
        }
        let second = self.truth(1)?;
        Some(match (base, first, second) {
            ("and", ..) => self.terms.all(&[first, second]),
            ("or", ..) => self.terms.any(&[first, second]),
            (_, Literal { predicate: 0, holds }, other) | (_, other, Literal { predicate: 0, holds }) => {
                other.if_(!holds)
            }
            _ if first == second => Literal::FALSE,
            _ if first == second.opposite() => Literal::TRUE,
            _ => {
                let both = [Content::Literal(first.min(second)), Content::Literal(first.max(second))];
                said(self.terms, "xor.pred", &both)
            }
        })
    }

    /// `elect.sync d|p, mask`, or `p` alone.
    fn elected(&mut self) -> Option<Vec<Content>> {
        let mask = self.value(0)?;
        let elected = self.terms.predicate(Says::Elected(mask), None);
        let word = self.terms.word("elect");
        let lane = self.terms.atom(What::Computed(word, vec![mask]), Facts::range(0, 31));
        let all = [Content::Value(lane), Content::Literal(elected)];
        Some(all[2 - self.results.clamp(1, 2)..].to_vec())
    }

    /// The lower half of a product, or all of it, with what is added to it.
    fn product(&mut self, base: &str) -> Option<Vec<Content>> {
        let width = if self.has("wide") { (self.bits() * 2).min(64) } else { self.bits() };
        // A factor without a sign is as large as its bits say.
        let is_bits = self.has("wide") && !self.is_signed() && self.bits() <= 32;
        let mask = ones(self.bits()).cast_signed();
        let mut factor = |index: usize| {
            let value = self.value(index)?;
            let number = self.terms.known(value).filter(|number| is_bits && *number < 0);
            Some(number.map_or(value, |number| self.terms.constant(number & mask)))
        };
        let (a, b) = (factor(0)?, factor(1)?);
        let product = self.terms.multiply(a, b, width);
        match base.starts_with("mad") {
            true => number(self.terms.add(product, self.value(2)?, width)),
            false => number(product),
        }
    }

    /// `mul.hi`, with which compilers divide by constants.
    fn upper_half(&mut self) -> Option<Vec<Content>> {
        let is_signed = self.is_signed();
        match self.bits() {
            32 => {
                let (a, b) = match self.known(0) {
                    Some(_) => (self.value(1)?, self.value(0)?),
                    None => (self.value(0)?, self.value(1)?),
                };
                let Some(by) = self.terms.known(b) else { return self.pure() };
                let Some(own) = self.terms.known(a) else {
                    return number(self.terms.multiplied_high(a, by, is_signed));
                };
                let of = |number: i64| if is_signed { wrapped(number, 32) } else { number & ones(32).cast_signed() };
                let upper = (i128::from(of(own)) * i128::from(of(by))) >> 32;
                number(self.terms.constant(wrapped(upper as i64, 32)))
            }
            64 if !is_signed => {
                let (x, by) = (self.value(0), self.terms.known(self.value(1)?));
                match x.zip(by) {
                    Some((x, by)) => number(self.terms.multiplied_higher(x, by)),
                    None => self.pure(),
                }
            }
            _ => self.pure(),
        }
    }

    /// A shift by a number of bits that is known.
    fn shifted(&mut self, base: &str) -> Option<Vec<Content>> {
        let bits = self.bits();
        let Some(amount) = self.terms.known(self.value(1)?) else { return self.pure() };
        let x = self.value(0)?;
        if base == "shl" {
            let factor = match u32::try_from(amount) {
                Ok(amount) if amount < bits => 1i64.wrapping_shl(amount),
                _ => 0,
            };
            return number(self.terms.scale(x, factor, bits));
        }
        let amount = u32::try_from(amount).unwrap_or(64);
        let facts = self.terms.facts(x);
        if self.is_signed() && facts.low < 0 {
            let range = Facts::range(facts.low >> amount.min(63), facts.high >> amount.min(63));
            return number(self.terms.computed("sar", &[x, self.value(1)?], range));
        }
        number(if amount >= bits { self.terms.constant(0) } else { self.terms.field(x, amount, bits - amount) })
    }

    /// The place and the length of a field of bits, in the operands from an index on; nothing inside, if they are no numbers.
    fn place(&self, index: usize) -> Option<Option<(u32, u32)>> {
        let (low, length) = (self.value(index)?, self.value(index + 1)?);
        let known = |value: Value| Some(self.terms.known(value)?.clamp(0, 255) as u32);
        Some(known(low).zip(known(length)))
    }

    fn bit_field(&mut self) -> Option<Vec<Content>> {
        let bits = self.bits();
        let Some((low, length)) = self.place(1)? else { return self.pure() };
        let x = self.value(0)?;
        if self.is_signed() && (low + length < bits || self.terms.facts(x).low < 0) {
            return self.pure();
        }
        number(self.terms.field(x, low, length.min(bits.saturating_sub(low))))
    }

    fn with_bit_field(&mut self) -> Option<Vec<Content>> {
        let bits = self.bits();
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

    fn extremum(&mut self, base: &str) -> Option<Vec<Content>> {
        let (a, b) = (self.value(0)?, self.value(1)?);
        let (x, y) = (self.terms.facts(a), self.terms.facts(b));
        let facts = match base {
            "min" => Facts::range(x.low.min(y.low), x.high.min(y.high)),
            _ => Facts::range(x.low.max(y.low), x.high.max(y.high)),
        };
        let facts = if self.is_signed() || x.low >= 0 && y.low >= 0 { facts } else { Facts::UNKNOWN };
        number(self.terms.computed(self.mnemonic, &[a.min(b), a.max(b)], facts))
    }

    /// A division by a number that is known.
    fn quotient(&mut self, base: &str) -> Option<Vec<Content>> {
        let (a, b) = (self.value(0)?, self.value(1)?);
        let facts = self.terms.facts(a);
        let Some(by) = self.terms.known(b).filter(|by| *by > 0) else { return self.pure() };
        let is_quotient = base == "div";
        if facts.low >= 0 && facts.low == facts.high {
            let result = if is_quotient { facts.low / by } else { facts.low % by };
            return number(self.terms.constant(result));
        }
        if facts.low < 0 && self.is_signed() {
            return self.pure();
        }
        let power = (by.count_ones() == 1).then(|| by.trailing_zeros());
        number(match power {
            Some(power) if is_quotient => self.terms.field(a, power, self.bits().saturating_sub(power)),
            Some(power) => self.terms.field(a, 0, power),
            None if is_quotient => self.terms.divided(a, by),
            None if facts.low >= 0 && facts.high < by => a,
            None => self.terms.computed("rem", &[a, b], Facts::range(0, by - 1)),
        })
    }

    /// A value of another lane, which all lanes take from the same one.
    fn shuffled(&mut self) -> Option<Vec<Content>> {
        let x = self.value(0)?;
        if !self.has("idx") {
            return None;
        }
        match self.terms.varies(x) {
            Varies::Thread => {
                let facts = self.terms.facts(x);
                // With 31, all lanes of the warp are in range.
                let lane = self.known(1).filter(|_| self.known(2) == Some(31));
                let lane = lane.and_then(|lane| u8::try_from(lane).ok()).filter(|lane| *lane < 32);
                number(self.terms.atom(What::Shuffle(x, lane), facts))
            }
            _ => number(x),
        }
    }
}

/// Equal instructions with equal sources have equal results.
fn pure(terms: &mut Terms, mnemonic: &str, sources: &[Source], results: usize) -> Option<Vec<Content>> {
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
        Some(values) => terms.computed(mnemonic, &values, Facts::UNKNOWN),
        None => {
            let block = terms.block_of_contents(&contents);
            let word = terms.word(mnemonic);
            terms.atom(What::Chosen(word, contents), Facts { block, ..Facts::UNKNOWN })
        }
    };
    Some(vec![Content::Value(result)])
}

fn said(terms: &mut Terms, word: &str, contents: &[Content]) -> Literal {
    let block = terms.block_of_contents(contents);
    let word = terms.word(word);
    terms.predicate(Says::Computed(word, contents.to_vec()), block)
}

/// What constants give.
fn folded(base: &str, words: &[&str], ty: Type, constants: &[i64]) -> Option<i64> {
    let op = match base {
        "min" => AluOp::Min,
        "max" => AluOp::Max,
        "shr" => AluOp::Shr,
        "prmt" if words.len() == 2 => AluOp::Prmt,
        _ => return None,
    };
    if ty.is_float() || ty.bits() > 64 || constants.len() != op.arity() {
        return None;
    }
    let bits = |index: usize, number: i64| u128::from(number.cast_unsigned() & ones(op.source_type(ty, index).bits()));
    let sources: Vec<u128> = constants.iter().enumerate().map(|(index, number)| bits(index, *number)).collect();
    let result = arithmetic::alu(op, ty, &sources)?;
    Some(wrapped(result as i64, ty.bits()))
}

fn cvt(terms: &mut Terms, words: &[&str], value: Value) -> Option<Value> {
    let mut types = words.iter().filter_map(|word| word.parse::<Type>().ok());
    let (to, from) = (types.next()?, types.next()?);
    if to.is_float() || from.is_float() || words.contains(&"sat") {
        return None;
    }
    let from_bits = from.bits().min(64);
    if let Some(number) = terms.known(value) {
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
        // Sums of 32 bits are taken not to wrap.
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
            Content::Value(value) => match terms.known(*value) {
                Some(number) => Content::Value(terms.constant(wrapped(number, bits))),
                None => Content::Value(*value),
            },
            other => *other,
        }]),
        [Source::One(Content::Value(value))] => {
            let width = bits / u32::try_from(results).ok()?.max(1);
            let parts = (0..results).map(|index| {
                let part = terms.field(*value, index as u32 * width, width);
                // Constants of 32 bits have a sign.
                Content::Value(match terms.known(part) {
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
                let part = match terms.known(*part) {
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
fn setp(terms: &mut Terms, words: &[&str], sources: &[Source], results: usize) -> Option<Vec<Content>> {
    let cmp = *words.get(1)?;
    let ty = words.iter().rev().find_map(|word| word.parse::<Type>().ok())?;
    let with = ["and", "or", "xor"].into_iter().find(|word| words.contains(word));
    let values = |index: usize| match sources.get(index) {
        Some(Source::One(Content::Value(value))) => Some(*value),
        _ => None,
    };
    let literal = match (values(0), values(1)) {
        (Some(a), Some(b)) if !ty.is_float() && ty.bits() <= 64 => compare(terms, cmp, ty, a, b),
        (Some(a), Some(b)) => said(terms, &words.join("."), &[Content::Value(a), Content::Value(b)]),
        _ => return None,
    };
    let third = match (with, sources.get(2)) {
        (None, _) => None,
        (Some(_), Some(Source::One(Content::Literal(third)))) => Some(*third),
        _ => return None,
    };
    let combined = |terms: &mut Terms, literal: Literal| match (with, third) {
        (Some("and"), Some(third)) => terms.all(&[literal, third]),
        (Some("or"), Some(third)) => terms.any(&[literal, third]),
        (Some(_), Some(third)) => said(terms, "xor.pred", &[Content::Literal(literal), Content::Literal(third)]),
        _ => literal,
    };
    let first = Content::Literal(combined(terms, literal));
    if results < 2 {
        return Some(vec![first]);
    }
    Some(vec![first, Content::Literal(combined(terms, literal.opposite()))])
}

fn compare(terms: &mut Terms, cmp: &str, ty: Type, a: Value, b: Value) -> Literal {
    let is_signed = ty.is_signed() || matches!(ty, Type::B8 | Type::B16 | Type::B32 | Type::B64);
    let (cmp, holds) = match cmp {
        "eq" => ("eq", true),
        "ne" => ("eq", false),
        "lt" | "lo" => ("lt", true),
        "ge" | "hs" => ("lt", false),
        "le" | "ls" => ("le", true),
        "gt" | "hi" => ("le", false),
        _ => return said(terms, cmp, &[Content::Value(a), Content::Value(b)]),
    };
    let literal = match (cmp, terms.known(a), terms.known(b)) {
        ("eq", _, Some(number)) => equal(terms, a, number, ty),
        ("eq", Some(number), _) => equal(terms, b, number, ty),
        ("eq", ..) => {
            let difference = terms.subtract(a, b, ty.bits());
            let other = terms.subtract(b, a, ty.bits());
            terms.within(difference.min(other), 0, 0)
        }
        (_, known, other) if !is_signed && ty.bits() == 64 && known.or(other).is_some_and(|number| number < 0) => {
            said(terms, cmp, &[Content::Value(a), Content::Value(b)])
        }
        (_, _, Some(number)) => {
            let number = if is_signed { number } else { (number.cast_unsigned() & ones(ty.bits())).cast_signed() };
            let low = if is_signed { i64::MIN } else { 0 };
            match (cmp, number.checked_sub(1)) {
                ("le", _) => terms.within(a, low, number),
                (_, Some(number)) => terms.within(a, low, number),
                (_, None) => Literal::FALSE,
            }
        }
        (_, Some(number), _) => {
            // `c < b` is the opposite of `b <= c`.
            let number = if is_signed { number } else { (number.cast_unsigned() & ones(ty.bits())).cast_signed() };
            let low = if is_signed { i64::MIN } else { 0 };
            let opposite = match (cmp, number.checked_sub(1)) {
                ("lt", _) => terms.within(b, low, number),
                (_, Some(number)) => terms.within(b, low, number),
                (_, None) => Literal::FALSE,
            };
            opposite.opposite()
        }
        _ if is_signed || terms.facts(a).low >= 0 && terms.facts(b).low >= 0 => by_difference(terms, cmp == "lt", a, b),
        _ => {
            let word = format!("{cmp}{}", if is_signed { "" } else { ".u" });
            said(terms, &word, &[Content::Value(a), Content::Value(b)])
        }
    };
    literal.if_(holds)
}

/// Whether one value is less than another, or not more, as a test of their difference: so tests of `i < n` and of `i + 64 < n` are of
/// one value. No sum of a kernel is taken to overflow.
fn by_difference(terms: &mut Terms, is_less: bool, a: Value, b: Value) -> Literal {
    let difference = terms.subtract(a, b, 64);
    let is_backward = terms.sum(difference).terms.first().is_some_and(|(_, factor)| *factor < 0);
    let difference = if is_backward { terms.subtract(b, a, 64) } else { difference };
    let sum = terms.sum(difference).clone();
    let value = terms.value(Sum { terms: sum.terms, constant: 0 });
    // `a - b <= -1`, or the opposite of `b - a <= 0`.
    let limit = i64::from(is_less == is_backward) - 1;
    terms.within(value, i64::MIN, limit.wrapping_sub(sum.constant)).if_(!is_backward)
}

fn equal(terms: &mut Terms, value: Value, number: i64, ty: Type) -> Literal {
    let unsigned = (number.cast_unsigned() & ones(ty.bits())).cast_signed();
    if number == 0
        && let Some(What::Computed(word, values)) = terms.only(value).cloned()
        && let &[a, b] = &values[..]
        && terms.word_of(word) == "or"
    {
        let both = [terms.within(a, 0, 0), terms.within(b, 0, 0)];
        return terms.all(&both);
    }
    let facts = terms.facts(value);
    // A constant with its sign set is compared with a value that has none, where that fits.
    let number = if facts.low >= 0 && number < 0 && unsigned >= 0 { unsigned } else { number };
    terms.within(value, number, number)
}
