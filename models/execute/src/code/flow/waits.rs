//! The answers of waits for mbarriers: whether they decide anything except how long a thread waits.
//!
//! `mbarrier.try_wait` and `.test_wait` may answer no at any time, so their answer depends on the schedule. It is
//! harmless if a branch on it only leads to more waits for the same phase.

use ptx_isa::graph;

use super::{Flow, Op, Pc, Step, is_mbarrier_wait, reach, successors};

/// The effect of the answer of a wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// The thread waits again by the same instruction until the answer is yes, or ignores the answer.
    Repeats,
    /// After the answer no, the thread waits by these other instructions; after the answer yes, it does not.
    Skips(Vec<Pc>),
    /// The answer steers another instruction.
    Steers,
}

/// The control flow of a function, by the distance of its steps from the first step.
pub(super) struct Shape {
    first: Pc,
    next: Vec<Vec<usize>>,
    /// The immediate post-dominator of each step. Steps from which a thread cannot return have none.
    after: Vec<Option<usize>>,
}

impl Shape {
    pub(super) fn new(steps: &[Step], first: Pc, end: Pc) -> Self {
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
    fn region(&self, branch: Pc) -> Option<Vec<Pc>> {
        let branch = (branch - self.first) as usize;
        let end = self.after[branch]?;
        let next = |node: usize| self.next[node].iter().copied().filter(move |to| *to != end).collect::<Vec<_>>();
        // A thread that does not return reports an error, such as a wait that takes too long.
        let reached = reach(next(branch), next).into_iter().filter(|node| self.after[*node].is_some());
        let mut region: Vec<Pc> = reached.map(|node| self.first + node as Pc).collect();
        region.sort_unstable();
        Some(region)
    }
}

impl Flow {
    /// The effect of the answer of a wait in a function.
    pub(super) fn find_answer(&self, steps: &[Step], shape: &Shape, pc: Pc) -> Answer {
        let (mut sites, mut stores, nodes) = self.uses_of_results(steps, pc);
        for node in self.reached(nodes) {
            sites.extend(&self.direct[node]);
            stores.extend(&self.stores[node]);
        }
        if !stores.is_empty() {
            return Answer::Steers;
        }
        let mut waits = Vec::new();
        for site in &sites {
            let is_branch = matches!(steps[*site as usize].op, Op::Jump(_));
            let is_here = *site >= shape.first && ((site - shape.first) as usize) < shape.next.len() - 1;
            let Some(region) = shape.region(*site).filter(|_| is_branch && is_here) else { return Answer::Steers };
            for other in &region {
                match &steps[*other as usize].op {
                    Op::Jump(_) => {}
                    Op::Asynchronous(of) if is_mbarrier_wait(of.form.family()) => waits.push(*other),
                    _ if self.has_use_outside(steps, *other, &region) => return Answer::Steers,
                    _ => {}
                }
            }
        }
        waits.sort_unstable();
        waits.dedup();
        waits.retain(|other| *other != pc);
        if waits.is_empty() { Answer::Repeats } else { Answer::Skips(waits) }
    }

    /// Whether a step has an effect, or its results are used outside of a region.
    fn has_use_outside(&self, steps: &[Step], pc: Pc, region: &[Pc]) -> bool {
        if self.uses(steps, pc).has_effect {
            return true;
        }
        let is_outside = |site: &Pc| region.binary_search(site).is_err();
        let (direct, stores, nodes) = self.uses_of_results(steps, pc);
        let later = self.reached(nodes);
        let later = later.iter().flat_map(|node| self.stores[*node].iter().chain(&self.direct[*node]));
        direct.iter().chain(&stores).chain(later).any(is_outside)
    }
}
