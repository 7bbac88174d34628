//! The operations whose lanes ptxas combines in a warp. Lanes that reach an `atom` or `red` together vote (`VOTE`). A
//! leader lane executes it for all lanes with the combined operand, and the other lanes compute their results from the
//! leader's (`SHFL`, `REDUX`).
//!
//! Measured with ptxas 12.9 and 13.5 for GPUs from sm_75 to sm_121; `tests/sass.rs` assembles a sample of the
//! measurements. Both assemblers and all scopes agree. Combining requires
//!
//! - one address for all lanes, as far as ptxas can tell: a variable, a parameter, an address that is computed from the
//!   block index, or loaded from such an address. An address that depends on the thread index does not qualify;
//! - more than one lane: inside `if (threadIdx.x == 0)` nothing is combined;
//! - an operation of [`COMBINED`].
//!
//! Before sm_90 the barriers of such an instruction are in all lanes. From sm_90 on, all of them, `MEMBAR`, `ERRBAR`,
//! `CGAERRBAR` and `CCTL`, have the leader's predicate. The barriers of a fence are in all lanes on every GPU, even if
//! the adjacent relaxed `atom` is combined.
//!
//! By the manual ('PTX ISA', memory consistency model) each thread releases its writes, and each thread acquires. No
//! document states whether the leader's barriers have this effect for the other lanes of its warp. Only a test on a GPU
//! could show that they do not, and none has been run so far.

use super::{access::ResultUse, family::Family};
use crate::ptx::{Atom, AtomOp, AtomSem, Instruction, Operand, Red, RedSem, Type};

/// Operations that ptxas combines.
#[derive(Clone, Copy, Debug)]
pub struct Combined {
    /// The operations.
    pub ops: &'static [AtomOp],
    /// The types on which they are combined.
    pub types: &'static [Type],
    /// Whether the operand must be the same in all lanes.
    pub one_operand: bool,
    /// Whether no later instruction may read the result. Before sm_90 an acquire counts as a reader.
    pub unread: bool,
}

/// The combined operations, with the conditions of each.
#[rustfmt::skip]
pub const COMBINED: &[Combined] = {
    use AtomOp::*;
    use Type::*;
    &[
        Combined { ops: &[Add],          types: &[U32, S32], one_operand: false, unread: false },
        Combined { ops: &[Add],          types: &[U64],      one_operand: true,  unread: false },
        Combined { ops: &[Min, Max],     types: &[U32, S32], one_operand: false, unread: true },
        Combined { ops: &[And, Or, Xor], types: &[B32],      one_operand: false, unread: true },
    ]
};

/// Whether the leader may execute the barriers of an `atom` or `red` with acquire or release for all lanes of its warp.
pub fn leader_orders(instruction: &Instruction, family: Family) -> bool {
    let ordered = match instruction {
        Instruction::Atom(Atom { sem, .. }) => !matches!(sem, None | Some(AtomSem::Relaxed)),
        Instruction::Red(Red { sem, .. }) => *sem == Some(RedSem::Release),
        _ => false,
    };
    family >= Family::Sm90 && ordered && row(instruction).is_some()
}

/// The operands of an `atom` or `red` in the lanes of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LaneOperands {
    /// All lanes have the same operand.
    Equal,
    /// Lanes may have different operands.
    Different,
}

/// Whether ptxas combines the lanes of an `atom` or `red` at one address.
pub fn combines(instruction: &Instruction, operands: LaneOperands, result: ResultUse, family: Family) -> bool {
    let acquires = matches!(instruction, Instruction::Atom(Atom { sem: Some(AtomSem::Acquire | AtomSem::AcqRel), .. }));
    let read = result == ResultUse::Read || (acquires && family < Family::Sm90);
    row(instruction).is_some_and(|row| {
        (operands == LaneOperands::Equal || !row.one_operand)
            && !(read && row.unread)
            && (read || !counts_lanes(instruction, family))
    })
}

/// Whether the instruction becomes `ATOMS.POPC.INC`, which counts the lanes itself.
fn counts_lanes(instruction: &Instruction, family: Family) -> bool {
    match instruction {
        Instruction::Atom(Atom { op, space, ty, b, .. }) | Instruction::Red(Red { op, space, ty, b, .. }) => {
            let counts = space.is_shared_cta() && family >= Family::Sm80;
            counts && (*op, *ty) == (AtomOp::Add, Type::U32) && *b == Operand::Immediate(1)
        }
        _ => false,
    }
}

fn row(instruction: &Instruction) -> Option<&'static Combined> {
    let (op, ty, vec) = match instruction {
        Instruction::Atom(Atom { op, ty, vec, .. }) | Instruction::Red(Red { op, ty, vec, .. }) => (op, ty, vec),
        _ => return None,
    };
    COMBINED.iter().find(|row| row.ops.contains(op) && row.types.contains(ty) && vec.is_none())
}
