//! The check of a rewritten function before it is written.
//!
//! Each new instruction must exist in PTX and on the target. The judge, which knows neither the graph nor the edits,
//! must find each operation of the optimized graph in the text, with the ordering and the scope of the graph.

use itertools::Itertools;
use ptx_isa::{
    self as ptx, Code, Statement, Target,
    flat::{AccessKind, Action, MemoryAccess},
    mnemonic::Mnemonic,
};
use ptx_judge::{BasicBlock, Loss, judge_function};
use ptx_lowering::{AtomicOp, Operation, RmwOp, Type};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{Function, text::feed::Fed};

/// The first reason why the rewritten function must not be written; `None` if the function is correct. `graph` is the
/// optimized graph.
pub fn fault(
    before: &ptx::Function,
    after: &ptx::Function,
    fed: &Fed<'_>,
    graph: &Function,
    target: &Target,
) -> Option<String> {
    illegal(before, after, target).or_else(|| lost(before, after, fed, graph))
}

/// A new instruction that does not exist in PTX or on the target.
fn illegal(before: &ptx::Function, after: &ptx::Function, target: &Target) -> Option<String> {
    let known: FxHashSet<&str> = before.body.iter().flatten().map(|line| line.text.as_str()).collect();
    let mut new = after.body.iter().flatten().filter(|line| !known.contains(line.text.as_str()));
    new.find_map(|line| match &line.code {
        Code::Instruction { instruction, .. } => {
            let lacking = target.lacks(&[Statement::from(instruction.clone())]);
            (!lacking.is_empty()).then(|| format!("{target} has no `{}`", line.text))
        }
        Code::Other(other) => {
            let is_fault = Mnemonic::find_row(&other.mnemonic).is_none_or(Mnemonic::orders_or_touches_memory);
            is_fault.then(|| format!("expected an instruction of PTX, found `{}`", line.text))
        }
        _ => None,
    })
}

/// An operation that is weaker in the new text than in the optimized graph, according to the judge, and that the judge
/// does not blame in the old text.
fn lost(before: &ptx::Function, after: &ptx::Function, fed: &Fed<'_>, graph: &Function) -> Option<String> {
    // A function that is too large for the judge is accepted as edited.
    let old: FxHashMap<usize, Loss> =
        losses(&fed.function, fed, before)?.into_iter().filter_map(|blame| Some((blame.id?, blame.loss))).collect();
    let mut new = losses(graph, fed, after)?.into_iter();
    new.find_map(|blame| {
        let known = blame.id.and_then(|id| old.get(&id)).copied();
        (Some(blame.loss) > known).then_some(blame.reason)
    })
}

/// An operation that the judge blames: the number of its event, the loss, and the reason.
struct Blame {
    id: Option<usize>,
    loss: Loss,
    reason: String,
}

/// The operations of a text that the judge blames.
fn losses(graph: &Function, fed: &Fed<'_>, text: &ptx::Function) -> Option<Vec<Blame>> {
    let (blocks, ids) = stated(graph, fed);
    let judged = judge_function(&blocks, text).ok()?;
    let is_reduction =
        |id: usize| matches!(&fed.flat.steps[id].action, Action::Access(access) if access.kind == AccessKind::Red);
    let of_one = |(id, judgement): (Option<usize>, ptx_judge::Judgement)| {
        let worst = judgement.violations.iter().max_by_key(|violation| violation.loss)?;
        // The judge expects a fence to acquire the value that the update has read. The input has a reduction, whose
        // value no fence acquires.
        if worst.loss == Loss::Ordering && id.is_some_and(is_reduction) {
            return None;
        }
        let of = id.map_or("a new fence".to_owned(), |id| format!("`{}`", fed.lines[id].text));
        Some(Blame { id, loss: worst.loss, reason: format!("{of} has {}: {worst}", worst.loss) })
    };
    Some(ids.into_iter().zip(judged.operations).filter_map(of_one).collect())
}

/// The operations of a graph in the form that the judge reads, in the order of the text, and the event number of each.
fn stated(graph: &Function, fed: &Fed<'_>) -> (Vec<BasicBlock>, Vec<Option<usize>>) {
    // In the text, a block on an edge follows the source of the edge, and a poll precedes its block.
    let place = |number: &usize| match graph.blocks[*number].on_edge {
        Some((from, to)) if from == to => (from, 0),
        Some((from, _)) => (from, 2),
        None => (*number, 1),
    };
    let order = (0..graph.blocks.len()).sorted_by_key(place).collect_vec();
    let mut numbers = vec![0; order.len()];
    order.iter().enumerate().for_each(|(number, block)| numbers[*block] = number);
    let mut ids = Vec::new();
    let blocks = order.iter().map(|block| {
        let block = &graph.blocks[*block];
        let mut operations = Vec::new();
        for event in &block.events {
            let access = event.id.and_then(|id| match &fed.flat.steps[id].action {
                Action::Access(access) => Some(access),
                _ => None,
            });
            // A guarded fence may not execute, so the judge does not count it.
            let is_guarded = event.id.is_some_and(|id| fed.flat.steps[id].guard.is_some());
            let atomic = event.atomic().filter(|atomic| !(atomic.is_fence() && is_guarded));
            if let Some(op) = atomic.and_then(|atomic| sized(atomic.op, access)) {
                ids.push(event.id);
                operations.push(op);
            }
        }
        BasicBlock { operations, next: block.next.iter().map(|next| numbers[*next]).collect() }
    });
    (blocks.collect(), ids)
}

/// The operation with the type and the update of its instruction; `None` if the judge has no such type.
fn sized(op: AtomicOp, access: Option<&MemoryAccess>) -> Option<AtomicOp> {
    let Some(access) = access else { return Some(op) };
    let ty = match access.bytes()? {
        1 => Type::I8,
        2 => Type::I16,
        4 => Type::I32,
        8 => Type::I64,
        16 => Type::I128,
        _ => return None,
    };
    let with = |known: ptx_lowering::Access| ptx_lowering::Access { ty, ..known };
    let operation = match op.operation {
        Operation::Fence => Operation::Fence,
        Operation::Load(known) => Operation::Load(with(known)),
        Operation::Store(known) => Operation::Store(with(known)),
        Operation::CmpXchg { access, failure } => Operation::CmpXchg { access: with(access), failure },
        Operation::Rmw(_, known) => Operation::Rmw(RmwOp::from_atom_op(access.op?, true)?, with(known)),
    };
    Some(AtomicOp { operation, ..op })
}
