//! Litmus tests of findings: the two accesses, and the synchronization between them.

use ptx_isa::{
    InstPlace, Scope, Type,
    effects::{Group, OneSided, Proxy, ProxyFence},
};
use ptx_memory_model::{
    asynchronous::{self, Asynchronous, Completion, CtaGroup, MbarrierOperation, Memory, OperationKind, Phase},
    condition::{Condition, Formula, Quantifier},
    litmus::{
        Litmus,
        names::{declare, label, register},
    },
    operand::{self, Location, Operand},
    outcome::Limits,
    place::Place,
    program::{self, BarrierName, BarrierPart, Guard, Statement},
    ptx::{self, Conventions, Fence, FencedSpace, Instruction, Program, readings::Readings, search},
};

use crate::{
    check::EventGraph,
    finding::Hazard,
    kernel::{
        Address, Barrier, BarrierId, Event, EventAccess, EventKind, Kernel, Object, ObjectKind, Operation, Space,
        Start, Sum,
    },
};

/// The limit of choices in the search. A test is a few instructions.
const CHOICES: u64 = 100_000;
/// The longest test, in lines of the kernel.
const LENGTH: usize = 24;

/// A litmus test of a finding: the two accesses, with the synchronization between them, in one thread or in two. The
/// memory model finds a data race of these two accesses in the test; if it does not, the result is `None`.
///
/// ```text
/// PTX kernel, lines 63 and 67
/// "the tcgen05.ld on line 63 may be in flight when the tcgen05.mma accesses the same tensor memory"
/// {
/// .shared m=1;
/// …
/// }
///  P0@cta 0,gpu 0                                     | P1@cta 0,gpu 0                                                 ;
///  tcgen05.ld.sync.aligned.32x32b.x1.b32 {r0}, [t]    | L1:                                                            ;
///  mbarrier.arrive.release.cta.shared::cta.b64 _, [m] | mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 %p1, [m], 0 ;
///                                                     | @!%p1 bra L1                                                   ;
///                                                     | tcgen05.mma.cta_group::1.kind::f16 [t], a, b, 0, 1             ;
/// exists
/// (true)
/// ```
pub fn litmus(kernel: &Kernel, finding: &Hazard, readings: Readings) -> Option<Litmus> {
    let first_line = finding.first?;
    if finding.path.len() > LENGTH {
        return None;
    }
    let graph = EventGraph::new(kernel);
    let (first, second) = (events(kernel, first_line), events(kernel, finding.at));
    let tells = |at: &InstPlace| events(kernel, *at).into_iter().any(|(_, event)| is_told(event));
    // The instructions up to the one that informs other threads belong to the first thread; the rest belongs to the
    // threads that wait.
    let told = finding.path.iter().position(tells).map_or(0, |at| at + 1);
    for &(place, one) in &first {
        for &(other, two) in &second {
            let known = graph.conditions_at_event(place);
            let apart = graph.conditions_at_event(other).iter().any(|literal| graph.contradict(known, *literal));
            let alone = (!apart).then_some([&finding.path[..], &[]]);
            let split = Some([&finding.path[..told], &finding.path[told..]]);
            let tests = [(alone, 1), (split, 2)].into_iter().filter_map(|(path, threads)| Some((path?, threads)));
            for (path, threads) in tests {
                let between = path.map(|lines| between(kernel, lines));
                let Some(test) = Test::new(kernel, one, two, between, threads) else { continue };
                if test.races(readings) {
                    return Some(test.litmus(finding, first_line));
                }
            }
        }
    }
    None
}

/// The events of an instruction, with their places.
fn events(kernel: &Kernel, at: InstPlace) -> Vec<((usize, usize), &Event)> {
    // Copies for other iterations of a loop show nothing more.
    let is_elsewhere = |copy: bool| {
        let blocks = kernel.blocks.iter().filter(|block| block.is_copy == copy);
        blocks.flat_map(|block| &block.events).any(|event| event.at == at)
    };
    let copies = !is_elsewhere(false);
    let blocks = kernel.blocks.iter().enumerate().filter(|(_, block)| block.is_copy == copies);
    let all =
        blocks.flat_map(|(block, of)| of.events.iter().enumerate().map(move |(index, event)| ((block, index), event)));
    all.filter(|(_, event)| event.at == at).collect()
}

/// The events of instructions, each once.
fn between<'k>(kernel: &'k Kernel, places: &[InstPlace]) -> Vec<&'k Event> {
    let mut all: Vec<&Event> = Vec::new();
    for at in places {
        for (_, event) in events(kernel, *at) {
            if !all.iter().any(|other| other.at == event.at && other.kind == event.kind) {
                all.push(event);
            }
        }
    }
    all
}

/// Whether an event informs other threads of its thread's earlier operations.
fn is_told(event: &Event) -> bool {
    match &event.kind {
        EventKind::Arrive { .. } | EventKind::TensorCommit { .. } | EventKind::CopyArrive(_) => true,
        EventKind::Barrier(barrier) => barrier.arrives,
        _ => false,
    }
}

/// A test under construction.
struct Test<'k> {
    kernel: &'k Kernel,
    program: Program,
    /// The meaning of the program's variables.
    variables: Vec<Variable<'k>>,
    /// The two addresses that are one variable, even if they differ.
    same: Option<[&'k Address; 2]>,
    /// The thread and the statement of each of the two accesses.
    places: [(usize, usize); 2],
    /// The different shapes of products.
    shapes: Vec<&'k Option<Sum>>,
    /// The number of named registers and labels.
    named: usize,
}

struct Variable<'k> {
    space: Space,
    address: Option<&'k Address>,
    is_mbarrier: bool,
    /// The arrivals at an mbarrier.
    arrivals: u64,
    /// Whether it is an mbarrier whose phases a copy completes.
    is_of_copy: bool,
}

impl<'k> Test<'k> {
    fn new(
        kernel: &'k Kernel,
        first: &'k Event,
        second: &'k Event,
        between: [Vec<&'k Event>; 2],
        count: usize,
    ) -> Option<Self> {
        let thread =
            ptx::Thread { place: Place::default(), registers: Vec::new(), labels: Vec::new(), code: Vec::new() };
        let mut test = Self {
            kernel,
            program: Program { locations: Vec::new(), threads: vec![thread; count] },
            variables: Vec::new(),
            same: common(first, second)?,
            places: [(0, 0); 2],
            shapes: Vec::new(),
            named: 0,
        };
        let [mut after, mut before] = between;
        if count == 2 {
            pair_barriers(&mut after, &mut before);
        }
        [first, second]
            .into_iter()
            .chain(after.iter().copied())
            .chain(before.iter().copied())
            .for_each(|event| test.of_copy(event));
        after.retain(|event| !test.is_beside_copy(event));
        before.retain(|event| !test.is_beside_copy(event));
        let all = [first].into_iter().chain(after.iter().copied()).chain(before.iter().copied()).chain([second]);
        all.for_each(|event| test.count_arrivals(event));
        let last = count - 1;
        test.places[0] = test.access(0, first)?;
        after.iter().try_for_each(|event| test.event(0, event))?;
        before.iter().try_for_each(|event| test.event(last, event))?;
        test.places[1] = test.access(last, second)?;
        Some(test)
    }

    /// Marks the mbarriers of copies: in the test, the copy itself has the arrival that expects its bytes.
    fn of_copy(&mut self, event: &'k Event) {
        if let EventKind::Start(Start { barrier: Some(barrier), .. }) = &event.kind {
            self.barrier(barrier).1.is_of_copy = true;
        }
    }

    /// Whether an event is an arrival that the copy of its mbarrier has in the test.
    fn is_beside_copy(&mut self, event: &'k Event) -> bool {
        matches!(&event.kind, EventKind::Arrive { barrier, .. } if self.barrier(barrier).1.is_of_copy)
    }

    fn count_arrivals(&mut self, event: &'k Event) {
        if let EventKind::Arrive { barrier, .. }
        | EventKind::TensorCommit { barrier, .. }
        | EventKind::CopyArrive(barrier)
        | EventKind::Start(Start { barrier: Some(barrier), .. }) = &event.kind
        {
            let (Location(index), variable) = self.barrier(barrier);
            variable.arrivals += 1;
            self.program.locations[usize::from(index)].initial = variable.arrivals;
        }
    }

    /// Adds one of the two accesses, and returns its place.
    fn access(&mut self, thread: usize, event: &'k Event) -> Option<(usize, usize)> {
        self.event(thread, event)?;
        Some((thread, self.program.threads[thread].code.len().checked_sub(1)?))
    }

    /// The variable at an address.
    fn variable(&mut self, space: Space, address: Option<&'k Address>) -> Location {
        let is_same = |of: &Address| self.same.is_some_and(|same| same.contains(&of));
        let found = self.variables.iter().position(|other| {
            other.space == space
                && match (other.address, address) {
                    (Some(a), Some(b)) => a == b || is_same(a) && is_same(b),
                    _ => false,
                }
        });
        let index = found.unwrap_or_else(|| {
            let object = address.and_then(|address| self.kernel.objects.get(address.object));
            let (words, memory) = match space {
                Space::Tensor => ("t", Memory::Tensor),
                Space::Register => ("r", Memory::Tensor),
                Space::Shared => ("s", Memory::Shared),
                Space::Global => ("g", Memory::Global),
            };
            let words = match object {
                // The last word of a name with several words.
                Some(Object { name, kind: ObjectKind::Variable, .. }) => name.rsplit(' ').next().unwrap_or(name),
                _ => words,
            };
            let mut plain: String = words.chars().filter(|of| of.is_ascii_alphanumeric() || *of == '_').collect();
            // The name must not be a number or a register of the test.
            if plain.trim_start_matches('r').chars().all(|of| of.is_ascii_digit())
                || plain.starts_with(|of: char| of.is_ascii_digit())
            {
                plain.insert(0, 'x');
            }
            let is_free = |name: &String| self.program.locations.iter().all(|other| other.name != *name);
            let names = std::iter::once(plain.clone()).chain((1..).map(|number| format!("{plain}_{number}")));
            let name = names.into_iter().find(is_free).unwrap_or_default();
            declare(&mut self.program, program::Variable { memory, ..program::Variable::new(name, 0) });
            self.variables.push(Variable { space, address, is_mbarrier: false, arrivals: 0, is_of_copy: false });
            self.variables.len() - 1
        });
        Location(index as u16)
    }

    fn at(&mut self, access: &'k EventAccess) -> operand::Address {
        self.variable(access.space, Some(&access.address)).into()
    }

    /// An mbarrier. It is initialized for its arrivals unless the test does that itself.
    fn barrier(&mut self, address: &'k Address) -> (Location, &mut Variable<'k>) {
        let at @ Location(index) = self.variable(Space::Shared, Some(address));
        let variable = &mut self.variables[usize::from(index)];
        if !variable.is_mbarrier {
            variable.is_mbarrier = true;
            self.program.locations[usize::from(index)].initial = 1;
        }
        (at, variable)
    }

    fn mbarrier(&mut self, address: &'k Address) -> operand::Address {
        self.barrier(address).0.into()
    }

    fn on_mbarrier(&mut self, barrier: &'k Address, of: MbarrierOperation) -> Instruction {
        Asynchronous::Mbarrier { a: self.mbarrier(barrier), of }.into()
    }

    /// A number for a register or a label.
    fn number(&mut self) -> usize {
        self.named += 1;
        self.named - 1
    }

    fn add(&mut self, thread: usize, instruction: impl Into<Instruction>) {
        self.program.threads[thread].code.push(instruction.into().into());
    }

    /// Adds the instruction of an event. `None` if a test cannot express the event.
    fn event(&mut self, thread: usize, event: &'k Event) -> Option<()> {
        let instruction = match &event.kind {
            EventKind::Access(access) => self.plain(thread, access)?,
            EventKind::Start(start) => Asynchronous::Start(self.start(thread, start)?).into(),
            EventKind::TensorWait(direction) => Asynchronous::TensorWait(*direction).into(),
            &EventKind::TensorCommit { group, of, ref barrier } => {
                Asynchronous::Commit { cta_group: cta_group(group), of, mbarrier: self.mbarrier(barrier) }.into()
            }
            EventKind::TensorFence(side) => Instruction::Fence(Fence::Tensor(*side)),
            EventKind::Deallocate(access) => {
                Asynchronous::Deallocate { tensor: self.at(access), cta_group: CtaGroup::One }.into()
            }
            EventKind::CommitGroup(of) => Asynchronous::CommitGroup(*of).into(),
            EventKind::WaitGroup { of, pending, reads_only } => {
                // An unknown number becomes 0: then nothing is in flight in the test, which races least.
                let pending = if *pending == u32::MAX { 0 } else { *pending };
                Asynchronous::WaitGroup { of: *of, pending, read: *reads_only, all: false }.into()
            }
            EventKind::CopyArrive(barrier) => {
                Asynchronous::ArriveOnCopies { mbarrier: self.mbarrier(barrier), noinc: true }.into()
            }
            EventKind::MatrixFence => Instruction::Fence(Fence::Wgmma),
            EventKind::ProxyFence(ProxyFence::Alias | ProxyFence::Fabric) => return Some(()),
            EventKind::ProxyFence(of) => Instruction::Fence(Fence::Proxy(proxy_fence(*of)?)),
            EventKind::Initialize { barrier, .. } => {
                let (Location(index), variable) = self.barrier(barrier);
                let count = Operand::Immediate(variable.arrivals.max(1));
                self.program.locations[usize::from(index)].initial = 0;
                self.on_mbarrier(barrier, MbarrierOperation::Init { count })
            }
            EventKind::InitializeFence => Instruction::Fence(Fence::MbarrierInit),
            EventKind::Arrive { barrier, semantics, scope, .. } => {
                self.on_mbarrier(barrier, arrival(None, !semantics.releases, near(*scope)))
            }
            EventKind::Wait { barrier, semantics, scope } => {
                // The wait is for something outside of the test if nothing in the test arrives.
                if self.barrier(barrier).1.arrivals > 0 {
                    self.wait(thread, barrier, !semantics.acquires, near(*scope));
                }
                return Some(());
            }
            // The lanes of a warp are one thread of a test.
            EventKind::Barrier(Barrier { of: BarrierId::Warp, .. }) => return Some(()),
            EventKind::Barrier(of) => Instruction::Barrier(barrier(of)?),
            EventKind::Fence { semantics, scope } if semantics.acquires && semantics.releases => {
                Instruction::Fence(Fence::memory(None, *scope))
            }
            EventKind::Allocate { .. } | EventKind::Relinquish | EventKind::Invalidate(_) => return Some(()),
            EventKind::Global(_) | EventKind::GridWait => return Some(()),
            EventKind::Fence { .. } | EventKind::Atomic { .. } | EventKind::Unknown(_) => return None,
        };
        self.add(thread, instruction);
        Some(())
    }

    fn wait(&mut self, thread: usize, barrier: &'k Address, relaxed: bool, scope: Scope) {
        let number = self.number();
        let of = &mut self.program.threads[thread];
        let (target, d) = (label(of, &format!("L{number}")), register(of, &format!("%p{number}")));
        self.add(thread, Instruction::Label(target));
        let phase = Phase::Parity(Operand::Immediate(0));
        let wait = self.on_mbarrier(barrier, MbarrierOperation::Wait { d, phase, relaxed, scope });
        self.add(thread, wait);
        let guard = Some(Guard { p: d, negated: true });
        let again = Statement { guard, instruction: Instruction::Branch { when: None, target } };
        self.program.threads[thread].code.push(again);
    }

    /// A register for a result.
    fn result(&mut self, thread: usize) -> operand::Register {
        let name = format!("r{}", self.number());
        register(&mut self.program.threads[thread], &name)
    }

    fn plain(&mut self, thread: usize, of: &'k EventAccess) -> Option<Instruction> {
        if of.address.is_remote || matches!(of.space, Space::Tensor | Space::Register) {
            return None;
        }
        let (a, ty, access) = (self.at(of), Type::U64, ptx::Semantics::WEAK);
        Some(match of.writes {
            true => Instruction::Store { a, b: Operand::Immediate(1), ty, access },
            false => Instruction::Load { d: self.result(thread), a, ty, access },
        })
    }

    fn start(&mut self, thread: usize, start: &'k Start) -> Option<asynchronous::Operation> {
        let Start { operation, accesses, barrier } = start;
        if accesses.iter().any(|access| access.address.is_remote) {
            return None;
        }
        let mut of = |space: Space, is: &dyn Fn(&EventAccess) -> bool, skip: usize| -> operand::Address {
            let found = accesses.iter().filter(|access| access.space == space && is(access)).nth(skip);
            self.variable(space, found.map(|access| &access.address)).into()
        };
        let (reads, writes) = (|access: &EventAccess| access.reads, |access: &EventAccess| access.writes);
        Some(match operation {
            Operation::TensorLoad => {
                let t = of(Space::Tensor, &reads, 0);
                asynchronous::Operation::tensor_load(self.result(thread), t)
            }
            Operation::TensorStore => {
                asynchronous::Operation::tensor_store(of(Space::Tensor, &writes, 0), Operand::Immediate(1))
            }
            Operation::TensorMatrix { group, shape } => {
                let d = of(Space::Tensor, &writes, 0);
                let only_reads = |access: &EventAccess| access.reads && !access.writes;
                let in_tensor =
                    accesses.iter().skip(1).any(|access| access.space == Space::Tensor && only_reads(access));
                let in_shared = accesses.iter().filter(|access| access.space == Space::Shared && access.reads).count();
                let a = match in_tensor && in_shared < 2 {
                    true => asynchronous::AsyncAccess::by(Proxy::Tensor, of(Space::Tensor, &only_reads, 0)),
                    false => asynchronous::AsyncAccess::by(Proxy::Async, of(Space::Shared, &reads, 0)),
                };
                let b = of(Space::Shared, &reads, usize::from(in_shared > 1));
                let known = self.shapes.iter().position(|other| *other == shape);
                let number = known.unwrap_or_else(|| {
                    self.shapes.push(shape);
                    self.shapes.len() - 1
                });
                let kind = OperationKind::Mma { cta_group: cta_group(*group), shape: number as u64 };
                asynchronous::Operation::mma(kind, d, a, b, [])
            }
            Operation::TensorCopy { group, is_4x256b } => {
                let (t, s) = (of(Space::Tensor, &writes, 0), of(Space::Shared, &reads, 0));
                asynchronous::Operation::tensor_copy(cta_group(*group), *is_4x256b, t, s)
            }
            Operation::TensorShift { group } => {
                asynchronous::Operation::shift(cta_group(*group), of(Space::Tensor, &writes, 0))
            }
            Operation::Copy => {
                let (d, s) = (of(Space::Shared, &writes, 0), of(Space::Global, &reads, 0));
                asynchronous::Operation::copy(d, s, Type::U64)
            }
            Operation::BulkLoad => {
                let barrier = barrier.as_ref()?;
                let mapped = |access: &EventAccess| access.proxy == Proxy::Tensormap;
                let source = |access: &EventAccess| access.reads && !mapped(access);
                let (d, s) = (of(Space::Shared, &writes, 0), of(Space::Global, &source, 0));
                let map = accesses.iter().any(mapped).then(|| of(Space::Global, &mapped, 0));
                let expects = Some(Operand::Immediate(BYTES.into()));
                let arrival = self.on_mbarrier(barrier, arrival(expects, false, Scope::Cta));
                self.add(thread, arrival);
                let completion = Completion::Transactions { mbarrier: self.mbarrier(barrier), bytes: BYTES };
                asynchronous::Operation::bulk(d, s, map, None, completion)
            }
            Operation::BulkStore => {
                let (d, s) = (of(Space::Global, &writes, 0), of(Space::Shared, &reads, 0));
                asynchronous::Operation::bulk(d, s, None, None, Completion::Group(Group::Bulk))
            }
            Operation::Wgmma => {
                asynchronous::Operation::wgmma([of(Space::Shared, &reads, 0), of(Space::Shared, &reads, 1)])
            }
        })
    }

    /// Whether the memory model finds a data race of the two accesses.
    fn races(&self, readings: Readings) -> bool {
        let conventions = Conventions { readings, ..Conventions::MANUAL };
        let limits = Limits { choices: CHOICES, ..Limits::default() };
        let Ok(Some(race)) = search::race(&self.program, conventions, limits) else { return false };
        let found = [race.first, race.second].map(|event| {
            let event = &race.execution.skeleton.events[event];
            Some((event.thread?, event.statement))
        });
        let [first, second] = self.places.map(Some);
        found == [first, second] || found == [second, first]
    }

    fn litmus(self, finding: &Hazard, first: InstPlace) -> Litmus {
        let name: String = finding.kernel.chars().filter(|of| of.is_ascii_graphic()).collect();
        Litmus {
            name: format!("{name}, lines {first} and {}", finding.at),
            comments: vec![finding.message.to_string().replace(['"', '\n'], "'")],
            program: self.program,
            condition: Condition { quantifier: Quantifier::Exists, formula: Formula::True },
        }
    }
}

/// The common part of two events: `Some(Some(_))` with the addresses of conflicting accesses, `Some(None)` if only an
/// mbarrier is common, `None` if nothing is.
fn common<'k>(first: &'k Event, second: &'k Event) -> Option<Option<[&'k Address; 2]>> {
    if matches!(first.kind, EventKind::Initialize { .. }) {
        return Some(None);
    }
    let (first, second) = (accesses(first), accesses(second));
    let pairs = first.iter().flat_map(|a| second.iter().map(move |b| (*a, *b)));
    let conflicts = pairs.filter(|(a, b)| a.space == b.space && (a.writes || b.writes));
    let is_same = |(a, b): &(&EventAccess, &EventAccess)| a.address.object == b.address.object;
    let (a, b) = conflicts.max_by_key(is_same)?;
    Some(Some([&a.address, &b.address]))
}

fn accesses(event: &Event) -> Vec<&EventAccess> {
    match &event.kind {
        EventKind::Access(access) | EventKind::Deallocate(access) => vec![access],
        EventKind::Start(start) => start.accesses.iter().collect(),
        _ => Vec::new(),
    }
}

/// Keeps, of the barriers, those that both threads reach: of one thread the first, of the other the last.
fn pair_barriers(after: &mut Vec<&Event>, before: &mut Vec<&Event>) {
    let which = |event: &Event| match &event.kind {
        EventKind::Barrier(barrier) if barrier.of != BarrierId::Warp => {
            Some((barrier.of, barrier.arrives, barrier.waits))
        }
        _ => None,
    };
    let count = |of: &[&Event]| of.iter().filter(|event| which(event).is_some()).count();
    let both = count(after).min(count(before));
    let excess = count(before) - both;
    let kept = |of: &mut Vec<&Event>, range: std::ops::Range<usize>| {
        let mut seen = 0..;
        of.retain(|event| which(event).is_none() || seen.next().is_some_and(|number| range.contains(&number)));
    };
    kept(after, 0..both);
    kept(before, excess..excess + both);
}

/// The number of bytes that a copy completes.
const BYTES: u32 = 16;

fn arrival(expects: Option<Operand>, relaxed: bool, scope: Scope) -> MbarrierOperation {
    MbarrierOperation::Arrive { d: None, count: Operand::Immediate(1), expects, drops: false, relaxed, scope }
}

fn barrier(of: &Barrier) -> Option<program::Barrier> {
    let part = match (of.arrives, of.waits) {
        (true, true) => BarrierPart::Sync,
        (true, false) => BarrierPart::Arrive,
        (false, true) => BarrierPart::Wait,
        (false, false) => return None,
    };
    let cta = |number: u32, quorum| BarrierName::Cta { instance: 0, id: Operand::Immediate(number.into()), quorum };
    let name = match (of.of, part) {
        (BarrierId::Cta(number), BarrierPart::Sync) => cta(number, None),
        (BarrierId::SomeCta, BarrierPart::Sync) => cta(0, None),
        (BarrierId::Cta(number), BarrierPart::Arrive) => cta(number, Some(Operand::Immediate(64))),
        (BarrierId::Cluster, BarrierPart::Arrive) => BarrierName::Cluster { relaxed: !of.orders },
        (BarrierId::Cluster, BarrierPart::Wait) => BarrierName::Cluster { relaxed: false },
        _ => return None,
    };
    Some(program::Barrier { part, of: name })
}

/// The corresponding fence of the model. `None` for a fence of a tensor map: an event does not tell which map.
fn proxy_fence(of: ProxyFence) -> Option<ptx::ProxyFence> {
    Some(match of {
        ProxyFence::Async(None) => ptx::ProxyFence::Of(ptx::Proxy::Async),
        ProxyFence::Async(Some(ptx_isa::Space::Global)) => ptx::ProxyFence::AsyncOf(FencedSpace::Global),
        ProxyFence::Async(Some(_)) => ptx::ProxyFence::AsyncOf(FencedSpace::SharedCta),
        ProxyFence::AsyncHalf(half) => ptx::ProxyFence::AsyncHalf(half),
        ProxyFence::TensormapHalf(OneSided::Release) => ptx::ProxyFence::TensormapRelease(Scope::Gpu),
        ProxyFence::TensormapHalf(OneSided::Acquire) | ProxyFence::Alias | ProxyFence::Fabric => return None,
    })
}

fn cta_group(number: u8) -> CtaGroup {
    if number == 2 { CtaGroup::Two } else { CtaGroup::One }
}

/// The scope of an mbarrier, which has only these two.
fn near(scope: Scope) -> Scope {
    if scope == Scope::Cta { Scope::Cta } else { Scope::Cluster }
}
