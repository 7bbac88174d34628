//! What instructions compute that only compute.

use ptx_isa::{AluOp, Type, arithmetic};

use super::terms::{Content, Facts, Literal, Says, Sum, Terms, Value, What, ones, wrapped};
use crate::kernel::Varies;

/// What an operand holds.
#[derive(Clone, Debug)]
pub enum Source {
    One(Content),
    Many(Vec<Content>),
}

/// The results of an instruction; `None` if nothing is known of them.
pub fn compute(terms: &mut Terms, mnemonic: &str, sources: &[Source], results: usize) -> Option<Vec<Content>> {
    let words: Vec<&str> = mnemonic.split('.').collect();
    let base = *words.first()?;
    let has = |word: &str| words.contains(&word);
    let ty = words.iter().rev().find_map(|word| word.parse::<Type>().ok());
    let bits = ty.map_or(32, Type::bits).clamp(1, 64);
    let is_signed = ty.is_some_and(Type::is_signed);
    let one = |index: usize| match sources.get(index) {
        Some(Source::One(content)) => Some(*content),
        _ => None,
    };
    let value = |index: usize| match one(index) {
        Some(Content::Value(value)) => Some(value),
        _ => None,
    };
    let literal = |index: usize| match one(index) {
        Some(Content::Literal(literal)) => Some(literal),
        _ => None,
    };
    let number = |value: Value| Some(vec![Content::Value(value)]);
    if base == "unpacked" {
        let single = |source: &Source| match source {
            Source::One(content) => Some(*content),
            Source::Many(_) => None,
        };
        return sources.iter().map(single).collect();
    }
    if ty == Some(Type::Pred) && base != "setp" {
        let truth = |terms: &Terms, index: usize| match one(index)? {
            Content::Literal(literal) => Some(literal),
            Content::Value(value) => terms.known(value).map(|number| Literal::TRUE.if_(number != 0)),
            Content::Unset => None,
        };
        let result = match base {
            "mov" => truth(terms, 0)?,
            "not" => truth(terms, 0)?.opposite(),
            "and" => terms.all(&[truth(terms, 0)?, truth(terms, 1)?]),
            "or" => terms.any(&[truth(terms, 0)?, truth(terms, 1)?]),
            "xor" => match (truth(terms, 0)?, truth(terms, 1)?) {
                (Literal { predicate: 0, holds }, other) | (other, Literal { predicate: 0, holds }) => {
                    other.if_(!holds)
                }
                (a, b) if a == b => Literal::FALSE,
                (a, b) if a == b.opposite() => Literal::TRUE,
                (a, b) => said(terms, "xor.pred", &[Content::Literal(a.min(b)), Content::Literal(a.max(b))]),
            },
            _ => return None,
        };
        return Some(vec![Content::Literal(result)]);
    }
    match base {
        "setp" => return setp(terms, &words, sources, results),
        "mov" => return mov(terms, bits, sources, results),
        "elect" => {
            let mask = value(0)?;
            let elected = terms.predicate(Says::Elected(mask), None);
            let word = terms.word("elect");
            let lane = terms.atom(What::Computed(word, vec![mask]), Facts::range(0, 31));
            let all = [Content::Value(lane), Content::Literal(elected)];
            return Some(all[2 - results.clamp(1, 2)..].to_vec());
        }
        _ => {}
    }
    if ty.is_some_and(Type::is_float) || mnemonic.contains("x2") || results != 1 {
        return pure(terms, mnemonic, sources, results);
    }
    let constants: Option<Vec<i64>> = (0..sources.len()).map(|index| terms.known(value(index)?)).collect();
    if let (Some(constants), Some(ty)) = (&constants, ty)
        && let Some(result) = folded(base, &words, ty, constants)
    {
        let result = terms.constant(result);
        return number(result);
    }
    match base {
        "cvta" => number(value(0)?),
        "cvt" => cvt(terms, &words, value(0)?).map_or_else(|| pure(terms, mnemonic, sources, results), number),
        "add" | "sub" if !has("sat") => {
            let (a, b) = (value(0)?, value(1)?);
            let result = if base == "add" { terms.add(a, b, bits) } else { terms.subtract(a, b, bits) };
            number(result)
        }
        "mul" | "mad" | "mul24" | "mad24" if !has("hi") && !has("sat") => {
            let width = if has("wide") { (bits * 2).min(64) } else { bits };
            let product = terms.multiply(value(0)?, value(1)?, width);
            let result = match base.starts_with("mad") {
                true => terms.add(product, value(2)?, width),
                false => product,
            };
            number(result)
        }
        "mul" if has("hi") && bits == 32 => {
            let (a, b) = match terms.known(value(0)?) {
                Some(_) => (value(1)?, value(0)?),
                None => (value(0)?, value(1)?),
            };
            let Some(by) = terms.known(b) else { return pure(terms, mnemonic, sources, results) };
            if let Some(own) = terms.known(a) {
                let of = |number: i64| if is_signed { wrapped(number, 32) } else { number & ones(32).cast_signed() };
                let upper = (i128::from(of(own)) * i128::from(of(by))) >> 32;
                let result = terms.constant(wrapped(upper as i64, 32));
                return number(result);
            }
            let result = terms.multiplied_high(a, by, is_signed);
            number(result)
        }
        "mul" if has("hi") && bits == 64 && !is_signed => {
            let by = terms.known(value(1)?);
            match by.and_then(|by| terms.multiplied_higher(value(0)?, by)) {
                Some(result) => number(result),
                None => pure(terms, mnemonic, sources, results),
            }
        }
        "neg" => {
            let result = terms.scale(value(0)?, -1, bits);
            number(result)
        }
        "not" => {
            let negated = terms.scale(value(0)?, -1, bits);
            let one = terms.constant(1);
            let result = terms.subtract(negated, one, bits);
            number(result)
        }
        "shl" => {
            let Some(amount) = terms.known(value(1)?) else { return pure(terms, mnemonic, sources, results) };
            let factor = match u32::try_from(amount) {
                Ok(amount) if amount < bits => 1i64.wrapping_shl(amount),
                _ => 0,
            };
            let result = terms.scale(value(0)?, factor, bits);
            number(result)
        }
        "shr" => {
            let Some(amount) = terms.known(value(1)?) else { return pure(terms, mnemonic, sources, results) };
            let amount = u32::try_from(amount).unwrap_or(64);
            let x = value(0)?;
            let facts = terms.facts(x);
            if is_signed && facts.low < 0 {
                let low = facts.low >> amount.min(63);
                let high = facts.high >> amount.min(63);
                let amount = value(1)?;
                let result = terms.computed("sar", &[x, amount], Facts::range(low, high));
                return number(result);
            }
            if amount >= bits {
                let result = terms.constant(0);
                return number(result);
            }
            let result = terms.field(x, amount, bits - amount);
            number(result)
        }
        "bfe" => {
            let (Some(low), Some(length)) = (terms.known(value(1)?), terms.known(value(2)?)) else {
                return pure(terms, mnemonic, sources, results);
            };
            let (low, length) = (low.clamp(0, 255) as u32, length.clamp(0, 255) as u32);
            let x = value(0)?;
            if is_signed && (low + length < bits || terms.facts(x).low < 0) {
                return pure(terms, mnemonic, sources, results);
            }
            let result = terms.field(x, low, length.min(bits.saturating_sub(low)));
            number(result)
        }
        "bfi" => {
            let (Some(low), Some(length)) = (terms.known(value(2)?), terms.known(value(3)?)) else {
                return pure(terms, mnemonic, sources, results);
            };
            let (low, length) = (low.clamp(0, 255) as u32, length.clamp(0, 255) as u32);
            if low >= bits {
                return number(value(1)?);
            }
            let length = length.min(bits - low);
            let field = terms.field(value(0)?, 0, length);
            let field = terms.scale(field, 1i64.wrapping_shl(low), bits);
            let kept = terms.constant(wrapped((!(ones(length) << low)).cast_signed(), bits));
            let rest = terms.and(value(1)?, kept, bits);
            let result = terms.add(rest, field, bits);
            number(result)
        }
        "and" => {
            let result = terms.and(value(0)?, value(1)?, bits);
            number(result)
        }
        "or" => {
            let result = terms.or(value(0)?, value(1)?, bits);
            number(result)
        }
        "xor" => {
            let result = terms.xor(value(0)?, value(1)?, bits);
            number(result)
        }
        "selp" => {
            let (a, b) = (value(0)?, value(1)?);
            let result = terms.select(literal(2)?, a, b);
            number(result)
        }
        "min" | "max" => {
            let (a, b) = (value(0)?, value(1)?);
            let (x, y) = (terms.facts(a), terms.facts(b));
            let facts = if base == "min" {
                Facts::range(x.low.min(y.low), x.high.min(y.high))
            } else {
                Facts::range(x.low.max(y.low), x.high.max(y.high))
            };
            let facts = if is_signed || x.low >= 0 && y.low >= 0 { facts } else { Facts::UNKNOWN };
            let result = terms.computed(mnemonic, &[a.min(b), a.max(b)], facts);
            number(result)
        }
        "div" | "rem" => {
            let (a, b) = (value(0)?, value(1)?);
            let facts = terms.facts(a);
            match terms.known(b) {
                Some(by) if by > 0 && facts.low >= 0 && facts.low == facts.high => {
                    let result = terms.constant(if base == "div" { facts.low / by } else { facts.low % by });
                    number(result)
                }
                Some(by) if by > 0 && (facts.low >= 0 || !is_signed) => {
                    let power = (by.count_ones() == 1).then(|| by.trailing_zeros());
                    let result = match (base, power) {
                        ("div", Some(power)) => terms.field(a, power, bits.saturating_sub(power)),
                        (_, Some(power)) => terms.field(a, 0, power),
                        ("div", None) => terms.divided(a, by),
                        _ if facts.low >= 0 && facts.high < by => a,
                        _ => terms.computed("rem", &[a, b], Facts::range(0, by - 1)),
                    };
                    number(result)
                }
                _ => pure(terms, mnemonic, sources, results),
            }
        }
        "shfl" => {
            let x = value(0)?;
            if has("idx") {
                let result = match terms.varies(x) {
                    Varies::Thread => {
                        let facts = terms.facts(x);
                        terms.atom(What::Shuffle(x), facts)
                    }
                    _ => x,
                };
                return number(result);
            }
            None
        }
        "mapa" => {
            let (a, rank) = (value(0)?, value(1)?);
            let remote = terms.atom(What::Remote(Some(rank)), Facts::UNKNOWN);
            let result = terms.add(a, remote, 64);
            number(result)
        }
        // These give what differs from one execution to the next, or from one thread to another.
        "vote" | "match" | "activemask" | "mma" | "wmma" | "movmatrix" | "alloca" | "stacksave" | "redux" => None,
        _ => pure(terms, mnemonic, sources, results),
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
