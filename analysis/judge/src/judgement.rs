//! The PTX of any compiler, compared with the operations that it stands for.
//!
//! The instructions that an operation is [aligned](crate::align) with are read as [`Strength`] reads them. The values
//! that they compute are not compared.

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
    /// The properties that the PTX does not keep. If there is none, the operation is right.
    pub violations: Vec<Violation>,
    /// Remarks on PTX that is right.
    pub notes: Vec<Note>,
    /// The lines of the PTX that stand for the operation, in ascending order. The first line of the text is 1.
    pub lines: Vec<u32>,
    /// What those lines guarantee, whether it is asked for or not.
    pub strength: Strength,
    /// The state space that the instruction names, where the address of the operation is generic. Other memory is accessed where
    /// the address is of another space.
    pub named_space: Option<Space>,
    /// No `fence.sc` of its scope stands in front of a sequentially consistent operation, before any access of another place. Whatever
    /// its own place is, that fence also orders what is in front of it, so that no rewrite of the source excuses this.
    pub lacks_seq_cst: bool,
}

impl Judgement {
    /// What this code for an operation guarantees less than another one, in words, beyond its violations; nothing, if it is as
    /// strong.
    pub fn less_than(&self, other: &Self) -> Vec<String> {
        match (self.lines.is_empty(), other.lines.is_empty()) {
            (_, true) => Vec::new(),
            (true, false) => vec!["no instruction stands for it".into()],
            (false, false) => self.strength.less_than(&other.strength),
        }
    }

    /// What is wrong where an instruction names a state space, and nothing says that the generic address is of it.
    pub fn blame_space(&mut self) {
        if let Some(space) = self.named_space {
            let reason = format!("`.{space}` is other memory where the address is not of that space");
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

/// A remark on PTX that keeps order and scope but may surprise a reader.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumIter, EnumMessage, IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
#[non_exhaustive]
pub enum Note {
    /// A load became an `atom`.
    #[strum(message = "the load is a read-modify-write, which fails on memory that is only readable")]
    LoadWrites,
    /// The update of a vector is as many atomic operations as it has elements.
    #[strum(message = "each element of the vector is updated by itself")]
    ByElement,
    /// A fence or a release is inside of a compare-and-swap loop.
    #[strum(message = "a compare-and-swap loop pays for the ordering in every iteration")]
    OrderingInLoop,
    /// No path through the source leads to the operation, so that nothing need stand for it.
    #[strum(message = "control does not reach it")]
    Unreachable,
    /// ptxas is not known to keep the ordering of an instruction: see [`FunctionJudgement::note_assembler`].
    #[strum(message = "ptxas makes a loop of it, and drops its ordering or puts it inside of the loop")]
    Misplaced,
    /// It orders less than the source asks for, and no thread can tell: what the optimizer may do.
    #[strum(message = "it orders less, which no thread can tell")]
    Optimized,
}

/// The judgement of a function.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FunctionJudgement {
    /// One for each operation, in their order.
    pub operations: Vec<Judgement>,
    /// What the code does besides: what no operation stands for, as far as it writes or is volatile. Part of it may be the
    /// program's own, or that of a function that was inlined.
    pub extras: Vec<Extra>,
}

impl FunctionJudgement {
    /// Blames each operation for what was done besides in its place, where that is an effect which the source has not.
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

    /// Notes what ptxas does on a family of GPUs to an ordering that the PTX has, and that an operation asks for:
    /// [`Note::Misplaced`]. `blocks` and `function` are those of the judgement.
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
    // Of a weak load, nobody knows whether it is the program's.
    let is_added = |node: usize| {
        let is_strong = MemoryEvent::of(&flow, node).is_some_and(|event| event.strong.is_some());
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
                vec![Violation::new(Loss::Ordering, "the fence that it needs stands for another operation")];
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

/// Whether a node finds out of which memory an address is. Local memory is left out: where that was found, no order is needed.
fn chooses_space(flow: &Flow<'_>, node: usize) -> bool {
    matches!(flow.instruction(node), Some(Instruction::Isspacep { space, .. }) if *space != Space::Local)
}

/// Whether a kernel says that its CTAs have one thread.
fn has_one_thread(function: &Function) -> bool {
    function.head.most_threads == Some(1)
}

/// Judges an operation by the access or fence that stands for it. `is_added` says whether a load that may end an exchange is the
/// compiler's.
fn judge_operation(op: &AtomicOp, node: Option<usize>, flow: &Flow<'_>, is_added: &dyn Fn(usize) -> bool) -> Judgement {
    let lines = |nodes: &[usize]| nodes.iter().map(|node| flow.nodes[*node].line).collect();
    let lost = |loss, reason: &str| vec![Violation::new(loss, reason)];
    let Some(node) = node else {
        let violations =
            if needs_instruction(op) { lost(Loss::Missing, "no instruction stands for it") } else { Vec::new() };
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
        violations.extend(lost(Loss::Undefined, "a vector `atom` takes global memory alone"));
    }
    // A fence anywhere after an `atom` acquires the value that it has read, but a fence never acquires the value of a `red`.
    if matches!(instruction, Some(Instruction::Red(_))) && acquired_behind(flow, node) {
        violations.extend(lost(Loss::Ordering, "a `red` in front of a fence that acquires"));
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
    let names = |node: &usize| MemoryEvent::of(flow, *node).map(|event| event.space);
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

fn acquired_behind(flow: &Flow<'_>, node: usize) -> bool {
    let behind = flow.reached(node, Direction::Forward, |_| false);
    (0..behind.len()).any(|node| behind[node] && fence(flow, node).is_some_and(|(sem, _)| acquires(sem)))
}

#[cfg(test)]
mod tests;
