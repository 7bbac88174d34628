//! Symbolic walks through loops: the changes in each iteration, and the facts that hold in every iteration.

use std::collections::{BTreeMap, BTreeSet};

use ptx_isa::flat::Action;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    graph::End,
    state::{Slot, State},
    walk::{Out, Walk, Written},
};
use ptx_solver::term::{Binary, LeafName, Node, Shared, Term, ones};

/// The change of a slot from one iteration to the next.
enum Change {
    /// The slot keeps its value from before the loop.
    None,
    /// Each iteration adds this term.
    Adds(Term),
    /// Each iteration shifts the slot by this number of bits to the left or to the right.
    Shifts { left: bool, by: u64 },
    /// The new value is unknown; the argument tells whether all threads of the CTA have the same value.
    Anything(Shared),
}

/// The largest step of a counter that is assumed not to wrap around.
const SMALL: u64 = 1 << 16;

impl Walk<'_, '_> {
    /// Walks a loop in two stages: the first finds the slots that change, and the second records the effects of an
    /// arbitrary iteration.
    pub fn around(&mut self, own: usize, entry: State) -> Out {
        let header = self.order.loops[own].header;
        let is_shared = !self.is_region && self.known.shared[header].contains(&header);
        let records = std::mem::replace(&mut self.records, false);
        let fresh = self.eval.terms.fresh();
        let (variants, back) = loop {
            let known = self.written.entry(header).or_default().clone();
            let (state, variants) = self.varied(own, &entry, &known);
            self.writing.push(Written::default());
            let out = self.nodes(Some(own), header, vec![(header, state)]);
            let new = self.writing.pop().unwrap_or_default();
            if let Some(outer) = self.writing.last_mut() {
                outer.add(&new);
            }
            let mut all = known.clone();
            all.add(&new);
            if all == known || *self.left == 0 {
                break (variants, self.join(out.back));
            }
            self.written.insert(header, all);
        };
        self.records = records;
        let mut state = entry;
        self.forget(header, &mut state);
        let depth = self.rounds.len();
        if let Some(back) = back {
            let round = self.changed(own, &mut state, &variants, &back, is_shared, fresh);
            self.rounds.push((header, round));
        }
        let out = self.nodes(Some(own), header, vec![(header, state)]);
        self.rounds.truncate(depth);
        out
    }

    /// Forgets the contents of local memory that a loop may write.
    fn forget(&mut self, header: usize, state: &mut State) {
        let known = self.written.entry(header).or_default();
        if known.all {
            state.forget(None);
        }
        known.variables.iter().for_each(|symbol| state.forget(Some(*symbol)));
        for (symbol, at, bytes) in &known.places {
            state.keep_exact(&self.eval.terms, *symbol, *at, *bytes);
        }
    }

    /// The state at the beginning of an arbitrary iteration, in which each slot that the loop writes has a fresh term;
    /// and these terms.
    fn varied(&mut self, own: usize, entry: &State, known: &Written) -> (State, BTreeMap<Slot, Term>) {
        let Self { eval, order, .. } = self;
        let mut state = entry.clone();
        let body = &order.loops[own].body;
        let blocks = body.blocks().map(|block| &self.known.blocks[block]);
        let mut slots: BTreeSet<Slot> = BTreeSet::new();
        for block in blocks {
            let barrier = if let End::Barrier(step, _) = block.end { Some(step) } else { None };
            for step in block.steps.clone().chain(barrier) {
                slots.extend(eval.flat.steps[step].writes.iter().flatten().map(|register| Slot::Register(*register)));
                if let Action::Barrier(barrier) = &eval.flat.steps[step].action {
                    slots.extend(self.known.counted(barrier));
                }
            }
        }
        let header = order.loops[own].header;
        slots.extend(known.places.iter().map(|(symbol, at, _)| Slot::Local(*symbol, *at)));
        slots.insert(Slot::Round(header));
        self.forget(header, &mut state);
        let Self { eval, .. } = self;
        let mut variants = BTreeMap::new();
        for slot in slots {
            let bits = match (state.get(slot), slot) {
                (Some(term), _) => eval.terms.bits(term),
                (None, Slot::Register(register)) => match eval.flat.registers[register].bits {
                    bits @ 1..=64 => bits,
                    _ => 64,
                },
                (None, _) => continue,
            };
            let any = eval.any(bits);
            state.set(slot, any);
            variants.insert(slot, any);
        }
        (state, variants)
    }

    /// Sets the slots that a loop changes to their values in an arbitrary iteration, and returns the number of that
    /// iteration.
    fn changed(
        &mut self,
        own: usize,
        state: &mut State,
        variants: &BTreeMap<Slot, Term>,
        back: &State,
        is_shared: bool,
        fresh: u32,
    ) -> Term {
        let header = self.order.loops[own].header;
        let shared = if is_shared { self.known.level } else { Shared::Thread };
        let number = if is_shared { 0 } else { self.number };
        let round = self.eval.terms.leaf(LeafName::Round(header, number), shared, 64);
        let most = self.eval.terms.constant(1 << 31, 64);
        let prefix = state.holds.len();
        state.holds.push(self.eval.terms.less(false, round, most));
        let uniform = if is_shared && self.known.level == Shared::Cta {
            self.uniform(state, variants, back)
        } else {
            BTreeSet::new()
        };
        let one = self.eval.terms.constant(1, 64);
        let before = self.eval.terms.sub(round, one);
        let mut earlier: FxHashMap<Term, Option<Term>> = FxHashMap::default();
        for (slot, variant) in variants {
            let entry = state.get(*slot);
            let change = match (entry, back.get(*slot)) {
                (Some(entry), Some(end)) => self.change(own, *variant, end, entry, fresh),
                _ => Change::Anything(Shared::Thread),
            };
            let change = match change {
                Change::Anything(_) if uniform.contains(slot) => Change::Anything(Shared::Cta),
                change => change,
            };
            let bits = self.eval.terms.bits(*variant);
            let (now, previous) = match (&change, entry) {
                (Change::None, Some(entry)) => (entry, Some(entry)),
                (Change::Anything(shared), _) => (self.eval.terms.any(*shared, bits), None),
                (_, None) => (self.eval.any(bits), None),
                (change, Some(entry)) => {
                    if let Change::Adds(by) = change {
                        self.bound(state, round, *by);
                    }
                    (self.after(change, entry, round), Some(self.after(change, entry, before)))
                }
            };
            state.set(*slot, now);
            earlier.insert(*variant, previous);
        }
        if is_shared {
            state.set(Slot::Round(header), round);
            earlier.extend(variants.get(&Slot::Round(header)).map(|variant| (*variant, Some(before))));
        }
        // The previous iteration ended with a further iteration.
        let zero = self.eval.terms.constant(0, 64);
        let is_first = self.eval.terms.equal(round, zero);
        for condition in back.holds.from(prefix) {
            if let Some(condition) = self.in_terms_of(condition, &earlier, own, fresh) {
                state.holds.extend(self.ends_before(condition, round));
                let either = self.eval.terms.or(is_first, condition);
                state.holds.push(either);
            }
        }
        round
    }

    /// A consequence of a nonzero value at the end of an iteration, where the value grows by a constant in each
    /// iteration. The value was nonzero in all previous iterations, too. If the value would be zero after some number
    /// of iterations, fewer iterations have passed.
    fn ends_before(&mut self, condition: Term, round: Term) -> Option<Term> {
        let terms = &mut self.eval.terms;
        let is_zero = terms.not(condition);
        let Node::Equal(one, other) = *terms.node(is_zero) else { return None };
        let (bits, value) = (terms.bits(one), terms.sub(one, other));
        let rounds = terms.widen(round, bits, false);
        let Node::Sum(_, parts) = terms.node(value) else { return None };
        let (by, _) = *parts.iter().find(|(_, part)| *part == rounds)?;
        let grown = terms.scale(by, rounds);
        let start = terms.sub(value, grown);
        if bits < 8 || terms.leaves(start).contains(&round) {
            return None;
        }
        // The amount by which the value approaches zero in each iteration, and its initial distance from zero.
        let falls = by > ones(bits) / 2;
        let (step, far) =
            if falls { (by.wrapping_neg() & ones(bits), start) } else { (by, terms.scale(u64::MAX, start)) };
        if !step.is_power_of_two() && terms.value(far).is_none() || step >= SMALL {
            return None;
        }
        let (step_term, zero) = (terms.constant(step, bits), terms.constant(0, bits));
        let rest = terms.binary(Binary::RemUnsigned, far, step_term);
        let (is_multiple, is_there) = (terms.equal(rest, zero), terms.equal(far, zero));
        let (gone, far) = (terms.scale(step, round), terms.widen(far, 64, false));
        let is_before = terms.less(false, gone, far);
        let never = terms.not(is_multiple);
        let or = terms.or(never, is_there);
        Some(terms.or(or, is_before))
    }

    /// Assumes that a counter with a small step does not wrap around, which bounds the number of iterations.
    fn bound(&mut self, state: &mut State, round: Term, by: Term) {
        let bits = self.eval.terms.bits(by);
        if let Some(by) = self.eval.terms.value(by) {
            let by = by.min(by.wrapping_neg() & ones(bits)).max(1);
            if by < SMALL && bits >= 32 {
                let most = self.eval.terms.constant((1u64 << bits.min(63)) / by, 64);
                let within = self.eval.terms.less(false, round, most);
                state.holds.push(within);
            }
        }
    }

    fn after(&mut self, change: &Change, entry: Term, round: Term) -> Term {
        let terms = &mut self.eval.terms;
        let bits = terms.bits(entry);
        let round = terms.widen(round, bits, false);
        match change {
            Change::Adds(by) => {
                let product = terms.binary(Binary::Mul, round, *by);
                terms.add(entry, product)
            }
            Change::Shifts { left, by } => {
                use Binary::{Shl, ShrUnsigned};
                let amount = terms.scale(*by, round);
                terms.binary(if *left { Shl } else { ShrUnsigned }, entry, amount)
            }
            _ => entry,
        }
    }

    /// The change of a slot from the beginning of an iteration to its end.
    fn change(&mut self, own: usize, variant: Term, end: Term, entry: Term, fresh: u32) -> Change {
        let body = &self.order.loops[own].body;
        let terms = &mut self.eval.terms;
        if end == variant {
            return Change::None;
        }
        let bits = terms.bits(variant);
        if bits < 8 || terms.bits(end) != bits {
            return Change::Anything(Shared::Thread);
        }
        let difference = terms.sub(end, variant);
        if terms.is_older(difference, fresh, &|block| body.has(block)) {
            return Change::Adds(difference);
        }
        let doubled = terms.scale(2, variant);
        if end == doubled {
            return Change::Shifts { left: true, by: 1 };
        }
        if let Some(by) = terms.shifted_right(end, variant, entry) {
            return Change::Shifts { left: false, by };
        }
        Change::Anything(Shared::Thread)
    }

    /// The slots that have the same value in all threads of a CTA in each iteration.
    fn uniform(&mut self, state: &State, variants: &BTreeMap<Slot, Term>, back: &State) -> BTreeSet<Slot> {
        let terms = &mut self.eval.terms;
        let none = FxHashSet::default();
        let mut all: BTreeMap<Slot, Term> = variants
            .iter()
            .filter(|(slot, _)| state.get(**slot).is_some_and(|entry| terms.is_uniform(entry, &none)))
            .filter_map(|(slot, _)| Some((*slot, back.get(*slot)?)))
            .collect();
        loop {
            let leaves: FxHashSet<Term> = all.keys().map(|slot| variants[slot]).collect();
            let before = all.len();
            all.retain(|_, end| terms.is_uniform(*end, &leaves));
            if all.len() == before {
                return all.into_keys().collect();
            }
        }
    }

    /// A condition at the end of an iteration, expressed in terms from before the loop; `None` if it contains other
    /// terms.
    fn in_terms_of(
        &mut self,
        condition: Term,
        earlier: &FxHashMap<Term, Option<Term>>,
        own: usize,
        fresh: u32,
    ) -> Option<Term> {
        let body = &self.order.loops[own].body;
        let terms = &mut self.eval.terms;
        let leaves = terms.leaves(condition);
        let is_known = leaves.iter().all(|leaf| match earlier.get(leaf) {
            Some(value) => value.is_some(),
            None => terms.is_older(*leaf, fresh, &|block| body.has(block)),
        });
        if !is_known {
            return None;
        }
        Some(terms.substitute(condition, &|leaf| earlier.get(&leaf).copied().flatten()))
    }
}
