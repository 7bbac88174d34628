//! Addresses: the targets of an access, also if they depend on reads.

use super::{
    path::Term,
    state::State,
    thread::{PathAccess, Unfold},
};
use crate::{
    limit::Limit,
    multimem::Multimem,
    program::{Address, Cmp, Computation, Instruction, Language, Operand, Span, Type, Value, bytes},
};

/// The maximum number of addresses of one access.
pub(super) const MAX_ADDRESSES: usize = 256;

/// The maximum size of an array in bytes. Each array begins at a multiple of this number.
pub(crate) const ARRAY: Value = 1 << 20;

pub(super) enum Settled {
    Known,
    /// The remaining work is on the paths that were unfolded from here.
    Elsewhere,
    /// The address is not an address of a variable, or is unknown.
    Outside,
}

impl<'p, L: Language> Unfold<'p, L> {
    /// Determines the target of an access. If the target depends on reads, the paths for each address are unfolded from
    /// here, and one path for all other addresses.
    pub(super) fn settle(
        &mut self,
        state: &mut State<'p, L>,
        access: &Instruction<L>,
        pc: usize,
    ) -> Result<Settled, Limit> {
        let mut accesses = Vec::new();
        addresses(access, &mut accesses);
        for &(a, ty) in &accesses {
            let term = match state.operand(a.base) {
                Term::Constant(_) if self.span(state, a, ty).is_err() => return Ok(Settled::Outside),
                Term::Constant(_) => continue,
                term => term,
            };
            let Operand::Register(base) = a.base else { continue };
            let at = |value: Value| Address { base: Operand::Immediate(value), offset: a.offset };
            let (candidates, all) = self.candidates(state, term, a.offset, ty);
            let inside = candidates.iter().copied().filter(|&value| self.span(state, at(value), ty).is_ok());
            let inside: Vec<Value> = inside.collect();
            if inside.len() > MAX_ADDRESSES {
                return Ok(Settled::Outside);
            }
            let is_complete = all && inside.len() == candidates.len();
            let reads = state.reads(term);
            let mut others = Vec::new();
            for value in inside {
                let sources = [term, Term::Constant(value), Term::Constant(0)];
                let equal = state.compute(Computation::Setp(Cmp::Eq), Type::U64, sources);
                if state.decide_condition(equal) == Some(false) {
                    continue;
                }
                let mut chosen = state.clone();
                chosen.pc = pc;
                others.push((equal, false));
                let mut read = Vec::new();
                if let Some(event) = state.path.preimages(term, value, &mut read) {
                    for value in read {
                        let mut chosen = chosen.clone();
                        if chosen.pin(event, value) {
                            self.run(chosen)?;
                        }
                    }
                    continue;
                }
                if state.decide_condition(equal).is_none() {
                    chosen.path.constraints.push((equal, true));
                }
                let decided = chosen.decided[usize::from(base.0)] | reads;
                chosen.set(base, Term::Constant(value), decided);
                self.run(chosen)?;
            }
            if is_complete {
                return Ok(Settled::Elsewhere);
            }
            state.path.constraints.extend(others);
            return Ok(Settled::Outside);
        }
        Ok(Settled::Known)
    }

    /// The values that an address may have, and whether these are all values.
    pub(super) fn candidates(&self, state: &State<'p, L>, term: Term, offset: i64, ty: Type) -> (Vec<Value>, bool) {
        if let Some(values) = state.path.values(term) {
            return (values, true);
        }
        // A sum with the address of an array points into that array, or is undefined.
        let mut bases = Vec::new();
        state.path.addends(term, &mut bases);
        let array = |value: Value| value / ARRAY;
        bases.retain(|&base| base >= ARRAY && self.addresses.iter().any(|&(at, _)| array(at) == array(base)));
        let near = |at: Value| bases.is_empty() || bases.iter().any(|&base| array(base) == array(at));
        let step = u64::from(bytes(ty));
        let mut values = Vec::new();
        for &(at, _) in self.addresses.iter().filter(|(at, _)| near(*at)) {
            let next = self.addresses.iter().map(|(other, _)| *other).find(|other| *other > at).unwrap_or(Value::MAX);
            let parts = (0..u64::from(Span::BYTES) / step).map(|part| at + part * step);
            values
                .extend(parts.filter(|part| *part < next).map(|part| part.wrapping_add_signed(offset.wrapping_neg())));
        }
        (values, false)
    }

    /// The bytes that an access to an address accesses.
    pub(super) fn span(&self, state: &State<'p, L>, a: Address, ty: Type) -> Result<Span, Limit> {
        let Term::Constant(base) = state.operand(a.base) else { return Err(Limit::Address) };
        let address = base.wrapping_add_signed(a.offset);
        let before = self.addresses.partition_point(|(at, _)| *at <= address);
        let &(at, variable) = before.checked_sub(1).and_then(|last| self.addresses.get(last)).ok_or(Limit::Address)?;
        let (offset, bytes) = (address - at, bytes(ty));
        let aligned = address.is_multiple_of(u64::from(bytes));
        if aligned && offset.saturating_add(u64::from(bytes)) <= u64::from(Span::BYTES) {
            Ok(Span { variable, offset: offset as u8, bytes })
        } else {
            Err(Limit::Address)
        }
    }

    /// Records an access, and returns its bytes.
    pub(super) fn touch(
        &mut self,
        state: &State<'p, L>,
        a: Address,
        ty: Type,
        writes: bool,
        statement: usize,
    ) -> Result<Span, Limit> {
        let span = self.span(state, a, ty)?;
        let touch = PathAccess { span, writes, statement };
        if !self.touched.contains(&touch) {
            self.touched.push(touch);
        }
        Ok(span)
    }

    pub(super) fn is_private(&self, span: Span) -> bool {
        self.program.locations[usize::from(span.variable.0)].private
    }

    /// The initial value of the variable that contains a span.
    pub(super) fn initial(&self, span: Span) -> Value {
        self.program.locations[usize::from(span.variable.0)].initial
    }
}

/// The addresses of an access, with the types of the values.
pub(super) fn addresses<L: Language>(access: &Instruction<L>, all: &mut Vec<(Address, Type)>) {
    match access {
        Instruction::Load { a, ty, .. } | Instruction::Store { a, ty, .. } | Instruction::Rmw { a, ty, .. } => {
            all.push((*a, *ty));
        }
        Instruction::Vector(elements) | Instruction::Multimem(Multimem { elements, .. }) => {
            elements.iter().for_each(|element| addresses(element, all));
        }
        Instruction::Asynchronous(of) => all.extend(of.addresses()),
        _ => {}
    }
}
