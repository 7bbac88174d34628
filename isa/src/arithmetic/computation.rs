//! A computing instruction with all its modifiers.

use super::{
    alu::alu,
    bits::mask,
    compare::{Compare, Select, Test, compare},
    convert::{Conversion, Pack, convert},
    extended::Extended,
    float::Float,
    video::Video,
};
use crate::word::{AluOp, Cmp, Type};

/// An instruction that uses only registers and constants (sections 9.7.1 to 9.7.9 and 9.7.18). A register that holds packed
/// elements has an untyped bit type here, except for pairs of halves.
///
/// A NaN result is the NaN that GPUs return: all ones except the sign. An `f64` result is the first NaN operand, made
/// quiet, or `0xFFF8000000000000` if no operand is NaN.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Computation {
    /// Arithmetic on integers and bits, and moves of any type. Division by zero and its remainder return all ones, as
    /// on GPUs; PTX leaves both undefined.
    Alu(AluOp, Type),
    /// `setp` with one comparison: 1 if it holds, 0 otherwise. The second result is the negation.
    Setp(Cmp, Type),
    /// `cvt` between integers, without `.sat`.
    Cvt {
        /// The type of the result.
        to: Type,
        /// The type of the operand.
        from: Type,
    },
    /// Other integer instructions.
    Extended(Extended),
    /// Floating-point arithmetic.
    Float(Float),
    /// `testp`.
    Testp(Test, Type),
    /// `setp` with more modifiers or on pairs, and `set`.
    Compare(Compare),
    /// `slct`.
    Slct(Select),
    /// `cvt` from or to floating-point numbers, or with `.sat`.
    Convert(Conversion),
    /// `cvt.pack`.
    Pack(Pack),
    /// SIMD video instructions.
    Video(Video),
}

/// The results of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Outcome {
    /// The results; unused elements are 0.
    pub results: [u128; 2],
    /// The new carry flag, if the instruction writes it.
    pub carry: Option<bool>,
}

impl Computation {
    /// The number of source operands; each operand in braces counts separately.
    pub fn arity(self) -> usize {
        match self {
            Self::Alu(op, _) => op.arity(),
            Self::Setp(..) => 2,
            Self::Cvt { .. } | Self::Testp(..) => 1,
            Self::Slct(_) => 3,
            Self::Extended(of) => of.arity(),
            Self::Float(of) => of.arity(),
            Self::Compare(of) => of.arity(),
            Self::Convert(of) => of.arity(),
            Self::Pack(of) => of.arity(),
            Self::Video(_) => Video::ARITY,
        }
    }

    /// Whether the instruction has a form with this many source operands: `min` and `max` of `f32` also have a form
    /// with three.
    pub fn takes(self, count: usize) -> bool {
        match self {
            Self::Float(of) => of.takes(count),
            _ => count == self.arity(),
        }
    }

    /// The type of the source operand with this index.
    pub fn source_type(self, index: usize) -> Type {
        match self {
            Self::Alu(op, ty) => op.source_type(ty, index),
            Self::Setp(_, ty) | Self::Cvt { from: ty, .. } | Self::Testp(_, ty) => ty,
            Self::Slct(of) => {
                if index == 2 {
                    of.by
                } else {
                    of.ty
                }
            }
            Self::Extended(of) => of.source_type(index),
            Self::Float(of) => of.source_type(index),
            Self::Compare(of) => of.source_type(index),
            Self::Convert(of) => of.source_type(index),
            Self::Pack(of) => of.source_type(index),
            Self::Video(_) => Video::OPERAND,
        }
    }

    /// The number of results: two for `setp`, whose second result a kernel may ignore, and for `lop3` with a
    /// predicate.
    pub fn results(self) -> usize {
        match self {
            Self::Setp(..) | Self::Extended(Extended::Lop3 { .. }) => 2,
            Self::Compare(of) if of.value.is_none() => 2,
            _ => 1,
        }
    }

    /// The type of the first result.
    pub fn result_type(self) -> Type {
        match self {
            Self::Alu(op, ty) => op.result_type(ty),
            Self::Setp(..) | Self::Testp(..) => Type::Pred,
            Self::Cvt { to, .. } => to,
            Self::Slct(of) => of.ty,
            Self::Extended(of) => of.result_type(),
            Self::Float(of) => of.result_type(),
            Self::Compare(of) => of.result_type(),
            Self::Convert(of) => of.result_type(),
            Self::Pack(_) => Type::B32,
            Self::Video(_) => Video::OPERAND,
        }
    }

    /// The type of each result. The second result is always a predicate.
    pub fn result_types(self) -> impl Iterator<Item = Type> {
        [self.result_type(), Type::Pred].into_iter().take(self.results())
    }

    /// Whether the result depends on the carry flag.
    pub fn uses_carry(self) -> bool {
        matches!(self, Self::Alu(AluOp::Addc | AluOp::Subc, _) | Self::Extended(Extended::Carry { takes: true, .. }))
    }

    /// Whether it reads or writes the carry flag.
    pub fn touches_carry(self) -> bool {
        self.uses_carry()
            || matches!(self, Self::Alu(AluOp::AddCc | AluOp::SubCc, _) | Self::Extended(Extended::Carry { .. }))
    }

    /// The first result. Returns `None` if the number of sources is wrong, or if the result depends on the carry flag.
    pub fn apply(self, sources: &[u128]) -> Option<u128> {
        if self.uses_carry() { None } else { self.execute(sources, false).map(|outcome| outcome.results[0]) }
    }

    /// Executes the instruction on these sources and this carry flag. Returns `None` if the number of sources is wrong.
    pub fn execute(self, sources: &[u128], carry: bool) -> Option<Outcome> {
        let (results, carry) = match (self, sources) {
            (Self::Alu(AluOp::Div | AluOp::Rem, ty), [_, b]) if b & mask(ty.bits()) == 0 => {
                ([mask(ty.bits()), 0], None)
            }
            (Self::Alu(op @ (AluOp::AddCc | AluOp::SubCc | AluOp::Addc | AluOp::Subc), ty), _) => {
                let takes = matches!(op, AluOp::Addc | AluOp::Subc);
                let op = if matches!(op, AluOp::AddCc | AluOp::Addc) { AluOp::Add } else { AluOp::Sub };
                Extended::Carry { op, ty, takes, gives: !takes }.execute(sources, carry)?
            }
            (Self::Alu(op, ty), _) => ([alu(op, ty, sources)?, 0], None),
            (Self::Setp(cmp, ty), [a, b]) => {
                let holds = compare(cmp, ty, *a, *b)?;
                ([holds.into(), (!holds).into()], None)
            }
            (Self::Cvt { to, from }, [a]) => ([convert(to, from, *a)?, 0], None),
            (Self::Testp(test, ty), [a]) => ([test.holds(ty, *a)?.into(), 0], None),
            (Self::Slct(of), [a, b, c]) => ([of.execute([*a, *b, *c]), 0], None),
            (Self::Extended(of), _) => of.execute(sources, carry)?,
            (Self::Float(of), _) => ([of.execute(sources)?, 0], None),
            (Self::Compare(of), _) => (of.execute(sources)?, None),
            (Self::Convert(of), _) => ([of.execute(sources)?, 0], None),
            (Self::Pack(of), _) => ([of.execute(sources)?, 0], None),
            (Self::Video(of), _) => ([of.execute(sources)?, 0], None),
            _ => return None,
        };
        Some(Outcome { results, carry })
    }
}
