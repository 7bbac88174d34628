//! Values and predicates by number: equal expressions have one number.
//!
//! A value is a sum of atoms, each times a number. What is no sum is an atom of its own: a field of bits, a choice, what is loaded,
//! what meets at a block. Sums are exact up to the width of registers: addresses are taken not to wrap.

use rustc_hash::FxHashMap;

use crate::kernel::Varies;

/// How many terms a sum may have.
const TERMS: usize = 12;

/// The number of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value(pub u32);

/// The number of an atom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Atom(pub u32);

/// A predicate by its number, or its opposite.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Literal {
    pub predicate: u32,
    pub holds: bool,
}

impl Literal {
    /// The first predicate always holds.
    pub const TRUE: Self = Self { predicate: 0, holds: true };
    pub const FALSE: Self = Self { predicate: 0, holds: false };

    pub fn opposite(self) -> Self {
        Self { holds: !self.holds, ..self }
    }

    /// The same where `holds` is true, the opposite otherwise.
    pub fn if_(self, holds: bool) -> Self {
        if holds { self } else { self.opposite() }
    }
}

/// What a register holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Content {
    /// Nothing has been written.
    Unset,
    Value(Value),
    Literal(Literal),
}

/// What comes to a block in a register, and what holds where it comes, by block and register.
pub type Meetings = FxHashMap<(usize, usize), Vec<(Content, Literal)>>;

/// A sum.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Sum {
    /// In the order of the atoms; no factor is 0.
    pub terms: Vec<(Atom, i64)>,
    pub constant: i64,
}

impl Sum {
    /// The sum and another one, times a number.
    pub fn plus(&self, other: &Self, factor: i64) -> Self {
        let mut terms = self.terms.clone();
        for (atom, number) in &other.terms {
            let number = number.wrapping_mul(factor);
            match terms.binary_search_by_key(atom, |(own, _)| *own) {
                Ok(index) => terms[index].1 = terms[index].1.wrapping_add(number),
                Err(index) => terms.insert(index, (*atom, number)),
            }
        }
        terms.retain(|(_, number)| *number != 0);
        Self { terms, constant: self.constant.wrapping_add(other.constant.wrapping_mul(factor)) }
    }
}

/// What is known of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    pub low: i64,
    pub high: i64,
    /// The bits that may be set.
    pub mask: u64,
    /// The innermost block of a loop that it depends on.
    pub block: Option<usize>,
}

impl Facts {
    pub const UNKNOWN: Self = Self { low: i64::MIN, high: i64::MAX, mask: u64::MAX, block: None };

    pub fn range(low: i64, high: i64) -> Self {
        let mask = if low >= 0 { ones(64 - high.max(0).leading_zeros()) } else { u64::MAX };
        Self { low, high, mask, block: None }
    }
}

/// What an atom is.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum What {
    /// The address of a symbol.
    Symbol(usize),
    /// What the `tcgen05.alloc` gives that writes to this address.
    Allocation(Value),
    /// A special register.
    Special(String),
    /// A parameter of the kernel: its symbol, where, and how many bytes.
    Param(usize, i64, u64),
    /// Some bits of a value: the lowest, and how many.
    Field(Value, u32, u32),
    /// One of two.
    Select(Literal, Value, Value),
    /// The value of one lane of the warp.
    Shuffle(Value),
    /// How far the same place in another CTA is away.
    Remote(Option<Value>),
    /// What an instruction computes of values.
    Computed(u32, Vec<Value>),
    /// What an instruction computes of a predicate and others.
    Chosen(u32, Vec<Content>),
    /// Values that meet at a block, of a register.
    Phi(usize, usize),
    /// A result of an instruction, loaded from an address if there is one.
    Result(usize, usize, Option<Value>),
    /// What a register holds that nothing writes.
    Unset(usize),
}

/// What a predicate says.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Says {
    All(Vec<Literal>),
    Within(Value, i64, i64),
    /// One thread of the warp is elected, of those of a mask.
    Elected(Value),
    /// What an instruction says of values.
    Computed(u32, Vec<Content>),
    Phi(usize, usize),
    /// A wait on an mbarrier has succeeded, or another result of an instruction.
    Result(usize, usize),
    Unset(usize),
}

/// Atoms, values and predicates.
#[derive(Debug)]
pub struct Terms {
    pub atoms: Vec<(What, Facts)>,
    atom_numbers: FxHashMap<What, Atom>,
    pub values: Vec<(Sum, Facts)>,
    value_numbers: FxHashMap<Sum, Value>,
    pub predicates: Vec<(Says, Option<usize>)>,
    predicate_numbers: FxHashMap<Says, u32>,
    words: FxHashMap<String, u32>,
    word_list: Vec<String>,
    /// The depth of each block in the dominator tree.
    depths: Vec<usize>,
    /// Which threads have different ones, of atoms and of predicates, as far as it is known.
    atoms_vary: Vec<Varies>,
    predicates_vary: Vec<Varies>,
    /// Whether the threads of a CTA have one dimension.
    is_flat: bool,
}

pub fn ones(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

/// The number in as many bits, with its sign.
pub fn wrapped(number: i64, bits: u32) -> i64 {
    if bits >= 64 || bits == 0 { number } else { number << (64 - bits) >> (64 - bits) }
}

/// By what a product with a constant divides that is shifted to the right by 32 and by `shift`, if by anything. Small values have
/// 31 bits.
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

impl Terms {
    pub fn new(depths: Vec<usize>, is_flat: bool) -> Self {
        let mut terms = Self {
            atoms: Vec::new(),
            atom_numbers: FxHashMap::default(),
            values: Vec::new(),
            value_numbers: FxHashMap::default(),
            predicates: Vec::new(),
            predicate_numbers: FxHashMap::default(),
            words: FxHashMap::default(),
            word_list: Vec::new(),
            depths,
            atoms_vary: Vec::new(),
            predicates_vary: Vec::new(),
            is_flat,
        };
        terms.predicate(Says::All(Vec::new()), None);
        terms
    }

    pub fn word(&mut self, word: &str) -> u32 {
        if let Some(number) = self.words.get(word) {
            return *number;
        }
        let number = self.words.len() as u32;
        self.words.insert(word.into(), number);
        self.word_list.push(word.into());
        number
    }

    pub fn word_of(&self, number: u32) -> &str {
        self.word_list.get(number as usize).map_or("", |word| word)
    }

    /// Of two blocks of loops that both dominate a place, the inner one.
    pub fn inner(&self, a: Option<usize>, b: Option<usize>) -> Option<usize> {
        let depth = |block: usize| self.depths.get(block).copied().unwrap_or(0);
        match (a, b) {
            (Some(a), Some(b)) => Some(if depth(a) >= depth(b) { a } else { b }),
            (one, other) => one.or(other),
        }
    }

    // Making.

    pub fn atom(&mut self, what: What, facts: Facts) -> Value {
        self.varying(what, facts, Varies::Thread)
    }

    /// An atom of which only its maker knows which threads have different ones.
    pub fn varying(&mut self, what: What, facts: Facts, varies: Varies) -> Value {
        let atom = match self.atom_numbers.get(&what) {
            Some(atom) => *atom,
            None => {
                let atom = Atom(self.atoms.len() as u32);
                self.atoms_vary.push(self.derived(&what).unwrap_or(varies));
                self.atoms.push((what.clone(), facts));
                self.atom_numbers.insert(what, atom);
                atom
            }
        };
        self.value(Sum { terms: vec![(atom, 1)], constant: 0 })
    }

    pub fn value(&mut self, sum: Sum) -> Value {
        if let Some(value) = self.value_numbers.get(&sum) {
            return *value;
        }
        let facts = self.facts_of(&sum);
        let value = Value(self.values.len() as u32);
        self.values.push((sum.clone(), facts));
        self.value_numbers.insert(sum, value);
        value
    }

    /// The value of a sum without a number, if there is one.
    pub fn find(&self, terms: &[(Atom, i64)]) -> Option<Value> {
        self.value_numbers.get(&Sum { terms: terms.to_vec(), constant: 0 }).copied()
    }

    pub fn constant(&mut self, constant: i64) -> Value {
        self.value(Sum { terms: Vec::new(), constant })
    }

    pub fn predicate(&mut self, says: Says, block: Option<usize>) -> Literal {
        self.varying_predicate(says, block, Varies::No)
    }

    /// A predicate of which only its maker knows which threads have different ones.
    pub fn varying_predicate(&mut self, says: Says, block: Option<usize>, varies: Varies) -> Literal {
        let predicate = match self.predicate_numbers.get(&says) {
            Some(number) => *number,
            None => {
                let number = self.predicates.len() as u32;
                self.predicates_vary.push(self.derived_predicate(&says).unwrap_or(varies));
                self.predicates.push((says.clone(), block));
                self.predicate_numbers.insert(says, number);
                number
            }
        };
        Literal { predicate, holds: true }
    }

    // Asking.

    pub fn sum(&self, value: Value) -> &Sum {
        &self.values[value.0 as usize].0
    }

    pub fn facts(&self, value: Value) -> Facts {
        self.values[value.0 as usize].1
    }

    pub fn known(&self, value: Value) -> Option<i64> {
        let sum = self.sum(value);
        sum.terms.is_empty().then_some(sum.constant)
    }

    /// The atom that a value is.
    pub fn only(&self, value: Value) -> Option<&What> {
        match self.sum(value) {
            Sum { terms, constant: 0 } => match terms[..] {
                [(atom, 1)] => Some(&self.atoms[atom.0 as usize].0),
                _ => None,
            },
            _ => None,
        }
    }

    pub fn what(&self, atom: Atom) -> &What {
        &self.atoms[atom.0 as usize].0
    }

    fn facts_of(&self, sum: &Sum) -> Facts {
        if let (&[(atom, 1)], 0) = (&sum.terms[..], sum.constant) {
            return self.atoms[atom.0 as usize].1;
        }
        let (mut low, mut high) = (i128::from(sum.constant), i128::from(sum.constant));
        let mut masks = vec![sum.constant.cast_unsigned()];
        let mut block = None;
        for (atom, factor) in &sum.terms {
            let facts = self.atoms[atom.0 as usize].1;
            let ends = [facts.low, facts.high].map(|end| i128::from(end) * i128::from(*factor));
            low = low.saturating_add(ends[0].min(ends[1]));
            high = high.saturating_add(ends[0].max(ends[1]));
            let shift = factor.trailing_zeros();
            let shifted = facts.mask.checked_shl(shift).unwrap_or(0);
            masks.push(if factor.count_ones() == 1 { shifted } else { !ones(shifted.trailing_zeros()) });
            block = self.inner(block, facts.block);
        }
        let zeros = masks.iter().map(|mask| mask.trailing_zeros()).min().unwrap_or(0);
        let (Ok(low), Ok(high)) = (i64::try_from(low), i64::try_from(high)) else {
            return Facts { block, mask: !ones(zeros), ..Facts::UNKNOWN };
        };
        let mut all = 0u64;
        let disjoint = masks.iter().all(|mask| {
            let is_new = all & mask == 0;
            all |= mask;
            is_new
        });
        let range = Facts::range(low, high);
        let mask = if disjoint && low >= 0 { all & range.mask } else { range.mask & !ones(zeros) };
        Facts { low, high, mask, block }
    }

    fn block_of(&self, values: &[Value]) -> Option<usize> {
        values.iter().fold(None, |block, value| self.inner(block, self.facts(*value).block))
    }

    fn block_of_literal(&self, literal: Literal) -> Option<usize> {
        self.predicates[literal.predicate as usize].1
    }

    pub fn block_of_contents(&self, contents: &[Content]) -> Option<usize> {
        contents.iter().fold(None, |block, content| {
            self.inner(
                block,
                match content {
                    Content::Unset => None,
                    Content::Value(value) => self.facts(*value).block,
                    Content::Literal(literal) => self.block_of_literal(*literal),
                },
            )
        })
    }

    // Computing.

    /// Something that an instruction computes of values, of which no more is known than its facts.
    pub fn computed(&mut self, word: &str, values: &[Value], facts: Facts) -> Value {
        let block = self.block_of(values);
        let word = self.word(word);
        self.atom(What::Computed(word, values.to_vec()), Facts { block, ..facts })
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
            return self.computed(if factor == 1 { "add" } else { "sub" }, &[a, b], Facts::UNKNOWN);
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

    /// Bits of a value without the upper ones of them, as `(x & 31) - (x >> 4 & 1) * 16`: the rest of the sum, the bits that are left,
    /// and their factor.
    fn lower_bits(&self, sum: &Sum) -> Option<(Sum, Value, u32, u32, i64)> {
        let fields = || {
            sum.terms.iter().filter_map(|(atom, factor)| match *self.what(*atom) {
                What::Field(value, low, bits) => Some((*atom, *factor, value, low, bits)),
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

    /// What is divided, and by what, in a shifted product and its sign, which compilers add for what may be negative. An index is not.
    fn divided_with_sign(&self, sum: &Sum) -> Option<(Value, i64)> {
        let &[(a, 1), (b, 1)] = &sum.terms[..] else { return None };
        let shifted = |quotient: Atom, sign: Atom| match (self.what(quotient), self.what(sign)) {
            (What::Computed(word, of), &What::Field(signed, 31, 1)) if self.word_of(*word) == "sar" => {
                let &[product, shift] = &of[..] else { return None };
                Some((product, u32::try_from(self.known(shift)?).ok()?)).filter(|_| product == signed)
            }
            _ => None,
        };
        let (product, shift) =
            shifted(a, b).or_else(|| shifted(b, a)).filter(|(_, shift)| sum.constant == 0 && *shift < 31)?;
        // Of a negative constant the factor itself is added, as it stands for one that is larger by 2^32.
        let upper = |atom: Atom| match self.what(atom) {
            What::Computed(word, of) if self.word_of(*word) == "mulhi.s" => {
                Some((*of.first()?, self.known(*of.get(1)?)?))
            }
            _ => None,
        };
        let terms = &self.sum(product).terms;
        let (atom, (dividend, by)) =
            terms.iter().find_map(|(atom, factor)| Some((*atom, upper(*atom).filter(|_| *factor == 1)?)))?;
        let rest = self.sum(product).plus(&Sum { terms: vec![(atom, 1)], constant: 0 }, -1);
        let by = by.cast_unsigned() & ones(32);
        let is_whole = if by >> 31 == 1 { rest == *self.sum(dividend) } else { rest == Sum::default() };
        Some((dividend, divisor(by.cast_signed(), shift, true).filter(|_| is_whole)?))
    }

    /// The quotient in a sum that stands with its dividend, as `x - x / 3 * 3`: the dividend, the divisor, and the factor.
    fn remainder(&self, sum: &Sum) -> Option<(Value, i64, i64)> {
        sum.terms.iter().find_map(|(atom, factor)| {
            let (value, by) = self.quotient(*atom)?;
            let times = (factor % by == 0).then(|| (factor / by).wrapping_neg())?;
            let is_there = |(own, number): &(Atom, i64)| sum.terms.contains(&(*own, number.wrapping_mul(times)));
            let dividend = self.sum(value);
            (!dividend.terms.is_empty() && dividend.terms.iter().all(is_there)).then_some((value, by, times))
        })
    }

    fn with_remainder(&mut self, sum: &Sum, value: Value, by: i64, times: i64) -> Value {
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
                self.computed("rem", &[value, divisor], Facts::range(0, by - 1))
            }
        };
        let remainder = self.scale(remainder, times, 64);
        self.add(left, remainder, 64)
    }

    /// What is divided, and by what, of an atom that is a quotient.
    fn quotient(&self, atom: Atom) -> Option<(Value, i64)> {
        match self.what(atom) {
            What::Computed(word, values) if self.word_of(*word) == "div" => {
                let &[value, by] = &values[..] else { return None };
                Some((value, self.known(by).filter(|by| *by > 1)?))
            }
            // A shift divides, if no bit is lost above.
            What::Field(value, low @ 1..32, bits) => {
                let facts = self.facts(*value);
                (facts.low >= 0 && facts.high >> low <= ones(*bits).cast_signed().max(0)).then_some((*value, 1 << low))
            }
            _ => None,
        }
    }

    /// A quotient of what is not negative.
    pub fn divided(&mut self, value: Value, by: i64) -> Value {
        if let Some(number) = self.known(value).filter(|number| *number >= 0) {
            return self.constant(number / by);
        }
        let facts = self.facts(value);
        let facts = match facts.low >= 0 {
            true => Facts::range(facts.low / by, facts.high / by),
            false => Facts::range(0, i64::from(u32::MAX) / by),
        };
        let divisor = self.constant(by);
        self.computed("div", &[value, divisor], facts)
    }

    /// The upper half of a product of 64 bits, of 32 bits without sign and a constant, if it is a quotient.
    pub fn multiplied_higher(&mut self, value: Value, by: i64) -> Option<Value> {
        let (by, power) = (u128::from(by.cast_unsigned()), 1u128 << 64);
        let divisor = power.checked_div(by)? + u128::from(!power.is_multiple_of(by));
        let is_exact = by * divisor - power <= 1 << 32;
        let divisor = i64::try_from(divisor).ok().filter(|divisor| is_exact && *divisor > 1)?;
        Some(self.divided(value, divisor))
    }

    /// The upper half of a product of 32 bits with a constant.
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
        let facts = match facts.low >= 0 && facts.high <= i64::from(u32::MAX) && (!is_signed || by < 1 << 31) {
            true => Facts::range(0, ((i128::from(facts.high) * i128::from(by)) >> 32) as i64),
            false => Facts::UNKNOWN,
        };
        let by = self.constant(by);
        self.computed(if is_signed { "mulhi.s" } else { "mulhi.u" }, &[value, by], facts)
    }

    pub fn scale(&mut self, value: Value, factor: i64, bits: u32) -> Value {
        let sum = self.sum(value);
        let scaled = |number: i64| wrapped(number.wrapping_mul(factor), bits);
        let terms = sum.terms.iter().map(|(atom, number)| (*atom, scaled(*number)));
        let sum = Sum { terms: terms.filter(|(_, number)| *number != 0).collect(), constant: scaled(sum.constant) };
        self.value(sum)
    }

    pub fn multiply(&mut self, a: Value, b: Value, bits: u32) -> Value {
        match (self.known(a), self.known(b)) {
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
                self.computed("mul", &pair, facts)
            }
        }
    }

    /// The `bits` bits from bit `low` on.
    pub fn field(&mut self, value: Value, low: u32, bits: u32) -> Value {
        if let Some(number) = self.known(value) {
            return self.constant(((number.cast_unsigned().checked_shr(low).unwrap_or(0)) & ones(bits)).cast_signed());
        }
        if bits == 0 || low >= 64 {
            return self.constant(0);
        }
        let is_above = |factor: i64| low + bits < 64 && factor.trailing_zeros() >= low + bits;
        let (sum, mut upper, mut lower) = (self.sum(value).clone(), Sum::default(), Sum::default());
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
        // What is above in the number is left out, if the rest does not reach as far.
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
        // Of a multiple it is one of what is multiplied.
        let power = kept.terms.iter().map(|(_, factor)| *factor).chain([kept.constant]);
        let power = power.map(i64::trailing_zeros).fold(low, u32::min);
        if power > 0 {
            let terms = kept.terms.into_iter().map(|(atom, factor)| (atom, factor >> power)).collect();
            let value = self.value(Sum { terms, constant: kept.constant >> power });
            return self.field(value, low - power, bits);
        }
        let value = self.value(kept);
        let facts = self.facts(value);
        // Bits above the highest that may be set tell nothing.
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
        if let Some(What::Computed(word, values)) = self.only(value)
            && let &[dividend, by] = &values[..]
            && let Some(by) = self.known(by)
            && low < 31
        {
            let small = self.facts(dividend);
            let is_small = small.low >= 0 && small.high < 1 << 31;
            let divisor = match self.word_of(*word) {
                "mulhi.u" => divisor(by, low, is_small),
                "mulhi.s" if is_small => divisor(by, low, true),
                _ => None,
            };
            if let Some(divisor) = divisor {
                let quotient = self.divided(dividend, divisor);
                return self.field(quotient, 0, bits);
            }
        }
        if let Some(&What::Field(inner, inner_low, inner_bits)) = self.only(value) {
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
        self.atom(What::Field(value, low, bits), Facts { low: 0, high, mask, block: facts.block })
    }

    /// What is divided, and by what, in `(x - y) / 2 + y` that is shifted to the right by so many bits, where `y` is the upper half of
    /// the product of `x` and a constant: so compilers divide 32 bits where the constant would need 33.
    fn divided_by_halves(&mut self, value: Value, shift: u32) -> Option<(Value, i64)> {
        let sum = self.sum(value);
        let &[(a, 1), (b, 1)] = &sum.terms[..] else { return None };
        let halves = |half: Atom, upper: Atom| match (self.what(half), self.what(upper)) {
            (What::Field(apart, 1, 31), What::Computed(word, of)) if self.word_of(*word) == "mulhi.u" => {
                let &[dividend, by] = &of[..] else { return None };
                let is_apart =
                    self.sum(dividend).plus(&Sum { terms: vec![(upper, 1)], constant: 0 }, -1) == *self.sum(*apart);
                Some((dividend, self.known(by).filter(|_| is_apart)?))
            }
            _ => None,
        };
        let (dividend, by) = halves(a, b).or_else(|| halves(b, a)).filter(|_| sum.constant == 0 && shift < 31)?;
        Some((dividend, divisor(by + (1 << 32), shift + 1, false)?))
    }

    /// A value that is shifted, with something added behind the shift: what is shifted, by how much, and what is added.
    fn shifted(&mut self, value: Value) -> Option<(Value, u32, Value)> {
        let sum = self.sum(value);
        if sum.terms.len() == 1 && sum.constant == 0 {
            return None;
        }
        let (atom, inner, low) = sum.terms.iter().find_map(|(atom, factor)| match self.what(*atom) {
            What::Field(inner, low @ 1..32, bits) if *factor == 1 => {
                let facts = self.facts(*inner);
                let is_whole = facts.low >= 0 && facts.high >> low <= ones(*bits).min(i64::MAX as u64).cast_signed();
                is_whole.then_some((*atom, *inner, *low))
            }
            _ => None,
        })?;
        let rest = sum.plus(&Sum { terms: vec![(atom, 1)], constant: 0 }, -1);
        Some((inner, low, self.value(rest)))
    }

    pub fn and(&mut self, a: Value, b: Value, bits: u32) -> Value {
        let (a, b) = if self.known(a).is_some() { (b, a) } else { (a, b) };
        let Some(mask) = self.known(b) else {
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
            return self.computed("and", &[a.min(b), a.max(b)], facts);
        };
        let mask = mask.cast_unsigned() & ones(bits);
        if let Some(number) = self.known(a) {
            return self.constant(wrapped((number.cast_unsigned() & mask).cast_signed(), bits));
        }
        // The first CTA of a pair is found so: its shared memory is that whose addresses have no bit 24.
        if bits >= 32 && mask >> 24 == 0xfe {
            let kept = self.constant(wrapped((mask | 1 << 24).cast_signed(), 32));
            let a = self.and(a, kept, 32);
            let remote = self.atom(What::Remote(None), Facts::UNKNOWN);
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
        // Bits that are never set may as well be kept.
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
        let and = self.computed("and", &[inner, known], facts);
        self.scale(and, 1 << zeros, 64)
    }

    pub fn or(&mut self, a: Value, b: Value, bits: u32) -> Value {
        if let (Some(a), Some(b)) = (self.known(a), self.known(b)) {
            return self.constant(wrapped(a | b, bits));
        }
        if a == b {
            return a;
        }
        self.disjoint(a, b, bits).unwrap_or_else(|| self.mixed("or", a, b))
    }

    pub fn xor(&mut self, a: Value, b: Value, bits: u32) -> Value {
        if let (Some(a), Some(b)) = (self.known(a), self.known(b)) {
            return self.constant(wrapped(a ^ b, bits));
        }
        if a == b {
            return self.constant(0);
        }
        self.disjoint(a, b, bits).unwrap_or_else(|| self.mixed("xor", a, b))
    }

    /// The sum of values that have no bit in common.
    fn disjoint(&mut self, a: Value, b: Value, bits: u32) -> Option<Value> {
        (self.facts(a).mask & self.facts(b).mask == 0).then(|| self.add(a, b, bits))
    }

    fn mixed(&mut self, word: &str, a: Value, b: Value) -> Value {
        let (x, y) = (self.facts(a), self.facts(b));
        let mask = x.mask | y.mask;
        let facts = if x.low >= 0 && y.low >= 0 {
            Facts { mask, ..Facts::range(0, mask.min(i64::MAX.cast_unsigned()).cast_signed()) }
        } else {
            Facts::UNKNOWN
        };
        self.computed(word, &[a.min(b), a.max(b)], facts)
    }

    /// The value in a register of so many bits. It is taken to fit.
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
                self.atom(What::Select(literal, a, b), facts)
            }
        }
    }

    // Predicates.

    /// What is left of the range of a value where a literal holds; none if the literal cannot hold.
    pub fn narrowed_by(&self, range: (i64, i64), value: Value, literal: Literal) -> Option<(i64, i64)> {
        let Says::Within(tested, low, high) = &self.predicates[literal.predicate as usize].0 else {
            return Some(range);
        };
        // What is tested may differ from the value by a number.
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
                Says::All(inner) if literal.holds => list.extend(inner),
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
        self.predicate(Says::All(list), block)
    }

    pub fn any(&mut self, literals: &[Literal]) -> Literal {
        let opposites: Vec<_> = literals.iter().map(|literal| literal.opposite()).collect();
        self.all(&opposites).opposite()
    }

    /// Whether a value is within a range.
    pub fn within(&mut self, value: Value, low: i64, high: i64) -> Literal {
        let sum = self.sum(value).clone();
        if let &[(atom, factor)] = &sum.terms[..]
            && let What::Select(literal, a, b) = self.what(atom).clone()
            && let (Some(a), Some(b)) = (self.known(a), self.known(b))
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
        // Tests of `n` and of `n + 64` are of one value.
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
        // One number for a test and its opposite.
        if high == facts.high {
            return self.predicate(Says::Within(value, facts.low, low - 1), facts.block).opposite();
        }
        self.predicate(Says::Within(value, low, high), facts.block)
    }

    // Which threads have different ones.

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

    fn derived(&self, what: &What) -> Option<Varies> {
        let all = |values: &[Value]| values.iter().map(|value| self.varies(*value)).max().unwrap_or(Varies::No);
        Some(match what {
            What::Symbol(_) | What::Allocation(_) | What::Param(..) | What::Unset(_) => Varies::No,
            What::Special(name) if name.starts_with("tid") || name.starts_with("lane") => Varies::Thread,
            What::Special(name) if name == "warpid" => Varies::Warp,
            What::Special(_) => Varies::No,
            What::Field(value, low, _) if *low >= 5 && self.is_flat && self.is_thread(*value) => Varies::Warp,
            What::Field(value, ..) => self.varies(*value),
            What::Select(literal, a, b) => all(&[*a, *b]).max(self.literal_varies(*literal)),
            What::Shuffle(value) => self.varies(*value).min(Varies::Warp),
            What::Remote(value) => value.map_or(Varies::No, |value| self.varies(value)),
            What::Computed(_, values) => all(values),
            What::Chosen(_, contents) => {
                contents.iter().map(|content| self.content_varies(*content)).max().unwrap_or(Varies::No)
            }
            What::Result(_, _, Some(address)) => self.varies(*address),
            What::Phi(..) | What::Result(_, _, None) => return None,
        })
    }

    fn derived_predicate(&self, says: &Says) -> Option<Varies> {
        Some(match says {
            Says::All(list) => list.iter().map(|own| self.literal_varies(*own)).max().unwrap_or(Varies::No),
            Says::Within(value, low, high) => {
                let whole_warps = (*low == i64::MIN || low % 32 == 0) && (*high == i64::MAX || (high + 1) % 32 == 0);
                let is_thread = match self.only(*value) {
                    Some(What::Field(inner, 0, bits)) => *bits >= 5 && self.is_thread(*inner),
                    _ => self.is_thread(*value),
                };
                if whole_warps && is_thread && self.is_flat { Varies::Warp } else { self.varies(*value) }
            }
            Says::Elected(_) => Varies::Thread,
            Says::Computed(_, contents) => {
                contents.iter().map(|content| self.content_varies(*content)).max().unwrap_or(Varies::No)
            }
            Says::Phi(..) | Says::Result(..) | Says::Unset(_) => return None,
        })
    }

    /// Whether it is the number of the thread in its CTA.
    pub fn is_thread(&self, value: Value) -> bool {
        matches!(self.only(value), Some(What::Special(name)) if name == "tid.x")
    }

    /// Whether threads are numbered by one register.
    pub fn is_flat(&self) -> bool {
        self.is_flat
    }

    /// Finds what varies where values meet that come from behind: each place has the contents that meet there.
    pub fn settle(&mut self, meetings: &Meetings) {
        for index in 0..self.atoms.len() {
            if !matches!(self.atoms[index].0, What::Result(_, _, None)) {
                self.atoms_vary[index] = Varies::No;
            }
        }
        for index in 0..self.predicates.len() {
            if !matches!(self.predicates[index].0, Says::Result(..)) {
                self.predicates_vary[index] = Varies::No;
            }
        }
        let mut changed = true;
        while changed {
            changed = false;
            for index in 0..self.atoms.len() {
                let what = &self.atoms[index].0;
                let now = match what {
                    What::Phi(block, register) => meetings.get(&(*block, *register)).map(|met| self.meet(met)),
                    what => self.derived(what),
                };
                if let Some(now) = now {
                    changed |= std::mem::replace(&mut self.atoms_vary[index], now) != now;
                }
            }
            for index in 0..self.predicates.len() {
                let now = match &self.predicates[index].0 {
                    Says::Phi(block, register) => meetings.get(&(*block, *register)).map(|met| self.meet(met)),
                    says => self.derived_predicate(says),
                };
                if let Some(now) = now {
                    changed |= std::mem::replace(&mut self.predicates_vary[index], now) != now;
                }
            }
        }
    }

    fn meet(&self, contents: &[(Content, Literal)]) -> Varies {
        contents.iter().map(|(content, _)| self.content_varies(*content)).max().unwrap_or(Varies::No)
    }
}
