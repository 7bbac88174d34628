//! Values as terms over the unknown values of a thread: bit-vectors of 1 to 64 bits. Equal terms are stored once.
//!
//! Sums are stored as sums of multiples, modulo 2 to the power of the width, so that the common part of two threads
//! cancels.

use std::hash::BuildHasher;

use ptx_isa::Special;
use rustc_hash::{FxBuildHasher, FxHashMap};

/// The index of a term in [`Terms`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Term(u32);

/// The threads that share the value of a [`Leaf`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Shared {
    /// Every thread of the grid.
    Grid,
    /// Every thread of the CTA.
    Cta,
    /// The thread alone.
    Thread,
}

/// An unknown value, which may have an upper bound.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Leaf {
    /// The meaning of the value.
    pub name: LeafName,
    /// The threads that share the value.
    pub shared: Shared,
    /// The number of the thread in a question about two threads; 0 before a thread is assigned.
    pub thread: u32,
}

/// The meaning of a [`Leaf`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum LeafName {
    /// `%tid`, in one direction.
    Tid(u8),
    /// `%ntid`
    Ntid(u8),
    /// `%ctaid`
    Ctaid(u8),
    /// `%nctaid`
    Nctaid(u8),
    /// The value at this offset in bytes in a parameter, which is given by the number of its symbol.
    Parameter(usize, i64),
    /// The address of a variable.
    Variable(usize),
    /// Another special register.
    Special(Special),
    /// The position of the shared memory of a CTA in the window of shared memory.
    SharedWindow,
    /// The index of the CTA, as one number.
    Cta,
    /// The iteration number of a loop, by the header block and the walk.
    Round(usize, u32),
    /// An arbitrary value, created by an instruction or a loop; each has a distinct number.
    Any(u32),
}

/// An operation on two terms of the same width.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Binary {
    Mul,
    And,
    Or,
    Xor,
    /// Shifts by the width or more are defined by the manual (section 9.7.8).
    Shl,
    ShrUnsigned,
    ShrSigned,
    /// Divisions by zero give all ones.
    DivUnsigned,
    RemUnsigned,
    DivSigned,
    RemSigned,
}

/// The operation of a term.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Node {
    /// A number.
    Constant(u64),
    /// An unknown value.
    Leaf(Leaf),
    /// A constant and multiples of terms of the same width.
    Sum(u64, Vec<(u64, Term)>),
    /// An operation on two terms.
    Binary(Binary, Term, Term),
    /// Whether both terms are equal, in one bit.
    Equal(Term, Term),
    /// Whether the first term is less, as unsigned numbers, in one bit.
    LessUnsigned(Term, Term),
    /// Whether the first term is less, as signed numbers, in one bit.
    LessSigned(Term, Term),
    /// The second term if the first, of one bit, holds; otherwise the third.
    If(Term, Term, Term),
    /// The bits of a term from a position on.
    Extract(Term, u32),
    /// A zero extension.
    Zeros(Term),
    /// A sign extension.
    Signs(Term),
    /// An uninterpreted function, given by its number, of operands.
    Function(u32, Vec<Term>),
}

/// A term, with cached facts.
#[derive(Debug)]
struct Entry {
    node: Node,
    bits: u32,
    /// The bits that may be set.
    most: u64,
    /// The number of terms on the longest path to a leaf.
    depth: u32,
    /// Another term with the same hash.
    next: Option<Term>,
}

/// All terms.
#[derive(Debug, Default)]
pub struct Terms {
    entries: Vec<Entry>,
    /// The upper bounds of leaves, if known.
    limits: FxHashMap<LeafName, u64>,
    /// The last term with a hash.
    known: FxHashMap<u64, Term>,
    functions: FxHashMap<String, u32>,
    /// Caches of extracted and widened terms: terms share parts, which are processed once.
    extracted: FxHashMap<(Term, u32, u32), Term>,
    widened: FxHashMap<(Term, u32, bool), Term>,
    fresh: u32,
}

/// The largest number of parts of a sum that are merged into another sum.
const LONG: usize = 64;
/// The largest depth to which a narrowed or widened term is rebuilt.
const DEEP: u32 = 500;

/// A number with the low `bits` bits set.
pub fn ones(bits: u32) -> u64 {
    u64::MAX >> (64 - bits.clamp(1, 64))
}

fn gcd(a: u64, b: u64) -> u64 {
    if b == 0 { a } else { gcd(b, a % b) }
}

/// The parts that a sum adds, and the parts that it subtracts.
fn sides(parts: Vec<(u64, Term)>, bits: u32) -> [Vec<(u64, Term)>; 2] {
    let (left, right): (Vec<_>, Vec<_>) = parts.into_iter().partition(|(factor, _)| *factor <= ones(bits) / 2);
    let right = right.into_iter().map(|(factor, term)| (factor.wrapping_neg() & ones(bits), term)).collect();
    [left, right]
}

fn signed(value: u64, bits: u32) -> i64 {
    (value << (64 - bits)) as i64 >> (64 - bits)
}

impl Terms {
    /// The operation of a term.
    pub fn node(&self, term: Term) -> &Node {
        &self.entries[term.0 as usize].node
    }

    /// The width of a term in bits.
    pub fn bits(&self, term: Term) -> u32 {
        self.entries[term.0 as usize].bits
    }

    /// The number of terms.
    pub fn count(&self) -> usize {
        self.entries.len()
    }

    fn make(&mut self, node: Node, bits: u32) -> Term {
        let hash = FxBuildHasher.hash_one((&node, bits));
        let last = self.known.get(&hash).copied();
        let mut same = std::iter::successors(last, |term| self.entries[term.0 as usize].next);
        let is_it = |term: &Term| self.bits(*term) == bits && *self.node(*term) == node;
        if let Some(known) = same.find(is_it) {
            return known;
        }
        let term = Term(self.entries.len() as u32);
        let most = self.most_of(&node, bits);
        let below = operands(&node).into_iter().map(|of| self.entries[of.0 as usize].depth);
        let depth = below.max().unwrap_or(0).saturating_add(1);
        self.entries.push(Entry { node, bits, most, depth, next: last });
        self.known.insert(hash, term);
        term
    }

    /// A constant, truncated to the low bits.
    pub fn constant(&mut self, value: u64, bits: u32) -> Term {
        self.make(Node::Constant(value & ones(bits)), bits)
    }

    /// A constant of one bit.
    pub fn truth(&mut self, holds: bool) -> Term {
        self.constant(holds.into(), 1)
    }

    /// The value of a term, if it is a constant.
    pub fn value(&self, term: Term) -> Option<u64> {
        match self.node(term) {
            Node::Constant(value) => Some(*value),
            _ => None,
        }
    }

    /// Sets the upper bound of a leaf for all threads. Call it before the first use of the leaf.
    pub fn limit(&mut self, name: LeafName, most: u64) {
        self.limits.insert(name, most);
    }

    /// An unknown value.
    pub fn leaf(&mut self, name: LeafName, shared: Shared, bits: u32) -> Term {
        self.make(Node::Leaf(Leaf { name, shared, thread: 0 }), bits)
    }

    /// A fresh unknown value, independent of every other value.
    pub fn any(&mut self, shared: Shared, bits: u32) -> Term {
        self.fresh += 1;
        self.leaf(LeafName::Any(self.fresh), shared, bits)
    }

    /// The result of the function with this name. It depends only on the operands.
    pub fn function(&mut self, name: &str, operands: Vec<Term>, bits: u32) -> Term {
        let next = self.functions.len() as u32;
        let number = *self.functions.entry(name.to_owned()).or_insert(next);
        self.make(Node::Function(number, operands), bits)
    }

    /// The operands of a term, if it is a result of the function with this name.
    pub fn operands_of(&self, name: &str, term: Term) -> Option<&[Term]> {
        match self.node(term) {
            Node::Function(number, operands) if self.functions.get(name) == Some(number) => Some(operands),
            _ => None,
        }
    }

    /// A term as a constant and parts. A long sum is one part of a longer sum: copying its parts would take memory that
    /// grows with each addition.
    fn parts(&self, term: Term) -> (u64, Vec<(u64, Term)>) {
        match self.node(term) {
            Node::Constant(value) => (*value, Vec::new()),
            Node::Sum(constant, parts) if parts.len() <= LONG => (*constant, parts.clone()),
            _ => (0, vec![(1, term)]),
        }
    }

    /// A sum of multiples.
    pub fn sum(&mut self, constant: u64, of: &[(u64, Term)], bits: u32) -> Term {
        let mask = ones(bits);
        let mut constant = constant;
        let mut parts: Vec<(u64, Term)> = Vec::new();
        for (factor, term) in of {
            let (own, inner) = self.parts(*term);
            constant = constant.wrapping_add(own.wrapping_mul(*factor));
            parts.extend(inner.into_iter().map(|(inner, term)| (inner.wrapping_mul(*factor), term)));
        }
        parts.sort_by_key(|(_, term)| *term);
        let mut merged: Vec<(u64, Term)> = Vec::with_capacity(parts.len());
        for (factor, term) in parts {
            match merged.last_mut() {
                Some((known, last)) if *last == term => *known = known.wrapping_add(factor),
                _ => merged.push((factor, term)),
            }
        }
        merged.iter_mut().for_each(|(factor, _)| *factor &= mask);
        merged.retain(|(factor, _)| *factor != 0);
        constant &= mask;
        match merged[..] {
            [] => self.constant(constant, bits),
            [(1, term)] if constant == 0 => term,
            _ => self.make(Node::Sum(constant, merged), bits),
        }
    }

    /// The constant of a sum, and the remaining sum.
    pub fn without_constant(&mut self, term: Term) -> (u64, Term) {
        match self.node(term) {
            Node::Constant(value) => {
                let value = *value;
                (value, self.constant(0, self.bits(term)))
            }
            Node::Sum(constant, _) => {
                let (constant, bits) = (*constant, self.bits(term));
                (constant, self.sum(constant.wrapping_neg(), &[(1, term)], bits))
            }
            _ => (0, term),
        }
    }

    /// The sum of two terms.
    pub fn add(&mut self, a: Term, b: Term) -> Term {
        self.sum(0, &[(1, a), (1, b)], self.bits(a))
    }

    /// The difference of two terms.
    pub fn sub(&mut self, a: Term, b: Term) -> Term {
        self.sum(0, &[(1, a), (u64::MAX, b)], self.bits(a))
    }

    /// A multiple of a term.
    pub fn scale(&mut self, factor: u64, of: Term) -> Term {
        self.sum(0, &[(factor, of)], self.bits(of))
    }

    /// The bitwise complement.
    pub fn not(&mut self, a: Term) -> Term {
        let bits = self.bits(a);
        if bits > 1 {
            return self.sum(u64::MAX, &[(u64::MAX, a)], bits);
        }
        match *self.node(a) {
            Node::Constant(value) => self.constant(value ^ 1, 1),
            Node::Equal(of, zero) if self.bits(of) == 1 && self.value(zero) == Some(0) => of,
            _ => {
                let zero = self.constant(0, 1);
                self.make(Node::Equal(a, zero), 1)
            }
        }
    }

    /// The bitwise conjunction.
    pub fn and(&mut self, a: Term, b: Term) -> Term {
        self.binary(Binary::And, a, b)
    }

    /// The conjunction of one-bit terms.
    pub fn all(&mut self, of: impl IntoIterator<Item = Term>) -> Term {
        let truth = self.truth(true);
        of.into_iter().fold(truth, |all, one| self.and(all, one))
    }

    /// The bitwise disjunction.
    pub fn or(&mut self, a: Term, b: Term) -> Term {
        self.binary(Binary::Or, a, b)
    }

    /// The result of an operation on two terms of the same width.
    pub fn binary(&mut self, op: Binary, a: Term, b: Term) -> Term {
        use Binary::*;
        let bits = self.bits(a);
        let mask = ones(bits);
        let (left, right) = (self.value(a), self.value(b));
        if let (Some(x), Some(y)) = (left, right) {
            let value = fold(op, x, y, bits);
            return self.constant(value, bits);
        }
        let (a, b, left, right) = match op {
            Mul | And | Or | Xor if b < a => (b, a, right, left),
            _ => (a, b, left, right),
        };
        // A multiple of a factor becomes a multiple of the product.
        if op == Mul && left.is_none() && right.is_none() {
            for (of, other) in [(a, b), (b, a)] {
                if let Node::Sum(0, parts) = self.node(of)
                    && let [(factor, inner)] = parts[..]
                {
                    let product = self.binary(Mul, inner, other);
                    return self.scale(factor, product);
                }
            }
        }
        let either = left.map(|known| (known, b)).or(right.map(|known| (known, a)));
        match (op, either, right) {
            (Mul, Some((known, other)), _) => return self.scale(known, other),
            (And, Some((0, _)), _) => return self.constant(0, bits),
            (Or, Some((known, _)), _) if known == mask => return self.constant(mask, bits),
            (And, Some((known, other)), _) if known == mask => return other,
            (Or | Xor, Some((0, other)), _) => return other,
            (Xor, Some((known, other)), _) if known == mask => return self.not(other),
            (And | Or, _, _) if a == b => return a,
            (And, _, _) if bits == 1 && self.not(a) == b => return self.constant(0, 1),
            (Or, _, _) if bits == 1 && self.not(a) == b => return self.constant(1, 1),
            (Xor, _, _) if a == b => return self.constant(0, bits),
            (Shl | ShrUnsigned | ShrSigned, _, Some(0)) => return a,
            (Shl, _, Some(by)) if by < u64::from(bits) => return self.scale(1 << by, a),
            (Shl | ShrUnsigned, _, Some(by)) if by >= u64::from(bits) => return self.constant(0, bits),
            (DivUnsigned, _, Some(1)) => return a,
            (DivUnsigned, _, Some(by)) if by.is_power_of_two() => {
                let by = self.constant(by.trailing_zeros().into(), bits);
                return self.binary(ShrUnsigned, a, by);
            }
            (RemUnsigned, _, Some(by)) if by.is_power_of_two() => {
                let low = self.constant(by - 1, bits);
                return self.binary(And, a, low);
            }
            (And, Some((known, other)), _) if self.most(other) & !known == 0 => return other,
            // Terms without common bits are added, so that they can cancel.
            (Or | Xor, _, _) if bits > 1 && self.most(a) & self.most(b) == 0 => return self.add(a, b),
            _ => {}
        }
        self.make(Node::Binary(op, a, b), bits)
    }

    /// A mask that contains every bit that a term may have set.
    pub fn most(&self, term: Term) -> u64 {
        self.entries[term.0 as usize].most
    }

    fn most_of(&self, node: &Node, bits: u32) -> u64 {
        let mask = ones(bits);
        let below = |value: u64| if value == 0 { 0 } else { ones(64 - value.leading_zeros()) };
        match node {
            Node::Constant(value) => *value,
            Node::Leaf(leaf) => self.limits.get(&leaf.name).map_or(mask, |most| below(*most) & mask),
            Node::Zeros(of) => self.most(*of),
            Node::Binary(Binary::And, a, b) => self.most(*a) & self.most(*b),
            Node::Binary(Binary::Or | Binary::Xor, a, b) => self.most(*a) | self.most(*b),
            Node::Binary(Binary::ShrUnsigned, a, b) => match self.value(*b) {
                Some(by) if by < 64 => self.most(*a) >> by,
                _ => mask,
            },
            Node::Binary(Binary::RemUnsigned, _, b) => {
                self.value(*b).filter(|by| *by > 0).map_or(mask, |by| below(by - 1))
            }
            Node::If(_, a, b) => self.most(*a) | self.most(*b),
            Node::Sum(constant, parts) => {
                let mut all = u128::from(*constant);
                let mut low = constant.trailing_zeros();
                for (factor, term) in parts {
                    let most = self.most(*term);
                    all = all.saturating_add(u128::from(*factor) * u128::from(most));
                    low = low.min(factor.trailing_zeros() + most.trailing_zeros());
                }
                let low = if low >= 64 { 0 } else { !0 << low };
                if all > u128::from(mask) { mask & low } else { below(all as u64) & low }
            }
            _ => mask,
        }
    }

    /// Whether two terms of the same width are equal, in one bit.
    pub fn equal(&mut self, a: Term, b: Term) -> Term {
        if a == b {
            return self.truth(true);
        }
        let bits = self.bits(a);
        if bits > 1 {
            // The difference cancels the common parts of both sides.
            let difference = self.sub(a, b);
            if let Some(value) = self.value(difference) {
                return self.truth(value == 0);
            }
            let (constant, parts) = self.parts(difference);
            let low = parts.iter().map(|(factor, _)| factor.trailing_zeros()).min().unwrap_or(0);
            if constant.trailing_zeros() < low {
                return self.truth(false);
            }
            let [mut left, mut right] = sides(parts, bits);
            let mut constant = signed(constant, bits);
            // If the sides do not wrap around, they are numbers, and both are multiples of the common divisor of all
            // parts.
            let most = [constant.max(0), constant.min(0)].map(i64::unsigned_abs);
            let fits = [(&left, most[0]), (&right, most[1])]
                .map(|(side, own)| self.most_of_sum(own, side) <= ones(bits).into());
            let common = left.iter().chain(&right).fold(0, |all, (factor, _)| gcd(all, *factor));
            if fits == [true; 2] && common > 1 {
                if !constant.unsigned_abs().is_multiple_of(common) {
                    return self.truth(false);
                }
                constant /= common.cast_signed();
                left.iter_mut().chain(&mut right).for_each(|(factor, _)| *factor /= common);
            }
            let right_constant = constant.wrapping_neg().cast_unsigned() & ones(bits);
            let (a, b) = (self.sum(0, &left, bits), self.sum(right_constant, &right, bits));
            if let ([(factor, a)], [(other, b)], 0) = (&left[..], &right[..], right_constant)
                && factor == other
                && let Some(narrow) = self.equal_narrow(*factor, *a, *b)
            {
                return narrow;
            }
            if let Some(folded) = self.equal_to_constant(a, b).or_else(|| self.equal_to_constant(b, a)) {
                return folded;
            }
            let (a, b) = if b < a { (b, a) } else { (a, b) };
            return self.make(Node::Equal(a, b), 1);
        }
        match (self.value(a), self.value(b)) {
            (Some(x), Some(y)) => self.truth(x == y),
            (Some(1), None) => b,
            (None, Some(1)) => a,
            (Some(_), None) => self.not(b),
            (None, Some(_)) => self.not(a),
            (None, None) => {
                let (a, b) = if b < a { (b, a) } else { (a, b) };
                self.make(Node::Equal(a, b), 1)
            }
        }
    }

    /// The upper bound of a sum of multiples, without wrap-around.
    fn most_of_sum(&self, constant: u64, parts: &[(u64, Term)]) -> u128 {
        parts.iter().fold(constant.into(), |all, (factor, term)| {
            all.saturating_add(u128::from(*factor) * u128::from(self.most(*term)))
        })
    }

    /// The common divisor of a difference, and the difference divided by it, if neither side exceeds a quarter of all
    /// numbers; otherwise one and the difference itself.
    pub fn divided(&mut self, difference: Term) -> (u64, Term) {
        let bits = self.bits(difference);
        let (constant, parts) = self.parts(difference);
        let [mut left, mut right] = sides(parts, bits);
        let fits = [&left, &right].iter().all(|side| self.most_of_sum(0, side) <= (ones(bits) / 4).into());
        let common = left.iter().chain(&right).fold(0, |all, (factor, _)| gcd(all, *factor));
        if constant != 0 || !fits || common <= 1 {
            return (1, difference);
        }
        left.iter_mut().chain(&mut right).for_each(|(factor, _)| *factor /= common);
        let [left, right] = [left, right].map(|side| self.sum(0, &side, bits));
        (common, self.sub(left, right))
    }

    /// The equality of the same multiples of two widened terms, if it is equivalent to the equality of the narrow
    /// terms.
    fn equal_narrow(&mut self, factor: u64, a: Term, b: Term) -> Option<Term> {
        let (x, y) = match (self.node(a), self.node(b)) {
            (Node::Zeros(x), Node::Zeros(y)) | (Node::Signs(x), Node::Signs(y)) => (*x, *y),
            _ => return None,
        };
        let own = self.bits(x);
        let fits = factor <= 1 << (self.bits(a) - own);
        (own == self.bits(y) && fits).then(|| self.equal(x, y))
    }

    /// Comparisons of terms that compilers generate for conditions: `selp`, and zero-extended words.
    fn equal_to_constant(&mut self, a: Term, b: Term) -> Option<Term> {
        let value = self.value(b)?;
        match *self.node(a) {
            Node::Zeros(of) => {
                if value > ones(self.bits(of)) {
                    return Some(self.truth(false));
                }
                let value = self.constant(value, self.bits(of));
                Some(self.equal(of, value))
            }
            Node::If(condition, x, y) => {
                let (x, y) = (self.value(x)?, self.value(y)?);
                Some(match (x == value, y == value) {
                    (true, true) => self.truth(true),
                    (true, false) => condition,
                    (false, true) => self.not(condition),
                    (false, false) => self.truth(false),
                })
            }
            _ => None,
        }
    }

    /// Whether the first term is less than the second, in one bit.
    pub fn less(&mut self, is_signed: bool, a: Term, b: Term) -> Term {
        let bits = self.bits(a);
        if a == b {
            return self.truth(false);
        }
        match (self.value(a), self.value(b)) {
            (Some(x), Some(y)) if is_signed => return self.truth(signed(x, bits) < signed(y, bits)),
            (Some(x), Some(y)) => return self.truth(x < y),
            (_, Some(0)) if !is_signed => return self.truth(false),
            (_, Some(most)) if !is_signed && self.most(a) < most => return self.truth(true),
            (Some(x), _) if !is_signed && x >= ones(bits) => return self.truth(false),
            _ => {}
        }
        self.make(if is_signed { Node::LessSigned(a, b) } else { Node::LessUnsigned(a, b) }, 1)
    }

    /// The first of two terms if the condition, of one bit, holds; otherwise the second.
    pub fn choose(&mut self, condition: Term, a: Term, b: Term) -> Term {
        if a == b {
            return a;
        }
        if let Some(value) = self.value(condition) {
            return if value == 1 { a } else { b };
        }
        let bits = self.bits(a);
        if bits == 1 {
            match (self.value(a), self.value(b)) {
                (Some(1), Some(_)) => return condition,
                (Some(_), Some(_)) => return self.not(condition),
                (Some(0), None) => {
                    let not = self.not(condition);
                    return self.and(not, b);
                }
                (Some(_), None) => return self.or(condition, b),
                (None, Some(0)) => return self.and(condition, a),
                (None, Some(_)) => {
                    let not = self.not(condition);
                    return self.or(not, a);
                }
                _ => {}
            }
        }
        self.make(Node::If(condition, a, b), bits)
    }

    /// The `bits` bits of a term from the bit `low` on.
    pub fn extract(&mut self, of: Term, low: u32, bits: u32) -> Term {
        let whole = self.bits(of);
        if low == 0 && bits == whole {
            return of;
        }
        if let Some(known) = self.extracted.get(&(of, low, bits)) {
            return *known;
        }
        let new = self.extract_new(of, low, bits);
        self.extracted.insert((of, low, bits), new);
        new
    }

    fn is_deep(&self, term: Term) -> bool {
        self.entries[term.0 as usize].depth > DEEP
    }

    fn extract_new(&mut self, of: Term, low: u32, bits: u32) -> Term {
        match self.node(of).clone() {
            _ if self.is_deep(of) => self.make(Node::Extract(of, low), bits),
            Node::Constant(value) => self.constant(value >> low, bits),
            Node::Zeros(inner) | Node::Signs(inner) if low + bits <= self.bits(inner) => self.extract(inner, low, bits),
            Node::Zeros(inner) if low == 0 && bits > self.bits(inner) => self.widen(inner, bits, false),
            Node::Signs(inner) if low == 0 && bits > self.bits(inner) => self.widen(inner, bits, true),
            Node::Zeros(inner) if low >= self.bits(inner) => self.constant(0, bits),
            // The low bits of a sum are the sum of the low bits.
            Node::Sum(constant, parts) if low == 0 && bits > 1 => {
                let parts: Vec<_> =
                    parts.into_iter().map(|(factor, term)| (factor, self.extract(term, 0, bits))).collect();
                self.sum(constant, &parts, bits)
            }
            Node::Binary(op @ (Binary::And | Binary::Or | Binary::Xor | Binary::Mul), a, b) if low == 0 => {
                let (a, b) = (self.extract(a, 0, bits), self.extract(b, 0, bits));
                self.binary(op, a, b)
            }
            Node::If(condition, a, b) => {
                let (a, b) = (self.extract(a, low, bits), self.extract(b, low, bits));
                self.choose(condition, a, b)
            }
            Node::Extract(inner, at) => self.extract(inner, at + low, bits),
            _ => self.make(Node::Extract(of, low), bits),
        }
    }

    /// A term extended with zeros or sign bits, or truncated to its low bits.
    pub fn widen(&mut self, of: Term, bits: u32, is_signed: bool) -> Term {
        let own = self.bits(of);
        if bits <= own {
            return self.extract(of, 0, bits);
        }
        if let Some(known) = self.widened.get(&(of, bits, is_signed)) {
            return *known;
        }
        let new = self.widen_new(of, bits, is_signed);
        self.widened.insert((of, bits, is_signed), new);
        new
    }

    fn widen_new(&mut self, of: Term, bits: u32, is_signed: bool) -> Term {
        let own = self.bits(of);
        match *self.node(of) {
            _ if self.is_deep(of) => self.make(if is_signed { Node::Signs(of) } else { Node::Zeros(of) }, bits),
            Node::Constant(value) if is_signed => self.constant(signed(value, own) as u64, bits),
            Node::Constant(value) => self.constant(value, bits),
            Node::Zeros(inner) => self.widen(inner, bits, false),
            Node::Signs(inner) if is_signed => self.widen(inner, bits, true),
            Node::If(condition, a, b) if own > 1 && (self.value(a).is_some() || self.value(b).is_some()) => {
                let (a, b) = (self.widen(a, bits, is_signed), self.widen(b, bits, is_signed));
                self.choose(condition, a, b)
            }
            _ if is_signed && self.most(of) >> (own - 1) == 0 => self.widen(of, bits, false),
            // If a sum cannot overflow, its extension is the sum of the extended parts.
            Node::Sum(constant, ref parts) if !is_signed => {
                let parts = parts.clone();
                let most = parts.iter().fold(u128::from(constant), |all, (factor, term)| {
                    all.saturating_add(u128::from(*factor) * u128::from(self.most(*term)))
                });
                if most > u128::from(ones(own)) {
                    return self.make(Node::Zeros(of), bits);
                }
                let parts: Vec<_> =
                    parts.into_iter().map(|(factor, term)| (factor, self.widen(term, bits, false))).collect();
                self.sum(constant, &parts, bits)
            }
            _ if is_signed => self.make(Node::Signs(of), bits),
            _ => self.make(Node::Zeros(of), bits),
        }
    }

    /// The term of one of two threads: each leaf that the threads do not share gets the thread's number.
    pub fn of_thread(&mut self, term: Term, thread: u32, common: Shared, done: &mut FxHashMap<Term, Term>) -> Term {
        self.replace(term, done, &mut |terms, leaf, bits| {
            let is_own = leaf.shared > common;
            is_own.then(|| terms.make(Node::Leaf(Leaf { thread, ..leaf.clone() }), bits))
        })
    }

    /// A term with its leaves replaced by other terms.
    pub fn replace(
        &mut self,
        term: Term,
        done: &mut FxHashMap<Term, Term>,
        by: &mut impl FnMut(&mut Self, &Leaf, u32) -> Option<Term>,
    ) -> Term {
        self.map(term, done, &mut |terms, term, _| {
            let Node::Leaf(leaf) = terms.node(term).clone() else { return None };
            by(terms, &leaf, terms.bits(term))
        })
    }

    /// Rebuilds a term from its leaves. `by` may replace any subterm, and gets the replacements of the operands.
    pub fn map(
        &mut self,
        term: Term,
        done: &mut FxHashMap<Term, Term>,
        by: &mut impl FnMut(&mut Self, Term, &FxHashMap<Term, Term>) -> Option<Term>,
    ) -> Term {
        // Terms are rebuilt after their operands, so an explicit stack suffices.
        let mut open = vec![term];
        while let Some(next) = open.last().copied() {
            if done.contains_key(&next) {
                open.pop();
                continue;
            }
            let missing: Vec<Term> = self.operands(next).into_iter().filter(|of| !done.contains_key(of)).collect();
            if !missing.is_empty() {
                open.extend(missing);
                continue;
            }
            open.pop();
            let new = by(self, next, done).unwrap_or_else(|| self.again(next, done));
            done.insert(next, new);
        }
        done[&term]
    }

    /// A term with its operands replaced.
    fn again(&mut self, term: Term, done: &FxHashMap<Term, Term>) -> Term {
        let bits = self.bits(term);
        match self.node(term).clone() {
            Node::Constant(_) | Node::Leaf(_) => term,
            Node::Sum(constant, parts) => {
                let parts: Vec<_> = parts.into_iter().map(|(factor, term)| (factor, done[&term])).collect();
                self.sum(constant, &parts, bits)
            }
            Node::Binary(op, a, b) => self.binary(op, done[&a], done[&b]),
            Node::Equal(a, b) => self.equal(done[&a], done[&b]),
            Node::LessUnsigned(a, b) => self.less(false, done[&a], done[&b]),
            Node::LessSigned(a, b) => self.less(true, done[&a], done[&b]),
            Node::If(condition, a, b) => self.choose(done[&condition], done[&a], done[&b]),
            Node::Extract(of, low) => self.extract(done[&of], low, bits),
            Node::Zeros(of) => self.widen(done[&of], bits, false),
            Node::Signs(of) => self.widen(done[&of], bits, true),
            Node::Function(number, of) => {
                let of = of.iter().map(|of| done[of]).collect();
                self.make(Node::Function(number, of), bits)
            }
        }
    }

    /// The number of the last fresh value.
    pub fn fresh(&self) -> u32 {
        self.fresh
    }

    /// The leaves of a term.
    pub fn leaves(&self, term: Term) -> Vec<Term> {
        let mut seen = rustc_hash::FxHashSet::default();
        let (mut open, mut leaves) = (vec![term], Vec::new());
        while let Some(next) = open.pop() {
            if !seen.insert(next) {
                continue;
            }
            match self.node(next) {
                Node::Leaf(_) => leaves.push(next),
                _ => open.extend(self.operands(next)),
            }
        }
        leaves
    }

    /// Whether a term has no leaf that was created after the fresh value `fresh`, and no iteration number of a loop
    /// within these blocks.
    pub fn is_older(&self, term: Term, fresh: u32, is_within: &impl Fn(usize) -> bool) -> bool {
        self.leaves(term).into_iter().all(|leaf| match self.node(leaf) {
            Node::Leaf(Leaf { name: LeafName::Any(number), .. }) => *number <= fresh,
            Node::Leaf(Leaf { name: LeafName::Round(header, _), .. }) => !is_within(*header),
            _ => true,
        })
    }

    /// Whether all threads of a CTA have the same value of a term, if they have the same values of these leaves.
    pub fn is_uniform(&self, term: Term, same: &rustc_hash::FxHashSet<Term>) -> bool {
        self.leaves(term).into_iter().all(|leaf| {
            same.contains(&leaf) || matches!(self.node(leaf), Node::Leaf(leaf) if leaf.shared < Shared::Thread)
        })
    }

    /// A term with its leaves replaced by other terms; `by` gets the term of a leaf.
    pub fn substitute(&mut self, term: Term, by: &impl Fn(Term) -> Option<Term>) -> Term {
        self.replace(term, &mut FxHashMap::default(), &mut |terms, leaf, bits| {
            let leaf = terms.make(Node::Leaf(leaf.clone()), bits);
            by(leaf)
        })
    }

    /// The number of bits by which `end` is `start` shifted right, for an initial value `entry`; `None` if unknown.
    pub fn shifted_right(&mut self, end: Term, start: Term, entry: Term) -> Option<u64> {
        let bits = self.bits(start);
        let is_positive = self.most(entry) >> (bits - 1) == 0;
        match *self.node(end) {
            Node::Binary(Binary::ShrUnsigned, of, by) if of == start => self.value(by),
            Node::Binary(Binary::ShrSigned, of, by) if of == start && is_positive => self.value(by),
            // The signed half of a number, as compilers write it.
            Node::Binary(Binary::ShrSigned, of, by) if is_positive && self.value(by) == Some(1) => {
                let sign = self.constant(u64::from(bits) - 1, bits);
                let sign = self.binary(Binary::ShrUnsigned, start, sign);
                (self.add(start, sign) == of).then_some(1)
            }
            _ => None,
        }
    }

    /// The direct operands of a term.
    pub fn operands(&self, term: Term) -> Vec<Term> {
        operands(self.node(term))
    }
}

fn operands(node: &Node) -> Vec<Term> {
    match node {
        Node::Constant(_) | Node::Leaf(_) => Vec::new(),
        Node::Sum(_, parts) => parts.iter().map(|(_, term)| *term).collect(),
        Node::Binary(_, a, b) | Node::Equal(a, b) | Node::LessUnsigned(a, b) | Node::LessSigned(a, b) => vec![*a, *b],
        Node::If(condition, a, b) => vec![*condition, *a, *b],
        Node::Extract(of, _) | Node::Zeros(of) | Node::Signs(of) => vec![*of],
        Node::Function(_, of) => of.clone(),
    }
}

/// The result of an operation on constants.
fn fold(op: Binary, x: u64, y: u64, bits: u32) -> u64 {
    use Binary::*;
    let (a, b) = (signed(x, bits), signed(y, bits));
    let value = match op {
        Mul => x.wrapping_mul(y),
        And => x & y,
        Or => x | y,
        Xor => x ^ y,
        Shl if y < u64::from(bits) => x << y,
        ShrUnsigned if y < u64::from(bits) => x >> y,
        Shl | ShrUnsigned => 0,
        ShrSigned => (a >> y.min(u64::from(bits) - 1)) as u64,
        DivUnsigned => x.checked_div(y).unwrap_or(u64::MAX),
        RemUnsigned => x.checked_rem(y).unwrap_or(u64::MAX),
        DivSigned if b == 0 => u64::MAX,
        RemSigned if b == 0 => u64::MAX,
        DivSigned => a.wrapping_div(b) as u64,
        RemSigned => a.wrapping_rem(b) as u64,
    };
    value & ones(bits)
}

#[cfg(test)]
mod tests;
