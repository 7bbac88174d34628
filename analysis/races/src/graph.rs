//! A kernel as blocks, with each barrier of the CTA in a block of its own.

use std::{collections::BTreeSet, ops::Range};

use ptx_isa::{
    flat::{Action, Flat, Register, Step},
    graph::{Dominance, dominators},
};
use rustc_hash::{FxHashMap, FxHashSet};

/// How a block ends.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum End {
    /// It goes on there.
    Go(usize),
    /// Where the predicate is so, there; elsewhere, to the second one.
    If(Register, bool, usize, usize),
    /// To one of several.
    Any(Vec<usize>),
    /// The thread waits at the barrier that this step is, and goes on there.
    Barrier(usize, usize),
    /// The thread ends.
    Leave,
    /// The launch fails, so that none of it counts.
    Trap,
}

/// Steps without a jump.
#[derive(Clone, Debug)]
pub struct Block {
    /// Which steps of [`Flat::steps`].
    pub steps: Range<usize>,
    /// What follows them.
    pub end: End,
}

impl Block {
    /// The blocks that it leads to.
    pub fn next(&self) -> Vec<usize> {
        match &self.end {
            End::Go(to) | End::Barrier(_, to) => vec![*to],
            End::If(_, _, a, b) => vec![*a, *b],
            End::Any(all) => all.clone(),
            End::Leave | End::Trap => Vec::new(),
        }
    }

    /// Leads to another block in place of one.
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

/// The blocks of a kernel, which begins with the first one.
pub fn blocks(flat: &Flat, is_barrier: impl Fn(usize) -> bool) -> Vec<Block> {
    let ends = |at: usize| {
        matches!(flat.steps[at].action, Action::Jump(..) | Action::Leave(_) | Action::Trap) || is_barrier(at)
    };
    let mut is_start = vec![false; flat.steps.len() + 1];
    is_start[0] = true;
    for label in &flat.labels {
        is_start[label.at] = true;
    }
    for at in 0..flat.steps.len() {
        if ends(at) {
            is_start[at + 1] = true;
            // A barrier stands alone, so that a condition can lead around it.
            is_start[at] |= is_barrier(at);
        }
    }
    let starts: Vec<usize> = (0..flat.steps.len()).filter(|at| is_start[*at]).collect();
    let block_at = |step: usize| starts.partition_point(|start| *start < step).min(starts.len() - 1);
    let mut blocks: Vec<Block> = Vec::new();
    // Barriers, leaves and traps with a condition become blocks of their own behind all others.
    let mut more: Vec<Block> = Vec::new();
    for (index, &start) in starts.iter().enumerate() {
        let end = starts.get(index + 1).copied().unwrap_or(flat.steps.len());
        let last = &flat.steps[end - 1];
        let following = (index + 1).min(starts.len() - 1);
        let before = start..start.max(end - 1);
        let (steps, end) = match &last.action {
            Action::Jump(labels, _) => {
                let targets: Vec<usize> = labels.iter().map(|label| block_at(flat.labels[*label].at)).collect();
                let end = match (last.guard, &targets[..]) {
                    (Some((register, is)), [to]) => End::If(register, is, *to, following),
                    (None, [to]) => End::Go(*to),
                    _ => End::Any(targets.into_iter().chain(last.guard.map(|_| following)).collect()),
                };
                (before, end)
            }
            action if ends(end - 1) => {
                let own = match action {
                    Action::Leave(_) => End::Leave,
                    Action::Trap => End::Trap,
                    _ => End::Barrier(end - 1, following),
                };
                let own = match last.guard {
                    None => own,
                    Some((register, is)) => {
                        more.push(Block { steps: 0..0, end: own });
                        End::If(register, is, starts.len() + more.len() - 1, following)
                    }
                };
                (before, own)
            }
            _ => (start..end, End::Go(following)),
        };
        blocks.push(Block { steps, end });
    }
    blocks.extend(more);
    while let Some((header, inner)) = shared_header(flat, &blocks) {
        let outer = blocks.len();
        let others = blocks.iter_mut().enumerate().filter(|(at, _)| !inner.contains(at));
        others.for_each(|(_, block)| block.redirect(header, outer));
        blocks.push(Block { steps: 0..0, end: End::Go(header) });
    }
    blocks
}

/// Where a loop and one around it begin at the same block: that block, and from where the inner one goes back. A wait at the beginning of a
/// loop is such a one: it leaves the counter of the loop around it alone. Two ends of one loop, both of which count, are none.
fn shared_header(flat: &Flat, blocks: &[Block]) -> Option<(usize, Vec<usize>)> {
    // An edge to the very first block has no block before it that could be redirected.
    let next = |block: usize| blocks[block].next();
    let dominance = Dominance::of(&dominators(blocks.len(), 0, next));
    let mut before: Vec<Vec<usize>> = vec![Vec::new(); blocks.len()];
    (0..blocks.len()).for_each(|from| next(from).into_iter().for_each(|to| before[to].push(from)));
    before.iter_mut().for_each(Vec::dedup);
    (1..blocks.len()).find_map(|header| {
        let is_end = |at: &usize| dominance.dominates(header, *at);
        let ends: Vec<usize> = before[header].iter().copied().filter(is_end).collect();
        if ends.len() < 2 {
            return None;
        }
        let bodies: Vec<Body> = ends.iter().map(|end| Body::of(header, vec![*end], &before)).collect();
        let smallest = (0..ends.len()).min_by_key(|at| bodies[*at].size())?;
        let inner: Vec<usize> = ends.iter().copied().filter(|end| bodies[smallest].has(*end)).collect();
        let is_around = |at: usize| inner.contains(&ends[at]) || bodies[at].size() > bodies[smallest].size();
        if inner.len() == ends.len() || !(0..ends.len()).all(is_around) {
            return None;
        }
        let whole = Body::of(header, ends, &before);
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
    /// The first block that may be in it; of each from there on, whether it is.
    start: usize,
    is_in: Vec<bool>,
}

impl Body {
    /// The way from the header to some blocks, with the blocks before each of them.
    fn of(header: usize, ends: Vec<usize>, before: &[Vec<usize>]) -> Self {
        let mut seen = FxHashSet::from_iter([header]);
        let mut open = ends;
        while let Some(block) = open.pop() {
            if seen.insert(block) {
                open.extend(&before[block]);
            }
        }
        let (start, end) =
            (seen.iter().min().copied().unwrap_or(header), seen.iter().max().map_or(header, |of| of + 1));
        let mut is_in = vec![false; end - start];
        seen.into_iter().for_each(|block| is_in[block - start] = true);
        Self { start, is_in }
    }

    /// Whether a block is in it.
    pub fn has(&self, block: usize) -> bool {
        block.checked_sub(self.start).is_some_and(|at| self.is_in.get(at) == Some(&true))
    }

    /// All of them, in order.
    pub fn blocks(&self) -> impl Iterator<Item = usize> {
        (self.start..).zip(&self.is_in).filter_map(|(block, is_in)| is_in.then_some(block))
    }

    /// How many there are.
    pub fn size(&self) -> usize {
        self.blocks().count()
    }
}

/// A loop: where it begins, and all that is in it.
#[derive(Clone, Debug)]
pub struct Loop {
    /// The block where it begins.
    pub header: usize,
    /// All of it.
    pub body: Body,
}

/// Blocks in an order in which each stands behind those that lead to it but by going round a loop, and the loops.
#[derive(Clone, Debug)]
pub struct Order {
    /// The blocks.
    pub order: Vec<usize>,
    /// The loops, each behind those that it is in.
    pub loops: Vec<Loop>,
    /// Which of the loops begins at a block.
    headers: FxHashMap<usize, usize>,
}

impl Order {
    /// `None` where a loop has several beginnings.
    pub fn of(count: usize, start: usize, next: &dyn Fn(usize) -> Vec<usize>) -> Option<Self> {
        let dominance = Dominance::of(&dominators(count, start, next));
        let reached = ptx_isa::graph::reached(count, [start], next, |_| false);
        let is_back = |from: usize, to: usize| dominance.dominates(to, from);
        let forward = |from: usize| next(from).into_iter().filter(|to| !is_back(from, *to)).collect::<Vec<_>>();
        // Without the edges that go back, nothing goes round.
        let components = ptx_isa::graph::components(count, forward, |node| reached[node]);
        if components.iter().any(|of| of.len() > 1) {
            return None;
        }
        let order = ptx_isa::graph::reverse_post_order(count, start, forward);
        let mut before: Vec<Vec<usize>> = vec![Vec::new(); count];
        for &from in &order {
            next(from).into_iter().for_each(|to| before[to].push(from));
        }
        let mut loops: Vec<Loop> = Vec::new();
        for &header in &order {
            let ends: Vec<usize> = before[header].iter().copied().filter(|from| is_back(*from, header)).collect();
            if !ends.is_empty() {
                loops.push(Loop { header, body: Body::of(header, ends, &before) });
            }
        }
        let headers = loops.iter().enumerate().map(|(at, own)| (own.header, at)).collect();
        Some(Self { order, loops, headers })
    }

    /// The loop that begins at a block.
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
        let flat = Flat::of(&Library::of(&module), kernel, Limits::default());
        let blocks = blocks(&flat, |at| matches!(&flat.steps[at].action, Action::Barrier(of) if !of.warp));
        let order = Order::of(blocks.len(), 0, &|block| blocks[block].next());
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
