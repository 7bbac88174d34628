//! Integer instructions that [`AluOp`] lacks: with the carry flag, saturating, packed, and more (sections 9.7.1, 9.7.2
//! and 9.7.8).

use strum::EnumString;

use super::{
    alu::alu,
    bits::{mask, sign_extend},
};
use crate::word::{AluOp, Type};

/// An integer instruction with modifiers that [`AluOp`] lacks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Extended {
    /// `add.cc`, `addc`, `sub.cc`, `subc`, `mad.cc` and `madc`. The flag of a difference is the carry of the sum that
    /// GPUs compute instead, `a + !b + 1`: the flag is set unless a borrow occurs, and `subc` borrows if it is clear.
    /// The manual (section 9.7.2) calls the flag of a difference its borrow. Within a chain of differences both
    /// definitions agree; they differ if `addc` or `madc` uses the flag of `sub.cc`, or `subc` uses the flag of a sum.
    /// The machine code of ptxas 11.8 to 13.5 uses the carry (`IADD3.X R, P2, R, ~R, RZ, P0`).
    Carry {
        /// `Add`, `Sub`, `MadLo` or `MadHi`.
        op: AluOp,
        /// The type.
        ty: Type,
        /// Whether the instruction adds the flag.
        takes: bool,
        /// Whether the instruction writes the flag.
        gives: bool,
    },
    /// Operations limited to the range of their type or to nonnegative results, and operations on each element of a
    /// word.
    Elements {
        /// The operation.
        op: AluOp,
        /// The type of an element. Elements fill a word, unless the type is wider.
        element: Type,
        /// `.sat`.
        saturates: bool,
        /// `.relu`.
        relu: bool,
    },
    /// `lop3` with a predicate result, which combines a predicate with whether the result is nonzero.
    Lop3 {
        /// Whether the combination is `and`; otherwise it is `or`.
        and: bool,
    },
    /// `prmt` with a mode.
    Prmt(Mode),
    /// `dp4a`, or `dp2a` if `pair` is set.
    Dot {
        /// Whether the elements of the first operand are signed.
        a: bool,
        /// Whether the elements of the second operand are signed.
        b: bool,
        /// The pair of bytes of the second operand that `dp2a` uses.
        pair: Option<u32>,
    },
    /// `fns`: the position of the n-th set bit from a base.
    Fns,
}

/// Modes of `prmt`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumString)]
#[strum(serialize_all = "snake_case")]
#[allow(missing_docs)] // PTX's own names.
pub enum Mode {
    F4e,
    B4e,
    Rc8,
    Ecl,
    Ecr,
    Rc16,
}

impl Mode {
    /// The selected bytes for each value of the lowest two bits of the third operand. The first digit is the highest
    /// byte.
    fn picks(self) -> [u32; 4] {
        match self {
            Self::F4e => [0x3210, 0x4321, 0x5432, 0x6543],
            Self::B4e => [0x5670, 0x6701, 0x7012, 0x0123],
            Self::Rc8 => [0x0000, 0x1111, 0x2222, 0x3333],
            Self::Ecl => [0x3210, 0x3211, 0x3222, 0x3333],
            Self::Ecr => [0x0000, 0x1110, 0x2210, 0x3210],
            Self::Rc16 => [0x1010, 0x3232, 0x1010, 0x3232],
        }
    }
}

impl Extended {
    pub(super) fn arity(self) -> usize {
        match self {
            Self::Carry { op, .. } | Self::Elements { op, .. } => op.arity(),
            Self::Lop3 { .. } => 5,
            Self::Prmt(_) | Self::Dot { .. } | Self::Fns => 3,
        }
    }

    pub(super) fn source_type(self, index: usize) -> Type {
        match self {
            Self::Carry { ty, .. } => ty,
            Self::Elements { element, .. } if element.bits() >= 32 => element,
            Self::Lop3 { .. } if index == 4 => Type::Pred,
            Self::Elements { .. } | Self::Lop3 { .. } | Self::Prmt(_) => Type::B32,
            Self::Dot { a, .. } if index == 0 => word(a),
            Self::Dot { b, .. } if index == 1 => word(b),
            Self::Dot { a, b, .. } => word(a || b),
            Self::Fns if index == 2 => Type::S32,
            Self::Fns => Type::B32,
        }
    }

    pub(super) fn result_type(self) -> Type {
        match self {
            Self::Dot { a, b, .. } => word(a || b),
            Self::Fns => Type::B32,
            _ => self.source_type(0),
        }
    }

    /// The result, the predicate of `lop3`, and the carry flag if the instruction writes it.
    pub(super) fn execute(self, sources: &[u128], carry: bool) -> Option<([u128; 2], Option<bool>)> {
        let result = match (self, sources) {
            (Self::Carry { op, ty, takes, gives }, _) => {
                let added = if takes { carry } else { op == AluOp::Sub };
                let (result, carry) = carried(op, ty, sources, added)?;
                return Some(([result, 0], gives.then_some(carry)));
            }
            (Self::Lop3 { and }, [words @ .., with]) => {
                let result = alu(AluOp::Lop3, Type::B32, words)?;
                let (some, with) = (result != 0, with & 1 != 0);
                return Some(([result, (if and { some && with } else { some || with }).into()], None));
            }
            (Self::Elements { op, element, saturates, relu }, _) if sources.len() == op.arity() => {
                elements(op, element, saturates, relu, sources)?
            }
            (Self::Prmt(mode), [a, b, c]) => {
                alu(AluOp::Prmt, Type::B32, &[*a, *b, mode.picks()[(c & 3) as usize].into()])?
            }
            (Self::Dot { a, b, pair }, [x, y, sum]) => dot(a, b, pair, [*x, *y, *sum]),
            (Self::Fns, [word, base, offset]) => find_nth_set(*word as u32, *base as u32, *offset as i32).into(),
            _ => return None,
        };
        Some(([result, 0], None))
    }
}

fn word(signed: bool) -> Type {
    if signed { Type::S32 } else { Type::U32 }
}

/// A sum or a difference, and its carry. `carry` is the added flag; for a difference without a flag, it is 1.
fn carried(op: AluOp, ty: Type, sources: &[u128], carry: bool) -> Option<(u128, bool)> {
    let ones = mask(ty.bits());
    let (a, b) = match (op, sources) {
        (AluOp::Add, [a, b]) => (a & ones, b & ones),
        (AluOp::Sub, [a, b]) => (a & ones, !b & ones),
        (AluOp::MadLo, [a, b, c]) => (alu(AluOp::MulLo, ty, &[*a, *b])?, c & ones),
        (AluOp::MadHi, [a, b, c]) => (alu(AluOp::MulHi, ty, &[*a, *b])?, c & ones),
        _ => return None,
    };
    let exact = a + b + u128::from(carry);
    Some((exact & ones, exact > ones))
}

/// The results for each element. Only the last operation may leave the type's range, so its result is limited.
fn elements(op: AluOp, element: Type, saturates: bool, relu: bool, sources: &[u128]) -> Option<u128> {
    let bits = element.bits();
    let ones = mask(bits);
    let number = |value: u128| match element.is_signed() {
        true => i128::from(sign_extend(value as u64, bits)),
        false => (value & ones) as i128,
    };
    let (least, most) = if element.is_signed() { (-(1 << (bits - 1)), (ones >> 1) as i128) } else { (0, ones as i128) };
    let mut result = 0;
    for at in (0..bits.max(32)).step_by(bits as usize) {
        let of = |index: usize| sources.get(index).map_or(0, |source| source >> at & ones);
        let (a, b) = (number(of(0)), number(of(1)));
        let exact = match op {
            AluOp::Add => a + b,
            AluOp::Sub => a - b,
            AluOp::Min => a.min(b),
            AluOp::Max => a.max(b),
            AluOp::Neg => -a,
            AluOp::MadHi => number(alu(AluOp::MulHi, element, &[of(0), of(1)])?) + number(of(2)),
            AluOp::Mad24Hi => number(alu(AluOp::Mul24Hi, element, &[of(0), of(1)])?) + number(of(2)),
            _ => return None,
        };
        let exact = if saturates { exact.clamp(least, most) } else { exact };
        result |= (if relu { exact.max(0) } else { exact } as u128 & ones) << at;
    }
    Some(result)
}

/// The sum of four products of bytes, or of two products of a half and a byte, plus `sum`.
fn dot(a: bool, b: bool, pair: Option<u32>, [x, y, sum]: [u128; 3]) -> u128 {
    let part = |value: u128, signed: bool, bits: u32, at: u32| {
        let part = (value >> (at * bits) & mask(bits)) as u64;
        if signed { sign_extend(part, bits) } else { part as i64 }
    };
    let products: i64 = match pair {
        None => (0..4).map(|at| part(x, a, 8, at) * part(y, b, 8, at)).sum(),
        Some(pair) => (0..2).map(|at| part(x, a, 16, at) * part(y, b, 8, 2 * pair + at)).sum(),
    };
    (products as u128).wrapping_add(sum) & mask(32)
}

/// `fns`, as in the manual's pseudocode.
fn find_nth_set(word: u32, base: u32, offset: i32) -> u32 {
    let is_set = |at: u32| at < 32 && word >> at & 1 == 1;
    let found = match offset {
        0 => Some(base).filter(|at| is_set(*at)),
        1.. => (base..32).filter(|at| is_set(*at)).nth(offset as usize - 1),
        _ => (0..=base.min(31)).rev().filter(|at| base < 32 && is_set(*at)).nth(offset.unsigned_abs() as usize - 1),
    };
    found.unwrap_or(u32::MAX)
}
