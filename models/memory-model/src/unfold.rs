//! Threads as paths: the possible courses of a thread, for every choice of its branches, over values that are not read
//! yet.

mod address;
mod asynchronous;
mod beyond;
mod loops;
mod path;
mod state;
mod thread;
mod values;
mod written;

pub(crate) use self::{address::ARRAY, beyond::without_unread_beyond, path::go_together, thread::PathAccess};
use self::{
    address::Settled,
    beyond::tell_beyond,
    loops::{Iteration, held, may_idle},
    state::{State, event_set},
    thread::{Held, Unfold, Unfolded},
    written::{Depends, Sources},
};
pub use self::{
    path::{Ending, EventKind, Node, Path, PathBarrier, PathEvent, Term, Written},
    thread::Unfolding,
};
use crate::flow::{Control, Flow, live};
pub use crate::limit::{Limit, MAX_NODES, MAX_REGISTERS};
use crate::multimem::Multimem;
use crate::program::{
    AtomOp, Barrier, BarrierName, BarrierPart, Cmp, Computation, Instruction, Language, Location, Operand, Program,
    RmwOp, Span, Stop, Thread, Type,
};
use crate::relation::{MAX_EVENTS, Set};

const MAX_PATHS: usize = 4096;

/// The maximum number of branches that depend on reads, along one path.
const MAX_CONSTRAINTS: usize = 256;

/// The maximum number of statements that a path executes.
const MAX_STEPS: usize = 1 << 16;

/// The maximum number of operations of one value; an operand that is used twice counts twice.
const MAX_WORK: u64 = 1 << 12;

/// Every path of every thread.
///
/// # Errors
/// If a path of a thread cannot be represented, or if accesses overlap partially.
pub fn unfold_all<L: Language>(program: &Program<L>, unfolding: Unfolding) -> Result<Vec<Vec<Path<L>>>, Limit> {
    let all = |unfolding, held: &[Held]| {
        let unfold = |thread| unfold(program, thread, unfolding, held);
        program.threads.iter().map(unfold).collect::<Result<Vec<_>, _>>()
    };
    let mut unfolded = all(unfolding, &[])?;
    if !may_idle(program, &unfolded) {
        unfolded = all(Unfolding { idle_updates: false, ..unfolding }, &[])?;
    } else if unfolded.iter().any(|of| !of.idle.is_empty()) {
        unfolded = all(unfolding, &held(program, &unfolded))?;
    }
    tell_beyond(program, &mut unfolded);
    let threads: Vec<Vec<Path<L>>> = unfolded.into_iter().map(|unfolded| unfolded.paths).collect();
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
/// An iteration of a loop that writes nothing and changes no register that is still needed is omitted: if its reads and
/// fences are removed from an execution, the result is an execution with the same outcome, because no axiom forbids an
/// execution with fewer events.
///
/// # Errors
/// If a path of the thread cannot be represented.
pub(crate) fn unfold<'p, L: Language>(
    program: &'p Program<L>,
    thread: &'p Thread<L>,
    unfolding: Unfolding,
    held: &'p [Held],
) -> Result<Unfolded<L>, Limit> {
    if thread.registers.len() > MAX_REGISTERS {
        return Err(Limit::Registers);
    }
    let flow = Flow::new(thread)?;
    let live = live(thread, &flow);
    let spaces = (0..program.locations.len()).map(|index| Location(index as u16));
    let mut addresses: Vec<_> = spaces.map(|location| (program.address_of(location), location)).collect();
    addresses.sort_unstable();
    let traps = program.threads.iter().flat_map(|thread| &thread.code);
    let traps = traps.map(|statement| &statement.instruction).any(|of| *of == Instruction::Stop(Stop::Trap));
    let mut unfold = Unfold {
        program,
        thread,
        unfolding,
        flow,
        live,
        addresses,
        held,
        traps,
        paths: Vec::new(),
        cut: Vec::new(),
        touched: Vec::new(),
        idle: Vec::new(),
    };
    unfold.run(State {
        program,
        pc: 0,
        path: Path {
            events: Vec::with_capacity(thread.code.len().min(8)),
            nodes: Vec::with_capacity(thread.code.len().min(8)),
            constraints: Vec::new(),
            registers: thread.registers.iter().map(|register| Term::Constant(register.initial)).collect(),
            ending: Ending::Returned,
        },
        node_reads: Vec::new(),
        node_work: Vec::new(),
        most_work: 0,
        decided: vec![Set(0); thread.registers.len()],
        controls: Vec::new(),
        memory: Vec::new(),
        visits: Vec::new(),
        sources: match thread.place.processor.is_gpu() {
            false => Sources::new(thread.registers.len()),
            true => Sources::default(),
        },
        vectors: 0,
        operations: 0,
        steps: 0,
    })?;
    let unseen = unfold.go_beyond();
    Ok(Unfolded { paths: unfold.paths, touched: unfold.touched, unseen, idle: unfold.idle })
}

impl<'p, L: Language> Unfold<'p, L> {
    pub(super) fn run(&mut self, mut state: State<'p, L>) -> Result<(), Limit> {
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
            state.steps += 1;
            if state.steps > MAX_STEPS {
                let pc = state.pc;
                self.cut(state, Limit::Unroll, pc);
                return Ok(());
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
                Instruction::Label(_) if !self.live.is_empty() => match self.enter_loop(&mut state, pc)? {
                    Iteration::New => {}
                    Iteration::Idle => return Ok(()),
                    Iteration::Beyond => {
                        self.cut(state, Limit::Unroll, pc);
                        return Ok(());
                    }
                },
                Instruction::Stop(Stop::Trap) => {
                    state.path.ending = Ending::Trapped;
                    self.paths.push(state.path);
                    return Ok(());
                }
                Instruction::Stop(Stop::Unmodelled) => {
                    self.cut(state, Limit::Unmodelled, pc);
                    return Ok(());
                }
                Instruction::Label(_) => {}
                Instruction::Branch { when, target } => {
                    let to = self.flow.position(*target);
                    if let Some((cmp, a, b)) = *when {
                        state.sources.branch(state.sources.operands(&[a, b]));
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
                    state.sources.set(*d, state.sources.operands(&sources));
                    state.set(*d, value, decided);
                }
                Instruction::Fence(fence) => {
                    let written = state.sources.access(Operand::Immediate(0), &[]);
                    state.event(PathEvent { written, ..PathEvent::new(EventKind::Fence(*fence), pc) });
                }
                Instruction::Barrier(barrier) => {
                    if !self.barrier(&mut state, *barrier, pc)? {
                        continue;
                    }
                }
                access => match self.settle(&mut state, access, pc)? {
                    Settled::Known => self.access(&mut state, access, pc, None)?,
                    Settled::Elsewhere => return Ok(()),
                    Settled::Outside => {
                        self.cut(state, Limit::Address, pc);
                        return Ok(());
                    }
                },
            }
        }
    }

    /// Ends a path whose continuation is unknown.
    pub(super) fn cut(&mut self, mut state: State<'p, L>, limit: Limit, pc: usize) {
        state.path.ending = Ending::Cut(limit, pc);
        self.cut.push((self.paths.len(), pc, state.controls));
        self.paths.push(state.path);
    }

    /// Records that the code before the statement's immediate post-dominator depends on these reads.
    fn decide(&mut self, state: &mut State<'p, L>, pc: usize, reads: Set) {
        if reads != Set(0) {
            let (until, written) = self.flow.region(self.thread, pc);
            state.controls.push(Control { until, reads, written });
        }
    }

    /// Continues the path under the assumption that the condition is as `wanted`. The opposite case is unfolded from
    /// the state that `otherwise` returns. Returns whether the first case is possible.
    fn assume(
        &mut self,
        state: &mut State<'p, L>,
        condition: Term,
        wanted: bool,
        otherwise: impl Fn(&mut State<'p, L>),
    ) -> Result<bool, Limit> {
        if let Some(holds) = state.decide_condition(condition) {
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

    fn access(
        &mut self,
        state: &mut State<'p, L>,
        instruction: &Instruction<L>,
        pc: usize,
        vector: Option<u16>,
    ) -> Result<(), Limit> {
        match instruction {
            Instruction::Load { d, a, ty, access } => {
                let (span, depends) = (self.touch(state, *a, *ty, false, pc)?, state.decided(a.base));
                if self.is_private(span) {
                    let (value, decided) = state.held(span, self.initial(span));
                    let value = state.loaded(value, *ty);
                    state.set(*d, value, decided | depends);
                    return Ok(());
                }
                let written = state.sources.access(a.base, &[]);
                state.sources.set(*d, state.sources.read(state.path.events.len(), span, a.base));
                let event =
                    PathEvent { span, depends, written, vector, ..PathEvent::new(EventKind::Read(*access), pc) };
                let read = state.read(event);
                let value = state.loaded(read, *ty);
                state.set(*d, value, Set(0));
            }
            Instruction::Store { a, b, ty, access } => {
                let span = self.touch(state, *a, *ty, true, pc)?;
                let value = state.operand(*b);
                let value = state.compute(Computation::MOV, *ty, [value; 3]);
                let depends = state.reads(value) | state.decided(*b) | state.decided(a.base);
                if self.is_private(span) {
                    state.hold(span, self.initial(span), value, state.decided(*b) | state.decided(a.base));
                    return Ok(());
                }
                let written = state.sources.access(a.base, &[*b]);
                state.sources.write(span, state.sources.operands(&[a.base, *b]));
                state.event(PathEvent {
                    span,
                    value,
                    depends,
                    written,
                    vector,
                    ..PathEvent::new(EventKind::Write(*access), pc)
                });
            }
            Instruction::Rmw { op, ty, .. } if !op.is_known(*ty) => return Err(Limit::Computation),
            Instruction::Rmw { .. } => self.update(state, instruction, pc, vector)?,
            Instruction::Vector(elements) => {
                state.vectors += 1;
                let vector = Some(state.vectors);
                for element in elements {
                    self.access(state, element, pc, vector)?;
                }
            }
            Instruction::Multimem(of) => self.multimem(state, of, pc)?,
            Instruction::Asynchronous(of) => self.asynchronous(state, of, pc)?,
            // Other instructions do not access memory and are handled above.
            _ => {}
        }
        Ok(())
    }

    /// The accesses of a multimem operation, and the reduction of the values that it reads.
    fn multimem(&mut self, state: &mut State<'p, L>, of: &Multimem<Instruction<L>>, pc: usize) -> Result<(), Limit> {
        state.vectors += 1;
        let vector = Some(state.vectors);
        for element in &of.elements {
            self.access(state, element, pc, vector)?;
        }
        let Some((op, d)) = of.reduced else { return Ok(()) };
        let op = RmwOp::from(op).arithmetic().ok_or(Limit::Computation)?;
        let mut all = None;
        for element in &of.elements {
            let Instruction::Load { d, ty, .. } = element else { return Err(Limit::Computation) };
            let value = state.register(*d);
            all = Some(match all {
                Some(all) => state.compute(Computation::Alu(op), *ty, [all, value, Term::Constant(0)]),
                None => value,
            });
        }
        state.set(d, all.ok_or(Limit::Computation)?, Set(0));
        Ok(())
    }

    /// A read-modify-write. If a failed compare-and-swap does not write, the failure is a separate path.
    fn update(
        &mut self,
        state: &mut State<'p, L>,
        instruction: &Instruction<L>,
        pc: usize,
        vector: Option<u16>,
    ) -> Result<(), Limit> {
        let Instruction::Rmw { op, d, a, b, c, ty, access } = instruction else { return Ok(()) };
        let span = self.touch(state, *a, *ty, true, pc)?;
        let decided = [*b, *c, a.base].into_iter().fold(Set(0), |all, operand| all | state.decided(operand));
        let written = state.sources.access(a.base, &[*b, *c]);
        let (base, expected, operands) = (a.base, state.sources.operand(*b), state.sources.operands(&[a.base, *b, *c]));
        let [b, c] = [state.operand(*b), state.operand(*c)];
        if self.is_private(span) {
            let (old, before) = state.held(span, self.initial(span));
            let new = state.node(Node::Rmw(*op, *ty, [old, b, c]), state.reads(old) | state.reads(b) | state.reads(c));
            let new = state.path.constant(new).map_or(new, Term::Constant);
            state.hold(span, self.initial(span), new, decided | before);
            if let Some(d) = *d {
                let value = state.loaded(old, *ty);
                state.set(d, value, before);
            }
            return Ok(());
        }
        let reduction = d.is_none();
        let read = PathEvent { span, vector, reduction, ..PathEvent::new(EventKind::Read(*access), pc) };
        let index = state.path.events.len();
        let mut old =
            state.read(PathEvent { depends: state.decided(a.base), written: state.sources.access(base, &[]), ..read });
        if let Some(d) = *d {
            state.sources.set(d, state.sources.read(index, span, base));
        }
        let mut depends = decided;
        let value = match (op, op.arithmetic()) {
            // The value that an exchange writes does not depend on the old value.
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
                    // The remaining elements of the vector would be lost.
                    Some(_) => return Err(Limit::Address),
                    None => self.run(failed)?,
                }
                state.path.constraints.push((equal, true));
                if let Some(d) = *d {
                    state.sources.set(d, state.sources.expected(index, span, base, expected));
                }
                depends = depends | event_set(index) | state.reads(b);
                let expected = state.compute(Computation::MOV, *ty, [b; 3]);
                old = state.node(Node::Expected(index, expected), state.reads(old) | state.reads(expected));
                state.compute(Computation::MOV, *ty, [c; 3])
            }
            _ => state.node(Node::Rmw(*op, *ty, [old, b, c]), state.reads(old) | state.reads(b) | state.reads(c)),
        };
        depends = depends | state.reads(value);
        let computed = match op {
            RmwOp::Atom(AtomOp::Cas) => Depends { on: Set(0), picked: event_set(index) },
            RmwOp::Atom(AtomOp::Exch) => Depends::default(),
            _ => Depends { on: event_set(index), picked: Set(0) },
        };
        state.sources.write(span, operands | computed);
        let write = PathEvent { written, ..PathEvent::new(EventKind::Write(*access), pc) };
        state.event(PathEvent { span, value, depends, rmw: true, reduction, vector, ..write });
        if let Some(d) = *d {
            let value = state.loaded(old, *ty);
            state.set(d, value, Set(0));
        }
        Ok(())
    }

    /// Handles a barrier. Returns whether the path continues.
    fn barrier(&mut self, state: &mut State<'p, L>, barrier: Barrier, pc: usize) -> Result<bool, Limit> {
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
