//! Comparisons, and selections by a number (sections 9.7.6 and 9.7.7).

use std::cmp::Ordering;

use strum::EnumString;

use super::{
    bits::mask,
    exact::{Exact, Format, Overflow, Rounding},
    float::{flushed, format, from_bits, is_nan},
    integer::order,
};
use crate::word::{Cmp, Type};

/// Whether a comparison of `setp` holds. `None` for packed types, whose two elements have a predicate each.
pub fn compare(cmp: Cmp, ty: Type, a: u128, b: u128) -> Option<bool> {
    let [a, b] = [a, b].map(|value| value & mask(ty.bits()));
    let order = match ty {
        _ if ty.element().is_some() => return None,
        _ if ty.is_float() => from_bits(ty, a).partial_cmp(&from_bits(ty, b)),
        _ => Some(order(ty, a, b)),
    };
    let (ordered, holds): (bool, fn(Ordering) -> bool) = match cmp {
        Cmp::Num => return Some(order.is_some()),
        Cmp::Nan => return Some(order.is_none()),
        Cmp::Eq => (true, Ordering::is_eq),
        Cmp::Ne => (true, Ordering::is_ne),
        Cmp::Lt | Cmp::Lo => (true, Ordering::is_lt),
        Cmp::Le | Cmp::Ls => (true, Ordering::is_le),
        Cmp::Gt | Cmp::Hi => (true, Ordering::is_gt),
        Cmp::Ge | Cmp::Hs => (true, Ordering::is_ge),
        Cmp::Equ => (false, Ordering::is_eq),
        Cmp::Neu => (false, Ordering::is_ne),
        Cmp::Ltu => (false, Ordering::is_lt),
        Cmp::Leu => (false, Ordering::is_le),
        Cmp::Gtu => (false, Ordering::is_gt),
        Cmp::Geu => (false, Ordering::is_ge),
    };
    Some(order.map_or(!ordered, holds))
}

/// `setp` and `set`, with all modifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Compare {
    /// The comparison.
    pub cmp: Cmp,
    /// The type of the numbers.
    pub ty: Type,
    /// `.ftz`.
    pub flushes: bool,
    /// The operation that combines the comparison with a predicate, the third operand.
    pub combined: Option<Combination>,
    /// The result type of `set`; `None` for `setp`, whose results are two predicates.
    pub value: Option<Type>,
}

/// An operation that combines a comparison and a predicate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumString)]
#[strum(serialize_all = "snake_case")]
#[expect(missing_docs, reason = "named as the manual names them")]
pub enum Combination {
    And,
    Or,
    Xor,
}

impl Combination {
    fn combine(self, a: bool, b: bool) -> bool {
        match self {
            Self::And => a && b,
            Self::Or => a || b,
            Self::Xor => a != b,
        }
    }
}

impl Compare {
    pub(super) fn arity(self) -> usize {
        2 + usize::from(self.combined.is_some())
    }

    pub(super) fn source_type(self, index: usize) -> Type {
        if index == 2 { Type::Pred } else { self.ty }
    }

    pub(super) fn result_type(self) -> Type {
        self.value.unwrap_or(Type::Pred)
    }

    /// The results. For `setp`: the comparison and its negation, each combined with the predicate, or the comparisons
    /// of the two elements.
    pub(super) fn execute(self, sources: &[u128]) -> Option<[u128; 2]> {
        let (a, b, with) = match (self.combined, sources) {
            (None, [a, b]) => (*a, *b, None),
            (Some(combined), [a, b, c]) => (*a, *b, Some((combined, c & 1 != 0))),
            _ => return None,
        };
        let combined = |holds: bool| with.map_or(holds, |(combination, with)| combination.combine(holds, with));
        let holds = |at: u32| {
            let ty = self.ty.element().unwrap_or(self.ty);
            let [a, b] = [a, b].map(|value| {
                let value = value >> at & mask(ty.bits());
                format(ty).filter(|_| self.flushes).map_or(value, |format| flushed(format, value))
            });
            compare(self.cmp, ty, a, b)
        };
        let first = holds(0)?;
        let second = if self.ty.element().is_some() { holds(16)? } else { !first };
        let both = [combined(first), combined(second)];
        let Some(value) = self.value else { return Some(both.map(u128::from)) };
        let one = match format(value) {
            Some(format) => Exact::ONE.round(format, Rounding::Nearest, Overflow::Rounded),
            None if self.ty.element().is_some() => mask(16),
            None => mask(value.bits()),
        };
        let [low, high] = both.map(|holds| if holds { one } else { 0 });
        Some([if self.ty.element().is_some() { high << 16 | low } else { low }, 0])
    }
}

/// `slct`: the first operand if the third is not negative; otherwise, and for NaN, the second.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Select {
    pub(super) ty: Type,
    /// `s32` or `f32`.
    pub(super) by: Type,
    /// `.ftz`.
    pub(super) flushes: bool,
}

impl Select {
    pub(super) fn execute(self, [a, b, c]: [u128; 3]) -> u128 {
        let c = c & mask(32);
        let c = if self.flushes { flushed(Format::F32, c) } else { c };
        let is_first = match self.by {
            Type::F32 => from_bits(Type::F32, c) >= 0.0,
            _ => c >> 31 == 0,
        };
        (if is_first { a } else { b }) & mask(self.ty.bits())
    }
}

/// The property that `testp` tests (section 9.7.3). Zero is normal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumString)]
#[strum(serialize_all = "snake_case")]
#[allow(missing_docs)] // PTX's own names.
pub enum Test {
    Finite,
    Infinite,
    Number,
    #[strum(serialize = "notanumber")]
    NotANumber,
    Normal,
    Subnormal,
}

impl Test {
    pub(super) fn holds(self, ty: Type, bits: u128) -> Option<bool> {
        let (format, bits) = (format(ty)?, bits & mask(ty.bits()));
        let is_infinite = matches!(Exact::read(format, bits), Exact::Infinite(_));
        let is_subnormal = flushed(format, bits) != bits;
        let is_nan = is_nan(format, bits);
        Some(match self {
            Self::Finite => !is_infinite && !is_nan,
            Self::Infinite => is_infinite,
            Self::Number => !is_nan,
            Self::NotANumber => is_nan,
            Self::Normal => !is_infinite && !is_nan && !is_subnormal,
            Self::Subnormal => is_subnormal,
        })
    }
}
