//! Numbered values and predicates: equal expressions have the same number.
//!
//! A value is a linear sum of atoms. Everything else is an atom itself: a bit field, a selection, a loaded value, a
//! phi. Sums are exact up to the width of registers: addresses are assumed not to wrap.

mod algebra;
mod predicates;
mod threads;

use ptx_isa::{Cmp, Special, Type, operation::Operation};
use rustc_hash::FxHashMap;

use crate::kernel::{Sum, Varies};

/// The largest number of terms of a sum. A longer sum is an atom.
const TERMS: usize = 12;

/// The number of a value, in [`Terms::values`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Value(pub u32);

/// The number of an atom.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Atom(pub u32);

/// A predicate of [`Terms`], or its negation. The literals that the kernel needs become its conditions.
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

    /// The literal if `holds` is true, otherwise its negation.
    pub fn if_(self, holds: bool) -> Self {
        if holds { self } else { self.opposite() }
    }
}

/// The content of a register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Content {
    /// Nothing has been written.
    Unset,
    Value(Value),
    Literal(Literal),
}

/// For a block and a register with a phi: the content of the register at the end of each predecessor, and the literal
/// that holds on the edge from there.
pub type PhiInputs = FxHashMap<(usize, usize), Vec<(Content, Literal)>>;

/// The facts about a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Facts {
    pub low: i64,
    pub high: i64,
    /// The bits that may be set.
    pub mask: u64,
    /// The innermost loop header that the value depends on.
    pub block: Option<usize>,
}

impl Facts {
    pub const UNKNOWN: Self = Self { low: i64::MIN, high: i64::MAX, mask: u64::MAX, block: None };

    pub fn range(low: i64, high: i64) -> Self {
        let mask = if low >= 0 { ones(64 - high.max(0).leading_zeros()) } else { u64::MAX };
        Self { low, high, mask, block: None }
    }
}

/// A function of values or predicates: equal functions of equal values have equal results.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Function {
    /// The instruction itself.
    Of(Operation),
    Add,
    Subtract,
    Multiply,
    Divide,
    Remainder,
    And,
    Or,
    Xor,
    /// An arithmetic shift to the right.
    ShiftRight,
    /// The upper half of a 32-bit product.
    MultiplyHigh {
        is_signed: bool,
    },
    /// The upper half of an unsigned 64-bit product.
    MultiplyHighest,
    /// The difference of a swizzled address from the address.
    Swizzle,
    /// The lane that `elect` returns for a mask.
    Elected,
    /// A comparison of numbers that may be unordered.
    Compares(Cmp, Type),
    /// Whether an unsigned number is less than, or at most, another one.
    Below {
        or_equal: bool,
    },
    /// Whether two predicates differ.
    Differ,
}

/// The expression of an atom.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum AtomExpression {
    /// The address of a symbol.
    Symbol(usize),
    /// The allocation of the `tcgen05.alloc` that writes to this address.
    Allocation(Value),
    /// A special register.
    Special(Special),
    /// A parameter of the kernel: its symbol, the offset, and the number of bytes.
    Param(usize, i64, u64),
    /// A bit field of a value: its lowest bit and its length.
    Field(Value, u32, u32),
    /// One of two values: the first if the literal holds.
    Select(Literal, Value, Value),
    /// The value of one lane of the warp, with the lane if it is the same in all warps.
    Shuffle(Value, Option<u8>),
    /// The distance from an address of this CTA to the same address of another CTA, whose rank is the value.
    Remote(Option<Value>),
    /// The result of an instruction on values.
    Computed(Function, Vec<Value>),
    /// The result of an instruction on a predicate and other operands.
    Chosen(Operation, Vec<Content>),
    /// A phi: its block and its register.
    Phi(usize, usize),
    /// A result of an instruction, loaded from an address if there is one.
    Result(usize, usize, Option<Value>),
    /// The content of a register that no instruction has written.
    Unset(usize),
}

/// The meaning of a predicate.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum PredicateMeaning {
    All(Vec<Literal>),
    Within(Value, i64, i64),
    /// One thread of the warp is elected, among the lanes of a mask.
    Elected(Value),
    /// The predicate that an instruction computes from values.
    Computed(Function, Vec<Content>),
    Phi(usize, usize),
    /// A wait on an mbarrier has succeeded, or another result of an instruction.
    Result(usize, usize),
    Unset(usize),
}

/// Atoms, values and predicates.
#[derive(Debug)]
pub struct Terms {
    pub atoms: Vec<(AtomExpression, Facts)>,
    atom_numbers: FxHashMap<AtomExpression, Atom>,
    pub values: Vec<(Sum<Atom>, Facts)>,
    value_numbers: FxHashMap<Sum<Atom>, Value>,
    pub predicates: Vec<(PredicateMeaning, Option<usize>)>,
    predicate_numbers: FxHashMap<PredicateMeaning, u32>,
    /// The depth of each block in the dominator tree.
    depths: Vec<usize>,
    /// The threads that may have different values of each atom, and of each predicate.
    atoms_vary: Vec<Varies>,
    predicates_vary: Vec<Varies>,
    /// Whether the threads of a CTA have one dimension.
    is_flat: bool,
}

pub fn ones(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

/// The lowest bits of a number, as a signed number.
pub fn wrapped(number: i64, bits: u32) -> i64 {
    if bits >= 64 || bits == 0 { number } else { number << (64 - bits) >> (64 - bits) }
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
            depths,
            atoms_vary: Vec::new(),
            predicates_vary: Vec::new(),
            is_flat,
        };
        terms.predicate(PredicateMeaning::All(Vec::new()), None);
        terms
    }

    /// The inner one of two loop headers. Both dominate the same instruction, so the deeper one is the inner one.
    pub fn inner(&self, a: Option<usize>, b: Option<usize>) -> Option<usize> {
        let depth = |block: usize| self.depths.get(block).copied().unwrap_or(0);
        match (a, b) {
            (Some(a), Some(b)) => Some(if depth(a) >= depth(b) { a } else { b }),
            (one, other) => one.or(other),
        }
    }

    // Constructors.

    pub fn atom(&mut self, expression: AtomExpression, facts: Facts) -> Value {
        self.varying(expression, facts, Varies::Thread)
    }

    /// An atom. `varies` tells which threads may have different values of it, unless that follows from its parts.
    pub fn varying(&mut self, expression: AtomExpression, facts: Facts, varies: Varies) -> Value {
        let atom = match self.atom_numbers.get(&expression) {
            Some(atom) => *atom,
            None => {
                let atom = Atom(self.atoms.len() as u32);
                self.atoms_vary.push(self.derived(&expression).unwrap_or(varies));
                self.atoms.push((expression.clone(), facts));
                self.atom_numbers.insert(expression, atom);
                atom
            }
        };
        self.value(Sum::from_value(atom))
    }

    pub fn value(&mut self, sum: Sum<Atom>) -> Value {
        if let Some(value) = self.value_numbers.get(&sum) {
            return *value;
        }
        let facts = self.facts_of(&sum);
        let value = Value(self.values.len() as u32);
        self.values.push((sum.clone(), facts));
        self.value_numbers.insert(sum, value);
        value
    }

    /// The value that is the sum of these terms and the constant 0, if there is one.
    pub fn find(&self, terms: &[(Atom, i64)]) -> Option<Value> {
        self.value_numbers.get(&Sum { terms: terms.to_vec(), constant: 0 }).copied()
    }

    pub fn constant(&mut self, constant: i64) -> Value {
        self.value(Sum::number(constant))
    }

    pub fn predicate(&mut self, says: PredicateMeaning, block: Option<usize>) -> Literal {
        self.varying_predicate(says, block, Varies::No)
    }

    /// A predicate. `varies` tells which threads may have different values of it, unless that follows from its parts.
    pub fn varying_predicate(&mut self, says: PredicateMeaning, block: Option<usize>, varies: Varies) -> Literal {
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

    // Queries.

    pub fn sum(&self, value: Value) -> &Sum<Atom> {
        &self.values[value.0 as usize].0
    }

    pub fn facts(&self, value: Value) -> Facts {
        self.values[value.0 as usize].1
    }

    pub fn as_number(&self, value: Value) -> Option<i64> {
        let sum = self.sum(value);
        sum.terms.is_empty().then_some(sum.constant)
    }

    /// The expression of a value that is a single atom.
    pub fn only(&self, value: Value) -> Option<&AtomExpression> {
        match self.sum(value) {
            Sum { terms, constant: 0 } => match terms[..] {
                [(atom, 1)] => Some(&self.atoms[atom.0 as usize].0),
                _ => None,
            },
            _ => None,
        }
    }

    pub fn definition(&self, atom: Atom) -> &AtomExpression {
        &self.atoms[atom.0 as usize].0
    }

    fn facts_of(&self, sum: &Sum<Atom>) -> Facts {
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
}
