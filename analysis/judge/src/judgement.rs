//! The judgement of any compiler's PTX against the operations that it implements.
//!
//! [`Strength`] derives the guarantees of the instructions that an operation is [aligned](crate::align) with. The
//! values that they compute are not compared.

use std::collections::HashSet;

use ptx_lowering::{
    AtomicOp, Operation, Ordering, SyncScope,
    ptx::{Atom, Code, Function, Instruction, Scope, Space, flow::Direction},
    sass::{Family, misplaces_ordering},
};
use strum::{Display, EnumIter, EnumMessage, IntoStaticStr};

use crate::{
    align::{Assignment, TooLarge, align},
    block::{BasicBlock, control_flow},
    cost,
    effect::{Aligned, Extra, extras},
    event::{MemoryEvent, acquires, fence},
    expansion::{companions, early_ends, fences_around, is_expansion, is_loop, needs_instruction},
    flow::Flow,
    graph::LEADS_TO,
    loss::{Loss, Violation},
    strength::{Strength, is_beside_seq_cst, is_led},
};

/// The judgement of one operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judgement {
    /// The properties that the PTX does not keep. If it is empty, the operation is right.
    pub violations: Vec<Violation>,
    /// Remarks on PTX that is right.
    pub notes: Vec<Note>,
    /// The lines of the PTX that implement the operation, in ascending order. The first line of the text is 1.
    pub lines: Vec<u32>,
    /// The guarantees of those lines, whether they are required or not.
    pub strength: Strength,
    /// The state space that the instruction names, if the address of the operation is generic. If the address is of
    /// another space, other memory is accessed.
    pub named_space: Option<Space>,
    /// No `fence.sc` of its scope precedes a sequentially consistent operation, without an access of another location
    /// between. That fence also orders the accesses before it, whatever the location of the operation is, so no rewrite
    /// of the source justifies its absence.
    pub lacks_seq_cst: bool,
}

impl Judgement {
    /// The guarantees that this code for an operation lacks in comparison with another one, in words, beyond its
    /// violations; empty if it is as strong.
    pub fn less_than(&self, other: &Self) -> Vec<String> {
        match (self.lines.is_empty(), other.lines.is_empty()) {
            (_, true) => Vec::new(),
            (true, false) => vec!["no instruction implements it".into()],
            (false, false) => self.strength.less_than(&other.strength),
        }
    }

    /// Adds the violation of an instruction that names a state space, if nothing shows that the generic address is of
    /// that space.
    pub fn blame_space(&mut self) {
        if let Some(space) = self.named_space {
            let reason = format!("`.{space}` is other memory if the address is not in this space");
            self.lose(Violation::new(Loss::Effect, reason));
        }
    }

    fn lose(&mut self, violation: Violation) {
        if !self.violations.contains(&violation) {
            self.violations.push(violation);
        }
    }

    /// The worst loss; `None` if the operation is right.
    pub fn loss(&self) -> Option<Loss> {
        self.violations.iter().map(|violation| violation.loss).max()
    }
}

/// A remark on PTX that keeps ordering and scope but may surprise a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumIter, EnumMessage, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
#[non_exhaustive]
pub enum Note {
    /// A load became an `atom`.
    #[strum(message = "the load is a read-modify-write, which fails on memory that is only readable")]
    LoadWrites,
    /// The update of a vector is as many atomic operations as it has elements.
    #[strum(message = "each element of the vector is updated separately")]
    ByElement,
    /// A fence or a release is inside of a compare-and-swap loop.
    #[strum(message = "a compare-and-swap loop pays for the ordering in every iteration")]
    OrderingInLoop,
    /// No path through the source leads to the operation, so it needs no instruction.
    #[strum(message = "control does not reach it")]
    Unreachable,
    /// ptxas is not known to keep the ordering of an instruction: see [`FunctionJudgement::note_assembler`].
    #[strum(message = "ptxas makes a loop of it, and drops its ordering or puts it inside of the loop")]
    Misplaced,
    /// It has a weaker ordering than the source, which no thread can observe: the optimizer may do that.
    #[strum(message = "it orders less, which no thread can observe")]
    Optimized,
}

/// The judgement of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionJudgement {
    /// The judgement of each operation, in their order.
    pub operations: Vec<Judgement>,
    /// The accesses that implement no operation, as far as they write or are volatile. Some of them may belong to the
    /// program, or to a function that was inlined.
    pub extras: Vec<Extra>,
}

impl FunctionJudgement {
    /// Attributes to each operation the extra accesses of its location that are effects which the source does not have.
    pub fn blame(&mut self, is_effect: impl Fn(&Extra, &Judgement) -> bool) {
        let operations = &mut self.operations;
        self.extras.retain(|extra| {
            let Some(judgement) = extra.of.and_then(|op| operations.get_mut(op)) else { return true };
            let is_effect = is_effect(extra, judgement);
            if is_effect {
                judgement.lose(Violation::new(Loss::Effect, extra.kind.get_message().unwrap_or_default()));
                judgement.lines.push(extra.line);
                judgement.lines.sort_unstable();
                judgement.lines.dedup();
            }
            !is_effect
        });
    }

    /// Notes an ordering in the PTX, required by an operation, that ptxas does not keep for a family of GPUs:
    /// [`Note::Misplaced`]. `blocks` and `function` are the arguments of the judgement.
    pub fn note_assembler(&mut self, blocks: &[BasicBlock], function: &Function, family: Family) {
        let misplaced: HashSet<u32> = function
            .body
            .iter()
            .flatten()
            .filter_map(|line| match &line.code {
                Code::Instruction { instruction, .. } => misplaces_ordering(instruction, family).then_some(line.number),
                _ => None,
            })
            .collect();
        let asked = blocks.iter().flat_map(|block| &block.operations);
        for (op, judgement) in asked.zip(&mut self.operations) {
            let orders = !matches!(op.ordering, Ordering::Unordered | Ordering::Relaxed);
            if orders && judgement.loss().is_none() && judgement.lines.iter().any(|line| misplaced.contains(line)) {
                judgement.notes.push(Note::Misplaced);
            }
        }
    }
}

/// Judges each operation of a function. `blocks` come in the order of the source text; control enters the first one.
///
/// # Errors
/// If the function is too large.
pub fn judge_function(blocks: &[BasicBlock], function: &Function) -> Result<FunctionJudgement, TooLarge> {
    let flow = Flow::of_function(function);
    let loads: Vec<&AtomicOp> = blocks
        .iter()
        .flat_map(|block| &block.operations)
        .filter(|op| matches!(op.operation, Operation::Load(_)))
        .collect();
    // A weak load may belong to the program.
    let is_added = |node: usize| {
        let is_strong = MemoryEvent::from_node(&flow, node).is_some_and(|event| event.strong.is_some());
        is_strong && !loads.iter().any(|op| cost::of_match(op, &flow, node).is_some())
    };
    let is_lost = |op: &AtomicOp, node| judge_operation(op, Some(node), &flow, &is_added).loss().is_some();
    let assignments = align(blocks, &flow, is_lost)?;
    let alone = has_one_thread(function);
    let chooses = flow.in_order().into_iter().any(|node| chooses_space(&flow, node));
    let judge = |(op, assignment): (&AtomicOp, &Assignment)| {
        if !assignment.is_reached {
            return Judgement { notes: vec![Note::Unreachable], ..Judgement::default() };
        }
        let mut judgement = judge_operation(op, assignment.node, &flow, &is_added);
        if assignment.lacks_fence && judgement.violations.is_empty() {
            judgement.violations =
                vec![Violation::new(Loss::Ordering, "the fence that it needs implements another operation")];
        }
        judgement.named_space = judgement.named_space.filter(|_| !chooses);
        judgement.lacks_seq_cst &= !(alone && seq_cst_scope(op) == Some(Scope::Cta));
        judgement
    };
    let operations: Vec<&AtomicOp> = blocks.iter().flat_map(|block| &block.operations).collect();
    let own = |(op, assignment): (&&AtomicOp, &Assignment)| {
        let node = assignment.node?;
        let others = if is_expansion(op, &flow, node) { companions(&flow, node) } else { Vec::new() };
        Some([vec![node], others].concat())
    };
    let claimed: HashSet<usize> = operations.iter().zip(&assignments).filter_map(own).flatten().collect();
    let (graph, nodes) = control_flow(blocks);
    let in_loop = nodes.iter().map(|node| graph.relations(*node, &[*node])[0] & LEADS_TO != 0).collect();
    let judged = operations.iter().copied().zip(&assignments).map(judge).collect();
    let aligned = Aligned { operations, assignments: &assignments, in_loop, claimed: &claimed };
    let extras = extras(&aligned, &flow, function, is_lost);
    Ok(FunctionJudgement { operations: judged, extras })
}

/// Whether a node tests the state space of an address. Tests for local memory are left out: if the address is local, no
/// ordering is needed.
fn chooses_space(flow: &Flow<'_>, node: usize) -> bool {
    matches!(flow.instruction(node), Some(Instruction::Isspacep { space, .. }) if *space != Space::Local)
}

/// Whether a kernel specifies that its CTAs have one thread.
fn has_one_thread(function: &Function) -> bool {
    function.head.most_threads == Some(1)
}

/// Judges an operation by the access or fence that implements it. `is_added` tells whether the compiler added a load
/// that may end an exchange.
fn judge_operation(op: &AtomicOp, node: Option<usize>, flow: &Flow<'_>, is_added: &dyn Fn(usize) -> bool) -> Judgement {
    let lines = |nodes: &[usize]| nodes.iter().map(|node| flow.nodes[*node].line).collect();
    let lost = |loss, reason: &str| vec![Violation::new(loss, reason)];
    let Some(node) = node else {
        let violations =
            if needs_instruction(op) { lost(Loss::Missing, "no instruction implements it") } else { Vec::new() };
        return Judgement { violations, ..Judgement::default() };
    };
    if op.operation == Operation::Fence {
        let strength = Strength::of_fence(flow, node);
        return Judgement {
            violations: strength.violations(op),
            lines: lines(&[node]),
            lacks_seq_cst: seq_cst_scope(op).is_some_and(|scope| !is_beside_seq_cst(flow, node, scope)),
            strength,
            ..Judgement::default()
        };
    }
    let instruction = flow.instruction(node);
    if op.operation.access().is_some_and(|access| access.is_private()) {
        let is_atom = matches!(instruction, Some(Instruction::Atom(_) | Instruction::Red(_)));
        let violations = if is_atom { lost(Loss::Undefined, "`atom` does not take local memory") } else { Vec::new() };
        return Judgement { violations, lines: lines(&[node]), ..Judgement::default() };
    }
    let own_loop = flow.cas(node).filter(|cas| is_loop(op, cas));
    let mut group = vec![node];
    if is_expansion(op, flow, node) {
        group.extend(companions(flow, node));
    } else if matches!(op.operation, Operation::CmpXchg { .. }) {
        group.extend(early_ends(flow, node).into_iter().filter(|load| is_added(*load)));
    }
    let strength = Strength::of_operation(flow, &group);
    let mut violations = strength.violations(op);
    if matches!(op.operation, Operation::Rmw(..) | Operation::CmpXchg { .. })
        && matches!(instruction, Some(Instruction::St(_)))
        && op.scope != SyncScope::SingleThread
    {
        violations = lost(Loss::NotAtomic, "another thread can write between the read and the write");
    }
    let is_global = |space: Space| {
        space == Space::Global || op.operation.access().is_some_and(|access| access.space == Space::Global)
    };
    if let Some(Instruction::Atom(Atom { vec: Some(_), space, .. })) = instruction
        && !is_global(*space)
    {
        violations.extend(lost(Loss::Undefined, "a vector `atom` takes only global memory"));
    }
    // A fence anywhere after an `atom` acquires the value that the `atom` has read, but a fence never acquires the
    // value of a `red`.
    if matches!(instruction, Some(Instruction::Red(_))) && is_acquired_after(flow, node) {
        violations.extend(lost(Loss::Ordering, "a `red` before a fence that acquires"));
    }
    let notes = [
        (matches!(op.operation, Operation::Load(_)) && strength.writes, Note::LoadWrites),
        (strength.by_element, Note::ByElement),
        (strength.ordering_in_loop && own_loop.is_some(), Note::OrderingInLoop),
    ];
    let fences = fences_around(flow, &group);
    let mut lines: Vec<_> = lines(&[group.clone(), fences].concat());
    lines.sort_unstable();
    lines.dedup();
    let notes = notes.into_iter().filter(|(holds, _)| *holds).map(|(_, note)| note).collect();
    let names = |node: &usize| MemoryEvent::from_node(flow, *node).map(|event| event.space);
    let named_space = group.iter().find_map(names).filter(|space| *space != Space::Generic);
    let is_generic = op.operation.access().is_some_and(|access| access.space == Space::Generic);
    let lacks_seq_cst = seq_cst_scope(op).is_some_and(|scope| !is_led(flow, &group, scope));
    Judgement { violations, notes, lines, strength, named_space: named_space.filter(|_| is_generic), lacks_seq_cst }
}

/// The scope at which an operation is sequentially consistent, if it is.
fn seq_cst_scope(op: &AtomicOp) -> Option<Scope> {
    let fails = matches!(op.operation, Operation::CmpXchg { failure: Ordering::SeqCst, .. });
    match op.scope {
        SyncScope::Threads(scope) if fails || op.ordering == Ordering::SeqCst => Some(scope),
        _ => None,
    }
}

fn is_acquired_after(flow: &Flow<'_>, node: usize) -> bool {
    let after = flow.reached(node, Direction::Forward, |_| false);
    (0..after.len()).any(|node| after[node] && fence(flow, node).is_some_and(|(sem, _)| acquires(sem)))
}

#[cfg(test)]
mod tests;
