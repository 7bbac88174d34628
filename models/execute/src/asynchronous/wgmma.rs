//! `wgmma` (section 9.7.15). Each warp computes its sixteen rows at once. An access of the registers before the wait is
//! reported.

use ptx_isa::{Family, Role};

use super::memory::load_matrix;
use crate::in_flight::{Chain, record};
use crate::{
    access::Lane,
    code::{Given, LANES, Op, Operation, Pc, Reg, Source, is_wgmma},
    collective::ALL_LANES,
    exec::position,
    fault::ThreadId,
    machine::{Cta, Machine},
    matrix::{
        element::Unsupported,
        product::stand_in,
        shared::{Bytes, SharedMatrix, merge},
        wgmma::{Immediates, Wgmma},
    },
    report::{Detail, FaultKind},
    shadow::Info,
    warp::{Group, WARPGROUP, Wait, Warp, each},
};

impl Machine<'_> {
    /// Checks whether a step reads or writes registers of a product in flight.
    pub fn watch_registers(&mut self, cta: &mut Cta, warp: &Warp, pc: Pc, base: u32) {
        let program = self.program;
        let Some((reads, writes)) = program.touched.get(pc as usize) else { return };
        if matches!(&program.steps[pc as usize].op, Op::Asynchronous(of) if is_wgmma(of.form.family())) {
            return;
        }
        let Some(own) = cta.asynchronous.multiplies.get_mut(warp.first as usize / 32) else { return };
        let mut found = None;
        if own.done != own.started {
            let is_open =
                |entry: Option<&(u32, Pc)>| entry.filter(|(number, _)| *number > own.done).map(|entry| entry.1);
            let read = reads.iter().find_map(|register| is_open(own.writes.get(&(base + register))));
            let write = || {
                let either = |register: &Reg| {
                    let register = base + register;
                    is_open(own.writes.get(&register)).or_else(|| is_open(own.reads.get(&register)))
                };
                writes.iter().find_map(either)
            };
            found = read.or_else(write);
        }
        for register in writes {
            let at = (base + register) as usize;
            if own.written.len() <= at {
                own.written.resize(at + 1, (0, 0));
            }
            own.written[at] = (warp.steps, pc);
        }
        if let Some(first) = found {
            let help = "add `wgmma.wait_group` after the product and before the access";
            self.register_race(cta, warp, pc, first, help);
        }
    }

    fn register_race(&mut self, cta: &Cta, warp: &Warp, pc: Pc, first: Pc, help: &str) {
        let who = ThreadId { cta: cta.index, thread: warp.first };
        let message = "the instruction accesses a register that `wgmma.mma_async` may still read or write".to_owned();
        let place = Some("registers of `wgmma.mma_async`".to_owned());
        let help = Some(help.into());
        self.find_detailed(
            cta,
            FaultKind::Race,
            warp.first,
            pc,
            Some((first, who)),
            place,
            message,
            help,
            Detail::Registers,
        );
    }

    pub fn wgmma(&mut self, cta: &mut Cta, warp: &mut Warp, index: usize, of: &Operation) {
        let Some(group) = self.arrived_group(cta, warp, index, ALL_LANES, false) else { return };
        let lane = group.lanes.trailing_zeros() as usize;
        let at = Lane { lane, thread: warp.first + lane as u32, pc: group.pc, base: group.base };
        let w = warp.first as usize / 32;
        let own = position(warp, lane);
        match of.form.family() {
            Family::WgmmaFence => cta.asynchronous.multiplies[w].fenced = warp.steps,
            Family::WgmmaCommitGroup => {
                let own = &mut cta.asynchronous.multiplies[w];
                own.committed.push(own.started);
            }
            Family::WgmmaWaitGroup => {
                if !self.wait_for_products(cta, warp, &group, at, of) {
                    warp.groups[own].wait = Wait::Completion;
                    return;
                }
            }
            _ => {
                self.multiply(cta, warp, &group, at, of);
                self.in_flight.wake(cta.index, Wait::Completion);
            }
        }
        warp.groups[own].pc += 1;
    }

    /// Waits for the groups of a warpgroup. Every warp of the warpgroup has started the products, so they are complete
    /// for all warps.
    fn wait_for_products(&mut self, cta: &mut Cta, warp: &Warp, group: &Group, at: Lane, of: &Operation) -> bool {
        let w = warp.first / 32;
        let pending = self.number(cta, warp, at, of, Role::Pending);
        let own = &cta.asynchronous.multiplies[w as usize];
        let left = usize::try_from(pending).unwrap_or(usize::MAX).saturating_add(1);
        let epoch = own.committed.len().checked_sub(left).map_or(0, |index| own.committed[index]);
        let first = (w / WARPGROUP * WARPGROUP) as usize;
        let end = (first + WARPGROUP as usize).min(cta.asynchronous.multiplies.len());
        if cta.asynchronous.multiplies[first..end].iter().any(|other| other.started < epoch) {
            return false;
        }
        let own = &mut cta.asynchronous.multiplies[w as usize];
        own.done = own.done.max(epoch);
        let agent = self.agent(cta, Chain::Wgmma(w / WARPGROUP), at.thread);
        Self::threads(warp, group.lanes).for_each(|(_, thread)| cta.order[thread as usize].clock.see(agent, epoch));
        true
    }

    /// `wgmma.mma_async`
    fn multiply(&mut self, cta: &mut Cta, warp: &mut Warp, group: &Group, at: Lane, of: &Operation) {
        let w = warp.first / 32;
        let registers = |sources: &[Source]| -> Vec<Reg> {
            let register = |source: &Source| match source {
                Source::Reg(register) => Some(*register),
                _ => None,
            };
            sources.iter().filter_map(register).collect()
        };
        let d = registers(of.many(Role::D));
        let a_registers = match of.given(Role::A) {
            Some(Given::Many(sources)) => registers(sources),
            _ => Vec::new(),
        };
        self.enter_registers(cta, warp, at, &d, &a_registers);
        let epoch = cta.asynchronous.multiplies[w as usize].started;
        let chain = Chain::Wgmma(w / WARPGROUP);
        let agent = self.agent(cta, chain, at.thread);
        let clock = self.joined(cta, warp, group.lanes);
        let access = record(agent, epoch, Info::new(at.pc, 16, None, false).asynchronous());
        let number = |role: Role| self.number(cta, warp, at, of, role);
        let immediates = Immediates {
            negate_a: number(Role::SignA) as i32 == -1,
            negate_b: number(Role::SignB) as i32 == -1,
            transpose_a: number(Role::TransposeA) == 1,
            transpose_b: number(Role::TransposeB) == 1,
        };
        let form = match Wgmma::from_modifiers(of.form.modifiers(), immediates) {
            Ok(form) => form,
            Err(Unsupported(what)) => {
                each(group.lanes).for_each(|lane| d.iter().for_each(|d| warp.set(at.base, *d, lane, 0)));
                return self.unknown(at, &what);
            }
        };
        let b_matrix = form.b(number(Role::B));
        let a_matrix = a_registers.is_empty().then(|| form.a(number(Role::A)));
        let rows = (w % WARPGROUP) as usize * 16..(w % WARPGROUP) as usize * 16 + 16;
        if let Some(matrix) = &a_matrix {
            let units = matrix.units().filter(|unit| overlaps(matrix, unit.row, &rows));
            let ranges = merge(units.map(|unit| Bytes { address: unit.address, bytes: 16 }).collect());
            self.touch_matrix(cta, at.thread, None, &ranges, access, &clock);
        }
        self.touch_matrix(cta, at.thread, None, &b_matrix.ranges(), access, &clock);
        if !self.options.products {
            for (index, register) in d.iter().enumerate() {
                each(group.lanes).for_each(|lane| {
                    let thread = u64::from(warp.first) + lane as u64;
                    warp.set(at.base, *register, lane, stand_in(warp.steps, thread << 16 | index as u64));
                });
            }
            return;
        }
        let accumulates = self.holds(cta, warp, at, of, Role::Accumulate);
        let columns = |list: &[Reg]| -> Vec<[u64; LANES]> {
            list.iter().map(|register| warp.registers[(at.base + register) as usize]).collect()
        };
        let (old, a_columns) = (columns(&d), columns(&a_registers));
        let a = a_matrix.map(|matrix| load_matrix(&matrix, &cta.shared));
        let b = load_matrix(&b_matrix, &cta.shared);
        let k = form.shape().k;
        let part = a.as_ref().map(|a| a.get(rows.start * k..rows.end * k).unwrap_or(&[]));
        let result = form.compute_warp(part, &a_columns, &b, accumulates.then_some(&old[..]));
        for (register, values) in d.iter().zip(result) {
            each(group.lanes).for_each(|lane| warp.set(at.base, *register, lane, values[lane]));
        }
    }

    /// Marks registers as used by a product in flight. They must not have been written after the last `wgmma.fence`.
    fn enter_registers(&mut self, cta: &mut Cta, warp: &Warp, at: Lane, d: &[Reg], a: &[Reg]) {
        let own = &mut cta.asynchronous.multiplies[warp.first as usize / 32];
        own.started += 1;
        let number = own.started;
        let unfenced = d.iter().chain(a).find_map(|register| {
            let (time, pc) = own.written.get((at.base + register) as usize).copied().unwrap_or_default();
            (time > own.fenced || own.fenced == 0).then_some(pc)
        });
        let open = a.iter().find_map(|register| {
            let (other, pc) = own.writes.get(&(at.base + register))?;
            (*other > own.done).then_some(*pc)
        });
        for register in d {
            own.writes.insert(at.base + register, (number, at.pc));
        }
        for register in a {
            own.reads.insert(at.base + register, (number, at.pc));
        }
        if let Some(first) = unfenced {
            let help = "add `wgmma.fence` after the write of the register and before the product";
            self.register_race(cta, warp, at.pc, first, help);
        }
        if let Some(first) = open {
            let help = "add `wgmma.wait_group` after the first product";
            self.register_race(cta, warp, at.pc, first, help);
        }
    }
}

/// Whether the 16 bytes that begin at a row overlap a range of rows.
fn overlaps(matrix: &SharedMatrix, row: usize, rows: &std::ops::Range<usize>) -> bool {
    let count = if matrix.across { (128 / matrix.bits.max(1)).max(1) } else { 1 };
    row < rows.end && row + count > rows.start
}
