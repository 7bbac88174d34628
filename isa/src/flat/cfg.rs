//! The control-flow graph of a function's steps.

use std::ops::Range;

use super::{Action, Flat};

impl Action {
    /// Whether control can continue at a step other than the next one.
    pub fn jumps(&self) -> bool {
        matches!(self, Self::Jump(..) | Self::Leave(_) | Self::Trap)
    }
}

/// A basic block: a run of steps that control enters at the first step and leaves after the last.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BasicBlock {
    /// The indices of its steps in [`Flat::steps`].
    pub steps: Range<usize>,
    /// The successors: the targets of the block's jump in their order, then the block after it, unless the last step
    /// always jumps.
    pub next: Vec<usize>,
}

/// The basic blocks of a function in the order of their steps, including unreachable blocks. The first block is the
/// entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cfg {
    /// The blocks.
    pub blocks: Vec<BasicBlock>,
}

impl Cfg {
    /// Builds the basic blocks of a function. A step for which `is_alone` holds becomes a separate block.
    pub fn new(flat: &Flat, is_alone: impl Fn(usize) -> bool) -> Self {
        let mut is_start = vec![false; flat.steps.len() + 1];
        is_start[0] = true;
        for (at, step) in flat.steps.iter().enumerate() {
            if let Action::Jump(labels, _) = &step.action {
                labels.iter().for_each(|label| is_start[flat.labels[*label].at] = true);
            }
            is_start[at] |= is_alone(at);
            is_start[at + 1] |= is_alone(at) || step.action.jumps();
        }
        let starts: Vec<usize> = (0..flat.steps.len()).filter(|at| is_start[*at]).collect();
        let ends = starts.iter().skip(1).copied().chain([flat.steps.len()]);
        let blocks = starts.iter().zip(ends).enumerate().map(|(number, (&start, end))| {
            let last = &flat.steps[end - 1];
            let labels = if let Action::Jump(labels, _) = &last.action { &labels[..] } else { &[] };
            let falls = (!last.action.jumps() || last.guard.is_some()) && end < flat.steps.len();
            let targets = labels.iter().filter_map(|label| starts.binary_search(&flat.labels[*label].at).ok());
            BasicBlock { steps: start..end, next: targets.chain(falls.then_some(number + 1)).collect() }
        });
        Self { blocks: blocks.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        Module,
        flat::{Library, Limits},
    };

    /// Checks the steps and the successors of each block.
    fn check(body: &str, is_alone: impl Fn(usize) -> bool, expected: &[(Range<usize>, &[usize])]) {
        let text =
            format!(".version 8.6\n.target sm_90\n.entry k() {{\n.reg .pred %p<3>;\n.reg .b32 %r<3>;\n{body}\n}}\n");
        let module: Module = text.parse().expect(body);
        let kernel = module.functions().next().expect("a kernel");
        let cfg = Cfg::new(&Flat::inline_calls(&Library::new(&module), kernel, Limits::default()), is_alone);
        let found: Vec<_> = cfg.blocks.iter().map(|block| (block.steps.clone(), &block.next[..])).collect();
        assert_eq!(found, expected, "{body}");
    }

    #[test]
    fn blocks_end_where_control_goes_elsewhere() {
        let never = |_: usize| false;
        check("", never, &[(0..1, &[])]);
        check("add.u32 %r1, %r1, 1;\nbar.sync 0;", never, &[(0..3, &[])]);
        check("@%p1 ret;\ntrap;", never, &[(0..1, &[1]), (1..2, &[]), (2..3, &[])]);
        check("A:\n@%p1 bra B;\nbra A;\nB:\nexit;", never, &[(0..1, &[2, 1]), (1..2, &[0]), (2..3, &[]), (3..4, &[])]);
        // A label without a jump to it does not begin a block.
        check("A:\nadd.u32 %r1, %r1, 1;\nB:\n@%p1 bra A;", never, &[(0..2, &[0, 1]), (2..3, &[])]);
        let table = "ts: .branchtargets A, B;\n@%p1 brx.idx %r1, ts;\nA:\nbar.sync 0;\nB:\nret;";
        check(table, never, &[(0..1, &[1, 2, 1]), (1..2, &[2]), (2..3, &[]), (3..4, &[])]);
    }

    #[test]
    fn a_step_may_stand_alone() {
        let body = "add.u32 %r1, %r1, 1;\n@%p1 bar.sync 0;\nadd.u32 %r1, %r1, 1;";
        check(body, |at| at == 1, &[(0..1, &[1]), (1..2, &[2]), (2..4, &[])]);
    }
}
