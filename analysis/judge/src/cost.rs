//! The costs of an [alignment](crate::align).
//!
//! Every match costs less than an operation without an instruction (at most 18, against 20), so an operation is left
//! only if no instruction fits. Two operations that change places break two relations or more, which cost 16: a match
//! of the same kind and width elsewhere then gains nothing, unless the one at hand is of another kind.

use ptx_lowering::{
    AtomicOp, Operation, RmwOp,
    ptx::{Atom, AtomOp, Instruction, Red, Space},
};

use crate::{
    cas_loop::keeps_value,
    event::{MemoryEvent, fence},
    expansion::{is_divided, is_expansion, needs_instruction},
    flow::Flow,
};

/// The cost of a match; `None` if the instruction cannot implement the operation.
pub type Fit = Option<u8>;

/// An operation without an instruction.
const UNMATCHED_OPERATION: u32 = 20;
/// An `atom` or `red` that implements no operation.
const UNMATCHED_RMW: u32 = 5;
/// A strong load or store that implements no operation. A weak one belongs to the program, and costs nothing.
const UNMATCHED_STRONG_ACCESS: u32 = 1;
/// A relation between two matched operations that their instructions do not have, or a relation of the instructions
/// that the operations do not have.
pub const RELATION: u32 = 8;
/// An operation that needs a fence for its ordering and has none left.
pub const LACKING_FENCE: u32 = 1;

/// An instruction that performs exactly this operation.
const EXACT: u8 = 0;
/// A loop of compare-and-swap for an rmw.
const RMW_BY_CAS: u8 = 1;
/// Two `atom`s for an rmw; only one of them executes.
const RMW_BY_CHOICE: u8 = 1;
/// A weak load or store.
const WEAK: u8 = 2;
/// An `atom` or `red` that computes a different result.
const OTHER_RMW: u8 = 6;
/// A load by `atom`, or a store by `atom.exch` or a loop of compare-and-swap.
const PLAIN_BY_ATOM: u8 = 8;
/// An access to a part of the value.
const NARROWER: u8 = 8;
/// A load of a part of a word with the rest of the word.
const WIDER: u8 = 1;
/// An rmw by load, arithmetic and store. Other threads observe the store.
const RMW_BY_STORE: u8 = 10;

/// The cost of leaving an operation without an instruction.
pub fn of_leaving(op: &AtomicOp) -> u32 {
    if needs_instruction(op) { UNMATCHED_OPERATION } else { 0 }
}

/// The cost of leaving an instruction without an operation.
pub fn of_skipping(flow: &Flow<'_>, node: usize) -> u32 {
    match MemoryEvent::from_node(flow, node) {
        Some(event) if event.is_rmw() && !keeps_value(flow, node) => UNMATCHED_RMW,
        Some(event) if event.strong.is_some() => UNMATCHED_STRONG_ACCESS,
        _ => 0,
    }
}

/// The cost of an instruction that implements an operation.
pub fn of_match(op: &AtomicOp, flow: &Flow<'_>, node: usize) -> Fit {
    let Some(asked) = op.operation.access() else { return of_fence(flow, node) };
    let found = MemoryEvent::from_node(flow, node)?;
    if !may_be(asked.space, found.space) {
        return None;
    }
    let bits = asked.ty.bits();
    let is_rmw = op.operation.reads() && op.operation.writes();
    let by_cas = op.operation.writes() && flow.cas(node).is_some();
    let is_strong_load = op.operation == Operation::Load(asked) && !found.writes && found.strong.is_some();
    let width = match found.bits {
        width if width == bits || is_divided(op, flow, node) => EXACT,
        32 if (is_rmw || by_cas) && bits < 32 => EXACT,
        16 | 32 if is_strong_load && bits < found.bits => WIDER,
        width if width < bits => NARROWER,
        _ => return None,
    };
    let weak = if found.strong.is_none() { WEAK } else { EXACT };
    let kind = match (op.operation, flow.instruction(node)?) {
        (Operation::Load(_), Instruction::Ld(_)) | (Operation::Store(_), Instruction::St(_)) => weak,
        (Operation::Load(_), Instruction::Atom(_)) => PLAIN_BY_ATOM,
        (Operation::Store(_), Instruction::Atom(Atom { op: AtomOp::Exch, .. })) => PLAIN_BY_ATOM,
        (Operation::CmpXchg { .. }, Instruction::Atom(Atom { op: AtomOp::Cas, .. })) => EXACT,
        (Operation::Rmw(..) | Operation::Store(_), Instruction::Atom(Atom { op: AtomOp::Cas, .. }))
            if keeps_value(flow, node) =>
        {
            return None;
        }
        (Operation::Rmw(..), Instruction::Atom(Atom { op: AtomOp::Cas, .. })) => RMW_BY_CAS,
        (Operation::Store(_), Instruction::Atom(Atom { op: AtomOp::Cas, .. })) => PLAIN_BY_ATOM,
        (Operation::Rmw(..), Instruction::Atom(_)) if is_expansion(op, flow, node) => RMW_BY_CHOICE,
        (Operation::Rmw(rmw, _), Instruction::Atom(Atom { op, .. }) | Instruction::Red(Red { op, .. })) => {
            if native(rmw) == Some(*op) { EXACT } else { OTHER_RMW }
        }
        (Operation::Rmw(..) | Operation::CmpXchg { .. }, Instruction::St(_)) => RMW_BY_STORE,
        _ => return None,
    };
    Some(kind + width)
}

/// The cost of an instruction that implements a fence. Any fence can.
pub fn of_fence(flow: &Flow<'_>, node: usize) -> Fit {
    fence(flow, node).map(|_| EXACT)
}

/// Whether an address of one state space may be written as an address of another.
fn may_be(asked: Space, found: Space) -> bool {
    match (asked, found) {
        (Space::Generic, _) | (_, Space::Generic) => true,
        (asked, found) if asked.is_shared_cta() => found.is_shared(),
        (asked, found) => asked == found,
    }
}

/// The operation of `atom` that computes the same result.
fn native(op: RmwOp) -> Option<AtomOp> {
    Some(match op {
        RmwOp::Xchg => AtomOp::Exch,
        RmwOp::Add | RmwOp::Sub | RmwOp::FAdd | RmwOp::FSub => AtomOp::Add,
        RmwOp::And => AtomOp::And,
        RmwOp::Or => AtomOp::Or,
        RmwOp::Xor => AtomOp::Xor,
        RmwOp::Max | RmwOp::UMax => AtomOp::Max,
        RmwOp::Min | RmwOp::UMin => AtomOp::Min,
        RmwOp::UIncWrap => AtomOp::Inc,
        RmwOp::UDecWrap => AtomOp::Dec,
        _ => return None,
    })
}
