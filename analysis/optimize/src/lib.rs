//! The optimizer of atomics and fences: rewrites of a control-flow graph, each with its soundness conditions and their
//! justification.
//!
//! A pass builds a [`Function`] from the code that it compiles, calls [`optimize`], and applies the differences:
//! changed operations, removed events, and new fences, some of them in new blocks on an edge. `mapping` does the same
//! with source programs, and compares the outcomes (`ptx-atomics verify-mapping --optimize`).
//!
//! The saving of a rewrite follows from the machine code that, according to `ptx-lowering`, the target's assembler
//! generates for the operations. A rewrite without a saving is not applied.

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
    options::{Condition, OptimizeOptions, Rewrite, Rewrites, UnknownRewrite},
    remark::Remark,
};

/// The largest number of turns: rewrites enable each other and are repeated until none applies.
const MOST_TURNS: usize = 8;

/// Applies one rewrite wherever possible. Returns whether the function changed.
type Run = fn(&mut Editor<'_>) -> bool;

/// Rewrites a function in place.
pub fn optimize(function: &mut Function, options: &OptimizeOptions) -> Vec<Remark> {
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

/// The cost of the orderings in each block of a function. Each barrier of the machine code has a weight by the scope
/// that it waits for, multiplied by [`ROUNDS`] for each enclosing loop. Accesses without an ordering cost nothing.
pub fn weights(function: &Function, options: &OptimizeOptions) -> Vec<u64> {
    let costs = Costs::new(options);
    let predecessors = graph::predecessors(function);
    let (_, depths) = graph::loops(function, &predecessors);
    let of_block = |(block, depth): (&Block, &u32)| -> u64 {
        let atomics = block.events.iter().filter_map(Event::atomic);
        atomics.map(|atomic| ordered(&costs, &atomic.op, *depth)).sum()
    };
    function.blocks.iter().zip(&depths).map(of_block).collect()
}

/// The cost of the ordering of one operation, outside loops.
pub fn weight_of(op: &AtomicOp, options: &OptimizeOptions) -> u64 {
    ordered(&Costs::new(options), op, 0)
}

fn ordered(costs: &Costs<'_>, op: &AtomicOp, depth: u32) -> u64 {
    let of = |op: &AtomicOp| costs.find_cost(op).map_or(0, |cost| cost.in_loops(depth).looped());
    match op.operation {
        Operation::Fence => of(op),
        _ => of(op).saturating_sub(of(&ordering::keep(*op, false, false))),
    }
}

/// The last remark for each operation and rewrite. A remark that a rewrite was missed is kept only if the rewrite was
/// never applied.
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
