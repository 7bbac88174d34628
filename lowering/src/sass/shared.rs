//! The operations of shared memory: the instruction `ATOMS`, from the manual of the assembler language (SPA 5.0,
//! 'Atomic Operation', 'Atomic Compare and Swap', 'Atomic Compare and Store').
//!
//! The address is a 32-bit register plus a signed 24-bit immediate, or an unsigned immediate alone. The immediate is a
//! multiple of 4, and the address is a multiple of the size. ptxas expands operations outside the table to a loop of
//! `CAS`, or of the cheaper `CAST.SPIN`.
//!
//! The measurements show that sm_90 also has `ATOMS.EXCH.128` and `ATOMS.CAS.128`, which are newer than the manual.

use strum::{Display, EnumIter};

/// An operation of `ATOMS`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumIter)]
#[strum(serialize_all = "UPPERCASE")]
pub enum AtomsOp {
    /// Addition.
    Add,
    /// Minimum.
    Min,
    /// Maximum.
    Max,
    /// Increment with a bound.
    Inc,
    /// Decrement with a bound.
    Dec,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
    /// Exchange.
    Exch,
    /// Compare and swap.
    Cas,
    /// Compare and store: returns success instead of the old value. With `.SPIN`, only one of the threads that access
    /// the same bank tries, and the other threads fail at once, which is cheaper under contention.
    Cast,
}

/// The size and signedness of the value. `.32` and `.64` mean `.U32` and `.U64`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display)]
#[strum(serialize_all = "UPPERCASE")]
pub enum Size {
    /// An unsigned integer of 32 bits, or any 32 bits.
    U32,
    /// A signed integer of 32 bits.
    S32,
    /// An unsigned integer of 64 bits, or any 64 bits.
    U64,
}

/// A line of the manual's table.
#[derive(Clone, Copy, Debug)]
pub struct Atoms {
    /// The operation.
    pub op: AtomsOp,
    /// The supported sizes.
    pub sizes: &'static [Size],
    /// The new values of the memory `M` and the result `Rd`, as one atomic step.
    pub effect: &'static str,
}

/// The operations, in the manual's order.
#[rustfmt::skip]
pub const ATOMS: &[Atoms] = {
    use AtomsOp::*;
    use Size::*;
    const WORD: &[Size] = &[U32, S32];
    const ANY: &[Size] = &[U32, S32, U64];
    &[
        Atoms { op: Add,  sizes: WORD,   effect: "Rd = M; M = M + Rb" },
        Atoms { op: Min,  sizes: WORD,   effect: "Rd = M; M = min(M, Rb)" },
        Atoms { op: Max,  sizes: WORD,   effect: "Rd = M; M = max(M, Rb)" },
        Atoms { op: Inc,  sizes: &[U32], effect: "Rd = M; M = M >= Rb ? 0 : M + 1" },
        Atoms { op: Dec,  sizes: &[U32], effect: "Rd = M; M = M == 0 || M > Rb ? Rb : M - 1" },
        Atoms { op: And,  sizes: WORD,   effect: "Rd = M; M = M & Rb" },
        Atoms { op: Or,   sizes: WORD,   effect: "Rd = M; M = M | Rb" },
        Atoms { op: Xor,  sizes: WORD,   effect: "Rd = M; M = M ^ Rb" },
        Atoms { op: Exch, sizes: ANY,    effect: "Rd = M; M = Rb" },
        Atoms { op: Cas,  sizes: ANY,    effect: "Rd = M; M = M == Rb ? Rc : M" },
        Atoms { op: Cast, sizes: ANY,    effect: "Rd = M == Rb; M = M == Rb ? Rc : M" },
    ]
};

impl Size {
    /// The alignment of the registers that hold the expected value of `CAS` and `CAST`: the first register's number is
    /// a multiple of it.
    pub fn expected_alignment(self) -> u32 {
        match self {
            Self::U32 | Self::S32 => 2,
            Self::U64 => 4,
        }
    }

    /// The distance, in registers, from the expected value to the new value. `Rb` is never `RZ`; `Rc` may be.
    pub fn new_value_offset(self) -> u32 {
        self.expected_alignment() / 2
    }
}

#[cfg(test)]
mod tests {
    use strum::IntoEnumIterator;

    use super::*;
    use crate::{
        ptx::{AtomOp, Statement, Type, takes},
        sass::{Family, ResultUse, Sass},
    };

    /// In the measurements, the manual's operations became a single instruction, and all other operations a loop.
    #[test]
    fn the_manual_agrees_with_the_measurements() {
        let native = |op: AtomOp, ty: Type| {
            let name = op.to_string().to_uppercase();
            let size = match ty {
                Type::U32 | Type::B32 => Size::U32,
                Type::S32 => Size::S32,
                Type::B64 | Type::U64 => Size::U64,
                _ => return false,
            };
            ATOMS.iter().any(|atoms| atoms.op.to_string() == name && atoms.sizes.contains(&size))
        };
        let mut compared = 0;
        for (op, ty) in AtomOp::iter().flat_map(|op| Type::iter().map(move |ty| (op, ty))) {
            if ty == Type::B128 || takes(op, false, None, ty).is_none() {
                continue;
            }
            let c = if op == AtomOp::Cas { ", %c" } else { "" };
            let text = format!("atom.relaxed.cta.shared.{op}.{ty} %d, [%a], %b{c};");
            let statement: Statement = text.parse().expect(&text);
            let instruction = statement.instruction().expect("an instruction");
            for family in Family::iter().skip(1) {
                let sass = Sass::from_instruction(instruction, ResultUse::Read, family).expect(&text);
                assert_eq!(sass.opcodes().len() == 1, native(op, ty), "{text} {sass}");
                compared += 1;
            }
        }
        assert_eq!(compared, 4 * 26);
    }

    #[test]
    fn the_registers_of_a_compare_and_swap_are_pairs() {
        assert_eq!([Size::U32, Size::U64].map(|s| (s.expected_alignment(), s.new_value_offset())), [(2, 1), (4, 2)]);
    }
}
