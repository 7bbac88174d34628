//! `mma`, `wmma`, `ldmatrix`, `stmatrix` and `movmatrix` (section 9.7.14), which the lanes of a warp execute together.

use ptx_isa::Space;

use crate::in_flight::{record, resolve};
use crate::{
    access::Lane,
    code::{Given, LANES, Matrix, MatrixCode, Reg, Source},
    collective::ALL_LANES,
    exec::position,
    machine::{Cta, Machine},
    matrix::{
        element::Unsupported,
        fragment::{Lanes as Column, set},
        ldmatrix::{LdMatrix, movmatrix},
        mma::Mma,
        product::stand_in,
        wmma::WmmaFragment,
    },
    memory::number,
    report::FaultKind,
    shadow::Info,
    warp::{Group, Warp, each},
};

impl Machine<'_> {
    /// Executes a matrix instruction for the lanes of a warp.
    pub fn matrix(&mut self, cta: &mut Cta, warp: &mut Warp, index: usize, of: &Matrix) {
        let Some(group) = self.arrived_group(cta, warp, index, ALL_LANES, false) else { return };
        let lane = group.lanes.trailing_zeros() as usize;
        let at = Lane { lane, thread: warp.first + lane as u32, pc: group.pc, base: group.base };
        let result = match &of.code {
            Ok(code) => {
                self.computed(cta, warp, &group, of, code);
                Ok(())
            }
            Err(unsupported) => Err(unsupported),
        };
        if let Err(Unsupported(what)) = result {
            let zeros = vec![[0; LANES]; of.results.len()];
            Self::give_registers(warp, &group, &of.results, &zeros);
            self.unknown(at, what);
        }
        let own = position(warp, lane);
        warp.groups[own].pc += 1;
    }

    fn computed(&mut self, cta: &mut Cta, warp: &mut Warp, group: &Group, of: &Matrix, code: &MatrixCode) {
        match code {
            MatrixCode::Ldmatrix(form) => self.load_rows(cta, warp, group, of, *form),
            MatrixCode::Stmatrix(form) => self.store_rows(cta, warp, group, of, *form),
            MatrixCode::Movmatrix => {
                let source = self.registers_of(cta, warp, group, of.operands.first());
                let moved = source.first().map(movmatrix);
                Self::give_registers(warp, group, &of.results, &moved.into_iter().collect::<Vec<_>>());
            }
            MatrixCode::Wmma(_) | MatrixCode::Mma(_) if !self.options.products => {
                let of_lanes = |register: usize| {
                    std::array::from_fn(|lane| {
                        stand_in(warp.steps, (u64::from(warp.first) + lane as u64) << 16 | register as u64)
                    })
                };
                let values: Vec<Column> = (0..of.results.len()).map(of_lanes).collect();
                Self::give_registers(warp, group, &of.results, &values);
            }
            MatrixCode::Wmma(form) => {
                let operand = |index: usize| self.registers_of(cta, warp, group, of.operands.get(index));
                let d = form.compute(&operand(0), &operand(1), &operand(2));
                Self::give_registers(warp, group, &of.results, &d);
            }
            MatrixCode::Fragment { of: form, by_rows, is_store } => {
                self.wmma_move(cta, warp, group, of, (*form, *by_rows, *is_store));
            }
            MatrixCode::Mma(form) => self.mma(cta, warp, group, of, form),
        }
    }

    /// The registers of an operand, by lane.
    fn registers_of(&self, cta: &Cta, warp: &Warp, group: &Group, operand: Option<&Given>) -> Vec<Column> {
        let sources = match operand {
            Some(Given::Many(sources)) => &sources[..],
            Some(Given::One(source)) => std::slice::from_ref(source),
            _ => &[],
        };
        let column = |source: &Source| {
            let mut column = [0; LANES];
            self.column(cta, warp, group.base, *source, &mut column);
            column
        };
        sources.iter().map(column).collect()
    }

    fn give_registers(warp: &mut Warp, group: &Group, results: &[Option<Reg>], values: &[Column]) {
        for (register, values) in results.iter().zip(values) {
            if let Some(register) = register {
                each(group.lanes).for_each(|lane| warp.set(group.base, *register, lane, values[lane]));
            }
        }
    }

    fn mma(&self, cta: &Cta, warp: &mut Warp, group: &Group, of: &Matrix, form: &Mma) {
        let operand = |index: usize| self.registers_of(cta, warp, group, of.operands.get(index));
        let (a, b, c) = (operand(0), operand(1), operand(2));
        let mut d = vec![[0; LANES]; form.registers()[0]];
        if form.is_sparse() {
            let metadata = operand(3).first().copied().unwrap_or([0; LANES]);
            let selector = operand(4).first().map_or(0, |column| column[0] as u32);
            form.compute_sparse(&a, &metadata, selector, &b, &c, &mut d);
        } else {
            form.compute(&a, &b, &c, &mut d);
        }
        Self::give_registers(warp, group, &of.results, &d);
    }

    /// Executes the access of a lane of a matrix instruction. Returns the bytes that it reads, or writes `written`.
    fn of_row(
        &mut self,
        cta: &mut Cta,
        at: Lane,
        space: Space,
        address: u64,
        bytes: u64,
        written: Option<&[u8]>,
    ) -> Option<Vec<u8>> {
        if !address.is_multiple_of(bytes.max(1)) {
            let message = format!("address {address:#x} of a row is not a multiple of {bytes} bytes");
            self.find(cta, FaultKind::Misaligned, at.thread, at.pc, None, None, message, None);
        }
        let place = resolve(space, address);
        let clock = cta.order[at.thread as usize].clock.clone();
        let access = record(clock.agent, clock.own, Info::new(at.pc, bytes, None, written.is_some()));
        if !self.touch_of(cta, at.thread, place, bytes, access, &clock) {
            return None;
        }
        match written {
            Some(data) => {
                self.write(cta, place, data);
                None
            }
            None => self.copied(cta, place, bytes),
        }
    }

    fn load_rows(&mut self, cta: &mut Cta, warp: &mut Warp, group: &Group, of: &Matrix, form: LdMatrix) {
        let mut rows = vec![[0; 16]; form.rows()];
        for lane in each(group.lanes).take_while(|lane| *lane < form.rows()) {
            let at = Lane { lane, thread: warp.first + lane as u32, pc: group.pc, base: group.base };
            let address = self.address_of(cta, warp, at, of);
            if let Some(found) = self.of_row(cta, at, of.space, address, 16, None) {
                rows[lane].copy_from_slice(&found);
            }
        }
        Self::give_registers(warp, group, &of.results, &form.load(&rows));
    }

    fn store_rows(&mut self, cta: &mut Cta, warp: &Warp, group: &Group, of: &Matrix, form: LdMatrix) {
        let registers = self.registers_of_all(cta, warp, group, of);
        for (lane, row) in form.store(&registers).iter().enumerate() {
            let at = Lane { lane, thread: warp.first + lane as u32, pc: group.pc, base: group.base };
            let address = self.address_of(cta, warp, at, of);
            self.of_row(cta, at, of.space, address, 16, Some(row));
        }
    }

    /// The registers of all operands after the address.
    fn registers_of_all(&self, cta: &Cta, warp: &Warp, group: &Group, of: &Matrix) -> Vec<Column> {
        of.operands.iter().skip(1).flat_map(|operand| self.registers_of(cta, warp, group, Some(operand))).collect()
    }

    fn address_of(&self, cta: &Cta, warp: &Warp, at: Lane, of: &Matrix) -> u64 {
        match of.operands.first() {
            Some(Given::Address(address)) => self.address(cta, warp, at.base, at.lane, *address),
            Some(Given::One(source)) => self.value(cta, warp, at.base, at.lane, *source),
            _ => 0,
        }
    }

    /// `wmma.load` and `wmma.store`. The address is the same in all lanes.
    fn wmma_move(
        &mut self,
        cta: &mut Cta,
        warp: &mut Warp,
        group: &Group,
        of: &Matrix,
        (form, by_rows, is_store): (WmmaFragment, bool, bool),
    ) {
        let first = group.lanes.trailing_zeros() as usize;
        let at = |lane: usize| Lane { lane, thread: warp.first + lane as u32, pc: group.pc, base: group.base };
        let address = self.address_of(cta, warp, at(first), of);
        let after = of.operands.get(if is_store { 2 } else { 1 });
        let stride = self.registers_of(cta, warp, group, after).first().map(|column| column[first] & 0xffff_ffff);
        let registers = match is_store {
            true => self.registers_of(cta, warp, group, of.operands.get(1)),
            false => Vec::new(),
        };
        let mut loaded = vec![[0; LANES]; form.registers()];
        for access in form.accesses(address, stride, by_rows) {
            let at = at(access.lane);
            let bytes = access.bytes as u64;
            if is_store {
                let word = registers.get(access.register).map_or(0, |lanes| lanes[access.lane]) >> access.bit;
                let data = word.to_le_bytes();
                let data = &data[..access.bytes.min(8)];
                self.of_row(cta, at, of.space, access.address, bytes, Some(data));
            } else if let Some(found) = self.of_row(cta, at, of.space, access.address, bytes, None) {
                let bits = access.bytes * 8;
                let value = number(&found) as u64;
                if let Some(register) = loaded.get_mut(access.register..) {
                    set(register, access.lane, access.bit / bits.max(1), bits, value);
                }
            }
        }
        if !is_store {
            Self::give_registers(warp, group, &of.results, &loaded);
        }
    }
}
