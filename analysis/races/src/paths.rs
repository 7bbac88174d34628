//! Reachability between the steps of a kernel.

use ptx_isa::graph::reached;

use crate::graph::{Block, End};

/// The paths of a kernel, step by step.
#[derive(Clone, Copy)]
pub struct Paths<'k> {
    pub blocks: &'k [Block],
}

impl Paths<'_> {
    /// The block of a step.
    pub fn block_of(&self, step: usize) -> Option<usize> {
        self.blocks.iter().position(|block| block.steps.contains(&step))
    }

    /// Whether a path leads from the end of one step to another step, without an edge to a block in `cut` and without a
    /// step at which `stops` holds.
    pub fn reaches(&self, from: usize, to: usize, cut: &[usize], stops: &dyn Fn(usize) -> bool) -> bool {
        self.reaches_first(from, cut, stops, &|step| step == to)
    }

    /// Whether a path leads from the end of a step to a barrier, without a step at which `stops` holds.
    pub fn reaches_barrier(&self, from: usize, stops: &dyn Fn(usize) -> bool) -> bool {
        let is_barrier = |step: usize| self.barriers().any(|(_, barrier)| barrier == step);
        self.reaches_first(from, &[], stops, &is_barrier)
    }

    /// The blocks that are barriers, and their steps.
    pub fn barriers(&self) -> impl Iterator<Item = (usize, usize)> {
        self.blocks.iter().enumerate().filter_map(|(at, block)| match block.end {
            End::Barrier(step, _) => Some((at, step)),
            _ => None,
        })
    }

    fn reaches_first(
        &self,
        from: usize,
        cut: &[usize],
        stops: &dyn Fn(usize) -> bool,
        is_target: &dyn Fn(usize) -> bool,
    ) -> bool {
        let own =
            self.barriers().find(|(_, step)| *step == from).map(|(block, _)| block).or_else(|| self.block_of(from));
        let Some(own) = own else { return true };
        let mut seen = vec![false; self.blocks.len()];
        // In the block of the step, the search begins after the step.
        let mut open = vec![(own, from + 1)];
        while let Some((at, start)) = open.pop() {
            let block = &self.blocks[at];
            let barrier = match block.end {
                End::Barrier(step, _) => Some(step).filter(|step| *step >= start),
                _ => None,
            };
            let mut steps = (start.max(block.steps.start)..block.steps.end).chain(barrier);
            let first = steps.find(|step| is_target(*step) || stops(*step));
            match first {
                Some(step) if is_target(step) => return true,
                Some(_) => continue,
                None => {}
            }
            for to in block.next().into_iter().filter(|to| !cut.contains(to)) {
                if !std::mem::replace(&mut seen[to], true) {
                    open.push((to, 0));
                }
            }
        }
        false
    }

    /// Whether every path from the kernel entry to a step passes a block.
    pub fn is_always_passed(&self, block: usize, step: usize) -> bool {
        let Some(to) = self.block_of(step) else { return false };
        to != block && !reached(self.blocks.len(), [0], |at| self.blocks[at].next(), |at| at == block)[to]
    }

    /// Whether two threads that have passed the same barriers may execute the two steps, without an edge to a block in
    /// `cut`.
    pub fn share_an_interval(&self, one: usize, other: usize, cut: &[usize]) -> bool {
        let (Some(one), Some(other)) = (self.block_of(one), self.block_of(other)) else { return true };
        let after = self.barriers().flat_map(|(block, _)| self.blocks[block].next());
        let starts: Vec<usize> = [0].into_iter().chain(after).chain(cut.iter().copied()).collect();
        starts.into_iter().any(|start| {
            let next =
                |at: usize| self.blocks[at].next().into_iter().filter(|to| !cut.contains(to)).collect::<Vec<_>>();
            let reached =
                reached(self.blocks.len(), [start], next, |at| matches!(self.blocks[at].end, End::Barrier(..)));
            reached[one] && reached[other]
        })
    }
}
