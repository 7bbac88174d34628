//! The results of instructions, as terms.
//!
//! The result of an instruction that is not modelled here is an uninterpreted function of its operands if
//! [`Computation`] has the instruction, and an arbitrary value otherwise.

use ptx_isa::{
    AluOp, Axis, Cmp, Special, SpecialScalar, SpecialVector, Type,
    arithmetic::{Combination, Compare, Computation},
    flat::{Flat, Operand, Register},
    operation::Operation,
};

use crate::{launch::Sizes, state::State};
use ptx_solver::term::{Binary, LeafName, Shared, Term, Terms, ones};

/// Evaluates operands and instructions of one kernel.
pub struct Eval<'f> {
    pub flat: &'f Flat,
    pub sizes: Sizes,
    pub terms: Terms,
    /// Whether a term has the number of a thread in a CTA of several rows.
    pub has_rows: bool,
}

/// The name of the function from a rank to the distance between that CTA's shared memory and the thread's own.
pub const MAPPED: &str = "mapa";

/// The width of the term for a type; values wider than 64 bits are not followed.
fn width(ty: Type) -> Option<u32> {
    Some(ty.bits()).filter(|bits| (1..=64).contains(bits))
}

impl Eval<'_> {
    /// An arbitrary value that differs from thread to thread.
    pub fn any(&mut self, bits: u32) -> Term {
        self.terms.any(Shared::Thread, bits.clamp(1, 64))
    }

    fn register_bits(&self, register: Register) -> Option<u32> {
        Some(self.flat.registers[register].bits).filter(|bits| *bits > 0)
    }

    fn is_short(&self, operand: &Operand) -> bool {
        matches!(operand, Operand::Register(register) if self.register_bits(*register) == Some(32))
    }

    /// An operand, converted to this many bits.
    pub fn value(&mut self, state: &State, operand: &Operand, bits: u32) -> Term {
        let bits = bits.clamp(1, 64);
        match operand {
            Operand::Register(register) => match state.register(*register) {
                Some(term) => self.terms.widen(term, bits, false),
                None => self.any(bits),
            },
            Operand::Not(register) => {
                let value = self.value(state, &Operand::Register(*register), 1);
                self.terms.not(value)
            }
            Operand::Constant(value) => self.terms.constant(*value as u64, bits),
            Operand::Symbol(symbol) => {
                let address = self.variable(*symbol);
                self.terms.widen(address, bits, false)
            }
            // A 32-bit address is a shared-memory address: the sum stays at 32 bits.
            Operand::Address(base, offset) if bits == 64 && self.is_short(base) => {
                let base = self.value(state, base, 32);
                let offset = self.terms.constant(*offset as u64, 32);
                let address = self.terms.add(base, offset);
                self.terms.widen(address, 64, false)
            }
            Operand::Address(base, offset) => {
                let base = self.value(state, base, bits);
                let offset = self.terms.constant(*offset as u64, bits);
                self.terms.add(base, offset)
            }
            Operand::Special(special) => {
                let special = self.special(*special);
                self.terms.widen(special, bits, false)
            }
            Operand::Vector(elements) if !elements.is_empty() && (bits as usize).is_multiple_of(elements.len()) => {
                let part = bits / elements.len() as u32;
                let zero = self.terms.constant(0, bits);
                elements.iter().enumerate().fold(zero, |all, (index, element)| {
                    let value = self.value(state, element, part);
                    let value = self.terms.widen(value, bits, false);
                    let place = self.terms.scale(1 << (index as u32 * part), value);
                    self.terms.add(all, place)
                })
            }
            Operand::Vector(_) | Operand::Tensor(..) | Operand::Nothing => self.any(bits),
        }
    }

    /// The address of a variable: in shared memory each CTA has its own variable, in local memory each thread.
    pub fn variable(&mut self, symbol: usize) -> Term {
        use ptx_isa::Space;
        let shared = match self.flat.symbols[symbol].variable.space {
            Some(Space::Global | Space::Const) | None => Shared::Grid,
            Some(Space::Local) => Shared::Thread,
            Some(_) => Shared::Cta,
        };
        self.terms.leaf(LeafName::Variable(symbol), shared, 64)
    }

    /// The position of a CTA's shared memory in the window of shared-memory addresses.
    pub fn window(&mut self) -> Term {
        self.terms.leaf(LeafName::SharedWindow, Shared::Cta, 64)
    }

    /// A special register in 32 bits, unless it has 64 bits or is a predicate.
    pub fn special(&mut self, special: Special) -> Term {
        use SpecialScalar::*;
        use SpecialVector::*;
        match special {
            Special::Vector(vector, axis) => {
                let (at, direction) = (axis.index(), axis.index() as u8);
                let (block, grid) = (self.sizes.block[at], self.sizes.grid[at]);
                match vector {
                    Tid => self.of_size(LeafName::Tid(direction), Shared::Thread, block, true),
                    Ntid => self.of_size(LeafName::Ntid(direction), Shared::Grid, block, false),
                    Ctaid => self.of_size(LeafName::Ctaid(direction), Shared::Cta, grid, true),
                    Nctaid => self.of_size(LeafName::Nctaid(direction), Shared::Grid, grid, false),
                    Clusterid | Nclusterid | ClusterCtaid | ClusterNctaid => self.of_cluster(vector, axis),
                }
            }
            Special::Scalar(ClusterCtarank) => self.rank(),
            Special::Scalar(ClusterNctarank) => match self.sizes.cluster {
                Some(ctas) => self.terms.constant(ctas.iter().map(|of| u64::from(*of)).product(), 32),
                None => self.terms.leaf(LeafName::Special(special), Shared::Grid, 32),
            },
            Special::WarpSize => self.terms.constant(32, 32),
            Special::Scalar(DynamicSmemSize | TotalSmemSize | AggrSmemSize | Gridid | Nwarpid | Nsmid) => {
                self.terms.leaf(LeafName::Special(special), Shared::Grid, 64)
            }
            Special::Scalar(Laneid) => {
                let (number, lanes) = (self.number(), self.terms.constant(31, 32));
                self.terms.binary(Binary::And, number, lanes)
            }
            // All threads of a launch read the same value (section 10 of the manual).
            Special::Environment(_) => self.terms.leaf(LeafName::Special(special), Shared::Grid, 32),
            // A volatile register, such as %smid and %warpid, may differ at each read (section 10 of the manual).
            _ => self.any(64),
        }
    }

    /// A special register of clusters in one direction. [`Eval::holds`] relates it to the index of the CTA.
    fn of_cluster(&mut self, vector: SpecialVector, axis: Axis) -> Term {
        use SpecialVector::*;
        let ctas = self.sizes.cluster.map(|cluster| cluster[axis.index()]);
        let shared = if matches!(vector, Nclusterid | ClusterNctaid) { Shared::Grid } else { Shared::Cta };
        let mut leaf = |bits| self.terms.leaf(LeafName::Special(Special::Vector(vector, axis)), shared, bits);
        match (vector, ctas) {
            (ClusterNctaid, Some(ctas)) => self.terms.constant(ctas.into(), 32),
            (Nclusterid, Some(ctas)) => {
                let all = self.special(Special::Vector(Nctaid, axis));
                let ctas = self.terms.constant(ctas.into(), 32);
                self.terms.binary(Binary::DivUnsigned, all, ctas)
            }
            (ClusterCtaid, Some(1)) => self.terms.constant(0, 32),
            (Clusterid, Some(1)) => self.special(Special::Vector(Ctaid, axis)),
            // The fewest bits that suffice, because narrow terms make questions easier.
            (ClusterCtaid, Some(ctas)) => {
                let index = leaf(32 - ctas.leading_zeros());
                self.terms.widen(index, 32, false)
            }
            _ => leaf(32),
        }
    }

    /// The conditions on the indices of every thread: each index is below its size, and the index of a CTA follows from
    /// its cluster and its position in the cluster.
    pub fn holds(&mut self) -> Vec<Term> {
        let mut all = self.sizes.holds(&mut self.terms);
        let ctas = self.sizes.cluster.unwrap_or([1; 3]);
        for (axis, ctas) in Axis::ALL.into_iter().zip(ctas).filter(|(_, ctas)| *ctas > 1) {
            let [index, cluster, own] = [SpecialVector::Ctaid, SpecialVector::Clusterid, SpecialVector::ClusterCtaid]
                .map(|vector| self.special(Special::Vector(vector, axis)));
            let (most, clusters) =
                (self.terms.constant(ctas.into(), 32), self.terms.constant((1 << 31) / u64::from(ctas), 32));
            let place = self.terms.sum(0, &[(ctas.into(), cluster), (1, own)], 32);
            let within = [(own, most), (cluster, clusters)].map(|(less, more)| self.terms.less(false, less, more));
            all.push(self.terms.equal(index, place));
            all.extend(within);
        }
        all
    }

    /// The rank of the CTA of a thread in its cluster.
    pub fn rank(&mut self) -> Term {
        let Some([width, height, _]) = self.sizes.cluster else {
            let rank = LeafName::Special(Special::Scalar(SpecialScalar::ClusterCtarank));
            return self.terms.leaf(rank, Shared::Cta, 32);
        };
        let [x, y, z] = SpecialVector::ClusterCtaid.elements().map(|element| self.special(element));
        self.terms.sum(0, &[(1, x), (width.into(), y), (u64::from(width) * u64::from(height), z)], 32)
    }

    /// The result of `mapa`: the address in the CTA with the given rank that corresponds to an address of shared
    /// memory.
    fn mapped(&mut self, state: &State, sources: &[Operand]) -> Option<Term> {
        let [address, rank] = sources else { return None };
        let (address, rank) = (self.value(state, address, 64), self.value(state, rank, 32));
        let window = self.terms.function(MAPPED, vec![rank], 64);
        Some(self.terms.add(address, window))
    }

    /// The number of a thread's warp in its CTA: the thread's number divided by 32.
    pub fn warp(&mut self) -> Term {
        let (number, five) = (self.number(), self.terms.constant(5, 32));
        self.terms.binary(Binary::ShrUnsigned, number, five)
    }

    /// The number of a thread in its CTA, row by row. A warp has the threads of consecutive numbers (section 3.1 of the
    /// manual), but the manual does not number the threads of several rows.
    fn number(&mut self) -> Term {
        self.has_rows |= self.sizes.block[1..] != [Some(1); 2];
        let [x, y, z] = SpecialVector::Tid.elements().map(|element| self.special(element));
        let [width, height, _] = SpecialVector::Ntid.elements().map(|element| self.special(element));
        let plane = self.terms.binary(Binary::Mul, z, height);
        let row = self.terms.add(y, plane);
        let row = self.terms.binary(Binary::Mul, row, width);
        self.terms.add(x, row)
    }

    /// A size, which may be a known constant, or an index below it.
    fn of_size(&mut self, name: LeafName, shared: Shared, size: Option<u32>, is_index: bool) -> Term {
        match size {
            Some(1) if is_index => self.terms.constant(0, 32),
            Some(size) if !is_index => self.terms.constant(size.into(), 32),
            _ => self.terms.leaf(name, shared, 32),
        }
    }

    /// The results of a computing instruction, and whether each result is signed.
    pub fn compute(
        &mut self,
        state: &State,
        operation: &Operation,
        sources: &[Operand],
        results: usize,
    ) -> Vec<(Term, bool)> {
        match operation {
            Operation::Cvta { .. } => {
                return sources.first().map(|from| (self.value(state, from, 64), false)).into_iter().collect();
            }
            Operation::Mov(ty) if results > 1 || matches!(sources, [Operand::Vector(_)]) => {
                return self.unpacked(state, *ty, sources, results);
            }
            Operation::Mapa(_) => {
                let mapped = self.mapped(state, sources).unwrap_or_else(|| self.any(64));
                return vec![(mapped, false)];
            }
            _ => {}
        }
        let anything = |this: &mut Self| (0..results).map(|_| (this.any(64), false)).collect();
        let Some(computation) = operation.computation() else { return anything(self) };
        let types = (0..sources.len()).map(|index| computation.source_type(index));
        let Some(widths) = types.map(width).collect::<Option<Vec<u32>>>() else { return anything(self) };
        if !computation.takes(sources.len()) || computation.uses_carry() {
            return anything(self);
        }
        let values: Vec<Term> =
            sources.iter().zip(&widths).map(|(operand, bits)| self.value(state, operand, *bits)).collect();
        let known = match computation {
            Computation::Alu(op, ty) if !ty.is_float() && ty.element().is_none() => self.alu(op, ty, &values),
            Computation::Setp(cmp, ty) => self.compared(cmp, ty, values[0], values[1]),
            Computation::Cvt { to, from } => {
                let narrow = self.terms.widen(values[0], to.bits().min(from.bits()), false);
                Some(self.terms.widen(narrow, to.bits(), from.is_signed()))
            }
            Computation::Compare(of) => self.combined(of, &values),
            _ => None,
        };
        let is_signed = computation.result_type().is_signed();
        let mut types = computation.result_types();
        if let Some(first) = known {
            let opposite = (results > 1).then(|| (self.terms.not(first), false));
            // Both results are combined with a third predicate, so the second is not the opposite of the first.
            let is_combined = matches!(computation, Computation::Compare(_));
            let opposite = opposite.map(|known| if is_combined { (self.any(1), false) } else { known });
            return std::iter::once((first, is_signed)).chain(opposite).collect();
        }
        (0..results)
            .map(|index| {
                let bits = types.next().map_or(64, Type::bits);
                // Equal computations are the same function.
                let name = || format!("{computation:?}#{index}");
                match bits {
                    1..=64 => (self.terms.function(&name(), values.clone(), bits), is_signed),
                    _ => (self.any(64), false),
                }
            })
            .collect()
    }

    /// A `mov` that packs or unpacks.
    fn unpacked(&mut self, state: &State, ty: Type, sources: &[Operand], results: usize) -> Vec<(Term, bool)> {
        let bits = width(ty);
        match (bits, sources) {
            (Some(bits), [from]) if (bits as usize).is_multiple_of(results.max(1)) => {
                let part = bits / results.max(1) as u32;
                let whole = self.value(state, from, bits);
                (0..results as u32).map(|index| (self.terms.extract(whole, index * part, part), false)).collect()
            }
            _ => (0..results).map(|_| (self.any(64), false)).collect(),
        }
    }

    /// A `setp` that combines a comparison of integers with a predicate.
    fn combined(&mut self, of: Compare, values: &[Term]) -> Option<Term> {
        let (Compare { cmp, ty, combined: Some(by), value: None, .. }, [a, b, c]) = (of, values) else { return None };
        let holds = self.compared(cmp, ty, *a, *b)?;
        Some(match by {
            Combination::And => self.terms.and(holds, *c),
            Combination::Or => self.terms.or(holds, *c),
            Combination::Xor => self.terms.binary(Binary::Xor, holds, *c),
        })
    }

    fn compared(&mut self, cmp: Cmp, ty: Type, a: Term, b: Term) -> Option<Term> {
        if ty.is_float() || ty.element().is_some() {
            return None;
        }
        let signed = ty.is_signed();
        Some(match cmp {
            Cmp::Eq => self.terms.equal(a, b),
            Cmp::Ne => {
                let same = self.terms.equal(a, b);
                self.terms.not(same)
            }
            Cmp::Lt => self.terms.less(signed, a, b),
            Cmp::Gt => self.terms.less(signed, b, a),
            Cmp::Le => {
                let above = self.terms.less(signed, b, a);
                self.terms.not(above)
            }
            Cmp::Ge => {
                let below = self.terms.less(signed, a, b);
                self.terms.not(below)
            }
            Cmp::Lo => self.terms.less(false, a, b),
            Cmp::Hi => self.terms.less(false, b, a),
            Cmp::Ls => {
                let above = self.terms.less(false, b, a);
                self.terms.not(above)
            }
            Cmp::Hs => {
                let below = self.terms.less(false, a, b);
                self.terms.not(below)
            }
            _ => return None,
        })
    }

    /// A shift whose amount has 32 bits.
    fn shifted(&mut self, op: Binary, a: Term, by: Term) -> Option<Term> {
        let bits = self.terms.bits(a);
        let by = match self.terms.value(by) {
            Some(by) => self.terms.constant(by.min(bits.into()), bits),
            None if bits >= 32 => self.terms.widen(by, bits, false),
            None => return None,
        };
        Some(self.terms.binary(op, a, by))
    }

    fn product(&mut self, ty: Type, a: Term, b: Term, to: u32) -> Term {
        let [a, b] = [a, b].map(|of| self.terms.widen(of, to, ty.is_signed()));
        self.terms.binary(Binary::Mul, a, b)
    }

    /// Arithmetic on integers.
    fn alu(&mut self, op: AluOp, ty: Type, values: &[Term]) -> Option<Term> {
        use AluOp::*;
        let bits = ty.bits();
        let signed = ty.is_signed();
        let at = |index: usize| values.get(index).copied();
        let (a, b) = (at(0)?, at(1).or(at(0))?);
        let c = at(2);
        Some(match op {
            Mov => a,
            Neg => self.terms.scale(u64::MAX, a),
            Not => self.terms.not(a),
            Cnot => {
                let zero = self.terms.constant(0, bits);
                let is_zero = self.terms.equal(a, zero);
                self.terms.widen(is_zero, bits, false)
            }
            Abs | Sad => {
                let zero = self.terms.constant(0, bits);
                let (from, to) = if op == Abs { (a, zero) } else { (a, b) };
                let difference = self.terms.sub(from, to);
                let negated = self.terms.scale(u64::MAX, difference);
                let below = self.terms.less(signed, from, to);
                let distance = self.terms.choose(below, negated, difference);
                if op == Abs { distance } else { self.terms.add(distance, c?) }
            }
            Add => self.terms.add(a, b),
            Sub => self.terms.sub(a, b),
            And | Or | Xor => {
                let op = match op {
                    And => Binary::And,
                    Or => Binary::Or,
                    _ => Binary::Xor,
                };
                self.terms.binary(op, a, b)
            }
            Min | Max => {
                let below = self.terms.less(signed, a, b);
                if op == Min { self.terms.choose(below, a, b) } else { self.terms.choose(below, b, a) }
            }
            Shl => self.shifted(Binary::Shl, a, b)?,
            Shr => self.shifted(if signed { Binary::ShrSigned } else { Binary::ShrUnsigned }, a, b)?,
            Div => self.terms.binary(if signed { Binary::DivSigned } else { Binary::DivUnsigned }, a, b),
            Rem => self.terms.binary(if signed { Binary::RemSigned } else { Binary::RemUnsigned }, a, b),
            MulLo => self.terms.binary(Binary::Mul, a, b),
            MadLo => {
                let product = self.terms.binary(Binary::Mul, a, b);
                self.terms.add(product, c?)
            }
            MulWide => self.product(ty, a, b, bits * 2),
            MadWide => {
                let product = self.product(ty, a, b, bits * 2);
                self.terms.add(product, c?)
            }
            MulHi | MadHi if bits <= 32 => {
                let product = self.product(ty, a, b, bits * 2);
                let high = self.terms.extract(product, bits, bits);
                if op == MulHi { high } else { self.terms.add(high, c?) }
            }
            Mul24Lo | Mad24Lo => {
                let [a, b] = [a, b].map(|of| self.terms.extract(of, 0, 24));
                let product = self.product(ty, a, b, 48);
                let low = self.terms.extract(product, 0, 32);
                if op == Mul24Lo { low } else { self.terms.add(low, c?) }
            }
            Bfe => {
                let (from, count) = (self.terms.value(b)? & 255, self.terms.value(c?)? & 255);
                let (from, count) = (from as u32, count as u32);
                if count == 0 || from + count > bits {
                    return None;
                }
                let part = self.terms.extract(a, from, count);
                self.terms.widen(part, bits, signed)
            }
            Bfi => {
                let (from, count) = (self.terms.value(c?)? & 255, self.terms.value(at(3)?)? & 255);
                let (from, count) = (from as u32, count as u32);
                if count == 0 || from + count > bits {
                    return None;
                }
                let mask = ones(count) << from;
                let keep = self.terms.constant(!mask, bits);
                let (keep, part) = (self.terms.and(b, keep), self.terms.constant(ones(count), bits));
                let part = self.terms.and(a, part);
                let part = self.terms.scale(1 << from, part);
                self.terms.or(keep, part)
            }
            Selp => self.terms.choose(c?, a, b),
            ShfLeftWrap | ShfLeftClamp | ShfRightWrap | ShfRightClamp => self.funnel(op, a, b, c?)?,
            Lop3 => self.lop3(values)?,
            Prmt => self.prmt(a, b, c?)?,
            _ => return None,
        })
    }

    /// A funnel shift: 32 bits out of two concatenated registers.
    fn funnel(&mut self, op: AluOp, low: Term, high: Term, by: Term) -> Option<Term> {
        use AluOp::*;
        let by = self.terms.value(by)?;
        let by = if matches!(op, ShfLeftWrap | ShfRightWrap) { by & 31 } else { by.min(32) } as u32;
        let [low, high] = [low, high].map(|of| self.terms.widen(of, 64, false));
        let high = self.terms.scale(1 << 32, high);
        let both = self.terms.add(high, low);
        let from = if matches!(op, ShfLeftWrap | ShfLeftClamp) { 32 - by } else { by };
        Some(self.terms.extract(both, from, 32))
    }

    /// A function of three bits, given by its table: a disjunction of the rows whose result is 1.
    fn lop3(&mut self, values: &[Term]) -> Option<Term> {
        let [a, b, c, table] = values else { return None };
        let table = self.terms.value(*table)?;
        let bits = self.terms.bits(*a);
        let mut all = self.terms.constant(0, bits);
        for row in (0..8u64).filter(|row| table >> row & 1 == 1) {
            let mut product = self.terms.constant(u64::MAX, bits);
            for (place, of) in [(2, *a), (1, *b), (0, *c)] {
                let of = if row >> place & 1 == 1 { of } else { self.terms.not(of) };
                product = self.terms.and(product, of);
            }
            all = self.terms.or(all, product);
        }
        Some(all)
    }

    /// Selected bytes of two words; the selector is a constant.
    fn prmt(&mut self, a: Term, b: Term, by: Term) -> Option<Term> {
        let by = self.terms.value(by)?;
        let mut all = self.terms.constant(0, 32);
        for place in 0..4u32 {
            let nibble = (by >> (place * 4) & 15) as u32;
            if nibble & 8 != 0 {
                return None;
            }
            let from = if nibble < 4 { a } else { b };
            let byte = self.terms.extract(from, nibble % 4 * 8, 8);
            let byte = self.terms.widen(byte, 32, false);
            let byte = self.terms.scale(1 << (place * 8), byte);
            all = self.terms.add(all, byte);
        }
        Some(all)
    }

    /// A value converted to the width of a register.
    pub fn fitting(&mut self, register: Register, value: Term, is_signed: bool) -> Term {
        match self.register_bits(register) {
            Some(bits) if bits <= 64 => self.terms.widen(value, bits, is_signed),
            Some(_) => self.any(64),
            None => value,
        }
    }
}
