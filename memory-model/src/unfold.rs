//! Threads as paths: what a thread may do, for every choice of its branches, over values still to be read.

use crate::flow::{Control, Flow, live, written};
pub use crate::limit::{Limit, MAX_NODES, MAX_REGISTERS};
use crate::program::{
    Address, AluOp, AtomOp, Barrier, BarrierName, BarrierPart, Cmp, Computation, Instruction, Language, Location,
    Operand, Program, Reduction, Register, RmwOp, SPACING, Span, Thread, Type, Value, bytes, truncate,
};
use crate::relation::{MAX_EVENTS, Set};

/// A value that a path computes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Term {
    /// A known value.
    Constant(Value),
    /// An index into [`Path::nodes`].
    Node(u32),
}

/// A value that is not known until something is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Node {
    /// What an event of the path reads, or what the wait of a `bar.red` gives.
    Event(usize),
    /// The result of an instruction on registers.
    Computed(Computation, Type, [Term; 3]),
    /// What a read-modify-write writes: of the old value and its operands.
    Rmw(RmwOp, Type, [Term; 3]),
    /// What the read of a compare and exchange that succeeds returns: what was expected.
    Expected(usize, Term),
}

/// What happens at an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind<L: Language> {
    /// The write W0 (section 8.2.6).
    Init,
    /// Reads memory.
    Read(L::Semantics),
    /// Writes memory.
    Write(L::Semantics),
    /// A fence.
    Fence(L::Fence),
    /// Arrives at a barrier.
    Arrive,
    /// Waits at a barrier.
    Wait,
    /// All writes of a variable behind the bound of a loop.
    Beyond,
}

/// An event of a path.
#[derive(Clone, Copy, Debug)]
pub struct PathEvent<L: Language> {
    /// What it is.
    pub kind: EventKind<L>,
    /// Meaningless for what is no memory operation.
    pub span: Span,
    /// What is written, or brought to a barrier.
    pub value: Term,
    /// The reads of the path on which this event depends, through values, or through branches that decide about it.
    pub depends: Set,
    /// The write of a read-modify-write, whose read is the event before.
    pub rmw: bool,
    /// Part of a read-modify-write without a destination.
    pub reduction: bool,
    /// Events of one vector instruction have the same number.
    pub vector: Option<u16>,
    /// Of what arrives or waits.
    pub barrier: Option<PathBarrier>,
    /// The index into the thread's code.
    pub statement: usize,
}

/// The barrier of an arrival or a wait.
#[derive(Clone, Copy, Debug)]
pub struct PathBarrier {
    /// Which one.
    pub name: BarrierName,
    /// Its number.
    pub id: Term,
    /// How many threads take part.
    pub quorum: Option<Term>,
    /// What a `bar.red` does.
    pub reduction: Option<Reduction>,
}

/// How a path ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Behind the last statement.
    Returned,
    /// The last event arrived at a barrier, whose other threads never come.
    Blocked,
    /// A loop ran more often than the bound.
    Cut,
}

/// One course that a thread may take.
#[derive(Clone, Debug)]
pub struct Path<L: Language> {
    /// What happens, in program order.
    pub events: Vec<PathEvent<L>>,
    /// The values that are computed.
    pub nodes: Vec<Node>,
    /// What decides the branches: each term is to be zero or not.
    pub constraints: Vec<(Term, bool)>,
    /// The last values of the registers.
    pub registers: Vec<Term>,
    /// How it ends.
    pub ending: Ending,
}

impl<L: Language> Path<L> {
    /// Whether this is the same course as another one of a thread with the same code.
    pub fn is_like(&self, other: &Self) -> bool {
        let steps = |path: &Self| path.events.iter().map(|event| (event.statement, event.kind)).collect::<Vec<_>>();
        self.constraints == other.constraints && self.ending == other.ending && steps(self) == steps(other)
    }
}

const MAX_PATHS: usize = 4096;
/// Of branches that depend on what is read, along one path.
const MAX_CONSTRAINTS: usize = 256;
/// Of the operations that one value takes, where what is used twice counts twice.
const MAX_WORK: u64 = 1 << 12;

/// How threads are unfolded.
#[derive(Clone, Copy, Debug)]
pub struct Unfolding {
    /// How often a loop is entered, counted at its first label.
    pub rounds: usize,
    /// Whether a compare and exchange that fails writes the old value back.
    pub failed_cas_writes: bool,
    /// Whether there is an outcome where a thread waits at a barrier for ever, if it has nothing left to do behind it.
    pub hung_at_end: bool,
}

/// Every path of every thread.
///
/// # Errors
/// If a thread is outside of what paths can say, or if accesses overlap otherwise than completely.
pub fn unfold_all<L: Language>(program: &Program<L>, unfolding: Unfolding) -> Result<Vec<Vec<Path<L>>>, Limit> {
    let unfold = |thread| unfold(program, thread, unfolding);
    let threads = program.threads.iter().map(unfold).collect::<Result<Vec<_>, _>>()?;
    let mut spans = Vec::new();
    for event in threads.iter().flatten().flat_map(|path| &path.events) {
        if matches!(event.kind, EventKind::Read(_) | EventKind::Write(_)) {
            let span = program.physical_span(event.span);
            if !spans.contains(&span) {
                spans.push(span);
            }
        }
    }
    let partial = |a: &Span| spans.iter().any(|b| a != b && a.overlaps(*b));
    if spans.iter().any(partial) { Err(Limit::MixedSizes) } else { Ok(threads) }
}

/// Every path of a thread.
///
/// A round of a loop that changes no register that is still needed, and writes nothing, is left out: whoever leaves out
/// its reads and fences from an execution gets an execution with the same outcome, because no axiom forbids an execution
/// with fewer events.
///
/// # Errors
/// If the thread is outside of what paths can say.
pub fn unfold<L: Language>(
    program: &Program<L>,
    thread: &Thread<L>,
    unfolding: Unfolding,
) -> Result<Vec<Path<L>>, Limit> {
    if thread.registers.len() > MAX_REGISTERS {
        return Err(Limit::Registers);
    }
    let flow = Flow::new(thread)?;
    let live = live(thread, &flow);
    let mut unfold = Unfold { program, thread, unfolding, flow, live, paths: Vec::new(), cut: Vec::new() };
    unfold.run(State {
        pc: 0,
        path: Path {
            events: Vec::with_capacity(8),
            nodes: Vec::with_capacity(8),
            constraints: Vec::new(),
            registers: thread.registers.iter().map(|register| Term::Constant(register.initial)).collect(),
            ending: Ending::Returned,
        },
        node_reads: Vec::new(),
        node_work: Vec::new(),
        most_work: 0,
        decided: vec![Set(0); thread.registers.len()],
        controls: Vec::new(),
        visits: Vec::new(),
        vectors: 0,
    })?;
    unfold.go_beyond();
    Ok(unfold.paths)
}

struct Unfold<'p, L: Language> {
    program: &'p Program<L>,
    thread: &'p Thread<L>,
    unfolding: Unfolding,
    flow: Flow,
    /// For each statement, the registers whose values are still read; empty in a thread without loops.
    live: Vec<u128>,
    paths: Vec<Path<L>>,
    /// The paths that stop at a loop's bound: where, and under which branches.
    cut: Vec<(usize, usize, Vec<Control>)>,
}

#[derive(Clone)]
struct State<L: Language> {
    pc: usize,
    path: Path<L>,
    /// On which reads each node depends.
    node_reads: Vec<Set>,
    /// How many operations each node takes, and the most that one does.
    node_work: Vec<u64>,
    most_work: u64,
    /// For each register, the reads that decided which of its values it has.
    decided: Vec<Set>,
    /// The branches that decide whether control comes here.
    controls: Vec<Control>,
    /// Each arrival at the start of a loop: where, the registers, and how many events had happened.
    visits: Vec<(usize, Vec<Term>, usize)>,
    vectors: u16,
}

impl<L: Language> Unfold<'_, L> {
    fn run(&mut self, mut state: State<L>) -> Result<(), Limit> {
        loop {
            if self.paths.len() >= MAX_PATHS || state.path.constraints.len() >= MAX_CONSTRAINTS {
                return Err(Limit::Paths);
            }
            if state.path.nodes.len() > MAX_NODES || state.most_work > MAX_WORK {
                return Err(Limit::Values);
            }
            if state.path.events.len() > MAX_EVENTS {
                return Err(Limit::Events);
            }
            let Some(statement) = self.thread.code.get(state.pc) else {
                self.paths.push(state.path);
                return Ok(());
            };
            let pc = state.pc;
            state.join(pc);
            state.pc += 1;
            if let Some(guard) = statement.guard {
                let condition = state.register(guard.p);
                let reads = state.reads_of(Operand::Register(guard.p));
                self.decide(&mut state, pc, reads);
                if !self.assume(&mut state, condition, !guard.negated, |skipped| skipped.pc = pc + 1)? {
                    continue;
                }
            }
            match &statement.instruction {
                Instruction::Label(_) if !self.live.is_empty() => match self.enter_loop(&mut state, pc) {
                    Round::New => {}
                    Round::Idle => return Ok(()),
                    Round::Beyond => {
                        state.path.ending = Ending::Cut;
                        self.cut.push((self.paths.len(), pc, state.controls));
                        self.paths.push(state.path);
                        return Ok(());
                    }
                },
                Instruction::Label(_) => {}
                Instruction::Branch { when, target } => {
                    let to = self.flow.position(*target);
                    if let Some((cmp, a, b)) = *when {
                        let sources = [state.operand(a), state.operand(b), Term::Constant(0)];
                        let condition = state.compute(Computation::Setp(cmp), Type::U64, sources);
                        let taken_by = state.reads(condition) | state.decided(a) | state.decided(b);
                        self.decide(&mut state, pc, taken_by);
                        if !self.assume(&mut state, condition, true, |not_taken| not_taken.pc = pc + 1)? {
                            continue;
                        }
                    }
                    state.pc = to;
                }
                Instruction::Alu { computation, ty, .. } if !computation.is_known(*ty) => {
                    return Err(Limit::Computation);
                }
                Instruction::Alu { computation, ty, d, sources } => {
                    let arity = computation.arity();
                    let used = |index: usize| if index < arity { sources[index] } else { Operand::Immediate(0) };
                    let sources = [used(0), used(1), used(2)];
                    let value = state.compute(*computation, *ty, sources.map(|operand| state.operand(operand)));
                    let decided = sources.into_iter().fold(Set(0), |all, source| all | state.decided(source));
                    state.set(*d, value, decided);
                }
                Instruction::Fence(fence) => state.event(PathEvent::new(EventKind::Fence(*fence), pc)),
                Instruction::Barrier(barrier) => {
                    if !self.barrier(&mut state, *barrier, pc)? {
                        continue;
                    }
                }
                access => self.access(&mut state, access, pc, None)?,
            }
        }
    }

    /// Puts an event for each variable that may be written behind a loop's bound. It depends on the branches that decide
    /// whether the variable is written at all.
    fn go_beyond(&mut self) {
        if self.cut.is_empty() {
            return;
        }
        // What is not written in any path may be any variable, if its address is in a register.
        let mut writes: Vec<Vec<Location>> = vec![Vec::new(); self.thread.code.len()];
        for event in self.paths.iter().flat_map(|path| &path.events) {
            if matches!(event.kind, EventKind::Write(_)) && !writes[event.statement].contains(&event.span.variable) {
                writes[event.statement].push(event.span.variable);
            }
        }
        for (known, statement) in writes.iter_mut().zip(&self.thread.code) {
            let any = || (0..self.program.locations.len()).map(|index| Location(index as u16)).collect();
            match written(statement) {
                Some(named) => *known = named,
                None if known.is_empty() => *known = any(),
                None => {}
            }
        }
        for (path, pc, controls) in std::mem::take(&mut self.cut) {
            let behind: Vec<_> =
                controls.iter().map(|control| self.flow.written_from(control.until, &writes)).collect();
            for variable in self.flow.written_from(pc, &writes) {
                let inside = controls.iter().zip(&behind).filter(|(_, behind)| !behind.contains(&variable));
                let depends = inside.fold(Set(0), |all, (control, _)| all | control.reads);
                let beyond = PathEvent::new(EventKind::Beyond, pc);
                self.paths[path].events.push(PathEvent { span: Span::whole(variable), depends, ..beyond });
            }
        }
    }

    /// What comes before the statement's immediate post-dominator depends on these reads.
    fn decide(&mut self, state: &mut State<L>, pc: usize, reads: Set) {
        if reads != Set(0) {
            let (until, written) = self.flow.region(self.thread, pc);
            state.controls.push(Control { until, reads, written });
        }
    }

    /// Goes on where the condition is as `wanted`; the paths on which it is not are unfolded from what `otherwise` makes of
    /// the state. Whether the first is possible at all.
    fn assume(
        &mut self,
        state: &mut State<L>,
        condition: Term,
        wanted: bool,
        otherwise: impl Fn(&mut State<L>),
    ) -> Result<bool, Limit> {
        if let Some(holds) = state.known(condition) {
            if holds != wanted {
                otherwise(state);
            }
            return Ok(holds == wanted);
        }
        let mut other = state.clone();
        other.path.constraints.push((condition, !wanted));
        otherwise(&mut other);
        self.run(other)?;
        state.path.constraints.push((condition, wanted));
        Ok(true)
    }

    fn enter_loop(&self, state: &mut State<L>, pc: usize) -> Round {
        let live = self.live[pc];
        let idle = |(at, registers, events): &(usize, Vec<Term>, usize)| {
            let same = |(index, (a, b)): (usize, (&Term, &Term))| live >> index & 1 == 0 || a == b;
            *at == pc
                && registers.iter().zip(&state.path.registers).enumerate().all(same)
                && state.path.events[*events..]
                    .iter()
                    .all(|event| matches!(event.kind, EventKind::Read(_) | EventKind::Fence(_)))
        };
        if state.visits.iter().any(idle) {
            return Round::Idle;
        }
        if state.visits.iter().filter(|(at, ..)| *at == pc).count() >= self.unfolding.rounds {
            return Round::Beyond;
        }
        state.visits.push((pc, state.path.registers.clone(), state.path.events.len()));
        Round::New
    }

    fn access(
        &mut self,
        state: &mut State<L>,
        instruction: &Instruction<L>,
        pc: usize,
        vector: Option<u16>,
    ) -> Result<(), Limit> {
        match instruction {
            Instruction::Load { d, a, ty, access } => {
                let (span, depends) = (self.span(state, *a, *ty)?, state.decided(a.base));
                let event = PathEvent { span, depends, vector, ..PathEvent::new(EventKind::Read(*access), pc) };
                let read = state.read(event);
                let value = state.loaded(read, *ty);
                state.set(*d, value, Set(0));
            }
            Instruction::Store { a, b, ty, access } => {
                let span = self.span(state, *a, *ty)?;
                let value = state.operand(*b);
                let value = state.compute(Computation::MOV, *ty, [value; 3]);
                let depends = state.reads(value) | state.decided(*b) | state.decided(a.base);
                state.event(PathEvent {
                    span,
                    value,
                    depends,
                    vector,
                    ..PathEvent::new(EventKind::Write(*access), pc)
                });
            }
            Instruction::Rmw { op, ty, .. } if !op.is_known(*ty) => return Err(Limit::Computation),
            Instruction::Rmw { op, d, a, b, c, ty, access } => {
                let span = self.span(state, *a, *ty)?;
                let decided = [*b, *c, a.base].into_iter().fold(Set(0), |all, operand| all | state.decided(operand));
                let [b, c] = [state.operand(*b), state.operand(*c)];
                let reduction = d.is_none();
                let read = PathEvent { span, vector, reduction, ..PathEvent::new(EventKind::Read(*access), pc) };
                let index = state.path.events.len();
                let mut old = state.read(PathEvent { depends: state.decided(a.base), ..read });
                let mut depends = decided;
                let value = match (op, op.arithmetic()) {
                    // What an exchange writes is known without the old value.
                    (RmwOp::Atom(AtomOp::Exch), _) => state.compute(Computation::MOV, *ty, [b; 3]),
                    (_, Some(op)) => state.compute(Computation::Alu(op), *ty, [old, b, Term::Constant(0)]),
                    (RmwOp::Atom(AtomOp::Cas), _) if !self.unfolding.failed_cas_writes => {
                        let equal = state.compute(Computation::Setp(Cmp::Eq), *ty, [old, b, Term::Constant(0)]);
                        let mut failed = state.clone();
                        failed.path.constraints.push((equal, false));
                        failed.path.events[index].kind = EventKind::Read(L::failed(*access));
                        if let Some(d) = *d {
                            let value = failed.loaded(old, *ty);
                            failed.set(d, value, Set(0));
                        }
                        match vector {
                            // What follows in the vector would be lost.
                            Some(_) => return Err(Limit::Address),
                            None => self.run(failed)?,
                        }
                        state.path.constraints.push((equal, true));
                        depends = depends | one(index) | state.reads(b);
                        let expected = state.compute(Computation::MOV, *ty, [b; 3]);
                        old = state.node(Node::Expected(index, expected), state.reads(old) | state.reads(expected));
                        state.compute(Computation::MOV, *ty, [c; 3])
                    }
                    _ => {
                        state.node(Node::Rmw(*op, *ty, [old, b, c]), state.reads(old) | state.reads(b) | state.reads(c))
                    }
                };
                depends = depends | state.reads(value);
                let write = PathEvent::new(EventKind::Write(*access), pc);
                state.event(PathEvent { span, value, depends, rmw: true, reduction, vector, ..write });
                if let Some(d) = *d {
                    let value = state.loaded(old, *ty);
                    state.set(d, value, Set(0));
                }
            }
            Instruction::Vector(elements) => {
                state.vectors += 1;
                let vector = Some(state.vectors);
                for element in elements {
                    self.access(state, element, pc, vector)?;
                }
            }
            // What is no access has been taken care of.
            _ => {}
        }
        Ok(())
    }

    /// What an access to an address accesses.
    fn span(&self, state: &State<L>, a: Address, ty: Type) -> Result<Span, Limit> {
        let Term::Constant(base) = state.operand(a.base) else { return Err(Limit::Address) };
        let address = base.wrapping_add_signed(a.offset);
        let index = (address / SPACING).checked_sub(1).ok_or(Limit::Address)?;
        let (offset, bytes) = (address % SPACING, bytes(ty));
        let inside = offset % u64::from(bytes) == 0
            && offset + u64::from(bytes) <= u64::from(Span::BYTES)
            && index < self.program.locations.len() as u64;
        if inside {
            Ok(Span { variable: Location(index as u16), offset: offset as u8, bytes })
        } else {
            Err(Limit::Address)
        }
    }

    /// Whether the path goes on.
    fn barrier(&mut self, state: &mut State<L>, barrier: Barrier, pc: usize) -> Result<bool, Limit> {
        let (id, quorum) = match barrier.of {
            BarrierName::Cta { id, quorum, .. } => (state.operand(id), quorum.map(|quorum| state.operand(quorum))),
            BarrierName::Cluster { .. } => (Term::Constant(0), None),
        };
        let reduction = match barrier.part {
            BarrierPart::Red { op, .. } => Some(op),
            _ => None,
        };
        let name = Some(PathBarrier { name: barrier.of, id, quorum, reduction });
        let decided = match barrier.of {
            BarrierName::Cta { id, quorum, .. } => {
                state.decided(id) | quorum.map_or(Set(0), |quorum| state.decided(quorum))
            }
            BarrierName::Cluster { .. } => Set(0),
        };
        let reads = state.reads(id) | quorum.map_or(Set(0), |quorum| state.reads(quorum)) | decided;
        if barrier.part != BarrierPart::Wait {
            let (value, brought) = match barrier.part {
                BarrierPart::Red { p, .. } => (state.operand(p), state.decided(p)),
                _ => (Term::Constant(0), Set(0)),
            };
            let depends = reads | state.reads(value) | brought;
            state.event(PathEvent { barrier: name, value, depends, ..PathEvent::new(EventKind::Arrive, pc) });
            let last = || self.thread.code[pc + 1..].iter().all(|s| matches!(s.instruction, Instruction::Label(_)));
            let waits = barrier.part != BarrierPart::Arrive && quorum.is_some();
            if waits && self.unfolding.hung_at_end && last() {
                let mut blocked = state.path.clone();
                blocked.ending = Ending::Blocked;
                self.paths.push(blocked);
            }
        }
        if barrier.part != BarrierPart::Arrive {
            let result = state.read(PathEvent { barrier: name, depends: reads, ..PathEvent::new(EventKind::Wait, pc) });
            if let BarrierPart::Red { d, .. } = barrier.part {
                state.set(d, result, Set(0));
            }
        }
        Ok(true)
    }
}

enum Round {
    New,
    /// Nothing happened since an earlier arrival that anything later could notice.
    Idle,
    Beyond,
}

impl<L: Language> PathEvent<L> {
    fn new(kind: EventKind<L>, statement: usize) -> Self {
        Self {
            kind,
            span: Span::whole(Location(0)),
            value: Term::Constant(0),
            depends: Set(0),
            rmw: false,
            reduction: false,
            vector: None,
            barrier: None,
            statement,
        }
    }
}

impl<L: Language> State<L> {
    fn register(&self, register: Register) -> Term {
        self.path.registers[usize::from(register.0)]
    }

    fn set(&mut self, register: Register, value: Term, decided: Set) {
        self.path.registers[usize::from(register.0)] = value;
        self.decided[usize::from(register.0)] = decided;
    }

    /// The reads that decided which value an operand has.
    fn decided(&self, operand: Operand) -> Set {
        match operand {
            Operand::Register(register) => self.decided[usize::from(register.0)],
            _ => Set(0),
        }
    }

    /// All reads on which an operand depends.
    fn reads_of(&self, operand: Operand) -> Set {
        self.reads(self.operand(operand)) | self.decided(operand)
    }

    /// Where branches meet, they decide nothing more, but what the registers hold that they led to.
    fn join(&mut self, pc: usize) {
        if self.controls.iter().all(|control| control.until != pc) {
            return;
        }
        for control in self.controls.extract_if(.., |control| control.until == pc) {
            for (register, decided) in self.decided.iter_mut().enumerate() {
                if control.written >> register & 1 != 0 {
                    *decided = *decided | control.reads;
                }
            }
        }
    }

    fn operand(&self, operand: Operand) -> Term {
        match operand {
            Operand::Register(register) => self.register(register),
            Operand::Immediate(value) => Term::Constant(value),
            Operand::Address(location) => Term::Constant(location.address()),
        }
    }

    fn reads(&self, term: Term) -> Set {
        match term {
            Term::Constant(_) => Set(0),
            Term::Node(node) => self.node_reads[node as usize],
        }
    }

    fn node(&mut self, node: Node, reads: Set) -> Term {
        let work = |term: Term| match term {
            Term::Constant(_) => 0,
            Term::Node(node) => self.node_work[node as usize],
        };
        let all = match node {
            Node::Event(_) => 0,
            Node::Expected(_, term) => work(term),
            Node::Computed(_, _, terms) | Node::Rmw(_, _, terms) => {
                terms.into_iter().map(work).fold(0, u64::saturating_add)
            }
        };
        self.node_work.push(all.saturating_add(1));
        self.most_work = self.most_work.max(all.saturating_add(1));
        self.path.nodes.push(node);
        self.node_reads.push(reads);
        Term::Node(self.path.nodes.len() as u32 - 1)
    }

    /// The result of a function that the model has.
    fn compute(&mut self, computation: Computation, ty: Type, mut sources: [Term; 3]) -> Term {
        sources[computation.arity()..].fill(Term::Constant(0));
        if let [Term::Constant(a), Term::Constant(b), Term::Constant(c)] = sources
            && let Some(value) = computation.apply(ty, [a, b, c])
        {
            return Term::Constant(value);
        }
        if let Some(same) = folded(computation, ty, sources, &|term| self.path.bits(term)) {
            return same;
        }
        // What extends a value and what then cuts it off again leaves it as it was.
        if computation == Computation::MOV
            && let Some(Node::Computed(Computation::Cvt(to), from, [value, ..])) = self.path.node(sources[0])
            && self.path.bits(value) <= ty.bits()
            && ty.bits() <= from.bits().min(to.bits())
        {
            return value;
        }
        let reads = sources.into_iter().fold(Set(0), |reads, source| reads | self.reads(source));
        self.node(Node::Computed(computation, ty, sources), reads)
    }

    /// Whether a condition holds, where that is known without the values that are read.
    fn known(&self, condition: Term) -> Option<bool> {
        if let Term::Constant(value) = condition {
            return Some(value != 0);
        }
        if let Some((_, holds)) = self.path.constraints.iter().find(|(term, _)| *term == condition) {
            return Some(*holds);
        }
        let comparison = |term| match self.path.node(term) {
            Some(Node::Computed(Computation::Setp(cmp), ty, [a, b, _])) => {
                Some((cmp, ty, self.expected(a), self.expected(b)))
            }
            _ => None,
        };
        let (cmp, ty, a, b) = comparison(condition)?;
        let holds = |a, b| Computation::Setp(cmp).apply(ty, [a, b, 0]).map(|holds| holds != 0);
        if let (Term::Constant(a), Term::Constant(b)) = (a, b) {
            return holds(a, b);
        }
        if a == b {
            return holds(0, 0);
        }
        // The same question was answered before.
        let equal = self.path.constraints.iter().find_map(|&(term, wanted)| match comparison(term) {
            Some((cmp @ (Cmp::Eq | Cmp::Ne), of, c, d))
                if of.bits() == ty.bits() && ((a, b) == (c, d) || (a, b) == (d, c)) =>
            {
                Some((cmp == Cmp::Eq) == wanted)
            }
            _ => None,
        })?;
        match cmp {
            Cmp::Eq => Some(equal),
            Cmp::Ne => Some(!equal),
            _ => None,
        }
    }

    /// What a compare and exchange expected, in place of what it then read.
    fn expected(&self, term: Term) -> Term {
        match self.path.node(term) {
            Some(Node::Expected(_, expected)) => self.expected(expected),
            _ => term,
        }
    }

    fn event(&mut self, mut event: PathEvent<L>) {
        event.depends = self.controls.iter().fold(event.depends, |all, control| all | control.reads);
        self.path.events.push(event);
    }

    /// Adds an event that gives a value.
    fn read(&mut self, event: PathEvent<L>) -> Term {
        let index = self.path.events.len();
        self.event(event);
        self.node(Node::Event(index), one(index))
    }

    /// What a register holds after it was loaded: only a signed type changes what is in memory.
    fn loaded(&mut self, read: Term, ty: Type) -> Term {
        if ty.is_signed() && ty.bits() < 64 {
            self.compute(Computation::Cvt(Type::S64), ty, [read, Term::Constant(0), Term::Constant(0)])
        } else {
            read
        }
    }
}

impl<L: Language> Path<L> {
    /// The value of a term, if `read` knows what the events that it depends on give.
    pub fn value(&self, term: Term, read: &impl Fn(usize) -> Option<Value>) -> Option<Value> {
        let node = match term {
            Term::Constant(value) => return Some(value),
            Term::Node(node) => self.nodes[node as usize],
        };
        let values = |terms: [Term; 3]| {
            let [a, b, c] = terms.map(|term| self.value(term, read));
            Some([a?, b?, c?])
        };
        match node {
            Node::Event(event) => read(event),
            Node::Expected(_, expected) => self.value(expected, read),
            Node::Computed(computation, ty, terms) => computation.apply(ty, values(terms)?),
            Node::Rmw(op, ty, terms) => {
                let [old, b, c] = values(terms)?;
                op.apply(ty, old, b, c)
            }
        }
    }

    /// The comparison that a term is.
    pub fn comparison(&self, term: Term) -> Option<(Cmp, Term, Term)> {
        self.compared(term).map(|(cmp, _, a, b)| (cmp, a, b))
    }

    /// The comparison that a term is, with the type of what is compared.
    pub(crate) fn compared(&self, term: Term) -> Option<(Cmp, Type, Term, Term)> {
        match self.node(term)? {
            Node::Computed(Computation::Setp(cmp), ty, [a, b, _]) => Some((cmp, ty, a, b)),
            _ => None,
        }
    }

    /// The event whose value a term is.
    pub fn copied(&self, term: Term) -> Option<usize> {
        match self.node(term)? {
            Node::Event(event) | Node::Expected(event, _) => Some(event),
            _ => None,
        }
    }

    fn node(&self, term: Term) -> Option<Node> {
        match term {
            Term::Constant(_) => None,
            Term::Node(node) => self.nodes.get(node as usize).copied(),
        }
    }

    /// How many bits a term has at most; those above are 0.
    pub(crate) fn bits(&self, term: Term) -> u32 {
        match term {
            Term::Constant(value) => Value::BITS - value.leading_zeros(),
            Term::Node(node) => match self.nodes[node as usize] {
                Node::Event(event) => match self.events.get(event) {
                    Some(PathEvent { kind: EventKind::Read(_), span, .. }) => u32::from(span.bytes) * 8,
                    _ => Value::BITS,
                },
                Node::Expected(_, expected) => self.bits(expected),
                Node::Computed(computation, ty, _) => computation.bits(ty).min(Value::BITS),
                Node::Rmw(_, ty, _) => ty.bits().min(Value::BITS),
            },
        }
    }

    /// Of a term that is computed of one other, or of it and constants, that other, if different values of it give different
    /// ones of the term.
    pub(crate) fn turned(&self, term: Term) -> Option<Term> {
        let Some(Node::Computed(computation, ty, sources)) = self.node(term) else { return None };
        let source = match sources {
            [a, ..] if computation.is_injective(ty) => a,
            [a, Term::Constant(_), _] if computation.is_sum() => a,
            [Term::Constant(_), b, _] if computation.is_sum() => b,
            _ => return None,
        };
        (self.bits(source) <= ty.bits()).then_some(source)
    }

    /// Whether the path stops at a loop's bound.
    pub fn is_cut(&self) -> bool {
        self.ending == Ending::Cut
    }

    /// The events whose values a term depends on.
    pub fn sources(&self, term: Term) -> Set {
        let Term::Node(node) = term else { return Set(0) };
        match self.nodes[node as usize] {
            Node::Event(event) => Set::one(event),
            Node::Expected(event, expected) => Set::one(event) | self.sources(expected),
            Node::Computed(_, _, terms) | Node::Rmw(_, _, terms) => {
                terms.into_iter().fold(Set(0), |events, term| events | self.sources(term))
            }
        }
    }
}

/// What a function of integers gives whatever the values are that are not known, or a source that it gives back.
fn folded(computation: Computation, ty: Type, [a, b, c]: [Term; 3], bits: &dyn Fn(Term) -> u32) -> Option<Term> {
    use Term::Constant;
    let ones = truncate(ty, Value::MAX);
    let is = |term: Term, value: Value| matches!(term, Constant(constant) if truncate(ty, constant) == value);
    let either = |value: Value| is(a, value) || is(b, value);
    // What is wider has to be truncated.
    let copy = |term: Term| (bits(term) <= ty.bits()).then_some(term);
    let signed = ty.is_signed();
    let shifts_out = || matches!(b, Constant(b) if truncate(Type::U32, b) >= ty.bits().into());
    let zero = Some(Constant(0));
    let op = match computation {
        Computation::Alu(op) => op,
        Computation::Setp(cmp) => {
            let holds = |a, b| computation.apply(ty, [a, b, 0]).map(Constant);
            return match cmp {
                _ if a == b => holds(0, 0),
                // Nothing is below 0, and 0 above nothing.
                Cmp::Lt | Cmp::Lo | Cmp::Ge | Cmp::Hs if !signed && is(b, 0) => holds(0, 0),
                Cmp::Gt | Cmp::Hi | Cmp::Le | Cmp::Ls if !signed && is(a, 0) => holds(0, 0),
                _ => None,
            };
        }
        Computation::Cvt(to) => return copy(a).filter(|_| !signed && to.bits() >= ty.bits()),
    };
    match op {
        AluOp::Mov => copy(a),
        AluOp::And | AluOp::MulLo if either(0) => zero,
        AluOp::Or if either(ones) => Some(Constant(ones)),
        AluOp::Min if !signed && either(0) => zero,
        AluOp::Max if !signed && either(ones) => Some(Constant(ones)),
        AluOp::Sub | AluOp::Xor if a == b => zero,
        AluOp::And | AluOp::Or | AluOp::Min | AluOp::Max if a == b => copy(a),
        AluOp::And if is(b, ones) => copy(a),
        AluOp::And if is(a, ones) => copy(b),
        AluOp::Add | AluOp::Or | AluOp::Xor | AluOp::Sub if is(b, 0) => copy(a),
        AluOp::Shl | AluOp::Shr if matches!(b, Constant(b) if truncate(Type::U32, b) == 0) => copy(a),
        AluOp::Add | AluOp::Or | AluOp::Xor if is(a, 0) => copy(b),
        AluOp::Shl | AluOp::Shr if is(a, 0) => zero,
        AluOp::Shl if shifts_out() => zero,
        AluOp::Shr if !signed && shifts_out() => zero,
        AluOp::MadLo if either(0) => copy(c),
        AluOp::Selp if a == b => copy(a),
        AluOp::Selp => match c {
            Constant(c) => copy(if c != 0 { a } else { b }),
            Term::Node(_) => None,
        },
        _ => None,
    }
}

/// The set of one event, which may be one too many for now.
fn one(event: usize) -> Set {
    if event < MAX_EVENTS { Set::one(event) } else { Set(0) }
}
