//! The operations of a function, in the form of its source.

use itertools::Itertools;
use ptx_lowering::AtomicOp;

use crate::graph::Graph;

/// A basic block of a source function: operations that are executed one after the other, in this order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct BasicBlock {
    /// The atomics and fences of the block.
    pub operations: Vec<AtomicOp>,
    /// The indices of the blocks to which control can continue. If there is none, it leaves the function.
    pub next: Vec<usize>,
}

/// The control flow of blocks: one node for the beginning of each block, and one for each operation. The second result
/// has the numbers of the operations' nodes, in ascending order.
pub fn control_flow(blocks: &[BasicBlock]) -> (Graph, Vec<usize>) {
    let beginnings: Vec<usize> = blocks
        .iter()
        .scan(0, |node, block| Some(std::mem::replace(node, *node + 1 + block.operations.len())))
        .collect();
    let exit = blocks.iter().map(|block| 1 + block.operations.len()).sum::<usize>().max(1);
    let mut next: Vec<Vec<usize>> = (1..=exit).map(|after| vec![after]).collect();
    let mut nodes = Vec::new();
    for (block, &beginning) in blocks.iter().zip(&beginnings) {
        let last = beginning + block.operations.len();
        nodes.extend(beginning + 1..=last);
        let targets = block.next.iter().map(|block| beginnings.get(*block).copied().unwrap_or(exit));
        next[last] = targets.unique().collect();
        if next[last].is_empty() {
            next[last].push(exit);
        }
    }
    next.push(Vec::new());
    (Graph::new(next), nodes)
}
