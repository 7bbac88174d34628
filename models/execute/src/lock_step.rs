//! Lanes in lock step, as GPUs below sm_70 execute them.
//!
//! Where the lanes of a warp take different paths, the paths run one after the other up to their join: the first step
//! after the branch that every path passes (the immediate post-dominator). Lanes at the join wait for the other lanes of
//! the branch. So a loop that waits for a lane that has left the loop never ends.
//!
//! Only running lanes hold other lanes: lanes that wait at a barrier or for other lanes hold none, since the manual
//! defines no barrier there at which a warp diverges.

use crate::{
    code::Pc,
    exec::position,
    fault::ThreadId,
    launch::Schedule,
    machine::{Cta, Machine},
    report::{Condition, Detail, FaultKind},
    warp::{Branch, Group, Lanes, Wait, Warp},
};

impl Machine<'_> {
    /// Whether the lanes of a warp execute in lock step.
    pub fn is_lock_step(&self) -> bool {
        self.joins.is_some()
    }

    /// The group that continues: in the innermost branch with a ready group, the group that ran last.
    pub fn pick_in_lock_step(&mut self, warp: &mut Warp) -> Option<usize> {
        while let Some(branch) = warp.branches.last()
            && !warp.groups.iter().any(|group| branch.has(group))
        {
            warp.branches.pop();
            warp.merge();
        }
        let ready: Vec<usize> =
            (0..warp.groups.len()).filter(|group| warp.groups[*group].wait == Wait::Ready).collect();
        let of_branch =
            |branch: &Branch| ready.iter().copied().filter(|at| branch.has(&warp.groups[*at])).collect::<Vec<_>>();
        let inner = warp.branches.iter().rposition(|branch| !of_branch(branch).is_empty());
        let candidates = inner.map_or_else(|| ready.clone(), |inner| of_branch(&warp.branches[inner]));
        let last = warp.groups.iter().position(|group| group.lanes >> warp.preferred.0 & 1 == 1);
        let picked = match last.filter(|last| candidates.contains(last)) {
            Some(last) => last,
            None if matches!(self.options.schedule, Schedule::Threads | Schedule::Random) => {
                let turn = self.random.below(candidates.len().max(1) as u64) as usize;
                *candidates.get(turn)?
            }
            None => candidates.into_iter().min_by_key(|at| warp.groups[*at].pc)?,
        };
        let lanes = warp.groups[picked].lanes;
        warp.preferred.0 = lanes.trailing_zeros() as usize;
        // The other lanes of branches further inside wait at barriers, so that these lanes pass the joins without them.
        warp.branches[inner.map_or(0, |inner| inner + 1)..].iter_mut().for_each(|branch| branch.lanes &= !lanes);
        Some(picked)
    }

    /// Records that lanes which were at one step have taken different paths from it.
    pub fn branch(&self, warp: &mut Warp, (lanes, base): (Lanes, u32), from: Pc) {
        let Some(joins) = &self.joins else { return };
        warp.merge();
        if warp.groups.len() < 2 {
            return warp.branches.clear();
        }
        if warp.groups.iter().filter(|group| group.lanes & lanes != 0).count() < 2 {
            return;
        }
        let join = joins.get(from as usize).copied().flatten();
        let is_known = |branch: &Branch| (branch.join, branch.base) == (join, base) && lanes & !branch.lanes == 0;
        // A loop branches again at each iteration, to the same join.
        if !warp.branches.last().is_some_and(is_known) {
            warp.branches.push(Branch { join, base, lanes, from });
        }
    }

    /// Whether a group has reached the join of the innermost branch.
    pub fn joins(warp: &Warp, group: &Group) -> bool {
        let is_join = |branch: &Branch| branch.lanes & group.lanes != 0 && !branch.has(group);
        warp.branches.last().is_some_and(is_join)
    }

    /// Reports the loops of a CTA that never end while ready lanes of their warp wait for the end.
    pub fn hang_in_lock_step(&mut self, cta: &Cta) {
        for warp in cta.warps.iter().filter(|warp| warp.is_ready()) {
            let running = warp.groups[position(warp, warp.preferred.0)];
            let is_held = |branch: &Branch, group: &Group| {
                group.wait == Wait::Ready && group.lanes & branch.lanes != 0 && group.lanes != running.lanes
            };
            let held = |branch: &Branch| warp.groups.iter().find(|group| is_held(branch, group));
            let mut branches = warp.branches.iter().rev().filter(|branch| branch.has(&running));
            let found = branches.find_map(|branch| Some((*branch, *held(branch)?)));
            let Some((branch, held)) = found.filter(|_| running.wait == Wait::Ready) else { continue };
            let [first, other] = [running, held].map(|of| warp.first + of.lanes.trailing_zeros());
            let message = format!(
                "the thread repeats a loop that no thread can end, and lanes of its warp wait at line {} until it leaves the loop: lanes of a warp execute in lock step below sm_70",
                self.line(held.pc)
            );
            let help = Some("release the lock, or write the memory that the loop reads, in a lane that has not left the loop; or let one lane of each warp wait".into());
            let other = Some((held.pc, ThreadId { cta: cta.index, thread: other }));
            self.depend_at(cta, Condition::LockStep, first, branch.from);
            let kind = FaultKind::Hang;
            self.find_detailed(cta, kind, first, branch.from, other, None, message, help, Detail::LockStep);
        }
    }

    /// Reports lanes that execute an instruction for a mask before other lanes of the mask have joined them: below
    /// sm_70 the manual defines it only for lanes that execute it together.
    pub fn check_convergence(&mut self, cta: &Cta, warp: &Warp, group: &Group, missing: Lanes) {
        if !self.is_lock_step() || missing == 0 {
            return;
        }
        let thread = |lanes: Lanes| warp.first + lanes.trailing_zeros();
        let other = &warp.groups[position(warp, missing.trailing_zeros() as usize)];
        let other = Some((other.pc, ThreadId { cta: cta.index, thread: thread(missing) }));
        let message =
            "lanes of the mask are at another instruction: below sm_70 all lanes of the mask execute it together"
                .to_owned();
        let help = "let all lanes of the mask reach the instruction together, or name only the lanes that do";
        let first = thread(group.lanes);
        self.find(cta, FaultKind::DivergentWarp, first, group.pc, other, None, message, Some(help.into()));
    }
}
