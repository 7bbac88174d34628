//! Instructions that the lanes of a warp execute together: votes, shuffles, `match`, `redux`, `elect`, and
//! `bar.warp.sync`.

use ptx_isa::{
    AluOp, AtomOp, Type,
    arithmetic::alu,
    operation::{
        self,
        Collective::{Elect, Match, Redux, Shuffle, Vote},
    },
};

use crate::{
    access::low_bits,
    clock::JoinedPasts,
    code::{Collective, Column, LANES, Reg, Source},
    exec::position,
    machine::{Cta, Machine},
    report::FaultKind,
    warp::{Group, Lanes, Wait, Warp, each},
};

/// The mask of an instruction that all lanes execute together, except those that have ended.
pub const ALL_LANES: Option<Source> = Some(Source::Number(u32::MAX as u64));

impl Machine<'_> {
    /// Executes a collective instruction if all of its lanes have arrived. Otherwise the lanes wait.
    pub fn collective(
        &mut self,
        cta: &mut Cta,
        warp: &mut Warp,
        index: usize,
        of: &Collective,
        mask: Option<Source>,
        results: &[Option<Reg>],
    ) {
        let Some(group) = self.arrived_group(cta, warp, index, mask, matches!(of, Collective::Barrier)) else { return };
        let (lanes, base) = (group.lanes, group.base);
        match of {
            Collective::Barrier => self.synchronize_lanes(cta, warp, lanes),
            Collective::Of(Vote(how), [source, ..]) => {
                let mut column = [0; LANES];
                self.column(cta, warp, base, *source, &mut column);
                let holds: Lanes =
                    each(lanes).filter(|lane| column[*lane] & 1 == 1).fold(0, |all, lane| all | 1 << lane);
                let value = match how {
                    operation::Vote::All => u64::from(holds == lanes),
                    operation::Vote::Any => u64::from(holds != 0),
                    operation::Vote::Uni => u64::from(holds == lanes || holds == 0),
                    operation::Vote::Ballot => holds.into(),
                };
                self.give(warp, &group, results, 0, |_| value);
            }
            Collective::Of(Shuffle(how), [a, b, c]) => {
                let mut columns = [[0; LANES]; 3];
                for (column, source) in columns.iter_mut().zip([a, b, c]) {
                    self.column(cta, warp, base, *source, column);
                }
                let [a, b, c] = &columns;
                let from = |lane: usize| shuffled(*how, lane, b[lane], c[lane]);
                let value = |lane: usize| match from(lane) {
                    (from, true) => a[from],
                    (_, false) => a[lane],
                };
                self.give(warp, &group, results, 0, value);
                self.give(warp, &group, results, 1, |lane| from(lane).1.into());
                let missing = each(lanes).find(|lane| matches!(from(*lane), (from, true) if lanes >> from & 1 == 0));
                if let Some(lane) = missing {
                    let thread = warp.first + lane as u32;
                    let message =
                        format!("the instruction reads the value of lane {}, which does not take part", from(lane).0);
                    self.find(cta, FaultKind::Misuse, thread, group.pc, None, None, message, None);
                }
            }
            Collective::Of(Match { any, ty }, [value, ..]) => {
                let mut column = [0; LANES];
                self.column(cta, warp, base, *value, &mut column);
                column.iter_mut().for_each(|value| *value &= low_bits(ty.bits()));
                let same = |lane: usize| -> u64 {
                    each(lanes).filter(|other| column[*other] == column[lane]).fold(0, |all, lane| all | 1 << lane)
                };
                let all = |lane: usize| same(lane) == u64::from(lanes);
                match any {
                    true => self.give(warp, &group, results, 0, same),
                    false => {
                        self.give(warp, &group, results, 0, |lane| if all(lane) { lanes.into() } else { 0 });
                        self.give(warp, &group, results, 1, |lane| all(lane).into());
                    }
                }
            }
            Collective::Of(Redux { op, ty, abs, nan }, [source, ..]) => {
                let mut column = [0; LANES];
                self.column(cta, warp, base, *source, &mut column);
                let value = reduced(*op, *ty, [*abs, *nan], &column, lanes);
                self.give(warp, &group, results, 0, |_| value);
            }
            Collective::Of(Elect, _) => {
                let leader = lanes.trailing_zeros() as usize;
                self.give(warp, &group, results, 0, |_| leader as u64);
                self.give(warp, &group, results, 1, |lane| u64::from(lane == leader));
            }
        }
        let own = position(warp, lanes.trailing_zeros() as usize);
        warp.groups[own].pc += 1;
    }

    fn give(
        &self,
        warp: &mut Warp,
        group: &Group,
        results: &[Option<Reg>],
        index: usize,
        value: impl Fn(usize) -> u64,
    ) {
        if let Some(Some(register)) = results.get(index) {
            each(group.lanes).for_each(|lane| warp.set(group.base, *register, lane, value(lane)));
        }
    }

    /// The group that executes a collective instruction now, if all lanes of the mask have arrived. Without a mask it
    /// is the lanes of the group.
    pub fn arrived_group(
        &mut self,
        cta: &mut Cta,
        warp: &mut Warp,
        index: usize,
        mask: Option<Source>,
        is_barrier: bool,
    ) -> Option<Group> {
        let group = warp.groups[index];
        let Some(mask) = mask else { return Some(group) };
        let mut column = [0; LANES];
        self.column(cta, warp, group.base, mask, &mut column);
        let first = group.lanes.trailing_zeros() as usize;
        let own = column[first] as Lanes;
        let lanes: Lanes =
            each(group.lanes).filter(|lane| column[*lane] as Lanes == own).fold(0, |all, lane| all | 1 << lane);
        if lanes != group.lanes {
            // Lanes with another mask execute the instruction separately.
            warp.split(index, lanes, group.pc, Wait::Ready);
            let at = position(warp, first);
            return self.arrived_group(cta, warp, at, Some(mask), is_barrier);
        }
        if let Some(lane) = each(lanes).find(|lane| own >> lane & 1 == 0) {
            let thread = warp.first + lane as u32;
            let message = format!("the mask {own:#x} lacks the lane {lane} that executes the instruction");
            self.find(cta, FaultKind::Misuse, thread, group.pc, None, None, message, None);
            return Some(group);
        }
        let wanted = own & warp.live;
        self.check_convergence(cta, warp, &group, wanted & !lanes);
        if wanted & !lanes == 0 || lanes & !warp.gathered == 0 {
            warp.gathered &= !lanes;
            if self.options.lenient {
                self.synchronize_lanes(cta, warp, group.lanes);
            }
            return Some(group);
        }
        warp.groups[index].wait = Wait::Gather(own, is_barrier);
        self.gather(cta, warp);
        None
    }

    /// Lets lanes continue that wait for each other, if all of them have arrived.
    pub fn gather(&mut self, cta: &mut Cta, warp: &mut Warp) {
        if !warp.groups.iter().any(|group| matches!(group.wait, Wait::Gather(..))) {
            return;
        }
        warp.merge();
        for index in 0..warp.groups.len() {
            let own = warp.groups[index];
            let Wait::Gather(mask, is_barrier) = own.wait else { continue };
            let same = |other: &Group| other.wait == own.wait && (is_barrier || other.pc == own.pc);
            let there = warp.groups.iter().filter(|other| same(other)).fold(0, |all, other| all | other.lanes);
            if mask & warp.live & !there != 0 {
                continue;
            }
            for other in warp.groups.iter_mut().filter(|other| same(other)) {
                other.wait = Wait::Ready;
                other.pc += u32::from(is_barrier);
            }
            match is_barrier {
                true => self.synchronize_lanes(cta, warp, there),
                false => warp.gathered |= there,
            }
        }
    }

    /// Orders the earlier events of each of the lanes before the later events of all of them.
    fn synchronize_lanes(&mut self, cta: &mut Cta, warp: &Warp, lanes: Lanes) {
        if !self.options.races {
            return;
        }
        let mut joined = JoinedPasts::default();
        let first = warp.first as usize;
        for lane in each(lanes) {
            let clock = &mut cta.order[first + lane].clock;
            joined.join(clock);
            clock.advance();
        }
        let past = joined.past();
        each(lanes).for_each(|lane| cta.order[first + lane].clock.become_(&past));
    }
}

/// The lane whose value a lane gets, and whether the source lane is in range (section 9.7.9, `shfl.sync`).
fn shuffled(how: operation::Shuffle, lane: usize, b: u64, c: u64) -> (usize, bool) {
    let (b, c) = (b as usize & 31, c as usize);
    let (clamp, segments) = (c & 31, c >> 8 & 31);
    let most = lane & segments | clamp & !segments;
    let least = lane & segments;
    let (from, holds) = match how {
        operation::Shuffle::Up => {
            let from = lane as isize - b as isize;
            (from, from >= most as isize)
        }
        operation::Shuffle::Down => ((lane + b) as isize, lane + b <= most),
        operation::Shuffle::Butterfly => ((lane ^ b) as isize, lane ^ b <= most),
        operation::Shuffle::Index => {
            let from = least | b & !segments;
            (from as isize, from <= most)
        }
    };
    if holds { (from.clamp(0, 31) as usize, true) } else { (lane, false) }
}

/// The result of `redux`. It does not depend on the order of the lanes.
fn reduced(op: AtomOp, ty: Type, [abs, nan]: [bool; 2], column: &Column, lanes: Lanes) -> u64 {
    let alu_op = match op {
        AtomOp::Add => AluOp::Add,
        AtomOp::Min if nan => AluOp::MinNan,
        AtomOp::Max if nan => AluOp::MaxNan,
        AtomOp::Min => AluOp::Min,
        AtomOp::Max => AluOp::Max,
        AtomOp::And => AluOp::And,
        AtomOp::Or => AluOp::Or,
        _ => AluOp::Xor,
    };
    let value = |lane: usize| u128::from(if abs { column[lane] & 0x7fff_ffff } else { column[lane] });
    let mut rest = each(lanes).map(value);
    let first = rest.next().unwrap_or(0);
    rest.fold(first, |all, value| alu(alu_op, ty, &[all, value]).unwrap_or(all)) as u64
}
