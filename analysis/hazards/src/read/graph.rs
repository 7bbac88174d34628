//! The control-flow graph of a kernel's code, with dominators and phis.

use ptx_isa::{
    effects::{Effect, Group},
    flat::{Action, Cfg, Flat, Operand, Step},
    graph,
};
use rustc_hash::FxHashMap;

use super::{
    code::sources,
    iterations::{BlockContent, peel_loops},
};

/// The limit of phis, in addition to some for each instruction; the values of further registers are unknown.
const PHIS: usize = 200_000;
/// The number of additional phis for each instruction.
const PHIS_EACH: usize = 4;

/// A basic block.
#[derive(Debug, Default)]
pub struct CodeBlock {
    /// Its instructions.
    pub ops: std::ops::Range<usize>,
    /// The iteration that the block is a copy for, among the first iterations of a loop; 0 if it is not a copy.
    pub iteration: usize,
    /// The successors; the last successor of a guarded branch is taken if the guard does not hold.
    pub next: Vec<usize>,
    pub previous: Vec<usize>,
    /// Its immediate dominator; the entry has itself.
    pub dominator: usize,
    /// Whether it is in a loop.
    pub is_in_loop: bool,
    /// The registers whose values meet at its beginning.
    pub phis: Vec<usize>,
}

impl CodeBlock {
    /// Whether the guard of the block's branch holds on the edge to a successor.
    pub fn is_taken(&self, code: &Flat, index: usize) -> bool {
        let last = self.ops.clone().last().and_then(|last| code.steps.get(last));
        let targets = match last.map(|last| &last.action) {
            Some(Action::Jump(targets, _)) => targets.len(),
            _ => 0,
        };
        // The last successor is taken if the guard does not hold; a branch at the end of the code has no such
        // successor.
        index + 1 < self.next.len() || self.next.len() <= targets
    }
}

/// The reachable blocks of a kernel, in reverse post-order.
#[derive(Debug)]
pub struct Graph {
    pub blocks: Vec<CodeBlock>,
    /// The blocks that each block immediately dominates, in their order.
    pub dominated: Vec<Vec<usize>>,
    /// Whether the values of each register are no longer tracked.
    pub given_up: Vec<bool>,
}

impl Graph {
    pub fn new(code: &Flat) -> Self {
        let mut blocks = reached(code);
        relate(&mut blocks);
        let mut dominated = vec![Vec::new(); blocks.len()];
        for block in 1..blocks.len() {
            dominated[blocks[block].dominator].push(block);
        }
        let given_up = phis(code, &mut blocks);
        Self { blocks, dominated, given_up }
    }
}

/// The blocks that are reachable from the first.
fn reached(code: &Flat) -> Vec<CodeBlock> {
    let cfg = Cfg::new(code, |_| false);
    if cfg.blocks.is_empty() {
        return vec![CodeBlock::default()];
    }
    let next: Vec<_> = cfg.blocks.iter().map(|block| block.next.clone()).collect();
    let blocks = in_order(&next, |block| (cfg.blocks[block].steps.clone(), 0));
    let content: Vec<_> = blocks.iter().map(|block| content(&code.steps[block.ops.clone()])).collect();
    let peeled = peel_loops(blocks.iter().map(|block| block.next.clone()).collect(), &content);
    if peeled.origins.len() == blocks.len() {
        return blocks;
    }
    in_order(&peeled.next, |block| {
        let (origin, iteration) = peeled.origins[block];
        (blocks[origin].ops.clone(), iteration)
    })
}

/// Blocks in reverse post-order, each with its instructions and its iteration.
fn in_order(next: &[Vec<usize>], own: impl Fn(usize) -> (std::ops::Range<usize>, usize)) -> Vec<CodeBlock> {
    let order = graph::reverse_post_order(next.len(), 0, |block| next[block].iter().copied());
    let mut renamed = vec![usize::MAX; next.len()];
    order.iter().enumerate().for_each(|(new, old)| renamed[*old] = new);
    let block = |old: &usize| {
        let (ops, iteration) = own(*old);
        CodeBlock {
            ops,
            iteration,
            next: next[*old].iter().map(|next| renamed[*next]).collect(),
            ..CodeBlock::default()
        }
    };
    order.iter().map(block).collect()
}

/// The size of a block, and whether it waits for copies.
fn content(ops: &[Step]) -> BlockContent {
    let waits = |op: &Step| match &op.action {
        Action::Asynchronous(form, _) => matches!(form.effect(), Effect::WaitGroup { of: Group::Copy, .. }),
        _ => false,
    };
    BlockContent { instructions: ops.len(), waits_for_group: ops.iter().any(waits) }
}

/// Finds the predecessors and the dominator of each block, and whether it is in a loop.
fn relate(blocks: &mut [CodeBlock]) {
    let next = |block: usize| blocks[block].next.iter().copied();
    let previous = graph::previous(blocks.len(), next);
    let dominators = graph::dominators(blocks.len(), 0, next);
    let loops = graph::loops(blocks.len(), next, |_| true);
    loops.into_iter().flatten().for_each(|block| blocks[block].is_in_loop = true);
    for (block, (previous, dominator)) in blocks.iter_mut().zip(previous.into_iter().zip(dominators)) {
        (block.previous, block.dominator) = (previous, dominator.unwrap_or(0));
    }
}

/// Places the phis: for registers that have several definitions, and a read in a block without a definition of its own.
fn phis(code: &Flat, blocks: &mut [CodeBlock]) -> Vec<bool> {
    let registers = code.registers.len();
    let (mut writers, mut is_read_elsewhere) = (vec![0u8; registers], vec![false; registers]);
    let mut written_in = vec![usize::MAX; registers];
    let mut definitions: FxHashMap<usize, Vec<usize>> = FxHashMap::default();
    for op in blocks.iter().flat_map(|block| &code.steps[block.ops.clone()]) {
        for register in op.writes.iter().flatten() {
            // A guarded instruction keeps the old value if it is not executed.
            writers[*register] = writers[*register].saturating_add(1);
        }
    }
    for (number, block) in blocks.iter().enumerate() {
        for op in &code.steps[block.ops.clone()] {
            for_each_read(op, |register| {
                if writers[register] > 1 && written_in[register] != number {
                    is_read_elsewhere[register] = true;
                }
            });
            for &register in op.writes.iter().flatten() {
                if writers[register] > 1 && written_in[register] != number {
                    if op.guard.is_some() {
                        is_read_elsewhere[register] = true;
                    }
                    written_in[register] = number;
                    definitions.entry(register).or_default().push(number);
                }
            }
        }
    }
    let mut frontier: Vec<Vec<usize>> = vec![Vec::new(); blocks.len()];
    for block in 0..blocks.len() {
        if blocks[block].previous.len() < 2 && block != 0 {
            continue;
        }
        for &previous in &blocks[block].previous {
            let mut runner = previous;
            while (runner != blocks[block].dominator || block == 0) && frontier[runner].last() != Some(&block) {
                frontier[runner].push(block);
                if runner == 0 {
                    break;
                }
                runner = blocks[runner].dominator;
            }
        }
    }
    let mut given_up = vec![false; registers];
    let (mut total, mut seen) = (0, vec![usize::MAX; blocks.len()]);
    let mut definitions: Vec<_> =
        definitions.into_iter().filter(|(register, _)| is_read_elsewhere[*register]).collect();
    definitions.sort_unstable_by_key(|(register, _)| *register);
    for (register, mut work) in definitions {
        if total > PHIS + PHIS_EACH * code.steps.len() {
            given_up[register] = true;
            continue;
        }
        while let Some(block) = work.pop() {
            for &meeting in &frontier[block] {
                if std::mem::replace(&mut seen[meeting], register) != register {
                    blocks[meeting].phis.push(register);
                    work.push(meeting);
                    total += blocks[meeting].previous.len();
                }
            }
        }
    }
    given_up
}

fn for_each_read(step: &Step, read: impl FnMut(usize)) {
    let guard = step.guard.map(|(register, _)| register);
    guard.into_iter().chain(sources(step).into_iter().flat_map(Operand::registers)).for_each(read);
}
