//! What instructions do, as events of a kernel.

use ptx_isa::{Asynchronous, Family, Kind as Modifier, Role, Scope, Space as Named};
use rustc_hash::{FxHashMap, FxHashSet};

use super::{
    code::{Action, Code, Place, Touch},
    compute::Source,
    graph::Graph,
    places::{Base, Parts, Places},
    registers::{Registers, Run, is_matrix},
    terms::{Atom, Content, Facts, Literal as Own, Says, Sum as OwnSum, Terms, Value as Number, What},
    threads::Threads,
    waits::{Wait, implied},
    walk::{Step, Walked, address},
};
use crate::kernel::{
    Access, Address, Barrier, BarrierId, Block, Direction, Edge, Event, Groups, Kernel, Kind, Literal, Meeting, Object,
    ObjectKind, Operation, Predicate, Proxy, ProxyFence, Semantics, Side, Space, Start, Sum, Test, Value, ValueKind,
};

/// The kernel of a walk through its code.
pub fn kernel(code: &Code, graph: &Graph, walked: &Walked) -> Kernel {
    let places = Places::of(&walked.terms, &walked.meetings);
    let mut maker = Maker {
        code,
        walked,
        places,
        threads: Threads::new(&walked.terms, code.most),
        touched: Vec::new(),
        kernel: Kernel::default(),
        objects: FxHashMap::default(),
        values: FxHashMap::default(),
        predicates: FxHashMap::default(),
        allocations: allocations(code, walked),
    };
    let registers = Registers::of(code);
    for block in 0..graph.blocks.len() {
        let mut events = Vec::new();
        let mut steps = walked.steps[block].iter().peekable();
        for op in graph.blocks[block].ops.clone() {
            maker.registers(&registers, &code.ops[op], &mut events);
            while let Some(step) = steps.next_if(|step| step.op == op) {
                maker.step(step, &mut events);
            }
        }
        maker.kernel.blocks.push(Block { events, is_copy: graph.blocks[block].round > 0, ..Block::default() });
    }
    for block in 0..graph.blocks.len() {
        maker.edges(graph, block);
    }
    maker.meetings();
    maker.finish();
    maker.kernel
}

/// The addresses to which `tcgen05.alloc` writes, each with the line of the first.
fn allocations(code: &Code, walked: &Walked) -> Vec<(Number, u32)> {
    let mut found: Vec<(Number, u32)> = Vec::new();
    for step in walked.steps.iter().flatten() {
        if let Action::Asynchronous(form, _) = &code.ops[step.op].action
            && form.family() == Family::Tcgen05Alloc
            && let Some(address) = address(&step.operands, Role::Destination)
            && found.iter().all(|(known, _)| *known != address)
        {
            found.push((address, code.ops[step.op].line));
        }
    }
    found
}

/// What objects of a kernel stand for.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Thing {
    Base(Base),
    /// What a tensor map describes.
    Tensor(Box<Thing>),
    /// An address of which a term is not known, or no term is.
    Unknown(Space, Option<Atom>),
    /// What a descriptor of an unknown address means.
    Described,
    /// The registers of matrices.
    Registers,
}

/// A sum or an atom, for values.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum Valued {
    Atom(Atom),
    Sum(Number),
}

struct Maker<'w> {
    code: &'w Code,
    walked: &'w Walked,
    places: Places,
    threads: Threads,
    /// What the instruction that is met touches of the registers of matrices.
    touched: Vec<Access>,
    kernel: Kernel,
    objects: FxHashMap<Thing, usize>,
    values: FxHashMap<Valued, usize>,
    predicates: FxHashMap<u32, usize>,
    allocations: Vec<(Number, u32)>,
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
            Valued::Sum(number) => (ValueKind::Other, terms.facts(*number), terms.varies(*number)),
        };
        let is_known = facts.low != i64::MIN || facts.high != i64::MAX;
        let of_threads = match valued {
            Valued::Atom(atom) => self.threads.range(terms, atom),
            Valued::Sum(_) => None,
        };
        // Of a swizzled address it is not known how far it is from its base.
        let is_address = matches!(valued, Valued::Atom(atom) if self.places.is_swizzled(terms, atom));
        let range = of_threads.or(is_known.then_some((facts.low, facts.high))).filter(|_| !is_address);
        self.kernel.values.push(Value { kind, varies, block: facts.block, range });
        self.values.insert(valued, self.kernel.values.len() - 1);
        self.kernel.values.len() - 1
    }

    fn sum(&mut self, sum: &OwnSum) -> Sum {
        let mut terms: Vec<_> =
            sum.terms.iter().map(|(atom, factor)| (self.value(Valued::Atom(*atom)), *factor)).collect();
        terms.sort_unstable();
        Sum { terms, constant: sum.constant }
    }

    /// The literals that hold together.
    fn guard(&mut self, literal: Own) -> Vec<Literal> {
        let terms = self.terms();
        match &terms.predicates[literal.predicate as usize].0 {
            Says::All(list) if literal.holds => list.iter().map(|own| self.literal(*own)).collect(),
            _ => vec![self.literal(literal)],
        }
    }

    fn literal(&mut self, literal: Own) -> Literal {
        Literal { predicate: self.predicate(literal.predicate), holds: literal.holds }
    }

    /// Predicates have greater numbers than those of which they are made.
    fn predicate(&mut self, predicate: u32) -> usize {
        let terms = self.terms();
        let (mut needed, mut work) = (Vec::new(), vec![predicate]);
        let mut seen = FxHashSet::default();
        while let Some(next) = work.pop() {
            if self.predicates.contains_key(&next) || !seen.insert(next) {
                continue;
            }
            needed.push(next);
            if let Says::All(list) = &terms.predicates[next as usize].0 {
                work.extend(list.iter().map(|own| own.predicate));
            }
        }
        needed.sort_unstable();
        for next in needed {
            let (says, block) = &terms.predicates[next as usize];
            let test = self.test(says);
            let varies = terms.literal_varies(Own { predicate: next, holds: true });
            self.kernel.predicates.push(Predicate { test, varies, block: *block });
            self.predicates.insert(next, self.kernel.predicates.len() - 1);
        }
        self.predicates.get(&predicate).copied().unwrap_or_default()
    }

    fn test(&mut self, says: &Says) -> Test {
        let terms = self.terms();
        match says {
            Says::All(list) => {
                let own = |own: &Own| Literal {
                    predicate: self.predicates.get(&own.predicate).copied().unwrap_or_default(),
                    holds: own.holds,
                };
                Test::All(list.iter().map(own).collect())
            }
            Says::Within(value, low, high) => {
                let valued = match terms.sum(*value) {
                    OwnSum { terms, constant: 0 } => match terms[..] {
                        [(atom, 1)] => Valued::Atom(atom),
                        _ => Valued::Sum(*value),
                    },
                    _ => Valued::Sum(*value),
                };
                let value = self.value(valued);
                if self.kernel.values[value].kind == ValueKind::Lane && low == high {
                    return Test::OneOfWarp;
                }
                Test::Within { value, low: *low, high: *high }
            }
            Says::Elected(_) => Test::OneOfWarp,
            Says::Computed(..) | Says::Phi(..) | Says::Result(..) | Says::Unset(_) => Test::Unknown,
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
        self.kernel.objects.push(Object { name, kind });
        self.objects.insert(thing, self.kernel.objects.len() - 1);
        self.kernel.objects.len() - 1
    }

    fn name(&self, thing: &Thing) -> String {
        let symbol = |symbol: usize| self.code.symbols.get(symbol).map_or_else(String::new, |own| own.name.clone());
        match thing {
            Thing::Base(Base::Symbol(own)) => symbol(*own),
            Thing::Base(Base::Allocation(address)) => {
                let line = self.allocations.iter().find(|(own, _)| own == address).map_or(0, |(_, line)| *line);
                format!("tcgen05.alloc of line {line}")
            }
            Thing::Base(Base::Param(atom)) => match self.terms().what(*atom) {
                What::Param(own, 0, _) => symbol(*own),
                What::Param(own, offset, _) => format!("{}+{offset}", symbol(*own)),
                _ => String::new(),
            },
            Thing::Tensor(map) => format!("the tensor of {}", self.name(map)),
            Thing::Unknown(_, Some(atom)) => self.atom_name(*atom),
            Thing::Unknown(Space::Global, None) => "global memory".into(),
            Thing::Unknown(Space::Shared, None) => "shared memory".into(),
            Thing::Unknown(Space::Tensor, None) => "tensor memory".into(),
            Thing::Registers => "registers".into(),
            Thing::Unknown(Space::Register, None) => "registers".into(),
            Thing::Described => "what a descriptor of an unknown address means".into(),
        }
    }

    /// The register that an atom is first written to.
    fn atom_name(&self, atom: Atom) -> String {
        if let What::Param(symbol, ..) = self.terms().what(atom) {
            return self.name(&Thing::Base(Base::Symbol(*symbol)));
        }
        let register = match self.terms().what(atom) {
            What::Phi(_, register) | What::Unset(register) => Some(*register),
            What::Result(op, index, _) => {
                self.code.ops.get(op % self.code.ops.len()).and_then(|op| op.writes.get(*index).copied().flatten())
            }
            _ => None,
        };
        match register.and_then(|register| self.code.registers.get(register)) {
            Some(name) => name.clone(),
            None => "an address that is computed".into(),
        }
    }

    fn place_of(&self, value: Number) -> Option<Place> {
        match self.places.parts(self.terms(), value).base {
            Some(Base::Symbol(symbol)) => self.code.symbols.get(symbol).map(|symbol| symbol.place),
            _ => None,
        }
    }

    fn address(&mut self, value: Option<Number>, space: Space, is_cluster: bool) -> Address {
        match value {
            Some(value) => {
                let parts = self.places.parts(self.terms(), value);
                self.placed(parts, space, is_cluster)
            }
            None => {
                let object = self.object(Thing::Unknown(space, None));
                Address { object, offset: Sum::default(), is_remote: is_cluster }
            }
        }
    }

    fn placed(&mut self, parts: Parts, space: Space, is_cluster: bool) -> Address {
        let Parts { base, alone, mut offset, is_remote } = parts;
        let base = base.filter(|base| match (space, base) {
            (Space::Tensor, Base::Allocation(_)) => true,
            (Space::Tensor, _) | (_, Base::Allocation(_)) => false,
            (Space::Shared, Base::Symbol(symbol)) => {
                self.code.symbols.get(*symbol).is_some_and(|symbol| symbol.place == Place::Shared)
            }
            (Space::Shared, Base::Param(_)) | (Space::Register, _) => false,
            (Space::Global, _) => true,
        });
        if let (None, Some(atom)) = (base, alone) {
            offset = offset.plus(&OwnSum { terms: vec![(atom, 1)], constant: 0 }, 1);
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

    /// The variable in shared memory, if there is one only.
    fn shared(&self) -> Option<usize> {
        let mut all = (0..self.code.symbols.len()).filter(|index| self.code.symbols[*index].place == Place::Shared);
        all.next().filter(|_| all.next().is_none())
    }

    fn described(&mut self, value: Option<Number>) -> Access {
        let parts = value.and_then(|value| self.places.described(self.terms(), value));
        let address = match parts {
            Some(parts) => self.placed(parts, Space::Shared, false),
            None => {
                let object = self.object(Thing::Described);
                let offset = match value {
                    Some(value) => self.sum(self.terms().sum(value)),
                    None => Sum::default(),
                };
                Address { object, offset, is_remote: false }
            }
        };
        Access { address, extent: None, space: Space::Shared, proxy: Proxy::Async, reads: true, writes: false }
    }

    // Registers.

    fn registers(&mut self, registers: &Registers, op: &super::code::Op, events: &mut Vec<Event>) {
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
                line: op.line,
                guard: Vec::new(),
                kind: Kind::Access(access),
            }));
        }
    }

    fn run(&mut self, (first, count): Run, reads: bool, writes: bool) -> Access {
        let object = self.object(Thing::Registers);
        let offset = Sum { terms: Vec::new(), constant: first as i64 };
        Access {
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
        let op = &code.ops[step.op];
        for wait in implied(self.walked, step.guard) {
            let line = code.ops[wait.0].line;
            let kind = self.wait(wait);
            let guard = self.guard(step.guard);
            events.push(Event { line, guard, kind });
        }
        let mut kinds = Vec::new();
        match &op.action {
            Action::Touch(touch) => kinds.extend(self.touch(touch, step.first)),
            Action::Asynchronous(form, _) => self.asynchronous(form, step, &mut kinds),
            Action::Barrier { warp, arrives, waits, threads, .. } => {
                let known = |value: Option<Number>| value.and_then(|value| self.terms().known(value));
                let of = match (warp, known(step.first)) {
                    (true, _) => BarrierId::Warp,
                    (false, Some(number)) => u32::try_from(number).map_or(BarrierId::SomeCta, BarrierId::Cta),
                    (false, None) => BarrierId::SomeCta,
                };
                let number = known(step.second).and_then(|number| u32::try_from(number).ok());
                let threads = threads.as_ref().map(|_| number.unwrap_or(0));
                kinds.push(Kind::Barrier(Barrier { of, arrives: *arrives, waits: *waits, threads, orders: true }));
            }
            Action::Fence(semantics, scope) => kinds.push(Kind::Fence { semantics: *semantics, scope: *scope }),
            Action::Unknown(what) => kinds.push(Kind::Unknown(what.clone())),
            _ => {}
        }
        let guard = if kinds.is_empty() { Vec::new() } else { self.guard(step.guard) };
        events.extend(kinds.into_iter().map(|kind| Event { line: op.line, guard: guard.clone(), kind }));
    }

    fn touch(&mut self, touch: &Touch, address: Option<Number>) -> Option<Kind> {
        let space = match touch.space {
            Some(Named::Shared | Named::SharedCta | Named::SharedCluster) => Space::Shared,
            Some(Named::Global) => Space::Global,
            Some(Named::Local | Named::Const) => return None,
            Some(Named::Generic) | None => match address.and_then(|address| self.place_of(address)) {
                Some(Place::Shared) => Space::Shared,
                Some(Place::Local | Place::Other) => return None,
                _ => Space::Global,
            },
        };
        let address = self.address(address, space, touch.space == Some(Named::SharedCluster));
        let access = Access {
            address,
            extent: touch.bytes,
            space,
            proxy: Proxy::Generic,
            reads: touch.reads,
            writes: touch.writes,
        };
        Some(match touch.strong {
            Some((semantics, scope)) => Kind::Atomic { access, semantics, scope },
            None => Kind::Access(access),
        })
    }

    fn barrier(&mut self, form: &Asynchronous, step: &Step) -> Address {
        let is_cluster = form.spaces().any(|space| space == Named::SharedCluster);
        self.address(address(&step.operands, Role::Barrier), Space::Shared, is_cluster)
    }

    fn asynchronous(&mut self, form: &Asynchronous, step: &Step, kinds: &mut Vec<Kind>) {
        use Family::*;
        let terms = self.terms();
        let operand = |role: Role| address(&step.operands, role);
        let known = |role: Role| operand(role).and_then(|value| terms.known(value));
        let size = |role: Role| known(role).and_then(|number| u64::try_from(number).ok());
        let group = form.cta_group().unwrap_or(1);
        let spaces: Vec<Named> = form.spaces().collect();
        let scope = form.scope().unwrap_or(Scope::Cta);
        let is_relaxed = form.has("relaxed");
        match form.family() {
            FenceProxyAlias
            | MembarProxyAlias
            | FenceProxyGenericFabric
            | FenceProxyFabricGeneric
            | FenceProxyFabricFabric => kinds.push(Kind::ProxyFence(ProxyFence::Other)),
            FenceProxyAsync | MembarProxyAsync => {
                let space =
                    spaces.first().map(|space| if *space == Named::Global { Space::Global } else { Space::Shared });
                kinds.push(Kind::ProxyFence(ProxyFence::Async(space)));
            }
            FenceProxyTensormapGeneric => kinds.push(Kind::ProxyFence(if form.has("acquire") {
                ProxyFence::TensormapAcquire
            } else {
                ProxyFence::TensormapRelease
            })),
            FenceProxyAsyncGeneric => kinds.push(Kind::ProxyFence(if form.has("acquire") {
                ProxyFence::AsyncAcquire
            } else {
                ProxyFence::AsyncRelease
            })),
            FenceMbarrierInit => kinds.push(Kind::InitializeFence),
            Fence => {
                let semantics = Semantics { acquires: form.has("acquire"), releases: form.has("release") };
                kinds.push(Kind::Fence { semantics, scope });
            }
            TensormapCpFenceproxy => {
                let source = self.access(operand(Role::Source), Space::Shared, Proxy::Generic, (true, false));
                let written = self.access(operand(Role::Destination), Space::Global, Proxy::Generic, (false, true));
                kinds.push(Kind::Access(Access { extent: Some(128), ..source }));
                kinds.push(Kind::Access(Access { extent: Some(128), ..written }));
                kinds.push(Kind::ProxyFence(ProxyFence::TensormapRelease));
            }
            TensormapReplaceTile => {
                let space = if spaces.first() == Some(&Named::Global) { Space::Global } else { Space::Shared };
                let written = self.access(operand(Role::Destination), space, Proxy::Generic, (true, true));
                kinds.push(Kind::Access(Access { extent: Some(128), ..written }));
            }
            MbarrierInit => {
                let barrier = self.barrier(form, step);
                kinds.push(Kind::Initialize { barrier, count: size(Role::Count) });
            }
            MbarrierInval => {
                let barrier = self.barrier(form, step);
                kinds.push(Kind::Invalidate(barrier));
            }
            MbarrierArrive
            | MbarrierArriveExpectTx
            | MbarrierArriveNoComplete
            | MbarrierArriveDrop
            | MbarrierArriveDropExpectTx
            | MbarrierArriveDropNoComplete => {
                let barrier = self.barrier(form, step);
                let semantics = Semantics { acquires: false, releases: !is_relaxed };
                let expects = matches!(form.family(), MbarrierArriveExpectTx | MbarrierArriveDropExpectTx);
                kinds.push(Kind::Arrive { expects, barrier, semantics, scope });
            }
            CpAsync => {
                let written = self.access(operand(Role::Destination), Space::Shared, Proxy::Generic, (false, true));
                let read = self.access(operand(Role::Source), Space::Global, Proxy::Generic, (true, false));
                let extent = size(Role::Size);
                let accesses = vec![Access { extent, ..written }, Access { extent, ..read }];
                kinds.push(Kind::Start(Start { what: Operation::Copy, accesses, barrier: None }));
            }
            CpAsyncMbarrierArrive => {
                let barrier = self.barrier(form, step);
                kinds.push(Kind::CopyArrive(barrier));
            }
            CpAsyncCommitGroup => kinds.push(Kind::CommitGroup(Groups::Copy)),
            CpAsyncBulkCommitGroup => kinds.push(Kind::CommitGroup(Groups::Bulk)),
            WgmmaCommitGroup => kinds.push(Kind::CommitGroup(Groups::Wgmma)),
            CpAsyncWaitAll => kinds.extend([
                Kind::CommitGroup(Groups::Copy),
                Kind::WaitGroup { of: Groups::Copy, pending: 0, reads_only: false },
            ]),
            family @ (CpAsyncWaitGroup | CpAsyncBulkWaitGroup | WgmmaWaitGroup) => {
                let of = match family {
                    CpAsyncWaitGroup => Groups::Copy,
                    CpAsyncBulkWaitGroup => Groups::Bulk,
                    _ => Groups::Wgmma,
                };
                let pending = size(Role::Pending).and_then(|number| u32::try_from(number).ok()).unwrap_or(u32::MAX);
                kinds.push(Kind::WaitGroup { of, pending, reads_only: form.has("read") });
            }
            CpAsyncBulk | CpReduceAsyncBulk => {
                let is_reduce = form.family() == CpReduceAsyncBulk;
                let [to, from] = [0, 1].map(|index| spaces.get(index).copied().unwrap_or(Named::Global));
                let written = self.named(operand(Role::Destination), to, Proxy::Async, (is_reduce, true));
                let read = self.named(operand(Role::Source), from, Proxy::Async, (true, false));
                let extent = size(Role::Size);
                let accesses = vec![Access { extent, ..written }, Access { extent, ..read }];
                let barrier = operand(Role::Barrier)
                    .map(|barrier| self.address(Some(barrier), Space::Shared, to == Named::SharedCluster));
                let what = if barrier.is_some() { Operation::BulkLoad } else { Operation::BulkStore };
                kinds.push(Kind::Start(Start { what, accesses, barrier }));
            }
            CpAsyncBulkTensor | CpReduceAsyncBulkTensor => {
                let is_reduce = form.family() == CpReduceAsyncBulkTensor;
                let is_load = operand(Role::Barrier).is_some();
                let (map, plain) =
                    if is_load { (Role::Source, Role::Destination) } else { (Role::Destination, Role::Source) };
                let map = self.access(operand(map), Space::Global, Proxy::Tensormap, (true, false));
                let thing =
                    self.objects.iter().find(|(_, own)| **own == map.address.object).map(|(thing, _)| thing.clone());
                let tensor = match thing {
                    Some(thing @ Thing::Base(_)) => self.object(Thing::Tensor(Box::new(thing))),
                    _ => self.object(Thing::Unknown(Space::Global, None)),
                };
                let tensor = Access {
                    address: Address { object: tensor, offset: Sum::default(), is_remote: false },
                    extent: None,
                    space: Space::Global,
                    proxy: Proxy::Async,
                    reads: is_load || is_reduce,
                    writes: !is_load,
                };
                let space = spaces.iter().copied().find(|space| *space != Named::Global).unwrap_or(Named::Shared);
                let shared = self.named(operand(plain), space, Proxy::Async, (!is_load, is_load));
                let map = Access { extent: Some(128), ..map };
                let accesses = if is_load { vec![shared, tensor, map] } else { vec![tensor, shared, map] };
                let barrier = operand(Role::Barrier)
                    .map(|barrier| self.address(Some(barrier), Space::Shared, space == Named::SharedCluster));
                let what = if is_load { Operation::BulkLoad } else { Operation::BulkStore };
                kinds.push(Kind::Start(Start { what, accesses, barrier }));
            }
            StBulk => {
                let written = self.access(operand(Role::Destination), Space::Shared, Proxy::Generic, (false, true));
                kinds.push(Kind::Access(Access { extent: size(Role::Size), ..written }));
            }
            StAsync | RedAsync => {
                let is_update = form.family() == RedAsync;
                let barrier = operand(Role::Barrier);
                let space = if barrier.is_some() { Named::SharedCluster } else { Named::Global };
                let written = self.named(operand(Role::Destination), space, Proxy::Generic, (is_update, true));
                let access = Access { extent: element_bytes(form), ..written };
                kinds.push(match barrier {
                    Some(barrier) => {
                        let barrier = Some(self.address(Some(barrier), Space::Shared, true));
                        Kind::Start(Start { what: Operation::BulkLoad, accesses: vec![access], barrier })
                    }
                    None => {
                        let semantics = Semantics { acquires: false, releases: true };
                        Kind::Atomic { access, semantics, scope }
                    }
                });
            }
            ClusterlaunchcontrolTryCancelAsync => {
                let written = self.access(operand(Role::Destination), Space::Shared, Proxy::Async, (false, true));
                let barrier = Some(self.barrier(form, step));
                let accesses = vec![Access { extent: Some(16), ..written }];
                kinds.push(Kind::Start(Start { what: Operation::BulkLoad, accesses, barrier }));
            }
            BarrierClusterArrive => kinds.push(Kind::Barrier(Barrier {
                of: BarrierId::Cluster,
                arrives: true,
                waits: false,
                threads: None,
                orders: !is_relaxed,
            })),
            BarrierClusterWait => kinds.push(Kind::Barrier(Barrier {
                of: BarrierId::Cluster,
                arrives: false,
                waits: true,
                threads: None,
                orders: true,
            })),
            WgmmaFence => kinds.push(Kind::MatrixFence),
            WgmmaMmaAsync | WgmmaMmaAsyncSp => {
                let mut accesses = Vec::new();
                if let Some((_, Source::One(Content::Value(a)))) = operand_of(step, Role::A) {
                    accesses.push(self.described(Some(*a)));
                }
                accesses.push(self.described(operand(Role::B)));
                accesses.append(&mut self.touched);
                kinds.push(Kind::Start(Start { what: Operation::Wgmma, accesses, barrier: None }));
            }
            Tcgen05Alloc => {
                let written = self.access(operand(Role::Destination), Space::Shared, Proxy::Generic, (false, true));
                let object = match operand(Role::Destination) {
                    Some(address) => self.object(Thing::Base(Base::Allocation(address))),
                    None => self.object(Thing::Unknown(Space::Tensor, None)),
                };
                kinds.push(Kind::Allocate { object, access: Access { extent: Some(4), ..written } });
            }
            Tcgen05Dealloc => {
                let freed = self.access(operand(Role::Tmem), Space::Tensor, Proxy::Tensor, (false, true));
                kinds.push(Kind::Deallocate(Access { extent: size(Role::Columns), ..freed }));
            }
            Tcgen05RelinquishAllocPermit => kinds.push(Kind::Relinquish),
            Tcgen05FenceBeforeThreadSync => kinds.push(Kind::TensorFence(Side::Before)),
            Tcgen05FenceAfterThreadSync => kinds.push(Kind::TensorFence(Side::After)),
            Tcgen05WaitLd => kinds.push(Kind::TensorWait(Direction::Load)),
            Tcgen05WaitSt => kinds.push(Kind::TensorWait(Direction::Store)),
            Tcgen05Commit => {
                let barrier = self.barrier(form, step);
                kinds.push(Kind::TensorCommit { group, barrier });
            }
            Tcgen05Shift => {
                let access = self.access(operand(Role::Tmem), Space::Tensor, Proxy::Tensor, (true, true));
                let what = Operation::TensorShift { group };
                kinds.push(Kind::Start(Start { what, accesses: vec![access], barrier: None }));
            }
            Tcgen05Cp => {
                let written = self.access(operand(Role::Tmem), Space::Tensor, Proxy::Tensor, (false, true));
                let columns = if form.has("128x256b") || form.has("4x256b") { 8 } else { 4 };
                let read = self.described(operand(Role::Source));
                let what = Operation::TensorCopy { group, is_4x256b: form.has("4x256b") };
                let accesses = vec![Access { extent: Some(columns), ..written }, read];
                kinds.push(Kind::Start(Start { what, accesses, barrier: None }));
            }
            Tcgen05Ld | Tcgen05LdRed | Tcgen05St => {
                let is_store = form.family() == Tcgen05St;
                let access = self.access(operand(Role::Tmem), Space::Tensor, Proxy::Tensor, (!is_store, is_store));
                let columns = columns(form);
                let mut accesses = vec![Access { extent: columns, ..access.clone() }];
                if form.has("16x32bx2") {
                    let split = known(Role::Split);
                    let mut second = Access { extent: columns, ..access };
                    match split {
                        Some(split) => {
                            second.address.offset.constant = second.address.offset.constant.wrapping_add(split)
                        }
                        None => second.extent = None,
                    }
                    accesses.push(second);
                }
                let what = if is_store { Operation::TensorStore } else { Operation::TensorLoad };
                kinds.push(Kind::Start(Start { what, accesses, barrier: None }));
            }
            Tcgen05Mma | Tcgen05MmaWs | Tcgen05MmaSp | Tcgen05MmaWsSp => self.matrix(form, step, group, kinds),
            // These do nothing, or what is no event: waits are where their results are tested.
            MbarrierExpectTx
            | MbarrierCompleteTx
            | MbarrierPendingCount
            | MbarrierTestWait
            | MbarrierTestWaitParity
            | MbarrierTryWait
            | MbarrierTryWaitParity
            | CpAsyncBulkPrefetch
            | CpAsyncBulkPrefetchTensor
            | GriddepcontrolWait
            | GriddepcontrolLaunchDependents
            | ClusterlaunchcontrolQueryCancel => {}
            _ => kinds.push(Kind::Unknown(format!("the instruction `{}`", form.family()))),
        }
    }

    fn matrix(&mut self, form: &Asynchronous, step: &Step, group: u8, kinds: &mut Vec<Kind>) {
        let terms = self.terms();
        let operand = |role: Role| address(&step.operands, role);
        let descriptor = operand(Role::Descriptor);
        let columns =
            descriptor.and_then(|value| terms.known(value)).map(|bits| ((bits.cast_unsigned() >> 17) & 63) << 3);
        let overwrites = match operand_of(step, Role::Accumulate) {
            Some((_, Source::One(Content::Literal(literal)))) => *literal == Own::FALSE,
            Some((_, Source::One(Content::Value(value)))) => terms.known(*value) == Some(0),
            _ => false,
        };
        let d = self.access(operand(Role::D), Space::Tensor, Proxy::Tensor, (!overwrites, true));
        let mut accesses = vec![Access { extent: columns.filter(|columns| *columns > 0), ..d }];
        accesses.push(match form.address(Role::A) {
            // A row has 32 bytes, whatever its elements are.
            Some(_) => {
                let a = self.access(operand(Role::A), Space::Tensor, Proxy::Tensor, (true, false));
                Access { extent: Some(8), ..a }
            }
            None => self.described(operand(Role::A)),
        });
        accesses.push(self.described(operand(Role::B)));
        for role in [Role::ScaleA, Role::ScaleB, Role::Metadata] {
            if form.address(role).is_some() {
                accesses.push(self.access(operand(role), Space::Tensor, Proxy::Tensor, (true, false)));
            }
        }
        let shape = descriptor.map(|value| self.sum(terms.sum(value)));
        let what = Operation::TensorMatrix { group, shape };
        kinds.push(Kind::Start(Start { what, accesses, barrier: None }));
    }

    fn access(&mut self, value: Option<Number>, space: Space, proxy: Proxy, (reads, writes): (bool, bool)) -> Access {
        let address = self.address(value, space, false);
        Access { address, extent: None, space, proxy, reads, writes }
    }

    fn named(&mut self, value: Option<Number>, space: Named, proxy: Proxy, does: (bool, bool)) -> Access {
        let own = if space == Named::Global { Space::Global } else { Space::Shared };
        let address = self.address(value, own, space == Named::SharedCluster);
        Access { address, ..self.access(value, own, proxy, does) }
    }

    // Waits and edges.

    fn wait(&mut self, (op, barrier): Wait) -> Kind {
        let (mut is_relaxed, mut scope, mut is_cluster) = (false, Scope::Cta, false);
        if let Action::Asynchronous(form, _) = &self.code.ops[op].action {
            is_relaxed = form.has("relaxed");
            scope = form.scope().unwrap_or(Scope::Cta);
            is_cluster = form.spaces().any(|space| space == Named::SharedCluster);
        }
        let parts = self.places.parts_of(self.terms(), &barrier);
        let barrier = self.placed(parts, Space::Shared, is_cluster);
        Kind::Wait { barrier, semantics: Semantics { acquires: !is_relaxed, releases: false }, scope }
    }

    fn edges(&mut self, graph: &Graph, block: usize) {
        let next = &graph.blocks[block].next;
        let branch = self.walked.branches[block];
        for (index, &to) in next.iter().enumerate() {
            // Where the guard does not hold, control goes to the last.
            let literal = branch.map(|literal| literal.if_(graph.blocks[block].is_taken(self.code, index)));
            if literal == Some(Own::FALSE) {
                continue;
            }
            let literal = literal.filter(|literal| *literal != Own::TRUE);
            let waits = literal.map_or(Vec::new(), |literal| implied(self.walked, literal));
            let when = literal.map(|literal| self.literal(literal));
            if waits.is_empty() {
                self.kernel.blocks[block].next.push(Edge { to, when });
                continue;
            }
            let event = |wait: Wait| {
                let line = self.code.ops[wait.0].line;
                Event { line, guard: Vec::new(), kind: self.wait(wait) }
            };
            let events = waits.into_iter().map(event).collect();
            let between = self.kernel.blocks.len();
            let is_copy = graph.blocks[block].round > 0;
            let next = vec![Edge { to, when: None }];
            self.kernel.blocks.push(Block { events, next, is_copy, ..Block::default() });
            self.kernel.blocks[block].next.push(Edge { to: between, when });
        }
        let last = graph.blocks[block].ops.clone().last().map(|last| &self.code.ops[last]);
        if let Some(last) = last {
            self.kernel.blocks[block].is_dead_end = matches!(last.action, Action::Trap) && last.guard.is_none();
        }
    }

    /// What comes to the values of tests where paths meet.
    fn meetings(&mut self) {
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
                Valued::Atom(atom) => OwnSum { terms: vec![(atom, 1)], constant: 0 },
                Valued::Sum(number) => terms.sum(number).clone(),
            };
            let Some(to) = self.kernel.values[value].block else { continue };
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
                let meeting = |from| Meeting { from, to, value, base, constant: came.constant };
                self.kernel.meetings.extend(froms.into_iter().map(meeting));
            }
        }
        self.kernel.meetings.sort_unstable();
        self.kernel.meetings.dedup();
    }

    /// A sum with what comes to a block by one of the edges in place of what meets there.
    fn came(&self, sum: &OwnSum, to: usize, index: usize) -> Option<OwnSum> {
        let terms = self.terms();
        let mut came: std::collections::BTreeMap<Atom, i64> = std::collections::BTreeMap::new();
        let mut constant = sum.constant;
        for (atom, factor) in &sum.terms {
            match terms.what(*atom) {
                What::Phi(block, register) if *block == to => {
                    let (Content::Value(value), _) = self.walked.meetings.get(&(to, *register))?.get(index)? else {
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
        Some(OwnSum { terms: came.into_iter().filter(|(_, factor)| *factor != 0).collect(), constant })
    }

    /// Leaves out what cannot be reached, and plain accesses of global memory that nothing else concerns.
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
            if let Kind::Start(start) = &event.kind {
                let own = start.accesses.iter().filter(|access| access.space == Space::Global);
                concerned.extend(own.map(|access| access.address.object));
            }
        }
        concerned.retain(|object| objects[*object].kind == ObjectKind::Variable);
        for block in blocks {
            block.events.retain(|event| match &event.kind {
                Kind::Access(access) => access.space != Space::Global || concerned.contains(&access.address.object),
                _ => true,
            });
        }
    }
}

fn operand_of(step: &Step, role: Role) -> Option<&(Role, Source)> {
    step.operands.iter().find(|(own, _)| *own == role)
}

fn kind(terms: &Terms, atom: Atom) -> ValueKind {
    match terms.what(atom) {
        What::Special(name) if name == "tid.x" && terms.is_flat() => ValueKind::Thread,
        What::Special(name) if name == "laneid" => ValueKind::Lane,
        What::Special(name) if name == "warpid" => ValueKind::Warp,
        What::Special(name) if name == "cluster_ctarank" => ValueKind::CtaOfCluster,
        What::Field(value, low, bits) if terms.is_thread(*value) && terms.is_flat() => {
            let Facts { high, .. } = terms.facts(*value);
            match (low, bits) {
                (0, 5) => ValueKind::Lane,
                (5, bits) if *bits >= 5 || high >> 5 >> bits == 0 => ValueKind::Warp,
                _ => ValueKind::Other,
            }
        }
        _ => ValueKind::Other,
    }
}

/// How many columns a load or store of tensor memory touches, of each half.
fn columns(form: &Asynchronous) -> Option<u64> {
    let number: u64 = form.modifier(Modifier::Repetition)?.strip_prefix('x')?.parse().ok()?;
    Some(match form.modifier(Modifier::Shape)? {
        "16x128b" => number * 2,
        "16x256b" => number * 4,
        _ => number,
    })
}

/// How many bytes `st.async` and `red.async` write.
fn element_bytes(form: &Asynchronous) -> Option<u64> {
    let ty: ptx_isa::Type = form.modifier(Modifier::Type)?.parse().ok()?;
    let elements = if form.has("v2") {
        2
    } else if form.has("v4") {
        4
    } else {
        1
    };
    Some(u64::from(ty.bits() / 8) * elements)
}
