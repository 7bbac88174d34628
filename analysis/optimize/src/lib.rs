//! Atomics and fences made cheaper: rewrites of a control-flow graph, each with the conditions under which it is
//! sound, and the reason.
//!
//! A pass makes a [`Function`] of what it compiles, calls [`optimize`], and applies the differences: an event whose operation
//! changed, an event that is gone, and fences that are new, some in new blocks on an edge. `mapping` does the same with
//! source programs, and compares the outcomes (`ptx-atomics verify-mapping --optimize`).
//!
//! What a rewrite saves is what `ptx-lowering` says that the target's assembler makes of the operations. A rewrite
//! that saves nothing is not done.

#![warn(missing_docs)]

mod cost;
mod edit;
mod facts;
mod function;
mod graph;
mod least;
mod level;
mod options;
mod ordering;
mod remark;
mod rewrites;
pub mod text;

use ptx_lowering::{AtomicOp, Operation};
use rustc_hash::FxHashSet;

pub use self::cost::ROUNDS;
use self::{cost::Costs, edit::Editor};
pub use self::{
    function::{Address, Atomic, Block, End, Event, EventKind, Function},
    least::{Budget, FirstRound, Least, least},
    options::{Condition, Options, Rewrite, Rewrites, UnknownRewrite},
    remark::Remark,
};

/// Rewrites build on each other: they are repeated until none does anything, but no more often than this.
const MOST_TURNS: usize = 8;

/// Does one rewrite wherever it can be done. Whether anything was changed.
type Run = fn(&mut Editor<'_>) -> bool;

/// Rewrites a function, in place.
pub fn optimize(function: &mut Function, options: &Options) -> Vec<Remark> {
    let costs = Costs::new(options);
    let mut remarks = Vec::new();
    if function.blocks.is_empty() || !function.events().any(|event| event.atomic().is_some()) {
        return remarks;
    }
    let mut editor = Editor { function, options, costs: &costs, remarks: &mut remarks };
    let turn: [(Rewrite, Run); 4] = [
        (Rewrite::Scope, rewrites::scope::run),
        (Rewrite::Loops, rewrites::loops::run),
        (Rewrite::Fences, rewrites::fences::run),
        (Rewrite::Unseen, rewrites::unseen::run),
    ];
    for _ in 0..MOST_TURNS {
        let mut changed = false;
        for (_, run) in turn.iter().filter(|(rewrite, _)| options.rewrites.has(*rewrite)) {
            changed |= run(&mut editor);
        }
        if !changed {
            break;
        }
    }
    if options.rewrites.has(Rewrite::Writes) {
        rewrites::writes::run(&mut editor);
    }
    said_once(remarks)
}

/// What the orderings of each block of a function cost: the barriers of its machine code by what they wait for, [`ROUNDS`] times as much in
/// each loop. What an access costs that orders nothing is not counted.
pub fn weights(function: &Function, options: &Options) -> Vec<u64> {
    let costs = Costs::new(options);
    let predecessors = graph::predecessors(function);
    let (_, depths) = graph::loops(function, &predecessors);
    let of_block = |(block, depth): (&Block, &u32)| -> u64 {
        let atomics = block.events.iter().filter_map(Event::atomic);
        atomics.map(|atomic| ordered(&costs, &atomic.op, *depth)).sum()
    };
    function.blocks.iter().zip(&depths).map(of_block).collect()
}

/// The same of one operation, in no loop.
pub fn weight_of(op: &AtomicOp, options: &Options) -> u64 {
    ordered(&Costs::new(options), op, 0)
}

fn ordered(costs: &Costs<'_>, op: &AtomicOp, depth: u32) -> u64 {
    let of = |op: &AtomicOp| costs.of(op).map_or(0, |cost| cost.in_loops(depth).looped());
    match op.operation {
        Operation::Fence => of(op),
        _ => of(op).saturating_sub(of(&ordering::keep(*op, false, false))),
    }
}

/// Of each operation and rewrite the last word; that it was missed only where nothing was done.
fn said_once(remarks: Vec<Remark>) -> Vec<Remark> {
    let of = |remark: &Remark| (remark.id, remark.rewrite);
    let done: FxHashSet<_> = remarks.iter().filter(|remark| remark.applied).map(of).collect();
    let mut said = FxHashSet::default();
    let mut kept: Vec<_> = remarks
        .into_iter()
        .rev()
        .filter(|remark| (remark.applied || !done.contains(&of(remark))) && said.insert(of(remark)))
        .collect();
    kept.reverse();
    kept
}
