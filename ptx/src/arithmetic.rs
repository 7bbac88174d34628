//! What instructions compute, on bits: one arithmetic for all who execute PTX.
//!
//! A value stands in the low bits of a `u128`, the first element of a vector lowest. Bits above the width of an operand's
//! type are not looked at, and those of a result are 0. No operand makes a function panic: `None` says that there is no such
//! instruction, or that its result depends on more than its operands (the carry flag).

mod compare;
mod convert;
mod exact;
mod extended;
mod float;
mod integer;
mod read;

pub use self::{
    compare::{Compare, Select, Test, compare},
    convert::{Conversion, Pack, convert},
    extended::{Extended, Mode},
    float::Float,
};
use self::{float::float, integer::integer};
use crate::word::{AluOp, AtomOp, Cmp, Type, VectorSize};

impl Type {
    /// Whether the type is a floating-point number, and not a packed pair of them.
    pub fn is_float(self) -> bool {
        matches!(self, Self::F16 | Self::Bf16 | Self::F32 | Self::F64)
    }

    /// Whether the highest bit is a sign, in two's complement.
    pub fn is_signed(self) -> bool {
        matches!(self, Self::S8 | Self::S16 | Self::S32 | Self::S64)
    }

    /// The type of each element of a packed type (section 5.2.3).
    pub fn element(self) -> Option<Self> {
        match self {
            Self::F16x2 => Some(Self::F16),
            Self::Bf16x2 => Some(Self::Bf16),
            _ => None,
        }
    }
}

/// The value of the low `bits` of `value` as a signed number; of no bits, 0.
pub fn sign_extend(value: u64, bits: u32) -> i64 {
    let unused = 64u32.saturating_sub(bits);
    (value.checked_shl(unused).unwrap_or(0) as i64) >> unused.min(63)
}

/// So many ones in the low bits, and at most 128.
pub fn mask(bits: u32) -> u128 {
    u128::MAX.checked_shr(128 - bits.min(128)).unwrap_or(0)
}

/// The width in bits of a value, or of a vector of values.
pub fn width(vec: Option<VectorSize>, ty: Type) -> u32 {
    vec.map_or(1, |vec| vec.elements() as u32) * ty.bits()
}

/// What an `atom` or a `red` does to the memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rmw {
    /// What is computed of the old value and the operands.
    pub op: AtomOp,
    /// The number of elements, each of which is an operation of its own.
    pub vec: Option<VectorSize>,
    /// The type of an element.
    pub ty: Type,
    /// What becomes of subnormal numbers of type `f32`.
    pub subnormals: Subnormals,
}

/// What becomes of subnormal operands and results.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Subnormals {
    /// They are numbers like others.
    Kept,
    /// They are zeros of their sign.
    Flushed,
}

impl Rmw {
    /// An operation on one value, which keeps subnormal numbers.
    pub fn new(op: AtomOp, ty: Type) -> Self {
        Self { op, vec: None, ty, subnormals: Subnormals::Kept }
    }

    /// The new value of the memory (section 9.7.13, `atom`), element by element for a vector or packed type. `c` is the new
    /// value of a `cas`, whose `b` is the expected one.
    pub fn apply(self, old: u128, b: u128, c: Option<u128>) -> Option<u128> {
        let element = self.ty.element().unwrap_or(self.ty);
        let (total, bits) = (width(self.vec, self.ty), element.bits());
        if total > 128 {
            return None;
        }
        // A `cas` compares and writes all of it at once.
        let step = if self.op == AtomOp::Cas { total } else { bits };
        let part = |value: u128, at: u32| (value >> at) & mask(step);
        let one = |at: u32| {
            let c = c.map(|c| part(c, at));
            Some(self.element(element, part(old, at), part(b, at), c)? << at)
        };
        (0..total).step_by(step as usize).map(one).try_fold(0, |all, one| Some(all | one?))
    }

    fn element(self, ty: Type, old: u128, b: u128, c: Option<u128>) -> Option<u128> {
        let arithmetic = |op| alu(op, ty, &[old, b]);
        match self.op {
            AtomOp::Exch => Some(b),
            AtomOp::Cas => Some(if old == b { c? } else { old }),
            AtomOp::Inc if !ty.is_float() => Some(if old >= b { 0 } else { old + 1 }),
            AtomOp::Dec if !ty.is_float() => Some(if old == 0 || old > b { b } else { old - 1 }),
            AtomOp::Inc | AtomOp::Dec => None,
            AtomOp::Add if ty == Type::F32 && self.subnormals == Subnormals::Flushed => {
                alu(AluOp::AddRn, ty, &[flushed(old), flushed(b)]).map(flushed)
            }
            AtomOp::Add => arithmetic(AluOp::Add),
            AtomOp::Min => arithmetic(AluOp::Min),
            AtomOp::Max => arithmetic(AluOp::Max),
            AtomOp::And => arithmetic(AluOp::And),
            AtomOp::Or => arithmetic(AluOp::Or),
            AtomOp::Xor => arithmetic(AluOp::Xor),
        }
    }
}

/// A subnormal f32 as zero of its sign.
fn flushed(bits: u128) -> u128 {
    if f32::from_bits(bits as u32).is_subnormal() { bits & 0x8000_0000 } else { bits }
}

/// The most source operands that an instruction on registers has.
const SOURCES: usize = 4;

/// The result of an instruction on registers, of as many sources as it has.
pub fn alu(op: AluOp, ty: Type, sources: &[u128]) -> Option<u128> {
    if sources.len() != op.arity() {
        return None;
    }
    let mut operands = [0; SOURCES];
    for (index, (operand, source)) in operands.iter_mut().zip(sources).enumerate() {
        *operand = source & mask(op.source_type(ty, index).bits());
    }
    let value = match ty.element() {
        // The elements of a packed type are computed apart.
        Some(element) if !matches!(op, AluOp::Mov | AluOp::Selp) => {
            let half = |at: u32| Some((float(op, element, operands.map(|operand| operand >> at))? & mask(16)) << at);
            half(0)? | half(16)?
        }
        Some(_) => integer(op, ty, operands)?,
        None if ty.is_float() => float(op, ty, operands)?,
        None => integer(op, ty, operands)?,
    };
    Some(value & mask(op.result_type(ty).bits()))
}

/// What a result is limited to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Limit {
    None,
    /// `.sat`: from 0 to 1.
    Unit,
    /// `.relu`: not negative.
    Positive,
}

/// An instruction on registers and constants alone (sections 9.7.1 to 9.7.9). Registers that hold something packed have bits without
/// a type of their own here, but for pairs of halves.
///
/// A NaN is the one that GPUs give, all ones without a sign. Of `f64`, it is the first operand that is NaN, made quiet; where no
/// operand is, `0xFFF8000000000000`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Computation {
    /// Arithmetic on integers and bits, and moves of anything. A division by zero gives all ones, and so does its remainder, as on
    /// GPUs; PTX leaves it open.
    Alu(AluOp, Type),
    /// `setp` of one comparison: 1 where it holds, 0 where it does not. The second result is the opposite.
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
    /// `setp` with more modifiers or of pairs, and `set`.
    Compare(Compare),
    /// `slct`.
    Slct(Select),
    /// `cvt` of floating-point numbers, or to them, or with `.sat`.
    Convert(Conversion),
    /// `cvt.pack`.
    Pack(Pack),
}

/// What an instruction gives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Outcome {
    /// As many results as there are, and 0 for others.
    pub results: [u128; 2],
    /// The new carry flag, where the instruction writes it.
    pub carry: Option<bool>,
}

impl Computation {
    /// What a mnemonic and all of its modifiers name; `None` if PTX has no such instruction, or it computes something else.
    /// An integer type may have another sign than PTX asks for, or none. As for ptxas, the order of types alone counts.
    pub fn of(mnemonic: &str, modifiers: &[&str]) -> Option<Self> {
        if let Some(found) = read::read(mnemonic, modifiers) {
            return Some(found);
        }
        let is_number = |ty: &Type| ty.is_float() || ty.element().is_some();
        match (mnemonic, modifiers) {
            ("setp", [cmp, ty]) => {
                let ty = ty.parse().ok().filter(|ty| !is_number(ty))?;
                Some(Self::Setp(cmp.parse().ok()?, ty))
            }
            ("cvt", [to, from]) => {
                let [to, from] = [to, from].map(|ty| ty.parse().ok().filter(|ty| !is_number(ty)));
                Some(Self::Cvt { to: to?, from: from? })
            }
            _ => {
                let op = AluOp::of(mnemonic, modifiers)?;
                let mut rest = modifiers.iter().filter(|word| !op.modifiers().any(|own| own == **word));
                let ty: Type = rest.next()?.parse().ok()?;
                let is_whole = matches!(op, AluOp::Mov | AluOp::Selp) || !is_number(&ty);
                (rest.next().is_none() && is_whole && op.takes(ty)).then_some(Self::Alu(op, ty))
            }
        }
    }

    /// What `of` takes beyond the arithmetic on integers that [`AluOp`] has: mnemonics with their modifiers.
    pub fn forms() -> impl Iterator<Item = String> {
        read::forms()
    }

    /// The number of source operands; of those in braces, each counts.
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
        }
    }

    /// Whether there is a form of so many source operands: `min` and `max` of `f32` also have one of three.
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
        }
    }

    /// The number of results: two of `setp`, of which a kernel may take the first alone, and of `lop3` with a predicate.
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
        }
    }

    /// The type of each result: a second one is a predicate.
    pub fn result_types(self) -> impl Iterator<Item = Type> {
        [self.result_type(), Type::Pred].into_iter().take(self.results())
    }

    /// Whether the result depends on the carry flag.
    pub fn uses_carry(self) -> bool {
        matches!(self, Self::Alu(AluOp::Addc | AluOp::Subc, _) | Self::Extended(Extended::Carry { takes: true, .. }))
    }

    /// The first result for as many sources as there are; `None` if it depends on the carry flag.
    pub fn apply(self, sources: &[u128]) -> Option<u128> {
        if self.uses_carry() { None } else { self.execute(sources, false).map(|outcome| outcome.results[0]) }
    }

    /// What the instruction gives for as many sources as there are, and a carry flag. `None` if there are not as many.
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
            _ => return None,
        };
        Some(Outcome { results, carry })
    }
}

impl AluOp {
    /// Whether there is such an instruction on this type.
    pub fn takes(self, ty: Type) -> bool {
        match self {
            Self::AddCc | Self::SubCc | Self::Addc | Self::Subc => {
                !ty.is_float() && ty.element().is_none() && matches!(ty.bits(), 32 | 64)
            }
            _ => alu(self, ty, &[1; SOURCES][..self.arity()]).is_some(),
        }
    }
}
