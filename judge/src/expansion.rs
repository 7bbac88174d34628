//! The instructions that one operation can become: compare-and-swap loops, their first reads, and the fences around.

use std::collections::HashSet;

use ptx_atomics_lowering::{
    AtomicOp, Operation, SyncScope,
    ptx::{
        Address, AluOp, Atom, AtomOp, Instruction, Ld, Name, Operand,
        flow::{Direction, NodeCode},
    },
};

use crate::{
    cas_loop::keeps_value,
    event::{MemoryEvent, fence, touches_memory},
    flow::Flow,
};

/// The longest chain of copies of an address that is followed.
const MOST_COPIES: usize = 16;

/// The widest value of a `cas`, in bytes. Its halves stand side by side.
const WIDEST: i64 = 16;

/// Whether anything must stand for an operation: not if no other thread takes part.
pub fn needs_instruction(op: &AtomicOp) -> bool {
    let is_compiler_fence = op.operation == Operation::Fence && op.scope == SyncScope::SingleThread;
    !is_compiler_fence && !op.operation.access().is_some_and(|access| access.is_private())
}

/// Whether an `atom` is that of a loop that an operation becomes. A `cas` of just the bits that a `cmpxchg` compares is
/// none: the program computes the value that it expects, and may have read it by a plain load.
pub fn is_loop(op: &AtomicOp, atom: &Atom) -> bool {
    atom.op == AtomOp::Cas
        && match op.operation {
            Operation::CmpXchg { access, .. } => access.ty.bits() != atom.ty.bits(),
            Operation::Rmw(..) => true,
            _ => false,
        }
}

/// The first reads of a compiler's loop: reads of the same place from which the expected value of a `cas` is computed,
/// of as many bits as it compares. A narrower one is the program's.
pub fn first_reads(flow: &Flow<'_>, cas: usize, atom: &Atom) -> Vec<usize> {
    let base = address(flow, &atom.a.base);
    let is_same =
        |a: &Address| address(flow, &a.base) == base && (0..WIDEST).contains(&a.offset.wrapping_sub(atom.a.offset));
    let reads_place = |node: usize| match flow.instruction(node) {
        Some(Instruction::Ld(Ld { a, vec, ty, .. })) => {
            is_same(a) && (vec.is_some() || ty.bits() == atom.ty.bits() || 2 * ty.bits() == atom.ty.bits())
        }
        Some(Instruction::Atom(read)) => {
            node != cas && keeps_value(flow, node) && is_same(&read.a) && read.ty == atom.ty
        }
        _ => false,
    };
    let mut seen = HashSet::new();
    let mut names: Vec<(usize, &Name)> = atom.b.registers().map(|name| (cas, name)).collect();
    let mut reads = Vec::new();
    while let Some((at, name)) = names.pop() {
        for node in flow.definitions(at, name) {
            if !seen.insert((node, name)) {
                continue;
            }
            if reads_place(node) && MemoryEvent::of(flow, node).is_some() {
                if !reads.contains(&node) {
                    reads.push(node);
                }
            } else if !touches_memory(flow, node) {
                names.extend(flow.nodes[node].code.reads().map(|name| (node, name)));
            }
        }
    }
    reads
}

/// The register that an address was copied from.
fn address(flow: &Flow<'_>, base: &Name) -> Name {
    let mut name = base;
    for _ in 0..MOST_COPIES {
        let [writer] = flow.writers(name) else { break };
        name = match flow.nodes[*writer].code {
            NodeCode::Instruction(Instruction::Alu { op: AluOp::Mov, sources, .. }) => match &sources[..] {
                [Operand::Register(source)] => source,
                _ => break,
            },
            NodeCode::Other(other) if other.base() == "cvta" => match &other.reads[..] {
                [source] => source,
                _ => break,
            },
            _ => break,
        };
    }
    name.clone()
}

/// The fences that no access of another operation separates from these nodes.
pub fn fences_around(flow: &Flow<'_>, group: &[usize]) -> Vec<usize> {
    let foreign = |node: usize| !group.contains(&node) && touches_memory(flow, node);
    let mut around = Vec::new();
    for (&node, direction) in group.iter().flat_map(|node| [(node, Direction::Backward), (node, Direction::Forward)]) {
        let reached = flow.reached(node, direction, foreign);
        around.extend((0..reached.len()).filter(|node| reached[*node] && fence(flow, *node).is_some()));
    }
    around
}
