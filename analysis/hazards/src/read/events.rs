//! The translation of instructions to events of a kernel.

mod asynchronous;

use ptx_isa::{
    Axis, Family, Role, Scope, Special, SpecialScalar, SpecialVector,
    effects::Proxy,
    flat::{self, Action, Flat},
};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    bases::{AddressParts, Base, Bases},
    causes,
    code::{self, is_shared},
    graph::Graph,
    registers::{Registers, Run, is_matrix},
    rows,
    terms::{Atom, AtomExpression, Content, Facts, Literal, PredicateMeaning, Terms, Value},
    threads::Threads,
    waits::{Wait, implied},
    walk::{Step, Walked, address},
};
use crate::cause::Cause;
use crate::kernel::{
    Address, Barrier, BarrierId, Block, Condition, Edge, EdgeUpdate, Event, EventAccess, EventKind, Kernel, Object,
    ObjectKind, Predicate, Semantics, Space, Sum, Test, Unknown, UnknownKind,
};

/// The kernel model, from a walk through the kernel's code.
pub fn kernel(code: &Flat, graph: &Graph, walked: &Walked) -> Kernel {
    let bases = Bases::new(&walked.terms, &walked.phi_inputs);
    let mut maker = Maker {
        code,
        walked,
        bases,
        threads: Threads::new(&walked.terms, code.head.most_threads),
        touched: Vec::new(),
        kernel: Kernel::default(),
        objects: FxHashMap::default(),
        values: FxHashMap::default(),
        predicates: FxHashMap::default(),
        allocations: allocations(code, walked),
    };
    let registers = Registers::new(code);
    for block in 0..graph.blocks.len() {
        let mut events = Vec::new();
        let mut steps = walked.steps[block].iter().peekable();
        for op in graph.blocks[block].ops.clone() {
            maker.registers(&registers, &code.steps[op], &mut events);
            while let Some(step) = steps.next_if(|step| step.op == op) {
                maker.step(step, &mut events);
            }
        }
        maker.kernel.blocks.push(Block { events, is_copy: graph.blocks[block].iteration > 0, ..Block::default() });
    }
    for block in 0..graph.blocks.len() {
        maker.edges(graph, block);
    }
    maker.add_edge_updates();
    maker.finish();
    maker.kernel.most = code.head.most_threads.or_else(|| maker.room());
    maker.kernel.has_block = code.head.most_threads.is_some() && walked.terms.is_flat();
    maker.kernel
}

/// The addresses to which `tcgen05.alloc` writes, each with the line of its first write.
fn allocations(code: &Flat, walked: &Walked) -> Vec<(Value, u32)> {
    let mut found: Vec<(Value, u32)> = Vec::new();
    for step in walked.steps.iter().flatten() {
        if let Action::Asynchronous(form, _) = &code.steps[step.op].action
            && form.family() == Family::Tcgen05Alloc
            && let Some(address) = address(&step.operands, Role::Destination)
            && found.iter().all(|(known, _)| *known != address)
        {
            found.push((address, code.steps[step.op].at.line));
        }
    }
    found
}

/// The meaning of an object of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Thing {
    Base(Base),
    /// The tensor that a tensor map describes.
    Tensor(Box<Thing>),
    /// The base of addresses without a known one: a term that may be large, or nothing.
    Unknown(Space, Option<Atom>),
    /// The memory that a matrix descriptor points to, if its address is not understood.
    Described,
    /// The registers of matrices.
    Registers,
}

/// The meaning of an unknown of the kernel.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Valued {
    Atom(Atom),
    Sum(Value),
}

struct Maker<'w> {
    code: &'w Flat,
    walked: &'w Walked,
    bases: Bases,
    threads: Threads,
    /// The accesses of the current instruction to registers of matrices.
    touched: Vec<EventAccess>,
    kernel: Kernel,
    objects: FxHashMap<Thing, usize>,
    values: FxHashMap<Valued, usize>,
    predicates: FxHashMap<u32, usize>,
    allocations: Vec<(Value, u32)>,
}

impl<'w> Maker<'w> {
    fn terms(&self) -> &'w Terms {
        &self.walked.terms
    }

    // Values and predicates.

    fn value(&mut self, valued: Valued) -> usize {
        if let Some(index) = self.values.get(&valued) {
            return *index;
        }
        let terms = self.terms();
        let (kind, facts, varies) = match &valued {
            Valued::Atom(atom) => (kind(terms, *atom), terms.atoms[atom.0 as usize].1, terms.atom_varies(*atom)),
            Valued::Sum(number) => (UnknownKind::Other, terms.facts(*number), terms.varies(*number)),
        };
        let is_known = facts.low != i64::MIN || facts.high != i64::MAX;
        let of_threads = match valued {
            Valued::Atom(atom) => self.threads.range(terms, atom),
            Valued::Sum(_) => None,
        };
        // The distance of a swizzled address from its base is unknown.
        let is_address = matches!(valued, Valued::Atom(atom) if self.bases.is_swizzled(terms, atom));
        let range = of_threads.or(is_known.then_some((facts.low, facts.high))).filter(|_| !is_address);
        let by_threads = match valued {
            Valued::Atom(atom) if range.is_some() => self.threads.by_threads(terms, atom),
            _ => Vec::new(),
        };
        let each = match valued {
            Valued::Atom(atom) if range.is_some() => self.threads.each(terms, atom),
            _ => None,
        };
        let cause = match valued {
            Valued::Atom(atom) => causes::of_atom(self.code, terms, atom),
            Valued::Sum(value) => causes::of_value(self.code, terms, value),
        };
        self.kernel.unknowns.push(Unknown { kind, varies, block: facts.block, range, by_threads, each, cause });
        self.values.insert(valued, self.kernel.unknowns.len() - 1);
        self.kernel.unknowns.len() - 1
    }

    fn sum(&mut self, sum: &Sum<Atom>) -> Sum {
        let mut terms: Vec<_> =
            sum.terms.iter().map(|(atom, factor)| (self.value(Valued::Atom(*atom)), *factor)).collect();
        terms.sort_unstable();
        Sum { terms, constant: sum.constant }
    }

    /// The conditions that all hold if a literal holds.
    fn guard(&mut self, literal: Literal) -> Vec<Condition> {
        let terms = self.terms();
        match &terms.predicates[literal.predicate as usize].0 {
            PredicateMeaning::All(list) if literal.holds => {
                list.iter().map(|literal| self.condition(*literal)).collect()
            }
            _ => vec![self.condition(literal)],
        }
    }

    fn condition(&mut self, literal: Literal) -> Condition {
        Condition { predicate: self.predicate(literal.predicate), holds: literal.holds }
    }

    /// The number of a predicate in the kernel. Its component predicates precede it there.
    fn predicate(&mut self, predicate: u32) -> usize {
        let terms = self.terms();
        let (mut needed, mut work) = (Vec::new(), vec![predicate]);
        let mut seen = FxHashSet::default();
        while let Some(next) = work.pop() {
            if self.predicates.contains_key(&next) || !seen.insert(next) {
                continue;
            }
            needed.push(next);
            if let PredicateMeaning::All(list) = &terms.predicates[next as usize].0 {
                work.extend(list.iter().map(|literal| literal.predicate));
            }
        }
        needed.sort_unstable();
        for next in needed {
            let (says, block) = &terms.predicates[next as usize];
            let test = self.test(says);
            let literal = Literal { predicate: next, holds: true };
            let (varies, each) = (terms.literal_varies(literal), self.threads.holds(terms, literal));
            self.kernel.predicates.push(Predicate { test, varies, block: *block, each });
            self.predicates.insert(next, self.kernel.predicates.len() - 1);
        }
        self.predicates.get(&predicate).copied().unwrap_or_default()
    }

    fn test(&mut self, says: &PredicateMeaning) -> Test {
        let terms = self.terms();
        match says {
            PredicateMeaning::All(list) => {
                let condition = |literal: &Literal| Condition {
                    predicate: self.predicates.get(&literal.predicate).copied().unwrap_or_default(),
                    holds: literal.holds,
                };
                Test::All(list.iter().map(condition).collect())
            }
            PredicateMeaning::Within(value, low, high) => {
                let valued = match terms.sum(*value) {
                    Sum { terms, constant: 0 } => match terms[..] {
                        [(atom, 1)] => Valued::Atom(atom),
                        _ => Valued::Sum(*value),
                    },
                    _ => Valued::Sum(*value),
                };
                let value = self.value(valued);
                if self.kernel.unknowns[value].kind == UnknownKind::Lane && low == high {
                    return Test::OneOfWarp;
                }
                Test::Within { value, low: *low, high: *high }
            }
            PredicateMeaning::Elected(_) => Test::OneOfWarp,
            PredicateMeaning::Computed(..)
            | PredicateMeaning::Phi(..)
            | PredicateMeaning::Result(..)
            | PredicateMeaning::Unset(_) => Test::Unknown,
        }
    }

    // Addresses.

    fn object(&mut self, thing: Thing) -> usize {
        if let Some(object) = self.objects.get(&thing) {
            return *object;
        }
        let name = self.name(&thing);
        let kind = match &thing {
            Thing::Base(Base::Allocation(_)) => ObjectKind::Allocation,
            Thing::Base(_) | Thing::Tensor(_) | Thing::Registers => ObjectKind::Variable,
            Thing::Unknown(..) | Thing::Described => ObjectKind::Unknown,
        };
        let cause = match &thing {
            Thing::Unknown(_, Some(atom)) => causes::of_atom(self.code, self.terms(), *atom).or(Some(Cause::Address)),
            Thing::Unknown(_, None) => Some(Cause::Address),
            Thing::Described => Some(Cause::Descriptor),
            Thing::Base(_) | Thing::Tensor(_) | Thing::Registers => None,
        };
        self.kernel.objects.push(Object { name, kind, cause });
        self.objects.insert(thing, self.kernel.objects.len() - 1);
        self.kernel.objects.len() - 1
    }

    fn name(&self, thing: &Thing) -> String {
        let symbol =
            |symbol: usize| self.code.symbols.get(symbol).map_or_else(String::new, |own| own.variable.name.clone());
        match thing {
            Thing::Base(Base::Symbol(own)) => symbol(*own),
            Thing::Base(Base::Allocation(address)) => {
                let line = self.allocations.iter().find(|(own, _)| own == address).map_or(0, |(_, line)| *line);
                format!("tcgen05.alloc of line {line}")
            }
            Thing::Base(Base::Param(atom)) => match self.terms().definition(*atom) {
                AtomExpression::Param(own, 0, _) => symbol(*own),
                AtomExpression::Param(own, offset, _) => format!("{}+{offset}", symbol(*own)),
                _ => String::new(),
            },
            Thing::Tensor(map) => format!("the tensor of {}", self.name(map)),
            Thing::Unknown(_, Some(atom)) => self.atom_name(*atom),
            Thing::Unknown(Space::Global, None) => "global memory".into(),
            Thing::Unknown(Space::Shared, None) => "shared memory".into(),
            Thing::Unknown(Space::Tensor, None) => "tensor memory".into(),
            Thing::Registers => "registers".into(),
            Thing::Unknown(Space::Register, None) => "registers".into(),
            Thing::Described => "memory of a descriptor of an unknown address".into(),
        }
    }

    /// The name of the register that an atom is first written to.
    fn atom_name(&self, atom: Atom) -> String {
        if let AtomExpression::Param(symbol, ..) = self.terms().definition(atom) {
            return self.name(&Thing::Base(Base::Symbol(*symbol)));
        }
        let register = match self.terms().definition(atom) {
            AtomExpression::Phi(_, register) | AtomExpression::Unset(register) => Some(*register),
            AtomExpression::Result(op, index, _) => {
                self.code.steps.get(op % self.code.steps.len()).and_then(|op| op.writes.get(*index).copied().flatten())
            }
            _ => None,
        };
        match register.and_then(|register| self.code.registers.get(register)) {
            Some(register) => register.name.clone(),
            None => "an address that is computed".into(),
        }
    }

    /// The state space of the variable that an address points to, if it is known; `None` for a parameter.
    fn space_of(&self, value: Value) -> Option<ptx_isa::Space> {
        match self.bases.parts(self.terms(), value).base {
            Some(Base::Symbol(symbol)) => self.code.symbols.get(symbol).and_then(|symbol| symbol.variable.space),
            _ => None,
        }
    }

    fn address(&mut self, value: Option<Value>, space: Space, is_cluster: bool) -> Address {
        match value {
            Some(value) => {
                let parts = self.bases.parts(self.terms(), value);
                self.placed(parts, space, is_cluster)
            }
            None => {
                let object = self.object(Thing::Unknown(space, None));
                Address { object, offset: Sum::number(0), is_remote: is_cluster }
            }
        }
    }

    fn placed(&mut self, parts: AddressParts, space: Space, is_cluster: bool) -> Address {
        let AddressParts { base, alone, mut offset, is_remote } = parts;
        let base = base.filter(|base| match (space, base) {
            (Space::Tensor, Base::Allocation(_)) => true,
            (Space::Tensor, _) | (_, Base::Allocation(_)) => false,
            (Space::Shared, Base::Symbol(symbol)) => self.code.symbols.get(*symbol).is_some_and(is_shared),
            (Space::Shared, Base::Param(_)) | (Space::Register, _) => false,
            (Space::Global, _) => true,
        });
        if let (None, Some(atom)) = (base, alone) {
            offset = offset.plus(&Sum::from_value(atom), 1);
        }
        let thing = match base {
            Some(base) => Thing::Base(base),
            None if space == Space::Tensor && self.allocations.len() == 1 => {
                Thing::Base(Base::Allocation(self.allocations[0].0))
            }
            None if space == Space::Shared && offset.terms.is_empty() && self.shared().is_some() => {
                Thing::Base(Base::Symbol(self.shared().unwrap_or_default()))
            }
            None => {
                // The first term that may be large is the base.
                let facts = |atom: Atom| self.terms().atoms[atom.0 as usize].1;
                let is_base =
                    |(atom, factor): &(Atom, i64)| *factor == 1 && facts(*atom).high >= i64::from(u32::MAX) - 1;
                let base = offset.terms.iter().position(is_base).map(|index| offset.terms.remove(index).0);
                Thing::Unknown(space, base)
            }
        };
        let is_unknown = matches!(thing, Thing::Unknown(..));
        let object = self.object(thing);
        let offset = self.sum(&offset);
        Address { object, offset, is_remote: is_remote || is_cluster && is_unknown }
    }

    /// The variable in shared memory, if there is exactly one.
    fn shared(&self) -> Option<usize> {
        let mut all = (0..self.code.symbols.len()).filter(|index| is_shared(&self.code.symbols[*index]));
        all.next().filter(|_| all.next().is_none())
    }

    fn described(&mut self, value: Option<Value>) -> EventAccess {
        let parts = value.and_then(|value| self.bases.described(self.terms(), value));
        let address = match parts {
            Some(parts) => self.placed(parts, Space::Shared, false),
            None => {
                let object = self.object(Thing::Described);
                let offset = match value {
                    Some(value) => self.sum(self.terms().sum(value)),
                    None => Sum::number(0),
                };
                Address { object, offset, is_remote: false }
            }
        };
        EventAccess { address, extent: None, space: Space::Shared, proxy: Proxy::Async, reads: true, writes: false }
    }

    // Registers.

    fn registers(&mut self, registers: &Registers, op: &flat::Step, events: &mut Vec<Event>) {
        self.touched.clear();
        let [read, written] = registers.touched(op);
        for (runs, reads) in [(read, true), (written, false)] {
            for run in runs {
                let access = self.run(run, reads, !reads);
                self.touched.push(access);
            }
        }
        if !is_matrix(op) {
            let accesses = self.touched.drain(..);
            events.extend(accesses.map(|access| Event {
                at: op.at,
                guard: Vec::new(),
                kind: EventKind::Access(access),
            }));
        }
    }

    fn run(&mut self, (first, count): Run, reads: bool, writes: bool) -> EventAccess {
        let object = self.object(Thing::Registers);
        let offset = Sum::number(first as i64);
        EventAccess {
            address: Address { object, offset, is_remote: false },
            extent: Some(count as u64),
            space: Space::Register,
            proxy: Proxy::Generic,
            reads,
            writes,
        }
    }

    // Events.

    fn step(&mut self, step: &Step, events: &mut Vec<Event>) {
        let code = self.code;
        let op = &code.steps[step.op];
        for wait in implied(self.walked, step.guard) {
            let at = code.steps[wait.0].at;
            let kind = self.wait(wait);
            let guard = self.guard(step.guard);
            events.push(Event { at, guard, kind });
        }
        let mut kinds = Vec::new();
        match &op.action {
            Action::Asynchronous(form, _) => kinds.extend(self.asynchronous(form, step)),
            Action::Barrier(flat::Barrier { warp, waits, threads, aligned, .. }) => {
                let known = |value: Option<Value>| value.and_then(|value| self.terms().as_number(value));
                let of = match (warp, known(step.first)) {
                    (true, _) => BarrierId::Warp,
                    (false, Some(number)) => u32::try_from(number).map_or(BarrierId::SomeCta, BarrierId::Cta),
                    (false, None) => BarrierId::SomeCta,
                };
                let number = known(step.second).and_then(|number| u32::try_from(number).ok());
                let threads = threads.as_ref().map(|_| number.unwrap_or(0));
                let (waits, aligned) = (*waits, *aligned);
                kinds.push(EventKind::Barrier(Barrier { of, arrives: true, waits, threads, aligned, orders: true }));
            }
            Action::Fence(fence) => {
                kinds.push(EventKind::Fence { semantics: code::fence(fence), scope: fence.scope });
            }
            action => {
                kinds.extend(code::access(action).and_then(|access| self.access_of(access, step.first)));
                kinds.extend(code::unread(op).map(EventKind::Unknown));
            }
        }
        let guard = if kinds.is_empty() { Vec::new() } else { self.guard(step.guard) };
        events.extend(kinds.into_iter().map(|kind| Event { at: op.at, guard: guard.clone(), kind }));
    }

    fn access_of(&mut self, of: &flat::MemoryAccess, address: Option<Value>) -> Option<EventKind> {
        let space = match of.space {
            Some(ptx_isa::Space::Shared | ptx_isa::Space::SharedCta | ptx_isa::Space::SharedCluster) => Space::Shared,
            Some(ptx_isa::Space::Global) => Space::Global,
            Some(ptx_isa::Space::Local | ptx_isa::Space::Const) => return None,
            Some(ptx_isa::Space::Generic) | None => match address.and_then(|address| self.space_of(address)) {
                Some(space) if space.is_shared_cta() => Space::Shared,
                Some(ptx_isa::Space::Global) | None => Space::Global,
                Some(_) => return None,
            },
        };
        let address = self.address(address, space, of.space == Some(ptx_isa::Space::SharedCluster));
        let access = EventAccess {
            address,
            extent: of.bytes(),
            space,
            proxy: Proxy::Generic,
            reads: of.reads,
            writes: of.writes,
        };
        Some(match code::strong(of) {
            Some((semantics, scope)) => EventKind::Atomic { access, semantics, scope },
            None => EventKind::Access(access),
        })
    }

    fn access(
        &mut self,
        value: Option<Value>,
        space: Space,
        proxy: Proxy,
        (reads, writes): (bool, bool),
    ) -> EventAccess {
        let address = self.address(value, space, false);
        EventAccess { address, extent: None, space, proxy, reads, writes }
    }

    fn named(
        &mut self,
        value: Option<Value>,
        space: ptx_isa::Space,
        proxy: Proxy,
        (reads, writes): (bool, bool),
    ) -> EventAccess {
        let own = Space::from(space);
        let address = self.address(value, own, space == ptx_isa::Space::SharedCluster);
        EventAccess { address, extent: None, space: own, proxy, reads, writes }
    }

    // Waits and edges.

    fn wait(&mut self, (op, barrier): Wait) -> EventKind {
        let (mut is_relaxed, mut scope, mut is_cluster) = (false, Scope::Cta, false);
        if let Action::Asynchronous(form, _) = &self.code.steps[op].action {
            is_relaxed = form.has("relaxed");
            scope = form.scope().unwrap_or(Scope::Cta);
            is_cluster = form.spaces().any(|space| space == ptx_isa::Space::SharedCluster);
        }
        let parts = self.bases.parts_of(self.terms(), &barrier);
        let barrier = self.placed(parts, Space::Shared, is_cluster);
        EventKind::Wait { barrier, semantics: Semantics { acquires: !is_relaxed, releases: false }, scope }
    }

    fn edges(&mut self, graph: &Graph, block: usize) {
        let next = &graph.blocks[block].next;
        let branch = self.walked.branches[block];
        for (index, &to) in next.iter().enumerate() {
            // The last successor is taken if the guard does not hold.
            let literal = branch.map(|literal| literal.if_(graph.blocks[block].is_taken(self.code, index)));
            if literal == Some(Literal::FALSE) {
                continue;
            }
            let literal = literal.filter(|literal| *literal != Literal::TRUE);
            let waits = literal.map_or(Vec::new(), |literal| implied(self.walked, literal));
            let when = literal.map(|literal| self.condition(literal));
            if waits.is_empty() {
                self.kernel.blocks[block].next.push(Edge { to, when });
                continue;
            }
            let event = |wait: Wait| {
                let at = self.code.steps[wait.0].at;
                Event { at, guard: Vec::new(), kind: self.wait(wait) }
            };
            let events = waits.into_iter().map(event).collect();
            let between = self.kernel.blocks.len();
            let is_copy = graph.blocks[block].iteration > 0;
            let next = vec![Edge { to, when: None }];
            self.kernel.blocks.push(Block { events, next, is_copy, ..Block::default() });
            self.kernel.blocks[block].next.push(Edge { to: between, when });
        }
        let last = graph.blocks[block].ops.clone().last().map(|last| &self.code.steps[last]);
        if let Some(last) = last {
            self.kernel.blocks[block].is_dead_end = matches!(last.action, Action::Trap) && last.guard.is_none();
        }
    }

    /// Records the changes of the unknowns that predicates test, along the edges to the blocks that compute them.
    fn add_edge_updates(&mut self) {
        let terms = self.terms();
        let mut tested: Vec<_> = self.values.iter().map(|(valued, index)| (valued.clone(), *index)).collect();
        tested.sort_unstable_by_key(|(_, index)| *index);
        let is_tested = |index: usize| {
            let tests = self.kernel.predicates.iter().map(|predicate| &predicate.test);
            tests.into_iter().any(|test| matches!(test, Test::Within { value, .. } if *value == index))
        };
        tested.retain(|(_, index)| is_tested(*index));
        for (valued, value) in tested {
            let sum = match valued {
                Valued::Atom(atom) => Sum::from_value(atom),
                Valued::Sum(number) => terms.sum(number).clone(),
            };
            // A phi outside of loops is computed once, so its block is not entered again.
            let met = |(atom, _): &(Atom, i64)| match terms.definition(*atom) {
                AtomExpression::Phi(block, _) => Some(*block),
                _ => None,
            };
            let Some(to) = self.kernel.unknowns[value].block.or_else(|| sum.terms.iter().find_map(met)) else {
                continue;
            };
            // Values that the block computes in each iteration have no previous value.
            let is_anew = |(atom, _): &(Atom, i64)| {
                let (expression, facts) = &terms.atoms[atom.0 as usize];
                facts.block == Some(to) && !matches!(expression, AtomExpression::Phi(block, _) if *block == to)
            };
            if sum.terms.iter().any(is_anew) {
                continue;
            }
            let origins = self.walked.origins.get(&to).map_or(&[][..], |origins| origins);
            for (index, &origin) in origins.iter().enumerate() {
                let Some(came) = self.came(&sum, to, index) else { continue };
                let base = match came.terms[..] {
                    [] => None,
                    [(atom, 1)] => self.values.get(&Valued::Atom(atom)).copied(),
                    _ => terms.find(&came.terms).and_then(|number| self.values.get(&Valued::Sum(number)).copied()),
                };
                if base.is_none() && !came.terms.is_empty() {
                    continue;
                }
                let leads = |from: &usize| self.kernel.blocks[*from].next.iter().any(|edge| edge.to == to);
                let between = self.kernel.blocks[origin].next.iter().map(|edge| edge.to);
                let between = between.filter(|block| *block >= self.walked.steps.len());
                let froms: Vec<_> = std::iter::once(origin).chain(between).filter(leads).collect();
                let edge_update = |from| EdgeUpdate { from, to, value, base, constant: came.constant };
                self.kernel.edge_updates.extend(froms.into_iter().map(edge_update));
            }
        }
        self.kernel.edge_updates.sort_unstable();
        self.kernel.edge_updates.dedup();
    }

    /// A sum in which the incoming values of one edge replace the phis of its block.
    fn came(&self, sum: &Sum<Atom>, to: usize, index: usize) -> Option<Sum<Atom>> {
        let terms = self.terms();
        let mut came: std::collections::BTreeMap<Atom, i64> = std::collections::BTreeMap::new();
        let mut constant = sum.constant;
        for (atom, factor) in &sum.terms {
            match terms.definition(*atom) {
                AtomExpression::Phi(block, register) if *block == to => {
                    let (Content::Value(value), _) = self.walked.phi_inputs.get(&(to, *register))?.get(index)? else {
                        return None;
                    };
                    let own = terms.sum(*value);
                    constant = constant.checked_add(own.constant.checked_mul(*factor)?)?;
                    for (atom, own) in &own.terms {
                        *came.entry(*atom).or_insert(0) += own.checked_mul(*factor)?;
                    }
                }
                _ => *came.entry(*atom).or_insert(0) += factor,
            }
        }
        Some(Sum { terms: came.into_iter().filter(|(_, factor)| *factor != 0).collect(), constant })
    }

    /// Removes unreachable blocks, and plain accesses of global memory that no other event concerns.
    fn finish(&mut self) {
        let blocks = &mut self.kernel.blocks;
        let mut seen = vec![false; blocks.len()];
        let mut work = vec![0];
        while let Some(block) = work.pop() {
            if block < blocks.len() && !std::mem::replace(&mut seen[block], true) {
                work.extend(blocks[block].next.iter().map(|edge| edge.to));
            }
        }
        for (block, seen) in blocks.iter_mut().zip(seen) {
            if !seen {
                *block = Block { is_dead_end: true, ..Block::default() };
            }
        }
        let objects = &self.kernel.objects;
        let mut concerned = FxHashSet::default();
        for event in blocks.iter().flat_map(|block| &block.events) {
            if let EventKind::Start(start) = &event.kind {
                let own = start.accesses.iter().filter(|access| access.space == Space::Global);
                concerned.extend(own.map(|access| access.address.object));
            }
        }
        concerned.retain(|object| objects[*object].kind == ObjectKind::Variable);
        let is_dependent = blocks.iter().flat_map(|block| &block.events).any(|event| event.kind == EventKind::GridWait);
        for event in blocks.iter_mut().flat_map(|block| &mut block.events) {
            if let EventKind::Access(access) = &event.kind
                && access.space == Space::Global
                && !concerned.contains(&access.address.object)
            {
                event.kind = EventKind::Global(access.clone());
            }
        }
        self.names();
        for block in &mut self.kernel.blocks {
            block.events.retain(|event| is_dependent || !matches!(event.kind, EventKind::Global(_)));
        }
    }

    /// The number of threads for which the copies have room.
    fn room(&mut self) -> Option<u32> {
        let atoms: FxHashMap<usize, Atom> = self
            .values
            .iter()
            .filter_map(|(valued, index)| match valued {
                Valued::Atom(atom) => Some((*index, *atom)),
                Valued::Sum(_) => None,
            })
            .collect();
        let terms = &self.walked.terms;
        rows::most(&self.kernel, |value| self.threads.of_large(terms, *atoms.get(&value)?))
    }

    /// Records the objects whose addresses are loaded, and the variables of the module that are written.
    fn names(&mut self) {
        let is_global = |space: Option<ptx_isa::Space>| matches!(space, Some(ptx_isa::Space::Global));
        let steps = &self.code.steps;
        let is_load = |op: usize| match &steps[op % steps.len()].action {
            Action::Access(access) => access.reads && access.space.is_none_or(|space| is_global(Some(space))),
            _ => false,
        };
        let (mut loaded, mut variables) = (Vec::new(), FxHashSet::default());
        for (thing, &object) in &self.objects {
            match thing {
                Thing::Unknown(Space::Global, Some(atom)) => match self.terms().definition(*atom) {
                    AtomExpression::Result(op, ..) if is_load(*op) => loaded.push(object),
                    _ => {}
                },
                Thing::Base(Base::Symbol(symbol)) if is_global(self.code.symbols[*symbol].variable.space) => {
                    variables.insert(object);
                }
                _ => {}
            }
        }
        loaded.sort_unstable();
        let events = self.kernel.blocks.iter().flat_map(|block| &block.events);
        let accesses = events.flat_map(|event| match &event.kind {
            EventKind::Global(access) | EventKind::Access(access) | EventKind::Atomic { access, .. } => {
                std::slice::from_ref(access)
            }
            EventKind::Start(start) => &start.accesses[..],
            _ => &[],
        });
        let of = accesses.filter(|access| access.writes && variables.contains(&access.address.object));
        let mut written: Vec<_> = of.map(|access| self.kernel.objects[access.address.object].name.clone()).collect();
        written.sort_unstable();
        written.dedup();
        (self.kernel.loaded, self.kernel.written) = (loaded, written);
    }
}

fn kind(terms: &Terms, atom: Atom) -> UnknownKind {
    match terms.definition(atom) {
        AtomExpression::Special(Special::Vector(SpecialVector::Tid, Axis::X)) if terms.is_flat() => UnknownKind::Thread,
        AtomExpression::Special(Special::Scalar(SpecialScalar::Laneid)) => UnknownKind::Lane,
        AtomExpression::Special(Special::Scalar(SpecialScalar::Warpid)) => UnknownKind::Warp,
        AtomExpression::Special(Special::Scalar(SpecialScalar::ClusterCtarank)) => UnknownKind::CtaOfCluster,
        AtomExpression::Field(value, low, bits) if terms.is_thread(*value) && terms.is_flat() => {
            let Facts { high, .. } = terms.facts(*value);
            match (low, bits) {
                (0, 5) => UnknownKind::Lane,
                (5, bits) if *bits >= 5 || high >> 5 >> bits == 0 => UnknownKind::Warp,
                _ => UnknownKind::Other,
            }
        }
        _ => UnknownKind::Other,
    }
}
