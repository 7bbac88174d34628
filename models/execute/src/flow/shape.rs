//! The control flow of a function, step by step.

use std::ops::Range;

use ptx_isa::graph;
use rustc_hash::FxHashSet;

use crate::code::{Op, Pc, Step};

/// The control flow of a function, by the distance of its steps from the first step.
pub struct Shape {
    first: Pc,
    next: Vec<Vec<usize>>,
    /// The immediate post-dominator of each step. Steps from which a thread cannot return have none.
    after: Vec<Option<usize>>,
}

impl Shape {
    pub fn new(steps: &[Step], first: Pc, end: Pc) -> Self {
        let count = (end - first) as usize;
        let mut next: Vec<Vec<usize>> = Vec::with_capacity(count + 1);
        for at in first as usize..end as usize {
            let mut to = successors(steps, at);
            to.iter_mut().for_each(|to| *to -= first as usize);
            to.retain(|to| *to < count);
            if matches!(steps[at].op, Op::Exit | Op::Return) {
                to.push(count);
            }
            next.push(to);
        }
        next.push(Vec::new());
        let previous = graph::previous(count + 1, |node| next[node].iter().copied());
        let after = graph::dominators(count + 1, count, |node| previous[node].iter().copied());
        Self { first, next, after }
    }

    /// The steps between a branch and the step where all its paths meet again.
    pub fn region(&self, branch: Pc) -> Option<Vec<Pc>> {
        let branch = (branch - self.first) as usize;
        let end = self.after[branch]?;
        let next = |node: usize| self.next[node].iter().copied().filter(move |to| *to != end).collect::<Vec<_>>();
        // A thread that does not return reports an error, such as a wait that takes too long.
        let reached = reach(next(branch), next).into_iter().filter(|node| self.after[*node].is_some());
        let mut region: Vec<Pc> = reached.map(|node| self.first + node as Pc).collect();
        region.sort_unstable();
        Some(region)
    }

    /// By step, the step where all its paths meet again.
    pub fn joins(self) -> Vec<Option<Pc>> {
        let end = self.next.len() - 1;
        let join = |after: Option<usize>| after.filter(|after| *after < end).map(|after| self.first + after as Pc);
        self.after.into_iter().take(end).map(join).collect()
    }

    /// Whether a step is in the function.
    pub fn contains(&self, step: Pc) -> bool {
        step >= self.first && ((step - self.first) as usize) < self.next.len() - 1
    }
}

/// The steps that may follow a step in its function.
pub fn successors(steps: &[Step], at: usize) -> Vec<usize> {
    let step = &steps[at];
    let mut to: Vec<usize> = match &step.op {
        Op::Jump(target) => vec![*target as usize],
        Op::JumpIndexed(_, targets) => targets.iter().map(|target| *target as usize).collect(),
        Op::Exit | Op::Return | Op::Trap => Vec::new(),
        _ => vec![at + 1],
    };
    if step.guard.is_some() && !to.contains(&(at + 1)) {
        to.push(at + 1);
    }
    to.retain(|to| *to < steps.len());
    to
}

/// The maximum number of instructions between a branch that selects values and the end of its paths.
const MOST_SELECTED: usize = 256;

/// The steps between a forward branch and the step where its paths meet again, if all of them are pure or forward
/// branches.
pub fn pure_range(steps: &[Step], branch: usize, is_pure: &impl Fn(usize) -> bool) -> Option<Range<usize>> {
    let target = |at: usize| match &steps[at].op {
        Op::Jump(target) => Some(*target as usize),
        _ => None,
    };
    steps[branch].guard?;
    let mut end = target(branch)?;
    let mut at = branch + 1;
    while at < end {
        match target(at) {
            Some(target) if target > at => end = end.max(target),
            None if is_pure(at) => {}
            _ => return None,
        }
        at += 1;
        if at - branch > MOST_SELECTED {
            return None;
        }
    }
    (end > branch && end < steps.len()).then_some(branch + 1..end)
}

/// The nodes that a search reaches, with its start. Only these nodes take time.
pub fn reach<N: IntoIterator<Item = usize>>(from: Vec<usize>, next: impl Fn(usize) -> N) -> Vec<usize> {
    let mut seen: FxHashSet<usize> = FxHashSet::default();
    let (mut open, mut all) = (from, Vec::new());
    while let Some(node) = open.pop() {
        if seen.insert(node) {
            all.push(node);
            open.extend(next(node));
        }
    }
    all
}
