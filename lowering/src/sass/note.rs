//! Notes on ptxas's treatment of a sequence, in addition to its opcodes.

use strum::{EnumIter, EnumMessage, IntoEnumIterator, IntoStaticStr};

use super::{Family, LaneOperands, ResultUse, Sass, combines, leader_orders, loses_ordering};
use crate::{
    ptx::{Atom, AtomOp, Instruction, Red},
    sequence::Sequence,
};

/// A treatment of a sequence by ptxas that a list of opcodes does not show.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, EnumIter, EnumMessage, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Note {
    /// ptxas expands an instruction to a loop.
    #[strum(message = "ptxas makes a loop of compare-and-swap of this instruction")]
    Loop,
    /// [`loses_ordering`].
    #[strum(message = "ptxas drops the ordering of this instruction where it makes a loop of it")]
    LosesOrdering,
    /// [`combines`], if the lanes have the same operand.
    #[strum(message = "one lane of a warp does it for all lanes with the same address and operand")]
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

/// Whether ptxas expands an `atom` or `red` to a loop: its opcodes then contain a swap that the instruction does not
/// name.
fn is_loop(instruction: &Instruction, family: Family) -> bool {
    let (Instruction::Atom(Atom { op, .. }) | Instruction::Red(Red { op, .. })) = instruction else { return false };
    let swaps = |sass: Sass| sass.opcodes().iter().any(|opcode| opcode.contains(".CAS"));
    *op != AtomOp::Cas && Sass::from_instruction(instruction, ResultUse::Read, family).is_some_and(swaps)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ptx::Statement;

    fn check(text: &str, family: Family, expected: &[&str]) {
        let statement: Statement = text.parse().expect(text);
        let sequence: Sequence = [statement].into_iter().collect();
        let notes: Vec<&str> = Note::of_sequence(&sequence, family).map(Into::into).collect();
        assert_eq!(notes, expected, "{text} for {family}");
    }

    #[test]
    fn notes() {
        use Family::{Sm50, Sm70, Sm90};
        check("atom.acq_rel.gpu.global.add.u32 %d, [%a], %b;", Sm70, &["combines"]);
        check("atom.acq_rel.gpu.global.add.u32 %d, [%a], %b;", Sm90, &["combines", "leader-orders"]);
        check("atom.global.add.u32 %d, [%a], %b;", Sm50, &[]);
        check("atom.relaxed.cta.shared.add.u64 %d, [%a], %b;", Sm90, &["loop", "combines"]);
        check(
            "atom.acq_rel.cta.shared.add.u64 %d, [%a], %b;",
            Sm90,
            &["loop", "loses-ordering", "combines", "leader-orders"],
        );
        check("atom.relaxed.cta.global.and.b64 %d, [%a], %b;", Sm90, &[]);
        check("atom.relaxed.cta.shared.cas.b64 %d, [%a], %b, %c;", Sm90, &[]);
        check("fence.acq_rel.gpu;", Sm90, &[]);
    }
}
