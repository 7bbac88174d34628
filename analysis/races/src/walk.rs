//! Symbolic walks over a kernel, with terms instead of values: the accesses of one thread with their conditions, and
//! its arrivals at barriers.

use std::collections::{BTreeMap, BTreeSet};

use ptx_isa::{
    Asynchronous, AtomOp, Family, Runtime, Space, Stop, Type,
    effects::{Effect, FenceEffect},
    flat::{AccessKind, Action, Barrier, Elsewhere, MemoryAccess, NotInlined, Operand, Symbol},
    operation::Operation,
};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::{
    address::{Base, local_of},
    cluster::Barriers,
    eval::Eval,
    graph::{Block, End, Order},
    named::id,
    state::{Slot, State},
    walked::{AccessEvent, Arrival, BarrierArrival, Open, Rounds, Target, Together, Walked},
};
use ptx_solver::term::{LeafName, Shared, Term};

/// The facts about a kernel that are known before a walk.
pub struct Known<'k> {
    pub blocks: &'k [Block],
    /// For each block, the headers of the shared loops that contain it: all threads of a CTA iterate these loops
    /// together.
    pub shared: Vec<Vec<usize>>,
    /// For each block, whether a loop with barriers contains it that threads may iterate separately.
    pub mixed: Vec<bool>,
    /// The bases that no access writes.
    pub constant: FxHashSet<Base>,
    /// The loads that return the value that memory had at the beginning of the interval between two barriers.
    pub stable: FxHashSet<usize>,
    /// The threads that iterate the shared loops together: the threads of a CTA, or of the grid.
    pub level: Shared,
    /// The barriers of the cluster.
    pub clusters: &'k Barriers,
    /// The CTA barriers at which a thread's arrivals are counted.
    pub counted: &'k BTreeSet<i64>,
}

impl Known<'_> {
    /// The slot that counts a thread's arrivals at a barrier.
    pub fn counted(&self, barrier: &Barrier) -> Option<Slot> {
        id(barrier).filter(|id| !barrier.warp && self.counted.contains(id)).map(Slot::Arrivals)
    }
}

/// A walk.
pub struct Walk<'w, 'f> {
    pub eval: &'w mut Eval<'f>,
    pub known: &'w Known<'w>,
    pub order: &'w Order,
    /// Whether the walk ends at barriers.
    pub is_region: bool,
    /// A number that distinguishes the iteration terms of one walk from those that another walk creates.
    pub number: u32,
    /// The number of steps that remain.
    pub left: &'w mut usize,
    pub stop: &'w Stop,
    pub walked: Walked,
    pub open: &'w mut BTreeSet<Open>,
    /// The local memory that the body of a loop writes, by header.
    pub written: &'w mut FxHashMap<usize, Written>,
    /// Whether the walk records accesses, and does not only compute states.
    pub records: bool,
    rank: Vec<usize>,
    /// The loops around the current block, each with an iteration.
    pub rounds: Rounds,
    /// The local memory that the surrounding loops write, outermost loop first.
    pub writing: Vec<Written>,
}

/// Written locations in local memory, and variables that are written at an unknown offset.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Written {
    pub places: BTreeSet<(Symbol, i64, i64)>,
    pub variables: BTreeSet<Symbol>,
    pub all: bool,
}

impl Written {
    pub fn add(&mut self, other: &Self) {
        self.places.extend(&other.places);
        self.variables.extend(&other.variables);
        self.all |= other.all;
    }
}

/// The values of an access, as far as they are known.
#[derive(Clone, Copy, Default)]
struct Values {
    stored: Option<Term>,
    loaded: Option<Term>,
    expected: Option<Term>,
}

/// The exits of a loop, and the states at its back edges.
#[derive(Default)]
pub struct Out {
    pub leaves: Vec<(usize, usize, State)>,
    pub back: Vec<State>,
}

impl<'w, 'f> Walk<'w, 'f> {
    #[expect(clippy::too_many_arguments, reason = "each is a part that a walk borrows")]
    pub fn new(
        eval: &'w mut Eval<'f>,
        known: &'w Known<'w>,
        order: &'w Order,
        is_region: bool,
        number: u32,
        left: &'w mut usize,
        stop: &'w Stop,
        open: &'w mut BTreeSet<Open>,
        written: &'w mut FxHashMap<usize, Written>,
    ) -> Self {
        let mut rank = vec![usize::MAX; known.blocks.len()];
        order.order.iter().enumerate().for_each(|(at, block)| rank[*block] = at);
        let walked = Walked::default();
        Self {
            eval,
            known,
            order,
            is_region,
            number,
            left,
            stop,
            walked,
            open,
            written,
            records: true,
            rank,
            rounds: Vec::new(),
            writing: Vec::new(),
        }
    }

    /// Walks from an edge on.
    pub fn run(mut self, from: Option<usize>, start: usize, mut state: State) -> Walked {
        if let Some(from) = from {
            self.pass(from, start, &mut state);
        } else if self.known.shared[start].contains(&start) {
            let zero = self.eval.terms.constant(0, 64);
            state.set(Slot::Round(start), zero);
        }
        match self.order.loop_at(start) {
            Some(own) => {
                let out = self.around(own, state);
                self.rest(start, out.leaves);
            }
            None => drop(self.nodes(None, start, vec![(start, state)])),
        }
        self.walked
    }

    /// Walks the blocks after a loop that starts at the first block of the walk.
    fn rest(&mut self, start: usize, leaves: Vec<(usize, usize, State)>) {
        let states = leaves.into_iter().map(|(_, to, state)| (to, state)).collect();
        drop(self.nodes(None, start, states));
    }

    /// Walks over the blocks of a loop, or over all blocks, from some of them on.
    pub fn nodes(&mut self, within: Option<usize>, header: usize, states: Vec<(usize, State)>) -> Out {
        let mut out = Out::default();
        let mut pending: BTreeMap<usize, Vec<State>> = BTreeMap::new();
        for (to, state) in states {
            pending.entry(self.rank[to]).or_default().push(state);
        }
        while let Some((rank, states)) = pending.pop_first() {
            let node = self.order.order[rank];
            let Some(state) = self.join(states) else { continue };
            let inner = self.order.loop_at(node).filter(|_| Some(node) != within.map(|_| header));
            let next = match inner {
                Some(inner) => self.around(inner, state).leaves,
                None => self.block(node, state),
            };
            for (from, to, mut state) in next {
                let is_inside = within.is_none_or(|own| self.order.loops[own].body.has(to));
                if is_inside && !(within.is_some() && to == header) {
                    self.pass(from, to, &mut state);
                    pending.entry(self.rank[to]).or_default().push(state);
                } else if is_inside {
                    out.back.push(state);
                } else {
                    out.leaves.push((from, to, state));
                }
            }
        }
        out
    }

    /// Counts the iterations of loops that all threads of a CTA iterate together.
    fn pass(&mut self, from: usize, to: usize, state: &mut State) {
        if !self.known.shared[to].contains(&to) {
            return;
        }
        let is_back = self.known.shared[from].contains(&to);
        let before = state.get(Slot::Round(to)).filter(|_| is_back);
        let one = self.eval.terms.constant(1, 64);
        let now = match before {
            Some(before) => self.eval.terms.add(before, one),
            None => self.eval.terms.constant(0, 64),
        };
        state.set(Slot::Round(to), now);
    }

    pub fn join(&mut self, mut states: Vec<State>) -> Option<State> {
        // States with a long common prefix become neighbors and are joined first.
        states.sort_by(|a, b| a.holds.compare(&b.holds));
        // The states from right to left, each with the length of the prefix that it shares with the state before. These
        // lengths increase strictly.
        let mut open: Vec<(State, usize)> = Vec::new();
        let join = |this: &mut Self, open: &mut Vec<(State, usize)>| {
            if let (Some((one, _)), Some((other, common))) = (open.pop(), open.pop()) {
                open.push((one.join(other, &mut this.eval.terms), common));
            }
        };
        for state in states.into_iter().rev() {
            let common = open.last().map_or(0, |(last, _)| state.holds.in_common(&last.holds));
            while open.len() > 1 && open.last().is_some_and(|(_, own)| *own >= common) {
                join(self, &mut open);
            }
            open.push((state, common));
        }
        while open.len() > 1 {
            join(self, &mut open);
        }
        open.pop().map(|(state, _)| state)
    }

    fn not_followed(&mut self, step: usize, why: impl Into<String>) {
        let at = self.eval.flat.steps[step].at;
        self.open.insert((at, why.into()));
    }

    /// Walks over a block.
    fn block(&mut self, node: usize, mut state: State) -> Vec<(usize, usize, State)> {
        let block = &self.known.blocks[node];
        for step in block.steps.clone() {
            if *self.left == 0 || self.stop.is_due() {
                *self.left = 0;
                self.not_followed(step, "the kernel is too long to be followed within the budget");
                return Vec::new();
            }
            *self.left -= 1;
            self.step(node, step, &mut state);
        }
        match &block.end {
            End::Go(to) => vec![(node, *to, state)],
            End::If(register, is, then, other) => {
                let condition = self.eval.value(&state, &Operand::Register(*register), 1);
                let opposite = self.eval.terms.not(condition);
                let (yes, no) = if *is { (condition, opposite) } else { (opposite, condition) };
                let mut all = Vec::new();
                for (holds, to) in [(yes, *then), (no, *other)] {
                    if self.eval.terms.value(holds) == Some(0) || state.holds.contains(self.eval.terms.not(holds)) {
                        continue;
                    }
                    let mut state = state.clone();
                    if self.eval.terms.value(holds).is_none() && !state.holds.contains(holds) {
                        state.holds.push(holds);
                    }
                    all.push((node, to, state));
                }
                all
            }
            End::Any(all) => {
                let choose = |this: &mut Self, to: &usize| {
                    let mut state = state.clone();
                    let any = this.eval.any(1);
                    state.holds.push(any);
                    (node, *to, state)
                };
                all.iter().map(|to| choose(self, to)).collect()
            }
            End::Barrier(step, to) => {
                if self.records {
                    self.arrive(Target::Barrier(node), state.clone());
                }
                if self.is_region {
                    return Vec::new();
                }
                self.step(node, *step, &mut state);
                vec![(node, *to, state)]
            }
            End::Leave => {
                if self.records {
                    self.arrive(Target::End, state);
                }
                Vec::new()
            }
            End::Trap => Vec::new(),
        }
    }

    fn arrive(&mut self, target: Target, state: State) {
        let around = self.rounds.clone();
        self.walked.arrivals.push(Arrival { target, state, around });
    }

    /// Executes one instruction.
    pub fn step(&mut self, node: usize, at: usize, state: &mut State) {
        let step = &self.eval.flat.steps[at];
        let guard = step.guard.map(|(register, is)| {
            let value = self.eval.value(state, &Operand::Register(register), 1);
            if is { value } else { self.eval.terms.not(value) }
        });
        if guard.is_some_and(|guard| self.eval.terms.value(guard) == Some(0)) {
            return;
        }
        let guard = guard.filter(|guard| self.eval.terms.value(*guard).is_none());
        if let Some(mask) = lanes(&step.action).filter(|_| self.records) {
            let mask = self.eval.value(state, mask, 32);
            let mut holds = state.holds.clone();
            holds.extend(guard);
            self.walked.together.push(Together { step: at, holds, mask });
        }
        let results = self.results(node, at, state, guard);
        for (register, (value, is_signed)) in step.writes.iter().zip(results) {
            let Some(register) = register else { continue };
            let mut value = self.eval.fitting(*register, value, is_signed);
            if let (Some(guard), Some(old)) = (guard, state.register(*register))
                && self.eval.terms.bits(old) == self.eval.terms.bits(value)
            {
                value = self.eval.terms.choose(guard, value, old);
            }
            state.set(Slot::Register(*register), value);
        }
    }

    fn anything(&mut self, count: usize) -> Vec<(Term, bool)> {
        (0..count).map(|_| (self.eval.any(64), false)).collect()
    }

    fn results(&mut self, node: usize, at: usize, state: &mut State, guard: Option<Term>) -> Vec<(Term, bool)> {
        let step = &self.eval.flat.steps[at];
        let count = step.writes.len();
        match &step.action {
            Action::Compute(operation, sources) => self.eval.compute(state, operation, sources, count),
            Action::Pass { ty, from } => {
                let bits = ty.bits().clamp(1, 64);
                from.iter().map(|from| (self.passed(state, from, bits), ty.is_signed())).collect()
            }
            Action::Parameter { symbol, offset, ty } => {
                let bytes = i64::from(ty.bits().div_ceil(8));
                (0..count as i64)
                    .map(|index| {
                        let name = LeafName::Parameter(*symbol, offset.wrapping_add(index * bytes));
                        (self.eval.terms.leaf(name, Shared::Grid, ty.bits().clamp(1, 64)), ty.is_signed())
                    })
                    .collect()
            }
            Action::ParameterAt { address, ty } => {
                let address = self.eval.value(state, address, 64);
                let (bits, signed) = (ty.bits().clamp(1, 64), ty.is_signed());
                let name = |index| format!("parameter{bits}.{index}");
                (0..count).map(|index| (self.eval.terms.function(&name(index), vec![address], bits), signed)).collect()
            }
            Action::Access(access) => self.access(node, at, state, guard, access),
            Action::Barrier(barrier) => {
                if !barrier.warp {
                    self.arrive_at_barrier(at, state, guard, barrier);
                }
                self.barrier(node, at, state, barrier, count)
            }
            Action::Call(name, NotInlined::Runtime(Runtime::Prints | Runtime::Allocates)) => {
                let _ = name;
                self.anything(count)
            }
            Action::Call(name, _) | Action::Invoke { callee: name, .. } => {
                self.not_followed(at, format!("the code of {name} is not known"));
                state.forget(None);
                self.write_all();
                self.anything(count)
            }
            Action::Asynchronous(form, _) if is_fence(form) => self.anything(count),
            Action::Asynchronous(..) if self.known.clusters.has(at) => self.anything(count),
            Action::Asynchronous(..) => {
                self.not_followed(at, "asynchronous operations are not followed");
                self.anything(count)
            }
            // A texture is not written while a kernel reads it, except by another kernel.
            Action::Elsewhere(Elsewhere::Texture, _) => {
                self.walked.reads_textures = true;
                self.anything(count)
            }
            Action::Elsewhere(..) => {
                self.not_followed(at, format!("{} is not followed", step.mnemonic));
                self.anything(count)
            }
            Action::Unknown => {
                self.not_followed(at, format!("{} is not known", step.mnemonic));
                state.forget(None);
                self.write_all();
                self.anything(count)
            }
            Action::Fence(_)
            | Action::Jump(..)
            | Action::Leave(_)
            | Action::Trap
            | Action::Argument { .. }
            | Action::Nothing => self.anything(count),
        }
    }

    /// The value of a parameter that is passed in a call. If more bits are read than were passed, the value is unknown.
    fn passed(&mut self, state: &State, from: &Operand, bits: u32) -> Term {
        let register = match from {
            Operand::Register(register) => state.register(*register),
            _ => None,
        };
        match register {
            Some(term) if self.eval.terms.bits(term) < bits => self.eval.any(bits),
            _ => self.eval.value(state, from, bits),
        }
    }

    fn write_all(&mut self) {
        if let Some(writing) = self.writing.last_mut() {
            writing.all = true;
        }
    }

    /// Arrives at a barrier of the CTA.
    fn arrive_at_barrier(&mut self, at: usize, state: &mut State, guard: Option<Term>, barrier: &Barrier) {
        if self.records {
            let mut holds = state.holds.clone();
            holds.extend(guard);
            self.walked.barrier_arrivals.push(BarrierArrival { step: at, holds, arrivals: state.arrivals() });
        }
        let Some(slot) = self.known.counted(barrier) else { return };
        let terms = &mut self.eval.terms;
        let (zero, one) = (terms.constant(0, 64), terms.constant(1, 64));
        let before = state.get(slot).unwrap_or(zero);
        let by = guard.map_or(one, |guard| terms.choose(guard, one, zero));
        let after = terms.add(before, by);
        state.set(slot, after);
    }

    /// The result of a barrier. A warp barrier gives arbitrary values; a reducing CTA barrier gives a value that
    /// depends on all threads.
    fn barrier(&mut self, node: usize, at: usize, state: &State, barrier: &Barrier, count: usize) -> Vec<(Term, bool)> {
        if barrier.reduces.is_none() || barrier.warp || self.known.mixed[node] {
            return self.anything(count);
        }
        let rounds = state.rounds().map(|(_, term)| term);
        let mut operands: Vec<Term> = rounds.collect();
        operands.push(self.eval.terms.leaf(LeafName::Cta, Shared::Cta, 64));
        let value = self.eval.terms.function(&format!("barrier {at}"), operands, 64);
        vec![(value, false); count]
    }

    fn access(
        &mut self,
        node: usize,
        at: usize,
        state: &mut State,
        guard: Option<Term>,
        access: &MemoryAccess,
    ) -> Vec<(Term, bool)> {
        let count = self.eval.flat.steps[at].writes.len();
        let address = self.eval.value(state, &access.address, 64);
        let Some(ty) = access.ty.filter(|ty| ty.bits() <= 64 && access.kind != AccessKind::Matrix) else {
            return self.wide(at, state, guard, access, address);
        };
        let bits = ty.bits();
        if access.space == Some(Space::Const) {
            let name = |index| format!("constant{bits}.{index}");
            let values = |this: &mut Self, index| this.eval.terms.function(&name(index), vec![address], bits);
            return (0..count).map(|index| (values(self, index), ty.is_signed())).collect();
        }
        if let Some(place) = local_of(&self.eval.terms, self.eval.flat, address) {
            return self.local(state, guard, access, ty, place);
        }
        if access.space == Some(Space::Local) {
            if access.writes {
                state.forget(None);
                self.write_all();
            }
            return self.anything(count);
        }
        let mut base = Base::from_address(&self.eval.terms, self.eval.flat, address);
        let mut address = address;
        // A shared-memory address without a variable is a different location in each CTA.
        if access.space.is_some_and(Space::is_shared_cta) && !matches!(base, Base::Variable(_)) {
            let window = self.eval.window();
            address = self.eval.terms.add(address, window);
            base = Base::from_address(&self.eval.terms, self.eval.flat, address);
        }
        let value = |this: &mut Self, at: usize| {
            let data = access.data.get(at).filter(|_| access.elements == 1)?;
            Some(this.eval.value(state, data, bits))
        };
        if access.kind != AccessKind::Ld {
            let loaded = self.eval.any(bits);
            let (stored, expected) = match (access.kind, access.op) {
                (AccessKind::St, _) | (_, Some(AtomOp::Exch)) => (value(self, 0), None),
                (_, Some(AtomOp::Cas)) => (value(self, 1), value(self, 0)),
                (_, Some(AtomOp::Add)) if !ty.is_float() => {
                    (value(self, 0).map(|by| self.eval.terms.add(loaded, by)), None)
                }
                (_, Some(AtomOp::Inc)) => (value(self, 0).map(|most| self.incremented(loaded, most)), None),
                _ => (None, None),
            };
            let loaded = Some(loaded).filter(|_| access.reads && access.elements == 1);
            self.touch(at, state, guard, address, access.bytes(), Values { stored, loaded, expected });
            if access.writes && base == Base::Unknown && access.kind == AccessKind::St && access.space.is_none() {
                state.forget(None);
                self.write_all();
            }
            return match loaded {
                Some(loaded) if count == 1 => vec![(loaded, ty.is_signed())],
                _ => self.anything(count),
            };
        }
        let values = self.loaded(node, at, state, access, ty, address, base);
        let loaded = values.first().map(|(value, _)| *value).filter(|_| access.elements == 1);
        self.touch(at, state, guard, address, access.bytes(), Values { loaded, ..Values::default() });
        values
    }

    /// The value that `inc` writes: zero if memory has the maximum or more.
    fn incremented(&mut self, loaded: Term, most: Term) -> Term {
        let terms = &mut self.eval.terms;
        let bits = terms.bits(loaded);
        let (zero, one) = (terms.constant(0, bits), terms.constant(1, bits));
        let (more, below) = (terms.add(loaded, one), terms.less(false, loaded, most));
        terms.choose(below, more, zero)
    }

    /// The value that a load reads.
    #[expect(clippy::too_many_arguments, reason = "each is something of the load")]
    fn loaded(
        &mut self,
        node: usize,
        at: usize,
        state: &State,
        access: &MemoryAccess,
        ty: Type,
        address: Term,
        base: Base,
    ) -> Vec<(Term, bool)> {
        let (count, bits) = (self.eval.flat.steps[at].writes.len(), ty.bits());
        let is_constant = self.known.constant.contains(&base);
        if !is_constant && (!self.known.stable.contains(&at) || self.known.mixed[node])
            || access.sem != ptx_isa::Sem::Weak
        {
            return (0..count).map(|_| (self.eval.any(bits), ty.is_signed())).collect();
        }
        let mut operands = Vec::new();
        let name = if is_constant {
            format!("memory{bits}")
        } else {
            let headers = self.known.shared[node].iter();
            operands.extend(headers.filter_map(|header| state.get(Slot::Round(*header))));
            operands.push(self.eval.terms.leaf(LeafName::Cta, Shared::Cta, 64));
            format!("memory{bits} at {at}")
        };
        (0..count as u64)
            .map(|index| {
                let offset = self.eval.terms.constant(index * u64::from(bits / 8), 64);
                let element = self.eval.terms.add(address, offset);
                let operands = std::iter::once(element).chain(operands.clone()).collect();
                (self.eval.terms.function(&name, operands, bits), ty.is_signed())
            })
            .collect()
    }

    /// An access whose values are not followed.
    fn wide(
        &mut self,
        at: usize,
        state: &mut State,
        guard: Option<Term>,
        access: &MemoryAccess,
        address: Term,
    ) -> Vec<(Term, bool)> {
        let local = local_of(&self.eval.terms, self.eval.flat, address);
        if local.is_some() || access.is_private() {
            if access.writes {
                state.forget(local.map(|(symbol, _)| symbol));
                self.write_all();
            }
        } else if access.bytes().is_some() && access.kind != AccessKind::Matrix {
            self.touch(at, state, guard, address, access.bytes(), Values::default());
        } else {
            self.not_followed(at, "accesses of matrices are not followed");
        }
        let count = self.eval.flat.steps[at].writes.len();
        self.anything(count)
    }

    fn touch(
        &mut self,
        step: usize,
        state: &State,
        guard: Option<Term>,
        address: Term,
        bytes: Option<u64>,
        values: Values,
    ) {
        let Some(bytes) = bytes else { return self.not_followed(step, "the size of the access is not known") };
        if self.records {
            let mut holds = state.holds.clone();
            holds.extend(guard);
            let (Values { stored, loaded, expected }, around) = (values, self.rounds.clone());
            let arrivals = state.arrivals();
            self.walked.touches.push(AccessEvent {
                step,
                holds,
                address,
                bytes,
                stored,
                loaded,
                expected,
                around,
                arrivals,
            });
        }
    }

    /// An access to a local variable, which is private to the thread.
    fn local(
        &mut self,
        state: &mut State,
        guard: Option<Term>,
        access: &MemoryAccess,
        ty: Type,
        (symbol, offset): (Symbol, Option<i64>),
    ) -> Vec<(Term, bool)> {
        let bytes = i64::from(ty.bits() / 8);
        let count = access.elements as i64;
        if access.writes {
            let writing = self.writing.last_mut();
            match (offset, access.kind) {
                (Some(offset), AccessKind::St) => {
                    if let Some(writing) = writing {
                        writing.places.extend((0..count).map(|index| (symbol, offset + index * bytes, bytes)));
                    }
                    let elements: Vec<Operand> = match &access.data[..] {
                        [Operand::Vector(elements)] => elements.clone(),
                        data => data.to_vec(),
                    };
                    for (index, element) in elements.iter().enumerate() {
                        let at = offset + index as i64 * bytes;
                        let mut value = self.eval.value(state, element, ty.bits());
                        if let Some(guard) = guard {
                            let old = state.load(&mut self.eval.terms, symbol, at, bytes as u64);
                            let old = old.unwrap_or_else(|| self.eval.any(ty.bits()));
                            value = self.eval.terms.choose(guard, value, old);
                        }
                        state.store(&self.eval.terms, symbol, at, value);
                    }
                }
                _ => {
                    if let Some(writing) = writing {
                        writing.variables.insert(symbol);
                    }
                    state.forget(Some(symbol));
                }
            }
        }
        if !access.reads {
            return Vec::new();
        }
        (0..count)
            .map(|index| {
                let known = offset
                    .and_then(|offset| state.load(&mut self.eval.terms, symbol, offset + index * bytes, bytes as u64));
                (known.unwrap_or_else(|| self.eval.any(ty.bits())), ty.is_signed())
            })
            .collect()
    }
}

/// The mask of an instruction at which lanes of a warp wait for each other.
pub fn lanes(action: &Action) -> Option<&Operand> {
    match action {
        Action::Barrier(barrier) => Some(&barrier.id).filter(|_| barrier.warp),
        Action::Compute(Operation::Collective { is_sync: true, .. }, from) => from.last(),
        _ => None,
    }
}

/// Whether an instruction only orders accesses.
fn is_fence(form: &Asynchronous) -> bool {
    let Effect::Fence(fence) = form.effect() else { return false };
    // `tensormap.cp_fenceproxy` copies, too.
    matches!(fence, FenceEffect::MbarrierInit | FenceEffect::Memory(_) | FenceEffect::Proxy(_))
        && form.family() != Family::TensormapCpFenceproxy
}
