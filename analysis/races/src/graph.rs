//! A kernel as basic blocks, with each barrier of the CTA in a block by itself.

use std::{collections::BTreeSet, ops::Range};

use ptx_isa::{
    flat::{Action, BasicBlock, Cfg, Flat, Register, Step},
    graph::{Dominance, components, dominators, previous, reached, reverse_post_order},
};
use rustc_hash::FxHashMap;

/// The end of a block.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// Control continues at this block.
    Go(usize),
    /// If the predicate has this value, control continues at the first block, otherwise at the second.
    If(Register, bool, usize, usize),
    /// Control continues at one of several blocks.
    Any(Vec<usize>),
    /// The thread waits at the barrier in this step; then control continues at this block.
    Barrier(usize, usize),
    /// The thread ends.
    Leave,
    /// The launch fails, so that no part of it counts.
    Trap,
}

/// A sequence of steps without a jump.
#[derive(Clone, Debug)]
pub struct Block {
    /// The indices in [`Flat::steps`].
    pub steps: Range<usize>,
    /// The end of the block.
    pub end: End,
}

impl Block {
    /// The successors of the block.
    pub fn next(&self) -> Vec<usize> {
        match &self.end {
            End::Go(to) | End::Barrier(_, to) => vec![*to],
            End::If(_, _, a, b) => vec![*a, *b],
            End::Any(all) => all.clone(),
            End::Leave | End::Trap => Vec::new(),
        }
    }

    /// Replaces one successor by another.
    fn redirect(&mut self, from: usize, to: usize) {
        let ends: Vec<&mut usize> = match &mut self.end {
            End::Go(end) | End::Barrier(_, end) => vec![end],
            End::If(_, _, a, b) => vec![a, b],
            End::Any(all) => all.iter_mut().collect(),
            End::Leave | End::Trap => Vec::new(),
        };
        ends.into_iter().filter(|end| **end == from).for_each(|end| *end = to);
    }
}

/// The blocks of a kernel, whose entry is the first block. Each barrier has a block by itself, so that a guarded
/// barrier can be skipped by a branch.
pub fn blocks(flat: &Flat, is_barrier: impl Fn(usize) -> bool) -> Vec<Block> {
    let cfg = Cfg::new(flat, &is_barrier);
    // Barriers, exits and traps with a guard become separate blocks after all existing blocks.
    let mut more: Vec<Block> = Vec::new();
    let block = |block: &BasicBlock| {
        let last = block.steps.end - 1;
        let Step { action, guard, .. } = &flat.steps[last];
        let own = match (action, &block.next[..]) {
            (Action::Leave(_), _) => Some(End::Leave),
            (Action::Trap, _) => Some(End::Trap),
            (_, [following]) if is_barrier(last) => Some(End::Barrier(last, *following)),
            _ => None,
        };
        let steps = if own.is_some() || action.jumps() { block.steps.start..last } else { block.steps.clone() };
        let end = match (own, guard, &block.next[..]) {
            (Some(own), Some((register, is)), [following]) => {
                more.push(Block { steps: 0..0, end: own });
                End::If(*register, *is, cfg.blocks.len() + more.len() - 1, *following)
            }
            (Some(own), ..) => own,
            (None, Some((register, is)), [to, following]) => End::If(*register, *is, *to, *following),
            (None, _, [to]) => End::Go(*to),
            (None, _, all) => End::Any(all.to_vec()),
        };
        Block { steps, end }
    };
    let mut blocks: Vec<Block> = cfg.blocks.iter().map(block).collect();
    blocks.extend(more);
    while let Some((header, inner)) = shared_header(flat, &blocks) {
        let outer = blocks.len();
        let others = blocks.iter_mut().enumerate().filter(|(at, _)| !inner.contains(at));
        others.for_each(|(_, block)| block.redirect(header, outer));
        blocks.push(Block { steps: 0..0, end: End::Go(header) });
    }
    blocks
}

/// A header that an inner and an outer loop share, and the sources of the inner loop's back edges. A wait at the
/// beginning of a loop is such an inner loop: it does not change the counter of the outer loop. Two back edges of one
/// loop that both change the counter are not an inner and an outer loop.
fn shared_header(flat: &Flat, blocks: &[Block]) -> Option<(usize, Vec<usize>)> {
    // The entry block has no predecessor whose edge could be redirected.
    let next = |block: usize| blocks[block].next();
    let dominance = Dominance::from_dominators(&dominators(blocks.len(), 0, next));
    let mut before = previous(blocks.len(), next);
    before.iter_mut().for_each(Vec::dedup);
    (1..blocks.len()).find_map(|header| {
        let is_end = |at: &usize| dominance.dominates(header, *at);
        let ends: Vec<usize> = before[header].iter().copied().filter(is_end).collect();
        if ends.len() < 2 {
            return None;
        }
        let bodies: Vec<Body> = ends.iter().map(|end| Body::new(header, vec![*end], &before)).collect();
        let smallest = (0..ends.len()).min_by_key(|at| bodies[*at].size())?;
        let inner: Vec<usize> = ends.iter().copied().filter(|end| bodies[smallest].has(*end)).collect();
        let is_around = |at: usize| inner.contains(&ends[at]) || bodies[at].size() > bodies[smallest].size();
        if inner.len() == ends.len() || !(0..ends.len()).all(is_around) {
            return None;
        }
        let whole = Body::new(header, ends, &before);
        let of = |is_in: &dyn Fn(usize) -> bool| -> Vec<&Step> {
            let steps = whole.blocks().filter(|at| is_in(*at)).flat_map(|at| blocks[at].steps.clone());
            steps.map(|step| &flat.steps[step]).collect()
        };
        let within = of(&|at| bodies[smallest].has(at));
        let outside = of(&|at| !bodies[smallest].has(at));
        let written = |steps: &[&Step]| -> BTreeSet<Register> {
            steps.iter().flat_map(|step| &step.writes).flatten().copied().collect()
        };
        let (inside, changed) = (written(&within), written(&outside));
        let is_kept = within.iter().any(|step| step.reads().iter().any(|register| changed.contains(register)));
        (is_kept && inside.is_disjoint(&changed)).then_some((header, inner))
    })
}

/// The blocks of a loop.
#[derive(Clone, Debug, Default)]
pub struct Body {
    /// The first block that may be in the loop, and for each block from there on whether it is in the loop.
    start: usize,
    is_in: Vec<bool>,
}

impl Body {
    /// The blocks on paths from the header to the given blocks; `before` gives the predecessors of each block.
    fn new(header: usize, ends: Vec<usize>, before: &[Vec<usize>]) -> Self {
        let seen = reached(before.len(), ends, |block| before[block].iter().copied(), |block| block == header);
        let start = seen.iter().position(|is_in| *is_in).unwrap_or(header);
        let end = seen.iter().rposition(|is_in| *is_in).unwrap_or(header);
        Self { start, is_in: seen[start..=end].to_vec() }
    }

    /// Whether a block is in the loop.
    pub fn has(&self, block: usize) -> bool {
        block.checked_sub(self.start).is_some_and(|at| self.is_in.get(at) == Some(&true))
    }

    /// The blocks of the loop, in ascending order.
    pub fn blocks(&self) -> impl Iterator<Item = usize> {
        (self.start..).zip(&self.is_in).filter_map(|(block, is_in)| is_in.then_some(block))
    }

    /// The number of blocks.
    pub fn size(&self) -> usize {
        self.blocks().count()
    }
}

/// A loop: its header and its body.
#[derive(Clone, Debug)]
pub struct Loop {
    /// The header.
    pub header: usize,
    /// All blocks of the loop.
    pub body: Body,
}

/// A topological order of the blocks without back edges, and the loops.
#[derive(Clone, Debug)]
pub struct Order {
    /// The blocks.
    pub order: Vec<usize>,
    /// The loops; each loop comes after the loops that contain it.
    pub loops: Vec<Loop>,
    /// The loop with a given header.
    headers: FxHashMap<usize, usize>,
}

impl Order {
    /// `None` if a loop has several entries.
    pub fn new(count: usize, start: usize, next: &dyn Fn(usize) -> Vec<usize>) -> Option<Self> {
        let dominance = Dominance::from_dominators(&dominators(count, start, next));
        let is_reached = reached(count, [start], next, |_| false);
        let is_back = |from: usize, to: usize| dominance.dominates(to, from);
        let forward = |from: usize| next(from).into_iter().filter(|to| !is_back(from, *to)).collect::<Vec<_>>();
        // Without the back edges, the graph must be acyclic.
        let components = components(count, forward, |node| is_reached[node]);
        if components.iter().any(|of| of.len() > 1) {
            return None;
        }
        let order = reverse_post_order(count, start, forward);
        let before = previous(count, |from| if is_reached[from] { next(from) } else { Vec::new() });
        let mut loops: Vec<Loop> = Vec::new();
        for &header in &order {
            let ends: Vec<usize> = before[header].iter().copied().filter(|from| is_back(*from, header)).collect();
            if !ends.is_empty() {
                loops.push(Loop { header, body: Body::new(header, ends, &before) });
            }
        }
        let headers = loops.iter().enumerate().map(|(at, own)| (own.header, at)).collect();
        Some(Self { order, loops, headers })
    }

    /// The loop whose header is a block.
    pub fn loop_at(&self, block: usize) -> Option<usize> {
        self.headers.get(&block).copied()
    }
}

#[cfg(test)]
mod tests {
    use ptx_isa::{
        Module,
        flat::{Library, Limits},
    };

    use super::*;

    fn check(body: &str) -> (Vec<Block>, Option<Order>) {
        let text = format!(
            ".version 8.6\n.target sm_90\n.visible .entry k() {{\n.reg .pred %p<3>;\n.reg .b32 %r<3>;\n{body}\n}}\n"
        );
        let module: Module = text.parse().expect("PTX");
        let kernel = module.functions().next().expect("a kernel");
        let flat = Flat::inline_calls(&Library::new(&module), kernel, Limits::default());
        let blocks = blocks(&flat, |at| matches!(&flat.steps[at].action, Action::Barrier(of) if !of.warp));
        let order = Order::new(blocks.len(), 0, &|block| blocks[block].next());
        (blocks, order)
    }

    #[test]
    fn a_condition_leads_around_a_barrier() {
        let (blocks, order) = check("@%p1 bar.sync 0;\nret;");
        let barrier = blocks.iter().position(|block| matches!(block.end, End::Barrier(..))).expect("a barrier");
        assert!(blocks.iter().any(|block| matches!(block.end, End::If(_, true, to, _) if to == barrier)), "{blocks:?}");
        assert_eq!(order.map(|order| order.loops.len()), Some(0));
    }

    #[test]
    fn loops_are_in_each_other() {
        let (_, order) =
            check("A:\nadd.u32 %r2, %r2, 1;\nB:\nadd.u32 %r1, %r1, 1;\n@%p1 bra B;\nbar.sync 0;\n@%p2 bra A;\nret;");
        let loops = order.expect("an order").loops;
        let sizes: Vec<usize> = loops.iter().map(|own| own.body.size()).collect();
        assert_eq!(loops.len(), 2, "{loops:?}");
        assert_ne!(sizes[0], sizes[1]);
    }

    #[test]
    fn a_loop_with_two_beginnings_has_no_order() {
        let (_, order) = check("@%p1 bra B;\nA:\nadd.u32 %r1, %r1, 1;\nB:\nadd.u32 %r2, %r2, 1;\n@%p2 bra A;\nret;");
        assert!(order.is_none());
    }
}
