//! The registers and local variables of a thread, with the condition under which they have their values.

use std::{collections::BTreeMap, rc::Rc};

use ptx_isa::flat::{Register, Symbol};

use crate::chunks::Chunks;
use ptx_solver::term::{Shared, Term, Terms};

/// A location that is private to a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Slot {
    /// A register.
    Register(Register),
    /// A location in a variable of local memory, at this offset in bytes.
    Local(Symbol, i64),
    /// The number of completed iterations of the loop with this header.
    Round(usize),
    /// The number of arrivals at the CTA barrier with this id.
    Arrivals(i64),
}

/// The values of one thread at one point of the program.
#[derive(Clone, Debug, Default)]
pub struct State {
    registers: Chunks<Option<Term>>,
    locals: Rc<BTreeMap<(Symbol, i64), Term>>,
    rounds: BTreeMap<usize, Term>,
    arrivals: BTreeMap<i64, Term>,
    /// The conditions that hold, each a term of one bit.
    pub holds: Chunks<Term>,
}

impl State {
    /// A state without known values.
    pub fn new(registers: usize) -> Self {
        Self { registers: Chunks::repeated(None, registers), ..Self::default() }
    }

    /// The value of a register; `None` if the register was not written.
    pub fn register(&self, register: Register) -> Option<Term> {
        self.registers.get(register).flatten()
    }

    /// The value of a slot.
    pub fn get(&self, slot: Slot) -> Option<Term> {
        match slot {
            Slot::Register(register) => self.register(register),
            Slot::Local(symbol, at) => self.locals.get(&(symbol, at)).copied(),
            Slot::Round(header) => self.rounds.get(&header).copied(),
            Slot::Arrivals(id) => self.arrivals.get(&id).copied(),
        }
    }

    /// Writes a slot.
    pub fn set(&mut self, slot: Slot, value: Term) {
        match slot {
            Slot::Register(register) => self.registers.set(register, Some(value)),
            Slot::Local(symbol, at) => drop(Rc::make_mut(&mut self.locals).insert((symbol, at), value)),
            Slot::Round(header) => drop(self.rounds.insert(header, value)),
            Slot::Arrivals(id) => drop(self.arrivals.insert(id, value)),
        }
    }

    /// All slots that have a value.
    pub fn slots(&self) -> impl Iterator<Item = (Slot, Term)> {
        let registers = self.registers.iter().enumerate();
        let registers = registers.filter_map(|(register, value)| Some((Slot::Register(register), value?)));
        let locals = self.locals.iter().map(|((symbol, at), value)| (Slot::Local(*symbol, *at), *value));
        let arrivals = self.arrivals.iter().map(|(id, value)| (Slot::Arrivals(*id), *value));
        registers.chain(locals).chain(self.rounds()).chain(arrivals)
    }

    /// The iteration number of each loop.
    pub fn rounds(&self) -> impl Iterator<Item = (Slot, Term)> {
        self.rounds.iter().map(|(header, value)| (Slot::Round(*header), *value))
    }

    /// The number of arrivals at each barrier that is counted.
    pub fn arrivals(&self) -> Vec<(i64, Term)> {
        self.arrivals.iter().map(|(id, count)| (*id, *count)).collect()
    }

    /// The `bytes` bytes at an offset of a local variable as one term, if a single store wrote them.
    pub fn load(&self, terms: &mut Terms, symbol: Symbol, at: i64, bytes: u64) -> Option<Term> {
        let (&(_, start), &value) = self.locals.range((symbol, i64::MIN)..=(symbol, at)).next_back()?;
        let (offset, held) = (at.checked_sub(start)? as u64, u64::from(terms.bits(value)) / 8);
        (offset.checked_add(bytes)? <= held).then(|| terms.extract(value, offset as u32 * 8, bytes as u32 * 8))
    }

    /// Writes to a local variable at an offset.
    pub fn store(&mut self, terms: &Terms, symbol: Symbol, at: i64, value: Term) {
        let bytes = i64::from(terms.bits(value).div_ceil(8));
        let before = at.saturating_sub(8);
        let near: Vec<_> = self.locals.range((symbol, before)..(symbol, at.saturating_add(bytes))).collect();
        let overlapping: Vec<_> = near
            .into_iter()
            .filter(|((_, start), held)| start + i64::from(terms.bits(**held).div_ceil(8)) > at)
            .map(|(key, _)| *key)
            .collect();
        let locals = Rc::make_mut(&mut self.locals);
        for key in overlapping {
            locals.remove(&key);
        }
        locals.insert((symbol, at), value);
    }

    /// Forgets values that overlap the `bytes` bytes at an offset of a local variable, except a value of exactly these
    /// bytes.
    pub fn keep_exact(&mut self, terms: &Terms, symbol: Symbol, at: i64, bytes: i64) {
        let held = |value: &Term| i64::from(terms.bits(*value).div_ceil(8));
        Rc::make_mut(&mut self.locals).retain(|(own, start), value| {
            let is_apart = *own != symbol || *start >= at + bytes || start + held(value) <= at;
            is_apart || *start == at && held(value) == bytes
        });
    }

    /// Forgets a local variable, or all of them.
    pub fn forget(&mut self, symbol: Option<Symbol>) {
        Rc::make_mut(&mut self.locals).retain(|(own, _), _| symbol.is_some_and(|symbol| symbol != *own));
    }

    /// The state at a join of two paths. The condition of the first path alone tells which path was taken.
    pub fn join(self, other: Self, terms: &mut Terms) -> Self {
        let common = self.holds.in_common(&other.holds);
        let own = terms.all(self.holds.from(common));
        let others = terms.all(other.holds.from(common));
        let either = terms.or(own, others);
        let mut holds = self.holds;
        holds.truncate(common);
        if terms.value(either) != Some(1) {
            holds.push(either);
        }
        // A well-defined program does not read, after the join, a register that one of the paths has not written.
        let registers = self.registers.joined(&other.registers, |one, other| match (one, other) {
            (Some(a), Some(b)) if terms.bits(a) == terms.bits(b) => Some(terms.choose(own, a, b)),
            (Some(_), Some(_)) => Some(terms.any(Shared::Thread, 64)),
            (one, other) => one.or(other),
        });
        let mut locals = self.locals;
        if !Rc::ptr_eq(&locals, &other.locals) {
            Rc::make_mut(&mut locals).retain(|key, a| {
                let b = other.locals.get(key).filter(|b| terms.bits(**b) == terms.bits(*a));
                *a = b.map_or(*a, |b| terms.choose(own, *a, *b));
                b.is_some()
            });
        }
        let rounds = chosen(self.rounds, other.rounds, own, terms);
        let arrivals = chosen(self.arrivals, other.arrivals, own, terms);
        Self { registers, locals, rounds, arrivals, holds }
    }
}

/// Counts from one path or from both: the first path was taken where the condition holds.
fn chosen<K: Ord>(one: BTreeMap<K, Term>, other: BTreeMap<K, Term>, own: Term, terms: &mut Terms) -> BTreeMap<K, Term> {
    let mut all = other;
    for (key, a) in one {
        let b = all.get(&key).copied().unwrap_or(a);
        all.insert(key, terms.choose(own, a, b));
    }
    all
}
