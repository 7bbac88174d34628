//! The instructions that one operation can become: compare-and-swap loops, their first reads, two `atom`s on the two
//! sides of a branch, and the fences around.

use std::collections::HashSet;

use ptx_lowering::{
    AtomicOp, Operation, RmwOp, SyncScope,
    ptx::{
        Address, AluOp, Atom, AtomOp, Cmp, Instruction, Ld, Name, Operand, Type,
        flow::{Direction, NodeCode},
    },
};

use crate::{
    cas_loop::{Origin, keeps_value, origin},
    event::{MemoryEvent, fence, touches_memory},
    flow::Flow,
};

/// The longest chain of copies of an address that is followed.
const MOST_COPIES: usize = 16;

/// The widest value of a `cas`, in bytes. Its halves are adjacent.
const WIDEST: i64 = 16;

/// The width of a value that is divided, in bits: no compare-and-swap before sm_90 is as wide.
const DIVIDED: u32 = 128;

/// Whether an operation needs an instruction: not if no other thread can observe it.
pub fn needs_instruction(op: &AtomicOp) -> bool {
    let is_compiler_fence = op.operation == Operation::Fence && op.scope == SyncScope::SingleThread;
    !is_compiler_fence && !op.operation.access().is_some_and(|access| access.is_private())
}

/// Whether a node is one of several instructions that an operation becomes.
pub fn is_expansion(op: &AtomicOp, flow: &Flow<'_>, node: usize) -> bool {
    match flow.instruction(node) {
        Some(Instruction::Atom(atom)) => {
            is_loop(op, atom) || is_chosen(op, atom) && choice(flow, node).is_some() || is_divided(op, flow, node)
        }
        _ => false,
    }
}

/// Whether an `atom` is the one of a loop that an operation becomes. A `cas` of exactly the bits that a `cmpxchg`
/// compares does not count: the program computes the value that it expects, and may have read it by a plain load.
pub fn is_loop(op: &AtomicOp, atom: &Atom) -> bool {
    atom.op == AtomOp::Cas
        && match op.operation {
            Operation::CmpXchg { access, .. } => access.ty.bits() != atom.ty.bits(),
            Operation::Rmw(..) | Operation::Store(_) => true,
            _ => false,
        }
}

/// Whether an `atom` is the first of several that add the elements of a vector. Each element is atomic by itself.
pub fn is_divided(op: &AtomicOp, flow: &Flow<'_>, node: usize) -> bool {
    let Operation::Rmw(RmwOp::FAdd | RmwOp::FSub, access) = op.operation else { return false };
    access.ty.lanes() > 1 && access.ty.bits() == DIVIDED && elements(flow, node).is_some()
}

/// The `atom`s that add 128 bits in parts of 32, from the first: they have consecutive locations, and no other access
/// lies between.
pub fn elements(flow: &Flow<'_>, node: usize) -> Option<Vec<usize>> {
    let addition = |node: usize| match flow.instruction(node) {
        Some(Instruction::Atom(atom)) if atom.op == AtomOp::Add && atom.vec.is_none() => {
            let is_part = matches!(atom.ty, Type::F32 | Type::F16x2 | Type::Bf16x2);
            (is_part && flow.nodes[node].guard.is_none()).then_some(atom)
        }
        _ => None,
    };
    let first = addition(node)?;
    let base = copied_from(flow, &first.a.base);
    let follows = |atom: &Atom, bytes: i64| {
        let is_place = atom.a.offset == first.a.offset.wrapping_add(bytes) && copied_from(flow, &atom.a.base) == base;
        is_place && (atom.ty, atom.space, atom.sem, atom.scope) == (first.ty, first.space, first.sem, first.scope)
    };
    let (mut all, mut at) = (vec![node], node);
    while 32 * (all.len() as u32) < DIVIDED {
        at = match flow.nodes[at].next[..] {
            [next] if flow.nodes[next].previous.len() == 1 => next,
            _ => return None,
        };
        match addition(at) {
            Some(atom) if follows(atom, 4 * all.len() as i64) => all.push(at),
            _ if touches_memory(flow, at) || fence(flow, at).is_some() => return None,
            _ => {}
        }
    }
    Some(all)
}

/// Two `atom`s, and the branch that chooses between them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Choice {
    /// The branch.
    pub fork: usize,
    /// The two `atom`s, in the order of the text.
    pub atoms: [usize; 2],
}

/// Whether an `atom` is one of two that an operation becomes, if a branch chooses between them: a maximum or minimum of
/// floats can be one of integers, depending on the sign of the operand.
fn is_chosen(op: &AtomicOp, atom: &Atom) -> bool {
    use RmwOp::{FMax, FMaximum, FMaximumNum, FMin, FMinimum, FMinimumNum};
    let extremum = [FMax, FMaximum, FMaximumNum, FMin, FMinimum, FMinimumNum];
    matches!(op.operation, Operation::Rmw(op, _) if extremum.contains(&op))
        && matches!(atom.op, AtomOp::Max | AtomOp::Min)
}

/// The choice that an `atom` belongs to: both `atom`s access the same location, on paths that begin at one branch, meet
/// again, and have no other memory access.
pub fn choice(flow: &Flow<'_>, node: usize) -> Option<Choice> {
    let neighbors = |node: usize| (&flow.nodes[node].previous[..], &flow.nodes[node].next[..]);
    let is_plain = |node: usize| !touches_memory(flow, node);
    let atom = |node: usize| match flow.instruction(node) {
        Some(Instruction::Atom(atom)) if flow.nodes[node].guard.is_none() => Some(atom),
        _ => None,
    };
    let atom_after = |mut place: usize| {
        while atom(place).is_none() {
            place = match neighbors(place) {
                ([_], [next]) if is_plain(place) => *next,
                _ => return None,
            };
        }
        (neighbors(place).0.len() == 1).then_some(place)
    };
    let end_after = |mut place: usize| {
        while let [next] = *neighbors(place).1 {
            place = next;
            match neighbors(place).0 {
                [_] if is_plain(place) => {}
                [_] => return None,
                _ => return Some(place),
            }
        }
        None
    };
    let mut fork = node;
    while let [previous] = *neighbors(fork).0 {
        fork = previous;
        if neighbors(fork).1.len() > 1 || !is_plain(fork) {
            break;
        }
    }
    let [x, y] = *neighbors(fork).1 else { return None };
    let atoms = [atom_after(x)?, atom_after(y)?];
    let [first, second] = [atom(atoms[0])?, atom(atoms[1])?];
    let place = |atom: &Atom| (atom.space, atom.a.clone(), atom.vec, atom.ty.bits());
    let is_same = place(first) == place(second);
    let meet = end_after(atoms[0]).is_some_and(|end| end_after(atoms[1]) == Some(end));
    let is_choice = atoms.contains(&node) && atoms[0] != atoms[1] && is_same && meet;
    is_choice.then_some(Choice { fork, atoms: [atoms[0].min(atoms[1]), atoms[0].max(atoms[1])] })
}

/// The companions of a node that implements an operation: for a compare-and-swap loop its first reads; for two `atom`s
/// the second, because the first represents both; for elements all except the first.
pub fn companions(flow: &Flow<'_>, node: usize) -> Vec<usize> {
    if let Some(cas) = flow.cas(node) {
        return first_reads(flow, node, cas);
    }
    match choice(flow, node) {
        Some(Choice { atoms: [first, second], .. }) if first == node => vec![second],
        _ => elements(flow, node).map(|all| all[1..].to_vec()).unwrap_or_default(),
    }
}

/// The first reads of a compiler's loop: reads of the same location from which the expected value of a `cas` is
/// computed, of as many bits as it compares. A narrower read belongs to the program.
fn first_reads(flow: &Flow<'_>, cas: usize, atom: &Atom) -> Vec<usize> {
    let base = copied_from(flow, &atom.a.base);
    let is_same =
        |a: &Address| copied_from(flow, &a.base) == base && (0..WIDEST).contains(&a.offset.wrapping_sub(atom.a.offset));
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
            if reads_place(node) && MemoryEvent::from_node(flow, node).is_some() {
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

/// The loads of a `cas`'s location that end the exchange without it: a branch on whether the loaded value is the
/// expected one leads to the `cas` on one side only.
pub fn early_ends(flow: &Flow<'_>, cas: usize) -> Vec<usize> {
    let Some(atom) = flow.cas(cas) else { return Vec::new() };
    let base = copied_from(flow, &atom.a.base);
    let is_same = |a: &Address| a.offset == atom.a.offset && copied_from(flow, &a.base) == base;
    let expected = origin(flow, cas, &atom.b);
    let compares = |node: usize, loaded: &Origin<'_>| match flow.instruction(node) {
        Some(Instruction::Setp { cmp: Cmp::Eq | Cmp::Ne, ty, a, b, .. }) if ty.bits() == atom.ty.bits() => {
            let [a, b] = [a, b].map(|operand| origin(flow, node, operand));
            a == *loaded && b == expected || a == expected && b == *loaded
        }
        _ => false,
    };
    let ends = |load: usize, d: &Name| {
        let loaded = Origin::Register(d, vec![load]);
        let leads = |node: usize| node == cas || flow.reached(node, Direction::Forward, |node| node == load)[cas];
        flow.nodes.iter().any(|node| {
            let (NodeCode::Instruction(Instruction::Bra { .. }), Some(guard), [one, other]) =
                (node.code, node.guard, &node.next[..])
            else {
                return false;
            };
            matches!(flow.writers(&guard.p), [setp] if compares(*setp, &loaded)) && leads(*one) != leads(*other)
        })
    };
    let loads = flow.in_order().into_iter().filter(|node| match flow.instruction(*node) {
        Some(Instruction::Ld(Ld { a, vec: None, ty, d: Operand::Register(d), .. })) => {
            ty.bits() == atom.ty.bits() && is_same(a) && ends(*node, d)
        }
        _ => false,
    });
    loads.collect()
}

/// The register that an address was copied from.
pub fn copied_from(flow: &Flow<'_>, base: &Name) -> Name {
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
