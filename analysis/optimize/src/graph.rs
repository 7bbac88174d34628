//! Predecessors, loops, and dataflow facts.

use std::{iter::Copied, slice};

use itertools::Itertools;
use ptx_lowering::ptx::graph;

use crate::function::{Block, Event, Function};

/// The depth to which nested loops are examined.
const DEEPEST: u32 = 6;

/// A strongly connected set of blocks: a loop, with its inner loops.
pub struct Region {
    /// The blocks in ascending order.
    blocks: Vec<usize>,
    /// The number of enclosing loops.
    pub depth: u32,
}

impl Region {
    /// The blocks, in ascending order.
    pub fn blocks(&self) -> &[usize] {
        &self.blocks
    }

    /// Whether a block is in the region.
    pub fn has(&self, block: usize) -> bool {
        self.blocks.binary_search(&block).is_ok()
    }

    /// The edges into the region, from block to block.
    pub fn entries(&self, predecessors: &[Vec<usize>]) -> Vec<(usize, usize)> {
        let of_block = |&to: &usize| predecessors[to].iter().map(move |&from| (from, to));
        self.blocks.iter().flat_map(of_block).filter(|&(from, _)| !self.has(from)).collect()
    }

    /// The edges out of the region.
    pub fn exits(&self, function: &Function) -> Vec<(usize, usize)> {
        let of_block = |&from: &usize| successors(function, from).map(move |to| (from, to));
        self.blocks.iter().flat_map(of_block).filter(|&(_, to)| !self.has(to)).collect()
    }
}

/// The successors of a block, each once.
fn successors(function: &Function, block: usize) -> impl Iterator<Item = usize> {
    function.blocks[block].next.iter().copied().unique()
}

/// The predecessors of each block, each once.
pub fn predecessors(function: &Function) -> Vec<Vec<usize>> {
    graph::previous(function.blocks.len(), |from| successors(function, from))
}

/// The blocks that are reachable from the entry.
pub fn reached(function: &Function) -> Vec<bool> {
    graph::reached(function.blocks.len(), (!function.blocks.is_empty()).then_some(0), next(function), |_| false)
}

fn next<'f>(function: &'f Function) -> impl Fn(usize) -> Copied<slice::Iter<'f, usize>> {
    |block| function.blocks[block].next.iter().copied()
}

/// All loops, outer loops first; and the number of loops around each block.
pub fn loops(function: &Function, predecessors: &[Vec<usize>]) -> (Vec<Region>, Vec<u32>) {
    let (mut found, mut depths) = (Vec::new(), vec![0; function.blocks.len()]);
    let mut within = reached(function);
    for depth in 0..DEEPEST {
        let mut inner = vec![false; function.blocks.len()];
        let before = found.len();
        for mut blocks in graph::loops(function.blocks.len(), next(function), |block| within[block]) {
            blocks.sort_unstable();
            blocks.iter().for_each(|&block| (inner[block], depths[block]) = (true, depths[block] + 1));
            let region = Region { blocks, depth };
            // Without the entry blocks of the loop, only the inner loops remain.
            let entered = region.entries(predecessors).into_iter().map(|(_, to)| to);
            entered.chain(region.has(0).then_some(0)).for_each(|block| inner[block] = false);
            found.push(region);
        }
        if found.len() == before {
            break;
        }
        within = inner;
    }
    (found, depths)
}

/// A fact that holds at a point, on every path to it.
pub trait Fact: Clone + PartialEq {
    /// Joins the facts of two paths.
    fn join(&mut self, other: &Self);
    /// Changes the fact by an event.
    fn pass(&mut self, event: &Event);
}

/// The facts before each block, propagated from the entry; `None` for unreachable blocks.
pub fn forward<F: Fact>(function: &Function, entry: F) -> Vec<Option<F>> {
    let mut facts: Vec<Option<F>> = vec![None; function.blocks.len()];
    let mut open = vec![(0, entry)];
    while let Some((block, fact)) = open.pop() {
        let Some(mut fact) = joined(&mut facts[block], fact) else { continue };
        function.blocks[block].events.iter().for_each(|event| fact.pass(event));
        open.extend(function.blocks[block].next.iter().map(|&to| (to, fact.clone())));
    }
    facts
}

/// The facts after each block, propagated backward from the ends. `end` gives the fact after a block without a
/// successor; `never` is the fact where no end is reachable.
pub fn backward<F: Fact>(function: &Function, end: impl Fn(&Block) -> F, never: &F) -> Vec<F> {
    let predecessors = predecessors(function);
    let mut facts: Vec<Option<F>> = vec![None; function.blocks.len()];
    let ends = function.blocks.iter().enumerate().filter(|(_, block)| block.next.is_empty());
    let mut open: Vec<_> = ends.map(|(index, block)| (index, end(block))).collect();
    // An infinite loop counts as an end.
    open.extend(
        (0..function.blocks.len())
            .filter(|&block| !function.blocks[block].next.is_empty())
            .map(|block| (block, never.clone())),
    );
    while let Some((block, fact)) = open.pop() {
        let Some(mut fact) = joined(&mut facts[block], fact) else { continue };
        function.blocks[block].events.iter().rev().for_each(|event| fact.pass(event));
        open.extend(predecessors[block].iter().map(|&from| (from, fact.clone())));
    }
    facts.into_iter().map(|fact| fact.unwrap_or_else(|| never.clone())).collect()
}

/// Joins a fact to the known facts. Returns the joined fact if it is new.
fn joined<F: Fact>(known: &mut Option<F>, fact: F) -> Option<F> {
    let mut new = fact;
    if let Some(known) = known {
        new.join(known);
        if new == *known {
            return None;
        }
    }
    *known = Some(new.clone());
    Some(new)
}
