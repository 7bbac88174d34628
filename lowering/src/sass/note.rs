//! What ptxas does with a sequence that a list of opcodes does not say.

use strum::{EnumIter, EnumMessage, IntoEnumIterator, IntoStaticStr};

use super::{Family, LaneOperands, ResultUse, Sass, combines, leader_orders, loses_ordering};
use crate::{
    ptx::{Atom, AtomOp, Instruction, Red},
    sequence::Sequence,
};

/// What ptxas does with a sequence, beyond its opcodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, EnumIter, EnumMessage, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Note {
    /// It makes a loop of one instruction.
    #[strum(message = "ptxas makes a loop of compare-and-swap of this instruction")]
    Loop,
    /// [`loses_ordering`].
    #[strum(message = "ptxas drops the ordering of this instruction where it makes a loop of it")]
    LosesOrdering,
    /// [`combines`], where the lanes have the same operand.
    #[strum(message = "ptxas has one lane of a warp do it for all lanes that share the address and the operand")]
    Combines,
    /// [`leader_orders`].
    #[strum(message = "that lane alone executes the barriers")]
    LeaderOrders,
}

impl Note {
    /// The notes on a sequence whose result is read.
    pub fn of_sequence(sequence: &Sequence, family: Family) -> impl Iterator<Item = Self> {
        Self::iter().filter(move |note| sequence.instructions().any(|instruction| note.is_of(instruction, family)))
    }

    fn is_of(self, instruction: &Instruction, family: Family) -> bool {
        match self {
            Self::Loop => is_loop(instruction, family),
            Self::LosesOrdering => loses_ordering(instruction, family),
            // Older GPUs were not measured.
            Self::Combines => {
                family >= Family::Sm70 && combines(instruction, LaneOperands::Equal, ResultUse::Read, family)
            }
            Self::LeaderOrders => leader_orders(instruction, family),
        }
    }
}

/// Whether ptxas makes a loop of an `atom` or `red`: it then swaps, though that is not asked.
fn is_loop(instruction: &Instruction, family: Family) -> bool {
    let (Instruction::Atom(Atom { op, .. }) | Instruction::Red(Red { op, .. })) = instruction else { return false };
    let swaps = |sass: Sass| sass.opcodes().iter().any(|opcode| opcode.contains(".CAS"));
    *op != AtomOp::Cas && Sass::of(instruction, ResultUse::Read, family).is_some_and(swaps)
}
