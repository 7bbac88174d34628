//! `setmaxnreg`, which all threads of a warpgroup execute alike (section 9.7.19.5). The machine does not count registers.

use ptx_isa::operation::RegisterChange;

use crate::{
    code::Source,
    collective::ALL_LANES,
    exec::position,
    fault::ThreadId,
    machine::{Cta, Machine},
    registers::Changed,
    report::FaultKind,
    warp::{Lanes, WARPGROUP, Warp},
};

/// The warps of the warpgroup of a warp, except the warp.
fn others(cta: &Cta, w: usize) -> impl Iterator<Item = usize> + use<> {
    let count = WARPGROUP as usize;
    let first = w / count * count;
    (first..(first + count).min(cta.changes.len())).filter(move |other| *other != w)
}

impl Machine<'_> {
    /// Executes `setmaxnreg` when all lanes of the warp have arrived.
    pub fn change_registers(
        &mut self,
        cta: &mut Cta,
        warp: &mut Warp,
        index: usize,
        change: RegisterChange,
        count: Source,
    ) {
        let Some(group) = self.arrived_group(cta, warp, index, ALL_LANES, false) else { return };
        let lane = group.lanes.trailing_zeros() as usize;
        let own = position(warp, lane);
        warp.groups[own].pc += 1;
        let (w, thread) = (warp.first as usize / 32, warp.first + lane as u32);
        let clock = &cta.order[thread as usize].clock;
        let to = (change, self.value(cta, warp, group.base, lane, count));
        let own = Changed { to, pc: group.pc, thread, at: (clock.agent, clock.own) };
        self.check_change(cta, w, group.lanes, own);
        cta.changes[w].push(own);
    }

    fn check_change(&mut self, cta: &Cta, w: usize, lanes: Lanes, own: Changed) {
        let threads = (cta.threads - w as u32 * 32).min(32);
        if lanes.count_ones() < threads {
            let count = lanes.count_ones();
            let message = format!("{count} of the {threads} threads of the warp execute `setmaxnreg`");
            return self.find_change(cta, own, None, message);
        }
        let number = cta.changes[w].len();
        let clock = &cta.order[own.thread as usize].clock;
        let last = cta.changes[w].last().copied();
        let follows = |other: usize| {
            number == 0 || cta.changes[other].get(number - 1).is_some_and(|of| clock.has_seen(of.at.0, of.at.1))
        };
        // A change to the number that the warp already has changes nothing.
        let is_change = last.is_none_or(|last| last.to.1 != own.to.1);
        let is_early = is_change && self.options.races && !others(cta, w).all(follows);
        let different = others(cta, w).filter_map(|other| cta.changes[other].get(number)).find(|of| of.to != own.to);
        if let Some(other) = different.copied() {
            let message = "warps of a warpgroup execute different `setmaxnreg`".to_owned();
            self.find_change(cta, own, Some(other), message);
        } else if is_early {
            let message =
                "the warps of the warpgroup do not synchronize after the `setmaxnreg` before this one".to_owned();
            self.find_change(cta, own, last, message);
        }
    }

    /// Reports the warps that have ended without a `setmaxnreg` of their warpgroup.
    pub fn check_changes(&mut self, cta: &Cta) {
        for w in 0..cta.changes.len() {
            let more = others(cta, w).find_map(|other| cta.changes[other].get(cta.changes[w].len()));
            if let Some(own) = more.copied() {
                let message = format!("warp {w} of the warpgroup ends without this `setmaxnreg`");
                self.find_change(cta, own, None, message);
            }
        }
    }

    fn find_change(&mut self, cta: &Cta, own: Changed, other: Option<Changed>, message: String) {
        let other = other.map(|other| (other.pc, ThreadId { cta: cta.index, thread: other.thread }));
        let help = "let all threads of the warpgroup execute the same `setmaxnreg`, before its warps take different roles, and a barrier between two of them";
        self.find(cta, FaultKind::Setmaxnreg, own.thread, own.pc, other, None, message, Some(help.into()));
    }
}
